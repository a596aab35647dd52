//! User-defined queues: `goodqueue new`, `check-queue`, and runs with a shared library.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use super::{Scratch, goodqueue, stderr, stdout};

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs the command in a folder.
fn run_in(folder: &Scratch, words: &str) -> Output {
    goodqueue().args(words.split_whitespace()).current_dir(&folder.0).output().expect("the command starts")
}

/// Puts `wrong.so` of `goodqueue-own`'s tests into the folder.
fn wrong(folder: &Scratch) {
    compile(folder, "wrong");
}

/// Compiles a C file of `goodqueue-own`'s tests into the folder.
fn compile(folder: &Scratch, name: &str) {
    let output = Command::new("cc")
        .args(["-std=c99", "-O1", "-fPIC", "-shared", "-o", &format!("{name}.so"), "-I"])
        .arg(crates().join("own/include"))
        .arg(crates().join(format!("own/tests/c/{name}.c")))
        .current_dir(&folder.0)
        .output()
        .expect("a compiler");
    assert!(output.status.success(), "{}", stderr(&output));
}

/// Every line of a `sh` block of the page is run in one folder, with the program under its own name.
#[test]
fn the_commands_of_the_page_work() {
    let page = std::fs::read_to_string(crates().join("../docs/own-algorithms.md")).expect("the page");
    let folder = Scratch::new("own-page");
    let program = Path::new(env!("CARGO_BIN_EXE_goodqueue")).parent().expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let blocks: Vec<&str> =
        page.split("```sh\n").skip(1).filter_map(|rest| Some(rest.split_once("```")?.0)).collect();
    let mut printed = Vec::new();
    for line in blocks.iter().flat_map(|block| block.lines()) {
        let output = Command::new("sh")
            .args(["-c", line])
            .current_dir(&folder.0)
            .env("PATH", format!("{}:{path}", program.display()))
            .env("SOURCE", crates().join(".."))
            .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("own-queue"))
            .env("CARGO_NET_OFFLINE", "true")
            .env_remove("CARGO")
            .output()
            .expect("a shell");
        assert!(output.status.success(), "{line}\n{}\n{}", stdout(&output), stderr(&output));
        printed.push(stdout(&output));
    }
    assert_eq!(printed.len(), 23, "lines of the page");
    assert!(printed[1].contains("kept         once"), "{}", printed[1]);
    let row = |words: &str| printed[2].lines().any(|line| line.starts_with(words));
    assert!(row("pfifo:1000") && row("./my_aqm/my_aqm.so,targ") && row("codel"), "{}", printed[2]);
    assert!(folder.path("my_class/my_class.py").is_file());
    assert!(folder.path("my_python_cc/test_my_python_cc.py").is_file());
    // The library in C and the one in Rust decide the same; only their names differ.
    let record = |library: &str| {
        let words = format!("run rrul --length 5s --queue ./{library}/{library}.so --json");
        let record: Value = serde_json::from_str(&stdout(&run_in(&folder, &words))).expect("a record");
        record["runs"][0].clone()
    };
    let (c, rust) = (record("my_aqm"), record("my_fifo"));
    assert_eq!(c["simulation"], rust["simulation"]);
    assert!(c["simulation"]["trace_hash"].is_string(), "{}", c["simulation"]);
    assert_eq!(c["parameters"]["target"], "5ms");
    assert!(c["up"]["counters"]["waited_too_long"].is_u64(), "{}", c["up"]["counters"]);
    let goodput = |cc: &str| {
        let words = format!("run tcp_1up --length 5s --queue fq_codel --cc ./{cc} --json");
        let record: Value = serde_json::from_str(&stdout(&run_in(&folder, &words))).expect("a record");
        record["runs"][0]["simulation"].clone()
    };
    // So do the congestion controls.
    assert_eq!(goodput("my_cc/my_cc.so"), goodput("my_aimd/my_aimd.so"));
    assert_ne!(goodput("my_cc/my_cc.so"), goodput("my_cc/my_cc.so:keep=80"));
    for (c, rust) in [("my_vegas", "my_rust_vegas"), ("my_ledbat", "my_rust_ledbat")] {
        assert_eq!(goodput(&format!("{c}/{c}.so")), goodput(&format!("{rust}/{rust}.so")), "{rust}");
    }
    // What each adds to the round trip in a deep buffer, where it is alone for a minute.
    let summary = |words: &str| {
        let words = format!("run {words} --queue pfifo:1000 --json");
        let record: Value = serde_json::from_str(&stdout(&run_in(&folder, &words))).expect("a record");
        record["runs"][0]["summary"].clone()
    };
    let added = |cc: &str| {
        let found = summary(&format!("tcp_1up --length 60s --cc {cc}"));
        found["up"]["added_p50_ns"].as_f64().expect("a time") / 1e6
    };
    let [vegas, ledbat, aimd] =
        ["rust_vegas", "rust_ledbat", "aimd"].map(|name| added(&format!("./my_{name}/my_{name}.so")));
    // A packet of 1514 bytes takes 0.6056 ms at 20 Mbit/s. Vegas holds from two packets on, and less than
    // five: it counts whole ones, and reduces its window when there are more than four. One of them is on the
    // line.
    assert!((1.0..5.0).contains(&(vegas / 0.6056)), "{vegas} ms");
    // The simulator's own Vegas, written on its own, holds as much to two packets.
    let native = added("vegas");
    assert!((vegas - native).abs() < 2.0 * 0.6056, "{vegas} and {native} ms");
    // LEDBAT holds its target of 60 ms, to two packets.
    assert!((ledbat - 60.0).abs() < 2.0 * 0.6056, "{ledbat} ms");
    // AIMD fills the buffer, at least to the half of its 600 ms.
    assert!(aimd > 300.0, "{aimd} ms");
    // LEDBAT beside CUBIC yields, since CUBIC's queue is longer than the target. AIMD does not.
    let share = |cc: &str| {
        let found = summary(&format!("rrul_var --flows 2 --length 30s --cc ./{cc},cubic"));
        let flow = |at: usize| found["flows"][at]["goodput_bps"].as_f64().expect("a goodput");
        flow(0) / (flow(0) + flow(1))
    };
    let (ledbat, aimd) = (share("my_rust_ledbat/my_rust_ledbat.so"), share("my_aimd/my_aimd.so"));
    assert!(ledbat < 0.05 && aimd > 0.2, "{ledbat} {aimd}");
    // What the page shows has the queue in it.
    let page = std::fs::read_to_string(folder.path("compared/report.html")).expect("the page");
    assert!(page.contains("./my_aqm/my_aqm.so"));
}

#[test]
fn new_overwrites_nothing_and_takes_only_names() {
    let folder = Scratch::new("own-new");
    std::fs::write(folder.path("here"), "mine").expect("a file");
    let output = run_in(&folder, "new queue here");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("new queue here: something with this name exists here"));
    assert_eq!(std::fs::read_to_string(folder.path("here")).expect("it is there"), "mine");
    for name in ["Aqm", "1aqm", "my-aqm", "../aqm", "core", "ä"] {
        let output = run_in(&folder, &format!("new queue {name}"));
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(stderr(&output).contains("a name starts with a small letter"), "{}", stderr(&output));
    }
    let output = run_in(&folder, "new queue mine --lang rust");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--source DIR"), "{}", stderr(&output));
    let output = run_in(&folder, "new queue mine --lang rust --source .");
    assert!(stderr(&output).contains("which has crates/own"), "{}", stderr(&output));
    assert_eq!(std::fs::read_dir(&folder.0).expect("a folder").count(), 1, "nothing was made");
}

#[test]
fn a_queue_that_breaks_a_rule_ends_the_run_and_is_named() {
    let folder = Scratch::new("own-wrong");
    wrong(&folder);
    for (wrong, words) in [
        (1, "it gave packet "),
        (2, "it gave packet 123456789, which it never got"),
        (3, "it lost them"),
        (4, "may leave now, and dequeue gave none"),
        (9, "it counts to ten at most"),
        (10, "wrong=10 is refused"),
        (12, "it gave 77 as a reason"),
        (13, "it dropped packet "),
        (14, "it marked packet "),
    ] {
        let queue = format!("./wrong.so,wrong={wrong}");
        let output =
            run_in(&folder, &format!("run tcp_4up --length 3s --rate 1mbit --queue {queue},codel -o out"));
        assert_eq!(output.status.code(), Some(2), "{wrong}: {}", stderr(&output));
        let error = stderr(&output);
        assert!(error.contains(words) && error.contains("./wrong.so"), "{error}");
        // What was measured of the other queue, if it was done before, is kept; nothing of this one.
        let record = folder.path("out/record.gqz");
        if record.exists() {
            std::fs::remove_dir_all(folder.path("out")).expect("it is there");
        }
        assert!(!folder.path("out").exists(), "{wrong}");
        let output = run_in(&folder, &format!("check-queue {queue}"));
        let code = if wrong == 10 { 2 } else { 1 };
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
    }
    // Alone, nothing is left behind.
    let output = run_in(&folder, "run tcp_1up --length 3s --queue ./wrong.so,wrong=1 -o alone");
    assert_eq!(output.status.code(), Some(2));
    assert!(!folder.path("alone").exists());
}

#[test]
fn a_check_says_what_is_wrong_in_words_and_in_json() {
    let folder = Scratch::new("own-check");
    wrong(&folder);
    let output = run_in(&folder, "check-queue ./wrong.so,wrong=8 codel");
    assert_eq!(output.status.code(), Some(1));
    let error = stderr(&output);
    assert!(error.contains("./wrong.so,wrong=8 breaks the rule `repeat`: random, seed 1, step "), "{error}");
    let text = stdout(&output);
    assert!(text.contains("  broken       repeat  the same seed"), "{text}");
    assert!(text.contains("\ncodel: ") && text.matches("  kept  ").count() == 15, "{text}");

    let output = run_in(&folder, "check-queue ./wrong.so,wrong=7 --json");
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let rules = report[0]["rules"].as_array().expect("rules");
    let verdicts: Vec<&str> = rules.iter().filter_map(|rule| rule["verdict"].as_str()).collect();
    assert_eq!(verdicts, ["kept", "kept", "kept", "kept", "kept", "broken", "not checked", "kept"]);
    assert_eq!(rules[5]["violation"]["pattern"], "flood");

    for (words, why) in [
        ("fqcodel", "no queue `fqcodel`"),
        ("codel,target=5", "a number without a unit"),
        ("cake,bandwidth=90%", "there is no line here that it is a share of"),
        ("./none.so", "./none.so: it cannot be loaded: "),
        ("wrong.so,limit=5", "wrong.so: no parameter `limit`; there are wrong"),
    ] {
        let output = run_in(&folder, &format!("check-queue {words}"));
        assert_eq!(output.status.code(), Some(2), "{words}");
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_congestion_control_that_does_something_wrong_is_named() {
    let folder = Scratch::new("own-cc");
    compile(&folder, "wrong_cc");
    for (wrong, words) in [
        (1, "it counts to ten at most"),
        (2, "it uses less than 10 % of an empty line of 20mbit"),
        (3, "a window of "),
        (4, "a second run of the same flow behaved differently"),
        (6, "it calls `drop`, which is for queues"),
    ] {
        let output = run_in(&folder, &format!("check-cc ./wrong_cc.so:wrong={wrong}"));
        assert_eq!(output.status.code(), Some(1), "{wrong}: {}", stderr(&output));
        assert!(stderr(&output).contains(words), "{wrong}: {}", stderr(&output));
        assert!(stdout(&output).contains("  broken  a deep buffer"), "{}", stdout(&output));
    }
    for (words, why) in [
        (
            "run tcp_1up --length 3s --cc ./wrong_cc.so:wrong=1 -o out",
            "./wrong_cc.so:wrong=1: it counts to ten at most",
        ),
        ("run tcp_1up --length 3s --cc ./wrong_cc.so:wrong=5", "./wrong_cc.so: wrong=5 is refused"),
        ("run tcp_1up --cc ./wrong_cc.so:wrong=x", "wrong=x: not a whole number"),
        ("run tcp_1up --cc ./none.so", "./none.so: it cannot be loaded"),
        ("run tcp_1up --queue ./wrong_cc.so", "it exports no `goodqueue_own_queue`"),
        ("run tcp_1up --live --cc ./wrong_cc.so", "the live arm has this kernel's TCP"),
        ("check-cc cubik", "no congestion control `cubik`"),
    ] {
        let output = run_in(&folder, words);
        assert_eq!(output.status.code(), Some(2), "{words}");
        assert!(stderr(&output).contains(why), "{words}: {}", stderr(&output));
    }
    assert!(!folder.path("out").exists(), "nothing half-written");
}

/// It is a queue like others in files, and named where it has no place.
#[test]
fn an_experiment_file_names_libraries() {
    let folder = Scratch::new("own-file");
    wrong(&folder);
    let file = "test = { name = \"tcp_1up\", length = \"3s\" }\nqueues = [\"./wrong.so,wrong=0\", \"pfifo:100\"]\n\
                [link]\nrate = \"5mbit\"\n";
    std::fs::write(folder.path("one.toml"), file).expect("a file");
    let output = run_in(&folder, "run one.toml --json");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let record: Value = serde_json::from_str(&stdout(&output)).expect("a record");
    let [own, ours] = [0, 1].map(|at| &record["runs"][at]);
    assert_eq!(own["queue"], "./wrong.so,wrong=0");
    // A FIFO of 100 packets is `pfifo:100`: the same packets in the same order.
    assert_eq!(own["simulation"]["up_packets"], ours["simulation"]["up_packets"]);
    assert_eq!(own["flows"], ours["flows"]);

    let wrong = file.replace("wrong=0", "wrong=100");
    std::fs::write(folder.path("two.toml"), wrong).expect("a file");
    let output = run_in(&folder, "run two.toml");
    assert_eq!(output.status.code(), Some(2));
    let error = stderr(&output);
    assert!(error.contains("two.toml:2:") && error.contains("wrong=100: 0 to 99"), "{error}");
}
