//! A queue in the caller's memory, with its dropped packets and its own account of misuse.

use core::ffi::c_char;

use goodqueue::arena::Slot;
use goodqueue::codel::Stamped;
use goodqueue::fifo::Limit;
use goodqueue::spec::QueueKind;
use goodqueue::{Backlog, Codel, Fifo, FqCodel, Header, Nanos, Queue as _, QueueSpec, Rate, Tbf, Verdict};
use goodqueue::{fq_codel, spec};

use crate::abi::Tcp;
use crate::cake::{CakeQueue, CakeStorage};

use crate::abi::{
    Config, Counter, GQ_DEFAULT, GQ_FULL, GQ_MARKED, GQ_MAX_LEN, GQ_PACKET, Head, Packet, Stats,
};
use crate::code::{Code, GQ_ECONFLICT, GQ_EKIND, GQ_EMEMORY, GQ_EPACKET, GQ_EVALUE};
use crate::door::Door;
use crate::drops::{Dropped, Drops, reason};

type Places<T> = &'static mut [T];

/// The queues there are. The tag is a byte of its own: a niche, the compiler's choice, takes two or three
/// instructions more to read.
#[repr(u8)]
pub(crate) enum Kind {
    Fifo(Fifo<Header, Places<Header>>),
    Codel(Codel<Header, Places<Stamped<Header>>>),
    FqCodel(FqCodel<Header, Places<fq_codel::Flow>, Places<Slot<Header>>>),
    Tbf(Tbf<Header, Places<Header>>),
    /// In a place of its own: it is larger than all the others.
    Cake(&'static mut CakeQueue),
}

/// Runs `$body` with `$queue` bound to the queue inside.
macro_rules! each {
    ($kind:expr, $queue:ident => $body:expr) => {
        match $kind {
            Kind::Fifo($queue) => $body,
            Kind::Codel($queue) => $body,
            Kind::FqCodel($queue) => $body,
            Kind::Tbf($queue) => $body,
            Kind::Cake($queue) => $body,
        }
    };
}

/// What the caller holds a handle on.
#[repr(C)]
pub(crate) struct Queue {
    /// Tells this from other memory, and whether it was moved.
    pub(crate) mark: usize,
    pub(crate) door: Door,
    full_above: u64,
    which: QueueKind,
    kind: Kind,
}

/// Gives a FIFO a packet, out of line: within, it takes registers that a call to any other queue would save, too.
#[inline(never)]
fn put(fifo: &mut impl goodqueue::Queue<Header>, now: Nanos, packet: Header, drops: &mut Drops) -> Verdict {
    fifo.enqueue(now, packet, drops)
}

/// Storage that lies behind the queue in the same memory.
pub(crate) enum Storage {
    Headers(Places<Header>),
    Stamped(Places<Stamped<Header>>),
    Fair(Places<fq_codel::Flow>, Places<Slot<Header>>),
    Cake(CakeStorage),
}

impl Queue {
    /// An empty queue, its clock at `now`.
    pub(crate) fn new(
        config: &Config,
        spec: &QueueSpec,
        now: Nanos,
        storage: Storage,
        drops: Places<Dropped>,
    ) -> Result<Queue, Code> {
        let kind = match storage {
            Storage::Stamped(places) => {
                let params = spec.codel_params(config.mtu).ok_or(GQ_EKIND)?;
                Kind::Codel(Codel::new(params, places))
            }
            Storage::Fair(flows, slots) => {
                let params = spec.fq_codel_params(config.mtu).ok_or(GQ_EKIND)?;
                Kind::FqCodel(FqCodel::new(params, flows, slots).map_err(|_| GQ_EMEMORY)?)
            }
            Storage::Cake(storage) => {
                let params = spec.cake_params(config.mtu).ok_or(GQ_EKIND)?;
                Kind::Cake(CakeQueue::new(params, config.seed, storage)?)
            }
            Storage::Headers(places) => match spec.tbf_params(config.mtu) {
                Some(params) => Kind::Tbf(Tbf::new(params, now, places).map_err(|_| GQ_ECONFLICT)?),
                None => Kind::Fifo(Fifo::new(fifo_limit(config, spec)?, places)),
            },
        };
        Ok(Queue {
            mark: 0,
            door: Door::new(now, drops),
            full_above: config.full_above(),
            which: spec.kind(),
            kind,
        })
    }

    /// Whether a call at `now` may be made that can drop what is queued and `more` packets.
    #[inline]
    fn admit(&mut self, now: Nanos, more: usize) -> Result<(), Code> {
        let Queue { door, kind, .. } = self;
        door.admit(now, || each!(kind, queue => queue.backlog()).packets as usize + more)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        each!(&self.kind, queue => queue.backlog())
    }

    /// The bits that every result carries.
    #[inline]
    fn level(&self, backlog: Backlog) -> i32 {
        let full = if backlog.bytes > self.full_above { GQ_FULL } else { 0 };
        self.door.waiting() | full
    }

    #[inline]
    /// `more` is what only some queues must know of the packet.
    pub(crate) fn enqueue(
        &mut self,
        now: Nanos,
        packet: Header,
        more: impl FnOnce() -> Result<(Packet, Option<Tcp>), Code>,
    ) -> Result<i32, Code> {
        if packet.len.wrapping_sub(1) >= GQ_MAX_LEN || packet.truesize < packet.len {
            return Err(GQ_EPACKET);
        }
        let mut most = 1;
        if let Kind::Cake(cake) = &mut self.kind {
            most = cake.expect(more()?)?;
        }
        self.admit(now, most)?;
        let drops = &mut self.door.drops;
        let (verdict, backlog) = match &mut self.kind {
            Kind::Fifo(queue) => (put(queue, now, packet, drops), queue.backlog()),
            Kind::Tbf(queue) => (put(queue, now, packet, drops), queue.backlog()),
            Kind::Codel(queue) => (queue.enqueue(now, packet, drops), queue.backlog()),
            Kind::FqCodel(queue) => (queue.enqueue(now, packet, drops), queue.backlog()),
            Kind::Cake(queue) => (queue.enqueue(now, packet, drops), queue.backlog()),
        };
        let why = match verdict {
            Verdict::Enqueued => 0,
            Verdict::Dropped(why) => reason(why),
        };
        Ok(why | self.level(backlog))
    }

    /// The packet with the bits of the result; none with those bits alone.
    #[inline]
    pub(crate) fn dequeue(&mut self, now: Nanos) -> Result<(Option<Header>, i32), Code> {
        self.admit(now, 0)?;
        self.door.drops.is_marked = false;
        let (packet, backlog) = each!(&mut self.kind, queue => {
            let packet = queue.dequeue(now, &mut self.door.drops);
            (packet, queue.backlog())
        });
        let delivered = if packet.is_some() { GQ_PACKET } else { 0 };
        let marked = if self.door.drops.is_marked { GQ_MARKED } else { 0 };
        Ok((packet, delivered | marked | self.level(backlog)))
    }

    /// A packet just delivered, for the caller.
    #[inline]
    pub(crate) const fn delivery(&self, header: Header) -> Head {
        let (segment, gso_segments) =
            if let Kind::Cake(cake) = &self.kind { cake.delivered() } else { (0, 0) };
        Head { segment, gso_segments, ..Head::of(header) }
    }

    pub(crate) fn next_wake(&self, now: Nanos) -> Result<Option<Nanos>, Code> {
        self.door.check(now)?;
        Ok(each!(&self.kind, queue => queue.next_wake(now)))
    }

    pub(crate) fn reset(&mut self, now: Nanos) -> Result<i32, Code> {
        self.admit(now, 0)?;
        each!(&mut self.kind, queue => queue.reset(now, &mut self.door.drops));
        Ok(self.level(self.backlog()))
    }

    /// Sets all parameters; the number of buckets and of places stays.
    pub(crate) fn configure(&mut self, now: Nanos, config: &Config, spec: &QueueSpec) -> Result<i32, Code> {
        if spec.kind() != self.which {
            return Err(GQ_EKIND);
        }
        let limit = fifo_limit(config, spec);
        self.admit(now, 0)?;
        match &mut self.kind {
            Kind::Fifo(queue) => queue.configure(limit?),
            Kind::Codel(queue) => {
                let params = spec.codel_params(config.mtu).ok_or(GQ_EKIND)?;
                queue.configure(now, params, &mut self.door.drops);
            }
            Kind::FqCodel(queue) => {
                if config.flows != GQ_DEFAULT && config.flows != u64::from(queue.bucket(u32::MAX)) + 1 {
                    return Err(GQ_EVALUE);
                }
                let params = spec.fq_codel_params(config.mtu).ok_or(GQ_EKIND)?;
                queue.configure(now, params, &mut self.door.drops);
            }
            Kind::Cake(queue) => {
                let params = spec.cake_params(config.mtu).ok_or(GQ_EKIND)?;
                queue.configure(now, params, config.flows, &mut self.door.drops)?;
            }
            Kind::Tbf(queue) => {
                let params = spec.tbf_params(config.mtu).ok_or(GQ_EKIND)?;
                queue.configure(params).map_err(|_| GQ_ECONFLICT)?;
            }
        }
        self.full_above = config.full_above();
        Ok(self.level(self.backlog()))
    }

    pub(crate) fn stats(&self) -> Stats {
        let (stats, backlog) = each!(&self.kind, queue => (queue.stats(), queue.backlog()));
        Stats {
            size: size_of::<Stats>() as u32,
            backlog_packets: backlog.packets,
            backlog_bytes: backlog.bytes,
            packets: stats.packets,
            bytes: stats.bytes,
            drops: stats.drops,
            marks: stats.marks,
            overlimits: stats.overlimits,
            drops_waiting: self.door.drops.len() as u64,
            drops_lost: self.door.drops.lost(),
            errors: self.door.errors,
        }
    }

    /// The counter at `index`, if there are so many.
    pub(crate) fn counter(&self, index: u32) -> Option<Counter> {
        let (mut at, mut found) = (0, None);
        let mut look = |name: &'static str, value: u64| {
            if at == index {
                found = Some((name, value));
            }
            at += 1;
        };
        each!(&self.kind, queue => queue.counters(&mut look));
        let (text, value) = found?;
        let mut name = [0; 32];
        // The last byte stays 0.
        for (place, byte) in name[..31].iter_mut().zip(text.bytes()) {
            *place = byte.cast_signed() as c_char;
        }
        Some(Counter { size: size_of::<Counter>() as u32, reserved: 0, value, name })
    }
}

impl Head {
    #[inline]
    pub(crate) const fn header(&self) -> Header {
        let &Head { cookie, len, truesize, flow_hash, dsfield, .. } = self;
        Header { cookie, len, truesize, flow_hash, dsfield }
    }

    #[inline]
    pub(crate) const fn of(header: Header) -> Head {
        let Header { cookie, len, truesize, flow_hash, dsfield } = header;
        Head {
            size: size_of::<Head>() as u32,
            len,
            truesize,
            flow_hash,
            cookie,
            dsfield,
            classified: 0,
            gso_segments: 0,
            segment: 0,
            link_header: 0,
        }
    }
}

/// The limit of a fifo; of another queue [`GQ_EKIND`].
fn fifo_limit(config: &Config, spec: &spec::QueueSpec) -> Result<Limit, Code> {
    spec.fifo_limit(Rate(config.link_rate), config.mtu)?.ok_or(GQ_EKIND)
}
