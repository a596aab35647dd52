//! The sender of a call: encoder, pacer and retransmissions.

use std::collections::VecDeque;

use goodqueue::{Nanos, Span};

use super::nada::{Report, Sender};
use super::wire::{Feedback, MEDIA, MOST_PACKETS, Media, Nack};
use super::{App, PACE, PAYLOAD, PeerConfig, height};

/// A key frame has this many times the bytes of a frame; the frames after it have fewer until that is
/// compensated. This is our choice: encoders and pictures differ.
const KEY: u64 = 4;
/// Packets kept for retransmission: more than two seconds.
const HISTORY: usize = 1024;
/// Most packets that wait for retransmission.
const RESENDS: usize = 256;
/// No frame is captured while more than this waits to be sent: encoders skip frames in that case.
const MOST_WAITING: Span = Span::from_millis(500);
/// Least time between two requested key frames (300 ms in WebRTC's encoder).
const KEY_AGAIN: Span = Span::from_millis(300);

/// A packet: its fields except those set at sending, and its length.
#[derive(Clone, Copy, Debug)]
struct Queued {
    media: Media,
    len: usize,
}

#[derive(Debug)]
pub(super) struct MediaSender {
    nada: Sender,
    next_frame: Nanos,
    next_packet: Nanos,
    stop: Nanos,
    waiting: VecDeque<Queued>,
    resends: VecDeque<Queued>,
    history: VecDeque<Queued>,
    seq: u32,
    media: u32,
    frame: u32,
    /// Bytes of key frames still to be compensated.
    debt: u64,
    last_key: Option<Nanos>,
    wants_key: bool,
}

impl MediaSender {
    pub(super) fn new(config: &PeerConfig, start: Nanos) -> MediaSender {
        MediaSender {
            nada: Sender::new(start),
            next_frame: start,
            next_packet: start,
            stop: config.stop,
            waiting: VecDeque::new(),
            resends: VecDeque::new(),
            history: VecDeque::new(),
            seq: 0,
            media: 0,
            frame: 0,
            debt: 0,
            last_key: None,
            wants_key: true,
        }
    }

    fn buffer(&self) -> usize {
        self.waiting.iter().map(|packet| packet.len).sum()
    }

    /// The time for `bytes` at `rate`, bits per second.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    fn time(bytes: usize, rate: f64) -> Span {
        Span((bytes as f64 * 8e9 / rate) as u64)
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    fn capture(&mut self, now: Nanos) {
        let buffer = self.buffer();
        if MediaSender::time(buffer, self.nada.r_ref()) > MOST_WAITING {
            return;
        }
        let rate = self.nada.r_vin(buffer);
        let mean = (rate / 8.0 * App::Call.interval().0 as f64 / 1e9) as u64;
        let key = self.wants_key && self.last_key.is_none_or(|last| now.since(last) >= KEY_AGAIN);
        let bytes = if key {
            (self.wants_key, self.last_key) = (false, Some(now));
            self.debt += mean * (KEY - 1);
            mean * KEY
        } else {
            let less = self.debt.min(mean / 4);
            self.debt -= less;
            mean - less
        };
        let room = (PAYLOAD - MEDIA) as u64;
        let count = bytes.div_ceil(room).clamp(1, u64::from(MOST_PACKETS));
        for index in 0..count {
            // Packets of one frame differ by at most one byte, as with WebRTC's packetizers.
            let payload = (bytes * (index + 1) / count - bytes * index / count).min(room);
            let media = Media {
                media: self.media,
                frame: self.frame,
                index: index as u16,
                count: count as u16,
                captured: now.0,
                height: height(rate as u64),
                key,
                ..Media::default()
            };
            self.waiting.push_back(Queued { media, len: MEDIA + payload as usize });
            self.media = self.media.wrapping_add(1);
        }
        self.frame = self.frame.wrapping_add(1);
    }

    pub(super) fn poll_timeout(&self) -> Nanos {
        if self.waiting.is_empty() && self.resends.is_empty() {
            self.next_frame
        } else {
            self.next_frame.min(self.next_packet)
        }
    }

    /// The next packet that is due, and its length.
    pub(super) fn poll(&mut self, now: Nanos) -> Option<(Media, usize)> {
        while self.next_frame <= now && self.next_frame < self.stop {
            self.capture(now);
            self.next_frame += App::Call.interval();
        }
        if self.next_packet > now {
            return None;
        }
        let packet = match self.resends.pop_front() {
            Some(packet) => packet,
            None => {
                let packet = self.waiting.pop_front()?;
                self.history.push_back(packet);
                if self.history.len() > HISTORY {
                    self.history.pop_front();
                }
                packet
            }
        };
        self.next_packet =
            self.next_packet.max(now) + MediaSender::time(packet.len, PACE * self.nada.r_ref());
        let rtt = self.nada.rtt().map_or(0, |rtt| u32::try_from(rtt.0 / 1000).unwrap_or(u32::MAX));
        let media = Media { seq: self.seq, sent: now.0, rtt_us: rtt, ..packet.media };
        self.seq = self.seq.wrapping_add(1);
        Some((media, packet.len))
    }

    pub(super) fn feedback(&mut self, now: Nanos, feedback: &Feedback) {
        let report = Report {
            gradual: feedback.gradual,
            x_curr: f64::from(feedback.x_curr) / 10.0,
            r_recv: f64::from(feedback.r_recv),
        };
        // Ignore an echo from the future.
        let held = now.0.checked_sub(feedback.echo).and_then(|ns| ns.checked_sub(feedback.held.into()));
        self.nada.feedback(now, &report, held.map(Span));
        self.wants_key |= feedback.wants_key;
    }

    /// Puts the requested packets in front of all others.
    pub(super) fn nack(&mut self, nack: &Nack) {
        let Some(first) = self.history.front().map(|packet| packet.media.media) else { return };
        for &number in &nack.numbers[..nack.count] {
            let place = number.wrapping_sub(first) as usize;
            let queued = |packet: &Queued| packet.media.media == number;
            if let Some(&packet) = self.history.get(place)
                && self.resends.len() < RESENDS
                && !self.resends.iter().any(queued)
            {
                self.resends.push_back(packet);
            }
        }
    }
}
