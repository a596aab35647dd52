//! What the stations of a radio have used, for those who watch a live link.

use serde::{Deserialize, Serialize};

use super::{Moment, Used};

/// What a station of a radio has used of the air, and what came over it, since the radio began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StationSnapshot {
    /// Its name in the experiment.
    pub name: String,
    /// The air that frames to it and from it used, nanoseconds.
    pub air_ns: [u64; 2],
    /// Bytes that came to it and from it.
    pub bytes: [u64; 2],
    /// Packets that came to it and from it.
    pub packets: [u64; 2],
    /// MPDUs to it that had been sent before.
    pub retried: u64,
    /// Packets for it that were dropped.
    pub drops: u64,
    /// Packets for it that were marked with CE.
    pub marks: u64,
}

impl Moment {
    /// When it was, in the radio's time, nanoseconds.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// The stations, with these names.
    pub(crate) fn stations<'a>(&self, names: impl IntoIterator<Item = &'a String>) -> Vec<StationSnapshot> {
        let snapshot = |(used, name): (&Used, &String)| StationSnapshot {
            name: name.clone(),
            air_ns: used.air,
            bytes: [used.down.bytes, used.up.bytes],
            packets: [used.down.frames, used.up.frames],
            retried: used.down.retried,
            drops: used.fates.drops,
            marks: used.fates.marks,
        };
        self.stations.iter().zip(names).map(snapshot).collect()
    }
}
