//! Parameters of `dualpi2`.

use crate::Span;

/// How long the L queue may be before all of its packets are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// A sojourn time longer than this.
    Time(Span),
    /// More packets than this, the one that leaves counted.
    Packets(u32),
}

/// Parameters of `dualpi2`, with the words of Linux 6.17.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Most packets queued, 1 to 2^31. Default 10000.
    pub limit: u32,
    /// Most memory of the packets queued, the sum of [`crate::Packet::truesize`]. Default 10000 packets of the MTU.
    pub memory_limit: u32,
    /// The coupling factor k: p_CL = k p', p_C = p'^2. Default 2.
    pub coupling_factor: u8,
    /// Marks every packet that leaves the L queue above this. Default 1 ms.
    pub step_thresh: Threshold,
    /// Makes the step a ramp, which begins at `step_thresh` and ends so much above it. RFC 9332 appendix A.1 has
    /// 400 us above 800 us, Linux has none. Default 0: a step.
    pub range: Span,
    /// Packets in the L queue, itself counted, that an arriving packet must exceed for the step to hold for it.
    /// Default 0.
    pub min_qlen_step: u32,
    /// Under overload, which is p_CL = 1: drops in both queues, whatever the ECN field says. Off: p' is held
    /// below, and the queue grows up to its limit. Default on.
    pub drop_overload: bool,
    /// Drops and marks by the probability on arrival instead of on departure. Default off.
    pub drop_early: bool,
    /// The L queue takes every packet with an ECN field that is not zero, for DCTCP with ECT(0). Off: ECT(1) and CE
    /// alone. Default off.
    pub any_ect: bool,
    /// Percent of the line that the classic queue has at the least while both have packets. Default 10.
    pub c_protection: u8,
    /// Delay that the law aims at. Default 15 ms.
    pub target: Span,
    /// Time between two updates of the probability. Default 16 ms.
    pub tupdate: Span,
    /// Weight of the distance from the target, millionths of 1/s. Default 0.16 Hz.
    pub alpha: u32,
    /// Weight of the change of the delay, millionths of 1/s. Default 3.2 Hz.
    pub beta: u32,
    /// Cuts super-packets on arrival. Default on.
    pub split_gso: bool,
    /// The longest packet with its link header, bytes. Default 1514.
    pub mtu: u32,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: 10_000,
            memory_limit: 10_000 * 1514,
            coupling_factor: 2,
            step_thresh: Threshold::Time(Span::from_millis(1)),
            range: Span::ZERO,
            min_qlen_step: 0,
            drop_overload: true,
            drop_early: false,
            any_ect: false,
            c_protection: 10,
            target: Span::from_millis(15),
            tupdate: Span::from_millis(16),
            alpha: 160_000,
            beta: 3_200_000,
            split_gso: true,
            mtu: 1514,
        }
    }
}

impl Params {
    /// The same with target, period and gains for round trips up to `max_rtt`, of which `typical_rtt` is usual (RFC
    /// 9332 appendix A.1): T = min(typical, max/3), alpha = 0.1 T/max^2, beta = 0.3/max.
    #[must_use]
    pub fn for_rtt(self, max_rtt: Span, typical_rtt: Span) -> Params {
        let max = u128::from(max_rtt.0.max(1));
        let tupdate = typical_rtt.0.min(max_rtt.0 / 3).max(1);
        let fit = |gain: u128| u32::try_from(gain).unwrap_or(u32::MAX);
        Params {
            target: typical_rtt,
            tupdate: Span(tupdate),
            // In millionths of 1/s, with times in ns: 0.1 * 10^6 * 10^9 and 0.3 * 10^6 * 10^9.
            alpha: fit(u128::from(tupdate) * 100_000_000_000_000 / (max * max)),
            beta: fit(300_000_000_000_000 / max),
            ..self
        }
    }
}
