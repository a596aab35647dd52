//! Vectors of the queues that are called packet by packet: header, calls, and the rules for every file.

use super::Fault;
use super::text::{Entry, Fields, Format, Number, Text, check_times};

/// The records of these files.
const RECORDS: Format =
    Format { calls: &["E", "D", "R", "C", "T", "Q", "K"], results: &["X", "M", "P", "N", "W", "V"] };

/// What comes before the first record.
#[derive(Debug, Default)]
pub(super) struct Header<'a> {
    pub(super) queue: &'a str,
    pub(super) queue_line: usize,
    pub(super) scenario: &'a str,
    pub(super) reference: &'a str,
    pub(super) hz: u32,
    pub(super) start_ns: u64,
    pub(super) s_every: Option<u64>,
    pub(super) mtu: u32,
    pub(super) hard_header_len: u32,
    pub(super) params: Vec<Entry<'a, Number>>,
    pub(super) effective: Vec<Entry<'a, Number>>,
}

/// An arriving packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) id: u64,
    pub(super) hash: u32,
    pub(super) len: u32,
    pub(super) truesize: u32,
    pub(super) dsfield: u8,
    pub(super) sending: Sending,
}

/// What the sending host knows of a packet: only in vectors of `fq`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sending {
    pub(super) prio: u32,
    pub(super) sk: Option<u64>,
    pub(super) rate: Option<u64>,
    pub(super) skstate: Option<u8>,
    pub(super) skhash: Option<u32>,
    pub(super) tstamp: Option<u64>,
}

impl Sending {
    /// Sets a field; `Ok(false)`: there is no such field.
    fn set(&mut self, entry: &Entry<'_>) -> Result<bool, Fault> {
        match entry.key {
            "prio" => self.prio = entry.number()?,
            "sk" => self.sk = Some(entry.number()?),
            "rate" => self.rate = Some(entry.number()?),
            "skstate" => self.skstate = Some(entry.number()?),
            "skhash" => self.skhash = Some(entry.number()?),
            "tstamp" => self.tstamp = Some(entry.number()?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// A call to the queue.
#[derive(Clone, Debug)]
pub(super) enum Input<'a> {
    Enqueue(Arrival),
    Dequeue,
    Reset,
    Change(Vec<Entry<'a, Number>>),
    Timer,
    Queued(u32),
    Completed(u32),
}

/// A call, its results, and the checks of the state after it.
#[derive(Debug)]
pub(super) struct Step<'a> {
    pub(super) line: usize,
    pub(super) t: u64,
    pub(super) kind: &'a str,
    /// The part before the first call has none.
    pub(super) input: Option<Input<'a>>,
    /// The results, with their lines, without the random numbers among them.
    pub(super) results: Vec<(usize, &'a str)>,
    /// Random numbers that the reference drew.
    pub(super) draws: Vec<u32>,
    pub(super) checks: Vec<Vec<Entry<'a, Number>>>,
}

/// A whole file.
#[derive(Debug)]
pub(super) struct Vector<'a> {
    pub(super) header: Header<'a>,
    /// What comes before the first call, then call by call.
    pub(super) steps: Vec<Step<'a>>,
}

/// Reads a text and checks the rules for every vector.
pub(super) fn read<'a>(text: &Text<'a>) -> Result<Vector<'a>, Fault> {
    let header = read_header(text)?;
    let steps = text.steps(&RECORDS, header.start_ns)?.into_iter().map(|step| read_step(step, header.queue));
    let vector = Vector { header, steps: steps.collect::<Result<_, _>>()? };
    check_times(vector.steps.iter().map(|step| (step.line, step.t)))?;
    check_order(&vector, text.lines.len())?;
    check_states(&vector, text.lines.len())?;
    Ok(vector)
}

fn read_header<'a>(text: &Text<'a>) -> Result<Header<'a>, Fault> {
    let mut header = Header::default();
    let mut is_effective = false;
    if text.lines.first() != Some(&"# vectors 1") {
        return Err(Fault::at(1, "the first line is not `# vectors 1`"));
    }
    for entry in text.header.iter().skip(1) {
        if is_effective {
            header.effective.push(entry.numeric()?);
            continue;
        }
        match entry.key {
            "effective" if entry.value == "values after init follow" => is_effective = true,
            "qdisc" => (header.queue, header.queue_line) = (entry.value, entry.line),
            "scenario" => header.scenario = entry.value,
            "reference" => header.reference = entry.value,
            "seed" => {}
            "hz" => header.hz = entry.number()?,
            "start_ns" => header.start_ns = entry.number()?,
            "s_every" => header.s_every = Some(entry.number()?),
            "mtu" => header.mtu = entry.number()?,
            "hard_header_len" => header.hard_header_len = entry.number()?,
            "param" => header.params.push(entry.inner().numeric()?),
            key => return Err(Fault::at(entry.line, format!("unknown header key `{key}`"))),
        }
    }
    let last = text.header_len;
    if header.queue.is_empty() {
        return Err(Fault::at(last, "the header names no qdisc"));
    }
    if !(1..=1_000_000_000).contains(&header.hz) {
        return Err(Fault::at(last, "the header has no hz from 1 to 10^9"));
    }
    if !is_effective {
        return Err(Fault::at(last, "the header lists no effective values"));
    }
    if header.s_every == Some(0) {
        return Err(Fault::at(last, "s_every is 0"));
    }
    Ok(header)
}

fn read_step<'a>(step: super::text::Step<'a>, queue: &str) -> Result<Step<'a>, Fault> {
    let super::text::Step { line, t, kind, fields: mut call, results: lines, checks } = step;
    let input = match kind {
        "" => None,
        "E" => Some(read_arrival(&mut call, queue == "fq")?),
        "D" => Some(Input::Dequeue),
        "R" => Some(Input::Reset),
        "T" => Some(Input::Timer),
        "Q" => Some(Input::Queued(call.number("count")?)),
        "K" => Some(Input::Completed(call.number("count")?)),
        _ => Some(Input::Change(call.entries()?.iter().map(Entry::numeric).collect::<Result<_, _>>()?)),
    };
    if matches!(&input, Some(Input::Change(entries)) if entries.is_empty()) {
        return Err(Fault::at(line, "record C is cut: it changes nothing"));
    }
    call.end()?;
    let (mut results, mut draws) = (Vec::new(), Vec::new());
    for (line, text) in (line + 1..).zip(lines) {
        match read_result(line, text)? {
            Some(draw) => draws.push(draw),
            None => results.push((line, text)),
        }
    }
    let numbers = |check: &Vec<Entry<'a>>| check.iter().map(Entry::numeric).collect::<Result<_, _>>();
    let checks = checks.iter().map(numbers).collect::<Result<_, _>>()?;
    Ok(Step { line, t, kind, input, results, draws, checks })
}

/// The format's words for reasons, including those of queues that we do not have yet.
const REASONS: [&str; 13] = [
    "limit",
    "memory",
    "codel",
    "pie",
    "red",
    "flow_limit",
    "horizon",
    "toobig",
    "change",
    "reset",
    "rehash",
    "blue",
    "overlimit",
];

/// Checks that a line is a result. Returns the random number if it is one.
fn read_result(line: usize, text: &str) -> Result<Option<u32>, Fault> {
    let mut fields = Fields::of(line, text);
    let mut draw = None;
    match fields.kind {
        "X" => {
            fields.number::<u64>("id")?;
            let word = fields.text("reason")?;
            if !REASONS.contains(&word) {
                return Err(fields.fault(format!("unknown reason `{word}`")));
            }
        }
        "M" => _ = fields.number::<u64>("id")?,
        "P" => _ = (fields.number::<u64>("id")?, fields.number::<u8>("ecn")?),
        "W" => _ = fields.number::<u64>("time")?,
        "V" => draw = Some(fields.number("value")?),
        _ => {}
    }
    fields.end()?;
    Ok(draw)
}

/// `is_sender`: the queue is that of a host that sends.
fn read_arrival<'a>(fields: &mut Fields<'a>, is_sender: bool) -> Result<Input<'a>, Fault> {
    let line = fields.line;
    let id = fields.number("id")?;
    let hash = fields.number("hash")?;
    let (len, truesize) = (fields.number("len")?, fields.number("truesize")?);
    let ecn: u8 = fields.number("ecn")?;
    if ecn > 3 {
        return Err(Fault::at(line, format!("ecn: {ecn} is out of range")));
    }
    let (mut dsfield, mut sending) = (ecn, Sending::default());
    for entry in fields.entries()? {
        match entry.key {
            "dsfield" => {
                let value = entry.number::<u8>().ok().filter(|value| value & 3 == ecn);
                dsfield = value.ok_or_else(|| Fault::at(line, "dsfield is no DS byte with this ecn"))?;
            }
            // 6 is IPv6; ECN works the same way for both.
            "proto" if matches!(entry.value, "4" | "6") => {}
            _ if is_sender && sending.set(&entry)? => {}
            key => return Err(Fault::at(line, format!("unknown field `{key}={}` of record E", entry.value))),
        }
    }
    Ok(Input::Enqueue(Arrival { id, hash, len, truesize, dsfield, sending }))
}

/// Checks that packet numbers rise, that results are in allowed places, and that every D is answered. `last`
/// is the last line.
fn check_order(vector: &Vector<'_>, last: usize) -> Result<(), Fault> {
    let mut last_id = 0;
    for (at, step) in vector.steps.iter().enumerate() {
        if let Some(Input::Enqueue(arrival)) = &step.input {
            if arrival.id <= last_id {
                let what = format!("packet {} comes after packet {last_id}", arrival.id);
                return Err(Fault::at(step.line, what));
            }
            last_id = arrival.id;
        }
        let answer = step.results.iter().position(|(_, text)| matches!(text.as_bytes()[0], b'P' | b'N'));
        let is_dequeue = matches!(step.input, Some(Input::Dequeue));
        let stray = match (&step.input, answer) {
            (None, _) if !step.results.is_empty() => {
                return Err(Fault::at(step.results[0].0, "a result with no call above it"));
            }
            (Some(Input::Dequeue), Some(answer)) => step.results.get(answer + 1),
            (_, answer) => answer.map(|answer| &step.results[answer]),
        };
        if let Some(&(line, _)) = stray {
            return Err(Fault::at(line, "a result that belongs to no D"));
        }
        if is_dequeue && answer.is_none() {
            let is_last = at + 1 == vector.steps.len() && step.checks.is_empty();
            let next = step.line + 1 + step.results.len() + step.draws.len();
            return Err(match is_last {
                true => Fault::at(last, "the file is cut after a D"),
                false => Fault::at(next, "the D before this line has neither P nor N"),
            });
        }
    }
    Ok(())
}

/// Checks that an S follows every `s_every`-th call (every call if there is no `s_every`), every R and every
/// C, and that it ends the file. `last` is the last line.
fn check_states(vector: &Vector<'_>, last: usize) -> Result<(), Fault> {
    let every = vector.header.s_every.unwrap_or(1);
    let (mut calls, mut is_due) = (0_u64, false);
    let mut keys: Option<&Vec<Entry<'_, Number>>> = None;
    for step in &vector.steps {
        if is_due {
            return Err(Fault::at(step.line, "a check S is missing before this line"));
        }
        if step.input.is_some() && !matches!(step.input, Some(Input::Timer)) {
            calls += 1;
            is_due =
                calls.is_multiple_of(every) || matches!(step.input, Some(Input::Reset | Input::Change(_)));
        }
        for (line, check) in step.checked() {
            is_due = false;
            let first = *keys.get_or_insert(check);
            let mut pairs = first.iter().zip(check);
            let has_same = pairs.all(|(first, entry)| first.key == entry.key);
            // The keys of a slot of sfq are at the end, if the packet seen last has one.
            let may_end = vector.header.queue == "sfq" && !check.is_empty();
            if !has_same || (first.len() != check.len() && !may_end) || check.is_empty() {
                return Err(Fault::at(line, "this check S has not the keys of the first"));
            }
        }
    }
    match vector.steps.last() {
        Some(step) if !step.checks.is_empty() => Ok(()),
        _ => Err(Fault::at(last, "the file is cut: it does not end in a check S")),
    }
}

impl<'a> Step<'a> {
    /// The checks, with their lines.
    pub(super) fn checked(&self) -> impl Iterator<Item = (usize, &Vec<Entry<'a, Number>>)> {
        (self.line + 1 + self.results.len() + self.draws.len()..).zip(&self.checks)
    }
}
