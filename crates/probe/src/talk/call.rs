//! One end of a video call: a sender and a receiver.

use goodqueue::Nanos;

use super::receiver::MediaReceiver;
use super::sender::MediaSender;
use super::wire::{self, Feedback, Media, Packet};
use super::{Greeting, Peer, PeerConfig, Side};
use crate::{Direction, Sample};

/// One end.
#[derive(Debug)]
pub(super) struct Call {
    config: PeerConfig,
    greeting: Greeting,
    pub(super) sender: Option<MediaSender>,
    receiver: MediaReceiver,
    side: Side,
    /// It has been polled after its end; what was due before is no longer sent.
    is_over: bool,
    /// Samples from feedback that was sent; the next datagram's sink gets them.
    told: Vec<Sample>,
}

impl Call {
    pub(super) fn new(config: PeerConfig, side: Side) -> Call {
        let way = match side {
            Side::Client => Direction::Down,
            Side::Server => Direction::Up,
        };
        // A server starts after the hello, with its first poll.
        let sender = (side == Side::Client).then(|| MediaSender::new(&config, config.start));
        let (greeting, receiver) = (Greeting::new(&config, side), MediaReceiver::new(&config, way));
        Call { config, greeting, sender, receiver, side, is_over: false, told: Vec::new() }
    }
}

impl Peer for Call {
    fn poll_timeout(&self) -> Option<Nanos> {
        let sender = self.sender.as_ref().map_or(self.config.start, MediaSender::poll_timeout);
        let next =
            self.greeting.next.into_iter().chain(self.receiver.poll_timeout()).fold(sender, Nanos::min);
        (!self.is_over && next < self.config.stop).then_some(next)
    }

    fn poll_transmit(&mut self, now: Nanos, buf: &mut [u8]) -> Option<usize> {
        self.is_over |= now >= self.config.stop;
        if self.is_over || now < self.config.start {
            return None;
        }
        if let Some(len) = self.greeting.poll(now, &self.config, buf) {
            return Some(len);
        }
        let token = self.config.token;
        if let Some(nack) = self.receiver.poll_nack(now) {
            return Some(wire::emit(token, &Packet::Nack(nack), 16 + 4 * nack.count, buf));
        }
        if let Some(feedback) = self.receiver.poll_feedback(now) {
            if self.told.len() < 64 {
                self.told.push(self.receiver.interval(now, &self.config));
            }
            let feedback = Feedback { echo: self.config.sent(feedback.echo), ..feedback };
            return Some(wire::emit(token, &Packet::Feedback(feedback), wire::FEEDBACK, buf));
        }
        let sender = self.sender.get_or_insert_with(|| MediaSender::new(&self.config, now));
        let (media, len) = sender.poll(now)?;
        let (captured, sent) = (self.config.sent(media.captured), self.config.sent(media.sent));
        let media = Media { captured, sent, ..media };
        Some(wire::emit(token, &Packet::Media(media), len, buf))
    }

    fn handle_datagram(&mut self, now: Nanos, len: usize, bytes: &[u8], sink: &mut dyn FnMut(Sample)) {
        let Some((token, packet)) = wire::parse(bytes) else { return };
        if token != self.config.token {
            return;
        }
        if self.side == Side::Client {
            self.greeting.heard();
        }
        self.told.drain(..).for_each(&mut *sink);
        match packet {
            Packet::Media(media) => {
                let (captured, sent) =
                    (self.config.received(media.captured), self.config.received(media.sent));
                let media = Media { captured, sent, ..media };
                let len = len.saturating_sub(MediaReceiver::HEADER);
                self.receiver.media(now, len, &media, &self.config, sink);
            }
            Packet::Feedback(feedback) => {
                let feedback = Feedback { echo: self.config.received(feedback.echo), ..feedback };
                if let Some(sender) = &mut self.sender {
                    sender.feedback(now, &feedback);
                }
            }
            Packet::Nack(nack) => {
                if let Some(sender) = &mut self.sender {
                    sender.nack(&nack);
                }
            }
            Packet::Hello(_) | Packet::Input(_) | Packet::State(_) => {}
        }
    }
}
