//! What a socket sends: the segments of its two halves, with acknowledgement, window and options (Linux 6.1
//! `__tcp_transmit_skb`, `tcp_established_options`).

use super::{Options, Packet, Socket, State, Urgent, clock};
use crate::tcp::accecn;
use crate::tcp::config::ts_before;
use crate::tcp::segment::{ECT0, Flags, Header};
use goodqueue::Nanos;

impl Socket {
    /// The next packet to send. Call until it returns nothing. A packet may be longer than the MSS where the
    /// device accepts super-packets.
    pub fn poll_transmit(&mut self, now: Nanos) -> Option<Packet> {
        let packet = self.ready.pop_front().or_else(|| self.next_packet(now));
        if packet.is_some() {
            self.counts.segs_out += 1;
        } else {
            self.check_space();
            self.note_holding(now);
        }
        packet
    }

    pub(super) fn next_packet(&mut self, now: Nanos) -> Option<Packet> {
        if self.host.is_device_full {
            self.drop_in_host(now);
            return None;
        }
        if let Some(urgent) = self.urgent.pop_front() {
            return Some(match urgent {
                Urgent::Ack => self.bare_ack(now),
                Urgent::Reflection => self.reflection(now),
                Urgent::Reset(seq, ack) => self.reset_packet(now, seq, ack),
                Urgent::Probe => self.keepalive(now),
            });
        }
        if self.handshake.is_wanted {
            return Some(self.handshake_packet(now));
        }
        let halves = self.halves.as_mut()?;
        if let Some((mut header, mut rest)) = self.rest.take() {
            header.advance(&mut rest);
            self.rest = (!rest.is_empty()).then_some((header, rest));
            return Some(self.data(now, &header, true));
        }
        let mut header = Header::default();
        if !self.is_held && halves.tx.transmit_of_socket(now, &mut header) {
            let memory = halves.tx.memory(header.len);
            match halves.tx.departure() {
                Some(at) if at > now => self.queued.push_back((at, memory)),
                // The device takes at once what is due (`tun.c:tun_net_xmit`).
                Some(_) => halves.tx.on_tx_complete(now, memory),
                None => halves.tx.on_tx_complete(now, u32::MAX),
            }
            if header.seq < self.resent_syn {
                halves.tx.count_resent(header.seq, self.resent_syn);
            }
            let rest = header.cut(halves.tx.device_mss());
            let is_cut = !rest.is_empty();
            self.rest = is_cut.then_some((header, rest));
            if !header.retransmitted {
                // Since Linux 5.18 (`tcp_output.c:tcp_event_new_data_sent`).
                self.check_space();
            }
            return Some(self.data(now, &header, is_cut));
        }
        if matches!(self.state, State::Close) || !halves.rx.has_output() {
            return None;
        }
        Some(self.bare_ack(now))
    }

    /// A packet of the sending half. `is_cut`: a piece of a super-packet, the last of which has PSH.
    fn data(&mut self, now: Nanos, header: &Header, is_cut: bool) -> Packet {
        let end = header.seq + u64::from(header.len);
        let mut flags = Flags(header.flags.0 & !Flags::PSH.0);
        let Some(halves) = &mut self.halves else { return Packet::default() };
        while self.pushes.front().is_some_and(|&push| push <= halves.tx.window().snd_una) {
            self.pushes.pop_front();
        }
        let is_long = header.len > halves.tx.window().mss;
        let is_last = is_cut && self.rest.is_none();
        let is_pushed = is_long || is_last || self.pushes.contains(&end);
        if header.len > 0 && is_pushed {
            flags = flags.with(Flags::PSH);
        }
        if header.len > 0 {
            if let Some(skbs) = &mut halves.tx.skbs {
                skbs.probes = Default::default();
            }
            self.notices.sent(now, header.seq, end);
            halves.rx.data_sent(now);
            self.counts.bytes_sent += u64::from(header.len);
            if header.retransmitted {
                self.counts.bytes_retrans += u64::from(header.len);
            }
        }
        let has_accecn = halves.tx.accecn.is_some();
        let leaves = halves.tx.departure().map(|at| at.max(now));
        let mut packet = self.acknowledging(now, header.seq, flags);
        (packet.len, packet.leaves) = (header.len, leaves);
        if !has_accecn {
            packet.ecn = header.ecn;
        }
        if let Some((val, _)) = &mut packet.options.timestamps {
            // Under pacing, the time at which the packet leaves.
            *val = if ts_before(*val, header.ts_val) { header.ts_val } else { *val };
        }
        packet
    }

    /// A segment without data.
    fn bare_ack(&mut self, now: Nanos) -> Packet {
        let seq = self.halves.as_ref().map_or(1, |halves| halves.tx.window().snd_nxt);
        self.acknowledging(now, seq, Flags::ACK)
    }

    /// Linux `tcp_xmit_probe_skb`.
    fn keepalive(&mut self, now: Nanos) -> Packet {
        let una = self.halves.as_ref().map_or(1, |halves| halves.tx.window().snd_una);
        self.acknowledging(now, una - 1, Flags::ACK)
    }

    /// The ACK of a SYN-ACK with accurate ECN (RFC 9768 section 3.2.2.1).
    fn reflection(&mut self, now: Nanos) -> Packet {
        let mut packet = self.bare_ack(now);
        if let Some(ecn) = self.halves.as_ref().and_then(|halves| halves.tx.accecn.as_ref()) {
            packet.flags =
                Flags(packet.flags.0 & !accecn::flags(0b111).0).with(accecn::flags(ecn.reflection()));
        }
        packet
    }

    fn reset_packet(&mut self, now: Nanos, seq: u64, ack: Option<u64>) -> Packet {
        let flags = if ack.is_some() { Flags::RST.with(Flags::ACK) } else { Flags::RST };
        let timestamps = self.agreed.timestamps && ack.is_some();
        let ts_recent = self.halves.as_ref().map_or(self.handshake.ts_recent, |halves| halves.rx.ts_recent());
        // A reset of a connection has its window (Linux `tcp_send_active_reset`).
        let scale = if self.is_fast_open() { 0 } else { self.agreed.scales.map_or(0, |scales| scales.1) };
        let window = match (&mut self.halves, ack) {
            (Some(halves), Some(_)) => halves.rx.acknowledge(0).window >> scale,
            _ => 0,
        };
        #[allow(clippy::cast_possible_truncation)]
        Packet {
            seq,
            ack: ack.unwrap_or(0),
            window: window.min(u32::from(u16::MAX)) as u16,
            flags,
            options: Options {
                timestamps: timestamps.then(|| (clock(now), ts_recent)),
                ..Options::default()
            },
            ..Packet::default()
        }
    }

    /// A segment with the acknowledgement of the peer's data.
    #[allow(clippy::cast_possible_truncation)]
    fn acknowledging(&mut self, now: Nanos, seq: u64, flags: Flags) -> Packet {
        let most = match (self.agreed.sack, self.agreed.timestamps) {
            (false, _) => 0,
            (true, true) => 3,
            (true, false) => 4,
        };
        let scale = self.agreed.scales.map_or(0, |scales| scales.1);
        let Some(halves) = &mut self.halves else {
            let timestamps = self.agreed.timestamps.then(|| (clock(now), self.handshake.ts_recent));
            let options = Options { timestamps, ..Options::default() };
            let window = (self.initial_window() >> scale) as u16;
            return Packet { seq, ack: 1, window, flags, options, ..Packet::default() };
        };
        let said = halves.rx.acknowledge(most);
        let mut packet = Packet {
            seq,
            ack: said.ack,
            flags: if said.ece { flags.with(Flags::ECE) } else { flags },
            window: (said.window >> scale).min(u32::from(u16::MAX)) as u16,
            ..Packet::default()
        };
        packet.options.timestamps = self.agreed.timestamps.then(|| (clock(now), said.ts_recent));
        packet.options.sacks = said.sacks;
        for (out, block) in packet.options.sack.iter_mut().zip(said.blocks) {
            let at = |offset: i32| said.ack.saturating_add_signed(i64::from(offset));
            *out = (at(block.start), at(block.end));
        }
        self.feed_back(now, &mut packet);
        let used = usize::from(packet.options.sacks);
        packet.options.sack[used..].fill((0, 0));
        packet
    }

    /// Accurate ECN on a segment: ACE, the option if it fits, and ECT. In TIME_WAIT there is no feedback.
    fn feed_back(&mut self, now: Nanos, packet: &mut Packet) {
        let Some(halves) = &mut self.halves else { return };
        let srtt = halves.tx.window().srtt;
        let Some(ecn) = &mut halves.tx.accecn else { return };
        packet.ecn = if ecn.is_capable() { ECT0 } else { 0 };
        if self.state == State::TimeWait {
            return;
        }
        let options = &mut packet.options;
        let timestamps = if options.timestamps.is_some() { 12 } else { 0 };
        let sack = if options.sacks > 0 { 4 + 8 * u32::from(options.sacks) } else { 0 };
        // RFC 2883: the first block reports what came twice if it lies below the ACK or in the second.
        let [first, second, ..] = options.sack;
        let is_inside = options.sacks > 1 && second.0 <= first.0 && first.1 <= second.1;
        let is_dsack = options.sacks > 0 && (first.0 < packet.ack || is_inside);
        let wants = ecn.wants_option(now, srtt, self.host.accecn);
        let dsack = is_dsack.then_some(first.0);
        let (ace, option, kept) = ecn.send(now, 40 - timestamps - sack, options.sacks, dsack, wants);
        (options.ecn_bytes, options.sacks) = (option, kept);
        packet.flags = packet.flags.with(accecn::flags(ace));
    }
}
