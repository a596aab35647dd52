//! Options of `sch_cake` (`linux/pkt_sched.h`, tc-cake(8)).

use std::fmt;

use goodqueue::cake::{AckFilter, Diffserv, Framing, InForce, Isolation, Params};
use goodqueue::{Link, Rate};
use netlink_packet_core::DefaultNla;
use netlink_packet_route::tc::TcOption;

use crate::{Error, Result};

const TCA_CAKE_BASE_RATE64: u16 = 2;
const TCA_CAKE_DIFFSERV_MODE: u16 = 3;
const TCA_CAKE_ATM: u16 = 4;
const TCA_CAKE_FLOW_MODE: u16 = 5;
const TCA_CAKE_OVERHEAD: u16 = 6;
const TCA_CAKE_RTT: u16 = 7;
const TCA_CAKE_TARGET: u16 = 8;
const TCA_CAKE_AUTORATE: u16 = 9;
const TCA_CAKE_MEMORY: u16 = 10;
const TCA_CAKE_NAT: u16 = 11;
const TCA_CAKE_RAW: u16 = 12;
const TCA_CAKE_WASH: u16 = 13;
const TCA_CAKE_MPU: u16 = 14;
const TCA_CAKE_INGRESS: u16 = 15;
const TCA_CAKE_ACK_FILTER: u16 = 16;
const TCA_CAKE_SPLIT_GSO: u16 = 17;
const TCA_CAKE_FWMARK: u16 = 18;

/// Queues of a tin in the kernel (`CAKE_QUEUES`).
const QUEUES: u32 = 1024;

/// The parameters of the library's `cake`, and what only a kernel has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CakeOptions {
    /// The parameters.
    pub params: InForce,
    /// Whether each queue of the device has its own `cake`, and all share the rate (`cake_mq`, Linux 7.0).
    pub is_multi_queue: bool,
}

impl CakeOptions {
    /// From the text of the queue, at this `rate`.
    ///
    /// # Errors
    /// `Refused` for a parameter that the kernel's `cake` does not have.
    pub fn new(params: &Params, rate: Rate) -> Result<CakeOptions> {
        if params.flows != QUEUES {
            return Err(Error::Refused(format!(
                "flows={}: the kernel's cake has {QUEUES} queues in each tin, and no parameter for it; leave it out",
                params.flows
            )));
        }
        let params = Params { bandwidth: Some(rate), ..*params };
        Ok(CakeOptions { params: params.on_link(Link::ethernet(rate)), is_multi_queue: false })
    }

    /// The name of the queueing discipline.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        if self.is_multi_queue { "cake_mq" } else { "cake" }
    }

    /// The elements of `TCA_OPTIONS`.
    pub(super) fn attributes(&self) -> Vec<TcOption> {
        let InForce { given, overhead, .. } = self.params;
        let mut all = vec![(TCA_CAKE_BASE_RATE64, self.params.rate().to_ne_bytes().to_vec())];
        let mut word = |kind, value: u32| all.push((kind, value.to_ne_bytes().to_vec()));
        word(TCA_CAKE_DIFFSERV_MODE, self.diffserv().0);
        word(TCA_CAKE_FLOW_MODE, self.isolation().0);
        word(TCA_CAKE_NAT, given.nat.into());
        word(TCA_CAKE_WASH, given.wash.into());
        word(TCA_CAKE_INGRESS, self.params.is_ingress().into());
        word(TCA_CAKE_ACK_FILTER, self.ack_filter().0);
        word(TCA_CAKE_SPLIT_GSO, given.split_gso.into());
        word(TCA_CAKE_RTT, micros(given.rtt.0));
        word(TCA_CAKE_TARGET, micros(self.params.target.0));
        word(TCA_CAKE_ATM, self.framing().0);
        if overhead.from_network {
            word(TCA_CAKE_OVERHEAD, i32::from(overhead.bytes).cast_unsigned());
        } else {
            word(TCA_CAKE_RAW, 0);
        }
        word(TCA_CAKE_MPU, self.params.mpu.into());
        word(TCA_CAKE_AUTORATE, given.autorate_ingress.into());
        word(TCA_CAKE_MEMORY, given.memlimit.unwrap_or(0));
        word(TCA_CAKE_FWMARK, given.fwmark);
        all.into_iter().map(|(kind, value)| TcOption::Other(DefaultNla::new(kind, value))).collect()
    }

    const fn diffserv(&self) -> (u32, &'static str) {
        match self.params.given.diffserv {
            Diffserv::Diffserv3 => (0, "diffserv3"),
            Diffserv::Diffserv4 => (1, "diffserv4"),
            Diffserv::Diffserv8 => (2, "diffserv8"),
            Diffserv::Besteffort => (3, "besteffort"),
            Diffserv::Precedence => (4, "precedence"),
        }
    }

    const fn isolation(&self) -> (u32, &'static str) {
        match self.params.given.isolation {
            Isolation::Flowblind => (0, "flowblind"),
            Isolation::Srchost => (1, "srchost"),
            Isolation::Dsthost => (2, "dsthost"),
            Isolation::Hosts => (3, "hosts"),
            Isolation::Flows => (4, "flows"),
            Isolation::DualSrchost => (5, "dual-srchost"),
            Isolation::DualDsthost => (6, "dual-dsthost"),
            Isolation::TripleIsolate => (7, "triple-isolate"),
        }
    }

    const fn framing(&self) -> (u32, &'static str) {
        match self.params.framing {
            Framing::None => (0, "noatm"),
            Framing::Atm => (1, "atm"),
            Framing::Ptm => (2, "ptm"),
        }
    }

    const fn ack_filter(&self) -> (u32, &'static str) {
        match self.params.given.ack_filter {
            AckFilter::Off => (0, "no-ack-filter"),
            AckFilter::On => (1, "ack-filter"),
            AckFilter::Aggressive => (2, "ack-filter-aggressive"),
        }
    }
}

/// Whole microseconds, the kernel's unit.
fn micros(nanos: u64) -> u32 {
    u32::try_from(nanos / 1000).unwrap_or(u32::MAX)
}

impl fmt::Display for CakeOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InForce { given, overhead, mpu, .. } = self.params;
        let Params { wash, split_gso, nat, rtt, autorate_ingress, memlimit, fwmark, .. } = given;
        let bandwidth = given.bandwidth.unwrap_or(Rate(0));
        let switch = |is_on, on, off| if is_on { on } else { off };
        write!(
            f,
            "bandwidth {bandwidth} {} {} {} {} {} {} {} rtt {}us {}",
            self.diffserv().1,
            self.isolation().1,
            switch(nat, "nat", "nonat"),
            switch(wash, "wash", "nowash"),
            switch(self.params.is_ingress(), "ingress", "egress"),
            self.ack_filter().1,
            switch(split_gso, "split-gso", "no-split-gso"),
            micros(rtt.0),
            self.framing().1,
        )?;
        if overhead.from_network {
            write!(f, " overhead {}", overhead.bytes)?;
        } else {
            f.write_str(" raw")?;
        }
        if mpu > 0 {
            write!(f, " mpu {mpu}")?;
        }
        if autorate_ingress {
            f.write_str(" autorate-ingress")?;
        }
        if let Some(memlimit) = memlimit {
            write!(f, " memlimit {memlimit}")?;
        }
        if fwmark > 0 {
            write!(f, " fwmark {fwmark:#x}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use netlink_packet_core::Emitable;

    use super::super::Qdisc;
    use super::*;

    /// The message of `tc qdisc add dev DEV root cake_mq bandwidth 1gbit`: the kind, and in the options the
    /// attributes of `cake` alone (Linux 7.0 `sch_cake.c:cake_mq_ops` shares its policy).
    #[test]
    fn the_message_of_cake_mq_is_that_of_cake_with_another_name() {
        let bytes = |is_multi_queue| {
            let cake = CakeOptions::new(&Params::default(), Rate(1_000_000_000)).expect("a cake");
            let qdisc = Qdisc::Cake(CakeOptions { is_multi_queue, ..cake });
            let attributes = qdisc.attributes();
            let mut all = vec![0; attributes.as_slice().buffer_len()];
            attributes.as_slice().emit(&mut all);
            all
        };
        let (one, many) = (bytes(false), bytes(true));
        // TCA_KIND (1): 4 bytes of header, the name, a zero, and padding to 4.
        assert_eq!(many[..12], *b"\x0c\0\x01\0cake_mq\0");
        assert_eq!(one[..12], *b"\x09\0\x01\0cake\0\0\0\0");
        assert_eq!(one[12..], many[12..]);
        // TCA_OPTIONS (2), and in it TCA_CAKE_BASE_RATE64 (2): 125 000 000 bytes per second.
        assert_eq!(many[14..16], 2_u16.to_ne_bytes());
        assert_eq!(many[16..20], [&12_u16.to_ne_bytes()[..], &2_u16.to_ne_bytes()[..]].concat());
        assert_eq!(many[20..28], 125_000_000_u64.to_ne_bytes());
    }
}
