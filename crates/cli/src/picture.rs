//! The moving picture of a real path: rate and delay of both directions as they go, newest at the right.

use std::collections::VecDeque;

use goodqueue_experiment::Latest;

/// Columns, and the time that each one covers.
const COLUMNS: usize = 40;
const COLUMN_MS: u64 = 250;
/// A bar of one column, from the least to the most.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The top of a scale is this at least, so that noise does not look like a result: Mbit/s, ms.
const LEAST_TOP: [f64; 2] = [1.0, 10.0];

/// What is shown of a turn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Picture {
    /// Rates up and down, Mbit/s; delays up and down above their least, ms.
    columns: [VecDeque<f64>; 4],
    /// Highest values so far: of both rates, and of both delays.
    tops: [f64; 2],
    /// When the next column begins, and how often the last one was noted.
    next_ms: u64,
    times: f64,
}

impl Picture {
    /// Takes note of the newest figures, `ms` after the start of the turn. A column has the mean rate and the
    /// longest delay of its time.
    pub(crate) fn note(&mut self, ms: u64, latest: &Latest) {
        let rates = latest.goodput_bps.map(|bps| bps / 1e6);
        let delays = latest.above_least_ns.map(|ns| ns.max(0) as f64 / 1e6);
        let is_new = ms >= self.next_ms;
        if is_new {
            self.next_ms = (ms / COLUMN_MS + 1) * COLUMN_MS;
            self.times = 0.0;
        }
        self.times += 1.0;
        for (row, value) in [rates[0], rates[1], delays[0], delays[1]].into_iter().enumerate() {
            let column = &mut self.columns[row];
            if is_new {
                column.push_back(value);
            } else if let Some(last) = column.back_mut() {
                *last = if row < 2 { *last + (value - *last) / self.times } else { value.max(*last) };
            }
            if column.len() > COLUMNS {
                column.pop_front();
            }
            self.tops[row / 2] = self.tops[row / 2].max(column.back().copied().unwrap_or(0.0));
        }
    }

    /// Its lines, each with a line feed before it.
    pub(crate) fn lines(&self) -> String {
        let names = ["up  ", "down", "waits up  ", "waits down"];
        let row = |row: usize| {
            let (name, column) = (names[row], &self.columns[row]);
            let newest = column.back().copied().unwrap_or(0.0);
            let top = self.tops[row / 2].max(LEAST_TOP[row / 2]);
            let bars: String = column.iter().map(|value| bar(value / top)).collect();
            let unit = if row < 2 { "Mbit/s" } else { "ms" };
            format!("\n  {name:<10} {newest:7.1} {unit:<6} {bars}")
        };
        (0..4).map(row).collect()
    }
}

/// The bar of a share of the scale; nothing is a space.
fn bar(share: f64) -> char {
    let eighths = (share * BARS.len() as f64).ceil();
    if eighths < 1.0 { ' ' } else { BARS[(eighths as usize).min(BARS.len()) - 1] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latest(up: f64, wait_ms: i64) -> Latest {
        let above_least_ns = [wait_ms * 1_000_000, 0];
        Latest { goodput_bps: [up * 1e6, 0.0], above_least_ns, ..Latest::default() }
    }

    #[test]
    fn bars_grow_with_their_values() {
        assert_eq!([0.0, 0.01, 0.125, 0.126, 0.99, 1.0, 7.0].map(bar), [' ', '▁', '▁', '▂', '█', '█', '█']);
    }

    #[test]
    fn a_column_has_the_mean_rate_and_the_longest_delay() {
        let mut picture = Picture::default();
        for (ms, up, wait) in [(0, 4.0, 5), (100, 6.0, 40), (200, 2.0, 20), (250, 8.0, 80)] {
            picture.note(ms, &latest(up, wait));
        }
        let lines: Vec<String> = picture.lines().lines().map(str::to_owned).collect();
        assert_eq!(lines[1], "  up             8.0 Mbit/s ▄█");
        assert_eq!(lines[2], "  down           0.0 Mbit/s   ");
        assert_eq!(lines[3], "  waits up      80.0 ms     ▄█");
        for ms in 0..20_000 {
            picture.note(ms, &latest(8.0, 1));
        }
        assert!(picture.lines().lines().all(|line| line.chars().count() <= 68), "it fits into 80 columns");
    }
}
