//! Runs a script in virtual time.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use goodqueue::{Nanos, Span};
use goodqueue_sim::tcp::{Flags, Host, Icmp as Message, Packet as Sent, Socket, State};

use super::code::{self, CodeError, Values};
use super::cookies::Peer;
use super::info;
use super::link::{Link, START};
use super::ready;
use super::script::{Action, Body, Call, Event, Expr, Icmp, Packet, Script, Segment, TcpOption, When};
use super::settings::{self, Setting};
use super::sockets::{Answer, Sockets};
use super::support;
use super::{CommandLine, Difference, Outcome};

/// What a system call or an injection takes.
const STEP: Span = Span::from_micros(10);
/// How long is waited for a packet or a call that may come at any time.
const PATIENCE: i64 = 600_000_000;
/// The most timers that may expire between two events, a guard against a model that never rests.
const MOST_TIMERS: u32 = 1_000_000;

/// Why a script ends before its end.
enum End {
    Failed(Difference),
    Lacks(usize, String),
}

/// A packet that a socket sent.
#[derive(Clone, Copy, Debug)]
struct Outbound {
    link: usize,
    at: Nanos,
    packet: Sent,
}

/// A call that waits.
#[derive(Clone, Debug)]
struct Waiting {
    line: usize,
    call: Call,
    /// When it should return; none: as soon as it can.
    until: Option<i64>,
    began: Nanos,
}

struct Runner<'a> {
    folder: &'a Path,
    host: Host,
    sockets: Sockets,
    now: Nanos,
    sent: VecDeque<Outbound>,
    waiting: Option<Waiting>,
    values: Values,
    /// Microseconds that a time may be off, and that share of it in thousandths.
    tolerance: (i64, i64),
    /// Microseconds of one tick of timestamps, if they are compared.
    tick: Option<u32>,
    is_strict: bool,
    /// The counters of [`support::COUNTERS`] when they were shown last, and what was shown.
    counted: [u64; 2],
    shown: [u64; 2],
}

/// Runs a script. `folder` is where files lie that its commands name.
#[must_use]
pub fn run_script(script: &Script, folder: &Path, given: &CommandLine) -> Outcome {
    let folder: PathBuf = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder.to_owned() };
    let mut script = script.clone();
    let names = names(&script, given);
    define(&mut script, &names);
    match run(&script, &folder, given) {
        Ok(()) => Outcome::Passed,
        Err(End::Failed(difference)) => Outcome::Failed(difference),
        Err(End::Lacks(line, reason)) => Outcome::Skipped { line, reason },
    }
}

/// Options in the order in which they are taken: those of the caller override those of the script.
fn options<'a>(script: &'a Script, given: &'a CommandLine) -> impl Iterator<Item = &'a (String, String)> {
    script.options.iter().chain(&given.options)
}

/// Names that are replaced: those of the caller, then those that Linux's suite is run with.
fn names(script: &Script, given: &CommandLine) -> Vec<(String, String)> {
    let version = options(script, given).filter(|(name, _)| name == "ip_version").last();
    let is_ipv6 = version.is_some_and(|(_, version)| version == "ipv6");
    let known = [
        ("TFO_COOKIE", "3021b9d889017eeb", "c1d1e9742a47a9bc"),
        ("TFO_COOKIE_ZERO", "b7c12350a90dc8f5", "82af1a8f9a205c34"),
        ("CMSG_LEVEL_IP", "SOL_IP", "SOL_IPV6"),
        ("CMSG_TYPE_RECVERR", "IP_RECVERR", "IPV6_RECVERR"),
    ];
    let known = known.map(|(name, v4, v6)| (name.to_owned(), if is_ipv6 { v6 } else { v4 }.to_owned()));
    given.defines.iter().cloned().chain(known).collect()
}

/// Replaces names in arguments of calls and in options of packets.
fn define(script: &mut Script, defines: &[(String, String)]) {
    fn replace(expr: &mut Expr, defines: &[(String, String)]) {
        match expr {
            Expr::Word(word) => {
                if let Some((_, value)) = defines.iter().find(|(name, _)| name == word) {
                    word.clone_from(value);
                }
            }
            Expr::Or(items) | Expr::Array(items) | Expr::Apply(_, items) => {
                items.iter_mut().for_each(|item| replace(item, defines));
            }
            Expr::Struct(fields) => fields.iter_mut().for_each(|(_, value)| replace(value, defines)),
            Expr::Any | Expr::Number(_) | Expr::Text(_) => {}
        }
    }
    for event in &mut script.events {
        if let Action::Call(call) = &mut event.action {
            call.args.iter_mut().for_each(|arg| replace(arg, defines));
        }
        if let Action::Packet(Packet { body: Body::Icmp(icmp), .. }) = &mut event.action
            && let Some((_, value)) = defines.iter().find(|(name, _)| Some(name) == icmp.code.as_ref())
        {
            icmp.code = Some(value.clone());
        }
        if let Action::Packet(Packet { body: Body::Tcp(segment), .. }) = &mut event.action {
            for option in segment.options.iter_mut().flatten() {
                if let TcpOption::Other(_, text) = option
                    && let Some((_, value)) = defines.iter().find(|(name, _)| name == text)
                {
                    text.clone_from(value);
                }
            }
        }
    }
}

fn run(script: &Script, folder: &Path, given: &CommandLine) -> Result<(), End> {
    let mut runner = Runner::new(folder);
    for (name, value) in options(script, given) {
        runner.option(name, value).map_err(|reason| End::Lacks(1, reason))?;
    }
    if let Some(address) = runner.sockets.addresses.stranger(runner.host.ip_header == 40) {
        return Err(End::Lacks(1, format!("the address {address} in this version of IP")));
    }
    for event in &script.events {
        if let Some(reason) = support::lacks(event) {
            return Err(End::Lacks(event.line, reason));
        }
        if let Action::Packet(Packet { body: Body::Icmp(icmp), .. }) = &event.action
            && (runner.host.ip_header == 40) != (icmp.kind == "packet_too_big")
        {
            return Err(End::Lacks(event.line, format!("icmp {} in this version of IP", icmp.kind)));
        }
        if let Action::Shell(command) = &event.action {
            // On a copy: every setting of the script must be one that the model has.
            let mut host = runner.host;
            for setting in settings::read(command, folder) {
                support::apply(&setting, &mut host, &runner.sockets.addresses)
                    .map_err(|reason| End::Lacks(event.line, reason))?;
            }
        }
    }
    for event in &script.events {
        runner.event(event)?;
    }
    runner.finish_call()
}

impl<'a> Runner<'a> {
    fn new(folder: &'a Path) -> Runner<'a> {
        Runner {
            folder,
            host: support::host(false, 1500),
            sockets: Sockets::default(),
            now: START,
            sent: VecDeque::new(),
            waiting: None,
            values: Values::new(),
            tolerance: (4000, 125),
            tick: None,
            is_strict: false,
            counted: [0; 2],
            shown: [0; 2],
        }
    }

    fn option(&mut self, name: &str, value: &str) -> Result<(), String> {
        let unknown = || format!("the option --{name}={value}");
        let number = |value: &str| value.parse::<i64>().ok().filter(|&number| number >= 0);
        match name {
            "ip_version" => match value {
                "ipv4" | "ipv4-mapped-ipv6" => self.host.ip_header = 20,
                "ipv6" => self.host.ip_header = 40,
                _ => return Err(unknown()),
            },
            "mtu" => {
                let mtu = number(value).and_then(|mtu| u32::try_from(mtu).ok());
                self.host.mtu = mtu.filter(|mtu| (576..=65_535).contains(mtu)).ok_or_else(unknown)?;
            }
            "tolerance_usecs" => {
                self.tolerance.0 = number(value).ok_or_else(unknown)?;
            }
            "tolerance_percent" => {
                let percent = value.parse::<f64>().ok().filter(|percent| (0.0..=1000.0).contains(percent));
                #[allow(clippy::cast_possible_truncation)]
                let thousandths = percent.map(|percent| (percent * 10.0) as i64);
                self.tolerance.1 = thousandths.ok_or_else(unknown)?;
            }
            "tcp_ts_tick_usecs" => {
                let tick = number(value).and_then(|tick| u32::try_from(tick).ok()).ok_or_else(unknown)?;
                self.tick = (tick > 0).then_some(tick);
            }
            "mss" => {
                let size = number(value).and_then(|size| u16::try_from(size).ok());
                self.host.gro_size = Some(size.filter(|&size| size > 0).ok_or_else(unknown)?);
            }
            // A prefix of packetdrill's form `ADDRESS/LENGTH` says nothing about the host.
            "local_ip" | "remote_ip" => {
                let address = value.split('/').next().and_then(|address| address.parse().ok());
                let address = Some(address.ok_or_else(unknown)?);
                let addresses = &mut self.sockets.addresses;
                *(if name == "local_ip" { &mut addresses.local } else { &mut addresses.remote }) = address;
            }
            "strict_segments" => self.is_strict = true,
            _ if support::is_option(name) => {}
            _ => return Err(unknown()),
        }
        Ok(())
    }

    /// Microseconds since the script began.
    #[allow(clippy::cast_possible_wrap)]
    fn micros(&self, at: Nanos) -> i64 {
        (at.since(START).0 / 1000) as i64
    }

    /// The clock at a time of the script.
    #[allow(clippy::cast_sign_loss)]
    fn at(micros: i64) -> Nanos {
        START + Span(micros.clamp(0, 1 << 50) as u64 * 1000)
    }

    /// First and last time at which something may happen, in microseconds, without tolerance.
    fn times(&self, when: When) -> (i64, i64) {
        let base = self.micros(self.now);
        match when {
            When::Any => (base, base + PATIENCE),
            When::At(at) => (at, at),
            When::After(after) => (base + after, base + after),
            When::Between(from, to) => (from, to),
            When::Within(from, to) => (base + from, base + to),
        }
    }

    /// How much earlier or later than `time` something may happen, if it is waited for since now.
    fn slack(&self, time: i64) -> i64 {
        let wait = (time - self.micros(self.now)).max(0);
        self.tolerance.0.max(wait * self.tolerance.1 / 1000)
    }

    fn event(&mut self, event: &Event) -> Result<(), End> {
        let (from, to) = self.times(event.when);
        match &event.action {
            Action::Packet(packet) if packet.is_injected => {
                self.advance(Self::at(from), false, event.line)?;
                self.inject(packet)?;
            }
            Action::Packet(packet) => {
                let is_any = event.when == When::Any;
                self.expect(packet, (from, to, is_any), event.line)?;
            }
            Action::Call(call) => {
                self.finish_call()?;
                // The end is on the clock of the beginning: relative to the event before, or not.
                let until = event.until.map(|until| match event.when {
                    When::After(after) => from - after + until,
                    _ => until,
                });
                self.advance(Self::at(from), false, event.line)?;
                self.begin_call(call, until, event.line)?;
            }
            Action::Shell(command) => {
                self.advance(Self::at(from), false, event.line)?;
                for setting in settings::read(command, self.folder) {
                    support::apply(&setting, &mut self.host, &self.sockets.addresses)
                        .map_err(|reason| End::Lacks(event.line, reason))?;
                    match &setting {
                        Setting::Flush => self.sockets.peer = Peer::default(),
                        Setting::Counters(begins) => self.show_counters(*begins),
                        Setting::Counted(name, count) => self.judge_counter(name, *count, event.line)?,
                        _ => {}
                    }
                }
                self.sockets.follow_sysctls(&self.host);
                let Host { accecn, is_device_full, invalid_ratelimit, .. } = self.host;
                for link in &mut self.sockets.links {
                    // Linux reads these when a segment is sent; the others, when a connection begins.
                    link.socket.configure_host(|host| {
                        (host.accecn, host.is_device_full) = (accecn, is_device_full);
                        host.invalid_ratelimit = invalid_ratelimit;
                    });
                }
            }
            Action::Code(code) => {
                self.advance(Self::at(from), false, event.line)?;
                self.code(code, event.line)?;
            }
        }
        Ok(())
    }

    /// `nstat` shows what the counters have counted since it did last.
    fn show_counters(&mut self, begins: bool) {
        let infos = self.sockets.links.iter().map(|link| link.socket.info(self.now));
        let counts = infos.map(|info| [info.out_of_window_icmps, info.beyond_window]);
        let total = counts.fold([0; 2], |sum, of| [sum[0] + of[0], sum[1] + of[1]]);
        self.shown = [total[0] - self.counted[0], total[1] - self.counted[1]];
        if begins {
            self.counted = total;
        }
    }

    fn judge_counter(&self, name: &str, wanted: Option<u64>, line: usize) -> Result<(), End> {
        let place = support::COUNTERS.iter().position(|counter| *counter == name);
        let actual = place.map_or(0, |place| self.shown[place]);
        if wanted.map_or(actual > 0, |wanted| wanted == actual) {
            return Ok(());
        }
        Err(End::Failed(Difference {
            line,
            what: format!("the counter {name} differs"),
            script: wanted.map_or("more than 0".to_owned(), |wanted| wanted.to_string()),
            actual: actual.to_string(),
        }))
    }

    /// Time goes on to `to`, or until a packet is sent if `stops`.
    fn advance(&mut self, to: Nanos, stops: bool, line: usize) -> Result<(), End> {
        self.flush()?;
        for _ in 0..MOST_TIMERS {
            if stops && !self.sent.is_empty() {
                return Ok(());
            }
            let Some(at) = self.next_timer().filter(|&at| at <= to) else {
                self.now = self.now.max(to);
                return Ok(());
            };
            self.now = self.now.max(at);
            for link in &mut self.sockets.links {
                link.socket.on_timer(self.now);
            }
            self.flush()?;
        }
        Err(End::Lacks(line, format!("more than {MOST_TIMERS} timers between two events")))
    }

    /// The next timer of a socket, or the end of a call that waits for a time.
    fn next_timer(&self) -> Option<Nanos> {
        let timers = self.sockets.links.iter().filter_map(|link| link.socket.next_timer());
        let end = self.waiting.as_ref().and_then(|waiting| {
            let end = waiting.began + Span::from_millis(ready::timeout(&waiting.call)?.min(1 << 32));
            (end > self.now).then_some(end)
        });
        timers.chain(end).min()
    }

    /// Takes what the sockets send, and lets a waiting call try again.
    fn flush(&mut self) -> Result<(), End> {
        loop {
            for (number, link) in self.sockets.links.iter_mut().enumerate() {
                while let Some(packet) = link.socket.poll_transmit(self.now) {
                    let at = packet.leaves.unwrap_or(self.now);
                    self.sent.push_back(Outbound { link: number, at, packet });
                }
                if let Some(granted) = link.socket.take_granted() {
                    self.sockets.peer.learn(&granted);
                }
            }
            let Some(waiting) = &self.waiting else { return Ok(()) };
            let waited = self.now.since(waiting.began);
            self.sockets.tolerance = self.tolerance.0;
            let answer = self.sockets.call(self.now, &waiting.call, &self.host, Some(waited));
            if answer == Answer::Blocks {
                return Ok(());
            }
            if let Some(waiting) = self.waiting.take() {
                self.judge_call(&waiting.call, &answer, waiting.line)?;
                self.judge_return(&waiting)?;
            }
        }
    }

    fn judge_return(&self, waiting: &Waiting) -> Result<(), End> {
        let Some(until) = waiting.until else { return Ok(()) };
        let (at, began) = (self.micros(self.now), self.micros(waiting.began));
        let slack = self.tolerance.0.max((until - began).max(0) * self.tolerance.1 / 1000);
        if (at - until).abs() <= slack {
            return Ok(());
        }
        Err(End::Failed(Difference {
            line: waiting.line,
            what: format!("the call returns at the wrong time: {}", off(at - until)),
            script: format!("{} {}", seconds(until), waiting.call),
            actual: format!("{} {}", seconds(at), waiting.call),
        }))
    }

    fn begin_call(&mut self, call: &Call, until: Option<i64>, line: usize) -> Result<(), End> {
        self.sockets.tolerance = self.tolerance.0;
        let answer = self.sockets.call(self.now, call, &self.host, None);
        let waiting = Waiting { line, call: call.clone(), until, began: self.now };
        if answer == Answer::Blocks {
            self.waiting = Some(waiting);
            self.flush()?;
            if until.is_none() {
                self.finish_call()?;
            }
        } else {
            self.judge_call(call, &answer, line)?;
            self.judge_return(&waiting)?;
            self.flush()?;
        }
        self.now += STEP;
        Ok(())
    }

    /// Waits for a call to return.
    fn finish_call(&mut self) -> Result<(), End> {
        let Some(waiting) = self.waiting.clone() else { return Ok(()) };
        let last = waiting.until.map_or(self.micros(self.now) + PATIENCE, |until| {
            let wait = (until - self.micros(waiting.began)).max(0);
            until + self.tolerance.0.max(wait * self.tolerance.1 / 1000)
        });
        while self.waiting.is_some() && self.micros(self.now) < last {
            let next = self.next_timer().unwrap_or(Self::at(last)).min(Self::at(last));
            self.advance(next.max(self.now), false, waiting.line)?;
            if next <= self.now && self.micros(self.now) >= last {
                break;
            }
        }
        if self.waiting.is_none() {
            return Ok(());
        }
        Err(End::Failed(Difference {
            line: waiting.line,
            what: "the call does not return".to_owned(),
            script: waiting.call.to_string(),
            actual: String::new(),
        }))
    }

    fn judge_call(&self, call: &Call, answer: &Answer, line: usize) -> Result<(), End> {
        let actual = match answer {
            Answer::Lacks(reason) => return Err(End::Lacks(line, reason.clone())),
            Answer::Value(value) => match call.result {
                Expr::Any => return Ok(()),
                Expr::Number(expected) if expected == *value && call.errno.is_none() => return Ok(()),
                _ => value.to_string(),
            },
            Answer::Error(error) => {
                let is_same = |name: &str| name == *error || (name, *error) == ("EWOULDBLOCK", "EAGAIN");
                if call.result == Expr::Number(-1) && call.errno.as_deref().is_none_or(is_same) {
                    return Ok(());
                }
                format!("-1 {error}")
            }
            Answer::Wrote(expected, actual) => {
                return Err(End::Failed(Difference {
                    line,
                    what: format!("{}() writes something else", call.name),
                    script: expected.clone(),
                    actual: actual.clone(),
                }));
            }
            Answer::Blocks => "it blocks".to_owned(),
        };
        let expected = call.errno.as_ref().map_or(String::new(), |errno| format!(" {errno}"));
        Err(End::Failed(Difference {
            line,
            what: format!("{}() returns something else", call.name),
            script: format!("{}{expected}", call.result),
            actual,
        }))
    }

    fn code(&mut self, code: &str, line: usize) -> Result<(), End> {
        let link = self.sockets.current.and_then(|current| self.sockets.links.get(current));
        let facts = link.map(|link| link.socket.info(self.now));
        let lookup = |name: &str| info::value(facts.as_ref(), name);
        code::run(code, &mut self.values, &lookup).map_err(|error| match error {
            CodeError::Unknown(what) => End::Lacks(line, format!("code: {what}")),
            CodeError::False(what) => End::Failed(Difference {
                line,
                what: "an assertion does not hold".to_owned(),
                script: String::new(),
                actual: what,
            }),
        })
    }

    /// A message of ICMP about a packet of the connection. A path MTU also holds for later connections.
    fn inject_icmp(&mut self, icmp: &Icmp) -> Result<(), End> {
        let Some(message) = support::message(icmp) else { return Ok(()) };
        if let Some(current) = self.sockets.current {
            let link = &mut self.sockets.links[current];
            let seq = link.number(icmp.about.map_or(0, |(start, ..)| start));
            if link.socket.on_icmp(self.now, message, seq)
                && let Message::FragNeeded(mtu) = message
            {
                self.sockets.learn_mtu(&mut self.host, mtu);
            }
        }
        self.flush()?;
        self.now += STEP;
        Ok(())
    }

    fn inject(&mut self, packet: &Packet) -> Result<(), End> {
        let segment = match &packet.body {
            Body::Tcp(segment) => segment,
            Body::Icmp(icmp) => return self.inject_icmp(icmp),
            Body::Other(_) => return Ok(()),
        };
        // No socket has a key, so what is signed is dropped (Linux `tcp_inbound_md5_hash`).
        let is_signed = |option: &TcpOption| matches!(option, TcpOption::Other(name, _) if name == "md5");
        if segment.options.iter().flatten().any(is_signed) {
            self.now += STEP;
            return Ok(());
        }
        let flags = Flags(segment.flags);
        let is_syn = flags.has(Flags::SYN);
        let current = self.sockets.current.filter(|&current| {
            let state = self.sockets.links[current].socket.state();
            let is_gone = matches!(state, State::Close | State::TimeWait);
            // Another connection may begin when the application has left this one.
            let may_begin = !flags.has(Flags::ACK) && self.sockets.listener().is_some();
            !(is_syn
                && (is_gone
                    || (may_begin && (self.sockets.is_left(current) || self.sockets.is_superseded(current)))))
        });
        if let Some(current) = current {
            let link = &mut self.sockets.links[current];
            if is_syn && link.socket.state() == State::SynSent {
                link.set_remote_isn(segment.start);
            }
            let sent = link.injected(segment, packet.ip.ecn, link.socket.progress());
            link.socket.on_packet(self.now, &sent);
        } else {
            self.inject_new(segment, packet);
        }
        self.flush()?;
        self.now += STEP;
        Ok(())
    }

    /// A packet that belongs to no connection.
    fn inject_new(&mut self, segment: &Segment, packet: &Packet) {
        let flags = Flags(segment.flags);
        let opens = flags.has(Flags::SYN) && !flags.has(Flags::ACK) && !flags.has(Flags::RST);
        let listens = self.sockets.listens();
        let listener = if opens { self.sockets.listener() } else { None };
        let mut closed = Socket::connect(&self.host, self.now);
        closed.close(self.now);
        let mut link = Link::stray(closed, segment.start);
        let sent = link.injected(segment, packet.ip.ecn, (0, 0));
        match listener {
            Some((fd, host)) => {
                let socket = Socket::accept(host, self.now, &sent);
                link = Link::new(socket, Some(fd), listens);
                link.set_remote_isn(segment.start);
                self.sockets.current = Some(self.sockets.links.len());
            }
            None => link.socket.on_packet(self.now, &sent),
        }
        self.sockets.links.push(link);
    }

    /// The next packet that was sent, or that is sent by `last`.
    fn next_sent(&mut self, last: i64, line: usize) -> Result<Option<Outbound>, End> {
        loop {
            if self.sent.is_empty() {
                self.advance(Self::at(last).max(self.now), true, line)?;
            }
            let Some(next) = self.sent.pop_front() else { return Ok(None) };
            if next.at > self.now {
                self.advance(next.at.min(Self::at(last)), false, line)?;
            }
            if !self.sockets.is_past(next.link) {
                return Ok(Some(next));
            }
        }
    }

    fn expect(&mut self, packet: &Packet, times: (i64, i64, bool), line: usize) -> Result<(), End> {
        let Body::Tcp(expected) = &packet.body else { return Ok(()) };
        let (from, to, is_any) = times;
        let (early, late) = (from - self.slack(from), to + self.slack(to));
        let script = |time: i64| format!("{} {packet}", seconds(time));
        let Some(mut found) = self.next_sent(late, line)? else {
            return Err(End::Failed(Difference {
                line,
                what: "no packet is sent".to_owned(),
                script: script(from),
                actual: format!("none by {}", seconds(late)),
            }));
        };
        let link = found.link;
        // A packet of the script may stand for several that follow each other, unless segments are strict.
        let begins = self.sockets.links[link].written(&found.packet).start == expected.start;
        while !self.is_strict && begins && found.packet.len > 0 && found.packet.len < expected.len {
            let next = match self.sent.front() {
                Some(next) => *next,
                None => {
                    self.advance(Self::at(late).max(self.now), true, line)?;
                    let Some(next) = self.sent.front() else { break };
                    *next
                }
            };
            let follows = next.packet.seq == found.packet.seq + u64::from(found.packet.len);
            let fits = found.packet.len + next.packet.len <= expected.len;
            if next.link != link || !follows || !fits || next.packet.len == 0 {
                break;
            }
            self.sent.pop_front();
            found.packet.len += next.packet.len;
            // PSH belongs to the end of the data.
            let others = Flags(found.packet.flags.0 & !Flags::PSH.0);
            found.packet.flags = others.with(next.packet.flags);
        }
        if !self.is_strict && begins && found.packet.len > expected.len {
            // The script has the segments of a super-packet one by one, as a device without TSO sends them.
            let mss = self.sockets.links[link].socket.window().map_or(0, |window| window.mss);
            if mss > 0 && expected.len > 0 && expected.len.is_multiple_of(mss) {
                let mut rest = found;
                rest.packet.seq += u64::from(expected.len);
                rest.packet.len -= expected.len;
                self.sent.push_front(rest);
                found.packet.len = expected.len;
                found.packet.flags.0 &= !(Flags::PSH.0 | Flags::FIN.0);
            }
        }
        let tick = self.tick.map(|tick| (tick, self.tolerance.0));
        let at = self.micros(found.at);
        let link = &mut self.sockets.links[link];
        let result = link.compare(expected, packet.ip.ecn, &found.packet, tick);
        let differs = |what: String, written: &Segment| {
            let mut written = Packet { body: Body::Tcp(written.clone()), ..packet.clone() };
            if packet.ip.ecn.is_none() {
                written.ip.ecn = None;
            }
            End::Failed(Difference {
                line,
                what,
                script: script(from),
                actual: format!("{} {written}", seconds(at)),
            })
        };
        let written = link.written(&found.packet);
        if let Err(what) = result {
            return Err(differs(what, &written));
        }
        if !is_any && !(early..=late).contains(&at) {
            let error = if at < early { at - from } else { at - to };
            return Err(differs(format!("the packet is sent at the wrong time: {}", off(error)), &written));
        }
        Ok(())
    }
}

/// A time of the script in seconds.
fn seconds(micros: i64) -> String {
    let sign = if micros < 0 { "-" } else { "" };
    let micros = micros.unsigned_abs();
    format!("{sign}{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

/// How far off a time is.
fn off(micros: i64) -> String {
    let way = if micros < 0 { "early" } else { "late" };
    format!("{} s {way}", seconds(micros.abs()))
}
