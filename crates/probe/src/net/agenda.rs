//! The schedule of a loop over flows, the same for every transport.

use super::flow::Grid;
use super::ns;
use crate::Test;

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// The step that ended at this time is sampled.
    Step(i64),
    /// This flow starts.
    Start(usize),
    /// This flow stops.
    Stop(usize),
}

/// The steps of a test, and the starts and stops of its flows. Times are nanoseconds from the start of the
/// load.
#[derive(Debug)]
pub(super) struct Agenda {
    grid: Grid,
    /// Starts and stops in descending order of time: `(t, is start, flow)`.
    changes: Vec<(i64, bool, usize)>,
}

impl Agenda {
    pub(super) fn new(test: &Test) -> Agenda {
        let flows = test.flows.iter().enumerate();
        let mut changes: Vec<_> =
            flows.flat_map(|(i, flow)| [(ns(flow.start), true, i), (ns(flow.stop), false, i)]).collect();
        changes.sort_unstable_by(|a, b| b.cmp(a));
        Agenda { grid: Grid::after(0, ns(test.step).max(1)), changes }
    }

    /// When something is next due.
    pub(super) fn next(&self) -> i64 {
        self.changes.last().map_or(i64::MAX, |&(t, ..)| t).min(self.grid.next())
    }

    /// The end of the present step.
    pub(super) fn step_end(&self) -> i64 {
        self.grid.next()
    }

    /// Takes the item that is due first, if it is due by `t`. A step ends before a flow starts or stops at
    /// that time.
    pub(super) fn take(&mut self, t: i64) -> Option<Due> {
        let change = self.changes.last().copied().filter(|&(at, ..)| at <= t);
        if change.is_none_or(|(at, ..)| self.grid.next() <= at)
            && let Some(end) = self.grid.pass(t)
        {
            return Some(Due::Step(end));
        }
        let (_, is_start, flow) = change?;
        self.changes.pop();
        Some(if is_start { Due::Start(flow) } else { Due::Stop(flow) })
    }
}

#[cfg(test)]
mod tests {
    use goodqueue::Span;

    use super::*;
    use crate::{Params, resolve};

    #[test]
    fn steps_starts_and_stops_come_in_order_of_time() {
        let [length, step, delay] = [400, 200, 200].map(Span::from_millis);
        let params = Params { length, step, delay, ..Params::default() };
        let mut test = resolve("tcp_2down", &params).expect("a test");
        test.flows[1].start = Span::from_millis(200);
        let mut agenda = Agenda::new(&test);
        let ms = |ms: i64| ms * 1_000_000;
        assert_eq!((agenda.next(), agenda.take(-1)), (0, None));
        assert_eq!((agenda.take(0), agenda.take(ms(199))), (Some(Due::Start(0)), None));
        assert_eq!((agenda.next(), agenda.step_end()), (ms(200), ms(200)));
        let all: Vec<Due> = std::iter::from_fn(|| agenda.take(ms(400))).collect();
        assert_eq!(all[..3], [Due::Step(ms(200)), Due::Start(1), Due::Step(ms(400))]);
        assert_eq!(all[3..], [Due::Stop(0), Due::Stop(1)]);
        assert_eq!(agenda.next(), ms(600));
    }
}
