//! The same interface from the other side: turns a queue or a congestion control in Rust into a shared
//! library.

use core::ffi::{CStr, c_char, c_void};
use core::mem::size_of;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};

use goodqueue::{Header, Nanos, Observer, PacketInfo, Queue, Reason};

use super::abi::{ABI, CC_ABI, NEVER, REASONS, RawHost, RawPacket, SCALABLE};
pub use super::abi::{RawCc, RawParameter, RawQueue};
use crate::cc::{CcAck, CcEvent, CcWindow};
use crate::parameter::Unit;

/// A queue that [`export_queue`](crate::export_queue) can put into a shared library. Its packets are
/// [`Header`]s, whose cookie it returns as it got it.
pub trait OwnQueue: Queue<Header> + Sized + 'static {
    /// Its name: letters, digits, `_` and `-`.
    const NAME: &'static CStr;
    /// One line about it.
    const ABOUT: &'static CStr;
    /// Its parameters.
    const PARAMETERS: &'static [RawParameter] = &[];
    /// The names of its counters, in the order of [`goodqueue::Inspect::counters`].
    const COUNTERS: &'static [*const c_char] = &[];

    /// An empty queue. `values` has a number for each parameter, `seed` is for random decisions.
    ///
    /// # Errors
    /// Why there is no such queue, for the user to read.
    fn create(values: &[u64], seed: u64) -> Result<Self, String>;
}

/// A parameter with its default and its range, in nanoseconds, bit/s or bytes.
#[must_use]
pub const fn parameter(
    name: &'static CStr,
    about: &'static CStr,
    unit: Unit,
    initial: u64,
    [least, most]: [u64; 2],
) -> RawParameter {
    RawParameter { name: name.as_ptr(), about: about.as_ptr(), unit: unit as u64, initial, least, most }
}

/// Makes a shared library of a queue: a crate of type `cdylib` calls it once, with an [`OwnQueue`].
///
/// [`OwnQueue`]: crate::export::OwnQueue
#[macro_export]
macro_rules! export_queue {
    ($queue:ty) => {
        /// What Goodqueue looks for in this library.
        #[unsafe(no_mangle)]
        #[allow(non_upper_case_globals)]
        pub static goodqueue_own_queue: $crate::export::RawQueue = $crate::export::table::<$queue>();
    };
}

/// The table of a queue.
#[must_use]
pub const fn table<Q: OwnQueue>() -> RawQueue {
    RawQueue {
        abi: ABI,
        size: size_of::<RawQueue>() as u32,
        name: Q::NAME.as_ptr(),
        about: Q::ABOUT.as_ptr(),
        parameters: Q::PARAMETERS.as_ptr(),
        parameter_count: Q::PARAMETERS.len() as u64,
        create: Some(create::<Q>),
        destroy: Some(destroy::<Q>),
        enqueue: Some(enqueue::<Q>),
        dequeue: Some(dequeue::<Q>),
        next_wake: Some(next_wake::<Q>),
        counter_names: Q::COUNTERS.as_ptr(),
        counter_count: Q::COUNTERS.len() as u64,
        counters: Some(counters::<Q>),
    }
}

/// A congestion control that [`export_cc`](crate::export_cc) can put into a shared library. Windows are in
/// segments.
pub trait OwnCc: Sized + 'static {
    /// Its name: letters, digits, `_` and `-`.
    const NAME: &'static CStr;
    /// One line about it.
    const ABOUT: &'static CStr;
    /// Its parameters.
    const PARAMETERS: &'static [RawParameter] = &[];
    /// Whether it responds to how many packets are marked (`GQ_OWN_SCALABLE`).
    const IS_SCALABLE: bool = false;

    /// That of a connection. `values` has a number for each parameter.
    ///
    /// # Errors
    /// Why there is no such congestion control, for the user to read.
    fn create(values: &[u64]) -> Result<Self, String>;

    /// An ACK, in any state.
    fn ack(&mut self, now: Nanos, ack: &CcAck, window: &mut CcWindow);

    /// Something that is not an ACK.
    fn event(&mut self, now: Nanos, event: CcEvent, window: &mut CcWindow);
}

/// Makes a shared library of a congestion control: a crate of type `cdylib` calls it once, with an [`OwnCc`].
///
/// [`OwnCc`]: crate::export::OwnCc
#[macro_export]
macro_rules! export_cc {
    ($cc:ty) => {
        /// What Goodqueue looks for in this library.
        #[unsafe(no_mangle)]
        #[allow(non_upper_case_globals)]
        pub static goodqueue_own_cc: $crate::export::RawCc = $crate::export::cc_table::<$cc>();
    };
}

/// The table of a congestion control.
#[must_use]
pub const fn cc_table<C: OwnCc>() -> RawCc {
    RawCc {
        abi: CC_ABI,
        size: size_of::<RawCc>() as u32,
        name: C::NAME.as_ptr(),
        about: C::ABOUT.as_ptr(),
        parameters: C::PARAMETERS.as_ptr(),
        parameter_count: C::PARAMETERS.len() as u64,
        flags: if C::IS_SCALABLE { SCALABLE } else { 0 },
        create: Some(cc_create::<C>),
        destroy: Some(destroy::<C>),
        ack: Some(cc_ack::<C>),
        event: Some(cc_event::<C>),
    }
}

unsafe extern "C" fn cc_create<C: OwnCc>(values: *const u64, host: *const RawHost) -> *mut c_void {
    // SAFETY: the header says what the arguments are.
    let (host, values) = unsafe { (Host::of(host), values_of(values, C::PARAMETERS.len())) };
    host.made(|| C::create(values))
}

unsafe extern "C" fn cc_ack<C: OwnCc>(
    cc: *mut c_void,
    now: u64,
    ack: *const CcAck,
    window: *mut CcWindow,
    host: *const RawHost,
) {
    // SAFETY: the header says what the arguments are, and that no other call is under way.
    let (cc, ack, window, host) = unsafe { (&mut *cc.cast::<C>(), &*ack, &mut *window, Host::of(host)) };
    host.guard(|| cc.ack(Nanos(now), ack, window));
}

unsafe extern "C" fn cc_event<C: OwnCc>(
    cc: *mut c_void,
    now: u64,
    event: u32,
    window: *mut CcWindow,
    host: *const RawHost,
) {
    // SAFETY: as in `cc_ack`.
    let (cc, window, host) = unsafe { (&mut *cc.cast::<C>(), &mut *window, Host::of(host)) };
    // A later version may have more, which this one does not know.
    if let Some(event) = CcEvent::ALL.into_iter().find(|known| *known as u32 == event) {
        host.guard(|| cc.event(Nanos(now), event, window));
    }
}

/// The values of `count` parameters.
///
/// # Safety
/// `values` points to `count` numbers.
unsafe fn values_of<'a>(values: *const u64, count: usize) -> &'a [u64] {
    // SAFETY: the caller says so.
    if count == 0 { &[] } else { unsafe { core::slice::from_raw_parts(values, count) } }
}

/// The owner of the packets: the program that has loaded this library.
#[derive(Clone, Copy)]
struct Host(RawHost);

impl Host {
    /// The host of a call.
    ///
    /// # Safety
    /// `host` is what this call got.
    unsafe fn of(host: *const RawHost) -> Host {
        // SAFETY: the caller says so.
        Host(unsafe { host.read() })
    }

    fn fail(&self, why: &str) {
        let why = CString::new(why.replace('\0', " ")).unwrap_or_default();
        // SAFETY: the call that the host is for has not returned.
        unsafe { (self.0.fail)(self.0.owner, why.as_ptr()) };
    }

    /// What `create` returns.
    fn made<T>(&self, create: impl FnOnce() -> Result<T, String>) -> *mut c_void {
        match self.guard(create) {
            Some(Ok(made)) => Box::into_raw(Box::new(made)).cast(),
            Some(Err(why)) => {
                self.fail(&why);
                core::ptr::null_mut()
            }
            None => core::ptr::null_mut(),
        }
    }

    /// Calls the other side's code. A panic ends the run with its message: it cannot pass through C.
    fn guard<T>(&self, call: impl FnOnce() -> T) -> Option<T> {
        let panic = match catch_unwind(AssertUnwindSafe(call)) {
            Ok(answer) => return Some(answer),
            Err(panic) => panic,
        };
        let words = panic.downcast_ref::<String>().map(String::as_str);
        let words = words.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        self.fail(&format!("it panicked: {words}"));
        None
    }
}

fn number(reason: Reason) -> u32 {
    REASONS.iter().find(|(_, known)| *known == reason).map_or(0, |(number, _)| *number)
}

impl Observer<Header> for Host {
    fn dropped(&mut self, _: Nanos, packet: Header, reason: Reason) {
        // SAFETY: the call that the host is for has not returned.
        unsafe { (self.0.drop)(self.0.owner, packet.cookie, number(reason)) };
    }

    fn marked(&mut self, _: Nanos, packet: &Header, reason: Reason) {
        // SAFETY: as above.
        unsafe { (self.0.mark)(self.0.owner, packet.cookie, number(reason)) };
    }
}

/// Nothing is known here beyond the descriptor.
impl PacketInfo<Header> for Host {}

unsafe extern "C" fn create<Q: OwnQueue>(values: *const u64, seed: u64, host: *const RawHost) -> *mut c_void {
    // SAFETY: the header says what the arguments are.
    let (host, values) = unsafe { (Host::of(host), values_of(values, Q::PARAMETERS.len())) };
    host.made(|| Q::create(values, seed))
}

unsafe extern "C" fn destroy<T>(it: *mut c_void) {
    // SAFETY: `create` made it, and this is its last call.
    let it = unsafe { Box::from_raw(it.cast::<T>()) };
    // A panic has been printed, and there is nobody to tell.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(it)));
}

unsafe extern "C" fn enqueue<Q: OwnQueue>(
    queue: *mut c_void,
    now: u64,
    packet: *const RawPacket,
    host: *const RawHost,
) {
    // SAFETY: the header says what the arguments are, and that no other call is under way.
    let (queue, packet, host) = unsafe { (&mut *queue.cast::<Q>(), packet.read(), Host::of(host)) };
    let RawPacket { id, len, truesize, flow_hash, dsfield } = packet;
    let packet = Header { cookie: id, len, truesize, flow_hash, dsfield: dsfield as u8 };
    let mut owner = host;
    host.guard(|| queue.enqueue(Nanos(now), packet, &mut owner));
}

unsafe extern "C" fn dequeue<Q: OwnQueue>(
    queue: *mut c_void,
    now: u64,
    id: *mut u64,
    host: *const RawHost,
) -> i32 {
    // SAFETY: as in `enqueue`.
    let (queue, host) = unsafe { (&mut *queue.cast::<Q>(), Host::of(host)) };
    let mut owner = host;
    match host.guard(|| queue.dequeue(Nanos(now), &mut owner)).flatten() {
        Some(packet) => {
            // SAFETY: the header says that a number has room there.
            unsafe { id.write(packet.cookie) };
            1
        }
        None => 0,
    }
}

unsafe extern "C" fn next_wake<Q: OwnQueue>(queue: *const c_void, now: u64) -> u64 {
    // SAFETY: as in `enqueue`; it changes nothing.
    let queue = unsafe { &*queue.cast::<Q>() };
    let at = catch_unwind(AssertUnwindSafe(|| queue.next_wake(Nanos(now))));
    at.ok().flatten().map_or(NEVER, |at| at.0)
}

unsafe extern "C" fn counters<Q: OwnQueue>(queue: *const c_void, values: *mut u64) {
    if Q::COUNTERS.is_empty() {
        return;
    }
    // SAFETY: as in `next_wake`, and there is room for a value for each name.
    let (queue, values) =
        unsafe { (&*queue.cast::<Q>(), core::slice::from_raw_parts_mut(values, Q::COUNTERS.len())) };
    let mut places = values.iter_mut();
    // A panic has been printed; the counters are then 0.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        queue.counters(&mut |_, value| {
            if let Some(place) = places.next() {
                *place = value;
            }
        });
    }));
}
