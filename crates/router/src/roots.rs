//! What the root queueing discipline of each interface has sent and dropped, and what waits in it. Every user
//! may ask.

use std::collections::BTreeMap;

use goodqueue_wire::netlink::{Route, interfaces};

use crate::Result;
use crate::tc::{Counts, Installed, installed};

/// The interfaces of a network namespace, and a connection to ask for their queues.
pub struct Roots {
    route: Route,
    /// By number.
    names: BTreeMap<u32, String>,
}

/// The root queueing discipline of an interface at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// The interface.
    pub interface: String,
    /// Its kind; that of its first queue, if it has one for each of the device's (`mq`, `mqprio`).
    pub kind: String,
    /// Its counters, with those of the queues in it.
    pub counts: Counts,
}

/// Roots with a queue for each of the device's.
const ROOTS_OF_MANY: [&str; 2] = ["mq", "mqprio"];

impl Roots {
    /// Those of the network namespace of the calling thread.
    ///
    /// # Errors
    /// Those of [`Route::open`] and [`Route::dump`].
    pub fn open() -> Result<Roots> {
        let mut route = Route::open()?;
        let names = names(&mut route)?;
        Ok(Roots { route, names })
    }

    /// What they are now.
    ///
    /// # Errors
    /// Those of [`Route::dump`].
    pub fn now(&mut self) -> Result<Vec<Root>> {
        let all = installed(&mut self.route)?;
        if all.iter().any(|qdisc| !self.names.contains_key(&qdisc.index)) {
            self.names = names(&mut self.route)?;
        }
        Ok(of(&all, &self.names))
    }
}

/// The names of all interfaces, by number.
fn names(route: &mut Route) -> Result<BTreeMap<u32, String>> {
    let all = interfaces(route)?;
    Ok(all.into_iter().map(|interface| (interface.index, interface.name)).collect())
}

fn of(all: &[Installed], names: &BTreeMap<u32, String>) -> Vec<Root> {
    let root = |root: &Installed| {
        let is_in = |one: &&Installed| one.index == root.index && one.parent.major == root.handle;
        let many = ROOTS_OF_MANY.contains(&root.kind.as_str());
        let first = all.iter().filter(|_| many).find(|one| !one.is_root() && is_in(one));
        let kind = first.unwrap_or(root).kind.clone();
        Some(Root { interface: names.get(&root.index)?.clone(), kind, counts: root.counts })
    };
    all.iter().filter(|qdisc| qdisc.is_root()).filter_map(root).collect()
}

#[cfg(test)]
mod tests {
    use netlink_packet_route::tc::TcHandle;

    use super::*;
    use crate::tc::Extra;

    fn qdisc(index: u32, kind: &str, handle: u16, parent: TcHandle, drops: u32) -> Installed {
        Installed {
            index,
            kind: kind.into(),
            handle,
            minor: 0,
            parent,
            options: Vec::new(),
            counts: Counts { drops, ..Counts::default() },
            extra: Extra::default(),
        }
    }

    #[test]
    fn each_interface_has_one_root() {
        let names = [(2, "eth0"), (3, "eth1")].map(|(index, name)| (index, name.to_owned())).into();
        let leaf = |major, minor| TcHandle { major, minor };
        let all = [
            qdisc(2, "mq", 0, TcHandle::ROOT, 7),
            qdisc(2, "fq", 0, leaf(0, 1), 3),
            qdisc(2, "fq", 0, leaf(0, 2), 4),
            qdisc(3, "tbf", 1, TcHandle::ROOT, 5),
            qdisc(3, "pfifo", 2, leaf(1, 1), 5),
            qdisc(3, "ingress", 0xffff, TcHandle::INGRESS, 9),
            qdisc(4, "pfifo", 1, TcHandle::ROOT, 1),
        ];
        let found: Vec<_> =
            of(&all, &names).into_iter().map(|root| (root.interface, root.kind, root.counts.drops)).collect();
        let want = [("eth0", "fq", 7), ("eth1", "tbf", 5)];
        assert_eq!(found, want.map(|(name, kind, drops)| (name.to_owned(), kind.to_owned(), drops)));
    }

    #[test]
    fn the_kernel_tells_every_user() {
        let roots = Roots::open().and_then(|mut roots| roots.now()).expect("the kernel answers");
        let counted = std::fs::read_to_string("/proc/net/dev").expect("the kernel's list of interfaces");
        let names: Vec<&str> =
            counted.lines().filter_map(|line| Some(line.split_once(':')?.0.trim())).collect();
        assert!(roots.iter().all(|root| names.contains(&root.interface.as_str())), "{roots:?} {names:?}");
    }
}
