//! The arguments of `goodqueue sweep`.

use std::path::PathBuf;

use clap::Args;
use goodqueue_experiment::limit::Limit;

const EXAMPLES: &str = "\
The file is an experiment with a table [sweep]; see docs/sweep.md.

Examples:
  goodqueue sweep grid.toml --dry-run                   # how many runs, and how long they take
  goodqueue sweep grid.toml -o results                  # page, table of all runs, findings
  goodqueue sweep grid.toml -o results                  # again: runs only what is missing
  goodqueue sweep grid.toml --fail-if 'rise_p95 > 30ms'
  goodqueue sweep grid.toml -o results --dask tcp://scheduler:8786";

/// `goodqueue sweep`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct SweepArgs {
    /// The experiment with its table `[sweep]`
    #[arg(value_name = "FILE.toml")]
    pub file: PathBuf,
    /// Write a page, the findings and a table of all runs into this folder. Runs that an earlier sweep left
    /// there are not repeated
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Exit with code 1 if this is true for the mean over the seeds of any point: FIGURE > BOUND or FIGURE <
    /// BOUND, as in `goodqueue compare`. 1.2x is relative to the first point. May be repeated
    #[arg(long, value_name = "LIMIT")]
    pub fail_if: Vec<Limit>,
    /// Number of runs at a time; 0 means one for each processor
    #[arg(short = 'j', long, default_value_t = 0, value_name = "N")]
    pub threads: usize,
    /// Run the points on the workers of this Dask scheduler. This needs Python with `goodqueue[dask]`
    #[arg(long, value_name = "ADDRESS", requires = "output")]
    pub dask: Option<String>,
    /// Print the number of runs and the estimated time, and exit
    #[arg(long)]
    pub dry_run: bool,
    /// Print the findings as JSON instead of the text
    #[arg(long)]
    pub json: bool,
    /// No progress, no hints
    #[arg(long)]
    pub quiet: bool,
}
