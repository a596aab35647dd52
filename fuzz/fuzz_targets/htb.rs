#![no_main]
use goodqueue::fifo::Limit;
use goodqueue::htb::{Class, ClassParams, Htb, Map};
use goodqueue::{AnyQueue, Configurable, Fifo, Header, Nanos, Rate, Tbf, tbf};
use goodqueue_fuzz::{Call, LINK, run};

const START: Nanos = Nanos(1_000_000_000);

fn leaf(choice: u8) -> AnyQueue<Header> {
    let places = vec![Header::default(); usize::from(choice >> 3)];
    let params = tbf::Params::new(Rate(8_000_000), u32::from(choice) * 300 + 1, 20_000);
    match <Tbf<Header>>::new(START, params, LINK, places.clone()) {
        Ok(queue) if choice & 1 == 1 => AnyQueue::Tbf(Box::new(queue)),
        _ => {
            let limit = Limit::Packets(places.len() as u32);
            AnyQueue::Fifo(Fifo::new(START, limit, LINK, places).expect("a queue"))
        }
    }
}

libfuzzer_sys::fuzz_target!(|input: (Vec<(u8, u32, u32, u16, u8)>, u64, Vec<Call>)| {
    let (given, seed, calls) = input;
    let number = given.len();
    let params = |at: usize| {
        let (parent, rate, more, burst, choice) = given[at];
        ClassParams {
            parent: (choice & 1 == 0).then_some(usize::from(parent)),
            ceil: Rate(u64::from(rate) + u64::from(more)),
            burst: burst.into(),
            cburst: u32::from(burst).rotate_left(u32::from(choice & 15)),
            prio: choice >> 5,
            quantum: (choice & 2 != 0).then_some(more),
            overhead: u16::from(choice),
            ..ClassParams::new(Rate(rate.into()))
        }
    };
    let is_inner = |at: usize| (at + 1..number).any(|other| params(other).parent == Some(at));
    let class = |at: usize| {
        if is_inner(at) { Class::inner(params(at)) } else { Class::leaf(params(at), leaf(given[at].0)) }
    };
    let classes: Vec<_> = (0..number).map(class).collect();
    let leaves: Vec<usize> = (0..number).filter(|&at| !is_inner(at)).collect();
    if leaves.is_empty() {
        return;
    }
    let map = |seed: u64| -> Map {
        core::array::from_fn(|dscp| {
            leaves[(seed.rotate_left(dscp as u32) % leaves.len() as u64) as usize].min(255) as u8
        })
    };
    let Ok(queue) = <Htb<Header, AnyQueue<Header>>>::new(START, map(seed), LINK, classes) else { return };
    run(queue, &calls, |queue, now, choice, inside| {
        let _ = queue.configure(now, map(seed.wrapping_mul(choice.into())), LINK, inside);
    });
});
