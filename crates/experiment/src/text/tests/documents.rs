//! The page of documentation, the schema and the experiments that come with the program. With
//! `GOODQUEUE_BLESS` set, the parts made from the catalogue are rewritten.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

use toml::de::{DeTable, DeValue};

use super::validator::{json, misfit};
use super::{parse, right};
use crate::experiment::Experiment;
use crate::text::keys::{Kind, ROOT, TABLES, Table};
use crate::text::lines::LINES;
use crate::text::read::example;
use crate::text::schema::schema;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Compares the contents of a file with the expected contents, or writes them.
fn current(name: &str, old: &str, new: &str) {
    if std::env::var_os("GOODQUEUE_BLESS").is_some() {
        std::fs::write(path(name), new).expect("written");
        return;
    }
    assert!(old == new, "{name} is not current: run this test with GOODQUEUE_BLESS=1");
}

/// The examples of the page.
fn blocks() -> Vec<String> {
    let page = text("docs/experiments.md");
    let blocks: Vec<String> = page
        .split("```toml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().expect("an end").to_owned())
        .collect();
    assert!(blocks.len() > 5, "only {} examples found", blocks.len());
    blocks
}

/// The experiments that come with the program.
fn scenarios() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path("scenarios")).expect("a folder").flatten();
    let files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .collect();
    assert!(!files.is_empty());
    files
}

#[test]
fn every_example_of_the_page_and_every_scenario_resolves() {
    for block in blocks() {
        right(&block);
    }
    for file in scenarios() {
        Experiment::read(&file).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn the_examples_use_every_key() {
    let mut used = BTreeSet::new();
    for block in blocks() {
        collect(DeTable::parse(&block).expect("TOML").get_ref(), &ROOT, &mut used);
    }
    let all = TABLES.iter().flat_map(|table| table.keys.iter().map(|key| (table.name, key.name)));
    let missing: Vec<_> = all.filter(|place| !used.contains(place)).collect();
    assert!(missing.is_empty(), "no example has {missing:?}");
}

fn collect(table: &DeTable<'_>, info: &'static Table, used: &mut BTreeSet<(&'static str, &'static str)>) {
    for (name, value) in table {
        let key = info.key(name.get_ref()).expect("the examples resolve");
        let own = info.keys.iter().any(|own| own.name == key.name);
        let home = if own { info } else { info.also.expect("a key of another table") };
        used.insert((home.name, key.name));
        descend(value.get_ref(), key.kind, used);
    }
}

fn descend(value: &DeValue<'_>, kind: Kind, used: &mut BTreeSet<(&'static str, &'static str)>) {
    match (kind, value) {
        (Kind::OneOf(kinds), _) => {
            // A simple link and one by name are both tables: only one of them has these keys.
            let fits = |kind: &&Kind| match (kind, value) {
                (Kind::Table(info), DeValue::Table(table)) => {
                    table.keys().all(|key| info.key(key.get_ref()).is_some())
                }
                (Kind::Named(_), DeValue::Table(_)) | (Kind::Tables(_), DeValue::Array(_)) => true,
                _ => false,
            };
            kinds.iter().find(fits).into_iter().for_each(|&kind| descend(value, kind, used));
        }
        (Kind::Table(info), DeValue::Table(table)) => collect(table, info, used),
        (Kind::Tables(info), DeValue::Array(list)) => {
            list.iter()
                .filter_map(|element| element.get_ref().as_table())
                .for_each(|t| collect(t, info, used));
        }
        (Kind::Named(info), DeValue::Table(table)) => {
            table
                .values()
                .filter_map(|value| value.get_ref().as_table())
                .for_each(|t| collect(t, info, used));
        }
        _ => {}
    }
}

#[test]
fn the_page_lists_every_key_as_the_catalogue_has_it() {
    let page = text("docs/experiments.md");
    let (written, _) = page.split_once("## All keys\n").expect("the list of keys");
    let mut new = format!("{written}## All keys\n");
    for table in TABLES {
        let title = match table.name {
            "" => "The file itself".into(),
            name if is_repeated(table) => format!("`[[{name}]]`"),
            name => format!("`[{name}]`"),
        };
        let _ =
            write!(new, "\n### {title}\n\n{}\n\n| key | value | default | |\n|---|---|---|---|\n", table.doc);
        for key in table.keys {
            let is_table =
                matches!(key.kind, Kind::Table(_) | Kind::Tables(_) | Kind::Named(_)) || key.name == "link";
            let written = if is_table { key.name.to_owned() } else { example(key.name, key.kind) };
            let _ = writeln!(
                new,
                "| `{written}` | {} | {} | {} |",
                words(key.kind),
                key.default.replace('|', "\\|"),
                key.doc
            );
        }
    }
    current("docs/experiments.md", &page, &new);
}

#[test]
fn the_page_of_lines_is_that_of_the_catalogue() {
    let mut new = String::from(
        "# Lines\n\nReady-made access lines, by name: `goodqueue run rrul --line dsl-50-10 --shape 90%`, and in a file `[link]\n\
         line = \"dsl-50-10\"`. Further flags and keys override its figures. `goodqueue lines` prints this list.\n\n\
         A line is simulated as Ethernet frames at its rate, with the buffer of each end in front of it. The framing is\n\
         what a real router's `cake` should be told; the simulated line does not have it, so runs do not use it. Rates are\n\
         steady: for a radio link that changes, use a trace (`--trace-down`).\n\n\
         | name | | down | up | round trip | jitter each way | buffer down | buffer up | framing |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for line in &LINES {
        let _ = writeln!(
            new,
            "| `{}` | {} | {} | {} | {} | {} | `{}` | `{}` | `{}` |",
            line.name,
            line.about,
            line.down,
            line.up,
            line.rtt,
            line.jitter,
            line.buffer_down,
            line.buffer_up,
            line.framing
        );
    }
    new.push_str("\n## Sources\n\n");
    for line in &LINES {
        let _ = writeln!(new, "* `{}`: {}", line.name, line.source);
        for buffer in [line.buffer_down, line.buffer_up] {
            buffer.parse::<goodqueue::QueueSpec>().unwrap_or_else(|error| panic!("{buffer}: {error}"));
        }
        format!("cake,link={}", line.framing).parse::<goodqueue::QueueSpec>().expect("a keyword of cake");
    }
    let name = "docs/lines.md";
    let old = std::fs::read_to_string(path(name)).unwrap_or_default();
    current(name, &old, &new);
}

/// Whether it may occur several times.
fn is_repeated(table: &Table) -> bool {
    fn holds(kind: Kind, table: &Table) -> bool {
        match kind {
            Kind::Tables(other) => std::ptr::eq(other, table),
            Kind::OneOf(kinds) => kinds.iter().any(|&kind| holds(kind, table)),
            _ => false,
        }
    }
    TABLES.iter().flat_map(|table| table.keys).any(|key| holds(key.kind, table))
}

/// A kind of value as text, with its range.
fn words(kind: Kind) -> String {
    match kind {
        Kind::Text => "text".into(),
        Kind::Switch => "true or false".into(),
        Kind::Count { least, most } if most == i64::MAX as u64 => format!("whole number from {least}"),
        Kind::Count { least, most } => format!("whole number, {least} to {most}"),
        Kind::Time { least, most } => format!("time, {least} to {most}"),
        Kind::Rate => "rate, above 0, to 8000gbit".into(),
        Kind::LineShare => "share of a line, above 0%, to 1000%".into(),
        Kind::Bytes => "bytes".into(),
        Kind::Share => "share, 0 to 1".into(),
        Kind::Number { least, most } => format!("number, {least} to {most}"),
        Kind::Word(word) => format!("`\"{word}\"`"),
        Kind::List(element) => format!("list of: {}", words(*element)),
        Kind::Pair([first, second]) => format!("[{}; {}]", words(*first), words(*second)),
        Kind::Table(table) => format!("table `[{}]`", table.name),
        Kind::Tables(table) => format!("tables `[[{}]]`", table.name),
        Kind::Named(table) => format!("tables `[{}]`", table.name),
        Kind::OneOf(kinds) => kinds.iter().map(|&kind| words(kind)).collect::<Vec<_>>().join("; or "),
    }
}

#[test]
fn the_schema_in_the_tree_is_the_one_of_the_program() {
    let name = "docs/experiment.schema.json";
    let old = std::fs::read_to_string(path(name)).unwrap_or_default();
    current(name, &old, &(serde_json::to_string_pretty(&schema()).expect("JSON") + "\n"));
}

#[test]
fn the_schema_takes_every_experiment_that_there_is() {
    let schema = schema();
    let texts = scenarios().into_iter().map(|file| std::fs::read_to_string(file).expect("text"));
    for text in blocks().into_iter().chain(texts) {
        let table = DeTable::parse(&text).expect("TOML");
        assert_eq!(misfit(&schema, &schema, &json(table.get_ref())), None, "in\n{text}");
    }
}

#[test]
fn the_schema_refuses_what_the_reader_refuses() {
    let schema = schema();
    let wrong = [
        "queus = []",
        "test = 5",
        "repetitions = 0",
        "[link]\nring = 65537",
        "[[link]]\nrate = \"1mbit\"",
        "[[variant]]\nqueue = \"codel\"",
        "[[link]]\nbetween = [\"client\", \"server\"]\nup = { schedule = [[\"0s\"]] }",
        "[[link]]\nbetween = [\"client\", \"server\"]\nloss = { to_bad = 0.1 }",
        "[[udp]]\nrate = \"1mbit\"\nbytes = 59",
    ];
    for text in wrong {
        assert!(parse(text).is_err(), "the reader takes {text}");
        let table = DeTable::parse(text).expect("TOML");
        assert!(misfit(&schema, &schema, &json(table.get_ref())).is_some(), "the schema takes {text}");
    }
}
