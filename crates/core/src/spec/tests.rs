use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::*;
use crate::codel::Parity;

const LINK: Link = Link::ethernet(Rate(10_000_000));

fn canonical(text: &str) -> String {
    text.parse::<QueueSpec>().unwrap_or_else(|error| panic!("{text}: {error}")).to_string()
}

fn error(text: &str) -> SpecError {
    text.parse::<QueueSpec>().expect_err(text)
}

#[test]
fn parameters_and_text_give_the_same_queue() {
    for text in [
        "pfifo:50",
        "bfifo:100k",
        "fifo:60ms",
        "codel,target=20ms,ecn=on",
        "fq_codel,quantum=300,ecn=off",
        "pie,target=10ms",
        "fq_pie,ecn_prob=20",
        "dualpi2,step_thresh=5p",
        "sfq,depth=2,perturb=10s",
        "fq,pacing=off,maxrate=1mbit",
        "wheel,granularity=1ms",
        "red:240k,adaptive=on",
        "pfifo_fast:500",
        "prio,bands=4",
        "drr,by=dscp",
        "htb,rate=10mbit,sqm=simple",
        "tbf,rate=10mbit,burst=5k,limit=60k",
        "cake:diffserv4,bandwidth=20mbit,overhead=-14,nat=on",
        "cake_mq,bandwidth=20mbit",
    ] {
        let spec: QueueSpec = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(QueueSpec::try_from(*spec.params()).as_ref(), Ok(&spec), "{text}");
    }
    for info in &CATALOGUE {
        let defaults = QueueSpec::try_from(QueueParams::new(info.kind));
        assert_eq!(defaults, info.name.parse(), "{}: the defaults, or the same error", info.name);
    }
    let zero = crate::codel::Params { limit: 0, ..<_>::default() };
    let error = QueueSpec::try_from(QueueParams::Codel(zero)).expect_err("a limit of 0");
    assert!(error.to_string().contains("limit"), "{error}");
}

#[test]
fn texts_are_read_and_written_canonically() {
    for (text, expected) in [
        ("pfifo", "pfifo"),
        ("pfifo:1000", "pfifo:1000"),
        ("pfifo,limit=1000p", "pfifo:1000"),
        ("bfifo:102400", "bfifo:100k"),
        ("fifo:60ms", "fifo:60ms"),
        ("fifo,time=0.06s", "fifo:60ms"),
        (" CODEL , Target = 5000us ", "codel,target=5ms"),
        ("codel,ecn=yes,limit=0x10,ce_threshold=off", "codel,limit=16,ecn=on"),
        (
            "fq_codel,target=5ms,interval=100ms,ecn=off,quantum=300,limit=10240,flows=1024,memory_limit=32m,\
             ce_threshold=1ms,drop_batch=64",
            "fq_codel,limit=10240,flows=1024,target=5ms,interval=100ms,quantum=300,ecn=off,memory_limit=32m,\
             drop_batch=64,ce_threshold=1ms",
        ),
        ("fq_codel,parity=linux", "fq_codel,parity=linux"),
        ("fq_codel,parity=linux-stale", "fq_codel,parity=linux-stale"),
        ("tbf,rate=10mbit,buffer=5k,limit=60k", "tbf,rate=10mbit,burst=5k,limit=60k"),
        ("cake:diffserv4,rtt=oceanic,overhead=-14", "cake:diffserv4,rtt=300ms,overhead=-14"),
        ("red,limit=400k,min=30000,adaptive=on", "red:400k,min=30000,adaptive=on"),
        ("pfifo_fast,limit=500", "pfifo_fast:500"),
        ("prio,leaf=pfifo:50,bands=4", "prio,bands=4,leaf=pfifo:50"),
        ("prio,priomap=0011001100110011,leaf.limit=50", "prio,priomap=0011001100110011,leaf=pfifo:50"),
        (
            "drr , Leaf = codel, leaf.Ecn = on, leaf.target=10ms, by=dscp, classes=8",
            "drr,classes=8,by=dscp,leaf=codel,leaf.target=10ms,leaf.ecn=on",
        ),
    ] {
        let read = canonical(text);
        assert_eq!(read, expected);
        assert_eq!(canonical(&read), read, "reads back");
    }
}

#[test]
fn a_list_gives_each_queue_its_parameters() {
    let list = QueueSpec::list("pfifo:1000,codel,fq_codel,target=5ms,ecn=off").expect("a list");
    let texts: Vec<String> = list.iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["pfifo:1000", "codel", "fq_codel,target=5ms,ecn=off"]);
    let first = QueueSpec::list("target=5ms,codel").expect_err("no queue before it");
    assert_eq!(first, SpecError::NoQueueBefore { word: "target=5ms".to_string() });
    assert_eq!(QueueSpec::list("codel,"), Err(SpecError::Empty));
    assert_eq!(QueueSpec::list(""), Err(SpecError::Empty));
    assert!(matches!(QueueSpec::list("tbf,codel"), Err(SpecError::Missing { parameter: "rate", .. })));
}

#[test]
fn the_queue_of_the_classes_is_read_as_any_other() {
    let read = |text: &str| text.parse::<QueueSpec>().expect(text);
    let leaf = read("drr,leaf=fq_codel,leaf.quantum=300").leaf().expect("a leaf");
    assert_eq!(leaf.to_string(), "fq_codel,quantum=300");
    assert_eq!(read("prio").leaf().expect("by default").to_string(), "pfifo:1000");
    assert_eq!(
        (read("prio").text(read("prio").info().leaf().expect("a leaf")), read("codel").leaf()),
        ("pfifo:1000".to_string(), None)
    );
    assert!(read("prio,leaf=tbf,leaf.rate=1mbit,leaf.burst=2k,leaf.limit=9k").is_shaper());
    assert!(!read("prio,leaf=cake").is_shaper());
    let list = QueueSpec::list("prio,leaf=codel,leaf.ecn=on,pfifo").expect("a list");
    assert_eq!(
        list.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["prio,leaf=codel,leaf.ecn=on", "pfifo"]
    );
    assert!(matches!(error("drr,leaf=fqcodel"), SpecError::UnknownQueue { .. }));
    assert!(matches!(
        error("drr,leaf=codel,leaf.tarket=5ms"),
        SpecError::UnknownParameter { queue: "codel", .. }
    ));
    assert!(matches!(error("codel,leaf.target=5ms"), SpecError::UnknownParameter { queue: "codel", .. }));
    assert!(matches!(error("drr,leaf=bfifo"), SpecError::Missing { queue: "bfifo", .. }));
    assert!(matches!(error("drr,leaf.limit=9,leaf=codel"), SpecError::Twice { parameter: "leaf", .. }));
    assert!(matches!(error("drr,leaf=pfifo:9,leaf.limit=9"), SpecError::Twice { parameter: "limit", .. }));
    for wrong in
        ["prio,leaf=drr", "prio,leaf=drr,leaf.leaf=pfifo", "prio,bands=2", "drr,weights=0111111111111111"]
    {
        assert!(matches!(error(wrong), SpecError::Conflict { .. }), "{wrong}");
    }
    let digits = error("prio,priomap=123").to_string();
    assert_eq!(digits, "prio: priomap=123: not 16 digits in base 16; expected 16 digits in base 16");
}

#[test]
fn red_is_computed_of_the_words_of_tc() {
    let red = |text: &str| match text.parse::<QueueSpec>().expect(text).params() {
        QueueParams::Red(params) => *params,
        other => panic!("{other:?}"),
    };
    assert_eq!(red("red:120000"), crate::red::Params::new(120_000));
    let params = red("red,limit=400000,min=30000,max=90000,burst=55,ecn=on,probability=10");
    let law = params.law().expect("right");
    assert_eq!((law.qth_min, law.qth_max, law.wlog, law.ecn), (30_000, 90_000, 5, true));
    assert!(matches!(error("red:100k,min=90k,max=20k"), SpecError::Conflict { queue: "red", .. }));
}

#[test]
fn unknown_words_come_with_candidates() {
    let wrong = error("fqcodel");
    assert!(wrong.unknown().is_some_and(|(_, known)| known.contains(&"fq_codel")));
    assert!(wrong.to_string().contains("no queue `fqcodel`; there are pfifo, bfifo"));
    let wrong = error("codel,tarket=5ms");
    assert!(wrong.unknown().is_some_and(|(_, known)| known.contains(&"target")));
    assert!(matches!(wrong, SpecError::UnknownParameter { queue: "codel", .. }));
    assert!(matches!(error("codel:5ms"), SpecError::NoShortForm { .. }));
    for text in ["cake:bandwidth=20mbit", "pfifo,cake:bandwidth=20mbit", "cake:bandwidth=20mbit,rtt=lan"] {
        let colon = QueueSpec::list(text).expect_err(text).to_string();
        assert_eq!(colon, "`cake:bandwidth=20mbit`: write cake,bandwidth=20mbit");
    }
    assert!(matches!(error("pie:target=5ms"), SpecError::Colon { queue: "pie", .. }));
    assert!(matches!(error("codel,pfifo"), SpecError::NotAParameter { .. }));
}

#[test]
fn bad_values_name_parameter_value_unit_and_range() {
    let zero = error("pfifo:0");
    assert_eq!(zero.to_string(), "pfifo: limit=0: out of range; expected packets, 1 to 4194304");
    let bare = error("codel,target=5");
    assert!(bare.to_string().starts_with("codel: target=5: a number without a unit; expected time, "));
    for wrong in ["pfifo:-1", "pfifo:", "pfifo:1.5", "codel,ecn=maybe", "fq_codel,quantum=1", "fifo:0ms"] {
        assert!(matches!(error(wrong), SpecError::Value { .. }), "{wrong}");
    }
    assert!(matches!(error("codel,ecn=on,ecn=on"), SpecError::Twice { parameter: "ecn", .. }));
    assert!(matches!(error("bfifo"), SpecError::Missing { parameter: "limit", .. }));
    let conflict = error("tbf,rate=10mbit,burst=5k,limit=60k,peakrate=10mbit");
    assert!(matches!(conflict, SpecError::Conflict { queue: "tbf", .. }));
}

#[test]
fn the_catalogue_is_whole() {
    for info in &CATALOGUE {
        assert_eq!(info.kind.info().name, info.name);
        assert!(info.parameters.len() <= 32, "{}: a bit for each that was given", info.name);
        assert!(!info.positional || !info.parameters.is_empty());
        let mut params = QueueParams::new(info.kind);
        for (at, parameter) in info.parameters.iter().enumerate() {
            let name = parameter.name;
            assert!(!parameter.doc.is_empty() && !parameter.source.is_empty(), "{name}");
            if let Default::Value(value) = parameter.default {
                let value = value().expect(name);
                assert_eq!(parameter.check(value), Ok(value), "{name}");
                assert_eq!(parameter.read(&parameter.default_text()), Ok(Some(value)), "{name}");
                assert_eq!(params.properties().get(at), Some(value), "{name}");
            }
            let Some((min, max)) = parameter.range else { continue };
            for value in [min, max] {
                assert_eq!(parameter.read(&value.to_string()), Ok(Some(value)), "{name}");
                assert!(params.properties_mut().set(at, value), "{name}");
                assert_eq!(params.properties().get(at), Some(value), "{name}: its field holds its range");
            }
        }
    }
}

#[test]
fn every_value_is_a_number_and_back() {
    for info in &CATALOGUE {
        let ranges = info.parameters.iter().filter_map(|parameter| Some((parameter, parameter.range?)));
        for (parameter, (min, max)) in ranges.filter(|(parameter, _)| parameter.unit != Unit::TimeOrPackets) {
            for value in [min, max] {
                let number = parameter.unit.number(value).expect(parameter.name);
                assert_eq!(parameter.unit.value(number), Some(value), "{}", parameter.name);
            }
        }
    }
    assert_eq!(Unit::Signed.number(Value::Signed(-14)), Some(0xffff_fff2));
    assert_eq!(Unit::Word(&["a", "b"]).number(Value::Word("b")), Some(1));
    assert_eq!((Unit::Switch.value(2), Unit::Word(&["a"]).value(1)), (None, None));
}

#[test]
fn parity_names_what_the_law_is_to_decide_like() {
    for (word, parity) in
        [("sane", Parity::Sane), ("linux", Parity::Linux), ("linux-stale", Parity::LinuxStale)]
    {
        let read =
            |queue: &str| alloc::format!("{queue},parity={word}").parse::<QueueSpec>().expect("a queue");
        let parity_of = |queue: &str| match read(queue).params() {
            QueueParams::Codel(params) => params.parity,
            QueueParams::FqCodel(params) => params.parity,
            other => panic!("{other:?}"),
        };
        assert_eq!((parity_of("codel"), parity_of("fq_codel")), (parity, parity));
    }
}

#[test]
fn values_in_base_units_make_the_same_queue_as_the_text() {
    let spec: QueueSpec = "codel,limit=64,target=1ms".parse().expect("a queue");
    let again =
        QueueSpec::from_values(QueueKind::Codel, |parameter| spec.given(parameter)).expect("the same");
    assert_eq!(again, spec);
    let given =
        |name| spec.given(spec.info().parameters.iter().find(|known| known.name == name).expect(name));
    assert_eq!((given("limit"), given("interval")), (Some(Value::Number(64)), None));
    let wrong =
        QueueSpec::from_values(QueueKind::Codel, |known| (known.name == "limit").then_some(Value::Number(0)));
    assert!(matches!(wrong, Err(Fault::Value { reason: ValueError::OutOfRange, .. })));
    let missing = QueueSpec::from_values(QueueKind::Bfifo, |_| None);
    assert!(matches!(missing, Err(Fault::Missing { .. })));
}

#[test]
fn a_fault_points_at_its_words() {
    let text = "codel,target=5";
    let fault = QueueSpec::from_elements(text.split(',')).expect_err("no unit");
    let words = fault.words().expect("the value");
    assert_eq!((words, words.as_ptr() as usize - text.as_ptr() as usize), ("5", 13));
    assert!(QueueSpec::from_elements("bfifo".split(',')).expect_err("no limit").words().is_none());
}

#[test]
fn a_link_of_cake_is_a_word_and_what_is_given_itself() {
    use crate::cake::{Framing, Overhead};
    let link = |text: &str| {
        let QueueParams::Cake(given) = *text.parse::<QueueSpec>().expect(text).params() else {
            panic!("{text}")
        };
        let params = given.on_link(LINK);
        (params.overhead.bytes, params.overhead.from_network, params.mpu, params.framing)
    };
    assert_eq!(link("cake"), (0, false, 0, Framing::None));
    assert_eq!(link("cake,link=docsis"), (18, true, 64, Framing::None));
    assert_eq!(link("cake,link=ethernet,ether-vlan=2"), (46, true, 84, Framing::None));
    assert_eq!(link("cake,link=pppoe-ptm,mpu=0"), (30, true, 0, Framing::Ptm));
    assert_eq!(link("cake,link=pppoa-vcmux,overhead=0,atm=noatm"), (0, true, 0, Framing::None));
    assert_eq!(link("cake,link=conservative"), (48, true, 0, Framing::Atm));
    assert_eq!(Overhead::default(), Overhead { bytes: 0, from_network: false });
}

/// The text gives every parameter another value than its default.
#[test]
fn an_instance_of_cake_mq_has_the_parameters_of_the_cake_of_the_same_text() {
    let words = "diffserv=diffserv4,bandwidth=9mbit,isolation=flows,rtt=30ms,link=docsis,overhead=7,ether-vlan=1,\
                 mpu=80,atm=ptm,ingress=on,ack-filter=on,split-gso=off,wash=on,nat=on,memlimit=90k,fwmark=6,flows=64";
    let read = |text: String| *text.parse::<QueueSpec>().expect(&text).params();
    let QueueParams::Cake(cake) = read(alloc::format!("cake,{words}")) else { panic!("a cake") };
    let QueueParams::CakeMq(several) = read(alloc::format!("cake_mq,{words},queues=3")) else {
        panic!("a cake_mq")
    };
    assert_eq!(several.instance(), cake);
    let defaults = <crate::cake::Params as super::Parameters>::DEFAULT;
    for (at, parameter) in <crate::cake::Params as super::Parameters>::LIST.iter().enumerate() {
        use super::Access as _;
        let is_other = cake.get(at) != defaults.get(at);
        assert!(is_other || parameter.name == "autorate-ingress", "{}: give it in the text", parameter.name);
    }
    assert_eq!(crate::cake::MqParams::default().instance(), defaults);
}

#[test]
fn values_of_cake_out_of_range_are_named() {
    for wrong in
        ["cake,flows=1000", "cake,flows=4", "cake,overhead=-65", "cake,overhead=257", "cake,rtt=mars"]
    {
        assert!(matches!(error(wrong), SpecError::Value { .. }), "{wrong}");
    }
    let overhead = error("cake,overhead=300").to_string();
    assert_eq!(overhead, "cake: overhead=300: out of range; expected bytes, -64 to 256, or off");
}

#[test]
fn dualpi2_takes_packets_for_its_step_and_gains_from_round_trips() {
    use crate::Span;
    use crate::dualpi2::Threshold;
    let params = |text: &str| match text.parse::<QueueSpec>().expect(text).params() {
        QueueParams::DualPi2(params) => params.resolved(),
        other => panic!("{other:?}"),
    };
    assert_eq!(params("dualpi2,step_thresh=5p").step_thresh, Threshold::Packets(5));
    assert_eq!(params("dualpi2,step_thresh=800us").step_thresh, Threshold::Time(Span::from_micros(800)));
    let text = "dualpi2,step_thresh=5p,alpha=0.16,beta=3.000001";
    assert_eq!(text.parse::<QueueSpec>().expect(text).to_string(), text);
    // RFC 9332 appendix A.1: alpha 0.1 * 15 ms / (100 ms)^2 = 0.15 Hz, beta 0.3 / 100 ms = 3 Hz.
    let derived = params("dualpi2,max_rtt=100ms,typical_rtt=15ms,alpha=9");
    assert_eq!((derived.alpha, derived.beta), (150_000, 3_000_000));
    assert_eq!((derived.target, derived.tupdate), (Span::from_millis(15), Span::from_millis(15)));
    // tc-dualpi2(8): max_rtt is six times typical_rtt if it is not given.
    let (one, other) = (params("dualpi2,typical_rtt=10ms"), params("dualpi2,max_rtt=60ms"));
    assert_eq!((one.target, one.alpha, one.beta), (other.target, other.alpha, other.beta));
    for wrong in ["dualpi2,alpha=.5", "dualpi2,beta=1e3", "dualpi2,step_thresh=5", "dualpi2,alpha=1.0000001"]
    {
        assert!(matches!(error(wrong), SpecError::Value { .. }), "{wrong}");
    }
}
