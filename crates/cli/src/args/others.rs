//! Arguments of the commands that compare our results with those of others: `airtime-model`, `replay`,
//! `reproduce`, `truth`.

use std::path::PathBuf;

use clap::Args;

/// `goodqueue airtime-model`.
#[derive(Args, Debug)]
pub struct AirtimeArgs {
    /// A station that always has packets to receive: its rate, mean bytes of an aggregate [default: one
    /// packet], bytes of a packet [default: 1500], weight [default: 1]; once for each station
    #[arg(long, value_name = "RATE[:aggregate=BYTES][,packet=BYTES][,weight=N]")]
    pub station: Vec<String>,
    /// Interframe spaces: a is for 5 GHz (DIFS 34 us, SIFS 16 us), b for 2.4 GHz with short slots (28 us, 10
    /// us) [default: both]
    #[arg(long, value_enum, value_name = "SET")]
    pub constants: Option<ConstantsArg>,
    /// When the air is shared by transmissions, charge the overhead of each one to its station
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
    /// square-wave, bql, ... or an experiment file with claims [default: all that come with the program]
    #[arg(value_name = "NAME|FILE.toml")]
    pub names: Vec<String>,
    /// Write a page with a picture for each into this folder, and an index if no name is given; pages of an
    /// earlier run are replaced
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Print the verdicts as JSON instead of tables
    #[arg(long)]
    pub json: bool,
    /// No progress, no tables: only the exit code, and what is wrong
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
    /// Simulated seeds for each case [default: as many as the kernel has, at least 3]
    #[arg(long, value_name = "N")]
    pub seeds: Option<u64>,
    /// How CoDel decides: as the algorithm intends (mended), as Linux before March 2026 (stale), or as
    /// intended, and stale for a case with fq_codel that is then outside (either)
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
    /// As the algorithm intends
    Mended,
    /// With first_above_time armed on an empty queue
    Stale,
    /// Mended, and stale for cases that are outside
    Either,
}
