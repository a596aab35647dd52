#![no_main]
use goodqueue::HeapFqCodel;
use goodqueue::arena::Slot;
use goodqueue::fq_codel::{Flow, Params};
use goodqueue_fuzz::{Call, law, run};

libfuzzer_sys::fuzz_target!(|input: (u8, u8, Vec<Call>)| {
    let params = |choice: u8| Params {
        limit: u32::from(choice),
        memory_limit: u32::from(choice) * 4000,
        quantum: u32::from(choice) * 16,
        drop_batch_size: u32::from(choice & 7),
        law: law(choice),
    };
    let flows = vec![Flow::default(); usize::from(input.1 & 7) + 1];
    let slots = vec![Slot::default(); usize::from(input.1 >> 2) + 2];
    let queue = HeapFqCodel::new(params(input.0), flows, slots).expect("storage");
    run(queue, &input.2, |queue, now, choice, inside| queue.configure(now, params(choice), inside));
});
