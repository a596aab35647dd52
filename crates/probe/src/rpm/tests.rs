//! The definition compared with arithmetic by hand.

#![allow(clippy::unwrap_used)]

use goodqueue::{Nanos, Span};
use proptest::prelude::*;

use super::*;

fn ms(ms: u64) -> Span {
    Span::from_millis(ms)
}

fn at(ms: u64) -> Nanos {
    Nanos(ms * 1_000_000)
}

fn foreign(at: Nanos, [tcp, tls, http]: [u64; 3]) -> Sample {
    let answer = Answer::Foreign { tcp: ms(tcp), tls: Some(ms(tls)), http: ms(http) };
    Sample { began: at, at, answer }
}

fn own(at: Nanos, http: u64) -> Sample {
    Sample { began: at, at, answer: Answer::Own { http: ms(http) } }
}

#[test]
fn a_trimmed_mean_is_of_the_fastest_ones() {
    assert_eq!(trimmed_mean(&[], 95), None);
    assert_eq!(trimmed_mean(&[7], 95), Some(7.0));
    // 95 % of 19 values are 18.05, so all count. 95 % of 20 are 19, so the slowest does not count.
    let ten_and_one = |tens: usize| [vec![10; tens], vec![1000]].concat();
    assert_eq!(trimmed_mean(&ten_and_one(18), 95), Some((180.0 + 1000.0) / 19.0));
    assert_eq!(trimmed_mean(&ten_and_one(19), 95), Some(10.0));
    // For 1 to 100, the mean of 1 to 95 is 48.
    let hundred: Vec<u64> = (1..=100).rev().collect();
    assert_eq!(trimmed_mean(&hundred, 95), Some(48.0));
    assert_eq!(Rank::Percentile(50).of(&hundred), Some(50.0));
    assert_eq!(Rank::Percentile(99).of(&hundred), Some(99.0));
}

#[test]
fn the_figure_is_the_mean_of_two_rates() {
    // Foreign: (20 + 40 + 60) / 3 = 40 ms are 1500 per minute. Self: 120 ms are 500. Their mean is 1000. A
    // mean of the times (80 ms) would be 750.
    let samples = [foreign(at(0), [20, 40, 60]), own(at(0), 120)];
    let parts = Parts::of(&samples, Rank::TrimmedMean(95)).unwrap();
    assert_eq!((parts.foreign(), parts.loaded(), parts.rpm()), (1500.0, 500.0, 1000.0));
    // Without TLS: (20 + 60) / 2.
    let plain = Answer::Foreign { tcp: ms(20), tls: None, http: ms(60) };
    let samples = [Sample { answer: plain, ..samples[0] }, samples[1]];
    assert_eq!(Parts::of(&samples, Rank::TrimmedMean(95)).unwrap().foreign(), 1500.0);
    assert_eq!(Parts::of(&samples[..1], Rank::TrimmedMean(95)), None, "no self probe");
}

#[test]
fn categories_begin_at_their_limits() {
    let names = [299.9, 300.0, 999.9, 1000.0, 5999.9, 6000.0].map(|rpm| Category::of(rpm).name());
    assert_eq!(names, ["poor", "fair", "fair", "good", "good", "excellent"]);
}

/// Runs the algorithm over a path: `goodput(s)` is the bytes in second `s` of the load, and every probe takes
/// `rtt(s)` for each round trip. Returns all actions with their times.
fn over_path(
    settings: Settings,
    goodput: impl Fn(u64) -> u64,
    rtt: impl Fn(u64) -> u64,
) -> (Algorithm, Vec<(Nanos, Action)>) {
    let mut algorithm = Algorithm::new(settings, Nanos(0), 1);
    let (mut done, mut waiting) = (Vec::new(), Vec::<Sample>::new());
    for now in (0..100_000).map(at) {
        let second = now.0.saturating_sub(algorithm.start().0) / 1_000_000_000;
        if now > algorithm.start() {
            algorithm.transferred(goodput((now.since(algorithm.start()).0 - 1) / 1_000_000_000) / 1000);
        }
        for sample in waiting.extract_if(.., |sample| sample.at <= now) {
            algorithm.completed(sample);
        }
        algorithm.handle_timeout(now);
        while let Some(action) = algorithm.poll_action() {
            let trip = rtt(second);
            done.push((now, action));
            match action {
                Action::Open { connection } => algorithm.connected(connection),
                Action::Load { .. } => {}
                Action::Foreign => {
                    waiting.push(Sample { at: now + ms(3 * trip), ..foreign(now, [trip; 3]) });
                }
                Action::Own { .. } => waiting.push(Sample { at: now + ms(trip), ..own(now, trip) }),
            }
        }
        if algorithm.is_done() {
            break;
        }
    }
    (algorithm, done)
}

#[test]
fn a_steady_path_is_known_after_eleven_intervals() {
    let (algorithm, actions) = over_path(Settings::default(), |_| 10_000_000, |_| 100);
    let outcome = algorithm.outcome();
    // The average is complete after 4 intervals. The 4 averages at the ends of intervals 4 to 7 are equal,
    // and so are the 4 figures after them.
    assert_eq!(outcome.intervals.len(), 11);
    let averages: Vec<f64> = outcome.intervals.iter().take(5).map(|one| one.goodput / 1e6).collect();
    assert_eq!(averages, [2.5, 5.0, 7.5, 10.0, 10.0]);
    assert_eq!(outcome.parts.unwrap().rpm(), 600.0);
    assert_eq!((outcome.goodput_confidence, outcome.confidence), (Confidence::High, Confidence::High));
    // One connection more with each interval.
    let connections: Vec<u32> = outcome.intervals.iter().map(|one| one.connections).collect();
    assert_eq!(connections, (1..=11).collect::<Vec<u32>>());
    // 50 of each kind per second, alternating, in every loaded second but the first, whose budget is not
    // known.
    let kinds = |from: u64, is: fn(&Action) -> bool| {
        let second = at(from)..at(from + 1000);
        actions.iter().filter(|(now, action)| second.contains(now) && is(action)).count()
    };
    let is_foreign = |action: &Action| matches!(action, Action::Foreign);
    let is_own = |action: &Action| matches!(action, Action::Own { .. });
    assert_eq!([kinds(5000, is_foreign), kinds(5000, is_own)], [50, 50]);
    assert_eq!([kinds(0, is_foreign), kinds(0, is_own)], [10, 10], "idle");
    assert!(actions.iter().all(|(now, action)| *now >= at(2000) || !matches!(action, Action::Load { .. })));
    assert!(!outcome.idle.is_empty());
}

#[test]
fn probes_take_a_twentieth_of_a_slow_path() {
    // 120 kB/s: 5 % are 6000 bytes, one pair per second.
    let (_, actions) = over_path(Settings::default(), |_| 120_000, |_| 100);
    let loaded = |action: &&(Nanos, Action)| action.0 >= at(2000) && action.0 < at(12_000);
    let foreign = actions.iter().filter(loaded).filter(|(_, action)| *action == Action::Foreign).count();
    // 10 in 10 s, and the first pair.
    assert!((10..=11).contains(&foreign), "{foreign}");
}

#[test]
fn what_does_not_settle_ends_at_the_limit() {
    // Goodput that doubles and halves: never stable.
    let (algorithm, _) = over_path(Settings::default(), |s| 1_000_000 << (s / 4 % 2 * 3), |_| 50);
    let outcome = algorithm.outcome();
    assert_eq!(outcome.intervals.len(), 20);
    assert_eq!((outcome.goodput_confidence, outcome.confidence), (Confidence::Medium, Confidence::Low));
    assert_eq!(outcome.parts.unwrap().rpm(), 1200.0);
    // Delay that does the same: the goodput is stable, the responsiveness is not.
    let (algorithm, _) = over_path(Settings::default(), |_| 10_000_000, |s| 20 << (s / 4 % 2 * 2));
    let outcome = algorithm.outcome();
    assert_eq!((outcome.goodput_confidence, outcome.confidence), (Confidence::High, Confidence::Medium));
    // Too short for any average.
    let (algorithm, _) = over_path(Settings { limit: 3, ..Settings::default() }, |_| 10_000_000, |_| 50);
    let outcome = algorithm.outcome();
    assert_eq!((outcome.goodput_confidence, outcome.confidence), (Confidence::Low, Confidence::Low));
}

#[test]
fn nothing_transferred_is_not_stable() {
    let (algorithm, actions) = over_path(Settings::default(), |_| 0, |_| 50);
    assert_eq!(algorithm.outcome().goodput_confidence, Confidence::Medium);
    let loaded = |action: &&(Nanos, Action)| action.0 >= at(2000);
    let probes = |(_, action): &&(Nanos, Action)| matches!(action, Action::Foreign | Action::Own { .. });
    assert_eq!(actions.iter().filter(loaded).filter(probes).count(), 2, "one pair, and no capacity for more");
}

proptest! {
    /// Whatever happens: bounded connections, probes in turns within their rate, no panic.
    #[test]
    fn actions_stay_within_the_settings(
        steps in proptest::collection::vec((1..3_000_000_000u64, 0..50_000_000u64, 0..3u8), 1..200),
        most in 0..20u32,
        per_second in 0..200u32,
        distance in 0..6usize,
    ) {
        let settings = Settings { most, probes_per_second: per_second, distance, ..Settings::default() };
        let mut algorithm = Algorithm::new(settings, Nanos(0), 1);
        let (mut now, mut opened, mut kinds) = (Nanos(0), 0, [0u64; 2]);
        for (step, bytes, fate) in steps {
            let due = algorithm.poll_timeout().map_or(Nanos(u64::MAX), |due| due);
            now = Nanos((now + Span(step)).0.min(due.0.max(now.0)));
            algorithm.transferred(bytes);
            algorithm.handle_timeout(now);
            while let Some(action) = algorithm.poll_action() {
                match action {
                    Action::Open { connection } => {
                        prop_assert_eq!(connection, opened);
                        opened += 1;
                        if fate != 2 {
                            algorithm.connected(connection);
                        }
                    }
                    Action::Load { connection } => prop_assert!(connection < opened),
                    Action::Foreign | Action::Own { .. } => {
                        let is_foreign = action == Action::Foreign;
                        kinds[usize::from(!is_foreign)] += 1;
                        prop_assert!(kinds[0].abs_diff(kinds[1]) <= 1);
                        match fate {
                            0 => algorithm.failed(is_foreign),
                            1 => algorithm.completed(if is_foreign { foreign(now, [1; 3]) } else { own(now, 1) }),
                            _ => {}
                        }
                    }
                }
            }
            let seconds = now.0 / 1_000_000_000 + 1;
            prop_assert!(kinds[0] + kinds[1] <= 2 * u64::from(per_second.max(20)) * seconds);
            let _ = algorithm.outcome();
        }
        prop_assert!(opened <= most.max(1));
    }

    /// The figure of equal round trips is their rate, and slower probes never make it better.
    #[test]
    fn slower_probes_are_no_better(trips in proptest::collection::vec((1..10_000u64, 1..10_000u64), 1..60)) {
        let samples = |extra: u64| -> Vec<Sample> {
            let pair = |&(trip, http): &(u64, u64)| [foreign(at(0), [trip; 3]), own(at(0), http + extra)];
            trips.iter().flat_map(pair).collect()
        };
        let rpm = |extra, rank| Parts::of(&samples(extra), rank).unwrap().rpm();
        for rank in [Rank::TrimmedMean(95), Rank::Percentile(50), Rank::Percentile(99)] {
            prop_assert!(rpm(1, rank) < rpm(0, rank));
        }
        prop_assert!(rpm(0, Rank::Percentile(99)) <= rpm(0, Rank::Percentile(50)));
    }
}
