//! Instructions, counted by callgrind.

use std::path::Path;
use std::process::Command;

/// The instructions in `functions`, patterns of names, and what they call while `program` runs with `words`;
/// and what it prints.
pub(crate) fn run(program: &Path, words: &[String], functions: &[&str]) -> Result<(f64, String), String> {
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .args(functions.iter().map(|function| format!("--toggle-collect={function}")))
        .arg(program)
        .args(words)
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    let text = String::from_utf8_lossy(&run.stderr);
    let collected = text.lines().find_map(|line| line.split_once("Collected : ")).map(|(_, n)| n.trim());
    let collected = collected.and_then(|n| n.parse().ok()).ok_or(format!("valgrind said: {text}"))?;
    Ok((collected, String::from_utf8_lossy(&run.stdout).into_owned()))
}

/// The same for all functions of this program with `function` in their names; `--load` stands before `words`.
pub(crate) fn of_load(function: &str, words: &[String]) -> Result<(f64, String), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    run(&program, &[&["--load".to_owned()], words].concat(), &[&format!("*{function}*")])
}
