//! The arguments: one source for the parser, the help texts, the completions and the man page. Values here
//! stay close to what the user typed; [`goodqueue_experiment::Plan`] interprets them.

mod airtime;
mod autorate;
mod bridge;
mod doctor;
#[cfg(not(all(feature = "proof", feature = "sweep")))]
mod left_out;
mod link;
mod own;
#[cfg(feature = "proof")]
mod packetdrill;
mod paths;
#[cfg(feature = "proof")]
mod proof;
mod shape;
mod sqm;
#[cfg(feature = "sweep")]
mod sweep;
mod watch;

use std::path::PathBuf;

use clap::{ArgMatches, Args, Parser, Subcommand};
use goodqueue_experiment::Request;

use goodqueue_experiment::limit::Limit;
use goodqueue_report::compare::{FIGURES, Figure};

pub use airtime::AirtimeArgs;
pub use autorate::{AutorateArgs, Shapers};
pub use bridge::BridgeArgs;
pub use doctor::DoctorArgs;
#[cfg(not(feature = "sweep"))]
pub use left_out::LeftOutArgs as SweepArgs;
#[cfg(not(all(feature = "proof", feature = "sweep")))]
pub use left_out::left_out;
#[cfg(not(feature = "proof"))]
pub use left_out::{
    LeftOutArgs as PacketdrillArgs, LeftOutArgs as ReplayArgs, LeftOutArgs as ReproduceArgs,
    LeftOutArgs as TruthArgs,
};
pub use link::{EmulationArgs, LinkAction, LinkArgs, LinkSetArgs, ToldArgs};
pub use own::{CheckCcArgs, CheckQueueArgs, Example, Language, NewArgs, NewCcArgs, NewQueueArgs};
#[cfg(feature = "proof")]
pub use packetdrill::PacketdrillArgs;
pub use paths::{
    ClockArg, DfArg, EcnArg, KeyArgs, ProbeArgs, ServerArgs, StampsArg, StatsArg, StreamArg, TestArgs,
};
#[cfg(feature = "proof")]
pub use proof::{ReplayArgs, ReproduceArgs, TruthArgs};
pub use shape::ShapeArgs;
#[cfg(target_os = "linux")]
pub(crate) use sqm::shaper_rate;
pub use sqm::{ShaperArgs, SqmAction, SqmArgs};
#[cfg(feature = "sweep")]
pub use sweep::SweepArgs;
pub use watch::{By, WatchArgs};

/// Find, explain and remove queueing delay (bufferbloat).
#[derive(Debug, Parser)]
#[command(name = "goodqueue", version, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  success
  1  completed, but a stated limit was not met (a vector differs, a result is not valid)
  2  the command, a parameter or an input file is wrong; nothing was changed
  3  this machine cannot do it (the message names the missing privilege or device)
  129, 130, 143  a test or run was interrupted (hang-up, Ctrl-C, SIGTERM); it kept its measurements";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a latency-under-load test over a link, once for each queue, and compare the queues
    #[command(after_help = RUN_EXAMPLES)]
    Run(Box<RunArgs>),
    /// Test a real path: how much downloads and uploads delay everything else, and what to do about it
    #[command(after_help = paths::TEST_EXAMPLES)]
    Test(Box<TestArgs>),
    /// Measure the path to a server: round trips, one-way delays, loss in each direction
    #[command(after_help = paths::PROBE_EXAMPLES)]
    Probe(Box<ProbeArgs>),
    /// Run the far end of a path, for `test`, `probe` and irtt's client; safe to run on the open internet
    #[command(after_help = paths::SERVER_EXAMPLES)]
    Server(Box<ServerArgs>),
    /// Run a program behind an emulated link, and report what happened to its packets
    #[command(after_help = link::EXAMPLES)]
    Link(Box<LinkArgs>),
    /// Emulate a link between two interfaces, in line with a device under test
    #[command(after_help = bridge::EXAMPLES)]
    Bridge(Box<BridgeArgs>),
    /// Shape an interface with the kernel's own queues, so that no queue builds up in the modem
    #[command(after_help = sqm::EXAMPLES)]
    Sqm(Box<SqmArgs>),
    /// Shape an interface with this program's own queues: any queue of the simulator, on real traffic
    #[command(after_help = shape::EXAMPLES)]
    Shape(Box<ShapeArgs>),
    /// Shape an interface whose link varies (LTE, cable, satellite): adjust the rates to delay and load
    #[command(after_help = autorate::EXAMPLES)]
    Autorate(AutorateArgs),
    /// Watch the queues of interfaces: rates, what waits and for how long, drops and marks
    #[command(after_help = watch::EXAMPLES)]
    Watch(WatchArgs),
    /// Show the stations of a Wi-Fi access point and the airtime of each; set their weights by a policy
    #[command(after_help = airtime::EXAMPLES)]
    Airtime(AirtimeArgs),
    /// Find queues that are too long in this host; explain what to change, why, and how to undo it
    #[command(after_help = doctor::EXAMPLES)]
    Doctor(DoctorArgs),
    /// Replay decision vectors recorded from Linux and show the first difference
    #[cfg_attr(not(feature = "proof"), command(about = left_out::ABOUT))]
    Replay(ReplayArgs),
    /// Run packetdrill scripts against the simulator's TCP and show the first difference
    #[cfg_attr(not(feature = "proof"), command(about = left_out::ABOUT))]
    Packetdrill(PacketdrillArgs),
    /// Simulate experiments that were run on a real kernel, and compare the figures
    #[cfg_attr(not(feature = "proof"), command(about = left_out::ABOUT))]
    Truth(TruthArgs),
    /// Simulate published experiments and compare the figures, with verdicts
    #[cfg_attr(not(feature = "proof"), command(about = left_out::ABOUT))]
    Reproduce(ReproduceArgs),
    /// Compute each Wi-Fi station's share of the airtime, with and without airtime fairness, by the published
    /// model
    #[command(after_help = AIRTIME_EXAMPLES)]
    AirtimeModel(AirtimeModelArgs),
    /// Rebuild the table, page, pictures and files from the record of an earlier run, or from several records
    Report(ReportArgs),
    /// Compare results before and after a change: differences with intervals; limits that set the exit code
    #[command(after_help = compare_help())]
    Compare(CompareArgs),
    /// Run an experiment many times while its keys vary, over a grid or in a search; write a page and a table
    #[cfg_attr(not(feature = "sweep"), command(about = left_out::ABOUT))]
    Sweep(SweepArgs),
    /// Write a template for your own queue or congestion control, in C, Rust or Python
    #[command(subcommand)]
    New(NewArgs),
    /// Check queues, yours or ours, against the rules for queues
    #[command(after_help = own::CHECK_EXAMPLES)]
    CheckQueue(CheckQueueArgs),
    /// Check congestion controls, yours or ours: a single flow over several lines, in the simulator
    #[command(after_help = own::CHECK_CC_EXAMPLES)]
    CheckCc(CheckCcArgs),
    /// List the queues with their parameters, defaults and units
    Queues(QueuesArgs),
    /// List the tests with their flows and probes
    Tests(ListArgs),
    /// List ready-made access lines for --line, with their rates, buffers and sources
    Lines(ListArgs),
    /// Print the JSON schema of experiment files, for editors
    Schema,
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the man page (roff), or write a page for each command
    Man {
        /// Write a page for each command into this folder: goodqueue.1, goodqueue-run.1, ...; pages of an
        /// earlier run are replaced
        #[arg(short, long, value_name = "DIR")]
        output: Option<PathBuf>,
    },
    /// Waits until `shape` has ended, and restores its interface
    #[command(name = "internal-guard", hide = true)]
    ShapeGuard {
        /// The number of the interface
        index: u32,
    },
    /// The child process of the live arm: reads its orders from stdin, writes samples to stdout
    #[command(hide = true)]
    LiveWorker,
}

const RUN_EXAMPLES: &str = "\
Examples:
  goodqueue run tcp_square_wave --queue pfifo:1000,codel,fq_codel -o square
  goodqueue run rrul --rate 20mbit --rtt 20ms --length 30s --seed 7
  goodqueue run rrul --with voip,web
  goodqueue run rrul --down 50mbit --up 10mbit --rtt 30ms --shape 90%    # cake in front of a modem
  goodqueue run rrul --line dsl-50-10 --shape 90% --queue cake,fq_codel --seeds 5
  goodqueue run tcp_ndown --trace-down lte.trace --up 6mbit --rtt 70ms
  goodqueue run tcp_nup --flows 8 --queue fq_codel,target=10ms,ecn=off,pfifo:100
  goodqueue run tcp_nup --rate 100mbit --queue fq_codel --ring 1000 -o bloated-driver
  goodqueue run tcp_1up --queue codel,fq_codel --trace 1 -o inside
  goodqueue run experiment.toml --dry-run        # an experiment from a file: docs/experiments.md
  goodqueue run experiment.toml --length 10s --set variant.sqm.queue=codel
  goodqueue run tcp_nup --live --rate 20mbit     # with this kernel's TCP, in real time

Units are those of tc: 20mbit, 1gbit (bits), 20ms, 30s; `mbps` means megabytes per second, as in tc.";

const COMPARE_EXAMPLES: &str = "\
Bounds:
  1.2x      1.2 times the first record's figure
  30ms      a value: ns us ms s, kbit mbit gbit, %
  +5ms      5 ms more than the first record's figure; -2mbit: 2 Mbit/s less

Examples:
  goodqueue compare before after                                # two folders of results
  goodqueue compare old.flent.gz new.flent.gz -o both           # with overlaid pictures
  goodqueue compare before after --fail-if 'rise_p95 > 1.2x' --fail-if 'goodput_up < 0.95x'";

/// All figures that a limit can have, and the examples.
fn compare_help() -> String {
    let mut text = "Figures in a limit:\n".to_owned();
    for Figure { name, unit, meaning, .. } in &FIGURES {
        text += &format!("  {name:<15}{unit:<8}{meaning}\n");
    }
    text + "\n" + COMPARE_EXAMPLES
}

const QUEUES_EXAMPLES: &str = "\
Examples:
  goodqueue queues                     # all queues, with their parameters
  goodqueue queues wifi                # the parameters of an 802.11 radio
  goodqueue queues --memory            # the memory that each needs with its defaults
  goodqueue queues --memory fq_codel,flows=128,limit=600 cake,flows=32,memlimit=1m wifi,stations=8";

const AIRTIME_EXAMPLES: &str = "\
Without --station it prints Table 1 of \"Ending the Anomaly\" (USENIX ATC 2017), the published figures next \
to ours.

Examples:
  goodqueue airtime-model
  goodqueue airtime-model --station mcs15:aggregate=28434 --station mcs0:aggregate=2914
  goodqueue airtime-model --station 144.4:aggregate=6892,weight=2 --station mcs3 --constants b

A rate is mcs15 (HT20, short guard interval), ht40-mcs7-lgi, vht80-2ss-mcs9-sgi, \
he80-2ss-mcs11-gi0.8, ofdm54, dsss1, or a number of Mbit/s. The model ignores collisions, retries, \
TCP acknowledgements and the uplink, so measured figures are lower.";

/// `goodqueue run`.
#[derive(Args, Clone, Debug)]
pub struct RunArgs {
    /// What to measure.
    #[command(flatten)]
    pub request: Request,
    /// Simulate each queue twice and name the first event that differs
    #[arg(long, conflicts_with = "live", help_heading = "Arm")]
    pub check_determinism: bool,
    /// Write the record, page, pictures, CSV and .flent.gz files into this new folder. Or write one file,
    /// whose suffix sets the format: .html .svg .png .csv .parquet .md .json .gqz .flent.gz
    #[arg(short, long, value_name = "DIR|FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Trace a TCP flow: write each segment, drop and mark to `traces/` in the folder of -o, as an xplot
    /// graph (.xpl), a capture for Wireshark (.pcapng) and a picture of the first loss. FLOW is a name, a
    /// number (from 1) or `all`; may be repeated; simulated runs only
    #[arg(
        long,
        value_name = "FLOW",
        requires = "output",
        conflicts_with = "live",
        allow_hyphen_values = true,
        help_heading = "Output"
    )]
    pub trace: Vec<String>,
    /// Print the record as JSON instead of the table
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Print all columns of the table, however wide. Otherwise print only the most important ones that fit
    /// into 80 characters, or into $COLUMNS
    #[arg(long, help_heading = "Output")]
    pub wide: bool,
    /// Print the trace hashes of simulated runs too
    #[arg(short, long, help_heading = "Output")]
    pub verbose: bool,
    /// Title for page and files
    #[arg(short, long, default_value = "", value_name = "TEXT", help_heading = "Output")]
    pub title: String,
    /// Note for page and files
    #[arg(short, long, default_value = "", value_name = "TEXT", help_heading = "Output")]
    pub note: String,
    /// No progress, no hints
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
    /// Print the resolved plan as JSON and stop
    #[arg(long, help_heading = "Output")]
    pub dry_run: bool,
}

/// The flags of a [`Request`] that the user typed, by name.
#[must_use]
pub fn given(matches: &ArgMatches) -> Vec<String> {
    matches.subcommand().map(|(_, matches)| Request::given(matches)).unwrap_or_default()
}

/// `goodqueue report`.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// A record (`record.gqz` of an earlier run), its folder, or one of flent's data files. Several records
    /// of the same test are shown together
    #[arg(value_name = "RECORD", required = true)]
    pub records: Vec<PathBuf>,
    /// Write everything into this new folder, or one file whose suffix sets the format: .html .svg .png .csv
    /// .parquet .md .json .gqz .flent.gz
    #[arg(short, long, value_name = "DIR|FILE")]
    pub output: Option<PathBuf>,
    /// Print the record with its summaries as JSON instead of the table
    #[arg(long)]
    pub json: bool,
    /// Print all columns of the table, however wide
    #[arg(long)]
    pub wide: bool,
    /// Print the trace hashes of simulated runs too
    #[arg(short, long)]
    pub verbose: bool,
}

/// `goodqueue compare`.
#[derive(Args, Debug)]
pub struct CompareArgs {
    /// Two or more records, their folders, or flent's data files (.flent.gz). Each is compared with the first
    #[arg(value_name = "RECORD", required = true, num_args = 2..)]
    pub records: Vec<PathBuf>,
    /// Exit with code 1 if this is true for any record after the first: FIGURE > BOUND or FIGURE < BOUND. May
    /// be repeated
    #[arg(long, value_name = "LIMIT")]
    pub fail_if: Vec<Limit>,
    /// Write a page, pictures and files of all records together into this new folder, or one file whose
    /// suffix sets the format: .html .svg .png .csv .parquet .md .json .gqz
    #[arg(short, long, value_name = "DIR|FILE")]
    pub output: Option<PathBuf>,
    /// Print the comparison as JSON instead of the table
    #[arg(long)]
    pub json: bool,
}

/// `goodqueue queues`.
#[derive(Args, Debug)]
#[command(after_help = QUEUES_EXAMPLES)]
pub struct QueuesArgs {
    /// Show only this queue; with --memory, any number of queues with parameters
    #[arg(value_name = "QUEUE")]
    pub names: Vec<String>,
    /// Print the memory that each queue needs, part by part and in total
    #[arg(long)]
    pub memory: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// `goodqueue tests` and `goodqueue lines`.
#[derive(Args, Debug)]
pub struct ListArgs {
    /// Show only the one with this name
    pub name: Option<String>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// `goodqueue airtime-model`.
#[derive(Args, Debug)]
pub struct AirtimeModelArgs {
    /// A station that always has packets to receive: its rate, the mean size of an aggregate in bytes
    /// [default: one packet], the size of a packet in bytes [default: 1500], and its weight [default: 1].
    /// Once for each station
    #[arg(long, value_name = "RATE[:aggregate=BYTES][,packet=BYTES][,weight=N]")]
    pub station: Vec<String>,
    /// Interframe spaces: a for 5 GHz (DIFS 34 us, SIFS 16 us), b for 2.4 GHz with short slots (28 us, 10 us)
    /// [default: both]
    #[arg(long, value_enum, value_name = "SET")]
    pub constants: Option<ConstantsArg>,
    /// When stations take turns by transmissions, charge the overhead of each transmission to its station
    #[arg(long)]
    pub overhead: bool,
    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
}

/// Values of `--constants`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ConstantsArg {
    /// 5 GHz
    A,
    /// 2.4 GHz, short slots
    B,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_figures_of_limits_are_all_listed() {
        let page = include_str!("../../../docs/compare.md");
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
        for Figure { name, .. } in &FIGURES {
            assert!(compare_help().contains(&format!("\n  {name} ")), "{name}");
            assert!(
                rows.iter().any(|row| row.contains(&format!("`{name}`"))),
                "{name} is not in docs/compare.md"
            );
        }
    }

    /// The terminal's width breaks lines of prose. Examples are lines of their own, so they must fit.
    #[test]
    fn the_text_below_the_options_fits_into_any_terminal() {
        fn check(command: &clap::Command, path: &str) {
            let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let mut prose = false;
            for line in text.lines() {
                let is_prose = !line.is_empty() && !line.starts_with(' ') && !line.ends_with(':');
                assert!(!(prose && is_prose), "{path}: a line break within a paragraph: {line}");
                assert!(is_prose || line.chars().count() <= 100, "{path}: wider than 100 columns: {line}");
                prose = is_prose;
            }
            for sub in command.get_subcommands() {
                check(sub, &format!("{path} {}", sub.get_name()));
            }
        }
        check(&Cli::command(), "goodqueue");
    }
}
