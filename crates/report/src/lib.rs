//! The record of a run, and the forms people read it in.
//!
//! A [`Record`] is everything that one `goodqueue run` measured, with everything needed to judge it:
//! plan, host, seed, warnings. Series are columns of integers with their unit in the name. All that
//! is derived (percentiles, grades, charts) is computed from the series by this crate, so a record
//! read back from disk gives the same table and the same pictures.
#![forbid(unsafe_code)]

mod record;

pub use record::{
    Direction, EngineHealth, FlowPlan, FlowSeries, Host, LinkPlan, LossCount, MISSING, PathPlan, ProbePlan,
    ProbeSeries, QueueSeries, Record, Run, SCHEMA, TestPlan, Validity,
};
