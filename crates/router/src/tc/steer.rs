//! Filters that take frames out of an interface and back, by their mark.

use std::fmt;

use goodqueue_wire::netlink::Route;
use netlink_packet_core::{DefaultNla, Emitable, NlaBuffer, NlasIterator};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcMirrorActionType, TcOption};

use super::{ETH_P_ALL, NEW_FILTER, attribute, index, info, message, mirred, word};

/// `TC_H_MIN_INGRESS` and `TC_H_MIN_EGRESS`: the hooks of `clsact` (`linux/pkt_sched.h`).
pub(super) const MIN_INGRESS: u16 = 0xfff2;
const MIN_EGRESS: u16 = 0xfff3;
/// `linux/pkt_cls.h`.
const TCA_FW_ACT: u16 = 4;
const TCA_MATCHALL_ACT: u16 = 2;
const TCA_ACT_KIND: u16 = 1;
const TCA_ACT_OPTIONS: u16 = 2;
const TCA_SKBEDIT_PARMS: u16 = 2;
const TCA_SKBEDIT_MARK: u16 = 5;
const TCA_GACT_PARMS: u16 = 2;
const TCA_MIRRED_PARMS: u16 = 2;
/// `linux/tc_act/tc_mirred.h`.
const TCA_EGRESS_REDIR: u32 = 1;
/// The number of the first action of a filter.
const FIRST: u16 = 1;

/// Where a filter sees frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// When they arrive.
    Ingress,
    /// When they leave.
    Egress,
}

/// What happens to a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum To {
    /// It goes on.
    Pass,
    /// It goes on without its mark.
    Unmark,
    /// It leaves through another interface.
    Out(String),
    /// It arrives at another interface.
    In(String),
}

/// A filter at a hook of an interface with `clsact`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steer {
    /// The interface.
    pub dev: String,
    /// The hook.
    pub hook: Hook,
    /// Frames with this mark, which come first; `None`: all others.
    pub mark: Option<u32>,
    /// What happens to them.
    pub to: To,
}

impl Steer {
    const fn prio(&self) -> u16 {
        if self.mark.is_some() { 1 } else { 2 }
    }

    pub(super) fn send(&self, route: &mut Route, flags: u16) -> goodqueue_wire::Result<()> {
        let minor = match self.hook {
            Hook::Ingress => MIN_INGRESS,
            Hook::Egress => MIN_EGRESS,
        };
        let mark = self.mark.unwrap_or(0);
        let handle = TcHandle { major: (mark >> 16) as u16, minor: mark as u16 };
        let mut message: TcMessage =
            message(index(route, &self.dev)?, handle, TcHandle { major: 0xffff, minor });
        message.header.info = info(self.prio(), ETH_P_ALL);
        let (kind, attribute) =
            if self.mark.is_some() { ("fw", TCA_FW_ACT) } else { ("matchall", TCA_MATCHALL_ACT) };
        let actions = nla(attribute, &nla_bytes(FIRST, &self.action(route)?));
        message.attributes =
            vec![TcAttribute::Kind(kind.into()), TcAttribute::Options(vec![TcOption::Other(actions)])];
        route.request(NEW_FILTER, &message, flags, &self.dev)
    }

    /// The elements of the action.
    fn action(&self, route: &mut Route) -> goodqueue_wire::Result<Vec<u8>> {
        let redirect = |index, how| {
            let action = mirred(index, how);
            let mut bytes = vec![0; action.attributes.as_slice().buffer_len()];
            action.attributes.as_slice().emit(&mut bytes);
            bytes
        };
        Ok(match &self.to {
            To::Out(dev) => redirect(index(route, dev)?, TcMirrorActionType::EgressRedir),
            To::In(dev) => redirect(index(route, dev)?, TcMirrorActionType::IngressRedir),
            To::Pass => of_kind("gact", &nla_bytes(TCA_GACT_PARMS, &generic())),
            To::Unmark => {
                let options =
                    [nla_bytes(TCA_SKBEDIT_PARMS, &generic()), nla_bytes(TCA_SKBEDIT_MARK, &[0; 4])];
                of_kind("skbedit", &options.concat())
            }
        })
    }
}

/// The interface that a filter sends packets to instead: that of the first action `mirred` that redirects to
/// an interface's egress. `options` are those of the filter (`TCA_OPTIONS`).
pub(super) fn redirect(filter: &str, options: &[u8]) -> Option<u32> {
    // TCA_BPF_ACT, TCA_BASIC_ACT, TCA_FLOWER_ACT, TCA_U32_ACT (`linux/pkt_cls.h`).
    let actions = match filter {
        "matchall" => TCA_MATCHALL_ACT,
        "fw" => TCA_FW_ACT,
        "bpf" => 1,
        "basic" | "flower" => 3,
        "u32" => 7,
        _ => return None,
    };
    let actions = attribute(options, actions)?;
    let mut redirects = NlasIterator::new(&actions).map_while(|nla| nla.ok()).filter_map(|action| {
        let parms = attribute(&attribute(action.value(), TCA_ACT_OPTIONS)?, TCA_MIRRED_PARMS)?;
        let is_mirred = attribute(action.value(), TCA_ACT_KIND)? == b"mirred\0";
        // `struct tc_mirred`: struct tc_gen of 20 bytes, eaction, ifindex.
        let redirects = word(&parms, 20)? == TCA_EGRESS_REDIR;
        (is_mirred && redirects).then(|| word(&parms, 24)).flatten()
    });
    redirects.next()
}

/// `struct tc_gen` with `TC_ACT_OK`: index, capabilities, action, references, bindings.
fn generic() -> [u8; 20] {
    [0; 20]
}

fn of_kind(kind: &str, options: &[u8]) -> Vec<u8> {
    let name = [kind.as_bytes(), &[0]].concat();
    [nla_bytes(TCA_ACT_KIND, &name), nla_bytes(TCA_ACT_OPTIONS, options)].concat()
}

fn nla(kind: u16, value: &[u8]) -> DefaultNla {
    DefaultNla::new(kind, value.to_vec())
}

/// An attribute with its padding.
fn nla_bytes(kind: u16, value: &[u8]) -> Vec<u8> {
    let nla = nla(kind, value);
    let mut bytes = vec![0; nla.buffer_len()];
    nla.emit(&mut bytes);
    debug_assert!(NlaBuffer::new_checked(&bytes[..]).is_ok());
    bytes
}

impl fmt::Display for Steer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hook = match self.hook {
            Hook::Ingress => "ingress",
            Hook::Egress => "egress",
        };
        write!(f, "tc filter add dev {} {hook} protocol all prio {} ", self.dev, self.prio())?;
        match self.mark {
            Some(mark) => write!(f, "handle {mark:#x} fw ")?,
            None => f.write_str("matchall ")?,
        }
        match &self.to {
            To::Pass => f.write_str("action pass"),
            To::Unmark => f.write_str("action skbedit mark 0 pass"),
            To::Out(dev) => write!(f, "action mirred egress redirect dev {dev}"),
            To::In(dev) => write!(f, "action mirred ingress redirect dev {dev}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_are_found_in_every_kind_of_filter() {
        // struct tc_mirred: what it does, and the interface.
        let mirred = |how: u32| [&[0; 20][..], &how.to_ne_bytes(), &7_u32.to_ne_bytes()].concat();
        let action = |how| of_kind("mirred", &nla_bytes(TCA_MIRRED_PARMS, &mirred(how)));
        let pass = of_kind("gact", &nla_bytes(TCA_GACT_PARMS, &generic()));
        for (kind, actions) in
            [("matchall", 2), ("fw", 4), ("u32", 7), ("flower", 3), ("basic", 3), ("bpf", 1)]
        {
            let with = |first: &[u8], second: &[u8]| {
                let list = [nla_bytes(FIRST, first), nla_bytes(FIRST + 1, second)].concat();
                [nla_bytes(200, &[1]), nla_bytes(actions, &list)].concat()
            };
            assert_eq!(redirect(kind, &with(&pass, &action(TCA_EGRESS_REDIR))), Some(7), "{kind}");
            assert_eq!(redirect(kind, &with(&pass, &action(2))), None, "{kind}: a copy");
            assert_eq!(redirect(kind, &with(&pass, &pass)), None, "{kind}");
            assert_eq!(redirect(kind, &with(&action(TCA_EGRESS_REDIR)[..20], &[])), None, "{kind}: cut off");
        }
        assert_eq!(redirect("route", &[]), None);
    }
}
