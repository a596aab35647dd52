//! Enqueue and dequeue, and airtime in flight.

use super::TxStack;
use super::WifiError;
use super::aql::Estimate;
use super::id::{Ac, StationId, TxqId};
use crate::memory::Memory;
use crate::{Nanos, Observer, Packet, Reason, Verdict};

/// A packet for the hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered<P> {
    /// The packet.
    pub packet: P,
    /// The estimate to pass to [`TxStack::tx_completed`] at its completion.
    pub estimate: Estimate,
}

/// Why a nonempty queue delivers nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Too much airtime is in flight.
    Aql,
    /// It was stopped for the set-up of a block-ack session.
    Stopped,
}

impl<P: Packet, M: Memory> TxStack<P, M> {
    /// Enqueues a packet and schedules the queue; then drops from the radio's fattest flow while the radio is
    /// over a limit, which can hit this packet. `len` is the length with the 802.11 header. The driver must
    /// then run a round. A packet for an unknown station or interface is dropped ([`Reason::Flush`]).
    #[inline]
    pub fn enqueue(&mut self, now: Nanos, txq: TxqId, packet: P, observer: &mut impl Observer<P>) -> Verdict {
        let Some(place) = self.place(txq) else {
            observer.dropped(now, packet, Reason::Flush);
            return Verdict::Dropped(Reason::Flush);
        };
        let verdict = self.fq.enqueue(now, place, packet, observer);
        self.put_on_list(now, txq, place, true);
        verdict
    }

    /// Dequeues the next packet of a queue, with its estimated airtime, which is in flight from now on (Linux
    /// 6.1 `ieee80211_tx_dequeue`). `None` if the queue is [held](TxStack::held), empty or unknown.
    #[inline]
    pub fn tx_dequeue(
        &mut self,
        now: Nanos,
        txq: TxqId,
        observer: &mut impl Observer<P>,
    ) -> Option<Delivered<P>> {
        let place = self.place(txq)?;
        if self.held(txq).is_some() {
            return None;
        }
        let Some(station) = txq.station() else {
            let packet = self.fq.dequeue(now, place, &self.laws[0], observer)?;
            return Some(Delivered { packet, estimate: Estimate::ZERO });
        };
        let at = station.0 as usize;
        let law = &self.laws[usize::from(self.stations[at].is_slow)];
        let packet = self.fq.dequeue(now, place, law, observer)?;
        if !self.params.aql {
            return Some(Delivered { packet, estimate: Estimate::ZERO });
        }
        let ac = txq.ac();
        let station = &mut self.stations[at];
        let micros = station.estimator.expected(packet.len(), ac != Ac::Vo);
        let estimate = Estimate::from_micros(micros);
        self.pending.add(station.account(ac), ac, estimate);
        Some(Delivered { packet, estimate })
    }

    /// Why [`TxStack::tx_dequeue`] would deliver nothing although the queue is not empty.
    #[inline]
    pub fn held(&self, txq: TxqId) -> Option<Held> {
        let station = &self.stations[self.present(txq.station()?)?];
        if !self.is_within_aql(&station.accounts[txq.ac().index()]) {
            return Some(Held::Aql);
        }
        if station.stopped & 1 << txq.tid().number() != 0 { Some(Held::Stopped) } else { None }
    }

    /// A packet was acknowledged or given up: its estimate is no longer in flight. The station may have been
    /// removed since (Linux 6.1 `ieee80211_sta_update_pending_airtime`).
    #[inline]
    pub fn tx_completed(&mut self, station: StationId, ac: Ac, estimate: Estimate) {
        let at = self.present(station);
        let account = at.map(|at| self.stations[at].account(ac));
        self.pending.remove(account, ac, estimate);
    }

    /// Stops a queue for the set-up of a block-ack session (Linux 6.1 `ieee80211_agg_stop_txq`). It still
    /// accepts packets.
    ///
    /// # Errors
    /// For a multicast queue or an unknown station.
    pub fn agg_stop_txq(&mut self, txq: TxqId) -> Result<(), WifiError> {
        let at = self.of_station(txq)?;
        self.stations[at].stopped |= 1 << txq.tid().number();
        Ok(())
    }

    /// Lets a stopped queue deliver again, and schedules it (Linux 6.1 `ieee80211_agg_start_txq`).
    ///
    /// # Errors
    /// For a multicast queue or an unknown station.
    pub fn agg_start_txq(&mut self, now: Nanos, txq: TxqId) -> Result<(), WifiError> {
        let at = self.of_station(txq)?;
        self.stations[at].stopped &= !(1 << txq.tid().number());
        self.put_on_list(now, txq, txq.place(self.capacity.stations), true);
        Ok(())
    }

    fn of_station(&self, txq: TxqId) -> Result<usize, WifiError> {
        match (txq.station(), txq.interface()) {
            (Some(station), _) => self.present(station).ok_or(WifiError::UnknownStation(station)),
            (None, interface) => Err(WifiError::UnknownInterface(interface.unwrap_or_default())),
        }
    }

    #[inline]
    pub(super) fn is_stopped(&self, txq: TxqId) -> bool {
        txq.station()
            .is_some_and(|station| self.stations[station.0 as usize].stopped & 1 << txq.tid().number() != 0)
    }

    #[inline]
    pub(super) fn has_backlog(&self, place: u32) -> bool {
        self.fq.tin(place).is_some_and(|tin| tin.backlog_packets > 0)
    }
}
