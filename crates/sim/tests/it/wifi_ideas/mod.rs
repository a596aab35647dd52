//! The open ideas for Wi-Fi, each off and on: what it is for, and what it costs. The figures are in
//! `docs/wifi-ideas.md`; `--nocapture` prints them.

mod air;
mod hard;
mod hardware;
mod levels;
mod time;
