//! Errors from modulation and code: the bit error ratio of the modulation in white noise, and the union bound
//! on the result of a hard-decision Viterbi decoder.
//!
//! The model is that of G. Pei and T. Henderson, "Validation of OFDM error rate model in ns-3" (Boeing,
//! 2010). It extends to 256 and 1024 points by the same formula for square constellations (Proakis, "Digital
//! Communications"). The weights of the code (133, 171) are published: for rates 1/2, 2/3 and 3/4 by P.
//! Frenger, P. Orten, T. Ottosson and A. Svensson, "Multi-rate convolutional codes" (Chalmers, 1998), for 5/6
//! by D. Haccoun and G. Begin, "High-rate punctured convolutional codes for Viterbi and sequential decoding"
//! (IEEE Trans. Commun. 37(11), 1989).

use super::phy::{Format, PhyRate};
use crate::draw::{exp, ln};

/// A code: `b` of rate b / (b + 1), the exponent of the first weight, the step between exponents, and the
/// weights.
struct Code {
    b: f64,
    first: i32,
    step: i32,
    weights: &'static [f64],
}

static HALF: Code = Code {
    b: 1.0,
    first: 10,
    step: 2,
    weights: &[36.0, 211.0, 1404.0, 11633.0, 77433.0, 502690.0, 3322763.0, 21292910.0, 134365911.0],
};
static TWO_THIRDS: Code = Code {
    b: 2.0,
    first: 6,
    step: 1,
    weights: &[3.0, 70.0, 285.0, 1276.0, 6160.0, 27128.0, 117019.0, 498860.0, 2103891.0, 8784123.0],
};
static THREE_QUARTERS: Code = Code {
    b: 3.0,
    first: 5,
    step: 1,
    weights: &[
        42.0,
        201.0,
        1492.0,
        10469.0,
        62935.0,
        379644.0,
        2253373.0,
        13073811.0,
        75152755.0,
        428005675.0,
    ],
};
static FIVE_SIXTHS: Code = Code {
    b: 5.0,
    first: 4,
    step: 1,
    weights: &[
        92.0,
        528.0,
        8694.0,
        79453.0,
        792114.0,
        7375573.0,
        67884974.0,
        610875423.0,
        5427275376.0,
        47664215639.0,
    ],
};

/// Points of the constellation and code of MCS 0 to 11, and of OFDM from 6 to 54 Mbit/s.
static MCS: [(f64, &Code); 12] = [
    (2.0, &HALF),
    (4.0, &HALF),
    (4.0, &THREE_QUARTERS),
    (16.0, &HALF),
    (16.0, &THREE_QUARTERS),
    (64.0, &TWO_THIRDS),
    (64.0, &THREE_QUARTERS),
    (64.0, &FIVE_SIXTHS),
    (256.0, &THREE_QUARTERS),
    (256.0, &FIVE_SIXTHS),
    (1024.0, &THREE_QUARTERS),
    (1024.0, &FIVE_SIXTHS),
];
static OFDM: [(f64, &Code); 8] = [
    (2.0, &HALF),
    (2.0, &THREE_QUARTERS),
    (4.0, &HALF),
    (4.0, &THREE_QUARTERS),
    (16.0, &HALF),
    (16.0, &THREE_QUARTERS),
    (64.0, &TWO_THIRDS),
    (64.0, &THREE_QUARTERS),
];

/// Share of MPDUs of `bytes` bytes lost at `snr`, a ratio of powers on each stream. `None` with DSSS, which
/// has no such code.
pub(super) fn lost(rate: &PhyRate, snr: f64, bytes: u32) -> Option<f64> {
    let mcs = usize::from(rate.mcs());
    let (points, code) = match rate.format() {
        Format::Dsss => return None,
        Format::Ofdm => OFDM[mcs % 8],
        _ => MCS[mcs % 12],
    };
    let bit = code.errors(modulated(points, snr));
    Some(1.0 - exp(8.0 * f64::from(bytes) * ln((1.0 - bit).max(f64::MIN_POSITIVE))))
}

/// Bit error ratio of a constellation with Gray labels, before the decoder.
fn modulated(points: f64, snr: f64) -> f64 {
    match points as u32 {
        2 => erfc(snr.sqrt()) / 2.0,
        4 => erfc((snr / 2.0).sqrt()) / 2.0,
        _ => {
            let side = points.sqrt();
            let bits = ln(side) / std::f64::consts::LN_2;
            (side - 1.0) / (side * bits) * erfc((1.5 * snr / (points - 1.0)).sqrt())
        }
    }
}

impl Code {
    /// Bit error ratio after the decoder: the union bound with Chernoff's on each pair of words, at most 1.
    fn errors(&self, modulated: f64) -> f64 {
        let d = (4.0 * modulated * (1.0 - modulated)).sqrt();
        let step = if self.step == 2 { d * d } else { d };
        let mut power = (0..self.first).fold(1.0, |power, _| power * d);
        let mut sum = 0.0;
        for weight in self.weights {
            sum += weight * power;
            power *= step;
        }
        (sum / (2.0 * self.b)).min(1.0)
    }
}

/// The complementary error function of `x` from 0 on: a series without cancellation below 2.5, from there on
/// a continued fraction (Abramowitz and Stegun 7.1.6 and 7.1.14).
fn erfc(x: f64) -> f64 {
    let root = std::f64::consts::PI.sqrt();
    if x < 2.5 {
        let (mut term, mut sum) = (x, x);
        for n in 1..60 {
            term *= 2.0 * x * x / f64::from(2 * n + 1);
            sum += term;
        }
        return 1.0 - 2.0 / root * exp(-x * x) * sum;
    }
    let fraction = (1..=60).rev().fold(x, |below, n| x + f64::from(n) / 2.0 / below);
    exp(-x * x) / (root * fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Abramowitz and Stegun, table 7.1 and 7.3.
    #[test]
    fn the_complementary_error_function_is_right() {
        for (x, right) in [
            (0.0, 1.0),
            (0.5, 0.479_500_122_186_953_5),
            (1.0, 0.157_299_207_050_285_13),
            (2.0, 0.004_677_734_981_047_265),
            (2.6, 2.360_344_165_293_491e-4),
            (3.0, 2.209_049_699_858_544e-5),
            (5.0, 1.537_459_794_428_034_7e-12),
        ] {
            assert!((erfc(x) / right - 1.0).abs() < 1e-9, "{x}: {}", erfc(x));
        }
    }
}
