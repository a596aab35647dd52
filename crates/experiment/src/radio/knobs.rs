//! The settings of a radio, in the form of the record.

use goodqueue::wifi::Ac;
use goodqueue_report::wifi::{AccessCategory, AqlLimit, WifiKnobs};
use goodqueue_sim::wifi::{Band, DeviceSpec, Format, Lower, PhyRate, RadioSpec, RateSpec, Role, Upper};

use crate::text::wifi::ideas::list;

/// Band and width.
pub(super) fn about(spec: &RadioSpec) -> String {
    let band = match spec.band {
        Band::Ghz2_4 => "2.4 GHz",
        Band::Ghz5 => "5 GHz",
    };
    let rates = spec.devices.iter().filter_map(|device| match &device.role {
        Role::Station { down, .. } => Some(widest(&down.rate)),
        Role::AccessPoint => None,
    });
    format!("{band}, {} MHz", rates.max().unwrap_or(20))
}

fn widest(rate: &RateSpec) -> u8 {
    match rate {
        RateSpec::Fixed(rate) => rate.width(),
        RateSpec::Schedule(steps) => steps.iter().map(|(_, rate)| rate.width()).max().unwrap_or(20),
        RateSpec::Minstrel(rates) => rates.iter().map(|rate| rate.width()).max().unwrap_or(20),
    }
}

/// Rate of a station as text and in bit/s, and its weight.
pub(super) fn station(spec: Option<&DeviceSpec>) -> (String, u64, u32) {
    let Some(Role::Station { down, weight, .. }) = spec.map(|spec| &spec.role) else {
        return (String::new(), 0, 0);
    };
    let mbit = |bps: u64| format!("{:.1} Mbit/s", bps as f64 / 1e6);
    let (words, bps) = match &down.rate {
        RateSpec::Fixed(rate) => (format!("{}, {}", short(rate), mbit(rate.bps())), rate.bps()),
        RateSpec::Schedule(steps) => {
            let words: Vec<String> = steps.iter().map(|(_, rate)| short(rate)).collect();
            (words.join(", then "), steps.first().map_or(0, |(_, rate)| rate.bps()))
        }
        RateSpec::Minstrel(rates) => {
            let most = rates.iter().map(|rate| rate.bps()).max().unwrap_or(0);
            (format!("by trial, {} at most", mbit(most)), 0)
        }
    };
    (words, bps, u32::from(*weight))
}

/// A rate in short form: for HT with 20 MHz, the MCS.
fn short(rate: &PhyRate) -> String {
    if rate.format() == Format::Ht && rate.width() == 20 {
        format!("MCS{}", rate.mcs() + 8 * (rate.nss() - 1))
    } else {
        rate.to_string()
    }
}

/// The settings of the first access point.
pub(super) fn of(spec: &RadioSpec) -> WifiKnobs {
    let access_point = spec.devices.iter().find(|device| matches!(device.role, Role::AccessPoint));
    let Some(device) = access_point else { return WifiKnobs::default() };
    let mut knobs = WifiKnobs::default();
    let mut other = |name: &str, value: String| knobs.other.insert(name.to_owned(), value);
    match device.driver.lower {
        Lower::Fifo { packets } => other("driver FIFO of an access category", format!("{packets} frames")),
        Lower::Firmware { packets } => other("firmware", format!("{packets} packets")),
        Lower::LossyFirmware { packets } => other("firmware", format!("{packets} packets, more is dropped")),
        Lower::Txq if device.driver.ideas.fill_ahead.is_some() => {
            other("hardware queue", "1 PPDU, 2 towards the end of the first".into())
        }
        Lower::Txq => other("hardware queue", "2 PPDUs".into()),
    };
    other("longest PPDU", device.driver.max_time.to_string());
    if let Some(bytes) = device.rts_threshold {
        other("RTS threshold", format!("{bytes} bytes"));
    }
    for (name, value) in list(&device.driver.ideas) {
        other(name, value);
    }
    if let Some(policy) = &device.policy {
        other("policy", format!("{} group(s), every {}", policy.groups.len(), policy.interval));
    }
    match &device.driver.upper {
        Upper::Qdisc(queue) if device.driver.lower.is_firmware() => {
            knobs.queueing = format!("{queue}, firmware below");
        }
        Upper::Qdisc(queue) => knobs.queueing = format!("{queue}, FIFOs below"),
        Upper::TailDrop { total, station } => {
            knobs.queueing = format!("FIFOs of {station} packets by station, {total} in all");
        }
        Upper::Mac80211(params) => {
            knobs.queueing =
                if params.airtime_fairness { "airtime fairness" } else { "FQ-MAC: stations in turn" }.into();
            knobs.fq_limit_packets = Some(params.limit);
            knobs.fq_memory_limit_bytes = Some(params.memory_limit);
            knobs.fq_quantum_bytes = Some(params.quantum);
            knobs.airtime_use_tx = Some(params.airtime_tx);
            knobs.airtime_use_rx = Some(params.airtime_rx);
            if params.aql {
                let limit = |ac: Ac| params.aql_limits(ac);
                let limits = Ac::ALL
                    .map(|ac| (category(ac), AqlLimit { low_us: limit(ac).low, high_us: limit(ac).high }));
                knobs.aql = limits.into_iter().collect();
                knobs.aql_threshold_us = u32::try_from(params.aql_threshold.0 / 1000).ok();
            }
            if params.joint_airtime {
                knobs.other.insert("airtime account".into(), "one for VO, VI and BE".into());
            }
            if params.sparse_stations {
                knobs.other.insert("sparse stations".into(), "first".into());
            }
            if params.ath9k_scheduler {
                knobs.other.insert("scheduler".into(), "ath9k's own".into());
            }
        }
    }
    knobs
}

/// An access category in the form of the record.
pub(super) fn category(ac: Ac) -> AccessCategory {
    match ac {
        Ac::Vo => AccessCategory::Voice,
        Ac::Vi => AccessCategory::Video,
        Ac::Be => AccessCategory::BestEffort,
        Ac::Bk => AccessCategory::Background,
    }
}
