//! What is ready: `poll`, and `epoll` with its edges (Linux `tcp_poll`, `fs/eventpoll.c`).

use std::collections::BTreeMap;

use goodqueue::Span;
use goodqueue_sim::tcp::{State, Wakes};

use super::script::{Call, Expr, has_word, number};
use super::sockets::{Answer, Kind, Sockets};
use Answer::{Blocks, Error, Lacks, Value};

/// A descriptor that an instance of `epoll` watches.
#[derive(Clone, Debug)]
struct Watched {
    fd: i64,
    /// The events that are asked for, without their first letter: `IN`, `OUT`.
    events: Vec<String>,
    /// `EPOLLET`: only after a wake-up.
    is_edge: bool,
    /// `EPOLLONESHOT`.
    is_once: bool,
    /// Its state is to be looked at (it was added or changed).
    is_new: bool,
    /// Wake-ups that were reported.
    seen: Wakes,
}

/// The instances of `epoll`, by descriptor.
pub(super) type Epolls = BTreeMap<i64, Epoll>;

/// An instance of `epoll`.
#[derive(Clone, Debug, Default)]
pub(super) struct Epoll {
    watched: Vec<Watched>,
}

/// The names of events.
const EVENTS: [&str; 8] = ["IN", "PRI", "OUT", "ERR", "HUP", "RDNORM", "WRNORM", "RDHUP"];

/// How long `poll` or `epoll_wait` waits, milliseconds; none: without limit, or it is another call.
pub(super) fn timeout(call: &Call) -> Option<u64> {
    let place = match call.name.as_str() {
        "poll" => 2,
        "epoll_wait" => 3,
        _ => return None,
    };
    u64::try_from(number(call.args.get(place)?)?).ok()
}

/// Whether nothing that is ready ends the call, which began `waited` ago.
fn is_over(call: &Call, waited: Option<Span>) -> bool {
    timeout(call).is_some_and(|most| waited.unwrap_or_default() >= Span::from_millis(most))
}

impl Sockets {
    /// What is ready, for each descriptor.
    pub(super) fn poll(&mut self, call: &Call, waited: Option<Span>) -> Answer {
        let Some(Expr::Array(asked)) = call.args.first() else {
            return Lacks("the arguments of poll()".to_owned());
        };
        let (mut ready, mut wrong) = (0, None);
        for one in asked {
            let Expr::Struct(fields) = one else { return Lacks("the arguments of poll()".to_owned()) };
            let field = |name: &str| fields.iter().find(|(field, _)| field == name).map(|(_, value)| value);
            let Some(fd) = field("fd").and_then(number) else { return Lacks("this poll()".to_owned()) };
            let events = self.events(fd);
            let is_asked = |event: &&str| {
                matches!(*event, "ERR" | "HUP" | "NVAL")
                    || field("events").is_some_and(|asked| has_word(asked, &format!("POLL{event}")))
            };
            let found: Vec<String> =
                events.iter().copied().filter(is_asked).map(|event| format!("POLL{event}")).collect();
            ready += i64::from(!found.is_empty());
            if let Some(expected) = field("revents")
                && !is_set(expected, &found)
            {
                wrong.get_or_insert_with(|| (expected.to_string(), found.join("|")));
            }
        }
        match wrong {
            _ if ready == 0 && !is_over(call, waited) => Blocks,
            Some((expected, actual)) => Answer::Wrote(expected, actual),
            None => Value(ready),
        }
    }

    pub(super) fn epoll_create(&mut self, call: &Call) -> Answer {
        let Some(fd) = number(&call.result).filter(|&fd| fd >= 0) else { return Error("EINVAL") };
        self.epolls.insert(fd, Epoll::default());
        Value(fd)
    }

    pub(super) fn epoll_ctl(&mut self, call: &Call) -> Answer {
        let (Some(at), Some(Expr::Word(what)), Some(fd)) =
            (call.args.first().and_then(number), call.args.get(1), call.args.get(2).and_then(number))
        else {
            return Lacks("the arguments of epoll_ctl()".to_owned());
        };
        let is_there = self.has(fd);
        let seen = self.wakes(fd);
        let Some(epoll) = self.epolls.get_mut(&at).filter(|_| is_there) else { return Error("EBADF") };
        let place = epoll.watched.iter().position(|watched| watched.fd == fd);
        match (what.as_str(), place) {
            ("EPOLL_CTL_DEL", Some(place)) => {
                epoll.watched.remove(place);
                return Value(0);
            }
            ("EPOLL_CTL_ADD", Some(_)) => return Error("EEXIST"),
            ("EPOLL_CTL_DEL" | "EPOLL_CTL_MOD", None) => return Error("ENOENT"),
            _ => {}
        }
        let Some(Expr::Struct(fields)) = call.args.get(3) else {
            return Lacks("this epoll_ctl()".to_owned());
        };
        let Some((_, events)) = fields.iter().find(|(name, _)| name == "events") else {
            return Lacks("this epoll_ctl()".to_owned());
        };
        if let Some((name, data)) = fields.iter().find(|(name, _)| name != "events")
            && (name != "fd" || number(data) != Some(fd))
        {
            return Lacks(format!("epoll_ctl() with {name}={data}"));
        }
        let asked = |event: &&str| has_word(events, &format!("EPOLL{event}"));
        let watched = Watched {
            fd,
            events: EVENTS.into_iter().filter(asked).map(str::to_owned).collect(),
            is_edge: asked(&"ET"),
            is_once: asked(&"ONESHOT"),
            is_new: true,
            seen,
        };
        match place {
            Some(place) => epoll.watched[place] = watched,
            None => epoll.watched.push(watched),
        }
        Value(0)
    }

    /// Every descriptor that is ready, at most as many as the call takes (Linux `ep_send_events`).
    pub(super) fn epoll_wait(&mut self, call: &Call, waited: Option<Span>) -> Answer {
        let Some(at) = call.args.first().and_then(number) else {
            return Lacks("the arguments of epoll_wait()".to_owned());
        };
        let Some(mut epoll) = self.epolls.get(&at).cloned() else { return Error("EBADF") };
        let most = call.args.get(2).and_then(number).and_then(|most| usize::try_from(most).ok());
        let Some(most) = most.filter(|&most| most > 0) else { return Error("EINVAL") };
        let mut found = Vec::new();
        for watched in &mut epoll.watched {
            let wakes = self.wakes(watched.fd);
            let is_woken = watched.is_new || has_woken(watched, &wakes);
            if found.len() == most || watched.events.is_empty() || (watched.is_edge && !is_woken) {
                continue;
            }
            let is_asked = |event: &&str| {
                matches!(*event, "ERR" | "HUP") || watched.events.iter().any(|asked| asked == event)
            };
            let events: Vec<String> = self
                .events(watched.fd)
                .into_iter()
                .filter(is_asked)
                .map(|event| format!("EPOLL{event}"))
                .collect();
            (watched.is_new, watched.seen) = (false, wakes);
            if !events.is_empty() {
                if watched.is_once {
                    watched.events.clear();
                }
                found.push((watched.fd, events));
            }
        }
        if found.is_empty() && !is_over(call, waited) {
            return Blocks;
        }
        self.epolls.insert(at, epoll);
        let expected = match call.args.get(1) {
            Some(Expr::Array(items)) => items.clone(),
            Some(one) => vec![one.clone()],
            None => Vec::new(),
        };
        let is_same = found.iter().zip(&expected).all(|((fd, events), expected)| {
            let Expr::Struct(fields) = expected else { return *expected == Expr::Any };
            fields.iter().all(|(name, value)| match name.as_str() {
                "events" => is_set(value, events),
                "fd" => number(value) == Some(*fd),
                _ => *value == Expr::Any,
            })
        });
        if is_same {
            return Value(i64::try_from(found.len()).unwrap_or(i64::MAX));
        }
        let written = |(fd, events): &(i64, Vec<String>)| format!("{{events={}, fd={fd}}}", events.join("|"));
        let actual: Vec<String> = found.iter().map(written).collect();
        let expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
        Answer::Wrote(expected.join(", "), actual.join(", "))
    }

    fn wakes(&self, fd: i64) -> Wakes {
        match self.kind(fd) {
            Some(Kind::Connected(number)) => self.links[number].socket.notices.wakes,
            _ => Wakes {
                input: self.links.iter().filter(|link| link.listener == Some(fd)).count() as u64,
                ..Wakes::default()
            },
        }
    }

    /// What is ready of a descriptor (Linux `tcp_poll`).
    fn events(&mut self, fd: i64) -> Vec<&'static str> {
        let waiting = self.links.iter().any(|link| {
            let is_up = link.socket.state() != State::SynRecv || link.socket.is_fast_open();
            link.listener == Some(fd) && !link.is_accepted && is_up
        });
        let Some(kind) = self.kind(fd) else { return vec!["NVAL"] };
        let rcvlowat = self.descriptors.get(&fd).map_or(1, |descriptor| descriptor.rcvlowat);
        let Kind::Connected(number) = kind else {
            // A socket that is neither connected nor listening is closed (Linux `TCP_CLOSE`).
            return match kind {
                Kind::Fresh if self.is_deferred(fd) => vec!["OUT", "WRNORM"],
                Kind::Fresh => vec!["OUT", "WRNORM", "HUP"],
                _ if waiting => vec!["IN", "RDNORM"],
                _ => Vec::new(),
            };
        };
        let Some(link) = self.links.get_mut(number) else { return Vec::new() };
        let socket = &mut link.socket;
        let mut events = Vec::new();
        if socket.is_fast_open() || !matches!(socket.state(), State::SynSent | State::SynRecv) {
            let (is_read_shut, is_write_shut) = (socket.is_read_shut(), socket.is_write_shut());
            if socket.readable() >= rcvlowat || is_read_shut {
                events.extend(["IN", "RDNORM"]);
            }
            if is_read_shut {
                events.push("RDHUP");
            }
            if is_write_shut || socket.poll_space() {
                events.extend(["OUT", "WRNORM"]);
            }
            if (is_read_shut && is_write_shut) || socket.state() == State::Close {
                events.push("HUP");
            }
        }
        if socket.error().is_some() || !socket.notices.is_empty() {
            events.push("ERR");
        }
        events
    }
}

/// Whether a wake-up since was for what is watched. Errors always are.
fn has_woken(watched: &Watched, now: &Wakes) -> bool {
    let is_watched = |events: &[&str]| watched.events.iter().any(|event| events.contains(&event.as_str()));
    now.error > watched.seen.error
        || (now.input > watched.seen.input && is_watched(&["IN", "RDNORM", "RDHUP"]))
        || (now.output > watched.seen.output && is_watched(&["OUT", "WRNORM"]))
}

/// Whether an expression is just this set of names; 0: none.
fn is_set(expected: &Expr, found: &[String]) -> bool {
    let count = match expected {
        Expr::Any => return true,
        Expr::Or(items) => items.len(),
        Expr::Number(0) => 0,
        _ => 1,
    };
    count == found.len() && found.iter().all(|event| has_word(expected, event))
}
