//! The heap that finds the longest queue. It covers all flows of all eight tins, used or not, and is kept in
//! order only while packets are being dropped (Linux 6.1 `sch_cake.c:cake_heapify`, `cake_heapify_up`). Its
//! arrangement, and with it the choice among equally long queues, depends on its whole history and is that of
//! Linux.

use super::ways::{Flow, Ranked};

/// The flow at `at`.
fn entry(heap: &[Ranked], at: u32) -> u32 {
    heap[at as usize].flow
}

/// Bytes of the flow at `at`; 0 for a flow of a tin without storage (Linux
/// `sch_cake.c:cake_heap_get_backlog`).
fn get_backlog(heap: &[Ranked], flows: &[Flow], at: u32) -> u32 {
    flows.get(entry(heap, at) as usize).map_or(0, |flow| flow.backlog)
}

/// Puts a flow at `at`.
fn put(heap: &mut [Ranked], at: u32, index: u32) {
    heap[at as usize].flow = index;
    heap[index as usize].position = at;
}

/// Swaps two entries (Linux `sch_cake.c:cake_heap_swap`).
fn swap(heap: &mut [Ranked], a: u32, b: u32) {
    let (at_a, at_b) = (entry(heap, a), entry(heap, b));
    put(heap, a, at_b);
    put(heap, b, at_a);
}

/// The initial arrangement: place by place, the flows with that index in the order of the tins (Linux
/// `sch_cake.c:cake_init`).
pub(super) fn arrange(heap: &mut [Ranked], tins: u32, flows: u32) {
    for place in 0..flows {
        for tin in 0..tins {
            put(heap, place * tins + tin, tin * flows + place);
        }
    }
}

/// The position of the flow `index` in the heap.
pub(super) fn position(heap: &[Ranked], index: u32) -> u32 {
    heap[index as usize].position
}

/// The flow at the top.
pub(super) fn top(heap: &[Ranked]) -> u32 {
    entry(heap, 0)
}

/// Puts the whole heap in order, from its current arrangement (Linux `sch_cake.c:cake_drop`).
pub(super) fn build(heap: &mut [Ranked], flows: &[Flow]) {
    for at in (0..=heap.len() as u32 / 2).rev() {
        heapify(heap, flows, at);
    }
}

/// Linux `sch_cake.c:cake_heapify`: the entry at `at` has become smaller: swaps it with its largest child if
/// that is strictly larger. Linux continues below only while it finds an entry larger than the one it moved
/// up, instead of the one it moves down. So in a heap in order it stops after one step and leaves the heap
/// out of order.
pub(super) fn heapify(heap: &mut [Ranked], flows: &[Flow], mut at: u32) {
    let mut most = get_backlog(heap, flows, at);
    loop {
        let mut largest = at;
        for child in [at * 2 + 1, at * 2 + 2] {
            if (child as usize) < heap.len() {
                let bytes = get_backlog(heap, flows, child);
                if bytes > most {
                    (largest, most) = (child, bytes);
                }
            }
        }
        if largest == at {
            return;
        }
        swap(heap, at, largest);
        at = largest;
    }
}

/// The entry at `at` has become larger: moves it up above strictly smaller ones (Linux
/// `sch_cake.c:cake_heapify_up`).
pub(super) fn heapify_up(heap: &mut [Ranked], flows: &[Flow], mut at: u32) {
    while at > 0 {
        let parent = (at - 1) / 2;
        if get_backlog(heap, flows, at) <= get_backlog(heap, flows, parent) {
            return;
        }
        swap(heap, at, parent);
        at = parent;
    }
}

/// Any flow with packets; for packets of length 0, which the heap cannot order.
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
            let (mut heap, mut flows) = ([Ranked::default(); 64], [Flow::default(); 64]);
            arrange(&mut heap, 8, 8);
            for (index, bytes) in changes {
                let before = core::mem::replace(&mut flows[index as usize].backlog, bytes);
                let at = position(&heap, index);
                if bytes > before { heapify_up(&mut heap, &flows, at) } else { heapify(&mut heap, &flows, at) }
            }
            // The previous arrangement does not matter.
            build(&mut heap, &flows);
            let longest = flows.iter().map(|flow| flow.backlog).max();
            let top = top(&heap);
            prop_assert_eq!(Some(flows[top as usize].backlog), longest);
            for index in 0..64 {
                prop_assert_eq!(entry(&heap, position(&heap, index)), index);
            }
        }
    }

    #[test]
    fn equal_backlogs_are_ordered_by_flow_and_then_by_tin() {
        let mut heap = [Ranked::default(); 64];
        arrange(&mut heap, 8, 8);
        assert_eq!((entry(&heap, 0), entry(&heap, 1), entry(&heap, 8)), (0, 8, 1));
    }
}
