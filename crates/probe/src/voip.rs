//! A telephone call over UDP: what it sends, and how it sounds.
//!
//! Each call is one isochronous probe ([`crate::Probe`]) with the packets of G.711: a datagram every 20 ms
//! each way. It runs on the same machines as the latency probes, [`crate::echo`]: the reflector's answers are
//! the other party's voice. What was lost upwards is therefore not sent downwards, and the loss downwards is
//! a share of what the server sent.

use goodqueue::Span;

use crate::{Dscp, Probe, mos};

/// Time between two packets: 20 ms of voice (RFC 3551, section 4.2, default packetization).
pub const INTERVAL: Span = Span::from_millis(20);

/// UDP payload in bytes: 20 ms of G.711 at 64 kbit/s are 160, and 12 of RTP header (RFC 3550, section 5.1)
/// stand before them.
pub const PAYLOAD: u32 = 160 + 12;

/// The call with this mark, to the first host.
#[must_use]
pub fn call(dscp: Dscp) -> Probe {
    let mark = if dscp == Dscp::CS0 { "BE".into() } else { dscp.to_string() };
    Probe { name: format!("VoIP {mark}"), host: 0, dscp, interval: INTERVAL, payload: PAYLOAD }
}

/// How one way of a call fared.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Voice {
    /// Packets sent.
    pub sent: u64,
    /// Packets lost.
    pub lost: u64,
    /// Mean one-way delay in nanoseconds; 0 where nothing arrived.
    pub delay_ns: u64,
    /// Jitter in nanoseconds: the mean of |IPDV| (RFC 3393), the difference of the one-way delays of two
    /// packets sent one after the other that both arrived; 0 where there are no such two.
    pub jitter_ns: u64,
    /// Mean opinion score of the E-model ([`mos()`]), fed with mean delay + 2 x jitter, for the buffer that
    /// the receiver plays from (as flent does), and the share lost.
    pub mos: f64,
}

/// Makes a [`Voice`] of the packets of one way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Listener {
    sent: u64,
    arrived: u64,
    delays: u128,
    last: Option<u64>,
    differences: u128,
    pairs: u64,
}

impl Listener {
    /// Takes the next packet in the order of sending: its one-way delay in nanoseconds, or nothing where it was
    /// lost. A negative delay, of clocks that disagree, counts as none.
    pub fn hear(&mut self, delay_ns: Option<i64>) {
        let delay = delay_ns.map(|ns| ns.max(0).cast_unsigned());
        self.sent += 1;
        if let Some(delay) = delay {
            self.arrived += 1;
            self.delays += u128::from(delay);
            if let Some(last) = self.last {
                self.pairs += 1;
                self.differences += u128::from(delay.abs_diff(last));
            }
        }
        self.last = delay;
    }

    /// How it sounded; nothing where nothing was sent.
    #[must_use]
    pub fn voice(&self) -> Option<Voice> {
        let mean = |sum: u128, n: u64| u64::try_from(sum / u128::from(n.max(1))).unwrap_or(u64::MAX);
        let lost = self.sent - self.arrived;
        let (delay_ns, jitter_ns) = (mean(self.delays, self.arrived), mean(self.differences, self.pairs));
        let heard_after = Span(delay_ns.saturating_add(jitter_ns.saturating_mul(2)));
        let mos = mos(heard_after, lost as f64 / self.sent as f64);
        (self.sent > 0).then_some(Voice { sent: self.sent, lost, delay_ns, jitter_ns, mos })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn voice(delays: &[Option<i64>]) -> Option<Voice> {
        let mut listener = Listener::default();
        delays.iter().for_each(|&delay| listener.hear(delay));
        listener.voice()
    }

    #[test]
    fn a_call_is_64_kbit_s_of_voice_with_rtp() {
        let call = call(Dscp::EF);
        assert_eq!(
            (call.interval, call.payload, call.name.as_str()),
            (Span::from_millis(20), 172, "VoIP EF")
        );
        assert_eq!(u64::from(call.payload - 12) * 8 * (1_000_000_000 / call.interval.0), 64_000);
        assert_eq!(super::call(Dscp::CS0).name, "VoIP BE");
    }

    #[test]
    fn delay_jitter_and_loss_by_hand() {
        let heard = voice(&[Some(10 * MS), Some(14 * MS), None, Some(20 * MS), Some(18 * MS)]).expect("sent");
        // Pairs: 10 and 14, 20 and 18; across the gap there is none.
        assert_eq!((heard.sent, heard.lost), (5, 1));
        assert_eq!((heard.delay_ns, heard.jitter_ns), (15_500_000, 3_000_000));
        assert_eq!(heard.mos, mos(Span(21_500_000), 0.2));
    }

    #[test]
    fn silence_and_nothing_are_told_apart() {
        assert_eq!(voice(&[]), None);
        let silence = voice(&[None, None]).expect("sent");
        assert_eq!(silence, Voice { sent: 2, lost: 2, mos: 1.0, ..Voice::default() });
        let best = voice(&[Some(-5), Some(0), Some(i64::MIN)]).expect("sent");
        assert_eq!((best.delay_ns, best.jitter_ns), (0, 0));
        assert!(voice(&[Some(i64::MAX), Some(0), Some(i64::MAX)]).expect("sent").mos >= 1.0);
    }
}
