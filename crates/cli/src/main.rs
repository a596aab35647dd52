//! The thin binary: arguments in, exit code out.

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use goodqueue_cli::args::{Cli, Command};
use goodqueue_cli::{list, replay, run, truth, worker};

fn main() -> ExitCode {
    let end = match Cli::parse().command {
        Command::Run(args) => run::run(&args),
        Command::Replay(args) => replay::command(&args),
        Command::Truth(args) => truth::command(&args, &truth::simulate),
        Command::Report(args) => run::report(&args),
        Command::Queues(args) => list::queues(&args),
        Command::Tests(args) => list::tests(&args),
        Command::Completions { shell } => list::completions(shell, &mut Cli::command()),
        Command::Man => list::man(Cli::command()),
        Command::LiveWorker => worker(),
    };
    match end {
        Ok(()) => ExitCode::SUCCESS,
        Err(end) => {
            eprintln!("goodqueue: {end}");
            ExitCode::from(end.code())
        }
    }
}
