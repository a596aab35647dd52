#![no_main]
use goodqueue::arena::Slot;
use goodqueue::cake::{AckFilter, Diffserv, Framing, InForce, Isolation, Overhead, Params, Tables};
use goodqueue::{Cake, Configurable, Header, Lcg, Nanos, Rate, Span};
use goodqueue_fuzz::{Call, LINK, run};

fn params(choice: u8) -> InForce {
    let number = u64::from(choice);
    let given = Params {
        bandwidth: Some(Rate([0, 1, 1_000_000, 100_000_000][usize::from(choice & 3)])),
        diffserv: [
            Diffserv::Besteffort,
            Diffserv::Diffserv3,
            Diffserv::Diffserv4,
            Diffserv::Diffserv8,
            Diffserv::Precedence,
        ][usize::from(choice % 5)],
        isolation: [
            Isolation::TripleIsolate,
            Isolation::DualSrchost,
            Isolation::DualDsthost,
            Isolation::Flows,
            Isolation::Hosts,
            Isolation::Flowblind,
            Isolation::Srchost,
        ][usize::from(choice % 7)],
        rtt: Span(number * 1_700_000),
        memlimit: Some(u32::from(choice >> 3) * 5000),
        ingress: Some(choice & 16 != 0),
        wash: choice & 32 != 0,
        autorate_ingress: choice & 64 != 0,
        ack_filter: if choice & 128 != 0 { AckFilter::Aggressive } else { AckFilter::Off },
        ..Params::default()
    };
    InForce {
        target: Span(number * 85_000),
        framing: [Framing::None, Framing::Atm, Framing::Ptm][usize::from(choice % 3)],
        overhead: Overhead { bytes: i16::from(choice) - 60, ..Overhead::default() },
        ..given.on_link(LINK)
    }
}

libfuzzer_sys::fuzz_target!(|input: (u8, u8, Vec<Call>)| {
    let first = params(input.0);
    let tables = Tables::on_heap(first.given.diffserv.tins(), 8 << (input.1 & 3));
    let slots = vec![Slot::default(); usize::from(input.1 >> 2) + 1];
    let parts = (Lcg::new(1), tables, slots);
    let queue = <Cake<Header>>::new(Nanos(0), first, LINK, parts).expect("storage");
    // A mode of more tins is refused.
    run(queue, &input.2, |queue, now, choice, inside| {
        let _ = queue.configure(now, params(choice), LINK, inside);
    });
});
