//! The text of a file: header, lines, and the fields of a line.

use super::FAMILIES;
use crate::replay::Fault;

/// A whole file.
pub(super) struct Text<'a> {
    pub(super) family: &'a str,
    pub(super) scenario: &'a str,
    pub(super) reference: &'a str,
    /// The other keys of the header, with their lines.
    pub(super) header: Vec<(usize, &'a str, &'a str)>,
    /// Every line, for messages.
    pub(super) lines: Vec<&'a str>,
    /// How many of them are the header.
    pub(super) header_len: usize,
}

impl<'a> Text<'a> {
    pub(super) fn read(text: &'a str) -> Result<Text<'a>, Fault> {
        let lines: Vec<&str> = text.lines().collect();
        if !text.ends_with('\n') {
            return Err(Fault::at(lines.len().max(1), "the file is cut: its last line has no end"));
        }
        let header_len = lines.iter().take_while(|line| line.starts_with('#')).count();
        let mut read = Text { family: "", scenario: "", reference: "", header: vec![], lines, header_len };
        for (line, text) in (1..).zip(&read.lines[..header_len]) {
            let rest =
                text.strip_prefix("# ").ok_or_else(|| Fault::at(line, "a header line is `# key value`"))?;
            let (key, value) = rest.split_once(' ').unwrap_or((rest, ""));
            match key {
                "format" => read.family = family(line, value)?,
                "scenario" | "rows" => read.scenario = value,
                "reference" => read.reference = value,
                // What the reference ran, and what follows from other keys.
                "functions" | "scheduler" | "vht" => {}
                _ => read.header.push((line, key, value)),
            }
        }
        if header_len == read.lines.len() {
            return Err(Fault::at(header_len, "the file is cut: it has no record"));
        }
        Ok(read)
    }
}

fn family(line: usize, value: &str) -> Result<&str, Fault> {
    let (name, version) = value.split_once(' ').unwrap_or((value, ""));
    if !FAMILIES.contains(&name) {
        return Err(Fault::UnknownQueue { line, queue: name.to_string() });
    }
    if version != "1" {
        return Err(Fault::at(line, format!("{name}: version `{version}` is not known")));
    }
    Ok(name)
}

/// A number written in digits.
pub(super) fn number<T: TryFrom<i128>>(line: usize, name: &str, text: &str) -> Result<T, Fault> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = !digits.is_empty() && digits.len() <= 20 && digits.bytes().all(|b| b.is_ascii_digit());
    let value: Option<i128> = if is_number { text.parse().ok() } else { None };
    let value = value.ok_or_else(|| Fault::at(line, format!("{name}: `{text}` is no whole number")))?;
    T::try_from(value).map_err(|_| Fault::at(line, format!("{name}: {text} is out of range")))
}

/// The fields of one line, from left to right.
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

    pub(super) fn number<T: TryFrom<i128>>(&mut self, name: &str) -> Result<T, Fault> {
        let text = self.text(name)?;
        number(self.line, name, text)
    }

    /// The value of the next field, which is `key=value`.
    pub(super) fn named_text(&mut self, key: &str) -> Result<&'a str, Fault> {
        let field = self.text(key)?;
        let value = field.strip_prefix(key).and_then(|rest| rest.strip_prefix('='));
        value.ok_or_else(|| Fault::at(self.line, format!("`{field}` is not {key}=value")))
    }

    pub(super) fn named<T: TryFrom<i128>>(&mut self, key: &str) -> Result<T, Fault> {
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

    /// Whether the next field is a group divided by colons.
    pub(super) fn next_has_colon(&mut self) -> bool {
        self.rest.peek().is_some_and(|field| field.contains(':'))
    }

    pub(super) fn is_at_end(&mut self) -> bool {
        self.rest.peek().is_none()
    }

    /// What is left, as `key=value`.
    pub(super) fn entries(&mut self) -> Result<Vec<(&'a str, &'a str)>, Fault> {
        let line = self.line;
        let entry = |field: &'a str| {
            field.split_once('=').ok_or_else(|| Fault::at(line, format!("`{field}` is no key=value")))
        };
        self.rest.by_ref().map(entry).collect()
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
