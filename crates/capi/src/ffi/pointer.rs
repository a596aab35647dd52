//! Checked access to the caller's pointers.

use core::mem::MaybeUninit;
use core::ptr;

use super::room::Room;
use crate::abi::Head;
use crate::abi::wifi::{WifiConfig, WifiRate, WifiStation, WifiStats, WifiTxq};
use crate::abi::{self, Drop};
use crate::code::{Code, GQ_EALIGN, GQ_EHANDLE, GQ_EMEMORY, GQ_ENULL, GQ_ESIZE};
use crate::drops::{Dropped, Drops};

/// A struct of the header: `repr(C)`, without pointers, with its size in its first field. New versions only
/// add fields at the end.
///
/// # Safety
/// The first field is a `u32`, and every bit pattern is a valid value of the struct.
pub(super) unsafe trait Sized32: Copy {
    /// Its size in the first version that had it, bytes.
    const FIRST: usize;
    /// The value of every byte of fields that a caller's shorter struct lacks.
    const MISSING: u8;
}

macro_rules! sized {
    ($($kind:ty: $first:expr, $missing:expr;)+) => {$(
        // SAFETY: a `repr(C)` struct of integers whose first field is the `u32` `size`.
        unsafe impl Sized32 for $kind {
            const FIRST: usize = $first;
            const MISSING: u8 = $missing;
        }
        const _: () = assert!($first <= size_of::<$kind>() && $first % align_of::<$kind>() == 0);
    )+};
}

sized! {
    abi::Packet: 32, 0;
    Head: 32, 0;
    abi::Tcp: 64, 0;
    abi::Drop: 24, 0;
    abi::Config: 200, 0xff;
    abi::Stats: 80, 0;
    abi::Counter: 48, 0;
    abi::Flow: 48, 0;
    abi::BqlConfig: 32, 0;
    abi::BqlState: 56, 0;
    WifiConfig: 200, 0xff;
    WifiRate: 32, 0;
    WifiStats: 88, 0;
    WifiStation: 160, 0;
    WifiTxq: 64, 0;
}

/// Checks for null and alignment.
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

/// The size field of the caller's struct: the size in this version or another one.
#[inline]
pub(super) unsafe fn size<T: Sized32>(pointer: *const T) -> Result<usize, Code> {
    check(pointer)?;
    // SAFETY: not null and aligned; by the contract it points to a struct, which begins with its size.
    let size = unsafe { pointer.cast::<u32>().read() } as usize;
    if size < size_of::<T>() && (size < T::FIRST || !size.is_multiple_of(align_of::<T>())) {
        return Err(GQ_ESIZE);
    }
    Ok(size)
}

/// Reads a struct from the caller. Additional fields of a later version are ignored; fields that an earlier
/// version lacks are filled.
#[inline]
pub(super) unsafe fn read<T: Sized32>(pointer: *const T) -> Result<T, Code> {
    // SAFETY: the contract of this function is that of `size`.
    let size = unsafe { size(pointer) }?;
    if size < size_of::<T>() {
        // SAFETY: the caller's struct is as long as it says.
        return Ok(unsafe { read_short(pointer, size) });
    }
    // SAFETY: the caller's struct is as long as `T`, by its size field; every bit pattern is a value.
    Ok(unsafe { pointer.read() })
}

/// [`read`] without a copy.
#[inline]
pub(super) unsafe fn look<T: Sized32, R>(
    pointer: *const T,
    use_it: impl FnOnce(&T) -> Result<R, Code>,
) -> Result<R, Code> {
    // SAFETY: the contract of this function is that of `size`.
    let size = unsafe { size(pointer) }?;
    if size < size_of::<T>() {
        // SAFETY: the caller's struct is as long as it says.
        return use_it(&unsafe { read_short(pointer, size) });
    }
    // SAFETY: the caller's struct is as long as `T`, by its size field, and nobody else uses it; every bit
    // pattern is a value.
    use_it(unsafe { &*pointer })
}

#[cold]
unsafe fn read_short<T: Sized32>(pointer: *const T, size: usize) -> T {
    let mut value = MaybeUninit::<T>::uninit();
    // SAFETY: all of `value` is filled, then the part that the caller's shorter struct has is overwritten;
    // every bit pattern is a value.
    unsafe {
        ptr::write_bytes(value.as_mut_ptr(), T::MISSING, 1);
        ptr::copy_nonoverlapping(pointer.cast::<u8>(), value.as_mut_ptr().cast(), size);
        value.assume_init()
    }
}

/// Writes a struct to the caller. Its size field must be set and is not changed.
#[inline]
pub(super) unsafe fn write<T: Sized32>(pointer: *mut T, value: T) -> Result<(), Code> {
    // SAFETY: the contract of this function is that of `size`.
    unsafe {
        let size = size(pointer)?;
        write_sized(pointer, value, size);
    }
    Ok(())
}

/// Writes a struct to the caller's memory, which is `size` bytes long.
#[inline]
pub(super) unsafe fn write_sized<T: Sized32>(pointer: *mut T, value: T, size: usize) {
    // SAFETY: no more is written than the caller's struct has.
    unsafe {
        if size < size_of::<T>() {
            ptr::copy_nonoverlapping((&raw const value).cast::<u8>(), pointer.cast(), size);
        } else {
            pointer.write(value);
        }
        pointer.cast::<u32>().write(u32::try_from(size).unwrap_or(u32::MAX));
    }
}

/// Writes a plain value to the caller.
pub(super) unsafe fn put<T: Copy>(pointer: *mut T, value: T) -> Result<(), Code> {
    check(pointer)?;
    // SAFETY: not null and aligned; by the contract it points to a `T`.
    unsafe { pointer.write(value) };
    Ok(())
}

/// An object that was set up at its address; it begins with its mark.
///
/// # Safety
/// The first field of the struct is a `usize`, the mark.
pub(super) unsafe trait Marked {
    /// The mark, before it is combined with the address.
    const MARK: usize;
    /// Sets the mark.
    fn set_mark(&mut self, mark: usize);
}

/// The object of a handle.
#[inline]
pub(super) unsafe fn object<'a, T: Marked>(handle: *mut T) -> Result<&'a mut T, Code> {
    if handle.is_null() {
        return Err(GQ_ENULL);
    }
    // SAFETY: by the contract there is at least a handle's memory. If there is a `T`, `install` set it up,
    // with a mark that no other address has.
    let is_ours = handle.is_aligned() && unsafe { handle.cast::<usize>().read() } == T::MARK ^ handle.addr();
    if !is_ours {
        return Err(GQ_EHANDLE);
    }
    // SAFETY: the mark proves that a `T` was put here; by the contract nobody else uses it during the call.
    Ok(unsafe { &mut *handle })
}

/// The return value of a call without a handle.
pub(super) fn answer(result: Result<i32, Code>) -> i32 {
    result.unwrap_or_else(|code| code.0)
}

/// Runs `$body` with `$object` bound to the object of `$handle`; counts an error in its `$guard`.
macro_rules! with {
    ($handle:expr, $object:ident $(. $guard:ident)? => $body:expr) => {
        // SAFETY: the contract of the module.
        match unsafe { object($handle) } {
            Ok($object) => {
                let result = $body;
                $object $(. $guard)? .answer(result)
            }
            Err(code) => code.0,
        }
    };
}
pub(super) use with;

/// Takes up to `count` dropped packets into an array. The size field of its first element is the distance
/// between elements.
pub(super) unsafe fn take_drops(from: &mut Drops, to: *mut Drop, count: u32) -> Result<i32, Code> {
    // SAFETY: the contract of the module.
    let stride = unsafe { size(to) }?;
    if !stride.is_multiple_of(align_of::<Drop>()) {
        return Err(GQ_EALIGN);
    }
    let mut taken = 0;
    while taken < count.min(i32::MAX.cast_unsigned()) {
        let Some(Dropped { cookie, len, reason, segment }) = from.take() else { break };
        let value = Drop { size: 0, reason: reason.into(), cookie, len, segment: segment.into() };
        // SAFETY: by the contract there are `count` elements at this distance, aligned as the first.
        unsafe { write_sized(to.byte_add(taken as usize * stride), value, stride) };
        taken += 1;
    }
    Ok(taken.cast_signed())
}

/// The memory of a handle's object and its storage, bytes.
pub(super) fn needed<T>(make: impl FnOnce(&mut Room) -> Result<Option<T>, Code>) -> Result<usize, Code> {
    let mut room = Room::measure();
    room.skip::<T>()?;
    make(&mut room)?;
    room.used()
}

/// Sets up an object and its storage in the caller's memory. The handle is the address of the memory.
pub(super) unsafe fn set_up<T: Marked>(
    memory: *mut u8,
    bytes: usize,
    handle: *mut *mut T,
    make: impl Fn(&mut Room) -> Result<Option<T>, Code>,
) -> Result<i32, Code> {
    check(memory)?;
    check(handle)?;
    if !memory.addr().is_multiple_of(abi::GQ_ALIGN as usize) {
        return Err(GQ_EALIGN);
    }
    if bytes < needed(&make)? {
        return Err(GQ_EMEMORY);
    }
    // SAFETY: by the contract the caller owns the memory; its alignment was checked.
    let mut room = unsafe { Room::over(memory, bytes) };
    room.skip::<T>()?;
    let value = make(&mut room)?.ok_or(GQ_EMEMORY)?;
    let place = memory.cast::<T>();
    // SAFETY: `skip` left room for it at the front; the alignment was checked, and the handle is not null.
    unsafe {
        install(place, value);
        put(handle, place)?;
    }
    Ok(0)
}

/// Puts an object into memory that is aligned and large enough for it.
pub(super) unsafe fn install<T: Marked>(place: *mut T, mut value: T) {
    value.set_mark(T::MARK ^ place.addr());
    // SAFETY: by the contract of this function.
    unsafe { ptr::write(place, value) };
}
