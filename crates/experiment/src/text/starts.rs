//! Starts as on real hosts: never two in the same nanosecond.
//!
//! flent starts each netperf in a thread of its own, one after the other (`Aggregator.collect`), and each
//! opens a control connection before its flow. Eight processes that one program starts in this way begin
//! within 6 to 57 ms of each other (the median of 30 tries on two processors is 13 ms). [`DEFAULT`] is at the
//! lower end of that: enough to make it random which flow comes first, and when a probe is sent.

use goodqueue::{Rng, Span};
use goodqueue_sim::Scenario;

/// The latest start where none is given.
pub(crate) const DEFAULT: Span = Span::from_millis(10);

/// Begins each flow, source, browser, player, video call and game later, by a time drawn evenly from zero to
/// `most`, and all probes at one point of their interval. Each draw depends on the seed of `scenario` and on
/// the number of what it is for: another flow does not change the draws of those before it.
pub(crate) fn scatter(scenario: &mut Scenario, most: Span) {
    if most == Span::ZERO {
        return;
    }
    let seed = scenario.seed;
    let late = |purpose: &str, index: u64, most: Span| {
        Span(Rng::stream(seed, index, purpose).below(most.0.saturating_add(1)))
    };
    // A short flow keeps half of its time.
    let room =
        |start: Span, stop: Option<Span>| stop.map_or(most, |stop| most.min(Span((stop - start).0 / 2)));
    for (index, flow) in (0..).zip(&mut scenario.flows) {
        flow.start = flow.start + late("start", index, room(flow.start, flow.stop));
    }
    for (index, source) in (0..).zip(&mut scenario.sources) {
        source.start = source.start + late("source start", index, room(source.start, source.stop));
    }
    for (index, browse) in (0..).zip(&mut scenario.browsers) {
        browse.config.late = late("browser start", index, most);
    }
    for (index, watch) in (0..).zip(&mut scenario.players) {
        watch.config.late = late("player start", index, most);
    }
    // Both ends of a talk begin at the time that the client's hello says.
    for (index, talk) in (0..).zip(&mut scenario.talks) {
        let most = most.min(Span(talk.config.stop.since(talk.config.start).0 / 2));
        talk.config.start += late("talk start", index, most);
    }
    // One clock sends the probes of a host: they keep their distances.
    let phase = Rng::stream(seed, 0, "probe start").next_u64();
    for probe in &mut scenario.probes {
        let part = (u128::from(probe.interval.0) * u128::from(phase)) >> 64;
        let part = Span(u64::try_from(part).unwrap_or(0)).min(room(probe.start, Some(probe.stop)));
        probe.start = probe.start + part;
    }
}
