//! Serves one page over HTTP/1.1, for a program that reads it every few seconds. It does nothing else, so
//! there is little to attack. A request has at most [`MOST_BYTES`] and takes at most [`PATIENCE`]. There are
//! at most [`MOST_CONNECTIONS`], each with one answer.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use goodqueue_probe::net::{AsRawFd, RawFd, wait};

/// Longest request, bytes.
pub const MOST_BYTES: usize = 4096;
/// Largest number of connections at a time; a new one replaces the oldest.
pub const MOST_CONNECTIONS: usize = 16;
/// How long a request may take.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// Largest number of lines of a request's header.
const MOST_HEADERS: usize = 64;
/// Longest sleep, so that a stop is noticed.
const SLEEP: u64 = 100_000_000;

/// A page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page<'a> {
    /// Its path, `/metrics`.
    pub path: &'a str,
    /// Its media type.
    pub media_type: &'a str,
}

struct Connection {
    stream: TcpStream,
    since: Instant,
    request: Vec<u8>,
}

/// Serves the page until `stop` is set, which it notices within 0.1 s. `listener` must not block.
///
/// # Errors
/// The kernel's error if it cannot wait for connections.
pub fn serve(
    listener: &TcpListener,
    page: Page,
    text: &dyn Fn() -> String,
    stop: &AtomicBool,
) -> io::Result<()> {
    let (mut connections, mut ready) = (Vec::<Connection>::new(), Vec::new());
    while !stop.load(Ordering::Relaxed) {
        let streams = connections.iter().map(|one| one.stream.as_raw_fd());
        let fds: Vec<RawFd> = std::iter::once(listener.as_raw_fd()).chain(streams).collect();
        wait(&fds, SLEEP, &mut ready)?;
        let mut index = 0;
        connections.retain_mut(|one| {
            index += 1;
            let is_ready = ready.binary_search(&index).is_ok();
            one.since.elapsed() < PATIENCE && (!is_ready || one.go_on(page, text))
        });
        if ready.first() == Some(&0) {
            accept(listener, &mut connections);
        }
    }
    Ok(())
}

fn accept(listener: &TcpListener, connections: &mut Vec<Connection>) {
    // An error means "nothing more", or no more files; then the next round tries again.
    while let Ok((stream, _)) = listener.accept() {
        if stream.set_nonblocking(true).is_err() {
            continue;
        }
        if connections.len() >= MOST_CONNECTIONS {
            connections.remove(0);
        }
        connections.push(Connection { stream, since: Instant::now(), request: Vec::new() });
    }
}

impl Connection {
    /// Reads what has arrived, and answers once the request is complete. Returns whether the connection
    /// continues.
    fn go_on(&mut self, page: Page, text: &dyn Fn() -> String) -> bool {
        let mut bytes = [0; 1024];
        let room = bytes.len().min(MOST_BYTES + 1 - self.request.len());
        match self.stream.read(&mut bytes[..room]) {
            Ok(0) => return false,
            Ok(read) => self.request.extend_from_slice(&bytes[..read]),
            Err(error) => return matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        }
        let Some(answer) = answer(&self.request, page, text) else { return true };
        // A few kB fit into the socket's buffer. The rest is cut off; the reader notices from the length.
        let _ = self.stream.write_all(answer.as_bytes());
        let _ = self.stream.shutdown(Shutdown::Write);
        false
    }
}

/// The answer to a request; `None` if it is not complete.
#[must_use]
pub fn answer(request: &[u8], page: Page, text: &dyn Fn() -> String) -> Option<String> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let refuse =
        |status: &str| Some(response(status, "text/plain; charset=utf-8", &format!("{status}\n"), ""));
    match parsed.parse(request) {
        Ok(httparse::Status::Partial) if request.len() <= MOST_BYTES => return None,
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            return refuse("431 Request Header Fields Too Large");
        }
        Err(_) => return refuse("400 Bad Request"),
        Ok(httparse::Status::Complete(_)) => {}
    }
    let path = parsed.path.unwrap_or_default();
    let path = path.split('?').next().unwrap_or_default();
    match parsed.method {
        Some("GET" | "HEAD") if path != page.path => refuse("404 Not Found"),
        Some("GET") => Some(response("200 OK", page.media_type, &text(), "")),
        Some("HEAD") => {
            let mut whole = response("200 OK", page.media_type, &text(), "");
            let head = whole.find("\r\n\r\n").map_or(whole.len(), |end| end + 4);
            whole.truncate(head);
            Some(whole)
        }
        _ => Some(response("405 Method Not Allowed", "text/plain", "", "Allow: GET, HEAD\r\n")),
    }
}

fn response(status: &str, media_type: &str, body: &str, more: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {length}\r\n{more}Connection: close\r\n\r\n\
         {body}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::thread;

    const PAGE: Page = Page { path: "/metrics", media_type: "text/plain; version=0.0.4; charset=utf-8" };

    fn said(request: &str) -> String {
        answer(request.as_bytes(), PAGE, &|| "a 1\n".into()).unwrap_or_default()
    }

    #[test]
    fn one_page_is_served() {
        let page = said("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_eq!(
            page,
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: 4\r\n\
             Connection: close\r\n\r\na 1\n"
        );
        assert!(said("GET /metrics?x=1 HTTP/1.0\r\n\r\n").ends_with("a 1\n"));
        let head = said("HEAD /metrics HTTP/1.1\r\n\r\n");
        assert!(head.contains("Content-Length: 4") && head.ends_with("\r\n\r\n"));
        assert!(said("GET /../etc/passwd HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
        assert!(said("POST /metrics HTTP/1.1\r\n\r\n").contains("405"));
        assert!(said("nonsense\r\n\r\n").starts_with("HTTP/1.1 400"));
        assert_eq!(said("GET /metrics HTTP/1.1\r\n"), "", "not complete");
        assert!(said(&format!("GET /{} HTTP/1.1\r\n", "x".repeat(MOST_BYTES))).starts_with("HTTP/1.1 431"));
        assert!(
            said(&format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(65))).starts_with("HTTP/1.1 431")
        );
    }

    #[test]
    fn loopback_slow_and_many_clients_stop_nobody() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let (at, stop) = (listener.local_addr().unwrap(), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| serve(&listener, PAGE, &|| "a 1\n".into(), &stop).unwrap());
            let slow: Vec<TcpStream> = (0..100)
                .map(|_| {
                    let mut stream = TcpStream::connect(at).unwrap();
                    // A connection that had to make room may be closed by now.
                    let _ = stream.write_all(b"GET /metr");
                    stream
                })
                .collect();
            let mut stream = TcpStream::connect(at).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            stop.store(true, Ordering::Relaxed);
            assert!(text.ends_with("a 1\n"), "{text}");
            drop(slow);
        });
    }

    proptest! {
        #[test]
        fn no_request_panics(request in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = answer(&request, PAGE, &String::new);
        }
    }
}
