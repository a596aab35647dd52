//! Files of arrivals: when flows come and, if the file says so, how many bytes each has.
//!
//! * A table: a line for each flow with the time in seconds and, after a comma, its bytes. A first line
//!   without numbers is a heading; empty lines and text after `#` are ignored.
//! * A Mahimahi trace (name `*.trace`): a line for each flow with the time in whole milliseconds.
//! * A capture (pcap): each direction of a conversation over TCP or UDP that carries payload is a flow. It
//!   starts with its first packet and has the payload of all its packets. Times count from the first packet
//!   of the capture.

use std::collections::BTreeMap;

use goodqueue::Span;

/// Most flows of a file.
const MOST: usize = 100_000;

/// The arrival of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrival {
    /// When, from the beginning of the file's time.
    pub at: Span,
    /// Its size in bytes, at least 1; `None`: the file does not say.
    pub bytes: Option<u64>,
}

/// Reads the content of a file called `name`. The arrivals are in order of time. Either all have a size or
/// none has.
///
/// # Errors
/// The line or packet that is wrong, why, and what would be right.
///
/// ```
/// use goodqueue_experiment::arrivals;
///
/// let flows = arrivals::read("flows.csv", b"time_s,bytes\n0.5,1000\n0.25,20000\n")?;
/// assert_eq!((flows[0].at.as_millis_f64(), flows[0].bytes), (250.0, Some(20_000)));
/// # Ok::<(), String>(())
/// ```
pub fn read(name: &str, content: &[u8]) -> Result<Vec<Arrival>, String> {
    let mut arrivals = match content {
        [0x0a, 0x0d, 0x0d, 0x0a, ..] => {
            return Err("a capture in the form pcapng; `editcap -F pcap OLD NEW` makes a pcap of it".into());
        }
        _ => match Order::of(content) {
            Some(order) => of_capture(content, order)?,
            None => of_text(name, content)?,
        },
    };
    if arrivals.is_empty() {
        return Err("no flow comes in it".into());
    }
    arrivals.sort_unstable();
    Ok(arrivals)
}

fn of_text(name: &str, content: &[u8]) -> Result<Vec<Arrival>, String> {
    let text = std::str::from_utf8(content).map_err(|_| "neither text nor a capture (pcap)".to_owned())?;
    let is_trace =
        std::path::Path::new(name).extension().is_some_and(|end| end.eq_ignore_ascii_case("trace"));
    let mut arrivals: Vec<Arrival> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() || number == 1 && !line.bytes().any(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let wrong = |why: String| format!("line {number}: {why}");
        let arrival = if is_trace { of_trace_line(line) } else { of_table_line(line) }.map_err(wrong)?;
        if arrivals.first().is_some_and(|first| first.bytes.is_some() != arrival.bytes.is_some()) {
            return Err(wrong("either all lines have bytes or none has".into()));
        }
        if arrivals.len() == MOST {
            return Err(wrong(format!("more than {MOST} flows")));
        }
        arrivals.push(arrival);
    }
    Ok(arrivals)
}

fn of_trace_line(line: &str) -> Result<Arrival, String> {
    let millis = line.parse::<u64>().ok().filter(|&millis| millis <= LONGEST_S * 1000);
    let millis = millis.ok_or_else(|| format!("`{}` is not a time in whole ms", line.escape_debug()))?;
    Ok(Arrival { at: Span::from_millis(millis), bytes: None })
}

/// The longest time, seconds: a day.
const LONGEST_S: u64 = 86_400;

fn of_table_line(line: &str) -> Result<Arrival, String> {
    let mut words = line.split(',').map(str::trim);
    let time = words.next().unwrap_or_default();
    let seconds = time.parse::<f64>().ok().filter(|seconds| (0.0..=LONGEST_S as f64).contains(seconds));
    let seconds =
        seconds.ok_or_else(|| format!("`{}` is not a time in s, 0 to {LONGEST_S}", time.escape_debug()))?;
    let size = |word: &str| {
        let size = word.parse::<u64>().ok().filter(|&bytes| bytes > 0);
        size.ok_or_else(|| format!("`{}` is not a number of bytes, at least 1", word.escape_debug()))
    };
    let bytes = words.next().map(size).transpose()?;
    match words.next() {
        None => Ok(Arrival { at: Span((seconds * 1e9).round() as u64), bytes }),
        Some(more) => {
            Err(format!("`{}` is too much: a time and bytes, as in 0.25,1000", more.escape_debug()))
        }
    }
}

/// How the numbers of a capture are written.
#[derive(Clone, Copy, Debug)]
struct Order {
    is_big: bool,
    /// The unit of the second part of a time: 1000 ns or 1 ns.
    unit_ns: u64,
}

impl Order {
    /// From the magic number (draft-ietf-opsawg-pcap, section 4); `None` if it is not a capture.
    fn of(content: &[u8]) -> Option<Order> {
        let (is_big, unit_ns) = match content.first_chunk::<4>()? {
            [0xa1, 0xb2, 0xc3, 0xd4] => (true, 1000),
            [0xd4, 0xc3, 0xb2, 0xa1] => (false, 1000),
            [0xa1, 0xb2, 0x3c, 0x4d] => (true, 1),
            [0x4d, 0x3c, 0xb2, 0xa1] => (false, 1),
            _ => return None,
        };
        Some(Order { is_big, unit_ns })
    }

    fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let word = bytes.get(at..)?.first_chunk::<4>()?;
        Some(if self.is_big { u32::from_be_bytes(*word) } else { u32::from_le_bytes(*word) })
    }
}

/// Length of the header of a capture, and of that of a packet, bytes.
const FILE_HEADER: usize = 24;
const PACKET_HEADER: usize = 16;
/// More than the longest packet that a capture can have, bytes (libpcap's `MAXIMUM_SNAPLEN`).
const LONGEST_PACKET: u32 = 262_144;

fn of_capture(content: &[u8], order: Order) -> Result<Vec<Arrival>, String> {
    let link = order.u32(content, 20).ok_or("a capture that ends in its header")? & 0x0fff_ffff;
    // Bytes in front of the IP header, and how to find the protocol (tcpdump.org/linktypes.html).
    let ip_at = |packet: &[u8]| match link {
        0 => Some(4),
        1 => ethernet(packet, 12),
        101 | 228 | 229 => Some(0),
        113 => ethernet(packet, 14),
        276 => match packet {
            [0x08, 0x00, ..] | [0x86, 0xdd, ..] => Some(20),
            _ => None,
        },
        _ => None,
    };
    if !matches!(link, 0 | 1 | 101 | 113 | 228 | 229 | 276) {
        return Err(format!(
            "a capture of link type {link}: Ethernet (1), raw IP (101) and Linux's cooked ones (113, 276) can be read"
        ));
    }
    let mut at = FILE_HEADER;
    let mut first: Option<u64> = None;
    let mut places: BTreeMap<Ends, usize> = BTreeMap::new();
    let mut arrivals: Vec<Arrival> = Vec::new();
    for number in 1.. {
        if at >= content.len() {
            break;
        }
        let cut = || format!("packet {number}: the file ends within it");
        let word = |place: usize| order.u32(content, at + place).ok_or_else(cut);
        let (seconds, part, kept) = (word(0)?, word(4)?, word(8)?);
        word(12)?;
        if kept > LONGEST_PACKET {
            return Err(format!("packet {number}: {kept} bytes: the maximum is {LONGEST_PACKET}"));
        }
        let begin = at + PACKET_HEADER;
        at = begin + kept as usize;
        let packet = content.get(begin..at).ok_or_else(cut)?;
        let time = u64::from(seconds) * 1_000_000_000 + u64::from(part) * order.unit_ns;
        let since = time.saturating_sub(*first.get_or_insert(time));
        if since > LONGEST_S * 1_000_000_000 {
            return Err(format!("packet {number}: it comes more than {LONGEST_S} s after the first"));
        }
        let found = ip_at(packet).and_then(|ip| payload(packet.get(ip..)?));
        let Some((ends, bytes)) = found.filter(|&(_, bytes)| bytes > 0) else { continue };
        let place = *places.entry(ends).or_insert(arrivals.len());
        if place == MOST {
            return Err(format!("packet {number}: more than {MOST} flows"));
        }
        if place == arrivals.len() {
            arrivals.push(Arrival { at: Span(since), bytes: Some(0) });
        }
        arrivals[place].bytes = arrivals[place].bytes.map(|before| before.saturating_add(bytes));
    }
    Ok(arrivals)
}

/// Where the IP header begins after an `EtherType` at `at`, past VLAN tags (IEEE 802.1Q); `None` if there is
/// none.
fn ethernet(packet: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match packet.get(at..)?.first_chunk::<2>()? {
            [0x81, 0x00] | [0x88, 0xa8] => at += 4,
            [0x08, 0x00] | [0x86, 0xdd] => return Some(at + 2),
            _ => return None,
        }
    }
}

/// Source, destination, protocol and ports of a packet's direction.
type Ends = ([u8; 32], u8, [u8; 4]);

/// TCP and UDP.
const TCP: u8 = 6;
const UDP: u8 = 17;

/// The direction that a packet belongs to, and its payload bytes according to its headers, however much of it
/// the capture has. `None` if it is not TCP or UDP, and for all fragments but the first.
fn payload(packet: &[u8]) -> Option<(Ends, u64)> {
    let mut addresses = [0; 32];
    let u16_at = |bytes: &[u8], at: usize| Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk::<2>()?));
    let (protocol, header, total) = match packet.first()? >> 4 {
        4 => {
            addresses[..8].copy_from_slice(packet.get(12..20)?);
            if u16_at(packet, 6)? & 0x1fff != 0 {
                return None;
            }
            (*packet.get(9)?, usize::from(packet[0] & 0xf) * 4, usize::from(u16_at(packet, 2)?))
        }
        6 => {
            addresses.copy_from_slice(packet.get(8..40)?);
            (*packet.get(6)?, 40, 40 + usize::from(u16_at(packet, 4)?))
        }
        _ => return None,
    };
    let segment = packet.get(header..)?;
    let own = match protocol {
        TCP => usize::from(segment.get(12)? >> 4) * 4,
        UDP => 8,
        _ => return None,
    };
    let ports = *segment.first_chunk::<4>()?;
    Some(((addresses, protocol, ports), total.saturating_sub(header + own) as u64))
}

#[cfg(test)]
#[path = "arrivals_tests.rs"]
mod tests;
