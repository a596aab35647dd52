//! The C interface: every function of the header, and the only `unsafe` code of the crate.
//!
//! All functions have the same contract. A pointer is null, or it points to memory of its type in the header
//! (a struct as long as its size field says). That memory is valid during the call, and no other thread uses
//! it meanwhile. Memory given to `gq_queue_init`, `gq_wifi_init` and `gq_bql_init` must not move while the
//! handle is used. Detectable violations (null, alignment, size, a handle that was not set up or was moved)
//! return a negative code.

mod bql;
mod info;
mod pointer;
mod queue;
pub(crate) mod room;
mod wifi;

/// Without an operating system nothing can catch or print a panic.
#[cfg(not(any(test, feature = "std")))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    unsafe extern "C" {
        safe fn abort() -> !;
    }
    abort()
}
