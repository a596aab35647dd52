//! Requests to the kernel's wireless part, and its answers (`linux/nl80211.h`).
//!
//! The crate `netlink-packet-generic` provides the frame of a message. The attributes are decoded here: the
//! crate `wl-nl80211` 0.8 has no airtime weight, drops the number of each TID, and hides its queue.

use std::fmt;

use goodqueue_wire::netlink::Generic;
use netlink_packet_core::{DecodeError, DefaultNla, Emitable, NlasIterator, ParseableParametrized};
use netlink_packet_generic::{GenlFamily, GenlHeader};
use serde::Serialize;

use super::Weight;
use crate::{Error, Result};

/// Numbers of `linux/nl80211.h`.
mod number {
    pub(super) const GET_WIPHY: u8 = 1;
    pub(super) const GET_INTERFACE: u8 = 5;
    pub(super) const GET_STATION: u8 = 17;
    pub(super) const SET_STATION: u8 = 18;

    pub(super) const WIPHY: u16 = 1;
    pub(super) const WIPHY_NAME: u16 = 2;
    pub(super) const IFINDEX: u16 = 3;
    pub(super) const IFNAME: u16 = 4;
    pub(super) const IFTYPE: u16 = 5;
    pub(super) const MAC: u16 = 6;
    pub(super) const STA_INFO: u16 = 21;
    pub(super) const SSID: u16 = 52;
    pub(super) const SPLIT_WIPHY_DUMP: u16 = 174;
    pub(super) const EXT_FEATURES: u16 = 217;
    pub(super) const TXQ_STATS: u16 = 265;
    pub(super) const TXQ_LIMIT: u16 = 266;
    pub(super) const TXQ_MEMORY_LIMIT: u16 = 267;
    pub(super) const TXQ_QUANTUM: u16 = 268;
    pub(super) const AIRTIME_WEIGHT: u16 = 274;

    pub(super) const FEATURE_TXQS: usize = 28;
    pub(super) const FEATURE_AIRTIME_FAIRNESS: usize = 33;
    pub(super) const FEATURE_AQL: usize = 40;

    pub(super) const IFTYPE_AP: u32 = 3;
    pub(super) const IFTYPE_AP_VLAN: u32 = 4;
}

/// An attribute: its number and its value.
type Attribute = (u16, Vec<u8>);

/// A message: a command and its attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    command: u8,
    attributes: Vec<Attribute>,
}

impl GenlFamily for Message {
    fn family_name() -> &'static str {
        "nl80211"
    }

    fn command(&self) -> u8 {
        self.command
    }

    fn version(&self) -> u8 {
        1
    }
}

impl Message {
    fn encoded(&self) -> Vec<DefaultNla> {
        self.attributes.iter().map(|(kind, value)| DefaultNla::new(*kind, value.clone())).collect()
    }
}

impl Emitable for Message {
    fn buffer_len(&self) -> usize {
        self.encoded().as_slice().buffer_len()
    }

    fn emit(&self, buffer: &mut [u8]) {
        self.encoded().as_slice().emit(buffer);
    }
}

impl ParseableParametrized<[u8], GenlHeader> for Message {
    fn parse_with_param(buffer: &[u8], header: GenlHeader) -> std::result::Result<Message, DecodeError> {
        Ok(Message { command: header.cmd, attributes: attributes(buffer) })
    }
}

/// The attributes in `bytes`. They end at the first that is too short.
fn attributes(bytes: &[u8]) -> Vec<Attribute> {
    let whole = NlasIterator::new(bytes).map_while(|nla| nla.ok());
    whole.map(|nla| (nla.kind(), nla.value().to_vec())).collect()
}

/// An unsigned number of 1, 2, 4 or 8 bytes; `None` for other lengths.
fn unsigned(value: &[u8]) -> Option<u64> {
    Some(match *value {
        [byte] => byte.into(),
        [a, b] => u16::from_ne_bytes([a, b]).into(),
        [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]).into(),
        _ => u64::from_ne_bytes(value.try_into().ok()?),
    })
}

fn small(value: &[u8]) -> Option<u32> {
    unsigned(value).and_then(|number| u32::try_from(number).ok())
}

fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value.strip_suffix(&[0]).unwrap_or(value)).into_owned()
}

/// The address of a station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mac(pub [u8; 6]);

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl Serialize for Mac {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A wireless interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Interface {
    /// Its number.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Number of its radio.
    pub radio: u32,
    /// Whether stations join it: an access point, or a VLAN of one.
    pub is_access_point: bool,
    /// The name of its network.
    pub ssid: Option<String>,
}

impl Interface {
    fn of(message: &Message) -> Option<Interface> {
        let (mut index, mut name, mut radio, mut kind, mut ssid) = (None, None, None, None, None);
        for (attribute, value) in &message.attributes {
            match *attribute {
                number::IFINDEX => index = small(value),
                number::IFNAME => name = Some(text(value)),
                number::WIPHY => radio = small(value),
                number::IFTYPE => kind = small(value),
                number::SSID => ssid = Some(text(value)),
                _ => {}
            }
        }
        let is_access_point = matches!(kind, Some(number::IFTYPE_AP | number::IFTYPE_AP_VLAN));
        Some(Interface { index: index?, name: name?, radio: radio?, is_access_point, ssid })
    }
}

/// The features of a radio's driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Features {
    /// It schedules stations by airtime, and takes weights (`NL80211_EXT_FEATURE_AIRTIME_FAIRNESS`).
    pub airtime_fairness: bool,
    /// It limits the airtime that waits in the hardware (`NL80211_EXT_FEATURE_AQL`).
    pub aql: bool,
    /// It reports what waits in mac80211's queues (`NL80211_EXT_FEATURE_TXQS`).
    pub txqs: bool,
}

impl Features {
    fn of(bits: &[u8]) -> Features {
        let has = |feature: usize| bits.get(feature / 8).is_some_and(|byte| byte >> (feature % 8) & 1 == 1);
        Features {
            airtime_fairness: has(number::FEATURE_AIRTIME_FAIRNESS),
            aql: has(number::FEATURE_AQL),
            txqs: has(number::FEATURE_TXQS),
        }
    }
}

/// A radio (`wiphy`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Radio {
    /// Its number.
    pub index: u32,
    /// Its name, as `iw` shows it: `phy0`.
    pub name: String,
    /// The features of its driver.
    pub features: Features,
    /// All its queues together.
    pub queues: Option<Txq>,
    /// Packets that may wait in all its queues.
    pub limit_packets: Option<u32>,
    /// Bytes of memory that they may take.
    pub limit_bytes: Option<u32>,
    /// Bytes that a flow sends in a turn.
    pub quantum: Option<u32>,
}

impl Radio {
    /// Takes over what one of several messages says about it.
    fn read(&mut self, values: &[Attribute]) {
        for (attribute, value) in values {
            match *attribute {
                number::WIPHY_NAME => self.name = text(value),
                number::EXT_FEATURES => self.features = Features::of(value),
                number::TXQ_STATS => self.queues = Some(Txq::of(value)),
                number::TXQ_LIMIT => self.limit_packets = small(value),
                number::TXQ_MEMORY_LIMIT => self.limit_bytes = small(value),
                number::TXQ_QUANTUM => self.quantum = small(value),
                _ => {}
            }
        }
    }
}

/// Queues of mac80211 under FQ-CoDel (`enum nl80211_txq_stats`). Counters have 32 bits and wrap around.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Txq {
    /// Bytes that wait.
    pub backlog_bytes: u32,
    /// Packets that wait.
    pub backlog_packets: u32,
    /// New flows since the start.
    pub flows: u32,
    /// Packets dropped by CoDel.
    pub drops: u32,
    /// Packets marked with CE.
    pub ecn_marks: u32,
    /// Packets dropped because too many waited.
    pub overlimit: u32,
    /// Packets dropped because they took too much memory.
    pub overmemory: u32,
    /// Flows that shared a queue.
    pub collisions: u32,
    /// Bytes sent.
    pub tx_bytes: u32,
    /// Packets sent.
    pub tx_packets: u32,
    /// Queues for flows.
    pub max_flows: u32,
}

impl Txq {
    fn of(bytes: &[u8]) -> Txq {
        let mut txq = Txq::default();
        for (attribute, value) in attributes(bytes) {
            let field = match attribute {
                1 => &mut txq.backlog_bytes,
                2 => &mut txq.backlog_packets,
                3 => &mut txq.flows,
                4 => &mut txq.drops,
                5 => &mut txq.ecn_marks,
                6 => &mut txq.overlimit,
                7 => &mut txq.overmemory,
                8 => &mut txq.collisions,
                9 => &mut txq.tx_bytes,
                10 => &mut txq.tx_packets,
                11 => &mut txq.max_flows,
                _ => continue,
            };
            *field = small(&value).unwrap_or(0);
        }
        txq
    }
}

/// What a station sent and received under one TID (`enum nl80211_tid_stats`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tid {
    /// Its number; 16 is for frames without QoS.
    pub tid: u8,
    /// MSDUs from the station.
    pub rx_msdu: u64,
    /// MSDUs to the station.
    pub tx_msdu: u64,
    /// Further attempts to send them.
    pub retries: u64,
    /// MSDUs that did not arrive.
    pub failed: u64,
    /// Its queue; `None` if the driver has none of mac80211's.
    pub queue: Option<Txq>,
}

impl Tid {
    fn of(tid: u8, bytes: &[u8]) -> Tid {
        let mut read = Tid { tid, ..Tid::default() };
        for (attribute, value) in attributes(bytes) {
            let number = unsigned(&value).unwrap_or(0);
            match attribute {
                1 => read.rx_msdu = number,
                2 => read.tx_msdu = number,
                3 => read.retries = number,
                4 => read.failed = number,
                6 => read.queue = Some(Txq::of(&value)),
                _ => {}
            }
        }
        read
    }
}

/// A station, as the access point counts it since it joined (`enum nl80211_sta_info`): `tx` is to the
/// station, `rx` from it. What the driver does not report is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Station {
    /// Its address; zeros for a simulated station, which has a name.
    pub mac: Mac,
    /// Its name, if it is simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Seconds since it joined.
    pub connected_s: Option<u64>,
    /// Milliseconds since its last frame.
    pub inactive_ms: Option<u64>,
    /// Signal of its last frame, dBm.
    pub signal_dbm: Option<i8>,
    /// Rate of the last frame to it, bit/s.
    pub tx_rate_bps: Option<u64>,
    /// Rate of its last frame, bit/s.
    pub rx_rate_bps: Option<u64>,
    /// Throughput to it that rate control expects, bit/s.
    pub expected_bps: Option<u64>,
    /// Bytes to it.
    pub tx_bytes: u64,
    /// Bytes from it.
    pub rx_bytes: u64,
    /// Packets to it.
    pub tx_packets: u64,
    /// Packets from it.
    pub rx_packets: u64,
    /// Further attempts to send a frame to it.
    pub tx_retries: u64,
    /// Frames to it that did not arrive.
    pub tx_failed: u64,
    /// Air that frames to it took, us.
    pub tx_airtime_us: Option<u64>,
    /// Air that its frames took, us.
    pub rx_airtime_us: Option<u64>,
    /// Its airtime weight.
    pub weight: Option<u16>,
    /// Its TIDs.
    pub tids: Vec<Tid>,
}

impl Station {
    /// Its name, otherwise its address.
    #[must_use]
    pub fn label(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.mac.to_string())
    }

    fn of(message: &Message) -> Option<Station> {
        let find = |kind| {
            message.attributes.iter().find(|(attribute, _)| *attribute == kind).map(|(_, value)| value)
        };
        let mac = Mac(find(number::MAC)?.as_slice().try_into().ok()?);
        Some(Station::read(mac, find(number::STA_INFO)?))
    }

    fn read(mac: Mac, info: &[u8]) -> Station {
        let mut station = Station { mac, ..Station::default() };
        let (mut wide_rx, mut wide_tx) = (false, false);
        for (attribute, value) in attributes(info) {
            let read = unsigned(&value);
            let count = read.unwrap_or(0);
            match attribute {
                1 => station.inactive_ms = read,
                // The newer byte counters have 64 bits.
                2 if !wide_rx => station.rx_bytes = count,
                3 if !wide_tx => station.tx_bytes = count,
                23 => (station.rx_bytes, wide_rx) = (count, true),
                24 => (station.tx_bytes, wide_tx) = (count, true),
                7 => station.signal_dbm = value.first().map(|byte| byte.cast_signed()),
                8 => station.tx_rate_bps = rate(&value),
                14 => station.rx_rate_bps = rate(&value),
                9 => station.rx_packets = count,
                10 => station.tx_packets = count,
                11 => station.tx_retries = count,
                12 => station.tx_failed = count,
                16 => station.connected_s = read,
                27 => station.expected_bps = read.map(|kbps| kbps.saturating_mul(1000)),
                31 => station.tids = tids(&value),
                32 => station.rx_airtime_us = read,
                39 => station.tx_airtime_us = read,
                40 => station.weight = read.and_then(|weight| u16::try_from(weight).ok()),
                _ => {}
            }
        }
        station
    }

    /// Packets that wait for it in mac80211's queues; `None` if the driver has none of them.
    #[must_use]
    pub fn backlog_packets(&self) -> Option<u64> {
        self.sum(|queue| queue.backlog_packets)
    }

    /// Packets for it that CoDel dropped, or that found no room; `None` as above.
    #[must_use]
    pub fn drops(&self) -> Option<u64> {
        self.sum(|queue| queue.drops.saturating_add(queue.overlimit))
    }

    /// Packets for it that were marked with CE; `None` as above.
    #[must_use]
    pub fn marks(&self) -> Option<u64> {
        self.sum(|queue| queue.ecn_marks)
    }

    /// The sum of a counter over its queues.
    fn sum(&self, of: impl Fn(&Txq) -> u32) -> Option<u64> {
        let queues = self.tids.iter().filter_map(|tid| tid.queue.as_ref());
        queues.map(|queue| u64::from(of(queue))).reduce(|sum, more| sum + more)
    }
}

/// The bit rate of `enum nl80211_rate_info`, bit/s. The kernel counts 100 kbit/s.
fn rate(bytes: &[u8]) -> Option<u64> {
    let all = attributes(bytes);
    let find = |kind| all.iter().find(|(attribute, _)| *attribute == kind);
    // Above 6.5 Gbit/s there is only the 32-bit value.
    let (_, value) = find(5).or_else(|| find(1))?;
    unsigned(value).map(|rate| rate.saturating_mul(100_000))
}

/// The TIDs in the order of their numbers; an attribute's number is one more.
fn tids(bytes: &[u8]) -> Vec<Tid> {
    let tid = |(attribute, value): Attribute| {
        let number = u8::try_from(attribute.checked_sub(1)?).ok().filter(|number| *number <= 16)?;
        Some(Tid::of(number, &value))
    };
    attributes(bytes).into_iter().filter_map(tid).collect()
}

/// Decodes a station from the attributes of a message, as the kernel would send them; for fuzzing.
#[doc(hidden)]
#[must_use]
pub fn station_of(bytes: &[u8]) -> Option<Station> {
    let header = GenlHeader { cmd: number::GET_STATION, version: 1 };
    Station::of(&Message::parse_with_param(bytes, header).ok()?)
}

/// The station is not there (`errno(3)`).
const ENOENT: i32 = 2;
/// The interface is not there.
const ENODEV: i32 = 19;

/// A connection to nl80211.
pub struct Wireless(Generic);

/// What to do without nl80211.
const CURE: &str = "this kernel has no Wi-Fi; load the module of a Wi-Fi card, and cfg80211 with it";

impl Wireless {
    /// Opens one in the network namespace of this thread.
    ///
    /// # Errors
    /// `Missing` in a kernel without Wi-Fi.
    pub fn open() -> Result<Wireless> {
        let open = Generic::open::<Message>(CURE);
        open.map(Wireless).map_err(|error| match error {
            goodqueue_wire::Error::Missing { right, cure } => Error::Missing { what: right, cure },
            other => other.into(),
        })
    }

    /// All wireless interfaces.
    ///
    /// # Errors
    /// `System` if the kernel does not answer.
    pub fn interfaces(&mut self) -> Result<Vec<Interface>> {
        let all = Message { command: number::GET_INTERFACE, attributes: Vec::new() };
        let answers = self.0.dump(all, "NL80211_CMD_GET_INTERFACE", "")?;
        let mut interfaces: Vec<Interface> = answers.iter().filter_map(Interface::of).collect();
        interfaces.sort_by_key(|interface| (interface.radio, interface.index));
        Ok(interfaces)
    }

    /// All radios, by their numbers.
    ///
    /// # Errors
    /// `System` if the kernel does not answer.
    pub fn radios(&mut self) -> Result<Vec<Radio>> {
        // Without this, a message would have no room for the newer attributes.
        let split = (number::SPLIT_WIPHY_DUMP, Vec::new());
        let all = Message { command: number::GET_WIPHY, attributes: vec![split] };
        let answers = self.0.dump(all, "NL80211_CMD_GET_WIPHY", "")?;
        Ok(radios(&answers))
    }

    /// The stations of an interface; none if it is gone.
    ///
    /// # Errors
    /// `System` if the kernel does not answer.
    pub fn stations(&mut self, interface: &Interface) -> Result<Vec<Station>> {
        let index = (number::IFINDEX, interface.index.to_ne_bytes().to_vec());
        let all = Message { command: number::GET_STATION, attributes: vec![index] };
        match self.0.dump(all, "NL80211_CMD_GET_STATION", &interface.name) {
            Ok(answers) => Ok(answers.iter().filter_map(Station::of).collect()),
            Err(error) if error.errno() == Some(ENODEV) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// Sets a station's weight. A station that has left is no error: its weight is gone with it.
    ///
    /// # Errors
    /// `Missing` if the driver takes no weights, or without CAP_NET_ADMIN; `Kernel` for other refusals.
    pub(super) fn set_weight(&mut self, weight: &Weight) -> Result<()> {
        const EOPNOTSUPP: i32 = 95;
        let object = weight.mac.to_string();
        let Err(source) = self.0.request(weight.message(), "NL80211_CMD_SET_STATION", &object) else {
            return Ok(());
        };
        match source.errno() {
            Some(ENOENT | ENODEV) => Ok(()),
            Some(EOPNOTSUPP) => Err(super::no_fairness(&weight.interface)),
            _ => Err(Error::Kernel { command: weight.to_string(), source }.or_right()),
        }
    }
}

/// The radios that several messages together describe.
fn radios(answers: &[Message]) -> Vec<Radio> {
    let mut radios: Vec<Radio> = Vec::new();
    for message in answers {
        let values = &message.attributes;
        let index = values.iter().find(|(attribute, _)| *attribute == number::WIPHY);
        let Some(index) = index.and_then(|(_, value)| small(value)) else { continue };
        let place = radios.iter().position(|radio| radio.index == index).unwrap_or_else(|| {
            radios.push(Radio { index, ..Radio::default() });
            radios.len() - 1
        });
        radios[place].read(values);
    }
    radios.sort_by_key(|radio| radio.index);
    radios
}

impl Weight {
    fn message(&self) -> Message {
        let attributes = vec![
            (number::IFINDEX, self.index.to_ne_bytes().to_vec()),
            (number::MAC, self.mac.0.to_vec()),
            (number::AIRTIME_WEIGHT, self.weight.to_ne_bytes().to_vec()),
        ];
        Message { command: number::SET_STATION, attributes }
    }
}

#[cfg(test)]
#[cfg(target_endian = "little")]
mod tests {
    use netlink_packet_generic::GenlMessage;

    use super::*;

    /// An attribute with its header and padding.
    fn nla(kind: u16, value: &[u8]) -> Vec<u8> {
        let length = u16::try_from(4 + value.len()).expect("short");
        let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
        bytes.extend_from_slice(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn nested(kind: u16, inner: &[Vec<u8>]) -> Vec<u8> {
        nla(kind | 0x8000, &inner.concat())
    }

    fn emitted(message: Message) -> Vec<u8> {
        let message = GenlMessage::from_payload(message);
        let mut bytes = vec![0; message.buffer_len()];
        message.emit(&mut bytes);
        bytes
    }

    fn message(attributes: &[Vec<u8>]) -> Message {
        let header = GenlHeader { cmd: 0, version: 1 };
        Message::parse_with_param(&attributes.concat(), header).expect("attributes")
    }

    #[test]
    fn a_weight_is_these_bytes() {
        let mac = Mac([0x02, 0, 0, 0, 0x11, 0xfe]);
        let weight = Weight { interface: "wlan0".into(), index: 0x0102, mac, weight: 0x0304 };
        let expected: [&[u8]; 4] = [
            // struct genlmsghdr: NL80211_CMD_SET_STATION, version 1.
            &[18, 1, 0, 0],
            // NL80211_ATTR_IFINDEX: 258.
            &[8, 0, 3, 0, 0x02, 0x01, 0, 0],
            // NL80211_ATTR_MAC.
            &[10, 0, 6, 0, 0x02, 0, 0, 0, 0x11, 0xfe, 0, 0],
            // NL80211_ATTR_AIRTIME_WEIGHT (274): 772.
            &[6, 0, 0x12, 0x01, 0x04, 0x03, 0, 0],
        ];
        assert_eq!(emitted(weight.message()), expected.concat());
        assert_eq!(weight.to_string(), "iw dev wlan0 station set 02:00:00:00:11:fe airtime_weight 772");
    }

    #[test]
    fn a_station_is_read_with_its_queues() {
        let queue = nested(
            6,
            &(1..=11).map(|kind| nla(kind, &(100 + u32::from(kind)).to_ne_bytes())).collect::<Vec<_>>(),
        );
        let tid =
            [nla(1, &7u64.to_ne_bytes()), nla(2, &8u64.to_ne_bytes()), nla(3, &9u64.to_ne_bytes()), queue];
        let info = [
            nla(1, &20u32.to_ne_bytes()),
            nla(24, &(5u64 << 32).to_ne_bytes()),
            nla(2, &11u32.to_ne_bytes()),
            nla(3, &12u32.to_ne_bytes()),
            nla(7, &[(-47i8).cast_unsigned()]),
            nested(8, &[nla(1, &1444u16.to_ne_bytes()), nla(5, &14_440u32.to_ne_bytes()), nla(2, &[7])]),
            nested(14, &[nla(1, &60u16.to_ne_bytes())]),
            nla(10, &13u32.to_ne_bytes()),
            nla(11, &14u32.to_ne_bytes()),
            nla(12, &15u32.to_ne_bytes()),
            nla(16, &16u32.to_ne_bytes()),
            nla(27, &17u32.to_ne_bytes()),
            nested(31, &[nested(1, &tid), nested(17, &[nla(1, &3u64.to_ne_bytes())])]),
            nla(32, &18u64.to_ne_bytes()),
            nla(39, &19u64.to_ne_bytes()),
            nla(40, &256u16.to_ne_bytes()),
            nla(999, &[1, 2, 3]),
        ];
        let mac = nla(number::MAC, &[2, 0, 0, 0, 1, 0]);
        let station = Station::of(&message(&[mac, nested(number::STA_INFO, &info)])).expect("a station");
        let txq = Txq {
            backlog_bytes: 101,
            backlog_packets: 102,
            flows: 103,
            drops: 104,
            ecn_marks: 105,
            overlimit: 106,
            overmemory: 107,
            collisions: 108,
            tx_bytes: 109,
            tx_packets: 110,
            max_flows: 111,
        };
        let expected = Station {
            mac: Mac([2, 0, 0, 0, 1, 0]),
            name: None,
            connected_s: Some(16),
            inactive_ms: Some(20),
            signal_dbm: Some(-47),
            tx_rate_bps: Some(1_444_000_000),
            rx_rate_bps: Some(6_000_000),
            expected_bps: Some(17_000),
            tx_bytes: 5 << 32,
            rx_bytes: 11,
            tx_packets: 13,
            rx_packets: 0,
            tx_retries: 14,
            tx_failed: 15,
            tx_airtime_us: Some(19),
            rx_airtime_us: Some(18),
            weight: Some(256),
            tids: vec![
                Tid { tid: 0, rx_msdu: 7, tx_msdu: 8, retries: 9, failed: 0, queue: Some(txq) },
                Tid { tid: 16, rx_msdu: 3, ..Tid::default() },
            ],
        };
        assert_eq!(station, expected);
        let counts = (station.backlog_packets(), station.drops(), station.marks());
        assert_eq!(counts, (Some(102), Some(104 + 106), Some(105)));
    }

    #[test]
    fn a_radio_comes_in_several_messages() {
        let index = |number: u32| nla(number::WIPHY, &number.to_ne_bytes());
        // Bits 28 (TXQS), 33 (AIRTIME_FAIRNESS) and 40 (AQL).
        let features = nla(number::EXT_FEATURES, &[0, 0, 0, 0x10, 0x02, 0x01]);
        let answers = [
            message(&[index(1), nla(number::WIPHY_NAME, b"phy1\0")]),
            message(&[index(0), nla(number::WIPHY_NAME, b"phy0\0")]),
            message(&[index(0), features, nla(number::TXQ_LIMIT, &8192u32.to_ne_bytes())]),
            message(&[nla(number::WIPHY_NAME, b"nothing\0")]),
        ];
        let found = radios(&answers);
        let all = Features { airtime_fairness: true, aql: true, txqs: true };
        assert_eq!(found.len(), 2);
        assert_eq!((&*found[0].name, found[0].features, found[0].limit_packets), ("phy0", all, Some(8192)));
        assert_eq!((&*found[1].name, found[1].features), ("phy1", Features::default()));
        assert_eq!(Features::of(&[0xff, 0xff, 0xff, 0xef, 0xfd, 0xfe]), Features::default());
        assert_eq!(Features::of(&[]), Features::default());
    }

    #[test]
    fn interfaces_say_whether_stations_join_them() {
        let interface = |kind: u32| {
            Interface::of(&message(&[
                nla(number::IFINDEX, &4u32.to_ne_bytes()),
                nla(number::IFNAME, b"wlan0\0"),
                nla(number::WIPHY, &0u32.to_ne_bytes()),
                nla(number::IFTYPE, &kind.to_ne_bytes()),
                nla(number::SSID, b"home"),
            ]))
            .expect("an interface")
        };
        let expected = Interface {
            index: 4,
            name: "wlan0".into(),
            radio: 0,
            is_access_point: true,
            ssid: Some("home".into()),
        };
        assert_eq!(interface(3), expected);
        assert!(interface(4).is_access_point && !interface(2).is_access_point);
        // A P2P device has no interface.
        assert_eq!(Interface::of(&message(&[nla(number::WIPHY, &0u32.to_ne_bytes())])), None);
    }

    #[test]
    fn what_is_cut_off_is_no_panic() {
        let info = nested(number::STA_INFO, &[nla(8, &nla(1, &60u16.to_ne_bytes())), nla(31, &[9, 0])]);
        let bytes = [nla(number::MAC, &[2, 0, 0, 0, 1, 0]), info].concat();
        for length in 0..bytes.len() {
            let _ = station_of(&bytes[..length]);
        }
        assert!(station_of(&bytes).is_some());
        assert!(station_of(&nla(number::MAC, &[1, 2])).is_none());
    }
}
