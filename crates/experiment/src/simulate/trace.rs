//! Traced flows: which ones were requested, and the data that the run keeps for them.

use goodqueue::Span;
use goodqueue_probe::Test;
use goodqueue_report::trace::{Event, Leg, Segment, Trace, What};
use goodqueue_sim::tcp::Sack;
use goodqueue_sim::{Scenario, Simulation, TraceEvent};

use super::Job;
use crate::Error;
use crate::hint::did_you_mean;

/// Most events of a turn that are kept, about 100 bytes each: four for every segment.
const MOST: usize = 5_000_000;
/// TCP's header without options, bytes: Linux's MSS leaves room for it and for the IP header.
const TCP_HEADER: u32 = 20;

/// The numbers of the flows that `--trace` names, in ascending order.
///
/// # Errors
/// [`Error::Usage`] for a word that names no flow.
pub(crate) fn select(words: &[String], test: &Test) -> Result<Vec<usize>, Error> {
    let mut chosen = Vec::new();
    for word in words {
        let named = test.flows.iter().position(|flow| flow.name.eq_ignore_ascii_case(word));
        let numbered = || word.parse().ok().and_then(|n: usize| n.checked_sub(1));
        match named.or_else(numbered).filter(|&index| index < test.flows.len()) {
            Some(index) => chosen.push(index),
            None if word == "all" && !test.flows.is_empty() => chosen.extend(0..test.flows.len()),
            None => return Err(unknown(word, test)),
        }
    }
    chosen.sort_unstable();
    chosen.dedup();
    Ok(chosen)
}

fn unknown(word: &str, test: &Test) -> Error {
    let names: Vec<&str> = test.flows.iter().map(|flow| flow.name.as_str()).collect();
    Error::Usage(if names.is_empty() {
        format!("--trace {word}: {} has no TCP flows", test.name)
    } else {
        let numbered = (1..).zip(&names).map(|(n, name)| format!("{n} \"{name}\""));
        let numbered: Vec<String> = numbered.collect();
        format!(
            "--trace {word}: no such flow; {} has {}, or all of them: all{}",
            test.name,
            numbered.join(", "),
            did_you_mean(word, &names)
        )
    })
}

/// The traces of a turn as they grow.
#[derive(Debug)]
pub(crate) struct Tracer {
    traces: Vec<Trace>,
    /// Index of each flow in `traces`, by its number.
    places: Vec<Option<usize>>,
    origin: Span,
    left: usize,
}

impl Tracer {
    /// Asks the simulation of `job` to trace the flows that the job names.
    pub(crate) fn new(job: &Job, simulation: &mut Simulation) -> Tracer {
        let mut tracer = Tracer {
            traces: Vec::new(),
            places: vec![None; job.test.flows.len()],
            origin: job.scenario.origin,
            left: MOST,
        };
        for &flow in &job.traced {
            let Some(trace) = begin(job, flow) else { continue };
            simulation.trace_flow(flow);
            tracer.places[flow] = Some(tracer.traces.len());
            tracer.traces.push(trace);
        }
        tracer
    }

    /// Keeps the events that were recorded in the last step.
    pub(crate) fn take(&mut self, simulation: &mut Simulation) {
        for event in simulation.take_trace() {
            let at_ns = event.at.0.saturating_sub(self.origin.0);
            let Some(left) = self.left.checked_sub(1) else {
                self.traces.iter_mut().for_each(|trace| trace.cut_ns = trace.cut_ns.or(Some(at_ns)));
                continue;
            };
            let Some(place) = self.places.get(event.flow as usize).copied().flatten() else { continue };
            self.left = left;
            self.traces[place].events.push(kept(&event, at_ns));
        }
    }

    pub(crate) fn into_traces(self) -> Vec<Trace> {
        self.traces
    }
}

/// The trace of a flow before anything has happened.
fn begin(job: &Job, flow: usize) -> Option<Trace> {
    let scenario = &job.scenario;
    let ends = scenario.flow_ends(flow)?;
    let ip_header = if ends[0].is_ipv6() { 40 } else { 20 };
    let mss = goodqueue::ETHERNET_MTU - ip_header - TCP_HEADER;
    Some(Trace {
        queue: job.queue.clone(),
        flow: job.test.flows.get(flow)?.name.clone(),
        ends,
        mss: u16::try_from(mss).unwrap_or(u16::MAX),
        window_scale: window_scale(scenario.tcp.tcp_rmem[2]),
        links: links(scenario),
        events: Vec::new(),
        cut_ns: None,
    })
}

/// Linux's choice for the largest receive buffer (6.1 `tcp_output.c:tcp_select_initial_window`).
fn window_scale(most: u32) -> u8 {
    let bits = most.max(1).ilog2().saturating_sub(15).min(14);
    u8::try_from(bits).unwrap_or(14)
}

fn links(scenario: &Scenario) -> Vec<String> {
    let name = |node: usize| scenario.nodes.get(node).map_or("", String::as_str);
    scenario.links.iter().map(|link| format!("{} to {}", name(link.from), name(link.to))).collect()
}

fn kept(event: &TraceEvent, at_ns: u64) -> Event {
    let segment = &event.segment;
    Event {
        at_ns,
        what: match event.what {
            goodqueue_sim::What::Sent => What::Sent,
            goodqueue_sim::What::Marked(reason) => What::Marked(reason.name()),
            goodqueue_sim::What::Dropped(reason) => What::Dropped(reason.name()),
            goodqueue_sim::What::Delivered => What::Delivered,
        },
        leg: match event.leg {
            goodqueue_sim::Leg::Data => Leg::Data,
            goodqueue_sim::Leg::Ack => Leg::Ack,
        },
        link: event.link,
        dsfield: event.dsfield,
        segment: Segment {
            seq: segment.seq,
            ack: segment.ack,
            len: segment.len,
            window: segment.window,
            ts_val: segment.ts_val,
            ts_ecr: segment.ts_ecr,
            sack: segment.sack.map(|Sack { start, end }| [start, end]),
            sacks: segment.sacks,
            flags: segment.flags.wire().to_be_bytes()[1],
            retransmitted: segment.retransmitted,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Plan, Request};

    fn test(words: &str) -> Test {
        Plan::resolve(&Request::of_words(words)).expect("a plan").test.test().expect("a test")
    }

    #[test]
    fn flows_go_by_name_and_by_number() {
        let test = test("tcp_nup --flows 3");
        let chosen = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            select(&words, &test).map_err(|end| end.to_string())
        };
        let name = test.flows[1].name.as_str();
        assert_eq!(chosen(&[]), Ok(vec![]));
        assert_eq!(chosen(&["3", name, "2"]), Ok(vec![1, 2]));
        assert_eq!(chosen(&["all", "1"]), Ok(vec![0, 1, 2]));
        for wrong in ["0", "4", "-1", "18446744073709551616", ""] {
            let error = chosen(&[wrong]).expect_err("no such flow");
            assert!(error.starts_with(&format!("--trace {wrong}: no such flow")), "{error}");
            assert!(error.contains(&format!("2 \"{name}\"")), "{error}");
        }
    }

    #[test]
    fn a_test_without_flows_has_none_to_trace() {
        let error = select(&["all".into()], &test("ping")).expect_err("no flow").to_string();
        assert_eq!(error, "--trace all: ping has no TCP flows");
    }

    /// Linux's default of 6 MiB gives 7.
    #[test]
    fn the_window_scale_is_that_of_linux() {
        let scales = [0, 65_535, 65_536, 6_291_456, u32::MAX].map(window_scale);
        assert_eq!(scales, [0, 0, 1, 7, 14]);
    }
}
