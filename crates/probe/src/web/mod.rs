//! Web pages, and the browser that loads them as a state machine without sockets or clocks.
//!
//! ```text
//!            poll_action()  ──►  Resolve · Open · Send · Close   for the driver to do
//!  Browser   handle_event(now, Resolved · Opened · Received · Failed)   the results
//!            poll_timeout(), handle_timeout(now)
//!                └──► Sample::Page
//! ```
//!
//! A fetch begins with one DNS query, then a TCP connection with a TLS handshake of two round trips (TLS 1.2,
//! RFC 5246, section 7.3, without resumption), then the first object: the document. So the first byte of the
//! page arrives after five round trips: 1 DNS + 1 TCP + 2 TLS + 1 request and response, or 250 ms if a round
//! trip takes 50 ms. After the document the browser requests the other objects, one at a time on each of up
//! to [`CONNECTIONS`] connections. Each further connection has its own handshakes, and an object goes to the
//! first free connection. The page is complete with the last byte of its last object.
//!
//! The server needs no state machine: when all bytes of a request have arrived, it writes the bytes of the
//! answer, for one request after another on each connection.

use goodqueue::{Nanos, Span};

use crate::Sample;
use crate::rpm::Outcome;

mod browser;
#[cfg(test)]
mod tests;

pub use browser::{Action, Browser, BrowserConfig, Event};

/// Most connections to one host at a time, as in browsers with HTTP/1.1 (Chromium and Firefox: 6).
pub const CONNECTIONS: usize = 6;

/// Time between the end of a page and the start of the next, under load.
pub const THINK: Span = Span::from_secs(1);

/// A query without an answer is sent again after this time (`timeout` in resolv.conf(5)).
pub const RESOLVE_TIMEOUT: Span = Span::from_secs(5);

/// Bytes of a request for an object: a GET with the headers that browsers send.
pub const REQUEST: u64 = 500;

/// The round trips of the TLS handshake: bytes to the server, bytes back. First a ClientHello padded to 512
/// (RFC 7685), answered by a certificate and its intermediate; then key exchange and Finished, answered by
/// ticket and Finished.
pub const TLS: [(u64, u64); 2] = [(517, 4000), (126, 258)];

/// A state machine that fetches: [`Browser`], [`crate::dash::Player`] or [`crate::rpm::Client`].
///
/// Call, with a `now` that never goes backward: [`Fetcher::handle_event`] for what happened,
/// [`Fetcher::handle_timeout`], then do what [`Fetcher::poll_action`] says until it returns nothing; then
/// sleep until [`Fetcher::poll_timeout`].
pub trait Fetcher: std::fmt::Debug + Send {
    /// What to do next, each action once.
    fn poll_action(&mut self) -> Option<Action>;

    /// When to call [`Fetcher::handle_timeout`] at the latest; `None` when there is no more to do.
    fn poll_timeout(&self) -> Option<Nanos>;

    /// Starts, repeats and gives up what is due.
    fn handle_timeout(&mut self, now: Nanos, sink: &mut dyn FnMut(Sample));

    /// Handles an event.
    fn handle_event(&mut self, now: Nanos, event: Event, sink: &mut dyn FnMut(Sample));

    /// Gives up what is loading and fetches no more. For a run that is stopped.
    fn stop(&mut self, now: Nanos, sink: &mut dyn FnMut(Sample));

    /// The outcome of a responsiveness test so far; `None` for all others.
    fn outcome(&self) -> Option<Outcome> {
        None
    }
}

/// A page: its number of objects and their total bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Name (`small`).
    pub name: String,
    /// Objects, one request each; at least 1.
    pub requests: u32,
    /// Bytes of all objects, including response headers.
    pub bytes: u64,
    /// Server host, counted from 0.
    pub host: usize,
    /// Congestion control of the server, the kernel's name.
    pub cc: String,
}

impl Page {
    /// Bytes of object `index`, from 0, the document first: equal parts, with the remainder of the division
    /// in the document.
    #[must_use]
    pub fn object(&self, index: u32) -> u64 {
        let requests = u64::from(self.requests.max(1));
        self.bytes / requests + if index == 0 { self.bytes % requests } else { 0 }
    }
}
