//! Mean opinion score of a telephone call by the E-model, ITU-T G.107 (06/2015), for G.711 without
//! concealment of losses. All parameters that are not arguments have the recommendation's defaults.

/// Noise floor `No` in dBm0p that the defaults give.
const NO: f64 = -61.1792;
/// Basic signal-to-noise ratio `Ro` = 15 - 1.5 (SLR + No), with SLR 8.
const RO: f64 = 15.0 - 1.5 * (8.0 + NO);
/// Impairments that occur together with the voice signal, `Is`.
const IS: f64 = 1.4136;
/// Talker echo loudness rating `TELR` in dB.
const TELR: f64 = 65.0;
/// Weighted echo path loss `WEPL` in dB.
const WEPL: f64 = 110.0;
/// Minimum perceivable delay `mT` in ms.
const MT: f64 = 100.0;
/// Robustness of the codec against loss, `Bpl`: G.711 without concealment (G.113).
const BPL: f64 = 4.3;

/// The mean opinion score, 1 (bad) to 4.41 (the best that the defaults permit), of a call with this
/// mouth-to-ear delay and this share of its packets lost at random. The share is clamped to 0 to 1; NaN
/// counts as 1.
///
/// The recommendation's curve dips to 0.99 for small R; the result is never below 1.
pub(crate) fn mos(one_way_ns: u64, loss: f64) -> f64 {
    let delay_ms = one_way_ns as f64 / 1e6;
    let loss = if loss.is_nan() { 1.0 } else { loss.clamp(0.0, 1.0) };
    let r = RO - IS - talker_echo(delay_ms) - listener_echo(delay_ms) - absolute_delay(delay_ms) - lost(loss);
    match r {
        r if r < 0.0 => 1.0,
        r if r > 100.0 => 4.5,
        r => (1.0 + 0.035 * r + 7e-6 * r * (r - 60.0) * (100.0 - r)).max(1.0),
    }
}

/// `Idte`: talkers hear the echo of their own voice.
fn talker_echo(t: f64) -> f64 {
    if t < 1.0 {
        return 0.0;
    }
    let echo = TELR - 40.0 * ((1.0 + t / 10.0) / (1.0 + t / 150.0)).log10() + 6.0 * (-0.3 * t * t).exp();
    let half = (-1.5 * (NO - 2.0) - (80.0 + 2.5 * (echo - 14.0))) / 2.0;
    (half + (half * half + 100.0).sqrt() - 1.0) * (1.0 - (-t).exp())
}

/// `Idle`: the listener hears the talker's echo, after the round trip 2 T.
fn listener_echo(t: f64) -> f64 {
    let half = (RO - 10.5 * (WEPL + 7.0) * (2.0 * t + 1.0).powf(-0.25)) / 2.0;
    half + (half * half + 169.0).sqrt()
}

/// `Idd`: the delay is too long even on a clear line.
fn absolute_delay(t: f64) -> f64 {
    if t <= MT {
        return 0.0;
    }
    let x = (t / MT).log2();
    let root = |x: f64| (1.0 + x.powi(6)).powf(1.0 / 6.0);
    25.0 * (root(x) - 3.0 * root(x / 3.0) + 2.0)
}

/// `Ie,eff` for Ie 0 and BurstR 1.
fn lost(loss: f64) -> f64 {
    let percent = loss * 100.0;
    95.0 * percent / (percent + BPL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    /// Delay in ms, loss and score, computed independently of this code from the recommendation's formulas.
    const REFERENCE: [(u64, f64, f64); 14] = [
        (0, 0.0, 4.4094),
        (20, 0.0, 4.3960),
        (50, 0.0, 4.3796),
        (100, 0.0, 4.3549),
        (150, 0.0, 4.3275),
        (177, 0.0, 4.2890),
        (200, 0.0, 4.2232),
        (300, 0.0, 3.7194),
        (400, 0.0, 3.2156),
        (20, 0.01, 3.8049),
        (50, 0.01, 3.7712),
        (50, 0.05, 2.0975),
        (100, 0.05, 2.0439),
        (200, 0.02, 2.8724),
    ];

    /// Scores to two digits from the table of VoIP over Wi-Fi (Høiland-Jørgensen et al., USENIX ATC 2017): a
    /// delay in ms and a loss that explain the score, the score, and its place in the table.
    const PUBLISHED: [(u64, f64, f64, &str); 6] = [
        (5, 0.0, 4.41, "FQ-MAC and Airtime, VO, at 5 ms: no delay of the air, no loss"),
        (50, 0.0, 4.38, "FQ-MAC and Airtime, VO, at 50 ms: the same"),
        (30, 0.0, 4.39, "FQ-MAC and Airtime, BE, at 5 ms: 25 ms of queues and jitter"),
        (69, 0.0, 4.37, "FQ-MAC and Airtime, BE, at 50 ms: 19 ms"),
        (5, 0.0045, 4.17, "FIFO and FQ-CoDel, VO, at 5 ms: a loss of 0.45 %"),
        (214, 0.0, 4.17, "or, without loss, a delay of 214 ms"),
    ];

    #[test]
    fn the_reference_points_agree_to_four_digits() {
        for (ms, loss, want) in REFERENCE {
            let got = mos(ms * MS, loss);
            assert!((got - want).abs() < 0.000_05, "{ms} ms, {loss}: {got:.5}, not {want}");
        }
    }

    #[test]
    fn plausible_calls_get_the_published_scores() {
        let rounded = |ms, loss| (mos(ms * MS, loss) * 100.0).round() / 100.0;
        for (ms, loss, want, _) in PUBLISHED {
            assert_eq!(rounded(ms, loss), want, "{ms} ms, {loss}");
        }
        assert!((1.2..1.3).contains(&mos(5 * MS, 0.15)));
        assert_eq!(mos(2000 * MS, 0.5), 1.0);
    }

    /// Checks `docs/e-model.md`; writes it if `GOODQUEUE_BLESS` is set.
    #[test]
    fn the_page_has_these_scores() {
        let percent = |loss: f64| format!("{} %", (loss * 1e4).round() / 100.0);
        let mut page = String::from(PAGE);
        for (ms, loss, want) in REFERENCE {
            let ours = mos(ms * MS, loss);
            page += &format!("| {ms} | {} | {want:.4} | {ours:.4} |\n", percent(loss));
        }
        page += PAGE_PUBLISHED;
        for (ms, loss, want, what) in PUBLISHED {
            let ours = mos(ms * MS, loss);
            page += &format!("| {what} | {ms} | {} | {want:.2} | {ours:.2} |\n", percent(loss));
        }
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/e-model.md");
        if std::env::var_os("GOODQUEUE_BLESS").is_some() {
            std::fs::write(path, &page).expect(path);
        }
        let old = std::fs::read_to_string(path).expect(path);
        assert!(old == page, "{path} is not current: run this test with GOODQUEUE_BLESS=1");
    }

    const PAGE: &str = "<!-- Written by a test of crates/report/src/mos.rs; not edited by hand. -->\n\
        # The E-model's scores\n\n\
        The score of a G.711 call is that of ITU-T G.107 (06/2015) with the recommendation's defaults and without loss concealment \
        (Ie 0, Bpl 4.3). As in flent, the delay is the mean one-way delay plus twice the mean jitter. From 4.34 on users are very \
        satisfied, below 3.1 nearly all are dissatisfied (table B.1). A test checks this page.\n\n\
        ## Points of the model (V1)\n\n\
        On the left are scores computed from the recommendation's formulas, independently of this program; on the right those of the reports.\n\n\
        | delay, ms | loss | by the formulas | here |\n| --: | --: | --: | --: |\n";

    const PAGE_PUBLISHED: &str = "\n## Published scores over Wi-Fi, explained\n\n\
        These are the scores in \"Ending the Anomaly\" (USENIX ATC 2017) for calls to a slow station, with a delay and a loss that \
        give them. The scores of the simulated calls are in [its reproduction](reproductions/wifi-voip.md).\n\n\
        | arm | delay, ms | loss | published | here |\n| :-- | --: | --: | --: | --: |\n";

    #[test]
    fn absurd_calls_have_a_score_too() {
        for loss in [f64::NAN, f64::INFINITY, -1.0, 1.0, 7.0] {
            for delay in [0, 1, u64::MAX] {
                let score = mos(delay, loss);
                assert!((1.0..=4.5).contains(&score), "{delay} {loss}: {score}");
            }
        }
        assert_eq!(mos(0, f64::NAN), 1.0);
    }

    proptest! {
        #[test]
        fn more_loss_is_never_better(delay in 0u64..2_000_000_000, loss in 0.0f64..1.0, more in 0.0f64..1.0) {
            let (few, many) = (loss.min(more), loss.max(more));
            prop_assert!(mos(delay, few) >= mos(delay, many) - 1e-9);
        }
    }
}
