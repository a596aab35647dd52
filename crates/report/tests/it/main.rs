//! Tests of the report as its users see it.

mod columns;
mod compare;
mod cut_off;
mod fixture;
mod flent;
mod forms;
#[cfg(feature = "parquet")]
mod pandas;
mod trace;
mod weird;
mod wifi;
