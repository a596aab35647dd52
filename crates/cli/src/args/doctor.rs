//! The arguments of `goodqueue doctor`.

use clap::Args;

pub(super) const EXAMPLES: &str = "\
Examples:
  goodqueue doctor                   # find what delays packets in this host, and what to do
  goodqueue doctor eth0              # only this interface and the host's settings
  goodqueue doctor --json
  goodqueue doctor --fix             # fix the findings one by one, after you confirm each
  goodqueue doctor --fix --yes       # fix them without asking
  goodqueue doctor --undo            # restore what --fix changed
  goodqueue doctor --explain fifo    # explain this rule: why, its source and what we measured

The exit code is 1 if there is a fault, and 0 if there are only advice and notes. The examination needs no \
privileges. --fix and --undo need CAP_NET_ADMIN, and CAP_DAC_OVERRIDE for files in /sys; root has both. \
--explain prints the section of docs/doctor.md on a rule.";

/// `goodqueue doctor`.
#[derive(Args, Clone, Debug)]
pub struct DoctorArgs {
    /// Examine only this interface and the settings of the host
    #[arg(value_name = "IFACE")]
    pub interface: Option<String>,
    /// Print as JSON
    #[arg(long, conflicts_with_all = ["fix", "undo"])]
    pub json: bool,
    /// Fix the findings one by one, after you confirm each
    #[arg(long)]
    pub fix: bool,
    /// Fix without asking
    #[arg(long, requires = "fix")]
    pub yes: bool,
    /// Restore everything that --fix has changed since the last boot
    #[arg(long, conflicts_with_all = ["fix", "interface"])]
    pub undo: bool,
    /// Explain a rule: why, its source and what we measured
    #[arg(long, value_name = "RULE", conflicts_with_all = ["interface", "json", "fix", "undo"])]
    pub explain: Option<String>,
}
