#![no_main]
use goodqueue::red::LawParams;
use goodqueue::sfq::{Node, Params, Slot};
use goodqueue::{Configurable, Header, Nanos, Rng, Sfq, Span};
use goodqueue_fuzz::{Call, LINK, run};

libfuzzer_sys::fuzz_target!(|input: (u8, u8, u8, u16, u64, Vec<Call>)| {
    let (choice, limit, slots, quantum, seed, calls) = input;
    let red = LawParams {
        qth_min: u32::from(limit) * 40,
        qth_max: u32::from(slots) * 400,
        wlog: choice >> 4,
        plog: choice & 15,
        max_p: u32::from(quantum) << 12,
        ecn: choice & 2 != 0,
        harddrop: choice & 4 != 0,
    };
    let params = |choice: u8| Params {
        limit: u32::from(limit ^ choice >> 4),
        depth: u32::from(choice >> 2),
        quantum: Some(quantum.into()),
        perturb: (choice & 8 != 0).then(|| Span::from_secs(u64::from(choice >> 6))),
        headdrop: choice & 1 != 0,
        ..Params::default()
    };
    let (buckets, slots) = (vec![0; usize::from(slots & 31)], vec![Slot::default(); usize::from(slots >> 5)]);
    let nodes = vec![Node::default(); usize::from(limit) + usize::from(choice & 1)];
    let parts = (Rng::new(seed), buckets, slots, nodes);
    let mut queue = <Sfq<Header>>::new(Nanos(1_000_000_000), params(choice), LINK, parts).expect("a queue");
    if choice & 16 != 0 {
        queue.set_red(red);
    }
    run(queue, &calls, |queue, now, choice, inside| {
        let _ = queue.configure(now, params(choice), LINK, inside);
        if choice & 16 != 0 {
            queue.set_red(red);
        }
    });
});
