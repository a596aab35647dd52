//! Reads the queues: what each queueing discipline of an interface has sent, dropped and marked since the
//! last reading, and what waits in it now. Wi-Fi interfaces have their stations, too.

use std::fs;
use std::time::{Duration, Instant};

use goodqueue_wire::netlink::{Interface, Route, interfaces};

use crate::airtime::{self, Row, Wireless};
use crate::tc::{Counts, Extra, Installed, Tin, classes, installed};
use crate::{Error, Result};

/// The interfaces at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    at: Instant,
    interfaces: Vec<(Interface, Vec<Installed>)>,
    bql: Vec<Vec<Bql>>,
    /// The flows in the queues of each interface, if they were asked for.
    flows: Vec<Vec<Installed>>,
    /// The stations of Wi-Fi interfaces, if the kernel told them.
    air: Option<airtime::Snapshot>,
}

/// A transmit queue under byte queue limits (`/sys/class/net/IFACE/queues/tx-N/byte_queue_limits`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bql {
    /// Bytes that may be in flight to the device.
    pub limit: u64,
    /// Bytes in flight.
    pub inflight: u64,
}

impl Snapshot {
    /// Looks at the interfaces with these names, or at all but loopback if no names are given. With
    /// `wireless`, it also looks at the stations of those that are Wi-Fi interfaces; with `flows`, at the
    /// flows that wait in their queues.
    ///
    /// # Errors
    /// `Refused` for a name that is not there; those of [`Route::dump`]. If nl80211 does not answer, there
    /// are no stations.
    pub fn now(
        route: &mut Route,
        wireless: Option<&mut Wireless>,
        names: &[String],
        flows: bool,
    ) -> Result<Snapshot> {
        let all = interfaces(route)?;
        if let Some(unknown) = names.iter().find(|name| all.iter().all(|interface| interface.name != **name))
        {
            crate::sqm::find(&all, unknown)?;
        }
        let mut qdiscs = installed(route)?;
        let at = Instant::now();
        let is_meant = |interface: &Interface| match names {
            [] => !interface.is_loopback,
            names => names.contains(&interface.name),
        };
        let mut meant: Vec<(Interface, Vec<Installed>)> =
            all.into_iter().filter(is_meant).map(|interface| (interface, Vec::new())).collect();
        // Both are sorted by number, so that a thousand interfaces take no longer than necessary.
        meant.sort_by_key(|(interface, _)| interface.index);
        qdiscs.retain(|qdisc| !qdisc.is_ingress());
        for qdisc in qdiscs {
            if let Ok(place) = meant.binary_search_by_key(&qdisc.index, |(interface, _)| interface.index) {
                meant[place].1.push(qdisc);
            }
        }
        let bql = meant.iter().map(|(interface, _)| bql_of(&interface.name)).collect();
        let has_flows = |qdiscs: &[Installed]| qdiscs.iter().any(|qdisc| FAIR.contains(&qdisc.kind.as_str()));
        let mut waiting = Vec::new();
        for (interface, qdiscs) in &meant {
            let asked = flows && has_flows(qdiscs);
            waiting.push(if asked { classes(route, interface.index)? } else { Vec::new() });
        }
        let air = wireless.and_then(|wireless| airtime::Snapshot::among(wireless, names).ok());
        Ok(Snapshot { at, interfaces: meant, bql, flows: waiting, air })
    }

    /// What happened since the look `before`.
    #[must_use]
    pub fn since(&self, before: &Snapshot) -> Vec<Watched> {
        let span = self.at.saturating_duration_since(before.at);
        let watched = |number: usize| {
            let (interface, qdiscs) = &self.interfaces[number];
            let earlier = before.interfaces.binary_search_by_key(&interface.index, |(other, _)| other.index);
            let then = earlier.map_or(&[][..], |place| &before.interfaces[place].1[..]);
            let flows = &self.flows[number][..];
            let queue = |qdisc: &Installed| {
                let own = flows
                    .iter()
                    .filter(|flow| FAIR.contains(&flow.kind.as_str()) && flow.handle == qdisc.handle);
                Queue { waiting: own.filter_map(Flow::of).collect(), ..Queue::of(qdisc, then, span) }
            };
            Watched {
                interface: interface.name.clone(),
                is_up: interface.is_up,
                queues: qdiscs.iter().map(queue).collect(),
                bql: self.bql[number].clone(),
                stations: Vec::new(),
            }
        };
        let mut all: Vec<Watched> = (0..self.interfaces.len()).map(watched).collect();
        if let Some(air) = &self.air {
            join(&mut all, air.since(before.air.as_ref().unwrap_or(air)).stations);
        }
        all
    }
}

/// Gives each station to the interface that it joined.
fn join(all: &mut [Watched], stations: Vec<Row>) {
    for row in stations {
        if let Some(joined) = all.iter_mut().find(|watched| watched.interface == row.interface) {
            joined.stations.push(row);
        }
    }
}

/// Queueing disciplines whose classes are the flows that wait in them.
const FAIR: [&str; 2] = ["fq_codel", "cake"];

/// A flow that waits in a queue, or all flows of a host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flow {
    /// Its name: the number of its class, as tc writes it, or its ends.
    pub name: String,
    /// Bytes that wait; `None` if only packets are counted.
    pub waiting_bytes: Option<u64>,
    /// Packets that wait.
    pub waiting_packets: u64,
    /// Bytes sent since it appeared, if they are counted.
    pub sent_bytes: Option<u64>,
    /// Packets dropped since it appeared (`cake`: since the queue was made).
    pub drops: u64,
    /// Packets marked with CE, if they are counted.
    pub marks: Option<u64>,
    /// Sent between the looks, bit/s, if that is counted.
    pub rate_bps: Option<f64>,
    /// How long its packets waited, ms: the last one (`fq_codel`), or the mean between the looks.
    pub wait_ms: Option<f64>,
}

impl Flow {
    /// A class with packets; others are not current flows.
    fn of(class: &Installed) -> Option<Flow> {
        (class.counts.qlen > 0).then(|| Flow {
            name: format!("{:x}:{:x}", class.handle, class.minor),
            waiting_bytes: Some(class.counts.backlog.into()),
            waiting_packets: class.counts.qlen.into(),
            sent_bytes: None,
            drops: class.counts.drops.into(),
            marks: None,
            rate_bps: None,
            wait_ms: class.extra.delay_us.map(|micros| f64::from(micros) / 1e3),
        })
    }
}

/// The limits of an interface's transmit queues; none without BQL.
fn bql_of(name: &str) -> Vec<Bql> {
    let Ok(queues) = fs::read_dir(format!("/sys/class/net/{name}/queues")) else { return Vec::new() };
    let mut all = Vec::new();
    for queue in queues.flatten() {
        let folder = queue.path().join("byte_queue_limits");
        let read = |file: &str| fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok();
        // A driver without BQL has the files too: its limit stays 0 (`netdev_tx_completed_queue` is never
        // called).
        if let (Some(limit), Some(inflight)) = (read("limit").filter(|limit| *limit > 0), read("inflight")) {
            all.push(Bql { limit, inflight });
        }
    }
    all
}

/// An interface between two looks.
#[derive(Clone, Debug, PartialEq)]
pub struct Watched {
    /// Its name.
    pub interface: String,
    /// Whether it is up.
    pub is_up: bool,
    /// Its queueing disciplines, the root first.
    pub queues: Vec<Queue>,
    /// Its transmit queues with BQL.
    pub bql: Vec<Bql>,
    /// Its stations, if it is a Wi-Fi interface; for a client, its access point.
    pub stations: Vec<Row>,
}

/// A queueing discipline between two looks.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    /// Its kind.
    pub kind: String,
    /// Its handle, as tc writes it.
    pub handle: String,
    /// Its place: `root`, or the class that it is in.
    pub place: String,
    /// Since it was made.
    pub counts: Counts,
    /// Packets marked with CE since it was made.
    pub marks: Option<u64>,
    /// Flows that wait: sparse, bulk.
    pub flows: Option<(u32, u32)>,
    /// The tins of `cake` since it was made.
    pub tins: Vec<Tin>,
    /// The flows in it, if they were asked for.
    pub waiting: Vec<Flow>,
    /// Sent between the looks, bit/s.
    pub rate_bps: f64,
    /// Dropped between the looks, packets a second.
    pub drop_rate: f64,
    /// Marked between the looks, packets a second.
    pub mark_rate: f64,
    /// How long a packet waits, ms: as `cake` measures it; otherwise the backlog divided by the rate between
    /// the looks. `None` if something waits and nothing was sent.
    pub wait_ms: Option<f64>,
}

impl Queue {
    fn of(qdisc: &Installed, earlier: &[Installed], span: Duration) -> Queue {
        let Extra { marks, flows, ref tins, .. } = qdisc.extra;
        let before =
            earlier.iter().find(|other| (other.handle, other.parent) == (qdisc.handle, qdisc.parent));
        let seconds = span.as_secs_f64().max(1e-9);
        let counts = qdisc.counts;
        let rate = |of: &dyn Fn(&Installed) -> u64| {
            let then = before.map_or(0, of);
            // The counters of a queue that was made again start from zero.
            of(qdisc).checked_sub(then).unwrap_or(of(qdisc)) as f64 / seconds
        };
        let rate_bps = if before.is_some() { 8.0 * rate(&|of| of.counts.bytes) } else { 0.0 };
        let measured = tins.iter().map(|tin| tin.average_us).max();
        let wait_ms = match (measured, counts.backlog) {
            (Some(micros), _) => Some(f64::from(micros) / 1e3),
            (None, 0) => Some(0.0),
            (None, backlog) => (rate_bps > 0.0).then(|| f64::from(backlog) * 8e3 / rate_bps),
        };
        Queue {
            kind: qdisc.kind.clone(),
            handle: format!("{:x}:", qdisc.handle),
            place: if qdisc.is_root() {
                "root".into()
            } else {
                format!("{:x}:{:x}", qdisc.parent.major, qdisc.parent.minor)
            },
            counts,
            marks,
            flows,
            tins: tins.clone(),
            waiting: Vec::new(),
            rate_bps,
            drop_rate: if before.is_some() { rate(&|of| of.counts.drops.into()) } else { 0.0 },
            mark_rate: if before.is_some() { rate(&|of| of.extra.marks.unwrap_or(0)) } else { 0.0 },
            wait_ms,
        }
    }

    /// Whether nothing waits, and nothing happened between the looks.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.rate_bps == 0.0 && self.counts.backlog == 0 && self.drop_rate == 0.0
    }
}

/// Checks an interval: between 0.1 s and an hour.
///
/// # Errors
/// `Refused` outside.
pub fn interval(asked: Duration) -> Result<Duration> {
    if (Duration::from_millis(100)..=Duration::from_secs(3600)).contains(&asked) {
        Ok(asked)
    } else {
        Err(Error::Refused(format!("--interval {asked:?}: from 100ms to 1h")))
    }
}

#[cfg(test)]
mod tests {
    use netlink_packet_route::tc::TcHandle;

    use super::*;

    fn qdisc(bytes: u64, drops: u32, backlog: u32) -> Installed {
        Installed {
            index: 2,
            kind: "pfifo".into(),
            handle: 5,
            minor: 0,
            parent: TcHandle::ROOT,
            options: Vec::new(),
            counts: Counts { bytes, drops, backlog, ..Counts::default() },
            extra: Extra::default(),
        }
    }

    #[test]
    fn what_waits_at_the_rate_of_the_last_interval_is_the_waiting_time() {
        let queue =
            Queue::of(&qdisc(2_250_000, 7, 125_000), &[qdisc(1_000_000, 5, 0)], Duration::from_secs(1));
        assert_eq!((queue.rate_bps, queue.drop_rate, queue.wait_ms), (10e6, 2.0, Some(100.0)));
    }

    #[test]
    fn stations_are_those_of_the_interface_that_they_joined() {
        let mut all = ["eth0", "wlan0", "guest0"].map(|name| Watched {
            interface: name.into(),
            is_up: true,
            queues: Vec::new(),
            bql: Vec::new(),
            stations: Vec::new(),
        });
        let row = |interface: &str, down_bps| Row { interface: interface.into(), down_bps, ..Row::default() };
        join(&mut all, vec![row("wlan0", 1.0), row("wlan0", 2.0), row("guest0", 3.0), row("gone0", 4.0)]);
        let rates = all.map(|watched| watched.stations.iter().map(|row| row.down_bps).collect::<Vec<_>>());
        assert_eq!(rates, [vec![], vec![1.0, 2.0], vec![3.0]]);
    }

    #[test]
    fn a_queue_that_stands_still_has_no_waiting_time() {
        let queue = Queue::of(&qdisc(10, 0, 3000), &[qdisc(10, 0, 0)], Duration::from_secs(1));
        assert_eq!(queue.wait_ms, None);
    }

    #[test]
    fn a_queue_made_anew_counts_from_zero() {
        let queue = Queue::of(&qdisc(1000, 0, 0), &[qdisc(1 << 40, 9, 0)], Duration::from_secs(1));
        assert_eq!((queue.rate_bps, queue.drop_rate), (8000.0, 0.0));
        let first = Queue::of(&qdisc(1 << 40, 9, 0), &[], Duration::from_secs(1));
        assert!(first.is_idle(), "what it counted before the first look is no rate");
    }
}
