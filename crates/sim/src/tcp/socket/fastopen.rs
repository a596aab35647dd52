//! TCP Fast Open (RFC 7413): data on a SYN, and the cookie that allows it (Linux `tcp_fastopen.c`,
//! `tcp_send_syn_data`, `tcp_rcv_fastopen_synack`).

use super::{Packet, Sending, Socket, State};
use crate::tcp::segment::Flags;
use goodqueue::Nanos;

/// Bytes that a SYN keeps free for options (Linux `MAX_TCP_OPTION_SPACE`).
const OPTION_SPACE: u32 = 40;

/// A cookie of 4 to 16 bytes, or an empty one: a request for a cookie (RFC 7413 section 4.1.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cookie {
    bytes: [u8; 16],
    len: u8,
    /// In the experimental option of RFC 6994 (magic number 0xF989), as it was before RFC 7413.
    pub is_experimental: bool,
}

impl Cookie {
    /// The bytes; none if there are more than 16.
    #[must_use]
    pub fn new(bytes: &[u8], is_experimental: bool) -> Option<Cookie> {
        let mut cookie =
            Cookie { is_experimental, len: u8::try_from(bytes.len()).ok()?, ..Cookie::default() };
        cookie.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(cookie)
    }

    /// The bytes of the cookie; none: a request.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Whether the option is well formed: an even number of bytes, none or 4 to 16.
    fn is_valid(&self) -> bool {
        self.len == 0 || (self.len.is_multiple_of(2) && (4..=16).contains(&self.len))
    }
}

/// The settings of a host for Fast Open (`sysctl net.ipv4.tcp_fastopen`), and of one listening socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FastOpenHost {
    /// `tcp_fastopen`, its bits: 1 as a client, 2 as a server, 4 data without a cookie, 0x200 accept data
    /// without a cookie, 0x400 every listening socket accepts.
    pub mode: u32,
    /// `TCP_FASTOPEN`: connections that may wait for the end of their handshake; 0: the socket accepts none.
    pub queue: u32,
    /// The cookie that the peer gets.
    pub cookie: Cookie,
}

/// The answer of a SYN-ACK about Fast Open, for the next connection to the same peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    /// The peer's cookie.
    pub cookie: Option<Cookie>,
    /// The peer's MSS; 0: not announced.
    pub mss: u16,
    /// A cookie was requested and not granted.
    pub is_refused: bool,
}

/// What an active side sends on its SYN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SynData {
    /// The option of the first SYN.
    option: Option<Cookie>,
    /// Bytes of data on the first SYN.
    len: u32,
    /// Fast Open was tried.
    is_tried: bool,
    /// All data of the SYN was acknowledged, or taken from a SYN (Linux `syn_data_acked`).
    is_taken: bool,
    /// The SYN was too big for the path.
    is_given_up: bool,
    granted: Option<Granted>,
}

impl Socket {
    /// The active side with Fast Open. `cookie` is the peer's; an empty one requests it, and none sends data
    /// without one. Of the `size` bytes to be written, the SYN takes as many as fit into a segment of `mss`
    /// bytes, if the peer's is known. Returns how many.
    pub fn connect_fast(
        host: &super::Host,
        now: Nanos,
        cookie: Option<Cookie>,
        (mss, size): (Option<u16>, u64),
        how: Sending,
    ) -> (Socket, u64) {
        let mut socket = Socket::connect(host, now);
        let mss = mss.unwrap_or(u16::MAX).min(socket.host.mss());
        let room = u32::from(mss).saturating_sub(OPTION_SPACE);
        let is_request = cookie.is_some_and(|cookie| cookie.bytes().is_empty());
        #[allow(clippy::cast_possible_truncation)]
        let len = if is_request { 0 } else { size.min(u64::from(room)) as u32 };
        socket.syn_data = SynData { option: cookie, len, is_tried: true, ..SynData::default() };
        if len > 0 {
            socket.notices.wrote(1 + u64::from(len), how.zero_copy);
        }
        (socket, u64::from(len))
    }

    /// What the SYN-ACK granted; returned once.
    pub fn take_granted(&mut self) -> Option<Granted> {
        self.syn_data.granted.take()
    }

    /// Whether all data on the SYN was acknowledged, or data of a SYN was taken (Linux `TCPI_OPT_SYN_DATA`).
    pub(super) fn has_syn_data(&self) -> bool {
        self.syn_data.is_taken
    }

    /// Whether data may be exchanged although the handshake is not complete.
    #[must_use]
    pub fn is_fast_open(&self) -> bool {
        self.state == State::SynRecv && self.halves.is_some()
    }

    /// Option and payload of the SYN. One that is sent again has neither (RFC 7413 section 4.1.3).
    pub(super) fn syn_fast_open(&self) -> (Option<Cookie>, u32) {
        let is_first =
            self.state == State::SynSent && self.handshake.retries == 0 && !self.syn_data.is_given_up;
        if is_first { (self.syn_data.option, self.syn_data.len) } else { (None, 0) }
    }

    /// The path takes only smaller packets: a SYN that has data is sent again at once, without it (Linux
    /// `tcp_simple_retransmit`).
    pub(super) fn give_up_syn_data(&mut self) {
        let (_, len) = self.syn_fast_open();
        if len > 0 {
            self.syn_data.is_given_up = true;
            self.handshake.is_wanted = true;
        }
    }

    /// The passive side, on a SYN with the option or with data (Linux `tcp_try_fastopen`).
    pub(super) fn try_fast_open(&mut self, now: Nanos, syn: &Packet) {
        let host = self.host.fast_open;
        let option = syn.options.fast_open.filter(Cookie::is_valid);
        if host.mode & 2 == 0 || host.queue == 0 || (option.is_none() && syn.len == 0) {
            return;
        }
        let is_known =
            option.is_some_and(|option| !option.bytes().is_empty() && option.bytes() == host.cookie.bytes());
        if host.mode & 0x200 == 0 && !is_known {
            self.granting =
                option.map(|option| Cookie { is_experimental: option.is_experimental, ..host.cookie });
            return;
        }
        self.open_halves(now, None, false);
        self.state = State::SynRecv;
        if syn.len > 0 {
            self.syn_data.is_taken = true;
            let data =
                Packet { seq: 1, flags: Flags(Flags::ACK.0 | syn.flags.0 & Flags::PSH.0), ack: 1, ..*syn };
            self.counts.data_segs_in += 1;
            self.take_syn_data(&data);
        }
    }

    /// Data on a SYN-ACK, which only a connection of Fast Open takes (Linux `tcp_fastopen_add_skb`).
    pub(super) fn take_syn_ack_data(&mut self, now: Nanos, syn_ack: &Packet) {
        if !self.syn_data.is_tried || syn_ack.end() == syn_ack.seq + 1 {
            return;
        }
        let flags = Flags(syn_ack.flags.0 & !Flags::SYN.0);
        let data = Packet { seq: 1, flags, ecn: 0, ..*syn_ack };
        if data.len > 0 {
            self.counts.data_segs_in += 1;
            self.notices.wakes.input += 1;
            self.take_syn_data(&data);
        }
        if flags.has(Flags::FIN) {
            let fin = Packet { seq: 1 + u64::from(data.len), len: 0, window: 0, ..data };
            self.take_fin(now, &fin);
        }
    }

    /// Numbers that the ACK of a SYN may have.
    pub(super) fn is_syn_acked(&self, ack: u64) -> bool {
        (1..=1 + u64::from(self.syn_data.len)).contains(&ack)
    }

    /// The SYN-ACK arrived. Its `ack` acknowledges data on the SYN; the rest is sent at once (Linux
    /// `tcp_rcv_fastopen_synack`). Returns whether there is a rest.
    pub(super) fn syn_data_acked(&mut self, now: Nanos, syn_ack: &Packet) -> bool {
        let SynData { option, len, is_tried, .. } = self.syn_data;
        if is_tried {
            let is_cookie = |cookie: &Cookie| cookie.is_valid() && !cookie.bytes().is_empty();
            // A cookie that was not requested is ignored.
            let cookie = syn_ack.options.fast_open.filter(|cookie| option.is_some() && is_cookie(cookie));
            let is_refused = cookie.is_none() && len == 0 && self.handshake.retries == 0;
            let mss = syn_ack.options.mss.unwrap_or(0);
            self.syn_data.granted = Some(Granted { cookie, mss, is_refused });
        }
        let acked = syn_ack.ack - 1;
        let Some(halves) = &mut self.halves else { return false };
        halves.tx.skip(acked);
        self.written = acked;
        self.pushed_seq = 1 + acked;
        self.syn_data.is_taken = len > 0 && acked == u64::from(len);
        self.notices.acknowledged(now, 1 + acked);
        let rest = u64::from(len) - acked;
        if rest > 0 {
            self.resent_syn = 1 + u64::from(len);
            self.early.insert(0, (vec![rest], Sending::default()));
        }
        rest > 0
    }
}
