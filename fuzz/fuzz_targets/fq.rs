#![no_main]
use goodqueue::fq::{Flow, Node, Params};
use goodqueue::{HeapFq, Span};
use goodqueue_fuzz::{Call, run};

libfuzzer_sys::fuzz_target!(|input: (u8, u8, Vec<Call>)| {
    let params = |choice: u8| Params {
        limit: choice.into(),
        flow_limit: u32::from(choice >> 3),
        quantum: u32::from(choice) * 16,
        initial_quantum: u32::from(choice & 15) * 900,
        pacing: choice & 3 != 0,
        maxrate: (choice & 4 != 0).then_some(u64::from(choice >> 4) * 40_000),
        refill_delay: Span(u64::from(choice) * 1_000_000),
        ce_threshold: Span(u64::from(choice & 7) * 1_000_000),
        ..Params::default()
    };
    let (choice, size, calls) = input;
    let (buckets, flows) = (vec![0; usize::from(size & 3)], vec![Flow::default(); usize::from(size >> 4)]);
    let queue = HeapFq::new(params(choice), buckets, flows, vec![Node::default(); usize::from(size)]);
    run(queue, &calls, |queue, now, choice, inside| queue.configure(now, params(choice), inside));
});
