//! A user-defined congestion control.

use core::fmt;
use core::hash::{Hash, Hasher};

use goodqueue::{Nanos, Rate, Span};

use super::{CaState, CcKind, CwndEvent, RateSample, Window, reno};

/// A user-defined congestion control: the calls of Linux's `struct tcp_congestion_ops`. An omitted call does
/// what Reno does. [`CcKind::own`] makes a [`CcKind`] of it. Each connection gets its own clone.
///
/// It sets [`Window::snd_cwnd`], in segments. If it paces, it also sets [`Window::pacing`] and
/// [`Window::sk_pacing_rate`]. It should only read the other fields of the window. The sender keeps the
/// congestion window at one segment or more and within [`Window::snd_cwnd_clamp`].
///
/// As in Linux, ACKs are its clock, and a retransmission timeout is [`CwndEvent::Loss`]. Linux has no timer
/// for it; here there is one, [`CongestionControl::timer`].
///
/// ```
/// use goodqueue::Nanos;
/// use goodqueue_sim::tcp::cc::{CcKind, CongestionControl, Window, additive_increase, slow_start};
///
/// /// Additive increase by `step` segments a round trip, multiplicative decrease to `beta` percent.
/// #[derive(Clone, Debug)]
/// struct Aimd {
///     step: u32,
///     beta: u32,
/// }
///
/// impl CongestionControl for Aimd {
///     fn ssthresh(&mut self, w: &Window, _: Nanos) -> u32 {
///         w.snd_cwnd * self.beta / 100
///     }
///     fn cong_avoid(&mut self, w: &mut Window, _: Nanos, acked: u32) {
///         if w.may_grow() {
///             let left = if w.in_slow_start() { slow_start(w, acked) } else { acked };
///             additive_increase(w, w.snd_cwnd / self.step, left);
///         }
///     }
/// }
///
/// let gentle = CcKind::own("aimd(4, 80 %)", Aimd { step: 4, beta: 80 });
/// assert_eq!(gentle.name(), "aimd(4, 80 %)");
/// ```
pub trait CongestionControl: fmt::Debug + Send + Sync + 'static {
    /// The connection is established (Linux `init`).
    fn init(&mut self, w: &mut Window, now: Nanos) {
        let _ = (w, now);
    }

    /// The slow-start threshold, in segments, with which to enter [`CaState::Cwr`] (ECN),
    /// [`CaState::Recovery`] (loss) or [`CaState::Loss`] (timeout); at least two. Reno's is half the window.
    fn ssthresh(&mut self, w: &Window, now: Nanos) -> u32 {
        let _ = now;
        reno::ssthresh(w)
    }

    /// Growth on an ACK of `acked` segments, while no reduction is under way. Not called if
    /// [`CongestionControl::sets_window`]. Reno's grows only while [`Window::may_grow`].
    fn cong_avoid(&mut self, w: &mut Window, now: Nanos, acked: u32) {
        let _ = now;
        reno::cong_avoid(w, acked);
    }

    /// Whether [`CongestionControl::cong_control`] sets the window, as in BBR. The sender then neither calls
    /// [`CongestionControl::cong_avoid`] nor reduces the window itself. The answer must always be the same.
    fn sets_window(&self) -> bool {
        false
    }

    /// An ACK in any state, with the delivery rate, the losses and the round-trip time that it shows. Called
    /// if [`CongestionControl::sets_window`].
    fn cong_control(&mut self, w: &mut Window, now: Nanos, rs: &RateSample) {
        let _ = (w, now, rs);
    }

    /// An ACK has newly acknowledged `acked` segments; `rtt` is present if one of them was not retransmitted.
    /// Called before the two methods above.
    fn pkts_acked(&mut self, w: &mut Window, now: Nanos, acked: u32, rtt: Option<Span>) {
        let _ = (w, now, acked, rtt);
    }

    /// Called before [`Window::ca_state`] becomes `new`: recovery begins or ends.
    fn set_state(&mut self, w: &mut Window, now: Nanos, new: CaState) {
        let _ = (w, now, new);
    }

    /// Something that is not an ACK.
    fn cwnd_event(&mut self, w: &mut Window, now: Nanos, event: CwndEvent) {
        let _ = (w, now, event);
    }

    /// When [`CongestionControl::on_timer`] is to be called; `None`, or a time that is not in the future: it
    /// is not called. Queried after each call that may change the window. There is no timer before
    /// [`CongestionControl::init`] and after the end of the connection.
    fn timer(&self) -> Option<Nanos> {
        None
    }

    /// The time that [`CongestionControl::timer`] returned has come.
    fn on_timer(&mut self, w: &mut Window, now: Nanos) {
        let _ = (w, now);
    }

    /// The window, in segments, to return to when a reduction turns out to be unnecessary.
    fn undo_cwnd(&mut self, w: &Window) -> u32 {
        reno::undo_cwnd(w)
    }

    /// Whether it responds to the number of marked packets (L4S): it asks for accurate ECN feedback (RFC
    /// 9768), and its packets carry ECT(1) (RFC 9331). [`RateSample::delivered_ce`] then counts marks.
    fn is_scalable(&self) -> bool {
        false
    }
}

/// A [`CongestionControl`] that can be cloned without knowing which.
trait Prototype: CongestionControl {
    fn instance(&self) -> Box<dyn Prototype>;
}

impl<T: CongestionControl + Clone> Prototype for T {
    fn instance(&self) -> Box<dyn Prototype> {
        Box::new(self.clone())
    }
}

/// A name and a congestion control in its first state; see [`CcKind::own`]. Equal only to itself.
pub struct OwnCc {
    pub(super) name: &'static str,
    pub(super) is_scalable: bool,
    prototype: Box<dyn Prototype>,
}

impl CcKind {
    /// A user-defined congestion control called `name`, as shown in tables and charts. No other should have
    /// that name.
    ///
    /// The definition lives as long as the process: make each once, not once for each flow.
    #[must_use]
    pub fn own(name: &str, control: impl CongestionControl + Clone) -> CcKind {
        let (name, is_scalable) = (String::from(name).leak(), control.is_scalable());
        CcKind::Own(Box::leak(Box::new(OwnCc { name, is_scalable, prototype: Box::new(control) })))
    }
}

impl PartialEq for OwnCc {
    fn eq(&self, other: &OwnCc) -> bool {
        core::ptr::eq(self, other)
    }
}

impl Eq for OwnCc {}

impl Hash for OwnCc {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for OwnCc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A user-defined congestion control of one connection.
#[derive(Debug)]
pub struct Own {
    pub(super) kind: &'static OwnCc,
    control: Box<dyn Prototype>,
    /// When its timer expires; [`NEVER`]: it has none.
    timer: Nanos,
}

/// Never.
const NEVER: Nanos = Nanos(u64::MAX);

impl Clone for Own {
    fn clone(&self) -> Own {
        Own { kind: self.kind, control: self.control.instance(), timer: self.timer }
    }
}

/// The calls of the sender. Whatever it sets, a segment can leave.
impl Own {
    pub(super) fn new(kind: &'static OwnCc) -> Own {
        Own { kind, control: kind.prototype.instance(), timer: NEVER }
    }

    /// When [`Own::on_timer`] is due.
    pub(in crate::tcp) fn timer(&self) -> Nanos {
        self.timer
    }

    fn call(&mut self, w: &mut Window, now: Nanos, call: impl FnOnce(&mut dyn Prototype, &mut Window)) {
        let before = w.snd_cwnd;
        call(&mut *self.control, w);
        self.timer = self.control.timer().filter(|&at| at > now).unwrap_or(NEVER);
        // The sender's own window may be zero in recovery.
        if w.snd_cwnd != before {
            w.set_cwnd(w.snd_cwnd);
        }
        w.sk_pacing_rate = w.sk_pacing_rate.max(Rate(1));
    }

    #[cold]
    pub(super) fn init(&mut self, w: &mut Window, now: Nanos) {
        self.call(w, now, |control, w| control.init(w, now));
    }

    #[cold]
    pub(super) fn ssthresh(&mut self, w: &Window, now: Nanos) -> u32 {
        self.control.ssthresh(w, now).max(2)
    }

    #[cold]
    pub(super) fn cong_avoid(&mut self, w: &mut Window, now: Nanos, acked: u32) {
        self.call(w, now, |control, w| control.cong_avoid(w, now, acked));
    }

    #[cold]
    pub(super) fn sets_window(&self) -> bool {
        self.control.sets_window()
    }

    #[cold]
    pub(super) fn cong_control(&mut self, w: &mut Window, now: Nanos, rs: &RateSample) -> bool {
        let sets_window = self.sets_window();
        if sets_window {
            self.call(w, now, |control, w| control.cong_control(w, now, rs));
        }
        sets_window
    }

    #[cold]
    pub(super) fn pkts_acked(&mut self, w: &mut Window, now: Nanos, acked: u32, rtt: Option<Span>) {
        self.call(w, now, |control, w| control.pkts_acked(w, now, acked, rtt));
    }

    #[cold]
    pub(super) fn set_state(&mut self, w: &mut Window, now: Nanos, new: CaState) {
        self.call(w, now, |control, w| control.set_state(w, now, new));
    }

    #[cold]
    pub(super) fn cwnd_event(&mut self, w: &mut Window, now: Nanos, event: CwndEvent) {
        self.call(w, now, |control, w| control.cwnd_event(w, now, event));
    }

    #[cold]
    pub(in crate::tcp) fn on_timer(&mut self, w: &mut Window, now: Nanos) {
        self.call(w, now, |control, w| control.on_timer(w, now));
    }

    #[cold]
    pub(super) fn undo_cwnd(&mut self, w: &Window) -> u32 {
        self.control.undo_cwnd(w).max(1)
    }
}
