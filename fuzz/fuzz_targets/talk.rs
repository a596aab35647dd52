#![no_main]
use goodqueue::Nanos;
use goodqueue_probe::Sample;
use goodqueue_probe::talk::{self, App, PAYLOAD, PeerConfig};

// Datagrams, each behind a byte that says who gets it and how much time has passed before: strangers' ones,
// or what the other end sent with one byte changed.
libfuzzer_sys::fuzz_target!(|input: (u8, Vec<(u8, u8, Vec<u8>)>)| {
    let (ticks, datagrams) = input;
    let app = if ticks == 0 { App::Call } else { App::Game(ticks.min(250)) };
    let at = |ms: u64| Nanos(ms * 1_000_000);
    let config = PeerConfig { talk: 0, token: 7, app, origin: at(0), start: at(0), stop: at(10_000) };
    let (mut client, mut server) = (talk::client(config), None);
    let (mut now, mut buffer, mut last) = (at(0), [0; PAYLOAD], None::<u32>);
    for (how, place, mut datagram) in datagrams {
        now.0 += u64::from(how >> 2) * 1_000_000;
        let mut sink = |sample: Sample| {
            if let Sample::Shown { number, way: goodqueue_probe::Direction::Down, .. } = sample {
                assert!(last.is_none_or(|last| number > last), "frames are shown once and in order");
                last = Some(number);
            }
        };
        let mut sent = None;
        while let Some(len) = client.poll_transmit(now, &mut buffer) {
            sent = Some(buffer[..len].to_vec());
        }
        if how & 2 == 2 {
            let change = datagram.first().copied().unwrap_or(0);
            datagram = sent.unwrap_or(datagram);
            if let Some(byte) = datagram.get_mut(usize::from(place)) {
                *byte ^= change;
            }
        }
        if how & 1 == 0 {
            client.handle_datagram(now, datagram.len(), &datagram, &mut sink);
        } else if let Some((_, fresh)) = talk::accept(&datagram, at(0)) {
            server = Some(fresh);
        } else if let Some(server) = &mut server {
            server.handle_datagram(now, datagram.len(), &datagram, &mut |_| {});
        }
        if let Some(server) = &mut server {
            while let Some(len) = server.poll_transmit(now, &mut buffer) {
                client.handle_datagram(now, len, &buffer[..len], &mut sink);
            }
        }
    }
});
