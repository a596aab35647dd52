//! Arguments of `goodqueue new` and `goodqueue check-queue`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use goodqueue::Rate;

pub(super) const NEW_EXAMPLES: &str = "\
Examples:
  goodqueue new queue my_aqm                     # my_aqm/my_aqm.c, a Makefile, a README
  goodqueue new queue my_aqm --lang rust --source ~/goodqueue
  goodqueue new queue my_aqm --lang python
  make -C my_aqm check && goodqueue run rrul --queue ./my_aqm/my_aqm.so,fq_codel";

pub(super) const CHECK_EXAMPLES: &str = "\
Examples:
  goodqueue check-queue ./my_aqm.so
  goodqueue check-queue ./my_aqm.so,limit=100 codel fq_codel,flows=16
  goodqueue check-queue cake,bandwidth=5mbit --json

Exit code 1 if a queue breaks a rule.";

/// What `goodqueue new` writes.
#[derive(Debug, Subcommand)]
pub enum NewArgs {
    /// A queue that works, with a build file, a README and a check
    #[command(after_help = NEW_EXAMPLES)]
    Queue(NewQueueArgs),
}

/// `goodqueue new queue`.
#[derive(Args, Debug)]
pub struct NewQueueArgs {
    /// Its name, and the folder that is made: small letters, digits and _
    pub name: String,
    /// The language
    #[arg(long, value_enum, default_value_t = Language::C)]
    pub lang: Language,
    /// For Rust: the folder of Goodqueue's source [default: the one around this folder]
    #[arg(long, value_name = "DIR")]
    pub source: Option<PathBuf>,
}

/// A language of templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// C99, a shared library
    C,
    /// A crate, a shared library
    Rust,
    /// A class, for the Python package
    Python,
}

/// `goodqueue check-queue`.
#[derive(Args, Debug)]
pub struct CheckQueueArgs {
    /// Queues, with parameters: of the catalogue, or the path of a shared library
    #[arg(required = true, value_name = "QUEUE")]
    pub queues: Vec<String>,
    /// Rate of the line that queues of the catalogue are built for
    #[arg(long, default_value = "10mbit")]
    pub rate: Rate,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}
