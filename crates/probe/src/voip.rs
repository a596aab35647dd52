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
    /// Mean one-way delay in nanoseconds; 0 where none is known.
    pub delay_ns: u64,
    /// Jitter in nanoseconds: the mean of |IPDV| (RFC 3393), the difference of the one-way delays of two
    /// packets sent one after the other that both arrived; 0 where there are no such two.
    pub jitter_ns: u64,
    /// Mean opinion score of the E-model ([`mos()`]), fed with mean delay + 2 x jitter, for the buffer that
    /// the receiver plays from (as flent does), and the share lost.
    pub mos: f64,
}

/// What became of a packet on one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// It arrived after this one-way delay in nanoseconds. A negative one, of clocks that disagree, counts as
    /// none.
    After(i64),
    /// It arrived, nobody knows when: the answer to it was lost.
    Sometime,
    /// It was lost.
    Never,
}

/// Makes a [`Voice`] of the packets of one way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Listener {
    sent: u64,
    lost: u64,
    timed: u64,
    delays: u128,
    last: Option<u64>,
    differences: u128,
    pairs: u64,
}

impl Listener {
    /// Takes the next packet in the order of sending.
    pub fn hear(&mut self, packet: Heard) {
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

    /// How it sounded; nothing where nothing was sent.
    #[must_use]
    pub fn voice(&self) -> Option<Voice> {
        let mean = |sum: u128, n: u64| u64::try_from(sum / u128::from(n.max(1))).unwrap_or(u64::MAX);
        let (delay_ns, jitter_ns) = (mean(self.delays, self.timed), mean(self.differences, self.pairs));
        let heard_after = Span(delay_ns.saturating_add(jitter_ns.saturating_mul(2)));
        let mos = mos(heard_after, self.lost as f64 / self.sent as f64);
        (self.sent > 0).then_some(Voice { sent: self.sent, lost: self.lost, delay_ns, jitter_ns, mos })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::echo::{Prober, ProberConfig, Reflector, Stamp};
    use crate::{Sample, Way};
    use goodqueue::Nanos;

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
        let heard = voice(&[after(10), after(14), Heard::Never, after(20), after(18)]).expect("sent");
        // Pairs: 10 and 14, 20 and 18; across the gap there is none.
        assert_eq!((heard.sent, heard.lost), (5, 1));
        assert_eq!((heard.delay_ns, heard.jitter_ns), (15_500_000, 3_000_000));
        assert_eq!(heard.mos, mos(Span(21_500_000), 0.2));
        let heard = voice(&[after(10), Heard::Sometime, after(30), Heard::Never]).expect("sent");
        assert_eq!((heard.sent, heard.lost, heard.delay_ns, heard.jitter_ns), (4, 1, 20_000_000, 0));
    }

    #[test]
    fn silence_and_nothing_are_told_apart() {
        assert_eq!(voice(&[]), None);
        let silence = voice(&[Heard::Never; 2]).expect("sent");
        assert_eq!(silence, Voice { sent: 2, lost: 2, mos: 1.0, ..Voice::default() });
        let best = voice(&[-5, 0, i64::MIN].map(Heard::After)).expect("sent");
        assert_eq!((best.delay_ns, best.jitter_ns), (0, 0));
        assert!(voice(&[i64::MAX, 0, i64::MAX].map(Heard::After)).expect("sent").mos >= 1.0);
    }

    /// A call of 10 s through prober and reflector: 50 ms up, 20 ms down without loss; and with every 10th
    /// packet lost on the way down.
    #[test]
    fn a_call_in_virtual_time() {
        let call = call(Dscp::CS0);
        let config = ProberConfig {
            probe: 3,
            token: 1,
            origin: Nanos::ZERO,
            start: Nanos::ZERO,
            stop: Nanos(10_000_000_000),
            interval: call.interval,
            payload: call.payload,
            least_timeout: ProberConfig::LEAST_TIMEOUT,
        };
        let (mut prober, mut reflector) = (Prober::new(config), Reflector::new());
        let (mut up, mut down) = (Listener::default(), Listener::default());
        let mut sink = |sample| match sample {
            Sample::Echo { probe: 3, up: there, down: back, .. } => {
                up.hear(Heard::After(there));
                down.hear(Heard::After(back));
            }
            Sample::Lost { probe: 3, way: Way::Down, .. } => {
                up.hear(Heard::Sometime);
                down.hear(Heard::Never);
            }
            other => panic!("{other:?}"),
        };
        let at = |ms: u64| Stamp::virtual_time(Nanos(ms * 1_000_000));
        let mut buf = [0; 1452];
        for packet in 0..500 {
            let len = prober.poll_transmit(at(packet * 20), &mut buf).expect("a packet is due");
            assert_eq!(len, 172);
            let (there, back) = (at(packet * 20 + 50), at(packet * 20 + 70));
            reflector.handle(there, there, &mut buf[..len]).expect("a request");
            if packet % 10 != 4 {
                prober.handle_datagram(back, &buf[..len], &mut sink).expect("a reply");
            }
        }
        prober.finish(&mut sink);
        let (up, down) = (up.voice().expect("sent"), down.voice().expect("sent"));
        assert_eq!((up.sent, up.lost, up.delay_ns, up.jitter_ns), (500, 0, 50_000_000, 0));
        assert_eq!((down.sent, down.lost, down.delay_ns), (500, 50, 20_000_000));
        assert_eq!((up.mos, down.mos), (mos(Span::from_millis(50), 0.0), mos(Span::from_millis(20), 0.1)));
    }
}
