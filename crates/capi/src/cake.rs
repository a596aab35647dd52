//! `cake`, with what it must know of packets beyond their descriptors.

use core::mem::MaybeUninit;

use goodqueue::arena::{NIL, Slot};
use goodqueue::cake::{AckFilter, Cake, Flow, Host, Params, Queued, Ranked, Ways};
use goodqueue::details::{Classified, Details, Gso, MOST_OPTIONS, TcpHeader};
use goodqueue::{Backlog, Header, Nanos, Observer, Packet, Queue as _, Reason, Rng, Stats, Verdict};

use crate::abi::{self, GQ_CLASS, GQ_DEFAULT, GQ_MAX_SEGMENTS, GQ_NO_LINK_HEADER, GQ_SHOT, GQ_STOLEN, Tcp};
use crate::code::{Code, GQ_EMEMORY, GQ_EPACKET, GQ_EVALUE};
use crate::drops::Drops;

const _: () = assert!(abi::GQ_SIGNED_ZERO == goodqueue::spec::SIGNED_ZERO);

/// A packet, or a segment of one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CakePacket {
    header: Header,
    /// The place of its TCP header; [`NIL`]: it has none.
    tcp: u32,
    /// Which segment of a super-packet that was cut.
    segment: u16,
    /// Segments of a super-packet that is whole.
    segments: u16,
}

impl Default for CakePacket {
    fn default() -> Self {
        CakePacket { header: Header::default(), tcp: NIL, segment: 0, segments: 0 }
    }
}

impl Packet for CakePacket {
    fn len(&self) -> u32 {
        self.header.len
    }
    fn truesize(&self) -> u32 {
        self.header.truesize
    }
    fn flow_hash(&self) -> u32 {
        self.header.flow_hash
    }
    fn dsfield(&self) -> u8 {
        self.header.dsfield
    }
    fn set_ce(&mut self) -> bool {
        self.header.set_ce()
    }
    fn clear_dscp(&mut self) {
        self.header.clear_dscp();
    }
}

/// Where a packet waits.
pub(crate) type CakeSlot = Slot<Queued<CakePacket>>;

/// A place for a TCP header, linked to the next free one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TcpPlace {
    header: TcpHeader,
    next: u32,
}

impl Default for TcpPlace {
    fn default() -> Self {
        let header = TcpHeader {
            connection: 0,
            ack: 0,
            flags: 0,
            payload: 0,
            options: [0; MOST_OPTIONS],
            options_len: 0,
        };
        TcpPlace { header, next: NIL }
    }
}

/// The TCP headers of what is queued.
struct TcpPlaces {
    places: &'static mut [TcpPlace],
    free: u32,
}

impl TcpPlaces {
    fn new(places: &'static mut [TcpPlace]) -> TcpPlaces {
        let mut free = NIL;
        for (at, place) in (0..).zip(places.iter_mut()) {
            place.next = free;
            free = at;
        }
        TcpPlaces { places, free }
    }

    /// Keeps a header; where there is no place for it the packet is one without.
    fn keep(&mut self, header: TcpHeader) -> u32 {
        let at = self.free;
        let Some(place) = self.places.get_mut(at as usize) else { return NIL };
        self.free = place.next;
        place.header = header;
        at
    }

    fn release(&mut self, at: u32) {
        if let Some(place) = self.places.get_mut(at as usize) {
            place.next = self.free;
            self.free = at;
        }
    }
}

/// What the queue lies in.
pub(crate) struct CakeStorage {
    pub(crate) place: &'static mut MaybeUninit<CakeQueue>,
    pub(crate) tables: Tables,
    pub(crate) slots: &'static mut [CakeSlot],
    pub(crate) tcp: &'static mut [TcpPlace],
}

type Tables = (&'static mut [Ways], &'static mut [Host], &'static mut [Flow], &'static mut [Ranked]);

/// The owner of the packets during a call.
struct Owner<'a> {
    drops: &'a mut Drops,
    tcp: &'a mut TcpPlaces,
    /// Of the packet that arrives.
    arriving: Option<Details>,
    was_cut: bool,
}

impl Observer<CakePacket> for Owner<'_> {
    fn dropped(&mut self, _now: Nanos, packet: CakePacket, reason: Reason) {
        self.drops.put(&packet.header, packet.segment, reason);
        self.tcp.release(packet.tcp);
    }

    fn marked(&mut self, _now: Nanos, _packet: &CakePacket, _reason: Reason) {
        self.drops.is_marked = true;
    }

    fn details(&self, packet: &CakePacket) -> Details {
        let whole = || {
            let gso = (packet.segments > 0).then_some(Gso { segments: packet.segments, size: 0, headers: 0 });
            Details { gso, ..Details::default() }
        };
        self.arriving.unwrap_or_else(whole)
    }

    fn tcp(&self, packet: &CakePacket) -> Option<TcpHeader> {
        self.tcp.places.get(packet.tcp as usize).map(|place| place.header)
    }

    /// A segment has its own headers and payload, and an equal part of the memory beyond.
    fn segment(&mut self, packet: &CakePacket, index: u16) -> Option<CakePacket> {
        let gso = self.arriving?.gso?;
        self.was_cut = true;
        let segments = u32::from(gso.segments);
        let payload = packet.header.len - segments * gso.headers;
        let len = gso.headers + (payload - u32::from(index) * gso.size).min(gso.size);
        let truesize = len + (packet.header.truesize - packet.header.len) / segments;
        Some(CakePacket {
            header: Header { len, truesize, ..packet.header },
            tcp: NIL,
            segment: index,
            segments: 0,
        })
    }
}

/// What a packet says of itself, if it can be so.
fn details(packet: &abi::Packet) -> Result<Details, Code> {
    let segments = packet.head.gso_segments;
    let gso =
        (segments > 1).then_some(Gso { segments, size: packet.gso_size, headers: packet.gso_headers.into() });
    if let Some(gso) = &gso {
        // The last segment has 1 to `size` bytes.
        let others = (u64::from(segments) - 1) * u64::from(gso.size);
        let payload = u64::from(packet.head.len).checked_sub(u64::from(segments) * u64::from(gso.headers));
        let last = payload.and_then(|payload| payload.checked_sub(others));
        let is_made_up = last.is_some_and(|last| last >= 1 && last <= u64::from(gso.size));
        if u32::from(segments) > GQ_MAX_SEGMENTS || !is_made_up {
            return Err(GQ_EPACKET);
        }
    }
    Ok(Details {
        source_hash: packet.source_hash,
        destination_hash: packet.destination_hash,
        mark: packet.mark,
        priority: packet.priority,
        classified: match u32::from(packet.head.classified) {
            0 => Classified::None,
            GQ_CLASS => Classified::Class(packet.class_id),
            GQ_SHOT => Classified::Shot,
            GQ_STOLEN => Classified::Stolen,
            _ => return Err(GQ_EPACKET),
        },
        network_offset: match packet.head.link_header {
            0 => 14,
            header if u32::from(header) == GQ_NO_LINK_HEADER => 0,
            header => header,
        },
        is_arp: packet.is_arp != 0,
        gso,
    })
}

fn tcp_header(tcp: &Tcp) -> Result<TcpHeader, Code> {
    let &Tcp { ack, connection, payload, flags, options_len, options, .. } = tcp;
    if usize::from(options_len) > MOST_OPTIONS {
        return Err(GQ_EPACKET);
    }
    Ok(TcpHeader { connection, ack, flags, payload, options, options_len })
}

/// A `cake` of the C library.
pub(crate) struct CakeQueue {
    cake: Cake<CakePacket, Tables, &'static mut [CakeSlot]>,
    tcp: TcpPlaces,
    details: Details,
    /// The TCP header of the packet that arrives.
    header: Option<TcpHeader>,
    /// Which segment was delivered last, or how many there were in it.
    delivered: (u16, u16),
}

impl CakeQueue {
    /// An empty queue in its place.
    pub(crate) fn new(
        params: Params,
        seed: u64,
        storage: CakeStorage,
    ) -> Result<&'static mut CakeQueue, Code> {
        let seed = if seed == GQ_DEFAULT { 0 } else { seed };
        let draws = Rng::stream(seed, 0, "queue").into();
        let CakeStorage { place, tables, slots, tcp } = storage;
        let cake = Cake::new(params, draws, tables, slots).map_err(|_| GQ_EMEMORY)?;
        let (tcp, details) = (TcpPlaces::new(tcp), Details::default());
        Ok(place.write(CakeQueue { cake, tcp, details, header: None, delivered: (0, 0) }))
    }

    /// What is said of the packet that comes next. How many packets it can turn into.
    #[inline(never)]
    pub(crate) fn expect(&mut self, (packet, tcp): (abi::Packet, Option<Tcp>)) -> Result<usize, Code> {
        self.details = details(&packet)?;
        self.header = tcp.as_ref().map(tcp_header).transpose()?;
        Ok(usize::from(packet.head.gso_segments).max(1))
    }

    /// Takes the packet that was told of.
    pub(crate) fn enqueue(&mut self, now: Nanos, header: Header, drops: &mut Drops) -> Verdict {
        let tcp = self.header.take().map_or(NIL, |header| self.tcp.keep(header));
        let segments = self.details.gso.map_or(0, |gso| gso.segments);
        let packet = CakePacket { header, tcp, segment: 0, segments };
        let mut owner = Owner { drops, tcp: &mut self.tcp, arriving: Some(self.details), was_cut: false };
        let verdict = self.cake.enqueue(now, packet, &mut owner);
        if owner.was_cut {
            self.tcp.release(tcp);
        }
        verdict
    }

    pub(crate) fn dequeue(&mut self, now: Nanos, drops: &mut Drops) -> Option<Header> {
        let mut owner = Owner { drops, tcp: &mut self.tcp, arriving: None, was_cut: false };
        let packet = self.cake.dequeue(now, &mut owner)?;
        self.tcp.release(packet.tcp);
        self.delivered = (packet.segment, packet.segments);
        Some(packet.header)
    }

    /// Which segment of a super-packet was delivered last, and how many there were in it.
    pub(crate) const fn delivered(&self) -> (u16, u16) {
        self.delivered
    }

    /// Sets all parameters. The number of flows stays, as do the tins that there is storage for, and whether there are
    /// places for TCP headers.
    pub(crate) fn configure(
        &mut self,
        now: Nanos,
        params: Params,
        flows: u64,
        drops: &mut Drops,
    ) -> Result<(), Code> {
        let has_flows = flows == GQ_DEFAULT || flows == u64::from(self.cake.flows());
        if !has_flows || (params.ack_filter != AckFilter::Off && self.tcp.places.is_empty()) {
            return Err(GQ_EVALUE);
        }
        let mut owner = Owner { drops, tcp: &mut self.tcp, arriving: None, was_cut: false };
        self.cake.configure(now, params, &mut owner).map_err(|_| GQ_EVALUE)
    }

    pub(crate) fn reset(&mut self, now: Nanos, drops: &mut Drops) {
        let mut owner = Owner { drops, tcp: &mut self.tcp, arriving: None, was_cut: false };
        self.cake.reset(now, &mut owner);
    }

    pub(crate) fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        self.cake.next_wake(now)
    }

    pub(crate) fn backlog(&self) -> Backlog {
        self.cake.backlog()
    }

    pub(crate) fn stats(&self) -> Stats {
        self.cake.stats()
    }

    pub(crate) fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        self.cake.counters(each);
    }
}
