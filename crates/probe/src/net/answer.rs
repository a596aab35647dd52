//! The server side of a connection for web data: reads a request, answers it, reads the next.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

use super::flow::buffer;
use super::request::{self, Request};
use super::sys::{self, AsFd, Interest};

/// Most bytes that one connection transfers before the others get their turn.
const TURN: u64 = 128 * 1024;

/// A connection with consecutive requests.
#[derive(Debug)]
pub(super) struct WebEnd {
    stream: TcpStream,
    header: [u8; request::LEN],
    len: usize,
    /// Bytes of the request still to read, and length of its answer.
    unread: u64,
    answer: u64,
    /// Bytes of the answer still to write.
    unwritten: u64,
    interest: Interest,
    answered: u64,
}

impl WebEnd {
    /// A connection with the first request `first`, whose header has been read.
    ///
    /// # Errors
    /// The kernel's, if it does not have the congestion control.
    pub(super) fn new(stream: TcpStream, first: &Request) -> io::Result<WebEnd> {
        sys::set_cc(stream.as_fd(), &first.cc)?;
        // As in real servers, the last part of an answer does not wait for an acknowledgement.
        stream.set_nodelay(true)?;
        let mut end = WebEnd {
            stream,
            header: [0; request::LEN],
            len: 0,
            unread: 0,
            answer: 0,
            unwritten: 0,
            interest: Interest::Read,
            answered: 0,
        };
        end.take(first);
        Ok(end)
    }

    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Requests that were read completely.
    pub(super) fn answered(&self) -> u64 {
        self.answered
    }

    fn take(&mut self, request: &Request) {
        self.unread = u64::from(request.request) - request::LEN as u64;
        self.answer = request.response;
        self.len = 0;
        self.asked();
    }

    /// Begins the answer once the request is complete.
    fn asked(&mut self) {
        if self.unread == 0 && self.answer > 0 {
            self.unwritten = std::mem::take(&mut self.answer);
            self.answered += 1;
        }
    }

    /// Transfers bytes until the socket has no more data or room, or the turn is over. Returns what to wait
    /// for if that has changed.
    ///
    /// # Errors
    /// The kernel's; `UnexpectedEof` if the client has closed, `InvalidData` for bytes that are not a
    /// request.
    pub(super) fn pump(&mut self) -> io::Result<(u64, Option<Interest>)> {
        let mut turn = 0;
        while turn < TURN {
            match self.step() {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(moved) => turn += moved,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let wanted = if self.unwritten > 0 { Interest::Write } else { Interest::Read };
        let changed = self.interest != wanted;
        self.interest = wanted;
        Ok((turn, changed.then_some(wanted)))
    }

    fn step(&mut self) -> io::Result<u64> {
        if self.unwritten > 0 {
            let most = buffer().len().min(usize::try_from(self.unwritten).unwrap_or(usize::MAX));
            let written = (&self.stream).write(&buffer()[..most])? as u64;
            self.unwritten -= written;
            return Ok(written);
        }
        if self.unread > 0 {
            let most = usize::try_from(self.unread).unwrap_or(usize::MAX);
            let read = sys::discard(self.stream.as_fd(), most)? as u64;
            self.unread -= read;
            self.asked();
            return Ok(read);
        }
        let read = (&self.stream).read(&mut self.header[self.len..])?;
        self.len += read;
        if self.len == request::LEN {
            let request = Request::parse(&self.header).ok_or(ErrorKind::InvalidData)?;
            self.take(&request);
        }
        Ok(read as u64)
    }
}
