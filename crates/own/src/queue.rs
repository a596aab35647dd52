//! Runs a queue from a shared library, with a guard around it.

use core::fmt;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use goodqueue::{Backlog, Ecn, Inspect, Nanos, Owner, Packet, Queue, Reason, Stats, Verdict};

use crate::fault::{Fault, Rule};
use crate::ffi::abi::{REASONS, RawPacket};
use crate::ffi::call::{Instance, Notes};
use crate::table::Table;

/// A queue from a shared library ([`crate::Library::queue`]), over packets of any kind. The packets stay
/// here: the library gets their numbers. A queue that breaks a rule does no harm. What it did is noted
/// ([`LibraryQueue::fault`]), and from then on all packets pass in their order, as through a FIFO without a
/// limit: the owner should end soon.
pub struct LibraryQueue<P: Packet> {
    /// `None`: the library has refused to make it.
    instance: Option<Instance>,
    table: Arc<Table>,
    values: Vec<u64>,
    seed: u64,
    held: Held<P>,
    stats: Stats,
    fault: Arc<OnceLock<Fault>>,
}

/// Where [`LibraryQueue`] notes its fault, for someone else to read.
#[derive(Clone, Debug, Default)]
pub struct FaultCell(Arc<OnceLock<Fault>>);

impl FaultCell {
    /// The first rule that was broken.
    #[must_use]
    pub fn get(&self) -> Option<&Fault> {
        self.0.get()
    }
}

/// The packets that the library has, by number.
struct Held<P> {
    packets: BTreeMap<u64, P>,
    backlog: Backlog,
    next: u64,
    /// What the library has said in this call.
    said: Vec<Said>,
}

/// What a library says in a call.
enum Said {
    Dropped(u64, u32),
    Marked(u64, u32),
    Failed(String),
}

impl<P: Packet> Notes for Held<P> {
    fn drop(&mut self, id: u64, reason: u32) {
        self.said.push(Said::Dropped(id, reason));
    }

    fn mark(&mut self, id: u64, reason: u32) -> bool {
        let is_capable = self.packets.get(&id).is_none_or(|packet| packet.ecn() != Ecn::NotEct);
        if is_capable {
            self.said.push(Said::Marked(id, reason));
        }
        is_capable
    }

    fn fail(&mut self, why: &str) {
        self.said.push(Said::Failed(why.to_owned()));
    }
}

impl<P: Packet> Held<P> {
    fn new() -> Held<P> {
        Held { packets: BTreeMap::new(), backlog: Backlog::default(), next: 0, said: Vec::new() }
    }

    fn take(&mut self, packet: P) -> RawPacket {
        let id = self.next;
        self.next += 1;
        self.packets.insert(id, packet);
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.len());
        RawPacket {
            id,
            len: packet.len(),
            truesize: packet.truesize(),
            flow_hash: packet.flow_hash(),
            dsfield: packet.dsfield().into(),
        }
    }

    fn give(&mut self, id: u64) -> Option<P> {
        let packet = self.packets.remove(&id)?;
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(packet.len());
        Some(packet)
    }

    /// Why `id` is none of the packets here.
    fn unknown(&self, what: &str, id: u64) -> String {
        if id < self.next {
            format!("it {what} packet {id}, which had left it before")
        } else {
            format!("it {what} packet {id}, which it never got")
        }
    }
}

impl<P: Packet> LibraryQueue<P> {
    pub(crate) fn new(table: Arc<Table>, values: &[u64], seed: u64) -> LibraryQueue<P> {
        let mut queue = LibraryQueue {
            instance: None,
            table,
            values: values.to_vec(),
            seed,
            held: Held::new(),
            stats: Stats::default(),
            fault: Arc::default(),
        };
        queue.make(Nanos::ZERO);
        queue
    }

    /// Makes the library's queue.
    fn make(&mut self, now: Nanos) {
        self.instance = None;
        self.instance = Instance::create(&self.table, &self.values, self.seed, &mut self.held);
        let why = self.held.said.drain(..).find_map(|said| match said {
            Said::Failed(why) => Some(why),
            Said::Dropped(..) | Said::Marked(..) => None,
        });
        match (&self.instance, why) {
            (_, Some(why)) => self.wrong(now, Rule::Able, why),
            (None, None) => self.wrong(now, Rule::Able, "its create returned NULL and gave no reason".into()),
            (Some(_), None) => {}
        }
    }

    /// The first rule that it has broken.
    #[must_use]
    pub fn fault(&self) -> Option<Fault> {
        self.fault.get().cloned()
    }

    /// The place where its fault will be, for whoever has given the queue away.
    #[must_use]
    pub fn fault_cell(&self) -> FaultCell {
        FaultCell(Arc::clone(&self.fault))
    }

    /// Notes a fault; the first counts.
    fn wrong(&self, at: Nanos, rule: Rule, words: String) {
        let _ = self.fault.set(Fault { rule, at, words });
    }

    /// Calls the library, unless it has broken a rule, and does what it said. Returns its answer, and the
    /// reason why packet `own` was dropped, if it was.
    fn call<T>(
        &mut self,
        now: Nanos,
        own: Option<u64>,
        observer: &mut impl Owner<P>,
        call: impl FnOnce(&mut Instance, &mut dyn Notes) -> T,
    ) -> (Option<T>, Option<Reason>) {
        let is_faulty = self.fault.get().is_some();
        let Some(instance) = self.instance.as_mut().filter(|_| !is_faulty) else { return (None, None) };
        let answer = call(instance, &mut self.held);
        let mut dropped = None;
        let mut said = std::mem::take(&mut self.held.said);
        for event in said.drain(..) {
            match event {
                Said::Dropped(id, number) => {
                    let reason = self.reason(now, number);
                    match self.held.give(id) {
                        Some(packet) => {
                            self.stats.drops += 1;
                            dropped = dropped.or((own == Some(id)).then_some(reason));
                            observer.dropped(now, packet, reason);
                        }
                        None => self.wrong(now, Rule::Once, self.held.unknown("dropped", id)),
                    }
                }
                Said::Marked(id, number) => {
                    let reason = self.reason(now, number);
                    match self.held.packets.get_mut(&id) {
                        Some(packet) => {
                            packet.set_ce();
                            self.stats.marks += 1;
                            observer.marked(now, packet, reason);
                        }
                        None => self.wrong(now, Rule::Once, self.held.unknown("marked", id)),
                    }
                }
                Said::Failed(why) => self.wrong(now, Rule::Able, why),
            }
        }
        self.held.said = said;
        (Some(answer), dropped)
    }

    fn reason(&self, now: Nanos, number: u32) -> Reason {
        let known = REASONS.iter().find(|(known, _)| *known == number).map(|(_, reason)| *reason);
        known.unwrap_or_else(|| {
            let words = format!("it gave {number} as a reason, which goodqueue_own.h does not have");
            self.wrong(now, Rule::Able, words);
            Reason::Limit
        })
    }

    /// When the library says that it can give a packet. It holds one.
    fn wake(&self, instance: &Instance, now: Nanos) -> Nanos {
        let held = self.held.backlog.packets;
        match instance.next_wake(now.0) {
            Some(at) if at < now.0 => {
                self.wrong(
                    now,
                    Rule::Time,
                    format!("next_wake returned {at} ns, which is over: it is {} ns", now.0),
                );
                now
            }
            Some(at) => Nanos(at),
            None => {
                let words = format!(
                    "next_wake returned GQ_OWN_NEVER, and the queue holds {held} packets: it lost them"
                );
                self.wrong(now, Rule::Once, words);
                now
            }
        }
    }

    /// Whether it may give nothing, although it holds packets.
    fn check_nothing(&self, now: Nanos) {
        let Some(instance) = &self.instance else { return };
        let held = self.held.backlog.packets;
        if held > 0 && self.wake(instance, now) <= now {
            let words = match self.table.calls.next_wake {
                Some(_) => {
                    format!("next_wake says that one of {held} packets may leave now, and dequeue gave none")
                }
                None => format!(
                    "dequeue gave none of {held} packets: it lost them, or it holds them back and has no next_wake"
                ),
            };
            self.wrong(now, Rule::Wake, words);
        }
    }
}

impl<P: Packet> Queue<P> for LibraryQueue<P> {
    fn enqueue(&mut self, now: Nanos, packet: P, observer: &mut impl Owner<P>) -> Verdict {
        let raw = self.held.take(packet);
        let (_, dropped) =
            self.call(now, Some(raw.id), observer, |instance, notes| instance.enqueue(now.0, &raw, notes));
        dropped.map_or(Verdict::Enqueued, Verdict::Dropped)
    }

    fn dequeue(&mut self, now: Nanos, observer: &mut impl Owner<P>) -> Option<P> {
        let (answer, _) = self.call(now, None, observer, |instance, notes| instance.dequeue(now.0, notes));
        let packet = match answer.flatten() {
            Some(id) => {
                let packet = self.held.give(id);
                if packet.is_none() {
                    self.wrong(now, Rule::Once, self.held.unknown("gave", id));
                }
                packet
            }
            None => {
                if answer.is_some() {
                    self.check_nothing(now);
                }
                None
            }
        };
        let packet = packet.or_else(|| {
            // No queue any more: in the order of arrival.
            let first = self.fault.get().and_then(|_| self.held.packets.keys().next().copied())?;
            self.held.give(first)
        })?;
        self.stats.packets += 1;
        self.stats.bytes += u64::from(packet.len());
        Some(packet)
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        if self.held.backlog.packets == 0 {
            return None;
        }
        match &self.instance {
            Some(instance) if self.fault.get().is_none() => Some(self.wake(instance, now)),
            _ => Some(now),
        }
    }

    fn backlog(&self) -> Backlog {
        self.held.backlog
    }

    /// The library gets a new queue.
    fn reset(&mut self, now: Nanos, observer: &mut impl Owner<P>) {
        if self.fault.get().is_none() {
            self.make(now);
        }
        while let Some((_, packet)) = self.held.packets.pop_first() {
            observer.dropped(now, packet, Reason::Reset);
        }
        self.held.backlog = Backlog::default();
    }
}

impl<P: Packet> Inspect for LibraryQueue<P> {
    fn stats(&self) -> Stats {
        self.stats
    }

    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        if let Some(instance) = &self.instance {
            instance.counters(each);
        }
    }
}

impl<P: Packet> fmt::Debug for LibraryQueue<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("LibraryQueue");
        shown
            .field("name", &self.table.about.name)
            .field("backlog", &self.held.backlog)
            .finish_non_exhaustive()
    }
}
