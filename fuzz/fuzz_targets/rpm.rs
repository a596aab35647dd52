#![no_main]
use goodqueue::{Nanos, Span};
use goodqueue_path::rpm::document::Document;
use goodqueue_path::rpm::trust::Fingerprint;
use goodqueue_probe::rpm::{Action, Algorithm, Answer, Sample, Settings};

// The document that a server hands to a client, a fingerprint as people type it, and the algorithm whatever
// time passes and whatever becomes of probes.
libfuzzer_sys::fuzz_target!(|input: (Vec<u8>, [u8; 6], Vec<(u32, u32, u8)>)| {
    let (bytes, set, steps) = input;
    if let Ok(document) = Document::parse(&bytes) {
        assert!(!document.host().is_empty() || document.endpoint.is_some());
        for uri in [&document.large, &document.small, &document.upload] {
            assert_eq!(uri.scheme_str(), Some("https"));
        }
    }
    if let Some(fingerprint) = std::str::from_utf8(&bytes).ok().and_then(Fingerprint::parse) {
        assert_eq!(Fingerprint::parse(&fingerprint.to_string()), Some(fingerprint));
    }
    let [distance, trimmed_mean, first, more, most, per_second] = set;
    let settings = Settings {
        distance: distance.into(),
        trimmed_mean: trimmed_mean.into(),
        first: first.into(),
        more: more.into(),
        most: most.into(),
        probes_per_second: per_second.into(),
        ..Settings::default()
    };
    let (mut algorithm, mut now, mut opened) = (Algorithm::new(settings, Nanos(0), 1), Nanos(0), 0);
    for (passed, bytes, fate) in steps {
        now = now + Span(u64::from(passed));
        algorithm.transferred(bytes.into());
        algorithm.handle_timeout(now);
        while let Some(action) = algorithm.poll_action() {
            let took = Span(u64::from(bytes));
            let sample = |answer| Sample { began: now, at: now + took, answer };
            match action {
                Action::Open { connection } => {
                    assert_eq!(connection, opened);
                    opened += 1;
                    algorithm.connected(connection);
                }
                Action::Load { connection } => assert!(connection < opened),
                Action::Foreign if fate & 1 == 0 => algorithm.failed(true),
                Action::Foreign => {
                    algorithm.completed(sample(Answer::Foreign { tcp: took, tls: None, http: took }))
                }
                Action::Own { .. } if fate & 2 == 0 => algorithm.failed(false),
                Action::Own { .. } => algorithm.completed(sample(Answer::Own { http: took })),
            }
        }
        assert!(opened <= u32::from(most).max(1));
    }
    let outcome = algorithm.outcome();
    if let Some(parts) = outcome.parts {
        assert!(parts.rpm().is_finite() && parts.rpm() > 0.0);
    }
});
