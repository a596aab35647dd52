use proptest::prelude::*;

use super::*;
use crate::autorate::{CakeAutorate, Follow, Params};

const LIMITS: Limits = Limits { min: Rate(1_000_000), start: Rate(10_000_000), max: Rate(50_000_000) };
const TICK: Span = Span::from_millis(10);

/// An uplink of `link` bit/s behind the shaper, and traffic that fills the shaper; nothing down.
struct Link {
    link: u64,
    /// Queued bytes.
    queue: u64,
    now: Nanos,
    causes: std::vec::Vec<Decision>,
}

impl Link {
    fn new(link: u64) -> Link {
        Link { link, queue: 0, now: Nanos::ZERO, causes: std::vec::Vec::new() }
    }

    /// Lets `time` pass; `offset` is added to the one-way delays of reflector 1.
    fn run(&mut self, follow: &mut Follow, time: Span, offset: i64) {
        for step in 0..time.0 / TICK.0 {
            self.now += TICK;
            let sent = follow.rate(Direction::Up).bytes_in(TICK).0;
            self.queue = (self.queue + sent).saturating_sub(Rate(self.link).bytes_in(TICK).0);
            let arrived = if self.link == 0 { 0 } else { 1_000 };
            let traffic = Traffic { bytes: [sent, arrived], waits: [None; 2] };
            self.causes.extend(follow.traffic(self.now, traffic).into_iter().flatten());
            if step % 5 == 0 && self.link > 0 {
                let reflector = (step / 5 % 4) as usize;
                let waits = signed(Rate(self.link).tx_time(crate::Bytes(self.queue)));
                let offset = if reflector == 1 { offset } else { 0 };
                let delays = Delays::OneWay { up: 8_000_000 + waits + offset, down: 12_000_000 - offset };
                // The probe met the queue as it is now. Its time in flight does not matter here.
                let sample = Sample { reflector, sent: self.now, delays };
                self.causes.extend(follow.sample(self.now, sample).into_iter().flatten());
            }
        }
    }
}

fn follow() -> Follow {
    Follow::new([LIMITS; 2], 6, Params::default())
}

#[test]
fn the_rate_comes_to_just_below_that_of_the_link_and_follows_it() {
    let (mut link, mut follow) = (Link::new(30_000_000), follow());
    link.run(&mut follow, Span::from_secs(20), 0);
    let rate = follow.rate(Direction::Up).0;
    assert!((24_000_000..34_000_000).contains(&rate), "{rate}");
    link.link = 8_000_000;
    link.run(&mut follow, Span::from_secs(5), 0);
    let rate = follow.rate(Direction::Up).0;
    assert!((4_500_000..9_500_000).contains(&rate), "{rate}");
    assert!(link.queue < 40_000, "{} bytes still wait", link.queue);
}

#[test]
fn a_jump_of_a_clock_changes_nothing() {
    let rates = [0, 300_000_000, -300_000_000].map(|offset| {
        let (mut link, mut follow) = (Link::new(20_000_000), follow());
        link.run(&mut follow, Span::from_secs(10), 0);
        link.run(&mut follow, Span::from_secs(10), offset);
        follow.rate(Direction::Up).0
    });
    assert!(rates.iter().all(|rate| (16_000_000..23_000_000).contains(rate)), "{rates:?}");
}

#[test]
fn a_dead_link_has_the_least_rate_and_comes_back() {
    let (mut link, mut follow) = (Link::new(20_000_000), follow());
    link.run(&mut follow, Span::from_secs(10), 0);
    link.link = 0;
    link.run(&mut follow, Span::from_secs(2), 0);
    assert_eq!(follow.rate(Direction::Up), LIMITS.min);
    let said = link.causes.last().map(|decision| std::format!("{decision}")).unwrap_or_default();
    assert!(said.starts_with("down 10.0 Mbit/s -> 1.0 Mbit/s: no answer for "), "{said}");
    link.link = 20_000_000;
    link.run(&mut follow, Span::from_secs(20), 0);
    assert!(follow.rate(Direction::Up).0 > 14_000_000, "{:?}", follow.rate(Direction::Up));
}

#[test]
fn a_reflector_that_does_not_answer_is_replaced() {
    let mut follow = follow();
    let mut causes = std::vec::Vec::new();
    for step in 0..40_u64 {
        let now = Nanos::ZERO + Span::from_millis(50) * step;
        let reflector = (step % 4) as usize;
        let decisions = if reflector == 2 {
            follow.lost(now, 2)
        } else {
            let delays = Delays::RoundTrip(Span::from_millis(20));
            follow.sample(now, Sample { reflector, sent: now, delays })
        };
        causes.extend(decisions.into_iter().flatten());
    }
    assert!(!follow.uses(2) && follow.uses(4), "{causes:?}");
    assert_eq!(causes[0].cause, Cause::Unanswered { reflector: 2, lost: 3 });
}

/// Any input.
#[derive(Clone, Copy, Debug)]
enum Input {
    Sample(Sample),
    Lost(usize),
    Traffic([u64; 2], Option<u64>),
}

fn input() -> impl Strategy<Value = (u64, Input)> {
    let delay = || prop_oneof![any::<i64>(), -1_000_000_000..2_000_000_000_i64, 0..30_000_000_i64];
    let delays = prop_oneof![
        (delay(), delay()).prop_map(|(up, down)| Delays::OneWay { up, down }),
        any::<u64>().prop_map(|time| Delays::RoundTrip(Span(time))),
    ];
    let time = || prop_oneof![any::<u64>(), 0..100_000_000_000_u64];
    let bytes = || prop_oneof![any::<u64>(), 0..200_000_u64];
    let input = prop_oneof![
        4 => (0..10_usize, time(), delays)
            .prop_map(|(reflector, sent, delays)| Input::Sample(Sample { reflector, sent: Nanos(sent), delays })),
        1 => (0..10_usize).prop_map(Input::Lost),
        4 => ([bytes(), bytes()], proptest::option::of(time())).prop_map(|(b, w)| Input::Traffic(b, w)),
    ];
    (prop_oneof![9 => 0..100_000_000_u64, 1 => any::<u64>()], input)
}

fn stays_within_limits(controller: &mut impl Controller, inputs: &[(u64, Input)]) -> std::vec::Vec<Rate> {
    let mut now = Nanos::ZERO;
    let mut rates = std::vec::Vec::new();
    for &(passed, input) in inputs {
        now += Span(passed);
        let decisions = match input {
            Input::Sample(sample) => controller.sample(now, sample),
            Input::Lost(reflector) => controller.lost(now, reflector),
            Input::Traffic(bytes, wait) => {
                controller.traffic(now, Traffic { bytes, waits: [wait.map(Span), None] })
            }
        };
        for decision in decisions.into_iter().flatten() {
            assert!(!std::format!("{decision}").is_empty());
        }
        for direction in Direction::BOTH {
            let rate = controller.rate(direction);
            assert!(LIMITS.min <= rate && rate <= LIMITS.max, "{rate:?}");
            rates.push(rate);
        }
    }
    rates
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_inputs_leave_the_rates_within_their_limits(inputs in prop::collection::vec(input(), 0..300)) {
        let once = stays_within_limits(&mut follow(), &inputs);
        prop_assert_eq!(once, stays_within_limits(&mut follow(), &inputs));
        stays_within_limits(&mut CakeAutorate::new([LIMITS; 2], 8), &inputs);
    }
}

/// The memory is what the types say: a few kilobytes, and nothing on the heap.
#[test]
fn the_memory_is_small() {
    assert!(size_of::<Follow>() < 8_192 && size_of::<CakeAutorate>() < 8_192);
}

extern crate std;
