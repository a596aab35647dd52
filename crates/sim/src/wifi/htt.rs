//! How ath10k and its firmware report packets to each other ([`super::HttSpec`]).

use goodqueue::wifi::{Ac, Estimate, StationId};

use super::spec::HttSpec;

/// A packet that the firmware has finished.
#[derive(Clone, Copy, Debug)]
pub(super) struct Completion {
    pub(super) ac: Ac,
    pub(super) station: StationId,
    pub(super) bytes: u32,
    pub(super) estimate: Estimate,
}

/// The state between a host and its firmware.
#[derive(Debug)]
pub(super) struct Htt {
    spec: HttSpec,
    /// Packets that the firmware has finished but not reported to the host.
    pub(super) unreported: Vec<Completion>,
    /// Packets of each station by category in the firmware, as the host counts them.
    stations: Vec<[u32; 4]>,
}

impl Htt {
    /// `None`: each PPDU is reported when it ends, and stations have no limits.
    pub(super) fn new(spec: HttSpec) -> Option<Box<Htt>> {
        let htt = || Box::new(Htt { spec, unreported: Vec::new(), stations: Vec::new() });
        (spec != HttSpec::PLAIN).then(htt)
    }

    pub(super) fn add_station(&mut self) {
        self.stations.push([0; 4]);
    }

    /// Whether completions wait for others.
    pub(super) fn is_batched(&self) -> bool {
        self.spec.completions > 1
    }

    /// Whether a batch is full.
    pub(super) fn is_batch_full(&self) -> bool {
        self.unreported.len() >= self.spec.completions as usize
    }

    /// Whether the firmware takes no more packets of a station.
    pub(super) fn is_full(&self, station: StationId, ac: Ac) -> bool {
        self.spec.station.is_some_and(|most| self.stations[station.0 as usize][ac as usize] >= most)
    }

    /// The firmware has taken a packet.
    pub(super) fn enter(&mut self, station: StationId, ac: Ac) {
        self.stations[station.0 as usize][ac as usize] += 1;
    }

    /// The host knows that the firmware has finished a packet.
    pub(super) fn leave(&mut self, station: StationId, ac: Ac) {
        let packets = &mut self.stations[station.0 as usize][ac as usize];
        *packets = packets.saturating_sub(1);
    }
}
