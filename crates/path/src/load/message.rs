//! The messages of a control connection: one JSON object on each line, each line of bounded length.
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

use goodqueue::Span;
use goodqueue_probe::{Sample, Transport};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::own_queue::OwnQueue;

/// Version of the messages. A server answers another version with its own, so both ends can report the
/// mismatch.
pub const VERSION: u32 = 1;
/// Longest line that a server reads, bytes.
pub const MOST_ASKED: usize = 4096;
/// Longest line that a client reads, bytes.
pub const MOST_TOLD: usize = 1 << 20;

/// A message of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// Introduces the client.
    Hello {
        /// [`VERSION`].
        version: u32,
        /// Its proof that it has the secret, 64 hexadecimal digits.
        proof: String,
    },
    /// Asks for the server's clock, with a number that the answer repeats.
    Clock(u32),
    /// Begin a load.
    Start(Start),
    /// End it.
    Stop(()),
}

/// A load to begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// Connections at a time.
    pub flows: u32,
    /// When the load starts, nanoseconds of the server's monotonic clock.
    pub at_ns: i64,
    /// How long it lasts, nanoseconds.
    pub length_ns: i64,
    /// Transport of the flows; those over QUIC connect to the port of [`Welcome::quic`].
    #[serde(default, skip_serializing_if = "is_default")]
    pub transport: Transport,
    /// Connections for pages and videos at a time, in addition to the flows.
    #[serde(default, skip_serializing_if = "is_default")]
    pub web: u32,
    /// Video calls and games.
    #[serde(default, skip_serializing_if = "is_default")]
    pub talks: u32,
    /// Flows for which the server, as the sender, must limit its rate. Each flow's header has the rate.
    #[serde(default, skip_serializing_if = "is_default")]
    pub paced: u32,
    /// UDP flows.
    #[serde(default, skip_serializing_if = "is_default")]
    pub udp: u32,
    /// Rate of all UDP flows together in a direction, the larger of both, bit/s.
    #[serde(default, skip_serializing_if = "is_default")]
    pub udp_bps: u64,
}

impl Start {
    /// A load of TCP flows only.
    #[must_use]
    pub fn of(flows: u32, at_ns: i64, length: Span) -> Start {
        let length_ns = i64::try_from(length.0).unwrap_or(i64::MAX);
        Start { flows, at_ns, length_ns, ..Start::default() }
    }
}

fn is_default<V: Default + PartialEq>(value: &V) -> bool {
    *value == V::default()
}

/// A message of a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tell {
    /// You may begin.
    Welcome(Welcome),
    /// The request is refused.
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
    /// Samples of the server's ends of the flows.
    Samples(Vec<Sample>),
    /// The load is over.
    Ended(Ended),
}

/// The server's first message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// [`VERSION`].
    pub version: u32,
    /// Whether probes need the key's HMAC, too.
    pub hmac: bool,
    /// Largest number of flows of a load.
    pub flows: u32,
    /// Longest load, nanoseconds.
    pub length_ns: i64,
    /// Most connections for pages and videos; a server from before they existed does not say.
    #[serde(default)]
    pub web: u32,
    /// Most video calls and games; the same.
    #[serde(default)]
    pub talks: u32,
    /// Highest rate of UDP flows in a direction, bit/s; the same.
    #[serde(default)]
    pub udp_bps: u64,
    /// Whether it can limit the rate of flows that it sends.
    #[serde(default)]
    pub paces: bool,
    /// The UDP port of flows over QUIC, if the server accepts them.
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
    /// Thousandths of the load's time for which the server's thread of the flows had a processor: over QUIC
    /// always, over TCP only if it was the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_permille: Option<u32>,
    /// Thousandths of that time, at least, for which this thread had work but no processor; absent if the
    /// server's system does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_permille: Option<u32>,
    /// The queue of the interface through which the server sent the most meanwhile; absent if its system does
    /// not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_queue: Option<OwnQueue>,
}

/// Why a server refuses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The messages have another version; this is the server's.
    #[error(
        "the server speaks version {0} of the protocol and this program version {VERSION}: update the older one"
    )]
    Version(u32),
    /// The proof is wrong.
    #[error("the key is wrong")]
    Key,
    /// The server has reached its limit of loads.
    #[error("the server is busy with other tests: try again in a minute")]
    Busy,
    /// More flows than a load may have.
    #[error(
        "the server allows {0} flows at a time: ask for fewer with --flows, or start `goodqueue server` with a \
         higher --flows"
    )]
    Flows(u32),
    /// More connections for pages and videos than a load may have.
    #[error(
        "the server allows {0} connections for pages and videos at a time: ask for fewer pages and videos with \
         --with; no server takes more"
    )]
    Web(u32),
    /// More video calls and games than a load may have.
    #[error(
        "the server allows {0} video calls and games at a time: ask for fewer with --with; no server takes more"
    )]
    Talks(u32),
    /// More UDP flows than a load may have.
    #[error("the server allows {0} UDP flows at a time: name a test with fewer; no server takes more")]
    Udp(u32),
    /// A higher rate of UDP than a load may have, bit/s.
    #[error(
        "the server allows {} of UDP in each direction: ask for less, or start it with a higher --udp-rate",
        goodqueue::Rate(*.0)
    )]
    UdpRate(u64),
    /// Longer than a load may be, in nanoseconds.
    #[error("the server allows loads of {}", goodqueue::Span(.0.unsigned_abs()))]
    Length(i64),
    /// No flows over QUIC.
    #[error("the server takes no load over QUIC")]
    NoQuic,
    /// A message at the wrong time.
    #[error("the server did not expect this message")]
    Order,
}

/// A message as a line.
///
/// # Panics
/// Never: these messages have no keys that are not texts.
#[must_use]
pub fn line(message: &impl Serialize) -> String {
    serde_json::to_string(message).map(|text| text + "\n").unwrap_or_default()
}

/// Splits arriving bytes into lines.
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

    /// The message in the next line, read from `from` if none is complete; `None` if there is none yet.
    ///
    /// # Errors
    /// The reader's; `UnexpectedEof` at its end, `InvalidData` for a line that is too long or not a message.
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
        let start = Ask::Start(Start::of(4, -5, Span(7)));
        assert_eq!(line(&start), "{\"start\":{\"flows\":4,\"at_ns\":-5,\"length_ns\":7}}\n");
        let start = Ask::Start(Start { web: 24, talks: 1, ..Start::of(0, 1, Span(2)) });
        let asked = "{\"start\":{\"flows\":0,\"at_ns\":1,\"length_ns\":2,\"web\":24,\"talks\":1}}\n";
        assert_eq!(line(&start), asked);
        let start = Ask::Start(Start { transport: Transport::Quic, ..Start::of(2, 1, Span(2)) });
        let asked = "{\"start\":{\"flows\":2,\"at_ns\":1,\"length_ns\":2,\"transport\":\"quic\"}}\n";
        assert_eq!(line(&start), asked);
        assert_eq!(line(&Ask::Stop(())), "{\"stop\":null}\n");
        assert_eq!(line(&Tell::Refused(Why::Flows(8))), "{\"refused\":{\"flows\":8}}\n");
        let samples = Tell::Samples(vec![Sample::Received { flow: 1, t: 2, bytes: 3 }]);
        let text = line(&samples);
        assert_eq!(Lines::new(1000).message::<Tell>(&mut text.as_bytes()).unwrap(), Some(samples));
    }

    /// Fields that an older program does not send have no value; additional fields of a newer one are
    /// ignored.
    #[test]
    fn programs_of_two_releases_understand_each_other() {
        let old = "{\"welcome\":{\"version\":1,\"hmac\":false,\"flows\":128,\"length_ns\":5}}\n";
        let Ok(Some(Tell::Welcome(welcome))) = Lines::new(1000).message(&mut old.as_bytes()) else {
            panic!("a welcome");
        };
        assert_eq!((welcome.flows, welcome.web, welcome.talks, welcome.udp_bps), (128, 0, 0, 0));
        assert!(!welcome.paces);
        let old = "{\"samples\":[{\"Tcp\":{\"flow\":1,\"t\":2,\"info\":{\"cwnd_segments\":10,\"ssthresh_segments\":3,\
            \"srtt_us\":4,\"min_rtt_us\":5,\"retransmits\":6,\"unacked_segments\":7,\"delivered_ce\":8,\"pacing_rate\":9,\
            \"delivery_rate\":10,\"busy_us\":11,\"rwnd_limited_us\":12,\"sndbuf_limited_us\":13}}}]}\n";
        let Ok(Some(Tell::Samples(samples))) = Lines::new(1000).message(&mut old.as_bytes()) else {
            panic!("samples");
        };
        let Sample::Tcp { info, .. } = samples[0] else { panic!("of a sender") };
        assert_eq!((info.delivery_rate, info.app_limited, info.ecn), (10, false, None));
        let ended = |busy: &str| {
            let text = format!("{{\"ended\":{{\"cc\":[],\"refused\":0,\"error\":null{busy}}}}}\n");
            let ended = Lines::new(1000).message(&mut text.as_bytes()).unwrap();
            let Some(Tell::Ended(ended)) = ended else { panic!("an end") };
            assert_eq!(line(&Tell::Ended(ended.clone())), text);
            (ended.busy_permille, ended.waited_permille, ended.own_queue.map(|own| own.drops))
        };
        assert_eq!(ended(""), (None, None, None));
        assert_eq!(ended(",\"busy_permille\":950"), (Some(950), None, None));
        assert_eq!(ended(",\"waited_permille\":210"), (None, Some(210), None));
        let own = "{\"interface\":\"eth0\",\"kind\":\"fq\",\"drops\":3,\"waiting_permille\":5}";
        assert_eq!(ended(&format!(",\"own_queue\":{own}")), (None, None, Some(3)));
        let new = "{\"start\":{\"flows\":4,\"at_ns\":1,\"length_ns\":2,\"smell\":[3]}}\n";
        let asked = Lines::new(1000).message(&mut new.as_bytes()).unwrap();
        assert_eq!(asked, Some(Ask::Start(Start::of(4, 1, Span(2)))));
    }

    #[test]
    fn a_limit_is_told_with_its_cure() {
        let told = Why::Flows(8).to_string();
        assert_eq!(
            told,
            "the server allows 8 flows at a time: ask for fewer with --flows, or start `goodqueue server` with a \
             higher --flows"
        );
        for why in [Why::Web(64), Why::Talks(8), Why::Udp(64)] {
            assert!(why.to_string().ends_with("; no server takes more"), "{why}");
        }
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
