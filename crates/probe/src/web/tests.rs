//! The browser over links that have only a delay.

use goodqueue::{Nanos, Span};
use proptest::prelude::*;

use super::*;
use crate::{Extra, Sample};

const S: u64 = 1_000_000_000;
const MS: i64 = 1_000_000;

/// A link with one round-trip time for everything and an unlimited rate.
struct Link {
    rtt: Span,
    /// The coming events with their times, the last first.
    coming: Vec<(Nanos, Event)>,
    /// Queries that are lost, by number.
    lost: Vec<u32>,
    /// The most connections that were open at a time, and those that are open.
    most: usize,
    open: Vec<u32>,
    sent: u64,
}

impl Link {
    fn new(rtt: Span) -> Link {
        Link { rtt, coming: Vec::new(), lost: Vec::new(), most: 0, open: Vec::new(), sent: 0 }
    }

    fn act(&mut self, now: Nanos, action: Action) {
        let event = match action {
            Action::Resolve { query, .. } if self.lost.contains(&query) => return,
            Action::Resolve { query, .. } => Event::Resolved { query },
            Action::Open { connection, .. } => {
                self.open.push(connection);
                self.most = self.most.max(self.open.len());
                Event::Opened { connection }
            }
            Action::Send { connection, request, response } => {
                assert!(self.open.contains(&connection), "a request on a closed connection");
                self.sent += request;
                Event::Received { connection, bytes: response }
            }
            Action::Close { connection } => {
                self.open.retain(|&open| open != connection);
                return;
            }
        };
        let at = now + self.rtt;
        let place = self.coming.partition_point(|(due, _)| *due > at);
        self.coming.insert(place, (at, event));
    }

    /// Runs the browser to the end.
    fn run(&mut self, browser: &mut Browser) -> Vec<Sample> {
        let (mut samples, mut now) = (Vec::new(), Nanos::ZERO);
        loop {
            while self.coming.last().is_some_and(|(at, _)| *at <= now) {
                let (_, event) = self.coming.pop().expect("something comes");
                browser.handle_event(now, event, &mut |sample| samples.push(sample));
            }
            browser.handle_timeout(now, &mut |sample| samples.push(sample));
            while let Some(action) = browser.poll_action() {
                self.act(now, action);
            }
            let Some(timeout) = browser.poll_timeout() else { return samples };
            let next = self.coming.last().map_or(timeout, |(at, _)| timeout.min(*at));
            assert!(next > now, "time goes on");
            now = next;
        }
    }
}

fn page(name: &str) -> Page {
    match name.parse().expect("a page of the catalogue") {
        Extra::Web(kind) => kind.page("cubic"),
        Extra::Voip(_) | Extra::Dash | Extra::Talk(..) => panic!("{name} is no page"),
    }
}

fn browser(pages: &[&str], idle: u64, load: u64) -> Browser {
    let pages = pages.iter().map(|name| page(name)).collect();
    let config = BrowserConfig {
        pages,
        start: Nanos(S),
        origin: Nanos(S + idle),
        late: Span::ZERO,
        stop: Nanos(S + idle + load),
    };
    Browser::new(config)
}

/// Page, start, first byte, time and completeness of each sample.
fn pages(samples: &[Sample]) -> Vec<(u32, i64, Option<i64>, i64, bool)> {
    let page = |sample: &Sample| match *sample {
        Sample::Page { page, t, first_byte, took, complete, .. } => (page, t, first_byte, took, complete),
        _ => panic!("{sample:?}"),
    };
    samples.iter().map(page).collect()
}

#[test]
fn objects_add_up_to_the_page() {
    for (name, requests, bytes) in [("web:small", 3, 56_000), ("web:large", 110, 3_000_000)] {
        let page = page(name);
        assert_eq!((page.requests, page.bytes), (requests, bytes));
        assert_eq!((0..requests).map(|i| page.object(i)).sum::<u64>(), bytes);
        assert!((1..requests).all(|i| page.object(i) == bytes / u64::from(requests)));
    }
}

/// The arithmetic of a first byte: DNS, TCP, two of TLS, the request: 5 round trips of 50 ms are 250 ms.
#[test]
fn the_first_byte_takes_five_round_trips_and_the_small_page_seven() {
    let mut link = Link::new(Span::from_millis(50));
    let samples = link.run(&mut browser(&["web"], 2 * S, S));
    // The two other objects follow on the open connection: a second one would be ready only 3 round trips
    // later. Under load the next page would begin 1 s after the last, which is too late.
    assert_eq!(
        pages(&samples),
        [(0, -2000 * MS, Some(250 * MS), 350 * MS, true), (0, 0, Some(250 * MS), 350 * MS, true)]
    );
    assert!(matches!(samples[0], Sample::Page { bytes: 56_000, error: None, .. }));
    assert_eq!((link.most, link.open.len()), (2, 0));
}

/// 5 round trips to the document; 3 more until five further connections are open, during which the first one
/// fetches 3 objects; the other 106 objects in 18 rounds of 6: 26 round trips.
#[test]
fn the_large_page_takes_twenty_six_round_trips() {
    let mut link = Link::new(Span::from_millis(50));
    let samples = link.run(&mut browser(&["web:large"], 0, 2 * S));
    assert_eq!(pages(&samples), [(0, 0, Some(250 * MS), 1300 * MS, true)]);
    assert_eq!((link.most, link.open.len()), (CONNECTIONS, 0));
    assert_eq!(link.sent, 110 * 500 + 6 * (517 + 126));
}

/// Answers arrive in pieces, and pieces on closed connections have no effect.
#[test]
fn an_answer_may_arrive_in_pieces() {
    let mut browser = browser(&["web"], 0, 10 * S);
    let mut samples = Vec::new();
    let mut now = Nanos(S);
    browser.handle_timeout(now, &mut |sample| samples.push(sample));
    let mut events = Vec::new();
    while samples.is_empty() {
        while let Some(action) = browser.poll_action() {
            match action {
                Action::Resolve { query, .. } => events.push(Event::Resolved { query }),
                Action::Open { connection, .. } => events.push(Event::Opened { connection }),
                Action::Send { connection, response, .. } => {
                    let piece = |bytes| Event::Received { connection, bytes };
                    let stray = Event::Received { connection: 99, bytes: 7 };
                    events.extend([piece(0), stray, piece(1), piece(response - 2), piece(1)]);
                }
                Action::Close { .. } => panic!("closed before the page is complete"),
            }
        }
        for event in events.drain(..) {
            now += Span(1);
            browser.handle_event(now, event, &mut |sample| samples.push(sample));
        }
    }
    assert!(matches!(samples[..], [Sample::Page { complete: true, bytes: 56_000, t: 0, .. }]), "{samples:?}");
    let closed: Vec<_> = std::iter::from_fn(|| browser.poll_action()).collect();
    assert_eq!(closed, [0, 1].map(|connection| Action::Close { connection }));
}

#[test]
fn pages_take_turns_with_a_pause_between() {
    let mut link = Link::new(Span::from_millis(50));
    let samples = link.run(&mut browser(&["web:small", "web:large"], 4 * S, 6 * S));
    let begun: Vec<_> =
        pages(&samples).iter().map(|&(page, t, _, _, complete)| (page, t / MS, complete)).collect();
    assert_eq!(
        begun,
        [
            (0, -4000, true),
            (1, -3650, true),
            (0, 0, true),
            (1, 1350, true),
            (0, 3650, true),
            (1, 5000, false)
        ]
    );
}

#[test]
fn a_page_that_takes_too_long_is_given_up_and_reported() {
    let mut link = Link::new(Span::from_millis(400));
    // 5 round trips are 2 s: neither the idle second nor the 1.5 s of load is enough.
    let samples = link.run(&mut browser(&["web"], S, 3 * S / 2));
    assert_eq!(pages(&samples), [(0, -1000 * MS, None, 1000 * MS, false), (0, 0, None, 1500 * MS, false)]);
    assert_eq!(link.open, [] as [u32; 0]);
}

#[test]
fn a_lost_query_costs_five_seconds() {
    let mut link = Link::new(Span::from_millis(50));
    link.lost = vec![0, 1];
    let samples = link.run(&mut browser(&["web"], 0, 11 * S));
    assert_eq!(pages(&samples), [(0, 0, Some(10_250 * MS), 10_350 * MS, true)]);
}

#[test]
fn a_broken_connection_ends_its_page_and_not_the_next() {
    let mut browser = browser(&["web"], 0, 10 * S);
    let mut samples = Vec::new();
    let mut sink = |sample| samples.push(sample);
    browser.handle_timeout(Nanos(S), &mut sink);
    browser.handle_event(Nanos(S + 1), Event::Resolved { query: 0 }, &mut sink);
    while browser.poll_action().is_some() {}
    let refused = |connection| Event::Failed { connection, error: "refused".into() };
    browser.handle_event(Nanos(S + 2), refused(7), &mut sink);
    browser.handle_event(Nanos(S + 3), refused(0), &mut sink);
    assert_eq!(browser.poll_action(), Some(Action::Close { connection: 0 }));
    assert_eq!(browser.poll_timeout(), Some(Nanos(S + 3) + THINK));
    browser.handle_timeout(Nanos(2 * S + 3), &mut sink);
    assert_eq!(browser.poll_action(), Some(Action::Resolve { query: 1, page: 0 }));
    browser.stop(Nanos(3 * S), &mut sink);
    assert!(browser.is_done() && browser.poll_timeout().is_none());
    let errors: Vec<_> = samples
        .iter()
        .map(|sample| match sample {
            Sample::Page { error, complete, .. } => (error.as_deref(), *complete),
            _ => panic!("{sample:?}"),
        })
        .collect();
    assert_eq!(errors, [(Some("refused"), false), (None, false)]);
}

proptest! {
    /// With any times: the browser ends, every page is within its part of the test, no page begins before the
    /// last has ended, and no connection is left open.
    #[test]
    fn every_run_ends_in_order(
        rtt in 1u64..3 * S, idle in 0u64..3 * S, load in 0u64..20 * S, both: bool,
        lost in proptest::collection::vec(0u32..6, 0..4),
    ) {
        let names: &[&str] = if both { &["web", "web:large"] } else { &["web"] };
        let mut link = Link::new(Span(rtt));
        link.lost = lost;
        let samples = link.run(&mut browser(names, idle, load));
        let mut end = -(idle as i64);
        for (_, t, first_byte, took, complete) in pages(&samples) {
            prop_assert!(t >= end && first_byte.is_none_or(|first| first <= took));
            end = t + took;
            let part_ends = if t < 0 { 0 } else { load as i64 };
            prop_assert!(end <= part_ends);
            prop_assert!(!complete || first_byte.is_some());
        }
        prop_assert_eq!(&link.open, &[] as &[u32]);
    }
}
