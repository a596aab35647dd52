//! The trait that a queue must implement to be replayed, and helpers for it.

use std::collections::VecDeque;

use goodqueue::spec::{Access, Parameters, Unit, Value};
use goodqueue::{Backlog, Draws, Link, Nanos, Observer, Owner, PacketInfo, Queue, Rate, Reason, Span, Stats};

use super::Fault;
use super::format::{Arrival, Header, Input};
use super::text::{Entry, Number};

/// A queue under replay.
pub(super) trait Subject {
    /// The effective value of a parameter, by its name in the header; `None` if there is no such name.
    fn effective(&self, key: &str) -> Option<Number>;
    /// Makes the call and lists its results in order. An error names what in the call is not known.
    fn call(&mut self, now: Nanos, input: &Input<'_>, results: &mut Results) -> Result<(), String>;
    /// The random numbers that the queue takes; `None` for a queue that takes none.
    fn draws(&mut self) -> Option<&mut Recorded> {
        None
    }
    /// A counter or state variable, by its name in a check; `None` if there is no such name.
    fn state(&self, key: &str) -> Option<Number>;
}

/// The random numbers of the reference, which the queue draws in the same order.
#[derive(Clone, Debug, Default)]
pub(super) struct Recorded {
    values: VecDeque<u32>,
    /// Draws for which there was no number.
    missing: u32,
}

impl Recorded {
    pub(super) fn new(values: &[u32]) -> Recorded {
        Recorded { values: values.iter().copied().collect(), missing: 0 }
    }

    /// Checks that the queue drew exactly the numbers that were given, and forgets them. The error says how
    /// many were too many or left.
    fn check(&mut self) -> Result<(), String> {
        let (unused, missing) = (self.values.len(), self.missing);
        *self = Recorded::default();
        if unused + missing as usize == 0 {
            Ok(())
        } else {
            Err(format!("{unused} left, {missing} too many"))
        }
    }
}

impl Draws for Recorded {
    fn next_u32(&mut self) -> u32 {
        let value = self.values.pop_front();
        self.missing += u32::from(value.is_none());
        value.unwrap_or(0)
    }
}

impl dyn Subject + '_ {
    /// Sets the random numbers for the next call. An error if the queue takes none.
    pub(super) fn give(&mut self, values: &[u32]) -> Result<(), String> {
        match self.draws() {
            Some(draws) => *draws = Recorded::new(values),
            None if values.is_empty() => {}
            None => return Err("this kind of queue makes no random draws".to_string()),
        }
        Ok(())
    }

    /// Checks that the queue drew exactly the random numbers that were given.
    pub(super) fn were_drawn(&mut self) -> Result<(), String> {
        self.draws().map_or(Ok(()), Recorded::check)
    }
}

/// The input from which a subject is made.
pub(super) struct Setup<'a> {
    pub(super) header: &'a Header<'a>,
    /// Random numbers that were drawn when the queue was created.
    pub(super) draws: &'a [u32],
    /// Number of packets that arrive in the whole file: more storage is never needed.
    pub(super) arrivals: usize,
}

/// Sets the parameter that the catalogue calls `key`. In vectors times are in microseconds, and a value may
/// be outside of tc's range.
pub(super) fn set<T: Parameters + Access>(params: &mut T, key: &str, value: Number) -> Result<(), String> {
    let at = T::LIST.iter().position(|parameter| parameter.is_called(key));
    let at = at.ok_or_else(|| format!("unknown parameter `{key}`"))?;
    let value = match T::LIST[at].unit {
        Unit::Time => Some(Value::Time(Span::from_micros(narrow::<u32>(key, value)?.into()))),
        Unit::Switch => Some(Value::Switch(value != 0)),
        unit => unit.value(narrow(key, value)?),
    };
    let is_set = value.is_some_and(|value| params.set(at, value));
    if is_set { Ok(()) } else { Err(format!("{key}: {} does not fit", T::LIST[at].unit.name())) }
}

impl Setup<'_> {
    /// The parameters of the header, each `set`.
    pub(super) fn params<P>(
        &self,
        mut params: P,
        set: impl Fn(&mut P, &str, Number) -> Result<(), String>,
    ) -> Result<P, Fault> {
        for entry in &self.header.params {
            set(&mut params, entry.key, entry.value).map_err(|reason| Fault::at(entry.line, reason))?;
        }
        Ok(params)
    }

    /// An error in the header's description of the queue.
    pub(super) fn fault(&self, reason: impl ToString) -> Fault {
        Fault::at(self.header.queue_line, reason.to_string())
    }

    /// A valid number of flows.
    pub(super) fn flows(&self, flows: u32) -> Result<usize, Fault> {
        match flows {
            1..=65_536 => Ok(flows as usize),
            _ => Err(self.fault(format!("flows: {flows} is out of range"))),
        }
    }

    /// The longest packet with its link header, bytes (Linux `psched_mtu`).
    pub(super) fn mtu(&self) -> u32 {
        self.header.mtu.saturating_add(self.header.hard_header_len)
    }

    /// The link that the queue was set up for. None of the queues reads its rate.
    pub(super) fn link(&self) -> Link {
        Link { rate: Rate(0), mtu: self.mtu() }
    }

    /// `n` empty slots.
    pub(super) fn places<T: Clone + Default>(n: usize) -> Vec<T> {
        vec![T::default(); n]
    }
}

/// The results of one call, as a vector writes them.
pub(super) type Results = Vec<String>;

/// The result of a queue that asks to be woken.
pub(super) fn woken(at: Nanos) -> String {
    format!("W {}", at.0)
}

/// Collects what leaves a queue; the cookie of a packet is its number.
pub(super) struct Collect<'a>(pub(super) &'a mut Results);

impl Observer<goodqueue::Header> for Collect<'_> {
    fn dropped(&mut self, _now: Nanos, packet: goodqueue::Header, reason: Reason) {
        self.0.push(format!("X {} {}", packet.cookie, reason.name()));
    }

    fn marked(&mut self, _now: Nanos, packet: &goodqueue::Header, _reason: Reason) {
        self.0.push(format!("M {}", packet.cookie));
    }
}

impl PacketInfo<goodqueue::Header> for Collect<'_> {}

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

/// Where an observer lists results.
pub(super) trait Listing: Owner<goodqueue::Header> {
    fn results(&mut self) -> &mut Results;
}

impl Listing for Collect<'_> {
    fn results(&mut self) -> &mut Results {
        self.0
    }
}

/// Makes a call to a queue of packets and lists its results; `change` sets parameters by name. Returns the
/// packet delivered, if there was one.
pub(super) fn call<Q: Queue<goodqueue::Header>>(
    queue: &mut Q,
    now: Nanos,
    input: &Input<'_>,
    results: &mut Results,
    change: impl FnOnce(&mut Q, &[Entry<'_, Number>], &mut Collect<'_>) -> Result<(), String>,
) -> Result<Option<goodqueue::Header>, String> {
    call_with(queue, now, input, &mut Collect(results), change, |queue| queue.next_wake(now))
}

/// Like [`call`], with another observer. `wake` is the time at which a queue that holds packets and delivers
/// none asks to be woken.
pub(super) fn call_with<Q: Queue<goodqueue::Header>, O: Listing>(
    queue: &mut Q,
    now: Nanos,
    input: &Input<'_>,
    observer: &mut O,
    change: impl FnOnce(&mut Q, &[Entry<'_, Number>], &mut O) -> Result<(), String>,
    wake: impl FnOnce(&Q) -> Option<Nanos>,
) -> Result<Option<goodqueue::Header>, String> {
    match input {
        Input::Enqueue(arrival) => {
            queue.enqueue(now, packet(arrival), observer);
        }
        Input::Dequeue => {
            let delivered = queue.dequeue(now, observer);
            if delivered.is_none()
                && queue.backlog().packets > 0
                && let Some(wake) = wake(queue)
            {
                observer.results().push(woken(wake));
            }
            observer.results().push(answer(delivered));
            return Ok(delivered);
        }
        Input::Reset => queue.reset(now, observer),
        Input::Change(entries) => change(queue, entries, observer)?,
        Input::Timer | Input::Queued(_) | Input::Completed(_) => return Err(no_such_call()),
    }
    Ok(None)
}

/// Whether the call is a T, of the queue's timer. Ours, due at `due`, must be due at exactly that time and at
/// no other call. If it is not, a result states its time.
pub(super) fn call_timer(now: Nanos, input: &Input<'_>, due: Option<Nanos>, results: &mut Results) -> bool {
    let is_timer = matches!(input, Input::Timer);
    let is_due = due.is_some_and(|due| due <= now);
    if is_timer != is_due {
        results.push(woken(due.unwrap_or(Nanos(u64::MAX))));
    }
    is_timer
}

/// The answer to a D.
fn answer(packet: Option<goodqueue::Header>) -> String {
    packet.map_or("N".into(), |packet| format!("P {} {}", packet.cookie, packet.dsfield & 3))
}

/// The state that all packet queues have.
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

/// The parameters with each entry `set`.
pub(super) fn changed<P>(
    mut params: P,
    entries: &[Entry<'_, Number>],
    set: impl Fn(&mut P, &str, Number) -> Result<(), String>,
) -> Result<P, String> {
    for entry in entries {
        set(&mut params, entry.key, entry.value)?;
    }
    Ok(params)
}

/// The hash of the packet of the call, if there was one.
pub(super) fn hash_of(input: &Input<'_>, delivered: Option<goodqueue::Header>) -> Option<u32> {
    match input {
        Input::Enqueue(arrival) => Some(arrival.hash),
        _ => delivered.map(|packet| packet.flow_hash),
    }
}

/// A parameter's value as a number with fewer bits.
pub(super) fn narrow<T: TryFrom<Number>>(key: &str, value: Number) -> Result<T, String> {
    T::try_from(value).map_err(|_| format!("{key}: {value} is out of range"))
}

/// The message for a call that this kind of queue does not have.
pub(super) fn no_such_call() -> String {
    "this kind of queue has no such call".to_string()
}
