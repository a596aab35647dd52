//! Pointers that cross the border, checked.

use core::ptr;

use crate::abi;
use crate::code::{Code, GQ_EALIGN, GQ_EHANDLE, GQ_ENULL, GQ_ESIZE};

/// A struct of the header: `repr(C)`, without pointers, its size in its first field, any bytes a value.
///
/// # Safety
/// The first field is a `u32`, and every pattern of bits is a value of the struct.
pub(super) unsafe trait Sized32: Copy {}

// SAFETY: `repr(C)` structs of integers whose first field is the `u32` `size`.
unsafe impl Sized32 for abi::Packet {}
// SAFETY: as above.
unsafe impl Sized32 for abi::Drop {}
// SAFETY: as above.
unsafe impl Sized32 for abi::Config {}
// SAFETY: as above.
unsafe impl Sized32 for abi::Stats {}
// SAFETY: as above.
unsafe impl Sized32 for abi::Counter {}
// SAFETY: as above.
unsafe impl Sized32 for abi::Flow {}
// SAFETY: as above.
unsafe impl Sized32 for abi::BqlConfig {}
// SAFETY: as above.
unsafe impl Sized32 for abi::BqlState {}

/// Null and alignment.
#[inline]
pub(super) fn check<T>(pointer: *const T) -> Result<(), Code> {
    if pointer.is_null() {
        return Err(GQ_ENULL);
    }
    if !pointer.is_aligned() {
        return Err(GQ_EALIGN);
    }
    Ok(())
}

/// The size that a struct of the caller says it has: at least `T`'s, which is of the first version.
#[inline]
pub(super) unsafe fn size<T: Sized32>(pointer: *const T) -> Result<usize, Code> {
    check(pointer)?;
    // SAFETY: not null and aligned; by the contract it points to a struct, which begins with its size.
    let size = unsafe { pointer.cast::<u32>().read() } as usize;
    if size < size_of::<T>() {
        return Err(GQ_ESIZE);
    }
    Ok(size)
}

/// A struct from the caller. Fields that a later version has beyond ours are not read.
#[inline]
pub(super) unsafe fn read<T: Sized32>(pointer: *const T) -> Result<T, Code> {
    // SAFETY: the contract of this function is that of `size`.
    unsafe { size(pointer) }?;
    // SAFETY: the caller's struct is as long as `T`, as it says; every pattern of bits is a value.
    Ok(unsafe { pointer.read() })
}

/// A struct to the caller, whose size field must be set and stays as it is.
#[inline]
pub(super) unsafe fn write<T: Sized32>(pointer: *mut T, value: T) -> Result<(), Code> {
    // SAFETY: the contract of this function is that of `size`.
    let size = unsafe { size(pointer) }?;
    // SAFETY: the caller's struct is as long as `T` at least.
    unsafe {
        pointer.write(value);
        pointer.cast::<u32>().write(u32::try_from(size).unwrap_or(u32::MAX));
    }
    Ok(())
}

/// A plain value to the caller.
pub(super) unsafe fn put<T: Copy>(pointer: *mut T, value: T) -> Result<(), Code> {
    check(pointer)?;
    // SAFETY: not null and aligned; by the contract it points to a `T`.
    unsafe { pointer.write(value) };
    Ok(())
}

/// What was set up at this address: something that begins with its mark.
///
/// # Safety
/// The first field of the struct is a `usize`, the mark.
pub(super) unsafe trait Marked {
    /// The mark, before the address is mixed in.
    const MARK: usize;
    /// Sets it.
    fn set_mark(&mut self, mark: usize);
}

/// The object behind a handle.
#[inline]
pub(super) unsafe fn object<'a, T: Marked>(handle: *mut T) -> Result<&'a mut T, Code> {
    if handle.is_null() {
        return Err(GQ_ENULL);
    }
    // SAFETY: by the contract there is memory of the size of a handle's at least; where a `T` is it was
    // set up by `install`, whose mark no other address has.
    let is_ours = handle.is_aligned() && unsafe { handle.cast::<usize>().read() } == T::MARK ^ handle.addr();
    if !is_ours {
        return Err(GQ_EHANDLE);
    }
    // SAFETY: the mark says that a `T` was put here; by the contract nobody else uses it during the call.
    Ok(unsafe { &mut *handle })
}

/// Puts an object into memory that is aligned and large enough for it.
pub(super) unsafe fn install<T: Marked>(place: *mut T, mut value: T) {
    value.set_mark(T::MARK ^ place.addr());
    // SAFETY: by the contract of this function.
    unsafe { ptr::write(place, value) };
}
