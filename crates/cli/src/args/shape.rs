//! The arguments of `goodqueue shape`.

use clap::Args;
use goodqueue::Rate;

use super::sqm::shaper_rate;
use super::{ShaperArgs, ToldArgs};

pub(super) const EXAMPLES: &str = "\
Examples:
  goodqueue shape eth0 --up 18mbit --down 90mbit                    # cake
  goodqueue shape eth0 --up 18mbit --down 90mbit --queue fq_codel   # see `goodqueue queues`
  goodqueue shape eth0 --up 4mbit --down 45mbit --link pppoe-ptm --watch
  goodqueue shape eth0 --up 18mbit --down 90mbit --queue dualpi2 --length 10min -o result
  goodqueue shape eth0 --up 18mbit --down 90mbit --queue cake,isolation=dual-srchost,nat=on
  goodqueue shape eth0 --up 500mbit --down 900mbit --queue cake_mq  # a thread for each processor
  goodqueue shape eth0 --inside eth1 --up 18mbit --down 90mbit      # a box in line with the modem
  goodqueue shape eth0 --up 18mbit --down 90mbit --dry-run          # the tc commands
  goodqueue shape eth0 --up 18mbit --down 90mbit --systemd          # a unit that survives a reboot

IFACE is the interface towards the modem. Its frames take a detour through this program, which has the \
queues of the simulator. If the kernel has the queue you want, `goodqueue sqm` costs less. Ctrl-C ends the \
program, restores what was there before, and prints a report of the traffic. With --inside there is no \
detour: frames pass from one interface to the other as over a cable, and neither interface needs an address.

The layouts of --layout tell hosts apart by the addresses in the packets. Behind address translation those \
are one address: take the queue with nat=on above.

It needs CAP_NET_ADMIN, CAP_NET_RAW and write access to /run/goodqueue; root has all of them. If packets \
left too late because the machine could not keep up, the report says so.";

/// `goodqueue shape`.
#[derive(Args, Clone, Debug)]
pub struct ShapeArgs {
    /// The interface towards the modem
    #[arg(value_name = "IFACE")]
    pub interface: String,
    /// The second interface of a box in line: frames that arrive here leave at IFACE, and vice versa
    #[arg(long, value_name = "IF2", conflicts_with = "dry_run")]
    pub inside: Option<String>,
    /// Rate for outgoing traffic
    #[arg(long, value_name = "RATE", value_parser = shaper_rate)]
    pub up: Rate,
    /// Rate for incoming traffic
    #[arg(long, value_name = "RATE", value_parser = shaper_rate)]
    pub down: Rate,
    /// The queues and the link.
    #[command(flatten)]
    pub shaper: ShaperArgs,
    /// Print the tc and ip commands that make the same changes, and change nothing
    #[arg(long, conflicts_with = "systemd")]
    pub dry_run: bool,
    /// Print a systemd unit that does this whenever the interface exists, and change nothing
    #[arg(long, conflicts_with_all = ["length", "json", "output", "watch"])]
    pub systemd: bool,
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
