//! Soft admission of flows to the categories VO and VI: a flow that builds a queue there loses its priority.
//!
//! 802.11 has no admission control in practice: bulk traffic marked as voice locks other traffic out. Here
//! the marking is trusted until the flow behaves differently. Then the whole flow moves to BE, including its
//! queued packets, so that they stay in order. The idea is from "Airtime fairness in the Linux WiFi stack"
//! (Høiland-Jørgensen, 2017), next steps: "soft" QoS admission control; it is not in Linux.
//!
//! [`Admission`] is separate from [`TxStack`]: without it the stack behaves as in Linux.

use alloc::vec::Vec;

use super::id::{Ac, Tid, TxqId};
use super::{TxStack, WifiError};
use crate::{Nanos, Packet, Span};

/// When a flow loses its priority, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdmissionParams {
    /// A flow whose queue has not been empty for this time is demoted, 1 ms to 10 s. Default 50 ms: two and a
    /// half packets of a call.
    pub standing: Span,
    /// A demoted flow gets its priority back when its queue in BE has been empty for this time, 1 ms to 100
    /// s. Default 1 s.
    pub hold: Span,
    /// Maximum number of flows watched at a time, 1 to 65536. Default 1024.
    pub flows: u32,
}

impl Default for AdmissionParams {
    fn default() -> Self {
        AdmissionParams { standing: Span::from_millis(50), hold: Span::from_millis(1000), flows: 1024 }
    }
}

impl AdmissionParams {
    /// Checks that every value is in its range.
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

/// A watched flow.
#[derive(Clone, Copy, Debug)]
struct Watched {
    txq: TxqId,
    flow_hash: u32,
    /// Since when its queue has not been empty; for a demoted flow: when it was last seen nonempty.
    since: Nanos,
    is_demoted: bool,
}

/// Counters of admission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdmissionStats {
    /// Times that a flow was demoted.
    pub demotions: u64,
    /// Times that a flow got its priority back.
    pub promotions: u64,
}

/// The watched flows.
#[derive(Clone, Debug)]
pub struct Admission {
    params: AdmissionParams,
    flows: Vec<Option<Watched>>,
    stats: AdmissionStats,
}

impl Admission {
    /// An admission control without watched flows. All storage is allocated here.
    ///
    /// # Errors
    /// [`WifiError::OutOfRange`].
    pub fn new(params: AdmissionParams) -> Result<Admission, WifiError> {
        params.check()?;
        let flows = alloc::vec![None; params.flows as usize];
        Ok(Admission { params, flows, stats: AdmissionStats::default() })
    }

    /// The counters.
    #[must_use]
    pub const fn stats(&self) -> AdmissionStats {
        self.stats
    }

    /// The queue for a packet of flow `flow_hash` that is marked for `txq`: that queue, or the station's
    /// queue of BE. Call it before [`TxStack::enqueue`]. If it demotes the flow, it also moves the flow's
    /// queued packets, so the driver must run a round in both categories.
    ///
    /// Flows are watched in slots by their hash. While a slot has a demoted flow, other flows of that slot
    /// are not watched.
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
    /// Packets in a queue that belong to the pool's flow for this hash.
    pub fn flow_backlog(&self, txq: TxqId, flow_hash: u32) -> u32 {
        self.place(txq).map_or(0, |place| self.fq.flow_backlog(place, flow_hash))
    }

    /// Moves a flow with its packets and its control state from one queue to another, where it begins a turn,
    /// and schedules that queue. Returns `false` if the flow does not belong to the first queue, or one of
    /// them is unknown. Takes a step for each flow of the first queue.
    pub fn hand_over(&mut self, now: Nanos, from: TxqId, to: TxqId, flow_hash: u32) -> bool {
        let Some((from, place)) = self.place(from).zip(self.place(to)) else { return false };
        let is_moved = self.fq.hand_over(from, place, flow_hash);
        if is_moved {
            self.put_on_list(now, to, place, false);
        }
        is_moved
    }

    /// Number of queues on a category's list, that is, waiting for their turn.
    #[must_use]
    pub const fn listed(&self, ac: Ac) -> u32 {
        self.schedule.listed(ac)
    }
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
