//! The 802.11 medium: rates and timing, contention, aggregation, and the drivers above.
//!
//! What the model leaves out:
//!
//! * All devices of a [`Radio`] hear each other: no hidden nodes. A collision loses everything that collides,
//!   unless capture is on ([`RadioSpec::capture`]).
//! * A (block) ack is never lost. A frame is delivered at the end of its exchange, after the ack.
//! * After an unanswered PPDU all devices wait for EIFS, its senders included (their time-out is about as
//!   long).
//! * No beacons, no multicast, no power save, no A-MSDU, no fragments, no encryption; HE to a single user,
//!   without packet extension.
//! * No minimum spacing between the starts of MPDUs (no empty delimiters for it), no long slots of 20 us
//!   (802.11b; a slot is 9 us at every rate), no protection of one standard's frames from another's stations.
//! * Firmware that asks for packets by station (ath10k 10.4, push-pull): modelled only as a limit on what it
//!   holds for each ([`HttSpec::station`]).

mod block_ack;
mod capture;
mod channel;
mod coded;
mod device;
mod edca;
mod exchange;
mod fill;
mod frame;
mod hardware;
mod htt;
mod ideas;
mod leave;
mod limit;
mod minstrel;
pub mod model;
mod on_air;
mod phy;
mod radio;
mod rates;
mod spec;
mod taildrop;

pub use channel::Errors;
pub use device::PathAccount;
pub use edca::{ACCESS_POINT, Band, EdcaParams, STATION};
pub use frame::{AirEvent, AirKind, DeviceId, Frame, Sink, tid_of};
pub use ideas::{DqlScope, Ideas};
pub use phy::{Format, Guard, PhyRate, RateError};
pub use radio::{AirAccount, PacketAccount, Radio, RadioError};
pub use rates::RateSpec;
pub use spec::{
    ATH9K_QDEPTH, ATH10K_MSDU_DESC, Aggregation, DeviceSpec, DriverSpec, GroupSpec, HttSpec, Lower, PeerSpec,
    PolicySpec, Protection, RadioSpec, Role, Upper,
};
