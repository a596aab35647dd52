//! A built-in queue decides the same through the interface as without it.

use std::path::PathBuf;

use goodqueue::{
    AnyQueue, Header, Inspect, Nanos, Observer, PacketInfo, Queue, QueueSpec, Rate, Reason, Rng,
};
use goodqueue_own::{Library, LibraryQueue, check};
use proptest::prelude::*;

/// `examples/codel.rs` as a library, which cargo builds before it runs tests.
fn codel(parameters: &str) -> String {
    let program = std::env::current_exe().expect("a program");
    let folder: PathBuf = program.ancestors().nth(2).expect("two folders").join("examples");
    let name = format!("{}codel{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    format!("{}{parameters}", folder.join(name).display())
}

#[derive(Debug, Default, PartialEq)]
struct Heard(Vec<(u64, u8, Reason, bool)>);

impl Observer<Header> for Heard {
    fn dropped(&mut self, _: Nanos, packet: Header, reason: Reason) {
        self.0.push((packet.cookie, packet.dsfield, reason, true));
    }
    fn marked(&mut self, _: Nanos, packet: &Header, reason: Reason) {
        self.0.push((packet.cookie, packet.dsfield, reason, false));
    }
}

impl PacketInfo<Header> for Heard {}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn codel_through_the_border_is_codel(calls in proptest::collection::vec((0u64..20_000_000, 0u32..3, 60u32..1515, 0u8..4), 1..400)) {
        let library = Library::open(&codel(",limit=40,target=5ms")).expect("the example");
        let mut own: LibraryQueue<Header> = library.queue(1);
        let spec: QueueSpec = "codel,limit=40,target=5ms".parse().expect("codel");
        let mut ours: AnyQueue<Header> =
            spec.build_with(Rate(10_000_000), 1514, Nanos::ZERO, Rng::stream(1, 0, "queue")).expect("codel");
        let (mut heard, mut expected) = (Heard::default(), Heard::default());
        let mut now = Nanos::ZERO;
        for (cookie, (pause, call, len, dsfield)) in (0..).zip(calls) {
            if call == 0 {
                now.0 += pause;
                let [one, other] = [own.dequeue(now, &mut heard), ours.dequeue(now, &mut expected)];
                prop_assert_eq!(one, other);
            } else {
                let packet = Header { cookie, len, truesize: len + 790, flow_hash: 1, dsfield };
                let [one, other] = [own.enqueue(now, packet, &mut heard), ours.enqueue(now, packet, &mut expected)];
                prop_assert_eq!(one, other);
            }
            prop_assert_eq!(own.next_wake(now), ours.next_wake(now));
            prop_assert_eq!(own.backlog(), ours.backlog());
            prop_assert_eq!(own.stats(), ours.stats());
        }
        prop_assert_eq!(heard, expected);
        prop_assert_eq!(own.fault(), None);
        let (mut counters, mut theirs) = (Vec::new(), Vec::new());
        own.counters(&mut |name, value| counters.push((name, value)));
        ours.counters(&mut |name, value| theirs.push((name, value)));
        theirs.retain(|(name, _)| *name == "maxpacket");
        prop_assert_eq!(counters, theirs);
    }
}

#[test]
fn it_keeps_the_rules_and_tells_its_parameters() {
    let library = Library::open(&codel(",limit=40")).expect("the example");
    let report =
        check::check(|seed| Ok(library.queue::<Header>(seed)), LibraryQueue::fault).expect("a queue");
    assert_eq!((&report.violations[..], report.most_held), (&[][..], 40));
    let words: Vec<String> = library
        .parameters()
        .map(|(parameter, value)| format!("{}={}", parameter.name, parameter.unit.words(value)))
        .collect();
    assert_eq!(words[..2], ["limit=40", "target=5ms"]);
}

/// A panic does not pass through C: it is a fault, with its message.
#[test]
fn a_panic_is_named() {
    let error = Library::open(&codel(",panic_at=0")).expect_err("it panics");
    assert!(error.ends_with("it panicked: no packet is number 0"), "{error}");
    let library = Library::open(&codel(",panic_at=5")).expect("it does not");
    let mut queue: LibraryQueue<Header> = library.queue(1);
    for cookie in 0..5 {
        assert_eq!(queue.fault(), None);
        queue.enqueue(Nanos(cookie), Header { cookie, len: 99, ..Header::default() }, &mut Heard::default());
    }
    assert_eq!(queue.fault().expect("it panicked").words, "it panicked: this was packet number panic_at");
    assert_eq!(queue.dequeue(Nanos(9), &mut Heard::default()).map(|packet| packet.cookie), Some(0));
}
