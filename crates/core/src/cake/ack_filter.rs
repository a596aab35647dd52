//! The ACK filter: drops a pure ACK in a queue if a later ACK of the same connection in that queue carries
//! all of its information (Linux 6.1 `sch_cake.c:cake_ack_filter`).

use super::Cake;
use super::modes::AckFilter;
use super::tcp_options::{MD5, Options, SACK, TIMESTAMP, blocks, is_after, timestamps};
use crate::arena::NIL;
use crate::details::{TcpHeader, flags};
use crate::memory::Memory;
use crate::{Draws, Owner, Packet};

/// The flags of the ECN echo: the only ones in which two acknowledgements may differ.
const ECN_FLAGS: u16 = flags::ECE | flags::CWR;
/// All others.
const OTHER_FLAGS: u16 =
    flags::FIN | flags::SYN | flags::RST | flags::PSH | flags::ACK | flags::URG | flags::RESERVED;

/// Whether `newer` SACKs all that `older` SACKs (`cake_tcph_sack_compare`): `None` if information would be
/// lost, otherwise whether it SACKs more. A DSACK in the older one (RFC 2883) always counts as information.
fn tcph_sack_compare(older: &TcpHeader, newer: &TcpHeader) -> Option<bool> {
    let content = |header: &TcpHeader| {
        let content = Options::new(header.options()).find(SACK).unwrap_or(&[]);
        let mut copy = [0_u8; crate::details::MOST_OPTIONS];
        copy[..content.len()].copy_from_slice(content);
        (copy, content.len())
    };
    let ((old, old_len), (new, new_len)) = (content(older), content(newer));
    let (old, new) = (blocks(&old[..old_len]), blocks(&new[..new_len]));
    match (old.clone().next(), new.clone().next()) {
        (None, None) => return Some(false),
        (None, Some(_)) => return Some(true),
        (Some(_), None) => return None,
        (Some(_), Some(_)) => {}
    }
    let bytes = |sum: u32, (start, end): (u32, u32)| sum.wrapping_add(end.wrapping_sub(start));
    let new_bytes = new.clone().fold(0, bytes);
    let mut old_bytes = 0;
    for (start, end) in old {
        let is_covered = new.clone().any(|(first, last)| !is_after(first, start) && !is_after(end, last));
        if is_after(older.ack, start) || !is_covered {
            return None;
        }
        old_bytes = bytes(old_bytes, (start, end));
    }
    Some(new_bytes > old_bytes)
}

/// Whether a packet carries only an acknowledgement (`cake_tcph_may_drop`): no other flags, no payload, and
/// no options but those that a newer one with these timestamps replaces.
fn tcph_may_drop(header: &TcpHeader, newer: (u32, u32)) -> bool {
    header.flags & OTHER_FLAGS == flags::ACK
        && header.payload == 0
        && Options::new(header.options()).all(|(kind, content)| match kind {
            MD5 => true,
            SACK => content.len().is_multiple_of(8),
            TIMESTAMP => timestamps(content)
                .is_some_and(|(value, echo)| !is_after(value, newer.0) && !is_after(echo, newer.1)),
            _ => false,
        })
}

/// Whether `newer` carries all the information of `older` (the tests of `cake_ack_filter`).
fn is_superfluous(older: &TcpHeader, newer: &TcpHeader, newer_times: (u32, u32)) -> bool {
    tcph_may_drop(older, newer_times)
        && !is_after(older.ack, newer.ack)
        // Equal ones are duplicate ACKs, which the sender counts.
        && tcph_sack_compare(older, newer).is_some_and(|is_more| is_more || older.ack != newer.ack)
}

/// An acknowledgement that could be dropped: its slot, the slot before it and its ECN flags.
#[derive(Clone, Copy)]
struct Candidate {
    slot: u32,
    previous: u32,
    ecn: u16,
}

impl<P: Packet, M: Memory, D: Draws> Cake<P, M, D> {
    /// Removes a redundant acknowledgement from the queue of a flow whose last packet has just arrived
    /// (`cake_ack_filter`). Returns it with its length on the link.
    pub(super) fn ack_filter(&mut self, index: u32, observer: &impl Owner<P>) -> Option<(P, u32)> {
        let (_, _, flows) = self.tables.split();
        let list = flows[index as usize].packets;
        let last = list.tail();
        if list.head() == last {
            return None;
        }
        let newer = observer.tcp(&self.arena.slot(last)?.packet.packet)?;
        if newer.flags & (flags::ACK | flags::SYN) != flags::ACK {
            return None;
        }
        let found = self.superfluous(list.head(), last, &newer, observer)?;
        let (_, _, flows) = self.tables.split();
        let packets = &mut flows[index as usize].packets;
        let slot = self.arena.remove(packets, found.previous, found.slot)?;
        Some((slot.packet.packet, slot.tick))
    }

    /// The first of two redundant acknowledgements; in aggressive mode also a single one directly before the
    /// newer one, if their ECN flags are the same (the loop of `cake_ack_filter`).
    fn superfluous(
        &self,
        head: u32,
        last: u32,
        newer: &TcpHeader,
        observer: &impl Owner<P>,
    ) -> Option<Candidate> {
        let newer_times =
            Options::new(newer.options()).find(TIMESTAMP).and_then(timestamps).unwrap_or((0, 0));
        let mut first: Option<Candidate> = None;
        let (mut previous, mut at) = (NIL, head);
        while at != last {
            let slot = self.arena.slot(at)?;
            if let Some(older) = observer.tcp(&slot.packet.packet)
                && older.connection == newer.connection
            {
                let ecn = older.flags & ECN_FLAGS;
                // The change of the ECN flags would be lost if the acknowledgement before it were dropped.
                first = first.filter(|first| first.ecn == ecn);
                if is_superfluous(&older, newer, newer_times) {
                    if first.is_some() {
                        return first;
                    }
                    first = Some(Candidate { slot: at, previous, ecn });
                }
            }
            (previous, at) = (at, slot.next());
        }
        let is_aggressive = self.params.given.ack_filter == AckFilter::Aggressive;
        first.filter(|first| is_aggressive && first.slot == previous && first.ecn == newer.flags & ECN_FLAGS)
    }
}
