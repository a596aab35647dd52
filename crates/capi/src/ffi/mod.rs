//! The border: every function of the header, and the only `unsafe` code of the crate.
//!
//! The contract of all of them: a pointer is null, or it points to memory of the type it has in the
//! header (a struct as long as its size field says) that stays for the call and that no other thread
//! uses meanwhile; memory given to `gq_queue_init`, `gq_wifi_init` and `gq_bql_init` stays in its place as
//! long as the handle is used. What can be seen of a breach (null, alignment, size, a handle that was not set
//! up or was moved) is answered with a negative code.

mod bql;
mod info;
mod pointer;
mod queue;
pub(crate) mod room;
mod wifi;

/// Free-standing there is nobody to catch a panic or to print it.
#[cfg(not(any(test, feature = "std")))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    unsafe extern "C" {
        safe fn abort() -> !;
    }
    abort()
}
