//! The queue of a line of the live arm: a built-in one, or the user's own, from a shared library or from the
//! calling program.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::thread;

use goodqueue::cake::{Member, TinState};
use goodqueue::spec::{Link, QueueParams};
use goodqueue::{
    AnyQueue, Backlog, BuildError, Bytes, ETHERNET_FRAME, Inspect, Nanos, Owner, Queue, QueueSpec, Rate,
    Reconfigure, Rng, Span, Stats, Verdict,
};
use goodqueue_own::{Library, LibraryQueue};
use goodqueue_wire::{Frame, MOST_QUEUES};

use super::own::{Fault, Own, OwnQueue};
use crate::Error;
use crate::collect;
use crate::own;
use crate::text::queue_text::QueueText;

/// The wait for the last packets of a queue of unknown length.
const LONGEST: Span = Span::from_secs(120);

/// The queue of a line.
#[derive(Clone, Debug)]
pub(super) enum LineQueue {
    Catalogue(QueueSpec),
    Own(Library),
    /// A queue of the calling program: its name, and the text from which the child makes it.
    Program {
        name: String,
        text: String,
        own: Own,
    },
}

impl LineQueue {
    /// The queue with this text.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is none.
    pub(super) fn read(words: &str) -> Result<LineQueue, Error> {
        Ok(match words.parse().map_err(Error::usage)? {
            QueueText::Catalogue(queue) => LineQueue::Catalogue(*queue.plain().map_err(Error::Usage)?),
            QueueText::Own(library) => LineQueue::Own(library),
        })
    }

    /// Its parameters as text.
    pub(super) fn parameters(&self) -> BTreeMap<String, String> {
        match self {
            LineQueue::Catalogue(queue) => collect::parameters(queue),
            LineQueue::Own(library) => own::parameters(library),
            LineQueue::Program { .. } => BTreeMap::new(),
        }
    }

    /// The queue for direction `node` of a line.
    ///
    /// # Errors
    /// [`Error::Usage`] if it cannot be built for this rate, or the calling program cannot make it.
    pub(super) fn build(&self, rate: Rate, seed: u64, node: u64) -> Result<RunningQueue, Error> {
        let mut draws = Rng::stream(seed, node, "queue");
        Ok(match self {
            LineQueue::Catalogue(queue) => {
                let built = queue.build_with(rate, ETHERNET_FRAME, goodqueue_wire::now(), draws);
                RunningQueue::Catalogue(built.map_err(Error::usage)?)
            }
            LineQueue::Own(library) => RunningQueue::Own(library.queue(draws.next_u64())),
            LineQueue::Program { name, text, own } => {
                let made = (own.make)(text, draws.next_u64());
                RunningQueue::Program(made.map_err(|why| Error::Usage(format!("{name}: {why}")))?)
            }
        })
    }

    /// The function that prepares the engine's thread for it.
    pub(super) fn around(&self) -> Option<fn(&mut (dyn FnMut() + Send))> {
        match self {
            LineQueue::Catalogue(_) | LineQueue::Own(_) => None,
            LineQueue::Program { own, .. } => Some(own.around),
        }
    }

    /// How long a full queue, with a full device ring of `ring` packets below it, takes to drain over a line
    /// of `rate`. For a user-defined queue it is not known.
    pub(super) fn drain_time(&self, rate: Rate, ring: u32) -> Span {
        let LineQueue::Catalogue(queue) = self else { return LONGEST };
        let frames = |packets: u64| packets.saturating_mul(ETHERNET_FRAME.into());
        let link = Link::ethernet(rate);
        // If a limit is in bytes, the places are for packets of the smallest size.
        let bytes = queue.params().properties().limit_bytes(link);
        let bytes = bytes.unwrap_or_else(|| frames(queue.places(link).unwrap_or(u64::MAX)));
        let rate = queue.shaped_rate().map_or(rate, |shaped| shaped.min(rate));
        rate.tx_time(Bytes(bytes.saturating_add(frames(u64::from(ring) + 1))))
    }
}

/// Sets the number of instances, if the queue is a `cake_mq` and its text has none: as many as the processors
/// that the process may use, and at most [`MOST_QUEUES`].
///
/// # Errors
/// [`Error::Usage`] if the text has more.
pub fn with_instances(queue: QueueSpec) -> Result<QueueSpec, Error> {
    let QueueParams::CakeMq(mut setup) = *queue.params() else { return Ok(queue) };
    let queues = queue.info().parameters.iter().find(|parameter| parameter.name == "queues");
    if queues.is_some_and(|queues| queue.given(queues).is_none()) {
        let cpus = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        setup.queues = u32::try_from(cpus.min(MOST_QUEUES)).unwrap_or(1);
    }
    if setup.queues as usize > MOST_QUEUES {
        return Err(Error::Usage(format!(
            "--queue {queue}: each instance has a thread in each direction, and the maximum is {MOST_QUEUES}; give \
             queues={MOST_QUEUES} or less"
        )));
    }
    QueueSpec::try_from(QueueParams::CakeMq(setup)).map_err(Error::usage)
}

/// The queues of direction `node` that shape to `rate`, one for each thread: the instances of `cake_mq`, and
/// one of any other kind.
///
/// # Errors
/// [`Error::Usage`] if they cannot be built for this rate.
pub(super) fn shapers(
    queue: &QueueSpec,
    rate: Rate,
    seed: u64,
    node: u64,
) -> Result<Vec<RunningQueue>, Error> {
    let QueueParams::CakeMq(setup) = *queue.params() else {
        return Ok(vec![LineQueue::Catalogue(*queue).build(rate, seed, node)?]);
    };
    let (draws, link) = (Rng::stream(seed, node, "queue"), Link::ethernet(rate));
    let members = Member::build(&setup, setup.queues, link, goodqueue_wire::now(), draws);
    Ok(members.map_err(Error::usage)?.into_iter().map(RunningQueue::Member).collect())
}

/// Where the queues of an engine record that they break rules.
#[derive(Clone, Default)]
pub(super) struct Faults(Vec<Fault>);

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Faults").field(&self.first()).finish()
    }
}

impl Faults {
    pub(super) fn of(queues: [&RunningQueue; 2]) -> Faults {
        Faults(queues.into_iter().filter_map(RunningQueue::fault).collect())
    }

    /// The first fault, as text.
    pub(super) fn first(&self) -> Option<String> {
        self.0.iter().find_map(|fault| fault())
    }
}

/// A queue of the engine.
#[allow(clippy::large_enum_variant)] // There is only one for each direction.
pub(super) enum RunningQueue {
    Catalogue(AnyQueue<Frame>),
    /// An instance of `cake_mq`, in its own thread.
    Member(Member<Frame>),
    Own(LibraryQueue<Frame>),
    Program(OwnQueue),
}

impl RunningQueue {
    /// The function that reports its fault, if it can have one.
    fn fault(&self) -> Option<Fault> {
        match self {
            RunningQueue::Catalogue(_) | RunningQueue::Member(_) => None,
            RunningQueue::Own(queue) => {
                let cell = queue.fault_cell();
                Some(Arc::new(move || cell.get().map(ToString::to_string)))
            }
            RunningQueue::Program(queue) => Some(queue.fault()),
        }
    }
}

/// Runs `$body` with `$queue` bound to the queue inside.
macro_rules! each {
    ($running:expr, $queue:ident => $body:expr) => {
        match $running {
            RunningQueue::Catalogue($queue) => $body,
            RunningQueue::Member($queue) => $body,
            RunningQueue::Own($queue) => $body,
            RunningQueue::Program($queue) => $body,
        }
    };
}

impl Queue<Frame> for RunningQueue {
    fn enqueue(&mut self, now: Nanos, packet: Frame, owner: &mut impl Owner<Frame>) -> Verdict {
        each!(self, queue => queue.enqueue(now, packet, owner))
    }

    fn dequeue(&mut self, now: Nanos, owner: &mut impl Owner<Frame>) -> Option<Frame> {
        each!(self, queue => queue.dequeue(now, owner))
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        each!(self, queue => queue.next_wake(now))
    }

    fn backlog(&self) -> Backlog {
        each!(self, queue => queue.backlog())
    }

    fn reset(&mut self, now: Nanos, owner: &mut impl Owner<Frame>) {
        each!(self, queue => queue.reset(now, owner));
    }
}

/// A user-defined queue stays as it is.
impl Reconfigure<Frame> for RunningQueue {
    fn reconfigure(
        &mut self,
        now: Nanos,
        spec: &QueueSpec,
        link: Link,
        owner: &mut impl Owner<Frame>,
    ) -> Result<(), BuildError> {
        match self {
            RunningQueue::Catalogue(queue) => queue.reconfigure(now, spec, link, owner),
            RunningQueue::Member(queue) => queue.reconfigure(now, spec, link, owner),
            RunningQueue::Own(_) | RunningQueue::Program(_) => Err(BuildError::Fixed),
        }
    }
}

/// A user-defined queue shows neither flows nor tins.
impl Inspect for RunningQueue {
    fn stats(&self) -> Stats {
        each!(self, queue => queue.stats())
    }

    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        each!(self, queue => queue.counters(each));
    }

    fn waiting_flows(&self) -> Option<(u32, u32)> {
        each!(self, queue => queue.waiting_flows())
    }

    fn tins(&self, each: &mut dyn FnMut(TinState)) {
        each!(self, queue => queue.tins(each));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long a queue can hold a packet on a line of 1 Mbit/s with a ring of this many packets, ms.
    fn held(queue: &str, ring: u32) -> u64 {
        LineQueue::read(queue).expect("a queue").drain_time(Rate(1_000_000), ring).0 / 1_000_000
    }

    #[test]
    fn instances_of_cake_mq_are_as_many_as_processors_or_as_written() {
        let text = |text: &str| with_instances(text.parse().expect(text)).map(|queue| queue.to_string());
        let cpus = thread::available_parallelism().expect("processors").get().min(MOST_QUEUES);
        let usual = text("cake_mq:besteffort,bandwidth=9mbit").expect("a number of processors");
        assert!(usual.contains(&format!("queues={cpus}")), "{usual}");
        for (same, count) in
            [("cake_mq,bandwidth=9mbit,queues=3", 3), ("cake,bandwidth=9mbit", 1), ("pie", 1)]
        {
            assert_eq!(text(same).expect(same), same);
            let queue = same.parse().expect(same);
            let queues = shapers(&queue, Rate(9_000_000), 1, 0).expect(same);
            assert_eq!(queues.len(), count, "{same}");
        }
        let why = text("cake_mq,queues=9,bandwidth=9mbit").expect_err("too many").to_string();
        assert!(why.contains("queues=8 or less"), "{why}");
    }

    #[test]
    fn the_wait_is_as_long_as_a_full_queue_takes_to_drain() {
        // A packet of 1514 bytes takes 12.112 ms, and one is on the line.
        assert_eq!(held("pfifo:1000", 0), 12_124);
        assert_eq!(held("pfifo:1000", 256), 15_224);
        assert_eq!(held("bfifo:125000", 0), 1_012);
        assert_eq!(held("fifo:500ms", 0), 512);
        assert_eq!(held("fq_codel", 0), 10_241 * 12_112 / 1_000);
        assert_eq!(held("tbf,rate=500kbit,burst=5000,limit=125000", 0), 2_024);
        // It drains at the rate that it shapes to.
        assert_eq!(held("tbf,rate=250kbit,burst=5000,limit=125000", 0), 4_048);
    }
}
