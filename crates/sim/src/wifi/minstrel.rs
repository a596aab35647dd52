//! Rate control by trial, as Minstrel-HT does it: success by rate over windows of 50 ms, the best rates by
//! expected throughput, and occasional samples.
//!
//! The numbers are those of Linux 6.1 `rc80211_minstrel_ht`; but the average is an exponential one of weight
//! 1/4, where Linux has a second-order filter. Samples are drawn from the rates that could be among the best
//! three.

use goodqueue::{Nanos, Rng, Span};

use super::edca::Band;
use super::phy::PhyRate;
use super::rates::Series;

/// Window of the statistics.
const UPDATE: Span = Span::from_millis(50);
/// Least time between two samples.
const SAMPLE: Span = Span::from_millis(20);
/// A probability of one, in fixed point.
const ONE: u32 = 1 << 12;
/// Below this probability the throughput of a rate counts as zero.
const LEAST: u32 = ONE / 10;
/// Above this probability the throughput does not grow.
const MOST: u32 = ONE * 9 / 10;
/// Above this probability a fallback is chosen by throughput.
const LIKELY: u32 = ONE * 3 / 4;
/// The longest time that all tries of a rate may take.
const SEGMENT: Span = Span::from_millis(6);
/// The hardware's limit of tries (ath9k).
const MOST_TRIES: u64 = 10;
/// The packet that throughput is computed with, bytes.
const PACKET: u64 = 1_200;

/// Contention windows used to compute retries, slots (`mp->cw_min`, `mp->cw_max`).
const WINDOWS: (u64, u64) = (15, 1_023);

/// How often the first rate of a series is tried with PPDUs of `ppdu` and their answers: twice, then up to
/// [`MOST_TRIES`] times while all tries with their mean backoffs take less than [`SEGMENT`] (Linux 6.1
/// `rc80211_minstrel_ht.c:minstrel_calc_retransmit`).
pub(super) fn first_tries(ppdu: Span, answer: Span) -> u32 {
    let (mut window, mut took, mut tries) = (WINDOWS.0, 0, 0);
    loop {
        took += Band::SLOT.0 * window / 2 + (ppdu + answer).0;
        window = (2 * window + 1).min(WINDOWS.1);
        if tries >= 2 && took >= SEGMENT.0 || u64::from(tries) == MOST_TRIES {
            return tries;
        }
        tries += 1;
    }
}

#[derive(Clone, Debug)]
struct Statistics {
    rate: PhyRate,
    /// The time of [`PACKET`] bytes without preamble, ns.
    duration: u64,
    attempts: u32,
    successes: u32,
    /// Probability of success, as a share of [`ONE`].
    probability: u32,
    is_known: bool,
}

/// Rate control to one peer.
#[derive(Debug)]
pub(super) struct Minstrel {
    rates: Vec<Statistics>,
    /// Best, second and third by throughput, then the most likely.
    best: [usize; 4],
    /// Mean MPDUs in an aggregate, in sixteenths.
    aggregate: u64,
    updated: Nanos,
    sampled: Nanos,
    rng: Rng,
}

impl Minstrel {
    /// Takes rates in any order, at least one.
    pub(super) fn new(rates: &[PhyRate], rng: Rng) -> Option<Minstrel> {
        let mut rates: Vec<Statistics> = rates.iter().map(|&rate| Statistics::new(rate)).collect();
        rates.sort_by_key(|statistics| std::cmp::Reverse(statistics.duration));
        let start =
            Minstrel { best: [0; 4], rates, aggregate: 16, updated: Nanos::ZERO, sampled: Nanos::ZERO, rng };
        (!start.rates.is_empty()).then_some(start)
    }

    /// Whether one of the rates can aggregate.
    pub(super) fn can_aggregate(&self) -> bool {
        self.rates.iter().any(|statistics| statistics.rate.can_aggregate())
    }

    /// The rates for a new PPDU, and whether it is a sample: one MPDU.
    pub(super) fn series(&mut self, now: Nanos) -> (Series, bool) {
        if now.since(self.updated) >= UPDATE {
            self.update(now);
        }
        let mut places = self.best;
        let sample = if now.since(self.sampled) >= SAMPLE { self.sample() } else { None };
        if let Some(sample) = sample {
            self.sampled = now;
            places = [sample, self.best[0], self.best[1], self.best[3]];
        }
        let rates = places.map(|place| (self.rates[place].rate, self.tries(place)));
        (Series::of(&rates), sample.is_some())
    }

    /// A rate that would be better than the third best or the fallback if nothing were lost, if there is one.
    #[allow(clippy::cast_possible_truncation)]
    fn sample(&mut self) -> Option<usize> {
        let least = self.known(self.best[2]).min(self.known(self.best[3]));
        let first = (0..self.rates.len()).find(|&place| self.throughput(place, ONE) > least)?;
        // Rates are in the order of their durations.
        let place = first + self.rng.below((self.rates.len() - first) as u64) as usize;
        (place != self.best[0]).then_some(place)
    }

    fn tries(&self, place: usize) -> u8 {
        let statistics = &self.rates[place];
        if statistics.is_known && statistics.probability < ONE / 5 {
            return 2;
        }
        let one = statistics.rate.preamble().0 + statistics.duration * self.aggregate / 16;
        (SEGMENT.0 / one.max(1)).clamp(2, MOST_TRIES) as u8
    }

    /// Packets per second at a rate that succeeds with `probability`.
    fn throughput(&self, place: usize, probability: u32) -> u64 {
        if probability < LEAST {
            return 0;
        }
        let statistics = &self.rates[place];
        let aggregate = if statistics.rate.can_aggregate() { self.aggregate } else { 16 };
        // Contention, preamble and answer, shared by the aggregate.
        let overhead = (statistics.rate.preamble().0 + 150_000) * 16 / aggregate;
        let each = (overhead + statistics.duration).max(1);
        u64::from(probability.min(MOST)) * 1_000_000_000 / (u64::from(ONE) * each)
    }

    fn update(&mut self, now: Nanos) {
        self.updated = now;
        self.rates.iter_mut().for_each(Statistics::close);
        let mut order: Vec<usize> = (0..self.rates.len()).collect();
        order.sort_by_key(|&place| std::cmp::Reverse((self.known(place), std::cmp::Reverse(place))));
        // A rate at which nothing was received is not a fallback: it would only make aggregates short.
        let is_useful = |place: &&usize| self.known(**place) > 0;
        let at = |place: usize| order.get(place).filter(is_useful).copied().unwrap_or(order[0]);
        self.best = [at(0), at(1), at(2), self.fallback(order[0])];
    }

    /// Packets per second at a rate with its measured success.
    fn known(&self, place: usize) -> u64 {
        self.throughput(place, self.rates[place].probability)
    }

    /// The last rate of a series: the most likely one, with fewer streams than `best` if such a rate works at
    /// all (Linux 6.1 `rc80211_minstrel_ht.c:minstrel_ht_prob_rate_reduce_streams`). It is slower than the
    /// best, so it limits the bytes of an aggregate.
    fn fallback(&self, best: usize) -> usize {
        let likely = |place: &usize| (self.rates[*place].probability.min(LIKELY), self.known(*place));
        let streams = self.rates[best].rate.nss();
        let has_fewer = |place: &usize| self.rates[*place].rate.nss() < streams && self.known(*place) > 0;
        let fewer = (0..self.rates.len()).filter(has_fewer).max_by_key(likely);
        fewer.or_else(|| (0..self.rates.len()).max_by_key(likely)).unwrap_or(best)
    }

    /// Takes the result of a PPDU at `rate`: of `sent` MPDUs, `received` were received.
    pub(super) fn report(&mut self, rate: &PhyRate, sent: u32, received: u32) {
        if let Some(statistics) = self.rates.iter_mut().find(|statistics| statistics.rate == *rate) {
            statistics.attempts = statistics.attempts.saturating_add(sent);
            statistics.successes = statistics.successes.saturating_add(received);
        }
        if received > 0 {
            self.aggregate = (self.aggregate * 3 + u64::from(sent) * 16).div_ceil(4).max(16);
        }
    }

    /// The expected throughput at the best rate, kbit/s; 0 before anything is known. mac80211 counts packets
    /// of 1200 bytes and a kbit of 1024 bits.
    pub(super) fn expected_throughput(&self) -> u32 {
        let best = self.best[0];
        let packets = self.throughput(best, self.rates[best].probability);
        u32::try_from(packets * PACKET * 8 / 1024).unwrap_or(u32::MAX)
    }
}

impl Statistics {
    fn new(rate: PhyRate) -> Statistics {
        let duration = rate.ppdu(PACKET).0 - rate.preamble().0;
        Statistics { rate, duration, attempts: 0, successes: 0, probability: 0, is_known: false }
    }

    /// The window ends.
    fn close(&mut self) {
        let (attempts, successes) = (std::mem::take(&mut self.attempts), std::mem::take(&mut self.successes));
        if attempts == 0 {
            return;
        }
        let current = (u64::from(successes) * u64::from(ONE) / u64::from(attempts)) as u32;
        let before = if self.is_known { self.probability } else { current };
        self.probability = (before * 3 + current) / 4;
        self.is_known = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wifi::Errors;

    fn ladder() -> Vec<PhyRate> {
        (0..16).map(|mcs| format!("mcs{mcs}").parse().expect("a rate")).collect()
    }

    /// Sends aggregates of up to 16 for ten seconds. Returns the rate of the last PPDU that is no sample.
    fn settle(minstrel: &mut Minstrel, errors: Errors, from: u64) -> PhyRate {
        let mut rng = Rng::new(from);
        let mut now = Nanos(from * 1_000_000_000);
        let mut last = ladder()[0];
        for _ in 0..5_000 {
            let (series, is_sample) = minstrel.series(now);
            let sent = if is_sample { 1 } else { 16 };
            let (rate, _) = series.at(0).expect("a rate");
            let received = (0..sent).filter(|_| !errors.draw(&rate, 1538, &mut rng)).count() as u32;
            minstrel.report(&rate, sent, received);
            if !is_sample {
                last = rate;
            }
            now += Span::from_millis(2);
        }
        last
    }

    #[test]
    fn it_finds_the_rate_that_the_channel_carries_and_leaves_it() {
        let mut minstrel = Minstrel::new(&ladder(), Rng::new(1)).expect("rates");
        let near = settle(&mut minstrel, Errors::Snr(35.0), 0);
        assert_eq!(near, "mcs15".parse().expect("a rate"));
        assert!(minstrel.expected_throughput() > 60_000);
        // 15 dB are the threshold of MCS 11 (12 + 3 dB for the second stream): 15 in 100 are lost, and 0.85 x
        // 57.8 Mbit/s are more than MCS 10's 43.3.
        let far = settle(&mut minstrel, Errors::Snr(15.0), 10);
        assert_eq!(far, "mcs11".parse().expect("a rate"));
        let back = settle(&mut minstrel, Errors::Snr(35.0), 20);
        assert_eq!(back, near);
    }

    /// PPDUs of 4 ms: two. Of 300 us with an answer of 48 us, and 67, 139, 283, 571, 1147 us of backoff:
    /// four take 2.5 ms, five 3.9 ms, and six with 2.3 ms more are over 6 ms.
    #[test]
    fn tries_of_the_first_rate_fit_the_segment() {
        let tries = |ppdu, answer| first_tries(Span::from_micros(ppdu), Span::from_micros(answer));
        assert_eq!(tries(4_000, 48), 2);
        assert_eq!(tries(300, 48), 5);
        assert_eq!(tries(1, 1), 6);
    }

    #[test]
    fn without_rates_there_is_none() {
        assert!(Minstrel::new(&[], Rng::new(1)).is_none());
    }
}
