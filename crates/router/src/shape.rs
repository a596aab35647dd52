//! A detour for the frames of an interface: out to the queues of this program, and back.
//!
//! ```text
//!   what is to leave IFACE ─ egress filter ─► gqup (dummy) ─ packet socket ─► our queue ─► IFACE, marked
//!   what arrives at IFACE ─ ingress filter ─► gqdn (dummy) ─ packet socket ─► our queue ─► gqdn, marked
//!                                                                      gqdn's egress filter ─► arrives at IFACE
//! ```
//! A marked frame passes the filters of `IFACE`, so it takes the detour only once. If the program died,
//! frames would still go to the dummies, where nothing reads them. So another process waits only for that,
//! and then deletes the filters ([`clean`]).

use std::fs;

use goodqueue::QueueSpec;
use goodqueue::spec::QueueParams;
use goodqueue_wire::lab::set_offloads;
use goodqueue_wire::netlink::{Interface, Route, Tracking, interfaces};
use goodqueue_wire::{Interfaces, Lock};
use serde::{Deserialize, Serialize};

use crate::error::{ENOENT, EOPNOTSUPP};
use crate::kept::States;
use crate::tc::{Change, Hook, Steer, To, installed};
use crate::{Error, Result, sqm};

/// What the names of the files begin with.
const SHAPE: &str = "shape";
/// The mark of frames that have been in our queues: "GQ" in the high half.
const MARK: u32 = 0x4751_0000;

/// The file of one interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    /// Version of this format.
    schema: u32,
    interface: String,
    index: u32,
}

/// The dummies of an interface: for what leaves, and for what arrives. Their names contain the interface's
/// number, so they are short and unique.
fn dummies(index: u32) -> [String; 2] {
    [format!("gqup{index}"), format!("gqdn{index}")]
}

/// The changes that a detour needs. The last two are the ones that send frames on it.
#[must_use]
pub fn plan(interface: &Interface) -> Vec<Change> {
    let dev = interface.name.clone();
    let [up, down] = dummies(interface.index);
    let steer = |dev: &str, hook, mark, to| Change::Steer(Steer { dev: dev.into(), hook, mark, to });
    let mut changes = Vec::new();
    for name in [&up, &down] {
        let alias = format!("goodqueue shape {dev}");
        changes.push(Change::AddDummy { name: name.clone(), alias, mtu: interface.mtu });
        changes.push(Change::SetUp(name.clone()));
    }
    changes.push(Change::AddClsact(down.clone()));
    changes.push(steer(&down, Hook::Egress, Some(MARK), To::In(dev.clone())));
    changes.push(Change::AddClsact(dev.clone()));
    changes.push(steer(&dev, Hook::Egress, Some(MARK), To::Pass));
    changes.push(steer(&dev, Hook::Ingress, Some(MARK), To::Unmark));
    changes.push(steer(&dev, Hook::Egress, None, To::Out(up)));
    changes.push(steer(&dev, Hook::Ingress, None, To::Out(down)));
    changes
}

/// Whether one of the queues must distinguish hosts behind address translation (`nat` of `cake`).
#[must_use]
pub fn tracks(queues: [&QueueSpec; 2]) -> bool {
    queues.into_iter().any(is_behind_translation)
}

/// Opens a view of connection tracking if one of the queues, up and down, must distinguish hosts behind
/// address translation (`nat` of `cake`). It changes nothing.
///
/// # Errors
/// `System` that is missing ([`goodqueue_wire::Error::is_missing`]) if the kernel tracks no connections.
pub fn tracking(queues: [&QueueSpec; 2]) -> Result<Option<Tracking>> {
    let ways = queues.map(is_behind_translation);
    Ok(if ways.contains(&true) { Some(Tracking::open(ways)?) } else { None })
}

fn is_behind_translation(queue: &QueueSpec) -> bool {
    let is_own = match queue.params() {
        QueueParams::Cake(cake) => cake.nat,
        QueueParams::CakeMq(cake) => cake.nat,
        _ => false,
    };
    is_own || queue.leaf().is_some_and(|leaf| is_behind_translation(&leaf))
}

/// How many changes at the end of a plan affect the interface itself.
const OWN: usize = 5;
/// How many of them, also at the end, send frames on the detour.
const TAKE: usize = 2;

/// The changes of the interface itself, tried on the dummy for what leaves. If the kernel lacks a module,
/// they fail here, and the interface is not touched.
fn rehearsal(own: &[Change], interface: &Interface) -> Vec<Change> {
    let [dummy, _] = dummies(interface.index);
    let on_dummy = |change: &Change| match change.clone() {
        Change::AddClsact(_) => Change::AddClsact(dummy.clone()),
        Change::Steer(steer) => Change::Steer(Steer { dev: dummy.clone(), ..steer }),
        other => other,
    };
    own.iter().map(on_dummy).chain([Change::DeleteClsact(dummy.clone())]).collect()
}

/// A detour. Dropping it restores the previous state.
pub struct Detour {
    interface: Interface,
    route: Route,
    /// The changes that are still to be made.
    take: Vec<Change>,
    /// Tells other processes that it is in use.
    _held: Lock,
}

impl Detour {
    /// Makes a detour that no frame takes yet.
    ///
    /// # Errors
    /// `Refused` for an interface that cannot have one, `Missing` without a right or a module; nothing is
    /// changed then.
    pub fn prepare(name: &str) -> Result<Detour> {
        let mut route = Route::open()?;
        let all = interfaces(&mut route)?;
        let interface = sqm::find(&all, name)?.clone();
        if interface.header != 14 {
            return Err(Error::Refused(format!(
                "{name} is not an Ethernet interface, and only Ethernet frames can take the detour; the kernel's own queues \
                 can: goodqueue sqm {name}"
            )));
        }
        if !interface.is_up {
            return Err(Error::Refused(format!("{name} is down; first: ip link set dev {name} up")));
        }
        let states = States::open()?;
        let held = states.lock(SHAPE, interface.index)?.ok_or_else(|| {
            Error::Refused(format!(
                "goodqueue shape or autorate is on {name} already; end it first, with Ctrl-C or kill"
            ))
        })?;
        if let Some(state) = kept(&states, interface.index)? {
            // The leftovers of a shaper that was killed together with its guard.
            remove(&state, &states, &mut route)?;
        }
        for state in states.all::<State>(SHAPE)? {
            let is_gone = all.iter().all(|interface| interface.index != state.index);
            if is_gone && states.lock(SHAPE, state.index)?.is_some() {
                // The same for an interface that is gone.
                remove(&state, &states, &mut route)?;
            }
        }
        let others = installed(&mut route)?;
        if let Some(other) = others.iter().find(|qdisc| qdisc.index == interface.index && qdisc.is_ingress())
        {
            return Err(Error::Refused(format!(
                "{name} has a queueing discipline {} with filters of somebody else, perhaps goodqueue sqm {name}; if \
                 nobody needs it: tc qdisc del dev {name} {}",
                other.kind, other.kind
            )));
        }
        let state = State { schema: 1, interface: name.into(), index: interface.index };
        states.write(SHAPE, interface.index, &state)?;
        let mut changes = plan(&interface);
        let mut own = changes.split_off(changes.len() - OWN);
        changes.extend(rehearsal(&own, &interface));
        let take = own.split_off(OWN - TAKE);
        let mut detour = Detour { interface, route, take, _held: held };
        let mut count = 0;
        let mut make = |change| detour.make(change).map(|()| count += 1);
        let made = changes.iter().chain(&own).try_for_each(&mut make);
        if count == 0 {
            // Without the right nothing could be removed either, and nothing was made.
            states.remove(SHAPE, detour.index())?;
        }
        drop(states);
        made?;
        Ok(detour)
    }

    fn make(&mut self, change: &Change) -> Result<()> {
        if let Change::SetUp(dummy) = change {
            // The host must send nothing of its own through it. Without IPv6 there is no such file.
            let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{dummy}/disable_ipv6"), "1");
            set_offloads(dummy, false)?;
        }
        change.make(&mut self.route).map_err(|error| explain(error, change))
    }

    /// For the engine.
    #[must_use]
    pub fn between(&self) -> Interfaces {
        let Interface { name, index, mtu, .. } = &self.interface;
        let [up, down] = dummies(*index);
        let read = |file: &str| fs::read_to_string(format!("/sys/class/net/{name}/{file}")).ok();
        // A port of a bridge takes frames for all stations.
        let is_port = fs::exists(format!("/sys/class/net/{name}/master")).unwrap_or(false);
        let station = read("address").filter(|_| !is_port).and_then(|text| mac(&text));
        Interfaces::detour(name, [&up, &down], MARK, *mtu, station)
    }

    /// The number of the interface, for [`clean`].
    #[must_use]
    pub const fn index(&self) -> u32 {
        self.interface.index
    }

    /// Sends all frames on the detour. The engine must be running.
    ///
    /// # Errors
    /// `Kernel` if a filter cannot be made.
    pub fn take(&mut self) -> Result<()> {
        for change in std::mem::take(&mut self.take) {
            self.make(&change)?;
        }
        Ok(())
    }

    /// Sends no more frames on the detour. Frames that are on it come back.
    ///
    /// # Errors
    /// `Kernel` if the filters cannot be deleted.
    pub fn release(&mut self) -> Result<()> {
        let name = name_now(&mut self.route, self.interface.index)?;
        name.map_or(Ok(()), |name| {
            Change::DeleteClsact(name).make_sure(&mut self.route).map_err(Error::or_right)
        })
    }
}

impl Drop for Detour {
    fn drop(&mut self) {
        let _ = clean(self.interface.index);
    }
}

/// Removes the detour of an interface, by its number, if there is one. Returns whether there was.
///
/// # Errors
/// `Kernel` if something cannot be deleted.
pub fn clean(index: u32) -> Result<bool> {
    let states = States::open()?;
    let Some(state) = kept(&states, index)? else { return Ok(false) };
    remove(&state, &states, &mut Route::open()?).map(|()| true)
}

fn kept(states: &States, index: u32) -> Result<Option<State>> {
    Ok(states.all::<State>(SHAPE)?.into_iter().find(|state| state.index == index))
}

fn remove(state: &State, states: &States, route: &mut Route) -> Result<()> {
    if let Some(name) = name_now(route, state.index)? {
        Change::DeleteClsact(name).make_sure(route).map_err(Error::or_right)?;
    }
    for dummy in dummies(state.index) {
        Change::DeleteLink(dummy).make_sure(route).map_err(Error::or_right)?;
    }
    states.remove(SHAPE, state.index)
}

fn name_now(route: &mut Route, index: u32) -> Result<Option<String>> {
    Ok(interfaces(route)?.into_iter().find(|interface| interface.index == index).map(|found| found.name))
}

/// Names what the kernel lacks.
fn explain(error: Error, change: &Change) -> Error {
    let Error::Kernel { source, .. } = &error else { return error };
    if !matches!(source.errno(), Some(ENOENT | EOPNOTSUPP)) {
        return error.or_right();
    }
    let modules = match change {
        Change::AddDummy { .. } => "dummy",
        Change::AddClsact(_) => "sch_ingress",
        Change::Steer(Steer { mark: Some(_), to: To::Pass, .. }) => "cls_fw act_gact",
        Change::Steer(Steer { mark: Some(_), to: To::Unmark, .. }) => "cls_fw act_skbedit",
        Change::Steer(Steer { mark: Some(_), .. }) => "cls_fw act_mirred",
        Change::Steer(_) => "cls_matchall act_mirred",
        _ => return error,
    };
    Error::Missing {
        what: format!("a kernel module of {modules} ({source})"),
        cure: format!("load it: modprobe -a {modules}"),
    }
}

/// An Ethernet address, as sysfs writes it.
fn mac(text: &str) -> Option<[u8; 6]> {
    let bytes =
        text.trim().split(':').map(|byte| u8::from_str_radix(byte, 16).ok()).collect::<Option<Vec<_>>>();
    bytes?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_sysfs_writes_it() {
        assert_eq!(mac("02:67:71:00:00:0a\n"), Some([2, 0x67, 0x71, 0, 0, 10]));
        assert_eq!(mac("02:67"), None);
        assert_eq!(mac("00:00:00:00:00:00:00:00"), None, "InfiniBand");
    }

    #[test]
    fn a_queue_that_asks_for_it_is_found_also_in_classes() {
        for (text, is_asked) in [
            ("cake:besteffort,nat=on", true),
            ("cake_mq,nat=on", true),
            ("prio,leaf=cake,leaf.nat=on", true),
            ("cake:besteffort", false),
            ("fq_codel", false),
        ] {
            assert_eq!(is_behind_translation(&text.parse().expect(text)), is_asked, "{text}");
        }
    }

    fn eth0() -> Interface {
        Interface {
            index: 7,
            name: "eth0".into(),
            kind: None,
            alias: None,
            is_up: true,
            is_loopback: false,
            header: 14,
            mtu: 1500,
            tx_queues: 1,
            tx_queue_len: 1000,
        }
    }

    #[test]
    fn what_the_interface_gets_is_tried_elsewhere_first() {
        let (interface, mut changes) = (eth0(), plan(&eth0()));
        let own = changes.split_off(changes.len() - OWN);
        assert!(own.iter().all(|change| change.to_string().contains(" dev eth0 ")), "{own:?}");
        assert!(!changes.iter().any(|change| change.to_string().contains(" dev eth0 ")), "{changes:?}");
        let tried: Vec<String> = rehearsal(&own, &interface).iter().map(ToString::to_string).collect();
        let same = own.iter().map(|change| change.to_string().replace("dev eth0 ", "dev gqup7 "));
        assert_eq!(tried, same.chain(["tc qdisc del dev gqup7 clsact".into()]).collect::<Vec<_>>());
    }

    #[test]
    fn a_frame_takes_the_detour_once() {
        let text: Vec<String> = plan(&eth0()).iter().map(ToString::to_string).collect();
        assert_eq!(
            text.join("\n"),
            "\
ip link add name gqup7 mtu 1500 type dummy
ip link set dev gqup7 up
ip link add name gqdn7 mtu 1500 type dummy
ip link set dev gqdn7 up
tc qdisc add dev gqdn7 clsact
tc filter add dev gqdn7 egress protocol all prio 1 handle 0x47510000 fw action mirred ingress redirect dev eth0
tc qdisc add dev eth0 clsact
tc filter add dev eth0 egress protocol all prio 1 handle 0x47510000 fw action pass
tc filter add dev eth0 ingress protocol all prio 1 handle 0x47510000 fw action skbedit mark 0 pass
tc filter add dev eth0 egress protocol all prio 2 matchall action mirred egress redirect dev gqup7
tc filter add dev eth0 ingress protocol all prio 2 matchall action mirred egress redirect dev gqdn7"
        );
    }
}
