//! Errors of the caller.

use core::fmt;

use super::duration::RateError;
use super::id::{InterfaceId, StationId};

/// Why a call was refused. A refused call changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WifiError {
    /// There is no such station.
    UnknownStation(StationId),
    /// There is no such interface.
    UnknownInterface(InterfaceId),
    /// The station exists already.
    StationExists(StationId),
    /// The number of the station is not below the capacity.
    TooManyStations {
        /// The given number.
        station: StationId,
        /// [`super::Capacity::stations`].
        capacity: u32,
    },
    /// A weight of 0 or above 65535.
    Weight(u32),
    /// A rate without a duration in the estimator.
    Rate(RateError),
    /// A parameter is outside its range.
    OutOfRange {
        /// Its key, as in [`super::WifiParams`].
        key: &'static str,
        /// The given value, in the base unit.
        value: u64,
    },
    /// There is no room for that many stations, interfaces, flows or packets.
    Capacity,
}

impl fmt::Display for WifiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WifiError::UnknownStation(station) => write!(f, "there is no station {}", station.0),
            WifiError::UnknownInterface(interface) => write!(f, "there is no interface {}", interface.0),
            WifiError::StationExists(station) => write!(f, "station {} is there already", station.0),
            WifiError::TooManyStations { station, capacity } => {
                write!(f, "station {}: there is room for {capacity} stations, from 0", station.0)
            }
            WifiError::Weight(weight) => write!(f, "an airtime weight is 1 to 65535, not {weight}"),
            WifiError::Rate(error) => error.fmt(f),
            WifiError::OutOfRange { key, value } => write!(f, "{key}: {value} is out of range"),
            WifiError::Capacity => {
                f.write_str("the capacity is 1 to 2^20 stations, 1 to 4096 interfaces and up to 2^22 packets")
            }
        }
    }
}

impl core::error::Error for WifiError {}

impl From<RateError> for WifiError {
    fn from(error: RateError) -> WifiError {
        WifiError::Rate(error)
    }
}
