//! The text of a vector: header, records, and the rules that hold for every file.

use super::Fault;

/// A number of a header line, parameter or state: wide enough for every unsigned 64-bit and signed value.
pub(super) type Number = i128;

/// One `key value` or `key=value` and its line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    pub(super) line: usize,
    pub(super) key: &'a str,
    pub(super) value: Number,
}

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
    pub(super) params: Vec<Entry<'a>>,
    pub(super) effective: Vec<Entry<'a>>,
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
        fn whole<T: TryFrom<Number>>(entry: &Entry<'_>) -> Result<T, Fault> {
            let wrong = |_| Fault::at(entry.line, format!("{}: {} is out of range", entry.key, entry.value));
            T::try_from(entry.value).map_err(wrong)
        }
        match entry.key {
            "prio" => self.prio = whole(entry)?,
            "sk" => self.sk = Some(whole(entry)?),
            "rate" => self.rate = Some(whole(entry)?),
            "skstate" => self.skstate = Some(whole(entry)?),
            "skhash" => self.skhash = Some(whole(entry)?),
            "tstamp" => self.tstamp = Some(whole(entry)?),
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
    Change(Vec<Entry<'a>>),
    Timer,
    Queued(u32),
    Completed(u32),
}

/// A result of the call above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome<'a> {
    Dropped { id: u64, reason: &'a str },
    Marked { id: u64 },
    Delivered { id: u64, ecn: u8 },
    Nothing,
    Wake { t: u64 },
}

/// One record.
#[derive(Clone, Debug)]
pub(super) enum Record<'a> {
    Input {
        t: u64,
        input: Input<'a>,
    },
    Outcome(Outcome<'a>),
    /// A random draw of the reference.
    Draw(u32),
    State(Vec<Entry<'a>>),
}

/// A whole file.
#[derive(Debug)]
pub(super) struct Vector<'a> {
    pub(super) header: Header<'a>,
    /// Every line, for messages.
    pub(super) lines: Vec<&'a str>,
    /// Random numbers drawn when the queue was made.
    pub(super) draws: Vec<u32>,
    /// Line number from 1, and the record there.
    pub(super) records: Vec<(usize, Record<'a>)>,
}

/// Reads a text and checks what holds for every vector.
pub(super) fn read(text: &str) -> Result<Vector<'_>, Fault> {
    let lines: Vec<&str> = text.lines().collect();
    if text.is_empty() {
        return Err(Fault::at(1, "the file is empty"));
    }
    if !text.ends_with('\n') {
        return Err(Fault::at(lines.len().max(1), "the file is cut: its last line has no end"));
    }
    let header_len = lines.iter().take_while(|line| line.starts_with('#')).count();
    let header = read_header(&lines[..header_len])?;
    let mut records = Vec::with_capacity(lines.len());
    for (line, text) in (1..).zip(&lines).skip(header_len) {
        records.push((line, read_record(line, text, header.queue)?));
    }
    let is_draw = |(_, record): &&(usize, Record<'_>)| matches!(record, Record::Draw(_));
    let at_creation = records.iter().take_while(is_draw).count();
    let draws = records.drain(..at_creation);
    let draws =
        draws.filter_map(|(_, record)| if let Record::Draw(value) = record { Some(value) } else { None });
    let draws = draws.collect();
    let vector = Vector { header, lines, draws, records };
    check_order(&vector)?;
    check_states(&vector)?;
    Ok(vector)
}

fn read_header<'a>(lines: &[&'a str]) -> Result<Header<'a>, Fault> {
    let mut header = Header::default();
    let mut is_effective = false;
    let first = lines.first().copied().unwrap_or("");
    if first != "# vectors 1" {
        return Err(Fault::at(1, "the first line is not `# vectors 1`"));
    }
    for (line, text) in (1..).zip(lines).skip(1) {
        let rest =
            text.strip_prefix("# ").ok_or_else(|| Fault::at(line, "a header line is `# key value`"))?;
        if rest == "effective values after init follow" {
            is_effective = true;
            continue;
        }
        let (key, value) = rest.split_once(' ').unwrap_or((rest, ""));
        if is_effective {
            header.effective.push(Entry { line, key, value: number(line, key, value)? });
            continue;
        }
        match key {
            "qdisc" => (header.queue, header.queue_line) = (value, line),
            "scenario" => header.scenario = value,
            "reference" => header.reference = value,
            "seed" => {}
            "hz" => header.hz = narrow(line, key, value)?,
            "start_ns" => header.start_ns = narrow(line, key, value)?,
            "s_every" => header.s_every = Some(narrow(line, key, value)?),
            "mtu" => header.mtu = narrow(line, key, value)?,
            "hard_header_len" => header.hard_header_len = narrow(line, key, value)?,
            "param" => {
                let (key, value) = value.split_once(' ').unwrap_or((value, ""));
                header.params.push(Entry { line, key, value: number(line, key, value)? });
            }
            _ => return Err(Fault::at(line, format!("unknown header key `{key}`"))),
        }
    }
    let last = lines.len();
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

fn number(line: usize, key: &str, text: &str) -> Result<Number, Fault> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = !digits.is_empty() && digits.len() <= 20 && digits.bytes().all(|b| b.is_ascii_digit());
    let value = if is_number { text.parse().ok() } else { None };
    value.ok_or_else(|| Fault::at(line, format!("{key}: `{text}` is no whole number")))
}

fn narrow<T: TryFrom<Number>>(line: usize, key: &str, text: &str) -> Result<T, Fault> {
    let value = number(line, key, text)?;
    T::try_from(value).map_err(|_| Fault::at(line, format!("{key}: {text} is out of range")))
}

/// The fields of one line.
struct Fields<'a> {
    line: usize,
    kind: &'a str,
    rest: std::str::Split<'a, char>,
}

impl<'a> Fields<'a> {
    fn text(&mut self, name: &str) -> Result<&'a str, Fault> {
        let field = self.rest.next().filter(|field| !field.is_empty());
        field.ok_or_else(|| Fault::at(self.line, format!("record {} is cut: it has no {name}", self.kind)))
    }

    fn number<T: TryFrom<Number>>(&mut self, name: &str) -> Result<T, Fault> {
        let text = self.text(name)?;
        narrow(self.line, name, text)
    }

    fn entries(&mut self) -> Result<Vec<Entry<'a>>, Fault> {
        let line = self.line;
        let mut entries: Vec<Entry<'a>> = Vec::new();
        for field in self.rest.by_ref() {
            let (key, value) =
                field.split_once('=').ok_or_else(|| Fault::at(line, format!("`{field}` is no key=value")))?;
            if entries.iter().any(|entry| entry.key == key) {
                return Err(Fault::at(line, format!("{key} is given twice")));
            }
            entries.push(Entry { line, key, value: number(line, key, value)? });
        }
        Ok(entries)
    }

    fn end(mut self) -> Result<(), Fault> {
        match self.rest.next() {
            None => Ok(()),
            Some(field) => {
                Err(Fault::at(self.line, format!("`{field}` after the end of record {}", self.kind)))
            }
        }
    }
}

fn read_record<'a>(line: usize, text: &'a str, queue: &str) -> Result<Record<'a>, Fault> {
    let mut rest = text.split(' ');
    let kind = rest.next().unwrap_or("");
    let mut fields = Fields { line, kind, rest };
    let record = match kind {
        "E" => read_arrival(&mut fields, queue == "fq")?,
        "D" => Record::Input { t: fields.number("time")?, input: Input::Dequeue },
        "R" => Record::Input { t: fields.number("time")?, input: Input::Reset },
        "T" => Record::Input { t: fields.number("time")?, input: Input::Timer },
        "C" => {
            let t = fields.number("time")?;
            let entries = fields.entries()?;
            if entries.is_empty() {
                return Err(Fault::at(line, "record C is cut: it changes nothing"));
            }
            Record::Input { t, input: Input::Change(entries) }
        }
        "Q" => Record::Input { t: fields.number("time")?, input: Input::Queued(fields.number("count")?) },
        "K" => Record::Input { t: fields.number("time")?, input: Input::Completed(fields.number("count")?) },
        "X" => {
            let id = fields.number("id")?;
            Record::Outcome(Outcome::Dropped { id, reason: read_reason(line, fields.text("reason")?)? })
        }
        "M" => Record::Outcome(Outcome::Marked { id: fields.number("id")? }),
        "P" => {
            let outcome = Outcome::Delivered { id: fields.number("id")?, ecn: fields.number("ecn")? };
            Record::Outcome(outcome)
        }
        "N" => Record::Outcome(Outcome::Nothing),
        "W" => Record::Outcome(Outcome::Wake { t: fields.number("time")? }),
        "V" => Record::Draw(fields.number("value")?),
        "S" => Record::State(fields.entries()?),
        _ => return Err(Fault::at(line, format!("unknown record `{kind}`"))),
    };
    fields.end()?;
    Ok(record)
}

/// Words of the format for reasons; those of queues that we do not have yet among them.
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

fn read_reason(line: usize, word: &str) -> Result<&str, Fault> {
    if REASONS.contains(&word) { Ok(word) } else { Err(Fault::at(line, format!("unknown reason `{word}`"))) }
}

/// `is_sender`: the queue is that of a host that sends.
fn read_arrival<'a>(fields: &mut Fields<'a>, is_sender: bool) -> Result<Record<'a>, Fault> {
    let line = fields.line;
    let t = fields.number("time")?;
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
                let value = u8::try_from(entry.value).ok().filter(|value| value & 3 == ecn);
                dsfield = value.ok_or_else(|| Fault::at(line, "dsfield is no DS byte with this ecn"))?;
            }
            // 6: IPv6; ECN is handled alike for both.
            "proto" if entry.value == 4 || entry.value == 6 => {}
            _ if is_sender && sending.set(&entry)? => {}
            key => return Err(Fault::at(line, format!("unknown field `{key}={}` of record E", entry.value))),
        }
    }
    Ok(Record::Input { t, input: Input::Enqueue(Arrival { id, hash, len, truesize, dsfield, sending }) })
}

/// Time does not go back, packet numbers rise, results are where they may be, every D is answered.
fn check_order(vector: &Vector<'_>) -> Result<(), Fault> {
    let (mut now, mut last_id) = (vector.header.start_ns, 0);
    let mut call: Option<(usize, &Input<'_>)> = None;
    let mut is_answered = true;
    for (line, record) in &vector.records {
        let line = *line;
        if let Record::Input { .. } | Record::State(_) = record
            && !is_answered
        {
            return Err(Fault::at(line, "the D before this line has neither P nor N"));
        }
        match record {
            Record::Input { t, input } => {
                if *t < now {
                    return Err(Fault::at(line, format!("time goes back, from {now} to {t}")));
                }
                now = *t;
                if let Input::Enqueue(arrival) = input {
                    if arrival.id <= last_id {
                        return Err(Fault::at(
                            line,
                            format!("packet {} comes after packet {last_id}", arrival.id),
                        ));
                    }
                    last_id = arrival.id;
                }
                is_answered = !matches!(input, Input::Dequeue);
                call = Some((line, input));
            }
            Record::Outcome(outcome) => {
                let Some((_, input)) = call else {
                    return Err(Fault::at(line, "a result with no call above it"));
                };
                let is_answer = matches!(outcome, Outcome::Delivered { .. } | Outcome::Nothing);
                if is_answered && (is_answer || matches!(input, Input::Dequeue)) {
                    return Err(Fault::at(line, "a result that belongs to no D"));
                }
                is_answered |= is_answer;
            }
            Record::State(_) => call = None,
            Record::Draw(_) => {}
        }
    }
    if is_answered { Ok(()) } else { Err(Fault::at(vector.lines.len(), "the file is cut after a D")) }
}

/// A check follows every `s_every`-th call, every R and every C (every call where there is no
/// `s_every`), and ends the file.
fn check_states(vector: &Vector<'_>) -> Result<(), Fault> {
    let every = vector.header.s_every.unwrap_or(1);
    let (mut calls, mut is_due) = (0_u64, false);
    let mut keys: Option<&Vec<Entry<'_>>> = None;
    for (line, record) in &vector.records {
        match record {
            Record::Input { input, .. } => {
                if is_due {
                    return Err(Fault::at(*line, "a check S is missing before this line"));
                }
                if !matches!(input, Input::Timer) {
                    calls += 1;
                    is_due = calls.is_multiple_of(every) || matches!(input, Input::Reset | Input::Change(_));
                }
            }
            Record::State(entries) => {
                is_due = false;
                let first = *keys.get_or_insert(entries);
                let mut pairs = first.iter().zip(entries);
                let has_same = pairs.all(|(first, entry)| first.key == entry.key);
                // The keys of a slot of sfq are at the end, where the packet last seen has one.
                let may_end = vector.header.queue == "sfq" && !entries.is_empty();
                if !has_same || (first.len() != entries.len() && !may_end) || entries.is_empty() {
                    return Err(Fault::at(*line, "this check S has not the keys of the first"));
                }
            }
            Record::Outcome(_) | Record::Draw(_) => {}
        }
    }
    match vector.records.last() {
        Some((_, Record::State(_))) => Ok(()),
        _ => Err(Fault::at(vector.lines.len(), "the file is cut: it does not end in a check S")),
    }
}
