//! What `cake` lacks storage for.

use core::fmt;

/// Why the given storage cannot hold a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoStorage {
    /// The number of flows of a tin is not a power of two from 8 to 65536, the heap does not have eight
    /// places for each of them, or the sets, hosts and flows are not those of one to eight tins.
    Ways,
    /// The parameters need more tins than the storage has.
    Tins,
    /// There is no slot for a packet.
    Slots,
}

impl fmt::Display for NoStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoStorage::Ways => {
                "cake needs a power of two of sets in each of its tins, at most 8192, eight flows and hosts for each, and a heap for eight tins"
            }
            NoStorage::Tins => "cake has storage for fewer tins than this diffserv mode uses",
            NoStorage::Slots => "cake needs at least one slot",
        })
    }
}

impl core::error::Error for NoStorage {}
