//! The engine's results: samples during a run, a report at its end, and their validity.

use goodqueue::cake::TinState;
use goodqueue::{Backlog, Nanos, PortStats, Reason, Span, Stats};

use crate::flows::Flow;
use crate::{Error, Histogram};

/// Packets and their bytes (layer-2 header included, no FCS).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Count {
    pub(crate) fn add(&mut self, len: u32) {
        self.packets += 1;
        self.bytes += u64::from(len);
    }
}

/// One direction of the engine at one time. Counters count from the start of the engine. For a direction with
/// several threads it is the sum over all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathSample {
    /// Backlog of the queue, without device ring and line.
    pub backlog: Backlog,
    /// Backlog of the device ring and the packet on the line.
    pub ring: Backlog,
    /// Packets that arrived at the queue.
    pub arrived: Count,
    /// Packets sent, after queue, ring, line and delay.
    pub sent: Count,
    /// Drops, by index of the reason in [`Reason::ALL`]; see [`PathSample::dropped`].
    pub drops: [u64; Reason::ALL.len()],
    /// CE marks that the queue made (a packet can be marked twice).
    pub marks: u64,
    /// The queue's own counters.
    pub queue: Stats,
    /// The line's counters.
    pub line: PortStats,
    /// Time for which the line has been busy so far, including the current packet. It never grows by more
    /// than the elapsed time.
    pub busy: Span,
}

/// The index of a reason in [`Reason::ALL`].
pub(crate) fn place(reason: Reason) -> usize {
    Reason::ALL.iter().position(|&other| other == reason).unwrap_or(0)
}

impl PathSample {
    /// Packets dropped for `reason`.
    #[must_use]
    pub fn dropped(&self, reason: Reason) -> u64 {
        self.drops[place(reason)]
    }

    /// The combination of two threads.
    fn and(self, other: PathSample) -> PathSample {
        let count = |one: Count, other: Count| Count {
            packets: one.packets + other.packets,
            bytes: one.bytes + other.bytes,
        };
        let backlog = |one: Backlog, other: Backlog| Backlog {
            packets: one.packets + other.packets,
            bytes: one.bytes + other.bytes,
        };
        let (line, others) = (self.line, other.line);
        PathSample {
            backlog: backlog(self.backlog, other.backlog),
            ring: backlog(self.ring, other.ring),
            arrived: count(self.arrived, other.arrived),
            sent: count(self.sent, other.sent),
            drops: std::array::from_fn(|reason| self.drops[reason] + other.drops[reason]),
            marks: self.marks + other.marks,
            queue: [self.queue, other.queue].into_iter().sum(),
            line: PortStats {
                packets: line.packets + others.packets,
                bytes: line.bytes + others.bytes,
                busy: line.busy + others.busy,
                idle_backlogged: line.idle_backlogged + others.idle_backlogged,
                busy_periods: line.busy_periods + others.busy_periods,
                paused: line.paused + others.paused,
                clock_backward: line.clock_backward + others.clock_backward,
            },
            busy: self.busy + other.busy,
        }
    }

    /// Packets dropped for any reason.
    #[must_use]
    pub fn dropped_in_all(&self) -> u64 {
        self.drops.iter().sum()
    }
}

/// Problems of the engine, both directions together. Each except `foreign` makes a result not valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trouble {
    /// Frames that the kernel dropped because the engine did not read in time (`PACKET_STATISTICS`).
    pub socket_drops: u64,
    /// Frames that an interface of the lab refused (`tx_dropped` of veth). Counted only at the end of the
    /// run.
    pub interface_drops: u64,
    /// Times when no frame of the pool was free to read into.
    pub pool_exhausted: u64,
    /// Frames longer than MTU and Ethernet header: an offload is on somewhere. Dropped.
    pub super_packets: u64,
    /// Frames that the kernel refused to send. Dropped.
    pub send_failures: u64,
    /// Times when the engine's clock would have gone backward (a bug in the engine).
    pub clock_backward: u64,
    /// Frames that are not IP or go to a group, which the hosts send on their own. Dropped, without harm.
    pub foreign: u64,
}

/// Quantiles of a [`Histogram`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Number of values; if it is zero, the rest is zero.
    pub count: u64,
    /// Median.
    pub p50: Span,
    /// 99th percentile.
    pub p99: Span,
    /// Largest.
    pub max: Span,
}

impl Trouble {
    /// The combination of two threads.
    fn and(self, other: Trouble) -> Trouble {
        Trouble {
            socket_drops: self.socket_drops + other.socket_drops,
            interface_drops: self.interface_drops + other.interface_drops,
            pool_exhausted: self.pool_exhausted + other.pool_exhausted,
            super_packets: self.super_packets + other.super_packets,
            send_failures: self.send_failures + other.send_failures,
            clock_backward: self.clock_backward + other.clock_backward,
            foreign: self.foreign + other.foreign,
        }
    }
}

impl Summary {
    /// Bounds for the combination of two: none of its quantiles is above the greater one of both.
    fn and(self, other: Summary) -> Summary {
        Summary {
            count: self.count + other.count,
            p50: self.p50.max(other.p50),
            p99: self.p99.max(other.p99),
            max: self.max.max(other.max),
        }
    }

    pub(crate) fn of(histogram: &Histogram) -> Summary {
        let at = |q| histogram.quantile(q).unwrap_or_default();
        Summary {
            count: histogram.count(),
            p50: at(0.5),
            p99: at(0.99),
            max: histogram.max().unwrap_or_default(),
        }
    }
}

/// The engine at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineSample {
    /// When, `CLOCK_MONOTONIC`.
    pub at: Nanos,
    /// Client to server.
    pub up: PathSample,
    /// Server to client.
    pub down: PathSample,
    /// Problems so far.
    pub trouble: Trouble,
    /// Lateness: time of sending minus the time when the frame was due. While an engine with several threads
    /// runs, these are the figures of the thread that is latest; at its end, of all threads together.
    pub lateness: Summary,
    /// The 99th percentile of lateness above which a result is not valid.
    pub lateness_limit: Span,
    /// Frames of the pool in use.
    pub frames_used: u32,
}

/// Whether a result is trustworthy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validity {
    /// Whether the result is valid.
    pub valid: bool,
    /// The reasons why it is not, as text.
    pub reasons: Vec<String>,
}

impl EngineSample {
    /// The combination of two threads. A direction that a thread does not serve is zero in its sample.
    pub(crate) fn and(self, other: EngineSample) -> EngineSample {
        EngineSample {
            at: self.at.min(other.at),
            up: self.up.and(other.up),
            down: self.down.and(other.down),
            trouble: self.trouble.and(other.trouble),
            lateness: self.lateness.and(other.lateness),
            lateness_limit: self.lateness_limit.max(other.lateness_limit),
            frames_used: self.frames_used + other.frames_used,
        }
    }

    /// Judges the run so far. A result is not valid
    ///
    /// * if the engine and not a queue lost frames: the socket buffer was full, or the kernel or an interface
    ///   refused a frame;
    /// * if the pool was exhausted: arrivals then waited outside of the queues;
    /// * if there were super-packets: an offload is on;
    /// * if the 99th percentile of lateness is above the larger of 1 ms and the serialization time of one
    ///   full frame at the slower of the two rates: the machine was too busy for real time;
    /// * if the engine's clock would have gone backward.
    #[must_use]
    pub fn validity(&self) -> Validity {
        let mut reasons = Vec::new();
        let trouble = &self.trouble;
        let counts = [
            (trouble.socket_drops, "frames dropped by the kernel before the engine read them"),
            (trouble.send_failures, "frames refused by the kernel"),
            (trouble.interface_drops, "frames dropped by an interface of the lab"),
            (trouble.pool_exhausted, "times no frame was free to read into"),
            (trouble.super_packets, "super-packets refused: an offload is on"),
            (trouble.clock_backward, "times the engine's clock would have gone backward"),
        ];
        for (count, what) in counts {
            if count > 0 {
                reasons.push(format!("{count} {what}"));
            }
        }
        if self.lateness.p99 > self.lateness_limit {
            let (p99, limit) = (self.lateness.p99.as_millis_f64(), self.lateness_limit.as_millis_f64());
            reasons.push(format!("frames left late: 99th percentile {p99:.3} ms, limit {limit:.3} ms"));
        }
        Validity { valid: reasons.is_empty(), reasons }
    }
}

/// What is inside a direction at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// The connections in the order in which they began, without their steps; none if they are not counted.
    pub connections: Vec<Flow>,
    /// Flows that wait in the queue: new ones, and those with a backlog. See
    /// [`goodqueue::Inspect::waiting_flows`].
    pub waiting_flows: Option<(u32, u32)>,
    /// The tins of the queue ([`goodqueue::Inspect::tins`]); if a direction has several queues, those of the
    /// first queue, then those of the next.
    pub tins: Vec<TinState>,
}

impl Contents {
    /// Adds the contents of another thread.
    pub(crate) fn add(&mut self, other: Contents) {
        self.connections.extend(other.connections);
        self.connections.sort_by_key(|flow| flow.first);
        let flows = |(new, old), (more_new, more_old)| (new + more_new, old + more_old);
        self.waiting_flows = self.waiting_flows.into_iter().chain(other.waiting_flows).reduce(flows);
        self.tins.extend(other.tins);
    }
}

/// One direction of a finished run.
#[derive(Clone, Debug)]
pub struct PathReport {
    /// The last state and all counters.
    pub last: PathSample,
    /// The queue's own counters by name ([`goodqueue::Inspect::counters`]).
    pub counters: Vec<(&'static str, u64)>,
    /// Sojourn times in the measured window ([`crate::EngineHandle::measure_sojourn`]): from a packet's
    /// arrival at the queue until the line began to send it; `None` if there is no line.
    pub sojourn: Option<Histogram>,
    /// What it did with the packets of each connection, in the order in which the connections began, if
    /// [`crate::EngineSpec::flows`] requests it.
    pub flows: Vec<Flow>,
    /// Packets that came to the queue from connections beyond the first [`crate::flows::MOST_FLOWS`].
    pub others: Count,
}

impl PathReport {
    /// The combination of two threads with equal queues.
    pub(crate) fn and(mut self, other: PathReport) -> PathReport {
        self.last = self.last.and(other.last);
        for ((_, sum), (_, count)) in self.counters.iter_mut().zip(other.counters) {
            *sum += count;
        }
        self.sojourn = match (self.sojourn, other.sojourn) {
            (Some(mut all), Some(these)) => {
                all.merge(&these);
                Some(all)
            }
            (all, these) => all.or(these),
        };
        self.flows.extend(other.flows);
        self.flows.sort_by_key(|flow| flow.first);
        self.others.packets += other.others.packets;
        self.others.bytes += other.others.bytes;
        self
    }
}

/// Processor time of the engine's threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuUse {
    /// From the start to the end of the engine.
    pub wall: Span,
    /// Processor time used, including spinning, of all threads together.
    pub cpu: Span,
    /// Time spent spinning, of all threads together.
    pub spin: Span,
}

impl CpuUse {
    /// The combination of two threads that ran at the same time.
    pub(crate) fn and(self, other: CpuUse) -> CpuUse {
        CpuUse { wall: self.wall.max(other.wall), cpu: self.cpu + other.cpu, spin: self.spin + other.spin }
    }

    /// The share of one processor that the work took, without spinning: 0 to 1 for each thread.
    #[must_use]
    pub fn share(&self) -> f64 {
        let wall = self.wall.as_secs_f64();
        if wall > 0.0 { (self.cpu - self.spin).as_secs_f64() / wall } else { 0.0 }
    }
}

/// Load of the whole machine during the run (`/proc/stat`), shares of all processors, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HostLoad {
    /// Not idle.
    pub busy: f64,
    /// Taken by the hypervisor (steal).
    pub steal: f64,
}

/// The scheduling of the engine's threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scheduling {
    /// Threads, of both directions together. The rest is true of each.
    pub threads: usize,
    /// `SCHED_FIFO` was granted.
    pub real_time: bool,
    /// Otherwise: the kernel granted short time slices among ordinary threads (Linux 6.12 and later).
    pub short_turns: bool,
    /// The kernel keeps the processors out of deep sleep (`/dev/cpu_dma_latency`).
    pub awake: bool,
    /// Kernel memory for waiting frames of each direction, bytes; a full frame takes about 2.3 kB. It is 64
    /// MiB for root. Without privileges it is twice `net.core.rmem_max`, so a stall of some 20 ms at 100
    /// Mbit/s can lose frames (counted as `socket_drops`).
    pub receive_buffer: u32,
    /// The frame pool is locked in memory.
    pub locked: bool,
    /// Minimum time before a deadline at which sleeping ends and spinning begins.
    pub spin_least: Span,
    /// Maximum of that time; the measured lateness of sleeps decides in between.
    pub spin_most: Span,
    /// Processors that the process may use.
    pub cpus: usize,
}

impl Scheduling {
    /// The combination of two threads.
    pub(crate) fn and(self, other: Scheduling) -> Scheduling {
        Scheduling {
            threads: self.threads + other.threads,
            real_time: self.real_time && other.real_time,
            short_turns: self.short_turns && other.short_turns,
            awake: self.awake && other.awake,
            receive_buffer: self.receive_buffer.min(other.receive_buffer),
            locked: self.locked && other.locked,
            ..self
        }
    }
}

/// The largest share of all processors' time that may be in use, by anything, in a valid run.
pub const MOST_BUSY: f64 = 0.95;

/// The largest share of all processors' time that a hypervisor may take away in a valid run.
pub const MOST_STOLEN: f64 = 0.05;

/// The end of a run.
#[derive(Debug)]
pub struct EngineReport {
    /// The last sample.
    pub last: EngineSample,
    /// Client to server.
    pub up: PathReport,
    /// Server to client.
    pub down: PathReport,
    /// Time of sending minus the time at which the frame was due, of all frames.
    pub lateness: Histogram,
    /// Processor time.
    pub cpu: CpuUse,
    /// Load of the machine; `None` if `/proc/stat` cannot be read.
    pub host: Option<HostLoad>,
    /// How the threads were allowed to run.
    pub scheduling: Scheduling,
    /// Why the engine ended by itself; the measurements until then are complete.
    pub failure: Option<Error>,
}

impl EngineReport {
    /// Like [`EngineSample::validity`]; also not valid if the engine failed. If the result is not valid and
    /// the machine was busy, that is named as the likely cause.
    #[must_use]
    pub fn validity(&self) -> Validity {
        let mut validity = self.last.validity();
        let strained = self.host.filter(|host| host.busy > 0.9 || host.steal > 0.01);
        if let (false, Some(host)) = (validity.valid, strained) {
            let (busy, steal) = (host.busy * 100.0, host.steal * 100.0);
            let words = format!("the machine was {busy:.0} % busy, {steal:.1} % taken by its hypervisor");
            validity.reasons.push(words);
        }
        if let Some(failure) = &self.failure {
            validity.reasons.push(failure.to_string());
        }
        for (share, most, what) in self.host.iter().flat_map(|host| {
            [(host.busy, MOST_BUSY, "the machine was busy"), (host.steal, MOST_STOLEN, "the hypervisor took")]
        }) {
            if share > most {
                let (share, most) = (share * 100.0, most * 100.0);
                validity.reasons.push(format!("{what} {share:.0} % of the time, limit {most:.0} %"));
            }
        }
        validity.valid = validity.reasons.is_empty();
        validity
    }
}

/// The first line of `/proc/stat`, to compare with a later one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcStat {
    busy: u64,
    steal: u64,
    total: u64,
}

impl ProcStat {
    pub(crate) fn read() -> Option<ProcStat> {
        ProcStat::parse(&std::fs::read_to_string("/proc/stat").ok()?)
    }

    /// user nice system idle iowait irq softirq steal (`proc_stat(5)`), in clock ticks.
    fn parse(text: &str) -> Option<ProcStat> {
        let fields = text.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
        let ticks: Vec<u64> = fields.take(8).map(|word| word.parse().ok()).collect::<Option<_>>()?;
        let total: u64 = ticks.iter().sum();
        let idle = ticks.get(3)? + ticks.get(4)?;
        Some(ProcStat { busy: total - idle, steal: *ticks.get(7)?, total })
    }

    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn until(self, later: ProcStat) -> Option<HostLoad> {
        let total = later.total.checked_sub(self.total).filter(|&ticks| ticks > 0)? as f64;
        let share = |from: u64, to: u64| to.saturating_sub(from) as f64 / total;
        Some(HostLoad { busy: share(self.busy, later.busy), steal: share(self.steal, later.steal) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::Ends;
    use goodqueue::cake::TinCounters;

    #[test]
    fn each_problem_makes_a_result_not_valid_but_foreign_frames_do_not() {
        let mut sample = EngineSample { lateness_limit: Span::from_millis(1), ..EngineSample::default() };
        sample.trouble.foreign = 1000;
        sample.lateness.p99 = Span::from_millis(1);
        assert!(sample.validity().valid);
        sample.lateness.p99 = Span(1_000_001);
        sample.trouble = Trouble {
            socket_drops: 1,
            interface_drops: 7,
            pool_exhausted: 2,
            super_packets: 3,
            send_failures: 4,
            clock_backward: 5,
            foreign: 6,
        };
        let validity = sample.validity();
        assert!(!validity.valid);
        assert_eq!(validity.reasons.len(), 7, "{:?}", validity.reasons);
    }

    #[test]
    fn two_samples_are_one_of_both_directions() {
        let summary =
            |count, p50, p99, max| Summary { count, p50: Span(p50), p99: Span(p99), max: Span(max) };
        let sample = |at, used, lateness, packets| EngineSample {
            at: Nanos(at),
            lateness,
            frames_used: used,
            trouble: Trouble { socket_drops: packets, ..Trouble::default() },
            ..EngineSample::default()
        };
        let mut up = sample(20, 1, summary(10, 5, 50, 500), 3);
        let mut down = sample(21, 2, summary(30, 7, 40, 900), 4);
        (up.up.sent.packets, down.down.sent.packets) = (11, 22);
        let both = up.and(down);
        assert_eq!((both.up.sent.packets, both.down.sent.packets), (11, 22));
        assert_eq!((both.at, both.frames_used, both.trouble.socket_drops), (Nanos(20), 3, 7));
        assert_eq!(both.lateness, summary(40, 7, 50, 900));
    }

    /// Two threads for one direction, with a queue each: counts are added up, connections are in the order in
    /// which they began, and the tins of the first queue come first.
    #[test]
    fn what_threads_of_one_direction_say_is_added_up() {
        let end = |port| (std::net::Ipv4Addr::LOCALHOST, port).into();
        let flow = |first: u64, port: u16| {
            Flow::new(Ends { protocol: 17, client: end(port), server: end(9) }, Nanos(first))
        };
        let path = |packets: u64, flows: Vec<Flow>| {
            let mut sojourn = Histogram::default();
            sojourn.record(Span(packets));
            let count = Count { packets, bytes: 100 * packets };
            let mut drops = [0; Reason::ALL.len()];
            drops[place(Reason::Limit)] = packets;
            let last = PathSample {
                backlog: Backlog { packets: 1, bytes: packets },
                arrived: count,
                sent: count,
                drops,
                marks: packets,
                queue: Stats { packets, ..Stats::default() },
                line: PortStats { bytes: packets, ..PortStats::default() },
                ..PathSample::default()
            };
            PathReport {
                last,
                counters: vec![("a", 1), ("b", packets)],
                sojourn: Some(sojourn),
                flows,
                others: count,
            }
        };
        let both = path(3, vec![flow(2, 1), flow(5, 2)]).and(path(4, vec![flow(1, 3), flow(4, 4)]));
        let PathReport { last, counters, sojourn, flows, others } = both;
        let seven = Count { packets: 7, bytes: 700 };
        assert_eq!((last.arrived, last.sent, others), (seven, seven, seven));
        assert_eq!(last.backlog, Backlog { packets: 2, bytes: 7 });
        assert_eq!((last.dropped(Reason::Limit), last.dropped_in_all(), last.marks), (7, 7, 7));
        assert_eq!((last.queue.packets, last.line.bytes), (7, 7));
        assert_eq!(counters, [("a", 2), ("b", 7)]);
        assert_eq!(sojourn.map(|times| (times.count(), times.max())), Some((2, Some(Span(4)))));
        assert_eq!(flows.iter().map(|flow| flow.first.0).collect::<Vec<_>>(), [1, 2, 4, 5]);

        let tin = |bulk| TinState {
            rate: 0,
            target: 0,
            interval: 0,
            mtu_time: 0,
            flow_quantum: 0,
            tin_quantum: 0,
            tin_deficit: 0,
            backlog: 0,
            time_next: Nanos::ZERO,
            sparse: 0,
            bulk,
            decaying: 0,
            counters: TinCounters::default(),
        };
        let contents = |first: u64, waiting_flows, bulk| Contents {
            connections: vec![flow(first, 1)],
            waiting_flows,
            tins: vec![tin(bulk)],
        };
        let mut all = Contents::default();
        all.add(contents(9, Some((1, 2)), 7));
        all.add(contents(8, Some((10, 20)), 5));
        assert_eq!((all.waiting_flows, all.tins), (Some((11, 22)), vec![tin(7), tin(5)]));
        assert_eq!(all.connections.iter().map(|flow| flow.first.0).collect::<Vec<_>>(), [8, 9]);
    }

    #[test]
    fn load_of_the_machine_comes_from_two_lines() {
        let early = ProcStat::parse("cpu  10 0 10 70 10 0 0 0 0 0\ncpu0 1 2 3").unwrap();
        let late = ProcStat::parse("cpu  20 0 30 130 20 0 0 10 0 0\n").unwrap();
        let load = early.until(late).unwrap();
        assert!((load.busy - 40.0 / 110.0).abs() < 1e-9 && (load.steal - 10.0 / 110.0).abs() < 1e-9);
        assert!(early.until(early).is_none());
        assert!(ProcStat::parse("intr 5").is_none());
    }
}
