//! Calls in any order with any numbers cause no panic and no overflow, and leave a window that can send.

use super::*;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Call {
    Ack { acked: u32, rtt: Option<Span> },
    Rate { delivered: u64, rs: RateSample },
    Enter(CaState),
    Event(CwndEvent),
    Undo,
    Flight { packets_out: u32, lost_out: u32, lost: u64 },
    Wstamp(u64),
}

fn any_span() -> impl Strategy<Value = Span> {
    prop_oneof![
        Just(Span::ZERO),
        Just(Span(1_000)),
        Just(Span::from_secs(1_000)),
        Just(Span(u64::MAX)),
        (0_u64..300_000_000).prop_map(Span),
    ]
}

fn any_count() -> impl Strategy<Value = u32> {
    prop_oneof![0_u32..4, 0_u32..10_000, Just(u32::MAX)]
}

fn any_state() -> impl Strategy<Value = CaState> {
    use CaState::{Cwr, Disorder, Loss, Open, Recovery};
    proptest::sample::select(vec![Open, Disorder, Cwr, Recovery, Loss])
}

fn any_rate() -> impl Strategy<Value = Call> {
    let times = (proptest::option::of(any_span()), proptest::option::of(any_span()));
    let counts = (proptest::option::of(any_count()), any_count(), any_count(), any_count(), any_count());
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    (any::<u64>(), times, counts, flags, any_count()).prop_map(|(prior, (interval, rtt), c, f, grown)| {
        Call::Rate {
            delivered: u64::from(grown),
            rs: RateSample {
                prior_delivered: prior >> 32,
                delivered: c.0,
                interval,
                rtt,
                losses: c.1,
                acked_sacked: c.2,
                delivered_ce: c.4,
                prior_in_flight: c.3,
                is_app_limited: f.0,
                is_retrans: f.1,
                is_ack_delayed: f.2,
            },
        }
    })
}

fn any_call() -> impl Strategy<Value = Call> {
    use CwndEvent::{CompleteCwr, CwndRestart, Loss, TxStart};
    let events = proptest::sample::select(vec![CompleteCwr, CwndRestart, Loss, TxStart]);
    prop_oneof![
        4 => (any_count(), proptest::option::of(any_span())).prop_map(|(acked, rtt)| Call::Ack { acked, rtt }),
        4 => any_rate(),
        1 => any_state().prop_map(Call::Enter),
        1 => events.prop_map(Call::Event),
        1 => Just(Call::Undo),
        1 => (any_count(), any_count(), any::<u64>())
            .prop_map(|(packets_out, lost_out, lost)| Call::Flight { packets_out, lost_out, lost }),
        1 => any::<u64>().prop_map(Call::Wstamp),
    ]
}

fn any_wait() -> impl Strategy<Value = u64> {
    let day = 24 * 3_600 * 1_000_000_000_u64;
    prop_oneof![Just(0), 0_u64..10_000_000, 0..day]
}

fn rate(cc: &mut Cc, w: &mut Window, now: Nanos, rs: &RateSample) {
    if !cc.cong_control(w, now, rs) {
        return;
    }
    if rs.acked_sacked > 0 && w.ca_state < CaState::Recovery {
        let least = if cc.kind() == CcKind::Bbr { 4 } else { 1 };
        assert!(w.snd_cwnd >= least.min(w.snd_cwnd_clamp), "{w:?}");
    }
}

fn call(cc: &mut Cc, w: &mut Window, now: Nanos, call: Call) {
    match call {
        Call::Ack { acked, rtt } => {
            w.srtt = rtt.unwrap_or(w.srtt);
            w.snd_una = w.snd_nxt;
            w.snd_nxt += u64::from(acked);
            cc.pkts_acked(w, now, acked, rtt);
            cc.cong_avoid(w, now, acked);
        }
        Call::Rate { delivered, rs } => {
            w.delivered += delivered;
            w.delivered_mstamp = now;
            rate(cc, w, now, &rs);
        }
        Call::Enter(state) => {
            if state > CaState::Disorder && w.ca_state <= CaState::Disorder {
                w.prior_cwnd = w.snd_cwnd;
                w.snd_ssthresh = cc.ssthresh(w, now);
                assert!(w.snd_ssthresh >= 2);
            }
            cc.set_state(w, now, state);
            w.ca_state = state;
        }
        Call::Event(event) => cc.cwnd_event(w, now, event),
        Call::Undo => w.snd_cwnd = cc.undo_cwnd(w).min(w.snd_cwnd_clamp),
        Call::Flight { packets_out, lost_out, lost } => {
            (w.packets_out, w.lost_out, w.lost) = (packets_out, lost_out, lost);
        }
        Call::Wstamp(at) => w.tcp_wstamp = Nanos(at),
    }
}

/// A user-defined congestion control with absurd answers.
#[derive(Clone, Debug)]
struct Wild {
    turn: u32,
    sets_window: bool,
}

impl Wild {
    fn upset(&mut self, w: &mut Window) {
        self.turn = self.turn.wrapping_mul(5).wrapping_add(1);
        w.snd_cwnd = [0, u32::MAX, self.turn][self.turn as usize % 3];
        w.sk_pacing_rate = Rate([0, u64::MAX][self.turn as usize % 2]);
        w.pacing = self.turn.is_multiple_of(2);
    }
}

impl CongestionControl for Wild {
    fn ssthresh(&mut self, _: &Window, _: Nanos) -> u32 {
        self.turn & 1
    }
    fn cong_avoid(&mut self, w: &mut Window, _: Nanos, _: u32) {
        self.upset(w);
    }
    fn sets_window(&self) -> bool {
        self.sets_window
    }
    fn cong_control(&mut self, w: &mut Window, _: Nanos, _: &RateSample) {
        self.upset(w);
    }
    fn cwnd_event(&mut self, w: &mut Window, _: Nanos, _: CwndEvent) {
        self.upset(w);
    }
    fn undo_cwnd(&mut self, _: &Window) -> u32 {
        self.turn & 1
    }
}

fn kinds() -> Vec<CcKind> {
    let wild = [false, true].map(|sets_window| CcKind::own("wild", Wild { turn: 0, sets_window }));
    CcKind::ALL.into_iter().chain(wild).collect()
}

proptest! {
    #[test]
    fn the_window_stays_within_one_and_the_clamp(
        kind in proptest::sample::select(kinds()),
        clamp in prop_oneof![1_u32..200, Just(u32::MAX)],
        mss in prop_oneof![Just(1_u32), Just(1448), Just(u32::MAX)],
        calls in proptest::collection::vec((any_wait(), any_call()), 1..300),
    ) {
        let mut w = established(10.min(clamp));
        (w.snd_cwnd_clamp, w.mss, w.accecn) = (clamp, mss, kind.is_scalable());
        let mut cc = begun(kind, &mut w);
        let mut now = Nanos::ZERO;
        for (wait, this) in calls {
            now += Span(wait);
            call(&mut cc, &mut w, now, this);
            prop_assert!((1..=clamp).contains(&w.snd_cwnd), "{w:?}");
            prop_assert!(cc.min_tso_segs(&w) >= 1);
        }
    }
}
