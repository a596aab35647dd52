//! The time-sequence graph, line by line.

use goodqueue_report::trace::{Event, Leg, Segment, Trace, What, write_all, xpl};

use super::story;

fn text(trace: &Trace) -> String {
    let mut out = Vec::new();
    xpl::write(trace, &mut out).expect("memory");
    String::from_utf8(out).expect("text")
}

const STORY: &str = "\
timeval unsigned
title
10.0.0.1:32768_==>_10.0.0.2:5001 codel,target=5ms (time sequence graph)
xlabel
time
ylabel
sequence number
white
darrow 0.000000 0
uarrow 0.000000 1
line 0.000000 0 0.000000 1
atext 0.000000 1
SYN
darrow 0.020100 1
uarrow 0.020100 1001
line 0.020100 1 0.020100 1001
darrow 0.020200 1001
uarrow 0.020200 2001
line 0.020200 1001 0.020200 2001
darrow 0.020300 2001
uarrow 0.020300 3001
line 0.020300 2001 0.020300 3001
orange
x 0.021000 1
btext 0.021000 1
codel
pink
diamond 0.021500 1001
btext 0.021500 1001
codel
purple
line 0.041000 1001 0.041000 2001
green
line 0.020000 1 0.041000 1
dtick 0.041000 1
yellow
line 0.020000 65161 0.041000 65161
line 0.041000 65161 0.041000 131073
green
x 0.042000 1
red
darrow 0.043000 1
uarrow 0.043000 1001
line 0.043000 1 0.043000 1001
atext 0.043000 1001
R
green
line 0.041000 1 0.063000 1
line 0.063000 1 0.063000 3001
yellow
line 0.041000 131073 0.063000 131073
line 0.063000 131073 0.063000 134073
white
darrow 0.064000 3001
uarrow 0.064000 3002
line 0.064000 3001 0.064000 3002
atext 0.064000 3002
FIN
go
";

#[test]
fn a_loss_and_its_repair_as_a_graph() {
    assert_eq!(text(&story::trace()), STORY);
    let mut shuffled = story::trace();
    shuffled.events.rotate_left(10);
    shuffled.events.sort_by_key(|event| event.at_ns % 1_000_000);
    shuffled.events.sort_by_key(|event| event.at_ns);
    assert_eq!(text(&shuffled), STORY, "the order of events of different times is the writer's");
}

#[test]
fn a_segment_that_wraps_the_sequence_space_is_drawn_in_two_parts() {
    let segment = Segment { seq: (1 << 32) - 10, len: 30, ..Segment::default() };
    let event =
        Event { at_ns: 1_999_999_999, what: What::Sent, leg: Leg::Data, link: 0, dsfield: 0, segment };
    let drawn = text(&Trace { events: vec![event], ..story::trace() });
    let expected = "\
white
darrow 1.999999 4294967286
uarrow 1.999999 20
line 1.999999 4294967286 1.999999 4294967295
line 1.999999 0 1.999999 20
go
";
    assert!(drawn.ends_with(expected), "{drawn}");
}

/// Writes traces into a temporary folder; returns names and contents of the files, in order.
fn files(name: &str, traces: &[Trace]) -> Vec<(String, Vec<u8>)> {
    let dir = std::env::temp_dir().join(format!("goodqueue-{name}-{}", std::process::id()));
    let written = write_all(traces, &dir).expect("files");
    let file = |path: &std::path::PathBuf| {
        let name = path.strip_prefix(&dir).expect("in the folder").display().to_string();
        (name, std::fs::read(path).expect("a file"))
    };
    let files = written.iter().map(file).collect();
    std::fs::remove_dir_all(&dir).expect("the folder");
    files
}

#[test]
fn each_trace_has_its_own_files() {
    let files = files("files", &[story::trace(), story::trace()]);
    let suffixes: &[&str] =
        if cfg!(feature = "png") { &["xpl", "pcapng", "svg", "png"] } else { &["xpl", "pcapng", "svg"] };
    let expected: Vec<String> = ["codel-target-5ms-upload-1", "codel-target-5ms-upload-1-2"]
        .iter()
        .flat_map(|name| suffixes.iter().map(move |suffix| format!("{name}.{suffix}")))
        .collect();
    assert_eq!(files.iter().map(|file| file.0.clone()).collect::<Vec<_>>(), expected);
    assert_eq!(files[suffixes.len()].1, STORY.as_bytes());
}

/// The loss at 21 ms is repaired at 63 ms, so 0 to 84 ms is shown.
#[test]
fn the_picture_shows_the_first_loss_and_its_repair() {
    let picture = |trace: &Trace| {
        let files = files("picture", std::slice::from_ref(trace));
        let (_, bytes) = files.into_iter().find(|file| file.0.ends_with(".svg")).expect("a picture");
        let text = String::from_utf8(bytes).expect("text");
        let document = roxmltree::Document::parse(&text).expect("XML");
        let all = document.descendants();
        let words: Vec<String> = all
            .filter(|node| node.has_tag_name("text"))
            .filter_map(|node| node.text().map(str::to_owned))
            .collect();
        words
    };
    let story = picture(&story::trace());
    assert_eq!(story[0], "upload 1, codel,target=5ms");
    assert_eq!(story.iter().filter(|words| *words == "R").count(), 1);
    assert!(story.contains(&"0.02".into()) && story.contains(&"0.08".into()), "{story:?}");
    let mut whole = story::trace();
    whole.events.retain(|event| event.what == What::Sent);
    assert!(picture(&whole).contains(&"0.20".into()), "the first 200 ms where nothing was lost");
    whole.events.clear();
    assert_eq!(picture(&whole)[0], "upload 1, codel,target=5ms");
}
