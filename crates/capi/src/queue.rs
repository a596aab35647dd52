//! A queue in the caller's memory, with its dropped packets and its count of errors.

use core::ffi::c_char;

use goodqueue::spec::QueueKind;
use goodqueue::{AnyQueue, Backlog, Header, Inspect, Nanos, Queue as _, QueueSpec, Verdict};

use crate::abi::{Config, Counter, GQ_DEFAULT, GQ_FULL, GQ_MARKED, GQ_MAX_LEN, GQ_PACKET, Stats};
use crate::build::{self, Parts};
use crate::code::{Code, GQ_EKIND, GQ_EPACKET, GQ_EVALUE};
use crate::delivery::Delivery;
use crate::drops::{Drops, reason};
use crate::extras::Extras;
use crate::ffi::room::Room;
use crate::guard::Guard;

/// The object of the caller's handle.
#[repr(C)]
pub(crate) struct Queue {
    /// Identifies a valid object that was not moved.
    pub(crate) mark: usize,
    pub(crate) guard: Guard,
    full_above: u64,
    which: QueueKind,
    /// Number of buckets for flows, which cannot change.
    flows: Option<u64>,
    kind: build::Queue,
}

/// Why a packet was dropped; 0: it is queued.
const fn why(verdict: Verdict) -> i32 {
    match verdict {
        Verdict::Enqueued => 0,
        Verdict::Dropped(why) => reason(why),
    }
}

impl Queue {
    /// An empty queue with its clock at `now` and all its storage; `None` while only the memory is measured.
    pub(crate) fn new(config: &Config, now: Nanos, room: &mut Room) -> Result<Option<Queue>, Code> {
        let spec = config.spec()?;
        let Parts { queue: kind, extras, drops } = build::build(config, &spec, now, room)?;
        if room.is_measuring() {
            return Ok(None);
        }
        Ok(Some(Queue {
            mark: 0,
            guard: Guard::new(now, Drops::new(drops, extras)),
            full_above: config.full_above(),
            which: spec.kind(),
            flows: spec.params().properties().flows().map(u64::from),
            kind,
        }))
    }

    /// Checks whether a call at `now` is allowed that can drop all queued packets and `more`.
    #[inline]
    fn admit(&mut self, now: Nanos, more: usize) -> Result<(), Code> {
        let Queue { guard, kind, .. } = self;
        guard.admit(now, || kind.backlog().packets as usize + more)
    }

    /// The bits of every result.
    #[inline]
    fn level(&self, backlog: Backlog) -> i32 {
        let full = if backlog.bytes > self.full_above { GQ_FULL } else { 0 };
        self.guard.waiting() | full
    }

    /// `expect` sets the packet data that only some queues need, and returns how many packets it can become.
    ///
    /// The code for `fq_codel`, Linux's default, is inline; the other queues are called.
    #[inline]
    pub(crate) fn enqueue(
        &mut self,
        now: Nanos,
        packet: Header,
        expect: impl FnOnce(&mut Extras) -> Result<usize, Code>,
    ) -> Result<i32, Code> {
        if packet.len.wrapping_sub(1) >= GQ_MAX_LEN || packet.truesize < packet.len {
            return Err(GQ_EPACKET);
        }
        if let AnyQueue::FqCodel(queue) = &mut self.kind {
            self.guard.admit(now, || queue.backlog().packets as usize + 1)?;
            let verdict = queue.enqueue(now, packet, &mut self.guard.drops);
            let backlog = queue.backlog();
            return Ok(why(verdict) | self.level(backlog));
        }
        let most = self.guard.drops.extras.as_mut().map_or(Ok(1), |extras| expect(extras))?;
        self.enqueue_any(now, packet, most)
    }

    #[inline(never)]
    fn enqueue_any(&mut self, now: Nanos, mut packet: Header, most: usize) -> Result<i32, Code> {
        self.admit(now, most)?;
        let drops = &mut self.guard.drops;
        drops.is_marked = false;
        if let Some(extras) = &mut drops.extras {
            packet = extras.arrive(packet)?;
        }
        // CAKE is called directly: the selection among all queues would add 97 instructions per call.
        let (verdict, backlog) = match &mut self.kind {
            AnyQueue::Cake(queue) => (queue.enqueue(now, packet, drops), queue.backlog()),
            queue => (queue.enqueue(now, packet, drops), queue.backlog()),
        };
        if let Some(extras) = &mut drops.extras {
            extras.arrived(&packet);
        }
        let marked = if drops.is_marked { GQ_MARKED } else { 0 };
        Ok(why(verdict) | marked | self.level(backlog))
    }

    /// The packet, if there is one, with the bits of the result.
    #[inline]
    pub(crate) fn dequeue(&mut self, now: Nanos) -> Result<(Option<Delivery>, i32), Code> {
        let (packet, backlog) = if let AnyQueue::FqCodel(queue) = &mut self.kind {
            self.guard.admit(now, || queue.backlog().packets as usize)?;
            self.guard.drops.is_marked = false;
            let packet = queue.dequeue(now, &mut self.guard.drops);
            (packet.map(|header| Delivery { header, segment: 0, segments: 0 }), queue.backlog())
        } else {
            self.dequeue_any(now)?
        };
        let delivered = if packet.is_some() { GQ_PACKET } else { 0 };
        let marked = if self.guard.drops.is_marked { GQ_MARKED } else { 0 };
        Ok((packet, delivered | marked | self.level(backlog)))
    }

    #[inline(never)]
    fn dequeue_any(&mut self, now: Nanos) -> Result<(Option<Delivery>, Backlog), Code> {
        self.admit(now, 0)?;
        let drops = &mut self.guard.drops;
        drops.is_marked = false;
        let (packet, backlog) = match &mut self.kind {
            AnyQueue::Cake(queue) => (queue.dequeue(now, drops), queue.backlog()),
            queue => (queue.dequeue(now, drops), queue.backlog()),
        };
        let packet = packet.map(|packet| match &mut drops.extras {
            Some(extras) => extras.leave(packet),
            None => Delivery { header: packet, segment: 0, segments: 0 },
        });
        Ok((packet, backlog))
    }

    pub(crate) fn next_wake(&self, now: Nanos) -> Result<Option<Nanos>, Code> {
        self.guard.check(now)?;
        Ok(self.kind.next_wake(now))
    }

    pub(crate) fn reset(&mut self, now: Nanos) -> Result<i32, Code> {
        self.admit(now, 0)?;
        self.kind.reset(now, &mut self.guard.drops);
        Ok(self.level(self.kind.backlog()))
    }

    /// Sets all parameters, except those that determine the storage.
    pub(crate) fn configure(&mut self, now: Nanos, config: &Config, spec: &QueueSpec) -> Result<i32, Code> {
        if spec.kind() != self.which {
            return Err(GQ_EKIND);
        }
        if config.flows != GQ_DEFAULT && Some(config.flows) != self.flows {
            return Err(GQ_EVALUE);
        }
        self.admit(now, 0)?;
        let drops = &mut self.guard.drops;
        let has_tcp = drops.extras.as_ref().is_some_and(|extras| extras.has_tcp());
        if spec.needs().tcp && !has_tcp {
            return Err(GQ_EVALUE);
        }
        self.kind.configure(now, spec.params(), config.link(), drops)?;
        self.full_above = config.full_above();
        Ok(self.level(self.kind.backlog()))
    }

    pub(crate) fn stats(&self) -> Stats {
        let (stats, backlog) = (self.kind.stats(), self.kind.backlog());
        Stats {
            size: size_of::<Stats>() as u32,
            backlog_packets: backlog.packets,
            backlog_bytes: backlog.bytes,
            packets: stats.packets,
            bytes: stats.bytes,
            drops: stats.drops,
            marks: stats.marks,
            overlimits: stats.overlimits,
            drops_waiting: self.guard.drops.len() as u64,
            drops_lost: self.guard.drops.lost(),
            errors: self.guard.errors,
        }
    }

    /// The counter at `index`, if it exists.
    pub(crate) fn counter(&self, index: u32) -> Option<Counter> {
        let (mut at, mut found) = (0, None);
        let mut look = |name: &'static str, value: u64| {
            if at == index {
                found = Some((name, value));
            }
            at += 1;
        };
        self.kind.counters(&mut look);
        let (text, value) = found?;
        let mut name = [0; 32];
        // The last byte remains 0.
        for (place, byte) in name[..31].iter_mut().zip(text.bytes()) {
            *place = byte.cast_signed() as c_char;
        }
        Some(Counter { size: size_of::<Counter>() as u32, reserved: 0, value, name })
    }
}
