//! The tables of `goodqueue_own.h`, field for field.

use core::ffi::{c_char, c_void};

use goodqueue::Reason;

/// `GQ_OWN_ABI`.
pub(crate) const ABI: u32 = 1;

/// `GQ_OWN_CC_ABI`: since 2 there is a timer.
pub(crate) const CC_ABI: u32 = 2;

/// `GQ_OWN_NEVER`.
pub(crate) const NEVER: u64 = u64::MAX;

/// Name of the table of a queue in its library.
pub(crate) const QUEUE_SYMBOL: &str = "goodqueue_own_queue";

/// `struct gq_own_parameter`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawParameter {
    /// Text that ends with 0.
    pub(crate) name: *const c_char,
    /// Text that ends with 0.
    pub(crate) about: *const c_char,
    /// `GQ_OWN_COUNT` and so on.
    pub(crate) unit: u64,
    /// The default.
    pub(crate) initial: u64,
    /// The least value.
    pub(crate) least: u64,
    /// The greatest value.
    pub(crate) most: u64,
}

/// `struct gq_own_packet`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RawPacket {
    /// Its number.
    pub(crate) id: u64,
    /// Bytes with the layer-2 header.
    pub(crate) len: u32,
    /// Bytes in memory.
    pub(crate) truesize: u32,
    /// Hash of the flow.
    pub(crate) flow_hash: u32,
    /// The DS byte.
    pub(crate) dsfield: u32,
}

/// `struct gq_own_host`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawHost {
    /// The first argument of each function.
    pub(crate) owner: *mut c_void,
    /// Drops a packet.
    pub(crate) drop: unsafe extern "C" fn(*mut c_void, u64, u32),
    /// Marks a packet.
    pub(crate) mark: unsafe extern "C" fn(*mut c_void, u64, u32) -> i32,
    /// Ends the run.
    pub(crate) fail: unsafe extern "C" fn(*mut c_void, *const c_char),
}

/// `create` of `struct gq_own_queue`.
pub(crate) type Create = unsafe extern "C" fn(*const u64, u64, *const RawHost) -> *mut c_void;
/// `destroy`.
pub(crate) type Destroy = unsafe extern "C" fn(*mut c_void);
/// `enqueue`.
pub(crate) type Enqueue = unsafe extern "C" fn(*mut c_void, u64, *const RawPacket, *const RawHost);
/// `dequeue`.
pub(crate) type Dequeue = unsafe extern "C" fn(*mut c_void, u64, *mut u64, *const RawHost) -> i32;
/// `next_wake`.
pub(crate) type NextWake = unsafe extern "C" fn(*const c_void, u64) -> u64;
/// `counters`.
pub(crate) type Counters = unsafe extern "C" fn(*const c_void, *mut u64);

/// `struct gq_own_queue`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawQueue {
    /// [`ABI`].
    pub(crate) abi: u32,
    /// Bytes of this struct.
    pub(crate) size: u32,
    /// Text that ends with 0.
    pub(crate) name: *const c_char,
    /// Text that ends with 0.
    pub(crate) about: *const c_char,
    /// The parameters.
    pub(crate) parameters: *const RawParameter,
    /// How many.
    pub(crate) parameter_count: u64,
    /// Makes a queue.
    pub(crate) create: Option<Create>,
    /// Frees a queue.
    pub(crate) destroy: Option<Destroy>,
    /// Takes a packet.
    pub(crate) enqueue: Option<Enqueue>,
    /// Gives a packet.
    pub(crate) dequeue: Option<Dequeue>,
    /// When it can give one.
    pub(crate) next_wake: Option<NextWake>,
    /// Texts that end with 0.
    pub(crate) counter_names: *const *const c_char,
    /// How many.
    pub(crate) counter_count: u64,
    /// Their values.
    pub(crate) counters: Option<Counters>,
}

/// Name of the table of a congestion control in its library.
pub(crate) const CC_SYMBOL: &str = "goodqueue_own_cc";

/// `GQ_OWN_SCALABLE`.
pub(crate) const SCALABLE: u64 = 1;

/// `struct gq_own_window`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CcWindow {
    /// Congestion window, segments. May be set.
    pub cwnd: u64,
    /// Rate at which segments may leave, bit/s; 0: not paced. May be set.
    pub pacing_bps: u64,
    /// Window before the last reduction, segments.
    pub prior_cwnd: u64,
    /// Segments in flight.
    pub in_flight: u64,
    /// Segments delivered since the beginning.
    pub delivered: u64,
    /// Smoothed round-trip time, ns; 0: none so far.
    pub srtt: u64,
    /// Least round-trip time of the last 300 s, ns; 0: none so far.
    pub min_rtt: u64,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// 1: the window limits the sender.
    pub is_limited: u32,
    /// When [`CcEvent::Timer`](crate::cc::CcEvent::Timer) is to come, ns; 0: none. May be set. A time that is
    /// not in the future is none.
    pub timer: u64,
}

/// `struct gq_own_ack`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CcAck {
    /// Segments newly delivered.
    pub acked: u64,
    /// Segments newly found lost.
    pub lost: u64,
    /// How many of those delivered were marked, with accurate feedback of ECN.
    pub marked: u64,
    /// Round-trip time, ns; 0: none.
    pub rtt: u64,
    /// `delivered` when the newest segment acknowledged was sent.
    pub prior_delivered: u64,
    /// Delivery rate, bit/s of payload; 0: no sample.
    pub rate_bps: u64,
    /// 1: the application had nothing to send.
    pub is_app_limited: u32,
    /// 1: losses are being repaired.
    pub in_recovery: u32,
}

/// `create` of `struct gq_own_cc`.
pub(crate) type CcCreate = unsafe extern "C" fn(*const u64, *const RawHost) -> *mut c_void;
/// `ack`.
pub(crate) type CcOnAck = unsafe extern "C" fn(*mut c_void, u64, *const CcAck, *mut CcWindow, *const RawHost);
/// `event`.
pub(crate) type CcOnEvent = unsafe extern "C" fn(*mut c_void, u64, u32, *mut CcWindow, *const RawHost);

/// `struct gq_own_cc`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawCc {
    /// [`CC_ABI`].
    pub(crate) abi: u32,
    /// Bytes of this struct.
    pub(crate) size: u32,
    /// Text that ends with 0.
    pub(crate) name: *const c_char,
    /// Text that ends with 0.
    pub(crate) about: *const c_char,
    /// The parameters.
    pub(crate) parameters: *const RawParameter,
    /// How many.
    pub(crate) parameter_count: u64,
    /// [`SCALABLE`].
    pub(crate) flags: u64,
    /// Makes one for a connection.
    pub(crate) create: Option<CcCreate>,
    /// Frees it.
    pub(crate) destroy: Option<Destroy>,
    /// An ACK.
    pub(crate) ack: Option<CcOnAck>,
    /// Something else.
    pub(crate) event: Option<CcOnEvent>,
}

/// SAFETY: a constant of a library, whose texts and functions do not change.
unsafe impl Sync for RawCc {}
/// SAFETY: a constant of a library, whose texts and functions do not change.
unsafe impl Sync for RawQueue {}
/// SAFETY: as above.
unsafe impl Sync for RawParameter {}

/// The numbers of the reasons (`GQ_OWN_LIMIT` and so on).
pub(crate) const REASONS: [(u32, Reason); 19] = [
    (1, Reason::Limit),
    (2, Reason::Memory),
    (3, Reason::Codel),
    (4, Reason::TooBig),
    (5, Reason::Change),
    (6, Reason::Reset),
    (7, Reason::Flush),
    (8, Reason::Blue),
    (9, Reason::Ack),
    (10, Reason::Filter),
    (11, Reason::Pie),
    (12, Reason::Pi2),
    (13, Reason::Red),
    (14, Reason::Rehash),
    (15, Reason::FlowLimit),
    (16, Reason::Horizon),
    (17, Reason::CeThreshold),
    (18, Reason::Step),
    (19, Reason::Loss),
];

#[cfg(test)]
mod tests {
    use core::mem::{offset_of, size_of};
    use std::fmt::Write;
    use std::path::Path;
    use std::process::Command;

    use super::*;
    use crate::cc::CcEvent;

    macro_rules! layout {
        ($out:ident, $c:literal, $rust:ident: $($field:ident),+) => {
            writeln!($out, "{} {}", $c, size_of::<$rust>()).expect("a line");
            $(writeln!($out, "{}.{} {}", $c, stringify!($field), offset_of!($rust, $field)).expect("a line");)+
        };
    }

    fn ours() -> String {
        let mut out = String::new();
        layout!(out, "gq_own_parameter", RawParameter: name, about, unit, initial, least, most);
        layout!(out, "gq_own_packet", RawPacket: id, len, truesize, flow_hash, dsfield);
        layout!(out, "gq_own_host", RawHost: owner, drop, mark, fail);
        layout!(
            out, "gq_own_queue", RawQueue: abi, size, name, about, parameters, parameter_count, create, destroy,
            enqueue, dequeue, next_wake, counter_names, counter_count, counters
        );
        layout!(
            out, "gq_own_window", CcWindow: cwnd, pacing_bps, prior_cwnd, in_flight, delivered, srtt, min_rtt, mss,
            is_limited, timer
        );
        layout!(
            out, "gq_own_ack", CcAck: acked, lost, marked, rtt, prior_delivered, rate_bps, is_app_limited, in_recovery
        );
        layout!(
            out, "gq_own_cc", RawCc: abi, size, name, about, parameters, parameter_count, flags, create, destroy, ack,
            event
        );
        out
    }

    #[test]
    fn the_structs_are_those_of_the_header() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        for (compiler, standard) in [("cc", "-std=c99"), ("c++", "-std=c++17")] {
            let program =
                std::env::temp_dir().join(format!("goodqueue-own-layout-{compiler}-{}", std::process::id()));
            let language = if compiler == "cc" { "c" } else { "c++" };
            let compiled = Command::new(compiler)
                .args([standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-x", language, "-I"])
                .arg(folder.join("include"))
                .arg(folder.join("tests/c/layout.c"))
                .arg("-o")
                .arg(&program)
                .output()
                .expect("a compiler");
            assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
            let printed = Command::new(&program).output().expect("the program");
            std::fs::remove_file(&program).expect("it is there");
            assert_eq!(String::from_utf8_lossy(&printed.stdout), ours(), "{compiler}");
        }
    }

    #[test]
    fn the_numbers_are_those_of_the_header() {
        let defined = |name: &str| {
            let line = crate::HEADER.lines().find(|line| line.starts_with(&format!("#define {name} ")));
            let word = line.and_then(|line| line.split_whitespace().nth(2)).expect(name);
            word.trim_end_matches('u').parse::<u32>().expect("a number")
        };
        assert_eq!(defined("GQ_OWN_ABI"), ABI);
        assert_eq!(defined("GQ_OWN_CC_ABI"), CC_ABI);
        assert_eq!(u64::from(defined("GQ_OWN_SCALABLE")), SCALABLE);
        for (name, event) in
            ["START", "LOST", "MARKED", "TIMEOUT", "RECOVERED", "IDLE", "TIMER"].iter().zip(CcEvent::ALL)
        {
            assert_eq!(defined(&format!("GQ_OWN_{name}")), event as u32);
        }
        for (number, reason) in REASONS {
            assert_eq!(defined(&format!("GQ_OWN_{}", reason.name().to_uppercase())), number, "{reason:?}");
        }
        assert!(Reason::ALL.iter().all(|reason| REASONS.iter().any(|(_, known)| known == reason)));
    }
}
