//! The receiver of a call: assembles frames from packets, and makes the feedback to the sender.

use std::collections::BTreeMap;

use goodqueue::{Nanos, Span};

use super::nada::{DELTA, Receiver};
use super::wire::{Feedback, MEDIA, Media, NACKS, Nack};
use super::{PeerConfig, signed};
use crate::{Direction, Sample};

/// Most missing packets at a time; with more, the receiver requests a key frame (`kMaxNackPackets` of
/// WebRTC).
const MOST_MISSING: usize = 1000;
/// Most requests for a packet (`kMaxNackRetries`).
const TRIES: u32 = 10;
/// Time between two requests for a packet while the round trip is unknown (`kDefaultRttMs`).
const DEFAULT_RTT: Span = Span::from_millis(100);
/// The receiver requests a key frame when nothing could be shown for this long (`kMaxWaitForFrame`).
const MOST_WAIT: Span = Span::from_secs(3);
/// Most frames kept at a time; the oldest are removed first.
const MOST_FRAMES: usize = 256;
/// A number this far ahead does not belong to the conversation.
const FAR: u64 = 1 << 16;

/// Extends 32-bit numbers that wrap: each becomes the value nearest to the highest so far.
#[derive(Clone, Copy, Debug, Default)]
struct Unwrap {
    highest: u64,
}

impl Unwrap {
    /// The extended number; `None` if it is too far away. The first number is near 0.
    #[allow(clippy::cast_possible_truncation)]
    fn whole(&mut self, number: u32) -> Option<u64> {
        let ahead = i64::from(number.wrapping_sub(self.highest as u32).cast_signed());
        let whole = self.highest.checked_add_signed(ahead)?;
        if whole > self.highest.saturating_add(FAR) {
            return None;
        }
        self.highest = self.highest.max(whole);
        Some(whole)
    }
}

/// A partly received frame.
#[derive(Clone, Copy, Debug)]
struct Assembly {
    /// Bit k: packet k has arrived.
    there: u128,
    count: u16,
    captured: u64,
    height: u16,
    key: bool,
}

impl Assembly {
    fn is_complete(&self) -> bool {
        self.there.count_ones() == u32::from(self.count)
    }
}

/// A missing packet.
#[derive(Clone, Copy, Debug)]
struct Missing {
    ask: Nanos,
    tries: u32,
}

#[derive(Debug)]
pub(super) struct MediaReceiver {
    talk: u32,
    way: Direction,
    nada: Receiver,
    seqs: Unwrap,
    medias: Unwrap,
    frames_seen: Unwrap,
    /// Number of the next packet that is not a retransmission.
    next_media: u64,
    missing: BTreeMap<u64, Missing>,
    frames: BTreeMap<u64, Assembly>,
    /// Number of the next frame to show, unless that is a key frame.
    next_frame: u64,
    /// When a frame was last shown, or when the wait for one began.
    shown_at: Option<Nanos>,
    wants_key: bool,
    rtt: Option<Span>,
    /// `sent` of the newest packet, and its arrival time.
    echo: Option<(u64, Nanos)>,
    next_feedback: Option<Nanos>,
    /// Since the last feedback: bytes, datagrams, and the first numbers.
    bytes: u64,
    packets: u32,
    from_seq: u64,
}

impl MediaReceiver {
    pub(super) fn new(config: &PeerConfig, way: Direction) -> MediaReceiver {
        MediaReceiver {
            talk: config.talk,
            way,
            nada: Receiver::default(),
            seqs: Unwrap::default(),
            medias: Unwrap::default(),
            frames_seen: Unwrap::default(),
            next_media: 0,
            missing: BTreeMap::new(),
            frames: BTreeMap::new(),
            next_frame: 0,
            shown_at: None,
            wants_key: false,
            rtt: None,
            echo: None,
            next_feedback: None,
            bytes: 0,
            packets: 0,
            from_seq: 0,
        }
    }

    /// Handles a packet of `len` bytes that arrived at `now`.
    pub(super) fn media(
        &mut self,
        now: Nanos,
        len: usize,
        media: &Media,
        config: &PeerConfig,
        sink: &mut dyn FnMut(Sample),
    ) {
        let numbers =
            (self.seqs.whole(media.seq), self.medias.whole(media.media), self.frames_seen.whole(media.frame));
        let (Some(seq), Some(number), Some(frame)) = numbers else { return };
        self.rtt = (media.rtt_us > 0).then(|| Span(u64::from(media.rtt_us) * 1000)).or(self.rtt);
        self.nada.received(now, seq, len, media.sent, self.rtt.unwrap_or(DEFAULT_RTT));
        self.echo = Some((media.sent, now));
        self.bytes += len as u64;
        self.packets += 1;
        self.next_feedback.get_or_insert(now + DELTA);
        self.shown_at.get_or_insert(now);
        self.note(now, number);
        if frame < self.next_frame {
            return;
        }
        let fresh = Assembly {
            there: 0,
            count: media.count,
            captured: media.captured,
            height: media.height,
            key: media.key,
        };
        let assembly = self.frames.entry(frame).or_insert(fresh);
        if media.index < assembly.count {
            assembly.there |= 1 << media.index;
        }
        if self.frames.len() > MOST_FRAMES {
            self.frames.pop_first();
        }
        self.show(now, config, sink);
    }

    /// Updates the list of missing packets when packet `number` has arrived.
    fn note(&mut self, now: Nanos, number: u64) {
        self.missing.remove(&number);
        if number < self.next_media {
            return;
        }
        for gap in self.next_media.max(number.saturating_sub(MOST_MISSING as u64))..number {
            self.missing.insert(gap, Missing { ask: now, tries: 0 });
        }
        self.next_media = number + 1;
        if self.missing.len() > MOST_MISSING {
            self.missing.clear();
            self.wants_key = true;
        }
    }

    /// Shows every frame that can be shown.
    fn show(&mut self, now: Nanos, config: &PeerConfig, sink: &mut dyn FnMut(Sample)) {
        loop {
            let key = |(&number, assembly): (&u64, &Assembly)| {
                (assembly.key && assembly.is_complete()).then_some(number)
            };
            let next = match self.frames.get(&self.next_frame) {
                Some(assembly) if assembly.is_complete() && (assembly.key || self.next_frame > 0) => {
                    self.next_frame
                }
                _ => match self.frames.iter().find_map(key) {
                    Some(number) => number,
                    None => return,
                },
            };
            let Some(frame) = self.frames.remove(&next) else { return };
            // Older frames are useless now.
            self.frames = self.frames.split_off(&next);
            self.next_frame = next + 1;
            self.shown_at = Some(now);
            if frame.key {
                self.wants_key = false;
            }
            let captured = Nanos(frame.captured);
            sink(Sample::Shown {
                talk: self.talk,
                way: self.way,
                number: u32::try_from(next).unwrap_or(u32::MAX),
                t: config.t(captured),
                took: signed(now.0).saturating_sub(signed(captured.0)),
                height: frame.height,
            });
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Nanos> {
        let ask = self.missing.values().map(|missing| missing.ask).min();
        self.next_feedback.into_iter().chain(ask).min()
    }

    /// The numbers that are due to be requested.
    pub(super) fn poll_nack(&mut self, now: Nanos) -> Option<Nack> {
        let again = now + self.rtt.unwrap_or(DEFAULT_RTT).max(Span::from_millis(5));
        let mut nack = Nack::default();
        self.missing.retain(|_, missing| missing.ask > now || missing.tries < TRIES);
        for (&number, missing) in
            self.missing.iter_mut().filter(|(_, missing)| missing.ask <= now).take(NACKS)
        {
            *missing = Missing { ask: again, tries: missing.tries + 1 };
            #[allow(clippy::cast_possible_truncation)]
            let short = number as u32;
            nack.numbers[nack.count] = short;
            nack.count += 1;
        }
        (nack.count > 0).then_some(nack)
    }

    /// The feedback, if it is due. The interval that ends with it goes to `sink` with the next packet.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(super) fn poll_feedback(&mut self, now: Nanos) -> Option<Feedback> {
        self.next_feedback.filter(|&at| at <= now)?;
        self.next_feedback = Some(now + DELTA);
        let report = self.nada.report(now);
        let waits = self.shown_at.is_some_and(|at| now.since(at) >= MOST_WAIT);
        self.wants_key |= waits;
        let (echo, held) = self.echo.map_or((0, 0), |(sent, at)| (sent, now.since(at).0));
        Some(Feedback {
            echo,
            held: held.min(u32::MAX.into()) as u32,
            x_curr: (report.x_curr * 10.0).min(32_767.0) as u16,
            r_recv: report.r_recv.min(4e9) as u32,
            gradual: report.gradual,
            wants_key: self.wants_key,
        })
    }

    /// The media received since the last call: a sample for each [`DELTA`] or slightly more.
    pub(super) fn interval(&mut self, now: Nanos, config: &PeerConfig) -> Sample {
        let next = if self.packets == 0 { self.from_seq } else { self.seqs.highest + 1 };
        let expected = next.saturating_sub(self.from_seq);
        let sample = Sample::Interval {
            talk: self.talk,
            way: self.way,
            t: config.t(now),
            bytes: self.bytes,
            packets: self.packets,
            lost: u32::try_from(expected.saturating_sub(self.packets.into())).unwrap_or(u32::MAX),
        };
        (self.bytes, self.packets, self.from_seq) = (0, 0, next);
        sample
    }

    /// Bytes of headers in a packet, which do not count as media.
    pub(super) const HEADER: usize = MEDIA;
}
