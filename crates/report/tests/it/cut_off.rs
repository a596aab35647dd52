//! Probes that were still unanswered when the wait for them ended: what table and page show.

#![allow(clippy::unwrap_used)]

use crate::fixture;

use goodqueue_report::table::Layout;
use goodqueue_report::{MISSING, Record, Run, Summary, UnderWay, csv, html, table};

const S: i64 = 1_000_000_000;

/// Makes the last `percent` of a run's probes, of those sent in the last 80 % of the load, unanswered after
/// 16 s and more.
fn cut(record: &mut Record, run: usize, percent: usize) -> u64 {
    let load = i64::try_from(record.test.load_ns).unwrap();
    let probe = &mut record.runs[run].probes[0];
    let loaded = |&at: &usize| (load / 5..load).contains(&probe.sent_ns[at]);
    let places: Vec<usize> = (0..probe.sent_ns.len()).filter(loaded).collect();
    let cut = &places[places.len() * (100 - percent) / 100..];
    for &at in cut {
        for column in [&mut probe.rtt_ns, &mut probe.up_ns, &mut probe.down_ns] {
            column[at] = MISSING;
        }
        let waited_ns = 16 * S + (load - probe.sent_ns[at]);
        probe.under_way.push(UnderWay { at: at as u64, waited_ns });
    }
    probe.lost = Default::default();
    cut.len() as u64
}

/// The cells of a queue's row.
fn row(text: &str, queue: &str) -> String {
    let mut rows =
        text.lines().filter(|line| line.starts_with(queue) && !line.contains(": ") && line.contains('.'));
    rows.next().unwrap_or_else(|| panic!("no row of {queue} in\n{text}")).to_owned()
}

fn without_answer(run: &Run) -> usize {
    run.probes.iter().map(|probe| probe.under_way.len()).sum()
}

#[test]
fn only_percentiles_that_are_cut_off_are_lower_bounds() {
    for (mut record, name) in [(fixture::square(), "rise"), (fixture::ping(), "round trip")] {
        let load = i64::try_from(record.test.load_ns).unwrap();
        record.runs[0].probes[0]
            .rtt_ns
            .iter_mut()
            .filter(|rtt| **rtt == MISSING)
            .for_each(|rtt| *rtt = S / 10);
        let before = Summary::of(&record, &record.runs[0]).rtt;
        assert_eq!((before.under_way, before.cut_off_ns), (0, None));
        let count = cut(&mut record, 0, 10);
        assert!(count > 3 && count == without_answer(&record.runs[0]) as u64);
        let rtt = Summary::of(&record, &record.runs[0]).rtt;
        // They are samples of a longer round trip, and none of them is lost.
        assert_eq!((rtt.n, rtt.under_way, rtt.lost), (before.n, count, 0), "{name}");
        assert!(rtt.cut_off_ns.is_some_and(|cut| (16 * S..17 * S).contains(&cut)), "{name}: {rtt:?}");
        assert!(rtt.p50_ns < Some(S) && rtt.p95_ns >= rtt.cut_off_ns && rtt.p99_ns >= rtt.p95_ns, "{rtt:?}");
        assert!(rtt.startup_max_ns >= Some(16 * S) && rtt.startup_max_ns <= Some(16 * S + load), "{rtt:?}");

        let queue = record.runs[0].queue.clone();
        let layout = Layout { columns: 120, ..Layout::default() };
        let text = table::text(&record, layout);
        let row = row(&text, &queue);
        let bounds = row.matches("> 1").count();
        // Without load: 95th and 99th percentile and maximum. With load also the mean of the grade.
        assert!(bounds >= 3, "{name}: {row}");
        let words = format!("{count} probes were not answered within 16.");
        assert!(text.contains(&words), "{name}: {words} is not in\n{text}");
        for other in &record.runs[1..] {
            assert!(!self::row(&text, &other.queue).contains('>'), "{name}:\n{text}");
        }
        let page = html(&record);
        assert!(page.contains(&words) && page.contains("&gt; 1"), "{name}");
        let summary = csv::summary(&record);
        assert!(summary.contains(&format!("not_answered,{count}")), "{name}:\n{summary}");
    }
}

#[test]
fn a_median_that_is_cut_off_is_a_lower_bound() {
    let mut record = fixture::square();
    cut(&mut record, 0, 60);
    let text = table::text(&record, Layout { columns: 120, ..Layout::default() });
    let row = row(&text, &record.runs[0].queue);
    // The grade's mean, the median, and the percentiles above it.
    assert_eq!(row.matches("> ").count(), 5, "{text}");
    assert!(row.contains("F  > "), "{text}");
}

#[test]
fn probes_that_were_all_answered_leave_no_mark() {
    for (name, record) in fixture::all() {
        let text = table::text(&record, Layout { wide: true, ..Layout::default() });
        assert!(!text.contains("> marks") && !text.contains("not answered"), "{name}:\n{text}");
    }
}
