//! The rtnetlink messages that a lab needs, written by hand (`rtnetlink(7)`, `linux/if_link.h`,
//! `linux/veth.h`, `linux/neighbour.h`): pure encoding, no system call.

use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

use crate::Result;
use crate::sys::netlink::Socket;

const RTM_NEWLINK: u16 = 16;
const RTM_DELLINK: u16 = 17;
const RTM_NEWADDR: u16 = 20;
const RTM_NEWNEIGH: u16 = 28;

const NLM_F_REQUEST: u16 = 0x1;
const NLM_F_ACK: u16 = 0x4;
const NLM_F_EXCL: u16 = 0x200;
const NLM_F_CREATE: u16 = 0x400;
const NLMSG_ERROR: u16 = 2;

const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;

const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const IFA_FLAGS: u16 = 8;
/// No duplicate address detection: the address is usable at once.
const IFA_F_NODAD: u32 = 0x02;

const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;
const NUD_PERMANENT: u16 = 0x80;

const IFF_UP: u32 = 0x1;
const AF_UNSPEC: u8 = 0;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;

/// An Ethernet address.
pub(crate) type Mac = [u8; 6];

/// One end of a veth pair.
pub(crate) struct End<'a> {
    pub(crate) name: &'a str,
    pub(crate) mac: Mac,
    pub(crate) mtu: u32,
}

/// The error number (zero or negative) in the kernel's answer to request `sequence`; `None` if `answer` has
/// no answer to it.
pub(crate) fn acknowledgement(answer: &[u8], sequence: u32) -> Option<i32> {
    let mut rest = answer;
    loop {
        let length = u32::from_ne_bytes(rest.get(0..4)?.try_into().ok()?) as usize;
        let kind = u16::from_ne_bytes(rest.get(4..6)?.try_into().ok()?);
        let number = u32::from_ne_bytes(rest.get(8..12)?.try_into().ok()?);
        if kind == NLMSG_ERROR && number == sequence {
            return Some(i32::from_ne_bytes(rest.get(16..20)?.try_into().ok()?));
        }
        rest = rest.get(align(length.max(16))..)?;
    }
}

const fn align(length: usize) -> usize {
    (length + 3) & !3
}

/// A message under construction.
struct Message {
    bytes: Vec<u8>,
}

impl Message {
    fn new(kind: u16, flags: u16, sequence: u32) -> Message {
        let mut bytes = Vec::with_capacity(256);
        bytes.extend_from_slice(&0_u32.to_ne_bytes());
        bytes.extend_from_slice(&kind.to_ne_bytes());
        bytes.extend_from_slice(&(NLM_F_REQUEST | NLM_F_ACK | flags).to_ne_bytes());
        bytes.extend_from_slice(&sequence.to_ne_bytes());
        bytes.extend_from_slice(&0_u32.to_ne_bytes());
        Message { bytes }
    }

    /// `struct ifinfomsg`.
    fn link_header(&mut self, index: u32, flags: u32, change: u32) {
        self.bytes.extend_from_slice(&[AF_UNSPEC, 0, 0, 0]);
        for word in [index, flags, change] {
            self.bytes.extend_from_slice(&word.to_ne_bytes());
        }
    }

    fn attribute(&mut self, kind: u16, value: &[u8]) {
        let at = self.open(kind);
        self.bytes.extend_from_slice(value);
        self.close(at);
    }

    fn text(&mut self, kind: u16, value: &str) {
        let at = self.open(kind);
        self.bytes.extend_from_slice(value.as_bytes());
        self.bytes.push(0);
        self.close(at);
    }

    /// Begins an attribute that may contain others.
    fn open(&mut self, kind: u16) -> usize {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(&0_u16.to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        at
    }

    /// Ends the attribute begun at `at`: writes its length, pads to four bytes.
    fn close(&mut self, at: usize) {
        let length = self.bytes.len() - at;
        // No attribute of a lab is near 64 KiB.
        #[allow(clippy::cast_possible_truncation)]
        let short = length as u16;
        self.bytes[at..at + 2].copy_from_slice(&short.to_ne_bytes());
        self.bytes.resize(align(self.bytes.len()), 0);
    }

    fn finish(mut self) -> Vec<u8> {
        #[allow(clippy::cast_possible_truncation)]
        let length = self.bytes.len() as u32;
        self.bytes[0..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes
    }
}

fn family_and_bytes(address: IpAddr) -> (u8, Vec<u8>) {
    match address {
        IpAddr::V4(v4) => (AF_INET, v4.octets().to_vec()),
        IpAddr::V6(v6) => (AF_INET6, v6.octets().to_vec()),
    }
}

/// An rtnetlink connection to the namespace of the thread that opened it.
pub(crate) struct Route {
    socket: Socket,
    sequence: u32,
}

impl Route {
    pub(crate) fn open() -> Result<Route> {
        Ok(Route { socket: Socket::open()?, sequence: 0 })
    }

    fn begin(&mut self, kind: u16, flags: u16) -> Message {
        self.sequence += 1;
        Message::new(kind, flags, self.sequence)
    }

    fn send(&self, message: Message, operation: &'static str, object: &str) -> Result<()> {
        self.socket.transact(&message.finish(), self.sequence, operation, object)
    }

    /// Creates a veth pair with `near` here and `far` in the namespace `namespace`; both are down.
    pub(crate) fn add_veth(
        &mut self,
        near: &End<'_>,
        far: &End<'_>,
        namespace: BorrowedFd<'_>,
    ) -> Result<()> {
        let mut message = self.begin(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
        message.link_header(0, 0, 0);
        message.text(IFLA_IFNAME, near.name);
        message.attribute(IFLA_ADDRESS, &near.mac);
        message.attribute(IFLA_MTU, &near.mtu.to_ne_bytes());
        let info = message.open(IFLA_LINKINFO);
        message.attribute(IFLA_INFO_KIND, b"veth");
        let data = message.open(IFLA_INFO_DATA);
        let peer = message.open(VETH_INFO_PEER);
        message.link_header(0, 0, 0);
        message.text(IFLA_IFNAME, far.name);
        message.attribute(IFLA_ADDRESS, &far.mac);
        message.attribute(IFLA_MTU, &far.mtu.to_ne_bytes());
        message.attribute(IFLA_NET_NS_FD, &namespace.as_raw_fd().to_ne_bytes());
        message.close(peer);
        message.close(data);
        message.close(info);
        self.send(message, "RTM_NEWLINK veth", near.name)
    }

    /// Brings interface `index` up.
    pub(crate) fn set_up(&mut self, index: u32, name: &str) -> Result<()> {
        let mut message = self.begin(RTM_NEWLINK, 0);
        message.link_header(index, IFF_UP, IFF_UP);
        self.send(message, "RTM_NEWLINK up", name)
    }

    /// Deletes interface `index`, and with it the other end of a veth pair.
    pub(crate) fn delete_link(&mut self, index: u32, name: &str) -> Result<()> {
        let mut message = self.begin(RTM_DELLINK, 0);
        message.link_header(index, 0, 0);
        self.send(message, "RTM_DELLINK", name)
    }

    /// Adds an address to interface `index` that is usable at once.
    pub(crate) fn add_address(&mut self, index: u32, address: IpAddr, prefix: u8) -> Result<()> {
        let (family, bytes) = family_and_bytes(address);
        let mut message = self.begin(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
        message.bytes.extend_from_slice(&[family, prefix, 0, 0]);
        message.bytes.extend_from_slice(&index.to_ne_bytes());
        message.attribute(IFA_LOCAL, &bytes);
        message.attribute(IFA_ADDRESS, &bytes);
        if family == AF_INET6 {
            message.attribute(IFA_FLAGS, &IFA_F_NODAD.to_ne_bytes());
        }
        self.send(message, "RTM_NEWADDR", &address.to_string())
    }

    /// Adds a permanent neighbour entry to interface `index`: `address` is at `mac`.
    pub(crate) fn add_neighbour(&mut self, index: u32, address: IpAddr, mac: Mac) -> Result<()> {
        let (family, bytes) = family_and_bytes(address);
        let mut message = self.begin(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_EXCL);
        message.bytes.extend_from_slice(&[family, 0, 0, 0]);
        message.bytes.extend_from_slice(&index.to_ne_bytes());
        message.bytes.extend_from_slice(&NUD_PERMANENT.to_ne_bytes());
        message.bytes.extend_from_slice(&[0, 0]);
        message.attribute(NDA_DST, &bytes);
        message.attribute(NDA_LLADDR, &mac);
        self.send(message, "RTM_NEWNEIGH", &address.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_nest_and_are_padded_to_four_bytes() {
        let mut message = Message::new(RTM_NEWLINK, 0, 7);
        message.link_header(0, 0, 0);
        let outer = message.open(IFLA_LINKINFO);
        message.text(IFLA_INFO_KIND, "veth");
        message.close(outer);
        let bytes = message.finish();
        assert_eq!(bytes.len(), 16 + 16 + 4 + 12);
        assert_eq!(u32::from_ne_bytes(bytes[0..4].try_into().unwrap()), 48);
        assert_eq!(u16::from_ne_bytes(bytes[32..34].try_into().unwrap()), 16, "padding inside counts");
        assert_eq!(u16::from_ne_bytes(bytes[36..38].try_into().unwrap()), 9, "own padding does not");
    }

    #[test]
    fn the_answer_is_found_among_others_and_garbage_is_ignored() {
        let mut answer = Vec::new();
        for (number, code) in [(3_u32, -17_i32), (4, -1)] {
            answer.extend_from_slice(&36_u32.to_ne_bytes());
            answer.extend_from_slice(&NLMSG_ERROR.to_ne_bytes());
            answer.extend_from_slice(&[0, 0]);
            answer.extend_from_slice(&number.to_ne_bytes());
            answer.extend_from_slice(&[0; 4]);
            answer.extend_from_slice(&code.to_ne_bytes());
            answer.extend_from_slice(&[0; 16]);
        }
        assert_eq!(acknowledgement(&answer, 4), Some(-1));
        assert_eq!(acknowledgement(&answer, 5), None);
        assert_eq!(acknowledgement(&answer[..50], 4), None);
        assert_eq!(acknowledgement(&[0; 40], 1), None);
    }
}
