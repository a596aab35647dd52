//! A switch at work: packets come in at inputs, wait, and leave over the lines of outputs.
//!
//! What it can pass depends on where it keeps the packets that cannot leave at once:
//!
//! * [`Buffers::Input`]: a queue at each input. A head that waits for its output blocks all packets behind
//!   it, even those whose outputs are free. With uniform traffic at most 2 - sqrt 2 = 58.6 % passes (Karol,
//!   Hluchyj and Morgan, 1987).
//! * [`Buffers::Voq`]: virtual output queues: each input has a queue for every output. iSLIP (`McKeown`,
//!   1999) matches inputs and outputs, in rounds until none adds a pair.
//! * [`Buffers::Output`]: a queue at each output, as in a switch with one memory for all.
//! * [`Buffers::Shared`]: one queue for all. Its head may also have to wait for its output.
//!
//! With [`Buffers::Input`] and [`Buffers::Voq`] an input feeds one output at a time, and its queues are read
//! at the rate of the fabric. The packet leaves over its line during that time and after it (cut-through into
//! a buffer of one packet). If all lines are as fast as the fabric and all packets have the same length, this
//! is the time-slotted switch of the literature. With the other two the memory is as fast as all lines
//! together.
//!
//! The queues can be any that release packets at once, with or without fairness and AQM. Queues that hold
//! packets back do not work here: the switch does not ask when they can release one.

use goodqueue::{
    AnyQueue, Backlog, BuildError, Bytes, Nanos, Owner, Packet, PortStats, Queue, QueueSpec, Rate, Reason,
    Rng, Serializer, Span, Verdict,
};

/// Where the packets wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffers {
    /// One queue at each input.
    Input,
    /// A queue for each output at each input.
    Voq,
    /// One queue at each output.
    Output,
    /// One queue.
    Shared,
}

impl Buffers {
    /// Whether each queue belongs to one output.
    #[must_use]
    pub const fn are_by_output(self) -> bool {
        matches!(self, Buffers::Voq | Buffers::Output)
    }
}

/// The specification of a switch. `O` specifies the queue of an output.
#[derive(Clone, Debug)]
pub struct SwitchSpec<O = QueueSpec> {
    /// Number of inputs, at least 1.
    pub inputs: usize,
    /// Each output's line, and the queue for packets to it.
    pub outputs: Vec<(Serializer, O)>,
    /// Where the packets wait.
    pub buffers: Buffers,
    /// The queue of [`Buffers::Input`] and [`Buffers::Shared`].
    pub queue: QueueSpec,
    /// The most bytes in all queues together. A packet that does not fit is dropped ([`Reason::Memory`]).
    pub memory: Option<u64>,
    /// The rate at which the queues of an input are read. No line is faster.
    pub fabric: Rate,
    /// Longest frame, bytes.
    pub frame: u32,
}

/// An observer that also knows where packets go.
pub trait Ports<P>: Owner<P> {
    /// The output that `packet` is for.
    fn output(&self, packet: &P) -> usize;
}

/// A line at work.
#[derive(Debug)]
struct Output<P> {
    line: Serializer,
    packet: Option<P>,
    /// When the last packet began.
    started: Nanos,
    /// When the line is free again.
    free_at: Nanos,
    stats: PortStats,
    /// The input that it grants first (iSLIP).
    grants: usize,
}

/// An input at work.
#[derive(Debug)]
struct Input {
    /// When it may feed an output again.
    free_at: Nanos,
    /// The output that it accepts first (iSLIP).
    accepts: usize,
}

/// A switch at work.
#[derive(Debug)]
pub struct Switch<P: Packet, Q = AnyQueue<P>> {
    buffers: Buffers,
    memory: u64,
    fabric: Rate,
    /// With `Input` by input; with `Voq` by input, then output; with `Output` by output.
    queues: Vec<Q>,
    /// With `Input` and `Shared`: the head of each queue, which waits for its output.
    heads: Vec<Option<P>>,
    inputs: Vec<Input>,
    outputs: Vec<Output<P>>,
    draws: Rng,
    /// The backlog of the queues, without the heads.
    queued: Backlog,
}

impl<P: Packet> Switch<P> {
    /// An empty switch at time 0.
    ///
    /// # Errors
    /// If a queue cannot be built for its line, with the number of its output.
    pub fn new(spec: &SwitchSpec, draws: Rng) -> Result<Switch<P>, (usize, BuildError)> {
        let build = |queue: &QueueSpec, rate, draws| queue.build_with(rate, spec.frame, Nanos::ZERO, draws);
        Switch::with_queues(spec, draws, build, build)
    }
}

impl<P: Packet, Q: Queue<P>> Switch<P, Q> {
    /// Like [`Switch::new`], with queues of any kind. `common` builds a queue of [`Buffers::Input`] or
    /// [`Buffers::Shared`], `own` one of an output. Each gets its part of the specification, the rate of its
    /// line, and its own random numbers.
    pub(crate) fn with_queues<O>(
        spec: &SwitchSpec<O>,
        mut draws: Rng,
        common: impl Fn(&QueueSpec, Rate, Rng) -> Result<Q, BuildError>,
        own: impl Fn(&O, Rate, Rng) -> Result<Q, BuildError>,
    ) -> Result<Switch<P, Q>, (usize, BuildError)> {
        let SwitchSpec { inputs, buffers, fabric, .. } = *spec;
        let mut next = || Rng::new(draws.next_u64());
        let mut shared = || common(&spec.queue, fabric, next()).map_err(|error| (0, error));
        let queues = match buffers {
            Buffers::Input => (0..inputs).map(|_| shared()).collect::<Result<Vec<Q>, _>>(),
            Buffers::Shared => shared().map(|queue| vec![queue]),
            Buffers::Output | Buffers::Voq => {
                let sets = if buffers == Buffers::Voq { inputs } else { 1 };
                let outputs = (0..sets).flat_map(|_| spec.outputs.iter().enumerate());
                let queue = |(at, (line, queue)): (usize, &(Serializer, O))| {
                    own(queue, line.rate(), next()).map_err(|error| (at, error))
                };
                outputs.map(queue).collect()
            }
        }?;
        let output = |&(line, _): &(Serializer, O)| Output {
            line,
            packet: None,
            started: Nanos::ZERO,
            free_at: Nanos::ZERO,
            stats: PortStats::default(),
            grants: 0,
        };
        Ok(Switch {
            buffers,
            memory: spec.memory.unwrap_or(u64::MAX),
            fabric,
            queues,
            heads: match buffers {
                Buffers::Input => vec![None; inputs],
                Buffers::Shared => vec![None],
                Buffers::Voq | Buffers::Output => Vec::new(),
            },
            inputs: (0..inputs).map(|_| Input { free_at: Nanos::ZERO, accepts: 0 }).collect(),
            outputs: spec.outputs.iter().map(output).collect(),
            draws,
            queued: Backlog::default(),
        })
    }

    /// Packets that wait in it. Packets on lines do not count.
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        self.heads.iter().flatten().fold(self.queued, |sum, head| Backlog {
            packets: sum.packets + 1,
            bytes: sum.bytes + u64::from(head.len()),
        })
    }

    /// The packet on the line of `output`.
    #[must_use]
    pub fn on_line(&self, output: usize) -> Backlog {
        let packet = self.outputs[output].packet.as_ref();
        packet.map_or_else(Backlog::default, |packet| Backlog { packets: 1, bytes: packet.len().into() })
    }

    /// The counters of the line of `output`.
    #[must_use]
    pub fn line(&self, output: usize) -> PortStats {
        self.outputs[output].stats
    }

    /// The time for which the line of `output` was busy by `now`.
    #[must_use]
    pub fn busy_by(&self, output: usize, now: Nanos) -> Span {
        let output = &self.outputs[output];
        output.stats.busy - output.free_at.since(now)
    }

    /// When the first bit of the packet on the line of `output` left, or of the last packet if the line is
    /// idle; zero before the first packet.
    #[must_use]
    pub fn started(&self, output: usize) -> Nanos {
        self.outputs[output].started
    }

    /// The queues in which packets for `output` may wait.
    pub fn queues_of(&self, output: usize) -> impl Iterator<Item = &Q> {
        let (from, step) = match self.buffers {
            Buffers::Input | Buffers::Shared => (0, 1),
            Buffers::Output => (output, self.queues.len()),
            Buffers::Voq => (output, self.outputs.len()),
        };
        self.queues.iter().skip(from).step_by(step)
    }

    /// Runs `act` on a queue, and keeps `queued` up to date.
    fn with<T>(&mut self, queue: usize, act: impl FnOnce(&mut Q) -> T) -> T {
        let queue = &mut self.queues[queue];
        let before = queue.backlog();
        let done = act(queue);
        let after = queue.backlog();
        self.queued.packets = self.queued.packets + after.packets - before.packets;
        self.queued.bytes = self.queued.bytes + after.bytes - before.bytes;
        done
    }

    /// A packet comes in at `input` for `output`; both must exist. [`Switch::connect`] sends it on.
    pub fn arrive(
        &mut self,
        now: Nanos,
        (input, output): (usize, usize),
        packet: P,
        observer: &mut impl Owner<P>,
    ) -> Verdict {
        if self.memory < u64::MAX && self.backlog().bytes + u64::from(packet.len()) > self.memory {
            observer.dropped(now, packet, Reason::Memory);
            return Verdict::Dropped(Reason::Memory);
        }
        let at = match self.buffers {
            Buffers::Input => input,
            Buffers::Voq => input * self.outputs.len() + output,
            Buffers::Output => output,
            Buffers::Shared => 0,
        };
        self.with(at, |queue| queue.enqueue(now, packet, observer))
    }

    /// A packet whose last bit has left the line of its output by `now`, and the number of that output.
    /// Packets come in the order of the outputs.
    pub fn depart(&mut self, now: Nanos) -> Option<(usize, P)> {
        let has_ended = |output: &Output<P>| output.packet.is_some() && output.free_at <= now;
        let at = self.outputs.iter().position(has_ended)?;
        let output = &mut self.outputs[at];
        let packet = output.packet.take()?;
        output.stats.packets += 1;
        output.stats.bytes += u64::from(packet.len());
        Some((at, packet))
    }

    /// When it acts next, after `now`, if nothing arrives.
    #[must_use]
    pub fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        let lines = self.outputs.iter().filter(|output| output.packet.is_some()).map(|output| output.free_at);
        let inputs = self.inputs.iter().map(|input| input.free_at).filter(|&at| at > now);
        lines.chain(inputs).min()
    }

    /// Each line that is free at `now` takes a packet that waits for it. Call it after all arrivals and
    /// departures at `now`.
    pub fn connect(&mut self, now: Nanos, ports: &mut impl Ports<P>) {
        match self.buffers {
            Buffers::Input => self.connect_heads(now, ports),
            Buffers::Voq => while self.connect_pairs(now, ports) {},
            Buffers::Output => {
                for output in 0..self.outputs.len() {
                    if self.is_free(output, now)
                        && let Some(packet) = self.with(output, |queue| queue.dequeue(now, ports))
                    {
                        self.begin(now, output, packet);
                    }
                }
            }
            Buffers::Shared => {
                self.fill_head(0, now, ports);
                while let Some(output) = self.heads[0].map(|head| ports.output(&head))
                    && self.is_free(output, now)
                    && let Some(head) = self.heads[0].take()
                {
                    self.begin(now, output, head);
                    self.fill_head(0, now, ports);
                }
            }
        }
    }

    fn is_free(&self, output: usize, now: Nanos) -> bool {
        self.outputs[output].packet.is_none() && self.outputs[output].free_at <= now
    }

    /// The free line of `output` takes a packet.
    fn begin(&mut self, now: Nanos, output: usize, packet: P) {
        let output = &mut self.outputs[output];
        let took = output.line.tx_time(Bytes(packet.len().into()));
        output.stats.busy_periods += u64::from(output.free_at != now || output.stats.packets == 0);
        output.stats.busy = output.stats.busy + took;
        (output.started, output.free_at) = (now, now + took);
        output.packet = Some(packet);
    }

    /// The same from the free `input`.
    fn feed(&mut self, now: Nanos, (input, output): (usize, usize), packet: P) {
        let read_at = now + self.fabric.tx_time(Bytes(packet.len().into()));
        self.begin(now, output, packet);
        // If both are equally fast, both end at once. Rounding must not part them.
        self.inputs[input].free_at = read_at.min(self.outputs[output].free_at);
    }

    fn fill_head(&mut self, queue: usize, now: Nanos, observer: &mut impl Owner<P>) {
        if self.heads[queue].is_none() {
            self.heads[queue] = self.with(queue, |queue| queue.dequeue(now, observer));
        }
    }

    /// Each free output takes one of the heads that are for it, at random with equal probability (Karol,
    /// Hluchyj and Morgan, section III).
    fn connect_heads(&mut self, now: Nanos, ports: &mut impl Ports<P>) {
        let mut wants: Vec<(usize, usize)> = Vec::new();
        for input in 0..self.inputs.len() {
            if self.inputs[input].free_at <= now {
                self.fill_head(input, now, ports);
                wants.extend(self.heads[input].map(|head| (ports.output(&head), input)));
            }
        }
        wants.sort_unstable();
        for of_one in wants.chunk_by(|a, b| a.0 == b.0) {
            let output = of_one[0].0;
            if !self.is_free(output, now) {
                continue;
            }
            let drawn = if of_one.len() > 1 { self.draws.below(of_one.len() as u64) } else { 0 };
            let input = of_one.get(usize::try_from(drawn).unwrap_or(0)).map_or(0, |want| want.1);
            if let Some(head) = self.heads[input].take() {
                self.feed(now, (input, output), head);
            }
        }
    }

    /// Connects inputs and outputs that iSLIP has matched. Returns whether another call can connect more.
    fn connect_pairs(&mut self, now: Nanos, ports: &mut impl Ports<P>) -> bool {
        let before = self.queued.packets;
        for (input, output) in self.agree(now) {
            let at = input * self.outputs.len() + output;
            if let Some(packet) = self.with(at, |queue| queue.dequeue(now, ports)) {
                self.feed(now, (input, output), packet);
            }
        }
        // A queue may have dropped all its packets.
        self.queued.packets < before
    }

    /// iSLIP: returns pairs of input and output. In each round every free output grants the next free input
    /// that has packets for it, and every free input accepts the next output that grants it. Only pairs of
    /// the first round move the pointers.
    fn agree(&mut self, now: Nanos) -> Vec<(usize, usize)> {
        let (inputs, outputs) = (self.inputs.len(), self.outputs.len());
        let mut pairs = Vec::new();
        let mut free: Vec<usize> = (0..outputs).filter(|&output| self.is_free(output, now)).collect();
        let mut is_busy: Vec<bool> = self.inputs.iter().map(|input| input.free_at > now).collect();
        let mut is_first = true;
        while !free.is_empty() {
            let mut granted: Vec<(usize, usize)> = Vec::new();
            for &output in &free {
                let asks = |&input: &usize| {
                    !is_busy[input] && self.queues[input * outputs + output].backlog().packets > 0
                };
                let from = self.outputs[output].grants;
                granted.extend((from..inputs).chain(0..from).find(asks).map(|input| (input, output)));
            }
            granted.sort_unstable();
            for of_one in granted.chunk_by(|a, b| a.0 == b.0) {
                let input = of_one[0].0;
                let first = self.inputs[input].accepts;
                let next =
                    of_one.iter().map(|grant| grant.1).min_by_key(|at| (at + outputs - first) % outputs);
                let Some(output) = next else { continue };
                pairs.push((input, output));
                is_busy[input] = true;
                free.retain(|&other| other != output);
                if is_first {
                    self.outputs[output].grants = (input + 1) % inputs;
                    self.inputs[input].accepts = (output + 1) % outputs;
                }
            }
            if granted.is_empty() {
                break;
            }
            is_first = false;
        }
        pairs
    }
}
