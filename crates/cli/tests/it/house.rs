//! The rules for the source tree: which crate may depend on which, and where things may be.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use goodqueue_report::{Record, Run};
use serde_json::Value;

const OURS: &str = "goodqueue";

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo prints JSON")
}

/// Normal dependencies of each of our packages, by package.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages");
    let name = |value: &Value| value["name"].as_str().expect("a name").to_owned();
    packages
        .iter()
        .map(|package| {
            let normal = package["dependencies"].as_array().expect("dependencies").iter();
            let normal = normal.filter(|dependency| dependency["kind"].is_null()).map(name);
            (name(package), normal.collect())
        })
        .collect()
}

#[test]
fn crates_depend_on_each_other_as_drawn() {
    let drawn: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("goodqueue", &[] as &[&str]),
        ("goodqueue-probe", &["goodqueue"]),
        ("goodqueue-sim", &["goodqueue", "goodqueue-probe"]),
        ("goodqueue-wire", &["goodqueue"]),
        ("goodqueue-router", &["goodqueue", "goodqueue-wire"]),
        ("goodqueue-report", &[]),
        ("goodqueue-path", &["goodqueue", "goodqueue-probe"]),
        ("goodqueue-capi", &["goodqueue"]),
        ("goodqueue-own", &["goodqueue"]),
        (
            "goodqueue-experiment",
            &[
                "goodqueue",
                "goodqueue-own",
                "goodqueue-path",
                "goodqueue-probe",
                "goodqueue-report",
                "goodqueue-router",
                "goodqueue-sim",
                "goodqueue-wire",
            ],
        ),
        (
            "goodqueue-proof",
            &["goodqueue", "goodqueue-experiment", "goodqueue-probe", "goodqueue-report", "goodqueue-sim"],
        ),
        (
            "goodqueue-python",
            &[
                "goodqueue",
                "goodqueue-experiment",
                "goodqueue-own",
                "goodqueue-probe",
                "goodqueue-proof",
                "goodqueue-report",
                "goodqueue-sim",
                "goodqueue-sweep",
            ],
        ),
        ("goodqueue-sweep", &["goodqueue", "goodqueue-experiment", "goodqueue-report", "goodqueue-sim"]),
        (
            "goodqueue-cli",
            &[
                "goodqueue",
                "goodqueue-experiment",
                "goodqueue-own",
                "goodqueue-path",
                "goodqueue-probe",
                "goodqueue-proof",
                "goodqueue-report",
                "goodqueue-router",
                "goodqueue-sim",
                "goodqueue-sweep",
                "goodqueue-wire",
            ],
        ),
    ]);
    let found = dependencies();
    let names: Vec<&str> = found.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        drawn.keys().copied().collect::<Vec<_>>(),
        "a crate was added: add it to the drawing in ARCHITECTURE.md"
    );
    for (package, dependencies) in &found {
        let ours: Vec<&str> =
            dependencies.iter().map(String::as_str).filter(|d| d.starts_with(OURS)).collect();
        assert_eq!(ours, drawn[package.as_str()], "arrows of {package}");
    }
}

#[test]
fn core_depends_on_nothing() {
    assert_eq!(dependencies()["goodqueue"], BTreeSet::new());
}

/// The files in some folders and below them that are wanted, by their paths from the root.
fn files_below(folders: &[&str], is_wanted: impl Fn(&Path) -> bool) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders: Vec<PathBuf> = folders.iter().map(|folder| root.join(folder)).collect();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if is_wanted(&path) {
                let name = path.strip_prefix(&root).expect("below the root").to_string_lossy().into_owned();
                files.push((name, std::fs::read_to_string(&path).expect("text")));
            }
        }
    }
    files
}

/// Every source file of our packages.
pub(crate) fn sources() -> Vec<(String, String)> {
    let is_rust = |path: &Path| path.extension().is_some_and(|extension| extension == "rs");
    let files = files_below(&["crates", "python/src"], is_rust);
    assert!(files.len() > 100, "only {} files found", files.len());
    files
}

/// Scripts outside of the folders that [`scripts`] searches.
const SCRIPTS: [&str; 8] =
    ["check", "vm", "platforms", "package", "same", "python/build", "python/check-aarch64", "fuzz/smoke"];

/// Every script for a shell.
fn scripts() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let is_script = |path: &Path| {
        let first = std::fs::read(path).unwrap_or_default();
        path.extension().is_some_and(|extension| extension == "sh")
            || first.starts_with(b"#!/bin/sh")
            || first.starts_with(b"#!/usr/bin/env bash")
    };
    let mut files = files_below(&["crates", "packaging"], is_script);
    let others = SCRIPTS.map(|name| (name.to_owned(), std::fs::read_to_string(root.join(name)).expect(name)));
    assert!(files.len() > 10, "only {} scripts found", files.len());
    files.extend(others);
    files
}

#[test]
fn unsafe_code_is_only_in_the_allowed_places() {
    let allowed = [
        "crates/wire/src/sys/",
        "crates/probe/src/net/sys",
        "crates/wire/tests/live/",
        "crates/capi/src/ffi/",
        "crates/own/src/ffi/",
    ];
    for (name, text) in sources() {
        let is_allowed = allowed.iter().any(|place| name.starts_with(place));
        let has_unsafe = ["{", "fn", "extern", "impl", "trait"]
            .iter()
            .any(|what| text.contains(&format!("{} {what}", "unsafe")));
        assert!(is_allowed || !has_unsafe, "{name} has unsafe code");
    }
}

/// `eprintln!` panics if nobody reads standard error any more.
#[test]
fn the_command_prints_no_line_that_may_panic() {
    for (name, text) in sources().iter().filter(|(name, _)| name.starts_with("crates/cli/src/")) {
        let may_panic = ["eprintln!(", "eprint!("].iter().any(|what| text.contains(what));
        assert!(!may_panic, "{name}: write announce! or print_aside");
    }
}

/// Most lines of a file. A concept may need hundreds; a file above this holds several.
const MOST_LINES: usize = 1000;

#[test]
fn no_file_holds_several_concepts() {
    for (name, text) in sources() {
        let lines = text.lines().count();
        assert!(lines <= MOST_LINES, "{name} has {lines} lines");
    }
}

/// Most methods of a type that other files can call.
const MOST_METHODS: usize = 30;

/// Types with more, and why.
const MANY_METHODS: [(&str, &str, usize, &str); 6] = [
    (
        "crates/sim/src/tcp/tx",
        "Tx",
        125,
        "Linux's tcp_sock: functions have Linux's names, in files as Linux has them",
    ),
    ("crates/sim/src/tcp/rx", "Rx", 58, "the same for the half that receives"),
    (
        "crates/sim/src/tcp/socket",
        "Socket",
        58,
        "the calls of an application, the timers and the errors of the network, in files as Linux has them",
    ),
    ("crates/sim/src/wifi", "Radio", 43, "the medium, its drivers and the stations of a radio act as one"),
    ("crates/sim/src/engine", "Simulation", 32, "its control, and all that can be read between two steps"),
    ("crates/core/src/wifi", "TxStack", 50, "mac80211's calls, one method each"),
];

/// The type of an `impl` that is not of a trait.
fn inherent(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("impl").filter(|_| !line.contains(" for "))?;
    let mut depth = 0;
    // Behind the generic parameters.
    let end = rest.find(|c| {
        depth += i32::from(c == '<') - i32::from(c == '>');
        depth == 0
    })?;
    let name = rest[end..].trim_start_matches('>').trim_start();
    name.split(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|name| !name.is_empty())
}

#[test]
fn a_type_has_few_methods_that_others_call() {
    let mut methods: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (name, text) in sources().iter().filter(|(name, _)| name.contains("/src/") && !name.contains("test"))
    {
        let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut owner = None;
        for line in text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text).lines() {
            if line.starts_with("impl") {
                owner = inherent(line);
            } else if line.starts_with('}') {
                owner = None;
            }
            let is_open = line.starts_with("    pub") && line.contains("fn ");
            if let (Some(owner), true) = (owner, is_open) {
                *methods.entry((folder.to_owned(), owner.to_owned())).or_default() += 1;
            }
        }
    }
    assert!(methods.len() > 300, "only {} types found", methods.len());
    for ((folder, name), count) in methods {
        let known = MANY_METHODS.iter().find(|(of, known, ..)| *of == folder && *known == name);
        let most = known.map_or(MOST_METHODS, |known| known.2);
        assert!(count <= most, "{name} in {folder} has {count} methods");
    }
}

/// Comments end at 110 columns; drawings and code in them may be wider.
#[test]
fn comments_end_at_110_columns() {
    let is_prose = |line: &str| {
        !line.contains("  ") && !["|", "GOODQUEUE_", "assert"].iter().any(|word| line.contains(word))
    };
    let mut wide = Vec::new();
    let mut look = |files: Vec<(String, String)>, begin: &str| {
        let too_wide = |line: &&str| {
            let comment = line.trim_start();
            comment.starts_with(begin) && line.chars().count() > 110 && is_prose(comment)
        };
        for (name, text) in files {
            wide.extend(text.lines().filter(too_wide).map(|line| format!("{name}: {line}")));
        }
    };
    look(sources(), "//");
    look(scripts(), "#");
    assert!(wide.is_empty(), "comments wider than 110 columns:\n{}", wide.join("\n"));
}

/// Pages that a command writes or a test reads by lines.
const WRITTEN: [&str; 11] = [
    "accuracy",
    "autorate",
    "cake-mq",
    "cookbook",
    "data",
    "e-model",
    "experiments",
    "lines",
    "switches",
    "truth",
    "wifi-calibration",
];

/// What is not in blocks of code on a page: every second part.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    page.split("```").step_by(2)
}

/// Prose of pages ends at 110 columns; tables, code, headings, pictures and quotations may be wider.
#[test]
fn prose_of_pages_ends_at_110_columns() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = std::fs::read_dir(root.join("docs")).expect("a folder").flatten();
    let docs = docs.filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".md").map(String::from));
    let by_hand = docs.filter(|name| !WRITTEN.contains(&name.as_str())).map(|name| format!("docs/{name}.md"));
    let others = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "vectors/README.md"].map(String::from);
    let mut wide = Vec::new();
    for page in by_hand.chain(others) {
        let text = std::fs::read_to_string(root.join(&page)).expect("text");
        for line in prose(&text).flat_map(str::lines) {
            let may_be_wider =
                ["|", "#", "!", ">", "<"].iter().any(|begin| line.trim_start().starts_with(begin));
            if !may_be_wider && line.chars().count() > 110 {
                wide.push(format!("{page}: {line}"));
            }
        }
    }
    assert!(wide.is_empty(), "prose wider than 110 columns:\n{}", wide.join("\n"));
}

/// Whether words in backticks are the path of a file: a folder, and a name with an extension.
fn is_file_path(words: &str) -> bool {
    let is_plain = words.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
    let name = words.rsplit_once('/').map_or("", |(_, name)| name);
    let has_extension = |(stem, extension): (&str, &str)| !stem.is_empty() && !extension.is_empty();
    is_plain && name.split_once('.').is_some_and(has_extension)
}

/// Paths on these pages count from the root, from `crates/`, or from the folder of the page.
#[test]
fn pages_name_files_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (page, folder) in [("ARCHITECTURE.md", ""), ("vectors/README.md", "vectors")] {
        let text = std::fs::read_to_string(root.join(page)).expect("text");
        // Every second part is within backticks.
        let quoted = prose(&text).flat_map(|part| part.split('`').skip(1).step_by(2));
        let files: Vec<&str> = quoted.filter(|words| is_file_path(words)).collect();
        assert!(!files.is_empty(), "{page} names no file");
        for file in files {
            let is_there = ["", "crates", folder].iter().any(|place| root.join(place).join(file).is_file());
            assert!(is_there, "{page} names {file}, which does not exist");
        }
    }
}

/// The report depends on no other crate, so it has its own list of queues.
#[test]
fn the_page_of_a_report_explains_every_queue() {
    for info in &goodqueue::spec::CATALOGUE {
        let run = Run { queue: info.name.into(), ..Run::default() };
        let page = goodqueue_report::html(&Record { runs: vec![run], ..Record::default() });
        let is_there = page.contains(&format!("<dt id=\"w-{}\" ", info.name));
        assert!(is_there, "crates/report/src/page/glossary.rs does not explain {}", info.name);
    }
}
