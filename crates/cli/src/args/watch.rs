//! The arguments of `goodqueue watch`.

use clap::{Args, ValueEnum};

pub(super) const EXAMPLES: &str = "\
Examples:
  goodqueue watch                          # all interfaces, once a second; q ends it
  goodqueue watch eth0 ifb4eth0            # both directions of `goodqueue sqm`
  goodqueue watch eth0 --json --count 60   # a minute as JSON, a line a second
  goodqueue watch --by flow                # which flows wait; also of link, bridge and shape
  goodqueue watch --prometheus --by host > /var/lib/node_exporter/queues.prom

A queue's waiting time is what cake measures; for others, what waits in it at the rate of the last \
interval. `-` means that packets wait and none was sent. sparse+bulk are the flows that wait: \
new ones, and those with a backlog. It needs no privileges.";

/// What is told apart in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Connections; in the kernel's fq_codel and cake the numbers of their classes
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
    /// End after so many intervals
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Show what waits in each queue, the ten with the most: flows or hosts
    #[arg(long, value_name = "WHAT")]
    pub by: Option<By>,
    /// Show queues too in which nothing waits and nothing happens
    #[arg(long)]
    pub idle: bool,
    /// Print a line of JSON for each interval
    #[arg(long)]
    pub json: bool,
    /// Print the counters once, in the text format of Prometheus
    #[arg(long, conflicts_with_all = ["json", "count", "interval", "idle"])]
    pub prometheus: bool,
}
