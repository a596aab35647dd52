//! Loading web pages: the pages, and the browser that fetches them as a state machine without socket or
//! clock.
//!
//! ```text
//!            poll_action()  ──►  Resolve · Open · Send · Close   what the driver does
//!  Browser   handle_event(now, Resolved · Opened · Received · Failed)   what came of it
//!            poll_timeout(), handle_timeout(now)
//!                └──► Sample::Page
//! ```
//!
//! A fetch begins with one DNS query, then a TCP connection with a TLS handshake of two round trips (TLS 1.2,
//! RFC 5246, section 7.3, without resumption), then the first object: the document. So the first byte of the
//! page comes after five round trips, 1 DNS + 1 TCP + 2 TLS + 1 request and response, 250 ms where a round
//! trip takes 50 ms. When the document is there the other objects are asked for, one at a time on each
//! connection, on up to [`CONNECTIONS`] connections: each further one opens with its own handshakes, and an
//! object goes to whichever connection is free first. The page is loaded with the last byte of its last
//! object.
//!
//! The server needs no machine: when all bytes of a request have arrived in order, it writes the bytes of the
//! answer, for one request after another on each connection.

use goodqueue::{Nanos, Span};

use crate::Sample;

mod browser;
#[cfg(test)]
mod tests;

pub use browser::{Action, Browser, BrowserConfig, Event};

/// Connections to one host at a time, as browsers limit themselves with HTTP/1.1 (Chromium and Firefox: 6).
pub const CONNECTIONS: usize = 6;

/// Time between a page loaded and the next one begun, under load.
pub const THINK: Span = Span::from_secs(1);

/// A query that brought no answer is sent again after this (`timeout` in resolv.conf(5)).
pub const RESOLVE_TIMEOUT: Span = Span::from_secs(5);

/// Bytes of a request for an object: a GET with the headers that browsers send.
pub const REQUEST: u32 = 500;

/// The round trips of the TLS handshake, bytes there and back. There: ClientHello padded to 512 (RFC 7685);
/// back: a certificate and its intermediate. There: key exchange and Finished; back: ticket and Finished.
pub const TLS: [(u32, u64); 2] = [(517, 4000), (126, 258)];

/// A machine that fetches: [`Browser`], [`crate::dash::Player`].
///
/// Call, with a `now` that never goes backward: [`Fetcher::handle_event`] for what happened,
/// [`Fetcher::handle_timeout`], then do what [`Fetcher::poll_action`] says until it returns nothing; then
/// sleep until [`Fetcher::poll_timeout`].
pub trait Fetcher: std::fmt::Debug + Send {
    /// What to do next, each action once.
    fn poll_action(&mut self) -> Option<Action>;

    /// When to call [`Fetcher::handle_timeout`] at the latest; nothing when there is no more to do.
    fn poll_timeout(&self) -> Option<Nanos>;

    /// Begins, repeats and gives up what is due.
    fn handle_timeout(&mut self, now: Nanos, sink: &mut dyn FnMut(Sample));

    /// Takes in what happened.
    fn handle_event(&mut self, now: Nanos, event: Event, sink: &mut dyn FnMut(Sample));

    /// Gives up what is on its way and fetches no more. For a run that is stopped.
    fn stop(&mut self, now: Nanos, sink: &mut dyn FnMut(Sample));
}

/// A page: how many objects of how many bytes together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Name (`small`).
    pub name: String,
    /// Objects, each asked for by one request; 1 at least.
    pub requests: u32,
    /// Bytes of all objects, response headers included.
    pub bytes: u64,
    /// Server host, counted from 0.
    pub host: usize,
    /// Congestion control of the server, the kernel's name.
    pub cc: String,
}

impl Page {
    /// Bytes of object `index`, counted from 0, the document first: equal parts, and what the division
    /// leaves goes to the document.
    #[must_use]
    pub fn object(&self, index: u32) -> u64 {
        let requests = u64::from(self.requests.max(1));
        self.bytes / requests + if index == 0 { self.bytes % requests } else { 0 }
    }
}
