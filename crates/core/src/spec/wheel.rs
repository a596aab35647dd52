//! `wheel` by name.

use super::catalogue::{limit_packets, parameter};
use super::{Default, Parameter, QueueKind, QueueSpec, Unit};
use crate::Span;
use crate::wheel::{MAX_SLOTS, Params};

pub(super) const WHEEL: [Parameter; 4] = [
    limit_packets(10_000, "as fq's"),
    parameter("granularity", Unit::Time, Default::Value(10_000)).range(100, 1_000_000_000).about(
        "width of a slot; wider where the horizon has more than 262144 of them",
        "Saeed et al., Carousel, SIGCOMM 2017",
    ),
    parameter("horizon", Unit::Time, Default::Value(1_000_000_000))
        .range(1_000, 3_600_000_000_000)
        .about("how far in the future a packet may ask to leave", "Saeed et al., Carousel, SIGCOMM 2017"),
    parameter("horizon_drop", Unit::Switch, Default::Value(0)).range(0, 1).about(
        "drops packets beyond the horizon; off: they leave at it",
        "Saeed et al., Carousel, SIGCOMM 2017",
    ),
];

impl QueueSpec {
    /// The parameters of `wheel` on a link of this MTU, and its slots: those of the horizon, and the present one. `None`
    /// for another queue.
    #[must_use]
    pub fn wheel_params(&self, mtu: u32) -> Option<(Params, u32)> {
        if self.kind() != QueueKind::Wheel {
            return None;
        }
        let horizon = self.get("horizon").unwrap_or(0);
        let most = u64::from(MAX_SLOTS - 1);
        let granularity = self.get("granularity").unwrap_or(0).max(horizon.div_ceil(most)).max(1);
        let params = Params {
            limit: self.small("limit", mtu),
            granularity: Span(granularity),
            horizon_drop: self.get("horizon_drop") == Some(1),
        };
        let slots = u32::try_from(horizon.div_ceil(granularity)).unwrap_or(u32::MAX);
        Some((params, slots.saturating_add(1).min(MAX_SLOTS)))
    }
}
