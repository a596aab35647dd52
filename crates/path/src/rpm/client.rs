//! The near end: drives [`Algorithm`] over connections to any server of the test. One thread does everything.
//! Times are read together with the bytes, so a busy processor makes a path look slow. The caller should
//! check the load of the processor.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use goodqueue::{Nanos, Span};
use goodqueue_probe::net::{AsFd, set_congestion_control};
use goodqueue_probe::rpm::{Action, Algorithm, Answer, Interval, Outcome, Sample, Settings};
use goodqueue_probe::{Direction, TcpSample};
use h2::client::SendRequest;
use http::{Method, Request, Uri};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, HandshakeKind, ProtocolVersion};
use tokio::net::TcpSocket;
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::{sleep, sleep_until, timeout};
use tokio_rustls::TlsConnector;

use super::document::{self, Document, Invalid, bare};
use super::lean::{Gauge, Lean, Socket};
use super::trust::Trust;

/// How long a connection, a request or a probe may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest wait, so that a request to stop is noticed.
const LOOK: Duration = Duration::from_millis(50);
/// Window of a download: bytes that may be in flight.
const WINDOW: u32 = 8 << 20;
/// The contents of uploads.
static ZEROS: [u8; 16_384] = [0; 16_384];

/// Why there is no result, or no more of it.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// No connection.
    #[error("{0}")]
    Connect(io::Error),
    /// The certificate is not trusted, or there is no TLS with an ordinary certificate.
    #[error("{0}")]
    Tls(String),
    /// The server does not speak HTTP/2.
    #[error("it does not speak HTTP/2")]
    NoHttp2,
    /// HTTP/2 failed.
    #[error("{0}")]
    Http(String),
    /// The server did not answer in time.
    #[error("no answer within 10 s")]
    Silent,
    /// It answered with this status.
    #[error("status {0}")]
    Status(u16),
    /// Its document is not valid.
    #[error("{0}")]
    Document(#[from] Invalid),
}

/// A server: its address, its name, and whose certificate counts.
#[derive(Clone, Debug)]
pub struct Server {
    /// Its address.
    pub address: SocketAddr,
    /// The name in its certificate, as in a URL.
    pub host: String,
    /// Whose certificate counts.
    pub trust: Trust,
}

/// Events of a run. Times are nanoseconds from the start of the load.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A probe is complete.
    Probe {
        /// Its number among the probes of its kind.
        number: u32,
        /// When it began.
        began: i64,
        /// What it took.
        answer: Answer,
    },
    /// A probe got no answer.
    Lost {
        /// Its number among the probes of its kind.
        number: u32,
        /// When it began.
        began: i64,
        /// Whether it was a foreign one.
        is_foreign: bool,
    },
    /// Bytes of the load in a step: received, or, for an upload, given to the kernel.
    Transferred {
        /// The connection.
        connection: u32,
        /// The end of the step.
        t: i64,
        /// How many.
        bytes: u64,
    },
    /// The kernel's view of a connection.
    Tcp {
        /// The connection.
        connection: u32,
        /// When.
        t: i64,
        /// What it says.
        info: TcpSample,
    },
    /// An interval of load has ended.
    Interval(Interval),
    /// The time has advanced, with or without other events.
    Passed {
        /// When.
        t: i64,
    },
}

/// A finished run of one direction, and why it ended early, if it did.
#[derive(Debug)]
pub struct Ended {
    /// What was measured.
    pub outcome: Outcome,
    /// The protocol of TLS, for its round trips: `TLS 1.3`.
    pub tls: Option<&'static str>,
    /// The failure of a connection that carried load: the draft then ends the test.
    pub failure: Option<Failure>,
}

/// Runs tasks of one thread.
fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    Builder::new_current_thread().enable_io().enable_time().build().map_err(Failure::Connect)
}

/// Asks a server for its document.
///
/// # Errors
/// How it failed.
pub fn discover(place: &Server, port: u16) -> Result<Document, Failure> {
    let tls = place.trust.client().map_err(|error| Failure::Tls(error.to_string()))?;
    let authority = authority(&place.host, port);
    let uri: Uri = format!("https://{authority}{}", document::PATH)
        .parse()
        .map_err(|error| Failure::Http(format!("{authority}: {error}")))?;
    let ask = async {
        let mut connection = Connection::open(place, &tls, 1 << 16, None).await?.connection;
        let mut body = connection.get(&uri).await?;
        let mut bytes = Vec::new();
        while let Some(data) = body.data().await {
            let data = data.map_err(http)?;
            bytes.extend_from_slice(&data);
            if bytes.len() > document::MOST_BYTES {
                return Err(Failure::Document(Invalid::Json("it has over 65536 bytes".into())));
            }
            let _ = body.flow_control().release_capacity(data.len());
        }
        Ok(Document::parse(&bytes)?)
    };
    runtime()?.block_on(async { timeout(PATIENCE, ask).await.map_err(|_| Failure::Silent)? })
}

/// A host and its port as written in a URL.
fn authority(host: &str, port: u16) -> String {
    let host = if bare(host).contains(':') { format!("[{}]", bare(host)) } else { host.to_owned() };
    if port == 443 { host } else { format!("{host}:{port}") }
}

fn http(error: h2::Error) -> Failure {
    Failure::Http(error.to_string())
}

/// A connection that speaks HTTP/2. Its work ends with it.
struct Connection {
    requests: SendRequest<Bytes>,
    gauge: Arc<Gauge>,
    _work: JoinSet<()>,
}

/// A connection, with the times that it took.
struct Opened {
    connection: Connection,
    tcp: Duration,
    /// Time for each round trip of the handshake.
    tls: Duration,
    protocol: Option<&'static str>,
}

impl Connection {
    /// Opens a connection, with a congestion control other than the system's if `cc` names one.
    async fn open(
        place: &Server,
        config: &Arc<ClientConfig>,
        window: u32,
        cc: Option<&str>,
    ) -> Result<Opened, Failure> {
        let socket = if place.address.is_ipv6() { TcpSocket::new_v6() } else { TcpSocket::new_v4() };
        let socket = socket.map_err(Failure::Connect)?;
        if let Some(cc) = cc {
            set_congestion_control(socket.as_fd(), cc).map_err(Failure::Connect)?;
        }
        let began = Instant::now();
        let stream = socket.connect(place.address).await.map_err(Failure::Connect)?;
        let tcp = began.elapsed();
        let socket = Socket::new(stream).map_err(Failure::Connect)?;
        let name = ServerName::try_from(bare(&place.host).to_owned())
            .map_err(|_| Failure::Tls(format!("{}: not a name for a certificate", place.host)))?;
        let began = Instant::now();
        let tls = TlsConnector::from(Arc::clone(config)).connect(name, socket).await;
        let took = began.elapsed();
        let tls = tls.map_err(|error| Failure::Tls(error.to_string()))?;
        let state = tls.get_ref().1;
        if state.alpn_protocol() != Some(b"h2") {
            return Err(Failure::NoHttp2);
        }
        // RFC 8446, section 2: one round trip, and one more after HelloRetryRequest. RFC 5246, section 7.3:
        // two.
        let (protocol, trips) = match state.protocol_version() {
            Some(ProtocolVersion::TLSv1_3) => ("TLS 1.3", 1),
            _ => ("TLS 1.2", 2),
        };
        let retried = state.handshake_kind() == Some(HandshakeKind::FullWithHelloRetryRequest);
        let lean = Lean::new(tokio_rustls::TlsStream::from(tls));
        let gauge = lean.gauge();
        let mut builder = h2::client::Builder::new();
        builder
            .initial_window_size(window)
            .initial_connection_window_size(window)
            .max_send_buffer_size(ZEROS.len())
            .max_header_list_size(16_384)
            .enable_push(false);
        let (requests, work) = builder.handshake::<_, Bytes>(lean).await.map_err(http)?;
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            // Its failures reach the tasks that wait for answers.
            let _ = work.await;
        });
        let connection = Connection { requests, gauge, _work: tasks };
        Ok(Opened { connection, tcp, tls: took / (trips + u32::from(retried)), protocol: Some(protocol) })
    }

    /// Asks for an object.
    async fn get(&mut self, uri: &Uri) -> Result<h2::RecvStream, Failure> {
        get(self.requests.clone(), uri).await
    }
}

async fn get(requests: SendRequest<Bytes>, uri: &Uri) -> Result<h2::RecvStream, Failure> {
    let request = request(Method::GET, uri)?;
    let (response, _) = requests.ready().await.map_err(http)?.send_request(request, true).map_err(http)?;
    let response = response.await.map_err(http)?;
    if !response.status().is_success() {
        return Err(Failure::Status(response.status().as_u16()));
    }
    Ok(response.into_body())
}

fn request(method: Method, uri: &Uri) -> Result<Request<()>, Failure> {
    // "The client MUST send the GET with the "Accept-Encoding" header set to "identity"".
    let request = Request::builder()
        .method(method)
        .uri(uri)
        .header(http::header::ACCEPT_ENCODING, "identity")
        .header(http::header::USER_AGENT, concat!("goodqueue/", env!("CARGO_PKG_VERSION")));
    request.body(()).map_err(|error| Failure::Http(error.to_string()))
}

/// One byte, from the request to the end of the response.
async fn small(requests: SendRequest<Bytes>, uri: &Uri) -> Result<Duration, Failure> {
    let began = Instant::now();
    let mut body = get(requests, uri).await?;
    while let Some(data) = body.data().await {
        let len = data.map_err(http)?.len();
        let _ = body.flow_control().release_capacity(len);
    }
    Ok(began.elapsed())
}

/// What tasks report.
enum News {
    Connected {
        connection: u32,
        requests: SendRequest<Bytes>,
        gauge: Arc<Gauge>,
        protocol: Option<&'static str>,
    },
    Probe {
        number: u32,
        began: Instant,
        at: Instant,
        is_foreign: bool,
        answer: Option<Answer>,
    },
    Failed(Failure),
}

/// A connection for load.
struct Load {
    requests: SendRequest<Bytes>,
    gauge: Arc<Gauge>,
    bytes: Arc<AtomicU64>,
    /// The part of `bytes` that was reported to the algorithm and the series.
    told: u64,
    in_series: u64,
}

/// A direction of a test.
#[derive(Clone, Debug)]
pub struct Run {
    /// The server; the address of the document's host.
    pub place: Server,
    /// What to ask for.
    pub document: Document,
    /// Whether to load the way to the server or from it.
    pub direction: Direction,
    /// Parameters.
    pub settings: Settings,
    /// Step of [`Event::Transferred`], more than zero.
    pub step: Span,
    /// Seed of random choices.
    pub seed: u64,
    /// How long the load lasts, even if the algorithm ends before; without it the load ends with the
    /// algorithm.
    pub length: Option<Span>,
    /// Congestion control of its connections; without it the system's own.
    pub cc: Option<String>,
}

impl Run {
    /// Measures one direction, and reports events to `sink` meanwhile. It ends early when `stop` is set.
    ///
    /// # Errors
    /// If nothing could be measured at all.
    pub fn run(&self, stop: &AtomicBool, sink: &mut dyn FnMut(Event)) -> Result<Ended, Failure> {
        let config = self.place.trust.client().map_err(|error| Failure::Tls(error.to_string()))?;
        let runtime = runtime()?;
        let ended = runtime.block_on(async { Work::new(self, config).drive(stop, sink).await });
        runtime.shutdown_background();
        Ok(ended)
    }
}

/// A run in progress.
struct Work<'a> {
    run: &'a Run,
    config: Arc<ClientConfig>,
    small: Arc<Uri>,
    origin: Instant,
    algorithm: Algorithm,
    loads: HashMap<u32, Load>,
    tasks: JoinSet<()>,
    news: (UnboundedSender<News>, UnboundedReceiver<News>),
    /// Probes begun: foreign, own.
    begun: [u32; 2],
    /// The step of the series that ends next, and the number of intervals reported.
    next_step: i64,
    told: usize,
    tls: Option<&'static str>,
    failure: Option<Failure>,
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn span(duration: Duration) -> Span {
    Span(ns(duration))
}

impl<'a> Work<'a> {
    fn new(run: &'a Run, config: Arc<ClientConfig>) -> Work<'a> {
        Work {
            run,
            config,
            small: Arc::new(run.document.small.clone()),
            origin: Instant::now(),
            algorithm: Algorithm::new(run.settings, Nanos(0), run.seed),
            loads: HashMap::new(),
            tasks: JoinSet::new(),
            news: unbounded_channel(),
            begun: [0; 2],
            next_step: signed(run.step.0.max(1)),
            told: 0,
            tls: None,
            failure: None,
        }
    }

    fn now(&self) -> Nanos {
        self.at(Instant::now())
    }

    fn at(&self, instant: Instant) -> Nanos {
        Nanos(ns(instant.saturating_duration_since(self.origin)))
    }

    /// Nanoseconds from the start of the load.
    fn t(&self, at: Nanos) -> i64 {
        signed(at.0).saturating_sub(signed(self.algorithm.start().0))
    }

    async fn drive(mut self, stop: &AtomicBool, sink: &mut dyn FnMut(Event)) -> Ended {
        loop {
            self.count_bytes();
            self.algorithm.handle_timeout(self.now());
            self.tell(sink);
            while let Some(action) = self.algorithm.poll_action() {
                self.act(action);
            }
            let is_over = match self.run.length {
                Some(length) => self.t(self.now()) >= signed(length.0),
                None => self.algorithm.is_done(),
            };
            if is_over || self.failure.is_some() || stop.load(Ordering::Relaxed) {
                break;
            }
            let due = self.algorithm.poll_timeout();
            let due = due.map_or_else(Instant::now, |at| self.origin + Duration::from_nanos(at.0));
            tokio::select! {
                biased;
                Some(news) = self.news.1.recv() => self.take(news, sink),
                Some(_) = self.tasks.join_next() => {}
                () = sleep_until(due.min(Instant::now() + LOOK).into()) => {}
            }
        }
        Ended { outcome: self.algorithm.outcome(), tls: self.tls, failure: self.failure }
    }

    /// Tells the algorithm what was transferred.
    fn count_bytes(&mut self) {
        for load in self.loads.values_mut() {
            let bytes = load.bytes.load(Ordering::Relaxed);
            self.algorithm.transferred(bytes - load.told);
            load.told = bytes;
        }
    }

    /// Reports steps and intervals that have ended.
    fn tell(&mut self, sink: &mut dyn FnMut(Event)) {
        let t = self.t(self.now());
        let step = signed(self.run.step.0.max(1));
        if t >= self.next_step {
            let end = t - t % step;
            for (&connection, load) in &mut self.loads {
                let bytes = load.told - load.in_series;
                load.in_series = load.told;
                sink(Event::Transferred { connection, t: end, bytes });
                if let Some(info) = load.gauge.info().filter(|_| self.run.direction == Direction::Up) {
                    sink(Event::Tcp { connection, t, info });
                }
            }
            self.next_step = end + step;
        }
        for interval in &self.algorithm.intervals()[self.told..] {
            sink(Event::Interval(*interval));
        }
        self.told = self.algorithm.intervals().len();
        sink(Event::Passed { t });
    }

    fn act(&mut self, action: Action) {
        let news = self.news.0.clone();
        match action {
            Action::Open { connection } => {
                let (place, config) = (self.run.place.clone(), Arc::clone(&self.config));
                let cc = self.run.cc.clone();
                self.tasks.spawn(async move {
                    let opened =
                        timeout(PATIENCE, Connection::open(&place, &config, WINDOW, cc.as_deref())).await;
                    match opened.map_err(|_| Failure::Silent).flatten() {
                        Ok(Opened { connection: open, protocol, .. }) => {
                            let (requests, gauge) = (open.requests.clone(), Arc::clone(&open.gauge));
                            let _ = news.send(News::Connected { connection, requests, gauge, protocol });
                            // The connection lives as long as the run.
                            let _keep = open;
                            std::future::pending::<()>().await;
                        }
                        Err(failure) => {
                            let _ = news.send(News::Failed(failure));
                        }
                    }
                });
            }
            Action::Load { connection } => {
                let Some(load) = self.loads.get(&connection) else { return };
                let (requests, bytes, gauge) =
                    (load.requests.clone(), Arc::clone(&load.bytes), Arc::clone(&load.gauge));
                let Document { large, upload, .. } = &self.run.document;
                let (direction, large, upload) = (self.run.direction, large.clone(), upload.clone());
                self.tasks.spawn(async move {
                    let end = match direction {
                        Direction::Down => download(&requests, &large, &bytes).await,
                        Direction::Up => send(&requests, &upload, &bytes, &gauge).await,
                    };
                    if let Err(failure) = end {
                        let _ = news.send(News::Failed(failure));
                    }
                });
            }
            Action::Foreign => {
                let number = self.number(true);
                let (place, config) = (self.run.place.clone(), Arc::clone(&self.config));
                let (uri, cc) = (Arc::clone(&self.small), self.run.cc.clone());
                self.tasks.spawn(async move {
                    let began = Instant::now();
                    let answer = timeout(PATIENCE, async {
                        let opened = Connection::open(&place, &config, 1 << 16, cc.as_deref()).await?;
                        let http = small(opened.connection.requests.clone(), &uri).await?;
                        let (tcp, tls) = (span(opened.tcp), Some(span(opened.tls)));
                        Ok::<_, Failure>(Answer::Foreign { tcp, tls, http: span(http) })
                    });
                    let answer = answer.await.ok().and_then(Result::ok);
                    let at = Instant::now();
                    let _ = news.send(News::Probe { number, began, at, is_foreign: true, answer });
                });
            }
            Action::Own { connection } => {
                let number = self.number(false);
                let uri = Arc::clone(&self.small);
                let Some(requests) = self.loads.get(&connection).map(|load| load.requests.clone()) else {
                    return self.algorithm.failed(false);
                };
                self.tasks.spawn(async move {
                    let began = Instant::now();
                    let http = timeout(PATIENCE, small(requests, &uri)).await.ok().and_then(Result::ok);
                    let answer = http.map(|http| Answer::Own { http: span(http) });
                    let at = Instant::now();
                    let _ = news.send(News::Probe { number, began, at, is_foreign: false, answer });
                });
            }
        }
    }

    /// The number of a probe that begins.
    fn number(&mut self, is_foreign: bool) -> u32 {
        let count = &mut self.begun[usize::from(!is_foreign)];
        *count += 1;
        *count - 1
    }

    fn take(&mut self, news: News, sink: &mut dyn FnMut(Event)) {
        match news {
            News::Connected { connection, requests, gauge, protocol } => {
                let bytes = Arc::default();
                self.loads.insert(connection, Load { requests, gauge, bytes, told: 0, in_series: 0 });
                self.tls = self.tls.or(protocol);
                self.algorithm.connected(connection);
            }
            News::Probe { number, began, at, is_foreign, answer } => {
                let began = self.at(began);
                let t = self.t(began);
                match answer {
                    Some(answer) => {
                        sink(Event::Probe { number, began: t, answer });
                        self.algorithm.completed(Sample { began, at: self.at(at), answer });
                    }
                    None => {
                        sink(Event::Lost { number, began: t, is_foreign });
                        self.algorithm.failed(is_foreign);
                    }
                }
            }
            News::Failed(failure) => self.failure = self.failure.take().or(Some(failure)),
        }
    }
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// Reads large objects, one after another.
async fn download(requests: &SendRequest<Bytes>, uri: &Uri, bytes: &AtomicU64) -> Result<(), Failure> {
    loop {
        let mut body = get(requests.clone(), uri).await?;
        let mut is_empty = true;
        while let Some(data) = body.data().await {
            let len = data.map_err(http)?.len();
            is_empty &= len == 0;
            bytes.fetch_add(len as u64, Ordering::Relaxed);
            let _ = body.flow_control().release_capacity(len);
        }
        if is_empty {
            return Err(Failure::Http("the large object is empty".into()));
        }
    }
}

/// Sends endless uploads, one after another if the server ends one.
async fn send(
    requests: &SendRequest<Bytes>,
    uri: &Uri,
    bytes: &AtomicU64,
    gauge: &Gauge,
) -> Result<(), Failure> {
    loop {
        let request = request(Method::POST, uri)?;
        let ready = requests.clone().ready().await.map_err(http)?;
        let (response, mut stream) = { ready }.send_request(request, false).map_err(http)?;
        let give = async {
            loop {
                let most = gauge.frame();
                stream.reserve_capacity(most);
                while stream.capacity() == 0 {
                    match std::future::poll_fn(|cx| stream.poll_capacity(cx)).await {
                        Some(Ok(_)) => {}
                        Some(Err(error)) => return http(error),
                        None => return Failure::Http("the server ended the upload".into()),
                    }
                }
                let len = stream.capacity().min(most);
                if let Err(error) = stream.send_data(Bytes::from_static(&ZEROS[..len]), false) {
                    return http(error);
                }
                bytes.fetch_add(len as u64, Ordering::Relaxed);
            }
        };
        tokio::select! {
            failure = give => return Err(failure),
            response = response => {
                let status = response.map_err(http)?.status();
                if !status.is_success() {
                    return Err(Failure::Status(status.as_u16()));
                }
                // If the server takes no more, begin again, but not at once.
                sleep(LOOK).await;
            }
        }
    }
}
