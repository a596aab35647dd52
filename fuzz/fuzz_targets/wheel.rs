#![no_main]
use goodqueue::arena::{List, Slot};
use goodqueue::wheel::{Params, words};
use goodqueue::{Configurable, Header, Nanos, Span, Wheel};
use goodqueue_fuzz::{Call, LINK, run};

libfuzzer_sys::fuzz_target!(|input: (u8, u8, u8, Vec<Call>)| {
    let params = |choice: u8| Params {
        limit: choice.into(),
        granularity: Span(u64::from(choice >> 4) * 10_000),
        horizon: Span(1000),
        horizon_drop: choice & 1 != 0,
    };
    let (choice, size, slots, calls) = input;
    let places = vec![Slot::default(); usize::from(size)];
    // Now and then words for a part of the slots only.
    let words = vec![0; words(usize::from(slots)) - usize::from(choice & slots & 1)];
    let parts = (words, vec![List::EMPTY; usize::from(slots)], places);
    let queue = <Wheel<Header>>::new(Nanos(0), params(choice), LINK, parts).expect("a queue");
    run(queue, &calls, |queue, now, choice, inside| {
        let _ = queue.configure(now, params(choice), LINK, inside);
    });
});
