//! What a queue offers to be replayed.

use goodqueue::{Backlog, Nanos, Observer, Queue, Reason, Stats};

use super::format::{Arrival, Entry, Header, Input, Number, Outcome};

/// A queue under replay.
pub(super) trait Subject {
    /// The value in force of a parameter, under its name in the header; `None`: no such name.
    fn effective(&self, key: &str) -> Option<Number>;
    /// Makes the call and lists its results in order. An error names what in the call is not known.
    fn call(&mut self, now: Nanos, input: &Input<'_>, results: &mut Results) -> Result<(), String>;
    /// A counter or state variable, under its name in a check; `None`: no such name.
    fn state(&self, key: &str) -> Option<Number>;
}

/// What a subject is made from.
pub(super) struct Setup<'a> {
    pub(super) header: &'a Header<'a>,
    /// Packets that arrive in the whole file: more storage is never needed.
    pub(super) arrivals: usize,
}

impl Setup<'_> {
    /// The longest packet with its link header, bytes (Linux `psched_mtu`).
    pub(super) fn mtu(&self) -> u32 {
        self.header.mtu.saturating_add(self.header.hard_header_len)
    }

    /// `n` empty places.
    pub(super) fn places<T: Clone + Default>(n: usize) -> Vec<T> {
        vec![T::default(); n]
    }
}

/// The results of one call, as an observer collects them.
pub(super) type Results = Vec<Outcome<'static>>;

/// Collects what leaves a queue; the cookie of a packet is its number.
pub(super) struct Collect<'a>(pub(super) &'a mut Results);

impl Observer<goodqueue::Header> for Collect<'_> {
    fn dropped(&mut self, _now: Nanos, packet: goodqueue::Header, reason: Reason) {
        self.0.push(Outcome::Dropped { id: packet.cookie, reason: reason.name() });
    }

    fn marked(&mut self, _now: Nanos, packet: &goodqueue::Header, _reason: Reason) {
        self.0.push(Outcome::Marked { id: packet.cookie });
    }
}

/// The packet of an arrival.
fn packet(arrival: &Arrival) -> goodqueue::Header {
    goodqueue::Header {
        cookie: arrival.id,
        len: arrival.len,
        truesize: arrival.truesize,
        flow_hash: arrival.hash,
        dsfield: arrival.dsfield,
    }
}

/// Makes a call to a queue of packets and lists its results; `change` sets parameters by name. Returns the
/// packet delivered, if there was one.
pub(super) fn call<Q: Queue<goodqueue::Header>>(
    queue: &mut Q,
    now: Nanos,
    input: &Input<'_>,
    results: &mut Results,
    change: impl FnOnce(&mut Q, &[Entry<'_>], &mut Collect<'_>) -> Result<(), String>,
) -> Result<Option<goodqueue::Header>, String> {
    match input {
        Input::Enqueue(arrival) => {
            queue.enqueue(now, packet(arrival), &mut Collect(results));
        }
        Input::Dequeue => {
            let delivered = queue.dequeue(now, &mut Collect(results));
            // A queue that holds packets and delivers none says when it will.
            if delivered.is_none()
                && let Some(wake) = queue.next_wake(now)
            {
                results.push(Outcome::Wake { t: wake.0 });
            }
            results.push(answer(delivered));
            return Ok(delivered);
        }
        Input::Reset => queue.reset(now, &mut Collect(results)),
        Input::Change(entries) => change(queue, entries, &mut Collect(results))?,
        Input::Timer | Input::Queued(_) | Input::Completed(_) => return Err(no_such_call()),
    }
    Ok(None)
}

/// The answer to a D.
fn answer(packet: Option<goodqueue::Header>) -> Outcome<'static> {
    match packet {
        Some(packet) => Outcome::Delivered { id: packet.cookie, ecn: packet.dsfield & 3 },
        None => Outcome::Nothing,
    }
}

/// The state that all queues of packets have.
pub(super) fn common_state(key: &str, backlog: Backlog, stats: Stats) -> Option<Number> {
    Some(match key {
        "qlen" => backlog.packets.into(),
        "backlog" => backlog.bytes.into(),
        "drops" => stats.drops.into(),
        "packets" => stats.packets.into(),
        "bytes" => stats.bytes.into(),
        "overlimits" => stats.overlimits.into(),
        _ => return None,
    })
}

/// A parameter's value as a narrower number.
pub(super) fn narrow<T: TryFrom<Number>>(key: &str, value: Number) -> Result<T, String> {
    T::try_from(value).map_err(|_| format!("{key}: {value} is out of range"))
}

/// The message for a call that this kind of queue does not have.
pub(super) fn no_such_call() -> String {
    "this kind of queue has no such call".to_string()
}
