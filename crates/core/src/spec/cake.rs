//! The parameters of `cake` by name: tc's keywords for links, round trips and the rest.

use super::catalogue::{Default, MAX_BYTES, Parameter, SIGNED_ZERO, Unit, parameter};
use super::{QueueKind, QueueSpec};
use crate::cake::{AckFilter, Diffserv, Framing, Isolation, Overhead, Params};
use crate::{Rate, Span};

const DIFFSERV: [Diffserv; 5] = [
    Diffserv::Diffserv3,
    Diffserv::Diffserv4,
    Diffserv::Diffserv8,
    Diffserv::Besteffort,
    Diffserv::Precedence,
];

const ISOLATION: [Isolation; 8] = [
    Isolation::TripleIsolate,
    Isolation::DualSrchost,
    Isolation::DualDsthost,
    Isolation::Flows,
    Isolation::Hosts,
    Isolation::Srchost,
    Isolation::Dsthost,
    Isolation::Flowblind,
];

/// Round trips that have a name.
const RTTS: &[(&str, u64)] = &[
    ("datacentre", 100_000),
    ("lan", 1_000_000),
    ("metro", 10_000_000),
    ("regional", 30_000_000),
    ("internet", 100_000_000),
    ("oceanic", 300_000_000),
    ("satellite", 1_000_000_000),
    ("interplanetary", 1_000_000_000_000),
];

/// What a keyword says of a link: overhead, least length, framing.
struct Link {
    overhead: Option<i16>,
    mpu: u16,
    framing: Framing,
}

const fn link(overhead: i16, mpu: u16, framing: Framing) -> Link {
    Link { overhead: Some(overhead), mpu, framing }
}

/// `raw` and `via-ethernet` say nothing: the length with its link header counts.
const SILENT: Link = Link { overhead: None, mpu: 0, framing: Framing::None };

const LINKS: [&str; 15] = [
    "raw",
    "conservative",
    "ethernet",
    "via-ethernet",
    "docsis",
    "pppoe-ptm",
    "bridged-ptm",
    "pppoe-vcmux",
    "pppoe-llcsnap",
    "pppoa-vcmux",
    "pppoa-llc",
    "bridged-vcmux",
    "bridged-llcsnap",
    "ipoa-vcmux",
    "ipoa-llcsnap",
];

/// What [`LINKS`] stand for, in the same order.
const MEANT: [Link; 15] = [
    SILENT,
    link(48, 0, Framing::Atm),
    link(38, 84, Framing::None),
    SILENT,
    link(18, 64, Framing::None),
    link(30, 0, Framing::Ptm),
    link(22, 0, Framing::Ptm),
    link(32, 0, Framing::Atm),
    link(40, 0, Framing::Atm),
    link(10, 0, Framing::Atm),
    link(14, 0, Framing::Atm),
    link(24, 0, Framing::Atm),
    link(32, 0, Framing::Atm),
    link(8, 0, Framing::Atm),
    link(16, 0, Framing::Atm),
];

const fn switch(name: &'static str, default: u64) -> Parameter {
    parameter(name, Unit::Switch, Default::Value(default)).range(0, 1)
}

const fn word(name: &'static str, words: &'static [&'static str], default: Default) -> Parameter {
    parameter(name, Unit::Word(words), default).range(0, words.len() as u64 - 1)
}

pub(super) const CAKE: [Parameter; 18] = [
    word("diffserv", &["diffserv3", "diffserv4", "diffserv8", "besteffort", "precedence"], Default::Value(0))
        .about("tins: classes of traffic, by the DSCP", "sch_cake.c:cake_select_tin"),
    parameter("bandwidth", Unit::Rate, Default::Off).range(8, 8 << 40).about(
        "rate of the shaper, kept as whole bytes per second; off: unlimited",
        "sch_cake.c:cake_set_rate",
    ),
    word(
        "isolation",
        &[
            "triple-isolate",
            "dual-srchost",
            "dual-dsthost",
            "flows",
            "hosts",
            "srchost",
            "dsthost",
            "flowblind",
        ],
        Default::Value(0),
    )
    .about("what has equal shares: hosts and flows, or one of them", "sch_cake.c:cake_hash"),
    parameter("rtt", Unit::TimeOr(RTTS), Default::Value(100_000_000)).range(1_000, 4_294_967_295_000).about(
        "usual round trip, the interval of COBALT; its target is a twentieth",
        "sch_cake.c:cake_set_rate",
    ),
    word("link", &LINKS, Default::Value(0))
        .about("overhead, mpu and atm of a kind of link, each unless given itself", "tc q_cake.c"),
    parameter("overhead", Unit::Signed, Default::Off).range(SIGNED_ZERO - 64, SIGNED_ZERO + 256).about(
        "bytes added to every packet, its link header taken off first",
        "sch_cake.c:cake_calc_overhead",
    ),
    parameter("ether-vlan", Unit::Count, Default::Value(0))
        .range(0, 3)
        .about("VLAN tags, 4 bytes more each", "tc q_cake.c"),
    parameter("mpu", Unit::Bytes, Default::Off)
        .range(0, 256)
        .about("least length that a packet counts for", "sch_cake.c:cake_calc_overhead"),
    word("atm", &["noatm", "atm", "ptm"], Default::Off)
        .about("framing: cells of 53 bytes for 48, or a byte more for 64", "sch_cake.c:cake_calc_overhead"),
    switch("ingress", 0).about(
        "the shaper pays for what is dropped: it stands behind the bottleneck",
        "sch_cake.c:cake_dequeue",
    ),
    switch("autorate-ingress", 0)
        .about("the shaper's rate follows the arriving traffic", "sch_cake.c:cake_enqueue"),
    word("ack-filter", &["off", "on", "aggressive"], Default::Value(0))
        .about("drops acknowledgements that a later one makes superfluous", "sch_cake.c:cake_ack_filter"),
    switch("split-gso", 1).about("cuts super-packets on arrival", "sch_cake.c:cake_enqueue"),
    switch("wash", 0)
        .about("sets the DSCP to 0, after the tin was chosen by it", "sch_cake.c:cake_handle_diffserv"),
    switch("nat", 0)
        .about("no effect: addresses are never translated here", "sch_cake.c:cake_update_flowkeys"),
    parameter("memlimit", Unit::Bytes, Default::Off).range(1, MAX_BYTES).about(
        "most memory of the packets queued; off: 4 bandwidth * rtt, 4 MiB at least",
        "sch_cake.c:cake_reconfigure",
    ),
    parameter("fwmark", Unit::Count, Default::Value(0))
        .range(0, u32::MAX as u64)
        .about("bits of the firewall mark that choose the tin", "sch_cake.c:cake_select_tin"),
    parameter("flows", Unit::PowerOfTwo, Default::Value(1024))
        .range(8, 65_536)
        .about("queues in each tin, in sets of 8; Linux has 1024", "sch_cake.c:CAKE_QUEUES"),
];

impl QueueSpec {
    /// The value of a word, as the thing that it stands for.
    fn pick<T: Copy + core::default::Default>(&self, name: &str, things: &[T]) -> T {
        let at = self.get(name).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| things.get(at).copied()).unwrap_or_default()
    }

    /// Overhead, least length and framing: of the link's keyword, each replaced where it is given itself.
    fn cake_link(&self) -> (Overhead, u16, Framing) {
        let at = self.get("link").and_then(|at| usize::try_from(at).ok()).unwrap_or(0);
        let Link { overhead, mpu, framing } = MEANT.get(at).unwrap_or(&SILENT);
        let signed = |value: u64| i16::try_from(value.wrapping_sub(SIGNED_ZERO).cast_signed()).unwrap_or(0);
        let tags = i16::try_from(self.get("ether-vlan").unwrap_or(0)).unwrap_or(0);
        let given = self.get("overhead").map(signed).or(*overhead);
        let overhead =
            Overhead { bytes: given.unwrap_or(0) + 4 * tags, from_network: given.is_some() || tags > 0 };
        let mpu = self.get("mpu").and_then(|mpu| u16::try_from(mpu).ok()).unwrap_or(*mpu);
        let framing = match self.get("atm") {
            None => *framing,
            Some(_) => self.pick("atm", &[Framing::None, Framing::Atm, Framing::Ptm]),
        };
        (overhead, mpu, framing)
    }

    /// The parameters of `cake` on a link of this MTU (with its link header, bytes); `None` for another queue.
    #[must_use]
    pub fn cake_params(&self, mtu: u32) -> Option<Params> {
        if self.kind() != QueueKind::Cake {
            return None;
        }
        let is_on = |name| self.get(name) == Some(1);
        let number = |name| u32::try_from(self.get(name).unwrap_or(0)).unwrap_or(u32::MAX);
        let rtt = self.get("rtt").unwrap_or(0);
        let (overhead, mpu, framing) = self.cake_link();
        Some(Params {
            bandwidth: Rate(self.get("bandwidth").unwrap_or(0)),
            diffserv: self.pick("diffserv", &DIFFSERV),
            isolation: self.pick("isolation", &ISOLATION),
            rtt: Span(rtt),
            // Whole microseconds, as tc gives them.
            target: Span((rtt / 1000 / 20).max(1) * 1000),
            overhead,
            mpu,
            framing,
            memory_limit: number("memlimit"),
            autorate_ingress: is_on("autorate-ingress"),
            ingress: is_on("ingress"),
            wash: is_on("wash"),
            split_gso: is_on("split-gso"),
            ack_filter: self.pick("ack-filter", &[AckFilter::Off, AckFilter::On, AckFilter::Aggressive]),
            fwmark: number("fwmark"),
            mtu,
            ..Params::default()
        })
    }

    /// Packets that `cake` has places for: as many as its memory limit has room for, at 768 bytes each, which
    /// the smallest take in Linux.
    #[must_use]
    pub fn cake_packets(&self, mtu: u32) -> Option<u64> {
        let params = self.cake_params(mtu)?;
        // The estimate can raise the rate, and with it the limit, up to that without a rate.
        let rate = if params.autorate_ingress { 0 } else { params.bandwidth.0 / 8 };
        Some(u64::from(params.memory_limit_at(rate)) / 768 + 1)
    }
}
