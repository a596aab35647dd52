//! What goes wrong while a live run is under way: what was measured is kept, nothing stays behind, and
//! one clear line says what happened.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{live, turn};
use crate::{Scratch, goodqueue, kept, kept_in, run, skipped, stderr};

/// A run long enough to be disturbed; its record goes to `folder`.
fn start(folder: &Path) -> Child {
    let words =
        "run tcp_nup --live --rate 10mbit --rtt 10ms --queue fq_codel,pfifo:100 --length 20s --idle 500ms";
    goodqueue()
        .args(words.split_whitespace())
        .arg("-o")
        .arg(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts")
}

/// Process ids of the children of `parent`.
fn children(parent: u32) -> Vec<u32> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

pub(in super::super) fn signal(process: u32, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &process.to_string()]).status();
    assert!(status.expect("kill runs").success(), "kill -{name} {process}");
}

/// Waits until the load of the first queue has been running for a while; returns the worker.
fn under_way(run: &mut Child) -> u32 {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(&worker) = children(run.id()).first() {
            std::thread::sleep(Duration::from_millis(3000));
            assert!(run.try_wait().expect("a child").is_none(), "ended early");
            return worker;
        }
        assert!(Instant::now() < deadline, "no worker appeared");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits for the end, which must come soon.
fn ended(mut run: Child) -> Output {
    let deadline = Instant::now() + Duration::from_secs(20);
    while run.try_wait().expect("a child").is_none() {
        assert!(Instant::now() < deadline, "still running");
        std::thread::sleep(Duration::from_millis(20));
    }
    run.wait_with_output().expect("its output")
}

/// What of ours could be left behind: links in this namespace, named namespaces, and processes.
fn traces() -> String {
    let ip = |words: &str| {
        let output = Command::new("ip").args(words.split_whitespace()).output().expect("ip runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let names: Vec<String> =
        ip("-o link").lines().filter_map(|l| l.split(':').nth(1).map(str::to_owned)).collect();
    format!("links {names:?} namespaces {:?}", ip("netns list"))
}

fn workers() -> usize {
    let processes = std::fs::read_dir("/proc").expect("/proc").flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    // Of this program: another one's runs are none of ours.
    let ours = concat!(env!("CARGO_BIN_EXE_goodqueue"), "\0live-worker\0");
    lines.filter(|line| line == ours.as_bytes()).count()
}

/// The run was cut short: its record has what was measured until then, and says so.
fn assert_cut_short(folder: &Path) {
    let record = kept(folder);
    let runs = record["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 1, "one run had begun");
    assert_eq!(runs[0]["complete"], false);
    let bytes: u64 =
        runs[0]["flows"][0]["rx_bytes"].as_array().expect("steps").iter().filter_map(|b| b.as_u64()).sum();
    assert!(bytes > 10_000, "only {bytes} bytes of the first flow are in the record");
    assert!(runs[0]["probes"][0]["rtt_ns"].as_array().expect("answers").len() > 50);
}

#[test]
fn a_signal_ends_a_run_cleanly() {
    let Some(_turn) = live("a_signal_ends_a_run_cleanly") else { return };
    let before = traces();
    // Under `nohup` it is meant to be ignored.
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc");
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("a mask").trim();
    let hangs_up = u64::from_str_radix(ignored, 16).expect("hexadecimal") & 1 == 0;
    for (name, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        if name == "HUP" && !hangs_up {
            continue;
        }
        let scratch = Scratch::new(name);
        let mut child = start(&scratch.path("out"));
        under_way(&mut child);
        signal(child.id(), name);
        let output = ended(child);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert!(stderr(&output).contains("interrupted"), "{}", stderr(&output));
        assert_cut_short(&scratch.path("out"));
        assert!(scratch.path("out/report.html").exists());
        assert_eq!((traces(), workers()), (before.clone(), 0));
    }
}

#[test]
fn a_killed_worker_loses_only_its_own_run() {
    let Some(_turn) = live("a_killed_worker_loses_only_its_own_run") else { return };
    let before = traces();
    for name in ["KILL", "ABRT", "TERM"] {
        let scratch = Scratch::new(name);
        let mut child = start(&scratch.path("out"));
        let worker = under_way(&mut child);
        signal(worker, name);
        let output = ended(child);
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        assert!(stderr(&output).contains("worker"), "{}", stderr(&output));
        assert_cut_short(&scratch.path("out"));
        assert_eq!((traces(), workers()), (before.clone(), 0));
    }
}

#[test]
fn a_parent_that_was_stopped_for_long_loses_nothing() {
    let Some(_turn) = live("a_parent_that_was_stopped_for_long_loses_nothing") else { return };
    let scratch = Scratch::new("stopped");
    let words = "run tcp_nup --live --rate 10mbit --queue fq_codel --length 6s --idle 500ms --json";
    let mut child = goodqueue()
        .args(words.split_whitespace())
        .stdout(std::fs::File::create(scratch.path("record.json")).expect("a file"))
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    under_way(&mut child);
    signal(child.id(), "STOP");
    // Longer than a worker may be silent, and than the load lasts.
    std::thread::sleep(Duration::from_secs(17));
    signal(child.id(), "CONT");
    let output = ended(child);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    let record = kept_in(&scratch.path("record.json"));
    assert_eq!(record["runs"][0]["complete"], true);
    // The queue was sampled all the time.
    let times = record["runs"][0]["up"]["t_ns"].as_array().expect("times");
    let looks = times.iter().filter_map(Value::as_i64).filter(|t| (0..6_000_000_000).contains(t)).count();
    // Ten a second, of which the machine may hold up some.
    assert!(looks > 30, "{looks} looks in 6 s");
}

/// The values of a field in the status of each thread of a process.
fn statuses(process: u32, field: &str) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).expect("tasks").flatten();
    let texts = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("status")).ok());
    let value = |text: String| {
        let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':').map(str::trim));
        line.expect("the field").to_owned()
    };
    texts.map(value).collect()
}

#[test]
fn a_worker_started_by_root_measures_without_roots_privileges() {
    let Some(_turn) = live("a_worker_started_by_root_measures_without_roots_privileges") else { return };
    let is_root = statuses(std::process::id(), "Uid").iter().all(|ids| ids.starts_with('0'));
    if !is_root {
        return skipped("a_worker_started_by_root_measures_without_roots_privileges", "this is not root");
    }
    let allowed =
        std::fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control").expect("a list");
    // CUBIC's flows keep the right over networks where the kernel does not let everybody select it.
    let kept = if allowed.contains("cubic") { 0 } else { 1_u64 << 12 };
    for (cc, most) in [("reno", 0), ("cubic", kept)] {
        let scratch = Scratch::new(&format!("rights-{cc}"));
        let words =
            format!("run tcp_nup --live --rate 10mbit --queue fq_codel --length 20s --idle 500ms --cc {cc}");
        let mut child = goodqueue()
            .args(words.split_whitespace())
            .arg("-o")
            .arg(scratch.path("out"))
            .env("SUDO_UID", "4321")
            .env("SUDO_GID", "4322")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let worker = under_way(&mut child);
        for (field, wanted) in [("Uid", "4321"), ("Gid", "4322")] {
            let all = statuses(worker, field);
            assert!(all.len() > 4, "{all:?}");
            let is_wanted = |ids: &String| ids.split_whitespace().all(|id| id == wanted);
            assert!(all.iter().all(is_wanted), "{field}: {all:?}");
        }
        assert!(statuses(worker, "NoNewPrivs").iter().all(|flag| flag == "1"));
        assert!(statuses(worker, "Groups").iter().all(String::is_empty));
        for set in ["CapEff", "CapPrm", "CapInh"] {
            let all: Vec<u64> = statuses(worker, set)
                .iter()
                .map(|text| u64::from_str_radix(text, 16).expect("hexadecimal"))
                .collect();
            assert!(all.iter().all(|&rights| rights & !most == 0), "{set}: {all:x?}");
        }
        // Field 41 of `proc_pid_stat(5)`: the probes' thread began after that, and runs before ordinary ones.
        let tasks = std::fs::read_dir(format!("/proc/{worker}/task")).expect("tasks").flatten();
        let stats = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok());
        let probes = stats.filter_map(|stat| Some(stat.split_once("(probes) ")?.1.to_owned()));
        let policies: Vec<_> = probes.filter_map(|stat| stat.split(' ').nth(38).map(str::to_owned)).collect();
        assert_eq!(policies, ["1"], "SCHED_FIFO");
        assert_eq!(statuses(child.id(), "NoNewPrivs")[0], "1");
        signal(child.id(), "INT");
        let output = ended(child);
        assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
        assert!(crate::kept(&scratch.path("out"))["runs"][0]["flows"][0]["rx_bytes"].is_array());
    }
}

#[test]
fn a_killed_parent_leaves_nothing_running() {
    let Some(_turn) = live("a_killed_parent_leaves_nothing_running") else { return };
    let before = traces();
    let scratch = Scratch::new("parent");
    let mut child = start(&scratch.path("out"));
    under_way(&mut child);
    signal(child.id(), "KILL");
    let _ = ended(child);
    let deadline = Instant::now() + Duration::from_secs(5);
    while workers() > 0 {
        assert!(Instant::now() < deadline, "the worker outlives its parent");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(traces(), before);
    // The next run finds nothing in its way.
    let output = run("run ping --live --length 300ms --idle 200ms --queue pfifo --quiet");
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
}

#[test]
fn two_runs_do_not_share_a_machine() {
    let Some(_turn) = live("two_runs_do_not_share_a_machine") else { return };
    let scratch = Scratch::new("two");
    let mut first = start(&scratch.path("out"));
    under_way(&mut first);
    let second = run("run ping --live --length 1s --queue pfifo");
    assert_eq!(second.status.code(), Some(3));
    assert!(stderr(&second).contains("another `goodqueue run --live`"), "{}", stderr(&second));
    signal(first.id(), "INT");
    ended(first);
}

/// Deletes one of the worker's veth pairs from within the namespace of one of its threads.
fn pull_the_link(worker: u32) -> bool {
    let ours = std::fs::read_link("/proc/self/ns/net").expect("a namespace");
    let tasks = std::fs::read_dir(format!("/proc/{worker}/task")).expect("tasks").flatten();
    for net in tasks.map(|task| task.path().join("ns/net")) {
        // Never a link of the host.
        if std::fs::read_link(&net).map_or(true, |namespace| namespace == ours) {
            continue;
        }
        let deleted = Command::new("nsenter")
            .arg(format!("--net={}", net.display()))
            .args(["ip", "link", "del", "rsrv"])
            .output()
            .expect("nsenter runs");
        if deleted.status.success() {
            return true;
        }
    }
    false
}

#[test]
fn a_removed_link_is_named_and_the_measurement_is_kept() {
    let Some(_turn) = live("a_removed_link_is_named_and_the_measurement_is_kept") else { return };
    let scratch = Scratch::new("pulled");
    let mut child = start(&scratch.path("out"));
    let worker = under_way(&mut child);
    assert!(pull_the_link(worker), "found no link to pull");
    let output = ended(child);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("rsrv"), "the interface is not named: {}", stderr(&output));
    assert_cut_short(&scratch.path("out"));
}

#[test]
fn a_missing_congestion_control_is_named_with_the_available_ones() {
    let Some(_turn) = live("a_missing_congestion_control_is_named_with_the_available_ones") else { return };
    let scratch = Scratch::new("cc");
    std::fs::create_dir(scratch.path("given")).expect("a folder");
    for name in ["out", "given"] {
        let words = "run tcp_nup --live --cc nosuch --length 1s -o";
        let output = run(&format!("{words} {}", scratch.path(name).display()));
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert!(text.contains("nosuch") && text.contains("cubic"), "{text}");
    }
    assert!(!scratch.path("out").exists(), "an empty folder stayed behind");
    assert_eq!(std::fs::read_dir(scratch.path("given")).expect("a folder that was given").count(), 0);
}

#[test]
fn a_missing_privilege_is_named() {
    let _turn = turn();
    // A user namespace of its own, in which no network namespace may be made.
    let script = "echo 0 > /proc/sys/user/max_net_namespaces && exec \"$@\"";
    let probe = Command::new("unshare").args(["-Ur", "sh", "-c", script, "sh", "true"]).status();
    if !probe.is_ok_and(|status| status.success()) {
        return skipped("a_missing_privilege_is_named", "user namespaces cannot be made here");
    }
    let output = Command::new("unshare")
        .args(["-Ur", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_goodqueue")])
        .args(["run", "ping", "--live", "--length", "1s"])
        .output()
        .expect("unshare runs");
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("namespace"), "{}", stderr(&output));
}

#[test]
fn no_root_is_needed_if_the_kernel_lets_users_create_namespaces() {
    let Some(_turn) = live("no_root_is_needed_if_the_kernel_lets_users_create_namespaces") else { return };
    let words = "run tcp_nup --live --rate 10mbit --queue fq_codel --length 2s --json";
    let words: Vec<&str> = words.split_whitespace().collect();
    let Some(output) = as_nobody("no_root_is_needed", &words) else { return };
    // Not root means no real-time priority, so a busy machine may make the result not valid: 1 is fine.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    let record: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a record");
    assert_eq!(record["runs"][0]["complete"], true);
    assert!(record["runs"][0]["summary"]["goodput_up_bps"].as_u64() > Some(5_000_000));
}

/// Runs the command as a user without rights; nothing, loudly, where such a user may not make namespaces.
pub(in super::super) fn as_nobody(test: &str, words: &[&str]) -> Option<Output> {
    // The binary may lie where another user cannot reach it: a copy does not.
    let scratch = Scratch::new(test);
    let copy = scratch.path("goodqueue");
    std::fs::copy(env!("CARGO_BIN_EXE_goodqueue"), &copy).expect("a copy");
    let run = |program: &std::path::Path, words: &[&str]| {
        let user = ["--reuid=65534", "--regid=65534", "--clear-groups"];
        Command::new("setpriv").args(user).arg(program).args(words).output()
    };
    match run("unshare".as_ref(), &["-Urn", "true"]) {
        Ok(output) if output.status.success() => {}
        _ => {
            skipped(test, "another user cannot make namespaces here");
            return None;
        }
    }
    Some(run(&copy, words).expect("setpriv runs"))
}

/// Runs a command whose results go to `name` on a disk of 8 kB, and its temporary files to the folder
/// `refuge` of what is returned. `run_it` is given what to run, to which it adds the command's own arguments.
/// Nothing, loudly, where such a disk cannot be had.
pub(in super::super) fn on_a_small_disk(
    test: &str,
    name: &str,
    run_it: impl FnOnce(&mut Command) -> Output,
) -> Option<(Output, Scratch)> {
    let scratch = Scratch::new(&format!("full-{name}"));
    let (mount, refuge) = (scratch.path("mount"), scratch.path("refuge"));
    std::fs::create_dir_all(&mount).expect("a folder");
    std::fs::create_dir_all(&refuge).expect("a folder");
    let script = "mount -t tmpfs -o size=8k none \"$0\" && exec \"$@\"";
    let probe = Command::new("unshare").args(["-m", "sh", "-c", script]).arg(&mount).arg("true").status();
    if !probe.is_ok_and(|status| status.success()) {
        skipped(test, "no right to mount a small file system (CAP_SYS_ADMIN)");
        return None;
    }
    // The option comes last: the command's words follow its program.
    let script = format!("{script} -o \"$0\"/{name}");
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &script]).arg(&mount).arg(env!("CARGO_BIN_EXE_goodqueue"));
    let output = run_it(command.env("TMPDIR", &refuge));
    Some((output, scratch))
}

/// The same for a record in a folder. What was measured is kept elsewhere and can be read.
pub(in super::super) fn on_a_full_disk(test: &str, run_it: impl FnOnce(&mut Command) -> Output) {
    let Some((output, scratch)) = on_a_small_disk(test, "out", run_it) else { return };
    let refuge = scratch.path("refuge");
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("No space left") && text.contains("record.gqz"), "{text}");
    assert!(text.contains("/record.gqz, or write to another one; what was measured is kept in"), "{text}");
    let saved = std::fs::read_dir(&refuge).expect("a folder").flatten().next().expect("the record was kept");
    assert!(text.contains(&*saved.path().to_string_lossy()), "{text}");
    let record = run(&format!("report {} --json", saved.path().display()));
    assert!(record.status.success(), "{}", stderr(&record));
    assert!(!String::from_utf8_lossy(&output.stdout).is_empty(), "the table was not printed");
}

#[test]
fn a_full_disk_loses_nothing() {
    let Some(_turn) = live("a_full_disk_loses_nothing") else { return };
    let words = "run ping --live --length 2s --idle 500ms --queue pfifo --probe-interval 1ms";
    on_a_full_disk("a_full_disk_loses_nothing", |command| {
        command.args(words.split_whitespace()).output().expect("unshare runs")
    });
}

#[test]
fn a_closed_or_full_standard_output_does_not_panic() {
    let sink = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
    let output = goodqueue().arg("queues").stdout(sink).stderr(Stdio::piped()).output().expect("starts");
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("standard output"), "{}", stderr(&output));
}
