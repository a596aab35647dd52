//! Loss on a link: independent, or in bursts.

use goodqueue::Rng;

/// How a link loses packets. Probabilities are 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Loss {
    /// None.
    #[default]
    None,
    /// Each packet is lost independently, with this probability.
    Random(f64),
    /// The Gilbert-Elliott model (Gilbert 1960, Elliott 1963): a good and a bad state, each with its own
    /// probability of loss. The state may change after each packet.
    GilbertElliott {
        /// Probability of going from good to bad at a packet (`p`).
        to_bad: f64,
        /// Probability of going from bad to good (`r`); 1 / `r` is the mean length of a burst in packets.
        to_good: f64,
        /// Probability of loss in the good state (`1 - k`).
        good: f64,
        /// Probability of loss in the bad state (`1 - h`).
        bad: f64,
    },
}

impl Loss {
    /// Whether all probabilities are between 0 and 1.
    pub(crate) fn is_sound(&self) -> bool {
        let all = match *self {
            Loss::None => vec![],
            Loss::Random(p) => vec![p],
            Loss::GilbertElliott { to_bad, to_good, good, bad } => vec![to_bad, to_good, good, bad],
        };
        all.iter().all(|p| (0.0..=1.0).contains(p))
    }

    /// The share of packets lost in the long run.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match *self {
            Loss::None => 0.0,
            Loss::Random(p) => p,
            Loss::GilbertElliott { to_bad, to_good, good, bad } => {
                let in_bad = if to_bad + to_good > 0.0 { to_bad / (to_bad + to_good) } else { 0.0 };
                in_bad * bad + (1.0 - in_bad) * good
            }
        }
    }
}

/// The model with its state and its stream of random numbers. Probabilities are kept as 64-bit thresholds: a
/// draw below the threshold means yes.
#[derive(Clone, Debug)]
pub(crate) struct LossState {
    /// For each state (good, bad): the threshold of loss, and the threshold of leaving the state.
    states: [(u64, u64); 2],
    is_bad: bool,
    rng: Rng,
}

impl LossState {
    /// `None` if nothing is ever lost.
    pub(crate) fn new(loss: &Loss, rng: Rng) -> Option<LossState> {
        let states = match *loss {
            Loss::None => return None,
            Loss::Random(p) => [(threshold(p), 0), (0, 0)],
            Loss::GilbertElliott { to_bad, to_good, good, bad } => {
                [(threshold(good), threshold(to_bad)), (threshold(bad), threshold(to_good))]
            }
        };
        Some(LossState { states, is_bad: false, rng })
    }

    /// Whether the next packet is lost.
    pub(crate) fn next(&mut self) -> bool {
        let (lost, leave) = self.states[usize::from(self.is_bad)];
        let is_lost = hit(&mut self.rng, lost);
        if leave > 0 && hit(&mut self.rng, leave) {
            self.is_bad = !self.is_bad;
        }
        is_lost
    }
}

fn hit(rng: &mut Rng, threshold: u64) -> bool {
    threshold == u64::MAX || rng.next_u64() < threshold
}

/// The share `p` of all 64-bit numbers is below this.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
fn threshold(p: f64) -> u64 {
    // The conversion saturates: 1.0 gives u64::MAX, and every draw is below it.
    (p * u64::MAX as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(loss: &Loss, packets: usize) -> (f64, f64) {
        let mut state = LossState::new(loss, Rng::stream(1, 0, "loss")).expect("a model that loses");
        let fates: Vec<bool> = (0..packets).map(|_| state.next()).collect();
        let lost = fates.iter().filter(|&&is_lost| is_lost).count();
        let bursts = fates.windows(2).filter(|pair| !pair[0] && pair[1]).count().max(1);
        #[allow(clippy::cast_precision_loss)]
        (lost as f64 / packets as f64, lost as f64 / bursts as f64)
    }

    #[test]
    fn random_loss_has_its_mean_and_no_memory() {
        let (share, burst) = lost(&Loss::Random(0.1), 200_000);
        assert!((share - 0.1).abs() < 0.003, "{share}");
        // Mean run of a geometric distribution: 1 / (1 - p).
        assert!((burst - 1.0 / 0.9).abs() < 0.01, "{burst}");
    }

    #[test]
    fn gilbert_elliott_has_its_mean_and_its_bursts() {
        let model = Loss::GilbertElliott { to_bad: 0.01, to_good: 0.25, good: 0.0, bad: 1.0 };
        let (share, burst) = lost(&model, 400_000);
        assert!((model.mean() - 0.01 / 0.26).abs() < 1e-12);
        assert!((share - model.mean()).abs() < 0.003, "{share}");
        assert!((burst - 4.0).abs() < 0.15, "{burst}");
    }

    #[test]
    fn certain_loss_loses_all() {
        assert_eq!(lost(&Loss::Random(1.0), 1000).0, 1.0);
        assert!(!Loss::Random(1.5).is_sound() && !Loss::Random(f64::NAN).is_sound());
    }
}
