//! The layouts of sqm-scripts, and their settings for the leaves of `htb`.

use std::fmt;
use std::str::FromStr;

use goodqueue::{Direction, ETHERNET_FRAME, Rate, Span};

/// The layouts of sqm-scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `cake` without classes.
    PieceOfCake,
    /// `cake` with three classes by DSCP.
    LayerCake,
    /// `htb` with three classes by DSCP, and `fq_codel` in each.
    Simple,
    /// `htb` with one class, and `fq_codel` in it.
    Simplest,
}

impl Layout {
    /// All of them.
    pub const ALL: [Layout; 4] = [Layout::PieceOfCake, Layout::LayerCake, Layout::Simple, Layout::Simplest];

    /// Its name in sqm-scripts, without `.qos`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Layout::PieceOfCake => "piece_of_cake",
            Layout::LayerCake => "layer_cake",
            Layout::Simple => "simple",
            Layout::Simplest => "simplest",
        }
    }

    /// The queue of both directions, without the parameters that depend on the rate.
    const fn queue(self) -> &'static str {
        match self {
            Layout::PieceOfCake => "cake:besteffort",
            Layout::LayerCake => "cake:diffserv3",
            Layout::Simple => "htb,sqm=simple",
            Layout::Simplest => "htb,sqm=simplest",
        }
    }

    /// Whether `fq_codel` waits in its classes.
    pub(super) const fn has_leaves(self) -> bool {
        matches!(self, Layout::Simple | Layout::Simplest)
    }

    /// The queue with `htb` of a direction with these leaves.
    pub(super) fn with(self, leaf: &Leaf) -> String {
        format!("{}{leaf}", self.queue())
    }

    /// The queue of a direction at this rate.
    pub(super) fn written(self, rate: Rate, direction: Direction) -> String {
        if self.has_leaves() { self.with(&Leaf::at(rate, direction)) } else { self.queue().to_owned() }
    }
}

/// The parameters that sqm-scripts give the `fq_codel` of each class, in the layouts with `htb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    /// Acceptable standing delay.
    pub target: Span,
    /// Whether packets are marked instead of dropped.
    pub ecn: bool,
    /// Largest number of packets, if it is not the default of `fq_codel`.
    pub limit: Option<u32>,
    /// Whether a flow sends [`SMALL_QUANTUM`] in a turn instead of a full packet.
    is_slow: bool,
}

/// The target of `fq_codel` (RFC 8290 section 5.2.2).
pub(super) const TARGET: Span = Span::from_millis(5);
/// The interval of `fq_codel` that belongs to [`TARGET`] (RFC 8290 section 5.2.2).
const INTERVAL: Span = Span::from_millis(100);
/// Bytes that a flow sends in a turn on slow links: packets of interactive flows pass full ones
/// (bufferbloat.net, "Best practices for benchmarking CoDel and FQ CoDel", which uses it below [`SLOW`]).
const SMALL_QUANTUM: u32 = 300;
/// Links below this rate are slow.
const SLOW: Rate = Rate(100_000_000);

impl Leaf {
    /// The leaf for a direction at this rate. sqm-scripts mark only arriving packets: if a packet that leaves
    /// over a slow line is marked, it stays in front of all others there (`ingress_ecn`, `egress_ecn`).
    pub(super) fn at(rate: Rate, direction: Direction) -> Leaf {
        // "The target should be at least the time to send one full packet" (RFC 8290 section 5.2.2), in whole
        // microseconds, the kernel's unit.
        let packet = Span::from_micros((u64::from(ETHERNET_FRAME) * 8_000_000).div_ceil(rate.0.max(1)));
        let ecn = direction == Direction::Down;
        Leaf { target: packet.max(TARGET), ecn, limit: None, is_slow: rate.0 < SLOW.0 }
    }
}

impl fmt::Display for Leaf {
    /// As parameters of a queue with classes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.target != TARGET {
            // It grows by as much as the target (`cake_set_rate` in `sch_cake.c`).
            let interval = Span(INTERVAL.0 + self.target.0.saturating_sub(TARGET.0));
            write!(f, ",leaf.target={},leaf.interval={interval}", self.target)?;
        }
        if let Some(limit) = self.limit {
            write!(f, ",leaf.limit={limit}")?;
        }
        if self.is_slow {
            write!(f, ",leaf.quantum={SMALL_QUANTUM}")?;
        }
        f.write_str(if self.ecn { "" } else { ",leaf.ecn=off" })
    }
}

impl FromStr for Layout {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Layout, String> {
        let name = text.strip_suffix(".qos").unwrap_or(text);
        Layout::ALL.into_iter().find(|layout| layout.name() == name).ok_or_else(|| {
            format!("{text} is not a layout; the layouts are {}", Layout::ALL.map(Layout::name).join(", "))
        })
    }
}
