//! From settings to changes.

use std::fmt;

use goodqueue::spec::QueueParams;
use goodqueue::tbf::LinkLayer;
use goodqueue::{Direction, ETHERNET_FRAME, Link, QueueSpec, Rate, SpecError};
use goodqueue_wire::netlink::Interface;
use serde::{Deserialize, Serialize};

use super::layout::Layout;
use super::link::{LinkBytes, LinkWords};
use crate::tc::{CakeOptions, Change, HtbClass, Parent, Qdisc};
use crate::{Error, Result};

/// The queues of the two directions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Queues {
    /// A layout. With `cake`, the hosts on this side get equal shares.
    Layout(Layout),
    /// Queues as the user wrote them, without their rates.
    Written {
        /// For what leaves.
        up: String,
        /// For what arrives.
        down: String,
    },
}

impl Queues {
    /// The text of a direction, without its rate.
    fn written(&self, rate: Rate, direction: Direction) -> String {
        match (self, direction) {
            (Queues::Layout(layout), _) => layout.written(rate, direction),
            (Queues::Written { up, .. }, Direction::Up) => up.clone(),
            (Queues::Written { down, .. }, Direction::Down) => down.clone(),
        }
    }
}

/// The settings of a shaper.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The interface towards the link.
    pub interface: String,
    /// The rate for what leaves; `None`: it is not shaped.
    pub up: Option<Rate>,
    /// The rate for what arrives; `None`: it is not shaped.
    pub down: Option<Rate>,
    /// The queues.
    pub queues: Queues,
    /// The link behind the interface: how many bytes it adds to a packet, and how it frames it.
    pub link: LinkWords,
    /// Bytes that the link adds to a packet, without VLAN tags, instead of those of `link`.
    pub overhead: Option<i16>,
    /// The smallest length that a packet counts as on the link, bytes, instead of that of `link`.
    pub mpu: Option<u16>,
    /// Whether an interface with several queues gets a `cake` in each (`cake_mq`), in layouts: see
    /// [`has_cake_mq`].
    pub multi_queue: bool,
}

/// Whether this kernel may have `cake_mq`: Linux 7.0 and later.
#[must_use]
pub fn has_cake_mq() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.split('.').next().and_then(|major| major.parse().ok()).is_some_and(|major: u32| major >= 7)
}

/// The changes that settings need.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The changes, in their order.
    pub changes: Vec<Change>,
    /// What is shaped.
    pub shaped: Both,
}

/// The shapers of an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Both {
    /// The one for what leaves.
    pub up: Option<Shaper>,
    /// The one for what arrives, on an IFB.
    pub down: Option<Shaper>,
}

impl Both {
    /// The IFB.
    #[must_use]
    pub fn ifb(&self) -> Option<&str> {
        self.down.as_ref().map(|down| down.dev.as_str())
    }

    /// The shapers that exist, with their direction.
    pub fn each(&self) -> impl Iterator<Item = (Direction, &Shaper)> {
        let up = self.up.as_ref().map(|up| (Direction::Up, up));
        up.into_iter().chain(self.down.as_ref().map(|down| (Direction::Down, down)))
    }
}

impl fmt::Display for Both {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (direction, shaper)) in self.each().enumerate() {
            let (comma, name, rate) =
                (if place > 0 { "; " } else { "" }, direction.name(), Rate(shaper.rate_bps));
            write!(f, "{comma}{name} {rate}, {} on {}", shaper.kind, shaper.dev)?;
        }
        Ok(())
    }
}

/// One shaper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shaper {
    /// The interface at whose root it is.
    pub dev: String,
    /// Its kind.
    pub kind: String,
    /// Its rate, bit/s.
    pub rate_bps: u64,
}

/// The least share of a queue in the rate of `cake_mq`: a full packet takes no longer than the 200 us between
/// two counts of active queues (`sync_time` in `sch_cake.c`). With less, a queue that sends seems idle, and
/// together the queues exceed the rate (docs/sqm.md).
const MULTI_QUEUE: Rate = Rate(60_560_000);
/// Major number of the handle of our root queues.
pub(crate) const HANDLE: u16 = 1;
/// The text that marks an IFB as ours.
pub(super) const ALIAS: &str = "goodqueue sqm ";

/// The name of the IFB of an interface, as in sqm-scripts. Names have at most 15 bytes.
fn ifb_of(interface: &str) -> String {
    let mut name = format!("ifb4{interface}");
    while name.len() > 15 {
        name.pop();
    }
    name
}

/// What to change on `interface` for these settings.
///
/// # Errors
/// `Refused` if the kernel cannot provide a queue, or no direction has a rate.
pub fn plan(settings: &Settings, interface: &Interface) -> Result<Plan> {
    let (mut changes, mut shaped) = (Vec::new(), Both::default());
    let shaper = |dev: &str, queue: &QueueSpec, rate: Rate| {
        Some(Shaper { dev: dev.into(), kind: queue.name().into(), rate_bps: rate.0 })
    };
    if let Some(rate) = settings.up {
        let queue = settings.queue(rate, Direction::Up)?;
        changes.extend(shape(&settings.interface, &queue, settings, rate, interface)?);
        shaped.up = shaper(&settings.interface, &queue, rate);
        if let Some(Change::AddQdisc { qdisc, .. }) = changes.first()
            && let Some(up) = &mut shaped.up
        {
            qdisc.kind().clone_into(&mut up.kind);
        }
    }
    if let Some(rate) = settings.down {
        let (name, dev) = (ifb_of(&settings.interface), settings.interface.clone());
        let queue = settings.queue(rate, Direction::Down)?;
        changes.push(Change::AddIfb { name: name.clone(), alias: format!("{ALIAS}{dev}"), queues: 1 });
        changes.extend(shape(&name, &queue, settings, rate, interface)?);
        changes.push(Change::SetUp(name.clone()));
        changes.push(Change::AddIngress(dev.clone()));
        changes.push(Change::Redirect { dev, to: name.clone() });
        shaped.down = shaper(&name, &queue, rate);
    }
    if changes.is_empty() {
        return Err(Error::Refused(
            "neither --up nor --down has a rate, so there is nothing to shape; give a rate a little below what the \
             link carries, as in --up 18mbit --down 90mbit"
                .into(),
        ));
    }
    Ok(Plan { changes, shaped })
}

/// The note for a user who wrote `cake_mq` and gets one `cake`, because the kernel has no `cake_mq`.
#[must_use]
pub fn without_cake_mq(settings: &Settings, plan: &Plan) -> Option<String> {
    let Queues::Written { up, .. } = &settings.queues else { return None };
    let is_asked = settings.up.is_some() && up.starts_with("cake_mq");
    (is_asked && !plan.is_multi_queue()).then(|| {
        format!(
            "this kernel has no cake_mq (Linux 7.0 and later have it), so one cake shapes all transmit queues of {}",
            settings.interface
        )
    })
}

impl Plan {
    /// Whether it has a `cake_mq`.
    pub(super) fn is_multi_queue(&self) -> bool {
        let is_mq = |change: &Change| matches!(change, Change::AddQdisc { qdisc: Qdisc::Cake(cake), .. } if cake.is_multi_queue);
        self.changes.iter().any(is_mq)
    }

    /// The changes that give the existing queues, made by the plan `before`, the parameters of this plan.
    pub(crate) fn after(self, before: Plan) -> Vec<Change> {
        let there: Vec<Change> = before.of_standing().collect();
        self.of_standing().filter(|change| !there.contains(change)).collect()
    }

    fn of_standing(self) -> impl Iterator<Item = Change> {
        self.changes.into_iter().filter_map(|change| match change {
            Change::AddQdisc { dev, parent: Parent::Root, handle, qdisc: qdisc @ Qdisc::Cake(_) } => {
                Some(Change::ReplaceRoot { dev, handle, qdisc })
            }
            Change::AddClass { dev, class, htb, .. } => Some(Change::ChangeClass { dev, class, htb }),
            // The quantum is named even if it is the default of a new queue; otherwise the old one would
            // stay.
            Change::AddQdisc {
                dev,
                parent: Parent::Class(_, class),
                handle,
                qdisc: Qdisc::FqCodel(mut params),
            } => {
                params.quantum.get_or_insert(ETHERNET_FRAME);
                Some(Change::ChangeLeaf { dev, class, handle, params })
            }
            _ => None,
        })
    }
}

impl Settings {
    /// The queue of a direction, with its rate.
    fn queue(&self, rate: Rate, direction: Direction) -> Result<QueueSpec> {
        let text = self.queues.written(rate, direction);
        let is_layout = matches!(self.queues, Queues::Layout(_));
        let name = text.split([',', ':']).next().unwrap_or_default();
        let (parameter, hosts) = match name {
            "htb" => ("rate", ""),
            "cake" if is_layout && direction == Direction::Up => {
                ("bandwidth", ",isolation=dual-srchost,nat=on")
            }
            "cake" if is_layout => ("bandwidth", ",isolation=dual-dsthost,nat=on"),
            "cake" | "cake_mq" => ("bandwidth", ""),
            other => {
                let is_known = !matches!(other.parse::<QueueSpec>(), Err(SpecError::UnknownQueue { .. }));
                let why = if is_known { "it does not shape" } else { "there is no such queue" };
                return Err(Error::Refused(format!(
                    "--queue {other}: {why}; the kernel's shapers are cake and htb, as in --queue cake:diffserv4 or \
                     --queue htb,sqm=simple"
                )));
            }
        };
        self.check_once(&text)?;
        let text = format!("{text}{hosts},{parameter}={rate}");
        text.parse().map_err(|error| Error::Refused(format!("--queue {text}: {error}")))
    }

    /// Fails if both a queue, as written, and the flags describe the same property of the link: only one of
    /// them would count.
    fn check_once(&self, written: &str) -> Result<()> {
        let is_htb = written.starts_with("htb");
        let (link, overhead, mpu) = (self.link, self.overhead.is_some(), self.mpu.is_some());
        // `htb` uses only the overhead and the framing of a kind of link.
        let of_link = [
            ("link", link.kind.is_some()),
            ("atm", link.framing.is_some()),
            ("ether-vlan", link.tags > 0),
            ("linklayer", link.kind.is_some() || link.framing.is_some()),
            ("overhead", is_htb && (link.kind.is_some() || link.tags > 0)),
            ("mpu", is_htb && link.kind.is_some()),
        ];
        let of_link = of_link.map(|(name, is_given)| ("--link", name, is_given));
        let all = of_link.into_iter().chain([("--overhead", "overhead", overhead), ("--mpu", "mpu", mpu)]);
        let is_there =
            |name: &str| written.split(',').any(|word| word.trim().starts_with(&format!("{name}=")));
        match all.into_iter().find(|(_, name, is_given)| *is_given && is_there(name)) {
            None => Ok(()),
            Some((flag, name, _)) => Err(Error::Refused(format!(
                "--queue {written} and {flag}: both say what the link adds to a packet; leave `{name}` out of the queue, \
                 or leave {flag} out"
            ))),
        }
    }

    /// The queue of a direction for a program that shapes by itself. A queue that does not shape has no rate;
    /// the line below it has one. Arriving packets have passed the bottleneck, which `cake` must know.
    ///
    /// # Errors
    /// `Refused` if there is no such queue, it cannot count what the link adds, or it wants firewall marks.
    pub fn own_queue(&self, rate: Rate, direction: Direction) -> Result<QueueSpec> {
        let written = self.queues.written(rate, direction);
        self.check_once(&written)?;
        let number =
            |name: &str, value: Option<i64>| value.map_or(String::new(), |value| format!(",{name}={value}"));
        let text = match written.split([',', ':']).next().unwrap_or_default() {
            "cake" | "cake_mq" => {
                let is_given = written.contains("ingress=");
                let ingress = if direction == Direction::Up || is_given { "" } else { ",ingress=on" };
                self.link.check(self.overhead)?;
                let link = self.link.parameters();
                let (overhead, mpu) = (self.overhead.map(i64::from), self.mpu.map(i64::from));
                format!(
                    "{written},bandwidth={rate}{ingress}{link}{}{}",
                    number("overhead", overhead),
                    number("mpu", mpu)
                )
            }
            "htb" => {
                let link = LinkBytes::of(self.link, self.overhead, self.mpu)?;
                // The Ethernet header is counted already.
                let overhead = link.overhead.map(|bytes| i64::from(bytes) - 14);
                let atm = if link.is_atm { ",linklayer=atm" } else { "" };
                format!(
                    "{written},rate={rate}{}{}{atm}",
                    number("overhead", overhead),
                    number("mpu", link.mpu.map(i64::from))
                )
            }
            other if other.contains('/') || other.ends_with(".so") => {
                return Err(Error::Refused(format!(
                    "--queue {other}: a queue from a library runs in goodqueue link, bridge and run; for \
                     shape and autorate, goodqueue queues lists all"
                )));
            }
            other if self.link != LinkWords::default() || self.overhead.is_some() || self.mpu.is_some() => {
                return Err(Error::Refused(format!(
                    "--queue {other}: only cake and htb count what the link adds to a packet; leave --link, --overhead \
                     and --mpu out, and take a lower rate"
                )));
            }
            _ => written,
        };
        let queue: QueueSpec =
            text.parse().map_err(|error| Error::Refused(format!("--queue {text}: {error}")))?;
        if queue.needs().marks {
            return Err(Error::Refused(format!(
                "--queue {queue}: a frame loses its firewall mark on the way to our queues, so `fwmark` \
                 selects no tin; leave it out, or use goodqueue sqm"
            )));
        }
        Ok(queue)
    }
}

/// Fails if `cake_mq`, as written, is not possible. The IFB for arriving packets has one queue, and gets a
/// `cake`.
fn check_written(queue: &QueueSpec, direction: Direction, interface: &Interface) -> Result<()> {
    let count = queue.info().parameters.iter().find(|parameter| parameter.name == "queues");
    if count.is_some_and(|count| queue.given(count).is_some()) {
        return Err(Error::Refused(format!(
            "--queue {queue}: the kernel has a cake in each transmit queue of {}; leave `queues` out",
            interface.name
        )));
    }
    if direction == Direction::Up && interface.tx_queues < 2 {
        return Err(Error::Refused(format!(
            "--queue {queue}: {} has one transmit queue, and the kernel refuses cake_mq there; write cake",
            interface.name
        )));
    }
    Ok(())
}

/// Puts a shaper at the root of `dev`, for what passes `interface`.
fn shape(
    dev: &str,
    queue: &QueueSpec,
    settings: &Settings,
    rate: Rate,
    interface: &Interface,
) -> Result<Vec<Change>> {
    let root = |qdisc| Change::AddQdisc { dev: dev.into(), parent: Parent::Root, handle: HANDLE, qdisc };
    let direction = if dev == settings.interface { Direction::Up } else { Direction::Down };
    match queue.params() {
        QueueParams::Cake(_) | QueueParams::CakeMq(_) => {
            let (mut setup, is_written) = match queue.params() {
                QueueParams::CakeMq(setup) => (setup.instance(), true),
                QueueParams::Cake(setup) => (*setup, false),
                _ => return Err(Error::Refused(format!("{queue}: it is no cake"))),
            };
            if is_written {
                check_written(queue, direction, interface)?;
            }
            settings.link.check(settings.overhead)?;
            setup.link = settings.link.kind.unwrap_or(setup.link);
            setup.atm = settings.link.framing.or(setup.atm);
            setup.ether_vlan = if settings.link.tags > 0 { settings.link.tags } else { setup.ether_vlan };
            setup.overhead = settings.overhead.or(setup.overhead);
            setup.mpu = settings.mpu.or(setup.mpu);
            // Arriving packets have passed the bottleneck.
            setup.ingress.get_or_insert(direction == Direction::Down);
            let mut cake = CakeOptions::new(&setup, rate)?;
            // It has no `autorate-ingress` (`sch_cake.c`).
            let by_default = rate.0 >= u64::from(interface.tx_queues) * MULTI_QUEUE.0
                && matches!(settings.queues, Queues::Layout(_))
                && !cake.params.given.autorate_ingress;
            cake.is_multi_queue = settings.multi_queue
                && direction == Direction::Up
                && interface.tx_queues > 1
                && (is_written || by_default);
            Ok(vec![root(Qdisc::Cake(cake))])
        }
        QueueParams::Htb(params) => {
            let mut params = *params;
            let link = LinkBytes::of(settings.link, settings.overhead, settings.mpu)?;
            if let Some(bytes) = link.overhead {
                // The kernel counts the interface's own header; cake's overhead begins at the network header.
                let beyond = i64::from(bytes) - i64::from(interface.header);
                params.overhead = u16::try_from(beyond).map_err(|_| {
                    Error::Refused(format!(
                        "the link adds {bytes} bytes to a packet, fewer than the {} of {}'s own header, which \
                         htb always counts; use --layout piece_of_cake",
                        interface.header, settings.interface
                    ))
                })?;
            }
            params.mpu = link.mpu.unwrap_or(params.mpu);
            if link.is_atm {
                params.linklayer = LinkLayer::Atm;
            }
            let Some(QueueParams::FqCodel(leaf)) = queue.leaf().map(|leaf| *leaf.params()) else {
                return Err(Error::Refused(format!(
                    "--queue {queue}: on the router the classes of htb have fq_codel; leave `leaf` out"
                )));
            };
            let tree = params.tree(Link::ethernet(rate));
            // Minor numbers: 1 is the first class, 11 hexadecimal and on are its children.
            let minor = |place: usize| if place == 0 { 1 } else { 0x10 + place as u16 };
            let default = tree.map[0];
            let mut changes = vec![root(Qdisc::Htb { default: minor(default.into()) })];
            for (place, class) in tree.classes.iter().enumerate().take(tree.number) {
                let htb = HtbClass(*class);
                let parent = class.parent.map_or(0, minor);
                changes.push(Change::AddClass { dev: dev.into(), parent, class: minor(place), htb });
                if tree.leaves[place] {
                    let qdisc = Qdisc::FqCodel(leaf);
                    let (parent, handle) = (Parent::Class(1, minor(place)), minor(place) << 4);
                    changes.push(Change::AddQdisc { dev: dev.into(), parent, handle, qdisc });
                }
            }
            for is_v6 in [false, true] {
                for (dscp, class) in (0..).zip(tree.map).filter(|(_, class)| *class != default) {
                    let class = minor(class.into());
                    changes.push(Change::ClassifyDscp { dev: dev.into(), dscp, is_v6, class });
                }
            }
            Ok(changes)
        }
        _ => unreachable!("`Settings::queue` has only cake and htb"),
    }
}

impl fmt::Display for Plan {
    /// The commands of iproute2, one per line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.changes.iter().try_for_each(|change| writeln!(f, "{change}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings {
            interface: "eth0".into(),
            up: Some(Rate(18_000_000)),
            down: Some(Rate(90_000_000)),
            queues: Queues::Layout(Layout::PieceOfCake),
            link: LinkWords::default(),
            overhead: None,
            mpu: None,
            multi_queue: true,
        }
    }

    fn interface(header: u32) -> Interface {
        Interface {
            index: 2,
            name: "eth0".into(),
            kind: None,
            alias: None,
            is_up: true,
            is_loopback: false,
            header,
            mtu: 1500,
            tx_queues: 1,
            tx_queue_len: 1000,
        }
    }

    fn link(words: &str) -> LinkWords {
        words.parse().expect(words)
    }

    fn commands(settings: &Settings) -> String {
        plan(settings, &interface(14)).expect("a plan").to_string()
    }

    #[test]
    fn a_piece_of_cake_in_both_directions() {
        assert_eq!(
            commands(&settings()),
            "\
tc qdisc add dev eth0 root handle 1: cake bandwidth 18mbit besteffort dual-srchost nat nowash egress no-ack-filter split-gso rtt 100000us noatm raw
ip link add name ifb4eth0 type ifb
tc qdisc add dev ifb4eth0 root handle 1: cake bandwidth 90mbit besteffort dual-dsthost nat nowash ingress no-ack-filter split-gso rtt 100000us noatm raw
ip link set dev ifb4eth0 up
tc qdisc add dev eth0 handle ffff: ingress
tc filter add dev eth0 parent ffff: protocol all prio 10 matchall action mirred egress redirect dev ifb4eth0
"
        );
    }

    #[test]
    fn several_queues_have_a_cake_each_where_the_kernel_can() {
        let settings = || Settings { up: Some(Rate(250_000_000)), ..settings() };
        let first = |settings: &Settings, tx_queues| {
            let interface = Interface { tx_queues, ..interface(14) };
            let plan = plan(settings, &interface).expect("a plan");
            plan.to_string().lines().next().expect("a line")
                [.."tc qdisc add dev eth0 root handle 1: cake_mq".len()]
                .to_owned()
        };
        assert!(first(&settings(), 4).ends_with("cake_mq"));
        assert!(!first(&settings(), 1).ends_with("cake_mq"));
        assert!(!first(&settings(), 5).ends_with("cake_mq"), "too slow for so many");
        assert!(!first(&Settings { multi_queue: false, ..settings() }, 4).ends_with("cake_mq"));
        let written = Queues::Written { up: "cake".into(), down: "cake".into() };
        assert!(
            !first(&Settings { queues: written, ..settings() }, 4).ends_with("cake_mq"),
            "what was written"
        );
        // At any rate, and only for what leaves.
        let written = Queues::Written { up: "cake_mq".into(), down: "cake_mq".into() };
        let own = Settings { queues: written, ..settings() };
        assert!(first(&own, 5).ends_with("cake_mq"));
        let four = Interface { tx_queues: 4, ..interface(14) };
        let text = plan(&own, &four).expect("a plan").to_string();
        assert!(text.contains("dev ifb4eth0 root handle 1: cake bandwidth"), "{text}");
        let without = Settings { multi_queue: false, ..own.clone() };
        let one = plan(&without, &four).expect("a plan");
        assert!(!one.to_string().contains("cake_mq"), "one cake instead");
        let told = without_cake_mq(&without, &one).expect("a note");
        assert!(told.contains("no cake_mq") && told.contains("eth0"), "{told}");
        assert_eq!(without_cake_mq(&own, &plan(&own, &four).expect("a plan")), None);
        assert_eq!(without_cake_mq(&settings(), &one), None, "nobody asked for it");
    }

    #[test]
    fn htb_counts_the_link_beyond_the_interfaces_own_header() {
        let queues = Queues::Layout(Layout::Simplest);
        let link = link("conservative");
        let settings = Settings { down: None, queues, link, ..settings() };
        assert_eq!(
            commands(&settings),
            "\
tc qdisc add dev eth0 root handle 1: htb default 1
tc class add dev eth0 parent 1: classid 1:1 htb rate 18mbit ceil 18mbit burst 2250b cburst 2250b quantum 2250 prio 0 overhead 34 linklayer atm
tc qdisc add dev eth0 parent 1:1 handle 10: fq_codel limit 10240 flows 1024 target 5000us interval 100000us memory_limit 33554432 noecn drop_batch 64 quantum 300
"
        );
        let ppp = plan(&settings, &interface(0)).expect("a plan").to_string();
        assert!(ppp.contains(" overhead 48 linklayer atm"), "{ppp}");
    }

    #[test]
    fn leaves_know_the_rate_and_the_direction() {
        let leaves = |up: u64, down: u64| {
            let queues = Queues::Layout(Layout::Simplest);
            let settings = Settings { up: Some(Rate(up)), down: Some(Rate(down)), queues, ..settings() };
            let text = commands(&settings);
            let mut leaves =
                text.lines().filter_map(|line| line.split_once(" fq_codel ")).map(|(_, leaf)| leaf);
            [0, 1].map(|_| leaves.next().expect("a leaf").replace("memory_limit 33554432 ", ""))
        };
        let [up, down] = leaves(1_000_000, 200_000_000);
        // 1514 bytes at 1 Mbit/s.
        assert_eq!(
            up,
            "limit 10240 flows 1024 target 12112us interval 107112us noecn drop_batch 64 quantum 300"
        );
        assert_eq!(down, "limit 10240 flows 1024 target 5000us interval 100000us ecn drop_batch 64");
        let [up, down] = leaves(2_422_400, 99_999_999);
        assert!(up.contains("target 5000us interval 100000us"), "just one packet's time: {up}");
        assert!(down.ends_with(" quantum 300"), "{down}");
        // Ours has the same parameters, and a queue that the user wrote out stays as written.
        let of = |queues: Queues| {
            let settings = Settings { queues, ..settings() };
            settings.own_queue(Rate(1_000_000), Direction::Up).expect("a queue").to_string()
        };
        let own = of(Queues::Layout(Layout::Simple));
        assert!(
            own.contains("leaf.target=12112us,leaf.interval=107112us,leaf.quantum=300,leaf.ecn=off"),
            "{own}"
        );
        let written = of(Queues::Written { up: "htb,sqm=simple".into(), down: String::new() });
        assert!(!written.contains("leaf."), "{written}");
    }

    #[test]
    fn a_rate_that_changes_takes_the_leaves_along_where_they_depend_on_it() {
        let at = |rate: u64, layout: Layout| {
            let queues = Queues::Layout(layout);
            let settings = Settings { up: Some(Rate(rate)), down: None, queues, ..settings() };
            plan(&settings, &interface(14)).expect("a plan")
        };
        let changes = |from: u64, to: u64, layout: Layout| {
            let changes = at(to, layout).after(at(from, layout));
            changes.iter().map(|change| format!("{change}\n")).collect::<String>()
        };
        assert_eq!(
            changes(8_000_000, 1_000_000, Layout::Simplest),
            "\
tc class change dev eth0 classid 1:1 htb rate 1mbit ceil 1mbit burst 1514b cburst 1514b quantum 1514 prio 0
tc qdisc change dev eth0 parent 1:1 handle 10: fq_codel limit 10240 target 12112us interval 107112us memory_limit \
             33554432 noecn drop_batch 64 quantum 300
"
        );
        let back = changes(1_000_000, 200_000_000, Layout::Simplest);
        assert!(
            back.contains("target 5000us interval 100000us") && back.contains("quantum 1514\n"),
            "{back}"
        );
        let above = changes(8_000_000, 9_000_000, Layout::Simple);
        assert!(above.contains("tc class change") && !above.contains("fq_codel"), "{above}");
        assert_eq!(changes(900_000, 1_000_000, Layout::Simple).matches("target 12112us").count(), 3);
        assert_eq!(changes(8_000_000, 8_000_000, Layout::Simple), "", "nothing to do");
    }

    /// The keywords of tc-cake(8), each as tc itself would set it, and what our own `cake` makes of them.
    #[test]
    fn links_are_the_words_of_tc() {
        for (words, kernel, own) in [
            ("atm", "atm raw", "atm=atm"),
            ("ptm", "ptm raw", "atm=ptm"),
            ("noatm", "noatm raw", "atm=noatm"),
            ("ethernet,ether-vlan", "noatm overhead 42 mpu 84", "link=ethernet,ether-vlan=1"),
            ("pppoe-ptm,ether-vlan,ether-vlan", "ptm overhead 38", "link=pppoe-ptm,ether-vlan=2"),
            ("docsis,ptm", "ptm overhead 18 mpu 64", "link=docsis,atm=ptm"),
        ] {
            let settings = Settings { down: None, link: link(words), ..settings() };
            let text = commands(&settings);
            assert!(text.trim_end().ends_with(kernel), "{words}: {text}");
            let queue = settings.own_queue(Rate(18_000_000), Direction::Up).expect(words).to_string();
            for parameter in own.split(',') {
                assert!(queue.contains(parameter), "{words}: {queue}");
            }
        }
        let given = Settings { down: None, link: link("ether-vlan"), overhead: Some(22), ..settings() };
        assert!(commands(&given).trim_end().ends_with("noatm overhead 26"), "{}", commands(&given));
        let queues = Queues::Layout(Layout::Simplest);
        let htb = Settings { down: None, queues, link: link("pppoe-vcmux,noatm,ether-vlan"), ..settings() };
        assert!(commands(&htb).contains(" overhead 22\n"), "32 + 4 - 14: {}", commands(&htb));
    }

    #[test]
    fn a_queue_may_say_what_the_flags_leave_open() {
        let queue = "cake,overhead=22".to_owned();
        let queues = Queues::Written { up: queue.clone(), down: queue };
        let text = commands(&Settings { down: None, queues, link: link("docsis"), ..settings() });
        assert!(text.trim_end().ends_with("noatm overhead 22 mpu 64"), "{text}");
    }

    #[test]
    fn the_classes_of_simple_are_those_of_the_simulator() {
        let queues = Queues::Layout(Layout::Simple);
        let text = commands(&Settings { down: None, queues, ..settings() });
        let classes: Vec<&str> = text.lines().filter(|line| line.contains("tc class")).collect();
        let expected = [
            "parent 1: classid 1:1 htb rate 18mbit ceil 18mbit",
            "parent 1:1 classid 1:11 htb rate 128kbit ceil 6mbit",
            "parent 1:1 classid 1:12 htb rate 3mbit ceil 17984kbit",
            "parent 1:1 classid 1:13 htb rate 3mbit ceil 17984kbit",
        ];
        assert_eq!(classes.len(), expected.len());
        for (class, expected) in classes.iter().zip(expected) {
            assert!(class.contains(expected), "{class}");
        }
        assert!(text.contains("protocol ip prio 10 u32 match ip tos 0xb8 0xfc flowid 1:11"), "{text}");
        assert!(
            text.contains("protocol ipv6 prio 11 u32 match ip6 priority 0x20 0xfc flowid 1:13"),
            "{text}"
        );
    }

    #[test]
    fn what_cannot_be_had_is_refused_with_its_cure() {
        let own = |queue: &str| Queues::Written { up: queue.into(), down: queue.into() };
        let simple = Queues::Layout(Layout::Simple);
        for (settings, words) in [
            (Settings { up: None, down: None, ..settings() }, "as in --up 18mbit"),
            (
                Settings { queues: own("tbf"), ..settings() },
                "does not shape; the kernel's shapers are cake and htb",
            ),
            (
                Settings { queues: own("cak"), ..settings() },
                "cak: there is no such queue; the kernel's shapers",
            ),
            (Settings { queues: own("cake,flows=64"), ..settings() }, "no parameter for it; leave it out"),
            (Settings { queues: own("cake,nut=on"), ..settings() }, "nat"),
            (Settings { queues: own("cake_mq"), ..settings() }, "has one transmit queue"),
            (Settings { queues: own("cake_mq,queues=4"), ..settings() }, "leave `queues` out"),
            (Settings { queues: own("htb,leaf=codel"), ..settings() }, "leave `leaf` out"),
            (Settings { queues: simple.clone(), link: link("pppoe-ptm"), ..settings() }, "a rate 1.6% lower"),
            (Settings { queues: simple, overhead: Some(4), ..settings() }, "fewer than the 14"),
            (Settings { link: link("ether-vlan"), ..settings() }, "--link ethernet,ether-vlan"),
            (
                Settings { queues: own("cake,link=docsis"), link: link("pppoe-ptm"), ..settings() },
                "--queue cake,link=docsis and --link: both say",
            ),
            (
                Settings { queues: own("cake,atm=ptm"), link: link("docsis,noatm"), ..settings() },
                "leave `atm` out of the queue, or leave --link out",
            ),
            (
                Settings { queues: own("cake,overhead=22"), overhead: Some(44), ..settings() },
                "--queue cake,overhead=22 and --overhead",
            ),
            (
                Settings { queues: own("htb,linklayer=atm"), link: link("conservative"), ..settings() },
                "leave `linklayer` out",
            ),
            (Settings { queues: own("htb,mpu=64"), mpu: Some(84), ..settings() }, "and --mpu"),
        ] {
            let error = plan(&settings, &interface(14)).expect_err(words).to_string();
            assert!(error.contains(words), "{error}");
            if words.contains("--link: both") {
                let error = settings.own_queue(Rate(1_000_000), Direction::Up).expect_err(words).to_string();
                assert!(error.contains(words), "{error}");
            }
        }
    }

    #[test]
    fn our_own_queues_see_no_firewall_marks() {
        let own = |queue: &str| {
            let queues = Queues::Written { up: queue.into(), down: queue.into() };
            Settings { queues, ..settings() }.own_queue(Rate(1_000_000), Direction::Up)
        };
        for queue in ["cake,fwmark=7", "cake_mq,fwmark=7", "prio,leaf=cake,leaf.fwmark=7"] {
            let error = own(queue).expect_err(queue).to_string();
            assert!(error.contains("leave it out, or use goodqueue sqm"), "{error}");
        }
        own("cake,fwmark=0").expect("no marks");
    }

    #[test]
    fn the_name_of_an_ifb_fits_into_fifteen_bytes() {
        assert_eq!(ifb_of("eth0"), "ifb4eth0");
        assert_eq!(ifb_of("enp0s31f6.1234"), "ifb4enp0s31f6.1");
    }
}
