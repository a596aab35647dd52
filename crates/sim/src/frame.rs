//! Packets on their way, in one arena. A queue sees a [`Token`] of each.

use goodqueue::Nanos;

use crate::path::Position;
use crate::tap::{Tap, What};
use crate::tcp::{Blocks, Flags, Header, Sack};
use crate::token::{FrameId, Token};

/// Initial capacity, frames.
const LEAST: usize = 64;

/// No frame.
pub(crate) const NO_FRAME: FrameId = u32::MAX;

/// What happens to a frame at the end of its path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// From the sender of a TCP flow to its receiver.
    #[default]
    Data,
    /// From the receiver of a TCP flow to its sender.
    Ack,
    /// From a UDP source to its sink.
    Datagram,
    /// From a probe to the far end.
    Request,
    /// Back to the probe.
    Reply,
    /// From a browser to the name server.
    Query,
    /// Back to the browser.
    Answer,
    /// From the client of a call or a game to the server.
    ToServer,
    /// Back to the client.
    ToClient,
    /// From the client of a flow over QUIC to its server.
    #[cfg_attr(not(feature = "quic"), allow(dead_code))]
    QuicToServer,
    /// Back to the client.
    #[cfg_attr(not(feature = "quic"), allow(dead_code))]
    QuicToClient,
}

/// A packet on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// The TCP segment. Datagrams and probes use only `seq` (their number) and `ack` (its meaning is up to
    /// their ends). `sack` is the index of the SACK blocks in [`Frames`]; data has no SACK blocks, so there
    /// it holds [`Frame::owed`].
    pub(crate) segment: Header,
    /// When it reaches the far end of its current link. While it is queued in its sender's own device: the
    /// earliest time at which it may leave that queue, or zero.
    pub(crate) lands: Nanos,
    /// The frame after it on that link, or the next free place.
    pub(crate) next: FrameId,
    /// The flow, source or probe it belongs to.
    pub(crate) owner: u32,
    /// Its place on its path: the link that it has entered; on a chain, the first link of the chain.
    pub(crate) place: Position,
    /// See [`Token::len`].
    pub(crate) len: u32,
    /// See [`Token::flow_hash`].
    pub(crate) flow_hash: u32,
    /// See [`Token::dsfield`].
    pub(crate) dsfield: u8,
    /// What happens to it at the end.
    pub(crate) kind: Kind,
    /// Its sender gets memory back when its host's device has sent or dropped it.
    pub(crate) is_owed: bool,
}

impl Frame {
    /// An empty frame.
    pub(crate) const NONE: Frame = Frame {
        segment: Header {
            seq: 0,
            ack: 0,
            len: 0,
            window: 0,
            ts_val: 0,
            ts_ecr: 0,
            sack: 0,
            sacks: 0,
            flags: Flags(0),
            ecn: 0,
            retransmitted: false,
        },
        lands: Nanos::ZERO,
        next: NO_FRAME,
        owner: 0,
        place: 0,
        len: 0,
        flow_hash: 0,
        dsfield: 0,
        kind: Kind::Data,
        is_owed: false,
    };

    /// Its sender gets `truesize` bytes of memory back when its host's device has sent or dropped this data
    /// packet.
    pub(crate) fn set_owed(&mut self, truesize: u32) {
        (self.segment.sack, self.is_owed) = (truesize, true);
    }

    /// Memory that its sender gets back if [`Frame::is_owed`], bytes.
    pub(crate) fn owed(&self) -> u32 {
        self.segment.sack
    }

    /// What a queue sees of it.
    pub(crate) fn token(&self, id: FrameId) -> Token {
        Token { frame: id, len: self.len, flow_hash: self.flow_hash, dsfield: self.dsfield }
    }
}

/// A request or a reply that was dropped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LostProbe {
    /// Number of the probe.
    pub(crate) probe: u32,
    /// Sequence number of its segment.
    pub(crate) seq: u64,
    /// The number of the datagram, as its endpoint counts.
    pub(crate) datagram: u64,
    /// Whether it was on its way back.
    pub(crate) is_reply: bool,
}

/// All frames. The most recently freed place is reused first.
#[derive(Debug)]
pub(crate) struct Frames {
    frames: Vec<Frame>,
    /// The first free place. The free places are a list linked by [`Frame::next`].
    free: FrameId,
    /// The SACK blocks of frames that have some.
    blocks: Vec<Blocks>,
    free_blocks: Vec<u32>,
    /// Requests and replies of probes that were lost.
    pub(crate) lost_probes: Vec<LostProbe>,
    /// Datagrams of calls and games that were lost: the number of the call or game, and that of the datagram.
    pub(crate) lost_talks: Vec<(u32, u64)>,
    /// Datagrams of QUIC that were lost: the number of the flow, and that of the datagram.
    pub(crate) lost_quic: Vec<(u32, u64)>,
    /// For each place of a path, the two hosts that its frames go between.
    pub(crate) ends: Vec<Ends>,
    pub(crate) tap: Tap,
    /// When each frame entered its current queue, if that link measures sojourn times.
    entered: Vec<Nanos>,
}

/// Two hosts that frames go between.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    pub(crate) hashes: [u32; 2],
    /// Payload of a full segment, bytes. A longer one is a super-packet.
    pub(crate) mss: u32,
}

impl Default for Ends {
    fn default() -> Ends {
        Ends { hashes: [0; 2], mss: u32::MAX }
    }
}

impl Default for Frames {
    fn default() -> Frames {
        Frames {
            frames: Vec::new(),
            free: NO_FRAME,
            blocks: Vec::new(),
            free_blocks: Vec::new(),
            lost_probes: Vec::new(),
            lost_talks: Vec::new(),
            lost_quic: Vec::new(),
            ends: Vec::new(),
            tap: Tap::default(),
            entered: Vec::new(),
        }
    }
}

impl Frames {
    /// Stores a frame.
    pub(crate) fn insert(&mut self, frame: Frame) -> FrameId {
        let copy = |_, place: &mut Frame| {
            *place = Frame { next: place.next, ..frame };
            Some(())
        };
        self.build(copy).map_or(NO_FRAME, |(id, ())| id)
    }

    /// Lets `write` fill a frame in place, all but its [`Frame::next`], and returns what `write` returns. On
    /// `None` no frame is stored. A free place has no SACK blocks.
    // What the inline attributes of this file gain: docs/performance.md, "Inlining".
    #[inline(always)]
    pub(crate) fn build<T>(
        &mut self,
        write: impl FnOnce(FrameId, &mut Frame) -> Option<T>,
    ) -> Option<(FrameId, T)> {
        if self.free as usize >= self.frames.len() {
            self.grow();
        }
        let id = self.free;
        let place = self.frames.get_mut(id as usize)?;
        let written = write(id, place)?;
        self.free = std::mem::replace(&mut place.next, NO_FRAME);
        Some((id, written))
    }

    /// [`Frames::build`] with a copy of a frame to begin with; the frame may be the one that was freed last.
    #[inline(always)]
    pub(crate) fn build_like<T>(
        &mut self,
        id: FrameId,
        write: impl FnOnce(FrameId, &mut Frame) -> Option<T>,
    ) -> Option<(FrameId, T)> {
        let frame = *self.get(id);
        self.build(|id, place| {
            *place = Frame { next: place.next, ..frame };
            write(id, place)
        })
    }

    /// Adds a free place. When full, reserves room for a quarter more frames, so memory stays close to what
    /// the peak needs. 2^32 frames would take a quarter of a terabyte.
    #[cold]
    #[allow(clippy::cast_possible_truncation)]
    fn grow(&mut self) {
        if self.frames.len() == self.frames.capacity() {
            self.frames.reserve_exact((self.frames.len() / 4).max(LEAST));
        }
        self.frames.push(Frame { next: self.free, ..Frame::NONE });
        self.free = (self.frames.len() - 1) as FrameId;
    }

    /// Frees a place.
    pub(crate) fn remove(&mut self, id: FrameId) {
        self.consume(id, |_, _| ());
    }

    /// Lets `read` see a frame, then frees its place.
    #[inline(always)]
    pub(crate) fn consume<T>(&mut self, id: FrameId, read: impl FnOnce(&Frame, &[Sack]) -> T) -> T {
        let frame = &mut self.frames[id as usize];
        let Header { sack, sacks, .. } = frame.segment;
        let taken = if sacks == 0 {
            read(frame, &[])
        } else {
            let taken = read(frame, &self.blocks[sack as usize][..usize::from(sacks)]);
            self.free_blocks.push(sack);
            frame.segment.sacks = 0;
            taken
        };
        frame.next = self.free;
        self.free = id;
        taken
    }

    /// Attaches these SACK blocks to frame `id`. Its segment says how many.
    #[cold]
    #[allow(clippy::cast_possible_truncation)]
    pub(crate) fn attach(&mut self, id: FrameId, blocks: Blocks) {
        let place = self.free_blocks.pop().unwrap_or(self.blocks.len() as u32);
        match self.blocks.get_mut(place as usize) {
            Some(free) => *free = blocks,
            None => self.blocks.push(blocks),
        }
        self.frames[id as usize].segment.sack = place;
    }

    /// Appends frame `id` to the packet `held` (GRO) and frees its place. Each segment counts with its own
    /// headers, as in a super-packet from a host.
    pub(crate) fn join(&mut self, held: FrameId, id: FrameId) {
        let Frame { segment, len, .. } = *self.get(id);
        let ends = segment.flags.0 & (Flags::FIN.0 | Flags::PSH.0);
        let whole = self.get_mut(held);
        whole.len += len;
        whole.segment.len += segment.len;
        whole.segment.flags = whole.segment.flags.with(Flags(ends));
        whole.segment.retransmitted |= segment.retransmitted;
        self.remove(id);
    }

    /// The SACK blocks of a frame. Its segment says how many of them count.
    pub(crate) fn blocks(&self, frame: &Frame) -> Blocks {
        if frame.segment.sacks == 0 { Blocks::default() } else { self.blocks[frame.segment.sack as usize] }
    }

    /// Frees the place of a lost frame.
    pub(crate) fn lose(&mut self, id: FrameId) {
        let frame = self.get(id);
        if matches!(frame.kind, Kind::Request | Kind::Reply) {
            let lost = LostProbe {
                probe: frame.owner,
                seq: frame.segment.seq,
                datagram: frame.segment.ack,
                is_reply: matches!(frame.kind, Kind::Reply),
            };
            self.lost_probes.push(lost);
        } else if matches!(frame.kind, Kind::ToServer | Kind::ToClient) {
            let lost = (frame.owner, frame.segment.ack);
            self.lost_talks.push(lost);
        } else if matches!(frame.kind, Kind::QuicToServer | Kind::QuicToClient) {
            let lost = (frame.owner, frame.segment.ack);
            self.lost_quic.push(lost);
        }
        self.remove(id);
    }

    /// Records what happened to a frame at `link`, if its flow is traced.
    pub(crate) fn tell(&mut self, at: Nanos, link: u32, id: FrameId, what: What) {
        if self.tap.is_on() {
            let frame = &self.frames[id as usize];
            let blocks = self.blocks(frame);
            self.tap.note(at, link, frame, blocks, what);
        }
    }

    /// Frame `id` has entered a queue whose link measures sojourn times.
    pub(crate) fn note_entry(&mut self, id: FrameId, at: Nanos) {
        if self.entered.len() <= id as usize {
            self.entered.resize(self.frames.len().max(id as usize + 1), Nanos::ZERO);
        }
        self.entered[id as usize] = at;
    }

    /// When frame `id` entered it, if it did.
    pub(crate) fn entered(&self, id: FrameId) -> Option<Nanos> {
        self.entered.get(id as usize).copied()
    }

    /// Links frame `id` behind `before`.
    pub(crate) fn follow(&mut self, before: FrameId, id: FrameId) {
        self.get_mut(before).next = id;
    }

    /// Number of frames in flight.
    pub(crate) fn count(&self) -> usize {
        let next = |&id: &FrameId| self.frames.get(id as usize).map(|free| free.next);
        let free = std::iter::successors(Some(self.free), next).take_while(|&id| id != NO_FRAME);
        self.frames.len() - free.count()
    }

    pub(crate) fn get(&self, id: FrameId) -> &Frame {
        &self.frames[id as usize]
    }

    pub(crate) fn get_mut(&mut self, id: FrameId) -> &mut Frame {
        &mut self.frames[id as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_on_which_the_memory_figures_depend() {
        assert_eq!(std::mem::size_of::<Token>(), 16);
        assert!(std::mem::size_of::<Frame>() <= 72, "{}", std::mem::size_of::<Frame>());
    }

    #[test]
    fn sack_blocks_go_with_their_frame() {
        let mut frames = Frames::default();
        let block = |start| [Sack { start, end: start + 1 }; 3];
        let with = |sacks| Frame { segment: Header { sacks, ..Header::default() }, ..Frame::NONE };
        let ids = [2, 1].map(|sacks| frames.insert(with(sacks)));
        frames.attach(ids[0], block(5));
        frames.attach(ids[1], block(7));
        assert_eq!(frames.consume(ids[0], |_, blocks| blocks.to_vec()), block(5)[..2]);
        let third = frames.insert(with(3));
        frames.attach(third, block(9));
        assert_eq!(frames.blocks(frames.get(ids[1])), block(7));
        assert_eq!(
            (frames.consume(third, |_, blocks| blocks.to_vec()), frames.blocks.len()),
            (block(9).to_vec(), 2)
        );
        let bare = frames.insert(Frame::NONE);
        assert!(frames.consume(bare, |_, blocks| blocks.is_empty()));
    }

    #[test]
    fn a_freed_slot_is_used_again() {
        let mut frames = Frames::default();
        let first = frames.insert(Frame::NONE);
        let second = frames.insert(Frame { len: 7, ..Frame::NONE });
        frames.remove(first);
        assert_eq!(frames.insert(Frame { len: 9, ..Frame::NONE }), first);
        assert_eq!((frames.get(first).len, frames.get(second).len, frames.count()), (9, 7, 2));
    }
}
