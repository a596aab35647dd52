//! Shared libraries in C: good ones work, and what is wrong with the others is named.

use std::path::{Path, PathBuf};
use std::process::Command;

use goodqueue::{Header, Ignore, Inspect, Nanos, Packet, Queue, Reason, Verdict};
use goodqueue_own::cc::{CcAck, CcCalls, CcEvent, CcLibrary, CcWindow};
use goodqueue_own::{Library, LibraryQueue, Rule, check};

/// `tests/c/wrong.c` as a library, compiled with these definitions.
fn compiled(name: &str, definitions: &[&str]) -> PathBuf {
    compiled_from("wrong.c", name, definitions)
}

fn compiled_from(file: &str, name: &str, definitions: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}.so", std::process::id()));
    let output = Command::new("cc")
        .args([
            "-std=c99",
            "-O1",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-fPIC",
            "-shared",
            "-fvisibility=hidden",
            "-I",
        ])
        .arg(folder.join("include"))
        .args(definitions)
        .arg(folder.join("tests/c").join(file))
        .arg("-o")
        .arg(&library)
        .output()
        .expect("a compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    library
}

#[test]
fn a_library_that_is_none_or_of_another_version_is_refused_by_name() {
    for (name, definitions, why) in [
        (
            "abi",
            &["-DTABLE_ABI=7"][..],
            "is of version 7 of goodqueue_own.h, and this program has 1: compile it again",
        ),
        ("size", &["-DTABLE_SIZE=24"], "has 24 bytes, and it has 104: compile it again"),
        ("null", &["-DTABLE_ENQUEUE=0", "-Wno-unused-function"], "its table has no `enqueue`"),
        (
            "empty",
            &["-Dgoodqueue_own_queue=another"],
            "it exports no `goodqueue_own_queue`, the table of goodqueue_own.h",
        ),
    ] {
        let path = compiled(name, definitions);
        let error = Library::open(&path.display().to_string()).expect_err(name);
        assert!(error.starts_with(&format!("{}: ", path.display())) && error.contains(why), "{error}");
        std::fs::remove_file(path).expect("it is there");
    }
    let folder = env!("CARGO_MANIFEST_DIR");
    let error = Library::open(&format!("{folder}/src/lib.rs")).expect_err("text");
    assert!(error.contains("lib.rs: it cannot be loaded: "), "{error}");
}

/// The window stays as it is once a congestion control has given up.
#[test]
fn a_congestion_control_is_called_until_it_gives_up() {
    let path = compiled_from("wrong_cc.c", "cc", &[]);
    let words = format!("{}:wrong=1", path.display());
    let library = CcLibrary::open(&words).expect("a library");
    assert_eq!((library.words(), library.name(), library.is_scalable()), (words.as_str(), "wrong", false));
    let mut connection = library.connection();
    let mut window = CcWindow { cwnd: 10, mss: 1448, ..CcWindow::default() };
    connection.event(Nanos(0), CcEvent::Start, &mut window);
    for acks in 1..=10 {
        assert_eq!(library.fault(), None);
        connection.ack(Nanos(acks), &CcAck::default(), &mut window);
        assert_eq!(window.cwnd, 50);
    }
    assert_eq!(library.fault(), Some("it counts to ten at most"));
    window.cwnd = 7;
    connection.ack(Nanos(11), &CcAck::default(), &mut window);
    assert_eq!(window.cwnd, 7);
    for (parameters, why) in [
        (":wrong=5", "wrong=5 is refused"),
        (":wrong=10", "wrong=10: 0 to 9"),
        (":right=1", "no parameter `right`; there are wrong"),
    ] {
        let error = CcLibrary::open(&format!("{}{parameters}", path.display())).expect_err(parameters);
        assert!(error.ends_with(why), "{error}");
    }
    std::fs::remove_file(path).expect("it is there");
}

/// A congestion control of version 1 is called as before, but has no timer.
#[test]
fn a_congestion_control_has_a_timer_since_version_2() {
    for (name, definitions, why) in
        [("cc-new", &[][..], None), ("cc-old", &["-DABI=1"], Some("its table says that it is of version 1"))]
    {
        let path = compiled_from("wrong_cc.c", name, definitions);
        let library = CcLibrary::open(&format!("{}:wrong=7", path.display())).expect("a library");
        let mut connection = library.connection();
        let mut window = CcWindow { cwnd: 10, ..CcWindow::default() };
        connection.event(Nanos(5), CcEvent::Start, &mut window);
        match why {
            None => assert_eq!((window.timer, library.fault()), (10_000_005, None)),
            Some(why) => {
                assert_eq!(window.timer, 0);
                assert!(library.fault().is_some_and(|fault| fault.contains(why)), "{:?}", library.fault());
            }
        }
        std::fs::remove_file(path).expect("it is there");
    }
    let path = compiled_from("wrong_cc.c", "cc-next", &["-DABI=3"]);
    let error = CcLibrary::open(&path.display().to_string()).expect_err("version 3");
    assert!(error.contains("of version 3 of goodqueue_own.h, and this program has 2"), "{error}");
    std::fs::remove_file(path).expect("it is there");
}

#[test]
fn what_a_library_does_wrong_is_noted_and_does_no_harm() {
    let path = compiled("wrong", &[]);
    let of = |wrong: u32| format!("{},wrong={wrong}", path.display());
    let right = Library::open(&of(0)).expect("a library");
    assert_eq!((right.name(), right.about()), ("wrong", "a FIFO that breaks a rule"));
    let report = check::check(|seed| Ok(right.queue::<Header>(seed)), LibraryQueue::fault).expect("a queue");
    assert_eq!((&report.violations[..], report.most_held), (&[][..], 100));

    for (wrong, rule, words) in [
        (1, Rule::Once, "it gave packet 1, which had left it before"),
        (2, Rule::Once, "it gave packet 123456789, which it never got"),
        (3, Rule::Once, "packets: it lost them"),
        (4, Rule::Wake, "packets may leave now, and dequeue gave none"),
        (5, Rule::Time, "ns, which is over: it is "),
        (6, Rule::Wake, "dequeue gave a packet, and next_wake had said that none may leave before"),
        (7, Rule::Memory, "it holds all of 300000 packets that arrived"),
        (8, Rule::Repeat, "keep all state in the queue, and draw random numbers from its seed"),
        (9, Rule::Able, "it counts to ten at most"),
        (12, Rule::Able, "it gave 77 as a reason, which goodqueue_own.h does not have"),
        (13, Rule::Once, "it dropped packet "),
        (14, Rule::Once, "it marked packet 1, which had left it before"),
    ] {
        let library = Library::open(&of(wrong)).expect("a library");
        let make = |seed| Ok(library.queue::<Header>(seed));
        let report = check::check(make, LibraryQueue::fault).expect("a queue");
        let found = report.of(rule).unwrap_or_else(|| panic!("wrong={wrong}: {report:#?}"));
        assert!(found.fault.words.contains(words), "wrong={wrong}: {found}");
    }
    for (wrong, why) in [(10, "wrong=10 is refused"), (11, "its create returned NULL and gave no reason")] {
        let error = Library::open(&of(wrong)).expect_err("refused");
        assert!(error.ends_with(why), "{error}");
    }
    std::fs::remove_file(path).expect("it is there");
}

/// Every packet of a queue that breaks a rule still comes out, once, in order.
#[test]
fn a_queue_at_fault_becomes_a_fifo() {
    let path = compiled("fifo", &[]);
    let library = Library::open(&format!("{},wrong=2", path.display())).expect("a library");
    let mut queue: LibraryQueue<Header> = library.queue(1);
    for cookie in 0..50 {
        let packet = Header { cookie, len: 1514, ..Header::default() };
        assert_eq!(queue.enqueue(Nanos(cookie), packet, &mut Ignore), Verdict::Enqueued);
    }
    for cookie in 0..50 {
        assert_eq!(queue.next_wake(Nanos(100)), Some(Nanos(100)));
        let packet = queue.dequeue(Nanos(100), &mut Ignore).expect("a packet");
        assert_eq!(packet.cookie, cookie);
        assert_eq!(queue.fault().is_some(), cookie >= 20);
        assert_eq!(queue.fault_cell().get().cloned(), queue.fault());
    }
    assert_eq!((queue.dequeue(Nanos(101), &mut Ignore), queue.next_wake(Nanos(101))), (None, None));
    assert_eq!(queue.backlog(), goodqueue::Backlog::default());
    assert_eq!(queue.stats().packets, 50);
    std::fs::remove_file(path).expect("it is there");
}

/// What the owner hears of a reset, and of drops.
#[derive(Default)]
struct Heard(Vec<(u64, Reason)>);

impl goodqueue::Observer<Header> for Heard {
    fn dropped(&mut self, _: Nanos, packet: Header, reason: Reason) {
        self.0.push((packet.cookie, reason));
    }
}

impl goodqueue::PacketInfo<Header> for Heard {}

#[test]
fn a_full_queue_drops_and_a_reset_empties() {
    let path = compiled("reset", &[]);
    let library = Library::open(&path.display().to_string()).expect("a library");
    let mut queue: LibraryQueue<Header> = library.queue(1);
    let mut heard = Heard::default();
    for cookie in 0..=100 {
        let packet = Header { cookie, len: 60, ..Header::default() };
        let verdict = queue.enqueue(Nanos(0), packet, &mut heard);
        let full = Verdict::Dropped(Reason::Limit);
        assert_eq!(verdict, if cookie == 100 { full } else { Verdict::Enqueued });
    }
    assert_eq!(heard.0, [(100, Reason::Limit)]);
    queue.reset(Nanos(5), &mut heard);
    assert_eq!(heard.0.len(), 101);
    assert!(heard.0[1..].iter().all(|(_, reason)| *reason == Reason::Reset));
    assert_eq!((queue.backlog().packets, queue.stats().drops, queue.next_wake(Nanos(5))), (0, 1, None));
    let packet = Header { cookie: 7, len: 60, ..Header::default() };
    queue.enqueue(Nanos(6), packet, &mut heard);
    assert_eq!(queue.dequeue(Nanos(6), &mut heard).map(|packet| packet.len()), Some(60));
    assert_eq!(queue.fault(), None);
    std::fs::remove_file(path).expect("it is there");
}
