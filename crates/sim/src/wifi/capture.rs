//! Capture: of several PPDUs that begin in the same slot, a receiver may hear the strongest.
//!
//! A receiver that does not transmit itself hears the PPDU whose power is far enough above noise and all
//! others for its header, sent as at 6 Mbit/s, to be read. Its MPDUs are then received with the probability
//! of that ratio while others transmit, and with that of the noise alone once they have ended: a collision
//! with a short PPDU damages a part of a long aggregate. Errors follow from the same table as without
//! collisions ([`Errors::Snr`] or [`Errors::Coded`]), so capture has no parameter of its own.
//!
//! How well two stations hear each other is not known. Each is assumed to hear the other as well as the
//! other's access point does, so that the answer gets through where the PPDU did. Of PPDUs to different
//! receivers only one is heard, the one with the highest ratio.

use goodqueue::Nanos;

use super::channel::{Errors, PREAMBLE, decibels, ratio};
use super::frame::DeviceId;
use super::radio::Radio;

/// The transmissions that overlap a captured PPDU.
pub(super) struct Overlap {
    /// When the other transmissions end.
    pub(super) until: Nanos,
    /// Errors until then.
    pub(super) errors: Errors,
}

impl Radio {
    /// The category whose PPDU is heard although all `winners` transmit, and its ratio of power to noise and
    /// all others, dB.
    pub(super) fn captured(&self) -> Option<(u32, f64)> {
        if !self.captures {
            return None;
        }
        let ratios = self.winners.iter().filter_map(|&edcaf| Some((edcaf, self.ratio_of(edcaf)?)));
        ratios.max_by(|(_, a), (_, b)| a.total_cmp(b)).filter(|&(_, ratio)| ratio >= PREAMBLE)
    }

    /// The ratio of a PPDU's power to noise and the other winners' power, at its receiver, dB. `None` if the
    /// receiver transmits itself, or if a signal is not known.
    fn ratio_of(&self, edcaf: u32) -> Option<f64> {
        let path = &self.paths[self.head(edcaf)?.path as usize];
        let signal = ratio(path.errors.snr()?);
        let mut noise = 1.0;
        for &other in self.winners.iter().filter(|&&other| other != edcaf) {
            let device = DeviceId::try_from(other / 4).ok()?;
            if device == path.to {
                return None;
            }
            let own = || self.head(other).map(|burst| burst.path);
            let heard = self.path(device, path.to).or_else(own)?;
            noise += ratio(self.paths[heard as usize].errors.snr()?);
        }
        Some(decibels(signal / noise))
    }
}
