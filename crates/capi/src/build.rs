//! Builds a queue in the caller's memory from a configuration. The same code measures the memory and sets up
//! the queue.

use goodqueue::spec::{BuildError, MAX_PACKETS, QueueParams};
use goodqueue::{AnyQueue, Header, Lent, Nanos, Needs, QueueSpec, Rng};

use crate::abi::{Config, GQ_DEFAULT, GQ_DROPS_ALL, GQ_MAX_SEGMENTS};
use crate::code::{Code, GQ_EVALUE};
use crate::drops::Dropped;
use crate::extras::{Extras, Storage};
use crate::ffi::room::Room;

/// Any queue of the catalogue, over the caller's memory.
pub(crate) type Queue = AnyQueue<Header, Lent>;

pub(crate) type Places<T> = &'static mut [T];

impl goodqueue::Room for Room {
    type Memory = Lent;
    type Error = Code;

    fn items<T: Copy + Default + 'static>(
        &mut self,
        _what: &'static str,
        items: u64,
    ) -> Result<Places<T>, Code> {
        Room::items(self, items)
    }

    fn packets<T: Copy + Default + 'static>(&mut self, items: u64) -> Result<Places<T>, Code> {
        let slots = if self.slots == 0 { items } else { u64::from(self.slots).min(items) };
        self.packets = self.packets.saturating_add(slots);
        if self.packets > MAX_PACKETS + 1 {
            return Err(GQ_EVALUE);
        }
        Room::items(self, slots)
    }

    fn classes<T: 'static>(
        &mut self,
        items: u64,
        mut make: impl FnMut(&mut Self) -> Result<T, Code>,
    ) -> Result<Places<T>, Code> {
        self.all(items, |room| {
            let class = make(room)?;
            // One more than the queue holds: the packet whose turn is next.
            room.packets += 1;
            Ok(class)
        })
    }

    fn one<T: 'static>(
        &mut self,
        make: impl FnOnce() -> Result<T, BuildError>,
    ) -> Result<Option<&'static mut T>, Code> {
        self.put(|| Ok(make()?))
    }

    fn admit(&self, classes: u64, places: u64) -> Result<(), BuildError> {
        if self.slots == 0 && classes.saturating_mul(places) > MAX_PACKETS {
            return Err(BuildError::TooMany { classes, places });
        }
        Ok(())
    }
}

/// A queue with the packet data beyond descriptors, and slots for drops.
pub(crate) struct Parts {
    pub(crate) queue: Queue,
    pub(crate) extras: Option<&'static mut Extras>,
    pub(crate) drops: Places<Dropped>,
}

/// Number of slots for dropped packets if one call can drop `most`.
pub(crate) fn drop_places(asked: u32, most: u64) -> u64 {
    if asked == GQ_DROPS_ALL { most } else { u64::from(asked).min(most) }
}

/// Builds the queue in this memory, with the same random numbers as the Rust library.
pub(crate) fn build(config: &Config, spec: &QueueSpec, now: Nanos, room: &mut Room) -> Result<Parts, Code> {
    let (seed, slots) = (if config.seed == GQ_DEFAULT { 0 } else { config.seed }, config.slots);
    let is_fq_codel = |spec: &QueueSpec| matches!(spec.params(), QueueParams::FqCodel(_));
    if slots == 1 && (is_fq_codel(spec) || spec.leaf().is_some_and(|leaf| is_fq_codel(&leaf))) {
        return Err(GQ_EVALUE);
    }
    room.slots = slots;
    let queue = spec.build_in(config.link(), now, Rng::stream(seed, 0, "queue"), room)?;
    let packets = room.packets;
    let needs = spec.needs();
    let extras = extras(needs, packets, room)?;
    // A super-packet becomes this many.
    let more = if needs.segments { u64::from(GQ_MAX_SEGMENTS) } else { 1 };
    let drops = Room::items(room, drop_places(config.drop_slots, packets + more))?;
    Ok(Parts { queue, extras, drops })
}

/// Storage for packet data beyond descriptors, if the queue needs it: for all packets that it holds, one that
/// arrives and a segment of it.
fn extras(needs: Needs, packets: u64, room: &mut Room) -> Result<Option<&'static mut Extras>, Code> {
    let is_kept = needs.segments || needs.pacing_rate;
    if !is_kept && !needs.departure {
        return Ok(None);
    }
    let many = |is_kept| if is_kept { packets + 2 } else { 0 };
    let storage = Storage {
        places: Room::items(room, many(is_kept))?,
        tcp: Room::items(room, many(needs.tcp))?,
        rates: Room::items(room, many(needs.pacing_rate))?,
    };
    room.put(|| Ok(Extras::new(storage)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config;
    use goodqueue::Rate;
    use goodqueue::spec::CATALOGUE;

    const TEXTS: [&str; 20] = [
        "pfifo:100",
        "bfifo:64k",
        "fifo:60ms",
        "codel",
        "fq_codel,flows=64",
        "pie",
        "fq_pie,flows=64",
        "dualpi2",
        "sfq",
        "fq",
        "wheel",
        "red:100k",
        "pfifo_fast:50",
        "prio",
        "drr,classes=5,leaf=pie,leaf.limit=70",
        "htb,rate=20mbit,sqm=simple",
        "tbf,rate=1mbit,burst=5k,limit=64k",
        "cake,flows=32",
        "cake,diffserv=besteffort,flows=64",
        "prio,leaf=cake,leaf.flows=16",
    ];

    /// The queue alone.
    fn build_queue(config: &Config, spec: &QueueSpec, room: &mut Room) {
        let queue: Result<Queue, Code> =
            spec.build_in(config.link(), Nanos(0), Rng::stream(0, 0, "queue"), room);
        assert!(queue.is_ok(), "{spec}");
    }

    /// Bytes of all items, by the size of one.
    fn sums(parts: impl Iterator<Item = (u64, u64)>) -> BTreeMap<u64, u64> {
        let mut sums = BTreeMap::new();
        parts.filter(|part| part.0 > 0).for_each(|(items, bytes)| *sums.entry(bytes).or_default() += items);
        sums
    }

    /// A queue takes the memory that `goodqueue queues --memory` prints for the Rust library, part by part.
    #[test]
    fn the_storage_is_that_of_the_rust_library() {
        for text in TEXTS {
            let mut config = config::read(text).config.expect(text);
            config.link_rate = 20_000_000;
            let spec = config.spec().expect(text);
            let mut room = Room::measure();
            build_queue(&config, &spec, &mut room);
            let ours = sums(room.parts.iter().map(|&(items, bytes)| (items, bytes as u64)));
            let parts = spec.memory::<Header>(Rate(config.link_rate), config.mtu).expect(text);
            // The queues of classes are on the heap there; here they are side by side.
            let parts = parts.iter().filter(|part| !["queue", "classes"].contains(&part.name));
            for (bytes, items) in sums(parts.map(|part| (part.items, part.bytes))) {
                assert_eq!(ours.get(&bytes), Some(&items), "{text}: items of {bytes} bytes");
            }
        }
    }

    #[test]
    fn every_queue_of_the_catalogue_is_measured() {
        // A queue of the C library has one thread, and `cake_mq` is for several.
        for info in CATALOGUE.iter().filter(|info| info.name != "cake_mq") {
            let is_here = TEXTS.iter().any(|text| text.split([':', ',']).next() == Some(info.name));
            assert!(is_here, "{}", info.name);
        }
    }
}
