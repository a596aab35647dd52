//! The shape of the house: which crate may lean on which, and what the libraries may lean on.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

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
fn arrows_point_as_drawn() {
    let drawn: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("goodqueue", &[] as &[&str]),
        ("goodqueue-probe", &["goodqueue"]),
        ("goodqueue-sim", &["goodqueue", "goodqueue-probe"]),
        ("goodqueue-wire", &["goodqueue"]),
        ("goodqueue-report", &[]),
        ("goodqueue-path", &["goodqueue", "goodqueue-probe"]),
        ("goodqueue-capi", &["goodqueue"]),
        (
            "goodqueue-experiment",
            &["goodqueue", "goodqueue-probe", "goodqueue-report", "goodqueue-sim", "goodqueue-wire"],
        ),
        (
            "goodqueue-proof",
            &["goodqueue", "goodqueue-experiment", "goodqueue-probe", "goodqueue-report", "goodqueue-sim"],
        ),
        (
            "goodqueue-cli",
            &[
                "goodqueue",
                "goodqueue-experiment",
                "goodqueue-path",
                "goodqueue-probe",
                "goodqueue-proof",
                "goodqueue-report",
                "goodqueue-sim",
                "goodqueue-wire",
            ],
        ),
    ]);
    let found = dependencies();
    let names: Vec<&str> = found.keys().map(String::as_str).collect();
    assert_eq!(names, drawn.keys().copied().collect::<Vec<_>>(), "a room was added: draw it");
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

/// Every source file of our packages, by its path from the root.
fn sources() -> Vec<(String, String)> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join("crates")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(&root).expect("below the root").to_string_lossy().into_owned();
                files.push((name, std::fs::read_to_string(&path).expect("text")));
            }
        }
    }
    assert!(files.len() > 100, "only {} files found", files.len());
    files
}

#[test]
fn unsafe_code_is_at_the_borders_alone() {
    let allowed = [
        "crates/wire/src/sys/",
        "crates/probe/src/net/sys",
        "crates/wire/tests/live/",
        "crates/capi/src/ffi/",
    ];
    for (name, text) in sources() {
        let is_allowed = allowed.iter().any(|place| name.starts_with(place));
        let has_unsafe = ["{", "fn", "extern", "impl", "trait"]
            .iter()
            .any(|what| text.contains(&format!("{} {what}", "unsafe")));
        assert!(is_allowed || !has_unsafe, "{name} has unsafe code");
    }
}

#[test]
fn no_file_is_longer_than_its_idea() {
    for (name, text) in sources() {
        let lines = text.lines().count();
        assert!(lines <= 600, "{name} has {lines} lines");
    }
}

/// Comments end at 110 columns; drawings and code in them may be wider.
#[test]
fn comments_end_at_110_columns() {
    let is_prose = |line: &str| {
        !line.contains("  ") && !["|", "GOODQUEUE_", "assert"].iter().any(|word| line.contains(word))
    };
    let too_wide = |line: &&str| {
        let comment = line.trim_start();
        comment.starts_with("//") && line.chars().count() > 110 && is_prose(comment)
    };
    for (name, text) in sources() {
        if let Some(line) = text.lines().find(too_wide) {
            panic!("{name}: a comment is wider than 110 columns: {line}");
        }
    }
}
