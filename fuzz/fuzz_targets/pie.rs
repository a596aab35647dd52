#![no_main]
use goodqueue::arena::Slot;
use goodqueue::pie::{LawParams, Params, Stamped};
use goodqueue::{HeapFqPie, HeapPie, Nanos, Rng, Span, fq_pie};
use goodqueue_fuzz::{Call, run};

fn law(choice: u8) -> LawParams {
    LawParams {
        target: Span(u64::from(choice & 3) * 7_000_000),
        tupdate: Span(u64::from(choice >> 2 & 3) * 9_000_000),
        alpha: u32::from(choice & 31),
        beta: u32::from(choice >> 3),
        ecn: choice & 16 != 0,
        bytemode: choice & 32 != 0,
        dq_rate_estimator: choice & 64 != 0,
        ..LawParams::new()
    }
}

libfuzzer_sys::fuzz_target!(|input: (u8, u8, u64, Vec<Call>)| {
    let (choice, size, seed, calls) = input;
    let (start, draws) = (Nanos(1_000_000_000), Rng::new(seed));
    if size & 128 == 0 {
        let params = |choice: u8| Params { limit: u32::from(choice), law: law(choice) };
        let places = vec![Stamped::default(); usize::from(size)];
        let queue = HeapPie::new(params(choice), start, draws, places);
        return run(queue, &calls, |queue, now, choice, inside| queue.configure(now, params(choice), inside));
    }
    let params = |choice: u8| fq_pie::Params {
        limit: u32::from(choice),
        quantum: u32::from(choice) * 16,
        memory_limit: u32::from(choice) * 4000,
        ecn_prob: u32::from(choice),
        law: law(choice),
    };
    let flows = vec![fq_pie::Flow::default(); usize::from(size & 7) + 1];
    let slots = vec![Slot::default(); usize::from(size & 127)];
    let queue = HeapFqPie::new(params(choice), start, draws, flows, slots).expect("buckets");
    run(queue, &calls, |queue, now, choice, inside| queue.configure(now, params(choice), inside));
});
