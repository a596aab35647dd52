//! Against the tables of IEEE 802.11-2020 (19.5, 21.5) and 802.11ax-2021 (27.5), and hand computation.

use super::*;

fn rate(text: &str) -> PhyRate {
    text.parse().expect(text)
}

#[test]
fn rates_of_the_standards_tables() {
    let known = [
        ("dsss1", 1_000_000),
        ("dsss5.5", 5_500_000),
        ("ofdm6", 6_000_000),
        ("ofdm54", 54_000_000),
        ("ht20-mcs0-lgi", 6_500_000),
        ("mcs0", 7_222_222),
        ("ht20-mcs7-lgi", 65_000_000),
        ("mcs7", 72_222_222),
        ("mcs15", 144_444_444),
        ("ht40-mcs15-lgi", 270_000_000),
        ("ht40-mcs15-sgi", 300_000_000),
        ("vht80-2ss-mcs9-lgi", 780_000_000),
        ("vht80-2ss-mcs9-sgi", 866_666_666),
        ("vht160-4ss-mcs9-sgi", 3_466_666_666),
        ("he20-mcs0", 8_602_941),
        ("he80-2ss-mcs11", 1_200_955_882),
        ("he160-8ss-mcs11-gi3.2", 8_166_625_000),
    ];
    for (text, bps) in known {
        assert_eq!(rate(text).bps(), bps, "{text}");
        assert_eq!(rate(&rate(text).to_string()), rate(text), "{text}");
    }
}

#[test]
fn rates_that_do_not_exist_are_refused() {
    for text in ["vht20-mcs9", "vht20-2ss-mcs9", "vht80-3ss-mcs6", "vht80-7ss-mcs6", "vht80-6ss-mcs9"] {
        assert_eq!(text.parse::<PhyRate>(), Err(RateError::NoSuchRate(text.into())));
    }
    assert!(PhyRate::vht(9, 3, 20, Guard::Normal).is_some());
    for text in ["mcs32", "ht80-mcs1", "vht80-9ss-mcs1", "vht80-0ss-mcs1", "he20-mcs12", "he20-mcs1-sgi"] {
        assert!(text.parse::<PhyRate>().is_err(), "{text}");
    }
    for text in
        ["", "-", "mcs", "ofdm7", "dsss3", "ofdm54-sgi", "ht20", "ht20-mcs7-2ss", "vhtx-mcs1", "he20-mcs-1"]
    {
        assert!(text.parse::<PhyRate>().is_err(), "{text}");
    }
}

/// ACK and CTS have 14 bytes, RTS 20, compressed block ack 32, BAR 24.
#[test]
fn control_frames_at_the_mandatory_rates() {
    let us = |bytes| ["ofdm24", "ofdm12", "ofdm6"].map(|text| rate(text).ppdu(bytes).0 / 1000);
    assert_eq!(us(14), [28, 32, 44]);
    assert_eq!(us(20), [28, 36, 52]);
    assert_eq!(us(32), [32, 44, 68]);
    assert_eq!(us(24), [32, 40, 56]);
    assert_eq!(rate("dsss1").ppdu(14), Span::from_micros(304));
    assert_eq!(rate("mcs15").control(), rate("ofdm24"));
    assert_eq!(rate("mcs0").control(), rate("ofdm6"));
    assert_eq!(rate("mcs1").control(), rate("ofdm12"));
    assert_eq!(rate("ofdm54").control(), rate("ofdm24"));
    assert_eq!(rate("dsss11").control(), rate("dsss1"));
}

#[test]
fn preambles() {
    let known = [
        ("ofdm6", 20_000),
        ("mcs7", 36_000),
        ("mcs15", 40_000),
        ("vht80-2ss-mcs9", 44_000),
        ("he80-2ss-mcs11", 50_400),
        ("he20-mcs0-gi3.2", 52_000),
        ("he20-4ss-mcs0-gi1.6", 68_000),
    ];
    for (text, ns) in known {
        assert_eq!(rate(text).preamble(), Span(ns), "{text}");
    }
}

/// 64 MPDUs of 1538 bytes at 866.7 Mbit/s: 98816 bytes are 790556 bits with service and the tails of two
/// encoders, 254 symbols of 3120 bits, 914.4 us, which end on a boundary of 4 us: 916.
#[test]
fn an_aggregate_by_hand() {
    assert_eq!(rate("vht80-2ss-mcs9-sgi").ppdu(98_816), Span::from_micros(44 + 916));
    // 3088 bytes at MCS 0 with the long interval: 24726 bits, 951 symbols of 26.
    assert_eq!(rate("ht20-mcs0-lgi").ppdu(3_088), Span::from_micros(36 + 3_804));
    // 1000 bytes at HE20 MCS 0: 8022 bits, 69 symbols of 117 bits.
    assert_eq!(rate("he20-mcs0").ppdu(1_000), Span(43_200 + 69 * 13_600));
}

#[test]
fn what_fits_into_a_time_takes_no_longer() {
    for text in
        ["dsss1", "dsss11", "ofdm6", "mcs0", "mcs15", "ht40-mcs31-lgi", "vht160-8ss-mcs9-sgi", "he80-mcs11"]
    {
        let rate = rate(text);
        for micros in [0, 50, 300, 1_504, 4_000, 5_484] {
            let span = Span::from_micros(micros);
            let bytes = rate.bytes_in(span);
            assert!(bytes == 0 || rate.ppdu(bytes) <= span, "{text} {micros}");
            assert!(rate.ppdu(bytes + 1) > span, "{text} {micros}");
        }
    }
    assert!(rate("mcs0").ppdu(u64::MAX) > Span::from_secs(1_000_000), "an absurd length saturates");
}

/// The number of encoders is computed in bits and symbols; the rule itself is in bits per second.
#[test]
fn encoders_follow_the_rate() {
    for (mcs, width, guard) in (0..32).flat_map(|mcs| {
        [20, 40].into_iter().flat_map(move |width| [(mcs, width, Guard::Normal), (mcs, width, Guard::Short)])
    }) {
        let rate = PhyRate::ht(mcs, width, guard).expect("a rate");
        assert_eq!(rate.encoders(), 1 + u64::from(rate.bps() > 300_000_000), "{rate}");
    }
    for mcs in 0..10 {
        for (nss, width) in (1..=8).flat_map(|nss| WIDTHS.map(|width| (nss, width))) {
            for guard in [Guard::Normal, Guard::Short] {
                let Some(rate) = PhyRate::vht(mcs, nss, width, guard) else { continue };
                assert_eq!(rate.encoders(), rate.bps().div_ceil(600_000_000).max(1), "{rate}");
            }
        }
    }
}
