//! Tests of the simulator as its users see it.

mod by_delay;
mod configure_queue;
mod counters;
mod departures;
mod determinism;
mod examples;
mod gro;
mod ledbat;
mod network;
mod own_congestion_control;
mod own_queue;
mod pages;
#[cfg(feature = "quic")]
mod quic;
mod reference;
mod rpm;
mod shared_rate;
mod super_packets;
mod switch;
mod switched;
mod talks;
mod tap;
mod textbook;
mod topology;
mod transfers;
mod videos;
mod westwood;
mod wifi;
mod wifi_air;
mod wifi_ideas;
mod wifi_kazior;
mod wifi_saturation;
