//! A script as data.

use std::fmt;

/// A script that was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// The options `--name=value`; the value is empty where none is given.
    pub options: Vec<(String, String)>,
    /// Events in the order of the script.
    pub events: Vec<Event>,
}

/// When something happens. All times are microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At any time (`*`).
    Any,
    /// So long after the start of the script.
    At(i64),
    /// So long after the event before (`+`).
    After(i64),
    /// Between two times after the start (`1~2`).
    Between(i64, i64),
    /// Between two times after the event before (`+1~+2`).
    Within(i64, i64),
}

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Line of the script where it begins, from 1.
    pub line: usize,
    /// When it happens.
    pub when: When,
    /// When a call that blocks returns (`0...0.2`), on the same clock as `when`, microseconds.
    pub until: Option<i64>,
    /// What happens.
    pub action: Action,
}

/// What happens.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A packet is injected or expected.
    Packet(Packet),
    /// A system call is made.
    Call(Call),
    /// A command for the shell, without its quotes.
    Shell(String),
    /// Code between `%{` and `}%`.
    Code(String),
}

/// A packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    /// Injected (`<`), or expected (`>`).
    pub is_injected: bool,
    /// What the IP header has.
    pub ip: Ip,
    /// What it carries.
    pub body: Body,
    /// Something around or in the packet that is kept as text: an outer header, or a mutation.
    pub unusual: Option<String>,
}

/// The annotation of the IP header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ip {
    /// ECN codepoint.
    pub ecn: Option<Ecn>,
    /// Anything else, as text: `tos`, `ttl`, `flowlabel`.
    pub others: Vec<String>,
}

/// An ECN codepoint, or two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable.
    Not,
    /// ECT(0).
    Ect0,
    /// ECT(1).
    Ect1,
    /// ECT(0) or ECT(1).
    Ect01,
    /// Congestion Experienced.
    Ce,
}

/// What a packet carries.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A TCP segment.
    Tcp(Segment),
    /// A message of ICMP.
    Icmp(Icmp),
    /// Another protocol, as text.
    Other(String),
}

/// A message of ICMP, by packetdrill's names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Icmp {
    /// The type: `unreachable`, `time_exceeded`, `type_3`.
    pub kind: String,
    /// The code, if there is one: `host_unreachable`, `frag_needed`, `code_1`.
    pub code: Option<String>,
    /// The MTU that it tells, bytes.
    pub mtu: Option<u32>,
    /// First and last number, and length, of the segment that it is about.
    pub about: Option<(u32, u32, u32)>,
}

/// A TCP segment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Segment {
    /// Source and destination port, if they are given.
    pub ports: Option<(u16, u16)>,
    /// Flags, in the bits of the header.
    pub flags: u8,
    /// The flag AE (`A`).
    pub ae: bool,
    /// The flag URG (`U`).
    pub urg: bool,
    /// Number of the first byte.
    pub start: u32,
    /// Number after the last byte, SYN and FIN not counted.
    pub end: u32,
    /// Payload bytes.
    pub len: u32,
    /// Acknowledgement number.
    pub ack: Option<u32>,
    /// The field for the window.
    pub win: Option<u16>,
    /// Urgent pointer.
    pub urgent: Option<u16>,
    /// The options; none: `<...>`, which matches any.
    pub options: Option<Vec<TcpOption>>,
}

/// An option of a TCP header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TcpOption {
    /// One byte of padding.
    Nop,
    /// End of options.
    Eol,
    /// Largest segment, bytes.
    Mss(u16),
    /// Window scale, bits.
    Wscale(u8),
    /// SACK permitted.
    SackOk,
    /// SACK blocks, start and end.
    Sack(Vec<(u32, u32)>),
    /// Timestamps: value and echo reply.
    Timestamps(u32, u32),
    /// Byte counters of accurate ECN: the names of their codepoints (`e0b`, `ceb`, `e1b`) and their values.
    EcnBytes(Vec<(String, u32)>),
    /// Another one: its name and what follows.
    Other(String, String),
}

/// A system call with its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Its name.
    pub name: String,
    /// Its arguments.
    pub args: Vec<Expr>,
    /// What it returns.
    pub result: Expr,
    /// The error, by its name.
    pub errno: Option<String>,
}

/// An argument or a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// `...`
    Any,
    /// A number.
    Number(i64),
    /// A name.
    Word(String),
    /// A string, without its quotes.
    Text(String),
    /// `a|b`
    Or(Vec<Expr>),
    /// `[a, b]`
    Array(Vec<Expr>),
    /// `{name=value, ...}`; a field without a name has an empty one.
    Struct(Vec<(String, Expr)>),
    /// `name(a, b)`, such as `htons(80)`.
    Apply(String, Vec<Expr>),
}

impl fmt::Display for TcpOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TcpOption::Nop => f.write_str("nop"),
            TcpOption::Eol => f.write_str("eol"),
            TcpOption::Mss(mss) => write!(f, "mss {mss}"),
            TcpOption::Wscale(scale) => write!(f, "wscale {scale}"),
            TcpOption::SackOk => f.write_str("sackOK"),
            TcpOption::Sack(blocks) => {
                f.write_str("sack")?;
                blocks.iter().try_for_each(|(start, end)| write!(f, " {start}:{end}"))
            }
            TcpOption::Timestamps(val, ecr) => write!(f, "TS val {val} ecr {ecr}"),
            TcpOption::EcnBytes(counters) => {
                f.write_str("ECN")?;
                counters.iter().try_for_each(|(name, value)| write!(f, " {name} {value}"))
            }
            TcpOption::Other(name, rest) if rest.is_empty() => f.write_str(name),
            TcpOption::Other(name, rest) => write!(f, "{name} {rest}"),
        }
    }
}

impl fmt::Display for Ecn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ecn::Not => "noecn",
            Ecn::Ect0 => "ect0",
            Ecn::Ect1 => "ect1",
            Ecn::Ect01 => "ect01",
            Ecn::Ce => "ce",
        })
    }
}

impl Segment {
    /// Sets the field ACE (RFC 9768 section 3.2.2): AE, CWR and ECE, the most significant first.
    pub(super) fn set_ace(&mut self, ace: u8) {
        self.ae = ace & 4 != 0;
        self.flags = self.flags & 0x3f | (ace & 3) << 6;
    }

    /// The letters of the flags, in the order that packetdrill writes them.
    #[must_use]
    pub fn letters(&self) -> String {
        let letters = [(0x01, 'F'), (0x02, 'S'), (0x04, 'R'), (0x08, 'P'), (0x40, 'E'), (0x80, 'W')];
        let mut text: String =
            letters.iter().filter(|&&(bit, _)| self.flags & bit != 0).map(|&(_, letter)| letter).collect();
        if self.ae {
            text.push('A');
        }
        if self.urg {
            text.push('U');
        }
        if self.flags & 0x10 != 0 {
            text.push('.');
        }
        if text.is_empty() { "-".to_owned() } else { text }
    }
}

impl fmt::Display for Icmp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "icmp {}", self.kind)?;
        if let Some(code) = &self.code {
            write!(f, " {code}")?;
        }
        if let Some(mtu) = self.mtu {
            write!(f, " mtu {mtu}")?;
        }
        self.about.map_or(Ok(()), |(start, end, len)| write!(f, " [{start}:{end}({len})]"))
    }
}

/// As packetdrill writes it: `. 1:1001(1000) ack 1 win 257 <nop,nop,TS val 2 ecr 1>`.
impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((from, to)) = self.ports {
            write!(f, "{from}>{to} ")?;
        }
        write!(f, "{} {}:{}({})", self.letters(), self.start, self.end, self.len)?;
        if let Some(ack) = self.ack {
            write!(f, " ack {ack}")?;
        }
        if let Some(win) = self.win {
            write!(f, " win {win}")?;
        }
        if let Some(urgent) = self.urgent {
            write!(f, " urg {urgent}")?;
        }
        match self.options.as_deref() {
            None => f.write_str(" <...>"),
            Some([]) => Ok(()),
            Some(options) => {
                f.write_str(" <")?;
                for (n, option) in options.iter().enumerate() {
                    write!(f, "{}{option}", if n > 0 { "," } else { "" })?;
                }
                f.write_str(">")
            }
        }
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_injected { "<" } else { ">" })?;
        if let Some(ecn) = self.ip.ecn {
            write!(f, " [{ecn}]")?;
        }
        match &self.body {
            Body::Tcp(segment) => write!(f, " {segment}"),
            Body::Icmp(icmp) => write!(f, " {icmp}"),
            Body::Other(text) => write!(f, " {text}"),
        }
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn list(f: &mut fmt::Formatter<'_>, items: &[Expr], between: &str) -> fmt::Result {
            for (n, item) in items.iter().enumerate() {
                write!(f, "{}{item}", if n > 0 { between } else { "" })?;
            }
            Ok(())
        }
        match self {
            Expr::Any => f.write_str("..."),
            Expr::Number(number) => write!(f, "{number}"),
            Expr::Word(word) => f.write_str(word),
            Expr::Text(text) => write!(f, "\"{text}\""),
            Expr::Or(items) => list(f, items, "|"),
            Expr::Array(items) => {
                f.write_str("[")?;
                list(f, items, ", ")?;
                f.write_str("]")
            }
            Expr::Struct(fields) => {
                f.write_str("{")?;
                for (n, (name, value)) in fields.iter().enumerate() {
                    f.write_str(if n > 0 { ", " } else { "" })?;
                    match (name.as_str(), value) {
                        ("", value) => write!(f, "{value}")?,
                        (name, value) => write!(f, "{name}={value}")?,
                    }
                }
                f.write_str("}")
            }
            Expr::Apply(name, args) => {
                write!(f, "{name}(")?;
                list(f, args, ", ")?;
                f.write_str(")")
            }
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", Expr::Apply(self.name.clone(), self.args.clone()), self.result)?;
        self.errno.as_ref().map_or(Ok(()), |errno| write!(f, " {errno}"))
    }
}

/// The number that an expression is.
pub(super) fn number(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Number(number) => Some(*number),
        _ => None,
    }
}

/// Whether a name is among the alternatives of an expression.
pub(super) fn has_word(expr: &Expr, word: &str) -> bool {
    match expr {
        Expr::Word(found) => found == word,
        Expr::Or(items) => items.iter().any(|item| has_word(item, word)),
        _ => false,
    }
}
