#![no_main]
use goodqueue::Nanos;
use goodqueue_probe::Sample;
use goodqueue_probe::echo::{Layout, Prober, ProberConfig, Reflector, Stamp};

// Datagrams. A byte in front of each selects the receiver and the time before it.
libfuzzer_sys::fuzz_target!(|datagrams: Vec<(u8, Vec<u8>)>| {
    let at = |ms: u64| Nanos(ms * 1_000_000);
    let mut prober = Prober::new(ProberConfig {
        probe: 0,
        token: 7,
        origin: at(0),
        start: at(0),
        stop: at(1000),
        interval: goodqueue::Span::from_millis(10),
        payload: 60,
        layout: Layout::FULL,
        least_timeout: goodqueue::Span::from_millis(100),
    });
    let (mut reflector, mut now, mut buffer) = (Reflector::new(), at(0), [0; 1500]);
    let (mut sent, mut known) = (0, 0);
    let mut sink =
        |sample: Sample| known += u64::from(!matches!(sample, Sample::Echo { duplicate: true, .. }));
    for (how, mut datagram) in datagrams {
        now.0 += u64::from(how >> 1) * 1_000_000;
        let stamp = Stamp::virtual_time(now);
        prober.handle_timeout(stamp, &mut sink);
        sent += u64::from(prober.poll_transmit(stamp, &mut buffer).is_some());
        // With IP headers, what parses is emitted again.
        let layout = Layout { ip: true, ..Layout::FULL };
        if let Ok(packet) = layout.parse(&datagram) {
            let mut again = datagram.clone();
            layout.emit(&packet, &mut again);
            assert_eq!(again, datagram);
        }
        if how & 1 == 0 {
            // An answer that cannot be read is an error, never a panic.
            let _ = prober.handle_datagram(stamp, &datagram, &mut sink);
        } else if reflector.handle(stamp, stamp, &mut datagram).is_ok() {
            assert!(Layout::FULL.parse(&datagram).is_ok_and(|packet| packet.reply));
        }
    }
    prober.finish(&mut sink);
    assert_eq!(known, sent, "every probe sent is answered or lost, once");
});
