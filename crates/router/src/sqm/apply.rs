//! Makes the changes, finds them again, and restores the previous state.

use std::path::Path;

use goodqueue::Direction;
use goodqueue_wire::Lock;
use goodqueue_wire::netlink::{Interface, Route, UNFINISHED, interfaces};

use super::layout::Layout;
use super::plan::{ALIAS, Both, HANDLE, Plan, Queues, Settings, Shaper, plan, without_cake_mq};
use super::state::{SQM, State};
use crate::error::{ENOENT, EOPNOTSUPP};
use crate::kept::{Before, States};
use crate::tc::{Change, Counts, Installed, Parent, Qdisc, installed};
use crate::{Error, Result};

/// Queueing disciplines that can be restored from the options that the kernel shows: they have no classes
/// whose settings would be lost.
const RESTORABLE: [&str; 14] = [
    "bfifo",
    "cake",
    "codel",
    "fq",
    "fq_codel",
    "fq_pie",
    "mq",
    "noqueue",
    "pfifo",
    "pfifo_fast",
    "pie",
    "red",
    "sfq",
    "tbf",
];

/// Follows [`ALIAS`] in the alias of an interface that exists only to try a plan. No interface has a space in
/// its name.
const REHEARSAL: &str = "a rehearsal";
/// The holder of an interface while its rates follow the link.
const AUTORATE: &str = "autorate";

/// The outcome of [`start`].
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What is shaped now.
    pub plan: Plan,
    /// The settings, with substitutes for what the kernel lacks.
    pub settings: Settings,
    /// Whether the interface was already shaped like this.
    pub was_so: bool,
    /// What was found and cleaned up, in words.
    pub notes: Vec<String>,
}

/// A shaped interface.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// The current name of the interface; its last name, if it is gone.
    pub interface: String,
    /// What is shaped.
    pub shaped: Both,
    /// Why it is not in force; empty if it is.
    pub faults: Vec<String>,
    /// What was there before.
    pub before: Option<String>,
    /// Whether `goodqueue autorate` changes the rates; `shaped` has the initial rates.
    pub follows: bool,
    /// The counters of the root queues, as far as they are there.
    pub counts: Vec<(Direction, Counts)>,
}

/// The kernel's view at one time.
struct Scene {
    interfaces: Vec<Interface>,
    qdiscs: Vec<Installed>,
}

impl Scene {
    fn look(route: &mut Route) -> Result<Scene> {
        Ok(Scene { interfaces: interfaces(route)?, qdiscs: installed(route)? })
    }

    fn named(&self, name: &str) -> Option<&Interface> {
        self.interfaces.iter().find(|interface| interface.name == name)
    }

    fn numbered(&self, index: u32) -> Option<&Interface> {
        self.interfaces.iter().find(|interface| interface.index == index)
    }

    fn of(&self, index: u32) -> impl Iterator<Item = &Installed> {
        self.qdiscs.iter().filter(move |qdisc| qdisc.index == index)
    }

    fn root(&self, index: u32) -> Option<&Installed> {
        self.of(index).find(|qdisc| qdisc.is_root())
    }

    /// Whether there is an IFB of this name that we made.
    fn is_ours(&self, ifb: &str) -> bool {
        let alias = self.named(ifb).and_then(|interface| interface.alias.as_deref());
        alias.is_some_and(|alias| alias.starts_with(ALIAS))
    }

    /// The interfaces that we made for this purpose, or for an interface that had this name at the time. They
    /// may have new names.
    fn made_for<'a>(&'a self, whom: &'a str) -> impl Iterator<Item = &'a Interface> {
        let of = |interface: &'a Interface| interface.alias.as_deref()?.strip_prefix(ALIAS);
        self.interfaces.iter().filter(move |interface| of(interface) == Some(whom))
    }

    /// The interfaces that a killed process left: those to try a plan, and those without their name and
    /// alias.
    fn left_over(&self) -> impl Iterator<Item = &Interface> {
        let is_unfinished = |interface: &&Interface| {
            let process = interface.name.strip_prefix(UNFINISHED).and_then(|id| id.parse::<u32>().ok());
            interface.alias.is_none() && process.is_some_and(|id| !Path::new(&format!("/proc/{id}")).exists())
        };
        self.made_for(REHEARSAL).chain(self.interfaces.iter().filter(is_unfinished))
    }
}

/// Every interface that is shaped.
fn kept(states: &States) -> Result<Vec<State>> {
    let mut all: Vec<State> = states.all(SQM)?;
    all.sort_by_key(|state| state.index);
    Ok(all)
}

/// Shapes an interface. With `fall_back`, the layout `simple` replaces queues that the kernel lacks.
///
/// The plan is first tried on an interface of its own. If the kernel lacks something, the real interface is
/// not touched.
///
/// # Errors
/// `Refused` if something is in the way, `Missing` if the kernel lacks something or a right is missing,
/// `Kernel` if a change failed nevertheless; the changes made so far are then undone.
pub fn start(settings: &Settings, fall_back: bool) -> Result<Outcome> {
    begin(settings, fall_back, false).map(|(outcome, _)| outcome)
}

/// [`start`], for rates that will change. The lock tells other processes so.
pub(crate) fn follow(settings: &Settings, fall_back: bool) -> Result<(Outcome, Lock)> {
    let (outcome, held) = begin(settings, fall_back, true)?;
    Ok((outcome, held.expect("held for rates that change")))
}

fn begin(settings: &Settings, fall_back: bool, follows: bool) -> Result<(Outcome, Option<Lock>)> {
    let mut route = Route::open()?;
    let scene = Scene::look(&mut route)?;
    let interface = find(&scene.interfaces, &settings.interface)?;
    let states = States::open()?;
    delete(scene.left_over(), &mut route).map_err(Error::or_right)?;
    let (mut notes, mut chosen) = (Vec::new(), settings.clone());
    let mut wanted = plan(&chosen, interface)?;
    let mut tried = rehearse(&wanted, settings, interface, &mut route);
    if matches!(tried, Err(Error::Missing { .. })) && wanted.is_multi_queue() {
        chosen.multi_queue = false;
        wanted = plan(&chosen, interface)?;
        tried = rehearse(&wanted, settings, interface, &mut route);
    }
    if let Err(error) = tried {
        if !fall_back || !matches!(error, Error::Missing { .. }) {
            return Err(error);
        }
        chosen.queues = Queues::Layout(Layout::Simple);
        wanted = plan(&chosen, interface)?;
        rehearse(&wanted, settings, interface, &mut route).map_err(|_| error)?;
        notes.push("this kernel has no cake, so htb and fq_codel take its place".into());
    }
    notes.extend(without_cake_mq(&chosen, &wanted));
    let all = kept(&states)?;
    for state in all.iter().filter(|state| scene.numbered(state.index).is_none()) {
        undo(state, None, &scene, &mut route)?;
        states.remove(SQM, state.index)?;
        notes.push(format!("{} is gone; what was left of its shaper is deleted", state.interface));
    }
    let ours = all.into_iter().find(|state| state.index == interface.index);
    let commands: Vec<String> = wanted.changes.iter().map(Change::to_string).collect();
    let name = &interface.name;
    if follows && ours.as_ref().is_some_and(|state| !state.follows) {
        return Err(Error::Refused(format!(
            "{name} is shaped already, at rates that do not follow the link; first: goodqueue sqm stop {name}"
        )));
    }
    let is_held = follows || ours.as_ref().is_some_and(|state| state.follows);
    let held = if is_held { Some(hold(name, interface.index, &states)?) } else { None };
    let before = match &ours {
        Some(state) => {
            if !state.follows && state.commands == commands && faults(state, &scene).is_empty() {
                return Ok((Outcome { plan: wanted, settings: chosen, was_so: true, notes }, None));
            }
            state.before.clone()
        }
        None => before(interface, &scene)?,
    };
    if let Some(ifb) = wanted.shaped.ifb()
        && scene.named(ifb).is_some()
        && !scene.is_ours(ifb)
    {
        return Err(Error::Refused(format!(
            "there is an interface {ifb} that is not Goodqueue's: perhaps sqm-scripts shape {}; stop them first, as \
             with /etc/init.d/sqm stop",
            interface.name
        )));
    }
    let state = State {
        schema: 1,
        interface: interface.name.clone(),
        index: interface.index,
        shaped: wanted.shaped.clone(),
        before,
        commands,
        follows,
    };
    // From here on a crash leaves this file, and the next start or stop puts things right.
    states.write(SQM, state.index, &state)?;
    if let Some(ours) = &ours {
        undo(ours, Some(interface), &scene, &mut route)?;
    } else if state.before.is_some() {
        Change::DeleteRoot(interface.name.clone()).make(&mut route)?;
    }
    // A start that was killed may have left an IFB that its file does not name.
    if let Some(ifb) = wanted.shaped.ifb().filter(|ifb| scene.is_ours(ifb)) {
        Change::DeleteLink(ifb.into()).make_sure(&mut route)?;
    }
    for change in &wanted.changes {
        if let Err(error) = change.make(&mut route) {
            put_back(&state, Some(interface), &mut route)?;
            states.remove(SQM, state.index)?;
            return Err(error);
        }
    }
    let outcome = Outcome { plan: wanted, settings: chosen, was_so: false, notes };
    Ok((outcome, held.filter(|_| follows)))
}

/// Holds an interface for one process that changes its rates.
fn hold(name: &str, index: u32, states: &States) -> Result<Lock> {
    states.lock(AUTORATE, index)?.ok_or_else(|| {
        Error::Refused(format!(
            "goodqueue autorate follows the link behind {name}; end it first, with Ctrl-C or kill"
        ))
    })
}

/// The interface of this name.
///
/// # Errors
/// `Refused` with the names that there are.
pub fn find<'a>(all: &'a [Interface], name: &str) -> Result<&'a Interface> {
    let others = || {
        let others = all.iter().filter(|interface| !interface.is_loopback);
        match others.map(|interface| interface.name.as_str()).collect::<Vec<_>>()[..] {
            [] => "this host has no interface but loopback".to_owned(),
            ref names => format!("the interfaces are {}", names.join(", ")),
        }
    };
    let found = all.iter().find(|interface| interface.name == name);
    match found {
        None => Err(Error::Refused(format!("there is no interface {name}; {}", others()))),
        Some(found) if found.is_loopback => Err(Error::Refused(format!(
            "{name} is the loopback interface, which has no link behind it; {}",
            others()
        ))),
        Some(found) => Ok(found),
    }
}

/// The queueing discipline to put back later; `None` for the kernel's default.
fn before(interface: &Interface, scene: &Scene) -> Result<Option<Before>> {
    let name = &interface.name;
    if let Some(ingress) = scene.of(interface.index).find(|qdisc| qdisc.is_ingress()) {
        return Err(Error::Refused(format!(
            "{name} has a queueing discipline {} for what arrives, and its filters could not be put back; if nobody \
             needs it: tc qdisc del dev {name} {}",
            ingress.kind, ingress.kind
        )));
    }
    let in_the_way = |kind: &str| {
        Error::Refused(format!(
            "{name} has a tree of classes under {kind} that somebody has set, and it could not be put back; if nobody \
             needs it: tc qdisc del dev {name} root"
        ))
    };
    let Some(root) = scene.root(interface.index).filter(|root| root.handle != 0) else {
        let set = scene.of(interface.index).find(|qdisc| qdisc.handle != 0);
        return set.map_or(Ok(None), |set| Err(in_the_way(&set.kind)));
    };
    let has_more = scene.of(interface.index).any(|qdisc| qdisc.handle != 0 && qdisc.handle != root.handle);
    // The FIFO of tbf has its own handle, which the kernel chose.
    if !RESTORABLE.contains(&root.kind.as_str()) || (has_more && root.kind != "tbf") {
        return Err(in_the_way(&root.kind));
    }
    Ok(Some(Before { kind: root.kind.clone(), handle: root.handle, options: root.options.clone() }))
}

/// Tries all changes on an interface that exists only for this.
fn rehearse(plan: &Plan, settings: &Settings, interface: &Interface, route: &mut Route) -> Result<()> {
    let name = format!("{UNFINISHED}{}", std::process::id());
    let queues = if plan.is_multi_queue() { interface.tx_queues } else { 1 };
    let create = Change::AddIfb { name: name.clone(), alias: format!("{ALIAS}{REHEARSAL}"), queues };
    if let Err(error) = create.make(route) {
        return match &error {
            Error::Kernel { source, .. } if source.errno() == Some(EOPNOTSUPP) => match settings.down {
                Some(_) => Err(Error::Missing {
                    what: format!("the kernel module ifb, on which what arrives is shaped ({source})"),
                    cure: "load it (modprobe ifb; on OpenWrt: opkg install kmod-ifb), or leave --down out"
                        .into(),
                }),
                // There is only the real interface to try it on.
                None => Ok(()),
            },
            _ => Err(error.or_right()),
        };
    }
    let tried = on_one(plan, &name, route);
    Change::DeleteLink(name).make_sure(route)?;
    tried
}

/// All changes of both directions, one after the other on `name`.
fn on_one(plan: &Plan, name: &str, route: &mut Route) -> Result<()> {
    let mut is_used = false;
    for change in &plan.changes {
        let mut change = change.clone();
        match &mut change {
            // A plan has one IFB, and none of the other changes.
            Change::AddIfb { .. }
            | Change::AddDummy { .. }
            | Change::AddClsact(_)
            | Change::DeleteClsact(_)
            | Change::Steer(_) => continue,
            Change::SetUp(dev) | Change::AddIngress(dev) | Change::DeleteLink(dev) => name.clone_into(dev),
            Change::DeleteRoot(dev) | Change::DeleteIngress(dev) => name.clone_into(dev),
            Change::ReplaceRoot { dev, .. } => name.clone_into(dev),
            Change::AddQdisc { dev, parent, .. } => {
                name.clone_into(dev);
                if *parent == Parent::Root && std::mem::replace(&mut is_used, true) {
                    Change::DeleteRoot(name.into()).make(route)?;
                }
            }
            Change::AddClass { dev, .. }
            | Change::ChangeClass { dev, .. }
            | Change::ChangeLeaf { dev, .. }
            | Change::ClassifyDscp { dev, .. } => name.clone_into(dev),
            Change::Redirect { dev, to } => {
                name.clone_into(dev);
                name.clone_into(to);
            }
        }
        change.make(route).map_err(|error| explain(error, &change))?;
    }
    Ok(())
}

/// Names what the kernel lacks.
fn explain(error: Error, change: &Change) -> Error {
    let Error::Kernel { source, .. } = &error else { return error };
    if !matches!(source.errno(), Some(ENOENT | EOPNOTSUPP)) {
        return error;
    }
    let modules: &[(&str, &str)] = match change {
        Change::AddQdisc { qdisc: Qdisc::Cake(_), .. } => &[("sch_cake", "kmod-sched-cake")],
        Change::AddQdisc { qdisc: Qdisc::FqCodel(_), .. } => &[("sch_fq_codel", "kmod-sched-core")],
        Change::AddQdisc { qdisc: Qdisc::Htb { .. }, .. } => &[("sch_htb", "kmod-sched-core")],
        Change::AddIngress(_) => &[("sch_ingress", "kmod-sched-core")],
        Change::ClassifyDscp { .. } => &[("cls_u32", "kmod-sched-core")],
        Change::Redirect { .. } => &[("cls_matchall", "kmod-sched-core"), ("act_mirred", "kmod-sched-core")],
        _ => return error,
    };
    let names: Vec<&str> = modules.iter().map(|(module, _)| *module).collect();
    let what = format!("the kernel module {} ({source})", names.join(" or "));
    let other = match change {
        Change::AddQdisc { qdisc: Qdisc::Cake(_), .. } => ", or use --layout simple",
        _ => "",
    };
    let (load, package) = (names.join(" "), modules[0].1);
    Error::Missing {
        what,
        cure: format!("load it (modprobe -a {load}; on OpenWrt: opkg install {package}){other}"),
    }
}

/// Deletes what we made, as far as it is there.
fn undo(state: &State, interface: Option<&Interface>, scene: &Scene, route: &mut Route) -> Result<()> {
    if let Some(interface) = interface {
        Change::DeleteIngress(interface.name.clone()).make_sure(route)?;
        Change::DeleteRoot(interface.name.clone()).make_sure(route)?;
    }
    delete(scene.made_for(&state.interface), route)
}

/// Deletes interfaces, as far as they are there.
fn delete<'a>(mut made: impl Iterator<Item = &'a Interface>, route: &mut Route) -> Result<()> {
    made.try_for_each(|interface| Change::DeleteLink(interface.name.clone()).make_sure(route))
}

/// Deletes what we made, and restores the previous state.
fn put_back(state: &State, interface: Option<&Interface>, route: &mut Route) -> Result<()> {
    let scene = Scene::look(route)?;
    undo(state, interface, &scene, route)?;
    let (Some(interface), Some(Before { kind, handle, options })) = (interface, &state.before) else {
        return Ok(());
    };
    let qdisc = Qdisc::Saved { kind: kind.clone(), options: options.clone() };
    let (dev, parent, handle) = (interface.name.clone(), Parent::Root, *handle);
    Change::AddQdisc { dev, parent, handle, qdisc }.make(route)
}

/// Stops the shaper of an interface, by its current or its former name, and restores the previous state. The
/// text says what that is.
///
/// # Errors
/// `Refused` if it is not shaped, `Kernel` if a change failed.
pub fn stop(name: &str) -> Result<String> {
    let mut route = Route::open()?;
    let states = States::open()?;
    let scene = Scene::look(&mut route)?;
    let all = kept(&states)?;
    let index = scene.named(name).map(|interface| interface.index);
    let of_now = all.iter().find(|state| Some(state.index) == index);
    let of_then =
        || all.iter().find(|state| state.interface == name && scene.numbered(state.index).is_none());
    let Some(state) = of_now.or_else(of_then) else {
        let names: Vec<String> = all.iter().map(|state| name_now(state, &scene)).collect();
        let shaped =
            if names.is_empty() { "no interface is".into() } else { format!("{} is", names.join(", ")) };
        return Err(Error::Refused(format!("{name} is not shaped by Goodqueue; {shaped}")));
    };
    let interface = scene.numbered(state.index);
    let held = if state.follows { Some(hold(name, state.index, &states)?) } else { None };
    let put = put_back(state, interface, &mut route);
    put.and_then(|()| delete(scene.left_over(), &mut route)).map_err(Error::or_right)?;
    states.remove(SQM, state.index)?;
    drop(held);
    Ok(match (&state.before, interface) {
        (_, None) => format!("{name} is gone; what was left of its shaper is deleted"),
        (Some(before), _) => format!("{name} has {} again, as before", before.kind),
        (None, _) => format!("{name} has the kernel's default queue again, as before"),
    })
}

fn name_now(state: &State, scene: &Scene) -> String {
    scene.numbered(state.index).map_or(&state.interface, |interface| &interface.name).clone()
}

/// Why a shaper is not in force.
fn faults(state: &State, scene: &Scene) -> Vec<String> {
    let Some(interface) = scene.numbered(state.index) else {
        return vec![format!("the interface {} is gone", state.interface)];
    };
    let mut faults = Vec::new();
    for (direction, Shaper { dev, kind, .. }) in state.shaped.each() {
        // The interface may have a new name.
        let of = if direction == Direction::Up { Some(interface) } else { scene.named(dev) };
        let root = of.and_then(|of| scene.root(of.index));
        if root.is_none_or(|root| root.kind != *kind || root.handle != HANDLE) {
            let now = root.map_or("nothing", |root| root.kind.as_str());
            faults.push(format!("{dev} has {now} in place of our {kind}: somebody else has changed it"));
        }
    }
    if let Some(ifb) = state.shaped.ifb() {
        if !scene.named(ifb).is_some_and(|ifb| ifb.is_up) {
            faults.push(format!("{ifb} is not up"));
        }
        if !scene.of(interface.index).any(Installed::is_ingress) {
            faults.push(format!("what arrives at {} is not sent to {ifb}", interface.name));
        }
    }
    faults
}

/// Every shaped interface.
///
/// # Errors
/// `State` if a file cannot be read.
pub fn status() -> Result<Vec<Status>> {
    let mut route = Route::open()?;
    let states = States::look()?;
    let scene = Scene::look(&mut route)?;
    let status = |state: State| {
        let interface = scene.numbered(state.index);
        let count = |(direction, shaper): (Direction, &Shaper)| {
            let of = if direction == Direction::Up { interface } else { scene.named(&shaper.dev) };
            of.and_then(|of| scene.root(of.index)).map(|root| (direction, root.counts))
        };
        Status {
            interface: name_now(&state, &scene),
            faults: faults(&state, &scene),
            counts: state.shaped.each().filter_map(count).collect(),
            shaped: state.shaped,
            before: state.before.map(|before| before.kind),
            follows: state.follows,
        }
    };
    Ok(kept(&states)?.into_iter().map(status).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_we_made_for_an_interface_is_found_by_any_name() {
        let interface = |name: &str, alias: Option<&str>| Interface {
            index: 7,
            name: name.into(),
            kind: Some("ifb".into()),
            alias: alias.map(str::to_owned),
            is_up: true,
            is_loopback: false,
            header: 14,
            mtu: 1500,
            tx_queues: 1,
            tx_queue_len: 32,
        };
        let interfaces = vec![
            interface("ifb4eth0", None),
            interface("renamed", Some("goodqueue sqm eth0")),
            interface("ifb4eth01", Some("goodqueue sqm eth01")),
            interface("gqtry7", Some("goodqueue sqm a rehearsal")),
            // No process has a higher number than 2^22 (PID_MAX_LIMIT).
            interface("gqtry4194305", None),
            interface(&format!("gqtry{}", std::process::id()), None),
            interface("gqtry", None),
        ];
        let scene = Scene { interfaces, qdiscs: Vec::new() };
        let names = |whom| scene.made_for(whom).map(|made| made.name.as_str()).collect::<Vec<_>>();
        assert_eq!(names("eth0"), ["renamed"]);
        assert_eq!(names(REHEARSAL), ["gqtry7"]);
        let left: Vec<&str> = scene.left_over().map(|made| made.name.as_str()).collect();
        assert_eq!(left, ["gqtry7", "gqtry4194305"], "those of a process that runs stay");
        let lo = Interface { is_loopback: true, ..interface("lo", None) };
        let why = |all: &[Interface], name| find(all, name).expect_err("it is refused").to_string();
        let wan = interface("wan", None);
        assert_eq!(why(&[lo.clone(), wan], "eth0"), "there is no interface eth0; the interfaces are wan");
        let lone = "lo is the loopback interface, which has no link behind it; this host has no interface but \
                    loopback";
        assert_eq!(why(&[lo], "lo"), lone);
    }
}
