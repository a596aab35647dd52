//! The transmit stack of an 802.11 radio in the caller's memory.

mod config;
mod rate;
mod stats;

use goodqueue::wifi::duration::calc_rx_airtime;
use goodqueue::wifi::{
    Ac, AqlLimits, Estimate, InterfaceId, Lengths, Parts, StationId, TxStack, TxqId, WifiError, WifiParams,
};
use goodqueue::{Header, Lent, Nanos, Verdict};

use crate::abi::wifi::{
    GQ_BE, GQ_BK, GQ_TXQ_MULTICAST, GQ_VI, GQ_VO, GQ_WORK, GQ_WORK_BE, GQ_WORK_BK, GQ_WORK_VI, GQ_WORK_VO,
    WifiConfig, WifiRate,
};
use crate::abi::{GQ_MARKED, GQ_MAX_LEN, GQ_PACKET};
use crate::build::drop_places;
use crate::code::{Code, GQ_EEXISTS, GQ_EPACKET, GQ_ESTATION, GQ_EVALUE};
use crate::drops::{Drops, reason};
use crate::ffi::room::Room;
use crate::guard::Guard;

impl From<WifiError> for Code {
    fn from(error: WifiError) -> Code {
        match error {
            WifiError::UnknownStation(_)
            | WifiError::UnknownInterface(_)
            | WifiError::TooManyStations { .. } => GQ_ESTATION,
            WifiError::StationExists(_) => GQ_EEXISTS,
            _ => GQ_EVALUE,
        }
    }
}

const _: () = {
    assert!(
        GQ_VO == Ac::Vo as u32 && GQ_VI == Ac::Vi as u32 && GQ_BE == Ac::Be as u32 && GQ_BK == Ac::Bk as u32
    );
    assert!(GQ_WORK_VO << GQ_VI == GQ_WORK_VI && GQ_WORK_VO << GQ_BE == GQ_WORK_BE);
    assert!(GQ_WORK_VO << GQ_BK == GQ_WORK_BK);
    assert!(GQ_WORK == GQ_WORK_VO | GQ_WORK_VI | GQ_WORK_BE | GQ_WORK_BK);
    assert!(GQ_TXQ_MULTICAST == TxqId::multicast(InterfaceId(0)).number());
};

/// The object of the caller's handle.
#[repr(C)]
pub(crate) struct Wifi {
    /// Identifies a valid object that was not moved.
    pub(crate) mark: usize,
    pub(crate) guard: Guard,
    stack: TxStack<Header, Lent>,
}

/// A category by its number.
pub(crate) fn ac(number: u32) -> Result<Ac, Code> {
    Ac::ALL.get(number as usize).copied().ok_or(GQ_EVALUE)
}

/// A queue by its number.
#[inline]
pub(crate) fn txq(number: u32) -> Result<TxqId, Code> {
    TxqId::from_number(number).ok_or(GQ_ESTATION)
}

impl Wifi {
    /// A radio without stations, with its clock at `now` and all its storage; `None` while only the memory is
    /// measured.
    pub(crate) fn new(config: &WifiConfig, now: Nanos, room: &mut Room) -> Result<Option<Wifi>, Code> {
        let capacity = config.capacity()?;
        let Lengths { flows, tins, nodes, stations, slots, bits } = capacity.lengths();
        let parts = Parts {
            flows: room.items(flows.into())?,
            tins: room.items(tins.into())?,
            nodes: room.items(nodes.into())?,
            stations: room.items(stations.into())?,
            slots: room.items(slots.into())?,
            bits: room.items(bits.into())?,
        };
        let drops = room.items(drop_places(config.drop_slots, u64::from(slots) + 1))?;
        if room.is_measuring() {
            return Ok(None);
        }
        let stack = TxStack::over(config.params()?, capacity, parts)?;
        Ok(Some(Wifi { mark: 0, guard: Guard::new(now, Drops::new(drops, None)), stack }))
    }

    /// Sets all parameters, except those of the storage.
    pub(crate) fn configure(&mut self, params: WifiParams) -> Result<i32, Code> {
        self.stack.configure(params)?;
        Ok(0)
    }

    pub(crate) fn add_station(&mut self, station: u32, interface: u32) -> Result<i32, Code> {
        let interface = u16::try_from(interface).map_err(|_| GQ_ESTATION)?;
        self.stack.add_station(StationId(station), InterfaceId(interface))?;
        Ok(0)
    }

    pub(crate) fn remove_station(&mut self, now: Nanos, station: u32) -> Result<i32, Code> {
        self.admit(now, 0)?;
        self.stack.remove_station(now, StationId(station), &mut self.guard.drops)?;
        Ok(self.guard.waiting())
    }

    pub(crate) fn sleep(&mut self, station: u32) -> Result<i32, Code> {
        self.stack.sta_ps_start(StationId(station))?;
        Ok(0)
    }

    pub(crate) fn wake(&mut self, now: Nanos, station: u32) -> Result<i32, Code> {
        self.guard.tick(now)?;
        self.stack.sta_ps_end(now, StationId(station))?;
        Ok(Ac::ALL.iter().map(|&ac| self.work(ac)).sum())
    }

    pub(crate) fn set_weight(&mut self, station: u32, weight: u32) -> Result<i32, Code> {
        self.stack.set_weight(StationId(station), weight)?;
        Ok(0)
    }

    pub(crate) fn set_aql(&mut self, station: u32, number: u32, low: u32, high: u32) -> Result<i32, Code> {
        self.stack.set_aql_limit(StationId(station), ac(number)?, AqlLimits { low, high })?;
        Ok(0)
    }

    pub(crate) fn set_rate(&mut self, station: u32, rate: Option<WifiRate>) -> Result<i32, Code> {
        let rate = rate.map(|rate| rate.info()).transpose()?;
        self.stack.set_rate_as_reported(StationId(station), rate)?;
        Ok(0)
    }

    pub(crate) fn expected_throughput(&mut self, station: u32, kbps: u32) -> Result<i32, Code> {
        self.stack.expected_throughput(StationId(station), kbps)?;
        Ok(0)
    }

    pub(crate) fn stop(&mut self, number: u32) -> Result<i32, Code> {
        self.stack.agg_stop_txq(txq(number)?)?;
        Ok(0)
    }

    pub(crate) fn start(&mut self, now: Nanos, number: u32) -> Result<i32, Code> {
        let txq = txq(number)?;
        self.guard.tick(now)?;
        self.stack.agg_start_txq(now, txq)?;
        Ok(self.work(txq.ac()))
    }

    #[inline]
    fn admit(&mut self, now: Nanos, more: usize) -> Result<(), Code> {
        let Wifi { guard, stack, .. } = self;
        guard.admit(now, || stack.radio_stats().backlog as usize + more)
    }

    /// The bit of a category in which queues wait.
    #[inline]
    fn work(&self, ac: Ac) -> i32 {
        if self.stack.has_scheduled(ac) { GQ_WORK_VO << ac.index() } else { 0 }
    }

    #[inline]
    pub(crate) fn enqueue(&mut self, now: Nanos, number: u32, packet: Header) -> Result<i32, Code> {
        if packet.len.wrapping_sub(1) >= GQ_MAX_LEN || packet.truesize < packet.len {
            return Err(GQ_EPACKET);
        }
        let txq = txq(number)?;
        self.admit(now, 1)?;
        let why = match self.stack.enqueue(now, txq, packet, &mut self.guard.drops) {
            Verdict::Enqueued => 0,
            Verdict::Dropped(why) => reason(why),
        };
        Ok(why | self.guard.waiting() | self.work(txq.ac()))
    }

    #[inline]
    pub(crate) fn schedule_start(&mut self, number: u32) -> Result<i32, Code> {
        Ok(i32::from(self.stack.schedule_start(ac(number)?) != 0))
    }

    #[inline]
    pub(crate) fn next_txq(&mut self, number: u32) -> Result<Option<TxqId>, Code> {
        Ok(self.stack.next_txq(ac(number)?))
    }

    /// The packet and its estimate, if there is one, with the bits of the result.
    #[inline]
    pub(crate) fn dequeue(&mut self, now: Nanos, number: u32) -> Result<(Option<(Header, u32)>, i32), Code> {
        let txq = txq(number)?;
        self.admit(now, 0)?;
        self.guard.drops.is_marked = false;
        let delivered = self.stack.tx_dequeue(now, txq, &mut self.guard.drops);
        let marked = if self.guard.drops.is_marked { GQ_MARKED } else { 0 };
        let bits = marked | self.guard.waiting();
        Ok(match delivered {
            Some(done) => (Some((done.packet, u32::from(done.estimate.micros()))), bits | GQ_PACKET),
            None => (None, bits),
        })
    }

    #[inline]
    pub(crate) fn return_txq(&mut self, now: Nanos, number: u32, force: bool) -> Result<i32, Code> {
        let txq = txq(number)?;
        self.guard.tick(now)?;
        self.stack.return_txq(now, txq, force);
        Ok(self.work(txq.ac()))
    }

    #[inline]
    pub(crate) fn may_transmit(&mut self, number: u32) -> Result<i32, Code> {
        Ok(i32::from(self.stack.may_transmit(txq(number)?)))
    }

    #[inline]
    pub(crate) fn completed(&mut self, number: u32, estimate: u32) -> Result<i32, Code> {
        let txq = txq(number)?;
        if let Some(station) = txq.station() {
            self.stack.tx_completed(station, txq.ac(), Estimate::from_micros(estimate));
        }
        Ok(self.work(txq.ac()))
    }

    #[inline]
    pub(crate) fn airtime(&mut self, now: Nanos, number: u32, tx: u32, rx: u32) -> Result<i32, Code> {
        let txq = txq(number)?;
        self.guard.tick(now)?;
        if let Some(station) = txq.station() {
            self.stack.register_airtime(now, station, txq.tid(), tx, rx);
        }
        Ok(0)
    }

    /// Airtime of a frame, us.
    pub(crate) fn duration(&self, rate: &WifiRate, len: u32) -> Result<u32, Code> {
        let info = rate.info()?;
        let band = self.stack.params().band;
        info.check(band).map_err(WifiError::from)?;
        Ok(calc_rx_airtime(band, &info, rate.short_preamble != 0, len))
    }
}
