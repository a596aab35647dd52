//! What a queue needs on a given link: its limit in bytes, and places for its packets.

use core::fmt;

use crate::htb::ParamsError as HtbError;
use crate::red::ParamsError as RedError;
use crate::tbf::ParamsError as TbfError;
use crate::{Bytes, ETHERNET_FRAME, Rate, Span};

/// Largest limit in packets: storage is allocated for all of them when the queue is built.
pub const MAX_PACKETS: u64 = 1 << 22;

/// The largest number in tc's 32 bits of bytes.
pub(crate) const MAX_BYTES: u64 = u32::MAX as u64;

/// The largest time in tc's 32 bits of microseconds.
pub(crate) const MAX_MICROS: Span = Span(u32::MAX as u64 * 1000);

/// The link that a queue is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its rate.
    pub rate: Rate,
    /// The longest packet including its link header, bytes (Linux `psched_mtu`): 1514 for Ethernet.
    pub mtu: u32,
}

impl Link {
    /// A link of this rate with Ethernet's MTU.
    #[must_use]
    pub const fn ethernet(rate: Rate) -> Link {
        Link { rate, mtu: ETHERNET_FRAME }
    }
}

/// Why a queue cannot be built for a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// The link sends less than one packet in the queue's time.
    NoRoom {
        /// The time given.
        time: Span,
        /// The rate of the link.
        rate: Rate,
        /// Bytes that the link sends in that time.
        bytes: Bytes,
        /// The longest packet, bytes.
        mtu: u32,
    },
    /// The link sends more in the queue's time than Linux can count (4 GiB).
    TooDeep {
        /// The time given.
        time: Span,
        /// The rate of the link.
        rate: Rate,
    },
    /// A token bucket cannot have these parameters.
    Tbf(TbfError),
    /// RED cannot have these parameters.
    Red(RedError),
    /// The classes do not form a tree.
    Htb(HtbError),
    /// The parts of the tables of `cake` have sizes that do not match.
    Tables,
    /// The tables of `cake` have fewer tins than the parameters need.
    Tins,
    /// The parameters of this kind of queue are fixed.
    Fixed,
    /// The queue has no place for a packet or a flow.
    NoPlace,
    /// The classes together have places for more packets than a queue is allowed to have.
    TooMany {
        /// Classes.
        classes: u64,
        /// Places of each class, packets.
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
            BuildError::Tables => f.write_str("cake: the sizes of the tables do not go together"),
            BuildError::Tins => f.write_str("cake has storage for fewer tins than this diffserv mode uses"),
            BuildError::Fixed => f.write_str("the parameters of this queue cannot be changed"),
            BuildError::NoPlace => f.write_str("there is no place for a packet or a flow"),
            BuildError::TooMany { classes, places } => write!(
                f,
                "{classes} classes with places for {places} packets each: more than {MAX_PACKETS} together"
            ),
        }
    }
}

impl core::error::Error for BuildError {}

/// Places for packets in a queue of `bytes` bytes. They suffice for packets of 40 bytes, the shortest TCP
/// segment without a link header; at most 2^22 + 1.
#[must_use]
pub const fn packets_in(bytes: u64) -> u64 {
    let packets = bytes / 40 + 1;
    if packets > MAX_PACKETS { MAX_PACKETS + 1 } else { packets }
}

/// The bytes that the link sends in `time`; fails if that is less than one packet.
pub(crate) fn depth(time: Span, link: Link) -> Result<Bytes, BuildError> {
    let Link { rate, mtu } = link;
    if u128::from(rate.0) * u128::from(time.0) / 8_000_000_000 > u128::from(u32::MAX) {
        return Err(BuildError::TooDeep { time, rate });
    }
    let bytes = rate.bytes_in(time);
    if bytes.0 < u64::from(mtu) {
        return Err(BuildError::NoRoom { time, rate, bytes, mtu });
    }
    Ok(bytes)
}
