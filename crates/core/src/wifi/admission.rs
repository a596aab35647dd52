//! Soft admission of flows to the categories VO and VI: a flow that builds a queue there loses its priority.
//!
//! 802.11 has no admission control in practice: whoever marks bulk traffic as voice locks the others out.
//! Here the marking is believed until the flow behaves otherwise, and then the whole flow goes to BE, what is
//! queued of it included, so that its order stays. Idea of "Airtime fairness in the Linux WiFi stack"
//! (Høiland-Jørgensen, 2017), next steps: "soft" QoS admission control; not in Linux.
//!
//! [`Admission`] goes beside a [`TxStack`]: without one nothing differs from Linux.

use alloc::vec::Vec;

use super::id::{Ac, Tid, TxqId};
use super::{TxStack, WifiError};
use crate::{Nanos, Packet, Span};

/// When a flow loses its priority, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdmissionParams {
    /// A flow whose queue has not been empty for so long is demoted, 1 ms to 10 s. Default 50 ms: two and a
    /// half packets of a call.
    pub standing: Span,
    /// A demoted flow gets its priority back when its queue in BE was empty for so long, 1 ms to 100 s.
    /// Default 1 s.
    pub hold: Span,
    /// Flows that are watched at a time, 1 to 65536. Default 1024.
    pub flows: u32,
}

impl Default for AdmissionParams {
    fn default() -> Self {
        AdmissionParams { standing: Span::from_millis(50), hold: Span::from_millis(1000), flows: 1024 }
    }
}

impl AdmissionParams {
    /// Fails where a value is outside its range.
    ///
    /// # Errors
    /// [`WifiError::OutOfRange`].
    pub fn check(&self) -> Result<(), WifiError> {
        const MS: u64 = 1_000_000;
        for (key, value, range) in [
            ("admission_standing", self.standing.0, MS..=10_000 * MS),
            ("admission_hold", self.hold.0, MS..=100_000 * MS),
            ("admission_flows", self.flows.into(), 1..=65_536),
        ] {
            if !range.contains(&value) {
                return Err(WifiError::OutOfRange { key, value });
            }
        }
        Ok(())
    }
}

/// A flow that is watched.
#[derive(Clone, Copy, Debug)]
struct Watched {
    txq: TxqId,
    flow_hash: u32,
    /// Since when its queue has not been empty; where it is demoted: was last seen so.
    since: Nanos,
    is_demoted: bool,
}

/// What admission has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdmissionStats {
    /// Times that a flow was demoted.
    pub demotions: u64,
    /// Times that a flow got its priority back.
    pub promotions: u64,
}

/// The flows under watch.
#[derive(Clone, Debug)]
pub struct Admission {
    params: AdmissionParams,
    flows: Vec<Option<Watched>>,
    stats: AdmissionStats,
}

impl Admission {
    /// Watches nobody yet. All storage is allocated here.
    ///
    /// # Errors
    /// [`WifiError::OutOfRange`].
    pub fn new(params: AdmissionParams) -> Result<Admission, WifiError> {
        params.check()?;
        let flows = alloc::vec![None; params.flows as usize];
        Ok(Admission { params, flows, stats: AdmissionStats::default() })
    }

    /// What was done so far.
    #[must_use]
    pub const fn stats(&self) -> AdmissionStats {
        self.stats
    }

    /// Where a packet of the flow `flow_hash` that is marked for `txq` is to be queued: there, or in the
    /// station's queue of BE. To be called before [`TxStack::enqueue`]; what is queued of a flow that is
    /// demoted now has moved when it returns, so that the driver is to run a round in both categories.
    ///
    /// Flows are watched in places by their hash: one that finds its place with a demoted flow is not watched
    /// meanwhile.
    pub fn admit<P: Packet>(
        &mut self,
        now: Nanos,
        stack: &mut TxStack<P>,
        txq: TxqId,
        flow_hash: u32,
    ) -> TxqId {
        let Some(station) = txq.station().filter(|_| matches!(txq.ac(), Ac::Vo | Ac::Vi)) else {
            return txq;
        };
        let demoted = TxqId::new(station, Tid::BE);
        let AdmissionParams { standing, hold, flows } = self.params;
        let place = &mut self.flows[(flow_hash % flows) as usize];
        let fresh = Watched { txq, flow_hash, since: now, is_demoted: false };
        let watched = place.get_or_insert(fresh);
        if (watched.txq, watched.flow_hash) != (txq, flow_hash) {
            if watched.is_demoted && now.since(watched.since) < hold {
                return txq;
            }
            *watched = fresh;
        }
        if watched.is_demoted {
            if stack.flow_backlog(demoted, flow_hash) > 0 {
                watched.since = now;
            }
            if now.since(watched.since) < hold {
                return demoted;
            }
            *watched = fresh;
            self.stats.promotions += 1;
            return txq;
        }
        if stack.flow_backlog(txq, flow_hash) == 0 {
            watched.since = now;
        }
        if now.since(watched.since) < standing {
            return txq;
        }
        (watched.since, watched.is_demoted) = (now, true);
        self.stats.demotions += 1;
        stack.hand_over(now, txq, demoted, flow_hash);
        demoted
    }
}

impl<P: Packet> TxStack<P> {
    /// Packets in a queue of the flow that packets with this hash belong to, in the pool of flows.
    pub fn flow_backlog(&self, txq: TxqId, flow_hash: u32) -> u32 {
        self.place(txq).map_or(0, |place| self.fq.flow_backlog(place, flow_hash))
    }

    /// Hands a flow with its packets and its control state from one queue to another, where it begins a turn,
    /// and schedules that. `false`: the flow is not the first queue's, or one of them is not known. Costs a
    /// step for each flow of the first queue.
    pub fn hand_over(&mut self, now: Nanos, from: TxqId, to: TxqId, flow_hash: u32) -> bool {
        let Some((from, place)) = self.place(from).zip(self.place(to)) else { return false };
        let is_moved = self.fq.hand_over(from, place, flow_hash);
        if is_moved {
            self.put_on_list(now, to, place, false);
        }
        is_moved
    }

    /// Queues on a category's list: stations that wait for their turn.
    #[must_use]
    pub const fn listed(&self, ac: Ac) -> u32 {
        self.schedule.listed(ac)
    }
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
