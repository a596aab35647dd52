//! The arguments of `goodqueue airtime`.

use std::path::PathBuf;

use clap::Args;

pub(super) const EXAMPLES: &str = "\
Examples:
  goodqueue airtime wlan0                                # the stations of its radio; q quits
  goodqueue airtime --json --count 60                    # all access points, a line each second
  goodqueue airtime --prometheus > s.new && mv s.new stations.prom   # for node_exporter
  goodqueue airtime wlan0 --policy wifi.toml             # set weights by a policy until you quit
  goodqueue airtime wlan0 --policy wifi.toml --dry-run   # print the commands of iw that would do it
  goodqueue run rtt_fair_up --link wifi.toml             # the same policy in the simulator

The list of stations needs no privileges. Deficits and AQL need root and a kernel with \
CONFIG_MAC80211_DEBUGFS. A policy needs CAP_NET_ADMIN and a driver with airtime fairness: ath9k, ath10k, \
mt76.";

/// `goodqueue airtime`.
#[derive(Args, Clone, Debug)]
pub struct AirtimeArgs {
    /// Access points; each shows all stations of its radio [default: all]
    #[arg(value_name = "IFACE")]
    pub interfaces: Vec<String>,
    /// Time between two updates, 100ms to 1h
    #[arg(short, long, value_name = "TIME", default_value = "1s")]
    pub interval: String,
    /// End after this many intervals
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Print a line of JSON for each interval
    #[arg(long)]
    pub json: bool,
    /// Print the counters once, in the text format of Prometheus, and exit
    #[arg(long, conflicts_with_all = ["json", "count", "interval", "policy", "restore"])]
    pub prometheus: bool,
    /// Set the stations' weights by the policy in `[wifi]` of this file, which `goodqueue run --link` reads
    /// too. The old weights return at the end
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Print the iw commands that would set the weights if packets waited for every station, and exit
    #[arg(long, requires = "policy", conflicts_with_all = ["json", "count", "interval"])]
    pub dry_run: bool,
    /// Restore the weights after a `goodqueue airtime` that was killed, and exit
    #[arg(long, conflicts_with_all = ["policy", "json", "count", "interval"])]
    pub restore: bool,
}
