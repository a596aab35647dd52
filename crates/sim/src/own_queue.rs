//! A user-defined queue, used like one of the catalogue.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::Arc;

use goodqueue::{Backlog, Inspect, Nanos, Observer, Owner, Packet, Queue, Reason, Rng, Stats, Verdict};

use crate::scenario::Discipline;
use crate::token::{FrameId, Token};

/// A user-defined queue, defined by two methods. [`Discipline::own`] makes a [`Discipline`] of it. Each link
/// gets its own clone.
///
/// It must give back every packet exactly once, from `dequeue` or through [`Report::drop`]. The simulation
/// checks this, and counts what waits, what left, and what was dropped or marked.
///
/// ```
/// use goodqueue::{Nanos, Packet, Rate, Reason, Span};
/// use goodqueue_sim::{Discipline, Dumbbell, OwnQueue, Report, Token};
///
/// /// Last in, first out, of at most 100 packets; when it is full, the oldest goes.
/// #[derive(Clone, Debug, Default)]
/// struct Stack(Vec<Token>);
///
/// impl OwnQueue for Stack {
///     fn enqueue(&mut self, _: Nanos, packet: Token, report: &mut Report<'_>) {
///         if self.0.len() == 100 {
///             report.drop(self.0.remove(0), Reason::Limit);
///         }
///         self.0.push(packet);
///     }
///     fn dequeue(&mut self, _: Nanos, _: &mut Report<'_>) -> Option<Token> {
///         self.0.pop()
///     }
/// }
///
/// let stack = Discipline::own("stack", Stack::default());
/// let scenario = Dumbbell::new(stack, Rate(20_000_000), Span::from_millis(20)).scenario();
/// assert_eq!(scenario.links[Dumbbell::UP].port.as_ref().map(|port| port.queue.to_string()).as_deref(), Some("stack"));
/// ```
pub trait OwnQueue: fmt::Debug + Send + Sync + 'static {
    /// Takes `packet`, or drops it or another one to make room.
    fn enqueue(&mut self, now: Nanos, packet: Token, report: &mut Report<'_>);

    /// Returns the next packet that may leave at `now`. May drop and mark packets on the way.
    fn dequeue(&mut self, now: Nanos, report: &mut Report<'_>) -> Option<Token>;

    /// The earliest time at which `dequeue` can return a packet if nothing else arrives. Called only while
    /// the queue holds a packet. A queue that holds packets back (a shaper) returns when it will release one;
    /// any other returns `now`.
    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        Some(now)
    }

    /// Receives the random numbers for its decisions, before the first packet. A run is reproducible from its
    /// seed only if the queue uses no others.
    fn seed(&mut self, draws: Rng) {
        let _ = draws;
    }

    /// Calls `each` with the name and value of each of its own counters, always in the same order. They go
    /// into the record.
    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        let _ = each;
    }

    /// Its parameters with their values, for the record.
    fn parameters(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Why it can no longer work, in words; `None` while it can. The code that runs the simulation checks
    /// this ([`LinkView::fault`](crate::LinkView::fault)) and should end it.
    fn fault(&self) -> Option<String> {
        None
    }
}

/// Where a user-defined queue reports the packets that it drops or marks.
pub struct Report<'a> {
    now: Nanos,
    held: &'a mut Held,
    observer: &'a mut dyn Observer<Token>,
    /// The packet that was dropped last.
    dropped: Option<(FrameId, Reason)>,
}

impl Report<'_> {
    /// Drops `packet`, which the queue held or is being given, and counts it under `reason`.
    ///
    /// # Panics
    /// If the queue does not have it.
    pub fn drop(&mut self, packet: Token, reason: Reason) {
        self.held.give_back(&packet);
        self.held.stats.drops += 1;
        self.dropped = Some((packet.frame, reason));
        self.observer.dropped(self.now, packet, reason);
    }

    /// Marks `packet` with Congestion Experienced and counts it under `reason`; returns `false` without
    /// marking it if its sender does not use ECN.
    pub fn mark(&mut self, packet: &mut Token, reason: Reason) -> bool {
        let is_marked = packet.set_ce();
        if is_marked {
            self.held.stats.marks += 1;
            self.observer.marked(self.now, packet, reason);
        }
        is_marked
    }
}

/// An [`OwnQueue`] that can be cloned through a trait object.
trait Prototype: OwnQueue {
    fn instance(&self) -> Box<dyn Prototype>;
}

impl<T: OwnQueue + Clone> Prototype for T {
    fn instance(&self) -> Box<dyn Prototype> {
        Box::new(self.clone())
    }
}

/// A name and a queue without packets; see [`Discipline::own`]. It equals only its own clones.
#[derive(Clone)]
pub struct NamedQueue {
    name: Arc<str>,
    prototype: Arc<dyn Prototype>,
}

impl Discipline {
    /// A user-defined queue called `name`, as shown in tables, charts and claims. Choose a name that no other
    /// queue has.
    ///
    /// It can be in front of any line: alone, below a [`Shaper`](crate::Shaper), as one of several hardware
    /// queues ([`PortSpec::lanes`](crate::PortSpec::lanes)), and at an output of a switch
    /// ([`Buffers::Output`](crate::switch::Buffers::Output), [`Buffers::Voq`](crate::switch::Buffers::Voq)).
    /// Each place gets its own clone. Other places take only queues of the catalogue: the common queue of a
    /// switch, the leaves of `htb`, and Wi-Fi devices ([`QueueSpec`](goodqueue::QueueSpec)).
    #[must_use]
    pub fn own(name: &str, queue: impl OwnQueue + Clone) -> Discipline {
        Discipline::Own(NamedQueue { name: name.into(), prototype: Arc::new(queue) })
    }
}

impl NamedQueue {
    /// Its parameters with their values ([`OwnQueue::parameters`]).
    #[must_use]
    pub fn parameters(&self) -> BTreeMap<String, String> {
        self.prototype.parameters()
    }
}

impl PartialEq for NamedQueue {
    fn eq(&self, other: &NamedQueue) -> bool {
        Arc::ptr_eq(&self.prototype, &other.prototype)
    }
}

impl Eq for NamedQueue {}

impl fmt::Debug for NamedQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl fmt::Display for NamedQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// The contents of a user-defined queue, and its statistics.
#[derive(Debug)]
struct Held {
    name: Arc<str>,
    frames: HashSet<FrameId>,
    backlog: Backlog,
    stats: Stats,
}

impl Held {
    fn take(&mut self, packet: &Token) {
        self.frames.insert(packet.frame);
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.len());
    }

    fn give_back(&mut self, packet: &Token) {
        let is_held = self.frames.remove(&packet.frame);
        assert!(is_held, "the queue `{}` gave back a packet that it did not have", self.name);
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(packet.len());
    }
}

/// A user-defined queue at work.
#[derive(Debug)]
pub(crate) struct Running {
    queue: Box<dyn Prototype>,
    held: Held,
    /// It is at a place where no queue may hold packets back.
    never_holds_back: bool,
}

impl Running {
    pub(crate) fn new(own: &NamedQueue, draws: Rng) -> Running {
        let mut queue = own.prototype.instance();
        queue.seed(draws);
        let (backlog, stats) = (Backlog::default(), Stats::default());
        let held = Held { name: Arc::clone(&own.name), frames: HashSet::new(), backlog, stats };
        Running { queue, held, never_holds_back: false }
    }

    /// Why it can no longer work, with its name.
    pub(crate) fn fault(&self) -> Option<String> {
        self.queue.fault().map(|why| format!("{}: {why}", self.held.name))
    }

    /// Like [`Running::new`], at a switch output: the switch does not ask when a queue can release a packet.
    pub(crate) fn at_switch(own: &NamedQueue, draws: Rng) -> Running {
        Running { never_holds_back: true, ..Running::new(own, draws) }
    }
}

impl Queue<Token> for Running {
    fn enqueue(&mut self, now: Nanos, packet: Token, observer: &mut impl Owner<Token>) -> Verdict {
        self.held.take(&packet);
        let mut report = Report { now, held: &mut self.held, observer, dropped: None };
        self.queue.enqueue(now, packet, &mut report);
        match report.dropped {
            Some((frame, reason)) if frame == packet.frame => Verdict::Dropped(reason),
            _ => Verdict::Enqueued,
        }
    }

    fn dequeue(&mut self, now: Nanos, observer: &mut impl Owner<Token>) -> Option<Token> {
        let mut report = Report { now, held: &mut self.held, observer, dropped: None };
        let Some(packet) = self.queue.dequeue(now, &mut report) else {
            let Held { name, backlog: Backlog { packets, .. }, .. } = &self.held;
            assert!(
                *packets == 0 || !self.never_holds_back,
                "the queue `{name}` holds {packets} packets and gives none: at a switch no queue holds back"
            );
            // Otherwise it would be polled again at once and return none again, forever.
            let is_early = self.next_wake(now).is_some_and(|at| at <= now);
            assert!(
                !is_early,
                "the queue `{name}` holds {packets} packets, says that one may leave, and gives none"
            );
            return None;
        };
        self.held.give_back(&packet);
        self.held.stats.packets += 1;
        self.held.stats.bytes += u64::from(packet.len());
        Some(packet)
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        if self.held.backlog.packets == 0 { None } else { self.queue.next_wake(now) }
    }

    fn backlog(&self) -> Backlog {
        self.held.backlog
    }

    /// Takes all packets out, at a time that is late enough for each.
    fn reset(&mut self, now: Nanos, observer: &mut impl Owner<Token>) {
        let end = Nanos(u64::MAX);
        while self.held.backlog.packets > 0 {
            let mut report = Report { now, held: &mut self.held, observer, dropped: None };
            let Some(packet) = self.queue.dequeue(end, &mut report) else { return };
            self.held.give_back(&packet);
            observer.dropped(now, packet, Reason::Reset);
        }
    }
}

impl Inspect for Running {
    fn stats(&self) -> Stats {
        self.held.stats
    }

    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        self.queue.counters(each);
    }
}

/// A queue of the catalogue or a user-defined one.
pub(crate) type EitherQueue = goodqueue::EitherQueue<Token, Running>;
