//! The tin of an arriving packet, and its flow in that tin (Linux 6.1 `sch_cake.c:cake_select_tin`,
//! `cake_hash`).

use super::InForce;
use super::modes::{Diffserv, Isolation};
use super::tin;
use super::ways::{Bulk, Host, Set, WAYS, WaySet, assign, first_of, matches, place};
use super::{Cake, Sharing};
use crate::details::{Classified, Details};
use crate::memory::Memory;
use crate::{Draws, Packet};

/// The codepoint assumed for ARP: class selector 7.
const ARP_DSCP: u8 = 56;

/// The hashes that determine the place, after the replacements by a classifier.
struct Hashes {
    flow: u32,
    source: u32,
    destination: u32,
}

/// The tin of a packet, from its codepoint before it is washed (Linux 6.1 `sch_cake.c:cake_select_tin`).
#[inline]
pub(super) fn select_tin(params: &InForce, packet: &impl Packet, details: &Details) -> u32 {
    if params.given.diffserv == Diffserv::Besteffort {
        return 0;
    }
    let mark =
        (details.mark & params.given.fwmark).checked_shr(params.given.fwmark.trailing_zeros()).unwrap_or(0);
    if let Some(tin) = tin::of_number(params.given.diffserv, mark) {
        return tin;
    }
    if details.priority & 0xffff_0000 == params.handle
        && let Some(tin) = tin::of_number(params.given.diffserv, details.priority & 0xffff)
    {
        return tin;
    }
    let dscp = if details.is_arp { ARP_DSCP } else { packet.dsfield() >> 2 };
    tin::of_dscp(params.given.diffserv, dscp)
}

/// The value with which one half of a class number replaces a hash; only numbers from 1 to the number of
/// flows replace it.
const fn replaced(half: u32, flows: u32) -> Option<u32> {
    if half >= 1 && half <= flows { Some(half - 1) } else { None }
}

/// The first half of Linux `sch_cake.c:cake_hash`, where a classifier or the isolation mode replaces hashes.
#[inline]
fn hashes(isolation: Isolation, flows: u32, packet: &impl Packet, details: &Details) -> Hashes {
    let (source, destination) = (details.source_hash, details.destination_hash);
    let (mut flow, mut hosts) = (None, None);
    if let Classified::Class(class) = details.classified {
        flow = replaced(class & 0xffff, flows);
        hosts = replaced(class >> 16, flows);
    }
    let has_hosts = isolation.has_source() || isolation.has_destination();
    let hashes_flows = isolation.has_flows() && flow.is_none();
    let hashes_hosts = has_hosts && hosts.is_none();
    // If there is nothing left to hash, Linux does not dissect the packet.
    let (source, destination) = match hosts {
        Some(host) => (host, host),
        None if hashes_flows || hashes_hosts => (source, destination),
        None => (0, 0),
    };
    let mut hash = match flow {
        Some(flow) => flow,
        None if isolation.has_flows() => packet.flow_hash(),
        None => 0,
    };
    if !isolation.has_flows() {
        if isolation.has_source() {
            hash ^= source;
        }
        if isolation.has_destination() {
            hash ^= destination;
        }
    }
    Hashes { flow: hash, source, destination }
}

/// The place of the host `tag` of one direction in a tin with these sets and hosts; `own` is its home place
/// (Linux 6.1 `sch_cake.c:cake_hash`, `allocate_src`, `allocate_dst`).
fn host(
    sets: &mut [WaySet],
    hosts: &[Host],
    tag: u32,
    own: u32,
    tags: impl Fn(&mut WaySet) -> &mut [u32; 8],
    bulk: impl Fn(&Host) -> Bulk,
) -> u16 {
    let (set, own_way) = place(own);
    let begin = own - own % WAYS;
    let hosts = &hosts[begin as usize..][..WAYS as usize];
    let way = assign(tags(&mut sets[set]), |way| bulk(&hosts[way]).count(), tag, own_way);
    begin as u16 + way as u16
}

impl<P: Packet, M: Memory, D: Draws> Cake<P, M, D> {
    /// The index of the packet's flow over all tins (`cake_hash`).
    #[inline]
    pub(super) fn cake_hash(&mut self, tin: u32, packet: &P, details: &Details) -> u32 {
        if !self.sharing.has_flows || details.classified != Classified::None {
            return self.find_replaced(tin, packet, *details);
        }
        let (source, destination) = (details.source_hash, details.destination_hash);
        self.find(tin, Hashes { flow: packet.flow_hash(), source, destination })
    }

    /// The same if more than the flow's hash counts.
    #[inline(never)]
    fn find_replaced(&mut self, tin: u32, packet: &P, details: Details) -> u32 {
        if self.params.given.isolation == Isolation::Flowblind {
            return tin * self.flows;
        }
        self.find(tin, hashes(self.params.given.isolation, self.flows, packet, &details))
    }

    /// Finds a flow that is active in its home place, otherwise calls [`Cake::find_place`].
    #[inline]
    fn find(&mut self, tin: u32, hashes: Hashes) -> u32 {
        let own = tin * self.flows + (hashes.flow & (self.flows - 1));
        let (_, _, flows) = self.tables.split();
        let flow = &flows[own as usize];
        if flow.tag == hashes.flow && flow.vars.set != Set::Idle {
            self.tins[tin as usize].counters.way_direct += 1;
            return own;
        }
        self.find_place(tin, own, hashes)
    }

    /// Finds the place of a flow that is not active in its home place: it searches the set from the home
    /// place on (`cake_hash`).
    #[inline(never)]
    fn find_place(&mut self, tin: u32, own: u32, hashes: Hashes) -> u32 {
        let (set_index, own_way) = place(own);
        let (ways, hosts, flows) = self.tables.split();
        let set = &mut ways[set_index];
        let counters = &mut self.tins[tin as usize].counters;
        let (way, is_new) = if let Some(way) = first_of(matches(&set.tags, hashes.flow), own_way) {
            // An idle tag found in the home place counts neither as a hit nor as a miss.
            counters.way_hit += u64::from(way != own_way);
            (way, set.active >> way & 1 == 0)
        } else if let Some(way) = first_of(!set.active, own_way) {
            counters.way_miss += 1;
            (way, true)
        } else {
            counters.way_coll += 1;
            (own_way, true)
        };
        let index = own - own % WAYS + way as u32;
        if !is_new {
            return index;
        }
        set.tags[way] = hashes.flow;
        let flow = &mut flows[index as usize];
        flow.tag = hashes.flow;
        // The flow gets the hosts of the arriving packet. The counts of a bulk flow move to the new hosts.
        let (first, mask) = (tin * self.flows, self.flows - 1);
        let is_bulk = flow.vars.set == Set::Bulk;
        if is_bulk {
            self.sharing.count(hosts, first, flow.source, flow.destination, false);
        }
        let Sharing { sources, destinations, .. } = self.sharing;
        let (ways, hosts_of_tin) = (&mut ways[(first / WAYS) as usize..], &hosts[first as usize..]);
        if sources {
            let (tag, own) = (hashes.source, hashes.source & mask);
            flow.source = host(ways, hosts_of_tin, tag, own, |set| &mut set.sources, |host| host.source);
        }
        if destinations {
            let (tag, own) = (hashes.destination, hashes.destination & mask);
            flow.destination =
                host(ways, hosts_of_tin, tag, own, |set| &mut set.destinations, |host| host.destination);
        }
        if is_bulk {
            self.sharing.count(hosts, first, flow.source, flow.destination, true);
        }
        index
    }
}
