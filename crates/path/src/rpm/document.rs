//! The document that a test server offers at a well-known URI (section "Well-Known Uniform Resource
//! Identifier (URI) For Test Server Discovery").

use http::Uri;
use serde::{Deserialize, Serialize};

/// Where it is.
pub const PATH: &str = "/.well-known/nq";
/// The version of this document.
const VERSION: u64 = 1;
/// Most bytes of a document that a client reads.
pub const MOST_BYTES: usize = 65_536;

/// What to ask a server for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The object of many bytes.
    pub large: Uri,
    /// The object of one byte.
    pub small: Uri,
    /// Where uploads go.
    pub upload: Uri,
    /// The host to connect to, instead of the one in the addresses.
    pub endpoint: Option<String>,
}

/// Why a document is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// It is not JSON of the right shape: a mandatory field is missing, or a field occurs twice.
    #[error("it is not the JSON that the draft describes: {0}")]
    Json(String),
    /// Its version is unknown.
    #[error("it has version {0}, and this program knows version 1")]
    Version(u64),
    /// An address is not valid, or not HTTPS.
    #[error("{0}: not an https address")]
    Address(String),
    /// The addresses have different hosts.
    #[error("its addresses are not of one host: {0}")]
    Hosts(String),
}

/// The document as written.
#[derive(Debug, Serialize, Deserialize)]
struct Written {
    version: u64,
    urls: Urls,
    #[serde(skip_serializing_if = "Option::is_none")]
    test_endpoint: Option<String>,
}

/// The addresses. Servers from before revision 03 of the draft use the names of the second half, or both.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Urls {
    large_download_url: Option<String>,
    small_download_url: Option<String>,
    upload_url: Option<String>,
    #[serde(skip_serializing)]
    large_https_download_url: Option<String>,
    #[serde(skip_serializing)]
    small_https_download_url: Option<String>,
    #[serde(skip_serializing)]
    https_upload_url: Option<String>,
}

impl Document {
    /// Reads a document. Unknown fields are ignored; a field that occurs twice makes it invalid.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Document, Invalid> {
        // Check the version first: a later one may have another shape.
        #[derive(Deserialize)]
        struct Head {
            version: u64,
        }
        let json = |error: serde_json::Error| Invalid::Json(error.to_string());
        let head: Head = serde_json::from_slice(bytes).map_err(json)?;
        if head.version != VERSION {
            return Err(Invalid::Version(head.version));
        }
        let Written { urls, test_endpoint, .. } = serde_json::from_slice(bytes).map_err(json)?;
        let one = |name: &str, now: Option<String>, before: Option<String>| {
            let text = now.or(before).ok_or_else(|| Invalid::Json(format!("{name} is missing")))?;
            let uri: Uri = text.parse().map_err(|_| Invalid::Address(text.clone()))?;
            let is_https =
                uri.scheme() == Some(&http::uri::Scheme::HTTPS) && uri.host().is_some_and(|h| !h.is_empty());
            if is_https { Ok(uri) } else { Err(Invalid::Address(text)) }
        };
        let document = Document {
            large: one("large_download_url", urls.large_download_url, urls.large_https_download_url)?,
            small: one("small_download_url", urls.small_download_url, urls.small_https_download_url)?,
            upload: one("upload_url", urls.upload_url, urls.https_upload_url)?,
            endpoint: test_endpoint,
        };
        let place =
            |uri: &Uri| format!("{}:{}", uri.host().unwrap_or_default().to_ascii_lowercase(), port(uri));
        let places = [&document.large, &document.small, &document.upload].map(place);
        if places[0] != places[1] || places[0] != places[2] {
            return Err(Invalid::Hosts(places.join(", ")));
        }
        Ok(document)
    }

    /// The document of a server under `authority`: a host, and a port if it is not 443.
    #[must_use]
    pub fn write(authority: &str, large: &str, small: &str, upload: &str) -> String {
        let of = |path: &str| Some(format!("https://{authority}{path}"));
        let urls = Urls {
            large_download_url: of(large),
            small_download_url: of(small),
            upload_url: of(upload),
            ..Urls::default()
        };
        serde_json::to_string_pretty(&Written { version: VERSION, urls, test_endpoint: None })
            .unwrap_or_default()
    }

    /// The host to connect to.
    #[must_use]
    pub fn host(&self) -> &str {
        self.endpoint.as_deref().unwrap_or_else(|| bare(self.small.host().unwrap_or_default()))
    }

    /// The port to connect to.
    #[must_use]
    pub fn port(&self) -> u16 {
        port(&self.small)
    }
}

/// A host without the brackets of an IPv6 address.
pub(super) fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

/// The port of an HTTPS address.
pub(super) fn port(uri: &Uri) -> u16 {
    uri.port_u16().unwrap_or(443)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const URLS: &str = r#""urls": {"large_download_url": "https://a.example/large",
        "small_download_url": "https://a.example/small", "upload_url": "https://A.example:443/up"}"#;

    fn parsed(rest: &str) -> Result<Document, Invalid> {
        Document::parse(format!("{{{rest}}}").as_bytes())
    }

    #[test]
    fn a_document_is_read_as_the_draft_says() {
        let document = parsed(&format!(r#""version": 1, {URLS}, "later": [1]"#)).expect("valid");
        assert_eq!((document.host(), document.port()), ("a.example", 443));
        assert_eq!(document.large.path(), "/large");
        let other = parsed(&format!(r#""version": 1, {URLS}, "test_endpoint": "b.example""#)).expect("valid");
        assert_eq!(other.host(), "b.example");
        assert_eq!(parsed(&format!(r#""version": 2, {URLS}"#)), Err(Invalid::Version(2)));
        let wrong = |rest: &str| assert!(matches!(parsed(rest), Err(Invalid::Json(_))), "{rest}");
        wrong(URLS);
        wrong(r#""version": 1"#);
        wrong(&format!(r#""version": 1, "version": 1, {URLS}"#));
        wrong(&format!(r#""version": 1, {URLS}, "test_endpoint": "b", "test_endpoint": "b""#));
        wrong(&format!(r#""version": 1, {}"#, URLS.replace("upload_url", "small_download_url")));
        wrong(r#""version": 1, "urls": {"large_download_url": "https://a/"}"#);
        let hosts = URLS.replace("A.example:443", "a.example:444");
        assert!(matches!(parsed(&format!(r#""version": 1, {hosts}"#)), Err(Invalid::Hosts(_))));
        let plain = URLS.replace("https://A", "http://A");
        assert!(matches!(parsed(&format!(r#""version": 1, {plain}"#)), Err(Invalid::Address(_))));
    }

    #[test]
    fn names_of_earlier_servers_count_too() {
        let urls = URLS
            .replace("large_download_url", "large_https_download_url")
            .replace("small_download_url", "small_https_download_url")
            .replace("upload_url", "https_upload_url");
        assert_eq!(parsed(&format!(r#""version": 1, {urls}"#)), parsed(&format!(r#""version": 1, {URLS}"#)));
    }

    #[test]
    fn what_is_written_is_read() {
        let text = Document::write("[2001:db8::1]:4443", "/large", "/small", "/upload");
        let document = Document::parse(text.as_bytes()).expect("our own");
        assert_eq!((document.host(), document.port()), ("2001:db8::1", 4443));
        assert_eq!(document.upload, "https://[2001:db8::1]:4443/upload");
    }

    proptest! {
        #[test]
        fn no_document_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Document::parse(&bytes);
        }
    }
}
