//! The header of every request for web data, which tells the server what to answer.
//!
//! ```text
//! octet  0  magic "GQw1"
//!        4  bytes of the request, these included, u32 (all integers little-endian)
//!        8  bytes of the answer, u64
//!       16  congestion control, padded with zeros, 16 octets, the last one zero
//!       32  zero, 32 octets
//! ```

/// Bytes of the header: the minimum size of a request.
pub(super) const LEN: usize = super::header::LEN;
const MAGIC: [u8; 4] = *b"GQw1";
/// Largest request and answer.
const MOST_REQUEST: u32 = 64 * 1024;
const MOST_RESPONSE: u64 = 1 << 30;

/// A request for web data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) request: u32,
    pub(super) response: u64,
    pub(super) cc: String,
}

impl Request {
    pub(super) fn emit(&self) -> [u8; LEN] {
        let mut out = [0; LEN];
        out[..4].copy_from_slice(&MAGIC);
        out[4..8].copy_from_slice(&self.request.to_le_bytes());
        out[8..16].copy_from_slice(&self.response.to_le_bytes());
        let len = self.cc.len().min(15);
        out[16..16 + len].copy_from_slice(&self.cc.as_bytes()[..len]);
        out
    }

    /// Parses a header; `None` if any field is out of range.
    pub(super) fn parse(bytes: &[u8; LEN]) -> Option<Request> {
        let request = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
        let mut long = [0; 8];
        long.copy_from_slice(&bytes[8..16]);
        let response = u64::from_le_bytes(long);
        let len = bytes[16..32].iter().position(|&b| b == 0)?;
        let cc = std::str::from_utf8(&bytes[16..16 + len]).ok()?;
        let named = len > 0 && cc.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        let sound = bytes[..4] == MAGIC
            && (LEN as u32..=MOST_REQUEST).contains(&request)
            && (1..=MOST_RESPONSE).contains(&response)
            && named
            && bytes[16 + len..].iter().all(|&b| b == 0);
        sound.then(|| Request { request, response, cc: cc.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::{REQUEST, TLS};
    use proptest::prelude::*;

    fn request() -> Request {
        Request { request: 0x0102, response: 0x0102_0304, cc: "cubic".into() }
    }

    #[test]
    fn the_layout_is_the_documented_one() {
        let mut golden = [0; LEN];
        golden[..21].copy_from_slice(b"GQw1\x02\x01\0\0\x04\x03\x02\x01\0\0\0\0cubic");
        assert_eq!(request().emit(), golden);
        assert_eq!(Request::parse(&golden), Some(request()));
    }

    #[test]
    fn malformed_requests_are_refused() {
        let good = request().emit();
        for (at, value) in [(0, b'X'), (5, 0), (7, 1), (13, 1), (16, 0), (17, b'/'), (40, 1), (63, 1)] {
            let mut bad = good;
            bad[at] = value;
            assert_eq!(Request::parse(&bad), None, "octet {at}");
        }
        assert_eq!(Request::parse(&Request { response: 0, ..request() }.emit()), None);
    }

    #[test]
    fn every_request_of_a_page_has_room_for_it() {
        assert!(TLS.iter().map(|&(request, _)| request).chain([REQUEST]).all(|bytes| bytes as usize >= LEN));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), LEN), at in 0..LEN, to: u8) {
            let mut near = request().emit();
            near[at] = to;
            for bytes in [<[u8; LEN]>::try_from(&bytes[..]).expect("equal length"), near] {
                if let Some(request) = Request::parse(&bytes) {
                    prop_assert_eq!(request.emit(), bytes);
                }
            }
        }
    }
}
