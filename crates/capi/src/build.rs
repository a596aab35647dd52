//! From a configuration to a queue in the caller's memory. One path says how much memory it takes and sets it up.

use goodqueue::fifo::Limit;
use goodqueue::prio::Priomap;
use goodqueue::spec::{MAX_PACKETS, QueueKind, packets_in};
use goodqueue::{
    Cake, Codel, Drr, DualPi2, Fifo, Fq, FqCodel, FqPie, Htb, Nanos, Pie, Prio, QueueSpec, Rate, Red, Rng,
    Sfq, Tbf, Wheel, cake, drr, htb, wheel,
};

use crate::abi::{Config, GQ_DEFAULT, GQ_DROPS_ALL, GQ_MAX_SEGMENTS};
use crate::code::{Code, GQ_ECONFLICT, GQ_EKIND, GQ_EMEMORY, GQ_EVALUE};
use crate::drops::Dropped;
use crate::extras::{Extras, Storage};
use crate::ffi::room::Room;
use crate::kind::{Kind, Places};

/// Builds one queue and its classes.
pub(crate) struct Builder<'a> {
    config: &'a Config,
    now: Nanos,
    /// Places for packets so far.
    packets: u64,
    /// Whether a queue asks for more of a packet than its descriptor, and keeps a number for it.
    has_extras: bool,
    /// Whether such a queue cuts super-packets, keeps TCP headers, keeps pacing rates.
    has_segments: bool,
    has_tcp: bool,
    has_rates: bool,
    /// Whether a queue asks on arrival alone.
    has_origin: bool,
}

/// Places for dropped packets where one call can drop so many.
pub(crate) fn drop_places(asked: u32, most: u64) -> u64 {
    if asked == GQ_DROPS_ALL { most } else { u64::from(asked).min(most) }
}

/// The limit of a fifo; of another queue [`GQ_EKIND`].
pub(crate) fn fifo_limit(config: &Config, spec: &QueueSpec) -> Result<Limit, Code> {
    spec.fifo_limit(Rate(config.link_rate), config.mtu)?.ok_or(GQ_EKIND)
}

/// A queue within the handle.
fn within<T>(
    room: &Room,
    kind: impl FnOnce(T) -> Kind,
    make: impl FnOnce() -> Result<T, Code>,
) -> Result<Kind, Code> {
    if room.is_measuring() { Ok(Kind::nothing()) } else { make().map(kind) }
}

/// A queue in a place of its own.
fn apart<T: 'static>(
    room: &mut Room,
    kind: impl FnOnce(&'static mut T) -> Kind,
    make: impl FnOnce() -> Result<T, Code>,
) -> Result<Kind, Code> {
    Ok(room.put(make)?.map_or_else(Kind::nothing, kind))
}

impl<'a> Builder<'a> {
    pub(crate) const fn new(config: &'a Config, now: Nanos) -> Builder<'a> {
        Builder {
            config,
            now,
            packets: 0,
            has_extras: false,
            has_segments: false,
            has_tcp: false,
            has_rates: false,
            has_origin: false,
        }
    }

    /// The queue, with the random numbers that the Rust library gives it.
    pub(crate) fn queue(&mut self, room: &mut Room, spec: &QueueSpec) -> Result<Kind, Code> {
        let seed = if self.config.seed == GQ_DEFAULT { 0 } else { self.config.seed };
        self.kind(room, spec, Rng::stream(seed, 0, "queue"))
    }

    /// Places for dropped packets, behind the queue.
    pub(crate) fn drops(&self, room: &mut Room) -> Result<Places<Dropped>, Code> {
        let more = if self.has_segments { u64::from(GQ_MAX_SEGMENTS) } else { 1 };
        room.places(drop_places(self.config.drop_slots, self.packets + more))
    }

    /// What is kept of packets beyond their descriptors, if the queue asks for it: for all that it holds, one that arrives
    /// and a segment of it.
    pub(crate) fn extras(&self, room: &mut Room) -> Result<Option<&'static mut Extras>, Code> {
        if !self.has_extras && !self.has_origin {
            return Ok(None);
        }
        let many = |is_kept| if is_kept { self.packets + 2 } else { 0 };
        let (places, tcp, rates) = (many(self.has_extras), many(self.has_tcp), many(self.has_rates));
        let storage =
            Storage { places: room.places(places)?, tcp: room.places(tcp)?, rates: room.places(rates)? };
        room.put(|| Ok(Extras::new(storage)))
    }

    /// Places for the packets of a queue that needs so many.
    fn places<T: Copy + Default + 'static>(
        &mut self,
        room: &mut Room,
        needed: u64,
    ) -> Result<Places<T>, Code> {
        let asked = self.config.slots;
        let slots = if asked == 0 { needed } else { u64::from(asked).min(needed) };
        self.packets = self.packets.saturating_add(slots);
        if self.packets > MAX_PACKETS + 1 {
            return Err(GQ_EVALUE);
        }
        room.places(slots)
    }

    fn kind(&mut self, room: &mut Room, spec: &QueueSpec, draws: Rng) -> Result<Kind, Code> {
        let (mtu, now) = (self.config.mtu, self.now);
        let count = |name| spec.get(name).unwrap_or(1);
        match spec.kind() {
            QueueKind::Codel => {
                let params = spec.codel_params(mtu).ok_or(GQ_EKIND)?;
                let places = self.places(room, params.limit.into())?;
                within(room, Kind::Codel, || Ok(Codel::new(params, places)))
            }
            QueueKind::FqCodel => {
                let params = spec.fq_codel_params(mtu).ok_or(GQ_EKIND)?;
                if self.config.slots == 1 {
                    return Err(GQ_EVALUE);
                }
                let flows = room.places(count("flows"))?;
                let slots = self.places(room, u64::from(params.limit) + 1)?;
                within(room, Kind::FqCodel, || FqCodel::new(params, flows, slots).map_err(|_| GQ_EMEMORY))
            }
            QueueKind::Tbf => {
                let params = spec.tbf_params(mtu).ok_or(GQ_EKIND)?;
                let places = self.places(room, packets_in(params.limit))?;
                within(room, Kind::Tbf, || Tbf::new(params, now, places).map_err(|_| GQ_ECONFLICT))
            }
            QueueKind::Pie => {
                let params = spec.pie_params(mtu).ok_or(GQ_EKIND)?;
                let places = self.places(room, params.limit.into())?;
                apart(room, Kind::Pie, || Ok(Pie::new(params, now, draws, places)))
            }
            QueueKind::FqPie => {
                let params = spec.fq_pie_params(mtu).ok_or(GQ_EKIND)?;
                let flows = room.places(count("flows"))?;
                let slots = self.places(room, params.limit.into())?;
                apart(room, Kind::FqPie, || {
                    FqPie::new(params, now, draws, flows, slots).map_err(|_| GQ_EMEMORY)
                })
            }
            QueueKind::DualPi2 => {
                let params = spec.dualpi2_params(mtu).ok_or(GQ_EKIND)?;
                (self.has_extras, self.has_segments) = (true, true);
                let slots = self.places(room, params.limit.into())?;
                apart(room, Kind::DualPi2, || Ok(DualPi2::new(params, now, draws, slots)))
            }
            QueueKind::Sfq => {
                let (params, flows) = spec.sfq_params(mtu).ok_or(GQ_EKIND)?;
                let (buckets, flows) = (room.places(count("divisor"))?, room.places(flows.into())?);
                let nodes = self.places(room, u64::from(params.limit) + 1)?;
                apart(room, Kind::Sfq, || Ok(Sfq::new(params, now, draws, buckets, flows, nodes)))
            }
            QueueKind::Fq => {
                let params = spec.fq_params(mtu).ok_or(GQ_EKIND)?;
                (self.has_extras, self.has_rates) = (true, true);
                let (buckets, flows) = (room.places(count("buckets"))?, room.places(count("flows"))?);
                let nodes = self.places(room, params.limit.into())?;
                apart(room, Kind::Fq, || Ok(Fq::new(params, buckets, flows, nodes)))
            }
            QueueKind::Red => {
                let params = spec.red_params().ok_or(GQ_EKIND)?.map_err(|_| GQ_ECONFLICT)?;
                let places = self.places(room, packets_in(params.limit.into()))?;
                apart(room, Kind::Red, || Ok(Red::new(params, now, draws, places)))
            }
            QueueKind::Wheel => {
                let (params, slots) = spec.wheel_params(mtu).ok_or(GQ_EKIND)?;
                self.has_origin = true;
                let words = room.places(wheel::words(slots as usize) as u64)?;
                let slots = room.places(slots.into())?;
                let nodes = self.places(room, params.limit.into())?;
                apart(room, Kind::Wheel, || Ok(Wheel::new(params, words, slots, nodes)))
            }
            QueueKind::Cake => self.cake(room, spec, draws),
            QueueKind::PfifoFast | QueueKind::Prio | QueueKind::Drr | QueueKind::Htb => {
                self.classes(room, spec, draws)
            }
            _ => {
                let limit = fifo_limit(self.config, spec)?;
                let places = self.places(
                    room,
                    match limit {
                        Limit::Packets(packets) => packets.into(),
                        Limit::Bytes(bytes) => packets_in(bytes),
                    },
                )?;
                within(room, Kind::Fifo, || Ok(Fifo::new(limit, places)))
            }
        }
    }

    /// Tables for the tins that the mode uses.
    fn cake(&mut self, room: &mut Room, spec: &QueueSpec, draws: Rng) -> Result<Kind, Code> {
        let params = spec.cake_params(self.config.mtu).ok_or(GQ_EKIND)?;
        (self.has_extras, self.has_segments) = (true, true);
        self.has_tcp |= spec.get("ack-filter") != Some(0);
        let flows = spec.get("flows").unwrap_or(8);
        let all = flows * u64::from(params.diffserv.tins());
        let tables = (
            room.places(all / u64::from(cake::WAYS))?,
            room.places(all)?,
            room.places(all)?,
            room.places(flows * u64::from(cake::TINS))?,
        );
        let slots = self.places(room, spec.cake_packets(self.config.mtu).unwrap_or(0))?;
        apart(room, Kind::Cake, || Cake::new(params, draws.into(), tables, slots).map_err(|_| GQ_EMEMORY))
    }

    /// The queues of classes, each with random numbers of its own.
    fn classes(&mut self, room: &mut Room, spec: &QueueSpec, mut draws: Rng) -> Result<Kind, Code> {
        let (mtu, now) = (self.config.mtu, self.now);
        if self.config.slots == 0 && spec.places(Rate(self.config.link_rate), mtu)? > MAX_PACKETS {
            return Err(GQ_EVALUE);
        }
        let mut leaf = |room: &mut Room| {
            let leaf = spec.leaf().ok_or(GQ_EKIND)?;
            // One more than the queue holds: that whose turn comes next.
            self.packets += 1;
            self.kind(room, &leaf, Rng::new(draws.next_u64()))
        };
        if let Some(tree) = spec.htb_tree(mtu) {
            let mut classes = tree.classes.into_iter().zip(tree.leaves);
            let classes = room.all(tree.number as u64, |room| match classes.next() {
                Some((params, true)) => Ok(htb::Class::leaf(params, leaf(room)?)),
                Some((params, false)) => Ok(htb::Class::inner(params)),
                None => Err(GQ_EVALUE),
            })?;
            return apart(room, Kind::Htb, || Htb::new(tree.map, now, classes).map_err(|_| GQ_ECONFLICT));
        }
        if let Some((by, mut quanta)) = spec.drr_params(mtu) {
            let classes = room.all(spec.get("classes").unwrap_or(0), |room| {
                Ok(drr::Class::new(leaf(room)?, quanta.next().ok_or(GQ_EVALUE)?))
            })?;
            return apart(room, Kind::Drr, || Drr::new(by, classes).ok_or(GQ_EMEMORY));
        }
        if let Some((bands, map)) = spec.prio_params() {
            let bands = room.all(bands as u64, leaf)?;
            return apart(room, Kind::Prio, || Prio::new(map, bands).ok_or(GQ_EMEMORY));
        }
        let limit = u32::try_from(spec.get("limit").unwrap_or(0)).unwrap_or(u32::MAX);
        let bands = room.all(3, |room| {
            let places = self.places(room, limit.into())?;
            Ok(Fifo::new(Limit::Packets(limit), places))
        })?;
        apart(room, Kind::PfifoFast, || Prio::new(Priomap::default(), bands).ok_or(GQ_EMEMORY))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config;
    use goodqueue::Header;
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

    /// Bytes of all items, by the size of one.
    fn sums(parts: impl Iterator<Item = (u64, u64)>) -> BTreeMap<u64, u64> {
        let mut sums = BTreeMap::new();
        parts.filter(|part| part.0 > 0).for_each(|(items, bytes)| *sums.entry(bytes).or_default() += items);
        sums
    }

    /// What `goodqueue queues --memory` prints for the Rust library is what a queue takes here, part by part.
    #[test]
    fn the_storage_is_that_of_the_rust_library() {
        for text in TEXTS {
            let mut config = config::read(text).config.expect(text);
            config.link_rate = 20_000_000;
            let spec = config.spec().expect(text);
            let mut room = Room::measure();
            Builder::new(&config, Nanos(0)).queue(&mut room, &spec).expect(text);
            let ours = sums(room.parts.iter().map(|&(items, bytes)| (items, bytes as u64)));
            let parts = spec.memory::<Header>(Rate(config.link_rate), config.mtu).expect(text);
            // The queues of classes lie in the heap there, and here side by side.
            let parts = parts.iter().filter(|part| !["queue", "classes"].contains(&part.name));
            for (bytes, items) in sums(parts.map(|part| (part.items, part.bytes))) {
                assert_eq!(ours.get(&bytes), Some(&items), "{text}: items of {bytes} bytes");
            }
        }
    }

    #[test]
    fn every_queue_of_the_catalogue_is_measured() {
        for info in &CATALOGUE {
            let is_here = TEXTS.iter().any(|text| text.split([':', ',']).next() == Some(info.name));
            assert!(is_here, "{}", info.name);
        }
    }
}
