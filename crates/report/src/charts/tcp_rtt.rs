//! The round trip that TCP's senders measured, over time.

use super::data::{Bins, Spread, spread};
use super::time::{Style, overlay};
use super::{Chart, Context};
use crate::record::Run;

/// The smoothed round-trip times of all flows of a run by the end of their steps, in ms.
fn over_time(run: &Run, bins: &Bins) -> Vec<Option<Spread>> {
    let mut all = vec![Vec::new(); bins.count];
    for flow in &run.flows {
        for (&t, &srtt) in flow.t_ns.iter().zip(&flow.srtt_us).filter(|&(_, &srtt)| srtt > 0) {
            if let Some(i) = bins.index(t) {
                all[i].push(i64::from(srtt) * 1000);
            }
        }
    }
    all.into_iter().map(|values| spread(values, 1e6)).collect()
}

/// One line and band per queue, on common axes from zero.
pub(super) fn draw(ctx: &Context<'_>) -> Chart {
    let data: Vec<_> = ctx.record.runs.iter().map(|run| over_time(run, &ctx.coarse)).collect();
    let look = Style {
        id: "tcp-rtt".into(),
        title: "TCP's own round-trip time".into(),
        unit: "ms",
        height: 300.0,
        log: false,
        floor: None,
    };
    overlay(ctx, look, &ctx.coarse, &data)
}
