#![no_main]
use goodqueue::fifo::Limit;
use goodqueue::{Configurable, Fifo, Header, Nanos};
use goodqueue_fuzz::{Call, LINK, run};

libfuzzer_sys::fuzz_target!(|input: (u8, Vec<Call>)| {
    let limit = |choice: u8| match choice & 1 {
        0 => Limit::Packets(u32::from(choice >> 1)),
        _ => Limit::Bytes(u64::from(choice) * 700),
    };
    let queue =
        <Fifo<Header>>::new(Nanos(0), limit(input.0), LINK, vec![Header::default(); 64]).expect("a queue");
    run(queue, &input.1, |queue, now, choice, inside| {
        let _ = queue.configure(now, limit(choice), LINK, inside);
    });
});
