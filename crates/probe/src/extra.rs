//! Additional probes for any test, which behave like applications.

use std::fmt;
use std::str::FromStr;

use crate::dash::Video;
use crate::talk::App;
use crate::web::Page;
use crate::{Dscp, ParseDscpError};

/// An application to measure in addition to the test's own probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extra {
    /// A telephone call with this DSCP ([`crate::voip`]).
    Voip(Dscp),
    /// A page, loaded again and again ([`crate::web`]).
    Web(PageKind),
    /// A video, played from the start of the load to its end ([`crate::dash`]).
    Dash,
    /// A video call or a game with this DSCP ([`crate::talk`]).
    Talk(App, Dscp),
}

/// A page by its size. The sizes are those of the web tests of Høiland-Jørgensen et al., "Ending the
/// Anomaly" (USENIX ATC 2017).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// 56 kB in 3 requests.
    Small,
    /// 3 MB in 110 requests.
    Large,
}

impl PageKind {
    /// Its name: `small`, `large`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            PageKind::Small => "small",
            PageKind::Large => "large",
        }
    }

    /// The page, from the first host, sent with this congestion control.
    #[must_use]
    pub fn page(self, cc: &str) -> Page {
        let (requests, bytes) = match self {
            PageKind::Small => (3, 56_000),
            PageKind::Large => (110, 3_000_000),
        };
        Page { name: self.name().into(), requests, bytes, host: 0, cc: cc.into() }
    }
}

/// The video, from the first host, sent with this congestion control.
pub(crate) fn video(cc: &str) -> Video {
    Video { name: "video".into(), host: 0, cc: cc.into() }
}

/// An extra as the catalogue describes it.
#[derive(Clone, Copy, Debug)]
pub struct ExtraInfo {
    /// Its syntax.
    pub words: &'static str,
    /// One line about it.
    pub about: &'static str,
}

/// Every extra, in the order of the list.
pub const EXTRAS: &[ExtraInfo] = &[
    ExtraInfo {
        words: "voip[:DSCP]",
        about: "A call in G.711, 172 bytes every 20 ms each way, as BE or with a DSCP: mean opinion score (G.107)",
    },
    ExtraInfo {
        words: "web[:small|:large]",
        about: "A page loaded repeatedly, 1 s apart: 56 kB in 3 requests (small), 3 MB in 110 (large)",
    },
    ExtraInfo {
        words: "dash",
        about: "A video in segments of 3 s, 230 kbit/s to 6 Mbit/s, selected by the player (BOLA): bit rate, stalls",
    },
    ExtraInfo {
        words: "videocall[:DSCP]",
        about: "A video call both ways, 150 kbit/s to 4 Mbit/s as its congestion control permits (NADA, RFC 8698): \
                freezes, resolution, delay",
    },
    ExtraInfo {
        words: "game[:30|:64][:DSCP]",
        about: "A game, an input up and a state down in each of 64 (or 30) ticks a second: late ticks, score (G-model)",
    },
];

/// The names, alone or before a colon.
const NAMES: [&str; 5] = ["voip", "web", "dash", "videocall", "game"];
/// Default ticks per second of a game.
const TICKS: u8 = 64;
const PAGES: [PageKind; 2] = [PageKind::Small, PageKind::Large];

/// Why a word is not an extra.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseExtraError {
    /// Nothing has that name.
    #[error("no extra probe is called `{word}`; there are {}", candidates.join(", "))]
    Unknown {
        /// The word as typed.
        word: String,
        /// The valid names.
        candidates: Vec<&'static str>,
    },
    /// The DSCP is invalid.
    #[error("{of}: {error}")]
    Dscp {
        /// Of which extra: `voip`, `videocall`, `game`.
        of: &'static str,
        /// Why.
        error: ParseDscpError,
    },
}

/// Parses the DSCP of extra `of`.
fn mark(of: &'static str, word: &str) -> Result<Dscp, ParseExtraError> {
    word.parse().map_err(|error| ParseExtraError::Dscp { of, error })
}

/// Parses the part of a game after the colon: `30`, `64`, `ef`, `30:ef`.
fn game(rest: &str) -> Result<Extra, ParseExtraError> {
    let (ticks, rest) = match rest.split_once(':').map_or((rest, None), |(ticks, rest)| (ticks, Some(rest))) {
        ("30", rest) => (30, rest),
        ("64", rest) => (64, rest),
        _ => (TICKS, Some(rest)),
    };
    let dscp = rest.map_or(Ok(Dscp::CS0), |word| mark("game", word))?;
    Ok(Extra::Talk(App::Game(ticks), dscp))
}

impl FromStr for Extra {
    type Err = ParseExtraError;

    /// `voip` is `voip:be`, `web` is `web:small`, `game` is `game:64:be`; for DSCPs see [`Dscp`]. Case does
    /// not matter.
    fn from_str(text: &str) -> Result<Extra, ParseExtraError> {
        let word = text.trim().to_ascii_lowercase();
        let unknown = |candidates: Vec<&'static str>| {
            Err(ParseExtraError::Unknown { word: text.trim().into(), candidates })
        };
        match word.split_once(':').map_or((word.as_str(), None), |(name, rest)| (name, Some(rest))) {
            ("voip", None) => Ok(Extra::Voip(Dscp::CS0)),
            ("voip", Some(word)) => Ok(Extra::Voip(mark("voip", word)?)),
            ("web", None) => Ok(Extra::Web(PageKind::Small)),
            ("web", Some(size)) => match PAGES.into_iter().find(|page| page.name() == size) {
                Some(page) => Ok(Extra::Web(page)),
                None => unknown(vec!["web:small", "web:large"]),
            },
            ("dash", None) => Ok(Extra::Dash),
            ("dash", Some(_)) => unknown(vec!["dash"]),
            ("videocall", None) => Ok(Extra::Talk(App::Call, Dscp::CS0)),
            ("videocall", Some(word)) => Ok(Extra::Talk(App::Call, mark("videocall", word)?)),
            ("game", None) => Ok(Extra::Talk(App::Game(TICKS), Dscp::CS0)),
            ("game", Some(rest)) => game(rest),
            _ => unknown(NAMES.to_vec()),
        }
    }
}

impl fmt::Display for Extra {
    /// The full form: `voip:EF`, `web:small`. It parses back to the same value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extra::Voip(dscp) => write!(f, "voip:{dscp}"),
            Extra::Web(page) => write!(f, "web:{}", page.name()),
            Extra::Dash => f.write_str("dash"),
            Extra::Talk(App::Call, dscp) => write!(f, "videocall:{dscp}"),
            Extra::Talk(App::Game(ticks), dscp) => write!(f, "game:{ticks}:{dscp}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extras_read_back() {
        let all = [
            ("voip", "voip:CS0"),
            ("VoIP:be", "voip:CS0"),
            ("voip:ef", "voip:EF"),
            ("voip:dscp:46", "voip:EF"),
            ("voip:tos:0x04", "voip:LE"),
            ("voip:dscp:3", "voip:dscp:3"),
            (" web", "web:small"),
            ("web:large", "web:large"),
            ("DASH", "dash"),
            ("videocall", "videocall:CS0"),
            ("VideoCall:af41", "videocall:AF41"),
            ("game", "game:64:CS0"),
            ("game:30", "game:30:CS0"),
            ("game:EF", "game:64:EF"),
            ("game:30:dscp:46", "game:30:EF"),
            ("game:dscp:3", "game:64:dscp:3"),
        ];
        for (typed, full) in all {
            let extra: Extra = typed.parse().expect(typed);
            assert_eq!(extra.to_string(), full, "{typed}");
            assert_eq!(full.parse(), Ok(extra));
        }
    }

    #[test]
    fn other_words_are_named() {
        let error = |word: &str| word.parse::<Extra>().expect_err("no extra").to_string();
        assert_eq!(
            error("vop"),
            "no extra probe is called `vop`; there are voip, web, dash, videocall, game"
        );
        assert_eq!(error("web:huge"), "no extra probe is called `web:huge`; there are web:small, web:large");
        assert_eq!(error(""), "no extra probe is called ``; there are voip, web, dash, videocall, game");
        assert_eq!(error("dash:6mbit"), "no extra probe is called `dash:6mbit`; there are dash");
        assert!(error("voip:gold").starts_with("voip: unknown DSCP `gold`"));
        assert!(error("voip:46").contains("ambiguous"));
        assert!(error("game:gold").starts_with("game: unknown DSCP `gold`"));
        assert!(error("game:20").starts_with("game: "));
        assert!(error("videocall:gold").starts_with("videocall: unknown DSCP `gold`"));
    }

    #[test]
    fn the_catalogue_names_what_can_be_read() {
        for (info, name) in EXTRAS.iter().zip(NAMES) {
            assert!(info.words.starts_with(name) && name.parse::<Extra>().is_ok());
        }
        assert_eq!(EXTRAS.len(), NAMES.len());
    }
}
