//! The versions of IP.

use std::fmt;
use std::net::IpAddr;

/// A version of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpVersion {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl IpVersion {
    /// The version of an address.
    #[must_use]
    pub const fn of(address: IpAddr) -> IpVersion {
        if address.is_ipv6() { IpVersion::V6 } else { IpVersion::V4 }
    }
}

impl fmt::Display for IpVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == IpVersion::V4 { "IPv4" } else { "IPv6" })
    }
}
