//! Traced flows: the files agree with the record, and tshark finds the same in them.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{Scratch, kept, run, skipped, stderr};

/// Fields of the packets that `filter` lets through, a line each.
fn tshark(capture: &Path, arguments: &[&str]) -> Vec<String> {
    let output = Command::new("tshark").arg("-r").arg(capture).args(arguments).output().expect("tshark runs");
    assert!(output.status.success(), "{}", stderr(&output));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

fn last(record: &Value, path: [&str; 3]) -> usize {
    let column = &record["runs"][0][path[0]];
    let column = if path[0] == "flows" { &column[0][path[2]] } else { &column[path[1]] };
    let value = column.as_array().map_or(Some(column), |column| column.last());
    value.and_then(Value::as_u64).and_then(|value| usize::try_from(value).ok()).expect("a number")
}

#[test]
fn tshark_finds_the_drops_and_retransmissions_of_the_record() {
    if Command::new("tshark").arg("--version").output().is_err() {
        return skipped(
            "tshark_finds_the_drops_and_retransmissions_of_the_record",
            "tshark is not installed",
        );
    }
    let scratch = Scratch::new("traced");
    let folder = scratch.path("out");
    let words = "run tcp_1up --cc cubic --length 4s --idle 500ms --queue codel --quiet --trace 1 -o";
    let output = run(&format!("{words} {}", folder.display()));
    assert!(output.status.success(), "{}", stderr(&output));
    let record = kept(&folder);
    let capture = folder.join("traces/codel-tcp-upload.pcapng");

    assert_eq!(tshark(&capture, &["-Y", "_ws.malformed || _ws.expert.severity == error"]), [""; 0]);
    let count = |filter: &str| tshark(&capture, &["-Y", filter, "-T", "fields", "-e", "frame.number"]).len();
    let retransmits = last(&record, ["flows", "", "retransmits"]);
    assert!(retransmits > 0);
    assert_eq!(count("frame.comment == \"retransmission\""), retransmits);
    let dropped = "frame.comment contains \"dropped by codel at link\"";
    let reasons = record["runs"][0]["up"]["drop_reasons"].as_object().expect("reasons");
    assert_eq!(Some(count(dropped) as u64), reasons["codel"].as_u64());

    let sender = scratch.path("sender.pcapng");
    let of_sender = ["-Y", "frame.interface_name == \"sender\"", "-w", sender.to_str().expect("a path")];
    tshark(&capture, &of_sender);
    let found = "tcp.analysis.retransmission || tcp.analysis.out_of_order";
    let found = tshark(&sender, &["-Y", found, "-T", "fields", "-e", "frame.comment"]);
    assert_eq!(found, vec!["retransmission"; retransmits], "what the sender sent again, and nothing else");
    let received = tshark(&sender, &["-Y", "tcp.srcport == 5001", "-T", "fields", "-e", "tcp.ack_raw"]);
    let acked: u64 = received.last().and_then(|ack| ack.parse().ok()).expect("a number");
    let goodput = record["runs"][0]["flows"][0]["rx_bytes"].as_array().expect("steps").iter();
    let told = goodput.filter_map(Value::as_u64).max().expect("bytes");
    assert!(acked > told, "all that the receiver had is acknowledged: {acked} > {told}");
}

#[test]
fn a_trace_changes_nothing_and_has_a_file_for_each_queue_and_flow() {
    let scratch = Scratch::new("all");
    let words = "run tcp_nup --flows 2 --length 1s --idle 100ms --queue pfifo:50,fq_codel --quiet -o";
    let folders = ["plain", "traced"].map(|name| scratch.path(name));
    for (folder, trace) in folders.iter().zip(["", "--trace all"]) {
        let output = run(&format!("{words} {} {trace}", folder.display()));
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let runs = folders.each_ref().map(|folder| kept(folder)["runs"].to_string());
    assert_eq!(runs[0], runs[1]);
    assert!(!folders[0].join("traces").exists());
    let entries = std::fs::read_dir(folders[1].join("traces")).expect("a folder").flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let flows =
        ["fq-codel-tcp-upload-1", "fq-codel-tcp-upload-2", "pfifo-50-tcp-upload-1", "pfifo-50-tcp-upload-2"];
    let expected: Vec<String> = flows
        .iter()
        .flat_map(|flow| [".pcapng", ".png", ".svg", ".xpl"].map(|suffix| format!("{flow}{suffix}")))
        .collect();
    assert_eq!(names, expected);
}

#[test]
fn a_trace_that_is_impossible_is_refused_before_anything_runs() {
    let scratch = Scratch::new("refused");
    let refused = |words: &str, why: &str| {
        let output = run(&words.replace("DIR", &scratch.path("out").display().to_string()));
        assert_eq!(output.status.code(), Some(2), "{words}: {}", stderr(&output));
        assert!(stderr(&output).contains(why), "{words}: {}", stderr(&output));
        assert!(!scratch.path("out").exists());
    };
    refused("run tcp_1up --trace 2 -o DIR", "--trace 2: no such flow; tcp_1up has 1 \"TCP upload\"");
    refused("run ping --trace all -o DIR", "ping has no TCP flows");
    refused("run tcp_1up --trace 1", "--output");
    refused("run tcp_1up --trace 1 -o DIR.html", "name a folder");
    refused("run tcp_1up --trace 1 --live -o DIR", "--live");
}
