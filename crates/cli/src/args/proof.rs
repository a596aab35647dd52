//! The arguments of `goodqueue replay`, `reproduce` and `truth`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use goodqueue::codel::Parity;
use goodqueue_proof::truth::Tried;

const REPRODUCE_EXAMPLES: &str = "\
Examples:
  goodqueue reproduce                                # everything that comes with the program
  goodqueue reproduce square-wave bql
  goodqueue reproduce mine.toml -o pages             # your own, with [reproduction] and [[claim]]

A claim holds or is missed. It is undecided if the interval over all seeds crosses its bound. The exit code \
is 1 if a verdict differs from the one in the file.";

/// `goodqueue replay`.
#[derive(Args, Debug)]
pub struct ReplayArgs {
    /// Vector files, gzipped or plain
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Print the results as JSON
    #[arg(long)]
    pub json: bool,
    /// Print only differences and the total
    #[arg(long)]
    pub quiet: bool,
}

/// `goodqueue reproduce`.
#[derive(Args, Debug)]
#[command(after_help = REPRODUCE_EXAMPLES)]
pub struct ReproduceArgs {
    /// square-wave, bql, ... or an experiment file with claims [default: everything that comes with the
    /// program]
    #[arg(value_name = "NAME|FILE.toml")]
    pub names: Vec<String>,
    /// Write a page with a picture for each into this folder, and an index if no name is given. Pages of an
    /// earlier run are replaced
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Print the verdicts as JSON instead of tables
    #[arg(long)]
    pub json: bool,
    /// Print no progress and no tables, only unexpected verdicts
    #[arg(long)]
    pub quiet: bool,
}

/// `goodqueue truth`.
#[derive(Args, Debug)]
pub struct TruthArgs {
    /// A folder with cases.jsonl (the experiments) and summary.jsonl (a kernel's results)
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Only this case; may be repeated
    #[arg(long, value_name = "NAME")]
    pub case: Vec<String>,
    /// Simulated seeds for each case [default: as many as the kernel's runs, at least 24]
    #[arg(long, value_name = "N")]
    pub seeds: Option<u64>,
    /// How CoDel decides, as with `parity` of a queue: as the algorithm intends (sane), or as Linux did
    /// before March 2026 (linux-stale). `either` tries sane first, then linux-stale for each case with
    /// fq_codel that is outside its bounds
    #[arg(long, value_parser = parities(), default_value = "either", value_name = "WHICH")]
    pub codel_parity: Tried,
    /// Print every figure of every run as JSON
    #[arg(long)]
    pub json: bool,
    /// Write the comparison as a page into this new file, FILE.md
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print only the total and the cases that are outside, undecided or skipped; no progress
    #[arg(long)]
    pub quiet: bool,
}

/// Reads `--codel-parity`: a word of the queues' parameter `parity`, its older name, or `either`.
fn parities() -> impl TypedValueParser<Value = Tried> {
    let word = |word: &'static str, help: &'static str| PossibleValue::new(word).help(help);
    PossibleValuesParser::new([
        word("sane", "As the algorithm intends").alias("mended"),
        word("linux-stale", "With first_above_time armed on an empty queue").alias("stale"),
        word("either", "sane, and linux-stale for cases that are outside"),
    ])
    .map(|word| match word.as_str() {
        "sane" | "mended" => Tried::Only(Parity::Sane),
        "linux-stale" | "stale" => Tried::Only(Parity::LinuxStale),
        _ => Tried::Either,
    })
}
