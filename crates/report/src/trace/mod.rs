//! One flow, segment by segment: as a capture for Wireshark, and as a time-sequence graph for xplot.

mod headers;
pub mod pcapng;
pub mod xpl;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::charts::{self, slug};
use crate::{Error, Folder, output};

/// A flow through one queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The queue, in its canonical form.
    pub queue: String,
    /// The flow's name in its test.
    pub flow: String,
    /// Address and port of sender and receiver. If one is IPv6, both are written as IPv6.
    pub ends: [SocketAddr; 2],
    /// Value of the MSS option on a SYN, bytes.
    pub mss: u16,
    /// Window scale (RFC 7323 section 2) of both directions, at most 14.
    pub window_scale: u8,
    /// The names of the links, by number.
    pub links: Vec<String>,
    /// The events, not necessarily sorted by time; events of the same time are in order.
    pub events: Vec<Event>,
    /// When the trace ended, if that was before the end of the run.
    pub cut_ns: Option<u64>,
}

/// An event of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, nanoseconds from the start of the load.
    pub at_ns: u64,
    /// What happened.
    pub what: What,
    /// The direction of the segment.
    pub leg: Leg,
    /// Number of the link.
    pub link: u32,
    /// The IP header's DS byte, ECN included.
    pub dsfield: u8,
    /// The segment.
    pub segment: Segment,
}

/// What happened to a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Its host sent it.
    Sent,
    /// A queue marked it CE, for this reason.
    Marked(&'static str),
    /// It was dropped or lost, for this reason.
    Dropped(&'static str),
    /// It was delivered to the other host.
    Delivered,
}

/// The direction of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leg {
    /// From the flow's sender to its receiver.
    Data,
    /// From the flow's receiver to its sender.
    Ack,
}

/// The contents of a TCP segment. Sequence numbers are stream offsets that never wrap; files have them modulo
/// 2^32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number of the first byte.
    pub seq: u64,
    /// Next byte expected from the other side.
    pub ack: u64,
    /// Payload bytes.
    pub len: u32,
    /// Receive window in bytes, after scaling.
    pub window: u32,
    /// Timestamp value (RFC 7323 section 3).
    pub ts_val: u32,
    /// Timestamp echo reply.
    pub ts_ecr: u32,
    /// SACK blocks (RFC 2018): the first byte and the one after the last, relative to `ack`.
    pub sack: [[i32; 2]; 3],
    /// How many of `sack` are valid, at most 3.
    pub sacks: u8,
    /// Flags as in the header's 14th byte.
    pub flags: u8,
    /// A retransmission.
    pub retransmitted: bool,
}

/// Flags of the TCP header (RFC 9293 section 3.1).
const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;

impl Segment {
    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Sequence number after the last byte; SYN and FIN count as one each.
    pub(crate) fn end(&self) -> u64 {
        let control = u64::from(self.has(SYN)) + u64::from(self.has(FIN));
        self.seq.wrapping_add(u64::from(self.len)).wrapping_add(control)
    }

    /// The SACK blocks as stream offsets.
    pub(crate) fn sack_blocks(&self) -> impl Iterator<Item = [u64; 2]> {
        let count = usize::from(self.sacks).min(self.sack.len());
        let offset = |edge: i32| self.ack.wrapping_add_signed(i64::from(edge));
        self.sack[..count].iter().map(move |block| block.map(offset))
    }
}

impl Trace {
    /// The events, sorted by time.
    pub(crate) fn by_time(&self) -> Vec<&Event> {
        let mut events: Vec<&Event> = self.events.iter().collect();
        events.sort_by_key(|event| event.at_ns);
        events
    }
}

/// Writes each trace into `dir`, which is created if missing: `QUEUE-FLOW.xpl`, `QUEUE-FLOW.pcapng` and a
/// picture of the first loss, `QUEUE-FLOW.svg` and, with the feature `png`, `.png`. Returns the files
/// written, in order. Each appears complete or not at all; an existing file is replaced.
///
/// # Errors
/// The first file that could not be written, with the system's cause. Files written before it remain.
pub fn write_all(traces: &[Trace], dir: impl AsRef<Path>) -> Result<Vec<PathBuf>, Error> {
    write_all_in(traces, &Folder::open_or_create(dir.as_ref())?)
}

/// [`write_all`], into the folder `name` in a folder that is held open.
///
/// # Errors
/// Those of [`write_all`].
pub fn write_all_within(traces: &[Trace], folder: &Folder, name: &str) -> Result<Vec<PathBuf>, Error> {
    folder.within(name, |folder| write_all_in(traces, folder))
}

fn write_all_in(traces: &[Trace], folder: &Folder) -> Result<Vec<PathBuf>, Error> {
    let mut done: Vec<PathBuf> = Vec::new();
    for trace in traces {
        let name = format!("{}-{}", slug(&trace.queue), slug(&trace.flow));
        let names = std::iter::once(name.clone()).chain((2..).map(|n: u64| format!("{name}-{n}")));
        let is_free = |name: &String| !done.contains(&folder.path().join(format!("{name}.xpl")));
        let Some(name) = names.into_iter().find(is_free) else { continue };
        done.push(folder.write_with(&format!("{name}.xpl"), |out| xpl::write(trace, out))?);
        done.push(folder.write_with(&format!("{name}.pcapng"), |out| pcapng::write(trace, out))?);
        done.extend(output::write_picture(&charts::sequence(trace), folder, &name)?);
    }
    Ok(done)
}
