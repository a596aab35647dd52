//! The arguments of `goodqueue autorate`.

use std::net::IpAddr;

use clap::{Args, ValueEnum};

use super::ShaperArgs;

pub(super) const EXAMPLES: &str = "\
Examples:
  goodqueue autorate wwan0 --up 1mbit..30mbit --down 5mbit..150mbit     # LTE
  goodqueue autorate eth0 --up 18mbit --down 20mbit..200mbit            # only downloads vary
  goodqueue autorate eth0 --up 5mbit..20mbit --down 50mbit..300mbit --reflector 192.0.2.1,192.0.2.9
  goodqueue autorate eth0 --up 5mbit..20mbit --down 50mbit..300mbit --shaper shape --queue fq_pie
  goodqueue autorate eth0 --up 5mbit..20mbit --down 50mbit..300mbit --json >log
  goodqueue autorate eth0 --up 5mbit..20mbit --down 50mbit..300mbit --systemd   # a unit

LEAST..MOST: the lowest rate that is still useful when the link is bad, and the highest rate that the link \
can ever reach. Each shaper starts at a third of MOST. A single rate never changes.

It sends 20 probes a second to the reflectors in turn. Over IPv4 it first asks for ICMP timestamps, which \
show the delay of each direction; a reflector that does not answer them gets echo requests (ping). It needs \
CAP_NET_ADMIN, CAP_NET_RAW and write access to /run/goodqueue; root has all of them. Ctrl-C restores what \
was there before.

--shaper shape: frames take a detour through this program, as in `goodqueue shape`. Use it for a queue that \
the kernel lacks.";

/// The default reflectors: public resolvers, each in many places, so that one is near.
const REFLECTORS: &str = "1.1.1.1,1.0.0.1,8.8.8.8,8.8.4.4,9.9.9.9,149.112.112.112";

/// The shapers whose rates follow the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shapers {
    /// The kernel's queues, as `goodqueue sqm` sets them up
    Sqm,
    /// The queues of this program, as `goodqueue shape` runs them
    Shape,
}

/// `goodqueue autorate`.
#[derive(Args, Clone, Debug)]
pub struct AutorateArgs {
    /// The interface towards the link
    #[arg(value_name = "IFACE")]
    pub interface: String,
    /// Range of the upload shaper's rate
    #[arg(long, value_name = "LEAST..MOST")]
    pub up: String,
    /// Range of the download shaper's rate
    #[arg(long, value_name = "LEAST..MOST")]
    pub down: String,
    /// Addresses that answer pings: 2 to 8, beyond the link and nearby. 4 are in use at a time; the others
    /// replace bad ones
    #[arg(long, value_name = "ADDRESS", default_value = REFLECTORS, value_delimiter = ',')]
    pub reflector: Vec<IpAddr>,
    /// Whose queues to use
    #[arg(long = "shaper", value_name = "WHOSE", default_value = "sqm")]
    pub shapers: Shapers,
    /// The queues and the link.
    #[command(flatten)]
    pub shaper: ShaperArgs,
    /// End after this time
    #[arg(long, value_name = "TIME")]
    pub length: Option<String>,
    /// Print JSON: a line for each decision and one for each second
    #[arg(long)]
    pub json: bool,
    /// Print a systemd unit that does this whenever the interface exists, and change nothing
    #[arg(long, conflicts_with = "json")]
    pub systemd: bool,
    /// Print no decisions
    #[arg(long, conflicts_with = "json")]
    pub quiet: bool,
}
