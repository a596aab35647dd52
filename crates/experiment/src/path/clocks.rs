//! One-way delays between two hosts with unsynchronised clocks. The delays of both directions give an
//! estimate of how the clocks behave. The offset cannot be known: it is chosen so that the smallest delays up
//! and down are equal. The delay that a load adds does not depend on that choice.

use goodqueue_path::clocks::{Clocks, Point, Step, clocks};
use goodqueue_probe::Sample;

use crate::collect::Ahead;

/// The delays of a run's probes, by two different clocks.
#[derive(Debug, Default)]
pub(super) struct Delays {
    points: Vec<Point>,
}

/// The correction of the delays of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Correction {
    /// The correction follows the clocks.
    Followed(Clocks),
    /// The run is too short for that: the time by which the server's clock is ahead, nanoseconds.
    Constant(i64),
}

impl Delays {
    /// Records a probe that came back.
    pub(super) fn note(&mut self, sample: &Sample) {
        if let Sample::Echo { sent, up, down, duplicate: false, .. } = *sample {
            self.points.push(Point { t: sent, up, down });
        }
    }

    /// The correction to subtract.
    pub(super) fn correction(mut self) -> Correction {
        self.points.sort_by_key(|point| point.t);
        let least = |of: fn(&Point) -> i64| self.points.iter().map(of).min().unwrap_or(0);
        let constant = || least(|point| point.up).saturating_sub(least(|point| point.down)) / 2;
        clocks(&self.points).map_or_else(|| Correction::Constant(constant()), Correction::Followed)
    }
}

impl Correction {
    /// The time by which the server's clock is ahead at `t`, nanoseconds: delays up are too long by this, and
    /// delays down too short.
    pub(crate) fn ahead(&self, t: i64) -> Ahead {
        match self {
            Correction::Followed(clocks) => Ahead { ns: clocks.ahead(t), error: Some(clocks.error) },
            Correction::Constant(ahead) => Ahead { ns: *ahead, error: None },
        }
    }

    /// When one of the two clocks was set.
    pub(super) fn steps(&self) -> &[Step] {
        match self {
            Correction::Followed(clocks) => &clocks.steps,
            Correction::Constant(_) => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use goodqueue::Rng;
    use goodqueue_report::MISSING;

    use super::*;
    use crate::{Experiment, Request};

    const MS: i64 = 1_000_000;
    const S: i64 = 1_000 * MS;

    /// Runs a test of the simulator; `ahead` is the time by which the far host's clock is ahead. The prober
    /// takes its timestamps from the two clocks, and loses a further 5 % of its probes. Returns the largest
    /// error of the rise of a one-way delay, and the stated error.
    fn errors(test: &str, queue: &str, length: i64, seed: u64, ahead: &dyn Fn(i64) -> f64) -> (i64, i64) {
        let request = Request {
            test: test.into(),
            queue: Some(queue.into()),
            length: format!("{length}s"),
            idle: "3s".into(),
            rate: Some("5mbit".into()),
            ..Request::default()
        };
        let record = Experiment::of(&request).unwrap().run().unwrap();
        let probe = &record.runs[0].probes[0];
        let (mut delays, mut truth, mut rng) = (Delays::default(), Vec::new(), Rng::new(seed));
        for (index, &t) in probe.sent_ns.iter().enumerate() {
            let (up, down) = (probe.up_ns[index], probe.down_ns[index]);
            if up == MISSING || down == MISSING || rng.below(20) == 0 {
                continue;
            }
            // The server takes both timestamps when it answers, after the probe's way up.
            let ahead = ahead(t + up).round() as i64;
            truth.push((t, [up, down]));
            let (seq, rtt, reordered, duplicate) = (index as u32, up + down, false, false);
            let (up, down) = (up + ahead, down - ahead);
            delays.note(&Sample::Echo { probe: 0, seq, sent: t, rtt, up, down, reordered, duplicate });
        }
        let points = delays.points.clone();
        let correction = delays.correction();
        let Correction::Followed(clocks) = &correction else { panic!("long enough") };
        let errors = [1, -1].into_iter().enumerate().map(|(way, sign)| {
            let wrong = points.iter().zip(&truth).map(|(point, (t, delay))| {
                [point.up, point.down][way] - sign * correction.ahead(*t).ns - delay[way]
            });
            let mut wrong: Vec<i64> = wrong.collect();
            wrong.sort_unstable();
            let middle = wrong[wrong.len() / 2];
            (wrong[wrong.len() - 1] - middle).max(middle - wrong[0])
        });
        (errors.max().unwrap(), clocks.error)
    }

    #[test]
    fn hosts_of_the_simulator_whose_clocks_differ() {
        let hours = |ppm: f64| move |t: i64| 3.0 * 3600e9 + ppm / 1e6 * t as f64;
        let slewed = |t: i64| 500e-6 * (t - 8 * S).clamp(0, 5 * S) as f64;
        let set = |t: i64| if t >= 9 * S { -90e9 } else { 0.0 };
        // Between 200 ppm fast and 200 ppm slow, and back in five minutes.
        let wave = |t: i64| 200e-6 * 300e9 / TAU * (t as f64 / 300e9 * TAU).sin();
        let (fast, slow, crystal) = (hours(200.0), hours(-200.0), hours(-13.7));
        let clocks: [&dyn Fn(i64) -> f64; 6] = [&fast, &slow, &crystal, &slewed, &set, &wave];
        let (mut covered, mut all) = (0, 0);
        for (test, queue) in [
            ("ping", "pfifo:100"),
            ("tcp_1up", "pfifo:100"),
            ("tcp_1down", "pfifo:100"),
            ("tcp_1up", "fq_codel"),
            ("rrul_be", "fq_codel"),
            ("rrul_be", "cake"),
        ] {
            for (seed, ahead) in (1..).zip(clocks) {
                let (error, stated) = errors(test, queue, 20, seed, ahead);
                assert!(
                    error < if test == "ping" { MS / 10 } else { MS / 2 },
                    "{test} {queue} {seed}: {error}"
                );
                (covered, all) = (covered + u32::from(error <= stated), all + 1);
            }
        }
        assert!(covered * 20 >= all * 19, "{covered} of {all}");
        // Ten minutes of load.
        for (test, queue, ahead) in
            [("tcp_1up", "pfifo:100", &crystal as &dyn Fn(i64) -> f64), ("rrul_be", "fq_codel", &wave)]
        {
            let (error, stated) = errors(test, queue, 600, 9, ahead);
            assert!(error < MS / 2 && error <= stated, "{test}: {error}, stated {stated}");
        }
    }

    #[test]
    fn a_load_shows_in_the_direction_that_it_delays() {
        // The server's clock is 3 s ahead and 50 ppm fast; each direction takes 10 ms, and uploads wait 40 ms
        // longer.
        let mut delays = Delays::default();
        let samples: Vec<Sample> = (0..1500)
            .map(|seq: u32| {
                let t = i64::from(seq) * 10 * MS - 5_000 * MS;
                let ahead = 3_000 * MS + t / 20_000;
                let rise = if (1_000 * MS..9_000 * MS).contains(&t) { 40 * MS } else { 0 };
                let (up, down) = (10 * MS + rise + ahead, 10 * MS - ahead);
                let (probe, sent, reordered, duplicate) = (0, t, false, false);
                Sample::Echo { probe, seq, sent, rtt: up + down, up, down, reordered, duplicate }
            })
            .collect();
        samples.iter().for_each(|sample| delays.note(sample));
        let correction = delays.correction();
        for sample in samples {
            let Sample::Echo { sent, up, down, rtt, .. } = sample else { continue };
            let Ahead { ns, error } = correction.ahead(sent);
            let (up, down) = (up - ns, down + ns);
            assert!(error.is_some_and(|error| (down - 10 * MS).abs() <= error && error < MS), "{error:?}");
            assert!((down - 10 * MS).abs() < MS / 100, "{sent}: {down}");
            assert_eq!(up + down, rtt);
        }
    }
}
