//! Identifiers of stations, interfaces, TIDs, access categories and queues.

/// An access category of EDCA (IEEE 802.11-2020 section 10.2.3.2), in the order of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Ac {
    /// Voice.
    Vo = 0,
    /// Video.
    Vi = 1,
    /// Best effort.
    Be = 2,
    /// Background.
    Bk = 3,
}

impl Ac {
    /// All categories, in the order of Linux: highest first.
    pub const ALL: [Ac; 4] = [Ac::Vo, Ac::Vi, Ac::Be, Ac::Bk];

    /// The category's number in Linux.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Ac::Vo => "VO",
            Ac::Vi => "VI",
            Ac::Be => "BE",
            Ac::Bk => "BK",
        }
    }
}

/// A traffic identifier, 0 to 15.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tid(u8);

impl Tid {
    /// Best effort, TID 0.
    pub const BE: Tid = Tid(0);
    /// How many there are.
    pub const COUNT: usize = 16;

    /// TID `number`; `None` above 15.
    #[must_use]
    pub const fn new(number: u8) -> Option<Tid> {
        if number < 16 { Some(Tid(number)) } else { None }
    }

    /// All sixteen.
    pub fn all() -> impl Iterator<Item = Tid> {
        (0..16).map(Tid)
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// The access category of the user priority, TID modulo 8 (IEEE 802.11-2020 table 10-1).
    #[inline]
    #[must_use]
    pub const fn ac(self) -> Ac {
        const OF: [Ac; 8] = [Ac::Be, Ac::Bk, Ac::Bk, Ac::Be, Ac::Vi, Ac::Vi, Ac::Vo, Ac::Vo];
        OF[(self.0 & 7) as usize]
    }
}

/// A station's number, chosen by the caller: 0 to [`super::Capacity::stations`] - 1. It replaces the address
/// by which mac80211 finds a station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StationId(pub u32);

/// A virtual interface's number: 0 to [`super::Capacity::interfaces`] - 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InterfaceId(pub u16);

/// Marks a [`TxqId`] as an interface's multicast queue.
const MULTICAST: u32 = 1 << 31;

/// One queue: a station's TID, or the multicast queue of an interface (mac80211 `struct ieee80211_txq`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TxqId(u32);

impl TxqId {
    /// The queue of one TID of a station.
    #[inline]
    #[must_use]
    pub const fn new(station: StationId, tid: Tid) -> TxqId {
        // Stations from 2^27 on have no queue; keep their numbers out of the valid range.
        let station = if station.0 < MULTICAST >> 4 { station.0 } else { (MULTICAST >> 4) - 1 };
        TxqId(station << 4 | tid.0 as u32)
    }

    /// The multicast queue of an interface, of category BE.
    #[must_use]
    pub const fn multicast(interface: InterfaceId) -> TxqId {
        TxqId(MULTICAST | interface.0 as u32)
    }

    /// The queue of this number; `None` if there cannot be one.
    #[inline]
    #[must_use]
    pub const fn from_number(number: u32) -> Option<TxqId> {
        let is_one = number & MULTICAST == 0 || number & !MULTICAST <= u16::MAX as u32;
        if is_one { Some(TxqId(number)) } else { None }
    }

    /// Its number: 16 times the station plus the TID; for a multicast queue 2^31 plus the interface.
    #[inline]
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The station; `None` for a multicast queue.
    #[inline]
    #[must_use]
    pub const fn station(self) -> Option<StationId> {
        if self.0 & MULTICAST == 0 { Some(StationId(self.0 >> 4)) } else { None }
    }

    /// The interface, for a multicast queue.
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub const fn interface(self) -> Option<InterfaceId> {
        if self.0 & MULTICAST == 0 { None } else { Some(InterfaceId(self.0 as u16)) }
    }

    /// The TID; 0 for a multicast queue.
    #[inline]
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub const fn tid(self) -> Tid {
        if self.0 & MULTICAST == 0 { Tid((self.0 & 15) as u8) } else { Tid::BE }
    }

    /// The access category.
    #[inline]
    #[must_use]
    pub const fn ac(self) -> Ac {
        self.tid().ac()
    }

    /// The index of the queue: first the queues of `stations` stations, then those of the interfaces.
    #[inline]
    pub(super) const fn place(self, stations: u32) -> u32 {
        if self.0 & MULTICAST == 0 { self.0 } else { (stations << 4).saturating_add(self.0 & !MULTICAST) }
    }

    /// The queue of an index.
    #[inline]
    pub(super) const fn at(place: u32, stations: u32) -> TxqId {
        if place < stations << 4 { TxqId(place) } else { TxqId(MULTICAST | (place - (stations << 4))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_converts_back() {
        let tid = Tid::new(13).expect("below 16");
        for id in [TxqId::new(StationId(0), Tid::BE), TxqId::new(StationId(6), tid)] {
            assert_eq!(TxqId::at(id.place(7), 7), id);
        }
        let multicast = TxqId::multicast(InterfaceId(2));
        assert_eq!(multicast.place(7), 7 * 16 + 2);
        assert_eq!(TxqId::at(7 * 16 + 2, 7), multicast);
        assert_eq!((multicast.station(), multicast.interface()), (None, Some(InterfaceId(2))));
        for id in [TxqId::new(StationId(6), tid), multicast] {
            assert_eq!(TxqId::from_number(id.number()), Some(id));
        }
        assert_eq!(TxqId::new(StationId(6), tid).number(), 6 * 16 + 13);
        assert_eq!(TxqId::from_number(MULTICAST | 1 << 16), None);
    }

    #[test]
    fn categories_of_the_user_priorities() {
        let names: [&str; 8] = core::array::from_fn(|n| Tid(u8::try_from(n).expect("small")).ac().name());
        assert_eq!(names, ["BE", "BK", "BK", "BE", "VI", "VI", "VO", "VO"]);
        assert!(Tid::all().all(|tid| tid.ac() == Tid(tid.0 ^ 8).ac()));
        assert_eq!(Tid::new(16), None);
    }

    #[test]
    fn a_station_out_of_range_is_not_a_multicast_queue() {
        assert!(TxqId::new(StationId(u32::MAX), Tid::BE).station().is_some());
    }
}
