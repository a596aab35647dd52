//! The connections that passed a link, as flows of a record.

use std::collections::BTreeMap;

use goodqueue::{Nanos, Span};
use goodqueue_report::{Direction, FlowPlan, FlowQueue, FlowSeries};
use goodqueue_wire::flows::Step;
use goodqueue_wire::frame::{TCP, UDP};
use goodqueue_wire::{Ends, Flow, PathReport};

use super::link::STEP;
use crate::record::signed;

/// Most flows of a record in each direction; one more flow has the sum of the smaller ones.
const MOST: usize = 100;
/// Most consecutive steps without a byte that are written out; for longer pauses the record has only begin
/// and end.
const PAUSE: u64 = 20;

/// What connections delivered in each direction: plan and series of each, the largest first, up before down.
/// Times count from `started`.
pub(super) fn connections(
    [up, down]: [&PathReport; 2],
    started: Nanos,
) -> impl Iterator<Item = (FlowPlan, FlowSeries)> {
    let of = |direction, there: &[Flow], back: &[Flow]| directed(direction, there, back, started);
    let ways = [of(Direction::Up, &up.flows, &down.flows), of(Direction::Down, &down.flows, &up.flows)];
    ways.into_iter().flatten()
}

/// Bytes that arrived, by step number.
type Steps = BTreeMap<u64, u64>;

/// A connection, seen from one direction.
struct OneWay<'a> {
    there: &'a Flow,
    /// The other direction; absent if nothing came back.
    back: Option<&'a Flow>,
    steps: Steps,
    bytes: u64,
}

impl<'a> OneWay<'a> {
    fn new(there: &'a Flow, back: Option<&'a Flow>) -> OneWay<'a> {
        let is_tcp = there.ends.protocol == TCP;
        // TCP may send payload twice: only acknowledged payload counts.
        let arrived = |step: &Step| if is_tcp { step.acked } else { step.payload };
        let of = if is_tcp { back } else { Some(there) };
        let steps = of.into_iter().flat_map(|flow| &flow.steps).map(|step| (step.number, arrived(step)));
        let steps: Steps = steps.filter(|&(_, bytes)| bytes > 0).collect();
        OneWay { there, back, bytes: steps.values().sum(), steps }
    }

    /// When the first and the last packet of either direction came.
    fn life(&self) -> (Nanos, Nanos) {
        let Flow { first, last, .. } = *self.there;
        self.back.map_or((first, last), |back| (first.min(back.first), last.max(back.last)))
    }
}

/// The flows of one direction, `there`; `back` has their acknowledgements.
fn directed(
    direction: Direction,
    there: &[Flow],
    back: &[Flow],
    started: Nanos,
) -> Vec<(FlowPlan, FlowSeries)> {
    let back: BTreeMap<Ends, &Flow> = back.iter().map(|flow| (flow.ends, flow)).collect();
    let seen = there.iter().map(|flow| OneWay::new(flow, back.get(&flow.ends).copied()));
    // A single byte is only the end of a connection.
    let mut all: Vec<OneWay<'_>> = seen.filter(|seen| seen.bytes > 1).collect();
    all.sort_by_key(|seen| std::cmp::Reverse(seen.bytes));
    let smaller = all.split_off(all.len().min(MOST));
    let mut names = BTreeMap::<String, u32>::new();
    let mut flows = Vec::new();
    for seen in &all {
        let name = name(&seen.there.ends, direction);
        let count = names.entry(name.clone()).or_default();
        *count += 1;
        let name = if *count == 1 { name } else { format!("{name} {count}") };
        flows.push(one(name, direction, started, std::slice::from_ref(seen)));
    }
    if !smaller.is_empty() {
        flows.push(one(
            format!("{} smaller {}s", smaller.len(), verb(direction)),
            direction,
            started,
            &smaller,
        ));
    }
    flows
}

fn verb(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => "upload",
        Direction::Down => "download",
    }
}

/// `TCP 8080 download`: the port is the service's.
fn name(ends: &Ends, direction: Direction) -> String {
    let (port, way) = (ends.server.port(), verb(direction));
    match ends.protocol {
        TCP => format!("TCP {port} {way}"),
        UDP => format!("UDP {port} {way}"),
        1 | 58 => format!("ICMP {way}"),
        other => format!("protocol {other} {way}"),
    }
}

/// These connections as one flow, which lasts from the first packet to the last.
fn one(name: String, direction: Direction, started: Nanos, all: &[OneWay<'_>]) -> (FlowPlan, FlowSeries) {
    let at = |time: Nanos| signed(time.since(started));
    let start_ns = all.iter().map(|seen| at(seen.life().0)).min().unwrap_or(0);
    let stop_ns = all.iter().map(|seen| at(seen.life().1)).max().unwrap_or(0);
    let mut steps = Steps::new();
    for (&number, &bytes) in all.iter().flat_map(|seen| &seen.steps) {
        *steps.entry(number).or_default() += bytes;
    }
    let mut series = FlowSeries { queue: Some(queue(all)), ..FlowSeries::default() };
    let mut put = |number: u64, bytes: u64| {
        let end = Span(STEP.0.saturating_mul(number.saturating_add(1)));
        series.t_ns.push(signed(end).clamp(start_ns, stop_ns));
        series.rx_bytes.push(bytes);
    };
    // The first step begins with the flow.
    let mut next = u64::try_from(start_ns).unwrap_or(0) / STEP.0;
    for (&number, &bytes) in &steps {
        match number.saturating_sub(next) {
            0 => {}
            pause if pause <= PAUSE => (next..number).for_each(|pause| put(pause, 0)),
            _ => [next, number - 1].into_iter().for_each(|pause| put(pause, 0)),
        }
        put(number, bytes);
        next = number + 1;
    }
    series.t_ns.insert(0, start_ns);
    series.rx_bytes.insert(0, 0);
    (FlowPlan { name, direction, start_ns, stop_ns, ..FlowPlan::default() }, series)
}

/// What the queue did with the packets of these connections.
fn queue(all: &[OneWay<'_>]) -> FlowQueue {
    let sum = |of: fn(&Flow) -> u64| all.iter().map(|seen| of(seen.there)).sum::<u64>();
    let sent_packets = sum(|flow| flow.sent.packets);
    FlowQueue {
        arrived_packets: sum(|flow| flow.arrived.packets),
        sent_packets,
        drops: sum(|flow| flow.drops),
        marks: sum(|flow| flow.marks),
        waited_mean_ns: sum(|flow| flow.waited.0) / sent_packets.max(1),
        waited_max_ns: all.iter().map(|seen| seen.there.longest.0).max().unwrap_or(0),
    }
}
