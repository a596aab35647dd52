//! The simulated arm: no rights, the same bytes for the same seed, and the link of the live arm. What TCP
//! itself does is tested with the simulator.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Scratch, goodqueue, kept, kept_in, measured, run, stderr, stdout};

fn number(value: &Value, path: &str) -> f64 {
    let found = path.split('.').fold(value, |value, key| &value[key]);
    found.as_f64().unwrap_or_else(|| panic!("{path} is no number: {found}"))
}

/// Median of the round trips of a probe of the first run, before the load.
fn idle_ns(record: &Value, probe: usize) -> f64 {
    number(&record["runs"][0]["summary"]["probes"][probe], "rtt.idle_ns")
}

#[test]
fn every_test_runs_and_names_itself() {
    for test in ["rrul", "rrul_be", "tcp_nup", "tcp_ndown", "tcp_square_wave", "rtt_fair", "ping"] {
        let record = measured(&format!("{test} --length 2s --idle 500ms --delay 200ms"));
        assert_eq!(record["arm"], "simulated", "{test}");
        let queues: Vec<&Value> =
            record["runs"].as_array().expect("runs").iter().map(|r| &r["queue"]).collect();
        assert_eq!(queues, ["pfifo:1000", "codel", "fq_codel"], "{test}");
        for run in record["runs"].as_array().expect("runs") {
            assert_eq!((&run["complete"], &run["validity"]["valid"]), (&true.into(), &true.into()), "{test}");
            assert_eq!(run["engine"], Value::Null, "{test}");
            assert_eq!(run["simulation"]["seed"], 1, "{test}");
            assert_eq!(run["simulation"]["trace_hash"].as_str().map(str::len), Some(16), "{test}");
            assert!(number(run, "simulation.simulated_ns") >= 2.5e9, "{test}");
            for way in ["up", "down"] {
                let queue = &run[way];
                let sent = queue["sent_packets"].as_array().and_then(|sent| sent.last()).expect("looks");
                assert!(sent.as_f64() > Some(0.0), "{test}: nothing was sent {way}");
                let count = |name: &str| number(&queue["counters"], name);
                let drops = queue["drop_reasons"].as_object().expect("reasons").values();
                let drops: f64 = drops.filter_map(Value::as_f64).sum();
                assert_eq!(
                    count("arrived_packets"),
                    count("sent_packets") + drops + count("held_packets"),
                    "{test}: packets that arrived {way} are sent, dropped or held"
                );
                assert_eq!(number(run, &format!("simulation.{way}_packets")), count("sent_packets"));
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let words = "tcp_nup --length 3s --loss 1% --queue codel,pfifo:100";
    let runs = |seed: u32| measured(&format!("{words} --seed {seed}"))["runs"].to_string();
    assert_eq!(runs(7), runs(7));
    assert_ne!(runs(7), runs(8));
}

/// Nothing else is at random here: which flow is first decides.
#[test]
fn seeds_change_the_flows_in_a_fifo_unless_starts_are_exact() {
    let runs = |more: &str, seed: u32| {
        let words = format!("tcp_nup --flows 2 --length 5s --queue pfifo:50 --seed {seed}{more}");
        let run = &measured(&words)["runs"][0];
        (run["summary"].clone(), run["simulation"]["trace_hash"].clone())
    };
    assert_ne!(runs("", 1), runs("", 2));
    assert_eq!(runs(" --start-jitter 0s", 1), runs(" --start-jitter 0s", 2));
}

#[test]
fn load_over_quic_is_deterministic_and_beside_tcp() {
    let output = run("run tcp_nup --transport quic --length 2s --loss 1% --check-determinism --quiet");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stderr(&output).matches("two runs agree in all ").count(), 3, "{}", stderr(&output));
    let record = measured("rrul --transport quic --length 3s --queue fq_codel --cc newreno");
    let flow = &record["test"]["flows"][0];
    let words = ["name", "transport", "cc"].map(|key| flow[key].as_str().unwrap_or_default());
    assert_eq!(words, ["QUIC upload BE", "quic", "newreno"]);
    assert!(number(&record["runs"][0]["summary"], "goodput_up_bps") > 5e6);
    let scratch = Scratch::new("quic");
    let file = scratch.path("both.toml");
    let text = "queues = [\"fq_codel\"]\n[test]\nlength = \"5s\"\n[link]\nrate = \"10mbit\"\nrtt = \"20ms\"\n[[flow]]\n\
                [[flow]]\ntransport = \"quic\"\n";
    std::fs::write(&file, text).expect("a file");
    let record = measured(&file.display().to_string());
    let names: Vec<_> =
        record["test"]["flows"].as_array().expect("flows").iter().map(|f| &f["name"]).collect();
    assert_eq!(names, ["TCP upload::1", "QUIC upload::2"]);
    assert_eq!(record["test"]["flows"][0]["transport"], Value::Null);
    for (words, part) in [
        ("tcp_1up --transport quic --cc bbr", "no BBR over QUIC"),
        ("tcp_1up --transport quic --cc vegas", "cubic, newreno and bbr"),
        ("tcp_1up --transport sctp", "tcp or quic"),
        ("tcp_1up --transport quic --live --ecn", "not ECN-capable"),
    ] {
        let output = run(&format!("run {words} --length 1s"));
        assert!(output.status.code() == Some(2) && stderr(&output).contains(part), "{}", stderr(&output));
    }
}

#[test]
fn both_runs_of_a_check_agree() {
    let output = run("run tcp_nup --sim --length 2s --loss 1% --check-determinism --quiet");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stderr(&output);
    for queue in ["pfifo:1000", "codel", "fq_codel"] {
        assert!(text.contains(&format!("{queue}: two runs agree in all ")), "{text}");
    }
    assert!(stdout(&output).contains("simulated with seed 1"), "{}", stdout(&output));
}

/// A probe of irtt's is 60 bytes behind UDP's 8, IP's 20 or 40 and Ethernet's 14.
#[test]
fn an_idle_link_has_its_base_round_trip_to_the_nanosecond() {
    for (version, frame) in [("", 102.0), ("-6", 122.0)] {
        let words = format!("ping {version} --up 50mbit --down 10mbit --rtt 20ms --queue pfifo --length 1s");
        let record = measured(&words);
        let line = |mbit: f64| frame * 8.0 * 1000.0 / mbit;
        assert_eq!(idle_ns(&record, 0), 20e6 + line(50.0) + line(10.0), "{words}");
        let summary = &record["runs"][0]["summary"];
        assert_eq!(number(summary, "up.idle_ns"), 10e6 + line(50.0), "{words}");
        assert_eq!(number(summary, "down.idle_ns"), 10e6 + line(10.0), "{words}");
        assert_eq!(summary["grade"], Value::Null);
    }
}

/// The probes are spread over the interval of 10 ms, so that with these distances none meets another.
#[test]
fn each_host_behind_one_bottleneck_has_its_own_round_trip() {
    let words = "rtt_fair --cc cubic --rate 50mbit --rtt 12ms,20ms,40ms,80ms --queue fq_codel --length 1s";
    let record = measured(words);
    let line = 2.0 * 102.0 * 8.0 * 1000.0 / 50.0;
    let found: Vec<f64> = (0..4).map(|probe| idle_ns(&record, probe)).collect();
    assert_eq!(found, [12.0, 20.0, 40.0, 80.0].map(|ms| ms * 1e6 + line));
}

/// One server by IPv4 and by IPv6: a probe of 60 bytes is a frame of 102 bytes, and of 122.
#[test]
fn both_ip_versions_share_a_bottleneck() {
    let line = |bytes: f64| 2.0 * bytes * 8.0 * 1000.0 / 50.0;
    for (rtt, ms) in [("12ms", [12.0; 2]), ("12ms,30ms", [12.0, 30.0])] {
        let words = format!("rrul46 --rate 50mbit --rtt {rtt} --queue fq_codel --length 1s");
        let record = measured(&words);
        let found: Vec<f64> = (0..4).map(|probe| idle_ns(&record, probe)).collect();
        let [v4, v6] = [ms[0] * 1e6 + line(102.0), ms[1] * 1e6 + line(122.0)];
        assert_eq!(found, [v4, v4, v6, v6], "{words}");
    }
    let refused = run("run rrul46 -6");
    assert!(stderr(&refused).contains("--ipv6: rrul46 has both IP versions"), "{}", stderr(&refused));
}

#[test]
fn a_ring_holds_packets_below_the_queue() {
    let record = measured("tcp_nup --length 3s --queue fq_codel --ring 1000");
    let held = record["runs"][0]["up"]["ring_bytes"].as_array().expect("looks").clone();
    let most = held.iter().filter_map(Value::as_u64).max();
    assert!(most > Some(20 * 1514), "{most:?}");
}

#[test]
fn random_loss_is_counted_in_each_direction() {
    let record = measured("ping --rtt 4ms --queue pfifo --length 8s --loss 5% --probe-interval 1ms");
    // 10000 probes, 5 % each way: 500 and 475, standard deviation 22; three of them are 66.
    for way in ["up", "down"] {
        let queue = &record["runs"][0][way];
        assert_eq!(queue["drops"].as_array().and_then(|drops| drops.last()?.as_u64()), Some(0), "{way}");
        let lost = [
            number(queue, "counters.lost_on_the_line"),
            number(&record["runs"][0]["probes"][0]["lost"], way),
        ];
        // The probe may not know of a loss on which way it was.
        assert!((409.0..566.0).contains(&lost[0]) && (lost[1] - lost[0]).abs() < 5.0, "{way}: {lost:?}");
    }
}

#[test]
fn a_result_folder_has_every_format() {
    let scratch = Scratch::new("simulated");
    let out = scratch.path("out");
    let output = run(&format!("run tcp_nup --length 2s --queue fq_codel,pfifo -o {}", out.display()));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let names: Vec<String> = std::fs::read_dir(&out)
        .expect("a folder")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    for form in ["report.html", "record.gqz", "csv", "charts", ".svg", ".png", ".flent.gz"] {
        assert!(names.iter().any(|name| name.ends_with(form)), "no {form} in {names:?}");
    }
    assert_eq!(kept(&out)["runs"][1]["queue"], "pfifo");
    let page = std::fs::read_to_string(out.join("report.html")).expect("a page");
    assert!(page.contains("simulated") && page.contains("What was simulated"));
}

/// As a full disk or a kill leaves it: the record of the first queue of three.
#[test]
fn a_record_that_lacks_queues_says_so_and_its_report_fails() {
    let scratch = Scratch::new("lacking");
    let (whole, lacking) = (scratch.path("whole.json"), scratch.path("lacking.json"));
    let output = run(&format!(
        "run ping --length 1s --idle 500ms --queue pfifo,codel,fq_codel -o {}",
        whole.display()
    ));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let mut record = kept_in(&whole);
    assert_eq!(record["planned"], serde_json::json!(["pfifo", "codel", "fq_codel"]));
    assert_eq!(record["missing"], Value::Null);
    record["runs"].as_array_mut().expect("runs").truncate(1);
    std::fs::write(&lacking, record.to_string()).expect("a file");
    let again = scratch.path("again");
    let output = run(&format!("report {} -o {}", lacking.display(), again.display()));
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let said = "2 of 3 queues are missing: codel, fq_codel: the run ended before they were measured";
    assert!(stdout(&output).contains(said), "{}", stdout(&output));
    assert!(stderr(&output).contains("codel, fq_codel"), "{}", stderr(&output));
    assert!(std::fs::read_to_string(again.join("report.html")).expect("a page").contains(said));
    // A record of an earlier version does not say what was planned.
    record.as_object_mut().expect("an object").remove("planned");
    std::fs::write(&lacking, record.to_string()).expect("a file");
    assert_eq!(run(&format!("report {}", lacking.display())).status.code(), Some(0));
}

/// A link whose directions differ, loaded both ways: the upload's bloat starves the downloads.
#[test]
fn a_bloated_fifo_on_an_asymmetric_line_has_a_bad_grade() {
    for (line, way) in [
        ("--down 50mbit --up 10mbit --rtt 30ms", "Downloads"),
        ("--down 10mbit --up 50mbit --rtt 30ms", "Uploads"),
        ("--down 100mbit --up 5mbit", "Downloads"),
        ("--down 10mbit --up 1mbit", "Downloads"),
        ("--down 250mbit --up 20mbit", "Downloads"),
        ("--down 1000mbit --up 40mbit", "Downloads"),
    ] {
        let record = measured(&format!("rrul --length 20s --queue pfifo:1000,fq_codel {line}"));
        let [bloated, short] = [0, 1].map(|i| &record["runs"][i]["summary"]);
        let letter = bloated["grade"]["letter"].as_str();
        assert!(matches!(letter, Some("C" | "D" | "F")), "{line}: {letter:?} {}", bloated["no_grade"]);
        let finding = bloated["findings"][0].as_str().unwrap_or("");
        assert!(finding.starts_with(way) && finding.contains("because their ACKs wait"), "{line}: {finding}");
        let letter = short["grade"]["letter"].as_str();
        assert!(matches!(letter, Some("A+" | "A")), "{line}: {letter:?} {}", short["no_grade"]);
    }
}

/// Twenty-four hours of a full gigabit are hours of work: what there is after a while is kept.
#[test]
fn a_signal_ends_a_run_cleanly() {
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let scratch = Scratch::new(&format!("simulated-{name}"));
        let out = scratch.path("out");
        let words = "run tcp_nup --length 24h --rate 1gbit --queue pfifo,fq_codel,codel --step 1s --quiet -o";
        let child = goodqueue()
            .args(words.split_whitespace())
            .arg(&out)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        std::thread::sleep(Duration::from_millis(1500));
        let kill = [format!("-{name}"), child.id().to_string()];
        let killed = std::process::Command::new("kill").args(&kill).status().expect("kill runs");
        assert!(killed.success());
        let since = Instant::now();
        let output = child.wait_with_output().expect("its output");
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert!(since.elapsed() < Duration::from_secs(10), "it took {:?} to end", since.elapsed());
        assert!(stderr(&output).contains("interrupted"), "{}", stderr(&output));
        let record = kept(&out);
        let runs = record["runs"].as_array().expect("runs");
        assert!(!runs.is_empty() && runs[0]["queue"] == "pfifo");
        for run in runs {
            assert_eq!(run["complete"], false);
            assert_eq!(run["flows"][0]["error"], "the run was stopped");
            assert!(run["probes"][0]["rtt_ns"].as_array().expect("answers").len() > 50);
        }
        assert!(out.join("report.html").exists());
    }
}

/// Links without a rate and a round trip of nanoseconds: a slice of virtual time has events without number.
#[test]
fn a_signal_ends_a_run_that_makes_no_progress() {
    let scratch = Scratch::new("simulated-standstill");
    let (file, out) = (scratch.path("still.toml"), scratch.path("out"));
    let text = "test = \"tcp_nup\"\n[[link]]\nbetween = [\"client\", \"server\"]\ndelay = \"1ns\"\n";
    std::fs::write(&file, text).expect("a file");
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let _ = std::fs::remove_dir_all(&out);
        let child = goodqueue()
            .arg("run")
            .arg(&file)
            .arg("-o")
            .arg(&out)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        std::thread::sleep(Duration::from_millis(1500));
        let kill = [format!("-{name}"), child.id().to_string()];
        assert!(std::process::Command::new("kill").args(&kill).status().expect("kill runs").success());
        let output = child.wait_with_output().expect("its output");
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        let run = &kept(&out)["runs"][0];
        assert_eq!(
            (&run["complete"], &run["flows"][0]["error"]),
            (&false.into(), &"the run was stopped".into())
        );
        let sent = run["flows"]
            .as_array()
            .expect("flows")
            .iter()
            .any(|flow| flow["rx_bytes"] != serde_json::json!([]));
        assert!(sent, "{run}");
    }
}

#[test]
fn absurd_numbers_end_soon_and_cleanly() {
    let absurd = [
        "tcp_nup --rate 1bit --length 2s",
        "tcp_nup --rate 1bit --length 24h --probe-interval 1m --step 1m --queue codel",
        "tcp_ndown --up 1gbit --down 1bit --length 2s",
        "rrul --cc reno --rate 100gbit --length 200ms --idle 100ms --queue fq_codel",
        "ping --rate 18446744073709551615 --length 200ms --idle 100ms",
        "tcp_nup --rtt 0ms --length 1s",
        "tcp_nup --rtt 10s --length 2s",
        "tcp_1000up --length 1s --queue fq_codel",
        "tcp_nup --length 1s --queue pfifo:1",
        "tcp_nup --length 1s --queue fifo:20m",
        "tcp_nup --length 1s --queue bfifo:1514 --ring 1 --bql",
        "tcp_nup --length 1s --queue tbf,rate=8bit,burst=1514,limit=1514",
        "tcp_nup --length 1s --loss 99.99%",
        "tcp_nup --length 10ms --idle 1ns --step 10ms --delay 1ns",
    ];
    for words in absurd {
        let since = Instant::now();
        let output = run(&format!("run {words} --quiet"));
        let text = stderr(&output);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{words}: {:?}: {text}", output.status.code());
        assert!(!text.contains("panicked"), "{words}: {text}");
        assert!(since.elapsed() < Duration::from_secs(30), "{words} took {:?}", since.elapsed());
    }
}

#[test]
fn wrong_arguments_are_refused() {
    for (words, said) in [
        ("run tcp_nup --cc illinois", "reno, cubic"),
        ("run tcp_nup --cc cubik", "did you mean cubic?"),
        ("run tcp_nup --sim --live", "cannot be used with"),
        ("run tcp_nup --live --check-determinism", "cannot be used with"),
    ] {
        let output = run(words);
        assert_eq!(output.status.code(), Some(2), "{words}: {}", stderr(&output));
        assert!(stderr(&output).contains(said), "{words}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{words}");
    }
}
