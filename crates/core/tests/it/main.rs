//! Tests of the library as its users see it.

mod cake;
mod conserve;
mod models;
mod port;
mod schedule;
mod sqm;
mod stale;
mod wifi;
