//! What ath10k and its firmware tell each other of packets ([`super::HttSpec`]).

use goodqueue::Nanos;
use goodqueue::wifi::{Ac, Estimate, StationId};

use super::frame::DeviceId;
use super::radio::Radio;
use super::spec::HttSpec;

/// A packet that the firmware has finished.
#[derive(Clone, Copy, Debug)]
pub(super) struct Completion {
    pub(super) ac: Ac,
    pub(super) station: StationId,
    pub(super) bytes: u32,
    pub(super) estimate: Estimate,
}

/// Between a host and its firmware.
#[derive(Debug)]
pub(super) struct Htt {
    spec: HttSpec,
    /// What the firmware has finished, and the host does not know of.
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

impl Radio {
    /// The firmware reports what it has finished, if that is enough or all that it had.
    pub(super) fn report_batch(&mut self, now: Nanos, from: DeviceId) {
        let device = &mut self.devices[usize::from(from)];
        let is_all = device.pending() == device.unreported();
        let Some(htt) = &mut device.htt else { return };
        if !is_all && htt.unreported.len() < htt.spec.completions as usize {
            return;
        }
        let mut batch = std::mem::take(&mut htt.unreported);
        batch.sort_by_key(|completion| (completion.ac as usize, completion.station.0));
        for completion in &batch {
            device.count(completion);
        }
        let sum = |part: &[Completion]| part.iter().fold(0_u32, |sum, one| sum.saturating_add(one.bytes));
        for part in batch.chunk_by(|one, other| (one.ac, one.station) == (other.ac, other.station)) {
            let path = device.stations[part[0].station.0 as usize];
            if let Some(dqls) = &mut self.paths[path as usize].dqls {
                dqls[part[0].ac as usize].completed(now, sum(part));
            }
        }
        for category in &mut device.categories {
            let bytes = std::mem::take(&mut category.completed_bytes);
            if let Some(dql) = category.dql.as_mut().filter(|_| bytes > 0) {
                dql.completed(now, bytes);
            }
        }
        batch.clear();
        if let Some(htt) = &mut device.htt {
            htt.unreported = batch;
        }
    }
}
