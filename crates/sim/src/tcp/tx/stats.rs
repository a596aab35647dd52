//! What a sender counts.

use super::Tx;
use super::rate::Rated;
use goodqueue::{Rate, Span};

/// Counters of a sender. Segments have one MSS; a super-packet counts as the segments that it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TxStats {
    /// Data segments sent, retransmissions included.
    pub segments: u64,
    /// Segments retransmitted, probes included (Linux `tcpi_total_retrans`).
    pub retransmits: u64,
    /// Segments delivered, cumulatively or by SACK (Linux `tcpi_delivered`).
    pub delivered: u64,
    /// Of these, on ACKs with ECE (Linux `tcpi_delivered_ce`).
    pub delivered_ce: u64,
    /// Bytes cumulatively acknowledged.
    pub acked_bytes: u64,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Span,
    /// Least round-trip time of the last 300 s; `Span(u64::MAX)` before the first sample.
    pub min_rtt: Span,
    /// Retransmission timeouts.
    pub rtos: u64,
    /// Tail loss probes sent.
    pub probes: u64,
    /// Reductions of the window that were undone.
    pub undos: u64,
    /// Entries into fast recovery.
    pub recoveries: u64,
    /// Reductions of the window for ECN.
    pub ecn_reductions: u64,
    /// Segments reported by DSACK as received twice.
    pub dsacks: u64,
    /// SYN or SYN-ACK retransmissions.
    pub syn_retransmits: u64,
    /// The newest delivery rate of payload; zero before the first (Linux `tcpi_delivery_rate`).
    pub delivery_rate: Rate,
    /// Whether the application limited that rate (Linux `tcpi_delivery_rate_app_limited`).
    pub is_app_limited: bool,
    /// Whether ECN was negotiated (Linux `TCPI_OPT_ECN`).
    pub has_ecn: bool,
}

/// The counters as they are stored. Events that are rarer than segments fit into 32 bits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counters {
    pub(super) segments: u64,
    pub(super) retransmits: u64,
    pub(super) delivered_ce: u64,
    pub(super) rtos: u32,
    pub(super) probes: u32,
    pub(super) undos: u32,
    pub(super) recoveries: u32,
    pub(super) ecn_reductions: u32,
    pub(super) dsacks: u32,
    pub(super) syn_retransmits: u32,
    /// Not a counter: it is here because there is room. The newest delivery rate ([`super::rate::Rated`]).
    pub(super) rate: Rated,
}

impl Tx {
    /// The handshake reported this many packets with CE.
    pub(in crate::tcp) fn count_ce(&mut self, packets: u64) {
        self.count.delivered_ce = self.count.delivered_ce.max(packets);
    }

    /// The counters.
    #[must_use]
    pub fn stats(&self) -> TxStats {
        let count = &self.count;
        let (delivery_rate, is_app_limited) = count.rate.get();
        TxStats {
            segments: count.segments,
            retransmits: count.retransmits,
            delivered: self.w.delivered,
            delivered_ce: count.delivered_ce,
            acked_bytes: self.w.snd_una.min(self.write_seq).saturating_sub(1),
            srtt: self.rtt.srtt(),
            min_rtt: self.w.min_rtt(),
            rtos: count.rtos.into(),
            probes: count.probes.into(),
            undos: count.undos.into(),
            recoveries: count.recoveries.into(),
            ecn_reductions: count.ecn_reductions.into(),
            dsacks: count.dsacks.into(),
            syn_retransmits: count.syn_retransmits.into(),
            delivery_rate,
            is_app_limited,
            has_ecn: self.has_ecn(),
        }
    }
}
