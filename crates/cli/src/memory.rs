//! `goodqueue queues --memory`: the memory of queues, part by part, before any is set up.

use std::fmt::Write;

use goodqueue::spec::{CATALOGUE, Parameter, QueueParams};
use goodqueue::wifi::{Capacity, WifiParams};
use goodqueue::{Bytes, ETHERNET_FRAME, Header, Link, Part, QueueSpec, Rate, SpecError};
use serde_json::{Value, json};

use crate::args::QueuesArgs;
use crate::output::{print, print_json};
use goodqueue_experiment::Error;
use goodqueue_experiment::did_you_mean;

/// Rate of the link, for queues whose size is a time.
const RATE: Rate = Rate(100_000_000);

/// The memory of a queue.
struct Footprint {
    queue: String,
    parts: Vec<Part>,
    /// Largest number of bytes of the frames in it. Frames belong to their owner.
    frames: Option<u64>,
    linux: Option<Linux>,
}

/// The memory that Linux takes for the same.
struct Linux {
    bytes: u64,
    /// The parts of ours that correspond to it.
    parts: &'static [&'static str],
    of: &'static str,
}

impl Footprint {
    fn total(&self) -> u64 {
        self.parts.iter().map(Part::total).sum()
    }

    /// Bytes of our parts that correspond to Linux's.
    fn beside(&self, linux: &Linux) -> u64 {
        self.parts.iter().filter(|part| linux.parts.contains(&part.name)).map(Part::total).sum()
    }
}

/// Linux's numbers, of 6.1 on 64 bits, where they are known.
fn linux(spec: &QueueSpec) -> Option<Linux> {
    match spec.params() {
        QueueParams::FqCodel(params) => Some(Linux {
            bytes: u64::from(params.flows) * 68,
            parts: &["flows"],
            of: "flows of 64 bytes, and 4 for the backlog of each",
        }),
        // Linux has no other number of flows, and eight tins whatever the mode.
        QueueParams::Cake(setup) if setup.flows == 1024 => Some(Linux {
            bytes: 8 * u64::from(setup.flows) * (80 + 12 + 10) + (16 << 10),
            parts: &["sets", "hosts", "flows", "heap"],
            of: "eight tins of 1024 flows of 80 bytes, hosts of 12, tags, backlogs and heap entries of 10; a \
                 heap of 16 KiB",
        }),
        _ => None,
    }
}

fn of_queue(text: &str) -> Result<Footprint, Error> {
    let wrong = |error: SpecError| {
        let nearest = error.unknown().map_or(String::new(), |(word, known)| did_you_mean(word, known));
        Error::Usage(format!("{error}{nearest}"))
    };
    let spec: QueueSpec = text.parse().map_err(wrong)?;
    let frames = match spec.params() {
        QueueParams::Cake(params) => {
            let in_force = params.on_link(Link { rate: RATE, mtu: ETHERNET_FRAME });
            Some(in_force.memory_limit_at(in_force.rate()).into())
        }
        QueueParams::CakeMq(params) => {
            let in_force = params.instance().on_link(Link { rate: RATE, mtu: ETHERNET_FRAME });
            Some(u64::from(in_force.memory_limit_at(in_force.rate())) * u64::from(params.queues))
        }
        params => params.properties().memory_limit().map(u64::from),
    };
    let parts = spec.memory::<Header>(RATE, ETHERNET_FRAME).map_err(Error::usage)?;
    Ok(Footprint { queue: spec.to_string(), parts, frames, linux: linux(&spec) })
}

/// The parameters on which the memory of a radio, and of the frames in it, depends.
const OF_RADIO: [&str; 5] = ["stations", "interfaces", "flows", "limit", "memory_limit"];

/// `wifi,stations=8,flows=128,limit=600,memory_limit=4m`.
fn of_radio(text: &str) -> Result<Footprint, Error> {
    let WifiParams { limit, mut memory_limit, .. } = WifiParams::default();
    let mut capacity = Capacity { packets: limit, ..Capacity::default() };
    for element in text.split(',').skip(1) {
        let (name, value) = element.split_once('=').unwrap_or((element, ""));
        let name = name.trim();
        if !OF_RADIO.contains(&name) {
            let hint = did_you_mean(name, &OF_RADIO);
            return Err(Error::Usage(format!(
                "{text}: the memory of a radio does not depend on {name}{hint}"
            )));
        }
        let refused = || Error::Usage(format!("{text}: {name}: {value} is not a number in range"));
        let number: Option<u32> = match (name, value.trim()) {
            ("memory_limit", bytes) => bytes.parse().ok().and_then(|Bytes(bytes)| bytes.try_into().ok()),
            (_, number) => number.parse().ok(),
        };
        let number = number.ok_or_else(refused)?;
        match name {
            "stations" => capacity.stations = number,
            "interfaces" => capacity.interfaces = u16::try_from(number).map_err(|_| refused())?,
            "flows" => capacity.flows = number,
            "limit" => capacity.packets = number,
            _ => memory_limit = number,
        }
        capacity.check().map_err(|_| refused())?;
    }
    let Capacity { stations, interfaces, flows, packets } = capacity;
    let itself = size_of::<goodqueue::wifi::TxStack<Header>>() as u64;
    let rest = capacity.lengths().parts::<Header>();
    let parts = std::iter::once(("radio", 1, itself)).chain(rest);
    let most = match memory_limit {
        bytes if bytes % (1 << 20) == 0 && bytes > 0 => format!("{}m", bytes >> 20),
        bytes => bytes.to_string(),
    };
    Ok(Footprint {
        queue: format!(
            "wifi,stations={stations},interfaces={interfaces},flows={flows},limit={packets},memory_limit={most}"
        ),
        parts: parts.map(|(name, items, bytes)| Part { name, items, bytes }).collect(),
        frames: Some(memory_limit.into()),
        linux: None,
    })
}

/// Prints the memory of the requested queues; without a request, of a radio and all queues that need no
/// parameter.
///
/// # Errors
/// [`Error::Usage`] for a text that is not a queue.
pub(crate) fn memory(args: &QueuesArgs) -> Result<(), Error> {
    let all = || {
        let needs_none = CATALOGUE.iter().filter(|info| !info.parameters.iter().any(Parameter::is_required));
        needs_none.map(|info| info.name.to_owned()).chain(["wifi".to_owned()]).collect()
    };
    let texts: Vec<String> = if args.names.is_empty() { all() } else { args.names.clone() };
    let footprints = texts.iter().map(|text| match text.split(',').next() {
        Some("wifi") => of_radio(text),
        _ => of_queue(text),
    });
    let footprints = footprints.collect::<Result<Vec<_>, _>>()?;
    if args.json {
        return print_json(&footprints.iter().map(as_json).collect::<Vec<_>>());
    }
    let mut text = String::new();
    footprints.iter().for_each(|footprint| words(&mut text, footprint));
    print(&text)
}

fn words(text: &mut String, footprint: &Footprint) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{}", footprint.queue);
    for part in &footprint.parts {
        let Part { name, items, bytes } = part;
        let _ = writeln!(text, "    {name:<16} {items:>8} x {bytes:>4} = {:>9} bytes", part.total());
    }
    let _ = writeln!(text, "    {:<16} {:>8}   {:>4}   {:>9} bytes", "total", "", "", footprint.total());
    if let Some(frames) = footprint.frames {
        let _ = writeln!(text, "    frames beside it, at most {frames} bytes (of truesize)");
    }
    if let Some(linux) = &footprint.linux {
        let ours = footprint.beside(linux);
        let share = 100 * ours / linux.bytes.max(1);
        let parts = linux.parts.join(", ");
        let _ = writeln!(
            text,
            "    Linux {} bytes, here {ours} ({share} %) in {parts}: {}",
            linux.bytes, linux.of
        );
    }
    text.push('\n');
}

fn as_json(footprint: &Footprint) -> Value {
    let part = |part: &Part| {
        json!({
            "name": part.name, "items": part.items, "bytes": part.bytes, "total": part.total(),
        })
    };
    let linux = footprint.linux.as_ref().map(|linux| {
        json!({ "bytes": linux.bytes, "parts": linux.parts, "of": linux.of, "ours": footprint.beside(linux) })
    });
    json!({
        "queue": footprint.queue, "parts": footprint.parts.iter().map(part).collect::<Vec<_>>(),
        "total": footprint.total(), "frames": footprint.frames, "linux": linux,
    })
}
