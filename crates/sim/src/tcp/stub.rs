#![allow(missing_docs)]
use super::cc::{Cc, Window};
use super::{Flags, Segment};
use goodqueue::Nanos;
#[derive(Clone, Debug)]
pub struct Config {
    pub mss: u32,
    pub ecn: bool,
    pub tso: bool,
}
impl Default for Config {
    fn default() -> Config {
        Config { mss: 1448, ecn: false, tso: true }
    }
}
#[derive(Clone, Copy, Debug)]
pub enum Opening {
    Active,
    Passive,
}
#[derive(Clone, Copy, Debug, Default)]
pub struct TxStats {
    pub retransmits: u64,
    pub delivered_ce: u64,
}
pub const fn truesize(len: u32) -> u32 {
    len + 790
}
#[derive(Debug)]
pub struct Tx {
    w: Window,
    open: bool,
    n: u64,
}
impl Tx {
    pub fn new(config: &Config, _cc: Cc, _: Opening) -> Tx {
        let w = Window {
            snd_cwnd: 60,
            snd_cwnd_cnt: 0,
            snd_ssthresh: 0,
            prior_cwnd: 0,
            snd_cwnd_clamp: 0,
            ca_state: super::cc::CaState::Open,
            snd_una: 0,
            snd_nxt: 0,
            mss: config.mss,
            packets_out: 0,
            sacked_out: 0,
            lost_out: 0,
            retrans_out: 0,
            delivered: 0,
            delivered_mstamp: Nanos(0),
            lost: 0,
            app_limited: 0,
            is_cwnd_limited: false,
            max_packets_out: 0,
            srtt: goodqueue::Span(0),
            min_rtt: goodqueue::Span(0),
            sk_pacing_rate: goodqueue::Rate(0),
            pacing: false,
            lsndtime: Nanos(0),
            gso_max_size: 65536,
            tcp_wstamp: Nanos(0),
        };
        Tx { w, open: false, n: 0 }
    }
    pub fn open(&mut self, _: Nanos) {
        self.open = true;
    }
    pub fn write(&mut self, n: u64) {
        self.n = n;
    }
    pub fn abort(&mut self) {
        self.open = false;
    }
    pub fn on_segment(&mut self, _: Nanos, s: &Segment) {
        self.w.snd_una = s.ack;
    }
    pub fn on_timer(&mut self, _: Nanos) {}
    pub fn next_timer(&self) -> Option<Nanos> {
        None
    }
    pub fn poll_transmit(&mut self, _: Nanos) -> Option<Segment> {
        if !self.open || self.w.snd_nxt - self.w.snd_una >= 60 * u64::from(self.w.mss) {
            return None;
        }
        let s = Segment { seq: self.w.snd_nxt, len: self.w.mss, flags: Flags::ACK, ..Segment::default() };
        self.w.snd_nxt += u64::from(self.w.mss);
        Some(s)
    }
    pub fn on_tx_complete(&mut self, _: Nanos, _: u32) {}
    pub fn is_throttled(&self) -> bool {
        false
    }
    pub fn window(&self) -> &Window {
        &self.w
    }
    pub fn stats(&self) -> TxStats {
        TxStats::default()
    }
    pub fn is_established(&self) -> bool {
        self.open
    }
    pub fn is_done(&self) -> bool {
        false
    }
}
#[derive(Debug)]
pub struct Rx {
    got: u64,
    due: bool,
}
impl Rx {
    pub fn new(_: &Config, _: Opening) -> Rx {
        Rx { got: 0, due: false }
    }
    pub fn open(&mut self, _: Nanos) {}
    pub fn on_segment(&mut self, _: Nanos, s: &Segment, _: bool) {
        self.got += u64::from(s.len);
        self.due = true;
    }
    pub fn on_timer(&mut self, _: Nanos) {}
    pub fn next_timer(&self) -> Option<Nanos> {
        None
    }
    pub fn poll_transmit(&mut self, _: Nanos) -> Option<Segment> {
        self.due.then(|| {
            self.due = false;
            Segment { ack: self.got, flags: Flags::ACK, ..Segment::default() }
        })
    }
    pub fn received(&self) -> u64 {
        self.got
    }
}
