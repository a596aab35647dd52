//! The arguments of `server`, `probe` and `test`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use goodqueue_probe::FlowCount;

pub(super) const SERVER_EXAMPLES: &str = "\
Examples:
  goodqueue server                          # port 2112, for goodqueue test and probe, and irtt
  goodqueue server --key-file key.txt       # only for clients with this key, which stays the same
  goodqueue server --bind 192.0.2.7 --bind 2001:db8::7 --sessions-per-network 4
  goodqueue server --min-interval 10ms --max-length 10min --json
  goodqueue server --https 0.0.0.0:4443     # and RPM tests over HTTPS, for anybody

The server sends no more bytes to an unknown address than it received from it. It limits the rate of \
requests from each network, and answers probes only after the address has shown that it receives the \
server's packets. The request of irtt's client is shorter than the answer, so the server answers only its \
second request, after one second.

Only clients with the word that the server prints may ask for load, and the load goes only to the address \
from which they proved that they have it (TLS 1.3; the server's key is derived from the word). With --key \
the word is that key, and probes need it too.

With --https anybody may load the line over HTTPS, up to --https-rate for all clients together.";

pub(super) const PROBE_EXAMPLES: &str = "\
Examples:
  goodqueue probe measure.example.net
  goodqueue probe 192.0.2.7 --length 1min --interval 10ms -o line.irtt.json.gz
  goodqueue probe 2001:db8::7 --dscp ef --size 172          # a telephone's packets
  goodqueue probe 192.0.2.7 --key-file key.txt --json
  goodqueue probe 192.0.2.7 --length 1h --stream csv > line.csv   # each probe as it is answered
  goodqueue probe 192.0.2.7 --length forever                # watch a line; Ctrl-C shows the table
  goodqueue probe 192.0.2.7 --ecn ect1 --dscp nqb           # does ECT(1) survive the path?
  goodqueue probe 192.0.2.7 --schedule poisson --size 100..1400

Run goodqueue server or irtt server at the other end. The table shows one-way delays relative to their \
smallest value, so the two clocks need not agree. The file of -o also has the delays by both clocks.";

pub(super) const TEST_EXAMPLES: &str = "\
Examples:
  goodqueue test measure.example.net --key k3v9zt7mpqx2c5w8ydhs4b6gnr   # the word of the server
  goodqueue test 192.0.2.7 --key-file word.txt -o line            # with page, pictures and record
  goodqueue test 192.0.2.7 rrul --length 30s --key-file word.txt  # a test from `goodqueue tests`
  goodqueue test 192.0.2.7 ping --length 1min                     # no load, so no key
  goodqueue test 192.0.2.7 --key-file word.txt --peer 192.168.1.1 # Wi-Fi or provider: who delays?
  goodqueue test 192.0.2.7 rtt_fair_var -H far.example.net -H 203.0.113.9 --key-file word.txt
  goodqueue test https://rpm.example.net                          # round trips per minute (RPM)
  goodqueue test rpm.example.net rpm                              # the same

Without TEST it measures three loads, each after an idle time: downloads, uploads, then both at once. This \
takes about 40 seconds. Run `goodqueue server` at the other end, near the line that you test but \
not on it.

With https://, or as the test rpm, it measures responsiveness (RPM, draft-ietf-ippm-responsiveness) \
against any server for that test: downloads, then uploads, until the figures are stable.";

/// `goodqueue test`.
#[derive(Args, Debug)]
pub struct TestArgs {
    /// The server: a name or an address, with :PORT if it is not 2112. https://HOST is a server for the test
    /// rpm; the default port of that test is 443
    #[arg(value_name = "HOST[:PORT]|https://HOST")]
    pub host: String,
    /// A test from `goodqueue tests` [default: downloads, then uploads, then both]
    #[arg(value_name = "TEST")]
    pub test: Option<String>,
    /// A further server, for tests with several (rtt_fair; rtt_fair_var takes any number); may be repeated.
    /// If its key is not that of --key, append =KEY
    #[arg(short = 'H', long = "host", value_name = "HOST[:PORT][=KEY]")]
    pub more: Vec<String>,
    /// A second server, in the same home or office, to probe during the test. It shows whether packets wait
    /// in your own network (Wi-Fi) or beyond it
    #[arg(long, value_name = "HOST[:PORT][=KEY]")]
    pub peer: Option<String>,
    /// Applications to run during the load: voip, web, dash, videocall, game, each with :DSCP or written as
    /// for `goodqueue run --with` [default without TEST: voip,web,dash]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub with: Vec<String>,
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
    /// Length of each load; with https:// the maximum [default: 10s; with https:// 20s]
    #[arg(short, long, value_name = "TIME")]
    pub length: Option<String>,
    /// Idle time before each load
    #[arg(long, default_value = "3s", value_name = "TIME")]
    pub idle: String,
    /// Flows in each direction, for tests without a fixed number; 1,8 is 1 up and 8 down [default: 4]. For
    /// rpm, the maximum number of connections [default: 16]
    #[arg(long, value_name = "N|UP,DOWN")]
    pub flows: Option<FlowCount>,
    /// Congestion control of the senders; rrul_var takes several, in turn: cubic,bbr [default: cubic]
    #[arg(long, value_name = "NAME,...")]
    pub cc: Option<String>,
    /// DSCPs of the flows and probes of rrul_var, in turn: CS0,CS1,EF
    #[arg(long, value_name = "DSCP,...", value_delimiter = ',')]
    pub marks: Vec<String>,
    /// Transport of the flows: tcp (the kernel's) or quic (quinn, with the congestion controls cubic, newreno
    /// and bbr) [default: tcp]
    #[arg(long, value_name = "NAME")]
    pub transport: Option<String>,
    /// Accept the HTTPS server whose certificate has this SHA-256; `goodqueue server` prints it
    #[arg(long, value_name = "SHA256", conflicts_with = "insecure", help_heading = "RPM over HTTPS")]
    pub fingerprint: Option<String>,
    /// Accept any certificate from the HTTPS server
    #[arg(long, help_heading = "RPM over HTTPS")]
    pub insecure: bool,
    /// Length of an interval (ID in the draft). A moving average spans four intervals
    #[arg(long, default_value = "1s", value_name = "TIME", help_heading = "RPM over HTTPS")]
    pub rpm_interval: String,
    /// Largest pacing rate of each TCP flow, in payload (SO_MAX_PACING_RATE)
    #[arg(long, value_name = "RATE")]
    pub pacing: Option<String>,
    /// Rate of UDP flows, in tests that do not set it (udp_flood, bursts)
    #[arg(long, value_name = "RATE")]
    pub udp_bandwidth: Option<String>,
    /// UDP payload of the datagrams of UDP flows, bytes
    #[arg(long, value_name = "BYTES")]
    pub udp_pktsize: Option<u32>,
    /// Unit of staggered starts in tests that have them
    #[arg(long, default_value = "5s", value_name = "TIME")]
    pub delay: String,
    /// Find where on the path the queue is: probe each router on the way about once a second
    #[arg(long)]
    pub locate: bool,
    /// Time between two probes
    #[arg(long, default_value = "20ms", value_name = "TIME")]
    pub probe_interval: String,
    /// Time between two samples of goodput, and of the kernels' figures for each flow (TCP_INFO)
    #[arg(long, default_value = "50ms", value_name = "TIME")]
    pub step: String,
    /// Write the record, page, pictures, CSV and .flent.gz files into this new folder. Or write one file,
    /// whose suffix sets the format: .html .svg .png .csv .parquet .md .json .gqz
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

/// What `server` says of `--key`, which is another text than at the other end.
const SERVER_KEY: &str = "\
The key that clients must have. For load, it is the word, of 12 characters or more; for probes, the key of \
irtt's HMAC (MD5), as text or as hexadecimal digits after 0x. Other users of this machine can see it in the \
list of processes [default: for load a new word, which is printed; for probes none]";

/// `goodqueue server`.
#[derive(Args, Debug)]
#[command(mut_arg("key", |key| key.help(SERVER_KEY)))]
pub struct ServerArgs {
    /// Listen on this address only; may be repeated [default: all addresses]
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',')]
    pub bind: Vec<String>,
    /// Port for UDP and TCP; 0 lets the system choose one
    #[arg(long, default_value_t = goodqueue_path::PORT, value_name = "PORT")]
    pub port: u16,
    /// UDP port for load over QUIC [default: the port after --port; with --port 0 the system chooses]
    #[arg(long, value_name = "PORT")]
    pub quic_port: Option<u16>,
    /// The key that clients must have.
    #[command(flatten)]
    pub key: KeyArgs,
    /// User to become once the sockets are open, by name or number. Only root can change its user [default:
    /// nobody if root]
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
    /// Serve counters for Prometheus at http://ADDRESS:PORT/metrics. Anybody can read them, so 127.0.0.1 is
    /// best
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub metrics: Option<String>,
    /// Serve RPM tests (draft-ietf-ippm-responsiveness) over HTTPS at this address, for anybody; may be
    /// repeated
    #[arg(long, value_name = "ADDRESS:PORT", value_delimiter = ',', help_heading = "RPM over HTTPS")]
    pub https: Vec<String>,
    /// The certificate for HTTPS, with its chain, as PEM [default: a new self-signed one]
    #[arg(long, value_name = "FILE", requires = "https_key", help_heading = "RPM over HTTPS")]
    pub https_cert: Option<PathBuf>,
    /// The key of that certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "https_cert", help_heading = "RPM over HTTPS")]
    pub https_key: Option<PathBuf>,
    /// Highest rate of all tests together, in both directions
    #[arg(long, default_value = "1gbit", value_name = "RATE", help_heading = "RPM over HTTPS")]
    pub https_rate: String,
    /// Maximum number of downloads and uploads at the same time; half as many from one network
    #[arg(long, default_value_t = 64, value_name = "N", help_heading = "RPM over HTTPS")]
    pub https_transfers: usize,
    /// Maximum number of sessions at the same time
    #[arg(long, default_value_t = 1000, value_name = "N", help_heading = "Limits")]
    pub sessions: usize,
    /// Maximum number of sessions at the same time from one network
    #[arg(long, default_value_t = 16, value_name = "N", help_heading = "Limits")]
    pub sessions_per_network: u32,
    /// Prefix length of what counts as one network, for IPv4 and IPv6
    #[arg(long, default_value = "24,56", value_name = "BITS,BITS", help_heading = "Limits")]
    pub network: String,
    /// Requests per second that are answered for one network; after a pause, twice as many at once
    #[arg(long, default_value_t = 5, value_name = "N", help_heading = "Limits")]
    pub open_rate: u32,
    /// Maximum number of flows in one load, both directions together; 0 refuses all loads
    #[arg(long, default_value_t = 128, value_name = "N", help_heading = "Limits")]
    pub flows: u32,
    /// Highest rate of one load over TCP or QUIC, pages and videos included, both directions together, on
    /// average since its start. A load that goes beyond it is ended
    #[arg(long, default_value = "100gbit", value_name = "RATE", help_heading = "Limits")]
    pub load_rate: String,
    /// Highest UDP rate of one load in each direction; 0 refuses UDP load
    #[arg(long, default_value = "100mbit", value_name = "RATE", help_heading = "Limits")]
    pub udp_rate: String,
    /// Maximum number of loads at the same time
    #[arg(long, default_value_t = 4, value_name = "N", help_heading = "Limits")]
    pub loads: usize,
    /// Maximum number of control connections for loads at the same time, at least 1
    #[arg(long, default_value_t = 32, value_name = "N", help_heading = "Limits")]
    pub controls: usize,
    /// Maximum number of control connections at the same time from one network, at least 1
    #[arg(long, default_value_t = 8, value_name = "N", help_heading = "Limits")]
    pub controls_per_network: usize,
    /// Longest probe session; 0s means no limit. It limits loads too, which never last more than an hour
    #[arg(long, default_value = "1h", value_name = "TIME", help_heading = "Limits")]
    pub max_length: String,
    /// Shortest interval between the probes of a session
    #[arg(long, default_value = "1ms", value_name = "TIME", help_heading = "Limits")]
    pub min_interval: String,
    /// Longest UDP payload of a probe, bytes
    #[arg(long, default_value_t = 1472, value_name = "BYTES", help_heading = "Limits")]
    pub max_size: u16,
    /// End a session after this time without a packet. The interval of probes may be at most a quarter of it
    #[arg(long, default_value = "60s", value_name = "TIME", help_heading = "Limits")]
    pub idle: String,
    /// Print events as JSON, one object per line
    #[arg(long)]
    pub json: bool,
    /// Print errors only
    #[arg(long, conflicts_with = "json")]
    pub quiet: bool,
}

/// The source of the key.
#[derive(Args, Clone, Debug)]
pub struct KeyArgs {
    /// The server's key. For load, it is the word that the server printed; for probes, the key of irtt's HMAC
    /// (MD5), as text or as hexadecimal digits after 0x. Other users of this machine can see it in the list
    /// of processes
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

/// Values of `--ecn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EcnArg {
    /// Not ECN-capable: queues drop probes instead of marking them
    NotEct,
    /// Queues may mark probes (RFC 3168)
    Ect0,
    /// L4S queues may mark probes (RFC 9331)
    Ect1,
    /// Already marked
    Ce,
}

/// The format of `--stream`.
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
    /// The server: a name or an address, with :PORT if it is not irtt's 2112
    #[arg(value_name = "HOST[:PORT]")]
    pub host: String,
    /// How long to send; `forever` ends with Ctrl-C
    #[arg(short, long, default_value = "10s", value_name = "TIME|forever")]
    pub length: String,
    /// Time between probes [default: 20ms]. By default irtt's server allows no less than 10ms, ours 1ms
    #[arg(short, long, value_name = "TIME")]
    pub interval: Option<String>,
    /// When to send probes. `isochronous`: one each interval. `poisson`: at random, with the interval as the
    /// mean. `trace:FILE`: with the gaps in a file, repeated: one per line, such as 20ms, or a Mahimahi trace
    #[arg(long, default_value = "isochronous", value_name = "HOW")]
    pub schedule: String,
    /// UDP payload of a probe, bytes; 100..1400 draws each size at random [default: the minimum of the
    /// protocol: 60, or 64 with our server]
    #[arg(short, long, value_name = "BYTES|LEAST..MOST")]
    pub size: Option<String>,
    /// DSCP of probes and replies: a name (EF, CS1, AF41), dscp:46 or tos:0xb8
    #[arg(long, default_value = "CS0", value_name = "DSCP")]
    pub dscp: String,
    /// ECN field of probes and replies: ect1 is what L4S sends, ect0 is classic ECN
    #[arg(long, value_enum, default_value = "not-ect", value_name = "ECN")]
    pub ecn: EcnArg,
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
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u8).range(1..),
        help_heading = "Packets"
    )]
    pub ttl: Option<u8>,
    /// Forbid or allow fragmentation of probes [default: the system's]
    #[arg(long, value_enum, value_name = "ON|OFF", help_heading = "Packets")]
    pub df: Option<DfArg>,
    /// Fill of the probes: none (zeros), rand or pattern:HEX
    #[arg(long, default_value = "none", value_name = "FILL", help_heading = "Packets")]
    pub fill: String,
    /// Fill of the replies: rand, or another that the server allows [default: the server's choice]
    #[arg(
        long,
        default_value = "",
        value_name = "FILL",
        hide_default_value = true,
        help_heading = "Packets"
    )]
    pub server_fill: String,
    /// What the server reports about the probes it received; without this, losses have no direction
    #[arg(long, value_enum, default_value = "both", value_name = "WHAT", help_heading = "Server")]
    pub stats: StatsArg,
    /// Which timestamps the server sends
    #[arg(long, value_enum, default_value = "both", value_name = "WHICH", help_heading = "Server")]
    pub stamps: StampsArg,
    /// Which of its clocks the server uses
    #[arg(long, value_enum, default_value = "both", value_name = "WHICH", help_heading = "Server")]
    pub clock: ClockArg,
    /// Continue if the server allows less than requested
    #[arg(long, help_heading = "Server")]
    pub loose: bool,
    /// How long to wait for the answer to each request to open a session
    #[arg(long, default_value = "1s,2s,4s,8s", value_name = "TIMES", help_heading = "Server")]
    pub timeouts: String,
    /// Minimum time to wait for a reply; the actual time is four times the longest round trip if that is
    /// longer
    #[arg(long, default_value = "4s", value_name = "TIME", help_heading = "Server")]
    pub wait: String,
    /// Write each probe to this new file in irtt's format: .irtt.json.gz or .json.gz (compressed), or .json
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Print a line for each probe as soon as it is answered or lost; the table then goes to standard error
    #[arg(long, value_name = "FORMAT", conflicts_with = "json", help_heading = "Output")]
    pub stream: Option<StreamArg>,
    /// Print the figures as JSON instead of the table
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// No progress, no hints
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
}
