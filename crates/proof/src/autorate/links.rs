//! The links: their rates over time, made from random numbers that are the same everywhere.

use goodqueue::port::{self, Schedule, Trace};
use goodqueue::{ETHERNET_FRAME, Nanos, Rate, Rng, Span};

/// How long each link is simulated, with load from second 2 on.
pub(super) const LENGTH: Span = Span::from_secs(102);
/// How often a rate can change.
const STEP: Span = Span::from_millis(100);
const STEPS: usize = 1020;

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct Line {
    /// The rate from each time on.
    pub rates: Vec<(Span, Rate)>,
    /// Packets leave at random times with that mean rate, as on a radio link, and not one after the other.
    is_random: bool,
    /// Delay on the way varies by up to this.
    pub jitter: Span,
}

/// What is wrong with the reflectors. The clock of each is wrong by a constant on every path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// Nothing.
    None,
    /// From second 30 on reflector 1 adds up to 80 ms to each answer; from second 50 on reflector 2 answers
    /// no more.
    BadReflectors,
    /// The clocks of the reflectors drift by up to 100 parts in a million, and two of them jump.
    Clocks,
}

/// A link to follow.
#[derive(Clone, Debug)]
pub struct Path {
    /// Short.
    pub name: &'static str,
    /// One or two sentences.
    pub about: &'static str,
    /// Up and down.
    pub lines: [Line; 2],
    /// What is wrong with the reflectors.
    pub disturbance: Disturbance,
}

impl Line {
    fn new(rates: Vec<(Span, Rate)>, jitter: u64) -> Line {
        Line { rates, is_random: false, jitter: Span::from_millis(jitter) }
    }

    /// The rate at `time`.
    #[must_use]
    pub fn rate_at(&self, time: Span) -> Rate {
        self.rates[self.rates.partition_point(|&(from, _)| from <= time).max(1) - 1].1
    }

    /// The least and the largest rate, and the mean. A rate of zero, an outage, is not the least.
    #[must_use]
    pub fn least_mean_most(&self) -> [Rate; 3] {
        let rates = || self.rates.iter().map(|&(_, rate)| rate);
        let least = rates().filter(|rate| rate.0 > 0).min().unwrap_or_default();
        let ends = self.rates.iter().skip(1).map(|&(from, _)| from).chain([LENGTH]);
        let work = self
            .rates
            .iter()
            .zip(ends)
            .map(|(&(from, rate), to)| u128::from(rate.0) * u128::from((to - from).0));
        let mean = work.sum::<u128>() / u128::from(LENGTH.0);
        [least, Rate(u64::try_from(mean).unwrap_or(u64::MAX)), rates().max().unwrap_or_default()]
    }

    /// The line of the simulator.
    ///
    /// # Panics
    /// Never for the lines of [`all`].
    pub(super) fn line(&self, draws: &mut Rng) -> port::Line {
        if !self.is_random {
            return port::Line::Schedule(Schedule::held(self.rates.clone()).expect("a rate from zero on"));
        }
        // An opportunity to send a packet falls into each tenth of a millisecond with equal probability: very
        // nearly a Poisson process.
        let mut text = String::new();
        for tenth in 0..LENGTH.0 / 100_000 {
            let packets = self.rate_at(Span::from_micros(tenth * 100)).0 / (8 * u64::from(ETHERNET_FRAME));
            if draws.below(10_000) < packets {
                text += &format!("{}\n", tenth / 10);
            }
        }
        port::Line::Trace(Trace::from_mahimahi(&text).expect("ascending numbers"))
    }
}

/// Steps of [`STEP`], each with the rate that `next` returns, in kbit/s.
fn steps(mut next: impl FnMut() -> i64) -> Vec<(Span, Rate)> {
    let rate = |kbit: i64| Rate(kbit.max(0).unsigned_abs() * 1000);
    (0..STEPS).map(|step| (STEP * step as u64, rate(next()))).collect()
}

/// Normally distributed, about, with a deviation of 1000: the sum of twelve uniform numbers. The functions
/// that give an exact normal distribution differ between machines.
fn normal(draws: &mut Rng) -> i64 {
    (0..12).map(|_| draws.below(1001).cast_signed()).sum::<i64>() - 6000
}

fn constant(mbit: u64) -> Vec<(Span, Rate)> {
    vec![(Span::ZERO, Rate(mbit * 1_000_000))]
}

/// The model of a cellular link of Sprout (Winstein, Sivaraman and Balakrishnan, NSDI 2013, section 3):
/// packets leave as a Poisson process whose rate, up to 1000 a second, moves as Brownian motion with 200
/// packets a second per square root of a second. Here not below `least`: an outage is a link of its own.
fn sprout(seed: u64, [least, most, deviation]: [i64; 3], jitter: u64) -> Line {
    let mut draws = Rng::stream(seed, 0, "sprout");
    // In thousandths of a packet a second. The root of a tenth of a second is 0.316.
    let mut packets = (least + most) * 500;
    let rates = steps(|| {
        packets += normal(&mut draws) * deviation * 316 / 1000;
        // Reflected at the ends.
        packets = (least * 2000 - packets).max(packets);
        packets = (most * 2000 - packets).min(packets).max(least * 1000);
        packets * 8 * i64::from(ETHERNET_FRAME) / 1_000_000
    });
    Line { is_random: true, ..Line::new(rates, jitter) }
}

/// A share of a channel of `kbit`: each of six neighbours loads it for 15 s in 45 s on average, and takes a
/// quarter of what one household gets.
fn shared(seed: u64, kbit: i64, jitter: u64) -> Line {
    let mut draws = Rng::stream(seed, 0, "neighbours");
    let mut active = [true, false, false, true, false, false];
    let rates = steps(|| {
        for neighbour in &mut active {
            let chance = if *neighbour { 150 } else { 300 };
            *neighbour ^= draws.below(chance) == 0;
        }
        let busy = active.iter().filter(|&&neighbour| neighbour).count() as i64;
        kbit * 4 / (4 + busy)
    });
    Line::new(rates, jitter)
}

/// A new satellite every 15 s, and with it a rate between `least` and `most` kbit/s; within that time another
/// 3 % (deviation) every second.
fn satellites(seed: u64, [least, most]: [i64; 2], jitter: u64) -> Line {
    let mut draws = Rng::stream(seed, 0, "satellites");
    let (mut step, mut rate, mut now) = (0, 0, 0);
    let rates = steps(|| {
        if step % 150 == 0 {
            rate = least + draws.below((most - least).unsigned_abs()).cast_signed();
        }
        if step % 10 == 0 {
            now = rate + rate * normal(&mut draws) * 30 / 1_000_000;
        }
        step += 1;
        now
    });
    Line::new(rates, jitter)
}

/// `kbit`, and 15 % (deviation) more or less every 5 s.
fn uneven(seed: u64, kbit: i64, jitter: u64) -> Line {
    let mut draws = Rng::stream(seed, 0, "uneven");
    let (mut step, mut rate) = (0, kbit);
    let rates = steps(|| {
        if step % 50 == 0 {
            rate = kbit + kbit * normal(&mut draws).clamp(-2500, 2500) * 150 / 1_000_000;
        }
        step += 1;
        rate
    });
    Line::new(rates, jitter)
}

/// A line that stops at second 40 for three seconds, and has a quarter of its rate for another two.
fn outage(kbit: i64, jitter: u64) -> Line {
    let mut step = 0;
    let rates = steps(|| {
        step += 1;
        match step {
            401..=430 => 0,
            431..=450 => kbit / 4,
            _ => kbit,
        }
    });
    Line::new(rates, jitter)
}

/// All links of the comparison, with the rates that `seed` gives them.
#[must_use]
pub fn all(seed: u64) -> Vec<Path> {
    let base = 100 * seed.saturating_sub(1);
    vec![
        Path {
            name: "constant",
            about: "10 Mbit/s up and 50 down, all the time.",
            lines: [Line::new(constant(10), 0), Line::new(constant(50), 0)],
            disturbance: Disturbance::None,
        },
        Path {
            name: "LTE",
            about: "Sprout's model of a cellular link: packets leave at random times, and their mean rate is a \
                    random walk between 100 and 1000 packets a second (1.2 to 12 Mbit/s) with 200 packets a \
                    second per square root of a second. Up, each is half of that.",
            lines: [sprout(base + 11, [50, 500, 100], 0), sprout(base + 12, [100, 1000, 200], 0)],
            disturbance: Disturbance::None,
        },
        Path {
            name: "DOCSIS",
            about: "A cable link shared with six neighbours, each of them active for 15 s in 45 s on average: 4 \
                    to 10 Mbit/s up, 40 to 100 down.",
            lines: [shared(base + 21, 10_000, 4), shared(base + 22, 100_000, 1)],
            disturbance: Disturbance::None,
        },
        Path {
            name: "Starlink",
            about: "Every 15 s there is a new satellite with a rate of its own: 6 to 18 Mbit/s up, 40 to 160 \
                    down. Each second the rate is about 3 % higher or lower.",
            lines: [satellites(base + 31, [6_000, 18_000], 8), satellites(base + 32, [40_000, 160_000], 4)],
            disturbance: Disturbance::None,
        },
        Path {
            name: "outage",
            about: "8 Mbit/s up and 40 down. At second 40 nothing passes for 3 s, and then a quarter of the \
                    rate for 2 s.",
            lines: [outage(8_000, 2), outage(40_000, 2)],
            disturbance: Disturbance::None,
        },
        Path {
            name: "bad reflectors",
            about: "8 Mbit/s up and 40 down, 15 % more or less every 5 s. One reflector adds up to 80 ms from \
                    second 30 on; another one falls silent at second 50.",
            lines: [uneven(base + 41, 8_000, 2), uneven(base + 42, 40_000, 2)],
            disturbance: Disturbance::BadReflectors,
        },
        Path {
            name: "clock drift",
            about: "The same rates with good reflectors, whose clocks drift by 30 to 100 ppm. Two of them jump \
                    by 80 and 200 ms.",
            lines: [uneven(base + 41, 8_000, 2), uneven(base + 42, 40_000, 2)],
            disturbance: Disturbance::Clocks,
        },
    ]
}

/// What the clock and the host of a reflector do to the one-way delays of an answer, ns. `None`: no answer.
pub(super) fn disturb(
    disturbance: Disturbance,
    reflector: usize,
    sent: Nanos,
    [up, down]: [i64; 2],
    draws: &mut Rng,
) -> Option<[i64; 2]> {
    const OFFSETS: [i64; 8] = [3, -420, 17, 0, 1_250, -8, 64, -2];
    const DRIFTS: [i64; 8] = [100, -50, 30, -100, 70, 40, -30, 60];
    let seconds = sent.0 / 1_000_000_000;
    let mut offset = OFFSETS[reflector % 8] * 1_000_000;
    let mut busy = 0;
    match (disturbance, reflector) {
        (Disturbance::BadReflectors, 1) if seconds >= 30 => busy = draws.below(80_000_000).cast_signed(),
        (Disturbance::BadReflectors, 2) if seconds >= 50 => return None,
        (Disturbance::Clocks, _) => {
            offset += DRIFTS[reflector % 8] * (sent.0 / 1_000_000).cast_signed();
            offset += match reflector {
                1 if seconds >= 40 => 80_000_000,
                2 if seconds >= 60 => -200_000_000,
                _ => 0,
            };
        }
        _ => {}
    }
    Some([up + offset + busy, down - offset])
}
