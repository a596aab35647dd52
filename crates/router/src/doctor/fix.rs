//! Makes a change, saves the previous state, and restores it.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use goodqueue_wire::netlink::{Route, interfaces};
use serde::{Deserialize, Serialize};

use super::facts::DEFAULT_QDISC;
use super::rules::{Finding, Step};
use crate::kept::{Before, States};
use crate::tc::{Change, Installed, Parent, Qdisc, installed};
use crate::{Error, Result};

/// What the names of the files begin with.
const DOCTOR: &str = "doctor";
/// The one file of all changes, in their order.
const FILE: u32 = 0;
const ENOENT: i32 = 2;

/// What a step has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Changed {
    /// A setting.
    Setting { path: PathBuf, before: String, now: String },
    /// The root queueing discipline of interface `index`. `default` is the kernel's default that made it, if
    /// it was not set explicitly.
    Root { dev: String, index: u32, before: Before, default: Option<String>, now: String },
}

/// Fixes a finding. It saves the previous state first.
///
/// # Errors
/// `Refused` if only the user can fix it, `Missing` without the right or the module, `Kernel` and `State` if
/// a change failed.
pub fn fix(finding: &Finding) -> Result<()> {
    let steps = finding.fix.as_ref().map_or(&[][..], |fix| &fix.steps);
    if steps.is_empty() {
        return Err(Error::Refused(format!("{}: only you can fix it", finding.rule)));
    }
    let states = States::open()?;
    let mut route = Route::open()?;
    let mut all = kept(&states)?;
    for step in steps {
        let changed = match step {
            Step::Write { path, value } => {
                let before = read(path)?;
                if before == *value {
                    continue;
                }
                Changed::Setting { path: path.clone(), before, now: value.clone() }
            }
            Step::Root { dev, kind } => root_before(dev, kind, &mut route)?,
        };
        all.push(changed);
        // From here on a crash leaves this file, and `undo` puts things right.
        states.write(DOCTOR, FILE, &all)?;
        let made = match step {
            Step::Write { path, value } => write(path, value),
            Step::Root { dev, kind } => {
                let qdisc = Qdisc::Saved { kind: (*kind).into(), options: Vec::new() };
                explained(Change::ReplaceRoot { dev: dev.clone(), handle: 0, qdisc }.make(&mut route), kind)
            }
        };
        if let Err(error) = made {
            all.pop();
            keep(&states, &all)?;
            return Err(error);
        }
    }
    Ok(())
}

/// Restores everything that [`fix`] has changed, and returns a line for each change.
///
/// # Errors
/// `Refused` if nothing was changed, `Missing` without the right, `Kernel` and `State` if a change failed.
pub fn undo() -> Result<Vec<String>> {
    let states = States::open()?;
    let mut route = Route::open()?;
    let mut all = kept(&states)?;
    if all.is_empty() {
        return Err(Error::Refused(
            "`goodqueue doctor --fix` has changed nothing that could be put back".into(),
        ));
    }
    // Settings first: the default decides what an interface gets.
    all.sort_by_key(|changed| matches!(changed, Changed::Setting { .. }));
    let mut told = Vec::new();
    while let Some(changed) = all.last() {
        told.push(match changed {
            Changed::Setting { path, before, now } => {
                let name = path.display();
                match read(path) {
                    Ok(found) if found == *now => {
                        write(path, before)?;
                        format!("{name} is {before} again")
                    }
                    Ok(found) => format!("{name} is {found}: somebody else has changed it, and it stays"),
                    Err(_) => format!("{name} is gone"),
                }
            }
            Changed::Root { dev, index, before, default, now } => {
                root_back(dev, *index, before, default.as_deref(), now, &mut route)?
            }
        });
        all.pop();
        keep(&states, &all)?;
    }
    Ok(told)
}

fn kept(states: &States) -> Result<Vec<Changed>> {
    Ok(states.all::<Vec<Changed>>(DOCTOR)?.into_iter().flatten().collect())
}

fn keep(states: &States, all: &[Changed]) -> Result<()> {
    if all.is_empty() { states.remove(DOCTOR, FILE) } else { states.write(DOCTOR, FILE, &all) }
}

fn read(path: &Path) -> Result<String> {
    let text = fs::read_to_string(path).map_err(|source| Error::State { path: path.into(), source })?;
    Ok(text.trim().to_owned())
}

fn write(path: &Path, value: &str) -> Result<()> {
    fs::write(path, value).map_err(|source| match source.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Error::Missing {
            what: format!("the right to write {} ({source})", path.display()),
            cure: "run it as root".into(),
        },
        ErrorKind::NotFound if path == Path::new(DEFAULT_QDISC) => no_module(value, &source.to_string()),
        _ => Error::State { path: path.into(), source },
    })
}

fn no_module(kind: &str, why: &str) -> Error {
    Error::Missing {
        what: format!("the kernel module sch_{kind} ({why})"),
        cure: format!("load it (modprobe sch_{kind})"),
    }
}

/// Names what is missing.
fn explained(made: Result<()>, kind: &str) -> Result<()> {
    made.map_err(|error| match &error {
        Error::Kernel { source, .. } if source.errno() == Some(ENOENT) => {
            no_module(kind, &source.to_string())
        }
        _ => error.or_right(),
    })
}

/// The queueing disciplines of an interface, with its current name.
fn queues(index: u32, route: &mut Route) -> Result<Option<(String, Vec<Installed>)>> {
    let found = interfaces(route)?.into_iter().find(|interface| interface.index == index);
    let Some(interface) = found else { return Ok(None) };
    let mut all = installed(route)?;
    all.retain(|qdisc| qdisc.index == index);
    Ok(Some((interface.name, all)))
}

fn root_before(dev: &str, now: &str, route: &mut Route) -> Result<Changed> {
    let gone = || Error::Refused(format!("the interface {dev} is gone, or has no queue"));
    let index =
        interfaces(route)?.into_iter().find(|interface| interface.name == dev).ok_or_else(gone)?.index;
    let (_, all) = queues(index, route)?.ok_or_else(gone)?;
    let root = all.iter().find(|qdisc| qdisc.is_root()).ok_or_else(gone)?;
    // A default mq has a default in each hardware queue.
    let default = if root.kind == "mq" { all.iter().find(|qdisc| !qdisc.is_root()) } else { Some(root) };
    let default = default.filter(|_| root.handle == 0).map(|qdisc| qdisc.kind.clone());
    let before = Before { kind: root.kind.clone(), handle: root.handle, options: root.options.clone() };
    Ok(Changed::Root { dev: dev.into(), index, before, default, now: now.into() })
}

fn root_back(
    dev: &str,
    index: u32,
    before: &Before,
    default: Option<&str>,
    now: &str,
    route: &mut Route,
) -> Result<String> {
    let Some((dev, all)) = queues(index, route)? else { return Ok(format!("{dev} is gone")) };
    let found = all.iter().find(|qdisc| qdisc.is_root());
    if found.is_none_or(|found| found.kind != now || found.handle == 0) {
        let found = found.map_or("nothing", |found| found.kind.as_str());
        return Ok(format!("{dev} has {found}: somebody else has changed it, and it stays"));
    }
    let Before { kind, handle, options } = before;
    if *handle != 0 {
        let qdisc = Qdisc::Saved { kind: kind.clone(), options: options.clone() };
        // A new one in its place could not have the handle of the old one.
        explained(Change::DeleteRoot(dev.clone()).make(route), kind)?;
        let (parent, handle) = (Parent::Root, *handle);
        explained(Change::AddQdisc { dev: dev.clone(), parent, handle, qdisc }.make(route), kind)?;
        return Ok(format!("{dev} has {kind} again"));
    }
    // The interface gets the current default, which may have changed since.
    let wanted = default.filter(|kind| *kind != "noqueue");
    let of_now = read(Path::new(DEFAULT_QDISC)).ok().filter(|now| Some(now.as_str()) != wanted);
    let other = wanted.zip(of_now);
    if let Some((wanted, _)) = &other {
        write(Path::new(DEFAULT_QDISC), wanted)?;
    }
    let deleted = explained(Change::DeleteRoot(dev.clone()).make(route), kind);
    if let Some((_, of_now)) = &other {
        write(Path::new(DEFAULT_QDISC), of_now)?;
    }
    deleted.map(|()| format!("{dev} has the kernel's default queue {kind} again"))
}
