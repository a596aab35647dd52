//! How a queue and its storage lie in the caller's memory: the queue, then its arrays, each on a cache line.

use goodqueue::arena::Slot;
use goodqueue::cake;
use goodqueue::codel::Stamped;
use goodqueue::fifo::Limit;
use goodqueue::fq_codel;
use goodqueue::spec::{MAX_PACKETS, QueueKind, packets_in};
use goodqueue::wifi::{self, Lengths};
use goodqueue::{Header, QueueSpec, Rate};

use crate::abi::wifi::WifiConfig;
use crate::abi::{Config, GQ_ALIGN, GQ_DROPS_ALL, GQ_MAX_SEGMENTS};
use crate::cake::{CakeQueue, CakeSlot, TcpPlace};
use crate::code::{Code, GQ_EKIND, GQ_EMEMORY, GQ_EVALUE};
use crate::drops::Dropped;
use crate::queue::Queue;
use crate::wifi::Wifi;

/// An array: where it begins and how many items it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) offset: usize,
    pub(crate) items: usize,
}

/// Where everything is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Of cake: itself, its sets, its hosts, its heap, and TCP headers for the ack filter.
    pub(crate) cake: Span,
    pub(crate) ways: Span,
    pub(crate) hosts: Span,
    pub(crate) heap: Span,
    pub(crate) tcp: Span,
    pub(crate) flows: Span,
    pub(crate) slots: Span,
    pub(crate) drops: Span,
    pub(crate) total: usize,
}

/// Gives out memory from the front.
struct Plan {
    used: usize,
}

impl Plan {
    fn place(&mut self, items: u64, item_bytes: usize) -> Result<Span, Code> {
        let line = GQ_ALIGN as usize;
        let place = || {
            let items = usize::try_from(items).ok()?;
            let offset = self.used.checked_next_multiple_of(line)?;
            let end = offset.checked_add(items.checked_mul(item_bytes)?)?;
            Some((Span { offset, items }, end))
        };
        let (span, end) = place().ok_or(GQ_EMEMORY)?;
        self.used = end;
        Ok(span)
    }

    fn end(&self) -> Result<usize, Code> {
        self.used.checked_next_multiple_of(GQ_ALIGN as usize).ok_or(GQ_EMEMORY)
    }
}

/// Places for dropped packets where one call can drop so many.
fn drop_places(asked: u32, most: u64) -> u64 {
    if asked == GQ_DROPS_ALL { most } else { u64::from(asked).min(most) }
}

/// Places that the limit needs, and the size of one.
fn slots(config: &Config, spec: &QueueSpec) -> Result<(u64, usize), Code> {
    let limit = spec.get("limit").unwrap_or(0);
    Ok(match spec.kind() {
        QueueKind::Codel => (limit, size_of::<Stamped<Header>>()),
        QueueKind::FqCodel => (limit + 1, size_of::<Slot<Header>>()),
        QueueKind::Tbf => (packets_in(limit), size_of::<Header>()),
        QueueKind::Cake => (spec.cake_packets(config.mtu).unwrap_or(0), size_of::<CakeSlot>()),
        _ => match spec.fifo_limit(Rate(config.link_rate), config.mtu)?.ok_or(GQ_EKIND)? {
            Limit::Packets(packets) => (u64::from(packets), size_of::<Header>()),
            Limit::Bytes(bytes) => (packets_in(bytes), size_of::<Header>()),
        },
    })
}

/// Where everything of a radio is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WifiLayout {
    pub(crate) flows: Span,
    pub(crate) tins: Span,
    pub(crate) nodes: Span,
    pub(crate) stations: Span,
    pub(crate) slots: Span,
    pub(crate) bits: Span,
    pub(crate) drops: Span,
    pub(crate) total: usize,
}

impl WifiLayout {
    /// The layout of a radio's stack.
    pub(crate) fn new(config: &WifiConfig) -> Result<WifiLayout, Code> {
        let Lengths { flows, tins, nodes, stations, slots, bits } = config.capacity()?.lengths();
        let mut plan = Plan { used: size_of::<Wifi>() };
        Ok(WifiLayout {
            flows: plan.place(flows.into(), size_of::<wifi::Flow>())?,
            tins: plan.place(tins.into(), size_of::<wifi::Tin>())?,
            nodes: plan.place(nodes.into(), size_of::<wifi::Node>())?,
            stations: plan.place(stations.into(), size_of::<wifi::Station>())?,
            slots: plan.place(slots.into(), size_of::<Slot<Header>>())?,
            bits: plan.place(bits.into(), size_of::<u64>())?,
            drops: plan.place(drop_places(config.drop_slots, u64::from(slots) + 1), size_of::<Dropped>())?,
            total: plan.end()?,
        })
    }
}

impl Layout {
    /// The layout of a queue.
    pub(crate) fn new(config: &Config, spec: &QueueSpec) -> Result<Layout, Code> {
        let (needed, slot_bytes) = slots(config, spec)?;
        let slots = if config.slots == 0 { needed } else { u64::from(config.slots).min(needed) };
        let (is_fair, is_cake) = (spec.kind() == QueueKind::FqCodel, spec.kind() == QueueKind::Cake);
        if slots > MAX_PACKETS + 1 || (is_fair && slots < 2) {
            return Err(GQ_EVALUE);
        }
        let flows = if is_fair || is_cake { spec.get("flows").unwrap_or(1) } else { 0 };
        let has_tcp = is_cake && spec.get("ack-filter") != Some(0);
        let most_dropped = if is_cake { slots + u64::from(GQ_MAX_SEGMENTS) } else { slots + 1 };
        let mut plan = Plan { used: size_of::<Queue>() };
        let of_cake = |items: u64| if is_cake { items } else { 0 };
        let cake = plan.place(of_cake(1), size_of::<CakeQueue>())?;
        // Tables of the tins that the mode uses.
        let of_tins = flows * spec.cake_params(config.mtu).map_or(0, |params| params.diffserv.tins().into());
        let ways = plan.place(of_tins / u64::from(cake::WAYS), size_of::<cake::Ways>())?;
        let hosts = plan.place(of_tins, size_of::<cake::Host>())?;
        let heap = plan.place(of_cake(flows * u64::from(cake::TINS)), size_of::<cake::Ranked>())?;
        let flows = match spec.kind() {
            QueueKind::Cake => plan.place(of_tins, size_of::<cake::Flow>())?,
            _ => plan.place(flows, size_of::<fq_codel::Flow>())?,
        };
        let tcp = plan.place(if has_tcp { slots + 1 } else { 0 }, size_of::<TcpPlace>())?;
        let drops = drop_places(config.drop_slots, most_dropped);
        let slots = plan.place(slots, slot_bytes)?;
        let drops = plan.place(drops, size_of::<Dropped>())?;
        Ok(Layout { cake, ways, hosts, heap, tcp, flows, slots, drops, total: plan.end()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    /// What `goodqueue queues --memory` prints for the Rust library is what a queue takes here, part by part.
    #[test]
    fn the_storage_is_that_of_the_rust_library() {
        for text in [
            "pfifo:100",
            "bfifo:64k",
            "codel",
            "fq_codel,flows=64",
            "tbf,rate=1mbit,burst=5k,limit=64k",
            "cake,flows=32",
            "cake,diffserv=besteffort,flows=64",
        ] {
            let config = config::read(text).config.expect(text);
            let spec = config.spec().expect(text);
            let layout = Layout::new(&config, &spec).expect(text);
            let parts = spec.memory::<Header>(Rate(0), config.mtu).expect(text);
            let items = |name| parts.iter().find(|part| part.name == name).map_or(0, |part| part.items);
            let Layout { slots: places, flows, hosts, ways, heap, .. } = layout;
            let of_layout = [places, flows, hosts, ways, heap].map(|span| span.items as u64);
            assert_eq!(of_layout, ["packets", "flows", "hosts", "sets", "heap"].map(items), "{text}");
            let bytes = |name| parts.iter().find(|part| part.name == name).map_or(0, |part| part.bytes);
            if spec.kind() == QueueKind::Cake {
                assert_eq!(
                    bytes("packets") + 8,
                    size_of::<CakeSlot>() as u64,
                    "a segment and a TCP header more"
                );
                assert_eq!(bytes("flows"), size_of::<cake::Flow>() as u64);
            } else {
                assert_eq!(bytes("packets"), slots(&config, &spec).expect(text).1 as u64, "{text}");
            }
        }
    }
}
