#![no_main]
use goodqueue::arena::Slot;
use goodqueue::pie::{Params, Stamped};
use goodqueue::{Configurable, FqPie, Header, Nanos, Pie, Rng, Span, fq_pie};
use goodqueue_fuzz::{Call, LINK, run};

fn law(choice: u8) -> Params {
    Params {
        target: Span(u64::from(choice & 3) * 7_000_000),
        tupdate: Span(u64::from(choice >> 2 & 3) * 9_000_000),
        alpha: u32::from(choice & 31),
        beta: u32::from(choice >> 3),
        ecn: choice & 16 != 0,
        bytemode: choice & 32 != 0,
        dq_rate_estimator: choice & 64 != 0,
        ..Params::default()
    }
}

libfuzzer_sys::fuzz_target!(|input: (u8, u8, u64, Vec<Call>)| {
    let (choice, size, seed, calls) = input;
    let (start, draws) = (Nanos(1_000_000_000), Rng::new(seed));
    if size & 128 == 0 {
        let params = |choice: u8| Params { limit: u32::from(choice), ..law(choice) };
        let places = vec![Stamped::default(); usize::from(size)];
        let queue = <Pie<Header>>::new(start, params(choice), LINK, (draws, places)).expect("a queue");
        return run(queue, &calls, |queue, now, choice, inside| {
            let _ = queue.configure(now, params(choice), LINK, inside);
        });
    }
    let params = |choice: u8| fq_pie::Params {
        limit: u32::from(choice),
        quantum: Some(u32::from(choice) * 16),
        memory_limit: u32::from(choice) * 4000,
        ecn_prob: u32::from(choice),
        target: law(choice).target,
        tupdate: law(choice).tupdate,
        alpha: law(choice).alpha,
        beta: law(choice).beta,
        ecn: law(choice).ecn,
        bytemode: law(choice).bytemode,
        dq_rate_estimator: law(choice).dq_rate_estimator,
        ..fq_pie::Params::default()
    };
    let flows = vec![fq_pie::Flow::default(); usize::from(size & 7) + 1];
    let slots = vec![Slot::default(); usize::from(size & 127)];
    let parts = (draws, flows, slots);
    let queue = <FqPie<Header>>::new(start, params(choice), LINK, parts).expect("buckets");
    run(queue, &calls, |queue, now, choice, inside| {
        let _ = queue.configure(now, params(choice), LINK, inside);
    });
});
