//! The figure: how long probes took, and the resulting responsiveness.

use goodqueue::{Nanos, Span};

/// The times of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A request for one byte on a separate connection.
    Foreign {
        /// The handshake of TCP (`tcp_f`).
        tcp: Span,
        /// The handshake of TLS, for each of its round trips (`tls_f`); `None` without TLS.
        tls: Option<Span>,
        /// From the request to the whole response (`http_f`).
        http: Span,
    },
    /// A request for one byte on a connection that carries load.
    Own {
        /// From the request to the whole response (`http_l`).
        http: Span,
    },
}

/// A completed probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When it began.
    pub began: Nanos,
    /// When it was complete.
    pub at: Nanos,
    /// Its times.
    pub answer: Answer,
}

/// How to reduce many values to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// The mean of the shortest values, this many percent of all.
    TrimmedMean(u32),
    /// The value below which this many percent lie, by nearest rank.
    Percentile(u32),
}

impl Rank {
    /// The result for `values`, nanoseconds, in any order; `None` if there are none.
    #[must_use]
    pub fn of(self, values: &[u64]) -> Option<f64> {
        match self {
            Rank::TrimmedMean(percent) => trimmed_mean(values, percent),
            Rank::Percentile(percent) => {
                let mut sorted = values.to_vec();
                sorted.sort_unstable();
                let rank = kept(sorted.len(), percent);
                sorted.get(rank.checked_sub(1)?).map(|&value| value as f64)
            }
        }
    }
}

/// How many of `len` values are up to the percentile, by nearest rank; at least one if there are any.
fn kept(len: usize, percent: u32) -> usize {
    (len * percent.clamp(1, 100) as usize).div_ceil(100)
}

/// The single-sided trimmed mean (section "Aggregating the Measurements"): of the shortest `percent` of the
/// values, rounded up to whole values. `None` if there are no values.
#[must_use]
pub fn trimmed_mean(values: &[u64], percent: u32) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.truncate(kept(sorted.len(), percent));
    let sum: f64 = sorted.iter().map(|&value| value as f64).sum();
    (!sorted.is_empty()).then(|| sum / sorted.len() as f64)
}

/// The parts of the figure, nanoseconds for a round trip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parts {
    /// `TM(tcp_f)`.
    pub tcp: f64,
    /// `TM(tls_f)`; `None` without TLS.
    pub tls: Option<f64>,
    /// `TM(http_f)`.
    pub http: f64,
    /// `TM(http_l)`.
    pub own: f64,
}

impl Parts {
    /// The parts of these probes; `None` if one of the two kinds is missing.
    pub fn of<'a>(samples: impl IntoIterator<Item = &'a Sample>, rank: Rank) -> Option<Parts> {
        let [mut tcps, mut tlss, mut https, mut owns] = [const { Vec::new() }; 4];
        for sample in samples {
            match sample.answer {
                Answer::Foreign { tcp, tls, http } => {
                    tcps.push(tcp.0);
                    tlss.extend(tls.map(|tls| tls.0));
                    https.push(http.0);
                }
                Answer::Own { http } => owns.push(http.0),
            }
        }
        let of = |values: &[u64]| rank.of(values);
        Some(Parts { tcp: of(&tcps)?, tls: of(&tlss), http: of(&https)?, own: of(&owns)? })
    }

    /// Round trips per minute on separate connections. Each term has the same weight (sections "For the
    /// TLS-Enabled Case" and "For the TCP-Only Case").
    #[must_use]
    pub fn foreign(&self) -> f64 {
        let terms = [Some(self.tcp), self.tls, Some(self.http)];
        let (sum, count) =
            terms.iter().flatten().fold((0.0, 0.0), |(sum, count), term| (sum + term, count + 1.0));
        per_minute(sum / count)
    }

    /// Round trips per minute on connections that carry load.
    #[must_use]
    pub fn loaded(&self) -> f64 {
        per_minute(self.own)
    }

    /// The responsiveness: the mean of the two rates, not of the times.
    #[must_use]
    pub fn rpm(&self) -> f64 {
        f64::midpoint(self.foreign(), self.loaded())
    }
}

/// Round trips per minute, for a round trip in nanoseconds.
fn per_minute(ns: f64) -> f64 {
    60e9 / ns.max(1.0)
}

/// What a figure means to people (section "Overview of the responsiveness score").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    /// Below 300 RPM: a round trip of over 200 ms.
    Poor,
    /// From 300 RPM.
    Fair,
    /// From 1000 RPM: a round trip of 60 ms.
    Good,
    /// From 6000 RPM: a round trip of 10 ms.
    Excellent,
}

impl Category {
    /// The category of a figure.
    #[must_use]
    pub fn of(rpm: f64) -> Category {
        match rpm {
            rpm if rpm >= 6000.0 => Category::Excellent,
            rpm if rpm >= 1000.0 => Category::Good,
            rpm if rpm >= 300.0 => Category::Fair,
            _ => Category::Poor,
        }
    }

    /// Its name in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Category::Poor => "poor",
            Category::Fair => "fair",
            Category::Good => "good",
            Category::Excellent => "excellent",
        }
    }
}
