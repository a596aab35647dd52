//! A queue in the caller's memory, with its dropped packets and its own account of misuse.

use core::ffi::c_char;

use goodqueue::cake::AckFilter;
use goodqueue::spec::QueueKind;
use goodqueue::{Backlog, Header, Nanos, Queue as _, QueueSpec, Verdict};

use crate::abi::{
    Config, Counter, GQ_DEFAULT, GQ_FULL, GQ_MARKED, GQ_MAX_LEN, GQ_PACKET, Head, Packet, Stats, Tcp,
};
use crate::build::{Builder, fifo_limit};
use crate::code::{Code, GQ_ECONFLICT, GQ_EFIXED, GQ_EKIND, GQ_EPACKET, GQ_EVALUE};
use crate::door::Door;
use crate::drops::{Drops, reason};
use crate::ffi::room::Room;
use crate::kind::Kind;

/// What the caller holds a handle on.
#[repr(C)]
pub(crate) struct Queue {
    /// Tells this from other memory, and whether it was moved.
    pub(crate) mark: usize,
    pub(crate) door: Door,
    full_above: u64,
    which: QueueKind,
    /// Buckets for flows, which stay as they are.
    flows: Option<u64>,
    kind: Kind,
}

/// Gives a FIFO a packet, out of line: within, it takes registers that a call to any other queue would save, too.
#[inline(never)]
fn put(fifo: &mut impl goodqueue::Queue<Header>, now: Nanos, packet: Header, drops: &mut Drops) -> Verdict {
    fifo.enqueue(now, packet, drops)
}

/// Why a packet was dropped; 0: it is queued.
const fn why(verdict: Verdict) -> i32 {
    match verdict {
        Verdict::Enqueued => 0,
        Verdict::Dropped(why) => reason(why),
    }
}

/// Takes a packet from a queue that may keep more of it than its descriptor.
#[inline(never)]
fn take_any(kind: &mut Kind, now: Nanos, drops: &mut Drops) -> Option<Header> {
    let packet = kind.dequeue(now, drops)?;
    Some(match &mut drops.extras {
        Some(extras) => extras.deliver(packet),
        None => packet,
    })
}

impl Queue {
    /// An empty queue, its clock at `now`, with all its storage. None while it is only added up what it takes.
    pub(crate) fn new(config: &Config, now: Nanos, room: &mut Room) -> Result<Option<Queue>, Code> {
        let spec = config.spec()?;
        let mut builder = Builder::new(config, now);
        let kind = builder.queue(room, &spec)?;
        let extras = builder.extras(room)?;
        let drops = builder.drops(room)?;
        if room.is_measuring() {
            return Ok(None);
        }
        Ok(Some(Queue {
            mark: 0,
            door: Door::new(now, Drops::new(drops, extras)),
            full_above: config.full_above(),
            which: spec.kind(),
            flows: spec.get("flows"),
            kind,
        }))
    }

    /// Whether a call at `now` may be made that can drop what is queued and `more` packets.
    #[inline]
    fn admit(&mut self, now: Nanos, more: usize) -> Result<(), Code> {
        let Queue { door, kind, .. } = self;
        door.admit(now, || kind.backlog().packets as usize + more)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.kind.backlog()
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
        if let Some(extras) = &mut self.door.drops.extras {
            let (packet, tcp) = more()?;
            most = extras.expect(&packet, tcp.as_ref())?;
        }
        self.admit(now, most)?;
        let drops = &mut self.door.drops;
        let (verdict, backlog) = match &mut self.kind {
            Kind::Fifo(queue) => (put(queue, now, packet, drops), queue.backlog()),
            Kind::Tbf(queue) => (put(queue, now, packet, drops), queue.backlog()),
            Kind::Codel(queue) => (queue.enqueue(now, packet, drops), queue.backlog()),
            Kind::FqCodel(queue) => (queue.enqueue(now, packet, drops), queue.backlog()),
            _ => return self.enqueue_any(now, packet),
        };
        Ok(why(verdict) | self.level(backlog))
    }

    /// Gives a packet to a queue that may ask for more than its descriptor, and may mark what arrives.
    #[inline(never)]
    fn enqueue_any(&mut self, now: Nanos, mut packet: Header) -> Result<i32, Code> {
        let drops = &mut self.door.drops;
        drops.is_marked = false;
        if let Some(extras) = &mut drops.extras {
            packet = extras.arrive(packet)?;
        }
        let verdict = self.kind.enqueue(now, packet, drops);
        if let Some(extras) = &mut drops.extras {
            extras.arrived(&packet);
        }
        let marked = if drops.is_marked { GQ_MARKED } else { 0 };
        Ok(why(verdict) | marked | self.level(self.backlog()))
    }

    /// The packet with the bits of the result; none with those bits alone.
    #[inline]
    pub(crate) fn dequeue(&mut self, now: Nanos) -> Result<(Option<Header>, i32), Code> {
        self.admit(now, 0)?;
        self.door.drops.is_marked = false;
        let drops = &mut self.door.drops;
        let (packet, backlog) = match &mut self.kind {
            Kind::Fifo(queue) => (queue.dequeue(now, drops), queue.backlog()),
            Kind::Tbf(queue) => (queue.dequeue(now, drops), queue.backlog()),
            Kind::Codel(queue) => (queue.dequeue(now, drops), queue.backlog()),
            Kind::FqCodel(queue) => (queue.dequeue(now, drops), queue.backlog()),
            any => (take_any(any, now, drops), any.backlog()),
        };
        let delivered = if packet.is_some() { GQ_PACKET } else { 0 };
        let marked = if self.door.drops.is_marked { GQ_MARKED } else { 0 };
        Ok((packet, delivered | marked | self.level(backlog)))
    }

    /// A packet just delivered, for the caller.
    #[inline]
    pub(crate) const fn delivery(&self, header: Header) -> Head {
        let (segment, gso_segments) = match &self.door.drops.extras {
            Some(extras) => extras.delivered,
            None => (0, 0),
        };
        Head { segment, gso_segments, ..Head::of(header) }
    }

    pub(crate) fn next_wake(&self, now: Nanos) -> Result<Option<Nanos>, Code> {
        self.door.check(now)?;
        Ok(self.kind.next_wake(now))
    }

    pub(crate) fn reset(&mut self, now: Nanos) -> Result<i32, Code> {
        self.admit(now, 0)?;
        self.kind.reset(now, &mut self.door.drops);
        Ok(self.level(self.backlog()))
    }

    /// Sets all parameters; what the storage was set up for stays.
    pub(crate) fn configure(&mut self, now: Nanos, config: &Config, spec: &QueueSpec) -> Result<i32, Code> {
        if spec.kind() != self.which {
            return Err(GQ_EKIND);
        }
        if config.flows != GQ_DEFAULT && Some(config.flows) != self.flows {
            return Err(GQ_EVALUE);
        }
        let limit = fifo_limit(config, spec);
        self.admit(now, 0)?;
        let (mtu, drops) = (config.mtu, &mut self.door.drops);
        match &mut self.kind {
            Kind::Fifo(queue) => queue.configure(limit?),
            Kind::Codel(queue) => queue.configure(now, spec.codel_params(mtu).ok_or(GQ_EKIND)?, drops),
            Kind::FqCodel(queue) => queue.configure(now, spec.fq_codel_params(mtu).ok_or(GQ_EKIND)?, drops),
            Kind::Pie(queue) => queue.configure(now, spec.pie_params(mtu).ok_or(GQ_EKIND)?, drops),
            Kind::FqPie(queue) => queue.configure(now, spec.fq_pie_params(mtu).ok_or(GQ_EKIND)?, drops),
            Kind::DualPi2(queue) => queue.configure(now, spec.dualpi2_params(mtu).ok_or(GQ_EKIND)?, drops),
            Kind::Fq(queue) => queue.configure(now, spec.fq_params(mtu).ok_or(GQ_EKIND)?, drops),
            Kind::Wheel(queue) => queue.configure(now, spec.wheel_params(mtu).ok_or(GQ_EKIND)?.0, drops),
            Kind::Tbf(queue) => {
                let params = spec.tbf_params(mtu).ok_or(GQ_EKIND)?;
                queue.configure(params).map_err(|_| GQ_ECONFLICT)?;
            }
            Kind::Red(queue) => {
                let params = spec.red_params().ok_or(GQ_EKIND)?.map_err(|_| GQ_ECONFLICT)?;
                queue.configure(now, params);
            }
            Kind::Cake(queue) => {
                let params = spec.cake_params(mtu).ok_or(GQ_EKIND)?;
                let has_tcp = drops.extras.as_ref().is_some_and(|extras| extras.has_tcp());
                if params.ack_filter != AckFilter::Off && !has_tcp {
                    return Err(GQ_EVALUE);
                }
                queue.configure(now, params, drops).map_err(|_| GQ_EVALUE)?;
            }
            Kind::Sfq(_) | Kind::PfifoFast(_) | Kind::Prio(_) | Kind::Drr(_) | Kind::Htb(_) => {
                return Err(GQ_EFIXED);
            }
        }
        self.full_above = config.full_above();
        Ok(self.level(self.backlog()))
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
        self.kind.counters(&mut look);
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
