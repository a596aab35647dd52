//! Reads the values typed after `server`, `probe` and `test`.

use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs};

use goodqueue::Span;
use goodqueue_experiment::{Error, read_time};
use goodqueue_path::host;
use goodqueue_path::key::Key;
use goodqueue_probe::IpVersion;

use crate::args::KeyArgs;

/// A time, as `20ms`.
pub(crate) fn span(flag: &str, text: &str) -> Result<Span, Error> {
    let wrong = |why: String| Error::Usage(format!("--{flag} {text}: {why}"));
    let span = read_time(text).map_err(wrong)?;
    if i64::try_from(span.0).is_err() {
        return Err(wrong("longer than a test can be".into()));
    }
    Ok(span)
}

/// A time of more than zero.
pub(crate) fn positive(flag: &str, text: &str) -> Result<Span, Error> {
    match span(flag, text)? {
        Span(0) => Err(Error::Usage(format!("--{flag} {text}: it must be more than zero"))),
        span => Ok(span),
    }
}

/// The key, if there is one.
pub(crate) fn key(args: &KeyArgs) -> Result<Option<Key>, Error> {
    let Some(text) = key_text(args)? else { return Ok(None) };
    let flag = if args.key.is_some() { "--key" } else { "--key-file" };
    Key::parse(&text).map(Some).map_err(|error| Error::Usage(format!("{flag}: {error}")))
}

/// The text of the key, if there is one.
pub(crate) fn key_text(args: &KeyArgs) -> Result<Option<String>, Error> {
    match (&args.key, &args.key_file) {
        (Some(key), _) => Ok(Some(key.clone())),
        (None, Some(path)) => {
            let text = std::fs::read_to_string(path)
                .map_err(|error| Error::Usage(format!("--key-file {}: {error}", path.display())))?;
            Ok(Some(text.lines().next().unwrap_or_default().to_owned()))
        }
        (None, None) => Ok(None),
    }
}

/// [`host::host_and_port`], whose errors are those of a flag.
pub(crate) fn host_and_port(text: &str) -> Result<(&str, Option<u16>), Error> {
    host::host_and_port(text).map_err(Error::usage)
}

/// The IP version that `--ipv4` or `--ipv6` asks for.
pub(crate) fn asked_version(ipv4: bool, ipv6: bool) -> Option<IpVersion> {
    match (ipv4, ipv6) {
        (true, _) => Some(IpVersion::V4),
        (_, true) => Some(IpVersion::V6),
        _ => None,
    }
}

/// The first address of a host, of the requested IP version.
pub(crate) fn resolve(host: &str, port: u16, version: Option<IpVersion>) -> Result<SocketAddr, Error> {
    let is_v6 = |host: &str| host.split('%').next().is_some_and(|ip| ip.parse::<Ipv6Addr>().is_ok());
    if host.contains(':') && !is_v6(host) {
        return Err(Error::Usage(format!(
            "{host}: not a host with one port, nor an IPv6 address; {}",
            host::SYNTAX
        )));
    }
    let found = (host, port).to_socket_addrs().map_err(|error| {
        let why = error.to_string();
        let why = why.strip_prefix("failed to lookup address information: ").unwrap_or(&why);
        Error::Machine(format!("{host}: the name cannot be resolved: {why}"))
    })?;
    let fits = |addr: &SocketAddr| version.is_none_or(|version| IpVersion::of(addr.ip()) == version);
    let mut found = found.filter(fits);
    found.next().ok_or_else(|| match version {
        Some(version) => Error::Usage(format!("{host}: it has no {version} address")),
        None => Error::Machine(format!("{host}: it has no address")),
    })
}

/// A host as typed, with its address behind it if that is not what was typed.
pub(crate) fn with_address(host: &str, server: SocketAddr) -> String {
    let is_address = host_and_port(host).is_ok_and(|(name, _)| name.parse::<IpAddr>().is_ok());
    if is_address { server.to_string() } else { format!("{host} ({server})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_told_once() {
        let of = |host| with_address(host, "192.0.2.1:9".parse().unwrap());
        assert_eq!(of("192.0.2.1:9"), "192.0.2.1:9");
        assert_eq!(of("192.0.2.1"), "192.0.2.1:9");
        assert_eq!(of("example.net:9"), "example.net:9 (192.0.2.1:9)");
        assert_eq!(with_address("2001:db8::1", "[2001:db8::1]:9".parse().unwrap()), "[2001:db8::1]:9");
    }

    #[test]
    fn two_ports_are_told() {
        let why = |host| resolve(host, 9, None).map_err(|error| error.to_string());
        let told = "127.0.0.1:1:2: not a host with one port, nor an IPv6 address; write HOST, HOST:PORT or \
                    [IPV6]:PORT";
        assert_eq!(why("127.0.0.1:1:2"), Err(told.to_owned()));
        assert!(why("::1").is_ok());
    }
}
