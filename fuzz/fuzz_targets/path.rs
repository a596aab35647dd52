#![no_main]
use std::net::{Ipv4Addr, SocketAddr};

use goodqueue::{Nanos, Span};
use goodqueue_path::key::Key;
use goodqueue_path::open::{OpenReply, OpenRequest, token_of_request};
use goodqueue_path::server::{Arrived, Limits, Server};
use goodqueue_probe::echo::Stamp;
use goodqueue_probe::echo::wire::{IpFields, MAGIC};

// Datagrams from four addresses. A byte in front of each selects the address, the time before it, and whether
// it begins with the protocol's header and has a token that the server gave.
libfuzzer_sys::fuzz_target!(|input: (bool, Vec<(u8, Vec<u8>)>)| {
    let (has_key, datagrams) = input;
    let key = has_key.then(|| Key::parse("secret").expect("a key"));
    let limits = Limits { sessions: 3, sessions_per_prefix: 2, opens_per_second: 1000, ..Limits::default() };
    let mut server = Server::new(Limits { idle: Span::from_secs(2), ..limits }, key.clone(), 1);
    let (mut balance, mut tokens, mut next, mut now, mut buf) =
        ([0_i64; 4], vec![1_u64], 1_u64, 0_u64, [0; 5000]);
    for (how, mut datagram) in datagrams {
        datagram.truncate(4000);
        now += u64::from(how >> 4) * 100_000_000;
        let who = usize::from(how & 3);
        let from = SocketAddr::new(Ipv4Addr::new(192, 0, 2, who as u8).into(), 9);
        if how & 4 != 0 && datagram.len() >= 28 {
            datagram[..3].copy_from_slice(&MAGIC);
            let at = if has_key { 20 } else { 4 };
            let token = tokens[usize::from(datagram[27]) % tokens.len()];
            if datagram[3] & 1 == 0 {
                datagram[at..at + 8].copy_from_slice(&token.to_le_bytes());
            }
        }
        if let (Some(key), true) = (&key, how & 8 != 0 && datagram.len() >= 20) {
            key.seal(&mut datagram);
        }
        if let Ok(request) = OpenRequest::parse(&datagram) {
            assert_eq!(OpenRequest::parse(&request.emit(has_key)), Ok(request));
        }
        if let Ok(reply) = OpenReply::parse(&datagram) {
            assert_eq!(OpenReply::parse(&reply.emit(has_key)), Ok(reply));
        }
        let is_probe = token_of_request(&datagram).is_ok();
        buf[..datagram.len()].copy_from_slice(&datagram);
        let at = Stamp::virtual_time(Nanos(now));
        let arrived = Arrived { at, ip: IpFields { tos: how, ttl: how }, answer_ttl: 64 };
        let mut random = || {
            next += 1;
            Some(next)
        };
        let answer =
            server.handle(from, arrived, at, (&mut buf[..], datagram.len()), &mut random, &mut |_| {});
        balance[who] += datagram.len() as i64;
        if let Some(answer) = answer {
            balance[who] -= answer.len as i64;
            assert!(!is_probe || answer.len <= datagram.len(), "a reply is no longer than its probe");
            assert!(balance[who] >= 0, "nobody gets more than he sent");
            assert!(key.as_ref().is_none_or(|key| key.opens(&buf[..answer.len])));
            if let Ok(reply) = OpenReply::parse(&buf[..answer.len]) {
                tokens.push(reply.token);
            }
        }
        server.handle_timeout(at.mono, &mut |_| {});
        assert!(server.sessions() <= 3);
    }
});
