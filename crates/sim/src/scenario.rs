//! The scenario, as plain data: nodes, links and what the hosts do.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use goodqueue::port::Line;
use goodqueue::spec::SpecError;
use goodqueue::{ClassTree, QueueSpec, Rate, RingSpec, Serializer, Span};

use goodqueue_probe::QuicCc;
use goodqueue_probe::dash::PlayerConfig;
use goodqueue_probe::rpm::ClientConfig;
use goodqueue_probe::talk::PeerConfig;
use goodqueue_probe::web::BrowserConfig;

use crate::loss::Loss;
use crate::own_queue::NamedQueue;
use crate::switch::Buffers;
use crate::tcp::Config;
use crate::tcp::cc::CcKind;
use crate::wifi::RadioSpec;

/// Index of a node in [`Scenario::nodes`].
pub type NodeId = usize;

/// A whole scenario. Indices into its lists are the numbers used in every result.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    /// Names of hosts and routers. What a node is depends on what is attached to it.
    pub nodes: Vec<String>,
    /// Directed links.
    pub links: Vec<Link>,
    /// Flows over TCP or QUIC.
    pub flows: Vec<Flow>,
    /// UDP sources.
    pub sources: Vec<Source>,
    /// Round-trip probes.
    pub probes: Vec<Probe>,
    /// Browsers.
    pub browsers: Vec<Browse>,
    /// Players of videos.
    pub players: Vec<Watch>,
    /// Tests of responsiveness.
    pub rpm: Vec<Rpm>,
    /// Video calls and games.
    pub talks: Vec<Talk>,
    /// Wi-Fi channels.
    pub radios: Vec<Radio>,
    /// Nodes that are switches. At any other node a frame reaches its outgoing link at once.
    pub switches: Vec<Switch>,
    /// Whether a conversation takes one of the paths with the fewest links, by its flow hash (equal-cost
    /// multipath, ECMP): at each node the hash, mixed with the node's number, selects one of the next links
    /// by hash threshold (RFC 2992 section 2). Each direction has its own hash and path. All connections of a
    /// browser, a player or a test of responsiveness to one server take one path.
    pub ecmp: bool,
    /// TCP of all hosts.
    pub tcp: Config,
    /// Hosts speak IPv6, whose header is 20 bytes longer than IPv4's. The caller must choose the maximum
    /// segment size of `tcp` accordingly.
    pub ipv6: bool,
    /// Nodes that speak IPv6 even if `ipv6` is off; any node that talks to them does so too. Their segments
    /// are 20 bytes shorter than those of `tcp`.
    pub ipv6_nodes: Vec<NodeId>,
    /// Start of the load: the zero of the times in samples.
    pub origin: Span,
    /// Root of every random stream.
    pub seed: u64,
}

/// A Wi-Fi channel: which nodes have a device on it, and which links are on its air.
#[derive(Clone, Debug, Default)]
pub struct Radio {
    /// The channel and its devices.
    pub spec: RadioSpec,
    /// The node of each device, in the order of the devices.
    pub nodes: Vec<NodeId>,
    /// Numbers of the links between those nodes that are on the air. They have no queue, delay, jitter or
    /// loss of their own.
    pub links: Vec<usize>,
}

/// A node that is a switch. All links to it are inputs; all links from it are outputs. An output has a line
/// of a fixed rate, and no shaper, ring or flow control. No host can be at the node.
#[derive(Clone, Copy, Debug)]
pub struct Switch {
    /// The node.
    pub node: NodeId,
    /// Where the packets wait. The queue of an output is that of its link.
    pub buffers: Buffers,
    /// The queue, if the queues do not belong to outputs.
    pub queue: QueueSpec,
    /// Maximum bytes that wait in the switch; `None`: limited only by its queues.
    pub memory: Option<u64>,
}

/// A link in one direction: queue, device ring, serial line; then propagation.
#[derive(Clone, Debug)]
pub struct Link {
    /// Node it leaves.
    pub from: NodeId,
    /// Node it reaches.
    pub to: NodeId,
    /// Queue and line; `None`: the link has neither queue nor rate.
    pub port: Option<PortSpec>,
    /// Propagation delay.
    pub delay: Span,
    /// Added to `delay`, uniform from zero to this; packets never overtake each other.
    pub jitter: Span,
    /// Loss on the way (behind queue and line).
    pub loss: Loss,
}

impl Link {
    /// A link without jitter and loss.
    #[must_use]
    pub const fn new(from: NodeId, to: NodeId, port: Option<PortSpec>, delay: Span) -> Link {
        Link { from, to, port, delay, jitter: Span::ZERO, loss: Loss::None }
    }
}

/// The queueing in front of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)] // One for each link, and most are of the first kind.
pub enum Discipline {
    /// A queue of the catalogue.
    Queue(QueueSpec),
    /// `htb` over a tree of classes.
    Classes(Arc<ClassTree>),
    /// A user-defined queue, made by [`Discipline::own`].
    Own(NamedQueue),
}

impl Discipline {
    /// Whether it can hold packets back. For a user-defined queue that is unknown, so the answer is yes.
    #[must_use]
    pub fn is_shaper(&self) -> bool {
        match self {
            Discipline::Queue(queue) => queue.is_shaper(),
            Discipline::Classes(_) | Discipline::Own(_) => true,
        }
    }
}

impl From<QueueSpec> for Discipline {
    fn from(queue: QueueSpec) -> Discipline {
        Discipline::Queue(queue)
    }
}

/// A queue of the catalogue by its name and parameters, with the names of `tc`: `fq_codel,target=10ms`.
impl FromStr for Discipline {
    type Err = SpecError;
    fn from_str(text: &str) -> Result<Discipline, SpecError> {
        text.parse().map(Discipline::Queue)
    }
}

/// As an experiment file names it.
impl fmt::Display for Discipline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Discipline::Queue(queue) => write!(f, "{queue}"),
            Discipline::Classes(tree) => write!(f, "htb:{}", tree.name),
            Discipline::Own(own) => write!(f, "{own}"),
        }
    }
}

/// Queue, device ring and line of a link.
#[derive(Clone, Debug)]
pub struct PortSpec {
    /// The queue discipline.
    pub queue: Discipline,
    /// A token bucket that holds the queue back.
    pub shaper: Option<Shaper>,
    /// Hardware queues, each with its own `queue` and `ring` (Linux `mq`); 1 for most devices.
    pub lanes: u32,
    /// The driver's transmit ring.
    pub ring: Option<RingSpec>,
    /// The serial line.
    pub line: Line,
    /// The line's nominal rate. The queue's defaults are computed from it.
    pub rate: Rate,
    /// The longest frame, bytes (1514 for Ethernet). The queue's defaults are computed from it.
    pub frame: u32,
    /// Pause frames (IEEE 802.3x) to the links that feed this one. They stop when the queue holds `high`
    /// bytes and continue when it has fallen to `low`.
    pub pause: Option<Pause>,
}

impl PortSpec {
    /// One queue directly in front of an Ethernet line of `rate`. With a rate of zero, serialization takes no
    /// time.
    #[must_use]
    pub fn new(queue: Discipline, rate: Rate) -> PortSpec {
        let line = Serializer::new(rate).into();
        PortSpec {
            queue,
            shaper: None,
            lanes: 1,
            ring: None,
            line,
            rate,
            frame: goodqueue::ETHERNET_FRAME,
            pause: None,
        }
    }
}

/// Which shaper it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShaperKind {
    /// Linux `sch_htb.c`, one class whose rate is its ceil: a packet can leave while the bucket is not below
    /// zero, and is paid for afterwards (`htb_class_mode`, `htb_accnt_tokens`).
    Htb,
    /// Linux `sch_tbf.c:tbf_dequeue`: the next packet is taken from its queue, and leaves when the bucket
    /// holds all of its bytes.
    Tbf,
}

/// A shaper in front of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shaper {
    /// Which one.
    pub kind: ShaperKind,
    /// Rate at which the bucket fills, more than zero.
    pub rate: Rate,
    /// Size of the bucket, bytes. `tbf` passes a longer packet when the bucket is full; Linux drops it.
    /// Super-packets are cut in front of a bucket that they do not fit into.
    pub burst: u32,
}

/// Thresholds of hardware flow control, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Backlog at which the feeding links are paused.
    pub high: u64,
    /// Backlog at which they may continue.
    pub low: u64,
}

/// Who sends the SYN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Opener {
    /// The host that sends the data (an upload).
    #[default]
    Sender,
    /// The host that receives it (a download).
    Receiver,
}

/// A flow over TCP, or over QUIC.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Host that sends.
    pub from: NodeId,
    /// Host that receives.
    pub to: NodeId,
    /// Congestion control of the sender, over TCP.
    pub cc: CcKind,
    /// Runs over QUIC instead of TCP, with this congestion control. BBR is not available: quinn's takes
    /// random bits from the system. Such a flow has neither `bytes` nor `max_rate`, and of [`Scenario::tcp`]
    /// only `ecn` applies to it.
    pub quic: Option<QuicCc>,
    /// Differentiated services code point of both directions, 0 to 63.
    pub dscp: u8,
    /// Who opens the connection.
    pub opener: Opener,
    /// When it is opened; with `after`, not earlier than this.
    pub start: Span,
    /// The flow that it waits for; `None`: it waits for none.
    pub after: Option<After>,
    /// When it is aborted with a reset; `None`: at the end.
    pub stop: Option<Span>,
    /// Bytes to send; `None`: unlimited. [`Simulation::transfer`] reports when the receiver has them all.
    ///
    /// [`Simulation::transfer`]: crate::Simulation::transfer
    pub bytes: Option<u64>,
    /// Rate limit, payload only (`SO_MAX_PACING_RATE`); `None`: no limit.
    pub max_rate: Option<Rate>,
}

/// Starts a flow after another: the next request of a user who has received the last answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct After {
    /// Number of the other flow in [`Scenario::flows`]. It has [`Flow::bytes`], and goes over TCP.
    pub flow: usize,
    /// Time from the moment at which the receiver of that flow has all of its bytes.
    pub pause: Span,
    /// If this flow would be opened at this time or later, it is not opened at all.
    pub until: Span,
    /// The flow reuses the other flow's connection, which is kept, and opens none. Its congestion control and
    /// DSCP are those of the flow that opened the connection. If the receiver opened it, the receiver sends a
    /// request of [`goodqueue_probe::web::REQUEST`] bytes, and the flow begins with that request.
    ///
    /// Such a flow has the same ends as the other one, which precedes it in the list, and has no stop. At
    /// most one flow follows another in this way.
    pub kept: bool,
}

impl Flow {
    /// A flow from the beginning to the end of the simulation, as fast as `cc` allows. Its sender opens it.
    /// Its packets are best effort (DSCP 0).
    #[must_use]
    pub const fn new(from: NodeId, to: NodeId, cc: CcKind) -> Flow {
        let (start, opener) = (Span::ZERO, Opener::Sender);
        Flow {
            from,
            to,
            cc,
            quic: None,
            dscp: 0,
            opener,
            start,
            after: None,
            stop: None,
            bytes: None,
            max_rate: None,
        }
    }
}

/// When a UDP source sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// One datagram every `interval`.
    Constant {
        /// Time between two datagrams.
        interval: Span,
    },
    /// Independent exponential gaps.
    Poisson {
        /// Mean time between two datagrams.
        mean: Span,
    },
    /// Exponential periods of sending at a constant rate and of silence.
    OnOff {
        /// Time between two datagrams while sending.
        interval: Span,
        /// Mean length of a period of sending.
        on: Span,
        /// Mean length of a period of silence.
        off: Span,
    },
}

/// A UDP source and its sink, which records one-way delays.
#[derive(Clone, Debug)]
pub struct Source {
    /// Host that sends.
    pub from: NodeId,
    /// Host that receives.
    pub to: NodeId,
    /// When it sends.
    pub pattern: Pattern,
    /// Frame length as a queue counts it, bytes.
    pub len: u32,
    /// Differentiated services code point, 0 to 63.
    pub dscp: u8,
    /// No datagram before this.
    pub start: Span,
    /// No datagram at or after this; `None`: to the end.
    pub stop: Option<Span>,
}

/// The protocol of a probe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ProbeKind {
    /// The isochronous UDP probe of `goodqueue_probe::echo` (irtt's packets), on an absolute grid.
    Irtt,
    /// ICMP echo; gaps are uniform in the interval × (1 ± `spread`). `spread` is at least 0 and below 1.
    Ping {
        /// The share of the interval by which a gap can differ.
        spread: f64,
    },
}

/// A probe: it sends requests, and the far end answers them at once.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Host that asks.
    pub from: NodeId,
    /// Host that answers.
    pub to: NodeId,
    /// Its protocol.
    pub kind: ProbeKind,
    /// Mean time between two requests.
    pub interval: Span,
    /// Bytes after the UDP or ICMP header; at least 60 for [`ProbeKind::Irtt`].
    pub payload: u32,
    /// Differentiated services code point, 0 to 63.
    pub dscp: u8,
    /// First request.
    pub start: Span,
    /// No request at or after this.
    pub stop: Span,
}

impl Probe {
    /// What `ping -i interval` sends until `stop`, from the beginning on, at equal intervals: ICMP echo with
    /// 56 bytes of payload (a frame of 98 bytes with IPv4), best effort (DSCP 0).
    #[must_use]
    pub const fn ping(from: NodeId, to: NodeId, interval: Span, stop: Span) -> Probe {
        let kind = ProbeKind::Ping { spread: 0.0 };
        Probe { from, to, kind, interval, payload: 56, dscp: 0, start: Span::ZERO, stop }
    }
}

/// A browser that fetches pages.
#[derive(Clone, Debug)]
pub struct Browse {
    /// Host that it runs on.
    pub from: NodeId,
    /// Servers; `page.host` of a page is an index into them. They also resolve names.
    pub hosts: Vec<NodeId>,
    /// Differentiated services code point of all that it and the servers send, 0 to 63.
    pub dscp: u8,
    /// Which pages, and when.
    pub config: BrowserConfig,
}

/// A player that watches a video.
#[derive(Clone, Debug)]
pub struct Watch {
    /// Host that it runs on.
    pub from: NodeId,
    /// The server. It also resolves names.
    pub server: NodeId,
    /// Congestion control of the server.
    pub cc: CcKind,
    /// Differentiated services code point of all that it and the server send, 0 to 63.
    pub dscp: u8,
    /// Which video, and when.
    pub config: PlayerConfig,
}

/// A test of responsiveness ([`goodqueue_probe::rpm`]) in one direction.
#[derive(Clone, Copy, Debug)]
pub struct Rpm {
    /// Host of the client.
    pub from: NodeId,
    /// The server.
    pub to: NodeId,
    /// Congestion control of both.
    pub cc: CcKind,
    /// Direction and parameters. In samples, its probes are numbered after those of [`Scenario::probes`],
    /// whatever this says.
    pub config: ClientConfig,
}

/// A video call or a game.
#[derive(Clone, Debug)]
pub struct Talk {
    /// Host of the client.
    pub from: NodeId,
    /// Host of the server.
    pub to: NodeId,
    /// Differentiated services code point of both directions, 0 to 63.
    pub dscp: u8,
    /// The kind of traffic, and when.
    pub config: PeerConfig,
}
