//! The parts of a responsiveness test, and the series that they produce.

use goodqueue::Span;

use super::algorithm::Settings;
use super::figure::Answer;
use crate::test::{Flow, Probe};
use crate::{Direction, Dscp, Sample, Transport, web};

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tls {
    /// Two round trips (RFC 5246, section 7.3).
    V1_2,
    /// One round trip (RFC 8446, section 2).
    V1_3,
}

impl Tls {
    /// Its name: `TLS 1.3`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Tls::V1_2 => "TLS 1.2",
            Tls::V1_3 => "TLS 1.3",
        }
    }

    /// The round trips of its handshake, like [`web::TLS`]. In 1.3 the client's last message goes with its
    /// first request.
    #[must_use]
    pub const fn trips(self) -> &'static [(u64, u64)] {
        match self {
            Tls::V1_2 => &web::TLS,
            Tls::V1_3 => web::TLS.split_at(1).0,
        }
    }
}

/// A test of responsiveness: downloads, and then uploads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Parameters of the algorithm; the idle time is that of the test.
    pub settings: Settings,
    /// Version of TLS.
    pub tls: Tls,
    /// Congestion control of connections, the kernel's name; empty if it is not known.
    pub cc: String,
    /// Server host, counted from 0.
    pub host: usize,
}

/// The loads, in order, with their names.
pub const LOADS: [(&str, Direction); 2] = [("download", Direction::Down), ("upload", Direction::Up)];
/// Names of the probes: the parts of the figure. The last one is for self probes.
pub const PROBES: [&str; 4] = ["new: TCP", "new: TLS", "new: HTTP", "loaded: HTTP"];
const OWN: u32 = 3;

impl Plan {
    /// The connections that may carry load, those of downloads first: one more with each interval. `load`:
    /// length of the load.
    #[must_use]
    pub fn flows(&self, load: Span) -> Vec<Flow> {
        let Settings { interval, first, most, .. } = self.settings;
        let flow = |(name, direction): (&str, Direction), number: u32| Flow {
            name: format!("TCP {name}::{}", number + 1),
            direction,
            transport: Transport::Tcp,
            cc: self.cc.clone(),
            dscp: Dscp::default(),
            max_rate: None,
            host: self.host,
            start: Span(interval.0.saturating_mul(u64::from((number + 1).saturating_sub(first)))),
            stop: load,
        };
        LOADS.iter().flat_map(|&way| (0..most).map(move |number| flow(way, number))).collect()
    }

    /// The index of the first connection of a load in [`Plan::flows`].
    #[must_use]
    pub fn first_flow(&self, direction: Direction) -> u32 {
        if direction == Direction::Down { 0 } else { self.settings.most }
    }

    /// The parts of the figure, as probes.
    #[must_use]
    pub fn probes(&self) -> Vec<Probe> {
        let interval = Span(2_000_000_000 / u64::from(self.settings.probes_per_second.max(1)));
        let dscp = Dscp::default();
        PROBES.map(|name| Probe { name: name.into(), host: self.host, dscp, interval, payload: 0 }).into()
    }
}

/// An answer as samples of the series of [`PROBES`], the first of which has the number `first`. `number` is
/// the probe's number among those of its kind; `began` is in nanoseconds from the start of the load.
pub fn samples(answer: Answer, first: u32, number: u32, began: i64) -> impl Iterator<Item = Sample> {
    let parts = match answer {
        Answer::Foreign { tcp, tls, http } => [Some(tcp), tls, Some(http), None],
        Answer::Own { http } => [None, None, None, Some(http)],
    };
    (first..).zip(parts).filter_map(move |(probe, took)| {
        let (rtt, unknown) = (i64::try_from(took?.0).unwrap_or(i64::MAX), i64::MIN);
        Some(Sample::Echo {
            probe,
            seq: number,
            sent: began,
            rtt,
            up: unknown,
            down: unknown,
            reordered: false,
            duplicate: false,
        })
    })
}

/// The same for a probe that got no answer.
#[must_use]
pub fn lost(is_foreign: bool, first: u32, number: u32, began: i64) -> Sample {
    let probe = first + if is_foreign { OWN - 1 } else { OWN };
    Sample::Lost { probe, seq: number, sent: began, way: None }
}
