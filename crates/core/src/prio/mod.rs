//! `prio` and `pfifo_fast`: several bands; the first nonempty one sends.
//!
//! Behaviour: man pages tc-prio(8) and tc-pfifo_fast(8), Linux 6.1 `sch_prio.c`, `sch_generic.c`:
//!
//! * A map of 16 entries gives the band for a packet's priority, which comes from its DS byte ([`priority`]).
//!   Linux can have filters in front of the map; here there are none.
//! * A band can have any queue. `pfifo_fast` has three bands with a `pfifo` each, and each has the full
//!   limit.
//! * Nothing keeps the first band from starving the others.
//!
//! # Example
//!
//! A packet with "minimize delay" in its TOS byte goes to band 0, before one that came earlier.
//!
//! ```
//! use goodqueue::spec::QueueParams;
//! use goodqueue::{Header, Ignore, Nanos, Queue, QueueSpec, Rate, prio};
//!
//! let two_bands = prio::Params { bands: 2, ..Default::default() };
//! assert!(QueueSpec::try_from(QueueParams::Prio(two_bands)).is_err(), "the default map has a third band");
//!
//! let spec = QueueSpec::try_from(QueueParams::Prio(prio::Params::default()))?;
//! let mut queue = spec.build::<Header>(Rate(20_000_000), 1514, Nanos::ZERO)?;
//! for dsfield in [0, 0x10] {
//!     queue.enqueue(Nanos::ZERO, Header { len: 1514, truesize: 2304, dsfield, ..Header::default() }, &mut Ignore);
//! }
//! assert_eq!(queue.dequeue(Nanos(1000), &mut Ignore).map(|packet| packet.dsfield), Some(0x10));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod params;

pub use crate::classes::priority;
pub use params::{PFIFO_FAST_BANDS, Params, PfifoFastParams};

use crate::classes::{PRIORITIES, tos};
use crate::memory::Memory;
use crate::queue::sum_of_flows;
use crate::spec::digits_of;
use crate::{Backlog, BuildError, Configurable, Inspect, Link, Nanos, Owner, Packet, Queue, Stats, Verdict};

/// Maximum number of bands (Linux `TCQ_PRIO_BANDS`).
pub const MAX_BANDS: usize = 16;

/// The band of each of the 16 priorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priomap(pub [u8; 16]);

impl Default for Priomap {
    /// The map of both man pages.
    fn default() -> Self {
        Priomap::DEFAULT
    }
}

impl Priomap {
    /// The map of both man pages.
    pub(crate) const DEFAULT: Priomap = Priomap([1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]);

    /// The map whose digits in base 16 are the bands, priority 0 first: `0x1222_1200_1111_1111` by default.
    #[must_use]
    pub fn of_digits(digits: u64) -> Priomap {
        Priomap(digits_of(digits))
    }

    /// The band of each priority that packets have, among `count` bands.
    fn bands(self, count: usize) -> [u8; 4] {
        let last = u8::try_from(count.min(MAX_BANDS) - 1).unwrap_or(0);
        PRIORITIES.map(|priority| {
            let band = self.0[usize::from(priority)];
            if band <= last { band } else { self.0[0].min(last) }
        })
    }
}

/// Bands of queues `Q` in the storage `M`, of which the first [`MAX_BANDS`] are used. If the map names a band
/// that does not exist, the first band is used (Linux `prio_classify`).
#[derive(Clone, Debug)]
pub struct Prio<P, Q: 'static, M: Memory = crate::memory::Usual> {
    bands: M::Of<Q>,
    map: Priomap,
    /// The existing band of each of the four priorities that packets have.
    of: [u8; 4],
    /// Packets delivered, by band.
    sent: [u64; MAX_BANDS],
    kinds: core::marker::PhantomData<(P, Q)>,
}

impl<P: Packet, Q: Queue<P> + 'static, M: Memory> Prio<P, Q, M> {
    /// The map.
    pub const fn map(&self) -> Priomap {
        self.map
    }

    /// The bands, the first one first.
    pub fn bands(&self) -> &[Q] {
        let bands = self.bands.as_ref();
        &bands[..bands.len().min(MAX_BANDS)]
    }

    /// The band of a packet with this DS byte.
    pub fn band(&self, dsfield: u8) -> usize {
        usize::from(self.of[tos(dsfield)])
    }
}

impl<P: Packet, Q: Queue<P> + 'static, M: Memory> Configurable<P> for Prio<P, Q, M> {
    type Params = Priomap;
    /// The bands, with empty queues; at least one.
    type Parts = M::Of<Q>;

    fn new(_: Nanos, map: Priomap, _: Link, bands: M::Of<Q>) -> Result<Self, BuildError> {
        if bands.as_ref().is_empty() {
            return Err(BuildError::NoPlace);
        }
        let of = map.bands(bands.as_ref().len());
        Ok(Prio { bands, map, of, sent: [0; MAX_BANDS], kinds: core::marker::PhantomData })
    }

    /// The map applies to later packets. The bands keep their queues and packets.
    fn set_params(&mut self, _: Nanos, map: Priomap, _: Link) -> Result<(), BuildError> {
        self.map = map;
        self.of = map.bands(self.bands().len());
        Ok(())
    }
}

impl<P: Packet, Q: Queue<P> + 'static, M: Memory> Queue<P> for Prio<P, Q, M> {
    fn enqueue(&mut self, now: Nanos, packet: P, observer: &mut impl Owner<P>) -> Verdict {
        let band = self.band(packet.dsfield());
        self.bands[band].enqueue(now, packet, observer)
    }

    /// Linux `sch_prio.c:prio_dequeue`.
    fn dequeue(&mut self, now: Nanos, observer: &mut impl Owner<P>) -> Option<P> {
        for (queue, sent) in self.bands.iter_mut().zip(&mut self.sent) {
            let packet = queue.dequeue(now, observer);
            if packet.is_some() {
                *sent += 1;
                return packet;
            }
        }
        None
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        self.bands().iter().filter_map(|queue| queue.next_wake(now)).min()
    }

    fn backlog(&self) -> Backlog {
        let mut all = Backlog::default();
        for queue in self.bands() {
            all.change(Backlog::default(), queue.backlog());
        }
        all
    }

    fn reset(&mut self, now: Nanos, observer: &mut impl Owner<P>) {
        for queue in self.bands.as_mut() {
            queue.reset(now, observer);
        }
    }
}

impl<P: Packet, Q: Queue<P> + 'static, M: Memory> Inspect for Prio<P, Q, M> {
    fn stats(&self) -> Stats {
        self.bands().iter().map(Inspect::stats).sum()
    }

    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        const NAMES: [&str; MAX_BANDS] = [
            "band_0_sent",
            "band_1_sent",
            "band_2_sent",
            "band_3_sent",
            "band_4_sent",
            "band_5_sent",
            "band_6_sent",
            "band_7_sent",
            "band_8_sent",
            "band_9_sent",
            "band_10_sent",
            "band_11_sent",
            "band_12_sent",
            "band_13_sent",
            "band_14_sent",
            "band_15_sent",
        ];
        for (name, sent) in NAMES.iter().zip(self.sent).take(self.bands().len()) {
            each(name, sent);
        }
    }

    fn waiting_flows(&self) -> Option<(u32, u32)> {
        sum_of_flows(self.bands().iter().map(Inspect::waiting_flows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fifo::{Fifo, Limit};
    use crate::{Header, Ignore, Reason};

    const LINK: Link = Link::ethernet(crate::Rate(10_000_000));

    fn prio(map: Priomap, limits: &[u32]) -> Result<Prio<Header, Fifo<Header>>, BuildError> {
        let band = |&limit: &u32| {
            Fifo::new(Nanos(0), Limit::Packets(limit), LINK, alloc::vec![Header::default(); 4])
        };
        let bands = limits.iter().map(band).collect::<Result<_, _>>()?;
        Prio::new(Nanos(0), map, LINK, bands)
    }

    fn pfifo_fast(limit: u32) -> Prio<Header, Fifo<Header>> {
        prio(Priomap::default(), &[limit; 3]).expect("bands")
    }

    /// tc-prio(8): the column "Band" of its table.
    #[test]
    fn bands_are_those_of_the_man_page() {
        let queue = pfifo_fast(4);
        let table = [1, 1, 1, 1, 2, 2, 2, 2, 0, 0, 0, 0, 1, 1, 1, 1];
        for (bits, band) in (0_u8..).zip(table) {
            assert_eq!(queue.band(bits << 1), band);
        }
        assert_eq!(Priomap::of_digits(0x1222_1200_1111_1111), Priomap::default());
    }

    /// tc-pfifo_fast(8): while there are packets in band 0, band 1 is not served.
    #[test]
    fn a_later_band_waits_for_the_earlier_and_each_has_the_full_limit() {
        let mut queue = pfifo_fast(2);
        let packet = |cookie, dsfield| Header { cookie, dsfield, len: 100, ..Header::default() };
        for (cookie, dsfield) in [(1, 0x08), (2, 0), (3, 0x10), (4, 0), (5, 0x10)] {
            assert_eq!(queue.enqueue(Nanos(0), packet(cookie, dsfield), &mut Ignore), Verdict::Enqueued);
        }
        let full = queue.enqueue(Nanos(0), packet(6, 0), &mut Ignore);
        assert_eq!(full, Verdict::Dropped(Reason::Limit));
        assert_eq!(queue.backlog(), Backlog { packets: 5, bytes: 500 });
        let order: [_; 5] =
            core::array::from_fn(|_| queue.dequeue(Nanos(0), &mut Ignore).map_or(0, |packet| packet.cookie));
        assert_eq!(order, [3, 5, 2, 4, 1]);
        assert_eq!(queue.stats().drops, 1);
        assert_eq!(queue.next_wake(Nanos(0)), None);
    }

    #[test]
    fn a_missing_band_is_replaced_by_that_of_priority_0() {
        let map = Priomap::of_digits(0x1f00_0000_0000_0000);
        let queue = prio(map, &[4, 4]).expect("bands");
        assert_eq!((queue.band(0x10), queue.band(0)), (0, 1));
        let map = Priomap::of_digits(0x1090_0000_0000_0000);
        let queue = prio(map, &[4, 4]).expect("bands");
        assert_eq!(queue.band(0x08), 1, "priority 2 names band 9");
        assert_eq!(prio(map, &[]).err(), Some(BuildError::NoPlace));
    }
}
