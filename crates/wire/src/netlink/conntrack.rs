//! What connection tracking reports about the connections of this machine (`linux/netfilter/nfnetlink.h`,
//! `linux/netfilter/nfnetlink_conntrack.h`): a list of all of them, then each one that is new or gone.

use std::os::fd::AsFd;
use std::{fs, io};

use goodqueue::{Direction, Nanos, Span};
use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NLMSG_DONE};
use netlink_packet_netfilter::conntrack::ConntrackMessage;
use netlink_packet_netfilter::{NetfilterHeader, NetfilterMessage, NetfilterProtoFamily};
use netlink_sys::protocols::NETLINK_NETFILTER;

use super::{Answer, Connection, HEADER, Kind, MOST, code_of, kind_of, messages, sequence_of};
use crate::frame;
use crate::nat::{Inside, Translations};
use crate::sys::{set_receive_buffer, thread};
use crate::{Error, Result};

/// Subsystem `NFNL_SUBSYS_CTNETLINK` in the high byte.
const GET: Kind = (0x0101, "IPCTNL_MSG_CT_GET");
/// `NFNLGRP_CONNTRACK_NEW` and `NFNLGRP_CONNTRACK_DESTROY`.
const GROUPS: [u32; 2] = [1, 3];
/// Whether the kernel sends events: 0 never, 1 always, 2 once there is a listener
/// (`nf_conntrack_sysctl.rst`).
const EVENTS: &str = "/proc/sys/net/netfilter/nf_conntrack_events";
/// Kernel memory for events that wait: some thousands, at about 1 kB each.
const WAITING: libc::c_int = 4 << 20;
/// Bytes to read at a time, so that a turn of the engine stays short: two parts of a list, or about 200
/// events.
const AT_ONCE: usize = 1 << 16;
/// Time from one list to the next: after lost events, and after too many connections.
const AFTER_LOSS: Span = Span::from_millis(1_000);
const WHEN_CROWDED: Span = Span::from_millis(60_000);

/// A view of connection tracking, in the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct Tracking {
    connection: Connection,
    translations: Translations,
    /// By direction: whether its packets are looked up.
    ways: [bool; 2],
    /// Whether the answer to the latest request is not complete.
    is_listing: bool,
    /// Whether the kernel had no room for an event, so that a new list is needed.
    has_lost: bool,
    /// When the latest list was requested.
    asked: Nanos,
    /// Whether everything has been read that the kernel reported before the latest packets came.
    is_current: bool,
    answer: Vec<u8>,
}

impl Tracking {
    /// Opens a view and reads the list of all connections. `ways`: whether packets must be looked up, up and
    /// down.
    ///
    /// # Errors
    /// `Missing` without CAP_NET_ADMIN, or if the kernel does not track connections or does not report them;
    /// `System` if another call fails.
    pub fn open(ways: [bool; 2]) -> Result<Tracking> {
        let lacks = |error: Error| {
            let codes = [libc::EPROTONOSUPPORT, libc::EINVAL, libc::EOPNOTSUPP];
            let cure = "run it as root; load the module: modprobe nf_conntrack_netlink";
            error.or_missing(&codes, "connection tracking (nf_conntrack_netlink) or CAP_NET_ADMIN", cure)
        };
        let connection = Connection::open(NETLINK_NETFILTER, "NETLINK_NETFILTER").map_err(lacks)?;
        let broken = |error| Error::io("setsockopt", "NETLINK_NETFILTER", error);
        let socket = &connection.socket;
        set_receive_buffer(socket.as_fd(), WAITING).map_err(broken)?;
        for group in GROUPS {
            socket.add_membership(group).map_err(broken).map_err(lacks)?;
        }
        let mut tracking = Tracking {
            connection,
            translations: Translations::default(),
            ways,
            is_listing: false,
            has_lost: false,
            asked: Nanos::ZERO,
            is_current: false,
            answer: Vec::with_capacity(MOST),
        };
        let listed = |error| lacks(Error::io(GET.1, "", error));
        tracking.ask(thread::now()).map_err(listed)?;
        while tracking.is_listing {
            match tracking.receive() {
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => tracking.has_lost = true,
                read => {
                    read.map_err(listed)?;
                }
            }
        }
        // A kernel without the file has no events either (CONFIG_NF_CONNTRACK_EVENTS).
        if fs::read_to_string(EVENTS).map_or(true, |text| text.trim() == "0") {
            return Err(Error::Missing {
                right: "events of connection tracking (nf_conntrack_events)".into(),
                cure: "switch them on: sysctl -w net.netfilter.nf_conntrack_events=1".into(),
            });
        }
        tracking.connection.socket.set_non_blocking(true).map_err(broken)?;
        Ok(tracking)
    }

    /// Another view, in the network namespace of the calling thread.
    pub(crate) fn another(&self) -> Result<Tracking> {
        Tracking::open(self.ways)
    }

    /// Packets have come: reports from before them may still have to be read.
    pub fn packets_came(&mut self) {
        self.is_current = false;
    }

    /// [`Translations::inside`] for a frame of direction `way`; `None` also if that direction is not looked
    /// up. The kernel reports a connection before its first packet leaves. So if a packet belongs to no known
    /// connection, this reads the waiting messages.
    pub fn inside(&mut self, way: Direction, frame: &[u8]) -> Option<Inside> {
        if !self.ways[way as usize] {
            return None;
        }
        let known = self.translations.inside(way, frame);
        let is_v4 = frame::ip(frame).is_some_and(|(_, is_v6)| !is_v6);
        if known.is_some() || self.is_current || !is_v4 {
            return known;
        }
        self.is_current = true;
        self.read();
        self.translations.inside(way, frame)
    }

    /// Reads the waiting messages, and requests a new list if the present one is wrong. Called about 100
    /// times a second.
    pub fn keep_up(&mut self, now: Nanos) {
        self.read();
        let age = now.since(self.asked);
        let is_wrong = self.has_lost && age >= AFTER_LOSS;
        let is_crowded = self.translations.has_overflown() && age >= WHEN_CROWDED;
        if !self.is_listing && (is_wrong || is_crowded) {
            self.has_lost = self.ask(now).is_err();
        }
    }

    /// Reads at most [`AT_ONCE`] bytes, and perhaps one more message.
    fn read(&mut self) {
        let mut left = AT_ONCE;
        while left > 0 {
            match self.receive() {
                Ok(bytes) => left = left.saturating_sub(bytes),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // Events were lost (`netlink(7)`: ENOBUFS), or a list was not completed.
                Err(_) => {
                    self.has_lost = true;
                    return;
                }
            }
        }
    }

    fn ask(&mut self, now: Nanos) -> io::Result<()> {
        let header = NetfilterHeader::new(NetfilterProtoFamily::IPv4, 0, 0);
        let all = NetfilterMessage::new(header, ConntrackMessage::Get(Vec::new()));
        self.asked = now;
        self.connection.send(GET, &all, NLM_F_REQUEST | NLM_F_DUMP)?;
        self.is_listing = true;
        self.translations.begin_list();
        Ok(())
    }

    /// Reads one datagram and takes its contents; returns its length.
    fn receive(&mut self) -> io::Result<usize> {
        self.answer.clear();
        let bytes = loop {
            match self.connection.socket.recv(&mut self.answer, 0) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        let sequence = self.connection.sequence;
        for message in messages(&self.answer) {
            let code = match Answer::of(message, sequence) {
                Some(answer) => answer.code,
                // A list that ends early says why (`netlink_dump`).
                None if kind_of(message) == NLMSG_DONE && sequence_of(message) == sequence => {
                    code_of(message).unwrap_or(0)
                }
                None => {
                    self.translations.take(kind_of(message), &message[HEADER..]);
                    continue;
                }
            };
            self.is_listing = false;
            if code < 0 {
                return Err(io::Error::from_raw_os_error(code.saturating_neg()));
            }
            self.translations.end_list();
        }
        Ok(bytes)
    }
}
