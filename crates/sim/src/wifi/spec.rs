//! A radio, as plain data.

use goodqueue::{QueueSpec, Span};

use super::channel::Errors;
use super::edca::{ACCESS_POINT, Band, EdcaParams, STATION};
use super::frame::DeviceId;
use super::rates::RateSpec;

/// A channel with all devices on it, of one or several networks. They all hear each other.
#[derive(Clone, Debug, Default)]
pub struct RadioSpec {
    /// Band of the channel.
    pub band: Band,
    /// Access points and stations.
    pub devices: Vec<DeviceSpec>,
}

/// A device.
#[derive(Clone, Debug)]
pub struct DeviceSpec {
    /// What it is.
    pub role: Role,
    /// Its parameters of the four categories, in the order of [`super::Ac::ALL`].
    pub edca: [EdcaParams; 4],
    /// What is between the stack and the air.
    pub driver: DriverSpec,
    /// PPDUs of more bytes than this begin with RTS and CTS.
    pub rts_threshold: Option<u32>,
}

/// What a device is.
#[derive(Clone, Debug)]
pub enum Role {
    /// An access point.
    AccessPoint,
    /// A station.
    Station {
        /// The access point that it is associated to.
        access_point: DeviceId,
        /// From there to the station.
        down: PeerSpec,
        /// From the station.
        up: PeerSpec,
    },
}

/// One direction between an access point and a station.
#[derive(Clone, Debug)]
pub struct PeerSpec {
    /// Rate control.
    pub rate: RateSpec,
    /// Errors of the channel.
    pub errors: Errors,
    /// Limits on aggregates that the receiver sets.
    pub aggregation: Aggregation,
}

/// What a receiver takes in one A-MPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregation {
    /// Bytes.
    pub bytes: u32,
    /// Sequence numbers of the block ack window: 64, or up to 256 (HE). 1 to 256.
    pub window: u16,
}

impl Aggregation {
    /// HT: 65535 bytes, 64 MPDUs.
    pub const HT: Aggregation = Aggregation { bytes: 65_535, window: 64 };
    /// VHT: 1048575 bytes, 64 MPDUs.
    pub const VHT: Aggregation = Aggregation { bytes: 1_048_575, window: 64 };
    /// HE: 6500631 bytes, 256 MPDUs.
    pub const HE: Aggregation = Aggregation { bytes: 6_500_631, window: 256 };
}

/// What is between a host's stack and the air.
#[derive(Clone, Debug)]
pub struct DriverSpec {
    /// Where packets wait first.
    pub upper: Upper,
    /// What the driver and its hardware hold.
    pub lower: Lower,
    /// Longest PPDU with data.
    pub max_time: Span,
    /// Most MPDUs in one, beside the peer's window.
    pub max_frames: u16,
}

/// Where packets wait first.
#[derive(Clone, Debug)]
pub enum Upper {
    /// A queue discipline for each category (Linux `mq`).
    Qdisc(QueueSpec),
}

/// What a driver and its hardware hold below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lower {
    /// ath9k before 2016: packets of a category in FIFOs by station and TID, served in turn, two PPDUs of
    /// them in the hardware queue.
    Fifo {
        /// Packets of a category in all, those in the hardware included.
        packets: u32,
    },
}

/// Most packets of a category that ath9k took from its qdisc (`ATH_MAX_QDEPTH`: a quarter of 512 buffers, less 5).
pub const ATH9K_QDEPTH: u32 = 123;

impl DriverSpec {
    /// ath9k before 2016 under `qdisc`: aggregates of 4 ms and half a block ack window.
    #[must_use]
    pub const fn stock(qdisc: QueueSpec) -> DriverSpec {
        DriverSpec {
            upper: Upper::Qdisc(qdisc),
            lower: Lower::Fifo { packets: ATH9K_QDEPTH },
            max_time: Span::from_micros(4_096),
            max_frames: 32,
        }
    }
}

impl PeerSpec {
    /// An HT peer at `rate`, without errors.
    #[must_use]
    pub const fn new(rate: RateSpec) -> PeerSpec {
        PeerSpec { rate, errors: Errors::None, aggregation: Aggregation::HT }
    }
}

impl DeviceSpec {
    /// An access point without RTS.
    #[must_use]
    pub const fn access_point(driver: DriverSpec) -> DeviceSpec {
        DeviceSpec { role: Role::AccessPoint, edca: ACCESS_POINT, driver, rts_threshold: None }
    }

    /// A station without RTS, with the same peer specification both ways.
    #[must_use]
    pub fn station(access_point: DeviceId, peer: PeerSpec, driver: DriverSpec) -> DeviceSpec {
        let role = Role::Station { access_point, down: peer.clone(), up: peer };
        DeviceSpec { role, edca: STATION, driver, rts_threshold: None }
    }
}
