//! Reads the text of a vector: header, calls with their results and checks, and the fields of a line. All
//! formats are read here; a [`Format`] has their differences.

use super::Fault;

/// A whole number: wide enough for every unsigned 64-bit and every signed value.
pub(super) type Number = i128;

/// One `key value` or `key=value`, and its line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a, V = &'a str> {
    pub(super) line: usize,
    pub(super) key: &'a str,
    pub(super) value: V,
}

impl<'a> Entry<'a> {
    pub(super) fn number<T: TryFrom<Number>>(&self) -> Result<T, Fault> {
        number(self.line, self.key, self.value)
    }

    /// The same with its value as a number.
    pub(super) fn numeric(&self) -> Result<Entry<'a, Number>, Fault> {
        Ok(Entry { line: self.line, key: self.key, value: self.number()? })
    }

    /// The `key value` that is the value of this one.
    pub(super) fn inner(&self) -> Entry<'a> {
        let (key, value) = self.value.split_once(' ').unwrap_or((self.value, ""));
        Entry { line: self.line, key, value }
    }
}

/// A number written in digits.
pub(super) fn number<T: TryFrom<Number>>(line: usize, name: &str, text: &str) -> Result<T, Fault> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = !digits.is_empty() && digits.len() <= 20 && digits.bytes().all(|b| b.is_ascii_digit());
    let value: Option<Number> = if is_number { text.parse().ok() } else { None };
    let value = value.ok_or_else(|| Fault::at(line, format!("{name}: `{text}` is no whole number")))?;
    T::try_from(value).map_err(|_| Fault::at(line, format!("{name}: {text} is out of range")))
}

/// The records of a format, by their first word. All formats also have `S`, a check of the state.
pub(super) struct Format {
    /// Calls.
    pub(super) calls: &'static [&'static str],
    /// Results of the call above them.
    pub(super) results: &'static [&'static str],
}

/// A call, its results, and the checks of the state after it. The part before the first call is a step of
/// kind `""`.
pub(super) struct Step<'a> {
    pub(super) line: usize,
    pub(super) kind: &'a str,
    pub(super) t: u64,
    /// The fields after the time.
    pub(super) fields: Fields<'a>,
    /// The lines after the call.
    pub(super) results: Vec<&'a str>,
    pub(super) checks: Vec<Vec<Entry<'a>>>,
}

impl<'a> Step<'a> {
    /// The results, with their lines.
    pub(super) fn numbered_results(&self) -> impl Iterator<Item = (usize, &'a str)> {
        (self.line + 1..).zip(self.results.iter().copied())
    }
}

/// A whole file.
pub(super) struct Text<'a> {
    pub(super) header: Vec<Entry<'a>>,
    /// Every line, for messages.
    pub(super) lines: Vec<&'a str>,
    /// The number of lines of the header.
    pub(super) header_len: usize,
}

impl<'a> Text<'a> {
    pub(super) fn read(text: &'a str) -> Result<Text<'a>, Fault> {
        let lines: Vec<&str> = text.lines().collect();
        if text.is_empty() {
            return Err(Fault::at(1, "the file is empty"));
        }
        if !text.ends_with('\n') {
            return Err(Fault::at(lines.len().max(1), "the file is cut: its last line has no end"));
        }
        let header_len = lines.iter().take_while(|line| line.starts_with('#')).count();
        let entry = |(line, text): (usize, &&'a str)| {
            let rest = text.strip_prefix("# ");
            let rest = rest.ok_or_else(|| Fault::at(line, "a header line is `# key value`"))?;
            Ok(Entry { line, key: "", value: rest }.inner())
        };
        let header = (1..).zip(&lines[..header_len]).map(entry).collect::<Result<_, Fault>>()?;
        Ok(Text { header, lines, header_len })
    }

    /// The value of a key of the header; empty if there is none.
    pub(super) fn header(&self, key: &str) -> &'a str {
        self.header.iter().find(|entry| entry.key == key).map_or("", |entry| entry.value)
    }

    /// The lines after the header, with their numbers.
    pub(super) fn records(&self) -> impl Iterator<Item = (usize, &'a str)> {
        (1..).zip(self.lines.iter().copied()).skip(self.header_len)
    }

    /// The records, step by step. Before the first call it is `start`.
    pub(super) fn steps(&self, format: &Format, start: u64) -> Result<Vec<Step<'a>>, Fault> {
        let step = |line, t, fields: Fields<'a>| {
            let kind = fields.kind;
            Step { line, kind, t, fields, results: Vec::new(), checks: Vec::new() }
        };
        let mut steps = Vec::new();
        let mut current = step(self.header_len, start, Fields::of(self.header_len, ""));
        for (line, text) in self.records() {
            let mut fields = Fields::of(line, text);
            match fields.kind {
                "S" => current.checks.push(fields.entries()?),
                kind if format.results.contains(&kind) => {
                    if !current.checks.is_empty() {
                        return Err(fields.fault("a result with no call above it"));
                    }
                    current.results.push(text);
                }
                kind if format.calls.contains(&kind) => {
                    let t = fields.number("time")?;
                    steps.push(std::mem::replace(&mut current, step(line, t, fields)));
                }
                kind => return Err(fields.fault(format!("unknown record `{kind}`"))),
            }
        }
        steps.push(current);
        Ok(steps)
    }
}

/// Checks that time does not go back from call to call, given their lines and times.
pub(super) fn check_times(calls: impl IntoIterator<Item = (usize, u64)>) -> Result<(), Fault> {
    let mut now = 0;
    for (line, t) in calls {
        if t < now {
            return Err(Fault::at(line, format!("time goes back, from {now} to {t}")));
        }
        now = t;
    }
    Ok(())
}

/// The fields of one line, from left to right.
#[derive(Clone)]
pub(super) struct Fields<'a> {
    pub(super) line: usize,
    pub(super) kind: &'a str,
    rest: std::iter::Peekable<std::str::Split<'a, char>>,
}

impl<'a> Fields<'a> {
    pub(super) fn of(line: usize, text: &'a str) -> Fields<'a> {
        let mut rest = text.split(' ').peekable();
        let kind = rest.next().unwrap_or("");
        Fields { line, kind, rest }
    }

    pub(super) fn fault(&self, reason: impl Into<String>) -> Fault {
        Fault::at(self.line, reason)
    }

    pub(super) fn text(&mut self, name: &str) -> Result<&'a str, Fault> {
        let field = self.rest.next().filter(|field| !field.is_empty());
        field.ok_or_else(|| Fault::at(self.line, format!("record {} is cut: it has no {name}", self.kind)))
    }

    pub(super) fn number<T: TryFrom<Number>>(&mut self, name: &str) -> Result<T, Fault> {
        let text = self.text(name)?;
        number(self.line, name, text)
    }

    /// The value of the next field, which is `key=value`.
    pub(super) fn named_text(&mut self, key: &str) -> Result<&'a str, Fault> {
        let field = self.text(key)?;
        let value = field.strip_prefix(key).and_then(|rest| rest.strip_prefix('='));
        value.ok_or_else(|| Fault::at(self.line, format!("`{field}` is not {key}=value")))
    }

    pub(super) fn named<T: TryFrom<Number>>(&mut self, key: &str) -> Result<T, Fault> {
        let text = self.named_text(key)?;
        number(self.line, key, text)
    }

    /// 0 or 1.
    pub(super) fn switch(&mut self, key: &str) -> Result<bool, Fault> {
        match self.named::<u8>(key)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(self.fault(format!("{key}: {other} is neither 0 nor 1"))),
        }
    }

    /// Whether the next field is a group separated by colons.
    pub(super) fn next_has_colon(&mut self) -> bool {
        self.rest.peek().is_some_and(|field| field.contains(':'))
    }

    pub(super) fn is_at_end(&mut self) -> bool {
        self.rest.peek().is_none()
    }

    /// The remaining fields, as `key=value`, each key once.
    pub(super) fn entries(&mut self) -> Result<Vec<Entry<'a>>, Fault> {
        let line = self.line;
        let mut entries: Vec<Entry<'a>> = Vec::new();
        for field in self.rest.by_ref() {
            let (key, value) =
                field.split_once('=').ok_or_else(|| Fault::at(line, format!("`{field}` is no key=value")))?;
            if entries.iter().any(|entry| entry.key == key) {
                return Err(Fault::at(line, format!("{key} is given twice")));
            }
            entries.push(Entry { line, key, value });
        }
        Ok(entries)
    }

    pub(super) fn end(&mut self) -> Result<(), Fault> {
        match self.rest.next() {
            None => Ok(()),
            Some(field) => {
                Err(Fault::at(self.line, format!("`{field}` after the end of record {}", self.kind)))
            }
        }
    }
}

/// The field that `key` names, as a [`Number`]; `None` if it is none of those listed.
macro_rules! field {
    ($key:expr, $of:expr, $($field:ident),+ $(,)?) => {
        match $key {
            $(stringify!($field) => Some($crate::replay::text::Number::from($of.$field)),)+
            _ => None,
        }
    };
}
pub(super) use field;
