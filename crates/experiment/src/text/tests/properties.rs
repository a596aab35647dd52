//! Any text gives either an error with a place, or scenarios that can be built.

use goodqueue_sim::Simulation;
use proptest::prelude::*;

use super::parse;
use crate::{Asked, Request};

/// Words that have a meaning somewhere.
const KEYS: [&str; 37] = [
    "node",
    "buffers",
    "memory",
    "test",
    "name",
    "length",
    "idle",
    "step",
    "flows",
    "cc",
    "queues",
    "seeds",
    "repetitions",
    "rate",
    "up",
    "down",
    "rtt",
    "loss",
    "ring",
    "bql",
    "between",
    "delay",
    "queue",
    "lanes",
    "schedule",
    "period",
    "pause",
    "shaper",
    "count",
    "stagger",
    "stop",
    "bytes",
    "interval",
    "on",
    "off",
    "poisson",
    "start",
];
const VALUES: [&str; 33] = [
    "\"a\"",
    "\"voq\"",
    "\"shared\"",
    "0",
    "1",
    "-1",
    "9223372036854775807",
    "1e308",
    "nan",
    "\"0s\"",
    "\"1ns\"",
    "\"20ms\"",
    "\"24h\"",
    "\"999999h\"",
    "\"1bit\"",
    "\"20mbit\"",
    "\"8000gbit\"",
    "\"64k\"",
    "\"4g\"",
    "\"99.9%\"",
    "true",
    "\"codel\"",
    "\"$queue\"",
    "\"pfifo:4194304\"",
    "[]",
    "[1, 2]",
    "[\"client\", \"server\"]",
    "[\"client\", \"a\"]",
    "[[\"0s\", \"1mbit\"]]",
    "{ high = 2, low = 1 }",
    "{ rate = \"1mbit\" }",
    "\"tcp_nup\"",
    "\"unlimited\"",
];
const HEADS: [&str; 11] = [
    "",
    "[test]",
    "[link]",
    "[[link]]",
    "[link.up]",
    "[[flow]]",
    "[[udp]]",
    "[[probe]]",
    "[[variant]]",
    "[[switch]]",
    "[tcp]",
];
const START: &str = "[[link]]\nbetween = [\"client\", \"server\"]\nrate = \"1mbit\"\nqueue = \"$queue\"\n";

fn sound(text: &str) -> Result<(), TestCaseError> {
    match parse(text) {
        Err(error) => {
            prop_assert!(!error.what.is_empty() && error.line >= 1 && error.column >= 1);
            prop_assert!(error.line <= text.lines().count() + 1, "{error}");
        }
        Ok(experiment) => {
            prop_assert!(!experiment.variants.is_empty() && !experiment.seeds.is_empty());
            let scenario = experiment.variants[0].with_seed(experiment.seeds[0]);
            if scenario.flows.len() < 1000 {
                prop_assert!(Simulation::new(&scenario).is_ok(), "{:?}", Simulation::new(&scenario).err());
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_is_an_experiment_or_an_error(text in "\\PC{0,200}") {
        sound(&text)?;
    }

    #[test]
    fn any_keys_and_values_are_an_experiment_or_an_error(
        network: bool,
        lines in proptest::collection::vec((0..HEADS.len(), proptest::collection::vec((0..KEYS.len(), 0..VALUES.len()), 0..3)), 0..4),
    ) {
        let mut text = if network { START.to_owned() } else { String::new() };
        for (head, pairs) in lines {
            text += &format!("{}\n", HEADS[head]);
            for (key, value) in pairs {
                text += &format!("{} = {}\n", KEYS[key], VALUES[value]);
            }
        }
        sound(&text)?;
    }
}

/// A small file with these changes is an experiment, or the error names `--set` or a place in the file.
fn changed(set: &[String]) -> Result<(), TestCaseError> {
    let request = Request { test: "/nonexistent/x.toml".into(), set: set.to_vec(), ..Request::default() };
    match Asked::of_text(&request, &["set".into()], "test = 'ping'\n[[flow]]\nname = 'a'\n") {
        Ok(mut asked) => {
            prop_assert!(asked.experiment_mut().is_some_and(|experiment| !experiment.variants.is_empty()));
        }
        Err(error) => {
            let why = error.to_string();
            prop_assert!(why.contains("--set ") || why.contains("x.toml:"), "{set:?}: {why}");
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn no_set_panics(
        any in "\\PC{0,40}",
        words in proptest::collection::vec(("[a-z]{1,6}", 0..KEYS.len(), 0..VALUES.len(), "\\PC{0,6}"), 1..4),
    ) {
        changed(&[any])?;
        let all = words.iter().map(|(table, key, value, more)| {
            let (key, value) = (KEYS[*key], VALUES[*value]);
            match table.len() {
                1 | 2 => format!("{key}={value}"),
                3 => format!("test.{key}={value}"),
                4 => format!("flow.a.{key}={value}{more}"),
                5 => format!("flow.1.{key}={more}"),
                _ => format!("{table}.{key}.{more}={value}"),
            }
        });
        changed(&all.collect::<Vec<_>>())?;
    }
}

/// Each key of each table with each value, with everything that is needed to check the value.
#[test]
fn every_key_with_every_value_is_an_experiment_or_an_error() {
    for table in crate::text::keys::TABLES {
        for key in table.keys {
            for value in VALUES {
                let line = format!("{} = {value}", key.name);
                let text = match table.name {
                    "" => line,
                    "link" if table.also.is_some() => format!("{START}{line}\n"),
                    "link.up" => format!("{START}[link.up]\n{line}\n"),
                    "link.up.loss" => format!("{START}loss = {{ {line} }}\n"),
                    "link.up.pause" => format!("{START}pause = {{ {line} }}\n"),
                    "link.up.shaper" => format!("{START}shaper = {{ {line} }}\n"),
                    "variant.link.NAME" => {
                        format!("{START}[[variant]]\nname = \"v\"\n[variant.link.client-server]\n{line}\n")
                    }
                    "test" | "tcp" | "link" => format!("[{}]\n{line}\n", table.name),
                    name => format!("[[{name}]]\n{line}\n"),
                };
                // A duplicate key is an error too.
                sound(&text).unwrap_or_else(|error| panic!("{error}\nin\n{text}"));
            }
        }
    }
}
