//! Arguments of `goodqueue packetdrill`.

use std::path::PathBuf;

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  goodqueue packetdrill test.pkt                 one script; its first difference, if there is one
  goodqueue packetdrill gtests/net/tcp           all scripts below a folder, with a summary
  goodqueue packetdrill --ip-version ipv6 --mtu 1520 -D CMSG_LEVEL_IP=SOL_IPV6 test.pkt
  goodqueue packetdrill --json suite             an entry for each script

No command of a script is run, and no network is touched. Exit codes: 0 none failed · 1 a script failed · \
2 a file is missing or is not a script";

/// `goodqueue packetdrill`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct PacketdrillArgs {
    /// Scripts, and folders whose scripts (*.pkt) are run
    #[arg(required = true, value_name = "FILE|DIR")]
    pub files: Vec<PathBuf>,
    /// The IP version of the connections: ipv4 or ipv6 [default: ipv4, or what the script says]
    #[arg(long, value_name = "VERSION")]
    pub ip_version: Option<String>,
    /// The largest IP packet of the device, bytes [default: 1500, or what the script says]
    #[arg(long, value_name = "BYTES")]
    pub mtu: Option<u32>,
    /// How far off a time may be, microseconds, for scripts that do not set one [default: 4000]
    #[arg(long, value_name = "N")]
    pub tolerance_usecs: Option<u32>,
    /// A name in the script's calls that stands for another; may be repeated
    #[arg(short = 'D', long, value_name = "NAME=VALUE")]
    pub define: Vec<String>,
    /// Print the results as JSON
    #[arg(long)]
    pub json: bool,
    /// Print only what failed, and the total
    #[arg(long)]
    pub quiet: bool,
}
