//! Datagrams with the kernel's information about them: receive and transmit times, marks, addresses.

use std::io;
use std::mem::{size_of, zeroed};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use libc::{c_int, socklen_t};

use super::{check, check_len, get_option, nanos, set_option};
use crate::net::udp::Transmission;

/// A socket address in the kernel's form.
#[derive(Clone, Copy)]
pub(in crate::net) struct SockAddr {
    pub(super) storage: libc::sockaddr_storage,
    pub(super) len: socklen_t,
}

impl SockAddr {
    pub(in crate::net) fn new(addr: SocketAddr) -> SockAddr {
        // SAFETY: all zeros is a valid sockaddr_storage.
        let mut storage: libc::sockaddr_storage = unsafe { zeroed() };
        let at = &raw mut storage;
        let len = match addr {
            SocketAddr::V4(v4) => {
                let address = libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) };
                let sin = at.cast::<libc::sockaddr_in>();
                // SAFETY: a sockaddr_storage is large and aligned enough for a sockaddr_in.
                unsafe {
                    (*sin).sin_family = libc::AF_INET as libc::sa_family_t;
                    (*sin).sin_port = v4.port().to_be();
                    (*sin).sin_addr = address;
                }
                size_of::<libc::sockaddr_in>()
            }
            SocketAddr::V6(v6) => {
                let sin6 = at.cast::<libc::sockaddr_in6>();
                // SAFETY: a sockaddr_storage is large and aligned enough for a sockaddr_in6.
                unsafe {
                    (*sin6).sin6_family = libc::AF_INET6 as libc::sa_family_t;
                    (*sin6).sin6_port = v6.port().to_be();
                    (*sin6).sin6_addr.s6_addr = v6.ip().octets();
                    (*sin6).sin6_scope_id = v6.scope_id();
                }
                size_of::<libc::sockaddr_in6>()
            }
        };
        SockAddr { storage, len: len as socklen_t }
    }

    /// The address, if it is an IP address.
    pub(in crate::net) fn get(&self) -> Option<SocketAddr> {
        let at = &raw const self.storage;
        match c_int::from(self.storage.ss_family) {
            libc::AF_INET => {
                // SAFETY: a sockaddr_storage is large and aligned enough for a sockaddr_in; any bytes are
                // one.
                let sin = unsafe { *at.cast::<libc::sockaddr_in>() };
                let ip = Ipv4Addr::from(sin.sin_addr.s_addr.to_ne_bytes());
                Some(SocketAddrV4::new(ip, u16::from_be(sin.sin_port)).into())
            }
            libc::AF_INET6 => {
                // SAFETY: as above, for a sockaddr_in6.
                let sin6 = unsafe { *at.cast::<libc::sockaddr_in6>() };
                let ip = Ipv6Addr::from(sin6.sin6_addr.s6_addr);
                Some(SocketAddrV6::new(ip, u16::from_be(sin6.sin6_port), 0, sin6.sin6_scope_id).into())
            }
            _ => None,
        }
    }
}

/// A received datagram's data.
pub(in crate::net) struct Datagram {
    /// Bytes received.
    pub(in crate::net) len: usize,
    /// Whether it was longer than the buffer.
    pub(in crate::net) truncated: bool,
    /// The kernel's information about it.
    pub(in crate::net) messages: Messages,
    /// Sender.
    pub(in crate::net) from: SockAddr,
}

/// The contents of control messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::net) struct Messages {
    /// When the kernel received it, `CLOCK_REALTIME`.
    pub(in crate::net) wall: Option<i64>,
    /// ToS byte or traffic class.
    pub(in crate::net) tos: Option<u8>,
    /// TTL or hop limit.
    pub(in crate::net) ttl: Option<u8>,
    /// The address that it was sent to.
    pub(in crate::net) to: Option<IpAddr>,
    /// From the error queue: the datagram (counted from [`stamp_transmissions`] on) to which the time
    /// belongs, and the `SCM_TSTAMP_*` point.
    sent: Option<(u32, u32)>,
    /// The software's time of `SCM_TIMESTAMPING`, `CLOCK_REALTIME`.
    stamp: Option<i64>,
    /// When the interface received or sent it, by the interface's own clock.
    pub(in crate::net) hardware: Option<i64>,
    /// From the error queue: the ICMP message that a datagram has caused.
    icmp: Option<Icmp>,
}

/// An ICMP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::net) struct Icmp {
    /// Its sender.
    pub(in crate::net) from: IpAddr,
    /// Whether it reports that the TTL expired on the way (RFC 792, RFC 4443).
    pub(in crate::net) is_time_exceeded: bool,
}

/// Room for control messages, aligned for their header: two times, an extended error with its address, marks,
/// TTL and the address take 250 bytes on 64-bit.
#[repr(C, align(8))]
struct Control([u8; 320]);

/// Receives a datagram without blocking.
pub(in crate::net) fn receive(fd: BorrowedFd, buf: &mut [u8]) -> io::Result<Datagram> {
    receive_with(fd, buf, 0)
}

/// Takes the next transmit time from the error queue; `None` if the queue is empty.
pub(in crate::net) fn transmitted(fd: BorrowedFd) -> Option<Transmission> {
    loop {
        let messages = receive_with(fd, &mut [], libc::MSG_ERRQUEUE).ok()?.messages;
        if let Some(transmission) = messages.transmission() {
            return Some(transmission);
        }
    }
}

/// `SCM_TSTAMP_SCHED` of `linux/errqueue.h`: before the queue of the interface.
const SCM_TSTAMP_SCHED: u32 = 1;

impl Messages {
    /// The information of an error queue message about a sent datagram. The software's time is valid only at
    /// `SCM_TSTAMP_SCHED`: next to a hardware time, the kernel writes the time of reading
    /// (`Documentation/networking/timestamping.rst`, "false software timestamp").
    pub(in crate::net) fn transmission(&self) -> Option<Transmission> {
        let (number, point) = self.sent?;
        let (wall, hardware) = (self.stamp.filter(|_| point == SCM_TSTAMP_SCHED), self.hardware);
        wall.or(hardware).map(|_| Transmission { number, wall, hardware })
    }
}

/// Takes the next ICMP message from the error queue, with the time when it came (`CLOCK_REALTIME`), and with
/// as much of the payload that caused it as the sender quotes. `None` if the queue is empty.
pub(in crate::net) fn icmp(fd: BorrowedFd, quoted: &mut [u8]) -> Option<(Icmp, Option<i64>, usize)> {
    loop {
        let datagram = receive_with(fd, quoted, libc::MSG_ERRQUEUE).ok()?;
        if let Some(icmp) = datagram.messages.icmp {
            return Some((icmp, datagram.messages.wall, datagram.len));
        }
    }
}

/// Asks for the ICMP messages that datagrams of the socket cause; [`icmp`] reads them (`ip(7)`).
pub(in crate::net) fn receive_icmp(fd: BorrowedFd, v6: bool) -> io::Result<()> {
    let on: c_int = 1;
    if v6 {
        set_option(fd, libc::IPPROTO_IPV6, libc::IPV6_RECVERR, &on)
    } else {
        set_option(fd, libc::IPPROTO_IP, libc::IP_RECVERR, &on)
    }
}

fn receive_with(fd: BorrowedFd, buf: &mut [u8], flags: c_int) -> io::Result<Datagram> {
    let mut control = Control([0; 320]);
    // SAFETY: all zeros is a valid sockaddr_storage and a valid msghdr.
    let (mut storage, mut message): (libc::sockaddr_storage, libc::msghdr) = unsafe { (zeroed(), zeroed()) };
    let mut iov = libc::iovec { iov_base: buf.as_mut_ptr().cast(), iov_len: buf.len() };
    message.msg_name = (&raw mut storage).cast();
    message.msg_namelen = size_of::<libc::sockaddr_storage>() as socklen_t;
    message.msg_iov = &raw mut iov;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len() as _;
    // SAFETY: every pointer in `message` is to a live local or to `buf`, with its length beside it.
    let result = unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT | flags) };
    let len = check_len(result)?;
    #[allow(clippy::unnecessary_cast)]
    let control_len = (message.msg_controllen as usize).min(control.0.len());
    let messages = control_messages(&control.0[..control_len]);
    let from = SockAddr { storage, len: message.msg_namelen };
    Ok(Datagram { len, truncated: message.msg_flags & libc::MSG_TRUNC != 0, messages, from })
}

/// The contents of the control data of a received message. Parsing ends at a length that is shorter than its
/// header or reaches beyond the data, and skips a message that is too short for its contents.
pub(in crate::net) fn control_messages(mut control: &[u8]) -> Messages {
    let mut out = Messages::default();
    // SAFETY: `CMSG_LEN` and `CMSG_SPACE` compute with integers only.
    let start = unsafe { libc::CMSG_LEN(0) } as usize;
    while let Some(header) = plain::<libc::cmsghdr>(control) {
        #[allow(clippy::unnecessary_cast)]
        let len = header.cmsg_len as usize;
        let Some(data) = control.get(start..len) else { break };
        match (header.cmsg_level, header.cmsg_type) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                out.wall = plain::<libc::timespec>(data).map(|ts| nanos(&ts)).or(out.wall);
            }
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => {
                // Software, one that is no longer used, hardware (`struct scm_timestamping`); 0 means none.
                let at = |index: usize| {
                    let ts = plain::<libc::timespec>(data.get(index * size_of::<libc::timespec>()..)?)?;
                    Some(nanos(&ts)).filter(|&ns| ns != 0)
                };
                (out.stamp, out.hardware) = (at(0).or(out.stamp), at(2).or(out.hardware));
            }
            (libc::IPPROTO_IP, libc::IP_RECVERR) | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) => {
                let error = plain::<libc::sock_extended_err>(data);
                let stamp = error.filter(|error| error.ee_origin == libc::SO_EE_ORIGIN_TIMESTAMPING);
                out.sent = stamp.map(|error| (error.ee_data, error.ee_info)).or(out.sent);
                let offender = data.get(size_of::<libc::sock_extended_err>()..).unwrap_or(&[]);
                out.icmp = error.and_then(|error| icmp_of(&error, offender)).or(out.icmp);
            }
            (libc::IPPROTO_IP, libc::IP_TOS) => out.tos = data.first().copied().or(out.tos),
            (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => out.tos = small(data).or(out.tos),
            (libc::IPPROTO_IP, libc::IP_TTL) | (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT) => {
                out.ttl = small(data).or(out.ttl);
            }
            (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                let info = plain::<libc::in_pktinfo>(data);
                let to = info.map(|info| Ipv4Addr::from(info.ipi_spec_dst.s_addr.to_ne_bytes()).into());
                out.to = to.or(out.to);
            }
            (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                let info = plain::<libc::in6_pktinfo>(data);
                out.to = info.map(|info| Ipv6Addr::from(info.ipi6_addr.s6_addr).into()).or(out.to);
            }
            _ => {}
        }
        // SAFETY: as above.
        let next =
            u32::try_from(data.len()).map_or(usize::MAX, |len| unsafe { libc::CMSG_SPACE(len) } as usize);
        control = control.get(next..).unwrap_or(&[]);
    }
    out
}

/// The ICMP message of an extended error, which the address of its sender follows.
fn icmp_of(error: &libc::sock_extended_err, offender: &[u8]) -> Option<Icmp> {
    // Types 11 of RFC 792 and 3 of RFC 4443, each with code 0.
    let (from, kind) = match error.ee_origin {
        libc::SO_EE_ORIGIN_ICMP => {
            let sin = plain::<libc::sockaddr_in>(offender)?;
            (IpAddr::V4(Ipv4Addr::from(sin.sin_addr.s_addr.to_ne_bytes())), 11)
        }
        libc::SO_EE_ORIGIN_ICMP6 => {
            let sin6 = plain::<libc::sockaddr_in6>(offender)?;
            (IpAddr::V6(Ipv6Addr::from(sin6.sin6_addr.s6_addr)), 3)
        }
        _ => return None,
    };
    Some(Icmp { from, is_time_exceeded: (error.ee_type, error.ee_code) == (kind, 0) })
}

/// An int that fits a byte.
fn small(data: &[u8]) -> Option<u8> {
    plain::<c_int>(data).and_then(|value| u8::try_from(value).ok())
}

/// Structures of integers.
///
/// # Safety
/// Any bytes are a value of the type.
unsafe trait Plain: Copy {}
// SAFETY: integers only.
unsafe impl Plain for libc::cmsghdr {}
// SAFETY: as above.
unsafe impl Plain for libc::timespec {}
// SAFETY: as above.
unsafe impl Plain for c_int {}
// SAFETY: as above.
unsafe impl Plain for libc::sock_extended_err {}
// SAFETY: as above.
unsafe impl Plain for libc::sockaddr_in {}
// SAFETY: as above.
unsafe impl Plain for libc::sockaddr_in6 {}
// SAFETY: as above.
unsafe impl Plain for libc::in_pktinfo {}
// SAFETY: as above.
unsafe impl Plain for libc::in6_pktinfo {}

/// The structure at the start of `bytes`, if there are enough bytes.
fn plain<T: Plain>(bytes: &[u8]) -> Option<T> {
    // SAFETY: there are as many bytes as `T` has, read unaligned, and any bytes are a `T`.
    (bytes.len() >= size_of::<T>()).then(|| unsafe { ptr::read_unaligned(bytes.as_ptr().cast::<T>()) })
}

/// Sends a datagram to `to` with the given ToS byte or traffic class, from the local address `from` if it is
/// given (and of the same family); does not block.
pub(in crate::net) fn send_to(
    fd: BorrowedFd,
    bytes: &[u8],
    to: &SockAddr,
    from: Option<IpAddr>,
    tos: u8,
) -> io::Result<()> {
    let mut control = Control([0; 320]);
    let mut used = 0;
    let v6 = c_int::from(to.storage.ss_family) == libc::AF_INET6;
    let tos = c_int::from(tos);
    if v6 {
        append(&mut control, &mut used, libc::IPPROTO_IPV6, libc::IPV6_TCLASS, &tos);
    } else {
        append(&mut control, &mut used, libc::IPPROTO_IP, libc::IP_TOS, &tos);
    }
    match from {
        Some(IpAddr::V4(from)) if !v6 => {
            let address = libc::in_addr { s_addr: u32::from_ne_bytes(from.octets()) };
            let any = libc::in_addr { s_addr: 0 };
            let info = libc::in_pktinfo { ipi_ifindex: 0, ipi_spec_dst: address, ipi_addr: any };
            append(&mut control, &mut used, libc::IPPROTO_IP, libc::IP_PKTINFO, &info);
        }
        Some(IpAddr::V6(from)) if v6 => {
            let address = libc::in6_addr { s6_addr: from.octets() };
            let info = libc::in6_pktinfo { ipi6_addr: address, ipi6_ifindex: 0 };
            append(&mut control, &mut used, libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, &info);
        }
        _ => {}
    }
    let mut iov = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: all zeros is a valid msghdr.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_name = ptr::from_ref(&to.storage).cast_mut().cast();
    message.msg_namelen = to.len;
    message.msg_iov = &raw mut iov;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = used as _;
    // SAFETY: sendmsg reads through the pointers of `message`, each with its length beside it, and writes
    // through none.
    let result =
        unsafe { libc::sendmsg(fd.as_raw_fd(), &raw const message, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) };
    check_len(result).map(drop)
}

/// Adds a control message after the `used` bytes, and increases `used`.
fn append<T: Plain>(control: &mut Control, used: &mut usize, level: c_int, kind: c_int, value: &T) {
    // SAFETY: `CMSG_LEN` and `CMSG_SPACE` compute with integers only.
    let (start, len, space) = unsafe {
        let size = size_of::<T>() as u32;
        (libc::CMSG_LEN(0) as usize, libc::CMSG_LEN(size), libc::CMSG_SPACE(size) as usize)
    };
    let place = &mut control.0[*used..*used + space];
    // SAFETY: all zeros is a valid cmsghdr (musl's has private padding).
    let mut header: libc::cmsghdr = unsafe { zeroed() };
    (header.cmsg_len, header.cmsg_level, header.cmsg_type) = (len as _, level, kind);
    // SAFETY: `place` has room for the header at its start and for the value behind `start`; both are written
    // unaligned.
    unsafe {
        ptr::write_unaligned(place.as_mut_ptr().cast(), header);
        ptr::write_unaligned(place.as_mut_ptr().add(start).cast(), *value);
    }
    *used += space;
}

/// A non-blocking UDP socket at `local`; an IPv6 socket takes only IPv6.
pub(in crate::net) fn udp_socket(local: SocketAddr) -> io::Result<OwnedFd> {
    bound_socket(local, libc::SOCK_DGRAM)
}

/// A non-blocking TCP socket that listens at `local`; an IPv6 socket takes only IPv6.
pub(in crate::net) fn tcp_listener(local: SocketAddr) -> io::Result<OwnedFd> {
    let fd = bound_socket(local, libc::SOCK_STREAM)?;
    // SAFETY: no pointers.
    check(unsafe { libc::listen(fd.as_raw_fd(), 1024) })?;
    Ok(fd)
}

fn bound_socket(local: SocketAddr, kind: c_int) -> io::Result<OwnedFd> {
    let family = if local.is_ipv6() { libc::AF_INET6 } else { libc::AF_INET };
    let on: c_int = 1;
    let is_stream = kind == libc::SOCK_STREAM;
    let kind = kind | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers; the result is checked and then owned by nobody else.
    let fd = unsafe { OwnedFd::from_raw_fd(check(libc::socket(family, kind, 0))?) };
    if local.is_ipv6() {
        set_option(fd.as_fd(), libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, &on)?;
    }
    if is_stream {
        // A restarted server finds its port free, although old connections are in TIME_WAIT.
        set_option(fd.as_fd(), libc::SOL_SOCKET, libc::SO_REUSEADDR, &on)?;
    }
    let addr = SockAddr::new(local);
    // SAFETY: pointer and length describe `addr.storage`, which is only read.
    check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const addr.storage).cast(), addr.len) })?;
    Ok(fd)
}

/// Sets how many bytes of datagrams may wait to be read, as far as the system allows.
pub(in crate::net) fn set_receive_buffer(fd: BorrowedFd, bytes: u32) -> io::Result<()> {
    let value = c_int::try_from(bytes).unwrap_or(c_int::MAX);
    set_option(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, &value)
}

/// Asks for the TTL or hop limit of every datagram, and for the address that it was sent to.
pub(in crate::net) fn receive_ttl_and_address(fd: BorrowedFd, v6: bool) -> io::Result<()> {
    let on: c_int = 1;
    if v6 {
        set_option(fd, libc::IPPROTO_IPV6, libc::IPV6_RECVHOPLIMIT, &on)?;
        set_option(fd, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, &on)
    } else {
        set_option(fd, libc::IPPROTO_IP, libc::IP_RECVTTL, &on)?;
        set_option(fd, libc::IPPROTO_IP, libc::IP_PKTINFO, &on)
    }
}

/// Asks for the time at which the kernel takes each datagram for sending, before the queue of its interface
/// (`SOF_TIMESTAMPING_TX_SCHED`); [`transmitted`] reads it. Datagrams are counted from here on, from 0. If
/// the interface stamps packets, its times are returned too, for both sent and received packets.
pub(in crate::net) fn stamp_transmissions(fd: BorrowedFd) -> io::Result<()> {
    let flags = libc::SOF_TIMESTAMPING_TX_SCHED
        | libc::SOF_TIMESTAMPING_SOFTWARE
        | libc::SOF_TIMESTAMPING_TX_HARDWARE
        | libc::SOF_TIMESTAMPING_RX_HARDWARE
        | libc::SOF_TIMESTAMPING_RAW_HARDWARE
        | libc::SOF_TIMESTAMPING_OPT_ID
        | libc::SOF_TIMESTAMPING_OPT_TSONLY;
    set_option(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &flags)
}

/// Sets the TTL or hop limit of packets that the socket sends.
pub(in crate::net) fn set_ttl(fd: BorrowedFd, v6: bool, ttl: u8) -> io::Result<()> {
    let value = c_int::from(ttl);
    if v6 {
        set_option(fd, libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS, &value)
    } else {
        set_option(fd, libc::IPPROTO_IP, libc::IP_TTL, &value)
    }
}

/// The TTL or hop limit of packets that the socket sends.
pub(in crate::net) fn ttl(fd: BorrowedFd, v6: bool) -> io::Result<u8> {
    let (level, name) =
        if v6 { (libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS) } else { (libc::IPPROTO_IP, libc::IP_TTL) };
    let mut value = [0; size_of::<c_int>()];
    get_option(fd, level, name, &mut value)?;
    u8::try_from(c_int::from_ne_bytes(value)).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// Whether datagrams may be cut into fragments: with `false` the DF bit is set, and a datagram that is too
/// long for the path is an error (`EMSGSIZE`).
pub(in crate::net) fn set_fragments(fd: BorrowedFd, v6: bool, may: bool) -> io::Result<()> {
    if v6 {
        let value = if may { libc::IPV6_PMTUDISC_DONT } else { libc::IPV6_PMTUDISC_DO };
        set_option(fd, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, &value)
    } else {
        let value = if may { libc::IP_PMTUDISC_DONT } else { libc::IP_PMTUDISC_DO };
        set_option(fd, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, &value)
    }
}

/// Fills `bytes` with the kernel's random bytes.
pub(in crate::net) fn random(bytes: &mut [u8]) -> io::Result<()> {
    // SAFETY: pointer and length describe `bytes`; up to 256 bytes come whole (getrandom(2)).
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if check_len(got)? == bytes.len() { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
mod tests {
    use super::super::*;
    use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};

    const HOSTS: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

    fn received(socket: &UdpSocket) -> Datagram {
        let mut ready = Vec::new();
        wait_readable(&[socket.as_raw_fd()], 1_000_000_000, &mut ready).unwrap();
        assert_eq!(ready, [0], "a datagram within a second");
        receive(socket.as_fd(), &mut [0; 32]).unwrap()
    }

    #[test]
    fn datagrams_bring_the_mark_in_the_header_and_the_time() {
        for host in HOSTS {
            let [a, b] = [0; 2].map(|port| UdpSocket::bind((host, port)).unwrap());
            receive_tos_and_time(a.as_fd(), host.is_ipv6()).unwrap();
            receive_tos_and_time(b.as_fd(), host.is_ipv6()).unwrap();
            set_tos(a.as_fd(), host.is_ipv6(), 0xb8).unwrap();
            let before = realtime();
            a.send_to(b"there", b.local_addr().unwrap()).unwrap();
            let there = received(&b);
            assert_eq!((there.len, there.truncated, there.messages.tos), (5, false, Some(0xb8)));
            send_to(b.as_fd(), &[0; 33], &there.from, None, 0x20).unwrap();
            let back = received(&a);
            let after = realtime();
            assert_eq!((back.len, back.truncated, back.messages.tos), (32, true, Some(0x20)));
            let (there, back) = (there.messages.wall.unwrap(), back.messages.wall.unwrap());
            assert!(before <= there && there <= back && back <= after, "{before} {there} {back} {after}");
        }
    }
}
