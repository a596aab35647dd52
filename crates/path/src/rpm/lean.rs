//! TLS over TCP that keeps little data waiting on its way to the network: data that waits within a host adds
//! delay that no network caused. The socket and one frame above it hold as much as [`waiting`] says (the
//! draft names `TCP_NOTSENT_LOWAT`).

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use goodqueue_probe::TcpSample;
use goodqueue_probe::net::{AsFd, BorrowedFd, WHOLE, bound_unsent, tcp_sample};
use goodqueue_probe::rpm::waiting;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsStream;

/// Between two looks at the rate.
const LOOK: Duration = Duration::from_millis(100);
/// Number of looks whose fastest counts, so that a pause does not lower the limit.
const LOOKS: usize = 10;

/// A socket that marks each write as the end of a record (`MSG_EOR`). Otherwise Linux would append later
/// writes to waiting data, up to 64 kB, without checking `TCP_NOTSENT_LOWAT`.
#[derive(Debug)]
pub(super) struct Socket(TcpStream);

impl Socket {
    /// # Errors
    /// The kernel's.
    pub(super) fn new(stream: TcpStream) -> io::Result<Socket> {
        stream.set_nodelay(true)?;
        Ok(Socket(stream))
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_write_ready(cx))?;
            let send = || SockRef::from(&self.0).send_with_flags(buf, WHOLE);
            match self.0.try_io(Interest::WRITABLE, send) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                sent => return Poll::Ready(sent),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// What a connection shows its users.
#[derive(Debug)]
pub(super) struct Gauge {
    frame: AtomicUsize,
    info: Mutex<Option<TcpSample>>,
}

impl Gauge {
    /// Most bytes of the next frame of data.
    pub(super) fn frame(&self) -> usize {
        self.frame.load(Ordering::Relaxed)
    }

    /// The kernel's last report about the connection.
    pub(super) fn info(&self) -> Option<TcpSample> {
        *self.info.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection.
#[derive(Debug)]
pub(super) struct Lean {
    tls: TlsStream<Socket>,
    gauge: Arc<Gauge>,
    since: Instant,
    written: usize,
    /// Bytes per second at the last looks.
    rates: [f64; LOOKS],
    look: usize,
}

impl Lean {
    pub(super) fn new(tls: impl Into<TlsStream<Socket>>) -> Lean {
        let tls = tls.into();
        // If the kernel cannot do this, more data waits.
        let (_, most) = waiting(f64::MAX);
        let _ = bound_unsent(tls.get_ref().0, most as u32);
        let gauge = Arc::new(Gauge { frame: AtomicUsize::new(most), info: Mutex::default() });
        Lean { tls, gauge, since: Instant::now(), written: 0, rates: [0.0; LOOKS], look: 0 }
    }

    pub(super) fn gauge(&self) -> Arc<Gauge> {
        Arc::clone(&self.gauge)
    }

    /// Whether earlier writes have gone to the socket.
    fn poll_empty(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.tls.get_ref().1.wants_write() {
            Pin::new(&mut self.tls).poll_flush(cx)
        } else {
            Poll::Ready(Ok(()))
        }
    }

    #[allow(clippy::cast_possible_truncation)]
    fn note(&mut self, bytes: usize) {
        self.written += bytes;
        let took = self.since.elapsed();
        if took < LOOK {
            return;
        }
        self.rates[self.look % LOOKS] = self.written as f64 / took.as_secs_f64();
        (self.look, self.written, self.since) = (self.look + 1, 0, Instant::now());
        let rate = self.rates.iter().copied().fold(0.0, f64::max);
        let (unsent, frame) = waiting(rate);
        let socket = self.tls.get_ref().0;
        let _ = bound_unsent(socket, unsent as u32);
        self.gauge.frame.store(frame, Ordering::Relaxed);
        *self.gauge.info.lock().unwrap_or_else(PoisonError::into_inner) = tcp_sample(socket).ok();
    }
}

impl AsyncRead for Lean {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tls).poll_read(cx, buf)
    }
}

impl AsyncWrite for Lean {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_empty(cx))?;
        let written = ready!(Pin::new(&mut self.tls).poll_write(cx, buf))?;
        self.note(written);
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_empty(cx))?;
        let written = ready!(Pin::new(&mut self.tls).poll_write_vectored(cx, bufs))?;
        self.note(written);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.tls.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tls).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tls).poll_shutdown(cx)
    }
}
