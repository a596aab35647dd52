//! A segment of an established connection (RFC 9293 section 3.10.7.4; Linux 6.1 `tcp_validate_incoming`,
//! `tcp_rcv_established`, `tcp_rcv_state_process`).

use super::{Packet, Socket, SocketError, State, TIMEWAIT, Urgent, clock};
use crate::tcp::config::ts_before;
use crate::tcp::segment::{Flags, Header, Sack};
use goodqueue::Nanos;

/// ECN codepoint of Congestion Experienced.
const CE: u8 = 3;

impl Socket {
    /// Takes a packet from the peer.
    pub fn on_packet(&mut self, now: Nanos, packet: &Packet) {
        self.counts.segs_in += 1;
        self.is_held = false;
        match self.state {
            State::SynSent | State::SynRecv => self.on_handshake(now, packet),
            State::Close => self.answer_stray(packet),
            State::TimeWait => self.on_time_wait(now, packet),
            _ => self.on_synchronized(now, packet),
        }
    }

    /// There is no connection: a reset, unless the packet is one (RFC 9293 section 3.10.7.1).
    fn answer_stray(&mut self, packet: &Packet) {
        if !packet.flags.has(Flags::RST) {
            self.urgent.push_back(reset_for(packet));
        }
    }

    /// A late segment after both sides have closed: the peer's FIN is acknowledged again.
    fn on_time_wait(&mut self, now: Nanos, packet: &Packet) {
        if packet.flags.has(Flags::RST) {
            self.end(None);
        } else if packet.end() != packet.seq || packet.seq != self.rcv_nxt() {
            if self.may_answer(now, packet) {
                self.urgent.push_back(Urgent::Ack);
            }
            if packet.flags.has(Flags::FIN) {
                self.expires = now + TIMEWAIT;
            }
        }
    }

    fn on_synchronized(&mut self, now: Nanos, packet: &Packet) {
        let Some(halves) = &mut self.halves else { return };
        let flags = packet.flags;
        let ts_val = packet.options.timestamps.filter(|_| self.agreed.timestamps).map(|(val, _)| val);
        let mut header = header(packet, self.agreed.scales.map_or(0, |scales| scales.0));
        if ts_val.is_none() {
            // Without a timestamp, it is as new as the newest, and echoes what was never sent.
            (header.ts_val, header.ts_ecr) = (halves.rx.ts_recent(), clock(now).wrapping_add(1));
        }
        halves.rx.set_srtt(halves.tx.window().srtt);
        // RFC 7323 section 5.3: protection against wrapped sequence numbers.
        if ts_val.is_some_and(|val| ts_before(val, halves.rx.ts_recent()))
            && !flags.has(Flags::RST)
            && !is_disordered(packet, halves.rx.rcv_nxt(), halves.tx.window().snd_una)
        {
            self.answer_unacceptable(now, packet, &header);
            return;
        }
        let (wup, open) = halves.rx.offered();
        let nxt = halves.rx.rcv_nxt();
        let limit = nxt + u64::from(open);
        // A packet that only ends beyond the window is taken if no other one waits (Linux since 7.0).
        let is_too_long = packet.seq + u64::from(packet.len) > limit && halves.rx.readable() > 0;
        if packet.end() < wup || packet.seq > limit || is_too_long {
            self.counts.beyond_window += u64::from(packet.end() >= wup);
            if !flags.has(Flags::RST) {
                self.answer_unacceptable(now, packet, &header);
            } else if packet.seq + 1 == nxt && self.has_received_fin() {
                self.reset();
            }
            return;
        }
        if flags.has(Flags::RST) {
            // RFC 5961 section 3.2.
            if packet.seq == nxt {
                self.reset();
            } else {
                self.challenge(now, Urgent::Ack);
            }
            return;
        }
        if flags.has(Flags::SYN) {
            // RFC 5961 section 4.2.
            let option = packet.options.ecn_bytes.as_ref();
            let mut answer = Urgent::Ack;
            if let Some(ecn) = &mut halves.tx.accecn {
                ecn.granted_again(packet.ecn, option);
                answer = Urgent::Reflection;
            }
            self.challenge(now, answer);
            return;
        }
        if !flags.has(Flags::ACK) {
            return;
        }
        if packet.len > 0 {
            self.counts.data_segs_in += 1;
        }
        if let Some(ecn) = &mut halves.tx.accecn {
            let is_newer = ts_val.is_some_and(|val| ts_before(halves.rx.ts_recent(), val));
            ecn.note(packet.options.ecn_bytes, is_newer, self.counts.bytes_sent);
        }
        if self.take_ack(now, packet, &header) {
            self.count_ecn(packet);
            self.take_data(now, packet, &header);
            self.hasten_feedback();
        }
    }

    /// The answer to a segment that is out of window, or has an old timestamp
    /// (`tcp_input.c:tcp_validate_incoming`).
    fn answer_unacceptable(&mut self, now: Nanos, packet: &Packet, header: &Header) {
        if packet.flags.has(Flags::SYN) {
            self.challenge(now, Urgent::Ack);
        } else if self.may_answer(now, packet) {
            if let Some(halves) = &mut self.halves {
                halves.rx.answer_duplicate(header, self.agreed.sack);
            }
            self.urgent.push_back(Urgent::Ack);
        }
    }

    /// Data of a SYN (Fast Open).
    pub(super) fn take_syn_data(&mut self, data: &Packet) {
        if let Some(halves) = &mut self.halves {
            halves.rx.take_syn_data(&header(data, 0));
        }
    }

    /// The FIN of a SYN-ACK.
    pub(super) fn take_fin(&mut self, now: Nanos, fin: &Packet) {
        self.take_data(now, fin, &header(fin, 0));
    }

    /// Accurate ECN counts every packet that is accepted.
    fn count_ecn(&mut self, packet: &Packet) {
        let size = u32::from(self.host.gro_size.unwrap_or(u16::MAX)).max(1);
        let Some(halves) = &mut self.halves else { return };
        let Some(ecn) = &mut halves.tx.accecn else { return };
        if packet.len > 0 && packet.ecn == 0 && ecn.is_seen() {
            halves.rx.quicken();
        }
        ecn.receive(packet.ecn, packet.len, packet.len.div_ceil(size));
        if packet.len > 0 && packet.seq < halves.rx.rcv_nxt() {
            ecn.duplicate(packet.seq);
        }
    }

    /// Feedback of accurate ECN that must not wait goes with an ACK at once.
    fn hasten_feedback(&mut self) {
        let Some(halves) = &mut self.halves else { return };
        if halves.tx.accecn.as_ref().is_some_and(|ecn| ecn.is_urgent()) {
            halves.rx.answer_if_due();
        }
    }

    fn has_received_fin(&self) -> bool {
        matches!(self.state, State::CloseWait | State::Closing | State::LastAck)
    }

    fn reset(&mut self) {
        let error = match self.state {
            State::CloseWait => SocketError::BrokenPipe,
            _ => SocketError::ConnectionReset,
        };
        self.end(Some(error));
    }

    /// The acknowledgement of a segment. `false`: the segment is dropped.
    fn take_ack(&mut self, now: Nanos, packet: &Packet, header: &Header) -> bool {
        let Some(halves) = &mut self.halves else { return false };
        let w = halves.tx.window();
        let is_too_old = packet.ack < w.snd_una && w.snd_una - packet.ack > u64::from(halves.tx.max_window());
        if packet.ack > w.snd_nxt || is_too_old {
            // RFC 5961 section 5.2; for what was not sent, RFC 9293 section 3.10.7.4.
            self.challenge(now, Urgent::Ack);
            return false;
        }
        if let Some(skbs) = &mut halves.tx.skbs {
            (skbs.has_more, skbs.probes.out) = (false, 0);
        }
        (self.alive.out, self.alive.heard) = (0, now);
        let (sacks, count) = blocks(packet);
        halves.tx.receive(now, header, &sacks[..count]);
        self.notices.acknowledged(now, halves.tx.window().snd_una);
        let is_fin_acked = halves.tx.is_done() && halves.tx.is_fin_sent();
        if is_fin_acked {
            self.state = match self.state {
                State::FinWait1 => {
                    if self.is_orphan {
                        self.await_fin(now);
                    }
                    State::FinWait2
                }
                State::Closing => {
                    self.wait_for_late_segments(now);
                    State::TimeWait
                }
                State::LastAck => State::Close,
                state => state,
            };
        }
        self.state != State::Close
    }

    fn take_data(&mut self, now: Nanos, packet: &Packet, header: &Header) {
        let Some(halves) = &mut self.halves else { return };
        let is_closed = matches!(self.state, State::CloseWait | State::Closing | State::LastAck);
        if is_closed && packet.end() > halves.rx.rcv_nxt() {
            return;
        }
        let is_new = packet.seq + u64::from(packet.len) > halves.rx.rcv_nxt();
        let is_unwanted = self.is_orphan || (self.is_read_shut && self.state != State::Established);
        if is_unwanted && packet.len > 0 && is_new {
            // RFC 1122 section 4.2.2.13: no application will read it.
            let reset = reset_for(packet);
            self.end((!self.is_orphan).then_some(SocketError::ConnectionReset));
            self.urgent.push_back(reset);
            return;
        }
        if packet.len > 0 && packet.seq > halves.rx.rcv_nxt() {
            let size = self.host.gro_size.map_or(packet.len, u32::from).max(1);
            self.counts.rcv_ooopack += u64::from(packet.len.div_ceil(size));
        }
        let before = (halves.rx.readable(), halves.rx.is_finished());
        halves.rx.receive(now, header, packet.ecn == CE);
        if before != (halves.rx.readable(), halves.rx.is_finished()) {
            self.notices.wakes.input += 1;
        }
        if halves.rx.is_finished() {
            if matches!(self.state, State::FinWait1 | State::FinWait2) {
                halves.rx.answer();
            }
            self.state = match self.state {
                State::Established => State::CloseWait,
                State::FinWait1 => State::Closing,
                State::FinWait2 => {
                    self.wait_for_late_segments(now);
                    State::TimeWait
                }
                state => state,
            };
        }
    }

    /// TIME_WAIT begins. It limits its answers by itself (`tcp_minisocks.c:tcp_time_wait`).
    fn wait_for_late_segments(&mut self, now: Nanos) {
        self.expires = now + TIMEWAIT;
        self.last_oow_ack_time = None;
    }
}

/// The reset that answers a packet for which there is no connection.
fn reset_for(packet: &Packet) -> Urgent {
    if packet.flags.has(Flags::ACK) {
        Urgent::Reset(packet.ack, None)
    } else {
        Urgent::Reset(0, Some(packet.end()))
    }
}

/// An ACK without data that was overtaken is harmless (Linux `tcp_disordered_ack`).
fn is_disordered(packet: &Packet, rcv_nxt: u64, snd_una: u64) -> bool {
    packet.end() == packet.seq
        && packet.flags.has(Flags::ACK)
        && packet.seq == rcv_nxt
        && packet.ack == snd_una
}

/// The segment as the two halves take it.
fn header(packet: &Packet, scale: u8) -> Header {
    let (ts_val, ts_ecr) = packet.options.timestamps.unwrap_or_default();
    let kept = !(Flags::SYN.0 | Flags::RST.0);
    Header {
        seq: packet.seq,
        ack: packet.ack,
        len: packet.len,
        window: u32::from(packet.window) << scale,
        ts_val,
        ts_ecr,
        sacks: packet.options.sacks,
        flags: Flags(packet.flags.0 & kept),
        ecn: packet.ecn,
        ..Header::default()
    }
}

/// SACK blocks relative to the acknowledgement number.
#[allow(clippy::cast_possible_truncation)]
fn blocks(packet: &Packet) -> ([Sack; 4], usize) {
    let from = |at: u64| (at.wrapping_sub(packet.ack) as i64).clamp(i64::from(i32::MIN), i64::from(i32::MAX));
    let count = usize::from(packet.options.sacks).min(4);
    let blocks =
        packet.options.sack.map(|(start, end)| Sack { start: from(start) as i32, end: from(end) as i32 });
    (blocks, count)
}
