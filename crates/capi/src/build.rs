//! From a configuration to a queue in the caller's memory. One path says how much memory it takes and sets it up.

use goodqueue::cake::AckFilter;
use goodqueue::fifo::Limit;
use goodqueue::prio::{PFIFO_FAST_BANDS, Priomap};
use goodqueue::spec::{MAX_PACKETS, QueueParams};
use goodqueue::{
    Cake, Codel, Drr, DualPi2, Fifo, Fq, FqCodel, FqPie, Htb, Nanos, Pie, Prio, QueueSpec, Red, Rng, Sfq,
    Tbf, Wheel, cake, drr, htb, wheel,
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
pub(crate) fn fifo_limit(config: &Config, params: &QueueParams) -> Result<Limit, Code> {
    Ok(match params {
        QueueParams::Pfifo(params) => Limit::Packets(params.limit),
        QueueParams::Bfifo(params) => Limit::Bytes(params.limit.into()),
        QueueParams::Fifo(params) => params.limit(config.link())?,
        _ => return Err(GQ_EKIND),
    })
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
        let (link, now) = (self.config.link(), self.now);
        let needed = match spec.leaf() {
            None => spec.places(link)?,
            Some(_) => 0,
        };
        match *spec.params() {
            QueueParams::Codel(params) => {
                let places = self.places(room, needed)?;
                within(room, Kind::Codel, || Ok(Codel::new(params, link, places)))
            }
            QueueParams::FqCodel(params) => {
                if self.config.slots == 1 {
                    return Err(GQ_EVALUE);
                }
                let flows = room.places(params.flows.into())?;
                let slots = self.places(room, needed + 1)?;
                within(room, Kind::FqCodel, || {
                    FqCodel::new(params, link, flows, slots).map_err(|_| GQ_EMEMORY)
                })
            }
            QueueParams::Tbf(params) => {
                let places = self.places(room, needed)?;
                within(room, Kind::Tbf, || Tbf::new(params, link, now, places).map_err(|_| GQ_ECONFLICT))
            }
            QueueParams::Pie(params) => {
                let places = self.places(room, needed)?;
                apart(room, Kind::Pie, || Ok(Pie::new(params, link, now, draws, places)))
            }
            QueueParams::FqPie(params) => {
                let flows = room.places(params.flows.into())?;
                let slots = self.places(room, needed)?;
                apart(room, Kind::FqPie, || {
                    FqPie::new(params, link, now, draws, flows, slots).map_err(|_| GQ_EMEMORY)
                })
            }
            QueueParams::DualPi2(params) => {
                (self.has_extras, self.has_segments) = (true, true);
                let slots = self.places(room, needed)?;
                apart(room, Kind::DualPi2, || Ok(DualPi2::new(params, link, now, draws, slots)))
            }
            QueueParams::Sfq(setup) => {
                let params = setup.params(link);
                let (buckets, flows) = (room.places(setup.divisor.into())?, room.places(setup.flows.into())?);
                let nodes = self.places(room, u64::from(params.limit) + 1)?;
                apart(room, Kind::Sfq, || Ok(Sfq::new(params, now, draws, buckets, flows, nodes)))
            }
            QueueParams::Fq(params) => {
                (self.has_extras, self.has_rates) = (true, true);
                let (buckets, flows) =
                    (room.places(params.buckets.into())?, room.places(params.flows.into())?);
                let nodes = self.places(room, needed)?;
                apart(room, Kind::Fq, || Ok(Fq::new(params, link, buckets, flows, nodes)))
            }
            QueueParams::Red(setup) => {
                let params = setup.params().map_err(|_| GQ_ECONFLICT)?;
                let places = self.places(room, needed)?;
                apart(room, Kind::Red, || Ok(Red::new(params, now, draws, places)))
            }
            QueueParams::Wheel(params) => {
                self.has_origin = true;
                let words = room.places(wheel::words(params.slots() as usize) as u64)?;
                let slots = room.places(params.slots().into())?;
                let nodes = self.places(room, needed)?;
                apart(room, Kind::Wheel, || Ok(Wheel::new(params, words, slots, nodes)))
            }
            QueueParams::Cake(setup) => self.cake(room, setup, needed, draws),
            QueueParams::PfifoFast(params) => {
                let limit = params.limit;
                let bands = room.all(PFIFO_FAST_BANDS.into(), |room| {
                    let places = self.places(room, limit.into())?;
                    Ok(Fifo::new(Limit::Packets(limit), places))
                })?;
                apart(room, Kind::PfifoFast, || Prio::new(Priomap::default(), bands).ok_or(GQ_EMEMORY))
            }
            QueueParams::Prio(params) => {
                let bands = self.classes(room, spec, params.bands.into(), draws, Ok)?;
                apart(room, Kind::Prio, || Prio::new(Priomap(params.priomap), bands).ok_or(GQ_EMEMORY))
            }
            QueueParams::Drr(params) => {
                let mut quanta = params.quanta(link);
                let class = |leaf| Ok(drr::Class::new(leaf, quanta.next().ok_or(GQ_EVALUE)?));
                let classes = self.classes(room, spec, params.classes.into(), draws, class)?;
                apart(room, Kind::Drr, || Drr::new(params.by, classes).ok_or(GQ_EMEMORY))
            }
            QueueParams::Htb(params) => self.htb(room, spec, params, draws),
            ref params => {
                let limit = fifo_limit(self.config, params)?;
                let places = self.places(room, needed)?;
                within(room, Kind::Fifo, || Ok(Fifo::new(limit, places)))
            }
        }
    }

    /// Tables for the tins that the mode uses.
    fn cake(&mut self, room: &mut Room, setup: cake::Setup, needed: u64, draws: Rng) -> Result<Kind, Code> {
        let params = setup.params(self.config.link());
        (self.has_extras, self.has_segments) = (true, true);
        self.has_tcp |= setup.ack_filter != AckFilter::Off;
        let flows = u64::from(setup.flows);
        let all = flows * u64::from(params.diffserv.tins());
        let tables = (
            room.places(all / u64::from(cake::WAYS))?,
            room.places(all)?,
            room.places(all)?,
            room.places(flows * u64::from(cake::TINS))?,
        );
        let slots = self.places(room, needed)?;
        apart(room, Kind::Cake, || Cake::new(params, draws.into(), tables, slots).map_err(|_| GQ_EMEMORY))
    }

    /// The queue of a class, with random numbers of its own.
    fn leaf(&mut self, room: &mut Room, spec: &QueueSpec, draws: &mut Rng) -> Result<Kind, Code> {
        let leaf = spec.leaf().ok_or(GQ_EKIND)?;
        // One more than the queue holds: that whose turn comes next.
        self.packets += 1;
        self.kind(room, &leaf, Rng::new(draws.next_u64()))
    }

    /// Fails where classes have places for more packets than a queue may have.
    fn check_classes(&self, spec: &QueueSpec) -> Result<(), Code> {
        let is_too_many = self.config.slots == 0 && spec.places(self.config.link())? > MAX_PACKETS;
        if is_too_many { Err(GQ_EVALUE) } else { Ok(()) }
    }

    /// So many classes, each made of its queue.
    fn classes<T: 'static>(
        &mut self,
        room: &mut Room,
        spec: &QueueSpec,
        number: u64,
        mut draws: Rng,
        mut class: impl FnMut(Kind) -> Result<T, Code>,
    ) -> Result<Places<T>, Code> {
        self.check_classes(spec)?;
        room.all(number, |room| class(self.leaf(room, spec, &mut draws)?))
    }

    fn htb(
        &mut self,
        room: &mut Room,
        spec: &QueueSpec,
        params: htb::Params,
        mut draws: Rng,
    ) -> Result<Kind, Code> {
        self.check_classes(spec)?;
        let tree = params.tree(self.config.link());
        let mut classes = tree.classes.into_iter().zip(tree.leaves);
        let classes = room.all(tree.number as u64, |room| match classes.next() {
            Some((params, true)) => Ok(htb::Class::leaf(params, self.leaf(room, spec, &mut draws)?)),
            Some((params, false)) => Ok(htb::Class::inner(params)),
            None => Err(GQ_EVALUE),
        })?;
        let now = self.now;
        apart(room, Kind::Htb, || Htb::new(tree.map, now, classes).map_err(|_| GQ_ECONFLICT))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config;
    use goodqueue::spec::CATALOGUE;
    use goodqueue::{Header, Rate};

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
