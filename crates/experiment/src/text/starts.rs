//! Start times as on real hosts: never two in the same nanosecond.
//!
//! flent starts each netperf in a separate thread, one after the other (`Aggregator.collect`), and each opens
//! a control connection before its flow. Eight processes that one program starts in this way begin within 6
//! to 57 ms of each other (the median of 30 tries on two processors is 13 ms). [`DEFAULT`] is at the lower
//! end of that: enough to randomize which flow comes first, and when a probe is sent.

use goodqueue::{Rng, Span};
use goodqueue_sim::Scenario;

/// The latest start if none is given.
pub(crate) const DEFAULT: Span = Span::from_millis(10);

/// Delays the start of each flow, source, browser, player, video call and game by a random time, uniform from
/// zero to `most`, and the start of all probes by the same part of their interval. Each draw depends on the
/// seed of `scenario` and on the number of its object, so an additional flow does not change the draws of
/// those before it.
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
    // Both ends of a talk begin at the time in the client's hello.
    for (index, talk) in (0..).zip(&mut scenario.talks) {
        let most = most.min(Span(talk.config.stop.since(talk.config.start).0 / 2));
        talk.config.start += late("talk start", index, most);
    }
    // One clock sends the probes of a host, so the times between them stay the same.
    let phase = Rng::stream(seed, 0, "probe start").next_u64();
    for probe in &mut scenario.probes {
        let part = (u128::from(probe.interval.0) * u128::from(phase)) >> 64;
        let part = Span(u64::try_from(part).unwrap_or(0)).min(room(probe.start, Some(probe.stop)));
        probe.start = probe.start + part;
    }
}
