//! What a queue needs on a given link: its limit in bytes, and places for its packets.

use core::fmt;

use super::{MAX_PACKETS, QueueKind, QueueSpec};
use crate::fifo::Limit;
use crate::tbf::ParamsError;
use crate::{Bytes, Rate, Span, htb, red};

/// Why a queue cannot be built for a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// What the link sends in the queue's time is less than one packet.
    NoRoom {
        /// The time asked for.
        time: Span,
        /// The rate of the link.
        rate: Rate,
        /// Bytes that the link sends in it.
        bytes: Bytes,
        /// The longest packet, bytes.
        mtu: u32,
    },
    /// What the link sends in the queue's time is more than Linux can count (4 GiB).
    TooDeep {
        /// The time asked for.
        time: Span,
        /// The rate of the link.
        rate: Rate,
    },
    /// The parameters make no token bucket.
    Tbf(ParamsError),
    /// The parameters make no RED.
    Red(red::ParamsError),
    /// The classes make no tree.
    Htb(htb::ParamsError),
    /// The classes together have places for more packets than a queue may have.
    TooMany {
        /// Classes.
        classes: u64,
        /// Places of one.
        places: u64,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::NoRoom { time, rate, bytes, mtu } => write!(
                f,
                "fifo:{time} at {rate} holds {} bytes, less than one packet of {mtu} bytes",
                bytes.0
            ),
            BuildError::TooDeep { time, rate } => write!(f, "fifo:{time} at {rate} is above 4 GiB"),
            BuildError::Tbf(error) => write!(f, "tbf: {error}"),
            BuildError::Htb(error) => write!(f, "htb: {error}"),
            BuildError::Red(error) => write!(f, "red: {error}"),
            BuildError::TooMany { classes, places } => write!(
                f,
                "{classes} classes with places for {places} packets each: more than {MAX_PACKETS} together"
            ),
        }
    }
}

impl core::error::Error for BuildError {}

/// Places for packets in a queue of `bytes`: for packets of 40 bytes, the least TCP segment without a link
/// header, at most 2^22 + 1.
#[must_use]
pub const fn packets_in(bytes: u64) -> u64 {
    let packets = bytes / 40 + 1;
    if packets > MAX_PACKETS { MAX_PACKETS + 1 } else { packets }
}

impl QueueSpec {
    /// The limit of `pfifo`, `bfifo` and `fifo` on a link of `rate` and of `mtu` bytes with its link
    /// header; `None` for another queue.
    ///
    /// # Errors
    /// Where a limit in time is less than one packet or more than 4 GiB at this rate.
    pub fn fifo_limit(&self, rate: Rate, mtu: u32) -> Result<Option<Limit>, BuildError> {
        let value = self.get(self.info.parameters[0].name).unwrap_or(0);
        Ok(Some(match self.kind() {
            QueueKind::Pfifo => Limit::Packets(u32::try_from(value).unwrap_or(u32::MAX)),
            QueueKind::Bfifo => Limit::Bytes(value),
            QueueKind::Fifo => Limit::Bytes(depth(Span(value), rate, mtu)?.0),
            _ => return Ok(None),
        }))
    }
}

impl QueueSpec {
    /// Packets that the queue has places for on a link of `rate` and of `mtu` bytes with its link header: of classes
    /// the sum.
    ///
    /// # Errors
    /// As [`QueueSpec::fifo_limit`].
    pub fn places(&self, rate: Rate, mtu: u32) -> Result<u64, BuildError> {
        if let Some(limit) = self.fifo_limit(rate, mtu)? {
            return Ok(match limit {
                Limit::Packets(packets) => packets.into(),
                Limit::Bytes(bytes) => packets_in(bytes),
            });
        }
        let limit = self.get("limit").unwrap_or(0);
        let each = self.leaf().map_or(Ok(0), |leaf| leaf.places(rate, mtu))?;
        Ok(match self.kind() {
            QueueKind::Tbf | QueueKind::Red => packets_in(limit),
            QueueKind::Cake => self.cake_packets(mtu).unwrap_or(0),
            QueueKind::PfifoFast => limit.saturating_mul(3),
            QueueKind::Prio => each.saturating_mul(self.get("bands").unwrap_or(0)),
            QueueKind::Htb => each.saturating_mul(if self.get("sqm") == Some(1) { 3 } else { 1 }),
            QueueKind::Drr => each.saturating_mul(self.get("classes").unwrap_or(0)),
            _ => limit,
        })
    }
}

/// What a link of `rate` sends in `time`: room for one packet at least.
fn depth(time: Span, rate: Rate, mtu: u32) -> Result<Bytes, BuildError> {
    if u128::from(rate.0) * u128::from(time.0) / 8_000_000_000 > u128::from(u32::MAX) {
        return Err(BuildError::TooDeep { time, rate });
    }
    let bytes = rate.bytes_in(time);
    if bytes.0 < u64::from(mtu) {
        return Err(BuildError::NoRoom { time, rate, bytes, mtu });
    }
    Ok(bytes)
}
