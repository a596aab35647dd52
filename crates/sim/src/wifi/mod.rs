//! The 802.11 medium: rates and timing, contention, aggregation, and the drivers above.
//!
//! All devices of a [`Radio`] hear each other: there are no hidden nodes, no capture, and an acknowledgement is never
//! lost. A frame is delivered at the end of its exchange, behind the (block) ack.

mod block_ack;
mod channel;
mod device;
mod edca;
mod exchange;
mod fill;
mod frame;
mod minstrel;
pub mod model;
mod phy;
mod radio;
mod rates;
mod spec;

pub use channel::Errors;
pub use device::PathAccount;
pub use edca::{ACCESS_POINT, Band, EdcaParams, STATION};
pub use frame::{AirEvent, AirKind, DeviceId, Frame, Sink, tid_of};
pub use phy::{Format, Guard, PhyRate, RateError};
pub use radio::{AirAccount, PacketAccount, Radio, RadioError};
pub use rates::RateSpec;
pub use spec::{
    ATH9K_QDEPTH, ATH10K_MSDU_DESC, Aggregation, DeviceSpec, DriverSpec, Lower, PeerSpec, RadioSpec, Role,
    Upper,
};
