//! What the medium sees of a packet, and what it reports to the packet's owner.

use std::collections::VecDeque;

use goodqueue::{Nanos, Packet, Reason};

/// A device on a radio: an access point or a station, by its place in [`super::RadioSpec::devices`].
pub type DeviceId = u16;

/// A packet as the medium sees it. The owner finds its own packet by the handle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// The owner's handle, passed on unread.
    pub handle: u32,
    /// Bytes with an Ethernet header (1514 for an IP packet of 1500).
    pub len: u32,
    /// Equal for all packets of a flow.
    pub flow_hash: u32,
    /// The device that it goes to over the air.
    pub to: DeviceId,
    /// DSCP and ECN.
    pub dsfield: u8,
    /// Traffic identifier, 0 to 7; see [`tid_of`].
    pub tid: u8,
    /// When it was offered: [`super::Radio::offer`] sets it.
    pub entered: Nanos,
}

/// The TID of a packet: the precedence bits of its DS byte, as in Linux 6.1
/// `net/wireless/util.c:cfg80211_classify8021d` without a QoS map.
#[must_use]
pub const fn tid_of(dsfield: u8) -> u8 {
    dsfield >> 5
}

/// Frame check sequence, bytes.
const FCS: u32 = 4;
/// The QoS header (26) and LLC/SNAP (8) replace Ethernet's 14 bytes; then the FCS.
const MPDU_OVER_ETHERNET: u32 = 26 + 8 + FCS - 14;

impl Frame {
    /// Bytes of its MPDU with header and FCS, without encryption.
    #[must_use]
    pub const fn mpdu(&self) -> u32 {
        self.len.saturating_add(MPDU_OVER_ETHERNET)
    }
}

impl Packet for Frame {
    fn len(&self) -> u32 {
        self.len
    }
    fn truesize(&self) -> u32 {
        crate::tcp::truesize(self.len)
    }
    fn flow_hash(&self) -> u32 {
        self.flow_hash
    }
    fn dsfield(&self) -> u8 {
        self.dsfield
    }
    fn set_dsfield(&mut self, dsfield: u8) {
        self.dsfield = dsfield;
    }
}

/// A packet as mac80211's queues see it, with the 802.11 header.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Skb(pub(super) Frame);

impl Packet for Skb {
    fn len(&self) -> u32 {
        self.0.mpdu() - FCS
    }
    fn truesize(&self) -> u32 {
        self.0.truesize()
    }
    fn flow_hash(&self) -> u32 {
        self.0.flow_hash
    }
    fn dsfield(&self) -> u8 {
        self.0.dsfield
    }
    fn set_dsfield(&mut self, dsfield: u8) {
        self.0.dsfield = dsfield;
    }
}

/// The uses of the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AirKind {
    /// RTS and CTS, with the spaces after them; or a CTS-to-self.
    Rts,
    /// A PPDU with data.
    Data,
    /// The space and the (block) ack after data.
    Ack,
    /// A block ack request with its answer.
    Bar,
    /// Transmissions of several devices at once, all lost.
    Collision,
    /// A PPDU of which no MPDU was received.
    Lost,
    /// Interframe space and backoff of the device that transmits next.
    Backoff,
}

/// A use of the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AirEvent {
    /// The device that transmits the data; in a collision, one of those that do.
    pub from: DeviceId,
    /// Its destination.
    pub to: DeviceId,
    /// Its kind.
    pub kind: AirKind,
    /// Its start.
    pub start: Nanos,
    /// Its end.
    pub end: Nanos,
    /// MPDUs in the PPDU.
    pub mpdus: u32,
    /// Those of them that had been sent before.
    pub retried: u32,
    /// Bytes of its PSDU.
    pub bytes: u64,
    /// Number of earlier attempts at the same PPDU.
    pub attempt: u32,
}

/// Receives the output of the medium.
pub trait Sink {
    /// The sender's device has the transmit status of a packet that was received. This comes before
    /// [`Sink::delivered`].
    fn completed(&mut self, now: Nanos, from: DeviceId, frame: &Frame) {
        let _ = (now, from, frame);
    }
    /// A packet is at its receiver, in order.
    fn delivered(&mut self, now: Nanos, to: DeviceId, frame: Frame);
    /// A packet is lost at a device: a queue of its sender dropped it, its retries were used up, or its
    /// receiver had given it up before it arrived (both [`Reason::Loss`]).
    fn dropped(&mut self, now: Nanos, at: DeviceId, frame: Frame, reason: Reason);
    /// A queue has marked a packet.
    fn marked(&mut self, now: Nanos, from: DeviceId, frame: &Frame, reason: Reason) {
        let _ = (now, from, frame, reason);
    }
    /// Cuts a super-packet into its segments, in front of a driver that takes none (Linux
    /// `validate_xmit_skb`): they are put into `cut`, and take its place. An ordinary packet is left alone.
    fn cut(&mut self, frame: &Frame, cut: &mut VecDeque<Frame>) {
        let _ = (frame, cut);
    }
    /// The air was used.
    fn air(&mut self, event: &AirEvent) {
        let _ = event;
    }
}
