//! The exchange that is on the air.

use goodqueue::{Nanos, Span};

/// The exchange that is on the air.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnAir {
    /// When the air became free and wanted.
    pub(super) waited_since: Nanos,
    /// When it began. Within a TXOP the space after the previous exchange belongs to it.
    pub(super) start: Nanos,
    /// When its first bit is on the air.
    pub(super) first_bit: Nanos,
    pub(super) end: Nanos,
    /// When the driver builds the next PPDU, if it waits for a time.
    pub(super) fill_at: Option<Nanos>,
    pub(super) times: Times,
    /// The category whose PPDU is heard: it transmits alone, or its PPDU is captured. None: a collision in
    /// which nothing is received.
    pub(super) heard: Option<u32>,
    /// Whether that PPDU is answered.
    pub(super) is_answered: bool,
    /// When the device won the air.
    pub(super) txop_start: Nanos,
}

/// How long the parts of an exchange take.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    /// The RTS alone; zero if there is none.
    pub(super) rts: Span,
    /// RTS, CTS and the spaces after them; or a CTS-to-self with the space after it.
    pub(super) reserve: Span,
    pub(super) ppdu: Span,
    /// The space after the PPDU, and the answer.
    pub(super) answer: Span,
}

impl Times {
    pub(super) fn all(&self) -> Span {
        self.reserve + self.ppdu + self.answer
    }

    /// With the answer, if there is one.
    pub(super) fn lasts(&self, is_answered: bool) -> Span {
        if is_answered { self.all() } else { self.reserve + self.ppdu }
    }
}
