//! Slow start, congestion avoidance and the halving of RFC 5681, counted in segments as Linux counts
//! them. CUBIC shares the first two.

use super::Window;

/// Slow start (RFC 5681 section 3.1; Linux `tcp_slow_start`): a segment for each segment acknowledged, up to
/// `snd_ssthresh`. Returns how many of `acked` remain for congestion avoidance.
pub fn slow_start(w: &mut Window, acked: u32) -> u32 {
    let room = w.snd_ssthresh.saturating_sub(w.snd_cwnd);
    let growth = acked.min(room);
    w.set_cwnd(w.snd_cwnd.saturating_add(growth));
    acked - growth
}

/// Additive increase: one segment for each `cnt` segments acknowledged; `snd_cwnd_cnt` carries the remainder.
/// Credit from a larger `cnt` counts for at most one segment, so that a falling `cnt` does not cause a burst
/// (Linux 6.1 `tcp_cong.c:tcp_cong_avoid_ai`).
pub fn additive_increase(w: &mut Window, cnt: u32, acked: u32) {
    let cnt = cnt.max(1);
    let late = w.snd_cwnd_cnt >= cnt;
    let credit = if late { acked } else { w.snd_cwnd_cnt.saturating_add(acked) };
    if !late && credit < cnt {
        w.snd_cwnd_cnt = credit;
        return;
    }
    w.snd_cwnd_cnt = credit % cnt;
    w.set_cwnd(w.snd_cwnd.saturating_add(credit / cnt).saturating_add(u32::from(late)));
}

/// Growth on an ACK of `acked` segments.
pub(super) fn cong_avoid(w: &mut Window, acked: u32) {
    if !w.may_grow() {
        return;
    }
    let left = if w.in_slow_start() { slow_start(w, acked) } else { acked };
    if left > 0 {
        additive_increase(w, w.snd_cwnd, left);
    }
}

/// Half the window, two segments at least (RFC 5681 equation 4, of the window instead of the flight).
pub(super) fn ssthresh(w: &Window) -> u32 {
    (w.snd_cwnd / 2).max(2)
}

/// The window before a reduction that turned out to be unnecessary.
pub(super) fn undo_cwnd(w: &Window) -> u32 {
    w.snd_cwnd.max(w.prior_cwnd)
}
