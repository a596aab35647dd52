//! `goodqueue reproduce`: the pages in the tree are what it writes now, and its verdicts are those of the
//! files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Scratch, run, stderr, stdout};

fn house() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reproductions")
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Those that are quick enough without optimisation.
const QUICK: [&str; 5] = ["cable-up", "gpon", "lte", "homeplug", "dsl"];

#[test]
fn quick_pages_in_the_tree_are_what_the_command_writes() {
    let scratch = Scratch::new("quick-reproductions");
    let folder = scratch.path("pages");
    let output = run(&format!("reproduce {} --quiet -o {}", QUICK.join(" "), folder.display()));
    assert!(output.status.success(), "{}", stderr(&output));
    let pages = names(&folder).iter().filter(|name| name.ends_with(".md")).count();
    assert_eq!(pages, QUICK.len());
    are_current(&folder);
}

/// Text and pictures to the last byte.
fn are_current(folder: &Path) {
    for name in names(folder) {
        let read = |folder: &Path| std::fs::read(folder.join(&name)).expect("a file");
        let is_current = read(folder) == read(&house());
        assert!(is_current, "{name} is not current: goodqueue reproduce -o docs/reproductions");
    }
}

/// All of them, and every verdict the one that its file states.
#[test]
#[cfg_attr(debug_assertions, ignore = "half a minute, optimised: cargo test --release")]
fn pages_in_the_tree_are_what_the_command_writes() {
    let scratch = Scratch::new("reproductions");
    let folder = scratch.path("pages");
    let output = run(&format!("reproduce --quiet -o {}", folder.display()));
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(names(&folder), names(&house()));
    are_current(&folder);
}

/// Every page is in the list of docs/kernels.md, with the version of TCP that its file names.
#[test]
fn pages_have_the_tcp_that_the_page_of_kernels_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("docs/kernels.md")).expect("the page of kernels");
    let (_, list) = text.split_once("## Which version each page has").expect("the list");
    let (list, _) = list.split_once("\n## ").expect("a section after it");
    let default = "6.1";
    let mut said = BTreeMap::new();
    for line in list.lines() {
        let cell = line.strip_prefix("| ").and_then(|row| row.split_once(" |"));
        let version = cell.map_or(default, |(version, _)| version);
        for link in line.split("](reproductions/").skip(1) {
            let (page, _) = link.split_once(".md").expect("a page");
            assert_eq!(said.insert(page.to_owned(), version.to_owned()), None, "{page} is listed twice");
        }
    }
    let in_file = |page: &str| {
        let file = std::fs::read_to_string(root.join(format!("scenarios/{page}.toml"))).unwrap_or_default();
        let key = file.split_once("kernel = \"").and_then(|(_, rest)| rest.split_once('"'));
        key.map_or(default, |(version, _)| version).to_owned()
    };
    let pages = names(&house()).into_iter().filter_map(|name| name.strip_suffix(".md").map(str::to_owned));
    let pages = pages.filter(|page| page != "README" && page != "rows");
    assert_eq!(said, pages.map(|page| (page.clone(), in_file(&page))).collect());
}

/// Each page has a headline, and each figure with a unit or a point in it is on the page, rounded.
#[test]
fn figures_of_headlines_are_those_of_their_pages() {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut compared = 0;
    for name in names(&house()).iter().filter_map(|name| name.strip_suffix(".md")) {
        // These pages come from no file.
        if ["README", "rows", "hash-collisions"].contains(&name) {
            continue;
        }
        let file = std::fs::read_to_string(scenarios.join(format!("{name}.toml"))).expect("a scenario");
        let headline = file.lines().find_map(|line| line.strip_prefix("headline = \"")?.strip_suffix('"'));
        let headline = headline.unwrap_or_else(|| panic!("{name} has no headline"));
        let page = std::fs::read_to_string(house().join(format!("{name}.md"))).expect("the page");
        // The table of claims and the text, without the figures of single runs below them.
        let (claims, _) = page.split_once("## How it is measured").expect("the claims");
        let known = quantities(claims);
        for (figure, half, unit) in quantities(headline) {
            let is_there = |&(value, _, of): &(f64, f64, &str)| of == unit && (value - figure).abs() <= half;
            assert!(known.iter().any(is_there), "{name}: {figure} {unit} is not on the page: {headline}");
            compared += 1;
        }
    }
    assert!(compared >= 40, "only {compared} figures compared");
}

/// Half of the last digit of a decimal number. The factor leaves room for the binary fractions.
pub(crate) fn half_digit(number: &str) -> f64 {
    let decimals = number.split_once('.').map_or(0, |(_, behind)| behind.len());
    0.5 / 10_f64.powi(i32::try_from(decimals).expect("few digits")) * (1.0 + 1e-9)
}

/// Numbers with a unit, or with a point and without a unit: each with half of its last digit, times in ms.
fn quantities(text: &str) -> Vec<(f64, f64, &'static str)> {
    let words: Vec<&str> =
        text.split([' ', '\n', '|', '(', ')', '[', ']', '\\']).filter(|word| !word.is_empty()).collect();
    let bare = |word: &str| word.trim_end_matches([',', ';', ':', '.']).to_owned();
    let mut all = Vec::new();
    for (place, &word) in words.iter().enumerate() {
        let word = bare(word);
        let Some(number) = word.parse::<f64>().ok().filter(|number| number.is_finite()) else { continue };
        let half = half_digit(&word);
        // "37.7 to 57.6 Mbit/s": both have the unit.
        let unit = match words[place + 1..] {
            [between, _, unit, ..] if ["to", "and"].contains(&between) => bare(unit),
            [unit, ..] => bare(unit),
            [] => String::new(),
        };
        let (by, unit) = match unit.as_str() {
            "s" => (1000.0, "ms"),
            "ms" => (1.0, "ms"),
            "%" => (1.0, "%"),
            "Mbit/s" => (1.0, "Mbit/s"),
            _ if word.contains('.') => (1.0, ""),
            _ => continue,
        };
        all.push((number * by, half * by, unit));
    }
    all
}

/// docs/misses.md sums up the table of the index as it is now, and its kinds have as many claims.
#[test]
fn the_page_of_misses_has_the_totals_of_the_index() {
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let index = std::fs::read_to_string(house().join("README.md")).expect("the index");
    let misses = std::fs::read_to_string(house().join("../misses.md")).expect("the page of misses");
    let (_, table) = index.split_once("| kind | holds | undecided | missed | all |").expect("the table");
    let mut kinds = 0;
    for line in table.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let line = cells(line);
        let row = misses.lines().map(cells).find(|row| row.get(1) == line.get(1) && row.len() == 11);
        let row = row.unwrap_or_else(|| panic!("{} is not in docs/misses.md", line[1]));
        assert_eq!(row[7..10], line[2..5], "{}", line[1]);
        let numbers: Vec<usize> = row[7..10].iter().map(|cell| cell.parse().expect("a number")).collect();
        assert_eq!(numbers.iter().sum::<usize>().to_string(), line[5], "{}", line[1]);
        kinds += 1;
    }
    assert_eq!(kinds, 4);
}

const CLAIMS: &str = r#"
test = { name = "tcp_1up", length = "2s", idle = "500ms" }
queues = ["pfifo:5", "pfifo:50"]
repetitions = 6
link = { rate = "5mbit", loss = "0.1%" }
[reproduction]
title = "two FIFOs"
source = "this test"
text = "none"
[[claim]]
id = "a"
kind = "expectation"
basis = "it has more packets"
what = "the longer one waits longer"
class = "ORDER"
figure = "rise_p95"
order = ["pfifo:5", "pfifo:50"]
"#;

fn judged(scratch: &Scratch, more: &str) -> std::process::Output {
    let path = scratch.path("claims.toml");
    std::fs::write(&path, format!("{CLAIMS}{more}")).expect("a file");
    run(&format!("reproduce {} --json", path.display()))
}

fn verdicts(output: &std::process::Output) -> Vec<String> {
    let all: Value = serde_json::from_str(&stdout(output)).expect("JSON");
    let claims = all[0]["claims"].as_array().expect("claims");
    claims.iter().map(|claim| claim["verdict"].as_str().expect("a verdict").to_owned()).collect()
}

#[test]
fn the_exit_code_says_whether_the_verdicts_are_those_of_the_file() {
    let scratch = Scratch::new("claims");
    let output = judged(&scratch, "");
    assert_eq!((output.status.code(), verdicts(&output)), (Some(0), vec!["holds".to_owned()]));

    let output = judged(&scratch, "missed = \"a wrong cause\"\n");
    assert_eq!((output.status.code(), verdicts(&output)), (Some(1), vec!["holds".to_owned()]));
    assert_eq!(stderr(&output), "goodqueue: claims a: HOLDS, stated: missed\n");

    let wrong = "[[claim]]\nid = \"b\"\nkind = \"measured\"\nbasis = \"nowhere\"\nwhat = \"\"\nclass = \"SHAPE\"\n\
                 figure = \"rise_p95\"\nvariant = \"pfifo:5\"\npublished = \"10s\"\n";
    let output = judged(&scratch, wrong);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(verdicts(&output), ["holds", "missed"]);
    let output = judged(&scratch, &format!("{wrong}missed = \"nobody has 10 s here\"\n"));
    assert_eq!((output.status.code(), verdicts(&output)), (Some(0), vec!["holds".into(), "missed".into()]));
}

/// The bound is a value that some seeds are above and others below: no number of seeds decides.
#[test]
fn what_the_seeds_do_not_decide_gets_more_seeds_and_is_undecided() {
    let scratch = Scratch::new("undecided");
    let all: Value = serde_json::from_str(&stdout(&judged(&scratch, ""))).expect("JSON");
    let median = all[0]["claims"][0]["measured"][0]["median"].as_f64().expect("a median");
    let crossed = format!(
        "[[claim]]\nid = \"b\"\nkind = \"expectation\"\nbasis = \"\"\nwhat = \"\"\nclass = \"MED\"\n\
         figure = \"rise_p95\"\nvariant = \"pfifo:5\"\nat_most = \"{}ns\"\n",
        median.round()
    );
    let output = judged(&scratch, &crossed);
    assert_eq!(
        (output.status.code(), verdicts(&output)),
        (Some(1), vec!["holds".into(), "undecided".into()])
    );
    assert_eq!(stderr(&output), "goodqueue: claims b: UNDECIDED, stated: holds\n");
    let all: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let seeds = |claim: usize| all[0]["claims"][claim]["seeds"].as_u64();
    assert_eq!(
        (seeds(0), seeds(1)),
        (Some(6), Some(24)),
        "twice doubled, and only for the claim that needs it"
    );

    let output = judged(&scratch, &format!("{crossed}undecided = \"the bound is the median\"\n"));
    assert_eq!(
        (output.status.code(), verdicts(&output)),
        (Some(0), vec!["holds".into(), "undecided".into()])
    );
}

#[test]
fn a_verdict_needs_six_seeds() {
    let scratch = Scratch::new("few-seeds");
    let path = scratch.path("few.toml");
    std::fs::write(&path, CLAIMS.replace("repetitions = 6", "repetitions = 5")).expect("a file");
    let output = run(&format!("reproduce {}", path.display()));
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("few has 5 seeds; a verdict needs an interval"), "{}", stderr(&output));
}

#[test]
fn an_error_in_a_claim_is_named_with_its_position() {
    let scratch = Scratch::new("wrong-claims");
    let claim = |rest: &str| {
        format!(
            "[[claim]]\nid = \"b\"\nkind = \"measured\"\nbasis = \"\"\nwhat = \"\"\nclass = \"MED\"\nfigure = {rest}"
        )
    };
    for (more, said) in [
        ("published = \"1ms\"\n".to_owned(), ":10:1: only a measured claim has a `published` value"),
        ("expected = \"1ms\"\n".to_owned(), ":10:1: order goes alone"),
        ("missed = \"a\"\nundecided = \"b\"\n".to_owned(), ":10:1: missed, or undecided: not both"),
        (claim("\"idle\"\n").replace("MED", "LOOSE"), ":23:9: class = \"LOOSE\""),
        (claim("\"idle\"\n").replace("measured", "heard"), ":20:8: kind = \"heard\""),
        (claim("\"idle\"\n").replace("basis = \"\"\n", ""), ":18:1: [claim] needs `basis`"),
        (claim("\"idle\"\nvariant = \"codel\"\n"), ":25:11: no variant is called `codel`"),
        (claim("\"idle\"\nvariant = \"pfifo:5\"\n"), ":18:1: it needs `published`"),
        (
            claim("\"idle\"\nvariant = \"pfifo:5\"\nexpected = \"1ms\"\n"),
            ":18:1: a measured claim has a `published`",
        ),
        (
            claim("\"rtt_p50\"\nvariant = \"pfifo:5\"\npublished = \"1ms\"\n").replace("MED", "TIGHT"),
            ":18:1: class TIGHT judges added delay, and rtt_p50 has the base in it: use a rise",
        ),
        (claim("\"idle\"\nfrom = \"1s\"\n"), ":25:8: idle is of the whole load: it takes no window"),
        (
            claim("\"airtime_share\"\nfrom = \"1s\"\nto = \"3s\"\n"),
            ":25:8: from 1s to 3s: the load is from 0s to 2s",
        ),
        (claim("\"airtime_settle\"\n"), ":18:1: airtime_settle needs `from`"),
    ] {
        let output = judged(&scratch, &more);
        assert_eq!(output.status.code(), Some(2), "{more}");
        assert!(stderr(&output).contains(said), "{more}: {}", stderr(&output));
    }
    let output = run("reproduce squarewave");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("did you mean square-wave?"), "{}", stderr(&output));
}

#[test]
fn a_page_of_someone_else_is_not_replaced() {
    let scratch = Scratch::new("foreign");
    std::fs::create_dir_all(scratch.path("pages")).expect("a folder");
    std::fs::write(scratch.path("pages/gpon.md"), "mine").expect("a file");
    let output = run(&format!("reproduce gpon -o {}", scratch.path("pages").display()));
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("gpon.md was not written by this command"), "{}", stderr(&output));
    assert_eq!(std::fs::read_to_string(scratch.path("pages/gpon.md")).expect("text"), "mine");
}
