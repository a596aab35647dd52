//! Reads a qdisc in tc's words as one of our queues.

use goodqueue::QueueSpec;
use goodqueue::spec::{CATALOGUE, Parameter, QueueKind, Unit};

/// Reads a queue as tc writes it: `fq_codel limit 10240p target 5ms noecn`. Parameters that are not named
/// have the kernel's defaults, which are those of the catalogue.
///
/// # Errors
/// A sentence that names the unknown word.
pub fn queue_of(tc: &str) -> Result<QueueSpec, String> {
    let mut words = tc.split_whitespace();
    let name = words.next().ok_or("an empty text")?;
    // `fifo` has its size in time and exists only here; no kernel with `cake_mq` was recorded.
    let is_known = |kind: QueueKind| !matches!(kind, QueueKind::Fifo | QueueKind::CakeMq);
    let info = CATALOGUE.iter().find(|info| info.name == name && is_known(info.kind));
    let info = info.ok_or_else(|| format!("the queue `{name}` is not built"))?;
    if info.kind == QueueKind::Cake {
        return cake_of(tc, words);
    }
    let mut spec = name.to_owned();
    let mut given = Vec::new();
    while let Some(word) = words.next() {
        let (bare, is_negated) = match word.strip_prefix("no") {
            Some(bare) if find(info.parameters, bare).is_some_and(is_switch) => (bare, true),
            _ => (word, false),
        };
        let parameter = find(info.parameters, bare)
            .filter(|parameter| parameter.name != "parity")
            .ok_or_else(|| format!("`{word}` of `{tc}` is not understood"))?;
        if given.contains(&parameter.name) {
            return Err(format!("`{word}` is given twice in `{tc}`"));
        }
        given.push(parameter.name);
        if is_switch(parameter) {
            spec += &format!(",{bare}={}", if is_negated { "off" } else { "on" });
            continue;
        }
        let value = words.next().ok_or_else(|| format!("`{word}` of `{tc}` has no value"))?;
        spec += &match (parameter.name, value.split_once('/')) {
            ("ce_threshold_selector", Some((selector, mask))) => {
                format!(",ce_threshold_selector={selector},ce_threshold_mask={mask}")
            }
            _ => format!(",{bare}={}", in_our_units(parameter.unit, value)),
        };
    }
    spec.parse::<QueueSpec>().map_err(|error| error.to_string())
}

/// `cake` as tc writes it: most of its words are values without a parameter name.
fn cake_of<'a>(tc: &str, mut words: impl Iterator<Item = &'a str>) -> Result<QueueSpec, String> {
    let info = CATALOGUE.iter().find(|info| info.kind == QueueKind::Cake).ok_or("no cake")?;
    let mut spec = "cake".to_owned();
    while let Some(word) = words.next() {
        let is_value = |parameter: &&Parameter| match parameter.unit {
            Unit::Word(values) => parameter.name != "ack-filter" && values.contains(&word),
            Unit::TimeOr(values) => values.iter().any(|(value, _)| *value == word),
            _ => false,
        };
        let bare = word.strip_prefix("no-").or(word.strip_prefix("no")).unwrap_or(word);
        let switch = find(info.parameters, bare).filter(|parameter| is_switch(parameter));
        spec += &match (word, info.parameters.iter().find(is_value), switch) {
            ("unlimited" | "egress" | "no-ack-filter", ..) => String::new(),
            ("ack-filter", ..) => ",ack-filter=on".to_owned(),
            ("ack-filter-aggressive", ..) => ",ack-filter=aggressive".to_owned(),
            (_, Some(parameter), _) => format!(",{}={word}", parameter.name),
            (_, _, Some(switch)) => {
                format!(",{}={}", switch.name, if bare == word { "on" } else { "off" })
            }
            _ => {
                let parameter = find(info.parameters, word)
                    .filter(|parameter| !matches!(parameter.unit, Unit::Word(_)) && parameter.name != "flows")
                    .ok_or_else(|| format!("`{word}` of `{tc}` is not understood"))?;
                let value = words.next().ok_or_else(|| format!("`{word}` of `{tc}` has no value"))?;
                format!(",{word}={}", in_our_units(parameter.unit, value))
            }
        };
    }
    spec.parse::<QueueSpec>().map_err(|error| error.to_string())
}

fn find(parameters: &'static [Parameter], word: &str) -> Option<&'static Parameter> {
    parameters.iter().find(|parameter| parameter.name == word || parameter.aliases.contains(&word))
}

fn is_switch(parameter: &Parameter) -> bool {
    parameter.unit == Unit::Switch
}

/// tc reads a bare time as microseconds and a bare rate as bit/s; the catalogue wants units.
fn in_our_units(unit: Unit, value: &str) -> String {
    let is_bare = value.bytes().all(|byte| byte.is_ascii_digit());
    match unit {
        Unit::Time | Unit::TimeOr(_) if is_bare => format!("{value}us"),
        Unit::Rate if is_bare => format!("{value}bit"),
        _ => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodqueue::spec::QueueParams;

    fn read(tc: &str) -> String {
        queue_of(tc).expect(tc).to_string()
    }

    #[test]
    fn tcs_words_become_our_queues() {
        assert_eq!(read("pfifo limit 100"), "pfifo:100");
        assert_eq!(read("bfifo limit 75000"), "bfifo:75000");
        assert_eq!(read("codel noecn"), "codel,ecn=off");
        assert_eq!(read("fq_codel ecn"), "fq_codel,ecn=on");
        assert_eq!(
            read(
                "fq_codel limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms memory_limit 32Mb ecn drop_batch 64"
            ),
            "fq_codel,limit=10240,flows=1024,target=5ms,interval=100ms,quantum=1514,ecn=on,memory_limit=32m,drop_batch=64"
        );
        assert_eq!(read("codel target 5000 interval 100000"), "codel,target=5ms,interval=100ms");
        assert_eq!(read("fq_codel ce_threshold 1ms ce_threshold_selector 0x1/0x3"), {
            "fq_codel,ce_threshold=1ms,ce_threshold_selector=1,ce_threshold_mask=3"
        });
    }

    #[test]
    fn words_of_cake_find_their_parameters() {
        for (tc, ours) in [
            ("cake unlimited besteffort", "cake:besteffort"),
            (
                "cake bandwidth 10000000bit besteffort flows",
                "cake:besteffort,bandwidth=10mbit,isolation=flows",
            ),
            (
                "cake bandwidth 1500bit diffserv4 dual-srchost nonat nowash no-ack-filter split-gso rtt 100000 raw",
                "cake:diffserv4,bandwidth=1500bit,isolation=dual-srchost,rtt=100ms,link=raw,split-gso=on,\
                 wash=off,nat=off",
            ),
            (
                "cake internet pppoe-vcmux overhead -4 mpu 64 no-split-gso ack-filter-aggressive memlimit 4Mb",
                "cake,rtt=100ms,link=pppoe-vcmux,overhead=-4,mpu=64,ack-filter=aggressive,split-gso=off,memlimit=4m",
            ),
        ] {
            assert_eq!(read(tc), ours);
        }
    }

    #[test]
    fn parameters_that_are_not_named_have_the_kernels_defaults() {
        let params = |tc| *queue_of(tc).expect(tc).params();
        let QueueParams::Codel(codel) = params("codel noecn") else { panic!("codel") };
        assert_eq!((codel.limit, codel.ecn), (1000, false));
        let QueueParams::FqCodel(fq_codel) = params("fq_codel") else { panic!("fq_codel") };
        assert!(fq_codel.ecn);
    }

    #[test]
    fn unknown_words_are_named() {
        for (tc, word) in [
            ("hfsc default 1", "`hfsc` is not built"),
            ("cake bandwidth 10000000bit weather", "`weather` of"),
            ("cake rtt", "has no value"),
            ("fifo limit 10", "`fifo` is not built"),
            ("codel weather", "`weather` of"),
            ("pfifo noecn", "`noecn` of"),
            ("codel parity linux", "`parity` of"),
            ("codel target", "has no value"),
            ("codel target 5ms target 6ms", "given twice"),
            ("codel ecn noecn", "given twice"),
            ("pfifo limit 0", "out of range"),
            ("bfifo", "needs limit"),
            ("", "empty"),
        ] {
            let reason = queue_of(tc).expect_err(tc);
            assert!(reason.contains(word), "{tc}: {reason}");
        }
    }
}
