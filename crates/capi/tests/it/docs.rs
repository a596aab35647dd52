//! `docs/c-library.md` is correct.

use std::process::Command;

use crate::examples::example;
use crate::tools::{self, C99, compile, has, library, run};

pub(crate) fn page() -> String {
    let path = tools::folder().join("../../docs/c-library.md");
    std::fs::read_to_string(path).expect("the page")
}

/// The C code blocks of the page.
pub(crate) fn blocks(page: &str) -> Vec<&str> {
    page.split("```c\n").skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn the_sizes_are_those_that_the_library_gives() {
    if !cfg!(target_pointer_width = "64") || !has("the_sizes_are_those_that_the_library_gives", C99.compiler)
    {
        return;
    }
    let output = run(&mut Command::new(compile(C99, "tests/c/sizes.c", &[], "sizes")));
    let (page, text) = (page(), String::from_utf8(output.stdout).expect("text"));
    assert!(page.contains(text.as_str()), "the page has another table than\n{text}");
}

#[test]
fn the_first_program_compiles_and_runs() {
    if !has("the_first_program_compiles_and_runs", C99.compiler) {
        return;
    }
    let folder = tools::scratch("docs");
    let (source, program) = (folder.join("first.c"), folder.join("first"));
    std::fs::write(&source, blocks(&page())[0]).expect("a file");
    let mut command = Command::new(C99.compiler);
    command.args([C99.standard, "-D_POSIX_C_SOURCE=200112L", "-Wall", "-Wextra", "-Werror"]);
    command.arg("-I").arg(tools::folder().join("include")).arg(&source);
    command.arg("-L").arg(library()).args(["-lgoodqueue", "-o"]).arg(&program);
    run(&mut command);
    // The linker used the shared library, whose soname contains the version of the ABI.
    let shared = folder.join("libgoodqueue.so.1");
    std::fs::copy(library().join("libgoodqueue.so"), shared).expect("a copy");
    let output = run(Command::new(&program).env("LD_LIBRARY_PATH", &folder));
    assert_eq!(output.stdout, b"send frame 42\n");
}

#[test]
fn the_recipe_is_in_the_driver() {
    let driver =
        std::fs::read_to_string(tools::folder().join("examples/driver/driver.c")).expect("the driver");
    let page = page();
    let lines = blocks(&page)[1].lines().map(str::trim);
    let code: Vec<&str> = lines.filter(|line| !line.is_empty() && !line.starts_with("/*")).collect();
    assert_eq!(code.len(), 6, "{code:#?}");
    for line in code {
        assert!(driver.contains(line), "{line}");
    }
    let output = has("the_recipe_is_in_the_driver", C99.compiler)
        .then(|| run(&mut Command::new(compile(C99, "examples/driver/driver.c", &[], "driver-docs"))));
    let text = output.map(|output| String::from_utf8(output.stdout).expect("text")).unwrap_or_default();
    for (name, bytes) in [("without BQL", "321344"), ("with BQL\n", "4836")] {
        let measured = text.split(name).nth(1).and_then(|rest| rest.split("at most ").nth(1));
        assert!(measured.is_none_or(|rest| rest.starts_with(bytes)), "{name}: {measured:?}");
        assert!(page.contains(bytes));
    }
}

/// The three steps are lines of the driver, in order, and its measurements are on the page.
#[test]
fn the_three_steps_are_in_the_wifi_driver() {
    let source = "examples/wifi-driver/driver.c";
    let driver = std::fs::read_to_string(tools::folder().join(source)).expect("the driver");
    let page = page();
    let lines = blocks(&page)[2].lines().map(str::trim);
    let code: Vec<&str> = lines.filter(|line| !line.is_empty() && !line.starts_with("/*")).collect();
    assert!((6..=12).contains(&code.len()), "{code:#?}");
    for line in code {
        assert!(driver.contains(line), "{line}");
    }
    let test = "the_three_steps_are_in_the_wifi_driver";
    if let Some(text) = example(test, source, "wifi-driver") {
        let table: Vec<&str> = text.lines().filter(|line| line.contains("station:")).collect();
        assert_eq!(table.len(), 4);
        assert!(
            page.contains(text.split("as it").next().expect("a text").trim_end()),
            "the page differs from\n{text}"
        );
    }
}
