//! The arguments of `goodqueue watch`.

use clap::{Args, ValueEnum};

pub(super) const EXAMPLES: &str = "\
Examples:
  goodqueue watch                          # all interfaces, once a second; q quits
  goodqueue watch eth0 ifb4eth0            # both directions of `goodqueue sqm`
  goodqueue watch eth0 --json --count 60   # a minute as JSON, a line a second
  goodqueue watch wlan0                    # also the stations of this Wi-Fi, with their airtime
  goodqueue watch --by flow                # which flows wait, also in link, bridge and shape
  goodqueue watch --prometheus --by host > q.new && mv q.new queues.prom   # for node_exporter

The waiting time of cake is what cake itself measures. For other queues it is the backlog divided by the \
rate of the last interval; `-` means that packets wait but none was sent. sparse+bulk counts the waiting \
flows: new ones, and those with a backlog. It needs no privileges.";

/// How to group what waits in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Connections; for the kernel's fq_codel and cake, their class numbers
    Flow,
    /// Hosts, in goodqueue's own queues
    Host,
}

/// `goodqueue watch`.
#[derive(Args, Clone, Debug)]
pub struct WatchArgs {
    /// The interfaces [default: all but loopback]
    #[arg(value_name = "IFACE")]
    pub interfaces: Vec<String>,
    /// Time between two updates, 100ms to 1h
    #[arg(short, long, value_name = "TIME", default_value = "1s")]
    pub interval: String,
    /// End after this many intervals
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Show the ten flows or hosts with the most waiting packets in each queue
    #[arg(long, value_name = "WHAT")]
    pub by: Option<By>,
    /// Also show queues in which nothing waits and nothing happens
    #[arg(long)]
    pub idle: bool,
    /// Print a line of JSON for each interval
    #[arg(long)]
    pub json: bool,
    /// Print the counters once, in the text format of Prometheus
    #[arg(long, conflicts_with_all = ["json", "count", "interval", "idle"])]
    pub prometheus: bool,
}
