//! The parameters that client and server agree on when a connection is opened: pairs of a type (unsigned
//! varint) and a value (zigzag varint), by irtt protocol version 1.

use goodqueue_probe::echo::wire::{Clocks, Layout, StampAt};

/// The protocol's version.
pub const VERSION: i64 = 1;
/// Largest number of bytes of the parameters.
pub const MAX_BYTES: usize = 128;
/// Largest number of bytes of the name of a fill.
pub const MAX_FILL: usize = 32;

/// Types. Unknown ones are ignored by both ends, ours and irtt's; the last three are ours.
mod kind {
    pub(super) const VERSION: u64 = 1;
    pub(super) const DURATION: u64 = 2;
    pub(super) const INTERVAL: u64 = 3;
    pub(super) const LENGTH: u64 = 4;
    pub(super) const RECEIVED: u64 = 5;
    pub(super) const STAMPS: u64 = 6;
    pub(super) const CLOCKS: u64 = 7;
    pub(super) const TOS: u64 = 8;
    pub(super) const FILL: u64 = 9;
    /// No content: makes a request at least as long as its answer.
    pub(super) const PADDING: u64 = 100;
    /// Why a connection was refused.
    pub(super) const REFUSAL: u64 = 101;
    /// Replies report the IP header of their request as it arrived.
    pub(super) const IP: u64 = 102;
}

/// The parameters of a connection. A zero is not sent, so it means "not asked for".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params {
    /// Version of the protocol; this program speaks 1.
    pub version: i64,
    /// How long the client sends, nanoseconds.
    pub duration: i64,
    /// Nanoseconds between probes.
    pub interval: i64,
    /// Bytes of a probe's UDP payload; 0 is the header only.
    pub length: i64,
    /// Statistics of the server: 0 none, 1 count, 2 window, 3 both.
    pub received: i64,
    /// Times that the server records: 0 none, 1 send, 2 receive, 3 both, 4 the midpoint of both.
    pub stamps: i64,
    /// Clocks of these times: 1 wall, 2 monotonic, 3 both.
    pub clocks: i64,
    /// ToS byte of its replies, including the ECN field.
    pub tos: i64,
    /// The fill of its replies: `rand`, `none`, `pattern:HEX`; empty is its own choice.
    pub fill: String,
    /// Why the connection was refused; ours. 0 if it was not, or if the server does not say.
    pub refusal: i64,
    /// 1 if replies must report the IP header of their request as it arrived; ours.
    pub ip: i64,
}

/// Why our server refuses a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It speaks another version of the protocol.
    Version,
    /// It has reached its limit of sessions.
    Full,
    /// The client's network has reached its limit of sessions.
    PrefixFull,
}

impl Refusal {
    /// As a parameter.
    #[must_use]
    pub fn value(self) -> i64 {
        match self {
            Refusal::Version => 1,
            Refusal::Full => 2,
            Refusal::PrefixFull => 3,
        }
    }

    /// From a parameter.
    #[must_use]
    pub fn of(value: i64) -> Option<Refusal> {
        [Refusal::Version, Refusal::Full, Refusal::PrefixFull].into_iter().find(|why| why.value() == value)
    }
}

/// Why bytes are not parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParamsError {
    /// More than [`MAX_BYTES`].
    #[error("{0} bytes of parameters, {MAX_BYTES} at most")]
    Long(usize),
    /// They end within a number or a text, or a number has more than 64 bits.
    #[error("parameters that break off")]
    Broken,
    /// The name of a fill is too long or not text.
    #[error("the name of a fill that is no text of up to {MAX_FILL} bytes")]
    Fill,
    /// A value that no connection can have.
    #[error("parameter {0} is out of its range")]
    Range(&'static str),
}

fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

fn take(bytes: &mut &[u8]) -> Result<u64, ParamsError> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(ParamsError::Broken)?;
        *bytes = rest;
        let part = u64::from(byte & 0x7f);
        if part << shift >> shift != part {
            return Err(ParamsError::Broken);
        }
        value |= part << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(ParamsError::Broken)
}

/// Maps small magnitudes to small numbers, regardless of the sign.
fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63).cast_unsigned()
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

impl Params {
    /// Reads them. Missing ones are 0.
    ///
    /// # Errors
    /// [`ParamsError`], but never [`ParamsError::Range`]: see [`Params::layout`].
    pub fn parse(mut bytes: &[u8]) -> Result<Params, ParamsError> {
        if bytes.len() > MAX_BYTES {
            return Err(ParamsError::Long(bytes.len()));
        }
        let mut params = Params::default();
        while !bytes.is_empty() {
            let kind = take(&mut bytes)?;
            if kind == kind::FILL {
                let len = usize::try_from(take(&mut bytes)?).unwrap_or(usize::MAX);
                if len > MAX_FILL || len > bytes.len() {
                    return Err(ParamsError::Fill);
                }
                let (text, rest) = bytes.split_at(len);
                let text = std::str::from_utf8(text).map_err(|_| ParamsError::Fill)?;
                if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
                    return Err(ParamsError::Fill);
                }
                (params.fill, bytes) = (text.to_owned(), rest);
                continue;
            }
            let value = unzigzag(take(&mut bytes)?);
            match kind {
                kind::VERSION => params.version = value,
                kind::DURATION => params.duration = value,
                kind::INTERVAL => params.interval = value,
                kind::LENGTH => params.length = value,
                kind::RECEIVED => params.received = value,
                kind::STAMPS => params.stamps = value,
                kind::CLOCKS => params.clocks = value,
                kind::TOS => params.tos = value,
                kind::REFUSAL => params.refusal = value,
                kind::IP => params.ip = value,
                _ => {}
            }
        }
        Ok(params)
    }

    /// Writes them, with this many pairs of padding.
    #[must_use]
    pub fn emit(&self, padding: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(MAX_BYTES);
        let numbers = [
            (kind::VERSION, self.version),
            (kind::DURATION, self.duration),
            (kind::INTERVAL, self.interval),
            (kind::LENGTH, self.length),
            (kind::RECEIVED, self.received),
            (kind::STAMPS, self.stamps),
            (kind::CLOCKS, self.clocks),
            (kind::TOS, self.tos),
            (kind::REFUSAL, self.refusal),
            (kind::IP, self.ip),
        ];
        for (kind, value) in numbers.into_iter().filter(|&(_, value)| value != 0) {
            put(&mut out, kind);
            put(&mut out, zigzag(value));
        }
        if !self.fill.is_empty() {
            put(&mut out, kind::FILL);
            put(&mut out, self.fill.len() as u64);
            out.extend_from_slice(self.fill.as_bytes());
        }
        for _ in 0..padding {
            put(&mut out, kind::PADDING);
            put(&mut out, 0);
        }
        out
    }

    /// The fields of the packets of a connection with these parameters.
    ///
    /// # Errors
    /// [`ParamsError::Range`] for one that no connection can have.
    pub fn layout(&self, hmac: bool) -> Result<Layout, ParamsError> {
        let stamps = match self.stamps {
            0 => StampAt::None,
            1 => StampAt::Send,
            2 => StampAt::Receive,
            3 => StampAt::Both,
            4 => StampAt::Midpoint,
            _ => return Err(ParamsError::Range("stamp at")),
        };
        let clocks = match self.clocks {
            1 => Clocks::Wall,
            2 => Clocks::Monotonic,
            3 => Clocks::Both,
            0 if stamps == StampAt::None => Clocks::Both,
            _ => return Err(ParamsError::Range("clock")),
        };
        if !(0..=3).contains(&self.received) {
            return Err(ParamsError::Range("received stats"));
        }
        if self.duration <= 0 {
            return Err(ParamsError::Range("duration"));
        }
        if self.interval <= 0 {
            return Err(ParamsError::Range("interval"));
        }
        if !(0..=goodqueue_probe::echo::wire::MAX_DATAGRAM as i64).contains(&self.length) {
            return Err(ParamsError::Range("length"));
        }
        if !(0..=1).contains(&self.ip) {
            return Err(ParamsError::Range("IP headers"));
        }
        if !(0..=255).contains(&self.tos) {
            return Err(ParamsError::Range("DSCP"));
        }
        let [count, window] = [1, 2].map(|bit| self.received & bit != 0);
        Ok(Layout { hmac, count, window, stamps, clocks, ip: self.ip == 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn asked() -> Params {
        let (duration, interval) = (60_000_000_000, 1_000_000_000);
        Params { version: 1, duration, interval, received: 3, stamps: 3, clocks: 3, ..Params::default() }
    }

    /// What Debian's irtt 0.9.0 sends for `irtt client -d 60s -i 1s HOST`, as captured.
    #[test]
    fn parameters_look_like_irtts() {
        #[rustfmt::skip]
        let captured = [
            0x01, 0x02, 0x02, 0x80, 0xe0, 0xba, 0x84, 0xbf, 0x03, 0x03, 0x80, 0xa8, 0xd6, 0xb9, 0x07,
            0x05, 0x06, 0x06, 0x06, 0x07, 0x06,
        ];
        assert_eq!(asked().emit(0), captured);
        assert_eq!(Params::parse(&captured), Ok(asked()));
    }

    #[test]
    fn unknown_types_are_ignored_and_broken_ones_are_not() {
        assert_eq!(Params::parse(&asked().emit(7)), Ok(asked()));
        assert_eq!(Params::parse(&[0x01]), Err(ParamsError::Broken));
        assert_eq!(Params::parse(&[0x01, 0x80]), Err(ParamsError::Broken));
        assert_eq!(Params::parse(&[0xff; 20]), Err(ParamsError::Broken));
        assert_eq!(Params::parse(&[0; 129]), Err(ParamsError::Long(129)));
        assert_eq!(Params::parse(&[9, 33]), Err(ParamsError::Fill));
        assert_eq!(Params::parse(&[9, 2, b'a']), Err(ParamsError::Fill));
        assert_eq!(Params::parse(&[9, 1, 0x1b]), Err(ParamsError::Fill));
    }

    #[test]
    fn values_out_of_range_make_no_layout() {
        let layout = |change: fn(&mut Params)| {
            let mut params = asked();
            change(&mut params);
            params.layout(false)
        };
        assert_eq!(layout(|_| {}), Ok(Layout::FULL));
        assert_eq!(layout(|p| (p.stamps, p.clocks) = (0, 0)).map(Layout::header_len), Ok(28));
        assert!(layout(|p| p.stamps = 5).is_err() && layout(|p| p.clocks = 0).is_err());
        assert!(layout(|p| p.received = 4).is_err() && layout(|p| p.tos = 256).is_err());
        assert!(layout(|p| p.duration = 0).is_err() && layout(|p| p.interval = -1).is_err());
        assert!(layout(|p| p.length = 65_508).is_err() && layout(|p| p.length = -1).is_err());
    }

    proptest! {
        #[test]
        fn numbers_come_back(value in any::<i64>()) {
            prop_assert_eq!(unzigzag(zigzag(value)), value);
            let mut bytes = Vec::new();
            put(&mut bytes, zigzag(value));
            prop_assert_eq!(take(&mut &bytes[..]), Ok(zigzag(value)));
        }

        #[test]
        fn what_parses_is_emitted_and_parses_again(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            if let Ok(params) = Params::parse(&bytes) {
                let again = params.emit(0);
                prop_assert_eq!(Params::parse(&again), Ok(params));
            }
        }
    }
}
