//! The client's end of loads: a control connection, over which the client starts and stops them.

use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use goodqueue_probe::net::{ClockWatch, QuicFar, SessionId};
use goodqueue_probe::{Sample, Transport};
use rustls::{AlertDescription, ClientConnection, StreamOwned};

use super::message::{self, Ask, Ended, Lines, MOST_TOLD, Start, Tell, VERSION, Welcome, Why};
use super::tls;
use super::word::Secret;

/// How long a connection, and each answer, may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the message about the end of a load may take: packets in a queue go first.
const END_PATIENCE: Duration = Duration::from_secs(60);
/// Longest sleep, so that a stop is noticed.
const LOOK: Duration = Duration::from_millis(50);
/// Number of requests for the server's clock. The one with the fastest answer counts.
const CLOCKS: u32 = 8;

/// Why there is no load.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// There is no way to the server.
    #[error("{}", crate::no_way(.0))]
    Connect(io::Error),
    /// The program that listens there does not speak our protocol.
    #[error("what listens there is not a goodqueue server: {0}")]
    Stranger(rustls::Error),
    /// The server speaks no version of the protocol that we speak.
    #[error("the server speaks another version of the protocol than this program: update the older one")]
    Version,
    /// The server's key is not derived from the secret, or the server says that ours is wrong.
    #[error("the key is wrong")]
    Key,
    /// The server refused.
    #[error(transparent)]
    Refused(Why),
    /// The server's release did not have this yet, or the server does not allow it.
    #[error("the server has no {0}: it is an older goodqueue, or was started without")]
    Older(&'static str),
    /// The server did not answer in time.
    #[error("the server no longer answers; see whether it still runs and the path is up, and measure again")]
    Silent,
    /// The connection broke.
    #[error("the connection to the server broke: {0}")]
    Broken(io::Error),
    /// The server sent a message that is not valid here.
    #[error("the server sent a message that this program does not know: if it is newer, update this one")]
    Order,
    /// It was stopped.
    #[error("stopped")]
    Stopped,
}

/// A control connection at the client.
pub struct Control {
    stream: StreamOwned<ClientConnection, TcpStream>,
    lines: Lines,
    welcome: Welcome,
    quic: Option<QuicFar>,
    /// The server's monotonic clock minus ours, nanoseconds.
    ahead: i64,
    /// The round trip of that measurement; half of it is the largest error.
    rtt: i64,
}

/// Sorts the errors of a TLS connection.
fn failure(error: io::Error) -> Failure {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidCertificate(_)) => Failure::Key,
        Some(rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol)) => Failure::Version,
        Some(error) => Failure::Stranger(error.clone()),
        None if error.kind() == ErrorKind::InvalidData => Failure::Order,
        None => Failure::Broken(error),
    }
}

impl Control {
    /// Connects to a server, checks its key and proves our own.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn open(server: SocketAddr, secret: &Secret) -> Result<Control, Failure> {
        let socket = TcpStream::connect_timeout(&server, PATIENCE).map_err(Failure::Connect)?;
        let set_up = || {
            socket.set_nodelay(true)?;
            socket.set_read_timeout(Some(LOOK))?;
            socket.set_write_timeout(Some(PATIENCE))
        };
        set_up().map_err(Failure::Broken)?;
        let config = tls::client(secret).map_err(Failure::Stranger)?;
        let tls = ClientConnection::new(config, tls::name()).map_err(Failure::Stranger)?;
        let (stream, lines) = (StreamOwned::new(tls, socket), Lines::new(MOST_TOLD));
        let welcome = Welcome { version: VERSION, ..Welcome::default() };
        let mut control = Control { stream, lines, welcome, quic: None, ahead: 0, rtt: 0 };
        control.shake_hands()?;
        let exported = tls::exported(&control.stream.conn).map_err(Failure::Stranger)?;
        let proof = secret.proof(&exported).iter().map(|byte| format!("{byte:02x}")).collect();
        control.say(&Ask::Hello { version: VERSION, proof })?;
        match control.answer(PATIENCE, &AtomicBool::new(false))? {
            Tell::Welcome(welcome) => control.welcome = welcome,
            _ => return Err(Failure::Order),
        }
        if let Some(port) = control.welcome.quic {
            control.quic = Some(QuicFar { port, keys: tls::quic_keys(secret).map_err(Failure::Stranger)?.1 });
        }
        control.compare_clocks()?;
        Ok(control)
    }

    fn shake_hands(&mut self) -> Result<(), Failure> {
        let until = Instant::now() + PATIENCE;
        while self.stream.conn.is_handshaking() {
            match self.stream.conn.complete_io(&mut self.stream.sock) {
                Ok(_) => {}
                Err(error) if is_timeout(&error) => {}
                Err(error) => return Err(failure(error)),
            }
            if Instant::now() > until {
                return Err(Failure::Silent);
            }
        }
        Ok(())
    }

    /// What the server allows.
    #[must_use]
    pub fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// The address at which the server accepts flows over QUIC, if it does.
    #[must_use]
    pub fn quic(&self) -> Option<&QuicFar> {
        self.quic.as_ref()
    }

    /// The server's monotonic clock minus ours, and its largest error: half the round trip. Nanoseconds.
    #[must_use]
    pub fn ahead(&self) -> (i64, i64) {
        (self.ahead, self.rtt / 2)
    }

    fn say(&mut self, message: &Ask) -> Result<(), Failure> {
        let said = self.stream.write_all(message::line(message).as_bytes());
        said.and_then(|()| self.stream.flush()).map_err(failure)
    }

    /// The next message, if there is one.
    fn hear(&mut self) -> Result<Option<Tell>, Failure> {
        match self.lines.message(&mut self.stream).map_err(failure)? {
            Some(Tell::Refused(Why::Key)) => Err(Failure::Key),
            Some(Tell::Refused(why)) => Err(Failure::Refused(why)),
            other => Ok(other),
        }
    }

    fn answer(&mut self, patience: Duration, stop: &AtomicBool) -> Result<Tell, Failure> {
        let until = Instant::now() + patience;
        while Instant::now() < until {
            if stop.load(Ordering::Relaxed) {
                return Err(Failure::Stopped);
            }
            if let Some(message) = self.hear()? {
                return Ok(message);
            }
        }
        Err(Failure::Silent)
    }

    /// Measures how far the server's clock is ahead of ours.
    fn compare_clocks(&mut self) -> Result<(), Failure> {
        let mut watch = ClockWatch::new();
        self.rtt = i64::MAX;
        for asked in 0..CLOCKS {
            let sent = watch.now().mono;
            self.say(&Ask::Clock(asked))?;
            let Tell::Clock { number, mono_ns } = self.answer(PATIENCE, &AtomicBool::new(false))? else {
                return Err(Failure::Order);
            };
            let received = watch.now().mono;
            let rtt = received - sent;
            if number == asked && rtt < self.rtt {
                (self.rtt, self.ahead) = (rtt, mono_ns.saturating_sub(sent + rtt / 2));
            }
        }
        Ok(())
    }

    /// Begins a load that starts at `at_ns`, by this host's monotonic clock. Returns the session that its
    /// connections and datagrams name.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn start(&mut self, load: Start) -> Result<SessionId, Failure> {
        let is_quic = load.transport == Transport::Quic;
        for (asked, allowed, what) in [
            (is_quic.into(), self.welcome.quic.map_or(0, u64::from), "load over QUIC"),
            (load.web, u64::from(self.welcome.web), "pages and videos"),
            (load.talks, u64::from(self.welcome.talks), "video calls and games"),
            (load.udp, self.welcome.udp_bps, "UDP load"),
            (load.paced, self.welcome.paces.into(), "downloads with a largest pacing rate"),
        ] {
            if asked > 0 && allowed == 0 {
                return Err(Failure::Older(what));
            }
        }
        self.say(&Ask::Start(Start { at_ns: load.at_ns.saturating_add(self.ahead), ..load }))?;
        match self.answer(PATIENCE, &AtomicBool::new(false))? {
            Tell::Started { session } => SessionId::from_hex(&session).ok_or(Failure::Order),
            _ => Err(Failure::Order),
        }
    }

    /// Passes on the samples of the server's ends of the flows. Once `done` is set it tells the server to
    /// stop, and returns when the server has stopped. `sink` gets what the server sent, unchecked.
    ///
    /// # Errors
    /// [`Failure`]; samples passed on before that are valid.
    pub fn run(&mut self, sink: &mut dyn FnMut(Sample), done: &AtomicBool) -> Result<Ended, Failure> {
        let mut until = None;
        loop {
            if until.is_none() && done.load(Ordering::Relaxed) {
                self.say(&Ask::Stop(()))?;
                until = Some(Instant::now() + END_PATIENCE);
            }
            if until.is_some_and(|until| Instant::now() > until) {
                return Err(Failure::Silent);
            }
            match self.hear()? {
                None => {}
                Some(Tell::Samples(samples)) => samples.into_iter().for_each(&mut *sink),
                Some(Tell::Ended(ended)) => return Ok(ended),
                Some(_) => return Err(Failure::Order),
            }
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
