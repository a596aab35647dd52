//! tshark opens the captures. The tests need `tshark` on the machine. Without it they print `SKIPPED` and
//! pass, unless `GOODQUEUE_REQUIRE_ALL` is set.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use goodqueue_report::trace::{Trace, write_all};

use super::story;

fn have_tshark() -> bool {
    let found = Command::new("tshark").arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        let required = std::env::var_os("GOODQUEUE_REQUIRE_ALL").is_some();
        assert!(!required, "tshark is required (GOODQUEUE_REQUIRE_ALL) and not installed");
        // Not with `println`, which the test runner captures.
        let _ = writeln!(std::io::stderr(), "SKIPPED: tshark is not installed; no capture was opened");
    }
    found
}

/// A folder with the capture of a trace in it.
struct Written {
    dir: PathBuf,
    capture: PathBuf,
}

impl Written {
    fn new(name: &str, trace: &Trace) -> Written {
        let dir = std::env::temp_dir().join(format!("goodqueue-{name}-{}", std::process::id()));
        let files = write_all(std::slice::from_ref(trace), &dir).expect("files");
        Written { capture: files[1].clone(), dir }
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn tshark(capture: &Path, arguments: &[&str]) -> String {
    let output = Command::new("tshark")
        .arg("-r")
        .arg(capture)
        .args(["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"])
        .args(arguments)
        .env("TZ", "UTC")
        .output()
        .expect("tshark runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The values of fields, a row for each packet that passes `filter`.
fn fields(capture: &Path, filter: &str, names: &[&str]) -> Vec<Vec<String>> {
    let mut arguments = vec!["-Y", filter, "-T", "fields"];
    names.iter().for_each(|name| arguments.extend(["-e", name]));
    let text = tshark(capture, &arguments);
    text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

#[test]
fn every_packet_is_complete_and_its_checksums_are_good() {
    if !have_tshark() {
        return;
    }
    let mut ipv6 = story::trace();
    ipv6.ends = ["[fd00::1]:32768", "[fd00::2]:5001"].map(|end| end.parse().expect("an address"));
    for (name, trace) in [("ipv4", story::trace()), ("ipv6", ipv6)] {
        let written = Written::new(name, &trace);
        let malformed =
            fields(&written.capture, "_ws.malformed || _ws.expert.severity == error", &["frame.number"]);
        assert!(malformed.is_empty(), "{malformed:?}");
        let names = ["frame.protocols", "ip.checksum.status", "tcp.checksum.status", "tcp.len", "frame.len"];
        let rows = fields(&written.capture, "tcp", &names);
        assert_eq!(rows.len(), trace.events.len());
        for (row, event) in rows.iter().zip(&trace.events) {
            assert!(row[0].ends_with(&format!("{name}:tcp").replace("ipv4", "ip")), "{row:?}");
            // 1 is good. 2 is unchecked, because the payload was not captured.
            assert_eq!(row[1], if name == "ipv4" { "1" } else { "" });
            assert_eq!(row[2], if event.segment.len == 0 { "1" } else { "2" }, "{row:?}");
            assert_eq!(row[3], event.segment.len.to_string());
        }
    }
}

#[test]
fn drops_and_marks_are_on_the_queue_with_their_reasons() {
    if !have_tshark() {
        return;
    }
    let written = Written::new("queue", &story::trace());
    let names = ["frame.time_epoch", "frame.comment", "ip.dsfield.ecn", "tcp.seq_raw", "tcp.len"];
    let rows = fields(&written.capture, "frame.interface_name == \"queue\"", &names);
    let dropped = "dropped by codel at link 1 (router to server)";
    let marked = "marked CE by codel at link 1 (router to server)";
    let expected = [
        ["0.021000007", dropped, "2", "1", "1000"],
        ["0.021500007", marked, "3", "1001", "1000"],
        ["0.042000007", "dropped by limit at link 9", "0", "1", "0"],
    ];
    assert_eq!(rows, expected);
    let again = fields(&written.capture, "frame.comment contains \"retransmission\"", &["tcp.seq_raw"]);
    assert_eq!(again, [["1"]]);
}

#[test]
fn the_sender_sees_one_retransmission_and_the_receiver_its_hole() {
    if !have_tshark() {
        return;
    }
    let written = Written::new("hosts", &story::trace());
    let host = |name: &str| {
        let path = written.dir.join(format!("{name}.pcapng"));
        let filter = format!("frame.interface_name == \"{name}\"");
        tshark(&written.capture, &["-Y", &filter, "-w", path.to_str().expect("a path")]);
        path
    };
    let (sender, receiver) = (host("sender"), host("receiver"));
    let count = |path: &Path, filter: &str| fields(path, filter, &["frame.number"]).len();
    assert_eq!(count(&sender, "tcp.analysis.retransmission"), 1);
    assert_eq!(
        fields(&sender, "tcp.analysis.retransmission", &["tcp.seq", "frame.comment"]),
        [["1", "retransmission"]]
    );
    assert_eq!(count(&receiver, "tcp.analysis.lost_segment"), 1);
    // The segment that fills the hole arrives 21 ms after later segments: too late for reordering.
    assert_eq!(count(&receiver, "tcp.analysis.retransmission"), 1);
    // The receiver's second acknowledgement with a SACK never reached the sender.
    let sack = ["tcp.options.sack_le", "tcp.options.sack_re", "tcp.window_size", "tcp.flags.ece"];
    assert_eq!(fields(&sender, "tcp.options.sack_le", &sack), [["1001", "2001", "131072", "1"]]);
    assert_eq!(count(&receiver, "tcp.options.sack_le"), 2);
    let syn =
        ["tcp.options.mss_val", "tcp.options.wscale.shift", "tcp.options.timestamp.tsval", "tcp.window_size"];
    assert_eq!(
        fields(&sender, "tcp.flags.syn == 1 && tcp.flags.ack == 0", &syn),
        [["1460", "7", "100", "64240"]]
    );
}
