//! `goodqueue shape`: our queues on a real interface.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use goodqueue::{Direction, QueueSpec, Rate, Span};
use goodqueue_experiment::live::link::{Link, with_instances};
use goodqueue_experiment::{Error, Plan, Request};
use goodqueue_report::TestPlan;
use goodqueue_router::bridge::Pair;
use goodqueue_router::shape::{Detour, clean, tracking, tracks};
use goodqueue_wire::Interrupt;

use crate::args::ShapeArgs;
use crate::link::between::Session;
use crate::link::schedule::Schedule;
use crate::output::print;
use crate::path_values::positive;
use crate::sqm::{interface_of, shaped, told, unit};

/// What a unit of systemd may do: change interfaces, open packet sockets, and keep time.
pub(crate) const RIGHTS: &str = "CAP_NET_ADMIN CAP_NET_RAW CAP_SYS_NICE CAP_IPC_LOCK";

/// Shapes an interface until it is interrupted.
///
/// # Errors
/// [`Error::Usage`] before anything is changed, [`Error::Machine`] with what this machine lacks.
pub fn command(args: &ShapeArgs) -> Result<(), Error> {
    let settings = shaped(Some(&args.interface), Some(args.up), Some(args.down), &args.shaper)?;
    let up = with_instances(settings.own_queue(args.up, Direction::Up).map_err(told)?)?;
    let down = with_instances(settings.own_queue(args.down, Direction::Down).map_err(told)?)?;
    let length = args.length.as_deref().map(|length| positive("length", length)).transpose()?;
    if args.dry_run {
        let interface = interface_of(&args.interface)?;
        let changes = goodqueue_router::shape::plan(&interface);
        return print(&changes.iter().map(|change| format!("{change}\n")).collect::<String>());
    }
    if args.systemd {
        let kind = "Type=exec\nRestart=on-failure\nRestartSec=5\nKillSignal=SIGINT\n";
        return print(&unit(&args.interface, "shape", kind, RIGHTS, "")?);
    }
    let plan = plan([args.up, args.down], &down)?;
    // Before the first thread, which would otherwise take the signals.
    let interrupt = Interrupt::new().map_err(Error::machine)?;
    if let Some(inside) = &args.inside {
        return between(args, inside, &plan, [&up, &down], length, &interrupt);
    }
    let (mut detour, link, guard) = prepare(&args.interface, &plan, [&up, &down])?;
    detour.take().map_err(told)?;
    let name = &args.interface;
    if !args.told.quiet {
        let queue = plan.queues.join(", ");
        announce!("goodqueue: {name}: up {}, down {}, {queue}; Ctrl-C ends it", args.up, args.down);
    }
    let end = session(args, &plan, &[name], length).run(link, &interrupt, || detour.release().map_err(told));
    drop(detour);
    guard.dismiss();
    end
}

/// The plan of a shaper at these rates, up and down, with this queue down.
pub(crate) fn plan([up, down]: [Rate; 2], queue: &QueueSpec) -> Result<Plan, Error> {
    // The name alone says too little of a queue that has no default for a parameter, such as `rate` of `htb`.
    let name = queue.name().to_owned();
    let queue = if name.parse::<QueueSpec>().is_ok() { name } else { queue.to_string() };
    Plan::resolve(&Request {
        test: "ping".into(),
        live: true,
        up: Some(up.to_string()),
        down: Some(down.to_string()),
        rtt: Some("0ms".into()),
        queue: Some(queue),
        ..Request::default()
    })
}

/// Queues for the frames of an interface, and what restores the interface if this process is killed. No frame
/// takes the detour yet.
pub(crate) fn prepare(
    interface: &str,
    plan: &Plan,
    queues: [&QueueSpec; 2],
) -> Result<(Detour, Link, Guard), Error> {
    let tracking = tracking(queues).map_err(told)?;
    let detour = Detour::prepare(interface).map_err(told)?;
    let link = Link::shaping(plan, queues, detour.between().tracked(tracking))?;
    let guard = Guard::start(detour.index())?;
    Ok((detour, link, guard))
}

/// Shapes what passes between two interfaces, until it is interrupted.
fn between(
    args: &ShapeArgs,
    inside: &str,
    plan: &Plan,
    queues: [&QueueSpec; 2],
    length: Option<Span>,
    interrupt: &Interrupt,
) -> Result<(), Error> {
    if tracks(queues) {
        return Err(Error::Usage(format!(
            "--inside {inside}: nobody translates addresses between two interfaces, so hosts have their own \
             there; leave `nat` out of the queue"
        )));
    }
    let name = &args.interface;
    let pair = Pair::prepare([inside, name]).map_err(told)?;
    let link = Link::shaping(plan, queues, pair.between())?;
    if !args.told.quiet {
        let queue = queues[1].name();
        announce!(
            "goodqueue: {inside} to {name}: up {}, down {}, {queue}; Ctrl-C ends it",
            args.up,
            args.down
        );
    }
    session(args, plan, &[inside, name], length).run(link, interrupt, || pair.give_back().map_err(told))
}

fn session<'a>(
    args: &'a ShapeArgs,
    plan: &'a Plan,
    interfaces: &'a [&'a str],
    length: Option<Span>,
) -> Session<'a> {
    let about = format!("{} shaped", args.interface);
    Session {
        plan,
        test: TestPlan { name: "shape".into(), about, ..TestPlan::default() },
        told: &args.told,
        json: args.json,
        length,
        interfaces,
        schedule: Schedule::default(),
        is_changed_by_others: false,
    }
}

/// Another process, which puts the interface back if this one is killed.
pub(crate) struct Guard(Child);

impl Guard {
    fn start(index: u32) -> Result<Guard, Error> {
        let program = std::env::current_exe().map_err(Error::machine)?;
        let mut command = Command::new(program);
        // Ctrl-C of a terminal goes to its own group.
        command.arg("internal-guard").arg(index.to_string()).stdin(Stdio::piped()).process_group(0);
        command.spawn().map(Guard).map_err(Error::machine)
    }

    /// Ends the process once the interface has been put back, so that it has no work left.
    pub(crate) fn dismiss(mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// The guard of the interface `index`: waits until its parent is gone, and puts back what is still there.
///
/// # Errors
/// [`Error::Machine`] if the kernel refuses.
pub fn guard(index: u32) -> Result<(), Error> {
    // The pipe ends with the parent, however that ends.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    if clean(index).map_err(told)? {
        announce!("goodqueue: the shaper was killed; its interface is as it was before");
    }
    Ok(())
}
