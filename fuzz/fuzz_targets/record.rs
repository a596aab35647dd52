#![no_main]
use goodqueue_report::{Record, Summary, compare, flent, html, table};

// A record, or a data file of flent's.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(record) = flent::read(bytes).or_else(|_| serde_json::from_slice::<Record>(bytes)) else { return };
    for run in &record.runs {
        assert!(Summary::of(&record, run).rtt.n <= run.probes.iter().map(|p| p.sent_ns.len() as u64).sum());
    }
    assert!(!table::text(&record, table::Layout::default()).is_empty());
    let same = compare::compare(&record, &record);
    assert!(compare::text(["one", "two"], &same).len() >= same.pairs.len());
    assert!(html(&record).ends_with("</html>\n"));
});
