//! Calls of the functions in a table.

use core::ffi::{CStr, c_char, c_void};
use std::sync::Arc;

use super::abi::{CcAck, CcWindow, NEVER, RawHost, RawPacket};
use crate::table::{CcTable, Table};

/// Notes what a queue reports during a call. Nothing here can fail.
pub(crate) trait Notes {
    /// It drops a packet.
    fn drop(&mut self, id: u64, reason: u32);
    /// It marks a packet; whether it could.
    fn mark(&mut self, id: u64, reason: u32) -> bool;
    /// It gives up.
    fn fail(&mut self, why: &str);
}

/// A queue of a library.
#[derive(Debug)]
pub(crate) struct Instance {
    queue: *mut c_void,
    table: Arc<Table>,
}

// SAFETY: the header demands that a queue can be used from any thread, by one at a time.
unsafe impl Send for Instance {}
// SAFETY: the calls with `&self` are `next_wake` and `counters`, which the header forbids to change anything.
unsafe impl Sync for Instance {}

unsafe extern "C" fn drop_packet(owner: *mut c_void, id: u64, reason: u32) {
    // SAFETY: `hosted` put it there, and the call that it is for has not returned.
    let notes = unsafe { &mut *owner.cast::<&mut dyn Notes>() };
    notes.drop(id, reason);
}

unsafe extern "C" fn mark_packet(owner: *mut c_void, id: u64, reason: u32) -> i32 {
    // SAFETY: as above.
    let notes = unsafe { &mut *owner.cast::<&mut dyn Notes>() };
    notes.mark(id, reason).into()
}

unsafe extern "C" fn fail(owner: *mut c_void, why: *const c_char) {
    // SAFETY: as above.
    let notes = unsafe { &mut *owner.cast::<&mut dyn Notes>() };
    // SAFETY: the header demands a text that ends with 0.
    let why = (!why.is_null()).then(|| unsafe { CStr::from_ptr(why) }.to_string_lossy());
    notes.fail(why.as_deref().unwrap_or("no reason given"));
}

/// Calls a function that gets a host.
fn hosted<T>(mut notes: &mut dyn Notes, call: impl FnOnce(*const RawHost) -> T) -> T {
    let owner: *mut &mut dyn Notes = &raw mut notes;
    let host = RawHost { owner: owner.cast(), drop: drop_packet, mark: mark_packet, fail };
    call(&raw const host)
}

impl Instance {
    /// Makes a queue; `None` if the library refuses, which it has said to `notes`.
    pub(crate) fn create(
        table: &Arc<Table>,
        values: &[u64],
        seed: u64,
        notes: &mut dyn Notes,
    ) -> Option<Instance> {
        assert_eq!(values.len(), table.about.parameters.len(), "a value for each parameter");
        // SAFETY: the arguments are what the header says.
        let queue = hosted(notes, |host| unsafe { (table.calls.create)(values.as_ptr(), seed, host) });
        (!queue.is_null()).then(|| Instance { queue, table: Arc::clone(table) })
    }

    pub(crate) fn enqueue(&mut self, now: u64, packet: &RawPacket, notes: &mut dyn Notes) {
        // SAFETY: the queue is one that `create` made, and `&mut self` keeps other calls away.
        hosted(notes, |host| unsafe { (self.table.calls.enqueue)(self.queue, now, packet, host) });
    }

    /// The number of the next packet.
    pub(crate) fn dequeue(&mut self, now: u64, notes: &mut dyn Notes) -> Option<u64> {
        let mut id = 0;
        // SAFETY: as in `enqueue`.
        let has_one =
            hosted(notes, |host| unsafe { (self.table.calls.dequeue)(self.queue, now, &raw mut id, host) });
        (has_one != 0).then_some(id)
    }

    /// When `dequeue` can give a packet; `None` for never.
    pub(crate) fn next_wake(&self, now: u64) -> Option<u64> {
        let Some(next_wake) = self.table.calls.next_wake else { return Some(now) };
        // SAFETY: as in `enqueue`; it changes nothing.
        Some(unsafe { next_wake(self.queue, now) }).filter(|&at| at != NEVER)
    }

    pub(crate) fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        let Some(counters) = self.table.calls.counters else { return };
        let mut values = vec![0; self.table.counters.len()];
        // SAFETY: there is room for as many values as the table has names; it changes nothing else.
        unsafe { counters(self.queue, values.as_mut_ptr()) };
        self.table.counters.iter().zip(values).for_each(|(name, value)| each(name, value));
    }
}

/// A congestion control of a library, for one connection.
#[derive(Debug)]
pub(crate) struct CcInstance {
    cc: *mut c_void,
    table: Arc<CcTable>,
}

// SAFETY: the header demands that it can be used from any thread, by one at a time.
unsafe impl Send for CcInstance {}
// SAFETY: there is no call with `&self`.
unsafe impl Sync for CcInstance {}

impl CcInstance {
    /// Makes one; `None` if the library refuses, which it has said to `notes`.
    pub(crate) fn create(table: &Arc<CcTable>, values: &[u64], notes: &mut dyn Notes) -> Option<CcInstance> {
        assert_eq!(values.len(), table.about.parameters.len(), "a value for each parameter");
        // SAFETY: the arguments are what the header says.
        let cc = hosted(notes, |host| unsafe { (table.create)(values.as_ptr(), host) });
        (!cc.is_null()).then(|| CcInstance { cc, table: Arc::clone(table) })
    }

    pub(crate) fn ack(&mut self, now: u64, ack: &CcAck, window: &mut CcWindow, notes: &mut dyn Notes) {
        // SAFETY: it is one that `create` made, and `&mut self` keeps other calls away.
        hosted(notes, |host| unsafe { (self.table.ack)(self.cc, now, ack, window, host) });
    }

    pub(crate) fn event(&mut self, now: u64, event: u32, window: &mut CcWindow, notes: &mut dyn Notes) {
        // SAFETY: as in `ack`.
        hosted(notes, |host| unsafe { (self.table.event)(self.cc, now, event, window, host) });
    }
}

impl Drop for CcInstance {
    fn drop(&mut self) {
        // SAFETY: `create` made it, and nobody uses it afterwards.
        unsafe { (self.table.destroy)(self.cc) };
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: `create` made it, and nobody uses it afterwards.
        unsafe { (self.table.calls.destroy)(self.queue) };
    }
}
