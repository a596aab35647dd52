//! Which tin an arriving packet belongs in, and which place there (Linux 6.1
//! `sch_cake.c:cake_select_tin`, `cake_hash`).

use super::params::{Diffserv, Isolation, Params};
use super::tin;
use super::ways::{Standing, Ways, first_of, matches, place};
use super::{Cake, Queued, Sharing};
use crate::arena::{Slot, Storage};
use crate::details::{Classified, Details};
use crate::{Draws, Packet};

/// The codepoint that ARP goes by: class selector 7.
const ARP_DSCP: u8 = 56;

/// The hashes by which a place is found, after what a classifier replaced.
struct Hashes {
    flow: u32,
    source: u32,
    destination: u32,
}

/// The tin of a packet, from its codepoint before washing.
#[inline]
pub(super) fn select_tin(params: &Params, packet: &impl Packet, details: &Details) -> u32 {
    if params.diffserv == Diffserv::Besteffort {
        return 0;
    }
    let mark = (details.mark & params.fwmark).checked_shr(params.fwmark.trailing_zeros()).unwrap_or(0);
    if let Some(tin) = tin::of_number(params.diffserv, mark) {
        return tin;
    }
    if details.priority & 0xffff_0000 == params.handle
        && let Some(tin) = tin::of_number(params.diffserv, details.priority & 0xffff)
    {
        return tin;
    }
    let dscp = if details.is_arp { ARP_DSCP } else { packet.dsfield() >> 2 };
    tin::of_dscp(params.diffserv, dscp)
}

/// What a half of a class number replaces a hash by: numbers from 1 to the number of flows do.
const fn replaced(half: u32, flows: u32) -> Option<u32> {
    if half >= 1 && half <= flows { Some(half - 1) } else { None }
}

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
    // Where nothing is left to be hashed, Linux dissects nothing.
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

impl<P: Packet, W: Storage<Ways>, S: Storage<Slot<Queued<P>>>, D: Draws> Cake<P, W, S, D> {
    /// The index of the packet's flow over all tins.
    #[inline]
    pub(super) fn find_flow(&mut self, tin: u32, packet: &P, details: &Details) -> u32 {
        if let Classified::Class(_) = details.classified {
            return self.find_replaced(tin, packet, details);
        }
        if !self.sharing.has_flows {
            return self.find_replaced(tin, packet, details);
        }
        let hash = packet.flow_hash();
        let own = tin * self.flows + (hash & (self.flows - 1));
        let (set, way) = place(own);
        let set = &self.ways.as_ref()[set];
        if set.tags[way] == hash && set.active >> way & 1 != 0 {
            self.tins[tin as usize].counters.way_direct += 1;
            return own;
        }
        let (source, destination) = (details.source_hash, details.destination_hash);
        self.find_place(tin, own, &Hashes { flow: hash, source, destination })
    }

    /// Where it is not the hash of the flow alone that counts.
    #[inline(never)]
    fn find_replaced(&mut self, tin: u32, packet: &P, details: &Details) -> u32 {
        let base = tin * self.flows;
        if self.params.isolation == Isolation::Flowblind {
            return base;
        }
        let hashes = hashes(self.params.isolation, self.flows, packet, details);
        let own = base + (hashes.flow & (self.flows - 1));
        let (set, way) = place(own);
        let set = &self.ways.as_ref()[set];
        if set.tags[way] == hashes.flow && set.active >> way & 1 != 0 {
            self.tins[tin as usize].counters.way_direct += 1;
            return own;
        }
        self.find_place(tin, own, &hashes)
    }

    /// The way of a flow that is not active in its own place: through the set, from its own place on.
    #[inline(never)]
    fn find_place(&mut self, tin: u32, own: u32, hashes: &Hashes) -> u32 {
        let (set_index, own_way) = place(own);
        let set = &self.ways.as_ref()[set_index];
        let counters = &mut self.tins[tin as usize].counters;
        let (way, is_new) = if let Some(way) = first_of(matches(&set.tags, hashes.flow), own_way) {
            // A tag found at once, idle, counts neither as hit nor as miss.
            counters.way_hit += u64::from(way != own_way);
            (way, set.active >> way & 1 == 0)
        } else if let Some(way) = first_of(!set.active, own_way) {
            counters.way_miss += 1;
            (way, true)
        } else {
            counters.way_coll += 1;
            (own_way, true)
        };
        let index = own - own % super::WAYS + way as u32;
        self.ways.as_mut()[set_index].tags[way] = hashes.flow;
        if is_new {
            self.assign_hosts(tin, index, hashes);
        }
        index
    }

    /// Gives the flow `index` the hosts of an arriving packet. A bulk flow takes its counts along.
    fn assign_hosts(&mut self, tin: u32, index: u32, hashes: &Hashes) {
        let Sharing { no_sources, no_destinations, .. } = self.sharing;
        if !self.sharing.has_hosts() {
            return;
        }
        let (set_index, way) = place(index);
        let is_bulk = self.ways.as_ref()[set_index].flows[way].standing == Standing::Bulk;
        if is_bulk {
            self.count_hosts(tin, index, false);
        }
        let mask = self.flows - 1;
        let ways = self.ways.as_mut();
        let base = tin * self.flows;
        // Places are below the number of flows of a tin, 65536 at most.
        let in_tin =
            |host_set: usize, way: usize| u16::try_from(host_set * 8 + way - base as usize).unwrap_or(0);
        if no_sources == 0 {
            let (host_set, own) = place(base + (hashes.source & mask));
            let at = ways[host_set].sources.assign(hashes.source, own);
            ways[set_index].flows[way].source = in_tin(host_set, at);
        }
        if no_destinations == 0 {
            let (host_set, own) = place(base + (hashes.destination & mask));
            let at = ways[host_set].destinations.assign(hashes.destination, own);
            ways[set_index].flows[way].destination = in_tin(host_set, at);
        }
        if is_bulk {
            self.count_hosts(tin, index, true);
        }
    }
}
