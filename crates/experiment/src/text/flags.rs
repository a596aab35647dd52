//! The flags of `goodqueue run` with an experiment file: each changes the key of the same meaning.

use std::path::{Path, PathBuf};

use goodqueue_probe::FlowCount;

use super::overrides::{Override, quoted};
use crate::Error;
use crate::Request;
use crate::plan::Seeds;

/// Flags that do not correspond to a key of a file.
const OWN: [&str; 4] = ["test", "sim", "live", "set"];

/// The changes to the file by the flags that the user typed (`given`).
///
/// # Errors
/// [`Error::Usage`] for a flag that no file supports, and for a value that cannot be read.
pub(crate) fn changes(args: &Request, given: &[String]) -> Result<Vec<Override>, Error> {
    let mut changes = Vec::new();
    for flag in given.iter().map(String::as_str).filter(|flag| !OWN.contains(flag)) {
        changes.extend(of_flag(args, flag)?);
    }
    for text in &args.set {
        changes.push(Override::read(text).map_err(Error::Usage)?);
    }
    Ok(changes)
}

fn of_flag(args: &Request, flag: &str) -> Result<Vec<Override>, Error> {
    let one = |path: &[&str], value: &str| {
        // Quoted: `--length 5` lacks its unit, in a file and here.
        vec![Override::new(format!("--{flag} {value}"), path, quoted(value))]
    };
    let plain = |path: &[&str], value: String| vec![Override::new(format!("--{flag} {value}"), path, value)];
    let text = |path: &[&str], value: &Option<String>| one(path, value.as_deref().unwrap_or_default());
    let link = |key: &str, value: &Option<String>| text(&["link", key], value);
    Ok(match flag {
        "length" => one(&["test", "length"], &args.length),
        "delay" => one(&["test", "delay"], &args.delay),
        "idle" => one(&["test", "idle"], &args.idle),
        "step" => one(&["test", "step"], &args.step),
        "probe-interval" => one(&["test", "probe_interval"], &args.probe_interval),
        "flows" => {
            let flows = args.flows.unwrap_or(FlowCount::Both(0));
            let value = match flows {
                FlowCount::Both(n) => n.to_string(),
                FlowCount::Each { up, down } => format!("[{up}, {down}]"),
            };
            vec![Override::new(format!("--flows {flows}"), &["test", "flows"], value)]
        }
        "cc" => text(&["test", "cc"], &args.cc),
        "marks" => listed(flag, &["test", "marks"], args.marks.iter()),
        "transport" => text(&["test", "transport"], &args.transport),
        "pacing" => text(&["test", "pacing"], &args.pacing),
        "udp-bandwidth" => text(&["test", "udp_bandwidth"], &args.udp_bandwidth),
        "udp-pktsize" => plain(&["test", "udp_pktsize"], args.udp_pktsize.unwrap_or(0).to_string()),
        "with" => listed(flag, &["test", "with"], args.with.iter()),
        "queue" => {
            let queues = crate::plan::words(args.queue.as_deref().unwrap_or_default())?;
            listed(flag, &["queues"], queues.iter())
        }
        "seed" | "seeds" => seeds(args, flag)?,
        "ecn" => switch(flag, &["tcp", "ecn"]),
        "ipv6" => switch(flag, &["ipv6"]),
        "line" => link("line", &args.line),
        // A rate for both ways replaces those that the file has for each way.
        "rate" => {
            let each = [("up", args.up.is_none()), ("down", args.down.is_none())];
            let away = each.iter().filter(|(_, is_free)| *is_free);
            let mut changes: Vec<Override> = away.map(|(way, _)| Override::without(&["link", way])).collect();
            changes.extend(link("rate", &args.rate));
            changes
        }
        "up" => link("up", &args.up),
        "down" => link("down", &args.down),
        "trace-up" => one(&["link", "up", "trace"], &absolute(args.trace_up.as_deref())),
        "trace-down" => one(&["link", "down", "trace"], &absolute(args.trace_down.as_deref())),
        "rtt" => match args.rtt.as_deref().unwrap_or_default() {
            many if many.contains(',') => listed(flag, &["link", "rtt"], many.split(',')),
            time => one(&["link", "rtt"], time),
        },
        "loss" => one(&["link", "loss"], &args.loss),
        "ring" => plain(&["link", "ring"], args.ring.unwrap_or(0).to_string()),
        "bql" => switch(flag, &["link", "bql"]),
        "buffer" => link("buffer", &args.buffer),
        "shape" => link("shape", &args.shape),
        "shape-up" => link("shape_up", &args.shape_up),
        "shape-down" => link("shape_down", &args.shape_down),
        _ => {
            let why = "an experiment file has its own network; leave the flag out";
            return Err(Error::Usage(format!("--{flag}: {why}")));
        }
    })
}

fn listed<T: AsRef<str>>(flag: &str, path: &[&str], words: impl Iterator<Item = T>) -> Vec<Override> {
    let words: Vec<T> = words.collect();
    let quoted: Vec<String> = words.iter().map(|word| quoted(word.as_ref())).collect();
    let typed: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    vec![Override::new(format!("--{flag} {}", typed.join(",")), path, format!("[{}]", quoted.join(", ")))]
}

fn switch(flag: &str, path: &[&str]) -> Vec<Override> {
    vec![Override::new(format!("--{flag}"), path, "true")]
}

/// The typed value replaces a list in the file, and a list replaces a first seed.
fn seeds(args: &Request, flag: &str) -> Result<Vec<Override>, Error> {
    let mut changes = vec![Override::without(&["seeds"])];
    match (flag, Seeds::of(args)?) {
        ("seed", _) => {
            let seed = args.seed.unwrap_or(1);
            changes.push(Override::new(format!("--seed {seed}"), &["seed"], seed.to_string()));
        }
        (_, Seeds::Count(count)) => {
            changes.push(Override::new(format!("--seeds {count}"), &["repetitions"], count.to_string()));
        }
        (_, Seeds::List(list)) => {
            changes.extend([Override::without(&["seed"]), Override::without(&["repetitions"])]);
            let words: Vec<String> = list.iter().map(u64::to_string).collect();
            let (typed, value) = (format!("--seeds {}", words.join(",")), format!("[{}]", words.join(", ")));
            changes.push(Override::new(typed, &["seeds"], value));
        }
    }
    Ok(changes)
}

/// On the command line a file is relative to the current folder, and in an experiment to the experiment's
/// folder.
fn absolute(path: Option<&Path>) -> String {
    let path = path.unwrap_or(Path::new(""));
    std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path)).display().to_string()
}
