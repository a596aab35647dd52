#![no_main]
use goodqueue::{Nanos, Span};
use goodqueue_probe::echo::{Gaps, Layout, Prober, ProberConfig, Schedule, Stamp};

// A file of gaps, and a prober that sends by it for a second.
libfuzzer_sys::fuzz_target!(|text: &str| {
    let gaps = match Gaps::parse(text) {
        Ok(gaps) => gaps,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let interval = gaps.mean();
    assert!(interval > Span(0));
    let config = ProberConfig {
        probe: 0,
        token: 1,
        origin: Nanos(0),
        start: Nanos(0),
        stop: Nanos(1_000_000_000),
        interval,
        payload: 60,
        layout: Layout::FULL,
        least_timeout: ProberConfig::LEAST_TIMEOUT,
    };
    let mut prober = Prober::with_schedule(config, Schedule::Trace(gaps));
    let (mut buf, mut last) = ([0; 100], 0);
    for _ in 0..1000 {
        let Some(due) = prober.poll_timeout().filter(|_| prober.sent_all_at().is_none()) else { break };
        assert!(due.0 >= last && due.0 < 1_000_000_000, "times never go back");
        last = due.0;
        assert!(prober.poll_transmit(Stamp::virtual_time(due), &mut buf).is_some());
    }
});
