//! Bytes that wait on the disk, so that the memory of a sweep does not grow with its points.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use goodqueue_experiment::Error;

use crate::unit::UnitHash;

/// What stays in memory at most, bytes. More goes into a file.
pub(crate) const KEPT: usize = 64 << 10;

/// Bytes by their place. Up to [`KEPT`] are in memory, more in a file without a name among the temporary
/// files. If that has no room, all are in memory.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    place: Mutex<Store>,
    len: u64,
}

#[derive(Debug)]
enum Store {
    Memory { bytes: Vec<u8>, is_last_resort: bool },
    File(File),
}

impl Default for Store {
    fn default() -> Store {
        Store::Memory { bytes: Vec::new(), is_last_resort: false }
    }
}

/// A file that nobody else can open, and that is gone with its handle.
fn unnamed() -> io::Result<File> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("goodqueue-scratch-{}-{number}", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

fn wrong(error: &io::Error) -> Error {
    let place = std::env::temp_dir();
    Error::Machine(format!("the scratch file of the sweep in {}: {error}; set TMPDIR", place.display()))
}

impl Scratch {
    /// Bytes that were written, from 0 to the last.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Writes at a place that is not behind the end.
    ///
    /// # Errors
    /// [`Error::Machine`] if the file can neither be written nor read back into memory.
    pub(crate) fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), Error> {
        let place = self.place.get_mut().unwrap_or_else(PoisonError::into_inner);
        let len = self.len.max(at + bytes.len() as u64);
        if let Store::Memory { bytes, is_last_resort: false } = place
            && len > KEPT as u64
        {
            // A file that cannot be made is as good as none.
            match unnamed().and_then(|mut file| file.write_all(bytes).map(|()| file)) {
                Ok(file) => *place = Store::File(file),
                Err(_) => *place = Store::Memory { bytes: std::mem::take(bytes), is_last_resort: true },
            }
        }
        if let Store::File(file) = place
            && file.seek(SeekFrom::Start(at)).and_then(|_| file.write_all(bytes)).is_err()
        {
            // No room: what is there comes back into memory.
            let mut all = vec![0; self.len as usize];
            let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.read_exact(&mut all));
            read.map_err(|error| wrong(&error))?;
            *place = Store::Memory { bytes: all, is_last_resort: true };
        }
        if let Store::Memory { bytes: all, .. } = place {
            all.resize(len as usize, 0);
            all[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
        }
        self.len = len;
        Ok(())
    }

    /// Reads what was written at a place.
    ///
    /// # Errors
    /// [`Error::Machine`] if the file cannot be read.
    pub(crate) fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Error> {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *place {
            Store::Memory { bytes, .. } => {
                into.copy_from_slice(&bytes[at as usize..at as usize + into.len()]);
                Ok(())
            }
            Store::File(file) => {
                let read = file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(into));
                read.map_err(|error| wrong(&error))
            }
        }
    }
}

/// Bytes of a slot of an [`Index`]: hash, place and number.
const SLOT: usize = 16 + 8 + 4;
/// Slots of a new index.
const FIRST_SLOTS: u64 = 64;

/// Where the rows of each hash are: a hash table with linear probing, at most half full.
#[derive(Debug, Default)]
pub(crate) struct Index {
    slots: Scratch,
    size: u64,
    used: u64,
}

/// The hash of a slot, and what is kept of it: the place and a number that is not 0.
type Slot = (UnitHash, (u64, u32));

impl Index {
    fn slot(&self, number: u64) -> Result<Option<Slot>, Error> {
        let mut bytes = [0; SLOT];
        self.slots.read(number * SLOT as u64, &mut bytes)?;
        let mut fields = Fields(&bytes);
        let slot = (UnitHash(u128::from_le_bytes(fields.next())), (fields.u64(), fields.u32()));
        Ok((slot.1.1 > 0).then_some(slot))
    }

    /// The slot of a hash, and what is in it.
    fn find(&self, hash: UnitHash) -> Result<(u64, Option<(u64, u32)>), Error> {
        // SHA-256 has spread them.
        let mut number = hash.0 as u64 % self.size;
        loop {
            match self.slot(number)? {
                None => return Ok((number, None)),
                Some((found, value)) if found == hash => return Ok((number, Some(value))),
                Some(_) => number = (number + 1) % self.size,
            }
        }
    }

    /// What is kept of a hash.
    pub(crate) fn get(&self, hash: UnitHash) -> Result<Option<(u64, u32)>, Error> {
        if self.size == 0 { Ok(None) } else { Ok(self.find(hash)?.1) }
    }

    /// Keeps a place and a number of at least 1, unless there is something of this hash. Whether it did.
    pub(crate) fn insert(&mut self, hash: UnitHash, value: (u64, u32)) -> Result<bool, Error> {
        if self.used * 2 >= self.size {
            self.grow()?;
        }
        let (number, None) = self.find(hash)? else { return Ok(false) };
        self.put(number, (hash, value))?;
        self.used += 1;
        Ok(true)
    }

    fn put(&mut self, number: u64, (hash, (place, count)): Slot) -> Result<(), Error> {
        let mut bytes = [0; SLOT];
        let mut out = &mut bytes[..];
        // The slot has room for all three.
        let _ = out.write_all(&hash.0.to_le_bytes());
        let _ = out.write_all(&place.to_le_bytes());
        let _ = out.write_all(&count.to_le_bytes());
        self.slots.write(number * SLOT as u64, &bytes)
    }

    fn grow(&mut self) -> Result<(), Error> {
        let size = (self.size * 2).max(FIRST_SLOTS);
        let mut larger = Index { slots: Scratch::default(), size, used: self.used };
        let empty = [0; 1024 * SLOT];
        let len = size * SLOT as u64;
        while larger.slots.len() < len {
            let at = larger.slots.len();
            larger.slots.write(at, &empty[..((len - at) as usize).min(empty.len())])?;
        }
        for number in 0..self.size {
            if let Some(slot) = self.slot(number)? {
                let (free, _) = larger.find(slot.0)?;
                larger.put(free, slot)?;
            }
        }
        *self = larger;
        Ok(())
    }
}

/// Reads numbers from bytes, one after the other.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl Fields<'_> {
    pub(crate) fn next<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.0[..N]);
        self.0 = &self.0[N..];
        bytes
    }

    pub(crate) fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.next())
    }

    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.next())
    }

    pub(crate) fn f64(&mut self) -> f64 {
        f64::from_le_bytes(self.next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_keeps_the_first_of_each_hash_in_memory_and_on_disk() {
        let hash = |n: u64| UnitHash(u128::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835));
        let mut index = Index::default();
        // Some 30 000 slots of 28 bytes are more than stays in memory.
        for n in 0..10_000 {
            assert!(index.insert(hash(n), (n, 1)).expect("room"));
            assert!(!index.insert(hash(n), (n + 1, 2)).expect("room"));
        }
        assert!(index.slots.len() > KEPT as u64);
        assert!(matches!(*index.slots.place.lock().expect("a lock"), Store::File(_)));
        for n in 0..10_000 {
            assert_eq!(index.get(hash(n)).expect("read"), Some((n, 1)));
        }
        assert_eq!(index.get(hash(10_000)).expect("read"), None);
    }

    /// `/dev/full` takes nothing, as a full disk; it reads as zeros.
    #[cfg(target_os = "linux")]
    #[test]
    fn without_room_all_is_in_memory() {
        let full = File::options().read(true).write(true).open("/dev/full").expect("Linux has it");
        let mut scratch = Scratch { place: Mutex::new(Store::File(full)), len: 8 };
        scratch.write(8, b"and more").expect("memory");
        let mut all = [1; 16];
        scratch.read(0, &mut all).expect("memory");
        assert_eq!(&all, b"\0\0\0\0\0\0\0\0and more");
    }
}
