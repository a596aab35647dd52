//! Everything on the air during a short window, event by event.

use serde::{Deserialize, Serialize};

/// What an event is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AirKind {
    /// A frame or an A-MPDU that is sent for the first time or has some new MPDUs.
    #[default]
    Data,
    /// A repetition of an exchange that got no acknowledgement.
    Retry,
    /// A frame that collided with another; there is an event for each of them.
    Collision,
    /// ACK or BlockAck, including the SIFS before it.
    Ack,
    /// RTS and CTS, including their interframe spaces.
    Rts,
    /// Interframe space and backoff of the next sender.
    Backoff,
}

impl AirKind {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Retry => "retry",
            Self::Collision => "collision",
            Self::Ack => "ack",
            Self::Rts => "rts",
            Self::Backoff => "backoff",
        }
    }
}

/// One event on the air.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AirEvent {
    /// When it began, from the start of the load.
    pub start_ns: i64,
    /// How long it took.
    pub length_ns: u64,
    /// The station it is to or from, an index into the radio's stations; one past the last for frames that
    /// belong to no station.
    pub station: u32,
    /// Whether the station sent it; otherwise the access point did. For [`AirKind::Ack`] it refers to the
    /// acknowledged data.
    pub uplink: bool,
    /// Its kind.
    pub kind: AirKind,
    /// MPDUs in it; 0 if it carries no data.
    pub mpdus: u32,
    /// Those MPDUs that had been sent before.
    pub retried: u32,
    /// Bytes of the PSDU.
    pub bytes: u32,
}

/// The events of a window of time, as columns of equal length, ordered by start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AirEvents {
    /// Start of the window, from the start of the load.
    pub from_ns: i64,
    /// Its length.
    pub length_ns: u64,
    /// [`AirEvent::start_ns`].
    pub start_ns: Vec<i64>,
    /// [`AirEvent::length_ns`].
    pub event_ns: Vec<u64>,
    /// [`AirEvent::station`].
    pub station: Vec<u32>,
    /// [`AirEvent::uplink`].
    pub uplink: Vec<bool>,
    /// [`AirEvent::kind`].
    pub kind: Vec<AirKind>,
    /// [`AirEvent::mpdus`].
    pub mpdus: Vec<u32>,
    /// [`AirEvent::retried`].
    pub retried: Vec<u32>,
    /// [`AirEvent::bytes`].
    pub bytes: Vec<u32>,
}

impl AirEvents {
    /// Most events in a window, so that the page that shows them stays below a megabyte.
    pub const MOST: usize = 8_000;

    /// An empty window.
    #[must_use]
    pub fn new(from_ns: i64, length_ns: u64) -> Self {
        Self { from_ns, length_ns, ..Self::default() }
    }

    /// End of the window.
    #[must_use]
    pub fn to_ns(&self) -> i64 {
        self.from_ns.saturating_add_unsigned(self.length_ns)
    }

    /// Number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.start_ns.len()
    }

    /// Whether nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.start_ns.is_empty()
    }

    /// Adds an event that begins within the window, in the order of starts. If the window already has
    /// [`AirEvents::MOST`] events, it ends early, at the start of this one. Returns whether the event was
    /// added.
    pub fn push(&mut self, event: AirEvent) -> bool {
        if event.start_ns < self.from_ns || event.start_ns >= self.to_ns() {
            return false;
        }
        if self.len() >= Self::MOST {
            self.length_ns = event.start_ns.abs_diff(self.from_ns);
            return false;
        }
        self.start_ns.push(event.start_ns);
        self.event_ns.push(event.length_ns);
        self.station.push(event.station);
        self.uplink.push(event.uplink);
        self.kind.push(event.kind);
        self.mpdus.push(event.mpdus);
        self.retried.push(event.retried);
        self.bytes.push(event.bytes);
        true
    }

    /// The events, at most [`AirEvents::MOST`] and no more than the shortest column has.
    pub fn iter(&self) -> impl Iterator<Item = AirEvent> + '_ {
        (0..self.len().min(Self::MOST)).map_while(|i| {
            Some(AirEvent {
                start_ns: *self.start_ns.get(i)?,
                length_ns: *self.event_ns.get(i)?,
                station: *self.station.get(i)?,
                uplink: *self.uplink.get(i)?,
                kind: *self.kind.get(i)?,
                mpdus: *self.mpdus.get(i)?,
                retried: *self.retried.get(i)?,
                bytes: *self.bytes.get(i)?,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_bounded_in_time_and_number() {
        let mut window = AirEvents::new(1_000, 1_000_000);
        let at = |start_ns| AirEvent { start_ns, length_ns: 10, ..AirEvent::default() };
        assert!(!window.push(at(999)) && !window.push(at(1_001_000)));
        for i in 0..AirEvents::MOST as i64 {
            assert!(window.push(at(1_000 + 20 * i)));
        }
        let next = 1_000 + 20 * AirEvents::MOST as i64;
        assert!(!window.push(at(next)));
        assert_eq!((window.len(), window.to_ns()), (AirEvents::MOST, next));
        assert!(!window.push(at(next + 20)));
        assert_eq!(window.to_ns(), next);
    }

    #[test]
    fn events_come_back_unchanged() {
        let event = AirEvent {
            start_ns: 5,
            length_ns: 40_000,
            station: 2,
            uplink: true,
            kind: AirKind::Retry,
            mpdus: 3,
            retried: 1,
            bytes: 4_600,
        };
        let mut window = AirEvents::new(0, 100);
        assert!(window.push(event));
        assert_eq!(window.iter().collect::<Vec<_>>(), [event]);
        window.bytes.clear();
        assert_eq!(window.iter().count(), 0);
    }
}
