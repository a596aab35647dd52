//! A link between real interfaces, until it is interrupted.

use std::time::{Duration, Instant};

use goodqueue::{Rate, Span};
use goodqueue_experiment::live::link::Link;
use goodqueue_experiment::{Error, Plan};
use goodqueue_report::{Record, TestPlan};
use goodqueue_wire::Interrupt;

use super::control::Control;
use super::schedule::Schedule;
use super::{LOOK, SECOND, own, table, watch_line};
use crate::args::ToldArgs;
use crate::output::{Target, print, print_record};

/// How long what waits may take to leave at the end.
const EMPTIED: Duration = Duration::from_millis(500);

/// What a link between interfaces tells, and how long it stays.
pub(crate) struct Session<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) test: TestPlan,
    pub(crate) told: &'a ToldArgs,
    pub(crate) json: bool,
    pub(crate) length: Option<Span>,
    /// Its interfaces.
    pub(crate) interfaces: &'a [&'a str],
    /// Changes at certain times.
    pub(crate) schedule: Schedule,
    /// Whether `goodqueue link set` may change it.
    pub(crate) is_changed_by_others: bool,
}

impl Session<'_> {
    /// Runs until a signal, the length or the end of an interface. `give_back` ends what brings frames here;
    /// then those that wait leave.
    ///
    /// # Errors
    /// [`Error::Machine`] if an interface is gone; the report covers what passed until then.
    pub(crate) fn run(
        self,
        mut link: Link,
        interrupt: &Interrupt,
        give_back: impl FnOnce() -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut schedule = self.schedule;
        let target = self.told.output.as_deref().map(|path| Target::claim(path, 1)).transpose()?;
        let control = Control::offered(
            &format!("{} {}", self.test.name, self.interfaces.join(" ")),
            self.interfaces,
            self.is_changed_by_others,
        );
        let mut rates = [self.plan.link.up_bps, self.plan.link.down_bps].map(Rate);
        let began = Instant::now();
        let (mut next, mut before) = (began + SECOND, link.look());
        let is_over = || self.length.is_some_and(|length| began.elapsed() >= Duration::from_nanos(length.0));
        while link.is_running() && link.fault().is_none() && !is_over() {
            if interrupt.wait(LOOK).map_err(Error::machine)?.is_some() {
                break;
            }
            let asked = control.as_ref().map(|control| control.apply(&mut link)).unwrap_or_default();
            for change in schedule.apply(&mut link).into_iter().chain(asked) {
                for (rate, bps) in rates.iter_mut().zip([change.up_bps, change.down_bps]) {
                    *rate = bps.map_or(*rate, Rate);
                }
                announce!("goodqueue: from now on {change}");
            }
            let now = link.look();
            if Instant::now() >= next {
                next += SECOND;
                if self.told.watch {
                    announce!("goodqueue: {}", watch_line(before, now, rates.map(Some)));
                }
                before = now;
            }
        }
        drop(control);
        let is_gone = !link.is_running();
        let given_back = give_back();
        empty(&link);
        let fault = link.fault();
        let record = link.stop(own(&self.plan.warnings, self.test))?;
        tell(&record, rates, self.plan, self.told, self.json)?;
        if let Some(target) = target {
            let page = target.write(&record)?;
            if !self.told.quiet {
                announce!("goodqueue: open {}", page.display());
            }
        }
        given_back?;
        if let Some(fault) = fault {
            return Err(Error::Usage(fault));
        }
        if is_gone {
            let why = record.runs.first().map(|run| run.validity.reasons.join("; ")).unwrap_or_default();
            return Err(Error::Machine(why));
        }
        Ok(())
    }
}

/// Waits until what is in the queues of a link has left, when nothing comes any more.
pub(crate) fn empty(link: &Link) {
    let emptied = Instant::now() + EMPTIED;
    while link.is_running() && !link.is_idle() && Instant::now() < emptied {
        std::thread::sleep(LOOK);
    }
}

fn tell(record: &Record, rates: [Rate; 2], plan: &Plan, told: &ToldArgs, json: bool) -> Result<(), Error> {
    if json {
        print_record(record)
    } else if told.quiet {
        Ok(())
    } else {
        print(&table(record, rates.map(Some), &plan.warnings))
    }
}
