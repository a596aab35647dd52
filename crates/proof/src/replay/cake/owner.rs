//! The owner of the packets of a vector: answers what `cake` asks, notes what it gives up, and hands out
//! the recorded draws.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use goodqueue::details::{Classified, Details, Gso, MOST_OPTIONS, TcpHeader, flags};
use goodqueue::{Draws, Header, Nanos, Observer, PacketInfo, Reason};

use crate::replay::Fault;
use crate::replay::text::{Entry, Fields};

/// Layer 3 of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Network {
    V4,
    V6,
    /// IPv6 in IPv4.
    SixInFour,
    Arp,
    Other,
}

/// A packet as its record describes it.
#[derive(Clone, Debug)]
pub(super) struct Arrival {
    pub(super) id: u64,
    pub(super) len: u32,
    pub(super) truesize: u32,
    pub(super) hash: u32,
    pub(super) dsfield: u8,
    pub(super) details: Details,
    network: Network,
    is_tcp: bool,
    tcp: TcpHeader,
    /// Length of the super-packet itself, and memory of each of its segments.
    skblen: u32,
    segment_truesize: u32,
}

/// Fields of an arrival that are used once all of its fields have been read.
#[derive(Default)]
struct Rest {
    dscp: u8,
    ecn: u8,
    flow: Option<u32>,
    connection: Option<u32>,
    verdict: Option<Classified>,
    options: Vec<u8>,
    segments: Option<u16>,
    size: u32,
    headers: u32,
}

fn hex(entry: &Entry<'_>) -> Result<Vec<u8>, Fault> {
    let digits = entry.value.as_bytes();
    let byte = |pair: &[u8]| {
        let text = std::str::from_utf8(pair).ok().filter(|text| text.len() == 2);
        text.and_then(|text| u8::from_str_radix(text, 16).ok())
    };
    let bytes: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
    bytes.ok_or_else(|| Fault::at(entry.line, format!("{}: `{}` is no hex", entry.key, entry.value)))
}

/// Two numbers of 32 bits with `between` them, as bytes.
fn pair(entry: &Entry<'_>, text: &str, between: char) -> Result<Vec<u8>, Fault> {
    let (a, b) = text
        .split_once(between)
        .ok_or_else(|| Fault::at(entry.line, format!("{}: `{text}` is no pair", entry.key)))?;
    let number = |value| Entry { value, ..*entry }.number::<u32>();
    Ok([number(a)?.to_be_bytes(), number(b)?.to_be_bytes()].concat())
}

impl Rest {
    fn timestamps(&mut self, entry: &Entry<'_>) -> Result<(), Fault> {
        self.options.extend([1, 1, 8, 10]);
        self.options.extend(pair(entry, entry.value, ':')?);
        Ok(())
    }

    fn sack(&mut self, entry: &Entry<'_>) -> Result<(), Fault> {
        let blocks: Result<Vec<_>, _> = entry.value.split(',').map(|block| pair(entry, block, '-')).collect();
        let blocks = blocks?.concat();
        let length = u8::try_from(blocks.len() + 2).map_err(|_| Fault::at(entry.line, "too many blocks"))?;
        self.options.extend([1, 1, 5, length]);
        self.options.extend(blocks);
        Ok(())
    }
}

/// The fields of an arrival: some are written without their names.
pub(super) fn fields_of(mut fields: Fields<'_>) -> Result<Vec<Entry<'_>>, Fault> {
    let line = fields.line;
    let mut entries = Vec::new();
    for key in ["id", "hash", "len", "truesize", "ecn"] {
        entries.push(Entry { line, key, value: fields.text(key)? });
    }
    entries.extend(fields.entries()?);
    Ok(entries)
}

impl Arrival {
    pub(super) fn read(fields: Fields<'_>) -> Result<Arrival, Fault> {
        let line = fields.line;
        let entries = fields_of(fields)?;
        let mut arrival = Arrival {
            id: 0,
            len: 0,
            truesize: 0,
            hash: 0,
            dsfield: 0,
            details: Details::default(),
            network: Network::V4,
            is_tcp: false,
            tcp: TcpHeader {
                connection: 0,
                ack: 0,
                flags: flags::ACK,
                payload: 0,
                options: [0; MOST_OPTIONS],
                options_len: 0,
            },
            skblen: 0,
            segment_truesize: 0,
        };
        let mut rest = Rest::default();
        for entry in &entries {
            arrival.field(entry, &mut rest)?;
        }
        if rest.flow != Some(arrival.hash) {
            return Err(Fault::at(line, "flow is not the hash"));
        }
        arrival.finish(line, &rest)?;
        Ok(arrival)
    }

    /// One field of the record; an unknown one is an error.
    fn field(&mut self, entry: &Entry<'_>, rest: &mut Rest) -> Result<(), Fault> {
        let unknown = || Fault::at(entry.line, format!("{}: unknown `{}`", entry.key, entry.value));
        match entry.key {
            "id" => self.id = entry.number()?,
            "hash" => self.hash = entry.number()?,
            "len" => self.len = entry.number()?,
            "truesize" => self.truesize = entry.number()?,
            "ecn" => rest.ecn = entry.number::<u8>().ok().filter(|&ecn| ecn < 4).ok_or_else(unknown)?,
            "src" => self.details.source_hash = entry.number()?,
            "dst" => self.details.destination_hash = entry.number()?,
            "flow" => rest.flow = Some(entry.number()?),
            "dscp" => rest.dscp = entry.number::<u8>().ok().filter(|&dscp| dscp < 64).ok_or_else(unknown)?,
            "proto" => {
                self.is_tcp = match entry.value {
                    "tcp" => true,
                    "udp" | "other" => false,
                    _ => return Err(unknown()),
                }
            }
            "l3" => {
                self.network = match entry.value {
                    "4" => Network::V4,
                    "6" => Network::V6,
                    "6in4" => Network::SixInFour,
                    "arp" => Network::Arp,
                    "other" => Network::Other,
                    _ => return Err(unknown()),
                }
            }
            "off" => self.details.network_offset = entry.number()?,
            "conn" => rest.connection = Some(entry.number()?),
            "mark" => self.details.mark = entry.number()?,
            "prio" => self.details.priority = entry.number()?,
            "classid" => self.details.classified = Classified::Class(entry.number()?),
            "verdict" => {
                rest.verdict = Some(match entry.value {
                    "shot" => Classified::Shot,
                    "stolen" => Classified::Stolen,
                    _ => return Err(unknown()),
                });
            }
            "ack" => self.tcp.ack = entry.number()?,
            "flags" => {
                self.tcp.flags = entry.number::<u16>().ok().filter(|&f| f < 4096).ok_or_else(unknown)?;
            }
            "ts" => rest.timestamps(entry)?,
            "sack" => rest.sack(entry)?,
            "opt" => rest.options.extend(hex(entry)?),
            // The length of the payload follows from the others.
            "plen" => _ = entry.number::<u32>()?,
            "segs" => rest.segments = Some(entry.number()?),
            "gsosize" => rest.size = entry.number()?,
            "hdr" => rest.headers = entry.number()?,
            "skblen" => self.skblen = entry.number()?,
            "segts" => self.segment_truesize = entry.number()?,
            key => return Err(Fault::at(entry.line, format!("unknown field `{key}` of record E"))),
        }
        Ok(())
    }

    fn finish(&mut self, line: usize, rest: &Rest) -> Result<(), Fault> {
        self.details.is_arp = self.network == Network::Arp;
        let has_ip = !matches!(self.network, Network::Arp | Network::Other);
        if has_ip {
            self.dsfield = rest.dscp << 2 | rest.ecn;
        }
        self.is_tcp &= has_ip;
        if let Some(verdict) = rest.verdict {
            self.details.classified = verdict;
        }
        self.details.gso =
            rest.segments.map(|segments| Gso { segments, size: rest.size, headers: rest.headers });
        let family = u64::from(self.network != Network::V4);
        self.tcp.connection = u64::from(rest.connection.unwrap_or(self.hash)) << 1 | family;
        let padded = rest.options.len().next_multiple_of(4);
        if padded > MOST_OPTIONS {
            return Err(Fault::at(line, "more than 40 bytes of TCP options"));
        }
        self.tcp.options[..rest.options.len()].copy_from_slice(&rest.options);
        self.tcp.options_len = u8::try_from(padded).unwrap_or(0);
        Ok(())
    }

    /// Bytes in front of the payload.
    fn headers(&self) -> u32 {
        let network = match self.network {
            Network::V4 => 20,
            Network::V6 => 40,
            Network::SixInFour => 60,
            Network::Arp | Network::Other => 0,
        };
        u32::from(self.details.network_offset) + network + 20 + u32::from(self.tcp.options_len)
    }

    pub(super) fn dscp(&self) -> u8 {
        self.dsfield >> 2
    }
}

/// Bits of a cookie that number the segment, from 1; 0: the packet itself.
const SEGMENT_BITS: u32 = 17;

/// What is shared by the owner and the source of the draws: results in order, and the draws to come.
#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) results: Vec<String>,
    pub(super) draws: VecDeque<u64>,
}

/// The recorded draws, in order.
#[derive(Clone, Debug)]
pub(super) struct Recorded(pub(super) Rc<RefCell<Log>>);

impl Recorded {
    fn next(&self, most: u64) -> u32 {
        let mut log = self.0.borrow_mut();
        let draw = log.draws.pop_front().filter(|&draw| draw <= most);
        log.results.push(draw.map_or_else(|| format!("V of at most {most}"), |draw| format!("V {draw}")));
        draw.and_then(|draw| u32::try_from(draw).ok()).unwrap_or(0)
    }
}

impl Draws for Recorded {
    fn next_u32(&mut self) -> u32 {
        self.next(u32::MAX.into())
    }

    fn next_u16(&mut self) -> u16 {
        u16::try_from(self.next(u16::MAX.into())).unwrap_or(0)
    }
}

/// The owner: all packets that have arrived. A cookie is a packet's place here and the number of a segment.
pub(super) struct Owner {
    pub(super) arrivals: Vec<Arrival>,
    pub(super) log: Rc<RefCell<Log>>,
}

impl Owner {
    fn of(&self, packet: &Header) -> (&Arrival, Option<u32>) {
        let place = usize::try_from(packet.cookie >> SEGMENT_BITS).unwrap_or(usize::MAX);
        let segment = u32::try_from(packet.cookie & ((1 << SEGMENT_BITS) - 1)).unwrap_or(0);
        (&self.arrivals[place], segment.checked_sub(1))
    }

    /// The packet that arrived last.
    pub(super) fn latest(&self) -> Option<Header> {
        let arrival = self.arrivals.last()?;
        Some(Header {
            cookie: ((self.arrivals.len() - 1) as u64) << SEGMENT_BITS,
            len: arrival.len,
            truesize: arrival.truesize,
            flow_hash: arrival.hash,
            dsfield: arrival.dsfield,
        })
    }

    /// Its number in the file: `7`, of a segment `7.0`.
    pub(super) fn name(&self, packet: &Header) -> String {
        match self.of(packet) {
            (arrival, None) => arrival.id.to_string(),
            (arrival, Some(segment)) => format!("{}.{segment}", arrival.id),
        }
    }

    pub(super) fn dscp_on_arrival(&self, packet: &Header) -> u8 {
        self.of(packet).0.dscp()
    }

    fn note(&self, result: String) {
        self.log.borrow_mut().results.push(result);
    }
}

impl Observer<Header> for Owner {
    fn dropped(&mut self, _now: Nanos, packet: Header, reason: Reason) {
        // The format's word for what goes because its tin does.
        let word = if reason == Reason::Change { "clear" } else { reason.name() };
        self.note(format!("X {} {word}", self.name(&packet)));
    }

    fn marked(&mut self, _now: Nanos, packet: &Header, _reason: Reason) {
        self.note(format!("M {}", self.name(packet)));
    }
}

impl PacketInfo<Header> for Owner {
    fn details(&self, packet: &Header) -> Details {
        match self.of(packet) {
            (arrival, None) => arrival.details,
            (arrival, Some(_)) => Details { gso: None, ..arrival.details },
        }
    }

    fn tcp(&self, packet: &Header) -> Option<TcpHeader> {
        let (arrival, segment) = self.of(packet);
        if !arrival.is_tcp {
            return None;
        }
        let mut tcp = arrival.tcp;
        let len = match (arrival.details.gso, segment) {
            (Some(_), None) => arrival.skblen,
            _ => packet.len,
        };
        tcp.payload = len.saturating_sub(arrival.headers());
        if let (Some(gso), Some(segment)) = (arrival.details.gso, segment) {
            if segment + 1 < u32::from(gso.segments) {
                tcp.flags &= !(flags::FIN | flags::PSH);
            }
            if segment > 0 {
                tcp.flags &= !flags::CWR;
            }
        }
        Some(tcp)
    }

    fn segment(&mut self, packet: &Header, index: u16) -> Option<Header> {
        let (arrival, _) = self.of(packet);
        let gso = arrival.details.gso?;
        let payload = arrival.skblen.checked_sub(gso.headers)?;
        let own = payload.checked_sub(u32::from(index) * gso.size)?.min(gso.size);
        Some(Header {
            cookie: packet.cookie + 1 + u64::from(index),
            len: gso.headers + own,
            truesize: arrival.segment_truesize,
            ..*packet
        })
    }
}
