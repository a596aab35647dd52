//! Wrong words: one clear line each (what, where, cure), exit code 2, nothing written.

use super::{Scratch, goodqueue, run, stderr, stdout};

/// `words` must end with exit code 2 and one line that holds every one of `said`.
#[track_caller]
pub(crate) fn refused(words: &str, said: &[&str]) {
    let output = run(words);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{words}: {text}");
    assert_eq!(text.trim().lines().count(), 1, "{words}: more than a line: {text}");
    for part in said {
        assert!(text.contains(part), "{words}: `{part}` is not in: {text}");
    }
    assert!(!text.contains("?;"), "{words}: something follows the question in: {text}");
    assert_eq!(stdout(&output), "", "{words} printed something");
}

#[test]
fn unknown_tests_queues_and_parameters_are_named_with_the_nearest() {
    refused("run rrull --live", &["rrull", "did you mean rrul?"]);
    refused("run ping --live --queue fqcodel", &["fqcodel", "did you mean fq_codel?"]);
    refused("run ping --live --queue fq_codel,traget=5ms", &["traget", "did you mean target?"]);
    refused("run ping --live --queue fq_codel,target=5", &["target", "5"]);
    refused("run ping --live --queue fq_codel,target=soon", &["target", "soon"]);
    refused("run ping --live --queue pfifo:0", &["pfifo", "0"]);
    refused("run ping --live --queue cake,fwmark=7", &["fwmark=7", "leave it out, or use goodqueue sqm"]);
    refused("run ping --live --queue fifo:0ms", &["fifo", "0"]);
    refused("run ping --live --queue codel,codel", &["codel", "twice"]);
}

#[test]
fn extra_probes_are_read_and_named() {
    refused("run ping --live --with vop,web", &["--with vop", "did you mean voip?"]);
    refused("run ping --live --with web:smal", &["--with web:smal", "did you mean web:small?"]);
    refused("run ping --live --with voip:gold", &["--with voip:gold", "unknown DSCP"]);
    refused("run ping --live --with voip:46", &["dscp:46", "tos:46"]);
    refused("run ping --live --with voip,voip:be", &["--with", "twice"]);
    refused("run ping --live --with web,", &["--with", "voip, web, dash"]);
    refused("run ping --live --with dahs", &["--with dahs", "did you mean dash?"]);
    refused("run ping --with game:gold", &["--with game:gold", "unknown DSCP"]);
    refused("run ping --with videocal", &["did you mean videocall?"]);
    refused("run ping --with dash:6mbit", &["--with dash:6mbit", "there are dash"]);
    let plan = stdout(&run("run ping --live --with game:30:ef,videocall --dry-run"));
    let plan: serde_json::Value = serde_json::from_str(&plan).expect("a plan");
    assert_eq!(plan["test"]["with"], serde_json::json!(["game:30:EF", "videocall:CS0"]));
    let plan = stdout(&run("run ping --live --with voip:ef,web --with web:large,dash --dry-run"));
    let plan: serde_json::Value = serde_json::from_str(&plan).expect("a plan");
    assert_eq!(plan["test"]["with"], serde_json::json!(["voip:EF", "web:small", "web:large", "dash"]));
    let list = stdout(&run("tests"));
    assert!(
        list.contains("voip[:DSCP]") && list.contains("web[:small|:large]") && list.contains("game[:30|:64]"),
        "{list}"
    );
}

#[test]
fn values_out_of_range_are_refused() {
    refused("run ping --live --rate 0", &["--rate 0", "zero"]);
    refused("server --load-rate 0", &["--load-rate 0", "more than zero", "--flows 0"]);
    refused("run ping --live --rate fast", &["--rate fast", "20mbit"]);
    refused("run ping --live --rate 20parsec", &["--rate 20parsec", "unit"]);
    refused("run ping --live --rtt -1ms", &["--rtt -1ms"]);
    refused("run ping --live --rtt 20", &["--rtt 20", "unit", "20ms"]);
    refused("run ping --live --rtt 1h", &["--rtt 1h"]);
    refused("run ping --live --rtt 11s", &["--rtt 11s", "10s"]);
    refused("run rtt_fair --live --rtt 5s", &["--rtt 5s", "farthest", "40s", "10s"]);
    refused("run rtt_fair --live --rtt 1ms,,2ms", &["--rtt 1ms,,2ms"]);
    refused("run ping --live --rate -5mbit", &["--rate -5mbit", "20mbit"]);
    refused("run tcp_nup --pacing 2", &["--pacing 2: a number without a unit", "as in 20mbit"]);
    refused("run ping --live --up -1", &["--up -1"]);
    refused("run ping --live --queue bfifo:1513", &["bfifo", "1514", "limit=1513"]);
    refused("run ping --live --queue tbf,rate=1mbit,burst=100,limit=60k", &["1514", "burst=100"]);
    refused("run ping --live --length 0", &["--length 0"]);
    refused("run ping --live --length 0s", &["--length 0s", "more than zero"]);
    refused("run ping --live --loss 100%", &["--loss 100%", "0.1%"]);
    refused("run ping --live --probe-interval 10us", &["10us", "1ms"]);
    refused("run tcp_nup --live --flows 10000", &["10000", "1000"]);
    refused("run tcp_nup --live --flows 0", &["0"]);
    refused("run rrul_var --flows 0,8", &["0 flows", "1 to 1000 flows in each direction"]);
    refused("run tcp_nup --flows 2,8", &["`tcp_nup` takes one number of flows", "--flows 2"]);
    refused("run tcp_ndown --flows 2,8", &["`tcp_ndown` takes one number of flows", "--flows 8"]);
    refused_after_printing("run rrul_var --flows 1,2,3", &["1,2,3", "one of downloads, as in 1,8"]);
    refused("run rtt_fair --rtt 10ms,50ms", &["2 times for 4 server hosts"]);
    let rtts = ["1ms"; 9].join(",");
    refused_after_printing(
        &format!("run rtt_fair_var --live --quiet --rtt {rtts}"),
        &["rtt_fair_var needs 9 server hosts; with --live there are 8"],
    );
    refused("run ping --live --ring 0", &["--ring 0"]);
}

#[test]
fn a_rate_that_looks_like_a_typing_error_is_warned_about() {
    let output = run("run ping --live --rate 100 --dry-run");
    assert!(output.status.success());
    assert!(stdout(&output).contains("did you mean 100mbit?"), "{}", stdout(&output));
    let output = run("run ping --live --rate 10mbps --dry-run");
    assert!(stdout(&output).contains("bytes per second"), "{}", stdout(&output));
}

#[test]
fn a_folder_that_is_not_empty_is_never_touched() {
    let scratch = Scratch::new("taken");
    std::fs::write(scratch.path("mine"), "kept").expect("a file");
    refused(&format!("run ping --live -o {}", scratch.0.display()), &["new folder"]);
    assert_eq!(std::fs::read_to_string(scratch.path("mine")).expect("still there"), "kept");
    assert_eq!(std::fs::read_dir(&scratch.0).expect("a folder").count(), 1);
    std::fs::write(scratch.path("mine.html"), "kept").expect("a file");
    refused(&format!("run ping --live -o {}", scratch.path("mine.html").display()), &["new file"]);
    refused(&format!("run ping --live -o {}", scratch.path("no/page.html").display()), &["no such folder"]);
    refused("run ping --live -o /proc/goodqueue", &["--output /proc/goodqueue", "cannot make"]);
}

#[test]
fn a_wrong_record_is_refused() {
    let scratch = Scratch::new("record");
    let path = scratch.path("bad.json");
    refused(&format!("report {}", path.display()), &["bad.json"]);
    std::fs::write(&path, "{\"schema\": 1, \"runs\": [").expect("a file");
    refused(&format!("report {}", path.display()), &["bad.json", "line 1"]);
    std::fs::write(&path, "{\"schema\": 99}").expect("a file");
    refused(&format!("report {}", path.display()), &["99"]);
}

#[test]
fn help_completions_and_man_page_come_from_one_source() {
    for words in ["--help", "run --help", "replay --help"] {
        let output = run(words);
        assert!(output.status.success());
        assert!(stdout(&output).lines().all(|line| line.chars().count() <= 100), "{words} is too wide");
    }
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = run(&format!("completions {shell}"));
        assert!(output.status.success() && stdout(&output).contains("probe-interval"), "{shell}");
    }
    let man = stdout(&run("man"));
    assert!(man.starts_with(".ie") || man.starts_with(".TH") || man.contains(".TH goodqueue"), "{man:.200}");
    assert!(man.contains("Exit codes"));
    for word in ["GOODQUEUE RUN", "probe\\-interval", "quiet", "GOODQUEUE REPLAY"] {
        assert!(man.contains(word), "{word} is not in the man page");
    }
    assert!(!man.contains("live\\-worker"), "the man page shows what is hidden");
}

#[test]
fn each_command_has_a_man_page_of_its_own() {
    let scratch = Scratch::new("man");
    let folder = scratch.path("man1");
    let write = || goodqueue().args(["man", "-o"]).arg(&folder).output().expect("the command starts");
    for _ in 0..2 {
        let output = write();
        assert!(output.status.success() && output.stdout.is_empty(), "{}", stderr(&output));
    }
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    for name in ["goodqueue.1", "goodqueue-run.1", "goodqueue-man.1"] {
        assert!(names.iter().any(|other| other == name), "{names:?}");
    }
    assert!(names.iter().all(|name| !name.contains("worker") && !name.contains("help")), "{names:?}");
    // Each page that the first one names is there.
    let first = std::fs::read_to_string(folder.join("goodqueue.1")).expect("a page").replace('\\', "");
    let named: Vec<&str> = first.lines().filter_map(|line| line.trim().strip_suffix("(1)")).collect();
    assert!(named.len() > 15, "{first}");
    for page in named {
        assert!(folder.join(format!("{page}.1")).exists(), "{page} is named, and not there");
    }

    std::fs::write(scratch.path("file"), "").expect("a file");
    let output = goodqueue().args(["man", "-o"]).arg(scratch.path("file")).output().expect("it starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("/file: "), "{}", stderr(&output));
}

#[test]
fn queues_and_tests_are_listed_in_words_and_as_json() {
    let queues = stdout(&run("queues"));
    for name in ["pfifo", "bfifo", "codel", "fq_codel", "tbf"] {
        assert!(queues.contains(name), "{name} is not listed:\n{queues}");
    }
    let json: serde_json::Value = serde_json::from_str(&stdout(&run("queues --json"))).expect("JSON");
    assert!(json.as_array().is_some_and(|list| list.len() >= 5));
    let tests = stdout(&run("tests"));
    for name in ["ping", "tcp_nup", "tcp_ndown", "tcp_square_wave", "rrul", "rrul_be", "rtt_fair"] {
        assert!(tests.contains(name), "{name} is not listed:\n{tests}");
    }
    let json: serde_json::Value = serde_json::from_str(&stdout(&run("tests --json"))).expect("JSON");
    assert!(json.as_array().is_some_and(|list| list.len() >= 7));
    refused("queues fqcodel", &["did you mean fq_codel?"]);
}

#[test]
fn a_replay_says_equal_different_or_broken_by_its_exit_code() {
    use std::io::Read;
    let vector = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/codel/wrap_zero.txt.gz");
    let equal = run(&format!("replay {vector}"));
    assert_eq!(equal.status.code(), Some(0), "{}", stderr(&equal));
    assert!(stdout(&equal).contains("1 of 1 files equal"));

    let packed = std::fs::read(vector).expect("a vector");
    let mut text = String::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut text).expect("text");
    let scratch = Scratch::new("replay");
    let (other, cut) = (scratch.path("other.txt"), scratch.path("cut.txt.gz"));
    let line = 1 + text.lines().position(|line| line.starts_with("P 9 ")).expect("packet 9 is delivered");
    std::fs::write(&other, text.replacen("\nP 9 ", "\nP 10 ", 1)).expect("a file");
    let different = run(&format!("replay {}", other.display()));
    assert_eq!(different.status.code(), Some(1));
    let shown = stdout(&different);
    assert!(shown.contains(&format!("first difference at line {line}")), "{shown}");
    assert!(shown.contains("expected  P 10") && shown.contains("got       P 9"), "{shown}");

    std::fs::write(&cut, &packed[..packed.len() / 2]).expect("a file");
    refused_after_printing(&format!("replay {}", cut.display()), &["cut.txt.gz:", "cut or damaged"]);
    refused_after_printing("replay /nonexistent.txt", &["/nonexistent.txt"]);
}

#[test]
fn the_exit_code_of_a_packetdrill_script_tells_its_result() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../proof/tests/packetdrill");
    let passed = run(&format!("packetdrill {folder}/rfc7323 {folder}/left-out"));
    assert_eq!(passed.status.code(), Some(0), "{}", stderr(&passed));
    let shown = stdout(&passed);
    assert!(
        shown.contains("5 passed, 0 failed, 3 skipped\n   1 skipped for TCP MD5 signatures\n"),
        "{shown}"
    );
    assert!(shown.contains("icmp.pkt:4: icmp echo_request\n"), "{shown}");

    let failed = run(&format!("packetdrill {folder}/wrong/sequence.pkt"));
    assert_eq!(failed.status.code(), Some(1));
    let shown = stdout(&failed);
    assert!(
        shown.contains("sequence.pkt:14: the sequence number differs\n  script: 0.100080 > P. 2:1002(1000)"),
        "{shown}"
    );
    let output = stdout(&run(&format!("packetdrill --json {folder}/wrong {folder}/left-out/icmp.pkt")));
    let json: serde_json::Value = serde_json::from_str(&output).expect("JSON");
    let scripts = json["scripts"].as_array().expect("scripts");
    let is_it = |script: &&serde_json::Value| {
        script["file"].as_str().is_some_and(|file| file.ends_with("sequence.pkt"))
    };
    let line = scripts.iter().find(is_it).and_then(|script| script["line"].as_u64());
    assert_eq!((json["failed"].as_u64(), line), (Some(6), Some(14)), "{output}");
    assert_eq!(json["reasons"]["icmp echo_request"].as_u64(), Some(1), "{output}");

    let scratch = Scratch::new("packetdrill");
    let broken = scratch.path("broken.pkt");
    std::fs::write(&broken, "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 < X 0:0(0)\n").expect("a file");
    let words = format!("packetdrill {}", broken.display());
    refused_after_printing(&words, &["broken.pkt:2: expected TCP flags"]);
    refused_after_printing("packetdrill /nonexistent.pkt", &["/nonexistent.pkt"]);
    refused("packetdrill --ip-version 6 x.pkt", &["--ip-version 6", "ipv4 or ipv6"]);
    // Flags as packetdrill writes them.
    refused("packetdrill --ip_version 6 x.pkt", &["--ip-version 6", "ipv4 or ipv6"]);
    let loose = run(&format!("packetdrill --tolerance_usecs=10000000 {folder}/wrong/time.pkt"));
    assert_eq!(loose.status.code(), Some(0), "{}", stdout(&loose));
    refused("packetdrill -D NAME x.pkt", &["-D NAME", "NAME=VALUE"]);
}

#[test]
fn traffic_of_ones_own_is_simulated_only() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/web-search.toml");
    refused(
        &format!("run {file} --live --quiet"),
        &["--live: [[traffic]] is simulated only", "leave --live out"],
    );
}

/// As [`refused`], of a command that prints a total all the same.
#[track_caller]
fn refused_after_printing(words: &str, said: &[&str]) {
    let output = run(words);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{words}: {text}");
    assert!(said.iter().all(|part| text.contains(part)), "{words}: {text}");
}
