//! A telephone call over UDP.
//!
//! Each call is one isochronous probe ([`crate::Probe`]) with the packets of G.711: a datagram every 20 ms
//! each way. It uses the state machines of the latency probes, [`crate::echo`]: the reflector's answers are
//! the other party's voice. So a packet lost on the way up is not echoed, and the loss down is a share of
//! what the server sent.

use goodqueue::Span;

use crate::{Dscp, Probe};

/// Time between two packets: 20 ms of voice (RFC 3551, section 4.2, default packetization).
pub const INTERVAL: Span = Span::from_millis(20);

/// UDP payload in bytes: 20 ms of G.711 at 64 kbit/s are 160 bytes, after an RTP header of 12 bytes (RFC
/// 3550, section 5.1).
pub const PAYLOAD: u32 = 160 + 12;

/// The call with this DSCP, to the first host.
#[must_use]
pub fn call(dscp: Dscp) -> Probe {
    let mark = if dscp == Dscp::CS0 { "BE".into() } else { dscp.to_string() };
    Probe { name: format!("VoIP {mark}"), host: 0, dscp, interval: INTERVAL, payload: PAYLOAD }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::echo::{Prober, ProberConfig, Reflector, Stamp};
    use crate::{Direction, Sample};
    use goodqueue::Nanos;

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

    /// A call of 10 s through prober and reflector: 50 ms up and 20 ms down, first without loss, then with
    /// every 10th packet lost on the way down.
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
            layout: crate::echo::Layout::FULL,
            least_timeout: ProberConfig::LEAST_TIMEOUT,
        };
        let (mut prober, mut reflector) = (Prober::new(config), Reflector::new());
        let (mut heard, mut lost) = (0, 0);
        let mut sink = |sample| match sample {
            Sample::Echo { probe: 3, up: 50_000_000, down: 20_000_000, .. } => heard += 1,
            Sample::Lost { probe: 3, way: Some(Direction::Down), .. } => lost += 1,
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
        assert_eq!((heard, lost), (450, 50));
    }
}
