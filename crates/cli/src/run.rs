//! `goodqueue run`: plan, run, record, report.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use goodqueue::Span;
use goodqueue_probe::talk::App;
use goodqueue_probe::{Direction as Way, Probe, Test};
use goodqueue_report::trace::Trace;
use goodqueue_report::{
    Direction, FlowPlan, Host, LinkPlan, PagePlan, PathPlan, ProbePlan, Record, SCHEMA, TalkPlan, TestPlan,
    VideoPlan,
};

use crate::again;
use crate::args::{ReportArgs, RunArgs};
use crate::exit::End;
use crate::experiment;
use crate::live;
use crate::output::{self, Target};
use crate::plan::{Arm, LinkOrder, MTU, Plan};
use crate::progress::Progress;
use crate::simulate::{self, Wishes};

/// Runs the comparison that was asked for and shows it. `given`: the flags that were typed.
///
/// # Errors
/// How it ended, where it did not simply succeed. What was measured has been shown and kept by then.
pub fn run(args: &RunArgs, given: &[String]) -> Result<(), End> {
    if args.test.ends_with(".toml") {
        return experiment::command(args, given);
    }
    if let Some(file) = &args.link {
        return experiment::link_file::command(args, file, given);
    }
    if let Some(set) = args.set.first() {
        let why = "it changes a key of an experiment file, and none is named; the other flags say the same";
        return Err(End::Usage(format!("--set {set}: {why}")));
    }
    let plan = Plan::resolve(args)?;
    let test = plan.test.test()?;
    let wishes = Wishes::of(args, &test, plan.seeds.len())?;
    let quiet = args.quiet || args.json;
    let output = args.output.as_deref();
    if plan.arm == Arm::Simulated {
        let experiment = experiment::of_plan(&plan)?;
        if args.dry_run {
            return output::print_json(&plan);
        }
        let head = Record { title: args.title.clone(), ..experiment::head(&experiment, record(args)) };
        let (jobs, sides) = (experiment.jobs(), experiment.variants.len());
        return measure(args, output, sides, head, |record, traces, keep| {
            simulate::run(jobs, &wishes, record, traces, quiet, keep)
        });
    }
    if args.dry_run {
        return output::print_json(&plan);
    }
    let head = Record {
        arm: plan.arm.name().into(),
        seed: plan.seeds.first().copied().unwrap_or(1),
        planned: plan.queues.clone(),
        test: test_plan(&test),
        link: link_plan(&plan.link),
        warnings: plan.warnings.clone(),
        ..record(args)
    };
    measure(args, output, plan.queues.len(), head, |record, _, keep| {
        let mut progress = Progress::new(quiet, plan.queues.len(), test.idle);
        live::run(&plan, record, &mut progress, keep)
    })
}

/// Keeps what has been measured so far.
pub(crate) type Keep<'a> = &'a mut dyn FnMut(&Record) -> Result<(), End>;

/// Runs an arm, which fills the record with so many sides of a comparison, and shows and keeps what came of it.
pub(crate) fn measure(
    args: &RunArgs,
    output: Option<&Path>,
    sides: usize,
    mut record: Record,
    arm: impl FnOnce(&mut Record, &mut Vec<Trace>, Keep<'_>) -> Result<(), End>,
) -> Result<(), End> {
    for warning in &record.warnings {
        eprintln!("goodqueue: warning: {warning}");
    }
    let target = output.map(|path| Target::claim(path, sides)).transpose()?;
    if let (Some(file), false) = (target.as_ref().and_then(Target::file), args.trace.is_empty()) {
        let name = file.display();
        return Err(End::Usage(format!("--trace writes files of its own: name a folder, not {name}")));
    }
    let mut traces = Vec::new();
    let mut keep = |record: &Record| target.as_ref().map_or(Ok(()), |target| target.keep(record));
    let end = arm(&mut record, &mut traces, &mut keep);
    if record.runs.is_empty() {
        if let Some(target) = target {
            target.give_back();
        }
        return end;
    }
    let shown = show(args, &record, target.as_ref());
    let traced = target.as_ref().map_or(Ok(()), |target| target.write_traces(&traces));
    end.and(shown).and(traced).and_then(|()| complete(&record)).and_then(|()| verdict(&record))
}

/// Prints the result and writes the files.
fn show(args: &RunArgs, record: &Record, target: Option<&Target>) -> Result<(), End> {
    let printed = if args.json {
        output::print_record(record)
    } else {
        output::print_table(record, args.wide, args.verbose)
    };
    let written = match target {
        Some(target) => target.write(record).map(|page| announce(args, &page)),
        None => {
            if !args.quiet && !args.json {
                eprintln!("goodqueue: add `-o DIR` to keep the record, the page and the pictures");
            }
            Ok(())
        }
    };
    printed.and(written)
}

fn announce(args: &RunArgs, page: &Path) {
    if !args.quiet {
        eprintln!("goodqueue: open {}", page.display());
    }
}

/// A queue that was planned and not measured is a stated limit that failed.
fn complete(record: &Record) -> Result<(), End> {
    let missing = record.missing();
    if missing.is_empty() {
        return Ok(());
    }
    let (n, of, names) = (missing.len(), record.planned.len(), missing.join(", "));
    Err(End::LimitFailed(format!("{n} of {of} queues were not measured: {names}")))
}

/// A result that is not valid is a stated limit that failed.
fn verdict(record: &Record) -> Result<(), End> {
    let invalid: Vec<&str> =
        record.runs.iter().filter(|run| !run.validity.valid).map(|run| run.queue.as_str()).collect();
    if invalid.is_empty() {
        return Ok(());
    }
    Err(End::LimitFailed(format!("not valid: {} (the reasons stand below the table)", invalid.join(", "))))
}

/// The record as far as it is the same whatever runs.
pub(crate) fn record(args: &RunArgs) -> Record {
    Record {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        started: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        title: args.title.clone(),
        note: args.note.clone(),
        command: again::of_run(args),
        host: host(),
        ..Record::default()
    }
}

fn host() -> Host {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let kernel = format!("{} {}", read("/proc/sys/kernel/ostype"), read("/proc/sys/kernel/osrelease"));
    let cpus = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    Host { kernel, cpus: u32::try_from(cpus).unwrap_or(u32::MAX), ..Host::default() }
}

pub(crate) fn test_plan(test: &Test) -> TestPlan {
    let flows = test.flows.iter().map(|flow| FlowPlan {
        name: flow.name.clone(),
        direction: match flow.direction {
            Way::Up => Direction::Up,
            Way::Down => Direction::Down,
        },
        cc: flow.cc.clone(),
        dscp: flow.dscp.to_string(),
        host: u32::try_from(flow.host).unwrap_or(u32::MAX),
        start_ns: signed(flow.start),
        stop_ns: signed(flow.stop),
        rate_bps: None,
    });
    let stream = |probe: &Probe| ProbePlan {
        name: probe.name.clone(),
        dscp: probe.dscp.to_string(),
        host: u32::try_from(probe.host).unwrap_or(u32::MAX),
        interval_ns: probe.interval.0,
        payload_bytes: probe.payload,
    };
    let pages = test.web.iter().map(|page| PagePlan {
        name: page.name.clone(),
        requests: page.requests,
        bytes: page.bytes,
        host: u32::try_from(page.host).unwrap_or(u32::MAX),
        cc: page.cc.clone(),
    });
    let videos = test.dash.iter().map(|video| VideoPlan {
        name: video.name.clone(),
        host: u32::try_from(video.host).unwrap_or(u32::MAX),
        cc: video.cc.clone(),
    });
    let talks = test.talks.iter().map(|talk| TalkPlan {
        name: talk.name.clone(),
        dscp: talk.dscp.to_string(),
        host: u32::try_from(talk.host).unwrap_or(u32::MAX),
        ticks: match talk.app {
            App::Call => None,
            App::Game(ticks) => Some(ticks.into()),
        },
    });
    TestPlan {
        name: test.name.clone(),
        about: test.about.clone(),
        idle_ns: test.idle.0,
        load_ns: test.load.0,
        step_ns: test.step.0,
        flows: flows.collect(),
        probes: test.probes.iter().map(stream).collect(),
        voip: test.voip.iter().map(stream).collect(),
        web: pages.collect(),
        dash: videos.collect(),
        talks: talks.collect(),
    }
}

fn signed(span: Span) -> i64 {
    i64::try_from(span.0).unwrap_or(i64::MAX)
}

fn link_plan(link: &LinkOrder) -> LinkPlan {
    let path = |bps| PathPlan {
        rate_bps: Some(bps),
        loss: link.loss,
        ring_packets: link.ring,
        bql: link.bql,
        bypassed: false,
    };
    LinkPlan {
        up: path(link.up_bps),
        down: path(link.down_bps),
        rtt_ns: link.rtt_ns.clone(),
        mtu_bytes: MTU,
        ecn: link.ecn,
        ip_version: link.ip_version,
    }
}

/// `goodqueue report`: everything again, from a record or from several together.
///
/// # Errors
/// [`End::Usage`] where a record cannot be read or goes with no other, [`End::Machine`] where a file cannot be written,
/// [`End::LimitFailed`] where queues that were planned are missing: all is shown and written by then.
pub fn report(args: &ReportArgs) -> Result<(), End> {
    let mut records = Vec::new();
    for path in &args.records {
        records.push((name_of(path), Record::read(file_in(path)).map_err(End::usage)?));
    }
    let record = match &mut records[..] {
        [(_, one)] => std::mem::take(one),
        _ => {
            let command = again::of_report(&args.records);
            Record { command, ..goodqueue_report::merge(records).map_err(End::Usage)? }
        }
    };
    let target = args.output.as_deref().map(|path| Target::claim(path, record.runs.len())).transpose()?;
    if args.json {
        output::print_record(&record)
    } else {
        output::print_table(&record, args.wide, args.verbose)
    }?;
    if let Some(target) = target {
        eprintln!("goodqueue: open {}", target.write(&record)?.display());
    }
    complete(&record)
}

/// The record in a folder, under its name of today or of old; else the file itself.
fn file_in(path: &Path) -> PathBuf {
    let names = ["record.gqz", "record.json.gz"];
    let found = names.iter().map(|name| path.join(name)).find(|file| file.is_file());
    found.unwrap_or_else(|| path.to_owned())
}

/// What a record is called: its folder where it has a record's name, else the file without its suffix.
fn name_of(path: &Path) -> String {
    let word = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = word(path).unwrap_or_default();
    let stem = name.split('.').next().unwrap_or_default();
    let folder = || path.parent().and_then(word).filter(|_| stem == "record");
    if path.is_dir() { name } else { folder().unwrap_or_else(|| stem.to_owned()) }
}
