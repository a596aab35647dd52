//! One end of a TCP flow, on the client or the server.

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::OnceLock;

use super::sys::{self, AsFd, Interest};
use crate::{End, Sample, TcpSample};

/// Length of the data that a sender writes repeatedly: pseudo-random bytes, so that no link compresses them.
const BUFFER_LEN: usize = 256 * 1024;
/// Most bytes that one flow transfers before the others get their turn.
const TURN: usize = 128 * 1024;

pub(super) fn buffer() -> &'static [u8] {
    static BUFFER: OnceLock<Vec<u8>> = OnceLock::new();
    BUFFER.get_or_init(|| {
        // xorshift64: any nonzero seed.
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let words = std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()
        });
        words.take(BUFFER_LEN / 8).flatten().collect()
    })
}

/// A connected end, sender or receiver.
#[derive(Debug)]
pub(super) struct FlowEnd {
    pub(super) flow: u32,
    pub(super) end: End,
    stream: TcpStream,
    total: u64,
    in_step: u64,
    offset: usize,
}

impl FlowEnd {
    pub(super) fn new(flow: u32, end: End, stream: TcpStream) -> FlowEnd {
        FlowEnd { flow, end, stream, total: 0, in_step: 0, offset: 0 }
    }

    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    pub(super) fn interest(&self) -> Interest {
        match self.end {
            End::Sender => Interest::Write,
            End::Receiver => Interest::Read,
        }
    }

    /// Transfers bytes until the socket has no more data or room, or the turn is over. Returns how many.
    ///
    /// # Errors
    /// The kernel's, and `UnexpectedEof` if the other end has closed.
    pub(super) fn pump(&mut self) -> io::Result<usize> {
        let mut turn = 0;
        while turn < TURN {
            let moved = match self.end {
                End::Sender => self.write(),
                End::Receiver => sys::discard(self.stream.as_fd(), TURN),
            };
            match moved {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(moved) => {
                    turn += moved;
                    self.total += moved as u64;
                    self.in_step += moved as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(turn)
    }

    fn write(&mut self) -> io::Result<usize> {
        let written = (&self.stream).write(&buffer()[self.offset..])?;
        self.offset = (self.offset + written) % BUFFER_LEN;
        Ok(written)
    }

    /// The sample of the step that ends at `t`.
    pub(super) fn tick(&mut self, t: i64, now: i64) -> Option<Sample> {
        let flow = self.flow;
        let bytes = std::mem::take(&mut self.in_step);
        match self.end {
            End::Receiver => Some(Sample::Received { flow, t, bytes }),
            End::Sender => {
                let info = sys::tcp_info(self.stream.as_fd()).ok()?;
                Some(Sample::Tcp { flow, t: now, info: parse_tcp_info(&info) })
            }
        }
    }

    /// Aborts the flow. Bytes received since the last step count in the step that ends at `t`.
    pub(super) fn finish(self, t: i64, now: i64, error: Option<String>, sink: &mut dyn FnMut(Sample)) {
        if self.end == End::Receiver && self.in_step > 0 {
            sink(Sample::Received { flow: self.flow, t, bytes: self.in_step });
        }
        let (flow, end, bytes_total) = (self.flow, self.end, self.total);
        sink(Sample::FlowEnd { flow, t: now, end, bytes_total, error });
        // This fails if the peer closed first; then there is nothing left to abort.
        let _ = sys::abort_on_close(self.stream.as_fd());
    }
}

/// In `tcpi_options`: the connection negotiated ECN (Linux `include/uapi/linux/tcp.h`).
const TCPI_OPT_ECN: u8 = 8;

/// Linux `struct tcp_info` (`include/uapi/linux/tcp.h`, fields up to `tcpi_delivered_ce`, Linux 4.18).
pub(super) fn parse_tcp_info(info: &[u8; 256]) -> TcpSample {
    let int = |at: usize| u32::from_ne_bytes([info[at], info[at + 1], info[at + 2], info[at + 3]]);
    let long = |at: usize| {
        let mut out = [0; 8];
        out.copy_from_slice(&info[at..at + 8]);
        u64::from_ne_bytes(out)
    };
    TcpSample {
        ecn: Some(info[5] & TCPI_OPT_ECN != 0),
        app_limited: info[7] & 1 != 0,
        unacked_segments: int(24),
        srtt_us: int(68),
        ssthresh_segments: int(76),
        cwnd_segments: int(80),
        retransmits: int(100),
        pacing_rate: long(104),
        min_rtt_us: int(148),
        delivery_rate: long(160),
        busy_us: long(168),
        rwnd_limited_us: long(176),
        sndbuf_limited_us: long(184),
        delivered_ce: int(196),
    }
}

/// The grid of steps: all flows of a loop are sampled at the same times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    step: i64,
    next: i64,
}

impl Grid {
    /// The grid of multiples of `step`, from the first one after `t`.
    pub(super) fn after(t: i64, step: i64) -> Grid {
        Grid { step, next: (t.div_euclid(step) + 1) * step }
    }

    pub(super) fn step(&self) -> i64 {
        self.step
    }

    /// The end of the present step.
    pub(super) fn next(&self) -> i64 {
        self.next
    }

    /// The end of a step that has passed by `t`, one at a time.
    pub(super) fn pass(&mut self, t: i64) -> Option<i64> {
        let passed = self.next;
        if t < passed {
            return None;
        }
        self.next += self.step;
        Some(passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_has_every_multiple_once() {
        let mut grid = Grid::after(-450, 200);
        assert_eq!(grid.next(), -400);
        assert_eq!(grid.pass(-401), None);
        assert_eq!([grid.pass(-150), grid.pass(-150), grid.pass(-150)], [Some(-400), Some(-200), None]);
        assert_eq!(Grid::after(400, 200).next(), 600);
    }

    #[test]
    fn the_buffer_does_not_compress() {
        let mut counts = [0usize; 256];
        buffer().iter().for_each(|&b| counts[usize::from(b)] += 1);
        let expected = BUFFER_LEN / 256;
        assert!(counts.iter().all(|&n| n > expected / 2 && n < expected * 2));
    }
}
