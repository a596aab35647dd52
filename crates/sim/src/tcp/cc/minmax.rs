//! The best value of a sliding window in constant space (Kathleen Nichols): it keeps the best, the best since
//! that one, and the best since the second, so that there is a successor when one expires.

#[derive(Clone, Copy, Debug)]
struct Estimate {
    at: u64,
    value: u64,
}

/// A windowed maximum or minimum. Time is any counter that does not run backwards. The answer is exact while
/// the best value is inside the window. After that it is a value from the window that is close to the best.
#[derive(Clone, Copy, Debug)]
pub struct Windowed {
    best: [Estimate; 3],
}

impl Windowed {
    /// A window that has seen `value` at `at`.
    #[must_use]
    pub const fn new(at: u64, value: u64) -> Windowed {
        Windowed { best: [Estimate { at, value }; 3] }
    }

    /// The best value.
    #[must_use]
    pub const fn get(&self) -> u64 {
        self.best[0].value
    }

    /// Adds `value` at `at` and returns the largest of the last `window`.
    pub fn running_max(&mut self, window: u64, at: u64, value: u64) -> u64 {
        self.update(window, Estimate { at, value }, |new, old| new >= old)
    }

    /// Adds `value` at `at` and returns the least of the last `window`.
    // What the inline attributes of this file gain: docs/performance.md, "Inlining".
    #[inline(always)]
    pub fn running_min(&mut self, window: u64, at: u64, value: u64) -> u64 {
        self.update(window, Estimate { at, value }, |new, old| new <= old)
    }

    /// Usually the best is recent and the new value is no better than the third. Then nothing changes.
    // Each ACK has a sample. What the inline attributes gain: docs/performance.md, "Inlining".
    #[inline(always)]
    fn update(&mut self, window: u64, new: Estimate, beats: impl Fn(u64, u64) -> bool) -> u64 {
        if beats(new.value, self.best[2].value) || new.at.saturating_sub(self.best[0].at) > window / 4 {
            self.take(window, new, beats);
        }
        self.get()
    }

    fn take(&mut self, window: u64, new: Estimate, beats: impl Fn(u64, u64) -> bool) {
        let all_expired = new.at.saturating_sub(self.best[2].at) > window;
        let first_beaten = self.best.iter().position(|old| beats(new.value, old.value));
        match first_beaten {
            _ if all_expired => self.best.fill(new),
            Some(from) => self.best[from..].fill(new),
            None => {}
        }
        self.age(window, new);
    }

    /// Drops what has expired. If a quarter or a half of the window brought no successor, `new` becomes one.
    fn age(&mut self, window: u64, new: Estimate) {
        let age = new.at.saturating_sub(self.best[0].at);
        if age > window {
            self.expire(new);
            if new.at.saturating_sub(self.best[0].at) > window {
                self.expire(new);
            }
        } else if self.best[1].at == self.best[0].at && age > window / 4 {
            self.best[1..].fill(new);
        } else if self.best[2].at == self.best[1].at && age > window / 2 {
            self.best[2] = new;
        }
    }

    fn expire(&mut self, new: Estimate) {
        self.best = [self.best[1], self.best[2], new];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn there_is_a_successor_when_the_best_expires() {
        let mut filter = Windowed::new(0, 100);
        // No better value comes. 80 at 3 (after a quarter of 10) becomes the second best, 70 at 6 (after
        // half) the third, and 60 none of them.
        for (at, value) in [(1, 90), (3, 80), (6, 70), (8, 60), (10, 50)] {
            assert_eq!(filter.running_max(10, at, value), 100);
        }
        assert_eq!(filter.running_max(10, 11, 40), 80);
        assert_eq!(filter.running_max(10, 14, 30), 70);
        assert_eq!(filter.running_max(10, 40, 5), 5, "all of the rest is old");
    }

    #[test]
    fn a_minimum_is_a_maximum_upside_down() {
        let mut filter = Windowed::new(0, 50);
        assert_eq!(filter.running_min(300, 10, 60), 50);
        assert_eq!(filter.running_min(300, 20, 40), 40);
        assert_eq!(filter.running_min(300, 320, 60), 40, "300 later is inside the window");
        assert_eq!(filter.running_min(300, 321, 60), 60);
    }

    proptest! {
        /// Compared with all values of the window: the result is one of them, never above their maximum, at
        /// least the new value, and exact while the true maximum is younger than a quarter of the window.
        #[test]
        fn the_answer_is_from_the_window(steps in proptest::collection::vec((0_u64..6, 0_u64..50), 1..200)) {
            let mut filter = Windowed::new(0, 0);
            let mut seen = vec![(0, 0)];
            let mut at = 0;
            for (wait, value) in steps {
                at += wait;
                seen.push((at, value));
                let got = filter.running_max(10, at, value);
                let inside = || seen.iter().filter(|&&(then, _)| at - then <= 10);
                let best = inside().map(|&(_, value)| value).max().expect("the newest is inside");
                let newest_best = inside().filter(|&&(_, v)| v == best).map(|&(then, _)| then).max();
                prop_assert!(inside().any(|&(_, seen)| seen == got));
                prop_assert!(got >= value);
                let fresh = at - newest_best.expect("one is the best") <= 2;
                prop_assert!(!fresh || got == best, "{got} of {best}");
            }
        }
    }
}
