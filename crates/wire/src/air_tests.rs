//! A medium that transmits one frame at a time, from either direction, each for 10 us.

use std::collections::VecDeque;

use goodqueue::{Backlog, Direction, FlowHasher, Header, Nanos, Reason, Span};

use super::Air;
use crate::PathSample;
use crate::channel::Channel;
use crate::medium::{Delays, Exit, Medium};
use crate::pool::{Note, Pool};

const TOOK: Span = Span::from_micros(10);

#[derive(Default)]
struct OneAtATime {
    queue: VecDeque<Header>,
    ends: Option<Nanos>,
    /// All arrivals, in the order of the calls.
    told: Vec<(Nanos, Direction, u8)>,
}

impl Medium for OneAtATime {
    fn arrive(&mut self, now: Nanos, way: Direction, host: u8, frame: Header, exit: &mut dyn Exit) {
        self.told.push((now, way, host));
        if frame.len == 666 {
            return exit.drop(frame.cookie, Reason::Loss);
        }
        self.queue.push_back(frame);
        self.ends = self.ends.or(Some(now + TOOK));
    }

    fn next_event(&self) -> Option<Nanos> {
        self.ends
    }

    fn advance(&mut self, now: Nanos, exit: &mut dyn Exit) {
        while let Some(end) = self.ends.filter(|&end| end <= now) {
            if let Some(frame) = self.queue.pop_front() {
                exit.mark(frame.cookie);
                exit.leave(end, frame.cookie, frame.dsfield | 3);
            }
            self.ends = (!self.queue.is_empty()).then_some(end + TOOK);
        }
    }

    fn backlog(&self, _way: Direction) -> [Backlog; 2] {
        Default::default()
    }

    fn look(&mut self, _now: Nanos) {}

    fn finish(self, _now: Nanos) {}
}

fn us(at: u64) -> Nanos {
    Nanos(at * 1000)
}

fn arrive(air: &mut Air<OneAtATime>, pool: &mut Pool, way: Direction, at: u64, host: u8, len: u32) {
    let frame = pool.take().expect("a frame is free");
    pool.set_note(frame, Note { dsfield: 2, host, way, len, held: len, ..Note::default() });
    let packet = Header { cookie: u64::from(frame), len, dsfield: 2, ..Header::default() };
    air.arrive(way, us(at), packet, pool);
}

fn due(air: &mut Air<OneAtATime>, pool: &Pool, way: Direction) -> Vec<(u64, u32, bool)> {
    std::iter::from_fn(|| air.take_due(way, us(10_000)))
        .map(|(at, ready)| (at.0 / 1000, pool.note(ready.frame).len, ready.mark))
        .collect()
}

fn air(up: Delays, down: Delays) -> Air<OneAtATime> {
    Air::new(OneAtATime::default(), [up, down], 64, FlowHasher::new(1), None)
}

#[test]
fn arrivals_of_both_directions_are_ordered_by_time() {
    let (mut air, mut pool) = (air(Delays::default(), Delays::default()), Pool::new(64, 1514));
    arrive(&mut air, &mut pool, Direction::Up, 5, 0, 100);
    arrive(&mut air, &mut pool, Direction::Up, 7, 1, 101);
    air.advance(Direction::Up, us(8), &mut pool);
    assert!(air.medium.told.is_empty(), "arrivals of the other direction are not known yet");
    arrive(&mut air, &mut pool, Direction::Down, 6, 2, 102);
    air.advance(Direction::Down, us(30), &mut pool);
    let told = [(us(5), Direction::Up, 0), (us(6), Direction::Down, 2), (us(7), Direction::Up, 1)];
    assert_eq!(air.medium.told, told);
    // Arrivals from below are known up to 8 us, so nothing has left yet, and something may leave at 15 us.
    assert_eq!((due(&mut air, &pool, Direction::Up), air.next_send(Direction::Up)), (vec![], Some(us(15))));
    air.advance(Direction::Up, us(40), &mut pool);
    air.advance(Direction::Down, us(40), &mut pool);
    assert_eq!(due(&mut air, &pool, Direction::Up), [(15, 100, true), (35, 101, true)]);
    assert_eq!(due(&mut air, &pool, Direction::Down), [(25, 102, true)]);
    assert_eq!(air.clock(Direction::Up), us(40));
}

#[test]
fn delays_are_by_host_and_due_events_come_before_an_arrival() {
    let micros = |list: &[u64]| list.iter().map(|&us| Span::from_micros(us)).collect::<Vec<_>>();
    let down = Delays { before: micros(&[0, 100]), after: micros(&[50]) };
    let (mut air, mut pool) = (air(Delays::default(), down), Pool::new(64, 1514));
    arrive(&mut air, &mut pool, Direction::Down, 1, 1, 200);
    arrive(&mut air, &mut pool, Direction::Down, 91, 0, 201);
    // There is no delay after the medium in direction up, so the event at 91 us may send a frame at once.
    assert_eq!((air.next_event(), air.next_send(Direction::Up)), (Some(us(91)), Some(us(91))));
    for way in Direction::BOTH {
        air.advance(way, us(1000), &mut pool);
    }
    assert_eq!(air.medium.told, [(us(91), Direction::Down, 0), (us(101), Direction::Down, 1)]);
    assert_eq!(due(&mut air, &pool, Direction::Down), [(151, 201, true), (161, 200, true)]);
}

#[test]
fn packets_and_frames_add_up() {
    let (mut air, mut pool) = (air(Delays::default(), Delays::default()), Pool::new(64, 1514));
    for at in 0..20_u32 {
        let len = if at % 5 == 0 { 666 } else { 100 };
        arrive(&mut air, &mut pool, Direction::BOTH[usize::from(at % 2 == 0)], u64::from(at), 0, len);
    }
    for way in Direction::BOTH {
        air.advance(way, us(95), &mut pool);
    }
    // The medium carries 16; the first begins at 1 us, so nine have left by 95 us.
    let sides = air.sample();
    let sum = |count: fn(&PathSample) -> u64| sides.iter().map(count).sum::<u64>();
    let [arrived, left] = [sum(|side| side.arrived.packets), sum(|side| side.line.packets)];
    let lost = sum(PathSample::dropped_in_all);
    assert_eq!((arrived, left, lost, air.medium.queue.len()), (20, 9, 4, 7));
    assert_eq!(sum(|side| side.line.clock_backward), 0);
    assert_eq!(pool.used(), 16, "seven wait, nine are to be sent, the dropped ones are free");
    assert_eq!(due(&mut air, &pool, Direction::Up).len() + due(&mut air, &pool, Direction::Down).len(), 9);
}
