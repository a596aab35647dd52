//! An interpreted request, which can be printed and run on its arm.

use std::path::Path;

use goodqueue_probe::Test;
use goodqueue_report::Record;
use goodqueue_report::trace::Trace;
use serde::Serialize;

use crate::simulate::{self, Options};
use crate::source::Source;
use crate::text::link_file::{self, Flags};
use crate::text::{View, changes, of_plan};
use crate::{Arm, Error, Experiment, Monitor, Plan, Request, record};

/// An interpreted request.
#[derive(Debug)]
pub struct Asked {
    arm: Arm,
    test: Test,
    /// `None` if the live arm runs a plan over its own line.
    experiment: Option<Experiment>,
    source: Source,
}

/// What `--dry-run` prints.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Shown<'a> {
    /// A plan from flags.
    Plan(&'a Plan),
    /// An experiment from a file.
    Experiment(Box<View>),
}

impl Asked {
    /// Interprets `request`, and reads the files that it names. `given`: the flags that the user typed, by
    /// their long names. With an experiment file they change its keys.
    ///
    /// # Errors
    /// [`Error::Usage`] names the flag, or the place in the file, and the cure.
    pub fn of(request: &Request, given: &[String]) -> Result<Asked, Error> {
        let asked = if request.test.ends_with(".toml") {
            Asked::of_file(request, given)?
        } else if let Some(file) = &request.link {
            Asked::of_link(request, file, given)?
        } else {
            if let Some(set) = request.set.first() {
                let why =
                    "it changes a key of an experiment file, and none is named; the other flags say the same";
                return Err(Error::Usage(format!("--set {set}: {why}")));
            }
            let plan = Plan::resolve(request)?;
            let experiment = if plan.arm == Arm::Simulated { Some(of_plan(&plan)?) } else { None };
            Asked { arm: plan.arm, test: plan.test.test()?, experiment, source: Source::Plan(plan.into()) }
        };
        asked.checked()
    }

    /// Checks that its arm can run it.
    fn checked(self) -> Result<Asked, Error> {
        #[cfg(all(feature = "live", target_os = "linux"))]
        if let (Arm::Live, Some(experiment)) = (self.arm, &self.experiment) {
            crate::live::check(experiment)?;
        }
        Ok(self)
    }

    fn of_file(request: &Request, given: &[String]) -> Result<Asked, Error> {
        let text = Experiment::text(Path::new(&request.test)).map_err(Error::usage)?;
        Asked::of_text(request, given, &text)
    }

    /// [`Asked::of`] for the text of an experiment file. Errors call the file `request.test`, and files that
    /// it names are searched in its folder.
    ///
    /// # Errors
    /// [`Error::Usage`] names the flag, or the place in the text, and the cure.
    pub fn of_text(request: &Request, given: &[String], text: &str) -> Result<Asked, Error> {
        let changes = changes(request, given)?;
        let path = Path::new(&request.test);
        let experiment = Experiment::of_text(text, path, &changes).map_err(Error::usage)?;
        let source = Source::File { file: request.test.clone(), text: text.to_owned(), changes };
        let test = experiment.test.clone();
        Asked { arm: request.arm(), test, experiment: Some(experiment), source }.checked()
    }

    fn of_link(request: &Request, file: &Path, given: &[String]) -> Result<Asked, Error> {
        let has_queues = given.iter().any(|flag| flag == "queue");
        let flags = Flags::new(Plan::resolve(request)?, has_queues);
        let name = file.display().to_string();
        let text = link_file::text(file)?;
        let experiment = link_file::experiment(&text, &name, &flags)?;
        let source = Source::Link { file: name, text, flags: flags.into() };
        Ok(Asked { arm: request.arm(), test: experiment.test.clone(), experiment: Some(experiment), source })
    }

    /// The arm that runs it.
    #[must_use]
    pub fn arm(&self) -> Arm {
        self.arm
    }

    /// The test.
    #[must_use]
    pub fn test(&self) -> &Test {
        &self.test
    }

    /// The experiment, to change it before it runs, for example with a user-defined queue
    /// ([`crate::Variant::with_queue`]). `None` if the live arm runs a plan over its own line.
    pub fn experiment_mut(&mut self) -> Option<&mut Experiment> {
        self.experiment.as_mut()
    }

    /// The plan, if the live arm runs it over its own line: to change it before it runs, for example with a
    /// queue of the program's own ([`Plan::own`]).
    pub fn live_plan_mut(&mut self) -> Option<&mut Plan> {
        match &mut self.source {
            Source::Plan(plan) if self.arm == Arm::Live => Some(plan),
            _ => None,
        }
    }

    /// How many times each side is run.
    #[must_use]
    pub fn repetitions(&self) -> usize {
        self.experiment.as_ref().map_or(1, |experiment| experiment.seeds.len())
    }

    /// The sides of the comparison.
    #[must_use]
    pub fn sides(&self) -> usize {
        match (&self.experiment, &self.source) {
            (Some(experiment), _) => experiment.variants.len() * crate::record::loads(&experiment.test).len(),
            (None, Source::Plan(plan)) => plan.queues.len(),
            (None, _) => 0,
        }
    }

    /// The place for the results, if the file names one.
    #[must_use]
    pub fn output(&self) -> Option<&Path> {
        self.experiment.as_ref()?.output.as_deref()
    }

    /// All of it, resolved, for people and scripts.
    #[must_use]
    pub fn shown(&self) -> Shown<'_> {
        match (&self.source, &self.experiment) {
            (Source::Plan(plan), _) => Shown::Plan(plan),
            (_, experiment) => {
                Shown::Experiment(Box::new(experiment.as_ref().map(View::of).unwrap_or_default()))
            }
        }
    }

    /// The record before anything has run: `own`, and everything already known.
    #[must_use]
    pub fn head(&self, own: Record) -> Record {
        let mut head = match (&self.experiment, &self.source) {
            (None, Source::Plan(plan)) => record::of_plan(plan, &self.test, own),
            // A test from flags has no title.
            (Some(experiment), Source::Plan(_)) => {
                Record { title: own.title.clone(), ..experiment.head(own) }
            }
            (Some(experiment), _) => experiment.head(own),
            (None, _) => own,
        };
        self.arm.name().clone_into(&mut head.arm);
        #[cfg(all(feature = "live", target_os = "linux"))]
        if let (Arm::Live, Some(experiment)) = (self.arm, &self.experiment) {
            head.warnings.extend(crate::live::warnings(experiment));
        }
        head
    }

    /// Runs it. However it ends, `record` contains what was measured, and `traces` the traced flows.
    ///
    /// # Errors
    /// The first reason to stop; [`Error::LimitFailed`] if two runs of a determinism check differ.
    pub fn run(
        &self,
        options: &Options,
        record: &mut Record,
        traces: &mut Vec<Trace>,
        monitor: &mut dyn Monitor,
    ) -> Result<(), Error> {
        match (self.arm, &self.experiment) {
            (Arm::Simulated, Some(experiment)) => {
                simulate::run(experiment.jobs(), options, record, traces, monitor)
            }
            #[cfg(all(feature = "live", target_os = "linux"))]
            (Arm::Live, experiment) => {
                let source = (&self.source, &options.worker[..]);
                crate::live::run(&self.test, experiment.as_ref(), source, record, monitor)
            }
            _ => Err(no_live_arm()),
        }
    }
}

/// The reason why `--live` is wrong here.
fn no_live_arm() -> Error {
    Error::Usage(
        "--live: this build has no live arm, which needs Linux; the simulated arm runs the same test".into(),
    )
}

impl Experiment {
    /// The simulated experiment that the flags of `request` describe.
    ///
    /// # Errors
    /// [`Error::Usage`] names the flag, the value and the cure.
    pub fn of(request: &Request) -> Result<Experiment, Error> {
        of_plan(&Plan::resolve(request)?)
    }

    /// Simulates every variant with every seed, on as many threads as there are processors, and returns the
    /// record.
    ///
    /// # Errors
    /// [`Error::Usage`] if a scenario is not valid.
    pub fn run(&self) -> Result<Record, Error> {
        let mut record = self.head(Record::default());
        let options = simulate::Options { repetitions: self.seeds.len(), ..simulate::Options::default() };
        simulate::run(self.jobs(), &options, &mut record, &mut Vec::new(), &mut ())?;
        Ok(record)
    }

    /// All of it as text, in tc's units.
    #[must_use]
    pub fn view(&self) -> View {
        View::of(self)
    }
}
