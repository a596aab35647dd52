//! Two interfaces to be linked: their requirements, and how to restore them. The device and the kernel may
//! join packets when they arrive (GRO, LRO). A queue would see one large packet, so both are off while the
//! interfaces are linked.

use goodqueue_wire::netlink::{Interface, Route, interfaces};
use goodqueue_wire::{Ethtool, Interfaces, Lock};
use serde::{Deserialize, Serialize};

use crate::kept::States;
use crate::{Error, Result, sqm};

/// What the names of the files begin with.
const BRIDGE: &str = "bridge";
/// Features that join packets, or take a part out of them (`ethtool -k`).
const MERGING: [&str; 5] = ["rx-gro", "rx-lro", "rx-gro-hw", "rx-gro-list", "rx-udp-gro-forwarding"];

/// The features of one interface that were on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    /// Version of this format.
    schema: u32,
    interface: String,
    index: u32,
    were_on: Vec<String>,
}

/// Two interfaces, ready to be linked. Dropping it restores them.
#[derive(Debug)]
pub struct Pair {
    interfaces: [Interface; 2],
    is_given_back: bool,
    /// Tell other processes that the interfaces are in use.
    _held: [Lock; 2],
}

impl Pair {
    /// Checks and prepares two interfaces.
    ///
    /// # Errors
    /// `Refused` for interfaces that cannot be linked, `Missing` without the right.
    pub fn prepare(names: [&str; 2]) -> Result<Pair> {
        let mut route = Route::open()?;
        let all = interfaces(&mut route)?;
        let found = [sqm::find(&all, names[0])?, sqm::find(&all, names[1])?];
        if found[0].index == found[1].index {
            return Err(Error::Refused(format!("{} twice: a link is between two interfaces", names[0])));
        }
        if let Some(down) = found.iter().find(|interface| !interface.is_up) {
            let name = &down.name;
            return Err(Error::Refused(format!("{name} is down; first: ip link set dev {name} up")));
        }
        if let Some(other) = found.iter().find(|interface| interface.header != 14) {
            return Err(Error::Refused(format!(
                "{} is no Ethernet interface, and frames can only pass between two of them",
                other.name
            )));
        }
        let states = States::open()?;
        let held = [hold(&states, found[0])?, hold(&states, found[1])?];
        restore_others(&states)?;
        let pair = Pair { interfaces: found.map(Clone::clone), is_given_back: false, _held: held };
        let done = pair.interfaces.iter().try_for_each(|interface| prepare(&states, interface));
        // An error restores the pair, which takes the lock again.
        drop(states);
        done.map(|()| pair)
    }

    /// For the engine: up is from the first to the second.
    #[must_use]
    pub fn between(&self) -> Interfaces {
        let [client, server] = &self.interfaces;
        Interfaces::bridge(&client.name, &server.name, client.mtu.max(server.mtu))
    }

    /// Restores both interfaces.
    ///
    /// # Errors
    /// `State` if the file with the previous state cannot be read, `System` if the kernel refuses.
    pub fn give_back(mut self) -> Result<()> {
        self.put_back()
    }

    fn put_back(&mut self) -> Result<()> {
        self.is_given_back = true;
        let states = States::open()?;
        let [first, second] = &self.interfaces;
        let done = restore(&states, first.index);
        restore(&states, second.index).and(done)
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        if !self.is_given_back {
            let _ = self.put_back();
        }
    }
}

/// Takes the lock of an interface.
fn hold(states: &States, interface: &Interface) -> Result<Lock> {
    states.lock(BRIDGE, interface.index)?.ok_or_else(|| {
        Error::Refused(format!(
            "goodqueue bridge or shape --inside is on {} already; end it first, with Ctrl-C or kill",
            interface.name
        ))
    })
}

/// Restores the interfaces whose process was killed, but for those that are in use now.
fn restore_others(states: &States) -> Result<()> {
    for State { index, .. } in states.all::<State>(BRIDGE)? {
        if let Some(_held) = states.lock(BRIDGE, index)? {
            // What the kernel refuses on another interface does not concern this pair.
            let _ = restore(states, index);
        }
    }
    Ok(())
}

/// Switches off the features that join packets, and saves in a file which ones were on.
fn prepare(states: &States, interface: &Interface) -> Result<()> {
    // The leftovers of a link whose process was killed.
    restore(states, interface.index)?;
    let were_on = merging(&interface.name)?;
    if were_on.is_empty() {
        return Ok(());
    }
    let state = State { schema: 1, interface: interface.name.clone(), index: interface.index, were_on };
    states.write(BRIDGE, state.index, &state)?;
    set(&state, false).inspect_err(|_| {
        let _ = states.remove(BRIDGE, state.index);
    })
}

/// The features of an interface that join packets and are on.
fn merging(interface: &str) -> Result<Vec<String>> {
    let features = Ethtool::open(interface)?.features()?;
    let is_meant = |name: &str| MERGING.contains(&name);
    let on = features.into_iter().filter(|f| f.active && f.changeable && is_meant(&f.name));
    Ok(on.map(|feature| feature.name).collect())
}

fn set(state: &State, on: bool) -> Result<()> {
    let ethtool = Ethtool::open(&state.interface)?;
    ethtool.set(on, |feature| state.were_on.iter().any(|name| name == feature)).map_err(|error| {
        let command = format!("ethtool -K {} {}", state.interface, if on { "gro on" } else { "gro off" });
        Error::Kernel { command, source: error }.or_right()
    })
}

fn restore(states: &States, index: u32) -> Result<()> {
    let all: Vec<State> = states.all(BRIDGE)?;
    let Some(mut state) = all.into_iter().find(|state| state.index == index) else { return Ok(()) };
    let mut route = Route::open()?;
    // It may have a new name, or be gone.
    if let Some(now) = interfaces(&mut route)?.into_iter().find(|interface| interface.index == index) {
        state.interface = now.name;
        set(&state, true)?;
    }
    states.remove(BRIDGE, index)
}
