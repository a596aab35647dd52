#![no_main]
use goodqueue_own::{Parameter, Unit};

fn parameter(name: &str, unit: Unit, least: u64, most: u64) -> Parameter {
    Parameter { name: name.into(), about: String::new(), unit, initial: least, least, most }
}

// What a user writes behind the path of a library.
libfuzzer_sys::fuzz_target!(|text: &str| {
    let parameters = [
        parameter("limit", Unit::Count, 1, 10_000),
        parameter("target", Unit::Time, 0, u64::MAX),
        parameter("rate", Unit::Rate, 1, u64::MAX),
        parameter("bytes", Unit::Bytes, 60, 1 << 40),
    ];
    match Parameter::values(&parameters, text) {
        Ok(values) => {
            let words = parameters.iter().zip(&values).map(|(parameter, &value)| {
                assert!((parameter.least..=parameter.most).contains(&value), "{text}");
                format!("{}={}", parameter.name, parameter.unit.words(value))
            });
            let words = words.collect::<Vec<_>>().join(",");
            assert_eq!(Parameter::values(&parameters, &words), Ok(values), "reads back");
        }
        Err(why) => assert!(!why.is_empty()),
    }
});
