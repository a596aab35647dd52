//! The best value of a sliding window in constant space (Kathleen Nichols): the best, the best since
//! that one, and the best since the second are kept, so that a successor is at hand when one expires.

#[derive(Clone, Copy, Debug)]
struct Estimate {
    at: u64,
    value: u64,
}

/// A windowed maximum or minimum. Time is any counter that does not run backwards. The answer is exact
/// while the best value is inside the window; after its expiry it is a value from the window, about the best.
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

    /// Takes in `value` at `at` and gives the greatest of the last `window`.
    pub fn running_max(&mut self, window: u64, at: u64, value: u64) -> u64 {
        self.update(window, Estimate { at, value }, |new, old| new >= old)
    }

    /// Takes in `value` at `at` and gives the least of the last `window`.
    pub fn running_min(&mut self, window: u64, at: u64, value: u64) -> u64 {
        self.update(window, Estimate { at, value }, |new, old| new <= old)
    }

    fn update(&mut self, window: u64, new: Estimate, beats: impl Fn(u64, u64) -> bool) -> u64 {
        let all_expired = new.at.saturating_sub(self.best[2].at) > window;
        let first_beaten = self.best.iter().position(|old| beats(new.value, old.value));
        match first_beaten {
            _ if all_expired => self.best.fill(new),
            Some(from) => self.best[from..].fill(new),
            None => {}
        }
        self.age(window, new);
        self.get()
    }

    /// Drops what has expired; where a quarter or a half of the window brought no successor, `new` is one.
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
