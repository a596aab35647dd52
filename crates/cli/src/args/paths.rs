//! What may be typed after `server` and `probe`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

pub(super) const SERVER_EXAMPLES: &str = "\
Examples:
  goodqueue server                          # UDP port 2112, for goodqueue probe and irtt client
  goodqueue server --key-file key.txt       # only for those who have the key
  goodqueue server --bind 192.0.2.7 --bind 2001:db8::7 --sessions-per-network 4
  goodqueue server --min-interval 10ms --max-length 10min --json

A server gives a stranger no more bytes than it got from him. It answers requests to open at a
rate for each network, and probes only to an address that has shown that it receives. irtt's
client sends a request that is shorter than its answer; it is answered when it asks for the second
time, after a second.";

pub(super) const PROBE_EXAMPLES: &str = "\
Examples:
  goodqueue probe measure.example.net
  goodqueue probe 192.0.2.7 --length 1min --interval 10ms -o line.irtt.json.gz
  goodqueue probe 2001:db8::7 --dscp ef --size 172          # a telephone's packets
  goodqueue probe 192.0.2.7 --key-file key.txt --json

At the other end: goodqueue server, or irtt server. One-way delays are shown above their least
value, which needs no equal clocks; those by both clocks are in the file of -o.";

/// `goodqueue server`.
#[derive(Args, Debug)]
pub struct ServerArgs {
    /// Listen at this address only; may be given several times [default: all of this machine]
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',')]
    pub bind: Vec<String>,
    /// UDP port; 0 has one chosen
    #[arg(long, default_value_t = goodqueue_path::PORT, value_name = "PORT")]
    pub port: u16,
    /// The key that clients must have.
    #[command(flatten)]
    pub key: KeyArgs,
    /// Sessions at a time
    #[arg(long, default_value_t = 1000, value_name = "N", help_heading = "Limits")]
    pub sessions: usize,
    /// Sessions at a time of one network
    #[arg(long, default_value_t = 16, value_name = "N", help_heading = "Limits")]
    pub sessions_per_network: u32,
    /// How long the prefix of one network is, for IPv4 and IPv6
    #[arg(long, default_value = "24,56", value_name = "BITS,BITS", help_heading = "Limits")]
    pub network: String,
    /// Requests to open of one network that are answered each second; twice as many at once after a silence
    #[arg(long, default_value_t = 5, value_name = "N", help_heading = "Limits")]
    pub open_rate: u32,
    /// Longest session; 0s is no limit
    #[arg(long, default_value = "1h", value_name = "TIME", help_heading = "Limits")]
    pub max_length: String,
    /// Shortest interval between the probes of a session
    #[arg(long, default_value = "1ms", value_name = "TIME", help_heading = "Limits")]
    pub min_interval: String,
    /// Longest UDP payload of a probe, bytes
    #[arg(long, default_value_t = 1472, value_name = "BYTES", help_heading = "Limits")]
    pub max_size: u16,
    /// A session that is silent for this long is over; a quarter of it is the longest interval
    #[arg(long, default_value = "60s", value_name = "TIME", help_heading = "Limits")]
    pub idle: String,
    /// Print what happens as JSON, one object for each line
    #[arg(long)]
    pub json: bool,
    /// Print errors only
    #[arg(long, conflicts_with = "json")]
    pub quiet: bool,
}

/// Where the key comes from.
#[derive(Args, Debug)]
pub struct KeyArgs {
    /// Key of the HMAC (MD5, as irtt's) over all packets: text, or hexadecimal digits after 0x. Other users
    /// of this machine see it in the list of processes
    #[arg(long, value_name = "KEY", conflicts_with = "key_file")]
    pub key: Option<String>,
    /// File with the key in its first line
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
}

/// Values of `--stats`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StatsArg {
    /// No statistics
    None,
    /// How many probes arrived
    Count,
    /// Which of the last 64 arrived
    Window,
    /// Both
    Both,
}

/// Values of `--stamps`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StampsArg {
    /// No times
    None,
    /// When the server sends the reply
    Send,
    /// When the server receives the probe
    Receive,
    /// Both
    Both,
    /// The middle of both
    Midpoint,
}

/// Values of `--clock`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClockArg {
    /// The wall clock: one-way delays
    Wall = 1,
    /// The monotonic clock: their changes only
    Monotonic = 2,
    /// Both
    Both = 3,
}

/// Values of `--df`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DfArg {
    /// Probes are not cut into fragments
    On,
    /// They may be
    Off,
}

/// `goodqueue probe`.
#[derive(Args, Debug)]
pub struct ProbeArgs {
    /// The server: a name or an address, with :PORT if it has another than irtt's
    #[arg(value_name = "HOST[:PORT]")]
    pub host: String,
    /// How long to send
    #[arg(short, long, default_value = "10s", value_name = "TIME")]
    pub length: String,
    /// Time between probes; servers of irtt allow 10ms, ours 1ms, unless set otherwise
    #[arg(short, long, default_value = "20ms", value_name = "TIME")]
    pub interval: String,
    /// UDP payload of a probe, bytes [default: what the protocol needs, 60]
    #[arg(short, long, value_name = "BYTES")]
    pub size: Option<u16>,
    /// DSCP of probes and replies: a name (EF, CS1, AF41), dscp:46 or tos:0xb8
    #[arg(long, default_value = "CS0", value_name = "DSCP")]
    pub dscp: String,
    /// The key of the server.
    #[command(flatten)]
    pub key: KeyArgs,
    /// The server's UDP port
    #[arg(short, long, value_name = "PORT")]
    pub port: Option<u16>,
    /// Use IPv4 only
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    pub ipv4: bool,
    /// Use IPv6 only
    #[arg(short = '6', long)]
    pub ipv6: bool,
    /// Send from this address, or address and port
    #[arg(long, value_name = "ADDRESS[:PORT]", help_heading = "Packets")]
    pub local: Option<String>,
    /// TTL or hop limit of probes [default: the system's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..), help_heading = "Packets")]
    pub ttl: Option<u8>,
    /// Forbid that probes are cut into fragments, or allow it [default: the system's]
    #[arg(long, value_enum, value_name = "ON|OFF", help_heading = "Packets")]
    pub df: Option<DfArg>,
    /// What probes are filled with: none (zeros), rand or pattern:HEX
    #[arg(long, default_value = "none", value_name = "FILL", help_heading = "Packets")]
    pub fill: String,
    /// What the server is to fill replies with: rand, or what it allows [default: its choice]
    #[arg(
        long,
        default_value = "",
        value_name = "FILL",
        hide_default_value = true,
        help_heading = "Packets"
    )]
    pub server_fill: String,
    /// What the server tells of probes that arrived; without it, nobody knows which way a loss was
    #[arg(long, value_enum, default_value = "both", value_name = "WHAT", help_heading = "Server")]
    pub stats: StatsArg,
    /// Which times the server notes
    #[arg(long, value_enum, default_value = "both", value_name = "WHICH", help_heading = "Server")]
    pub stamps: StampsArg,
    /// By which clock
    #[arg(long, value_enum, default_value = "both", value_name = "WHICH", help_heading = "Server")]
    pub clock: ClockArg,
    /// Go on where the server allows less than was asked for
    #[arg(long, help_heading = "Server")]
    pub loose: bool,
    /// How long to wait for an answer to each request to open
    #[arg(long, default_value = "1s,2s,4s,8s", value_name = "TIMES", help_heading = "Server")]
    pub timeouts: String,
    /// How long to wait for a reply at least; four times the longest round trip, if that is more
    #[arg(long, default_value = "4s", value_name = "TIME", help_heading = "Server")]
    pub wait: String,
    /// Write each probe into this new file in irtt's format: .irtt.json.gz or .json.gz (compressed), .json
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Print the figures as JSON instead of the table
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// No progress, no hints
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
}
