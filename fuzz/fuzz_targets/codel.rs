#![no_main]
use goodqueue::codel::{Params, Stamped};
use goodqueue::{Codel, Configurable, Header, Nanos};
use goodqueue_fuzz::{Call, LINK, law, run};

libfuzzer_sys::fuzz_target!(|input: (u8, Vec<Call>)| {
    let params = |choice: u8| Params { limit: u32::from(choice), ..law(choice) };
    let queue = <Codel<Header>>::new(Nanos(0), params(input.0), LINK, vec![Stamped::default(); 100])
        .expect("a queue");
    run(queue, &input.1, |queue, now, choice, inside| {
        let _ = queue.configure(now, params(choice), LINK, inside);
    });
});
