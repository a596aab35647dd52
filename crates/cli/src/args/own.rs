//! Arguments of `goodqueue new`, `goodqueue check-queue` and `goodqueue check-cc`.

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

The exit code is 1 if a queue breaks a rule.";

pub(super) const NEW_CC_EXAMPLES: &str = "\
Examples:
  goodqueue new cc my_cc                         # AIMD in C: my_cc/my_cc.c, a Makefile, a README
  goodqueue new cc my_vegas --like vegas
  goodqueue new cc my_cc --lang rust --source ~/goodqueue
  goodqueue new cc my_cc --lang python
  make -C my_cc check && goodqueue run rrul_var --flows 2 --cc ./my_cc/my_cc.so,cubic";

pub(super) const CHECK_CC_EXAMPLES: &str = "\
Examples:
  goodqueue check-cc ./my_cc.so cubic
  goodqueue check-cc ./my_cc.so:keep=70 --json

The exit code is 1 if one breaks a rule.";

/// What `goodqueue new` writes.
#[derive(Debug, Subcommand)]
pub enum NewArgs {
    /// A working queue, with a build file, a README and a check
    #[command(after_help = NEW_EXAMPLES)]
    Queue(NewQueueArgs),
    /// A working congestion control, with a build file, a README and a check
    #[command(after_help = NEW_CC_EXAMPLES)]
    Cc(NewCcArgs),
}

/// `goodqueue new queue`.
#[derive(Args, Debug)]
pub struct NewQueueArgs {
    /// Its name, and that of the new folder: lower-case letters, digits and _
    pub name: String,
    /// The language
    #[arg(long, value_enum, default_value_t = Language::C)]
    pub lang: Language,
    /// For Rust: the folder of Goodqueue's source [default: the one around this folder]
    #[arg(long, value_name = "DIR")]
    pub source: Option<PathBuf>,
}

/// `goodqueue new cc`.
#[derive(Args, Debug)]
pub struct NewCcArgs {
    /// Its name, and that of the new folder: lower-case letters, digits and _
    pub name: String,
    /// The language
    #[arg(long, value_enum, default_value_t = Language::C)]
    pub lang: Language,
    /// The algorithm to start from
    #[arg(long, value_enum, default_value_t = Example::Aimd)]
    pub like: Example,
    /// For Rust: the folder of Goodqueue's source [default: the one around this folder]
    #[arg(long, value_name = "DIR")]
    pub source: Option<PathBuf>,
}

/// A congestion control to start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Example {
    /// Additive increase, multiplicative decrease
    Aimd,
    /// TCP Vegas (Brakmo and Peterson, 1995): keeps a few segments in the queue
    Vegas,
    /// LEDBAT (RFC 6817): yields to others
    Ledbat,
}

/// The language of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// C99, a shared library
    C,
    /// A crate, a shared library
    Rust,
    /// A class, for the Python package
    Python,
}

/// `goodqueue check-cc`.
#[derive(Args, Debug)]
pub struct CheckCcArgs {
    /// Congestion controls: by name, or the path of a shared library with its parameters, ./my_cc.so:keep=70
    #[arg(required = true, value_name = "CC")]
    pub controls: Vec<String>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// `goodqueue check-queue`.
#[derive(Args, Debug)]
pub struct CheckQueueArgs {
    /// Queues with parameters: built-in ones by name, or the path of a shared library
    #[arg(required = true, value_name = "QUEUE")]
    pub queues: Vec<String>,
    /// Rate of the line that built-in queues are made for
    #[arg(long, default_value = "10mbit")]
    pub rate: Rate,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}
