//! The facts about this host. A fact that cannot be read is `None`, and no rule applies to it.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use goodqueue_wire::Ethtool;
use goodqueue_wire::netlink::{Interface, Route, interfaces};
use netlink_packet_route::tc::TcHandle;

use crate::Result;
use crate::airtime::{Features, Mac, Wireless};
use crate::tc::{Installed, attribute, classes, installed, redirects, word};

pub(super) const DEFAULT_QDISC: &str = "/proc/sys/net/core/default_qdisc";
pub(super) const TCP_ECN: &str = "/proc/sys/net/ipv4/tcp_ecn";
const SOFTNET: &str = "/proc/net/softnet_stat";
const NOTSENT_LOWAT: &str = "/proc/sys/net/ipv4/tcp_notsent_lowat";
const CONGESTION_CONTROL: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
const FORWARDING: [&str; 2] = ["/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/ipv6/conf/all/forwarding"];

/// The facts about the host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// `net.core.default_qdisc`.
    pub default_qdisc: Option<String>,
    /// `net.ipv4.tcp_ecn`.
    pub tcp_ecn: Option<u32>,
    /// `net.ipv4.tcp_notsent_lowat`.
    pub notsent_lowat: Option<u32>,
    /// `net.ipv4.tcp_congestion_control`: what new connections use.
    pub congestion_control: Option<String>,
    /// Whether it forwards packets of others, over IPv4 or IPv6.
    pub is_router: bool,
    /// The port of a web server that listens here, 80 or 443.
    pub web_port: Option<u16>,
    /// What each processor did with arriving packets, since the start.
    pub processors: Vec<Softnet>,
    /// The interfaces.
    pub interfaces: Vec<InterfaceFacts>,
}

/// What a processor did with arriving packets (`/proc/net/softnet_stat`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Softnet {
    /// Packets that it took.
    pub processed: u64,
    /// Packets that found no room in its backlog (`net.core.netdev_max_backlog`).
    pub dropped: u64,
}

/// What nl80211 reports about a Wi-Fi interface.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WifiFacts {
    /// Name of its radio, such as `phy0`.
    pub radio: String,
    /// Whether stations join it.
    pub is_access_point: bool,
    /// The features of the driver.
    pub features: Features,
    /// The station whose last frame was sent at the lowest rate, with that rate, bit/s.
    pub slowest: Option<(Mac, u64)>,
}

/// A queue in which packets arrive.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReceiveQueue {
    /// The file `rps_cpus` below `/sys`.
    pub rps: PathBuf,
    /// Its contents: a bit for each processor that takes packets from the interrupted one.
    pub mask: String,
}

/// The facts about an interface.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InterfaceFacts {
    /// Its name.
    pub name: String,
    /// Its kind, if it is virtual: `veth`, `ifb`, `bridge`.
    pub kind: Option<String>,
    /// Whether it is up.
    pub is_up: bool,
    /// Whether it is the loopback interface.
    pub is_loopback: bool,
    /// Whether it belongs to a device: `/sys/class/net/X/device`.
    pub is_device: bool,
    /// Whether it is Wi-Fi: `/sys/class/net/X/phy80211`.
    pub is_wifi: bool,
    /// Whether a default route leaves through it.
    pub is_to_the_world: bool,
    /// Name of its driver.
    pub driver: Option<String>,
    /// Largest packet with the interface's own header, bytes.
    pub frame: u32,
    /// `txqueuelen`, packets.
    pub tx_queue_len: u32,
    /// The speed of its line that it reports, Mbit/s.
    pub speed_mbit: Option<u64>,
    /// Packets that it has sent.
    pub sent: u64,
    /// Packets that its transmit ring holds.
    pub ring: Option<u32>,
    /// Time from a packet's arrival to the interrupt, microseconds, if it is fixed.
    pub interrupt_after: Option<u32>,
    /// The features by which super-packets leave it, if they are on: those of TSO, and GSO.
    pub super_packets: Vec<String>,
    /// The interfaces below it, to which its packets go.
    pub below: Vec<String>,
    /// The interfaces to which filters send packets that arrive here.
    pub arrives_in: Vec<String>,
    /// What nl80211 reports about it.
    pub wifi: Option<WifiFacts>,
    /// The queues in which packets arrive.
    pub receive: Vec<ReceiveQueue>,
    /// Byte queue limits of its hardware queues.
    pub bql: Vec<Bql>,
    /// Its queueing disciplines.
    pub queues: Vec<Queue>,
}

/// Byte queue limits of a hardware queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bql {
    /// The folder below `/sys`.
    pub folder: PathBuf,
    /// The current limit, bytes; 0 until the driver has reported a packet.
    pub limit: u64,
    /// The minimum of the limit, bytes.
    pub min: u64,
    /// The maximum of the limit, bytes.
    pub max: u64,
}

/// Where a queueing discipline is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parent {
    /// At the root of its interface.
    Root,
    /// In the class or hardware queue `major:minor`.
    Class(u16, u16),
    /// Where packets arrive.
    Ingress,
}

/// A queueing discipline.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    /// Its kind.
    pub kind: String,
    /// Major number of its handle; 0 for the kernel's default.
    pub handle: u16,
    /// Where it is.
    pub parent: Parent,
    /// The limit of `pfifo` (packets) or `bfifo` (bytes).
    pub limit: Option<u32>,
    /// Its rate, if it shapes.
    pub shaper: Option<Shaper>,
}

/// The settings of a shaper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shaper {
    /// Bits a second.
    pub rate_bps: u64,
    /// Whether it counts what the link adds to a packet.
    pub has_overhead: bool,
    /// Bytes of the longest super-packet that it sends in one piece.
    pub longest: u32,
}

/// Bytes of the longest super-packet (`GSO_LEGACY_MAX_SIZE`).
pub(super) const SUPER_PACKET: u32 = 65_536;

/// Reads the facts about this host.
///
/// # Errors
/// `System` if netlink fails.
pub fn facts() -> Result<Facts> {
    let mut route = Route::open()?;
    let qdiscs = installed(&mut route)?;
    let world = world();
    let mut all = Vec::new();
    let interfaces = interfaces(&mut route)?;
    for interface in &interfaces {
        let mut facts = of_interface(interface, &world);
        for qdisc in qdiscs.iter().filter(|qdisc| qdisc.index == interface.index) {
            let mut queue = queue(qdisc);
            if queue.kind == "htb" && queue.parent == Parent::Root {
                queue.shaper = htb(&classes(&mut route, interface.index)?);
            }
            facts.queues.push(queue);
        }
        if facts.queues.iter().any(|queue| queue.parent == Parent::Ingress) {
            let targets = redirects(&mut route, interface.index)?;
            let named = |index| interfaces.iter().find(|other| other.index == index);
            facts.arrives_in =
                targets.into_iter().filter_map(named).map(|target| target.name.clone()).collect();
        }
        all.push(facts);
    }
    if all.iter().any(|interface| interface.is_wifi) {
        // What nl80211 does not report stays unknown.
        let _ = wifi(&mut all);
    }
    Ok(Facts {
        default_qdisc: read(DEFAULT_QDISC),
        tcp_ecn: read(TCP_ECN),
        notsent_lowat: read(NOTSENT_LOWAT),
        congestion_control: read(CONGESTION_CONTROL),
        is_router: FORWARDING.iter().any(|path| read::<u32>(path).is_some_and(|value| value > 0)),
        web_port: web_port(),
        processors: fs::read_to_string(SOFTNET).map(|text| softnet(&text)).unwrap_or_default(),
        interfaces: all,
    })
}

/// Asks nl80211 about the Wi-Fi interfaces.
fn wifi(all: &mut [InterfaceFacts]) -> Result<()> {
    let mut wireless = Wireless::open()?;
    let (radios, interfaces) = (wireless.radios()?, wireless.interfaces()?);
    for interface in interfaces {
        let (Some(facts), Some(radio)) = (
            all.iter_mut().find(|facts| facts.name == interface.name),
            radios.iter().find(|radio| radio.index == interface.radio),
        ) else {
            continue;
        };
        let stations = wireless.stations(&interface)?;
        let rates = stations.iter().filter_map(|station| Some((station.mac, station.tx_rate_bps?)));
        facts.wifi = Some(WifiFacts {
            radio: radio.name.clone(),
            is_access_point: interface.is_access_point,
            features: radio.features,
            slowest: rates.filter(|(_, rate)| *rate > 0).min_by_key(|(_, rate)| *rate),
        });
    }
    Ok(())
}

/// Each running processor has a line of hexadecimal numbers: packets it took, packets it had no room for
/// (`softnet_seq_show`).
fn softnet(text: &str) -> Vec<Softnet> {
    let line = |line: &str| {
        let mut numbers = line.split_whitespace().map(|word| u64::from_str_radix(word, 16).ok());
        Some(Softnet { processed: numbers.next()??, dropped: numbers.next()?? })
    };
    text.lines().filter_map(line).collect()
}

/// The value in a file of the kernel; `None` if there is none.
fn read<T: FromStr>(path: impl AsRef<Path>) -> Option<T> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn of_interface(interface: &Interface, world: &[String]) -> InterfaceFacts {
    let folder = Path::new("/sys/class/net").join(&interface.name);
    let ethtool = Ethtool::open(&interface.name).ok();
    let features = ethtool.as_ref().and_then(|ethtool| ethtool.features().ok()).unwrap_or_default();
    let coalescing = ethtool.as_ref().and_then(|ethtool| ethtool.coalescing().ok());
    let names = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    let bql = |queue: &String| {
        let folder = folder.join("queues").join(queue).join("byte_queue_limits");
        let value = |name: &str| read(folder.join(name));
        Some(Bql { limit: value("limit")?, min: value("limit_min")?, max: value("limit_max")?, folder })
    };
    let receive = |queue: &String| {
        let rps = folder.join("queues").join(queue).join("rps_cpus");
        Some(ReceiveQueue { mask: read(&rps)?, rps })
    };
    let queues = names(&folder.join("queues"));
    let driver = fs::read_link(folder.join("device/driver")).ok();
    // The features that `ethtool -K` switches as `tso` and `gso`.
    let is_super = |name: &str| {
        name == "tx-generic-segmentation" || name.starts_with("tx-tcp") && name.ends_with("-segmentation")
    };
    InterfaceFacts {
        name: interface.name.clone(),
        kind: interface.kind.clone(),
        is_up: interface.is_up,
        is_loopback: interface.is_loopback,
        is_device: folder.join("device").exists(),
        is_wifi: folder.join("phy80211").exists(),
        is_to_the_world: world.contains(&interface.name),
        driver: driver.and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned())),
        frame: interface.mtu.saturating_add(interface.header),
        tx_queue_len: interface.tx_queue_len,
        // -1 if it is not known.
        speed_mbit: read(folder.join("speed")).filter(|mbit| *mbit > 0),
        sent: read(folder.join("statistics/tx_packets")).unwrap_or(0),
        ring: ethtool.as_ref().and_then(|ethtool| ethtool.transmit_ring().ok()),
        interrupt_after: coalescing.filter(|known| !known.is_adaptive).map(|known| known.rx_usecs),
        super_packets: features
            .into_iter()
            .filter(|feature| feature.active && is_super(&feature.name))
            .map(|feature| feature.name)
            .collect(),
        below: names(&folder)
            .iter()
            .filter_map(|name| Some(name.strip_prefix("lower_")?.to_owned()))
            .collect(),
        arrives_in: Vec::new(),
        wifi: None,
        receive: queues.iter().filter(|name| name.starts_with("rx-")).filter_map(receive).collect(),
        bql: queues.iter().filter(|name| name.starts_with("tx-")).filter_map(bql).collect(),
        queues: Vec::new(),
    }
}

/// The interfaces through which a default route leaves.
fn world() -> Vec<String> {
    let v4 = fs::read_to_string("/proc/net/route").unwrap_or_default();
    let v6 = fs::read_to_string("/proc/net/ipv6_route").unwrap_or_default();
    let mut all: Vec<String> =
        v4.lines().filter_map(default_v4).chain(v6.lines().filter_map(default_v6)).collect();
    all.retain(|name| name != "lo");
    all
}

/// The interface of a line of `/proc/net/route`, if it is a default route: destination and mask are 0.
fn default_v4(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    (words.get(1) == Some(&"00000000") && words.get(7) == Some(&"00000000")).then(|| words[0].to_owned())
}

/// The same for `/proc/net/ipv6_route`: the destination has a length of 0, and the interface is last.
fn default_v6(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    (words.len() == 10 && words[1] == "00").then(|| words[9].to_owned())
}

/// The port of a web server, from `/proc/net/tcp`.
fn web_port() -> Option<u16> {
    let files = ["/proc/net/tcp", "/proc/net/tcp6"];
    let text: String = files.iter().map(|file| fs::read_to_string(file).unwrap_or_default()).collect();
    text.lines().find_map(listening)
}

/// The port of a line, if a web server listens there for hosts other than this one. `0A` is `TCP_LISTEN`.
fn listening(line: &str) -> Option<u16> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (address, port) = words.get(1)?.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    // 127.0.0.0/8 and ::1, as words in the host's byte order.
    let is_local = (address.len() == 8 && (address.ends_with("7F") || address.starts_with("7F")))
        || ["00000000000000000000000001000000", "00000000000000000000000000000001"].contains(&address);
    (words.get(3) == Some(&"0A") && !is_local && [80, 443].contains(&port)).then_some(port)
}

fn queue(installed: &Installed) -> Queue {
    let Installed { kind, handle, parent, options, .. } = installed;
    let parent = match *parent {
        TcHandle::ROOT => Parent::Root,
        TcHandle::INGRESS => Parent::Ingress,
        TcHandle { major, minor } => Parent::Class(major, minor),
    };
    let limit = if kind == "pfifo" || kind == "bfifo" { word(options, 0) } else { None };
    let shaper = match kind.as_str() {
        "cake" => cake(options),
        "tbf" => tbf(options),
        _ => None,
    };
    Queue { kind: kind.clone(), handle: *handle, parent, limit, shaper }
}

/// A rate in bits a second, from bytes a second.
fn rate64(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(..8)?.try_into().ok()?).saturating_mul(8))
}

/// `TCA_CAKE_BASE_RATE64`, `TCA_CAKE_RAW`, `TCA_CAKE_SPLIT_GSO`. A rate of 0 means no rate.
fn cake(options: &[u8]) -> Option<Shaper> {
    let rate_bps = rate64(&attribute(options, 2)?).filter(|rate| *rate > 0)?;
    let splits = attribute(options, 17).and_then(|value| word(&value, 0)) != Some(0);
    let longest = if splits { 0 } else { SUPER_PACKET };
    Some(Shaper { rate_bps, has_overhead: attribute(options, 12).is_none(), longest })
}

/// `struct tc_ratespec`: the rate, and whether it counts more than the packet.
fn ratespec(bytes: &[u8]) -> Option<(u64, bool)> {
    let rate = u64::from(word(bytes, 8)?) * 8;
    let (is_atm, overhead) = (bytes.get(1)? & 0x0f == 2, bytes.get(2..4)?);
    Some((rate, is_atm || overhead != [0, 0]))
}

/// `TCA_TBF_PARMS` (`struct tc_tbf_qopt`), `TCA_TBF_RATE64`. It cuts a super-packet that is longer than its
/// burst (`tbf_segment`); the burst is a time in ticks of 64 ns.
fn tbf(options: &[u8]) -> Option<Shaper> {
    let parms = attribute(options, 1)?;
    let (rate, has_overhead) = ratespec(&parms)?;
    let rate_bps = attribute(options, 4).and_then(|value| rate64(&value)).unwrap_or(rate);
    let burst = u128::from(word(&parms, 28)?) * 64 * u128::from(rate_bps) / 8_000_000_000;
    let longest = u32::try_from(burst).unwrap_or(u32::MAX).min(SUPER_PACKET);
    Some(Shaper { rate_bps, has_overhead, longest })
}

/// The root class: `TCA_HTB_PARMS` (`struct tc_htb_opt`) with the rate and then the ceiling;
/// `TCA_HTB_CEIL64`. If there are several root classes, each has a rate of its own, and together they are no
/// shaper.
fn htb(classes: &[Installed]) -> Option<Shaper> {
    let mut roots = classes.iter().filter(|class| class.is_root());
    let (Some(root), None) = (roots.next(), roots.next()) else { return None };
    let parms = attribute(&root.options, 1)?;
    let (ceil, has_overhead) = ratespec(parms.get(12..)?)?;
    let rate_bps = attribute(&root.options, 7).and_then(|value| rate64(&value)).unwrap_or(ceil);
    Some(Shaper { rate_bps, has_overhead, longest: SUPER_PACKET })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An attribute.
    fn nla(kind: u16, value: &[u8]) -> Vec<u8> {
        let length = u16::try_from(4 + value.len()).unwrap();
        let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
        bytes.extend_from_slice(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn options_of_shapers_are_read() {
        let rate = nla(2, &1_250_000_u64.to_ne_bytes());
        let raw = [&rate[..], &nla(12, &[0; 4])].concat();
        assert_eq!(cake(&raw), Some(Shaper { rate_bps: 10_000_000, has_overhead: false, longest: 0 }));
        let whole = [&rate[..], &nla(17, &[0; 4])].concat();
        assert_eq!(
            cake(&whole),
            Some(Shaper { rate_bps: 10_000_000, has_overhead: true, longest: SUPER_PACKET })
        );
        assert_eq!(cake(&nla(2, &[0; 8])), None, "unlimited");

        // rate 1 250 000 bytes/s, overhead 8; no peak rate; limit; a burst of 20 000 bytes: 16 ms.
        let mut parms = vec![0, 1, 8, 0, 0, 0, 0, 0];
        parms.extend_from_slice(&1_250_000_u32.to_ne_bytes());
        parms.extend_from_slice(&[0; 16]);
        parms.extend_from_slice(&250_000_u32.to_ne_bytes());
        parms.extend_from_slice(&[0; 4]);
        let expected = Shaper { rate_bps: 10_000_000, has_overhead: true, longest: 20_000 };
        assert_eq!(tbf(&nla(1, &parms)), Some(expected));
    }

    #[test]
    fn processors_are_read() {
        let line = "0000abcd 00000002 00000007 00000000 00000000 00000000 00000000 00000000 0 0 0 0 0 1 0";
        let text = format!("{line}\n{}\nrubbish\n", line.replace("0000abcd", "0"));
        let expected = [(0xabcd, 2), (0, 2)].map(|(processed, dropped)| Softnet { processed, dropped });
        assert_eq!(softnet(&text), expected);
    }

    #[test]
    fn default_routes_and_web_servers_are_found() {
        let route = "wan0\t00000000\t0201000A\t0003\t0\t0\t0\t00000000\t0\t0\t0";
        assert_eq!(default_v4(route), Some("wan0".into()));
        assert_eq!(default_v4(&route.replace("\t00000000\t0\t0\t0", "\t00FFFFFF\t0\t0\t0")), None);
        let zeros = "00000000000000000000000000000000";
        let v6 = format!("{zeros} 00 {zeros} 00 fe800000000000000000000000000001 00000400 1 0 00000003 eth0");
        assert_eq!(default_v6(&v6), Some("eth0".into()));
        let line = |address: &str, state| format!(" 0: {address} 00000000:0000 {state} 00000000:00000000");
        assert_eq!(listening(&line("00000000:01BB", "0A")), Some(443));
        assert_eq!(listening(&line("0100007F:01BB", "0A")), None, "this host alone");
        assert_eq!(listening(&line("00000000:01BB", "01")), None, "a connection");
        assert_eq!(listening(&line("00000000:0016", "0A")), None, "ssh");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            text in ".{0,80}",
        ) {
            let _ = (cake(&bytes), tbf(&bytes), ratespec(&bytes));
            let _ = (default_v4(&text), default_v6(&text), listening(&text));
        }
    }
}
