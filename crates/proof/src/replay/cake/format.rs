//! The text of a vector of `cake`: it has more to say of a packet than those of the other queues.

use super::super::Fault;

pub(super) type Number = i128;

/// One `key=value` or `key value` and its line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    pub(super) line: usize,
    pub(super) key: &'a str,
    pub(super) value: &'a str,
}

impl Entry<'_> {
    pub(super) fn number<T: TryFrom<Number>>(&self) -> Result<T, Fault> {
        let digits = self.value.strip_prefix('-').unwrap_or(self.value);
        let is_number =
            !digits.is_empty() && digits.len() <= 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
        let value = if is_number { self.value.parse::<Number>().ok() } else { None };
        value.and_then(|value| T::try_from(value).ok()).ok_or_else(|| {
            Fault::at(self.line, format!("{}: `{}` is no whole number in range", self.key, self.value))
        })
    }
}

/// A call to the queue.
#[derive(Debug)]
pub(super) enum Call<'a> {
    Enqueue(Vec<Entry<'a>>),
    Dequeue,
    Reset,
    Change(Vec<Entry<'a>>),
}

impl Call<'_> {
    pub(super) fn letter(&self) -> &'static str {
        match self {
            Call::Enqueue(_) => "E",
            Call::Dequeue => "D",
            Call::Reset => "R",
            Call::Change(_) => "C",
        }
    }
}

/// A call and what came of it. The first is that of set-up and has no call.
#[derive(Debug)]
pub(super) struct Step<'a> {
    pub(super) line: usize,
    pub(super) t: u64,
    pub(super) call: Option<Call<'a>>,
    /// The result lines, from the line after the call on.
    pub(super) results: Vec<&'a str>,
    /// The checks behind them: the queue, then its tins.
    pub(super) checks: Vec<Vec<Entry<'a>>>,
}

/// A whole file.
pub(super) struct Vector<'a> {
    pub(super) header: Vec<Entry<'a>>,
    pub(super) lines: Vec<&'a str>,
    pub(super) steps: Vec<Step<'a>>,
}

/// Names of the fields of an arrival that are written without a name.
const ARRIVAL: [&str; 6] = ["id", "hash", "len", "truesize", "ecn", ""];

fn entries<'a>(line: usize, words: impl Iterator<Item = &'a str>) -> Result<Vec<Entry<'a>>, Fault> {
    let mut entries: Vec<Entry<'a>> = Vec::new();
    for word in words {
        let (key, value) =
            word.split_once('=').ok_or_else(|| Fault::at(line, format!("`{word}` is no key=value")))?;
        if entries.iter().any(|entry| entry.key == key) {
            return Err(Fault::at(line, format!("{key} is given twice")));
        }
        entries.push(Entry { line, key, value });
    }
    Ok(entries)
}

fn call<'a>(line: usize, text: &'a str) -> Result<Option<(u64, Call<'a>)>, Fault> {
    let mut words = text.split(' ');
    let kind = words.next().unwrap_or("");
    if !matches!(kind, "E" | "D" | "R" | "C") {
        return Ok(None);
    }
    let value = words.next().ok_or_else(|| Fault::at(line, format!("record {kind} is cut: no time")))?;
    let t = Entry { line, key: "time", value }.number()?;
    let call = match kind {
        "E" => {
            let mut fields = Vec::new();
            for key in ARRIVAL.into_iter().take_while(|key| !key.is_empty()) {
                let value = words.next();
                let value =
                    value.ok_or_else(|| Fault::at(line, format!("record E is cut: it has no {key}")))?;
                fields.push(Entry { line, key, value });
            }
            fields.extend(entries(line, words)?);
            Call::Enqueue(fields)
        }
        "C" => Call::Change(entries(line, words)?),
        _ if words.next().is_some() => {
            return Err(Fault::at(line, format!("more than a time in record {kind}")));
        }
        "D" => Call::Dequeue,
        _ => Call::Reset,
    };
    Ok(Some((t, call)))
}

/// Reads a text and checks what holds for every vector of `cake`.
pub(super) fn read(text: &str) -> Result<Vector<'_>, Fault> {
    let lines: Vec<&str> = text.lines().collect();
    if !text.ends_with('\n') {
        return Err(Fault::at(lines.len().max(1), "the file is cut: its last line has no end"));
    }
    let mut header = Vec::new();
    let header_len = lines.iter().take_while(|line| line.starts_with('#')).count();
    for (line, text) in (1..).zip(&lines[..header_len]) {
        let rest =
            text.strip_prefix("# ").ok_or_else(|| Fault::at(line, "a header line is `# key value`"))?;
        let (key, value) = rest.split_once(' ').unwrap_or((rest, ""));
        header.push(Entry { line, key, value });
    }
    let mut steps =
        vec![Step { line: header_len, t: 0, call: None, results: Vec::new(), checks: Vec::new() }];
    for (line, &text) in (1..).zip(&lines).skip(header_len) {
        if let Some((t, call)) = call(line, text)? {
            steps.push(Step { line, t, call: Some(call), results: Vec::new(), checks: Vec::new() });
            continue;
        }
        let Some(step) = steps.last_mut() else { continue };
        let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
        match kind {
            "S" => step.checks.push(entries(line, rest.split(' '))?),
            "X" | "M" | "P" | "N" | "W" | "V" if step.checks.is_empty() => step.results.push(text),
            "X" | "M" | "P" | "N" | "W" | "V" => {
                return Err(Fault::at(line, "a result with no call above it"));
            }
            _ => return Err(Fault::at(line, format!("unknown record `{kind}`"))),
        }
    }
    check(&steps, lines.len())?;
    Ok(Vector { header, lines, steps })
}

/// Time does not go back; set-up, R, C and the end have checks, each of the queue and of every tin in use.
fn check(steps: &[Step<'_>], last_line: usize) -> Result<(), Fault> {
    let mut now = 0;
    for (at, step) in steps.iter().enumerate() {
        let is_due =
            at == 0 || at + 1 == steps.len() || matches!(step.call, Some(Call::Reset | Call::Change(_)));
        let end = steps.get(at + 1).map_or(last_line, |next| next.line);
        if step.call.is_some() && step.t < now {
            return Err(Fault::at(step.line, format!("time goes back, from {now} to {}", step.t)));
        }
        now = step.t.max(now);
        let Some(queue) = step.checks.first() else {
            if is_due {
                return Err(Fault::at(end, "a check S is missing before this line"));
            }
            continue;
        };
        let tins = queue.iter().find(|entry| entry.key == "tins");
        let tins = tins.ok_or_else(|| Fault::at(end, "a check S without `tins`"))?.number::<usize>()?;
        if step.checks.len() != tins + 1 {
            return Err(Fault::at(end, format!("{} checks S for {tins} tins", step.checks.len())));
        }
    }
    Ok(())
}
