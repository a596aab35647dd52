//! Each function and each error, in C.

use std::process::Command;

use crate::tools::{
    self, C99, CLANG, CPP17, Language, SANITIZERS, compile, has, has_sanitizers, run, valgrind,
};

const PROGRAMS: [&str; 7] = ["setup", "queue", "cake", "classes", "bql", "storm", "wifi"];

fn each(language: Language, flags: &[&str], suffix: &str) -> Vec<std::path::PathBuf> {
    let make =
        |name: &&str| compile(language, &format!("tests/c/{name}.c"), flags, &format!("{name}-{suffix}"));
    PROGRAMS.iter().map(make).collect()
}

#[test]
fn as_c99_by_gcc() {
    if has("as_c99_by_gcc", C99.compiler) {
        each(C99, &[], "c99").iter().for_each(|program| drop(run(&mut Command::new(program))));
    }
}

#[test]
fn as_c99_by_clang() {
    if has("as_c99_by_clang", CLANG.compiler) {
        each(CLANG, &[], "clang").iter().for_each(|program| drop(run(&mut Command::new(program))));
    }
}

#[test]
fn as_cpp17() {
    if has("as_cpp17", CPP17.compiler) {
        each(CPP17, &[], "cpp").iter().for_each(|program| drop(run(&mut Command::new(program))));
    }
}

#[test]
fn under_valgrind() {
    if has("under_valgrind", C99.compiler) && has("under_valgrind", "valgrind") {
        each(C99, &[], "valgrind").iter().for_each(|program| drop(run(&mut valgrind(program))));
    }
}

#[test]
fn with_sanitizers() {
    if has_sanitizers("with_sanitizers") {
        each(C99, &SANITIZERS, "san").iter().for_each(|program| drop(run(&mut Command::new(program))));
    }
}

#[test]
fn the_storm_is_over_every_queue_of_the_catalogue() {
    let text = std::fs::read_to_string(tools::folder().join("tests/c/storm.c")).expect("the storm");
    // A queue of the C library has one thread, and `cake_mq` is for several.
    for info in goodqueue::spec::CATALOGUE.iter().filter(|info| info.name != "cake_mq") {
        let is_here =
            [" ", ":", "\""].iter().any(|end| text.contains(&format!("storm(\"{}{end}", info.name)));
        assert!(is_here, "{} is not in the storm", info.name);
    }
}
