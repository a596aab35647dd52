//! The queue under replay: its parameters, calls and state by name.

use std::cell::RefCell;
use std::rc::Rc;

use goodqueue::arena::Slot;
use goodqueue::cake::{AckFilter, Diffserv, Framing, InForce, Isolation, Params, Queued, TINS, Tables};
use goodqueue::details::Classified;
use goodqueue::{Cake, Configurable, Header, Heap, Inspect, Link, Nanos, Queue, Rate, Span};

use super::owner::{Arrival, Log, Owner, Recorded};
use crate::replay::Fault;
use crate::replay::text::{Entry, Fields, Number, Step, field};

pub(super) struct Subject {
    queue: Cake<Header, Heap, Recorded>,
    owner: Owner,
    last_id: u64,
}

/// The word number `entry` of a list.
fn word<T: Copy>(entry: &Entry<'_>, words: &[T]) -> Result<T, Fault> {
    let at = entry.number::<usize>()?;
    words.get(at).copied().ok_or_else(|| Fault::at(entry.line, format!("{}: {at} is unknown", entry.key)))
}

const DIFFSERV: [Diffserv; 5] = [
    Diffserv::Diffserv3,
    Diffserv::Diffserv4,
    Diffserv::Diffserv8,
    Diffserv::Besteffort,
    Diffserv::Precedence,
];

const ISOLATION: [Isolation; 8] = [
    Isolation::Flowblind,
    Isolation::Srchost,
    Isolation::Dsthost,
    Isolation::Hosts,
    Isolation::Flows,
    Isolation::DualSrchost,
    Isolation::DualDsthost,
    Isolation::TripleIsolate,
];

/// Sets one parameter.
fn set(params: &mut InForce, entry: &Entry<'_>) -> Result<(), Fault> {
    let switch = || word(entry, &[false, true]);
    let micros = || entry.number::<u32>().map(|micros| Span::from_micros(micros.into()));
    let given = &mut params.given;
    match entry.key {
        "base_rate64" => given.bandwidth = Some(Rate(entry.number::<u64>()?.saturating_mul(8))),
        "diffserv_mode" => given.diffserv = word(entry, &DIFFSERV)?,
        "flow_mode" => given.isolation = word(entry, &ISOLATION)?,
        "rtt" => given.rtt = micros()?,
        "target" => params.target = micros()?,
        "overhead" => {
            params.overhead.bytes = entry.number()?;
            params.overhead.from_network = true;
        }
        "mpu" => params.mpu = entry.number()?,
        "atm" => params.framing = word(entry, &[Framing::None, Framing::Atm, Framing::Ptm])?,
        "memory" => given.memlimit = Some(entry.number()?),
        "autorate" => given.autorate_ingress = switch()?,
        "ingress" => given.ingress = Some(switch()?),
        "wash" => given.wash = switch()?,
        "split_gso" => given.split_gso = switch()?,
        "ack_filter" => {
            given.ack_filter = word(entry, &[AckFilter::Off, AckFilter::On, AckFilter::Aggressive])?;
        }
        "fwmark" => given.fwmark = entry.number()?,
        "nat" if entry.value == "0" => {}
        key => return Err(Fault::at(entry.line, format!("unknown parameter `{key}`"))),
    }
    Ok(())
}

/// Packets that arrive in the whole file, segments counted: more storage is never needed. At most 64 Ki
/// segments a packet can be told.
fn packets(steps: &[Step<'_>]) -> Result<usize, Fault> {
    let mut packets = 0;
    for step in steps.iter().filter(|step| step.kind == "E") {
        let entries = super::owner::fields_of(step.fields.clone())?;
        let segments = entries.iter().find(|entry| entry.key == "segs").map(Entry::number::<u16>);
        packets += segments.and_then(Result::ok).map_or(1, usize::from);
    }
    Ok(packets)
}

/// Values of the header that hold for every file.
const FIXED: [(&str, &str); 5] =
    [("vectors", "1"), ("qdisc", "cake"), ("limit", "10240"), ("ways", "8"), ("quantum", "1514")];

impl Subject {
    pub(super) fn new(header: &[Entry<'_>], steps: &[Step<'_>]) -> Result<Subject, Fault> {
        let mut params = Params::default().on_link(Link::ethernet(Rate(0)));
        let (mut flows, mut is_raw) = (1024_u32, false);
        for entry in header {
            match entry.key {
                "vector" | "source" | "start_ns" | "oracle_seed" | "oracle_link_bps" | "note" | "filter" => {}
                "mtu" => params.mtu = entry.number()?,
                "handle" => params.handle = entry.number()?,
                "flows" => flows = entry.number()?,
                "raw" => is_raw = word(entry, &[false, true])?,
                key if FIXED.contains(&(key, entry.value)) => {}
                _ => set(&mut params, entry)?,
            }
        }
        params.overhead.from_network = !is_raw;
        let log = Rc::new(RefCell::new(Log::default()));
        let slots = vec![Slot::<Queued<Header>>::default(); packets(steps)? + 1];
        let tables = Tables::on_heap(TINS, if flows <= 1 << 16 { flows } else { 0 });
        let parts = (Recorded(Rc::clone(&log)), tables, slots);
        let queue = Cake::new(Nanos(0), params, Link::ethernet(Rate(0)), parts);
        let queue = queue.map_err(|error| Fault::at(1, error.to_string()))?;
        Ok(Subject { queue, owner: Owner { arrivals: Vec::new(), log }, last_id: 0 })
    }

    /// Makes a call; its results as the lines of a vector.
    pub(super) fn call(&mut self, step: &Step<'_>) -> Result<Vec<String>, Fault> {
        let now = Nanos(step.t);
        {
            let mut log = self.owner.log.borrow_mut();
            let draws = step.results.iter().filter_map(|line| line.strip_prefix("V "));
            log.draws = draws.filter_map(|draw| draw.parse().ok()).collect();
        }
        let mut fields = step.fields.clone();
        match step.kind {
            "E" => self.enqueue(now, fields)?,
            "C" => self.change(now, &fields.entries()?)?,
            kind => {
                fields.end()?;
                if kind == "D" { self.dequeue(now) } else { self.queue.reset(now, &mut self.owner) }
            }
        }
        Ok(std::mem::take(&mut self.owner.log.borrow_mut().results))
    }

    fn note(&self, result: String) {
        self.owner.log.borrow_mut().results.push(result);
    }

    fn enqueue(&mut self, now: Nanos, fields: Fields<'_>) -> Result<(), Fault> {
        let line = fields.line;
        let arrival = Arrival::read(fields)?;
        if arrival.id <= self.last_id {
            return Err(Fault::at(
                line,
                format!("packet {} comes after packet {}", arrival.id, self.last_id),
            ));
        }
        self.last_id = arrival.id;
        let is_refused = matches!(arrival.details.classified, Classified::Shot | Classified::Stolen);
        self.owner.arrivals.push(arrival);
        // Linux sets its watchdog for the first packet, though it dequeues at once.
        let state = self.queue.state();
        let opens = state.time_next.min(state.failsafe_next);
        if !is_refused && self.queue.backlog().packets == 0 && opens > now {
            self.note(format!("W {}", opens.0));
        }
        if let Some(packet) = self.owner.latest() {
            self.queue.enqueue(now, packet, &mut self.owner);
        }
        Ok(())
    }

    fn dequeue(&mut self, now: Nanos) {
        let delivered = self.queue.dequeue(now, &mut self.owner);
        let is_empty = self.queue.backlog().packets == 0;
        match delivered {
            // A queue that holds packets and delivers none says when it will.
            None => {
                if let Some(wake) = self.queue.next_wake(now) {
                    self.note(format!("W {}", wake.0));
                }
                self.note("N".to_string());
            }
            Some(packet) => {
                // What Linux sets its watchdog to.
                let state = self.queue.state();
                if is_empty {
                    let mut tins = (0..state.tins).filter_map(|tin| self.queue.tin(tin));
                    if let Some(tin) = tins.find(|tin| tin.decaying > 0) {
                        self.note(format!("W {}", now.0 + tin.target));
                    }
                } else if state.time_next > now {
                    self.note(format!("W {}", state.time_next.min(state.failsafe_next).0));
                }
                let (ecn, dscp) = (packet.dsfield & 3, packet.dsfield >> 2);
                let name = self.owner.name(&packet);
                let washed = match dscp == self.owner.dscp_on_arrival(&packet) {
                    true => String::new(),
                    false => format!(" dscp={dscp}"),
                };
                self.note(format!("P {name} {ecn}{washed}"));
            }
        }
    }

    /// There are tables for all tins, so that no change is refused.
    fn change(&mut self, now: Nanos, entries: &[Entry<'_>]) -> Result<(), Fault> {
        let mut params = self.queue.params();
        for entry in entries.iter().filter(|entry| entry.key != "raw") {
            set(&mut params, entry)?;
        }
        // The attribute itself says it, whatever its value.
        if entries.iter().any(|entry| entry.key == "raw") {
            params.overhead.from_network = false;
        }
        if entries.iter().any(|entry| matches!(entry.key, "raw" | "overhead")) {
            self.queue.clear_lengths();
        }
        let _ = self.queue.configure(now, params, Link::ethernet(Rate(0)), &mut self.owner);
        Ok(())
    }

    /// A value of the queue's check, under its name there.
    pub(super) fn queue_state(&self, key: &str) -> Option<Number> {
        let (state, stats, backlog) = (self.queue.state(), self.queue.stats(), self.queue.backlog());
        Some(match key {
            "qlen" => backlog.packets.into(),
            "backlog" => backlog.bytes.into(),
            "sent_packets" => stats.packets.into(),
            "sent_bytes" => stats.bytes.into(),
            "drops" => stats.drops.into(),
            "overlimits" => stats.overlimits.into(),
            "rate_bps" => state.rate.into(),
            "time_next" => state.time_next.0.into(),
            "failsafe_next" => state.failsafe_next.0.into(),
            _ => {
                let lengths = state.lengths;
                return field!(key, lengths, avg_netoff, max_netlen, max_adjlen, min_netlen, min_adjlen)
                    .or_else(|| field!(key, state, memory_used, memory_max, memory_limit, capacity))
                    .or_else(|| field!(key, state, tins, cur_tin, overflow_timeout));
            }
        })
    }

    /// A value of a tin's check, under its name there.
    pub(super) fn tin_state(&self, index: usize, key: &str) -> Option<Number> {
        let tin = self.queue.tin(u32::try_from(index).ok()?)?;
        match key {
            "tin" => return Some(index as Number),
            "time_next" => return Some(tin.time_next.0.into()),
            _ => {}
        }
        let counters = tin.counters;
        field!(key, counters, packets, bytes, dropped, overlimit, marked, ack_drops, unresponsive, max_skblen)
            .or_else(|| field!(key, counters, avg_delay, peak_delay, base_delay))
            .or_else(|| field!(key, counters, way_direct, way_hit, way_miss, way_coll))
            .or_else(|| field!(key, tin, rate, target, interval, mtu_time, flow_quantum, tin_quantum))
            .or_else(|| field!(key, tin, tin_deficit, backlog, sparse, bulk, decaying))
    }
}
