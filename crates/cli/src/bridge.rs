//! `goodqueue bridge`: an emulated link between two real interfaces.

use goodqueue_experiment::Error;
use goodqueue_experiment::live::link::Link;
use goodqueue_report::TestPlan;
use goodqueue_router::bridge::Pair;
use goodqueue_wire::Interrupt;

use crate::args::BridgeArgs;
use crate::link::between::Session;
use crate::link::plan;
use crate::link::schedule::Schedule;
use crate::path_values::positive;
use crate::sqm::told;

/// Links both interfaces until it is interrupted.
///
/// # Errors
/// [`Error::Usage`] before anything is changed, [`Error::Machine`] with what this machine lacks.
pub fn command(args: &BridgeArgs) -> Result<(), Error> {
    let plan = plan(&args.emulation, false, false)?;
    let length = args.length.as_deref().map(|length| positive("length", length)).transpose()?;
    let schedule = Schedule::read(&args.emulation.at)?;
    for warning in &plan.warnings {
        announce!("goodqueue: {warning}");
    }
    // Before the first thread, which would otherwise take the signals.
    let interrupt = Interrupt::new().map_err(Error::machine)?;
    let pair = Pair::prepare([&args.client, &args.server]).map_err(told)?;
    let link = Link::between(&plan, pair.between())?;
    if !args.told.quiet {
        announce!("goodqueue: {} and {} are linked; Ctrl-C ends it", args.client, args.server);
    }
    let about = format!("{} and {} linked", args.client, args.server);
    let session = Session {
        plan: &plan,
        test: TestPlan { name: "bridge".into(), about, ..TestPlan::default() },
        told: &args.told,
        json: args.json,
        length,
        interfaces: &[&args.client, &args.server],
        schedule,
        is_changed_by_others: true,
    };
    session.run(link, &interrupt, || pair.give_back().map_err(told))
}
