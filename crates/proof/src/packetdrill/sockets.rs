//! The sockets of the application that a script plays, and the connections behind them.

use std::collections::{BTreeMap, BTreeSet};

use goodqueue_sim::tcp::{Host, Socket};

use super::cookies::{Addresses, Peer};
use super::link::Link;
use super::ready::Epolls;

/// The bits of `tcp_fastopen` that `TCP_FASTOPEN_NO_COOKIE` sets for a socket: neither side needs a cookie.
pub(super) const NO_COOKIE: u32 = 0x204;

/// What a descriptor refers to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// A socket that is neither connected nor listening.
    Fresh,
    Listening,
    /// A connection, by its number.
    Connected(usize),
}

/// A socket of the application.
#[derive(Clone, Debug)]
pub(super) struct Descriptor {
    pub(super) kind: Kind,
    pub(super) host: Host,
    pub(super) is_nonblocking: bool,
    /// `SO_LINGER` with a time of zero: close resets.
    pub(super) resets: bool,
    /// `TCP_INQ`: `recvmsg` says how much is left.
    pub(super) tells_inq: bool,
    /// `SO_ZEROCOPY`: `MSG_ZEROCOPY` has an effect.
    pub(super) zero_copy: bool,
    /// `TCP_CORK`.
    pub(super) is_corked: bool,
    /// `TCP_NOTSENT_LOWAT`; 0: what the sysctl says.
    pub(super) notsent_lowat: u32,
    /// `TCP_QUICKACK` was set to 0 before the connection.
    pub(super) delays_acks: bool,
    /// `TCP_FASTOPEN_CONNECT`, and a SYN that waits for data.
    pub(super) fast_connect: bool,
    pub(super) is_deferred: bool,
    /// `TCP_FASTOPEN_NO_COOKIE`.
    pub(super) no_cookie: bool,
    /// `SO_RCVLOWAT`, bytes.
    pub(super) rcvlowat: u64,
    /// The connection was reported as complete.
    pub(super) is_reported: bool,
    pub(super) backlog: usize,
    /// Number of the call of `listen`.
    pub(super) listening: u64,
}

impl Descriptor {
    /// How much may be unsent (`tcp.h:tcp_notsent_lowat`).
    pub(super) fn lowat(&self) -> u32 {
        if self.notsent_lowat == 0 { self.host.notsent_lowat } else { self.notsent_lowat }
    }

    /// A connection begins: it has what was set on the socket before.
    pub(super) fn hand_on(&self, socket: &mut Socket) {
        socket.notsent_lowat = self.lowat();
        socket.set_cork(self.is_corked);
        socket.waits_to_ack = self.delays_acks || self.host.defer_accept > 0;
    }
}

/// The sockets of the application, and the connections behind them.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    pub(super) descriptors: BTreeMap<i64, Descriptor>,
    pub(super) links: Vec<Link>,
    /// The connection that packets and assertions are about.
    pub(super) current: Option<usize>,
    pub(super) epolls: Epolls,
    /// Files that were opened for `sendfile`.
    pub(super) files: BTreeSet<i64>,
    /// Bytes that the call that waits has written.
    pub(super) progress: u64,
    /// Calls of `listen` so far.
    pub(super) listens: u64,
    /// What is known of the peer for Fast Open.
    pub(super) peer: Peer,
    pub(super) addresses: Addresses,
    /// Microseconds that a time stamp may be off.
    pub(super) tolerance: i64,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// It returned this.
    Value(i64),
    /// It failed with this error.
    Error(&'static str),
    /// It waits.
    Blocks,
    /// The model has no answer: what it lacks.
    Lacks(String),
    /// It returned what it should, but not what it should have written: expected and actual.
    Wrote(String, String),
}

impl Sockets {
    pub(super) fn kind(&self, fd: i64) -> Option<Kind> {
        self.descriptors.get(&fd).map(|descriptor| descriptor.kind)
    }

    pub(super) fn set_kind(&mut self, fd: i64, kind: Kind) {
        if let Some(descriptor) = self.descriptors.get_mut(&fd) {
            descriptor.kind = kind;
            descriptor.is_deferred = false;
        }
    }

    pub(super) fn host(&self, fd: i64) -> Option<Host> {
        self.descriptors.get(&fd).map(|descriptor| descriptor.host)
    }

    /// Whether the SYN of a descriptor waits for data.
    pub(super) fn is_deferred(&self, fd: i64) -> bool {
        self.descriptors.get(&fd).is_some_and(|descriptor| descriptor.is_deferred)
    }

    /// Whether the application knows that the connection is complete; it does from now on.
    pub(super) fn is_reported(&mut self, fd: i64) -> bool {
        let descriptor = self.descriptors.get_mut(&fd);
        descriptor.is_none_or(|descriptor| core::mem::replace(&mut descriptor.is_reported, true))
    }

    pub(super) fn has(&self, fd: i64) -> bool {
        self.descriptors.contains_key(&fd)
    }

    /// The path takes packets of at most `mtu` bytes: this holds for the sockets that are there and for those
    /// to come.
    pub(super) fn learn_mtu(&mut self, host: &mut Host, mtu: u32) {
        let hosts = self.descriptors.values_mut().map(|descriptor| &mut descriptor.host);
        for host in hosts.chain([host]) {
            host.lower_mtu(mtu);
        }
    }

    /// The connection of a descriptor, if it has one.
    pub(super) fn link(&mut self, fd: i64) -> Option<&mut Link> {
        match self.descriptors.get(&fd)?.kind {
            Kind::Connected(number) => self.links.get_mut(number),
            Kind::Fresh | Kind::Listening => None,
        }
    }

    /// The listening socket that a SYN comes to, with its settings.
    pub(super) fn listener(&self) -> Option<(i64, &Host)> {
        let (fd, listening) =
            self.descriptors.iter().find(|(_, descriptor)| matches!(descriptor.kind, Kind::Listening))?;
        let waiting =
            self.links.iter().filter(|link| link.listener == Some(*fd) && !link.is_accepted).count();
        (waiting <= listening.backlog).then_some((*fd, &listening.host))
    }

    /// Whether a SYN begins a connection with a socket that listens since after this connection began.
    pub(super) fn is_superseded(&self, number: usize) -> bool {
        let newest = self.listener().and_then(|(fd, _)| self.descriptors.get(&fd));
        newest.is_some_and(|newest| newest.listening > self.links[number].listens)
    }

    /// The calls of `listen` so far, for [`Link::listens`].
    pub(super) fn listens(&self) -> u64 {
        self.listens
    }

    /// Whether the application has closed this connection.
    pub(super) fn is_left(&self, number: usize) -> bool {
        let is_open =
            self.descriptors.values().any(|open| matches!(open.kind, Kind::Connected(of) if of == number));
        self.links[number].is_accepted && !is_open
    }

    /// Whether another connection has begun since: the script is about that one.
    pub(super) fn is_past(&self, number: usize) -> bool {
        self.current.is_some_and(|current| number < current) && !self.links[number].is_stray
    }

    /// Sysctls that Linux reads when they are used, not when a socket is made.
    pub(super) fn follow_sysctls(&mut self, now: &Host) {
        for Descriptor { host, no_cookie, .. } in self.descriptors.values_mut() {
            host.fast_open.mode = now.fast_open.mode | if *no_cookie { NO_COOKIE } else { 0 };
            (host.tcp.timestamps, host.tcp.ecn) = (now.tcp.timestamps, now.tcp.ecn);
            (host.asks_ecn, host.accecn, host.sack) = (now.asks_ecn, now.accecn, now.sack);
            (host.window_scaling, host.syncookies) = (now.window_scaling, now.syncookies);
            (host.syn_linear_timeouts, host.synack_retries) = (now.syn_linear_timeouts, now.synack_retries);
            (host.is_device_full, host.has_fq) = (now.is_device_full, now.has_fq);
            (host.invalid_ratelimit, host.notsent_lowat) = (now.invalid_ratelimit, now.notsent_lowat);
        }
        for descriptor in self.descriptors.values() {
            if let Kind::Connected(number) = descriptor.kind {
                self.links[number].socket.notsent_lowat = descriptor.lowat();
            }
        }
    }
}
