//! From facts to findings. `docs/doctor.md` has each rule with its source.

use std::path::PathBuf;

use goodqueue::Rate;

use super::facts::{Bql, DEFAULT_QDISC, Facts, InterfaceFacts, Parent, Queue, Shaper, TCP_ECN};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It delays packets, or is a setting that cannot work.
    Fault,
    /// Something else is better.
    Advice,
    /// Information only.
    Note,
}

impl Severity {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Fault => "fault",
            Severity::Advice => "advice",
            Severity::Note => "note",
        }
    }
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Name of the rule, which is its section in `docs/doctor.md`.
    pub rule: &'static str,
    /// The interface; `None` for the host.
    pub interface: Option<String>,
    /// How bad it is.
    pub severity: Severity,
    /// What was found, with its figure.
    pub what: String,
    /// Why that is not good.
    pub why: &'static str,
    /// The change that fixes it.
    pub fix: Option<Fix>,
}

/// A change, and how to undo it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// The command that changes it.
    pub command: String,
    /// The command that undoes it.
    pub undo: String,
    /// The same change as steps for [`super::fix`]; empty if only the user can make it.
    pub steps: Vec<Step>,
}

/// One step of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Writes a setting of the kernel.
    Write {
        /// The file, below `/proc/sys` or `/sys`.
        path: PathBuf,
        /// What to write.
        value: String,
    },
    /// Puts a queueing discipline with its defaults at the root of an interface.
    Root {
        /// The interface.
        dev: String,
        /// Its kind.
        kind: &'static str,
    },
}

const FIFOS: [&str; 4] = ["pfifo_fast", "pfifo", "bfifo", "pfifo_head_drop"];
/// Drivers of virtual machines: the host, not a device, empties their ring.
const VIRTUAL_DRIVERS: [&str; 6] = ["virtio_net", "vmxnet3", "hv_netvsc", "xen_netfront", "vif", "ena"];
/// `DEFAULT_TX_QUEUE_LEN`.
const TX_QUEUE_LEN: u32 = 1000;
/// Without byte queue limits, a ring of more packets than this is long.
const RING: u32 = 1024;
/// `DQL_MAX_LIMIT`: the value if no other limit was set.
const BQL_MAX: u64 = 1_879_048_192;
/// After this many packets, a driver with byte queue limits has reported one.
const SENT: u64 = 1000;
/// The highest rate of 802.11b, bit/s: a frame of 1500 bytes then takes more than a millisecond of air.
const RATE_11B: u64 = 11_000_000;
/// CoDel's target, microseconds: a standing queue that is longer is too long.
const TARGET: u64 = 5000;

/// Everything that is wrong, the worst first. With `only`, the findings on one interface and on the host.
#[must_use]
pub fn findings(facts: &Facts, only: Option<&str>) -> Vec<Finding> {
    let mut found = Vec::new();
    for interface in
        facts.interfaces.iter().filter(|interface| only.is_none_or(|name| name == interface.name))
    {
        if interface.is_up && !interface.is_loopback {
            of_interface(interface, facts, &mut found);
        }
    }
    of_host(facts, &mut found);
    found.sort_by_key(|finding| finding.severity);
    found
}

fn of_host(facts: &Facts, found: &mut Vec<Finding>) {
    let mut host = |rule, severity, what, why, fix| {
        found.push(Finding { rule, interface: None, severity, what, why, fix });
    };
    if let Some(kind) = facts.default_qdisc.as_deref().filter(|kind| is_bad_default(kind)) {
        host(
            "default-qdisc",
            Severity::Advice,
            format!("New interfaces get {kind}: net.core.default_qdisc."),
            "A FIFO, or the ring below noqueue, neither signals a queue that stays nor keeps flows apart; \
             fq_codel does both.",
            Some(sysctl("net.core.default_qdisc", DEFAULT_QDISC, kind, "fq_codel")),
        );
    }
    if facts.tcp_ecn == Some(0) {
        host(
            "tcp-ecn",
            Severity::Advice,
            "TCP refuses ECN even if the other side asks for it: net.ipv4.tcp_ecn is 0.".into(),
            "Without ECN a queue can signal congestion only by dropping packets, which are sent again.",
            Some(sysctl("net.ipv4.tcp_ecn", TCP_ECN, "0", "2")),
        );
    }
    if let Some((what, why)) = backlog(facts) {
        host("backlog-drops", Severity::Advice, what, why, None);
    }
    if let (Some(u32::MAX), Some(port)) = (facts.notsent_lowat, facts.web_port) {
        host(
            "notsent-lowat",
            Severity::Note,
            format!("A web server listens on port {port}, and net.ipv4.tcp_notsent_lowat has no limit."),
            "What an application has written and TCP has not yet sent waits in front of what it writes next.",
            Some(Fix {
                command: "sysctl -w net.ipv4.tcp_notsent_lowat=131072".into(),
                undo: format!("sysctl -w net.ipv4.tcp_notsent_lowat={}", u32::MAX),
                steps: Vec::new(),
            }),
        );
    }
}

/// Finds packets that a processor had no room for, before any queueing discipline saw them.
fn backlog(facts: &Facts) -> Option<(String, &'static str)> {
    let dropped: u64 = facts.processors.iter().map(|processor| processor.dropped).sum();
    let processed: u64 = facts.processors.iter().map(|processor| processor.processed).sum();
    (dropped > 0).then(|| {
        let what = format!(
            "Processors dropped {dropped} of {} packets that arrived since the start: netdev_max_backlog was full.",
            processed.saturating_add(dropped)
        );
        let why = "A processor was too slow for what arrived, so packets were lost in front of every queue; more \
                   processors help (rps_cpus), a longer backlog only adds delay.";
        (what, why)
    })
}

fn sysctl(name: &str, path: &str, before: &str, value: &str) -> Fix {
    Fix {
        command: format!("sysctl -w {name}={value}"),
        undo: format!("sysctl -w {name}={before}"),
        steps: vec![Step::Write { path: path.into(), value: value.into() }],
    }
}

fn is_fifo(kind: &str) -> bool {
    FIFOS.contains(&kind)
}

/// Whether new interfaces get a FIFO, or no queue at all.
fn is_bad_default(kind: &str) -> bool {
    is_fifo(kind) || kind == "noqueue"
}

fn of_interface(interface: &InterfaceFacts, facts: &Facts, found: &mut Vec<Finding>) {
    let all = [
        fifo(interface, facts),
        no_queue(interface, facts),
        queue_length(interface),
        wifi_queues(interface),
        wifi_scheduler(interface),
        slow_station(interface),
        bql_limit(interface),
        ring(interface),
        virtual_ring(interface),
        interrupts(interface),
        above_the_line(interface, facts),
        overhead(interface),
        super_packets(interface),
        one_processor(interface, facts),
        pacing(interface, facts),
    ];
    let doubles = interface.below.iter().flat_map(|below| double_shaping(interface, below, facts));
    found.extend(all.into_iter().flatten().chain(doubles).map(|told| Finding {
        rule: told.rule,
        interface: Some(interface.name.clone()),
        severity: told.severity,
        what: told.what,
        why: told.why,
        fix: told.fix,
    }));
}

/// A finding on an interface.
struct InterfaceFinding {
    rule: &'static str,
    severity: Severity,
    what: String,
    why: &'static str,
    fix: Option<Fix>,
}

/// Whether packets leave this host here: through a device, or through the interface of the default route.
const fn is_exit(interface: &InterfaceFacts) -> bool {
    interface.is_device || interface.is_to_the_world
}

fn root(interface: &InterfaceFacts) -> Option<&Queue> {
    interface.queues.iter().find(|queue| queue.parent == Parent::Root)
}

/// The queue at the root, or those of the hardware queues of `mq` at the root.
fn leaves(interface: &InterfaceFacts) -> Vec<&Queue> {
    let Some(root) = root(interface) else { return Vec::new() };
    if root.kind != "mq" {
        return vec![root];
    }
    let is_below = |queue: &&Queue| matches!(queue.parent, Parent::Class(major, _) if major == root.handle);
    interface.queues.iter().filter(is_below).collect()
}

/// The leaves that are FIFOs.
fn fifos(interface: &InterfaceFacts) -> Vec<&Queue> {
    leaves(interface).into_iter().filter(|queue| is_fifo(&queue.kind)).collect()
}

fn fifo(interface: &InterfaceFacts, facts: &Facts) -> Option<InterfaceFinding> {
    if !is_exit(interface) {
        return None;
    }
    let fifos = fifos(interface);
    let first = fifos.first()?;
    let (name, kind) = (&interface.name, &first.kind);
    let bytes = match (kind.as_str(), first.limit) {
        ("bfifo", limit) => limit.map(u64::from),
        (_, limit) => {
            Some(u64::from(limit.unwrap_or(interface.tx_queue_len)).saturating_mul(interface.frame.into()))
        }
    };
    let room = bytes.filter(|bytes| *bytes > 0).map(|bytes| {
        // Ignore the speed of a virtual interface, which is not that of a line.
        let time = interface.speed_mbit.filter(|_| interface.is_device).map(|mbit| {
            format!(", {} at {mbit} Mbit/s", millis(micros(bytes, mbit.saturating_mul(1_000_000))))
        });
        format!(", with room for {bytes} bytes{}", time.unwrap_or_default())
    });
    let place = if first.parent == Parent::Root {
        "The queue".to_owned()
    } else {
        format!("The queue of {} of its hardware queues", fifos.len())
    };
    Some(InterfaceFinding {
        rule: "fifo",
        severity: if interface.is_to_the_world { Severity::Fault } else { Severity::Advice },
        what: format!("{place} is {kind}, a FIFO{}.", room.unwrap_or_default()),
        why: "A FIFO that fills makes every packet wait for all packets before it; fq_codel keeps the wait \
              near 5 ms and flows apart.",
        fix: root_fix(name, root(interface)?, first, facts, "fq_codel"),
    })
}

/// `kind` in place of `queue`, which is the root or below it.
fn root_fix(dev: &str, root: &Queue, queue: &Queue, facts: &Facts, kind: &'static str) -> Option<Fix> {
    if queue.parent == Parent::Root {
        let undo = match (root.handle, root.limit) {
            (0, _) => format!("tc qdisc del dev {dev} root"),
            (handle, None) => format!("tc qdisc replace dev {dev} root handle {handle:x}: {}", root.kind),
            (handle, Some(limit)) => {
                format!("tc qdisc replace dev {dev} root handle {handle:x}: {} limit {limit}", root.kind)
            }
        };
        let command = format!("tc qdisc replace dev {dev} root {kind}");
        let steps = vec![Step::Root { dev: dev.into(), kind }];
        return Some(Fix { command, undo, steps });
    }
    let Parent::Class(major, minor) = queue.parent else { return None };
    if root.handle != 0 {
        // The user has chosen a queue for each hardware queue.
        let parent = format!("tc qdisc replace dev {dev} parent {major:x}:{minor:x}");
        let limit = queue.limit.map_or(String::new(), |limit| format!(" limit {limit}"));
        let (command, undo) = (format!("{parent} {kind}"), format!("{parent} {}{limit}", queue.kind));
        return Some(Fix { command, undo, steps: Vec::new() });
    }
    // A new mq gives each hardware queue the default.
    let mut fix = Fix {
        command: format!("tc qdisc replace dev {dev} root mq"),
        undo: format!("tc qdisc del dev {dev} root"),
        steps: vec![Step::Root { dev: dev.into(), kind: "mq" }],
    };
    let before = facts.default_qdisc.as_deref()?;
    // In place of a FIFO, any other default will do.
    let is_good = before == kind || kind == "fq_codel" && !is_bad_default(before);
    if !is_good {
        let first = sysctl("net.core.default_qdisc", DEFAULT_QDISC, before, kind);
        fix.command = format!("{}; {}", first.command, fix.command);
        fix.undo = format!("{}; {}", first.undo, fix.undo);
        fix.steps.splice(0..0, first.steps);
    }
    Some(fix)
}

/// Only where the driver reports a ring: ports of a switch have their queue at the processor's port.
fn no_queue(interface: &InterfaceFacts, facts: &Facts) -> Option<InterfaceFinding> {
    let bare = leaves(interface).into_iter().find(|queue| queue.kind == "noqueue")?;
    let ring = interface.ring.filter(|ring| *ring > 0)?;
    if !interface.is_device || interface.is_wifi || interface.kind.is_some() {
        return None;
    }
    Some(InterfaceFinding {
        rule: "no-queue",
        severity: Severity::Fault,
        what: format!("There is no queue above the device (noqueue), whose ring holds {ring} packets."),
        why: "All packets wait in the ring, which is a FIFO.",
        fix: root_fix(&interface.name, root(interface)?, bare, facts, "fq_codel"),
    })
}

/// `pfifo` and `bfifo` have a limit of their own.
fn queue_length(interface: &InterfaceFacts) -> Option<InterfaceFinding> {
    let length = interface.tx_queue_len;
    if length <= TX_QUEUE_LEN
        || !is_exit(interface)
        || !fifos(interface).iter().any(|fifo| fifo.limit.is_none())
    {
        return None;
    }
    let (name, value) = (&interface.name, TX_QUEUE_LEN.to_string());
    Some(InterfaceFinding {
        rule: "txqueuelen",
        severity: Severity::Fault,
        what: format!(
            "txqueuelen is {length} packets, and a FIFO uses all of it; the kernel's default is 1000."
        ),
        why: "The longer a FIFO, the longer packets wait once it is full.",
        fix: Some(Fix {
            command: format!("ip link set dev {name} txqueuelen {TX_QUEUE_LEN}"),
            undo: format!("ip link set dev {name} txqueuelen {length}"),
            steps: vec![Step::Write { path: format!("/sys/class/net/{name}/tx_queue_len").into(), value }],
        }),
    })
}

fn wifi_queues(interface: &InterfaceFacts) -> Option<InterfaceFinding> {
    let root = root(interface).filter(|root| root.handle == 0 && root.kind != "noqueue")?;
    interface.is_wifi.then(|| InterfaceFinding {
        rule: "wifi-queues",
        severity: Severity::Note,
        what: format!(
            "The kernel gave this Wi-Fi interface {} (driver {}), so it does not use mac80211's own queues.",
            root.kind,
            interface.driver.as_deref().unwrap_or("not known")
        ),
        why: "With mac80211's queues each station has queues under FQ-CoDel, and the hardware holds little; \
              then noqueue is right here.",
        fix: None,
    })
}

/// What mac80211's queues need from the driver. If they are missing, `wifi-queues` reports it.
fn wifi_scheduler(interface: &InterfaceFacts) -> Option<InterfaceFinding> {
    let wifi = interface.wifi.as_ref().filter(|wifi| wifi.is_access_point && wifi.features.txqs)?;
    let (what, why) = match (wifi.features.airtime_fairness, wifi.features.aql) {
        (true, true) => return None,
        (false, true) => (
            "does not schedule by airtime",
            "Each station gets the same number of packets, so the slowest takes most of the air.",
        ),
        (true, false) => (
            "has no airtime queue limits",
            "Packets wait in the hardware, where no queue can reorder or drop them.",
        ),
        (false, false) => (
            "neither schedules by airtime nor has airtime queue limits",
            "The slowest station takes most of the air, and packets wait in the hardware.",
        ),
    };
    let driver = interface.driver.as_deref().unwrap_or("not known");
    Some(InterfaceFinding {
        rule: "wifi-airtime",
        severity: Severity::Note,
        what: format!("The driver {driver} of {} {what}.", wifi.radio),
        why,
        fix: None,
    })
}

fn slow_station(interface: &InterfaceFacts) -> Option<InterfaceFinding> {
    let wifi = interface.wifi.as_ref().filter(|wifi| wifi.is_access_point)?;
    let (mac, rate) = wifi.slowest.filter(|(_, rate)| *rate <= RATE_11B)?;
    let time = millis(micros(1500, rate));
    Some(InterfaceFinding {
        rule: "slow-station",
        severity: Severity::Note,
        what: format!(
            "The last frame to station {mac} went at {}; 1500 bytes take {time} of air at that rate.",
            Rate(rate)
        ),
        why: "All others wait meanwhile. In hostapd.conf, supported_rates and basic_rates without 10, 20, 55 and \
              110 keep the rates of 802.11b out; old devices then cannot join.",
        fix: None,
    })
}

/// A processor that takes all packets of a shaper, although there are others.
fn one_processor(interface: &InterfaceFacts, facts: &Facts) -> Option<InterfaceFinding> {
    let processors = facts.processors.len();
    let [queue] = &interface.receive[..] else { return None };
    let is_shaped = shaper(interface).is_some() || arrivals(interface, facts).next().is_some();
    let is_alone = queue.mask.chars().all(|c| c == '0' || c == ',');
    if !interface.is_device || !is_shaped || !is_alone || processors < 2 {
        return None;
    }
    let (path, old) = (queue.rps.display(), &queue.mask);
    let mask = mask(processors);
    Some(InterfaceFinding {
        rule: "one-processor",
        severity: Severity::Note,
        what: format!("All packets that arrive here, and their shaper, take one of {processors} processors."),
        why: "If the rate falls short under load while that processor is busy, the others can help: each flow then \
              has a processor of its own.",
        fix: Some(Fix {
            command: format!("echo {mask} >{path}"),
            undo: format!("echo {old} >{path}"),
            steps: Vec::new(),
        }),
    })
}

/// The mask of all processors, as `rps_cpus` takes it: words of 32 bits, the highest first.
fn mask(processors: usize) -> String {
    let (words, rest) = (processors / 32, processors % 32);
    let highest = (rest > 0).then(|| format!("{:x}", (1_u64 << rest) - 1));
    let words: Vec<String> =
        highest.into_iter().chain(std::iter::repeat_n("ffffffff".to_owned(), words)).collect();
    words.join(",")
}

/// BBR above the kernel's default queue, which does not pace. A queue that somebody has set, so every shaper,
/// and that of a router are there for more than this host's connections.
fn pacing(interface: &InterfaceFacts, facts: &Facts) -> Option<InterfaceFinding> {
    let (root, leaves) = (root(interface)?, leaves(interface));
    let first = *leaves.first()?;
    let is_unpaced = |queue: &Queue| is_fifo(&queue.kind) || queue.kind == "fq_codel";
    if facts.congestion_control.as_deref() != Some("bbr")
        || facts.is_router
        || !is_exit(interface)
        || interface.is_wifi
        || root.handle != 0
        || !leaves.iter().all(|queue| queue.handle == 0 && is_unpaced(queue))
    {
        return None;
    }
    Some(InterfaceFinding {
        rule: "pacing",
        severity: Severity::Note,
        what: format!(
            "New connections use bbr, and {} does not pace: TCP paces with a timer for each of them.",
            first.kind
        ),
        why: "That works, and with few connections it costs little. fq paces all of them with one timer, and those of \
              other congestion controls too; fq_codel only keeps flows apart and queues short.",
        // Only its user knows how many connections a host has.
        fix: root_fix(&interface.name, root, first, facts, "fq").map(|fix| Fix { steps: Vec::new(), ..fix }),
    })
}

fn bql_limit(interface: &InterfaceFacts) -> Option<InterfaceFinding> {
    if !is_exit(interface) {
        return None;
    }
    let speed = interface.speed_mbit.map(|mbit| mbit.saturating_mul(1_000_000));
    let told = |queue: &Bql, name: &str, value: u64, default: u64, what: String, why| {
        let path = queue.folder.join(name);
        InterfaceFinding {
            rule: "bql-limit",
            severity: Severity::Advice,
            what,
            why,
            fix: Some(Fix {
                command: format!("echo {default} >{}", path.display()),
                undo: format!("echo {value} >{}", path.display()),
                steps: vec![Step::Write { path, value: default.to_string() }],
            }),
        }
    };
    interface.bql.iter().find_map(|queue| {
        let (frames, time) = (2 * u64::from(interface.frame), speed.map(|speed| micros(queue.min, speed)));
        if queue.max < frames {
            let what =
                format!("limit_max of byte queue limits is {} bytes, less than two packets.", queue.max);
            return Some(told(
                queue,
                "limit_max",
                queue.max,
                BQL_MAX,
                what,
                "The device runs empty between two packets, and the line is idle.",
            ));
        }
        let time = time.filter(|time| *time > TARGET)?;
        let what = format!(
            "limit_min of byte queue limits is {} bytes, {} at {} Mbit/s.",
            queue.min,
            millis(time),
            interface.speed_mbit?
        );
        Some(told(
            queue,
            "limit_min",
            queue.min,
            0,
            what,
            "The ring may always hold that much, in front of every queue that could do better.",
        ))
    })
}

/// Whether the driver has never reported a packet to byte queue limits, although it has sent enough. A
/// `limit_max` of 0 would hide a report.
fn is_without_bql(interface: &InterfaceFacts) -> bool {
    interface.is_device
        && !interface.is_wifi
        && interface.sent > SENT
        && interface.bql.iter().all(|queue| queue.limit == 0 && queue.max > 0)
}

/// The ring below a driver without byte queue limits: its packets, and the words for them.
fn unlimited_ring(interface: &InterfaceFacts) -> Option<(u32, String)> {
    let ring = interface.ring.filter(|ring| *ring > 0 && is_without_bql(interface))?;
    let driver = interface.driver.as_deref()?;
    let time = interface.speed_mbit.map(|mbit| {
        let bytes = u64::from(ring).saturating_mul(interface.frame.into());
        format!(", {} at {mbit} Mbit/s", millis(micros(bytes, mbit.saturating_mul(1_000_000))))
    });
    let time = time.unwrap_or_default();
    let what =
        format!("The driver {driver} uses no byte queue limits, and its ring holds {ring} packets{time}.");
    Some((ring, what))
}

fn is_driver_of_a_guest(interface: &InterfaceFacts) -> bool {
    interface.driver.as_deref().is_some_and(|driver| VIRTUAL_DRIVERS.contains(&driver))
}

/// A ring that the host of this virtual machine empties. `virtio_net` has byte queue limits in newer kernels.
/// A shaper keeps the ring empty.
fn virtual_ring(interface: &InterfaceFacts) -> Option<InterfaceFinding> {
    let is_virtio = interface.driver.as_deref() == Some("virtio_net");
    let (_, what) = unlimited_ring(interface).filter(|_| is_virtio && shaper(interface).is_none())?;
    Some(InterfaceFinding {
        rule: "virtual-ring",
        severity: Severity::Note,
        what,
        why: "The host of this virtual machine empties the ring. If it takes packets more slowly than they are \
              sent, they wait there, behind every queue.",
        fix: None,
    })
}

fn ring(interface: &InterfaceFacts) -> Option<InterfaceFinding> {
    let (ring, what) = unlimited_ring(interface).filter(|_| !is_driver_of_a_guest(interface))?;
    let name = &interface.name;
    if ring <= RING {
        return Some(InterfaceFinding {
            rule: "bql-absent",
            severity: Severity::Note,
            what,
            why: "What is in the ring has passed the queue, and nothing can overtake it.",
            fix: None,
        });
    }
    Some(InterfaceFinding {
        rule: "ring",
        severity: Severity::Advice,
        what,
        why: "What is in the ring has passed the queue, and nothing can overtake it; byte queue limits would \
              keep it short.",
        fix: Some(Fix {
            command: format!("ethtool -G {name} tx 256"),
            undo: format!("ethtool -G {name} tx {ring}"),
            steps: Vec::new(),
        }),
    })
}

fn interrupts(interface: &InterfaceFacts) -> Option<InterfaceFinding> {
    let after = interface.interrupt_after.filter(|after| *after > 1000)?;
    let name = &interface.name;
    interface.is_device.then(|| InterfaceFinding {
        rule: "interrupts",
        severity: Severity::Advice,
        what: format!("The device may interrupt as late as {} after a packet arrived.", millis(after.into())),
        why: "Every packet that arrives may wait that long, also on an idle line.",
        fix: Some(Fix {
            command: format!("ethtool -C {name} rx-usecs 50"),
            undo: format!("ethtool -C {name} rx-usecs {after}"),
            steps: Vec::new(),
        }),
    })
}

/// The shaper at the root.
fn shaper(interface: &InterfaceFacts) -> Option<(&str, Shaper)> {
    let root = root(interface)?;
    Some((&root.kind, root.shaper?))
}

/// The shapers to which filters send packets that arrive at an interface: name, kind and settings.
fn arrivals<'f>(
    interface: &'f InterfaceFacts,
    facts: &'f Facts,
) -> impl Iterator<Item = (&'f str, &'f str, Shaper)> {
    let there =
        interface.arrives_in.iter().filter_map(|name| facts.interfaces.iter().find(|i| i.name == *name));
    there.filter(|there| there.is_up).filter_map(|there| {
        let (kind, shaper) = shaper(there)?;
        Some((there.name.as_str(), kind, shaper))
    })
}

fn above_the_line(interface: &InterfaceFacts, facts: &Facts) -> Option<InterfaceFinding> {
    let leaves = shaper(interface).map(|(kind, shaper)| (kind.to_owned(), shaper));
    let arrives = arrivals(interface, facts)
        .map(|(name, kind, shaper)| (format!("{kind} on {name}, which gets arriving packets,"), shaper));
    // The speed of a tunnel or bridge is not that of a line.
    let is_line = interface.is_device || interface.kind.as_deref() == Some("veth");
    let mbit = interface.speed_mbit.filter(|_| is_line)?;
    let (who, shaper) = leaves
        .into_iter()
        .chain(arrives)
        .find(|(_, shaper)| shaper.rate_bps > mbit.saturating_mul(1_000_000))?;
    Some(InterfaceFinding {
        rule: "shaper-above-line",
        severity: Severity::Fault,
        what: format!("{who} shapes to {}, and the line has {mbit} Mbit/s.", Rate(shaper.rate_bps)),
        why: "A shaper above the speed of the line has no queue: packets wait in the device, as without it.",
        fix: None,
    })
}

/// Finds a shaper on top of another one, for packets that leave and for those that arrive. A shaper with a
/// lower rate, for a part of the traffic, is fine.
fn double_shaping(interface: &InterfaceFacts, below: &str, facts: &Facts) -> Vec<InterfaceFinding> {
    let Some(lower) = facts.interfaces.iter().find(|lower| lower.name == below && lower.is_up) else {
        return Vec::new();
    };
    let told = |what| InterfaceFinding {
        rule: "double-shaping",
        severity: Severity::Advice,
        what,
        why: "Only one of the two can be the slowest link and have a queue; the other one costs time and gives nothing.",
        // Its settings would be lost.
        fix: None,
    };
    let leaves = shaper(interface).zip(shaper(lower)).filter(|((_, a), (_, b))| a.rate_bps >= b.rate_bps);
    let leaves = leaves.map(|((kind, upper), (lower_kind, lower))| {
        told(format!(
            "{kind} shapes to {}, and then {lower_kind} on {below} shapes the same packets to {}.",
            Rate(upper.rate_bps),
            Rate(lower.rate_bps)
        ))
    });
    let mut pairs =
        arrivals(interface, facts).flat_map(|upper| arrivals(lower, facts).map(move |lower| (upper, lower)));
    let arrives = pairs.find(|((_, _, upper), (_, _, lower))| upper.rate_bps >= lower.rate_bps);
    let arrives = arrives.map(|((name, kind, upper), (lower_name, lower_kind, lower))| {
        told(format!(
            "What arrives is shaped twice: by {lower_kind} on {lower_name} to {}, and then by {kind} on {name} to {}.",
            Rate(lower.rate_bps),
            Rate(upper.rate_bps)
        ))
    });
    leaves.into_iter().chain(arrives).collect()
}

fn overhead(interface: &InterfaceFacts) -> Option<InterfaceFinding> {
    let (kind, shaper) = shaper(interface)?;
    let is_ppp = interface.name.starts_with("ppp") || interface.kind.as_deref() == Some("ppp");
    if !is_ppp || shaper.has_overhead {
        return None;
    }
    let name = &interface.name;
    let fix = (kind == "cake").then(|| Fix {
        command: format!("tc qdisc change dev {name} root cake pppoe-ptm  # VDSL; ADSL: conservative"),
        undo: format!("tc qdisc change dev {name} root cake noatm mpu 0 raw"),
        steps: Vec::new(),
    });
    Some(InterfaceFinding {
        rule: "overhead",
        severity: Severity::Advice,
        what: format!(
            "{kind} shapes to {} and counts 0 bytes for what the link adds.",
            Rate(shaper.rate_bps)
        ),
        why: "PPPoE and DSL add tens of bytes to each packet; with small packets the line is then slower \
              than the shaper, and the queue is in the modem.",
        fix,
    })
}

fn super_packets(interface: &InterfaceFacts) -> Option<InterfaceFinding> {
    let (kind, shaper) = shaper(interface)?;
    let name = &interface.name;
    let time = micros(shaper.longest.into(), shaper.rate_bps);
    let is_ifb = interface.kind.as_deref() == Some("ifb");
    let is_long = u64::from(shaper.longest) > 2 * u64::from(interface.frame);
    let is_on = !interface.super_packets.is_empty();
    (is_on && is_long && !is_ifb && time > TARGET).then(|| InterfaceFinding {
        rule: "super-packets",
        severity: Severity::Advice,
        what: format!(
            "TSO or GSO is on, and {kind} sends super-packets of up to {} bytes in one piece: {} at {}.",
            shaper.longest,
            millis(time),
            Rate(shaper.rate_bps)
        ),
        why: "Every other packet waits while a super-packet leaves; cake cuts them.",
        fix: Some(Fix {
            command: format!("ethtool -K {name} tso off gso off"),
            // `tso on` would also switch on what was off.
            undo: format!("ethtool -K {name} {} on", interface.super_packets.join(" on ")),
            steps: Vec::new(),
        }),
    })
}

/// How long `bytes` take, in microseconds.
fn micros(bytes: u64, rate_bps: u64) -> u64 {
    let micros = u128::from(bytes) * 8_000_000 / u128::from(rate_bps.max(1));
    u64::try_from(micros).unwrap_or(u64::MAX)
}

/// Microseconds, as text in ms.
fn millis(micros: u64) -> String {
    format!("{}.{} ms", micros / 1000, micros / 100 % 10)
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
