//! What is done with a frame at the end of its path.

use super::Simulation;
use crate::frame::{FrameId, Kind};
use crate::tap::What;

impl Simulation {
    #[cold]
    #[inline(never)]
    fn note_delivered(&mut self, id: FrameId) {
        let last = self.paths.link(self.frames.get(id).place - 1);
        self.frames.tell(self.now, last, id, What::Delivered);
    }

    /// A frame is at the end of its path.
    #[inline(always)]
    pub(super) fn deliver(&mut self, id: FrameId) {
        if self.frames.tap.is_on() {
            self.note_delivered(id);
        }
        self.deliveries += 1;
        let frame = self.frames.get(id);
        let (owner, kind) = (frame.owner, frame.kind);
        self.hash.mix(frame.segment.seq ^ (u64::from(owner) << 40) ^ ((kind as u64) << 60));
        match kind {
            Kind::Data => self.data_arrived(owner as usize, id),
            Kind::Ack => self.ack_arrived(owner as usize, id),
            _ => self.datagram_or_probe_arrived(owner as usize, id),
        }
    }

    /// What is neither a TCP flow's data nor its acknowledgement.
    #[inline(never)]
    fn datagram_or_probe_arrived(&mut self, owner: usize, id: FrameId) {
        match self.frames.get(id).kind {
            Kind::Data | Kind::Ack => {}
            Kind::Datagram => self.datagram_arrived(owner, id),
            Kind::Request => self.request_arrived(owner, id),
            Kind::Reply => self.reply_arrived(owner, id),
            Kind::Query => self.query_arrived(owner, id),
            Kind::Answer => self.answer_arrived(owner, id),
            Kind::There => self.talk_arrived(owner, id, true),
            Kind::Back => self.talk_arrived(owner, id, false),
        }
        self.frames.remove(id);
    }
}
