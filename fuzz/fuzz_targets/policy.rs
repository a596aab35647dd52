#![no_main]
use goodqueue::Nanos;
use goodqueue_experiment::Experiment;
use goodqueue_sim::wifi::Radio;

/// Two stations; the text before them belongs to `[wifi]`.
const STATIONS: &str =
    "\n[[wifi.station]]\nname = \"a\"\nmcs = 0\n[[wifi.station]]\nname = \"b\"\nmcs = 15\ncount = 2\n";

// The text is what [wifi] says of groups and policies and, behind a line of dashes, what the last stations
// say of theirs. What the reader takes, a radio takes: groups behind those around them, weights in range.
libfuzzer_sys::fuzz_target!(|text: &str| {
    let (groups, place) = text.split_once("\n---\n").unwrap_or((text, ""));
    let text = format!("test = \"ping\"\n[wifi]\n{groups}{STATIONS}{place}\n");
    let Ok(experiment) = Experiment::parse(&text, "x.toml", std::path::Path::new("/nonexistent")) else {
        return;
    };
    for variant in &experiment.variants {
        for radio in &variant.scenario.radios {
            for policy in radio.spec.devices.iter().filter_map(|device| device.policy.as_ref()) {
                for (at, group) in policy.groups.iter().enumerate() {
                    assert!(
                        group.parent.is_none_or(|parent| parent < at) && (1..=65_535).contains(&group.weight)
                    );
                }
            }
            let radio = Radio::new(&radio.spec, 1, 0).expect("a radio of what was read");
            assert!(radio.is_conserved(Nanos::ZERO));
        }
    }
});
