//! The examples are programs that check themselves.

use std::path::PathBuf;
use std::process::Command;

use crate::tools::{self, C99, SANITIZERS, compile, has, has_sanitizers, run, valgrind};

const DRIVER: &str = "examples/driver/driver.c";

/// Runs an example plainly, with sanitizers and under valgrind; what it printed.
pub(crate) fn example(test: &str, source: &str, name: &str) -> Option<String> {
    if !has(test, C99.compiler) {
        return None;
    }
    let output = run(&mut Command::new(compile(C99, source, &[], name)));
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.ends_with("as it should be\n") && !text.contains("NOT"), "{text}");
    if has_sanitizers(test) {
        run(&mut Command::new(compile(C99, source, &SANITIZERS, &format!("{name}-san"))));
    }
    if has(test, "valgrind") {
        run(&mut valgrind(&compile(C99, source, &[], &format!("{name}-valgrind"))));
    }
    Some(text)
}

#[test]
fn the_driver_is_not_hung_by_its_mistakes() {
    example("the_driver_is_not_hung_by_its_mistakes", DRIVER, "driver");
}

/// BQL is six lines in a driver; the reset is where the driver resets.
#[test]
fn bql_is_six_lines_of_the_driver() {
    let text = std::fs::read_to_string(tools::folder().join(DRIVER)).expect("the driver");
    let driver = text.split("/* ---- the device").next().expect("the driver comes first");
    let code = driver.split("/* ---- the driver").nth(1).expect("after what is common to all");
    let hooks: Vec<&str> = code.lines().filter(|line| line.contains("/* BQL: ")).collect();
    assert_eq!(hooks.len(), 6, "{hooks:#?}");
}

/// As a board would be linked: no C library, no start-up files, the library without an operating system.
fn firmware() -> PathBuf {
    let program = tools::scratch("bin").join("firmware");
    let folder = tools::folder().join("examples/firmware");
    let mut command = Command::new(C99.compiler);
    command.args([C99.standard, "-pedantic", "-Wall", "-Wextra", "-Werror", "-O2"]);
    command.args(["-ffreestanding", "-fno-builtin", "-fno-tree-loop-distribute-patterns"]);
    command.args([
        "-fno-stack-protector",
        "-fno-pie",
        "-no-pie",
        "-nostdlib",
        "-static",
        "-Wl,--gc-sections",
    ]);
    command.arg("-I").arg(tools::folder().join("include"));
    command.args([folder.join("start.c"), folder.join("firmware.c")]);
    command.arg(tools::free_standing().join("libgoodqueue.a")).arg("-o").arg(&program);
    run(&mut command);
    program
}

#[test]
fn the_firmware_runs_without_a_library_and_holds_two_milliseconds() {
    let test = "the_firmware_runs_without_a_library_and_holds_two_milliseconds";
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return tools::skipped(test, "its start-up code is for Linux on x86-64");
    }
    if !has(test, C99.compiler) {
        return;
    }
    let output = run(&mut Command::new(firmware()));
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.ends_with("as it should be\n"), "{text}");
    assert_eq!(text.matches("held at most").count(), 3, "{text}");
}
