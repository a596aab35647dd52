#![no_main]
use goodqueue_experiment::arrivals;
use goodqueue_sim::{Cdf, Distribution};

// A file of arrivals, as a table, a trace or a capture; and the same as points and words of a distribution.
libfuzzer_sys::fuzz_target!(|content: &[u8]| {
    for name in ["x.csv", "x.trace"] {
        match arrivals::read(name, content) {
            Ok(all) => {
                assert!(!all.is_empty() && all.is_sorted());
                assert!(all.iter().all(|one| one.bytes != Some(0)));
                assert!(all.iter().all(|one| one.bytes.is_some() == all[0].bytes.is_some()));
            }
            Err(why) => assert!(!why.is_empty()),
        }
    }
    let Ok(text) = std::str::from_utf8(content) else { return };
    if let Ok(cdf) = Cdf::parse(text) {
        let (low, middle, high) = (cdf.quantile(0.0), cdf.quantile(0.5), cdf.quantile(1.0));
        assert!(low <= middle && middle <= high && (0.0..=high).contains(&cdf.mean()));
    }
    for of in [Distribution::of_sizes(text), Distribution::of_times(text)].into_iter().flatten() {
        assert!(of.mean() >= 0.0 && of.mean().is_finite(), "{of:?}");
    }
});
