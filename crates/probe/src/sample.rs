//! The measurements of a running test.

use crate::Direction;

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum End {
    /// The end that writes.
    Sender,
    /// The end that reads.
    Receiver,
}

impl End {
    /// The client's end of a flow in this direction.
    #[must_use]
    pub const fn of_client(direction: Direction) -> End {
        match direction {
            Direction::Up => End::Sender,
            Direction::Down => End::Receiver,
        }
    }

    /// The server's end of a flow in this direction.
    #[must_use]
    pub const fn of_server(direction: Direction) -> End {
        match direction {
            Direction::Up => End::Receiver,
            Direction::Down => End::Sender,
        }
    }
}

/// State of a connection from the sender's kernel (Linux `struct tcp_info`), 0 if unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TcpSample {
    /// Congestion window in segments.
    pub cwnd_segments: u32,
    /// Slow-start threshold in segments; `i32::MAX` until the first loss.
    pub ssthresh_segments: u32,
    /// Smoothed round-trip time in microseconds, including delayed acknowledgements.
    pub srtt_us: u32,
    /// Minimum round-trip time over the kernel's window, in microseconds.
    pub min_rtt_us: u32,
    /// Segments retransmitted since the connection began.
    pub retransmits: u32,
    /// Segments sent and not acknowledged.
    pub unacked_segments: u32,
    /// Segments acknowledged with ECN echo since the connection began (`tcpi_delivered_ce`).
    pub delivered_ce: u32,
    /// Pacing rate of the kernel, bytes per second; `u64::MAX` if it does not pace.
    pub pacing_rate: u64,
    /// Most recent delivery rate, bytes per second.
    pub delivery_rate: u64,
    /// Whether the application limited that rate (`tcpi_delivery_rate_app_limited`).
    #[cfg_attr(feature = "serde", serde(default))]
    pub app_limited: bool,
    /// Whether the connection negotiated ECN (`TCPI_OPT_ECN`); `None` if it is not known: for QUIC, and for a
    /// server that is older than this field.
    #[cfg_attr(feature = "serde", serde(default))]
    pub ecn: Option<bool>,
    /// Time in which the connection had data to send, microseconds (`tcpi_busy_time`).
    pub busy_us: u64,
    /// The part of that time in which the receiver's window limited it (`tcpi_rwnd_limited`).
    pub rwnd_limited_us: u64,
    /// The part of that time in which the sender's own buffer limited it (`tcpi_sndbuf_limited`).
    pub sndbuf_limited_us: u64,
}

/// One measurement. `t` and `sent` are nanoseconds from the start of the load, negative in the idle lead-in.
/// `flow` is an index into the test's `flows`, `probe` into its [`crate::Test::streams`], `page` into its
/// `web`, `video` into its `dash`, and `talk` into its `talks`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Sample {
    /// Goodput of one step, from the receiver.
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
        /// When the kernel was queried.
        t: i64,
        /// Its answer.
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
        /// Round-trip time in nanoseconds, without the time in the server.
        rtt: i64,
        /// One-way delay to the server in nanoseconds. It is as accurate as the two hosts' clocks are
        /// synchronised: exact on one host.
        up: i64,
        /// One-way delay to the client in nanoseconds, with the same accuracy.
        down: i64,
        /// The answer to a later probe had arrived before.
        reordered: bool,
        /// An answer to this probe had arrived before.
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
        /// The direction in which it was lost, if known.
        #[cfg_attr(feature = "serde", serde(with = "direction::option"))]
        way: Option<Direction>,
    },
    /// A probe that was still unanswered when the run ended: its round trip is longer than the wait for it.
    UnderWay {
        /// Index of the probe.
        probe: u32,
        /// Sequence number.
        seq: u32,
        /// When it was sent.
        sent: i64,
        /// How long the run waited for it, nanoseconds.
        waited: i64,
    },
    /// The end of a flow as the sender or the receiver saw it. Each of the two reports once if it was
    /// connected.
    FlowEnd {
        /// Index of the flow.
        flow: u32,
        /// When.
        t: i64,
        /// Which of the two.
        end: End,
        /// Receiver: payload read, the sum of all [`Sample::Received`] of the flow. Sender: payload that the
        /// socket accepted, including data still queued when the flow was aborted.
        bytes_total: u64,
        /// Why it ended early or never began.
        error: Option<String>,
    },
    /// A page that was loaded or given up.
    Page {
        /// Index of the page.
        page: u32,
        /// When its load began.
        t: i64,
        /// Page load time in nanoseconds, until its last byte arrived; if it is incomplete, until it was
        /// given up.
        took: i64,
        /// Whether all of it arrived before its part of the test (idle lead-in, load) ended.
        complete: bool,
        /// Time until the first byte of its first object arrived, nanoseconds.
        first_byte: Option<i64>,
        /// Bytes of objects received.
        bytes: u64,
        /// The error, if there was one.
        error: Option<String>,
    },
    /// A segment of a video that was requested.
    Segment {
        /// Index of the video.
        video: u32,
        /// When it was requested.
        t: i64,
        /// Time in nanoseconds until its last byte arrived; if it is incomplete, until it was given up.
        took: i64,
        /// Whether all of it arrived before the load ended.
        complete: bool,
        /// The bit rate that was selected, bits per second.
        bitrate: u64,
        /// Bytes of it received.
        bytes: u64,
        /// Playing time in the buffer, in nanoseconds, when it arrived or was given up; without this segment.
        buffer: i64,
        /// How long playback had stalled because it was missing, nanoseconds.
        stalled: i64,
        /// The error, if there was one.
        error: Option<String>,
    },
    /// A frame of a video call that could be shown ([`crate::talk`]).
    Shown {
        /// Index of the talk.
        talk: u32,
        /// Its direction.
        #[cfg_attr(feature = "serde", serde(with = "direction"))]
        way: Direction,
        /// Number of the frame, from 0. Frames that are never shown are missing.
        number: u32,
        /// When it was captured.
        t: i64,
        /// Time in nanoseconds until it could be shown. It is as accurate as the two hosts' clocks are
        /// synchronised: exact on one host.
        took: i64,
        /// Height of the picture in lines.
        height: u16,
    },
    /// Media received of a video call in about 0.1 s.
    Interval {
        /// Index of the talk.
        talk: u32,
        /// Its direction.
        #[cfg_attr(feature = "serde", serde(with = "direction"))]
        way: Direction,
        /// End of the interval.
        t: i64,
        /// Bytes of media, without headers.
        bytes: u64,
        /// Datagrams.
        packets: u32,
        /// Datagrams missing in the interval.
        lost: u32,
    },
    /// A tick of a game that arrived.
    Tick {
        /// Index of the talk.
        talk: u32,
        /// Up for an input, down for a state.
        #[cfg_attr(feature = "serde", serde(with = "direction"))]
        way: Direction,
        /// Number of the tick, counted from the start of the idle lead-in.
        number: u32,
        /// When it was sent.
        t: i64,
        /// One-way delay in nanoseconds, with the accuracy of [`Sample::Shown`].
        took: i64,
        /// Round trip of the newest input that the state answers, without the time in the server,
        /// nanoseconds.
        rtt: Option<i64>,
    },
}

impl Sample {
    /// The sample's time: end of the step, time of the query, of sending or of the start. Samples of several
    /// threads are not ordered by it.
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

/// Directions in JSON.
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

    /// Directions that may be unknown.
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
