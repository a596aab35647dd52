//! The detector of policers by numbers.

use super::super::policer::{Finding, LongTerm};
use super::super::units::Bw;
use super::per_second;
use crate::tcp::cc::tests::established;
use crate::tcp::cc::{RateSample, Window};
use goodqueue::Span;

/// A detector that has seen its first loss.
fn sampling() -> (LongTerm, Window) {
    let w = established(10);
    let mut lt = LongTerm::new();
    lt.reset(&w);
    assert_eq!(ack(&mut lt, &w, 1, false), Finding::None);
    (lt, w)
}

fn ack(lt: &mut LongTerm, w: &Window, losses: u32, round_start: bool) -> Finding {
    lt.sample(w, &RateSample { losses, ..RateSample::default() }, round_start, true)
}

/// An interval of four rounds, the last of which begins with a loss.
pub(super) fn interval(lt: &mut LongTerm, w: &mut Window, delivered: u64, lost: u64, ms: u64) -> Finding {
    for _ in 0..3 {
        assert_eq!(ack(lt, w, 1, true), Finding::None, "not four rounds yet");
    }
    w.delivered += delivered;
    w.lost += lost;
    w.delivered_mstamp += Span::from_millis(ms);
    ack(lt, w, 1, true)
}

#[test]
fn two_intervals_within_an_eighth_are_a_policer() {
    for (second, found) in [(1_120, true), (1_130, false), (880, true), (870, false)] {
        let (mut lt, mut w) = sampling();
        assert_eq!(interval(&mut lt, &mut w, 1_000, 300, 1_000), Finding::None);
        let finding = interval(&mut lt, &mut w, second, 300, 1_000);
        assert_eq!(finding == Finding::Policed, found, "{second}");
        let mean = per_second(1_000).0.midpoint(per_second(second).0);
        assert_eq!(lt.bw(), found.then_some(Bw(mean)), "{second}");
    }
}

#[test]
fn four_kilobits_per_second_are_not_a_difference() {
    // 0.3 segments/s of 1448 B, less 1 %, are 430 B/s; 0.4 are 573. The limit is 500.
    for (second, found) in [(13, true), (14, false)] {
        let (mut lt, mut w) = sampling();
        interval(&mut lt, &mut w, 10, 10, 10_000);
        assert_eq!(interval(&mut lt, &mut w, second, 10, 10_000) == Finding::Policed, found, "{second}");
    }
}

#[test]
fn an_interval_takes_fifty_losses_in_256() {
    for (lost, counts) in [(49, false), (50, true)] {
        let (mut lt, mut w) = sampling();
        interval(&mut lt, &mut w, 256, lost, 256);
        let finding = interval(&mut lt, &mut w, 256, 256, 256);
        assert_eq!(finding == Finding::Policed, counts, "{lost}");
    }
}

#[test]
fn without_data_or_after_sixteen_rounds_it_begins_again() {
    let (mut lt, mut w) = sampling();
    interval(&mut lt, &mut w, 1_000, 300, 1_000);
    let idle = RateSample { is_app_limited: true, ..RateSample::default() };
    lt.sample(&w, &idle, false, true);
    assert_eq!(ack(&mut lt, &w, 1, false), Finding::None);
    assert_eq!(interval(&mut lt, &mut w, 1_000, 300, 1_000), Finding::None, "the first interval again");

    for (rounds, found) in [(12, true), (13, false)] {
        let (mut lt, mut w) = sampling();
        interval(&mut lt, &mut w, 1_000, 300, 1_000);
        for _ in 0..rounds {
            ack(&mut lt, &w, 0, true);
        }
        assert_eq!(interval(&mut lt, &mut w, 1_000, 300, 1_000) == Finding::Policed, found, "{rounds}");
    }
}
