//! The kernel's own queueing disciplines on the real interfaces of a router (Linux).
//!
//! * [`tc`] changes them: each [`tc::Change`] is a netlink message, and prints as the `tc` or `ip` command
//!   that does the same.
//! * [`sqm`] shapes an interface in both directions below the rate of the link behind it, like sqm-scripts,
//!   so that the queue is here and not in the modem.
//! * [`autorate`] adjusts the rates of these shapers as the link behind them varies.
//! * [`bridge`] prepares two interfaces for an emulated link between them.
//! * [`shape`] sends the frames of an interface through a program's own queues, and back.
//! * [`watch`] reads the queues of interfaces, no matter what set them up.
//! * [`roots`] reads the counters of the interfaces' root queues.
//! * [`doctor`] looks for queues that are too long in this host, explains what to change and why, makes the
//!   change, and undoes it.
//! * [`airtime`] shows the stations of an access point, and sets their weights by a policy.
//!
//! The queues' parameters are those of the library ([`goodqueue::QueueSpec`]): what runs in the simulator
//! runs on the router.
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

pub mod airtime;
pub mod autorate;
pub mod bridge;
pub mod doctor;
pub mod roots;
pub mod shape;
pub mod sqm;
pub mod tc;
pub mod watch;

mod error;
mod kept;

pub use error::{Error, Result};
