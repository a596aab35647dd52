//! Delay lines: each item comes out after the delay of its host, in order of deadlines.

use std::collections::VecDeque;

use goodqueue::{Nanos, Span};

/// Delay lines, one for each server host with its own delay. Items must be pushed in order of time.
#[derive(Debug)]
pub(crate) struct DelayLines<T> {
    delays: Vec<Span>,
    least: Span,
    lines: Vec<VecDeque<(Nanos, T)>>,
}

impl<T> DelayLines<T> {
    /// Lines with these delays by host. Hosts beyond the list have its last value; an empty list means no
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

    /// From now on all new items have this delay. None overtakes those already under way.
    pub(crate) fn set(&mut self, delay: Span) {
        self.delays.fill(delay);
        self.least = delay;
    }

    /// Puts an item into the line of `host` at time `at`.
    pub(crate) fn push(&mut self, at: Nanos, host: u8, item: T) {
        let place = usize::from(host).min(self.lines.len() - 1);
        let line = &mut self.lines[place];
        let last = line.back().map_or(Nanos::ZERO, |&(deadline, _)| deadline);
        line.push_back(((at + self.delays[place]).max(last), item));
    }

    /// Items in all lines.
    pub(crate) fn waiting(&self) -> usize {
        self.lines.iter().map(VecDeque::len).sum()
    }

    /// When the next item is due.
    pub(crate) fn next(&self) -> Option<Nanos> {
        self.lines.iter().filter_map(|line| line.front()).map(|&(deadline, _)| deadline).min()
    }

    /// Removes the next item that is due at or before `now`; returns it with its deadline. Items with equal
    /// deadlines leave in order of hosts.
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
