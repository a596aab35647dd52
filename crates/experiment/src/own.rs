//! Queues from shared libraries in a simulation.

use std::collections::BTreeMap;
use std::fmt;

use goodqueue::{
    AnyQueue, ETHERNET_FRAME, Header, Inspect, Nanos, Observer, PacketInfo, Queue, Rate, Reason, Rng,
};
use goodqueue_own::check;
use goodqueue_own::{Library, LibraryQueue, Parameter};
use goodqueue_sim::{Discipline, OwnQueue, Report, Token};

use crate::text::queue_text::{QueueError, QueueText};
use crate::{Error, did_you_mean};

/// The queue of a library, for a link of a scenario. It has the words that the user wrote as its name.
pub(crate) fn discipline(library: &Library) -> Discipline {
    Discipline::own(library.words(), Simulated { library: library.clone(), queue: None })
}

/// Checks a queue, `words`, against the rules for queues. `rate`: that of the line which a queue of the
/// catalogue is built for.
///
/// # Errors
/// [`Error::Usage`] if there is no such queue.
///
/// ```
/// use goodqueue::Rate;
///
/// let report = goodqueue_experiment::check_queue("codel,limit=100", Rate(10_000_000))?;
/// assert!(report.violations.is_empty());
/// assert_eq!(report.most_held, 100);
/// # Ok::<(), goodqueue_experiment::Error>(())
/// ```
pub fn check_queue(words: &str, rate: Rate) -> Result<check::Report, Error> {
    let wrong = |why: String| Error::Usage(format!("{words}: {why}"));
    let queue: QueueText = words.parse().map_err(|error: QueueError| {
        let nearest = error.unknown().map_or(String::new(), |(word, known)| did_you_mean(word, known));
        wrong(format!("{error}; {}{nearest}", error.cure()))
    })?;
    match queue {
        QueueText::Catalogue(text) => {
            let spec = text.plain().map_err(wrong)?;
            let make = |seed| -> Result<AnyQueue<Header>, String> {
                let draws = Rng::stream(seed, 0, "queue");
                spec.build_with(rate, ETHERNET_FRAME, Nanos::ZERO, draws).map_err(|error| error.to_string())
            };
            check::check(make, |_| None).map_err(wrong)
        }
        QueueText::Own(library) => {
            check::check(|seed| Ok(library.queue::<Header>(seed)), LibraryQueue::fault).map_err(wrong)
        }
    }
}

/// Its parameters in words.
pub(crate) fn parameters(library: &Library) -> BTreeMap<String, String> {
    let words = |(parameter, value): (&Parameter, u64)| (parameter.name.clone(), parameter.unit.words(value));
    library.parameters().map(words).collect()
}

/// A queue of a library in a simulation. It is made when the simulation begins, with its seed.
struct Simulated {
    library: Library,
    queue: Option<LibraryQueue<Token>>,
}

impl Clone for Simulated {
    fn clone(&self) -> Simulated {
        Simulated { library: self.library.clone(), queue: None }
    }
}

impl fmt::Debug for Simulated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.library.fmt(f)
    }
}

/// Passes on what a queue tells its owner.
struct Forward<'a, 'b>(&'a mut Report<'b>);

impl Observer<Token> for Forward<'_, '_> {
    fn dropped(&mut self, _: Nanos, packet: Token, reason: Reason) {
        self.0.drop(packet, reason);
    }

    fn marked(&mut self, _: Nanos, packet: &Token, reason: Reason) {
        // The packet in the queue has the mark.
        self.0.mark(&mut packet.clone(), reason);
    }
}

impl PacketInfo<Token> for Forward<'_, '_> {}

impl OwnQueue for Simulated {
    fn enqueue(&mut self, now: Nanos, packet: Token, report: &mut Report<'_>) {
        let queue = self.queue.as_mut().expect("seeded before the first packet");
        queue.enqueue(now, packet, &mut Forward(report));
    }

    fn dequeue(&mut self, now: Nanos, report: &mut Report<'_>) -> Option<Token> {
        self.queue.as_mut()?.dequeue(now, &mut Forward(report))
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        self.queue.as_ref()?.next_wake(now)
    }

    fn seed(&mut self, mut draws: Rng) {
        self.queue = Some(self.library.queue(draws.next_u64()));
    }

    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        if let Some(queue) = &self.queue {
            queue.counters(each);
        }
    }

    fn parameters(&self) -> BTreeMap<String, String> {
        parameters(&self.library)
    }

    fn fault(&self) -> Option<String> {
        Some(self.queue.as_ref()?.fault()?.to_string())
    }
}
