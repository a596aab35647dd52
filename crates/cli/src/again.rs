//! The command of a record: a line that works again as it is, from any folder.

use std::path::{Path, PathBuf};

use crate::args::RunArgs;

/// Flags whose value is a file that is read.
const FILES: [&str; 3] = ["--link", "--trace-up", "--trace-down"];

/// The command that was typed, for the record of its run: files by their whole names, and without `-o`, since nothing is
/// ever overwritten. Where there must be one it names another folder.
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

/// A name for the results of a second time.
pub(crate) fn another(output: &Path) -> String {
    let name = output.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match name.split_once('.') {
        Some((stem, suffix)) if !stem.is_empty() => format!("{stem}-again.{suffix}"),
        _ => format!("{name}-again"),
    }
}

fn repeated(words: impl Iterator<Item = String>, test: &str) -> Vec<String> {
    let mut again = vec!["goodqueue".to_owned()];
    let mut words = words.peekable();
    while let Some(word) = words.next() {
        let flag = word.split_once('=').map(|(flag, value)| (flag.to_owned(), value.to_owned()));
        if word == "-o" || word == "--output" {
            words.next();
        } else if word.starts_with("--output=") || (word.starts_with("-o") && !word.starts_with("--")) {
            // Its value is in the same word.
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
    fn results_go_and_files_have_whole_names() {
        assert_eq!(again("run rrul -o x --seed 3 --output=y -oz", "rrul"), "goodqueue run rrul --seed 3");
        assert_eq!(again("run /a/b.toml --length 3s", "/a/b.toml"), "goodqueue run /a/b.toml --length 3s");
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
