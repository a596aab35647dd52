//! A line, a shaper before it, repetitions, and flags beside a file.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::usage::refused;
use super::{Scratch, goodqueue, kept, kept_in, run, stderr, stdout};

/// The record that `words` print.
#[track_caller]
fn record(words: &str) -> Value {
    let output = run(&format!("run {words} --json"));
    assert!(output.status.success(), "{words}: {}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("a record")
}

/// The plan of `words`.
#[track_caller]
fn plan(words: &str) -> Value {
    let output = run(&format!("run {words} --dry-run"));
    assert!(output.status.success(), "{words}: {}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("a plan")
}

fn labels(record: &Value) -> Vec<&str> {
    let runs = record["runs"].as_array().expect("runs");
    runs.iter().map(|run| run["queue"].as_str().expect("a label")).collect()
}

fn rise(record: &Value, run: usize) -> f64 {
    record["runs"][run]["summary"]["probes"][0]["rtt"]["added_p95_ns"]
        .as_f64()
        .unwrap_or_else(|| panic!("{}", record["runs"][run]["summary"]["probes"][0]))
}

fn docs(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name).display().to_string()
}

fn file(scratch: &Scratch, name: &str, text: &str) -> String {
    let path = scratch.path(name);
    std::fs::write(&path, text).expect("a file");
    path.display().to_string()
}

#[test]
fn a_shaper_in_front_of_a_modem_is_compared_with_the_modem_alone() {
    let line = "rrul --down 50mbit --up 10mbit --rtt 30ms --length 8s";
    let both = record(&format!("{line} --shape 90% --queue cake,fq_codel"));
    assert_eq!(labels(&both), ["modem alone", "cake", "fq_codel"]);
    for shaped in [1, 2] {
        assert!(rise(&both, shaped) * 4.0 < rise(&both, 0), "{} {}", rise(&both, shaped), rise(&both, 0));
        let up = both["runs"][shaped]["summary"]["goodput_up_bps"].as_f64().expect("a rate");
        assert!(up < 9e6, "{up}: the shaper lets 9 Mbit/s pass");
    }
    assert_eq!(labels(&record(&format!("{line} --shape 90%"))), ["modem alone", "cake"]);
}

#[test]
fn each_direction_has_its_own_shaper() {
    let record = record("tcp_nup --rate 10mbit --length 5s --shape-up 50% --queue fq_codel");
    let up = |run: usize| record["runs"][run]["summary"]["goodput_up_bps"].as_f64().expect("a rate");
    assert!(up(1) < 5e6 && up(1) > 4e6 && up(0) > 9e6, "{} {}", up(1), up(0));
    let link = &plan("rrul --shape 90% --shape-down 40mbit")["link"];
    assert_eq!((&link["shape_up"], &link["shape_down"]), (&"90%".into(), &"40mbit".into()));
}

/// The same in a file, with a share in place of each rate.
#[test]
fn a_file_has_the_names_of_the_flags() {
    let scratch = Scratch::new("shape-file");
    let text = "test = { name = \"rrul\", length = \"3s\" }\n[link]\ndown = \"50mbit\"\nup = \"10mbit\"\nrtt = \"30ms\"\n\
                shape = \"90%\"\n";
    let in_file = record(&file(&scratch, "shape.toml", text));
    let typed = record("rrul --length 3s --down 50mbit --up 10mbit --rtt 30ms --shape 90%");
    assert_eq!(labels(&in_file), labels(&typed));
    for run in [0, 1] {
        let hash = |record: &Value| record["runs"][run]["simulation"]["trace_hash"].clone();
        assert!(!hash(&typed).is_null());
        assert_eq!(hash(&in_file), hash(&typed));
    }
}

#[test]
fn a_share_is_relative_to_the_slowest_line_of_its_direction() {
    let scratch = Scratch::new("share");
    let text = "test = \"tcp_1up\"\n[[link]]\nbetween = [\"client\", \"router\"]\n[[link]]\nname = \"sqm\"\n\
                between = [\"router\", \"modem\"]\nup = { shaper = { rate = \"80%\" }, queue = \"fq_codel\" }\n\
                down = { rate = \"1gbit\", queue = \"cake,bandwidth=90%\" }\n[[link]]\nbetween = [\"modem\", \"server\"]\n\
                up = { rate = \"10mbit\" }\ndown = { rate = \"40mbit\" }\ndelay = \"5ms\"\n";
    let plan = plan(&file(&scratch, "share.toml", text));
    let links = plan["variants"][0]["links"].as_array().expect("links");
    let sqm = |name: &str| links.iter().find(|link| link["link"] == name).expect("a link").clone();
    assert_eq!(sqm("router to modem")["shaper"], "htb 8mbit, burst 1514 bytes");
    assert_eq!(sqm("modem to router")["queue"], "cake,bandwidth=36mbit");
    let record = record("tcp_1up --rate 20mbit --length 3s --queue cake,bandwidth=50%");
    let up = record["runs"][0]["summary"]["goodput_up_bps"].as_f64().expect("a rate");
    assert!(up < 10e6 && up > 8e6, "{up}");
    assert_eq!(labels(&record), ["cake,bandwidth=50%"]);
}

#[test]
fn two_shapers_or_a_shaper_without_effect_are_refused() {
    refused("run rrul --shape fast", &["--shape fast", "90%"]);
    refused("run rrul --shape 0%", &["--shape 0%", "above 0%"]);
    refused(
        "run rrul --shape 90% --queue cake,bandwidth=5mbit",
        &["cake,bandwidth=5mbit", "shapes by itself"],
    );
    refused("run rrul --shape 90% --live", &["--shape with --live", "leave --live out"]);
    refused("run rrul --line dsl-50-10 --live", &["--line with --live", "leave --live out"]);
    refused("run rrul --seeds 5 --live", &["--seeds with --live", "leave --live out"]);
    refused("run rrul --super-packets", &["--super-packets", "add --live"]);
    refused(
        "run rrul --live --queue cake,bandwidth=90%",
        &["--queue cake,bandwidth=90% with --live", "18mbit"],
    );
    refused("run rrul --buffer pfifi:100", &["--buffer pfifi:100"]);
    refused("run rrul --line dsl-50-11", &["--line", "did you mean dsl-50-10?"]);
}

#[test]
fn lines_come_with_their_buffers() {
    let text = stdout(&run("lines"));
    assert!(text.contains("dsl-50-10") && text.contains("starlink-150-15"), "{text}");
    let lines: Value = serde_json::from_str(&stdout(&run("lines --json"))).expect("JSON");
    assert!(lines.as_array().expect("lines").len() >= 10);
    for line in lines.as_array().expect("lines") {
        let name = line["name"].as_str().expect("a name");
        let plan = plan(&format!("rrul --line {name} --shape 85%"));
        assert_eq!(
            (&plan["link"]["down_bps"], &plan["link"]["up_bps"]),
            (&line["down_bps"], &line["up_bps"]),
            "{name}"
        );
        assert_eq!(plan["link"]["rtt_ns"][0], line["rtt_ns"], "{name}");
    }
    let alone = record("rrul --line cable-20-5 --length 5s --queue fq_codel");
    assert_eq!(labels(&alone), ["modem alone", "fq_codel"]);
    assert!(rise(&alone, 0) > 4.0 * rise(&alone, 1));
    let faster = plan("rrul --line cable-20-5 --up 8mbit --rtt 9ms --buffer pfifo:10");
    assert_eq!(
        (&faster["link"]["up_bps"], &faster["link"]["rtt_ns"][0]),
        (&8_000_000.into(), &9_000_000.into())
    );
    let scratch = Scratch::new("line-file");
    let text = "test = \"ping\"\nqueues = [\"codel\"]\n[link]\nline = \"dsl-16-1\"\n";
    let in_file = plan(&file(&scratch, "line.toml", text));
    assert_eq!((&in_file["runs"], &in_file["variants"][0]["name"]), (&2.into(), &"modem alone".into()));
}

#[test]
fn seeds_are_a_number_or_a_list() {
    assert_eq!(plan("ping --seeds 3")["seeds"], serde_json::json!([1, 2, 3]));
    assert_eq!(plan("ping --repetitions 2 --seed 7")["seeds"], serde_json::json!([7, 8]));
    assert_eq!(plan("ping --seeds 4..6")["seeds"], serde_json::json!([4, 5, 6]));
    assert_eq!(plan("ping --seeds 9,2")["seeds"], serde_json::json!([9, 2]));
    refused("run ping --seeds 0", &["--seeds 0", "1 to 1000"]);
    refused("run ping --seeds a", &["--seeds a", "3..7"]);
    refused("run ping --seeds 1,2 --seed 4", &["--seed 4", "leave --seed out"]);
    let all = record("tcp_1up --length 2s --loss 1% --queue codel --seeds 3");
    let repetitions = all["runs"][0]["repetitions"].as_array().expect("repetitions");
    assert_eq!(repetitions.len(), 3);
    assert_ne!(repetitions[0], repetitions[1]);
}

#[test]
fn flags_and_set_change_what_a_file_says() {
    let scratch = Scratch::new("set");
    let text = "test = \"rrul\"\nseeds = [4, 5]\n[[link]]\nname = \"lan\"\nbetween = [\"client\", \"router\"]\n[[link]]\n\
                between = [\"router\", \"server\"]\nrate = \"10mbit\"\nqueue = \"$queue\"\ndelay = \"5ms\"\n\
                [[variant]]\nname = \"a b\"\nqueue = \"codel\"\n[[flow]]\nstop = \"1s\"\n";
    let file = file(&scratch, "set.toml", text);
    let set = |words: &[&str]| {
        let output = goodqueue().args(["run", &file, "--dry-run"]).args(words).output().expect("it starts");
        assert!(output.status.success(), "{words:?}: {}", stderr(&output));
        serde_json::from_slice::<Value>(&output.stdout).expect("a plan")
    };
    let plan = set(&["--length", "3s", "--seed", "9"]);
    assert_eq!((&plan["test"]["load"], &plan["seeds"]), (&"3s".into(), &serde_json::json!([9])));
    let plan =
        set(&["--seeds", "2", "--set", "test.length=10s", "--set", "variant.a b.queue=fq_codel,target=9ms"]);
    assert_eq!((&plan["test"]["load"], &plan["seeds"]), (&"10s".into(), &serde_json::json!([1, 2])));
    let plan_of = |plan: &Value, link: usize, key: &str| plan["variants"][0]["links"][link][key].clone();
    assert_eq!(plan_of(&plan, 2, "queue"), "fq_codel,target=9ms");
    let plan = set(&["--set", "link.router-server.up.rate=5mbit", "--set", "link.lan.delay=2ms", "--ecn"]);
    assert_eq!((plan_of(&plan, 2, "line"), plan_of(&plan, 0, "delay")), ("5mbit".into(), "2ms".into()));
    assert_eq!(plan["variants"][0]["ecn"], true);
    let plan = set(&["--set", "flow.1.count=3", "--set", "variant.a b.link.lan.loss=0.5%"]);
    assert_eq!(plan["test"]["flows"].as_array().map(Vec::len), Some(8 + 3));
    assert_eq!(plan_of(&plan, 0, "loss"), "0.005");

    let set = |words: &str, said: &[&str]| refused(&format!("run {file} {words}"), said);
    set("--set test.lenght=1s", &["--set test.lenght=1s:", "did you mean length?"]);
    set("--set test.length=5", &["--set test.length=5:", "length = \"20ms\""]);
    set(
        "--set variant.c.queue=codel",
        &["--set variant.c.queue=codel:", "no [[variant]] is called `c`", "a b"],
    );
    set("--set link.lann.delay=1s", &["did you mean lan?"]);
    set("--set about.x=1", &["--set about.x=1:", "has no keys"]);
    set("--set test", &["--set test:", "KEY=VALUE"]);
    set("--set switch.a.queue=codel", &["the file has no [[switch]]"]);
    set("--length 5", &["--length 5:", "unit"]);
    set("--rate 5mbit", &["--rate 5mbit:", "[[link]]"]);
    refused("run rrul --set test.length=1s", &["--set", "file"]);
}

#[test]
fn flags_change_the_one_bottleneck_of_a_file() {
    let scratch = Scratch::new("bottleneck");
    let file = file(&scratch, "b.toml", "test = \"ping\"\n[link]\nup = \"1mbit\"\nrtt = \"9ms\"\n");
    let plan = plan(&format!("{file} --rate 7mbit --rtt 4ms --queue codel,cake,bandwidth=80% --loss 1%"));
    let variant = &plan["variants"][1];
    assert_eq!((&variant["name"], &variant["rtt"][0]), (&"cake,bandwidth=80%".into(), &"4ms".into()));
    let lines: Vec<&Value> =
        variant["links"].as_array().expect("links").iter().filter_map(|link| link.get("line")).collect();
    assert_eq!(lines, ["7mbit", "7mbit"]);
}

#[test]
fn each_direction_has_its_own_number_of_flows() {
    assert_eq!(plan("rrul_var --flows 2")["test"]["flows"], 2);
    assert_eq!(plan("rrul_var --flows 1,4")["test"]["flows"], serde_json::json!({ "up": 1, "down": 4 }));
    let scratch = Scratch::new("flows-each");
    let file = file(&scratch, "flows.toml", "test = { name = \"rrul_be_nflows\", flows = [3, 2] }\n");
    let flows = |words: &str| {
        let plan = plan(&format!("{file} {words}"));
        let flows = plan["test"]["flows"].as_array().expect("flows").clone();
        let up = flows.iter().filter(|flow| flow.as_str().is_some_and(|words| words.contains("upload")));
        [up.count(), flows.len()]
    };
    assert_eq!([flows(""), flows("--flows 1,4"), flows("--flows 2")], [[3, 5], [1, 5], [2, 4]]);
    refused(&format!("run {file} --flows 1,0"), &["--flows 1,0:", "flows = 0: must be 1 to 1000"]);
    let record = record("rrul_be_nflows --flows 1,3 --length 1s --idle 100ms --queue codel");
    assert_eq!(record["test"]["flows"].as_array().map(Vec::len), Some(4));
}

/// A round-trip time for each host says how many there are.
#[test]
fn a_test_for_any_number_of_hosts_has_one_for_each_round_trip_time() {
    let words = "rtt_fair_var --rtt 10ms,50ms,30ms --length 1s --idle 100ms --queue codel";
    assert_eq!(plan(words)["test"]["hosts"], 3);
    let record = record(words);
    assert_eq!(
        (&record["test"]["name"], &record["link"]["rtt_ns"][2]),
        (&"rtt_fair_var".into(), &30_000_000.into())
    );
    let lengths = ["flows", "probes"].map(|what| record["test"][what].as_array().map(Vec::len));
    assert_eq!(lengths, [Some(6), Some(3)]);
    // Nothing is added where nothing differs.
    for words in ["rtt_fair_var", "rtt_fair --rtt 10ms,20ms,40ms,80ms"] {
        assert!(plan(words)["test"].get("hosts").is_none(), "{words}");
    }
}

#[test]
fn a_line_follows_a_trace() {
    let trace = docs("example.trace");
    let typed = record(&format!("tcp_1down --trace-down {trace} --length 3s --queue codel"));
    let scratch = Scratch::new("trace-line");
    let text = format!(
        "test = {{ name = \"tcp_1down\", length = \"3s\" }}\nqueues = [\"codel\"]\n[link]\ndown = {{ trace = \"{trace}\" }}\n"
    );
    let in_file = record(&file(&scratch, "trace.toml", &text));
    let hash = |record: &Value| record["runs"][0]["simulation"]["trace_hash"].clone();
    assert!(!hash(&typed).is_null());
    assert_eq!(hash(&in_file), hash(&typed));
    let steady = record("tcp_1down --length 3s --queue codel");
    assert_ne!(hash(&steady), hash(&typed));
    refused("run ping --trace-down /none", &["--trace-down /none", "No such file"]);
    let wrong = file(&scratch, "wrong.toml", "test = \"ping\"\n[link]\ntrace = \"x\"\n");
    refused(&format!("run {wrong}"), &["[link] has no key `trace`", "down = { trace = \"FILE\" }"]);
}

#[test]
fn a_queue_in_the_sending_host_is_warned_about() {
    let scratch = Scratch::new("own-queue");
    let text = "test = \"tcp_1up\"\nqueues = [\"pfifo:1000\"]\n[[link]]\nbetween = [\"client\", \"server\"]\n\
                rate = \"10mbit\"\nqueue = \"$queue\"\ndelay = \"5ms\"\n";
    let own = record(&format!("{} --length 1s", file(&scratch, "own.toml", text)));
    let warnings = own["warnings"].as_array().expect("warnings");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let why = warnings[0].as_str().expect("words");
    assert!(why.contains("TCP small queues") && why.contains("put a router between"), "{why}");
    let routed = text.replace("[[link]]\n", "[[link]]\nbetween = [\"client\", \"router\"]\n[[link]]\n");
    let routed = routed.replace("between = [\"client\", \"server\"]", "between = [\"router\", \"server\"]");
    let routed = record(&format!("{} --length 1s", file(&scratch, "routed.toml", &routed)));
    assert_eq!(routed["warnings"], serde_json::json!([]));
}

/// The command on the page, as a shell takes it.
fn again(folder: &Path) -> String {
    let page = std::fs::read_to_string(folder.join("report.html")).expect("a page");
    let (_, rest) = page.split_once("aria-label=\"Command\">").expect("the command");
    let (line, _) = rest.split_once("</pre>").expect("an end");
    line.replace("&#39;", "'")
        .replace("&quot;", "\"")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

/// Runs `words`, then the command on its page in another folder; both records must be the same but for the
/// time.
#[track_caller]
fn runs_again(scratch: &Scratch, words: &[&str]) {
    let (first, second) = (scratch.path("first"), scratch.path("second"));
    let output = goodqueue()
        .args(words)
        .args(["-o", "first", "--quiet"])
        .current_dir(&scratch.0)
        .output()
        .expect("it starts");
    assert!(output.status.success(), "{words:?}: {}", stderr(&output));
    let line = again(&first);
    let elsewhere = scratch.path("elsewhere");
    std::fs::create_dir_all(&elsewhere).expect("a folder");
    let program = Path::new(env!("CARGO_BIN_EXE_goodqueue")).parent().expect("a folder");
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    // The line as it is, and the same with a folder for the results.
    for line in [line.clone(), format!("{line} -o \"{}\"", second.display())] {
        let output = Command::new("sh")
            .args(["-c", &line])
            .current_dir(&elsewhere)
            .env("PATH", &path)
            .output()
            .expect("a shell");
        assert!(output.status.success(), "{line}: {}", stderr(&output));
    }
    let timeless = |folder: &Path| {
        let mut record = kept(folder);
        record["started"] = Value::Null;
        record["command"].as_array_mut().expect("words").retain(|word| {
            // What the page adds: the default seed, said.
            !word.as_str().is_some_and(|word| word.starts_with("--seed="))
        });
        record
    };
    assert_eq!(timeless(&first), timeless(&second), "{line}");
    for folder in [first, second, elsewhere] {
        std::fs::remove_dir_all(folder).expect("removed");
    }
}

#[test]
fn the_command_for_a_repetition_repeats_the_run() {
    let scratch = Scratch::new("again it's");
    runs_again(
        &scratch,
        &["run", "ping", "--length", "500ms", "--title", "it's \"so\" & $HOME", "--seed", "3"],
    );
    runs_again(
        &scratch,
        &["run", "tcp_1up", "--length", "1s", "--shape", "90%", "--loss", "1%", "--seeds", "2"],
    );
    // How a result is shown is no key of the file.
    let text = "test = { name = \"ping\", length = \"1s\" }\n";
    file(&scratch, "shown.toml", text);
    let shown = [
        "run",
        "shown.toml",
        "--wide",
        "--verbose",
        "--quiet",
        "--title",
        "t",
        "--note",
        "n",
        "--check-determinism",
    ];
    let output = goodqueue().current_dir(scratch.path("")).args(shown).output().expect("it starts");
    assert!(output.status.success(), "{}", stderr(&output));
    let text = "test = { name = \"tcp_1up\", length = \"1s\" }\nseeds = [5, 6]\nqueues = [\"codel\"]\n\
                [link]\ndown = { trace = \"my.trace\" }\n";
    file(&scratch, "my file.toml", text);
    std::fs::copy(docs("example.trace"), scratch.path("my.trace")).expect("copied");
    runs_again(&scratch, &["run", "my file.toml", "--set", "test.length=2s"]);
    runs_again(&scratch, &["run", "ping", "--length", "500ms", "--trace-up", "my.trace"]);
}

#[test]
fn records_of_one_test_are_shown_together() {
    let scratch = Scratch::new("together");
    for (name, rate) in [("slow", "5mbit"), ("fast", "50mbit")] {
        let words = format!("run tcp_nup --length 2s --queue codel --rate {rate} --quiet -o");
        let output =
            goodqueue().args(words.split_whitespace()).arg(scratch.path(name)).output().expect("it starts");
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let (slow, fast, both) = (scratch.path("slow"), scratch.path("fast/record.gqz"), scratch.path("both"));
    let report = |words: &[&Path]| goodqueue().arg("report").args(words).output().expect("it starts");
    let output = report(&[&slow, &fast, Path::new("-o"), &both]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("slow: codel"), "{}", stdout(&output));
    let record = kept_in(&both.join("record.gqz"));
    assert_eq!(labels(&record), ["slow: codel", "fast: codel"]);
    let rate = |run: usize| record["runs"][run]["link"]["up"]["rate_bps"].as_u64();
    assert_eq!((rate(0), rate(1)), (Some(5_000_000), Some(50_000_000)));
    let files: Vec<String> = std::fs::read_dir(&both)
        .expect("a folder")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".gz"))
        .collect();
    assert_eq!(files.len(), 2, "{files:?}");
    assert!(files.iter().all(|name| name.ends_with(".flent.gz")), "{files:?}");
    assert!(files.iter().any(|name| name.contains("fast__codel")), "{files:?}");
    let other = scratch.path("other.json");
    let ping =
        goodqueue().args(["run", "ping", "--length", "1s", "-o"]).arg(&other).output().expect("it starts");
    assert!(ping.status.success(), "{}", stderr(&ping));
    let output = report(&[&slow, &other]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("the test is ping in one and tcp_nup in the other"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn mistakes_of_beginners_get_helpful_messages() {
    refused("run rrul --flows 3", &["fixed number of flows", "no --flows"]);
    let scratch = Scratch::new("small");
    let none = file(&scratch, "none.toml", "test = \"rrul\"\n[wifi]\nmcs = 7\n");
    refused(&format!("run {none}"), &["[wifi] needs a station", "[[wifi.station]]"]);
    let ac = "test = \"ping\"\n[wifi]\nstandard = \"ac\"\nmcs = 9\nnss = 2\nwidth = 80\n[[wifi.station]]\nname = \"a\"\n";
    let vht = ac.replace("\"ac\"", "\"vht\"");
    assert_eq!(plan(&file(&scratch, "ac.toml", ac)), plan(&file(&scratch, "vht.toml", &vht)));
    let help = stdout(&run("run --help"));
    for word in ["dctcp", "prague", "--shape", "--seeds", "--set", "--line", "--trace-down", "--buffer"] {
        assert!(help.contains(word), "{word}");
    }
    let ignored = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.gitignore"));
    assert!(ignored.expect("text").lines().any(|line| line == "/first-light"));
}
