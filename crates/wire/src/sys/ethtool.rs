//! Offload features through `SIOCETHTOOL` (`linux/ethtool.h`): names from `ETHTOOL_GSTRINGS`, values
//! by `ETHTOOL_GFEATURES` and `ETHTOOL_SFEATURES`, so that every feature the kernel knows is covered.
//!
//! Why not netlink, for which there is the crate `ethtool`: its version 0.2.9 reads features but cannot
//! change them (that code is a `todo!`), offers only asynchronous requests, and needs older versions of
//! the crates `netlink-packet-*` than the ones used here. Kernels may be built without that interface
//! (`CONFIG_ETHTOOL_NETLINK`); this one is in all.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::{Error, Result};

const SIOCETHTOOL: libc::c_ulong = 0x8946;
const ETHTOOL_GCOALESCE: u32 = 0x0e;
const ETHTOOL_GRINGPARAM: u32 = 0x10;
const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
const ETHTOOL_GFEATURES: u32 = 0x3a;
const ETHTOOL_SFEATURES: u32 = 0x3b;
const ETH_SS_FEATURES: u32 = 4;
const ETH_GSTRING_LEN: usize = 32;
/// More features than any kernel has: Linux 6.18 knows 64.
const MOST_FEATURES: u32 = 4096;

/// One offload feature of an interface.
#[derive(Clone, Debug)]
pub struct Feature {
    /// The kernel's name, as in the detailed output of `ethtool -k` (`tx-tcp-segmentation`).
    pub name: String,
    /// Whether it is on.
    pub active: bool,
    /// Whether it can be changed.
    pub changeable: bool,
}

/// When a device interrupts for arriving packets (`struct ethtool_coalesce`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coalescing {
    /// Time after a packet's arrival, microseconds.
    pub rx_usecs: u32,
    /// Whether the driver adapts that time to the traffic.
    pub is_adaptive: bool,
}

/// A socket of the calling thread's namespace for ethtool requests on one interface.
pub struct Ethtool {
    fd: OwnedFd,
    interface: String,
}

impl Ethtool {
    /// Opens a socket. The interface does not have to exist.
    ///
    /// # Errors
    /// `System` if the kernel has no more sockets.
    pub fn open(interface: &str) -> Result<Ethtool> {
        // SAFETY: `socket` takes integers only.
        let raw = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        if raw < 0 {
            return Err(Error::last("socket", "AF_INET for ethtool"));
        }
        // SAFETY: `raw` was just opened and is owned by nobody else.
        let fd = unsafe { OwnedFd::from_raw_fd(raw) };
        Ok(Ethtool { fd, interface: interface.to_owned() })
    }

    /// Runs one request; `words` is the command's structure as 32-bit words, for input and output.
    fn request(&self, operation: &'static str, words: &mut [u32]) -> Result<i32> {
        // SAFETY: an `ifreq` of zeros is valid.
        let mut request: libc::ifreq = unsafe { super::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().take(15).zip(self.interface.bytes()) {
            // `c_char` is signed on some machines and unsigned on others.
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
        // SAFETY: `ifr_data` points to a buffer as large as the command's structure says it is (each
        // caller sizes it from the counts it writes into it); both live during the call.
        let answer = unsafe { libc::ioctl(self.fd.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
        if answer < 0 { Err(Error::last(operation, self.interface.as_str())) } else { Ok(answer) }
    }

    /// How many features this kernel knows.
    fn count(&self) -> Result<usize> {
        // struct ethtool_sset_info { cmd, reserved, u64 sset_mask, data[1] }
        let mut words = [ETHTOOL_GSSET_INFO, 0, 0, 0, 0];
        let mask = (1_u64 << ETH_SS_FEATURES).to_ne_bytes();
        words[2] = u32::from_ne_bytes([mask[0], mask[1], mask[2], mask[3]]);
        words[3] = u32::from_ne_bytes([mask[4], mask[5], mask[6], mask[7]]);
        self.request("ETHTOOL_GSSET_INFO", &mut words)?;
        checked_count(words[4])
    }

    /// Packets that the transmit ring holds.
    ///
    /// # Errors
    /// `System`: `EOPNOTSUPP` for an interface without rings.
    pub fn transmit_ring(&self) -> Result<u32> {
        // struct ethtool_ringparam: the command, four maxima, four lengths; the transmit length is the last.
        let mut words = [0; 9];
        words[0] = ETHTOOL_GRINGPARAM;
        self.request("ETHTOOL_GRINGPARAM", &mut words)?;
        Ok(words[8])
    }

    /// When the device interrupts for arriving packets.
    ///
    /// # Errors
    /// `System`: `EOPNOTSUPP` for an interface without such a setting.
    pub fn coalescing(&self) -> Result<Coalescing> {
        // struct ethtool_coalesce has 23 words: 1 is rx_coalesce_usecs, 10 is use_adaptive_rx_coalesce.
        let mut words = [0; 23];
        words[0] = ETHTOOL_GCOALESCE;
        self.request("ETHTOOL_GCOALESCE", &mut words)?;
        Ok(Coalescing { rx_usecs: words[1], is_adaptive: words[10] != 0 })
    }

    /// All features, in the kernel's order (their bit numbers).
    ///
    /// # Errors
    /// `System` if there is no such interface, `Invalid` if the kernel's number of features is not plausible.
    pub fn features(&self) -> Result<Vec<Feature>> {
        let count = self.count()?;
        // struct ethtool_gstrings { cmd, string_set, len, data[len * 32] }
        let mut strings = vec![0_u32; 3 + count * ETH_GSTRING_LEN / 4];
        strings[0] = ETHTOOL_GSTRINGS;
        strings[1] = ETH_SS_FEATURES;
        strings[2] = u32::try_from(count).unwrap_or(0);
        self.request("ETHTOOL_GSTRINGS", &mut strings)?;
        if strings[2] as usize != count {
            let got = format!("{count}, then {}", strings[2]);
            return Err(Error::Invalid {
                what: "the kernel's number of offload features",
                wanted: "constant",
                got,
            });
        }
        let names: Vec<u8> = strings[3..].iter().flat_map(|word| word.to_ne_bytes()).collect();
        // struct ethtool_gfeatures { cmd, size, { available, requested, active, never_changed }[size] }
        let blocks = count.div_ceil(32);
        let mut bits = vec![0_u32; 2 + 4 * blocks];
        bits[0] = ETHTOOL_GFEATURES;
        bits[1] = u32::try_from(blocks).unwrap_or(0);
        self.request("ETHTOOL_GFEATURES", &mut bits)?;
        let bit =
            |feature: usize, field: usize| bits[2 + 4 * (feature / 32) + field] >> (feature % 32) & 1 != 0;
        let feature = |(number, raw): (usize, &[u8])| {
            let end = raw.iter().position(|&b| b == 0).unwrap_or(raw.len());
            let name = String::from_utf8_lossy(&raw[..end]).into_owned();
            Feature { name, active: bit(number, 2), changeable: bit(number, 0) && !bit(number, 3) }
        };
        Ok(names.chunks(ETH_GSTRING_LEN).take(count).enumerate().map(feature).collect())
    }

    /// Switches all changeable features for which `select` is true.
    ///
    /// # Errors
    /// `System`: `EPERM` without `CAP_NET_ADMIN`.
    pub fn set(&self, on: bool, select: impl Fn(&str) -> bool) -> Result<()> {
        let features = self.features()?;
        // struct ethtool_sfeatures { cmd, size, { valid, requested }[size] }
        let blocks = features.len().div_ceil(32);
        let mut words = vec![0_u32; 2 + 2 * blocks];
        words[0] = ETHTOOL_SFEATURES;
        words[1] = u32::try_from(blocks).unwrap_or(0);
        for (number, feature) in features.iter().enumerate() {
            if feature.changeable && select(&feature.name) {
                words[2 + 2 * (number / 32)] |= 1 << (number % 32);
                words[3 + 2 * (number / 32)] |= u32::from(on) << (number % 32);
            }
        }
        match self.request("ETHTOOL_SFEATURES", &mut words) {
            // A kernel older than 2.6.39 or a driver without features.
            Err(error) if error.errno() == Some(libc::EOPNOTSUPP) => Err(Error::io(
                "ETHTOOL_SFEATURES",
                self.interface.as_str(),
                io::ErrorKind::Unsupported.into(),
            )),
            other => other.map(|_| ()),
        }
    }
}

/// Checks the kernel's number of features. The kernel writes the names of all of them (`net/ethtool/ioctl.c:
/// ethtool_get_strings`), whatever buffer length the caller gives. So the number must not be reduced.
fn checked_count(given: u32) -> Result<usize> {
    if given > MOST_FEATURES {
        let got = given.to_string();
        return Err(Error::Invalid {
            what: "the kernel's number of offload features",
            wanted: "at most 4096",
            got,
        });
    }
    Ok(given as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_features_is_accepted_unchanged_or_refused() {
        assert_eq!(checked_count(64).unwrap(), 64);
        assert_eq!(checked_count(MOST_FEATURES).unwrap(), 4096);
        for given in [MOST_FEATURES + 1, u32::MAX] {
            let error = checked_count(given).unwrap_err().to_string();
            assert!(error.contains(&given.to_string()), "{error}");
        }
    }
}
