//! What may be typed after `server` and `probe`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

pub(super) const SERVER_EXAMPLES: &str = "\
Examples:
  goodqueue server                          # port 2112, for goodqueue test, goodqueue probe and irtt client
  goodqueue server --key-file key.txt       # only for those who have the key; it stays the same
  goodqueue server --bind 192.0.2.7 --bind 2001:db8::7 --sessions-per-network 4
  goodqueue server --min-interval 10ms --max-length 10min --json

The server sends a stranger no more bytes than it received. It limits the rate of requests from
each network, and it answers probes only from an address that has shown that it receives. The
request of irtt's client is shorter than the answer, so the server answers its second request,
after one second.

Load goes only to those who have the word that the server prints, over TCP, to the address from
which they proved it (TLS 1.3; the server's key follows from the word). With --key the word is
that key, and probes need it too.";

pub(super) const PROBE_EXAMPLES: &str = "\
Examples:
  goodqueue probe measure.example.net
  goodqueue probe 192.0.2.7 --length 1min --interval 10ms -o line.irtt.json.gz
  goodqueue probe 2001:db8::7 --dscp ef --size 172          # a telephone's packets
  goodqueue probe 192.0.2.7 --key-file key.txt --json
  goodqueue probe 192.0.2.7 --length 1h --stream csv > line.csv   # a line for each probe, at once

Run goodqueue server or irtt server at the other end. The table shows one-way delays above their
least value, so the two clocks need not agree; the file of -o also has the delays by both clocks.";

pub(super) const TEST_EXAMPLES: &str = "\
Examples:
  goodqueue test measure.example.net --key k3v9zt7mpqx2c5w8ydhs4b6gnr       # the word that the server printed
  goodqueue test 192.0.2.7 --key-file word.txt -o line                     # with page, pictures and record
  goodqueue test 192.0.2.7 rrul --length 30s --key-file word.txt           # any test of `goodqueue tests`
  goodqueue test 192.0.2.7 ping --length 1min                              # without load, so without a key

Without TEST it measures three loads, each after an idle time: downloads, uploads, both at once. It takes about 40
seconds. Run `goodqueue server` at the other end, close to the line that you test but not behind it.";

/// `goodqueue test`.
#[derive(Args, Debug)]
pub struct TestArgs {
    /// The server: a name or an address; :PORT if it is not 2112
    #[arg(value_name = "HOST[:PORT]")]
    pub host: String,
    /// A test of `goodqueue tests` [default: downloads, then uploads, then both]
    #[arg(value_name = "TEST")]
    pub test: Option<String>,
    /// The word that the server printed, or the server's key.
    #[command(flatten)]
    pub key: KeyArgs,
    /// The server's port, for UDP and TCP
    #[arg(short, long, value_name = "PORT")]
    pub port: Option<u16>,
    /// Use IPv4 only
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    pub ipv4: bool,
    /// Use IPv6 only
    #[arg(short = '6', long)]
    pub ipv6: bool,
    /// Length of each load
    #[arg(short, long, default_value = "10s", value_name = "TIME")]
    pub length: String,
    /// Idle time before each load
    #[arg(long, default_value = "3s", value_name = "TIME")]
    pub idle: String,
    /// Flows in each direction, where the test leaves it open [default: 4]
    #[arg(long, value_name = "N")]
    pub flows: Option<u32>,
    /// Congestion control of the senders [default: cubic]
    #[arg(long, value_name = "NAME")]
    pub cc: Option<String>,
    /// What carries the flows: tcp (the kernels'), or quic (quinn; congestion controls cubic, newreno, bbr)
    /// [default: tcp]
    #[arg(long, value_name = "NAME")]
    pub transport: Option<String>,
    /// Say where on the path the queue is: ask each router on the way about once a second
    #[arg(long)]
    pub locate: bool,
    /// Time between two probes
    #[arg(long, default_value = "20ms", value_name = "TIME")]
    pub probe_interval: String,
    /// Step of the goodput series
    #[arg(long, default_value = "200ms", value_name = "TIME")]
    pub step: String,
    /// Write record, page, pictures, CSV and .flent.gz files into this new folder; or write one file, in the
    /// format of its suffix: .html .svg .png .csv .parquet .md .json .gqz
    #[arg(short, long, value_name = "DIR|FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Print the record as JSON instead of the sentences and the table
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Print all columns of the table, however wide
    #[arg(long, help_heading = "Output")]
    pub wide: bool,
    /// Title for page and files
    #[arg(short, long, default_value = "", value_name = "TEXT", help_heading = "Output")]
    pub title: String,
    /// Note for page and files
    #[arg(short, long, default_value = "", value_name = "TEXT", help_heading = "Output")]
    pub note: String,
    /// No progress, no hints
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
}

/// `goodqueue server`.
#[derive(Args, Debug)]
pub struct ServerArgs {
    /// Listen on this address only; can be given several times [default: all addresses]
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',')]
    pub bind: Vec<String>,
    /// UDP port; 0 lets the system choose one
    #[arg(long, default_value_t = goodqueue_path::PORT, value_name = "PORT")]
    pub port: u16,
    /// UDP port of load over QUIC [default: the port after --port; with --port 0 one that the system chooses]
    #[arg(long, value_name = "PORT")]
    pub quic_port: Option<u16>,
    /// The key that clients must have.
    #[command(flatten)]
    pub key: KeyArgs,
    /// User to become once the sockets are open, by name or number. Only root can, and becomes nobody without
    /// this flag
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
    /// Hand out counters for Prometheus at http://ADDRESS:PORT/metrics; best at 127.0.0.1, as anybody may ask
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub metrics: Option<String>,
    /// Most sessions at the same time
    #[arg(long, default_value_t = 1000, value_name = "N", help_heading = "Limits")]
    pub sessions: usize,
    /// Most sessions at the same time from one network
    #[arg(long, default_value_t = 16, value_name = "N", help_heading = "Limits")]
    pub sessions_per_network: u32,
    /// Prefix length of one network, for IPv4 and IPv6
    #[arg(long, default_value = "24,56", value_name = "BITS,BITS", help_heading = "Limits")]
    pub network: String,
    /// Most requests per second from one network that are answered; twice as many at once after a silence
    #[arg(long, default_value_t = 5, value_name = "N", help_heading = "Limits")]
    pub open_rate: u32,
    /// Most flows of one load, in both directions together; 0 takes no load
    #[arg(long, default_value_t = 128, value_name = "N", help_heading = "Limits")]
    pub flows: u32,
    /// Most loads at the same time
    #[arg(long, default_value_t = 4, value_name = "N", help_heading = "Limits")]
    pub loads: usize,
    /// Most control connections of loads at the same time, at least 1
    #[arg(long, default_value_t = 32, value_name = "N", help_heading = "Limits")]
    pub controls: usize,
    /// Most control connections at the same time from one network, at least 1
    #[arg(long, default_value_t = 8, value_name = "N", help_heading = "Limits")]
    pub controls_per_network: usize,
    /// Longest session of probes; 0s is no limit. A load lasts that long at most, and never over an hour
    #[arg(long, default_value = "1h", value_name = "TIME", help_heading = "Limits")]
    pub max_length: String,
    /// Shortest interval between the probes of a session
    #[arg(long, default_value = "1ms", value_name = "TIME", help_heading = "Limits")]
    pub min_interval: String,
    /// Longest UDP payload of a probe, bytes
    #[arg(long, default_value_t = 1472, value_name = "BYTES", help_heading = "Limits")]
    pub max_size: u16,
    /// End a session after this much silence; the longest interval is a quarter of it
    #[arg(long, default_value = "60s", value_name = "TIME", help_heading = "Limits")]
    pub idle: String,
    /// Print events as JSON, one object per line
    #[arg(long)]
    pub json: bool,
    /// Print errors only
    #[arg(long, conflicts_with = "json")]
    pub quiet: bool,
}

/// Where the key comes from.
#[derive(Args, Debug)]
pub struct KeyArgs {
    /// The server's key: for load the word that it printed; for probes that of irtt's HMAC (MD5), text or
    /// hexadecimal digits after 0x. Other users of this machine see it in the list of processes
    #[arg(long, value_name = "KEY", conflicts_with = "key_file")]
    pub key: Option<String>,
    /// File whose first line is the key
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
    /// The wall clock: absolute one-way delays
    Wall,
    /// The monotonic clock: changes of one-way delays
    Monotonic,
    /// Both
    Both,
}

/// Values of `--df`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DfArg {
    /// Probes are not fragmented
    On,
    /// Probes may be fragmented
    Off,
}

/// The form of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StreamArg {
    /// A header and a row for each probe
    Csv,
    /// A JSON object for each probe
    Ndjson,
}

/// `goodqueue probe`.
#[derive(Args, Debug)]
pub struct ProbeArgs {
    /// The server: a name or an address; :PORT if it is not irtt's 2112
    #[arg(value_name = "HOST[:PORT]")]
    pub host: String,
    /// How long to send
    #[arg(short, long, default_value = "10s", value_name = "TIME")]
    pub length: String,
    /// Time between probes; by default irtt's server allows 10ms and ours 1ms
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
    /// Forbid or allow fragmentation of probes [default: the system's]
    #[arg(long, value_enum, value_name = "ON|OFF", help_heading = "Packets")]
    pub df: Option<DfArg>,
    /// Fill of the probes: none (zeros), rand or pattern:HEX
    #[arg(long, default_value = "none", value_name = "FILL", help_heading = "Packets")]
    pub fill: String,
    /// Fill of the replies: rand, or what the server allows [default: the server's choice]
    #[arg(
        long,
        default_value = "",
        value_name = "FILL",
        hide_default_value = true,
        help_heading = "Packets"
    )]
    pub server_fill: String,
    /// What the server reports about received probes; without it losses have no direction
    #[arg(long, value_enum, default_value = "both", value_name = "WHAT", help_heading = "Server")]
    pub stats: StatsArg,
    /// Which time stamps the server sends
    #[arg(long, value_enum, default_value = "both", value_name = "WHICH", help_heading = "Server")]
    pub stamps: StampsArg,
    /// Which of the server's clocks
    #[arg(long, value_enum, default_value = "both", value_name = "WHICH", help_heading = "Server")]
    pub clock: ClockArg,
    /// Continue if the server allows less than requested
    #[arg(long, help_heading = "Server")]
    pub loose: bool,
    /// How long to wait for the answer to each opening request
    #[arg(long, default_value = "1s,2s,4s,8s", value_name = "TIMES", help_heading = "Server")]
    pub timeouts: String,
    /// Least time to wait for a reply; four times the longest round trip if that is more
    #[arg(long, default_value = "4s", value_name = "TIME", help_heading = "Server")]
    pub wait: String,
    /// Write each probe into this new file in irtt's format: .irtt.json.gz or .json.gz (compressed), .json
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Print a line for each probe as soon as it is known what became of it; the table then goes to the
    /// standard error output
    #[arg(long, value_name = "FORMAT", conflicts_with = "json", help_heading = "Output")]
    pub stream: Option<StreamArg>,
    /// Print the figures as JSON instead of the table
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// No progress, no hints
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
}
