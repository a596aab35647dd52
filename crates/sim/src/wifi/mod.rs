//! The 802.11 medium: rates and timing, contention, aggregation, and the drivers above.

pub mod model;
mod phy;

pub use phy::{Format, Guard, PhyRate, RateError};
