//! Versions, texts and the flow hash.

use core::ffi::{CStr, c_char};
use core::net::IpAddr;

use goodqueue::{FlowHasher, FlowKey};

use super::pointer::{put, read};
use crate::abi::{Flow, GQ_ABI_VERSION};
use crate::code::{self, Code, GQ_EVALUE};

/// The version, for C.
const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => c"",
};

/// The ABI version of the linked library; compare it with `GQ_ABI_VERSION` of the header.
#[unsafe(no_mangle)]
extern "C" fn gq_abi_version() -> u32 {
    GQ_ABI_VERSION
}

/// The version of the library, "0.1.0". The string is static.
#[unsafe(no_mangle)]
extern "C" fn gq_version() -> *const c_char {
    VERSION.as_ptr()
}

/// The text for a negative code, in English; "no error" for 0 and more. The string is static.
#[unsafe(no_mangle)]
extern "C" fn gq_strerror(code: i32) -> *const c_char {
    code::text(code).as_ptr()
}

/// Writes the flow hash of a packet into `*hash`: SipHash-1-3 of the 5-tuple with a key of 128 bits. Choose a
/// random key at start, so that an attacker cannot direct flows at one bucket.
///
/// Returns 0, `GQ_EVALUE` for an IP version other than 4 and 6, or the code of a bad pointer.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_flow_hash(flow: *const Flow, key0: u64, key1: u64, hash: *mut u32) -> i32 {
    // SAFETY: the contract of the module.
    let value = unsafe { read(flow) }.and_then(|flow| flow_hash(&flow, [key0, key1]));
    // SAFETY: the contract of the module.
    value.and_then(|value| unsafe { put(hash, value) }).map_or_else(|code| code.0, |()| 0)
}

fn flow_hash(flow: &Flow, key: [u64; 2]) -> Result<u32, Code> {
    let address = |bytes: [u8; 16]| match flow.version {
        4 => Ok(IpAddr::from([bytes[0], bytes[1], bytes[2], bytes[3]])),
        6 => Ok(IpAddr::from(bytes)),
        _ => Err(GQ_EVALUE),
    };
    Ok(FlowHasher::with_key(key).hash(&FlowKey {
        source: address(flow.source)?,
        destination: address(flow.destination)?,
        protocol: flow.protocol,
        source_port: flow.source_port,
        destination_port: flow.destination_port,
    }))
}
