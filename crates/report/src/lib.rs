//! The record of a run, and the formats in which people read it.
//!
//! A [`Record`] holds everything that one `goodqueue run` measured, with everything needed to judge it: plan,
//! host, seed, warnings. Series are columns of integers with the unit in their name. This crate computes all
//! derived values (percentiles, grades, charts) from the series. So a record read back from disk gives the
//! same table and the same pictures.
//!
//! A record yields a [`Summary`] per run, the terminal [`table`], [`csv`], `.flent.gz`, charts as SVG and
//! PNG, and one HTML page that needs no network. [`write_all`] writes all of them.
//!
//! Percentiles are by nearest rank everywhere: the p-th percentile of n sorted values is the one at rank
//! ⌈p·n/100⌉, always a value that was measured. Statistics are computed on integer nanoseconds and converted
//! to milliseconds only for printing.
#![forbid(unsafe_code)]

mod applications;
mod arms;
mod baseline;
mod charts;
pub mod compare;
pub mod csv;
#[cfg(feature = "png")]
mod curves;
pub mod data;
mod destination;
#[cfg(feature = "png")]
mod dots;
mod error;
mod files;
pub mod flent;
mod folder;
mod json;
mod marks;
mod merge;
mod mos;
mod output;
mod page;
#[cfg(feature = "parquet")]
mod parquet;
mod record;
mod run_row;
mod stats;
mod summary;
pub mod sweep;
pub mod table;
mod talks;
pub mod trace;
mod transfers;
mod videos;
mod voice;
pub mod wifi;
mod words;

pub use applications::{CallSummary, Loads, PageSummary};
pub use arms::Arm;
#[cfg(feature = "png")]
pub use curves::{Curve, Curves, write_curves};
pub use destination::{Destination, check_parent};
#[cfg(feature = "png")]
pub use dots::{Dot, DotMark, DotPanel, DotRow, Dots, write_dots};
pub use error::{Error, room};
pub use files::write_new;
pub use folder::Folder;
pub use marks::Mark;
pub use merge::merge;
pub use output::{SUFFIXES, overview_svg, write_all, write_all_in, write_as, write_new_as};
#[cfg(feature = "png")]
pub use output::{write_airtime, write_histogram, write_overview, write_shares, write_video};
pub use page::html;
pub use page::sweep::html as sweep_html;
#[cfg(feature = "parquet")]
pub use parquet::column as parquet_column;
pub use record::{
    CallSeries, Direction, Doubt, DoubtKind, EngineHealth, Fate, FlowPlan, FlowQueue, FlowSeries, FoundKind,
    FoundQueue, HopRise, Host, LinkPlan, Located, LossCount, MISSING, OwnQueue, PagePlan, PageSeries,
    PathPlan, PathQueue, Peer, ProbePlan, ProbeSeries, QueueSeries, Record, Repetition, Responsiveness,
    RpmInterval, RpmPart, RpmPercentile, Run, SCHEMA, SenderLimits, Simulation, Sojourn, TalkPlan,
    TalkSeries, TalkWay, TestPlan, TrafficPlan, TransferSeries, UnderWay, Validity, VideoPlan, VideoSeries,
};
pub use run_row::RunRow;
pub use summary::{
    DirectionVerdict, Estimate, FlowSummary, Grade, Latency, Letter, ProbeSummary, QueueSummary,
    RadioSummary, Repeated, SATURATED_PERCENT, StationSummary, Summary, TcpRtt, queue_kind, ramp_ns,
    student_975,
};
pub use talks::{CallWay, GameSummary, GameWay, TalkSummary, game_mos};
pub use transfers::{Completion, TransferSummary};
pub use videos::VideoSummary;
pub use voice::Voice;
pub use words::headline;
