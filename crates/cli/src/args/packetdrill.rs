//! Arguments of `goodqueue packetdrill`.

use std::path::PathBuf;

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  goodqueue packetdrill test.pkt                 one script; its first difference, if there is one
  goodqueue packetdrill gtests/net/tcp           all scripts in a folder, with a summary
  goodqueue packetdrill --ip-version ipv6 --mtu 1520 -D CMSG_LEVEL_IP=SOL_IPV6 test.pkt
  goodqueue packetdrill --json suite             an entry for each script

It runs no shell command of a script and touches no network. Exit codes: 0 no script failed · \
1 a script failed · 2 a file is missing or is not a script";

/// `goodqueue packetdrill`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct PacketdrillArgs {
    /// Scripts, or folders of scripts (*.pkt)
    #[arg(required = true, value_name = "FILE|DIR")]
    pub files: Vec<PathBuf>,
    /// IP version of the connections: ipv4 or ipv6 [default: the script's, or ipv4]
    #[arg(long, alias = "ip_version", value_name = "VERSION")]
    pub ip_version: Option<String>,
    /// Largest IP packet of the device, bytes [default: the script's, or 1500]
    #[arg(long, value_name = "BYTES")]
    pub mtu: Option<u32>,
    /// How far off a time may be, in microseconds [default: the script's, or 4000]
    #[arg(long, alias = "tolerance_usecs", value_name = "N")]
    pub tolerance_usecs: Option<u32>,
    /// Replace NAME in calls, TCP options and ICMP codes by VALUE; may be repeated
    #[arg(short = 'D', long, value_name = "NAME=VALUE")]
    pub define: Vec<String>,
    /// Print the results as JSON
    #[arg(long)]
    pub json: bool,
    /// Print only failures and the total
    #[arg(long)]
    pub quiet: bool,
}
