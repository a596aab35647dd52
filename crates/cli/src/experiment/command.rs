//! `goodqueue run FILE.toml`.

use std::path::Path;

use goodqueue_probe::Direction;
use goodqueue_report::{LinkPlan, PathPlan, Record, TestPlan};
use goodqueue_sim::{Link, Opener, route};

use super::{Experiment, Plan, Variant, flags};
use crate::args::RunArgs;
use crate::exit::End;
use crate::live::OverTheAir;
use crate::plan::{Arm, MTU};
use crate::progress::Progress;
use crate::simulate::{self, Job, Wishes};
use crate::{output, run};

/// Runs the experiment of a file. `given`: the flags that were typed.
///
/// # Errors
/// [`End::Usage`] where the file is wrong, with line and column; else as `goodqueue run`.
pub(crate) fn command(args: &RunArgs, given: &[String]) -> Result<(), End> {
    let changes = flags::changes(args, given)?;
    let path = Path::new(&args.test);
    let text = Experiment::text(path).map_err(End::usage)?;
    let experiment = Experiment::of_text(&text, path, &changes).map_err(End::usage)?;
    let live =
        OverTheAir { experiment: &experiment, file: &args.test, text: &text, flags: None, changes: &changes };
    if args.live {
        live.check()?;
    }
    if args.dry_run {
        return output::print_json(&Plan::of(&experiment));
    }
    if args.live {
        return run_live(args, &live);
    }
    let jobs = experiment.jobs();
    let mut head = head(&experiment, run::record(args));
    if let (Some(output), None) = (&experiment.output, &args.output) {
        head.command.extend(["-o".to_owned(), crate::again::another(output)]);
    }
    let quiet = args.quiet || args.json;
    let output = args.output.as_deref().or(experiment.output.as_deref());
    let wishes = Wishes::of(args, &experiment.test, experiment.seeds.len())?;
    run::measure(args, output, experiment.variants.len(), head, |record, traces, keep| {
        simulate::run(jobs, &wishes, record, traces, quiet, keep)
    })
}

/// Runs the experiment with real packets.
pub(super) fn run_live(args: &RunArgs, live: &OverTheAir<'_>) -> Result<(), End> {
    let experiment = live.experiment;
    let (quiet, sides) = (args.quiet || args.json, experiment.variants.len());
    let mut head = Record { arm: Arm::Live.name().into(), ..head(experiment, run::record(args)) };
    head.warnings.extend(live.warnings());
    let output = args.output.as_deref().or(experiment.output.as_deref());
    run::measure(args, output, sides, head, |record, _, keep| {
        let mut progress = Progress::new(quiet, sides, experiment.test.idle);
        live.run(record, &mut progress, keep)
    })
}

/// The record of an experiment before it has run: `own`, and what the experiment says.
pub(crate) fn head(experiment: &Experiment, own: Record) -> Record {
    Record {
        title: if own.title.is_empty() { experiment.about.clone() } else { own.title.clone() },
        arm: "simulated".into(),
        seed: experiment.seeds.first().copied().unwrap_or(0),
        planned: experiment.variants.iter().map(|variant| variant.label.clone()).collect(),
        test: test_plan(experiment),
        link: experiment.variants.first().map(Variant::link).unwrap_or_default(),
        warnings: experiment.warnings.clone(),
        ..own
    }
}

fn test_plan(experiment: &Experiment) -> TestPlan {
    let mut plan = run::test_plan(&experiment.test);
    let flows = experiment.variants.first().map_or(&[][..], |variant| &variant.scenario.flows);
    for (plan, flow) in plan.flows.iter_mut().zip(flows) {
        plan.rate_bps = flow.max_rate.map(|rate| rate.0);
    }
    plan
}

impl Experiment {
    /// Every variant with every seed, variant by variant.
    pub(crate) fn jobs(&self) -> Vec<Job> {
        let first = self.variants.first().map(Variant::link);
        let of = |variant: &Variant| {
            let link = Some(variant.link()).filter(|link| Some(link) != first.as_ref());
            let path = variant.path(&self.test);
            let job = |&seed: &u64| Job {
                scenario: variant.with_seed(seed),
                test: self.test.clone(),
                up: variant.up,
                down: variant.down,
                path: path.clone(),
                queue: variant.label.clone(),
                link: link.clone(),
                traced: Vec::new(),
            };
            self.seeds.iter().map(job).collect::<Vec<_>>()
        };
        self.variants.iter().flat_map(of).collect()
    }
}

impl Variant {
    /// The bottlenecks as the record has them.
    fn link(&self) -> LinkPlan {
        let path = |link: usize, direction: Direction| PathPlan {
            bypassed: self.is_bypassed(link, direction),
            ..self.scenario.links.get(link).map(path).unwrap_or_default()
        };
        LinkPlan {
            up: path(self.up, Direction::Up),
            down: path(self.down, Direction::Down),
            rtt_ns: self.rtt.iter().map(|rtt| rtt.0).collect(),
            mtu_bytes: MTU,
            ecn: self.scenario.tcp.ecn,
            ip_version: if self.scenario.ipv6 { 6 } else { 4 },
        }
    }

    /// Whether some flow of `direction` does not cross `link`.
    fn is_bypassed(&self, link: usize, direction: Direction) -> bool {
        // The client opens, whoever sends.
        let opener = if direction == Direction::Up { Opener::Sender } else { Opener::Receiver };
        let mut flows = self.scenario.flows.iter().filter(|flow| flow.opener == opener);
        flows.any(|flow| route(&self.scenario, flow.from, flow.to).is_ok_and(|way| !way.contains(&link)))
    }
}

fn path(link: &Link) -> PathPlan {
    let ring = link.port.as_ref().and_then(|port| port.ring);
    PathPlan {
        rate_bps: link.port.as_ref().map(|port| port.rate.0),
        loss: link.loss.mean(),
        ring_packets: ring.map(|ring| ring.entries),
        bql: ring.is_some_and(|ring| ring.bql),
        bypassed: false,
    }
}
