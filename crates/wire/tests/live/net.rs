//! Sockets of the tests, and small queues.

use std::collections::VecDeque;
use std::ffi::CStr;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use goodqueue::{Backlog, Header, Inspect, Nanos, Owner, Packet, Queue, Reason, Reconfigure, Stats, Verdict};
use goodqueue_wire::{Engine, EngineHandle, EngineSpec, Lab, LabSpec, Netns, PathSpec, Threads};

/// Bytes that Ethernet, IPv4 and UDP add to a payload in the engine's count.
pub(crate) const UDP_HEADERS: usize = 14 + 20 + 8;

/// A FIFO with a limit that optionally marks every ECN-capable packet.
#[derive(Debug, Default)]
pub(crate) struct TestQueue {
    packets: VecDeque<Header>,
    limit: usize,
    mark: bool,
    /// How long it takes to enqueue a packet, and until when it takes that long.
    takes: Option<(Duration, Instant)>,
    bytes: u64,
    stats: Stats,
}

impl TestQueue {
    pub(crate) fn new(limit: usize) -> TestQueue {
        TestQueue { packets: VecDeque::with_capacity(limit), limit, ..TestQueue::default() }
    }

    /// A queue that takes this long to enqueue a packet, until `until`.
    pub(crate) fn slow(limit: usize, takes: Duration, until: Instant) -> TestQueue {
        TestQueue { takes: Some((takes, until)), ..TestQueue::new(limit) }
    }

    pub(crate) fn marking(limit: usize) -> TestQueue {
        TestQueue { mark: true, ..TestQueue::new(limit) }
    }
}

impl Queue<Header> for TestQueue {
    fn enqueue(&mut self, now: Nanos, packet: Header, observer: &mut impl Owner<Header>) -> Verdict {
        if let Some((takes, until)) = self.takes {
            let began = Instant::now();
            while began < until && began.elapsed() < takes {}
        }
        if self.packets.len() >= self.limit {
            self.stats.drops += 1;
            observer.dropped(now, packet, Reason::Limit);
            return Verdict::Dropped(Reason::Limit);
        }
        self.bytes += u64::from(packet.len);
        self.packets.push_back(packet);
        Verdict::Enqueued
    }

    fn dequeue(&mut self, now: Nanos, observer: &mut impl Owner<Header>) -> Option<Header> {
        let mut packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.len);
        self.stats.packets += 1;
        self.stats.bytes += u64::from(packet.len);
        if self.mark && packet.set_ce() {
            self.stats.marks += 1;
            observer.marked(now, &packet, Reason::CeThreshold);
        }
        Some(packet)
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        (!self.packets.is_empty()).then_some(now)
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u32, bytes: self.bytes }
    }

    fn reset(&mut self, now: Nanos, observer: &mut impl Owner<Header>) {
        while let Some(packet) = self.packets.pop_front() {
            observer.dropped(now, packet, Reason::Reset);
        }
        self.bytes = 0;
    }
}

impl Inspect for TestQueue {
    fn stats(&self) -> Stats {
        self.stats
    }
}

impl Reconfigure<Header> for TestQueue {}

/// A path without rate, loss or delay.
pub(crate) fn open_path() -> PathSpec<TestQueue> {
    PathSpec::new(TestQueue::new(1000))
}

/// A lab, or the missing privilege.
pub(crate) fn lab(spec: &LabSpec) -> Result<Lab, String> {
    match Lab::new(spec) {
        Ok(lab) => Ok(lab),
        Err(error) if error.is_missing() => Err(error.to_string()),
        Err(error) => panic!("{error}"),
    }
}

/// Whether engines get a thread for each direction, or one thread.
static IS_APART: AtomicBool = AtomicBool::new(false);

/// Sets whether the engines of this process get a thread for each direction from now on.
pub(crate) fn set_apart(is_apart: bool) {
    IS_APART.store(is_apart, Ordering::Relaxed);
}

pub(crate) fn spec(up: PathSpec<TestQueue>, down: PathSpec<TestQueue>) -> EngineSpec<TestQueue> {
    let is_apart = IS_APART.load(Ordering::Relaxed);
    let threads = if is_apart { Threads::EachDirection } else { Threads::One };
    EngineSpec { threads, ..EngineSpec::new(up, down) }
}

pub(crate) fn engine(lab: &Lab, up: PathSpec<TestQueue>, down: PathSpec<TestQueue>) -> EngineHandle {
    Engine::start(lab, spec(up, down)).unwrap()
}

/// A UDP socket of `netns` bound to `address`.
pub(crate) fn udp(netns: &Netns, address: IpAddr) -> UdpSocket {
    let socket = netns.run(|| UdpSocket::bind(SocketAddr::new(address, 0))).unwrap().unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    socket
}

/// A client and a server socket, connected to each other.
pub(crate) fn udp_pair(lab: &Lab, v6: bool) -> (UdpSocket, UdpSocket) {
    let client = udp(lab.client(), Lab::client_address(v6));
    let server = udp(lab.server(), Lab::server_address(v6, 0));
    client.connect(server.local_addr().unwrap()).unwrap();
    server.connect(client.local_addr().unwrap()).unwrap();
    (client, server)
}

pub(crate) fn set_option(socket: &UdpSocket, level: i32, name: i32, value: i32) {
    // SAFETY: the value is an `int` that lives during the call.
    let done = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), 4) };
    assert_eq!(done, 0, "setsockopt {level} {name}: {}", io::Error::last_os_error());
}

/// Sets a large receive buffer: 8 MiB if permitted, otherwise the largest allowed size.
pub(crate) fn enlarge_buffer(socket: &UdpSocket) {
    for option in [libc::SO_RCVBUF, libc::SO_RCVBUFFORCE] {
        let value = 8_i32 << 20;
        // SAFETY: the value is an `int` that lives during the call. Failure is allowed.
        unsafe {
            libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, (&raw const value).cast(), 4);
        }
    }
}

/// A received datagram with the kernel's metadata.
pub(crate) struct Received {
    pub(crate) len: usize,
    /// Kernel receive time, nanoseconds, if SO_TIMESTAMPNS is on.
    pub(crate) stamp: Option<u64>,
    /// The DS byte, if IP_RECVTOS or IPV6_RECVTCLASS is on.
    pub(crate) dsfield: Option<u8>,
}

/// Receives one datagram; `None` after the socket's timeout.
pub(crate) fn receive(socket: &UdpSocket) -> Option<Received> {
    let (mut bytes, mut control) = ([0_u8; 2048], [0_u64; 32]);
    let mut vector = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: all bits zero are a valid msghdr.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut vector;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = std::mem::size_of_val(&control) as _;
    // SAFETY: all pointers lead to live buffers of the lengths given.
    let got = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0) };
    let mut received = Received { len: usize::try_from(got).ok()?, stamp: None, dsfield: None };
    // SAFETY: the CMSG macros walk the control buffer that the kernel has just filled.
    unsafe {
        let mut entry = libc::CMSG_FIRSTHDR(&raw const message);
        while !entry.is_null() {
            let data = libc::CMSG_DATA(entry);
            match ((*entry).cmsg_level, (*entry).cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    let time: libc::timespec = std::ptr::read_unaligned(data.cast());
                    received.stamp = Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64);
                }
                (libc::IPPROTO_IP, libc::IP_TOS) => received.dsfield = Some(*data),
                (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    let class: i32 = std::ptr::read_unaligned(data.cast());
                    received.dsfield = Some(class as u8);
                }
                _ => {}
            }
            entry = libc::CMSG_NXTHDR(&raw const message, entry);
        }
    }
    Some(received)
}

/// Echoes datagrams until `stop`.
pub(crate) fn echo(socket: &UdpSocket, stop: &AtomicBool) {
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let mut bytes = [0; 2048];
    while !stop.load(Ordering::Relaxed) {
        if let Ok(len) = socket.recv(&mut bytes) {
            let _ = socket.send(&bytes[..len]);
        }
    }
}

/// Median of the round-trip times of `count` datagrams of `len` bytes, sent one after the other with a
/// pause of 2 ms, from `client` to `server`, which echoes them.
pub(crate) fn ping_pong(client: &UdpSocket, server: &UdpSocket, len: usize, count: usize) -> Duration {
    let stop = AtomicBool::new(false);
    let mut times = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| echo(server, &stop));
        let _stops = Stops(&stop);
        let mut bytes = vec![7; len];
        for _ in 0..count {
            let began = Instant::now();
            client.send(&bytes).unwrap();
            if client.recv(&mut bytes).is_ok() {
                times.push(began.elapsed());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    assert!(times.len() * 100 >= count * 99, "{} of {count} came back", times.len());
    times.sort();
    times[times.len() / 2]
}

/// Sets the flag when dropped, even in a failing test: otherwise other threads would wait for ever.
pub(crate) struct Stops<'a>(pub(crate) &'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Forwards frames between the router's two links until `stop`, with the scheduling of the engine. It does
/// the minimum of any such program, so it is the baseline for this machine. Call it within [`Lab::router`].
pub(crate) fn relay(stop: &AtomicBool) {
    let sockets = [link(c"rcli"), link(c"rsrv")];
    let param = libc::sched_param { sched_priority: 10 };
    // SAFETY: `param` lives during the call; thread 0 is the caller. Failure is allowed, as the engine's
    // is.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const param) };
    let awake = OpenOptions::new().write(true).open("/dev/cpu_dma_latency");
    let _awake = awake.map(|mut file| file.write_all(&0_i32.to_ne_bytes()).map(|()| file));
    let mut bytes = [0_u8; 2048];
    while !stop.load(Ordering::Relaxed) {
        let mut ready = [0, 1].map(|n: usize| libc::pollfd {
            fd: sockets[n].as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        });
        // SAFETY: two entries that live during the call.
        unsafe { libc::poll(ready.as_mut_ptr(), 2, 50) };
        for from in [0, 1] {
            // SAFETY: the buffer lives during both calls and is as long as they are told.
            unsafe {
                let len =
                    libc::recv(ready[from].fd, bytes.as_mut_ptr().cast(), bytes.len(), libc::MSG_DONTWAIT);
                if len > 0 {
                    libc::send(ready[1 - from].fd, bytes.as_ptr().cast(), len.cast_unsigned(), 0);
                }
            }
        }
    }
}

/// A raw packet socket on the interface of this name.
fn link(name: &CStr) -> OwnedFd {
    const PACKET_IGNORE_OUTGOING: i32 = 23;
    let protocol = (libc::ETH_P_ALL as u16).to_be();
    // SAFETY: the calls take integers, a NUL-terminated string, and an address and a value that live during
    // them; the descriptor is owned from here on.
    unsafe {
        let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
        assert!(fd >= 0, "AF_PACKET: {}", io::Error::last_os_error());
        let on = 1_i32;
        libc::setsockopt(fd, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, (&raw const on).cast(), 4);
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol;
        address.sll_ifindex = libc::if_nametoindex(name.as_ptr()).cast_signed();
        let size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        assert_eq!(libc::bind(fd, (&raw const address).cast(), size), 0, "{}", io::Error::last_os_error());
        OwnedFd::from_raw_fd(fd)
    }
}

/// Sends datagrams of `len` bytes at `rate` bit/s on the wire until `stop`, in bursts of at least 1 ms.
pub(crate) fn flood(socket: &UdpSocket, len: usize, rate: f64, stop: &AtomicBool) {
    let bytes = vec![1; len];
    let gap = (len + UDP_HEADERS) as f64 * 8.0 / rate;
    let began = Instant::now();
    let mut sent = 0.0;
    while !stop.load(Ordering::Relaxed) {
        while sent * gap <= began.elapsed().as_secs_f64() {
            socket.send(&bytes).unwrap();
            sent += 1.0;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Sends these frames on the interface of this name.
pub(crate) fn send_frames(name: &CStr, frames: &[Vec<u8>]) {
    let socket = link(name);
    for frame in frames {
        // SAFETY: the frame lives during the call and is as long as it is told.
        let sent = unsafe { libc::send(socket.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
        assert_eq!(sent, frame.len().cast_signed(), "{}", io::Error::last_os_error());
    }
}

/// Sends UDP frames of 60 bytes on the interface of this name until `stop`, as fast as it can: what arrives
/// has no receiver.
pub(crate) fn flood_of_frames(name: &CStr, stop: &AtomicBool) {
    let socket = link(name);
    let mut frame = [0_u8; 60];
    frame[..6].copy_from_slice(&[0x02, 0x67, 0x71, 0, 0, 2]);
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[14..34].copy_from_slice(&[0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 73, 0, 1, 10, 73, 0, 2]);
    let mut vector = libc::iovec { iov_base: frame.as_mut_ptr().cast(), iov_len: frame.len() };
    // SAFETY: all bits zero are a valid mmsghdr.
    let mut headers: [libc::mmsghdr; 64] = unsafe { std::mem::zeroed() };
    for header in &mut headers {
        (header.msg_hdr.msg_iov, header.msg_hdr.msg_iovlen) = (&raw mut vector, 1);
    }
    while !stop.load(Ordering::Relaxed) {
        // SAFETY: all headers point to one vector, and that to the frame; they live during the call, and
        // the kernel only reads them.
        unsafe { libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), 64, 0) };
    }
}

/// Does an engine's work without real-time scheduling, as in a user namespace.
pub(crate) fn without_real_time(work: &mut (dyn FnMut() + Send)) {
    /// `linux/capability.h`: version 3.
    const VERSION: u32 = 0x2008_0522;
    const CAP_SYS_NICE: u32 = 23;
    let mut head = [VERSION, 0];
    // Effective, permitted and inheritable, 32 rights each.
    let mut sets = [[0_u32; 3]; 2];
    // SAFETY: both calls take a header and two sets for this thread, which live during the calls.
    unsafe {
        assert_eq!(libc::syscall(libc::SYS_capget, head.as_mut_ptr(), sets.as_mut_ptr()), 0);
        sets[0][0] &= !(1 << CAP_SYS_NICE);
        assert_eq!(libc::syscall(libc::SYS_capset, head.as_mut_ptr(), sets.as_ptr()), 0);
    }
    work();
}
