//! What a queue of the simulator holds: the number of a frame, and the properties that a queue asks for.

use goodqueue::Packet;

/// Index of a frame in [`Frames`](crate::frame::Frames).
pub(crate) type FrameId = u32;

/// What a queue sees of a frame, in 16 bytes. Its methods are those of [`Packet`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Token {
    /// Where the frame is.
    pub(crate) frame: FrameId,
    pub(crate) len: u32,
    pub(crate) flow_hash: u32,
    pub(crate) dsfield: u8,
}

impl Packet for Token {
    fn len(&self) -> u32 {
        self.len
    }
    fn truesize(&self) -> u32 {
        crate::tcp::truesize(self.len)
    }
    fn flow_hash(&self) -> u32 {
        self.flow_hash
    }
    fn dsfield(&self) -> u8 {
        self.dsfield
    }
    fn set_dsfield(&mut self, dsfield: u8) {
        self.dsfield = dsfield;
    }
}
