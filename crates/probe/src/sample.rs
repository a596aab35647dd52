//! What a running test hands out.

use crate::Direction;

/// Which end of a flow speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum End {
    /// The end that writes.
    Sender,
    /// The end that reads.
    Receiver,
}

/// What the sender's kernel said of its connection (Linux `struct tcp_info`), 0 where it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TcpSample {
    /// Congestion window in segments.
    pub cwnd_segments: u32,
    /// Slow-start threshold in segments; `i32::MAX` until the first loss.
    pub ssthresh_segments: u32,
    /// Smoothed round-trip time in microseconds, delayed acknowledgements included.
    pub srtt_us: u32,
    /// Least round-trip time of the kernel's window in microseconds.
    pub min_rtt_us: u32,
    /// Segments retransmitted since the connection began.
    pub retransmits: u32,
    /// Segments sent and not acknowledged.
    pub unacked_segments: u32,
    /// Segments acknowledged with ECN echo since the connection began (`tcpi_delivered_ce`).
    pub delivered_ce: u32,
    /// Rate at which the kernel paces, bytes per second; `u64::MAX` where it does not.
    pub pacing_rate: u64,
    /// Most recent delivery rate, bytes per second.
    pub delivery_rate: u64,
}

/// One thing measured. `t` and `sent` are nanoseconds from the start of the load, negative in the idle
/// lead-in; `flow` is an index into the test's `flows`, `probe` one into its [`crate::Test::streams`], `page`
/// one into its `web`, `video` one into its `dash`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Sample {
    /// Goodput of one step, told by the receiver.
    Received {
        /// Index of the flow.
        flow: u32,
        /// End of the step: a multiple of the test's step.
        t: i64,
        /// Payload that the application has read in the step.
        bytes: u64,
    },
    /// The sender's view at the end of a step.
    Tcp {
        /// Index of the flow.
        flow: u32,
        /// When the kernel was asked.
        t: i64,
        /// What it answered.
        info: TcpSample,
    },
    /// A probe that came back.
    Echo {
        /// Index of the probe.
        probe: u32,
        /// Sequence number, from 0.
        seq: u32,
        /// When it was sent.
        sent: i64,
        /// Round-trip time in nanoseconds, the time within the server not counted.
        rtt: i64,
        /// One-way delay to the server in nanoseconds. As true as the two hosts' clocks agree: exactly so
        /// on one host.
        up: i64,
        /// One-way delay to the client in nanoseconds, under the same reserve.
        down: i64,
        /// The answer to a later probe had come before.
        reordered: bool,
        /// An answer to this probe had come before.
        duplicate: bool,
    },
    /// A probe that did not come back in time.
    Lost {
        /// Index of the probe.
        probe: u32,
        /// Sequence number.
        seq: u32,
        /// When it was sent.
        sent: i64,
        /// Where it was lost.
        #[cfg_attr(feature = "serde", serde(with = "direction::option"))]
        way: Option<Direction>,
    },
    /// A probe that was still under way when the run ended: its round trip is longer than it was waited for.
    UnderWay {
        /// Index of the probe.
        probe: u32,
        /// Sequence number.
        seq: u32,
        /// When it was sent.
        sent: i64,
        /// How long it had been under way, nanoseconds.
        waited: i64,
    },
    /// A flow's end as one of its two ends saw it. Each end that was alive reports once.
    FlowEnd {
        /// Index of the flow.
        flow: u32,
        /// When.
        t: i64,
        /// Who speaks.
        end: End,
        /// Receiver: payload read, the sum of all [`Sample::Received`] of the flow. Sender: payload
        /// that the socket took, which includes what was still queued when the flow was aborted.
        bytes_total: u64,
        /// Why it ended before its time, or never began.
        error: Option<String>,
    },
    /// A page that was fetched, or given up.
    Page {
        /// Index of the page.
        page: u32,
        /// When it was begun.
        t: i64,
        /// Time in nanoseconds until its last byte was there: the page load time; where it is not complete,
        /// until it was given up.
        took: i64,
        /// Whether all of it came before its part of the test (idle lead-in, load) ended.
        complete: bool,
        /// Time until the first byte of its first object was there.
        first_byte: Option<i64>,
        /// Bytes of objects that came.
        bytes: u64,
        /// What broke, where something did.
        error: Option<String>,
    },
    /// A segment of a video that was asked for.
    Segment {
        /// Index of the video.
        video: u32,
        /// When it was asked for.
        t: i64,
        /// Time in nanoseconds until its last byte was there; where it is not complete, until it was given
        /// up.
        took: i64,
        /// Whether all of it came before the load ended.
        complete: bool,
        /// The bit rate that was selected, bits per second.
        bitrate: u64,
        /// Bytes of it that came.
        bytes: u64,
        /// Playing time in nanoseconds that the buffer held when it came, or was given up; itself not
        /// counted.
        buffer: i64,
        /// How long playback had stalled by then for want of it.
        stalled: i64,
        /// What broke, where something did.
        error: Option<String>,
    },
    /// A frame of a video call that could be shown ([`crate::talk`]).
    Shown {
        /// Index of the talk.
        talk: u32,
        /// Which way it came.
        #[cfg_attr(feature = "serde", serde(with = "direction"))]
        way: Direction,
        /// Number of the frame, from 0. Frames that are never shown are missing.
        number: u32,
        /// When it was captured.
        t: i64,
        /// Time in nanoseconds until it could be shown. As true as the two hosts' clocks agree: exactly so on
        /// one host.
        took: i64,
        /// Height of the picture in lines.
        height: u16,
    },
    /// What came of a video call in about 0.1 s.
    Interval {
        /// Index of the talk.
        talk: u32,
        /// Which way it came.
        #[cfg_attr(feature = "serde", serde(with = "direction"))]
        way: Direction,
        /// End of the interval.
        t: i64,
        /// Bytes of media, without headers.
        bytes: u64,
        /// Datagrams.
        packets: u32,
        /// Datagrams that are missing among them.
        lost: u32,
    },
    /// A tick of a game that came.
    Tick {
        /// Index of the talk.
        talk: u32,
        /// Up for an input, down for a state.
        #[cfg_attr(feature = "serde", serde(with = "direction"))]
        way: Direction,
        /// Number on the grid of ticks, which begins with the idle lead-in.
        number: u32,
        /// When it was sent.
        t: i64,
        /// Time in nanoseconds until it came, under the reserve of [`Sample::Shown`].
        took: i64,
        /// Round trip of the newest input that the state answers, the time within the server not counted.
        rtt: Option<i64>,
    },
}

impl Sample {
    /// The sample's place on the time axis: end of step, moment asked, moment of sending or of beginning.
    /// Samples of several threads arrive in no order of it.
    #[must_use]
    pub fn t(&self) -> i64 {
        match *self {
            Sample::Received { t, .. }
            | Sample::Tcp { t, .. }
            | Sample::FlowEnd { t, .. }
            | Sample::Page { t, .. }
            | Sample::Segment { t, .. }
            | Sample::Shown { t, .. }
            | Sample::Interval { t, .. }
            | Sample::Tick { t, .. } => t,
            Sample::Echo { sent, .. } | Sample::Lost { sent, .. } | Sample::UnderWay { sent, .. } => sent,
        }
    }
}

/// Directions as JSON has them.
#[cfg(feature = "serde")]
mod direction {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::Direction;

    pub(super) fn serialize<S: Serializer>(direction: &Direction, to: S) -> Result<S::Ok, S::Error> {
        direction.name().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Direction, D::Error> {
        let word = String::deserialize(from)?;
        let found = Direction::BOTH.into_iter().find(|direction| direction.name() == word);
        found.ok_or_else(|| serde::de::Error::custom(format!("no direction {word}")))
    }

    /// Where it may be unknown.
    pub(super) mod option {
        use super::{Deserialize, Deserializer, Direction, Serialize, Serializer};

        pub(in super::super) fn serialize<S: Serializer>(
            direction: &Option<Direction>,
            to: S,
        ) -> Result<S::Ok, S::Error> {
            direction.map(|direction| direction == Direction::Up).serialize(to)
        }

        pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
            from: D,
        ) -> Result<Option<Direction>, D::Error> {
            let is_up = Option::<bool>::deserialize(from)?;
            Ok(is_up.map(|is_up| if is_up { Direction::Up } else { Direction::Down }))
        }
    }
}
