//! Options of `sch_htb` and of its classes (`linux/pkt_sched.h`, tc-htb(8)).

use std::fmt;

use goodqueue::Rate;
use goodqueue::htb::ClassParams;
use goodqueue::tbf::LinkLayer;
use netlink_packet_core::DefaultNla;
use netlink_packet_route::tc::{TcAttribute, TcOption};

const TCA_HTB_PARMS: u16 = 1;
const TCA_HTB_INIT: u16 = 2;
const TCA_HTB_RATE64: u16 = 6;
const TCA_HTB_CEIL64: u16 = 7;
/// `HTB_VER`: the version of the messages, in the high 16 bits of the module's version.
const HTB_VERSION: u32 = 3;
/// tc's default; each class has a quantum of its own.
const RATE2QUANTUM: u32 = 10;
/// A tick of the packet scheduler is 64 ns (`PSCHED_SHIFT`).
const TICK_NS: u64 = 64;

/// `struct tc_htb_glob`.
pub(super) fn qdisc(default: u16) -> Vec<TcOption> {
    let words = [HTB_VERSION, RATE2QUANTUM, default.into(), 0, 0];
    let bytes = words.into_iter().flat_map(u32::to_ne_bytes).collect();
    vec![TcOption::Other(DefaultNla::new(TCA_HTB_INIT, bytes))]
}

/// The parameters of a class of the library's `htb`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HtbClass(pub ClassParams);

impl HtbClass {
    fn quantum(&self) -> u32 {
        let of_rate = u32::try_from(self.0.rate.0 / 8 / u64::from(RATE2QUANTUM)).unwrap_or(u32::MAX);
        self.0.quantum.unwrap_or(of_rate.clamp(1000, 200_000))
    }

    /// `struct tc_ratespec`. A rate that does not fit is all ones, and another attribute has it. Because the
    /// link layer is named, the kernel needs no table of times (`htb_change_class`).
    fn ratespec(&self, rate: Rate) -> Vec<u8> {
        let linklayer = match self.0.linklayer {
            LinkLayer::Ethernet => 1,
            LinkLayer::Atm => 2,
        };
        let mut bytes = vec![0, linklayer];
        bytes.extend_from_slice(&self.0.overhead.to_ne_bytes());
        bytes.extend_from_slice(&(-1_i16).to_ne_bytes());
        bytes.extend_from_slice(&self.0.mpu.to_ne_bytes());
        bytes.extend_from_slice(&u32::try_from(rate.0 / 8).unwrap_or(u32::MAX).to_ne_bytes());
        bytes
    }

    /// The kind and the options of a class.
    pub(super) fn of_class(&self) -> Vec<TcAttribute> {
        vec![TcAttribute::Kind("htb".into()), TcAttribute::Options(self.attributes())]
    }

    /// The elements of `TCA_OPTIONS`: `struct tc_htb_opt`, and rates that have more than 32 bits.
    fn attributes(&self) -> Vec<TcOption> {
        let ClassParams { rate, ceil, burst, cburst, prio, .. } = self.0;
        let mut bytes = [self.ratespec(rate), self.ratespec(ceil)].concat();
        for word in [ticks(burst, rate), ticks(cburst, ceil), self.quantum(), 0, prio.into()] {
            bytes.extend_from_slice(&word.to_ne_bytes());
        }
        let mut all = vec![DefaultNla::new(TCA_HTB_PARMS, bytes)];
        for (kind, rate) in [(TCA_HTB_RATE64, rate), (TCA_HTB_CEIL64, ceil)] {
            if u32::try_from(rate.0 / 8).is_err() {
                all.push(DefaultNla::new(kind, (rate.0 / 8).to_ne_bytes().to_vec()));
            }
        }
        all.into_iter().map(TcOption::Other).collect()
    }
}

/// How long `bytes` take at `rate`, rounded down as tc does.
fn ticks(bytes: u32, rate: Rate) -> u32 {
    let ticks = u128::from(bytes) * 8_000_000_000 / u128::from(TICK_NS) / u128::from(rate.0.max(1));
    u32::try_from(ticks).unwrap_or(u32::MAX)
}

impl fmt::Display for HtbClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ClassParams { rate, ceil, burst, cburst, prio, mpu, overhead, linklayer, .. } = self.0;
        let quantum = self.quantum();
        write!(f, "rate {rate} ceil {ceil} burst {burst}b cburst {cburst}b quantum {quantum} prio {prio}")?;
        if mpu > 0 {
            write!(f, " mpu {mpu}")?;
        }
        if overhead > 0 {
            write!(f, " overhead {overhead}")?;
        }
        if linklayer == LinkLayer::Atm {
            f.write_str(" linklayer atm")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_a_time_in_ticks_of_64_ns() {
        assert_eq!(ticks(2500, Rate(20_000_000)), 15_625);
        assert_eq!(ticks(u32::MAX, Rate(8)), u32::MAX, "no overflow");
    }

    #[test]
    fn a_rate_above_32_bits_has_an_attribute_of_its_own() {
        let attributes = |bits: u64| HtbClass(ClassParams::new(Rate(bits))).attributes();
        assert_eq!(attributes(34_359_738_360).len(), 1, "2^32 - 1 bytes/s");
        assert_eq!(attributes(34_359_738_368).len(), 3);
    }
}
