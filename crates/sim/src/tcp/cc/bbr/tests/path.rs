//! One sender with endless data on a path of one line: a drop-tail buffer, a fixed delay and, optionally, a
//! token bucket before the line. Rate samples are as draft-cheng-iccrg-delivery-rate-estimation says. Nothing
//! is reordered, so a segment is lost when a later one is acknowledged.

use crate::tcp::cc::bbr::Bbr;
use crate::tcp::cc::tests::{begun, established};
use crate::tcp::cc::{CaState, Cc, CcKind, RateSample, Window};
use goodqueue::{Nanos, Span};
use std::collections::VecDeque;

struct Sent {
    seq: u64,
    at: Nanos,
    first_tx: Nanos,
    delivered: u64,
    delivered_mstamp: Nanos,
    app_limited: bool,
    /// Arrival of its ACK; none if it was dropped.
    ack_at: Option<Nanos>,
}

/// A token bucket in segments.
pub(super) struct Policer {
    pub(super) interval: Span,
    pub(super) burst: u64,
    /// When the bucket was, or would have been, empty.
    pub(super) empty_at: Nanos,
}

impl Policer {
    fn passes(&mut self, now: Nanos) -> bool {
        let full_since = Nanos(now.0.saturating_sub(self.interval.0 * self.burst));
        let empty_at = self.empty_at.max(full_since);
        let passes = empty_at + self.interval <= now;
        self.empty_at = if passes { empty_at + self.interval } else { empty_at };
        passes
    }
}

pub(super) struct Path {
    pub(super) now: Nanos,
    pub(super) w: Window,
    cc: Cc,
    /// Serialization time of a segment.
    line: Span,
    delay: Span,
    buffer: u64,
    pub(super) policer: Option<Policer>,
    line_free: Nanos,
    flight: VecDeque<Sent>,
    next_seq: u64,
    recover: u64,
    first_tx: Nanos,
}

impl Path {
    pub(super) fn new(line: Span, delay: Span, buffer: u64) -> Path {
        let mut w = established(10);
        (w.srtt, w.packets_out) = (line + delay, 0);
        w.sample_min_rtt(Nanos::ZERO, line + delay);
        let cc = begun(CcKind::Bbr, &mut w);
        Path {
            now: Nanos::ZERO,
            w,
            cc,
            line,
            delay,
            buffer,
            policer: None,
            line_free: Nanos::ZERO,
            flight: VecDeque::new(),
            next_seq: 1,
            recover: 0,
            first_tx: Nanos::ZERO,
        }
    }

    pub(super) fn bbr(&self) -> &Bbr {
        match &self.cc {
            Cc::Bbr(bbr) => bbr,
            _ => panic!("not BBR"),
        }
    }

    /// Segments at the line, waiting or in service.
    pub(super) fn queue(&self) -> u64 {
        self.line_free.since(self.now).0.div_ceil(self.line.0)
    }

    /// Runs until `end` and calls `see` after each ACK.
    pub(super) fn run(&mut self, end: Span, mut see: impl FnMut(&Path)) {
        while self.now < Nanos(end.0) {
            let ack = self.flight.iter().find_map(|sent| sent.ack_at);
            let open = self.w.packets_in_flight() < self.w.snd_cwnd;
            let send = open.then(|| self.w.tcp_wstamp.max(self.now));
            match (send, ack) {
                (Some(send), ack) if ack.is_none_or(|ack| send < ack) => self.send(send),
                (_, Some(ack)) => {
                    self.acked(ack);
                    see(self);
                }
                _ => panic!("all in flight was dropped at {:?}", self.now),
            }
        }
    }

    fn send(&mut self, now: Nanos) {
        self.now = now;
        if self.flight.is_empty() {
            (self.first_tx, self.w.delivered_mstamp) = (now, now);
        }
        let passes = self.policer.as_mut().is_none_or(|policer| policer.passes(now));
        let enters = passes && self.queue() < self.buffer;
        if enters {
            self.line_free = self.line_free.max(now) + self.line;
        }
        self.flight.push_back(Sent {
            seq: self.next_seq,
            at: now,
            first_tx: self.first_tx,
            delivered: self.w.delivered,
            delivered_mstamp: self.w.delivered_mstamp,
            app_limited: self.w.app_limited > 0,
            ack_at: enters.then(|| self.line_free + self.delay),
        });
        self.next_seq += 1;
        self.w.packets_out += 1;
        self.w.lsndtime = now;
        let gap = u64::from(self.w.mss) * 8 * 1_000_000_000 / self.w.sk_pacing_rate.0;
        self.w.tcp_wstamp = now + Span(gap);
    }

    fn acked(&mut self, now: Nanos) {
        self.now = now;
        let prior_in_flight = self.w.packets_in_flight();
        let lost = self.flight.iter().take_while(|sent| sent.ack_at.is_none()).count();
        self.flight.drain(..lost);
        let sent = self.flight.pop_front().expect("an ACK is of a segment");
        let losses = u32::try_from(lost).expect("a window");
        let w = &mut self.w;
        w.packets_out -= losses + 1;
        w.lost += u64::from(losses);
        w.delivered += 1;
        w.delivered_mstamp = now;
        if w.app_limited > 0 && w.delivered > w.app_limited {
            w.app_limited = 0;
        }
        self.first_tx = sent.at;
        self.recover_or_return(losses, sent.seq);
        let rs = self.rate_sample(&sent, losses, prior_in_flight);
        self.cc.pkts_acked(&mut self.w, now, 1, rs.rtt);
        assert!(self.cc.cong_control(&mut self.w, now, &rs), "BBR sets the window itself");
    }

    fn recover_or_return(&mut self, losses: u32, seq: u64) {
        let (w, now) = (&mut self.w, self.now);
        let new = match w.ca_state {
            CaState::Open if losses > 0 => {
                w.prior_cwnd = w.snd_cwnd;
                w.snd_ssthresh = self.cc.ssthresh(w, now);
                self.recover = self.next_seq;
                CaState::Recovery
            }
            CaState::Recovery if seq >= self.recover => CaState::Open,
            same => same,
        };
        if new != w.ca_state {
            self.cc.set_state(w, now, new);
            w.ca_state = new;
        }
    }

    fn rate_sample(&self, sent: &Sent, losses: u32, prior_in_flight: u32) -> RateSample {
        let interval = sent.at.since(sent.first_tx).max(self.now.since(sent.delivered_mstamp));
        let delivered = u32::try_from(self.w.delivered - sent.delivered).expect("a window");
        RateSample {
            prior_delivered: sent.delivered,
            delivered: Some(delivered),
            interval: Some(interval),
            rtt: Some(self.now.since(sent.at)),
            losses,
            acked_sacked: 1,
            delivered_ce: 0,
            prior_in_flight,
            is_app_limited: sent.app_limited,
            is_retrans: false,
            is_ack_delayed: false,
        }
    }
}
