//! `goodqueue run FILE.toml` as its users meet it. What may be written is tested in the library.

use serde_json::Value;

use super::{Scratch, kept, run, stderr, stdout};

const THREE_SEEDS: &str = r#"
about = "two sides, three seeds"
queues = ["pfifo:50"]
repetitions = 3
seed = 5
[test]
name = "tcp_nup"
flows = 2
length = "2s"
idle = "500ms"
[link]
rate = "5mbit"
loss = "0.5%"
[[variant]]
name = "near"
link = { rtt = "4ms" }
[[variant]]
name = "far and fast"
queue = "fq_codel"
link = { up = "10mbit" }
"#;

fn written(scratch: &Scratch, text: &str) -> String {
    let path = scratch.path("experiment.toml");
    std::fs::write(&path, text).expect("a file");
    path.display().to_string()
}

#[test]
fn every_variant_runs_with_every_seed_and_has_an_interval() {
    let scratch = Scratch::new("experiment");
    let (file, folder) = (written(&scratch, THREE_SEEDS), scratch.path("out"));
    let output = run(&format!("run {file} --quiet -o {}", folder.display()));
    assert!(output.status.success(), "{}", stderr(&output));
    let table = stdout(&output);
    assert!(table.contains("mean of 3 repetitions"), "{table}");
    assert!(table.contains("near, pfifo:50") && table.contains("far and fast"), "{table}");

    let record = kept(&folder);
    assert_eq!(record["title"], "two sides, three seeds");
    assert_eq!(record["seed"], 5);
    let runs = record["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 2);
    for run in runs {
        let all = run["repetitions"].as_array().expect("repetitions");
        let seeds: Vec<&Value> = all.iter().map(|one| &one["seed"]).collect();
        assert_eq!(seeds, [5, 6, 7]);
        assert_eq!(run["simulation"]["seed"], 5);
        let own = &run["summary"];
        assert_eq!(all[0]["goodput_up_bps"], own["goodput_up_bps"], "the series are the first one's");
        assert_ne!(all[0], all[1], "another seed, another run");
        let goodput = &own["repeated"]["goodput_up_bps"];
        let sum: f64 = all.iter().map(|one| one["goodput_up_bps"].as_f64().expect("goodput")).sum();
        assert!((goodput["mean"].as_f64().expect("a mean") - sum / 3.0).abs() < 1.0);
        assert!(goodput["half"].as_f64() > Some(0.0));
        assert!(own["queue_up"]["utilisation"].as_f64() > Some(0.8), "{}", own["queue_up"]);
    }
    assert_eq!(runs[0]["link"], Value::Null, "the first one's is the record's");
    assert_eq!(record["link"]["up"]["rate_bps"], 5_000_000);
    assert_eq!(runs[1]["link"]["up"]["rate_bps"], 10_000_000);
    assert!(folder.join("report.html").is_file());
}

#[test]
fn a_repetition_is_the_run_with_its_seed() {
    let scratch = Scratch::new("repetition");
    let file = written(&scratch, THREE_SEEDS);
    let all: Value = serde_json::from_str(&stdout(&run(&format!("run {file} --json")))).expect("a record");
    let text = THREE_SEEDS.replace("repetitions = 3\nseed = 5", "seeds = [7]");
    let file = written(&scratch, &text);
    let one: Value = serde_json::from_str(&stdout(&run(&format!("run {file} --json")))).expect("a record");
    for (all, one) in [0, 1].map(|index| (&all["runs"][index], &one["runs"][index])) {
        assert_eq!(all["repetitions"][2]["goodput_up_bps"], one["summary"]["goodput_up_bps"]);
        assert_eq!(one.get("repetitions"), None, "a single run is as it ever was");
        assert_eq!(one["summary"].get("repeated"), None);
    }
}

#[test]
fn an_error_in_a_file_is_one_line_with_its_position_and_writes_nothing() {
    let scratch = Scratch::new("wrong");
    let folder = scratch.path("out");
    let file = written(&scratch, "test = \"ping\"\n[link]\nrate = \"20parsec\"\n");
    let output = run(&format!("run {file} -o {}", folder.display()));
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert_eq!(
        said,
        format!("goodqueue: {file}:3:8: rate = \"20parsec\": an unknown unit; write rate = \"20mbit\"\n")
    );
    assert!(!folder.exists());
    let output = run("run nothing-here.toml");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).starts_with("goodqueue: nothing-here.toml: No such file"), "{}", stderr(&output));
}

#[test]
fn flags_that_do_not_work_with_a_file_are_refused() {
    let scratch = Scratch::new("flags");
    let file = written(&scratch, "test = \"ping\"\n");
    for (flag, said) in [
        ("--link x", "--link: an experiment file has its own network"),
        ("-N 3", "`ping` has a fixed number of flows"),
        ("--live", "--live: it runs only experiments over [wifi]"),
    ] {
        let output = run(&format!("run {file} {flag}"));
        assert_eq!(output.status.code(), Some(2), "{flag}");
        assert!(stderr(&output).contains(said), "{flag}: {}", stderr(&output));
    }
    let output = run(&format!("run {file} --dry-run --quiet --title x"));
    assert!(output.status.success(), "{}", stderr(&output));
    let plan: Value = serde_json::from_str(&stdout(&output)).expect("a plan");
    assert_eq!(plan["runs"], 3);
}

#[test]
fn the_schema_is_printed() {
    let schema: Value = serde_json::from_str(&stdout(&run("schema"))).expect("JSON");
    assert_eq!(schema["additionalProperties"], false);
    assert!(schema["properties"]["link"].is_object());
}
