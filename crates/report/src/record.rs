//! The record: plan, environment and series of a run. Serialised as JSON, `schema` [`SCHEMA`].
//!
//! Times in series (`t_ns`, `sent_ns`) are nanoseconds from the start of the load; the idle lead-in is
//! negative. Delays are in nanoseconds; [`MISSING`] marks a probe without one.

mod found;
mod path;
mod repetition;
mod rpm;
mod talks;
mod transfers;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::wifi::Radio;

pub use found::{FoundKind, FoundQueue, OwnQueue};
pub use path::{PathQueue, Sojourn};
pub use repetition::Repetition;
pub use rpm::{Responsiveness, RpmInterval, RpmPart, RpmPercentile};
pub use talks::{TalkPlan, TalkSeries, TalkWay};
pub use transfers::{TrafficPlan, TransferSeries};

/// Version of this layout; a reader refuses a higher one.
pub const SCHEMA: u32 = 1;

/// The value of a delay that was not measured because the probe or its answer was lost.
pub const MISSING: i64 = i64::MIN;

/// Everything that one `goodqueue run` planned and measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// Layout version, [`SCHEMA`].
    pub schema: u32,
    /// Version of goodqueue that wrote the record.
    pub version: String,
    /// Start of the first run, RFC 3339, UTC.
    pub started: String,
    /// The user's title.
    pub title: String,
    /// The user's note.
    pub note: String,
    /// `live`, `simulated` or `path`: a real path.
    pub arm: String,
    /// The command line as typed.
    pub command: Vec<String>,
    /// Root of every random stream.
    pub seed: u64,
    /// The machine.
    pub host: Host,
    /// The server of a real path, as typed; absent elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The test.
    pub test: TestPlan,
    /// The link.
    pub link: LinkPlan,
    /// The queues to compare, in the user's order; empty in records of earlier versions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub planned: Vec<String>,
    /// What is compared: a line about each queue, by the name of its run; absent in records of earlier
    /// versions.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub about: BTreeMap<String, String>,
    /// One run per queue that was measured, in the same order.
    pub runs: Vec<Run>,
    /// What to read before trusting the result.
    pub warnings: Vec<String>,
}

impl Record {
    /// Whether it is of a real path, whose line and queues nobody here knows.
    #[must_use]
    pub fn is_path(&self) -> bool {
        self.arm == "path"
    }

    /// The difference between the runs: `queue`, or on a real path `load`.
    pub(crate) fn side(&self) -> &'static str {
        if self.is_path() { "load" } else { "queue" }
    }

    /// Whether somebody who sees no grade asks why: not without load, nor of a program, which has no probes.
    pub(crate) fn wants_grade(&self) -> bool {
        !self.test.flows.is_empty() && self.test.program.is_none()
    }

    /// Whether any run has a radio.
    pub(crate) fn has_radio(&self) -> bool {
        self.runs.iter().any(|run| !run.radios.is_empty())
    }

    /// The queues that were planned but not measured, in the order of the plan. Empty if the record does not
    /// say what was planned.
    #[must_use]
    pub fn missing(&self) -> Vec<&str> {
        let mut measured: Vec<&str> = self.runs.iter().map(|run| run.queue.as_str()).collect();
        let is_missing = |queue: &&str| match measured.iter().position(|one| one == queue) {
            Some(place) => {
                measured.swap_remove(place);
                false
            }
            None => true,
        };
        self.planned.iter().map(String::as_str).filter(is_missing).collect()
    }
}

/// The machine that ran it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Host {
    /// Operating system and release (`uname -sr`).
    pub kernel: String,
    /// Processors online.
    pub cpus: u32,
    /// The settings of the end hosts' TCP that shape the result.
    pub sysctls: BTreeMap<String, String>,
}

impl Host {
    /// This machine: its system and its processors, without the settings of TCP.
    #[must_use]
    pub fn of_this_machine() -> Host {
        #[cfg(target_os = "linux")]
        let kernel = {
            let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
            format!("{} {}", read("/proc/sys/kernel/ostype"), read("/proc/sys/kernel/osrelease"))
        };
        #[cfg(not(target_os = "linux"))]
        let kernel = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
        let cpus = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
        Host { kernel, cpus: u32::try_from(cpus).unwrap_or(u32::MAX), ..Host::default() }
    }
}

/// A direction through the bottleneck, seen from the client. This is a format, the words `up` and `down` of a
/// record. The core has the same enum for everything that runs; this crate depends on none of ours, so that a
/// record can be read without them, and `goodqueue-experiment` turns one into the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Client to server.
    #[default]
    Up,
    /// Server to client.
    Down,
}

impl Direction {
    /// Both, up first.
    pub const BOTH: [Direction; 2] = [Direction::Up, Direction::Down];

    /// `up` or `down`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Direction::Up => "up",
            Direction::Down => "down",
        }
    }
}

/// The test as it was resolved. This is a format: `goodqueue-experiment` makes it from the test that runs, a
/// `goodqueue_probe::Test`, in one place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TestPlan {
    /// Name of the test (`rrul`, `tcp_square_wave`, ...).
    pub name: String,
    /// One line about it.
    pub about: String,
    /// The program that was the load, if it was none of our tests (`goodqueue link`): nothing was planned, so
    /// all of its time counts, and its flows are the connections that passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Idle time before the load, in which the baseline is measured.
    pub idle_ns: u64,
    /// Length of the load, all staggered parts included.
    pub load_ns: u64,
    /// Step of the goodput series.
    pub step_ns: u64,
    /// TCP flows, then UDP flows.
    pub flows: Vec<FlowPlan>,
    /// Latency probes.
    pub probes: Vec<ProbePlan>,
    /// Calls in addition to the flows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub voip: Vec<ProbePlan>,
    /// Pages loaded in addition to the flows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub web: Vec<PagePlan>,
    /// Videos played in addition to the flows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dash: Vec<VideoPlan>,
    /// Video calls and games in addition to the flows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub talks: Vec<TalkPlan>,
    /// Groups of flows, each flow with a size.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub traffic: Vec<TrafficPlan>,
    /// The number of UDP senders in addition to the flows (`[[udp]]` of an experiment).
    #[serde(skip_serializing_if = "is_zero")]
    pub sources: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // As serde calls it.
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// One flow as planned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FlowPlan {
    /// Name, flent's where flent has one (`TCP upload BE`, `TCP download::1`).
    pub name: String,
    /// Who sends.
    pub direction: Direction,
    /// Its transport: `quic`; absent for TCP, and for UDP, whose `cc` is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// Congestion control of the sender, the kernel's name or quinn's; empty for UDP, which has none.
    pub cc: String,
    /// DSCP name (`CS0`, `EF`, ...).
    pub dscp: String,
    /// Server host, counted from 0.
    pub host: u32,
    /// When it starts.
    pub start_ns: i64,
    /// When it stops.
    pub stop_ns: i64,
    /// The rate limit of its sender, of payload (`SO_MAX_PACING_RATE`), or the rate of UDP; absent without a
    /// limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_bps: Option<u64>,
}

/// One latency probe, or one call, as planned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProbePlan {
    /// Name, flent's where flent has one (`Ping (ms) UDP BE`).
    pub name: String,
    /// DSCP name.
    pub dscp: String,
    /// Server host, counted from 0.
    pub host: u32,
    /// Time between two probes.
    pub interval_ns: u64,
    /// UDP payload.
    pub payload_bytes: u32,
}

/// One page as planned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PagePlan {
    /// Name (`small`, `large`).
    pub name: String,
    /// Objects, one request each.
    pub requests: u32,
    /// Bytes of all objects.
    pub bytes: u64,
    /// Server host, counted from 0.
    pub host: u32,
    /// Congestion control of the server.
    pub cc: String,
}

/// One video as planned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VideoPlan {
    /// Name (`video`).
    pub name: String,
    /// Server host, counted from 0.
    pub host: u32,
    /// Congestion control of the server.
    pub cc: String,
}

/// The link as it was resolved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LinkPlan {
    /// Client to server.
    pub up: PathPlan,
    /// Server to client.
    pub down: PathPlan,
    /// Base round-trip time to each server host, without the link's serialization.
    pub rtt_ns: Vec<u64>,
    /// IP MTU in bytes.
    pub mtu_bytes: u32,
    /// Whether TCP negotiates ECN.
    pub ecn: bool,
    /// Whether hosts sent super-packets of TCP, which the queue cut or took whole.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub super_packets: bool,
    /// 4 or 6.
    pub ip_version: u8,
}

/// One direction of the link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PathPlan {
    /// Rate of the bottleneck; absent without a limit.
    pub rate_bps: Option<u64>,
    /// Probability that a packet is lost below the queue, 0 to 1.
    pub loss: f64,
    /// Entries of the device ring below the queue; absent without a ring.
    pub ring_packets: Option<u32>,
    /// Whether BQL limits the ring.
    pub bql: bool,
    /// Whether some flow of this direction takes another path, so that the total goodput may exceed the rate.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub bypassed: bool,
}

/// One run: one queue under the test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Run {
    /// The queue, in a form that the command accepts.
    pub queue: String,
    /// Every parameter in force, as text.
    pub parameters: BTreeMap<String, String>,
    /// Whether it ran to the end.
    pub complete: bool,
    /// Whether the machine kept up.
    pub validity: Validity,
    /// The flows, as their receivers saw them.
    pub flows: Vec<FlowSeries>,
    /// The probes.
    pub probes: Vec<ProbeSeries>,
    /// The calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub voip: Vec<CallSeries>,
    /// The pages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub web: Vec<PageSeries>,
    /// The videos.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dash: Vec<VideoSeries>,
    /// The video calls and games.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub talks: Vec<TalkSeries>,
    /// The groups of flows, flow by flow.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub traffic: Vec<TransferSeries>,
    /// The queue at the bottleneck towards the server.
    pub up: QueueSeries,
    /// The queue at the bottleneck towards the client.
    pub down: QueueSeries,
    /// Every queue on the paths of the test's packets, in path order; empty if it was not recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<PathQueue>,
    /// The radios, if the bottleneck is Wi-Fi.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub radios: Vec<Radio>,
    /// How well the engine kept time; absent in a simulated run.
    pub engine: Option<EngineHealth>,
    /// What identifies a simulated run; absent in a live one.
    pub simulation: Option<Simulation>,
    /// The directions that it loads, if the runs of a record differ in that; empty: all that the test has
    /// flows for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loads: Vec<Direction>,
    /// What limited the senders of the flows up and down, as their kernels say; empty if unknown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<SenderLimits>,
    /// Why its figures may not be those of the path, on a real path. Such a run has no grade.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<Doubt>,
    /// Where the queue is, on a real path, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub located: Option<Located>,
    /// Its responsiveness, in the test that measures it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rpm: Option<Responsiveness>,
    /// The kind of queue of the loaded direction, on a real path; absent if it was not loaded alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_kind: Option<FoundQueue>,
    /// The queues of the senders' own interfaces, on a real path; empty where they are not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub own_queues: Vec<OwnQueue>,
    /// What a second, near observer saw meanwhile, on a real path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<Peer>,
    /// Its own link, if the runs of a record differ in more than the queue; otherwise the record's link
    /// applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkPlan>,
    /// The figures of every repetition, this run's first; empty without repetitions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repetitions: Vec<Repetition>,
}

impl Run {
    /// The link that it ran over.
    #[must_use]
    pub fn link_in<'a>(&'a self, record: &'a Record) -> &'a LinkPlan {
        self.link.as_ref().unwrap_or(&record.link)
    }
}

/// What limited the senders of one direction, in shares of the time in which they had data to send, 0 to 1
/// (Linux `tcpi_busy_time`, `tcpi_rwnd_limited`, `tcpi_sndbuf_limited`). The network limited them for the
/// rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SenderLimits {
    /// The direction.
    pub direction: Direction,
    /// The window of the receivers.
    pub receiver: f64,
    /// The senders' own buffers.
    pub sender: f64,
}

impl SenderLimits {
    /// The share in which the network was the limit.
    #[must_use]
    pub fn network(&self) -> f64 {
        (1.0 - self.receiver - self.sender).clamp(0.0, 1.0)
    }
}

/// A reason not to believe that a run over a real path shows the path's queues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubt {
    /// What it is.
    pub kind: DoubtKind,
    /// What was seen, and what to do about it: a clause without a full stop.
    pub evidence: String,
}

/// The rise of the round trip to each router on the way, while one direction is loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Located {
    /// The loaded direction.
    pub direction: Direction,
    /// The rise to the server: the median under load, less the least without load.
    pub rise_ns: Option<i64>,
    /// The routers, the first one first.
    pub hops: Vec<HopRise>,
    /// The last hop without the rise; 0 is this machine. Absent if the place is not known.
    pub after: Option<u8>,
    /// The first hop with it; absent if that is the server, or if the place is not known.
    pub before: Option<u8>,
    /// Why the place is not known.
    pub unknown: Option<String>,
}

/// What a second observer saw: a server that is near, which was probed while the load ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Peer {
    /// The observer as typed.
    pub host: String,
    /// Its probe.
    pub probe: ProbeSeries,
}

/// A router on the way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HopRise {
    /// Its distance: 1 is the first.
    pub hop: u8,
    /// Its address; absent if it never answered.
    pub address: Option<String>,
    /// The least round trip without load; absent if it answered too rarely.
    pub idle_ns: Option<i64>,
    /// The median round trip under load less that; absent if it answered too rarely.
    pub rise_ns: Option<i64>,
}

/// Kinds of reasons not to believe a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DoubtKind {
    /// The machine computed, or waited for a processor, most of the time.
    Processor,
    /// Other programs on this machine used the line.
    OtherTraffic,
    /// Replies came another way than at first.
    PathChanged,
    /// The line's rate changed, as with Wi-Fi and mobile.
    RateVaried,
    /// Nothing came back for a while: an interface was down, a machine slept.
    Interrupted,
    /// A clock was set during the load.
    ClockStepped,
}

/// The identity of a simulated run. The same scenario and seed give the same values on every machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Simulation {
    /// Root of every random stream.
    pub seed: u64,
    /// Events processed.
    pub events: u64,
    /// Hash over all events, 16 hexadecimal digits.
    pub trace_hash: String,
    /// Virtual time that passed, including the wait for the last probes.
    pub simulated_ns: u64,
    /// Packets that the line towards the server sent.
    pub up_packets: u64,
    /// Packets that the line towards the client sent.
    pub down_packets: u64,
}

/// Whether a result is trustworthy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Validity {
    /// False if engine or host were overloaded: such a result has no grade.
    pub valid: bool,
    /// The reasons why not, a sentence each.
    pub reasons: Vec<String>,
}

/// One flow in steps: what its receiver received, and the sender's state. Columns have equal length, or are
/// empty where that is said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FlowSeries {
    /// End of each step.
    pub t_ns: Vec<i64>,
    /// Payload received by the application in the step: goodput.
    pub rx_bytes: Vec<u64>,
    /// Sender's congestion window in segments at the end of the step (0: not known); like the next two, empty
    /// for a program's flow, whose sender is not asked.
    pub cwnd_segments: Vec<u32>,
    /// Sender's smoothed round-trip time (0: not known).
    pub srtt_us: Vec<u32>,
    /// Segments retransmitted since the flow began.
    pub retransmits: Vec<u32>,
    /// Segments acknowledged with an echo of a CE mark since the flow began (`tcpi_delivered_ce`); empty if
    /// there were none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ce_segments: Vec<u32>,
    /// Sender's pacing rate of payload at the end of the step (`tcpi_pacing_rate`; 0: not known, or none);
    /// empty if it was never known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pacing_bps: Vec<u64>,
    /// The newest rate of payload at which the network delivered (`tcpi_delivery_rate`; 0: not known); empty
    /// if it was never known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub delivery_bps: Vec<u64>,
    /// Whether the application limited that rate (`tcpi_delivery_rate_app_limited`); empty if it never did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub app_limited: Vec<bool>,
    /// Whether the connection negotiated ECN, as the sender says; absent if unknown: QUIC does not negotiate
    /// it, and UDP has no connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,
    /// What the queue did with its packets; of a program's flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<FlowQueue>,
    /// Why the flow ended early, if it did.
    pub error: Option<String>,
}

/// What a queue and its line did with the packets of one flow, in the flow's direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FlowQueue {
    /// Packets that came to the queue.
    pub arrived_packets: u64,
    /// Packets that the line sent, including those lost behind it.
    pub sent_packets: u64,
    /// Packets dropped by the queue or lost behind the line.
    pub drops: u64,
    /// Packets marked CE.
    pub marks: u64,
    /// How long packets waited for the line: mean.
    pub waited_mean_ns: u64,
    /// The longest of these.
    pub waited_max_ns: u64,
}

/// The samples of one probe, in the order of sending. Columns have equal length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProbeSeries {
    /// When each probe was sent.
    pub sent_ns: Vec<i64>,
    /// Round trip, or [`MISSING`].
    pub rtt_ns: Vec<i64>,
    /// One-way delay to the server, or [`MISSING`].
    pub up_ns: Vec<i64>,
    /// One-way delay to the client, or [`MISSING`].
    pub down_ns: Vec<i64>,
    /// On a real path, the largest error of the change of a one-way delay: of what was subtracted for the
    /// difference of the two clocks. Absent if it is not known, and where one clock measures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_way_error_ns: Option<i64>,
    /// Lost probes.
    pub lost: LossCount,
    /// Probes that were still unanswered when the wait ended and may have been in flight: [`MISSING`] in the
    /// columns, but not lost.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub under_way: Vec<UnderWay>,
    /// Answers that arrived after the answer to a later probe.
    pub reordered: u64,
    /// Answers that arrived twice.
    pub duplicates: u64,
}

/// A probe whose round trip is longer than the wait for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UnderWay {
    /// Its place in the columns.
    pub at: u64,
    /// How long the run waited for it.
    pub waited_ns: i64,
}

/// Probes that were lost, by direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LossCount {
    /// On the way to the server.
    pub up: u64,
    /// On the way back.
    pub down: u64,
    /// In one of the two.
    pub unknown: u64,
}

/// The packets of a call, one packet each way, in the order of sending. Columns have equal length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallSeries {
    /// When the client sent.
    pub sent_ns: Vec<i64>,
    /// One-way delay to the server, or [`MISSING`].
    pub up_ns: Vec<i64>,
    /// One-way delay of the server's packet to the client, or [`MISSING`].
    pub down_ns: Vec<i64>,
    /// Whether both arrived.
    pub fate: Vec<Fate>,
}

/// Whether a packet of a call and the one that answers it arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fate {
    /// Both did.
    #[default]
    Arrived,
    /// The first was lost, so the other was not sent.
    Up,
    /// The other was lost.
    Down,
    /// One of them was lost.
    Unknown,
}

/// The loads of one page. Columns have equal length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PageSeries {
    /// When the load began.
    pub start_ns: Vec<i64>,
    /// Page load time; if it is incomplete, the time until it was given up.
    pub took_ns: Vec<i64>,
    /// Whether it was complete when the idle part or the load ended.
    pub complete: Vec<bool>,
    /// Time to the first byte of its first object, or [`MISSING`].
    pub first_byte_ns: Vec<i64>,
    /// Bytes of objects received.
    pub rx_bytes: Vec<u64>,
    /// The last error, if there was one.
    pub error: Option<String>,
}

/// One video, segment by segment. Columns have equal length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VideoSeries {
    /// When it was requested.
    pub asked_ns: Vec<i64>,
    /// Time until it was complete or was given up.
    pub took_ns: Vec<i64>,
    /// Whether it was complete when the load ended.
    pub complete: Vec<bool>,
    /// The bit rate that was selected.
    pub bitrate_bps: Vec<u64>,
    /// Bytes of it received.
    pub rx_bytes: Vec<u64>,
    /// Playing time in the buffer when it arrived, without this segment.
    pub buffer_ns: Vec<i64>,
    /// How long playback had stalled for want of it.
    pub stalled_ns: Vec<i64>,
    /// The error, if there was one.
    pub error: Option<String>,
}

/// One direction's queue, in steps. Columns have equal length; counts are since the run began.
///
/// Bytes are those of frames: with the Ethernet header, without FCS, preamble and gap. A packet is what
/// arrives at the queue: a super-packet (TSO) is one; if the queue cuts it, each of its segments is one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QueueSeries {
    /// When the sample was taken.
    pub t_ns: Vec<i64>,
    /// Bytes in the queue.
    pub backlog_bytes: Vec<u64>,
    /// Packets in the queue.
    pub backlog_packets: Vec<u32>,
    /// Bytes in the device ring below it.
    pub ring_bytes: Vec<u64>,
    /// Bytes put on the line, headers included.
    pub sent_bytes: Vec<u64>,
    /// Packets put on the line.
    pub sent_packets: Vec<u64>,
    /// Time in which the line was busy: it sent a packet or, behind a shaper, the shaper's bucket was not
    /// full. It never grows by more than the elapsed time. Empty if it was not measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub busy_ns: Vec<u64>,
    /// Packets that the queue dropped, for any reason; random loss on the line does not count.
    pub drops: Vec<u64>,
    /// Packets marked CE.
    pub marks: Vec<u64>,
    /// Drops by reason, at the end.
    pub drop_reasons: BTreeMap<String, u64>,
    /// The queue's own counters, at the end.
    pub counters: BTreeMap<String, u64>,
}

/// How well the live engine kept time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EngineHealth {
    /// Upper bounds of the lateness buckets (actual send time minus due time).
    pub lateness_bucket_ns: Vec<u64>,
    /// Packets in each bucket.
    pub lateness_count: Vec<u64>,
    /// Median lateness.
    pub lateness_p50_ns: u64,
    /// 99th percentile.
    pub lateness_p99_ns: u64,
    /// Worst.
    pub lateness_max_ns: u64,
    /// Share of one processor that the engine's work took, without waiting: 0 to 1 for each of its threads.
    pub busy: f64,
    /// Share of the machine's processor time that was not idle, 0 to 1.
    pub host_busy: f64,
    /// Relative error of the rate up: bits that left the line per second of wall time, in stretches in which
    /// it was never idle, compared with the configured rate; 0 is exact. `None` if there was no such stretch.
    pub rate_error_up: Option<f64>,
    /// The same, down.
    pub rate_error_down: Option<f64>,
}
