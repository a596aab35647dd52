//! The server's end of a connection for web data: reads a request, answers it, reads the next.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;

use super::flow::buffer;
use super::request::{self, Request};
use super::sys::{self, Interest};

/// How much one connection moves before the others have their turn.
const TURN: u64 = 128 * 1024;

/// A connection on which requests come one after another.
#[derive(Debug)]
pub(super) struct WebEnd {
    stream: TcpStream,
    header: [u8; request::LEN],
    len: usize,
    /// Bytes of the request that are still to come, and of the answer to it.
    unread: u64,
    answer: u64,
    /// Bytes of the answer that are still to be written.
    unwritten: u64,
    interest: Interest,
    answered: u64,
}

impl WebEnd {
    /// The connection whose first request is `first`, its header read.
    ///
    /// # Errors
    /// The kernel's, where it does not have the congestion control.
    pub(super) fn new(stream: TcpStream, first: &Request) -> io::Result<WebEnd> {
        sys::set_cc(stream.as_fd(), &first.cc)?;
        // As servers do: the last part of an answer does not wait for the acknowledgement of the one before.
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

    /// Requests that were read whole.
    pub(super) fn answered(&self) -> u64 {
        self.answered
    }

    fn take(&mut self, request: &Request) {
        self.unread = u64::from(request.request) - request::LEN as u64;
        self.answer = request.response;
        self.len = 0;
        self.asked();
    }

    /// Begins to answer once the request is whole.
    fn asked(&mut self) {
        if self.unread == 0 && self.answer > 0 {
            self.unwritten = std::mem::take(&mut self.answer);
            self.answered += 1;
        }
    }

    /// Moves bytes until the socket has no more of them or of room, or the turn is over. Says what to wait
    /// for, where that has changed.
    ///
    /// # Errors
    /// The kernel's; `UnexpectedEof` where the client has closed, `InvalidData` for what is no request.
    pub(super) fn pump(&mut self) -> io::Result<Option<Interest>> {
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
        Ok(changed.then_some(wanted))
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
