#![no_main]
use goodqueue::drr::{By, Class};
use goodqueue::fifo::Limit;
use goodqueue::prio::Priomap;
use goodqueue::tbf::Params;
use goodqueue::{
    AnyQueue, Configurable, Drr, Fifo, Header, Nanos, Prio, QueueSpec, Rate, Red, Rng, Tbf, drr, red,
};
use goodqueue_fuzz::{Call, LINK, run};

const START: Nanos = Nanos(1_000_000_000);

/// The queue of a class: a FIFO, one that holds packets back, or one that drops as it delivers.
fn leaf(choice: u8, seed: u64) -> AnyQueue<Header> {
    let places = vec![Header::default(); usize::from(choice >> 4)];
    let params = Params::new(Rate(8000 + seed % 100_000_000), u32::from(choice) * 300 + 1, 20_000);
    match (choice & 3, <Tbf<Header>>::new(START, params, LINK, places.clone())) {
        (1, Ok(queue)) => AnyQueue::Tbf(Box::new(queue)),
        (2, _) => {
            let spec: QueueSpec =
                "fq_codel,limit=9,flows=2,quantum=256,target=1ms,interval=2ms".parse().expect("a queue");
            spec.build(Rate(1_000_000), 1514, START).expect("a queue")
        }
        _ => {
            let limit = Limit::Packets(places.len() as u32);
            AnyQueue::Fifo(Fifo::new(START, limit, LINK, places).expect("a queue"))
        }
    }
}

libfuzzer_sys::fuzz_target!(|input: (u8, u64, [u8; 4], Vec<Call>)| {
    let (choice, seed, leaves, calls) = input;
    let queues = leaves.map(|leaf_choice| leaf(leaf_choice, seed)).to_vec();
    match choice & 3 {
        0 => {
            let map = Priomap::of_digits(seed);
            let queue = <Prio<Header, AnyQueue<Header>>>::new(START, map, LINK, queues).expect("bands");
            run(queue, &calls, |queue, now, choice, inside| {
                let _ = queue.configure(
                    now,
                    Priomap::of_digits(now.0.wrapping_mul(u64::from(choice))),
                    LINK,
                    inside,
                );
            });
        }
        1 => {
            let by = if choice & 4 == 0 { By::Flow } else { By::Dscp };
            let params = |choice: u8| drr::Params {
                by,
                quantum: Some(u32::from(choice >> 2) * 64),
                weights: core::array::from_fn(|at| choice >> (at & 3)),
                ..drr::Params::default()
            };
            let classes: Vec<_> = queues.into_iter().map(Class::new).collect();
            let queue = <Drr<Header, _>>::new(START, params(choice), LINK, classes).expect("classes");
            run(queue, &calls, |queue, now, choice, inside| {
                let _ = queue.configure(now, params(choice), LINK, inside);
            });
        }
        _ => {
            let params = |choice: u8| red::Params {
                max: Some(seed as u16 as u32 + 1),
                min: Some(u32::from(leaves[0]) + 1),
                avpkt: u32::from(leaves[1]),
                ecn: choice & 4 != 0,
                harddrop: choice & 8 != 0,
                nodrop: choice & 20 == 20,
                adaptive: choice & 32 != 0,
                bandwidth: Rate(8 + (seed >> 32)),
                probability: u32::from(leaves[2]),
                ..red::Params::new(100_000)
            };
            let places = vec![Header::default(); usize::from(leaves[3])];
            let parts = (Rng::new(seed), places);
            let Ok(queue) = <Red<Header>>::new(START, params(choice), LINK, parts) else { return };
            run(queue, &calls, |queue, now, choice, inside| {
                let _ = queue.configure(now, params(choice), LINK, inside);
            });
        }
    }
});
