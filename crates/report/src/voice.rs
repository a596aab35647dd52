//! How one direction of a call sounded.

use serde::{Deserialize, Serialize};

use crate::mos::mos;

/// How one direction of a call sounded; absent below five packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Voice {
    /// Packets sent in this direction.
    pub sent: u64,
    /// Packets lost in it; a packet that was lost in an unknown direction counts in both.
    pub lost: u64,
    /// Mean one-way delay.
    pub delay_ns: u64,
    /// Jitter: the mean of |IPDV| (RFC 3393), the difference between the delays of consecutive packets.
    pub jitter_ns: u64,
    /// Mean opinion score, 1 to 4.41: the E-model (ITU-T G.107) with mean delay + 2 × jitter and the share
    /// lost.
    pub mos: f64,
}

/// What happened to a packet in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// It arrived after this one-way delay in nanoseconds. A negative delay, from clocks that disagree,
    /// counts as zero.
    After(i64),
    /// It arrived at an unknown time: the answer to it was lost.
    Sometime,
    /// It was lost.
    Never,
}

/// Computes a [`Voice`] from the packets of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Listener {
    sent: u64,
    lost: u64,
    timed: u64,
    delays: u128,
    last: Option<u64>,
    differences: u128,
    pairs: u64,
}

impl Listener {
    /// Adds the next packet in the order of sending.
    pub(crate) fn hear(&mut self, packet: Heard) {
        self.sent += 1;
        let delay = match packet {
            Heard::After(ns) => Some(ns.max(0).cast_unsigned()),
            Heard::Sometime => None,
            Heard::Never => {
                self.lost += 1;
                None
            }
        };
        if let Some(delay) = delay {
            self.timed += 1;
            self.delays += u128::from(delay);
            if let Some(last) = self.last {
                self.pairs += 1;
                self.differences += u128::from(delay.abs_diff(last));
            }
        }
        self.last = delay;
    }

    /// How it sounded; `None` if too few packets were sent.
    pub(crate) fn voice(&self) -> Option<Voice> {
        let mean = |sum: u128, n: u64| u64::try_from(sum / u128::from(n.max(1))).unwrap_or(u64::MAX);
        let (delay_ns, jitter_ns) = (mean(self.delays, self.timed), mean(self.differences, self.pairs));
        let heard_after = delay_ns.saturating_add(jitter_ns.saturating_mul(2));
        let mos = mos(heard_after, self.lost as f64 / self.sent as f64);
        (self.sent > 0).then_some(Voice { sent: self.sent, lost: self.lost, delay_ns, jitter_ns, mos })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn voice(packets: &[Heard]) -> Option<Voice> {
        let mut listener = Listener::default();
        packets.iter().for_each(|&packet| listener.hear(packet));
        listener.voice()
    }

    fn after(ms: i64) -> Heard {
        Heard::After(ms * MS)
    }

    #[test]
    fn delay_jitter_and_loss_by_hand() {
        let heard = voice(&[after(10), after(14), Heard::Never, after(20), after(18)]).expect("sent");
        // Pairs: 10 and 14, 20 and 18; across the gap there is none.
        assert_eq!((heard.sent, heard.lost), (5, 1));
        assert_eq!((heard.delay_ns, heard.jitter_ns), (15_500_000, 3_000_000));
        assert_eq!(heard.mos, mos(21_500_000, 0.2));
        let heard = voice(&[after(10), Heard::Sometime, after(30), Heard::Never]).expect("sent");
        assert_eq!((heard.sent, heard.lost, heard.delay_ns, heard.jitter_ns), (4, 1, 20_000_000, 0));
    }

    #[test]
    fn lost_packets_and_no_packets_are_different() {
        assert_eq!(voice(&[]), None);
        let silence = voice(&[Heard::Never; 2]).expect("sent");
        assert_eq!(silence, Voice { sent: 2, lost: 2, mos: 1.0, ..Voice::default() });
        let best = voice(&[-5, 0, i64::MIN].map(Heard::After)).expect("sent");
        assert_eq!((best.delay_ns, best.jitter_ns), (0, 0));
        assert!(voice(&[i64::MAX, 0, i64::MAX].map(Heard::After)).expect("sent").mos >= 1.0);
    }
}
