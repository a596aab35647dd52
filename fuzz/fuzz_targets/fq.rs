#![no_main]
use goodqueue::fq::{Flow, Node, Params};
use goodqueue::{Configurable, Fq, Header, Nanos, Rate, Span};
use goodqueue_fuzz::{Call, LINK, run};

libfuzzer_sys::fuzz_target!(|input: (u8, u8, Vec<Call>)| {
    let params = |choice: u8| Params {
        limit: choice.into(),
        flow_limit: u32::from(choice >> 3),
        quantum: Some(u32::from(choice) * 16),
        initial_quantum: Some(u32::from(choice & 15) * 900),
        pacing: choice & 3 != 0,
        maxrate: (choice & 4 != 0).then_some(Rate(u64::from(choice >> 4) * 320_000)),
        refill_delay: Span(u64::from(choice) * 1_000_000),
        ce_threshold: Some(Span(u64::from(choice & 7) * 1_000_000)),
        ..Params::default()
    };
    let (choice, size, calls) = input;
    let (buckets, flows) = (vec![0; usize::from(size & 3)], vec![Flow::default(); usize::from(size >> 4)]);
    let parts = (buckets, flows, vec![Node::default(); usize::from(size)]);
    let queue = <Fq<Header>>::new(Nanos(0), params(choice), LINK, parts).expect("a queue");
    run(queue, &calls, |queue, now, choice, inside| {
        let _ = queue.configure(now, params(choice), LINK, inside);
    });
});
