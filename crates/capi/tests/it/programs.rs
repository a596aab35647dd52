//! Each function and each error, in C.

use std::process::Command;

use crate::tools::{
    self, C99, CLANG, CPP17, Language, SANITIZERS, compile, has, has_sanitizers, run, valgrind,
};

const PROGRAMS: [&str; 6] = ["setup", "queue", "cake", "bql", "storm", "wifi"];

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
fn installed_and_found_by_pkg_config() {
    let test = "installed_and_found_by_pkg_config";
    if !has(test, C99.compiler) || !has(test, "pkg-config") {
        return;
    }
    let prefix = tools::scratch("prefix");
    let install = tools::folder().join("install");
    run(Command::new(install).arg(&prefix).arg(tools::library()));
    let flags = |words: &[&str]| {
        let folder = prefix.join("lib/pkgconfig");
        let output =
            run(Command::new("pkg-config").env("PKG_CONFIG_PATH", folder).args(words).arg("goodqueue"));
        let text = String::from_utf8(output.stdout).expect("text");
        text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let version = flags(&["--modversion"]);
    assert_eq!(version, [env!("CARGO_PKG_VERSION")]);
    let source = tools::folder().join("tests/c/bql.c");
    for (name, words) in
        [("shared", &["--cflags", "--libs"][..]), ("static", &["--cflags", "--libs", "--static"])]
    {
        let program = tools::scratch("bin").join(format!("bql-{name}"));
        let mut command = Command::new(C99.compiler);
        command.args([C99.standard, "-Werror"]).arg(&source).args(flags(words)).arg("-o").arg(&program);
        run(&mut command);
        run(Command::new(&program).env("LD_LIBRARY_PATH", prefix.join("lib")));
    }
    let names =
        run(Command::new("nm").args(["-D", "--defined-only"]).arg(prefix.join("lib/libgoodqueue.so")));
    let names = String::from_utf8(names.stdout).expect("text");
    let names: Vec<&str> = names.lines().filter_map(|line| line.split(' ').next_back()).collect();
    assert!(names.contains(&"gq_enqueue"), "{names:?}");
    assert!(names.iter().all(|name| name.starts_with("gq_")), "{names:?}");
}
