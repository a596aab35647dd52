//! `AF_PACKET` raw sockets with batched, nonblocking receive and send (`packet(7)`).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::{socklen_of, zeroed};
use crate::pool::{Pool, SLOT};
use crate::{Error, Result};

/// Frames handled by one system call.
pub(crate) const BATCH: usize = 64;

const PACKET_ADD_MEMBERSHIP: libc::c_int = 1;
const PACKET_STATISTICS: libc::c_int = 6;
const PACKET_AUXDATA: libc::c_int = 8;
const PACKET_QDISC_BYPASS: libc::c_int = 20;
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

/// Bytes of kernel memory for frames that wait in the socket. A 1514-byte frame takes about 2.3 kB there, so
/// this is some 14 000 full frames: more than 100 ms at 1 Gbit/s.
const RECEIVE_BUFFER: libc::c_int = 32 << 20;

/// A frame in the pool, its length and when the kernel received it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slot {
    pub(crate) frame: u32,
    pub(crate) len: u32,
    /// Receive time, `CLOCK_REALTIME`, ns; 0 if the kernel gave none.
    pub(crate) stamp: u64,
}

/// A buffer for two control messages, suitably aligned: a `timespec` and a `tpacket_auxdata`.
type Control = [u64; 12];

/// A VLAN tag is in the auxiliary data, and its kind with it (`linux/if_packet.h`).
const TP_STATUS_VLAN_VALID: u32 = 1 << 4;
const TP_STATUS_VLAN_TPID_VALID: u32 = 1 << 6;
/// The usual kind of a tag (IEEE 802.1Q).
const VLAN: u16 = 0x8100;
/// Bytes of both addresses of a frame: a tag follows them.
const ADDRESSES: usize = 12;
/// Bytes of a tag.
const TAG: usize = 4;

/// Which frames of an interface a socket receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receive {
    /// Those that arrive.
    Arriving,
    /// Those that arrive, also for other stations.
    Promiscuous,
    /// Those that leave.
    Leaving,
}

/// A raw packet socket on one interface, for use by one thread.
pub(crate) struct PacketSocket {
    fd: OwnedFd,
    interface: String,
    headers: Vec<libc::mmsghdr>,
    vectors: Vec<libc::iovec>,
    controls: Vec<Control>,
    dropped: u64,
}

impl PacketSocket {
    /// Opens one that receives from `interface` of the calling thread's namespace.
    pub(crate) fn receiving(interface: &str, which: Receive) -> Result<PacketSocket> {
        let (socket, index) = PacketSocket::open(interface)?;
        // More than net.core.rmem_max needs CAP_NET_ADMIN outside of all user namespaces; without it, use the
        // largest size that is allowed.
        if socket.option(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, RECEIVE_BUFFER).is_err() {
            socket.option(libc::SOL_SOCKET, libc::SO_RCVBUF, RECEIVE_BUFFER)?;
        }
        socket.option(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        socket.option(libc::SOL_PACKET, PACKET_AUXDATA, 1)?;
        if which != Receive::Leaving {
            socket.option(libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)?;
        }
        if which == Receive::Promiscuous {
            socket.be_promiscuous(index)?;
        }
        socket.bind(index, libc::ETH_P_ALL.cast_unsigned() as u16)?;
        Ok(socket)
    }

    /// Opens one that sends on `interface`: past its queueing discipline and filters, or through them with
    /// `mark` on each frame.
    pub(crate) fn sending(interface: &str, mark: Option<u32>) -> Result<PacketSocket> {
        let (socket, index) = PacketSocket::open(interface)?;
        if socket.option(libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, RECEIVE_BUFFER).is_err() {
            socket.option(libc::SOL_SOCKET, libc::SO_SNDBUF, RECEIVE_BUFFER)?;
        }
        match mark {
            Some(mark) => socket.option(libc::SOL_SOCKET, libc::SO_MARK, mark.cast_signed())?,
            None => socket.option(libc::SOL_PACKET, PACKET_QDISC_BYPASS, 1)?,
        }
        // Protocol 0: it receives nothing.
        socket.bind(index, 0)?;
        Ok(socket)
    }

    fn open(interface: &str) -> Result<(PacketSocket, u32)> {
        let index = super::namespace::interface_index(interface)?;
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: `socket` takes integers only. Protocol 0: nothing is received before `bind`.
        let raw = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
        if raw < 0 {
            return Err(Error::last("socket", "AF_PACKET").or_missing(
                &[libc::EAFNOSUPPORT],
                "CAP_NET_RAW or packet sockets (CONFIG_PACKET)",
                "run as root or in a user namespace, on a kernel with CONFIG_PACKET",
            ));
        }
        // SAFETY: `raw` was just opened and is owned by nobody else.
        let fd = unsafe { OwnedFd::from_raw_fd(raw) };
        // SAFETY: null pointers and zero lengths are valid; they are set before each use.
        let (header, vector) = unsafe { (zeroed::<libc::mmsghdr>(), zeroed::<libc::iovec>()) };
        let socket = PacketSocket {
            fd,
            interface: interface.to_owned(),
            headers: vec![header; BATCH],
            vectors: vec![vector; BATCH],
            controls: vec![[0; 12]; BATCH],
            dropped: 0,
        };
        Ok((socket, index))
    }

    /// The interface takes frames for all stations as long as the socket is open (`PACKET_MR_PROMISC`).
    fn be_promiscuous(&self, index: u32) -> Result<()> {
        // SAFETY: all bits zero are a valid `packet_mreq`.
        let mut membership: libc::packet_mreq = unsafe { zeroed() };
        membership.mr_ifindex = index.cast_signed();
        membership.mr_type = libc::PACKET_MR_PROMISC as u16;
        // SAFETY: `membership` is a `packet_mreq` that lives during the call.
        let done = unsafe {
            libc::setsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_PACKET,
                PACKET_ADD_MEMBERSHIP,
                (&raw const membership).cast(),
                socklen_of::<libc::packet_mreq>(),
            )
        };
        if done == 0 {
            Ok(())
        } else {
            Err(Error::last("setsockopt PACKET_MR_PROMISC", self.interface.as_str()))
        }
    }

    fn option(&self, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> Result<()> {
        // SAFETY: the value is an `int` that lives during the call.
        let done = unsafe {
            libc::setsockopt(
                self.fd.as_raw_fd(),
                level,
                name,
                (&raw const value).cast(),
                socklen_of::<libc::c_int>(),
            )
        };
        if done == 0 { Ok(()) } else { Err(Error::last("setsockopt AF_PACKET", self.interface.as_str())) }
    }

    fn bind(&self, index: u32, protocol: u16) -> Result<()> {
        // SAFETY: all bits zero are a valid `sockaddr_ll`.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET.cast_unsigned() as u16;
        address.sll_protocol = protocol.to_be();
        address.sll_ifindex = index.cast_signed();
        // SAFETY: `address` is a `sockaddr_ll` that lives during the call.
        let done = unsafe {
            libc::bind(self.fd.as_raw_fd(), (&raw const address).cast(), socklen_of::<libc::sockaddr_ll>())
        };
        if done == 0 { Ok(()) } else { Err(Error::last("bind AF_PACKET", self.interface.as_str())) }
    }

    /// Bytes of kernel memory for frames that wait in the socket (`SO_RCVBUF`); 0 if unknown.
    pub(crate) fn receive_buffer(&self) -> u32 {
        let (mut value, mut size): (libc::c_int, _) = (0, socklen_of::<libc::c_int>());
        // SAFETY: `value` is as large as `size` says and valid for writes. Failure leaves it at zero.
        unsafe {
            libc::getsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_RCVBUF,
                (&raw mut value).cast(),
                &raw mut size,
            );
        }
        u32::try_from(value).unwrap_or(0)
    }

    /// The interface's name.
    pub(crate) fn interface(&self) -> &str {
        &self.interface
    }

    /// Reads waiting frames, at most [`BATCH`], into the frames that `slots` names. Sets their true lengths
    /// (larger than [`SLOT`] if a frame did not fit) and receive times. Returns their number, zero if none
    /// waits.
    pub(crate) fn receive(&mut self, pool: &mut Pool, slots: &mut [Slot]) -> io::Result<usize> {
        let count = slots.len().min(BATCH);
        if count == 0 {
            return Ok(0);
        }
        for (place, slot) in slots[..count].iter().enumerate() {
            self.vectors[place] =
                libc::iovec { iov_base: pool.slot_mut(slot.frame).as_mut_ptr().cast(), iov_len: SLOT };
        }
        self.point_headers(count);
        for (header, control) in self.headers[..count].iter_mut().zip(&mut self.controls) {
            header.msg_hdr.msg_control = control.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = size_of::<Control>() as _;
        }
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        // SAFETY: the first `count` headers each point to one vector, and that to SLOT bytes of a pool
        // slot of its own, which `pool` (borrowed mutably) keeps alive and unshared during the call; each
        // control pointer leads to a `Control` of its own.
        #[allow(clippy::cast_possible_truncation)]
        let got = unsafe {
            libc::recvmmsg(
                self.fd.as_raw_fd(),
                self.headers.as_mut_ptr(),
                count as libc::c_uint,
                flags as _,
                std::ptr::null_mut(),
            )
        };
        let Ok(got) = usize::try_from(got) else {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(0),
                _ => Err(error),
            };
        };
        for (slot, header) in slots.iter_mut().zip(&self.headers[..got]) {
            slot.len = header.msg_len;
            let told = told(&header.msg_hdr);
            slot.stamp = told.stamp;
            if let Some(tag) = told.tag {
                put_back(tag, slot, pool.slot_mut(slot.frame));
            }
        }
        Ok(got)
    }

    /// Sends `slots`, at most [`BATCH`], and returns how many were sent (at least one), or the error of the
    /// first.
    pub(crate) fn send(&mut self, pool: &mut Pool, slots: &[Slot]) -> io::Result<usize> {
        let count = slots.len().min(BATCH);
        for (place, slot) in slots[..count].iter().enumerate() {
            let bytes = pool.slot_mut(slot.frame);
            let len = bytes.len().min(slot.len as usize);
            self.vectors[place] = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: len };
        }
        self.point_headers(count);
        // SAFETY: as in `receive`; the kernel only reads the slots.
        #[allow(clippy::cast_possible_truncation)]
        let sent = unsafe {
            libc::sendmmsg(
                self.fd.as_raw_fd(),
                self.headers.as_mut_ptr(),
                count as libc::c_uint,
                libc::MSG_DONTWAIT as _,
            )
        };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }

    /// Points the first `count` headers at their vectors.
    fn point_headers(&mut self, count: usize) {
        for (header, vector) in self.headers[..count].iter_mut().zip(&mut self.vectors) {
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_control = std::ptr::null_mut();
            header.msg_hdr.msg_controllen = 0;
            header.msg_len = 0;
        }
    }

    /// Frames that the kernel dropped because the socket's buffer was full, since the socket was opened
    /// (`PACKET_STATISTICS`, whose counters a read resets).
    pub(crate) fn dropped(&mut self) -> u64 {
        // struct tpacket_stats { tp_packets, tp_drops }
        let mut stats = [0_u32; 2];
        let mut size = socklen_of::<[u32; 2]>();
        // SAFETY: `stats` is as large as `size` and valid for writes.
        let done = unsafe {
            libc::getsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_PACKET,
                PACKET_STATISTICS,
                stats.as_mut_ptr().cast(),
                &raw mut size,
            )
        };
        if done == 0 {
            self.dropped += u64::from(stats[1]);
        }
        self.dropped
    }
}

/// What the kernel tells about a frame.
#[derive(Clone, Copy, Default)]
struct Told {
    /// The receive time, `CLOCK_REALTIME` ns; 0 if unknown.
    stamp: u64,
    /// A VLAN tag that is not in the frame.
    tag: Option<[u8; TAG]>,
}

/// What the control messages of a message say that the kernel has filled.
fn told(message: &libc::msghdr) -> Told {
    let mut told = Told::default();
    // SAFETY: the kernel has set `msg_controllen` to what it wrote into the live control buffer, and
    // CMSG_FIRSTHDR returns null if that is less than one header.
    let mut entry = unsafe { libc::CMSG_FIRSTHDR(message) };
    // SAFETY: not null, so a header within the buffer.
    while let Some(header) = unsafe { entry.as_ref() } {
        // `cmsg_len` is narrower in other C libraries.
        #[allow(clippy::unnecessary_cast)]
        let length = (header.cmsg_len as usize).saturating_sub(size_of::<libc::cmsghdr>());
        // SAFETY: it points behind the header.
        let data = unsafe { libc::CMSG_DATA(entry) };
        match (header.cmsg_level, header.cmsg_type) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) if length >= size_of::<libc::timespec>() => {
                // SAFETY: the data of this message are a timespec, by its type and length.
                let time: libc::timespec = unsafe { std::ptr::read_unaligned(data.cast()) };
                told.stamp = super::thread::nanoseconds(&time);
            }
            (libc::SOL_PACKET, PACKET_AUXDATA) if length >= size_of::<libc::tpacket_auxdata>() => {
                // SAFETY: the data of this message are a `tpacket_auxdata`, by its type and length.
                let aux: libc::tpacket_auxdata = unsafe { std::ptr::read_unaligned(data.cast()) };
                told.tag = tag(aux.tp_status, aux.tp_vlan_tci, aux.tp_vlan_tpid);
            }
            _ => {}
        }
        // SAFETY: `entry` is a header within the buffer of `message`.
        entry = unsafe { libc::CMSG_NXTHDR(message, entry) };
    }
    told
}

/// A tag as it is in a frame.
fn tag(status: u32, tci: u16, tpid: u16) -> Option<[u8; TAG]> {
    let tpid = if status & TP_STATUS_VLAN_TPID_VALID != 0 { tpid } else { VLAN };
    let ([a, b], [c, d]) = (tpid.to_be_bytes(), tci.to_be_bytes());
    (status & TP_STATUS_VLAN_VALID != 0).then_some([a, b, c, d])
}

/// Puts a tag that the kernel took out back behind the addresses of the frame.
fn put_back(tag: [u8; TAG], slot: &mut Slot, bytes: &mut [u8]) {
    let held = (slot.len as usize).min(bytes.len());
    if held >= ADDRESSES {
        let end = held.min(bytes.len() - TAG);
        bytes.copy_within(ADDRESSES..end, ADDRESSES + TAG);
        bytes[ADDRESSES..ADDRESSES + TAG].copy_from_slice(&tag);
        slot.len += TAG as u32;
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
