//! ToS bytes and TTLs of each direction, as sent and as received.

use std::collections::BTreeMap;

use goodqueue_probe::echo::wire::IpFields;
use serde::Serialize;

/// The ECN field of a ToS byte (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ecn {
    /// The sender does not understand marks.
    #[default]
    NotEct,
    /// ECN-capable transport, codepoint 01: L4S (RFC 9331).
    Ect1,
    /// ECN-capable transport, codepoint 10: classic.
    Ect0,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// The ECN field of a ToS byte.
    #[must_use]
    pub fn of(tos: u8) -> Ecn {
        [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(tos & 3)]
    }

    /// The two bits.
    #[must_use]
    pub fn bits(self) -> u8 {
        self as u8
    }

    /// As the RFCs write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        ["Not-ECT", "ECT(1)", "ECT(0)", "CE"][usize::from(self.bits())]
    }
}

/// What was observed about the packets of one direction. Nothing is known about a packet that did not arrive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReceivedMarks {
    /// ToS byte as sent, of the last packet.
    pub sent_tos: u8,
    /// TTL as sent, if it is known.
    pub sent_ttl: Option<u8>,
    /// Packets by ToS byte as received.
    pub received_tos: BTreeMap<u8, u64>,
    /// Packets whose DSCP differed from the one sent.
    pub dscp_changed: u64,
    /// Packets whose ECN field differed from the one sent, except for CE on packets sent as ECT(0) or ECT(1).
    pub ecn_changed: u64,
    /// Packets that came with CE and were sent with ECT(0) or ECT(1).
    pub ce: u64,
    /// Least TTL or hop limit as received.
    pub ttl_min: Option<u8>,
    /// Greatest TTL or hop limit as received.
    pub ttl_max: Option<u8>,
}

impl ReceivedMarks {
    /// Takes note of a packet.
    pub(crate) fn note(&mut self, sent: IpFields, received: IpFields) {
        self.sent_tos = sent.tos;
        self.sent_ttl = sent.known().map(|sent| sent.ttl).or(self.sent_ttl);
        let Some(IpFields { tos, ttl }) = received.known() else { return };
        *self.received_tos.entry(tos).or_default() += 1;
        self.dscp_changed += u64::from(tos >> 2 != sent.tos >> 2);
        let is_mark = Ecn::of(tos) == Ecn::Ce && matches!(Ecn::of(sent.tos), Ecn::Ect0 | Ecn::Ect1);
        self.ce += u64::from(is_mark);
        self.ecn_changed += u64::from(tos & 3 != sent.tos & 3 && !is_mark);
        self.ttl_min = Some(self.ttl_min.map_or(ttl, |least| least.min(ttl)));
        self.ttl_max = Some(self.ttl_max.map_or(ttl, |most| most.max(ttl)));
    }

    /// Packets whose fields on arrival are known.
    #[must_use]
    pub fn known(&self) -> u64 {
        self.received_tos.values().sum()
    }

    /// The most frequent value of a part of the ToS byte among those that differ from what was sent, and how
    /// many packets had it.
    #[must_use]
    pub fn most_changed(&self, part: fn(u8) -> u8) -> Option<(u8, u64)> {
        let mut counts: BTreeMap<u8, u64> = BTreeMap::new();
        for (&tos, n) in self.received_tos.iter().filter(|&(&tos, _)| part(tos) != part(self.sent_tos)) {
            *counts.entry(part(tos)).or_default() += n;
        }
        counts.into_iter().max_by_key(|&(_, n)| n)
    }
}

/// Both directions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Marks {
    /// To the server. Only our server reports how probes arrived.
    pub up: ReceivedMarks,
    /// To the client.
    pub down: ReceivedMarks,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(tos: u8, ttl: u8) -> IpFields {
        IpFields { tos, ttl }
    }

    #[test]
    fn changes_are_counted_by_what_they_are() {
        let mut way = ReceivedMarks::default();
        let sent = ip(0xba, 64);
        for received in [ip(0xba, 60), ip(0x02, 60), ip(0x20, 59), ip(0xbb, 60), ip(0xb8, 60), ip(0, 0)] {
            way.note(sent, received);
        }
        assert_eq!((way.known(), way.sent_tos, way.sent_ttl), (5, 0xba, Some(64)));
        assert_eq!((way.dscp_changed, way.ecn_changed, way.ce), (2, 2, 1));
        assert_eq!((way.ttl_min, way.ttl_max), (Some(59), Some(60)));
        assert_eq!(way.most_changed(|tos| tos & 3), Some((0, 2)));
        let mut way = ReceivedMarks::default();
        way.note(ip(0, 0), ip(3, 60));
        assert_eq!((way.ce, way.ecn_changed, way.sent_ttl), (0, 1, None), "nobody may mark Not-ECT");
        assert_eq!([0, 1, 2, 3].map(|bits| Ecn::of(bits).bits()), [0, 1, 2, 3]);
        assert_eq!(Ecn::of(0xb9).name(), "ECT(1)");
    }
}
