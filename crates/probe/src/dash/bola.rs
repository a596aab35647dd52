//! BOLA-O: selects the next bit rate.

use goodqueue::Span;

use super::{BUFFER, LADDER, SEGMENT};

/// ln(bit rate / lowest bit rate), the utility of each bit rate. They are constants, because `ln` may differ
/// in the last bits between systems.
pub(super) const UTILITIES: [f64; LADDER.len()] = [
    0.0,
    0.36403906645386747,
    0.7294371819651457,
    1.0957095290101484,
    1.4606352254067927,
    1.8252503085536411,
    2.1904383176518603,
    2.555540685904549,
    3.0844993547693798,
    3.2614354392869966,
];

/// γp: the value of playback without a stall, relative to the utility of a segment.
const GAMMA_P: f64 = 5.0;

/// The next segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Index of its bit rate in [`LADDER`].
    pub index: usize,
    /// The segment is requested when the buffer has fallen to this level.
    pub level: Span,
}

/// BOLA-O selects the bit rate with the highest utility for its size, weighted by the buffer. It does not go
/// up beyond the rate at which the last segment was received.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bola {
    /// Index of the last segment's bit rate in [`LADDER`], and the rate at which it was received, bits per
    /// second.
    last: Option<(usize, f64)>,
}

/// The parameters of the decision at a given buffer size.
#[derive(Clone, Copy, Debug)]
struct Weights {
    /// V_D: the weight of utility relative to segments in the buffer.
    v: f64,
}

impl Weights {
    /// V_D (v_m + γp): the buffer level, in segments, at which this bit rate has no value.
    fn ceiling(self, index: usize) -> f64 {
        self.v * (UTILITIES[index] + GAMMA_P)
    }

    fn worth(self, index: usize, buffer: f64) -> f64 {
        (self.ceiling(index) - buffer) / size(index)
    }

    fn best(self, buffer: f64) -> usize {
        let better = |best: usize, index: usize| {
            if self.worth(index, buffer) > self.worth(best, buffer) { index } else { best }
        };
        (1..LADDER.len()).fold(0, better)
    }

    /// The largest buffer level at which bit rate `index` is worth as much as the next higher one.
    fn crossing(self, index: usize) -> f64 {
        let (low, high) = (size(index), size(index + 1));
        (self.ceiling(index) * high - self.ceiling(index + 1) * low) / (high - low)
    }
}

/// S_m / p.
#[allow(clippy::cast_precision_loss)]
fn size(index: usize) -> f64 {
    LADDER[index].0 as f64
}

#[allow(clippy::cast_precision_loss)]
fn segments(span: Span) -> f64 {
    span.0 as f64 / SEGMENT.0 as f64
}

/// No more than `segments`, to the nanosecond.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss)]
fn playing(segments: f64) -> Span {
    Span((segments.max(0.0) * SEGMENT.0 as f64) as u64)
}

impl Bola {
    /// Records that the last requested segment, with index `index` in [`LADDER`], was received at `rate` bits
    /// per second.
    pub fn received(&mut self, index: usize, rate: f64) {
        self.last = Some((index, rate));
    }

    /// The next segment, after `played` of the video was played and with `buffer` still to play.
    #[must_use]
    pub fn next(&self, played: Span, buffer: Span) -> Choice {
        // The target buffer grows with the time played, from 3 segments to the full buffer.
        let most = segments(BUFFER).min((segments(played) / 2.0).max(3.0));
        let weights = Weights { v: (most - 1.0) / (UTILITIES[LADDER.len() - 1] + GAMMA_P) };
        let level = segments(buffer);
        let mut index = weights.best(level);
        // The segment must fit into the buffer.
        let mut limit = most - 1.0;
        if let Some((last, rate)) = self.last
            && index > last
        {
            let sustained = (1..LADDER.len()).rev().find(|&at| size(at) <= rate).unwrap_or(0);
            if sustained < last {
                index = last;
            } else if sustained < index {
                // Give up some utility for fewer changes: wait until this bit rate is the best one.
                index = sustained;
                limit = limit.min(weights.crossing(index));
            }
        }
        Choice { index, level: playing(limit) }
    }
}
