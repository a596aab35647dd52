//! The packets that open and close a connection, of irtt protocol version 1. The key is checked elsewhere.
//!
//! ```text
//! bytes        open request                  open reply                    close
//!  3           magic                         magic                         magic
//!  1           flags 01, 05: try only        flags 03, 07: refused         flags 04
//! 16           HMAC, where flag 08 is set    as there                      as there
//!  8           -                             token; 0 if refused        token
//!              parameters                    parameters as restricted      anything
//! ```

use goodqueue_probe::echo::wire::{CLOSE, HMAC, HMAC_AT, MAGIC, REPLY};

use crate::params::{Params, ParamsError};

/// Flag: opens a connection.
pub const OPEN: u8 = 0x01;
/// Bytes of a token.
pub const TOKEN: usize = 8;

/// A request for a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRequest {
    /// Asks only for the server's restrictions: no connection is made.
    pub try_only: bool,
    /// The requested parameters.
    pub params: Params,
}

/// The answer to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenReply {
    /// The connection's token; 0 if there is none.
    pub token: u64,
    /// No connection was made: it was refused, or only tried.
    pub closed: bool,
    /// The parameters as the server restricted them.
    pub params: Params,
}

/// Why bytes are none of these packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Too few bytes.
    #[error("too short")]
    Short,
    /// Another protocol.
    #[error("the first three bytes are not the protocol's")]
    Magic,
    /// Flags other than those of the packet.
    #[error("flags {0:#04x}")]
    Flags(u8),
    /// The parameters.
    #[error(transparent)]
    Params(#[from] ParamsError),
}

/// The flags, and where the bytes after the HMAC begin.
fn head(bytes: &[u8]) -> Result<(u8, usize), OpenError> {
    if bytes.len() < 4 {
        return Err(OpenError::Short);
    }
    if bytes[..3] != MAGIC {
        return Err(OpenError::Magic);
    }
    let flags = bytes[3];
    let body = if flags & HMAC == 0 { HMAC_AT.start } else { HMAC_AT.end };
    if bytes.len() < body { Err(OpenError::Short) } else { Ok((flags, body)) }
}

fn start(flags: u8, hmac: bool) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.push(if hmac { flags | HMAC } else { flags });
    out.resize(if hmac { HMAC_AT.end } else { HMAC_AT.start }, 0);
    out
}

fn token(bytes: &[u8], at: usize) -> Result<u64, OpenError> {
    let token = bytes.get(at..at + TOKEN).ok_or(OpenError::Short)?;
    Ok(u64::from_le_bytes(token.try_into().map_err(|_| OpenError::Short)?))
}

/// The token of an echo request or a close, whatever else it holds, and whether it closes.
///
/// # Errors
/// [`OpenError`] if it is neither.
pub fn token_of_request(bytes: &[u8]) -> Result<(u64, bool), OpenError> {
    let (flags, body) = head(bytes)?;
    if flags & !(CLOSE | HMAC) != 0 {
        return Err(OpenError::Flags(flags));
    }
    Ok((token(bytes, body)?, flags & CLOSE != 0))
}

/// A packet that closes a connection, with zeros in place of the HMAC if it should have one.
#[must_use]
pub fn close(token: u64, hmac: bool) -> Vec<u8> {
    let mut out = start(CLOSE, hmac);
    out.extend_from_slice(&token.to_le_bytes());
    out
}

impl OpenRequest {
    /// Reads it.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn parse(bytes: &[u8]) -> Result<OpenRequest, OpenError> {
        let (flags, body) = head(bytes)?;
        if flags & !(CLOSE | HMAC) != OPEN {
            return Err(OpenError::Flags(flags));
        }
        Ok(OpenRequest { try_only: flags & CLOSE != 0, params: Params::parse(&bytes[body..])? })
    }

    /// Writes it, with zeros in place of the HMAC if it should have one. It is padded to the length of the
    /// longest answer, so that a server that sends an unknown address no more bytes than it got may answer
    /// it.
    #[must_use]
    pub fn emit(&self, hmac: bool) -> Vec<u8> {
        const PAIRS: usize = (TOKEN + 4).div_ceil(2);
        let mut out = start(if self.try_only { OPEN | CLOSE } else { OPEN }, hmac);
        out.extend_from_slice(&self.params.emit(PAIRS));
        out
    }
}

impl OpenReply {
    /// Reads it.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn parse(bytes: &[u8]) -> Result<OpenReply, OpenError> {
        let (flags, body) = head(bytes)?;
        if flags & !(CLOSE | HMAC) != OPEN | REPLY {
            return Err(OpenError::Flags(flags));
        }
        let token = token(bytes, body)?;
        Ok(OpenReply { token, closed: flags & CLOSE != 0, params: Params::parse(&bytes[body + TOKEN..])? })
    }

    /// Writes it, with zeros in place of the HMAC if it should have one.
    #[must_use]
    pub fn emit(&self, hmac: bool) -> Vec<u8> {
        let mut out = start(if self.closed { OPEN | REPLY | CLOSE } else { OPEN | REPLY }, hmac);
        out.extend_from_slice(&self.token.to_le_bytes());
        out.extend_from_slice(&self.params.emit(0));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn params() -> Params {
        Params { version: 1, duration: 1_000, interval: 100, refusal: 3, ..Params::default() }
    }

    #[test]
    fn requests_replies_and_closes_come_back() {
        for (hmac, flag) in [(false, false), (false, true), (true, false), (true, true)] {
            let request = OpenRequest { try_only: flag, params: params() };
            let bytes = request.emit(hmac);
            assert_eq!(OpenRequest::parse(&bytes), Ok(request));
            let reply = OpenReply { token: 7, closed: flag, params: params() };
            assert_eq!(OpenReply::parse(&reply.emit(hmac)), Ok(reply.clone()));
            assert!(reply.emit(hmac).len() <= bytes.len(), "an answer is no longer than what was asked");
            assert_eq!(token_of_request(&close(9, hmac)), Ok((9, true)));
            assert!(OpenReply::parse(&bytes).is_err() && token_of_request(&bytes).is_err());
        }
    }

    #[test]
    fn packets_of_another_kind_are_named() {
        assert_eq!(OpenRequest::parse(b"\x14\xa7"), Err(OpenError::Short));
        assert_eq!(OpenRequest::parse(b"GET /"), Err(OpenError::Magic));
        assert_eq!(OpenRequest::parse(b"\x14\xa7\x5b\x11"), Err(OpenError::Flags(0x11)));
        assert_eq!(OpenRequest::parse(b"\x14\xa7\x5b\x09short"), Err(OpenError::Short));
        assert_eq!(OpenReply::parse(b"\x14\xa7\x5b\x03token"), Err(OpenError::Short));
        assert_eq!(token_of_request(b"\x14\xa7\x5b\x02........"), Err(OpenError::Flags(2)));
        assert_eq!(token_of_request(b"\x14\xa7\x5b\x00......."), Err(OpenError::Short));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), flags in 0_u8..16) {
            if bytes.len() > 3 {
                bytes[..3].copy_from_slice(&MAGIC);
                bytes[3] = flags;
            }
            if let Ok(request) = OpenRequest::parse(&bytes) {
                prop_assert_eq!(OpenRequest::parse(&request.emit(false)), Ok(request));
            }
            if let Ok(reply) = OpenReply::parse(&bytes) {
                prop_assert_eq!(OpenReply::parse(&reply.emit(true)), Ok(reply));
            }
            let _ = token_of_request(&bytes);
        }
    }
}
