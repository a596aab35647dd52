//! The fields of `struct tcp_info` by their names, and the constants that go with them.

use goodqueue_sim::tcp::cc::CaState;
use goodqueue_sim::tcp::{Info, State};

/// The value of a field or a constant, if the model has it.
#[allow(clippy::cast_precision_loss)]
pub(super) fn value(info: Option<&Info>, name: &str) -> Option<f64> {
    if let Some(constant) = constant(name) {
        return Some(constant);
    }
    let info = info?;
    let micros = |span: goodqueue::Span| (span.0 / 1000) as f64;
    let millis = |span: goodqueue::Span| (span.0 / 1_000_000) as f64;
    let stats = &info.stats;
    Some(match name {
        "tcpi_state" => state(info.state),
        "tcpi_ca_state" => ca_state(info.ca_state),
        "tcpi_retransmits" => info.retransmits.into(),
        "tcpi_probes" => info.probes.into(),
        "tcpi_backoff" => info.backoff.into(),
        "tcpi_total_rto" => info.total_rto as f64,
        "tcpi_busy_time" => micros(info.busy[0]),
        "tcpi_rwnd_limited" => micros(info.busy[1]),
        "tcpi_sndbuf_limited" => micros(info.busy[2]),
        "tcpi_options" => options(info),
        "tcpi_snd_wscale" => info.agreed.scales.map_or(0.0, |scales| scales.0.into()),
        "tcpi_rcv_wscale" => info.agreed.scales.map_or(0.0, |scales| scales.1.into()),
        "tcpi_rto" => micros(info.rto),
        "tcpi_snd_mss" => info.snd_mss.into(),
        "tcpi_rcv_mss" => info.rcv_mss.into(),
        "tcpi_advmss" => info.advmss.into(),
        "tcpi_unacked" => info.unacked.into(),
        "tcpi_sacked" => info.sacked.into(),
        "tcpi_lost" => info.lost.into(),
        "tcpi_retrans" => info.retrans.into(),
        "tcpi_rtt" => micros(stats.srtt),
        "tcpi_rttvar" => micros(info.rttvar),
        "tcpi_snd_ssthresh" => info.snd_ssthresh.into(),
        "tcpi_snd_cwnd" => info.snd_cwnd.into(),
        "tcpi_rcv_ssthresh" => info.rcv_ssthresh.into(),
        "tcpi_reordering" => info.reordering.into(),
        "tcpi_reord_seen" => info.reord_seen.into(),
        "tcpi_total_retrans" => stats.retransmits as f64,
        "tcpi_pacing_rate" => info.pacing_rate as f64,
        "tcpi_bytes_received" => info.bytes_received as f64,
        "tcpi_bytes_acked" => info.bytes_acked as f64,
        "tcpi_segs_in" => info.segs_in as f64,
        "tcpi_segs_out" => info.segs_out as f64,
        "tcpi_rcv_ooopack" => info.rcv_ooopack as f64,
        "tcpi_pmtu" => info.pmtu.into(),
        "tcpi_ato" => micros(info.ato),
        "tcpi_rcv_rtt" => micros(info.rcv_rtt),
        "tcpi_rcv_space" => info.rcv_space as f64,
        "tcpi_rcv_wnd" => info.rcv_wnd.into(),
        // Linux has filled them with zero since 4.15, and ever.
        "tcpi_fackets" | "tcpi_last_ack_sent" => 0.0,
        "tcpi_bytes_sent" => info.bytes_sent as f64,
        "tcpi_bytes_retrans" => info.bytes_retrans as f64,
        "tcpi_data_segs_in" => info.data_segs_in as f64,
        "tcpi_data_segs_out" => stats.segments as f64,
        "tcpi_notsent_bytes" => info.notsent_bytes as f64,
        "tcpi_min_rtt" => micros(stats.min_rtt),
        // The SYN-ACK counts when it is acknowledged (Linux `tcp_rcv_state_process`).
        "tcpi_delivered" if info.state == State::SynRecv => stats.delivered.saturating_sub(1) as f64,
        "tcpi_delivered" => stats.delivered as f64,
        "tcpi_delivered_ce" => stats.delivered_ce as f64,
        "tcpi_dsack_dups" => stats.dsacks as f64,
        "tcpi_delivery_rate" => (stats.delivery_rate.0 / 8) as f64,
        "tcpi_delivery_rate_app_limited" => f64::from(u8::from(stats.is_app_limited)),
        "tcpi_last_data_recv" => millis(info.last_data_recv),
        "tcpi_last_data_sent" => millis(info.last_data_sent),
        "tcpi_last_ack_recv" => millis(info.last_ack_recv),
        "tcpi_received_ce" => info.ecn_counts.received_ce.into(),
        "tcpi_received_e1_bytes" => info.ecn_counts.received[0].into(),
        "tcpi_received_e0_bytes" => info.ecn_counts.received[1].into(),
        "tcpi_received_ce_bytes" => info.ecn_counts.received[2].into(),
        "tcpi_delivered_e1_bytes" => info.ecn_counts.delivered[0].into(),
        "tcpi_delivered_e0_bytes" => info.ecn_counts.delivered[1].into(),
        "tcpi_delivered_ce_bytes" => info.ecn_counts.delivered[2].into(),
        "tcpi_snd_wnd" => info.snd_wnd.into(),
        _ => return None,
    })
}

/// Linux's numbers (`include/uapi/linux/tcp.h`, `include/net/tcp_states.h`).
fn constant(name: &str) -> Option<f64> {
    Some(match name {
        "TCP_CA_Open" => 0.0,
        "TCP_CA_Disorder" => 1.0,
        "TCP_CA_CWR" => 2.0,
        "TCP_CA_Recovery" => 3.0,
        "TCP_CA_Loss" => 4.0,
        "TCP_ESTABLISHED" => 1.0,
        "TCP_SYN_SENT" => 2.0,
        "TCP_SYN_RECV" => 3.0,
        "TCP_FIN_WAIT1" => 4.0,
        "TCP_FIN_WAIT2" => 5.0,
        "TCP_TIME_WAIT" => 6.0,
        "TCP_CLOSE" => 7.0,
        "TCP_CLOSE_WAIT" => 8.0,
        "TCP_LAST_ACK" => 9.0,
        "TCP_LISTEN" => 10.0,
        "TCP_CLOSING" => 11.0,
        "TCPI_OPT_TIMESTAMPS" => 1.0,
        "TCPI_OPT_SACK" => 2.0,
        "TCPI_OPT_WSCALE" => 4.0,
        "TCPI_OPT_ECN" => 8.0,
        "TCPI_OPT_ECN_SEEN" => 16.0,
        "TCPI_OPT_SYN_DATA" => 32.0,
        _ => return None,
    })
}

fn state(state: State) -> f64 {
    match state {
        State::Established => 1.0,
        State::SynSent => 2.0,
        State::SynRecv => 3.0,
        State::FinWait1 => 4.0,
        State::FinWait2 => 5.0,
        State::TimeWait => 6.0,
        State::Close => 7.0,
        State::CloseWait => 8.0,
        State::LastAck => 9.0,
        State::Closing => 11.0,
    }
}

fn ca_state(state: CaState) -> f64 {
    match state {
        CaState::Open => 0.0,
        CaState::Disorder => 1.0,
        CaState::Cwr => 2.0,
        CaState::Recovery => 3.0,
        CaState::Loss => 4.0,
    }
}

fn options(info: &Info) -> f64 {
    let agreed = &info.agreed;
    let bits = [
        (agreed.timestamps, 1),
        (agreed.sack, 2),
        (agreed.scales.is_some(), 4),
        (agreed.ecn, 8),
        (info.is_ecn_seen, 16),
        (info.has_syn_data, 32),
    ];
    bits.iter().filter(|(is, _)| *is).map(|&(_, bit)| f64::from(bit)).sum()
}
