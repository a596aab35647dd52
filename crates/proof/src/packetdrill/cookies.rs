//! The cookies of TCP Fast Open (RFC 7413): those that are remembered between connections, and those that
//! this side grants.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use goodqueue_sim::tcp::{Cookie, Granted, Host};

/// What is known of the peer (Linux `tcp_metrics`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Peer {
    cookie: Option<Cookie>,
    pub(super) mss: Option<u16>,
    /// Requests that were not answered: after the first, one is made with the experimental option (Linux
    /// `try_exp`).
    refused: u8,
}

impl Peer {
    /// Takes what a SYN-ACK has said.
    pub(super) fn learn(&mut self, granted: &Granted) {
        if granted.mss > 0 {
            self.mss = Some(granted.mss);
        }
        self.cookie = granted.cookie.or(self.cookie);
        if granted.is_refused {
            self.refused = self.refused.saturating_add(1);
        }
    }

    /// What the next SYN carries: the cookie, or a request; none: data without (bit 4 of `tcp_fastopen`).
    pub(super) fn option(&self, host: &Host) -> Option<Cookie> {
        if host.fast_open.mode & 4 != 0 {
            return None;
        }
        self.cookie.or_else(|| Cookie::new(&[], self.refused == 1))
    }

    /// Whether data can be on the next SYN.
    pub(super) fn allows_data(&self, host: &Host) -> bool {
        host.fast_open.mode & 4 != 0 || self.cookie.is_some()
    }
}

/// The addresses of both hosts, as `--local_ip` and `--remote_ip` give them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Addresses {
    pub(super) local: Option<IpAddr>,
    pub(super) remote: Option<IpAddr>,
}

impl Addresses {
    /// Both, the remote one first; packetdrill's defaults where none is given.
    fn both(&self, is_ipv6: bool) -> [IpAddr; 2] {
        let [local, remote]: [IpAddr; 2] = if is_ipv6 {
            [[0xfd3d, 0x0a0b, 0x17d6], [0xfd3d, 0xfa7b, 0xd17d]]
                .map(|[a, b, c]| Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 1).into())
        } else {
            [[192, 168, 0, 1], [192, 0, 2, 1]].map(|octets| Ipv4Addr::from(octets).into())
        };
        [self.remote.unwrap_or(remote), self.local.unwrap_or(local)]
    }

    /// The address that is none of this version of IP.
    pub(super) fn stranger(&self, is_ipv6: bool) -> Option<IpAddr> {
        [self.local, self.remote].into_iter().flatten().find(|address| address.is_ipv6() != is_ipv6)
    }
}

/// The cookie of a host with this key for a peer (Linux `__tcp_fastopen_cookie_gen_cipher`): SipHash of the
/// peer's address and the host's own.
#[allow(deprecated)]
pub(super) fn cookie(key: [u8; 16], is_ipv6: bool, addresses: &Addresses) -> Cookie {
    use std::hash::{Hasher, SipHasher};
    let half = |from: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&key[from..from + 8]);
        u64::from_le_bytes(bytes)
    };
    let mut hash = SipHasher::new_with_keys(half(0), half(8));
    for address in addresses.both(is_ipv6) {
        match address {
            IpAddr::V4(address) => hash.write(&address.octets()),
            IpAddr::V6(address) => hash.write(&address.octets()),
        }
    }
    Cookie::new(&hash.finish().to_le_bytes(), false).unwrap_or_default()
}

/// A key as the sysctl has it: four words of 32 bits, in hexadecimal.
pub(super) fn key(text: &str) -> Option<[u8; 16]> {
    let words: Vec<u32> =
        text.split('-').map(|word| u32::from_str_radix(word, 16).ok()).collect::<Option<_>>()?;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.try_into().ok()
}

/// A key as a string of a script has it: `\xa1...`, 16 bytes.
pub(super) fn key_of_text(text: &str) -> Option<[u8; 16]> {
    super::link::bytes(&text.replace("\\x", ""))?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key and the cookies that the comments of Linux's suite give.
    #[test]
    fn a_cookie_is_the_siphash_of_both_addresses() {
        let key = key("a1a1a1a1-b2b2b2b2-c3c3c3c3-d4d4d4d4").expect("a key");
        let usual = Addresses::default();
        assert_eq!(cookie(key, false, &usual).bytes(), 0x3021_b9d8_8901_7eeb_u64.to_be_bytes());
        assert_eq!(cookie([0; 16], false, &usual).bytes(), 0xb7c1_2350_a90d_c8f5_u64.to_be_bytes());
        assert_eq!(cookie(key, true, &usual).bytes(), 0xc1d1_e974_2a47_a9bc_u64.to_be_bytes());
        assert_eq!(cookie([0; 16], true, &usual).bytes(), 0x82af_1a8f_9a20_5c34_u64.to_be_bytes());
        assert_eq!(key_of_text(&"\\xa1".repeat(16)), Some([0xa1; 16]));
        assert_eq!((key_of_text("\\xa1"), super::key("1-2")), (None, None));
    }

    /// Cookies for other addresses, as packetdrill's suite has them.
    #[test]
    fn a_cookie_depends_on_the_addresses_that_are_given() {
        let address = |text: &str| Some(text.parse().expect("an address"));
        let given = Addresses { local: address("192.168.0.2"), remote: address("10.248.0.2") };
        let key = key("a0bf63f7-ed803d81-cd641d30-cebc4a90").expect("a key");
        assert_eq!(cookie(key, false, &given).bytes(), 0x00ab_aaab_e8e9_54c2_u64.to_be_bytes());
        assert_eq!(cookie([0; 16], false, &given).bytes(), 0x93b7_aa4f_550f_8a1a_u64.to_be_bytes());
        assert_eq!((given.stranger(false), given.stranger(true)), (None, given.local));
        let usual = Addresses { local: address("fd3d:a0b:17d6::1"), remote: address("fd3d:fa7b:d17d::1") };
        assert_eq!(cookie(key, true, &usual), cookie(key, true, &Addresses::default()));
        let other = Addresses { local: address("fd3d:a0b:17d6::2"), ..usual };
        assert_ne!(cookie(key, true, &other), cookie(key, true, &usual));
    }
}
