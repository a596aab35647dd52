#![no_main]
use goodqueue::tbf::{LinkLayer, Params};
use goodqueue::{Configurable, Header, Nanos, Rate, Tbf};
use goodqueue_fuzz::{Call, LINK, run};

libfuzzer_sys::fuzz_target!(|input: (u64, u32, Vec<Call>)| {
    let params = |choice: u8| Params {
        peakrate: (choice & 1 != 0).then_some(Rate(input.0.saturating_mul(2))),
        minburst: Some(input.1 / 2),
        mpu: u16::from(choice) * 8,
        overhead: u16::from(choice),
        linklayer: if choice & 2 != 0 { LinkLayer::Atm } else { LinkLayer::Ethernet },
        ..Params::new(Rate(input.0), input.1, u64::from(choice) * 1000)
    };
    let Ok(queue) = <Tbf<Header>>::new(Nanos(1_000_000_000), params(8), LINK, vec![Header::default(); 64])
    else {
        return;
    };
    run(queue, &input.2, |queue, now, choice, inside| {
        // Invalid parameters change nothing.
        let _ = queue.configure(now, params(choice), LINK, inside);
    });
});
