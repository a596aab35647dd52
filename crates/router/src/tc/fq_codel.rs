//! Options of `sch_fq_codel` (tc-fq_codel(8)).

use goodqueue::fq_codel::Params;
use netlink_packet_route::tc::{TcOption, TcQdiscFqCodelOption as Element};

fn micros(nanos: u64) -> u32 {
    u32::try_from(nanos / 1000).unwrap_or(u32::MAX)
}

/// The elements of `TCA_OPTIONS` for a new queue.
pub(super) fn attributes(params: &Params) -> Vec<TcOption> {
    let flows = TcOption::FqCodel(Element::Flows(params.flows));
    std::iter::once(flows).chain(attributes_of_change(params)).collect()
}

/// The same for an existing queue, whose number of flows stays (`fq_codel_change` refuses to change it).
pub(super) fn attributes_of_change(params: &Params) -> Vec<TcOption> {
    let mut all = vec![
        Element::Limit(params.limit),
        Element::Target(micros(params.target.0)),
        Element::Interval(micros(params.interval.0)),
        Element::MemoryLimit(params.memory_limit),
        Element::Ecn(params.ecn.into()),
        Element::DropBatchSize(params.drop_batch),
    ];
    all.extend(params.quantum.map(Element::Quantum));
    all.extend(params.ce_threshold.map(|span| Element::CeThreshold(micros(span.0))));
    all.into_iter().map(TcOption::FqCodel).collect()
}

/// tc's words for a new queue.
pub(super) fn words(params: &Params) -> String {
    let words = words_of_change(params);
    words.replacen(" target ", &format!(" flows {} target ", params.flows), 1)
}

/// tc's words for an existing queue.
pub(super) fn words_of_change(params: &Params) -> String {
    let mut words = format!(
        "limit {} target {}us interval {}us memory_limit {} {} drop_batch {}",
        params.limit,
        micros(params.target.0),
        micros(params.interval.0),
        params.memory_limit,
        if params.ecn { "ecn" } else { "noecn" },
        params.drop_batch,
    );
    if let Some(quantum) = params.quantum {
        words += &format!(" quantum {quantum}");
    }
    if let Some(span) = params.ce_threshold {
        words += &format!(" ce_threshold {}us", micros(span.0));
    }
    words
}
