//! The arguments of `goodqueue doctor`.

use clap::Args;

pub(super) const EXAMPLES: &str = "\
Examples:
  goodqueue doctor                   # what delays packets in this host, and what to do
  goodqueue doctor eth0              # this interface and the host's settings
  goodqueue doctor --json
  goodqueue doctor --fix             # mend what was found, one by one, with confirmation
  goodqueue doctor --fix --yes       # without
  goodqueue doctor --undo            # put back what --fix has changed
  goodqueue doctor --explain fifo    # this rule: why, with its source and what was measured

Exit code 1 if a fault was found; advice and notes alone give 0. Looking needs no privileges; --fix \
and --undo need root. --explain prints the section of docs/doctor.md on a rule.";

/// `goodqueue doctor`.
#[derive(Args, Clone, Debug)]
pub struct DoctorArgs {
    /// Only this interface, and the settings of the host
    #[arg(value_name = "IFACE")]
    pub interface: Option<String>,
    /// Print as JSON
    #[arg(long, conflicts_with_all = ["fix", "undo"])]
    pub json: bool,
    /// Mend what was found, one by one, with confirmation
    #[arg(long)]
    pub fix: bool,
    /// Mend without confirmation
    #[arg(long, requires = "fix")]
    pub yes: bool,
    /// Put back everything that --fix has changed since the last boot
    #[arg(long, conflicts_with_all = ["fix", "interface"])]
    pub undo: bool,
    /// Explain a rule: why, with its source and what was measured
    #[arg(long, value_name = "RULE", conflicts_with_all = ["interface", "json", "fix", "undo"])]
    pub explain: Option<String>,
}
