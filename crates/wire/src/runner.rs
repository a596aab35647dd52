//! A thread of the engine: its loop, and everything that happens in it.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use goodqueue::{Bytes, Direction, FlowHasher, FlowKey, Header, Nanos, Span};

use crate::channel::Channel;
use crate::engine::OnDestination;
use crate::frame::{self, Meta, TCP, UDP};
use crate::gso::{Partial, SuperPacket};
use crate::interfaces::{Interfaces, Route};
use crate::nat::Inside;
use crate::netlink::Tracking;
use crate::path::Change;
use crate::per_direction::PerDirection;
use crate::pool::{Note, Pool};
use crate::sample::{Contents, CpuUse, EngineSample, PathReport, Scheduling, Summary, Trouble};
use crate::sys::packet::{BATCH, PacketSocket, SEND, SUPER_BATCH, Slot};
use crate::sys::thread;
use crate::{Error, Histogram, Result};

/// State shared by a thread of the engine and the engine's handle.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Whether all threads of the engine must end; they share this.
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) sample: Mutex<EngineSample>,
    /// Start and end of the measurement of sojourn times; initially there is none.
    pub(crate) sojourns: [AtomicU64; 2],
    /// The requested changes, by direction, and whether there are any.
    pub(crate) changes: Mutex<Vec<(Direction, Change)>>,
    pub(crate) is_changed: AtomicBool,
    /// What is inside each direction, once that was asked for.
    pub(crate) contents: Mutex<Option<[Contents; 2]>>,
    pub(crate) is_asked: AtomicBool,
}

impl Shared {
    /// The latest sample.
    pub(crate) fn sample(&self) -> EngineSample {
        *self.sample.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is inside, if the thread has reported it since it was asked.
    pub(crate) fn told(&self) -> Option<[Contents; 2]> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Frames to read at first; if that many arrive, the next read takes up to [`BATCH`].
const FEW: usize = 8;

/// Slots that a super-packet may need: 64 KiB in segments of 512 bytes. A super-packet of more and shorter
/// segments may exhaust the pool, which is counted.
const MOST_SEGMENTS: usize = 128;

/// How often a sample is published, and the longest sleep. All threads do it at multiples of this, so that
/// their samples are from the same time.
const PUBLISH: Span = Span::from_millis(10);

/// The number of the publishing period that contains `at`.
pub(crate) fn period(at: Nanos) -> u64 {
    at.0 / PUBLISH.0
}

/// How long departures may wait in the port if nothing must be sent. They are handled in logical time, so
/// this saves wake-ups without loss of accuracy.
const LAZY: Span = Span::from_millis(1);
/// While several frames of a direction wait, it sends at most once in this time: frames that become due
/// meanwhile leave together, at most this late. A wake-up costs as much as sending two frames.
const TOGETHER: Span = Span::from_micros(50);

pub(crate) struct Runner<C> {
    /// By direction, for the directions that the channel serves.
    from: PerDirection<PacketSocket>,
    to: PerDirection<PacketSocket>,
    /// See [`Interfaces`].
    interfaces: Interfaces,
    channel: C,
    pool: Pool,
    /// Free frames to read into, per socket.
    inbox: [Vec<Slot>; 2],
    /// Frames that leave together.
    outbox: Vec<Slot>,
    /// Frames to request at the next read, per socket.
    ask: [usize; 2],
    hasher: FlowHasher,
    longest_frame: u32,
    /// When each direction last sent.
    sent_at: [Nanos; 2],
    lateness: Histogram,
    lateness_limit: Span,
    trouble: Trouble,
    scheduling: Scheduling,
    destinations: Option<Destinations>,
    shared: Arc<Shared>,
    published: Nanos,
    spun: Span,
    margin: Margin,
    rest: Rest,
    /// Held open for its effect in the kernel.
    _awake: Option<File>,
}

/// The kernel stops a real-time thread that never sleeps for 50 ms in each second
/// (`kernel.sched_rt_runtime_us`, the fair server). So the thread rests voluntarily in small pieces.
struct Rest {
    since: Nanos,
    slept: Span,
}

impl Rest {
    const WINDOW: Span = Span::from_millis(10);
    /// 7 % of the window: more than the 5 % that the kernel would take.
    const SHARE: Span = Span::from_micros(700);

    /// The rest that is still needed if a window ends at `now`; `None` within a window.
    fn due(&mut self, now: Nanos) -> Option<Span> {
        if now.since(self.since) < Rest::WINDOW {
            return None;
        }
        let missing = Rest::SHARE - self.slept;
        *self = Rest { since: now, slept: Span::ZERO };
        (missing > Span::ZERO).then_some(missing)
    }
}

/// How long before a deadline sleeping ends: the measured lateness of sleeps on this machine, or a fixed
/// value from the caller. A processor in deep sleep wakes 50 to 150 us late, one that is kept awake 5 us
/// late.
struct Margin {
    now: Span,
    least: Span,
    most: Span,
}

impl Margin {
    /// A sleep ended `late` after its time: the margin rises at once, or sinks by 1/16 of the difference.
    fn slept(&mut self, late: Span) {
        let wanted = late + Span::from_micros(5);
        let sunk = self.now.0 - self.now.0.saturating_sub(wanted.0) / 16;
        self.now = Span(sunk.max(wanted.0).clamp(self.least.0, self.most.0));
    }

    /// There was no time to sleep: sink slightly, so that the gaps of a busy line are tried again.
    fn spun(&mut self) {
        self.now = Span((self.now.0 - self.now.0 / 1024).max(self.least.0));
    }
}

/// The settings of a runner, besides its channel; see [`crate::EngineSpec`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) seed: u64,
    pub(crate) frames: u32,
    pub(crate) spin: Option<Span>,
    pub(crate) around: Option<fn(&mut (dyn FnMut() + Send))>,
}

/// The destinations of the client's packets.
pub(crate) struct Destinations {
    known: HashSet<(u8, SocketAddr)>,
    act: OnDestination,
}

impl Destinations {
    /// Most destinations; further ones are not announced before their first packet.
    const MOST: usize = 1 << 16;

    pub(crate) fn new(act: OnDestination) -> Destinations {
        Destinations { known: HashSet::with_capacity(Self::MOST), act }
    }

    fn see(&mut self, meta: &Meta) {
        let to = (meta.protocol, SocketAddr::new(meta.destination, meta.destination_port));
        let is_new = matches!(to.0, TCP | UDP) && self.known.len() < Self::MOST && self.known.insert(to);
        if is_new {
            (self.act)(to.0, to.1);
        }
    }
}

impl<C: Channel> Runner<C> {
    /// Opens the sockets in the calling thread's namespace and allocates all memory.
    pub(crate) fn new(
        channel: C,
        interfaces: Interfaces,
        settings: Settings,
        destinations: Option<Destinations>,
        shared: Arc<Shared>,
    ) -> Result<Runner<C>> {
        let Settings { seed, frames, spin, .. } = settings;
        let longest_frame = interfaces.longest_frame();
        let pool = Pool::new(frames, longest_frame);
        let one_frame =
            channel.slowest().map_or(Span::ZERO, |rate| rate.tx_time(Bytes(u64::from(longest_frame))));
        let whole = |socket: PacketSocket| {
            if interfaces.has_super_packets { socket.with_super_packets() } else { Ok(socket) }
        };
        let from = |way: &Route| whole(PacketSocket::receiving(&way.from, way.which, way.fanout.as_deref())?);
        let to = |way: &Route| whole(PacketSocket::sending(&way.to, way.mark)?);
        let from = PerDirection::make(channel.ways(), |way| from(&interfaces.routes[way as usize]))?;
        let to = PerDirection::make(channel.ways(), |way| to(&interfaces.routes[way as usize]))?;
        let receive_buffer = from.iter().map(PacketSocket::receive_buffer).min().unwrap_or_default();
        let awake = thread::keep_processors_awake();
        let (scheduling, margin) = schedule(spin, &pool, receive_buffer, awake.is_some());
        Ok(Runner {
            from,
            to,
            interfaces,
            channel,
            pool,
            inbox: [Vec::with_capacity(BATCH), Vec::with_capacity(BATCH)],
            outbox: Vec::with_capacity(SEND),
            ask: [FEW; 2],
            hasher: FlowHasher::new(seed),
            longest_frame,
            sent_at: [Nanos::ZERO; 2],
            lateness: Histogram::default(),
            lateness_limit: one_frame.max(Span::from_millis(1)),
            trouble: Trouble::default(),
            scheduling,
            destinations,
            shared,
            published: Nanos::ZERO,
            spun: Span::ZERO,
            margin,
            rest: Rest { since: Nanos::ZERO, slept: Span::ZERO },
            _awake: awake,
        })
    }

    /// Runs until it receives the order to stop or an interface disappears.
    pub(crate) fn run(mut self) -> Part {
        let (began, cpu_before) = (thread::now(), thread::cpu_time());
        let mut failure = None;
        while !self.shared.stop.load(Ordering::Relaxed) {
            if let Err(error) = self.turn() {
                failure = Some(error);
                break;
            }
        }
        let ended = thread::now();
        let sample = self.sample(ended);
        if let Ok(mut place) = self.shared.sample.lock() {
            *place = sample;
        }
        let cpu = CpuUse { wall: ended.since(began), cpu: thread::cpu_time() - cpu_before, spin: self.spun };
        let ways = self.channel.ways();
        let mut paths = [None, None];
        for (&way, path) in ways.iter().zip(self.channel.report(ended)) {
            paths[way as usize] = Some(path);
        }
        Part { last: sample, paths, lateness: self.lateness, cpu, scheduling: self.scheduling, failure }
    }

    /// One turn: reads, decides, sends, and sleeps or spins if there was nothing to do.
    fn turn(&mut self) -> Result<()> {
        let began = thread::now();
        let mut got = 0;
        for &way in self.channel.ways() {
            let (count, is_empty) =
                if self.interfaces.has_super_packets { self.take_super(way)? } else { self.take(way)? };
            // Everything that had arrived when the turn began has been handed in.
            if is_empty {
                self.channel.advance(way, began, &mut self.pool);
            }
            got += count;
        }
        let mut sent = 0;
        for &way in self.channel.ways() {
            sent += self.send_due(way)?;
        }
        if period(began) > period(self.published) {
            self.publish(began);
            self.change();
            self.tell_contents();
            self.interfaces.tracking().into_iter().for_each(|tracking| tracking.keep_up(began));
        }
        if self.scheduling.real_time
            && let Some(missing) = self.rest.due(began)
        {
            thread::sleep(missing);
        }
        if got == 0 && !self.sleep()? && sent == 0 {
            self.spun = self.spun + thread::now().since(began);
        }
        Ok(())
    }

    /// Makes the changes that were asked for.
    fn change(&mut self) {
        if !self.shared.is_changed.swap(false, Ordering::Acquire) {
            return;
        }
        // The requester holds the lock only for a moment.
        let changes = self.shared.changes.lock().map(|mut changes| std::mem::take(&mut *changes));
        for (way, change) in changes.unwrap_or_default() {
            self.channel.change(way, change, &mut self.pool);
        }
    }

    /// Reports what is inside, if that was asked for.
    fn tell_contents(&mut self) {
        if self.shared.is_asked.swap(false, Ordering::Acquire)
            && let Ok(mut place) = self.shared.contents.lock()
        {
            *place = Some(Direction::BOTH.map(|way| self.channel.contents(way)));
        }
    }

    /// Reads waiting frames from the socket of direction `way` and hands them in. Returns their number, and
    /// whether the socket is empty.
    fn take(&mut self, way: Direction) -> Result<(usize, bool)> {
        let ask = self.ask[way as usize];
        let count = self.read(way)?;
        self.admit(way, count);
        Ok((count, count < ask))
    }

    /// [`Runner::take`] from a socket with super-packets.
    fn take_super(&mut self, way: Direction) -> Result<(usize, bool)> {
        // A super-packet may need this many slots if its interface allows short segments.
        let room = self.pool.free() / MOST_SEGMENTS;
        if room == 0 {
            self.trouble.pool_exhausted += 1;
        }
        let ask = room.min(SUPER_BATCH);
        let socket = &mut self.from[way];
        let got = socket.receive_super(ask).map_err(|errno| link_error("recvmmsg", socket, errno))?;
        let clocks = Clocks::now();
        self.interfaces.tracking().into_iter().for_each(Tracking::packets_came);
        for place in 0..got {
            self.admit_super(way, &clocks, place);
        }
        Ok((got, got < ask))
    }

    /// Hands in frame `place` of the last read of direction `way`. A super-packet is cut into slots, and is
    /// one packet for its queue.
    fn admit_super(&mut self, way: Direction, clocks: &Clocks, place: usize) {
        let Some(arrival) = self.from[way].arrival(place) else { return };
        let (header, bytes) = (arrival.header, arrival.bytes);
        let Some(meta) = self.interfaces.meta(way, bytes) else {
            self.trouble.foreign += 1;
            return;
        };
        let whole = SuperPacket::of(&header, bytes);
        let longest = whole.as_ref().map_or(bytes.len(), SuperPacket::longest);
        if header.is_super() != whole.is_some() || longest > self.longest_frame as usize {
            self.trouble.super_packets += 1;
            return;
        }
        let arrived = clocks.logical(arrival.stamp).max(self.channel.clock(way));
        if let (Direction::Up, Some(destinations)) = (way, &mut self.destinations) {
            destinations.see(&meta);
        }
        let inside = self.interfaces.tracking().and_then(|tracking| tracking.inside(way, bytes));
        let enqueue = Enqueue::of(way, &meta, inside, header.partial(), &self.hasher);
        let kept = match &whole {
            Some(whole) => whole.keep(&mut self.pool, enqueue.note),
            None => self.pool.keep(bytes, enqueue.note),
        };
        match kept {
            Some(frame) => enqueue.hand_in(arrived, frame, &mut self.channel, &mut self.pool),
            None => self.trouble.pool_exhausted += 1,
        }
    }

    /// Reads waiting frames from the socket of direction `way` into its inbox; returns their number.
    fn read(&mut self, way: Direction) -> Result<usize> {
        let inbox = &mut self.inbox[way as usize];
        while inbox.len() < BATCH {
            let Some(frame) = self.pool.take() else { break };
            inbox.push(Slot { frame, ..Slot::default() });
        }
        if inbox.is_empty() {
            self.trouble.pool_exhausted += 1;
        }
        let ask = self.ask[way as usize].min(inbox.len());
        let socket = &mut self.from[way];
        let got = match socket.receive(&mut self.pool, &mut inbox[..ask]) {
            Err(errno) if self.interfaces.outlives(&errno) => 0,
            got => got.map_err(|errno| link_error("recvmmsg", socket, errno))?,
        };
        self.ask[way as usize] = if got == ask { BATCH } else { FEW };
        Ok(got)
    }

    /// Hands the first `count` frames of an inbox to the queue, or refuses them. Each arrives at the
    /// kernel's receive time, so a late reader delays sending (which the lateness histogram shows) but
    /// changes no decision of a queue.
    fn admit(&mut self, way: Direction, count: usize) {
        let clocks = Clocks::now();
        self.interfaces.tracking().into_iter().for_each(Tracking::packets_came);
        for place in 0..count {
            let slot = self.inbox[way as usize][place];
            if slot.len > self.longest_frame {
                self.trouble.super_packets += 1;
                self.pool.give(slot.frame);
                continue;
            }
            let bytes = &self.pool.slot_mut(slot.frame)[..slot.len as usize];
            match self.interfaces.meta(way, bytes) {
                Some(meta) => {
                    if way == Direction::Up
                        && let Some(destinations) = &mut self.destinations
                    {
                        destinations.see(&meta);
                    }
                    let arrived = clocks.logical(slot.stamp).max(self.channel.clock(way));
                    let inside = self.interfaces.tracking().and_then(|tracking| tracking.inside(way, bytes));
                    let enqueue = Enqueue::of(way, &meta, inside, Partial::default(), &self.hasher);
                    self.pool.set_note(slot.frame, Note { len: slot.len, held: slot.len, ..enqueue.note });
                    enqueue.hand_in(arrived, slot.frame, &mut self.channel, &mut self.pool);
                }
                None => {
                    self.trouble.foreign += 1;
                    self.pool.give(slot.frame);
                }
            }
        }
        self.inbox[way as usize].drain(..count);
    }

    /// Sends all frames of direction `way` that are due; returns their number.
    fn send_due(&mut self, way: Direction) -> Result<usize> {
        let mut sent = 0;
        if self.train(way).is_some_and(|at| thread::now() < at) {
            return Ok(0);
        }
        loop {
            let now = thread::now();
            self.outbox.clear();
            while self.outbox.len() < BATCH {
                let Some((deadline, ready)) = self.channel.take_due(way, now) else { break };
                self.lateness.record(now.since(deadline));
                ready.leave(&mut self.pool, &mut self.outbox);
            }
            if self.outbox.is_empty() {
                return Ok(sent);
            }
            self.sent_at[way as usize] = now;
            sent += self.outbox.len();
            self.send_outbox(way)?;
        }
    }

    /// Sends what is in the outbox, and frees its frames. Frames that the kernel refuses are lost and
    /// counted.
    fn send_outbox(&mut self, way: Direction) -> Result<()> {
        let Runner { to, pool, channel, trouble, interfaces, outbox, .. } = self;
        let socket = &mut to[way];
        for slots in outbox.chunks(SEND) {
            let sent = socket.send(pool, slots, |pool, slots, answer| {
                match answer {
                    Ok(()) => {
                        // A super-packet is one packet, at its first slot.
                        let packets =
                            slots.iter().map(|slot| pool.note(slot.frame).len).filter(|&len| len > 0);
                        packets.for_each(|len| channel.count_sent(way, len));
                    }
                    Err(errno) if is_link_gone(&errno) && !interfaces.outlives(&errno) => return Err(errno),
                    Err(_) => trouble.send_failures += slots.len() as u64,
                }
                Ok(())
            });
            sent.map_err(|errno| link_error("sendmmsg", socket, errno))?;
        }
        outbox.iter().for_each(|slot| pool.give(slot.frame));
        Ok(())
    }

    /// Sleeps until shortly before the next deadline or until a frame arrives. Returns `false` if there is
    /// no time to sleep; then the caller's next turn acts as spinning.
    fn sleep(&mut self) -> Result<bool> {
        let now = thread::now();
        let mut until = Nanos((period(now) + 1) * PUBLISH.0);
        if let Some(at) = self.next_sending() {
            until = until.min(at);
        }
        if let Some(at) = self.channel.next_event() {
            until = until.min(at + LAZY);
        }
        if until <= now {
            std::hint::spin_loop();
            self.margin.spun();
            return Ok(false);
        }
        // What arrives on a busy line has time until the frames before it have left.
        let wakes = |way: Direction| self.channel.next_send_of_an_arrival(way).is_none_or(|at| at < until);
        let sockets = Direction::BOTH.map(|way| self.from.get(way).filter(|_| wakes(way)).map(AsFd::as_fd));
        thread::wait(sockets, until.since(now))?;
        let woke = thread::now();
        self.rest.slept = self.rest.slept + woke.since(now);
        if woke >= until {
            self.margin.slept(woke.since(until));
        }
        Ok(true)
    }

    /// When direction `way` sends again, if what is due before that waits for others.
    fn train(&self, way: Direction) -> Option<Nanos> {
        let at = self.sent_at[way as usize] + TOGETHER;
        let is_soon = self.channel.next_send(way).is_some_and(|due| due < at);
        (is_soon && self.channel.is_backlogged(way)).then_some(at)
    }

    /// The time until which there is nothing to send if nothing arrives. The first frame may be late by
    /// [`TOGETHER`], if others then leave with it.
    fn next_sending(&self) -> Option<Nanos> {
        let [up, down] = Direction::BOTH.map(|way| {
            let due = self.from.get(way).and_then(|_| self.channel.next_send(way))?;
            // A frame that waits for others is late already, so do not spin.
            let exact = || Nanos(due.0.saturating_sub(self.margin.now.0));
            Some((due, self.train(way).unwrap_or_else(exact)))
        });
        let (Some((up_due, up)), Some((down_due, down))) = (up, down) else {
            return up.or(down).map(|(_, at)| at);
        };
        let (first, due, second) = if up < down { (up, up_due, down) } else { (down, down_due, up) };
        Some(if second <= due + TOGETHER { second } else { first })
    }

    /// Publishes a sample, unless the last one is being read.
    fn publish(&mut self, now: Nanos) {
        self.published = now;
        let sample = self.sample(now);
        self.channel.look(now);
        let [from, to] = self.shared.sojourns.each_ref().map(|at| Nanos(at.load(Ordering::Relaxed)));
        self.channel.measure_sojourn(from, to);
        if let Ok(mut place) = self.shared.sample.try_lock() {
            *place = sample;
        }
    }

    fn sample(&mut self, now: Nanos) -> EngineSample {
        let [up, down] = self.channel.sample();
        self.trouble.socket_drops = self.from.iter_mut().map(PacketSocket::dropped).sum();
        self.trouble.clock_backward = up.line.clock_backward + down.line.clock_backward;
        let inbox: usize = self.inbox.iter().map(Vec::len).sum();
        EngineSample {
            at: now,
            up,
            down,
            trouble: self.trouble,
            lateness: Summary::of(&self.lateness),
            lateness_limit: self.lateness_limit,
            frames_used: u32::try_from(self.pool.used() - inbox).unwrap_or(u32::MAX),
        }
    }
}

/// The measurements of a thread of the engine.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) last: EngineSample,
    /// Up and down, as far as the thread served them.
    pub(crate) paths: [Option<PathReport>; 2],
    pub(crate) lateness: Histogram,
    pub(crate) cpu: CpuUse,
    pub(crate) scheduling: Scheduling,
    pub(crate) failure: Option<Error>,
}

impl Part {
    /// The combination of two threads.
    pub(crate) fn and(mut self, other: Part) -> Part {
        self.lateness.merge(&other.lateness);
        let last = self.last.and(other.last);
        let [up, down] = self.paths;
        let [other_up, other_down] = other.paths;
        let both = |one: Option<PathReport>, other: Option<PathReport>| match (one, other) {
            (Some(one), Some(other)) => Some(one.and(other)),
            (one, other) => one.or(other),
        };
        Part {
            last: EngineSample { lateness: Summary::of(&self.lateness), ..last },
            paths: [both(up, other_up), both(down, other_down)],
            cpu: self.cpu.and(other.cpu),
            scheduling: self.scheduling.and(other.scheduling),
            // The first failure ends all threads; another failure has the same cause.
            failure: self.failure.or(other.failure),
            ..self
        }
    }
}

/// Both clocks at one moment, after a read.
struct Clocks {
    now: Nanos,
    /// The wall clock minus the engine's clock.
    ahead: u64,
}

impl Clocks {
    fn now() -> Clocks {
        let now = thread::now();
        Clocks { now, ahead: thread::wall_clock().wrapping_sub(now.0) }
    }

    /// The engine's time of a receive time; now if there is none. Bounded, so that a step of the wall clock
    /// in between does no harm.
    fn logical(&self, stamp: u64) -> Nanos {
        let stamp = if stamp == 0 { self.now.0 } else { stamp.wrapping_sub(self.ahead) };
        Nanos(stamp.min(self.now.0))
    }
}

/// What frames from one message have in common.
struct Enqueue {
    way: Direction,
    note: Note,
    flow_hash: u32,
}

impl Enqueue {
    fn of(
        way: Direction,
        meta: &Meta,
        inside: Option<Inside>,
        partial: Partial,
        hasher: &FlowHasher,
    ) -> Enqueue {
        let server = if way == Direction::Up { meta.destination } else { meta.source };
        // There are two directions.
        #[allow(clippy::cast_possible_truncation)]
        let (dsfield, host) = (meta.dsfield, host_of(server));
        // As in `cake_update_flowkeys`, the flow also uses the hosts behind address translation. Otherwise
        // pings and fragments of all hosts would be one flow, since no ports distinguish them.
        let [source, destination] =
            inside.map_or([meta.source, meta.destination], |hosts| hosts.map(IpAddr::V4));
        let flow = FlowKey {
            source,
            destination,
            protocol: meta.protocol,
            source_port: meta.source_port,
            destination_port: meta.destination_port,
        };
        Enqueue {
            way,
            note: Note { dsfield, host, way, inside, partial, ..Note::default() },
            flow_hash: hasher.hash(&flow),
        }
    }

    /// Hands a frame with its note to its queue. It arrived at `at`.
    fn hand_in(&self, at: Nanos, frame: u32, channel: &mut impl Channel, pool: &mut Pool) {
        let Note { len, dsfield, gso, .. } = pool.note(frame);
        let truesize = if gso.is_some() { frame::truesize_of_super(len) } else { frame::truesize(len) };
        let packet = Header { cookie: u64::from(frame), len, truesize, flow_hash: self.flow_hash, dsfield };
        channel.arrive(self.way, at, packet, pool);
    }
}

/// Makes the calling thread as punctual as the machine permits.
fn schedule(spin: Option<Span>, pool: &Pool, receive_buffer: u32, awake: bool) -> (Scheduling, Margin) {
    thread::tight_timers();
    let real_time = thread::real_time();
    let short_turns = !real_time && thread::short_turns();
    let cpus = thread::cpus();
    let usual = if real_time { Span::from_micros(10) } else { Span::from_micros(40) };
    let (least, most) = match spin {
        _ if cpus < 2 => (Span::ZERO, Span::ZERO),
        Some(fixed) => (fixed, fixed),
        None => (usual, Span::from_micros(200)),
    };
    let locked = thread::lock_memory(pool.memory());
    let scheduling = Scheduling {
        threads: 1,
        real_time,
        short_turns,
        awake,
        receive_buffer,
        locked,
        spin_least: least,
        spin_most: most,
        cpus,
    };
    (scheduling, Margin { now: least, least, most })
}

/// The server host of an address: 0 for `.2` or `::2`. Addresses outside the lab are host 0.
fn host_of(address: IpAddr) -> u8 {
    let last = match address {
        IpAddr::V4(v4) => v4.octets()[3],
        IpAddr::V6(v6) => v6.octets()[15],
    };
    last.saturating_sub(2)
}

/// Whether the error means that the interface is gone or down.
fn is_link_gone(errno: &io::Error) -> bool {
    matches!(errno.raw_os_error(), Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV))
}

fn link_error(operation: &'static str, socket: &PacketSocket, errno: io::Error) -> Error {
    let interface = socket.interface().to_owned();
    if is_link_gone(&errno) {
        Error::LinkGone { interface, errno }
    } else {
        Error::io(operation, interface, errno)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    /// A ping that leaves a router that translates addresses: no port distinguishes the hosts.
    #[test]
    fn a_flow_is_that_of_the_host_behind_translation() {
        let [router, server] = [Ipv4Addr::new(10, 0, 1, 1), Ipv4Addr::new(10, 0, 2, 2)];
        let meta = Meta {
            source: router.into(),
            destination: server.into(),
            protocol: 1,
            source_port: 0,
            destination_port: 0,
            dsfield: 0,
            fragment: true,
        };
        let hasher = FlowHasher::new(1);
        let hash = |inside| Enqueue::of(Direction::Up, &meta, inside, Partial::default(), &hasher).flow_hash;
        let host = |number| Some([Ipv4Addr::new(10, 3, number, 2), server]);
        assert_ne!(hash(host(1)), hash(host(2)));
        assert_eq!(hash(host(1)), hash(host(1)));
        assert_eq!(hash(None), hash(Some([router, server])), "what is not translated");
    }
}
