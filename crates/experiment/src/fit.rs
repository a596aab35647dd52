//! Checks whether a queue fits its line, and how many packets it has room for.

use goodqueue::spec::{BuildError, MAX_PACKETS};
use goodqueue::{ClassTree, ETHERNET_FRAME, Link, QueueSpec, Rate};
use goodqueue_sim::{Discipline, PortSpec};

/// Why a queue cannot be built for a line of this rate, or passes no full packet there, with the queue's
/// text.
pub(crate) fn unfit(queue: &Discipline, rate: Rate) -> Option<String> {
    // A tree has been checked already, and nothing is known about a user-defined queue.
    let Discipline::Queue(spec) = queue else { return None };
    let why = match spec.places(Link::ethernet(rate)) {
        Err(BuildError::NoRoom { bytes, mtu, .. }) => {
            format!("it holds {} bytes, less than a full packet of {mtu}", bytes.0)
        }
        Err(BuildError::TooDeep { .. }) => "it is above 4 GiB".into(),
        Err(error) => error.to_string(),
        Ok(_) => {
            let small = |spec: QueueSpec| spec.too_small_for(ETHERNET_FRAME);
            let words = small(*spec).or_else(|| spec.leaf().and_then(small))?;
            format!("no full packet of {ETHERNET_FRAME} bytes fits into {words}")
        }
    };
    Some(format!("{spec} at {rate}: {why}"))
}

/// Packets that the queues and rings of a port have room for; a limit in bytes counts in small packets.
pub(crate) fn room(port: &PortSpec) -> u64 {
    let places = match &port.queue {
        Discipline::Queue(spec) => {
            let link = Link { rate: port.rate, mtu: port.frame };
            let places = spec.places(link).unwrap_or(0).min(MAX_PACKETS);
            let properties = spec.params().properties();
            // Each flow keeps one place.
            let places = places.saturating_add(properties.all_flows());
            // With lanes, each lane has one of the instances.
            if port.lanes > 1 { places / u64::from(properties.instances()) } else { places }
        }
        Discipline::Classes(tree) => room_of_tree(tree),
        Discipline::Own(_) => 0,
    };
    let ring = port.ring.map_or(0, |ring| u64::from(ring.entries));
    places.saturating_add(ring).saturating_mul(u64::from(port.lanes))
}

/// Packets that all queues of a tree have room for.
pub(crate) fn room_of_tree(tree: &ClassTree) -> u64 {
    tree.places(ETHERNET_FRAME).unwrap_or(u64::MAX)
}
