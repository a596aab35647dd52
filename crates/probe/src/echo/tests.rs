//! Prober and reflector over a simulated path.

use std::collections::{BTreeMap, BTreeSet};

use goodqueue::{Nanos, Span};
use proptest::prelude::*;

use super::*;
use crate::{Direction, Sample};

const MS: u64 = 1_000_000;
const ORIGIN: u64 = 1_000 * MS;

fn config(probes: u64) -> ProberConfig {
    ProberConfig {
        probe: 3,
        token: 9,
        origin: Nanos(ORIGIN),
        start: Nanos(ORIGIN - 10 * MS),
        stop: Nanos(ORIGIN - 10 * MS + probes * MS),
        interval: Span::from_millis(1),
        payload: 100,
        layout: Layout::FULL,
        least_timeout: ProberConfig::LEAST_TIMEOUT,
    }
}

fn at(ns: u64) -> Stamp {
    Stamp::virtual_time(Nanos(ns))
}

/// The effect of the path on one datagram: the delays of its copies.
type Path<'a> = &'a dyn Fn(u32) -> Vec<u64>;

/// Datagrams in flight, by time and order: whether towards the client, sequence number, observer's number,
/// bytes.
type Flying = BTreeMap<(u64, u64), (bool, u32, usize, Vec<u8>)>;

/// What a simple observer that sees all replies knows about each probe.
#[derive(Default)]
struct Naive {
    received: BTreeSet<u32>,
    /// For each copy of a reply: what the server had received when it made the reply; `None` if the reply
    /// could not say.
    told: Vec<Option<BTreeSet<u32>>>,
    covered: BTreeSet<u32>,
    reached: BTreeSet<u32>,
}

impl Naive {
    fn request(&mut self, seq: u32) -> usize {
        self.received.insert(seq);
        let highest = *self.received.last().unwrap();
        self.told.push((highest - seq < 64).then(|| self.received.clone()));
        self.told.len() - 1
    }

    fn reply(&mut self, seq: u32, which: usize) {
        if let Some(received) = &self.told[which] {
            for seen in seq.saturating_sub(63)..=seq {
                self.covered.insert(seen);
                if received.contains(&seen) {
                    self.reached.insert(seen);
                }
            }
        }
    }

    fn way(&self, seq: u32) -> Option<Direction> {
        match (self.reached.contains(&seq), self.covered.contains(&seq)) {
            (true, _) => Some(Direction::Down),
            (false, true) => Some(Direction::Up),
            (false, false) => None,
        }
    }
}

/// Runs a prober against a reflector over the paths until it is done, and returns the samples.
fn run(config: ProberConfig, up: Path, down: Path, mut naive: Option<&mut Naive>) -> (Vec<Sample>, Prober) {
    let mut prober = Prober::new(config);
    let mut reflector = Reflector::new();
    let mut samples = Vec::new();
    let mut flying = Flying::new();
    let (mut order, mut buf) = (0, [0; 2000]);
    let mut fly = |flying: &mut Flying, now: u64, what| {
        order += 1;
        flying.insert((now, order), what);
    };
    loop {
        let wake = prober.poll_timeout().map(|wake| wake.0);
        let next = flying.keys().next().map(|&(time, _)| time);
        let Some(now) = wake.into_iter().chain(next).min() else { break };
        while let Some(entry) = flying.first_entry().filter(|entry| entry.key().0 <= now) {
            let (to_client, seq, which, mut bytes) = entry.remove();
            if to_client {
                if let Some(naive) = naive.as_mut() {
                    naive.reply(seq, which);
                }
                prober.handle_datagram(at(now), &bytes, &mut |s| samples.push(s)).unwrap();
            } else {
                reflector.handle(at(now), at(now + 500), &mut bytes).unwrap();
                let which = naive.as_mut().map_or(0, |naive| naive.request(seq));
                for delay in down(seq) {
                    fly(&mut flying, now + 500 + delay, (true, seq, which, bytes.clone()));
                }
            }
        }
        prober.handle_timeout(at(now), &mut |sample| {
            if let (Some(naive), Sample::Lost { seq, way, .. }) = (naive.as_ref(), &sample) {
                assert_eq!(naive.way(*seq), *way, "probe {seq}");
            }
            samples.push(sample);
        });
        while let Some(len) = prober.poll_transmit(at(now), &mut buf) {
            assert_eq!(len, 100);
            let seq = Layout::FULL.parse(&buf[..len]).unwrap().seq;
            for delay in up(seq) {
                fly(&mut flying, now + delay, (false, seq, 0, buf[..len].to_vec()));
            }
        }
    }
    assert!(prober.is_done());
    (samples, prober)
}

/// Probes that were given up, and how long the prober waited for them.
fn unanswered(samples: &[Sample]) -> Vec<(u32, i64)> {
    let unanswered = samples.iter().filter_map(|sample| match sample {
        Sample::UnderWay { seq, waited, .. } => Some((*seq, *waited)),
        _ => None,
    });
    unanswered.collect()
}

fn lost(samples: &[Sample]) -> Vec<(u32, Option<Direction>)> {
    let lost = samples.iter().filter_map(|sample| match sample {
        Sample::Lost { seq, way, .. } => Some((*seq, *way)),
        _ => None,
    });
    lost.collect()
}

#[test]
fn a_clean_path_gives_exact_delays() {
    let (samples, prober) = run(config(100), &|_| vec![3 * MS], &|_| vec![5 * MS], None);
    assert_eq!(samples.len(), 100);
    for (k, sample) in samples.iter().enumerate() {
        let (seq, sent) = (k as u32, (k as i64 - 10) * MS as i64);
        let (up, down) = (3 * MS as i64, 5 * MS as i64);
        let (reordered, duplicate) = (false, false);
        let echo = Sample::Echo { probe: 3, seq, sent, rtt: up + down, up, down, reordered, duplicate };
        assert_eq!(*sample, echo);
    }
    let stats = prober.stats();
    assert_eq!((stats.sent, stats.received, stats.timer_misses), (100, 100, 0));
    assert_eq!(stats.lateness.max_ns, 0);
}

#[test]
fn losses_have_a_direction() {
    let up = |seq| if seq == 10 { vec![] } else { vec![MS] };
    let down = |seq| if seq == 20 || seq == 99 { vec![] } else { vec![MS] };
    let (samples, prober) = run(config(100), &up, &down, None);
    assert_eq!(lost(&samples), [(10, Some(Direction::Up)), (20, Some(Direction::Down))]);
    // No later probe shows that the last one was lost.
    assert_eq!(unanswered(&samples), [(99, 4_000 * MS as i64)]);
    let stats = prober.stats();
    assert_eq!((stats.lost_up, stats.lost_down, stats.unanswered, stats.received), (1, 1, 1, 97));
}

#[test]
fn the_count_resolves_an_outage_longer_than_the_window() {
    let outage = |seq| if (100..400).contains(&seq) { vec![] } else { vec![MS] };
    let fine = |_| vec![MS];
    let (samples, _) = run(config(1000), &outage, &fine, None);
    assert_eq!(lost(&samples), (100..400).map(|seq| (seq, Some(Direction::Up))).collect::<Vec<_>>());
    let (samples, prober) = run(config(1000), &fine, &outage, None);
    assert_eq!(lost(&samples).len(), 300);
    assert_eq!((prober.stats().lost_up, prober.stats().lost_down), (0, 300));
}

#[test]
fn a_dead_path_answers_nothing_within_the_timeout() {
    let (samples, prober) = run(config(50), &|_| vec![], &|_| vec![], None);
    assert_eq!((unanswered(&samples).len(), lost(&samples).len()), (50, 0));
    assert!(unanswered(&samples).iter().all(|&(_, waited)| waited >= 4_000 * MS as i64));
    assert_eq!(prober.poll_timeout(), None);
}

#[test]
fn unanswered_probes_on_an_empty_path_are_lost() {
    let mut prober = Prober::new(config(3));
    let (mut samples, mut buf) = (Vec::new(), [0; 100]);
    assert_eq!(prober.sent_all_at(), None);
    for k in 0..3 {
        prober.poll_transmit(at(ORIGIN - 10 * MS + k * MS), &mut buf).unwrap();
    }
    assert_eq!(prober.sent_all_at(), Some(Nanos(ORIGIN - 8 * MS)));
    prober.finish(&mut |sample| samples.push(sample));
    assert_eq!(lost(&samples), [0, 1, 2].map(|seq| (seq, None)));
    assert!(prober.is_done());
}

#[test]
fn a_probe_that_waits_long_in_a_queue_is_not_lost() {
    let patient = |probes| ProberConfig { least_timeout: ProberConfig::MOST_TIMEOUT, ..config(probes) };
    // A queue that grows to 45 s within 0.2 s; one that grows to 40 s at once; a base round trip of 20 s.
    let growing = |seq: u32| vec![20 * MS + u64::from(seq) * 225 * MS];
    let at_once = |seq: u32| vec![if seq < 10_000 { 20 * MS } else { 40_000 * MS }];
    let far = |_| vec![20_000 * MS];
    let paths: [(u64, Path); 3] = [(200, &growing), (60_000, &at_once), (100, &far)];
    for (probes, path) in paths {
        let (samples, prober) = run(patient(probes), path, &|_| vec![MS], None);
        assert_eq!((lost(&samples).len(), prober.stats().received), (0, probes));
    }
}

#[test]
fn probing_of_a_dead_path_ends_when_it_can_hold_no_probe_any_more() {
    let least_timeout = Span::from_secs(20);
    let dies = |seq: u32| if seq < 10_000 { vec![MS] } else { vec![] };
    let (samples, _) = run(ProberConfig { least_timeout, ..config(60_000) }, &dies, &|_| vec![MS], None);
    assert_eq!((unanswered(&samples).len(), lost(&samples).len()), (50_000, 0));
    let waited = |&(_, waited): &(u32, i64)| waited >= 20_000 * MS as i64;
    assert!(unanswered(&samples).iter().all(waited));
}

#[test]
fn a_late_caller_skips_slots_and_keeps_the_grid() {
    let mut prober = Prober::new(config(20));
    let start = ORIGIN - 10 * MS;
    let mut buf = [0; 100];
    assert_eq!(prober.poll_transmit(at(start - 1), &mut buf), None);
    assert!(prober.poll_transmit(at(start + MS / 2), &mut buf).is_some(), "half an interval late");
    // 5.6 ms: slots 1 to 5 are more than half an interval late, slot 6 is next.
    assert_eq!(prober.poll_transmit(at(start + 5 * MS + 600_000), &mut buf), None);
    assert_eq!(prober.stats().timer_misses, 5);
    assert_eq!(prober.poll_timeout(), Some(Nanos(start + 6 * MS)));
    assert_eq!(prober.poll_transmit(at(start + 100 * MS), &mut buf), None);
    assert_eq!(prober.stats().timer_misses, 19);
    let mut lost = 0;
    prober.handle_timeout(at(start + 10_000 * MS), &mut |_| lost += 1);
    assert_eq!(lost, 1);
    assert!(prober.is_done());
}

#[test]
fn a_probe_that_was_not_sent_is_undone() {
    let mut prober = Prober::new(config(3));
    let mut buf = [0; 100];
    let start = ORIGIN - 10 * MS;
    prober.poll_transmit(at(start), &mut buf).unwrap();
    prober.transmit_failed();
    prober.poll_transmit(at(start + MS), &mut buf).unwrap();
    assert_eq!(Layout::FULL.parse(&buf).unwrap().seq, 0);
    assert_eq!((prober.stats().sent, prober.stats().timer_misses), (1, 1));
}

#[test]
fn a_stopped_prober_still_accepts_answers() {
    let (mut prober, mut reflector) = (Prober::new(config(100)), Reflector::new());
    let mut buf = [0; 100];
    let start = ORIGIN - 10 * MS;
    prober.poll_transmit(at(start), &mut buf).unwrap();
    prober.stop();
    assert_eq!(prober.poll_transmit(at(start + MS), &mut [0; 100]), None);
    assert!(!prober.is_done());
    reflector.handle(at(start + MS), at(start + MS), &mut buf).unwrap();
    prober.handle_datagram(at(start + 2 * MS), &buf, &mut |_| ()).unwrap();
    assert!(prober.is_done());
    assert_eq!(prober.stats().received, 1);
}

#[test]
fn strangers_are_refused() {
    let mut prober = Prober::new(config(3));
    let mut buf = [0; 100];
    prober.poll_transmit(at(ORIGIN - 10 * MS), &mut buf).unwrap();
    let mut sink = |_| panic!("no sample");
    let mut offer = |bytes: &[u8]| prober.handle_datagram(at(ORIGIN), bytes, &mut sink).err();
    assert_eq!(offer(&buf), Some(PacketError::Direction));
    let mut reply = wire::Packet { reply: true, token: 8, ..wire::Packet::default() };
    Layout::FULL.emit(&reply, &mut buf);
    assert_eq!(offer(&buf), Some(PacketError::Token));
    (reply.token, reply.seq) = (9, 1);
    Layout::FULL.emit(&reply, &mut buf);
    assert_eq!(offer(&buf), Some(PacketError::Unsent));
    assert_eq!(offer(&[]), Some(PacketError::Short(0)));
    assert_eq!(prober.stats().refused, 4);
}

#[test]
fn memory_is_bounded_by_the_timeout() {
    let mut prober = Prober::new(config(60_000));
    let mut buf = [0; 100];
    let mut lost = 0;
    for k in 0..60_000 {
        let now = at(ORIGIN - 10 * MS + k * MS);
        prober.handle_timeout(now, &mut |_| lost += 1);
        prober.poll_transmit(now, &mut buf).unwrap();
    }
    assert_eq!(lost, 56_000, "the prober waits for 4 s of probes");
}

#[test]
fn lateness_quantiles_are_upper_bounds() {
    let mut lateness = Lateness::default();
    assert_eq!(lateness.quantile_ns(0.5), 0);
    for late in [0, 100, 100, 1000, 1 << 40] {
        lateness.record(Span(late));
    }
    assert_eq!([0.0, 0.5, 0.8, 1.0].map(|q| lateness.quantile_ns(q)), [1, 128, 1024, 1 << 40]);
}

/// Delays of the copies of each datagram: usually one, sometimes none or two.
fn path() -> impl Strategy<Value = Vec<Vec<u64>>> {
    let delay = prop_oneof![4 => 0..3 * MS, 1 => 0..40 * MS, 1 => 0..100 * MS];
    let copies = prop_oneof![
        6 => proptest::collection::vec(delay.clone(), 1),
        2 => Just(Vec::new()),
        1 => proptest::collection::vec(delay, 2),
    ];
    proptest::collection::vec(copies, 200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn accounting_agrees_with_a_simple_observer(up in path(), down in path()) {
        let mut naive = Naive::default();
        let up = |seq| up[seq as usize].clone();
        let down = |seq| down[seq as usize].clone();
        let (samples, prober) = run(config(200), &up, &down, Some(&mut naive));
        let mut seen = BTreeSet::new();
        let mut highest = None;
        let (mut duplicates, mut reorderings) = (0, 0);
        for sample in &samples {
            match *sample {
                Sample::Echo { seq, duplicate, reordered, rtt, up: to, down: fro, .. } => {
                    prop_assert_eq!(duplicate, !seen.insert(seq));
                    prop_assert_eq!(reordered, !duplicate && highest.is_some_and(|h| seq < h));
                    prop_assert_eq!(rtt, to + fro);
                    prop_assert!(naive.received.contains(&seq));
                    highest = highest.max(Some(seq));
                    duplicates += u64::from(duplicate);
                    reorderings += u64::from(reordered);
                }
                Sample::Lost { seq, .. } => prop_assert!(seen.insert(seq)),
                Sample::UnderWay { seq, .. } => {
                    prop_assert!(seen.insert(seq) && highest.is_none_or(|h| seq > h), "no later probe was answered");
                }
                _ => prop_assert!(false, "no other sample"),
            }
        }
        prop_assert_eq!(seen.len(), 200, "every probe exactly once");
        let stats = prober.stats();
        prop_assert_eq!((stats.sent, stats.duplicates, stats.reordered), (200, duplicates, reorderings));
        let lost = stats.lost_up + stats.lost_down + stats.lost_unknown;
        prop_assert_eq!(stats.received + lost + stats.unanswered, 200);
    }

    #[test]
    fn no_datagram_panics(
        datagrams in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..80), 1..20),
        token in 0u64..2, seqs in proptest::collection::vec(any::<u32>(), 20),
    ) {
        let mut prober = Prober::new(ProberConfig { token: 1, ..config(5) });
        let mut reflector = Reflector::new();
        let mut buf = [0; 100];
        prober.poll_transmit(at(ORIGIN - 10 * MS), &mut buf);
        for (mut bytes, seq) in datagrams.into_iter().zip(seqs) {
            if bytes.len() >= 16 {
                bytes[..4].copy_from_slice(&[0x14, 0xa7, 0x5b, 2]);
                bytes[4..12].copy_from_slice(&token.to_le_bytes());
                bytes[12..16].copy_from_slice(&(seq % 3).to_le_bytes());
            }
            let _ = prober.handle_datagram(at(ORIGIN), &bytes, &mut |_| ());
            if let Some(flags) = bytes.get_mut(3) {
                *flags &= seq as u8;
            }
            let _ = reflector.handle(at(ORIGIN), at(ORIGIN), &mut bytes);
        }
        prober.finish(&mut |_| ());
        prop_assert!(prober.is_done());
    }
}
