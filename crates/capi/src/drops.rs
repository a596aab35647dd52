//! Dropped packets, until their owner takes them.

use goodqueue::details::{Details, TcpHeader};
use goodqueue::{Header, Nanos, Observer, Origin, PacketInfo, Reason};

use crate::abi;
use crate::delivery::Delivery;
use crate::extras::Extras;

/// A dropped packet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Dropped {
    pub(crate) cookie: u64,
    pub(crate) len: u32,
    /// The reason's number in the header, within the bits of [`abi::GQ_REASON`].
    pub(crate) reason: u16,
    /// Number of the segment of a super-packet.
    pub(crate) segment: u16,
}

const _: () = assert!(abi::GQ_REASON_OTHER & !abi::GQ_REASON == 0, "a reason fits its bits");

/// The number of a reason in the header.
pub(crate) const fn reason(reason: Reason) -> i32 {
    match reason {
        Reason::Limit => abi::GQ_REASON_LIMIT,
        Reason::Memory => abi::GQ_REASON_MEMORY,
        Reason::Codel => abi::GQ_REASON_CODEL,
        Reason::TooBig => abi::GQ_REASON_TOOBIG,
        Reason::Change => abi::GQ_REASON_CHANGE,
        Reason::Reset => abi::GQ_REASON_RESET,
        Reason::Flush => abi::GQ_REASON_FLUSH,
        Reason::Blue => abi::GQ_REASON_BLUE,
        Reason::Ack => abi::GQ_REASON_ACK,
        Reason::Filter => abi::GQ_REASON_FILTER,
        Reason::Pie => abi::GQ_REASON_PIE,
        Reason::Pi2 => abi::GQ_REASON_PI2,
        Reason::Red => abi::GQ_REASON_RED,
        Reason::Rehash => abi::GQ_REASON_REHASH,
        Reason::FlowLimit => abi::GQ_REASON_FLOW_LIMIT,
        Reason::Horizon => abi::GQ_REASON_HORIZON,
        _ => abi::GQ_REASON_OTHER,
    }
}

/// A ring of dropped packets over the caller's memory. As an observer it also records marks, and it returns
/// packet data beyond descriptors.
pub(crate) struct Drops {
    places: &'static mut [Dropped],
    head: usize,
    len: usize,
    lost: u64,
    /// Whether a packet was marked since this was last cleared.
    pub(crate) is_marked: bool,
    /// For a queue that needs more than the descriptor.
    pub(crate) extras: Option<&'static mut Extras>,
}

impl Drops {
    pub(crate) const fn new(places: &'static mut [Dropped], extras: Option<&'static mut Extras>) -> Drops {
        Drops { places, head: 0, len: 0, lost: 0, is_marked: false, extras }
    }

    /// Number of waiting packets.
    #[inline]
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Number of packets whose handles were lost.
    pub(crate) const fn lost(&self) -> u64 {
        self.lost
    }

    /// Whether a call that may drop `most` packets could lose a handle because others wait.
    #[inline]
    pub(crate) const fn is_in_the_way(&self, most: usize) -> bool {
        self.len > 0 && self.places.len() - self.len < most
    }

    pub(crate) fn take(&mut self) -> Option<Dropped> {
        if self.len == 0 {
            return None;
        }
        let dropped = self.places.get(self.head).copied()?;
        self.head = if self.head + 1 == self.places.len() { 0 } else { self.head + 1 };
        self.len -= 1;
        Some(dropped)
    }

    /// Adds a dropped packet or segment.
    fn put(&mut self, packet: &Header, segment: u16, why: Reason) {
        let room = self.places.len();
        if room == 0 {
            return;
        }
        if self.len == room {
            self.lost += 1;
            return;
        }
        let at = self.head + self.len;
        let at = if at >= room { at - room } else { at };
        // At most 255, as tested above.
        let reason = reason(why) as u16;
        self.places[at] = Dropped { cookie: packet.cookie, len: packet.len, reason, segment };
        self.len += 1;
    }
}

impl Observer<Header> for Drops {
    fn dropped(&mut self, _now: Nanos, packet: Header, why: Reason) {
        match &mut self.extras {
            Some(extras) => {
                let Delivery { header, segment, .. } = extras.leave(packet);
                self.put(&header, segment, why);
            }
            None => self.put(&packet, 0, why),
        }
    }

    fn marked(&mut self, _now: Nanos, _packet: &Header, _reason: Reason) {
        self.is_marked = true;
    }
}

impl PacketInfo<Header> for Drops {
    fn details(&self, packet: &Header) -> Details {
        self.extras.as_ref().map_or_else(Details::default, |extras| extras.details(packet))
    }

    fn tcp(&self, packet: &Header) -> Option<TcpHeader> {
        self.extras.as_ref()?.tcp(packet)
    }

    fn segment(&mut self, packet: &Header, index: u16) -> Option<Header> {
        self.extras.as_mut()?.segment(packet, index)
    }

    fn origin(&self, _packet: &Header) -> Origin {
        self.extras.as_ref().map_or_else(Origin::default, |extras| extras.origin())
    }

    fn pacing_rate(&self, packet: &Header) -> Option<u64> {
        self.extras.as_ref()?.pacing_rate(packet)
    }
}
