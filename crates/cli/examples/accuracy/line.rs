//! A line whose truth is known: a queue that writes down when each packet came and left, or one of the kernel
//! between two captures.

use std::fmt::{self, Display, Formatter};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use goodqueue::details::flags;
use goodqueue::{
    AnyQueue, Backlog, ETHERNET_FRAME, Inspect, Nanos, Owner, Queue, QueueSpec, Rate, Reconfigure, Rng, Span,
    Stats, Verdict,
};
use goodqueue_wire::{Engine, EngineHandle, EngineSpec, Frame, Lab, LabSpec, Netns, PathSpec};

use crate::kernel::Kernel;

/// What the packets of a path wait in, the same in both directions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bottleneck {
    /// One of our queues, in the live engine.
    Ours(&'static str),
    /// The kernel's `tbf`, with room for so many bytes.
    Tbf(u32),
    /// The kernel's `htb` over a `pfifo` with room for so many packets.
    Htb(u32),
}

impl Display for Bottleneck {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Bottleneck::Ours(queue) => f.write_str(queue),
            Bottleneck::Tbf(bytes) => write!(f, "kernel: tbf, limit {bytes}"),
            Bottleneck::Htb(packets) => write!(f, "kernel: htb, pfifo limit {packets}"),
        }
    }
}

/// One of the paths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    /// Mbit/s, up and down.
    pub(crate) mbit: [f64; 2],
    /// Round trip without load, ms.
    pub(crate) rtt_ms: u64,
    /// The queue of both directions.
    pub(crate) queue: Bottleneck,
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

    /// From the client to the queue of the upload. The engine's is at the client; the kernel's is at the
    /// server, behind the delay.
    pub(crate) fn before_queue(&self) -> Span {
        match self.queue {
            Bottleneck::Ours(_) => Span::ZERO,
            Bottleneck::Tbf(_) | Bottleneck::Htb(_) => self.delay(),
        }
    }

    /// From when a packet of `len` bytes leaves the queue of the upload until the server has it. A shaper of
    /// the kernel sends at once what it lets through.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(crate) fn behind_queue(&self, len: u32) -> Span {
        match self.queue {
            Bottleneck::Ours(_) => Span((f64::from(len) * 8e9 / self.rate(0).0 as f64) as u64) + self.delay(),
            Bottleneck::Tbf(_) | Bottleneck::Htb(_) => Span::ZERO,
        }
    }
}

/// What a TCP header acknowledges.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acked {
    /// The connection, in the direction of the packet.
    pub(crate) connection: u64,
    /// Acknowledgement number: all before it has arrived in order.
    pub(crate) ack: u32,
    /// Whether it opens the connection.
    pub(crate) syn: bool,
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
        let tcp = owner.tcp(&packet).map(|tcp| {
            let syn = tcp.flags & flags::SYN != 0;
            Acked { connection: tcp.connection, ack: tcp.ack, syn }
        });
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

    fn reset(&mut self, now: Nanos, owner: &mut impl Owner<Frame>) {
        self.queue.reset(now, owner);
    }
}

impl Inspect for Logged {
    fn stats(&self) -> Stats {
        self.queue.stats()
    }
}

impl Reconfigure<Frame> for Logged {}

/// Client, line and server, each in a namespace of its own.
pub(crate) struct Path {
    pub(crate) lab: Lab,
    engine: EngineHandle,
    logs: [Log; 2],
    kernel: Option<Kernel>,
}

/// What has passed a line.
pub(crate) struct Seen {
    /// The queue of each direction, up and down.
    pub(crate) queues: [Vec<Passed>; 2],
    /// What the client sent, if the queue of the upload is not where it was sent.
    client: Option<Vec<Passed>>,
}

impl Seen {
    /// What the end that sends in direction `way` has sent, when it sent it.
    pub(crate) fn sent(&self, way: usize) -> &[Passed] {
        match &self.client {
            Some(client) if way == 0 => client,
            _ => &self.queues[way],
        }
    }
}

impl Path {
    /// Starts the line.
    pub(crate) fn new(line: &Line) -> Path {
        let spec = LabSpec::default();
        let lab = Lab::new(&spec).expect("namespaces: run this as root");
        let kernel = Kernel::new(line, &lab, &spec);
        let logs = [Log::default(), Log::default()];
        let direction = |way: usize| {
            let rate = line.rate(way);
            // Without a rate nothing waits in it.
            let (queue, own_rate) = match line.queue {
                Bottleneck::Ours(queue) => (queue, Some(rate)),
                Bottleneck::Tbf(_) | Bottleneck::Htb(_) => ("pfifo:1000", None),
            };
            let spec: QueueSpec = queue.parse().expect("a queue");
            let draws = Rng::stream(1, way as u64, "queue");
            let queue = spec.build_with(rate, ETHERNET_FRAME, goodqueue_wire::now(), draws).expect("a queue");
            let mut path =
                PathSpec::new(Logged { queue, log: Arc::clone(&logs[way]), places: vec![0; SLOTS] });
            path.line = goodqueue::Line::from(own_rate.and_then(goodqueue::Serializer::new));
            path.delays = vec![line.delay()];
            path.loss = line.loss;
            path
        };
        let spec = EngineSpec::new(direction(0), direction(1));
        let engine = Engine::start(&lab, spec).expect("an engine");
        Path { lab, engine, logs, kernel }
    }

    /// Where the tools' servers run, and its address.
    pub(crate) fn server(&self) -> (&Netns, IpAddr) {
        match &self.kernel {
            Some(kernel) => (kernel.behind(), Lab::behind_address()),
            None => (self.lab.server(), Lab::server_address(false, 0)),
        }
    }

    /// Stops the line: what has passed, if the engine kept time and nothing was missed.
    pub(crate) fn stop(self) -> Result<Seen, String> {
        let captured = self.kernel.map(Kernel::stop).transpose();
        let report = self.engine.stop().expect("the engine ends");
        let validity = report.validity();
        if !validity.valid {
            return Err(validity.reasons.join("; "));
        }
        let take = |log: &Log| std::mem::take(&mut *log.lock().unwrap_or_else(PoisonError::into_inner));
        let [up, down] = self.logs.each_ref().map(take);
        Ok(match captured? {
            Some(queues) => Seen { queues, client: Some(up) },
            None => Seen { queues: [up, down], client: None },
        })
    }
}
