//! Congestion control as in Linux 6.1: what it sees of a connection, and Reno, CUBIC, BBR, DCTCP, Prague,
//! LEDBAT, Westwood+, Vegas, CDG, TCP-LP and [user-defined ones](CongestionControl) behind the calls of
//! `struct tcp_congestion_ops`.

mod bbr;
mod cdg;
mod cubic;
mod dctcp;
mod delayed;
mod hystart;
mod kind;
mod ledbat;
mod lp;
mod minmax;
mod own;
mod reno;
#[cfg(test)]
mod tests;
mod vegas;
mod westwood;
mod window;

pub use bbr::Bbr;
pub use cdg::Cdg;
pub use cubic::Cubic;
pub use dctcp::Dctcp;
use delayed::DelayedAcks;
pub use kind::{CcKind, UnknownCc};
pub use ledbat::Ledbat;
pub use lp::Lp;
pub use minmax::Windowed;
pub use own::{CongestionControl, Own, OwnCc};
pub use reno::{additive_increase, slow_start};
pub use vegas::Vegas;
pub use westwood::Westwood;
pub use window::{CaState, INFINITE_SSTHRESH, RateSample, Window};

use goodqueue::{Nanos, Rng, Span};

/// Ticks per second of the clock of CUBIC and BBR (Linux's `CONFIG_HZ`; 250 in Debian and Ubuntu kernels).
const HZ: u64 = 250;

/// `now` in ticks.
const fn jiffies(now: Nanos) -> u64 {
    now.0 / (1_000_000_000 / HZ)
}

/// `now` in ticks, modulo 2^32: it wraps after 198 days (Linux `tcp_jiffies32`).
#[allow(clippy::cast_possible_truncation)]
const fn jiffies32(now: Nanos) -> u32 {
    jiffies(now) as u32
}

/// A round-trip time in microseconds; at most 71 minutes, below Linux's mark for "none".
fn micros_u32(span: Span) -> u32 {
    u32::try_from(span.0 / 1_000).unwrap_or(u32::MAX).min(u32::MAX - 1)
}

/// Events other than ACKs that congestion control receives (Linux `enum tcp_ca_event`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CwndEvent {
    /// The first transmission with nothing in flight; before `lsndtime` is set.
    TxStart,
    /// The window was reset after idle time.
    CwndRestart,
    /// The reduction of [`CaState::Cwr`] is complete.
    CompleteCwr,
    /// A retransmission timeout.
    Loss,
}

/// The congestion control of one connection. The sender calls it as Linux does. All windows are in segments.
/// A separate tag (`repr`) is read in one instruction; one hidden in CUBIC's fields is not.
#[derive(Clone, Debug)]
#[repr(u8)]
pub enum Cc {
    /// RFC 5681; has no state of its own.
    Reno,
    /// RFC 9438.
    Cubic(Cubic),
    /// draft-cardwell-iccrg-bbr-congestion-control-00.
    Bbr(Box<Bbr>),
    /// RFC 8257, and Prague.
    Dctcp(Dctcp),
    /// RFC 6817.
    Ledbat(Box<Ledbat>),
    /// Westwood+.
    Westwood(Box<Westwood>),
    /// Vegas.
    Vegas(Box<Vegas>),
    /// CDG.
    Cdg(Box<Cdg>),
    /// TCP-LP.
    Lp(Box<Lp>),
    /// A user-defined one.
    Own(Own),
}

impl Cc {
    /// Congestion control before the connection is established. `rng` chooses the phase in which BBR
    /// begins to probe, and when CDG backs off.
    #[must_use]
    pub fn new(kind: CcKind, rng: Rng) -> Cc {
        match kind {
            CcKind::Reno => Cc::Reno,
            CcKind::Cubic => Cc::Cubic(Cubic::new()),
            CcKind::Bbr => Cc::Bbr(Box::new(Bbr::new(rng))),
            CcKind::Dctcp => Cc::Dctcp(Dctcp::new(false)),
            CcKind::Prague => Cc::Dctcp(Dctcp::new(true)),
            CcKind::Ledbat => Cc::Ledbat(Box::default()),
            CcKind::Westwood => Cc::Westwood(Box::new(Westwood::new())),
            CcKind::Vegas => Cc::Vegas(Box::new(Vegas::new())),
            CcKind::Cdg => Cc::Cdg(Box::new(Cdg::new(rng))),
            CcKind::Lp => Cc::Lp(Box::new(Lp::new())),
            CcKind::Own(own) => Cc::Own(Own::new(own)),
        }
    }

    /// Which one this is.
    #[must_use]
    pub fn kind(&self) -> CcKind {
        match self {
            Cc::Reno => CcKind::Reno,
            Cc::Cubic(_) => CcKind::Cubic,
            Cc::Bbr(_) => CcKind::Bbr,
            Cc::Dctcp(dctcp) if dctcp.is_prague() => CcKind::Prague,
            Cc::Dctcp(_) => CcKind::Dctcp,
            Cc::Ledbat(_) => CcKind::Ledbat,
            Cc::Westwood(_) => CcKind::Westwood,
            Cc::Vegas(_) => CcKind::Vegas,
            Cc::Cdg(_) => CcKind::Cdg,
            Cc::Lp(_) => CcKind::Lp,
            Cc::Own(own) => CcKind::Own(own.kind),
        }
    }

    /// Whether it has a say in the size of super-packets.
    pub(in crate::tcp) fn sizes_bursts(&self) -> bool {
        matches!(self.kind(), CcKind::Bbr | CcKind::Prague)
    }

    /// Whether [`Cc::cong_control`] sets the window in every state (in Linux: whether there is that call).
    pub(in crate::tcp) fn sets_window(&self) -> bool {
        match self {
            Cc::Bbr(_) => true,
            Cc::Own(own) => own.sets_window(),
            Cc::Reno
            | Cc::Cubic(_)
            | Cc::Dctcp(_)
            | Cc::Ledbat(_)
            | Cc::Westwood(_)
            | Cc::Vegas(_)
            | Cc::Cdg(_)
            | Cc::Lp(_) => false,
        }
    }

    /// The connection is established.
    pub fn init(&mut self, w: &mut Window, now: Nanos) {
        match self {
            Cc::Reno | Cc::Westwood(_) | Cc::Lp(_) => {}
            Cc::Vegas(vegas) => vegas.init(w),
            Cc::Cdg(cdg) => cdg.init(w),
            Cc::Cubic(cubic) => cubic.init(w, now),
            Cc::Bbr(bbr) => bbr.init(w, now),
            Cc::Dctcp(dctcp) => dctcp.init(w, now),
            Cc::Ledbat(_) => Ledbat::init(w),
            Cc::Own(own) => own.init(w, now),
        }
    }

    /// The slow-start threshold, in segments, with which to enter [`CaState::Cwr`],
    /// [`CaState::Recovery`] or [`CaState::Loss`].
    pub fn ssthresh(&mut self, w: &Window, now: Nanos) -> u32 {
        match self {
            // LEDBAT's window after a loss is Reno's (RFC 6817 section 2.4.2). So is Westwood+'s, until the
            // end of the reduction, when it sets another one.
            Cc::Reno | Cc::Dctcp(_) | Cc::Ledbat(_) | Cc::Westwood(_) | Cc::Vegas(_) | Cc::Lp(_) => {
                reno::ssthresh(w)
            }
            Cc::Cdg(cdg) => cdg.ssthresh(w),
            Cc::Cubic(cubic) => cubic.ssthresh(w),
            Cc::Bbr(bbr) => bbr.ssthresh(w),
            Cc::Own(own) => own.ssthresh(w, now),
        }
    }

    /// Growth on an ACK of `acked` segments, unless [`Cc::cong_control`] sets the window or the state of
    /// recovery forbids it. Does nothing unless the window limits the sender; Vegas acts in congestion
    /// avoidance regardless. If it returns true, the sender must reduce its window now, as for ECN (Linux
    /// `tcp_enter_cwr`).
    // What the inline attributes of this file gain: docs/performance.md, "Inlining".
    #[inline(always)]
    pub fn cong_avoid(&mut self, w: &mut Window, now: Nanos, acked: u32) -> bool {
        match self {
            Cc::Cdg(cdg) => return cdg.cong_avoid(w, now, acked),
            Cc::Reno | Cc::Dctcp(_) | Cc::Westwood(_) => reno::cong_avoid(w, acked),
            Cc::Cubic(cubic) => cubic.cong_avoid(w, now, acked),
            Cc::Ledbat(ledbat) => ledbat.cong_avoid(w, acked),
            Cc::Vegas(vegas) => vegas.cong_avoid(w, acked),
            Cc::Lp(lp) => lp.cong_avoid(w, acked),
            Cc::Bbr(_) => {}
            Cc::Own(own) => own.cong_avoid(w, now, acked),
        }
        false
    }

    /// An ACK and the delivery rate that it shows. If it returns true, window and pacing rate are set, and
    /// neither [`Cc::cong_avoid`] nor a reduction by the sender may follow.
    pub fn cong_control(&mut self, w: &mut Window, now: Nanos, rs: &RateSample) -> bool {
        match self {
            Cc::Reno
            | Cc::Cubic(_)
            | Cc::Ledbat(_)
            | Cc::Westwood(_)
            | Cc::Vegas(_)
            | Cc::Cdg(_)
            | Cc::Lp(_) => false,
            Cc::Bbr(bbr) => {
                bbr.cong_control(w, now, rs);
                true
            }
            Cc::Dctcp(dctcp) => dctcp.cong_control(w, now, rs),
            Cc::Own(own) => own.cong_control(w, now, rs),
        }
    }

    /// An ACK has newly acknowledged `acked` segments; `rtt` is present if one of them was not retransmitted.
    #[inline(always)]
    pub fn pkts_acked(&mut self, w: &mut Window, now: Nanos, acked: u32, rtt: Option<Span>) {
        match (self, rtt) {
            (Cc::Cubic(cubic), Some(rtt)) => cubic.pkts_acked(w, now, rtt),
            (Cc::Ledbat(ledbat), _) => ledbat.pkts_acked(w, now, acked),
            (Cc::Westwood(westwood), rtt) => westwood.pkts_acked(w, now, rtt),
            (Cc::Vegas(vegas), Some(rtt)) => vegas.pkts_acked(rtt),
            (Cc::Cdg(cdg), Some(rtt)) => cdg.pkts_acked(w, acked, rtt),
            (Cc::Lp(lp), rtt) => lp.pkts_acked(w, now, acked, rtt),
            (Cc::Own(own), rtt) => own.pkts_acked(w, now, acked, rtt),
            _ => {}
        }
    }

    /// Called before `w.ca_state` becomes `new`.
    pub fn set_state(&mut self, w: &mut Window, now: Nanos, new: CaState) {
        match self {
            Cc::Reno | Cc::Dctcp(_) | Cc::Ledbat(_) | Cc::Westwood(_) | Cc::Cdg(_) | Cc::Lp(_) => {}
            Cc::Vegas(vegas) => vegas.set_state(w, new),
            Cc::Cubic(cubic) => cubic.set_state(w, now, new),
            Cc::Bbr(bbr) => bbr.set_state(w, new),
            Cc::Own(own) => own.set_state(w, now, new),
        }
    }

    /// Something that is not an ACK.
    pub fn cwnd_event(&mut self, w: &mut Window, now: Nanos, event: CwndEvent) {
        match self {
            Cc::Reno | Cc::Dctcp(_) | Cc::Ledbat(_) | Cc::Lp(_) => {}
            Cc::Westwood(westwood) => westwood.cwnd_event(w, event),
            Cc::Vegas(vegas) => vegas.cwnd_event(w, event),
            Cc::Cdg(cdg) => cdg.cwnd_event(w, event),
            Cc::Cubic(cubic) => cubic.cwnd_event(w, now, event),
            Cc::Bbr(bbr) => bbr.cwnd_event(w, now, event),
            Cc::Own(own) => own.cwnd_event(w, now, event),
        }
    }

    /// The window to return to when a reduction turns out to be unnecessary.
    pub fn undo_cwnd(&mut self, w: &Window) -> u32 {
        match self {
            Cc::Bbr(bbr) => bbr.undo_cwnd(w),
            Cc::Own(own) => own.undo_cwnd(w),
            _ => reno::undo_cwnd(w),
        }
    }

    /// The least number of segments in a super-packet at the pacing rate of `w`.
    #[must_use]
    pub fn min_tso_segs(&self, w: &Window) -> u32 {
        match self {
            Cc::Bbr(_) => Bbr::min_tso_segs(w),
            _ => 2,
        }
    }

    /// The largest number of segments in a super-packet, if congestion control limits it.
    #[must_use]
    pub fn max_tso_segs(&self, w: &Window) -> Option<u32> {
        match self {
            Cc::Dctcp(dctcp) => dctcp.max_tso_segs(w),
            _ => None,
        }
    }

    /// How many windows the send buffer should hold.
    #[must_use]
    pub fn sndbuf_expand(&self) -> u32 {
        match self {
            Cc::Bbr(_) => 3,
            _ => 2,
        }
    }
}
