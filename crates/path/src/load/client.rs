//! The near end of loads: a control connection, over which the client begins and ends them.

use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use goodqueue::Span;
use goodqueue_probe::net::{ClockWatch, SessionId};
use goodqueue_probe::quic::ClientKeys;
use goodqueue_probe::{Sample, Transport};
use rustls::{ClientConnection, StreamOwned};

use super::message::{self, Ask, Ended, Lines, MOST_TOLD, Start, Tell, VERSION, Welcome, Why};
use super::tls;
use super::word::Secret;

/// How long a connection, and each answer, may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the end of a load may take to arrive: what a queue holds goes first.
const END_PATIENCE: Duration = Duration::from_secs(60);
/// Longest sleep, so that a stop is noticed.
const LOOK: Duration = Duration::from_millis(50);
/// Questions for the server's clock. The one that is answered fastest counts.
const CLOCKS: u32 = 8;

/// Why there is no load.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// There is no way to the server.
    #[error("{0}")]
    Connect(io::Error),
    /// What listens there does not speak our protocol.
    #[error("what listens there is no goodqueue server: {0}")]
    Stranger(rustls::Error),
    /// The server's key does not follow from the secret, or it says that ours is wrong.
    #[error("the key is wrong")]
    Key,
    /// The server refused.
    #[error(transparent)]
    Refused(Why),
    /// The server said nothing in time.
    #[error("the server no longer answers")]
    Silent,
    /// The connection broke.
    #[error("the connection to the server broke: {0}")]
    Broken(io::Error),
    /// The server said something that makes no sense here.
    #[error("the server sent a message that does not belong here")]
    Order,
    /// It was stopped.
    #[error("stopped")]
    Stopped,
}

/// The client's keys for flows over QUIC: a server is accepted if it has the secret.
///
/// # Errors
/// [`Failure::Stranger`], which does not happen: every secret makes keys.
pub fn quic_keys(secret: &Secret) -> Result<ClientKeys, Failure> {
    tls::quic_client(secret).map_err(Failure::Stranger)
}

/// A control connection at the client.
pub struct Control {
    stream: StreamOwned<ClientConnection, TcpStream>,
    lines: Lines,
    welcome: Welcome,
    /// The server's monotonic clock less ours, nanoseconds.
    ahead: i64,
    /// The round trip in which that was measured; half of it is the most by which it can be wrong.
    rtt: i64,
}

/// Sorts the errors of a TLS connection.
fn failure(error: io::Error) -> Failure {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidCertificate(_)) => Failure::Key,
        Some(error) => Failure::Stranger(error.clone()),
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
        let welcome = Welcome { version: VERSION, hmac: false, flows: 0, length_ns: 0, quic: None };
        let mut control = Control { stream, lines, welcome, ahead: 0, rtt: 0 };
        control.shake_hands()?;
        let exported = tls::exported(&control.stream.conn).map_err(Failure::Stranger)?;
        let proof = secret.proof(&exported).iter().map(|byte| format!("{byte:02x}")).collect();
        control.say(&Ask::Hello { version: VERSION, proof })?;
        match control.answer(PATIENCE, &AtomicBool::new(false))? {
            Tell::Welcome(welcome) => control.welcome = welcome,
            _ => return Err(Failure::Order),
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

    /// The server's monotonic clock less ours, and how wrong that can be: half the round trip. Nanoseconds.
    #[must_use]
    pub fn ahead(&self) -> (i64, i64) {
        (self.ahead, self.rtt / 2)
    }

    fn say(&mut self, message: &Ask) -> Result<(), Failure> {
        let said = self.stream.write_all(message::line(message).as_bytes());
        said.and_then(|()| self.stream.flush()).map_err(failure)
    }

    /// The next message, if one is there.
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

    /// Begins a load of `flows` connections that starts at `at`, a time of this host's monotonic clock, and
    /// lasts `length`. Returns the session that the flows name. `transport`: what the flows are; those of
    /// QUIC go to the port of [`Welcome::quic`].
    ///
    /// # Errors
    /// [`Failure`].
    pub fn start(
        &mut self,
        flows: u32,
        at: i64,
        length: Span,
        transport: Transport,
    ) -> Result<SessionId, Failure> {
        let quic = transport == Transport::Quic;
        if quic && self.welcome.quic.is_none() {
            return Err(Failure::Refused(Why::NoQuic));
        }
        let length_ns = i64::try_from(length.0).unwrap_or(i64::MAX);
        self.say(&Ask::Start(Start { flows, at_ns: at.saturating_add(self.ahead), length_ns, quic }))?;
        match self.answer(PATIENCE, &AtomicBool::new(false))? {
            Tell::Started { session } => SessionId::from_hex(&session).ok_or(Failure::Order),
            _ => Err(Failure::Order),
        }
    }

    /// Hands on what the server's ends of the flows see. Once `done` is set it tells the server to stop, and
    /// returns when the server has. `sink` gets what the server sent, unchecked.
    ///
    /// # Errors
    /// [`Failure`]; what was handed on before stays good.
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
