//! The segments sent and not yet cumulatively acknowledged, with what SACK, loss detection and the delivery
//! rate know about each (RFC 6675's scoreboard), in a ring that grows.
//!
//! No operation walks over the whole window. A segment is in one of three states, and its two links belong to
//! that state: in flight (a list in order of transmission), lost and waiting for retransmission (a list in
//! order of sequence), or reported by SACK (a forest of skip pointers over runs of such segments).

use goodqueue::Nanos;

/// No link.
pub(super) const NIL: u32 = u32::MAX;

/// Number of places of the smallest ring.
const LEAST: u32 = 8;

/// SACK has reported it (Linux `TCPCB_SACKED_ACKED`).
pub(super) const SACKED: u8 = 1;
/// It is marked lost (Linux `TCPCB_LOST`).
pub(super) const LOST: u8 = 2;
/// Its retransmission is in flight (Linux `TCPCB_SACKED_RETRANS`).
pub(super) const RETRANS: u8 = 4;
/// It was retransmitted at some time (Linux `TCPCB_EVER_RETRANS`).
pub(super) const EVER: u8 = 8;
/// It ends with FIN.
pub(super) const FIN: u8 = 16;
/// It was sent while the application limited the sender.
pub(super) const APP_LIMITED: u8 = 32;
/// The delivery rate has used it.
pub(super) const SAMPLED: u8 = 64;
/// Its packet ends here: the memory of a packet's head is held until this segment is acknowledged.
pub(super) const LAST: u8 = 128;

/// One segment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    pub(super) seq: u64,
    /// When it was last sent.
    pub(super) sent: Nanos,
    /// Segments delivered by then, modulo 2^32.
    pub(super) delivered: u32,
    prev: u32,
    next: u32,
    pub(super) len: u16,
    pub(super) flags: u8,
}

impl Slot {
    /// A segment at `seq` sent at `sent`, when `delivered` were delivered.
    pub(super) fn new(seq: u64, sent: Nanos, delivered: u32, flags: u8) -> Slot {
        Slot { seq, sent, delivered, flags, ..Slot::default() }
    }

    /// One past its last sequence number.
    pub(super) fn end(&self) -> u64 {
        self.seq + u64::from(self.len) + u64::from(self.flags & FIN != 0)
    }

    /// Whether any of these flags is set.
    pub(super) fn has(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }

    /// Whether it is in the list of segments that wait for retransmission.
    pub(super) fn is_pending(&self) -> bool {
        self.flags & (SACKED | LOST | RETRANS) == LOST
    }
}

/// A segment's record for the delivery rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stamps {
    /// Send time of the newest segment delivered when this one was last sent (Linux `tx.first_tx_mstamp`).
    pub(super) first_tx: Nanos,
    /// When that segment was delivered (Linux `tx.delivered_mstamp`).
    pub(super) delivered: Nanos,
}

/// The [`Stamps`] of the ring's places. They are behind a pointer, since most senders do not use the delivery
/// rate.
#[derive(Clone, Debug, Default)]
struct Rated(Vec<Stamps>);

/// A doubly linked list through the ring.
#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
}

impl List {
    const EMPTY: List = List { head: NIL, tail: NIL };

    fn insert_after(&mut self, slots: &mut [Slot], before: u32, pos: u32) {
        let after = if before == NIL { self.head } else { slots[before as usize].next };
        slots[pos as usize].prev = before;
        slots[pos as usize].next = after;
        if before == NIL {
            self.head = pos;
        } else {
            slots[before as usize].next = pos;
        }
        if after == NIL {
            self.tail = pos;
        } else {
            slots[after as usize].prev = pos;
        }
    }

    fn push(&mut self, slots: &mut [Slot], pos: u32) {
        let before = std::mem::replace(&mut self.tail, pos);
        let slot = &mut slots[pos as usize];
        slot.prev = before;
        slot.next = NIL;
        match slots.get_mut(before as usize) {
            Some(slot) => slot.next = pos,
            None => self.head = pos,
        }
    }

    /// Takes the first one out.
    fn shift(&mut self, slots: &mut [Slot]) {
        self.head = slots[self.head as usize].next;
        match slots.get_mut(self.head as usize) {
            Some(next) => next.prev = NIL,
            None => self.tail = NIL,
        }
    }

    fn unlink(&mut self, slots: &mut [Slot], pos: u32) {
        let Slot { prev, next, .. } = slots[pos as usize];
        if prev == NIL {
            self.head = next;
        } else {
            slots[prev as usize].next = next;
        }
        if next == NIL {
            self.tail = prev;
        } else {
            slots[next as usize].prev = prev;
        }
    }
}

/// The place `offset` behind `pos` in a ring of `size`. Neither is larger than `size`.
fn wrap(pos: u32, offset: u32, size: u32) -> u32 {
    let place = pos + offset;
    if place >= size { place - size } else { place }
}

/// Segments that one acknowledgement removes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) segments: u32,
    /// Packets that end with one of them.
    pub(super) packets: u32,
    /// When the first and the last of them were sent.
    pub(super) first_sent: Nanos,
    pub(super) last_sent: Nanos,
    /// [`Slot::delivered`] of the last.
    pub(super) last_delivered: u32,
    /// Whether the application limited the sender when the last was sent.
    pub(super) is_app_limited: bool,
}

/// The ring. Its size need not be a power of two, so it is no larger than the window needs.
#[derive(Clone, Debug)]
pub(super) struct Scoreboard {
    slots: Vec<Slot>,
    /// The stamps of each segment, if the delivery rate is used.
    stamps: Option<Box<Rated>>,
    head: u32,
    len: u32,
    /// In flight, in order of (last) transmission (Linux `tsorted_sent_queue`).
    flight: List,
    /// Lost and not retransmitted, in order of sequence.
    pending: List,
    /// The last insertion into `pending`, since losses come in ascending runs.
    hint: u32,
}

impl Scoreboard {
    /// An empty scoreboard, which allocates nothing. `is_rated`: the delivery rate will be used.
    pub(super) fn new(is_rated: bool) -> Scoreboard {
        Scoreboard {
            slots: Vec::new(),
            stamps: is_rated.then(Box::default),
            head: 0,
            len: 0,
            flight: List::EMPTY,
            pending: List::EMPTY,
            hint: NIL,
        }
    }

    /// Segments outstanding.
    #[cfg(debug_assertions)]
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// Places of the ring.
    #[allow(clippy::cast_possible_truncation)]
    fn size(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Distance of `pos` from the head.
    fn offset(&self, pos: u32) -> u32 {
        if pos < self.head { pos + self.size() - self.head } else { pos - self.head }
    }

    fn at(&self, offset: u32) -> u32 {
        wrap(self.head, offset, self.size())
    }

    /// Position after the last segment.
    pub(super) fn end(&self) -> u32 {
        self.at(self.len)
    }

    /// Position after `pos`.
    pub(super) fn after(&self, pos: u32) -> u32 {
        wrap(pos, 1, self.size())
    }

    /// The segment at `pos`.
    pub(super) fn get(&self, pos: u32) -> &Slot {
        &self.slots[pos as usize]
    }

    pub(super) fn get_mut(&mut self, pos: u32) -> &mut Slot {
        &mut self.slots[pos as usize]
    }

    /// Position and segment with the lowest sequence number.
    pub(super) fn first(&self) -> Option<(u32, &Slot)> {
        if self.len == 0 { None } else { Some((self.head, &self.slots[self.head as usize])) }
    }

    /// Position and segment with the highest sequence number.
    pub(super) fn last(&self) -> Option<(u32, &Slot)> {
        if self.len == 0 {
            return None;
        }
        let pos = self.at(self.len - 1);
        Some((pos, &self.slots[pos as usize]))
    }

    /// Adds the `segs` segments of a packet of `len` bytes that was just sent. `first` is the first one,
    /// without its length. Each has `mss` bytes but the last, which has the flags `last`.
    #[allow(clippy::cast_possible_truncation)]
    // What the inline attributes of this file gain: docs/performance.md, "Inlining".
    #[inline(always)]
    pub(super) fn push_packet(
        &mut self,
        (first, stamps): (Slot, Stamps),
        len: u32,
        mss: u32,
        segs: u32,
        last: u8,
    ) {
        if self.len + segs >= self.size() {
            self.grow(segs);
        }
        let mut slot = Slot { prev: self.flight.tail, len: mss as u16, ..first };
        let mut pos = self.end();
        if self.stamps.is_some() {
            self.stamp(pos, segs, stamps);
        }
        match self.slots.get_mut(slot.prev as usize) {
            Some(before) => before.next = pos,
            None => self.flight.head = pos,
        }
        self.len += segs;
        let mut left = len;
        while left > mss {
            left -= mss;
            slot.next = self.after(pos);
            self.slots[pos as usize] = slot;
            slot.seq += u64::from(mss);
            (slot.prev, pos) = (pos, slot.next);
        }
        self.slots[pos as usize] = Slot { len: left as u16, flags: slot.flags | last, next: NIL, ..slot };
        self.flight.tail = pos;
    }

    /// Stores the record of `segs` segments from `pos` on for the delivery rate.
    #[inline(never)]
    fn stamp(&mut self, pos: u32, segs: u32, stamps: Stamps) {
        let size = self.size();
        let places = (0..segs).map(|offset| wrap(pos, offset, size) as usize);
        if let Some(rated) = &mut self.stamps {
            places.for_each(|place| rated.0[place] = stamps);
        }
    }

    /// The record of the segment at `pos` for the delivery rate, if that is used.
    pub(super) fn stamps(&self, pos: u32) -> Option<Stamps> {
        self.stamps.as_ref().map(|rated| rated.0[pos as usize])
    }

    /// Makes room for `segs` more segments, and for half as many again as there are. One place stays free, so
    /// that the end is not the head.
    #[cold]
    fn grow(&mut self, segs: u32) {
        self.resize((self.len + self.len / 2).max(self.len + segs + 1).max(LEAST));
    }

    /// Gives back memory that a larger window needed.
    #[cold]
    pub(super) fn fit(&mut self) {
        let size = (self.len + self.len / 2).max(LEAST);
        if self.size() > 2 * size {
            self.resize(size);
        }
    }

    /// Moves everything to a ring of `size` with the head at its beginning, and translates every link.
    #[allow(clippy::cast_possible_truncation)]
    fn resize(&mut self, size: u32) {
        let translate = |pos: u32| {
            if pos == NIL { NIL } else { self.offset(pos) }
        };
        let move_slot = |offset| {
            let slot = self.get(self.at(offset));
            Slot { prev: translate(slot.prev), next: translate(slot.next), ..*slot }
        };
        let mut slots = Vec::with_capacity(size as usize);
        slots.extend((0..self.len).map(move_slot));
        slots.resize(size as usize, Slot::default());
        let list = |List { head, tail }| List { head: translate(head), tail: translate(tail) };
        (self.flight, self.pending, self.hint) =
            (list(self.flight), list(self.pending), translate(self.hint));
        if let Some(rated) = &self.stamps {
            let mut stamps = Vec::with_capacity(size as usize);
            stamps.extend((0..self.len).map(|offset| rated.0[self.at(offset) as usize]));
            stamps.resize(size as usize, Stamps::default());
            self.stamps = Some(Box::new(Rated(stamps)));
        }
        self.slots = slots;
        self.head = 0;
    }

    /// Removes the first segment. Usually it is also the oldest in flight.
    pub(super) fn pop(&mut self) {
        let pos = self.head;
        if self.flight.head == pos {
            self.flight.shift(&mut self.slots);
        } else {
            self.detach(pos);
        }
        self.head = self.after(pos);
        self.len -= 1;
    }

    /// Removes the segments that an acknowledgement of `una` covers, if they are whole segments from
    /// `prior_una` on, sent once, and neither lost nor reported by SACK. They are then also the first in the
    /// order of transmission.
    // What this inline attribute gains: docs/performance.md, "Inlining".
    #[inline(always)]
    pub(super) fn take_run(&mut self, prior_una: u64, una: u64) -> Option<Run> {
        let (mut pos, first) = self.first()?;
        let (first_seq, first_sent) = (first.seq, first.sent);
        let mut last = first;
        let (mut segments, mut packets, mut flags) = (0, 0, 0);
        while segments < self.len {
            let slot = &self.slots[pos as usize];
            if slot.end() > una {
                break;
            }
            flags |= slot.flags;
            packets += u32::from(slot.has(LAST));
            last = slot;
            pos = self.after(pos);
            segments += 1;
        }
        let is_whole = first_seq == prior_una && last.end() == una;
        if !is_whole || flags & (SACKED | LOST | RETRANS | EVER | SAMPLED) != 0 {
            return None;
        }
        let (last_sent, last_delivered, is_app_limited) = (last.sent, last.delivered, last.has(APP_LIMITED));
        let run = Run { segments, packets, first_sent, last_sent, last_delivered, is_app_limited };
        let oldest = last.next;
        self.flight.head = oldest;
        match self.slots.get_mut(oldest as usize) {
            Some(slot) => slot.prev = NIL,
            None => self.flight.tail = NIL,
        }
        self.head = pos;
        self.len -= segments;
        Some(run)
    }

    /// Takes a segment out of its list.
    fn detach(&mut self, pos: u32) {
        let slot = &self.slots[pos as usize];
        if slot.has(SACKED) {
            return;
        }
        if slot.is_pending() {
            self.pending.unlink(&mut self.slots, pos);
            if self.hint == pos {
                self.hint = NIL;
            }
        } else {
            self.flight.unlink(&mut self.slots, pos);
        }
    }

    /// Position of the first segment whose sequence number is at least `seq`; the end if there is none.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn locate(&self, seq: u64, mss: u32) -> u32 {
        let Some((head, first)) = self.first() else { return self.end() };
        if seq <= first.seq {
            return head;
        }
        let guess = (seq - first.seq) / u64::from(mss.max(1));
        if guess < u64::from(self.len) && self.get(self.at(guess as u32)).seq == seq {
            return self.at(guess as u32);
        }
        let (mut low, mut high) = (0, self.len);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(self.at(middle)).seq < seq {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.at(low)
    }

    /// First segment from `pos` on that SACK has not reported, or the end. It halves the paths that it
    /// follows, so that a run costs almost nothing the next time.
    pub(super) fn skip_sacked(&mut self, pos: u32) -> u32 {
        let end = self.end();
        let mut pos = pos;
        while pos != end && self.slots[pos as usize].has(SACKED) {
            let next = self.slots[pos as usize].next;
            if next != end && self.slots[next as usize].has(SACKED) {
                self.slots[pos as usize].next = self.slots[next as usize].next;
            }
            pos = next;
        }
        pos
    }

    /// SACK reports the segment: it leaves its list, LOST is cleared.
    pub(super) fn set_sacked(&mut self, pos: u32) {
        self.detach(pos);
        let next = self.after(pos);
        let slot = &mut self.slots[pos as usize];
        slot.flags = (slot.flags & !LOST) | SACKED;
        slot.next = next;
    }

    /// The segment is lost and waits for (another) retransmission.
    pub(super) fn set_pending(&mut self, pos: u32) {
        self.detach(pos);
        let slot = &mut self.slots[pos as usize];
        slot.flags = (slot.flags & !RETRANS) | LOST;
        let before = self.pending_before(pos);
        self.pending.insert_after(&mut self.slots, before, pos);
        self.hint = pos;
    }

    /// The pending segment after which `pos` belongs.
    fn pending_before(&self, pos: u32) -> u32 {
        let offset = self.offset(pos);
        let List { head, tail } = self.pending;
        if tail == NIL || self.offset(tail) < offset {
            return tail;
        }
        if self.offset(head) > offset {
            return NIL;
        }
        let mut before = if self.hint == NIL { tail } else { self.hint };
        while before != NIL && self.offset(before) > offset {
            before = self.slots[before as usize].prev;
        }
        loop {
            let next = if before == NIL { head } else { self.slots[before as usize].next };
            if next == NIL || self.offset(next) > offset {
                return before;
            }
            before = next;
        }
    }

    /// The `segs` segments from `pos` on were sent again and are now the last in the order of transmission.
    /// Sets `flags`.
    pub(super) fn set_resent(&mut self, pos: u32, segs: u32, flags: u8, (again, stamps): (Slot, Stamps)) {
        if self.stamps.is_some() {
            self.stamp(pos, segs, stamps);
        }
        for pos in self.places(pos, segs) {
            self.detach(pos);
            self.flight.push(&mut self.slots, pos);
            let slot = self.get_mut(pos);
            slot.flags = (slot.flags | flags) & !(APP_LIMITED | SAMPLED) | again.flags;
            (slot.sent, slot.delivered) = (again.sent, again.delivered);
        }
    }

    /// Number of segments from `pos` on that are one packet and wait for retransmission. SACK splits a packet
    /// at the edges of its blocks (Linux `tcp_match_skb_to_sack`).
    pub(super) fn lost_packet(&self, pos: u32) -> u32 {
        let end = self.end();
        let (mut next, mut segs) = (pos, 0);
        while next != end && self.get(next).is_pending() {
            segs += 1;
            if self.get(next).has(LAST) {
                break;
            }
            next = self.after(next);
        }
        segs
    }

    /// Makes the `segs` segments from `pos` on a separate packet. Returns how many packets that adds.
    pub(super) fn split(&mut self, pos: u32, segs: u32) -> u32 {
        let last = wrap(pos, segs - 1, self.size());
        let mut more = 0;
        if pos != self.head {
            more += self.end_packet(self.at(self.offset(pos) - 1));
        }
        more + self.end_packet(last)
    }

    /// A packet ends at `pos`, unless SACK has reported that segment. Returns 1 if none ended there before.
    fn end_packet(&mut self, pos: u32) -> u32 {
        let slot = self.get_mut(pos);
        let is_new = !slot.has(LAST | SACKED);
        slot.flags |= if is_new { LAST } else { 0 };
        u32::from(is_new)
    }

    /// Bytes of the `segs` segments from `pos` on, and whether FIN follows them.
    pub(super) fn extent(&self, pos: u32, segs: u32) -> (u32, bool) {
        let slots = || self.places(pos, segs).map(|pos| self.get(pos));
        (slots().map(|slot| u32::from(slot.len)).sum(), slots().any(|slot| slot.has(FIN)))
    }

    /// The places of `segs` segments from `pos` on.
    fn places(&self, pos: u32, segs: u32) -> impl Iterator<Item = u32> + use<> {
        let size = self.size();
        (0..segs).map(move |offset| wrap(pos, offset, size))
    }

    /// First segment that waits for retransmission.
    pub(super) fn first_pending(&self) -> Option<u32> {
        if self.pending.head == NIL { None } else { Some(self.pending.head) }
    }

    /// Whether a segment waits for retransmission.
    pub(super) fn has_pending(&self) -> bool {
        self.pending.head != NIL
    }

    /// Oldest transmission in flight.
    pub(super) fn oldest(&self) -> u32 {
        self.flight.head
    }

    /// The transmission in flight after `pos`, or [`NIL`].
    pub(super) fn next_sent(&self, pos: u32) -> u32 {
        self.slots[pos as usize].next
    }

    /// Forgets all losses (an undone recovery). Every segment that SACK has not reported is in flight again,
    /// in order of transmission. It happens at most once per recovery, so it may walk over the whole window.
    pub(super) fn unmark_lost(&mut self) {
        for pos in self.positions() {
            self.get_mut(pos).flags &= !LOST;
        }
        self.relink();
    }

    /// Cuts every segment that is longer than `mss` bytes. The pieces keep the segment's state, and each is a
    /// separate packet. Returns the numbers of all segments of each packet that had such a segment. All
    /// positions change.
    pub(super) fn cut(&mut self, mss: u16) -> Vec<u64> {
        let mss = mss.max(1);
        let (mut slots, mut stamps, mut cut) = (Vec::new(), Vec::new(), Vec::new());
        let (mut packet, mut is_long) = (Vec::new(), false);
        for pos in self.positions() {
            let whole = *self.get(pos);
            is_long |= whole.len > mss;
            let mut slot = whole;
            loop {
                let len = slot.len.min(mss);
                let is_last = len == slot.len;
                let kept = if is_last { u8::MAX } else { !FIN };
                let end = if whole.len > mss && !whole.has(SACKED) { LAST } else { 0 };
                slots.push(Slot { len, flags: whole.flags & kept | end, ..slot });
                stamps.extend(self.stamps(pos));
                packet.push(slot.seq);
                if is_last {
                    break;
                }
                (slot.seq, slot.len) = (slot.seq + u64::from(len), slot.len - len);
            }
            if whole.has(LAST) {
                cut.extend(packet.drain(..).filter(|_| is_long));
                is_long = false;
            }
        }
        cut.extend(packet.drain(..).filter(|_| is_long));
        *self = Scoreboard::new(self.stamps.is_some());
        self.len = u32::try_from(slots.len()).unwrap_or(u32::MAX);
        let size = slots.len() + 1;
        slots.resize(size, Slot::default());
        self.slots = slots;
        if let Some(rated) = &mut self.stamps {
            stamps.resize(size, Stamps::default());
            rated.0 = stamps;
        }
        self.relink();
        cut
    }

    /// Rebuilds the three lists from the flags and the times of transmission.
    fn relink(&mut self) {
        (self.pending, self.flight, self.hint) = (List::EMPTY, List::EMPTY, NIL);
        let mut order = Vec::new();
        for offset in 0..self.len {
            let pos = self.at(offset);
            let slot = self.get(pos);
            if slot.has(SACKED) {
                let next = self.after(pos);
                self.get_mut(pos).next = next;
            } else if slot.is_pending() {
                self.pending.push(&mut self.slots, pos);
            } else {
                order.push((slot.sent, pos));
            }
        }
        order.sort_by_key(|&(sent, _)| sent);
        for (_, pos) in order {
            self.flight.push(&mut self.slots, pos);
        }
    }

    /// Positions of all segments in order of sequence.
    pub(super) fn positions(&self) -> impl Iterator<Item = u32> + use<> {
        let (head, size) = (self.head, self.size());
        (0..self.len).map(move |offset| wrap(head, offset, size))
    }
}

#[cfg(test)]
#[path = "scoreboard_tests.rs"]
mod tests;
