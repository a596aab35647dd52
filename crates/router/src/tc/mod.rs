//! Changes to interfaces and queueing disciplines. A [`Change`] is a message to the kernel, and prints as
//! the command of iproute2 (`tc`, `ip`) that does the same.

mod cake;
mod fq_codel;
mod htb;
mod stats;
mod steer;

use std::fmt;

use goodqueue_wire::netlink::{self, Kind, Route};
use netlink_packet_core::{DefaultNla, Emitable, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, Nla, NlasIterator};
use netlink_packet_route::tc::{
    TcAction, TcActionAttribute, TcActionGeneric, TcActionMirrorOption, TcActionOption, TcActionType,
    TcAttribute, TcFilterMatchAllOption, TcFilterU32Option, TcHandle, TcMessage, TcMirror,
    TcMirrorActionType, TcOption, TcU32Key, TcU32Selector, TcU32SelectorFlags,
};

use crate::error::{EINVAL, ENODEV, ENOENT};
use crate::{Error, Result};

pub use cake::CakeOptions;
pub use htb::HtbClass;
pub use stats::{Extra, Tin};
pub use steer::{Hook, Steer, To};

const NEW_QDISC: Kind = (36, "RTM_NEWQDISC");
const DELETE_QDISC: Kind = (37, "RTM_DELQDISC");
const GET_QDISC: Kind = (38, "RTM_GETQDISC");
const NEW_CLASS: Kind = (40, "RTM_NEWTCLASS");
const GET_CLASS: Kind = (42, "RTM_GETTCLASS");
const NEW_FILTER: Kind = (44, "RTM_NEWTFILTER");
const GET_FILTER: Kind = (46, "RTM_GETTFILTER");

/// `TCA_OPTIONS` (`linux/rtnetlink.h`).
const TCA_OPTIONS: u16 = 2;
/// `ETH_P_ALL`, `ETH_P_IP`, `ETH_P_IPV6` (`linux/if_ether.h`).
const ETH_P_ALL: u16 = 0x0003;
const ETH_P_IP: u16 = 0x0800;
const ETH_P_IPV6: u16 = 0x86dd;

/// Where a queueing discipline or a class is: a handle, as tc writes it (hexadecimal).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parent {
    /// The root of the interface.
    Root,
    /// The class `major:minor`.
    Class(u16, u16),
}

impl Parent {
    const fn handle(self) -> TcHandle {
        match self {
            Parent::Root => TcHandle::ROOT,
            Parent::Class(major, minor) => TcHandle { major, minor },
        }
    }
}

impl fmt::Display for Parent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Parent::Root => f.write_str("root"),
            Parent::Class(major, 0) => write!(f, "parent {major:x}:"),
            Parent::Class(major, minor) => write!(f, "parent {major:x}:{minor:x}"),
        }
    }
}

/// A queueing discipline with its options.
#[derive(Clone, Debug, PartialEq)]
pub enum Qdisc {
    /// `sch_cake`.
    Cake(CakeOptions),
    /// `sch_htb`; packets without a class go to the one with this minor number.
    Htb {
        /// Minor number of that class.
        default: u16,
    },
    /// `sch_fq_codel`.
    FqCodel(goodqueue::fq_codel::Params),
    /// A previous one: its kind and the options that the kernel showed.
    Saved {
        /// Its name.
        kind: String,
        /// The value of `TCA_OPTIONS`; empty if there was none.
        options: Vec<u8>,
    },
}

impl Qdisc {
    /// Its name.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Qdisc::Cake(cake) => cake.kind(),
            Qdisc::Htb { .. } => "htb",
            Qdisc::FqCodel(_) => "fq_codel",
            Qdisc::Saved { kind, .. } => kind,
        }
    }

    fn attributes(&self) -> Vec<TcAttribute> {
        let options = match self {
            Qdisc::Cake(cake) => TcAttribute::Options(cake.attributes()),
            Qdisc::Htb { default } => TcAttribute::Options(htb::qdisc(*default)),
            Qdisc::FqCodel(params) => TcAttribute::Options(fq_codel::attributes(params)),
            Qdisc::Saved { options, .. } if options.is_empty() => {
                return vec![TcAttribute::Kind(self.kind().into())];
            }
            Qdisc::Saved { options, .. } => TcAttribute::Other(DefaultNla::new(TCA_OPTIONS, options.clone())),
        };
        vec![TcAttribute::Kind(self.kind().into()), options]
    }
}

impl fmt::Display for Qdisc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Qdisc::Cake(cake) => write!(f, "{} {cake}", cake.kind()),
            Qdisc::Htb { default } => write!(f, "htb default {default:x}"),
            Qdisc::FqCodel(params) => write!(f, "fq_codel {}", fq_codel::words(params)),
            Qdisc::Saved { kind, options } if options.is_empty() => f.write_str(kind),
            Qdisc::Saved { kind, .. } => write!(f, "{kind} [with the options that it had]"),
        }
    }
}

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Creates an IFB, on which packets that arrive at another interface can be shaped.
    AddIfb {
        /// Its name.
        name: String,
        /// Its owner.
        alias: String,
        /// Queues that it sends from.
        queues: u32,
    },
    /// Creates an interface that discards what it should send.
    AddDummy {
        /// Its name.
        name: String,
        /// Its owner.
        alias: String,
        /// Bytes.
        mtu: u32,
    },
    /// Brings an interface up.
    SetUp(String),
    /// Deletes an interface.
    DeleteLink(String),
    /// Adds a queueing discipline.
    AddQdisc {
        /// The interface.
        dev: String,
        /// Where.
        parent: Parent,
        /// Major number of its handle; 0: the kernel chooses.
        handle: u16,
        /// What.
        qdisc: Qdisc,
    },
    /// Puts a queueing discipline at the root, in place of the existing one. If the kernel refuses, the
    /// existing one stays.
    ReplaceRoot {
        /// The interface.
        dev: String,
        /// Major number of its handle; 0: the kernel chooses.
        handle: u16,
        /// What.
        qdisc: Qdisc,
    },
    /// Adds a class of `htb`.
    AddClass {
        /// The interface.
        dev: String,
        /// Minor number of the parent class; 0: the root.
        parent: u16,
        /// Minor number of the class.
        class: u16,
        /// Its rates.
        htb: HtbClass,
    },
    /// Gives a class of `htb` other rates.
    ChangeClass {
        /// The interface.
        dev: String,
        /// Minor number of the class.
        class: u16,
        /// Its rates.
        htb: HtbClass,
    },
    /// Gives the `fq_codel` in a class of `htb` other parameters, all but the number of its flows.
    ChangeLeaf {
        /// The interface.
        dev: String,
        /// Minor number of the class.
        class: u16,
        /// Major number of its handle.
        handle: u16,
        /// Its parameters; without `quantum` it keeps the one that it has.
        params: goodqueue::fq_codel::Params,
    },
    /// Sends packets with a DSCP into a class of the root `1:`.
    ClassifyDscp {
        /// The interface.
        dev: String,
        /// 0 to 63.
        dscp: u8,
        /// Whether for IPv6; otherwise for IPv4.
        is_v6: bool,
        /// Minor number of the class.
        class: u16,
    },
    /// Takes packets when they arrive.
    AddIngress(String),
    /// Sends all packets that arrive at one interface out through another.
    Redirect {
        /// Where they arrive.
        dev: String,
        /// The IFB.
        to: String,
    },
    /// Makes room for filters where frames arrive and leave.
    AddClsact(String),
    /// Adds a filter there.
    Steer(Steer),
    /// Deletes all filters there.
    DeleteClsact(String),
    /// Deletes the root queueing discipline: the kernel's default comes back.
    DeleteRoot(String),
    /// Deletes the ingress queueing discipline, with its filters.
    DeleteIngress(String),
}

/// Priority of our filters.
const PRIO: u16 = 10;

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::AddIfb { name, queues: 1, .. } => write!(f, "ip link add name {name} type ifb"),
            Change::AddIfb { name, queues, .. } => {
                write!(f, "ip link add name {name} numtxqueues {queues} type ifb")
            }
            Change::AddDummy { name, mtu, .. } => write!(f, "ip link add name {name} mtu {mtu} type dummy"),
            Change::AddClsact(dev) => write!(f, "tc qdisc add dev {dev} clsact"),
            Change::DeleteClsact(dev) => write!(f, "tc qdisc del dev {dev} clsact"),
            Change::Steer(steer) => steer.fmt(f),
            Change::SetUp(name) => write!(f, "ip link set dev {name} up"),
            Change::DeleteLink(name) => write!(f, "ip link del dev {name}"),
            Change::AddQdisc { dev, parent, handle: 0, qdisc } => {
                write!(f, "tc qdisc add dev {dev} {parent} {qdisc}")
            }
            Change::AddQdisc { dev, parent, handle, qdisc } => {
                write!(f, "tc qdisc add dev {dev} {parent} handle {handle:x}: {qdisc}")
            }
            Change::ReplaceRoot { dev, handle: 0, qdisc } => {
                write!(f, "tc qdisc replace dev {dev} root {qdisc}")
            }
            Change::ReplaceRoot { dev, handle, qdisc } => {
                write!(f, "tc qdisc replace dev {dev} root handle {handle:x}: {qdisc}")
            }
            Change::AddClass { dev, parent, class, htb } => {
                let parent = Parent::Class(1, *parent);
                write!(f, "tc class add dev {dev} {parent} classid 1:{class:x} htb {htb}")
            }
            Change::ChangeClass { dev, class, htb } => {
                write!(f, "tc class change dev {dev} classid 1:{class:x} htb {htb}")
            }
            Change::ChangeLeaf { dev, class, handle, params } => {
                let (parent, words) = (Parent::Class(1, *class), fq_codel::words_of_change(params));
                write!(f, "tc qdisc change dev {dev} {parent} handle {handle:x}: fq_codel {words}")
            }
            Change::ClassifyDscp { dev, dscp, is_v6, class } => {
                let (protocol, field) = if *is_v6 { ("ipv6", "ip6 priority") } else { ("ip", "ip tos") };
                let tos = dscp << 2;
                write!(
                    f,
                    "tc filter add dev {dev} parent 1: protocol {protocol} prio {} u32 match {field} {tos:#04x} 0xfc \
                     flowid 1:{class:x}",
                    filter_prio(*is_v6)
                )
            }
            Change::AddIngress(dev) => write!(f, "tc qdisc add dev {dev} handle ffff: ingress"),
            Change::Redirect { dev, to } => write!(
                f,
                "tc filter add dev {dev} parent ffff: protocol all prio {PRIO} matchall action mirred egress redirect \
                 dev {to}"
            ),
            Change::DeleteRoot(dev) => write!(f, "tc qdisc del dev {dev} root"),
            Change::DeleteIngress(dev) => write!(f, "tc qdisc del dev {dev} ingress"),
        }
    }
}

/// All filters of a priority have the same protocol (`net/sched/cls_api.c`).
const fn filter_prio(is_v6: bool) -> u16 {
    if is_v6 { PRIO + 1 } else { PRIO }
}

impl Change {
    /// Makes the change.
    ///
    /// # Errors
    /// `Kernel` with the kernel's answer.
    pub fn make(&self, route: &mut Route) -> Result<()> {
        let failed = |source| Error::Kernel { command: self.to_string(), source };
        self.send(route).map_err(failed)
    }

    /// The same change of parameters at the interface `to`, if it was meant for `from`.
    pub(crate) fn moved(mut self, from: &str, to: &str) -> Change {
        if let Change::ReplaceRoot { dev, .. }
        | Change::ChangeClass { dev, .. }
        | Change::ChangeLeaf { dev, .. } = &mut self
            && dev == from
        {
            to.clone_into(dev);
        }
        self
    }

    /// Makes a change that deletes something, which may already be gone.
    pub(crate) fn make_sure(&self, route: &mut Route) -> Result<()> {
        match self.make(route) {
            Err(Error::Kernel { source, .. }) if matches!(source.errno(), Some(ENOENT | ENODEV | EINVAL)) => {
                Ok(())
            }
            made => made,
        }
    }

    fn send(&self, route: &mut Route) -> goodqueue_wire::Result<()> {
        const NEW: u16 = NLM_F_CREATE | NLM_F_EXCL;
        match self {
            Change::AddIfb { name, alias, queues } => route.add_ifb(name, alias, *queues),
            Change::AddDummy { name, alias, mtu } => route.add_dummy(name, alias, *mtu),
            Change::AddClsact(dev) => {
                let handle = TcHandle { major: 0xffff, minor: 0 };
                let mut message = message(index(route, dev)?, handle, TcHandle::INGRESS);
                message.attributes = vec![TcAttribute::Kind("clsact".into())];
                route.request(NEW_QDISC, &message, NEW, dev)
            }
            Change::DeleteClsact(dev) => {
                let message = message(index(route, dev)?, TcHandle::UNSPEC, TcHandle::INGRESS);
                route.request(DELETE_QDISC, &message, 0, dev)
            }
            Change::Steer(steer) => steer.send(route, NEW),
            Change::SetUp(name) => {
                let index = index(route, name)?;
                route.set_up(index.cast_unsigned(), name)
            }
            Change::DeleteLink(name) => {
                let index = index(route, name)?;
                route.delete_link(index.cast_unsigned(), name)
            }
            Change::AddQdisc { dev, parent, handle, qdisc } => {
                let mut message =
                    message(index(route, dev)?, TcHandle { major: *handle, minor: 0 }, parent.handle());
                message.attributes = qdisc.attributes();
                route.request(NEW_QDISC, &message, NEW, dev)
            }
            Change::ReplaceRoot { dev, handle, qdisc } => {
                let handle = TcHandle { major: *handle, minor: 0 };
                let mut message = message(index(route, dev)?, handle, TcHandle::ROOT);
                message.attributes = qdisc.attributes();
                let flags = NLM_F_CREATE | NLM_F_REPLACE;
                route.request(NEW_QDISC, &message, flags, dev)
            }
            Change::AddClass { dev, parent, class, htb } => {
                let handle = |minor| TcHandle { major: 1, minor };
                let mut message = message(index(route, dev)?, handle(*class), handle(*parent));
                message.attributes = htb.of_class();
                route.request(NEW_CLASS, &message, NEW, dev)
            }
            Change::ChangeClass { dev, class, htb } => {
                let handle = TcHandle { major: 1, minor: *class };
                let mut message = message(index(route, dev)?, handle, TcHandle::UNSPEC);
                message.attributes = htb.of_class();
                route.request(NEW_CLASS, &message, 0, dev)
            }
            Change::ChangeLeaf { dev, class, handle, params } => {
                let handle = TcHandle { major: *handle, minor: 0 };
                let mut message = message(index(route, dev)?, handle, Parent::Class(1, *class).handle());
                let options = TcAttribute::Options(fq_codel::attributes_of_change(params));
                message.attributes = vec![TcAttribute::Kind("fq_codel".into()), options];
                route.request(NEW_QDISC, &message, 0, dev)
            }
            Change::ClassifyDscp { dev, dscp, is_v6, class } => {
                let protocol = if *is_v6 { ETH_P_IPV6 } else { ETH_P_IP };
                let mut message =
                    message(index(route, dev)?, TcHandle::UNSPEC, TcHandle { major: 1, minor: 0 });
                message.header.info = info(filter_prio(*is_v6), protocol);
                message.attributes = vec![
                    TcAttribute::Kind("u32".into()),
                    TcAttribute::Options(dscp_match(*dscp, *is_v6, *class)),
                ];
                route.request(NEW_FILTER, &message, NEW, dev)
            }
            Change::AddIngress(dev) => {
                let handle = TcHandle { major: 0xffff, minor: 0 };
                let mut message = message(index(route, dev)?, handle, TcHandle::INGRESS);
                message.attributes = vec![TcAttribute::Kind("ingress".into())];
                route.request(NEW_QDISC, &message, NEW, dev)
            }
            Change::Redirect { dev, to } => {
                let ifb = index(route, to)?;
                let handle = TcHandle { major: 0xffff, minor: 0 };
                let mut message = message(index(route, dev)?, TcHandle::UNSPEC, handle);
                message.header.info = info(PRIO, ETH_P_ALL);
                let options = vec![TcOption::MatchAll(TcFilterMatchAllOption::Action(vec![mirred(
                    ifb,
                    TcMirrorActionType::EgressRedir,
                )]))];
                message.attributes =
                    vec![TcAttribute::Kind("matchall".into()), TcAttribute::Options(options)];
                route.request(NEW_FILTER, &message, NEW, dev)
            }
            Change::DeleteRoot(dev) => {
                let message = message(index(route, dev)?, TcHandle::UNSPEC, TcHandle::ROOT);
                route.request(DELETE_QDISC, &message, 0, dev)
            }
            Change::DeleteIngress(dev) => {
                let message = message(index(route, dev)?, TcHandle::UNSPEC, TcHandle::INGRESS);
                route.request(DELETE_QDISC, &message, 0, dev)
            }
        }
    }
}

fn message(index: i32, handle: TcHandle, parent: TcHandle) -> TcMessage {
    let mut message = TcMessage::with_index(index);
    message.header.handle = handle;
    message.header.parent = parent;
    message
}

/// `tcm_info` of a filter: its priority, and its protocol in network order.
const fn info(prio: u16, protocol: u16) -> u32 {
    (prio as u32) << 16 | protocol.to_be() as u32
}

/// The first word of the header: the traffic class begins at bit 4 in IPv6, the TOS byte at bit 8 in IPv4.
fn dscp_match(dscp: u8, is_v6: bool, class: u16) -> Vec<TcOption> {
    let shift = if is_v6 { 20 } else { 16 };
    let mut key = TcU32Key::default();
    key.val = u32::from(dscp << 2) << shift;
    key.mask = 0xfc << shift;
    let mut selector = TcU32Selector::default();
    selector.flags = TcU32SelectorFlags::Terminal;
    selector.nkeys = 1;
    selector.keys = vec![key];
    vec![
        TcOption::U32(TcFilterU32Option::ClassId(TcHandle { major: 1, minor: class })),
        TcOption::U32(TcFilterU32Option::Selector(selector)),
    ]
}

/// `action mirred egress redirect dev`, or into the ingress of `dev`.
fn mirred(dev: i32, how: TcMirrorActionType) -> TcAction {
    let mut mirror = TcMirror::default();
    mirror.generic = TcActionGeneric::default();
    mirror.generic.action = TcActionType::Stolen;
    mirror.eaction = how;
    mirror.ifindex = dev.unsigned_abs();
    let mut action = TcAction::default();
    action.tab = 1;
    action.attributes = vec![
        TcActionAttribute::Kind("mirred".into()),
        TcActionAttribute::Options(vec![TcActionOption::Mirror(TcActionMirrorOption::Parms(mirror))]),
    ];
    action
}

/// The number of an interface.
fn index(route: &mut Route, name: &str) -> goodqueue_wire::Result<i32> {
    netlink::index(route, name).map(u32::cast_signed)
}

/// A queueing discipline of an interface, as the kernel shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// Number of the interface.
    pub index: u32,
    /// Its name.
    pub kind: String,
    /// Major number of its handle; 0 for the kernel's default.
    pub handle: u16,
    /// Minor number of the handle of a class; 0 otherwise.
    pub minor: u16,
    /// Where: `ffff:ffff` is the root, `ffff:fff1` ingress.
    pub parent: TcHandle,
    /// The value of `TCA_OPTIONS`.
    pub options: Vec<u8>,
    /// Its counters.
    pub counts: Counts,
    /// What else it reports.
    pub extra: Extra,
}

impl Installed {
    /// Whether it is the root of its interface.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.parent == TcHandle::ROOT
    }

    /// Whether it takes packets when they arrive: `ingress` or `clsact`.
    #[must_use]
    pub fn is_ingress(&self) -> bool {
        self.parent == TcHandle::INGRESS
    }
}

/// Counters of a queueing discipline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bytes sent.
    pub bytes: u64,
    /// Packets sent.
    pub packets: u32,
    /// Packets dropped.
    pub drops: u32,
    /// Packets that found no room below and came back.
    pub requeues: u32,
    /// How many times it had to wait for its rate.
    pub overlimits: u32,
    /// Packets waiting.
    pub qlen: u32,
    /// Bytes waiting.
    pub backlog: u32,
}

/// The 32-bit word at a place.
pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// The value of an attribute.
pub(crate) fn attribute(options: &[u8], kind: u16) -> Option<Vec<u8>> {
    let mut all = NlasIterator::new(options).map_while(|nla| nla.ok());
    all.find(|nla| nla.kind() == kind).map(|nla| nla.value().to_vec())
}

/// All queueing disciplines of this namespace.
///
/// # Errors
/// Those of [`Route::dump`].
pub fn installed(route: &mut Route) -> Result<Vec<Installed>> {
    let all: Vec<TcMessage> = route.dump(GET_QDISC, &TcMessage::default())?;
    Ok(all.iter().map(installed_of).collect())
}

/// The classes of an interface, each in the form in which the kernel shows a queueing discipline.
///
/// # Errors
/// Those of [`Route::dump`].
pub fn classes(route: &mut Route, index: u32) -> Result<Vec<Installed>> {
    let request = TcMessage::with_index(index.cast_signed());
    let all: Vec<TcMessage> = route.dump(GET_CLASS, &request)?;
    Ok(all.iter().map(installed_of).collect())
}

/// The numbers of the interfaces to which filters send packets that arrive at this one, in the order of the
/// filters.
///
/// # Errors
/// Those of [`Route::dump`].
pub fn redirects(route: &mut Route, index: u32) -> Result<Vec<u32>> {
    let mut request = TcMessage::with_index(index.cast_signed());
    // With the queueing discipline `ingress` the kernel looks only at the major number (`ingress_tcf_block`).
    request.header.parent = TcHandle { major: 0xffff, minor: steer::MIN_INGRESS };
    let all: Vec<TcMessage> = route.dump(GET_FILTER, &request)?;
    let filters: Vec<Installed> = all.iter().map(installed_of).collect();
    Ok(filters.iter().filter_map(|filter| steer::redirect(&filter.kind, &filter.options)).collect())
}

fn installed_of(message: &TcMessage) -> Installed {
    use netlink_packet_route::tc::TcStats2;
    let mut installed = Installed {
        index: message.header.index.cast_unsigned(),
        kind: String::new(),
        handle: message.header.handle.major,
        minor: message.header.handle.minor,
        parent: message.header.parent,
        options: Vec::new(),
        counts: Counts::default(),
        extra: Extra::default(),
    };
    for attribute in &message.attributes {
        match attribute {
            TcAttribute::Kind(kind) => installed.kind.clone_from(kind),
            // Options that the crate does not know are one element, which has the number of the whole.
            TcAttribute::Options(options) => match &options[..] {
                [TcOption::Other(whole)] if whole.kind() == TCA_OPTIONS => {
                    installed.options = vec![0; whole.value_len()];
                    whole.emit_value(&mut installed.options);
                }
                options => {
                    installed.options = vec![0; options.buffer_len()];
                    options.emit(&mut installed.options);
                }
            },
            TcAttribute::Stats2(stats) => {
                let counts = &mut installed.counts;
                for part in stats {
                    match part {
                        TcStats2::Basic(basic) => {
                            (counts.bytes, counts.packets) = (basic.bytes, basic.packets);
                        }
                        TcStats2::Queue(queue) => {
                            (counts.drops, counts.requeues) = (queue.drops, queue.requeues);
                            (counts.overlimits, counts.qlen) = (queue.overlimits, queue.qlen);
                            counts.backlog = queue.backlog;
                        }
                        TcStats2::App(extra) => installed.extra = Extra::of(&installed.kind, extra),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    installed
}
