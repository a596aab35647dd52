//! The transport of the load: TCP of the kernel or of the simulator, or QUIC.

use std::fmt;
use std::str::FromStr;

/// The transport protocol of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Transport {
    /// TCP, of the kernel or of the simulator.
    #[default]
    Tcp,
    /// QUIC (RFC 9000), one connection with one stream for each flow.
    Quic,
}

impl Transport {
    /// Its name in flags, files and records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Transport::Tcp => "tcp",
            Transport::Quic => "quic",
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that is not the name of a transport.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no transport: tcp or quic")]
pub struct ParseTransportError(String);

impl FromStr for Transport {
    type Err = ParseTransportError;
    fn from_str(text: &str) -> Result<Transport, ParseTransportError> {
        match text {
            "tcp" => Ok(Transport::Tcp),
            "quic" => Ok(Transport::Quic),
            other => Err(ParseTransportError(other.escape_debug().to_string())),
        }
    }
}

/// A congestion control of QUIC: those of quinn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QuicCc {
    /// CUBIC (RFC 9438).
    Cubic,
    /// NewReno (RFC 9002, section 7).
    NewReno,
    /// BBR, the first version.
    Bbr,
}

impl QuicCc {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            QuicCc::Cubic => "cubic",
            QuicCc::NewReno => "newreno",
            QuicCc::Bbr => "bbr",
        }
    }
}

impl fmt::Display for QuicCc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A congestion control that QUIC does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("QUIC has no congestion control `{0}`: it has cubic, newreno and bbr")]
pub struct ParseQuicCcError(String);

/// `reno` is NewReno too: tests that compare congestion controls name it as Linux does.
impl FromStr for QuicCc {
    type Err = ParseQuicCcError;
    fn from_str(text: &str) -> Result<QuicCc, ParseQuicCcError> {
        match text {
            "cubic" => Ok(QuicCc::Cubic),
            "newreno" | "reno" => Ok(QuicCc::NewReno),
            "bbr" => Ok(QuicCc::Bbr),
            other => Err(ParseQuicCcError(other.escape_debug().to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for transport in [Transport::Tcp, Transport::Quic] {
            assert_eq!(transport.name().parse(), Ok(transport));
        }
        for cc in [QuicCc::Cubic, QuicCc::NewReno, QuicCc::Bbr] {
            assert_eq!(cc.name().parse(), Ok(cc));
        }
        assert_eq!("reno".parse(), Ok(QuicCc::NewReno));
        assert!("vegas".parse::<QuicCc>().unwrap_err().to_string().contains("newreno"));
        assert!("udp".parse::<Transport>().unwrap_err().to_string().contains("tcp or quic"));
    }
}
