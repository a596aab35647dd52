//! Why parameters are not valid for a token bucket.

use core::fmt;

/// Why parameters are not valid for a token bucket (Linux answers `EINVAL`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamsError {
    /// The rate is below one byte per second.
    Rate,
    /// The bucket has no depth.
    Burst,
    /// The peak rate is not above the rate.
    PeakRate,
    /// There is a peak rate and its bucket has no depth.
    MinBurst,
}

impl fmt::Display for ParamsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ParamsError::Rate => "the rate must be at least 8bit (one byte per second)",
            ParamsError::Burst => "burst must be above 0 bytes",
            ParamsError::PeakRate => "peakrate must be above rate",
            ParamsError::MinBurst => "minburst must be above 0 bytes where there is a peakrate",
        })
    }
}

impl core::error::Error for ParamsError {}
