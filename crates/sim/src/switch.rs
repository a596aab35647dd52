//! A switch of N inputs and M outputs in time slots: packets of one length, a slot for each on a line.
//!
//! Where it keeps what it cannot send at once decides what it passes:
//!
//! * [`Buffers::Input`]: a FIFO at each input. A head that waits for its output blocks all behind it, also those whose
//!   outputs are free: with uniform traffic no more than 2 - sqrt 2 = 58.6 % passes (Karol, Hluchyj and Morgan, 1987).
//! * [`Buffers::Voq`]: at each input a queue for every output, virtual output queues; who sends to whom is agreed by
//!   iSLIP (`McKeown`, 1999).
//! * [`Buffers::Output`]: all arrivals of a slot reach the queue of their output, as in a switch with one memory for all
//!   outputs. That memory may be limited.
//!
//! A queue is any of the crate `goodqueue`, fair and managed ones too: what hardware designers are advised to build is small
//! queues for each output under FQ and AQM. One that holds packets back is not meant here.

use goodqueue::{
    AnyQueue, Backlog, BuildError, Nanos, Observer, Packet, Queue, QueueSpec, Rate, Reason, Rng, Span, Stats,
    Verdict,
};

/// Where the packets wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffers {
    /// One queue at each input.
    Input,
    /// A queue for each output at each input.
    Voq {
        /// Rounds in which inputs and outputs agree, in each slot; above 0.
        rounds: u32,
    },
    /// One queue at each output.
    Output {
        /// Most packets in all queues together; what comes above is dropped ([`Reason::Memory`]).
        memory: Option<u32>,
    },
}

/// A switch to be built.
#[derive(Clone, Copy, Debug)]
pub struct SwitchSpec {
    /// Inputs, above 0.
    pub inputs: usize,
    /// Outputs, above 0.
    pub outputs: usize,
    /// Where the packets wait.
    pub buffers: Buffers,
    /// The queue in which they do.
    pub queue: QueueSpec,
    /// Rate of every line.
    pub rate: Rate,
    /// Length of every packet, bytes.
    pub len: u32,
    /// Root of its random numbers.
    pub seed: u64,
}

/// A packet with the output that it is for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bound<P> {
    /// The packet.
    pub packet: P,
    /// Its output.
    pub output: usize,
}

impl<P: Packet> Packet for Bound<P> {
    fn len(&self) -> u32 {
        self.packet.len()
    }
    fn truesize(&self) -> u32 {
        self.packet.truesize()
    }
    fn flow_hash(&self) -> u32 {
        self.packet.flow_hash()
    }
    fn dsfield(&self) -> u8 {
        self.packet.dsfield()
    }
    fn set_ce(&mut self) -> bool {
        self.packet.set_ce()
    }
    fn clear_dscp(&mut self) {
        self.packet.clear_dscp();
    }
}

/// A switch at work.
#[derive(Debug)]
pub struct Switch<P> {
    spec: SwitchSpec,
    slot: Span,
    /// Of `Input` by input; of `Voq` by input, then output; of `Output` by output.
    queues: Vec<AnyQueue<Bound<P>>>,
    /// `Input`: the head of each queue, which waits for its output.
    heads: Vec<Option<Bound<P>>>,
    /// `Voq`: whom each output grants first, and what each input accepts first.
    grants: Vec<usize>,
    accepts: Vec<usize>,
    draws: Rng,
    held: Backlog,
    memory_drops: u64,
}

impl<P: Packet> Switch<P> {
    /// An empty switch at time 0.
    ///
    /// # Errors
    /// Where its queue cannot be built for its lines.
    pub fn new(spec: SwitchSpec) -> Result<Switch<P>, BuildError> {
        let number = match spec.buffers {
            Buffers::Input => spec.inputs,
            Buffers::Voq { .. } => spec.inputs * spec.outputs,
            Buffers::Output { .. } => spec.outputs,
        };
        let mut draws = Rng::stream(spec.seed, 0, "switch");
        let queue = |_| spec.queue.build_with(spec.rate, spec.len, Nanos::ZERO, Rng::new(draws.next_u64()));
        let queues = (0..number).map(queue).collect::<Result<Vec<_>, _>>()?;
        Ok(Switch {
            slot: spec.rate.tx_time(goodqueue::Bytes(spec.len.into())),
            queues,
            heads: vec![None; spec.inputs],
            grants: vec![0; spec.outputs],
            accepts: vec![0; spec.inputs],
            draws,
            held: Backlog::default(),
            memory_drops: 0,
            spec,
        })
    }

    /// Time of a packet on a line.
    #[must_use]
    pub const fn slot(&self) -> Span {
        self.slot
    }

    /// What waits in it.
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        self.queues.iter().map(Queue::backlog).fold(self.held, |sum, one| Backlog {
            packets: sum.packets + one.packets,
            bytes: sum.bytes + one.bytes,
        })
    }

    /// What its queues have done together; what the memory had no room for is among the drops.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let start = Stats { drops: self.memory_drops, ..Stats::default() };
        self.queues.iter().map(Queue::stats).fold(start, |sum, one| Stats {
            packets: sum.packets + one.packets,
            bytes: sum.bytes + one.bytes,
            drops: sum.drops + one.drops,
            marks: sum.marks + one.marks,
            overlimits: sum.overlimits + one.overlimits,
        })
    }

    /// A packet has come in at `input` for `output`, both of which there are, in the slot that ends at `now`.
    pub fn arrive(
        &mut self,
        now: Nanos,
        (input, output): (usize, usize),
        packet: P,
        observer: &mut impl Observer<Bound<P>>,
    ) -> Verdict {
        let packet = Bound { packet, output };
        let at = match self.spec.buffers {
            Buffers::Input => input,
            Buffers::Voq { .. } => input * self.spec.outputs + output,
            Buffers::Output { memory } => {
                if memory.is_some_and(|memory| self.backlog().packets >= memory) {
                    self.memory_drops += 1;
                    observer.dropped(now, packet, Reason::Memory);
                    return Verdict::Dropped(Reason::Memory);
                }
                output
            }
        };
        self.queues[at].enqueue(now, packet, observer)
    }

    /// One slot, which begins at `now`: every output sends a packet at most, and with [`Buffers::Input`] and
    /// [`Buffers::Voq`] every input too. They come in the order of the outputs.
    pub fn send(&mut self, now: Nanos, observer: &mut impl Observer<Bound<P>>) -> Vec<Bound<P>> {
        match self.spec.buffers {
            Buffers::Input => self.send_heads(now, observer),
            Buffers::Voq { rounds } => {
                let pairs = self.agree(rounds);
                let voq = |(output, input): (usize, Option<usize>)| Some(input? * self.spec.outputs + output);
                let queues: Vec<usize> = pairs.into_iter().enumerate().filter_map(voq).collect();
                queues.into_iter().filter_map(|at| self.queues[at].dequeue(now, observer)).collect()
            }
            Buffers::Output { .. } => {
                self.queues.iter_mut().filter_map(|queue| queue.dequeue(now, observer)).collect()
            }
        }
    }

    /// Each output takes one of the heads that are for it, each as likely (Karol, Hluchyj and Morgan, section III).
    fn send_heads(&mut self, now: Nanos, observer: &mut impl Observer<Bound<P>>) -> Vec<Bound<P>> {
        for (head, queue) in self.heads.iter_mut().zip(&mut self.queues) {
            if head.is_none() {
                *head = queue.dequeue(now, observer);
                self.held.packets += u32::from(head.is_some());
                self.held.bytes += head.map_or(0, |head| u64::from(head.len()));
            }
        }
        let mut sent = Vec::new();
        for output in 0..self.spec.outputs {
            let wants = |input: &usize| self.heads[*input].is_some_and(|head| head.output == output);
            let inputs: Vec<usize> = (0..self.spec.inputs).filter(wants).collect();
            let drawn = usize::try_from(self.draws.below(inputs.len() as u64)).unwrap_or(0);
            let Some(head) = inputs.get(drawn).and_then(|&input| self.heads[input].take()) else { continue };
            self.held.packets -= 1;
            self.held.bytes -= u64::from(head.len());
            sent.push(head);
        }
        sent
    }

    /// iSLIP: the input for each output. In each round every free output grants the next free input that has packets for
    /// it, every free input accepts the next output that grants it; the pointers move behind pairs of the first round.
    fn agree(&mut self, rounds: u32) -> Vec<Option<usize>> {
        let (inputs, outputs) = (self.spec.inputs, self.spec.outputs);
        let mut taken: Vec<Option<usize>> = vec![None; outputs];
        let mut is_busy = vec![false; inputs];
        for round in 0..rounds {
            let mut granted: Vec<Vec<usize>> = vec![Vec::new(); inputs];
            for output in (0..outputs).filter(|&output| taken[output].is_none()) {
                let asks = |&input: &usize| {
                    !is_busy[input] && self.queues[input * outputs + output].backlog().packets > 0
                };
                let from = self.grants[output];
                if let Some(input) = (from..inputs).chain(0..from).find(asks) {
                    granted[input].push(output);
                }
            }
            let mut is_done = true;
            for (input, granted) in granted.into_iter().enumerate() {
                let first = self.accepts[input];
                let Some(output) =
                    granted.into_iter().min_by_key(|&output| (output + outputs - first) % outputs)
                else {
                    continue;
                };
                is_done = false;
                taken[output] = Some(input);
                is_busy[input] = true;
                if round == 0 {
                    self.grants[output] = (input + 1) % inputs;
                    self.accepts[input] = (output + 1) % outputs;
                }
            }
            if is_done {
                break;
            }
        }
        taken
    }
}
