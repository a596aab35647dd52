//! The thin binary: arguments in, exit code out.

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};
use goodqueue_cli::args::{self, Cli, Command};
#[cfg(feature = "sweep")]
use goodqueue_cli::sweep;
use goodqueue_cli::{airtime_model, check_cc, check_queue, compare, list, new, probe, run, system, test};
#[cfg(feature = "proof")]
use goodqueue_cli::{packetdrill, replay, reproduce, truth};

fn main() -> ExitCode {
    system::begin();
    let matches = Cli::command().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let end = match cli.command {
        Command::Run(args) => run::run(&args, &args::given(&matches)),
        Command::Test(args) => test::command(&args),
        Command::Probe(args) => probe::command(&args),
        Command::Server(args) => system::server(&args),
        // The exit code is the program's.
        Command::Link(args) => match system::link(&args) {
            Ok(code) => return code,
            Err(end) => Err(end),
        },
        Command::Bridge(args) => system::bridge(&args),
        Command::Sqm(args) => system::sqm(&args),
        Command::Shape(args) => system::shape(&args),
        Command::ShapeGuard { index } => system::shape_guard(index),
        Command::Autorate(args) => system::autorate(&args),
        Command::Watch(args) => system::watch(&args),
        Command::Airtime(args) => system::airtime(&args),
        Command::Doctor(args) => system::doctor(&args),
        #[cfg(feature = "proof")]
        Command::Replay(args) => replay::command(&args),
        #[cfg(feature = "proof")]
        Command::Packetdrill(args) => packetdrill::command(&args),
        #[cfg(feature = "proof")]
        Command::Truth(args) => truth::command(&args),
        #[cfg(feature = "proof")]
        Command::Reproduce(args) => reproduce::command(&args),
        #[cfg(not(feature = "proof"))]
        Command::Replay(_) => Err(args::left_out("replay", "proof")),
        #[cfg(not(feature = "proof"))]
        Command::Packetdrill(_) => Err(args::left_out("packetdrill", "proof")),
        #[cfg(not(feature = "proof"))]
        Command::Truth(_) => Err(args::left_out("truth", "proof")),
        #[cfg(not(feature = "proof"))]
        Command::Reproduce(_) => Err(args::left_out("reproduce", "proof")),
        Command::AirtimeModel(args) => airtime_model::command(&args),
        Command::Report(args) => run::report(&args),
        Command::Compare(args) => compare::command(&args),
        #[cfg(feature = "sweep")]
        Command::Sweep(args) => sweep::command(&args),
        #[cfg(not(feature = "sweep"))]
        Command::Sweep(_) => Err(args::left_out("sweep", "sweep")),
        Command::New(args) => new::command(&args),
        Command::CheckCc(args) => check_cc::command(&args),
        Command::CheckQueue(args) => check_queue::command(&args),
        Command::Queues(args) => list::queues(&args),
        Command::Tests(args) => list::tests(&args),
        Command::Lines(args) => list::lines(&args),
        Command::Schema => list::schema(),
        Command::Completions { shell } => list::completions(shell, &mut Cli::command()),
        Command::Man { output: None } => list::man(Cli::command()),
        Command::Man { output: Some(folder) } => list::man_pages(Cli::command(), &folder),
        Command::LiveWorker => system::live_worker(),
    };
    match end {
        Ok(()) => ExitCode::SUCCESS,
        Err(end) => {
            goodqueue_cli::announce(format_args!("goodqueue: {end}"));
            ExitCode::from(end.code())
        }
    }
}
