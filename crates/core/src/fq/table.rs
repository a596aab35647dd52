//! The table of flows, by key.

use super::flow::Flow;
use crate::Nanos;
use crate::arena::{NIL, Storage};
use crate::jiffies::Clock;

/// Buckets of chained flows, and the chain of free flows.
#[derive(Clone, Debug)]
pub(super) struct Table<H> {
    buckets: H,
    free: u32,
    /// Number of flows in the table.
    pub(super) len: u32,
    /// Those without packets.
    pub(super) inactive: u32,
    /// From this number of flows on the table may be crowded: none is free, or there are two for each bucket.
    enough: u32,
}

/// Maximum number of flows that one arrival frees (Linux `FQ_GC_MAX`).
const GC_MAX: u64 = 8;

impl<H: Storage<u32>> Table<H> {
    pub(super) fn new(buckets: H, flows: &mut [Flow]) -> Self {
        flows.fill(Flow::default());
        let enough = buckets.as_ref().len().saturating_mul(2).min(flows.len());
        let enough = u32::try_from(enough).unwrap_or(NIL);
        let mut table = Table { buckets, free: NIL, len: 0, inactive: 0, enough };
        table.clear(flows);
        table
    }

    /// Removes all flows.
    pub(super) fn clear(&mut self, flows: &mut [Flow]) {
        self.buckets.as_mut().fill(NIL);
        (self.free, self.len, self.inactive) = (NIL, 0, 0);
        for (index, flow) in (0..NIL).zip(flows).rev() {
            flow.chain = self.free;
            self.free = index;
        }
    }

    /// The bucket of a key: the upper bits of its product with 2^64 divided by the golden ratio (Linux
    /// `hash_64`).
    #[allow(clippy::cast_possible_truncation)]
    fn bucket(&self, key: u64) -> usize {
        let hash = key.wrapping_mul(0x61c8_8646_80b5_83eb);
        ((u128::from(hash) * self.buckets.as_ref().len() as u128) >> 64) as usize
    }

    /// The first flow in the bucket of a key.
    pub(super) fn first(&self, key: u64) -> u32 {
        self.buckets.as_ref().get(self.bucket(key)).copied().unwrap_or(NIL)
    }

    /// Adds a flow for a new key; [`NIL`] if none is free.
    pub(super) fn add(&mut self, flows: &mut [Flow], key: u64) -> u32 {
        let (index, bucket) = (self.free, self.bucket(key));
        let Some(first) = self.buckets.as_mut().get_mut(bucket) else { return NIL };
        let Some(flow) = flows.get_mut(index as usize) else { return NIL };
        self.free = flow.chain;
        flow.chain = core::mem::replace(first, index);
        self.len += 1;
        self.inactive += 1;
        index
    }

    /// Whether idle flows must be freed: there are many flows and more than half of them are idle (the test
    /// of Linux `fq_classify` before `fq_gc`), or none is free.
    pub(super) fn is_crowded(&self) -> bool {
        self.len >= self.enough && self.is_wasteful()
    }

    fn is_wasteful(&self) -> bool {
        let many = self.buckets.as_ref().len().saturating_mul(2);
        let is_wasteful = self.len as usize >= many && self.inactive > self.len / 2;
        self.inactive > 0 && (self.free == NIL || is_wasteful)
    }

    /// Frees flows in the bucket of `key` that have been idle for 3 s (Linux `fq_gc`, `FQ_GC_AGE`); if no
    /// flow is free, any idle flows. Returns their number.
    pub(super) fn gc(&mut self, flows: &mut [Flow], key: u64, now: Nanos, clock: Clock, hz: u32) -> u64 {
        let patience = u64::from(hz) * 3;
        let bucket = self.bucket(key);
        let mut taken = self.gc_in(flows, bucket, key, |since| {
            clock.at(now) > (clock.at(since) | 1).saturating_add(patience)
        });
        if self.free == NIL {
            for bucket in 0..self.buckets.as_ref().len() {
                taken += self.gc_in(flows, bucket, key, |_| true);
            }
        }
        taken
    }

    fn gc_in(&mut self, flows: &mut [Flow], bucket: usize, key: u64, is_old: impl Fn(Nanos) -> bool) -> u64 {
        let (mut before, mut taken) = (NIL, 0);
        let mut at = self.buckets.as_ref().get(bucket).copied().unwrap_or(NIL);
        while let Some(flow) = flows.get(at as usize) {
            let next = flow.chain;
            let is_idle = flow.idle_since().is_some_and(&is_old);
            if flow.key == key || !is_idle || taken == GC_MAX {
                (before, at) = (at, next);
                continue;
            }
            match flows.get_mut(before as usize) {
                Some(before) => before.chain = next,
                None => self.buckets.as_mut()[bucket] = next,
            }
            flows[at as usize].chain = self.free;
            self.free = at;
            (self.len, self.inactive, taken) = (self.len - 1, self.inactive - 1, taken + 1);
            at = next;
        }
        taken
    }
}
