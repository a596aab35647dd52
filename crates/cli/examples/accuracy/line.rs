//! A line whose truth is known: a queue that writes down when each packet came and left.

use std::sync::{Arc, Mutex, PoisonError};

use goodqueue::{
    AnyQueue, Backlog, ETHERNET_FRAME, Nanos, Owner, Queue, QueueSpec, Rate, Rng, Span, Stats, Verdict,
};
use goodqueue_wire::{Engine, EngineHandle, EngineReport, EngineSpec, Frame, Lab, LabSpec, PathSpec};

/// One of the paths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    /// Mbit/s, up and down.
    pub(crate) mbit: [f64; 2],
    /// Round trip without load, ms.
    pub(crate) rtt_ms: u64,
    /// The queue of both directions.
    pub(crate) queue: &'static str,
    /// Share of packets that are lost behind the queue, in each direction.
    pub(crate) loss: f64,
}

impl Line {
    /// The rate of one direction.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(crate) fn rate(&self, way: usize) -> Rate {
        Rate((self.mbit[way] * 1e6) as u64)
    }

    /// Delay of one direction without a queue.
    pub(crate) fn delay(&self) -> Span {
        Span::from_micros(self.rtt_ms * 500)
    }
}

/// What a TCP header acknowledges.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acked {
    /// The connection, in the direction of the packet.
    pub(crate) connection: u64,
    /// Acknowledgement number: all before it has arrived in order.
    pub(crate) ack: u32,
}

/// A packet that a queue took in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passed {
    /// When it arrived.
    pub(crate) arrived: Nanos,
    /// When the line began to send it; `None` if it was dropped, or waits.
    pub(crate) left: Option<Nanos>,
    /// Length with the Ethernet header, bytes.
    pub(crate) len: u32,
    /// `None` for UDP and ICMP.
    pub(crate) tcp: Option<Acked>,
}

impl Passed {
    /// How long it waited.
    pub(crate) fn waited(&self) -> Option<Span> {
        Some(self.left?.since(self.arrived))
    }
}

/// What a queue has written down, in the order of arrivals.
pub(crate) type Log = Arc<Mutex<Vec<Passed>>>;

/// A queue with a log. Frames that are inside have the places of their entries by their slots.
struct Logged {
    queue: AnyQueue<Frame>,
    log: Log,
    places: Vec<usize>,
}

/// Frames of the engine, by default: slots are below this.
const SLOTS: usize = 1 << 20;

impl Queue<Frame> for Logged {
    fn enqueue(&mut self, now: Nanos, packet: Frame, owner: &mut impl Owner<Frame>) -> Verdict {
        let tcp = owner.tcp(&packet).map(|tcp| Acked { connection: tcp.connection, ack: tcp.ack });
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        self.places[packet.cookie as usize % SLOTS] = log.len();
        log.push(Passed { arrived: now, left: None, len: packet.len, tcp });
        drop(log);
        self.queue.enqueue(now, packet, owner)
    }

    fn dequeue(&mut self, now: Nanos, owner: &mut impl Owner<Frame>) -> Option<Frame> {
        let packet = self.queue.dequeue(now, owner)?;
        let place = self.places[packet.cookie as usize % SLOTS];
        if let Some(entry) = self.log.lock().unwrap_or_else(PoisonError::into_inner).get_mut(place) {
            entry.left = Some(now);
        }
        Some(packet)
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        self.queue.next_wake(now)
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn stats(&self) -> Stats {
        self.queue.stats()
    }

    fn reset(&mut self, now: Nanos, owner: &mut impl Owner<Frame>) {
        self.queue.reset(now, owner);
    }
}

/// Client, line and server, each in a namespace of its own.
pub(crate) struct Path {
    pub(crate) lab: Lab,
    engine: EngineHandle,
    logs: [Log; 2],
}

impl Path {
    /// Starts the line.
    pub(crate) fn new(line: &Line) -> Path {
        let lab = Lab::new(&LabSpec::default()).expect("namespaces: run this as root");
        let logs = [Log::default(), Log::default()];
        let direction = |way: usize| {
            let rate = line.rate(way);
            let spec: QueueSpec = line.queue.parse().expect("a queue");
            let draws = Rng::stream(1, way as u64, "queue");
            let queue = spec.build_with(rate, ETHERNET_FRAME, goodqueue_wire::now(), draws).expect("a queue");
            let mut path =
                PathSpec::new(Logged { queue, log: Arc::clone(&logs[way]), places: vec![0; SLOTS] });
            path.rate = Some(rate);
            path.delays = vec![line.delay()];
            path.loss = line.loss;
            path
        };
        let spec = EngineSpec::new(direction(0), direction(1));
        let engine = Engine::start(&lab, spec).expect("an engine");
        Path { lab, engine, logs }
    }

    /// Stops the line: what passed, up and down, and how well the engine kept time.
    pub(crate) fn stop(self) -> ([Vec<Passed>; 2], EngineReport) {
        let report = self.engine.stop().expect("the engine ends");
        let take = |log: &Log| std::mem::take(&mut *log.lock().unwrap_or_else(PoisonError::into_inner));
        (self.logs.each_ref().map(take), report)
    }
}
