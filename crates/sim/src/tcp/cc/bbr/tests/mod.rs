//! BBR on a path, and its parts by numbers.

mod parts;
mod path;

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

/// Ratio of what BBR believes to `segments` a second, in percent.
fn believed(path: &Path, segments: u64) -> u64 {
    u64::from(path.bbr().max_bw().0) * 100 / u64::from(per_second(segments).0)
}

#[test]
fn startup_doubles_the_bandwidth_each_round_until_the_pipe_is_full() {
    let mut path = long_path();
    let mut bws = vec![];
    path.run(Span::from_secs(3), |path| {
        if path.bbr().mode == Mode::Startup && path.bbr().round_start {
            bws.push(u64::from(path.bbr().max_bw().0));
        }
    });
    let line = u64::from(per_second(10_000).0);
    let growing = bws.windows(2).filter(|pair| pair[1] < line * 9 / 10);
    let doubled = growing.map(|pair| pair[1] * 100 / pair[0].max(1)).collect::<Vec<_>>();
    panic!("{doubled:?} {bws:?} {line}");
}

#[test]
fn three_rounds_without_a_quarter_more_end_startup() {
    let mut path = long_path();
    let mut rounds = vec![];
    path.run(Span::from_secs(3), |path| {
        let bbr = path.bbr();
        if bbr.round_start && bbr.mode == Mode::Startup {
            rounds.push((bbr.full_bw_cnt, u64::from(bbr.max_bw().0), bbr.pacing_gain));
        }
    });
    let cnts = rounds.iter().map(|&(cnt, ..)| cnt).collect::<Vec<_>>();
    panic!("{cnts:?}");
}

#[test]
fn drain_empties_the_queue_that_startup_left() {
    let mut path = long_path();
    let (mut worst, mut seen) = (0, vec![]);
    path.run(Span::from_secs(3), |path| {
        worst = worst.max(path.queue());
        seen.push((path.bbr().mode, path.queue(), path.w.packets_in_flight(), path.now));
    });
    seen.dedup_by_key(|&mut (mode, ..)| mode);
    panic!("{worst} {seen:?}");
}

#[test]
fn gains_cycle_in_order() {
    let mut path = short_path();
    let mut gains = vec![];
    path.run(Span::from_secs(9), |path| {
        if path.bbr().mode == Mode::ProbeBw {
            gains.push((path.bbr().cycle_idx, path.bbr().pacing_gain, path.now.0 / 1_000_000));
        }
    });
    gains.dedup_by_key(|&mut (idx, gain, _)| (idx, gain));
    panic!("{gains:?} {}", believed(&path, 1_000));
}

#[test]
fn probe_rtt() {
    let mut path = short_path();
    let mut seen = vec![];
    path.run(Span::from_secs(35), |path| {
        seen.push((
            path.bbr().mode == Mode::ProbeRtt,
            path.w.snd_cwnd,
            path.w.packets_in_flight(),
            path.now,
            path.bbr().min_rtt_us,
        ));
    });
    seen.dedup_by_key(|&mut (mode, ..)| mode);
    panic!("{seen:?}");
}

#[test]
fn policed() {
    let mut path = Path::new(Span::from_micros(100), Span::from_millis(40), 3_000);
    path.policer = Some(Policer { interval: Span::from_millis(1), burst: 100, empty_at: Nanos::ZERO });
    let mut seen = vec![];
    path.run(Span::from_secs(30), |path| {
        seen.push((
            path.bbr().long_term.bw(),
            path.now.0 / 1_000_000,
            path.bbr().rtt_cnt,
            path.w.lost,
            path.w.delivered,
        ));
    });
    seen.dedup_by_key(|&mut (bw, ..)| bw);
    panic!("{seen:?} {:?}", per_second(1000));
}
