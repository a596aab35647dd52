//! Scales and their ticks.

/// A map from values to pixels, linear or logarithmic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    from: f64,
    to: f64,
    start: f64,
    end: f64,
    log: bool,
}

impl Scale {
    /// Values `from` to `to` over pixels `start` to `end`. An empty domain is widened.
    pub(crate) fn linear(from: f64, to: f64, start: f64, end: f64) -> Self {
        let (from, to) = widen(from, to);
        Self { from, to, start, end, log: false }
    }

    /// The same on a logarithmic axis; values at or below zero are drawn at the start.
    pub(crate) fn log(from: f64, to: f64, start: f64, end: f64) -> Self {
        let from = if from.is_finite() && from > 0.0 { from } else { 0.1 };
        let to = if to.is_finite() && to > from * 1.01 { to } else { from * 10.0 };
        Self { from, to, start, end, log: true }
    }

    pub(crate) fn is_log(&self) -> bool {
        self.log
    }

    pub(crate) fn domain(&self) -> (f64, f64) {
        (self.from, self.to)
    }

    /// The pixel of a value; a value outside the domain gives a pixel outside the range.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let share = if self.log {
            (value.max(self.from).ln() - self.from.ln()) / (self.to.ln() - self.from.ln())
        } else {
            (value - self.from) / (self.to - self.from)
        };
        self.start + share * (self.end - self.start)
    }

    /// The value at a fraction (0 to 1) of the axis.
    pub(crate) fn value_at(&self, share: f64) -> f64 {
        if self.log {
            (self.from.ln() + share * (self.to.ln() - self.from.ln())).exp()
        } else {
            self.from + share * (self.to - self.from)
        }
    }

    /// About `wanted` round values within the domain, with their labels.
    pub(crate) fn ticks(&self, wanted: usize) -> Vec<(f64, String)> {
        if self.log { self.log_ticks() } else { self.linear_ticks(wanted) }
    }

    fn linear_ticks(&self, wanted: usize) -> Vec<(f64, String)> {
        let step = nice_step((self.to - self.from) / wanted.max(1) as f64);
        let first = (self.from / step - 1e-9).ceil();
        let count = ((self.to / step + 1e-9).floor() - first).clamp(0.0, 100.0) as usize;
        let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
        (0..=count)
            .map(|i| (first + i as f64) * step)
            .map(|v| (v, format!("{:.decimals$}", if v == 0.0 { 0.0 } else { v }).replace('-', "−")))
            .collect()
    }

    fn log_ticks(&self) -> Vec<(f64, String)> {
        let decades = (self.to / self.from).log10();
        let within: &[f64] = match decades {
            d if d > 4.0 => &[1.0],
            d if d > 0.8 => &[1.0, 2.0, 5.0],
            _ => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0],
        };
        let lowest = self.from.log10().floor().clamp(-12.0, 12.0) as i32;
        let highest = self.to.log10().ceil().clamp(-12.0, 13.0) as i32;
        (lowest..=highest)
            .flat_map(|e| within.iter().map(move |m| m * 10_f64.powi(e)))
            .filter(|&v| v >= self.from * 0.999 && v <= self.to * 1.001)
            .map(|v| (v, plain(v)))
            .collect()
    }
}

fn widen(from: f64, to: f64) -> (f64, f64) {
    let from = if from.is_finite() { from.clamp(-1e15, 1e15) } else { 0.0 };
    let to = if to.is_finite() { to.clamp(-1e15, 1e15) } else { from + 1.0 };
    if to - from > 1e-9 { (from, to) } else { (from, from + 1.0) }
}

/// The next of 1, 2, 5 times a power of ten that is at least `raw`.
pub(crate) fn nice_step(raw: f64) -> f64 {
    let raw = if raw.is_finite() && raw > 1e-12 { raw } else { 1.0 };
    let power = 10_f64.powf(raw.log10().floor());
    let lead = raw / power;
    let nice = [1.0, 2.0, 5.0].into_iter().find(|&n| lead <= n + 1e-9).unwrap_or(10.0);
    nice * power
}

/// The next round value at or above `value`, for the end of an axis.
pub(crate) fn nice_top(value: f64) -> f64 {
    let value = if value.is_finite() && value > 0.0 { value } else { 1.0 };
    let step = nice_step(value / 8.0);
    (value / step - 1e-9).ceil() * step
}

/// A number with as many decimals as it needs, at most three significant digits below one.
pub(crate) fn plain(v: f64) -> String {
    let decimals = if v != 0.0 && v.abs() < 1.0 { (1.0 - v.abs().log10().floor()) as usize } else { 1 };
    let text = format!("{v:.*}", decimals.min(9));
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    text.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(ticks: Vec<(f64, String)>) -> Vec<String> {
        ticks.into_iter().map(|(_, w)| w).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(
            words(Scale::linear(-5.0, 30.0, 0.0, 1.0).ticks(7)),
            ["−5", "0", "5", "10", "15", "20", "25", "30"]
        );
        assert_eq!(words(Scale::linear(0.0, 0.3, 0.0, 1.0).ticks(3)), ["0.0", "0.1", "0.2", "0.3"]);
        assert_eq!(words(Scale::log(15.0, 600.0, 0.0, 1.0).ticks(0)), ["20", "50", "100", "200", "500"]);
        assert_eq!(words(Scale::log(0.02, 0.2, 0.0, 1.0).ticks(0)), ["0.02", "0.05", "0.1", "0.2"]);
    }

    #[test]
    fn invalid_domains_are_widened() {
        for (a, b) in [(0.0, 0.0), (f64::NAN, f64::NAN), (5.0, -5.0), (0.0, f64::INFINITY), (-1e300, 1e300)] {
            for s in [Scale::linear(a, b, 0.0, 100.0), Scale::log(a, b, 0.0, 100.0)] {
                assert!(s.at(1.0).is_finite());
                assert!(s.ticks(6).len() < 120);
            }
        }
        assert_eq!(nice_top(0.0), 1.0);
        assert_eq!(nice_top(483.0), 500.0);
    }
}
