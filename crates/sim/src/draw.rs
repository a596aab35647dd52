//! Draws from common distributions, and the logarithm and exponential function that they need, computed with
//! the four basic operations and the square root alone. Results have the same bits on every machine; a
//! system's `ln` and `exp` do not guarantee that.

use goodqueue::Rng;

/// A number above 0 and up to 1, with 53 random bits.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn uniform(rng: &mut Rng) -> f64 {
    ((rng.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

/// An exponentially distributed number with mean 1.
pub(crate) fn exponential(rng: &mut Rng) -> f64 {
    -ln(uniform(rng))
}

/// A number of the standard normal distribution, by the polar method (Marsaglia and Bray, SIAM Review 6(3),
/// 1964).
pub(crate) fn normal(rng: &mut Rng) -> f64 {
    loop {
        let [x, y] = [0; 2].map(|_| 2.0 * uniform(rng) - 1.0);
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return x * (-2.0 * ln(square) / square).sqrt();
        }
    }
}

/// The natural logarithm of a positive normal number, by a series.
pub(crate) fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    #[allow(clippy::cast_possible_wrap, clippy::cast_precision_loss)]
    let exponent = ((bits >> 52) & 0x7ff) as i64 - 1023;
    let mantissa = f64::from_bits(bits & 0x000f_ffff_ffff_ffff | 0x3ff0_0000_0000_0000);
    // ln m = 2 artanh((m - 1) / (m + 1)). The argument is at most 1/3.
    let z = (mantissa - 1.0) / (mantissa + 1.0);
    let square = z * z;
    let mut sum = 0.0;
    for k in (0..20).rev() {
        sum = sum * square + 1.0 / f64::from(2 * k + 1);
    }
    #[allow(clippy::cast_precision_loss)]
    let exponent = exponent as f64;
    2.0 * z * sum + exponent * std::f64::consts::LN_2
}

/// e to the power of `x`, by a series; `x` is clamped to the range from -700 to 700.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(crate) fn exp(x: f64) -> f64 {
    let x = x.clamp(-700.0, 700.0);
    // e^x = 2^k e^rest, with a rest of at most ln 2 / 2.
    let k = (x / std::f64::consts::LN_2).round();
    let rest = x - k * std::f64::consts::LN_2;
    let mut sum = 1.0;
    for n in (1..=18).rev() {
        sum = sum * rest / f64::from(n) + 1.0;
    }
    sum * f64::from_bits(((k as i64 + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_is_right() {
        for x in [1.0, 0.5, 0.75, 1e-3, 1e-9, 2.0_f64.powi(-53), 0.999_999, 3.0, 1e12] {
            assert!((ln(x) - x.ln()).abs() <= 1e-14 * x.ln().abs().max(1.0), "{x}");
        }
    }

    #[test]
    fn the_exponential_function_is_right() {
        for x in [0.0, 1.0, -1.0, 0.346, -0.347, 20.0, -40.0, 690.0, -690.0, 1e-9] {
            assert!((exp(x) / x.exp() - 1.0).abs() <= 1e-13, "{x}: {} {}", exp(x), x.exp());
        }
    }

    /// Mean 0, variance 1, fourth moment 3, and 68.27 % within one deviation: each within five standard
    /// errors.
    #[test]
    fn normal_numbers_have_their_moments() {
        let mut rng = Rng::new(5);
        let all: Vec<f64> = (0..100_000).map(|_| normal(&mut rng)).collect();
        let mean = |of: fn(f64) -> f64| all.iter().map(|&x| of(x)).sum::<f64>() / 1e5;
        let near = |got: f64, expected: f64, variance: f64| {
            assert!((got - expected).abs() < 5.0 * (variance / 1e5_f64).sqrt(), "{got} is not {expected}");
        };
        near(mean(|x| x), 0.0, 1.0);
        near(mean(|x| x * x), 1.0, 2.0);
        near(mean(|x| x.powi(4)), 3.0, 96.0);
        near(mean(|x| f64::from(u8::from(x.abs() < 1.0))), 0.682_69, 0.22);
    }
}
