//! The drivers between the queues and the air, at the access point and at stations.

use goodqueue::wifi::{self, Ac, PerAc, WifiParams};
use goodqueue::{QueueSpec, Span};
use goodqueue_sim::wifi::{
    ACCESS_POINT, ATH9K_QDEPTH, ATH10K_MSDU_DESC, Aggregation, Band, DeviceSpec, DriverSpec, EdcaParams,
    Format, Lower, PeerSpec, Protection, Role, STATION, Upper,
};
use toml::Spanned;
use toml::de::DeValue;

use super::super::links::COMPARED;
use super::super::read::{self, Read, Section, Wrong};
use super::chain::{Chain, StationSection, word};
use super::rates;
use crate::text::keys::drivers::{Does, Driver, NEWEST, OF_STATIONS};
use crate::text::keys::wifi::{EDCA, is_above, is_of};
use crate::text::keys::{Key, Kind};

/// An access point, read.
pub(super) struct AccessPoint {
    pub(super) device: DeviceSpec,
    pub(super) words: String,
    pub(super) is_compared: bool,
}

/// Airtime weight by default (Linux `IEEE80211_DEFAULT_AIRTIME_WEIGHT`).
const WEIGHT: u16 = 256;

/// The access point of `[wifi]` with the changes of a variant.
pub(super) fn access_point(
    base: &Section<'_>,
    over: Option<&Section<'_>>,
    chain: &Chain<'_>,
    band: Band,
    compared: Option<&QueueSpec>,
) -> Read<AccessPoint> {
    let driver = named(chain, "driver", NEWEST)?;
    refuse_unheard(base, over, "driver", driver.word, |key| is_of(key, driver))?;
    if !driver.is_ath9k() {
        let above = chain.plain("above", word)?;
        let (choice, value) = above.as_deref().map_or(("driver", driver.word), |above| ("above", above));
        let above = above.as_deref().unwrap_or_else(|| driver.above());
        refuse_unheard(base, over, choice, value, |key| is_above(key, above))?;
    }
    let (mut spec, words, is_compared) = match driver {
        _ if driver.has_fifos() => fifos(chain, compared)?,
        _ if driver.is_ath9k() => ath9k(chain, driver, band)?,
        _ => ath10k(chain, driver, band, compared)?,
    };
    let mut words = format!("{}: {words}", driver.word);
    let (ideas, more) = super::ideas::read(chain, driver)?;
    spec.ideas = ideas;
    words.push_str(&more);
    if let Some(frames) = chain.plain("aggregate_frames", read::count)? {
        spec.max_frames = u16::try_from(frames).unwrap_or(u16::MAX);
    }
    if let Some(time) = chain.plain("aggregate_time", read::span)? {
        spec.max_time = time;
    }
    spec.keeps_turn = driver.does(Does::KeepsTurns);
    if let Some(turns) = chain.plain("turns", word)?.filter(|_| driver.is_ath9k()) {
        spec.keeps_turn = turns == "kept";
        words.push_str(&format!(", turns {turns}"));
    }
    let mut device = DeviceSpec::access_point(spec);
    device.rts_threshold = rts_threshold(chain)?;
    device.protection = protection(chain)?;
    device.tx_sk_pacing_shift = tx_sk_pacing_shift(chain)?;
    device.edca = edca(chain)?;
    Ok(AccessPoint { device, words, is_compared })
}

/// The driver that the key `name` gives, or the default.
fn named(chain: &Chain<'_>, name: &str, default: &str) -> Read<&'static Driver> {
    let driver = chain.read(name, |key, kind, value| {
        if value.get_ref().as_str() == Some("stock") {
            let what = format!(
                "{name} = \"stock\": a driver is named with its version of Linux, this one \"ath9k-4.4\""
            );
            return Err(Wrong::new(value.span().start, what));
        }
        word(key, kind, value)
    })?;
    let (word, at) = driver.map_or((default.to_string(), chain.at()), |driver| (driver.value, driver.at));
    Driver::named(&word)
        .ok_or_else(|| Wrong::new(at, format!("{name} = \"{word}\": there is no such driver")))
}

/// Refuses keys that have no effect with this value of `choice`. A variant with a different value or driver
/// ignores keys that [wifi] has for its own.
fn refuse_unheard(
    base: &Section<'_>,
    over: Option<&Section<'_>>,
    choice: &str,
    value: &str,
    is_heard: impl Fn(&Key) -> bool,
) -> Read<()> {
    let is_base_heard = over.is_none_or(|over| over.get(choice).is_none() && over.get("driver").is_none());
    for table in over.into_iter().chain(is_base_heard.then_some(base)) {
        if let Some(key) = table.written().find(|key| !is_heard(key.value)) {
            let what = format!("`{}` has no effect with {choice} = \"{value}\"", key.value.name);
            return Err(Wrong::new(key.at, what));
        }
    }
    Ok(())
}

fn fifos(chain: &Chain<'_>, compared: Option<&QueueSpec>) -> Read<(DriverSpec, String, bool)> {
    let fifo = chain.plain("fifo", read::count)?.and_then(|frames| u32::try_from(frames).ok());
    let frames = fifo.unwrap_or(ATH9K_QDEPTH);
    let (queue, is_compared) = discipline(chain, compared)?;
    let mut spec = DriverSpec::ath9k_fifos(queue);
    spec.lower = Lower::Fifo { packets: frames };
    Ok((spec, over_fifos(&queue, frames), is_compared))
}

fn over_fifos(queue: &QueueSpec, frames: u32) -> String {
    format!("{queue} over FIFOs of {frames} frames")
}

/// The queueing discipline, and whether it is the one under comparison.
fn discipline(chain: &Chain<'_>, compared: Option<&QueueSpec>) -> Read<(QueueSpec, bool)> {
    Ok(match (chain.read("queue", queue)?, compared) {
        (None, _) => (plain(chain.at())?, false),
        (Some(given), None) if given.value.is_none() => {
            return Err(Wrong::new(
                given.at,
                "$queue is used here, and no queues are compared: give `queues`",
            ));
        }
        (Some(given), compared) => {
            (given.value.or(compared.copied()).map_or_else(|| plain(given.at), Ok)?, given.value.is_none())
        }
    })
}

fn plain(at: usize) -> Read<QueueSpec> {
    "pfifo:1000".parse().map_err(|error: goodqueue::SpecError| Wrong::new(at, error.to_string()))
}

/// A queue; `None`: the one under comparison.
fn queue(key: &Key, kind: Kind, value: &Spanned<DeValue<'_>>) -> Read<Option<QueueSpec>> {
    if value.get_ref().as_str() == Some(COMPARED) {
        return Ok(None);
    }
    read::queue(key, kind, value).map(Some)
}

/// mac80211's queues in a driver.
fn queues(driver: &Driver) -> WifiParams {
    let mut params = if driver.is_ath9k() { WifiParams::without_vht() } else { WifiParams::default() };
    let is_fair = driver.does(Does::Airtime);
    (params.airtime_fairness, params.airtime_tx, params.airtime_rx) = (is_fair, is_fair, is_fair);
    params.ath9k_scheduler = driver.does(Does::OwnScheduler);
    params.sparse_stations = driver.does(Does::SparseFirst);
    params.aql = driver.does(Does::Aql);
    params
}

/// mac80211's queues, and their behaviour as text.
fn mac80211(chain: &Chain<'_>, driver: &Driver, band: Band) -> Read<(WifiParams, String)> {
    let mut params = queues(driver);
    params.band = if band == Band::Ghz5 { wifi::Band::Ghz5 } else { wifi::Band::Ghz2 };
    if let Some(limit) = chain.plain("limit", word)? {
        params.aql = limit == "aql";
    }
    airtime(chain, &mut params)?;
    params.limit = small(chain, "txq_limit")?.unwrap_or(params.limit);
    params.quantum = small(chain, "quantum")?.unwrap_or(params.quantum);
    if let Some(memory) = chain.read("memory", read::bytes)? {
        let wrong =
            |_| Wrong::new(memory.at, format!("memory = {}: the maximum is {}", memory.value, u32::MAX));
        params.memory_limit = u32::try_from(memory.value).map_err(wrong)?;
    }
    params.target = chain.plain("target", read::span)?.unwrap_or(params.target);
    params.interval = chain.plain("interval", read::span)?.unwrap_or(params.interval);
    let limit = |name| -> Read<Option<PerAc>> {
        let time = chain.plain(name, read::span)?;
        Ok(time.map(|time| PerAc([u32::try_from(time.0 / 1000).unwrap_or(u32::MAX); 4])))
    };
    params.aql_limit_low = limit("aql_low")?.unwrap_or(params.aql_limit_low);
    params.aql_limit_high = limit("aql_high")?.unwrap_or(params.aql_limit_high);
    params.aql_threshold = chain.plain("aql_threshold", read::span)?.unwrap_or(params.aql_threshold);
    params.joint_airtime = chain.plain("joint_airtime", read::switch)?.unwrap_or(false);
    let turns = if params.airtime_fairness { "airtime fairness" } else { "stations in turn" };
    let mut words = turns.to_string();
    if params.sparse_stations {
        words.push_str(", sparse stations first");
    }
    if params.joint_airtime {
        words.push_str(", one account of airtime");
    }
    if params.aql {
        words.push_str(", AQL");
    }
    Ok((params, words))
}

fn small(chain: &Chain<'_>, name: &str) -> Read<Option<u32>> {
    let number = chain.plain(name, read::count)?;
    Ok(number.map(|number| u32::try_from(number).unwrap_or(u32::MAX)))
}

fn ath9k(chain: &Chain<'_>, driver: &Driver, band: Band) -> Read<(DriverSpec, String, bool)> {
    let (params, words) = mac80211(chain, driver, band)?;
    let spec = DriverSpec { upper: Upper::Mac80211(params), ..DriverSpec::ath9k() };
    Ok((spec, words, false))
}

/// Packets of all stations, and of a station's TID, if the queues are FIFOs (Kazior, 2016:
/// `TOTAL_MAX_TX_BUFFER`, `STA_MAX_TX_BUFFER`).
const FIFOS: (u32, u32) = (512, 64);
/// Practically never: `CoDel` is off.
const NEVER: Span = Span::from_secs(2000);

fn ath10k(
    chain: &Chain<'_>,
    driver: &Driver,
    band: Band,
    compared: Option<&QueueSpec>,
) -> Read<(DriverSpec, String, bool)> {
    let (params, words) = mac80211(chain, driver, band)?;
    let above = chain.plain("above", word)?;
    let above = above.as_deref().unwrap_or_else(|| driver.above());
    if let Some(queue) = chain.read("queue", queue)?.filter(|_| above != "qdisc") {
        let what = "`queue` has no effect without above = \"qdisc\"";
        return Err(Wrong::new(queue.at, what));
    }
    let (upper, words, is_compared) = match above {
        "qdisc" => {
            let (queue, is_compared) = discipline(chain, compared)?;
            (Upper::Qdisc(queue), queue.to_string(), is_compared)
        }
        "fifo" => {
            let (total, station) = FIFOS;
            let words = format!("FIFOs of {station} packets by station, {total} in all");
            (Upper::TailDrop { total, station }, words, false)
        }
        "fq" => {
            let params = WifiParams { target: NEVER, interval: NEVER, ..params };
            (Upper::Mac80211(params), format!("{words}, no CoDel"), false)
        }
        _ => (Upper::Mac80211(params), words, false),
    };
    let mut spec = DriverSpec { upper, ..DriverSpec::ath10k() };
    let packets = small(chain, "firmware")?.unwrap_or(ATH10K_MSDU_DESC);
    let drops = chain.plain("firmware_full", word)?.is_some_and(|word| word == "drops");
    spec.lower = if drops { Lower::LossyFirmware { packets } } else { Lower::Firmware { packets } };
    let when_full = if drops { ", more is dropped" } else { "" };
    let mut words = format!("{words}, {packets} packets in firmware{when_full}");
    spec.htt.station = small(chain, "firmware_station")?.filter(|_| above != "qdisc");
    if let Some(most) = spec.htt.station {
        words.push_str(&format!(", {most} of a station"));
    }
    spec.htt.completions = small(chain, "completions")?.unwrap_or(spec.htt.completions);
    if spec.htt.completions > 1 {
        words.push_str(&format!(", completions in batches of {}", spec.htt.completions));
    }
    Ok((spec, words, is_compared))
}

/// Whether stations share airtime, and which airtime counts. Otherwise no airtime counts, and a queue goes to
/// the end of the waiting ones, as in Linux after mac80211's queues (FQ-MAC) and before its airtime
/// scheduler.
fn airtime(chain: &Chain<'_>, params: &mut WifiParams) -> Read<()> {
    let is_fair = chain.plain("airtime", read::switch)?.unwrap_or(params.airtime_fairness);
    let flags = chain.read("airtime_flags", read::list(read::text))?;
    params.airtime_fairness = is_fair;
    (params.airtime_tx, params.airtime_rx) = (is_fair, is_fair);
    if let Some(flags) = flags.filter(|_| is_fair) {
        (params.airtime_tx, params.airtime_rx) = (false, false);
        for flag in flags.value {
            match flag.value.as_str() {
                "tx" => params.airtime_tx = true,
                "rx" => params.airtime_rx = true,
                other => {
                    let what = format!("airtime_flags: \"{}\": use tx or rx", other.escape_debug());
                    return Err(Wrong::new(flag.at, what));
                }
            }
        }
    }
    params.sparse_stations =
        is_fair && chain.plain("sparse", read::switch)?.unwrap_or(params.sparse_stations);
    params.ath9k_scheduler &= is_fair;
    Ok(())
}

fn rts_threshold(chain: &Chain<'_>) -> Read<Option<u32>> {
    let bytes = |key: &Key, kind: Kind, value: &Spanned<DeValue<'_>>| match value.get_ref().as_str() {
        Some("off") => Ok(None),
        _ => read::bytes(key, kind, value).map(Some),
    };
    Ok(chain.plain("rts", bytes)?.flatten().map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX)))
}

fn protection(chain: &Chain<'_>) -> Read<Protection> {
    Ok(match chain.plain("protection", word)?.as_deref() {
        Some("retries") => Protection::Retries,
        Some("cts") => Protection::CtsToSelf,
        _ => Protection::Fallbacks,
    })
}

fn tx_sk_pacing_shift(chain: &Chain<'_>) -> Read<Option<u32>> {
    let given = chain.plain("tx_sk_pacing_shift", read::count)?;
    Ok(given.map(|shift| u32::try_from(shift).unwrap_or(u32::MAX)))
}

fn edca(chain: &Chain<'_>) -> Read<[EdcaParams; 4]> {
    let mut all = ACCESS_POINT;
    let Some(section) = chain.first_with(&["edca"]) else { return Ok(all) };
    for table in section.sections("edca", &EDCA)? {
        let name = table.read("ac", word)?;
        let name = table.required("ac", name)?.value;
        let Some(ac) = Ac::ALL.into_iter().find(|ac| ac.name() == name) else { continue };
        let params = &mut all[ac.index()];
        let slots = |name, old: u16| -> Read<u16> {
            let given = table.plain(name, read::count)?;
            Ok(given.map_or(old, |slots| u16::try_from(slots).unwrap_or(u16::MAX)))
        };
        params.aifsn = u8::try_from(slots("aifsn", params.aifsn.into())?).unwrap_or(15);
        (params.cw_min, params.cw_max) = (slots("cw_min", params.cw_min)?, slots("cw_max", params.cw_max)?);
        params.txop = table.plain("txop", read::span)?.unwrap_or(params.txop);
        if params.cw_min > params.cw_max {
            let what = format!("cw_min of {} slots is above cw_max of {}", params.cw_min, params.cw_max);
            return Err(Wrong::new(table.at, what));
        }
    }
    Ok(all)
}

/// The driver of stations; its queueing discipline is `queue` if it has one.
fn of_station(driver: &Driver, queue: QueueSpec) -> DriverSpec {
    let upper = if driver.does(Does::Qdisc) { Upper::Qdisc(queue) } else { Upper::Mac80211(queues(driver)) };
    let keeps_turn = driver.does(Does::KeepsTurns);
    match driver {
        _ if driver.has_fifos() => DriverSpec::ath9k_fifos(queue),
        _ if driver.is_ath9k() => DriverSpec { upper, keeps_turn, ..DriverSpec::ath9k() },
        _ => DriverSpec { upper, ..DriverSpec::ath10k() },
    }
}

/// The driver of stations and its queues as text.
pub(super) fn station_words(network: &Chain<'_>) -> Read<String> {
    let driver = named(network, "station_driver", OF_STATIONS)?;
    let queue = network.read("station_queue", read::queue)?;
    let queue = queue.map_or_else(|| plain(network.at()), |queue| Ok(queue.value))?;
    Ok(match driver {
        _ if driver.has_fifos() => format!("{}: {}", driver.word, over_fifos(&queue, ATH9K_QDEPTH)),
        _ if driver.does(Does::Qdisc) => format!("{}: {queue}", driver.word),
        _ => driver.word.into(),
    })
}

/// A station, and its rate as text.
pub(super) fn station(section: &StationSection<'_>, network: &Chain<'_>) -> Read<(DeviceSpec, String)> {
    let chain = &section.chain;
    let (rate, mut words) = rates::down(chain)?;
    let errors = rates::errors(chain, network)?;
    let mut aggregation = match rates::format(&rate) {
        Format::He => Aggregation::HE,
        Format::Vht => Aggregation::VHT,
        _ => Aggregation::HT,
    };
    if let Some(bytes) = network.plain("aggregate_bytes", read::bytes)? {
        aggregation.bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    }
    let down = PeerSpec { rate, errors, aggregation };
    let up = match chain.read("uplink", read::text)? {
        Some(text) => {
            let (rate, up_words) = rates::one(chain, &text)?;
            words.push_str(&format!(", back {up_words}"));
            PeerSpec { rate, ..down.clone() }
        }
        None => down.clone(),
    };
    let queue = network.read("station_queue", read::queue)?;
    let queue = queue.map_or_else(|| plain(chain.at()), |queue| Ok(queue.value))?;
    let driver = of_station(named(network, "station_driver", OF_STATIONS)?, queue);
    let weight = chain.plain("weight", read::count)?.and_then(|weight| u16::try_from(weight).ok());
    let role = Role::Station { access_point: 0, down, up, weight: weight.unwrap_or(WEIGHT) };
    let rts_threshold = rts_threshold(network)?;
    let tx_sk_pacing_shift = tx_sk_pacing_shift(network)?;
    let protection = protection(network)?;
    let device = DeviceSpec {
        role,
        edca: STATION,
        driver,
        rts_threshold,
        protection,
        policy: None,
        tx_sk_pacing_shift,
    };
    Ok((device, words))
}
