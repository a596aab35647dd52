//! The arguments of `goodqueue sqm`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use goodqueue::Rate;
use goodqueue_experiment::read_rate;

use super::KeyArgs;

pub(super) const EXAMPLES: &str = "\
Examples:
  goodqueue sqm eth0 --up 18mbit --down 90mbit               # cake, if the kernel has it
  goodqueue sqm eth0 --up 18mbit --down 90mbit --dry-run     # the tc commands that do the same
  goodqueue sqm eth0 --up 4mbit --down 45mbit --link pppoe-ptm
  goodqueue sqm eth0 --up 18mbit --down 90mbit --layout simple
  goodqueue sqm eth0 --up 18mbit --down 90mbit --queue cake:diffserv4,nat=on,ack-filter=on
  goodqueue sqm eth0 --up 18mbit --down 90mbit --verify my.server --key WORD
  goodqueue sqm eth0 --up 18mbit --down 90mbit --systemd     # a unit that survives a reboot
  goodqueue sqm --uci /etc/config/sqm                        # the settings of sqm-scripts
  goodqueue sqm status
  goodqueue sqm stop eth0

IFACE is the interface towards the modem. Use 85% to 95% of what the line carries in each \
direction: the shaper must be the slowest link, so that the queue builds up here. It needs CAP_NET_ADMIN \
and write access to /run/goodqueue; root has both. `stop` restores what was there before.";

/// `goodqueue sqm`.
#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct SqmArgs {
    /// A subcommand, if there is one.
    #[command(subcommand)]
    pub action: Option<SqmAction>,
    /// The interface towards the modem
    #[arg(value_name = "IFACE", required_unless_present = "uci")]
    pub interface: Option<String>,
    /// Rate for outgoing traffic, which is otherwise not shaped
    #[arg(long, value_name = "RATE", value_parser = shaper_rate)]
    pub up: Option<Rate>,
    /// Rate for incoming traffic, which is otherwise not shaped
    #[arg(long, value_name = "RATE", value_parser = shaper_rate)]
    pub down: Option<Rate>,
    /// The queues and the link.
    #[command(flatten)]
    pub shaper: ShaperArgs,
    /// Read interfaces, rates and layouts from an sqm-scripts configuration of OpenWrt
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "interface", "up", "down", "layout", "queue", "link", "overhead", "mpu", "systemd",
        ]
    )]
    pub uci: Option<PathBuf>,
    /// Print the tc and ip commands that do the same, and change nothing
    #[arg(long, conflicts_with = "systemd")]
    pub dry_run: bool,
    /// Print a systemd unit that does this whenever the interface exists, and change nothing
    #[arg(long)]
    pub systemd: bool,
    /// Print nothing on success
    #[arg(long)]
    pub quiet: bool,
    /// Test the path to this server (`goodqueue server`) before and after. Keep the shaper only if delay
    /// under load fell and enough goodput is left
    #[arg(
        long,
        value_name = "HOST[:PORT]",
        conflicts_with_all = ["uci", "dry_run", "systemd"],
        help_heading = "Verify"
    )]
    pub verify: Option<String>,
    /// Goodput that must be left in each direction, as a share of the goodput before
    #[arg(long, value_name = "SHARE", default_value = "80%", requires = "verify", help_heading = "Verify")]
    pub least_goodput: String,
    /// Length of each load
    #[arg(long, value_name = "TIME", default_value = "10s", requires = "verify", help_heading = "Verify")]
    pub length: String,
    /// The word that the server printed, or the server's key.
    #[command(flatten, next_help_heading = "Verify")]
    pub key: KeyArgs,
}

/// The rate of a shaper. `bps` is refused: as in `tc` it means bytes per second, and a rate that was meant in
/// bits would be eight times too high to have any effect.
pub(crate) fn shaper_rate(text: &str) -> Result<Rate, String> {
    let rate = read_rate(text)?;
    if text.to_ascii_lowercase().ends_with("bps") {
        let bits = Rate(rate.0 / 8);
        return Err(format!(
            "`bps` are bytes per second, as in tc; write {rate}, or {bits} if you mean bits"
        ));
    }
    Ok(rate)
}

/// The queues of a shaper, and the link behind it.
#[derive(Args, Clone, Debug)]
pub struct ShaperArgs {
    /// A layout of sqm-scripts: piece_of_cake, layer_cake, simple, simplest
    /// [default: piece_of_cake; simple if the kernel shapes and has no cake]
    #[arg(long, value_name = "LAYOUT", conflicts_with = "queue")]
    pub layout: Option<String>,
    /// The kind of queue in both directions, with its parameters; `goodqueue queues` lists them. The kernel's
    /// queues can be cake, cake_mq or htb; `shape` takes any
    #[arg(short, long, value_name = "QUEUE[,PARAM=VALUE]...")]
    pub queue: Option<String>,
    /// Overhead of the link behind the interface, as a keyword of tc-cake(8), such as docsis or pppoe-ptm
    ///
    /// Which one to use on which line:
    ///   fibre, Ethernet       ethernet
    ///   cable                 docsis
    ///   VDSL2, G.fast         pppoe-ptm with PPPoE, otherwise bridged-ptm
    ///   ADSL, VDSL over ATM   pppoe-llcsnap, bridged-llcsnap, ...: see the modem's status page
    ///   not known             conservative on ADSL, otherwise ethernet
    ///   with a VLAN tag       append ,ether-vlan: pppoe-ptm,ether-vlan
    /// A framing (atm, ptm, noatm) works alone, or after a keyword to replace its framing:
    /// --link atm --overhead 44
    #[arg(long, value_name = "LINK[,WORD]...", verbatim_doc_comment)]
    pub link: Option<String>,
    /// Bytes that the link adds to a packet, without VLAN tags, instead of those of --link
    #[arg(
        long,
        value_name = "BYTES",
        allow_hyphen_values = true,
        value_parser = clap::value_parser!(i16).range(-64..=256)
    )]
    pub overhead: Option<i16>,
    /// Minimum length of a packet on the link (MPU), instead of that of --link
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(0..=256))]
    pub mpu: Option<u16>,
}

/// What to do with shaped interfaces.
#[derive(Clone, Debug, Subcommand)]
pub enum SqmAction {
    /// Show which interfaces are shaped, and what their queues count
    Status {
        /// Only this interface
        #[arg(value_name = "IFACE")]
        interface: Option<String>,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Stop shaping an interface, and restore what was there before
    Stop {
        /// The interface
        #[arg(value_name = "IFACE")]
        interface: String,
        /// Print nothing on success
        #[arg(long)]
        quiet: bool,
    },
}
