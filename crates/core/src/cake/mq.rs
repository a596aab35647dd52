//! `cake_mq`: several instances of `cake` with one configuration that share one rate.
//!
//! Behaviour: Linux 7.0 `sch_cake.c`. Each transmit queue of a device has an instance, so that several
//! processors can send at the same time without a common lock. At a dequeue, at most every [`SYNC_TIME`], an
//! instance looks at the others. One counts as active if it has packets queued, or has sent one since the
//! last look. The instance then shapes to the rate divided by the number of active instances, itself
//! included. Rate that one instance leaves unused is not passed on: it is lost until the others look again.
//!
//! There are two forms: [`CakeMq`] holds all instances in one queue, for one thread; [`Member`] is one
//! instance, for its own thread or transmit queue. Both run the same code.

#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
use alloc::{sync::Arc, vec::Vec};
use core::fmt;
#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::{Cake, InForce, Params, TinState};
#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
use super::{MqParams, Tables};
use crate::hash::{mix, reciprocal_scale};
use crate::memory::Memory;
use crate::queue::sum_of_flows;
use crate::{
    Backlog, BuildError, Configurable, Draws, Inspect, Lcg, Link, Nanos, Owner, Packet, Queue, Span, Stats,
    Verdict,
};
#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
use crate::{
    Rng,
    arena::Slot,
    spec::{MAX_PACKETS, Properties},
};

/// The least time between two looks of an instance at the others (Linux `sync_time`).
pub const SYNC_TIME: Span = Span::from_micros(200);

/// Number of counters of a [`Cake`].
const COUNTERS: usize = 9;

/// One of the instances: a `cake`, and what it needs to share the rate.
pub struct Instance<P: 'static, M: Memory = crate::memory::Usual, D = Lcg> {
    cake: Cake<P, M, D>,
    /// When it last delivered a packet.
    last_active: u64,
    /// When it last looked at the others.
    looked: Option<u64>,
    /// How many were active then.
    active: u32,
}

impl<P: Packet, M: Memory, D: Draws> Instance<P, M, D> {
    /// An instance of `cake`, with the whole rate until it first looks at the others.
    pub const fn new(cake: Cake<P, M, D>) -> Self {
        Instance { cake, last_active: 0, looked: None, active: 1 }
    }

    /// The `cake`.
    pub const fn cake(&self) -> &Cake<P, M, D> {
        &self.cake
    }

    /// How many instances, this one included, were active when it last looked (`active_queues` of `tc -s
    /// qdisc`).
    pub const fn active(&self) -> u32 {
        self.active
    }

    /// Whether it counts as active for another instance that last looked at `since`.
    const fn is_active(&self, since: u64) -> bool {
        self.cake.qlen > 0 || self.last_active > since
    }

    /// `others` takes the time of the last look and returns how many others are active.
    fn dequeue(
        &mut self,
        now: Nanos,
        others: impl FnOnce(u64) -> usize,
        observer: &mut impl Owner<P>,
    ) -> Option<P> {
        let is_due = self.looked.is_none_or(|looked| now.0.wrapping_sub(looked) >= SYNC_TIME.0);
        if is_due && self.cake.rate > 0 {
            let active = 1 + u32::try_from(others(self.looked.unwrap_or(0))).unwrap_or(0);
            self.looked = Some(now.0);
            if active != self.active {
                self.active = active;
                self.cake.divide_rate(active);
            }
        }
        let packet = self.cake.cake_dequeue(now, observer)?;
        self.last_active = now.0;
        Some(packet)
    }
}

impl<P: Packet, M: Memory, D: Draws> Clone for Instance<P, M, D>
where
    Cake<P, M, D>: Clone,
{
    fn clone(&self) -> Self {
        Instance { cake: self.cake.clone(), ..*self }
    }
}

impl<P: Packet, M: Memory, D: Draws> fmt::Debug for Instance<P, M, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = f.debug_struct("Instance");
        words.field("cake", &self.cake).field("active", &self.active).finish_non_exhaustive()
    }
}

/// A child of [`CakeMq`]: an instance with its watchdog.
#[derive(Clone, Debug)]
pub struct Child<I> {
    instance: I,
    /// Before this time it has nothing to send (the watchdog of its queueing discipline in Linux).
    wakes: u64,
}

impl<I> Child<I> {
    /// A child for an instance with an empty queue.
    pub const fn new(instance: I) -> Self {
        Child { instance, wakes: 0 }
    }
}

/// `cake_mq` in one queue. The flow's hash selects the instance, as [`crate::MultiPort`] selects a lane.
/// `dequeue` asks the instances in turn, one packet each. It asks only those that have received a packet or
/// whose shaper has opened, as Linux does.
///
/// # Example
///
/// Two instances that are both active: each shapes to half of the 20 Mbit/s, so that 100 ms carry 165
/// packets.
///
/// ```
/// use goodqueue::cake::MqParams;
/// use goodqueue::spec::QueueParams;
/// use goodqueue::{AnyQueue, Header, Ignore, Nanos, Queue, QueueSpec, Rate, Span};
///
/// let params = MqParams { queues: 2, bandwidth: Some(Rate(20_000_000)), ..Default::default() };
/// let spec = QueueSpec::try_from(QueueParams::CakeMq(params))?;
/// let mut queue = spec.build::<Header>(Rate(1_000_000_000), 1514, Nanos::ZERO)?;
/// for cookie in 0..600 {
///     // 20 flows, spread over both instances by their hashes.
///     let flow_hash = (cookie % 20_u32).wrapping_mul(0x9e37_79b1);
///     let packet = Header { cookie: cookie.into(), len: 1514, truesize: 2304, flow_hash, dsfield: 0 };
///     queue.enqueue(Nanos::ZERO, packet, &mut Ignore);
/// }
/// let (mut now, mut sent) = (Nanos::ZERO, 0);
/// while now < Nanos::ZERO + Span::from_millis(100) {
///     while queue.dequeue(now, &mut Ignore).is_some() {
///         sent += 1;
///     }
///     now = queue.next_wake(now).ok_or("packets are left")?;
/// }
/// assert!((163..=170).contains(&sent), "{sent}");
/// let AnyQueue::CakeMq(queue) = queue else { panic!("a cake_mq") };
/// assert!(queue.instances().all(|instance| instance.active() == 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct CakeMq<P: 'static, M: Memory = crate::memory::Usual, D: 'static = Lcg> {
    children: M::Of<Child<Instance<P, M, D>>>,
    /// The instance served last.
    served: usize,
    backlog: Backlog,
}

impl<P: Packet, M: Memory, D: Draws + 'static> CakeMq<P, M, D> {
    /// The instances.
    pub fn instances(&self) -> impl ExactSizeIterator<Item = &Instance<P, M, D>> {
        self.children.iter().map(|child| &child.instance)
    }

    /// The instance of flows with this hash: floor(mixed hash * instances / 2^32).
    pub fn instance_of(&self, flow_hash: u32) -> usize {
        reciprocal_scale(mix(flow_hash), self.children.len()) as usize
    }

    fn cakes(&self) -> impl Iterator<Item = &Cake<P, M, D>> {
        self.children.iter().map(|child| &child.instance.cake)
    }
}

impl<P: Packet, M: Memory, D: Draws + 'static> fmt::Debug for CakeMq<P, M, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.instances()).finish()
    }
}

impl<P: Packet, M: Memory, D: Draws + 'static> Configurable<P> for CakeMq<P, M, D> {
    /// The parameters of every instance, and the rate of all together. `autorate_ingress` has no effect:
    /// Linux refuses it.
    type Params = InForce;
    /// The instances, at least one.
    type Parts = M::Of<Child<Instance<P, M, D>>>;

    fn new(now: Nanos, params: InForce, link: Link, children: Self::Parts) -> Result<Self, BuildError> {
        let served = children.as_ref().len().checked_sub(1).ok_or(BuildError::NoPlace)?;
        let mut queue = CakeMq { children, served, backlog: Backlog::default() };
        queue.set_params(now, params, link)?;
        Ok(queue)
    }

    /// Each instance has the whole rate until it looks again.
    fn set_params(&mut self, now: Nanos, params: InForce, link: Link) -> Result<(), BuildError> {
        let given = Params { autorate_ingress: false, ..params.given };
        let params = InForce { given, ..params };
        // All or none: they have equal storage, so if any fails, the first does.
        for child in self.children.iter_mut() {
            child.instance.cake.set_params(now, params, link)?;
            child.instance.active = 1;
            child.wakes = 0;
        }
        Ok(())
    }

    fn drop_excess(&mut self, now: Nanos, owner: &mut impl Owner<P>) {
        for child in self.children.iter_mut() {
            let cake = &mut child.instance.cake;
            let before = cake.backlog();
            cake.drop_excess(now, owner);
            self.backlog.change(before, cake.backlog());
        }
    }
}

impl<P: Packet, M: Memory, D: Draws + 'static> Queue<P> for CakeMq<P, M, D> {
    fn enqueue(&mut self, now: Nanos, packet: P, observer: &mut impl Owner<P>) -> Verdict {
        let at = self.instance_of(packet.flow_hash());
        let child = &mut self.children[at];
        let cake = &mut child.instance.cake;
        let before = cake.backlog();
        let verdict = cake.cake_enqueue(now, packet, observer);
        self.backlog.change(before, cake.backlog());
        child.wakes = 0;
        verdict
    }

    fn dequeue(&mut self, now: Nanos, observer: &mut impl Owner<P>) -> Option<P> {
        let count = self.children.len();
        for at in (self.served + 1..count).chain(0..=self.served) {
            let (before, rest) = self.children.split_at_mut(at);
            let Some((child, after)) = rest.split_first_mut() else { continue };
            let held = child.instance.cake.backlog();
            if held.packets == 0 || child.wakes > now.0 {
                continue;
            }
            let others = |since| {
                before.iter().chain(after.iter()).filter(|other| other.instance.is_active(since)).count()
            };
            let packet = child.instance.dequeue(now, others, observer);
            self.backlog.change(held, child.instance.cake.backlog());
            if packet.is_some() {
                self.served = at;
                return packet;
            }
            child.wakes = child.instance.cake.next_wake(now).map_or(0, |wake| wake.0);
        }
        None
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        self.cakes().filter_map(|cake| cake.next_wake(now)).min()
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn reset(&mut self, now: Nanos, observer: &mut impl Owner<P>) {
        for child in self.children.iter_mut() {
            child.instance.cake.reset(now, observer);
        }
        self.backlog = Backlog::default();
    }
}

impl<P: Packet, M: Memory, D: Draws + 'static> Inspect for CakeMq<P, M, D> {
    fn stats(&self) -> Stats {
        self.cakes().map(Inspect::stats).sum()
    }

    /// Those of `cake`, summed over the instances.
    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        let mut sums = [("", 0); COUNTERS];
        for cake in self.cakes() {
            let mut sum = sums.iter_mut();
            cake.counters(&mut |name, value| {
                if let Some(sum) = sum.next() {
                    *sum = (name, sum.1 + value);
                }
            });
        }
        sums.into_iter().for_each(|(name, value)| each(name, value));
    }

    fn waiting_flows(&self) -> Option<(u32, u32)> {
        sum_of_flows(self.cakes().map(Inspect::waiting_flows))
    }

    /// The tins of the first instance, then those of the next.
    fn tins(&self, each: &mut dyn FnMut(TinState)) {
        self.cakes().for_each(|cake| cake.tins(each));
    }
}

/// What an instance shows the others, in its own cache line. Only its own thread writes it. Another thread
/// may see an old value; its count of active instances is then that of a moment earlier.
#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
#[derive(Debug, Default)]
#[repr(align(64))]
struct Shown {
    packets: AtomicU32,
    last_active: AtomicU64,
}

/// One instance of `cake_mq` for its own thread or transmit queue. It shows the others its state in two
/// atomic numbers, and takes no lock.
#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
#[derive(Debug)]
pub struct Member<P: Packet, D: Draws = Lcg> {
    instance: Instance<P, crate::Heap, D>,
    at: usize,
    all: Arc<[Shown]>,
}

#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
impl<P: Packet, D: Draws> Member<P, D> {
    /// The members of a group. All instances should have the same parameters; the bandwidth of each is that
    /// of the group. In Linux they cannot be changed individually.
    #[must_use]
    pub fn group(cakes: Vec<Cake<P, crate::Heap, D>>) -> Vec<Member<P, D>> {
        let all: Arc<[Shown]> = cakes.iter().map(|_| Shown::default()).collect();
        let member = |(at, cake)| Member { instance: Instance::new(cake), at, all: Arc::clone(&all) };
        cakes.into_iter().enumerate().map(member).collect()
    }

    /// The instance.
    pub const fn instance(&self) -> &Instance<P, crate::Heap, D> {
        &self.instance
    }

    /// Shows the others how many packets are queued. The order in which they see it does not matter.
    fn show(&self) {
        self.all[self.at].packets.store(self.instance.cake.qlen, Ordering::Relaxed);
    }
}

#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
impl<P: Packet> Member<P> {
    /// A group of `count` members with the parameters of `params`, whose own number of queues has no effect.
    /// Random numbers come from `draws`.
    ///
    /// # Errors
    /// Those of [`Cake`].
    pub fn build(
        params: &MqParams,
        count: u32,
        link: Link,
        now: Nanos,
        mut draws: Rng,
    ) -> Result<Vec<Member<P>>, BuildError> {
        let params = params.instance();
        let in_force = params.on_link(link);
        let places = usize::try_from(params.places(link, 0)?.min(MAX_PACKETS)).unwrap_or(usize::MAX);
        let cake = |_| {
            let own = draws.clone().into();
            draws.next_u64();
            let tables = Tables::on_heap(params.diffserv.tins(), params.flows);
            Cake::new(now, in_force, link, (own, tables, alloc::vec![Slot::default(); places]))
        };
        Ok(Member::group((0..count).map(cake).collect::<Result<_, _>>()?))
    }
}

#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
impl<P: Packet, D: Draws> Queue<P> for Member<P, D> {
    fn enqueue(&mut self, now: Nanos, packet: P, observer: &mut impl Owner<P>) -> Verdict {
        let verdict = self.instance.cake.cake_enqueue(now, packet, observer);
        self.show();
        verdict
    }

    fn dequeue(&mut self, now: Nanos, observer: &mut impl Owner<P>) -> Option<P> {
        let (own, all) = (self.at, &self.all);
        let others = |since| {
            let is_active = |(at, shown): (usize, &Shown)| {
                at != own
                    && (shown.packets.load(Ordering::Relaxed) > 0
                        || shown.last_active.load(Ordering::Relaxed) > since)
            };
            all.iter().enumerate().filter(|&each| is_active(each)).count()
        };
        let packet = self.instance.dequeue(now, others, observer);
        self.show();
        self.all[own].last_active.store(self.instance.last_active, Ordering::Relaxed);
        packet
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        self.instance.cake.next_wake(now)
    }

    fn backlog(&self) -> Backlog {
        self.instance.cake.backlog()
    }

    fn reset(&mut self, now: Nanos, observer: &mut impl Owner<P>) {
        self.instance.cake.reset(now, observer);
        self.show();
    }
}

#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
impl<P: Packet, D: Draws> Member<P, D> {
    /// Gives this member other parameters; each member of a group takes them by itself. It keeps its share of
    /// the rate until it looks again.
    ///
    /// # Errors
    /// As [`Configurable::configure`] of its `cake`.
    pub fn configure(
        &mut self,
        now: Nanos,
        params: &MqParams,
        link: Link,
        owner: &mut impl Owner<P>,
    ) -> Result<(), BuildError> {
        let Instance { cake, active, .. } = &mut self.instance;
        cake.configure(now, params.instance().on_link(link), link, owner)?;
        if *active > 1 {
            cake.divide_rate(*active);
        }
        self.show();
        Ok(())
    }
}

/// The flows and tins of its own instance.
#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
impl<P: Packet, D: Draws> Inspect for Member<P, D> {
    fn stats(&self) -> Stats {
        self.instance.cake.stats()
    }

    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        self.instance.cake.counters(each);
    }

    fn waiting_flows(&self) -> Option<(u32, u32)> {
        self.instance.cake.waiting_flows()
    }

    fn tins(&self, each: &mut dyn FnMut(TinState)) {
        self.instance.cake.tins(each);
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;
    use crate::cake::{Diffserv, Tables};
    use crate::{Header, Ignore, QueueSpec, Rate};

    const LINK: Link = Link::ethernet(Rate(1_000_000_000));
    const START: u64 = 1_000_000_000;

    /// A byte takes a microsecond, if one instance is active.
    fn params() -> InForce {
        shaped(Rate(8_000_000), Diffserv::Besteffort)
    }

    fn shaped(rate: Rate, diffserv: Diffserv) -> InForce {
        Params { bandwidth: Some(rate), diffserv, ..Params::default() }.on_link(LINK)
    }

    fn queue(params: InForce, instances: usize) -> CakeMq<Header> {
        let child = |_| {
            let slots = alloc::vec![crate::arena::Slot::default(); 64];
            let cake = Cake::new(Nanos(0), params, LINK, (Lcg::new(1), Tables::on_heap(3, 8), slots));
            Child::new(Instance::new(cake.expect("storage")))
        };
        CakeMq::new(Nanos(0), params, LINK, (0..instances).map(child).collect()).expect("instances")
    }

    /// A packet of 100 bytes for an instance.
    fn put(queue: &mut CakeMq<Header>, now: u64, instance: usize) {
        let flow_hash = (0..).find(|&hash| queue.instance_of(hash) == instance).expect("a hash");
        let packet = Header { len: 100, truesize: 800, flow_hash, ..Header::default() };
        assert_eq!(queue.enqueue(Nanos(now), packet, &mut Ignore), Verdict::Enqueued);
    }

    /// Takes the packets that can leave at `now`; returns how many.
    fn take(queue: &mut CakeMq<Header>, now: u64) -> usize {
        core::iter::from_fn(|| queue.dequeue(Nanos(now), &mut Ignore)).count()
    }

    fn active(queue: &CakeMq<Header>) -> Vec<u32> {
        queue.instances().map(Instance::active).collect()
    }

    #[test]
    fn who_has_packets_counts_and_the_rate_is_divided() {
        let mut queue = queue(params(), 3);
        for _ in 0..20 {
            put(&mut queue, START, 0);
            put(&mut queue, START, 1);
        }
        assert_eq!(take(&mut queue, START), 2);
        assert_eq!(active(&queue), [2, 2, 1]);
        // 100 us at the whole rate.
        assert_eq!(queue.next_wake(Nanos(START)), Some(Nanos(START + 200_000)));
        let at_half = queue.instances().next().expect("three").cake().tin(0).expect("a tin").rate;
        assert_eq!(at_half, 500_000);
    }

    #[test]
    fn who_has_sent_since_the_last_look_counts_once_more() {
        let mut queue = queue(params(), 2);
        put(&mut queue, START, 1);
        assert_eq!(take(&mut queue, START), 1);
        // The first look: the other one has sent at some time before.
        put(&mut queue, START + 500_000, 0);
        assert_eq!((take(&mut queue, START + 500_000), active(&queue)), (1, alloc::vec![2, 1]));
        // The second look: it has sent nothing since the first.
        put(&mut queue, START + 1_000_000, 0);
        assert_eq!((take(&mut queue, START + 1_000_000), active(&queue)), (1, alloc::vec![1, 1]));
    }

    #[test]
    fn nobody_looks_again_within_200_us() {
        let mut queue = queue(params(), 2);
        put(&mut queue, START, 0);
        assert_eq!(take(&mut queue, START), 1);
        put(&mut queue, START + 100_000, 1);
        assert_eq!(take(&mut queue, START + 100_000), 1);
        put(&mut queue, START + 199_999, 0);
        assert_eq!((take(&mut queue, START + 199_999), active(&queue)), (1, alloc::vec![1, 2]));
        put(&mut queue, START + 300_000, 0);
        assert_eq!((take(&mut queue, START + 300_000), active(&queue)), (1, alloc::vec![2, 2]));
    }

    #[test]
    fn without_a_rate_nobody_looks() {
        let mut queue = queue(shaped(Rate(0), Diffserv::Besteffort), 2);
        put(&mut queue, START, 0);
        put(&mut queue, START, 1);
        assert_eq!((take(&mut queue, START), active(&queue)), (2, alloc::vec![1, 1]));
    }

    #[test]
    fn the_control_law_and_the_memory_limit_do_not_change_with_the_rate() {
        let mut queue = queue(shaped(Rate(4_000_000), Diffserv::Diffserv3), 2);
        let seen = |queue: &CakeMq<Header>| {
            let cake = queue.instances().next().expect("two").cake();
            let tins = core::array::from_fn(|tin| cake.tin(u32::try_from(tin).expect("few")).expect("a tin"));
            let rates: [u64; 3] = core::array::from_fn(|tin: usize| <[_; 3]>::clone(&tins)[tin].rate);
            let laws: [_; 3] = core::array::from_fn(|tin: usize| {
                let tin = <[crate::cake::TinState; 3]>::clone(&tins)[tin];
                (tin.target, tin.interval, tin.mtu_time, tin.tin_quantum)
            });
            (rates, laws, cake.state().memory_limit)
        };
        let (rates, laws, limit) = seen(&queue);
        assert_eq!(rates, [500_000, 31_250, 125_000]);
        put(&mut queue, START, 0);
        put(&mut queue, START, 1);
        take(&mut queue, START);
        assert_eq!(seen(&queue), ([250_000, 15_625, 62_500], laws, limit));
    }

    #[test]
    fn other_parameters_give_everybody_the_whole_rate_until_the_next_look() {
        let mut queue = queue(params(), 2);
        put(&mut queue, START, 0);
        put(&mut queue, START, 1);
        take(&mut queue, START);
        let twice = shaped(Rate(16_000_000), Diffserv::Besteffort);
        queue.configure(Nanos(START), twice, LINK, &mut Ignore).expect("parameters");
        let rates: Vec<u64> = queue.instances().map(|one| one.cake().tin(0).expect("a tin").rate).collect();
        assert_eq!((active(&queue), rates), (alloc::vec![1, 1], alloc::vec![2_000_000; 2]));
        let none = <CakeMq<Header>>::new(Nanos(0), params(), LINK, Vec::new());
        assert_eq!(none.err(), Some(BuildError::NoPlace));
    }

    #[cfg(target_has_atomic = "64")]
    #[test]
    fn a_member_with_another_rate_keeps_its_share_of_it() {
        let diffserv = Diffserv::Besteffort;
        let setup = MqParams { bandwidth: Some(Rate(8_000_000)), diffserv, ..MqParams::default() };
        let members = Member::<Header>::build(&setup, 2, LINK, Nanos(0), Rng::new(1)).expect("members");
        let Ok([mut one, mut other]) = <[_; 2]>::try_from(members) else { panic!("two") };
        let packet = Header { len: 100, truesize: 800, ..Header::default() };
        for member in [&mut one, &mut other] {
            member.enqueue(Nanos(START), packet, &mut Ignore);
            member.enqueue(Nanos(START), packet, &mut Ignore);
        }
        one.dequeue(Nanos(START), &mut Ignore).expect("a packet");
        let twice = MqParams { bandwidth: Some(Rate(16_000_000)), ..setup };
        one.configure(Nanos(START), &twice, LINK, &mut Ignore).expect("parameters");
        assert_eq!((one.instance().active(), one.backlog().packets), (2, 1));
        assert_eq!(one.instance().cake().tin(0).map(|tin| tin.rate), Some(1_000_000));
    }

    #[test]
    fn of_a_text_the_first_instance_is_the_cake_of_the_same_text() {
        let build = |text: &str| {
            let spec: QueueSpec = text.parse().expect(text);
            spec.build::<Header>(Rate(1_000_000_000), 1514, Nanos(0)).expect(text)
        };
        let [mut cake, mut one] =
            ["cake:diffserv4,bandwidth=9mbit", "cake_mq:diffserv4,bandwidth=9mbit,queues=1"].map(build);
        let mut random = crate::Rng::new(3);
        let mut now = START;
        for cookie in 0..3000 {
            let hash = u32::try_from(random.below(50)).expect("small") << 20;
            let packet = Header { cookie, len: 1000, truesize: 2000, flow_hash: hash, dsfield: 0 };
            assert_eq!(
                cake.enqueue(Nanos(now), packet, &mut Ignore),
                one.enqueue(Nanos(now), packet, &mut Ignore)
            );
            now += random.below(2_000_000);
            assert_eq!(cake.dequeue(Nanos(now), &mut Ignore), one.dequeue(Nanos(now), &mut Ignore));
        }
    }

    /// Two threads, each with an instance that always has packets: in the end each has seen the other.
    #[cfg(target_has_atomic = "64")]
    #[test]
    fn members_in_threads_see_each_other() {
        extern crate std;
        let cake = |_| {
            let slots = alloc::vec![crate::arena::Slot::default(); 64];
            Cake::new(Nanos(0), params(), LINK, (Lcg::new(1), Tables::on_heap(1, 8), slots)).expect("storage")
        };
        let barrier = std::sync::Barrier::new(2);
        let run = |mut member: Member<Header>| {
            let packet = Header { len: 100, truesize: 800, ..Header::default() };
            member.enqueue(Nanos(START), packet, &mut Ignore);
            member.enqueue(Nanos(START), packet, &mut Ignore);
            barrier.wait();
            member.dequeue(Nanos(START), &mut Ignore).expect("a packet");
            member.instance().active()
        };
        let seen: Vec<u32> = std::thread::scope(|scope| {
            let threads: Vec<_> = Member::group((0..2).map(cake).collect())
                .into_iter()
                .map(|one| scope.spawn(|| run(one)))
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        assert_eq!(seen, [2, 2]);
    }
}
