//! Every system call of the crate, and all of its `unsafe`. Each function is a thin, safe wrapper whose error
//! names operation and object.

pub(crate) mod ethtool;
pub(crate) mod namespace;
pub(crate) mod packet;
pub(crate) mod process;
pub(crate) mod rights;
pub(crate) mod thread;

/// The size of `T` for system calls.
pub(crate) const fn socklen_of<T>() -> libc::socklen_t {
    // Every type used here is far below 4 GiB.
    #[allow(clippy::cast_possible_truncation)]
    let size = size_of::<T>() as libc::socklen_t;
    size
}

/// An all-zero value of a plain C structure.
///
/// # Safety
/// All bits zero must be a valid `T`, as it is for the integer-and-pointer structures of `libc`.
pub(crate) const unsafe fn zeroed<T>() -> T {
    // SAFETY: the caller guarantees that all bits zero are a valid value.
    unsafe { std::mem::zeroed() }
}
