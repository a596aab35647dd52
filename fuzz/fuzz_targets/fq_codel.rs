#![no_main]
use goodqueue::arena::Slot;
use goodqueue::fq_codel::{Flow, Params};
use goodqueue::{Configurable, FqCodel, Header, Nanos};
use goodqueue_fuzz::{Call, LINK, law, run};

libfuzzer_sys::fuzz_target!(|input: (u8, u8, Vec<Call>)| {
    let params = |choice: u8| Params {
        limit: u32::from(choice),
        memory_limit: u32::from(choice) * 4000,
        quantum: Some(u32::from(choice) * 16),
        drop_batch: u32::from(choice & 7),
        ce_threshold_selector: 1,
        ce_threshold_mask: choice >> 6,
        target: law(choice).target,
        interval: law(choice).interval,
        ecn: law(choice).ecn,
        ce_threshold: law(choice).ce_threshold,
        parity: law(choice).parity,
        ..Params::default()
    };
    let flows = vec![Flow::default(); usize::from(input.1 & 7) + 1];
    let slots = vec![Slot::default(); usize::from(input.1 >> 2) + 2];
    let queue = <FqCodel<Header>>::new(Nanos(0), params(input.0), LINK, (flows, slots)).expect("storage");
    run(queue, &input.2, |queue, now, choice, inside| {
        let _ = queue.configure(now, params(choice), LINK, inside);
    });
});
