//! The head of a record, and its command: a line that can be typed again, in any folder.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::Args as _;
use goodqueue_report::{Host, Record, SCHEMA};

use crate::args::RunArgs;

/// Flags whose value is an input file.
const FILES: [&str; 3] = ["--link", "--trace-up", "--trace-down"];

/// The head of a record: the version, this machine, and when it was begun. If `SOURCE_DATE_EPOCH` is
/// set (seconds since 1970, reproducible-builds.org), that is the time, and a simulation writes the same
/// files each time.
pub(crate) fn head(command: Vec<String>) -> Record {
    let set = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|seconds| seconds.parse::<u32>().ok());
    let started = set
        .map_or_else(SystemTime::now, |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.into()));
    Record {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        started: humantime::format_rfc3339_seconds(started).to_string(),
        command,
        host: Host::of_this_machine(),
        ..Record::default()
    }
}

/// The command line as it was typed.
#[cfg(target_os = "linux")]
pub(crate) fn typed() -> Vec<String> {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    std::iter::once("goodqueue".to_owned()).chain(words).collect()
}

/// The command that was typed, for the record of its run. Files have their full paths. It has no `-o`, since
/// nothing is ever overwritten; if a `-o` is required, it names another folder.
pub(crate) fn of_run(args: &RunArgs) -> Vec<String> {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let mut again = repeated(words, &args.request.test);
    if let (Some(output), false) = (&args.output, args.trace.is_empty()) {
        again.extend(["-o".to_owned(), another(output)]);
    }
    again
}

/// The same for several records together.
pub(crate) fn of_report(records: &[PathBuf]) -> Vec<String> {
    let files = records.iter().map(|path| absolute(&path.display().to_string()));
    ["goodqueue", "report"].map(String::from).into_iter().chain(files).collect()
}

/// A name for the results of a second run.
pub(crate) fn another(output: &Path) -> String {
    let name = output.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match name.split_once('.') {
        Some((stem, suffix)) if !stem.is_empty() => format!("{stem}-again.{suffix}"),
        _ => format!("{name}-again"),
    }
}

fn repeated(mut words: impl Iterator<Item = String>, test: &str) -> Vec<String> {
    let command = RunArgs::augment_args(clap::Command::new("run"));
    let flags = command.get_arguments().filter(|arg| arg.get_action().takes_values());
    let with_value: Vec<char> = flags.filter_map(clap::Arg::get_short).collect();
    let mut again = vec!["goodqueue".to_owned()];
    while let Some(word) = words.next() {
        let flag = word.split_once('=').map(|(flag, value)| (flag.to_owned(), value.to_owned()));
        if word == "--output" {
            words.next();
        } else if word.starts_with("--output=") {
            // Its value is in the same word.
        } else if let Some((others, folder_follows)) = without_output(&word, &with_value) {
            again.extend(Some(others).filter(|others| others != "-"));
            if folder_follows {
                words.next();
            }
        } else if FILES.contains(&word.as_str()) {
            again.push(word);
            again.extend(words.next().map(|file| absolute(&file)));
        } else if let Some((flag, file)) = flag.filter(|(flag, _)| FILES.contains(&flag.as_str())) {
            again.push(format!("{flag}={}", absolute(&file)));
        } else if word == test && test.ends_with(".toml") {
            again.push(absolute(&word));
        } else {
            again.push(word);
        }
    }
    again
}

/// A word of short flags without its `-o` (`-6` of `-6o`, `-` of `-o`), and whether the folder is the next
/// word. None if the word has no `-o`: the letters after a flag that takes a value are that value.
fn without_output(word: &str, with_value: &[char]) -> Option<(String, bool)> {
    let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
    let (at, _) = letters.char_indices().find(|(_, letter)| with_value.contains(letter))?;
    let folder = letters[at..].strip_prefix('o')?;
    Some((format!("-{}", &letters[..at]), folder.is_empty()))
}

fn absolute(file: &str) -> String {
    std::path::absolute(file).map_or_else(|_| file.to_owned(), |path| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(words: &str, test: &str) -> String {
        repeated(words.split_whitespace().map(String::from), test).join(" ")
    }

    #[test]
    fn output_is_left_out_and_files_have_full_paths() {
        assert_eq!(again("run rrul -o x --seed 3 --output=y -oz", "rrul"), "goodqueue run rrul --seed 3");
        assert_eq!(again("run /a/b.toml --length 3s", "/a/b.toml"), "goodqueue run /a/b.toml --length 3s");
        // Short flags may share a word; what follows one with a value is its value.
        assert_eq!(again("run rrul -6o x -vl 3s", "rrul"), "goodqueue run rrul -6 -vl 3s");
        assert_eq!(again("run rrul -6vox -qo -tox -o=y", "rrul"), "goodqueue run rrul -6v -qo -tox");
        let here = std::env::current_dir().expect("a folder");
        let here = here.display();
        assert_eq!(again("run b.toml", "b.toml"), format!("goodqueue run {here}/b.toml"));
        assert_eq!(
            again("run ping --trace-up a --trace-down=/b", "ping"),
            format!("goodqueue run ping --trace-up {here}/a --trace-down=/b")
        );
        assert_eq!(another(Path::new("a/b.html")), "b-again.html");
        assert_eq!(another(Path::new("a/b")), "b-again");
    }
}
