//! `struct gq_config` and the catalogue of queues: each parameter of the one is a field of the other.

use goodqueue::QueueSpec;
use goodqueue::spec::QueueKind;

use crate::abi::{
    Config, GQ_BFIFO, GQ_CAKE, GQ_CODEL, GQ_DEFAULT, GQ_DROPS_ALL, GQ_FIFO, GQ_FQ_CODEL, GQ_MAX_LEN,
    GQ_PFIFO, GQ_TBF,
};
use crate::code::{Code, GQ_EKIND, GQ_EPARAM, GQ_EVALUE};

/// The kinds of the header and those of the catalogue.
const KINDS: [(u32, QueueKind); 7] = [
    (GQ_PFIFO, QueueKind::Pfifo),
    (GQ_BFIFO, QueueKind::Bfifo),
    (GQ_FIFO, QueueKind::Fifo),
    (GQ_CODEL, QueueKind::Codel),
    (GQ_FQ_CODEL, QueueKind::FqCodel),
    (GQ_TBF, QueueKind::Tbf),
    (GQ_CAKE, QueueKind::Cake),
];

/// Whether a field is the parameter's of this name: C has no `-` in names.
fn is_named(field: &str, name: &str) -> bool {
    field.len() == name.len()
        && field.bytes().zip(name.bytes()).all(|(a, b)| a == b || (a == b'_' && b == b'-'))
}

macro_rules! parameters {
    ($($field:ident)+) => {
        /// The names of all parameters that have a field.
        const NAMES: &[&str] = &[$(stringify!($field)),+];

        impl Config {
            /// Every parameter at its default.
            pub(crate) const fn of(kind: u32) -> Config {
                Config {
                    size: size_of::<Config>() as u32,
                    kind,
                    mtu: 1514,
                    slots: 0,
                    drop_slots: GQ_DROPS_ALL,
                    reserved: 0,
                    full: GQ_DEFAULT,
                    link_rate: 0,
                    $($field: GQ_DEFAULT,)+
                    seed: GQ_DEFAULT,
                }
            }

            /// The field of a parameter.
            fn field(&mut self, name: &str) -> Option<&mut u64> {
                $(if is_named(stringify!($field), name) {
                    return Some(&mut self.$field);
                })+
                None
            }
        }
    };
}

parameters! {
    limit time flows target interval quantum ecn memory_limit drop_batch ce_threshold ce_threshold_selector
    ce_threshold_mask parity rate burst peakrate minburst mpu overhead linklayer bandwidth diffserv isolation rtt
    link ether_vlan atm ingress autorate_ingress ack_filter split_gso wash nat memlimit fwmark
}

impl Config {
    /// The queue that the fields describe.
    pub(crate) fn spec(&self) -> Result<QueueSpec, Code> {
        let kind = KINDS.iter().find(|(number, _)| *number == self.kind).ok_or(GQ_EKIND)?.1;
        if self.mtu == 0 || self.mtu > GQ_MAX_LEN || self.reserved != 0 {
            return Err(GQ_EVALUE);
        }
        let mut fields = *self;
        let spec = QueueSpec::from_values(kind, |name| {
            let field = fields.field(name)?;
            Some(core::mem::replace(field, GQ_DEFAULT)).filter(|&value| value != GQ_DEFAULT)
        })?;
        // What is left was given for a parameter that the queue does not have.
        if NAMES.iter().any(|name| fields.field(name).is_some_and(|value| *value != GQ_DEFAULT)) {
            return Err(GQ_EPARAM);
        }
        Ok(spec)
    }

    /// The fields of a queue that was read from a text.
    pub(crate) fn from_spec(spec: &QueueSpec) -> Result<Config, Code> {
        let kind = KINDS.iter().find(|(_, kind)| *kind == spec.kind()).ok_or(GQ_EKIND)?.0;
        let mut config = Config::of(kind);
        for parameter in spec.info().parameters {
            if let Some(value) = spec.given(parameter.name) {
                *config.field(parameter.name).ok_or(GQ_EPARAM)? = value;
            }
        }
        Ok(config)
    }

    /// Bytes queued above which the queue is full: one packet of `mtu` before `full`.
    pub(crate) const fn full_above(&self) -> u64 {
        if self.full == GQ_DEFAULT { u64::MAX } else { self.full.saturating_sub(self.mtu as u64) }
    }

    /// Whether this kind of queue is known.
    pub(crate) fn is_kind(kind: u32) -> bool {
        KINDS.iter().any(|(number, _)| *number == kind)
    }
}

/// What became of a text.
pub(crate) struct Read {
    pub(crate) config: Result<Config, Code>,
    /// Where in the text what is wrong begins, bytes; its length where something is missing at the end.
    pub(crate) at: usize,
}

/// Reads `fq_codel limit=1000 flows=64`, also with commas in the place of spaces.
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
        for (_, kind) in KINDS {
            let info = CATALOGUE.iter().find(|info| info.kind == kind).expect("in the catalogue");
            for parameter in info.parameters {
                let has = NAMES.iter().any(|field| is_named(field, parameter.name));
                assert!(has, "{}: {}", info.name, parameter.name);
            }
        }
    }

    #[test]
    fn texts_and_fields_are_the_same() {
        for text in [
            "pfifo:7",
            "bfifo:9k",
            "fifo 60ms",
            "codel limit=64 target=1ms",
            "fq_codel limit=1000 flows=64",
            "fq_codel,ecn=off, quantum=300",
            "tbf rate=8mbit burst=5k limit=60k",
            "cake bandwidth=20mbit, diffserv=diffserv4 overhead=-4 ack-filter=aggressive rtt=metro flows=64",
        ] {
            let text = text.replace("fifo 60ms", "fifo:60ms");
            let config = read(&text).config.expect(&text);
            let direct = text.replace(", ", ",").replace(' ', ",").parse::<QueueSpec>().expect(&text);
            assert_eq!(config.spec(), Ok(direct), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_pointed_at() {
        for (text, code, at) in [
            ("choke", GQ_EKIND, 0),
            ("red:100k", GQ_EKIND, 8),
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
