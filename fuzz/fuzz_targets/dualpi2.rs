#![no_main]
use goodqueue::arena::Slot;
use goodqueue::dualpi2::{DropEarly, EcnMask, Params, Threshold};
use goodqueue::{Configurable, DualPi2, Header, Nanos, Rng, Span};
use goodqueue_fuzz::{Call, LINK, run};

fn params(choice: u8) -> Params {
    Params {
        limit: choice.into(),
        memlimit: Some(u32::from(choice) * 4000),
        coupling_factor: choice >> 5,
        step_thresh: if choice & 1 == 0 {
            Threshold::Time(Span(u64::from(choice) * 10_000))
        } else {
            Threshold::Packets(u32::from(choice >> 3))
        },
        range: Span(u64::from(choice & 6) * 200_000),
        min_qlen_step: u32::from(choice & 3),
        drop_overload: choice & 4 != 0,
        drop_early: if choice & 8 != 0 { DropEarly::DropEnqueue } else { DropEarly::DropDequeue },
        ecn_mask: if choice & 16 != 0 { EcnMask::AnyEct } else { EcnMask::L4sEct },
        c_protection: choice,
        target: Span(u64::from(choice & 3) * 7_000_000),
        tupdate: Span(u64::from(choice >> 2 & 3) * 9_000_000),
        alpha: u32::from(choice) << (choice >> 4),
        beta: u32::from(choice) << (choice & 24),
        ..Params::default()
    }
}

libfuzzer_sys::fuzz_target!(|input: (u8, u8, u64, Vec<Call>)| {
    let (choice, size, seed, calls) = input;
    let slots = vec![Slot::default(); usize::from(size)];
    let parts = (Rng::new(seed), slots);
    let queue = <DualPi2<Header>>::new(Nanos(1_000_000_000), params(choice), LINK, parts).expect("a queue");
    run(queue, &calls, |queue, now, choice, inside| {
        let _ = queue.configure(now, params(choice), LINK, inside);
    });
});
