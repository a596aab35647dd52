//! The examples check themselves.

use std::path::PathBuf;
use std::process::Command;

use crate::tools::{self, C99, SANITIZERS, compile, has, has_sanitizers, run, valgrind};

const DRIVER: &str = "examples/driver/driver.c";

/// Runs an example plainly, with sanitizers and under valgrind; returns its output.
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
fn the_drivers_mistakes_do_not_hang_it() {
    example("the_driver_is_not_hung_by_its_mistakes", DRIVER, "driver");
}

/// The result of each call is kept, tested or printed.
#[test]
fn the_examples_use_every_result() {
    for example in [DRIVER, "examples/wifi-driver/driver.c", "examples/firmware/firmware.c"] {
        let text = std::fs::read_to_string(tools::folder().join(example)).expect("an example");
        let ignored: Vec<&str> = text
            .lines()
            .map(str::trim)
            .filter(|line| line.trim_start_matches("(void)").starts_with("gq_"))
            .collect();
        assert!(ignored.is_empty(), "{example}: {ignored:#?}");
    }
}

/// BQL is six lines in a driver, and the reset hook is where the driver resets.
#[test]
fn bql_is_six_lines_of_the_driver() {
    let text = std::fs::read_to_string(tools::folder().join(DRIVER)).expect("the driver");
    let driver = text.split("/* ---- the device").next().expect("the driver comes first");
    let code = driver.split("/* ---- the driver").nth(1).expect("after what is common to all");
    let hooks: Vec<&str> = code.lines().filter(|line| line.contains("/* BQL: ")).collect();
    assert_eq!(hooks.len(), 6, "{hooks:#?}");
}

/// Links as for a board: no C library, no start-up files, the library without an operating system.
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

/// The missing symbols of a program that uses every function of the header and is linked only with the
/// library.
#[test]
fn every_function_needs_no_more_than_the_page_says() {
    let test = "every_function_needs_no_more_than_the_page_says";
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return tools::skipped(test, "the page speaks of x86-64");
    }
    if !has(test, C99.compiler) {
        return;
    }
    let header = std::fs::read_to_string(tools::folder().join("include/goodqueue.h")).expect("the header");
    let code = header.lines().filter(|line| !line.starts_with(['/', ' ', '#']));
    let names: Vec<&str> = code
        .filter_map(|line| line.split_once('(')?.0.rsplit([' ', '*']).next())
        .filter(|name| name.starts_with("gq_"))
        .collect();
    assert!(names.len() > 40 && names.contains(&"gq_enqueue_tcp"), "{names:?}");
    let uses: String = names.iter().map(|name| format!("\tused = (any)&{name};\n")).collect();
    let folder = tools::scratch("every");
    let (source, program) = (folder.join("every.c"), folder.join("every"));
    let text = format!(
        "#include \"goodqueue.h\"\ntypedef void (*any)(void);\nany volatile used;\nint firmware(void);\nint firmware(void)\n{{\n{uses}\treturn 0;\n}}\n"
    );
    std::fs::write(&source, text).expect("a file");
    let link = |start: Option<PathBuf>| {
        let mut command = Command::new(C99.compiler);
        command.args(["-ffreestanding", "-fno-builtin", "-fno-tree-loop-distribute-patterns"]);
        command.args(["-fno-stack-protector", "-fno-pie", "-no-pie", "-nostdlib", "-static"]);
        command.arg("-I").arg(tools::folder().join("include")).args(start).arg(&source);
        command.arg(tools::free_standing().join("libgoodqueue.a")).arg("-o").arg(&program);
        command.output().expect("the compiler")
    };
    let said = String::from_utf8_lossy(&link(None).stderr).into_owned();
    let missing: std::collections::BTreeSet<&str> = said
        .lines()
        .filter_map(|line| line.split("undefined reference to `").nth(1)?.split('\'').next())
        .collect();
    assert_eq!(Vec::from_iter(missing), ["abort", "bcmp", "memcpy", "memset"], "{said}");
    let page = std::fs::read_to_string(tools::folder().join("../../docs/c-library.md")).expect("the page");
    assert!(page.contains("needs `memcpy`, `memset`, `bcmp` and `abort` from elsewhere"));
    let with_start = link(Some(tools::folder().join("examples/firmware/start.c")));
    assert!(with_start.status.success(), "{}", String::from_utf8_lossy(&with_start.stderr));
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
