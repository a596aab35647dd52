//! The player over links that have only a delay and a rate.

use goodqueue::{Nanos, Rate};
use proptest::prelude::*;

use super::*;
use crate::Sample;
use crate::web::{Action, Event, Fetcher};

const S: u64 = 1_000_000_000;
const RTT: Span = Span::from_millis(20);

/// A link: one round-trip time for everything, and the rate of answers.
struct Link {
    rate: fn(Nanos) -> Option<Rate>,
    /// The next event, and its time.
    coming: Option<(Nanos, Event)>,
    lost_queries: u32,
    closed: bool,
}

impl Link {
    fn new(rate: fn(Nanos) -> Option<Rate>) -> Link {
        Link { rate, coming: None, lost_queries: 0, closed: false }
    }

    fn act(&mut self, now: Nanos, action: Action) {
        let (wait, event) = match action {
            Action::Resolve { query, .. } if query < self.lost_queries => return,
            Action::Resolve { query, .. } => (Span::ZERO, Event::Resolved { query }),
            Action::Open { connection, .. } => (Span::ZERO, Event::Opened { connection }),
            Action::Send { connection, response, .. } => match (self.rate)(now) {
                Some(rate) => {
                    (Span(response * 8 * S / rate.0), Event::Received { connection, bytes: response })
                }
                None => (Span::ZERO, Event::Failed { connection, error: "reset".into() }),
            },
            Action::Close { .. } => {
                self.closed = true;
                return;
            }
        };
        assert!(self.coming.is_none(), "one thing at a time");
        self.coming = Some((now + RTT + wait, event));
    }

    fn run(&mut self, player: &mut Player) -> Vec<Sample> {
        let (mut samples, mut now) = (Vec::new(), Nanos::ZERO);
        loop {
            if let Some((_, event)) = self.coming.take_if(|(at, _)| *at <= now) {
                player.handle_event(now, event, &mut |sample| samples.push(sample));
            }
            player.handle_timeout(now, &mut |sample| samples.push(sample));
            while let Some(action) = player.poll_action() {
                self.act(now, action);
            }
            let Some(timeout) = player.poll_timeout() else { return samples };
            let next = self.coming.as_ref().map_or(timeout, |(at, _)| timeout.min(*at));
            assert!(next > now, "time goes on");
            now = next;
        }
    }
}

fn player(load: u64) -> Player {
    Player::new(PlayerConfig { video: 0, origin: Nanos(S), late: Span::ZERO, stop: Nanos(S + load) })
}

/// The fields of a segment's sample: request time, completeness, bit rate, buffer, and how long playback had
/// stalled.
#[derive(Clone, Copy, Debug)]
struct Facts {
    t: i64,
    took: i64,
    complete: bool,
    bitrate: u64,
    buffer: i64,
    stalled: i64,
}

fn facts(samples: &[Sample]) -> Vec<Facts> {
    let one = |sample: &Sample| match *sample {
        Sample::Segment { t, took, complete, bitrate, buffer, stalled, .. } => {
            Facts { t, took, complete, bitrate, buffer, stalled }
        }
        _ => panic!("{sample:?}"),
    };
    samples.iter().map(one).collect()
}

#[test]
fn a_segment_is_its_bit_rate_for_three_seconds() {
    assert_eq!(segment_bytes(0), 86_250);
    assert_eq!(segment_bytes(LADDER.len() - 1), 2_250_000);
    assert!(LADDER.is_sorted());
}

/// DNS, TCP, two of TLS, the request: five round trips to the first byte, then 86 250 bytes at 1 Mbit/s for
/// the segment.
#[test]
fn the_first_segment_is_the_smallest() {
    let samples = Link::new(|_| Some(Rate(1_000_000))).run(&mut player(60 * S));
    let first = facts(&samples)[0];
    // The two answers of the TLS handshake, 4258 bytes, also take time.
    assert_eq!(first.t, 4 * 20_000_000 + 4_258 * 8_000);
    assert_eq!((first.bitrate, first.took), (230_000, 20_000_000 + 690_000_000));
    assert_eq!((first.buffer, first.stalled), (0, 0));
}

/// At 1.6 Mbit/s the link carries 1427 kbit/s and not 2056. BOLA-O stays at the bit rate that it can sustain.
#[test]
fn a_steady_link_gives_a_steady_bit_rate() {
    let mut link = Link::new(|_| Some(Rate(1_600_000)));
    let all = facts(&link.run(&mut player(600 * S)));
    assert!(all.iter().all(|facts| facts.stalled == 0), "no stall");
    let late: Vec<u64> =
        all.iter().filter(|facts| facts.t > 120 * S as i64).map(|facts| facts.bitrate).collect();
    assert!(late.len() > 100 && late.iter().all(|&rate| rate == 1_427_000), "{late:?}");
    assert!(link.closed);
}

/// The buffer holds 25 s: on a link faster than the highest bit rate the player waits.
#[test]
fn a_fast_link_is_left_idle_when_the_buffer_is_full() {
    let all = facts(&Link::new(|_| Some(Rate(100_000_000))).run(&mut player(300 * S)));
    assert!(all.iter().all(|facts| facts.buffer <= (BUFFER - SEGMENT).0 as i64));
    let last = all.iter().rev().find(|facts| facts.complete).expect("segments");
    assert_eq!(last.bitrate, 6_000_000);
    // The segments that are played, and those in the buffer.
    assert!((300 / 3..=325 / 3).contains(&all.len()), "{}", all.len());
}

/// The link carries nothing from 100 s to 160 s. A segment takes that long, and playback stalls when the
/// buffer is empty.
#[test]
fn a_gap_that_outlasts_the_buffer_is_a_stall() {
    let rate = |now: Nanos| Some(Rate(if (100..160).contains(&(now.0 / S)) { 20_000 } else { 2_000_000 }));
    let all = facts(&Link::new(rate).run(&mut player(900 * S)));
    let stalls: Vec<&Facts> = all.iter().filter(|facts| facts.stalled > 0).collect();
    assert_eq!(stalls.len(), 1, "{stalls:?}");
    assert_eq!(stalls[0].buffer, 0);
    let after = all.iter().find(|facts| facts.t > stalls[0].t).expect("playback resumes");
    assert!(after.bitrate < stalls[0].bitrate, "an empty buffer selects a low bit rate: {after:?}");
}

#[test]
fn a_segment_in_flight_at_the_end_is_reported_as_incomplete() {
    let rate = |now: Nanos| Some(Rate(if now.0 < 100 * S { 2_000_000 } else { 2_000 }));
    let all = facts(&Link::new(rate).run(&mut player(300 * S)));
    let last = all.last().expect("segments");
    assert!(!last.complete && all[..all.len() - 1].iter().all(|facts| facts.complete));
    assert_eq!(last.t + last.took, 300 * S as i64);
    assert!(last.stalled > 0 && last.stalled < last.took, "the stall lasts to the end: {last:?}");
}

#[test]
fn a_lost_query_is_sent_again() {
    let mut link = Link::new(|_| Some(Rate(1_000_000)));
    link.lost_queries = 2;
    assert!(facts(&link.run(&mut player(60 * S)))[0].t > 10 * S as i64);
}

#[test]
fn a_connection_that_breaks_ends_the_video() {
    let mut link = Link::new(|now| (now.0 < 50 * S).then_some(Rate(1_000_000)));
    let samples = link.run(&mut player(600 * S));
    let errors = samples.iter().filter(|s| matches!(s, Sample::Segment { error: Some(_), .. })).count();
    assert_eq!((errors, link.closed), (1, true));
    assert!(!facts(&samples).last().expect("segments").complete);
    let refused = Link::new(|_| None).run(&mut player(600 * S));
    assert!(
        matches!(&refused[..], [Sample::Segment { complete: false, error: Some(why), .. }] if why == "reset")
    );
}

#[test]
fn without_load_there_is_no_video() {
    assert!(Link::new(|_| None).run(&mut player(0)).is_empty());
}

#[test]
fn utilities_are_the_logarithms_of_the_ladder() {
    for (index, rate) in LADDER.iter().enumerate() {
        let utility = (rate.0 as f64 / LADDER[0].0 as f64).ln();
        assert!((utility - bola::UTILITIES[index]).abs() < 1e-12, "{rate:?}");
    }
}

proptest! {
    /// A fuller buffer never selects a lower bit rate, and no segment is selected that does not fit into the
    /// buffer.
    #[test]
    fn the_choice_rises_with_the_buffer(played in 0..1000u64, a in 0..25_000u64, b in 0..25_000u64) {
        let next = |ms: u64| Bola::default().next(Span(played * S), Span::from_millis(ms));
        let (low, high) = (next(a.min(b)), next(a.max(b)));
        prop_assert!(low.index <= high.index);
        prop_assert!(high.level <= BUFFER - SEGMENT);
    }

    /// The bit rate is not raised beyond the rate of the last segment, and that rate does not lower it.
    #[test]
    fn the_last_rate_bounds_a_rise(
        last in 0..LADDER.len(), kbit in 1..10_000u32, played in 0..1000u64, ms in 0..25_000u64,
    ) {
        let mut bola = Bola::default();
        let free = bola.next(Span(played * S), Span::from_millis(ms));
        bola.received(last, f64::from(kbit) * 1e3);
        let bound = bola.next(Span(played * S), Span::from_millis(ms));
        if free.index <= last {
            prop_assert_eq!(bound, free);
        } else {
            prop_assert!((last..=free.index).contains(&bound.index));
            prop_assert!(bound.index == last || LADDER[bound.index].0 <= u64::from(kbit) * 1000);
            prop_assert!(bound.level <= free.level);
        }
    }
}
