//! A test server: `/.well-known/nq`, one byte, a large object, and a sink for uploads, over HTTP/2 and TLS
//! 1.3, for anyone who asks.
//! * One thread, one loop. A single rate limits all load together ([`Bounds::rate`]).
//! * The number of connections is limited, in total and for each network, and so is the number of transfers.
//!   A new connection replaces the oldest one that has requested nothing yet; it never replaces one that has.
//! * A connection has [`HANDSHAKE`] for TLS and its first request, is closed after [`QUIET`] without a
//!   request or a transfer, and lives for [`LIFE`]. A transfer ends with it.
//! * A network opens at most [`Bounds::opens`] connections a second.

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use goodqueue_probe::net::{AsFd, bind_tcp, set_congestion_control};
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, sleep_until, timeout};
use tokio_rustls::TlsAcceptor;

use super::document::{self, Document, Invalid};
use super::lean::{Gauge, Lean, Socket};
use super::trust::Identity;
use crate::server::PrefixLengths;
use crate::server::limit::{Pace, Paces, Prefix};

/// How long TLS and the first request may take.
pub const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long a connection may be without a request or a transfer.
pub const QUIET: Duration = Duration::from_secs(15);
/// How long a connection lives.
pub const LIFE: Duration = Duration::from_secs(120);
/// Bytes of the large object: the minimum in the draft ("at least 8GB").
pub const LARGE: u64 = 8_589_934_592;
/// Requests on a connection at a time, including the transfer.
pub const STREAMS: u32 = 128;
/// Bytes of an upload that may wait for the rate, on each connection.
pub const WINDOW: u32 = 524_288;
/// Most bytes of a request's header fields.
const HEADER: u32 = 8192;
/// Requests that a connection may cancel, or have cancelled, before it is closed (CVE-2023-44487).
const RESETS: usize = 32;
/// Total number of requests on a connection.
pub const REQUESTS: u32 = 20_000;
/// Longest burst of the rate of all load.
const BURST: Duration = Duration::from_millis(20);
/// Time between two checks for a stop.
const LOOK: Duration = Duration::from_millis(100);

const SMALL_PATH: &str = "/small";
const LARGE_PATH: &str = "/large";
const UPLOAD_PATH: &str = "/upload";
/// The contents of the large object. In TLS they look random.
static ZEROS: [u8; 16_384] = [0; 16_384];

/// The limits of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Connections at a time.
    pub connections: usize,
    /// The same for one network.
    pub connections_per_prefix: usize,
    /// Transfers at a time: large objects and uploads.
    pub transfers: usize,
    /// The same for one network.
    pub transfers_per_prefix: usize,
    /// New connections per second from one network; twice as many at once after a pause.
    pub opens: u32,
    /// The prefix lengths that define a network.
    pub prefix: PrefixLengths,
    /// Bytes per second of all load, both directions together.
    pub rate: u64,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            connections: 512,
            connections_per_prefix: 160,
            transfers: 64,
            transfers_per_prefix: 32,
            opens: 100,
            prefix: PrefixLengths { v4: 24, v6: 56 },
            rate: 125_000_000,
        }
    }
}

/// Counters and current numbers of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Connections accepted.
    pub accepted: u64,
    /// Closed at once because their network opened too many per second.
    pub too_often: u64,
    /// Closed at once because the limit was reached.
    pub full: u64,
    /// Closed because newer ones needed their places.
    pub displaced: u64,
    /// Closed because TLS or HTTP/2 failed, or took too long.
    pub failed: u64,
    /// Connections at the moment.
    pub connections: u64,
    /// Requests answered.
    pub requests: u64,
    /// Transfers refused.
    pub refused: u64,
    /// Transfers at the moment.
    pub transfers: u64,
    /// Transfers begun.
    pub started: u64,
    /// Bytes of large objects sent.
    pub sent_bytes: u64,
    /// Bytes of uploads received.
    pub received_bytes: u64,
}

/// A server, bound to its addresses.
#[derive(Debug)]
pub struct RpmServer {
    listeners: Vec<TcpListener>,
    runtime: Runtime,
    shared: Arc<Shared>,
}

/// What all connections share.
#[derive(Debug)]
struct Shared {
    bounds: Bounds,
    identity: Identity,
    stats: Mutex<Stats>,
    connections: Mutex<Connections>,
    transfers: Mutex<HashMap<Prefix, usize>>,
    pacer: Pacer,
}

/// The connections that are open, the oldest first.
#[derive(Debug, Default)]
struct Connections {
    open: Vec<Connection>,
    next: u64,
}

#[derive(Debug)]
struct Connection {
    number: u64,
    prefix: Prefix,
    /// Whether it has asked for something.
    has_asked: bool,
    task: AbortHandle,
}

/// The rate of all load: a virtual line that sends one byte after another.
#[derive(Debug)]
struct Pacer {
    rate: u64,
    due: Mutex<Instant>,
}

impl Pacer {
    /// Waits until `bytes` more may pass. Waiting tasks are served in turn.
    async fn pass(&self, bytes: usize) {
        let takes = Duration::from_secs_f64(bytes as f64 / self.rate.max(1) as f64);
        let due = {
            let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
            let earliest = Instant::now().checked_sub(BURST).unwrap_or_else(Instant::now);
            *due = (*due).max(earliest) + takes;
            *due
        };
        if due > Instant::now() {
            sleep_until(due.into()).await;
        }
    }
}

impl RpmServer {
    /// Binds all `addresses`, and prepares everything that needs files, since it serves within a sandbox.
    ///
    /// # Errors
    /// The address that is not available, and the kernel's error.
    pub fn bind(
        addresses: &[SocketAddr],
        identity: Identity,
        bounds: Bounds,
    ) -> Result<RpmServer, (SocketAddr, io::Error)> {
        let bind = |&at: &SocketAddr| bind_tcp(at).map_err(|error| (at, error));
        let listeners = addresses.iter().map(bind).collect::<Result<_, _>>()?;
        let first = addresses.first().copied().unwrap_or_else(|| SocketAddr::from(([0; 4], 0)));
        let runtime = Builder::new_current_thread().enable_io().enable_time().build();
        let pacer = Pacer { rate: bounds.rate, due: Mutex::new(Instant::now()) };
        let shared = Shared {
            bounds,
            identity,
            stats: Mutex::default(),
            connections: Mutex::default(),
            transfers: Mutex::default(),
            pacer,
        };
        Ok(RpmServer {
            listeners,
            runtime: runtime.map_err(|error| (first, error))?,
            shared: Arc::new(shared),
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect()
    }

    /// Selects the congestion control of future connections.
    ///
    /// # Errors
    /// Those of [`set_congestion_control`].
    pub fn set_congestion_control(&self, name: &str) -> io::Result<()> {
        self.listeners.iter().try_for_each(|listener| set_congestion_control(listener.as_fd(), name))
    }

    /// The document for clients that address it as `authority`: `HOST:PORT`.
    ///
    /// # Errors
    /// [`Invalid`] if that is not an authority of a URL.
    pub fn document(authority: &str) -> Result<Document, Invalid> {
        Document::parse(Document::write(authority, LARGE_PATH, SMALL_PATH, UPLOAD_PATH).as_bytes())
    }

    /// Its counters and current numbers.
    #[must_use]
    pub fn stats(&self) -> Stats {
        *self.shared.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves until `stop` is set, which it notices within 0.1 s.
    ///
    /// # Errors
    /// The kernel's, if it cannot wait for connections.
    pub fn serve(&self, stop: &AtomicBool) -> io::Result<()> {
        self.runtime.block_on(async {
            let mut accepting = JoinSet::new();
            let opens = i64::from(self.shared.bounds.opens.max(1));
            let paces = Arc::new(Mutex::new(Paces::new(Pace::new(1_000_000_000 / opens, 2_000_000_000))));
            for listener in &self.listeners {
                let listener = tokio::net::TcpListener::from_std(listener.try_clone()?)?;
                accepting.spawn(accept(Arc::clone(&self.shared), listener, Arc::clone(&paces)));
            }
            while !stop.load(Ordering::Relaxed) {
                sleep(LOOK).await;
            }
            let connections = std::mem::take(&mut self.shared.lock_connections().open);
            connections.iter().for_each(|connection| connection.task.abort());
            Ok(())
        })
    }
}

/// Takes the connections of a listener.
async fn accept(shared: Arc<Shared>, listener: tokio::net::TcpListener, paces: Arc<Mutex<Paces>>) {
    let began = Instant::now();
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            // No more files, or a connection that is gone: close the oldest idle connection first.
            if !shared.lock_connections().displace(|_| true) {
                sleep(Duration::from_millis(10)).await;
            }
            continue;
        };
        shared.count(|stats| stats.accepted += 1);
        let now = i64::try_from(began.elapsed().as_nanos()).unwrap_or(i64::MAX);
        let prefix = shared.bounds.prefix.of(peer.ip());
        if !paces.lock().unwrap_or_else(PoisonError::into_inner).admits(prefix, now) {
            shared.count(|stats| stats.too_often += 1);
            continue;
        }
        shared.admit(stream, prefix);
    }
}

impl Connections {
    /// Closes the oldest of these connections that has requested nothing, if there is one.
    fn displace(&mut self, of: impl Fn(&Connection) -> bool) -> bool {
        let Some(at) = self.open.iter().position(|connection| !connection.has_asked && of(connection)) else {
            return false;
        };
        self.open.remove(at).task.abort();
        true
    }
}

impl Shared {
    fn count(&self, count: impl FnOnce(&mut Stats)) {
        count(&mut self.stats.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn lock_connections(&self) -> std::sync::MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a connection a place, or closes it.
    fn admit(self: &Arc<Self>, stream: TcpStream, prefix: Prefix) {
        let mut connections = self.lock_connections();
        let near = connections.open.iter().filter(|connection| connection.prefix == prefix).count();
        let has_room = if near >= self.bounds.connections_per_prefix {
            connections.displace(|connection| connection.prefix == prefix)
        } else {
            connections.open.len() < self.bounds.connections || connections.displace(|_| true)
        };
        if !has_room {
            drop(connections);
            self.count(|stats| stats.full += 1);
            return;
        }
        let number = connections.next;
        connections.next += 1;
        // The task owns it from the start, so that it is returned even if the task never runs.
        let permit = Permit { shared: Arc::clone(self), number };
        let task = tokio::spawn(async move {
            if connection(&permit, stream, prefix).await.is_none() {
                permit.shared.count(|stats| stats.failed += 1);
            }
        });
        connections.open.push(Connection { number, prefix, has_asked: false, task: task.abort_handle() });
        drop(connections);
        self.count(|stats| stats.connections += 1);
    }

    /// Begins a transfer of a network, unless the network or the server has reached its limit.
    fn transfer(self: &Arc<Self>, prefix: Prefix) -> Option<Transfer> {
        let mut transfers = self.transfers.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = transfers.values().sum();
        let near = transfers.get(&prefix).copied().unwrap_or(0);
        if all >= self.bounds.transfers || near >= self.bounds.transfers_per_prefix {
            drop(transfers);
            self.count(|stats| stats.refused += 1);
            return None;
        }
        transfers.insert(prefix, near + 1);
        drop(transfers);
        self.count(|stats| (stats.started, stats.transfers) = (stats.started + 1, stats.transfers + 1));
        Some(Transfer { shared: Arc::clone(self), prefix })
    }
}

/// A connection's permit; dropping it returns it.
struct Permit {
    shared: Arc<Shared>,
    number: u64,
}

impl Permit {
    fn has_asked(&self) {
        let mut connections = self.shared.lock_connections();
        if let Some(connection) =
            connections.open.iter_mut().find(|connection| connection.number == self.number)
        {
            connection.has_asked = true;
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut connections = self.shared.lock_connections();
        let before = connections.open.len();
        connections.open.retain(|connection| connection.number != self.number);
        let is_displaced = connections.open.len() == before;
        drop(connections);
        self.shared.count(|stats| {
            stats.connections -= 1;
            stats.displaced += u64::from(is_displaced);
        });
    }
}

/// A transfer's permit.
struct Transfer {
    shared: Arc<Shared>,
    prefix: Prefix,
}

impl Drop for Transfer {
    fn drop(&mut self) {
        let mut transfers = self.shared.transfers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = transfers.get_mut(&self.prefix) {
            *count -= 1;
            if *count == 0 {
                transfers.remove(&self.prefix);
            }
        }
        drop(transfers);
        self.shared.count(|stats| stats.transfers -= 1);
    }
}

/// Serves one connection; `None` if it never got as far as a request.
async fn connection(permit: &Permit, stream: TcpStream, prefix: Prefix) -> Option<()> {
    let since = Instant::now();
    let shared = &permit.shared;
    let socket = Socket::new(stream).ok()?;
    let tls = TlsAcceptor::from(shared.identity.config()).accept(socket);
    let lean = Lean::new(tokio_rustls::TlsStream::from(timeout(HANDSHAKE, tls).await.ok()?.ok()?));
    let gauge = lean.gauge();
    let mut builder = h2::server::Builder::new();
    builder
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(HEADER)
        .max_concurrent_reset_streams(RESETS)
        .max_pending_accept_reset_streams(RESETS)
        .max_local_error_reset_streams(Some(RESETS))
        .max_send_buffer_size(ZEROS.len())
        .initial_window_size(WINDOW)
        .initial_connection_window_size(WINDOW);
    let left = HANDSHAKE.saturating_sub(since.elapsed());
    let mut h2 = timeout(left, builder.handshake::<_, Bytes>(lean)).await.ok()?.ok()?;
    let (mut has_asked, mut asked_at, mut asked) = (false, since, 0);
    let busy = Arc::new(AtomicUsize::new(0));
    let mut work = JoinSet::new();
    loop {
        let quiet = asked_at + if has_asked { QUIET } else { HANDSHAKE };
        let end = (since + LIFE).min(quiet.max(Instant::now() + Duration::from_millis(1)));
        tokio::select! {
            accepted = h2.accept() => {
                let Some(Ok((request, respond))) = accepted else { break };
                asked += 1;
                if asked > REQUESTS {
                    break;
                }
                if !has_asked {
                    permit.has_asked();
                    has_asked = true;
                }
                asked_at = Instant::now();
                shared.count(|stats| stats.requests += 1);
                answer(shared, prefix, request, respond, &gauge, &busy, &mut work);
            }
            Some(_) = work.join_next() => asked_at = Instant::now(),
            () = sleep_until(end.into()) => {
                if since.elapsed() >= LIFE {
                    break;
                }
                if busy.load(Ordering::Relaxed) > 0 {
                    asked_at = Instant::now();
                } else if Instant::now() >= quiet {
                    break;
                }
            }
        }
    }
    has_asked.then_some(())
}

/// Answers a request, at once or in a separate task.
fn answer(
    shared: &Arc<Shared>,
    prefix: Prefix,
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    gauge: &Arc<Gauge>,
    busy: &Arc<AtomicUsize>,
    work: &mut JoinSet<()>,
) {
    let response = |status: StatusCode, length: u64, media_type: Option<&'static str>| {
        let mut response = Response::new(());
        *response.status_mut() = status;
        let fields = response.headers_mut();
        fields.insert(http::header::CONTENT_LENGTH, length.into());
        if let Some(media_type) = media_type {
            fields.insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static(media_type));
        }
        response
    };
    const BINARY: Option<&str> = Some("application/octet-stream");
    // A client that is gone by now needs no answer.
    let mut short = |status, media_type, body: Bytes| {
        let head = response(status, body.len() as u64, media_type);
        let is_empty = body.is_empty();
        if let Ok(mut stream) = respond.send_response(head, is_empty)
            && !is_empty
        {
            let _ = stream.send_data(body, true);
        }
    };
    let path = request.uri().path();
    match (request.method(), path) {
        (&Method::GET, SMALL_PATH) => short(StatusCode::OK, BINARY, Bytes::from_static(b"0")),
        (&Method::GET, document::PATH) => {
            let text = authority(&request)
                .map(|authority| Document::write(&authority, LARGE_PATH, SMALL_PATH, UPLOAD_PATH));
            match text {
                Some(text) => short(StatusCode::OK, Some("application/json"), text.into()),
                None => short(StatusCode::BAD_REQUEST, None, Bytes::new()),
            }
        }
        (&Method::GET, LARGE_PATH) | (&Method::POST, UPLOAD_PATH) => {
            let Some(transfer) = shared.transfer(prefix) else {
                return short(StatusCode::SERVICE_UNAVAILABLE, None, Bytes::new());
            };
            let busy = Busy::new(busy);
            if path == LARGE_PATH {
                if let Ok(stream) = respond.send_response(response(StatusCode::OK, LARGE, BINARY), false) {
                    let gauge = Arc::clone(gauge);
                    work.spawn(async move {
                        send(&transfer, stream, &gauge).await;
                        drop(busy);
                    });
                }
            } else {
                let head = response(StatusCode::OK, 0, None);
                work.spawn(async move {
                    if receive(&transfer, request.into_body()).await.is_some() {
                        let _ = respond.send_response(head, true);
                    } else {
                        respond.send_reset(Reason::CANCEL);
                    }
                    drop(busy);
                });
            }
        }
        (_, SMALL_PATH | LARGE_PATH | UPLOAD_PATH | document::PATH) => {
            short(StatusCode::METHOD_NOT_ALLOWED, None, Bytes::new());
        }
        _ => short(StatusCode::NOT_FOUND, None, Bytes::new()),
    }
}

/// The host and port under which the client asked.
fn authority(request: &Request<RecvStream>) -> Option<String> {
    let field = |fields: &HeaderMap| fields.get(http::header::HOST)?.to_str().ok().map(ToOwned::to_owned);
    let text = request.uri().authority().map(ToString::to_string).or_else(|| field(request.headers()))?;
    let is_short = text.len() <= 255;
    text.parse::<http::uri::Authority>().ok().filter(|_| is_short).map(|authority| authority.to_string())
}

/// Counts transfers of a connection.
struct Busy(Arc<AtomicUsize>);

impl Busy {
    fn new(count: &Arc<AtomicUsize>) -> Busy {
        count.fetch_add(1, Ordering::Relaxed);
        Busy(Arc::clone(count))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Sends the large object until all of it is sent, or the client wants no more.
async fn send(transfer: &Transfer, mut stream: SendStream<Bytes>, gauge: &Gauge) {
    let shared = &transfer.shared;
    let mut left = LARGE;
    while left > 0 {
        let most = gauge.frame().min(usize::try_from(left).unwrap_or(usize::MAX));
        stream.reserve_capacity(most);
        while stream.capacity() == 0 {
            match std::future::poll_fn(|cx| stream.poll_capacity(cx)).await {
                Some(Ok(_)) => {}
                _ => return,
            }
        }
        let bytes = stream.capacity().min(most);
        shared.pacer.pass(bytes).await;
        left -= bytes as u64;
        if stream.send_data(Bytes::from_static(&ZEROS[..bytes]), left == 0).is_err() {
            return;
        }
        shared.count(|stats| stats.sent_bytes += bytes as u64);
    }
}

/// Reads an upload to its end; `None` if it breaks off.
async fn receive(transfer: &Transfer, mut body: RecvStream) -> Option<()> {
    let shared = &transfer.shared;
    while let Some(data) = body.data().await {
        let bytes = data.ok()?.len();
        shared.count(|stats| stats.received_bytes += bytes as u64);
        shared.pacer.pass(bytes).await;
        body.flow_control().release_capacity(bytes).ok()?;
    }
    Some(())
}
