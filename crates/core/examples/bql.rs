//! Byte queue limits in a driver: six lines of it are BQL, the rest is a device that completes packets as
//! time passes.

use std::collections::VecDeque;

use goodqueue::{Dql, Nanos, Span};

/// The time that a packet takes on a wire of 100 Mbit/s.
const ON_THE_WIRE: Span = Span::from_micros(121);

fn main() {
    let mut now = Nanos::ZERO;
    let mut dql = Dql::new(1000, now); // 1. one for each transmit ring
    let mut ring = VecDeque::new();
    let mut longest = 0;
    for _ in 0..2000 {
        // The stack never runs out of packets; the driver takes them while BQL allows it.
        while dql.avail() >= 0 && ring.len() < 1000 {
            ring.push_back(1514);
            dql.queued(1514); // 2. when a packet is put into the ring
        }
        longest = longest.max(ring.len());
        // An interrupt for every four packets.
        now += Span(4 * ON_THE_WIRE.0);
        let done: u32 = ring.drain(..ring.len().min(4)).sum();
        dql.completed(now, done); // 3. when the device has sent packets
    }
    println!("The ring has 1000 places. BQL lets the driver use {} of them.", ring.len());
    println!("The limit is {} bytes; the most in the ring were {longest} packets.", dql.state().limit);
    assert!(longest < 20, "a short queue keeps the wire busy: {longest} packets");
}

#[test]
fn it_runs() {
    main();
}
