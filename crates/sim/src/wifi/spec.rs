//! A radio, as plain data.

use goodqueue::wifi::policy::{GroupId, Groups, Mode, Policy, StationActivity};
use goodqueue::wifi::{StationId, WifiParams};
use goodqueue::{Nanos, QueueSpec, Span};

use super::channel::Errors;
use super::edca::{ACCESS_POINT, Band, EdcaParams, STATION};
use super::frame::DeviceId;
use super::ideas::Ideas;
use super::rates::RateSpec;

/// A channel with all devices on it, of one or several networks. They all hear each other.
#[derive(Clone, Debug, Default)]
pub struct RadioSpec {
    /// Band of the channel.
    pub band: Band,
    /// Access points and stations.
    pub devices: Vec<DeviceSpec>,
    /// Of several PPDUs that begin in the same slot, the strongest may be received (capture). Only if the
    /// signals of all are known ([`Errors::Snr`], [`Errors::Coded`]).
    pub capture: bool,
}

/// A device.
#[derive(Clone, Debug)]
pub struct DeviceSpec {
    /// Its role.
    pub role: Role,
    /// EDCA parameters of the four categories, in the order of [`goodqueue::wifi::Ac::ALL`].
    pub edca: [EdcaParams; 4],
    /// The driver between the stack and the air.
    pub driver: DriverSpec,
    /// PPDUs with more bytes than this begin with RTS and CTS.
    pub rts_threshold: Option<u32>,
    /// What else precedes a PPDU.
    pub protection: Protection,
    /// The policy that sets the weights of an access point's stations; `None`: they do not change.
    pub policy: Option<PolicySpec>,
    /// How much TCP of this device's host may keep in the device and its queue: about 2^-`tx_sk_pacing_shift`
    /// s of each connection's rate, 1 to 20 (Linux `ieee80211_hw.tx_sk_pacing_shift`). `None`: as in the
    /// hosts' version of Linux, [`crate::tcp::Kernel::tx_sk_pacing_shift`].
    pub tx_sk_pacing_shift: Option<u32>,
}

/// What reserves the air before a PPDU, besides [`DeviceSpec::rts_threshold`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protection {
    /// RTS and CTS from the second rate of a series on, as rate control sets it (Linux
    /// `minstrel_ht_set_rate`). A fixed rate has no second one, and so no protection.
    #[default]
    Fallbacks,
    /// The same; with a fixed rate, from the try at which rate control would move on to the second rate
    /// (`minstrel_calc_retransmit`).
    Retries,
    /// CTS-to-self before each PPDU that has no RTS, as alongside 802.11b stations
    /// (`ieee80211_bss_conf.use_cts_prot`), at the lowest rate of the band: 1 Mbit/s in 2.4 GHz, else 6. Only
    /// with data.
    CtsToSelf,
}

/// Groups of stations that share the air by weight, whichever of them are active. With [`Upper::Mac80211`]
/// only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicySpec {
    /// The groups. A group comes after the group that contains it.
    pub groups: Vec<GroupSpec>,
    /// Stations: the device, its group (none: at the level of the outermost groups), and its weight there.
    pub members: Vec<(DeviceId, Option<usize>, u32)>,
    /// The time after which weights are recomputed.
    pub interval: Span,
}

/// A group of stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupSpec {
    /// The place of the group that contains it.
    pub parent: Option<usize>,
    /// Weight among its siblings, 1 to 65535.
    pub weight: u32,
    /// How its weight counts against the other groups.
    pub mode: Mode,
}

impl PolicySpec {
    /// The groups, without members, and the number of each.
    ///
    /// # Errors
    /// If a group comes before the group that contains it, or a weight is out of range.
    pub fn groups(groups: &[GroupSpec]) -> Result<(Groups, Vec<GroupId>), String> {
        let mut built = Groups::new();
        let mut ids = Vec::with_capacity(groups.len());
        for group in groups {
            let parent = known(&ids, group.parent)?;
            ids.push(built.add(parent, group.weight, group.mode).map_err(|error| error.to_string())?);
        }
        Ok((built, ids))
    }

    /// Builds the groups with their members. `station` returns a device's number in the transmit stack.
    pub(super) fn build(&self, station: impl Fn(DeviceId) -> Option<StationId>) -> Result<Groups, String> {
        let (mut groups, ids) = PolicySpec::groups(&self.groups)?;
        for &(device, group, weight) in &self.members {
            let station = station(device).ok_or_else(|| format!("device {device} is no station of its"))?;
            groups.put(station, known(&ids, group)?, weight).map_err(|error| error.to_string())?;
        }
        Ok(groups)
    }
}

impl RadioSpec {
    /// The share of the airtime, 0 to 1, that weights and policy give each device while all stations are
    /// active; an access point has none. It is what airtime fairness works towards; a driver without it does
    /// not know weights.
    ///
    /// # Errors
    /// If a policy is not valid: see [`PolicySpec::groups`].
    pub fn airtime_shares(&self) -> Result<Vec<f64>, String> {
        let weight = |device: &DeviceSpec| match device.role {
            Role::Station { weight, .. } => u32::from(weight),
            Role::AccessPoint => 0,
        };
        let mut weights: Vec<u32> = self.devices.iter().map(weight).collect();
        let stations = (0..).zip(&weights).filter(|(_, weight)| **weight > 0);
        let active: Vec<StationActivity> = stations
            .map(|(device, _)| StationActivity { station: StationId(device), is_active: true })
            .collect();
        for policy in self.devices.iter().filter_map(|device| device.policy.as_ref()) {
            let mut groups = policy.build(|device| Some(StationId(u32::from(device))))?;
            groups.weigh(Nanos::ZERO, &active, &mut |station, weight| {
                if let Some(of) = weights.get_mut(station.0 as usize) {
                    *of = weight;
                }
            });
        }
        let all: u32 = weights.iter().sum();
        Ok(weights.iter().map(|&weight| f64::from(weight) / f64::from(all.max(1))).collect())
    }
}

/// The group at a place.
fn known(ids: &[GroupId], place: Option<usize>) -> Result<Option<GroupId>, String> {
    match place {
        Some(place) => {
            ids.get(place).copied().map(Some).ok_or_else(|| format!("no group {place} comes before"))
        }
        None => Ok(None),
    }
}

/// The role of a device.
#[derive(Clone, Debug)]
pub enum Role {
    /// An access point.
    AccessPoint,
    /// A station.
    Station {
        /// The access point that it is associated to.
        access_point: DeviceId,
        /// The path from there to the station.
        down: PeerSpec,
        /// The path from the station.
        up: PeerSpec,
        /// Airtime weight at the access point, 1 to 65535; mac80211's default is 256.
        weight: u16,
    },
}

/// One direction between an access point and a station.
#[derive(Clone, Debug)]
pub struct PeerSpec {
    /// Rate control.
    pub rate: RateSpec,
    /// Errors of the channel.
    pub errors: Errors,
    /// Limits on aggregates that the receiver sets.
    pub aggregation: Aggregation,
}

/// The limits of a receiver on one A-MPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregation {
    /// Bytes.
    pub bytes: u32,
    /// Sequence numbers of the block ack window: 64, or up to 256 (HE). 1 to 256.
    pub window: u16,
}

impl Aggregation {
    /// HT: 65535 bytes, 64 MPDUs.
    pub const HT: Aggregation = Aggregation { bytes: 65_535, window: 64 };
    /// VHT: 1048575 bytes, 64 MPDUs.
    pub const VHT: Aggregation = Aggregation { bytes: 1_048_575, window: 64 };
    /// HE: 6500631 bytes, 256 MPDUs.
    pub const HE: Aggregation = Aggregation { bytes: 6_500_631, window: 256 };
}

/// The driver between a host's stack and the air.
#[derive(Clone, Debug)]
pub struct DriverSpec {
    /// Where packets wait first.
    pub upper: Upper,
    /// How packets are queued in the driver and its hardware.
    pub lower: Lower,
    /// Longest PPDU with data.
    pub max_time: Span,
    /// Maximum MPDUs in one; the peer's window is a limit too.
    pub max_frames: u16,
    /// Whether a station keeps its turn if the hardware queue is full at that time (ath9k since Linux 4.11).
    /// Otherwise it goes behind the others (Linux 3.17 to 4.10). This matters if stations take turns in the
    /// driver: [`Lower::Fifo`], and [`Lower::Txq`] without airtime fairness.
    pub keeps_turn: bool,
    /// How firmware and host report packets to each other; only for firmware that aggregates.
    pub htt: HttSpec,
    /// What it does beyond Linux; by default nothing.
    pub ideas: Ideas,
}

/// Between ath10k and its firmware (HTT).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttSpec {
    /// Packets whose completion the firmware reports together, 1 to 65536; fewer if it has nothing else left.
    /// Until then the host counts them as being in the firmware. 1: it reports each PPDU when that ends. An
    /// HTT message (`TX_COMPL_IND`) has up to 255, and a poll takes all messages that have arrived.
    pub completions: u32,
    /// Maximum packets of a station in an access category there, 1 or more; the others wait in mac80211's
    /// queues. Firmware 10.4 sets such a number for each station and TID (`num_push_allowed`).
    pub station: Option<u32>,
}

impl HttSpec {
    /// Each PPDU is reported when it ends, and a station has no limit of its own.
    pub const PLAIN: HttSpec = HttSpec { completions: 1, station: None };

    /// What is wrong with it in a driver.
    pub(super) fn check(driver: &DriverSpec) -> Result<(), String> {
        let HttSpec { completions, station } = driver.htt;
        if !(1..=65_536).contains(&completions) || station == Some(0) {
            return Err("packets reported at once are 1 to 65536, and those of a station at least 1".into());
        }
        if driver.htt != HttSpec::PLAIN && !driver.lower.is_firmware() {
            return Err("batches of completions and limits of stations are for firmware".into());
        }
        if station.is_some() && matches!(driver.upper, Upper::Qdisc(_)) {
            return Err("limits of stations need mac80211's queues".into());
        }
        Ok(())
    }
}

/// Where packets wait first. It is not boxed, since a device has one.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)]
pub enum Upper {
    /// A queue discipline for each category (Linux `mq`).
    Qdisc(QueueSpec),
    /// mac80211's queues by station and TID, with its airtime scheduler (Linux 4.9 and later).
    Mac80211(WifiParams),
    /// mac80211's queues by station and TID without flows and `CoDel`: FIFOs in turn; a packet that reaches a
    /// full one is dropped (Kazior's first patch of 2016). Only with firmware that aggregates.
    TailDrop {
        /// Packets of all stations (`TOTAL_MAX_TX_BUFFER`: 512).
        total: u32,
        /// Packets of a station's TID (`STA_MAX_TX_BUFFER`: 64).
        station: u32,
    },
}

/// How packets are queued in a driver and its hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lower {
    /// ath9k before 2016: packets of a category in FIFOs by station and TID, served in turn, two PPDUs of
    /// them in the hardware queue.
    Fifo {
        /// Maximum packets of a category, those in the hardware included.
        packets: u32,
    },
    /// ath9k since 2016: PPDUs are built from mac80211's queues; two are in the hardware queue of a category.
    /// With [`Upper::Mac80211`] only.
    Txq,
    /// ath10k: the firmware queues packets by station and TID, and builds PPDUs for the stations in turn.
    Firmware {
        /// Packets of all categories.
        packets: u32,
    },
    /// The same, but nothing is held back above: the firmware drops packets that it has no room for.
    LossyFirmware {
        /// Packets of all categories.
        packets: u32,
    },
}

impl Lower {
    /// Whether packets are aggregated below the driver.
    #[must_use]
    pub const fn is_firmware(&self) -> bool {
        matches!(self, Lower::Firmware { .. } | Lower::LossyFirmware { .. })
    }

    /// Whether it drops a packet when it holds `pending`.
    pub(super) const fn is_too_much(&self, pending: u32) -> bool {
        matches!(self, Lower::LossyFirmware { packets } if pending >= *packets)
    }
}

/// Maximum packets of a category that ath9k took from its qdisc (`ATH_MAX_QDEPTH`: a quarter of 512 buffers,
/// less 5).
pub const ATH9K_QDEPTH: u32 = 123;
/// Packets that ath10k's firmware holds (`TARGET_NUM_MSDU_DESC`).
pub const ATH10K_MSDU_DESC: u32 = 1_424;

impl DriverSpec {
    /// ath9k before mac80211's queues (Linux 3.17 to 4.9), with FIFOs under `qdisc`: aggregates of 4 ms and
    /// half a block ack window.
    #[must_use]
    pub const fn ath9k_fifos(qdisc: QueueSpec) -> DriverSpec {
        DriverSpec {
            upper: Upper::Qdisc(qdisc),
            lower: Lower::Fifo { packets: ATH9K_QDEPTH },
            max_time: Span::from_micros(4_096),
            max_frames: 32,
            keeps_turn: false,
            htt: HttSpec::PLAIN,
            ideas: Ideas::NONE,
        }
    }
}

impl DriverSpec {
    /// ath9k on mac80211's queues (Linux 6.1): airtime fairness, no AQL.
    #[must_use]
    pub fn ath9k() -> DriverSpec {
        let upper = Upper::Mac80211(WifiParams { aql: false, ..WifiParams::without_vht() });
        DriverSpec {
            upper,
            lower: Lower::Txq,
            max_time: Span::from_micros(4_096),
            max_frames: 32,
            keeps_turn: false,
            htt: HttSpec::PLAIN,
            ideas: Ideas::NONE,
        }
    }

    /// ath10k on mac80211's queues (Linux 6.1), with AQL.
    #[must_use]
    pub fn ath10k() -> DriverSpec {
        let lower = Lower::Firmware { packets: ATH10K_MSDU_DESC };
        let upper = Upper::Mac80211(WifiParams::default());
        let (max_time, max_frames) = (Span::from_micros(4_096), 64);
        let (htt, ideas) = (HttSpec::PLAIN, Ideas::NONE);
        DriverSpec { upper, lower, max_time, max_frames, keeps_turn: false, htt, ideas }
    }
}

impl PeerSpec {
    /// An HT peer at `rate`, without errors.
    #[must_use]
    pub const fn new(rate: RateSpec) -> PeerSpec {
        PeerSpec { rate, errors: Errors::None, aggregation: Aggregation::HT }
    }
}

impl DeviceSpec {
    /// An access point without RTS.
    #[must_use]
    pub const fn access_point(driver: DriverSpec) -> DeviceSpec {
        DeviceSpec {
            role: Role::AccessPoint,
            edca: ACCESS_POINT,
            driver,
            rts_threshold: None,
            protection: Protection::Fallbacks,
            policy: None,
            tx_sk_pacing_shift: None,
        }
    }

    /// A station without RTS, with the same peer specification both ways.
    #[must_use]
    pub fn station(access_point: DeviceId, peer: PeerSpec, driver: DriverSpec) -> DeviceSpec {
        let role = Role::Station { access_point, down: peer.clone(), up: peer, weight: 256 };
        DeviceSpec {
            role,
            edca: STATION,
            driver,
            rts_threshold: None,
            protection: Protection::Fallbacks,
            policy: None,
            tx_sk_pacing_shift: None,
        }
    }
}
