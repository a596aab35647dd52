//! `goodqueue sweep`: runs the points of a sweep, keeps them, and shows what they say.

use std::io::{ErrorKind, IsTerminal};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use goodqueue_experiment::{Design, Error, Sweep};
use goodqueue_report::sweep::{Findings, text};
use goodqueue_sweep::{Crossed, Results, Store, Study, Units, Watch, crossed, findings, run, threads};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;

use crate::args::SweepArgs;
use crate::output;
use crate::system::{Interrupt, Lock};

/// The lock file of a folder while a sweep works in it.
const MARK: &str = ".goodqueue";
/// Points that do not keep a limit and are listed.
const MOST_LISTED: usize = 20;
/// Time between two lines of progress without a terminal.
const LINE: Duration = Duration::from_secs(30);

/// Runs the sweep and shows what it says.
///
/// # Errors
/// How it ended, if it did not succeed. What was run is kept in the folder.
pub fn command(args: &SweepArgs) -> Result<(), Error> {
    let study = Study::new(Sweep::read(&args.file).map_err(Error::usage)?)?;
    if args.dry_run && study.sweep().design == Design::Bayes {
        return Err(Error::Usage(
            "--dry-run: with design = \"bayes\" the points are not known before".into(),
        ));
    }
    if !args.dry_run && (args.dask.is_some() || study.sweep().design == Design::Bayes) {
        return python(args);
    }
    let units = study.units(args.threads, &AtomicBool::new(false))?;
    if args.dry_run {
        return dry_run(&study, &units, args);
    }
    if !args.quiet {
        study.warnings().iter().for_each(|warning| announce!("goodqueue: warning: {warning}"));
    }
    let (mut results, store) = (Results::default(), open(args)?);
    if let Some((store, _)) = &store {
        for why in store.read(&mut results)? {
            announce!("goodqueue: warning: {why}; its points run again");
        }
    }
    let kept = store.as_ref().map(|(store, _)| store);
    let mut there = 0_u64;
    for unit in units.iter() {
        there += u64::from(results.has(unit?.hash)?);
    }
    if there > 0 && !args.quiet {
        announce!("goodqueue: {there} of {} points and seeds are done already", units.len());
    }
    let mut progress = Progress::new(args.quiet)?;
    let end = run(&study, &units, &mut results, kept, args.threads, &mut progress);
    progress.close();
    let found = findings(&study, &units, &results)?;
    if found.runs == 0 && found.failed.is_empty() {
        if let Some((store, mark)) = store {
            drop(mark);
            store.give_back();
        }
        return end;
    }
    let shown = show(args, &study, (&units, &results), &found, kept);
    end.and(shown).and_then(|()| verdict(args, &study, (&units, &results), &found))
}

/// The folder of the results, locked for this sweep.
fn open(args: &SweepArgs) -> Result<Option<(Store, Lock)>, Error> {
    let Some(path) = &args.output else { return Ok(None) };
    let store = Store::open(path)?;
    match Lock::take(&path.join(MARK)) {
        Ok(Some(lock)) => Ok(Some((store, lock))),
        Ok(None) => Err(Error::Usage(format!(
            "--output {}: another sweep is writing to it now: name another, or wait for that one",
            path.display()
        ))),
        Err(error) => Err(Error::Usage(format!("--output {}: cannot write in it: {error}", path.display()))),
    }
}

/// Prints the findings and writes the files.
fn show(
    args: &SweepArgs,
    study: &Study,
    (units, results): (&Units, &Results),
    found: &Findings,
    store: Option<&Store>,
) -> Result<(), Error> {
    let printed = if args.json { output::print_json(found) } else { output::print(&text(found)) };
    let written = match store {
        None => {
            if !args.quiet && !args.json {
                announce!("goodqueue: add `-o DIR` to keep the runs and the page");
            }
            Ok(())
        }
        Some(store) => write(study, units, results, found, store).map(|page| {
            if !args.quiet {
                announce!("goodqueue: open {}", page.display());
            }
        }),
    };
    printed.and(written)
}

fn write(
    study: &Study,
    units: &Units,
    results: &Results,
    found: &Findings,
    store: &Store,
) -> Result<std::path::PathBuf, Error> {
    let json = serde_json::to_string_pretty(found).map_err(Error::machine)?;
    store.put("findings.json", (json + "\n").as_bytes())?;
    store.put_table("points.parquet", study, (units, results))?;
    store.put("report.html", goodqueue_report::sweep_html(found).as_bytes())
}

/// Failed runs and crossed limits make exit code 1.
fn verdict(
    args: &SweepArgs,
    study: &Study,
    (units, results): (&Units, &Results),
    found: &Findings,
) -> Result<(), Error> {
    let (count, crossed) = crossed(study, (units, results), &args.fail_if, MOST_LISTED)?;
    for Crossed { limit, queue, words, is_known } in &crossed {
        let answer = if *is_known { "YES" } else { "not known" };
        announce!("goodqueue: {queue}, {words}: {limit}? {answer}");
    }
    if count > crossed.len() as u64 {
        announce!("goodqueue: and {} more", count - crossed.len() as u64);
    }
    let mut why = Vec::new();
    if !crossed.is_empty() {
        let of = study.count() * found.queues.len() as u64 * args.fail_if.len() as u64;
        why.push(format!("{count} of {of} limits crossed or unknown"));
    }
    if !found.failed.is_empty() {
        why.push(format!("{} runs failed", found.failed.len()));
    }
    if why.is_empty() { Ok(()) } else { Err(Error::LimitFailed(why.join("; "))) }
}

/// Says what would be run.
fn dry_run(study: &Study, units: &Units, args: &SweepArgs) -> Result<(), Error> {
    let cost = units.cost();
    let threads = threads(args.threads);
    let seconds = goodqueue_sweep::speed()? * cost;
    let runs = units.len() * study.labels().len() as u64;
    if args.json {
        return output::print_json(&json!({
            "points": study.count(),
            "seeds": study.seeds(),
            "queues": study.labels(),
            "runs": runs,
            "predicted_packets": cost,
            "predicted_processor_s": seconds,
            "threads": threads,
        }));
    }
    output::print(&format!(
        "{} points, {} variants, {} seeds: {runs} runs\nup to {:.1} million packets: about {} on {threads} \
         {} of this machine\n",
        study.count(),
        study.labels().len(),
        study.seeds().len(),
        cost / 1e6,
        duration(seconds / threads as f64),
        if threads == 1 { "thread" } else { "threads" }
    ))
}

/// A time in words.
fn duration(seconds: f64) -> String {
    match seconds {
        0.0..1.0 => "a second".into(),
        1.0..120.0 => format!("{seconds:.0} s"),
        120.0..7200.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

/// Runs the Python package, which has the sweeps on a cluster and by Optuna.
fn python(args: &SweepArgs) -> Result<(), Error> {
    let (what, extra, module) = match &args.dask {
        Some(_) => ("--dask", "dask", "distributed"),
        None => ("design = \"bayes\"", "optuna", "optuna"),
    };
    let missing = || {
        Error::Machine(format!(
            "{what}: it needs Python 3.11 or later as `python3`, with the package goodqueue and {module}: \
             build the wheel as docs/python.md says, and install it with pip as goodqueue[{extra}]"
        ))
    };
    let mut command = Command::new("python3");
    command.args(["-m", "goodqueue", "sweep"]).arg(&args.file).args(["--threads", &args.threads.to_string()]);
    if let Some(scheduler) = &args.dask {
        command.args(["--dask", scheduler]);
    }
    if let Some(output) = &args.output {
        command.arg("-o").arg(output);
    }
    for limit in &args.fail_if {
        command.args(["--fail-if", &limit.to_string()]);
    }
    if args.json {
        command.arg("--json");
    }
    if args.quiet {
        command.arg("--quiet");
    }
    let has_package =
        Command::new("python3").args(["-c", &format!("import goodqueue._sweep, {module}")]).output();
    match has_package {
        Ok(found) if found.status.success() => {}
        Ok(_) => return Err(missing()),
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(missing()),
        Err(error) => return Err(Error::machine(format!("python3: {error}"))),
    }
    let status = command.status().map_err(|error| Error::machine(format!("python3: {error}")))?;
    // It has said why.
    match status.code() {
        Some(0) => Ok(()),
        Some(1) => Err(Error::LimitFailed("the sweep ended with failed runs or limits".into())),
        Some(2) => Err(Error::Usage("the sweep could not begin".into())),
        _ => Err(Error::Machine("the sweep ended early; what was run is kept".into())),
    }
}

/// Shows how far the sweep is, and ends it at a signal.
struct Progress {
    interrupt: Interrupt,
    quiet: bool,
    bar: Option<ProgressBar>,
    since: Instant,
    said: Instant,
    units: (u64, u64),
    cost: (f64, f64),
    failed: usize,
}

impl Progress {
    fn new(quiet: bool) -> Result<Progress, Error> {
        let now = Instant::now();
        Ok(Progress {
            interrupt: Interrupt::new().map_err(Error::machine)?,
            quiet,
            bar: None,
            since: now,
            said: now,
            units: (0, 0),
            cost: (0.0, 0.0),
            failed: 0,
        })
    }

    fn close(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn words(&self) -> String {
        told(self.units, self.cost, self.since.elapsed(), self.failed)
    }
}

/// `120 of 400 points and seeds, 40 s left`, from what is done and all: runs, and their predicted cost.
fn told((units, all_units): (u64, u64), (done, all): (f64, f64), ran: Duration, failed: usize) -> String {
    let left = (all - done) / done * ran.as_secs_f64();
    let left = if done > 0.0 { format!(", {} left", duration(left.max(0.0))) } else { String::new() };
    let failed = if failed > 0 { format!(", {failed} runs failed") } else { String::new() };
    format!("{units} of {all_units} points and seeds{left}{failed}")
}

impl Drop for Progress {
    fn drop(&mut self) {
        Interrupt::unblock();
    }
}

impl Watch for Progress {
    fn plan(&mut self, units: u64, cost: f64) {
        (self.units, self.cost) = ((0, units), (0.0, cost));
        (self.since, self.said) = (Instant::now(), Instant::now());
        self.close();
        if !self.quiet && std::io::stderr().is_terminal() {
            let style = ProgressStyle::with_template("sweeping {bar:24.cyan/blue} {msg}");
            let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr_with_hz(5));
            self.bar = Some(bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())));
        }
    }

    fn done(&mut self, cost: f64, failed: usize) {
        self.units.0 += 1;
        self.cost.0 += cost;
        self.failed += failed;
        if let Some(bar) = &self.bar {
            bar.set_position((self.cost.0 / self.cost.1.max(1.0) * 1000.0) as u64);
            bar.set_message(self.words());
        } else if !self.quiet && self.said.elapsed() > LINE {
            self.said = Instant::now();
            announce!("goodqueue: {}", self.words());
        }
    }

    fn say(&mut self, line: &str) {
        announce!("goodqueue: {line}");
    }

    fn stop(&mut self) -> Option<i32> {
        self.interrupt.wait(Duration::ZERO).unwrap_or(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_has_an_estimate_by_predicted_cost() {
        let ran = Duration::from_secs(20);
        assert_eq!(told((0, 400), (0.0, 90.0), ran, 0), "0 of 400 points and seeds");
        // A third of the cost, though fewer of the runs.
        assert_eq!(told((100, 400), (30.0, 90.0), ran, 0), "100 of 400 points and seeds, 40 s left");
        let slow = told((399, 400), (1.0, 1000.0), ran, 2);
        assert_eq!(slow, "399 of 400 points and seeds, 5.5 h left, 2 runs failed");
        assert_eq!(told((400, 400), (90.0, 90.0), ran, 0), "400 of 400 points and seeds, a second left");
    }
}
