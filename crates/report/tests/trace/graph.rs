//! The time-sequence graph, line by line.

use goodqueue_report::trace::{Event, Segment, Trace, Way, What, write_all, xpl};

use crate::story;

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
fn the_story_as_a_graph() {
    assert_eq!(text(&story::trace()), STORY);
    let mut shuffled = story::trace();
    shuffled.events.rotate_left(10);
    shuffled.events.sort_by_key(|event| event.at_ns % 1_000_000);
    shuffled.events.sort_by_key(|event| event.at_ns);
    assert_eq!(text(&shuffled), STORY, "the order of events of different times is the writer's");
}

#[test]
fn a_segment_over_the_end_of_the_number_space_is_drawn_in_two_parts() {
    let segment = Segment { seq: (1 << 32) - 10, len: 30, ..Segment::default() };
    let event =
        Event { at_ns: 1_999_999_999, what: What::Sent, way: Way::Data, link: 0, dsfield: 0, segment };
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

#[test]
fn each_trace_has_files_of_its_own() {
    let dir = std::env::temp_dir().join(format!("goodqueue-trace-{}", std::process::id()));
    let written = write_all(&[story::trace(), story::trace()], &dir).expect("files");
    let names: Vec<String> = written
        .iter()
        .map(|path| path.strip_prefix(&dir).expect("in the folder").display().to_string())
        .collect();
    let name = "codel-target-5ms-upload-1";
    let expected = ["xpl", "pcapng"].map(|suffix| format!("{name}.{suffix}")).to_vec();
    assert_eq!(names[..2], expected);
    assert_eq!(names[2..], ["xpl", "pcapng"].map(|suffix| format!("{name}-2.{suffix}")));
    assert_eq!(std::fs::read_to_string(&written[2]).expect("a file"), STORY);
    std::fs::remove_dir_all(&dir).expect("the folder");
}
