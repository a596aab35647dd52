//! Hardware flow control: when a receiver stops and restarts the line that feeds it.

/// A receiver's request to the line that feeds it (IEEE 802.3 annex 31B).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowControl {
    /// Begin no new packet: [`crate::Port::pause`].
    Pause,
    /// Continue: [`crate::Port::resume`].
    Resume,
}

/// Turns the bytes waiting behind a line into pause and resume, with hysteresis: pause at `high` and
/// above, resume at `low` and below.
///
/// A PAUSE frame takes effect some time after the decision, so the buffer needs room above `high` for what is
/// sent until then. The owner must add that delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watermarks {
    high: u64,
    low: u64,
    is_paused: bool,
}

impl Watermarks {
    /// Watermarks in bytes; `None` unless `low` is below `high`.
    #[must_use]
    pub const fn new(high: u64, low: u64) -> Option<Watermarks> {
        if low < high { Some(Watermarks { high, low, is_paused: false }) } else { None }
    }

    /// Updates the waiting bytes; returns the request to the line if it changes.
    pub const fn update(&mut self, backlog: u64) -> Option<FlowControl> {
        if !self.is_paused && backlog >= self.high {
            self.is_paused = true;
            Some(FlowControl::Pause)
        } else if self.is_paused && backlog <= self.low {
            self.is_paused = false;
            Some(FlowControl::Resume)
        } else {
            None
        }
    }

    /// Whether the last request was a pause.
    #[must_use]
    pub const fn is_paused(&self) -> bool {
        self.is_paused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_the_watermarks_nothing_changes() {
        let mut marks = Watermarks::new(3000, 1000).expect("low is below high");
        let asked = [0, 2999, 3000, 9000, 1001, 1000, 0, 2999, 3000].map(|backlog| marks.update(backlog));
        let (pause, resume) = (Some(FlowControl::Pause), Some(FlowControl::Resume));
        assert_eq!(asked, [None, None, pause, None, None, resume, None, None, pause]);
    }

    #[test]
    fn the_low_watermark_is_below_the_high_one() {
        assert_eq!(Watermarks::new(1000, 1000), None);
        assert_eq!(Watermarks::new(0, 0), None);
        assert!(Watermarks::new(1, 0).is_some());
    }
}
