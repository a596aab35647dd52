//! Why parameters are not valid for RED.

use core::fmt;

/// Why parameters are not valid for `red`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamsError {
    /// `min`, `max` and `limit` are not in ascending order.
    Thresholds,
    /// No weight lets the burst pass.
    Burst,
    /// The weighted thresholds do not fit into 32 bits.
    Range,
    /// `nodrop` without `ecn`.
    Nodrop,
}

impl fmt::Display for ParamsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ParamsError::Thresholds => "min must be above 0, max at least min, limit at least max",
            ParamsError::Burst => "burst packets of avpkt bytes do not pass below min with any weight",
            ParamsError::Range => "max is too large for the weight that burst asks for",
            ParamsError::Nodrop => "nodrop needs ecn",
        })
    }
}

impl core::error::Error for ParamsError {}
