//! `struct gq_config` and the catalogue of queues: each parameter has a field.

use goodqueue::spec::{Parameter, QueueKind, Unit, Value};
use goodqueue::{Link, QueueSpec, Rate};

use crate::abi::{
    Config, GQ_BFIFO, GQ_CAKE, GQ_CODEL, GQ_DEFAULT, GQ_DROPS_ALL, GQ_DRR, GQ_DUALPI2, GQ_FIFO, GQ_FQ,
    GQ_FQ_CODEL, GQ_FQ_PIE, GQ_HTB, GQ_MAX_LEN, GQ_PFIFO, GQ_PFIFO_FAST, GQ_PIE, GQ_PRIO, GQ_RED, GQ_SFQ,
    GQ_TBF, GQ_WHEEL,
};
use crate::code::{Code, GQ_ECONFLICT, GQ_EKIND, GQ_EPARAM, GQ_EVALUE};

/// The kinds of the header, and their kinds in the catalogue.
const KINDS: [(u32, QueueKind); 18] = [
    (GQ_PFIFO, QueueKind::Pfifo),
    (GQ_BFIFO, QueueKind::Bfifo),
    (GQ_FIFO, QueueKind::Fifo),
    (GQ_CODEL, QueueKind::Codel),
    (GQ_FQ_CODEL, QueueKind::FqCodel),
    (GQ_TBF, QueueKind::Tbf),
    (GQ_CAKE, QueueKind::Cake),
    (GQ_PIE, QueueKind::Pie),
    (GQ_FQ_PIE, QueueKind::FqPie),
    (GQ_DUALPI2, QueueKind::DualPi2),
    (GQ_SFQ, QueueKind::Sfq),
    (GQ_FQ, QueueKind::Fq),
    (GQ_RED, QueueKind::Red),
    (GQ_WHEEL, QueueKind::Wheel),
    (GQ_PFIFO_FAST, QueueKind::PfifoFast),
    (GQ_PRIO, QueueKind::Prio),
    (GQ_DRR, QueueKind::Drr),
    (GQ_HTB, QueueKind::Htb),
];

/// The default queue of a class.
const NO_LEAF: [u64; 20] = Config::DEFAULT.leaf;

fn kind_of(number: u32) -> Result<QueueKind, Code> {
    Ok(KINDS.iter().find(|(known, _)| *known == number).ok_or(GQ_EKIND)?.1)
}

fn number_of(kind: QueueKind) -> Result<u32, Code> {
    Ok(KINDS.iter().find(|(_, known)| *known == kind).ok_or(GQ_EKIND)?.0)
}

/// The second field of a parameter that is a time or a number of packets; Linux has two attributes for it.
fn packets_field(parameter: &Parameter) -> Option<&'static str> {
    (parameter.unit == Unit::TimeOrPackets).then_some("step_thresh_pkts")
}

/// The value of a parameter from its field and its field for packets; `None` if neither is given.
fn value_of(parameter: &Parameter, number: u64, packets: u64) -> Option<Result<Value, Code>> {
    match (number, packets) {
        (GQ_DEFAULT, GQ_DEFAULT) => None,
        (number, GQ_DEFAULT) => Some(parameter.unit.value(number).ok_or(GQ_EVALUE)),
        (_, packets) => Some(Ok(Value::Packets(packets))),
    }
}

/// The reverse conversion.
fn fields_of(parameter: &Parameter, value: Option<Value>) -> (u64, u64) {
    match value {
        None => (GQ_DEFAULT, GQ_DEFAULT),
        Some(Value::Packets(packets)) => (GQ_DEFAULT, packets),
        Some(value) => (parameter.unit.number(value).unwrap_or(GQ_DEFAULT), GQ_DEFAULT),
    }
}

/// A queue with these parameters; the first invalid one is the error.
fn spec_of(
    kind: QueueKind,
    mut value: impl FnMut(&'static Parameter) -> Option<Result<Value, Code>>,
) -> Result<QueueSpec, Code> {
    let mut wrong = None;
    let spec = QueueSpec::from_values(kind, |parameter| match value(parameter)? {
        Ok(value) => Some(value),
        Err(code) => {
            wrong = wrong.or(Some(code));
            None
        }
    });
    match wrong {
        Some(code) => Err(code),
        None => Ok(spec?),
    }
}

impl Config {
    /// Every parameter at its default.
    pub(crate) const fn of(kind: u32) -> Config {
        Config {
            size: size_of::<Config>() as u32,
            kind,
            mtu: goodqueue::ETHERNET_FRAME,
            drop_slots: GQ_DROPS_ALL,
            link_rate: 0,
            ..Config::DEFAULT
        }
    }

    /// The queue that the fields describe.
    pub(crate) fn spec(&self) -> Result<QueueSpec, Code> {
        let kind = kind_of(self.kind)?;
        if self.mtu == 0 || self.mtu > GQ_MAX_LEN || self.reserved != 0 {
            return Err(GQ_EVALUE);
        }
        // Fields of every kind of queue.
        let mut fields =
            Config { full: GQ_DEFAULT, link_rate: GQ_DEFAULT, seed: GQ_DEFAULT, leaf: NO_LEAF, ..*self };
        let spec = spec_of(kind, |parameter| {
            let mut take = |name| {
                fields.parameter(name).map_or(GQ_DEFAULT, |field| core::mem::replace(field, GQ_DEFAULT))
            };
            let (number, packets) = (take(parameter.name), packets_field(parameter).map_or(GQ_DEFAULT, take));
            value_of(parameter, number, packets)
        })?;
        // The remaining values were given for parameters that the queue does not have.
        let mut is_left = |name| fields.parameter(name).is_some_and(|value| *value != GQ_DEFAULT);
        if Config::FIELDS.iter().any(|name| is_left(name)) {
            return Err(GQ_EPARAM);
        }
        match self.leaf_spec()? {
            Some(leaf) => Ok(spec.with_leaf(&leaf)?),
            None => Ok(spec),
        }
    }

    /// The queue of each class, if one was given: its kind, its parameters in the order of the catalogue, and
    /// then the field for packets.
    fn leaf_spec(&self) -> Result<Option<QueueSpec>, Code> {
        let [kind, values @ ..] = &self.leaf;
        if *kind == GQ_DEFAULT {
            return Ok(None);
        }
        let kind = kind_of(u32::try_from(*kind).map_err(|_| GQ_EKIND)?)?;
        let beyond = values.get(kind.info().parameters.len()).copied().unwrap_or(GQ_DEFAULT);
        let mut values = values.iter().copied();
        let spec = spec_of(kind, |parameter| {
            let packets = packets_field(parameter).map_or(GQ_DEFAULT, |_| beyond);
            value_of(parameter, values.next().unwrap_or(GQ_DEFAULT), packets)
        });
        spec.map(Some)
    }

    /// Sets the queue of each class to the one in the fields of `leaf`.
    pub(crate) fn set_classes(&mut self, leaf: &Config) -> Result<(), Code> {
        let leaf = leaf.spec()?;
        match (kind_of(self.kind)?.info().has_leaves(), leaf.info().has_leaves()) {
            (true, false) => self.set_leaf(&leaf),
            (true, true) => Err(GQ_ECONFLICT),
            (false, _) => Err(GQ_EPARAM),
        }
    }

    /// Sets the queue of each class.
    pub(crate) fn set_leaf(&mut self, leaf: &QueueSpec) -> Result<(), Code> {
        let mut fields = NO_LEAF;
        let [kind, values @ ..] = &mut fields;
        *kind = number_of(leaf.kind())?.into();
        let parameters = leaf.info().parameters;
        for (at, parameter) in parameters.iter().enumerate() {
            let (number, packets) = fields_of(parameter, leaf.given(parameter));
            values[at] = number;
            if packets != GQ_DEFAULT {
                values[parameters.len()] = packets;
            }
        }
        self.leaf = fields;
        Ok(())
    }

    /// The fields of a parsed queue.
    pub(crate) fn from_spec(spec: &QueueSpec) -> Result<Config, Code> {
        let mut config = Config::of(number_of(spec.kind())?);
        for parameter in spec.info().parameters {
            let (number, packets) = fields_of(parameter, spec.given(parameter));
            let field = if packets == GQ_DEFAULT { Some(parameter.name) } else { packets_field(parameter) };
            if let (Some(name), number) = (field, number.min(packets))
                && number != GQ_DEFAULT
            {
                *config.parameter(name).ok_or(GQ_EPARAM)? = number;
            }
        }
        if let Some(leaf) = spec.given_leaf() {
            config.set_leaf(&leaf)?;
        }
        Ok(config)
    }

    /// The link of the queue.
    pub(crate) const fn link(&self) -> Link {
        Link { rate: Rate(self.link_rate), mtu: self.mtu }
    }

    /// Backlog in bytes above which the queue is full: one packet of `mtu` below `full`.
    pub(crate) const fn full_above(&self) -> u64 {
        if self.full == GQ_DEFAULT { u64::MAX } else { self.full.saturating_sub(self.mtu as u64) }
    }

    /// Whether this kind of queue is known.
    pub(crate) fn is_kind(kind: u32) -> bool {
        KINDS.iter().any(|(number, _)| *number == kind)
    }
}

/// The result of parsing a text.
pub(crate) struct Read {
    pub(crate) config: Result<Config, Code>,
    /// Offset of the error in the text, bytes; its length if something is missing at the end.
    pub(crate) at: usize,
}

/// Parses `fq_codel limit=1000 flows=64`, also with commas instead of spaces.
pub(crate) fn read(text: &str) -> Read {
    let elements = text.split([',', ' ', '\t', '\n']).filter(|element| !element.is_empty());
    match QueueSpec::from_elements(elements) {
        Ok(spec) => Read { config: Config::from_spec(&spec), at: text.len() },
        Err(fault) => {
            let at = fault.words().map(|words| words.as_ptr().addr() - text.as_ptr().addr());
            Read { config: Err(Code::from(fault)), at: at.unwrap_or(text.len()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::{GQ_EMISSING, GQ_ETWICE};
    use goodqueue::spec::CATALOGUE;

    #[test]
    fn every_parameter_of_every_kind_has_a_field() {
        // A queue of the C library has one thread, and `cake_mq` is for several.
        for info in CATALOGUE.iter().filter(|info| info.name != "cake_mq") {
            let queue = info.name;
            assert!(number_of(info.kind).is_ok(), "{queue} has no kind: add it to abi.rs, and to KINDS here");
            let room = NO_LEAF.len() - 2;
            assert!(info.parameters.len() <= room, "{queue} has more than {room} parameters: `leaf` is full");
            for parameter in info.parameters.iter().filter(|parameter| parameter.unit != Unit::Queue) {
                let (name, field) = (parameter.name, parameter.name.replace('-', "_"));
                assert!(
                    Config::of(0).parameter(name).is_some(),
                    "`{name}` of {queue} has no field: add `pub(crate) {field}: u64,` \
                     at the end of `Config` in src/abi.rs, then generate the header"
                );
            }
        }
    }

    #[test]
    fn texts_and_fields_are_equivalent() {
        for text in [
            "pfifo:7",
            "bfifo:9k",
            "fifo 60ms",
            "codel limit=64 target=1ms",
            "fq_codel limit=1000 flows=64",
            "fq_codel,ecn=off, quantum=300",
            "tbf rate=8mbit burst=5k limit=60k",
            "cake bandwidth=20mbit, diffserv=diffserv4 overhead=-4 ack-filter=aggressive rtt=metro flows=64",
            "prio bands=3 leaf=codel leaf.target=10ms",
            "drr leaf=fq_codel, leaf.flows=7",
            "htb rate=20mbit sqm=simple leaf=bfifo:9k",
            "htb rate=20mbit",
            "dualpi2 step_thresh=5p alpha=0.3",
            "dualpi2 step_thresh=2ms",
            "prio leaf=dualpi2 leaf.step_thresh=7p leaf.limit=50",
            "drr leaf=cake leaf.overhead=-14",
        ] {
            let text = text.replace("fifo 60ms", "fifo:60ms");
            let config = read(&text).config.expect(&text);
            let direct = text.replace(", ", ",").replace(' ', ",").parse::<QueueSpec>().expect(&text);
            assert_eq!(config.spec(), Ok(direct), "{text}");
        }
    }

    #[test]
    fn the_offset_of_an_error_is_exact() {
        for (text, code, at) in [
            ("choke", GQ_EKIND, 0),
            ("red", GQ_EMISSING, 3),
            ("prio leaf=codel leaf.flows=2", GQ_EPARAM, 21),
            ("codel limit=0", GQ_EVALUE, 12),
            ("codel target=5", GQ_EVALUE, 13),
            ("codel limit=1, limit=2", GQ_ETWICE, 21),
            ("codel  flows=2", GQ_EPARAM, 7),
            ("bfifo", GQ_EMISSING, 5),
            ("", GQ_EKIND, 0),
        ] {
            let read = read(text);
            assert_eq!((read.config.err(), read.at), (Some(code), at), "{text}");
        }
    }

    #[test]
    fn a_parameter_of_another_queue_is_refused() {
        let config = Config { flows: 64, ..Config::of(GQ_CODEL) };
        assert_eq!(config.spec(), Err(GQ_EPARAM));
        assert_eq!(Config { mtu: 0, ..Config::of(GQ_CODEL) }.spec(), Err(GQ_EVALUE));
        assert_eq!(Config::of(99).spec(), Err(GQ_EKIND));
    }
}
