//! `fq` under replay: the owner of its packets is the sending host, whose sockets have rates.

use std::collections::BTreeMap;

use goodqueue::fq::Params;
use goodqueue::{
    Configurable, Fq, Header, Inspect, Link, Nanos, Observer, Origin, PacketInfo, Queue, Rate, Reason, Socket,
};

use super::format::{Input, Sending};
use super::subject::{
    Collect, Listing, Results, Setup, Subject, call_with, changed, common_state, narrow, woken,
};
use super::text::{Number, field};
use super::{Fault, subject};

/// A socket of the sending host.
#[derive(Clone, Copy, Debug)]
struct Peer {
    rate: Option<u64>,
    hash: u32,
    is_connected: bool,
}

/// The sending host: its sockets, and the origin of each packet in the queue.
#[derive(Debug, Default)]
struct Host {
    sockets: BTreeMap<u64, Peer>,
    packets: BTreeMap<u64, Sending>,
}

impl Host {
    fn note(&mut self, id: u64, sending: Sending) {
        if let Some(number) = sending.sk {
            let hash = number.wrapping_mul(2_654_435_761) & u64::from(u32::MAX);
            let new = Peer { rate: None, hash: u32::try_from(hash).unwrap_or(0), is_connected: true };
            let peer = self.sockets.entry(number).or_insert(new);
            peer.rate = sending.rate.or(peer.rate);
            peer.hash = sending.skhash.unwrap_or(peer.hash);
            // TCP_CLOSE: a socket without a peer.
            peer.is_connected &= sending.skstate != Some(7);
        }
        self.packets.insert(id, sending);
    }
}

/// The host as the observer of the queue.
struct Owner<'a> {
    host: &'a Host,
    collect: Collect<'a>,
}

impl Listing for Owner<'_> {
    fn results(&mut self) -> &mut Results {
        self.collect.0
    }
}

impl Observer<Header> for Owner<'_> {
    fn dropped(&mut self, now: Nanos, packet: Header, reason: Reason) {
        self.collect.dropped(now, packet, reason);
    }
    fn marked(&mut self, now: Nanos, packet: &Header, reason: Reason) {
        self.collect.marked(now, packet, reason);
    }
}

impl PacketInfo<Header> for Owner<'_> {
    fn origin(&self, packet: &Header) -> Origin {
        let Some(sending) = self.host.packets.get(&packet.cookie) else { return Origin::default() };
        let socket = sending.sk.and_then(|number| {
            let peer = self.host.sockets.get(&number)?;
            Some(Socket { id: number, hash: peer.hash, is_connected: peer.is_connected })
        });
        Origin { socket, departure: sending.tstamp.map(Nanos), priority: sending.prio }
    }

    fn pacing_rate(&self, packet: &Header) -> Option<u64> {
        let number = self.host.packets.get(&packet.cookie)?.sk?;
        self.host.sockets.get(&number)?.rate
    }
}

struct FqSubject {
    queue: Fq<Header>,
    link: Link,
    host: Host,
}

fn set(params: &mut Params, key: &str, value: Number) -> Result<(), String> {
    let rate = || narrow::<u32>(key, value).map(|bytes| Rate(u64::from(bytes) * 8));
    match key {
        "rate_enable" => params.pacing = value != 0,
        "maxrate" => params.maxrate = Some(rate()?).filter(|_| value != Number::from(u32::MAX)),
        "low_rate_threshold" => params.low_rate_threshold = rate()?,
        "buckets_log" => match narrow::<u32>(key, value) {
            Ok(log @ 1..=18) => params.buckets = 1 << log,
            _ => return Err("buckets_log: 1 to 18".to_string()),
        },
        // The caller is responsible for the slack of the wake-up.
        "timer_slack" => {}
        _ => subject::set(params, key, value)?,
    }
    Ok(())
}

pub(super) fn fq(setup: &Setup<'_>) -> Result<Box<dyn Subject>, Fault> {
    let params = setup.params(Params { hz: setup.header.hz, ..Params::default() }, set)?;
    let (flows, nodes) = (Setup::places(setup.arrivals + 1), Setup::places(setup.arrivals + 1));
    let link = setup.link();
    let parts = (Setup::places(params.buckets as usize), flows, nodes);
    let queue =
        Fq::new(Nanos(setup.header.start_ns), params, link, parts).map_err(|error| setup.fault(error))?;
    Ok(Box::new(FqSubject { queue, link, host: Host::default() }))
}

impl Subject for FqSubject {
    fn effective(&self, key: &str) -> Option<Number> {
        let params = self.queue.params();
        Some(match key {
            "limit" => params.limit.into(),
            "flow_limit" => params.flow_limit.into(),
            "quantum" => params.quantum(self.link).into(),
            "initial_quantum" => params.initial_quantum(self.link).into(),
            "rate_enable" => params.pacing.into(),
            "maxrate" => params.maxrate.map_or(u64::MAX, |rate| rate.0 / 8).into(),
            "buckets_log" => params.buckets.ilog2().into(),
            "refill_delay_jiffies" => params.refill_delay_jiffies().into(),
            "orphan_mask" => params.orphan_mask.into(),
            "low_rate_threshold" => (params.low_rate_threshold.0 / 8).into(),
            "ce_threshold_ns" => params.ce_threshold().0.into(),
            "timer_slack" => 10_000,
            "horizon_ns" => params.horizon.0.into(),
            "horizon_drop" => params.horizon_drop.into(),
            _ => return None,
        })
    }

    fn call(&mut self, now: Nanos, input: &Input<'_>, results: &mut Results) -> Result<(), String> {
        if let Input::Enqueue(arrival) = input {
            self.host.note(arrival.id, arrival.sending);
        }
        let link = self.link;
        let mut owner = Owner { host: &self.host, collect: Collect(results) };
        let change =
            |queue: &mut Fq<Header>, entries: &[super::text::Entry<'_, Number>], owner: &mut Owner<'_>| {
                let params = changed(*queue.params(), entries, set)?;
                if params.buckets != queue.params().buckets {
                    return Err("buckets_log is fixed at creation".to_string());
                }
                queue.configure(now, params, link, owner).map_err(|error| error.to_string())?;
                // Above the new limit: the last of the dequeues delivered nothing.
                let wake = queue.watchdog().filter(|_| queue.backlog().packets > params.limit);
                owner.results().extend(wake.map(woken));
                Ok(())
            };
        call_with(&mut self.queue, now, input, &mut owner, change, |queue| queue.watchdog())?;
        Ok(())
    }

    fn state(&self, key: &str) -> Option<Number> {
        let (counters, flows) = (self.queue.fq_counters(), self.queue.flow_counts());
        Some(match key {
            "flows" => flows.flows.into(),
            "inactive_flows" => flows.inactive.into(),
            "throttled_flows" => flows.throttled.into(),
            "time_next_delayed_flow" => self.queue.watchdog().map_or(u64::MAX, |time| time.0).into(),
            "unthrottle_latency_ns" => self.queue.unthrottle_latency().0.into(),
            _ => {
                let counted = field!(
                    key,
                    counters,
                    gc_flows,
                    internal_packets,
                    throttled,
                    ce_mark,
                    horizon_drops,
                    horizon_caps,
                    flows_plimit,
                    pkts_too_long
                );
                return counted.or_else(|| common_state(key, self.queue.backlog(), self.queue.stats()));
            }
        })
    }
}
