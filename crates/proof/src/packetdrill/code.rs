//! The code of a script, `%{ assert tcpi_snd_cwnd == 10 }%`: assertions and assignments with the expressions
//! that scripts use. It is not Python: any other statement is refused by name.

use std::collections::BTreeMap;

/// Values by name.
pub type Values = BTreeMap<String, f64>;

/// Why code did not end well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodeError {
    /// An assertion does not hold: it, and the values of its names.
    False(String),
    /// The code has something that is not known here.
    Unknown(String),
}

/// How deep an expression may be nested.
const DEEPEST: u32 = 64;

/// Runs code. `lookup` gives the value of a name that the code has not set.
///
/// # Errors
/// If an assertion does not hold, or the code has something unknown.
pub fn run(code: &str, set: &mut Values, lookup: &dyn Fn(&str) -> Option<f64>) -> Result<(), CodeError> {
    for statement in statements(&code.trim_end_matches('\\').replace("\\\n", " ")) {
        let statement = statement.trim();
        if let Some(asserted) = statement.strip_prefix("assert").filter(|rest| !rest.starts_with(is_name)) {
            let mut eval = Eval::new(asserted, set, lookup)?;
            let value = eval.any()?;
            let is_end = matches!(eval.token(), None | Some(Token::Sign(",")));
            if !is_end {
                return Err(CodeError::Unknown(format!("in `{statement}`: {}", eval.rest())));
            }
            if value == 0.0 {
                return Err(CodeError::False(eval.explain(statement)));
            }
        } else if let Some((name, change, value)) = assignment(statement) {
            let mut eval = Eval::new(value, set, lookup)?;
            let mut value = eval.any()?;
            if eval.token().is_some() {
                return Err(CodeError::Unknown(format!("in `{statement}`: {}", eval.rest())));
            }
            if let Some(change) = change {
                let before = *set.get(name).ok_or_else(|| CodeError::Unknown(format!("`{name}`")))?;
                value = if change == '+' { before + value } else { before - value };
            }
            set.insert(name.to_owned(), value);
        } else if !(statement.is_empty() || statement == "pass" || statement.starts_with("print")) {
            return Err(CodeError::Unknown(format!("`{statement}`")));
        }
    }
    Ok(())
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// `name = value`, `name += value`, `name -= value`.
fn assignment(statement: &str) -> Option<(&str, Option<char>, &str)> {
    let (name, value) = statement.split_once('=')?;
    let change = name.chars().last().filter(|&last| last == '+' || last == '-');
    let name = name.trim_end_matches(['+', '-']).trim();
    let is_plain = !name.is_empty() && name.chars().all(is_name) && !value.starts_with('=');
    is_plain.then_some((name, change, value))
}

/// Lines and what semicolons separate, without comments. A line in an open bracket goes on.
fn statements(code: &str) -> Vec<String> {
    let mut list = vec![String::new()];
    let (mut depth, mut quote, mut is_comment) = (0_i32, None, false);
    for c in code.chars() {
        if c == '\n' {
            is_comment = false;
        }
        if is_comment {
            continue;
        }
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '#') => {
                is_comment = true;
                continue;
            }
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth -= 1,
            (None, '\n' | ';') if depth <= 0 => {
                list.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = list.last_mut() {
            last.push(c);
        }
    }
    list
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Name(String),
    Number(f64),
    Text,
    Sign(&'static str),
}

/// Signs, longer ones first.
const SIGNS: [&str; 24] = [
    "<<", ">>", "==", "!=", "<=", ">=", "//", "**", "<", ">", "+", "-", "*", "/", "%", "&", "|", "^", "~",
    "(", ")", ",", "[", "]",
];

struct Eval<'a> {
    tokens: Vec<Token>,
    at: usize,
    set: &'a Values,
    lookup: &'a dyn Fn(&str) -> Option<f64>,
    used: Vec<(String, f64)>,
    depth: u32,
}

impl<'a> Eval<'a> {
    fn new(
        text: &str,
        set: &'a Values,
        lookup: &'a dyn Fn(&str) -> Option<f64>,
    ) -> Result<Eval<'a>, CodeError> {
        Ok(Eval { tokens: tokens(text)?, at: 0, set, lookup, used: Vec::new(), depth: 0 })
    }

    fn token(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn take(&mut self, sign: &'static str) -> bool {
        let is = self.token() == Some(&Token::Sign(sign));
        self.at += usize::from(is);
        is
    }

    fn take_name(&mut self, name: &str) -> bool {
        let is = matches!(self.token(), Some(Token::Name(found)) if found == name);
        self.at += usize::from(is);
        is
    }

    fn rest(&self) -> String {
        self.token().map_or_else(|| "it ends too early".to_owned(), |token| format!("{token:?}"))
    }

    fn explain(&self, statement: &str) -> String {
        let mut used = self.used.clone();
        used.dedup();
        let values: Vec<String> = used.iter().map(|(name, value)| format!("{name} is {value}")).collect();
        if values.is_empty() { statement.to_owned() } else { format!("{statement}: {}", values.join(", ")) }
    }

    fn any(&mut self) -> Result<f64, CodeError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(CodeError::Unknown("an expression that is nested too deeply".to_owned()));
        }
        let mut value = self.all()?;
        while self.take_name("or") {
            let other = self.all()?;
            value = truth(value != 0.0 || other != 0.0);
        }
        self.depth -= 1;
        Ok(value)
    }

    fn all(&mut self) -> Result<f64, CodeError> {
        let mut value = self.not()?;
        while self.take_name("and") {
            let other = self.not()?;
            value = truth(value != 0.0 && other != 0.0);
        }
        Ok(value)
    }

    fn not(&mut self) -> Result<f64, CodeError> {
        let mut is_negated = false;
        while self.take_name("not") {
            is_negated = !is_negated;
        }
        let value = self.comparison()?;
        Ok(if is_negated { truth(value == 0.0) } else { value })
    }

    #[allow(clippy::float_cmp)]
    fn comparison(&mut self) -> Result<f64, CodeError> {
        let mut left = self.binary(0)?;
        let mut holds = None;
        loop {
            let sign = match self.token() {
                Some(Token::Sign(sign @ ("==" | "!=" | "<" | "<=" | ">" | ">="))) => *sign,
                Some(Token::Name(name)) if name == "in" || name == "not" => {
                    let is_negated = self.take_name("not");
                    if !self.take_name("in") {
                        return Err(CodeError::Unknown(format!("behind `not`: {}", self.rest())));
                    }
                    return Ok(truth(self.members()?.contains(&left) != is_negated));
                }
                _ => return Ok(holds.map_or(left, truth)),
            };
            self.at += 1;
            let right = self.binary(0)?;
            let is = match sign {
                "==" => left == right,
                "!=" => left != right,
                "<" => left < right,
                "<=" => left <= right,
                ">" => left > right,
                _ => left >= right,
            };
            holds = Some(holds.unwrap_or(true) && is);
            left = right;
        }
    }

    /// The values of a tuple or a list.
    fn members(&mut self) -> Result<Vec<f64>, CodeError> {
        let close = if self.take("[") { "]" } else { ")" };
        if close == ")" && !self.take("(") {
            return Err(CodeError::Unknown(format!("behind `in`: {}", self.rest())));
        }
        let mut values = Vec::new();
        while !self.take(close) {
            values.push(self.any()?);
            if !self.take(",") && self.token() != Some(&Token::Sign(close)) {
                return Err(CodeError::Unknown(format!("in a list: {}", self.rest())));
            }
        }
        Ok(values)
    }

    /// Operators that bind as tightly as those of `level` or more tightly.
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
    fn binary(&mut self, level: usize) -> Result<f64, CodeError> {
        const LEVELS: [&[&str]; 6] =
            [&["|"], &["^"], &["&"], &["<<", ">>"], &["+", "-"], &["*", "/", "//", "%"]];
        let Some(signs) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        loop {
            let sign = match self.token() {
                Some(Token::Sign(sign)) if signs.contains(sign) => *sign,
                _ => return Ok(left),
            };
            self.at += 1;
            let right = self.binary(level + 1)?;
            let (a, b) = (left as i64, right as i64);
            let shift = u32::try_from(b).unwrap_or(64);
            left = match sign {
                "|" => (a | b) as f64,
                "^" => (a ^ b) as f64,
                "&" => (a & b) as f64,
                "<<" => a.checked_shl(shift).unwrap_or(0) as f64,
                ">>" => a.checked_shr(shift).unwrap_or(0) as f64,
                "+" => left + right,
                "-" => left - right,
                "*" => left * right,
                "/" => left / right,
                "//" => (left / right).floor(),
                _ => left - right * (left / right).floor(),
            };
        }
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
    fn unary(&mut self) -> Result<f64, CodeError> {
        if self.take("-") {
            return Ok(-self.operand()?);
        }
        if self.take("~") {
            return Ok(!(self.operand()? as i64) as f64);
        }
        self.take("+");
        self.operand()
    }

    fn operand(&mut self) -> Result<f64, CodeError> {
        let Some(token) = self.token().cloned() else {
            return Err(CodeError::Unknown("an expression that ends too early".to_owned()));
        };
        self.at += 1;
        match token {
            Token::Number(number) => Ok(number),
            Token::Sign("(") => {
                let value = self.any()?;
                if self.take(")") { Ok(value) } else { Err(CodeError::Unknown("`(` without `)`".to_owned())) }
            }
            Token::Name(name) if self.take("(") => {
                self.at -= 1;
                let values = self.members()?;
                match (name.as_str(), values.as_slice()) {
                    ("abs", [value]) => Ok(value.abs()),
                    ("int", [value]) => Ok(value.trunc()),
                    ("min", [first, rest @ ..]) => Ok(rest.iter().fold(*first, |a, &b| a.min(b))),
                    ("max", [first, rest @ ..]) => Ok(rest.iter().fold(*first, |a, &b| a.max(b))),
                    _ => Err(CodeError::Unknown(format!("the function `{name}`"))),
                }
            }
            Token::Name(name) => {
                let value = match name.as_str() {
                    "True" => Some(1.0),
                    "False" => Some(0.0),
                    _ => self.set.get(&name).copied().or_else(|| (self.lookup)(&name)),
                };
                let value = value.ok_or_else(|| CodeError::Unknown(format!("`{name}`")))?;
                self.used.push((name, value));
                Ok(value)
            }
            token => Err(CodeError::Unknown(format!("{token:?} in an expression"))),
        }
    }
}

fn truth(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

#[allow(clippy::cast_precision_loss)]
fn tokens(text: &str) -> Result<Vec<Token>, CodeError> {
    let mut list = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        if first.is_ascii_digit() {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.')).unwrap_or(rest.len());
            let word = &rest[..end];
            let number = match word.strip_prefix("0x") {
                Some(hex) => i64::from_str_radix(hex, 16).ok().map(|number| number as f64),
                None => word.parse::<f64>().ok(),
            };
            let Some(number) = number else { return Err(CodeError::Unknown(format!("the number `{word}`"))) };
            list.push(Token::Number(number));
            rest = &rest[end..];
        } else if is_name(first) {
            let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            list.push(Token::Name(rest[..end].to_owned()));
            rest = &rest[end..];
        } else if first == '\'' || first == '"' {
            let Some(end) = rest[1..].find(first) else {
                return Err(CodeError::Unknown("a string without an end".to_owned()));
            };
            list.push(Token::Text);
            rest = &rest[end + 2..];
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            list.push(Token::Sign(sign));
            rest = &rest[sign.len()..];
        } else if list.iter().any(|token| token == &Token::Sign(",")) {
            // The message of an assertion follows its comma.
            break;
        } else {
            return Err(CodeError::Unknown(format!("`{first}`")));
        }
        rest = rest.trim_start();
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(code: &str) -> Result<(), CodeError> {
        let lookup = |name: &str| (name == "tcpi_snd_cwnd").then_some(10.0);
        run(code, &mut Values::new(), &lookup)
    }

    #[test]
    fn assertions_with_the_operators_of_scripts() {
        for code in [
            "assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd",
            "assert tcpi_snd_cwnd == 10, 'cwnd=%d' % tcpi_snd_cwnd",
            "N = 9; N += 1; assert tcpi_snd_cwnd == N",
            "X = 0x7fffffff\nassert X > 1000000 and not tcpi_snd_cwnd != 10 # comment",
            "assert 9 <= tcpi_snd_cwnd <= 11; \\\n assert tcpi_snd_cwnd in (9, 10)",
            "assert tcpi_snd_cwnd not in [9, 11] and tcpi_snd_cwnd in [10]",
            "assert (tcpi_snd_cwnd + 2) * 3 == 36 and (6 & 3) == 2 and abs(-3) == 3 and 1 << 4 == 16",
        ] {
            assert_eq!(check(code), Ok(()), "{code}");
        }
        let wrong = "assert tcpi_snd_cwnd == 9 or tcpi_snd_cwnd < 3".to_owned();
        assert_eq!(check(&wrong), Err(CodeError::False(format!("{wrong}: tcpi_snd_cwnd is 10"))));
    }

    #[test]
    fn what_is_not_known_is_named() {
        for (code, name) in [
            ("assert tcpi_nonsense == 1", "`tcpi_nonsense`"),
            ("import os", "`import os`"),
            ("assert open(1)", "the function `open`"),
        ] {
            assert_eq!(check(code), Err(CodeError::Unknown(name.to_owned())), "{code}");
        }
    }
}
