//! What some queues must know of packets beyond their descriptors: `cake`, `dualpi2`, `fq` and `wheel`, and
//! classes of them.

use goodqueue::arena::NIL;
use goodqueue::details::{Classified, Details, Gso, MOST_OPTIONS, TcpHeader};
use goodqueue::{Header, Nanos, Origin, Socket};

use crate::abi::{self, GQ_CLASS, GQ_MAX_SEGMENTS, GQ_NO_LINK_HEADER, GQ_SHOT, GQ_STOLEN, Head, Tcp};
use crate::code::{Code, GQ_EMEMORY, GQ_EPACKET};
use crate::delivery::Delivery;

/// What is kept of a packet while it is queued. Its number is the cookie that the queue sees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extra {
    cookie: u64,
    /// The next free place.
    next: u32,
    /// Which segment of a super-packet that was cut.
    segment: u16,
    /// Segments of a super-packet that is whole.
    segments: u16,
}

impl Default for Extra {
    fn default() -> Self {
        Extra { cookie: 0, next: NIL, segment: 0, segments: 0 }
    }
}

/// Places for what is kept, as many of each kind as the queue asks for, or none.
pub(crate) struct Storage {
    pub(crate) places: &'static mut [Extra],
    /// The TCP header of each, for the ack filter.
    pub(crate) tcp: &'static mut [Option<TcpHeader>],
    /// The pacing rate of each, for `fq`; 0: none.
    pub(crate) rates: &'static mut [u64],
}

/// The packet that arrives, and what is kept of those queued.
pub(crate) struct Extras {
    storage: Storage,
    free: u32,
    is_arriving: bool,
    was_cut: bool,
    arriving: abi::Packet,
    tcp: Option<TcpHeader>,
}

impl Extras {
    pub(crate) fn new(storage: Storage) -> Extras {
        let mut free = NIL;
        for (at, place) in (0..).zip(storage.places.iter_mut()) {
            place.next = free;
            free = at;
        }
        Extras {
            storage,
            free,
            is_arriving: false,
            was_cut: false,
            arriving: abi::Packet::NOTHING,
            tcp: None,
        }
    }

    /// Whether TCP headers are kept.
    pub(crate) const fn has_tcp(&self) -> bool {
        !self.storage.tcp.is_empty()
    }

    /// What is said of the packet that comes next. How many packets it can turn into.
    #[inline]
    pub(crate) fn expect(&mut self, packet: &abi::Packet, tcp: Option<&Tcp>) -> Result<usize, Code> {
        let segments = packet.head.gso_segments;
        if segments > 1 {
            check_segments(packet)?;
        }
        if u32::from(packet.head.classified) > GQ_STOLEN || packet.socket >> 63 != 0 {
            return Err(GQ_EPACKET);
        }
        let tcp = tcp.map(tcp_header).transpose()?;
        self.arriving = *packet;
        if self.has_tcp() {
            self.tcp = tcp;
        }
        Ok(usize::from(segments).max(1))
    }

    /// The packet that was told of, as the queue sees it.
    #[inline]
    pub(crate) fn arrive(&mut self, packet: Header) -> Result<Header, Code> {
        (self.is_arriving, self.was_cut) = (true, false);
        if self.storage.places.is_empty() {
            return Ok(packet);
        }
        let segments = self.arriving.head.gso_segments;
        let segments = if segments > 1 { segments } else { 0 };
        let extra = Extra { cookie: packet.cookie, next: NIL, segment: 0, segments };
        let at = self.keep(extra).ok_or(GQ_EMEMORY)?;
        if let Some(place) = self.storage.tcp.get_mut(at as usize) {
            *place = self.tcp.take();
        }
        Ok(Header { cookie: at.into(), ..packet })
    }

    /// The queue has it, or gave it back. Where it was cut, nothing more is heard of the whole.
    #[inline]
    pub(crate) fn arrived(&mut self, packet: &Header) {
        self.is_arriving = false;
        if self.was_cut {
            self.release(packet);
        }
    }

    #[inline]
    fn keep(&mut self, extra: Extra) -> Option<u32> {
        let at = self.free;
        let place = self.storage.places.get_mut(at as usize)?;
        self.free = place.next;
        *place = extra;
        if let Some(place) = self.storage.rates.get_mut(at as usize) {
            *place = self.arriving.pacing_rate;
        }
        Some(at)
    }

    /// What was kept of a packet that leaves; its place is free. `None` where nothing is kept.
    fn release(&mut self, packet: &Header) -> Option<Extra> {
        let at = u32::try_from(packet.cookie).ok()?;
        let place = self.storage.places.get_mut(at as usize)?;
        let extra = *place;
        place.next = self.free;
        self.free = at;
        Some(extra)
    }

    /// A packet leaves: as its owner knows it.
    #[inline]
    pub(crate) fn leave(&mut self, packet: Header) -> Delivery {
        match self.release(&packet) {
            Some(Extra { cookie, segment, segments, .. }) => {
                Delivery { header: Header { cookie, ..packet }, segment, segments }
            }
            None => Delivery { header: packet, segment: 0, segments: 0 },
        }
    }

    fn at<T: Copy>(places: &[T], packet: &Header) -> Option<T> {
        places.get(usize::try_from(packet.cookie).ok()?).copied()
    }

    /// What is known of a packet: all while it arrives, later how many segments it has. A queue that asks
    /// later asks for no more.
    pub(crate) fn details(&self, packet: &Header) -> Details {
        if self.is_arriving {
            return details(&self.arriving);
        }
        let segments = Self::at(self.storage.places, packet).map_or(0, |extra| extra.segments);
        let gso = (segments > 0).then_some(Gso { segments, size: 0, headers: 0 });
        Details { gso, ..Details::default() }
    }

    pub(crate) fn origin(&self) -> Origin {
        origin(&self.arriving)
    }

    pub(crate) fn tcp(&self, packet: &Header) -> Option<TcpHeader> {
        Self::at(self.storage.tcp, packet)?
    }

    pub(crate) fn pacing_rate(&self, packet: &Header) -> Option<u64> {
        Self::at(self.storage.rates, packet).filter(|&rate| rate > 0)
    }

    /// A segment has its own headers and payload, and an equal part of the memory beyond.
    pub(crate) fn segment(&mut self, packet: &Header, index: u16) -> Option<Header> {
        let gso = gso(&self.arriving)?;
        let whole = Self::at(self.storage.places, packet)?;
        let extra = Extra { segment: index, segments: 0, ..whole };
        let at = self.keep(extra)?;
        if let Some(place) = self.storage.tcp.get_mut(at as usize) {
            *place = None;
        }
        self.was_cut = true;
        let segments = u32::from(gso.segments);
        let payload = packet.len - segments * gso.headers;
        let len = gso.headers + (payload - u32::from(index) * gso.size).min(gso.size);
        let truesize = len + (packet.truesize - packet.len) / segments;
        Some(Header { cookie: at.into(), len, truesize, ..*packet })
    }
}

/// How a super-packet is made up.
fn gso(packet: &abi::Packet) -> Option<Gso> {
    let segments = packet.head.gso_segments;
    (segments > 1).then_some(Gso { segments, size: packet.gso_size, headers: packet.gso_headers.into() })
}

/// Whether a super-packet can be so: its last segment has 1 to `size` bytes.
#[cold]
fn check_segments(packet: &abi::Packet) -> Result<(), Code> {
    let (segments, size) = (u64::from(packet.head.gso_segments), u64::from(packet.gso_size));
    let payload = u64::from(packet.head.len).checked_sub(segments * u64::from(packet.gso_headers));
    let last = payload.and_then(|payload| payload.checked_sub((segments - 1) * size));
    let is_made_up = last.is_some_and(|last| last >= 1 && last <= size);
    if segments <= u64::from(GQ_MAX_SEGMENTS) && is_made_up { Ok(()) } else { Err(GQ_EPACKET) }
}

fn details(packet: &abi::Packet) -> Details {
    Details {
        source_hash: packet.source_hash,
        destination_hash: packet.destination_hash,
        mark: packet.mark,
        priority: packet.priority,
        classified: match u32::from(packet.head.classified) {
            GQ_CLASS => Classified::Class(packet.class_id),
            GQ_SHOT => Classified::Shot,
            GQ_STOLEN => Classified::Stolen,
            _ => Classified::None,
        },
        network_offset: match packet.head.link_header {
            0 => 14,
            header if u32::from(header) == GQ_NO_LINK_HEADER => 0,
            header => header,
        },
        is_arp: packet.is_arp != 0,
        gso: gso(packet),
    }
}

fn origin(packet: &abi::Packet) -> Origin {
    let &abi::Packet { socket, socket_hash, is_connected, departure, priority, .. } = packet;
    let socket =
        (socket > 0).then_some(Socket { id: socket, hash: socket_hash, is_connected: is_connected != 0 });
    Origin { socket, departure: (departure > 0).then_some(Nanos(departure)), priority }
}

fn tcp_header(tcp: &Tcp) -> Result<TcpHeader, Code> {
    let &Tcp { ack, connection, payload, flags, options_len, options, .. } = tcp;
    if usize::from(options_len) > MOST_OPTIONS {
        return Err(GQ_EPACKET);
    }
    Ok(TcpHeader { connection, ack, flags, payload, options, options_len })
}

impl abi::Packet {
    /// What is not known of a packet.
    const NOTHING: abi::Packet = abi::Packet {
        head: Head::of(Header { cookie: 0, len: 0, truesize: 0, flow_hash: 0, dsfield: 0 }),
        source_hash: 0,
        destination_hash: 0,
        mark: 0,
        priority: 0,
        class_id: 0,
        gso_size: 0,
        gso_headers: 0,
        is_arp: 0,
        reserved: [0; 5],
        socket: 0,
        departure: 0,
        pacing_rate: 0,
        socket_hash: 0,
        is_connected: 0,
        more: [0; 3],
    };
}
