//! A station leaves while packets for it and from it are queued.

use goodqueue::wifi::{Ac, Tid};
use goodqueue::{Nanos, Reason};

use super::block_ack::Mpdu;
use super::device::PathId;
use super::frame::{DeviceId, Sink};
use super::radio::{Radio, Through};

impl Radio {
    /// A station leaves. Packets queued for it and by it are dropped ([`Reason::Flush`]), as are packets
    /// offered later ([`Reason::Loss`]). An exchange on the air completes, and nothing of it is sent again.
    /// Packets that a receiver holds behind a hole are delivered when the hole is given up. All events up to
    /// `now` must have been handled. Returns `false` if there is no such station. Its airtime stays in the
    /// sums of [`Radio::is_conserved`]. Do not ask for its accounts any more.
    pub fn remove_station(&mut self, now: Nanos, station: DeviceId, sink: &mut impl Sink) -> bool {
        let place = usize::from(station);
        let Some(down) = self.downlinks.get_mut(place).and_then(Option::take) else { return false };
        let up = self.devices[place].uplink.take();
        for path in up.into_iter().chain([down]) {
            self.paths[path as usize].is_gone = true;
            self.forget(now, path, sink);
        }
        true
    }

    /// Drops what the sender of a path holds for its receiver.
    fn forget(&mut self, now: Nanos, path_id: PathId, sink: &mut impl Sink) {
        let path = &mut self.paths[path_id as usize];
        let (from, station) = (path.from, path.station);
        let mut through = Through { sink, from, dropped: &mut self.packets.dropped };
        if let Some(stack) = &mut self.devices[usize::from(from)].stack {
            // The station was added when the radio was made.
            let _ = stack.remove_station(now, station, &mut through);
        }
        self.flush_fifos(now, path_id, sink);
        for tid in (0..8).filter_map(Tid::new) {
            let at = self.paths[path_id as usize].tid(tid.number());
            at.needs_bar = false;
            let waiting = std::mem::take(&mut at.fifo);
            let retries = std::iter::from_fn(|| at.sender.take_retry()).collect::<Vec<_>>();
            for mpdu in retries.iter().chain(&waiting) {
                self.flush(now, path_id, tid.ac(), mpdu, sink);
            }
        }
        for ac in Ac::ALL {
            self.empty_hardware(now, path_id, ac, sink);
            self.note_completed(now, path_id, ac);
            self.refill(now, from, ac, sink);
        }
    }

    /// Takes the PPDUs of a path out of a hardware queue, except one that is on the air.
    fn empty_hardware(&mut self, now: Nanos, path_id: PathId, ac: Ac, sink: &mut impl Sink) {
        let from = self.paths[path_id as usize].from;
        let edcaf = Radio::edcaf(from, ac);
        let on_air = usize::from(self.on_air.is_some() && self.winners.contains(&edcaf));
        let hardware = &mut self.devices[usize::from(from)].categories[ac as usize].hardware;
        let gone = hardware.remove_path(path_id, on_air);
        for mpdu in gone.iter().flat_map(|burst| &burst.mpdus) {
            self.flush(now, path_id, ac, mpdu, sink);
        }
        if self.head(edcaf).is_none() {
            self.contention.leave(edcaf);
        }
    }

    fn flush(&mut self, now: Nanos, path_id: PathId, ac: Ac, mpdu: &Mpdu, sink: &mut impl Sink) {
        let path = &self.paths[path_id as usize];
        let (from, station) = (path.from, path.station);
        self.devices[usize::from(from)].complete(Radio::edcaf(from, ac), station, mpdu);
        self.packets.dropped += 1;
        sink.dropped(now, from, mpdu.frame, Reason::Flush);
    }
}
