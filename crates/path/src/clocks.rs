//! How fast two clocks drift apart, from delays in both directions. Queues only ever add to a delay, so the
//! least delays lie on a line whose slope is the drift: rising on the way up where the server's clock is
//! fast, and falling by as much on the way down. The line of a direction is the one below all points that is
//! nearest to them in sum (Moon, Skelly, Towsley, "Estimation and Removal of Clock Skew from Network Delay
//! Measurements", INFOCOM 1999): an edge of their lower convex hull.
//!
//! What no method can know: whether the least delay itself changed, and by how much the two directions differ
//! always. A drift that changes within the session is not followed.

/// Delays of one probe, by clocks that are not set meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// When it was sent, nanoseconds.
    pub t: i64,
    /// The server's clock when it arrived, less ours when it was sent.
    pub up: i64,
    /// Our clock when the reply arrived, less the server's when it was sent.
    pub down: i64,
}

/// How fast the server's clock runs away from ours.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Drift {
    /// Nanoseconds a nanosecond; positive where the server's is faster.
    pub rate: f64,
    /// By how much the rate may be wrong: half of what the two directions disagree by, and the roughness of
    /// their lower edges.
    pub error: f64,
}

/// Fewest points for an estimate, and shortest time between the first and the last.
const LEAST_POINTS: usize = 20;
const LEAST_TIME: i64 = 1_000_000_000;

/// The drift; nothing where the session is too short to tell. `points` in the order in which they were sent.
#[must_use]
pub fn drift(points: &[Point]) -> Option<Drift> {
    let (first, last) = (points.first()?, points.last()?);
    let time = last.t - first.t;
    if points.len() < LEAST_POINTS || time < LEAST_TIME {
        return None;
    }
    let way = |pick: fn(&Point) -> i64| {
        let line: Vec<(i64, i64)> =
            points.iter().map(|point| (point.t - first.t, pick(point).saturating_sub(pick(first)))).collect();
        lower_edge(&line)
    };
    let (up, down) = (way(|point| point.up)?, way(|point| point.down)?);
    let rough = (up.rough + down.rough) / as_f64(time);
    Some(Drift { rate: (up.slope - down.slope) / 2.0, error: (up.slope + down.slope).abs() / 2.0 + rough })
}

/// `delay` at `t`, without what the clocks drifted since time zero.
#[must_use]
#[allow(clippy::cast_possible_truncation)]
pub fn without(rate: f64, t: i64, delay: i64) -> i64 {
    delay.saturating_sub((rate * as_f64(t)).round() as i64)
}

#[allow(clippy::cast_precision_loss)]
fn as_f64(value: i64) -> f64 {
    value as f64
}

/// The line below all points that is nearest to them.
struct Edge {
    slope: f64,
    /// How far the twentieth of the points that is nearest to it reaches, nanoseconds.
    rough: f64,
}

fn lower_edge(points: &[(i64, i64)]) -> Option<Edge> {
    let mut hull: Vec<(i64, i64)> = Vec::new();
    for &point in points {
        // From the last two to this one there must be a turn to the left, else the last is not on the hull.
        while let [.., a, b] = hull[..] {
            let wide = |from: i64, to: i64| i128::from(to) - i128::from(from);
            let turn = wide(a.0, b.0) * wide(a.1, point.1) - wide(a.1, b.1) * wide(a.0, point.0);
            if turn > 0 {
                break;
            }
            hull.pop();
        }
        hull.push(point);
    }
    // The sum of distances is least for the edge above the mean of the times.
    let n = i128::try_from(points.len()).ok()?;
    let mean = i64::try_from(points.iter().map(|point| i128::from(point.0)).sum::<i128>() / n).ok()?;
    let edge = hull.windows(2).find(|edge| edge[1].0 >= mean)?;
    let (a, b) = (edge[0], edge[1]);
    if b.0 == a.0 {
        return None;
    }
    let slope = as_f64(b.1 - a.1) / as_f64(b.0 - a.0);
    let mut above: Vec<f64> =
        points.iter().map(|point| as_f64(point.1 - a.1) - slope * as_f64(point.0 - a.0)).collect();
    above.sort_by(f64::total_cmp);
    Some(Edge { slope, rough: above[above.len() / 20].max(0.0) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodqueue::Rng;

    const MS: i64 = 1_000_000;

    /// A session of so many probes, one each 20 ms, 5 % of them lost. The server's clock is 3 hours ahead and
    /// drifts by `ppm`. Every delay has jitter of up to 0.05 ms, and a queue of up to 100 ms on the ways that
    /// are loaded: it fills for 4 of 5 s.
    fn session(seed: u64, probes: i64, ppm: f64, loaded: [bool; 2]) -> (Vec<Point>, Vec<[i64; 2]>) {
        let mut rng = Rng::new(seed);
        let (mut points, mut rises) = (Vec::new(), Vec::new());
        for number in 0..probes {
            let t = number * 20 * MS;
            let ahead = 3 * 3600 * 1_000 * MS + without(-ppm / 1e6, t, 0);
            let phase = t % (5_000 * MS);
            let rise = loaded.map(|is_loaded| {
                let queue = if is_loaded && phase > 1_000 * MS { rng.below(100 * MS as u64) } else { 0 };
                (queue + rng.below(50_000)).cast_signed()
            });
            if rng.below(20) > 0 {
                points.push(Point { t, up: 7 * MS + rise[0] + ahead, down: 9 * MS + rise[1] - ahead });
                rises.push(rise);
            }
        }
        (points, rises)
    }

    /// The largest error of the rise of all probes, when the drift is taken out.
    fn error_of_rise(points: &[Point], rises: &[[i64; 2]]) -> i64 {
        let rate = drift(points).unwrap().rate;
        let up: Vec<i64> = points.iter().map(|point| without(rate, point.t, point.up)).collect();
        let down: Vec<i64> = points.iter().map(|point| without(-rate, point.t, point.down)).collect();
        let errors = [up, down].into_iter().enumerate().flat_map(|(way, delays)| {
            let least = *delays.iter().min().unwrap();
            delays.into_iter().zip(rises).map(move |(delay, rise)| (delay - least - rise[way]).abs())
        });
        errors.max().unwrap()
    }

    const DRIFTS: [f64; 5] = [-200.0, -13.7, 0.0, 1.0, 200.0];

    #[test]
    fn ten_idle_seconds_are_enough_for_a_tenth_of_a_millisecond() {
        for (seed, ppm) in (0..).zip(DRIFTS.into_iter().cycle().take(100)) {
            let (points, rises) = session(seed, 500, ppm, [false, false]);
            let error = error_of_rise(&points, &rises);
            assert!(error < MS / 10, "{ppm} ppm, seed {seed}: {error} ns");
        }
    }

    #[test]
    fn ten_loaded_minutes_are_within_half_a_millisecond() {
        for loaded in [[true, false], [false, true], [true, true]] {
            for (seed, ppm) in (0..).zip(DRIFTS) {
                let (points, rises) = session(seed, 30_000, ppm, loaded);
                let error = error_of_rise(&points, &rises);
                assert!(error < MS / 2, "{ppm} ppm, seed {seed}, loaded {loaded:?}: {error} ns");
            }
        }
    }

    #[test]
    fn the_error_that_is_stated_covers_the_truth() {
        let mut covered = 0;
        for seed in 0..200 {
            let ppm = DRIFTS[seed as usize % 5];
            let loaded = [seed % 2 == 0, seed % 3 == 0];
            let (points, _) = session(seed, 1_500, ppm, loaded);
            let drift = drift(&points).unwrap();
            assert!(drift.error < 1.5e-6, "a bound that says something: {drift:?}");
            covered += u32::from((drift.rate - ppm / 1e6).abs() <= drift.error);
        }
        assert!(covered >= 190, "{covered} of 200");
    }

    #[test]
    fn a_session_that_is_too_short_tells_nothing() {
        let (points, _) = session(1, 500, 10.0, [false, false]);
        assert_eq!(drift(&points[..19]), None);
        assert_eq!(drift(&[]), None);
        assert_eq!(drift(&vec![Point { t: 5, up: 0, down: 0 }; 100]), None);
    }
}
