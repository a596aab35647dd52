//! A user-defined congestion control is called like the built-in ones.

use goodqueue::{Nanos, Rate, Span};
use goodqueue_sim::tcp::Config;
use goodqueue_sim::tcp::cc::{CcKind, CongestionControl, RateSample, Window};
use goodqueue_sim::{Dumbbell, Flow, Loss, Simulation};

/// Two flows over a line of 20 Mbit/s for 20 s.
fn run(queue: &str, cc: [CcKind; 2], loss: Loss, ecn: bool) -> Simulation {
    let queue = queue.parse().expect("a queue");
    let mut scenario = Dumbbell::new(queue, Rate(20_000_000), Span::from_millis(20)).scenario();
    scenario.links[Dumbbell::UP].loss = loss;
    scenario.tcp = Config { ecn, ..scenario.tcp };
    scenario.flows = cc.map(|cc| Flow::new(Dumbbell::client(0), Dumbbell::server(0), cc)).to_vec();
    let mut simulation = Simulation::new(&scenario).expect("a scenario");
    simulation.run_until(Nanos::ZERO + Span::from_secs(20));
    simulation
}

/// Leaves out every call.
#[derive(Clone, Debug)]
struct Plain;

impl CongestionControl for Plain {}

#[test]
fn calls_that_are_left_out_do_what_reno_does() {
    let plain = CcKind::own("plain", Plain);
    for (queue, loss, ecn) in [
        ("pfifo:30", Loss::None, false),
        ("codel", Loss::None, true),
        ("fq_codel", Loss::Random(0.01), false),
        ("pfifo:1000", Loss::Random(0.2), false),
    ] {
        let own = run(queue, [plain; 2], loss, ecn);
        let reno = run(queue, [CcKind::Reno; 2], loss, ecn);
        assert_eq!(own.trace_hash(), reno.trace_hash(), "{queue}");
        assert!(own.flow(0).received > 50_000 && own.events() == reno.events(), "{queue}");
    }
}

/// Grows by a segment each 10 ms, whatever ACKs say, up to 40; the timer is exact.
#[derive(Clone, Debug, Default)]
struct Timed {
    next: Option<Nanos>,
    expired: u32,
}

impl CongestionControl for Timed {
    fn init(&mut self, w: &mut Window, now: Nanos) {
        w.snd_cwnd = 1;
        self.next = Some(now + Span::from_millis(10));
    }
    fn sets_window(&self) -> bool {
        true
    }
    fn timer(&self) -> Option<Nanos> {
        self.next
    }
    fn on_timer(&mut self, w: &mut Window, now: Nanos) {
        assert_eq!(self.next, Some(now));
        self.expired += 1;
        w.snd_cwnd += 1;
        // The last time that it returns has already passed: that means none.
        if self.expired < 39 {
            self.next = Some(now + Span::from_millis(10));
        }
    }
}

#[test]
fn a_timer_expires_when_it_said() {
    let cc = CcKind::own("timed", Timed::default());
    for loss in [Loss::None, Loss::Random(0.02)] {
        let queue = "pfifo:1000".parse().expect("a queue");
        let mut scenario = Dumbbell::new(queue, Rate(20_000_000), Span::from_millis(20)).scenario();
        scenario.links[Dumbbell::UP].loss = loss;
        scenario.flows = vec![Flow::new(Dumbbell::client(0), Dumbbell::server(0), cc)];
        let mut simulation = Simulation::new(&scenario).expect("a scenario");
        let mut window = 0;
        for ten_ms in 1..=100 {
            simulation.run_until(Nanos::ZERO + Span::from_millis(10) * ten_ms);
            let flow = simulation.flow(0);
            let now = flow.info.cwnd_segments;
            if !flow.is_established || loss != Loss::None {
                continue;
            }
            assert!(now == window || now == window + 1, "{window} {now}");
            window = now;
        }
        assert!(window == 40 || loss != Loss::None, "{window}");
    }
}

/// Holds a rate and checks the delivery rates that it is given.
#[derive(Clone, Debug)]
struct Steady(Rate);

impl CongestionControl for Steady {
    fn init(&mut self, w: &mut Window, _: Nanos) {
        (w.pacing, w.sk_pacing_rate, w.snd_cwnd) = (true, self.0, 1000);
    }
    fn sets_window(&self) -> bool {
        true
    }
    fn cong_control(&mut self, w: &mut Window, _: Nanos, rs: &RateSample) {
        if let (Some(delivered), Some(interval)) = (rs.delivered, rs.interval) {
            let segments_a_second = f64::from(delivered) / interval.as_secs_f64();
            assert!(segments_a_second * 1514.0 * 8.0 < 21e6, "no more than the line: {segments_a_second}");
        }
        w.sk_pacing_rate = self.0;
    }
}

#[test]
fn a_control_that_sets_the_window_paces_in_spite_of_loss() {
    let steady = CcKind::own("steady", Steady(Rate(4_000_000)));
    let simulation = run("pfifo:1000", [steady; 2], Loss::Random(0.02), false);
    for flow in [0, 1] {
        let view = simulation.flow(flow);
        let mbit = view.received as f64 * 8e-6 / 20.0;
        assert!((3.6..4.0).contains(&mbit), "{mbit}: 4 Mbit/s less 2 % that is sent twice");
        assert_eq!(view.info.cwnd_segments, 1000);
        assert!(view.stats.retransmits > 50, "{}", view.stats.retransmits);
    }
}

/// One segment more for each window without a mark, half a segment less for each mark.
#[derive(Clone, Debug)]
struct Marks(u32);

impl CongestionControl for Marks {
    fn is_scalable(&self) -> bool {
        true
    }
    fn sets_window(&self) -> bool {
        true
    }
    fn cong_control(&mut self, w: &mut Window, _: Nanos, rs: &RateSample) {
        assert!(w.accecn && rs.delivered_ce <= rs.acked_sacked);
        self.0 += 2 * (rs.acked_sacked - rs.delivered_ce);
        let grown = self.0 / (2 * w.snd_cwnd);
        self.0 %= 2 * w.snd_cwnd;
        w.snd_cwnd = (w.snd_cwnd + grown).saturating_sub(rs.delivered_ce.div_ceil(2)).max(2);
    }
}

/// The step of `dualpi2` marks ECT(1) alone, and its feedback counts each mark.
#[test]
fn a_scalable_control_is_marked_in_the_low_latency_queue() {
    let simulation = run("dualpi2,step_thresh=15p", [CcKind::own("marks", Marks(0)); 2], Loss::None, false);
    let queue = simulation.link(Dumbbell::UP).queue();
    assert!(queue.marks > 1000 && queue.drops == 0, "{queue:?}");
    let received = simulation.flow(0).received + simulation.flow(1).received;
    assert!(received > 40_000_000, "{received} of the 50 000 000 bytes that the line can send");
}
