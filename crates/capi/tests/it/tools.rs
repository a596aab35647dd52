//! Compilers, the library that they link, and their output.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The folder of this package.
pub(crate) fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder for the tests' output.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("capi").join(name);
    std::fs::create_dir_all(&path).expect("a folder for what the tests make");
    path
}

/// Reports that a test did not run, past the test runner's capture, so that it is seen and counted.
pub(crate) fn skipped(test: &str, why: &str) {
    use std::io::Write;
    assert!(std::env::var_os("GOODQUEUE_REQUIRE_ALL").is_none(), "{test} was skipped: {why}");
    let _ = writeln!(std::io::stderr(), "SKIPPED: {test}: {why}");
}

/// Whether a tool is available; reports it if not.
pub(crate) fn has(test: &str, tool: &str) -> bool {
    let is_there = Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    if !is_there {
        skipped(test, &format!("{tool} is not installed"));
    }
    is_there
}

/// Runs a command to its end; panics with its output if it fails.
pub(crate) fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    output
}

fn build(arguments: &[&str]) -> PathBuf {
    let target = scratch("target");
    let mut command = Command::new(env!("CARGO"));
    command.args(["build", "--quiet", "--offline", "--locked", "-p", "goodqueue-capi"]).args(arguments);
    // Use the profile's flags, whatever flags this test was built with (coverage, for example).
    command.env_remove("RUSTFLAGS").env("CARGO_TARGET_DIR", &target).current_dir(folder());
    run(&mut command);
    target
}

/// The folder of `libgoodqueue.a` and `libgoodqueue.so`, built by `cargo build --release`.
pub(crate) fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| build(&["--release"]).join("release"))
}

/// The folder of the library without an operating system.
pub(crate) fn free_standing() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| build(&["--profile", "firmware", "--no-default-features"]).join("firmware"))
}

/// A language, with its compiler.
#[derive(Clone, Copy)]
pub(crate) struct Language {
    pub(crate) compiler: &'static str,
    pub(crate) standard: &'static str,
    pub(crate) name: &'static str,
}

pub(crate) const C99: Language = Language { compiler: "gcc", standard: "-std=c99", name: "c" };
pub(crate) const CLANG: Language = Language { compiler: "clang", standard: "-std=c99", name: "c" };
pub(crate) const CPP17: Language = Language { compiler: "g++", standard: "-std=c++17", name: "c++" };

/// The system libraries that the static library needs, as listed by rustc. Compilers add libgcc themselves.
const SYSTEM: [&str; 4] = ["-lpthread", "-lm", "-ldl", "-lrt"];

/// Compiles a program of the tests against the static library; every warning is an error.
pub(crate) fn compile(language: Language, source: &str, flags: &[&str], name: &str) -> PathBuf {
    let program = scratch("bin").join(name);
    let mut command = Command::new(language.compiler);
    command.args([language.standard, "-pedantic", "-Wall", "-Wextra", "-Werror", "-g", "-O1"]);
    command.args(flags).arg("-I").arg(folder().join("include"));
    command.args(["-x", language.name]).arg(folder().join(source)).args(["-x", "none"]);
    command.arg(library().join("libgoodqueue.a")).args(SYSTEM).arg("-o").arg(&program);
    run(&mut command);
    program
}

pub(crate) const SANITIZERS: [&str; 2] = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

/// Whether the compiler has the sanitizers' libraries; reports it if not.
pub(crate) fn has_sanitizers(test: &str) -> bool {
    if !has(test, C99.compiler) {
        return false;
    }
    let folder = scratch(test);
    let source = folder.join("empty.c");
    std::fs::write(&source, "int main(void) { return 0; }\n").expect("a file");
    let mut command = Command::new(C99.compiler);
    command.args(SANITIZERS).arg(&source).arg("-o").arg(folder.join("empty"));
    let is_there = command.output().is_ok_and(|output| output.status.success());
    if !is_there {
        skipped(test, "the compiler has no sanitizers");
    }
    is_there
}

/// A command that runs a program under valgrind; an error from valgrind is a failure.
pub(crate) fn valgrind(program: &Path) -> Command {
    let mut command = Command::new("valgrind");
    command.args(["--quiet", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=all"]);
    command.arg("--show-leak-kinds=all").arg(program);
    command
}
