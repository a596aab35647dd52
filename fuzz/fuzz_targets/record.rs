#![no_main]
use goodqueue_report::{Record, Summary, html, table};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(record) = serde_json::from_slice::<Record>(bytes) else { return };
    for run in &record.runs {
        assert!(Summary::of(&record, run).rtt.n <= run.probes.iter().map(|p| p.sent_ns.len() as u64).sum());
    }
    assert!(!table::text(&record, table::Layout::default()).is_empty());
    assert!(html(&record).ends_with("</html>\n"));
});
