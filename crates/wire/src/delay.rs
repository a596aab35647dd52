//! Delay lines: what goes in comes out after the delay of its host, in the order of deadlines.

use std::collections::VecDeque;

use goodqueue::{Nanos, Span};

/// Delay lines, one for each server host that has a delay of its own. Entries must come in the order of time.
#[derive(Debug)]
pub(crate) struct DelayLines<T> {
    delays: Vec<Span>,
    least: Span,
    lines: Vec<VecDeque<(Nanos, T)>>,
}

impl<T> DelayLines<T> {
    /// Lines with these delays by host; hosts beyond the list have its last value, an empty list is no
    /// delay. `frames` is the size of the pool, which no line can exceed.
    pub(crate) fn new(delays: Vec<Span>, frames: u32) -> DelayLines<T> {
        let delays = if delays.is_empty() { vec![Span::ZERO] } else { delays };
        DelayLines {
            least: delays.iter().copied().min().unwrap_or_default(),
            lines: delays.iter().map(|_| VecDeque::with_capacity(frames as usize)).collect(),
            delays,
        }
    }

    /// The shortest delay.
    pub(crate) fn least(&self) -> Span {
        self.least
    }

    /// Puts in what is at the beginning of the line of `host` at `at`.
    pub(crate) fn push(&mut self, at: Nanos, host: u8, item: T) {
        let line = usize::from(host).min(self.lines.len() - 1);
        self.lines[line].push_back((at + self.delays[line], item));
    }

    /// When the first is at the end of its line.
    pub(crate) fn next(&self) -> Option<Nanos> {
        self.lines.iter().filter_map(|line| line.front()).map(|&(deadline, _)| deadline).min()
    }

    /// Takes the next out that is due at or before `now`, with its deadline. Equal deadlines leave in the
    /// order of hosts.
    pub(crate) fn take_due(&mut self, now: Nanos) -> Option<(Nanos, T)> {
        let fronts = self.lines.iter().enumerate();
        let fronts = fronts.filter_map(|(line, items)| items.front().map(|&(deadline, _)| (deadline, line)));
        let (deadline, line) = fronts.min()?;
        if deadline > now {
            return None;
        }
        self.lines[line].pop_front()
    }
}
