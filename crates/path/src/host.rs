//! Hosts as people type them.

/// How hosts are written.
pub const SYNTAX: &str = "write HOST, HOST:PORT or [IPV6]:PORT";

/// A text that is not a host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}: not a host; {SYNTAX}")]
pub struct NotAHost(String);

/// A host and its port, of `name`, `name:port`, `192.0.2.1:port`, `2001:db8::1` or `[2001:db8::1]:port`.
///
/// # Errors
/// [`NotAHost`].
pub fn host_and_port(text: &str) -> Result<(&str, Option<u16>), NotAHost> {
    parts(text).filter(|(host, _)| !host.is_empty()).ok_or_else(|| NotAHost(text.to_owned()))
}

fn parts(text: &str) -> Option<(&str, Option<u16>)> {
    let port = |digits: &str| digits.parse().ok();
    if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        return match rest.strip_prefix(':') {
            Some(digits) => Some((host, Some(port(digits)?))),
            None => rest.is_empty().then_some((host, None)),
        };
    }
    match text.rsplit_once(':') {
        Some((host, digits)) if !host.contains(':') => Some((host, Some(port(digits)?))),
        _ => Some((text, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_names_addresses_and_ports() {
        let of = |text| host_and_port(text).ok();
        assert_eq!(of("example.net"), Some(("example.net", None)));
        assert_eq!(of("example.net:9"), Some(("example.net", Some(9))));
        assert_eq!(of("192.0.2.1:9"), Some(("192.0.2.1", Some(9))));
        assert_eq!(of("2001:db8::1"), Some(("2001:db8::1", None)));
        assert_eq!(of("[2001:db8::1]"), Some(("2001:db8::1", None)));
        assert_eq!(of("[2001:db8::1]:9"), Some(("2001:db8::1", Some(9))));
        let wrong = ["", "host:", "host:x", "host:70000", "[::1", "[::1]9", ":9", "[]", "[]:9"];
        assert!(wrong.iter().all(|text| of(text).is_none()));
    }

    #[test]
    fn an_error_says_how_hosts_are_written() {
        let told = ":9: not a host; write HOST, HOST:PORT or [IPV6]:PORT";
        assert_eq!(host_and_port(":9").map_err(|error| error.to_string()), Err(told.to_owned()));
    }
}
