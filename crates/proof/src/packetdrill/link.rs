//! One connection between the script and a socket: sequence numbers and timestamps of the script on one side,
//! stream offsets and the clock of the model on the other; and packets compared.

use std::collections::BTreeMap;

use goodqueue::Nanos;
use goodqueue_sim::tcp::{Cookie, EcnBytes, Flags, Options, Packet as Sent, Socket};

use super::script::{Ecn, Segment, TcpOption};

/// The clock when a script begins. It is not zero, so that no timestamp is.
pub(super) const START: Nanos = Nanos(1_000_000_000_000);

/// A connection.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) socket: Socket,
    /// The descriptor of the listening socket that it came to.
    pub(super) listener: Option<i64>,
    /// The application has it.
    pub(super) is_accepted: bool,
    /// Calls of `listen` before it began.
    pub(super) listens: u64,
    /// There is no connection: it answers one packet.
    pub(super) is_stray: bool,
    /// Sequence number of this side's SYN in the script.
    local_isn: Option<u32>,
    /// Sequence number of the peer's SYN.
    remote_isn: u32,
    /// Timestamps of this side: those of the script, and the model's.
    stamps: BTreeMap<u32, u32>,
    /// What is added to a timestamp of the script to get the model's.
    stamp_offset: Option<u32>,
}

impl Link {
    pub(super) fn new(socket: Socket, listener: Option<i64>, listens: u64) -> Link {
        Link {
            socket,
            listener,
            is_accepted: listener.is_none(),
            listens,
            is_stray: false,
            local_isn: None,
            remote_isn: 0,
            stamps: BTreeMap::new(),
            stamp_offset: None,
        }
    }

    /// Where there is no connection, numbers are those of the packet.
    pub(super) fn stray(socket: Socket, remote_isn: u32) -> Link {
        Link {
            local_isn: Some(0),
            remote_isn,
            is_accepted: true,
            is_stray: true,
            ..Link::new(socket, None, 0)
        }
    }

    /// The peer's SYN has this number.
    pub(super) fn set_remote_isn(&mut self, isn: u32) {
        self.remote_isn = isn;
    }

    /// A number of this side in the script as the socket has it.
    pub(super) fn number(&self, script: u32) -> u64 {
        unwrap(script, 0, self.socket.window().map_or(0, |window| window.snd_una))
    }

    /// A segment of the script as the socket takes it. `near` are the numbers that the peer and this side
    /// have come to.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn injected(&self, segment: &Segment, ecn: Option<Ecn>, near: (u64, u64)) -> Sent {
        // Numbers count from the SYN, but those of a SYN itself are as they are written.
        let is_syn = segment.flags & 0x02 != 0;
        let (local, remote) = if is_syn { (self.local_isn.unwrap_or(0), self.remote_isn) } else { (0, 0) };
        let mut options = Options::default();
        let ack = segment.ack.map_or(0, |ack| unwrap(ack, local, near.1));
        for option in segment.options.iter().flatten() {
            match option {
                TcpOption::Mss(mss) => options.mss = Some(*mss),
                TcpOption::Wscale(scale) => options.wscale = Some(*scale),
                TcpOption::SackOk => options.sack_ok = true,
                TcpOption::Timestamps(val, ecr) => options.timestamps = Some((*val, self.stamp(*ecr))),
                TcpOption::Sack(blocks) => {
                    for (slot, &(start, end)) in options.sack.iter_mut().zip(blocks) {
                        *slot = (unwrap(start, local, ack), unwrap(end, local, ack));
                    }
                    options.sacks = blocks.len().min(4) as u8;
                }
                TcpOption::EcnBytes(counters) => options.ecn_bytes = ecn_bytes(counters),
                TcpOption::Other(name, rest) if name == "FO" || name == "FOEXP" => {
                    options.fast_open = bytes(rest).and_then(|bytes| Cookie::new(&bytes, name == "FOEXP"));
                }
                TcpOption::Nop | TcpOption::Eol | TcpOption::Other(..) => {}
            }
        }
        Sent {
            seq: unwrap(segment.start, remote, near.0),
            ack,
            len: segment.len,
            leaves: None,
            flags: if segment.ae { Flags(segment.flags).with(Flags::AE) } else { Flags(segment.flags) },
            window: segment.win.unwrap_or(0),
            options,
            ecn: match ecn {
                None | Some(Ecn::Not) => 0,
                Some(Ecn::Ect1) => 1,
                Some(Ecn::Ect0 | Ecn::Ect01) => 2,
                Some(Ecn::Ce) => 3,
            },
        }
    }

    /// The model's timestamp for one of the script's.
    fn stamp(&self, script: u32) -> u32 {
        match (self.stamps.get(&script), self.stamp_offset) {
            (Some(&stamp), _) => stamp,
            (None, Some(offset)) if script != 0 => script.wrapping_add(offset),
            _ => script,
        }
    }

    /// A packet of the socket as the script would write it.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn written(&self, sent: &Sent) -> Segment {
        let (local, remote) =
            if sent.flags.has(Flags::SYN) { (self.local_isn.unwrap_or(0), self.remote_isn) } else { (0, 0) };
        let start = (sent.seq as u32).wrapping_add(local);
        Segment {
            ports: None,
            flags: sent.flags.0 & 0xdf,
            ae: sent.flags.has(Flags::AE),
            urg: false,
            start,
            end: start.wrapping_add(sent.len),
            len: sent.len,
            ack: sent.flags.has(Flags::ACK).then(|| (sent.ack as u32).wrapping_add(remote)),
            win: Some(sent.window),
            urgent: None,
            options: Some(self.options(sent)),
        }
    }

    /// Options in Linux's order and with its padding (`tcp_options_write`).
    #[allow(clippy::cast_possible_truncation)]
    fn options(&self, sent: &Sent) -> Vec<TcpOption> {
        let Options { mss, wscale, sack_ok, timestamps, sack, sacks, ecn_bytes, fast_open } = sent.options;
        let nops = [TcpOption::Nop, TcpOption::Nop];
        let mut list = Vec::new();
        list.extend(mss.map(TcpOption::Mss));
        if let Some((val, ecr)) = timestamps {
            list.extend(if sack_ok { vec![TcpOption::SackOk] } else { nops.to_vec() });
            list.push(TcpOption::Timestamps(val, ecr));
        }
        // Padding of the counters can be that in front of SACK blocks.
        let mut padding = 2;
        if let Some(bytes) = ecn_bytes {
            list.push(TcpOption::EcnBytes(written_counters(&bytes)));
            let (own, left) = match (bytes.fields, sacks > 0) {
                (0, true) => (0, 0),
                (0, false) => (2, 2),
                (1, true) => (1, 0),
                (1, false) => (3, 2),
                (2, _) => (0, 2),
                _ => (1, 2),
            };
            list.extend(vec![TcpOption::Nop; own]);
            padding = left;
        }
        if timestamps.is_none() && sack_ok {
            list.extend(nops.clone());
            list.push(TcpOption::SackOk);
        }
        if let Some(scale) = wscale {
            list.extend([TcpOption::Nop, TcpOption::Wscale(scale)]);
        }
        if sacks > 0 {
            list.extend(vec![TcpOption::Nop; padding]);
            let blocks = sack[..usize::from(sacks)].iter();
            list.push(TcpOption::Sack(blocks.map(|&(start, end)| (start as u32, end as u32)).collect()));
        }
        if let Some(cookie) = fast_open {
            let hex: String = cookie.bytes().iter().map(|byte| format!("{byte:02x}")).collect();
            let (name, base) = if cookie.is_experimental { ("FOEXP", 4) } else { ("FO", 2) };
            list.push(TcpOption::Other(name.to_owned(), hex));
            let len = base + cookie.bytes().len();
            list.extend(vec![TcpOption::Nop; len.next_multiple_of(4) - len]);
        }
        list
    }

    /// Compares a packet of the socket with the expected one. `tick`: microseconds of one tick of the
    /// timestamps, if their values are to be compared, and the tolerance.
    ///
    /// The error says what differs.
    pub(super) fn compare(
        &mut self,
        expected: &Segment,
        ecn: Option<Ecn>,
        sent: &Sent,
        tick: Option<(u32, i64)>,
    ) -> Result<(), String> {
        if sent.flags.has(Flags::SYN) && self.local_isn.is_none() {
            self.local_isn = Some(expected.start);
        }
        let actual = self.written(sent);
        let flags = |segment: &Segment| (segment.flags, segment.ae);
        if flags(expected) != flags(&actual) {
            return Err("the flags differ".to_owned());
        }
        if expected.start != actual.start {
            return Err("the sequence number differs".to_owned());
        }
        if expected.len != actual.len {
            return Err("the length differs".to_owned());
        }
        if expected.ack != actual.ack {
            return Err("the acknowledgement number differs".to_owned());
        }
        let is_ecn = match ecn {
            None => true,
            Some(Ecn::Not) => sent.ecn == 0,
            Some(Ecn::Ect1) => sent.ecn == 1,
            Some(Ecn::Ect0) => sent.ecn == 2,
            Some(Ecn::Ect01) => matches!(sent.ecn, 1 | 2),
            Some(Ecn::Ce) => sent.ecn == 3,
        };
        if !is_ecn {
            return Err("the ECN codepoint differs".to_owned());
        }
        if let Some(options) = &expected.options {
            self.compare_options(options, &actual, tick)?;
        }
        match expected.win {
            Some(win) if win != sent.window => Err("the window differs".to_owned()),
            _ => Ok(()),
        }
    }

    fn compare_options(
        &mut self,
        expected: &[TcpOption],
        actual: &Segment,
        tick: Option<(u32, i64)>,
    ) -> Result<(), String> {
        let actual = actual.options.as_deref().unwrap_or_default();
        if expected.len() != actual.len() {
            return Err("the TCP options differ".to_owned());
        }
        for (expected, actual) in expected.iter().zip(actual) {
            match (expected, actual) {
                (&TcpOption::Timestamps(val, ecr), &TcpOption::Timestamps(sent, echo)) => {
                    let offset = *self.stamp_offset.get_or_insert_with(|| sent.wrapping_sub(val));
                    self.stamps.insert(val, sent);
                    let off = i64::from(sent.wrapping_sub(offset).wrapping_sub(val).cast_signed());
                    if tick.is_some_and(|(tick, tolerance)| off.abs() * i64::from(tick) > tolerance) {
                        return Err(format!("the timestamp differs by {off}"));
                    }
                    if tick.is_some() && ecr != echo {
                        return Err(format!("the timestamp echo is {echo}"));
                    }
                }
                (expected, actual) if expected != actual => {
                    return Err("the TCP options differ".to_owned());
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Bytes in hexadecimal; none if the text is not that.
pub(super) fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits = hex.as_bytes();
    let is_hex = digits.len().is_multiple_of(2) && digits.iter().all(u8::is_ascii_hexdigit);
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).ok();
    if is_hex { (0..hex.len()).step_by(2).map(byte).collect() } else { None }
}

/// The counters of accurate ECN in the names of packetdrill.
fn written_counters(bytes: &EcnBytes) -> Vec<(String, u32)> {
    let name = |of: u8| ["", "e1b", "e0b", "ceb"][usize::from(of & 3)].to_owned();
    let names = EcnBytes::codepoints(bytes.is_order_1).map(name);
    names.into_iter().zip(bytes.counters).take(usize::from(bytes.fields)).collect()
}

/// The same from a script. The first name tells the order; none: the order that begins with ECT(1).
fn ecn_bytes(written: &[(String, u32)]) -> Option<EcnBytes> {
    let is_order_1 = written.first().is_none_or(|(name, _)| name == "e1b");
    let mut bytes = EcnBytes { is_order_1, fields: u8::try_from(written.len()).ok()?, ..EcnBytes::default() };
    for (slot, (_, value)) in bytes.counters.iter_mut().zip(written) {
        *slot = *value;
    }
    (written_counters(&bytes) == written).then_some(bytes)
}

/// The stream offset of a sequence number, the one nearest to `near`.
#[allow(clippy::cast_possible_truncation)]
fn unwrap(number: u32, isn: u32, near: u64) -> u64 {
    let away = number.wrapping_sub(isn).wrapping_sub(near as u32).cast_signed();
    near.saturating_add_signed(i64::from(away))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_unwrap_to_the_nearest_offset() {
        assert_eq!(unwrap(0, 0, 0), 0);
        assert_eq!(unwrap(5, u32::MAX, 3), 6);
        assert_eq!(unwrap(1, 0, 1 << 32), (1 << 32) + 1);
        assert_eq!(unwrap(u32::MAX, 0, 1 << 32), (1 << 32) - 1);
        assert_eq!(unwrap(u32::MAX, 0, 0), 0, "nothing lies before the SYN");
    }
}
