//! BBR on a path, and its parts by numbers.

mod parts;
mod path;
mod policing;

use super::*;
use goodqueue::Span;
use path::{Path, Policer};

/// 10 000 segments/s (116 Mbit/s) and 100 ms: 1000 segments fit.
fn long_path() -> Path {
    Path::new(Span::from_micros(100), Span::from_millis(100), 3_000)
}

/// 1000 segments/s (12 Mbit/s) and 40 ms: 40 segments fit, and one in service.
fn short_path() -> Path {
    Path::new(Span::from_millis(1), Span::from_millis(40), 200)
}

/// The bandwidth of `segments` a second.
fn per_second(segments: u64) -> Bw {
    Bw::of(segments, 1_000_000)
}

/// BBR's estimate in percent of `segments` a second.
fn believed(path: &Path, segments: u64) -> u64 {
    u64::from(path.bbr().max_bw().0) * 100 / u64::from(per_second(segments).0)
}

#[test]
fn startup_doubles_the_bandwidth_each_round_until_the_pipe_is_full() {
    let mut path = long_path();
    let mut bws = vec![];
    path.run(Span::from_secs(2), |path| {
        if path.bbr().mode == Mode::Startup && path.bbr().round_start {
            assert_eq!(path.bbr().pacing_gain, 739, "2885 / 1000 + 1 / 256");
            bws.push(u64::from(path.bbr().max_bw().0));
        }
    });
    let line = u64::from(per_second(10_000).0);
    // The first sample is of one segment, the second of the first whole round.
    let growing = bws[1..].windows(2).filter(|pair| pair[1] < line * 9 / 10);
    let percent = growing.map(|pair| pair[1] * 100 / pair[0]).collect::<Vec<_>>();
    assert_eq!(percent.len(), 6, "10 segments a round to 900: log2(90) = 6.5");
    assert!(percent.iter().all(|growth| (175..=225).contains(growth)), "{percent:?}");
}

#[test]
fn three_rounds_without_a_quarter_more_end_startup() {
    let mut path = long_path();
    let (mut best, mut flat, mut ended) = (0, 0, false);
    path.run(Span::from_secs(2), |path| {
        let bbr = path.bbr();
        if !bbr.round_start || ended {
            return;
        }
        let bw = u64::from(bbr.max_bw().0);
        (best, flat) = if bw * 4 >= best * 5 { (bw, 0) } else { (best, flat + 1) };
        ended = bbr.mode != Mode::Startup;
        assert_eq!(ended, flat == 3, "{flat} flat rounds");
    });
    assert!(ended);
    // 10 000 segments/s * 100.1 ms are 1001; three super-packets of 2.887 * 14.3 MB/s >> 10: 27 segments.
    assert_eq!(path.w.snd_ssthresh, (1_001 + 3 * 27 + 1) & !1);
}

#[test]
fn drain_empties_the_queue_that_startup_left() {
    let mut path = long_path();
    let mut seen = vec![];
    path.run(Span::from_secs(3), |path| {
        seen.push((path.bbr().mode, path.queue(), path.w.packets_in_flight(), path.now));
    });
    seen.dedup_by_key(|&mut (mode, ..)| mode);
    let [(Mode::Startup, ..), (Mode::Drain, full, _, start), (Mode::ProbeBw, left, in_flight, end)] =
        seen[..]
    else {
        panic!("{seen:?}")
    };
    assert!(full > 1_500, "almost two windows beyond the one that fits: {full}");
    // 1001 fit, and three super-packets of 0.34 * 14.3 MB/s >> 10: 3 segments.
    assert!(in_flight <= 1_001 + 3 * 3 + 1 && left <= 11, "{in_flight} {left}");
    // What arrives is 88 / 256 of what leaves, less 1 %: the queue shrinks by 6597 segments/s.
    let expected = (full - left) * 1_000_000 / 6_597;
    let took = end.since(start).0 / 1_000;
    assert!(took.abs_diff(expected) <= expected / 50, "{took} us of {expected}");
}

#[test]
fn gains_cycle_in_order_and_the_bandwidth_is_the_lines() {
    let mut path = short_path();
    let mut phases = vec![];
    path.run(Span::from_secs(9), |path| {
        if path.bbr().mode == Mode::ProbeBw {
            phases.push((path.bbr().cycle_idx, path.bbr().pacing_gain, path.now));
        }
        if path.now > Nanos(1_000_000_000) {
            let percent = believed(path, 1_000);
            assert!((99..=101).contains(&percent), "{percent} % at {:?}", path.now);
        }
    });
    phases.dedup_by_key(|&mut (idx, gain, _)| (idx, gain));
    for pair in phases.windows(2) {
        let ((idx, gain, start), (next, _, end)) = (pair[0], pair[1]);
        assert_eq!(next, (idx + 1) % 8);
        assert_eq!(gain, [320, 192, 256, 256, 256, 256, 256, 256][usize::from(idx)]);
        let ms = end.since(start).0 / 1_000_000;
        let expected = match idx {
            // The round trip of 41 ms and, for a quarter more to be in flight, part of the next.
            0 => 41..=51,
            // It ends before its round trip does, as soon as the quarter is drained.
            1 => 30..=41,
            _ => 41..=42,
        };
        assert!(expected.contains(&ms), "phase {idx}: {ms} ms");
    }
    assert!(phases.len() > 8 * 20, "{}", phases.len());
}

#[test]
fn the_window_is_two_paths_and_room_for_batches() {
    let mut path = short_path();
    let mut seen = 0;
    path.run(Span::from_secs(9), |path| {
        if path.now < Nanos(2_000_000_000) || path.bbr().cycle_idx < 3 {
            return;
        }
        // 2 * 1000 segments/s * 41 ms, three super-packets of two segments, the aggregation, made even.
        let extra = path.bbr().aggregation.extra_acked();
        assert_eq!(path.w.snd_cwnd, (82 + extra + 6 + 1) & !1);
        assert!(extra <= 3, "ACKs come one by one: {extra}");
        seen += 1;
    });
    assert!(seen > 4_000, "{seen}");
}

/// Begin and end of each ProbeRTT of `path` until `end`.
fn dips(path: &mut Path, end: Span) -> Vec<(Nanos, Nanos)> {
    let mut dips: Vec<(Nanos, Nanos)> = vec![];
    let (mut inside, mut low_since, mut before) = (false, None, 0);
    path.run(end, |path| {
        let (now, in_flight) = (path.now, path.w.packets_in_flight());
        match (inside, path.bbr().mode == Mode::ProbeRtt) {
            (false, false) => before = path.w.snd_cwnd,
            (false, true) => low_since = None,
            (true, true) => {
                assert_eq!(path.w.snd_cwnd, 4);
                if in_flight <= 4 {
                    low_since = low_since.or(Some(now));
                }
            }
            (true, false) => {
                let low = now.since(low_since.expect("it got down to four"));
                assert!((200..=250).contains(&(low.0 / 1_000_000)), "{low}");
                assert!(path.w.snd_cwnd + 2 >= before, "{} of {before}", path.w.snd_cwnd);
            }
        }
        if path.bbr().mode == Mode::ProbeRtt {
            if !inside {
                dips.push((now, now));
            }
            let last = dips.last_mut().expect("one was pushed");
            last.1 = now;
        }
        inside = path.bbr().mode == Mode::ProbeRtt;
    });
    dips
}

#[test]
fn every_ten_seconds_the_path_is_emptied_for_200_ms() {
    let mut path = short_path();
    let dips = dips(&mut path, Span::from_secs(35));
    assert_eq!(dips.len(), 3, "{dips:?}");
    let mut clock = Nanos::ZERO;
    for (begin, end) in dips {
        let ms = begin.since(clock).0 / 1_000_000;
        assert!((10_000..=10_060).contains(&ms), "{ms} ms");
        clock = end;
    }
    assert_eq!(path.bbr().min_rtt_us, 41_000, "the path's own delay was seen again");
}

#[test]
fn a_policer_is_found_and_its_rate_used_for_48_rounds() {
    let mut path = Path::new(Span::from_micros(100), Span::from_millis(40), 3_000);
    path.policer = Some(Policer { interval: Span::from_millis(1), burst: 100, empty_at: Nanos::ZERO });
    let (mut rounds, mut lost, mut periods) = (0, 0, vec![]);
    let (mut in_use, mut was) = (false, Mode::Startup);
    path.run(Span::from_secs(30), |path| {
        let bbr = path.bbr();
        rounds += u32::from(in_use && was == Mode::ProbeBw && bbr.round_start);
        if in_use && rounds > 2 {
            assert_eq!(
                (path.w.lost, bbr.full_bw_reached),
                (lost, true),
                "at the policer's rate nothing is lost"
            );
        }
        let bw = bbr.long_term.bw();
        if let Some(bw) = bw {
            let percent = u64::from(bw.0) * 100 / u64::from(per_second(1_000).0);
            assert!((98..=102).contains(&percent), "{percent} %");
        } else if in_use {
            periods.push(rounds);
            rounds = 0;
        }
        (in_use, was, lost) = (bw.is_some(), bbr.mode, path.w.lost);
    });
    assert!(periods.len() >= 3 && periods.iter().all(|&rounds| rounds == 48), "{periods:?}");
}
