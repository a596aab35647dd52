//! The messages of a control connection: a JSON object a line, each line of bounded length.
//!
//! ```text
//! client                               server
//! {"hello":{"version":1,"proof":…}} ─►
//!                                   ◄─ {"welcome":{…}} or {"refused":"…"}
//! {"clock":1} (some)                ─►
//!                                   ◄─ {"clock":{"number":1,"mono_ns":…}}
//! {"start":{…}}                     ─►
//!                                   ◄─ {"started":{"session":"…"}} or {"refused":"…"}
//!                                   ◄─ {"samples":[…]} (many)
//! {"stop":null}                     ─►
//!                                   ◄─ {"ended":{…}}
//! ```
//!
//! Then the client may start again, or close.

use std::io::{self, ErrorKind, Read};

use goodqueue_probe::Sample;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Version of the messages. A server answers another version with its own, so both can say what is wrong.
pub const VERSION: u32 = 1;
/// Longest line that a server reads, bytes.
pub const MOST_ASKED: usize = 4096;
/// Longest line that a client reads, bytes.
pub const MOST_TOLD: usize = 1 << 20;

/// What a client says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// Who it is.
    Hello {
        /// [`VERSION`].
        version: u32,
        /// Its proof that it has the secret, 64 hexadecimal digits.
        proof: String,
    },
    /// What does your clock say? With a number that comes back.
    Clock(u32),
    /// Begin a load.
    Start(Start),
    /// End it.
    Stop(()),
}

/// A load to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// Connections at a time.
    pub flows: u32,
    /// When the load starts, nanoseconds of the server's monotonic clock.
    pub at_ns: i64,
    /// How long it lasts, nanoseconds.
    pub length_ns: i64,
    /// Whether the flows are QUIC connections to the port of [`Welcome::quic`].
    #[serde(default, skip_serializing_if = "is_false")]
    pub quic: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature.
fn is_false(value: &bool) -> bool {
    !value
}

/// What a server says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tell {
    /// You may begin.
    Welcome(Welcome),
    /// Not now, or not that.
    Refused(Why),
    /// The answer to [`Ask::Clock`].
    Clock {
        /// Its number.
        number: u32,
        /// The server's monotonic clock, nanoseconds.
        mono_ns: i64,
    },
    /// The load may begin. Flows name this session.
    Started {
        /// 32 hexadecimal digits.
        session: String,
    },
    /// What the server's ends of the flows saw.
    Samples(Vec<Sample>),
    /// The load is over.
    Ended(Ended),
}

/// The server's first message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// [`VERSION`].
    pub version: u32,
    /// Whether probes need the key's HMAC, too.
    pub hmac: bool,
    /// Most flows of a load.
    pub flows: u32,
    /// Longest load, nanoseconds.
    pub length_ns: i64,
    /// The UDP port of QUIC flows, at a server that takes some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quic: Option<u16>,
}

/// The end of a load at the server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// The congestion control that the sockets of downloads reported, by the number of the flow.
    pub cc: Vec<(u32, String)>,
    /// Connections that it refused.
    pub refused: u64,
    /// Why it ended by itself, if it did.
    pub error: Option<String>,
    /// Thousandths of the load's time for which the server's thread of QUIC had a processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_permille: Option<u32>,
}

/// Why a server refuses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The messages have another version, the server's is this.
    #[error(
        "the server speaks version {0} of the protocol and this program version {VERSION}: update the older one"
    )]
    Version(u32),
    /// The proof is wrong.
    #[error("the key is wrong")]
    Key,
    /// As many loads as the server may have.
    #[error("the server is busy with other tests: try again in a minute")]
    Busy,
    /// More flows than it may have.
    #[error("the server allows {0} flows at a time")]
    Flows(u32),
    /// Longer than it may be, in nanoseconds.
    #[error("the server allows loads of {}", goodqueue::Span(.0.unsigned_abs()))]
    Length(i64),
    /// No flows over QUIC.
    #[error("the server takes no load over QUIC")]
    NoQuic,
    /// Not what comes next.
    #[error("the server did not expect this message")]
    Order,
}

/// A line of what either end says.
///
/// # Panics
/// Never: these messages have no keys that are not texts.
#[must_use]
pub fn line(message: &impl Serialize) -> String {
    serde_json::to_string(message).map(|text| text + "\n").unwrap_or_default()
}

/// Makes lines of bytes as they come.
#[derive(Debug)]
pub struct Lines {
    bytes: Vec<u8>,
    most: usize,
}

impl Lines {
    /// Lines of at most `most` bytes.
    #[must_use]
    pub fn new(most: usize) -> Lines {
        Lines { bytes: Vec::new(), most }
    }

    /// The message in the next line, read from `from` where none is complete; `None` where there is none yet.
    ///
    /// # Errors
    /// The reader's; `UnexpectedEof` at its end, `InvalidData` for a line that is too long or no message.
    pub fn message<M: DeserializeOwned>(&mut self, from: &mut impl Read) -> io::Result<Option<M>> {
        let mut buf = [0; 4096];
        loop {
            if let Some(end) = self.bytes.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.bytes.drain(..=end).collect();
                return serde_json::from_slice(&line).map(Some).map_err(|_| ErrorKind::InvalidData.into());
            }
            if self.bytes.len() >= self.most {
                return Err(ErrorKind::InvalidData.into());
            }
            let room = buf.len().min(self.most - self.bytes.len());
            match from.read(&mut buf[..room]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => self.bytes.extend_from_slice(&buf[..read]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // A read timeout.
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_are_as_documented() {
        let start = Ask::Start(Start { flows: 4, at_ns: -5, length_ns: 7, quic: false });
        assert_eq!(line(&start), "{\"start\":{\"flows\":4,\"at_ns\":-5,\"length_ns\":7}}\n");
        assert_eq!(line(&Ask::Stop(())), "{\"stop\":null}\n");
        assert_eq!(line(&Tell::Refused(Why::Flows(8))), "{\"refused\":{\"flows\":8}}\n");
        let samples = Tell::Samples(vec![Sample::Received { flow: 1, t: 2, bytes: 3 }]);
        let text = line(&samples);
        assert_eq!(Lines::new(1000).message::<Tell>(&mut text.as_bytes()).unwrap(), Some(samples));
    }

    #[test]
    fn a_line_that_never_ends_is_refused() {
        let long = vec![b'x'; 5000];
        let end = Lines::new(MOST_ASKED).message::<Ask>(&mut &long[..]).unwrap_err();
        assert_eq!(end.kind(), ErrorKind::InvalidData);
        let end = Lines::new(MOST_ASKED).message::<Ask>(&mut &long[..100]).unwrap_err();
        assert_eq!(end.kind(), ErrorKind::UnexpectedEof);
    }

    proptest! {
        #[test]
        fn any_bytes_are_messages_or_errors(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            let (mut asked, mut told) = (Lines::new(256), Lines::new(256));
            let (mut one, mut two) = (&bytes[..], &bytes[..]);
            while asked.message::<Ask>(&mut one).is_ok() {}
            while told.message::<Tell>(&mut two).is_ok() {}
        }
    }
}
