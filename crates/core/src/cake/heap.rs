//! Which queue is the longest: a heap over all flows of all tins, kept in order only while packets are
//! being dropped (Linux 6.1 `sch_cake.c:cake_heapify`, `cake_heapify_up`). Its arrangement, and so the choice among
//! equals, depends on its whole history; it is Linux's.

use super::ways::{Flow, Ways, place};

#[inline]
fn entry(ways: &[Ways], at: u32) -> u32 {
    let (set, way) = place(at);
    ways[set].heap[way]
}

#[inline]
fn backlog(ways: &[Ways], flows: &[Flow], at: u32) -> u32 {
    flows[entry(ways, at) as usize].backlog
}

fn put(ways: &mut [Ways], at: u32, index: u32) {
    let (set, way) = place(at);
    ways[set].heap[way] = index;
    let (set, way) = place(index);
    ways[set].positions[way] = at;
}

fn swap(ways: &mut [Ways], a: u32, b: u32) {
    let (at_a, at_b) = (entry(ways, a), entry(ways, b));
    put(ways, a, at_b);
    put(ways, b, at_a);
}

/// The first arrangement: the flows of a place in the order of the tins, place after place.
pub(super) fn arrange(ways: &mut [Ways], tins: u32, flows: u32) {
    for place in 0..flows {
        for tin in 0..tins {
            put(ways, place * tins + tin, tin * flows + place);
        }
    }
}

/// Where in the heap the flow `index` stands.
#[inline]
pub(super) fn position(ways: &[Ways], index: u32) -> u32 {
    let (set, way) = place(index);
    ways[set].positions[way]
}

/// The flow at the top.
pub(super) fn top(ways: &[Ways]) -> u32 {
    entry(ways, 0)
}

/// Brings the whole heap into order, from the arrangement that it has.
pub(super) fn build(ways: &mut [Ways], flows: &[Flow]) {
    for at in (0..=flows.len() as u32 / 2).rev() {
        sift_down(ways, flows, at);
    }
}

/// The entry at `at` has become smaller: exchanges it for its largest child, if that is strictly larger. Below
/// that Linux goes on only while it finds an entry larger than the one it moved up, not than the one it
/// moves down: in a heap that is in order it stops after one step, and leaves it out of order.
pub(super) fn sift_down(ways: &mut [Ways], flows: &[Flow], mut at: u32) {
    let mut most = backlog(ways, flows, at);
    loop {
        let mut largest = at;
        for child in [at * 2 + 1, at * 2 + 2] {
            if (child as usize) < flows.len() {
                let bytes = backlog(ways, flows, child);
                if bytes > most {
                    (largest, most) = (child, bytes);
                }
            }
        }
        if largest == at {
            return;
        }
        swap(ways, at, largest);
        at = largest;
    }
}

/// The entry at `at` has become larger: moves it up above strictly smaller ones.
pub(super) fn sift_up(ways: &mut [Ways], flows: &[Flow], mut at: u32) {
    while at > 0 {
        let parent = (at - 1) / 2;
        if backlog(ways, flows, at) <= backlog(ways, flows, parent) {
            return;
        }
        swap(ways, at, parent);
        at = parent;
    }
}

/// A flow that has packets; the way out where packets have no length and the heap cannot tell.
pub(super) fn any_with_packets(flows: &[Flow]) -> Option<u32> {
    (0..).zip(flows).find(|(_, flow)| !flow.packets.is_empty()).map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_fresh_heap_has_a_longest_queue_on_top(
            changes in proptest::collection::vec((0..64_u32, 0..50_u32), 1..200),
        ) {
            let (mut ways, mut flows) = ([Ways::default(); 8], [Flow::default(); 64]);
            arrange(&mut ways, 8, 8);
            for (index, bytes) in changes {
                let before = core::mem::replace(&mut flows[index as usize].backlog, bytes);
                let at = position(&ways, index);
                if bytes > before { sift_up(&mut ways, &flows, at) } else { sift_down(&mut ways, &flows, at) }
            }
            // Whatever the arrangement was.
            build(&mut ways, &flows);
            let longest = flows.iter().map(|flow| flow.backlog).max();
            let top = top(&ways);
            prop_assert_eq!(Some(flows[top as usize].backlog), longest);
            for index in 0..64 {
                prop_assert_eq!(entry(&ways, position(&ways, index)), index);
            }
        }
    }

    #[test]
    fn equals_come_in_the_order_of_place_then_tin() {
        let mut ways = [Ways::default(); 8];
        arrange(&mut ways, 8, 8);
        assert_eq!((entry(&ways, 0), entry(&ways, 1), entry(&ways, 8)), (0, 8, 1));
    }
}
