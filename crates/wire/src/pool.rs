//! The engine's frames: one block of memory, allocated once.

use goodqueue::details::Gso;
use goodqueue::{Direction, Header, Nanos};

use crate::gso::Partial;
use crate::nat::Inside;

/// The descriptor of a frame in the engine's queues.
pub type Frame = Header;

/// Default number of frames in the pool: 64 MiB.
pub const DEFAULT_FRAMES: u32 = 32_768;

/// Bytes of a slot, unless longer frames must fit. An Ethernet frame at MTU 1500 is 1514 bytes.
const SLOT: usize = 2048;
/// Longer slots are a multiple of this: a cache line.
const ALIGN: usize = 64;
/// Minimum number of frames of a thread.
pub(crate) const LEAST_FRAMES: u32 = 256;

/// The engine's data about a frame while it holds it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Note {
    /// Its DS byte on arrival.
    pub(crate) dsfield: u8,
    /// The server host that it goes to or comes from.
    pub(crate) host: u8,
    /// Its direction.
    pub(crate) way: Direction,
    /// Its length as a queue counts it. For a super-packet it includes the headers of each segment, and is 0
    /// for the other slots.
    pub(crate) len: u32,
    /// Bytes in its slot; for a super-packet, those of its first segment.
    pub(crate) held: u32,
    /// Where the next segment of the super-packet is.
    pub(crate) next: Option<u32>,
    /// The composition of the super-packet that begins here.
    pub(crate) gso: Option<Gso>,
    /// Its checksum, if the sender's host has left it to its device.
    pub(crate) partial: Partial,
    /// The addresses of its hosts, if they differ from those in the frame.
    pub(crate) inside: Option<Inside>,
    /// When it entered its queue.
    pub(crate) entered: Nanos,
    /// The number of its connection, and its payload in bytes, if connections are counted.
    pub(crate) flow: u16,
    pub(crate) payload: u32,
}

/// A fixed number of frame slots and the list of free ones.
pub(crate) struct Pool {
    bytes: Vec<u8>,
    /// Bytes of each slot.
    slot: usize,
    notes: Vec<Note>,
    free: Vec<u32>,
}

impl Pool {
    /// Memory for `frames` slots of 2048 bytes; no later call allocates. If frames of `longest` bytes need
    /// more, there are fewer slots in about the same memory.
    pub(crate) fn new(frames: u32, longest: u32) -> Pool {
        let slot = SLOT.max((longest as usize).next_multiple_of(ALIGN));
        let fitting = u32::try_from(frames as usize * SLOT / slot).unwrap_or(frames);
        let frames = fitting.max(frames.min(LEAST_FRAMES));
        let mut bytes = vec![0; frames as usize * slot];
        // Touch each page now, so that there are no page faults in real time later.
        for page in bytes.chunks_mut(SLOT) {
            page[0] = 1;
        }
        Pool { bytes, slot, notes: vec![Note::default(); frames as usize], free: (0..frames).rev().collect() }
    }

    /// Takes a free slot.
    pub(crate) fn take(&mut self) -> Option<u32> {
        self.free.pop()
    }

    /// Free slots.
    pub(crate) fn free(&self) -> usize {
        self.free.len()
    }

    /// Copies a frame into a slot, with its length in its note. `None` if no slot is free.
    pub(crate) fn keep(&mut self, bytes: &[u8], note: Note) -> Option<u32> {
        let frame = self.take()?;
        self.slot_mut(frame)[..bytes.len()].copy_from_slice(bytes);
        let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.set_note(frame, Note { len, held: len, ..note });
        Some(frame)
    }

    /// Frees a slot, and those of the other segments if a super-packet begins there.
    pub(crate) fn give(&mut self, frame: u32) {
        let mut next = Some(frame);
        while let Some(frame) = next {
            debug_assert!(self.free.len() < self.notes.len(), "a frame was freed twice");
            next = self.part(frame);
            self.free.push(frame);
        }
    }

    /// Separates a slot from the next one of its super-packet, and returns that one.
    pub(crate) fn part(&mut self, frame: u32) -> Option<u32> {
        self.notes[frame as usize].next.take()
    }

    /// Slots in use.
    pub(crate) fn used(&self) -> usize {
        self.notes.len() - self.free.len()
    }

    /// The bytes of a slot, to read.
    fn slot(&self, frame: u32) -> &[u8] {
        let start = frame as usize * self.slot;
        &self.bytes[start..start + self.slot]
    }

    /// The first `len` bytes of a slot.
    pub(crate) fn start(&self, frame: u32, len: u32) -> &[u8] {
        &self.slot(frame)[..(len as usize).min(self.slot)]
    }

    /// The bytes of a slot.
    pub(crate) fn slot_mut(&mut self, frame: u32) -> &mut [u8] {
        let start = frame as usize * self.slot;
        &mut self.bytes[start..start + self.slot]
    }

    /// The data about a frame.
    pub(crate) fn note(&self, frame: u32) -> Note {
        self.notes[frame as usize]
    }

    /// Sets the data about a frame.
    pub(crate) fn set_note(&mut self, frame: u32, note: Note) {
        self.notes[frame as usize] = note;
    }

    /// Records that a frame of a connection enters a queue.
    pub(crate) fn enter(&mut self, frame: u32, now: Nanos, (flow, payload): (u16, u32)) {
        let note = &mut self.notes[frame as usize];
        (note.entered, note.flow, note.payload) = (now, flow, payload);
    }

    /// The memory of all slots.
    pub(crate) fn memory(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_frames_have_larger_slots_in_the_same_memory() {
        let (usual, jumbo) = (Pool::new(4096, 1522), Pool::new(4096, 9022));
        assert_eq!((usual.free(), usual.memory().len()), (4096, 4096 * 2048));
        assert_eq!((jumbo.start(0, 9022).len(), jumbo.free()), (9022, 929));
        assert!(jumbo.memory().len() <= usual.memory().len());
        // There are always a few frames.
        assert_eq!(Pool::new(300, 65_557).free(), 256);
    }
}
