//! Packet data beyond descriptors, for `cake`, `dualpi2`, `fq` and `wheel`, and classes with them.

use goodqueue::arena::NIL;
use goodqueue::details::{Classified, Details, Gso, MOST_OPTIONS, TcpHeader};
use goodqueue::{Header, Nanos, Origin, Socket};

use crate::abi::{self, GQ_CLASS, GQ_MAX_SEGMENTS, GQ_NO_LINK_HEADER, GQ_SHOT, GQ_STOLEN, Head, Tcp};
use crate::code::{Code, GQ_EMEMORY, GQ_EPACKET};
use crate::delivery::Delivery;

/// The data of a packet while it is queued. Its index is the cookie that the queue sees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extra {
    cookie: u64,
    /// The next free slot.
    next: u32,
    /// Number of the segment, if a super-packet was cut.
    segment: u16,
    /// Number of segments of an uncut super-packet.
    segments: u16,
}

impl Default for Extra {
    fn default() -> Self {
        Extra { cookie: 0, next: NIL, segment: 0, segments: 0 }
    }
}

/// Slots for the data: of each kind as many as the queue needs, or none.
pub(crate) struct Storage {
    pub(crate) places: &'static mut [Extra],
    /// The TCP header of each packet, for the ACK filter.
    pub(crate) tcp: &'static mut [Option<TcpHeader>],
    /// The pacing rate of each packet, for `fq`; 0: none.
    pub(crate) rates: &'static mut [u64],
}

/// The arriving packet, and the data of those queued.
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

    /// Sets the data of the next packet; returns how many packets it can become.
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

    /// The expected packet, as the queue sees it.
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

    /// The queue holds the packet or has returned it. If it was cut, the original packet no longer exists.
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

    /// The data of a leaving packet; frees its slot. `None` if there is no data.
    fn release(&mut self, packet: &Header) -> Option<Extra> {
        let at = u32::try_from(packet.cookie).ok()?;
        let place = self.storage.places.get_mut(at as usize)?;
        let extra = *place;
        place.next = self.free;
        self.free = at;
        Some(extra)
    }

    /// A packet leaves; returns it in its owner's form.
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

    /// The details of a packet: all of them while it arrives, later only its number of segments. Queues need
    /// no more later.
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

    /// A segment has its own headers and payload, and an equal share of the remaining memory.
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

/// The structure of a super-packet.
fn gso(packet: &abi::Packet) -> Option<Gso> {
    let segments = packet.head.gso_segments;
    (segments > 1).then_some(Gso { segments, size: packet.gso_size, headers: packet.gso_headers.into() })
}

/// Checks a super-packet: its last segment must have 1 to `size` bytes.
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
    /// A packet without any data.
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
