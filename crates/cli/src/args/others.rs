//! What may be typed after the commands that hold our results against others: `airtime-model`, `replay`,
//! `reproduce`, `truth`.

use std::path::PathBuf;

use clap::Args;

/// `goodqueue airtime-model`.
#[derive(Args, Debug)]
pub struct AirtimeArgs {
    /// A station that always has something to receive: its rate, mean bytes of packets in an aggregate
    /// [default: one packet], bytes of a packet [default: 1500], weight [default: 1]; once for each
    #[arg(long, value_name = "RATE[:aggregate=BYTES][,packet=BYTES][,weight=N]")]
    pub station: Vec<String>,
    /// Interframe spaces: a is 5 GHz (DIFS 34 us, SIFS 16 us), b is 2.4 GHz with short slots (28 us, 10 us)
    /// [default: both]
    #[arg(long, value_enum, value_name = "SET")]
    pub constants: Option<ConstantsArg>,
    /// Count the overhead of a transmission to its station where air is shared by transmissions
    #[arg(long)]
    pub overhead: bool,
    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
}

/// Values of `--constants`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ConstantsArg {
    /// 5 GHz
    A,
    /// 2.4 GHz, short slots
    B,
}

/// `goodqueue replay`.
#[derive(Args, Debug)]
pub struct ReplayArgs {
    /// Vector files, gzipped or plain
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Print the results as JSON
    #[arg(long)]
    pub json: bool,
    /// Print only what disagrees, and the total
    #[arg(long)]
    pub quiet: bool,
}

/// `goodqueue reproduce`.
#[derive(Args, Debug)]
pub struct ReproduceArgs {
    /// Which: square-wave, bql, ... or an experiment file with claims; all without a name
    #[arg(value_name = "NAME|FILE.toml")]
    pub names: Vec<String>,
    /// Write a page and its picture for each into this folder, and without names an index; pages that an
    /// earlier call wrote are replaced
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Print the verdicts as JSON instead of tables
    #[arg(long)]
    pub json: bool,
    /// No progress, no tables: the exit code, and what is wrong
    #[arg(long)]
    pub quiet: bool,
}

/// `goodqueue truth`.
#[derive(Args, Debug)]
pub struct TruthArgs {
    /// A folder with cases.jsonl (the experiments) and summary.jsonl (what a kernel made of them)
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Only this case; may be given again
    #[arg(long, value_name = "NAME")]
    pub case: Vec<String>,
    /// Seeds of ours for each case [default: as many as the kernel has, at least 3]
    #[arg(long, value_name = "N")]
    pub seeds: Option<u64>,
    /// How CoDel decides: as it is meant (mended), as Linux before March 2026 (stale), or as meant and, where
    /// a case with fq_codel is then outside, stale (either)
    #[arg(long, value_enum, default_value = "either", value_name = "WHICH")]
    pub codel_parity: CodelParityArg,
    /// Print every figure of every run as JSON
    #[arg(long)]
    pub json: bool,
    /// Write the comparison as a page into this new file, FILE.md
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print only what is outside or skipped, and the total; no progress
    #[arg(long)]
    pub quiet: bool,
}

/// Values of `--codel-parity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum CodelParityArg {
    /// As the algorithm means
    Mended,
    /// With first_above_time armed on an empty queue
    Stale,
    /// Mended, and stale where that is outside
    Either,
}
