//! A shaper of the kernel whose truth is known: captures with the kernel's times in front of it and behind
//! it, in one namespace.
//!
//! ```text
//!   client ── engine (delay) ── srv [ server's namespace ] sbeh ── beh  the tools' servers
//! ```
//!
//! The namespace of the lab's server forwards. Its interface to the host behind has the shaper of the upload,
//! that to the engine the shaper of the download. The kernel shows a capture a packet as it comes in, and as
//! it leaves the qdisc (Linux `net/core/dev.c:xmit_one`).

use std::collections::{HashMap, VecDeque};
use std::io::{BufReader, ErrorKind, Read};
use std::net::IpAddr;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use goodqueue::Nanos;
use goodqueue::details::flags;
use goodqueue_wire::lab::{SERVER_INTERFACE, SERVER_TO_BEHIND};
use goodqueue_wire::{Lab, LabSpec, Netns};

use crate::clock::wall_ahead;
use crate::line::{Acked, Bottleneck, Line, Passed};

/// The interface of the shaper of each direction, up and down.
const SHAPED: [&str; 2] = [SERVER_TO_BEHIND, SERVER_INTERFACE];
/// Bytes of a frame that are captured: all headers, and of a probe also its number.
const SNAP: &str = "96";
const ETHERNET: usize = 14;
const TCP: u8 = 6;
/// Blocks of pcapng: interface description, interface statistics, enhanced packet.
const DESCRIPTION: u32 = 1;
const STATISTICS: u32 = 5;
const PACKET: u32 = 6;

/// The shapers, with a capture that runs.
pub(crate) struct Kernel {
    behind: Netns,
    dumpcap: Child,
    reader: Option<JoinHandle<Result<Capture, String>>>,
}

impl Kernel {
    /// Puts a host behind the lab's server, and the shapers in front of it; `None` if the path has none.
    pub(crate) fn new(line: &Line, lab: &Lab, spec: &LabSpec) -> Option<Kernel> {
        let commands = |way: usize| {
            let (shaped, rate) = (SHAPED[way], line.rate(way).0);
            match line.queue {
                Bottleneck::Ours(_) => Vec::new(),
                Bottleneck::Tbf(limit) => {
                    vec![format!("qdisc add dev {shaped} root tbf rate {rate}bit burst 5000b limit {limit}b")]
                }
                Bottleneck::Htb(limit) => vec![
                    format!("qdisc add dev {shaped} root handle 1: htb default 1"),
                    format!("class add dev {shaped} parent 1: classid 1:1 htb rate {rate}bit"),
                    format!("qdisc add dev {shaped} parent 1:1 pfifo limit {limit}"),
                ],
            }
        };
        if matches!(line.queue, Bottleneck::Ours(_)) {
            return None;
        }
        let behind = lab.host_behind(spec).expect("a host behind the server");
        for words in [0, 1].into_iter().flat_map(commands) {
            let mut tc = Command::new("tc");
            tc.args(words.split(' '));
            let status = lab.server().run(|| tc.status()).expect("a namespace").expect("tc");
            assert!(status.success(), "tc {words}: {status}");
        }
        let mut command = Command::new("dumpcap");
        command.args(["-q", "-n", "-p", "-B", "64", "-s", SNAP, "-w", "-"]);
        // With two interfaces it has a queue of its own, of 1000 packets if nobody says more.
        command.args(["-N", "1000000", "-C", "1000000000"]);
        command.args(["-i", SERVER_INTERFACE, "-i", SERVER_TO_BEHIND]);
        // It ends also if this program is killed. A load takes much less.
        command.args(["-a", "duration:120"]);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut dumpcap = lab.server().run(|| command.spawn()).expect("a namespace").expect("dumpcap");
        let output = dumpcap.stdout.take().expect("piped");
        let (ready, is_ready) = channel();
        let reader = std::thread::spawn(move || Capture::read(output, &ready));
        is_ready.recv_timeout(Duration::from_secs(10)).expect("dumpcap starts");
        Some(Kernel { behind, dumpcap, reader: Some(reader) })
    }

    /// The host behind the shapers.
    pub(crate) fn behind(&self) -> &Netns {
        &self.behind
    }

    /// What has passed the shapers, up and down.
    ///
    /// # Errors
    /// The capture has missed packets.
    pub(crate) fn stop(mut self) -> Result<[Vec<Passed>; 2], String> {
        // Packets that are on their way.
        std::thread::sleep(Duration::from_millis(500));
        if let Some(status) = self.dumpcap.try_wait().expect("a child") {
            return Err(format!("the capture has ended before the load: {status}"));
        }
        let id = self.dumpcap.id().to_string();
        let status = Command::new("kill").args(["-INT", &id]).status().expect("kill");
        assert!(status.success(), "kill -INT {id}: {status}");
        let reader = self.reader.take().expect("one reader");
        reader.join().expect("the reader ends")?.passed()
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        // After `stop` it ends by itself, and has nothing more to say.
        let _ = self.dumpcap.kill();
        let _ = self.dumpcap.wait();
    }
}

/// What of a packet does not change when it is forwarded: all but the Ethernet header, the TTL and the
/// checksum of the IP header.
fn unchanged(frame: &[u8]) -> Vec<u8> {
    let mut bytes = frame.get(ETHERNET..).unwrap_or_default().to_vec();
    for at in [8, 10, 11] {
        if let Some(byte) = bytes.get_mut(at) {
            *byte = 0;
        }
    }
    bytes
}

/// The TCP header of an IPv4 frame.
fn acked(frame: &[u8]) -> Option<Acked> {
    let packet = frame.get(ETHERNET..)?;
    if *packet.get(9)? != TCP {
        return None;
    }
    let segment = packet.get(usize::from(packet[0] & 0x0f) * 4..)?;
    let int = |at: usize| segment.get(at..)?.first_chunk().map(|&four| u32::from_be_bytes(four));
    let syn = u16::from(*segment.get(13)?) & flags::SYN != 0;
    // The ports: there are two hosts.
    Some(Acked { connection: int(0)?.into(), ack: int(8)?, syn })
}

/// A packet as it was seen on one interface.
struct Sight {
    interface: usize,
    /// Nanoseconds of the wall clock.
    at: i64,
    /// Length with the Ethernet header.
    len: u32,
    /// Its first bytes.
    frame: Vec<u8>,
}

/// A capture on two interfaces: that to the engine, and that to the host behind.
#[derive(Default)]
struct Capture {
    /// Units of time in a second, by interface.
    units: Vec<i128>,
    sights: Vec<Sight>,
    /// Packets that the capture has missed.
    missed: u64,
}

impl Capture {
    /// Reads pcapng until it ends; sends once both interfaces are open.
    fn read(output: ChildStdout, ready: &Sender<()>) -> Result<Capture, String> {
        let mut input = BufReader::new(output);
        let mut capture = Capture::default();
        let mut head = [0; 8];
        loop {
            match input.read_exact(&mut head) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(capture),
                Err(error) => return Err(error.to_string()),
            }
            let int = |at: usize| u32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
            let rest = (int(4) as usize).checked_sub(8).ok_or("a block without a length")?;
            let mut body = vec![0; rest];
            input.read_exact(&mut body).map_err(|error| error.to_string())?;
            capture.block(int(0), &body).ok_or("a block that is too short")?;
            if int(0) == DESCRIPTION && capture.units.len() == SHAPED.len() {
                let _ = ready.send(());
            }
        }
    }

    /// Takes in a block of the capture, which is of this machine and so in its order of bytes.
    fn block(&mut self, kind: u32, body: &[u8]) -> Option<()> {
        let int = |at: usize| body.get(at..)?.first_chunk().map(|&four| u32::from_ne_bytes(four));
        match kind {
            DESCRIPTION => {
                let exponent = option(body.get(8..)?, 9).and_then(|value| value.first().copied());
                self.units.push(10_i128.pow(exponent.unwrap_or(6).into()));
            }
            STATISTICS => {
                let dropped = option(body.get(12..)?, 5)?;
                self.missed += u64::from_ne_bytes(*dropped.first_chunk()?);
            }
            PACKET => {
                let interface = int(0)? as usize;
                let time = i128::from(int(4)?) << 32 | i128::from(int(8)?);
                let frame = body.get(20..20 + int(12)? as usize)?.to_vec();
                let at = (time * 1_000_000_000 / self.units.get(interface)?) as i64;
                self.sights.push(Sight { interface, at, len: int(16)?, frame });
            }
            _ => {}
        }
        Some(())
    }

    /// The two sights of each packet together, up and down, in the order of arrivals.
    fn passed(mut self) -> Result<[Vec<Passed>; 2], String> {
        if self.missed > 0 {
            return Err(format!("the capture has missed {} packets", self.missed));
        }
        let ahead = wall_ahead();
        let mut passed = [Vec::new(), Vec::new()];
        // The packets inside, by what does not change, with their places.
        let mut inside: [HashMap<Vec<u8>, VecDeque<usize>>; 2] = Default::default();
        let mut unknown = 0;
        self.sights.sort_by_key(|sight| sight.at);
        for Sight { interface, at, len, frame } in &self.sights {
            let Some(way) = way(frame) else { continue };
            let inside = inside[way].entry(unchanged(frame)).or_default();
            let now = Nanos((at - ahead).cast_unsigned());
            if *interface == way {
                inside.push_back(passed[way].len());
                passed[way].push(Passed { arrived: now, left: None, len: *len, tcp: acked(frame) });
            } else if let Some(place) = inside.pop_front() {
                passed[way][place].left = Some(now);
            } else {
                unknown += 1;
            }
        }
        if unknown > 0 {
            return Err(format!("the capture has not seen {unknown} packets come that it has seen leave"));
        }
        Ok(passed)
    }
}

/// The value of an option of a block.
fn option(mut options: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let short = |at: usize| options.get(at..)?.first_chunk().map(|&two| u16::from_ne_bytes(two));
        let (code, len) = (short(0)?, usize::from(short(2)?));
        if code == wanted {
            return options.get(4..4 + len);
        }
        options = options.get(4 + len.next_multiple_of(4)..).filter(|_| code != 0)?;
    }
}

/// The direction of an IPv4 frame, which comes in by the interface of the same number.
fn way(frame: &[u8]) -> Option<usize> {
    let is_ipv4 = frame.get(12..14)? == [8, 0];
    let source: [u8; 4] = *frame.get(ETHERNET + 12..)?.first_chunk()?;
    is_ipv4.then(|| usize::from(IpAddr::from(source) == Lab::behind_address()))
}
