//! The text of a script, cut into words, numbers, strings and signs.

use super::ParseError;

/// A piece of a script.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// Letters, digits and underscores. A number is a word of digits.
    Word(String),
    /// `--name`, and what follows the sign `=` up to white space.
    Flag(String, String),
    /// In double quotes.
    Text(String),
    /// In back quotes.
    Shell(String),
    /// Between `%{` and `}%`.
    Code(String),
    /// `...`
    Ellipsis,
    /// Anything else.
    Sign(char),
}

/// A piece and where it is.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) token: Token,
    pub(super) line: usize,
    /// Whether white space or a comment precedes it.
    pub(super) spaced: bool,
}

/// Cuts `text` into pieces. Comments are `/* */`, `//` to the end of the line, and `#` at its beginning.
pub(super) fn lex(text: &str) -> Result<Vec<Piece>, ParseError> {
    let mut lexer = Lexer { rest: text, line: 1, spaced: true, pieces: Vec::new(), is_line_start: true };
    while !lexer.rest.is_empty() {
        lexer.next()?;
    }
    Ok(lexer.pieces)
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
    spaced: bool,
    is_line_start: bool,
    pieces: Vec<Piece>,
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

impl<'a> Lexer<'a> {
    fn fail(&self, reason: &str) -> ParseError {
        ParseError { line: self.line, reason: reason.to_owned() }
    }

    /// Takes `bytes` of the text.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }

    /// Takes what lies between `open` and `close`; the text begins with `open`.
    fn between(&mut self, open: &str, close: &str, what: &str) -> Result<&'a str, ParseError> {
        let inner = &self.rest[open.len()..];
        let mut from = 0;
        loop {
            let Some(found) = inner[from..].find(close) else {
                return Err(self.fail(&format!("{what} has no end")));
            };
            let at = from + found;
            // A backslash in front of a quote keeps it.
            if close.len() == 1 && inner[..at].ends_with('\\') {
                from = at + close.len();
                continue;
            }
            let whole = self.take(open.len() + at + close.len());
            return Ok(&whole[open.len()..open.len() + at]);
        }
    }

    fn push(&mut self, line: usize, token: Token) {
        self.pieces.push(Piece { token, line, spaced: self.spaced });
        self.spaced = false;
        self.is_line_start = false;
    }

    fn next(&mut self) -> Result<(), ParseError> {
        let (rest, line) = (self.rest, self.line);
        let Some(first) = rest.chars().next() else { return Ok(()) };
        if first.is_whitespace() {
            self.take(first.len_utf8());
            self.spaced = true;
            self.is_line_start |= first == '\n';
        } else if rest.starts_with("//") || (first == '#' && self.is_line_start) {
            self.take(rest.find('\n').unwrap_or(rest.len()));
            self.spaced = true;
        } else if rest.starts_with("/*") {
            self.between("/*", "*/", "the comment")?;
            self.spaced = true;
        } else if rest.starts_with("%{") {
            let code = self.between("%{", "}%", "the code")?.trim().to_owned();
            self.push(line, Token::Code(code));
        } else if first == '`' {
            let shell = self.between("`", "`", "the command")?.to_owned();
            self.push(line, Token::Shell(shell));
        } else if first == '"' {
            let text = self.between("\"", "\"", "the string")?.to_owned();
            self.push(line, Token::Text(text));
        } else if rest.starts_with("...") {
            self.take(3);
            self.push(line, Token::Ellipsis);
        } else if rest.starts_with("--") && rest[2..].starts_with(is_word) {
            let length = 2 + rest[2..].find(|c| !is_word(c)).unwrap_or(rest.len() - 2);
            let name = self.take(length)[2..].to_owned();
            let value = match self.rest.strip_prefix('=') {
                Some(after) => {
                    let length = after.find(char::is_whitespace).unwrap_or(after.len());
                    self.take(1 + length)[1..].trim_matches('"').to_owned()
                }
                None => String::new(),
            };
            self.push(line, Token::Flag(name, value));
        } else if is_word(first) {
            let word = self.take(rest.find(|c| !is_word(c)).unwrap_or(rest.len())).to_owned();
            self.push(line, Token::Word(word));
        } else {
            self.take(first.len_utf8());
            self.push(line, Token::Sign(first));
        }
        Ok(())
    }
}
