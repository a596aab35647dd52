//! The arguments of `goodqueue bridge`.

use clap::Args;

use super::{EmulationArgs, ToldArgs};

pub(super) const EXAMPLES: &str = "\
Examples:
  goodqueue bridge eth1 eth2 --down 50mbit --up 10mbit --rtt 30ms   # the device under test at eth1
  goodqueue bridge eth1 eth2 --rate 20mbit --queue fq_codel -o result --length 1min
  goodqueue bridge eth1 eth2 --rate 100mbit --loss 0.1% --watch

Frames that arrive at IF1 leave at IF2 (up), and vice versa (down). This includes Ethernet frames of every \
kind: ARP, IPv6 neighbour discovery, VLAN tags, PPPoE and multicast. Neither end notices the bridge. \
Give the two interfaces no addresses, and connect each to one end only. `goodqueue link set` \
changes the link while it runs. Ctrl-C ends it and prints a report of the traffic.

It needs CAP_NET_RAW, CAP_NET_ADMIN if an interface joins packets (GRO), and write access to \
/run/goodqueue; root has all of them. If packets left too late because the machine could not keep up, the report says so.";

/// `goodqueue bridge`.
#[derive(Args, Clone, Debug)]
pub struct BridgeArgs {
    /// The interface towards the device under test
    #[arg(value_name = "IF1")]
    pub client: String,
    /// The interface towards the network
    #[arg(value_name = "IF2")]
    pub server: String,
    /// The link.
    #[command(flatten)]
    pub emulation: EmulationArgs,
    /// End after this time
    #[arg(long, value_name = "TIME", help_heading = "Output")]
    pub length: Option<String>,
    /// Print the record as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// What to print and write.
    #[command(flatten)]
    pub told: ToldArgs,
}
