//! `AF_PACKET` raw sockets with batched, nonblocking receive and send (`packet(7)`).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::OnceLock;

use super::{set_option, set_receive_buffer, socklen_of, zeroed};
use crate::gso::{Joined, LONGEST, VnetHeader};
use crate::pool::Pool;
use crate::{Error, Result};

/// Frames handled by one system call.
pub(crate) const BATCH: usize = 64;
/// Slots sent by one call: a super-packet of 64 KiB in segments of 340 bytes, after those of a batch.
pub(crate) const SEND: usize = 4 * BATCH;
/// Super-packets read by one system call: 1 MiB.
pub(crate) const SUPER_BATCH: usize = 16;

const PACKET_ADD_MEMBERSHIP: libc::c_int = 1;
const PACKET_STATISTICS: libc::c_int = 6;
const PACKET_AUXDATA: libc::c_int = 8;
const PACKET_VNET_HDR: libc::c_int = 15;
const PACKET_FANOUT: libc::c_int = 18;
const PACKET_QDISC_BYPASS: libc::c_int = 20;
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

/// The kind of a group of sockets, and a flag (`linux/if_packet.h`): a hash of its addresses and ports
/// assigns a flow to a socket; the kernel chooses a free number. `PACKET_FANOUT_FLAG_DEFRAG`, which would
/// reassemble fragments, is not set: they pass as they came, all those between two hosts through one socket.
const PACKET_FANOUT_HASH: libc::c_int = 0;
const PACKET_FANOUT_FLAG_UNIQUEID: libc::c_int = 0x2000;

/// Filters (`linux/filter.h`). The first takes nothing: BPF_RET | BPF_K with zero bytes.
const NOTHING: [libc::sock_filter; 1] = [instruction(0x06, 0, 0)];
/// BPF_RET | BPF_K with all bytes.
const ALL: [libc::sock_filter; 1] = [instruction(0x06, 0, u32::MAX)];
/// BPF_LD | BPF_B | BPF_ABS of the packet's type, at SKF_AD_OFF + SKF_AD_PKTTYPE; BPF_JMP | BPF_JEQ | BPF_K
/// with PACKET_OUTGOING, which skips one instruction if the type is different.
const NOT_LEAVING: [libc::sock_filter; 4] =
    [instruction(0x30, 0, 0xffff_f004), instruction(0x15, 1, 4), NOTHING[0], ALL[0]];

const fn instruction(code: u16, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code, jt: 0, jf, k }
}

/// Bytes of kernel memory for frames that wait in the socket. A 1514-byte frame takes about 2.3 kB there,
/// so this is some 14 000 full frames: more than 100 ms at 1 Gbit/s.
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

/// A VLAN tag is in the auxiliary data, with its kind (`linux/if_packet.h`).
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
    /// Those that arrive, including those for other stations.
    Promiscuous,
    /// Those that leave.
    Leaving,
}

/// The sockets over which the kernel spreads the flows that an interface receives (`PACKET_FANOUT`). The
/// first that joins creates the group, and the kernel chooses its number.
#[derive(Debug, Default)]
pub(crate) struct Fanout(OnceLock<libc::c_int>);

/// A raw packet socket on one interface, for use by one thread.
pub(crate) struct PacketSocket {
    fd: OwnedFd,
    interface: String,
    headers: Vec<libc::mmsghdr>,
    /// At most two for each frame.
    vectors: Vec<libc::iovec>,
    controls: Vec<Control>,
    /// How many slots each message has.
    counts: Vec<usize>,
    /// With super-packets.
    vnet: Option<Vnet>,
    dropped: u64,
}

/// What a socket needs for super-packets.
struct Vnet {
    headers: Vec<VnetHeader>,
    /// [`SUPER_BATCH`] times [`LONGEST`] bytes to receive into.
    bytes: Vec<u8>,
    /// Lengths and receive times.
    arrived: Vec<Slot>,
}

/// A frame that has arrived at a socket with super-packets.
pub(crate) struct Arrival<'a> {
    pub(crate) header: VnetHeader,
    pub(crate) bytes: &'a [u8],
    /// As [`Slot::stamp`].
    pub(crate) stamp: u64,
}

impl PacketSocket {
    /// Opens a socket that receives from `interface` of the calling thread's namespace: all frames, or its
    /// part as one of the sockets of `fanout`. Sockets of one group are opened one after the other.
    pub(crate) fn receiving(
        interface: &str,
        which: Receive,
        fanout: Option<&Fanout>,
    ) -> Result<PacketSocket> {
        let (socket, index) = PacketSocket::open(interface)?;
        set_receive_buffer(socket.fd.as_fd(), RECEIVE_BUFFER)
            .map_err(|errno| Error::io("setsockopt AF_PACKET", interface, errno))?;
        socket.option(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        socket.option(libc::SOL_PACKET, PACKET_AUXDATA, 1)?;
        if which != Receive::Leaving {
            socket.option(libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)?;
        }
        if which == Receive::Promiscuous {
            socket.be_promiscuous(index)?;
        }
        let every = libc::ETH_P_ALL.cast_unsigned() as u16;
        if let Some(fanout) = fanout {
            // Only a bound socket can join. Until it has joined, it would also get frames of the other
            // sockets.
            socket.filter(&NOTHING)?;
            socket.bind(index, every)?;
            socket.join_fanout(fanout)?;
            // In a group, Linux before 6.2 does not ask for PACKET_IGNORE_OUTGOING.
            socket.filter(if which == Receive::Leaving { &ALL } else { &NOT_LEAVING })?;
        } else {
            socket.bind(index, every)?;
        }
        Ok(socket)
    }

    /// Receives only what the filter lets through.
    fn filter(&self, program: &[libc::sock_filter]) -> Result<()> {
        // A program of ours has a few instructions.
        #[allow(clippy::cast_possible_truncation)]
        let len = program.len() as u16;
        let filter = libc::sock_fprog { len, filter: program.as_ptr().cast_mut() };
        // `filter` has `len` instructions, which live during the call.
        self.structure(libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &filter, "setsockopt SO_ATTACH_FILTER")
    }

    /// Joins the group, or creates it.
    fn join_fanout(&self, fanout: &Fanout) -> Result<()> {
        let (kind, number) = match fanout.0.get() {
            Some(&number) => (PACKET_FANOUT_HASH, number),
            None => (PACKET_FANOUT_HASH | PACKET_FANOUT_FLAG_UNIQUEID, 0),
        };
        self.option(libc::SOL_PACKET, PACKET_FANOUT, kind << 16 | number)?;
        let number = self.number(libc::SOL_PACKET, PACKET_FANOUT);
        let number =
            number.map_err(|errno| Error::io("getsockopt PACKET_FANOUT", &*self.interface, errno))?;
        fanout.0.get_or_init(|| number & 0xffff);
        Ok(())
    }

    /// Opens a socket that sends on `interface`: it bypasses the queueing discipline and the filters, or
    /// sends through them with `mark` on each frame.
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
            headers: vec![header; SEND],
            vectors: vec![vector; 2 * SEND],
            controls: vec![[0; 12]; BATCH],
            counts: Vec::with_capacity(SEND),
            vnet: None,
            dropped: 0,
        };
        Ok((socket, index))
    }

    /// Makes the interface take frames for all stations as long as the socket is open (`PACKET_MR_PROMISC`).
    fn be_promiscuous(&self, index: u32) -> Result<()> {
        // SAFETY: all bits zero are a valid `packet_mreq`.
        let mut membership: libc::packet_mreq = unsafe { zeroed() };
        membership.mr_ifindex = index.cast_signed();
        membership.mr_type = libc::PACKET_MR_PROMISC as u16;
        let what = "setsockopt PACKET_MR_PROMISC";
        self.structure(libc::SOL_PACKET, PACKET_ADD_MEMBERSHIP, &membership, what)
    }

    /// Sets an option whose value is a structure of C. What it points to must live during the call.
    fn structure<T>(
        &self,
        level: libc::c_int,
        name: libc::c_int,
        value: &T,
        what: &'static str,
    ) -> Result<()> {
        // SAFETY: `value` lives during the call, which reads and copies it.
        let done = unsafe {
            libc::setsockopt(
                self.fd.as_raw_fd(),
                level,
                name,
                std::ptr::from_ref(value).cast(),
                socklen_of::<T>(),
            )
        };
        if done == 0 { Ok(()) } else { Err(Error::last(what, self.interface.as_str())) }
    }

    fn option(&self, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> Result<()> {
        set_option(self.fd.as_fd(), level, name, value)
            .map_err(|errno| Error::io("setsockopt AF_PACKET", self.interface.as_str(), errno))
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
        let bytes = self.number(libc::SOL_SOCKET, libc::SO_RCVBUF).unwrap_or(0);
        u32::try_from(bytes).unwrap_or(0)
    }

    /// The value of an option that is a number.
    fn number(&self, level: libc::c_int, name: libc::c_int) -> io::Result<libc::c_int> {
        let (mut value, mut size): (libc::c_int, _) = (0, socklen_of::<libc::c_int>());
        // SAFETY: `value` is as large as `size` says and valid for writes.
        let done = unsafe {
            libc::getsockopt(self.fd.as_raw_fd(), level, name, (&raw mut value).cast(), &raw mut size)
        };
        if done == 0 { Ok(value) } else { Err(io::Error::last_os_error()) }
    }

    /// The interface's name.
    pub(crate) fn interface(&self) -> &str {
        &self.interface
    }

    /// Reads waiting frames, at most [`BATCH`], into the frames that `slots` names. Sets their true lengths
    /// (larger than a slot if a frame did not fit) and receive times. Returns their number, zero if none
    /// waits.
    pub(crate) fn receive(&mut self, pool: &mut Pool, slots: &mut [Slot]) -> io::Result<usize> {
        let count = slots.len().min(BATCH);
        if count == 0 {
            return Ok(0);
        }
        for (place, slot) in slots[..count].iter().enumerate() {
            self.vectors[place] = vector_of(&mut pool.slot_mut(slot.frame)[..]);
        }
        self.point_headers(count, 1);
        // SAFETY: the first `count` headers each point to one vector, and that to the bytes of a pool slot
        // of its own, which `pool` (borrowed mutably) keeps alive and unshared during the call.
        let got = unsafe { self.recvmmsg(count) }?;
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

    /// Turns super-packets on: they arrive whole, and leave whole where segments follow each other.
    pub(crate) fn with_super_packets(mut self) -> Result<PacketSocket> {
        self.option(libc::SOL_PACKET, PACKET_VNET_HDR, 1)?;
        self.vnet = Some(Vnet {
            headers: vec![VnetHeader::default(); SEND],
            bytes: vec![0; SUPER_BATCH * LONGEST],
            arrived: vec![Slot::default(); SUPER_BATCH],
        });
        Ok(self)
    }

    /// Reads waiting frames of a socket with super-packets, at most `count` and [`SUPER_BATCH`], and returns
    /// their number. They remain available until the next read ([`PacketSocket::arrival`]).
    pub(crate) fn receive_super(&mut self, count: usize) -> io::Result<usize> {
        let Some(vnet) = &mut self.vnet else { return Ok(0) };
        let count = count.min(SUPER_BATCH);
        let places = vnet.headers.iter_mut().zip(vnet.bytes.chunks_exact_mut(LONGEST));
        for (vectors, (header, bytes)) in self.vectors.chunks_exact_mut(2).zip(places) {
            vectors[0] = vector_of(std::slice::from_mut(header));
            vectors[1] = vector_of(bytes);
        }
        self.point_headers(count, 2);
        // SAFETY: the first `count` headers each point to two vectors, and those to a `VnetHeader`, which
        // may have any bytes, and to LONGEST bytes, which `self.vnet` keeps alive and which no others point
        // to.
        let got = unsafe { self.recvmmsg(count) }?;
        let Some(vnet) = &mut self.vnet else { return Ok(0) };
        for (slot, header) in vnet.arrived.iter_mut().zip(&self.headers[..got]) {
            let len = (header.msg_len as usize).saturating_sub(size_of::<VnetHeader>());
            // It is at most the length of one message.
            #[allow(clippy::cast_possible_truncation)]
            let len = len.min(LONGEST) as u32;
            *slot = Slot { len, stamp: told(&header.msg_hdr).stamp, ..Slot::default() };
        }
        Ok(got)
    }

    /// The frame `place` of the last [`PacketSocket::receive_super`].
    pub(crate) fn arrival(&self, place: usize) -> Option<Arrival<'_>> {
        let vnet = self.vnet.as_ref()?;
        let (slot, header) = (vnet.arrived.get(place)?, *vnet.headers.get(place)?);
        let bytes = vnet.bytes.get(place * LONGEST..)?.get(..slot.len as usize)?;
        Some(Arrival { header, bytes, stamp: slot.stamp })
    }

    /// `recvmmsg(2)` into the first `count` headers.
    ///
    /// # Safety
    /// They point to memory that is alive and unshared during the call.
    unsafe fn recvmmsg(&mut self, count: usize) -> io::Result<usize> {
        for (header, control) in self.headers[..count].iter_mut().zip(&mut self.controls) {
            header.msg_hdr.msg_control = control.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = size_of::<Control>() as _;
        }
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        // SAFETY: as the caller says; each control pointer leads to a `Control` of its own.
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
        usize::try_from(got).or_else(|_| {
            let error = io::Error::last_os_error();
            match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(0),
                _ => Err(error),
            }
        })
    }

    /// Sends `slots`, at most [`SEND`], in this order. `answer` is called with the slots that the kernel took
    /// or refused together; if it returns an error, sending ends.
    pub(crate) fn send(
        &mut self,
        pool: &mut Pool,
        slots: &[Slot],
        mut answer: impl FnMut(&Pool, &[Slot], io::Result<()>) -> io::Result<()>,
    ) -> io::Result<()> {
        let slots = &slots[..slots.len().min(SEND)];
        self.counts.clear();
        if self.vnet.is_some() {
            self.join(pool, slots);
        } else {
            for (place, slot) in slots.iter().enumerate() {
                let bytes = pool.slot_mut(slot.frame);
                let len = bytes.len().min(slot.len as usize);
                self.vectors[place] = vector_of(&mut bytes[..len]);
            }
            self.counts.resize(slots.len(), 1);
            self.point_headers(slots.len(), 1);
        }
        let (mut message, mut rest) = (0, slots);
        while message < self.counts.len() {
            let left = self.counts.len() - message;
            // SAFETY: the headers up to `counts.len()` point to vectors, and those to slots that `pool`
            // (borrowed mutably) keeps alive and unshared during the call, and to headers in `self.vnet`.
            // The kernel only reads them.
            #[allow(clippy::cast_possible_truncation)]
            let sent = unsafe {
                libc::sendmmsg(
                    self.fd.as_raw_fd(),
                    self.headers[message..].as_mut_ptr(),
                    left as libc::c_uint,
                    libc::MSG_DONTWAIT as _,
                )
            };
            let errno = io::Error::last_os_error();
            if sent < 0 && errno.kind() == io::ErrorKind::Interrupted {
                continue;
            }
            let dealt = usize::try_from(sent).unwrap_or(1).clamp(1, left);
            let count = self.counts[message..message + dealt].iter().sum();
            let (these, others) = rest.split_at(count);
            answer(pool, these, if sent < 0 { Err(errno) } else { Ok(()) })?;
            (message, rest) = (message + dealt, others);
        }
        Ok(())
    }

    /// Makes messages from `slots`: consecutive segments form one message.
    fn join(&mut self, pool: &mut Pool, slots: &[Slot]) {
        let PacketSocket { vnet: Some(vnet), headers, vectors, counts, .. } = self else { return };
        let bytes_of = |pool: &mut Pool, slot: &Slot, from: usize| {
            let bytes = pool.slot_mut(slot.frame);
            let len = bytes.len().min(slot.len as usize);
            vector_of(&mut bytes[from..len])
        };
        let (mut place, mut used) = (0, 0);
        while let Some(slot) = slots.get(place) {
            let message = counts.len();
            let begin = used;
            vectors[used + 1] = bytes_of(pool, slot, 0);
            used += 2;
            place += 1;
            let partial = pool.note(slot.frame).partial;
            let mut joined = Joined::begin(pool.start(slot.frame, slot.len), partial);
            while let (Some(train), Some(next)) = (&mut joined, slots.get(place)) {
                let partial = pool.note(next.frame).partial;
                let (first, following) = (pool.start(slot.frame, slot.len), pool.start(next.frame, next.len));
                let Some(payload) = train.add(first, following, partial) else { break };
                vectors[used] = bytes_of(pool, next, payload.start);
                used += 1;
                place += 1;
            }
            let count = used - begin - 1;
            vnet.headers[message] = match joined {
                Some(train) if count > 1 => train.seal(&mut pool.slot_mut(slot.frame)[..slot.len as usize]),
                _ => partial.header(),
            };
            vectors[begin] = vector_of(std::slice::from_mut(&mut vnet.headers[message]));
            point(&mut headers[message], &mut vectors[begin..used]);
            counts.push(count);
        }
    }

    /// Points the first `count` headers at `each` vectors.
    fn point_headers(&mut self, count: usize, each: usize) {
        for (header, vectors) in self.headers[..count].iter_mut().zip(self.vectors.chunks_exact_mut(each)) {
            point(header, vectors);
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

/// Points a header at vectors.
fn point(header: &mut libc::mmsghdr, vectors: &mut [libc::iovec]) {
    header.msg_hdr.msg_iov = vectors.as_mut_ptr();
    header.msg_hdr.msg_iovlen = vectors.len() as _;
    header.msg_hdr.msg_control = std::ptr::null_mut();
    header.msg_hdr.msg_controllen = 0;
    header.msg_len = 0;
}

/// The vector of some memory.
fn vector_of<T>(memory: &mut [T]) -> libc::iovec {
    libc::iovec { iov_base: memory.as_mut_ptr().cast(), iov_len: size_of_val(memory) }
}

/// The kernel's information about a frame.
#[derive(Clone, Copy, Default)]
struct FrameInfo {
    /// The receive time, `CLOCK_REALTIME` ns; 0 if unknown.
    stamp: u64,
    /// A VLAN tag that is not in the frame.
    tag: Option<[u8; TAG]>,
}

/// The information in the control messages of a message that the kernel has filled.
fn told(message: &libc::msghdr) -> FrameInfo {
    let mut told = FrameInfo::default();
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

/// Puts a tag that the kernel removed back after the addresses of the frame.
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
