//! The arguments of `goodqueue link`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(super) const EXAMPLES: &str = "\
Examples:
  goodqueue link --down 20mbit --up 5mbit --expose 8080 -- sh -c 'curl $GOODQUEUE_SERVER:8080'
  goodqueue link --down 16mbit --up 1mbit --queue fq_codel --expose 8080 --quiet -- npm test
  goodqueue link --rate 5mbit --expose 8080 -o result --shell
  goodqueue link --rate 2mbit --rtt 100ms --loss 1% --expose 5432 --shell
  goodqueue link --rate 20mbit --at 10s:rate=2mbit,rtt=200ms --at 20s:rate=20mbit --shell
  goodqueue link --down 2mbit --up 300kbit --rtt 120ms --outside -- chromium https://example.org
  goodqueue link --link wifi.toml --expose 8080 -- sh -c 'curl $GOODQUEUE_SERVER:8080'
  goodqueue link --rate 10mbit --watch --expose 5201 -- sh -c 'iperf3 -c $GOODQUEUE_SERVER'

The program sees a network with one other host, whose address is in $GOODQUEUE_SERVER. That host forwards \
its exposed ports to this machine's loopback interface. With --outside the program also reaches other \
networks and DNS, over TCP and UDP; otherwise it reaches nothing else. Both directions use the same kind \
of queue.

The exit code is the program's. It is 126 if the program cannot be started, 127 if there is no such program, \
and 128 plus the signal's number if a signal ended it. Goodqueue's own errors are 2 and 3, with a message.";

/// `goodqueue link`.
#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct LinkArgs {
    /// A subcommand, if there is one.
    #[command(subcommand)]
    pub action: Option<LinkAction>,
    /// The link.
    #[command(flatten)]
    pub emulation: EmulationArgs,
    /// Use the Wi-Fi network in `[wifi]` of this file instead of a line; the table is that of experiment
    /// files
    #[arg(
        long,
        value_name = "FILE.toml",
        conflicts_with_all = [
            "rate", "up", "down", "trace_up", "trace_down", "rtt", "loss", "at", "ring", "bql",
        ],
        help_heading = "Link"
    )]
    pub link: Option<PathBuf>,
    /// Let the program's connections negotiate ECN
    #[arg(long, help_heading = "Link")]
    pub ecn: bool,
    /// Let hosts send TCP super-packets (TSO), which the queue cuts or takes whole: for rates above 1 Gbit/s
    #[arg(long, conflicts_with = "link", help_heading = "Link")]
    pub super_packets: bool,
    /// Expose the port LOCAL of this machine's loopback interface, under its own number or as PORT. TCP, or
    /// UDP with /udp. May be repeated
    #[arg(long, value_name = "[PORT:]LOCAL[/udp]", help_heading = "Link")]
    pub expose: Vec<String>,
    /// Let the program reach, over the link, whatever this machine reaches over TCP and UDP: DNS, web sites,
    /// other hosts. This needs no root
    #[arg(long, help_heading = "Link")]
    pub outside: bool,
    /// What to print and write.
    #[command(flatten)]
    pub told: ToldArgs,
    /// Write the exit code and the record as JSON to FILE; /dev/fd/3 is file descriptor 3
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub json: Option<PathBuf>,
    /// Run $SHELL
    #[arg(long, conflicts_with = "command")]
    pub shell: bool,
    /// The program and its arguments
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "shell")]
    pub command: Vec<OsString>,
}

/// An emulated link.
#[derive(Args, Clone, Debug)]
pub struct EmulationArgs {
    /// Rate in each direction, counting Ethernet frames without FCS [default: 20mbit]
    #[arg(long, value_name = "RATE", help_heading = "Link")]
    pub rate: Option<String>,
    /// Rate up: from the program, or from IF1
    #[arg(long, value_name = "RATE", help_heading = "Link")]
    pub up: Option<String>,
    /// Rate down: to the program, or to IF1
    #[arg(long, value_name = "RATE", help_heading = "Link")]
    pub down: Option<String>,
    /// A Mahimahi trace for the line up, instead of a rate
    #[arg(long, value_name = "FILE", conflicts_with = "up", help_heading = "Link")]
    pub trace_up: Option<PathBuf>,
    /// A Mahimahi trace for the line down
    #[arg(long, value_name = "FILE", conflicts_with = "down", help_heading = "Link")]
    pub trace_down: Option<PathBuf>,
    /// Round-trip time without load, half of it each way
    #[arg(long, value_name = "TIME", default_value = "20ms", help_heading = "Link")]
    pub rtt: String,
    /// The kind of queue in both directions; `goodqueue queues` lists them with their parameters
    #[arg(
        short,
        long,
        value_name = "QUEUE[,PARAM=VALUE]...",
        default_value = "pfifo:1000",
        help_heading = "Link"
    )]
    pub queue: String,
    /// Probability of loss on the line, each way
    #[arg(long, value_name = "SHARE", default_value = "0%", help_heading = "Link")]
    pub loss: String,
    /// Change the link TIME after its start, as `goodqueue link set` does: rate, up, down, rtt or loss. May
    /// be repeated
    #[arg(long, value_name = "TIME:NAME=VALUE[,...]", help_heading = "Link")]
    pub at: Vec<String>,
    /// Put a device ring of this many packets between queue and line
    #[arg(long, value_name = "PACKETS", help_heading = "Link")]
    pub ring: Option<u32>,
    /// Keep that ring short with byte queue limits (BQL)
    #[arg(long, requires = "ring", help_heading = "Link")]
    pub bql: bool,
    /// Seed of all random numbers (loss, queues that drop at random)
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Link")]
    pub seed: u64,
}

/// What a link prints and writes.
#[derive(Args, Clone, Debug)]
pub struct ToldArgs {
    /// Print a line each second: the rate and the waiting time of each direction
    #[arg(long, help_heading = "Output")]
    pub watch: bool,
    /// Write the record, page, pictures, CSV and .flent.gz files into this new folder. Or write one file,
    /// whose suffix sets the format: .html .svg .png .csv .parquet .md .json .gqz .flent.gz
    #[arg(short, long, value_name = "DIR|FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Print no report
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
}

/// What to do with a running link.
#[derive(Clone, Debug, Subcommand)]
pub enum LinkAction {
    /// Change a link while it runs
    #[command(after_help = SET_EXAMPLES)]
    Set(LinkSetArgs),
}

const SET_EXAMPLES: &str = "\
Examples:
  goodqueue link set --rate 2mbit               # within the program, or if only one link runs
  goodqueue link set --pid 4711 --down 1mbit --rtt 200ms --loss 2%

The change takes about 20 ms. Waiting packets stay in the queue; the one on the line finishes at the old \
rate. No packet overtakes another, so a shorter delay takes effect once the packets in flight have arrived.";

/// `goodqueue link set`.
#[derive(Args, Clone, Debug, Default)]
pub struct LinkSetArgs {
    /// Rate of both directions
    #[arg(long, value_name = "RATE")]
    pub rate: Option<String>,
    /// Rate from the program
    #[arg(long, value_name = "RATE")]
    pub up: Option<String>,
    /// Rate to the program
    #[arg(long, value_name = "RATE")]
    pub down: Option<String>,
    /// Round-trip time without load, half of it each way
    #[arg(long, value_name = "TIME")]
    pub rtt: Option<String>,
    /// Probability of loss on the line, each way
    #[arg(long, value_name = "SHARE")]
    pub loss: Option<String>,
    /// Process id of the `goodqueue link` to change [default: the one around this program, or the only one]
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
}
