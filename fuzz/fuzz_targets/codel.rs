#![no_main]
use goodqueue::HeapCodel;
use goodqueue::codel::{Params, Stamped};
use goodqueue_fuzz::{Call, law, run};

libfuzzer_sys::fuzz_target!(|input: (u8, Vec<Call>)| {
    let params = |choice: u8| Params { limit: u32::from(choice), law: law(choice) };
    let queue = HeapCodel::new(params(input.0), vec![Stamped::default(); 100]);
    run(queue, &input.1, |queue, now, choice, inside| queue.configure(now, params(choice), inside));
});
