//! The kernel's interfaces, addresses and queueing disciplines, over rtnetlink (`rtnetlink(7)`), and its
//! generic families ([`Generic`]) and its connection tracking ([`Tracking`]): requests, their answers, dumps
//! and events. Messages are those of the crates `netlink-packet-route`, `netlink-packet-generic` and
//! `netlink-packet-netfilter`.

mod conntrack;
mod generic;
mod link;

use std::io;

use netlink_packet_core::{
    Emitable, NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NLMSG_DONE, NLMSG_ERROR, NetlinkHeader, NlaBuffer,
    NlasIterator, Parseable,
};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

use crate::{Error, Result};

pub use conntrack::Tracking;
pub use generic::Generic;
pub(crate) use link::{End, Mac, Via};
pub use link::{Interface, UNFINISHED, index, interfaces};

/// The answer has attributes that explain it (`linux/netlink.h`).
const NLM_F_ACK_TLVS: u16 = 0x200;
const NLMSGERR_ATTR_MSG: u16 = 1;
/// Length of `struct nlmsghdr`.
const HEADER: usize = 16;
/// Largest answer: the kernel fills at most 32 KiB of a dump at a time (`netlink_dump`).
const MOST: usize = 1 << 16;

/// A kind of request: its number and its name (`linux/rtnetlink.h`).
pub type Kind = (u16, &'static str);

/// `RTM_NEWLINK`.
pub(crate) const NEW_LINK: Kind = (16, "RTM_NEWLINK");
/// `RTM_DELLINK`.
pub(crate) const DELETE_LINK: Kind = (17, "RTM_DELLINK");
/// `RTM_GETLINK`.
pub(crate) const GET_LINK: Kind = (18, "RTM_GETLINK");
/// `RTM_SETLINK`.
pub(crate) const SET_LINK: Kind = (19, "RTM_SETLINK");
/// `RTM_NEWADDR`.
pub(crate) const NEW_ADDRESS: Kind = (20, "RTM_NEWADDR");
/// `RTM_NEWROUTE`.
pub(crate) const NEW_ROUTE: Kind = (24, "RTM_NEWROUTE");
/// `RTM_NEWNEIGH`.
pub(crate) const NEW_NEIGHBOUR: Kind = (28, "RTM_NEWNEIGH");

/// An rtnetlink connection to the network namespace of the thread that opened it.
pub struct Route(Connection);

impl Route {
    /// Opens a connection.
    ///
    /// # Errors
    /// `System` if the kernel has no more sockets.
    pub fn open() -> Result<Route> {
        Connection::open(NETLINK_ROUTE, "NETLINK_ROUTE").map(Route)
    }

    /// Sends a request of a kind (`RTM_NEWQDISC`) and waits for its acknowledgement. `flags` are those
    /// beyond `NLM_F_REQUEST` and `NLM_F_ACK`; `object` is for the error.
    ///
    /// # Errors
    /// `System` with the kernel's error number, or `Refused` with its explanation too.
    pub fn request(&mut self, kind: Kind, message: &impl Emitable, flags: u16, object: &str) -> Result<()> {
        self.0.request(kind, message, flags, object)
    }

    /// Asks for everything that `message` names, and collects the answers. It leaves out messages that the
    /// crate cannot decode: newer kernels have attributes that the crate does not know.
    ///
    /// # Errors
    /// `System` with the kernel's error number.
    pub fn dump<T: Parseable<[u8]>>(&mut self, kind: Kind, message: &impl Emitable) -> Result<Vec<T>> {
        self.0.dump(kind, message, "", |bytes| T::parse(bytes).ok())
    }
}

/// A netlink socket, of any protocol.
#[derive(Debug)]
struct Connection {
    socket: Socket,
    sequence: u32,
}

impl Connection {
    fn open(protocol: isize, name: &str) -> Result<Connection> {
        let open = || {
            let mut socket = Socket::new(protocol)?;
            socket.bind_auto()?;
            socket.connect(&SocketAddr::new(0, 0))?;
            // Answers give the reason as text, and do not repeat the request.
            socket.set_ext_ack(true)?;
            socket.set_cap_ack(true)?;
            Ok(socket)
        };
        let socket = open().map_err(|error| Error::io("socket", name, error))?;
        Ok(Connection { socket, sequence: 0 })
    }

    fn request(&mut self, kind: Kind, message: &impl Emitable, flags: u16, object: &str) -> Result<()> {
        let failed = |error| Error::io(kind.1, object, error);
        self.send(kind, message, NLM_F_REQUEST | NLM_F_ACK | flags).map_err(failed)?;
        loop {
            let answer = self.receive().map_err(failed)?;
            let Some(answer) = messages(&answer).find_map(|message| Answer::of(message, self.sequence))
            else {
                continue;
            };
            let source = io::Error::from_raw_os_error(answer.code.saturating_neg());
            return match answer.why {
                _ if answer.code == 0 => Ok(()),
                None => Err(failed(source)),
                Some(why) => {
                    Err(Error::Refused { operation: kind.1, object: object.to_owned(), why, source })
                }
            };
        }
    }

    /// Collects what `parse` makes of each answer, without its netlink header.
    fn dump<T>(
        &mut self,
        kind: Kind,
        message: &impl Emitable,
        object: &str,
        parse: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<Vec<T>> {
        let failed =
            |code: i32| Err(Error::io(kind.1, object, io::Error::from_raw_os_error(code.saturating_neg())));
        let broken = |error| Error::io(kind.1, object, error);
        self.send(kind, message, NLM_F_REQUEST | NLM_F_DUMP).map_err(broken)?;
        let mut all = Vec::new();
        loop {
            let answer = self.receive().map_err(broken)?;
            for bytes in messages(&answer) {
                match Answer::of(bytes, self.sequence) {
                    Some(Answer { code, .. }) if code != 0 => return failed(code),
                    _ if sequence_of(bytes) != self.sequence => {}
                    _ if kind_of(bytes) == NLMSG_DONE => {
                        // A dump that ends early says why (`netlink_dump`).
                        return match code_of(bytes) {
                            Some(code) if code < 0 => failed(code),
                            _ => Ok(all),
                        };
                    }
                    _ => all.extend(parse(&bytes[HEADER..])),
                }
            }
        }
    }

    fn send(&mut self, kind: Kind, message: &impl Emitable, flags: u16) -> io::Result<()> {
        self.sequence += 1;
        let length = HEADER + message.buffer_len();
        let mut header = NetlinkHeader::default();
        header.length = u32::try_from(length).unwrap_or(u32::MAX);
        header.message_type = kind.0;
        header.flags = flags;
        header.sequence_number = self.sequence;
        let mut bytes = vec![0; length];
        header.emit(&mut bytes[..HEADER]);
        message.emit(&mut bytes[HEADER..]);
        self.socket.send(&bytes, 0).map(|_| ())
    }

    fn receive(&self) -> io::Result<Vec<u8>> {
        let mut answer = Vec::with_capacity(MOST);
        loop {
            match self.socket.recv(&mut answer, 0) {
                Ok(_) => return Ok(answer),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// The messages of one answer; each starts with its length. They end at the first that is too short.
fn messages(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let length = u32::from_ne_bytes(rest.get(..4)?.try_into().ok()?) as usize;
        let message = rest.get(..length.max(HEADER))?;
        rest = rest.get(length.max(HEADER).next_multiple_of(4)..).unwrap_or_default();
        Some(message)
    })
}

/// The type of a whole message.
fn kind_of(message: &[u8]) -> u16 {
    u16::from_ne_bytes([message[4], message[5]])
}

/// The number of the request that a whole message answers.
fn sequence_of(message: &[u8]) -> u32 {
    u32::from_ne_bytes([message[8], message[9], message[10], message[11]])
}

/// The number after the header of a whole message, if it has one.
fn code_of(message: &[u8]) -> Option<i32> {
    Some(i32::from_ne_bytes(message.get(HEADER..HEADER + 4)?.try_into().ok()?))
}

/// The kernel's answer to a request (`struct nlmsgerr`).
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    /// 0, or the negative error number.
    code: i32,
    /// The reason as text (`NLMSGERR_ATTR_MSG`).
    why: Option<String>,
}

impl Answer {
    /// The answer to request `sequence`; `None` if `message` is something else.
    fn of(message: &[u8], sequence: u32) -> Option<Answer> {
        let short = |at: usize| Some(u16::from_ne_bytes(message.get(at..at + 2)?.try_into().ok()?));
        if message.len() < HEADER || kind_of(message) != NLMSG_ERROR || sequence_of(message) != sequence {
            return None;
        }
        let code = code_of(message)?;
        // After the code comes the header of the request, without its attributes (`NETLINK_CAP_ACK`).
        let attributes =
            message.get(HEADER + 4 + HEADER..).filter(|_| short(6).unwrap_or(0) & NLM_F_ACK_TLVS != 0);
        let text = |nla: NlaBuffer<&[u8]>| {
            let bytes = nla.value().strip_suffix(&[0]).unwrap_or(nla.value());
            (nla.kind() == NLMSGERR_ATTR_MSG).then(|| String::from_utf8_lossy(bytes).into_owned())
        };
        let why = NlasIterator::new(attributes.unwrap_or_default()).filter_map(|nla| nla.ok()).find_map(text);
        Some(Answer { code, why })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An acknowledgement with error `code` to request `number`, and the attributes `why`.
    fn answer(number: u32, code: i32, why: &[u8]) -> Vec<u8> {
        let length = u32::try_from(36 + why.len()).unwrap();
        let flags = if why.is_empty() { 0 } else { NLM_F_ACK_TLVS };
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend_from_slice(&NLMSG_ERROR.to_ne_bytes());
        bytes.extend_from_slice(&flags.to_ne_bytes());
        bytes.extend_from_slice(&number.to_ne_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&code.to_ne_bytes());
        bytes.extend_from_slice(&[0; 16]);
        bytes.extend_from_slice(why);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn the_answer_is_found_among_others_and_garbage_is_ignored() {
        let both = [answer(3, -17, &[]), answer(4, -1, &[])].concat();
        let found = |bytes: &[u8], number| messages(bytes).find_map(|message| Answer::of(message, number));
        assert_eq!(found(&both, 4), Some(Answer { code: -1, why: None }));
        assert_eq!(found(&both, 5), None);
        assert_eq!(found(&both[..50], 4), None);
        assert_eq!(found(&[0; 40], 1), None);
        assert_eq!(found(&[0xff; 40], 1), None);
    }

    #[test]
    fn the_kernel_explains_an_error_in_words() {
        // A cookie (3), then the text.
        let attributes = [8, 0, 3, 0, 1, 2, 3, 4, 9, 0, 1, 0, b'n', b'o', b'n', b'e', 0];
        let bytes = answer(7, -2, &attributes);
        let why = messages(&bytes).find_map(|message| Answer::of(message, 7));
        assert_eq!(why, Some(Answer { code: -2, why: Some("none".into()) }));
    }
}
