//! The queues on the path of the test's packets.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Direction, QueueSeries};

/// Sojourn times at a queue, in nanoseconds: from a packet's arrival until the line begins to send it. That
/// includes the device ring below the queue. Over the air the time ends when the first exchange that carries
/// the packet begins, so it includes the sender's queues, driver and hardware. It covers the packets whose
/// transmission began in the loaded interval, without dropped ones. Percentiles are at most 1/128 (0.8 %)
/// above the exact value; mean and maximum are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sojourn {
    /// Packets; if there are none, the rest is zero.
    pub n: u64,
    /// Mean.
    pub mean_ns: u64,
    /// Median.
    pub p50_ns: u64,
    /// 95th percentile.
    pub p95_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Largest.
    pub max_ns: u64,
}

/// A queue delays packets if the 95th percentile of its sojourn time is at least this, ns.
const HELD_UP_NS: u64 = 1_000_000;

/// One queue on the path of the test's packets. Counts are over the whole run.
///
/// A packet is what arrives at the queue: a super-packet (TSO) is one. If the queue cuts it, each of its
/// segments is a packet. So `arrived_packets` = `sent_packets` + all `drop_reasons` + `held_packets`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PathQueue {
    /// The link that it is in front of (`router to modem`).
    pub link: String,
    /// The direction of that link.
    pub direction: Direction,
    /// The queue in its canonical form, with the shaper above it.
    pub queue: String,
    /// Rate to which packets are shaped here, bit/s: by the queue itself or by the shaper above it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shaped_bps: Option<u64>,
    /// Whether it is the queue at the bottleneck, whose series are the run's `up` or `down`.
    pub bottleneck: bool,
    /// Packets that arrived at it.
    pub arrived_packets: u64,
    /// Packets that its line sent, including those lost behind the line.
    pub sent_packets: u64,
    /// Bytes of these, with the Ethernet header.
    pub sent_bytes: u64,
    /// Packets in queue and ring and on the line at the end.
    pub held_packets: u64,
    /// Bytes of these.
    pub held_bytes: u64,
    /// Packets that it dropped, by reason.
    pub drop_reasons: BTreeMap<String, u64>,
    /// Packets that it marked CE.
    pub marks: u64,
    /// How long packets waited; absent if it was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sojourn: Option<Sojourn>,
    /// Its backlog over time, if it is the queue that is shown and not the one at the bottleneck.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<QueueSeries>,
}

impl PathQueue {
    /// Packets that it dropped.
    #[must_use]
    pub fn drops(&self) -> u64 {
        self.drop_reasons.values().fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// Mean sojourn time, ns, by which queues are ranked; zero if it was not measured.
    #[must_use]
    pub fn mean_sojourn_ns(&self) -> u64 {
        self.sojourn.map_or(0, |sojourn| sojourn.mean_ns)
    }

    /// Whether it dropped or marked a packet, or delayed packets by 1 ms or more in the 95th percentile.
    #[must_use]
    pub fn acted(&self) -> bool {
        let held_up = |waits: Sojourn| waits.p95_ns >= HELD_UP_NS;
        self.drops() > 0 || self.marks > 0 || self.sojourn.is_some_and(held_up)
    }

    /// Its name in the report: `cake:bandwidth=45mbit, router to modem`.
    #[must_use]
    pub fn name(&self) -> String {
        match (self.queue.is_empty(), self.link.is_empty()) {
            (false, false) => format!("{}, {}", self.queue, self.link),
            (true, _) => self.link.clone(),
            (_, true) => self.queue.clone(),
        }
    }
}
