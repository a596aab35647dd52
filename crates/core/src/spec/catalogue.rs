//! The queues and their parameters as data: what is parsed, listed and documented comes from here.

use super::cake::CAKE;
use super::classes::{DRR, PFIFO_FAST, PRIO};
use super::dualpi2::DUALPI2;
use super::fq::FQ;
use super::htb::HTB;
use super::pie::{FQ_PIE, PIE};
use super::red::RED;
use super::sfq::SFQ;
use super::wheel::WHEEL;

/// What a parameter's value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A number of packets: `1000`, also `1000p`.
    Packets,
    /// A number of things: `1024`.
    Count,
    /// Bytes in tc's words: `1514`, `100k`, `32m` (powers of 1024).
    Bytes,
    /// Bytes, maybe below zero: `-14`. Kept with 2^32 ([`SIGNED_ZERO`]) added.
    Signed,
    /// A power of two: `1024`.
    PowerOfTwo,
    /// A time with its unit: `5ms`. Kept in nanoseconds.
    Time,
    /// A time, or a word that stands for one.
    TimeOr(&'static [(&'static str, u64)]),
    /// A time, or a number of packets: `1ms`, `5p`. Packets are kept with 2^48 ([`PACKETS`]) added.
    TimeOrPackets,
    /// A number with up to six places behind the point: `0.16`. Kept in millionths.
    Decimal,
    /// A rate in tc's words: `10mbit`. Kept in bits per second.
    Rate,
    /// `on` or `off`.
    Switch,
    /// One of the words.
    Word(&'static [&'static str]),
    /// Sixteen digits in base 16, one for each of 16 things: `1222120011111111`.
    Digits,
    /// A queue, as it is written by itself; its own parameters have this one's name and a dot before theirs:
    /// `leaf=codel,leaf.target=10ms`.
    Queue,
}

impl Unit {
    /// What a value of this unit is called in a message.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Packets => "packets",
            Unit::Count => "number",
            Unit::Bytes | Unit::Signed => "bytes",
            Unit::PowerOfTwo => "power of two",
            Unit::Time | Unit::TimeOr(_) => "time",
            Unit::TimeOrPackets => "time or packets",
            Unit::Decimal => "number",
            Unit::Rate => "rate",
            Unit::Switch => "on or off",
            Unit::Word(_) => "word",
            Unit::Digits => "16 digits",
            Unit::Queue => "queue",
        }
    }
}

/// How 0 is kept where values may be negative ([`Unit::Signed`]).
pub const SIGNED_ZERO: u64 = 1 << 32;

/// How 0 packets are kept where times may stand too ([`Unit::TimeOrPackets`]).
pub const PACKETS: u64 = 1 << 48;
/// How one is kept as a [`Unit::Decimal`].
pub const MILLION: u64 = 1_000_000;

/// What holds where a parameter is not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Default {
    /// It must be given.
    Required,
    /// This value, in the base unit.
    Value(u64),
    /// Nothing: the mechanism is off. The word `off` says so.
    Off,
    /// The MTU of the link with its link header, bytes.
    Mtu,
    /// So many times that.
    Mtus(u64),
    /// It is computed of others, as these words say.
    Derived(&'static str),
    /// This queue.
    Queue(&'static str),
}

/// One parameter of a queue.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name, tc's word.
    pub name: &'static str,
    /// Other names that tc knows.
    pub aliases: &'static [&'static str],
    /// What its value is.
    pub unit: Unit,
    /// What holds where it is not given.
    pub default: Default,
    /// Least value, in the base unit (packets, bytes, ns, bit/s).
    pub min: u64,
    /// Largest value, in the base unit.
    pub max: u64,
    /// One line on what it does.
    pub doc: &'static str,
    /// Where it is defined: an RFC section or a function of Linux 6.1.
    pub source: &'static str,
}

/// Which queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum QueueKind {
    /// First in, first out, limited in packets.
    Pfifo,
    /// First in, first out, limited in bytes.
    Bfifo,
    /// `bfifo` whose limit is what the link sends in a given time.
    Fifo,
    /// One queue under `CoDel`.
    Codel,
    /// Fair queueing with `CoDel` in every bucket.
    FqCodel,
    /// One queue under PIE.
    Pie,
    /// Fair queueing with PIE in every bucket.
    FqPie,
    /// Two queues, one for L4S, with one controller.
    DualPi2,
    /// Stochastic fair queueing.
    Sfq,
    /// A queue per flow with pacing.
    Fq,
    /// One queue under RED.
    Red,
    /// Three bands by priority.
    PfifoFast,
    /// Bands by priority, each a queue.
    Prio,
    /// Classes in turn, each a queue.
    Drr,
    /// A tree of classes with rates, each a queue.
    Htb,
    /// A timing wheel: packets leave at the times that the host has stamped them with.
    Wheel,
    /// A token bucket over `bfifo`.
    Tbf,
    /// Fair queueing among hosts and flows, with classes and a shaper.
    Cake,
}

/// One queue of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct QueueInfo {
    /// Which queue.
    pub kind: QueueKind,
    /// Its name, tc's word where tc has it.
    pub name: &'static str,
    /// One line on what it does.
    pub doc: &'static str,
    /// Where it is defined.
    pub source: &'static str,
    /// Whether the first parameter may be written `name:value`.
    pub positional: bool,
    /// Its parameters.
    pub parameters: &'static [Parameter],
}

/// Most parameters that a queue of the catalogue has.
pub(super) const MOST_PARAMETERS: usize = 18;

/// Largest limit in packets: storage is allocated for all of them when the queue is built.
pub const MAX_PACKETS: u64 = 1 << 22;

pub(super) const MAX_BYTES: u64 = u32::MAX as u64;
/// Half the period of `CoDel`'s 32-bit clock, ns, in whole seconds: longer times read as past.
const MAX_CODEL_TIME: u64 = 2199 * 1_000_000_000;

pub(super) const fn parameter(name: &'static str, unit: Unit, default: Default) -> Parameter {
    Parameter { name, aliases: &[], unit, default, min: 0, max: u64::MAX, doc: "", source: "" }
}

impl Parameter {
    pub(super) const fn range(mut self, min: u64, max: u64) -> Parameter {
        self.min = min;
        self.max = max;
        self
    }
    pub(super) const fn about(mut self, doc: &'static str, source: &'static str) -> Parameter {
        self.doc = doc;
        self.source = source;
        self
    }
    pub(super) const fn also(mut self, aliases: &'static [&'static str]) -> Parameter {
        self.aliases = aliases;
        self
    }
}

const TARGET: Parameter = parameter("target", Unit::Time, Default::Value(5_000_000))
    .range(2000, MAX_CODEL_TIME)
    .about("acceptable standing sojourn time", "RFC 8289 section 4.3");
const INTERVAL: Parameter = parameter("interval", Unit::Time, Default::Value(100_000_000))
    .range(2000, MAX_CODEL_TIME)
    .about("time above target before the first drop; a usual worst round trip", "RFC 8289 section 4.3");
const CE_THRESHOLD: Parameter = parameter("ce_threshold", Unit::Time, Default::Off)
    .range(0, MAX_CODEL_TIME)
    .about("marks every ECN-capable packet that stayed longer", "codel_impl.h:codel_dequeue");
const PARITY: Parameter =
    parameter("parity", Unit::Word(&["sane", "linux", "linux-stale"]), Default::Value(0)).range(0, 2).about(
        "corners: as meant, as Linux 6.1.192, or as before its repair of stale state on an empty queue",
        "codel_impl.h:codel_dequeue",
    );

const fn ecn(default: u64) -> Parameter {
    parameter("ecn", Unit::Switch, Default::Value(default))
        .range(0, 1)
        .about("marks ECN-capable packets instead of dropping them", "RFC 8289 section 4.1, RFC 3168")
}

pub(super) const fn limit_packets(default: u64, source: &'static str) -> Parameter {
    parameter("limit", Unit::Packets, Default::Value(default))
        .range(1, MAX_PACKETS)
        .about("most packets queued", source)
}

const PFIFO: [Parameter; 1] = [limit_packets(1000, "sch_fifo.c:pfifo_enqueue")];

const BFIFO: [Parameter; 1] = [parameter("limit", Unit::Bytes, Default::Required)
    .range(1, MAX_BYTES)
    .about("most bytes queued", "sch_fifo.c:bfifo_enqueue")];

const FIFO: [Parameter; 1] = [parameter("time", Unit::Time, Default::Required)
    .range(1_000, 3_600_000_000_000)
    .about("depth: the bytes that the link sends in this time", "sch_fifo.c:bfifo_enqueue")];

const CODEL: [Parameter; 6] =
    [limit_packets(1000, "sch_codel.c:codel_qdisc_enqueue"), TARGET, INTERVAL, ecn(0), CE_THRESHOLD, PARITY];

const FQ_CODEL: [Parameter; 12] = [
    limit_packets(10_240, "RFC 8290 section 5.2.3, sch_fq_codel.c:fq_codel_enqueue"),
    parameter("flows", Unit::Count, Default::Value(1024))
        .range(1, 65_536)
        .about("buckets that flows are hashed into", "RFC 8290 section 5.2.4, sch_fq_codel.c:fq_codel_init"),
    TARGET,
    INTERVAL,
    parameter("quantum", Unit::Bytes, Default::Mtu).range(256, 1 << 20).about(
        "bytes a bucket may send in one turn",
        "RFC 8290 section 5.2.1, sch_fq_codel.c:fq_codel_change",
    ),
    ecn(1),
    parameter("memory_limit", Unit::Bytes, Default::Value(32 << 20))
        .range(1, MAX_BYTES)
        .about("most memory of the packets queued", "sch_fq_codel.c:fq_codel_enqueue"),
    parameter("drop_batch", Unit::Packets, Default::Value(64))
        .range(1, u32::MAX as u64)
        .also(&["drop_batch_size"])
        .about("most packets one overflow drops", "sch_fq_codel.c:fq_codel_drop"),
    CE_THRESHOLD,
    parameter("ce_threshold_selector", Unit::Count, Default::Value(0))
        .range(0, 255)
        .about("DS byte under the mask that ce_threshold is for", "codel_impl.h:codel_dequeue"),
    parameter("ce_threshold_mask", Unit::Count, Default::Value(0))
        .range(0, 255)
        .about("bits of the DS byte compared; 0 takes every packet", "codel_impl.h:codel_dequeue"),
    PARITY,
];

const TBF: [Parameter; 8] = [
    parameter("rate", Unit::Rate, Default::Required)
        .range(8, 8 << 40)
        .about("rate of the bucket, kept as whole bytes per second", "sch_tbf.c:tbf_change"),
    parameter("burst", Unit::Bytes, Default::Required)
        .range(1, MAX_BYTES)
        .also(&["buffer", "maxburst"])
        .about("depth of the bucket; longer packets are dropped", "sch_tbf.c:tbf_change"),
    parameter("limit", Unit::Bytes, Default::Required)
        .range(1, MAX_BYTES)
        .about("most bytes waiting for tokens", "sch_tbf.c:tbf_change"),
    parameter("peakrate", Unit::Rate, Default::Off)
        .range(8, 8 << 40)
        .about("rate that not even a burst exceeds", "sch_tbf.c:tbf_change"),
    parameter("minburst", Unit::Bytes, Default::Mtu)
        .range(1, MAX_BYTES)
        .also(&["mtu"])
        .about("depth of the bucket of the peak rate", "sch_tbf.c:tbf_change"),
    parameter("mpu", Unit::Bytes, Default::Value(0))
        .range(0, 65_535)
        .about("least length a packet counts for", "sch_generic.c:psched_ratecfg_precompute"),
    parameter("overhead", Unit::Bytes, Default::Value(0))
        .range(0, 65_535)
        .about("bytes added to every packet", "sch_generic.c:psched_ratecfg_precompute"),
    parameter("linklayer", Unit::Word(&["ethernet", "atm"]), Default::Value(0))
        .range(0, 1)
        .about("framing of the link; atm counts cells of 53 bytes for 48", "sch_generic.h:psched_l2t_ns"),
];

/// Every queue there is, in the order in which it is listed.
pub const CATALOGUE: [QueueInfo; 18] = [
    QueueInfo {
        kind: QueueKind::Pfifo,
        name: "pfifo",
        doc: "first in, first out, limited in packets",
        source: "Linux 6.1 sch_fifo.c",
        positional: true,
        parameters: &PFIFO,
    },
    QueueInfo {
        kind: QueueKind::Bfifo,
        name: "bfifo",
        doc: "first in, first out, limited in bytes",
        source: "Linux 6.1 sch_fifo.c",
        positional: true,
        parameters: &BFIFO,
    },
    QueueInfo {
        kind: QueueKind::Fifo,
        name: "fifo",
        doc: "first in, first out, as deep as the link sends in a given time",
        source: "Linux 6.1 sch_fifo.c (bfifo)",
        positional: true,
        parameters: &FIFO,
    },
    QueueInfo {
        kind: QueueKind::Codel,
        name: "codel",
        doc: "one queue that keeps the standing sojourn time at target by dropping or marking",
        source: "RFC 8289, Linux 6.1 sch_codel.c",
        positional: false,
        parameters: &CODEL,
    },
    QueueInfo {
        kind: QueueKind::FqCodel,
        name: "fq_codel",
        doc: "a bucket per flow served in turn, new flows first, each under codel",
        source: "RFC 8290, Linux 6.1 sch_fq_codel.c",
        positional: false,
        parameters: &FQ_CODEL,
    },
    QueueInfo {
        kind: QueueKind::Pie,
        name: "pie",
        doc: "one queue that keeps the delay at target by dropping arrivals with a probability",
        source: "RFC 8033, Linux 6.1 sch_pie.c",
        positional: false,
        parameters: &PIE,
    },
    QueueInfo {
        kind: QueueKind::FqPie,
        name: "fq_pie",
        doc: "a bucket per flow served in turn, new flows first, each under pie",
        source: "Linux 6.1 sch_fq_pie.c",
        positional: false,
        parameters: &FQ_PIE,
    },
    QueueInfo {
        kind: QueueKind::DualPi2,
        name: "dualpi2",
        doc: "two queues, one for L4S that is marked at once, one for the rest at target; equal rates for both",
        source: "RFC 9332, tc-dualpi2(8) of Linux 6.17",
        positional: false,
        parameters: &DUALPI2,
    },
    QueueInfo {
        kind: QueueKind::Sfq,
        name: "sfq",
        doc: "flows served in turn; the longest loses packets; no control of the delay, but RED if asked",
        source: "McKenney 1990, Linux 6.1 sch_sfq.c",
        positional: false,
        parameters: &SFQ,
    },
    QueueInfo {
        kind: QueueKind::Fq,
        name: "fq",
        doc: "a queue per flow served in turn, paced at the rates of local sockets; no control of the delay",
        source: "Linux 6.1 sch_fq.c",
        positional: false,
        parameters: &FQ,
    },
    QueueInfo {
        kind: QueueKind::Wheel,
        name: "wheel",
        doc: "a timing wheel: packets leave at the times that local sockets have stamped them with; else at once",
        source: "Saeed et al., Carousel, SIGCOMM 2017; Jacobson 2018",
        positional: false,
        parameters: &WHEEL,
    },
    QueueInfo {
        kind: QueueKind::Red,
        name: "red",
        doc: "one queue that drops arrivals with a probability by its average length in bytes",
        source: "Floyd and Jacobson 1993, Linux 6.1 sch_red.c",
        positional: true,
        parameters: &RED,
    },
    QueueInfo {
        kind: QueueKind::PfifoFast,
        name: "pfifo_fast",
        doc: "three FIFOs by the TOS bits, the first that has a packet sends it: what Linux had for long",
        source: "tc-pfifo_fast(8), Linux 6.1 sch_generic.c",
        positional: true,
        parameters: &PFIFO_FAST,
    },
    QueueInfo {
        kind: QueueKind::Prio,
        name: "prio",
        doc: "bands by the TOS bits, each a queue, the first that has a packet sends it",
        source: "tc-prio(8), Linux 6.1 sch_prio.c",
        positional: false,
        parameters: &PRIO,
    },
    QueueInfo {
        kind: QueueKind::Drr,
        name: "drr",
        doc: "classes by flow or DSCP, each a queue, served in turn by bytes",
        source: "Shreedhar and Varghese 1995, Linux 6.1 sch_drr.c",
        positional: false,
        parameters: &DRR,
    },
    QueueInfo {
        kind: QueueKind::Htb,
        name: "htb",
        doc: "shapes to a rate, as sqm-scripts do: one class, or three by DSCP that borrow from each other",
        source: "tc-htb(8), Linux 6.1 sch_htb.c, sqm-scripts",
        positional: false,
        parameters: &HTB,
    },
    QueueInfo {
        kind: QueueKind::Tbf,
        name: "tbf",
        doc: "a token bucket that shapes to a rate, over a bfifo",
        source: "Linux 6.1 sch_tbf.c",
        positional: false,
        parameters: &TBF,
    },
    QueueInfo {
        kind: QueueKind::Cake,
        name: "cake",
        doc: "hosts and flows served in turn, classes by DSCP, COBALT in each flow, a shaper that knows the link",
        source: "Linux 6.1 sch_cake.c",
        positional: true,
        parameters: &CAKE,
    },
];
