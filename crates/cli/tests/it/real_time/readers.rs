//! The file that `goodqueue probe -o` writes, read by the programs that it is for.

use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::paths::Server;
use super::{Scratch, goodqueue, skipped, stderr, stdout, turn};

/// flent's own reader of irtt's files (`flent/runners.py`), which a plain one is opened for. Debian's flent
/// is not among Python's own modules.
const FLENT: &str = "
import gzip, sys
sys.path.append('/usr/share/flent')
from flent.runners import IrttRunner
runner = IrttRunner.__new__(IrttRunner)
runner.sample_freq, runner.multi_results = 0, False
if len(sys.argv) > 1:
    name = sys.argv[1]
    with (gzip.open(name, 'rt') if name.endswith('.gz') else open(name)) as file:
        result, raw, metadata = runner.parse(file, '')
    print(len(result), len(raw), metadata['RTT_MEAN'])
";

fn flent(file: Option<&str>) -> Option<Output> {
    let output = Command::new("/usr/bin/python3").args(["-c", FLENT]).args(file).output().ok()?;
    (file.is_some() || output.status.success()).then_some(output)
}

/// irtt's program with a reader of its files, `irtt report`: from 0.9.2 on. `./check` builds it, and names
/// it.
fn irtt() -> Option<String> {
    let named = std::env::var("GOODQUEUE_IRTT").unwrap_or_default();
    let programs = named.split(':').filter(|name| !name.is_empty()).chain(["irtt"]);
    let has_report = |program: &&str| {
        let help = Command::new(program).args(["help", "report"]).stderr(Stdio::null()).output();
        help.is_ok_and(|output| output.status.success())
    };
    let found = programs.into_iter().find(has_report)?;
    Some(found.to_owned())
}

#[test]
fn loopback_flent_and_irtt_read_the_file_that_probe_writes() {
    let test = "loopback_flent_and_irtt_read_the_file_that_probe_writes";
    let _turn = turn();
    let (server, scratch) = (Server::start(&["--bind", "127.0.0.1"]), Scratch::new("readers"));
    let (has_flent, irtt) = (flent(None).is_some(), irtt());
    if !has_flent {
        skipped(test, "flent is not installed");
    }
    if irtt.is_none() {
        skipped(test, "irtt 0.9.2 is not here; ./check builds it");
    }
    // What irtt knows alone, and what ours has beside it: DSCP, sizes and times of a kind of its own.
    for (number, options) in
        ["", "--dscp ef --size 172", "--schedule poisson --size 100..1000", "--stamps send --stats none"]
            .into_iter()
            .enumerate()
    {
        for suffix in ["irtt.json.gz", "json.gz", "irtt.json"] {
            let file = scratch.path(&format!("x{number}.{suffix}")).display().to_string();
            let mut probe = goodqueue();
            probe.args(["probe", "127.0.0.1", "--port", &server.port, "--length", "300ms", "--json"]);
            probe.args(["--interval", "10ms", "-o", &file]).args(options.split_whitespace());
            let output = probe.output().expect("it runs");
            assert_eq!(output.status.code(), Some(0), "{options}: {}", stderr(&output));
            let ours: Value = serde_json::from_slice(&output.stdout).expect("JSON");
            let counts = &ours["figures"]["counts"];
            if has_flent {
                let read = flent(Some(&file)).expect("it was there");
                let said = stdout(&read);
                assert!(read.status.success(), "{options}, {suffix}: {said}{}", stderr(&read));
                let words: Vec<&str> = said.split_whitespace().collect();
                let received = counts["received"].to_string();
                assert_eq!(words[..2], [received.as_str(), received.as_str()], "{said}");
                let (mean, rtt) = (words[2].parse::<f64>().expect("ms"), &ours["figures"]["rtt"]["mean"]);
                let rtt = rtt.as_f64().expect("ns") / 1e6;
                assert!((mean - rtt).abs() < 1e-3, "{options}, {suffix}: {mean} of {rtt} ms");
            }
            if let Some(irtt) = &irtt {
                // It does not unpack files.
                let script =
                    "case $2 in *.gz) gzip -dc \"$2\" | \"$1\" report -;; *) \"$1\" report \"$2\";; esac";
                let read =
                    Command::new("sh").args(["-c", script, "sh", irtt, &file]).output().expect("sh runs");
                let said = stdout(&read);
                assert!(read.status.success(), "{options}, {suffix}: {said}{}", stderr(&read));
                let both = format!("{}/{}", counts["sent"], counts["received"]);
                assert!(said.contains(&both), "{both} is not in:\n{said}");
            }
        }
    }
}
