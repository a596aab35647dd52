//! Answers of reflectors: no packet makes the reader panic, and an echo counts only with its secret.
#![no_main]

use goodqueue_router::autorate::icmp;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|packet: &[u8]| {
    let secret: u64 = 0x0123_4567_89ab_cdef;
    let is_there = packet.windows(8).any(|part| part == secret.to_be_bytes());
    for answer in [icmp::answer(packet, secret), icmp::answer_v6(packet, secret)].into_iter().flatten() {
        let is_timestamp = packet.len() >= 40 && packet.get(usize::from(packet[0] & 15) * 4) == Some(&14);
        assert!(is_there || is_timestamp);
        if let Some((came, left)) = answer.times {
            assert!(came < 86_400_000 && left < 86_400_000);
        }
    }
});
