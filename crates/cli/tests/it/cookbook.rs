//! `docs/cookbook.md`: each wish of a newcomer, the one command that grants it, and what that command prints.
//!
//! The prose of the page is written by hand. The rest is made from its commands: every `sh` block is run, and
//! the `text` block, the pictures and the time that follow it are what came of it. Only the time may differ
//! from run to run. To write the page anew, with the times of the command as users build it:
//!
//! ```sh cargo build --release GOODQUEUE_BLESS=1 GOODQUEUE_BINARY=$PWD/target/release/goodqueue cargo test -p
//! goodqueue-cli --test it cookbook
//! ```

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::reproduce::half_digit;
use super::{Scratch, stderr, stdout};

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// One recipe: what is written by hand up to and with its command, and what is made from it.
struct Recipe {
    /// The heading and the prose.
    prose: String,
    /// The command lines of its `sh` block; each begins with `goodqueue`.
    commands: Vec<String>,
    /// Pictures that the page shows of it, by their names below `docs/`, with the line that shows each.
    pictures: Vec<(String, String)>,
}

/// The page in its parts: what comes before the first recipe, and the recipes, whose headings begin with
/// `mark`.
fn parse(page: &str, mark: &str) -> (String, Vec<Recipe>) {
    let between = format!("\n{mark} ");
    let mut sections = page.split(&between);
    let head = sections.next().expect("a beginning").trim_end().to_owned();
    let recipe = |section: &str| {
        let (prose, rest) = section.split_once("\n```sh\n").expect("every recipe has its command");
        let (commands, rest) = rest.split_once("\n```").expect("the block ends");
        let shown = rest.lines().filter(|line| line.starts_with("!["));
        let pictures = shown.map(|line| {
            let name = line.rsplit_once('(').and_then(|(_, name)| name.strip_suffix(')'));
            (name.expect("a picture has its name").to_owned(), line.to_owned())
        });
        Recipe {
            prose: format!("{mark} {}", prose.trim_end()),
            commands: commands.lines().map(str::to_owned).collect(),
            pictures: pictures.collect(),
        }
    };
    (head, sections.map(recipe).collect())
}

/// Runs the command lines as a shell would, in `folder`; returns what the last one printed, and how long they
/// took.
fn cook(recipe: &Recipe, folder: &Path) -> (String, Duration) {
    let program = std::env::var_os("GOODQUEUE_BINARY").unwrap_or(env!("CARGO_BIN_EXE_goodqueue").into());
    let program = PathBuf::from(program);
    let path = std::env::var("PATH").unwrap_or_default();
    let began = Instant::now();
    let mut printed = String::new();
    for line in &recipe.commands {
        let output = Command::new("sh")
            .args(["-c", line])
            .current_dir(folder)
            .env("PATH", format!("{}:{path}", program.parent().expect("a folder").display()))
            .env("COLUMNS", "80")
            .output()
            .expect("a shell");
        assert!(output.status.success(), "{line}\n{}", stderr(&output));
        printed = stdout(&output);
    }
    (printed, began.elapsed())
}

/// The recipe as the page shows it. `took`: in words.
fn written(recipe: &Recipe, printed: &str, took: &str) -> String {
    let mut out = format!("{}\n\n```sh\n{}\n```\n", recipe.prose, recipe.commands.join("\n"));
    let _ = write!(out, "\n{took}\n");
    if !printed.trim().is_empty() {
        let _ = write!(out, "\n```text\n{}\n```\n", printed.trim_end());
    }
    for (_, line) in &recipe.pictures {
        let _ = write!(out, "\n{line}\n");
    }
    out
}

/// `It takes 0.41 s.`: the line that the comparison leaves out.
fn is_time(line: &str) -> bool {
    line.starts_with("It takes ") && line.ends_with(" s.")
}

/// A folder with the files that the recipes read: experiments and traces of the tree, by the names that the
/// page uses.
fn kitchen(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    for name in ["scenarios", "docs"] {
        std::os::unix::fs::symlink(docs().join("..").join(name), scratch.path(name)).expect("a link");
    }
    scratch
}

/// The section "Measurements" of `docs/doctor.md` has what its commands print; `GOODQUEUE_BLESS=1` writes it.
#[test]
fn what_doctor_says_was_measured_is_what_its_commands_print() {
    let page = docs().join("doctor.md");
    let old = std::fs::read_to_string(&page).expect("the page");
    let (before, rest) = old.split_once("\n## Measurements\n").expect("the section");
    let (section, after) = rest.split_once("\n## ").expect("a section behind it");
    let (head, recipes) = parse(section, "###");
    assert!(recipes.len() >= 5, "only {} measurements found", recipes.len());
    let scratch = kitchen("doctor");
    let mut new = format!("{before}\n## Measurements\n{head}\n");
    for recipe in &recipes {
        let (printed, _) = cook(recipe, &scratch.path(""));
        let command = recipe.commands.join("\n");
        let _ = write!(
            new,
            "\n{}\n\n```sh\n{command}\n```\n\n```text\n{}\n```\n",
            recipe.prose,
            printed.trim_end()
        );
    }
    let _ = write!(new, "\n## {after}");
    if std::env::var_os("GOODQUEUE_BLESS").is_some() {
        std::fs::write(&page, &new).expect("written");
        return;
    }
    assert!(old == new, "docs/doctor.md is not current: see the head of this test");
}

/// The figures in "Measured here" of each rule are those of the pages that it cites, rounded. Those from a
/// real kernel (`./vm`) cite no page.
#[test]
fn each_figure_that_doctor_cites_is_on_the_page_that_it_names() {
    let page = std::fs::read_to_string(docs().join("doctor.md")).expect("the page");
    let (_, below) = page.split_once("\n## Measurements\n").expect("the section");
    let mut compared = 0;
    for section in page.split("\n### ").skip(1) {
        let rule = section.lines().next().unwrap_or_default();
        let Some((_, cited)) = section.split_once("Measured here: ") else { continue };
        let cited = cited.split("\n\n").next().unwrap_or_default().replace('\n', " ");
        let mut sources = String::new();
        for link in cited.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap_or_default();
            let text =
                if file.is_empty() { Ok(below.into()) } else { std::fs::read_to_string(docs().join(file)) };
            sources += &text.unwrap_or_else(|error| panic!("{rule}: {file}: {error}"));
        }
        if sources.is_empty() {
            continue;
        }
        let known: Vec<f64> =
            sources.split(|c: char| !c.is_ascii_digit() && c != '.').filter_map(|w| w.parse().ok()).collect();
        let words: Vec<&str> = cited.split(' ').collect();
        for trio in words.windows(3).filter(|trio| trio[0] != "at") {
            let unit = trio[2].trim_end_matches([',', '.', ';']);
            let (Ok(figure), true) = (trio[1].parse::<f64>(), ["ms", "%", "times"].contains(&unit)) else {
                continue;
            };
            let half = half_digit(trio[1]);
            let is_there = known.iter().any(|&value| (value - figure).abs() <= half);
            assert!(is_there, "{rule}: {figure} {unit} is not on the pages that it names");
            compared += 1;
        }
    }
    assert!(compared >= 25, "only {compared} figures compared");
}

#[test]
fn every_recipe_of_the_cookbook_does_what_the_page_shows() {
    let bless = std::env::var_os("GOODQUEUE_BLESS").is_some();
    let page = docs().join("cookbook.md");
    let old = std::fs::read_to_string(&page).expect("the page");
    let (head, recipes) = parse(&old, "##");
    assert!(recipes.len() >= 10, "only {} recipes found", recipes.len());
    let scratch = kitchen("cookbook");
    let mut new = head + "\n";
    for recipe in &recipes {
        let (printed, took) = cook(recipe, &scratch.path(""));
        let took = format!("It takes {:.2} s.", took.as_secs_f64());
        let _ = write!(new, "\n{}", written(recipe, &printed, &took));
        for (name, _) in &recipe.pictures {
            let made = scratch.path(Path::new(name).file_name().expect("a name").to_str().expect("plain"));
            let made = std::fs::read(&made).unwrap_or_else(|error| panic!("{}: {error}", made.display()));
            let kept = docs().join(name);
            if bless {
                std::fs::create_dir_all(kept.parent().expect("a folder")).expect("made");
                std::fs::write(&kept, &made).expect("written");
            }
            assert!(std::fs::read(&kept).is_ok_and(|kept| kept == made), "docs/{name} is not current");
        }
    }
    if bless {
        std::fs::write(&page, &new).expect("written");
        return;
    }
    let timeless = |text: &str| text.lines().filter(|line| !is_time(line)).collect::<Vec<_>>().join("\n");
    assert!(timeless(&old) == timeless(&new), "docs/cookbook.md is not current: see the head of this test");
}
