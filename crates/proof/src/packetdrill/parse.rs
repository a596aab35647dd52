//! Reads a script, by the grammar of packetdrill's manual (its page "Syntax") and what later scripts use.

use super::ParseError;
use super::lex::{Piece, Token, lex};
use super::script::{
    Action, Body, Call, Ecn, Event, Expr, Icmp, Ip, Packet, Script, Segment, TcpOption, When,
};

/// How deep arrays and structures may be nested.
const DEEPEST: u32 = 64;

/// Reads a script.
///
/// # Errors
/// If the text is not a script: the line and the reason.
pub fn parse(text: &str) -> Result<Script, ParseError> {
    let pieces = lex(text)?;
    let last = text.matches('\n').count() + 1;
    let mut parser = Parser { pieces, at: 0, last, depth: 0 };
    parser.script()
}

struct Parser {
    pieces: Vec<Piece>,
    at: usize,
    /// The last line of the text.
    last: usize,
    depth: u32,
}

impl Parser {
    fn token(&self) -> Option<&Token> {
        self.pieces.get(self.at).map(|piece| &piece.token)
    }

    fn line(&self) -> usize {
        self.pieces.get(self.at).map_or(self.last, |piece| piece.line)
    }

    fn fail<T>(&self, expected: &str) -> Result<T, ParseError> {
        let found = match self.token() {
            None => "the end of the script".to_owned(),
            Some(token) => format!("`{}`", text_of(token)),
        };
        Err(ParseError { line: self.line(), reason: format!("expected {expected}, found {found}") })
    }

    fn is_sign(&self, sign: char) -> bool {
        self.token() == Some(&Token::Sign(sign))
    }

    fn take_sign(&mut self, sign: char) -> bool {
        let is = self.is_sign(sign);
        self.at += usize::from(is);
        is
    }

    fn expect(&mut self, sign: char) -> Result<(), ParseError> {
        if self.take_sign(sign) { Ok(()) } else { self.fail(&format!("`{sign}`")) }
    }

    fn word(&self) -> Option<&str> {
        match self.token() {
            Some(Token::Word(word)) => Some(word),
            _ => None,
        }
    }

    fn take_word(&mut self, word: &str) -> bool {
        let is = self.word() == Some(word);
        self.at += usize::from(is);
        is
    }

    /// A whole number from 0 up to `most`.
    fn number(&mut self, what: &str, most: u64) -> Result<u64, ParseError> {
        let number = self.word().and_then(unsigned);
        match number {
            Some(number) if number <= most => {
                self.at += 1;
                Ok(number)
            }
            Some(_) => self.fail(&format!("{what} of at most {most}")),
            None => self.fail(what),
        }
    }

    #[allow(clippy::cast_possible_truncation)]
    fn sequence(&mut self, what: &str) -> Result<u32, ParseError> {
        Ok(self.number(what, u64::from(u32::MAX))? as u32)
    }

    #[allow(clippy::cast_possible_truncation)]
    fn short(&mut self, what: &str) -> Result<u16, ParseError> {
        Ok(self.number(what, u64::from(u16::MAX))? as u16)
    }

    fn script(&mut self) -> Result<Script, ParseError> {
        let mut script = Script::default();
        while let Some(token) = self.token() {
            if let Token::Flag(name, value) = token {
                script.options.push((name.clone(), value.clone()));
                self.at += 1;
            } else {
                script.events.push(self.event()?);
            }
        }
        Ok(script)
    }

    fn event(&mut self) -> Result<Event, ParseError> {
        let line = self.line();
        if let Some(Token::Shell(shell)) = self.token() {
            let action = Action::Shell(shell.clone());
            self.at += 1;
            return Ok(Event { line, when: When::After(0), until: None, action });
        }
        let when = self.when()?;
        let until = match self.token() {
            Some(Token::Ellipsis) => {
                self.at += 1;
                self.take_sign('+');
                Some(self.seconds()?)
            }
            _ => None,
        };
        let action = self.action()?;
        if until.is_some() && !matches!(action, Action::Call(_)) {
            let reason = "only a system call can have an end time (`...`)".to_owned();
            return Err(ParseError { line, reason });
        }
        Ok(Event { line, when, until, action })
    }

    fn when(&mut self) -> Result<When, ParseError> {
        if self.take_sign('*') {
            return Ok(When::Any);
        }
        let is_after = self.take_sign('+');
        let from = self.seconds()?;
        if !self.take_sign('~') {
            return Ok(if is_after { When::After(from) } else { When::At(from) });
        }
        self.take_sign('+');
        let to = self.seconds()?;
        if to < from {
            let reason = "the range of times ends before it begins".to_owned();
            return Err(ParseError { line: self.line(), reason });
        }
        Ok(if is_after { When::Within(from, to) } else { When::Between(from, to) })
    }

    /// Seconds with up to six digits behind the point, as microseconds.
    fn seconds(&mut self) -> Result<i64, ParseError> {
        let digits = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
        let is_negative = self.take_sign('-');
        let whole = self.word().filter(|word| digits(word)).map(str::to_owned);
        self.at += usize::from(whole.is_some());
        let mut fraction = String::new();
        let is_tight = whole.is_none() || self.pieces.get(self.at).is_some_and(|piece| !piece.spaced);
        if self.is_sign('.') && is_tight {
            let next = self.pieces.get(self.at + 1).filter(|piece| !piece.spaced);
            if let Some(Piece { token: Token::Word(word), .. }) = next
                && digits(word)
            {
                fraction.clone_from(word);
                self.at += 2;
            }
        }
        if whole.is_none() && fraction.is_empty() {
            return self.fail("a time in seconds");
        }
        let micros = format!("{fraction:0<6}")[..6].parse::<i64>().unwrap_or(0);
        let whole = whole.map_or(Ok(0), |whole| whole.parse::<i64>());
        match whole.ok().and_then(|whole| whole.checked_mul(1_000_000)?.checked_add(micros)) {
            Some(micros) if micros < 1 << 50 => Ok(if is_negative { -micros } else { micros }),
            _ => self.fail("a time of less than 35 years"),
        }
    }

    fn action(&mut self) -> Result<Action, ParseError> {
        match self.token() {
            Some(Token::Shell(shell)) => {
                let action = Action::Shell(shell.clone());
                self.at += 1;
                Ok(action)
            }
            Some(Token::Code(code)) => {
                let action = Action::Code(code.clone());
                self.at += 1;
                Ok(action)
            }
            Some(Token::Sign('<' | '>')) => Ok(Action::Packet(self.packet()?)),
            Some(Token::Word(_)) => Ok(Action::Call(self.call()?)),
            _ => self.fail("a packet (`<` or `>`), a system call, a command or code"),
        }
    }

    fn packet(&mut self) -> Result<Packet, ParseError> {
        let is_injected = self.is_sign('<');
        self.at += 1;
        let mut packet =
            Packet { is_injected, ip: Ip::default(), body: Body::Other(String::new()), unusual: None };
        let mut about = None;
        while self.is_sign('[') || self.is_sign('(') {
            let begin = self.at;
            let inner = self.balanced()?;
            if inner.starts_with(|c: char| c.is_ascii_digit()) {
                self.at = begin;
                about = Some(self.about()?);
                break;
            }
            take_ip(&inner, is_injected, &mut packet.ip);
        }
        match self.word() {
            Some("ipv4" | "ipv6" | "gre" | "GREv0" | "mpls") => {
                packet.unusual = Some("an outer header".to_owned());
                packet.body = Body::Other(self.rest_of_line());
            }
            Some("icmp" | "icmpv6") => packet.body = Body::Icmp(self.icmp(about)?),
            Some("udp") => packet.body = Body::Other(self.rest_of_line()),
            _ => {
                packet.body = Body::Tcp(self.segment()?);
                if self.is_sign('{') {
                    packet.unusual = Some(format!("the mutation {{{}}}", self.balanced()?));
                }
            }
        }
        Ok(packet)
    }

    /// The segment that a message of ICMP is about: `[1:1001(1000)]`.
    fn about(&mut self) -> Result<(u32, u32, u32), ParseError> {
        self.expect('[')?;
        let start = self.sequence("a sequence number")?;
        self.expect(':')?;
        let end = self.sequence("a sequence number")?;
        self.expect('(')?;
        let len = self.sequence("a length in bytes")?;
        self.expect(')')?;
        if end != start.wrapping_add(len) {
            return self.fail(&format!("numbers of {len} bytes before this"));
        }
        self.expect(']')?;
        Ok((start, end, len))
    }

    /// A message of ICMP, behind the segment that it is about or in front of it.
    fn icmp(&mut self, about: Option<(u32, u32, u32)>) -> Result<Icmp, ParseError> {
        let line = self.line();
        self.at += 1;
        let Some(kind) = self.word().map(str::to_owned) else { return self.fail("a type of ICMP") };
        self.at += 1;
        let mut icmp = Icmp { kind, about, ..Icmp::default() };
        if self.line() != line {
            return Ok(icmp);
        }
        let code = self.word().filter(|word| *word != "mtu" && unsigned(word).is_none()).map(str::to_owned);
        self.at += usize::from(code.is_some());
        icmp.code = code;
        if self.line() == line && self.take_word("mtu") {
            icmp.mtu = Some(self.sequence("an MTU in bytes")?);
        }
        if icmp.about.is_none() && self.is_sign('[') {
            icmp.about = Some(self.about()?);
        }
        Ok(icmp)
    }

    /// Everything up to the end of the line.
    fn rest_of_line(&mut self) -> String {
        let line = self.line();
        let begin = self.at;
        while self.at < self.pieces.len() && (self.line() == line || self.at == begin) {
            self.at += 1;
        }
        join(&self.pieces[begin..self.at])
    }

    /// What lies between a bracket and its partner.
    fn balanced(&mut self) -> Result<String, ParseError> {
        let begin = self.at;
        let mut depth = 0_u32;
        while let Some(token) = self.token() {
            match token {
                Token::Sign('[' | '(' | '{') => depth += 1,
                Token::Sign(']' | ')' | '}') => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Ok(join(&self.pieces[begin + 1..self.at - 1]));
            }
        }
        self.at = begin;
        self.fail("a bracket that is closed")
    }

    fn segment(&mut self) -> Result<Segment, ParseError> {
        let mut segment = Segment { options: Some(Vec::new()), ..Segment::default() };
        let is_port = self.word().and_then(unsigned).is_some();
        if is_port && self.pieces.get(self.at + 1).is_some_and(|next| next.token == Token::Sign('>')) {
            let from = self.short("a port")?;
            self.expect('>')?;
            segment.ports = Some((from, self.short("a port")?));
        }
        self.flags(&mut segment)?;
        segment.start = self.sequence("a sequence number")?;
        self.expect(':')?;
        segment.end = self.sequence("a sequence number")?;
        self.expect('(')?;
        segment.len = u32::from(self.short("a length in bytes")?);
        self.expect(')')?;
        if segment.end != segment.start.wrapping_add(segment.len) {
            let Segment { start, end, len, .. } = segment;
            let reason = format!("{start}:{end} are not {len} bytes");
            return Err(ParseError { line: self.line(), reason });
        }
        if self.take_word("ack") {
            segment.ack = Some(self.sequence("an acknowledgement number")?);
        }
        if self.take_word("win") {
            segment.win = Some(self.short("a window")?);
        }
        if self.take_word("urg") {
            segment.urgent = Some(self.short("an urgent pointer")?);
        }
        if self.take_sign('<') {
            segment.options = self.options()?;
        }
        Ok(segment)
    }

    /// Letters, and the field ACE as a number, which may be before or after the dot of ACK.
    fn flags(&mut self, segment: &mut Segment) -> Result<(), ParseError> {
        let letters = self.word().map(str::to_owned);
        if let Some(letters) = &letters {
            for letter in letters.chars() {
                match letter {
                    'F' => segment.flags |= 0x01,
                    'S' => segment.flags |= 0x02,
                    'R' => segment.flags |= 0x04,
                    'P' => segment.flags |= 0x08,
                    'E' => segment.flags |= 0x40,
                    'W' | 'C' => segment.flags |= 0x80,
                    'A' => segment.ae = true,
                    'U' => segment.urg = true,
                    '0'..='7' => segment.set_ace(letter as u8 - b'0'),
                    _ => return self.fail("TCP flags (of FSRPEWAU, `.` and a digit for ACE)"),
                }
            }
            self.at += 1;
        }
        if self.take_sign('.') {
            segment.flags |= 0x10;
            let next = self.pieces.get(self.at).filter(|piece| !piece.spaced);
            if let Some(Piece { token: Token::Word(word), .. }) = next
                && let [digit @ b'0'..=b'7'] = word.as_bytes()
            {
                segment.set_ace(digit - b'0');
                self.at += 1;
            }
        } else if letters.is_none() && !self.take_sign('-') {
            return self.fail("TCP flags");
        }
        Ok(())
    }

    /// The options up to `>`; none: any options.
    fn options(&mut self) -> Result<Option<Vec<TcpOption>>, ParseError> {
        if self.token() == Some(&Token::Ellipsis) {
            self.at += 1;
            self.expect('>')?;
            return Ok(None);
        }
        let mut options = Vec::new();
        loop {
            options.push(self.option()?);
            if self.take_sign('>') {
                return Ok(Some(options));
            }
            self.expect(',')?;
        }
    }

    #[allow(clippy::cast_possible_truncation)]
    fn option(&mut self) -> Result<TcpOption, ParseError> {
        let Some(name) = self.word().map(str::to_owned) else { return self.fail("a TCP option") };
        self.at += 1;
        Ok(match name.as_str() {
            "nop" => TcpOption::Nop,
            "eol" => TcpOption::Eol,
            "sackOK" => TcpOption::SackOk,
            "mss" => TcpOption::Mss(self.short("an MSS")?),
            "wscale" => TcpOption::Wscale(self.number("a window scale", 255)? as u8),
            "sack" => {
                let mut blocks = Vec::new();
                while self.word().is_some() {
                    let start = self.sequence("the start of a SACK block")?;
                    self.expect(':')?;
                    blocks.push((start, self.sequence("the end of a SACK block")?));
                }
                TcpOption::Sack(blocks)
            }
            "ECN" => {
                let mut counters = Vec::new();
                while let Some(name) = self.word().map(str::to_owned) {
                    if !["e0b", "ceb", "e1b"].contains(&name.as_str()) {
                        return self.fail("`e0b`, `ceb` or `e1b`");
                    }
                    self.at += 1;
                    counters.push((name, self.number("a counter of 24 bits", 0xff_ffff)? as u32));
                }
                TcpOption::EcnBytes(counters)
            }
            "TS" => {
                if !self.take_word("val") {
                    return self.fail("`val`");
                }
                let val = self.sequence("a timestamp")?;
                if !self.take_word("ecr") {
                    return self.fail("`ecr`");
                }
                TcpOption::Timestamps(val, self.sequence("a timestamp")?)
            }
            _ => {
                let begin = self.at;
                while !(self.is_sign(',') || self.is_sign('>')) {
                    if self.token().is_none() {
                        return self.fail("`>` behind the TCP options");
                    }
                    if self.is_sign('[') || self.is_sign('(') || self.is_sign('{') {
                        self.balanced()?;
                    } else {
                        self.at += 1;
                    }
                }
                TcpOption::Other(name, join(&self.pieces[begin..self.at]))
            }
        })
    }

    fn call(&mut self) -> Result<Call, ParseError> {
        let Some(name) = self.word().map(str::to_owned) else { return self.fail("a system call") };
        self.at += 1;
        self.expect('(')?;
        let args = self.list(')')?;
        self.expect('=')?;
        let result = self.expr()?;
        let is_name = self.word().is_some_and(|word| word.starts_with(|c: char| c.is_ascii_alphabetic()));
        let errno = if is_name { self.word().map(str::to_owned) } else { None };
        self.at += usize::from(errno.is_some());
        if self.is_sign('(') {
            self.balanced()?;
        }
        Ok(Call { name, args, result, errno })
    }

    /// Expressions up to `close`.
    fn list(&mut self, close: char) -> Result<Vec<Expr>, ParseError> {
        let mut items = Vec::new();
        if self.take_sign(close) {
            return Ok(items);
        }
        loop {
            items.push(self.expr()?);
            if self.take_sign(close) {
                return Ok(items);
            }
            self.expect(',')?;
        }
    }

    fn expr(&mut self) -> Result<Expr, ParseError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.fail(&format!("at most {DEEPEST} nested expressions"));
        }
        let first = self.operand()?;
        let mut items = vec![first];
        while self.take_sign('|') {
            items.push(self.operand()?);
        }
        self.depth -= 1;
        match items.pop() {
            Some(only) if items.is_empty() => Ok(only),
            Some(last) => {
                items.push(last);
                Ok(Expr::Or(items))
            }
            None => self.fail("an expression"),
        }
    }

    fn operand(&mut self) -> Result<Expr, ParseError> {
        let Some(token) = self.token().cloned() else { return self.fail("an expression") };
        self.at += 1;
        match token {
            Token::Ellipsis => Ok(Expr::Any),
            Token::Text(text) => {
                if self.token() == Some(&Token::Ellipsis) {
                    self.at += 1;
                }
                Ok(Expr::Text(text))
            }
            Token::Sign('-') => {
                #[allow(clippy::cast_possible_wrap)]
                let number = self.number("a number", i64::MAX as u64)? as i64;
                Ok(Expr::Number(-number))
            }
            Token::Sign('[') => Ok(Expr::Array(self.list(']')?)),
            Token::Sign('{') => self.fields(),
            Token::Word(word) => {
                if let Some(number) = unsigned(&word) {
                    #[allow(clippy::cast_possible_wrap)]
                    return Ok(Expr::Number(number as i64));
                }
                if self.take_sign('(') {
                    return Ok(Expr::Apply(word, self.list(')')?));
                }
                Ok(Expr::Word(word))
            }
            _ => {
                self.at -= 1;
                self.fail("an expression")
            }
        }
    }

    /// The fields of a structure, up to `}`.
    fn fields(&mut self) -> Result<Expr, ParseError> {
        let mut fields = Vec::new();
        if self.take_sign('}') {
            return Ok(Expr::Struct(fields));
        }
        loop {
            let value = self.expr()?;
            if self.take_sign('=') {
                let (Expr::Word(name) | Expr::Apply(name, _)) = value else {
                    return self.fail("the name of a field in front of `=`");
                };
                fields.push((name, self.expr()?));
            } else {
                fields.push((String::new(), value));
            }
            if self.take_sign('}') {
                return Ok(Expr::Struct(fields));
            }
            self.expect(',')?;
        }
    }
}

/// The annotation of the IP header, in brackets.
fn take_ip(inner: &str, is_injected: bool, ip: &mut Ip) {
    for part in inner.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once(' ').unwrap_or((part, ""));
        let ecn = if name == "ecn" { value } else { part };
        match (ecn, unsigned(value)) {
            ("noecn", _) => ip.ecn = Some(Ecn::Not),
            ("ect0", _) => ip.ecn = Some(Ecn::Ect0),
            ("ect1", _) => ip.ecn = Some(Ecn::Ect1),
            ("ect01", _) => ip.ecn = Some(Ecn::Ect01),
            ("ce", _) => ip.ecn = Some(Ecn::Ce),
            // The two bits of ECN; the others, the time to live and the flow label are nothing to TCP.
            (_, Some(tos @ 0..=3)) if name == "tos" => {
                ip.ecn = Some([Ecn::Not, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::try_from(tos).unwrap_or(0)]);
            }
            (_, Some(_)) if is_injected && (name == "ttl" || name == "flowlabel") => {}
            _ => ip.others.push(part.to_owned()),
        }
    }
}

/// A decimal or hexadecimal number.
fn unsigned(word: &str) -> Option<u64> {
    match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None if word.bytes().all(|byte| byte.is_ascii_digit()) => word.parse().ok(),
        None => None,
    }
}

fn text_of(token: &Token) -> String {
    match token {
        Token::Word(word) | Token::Text(word) | Token::Shell(word) | Token::Code(word) => word.clone(),
        Token::Flag(name, value) => format!("--{name}={value}"),
        Token::Ellipsis => "...".to_owned(),
        Token::Sign(sign) => sign.to_string(),
    }
}

/// The text of pieces, as it was written, with single spaces.
fn join(pieces: &[Piece]) -> String {
    let mut text = String::new();
    for piece in pieces {
        if piece.spaced && !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&text_of(&piece.token));
    }
    text
}
