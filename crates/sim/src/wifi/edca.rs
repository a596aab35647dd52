//! EDCA: access categories, their parameters, and who transmits next.
//!
//! All devices hear each other. Idle time is counted in slots since the end of the last transmission. A
//! backoff is stored as the slot count at which it ends; there is a count for each AIFSN. So freezing a
//! backoff costs nothing, and only categories that want to transmit are examined.

use goodqueue::{Nanos, Rng, Span};

/// Parameters of a category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdcaParams {
    /// Slots after a SIFS before a backoff counts, 1 to 15.
    pub aifsn: u8,
    /// Least contention window, slots.
    pub cw_min: u16,
    /// Greatest contention window, slots.
    pub cw_max: u16,
    /// How long a device may transmit once it has the air; zero: one PPDU.
    pub txop: Span,
}

const fn params(aifsn: u8, cw_min: u16, cw_max: u16, txop_us: u64) -> EdcaParams {
    EdcaParams { aifsn, cw_min, cw_max, txop: Span::from_micros(txop_us) }
}

/// The parameters of a station, in the order of [`goodqueue::wifi::Ac::ALL`]: mac80211's defaults (Linux 6.1
/// `util.c:ieee80211_set_wmm_default`).
pub const STATION: [EdcaParams; 4] =
    [params(2, 3, 7, 1_504), params(2, 7, 15, 3_008), params(3, 15, 1023, 0), params(7, 15, 1023, 0)];
/// The parameters that an access point uses itself: those of the WMM specification, as in hostapd.
pub const ACCESS_POINT: [EdcaParams; 4] =
    [params(1, 3, 7, 1_504), params(1, 7, 15, 3_008), params(3, 15, 63, 0), params(7, 15, 1023, 0)];

/// Band of the channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Band {
    /// 2.4 GHz: a SIFS of 10 us, short slots, a signal extension of 6 us.
    Ghz2_4,
    /// 5 or 6 GHz: a SIFS of 16 us.
    #[default]
    Ghz5,
}

impl Band {
    /// A slot.
    pub const SLOT: Span = Span::from_micros(9);

    /// Short interframe space.
    #[must_use]
    pub const fn sifs(self) -> Span {
        match self {
            Band::Ghz2_4 => Span::from_micros(10),
            Band::Ghz5 => Span::from_micros(16),
        }
    }

    /// Silence after each PPDU that is not DSSS.
    #[must_use]
    pub const fn signal_extension(self) -> Span {
        match self {
            Band::Ghz2_4 => Span::from_micros(6),
            Band::Ghz5 => Span::ZERO,
        }
    }
}

/// A category of a device.
#[derive(Clone, Debug)]
struct Edcaf {
    params: EdcaParams,
    cw: u16,
    /// Its backoff ends when `passed` of its AIFSN has this value.
    ends: u64,
    /// When it began to want the air.
    since: Nanos,
    is_contending: bool,
}

/// Who transmits next.
#[derive(Debug)]
pub(super) struct Contention {
    sifs: Span,
    edcafs: Vec<Edcaf>,
    contending: Vec<u32>,
    /// The AIFSNs in use.
    aifsns: Vec<u8>,
    /// Backoff slots that have passed for each AIFSN, up to the last time the air was taken.
    passed: [u64; 16],
    /// When the air became free; `None`: it is busy.
    free_since: Option<Nanos>,
    /// Since when a category wants it, not counting the free time before the last [`Contention::release`].
    wanted_since: Option<Nanos>,
    next: Option<Nanos>,
    rng: Rng,
}

impl Contention {
    pub(super) fn new(band: Band, rng: Rng) -> Contention {
        Contention {
            sifs: band.sifs(),
            edcafs: Vec::new(),
            contending: Vec::new(),
            aifsns: Vec::new(),
            passed: [0; 16],
            free_since: Some(Nanos::ZERO),
            wanted_since: None,
            next: None,
            rng,
        }
    }

    /// Adds the four categories of a device; `4 × device + category` is the number of each.
    pub(super) fn add_device(&mut self, edca: &[EdcaParams; 4]) {
        for params in edca {
            let params = EdcaParams { aifsn: params.aifsn.clamp(1, 15), ..*params };
            let edcaf =
                Edcaf { params, cw: params.cw_min, ends: 0, since: Nanos::ZERO, is_contending: false };
            self.edcafs.push(edcaf);
            if !self.aifsns.contains(&params.aifsn) {
                self.aifsns.push(params.aifsn);
            }
        }
    }

    pub(super) fn params(&self, edcaf: u32) -> &EdcaParams {
        &self.edcafs[edcaf as usize].params
    }

    /// The earliest time at which a backoff can end, for an AIFSN.
    fn first_slot(&self, free_since: Nanos, aifsn: u8) -> Nanos {
        free_since + self.sifs + Band::SLOT * u64::from(aifsn)
    }

    /// The number of slots that have passed by `now`, for an AIFSN.
    fn passed_at(&self, now: Nanos, aifsn: u8) -> u64 {
        let before = self.passed[usize::from(aifsn)];
        let Some(free_since) = self.free_since else { return before };
        before + now.since(self.first_slot(free_since, aifsn)).0 / Band::SLOT.0
    }

    fn draw(&mut self, now: Nanos, edcaf: u32) {
        let Edcaf { params, cw, .. } = self.edcafs[edcaf as usize];
        let slots = self.rng.below(u64::from(cw) + 1);
        self.edcafs[edcaf as usize].ends = self.passed_at(now, params.aifsn) + slots;
    }

    /// When `edcaf` may transmit if the air is free since `free_since`.
    fn access(&self, edcaf: u32, free_since: Nanos) -> Nanos {
        let Edcaf { params, ends, since, .. } = &self.edcafs[edcaf as usize];
        let slots = ends.saturating_sub(self.passed[usize::from(params.aifsn)]);
        (self.first_slot(free_since, params.aifsn) + Band::SLOT * slots).max(*since)
    }

    /// A category has something to transmit.
    pub(super) fn join(&mut self, now: Nanos, edcaf: u32) {
        let at = &self.edcafs[edcaf as usize];
        if at.is_contending {
            return;
        }
        let is_over = at.ends <= self.passed_at(now, at.params.aifsn);
        let at = &mut self.edcafs[edcaf as usize];
        (at.is_contending, at.since) = (true, now);
        self.contending.push(edcaf);
        match self.free_since {
            Some(free_since) => {
                self.wanted_since.get_or_insert(now);
                let access = self.access(edcaf, free_since);
                self.next = Some(self.next.map_or(access, |next| next.min(access)));
            }
            // 10.23.2.2: the air is busy and no backoff is running.
            None if is_over => self.draw(now, edcaf),
            None => {}
        }
    }

    /// A category has nothing more to transmit.
    pub(super) fn leave(&mut self, edcaf: u32) {
        if std::mem::take(&mut self.edcafs[edcaf as usize].is_contending) {
            self.contending.retain(|&other| other != edcaf);
            self.foresee();
        }
    }

    /// Since when a category has waited for the free air.
    pub(super) fn wanted_since(&self) -> Option<Nanos> {
        self.wanted_since
    }

    /// The next access.
    pub(super) fn next(&self) -> Option<Nanos> {
        self.next
    }

    fn foresee(&mut self) {
        let Some(free_since) = self.free_since else { return self.next = None };
        self.next = self.contending.iter().map(|&edcaf| self.access(edcaf, free_since)).min();
    }

    /// The air is taken at `now`, the time of the next access. Fills in who transmits: of each device its
    /// highest category. A lower category of the same device acts as after a collision (10.23.2.4).
    pub(super) fn take(&mut self, now: Nanos, winners: &mut Vec<u32>) {
        winners.clear();
        let Some(free_since) = self.free_since else { return };
        winners.extend(self.contending.iter().filter(|&&edcaf| self.access(edcaf, free_since) == now));
        winners.sort_unstable();
        for &aifsn in &self.aifsns {
            self.passed[usize::from(aifsn)] = self.passed_at(now, aifsn);
        }
        (self.free_since, self.wanted_since, self.next) = (None, None, None);
        let mut device = u32::MAX;
        let mut kept = 0;
        for place in 0..winners.len() {
            let edcaf = winners[place];
            if edcaf / 4 == device {
                self.failed(now, edcaf);
            } else {
                device = edcaf / 4;
                winners[kept] = edcaf;
                kept += 1;
            }
        }
        winners.truncate(kept);
    }

    /// A transmission failed: the window doubles.
    pub(super) fn failed(&mut self, now: Nanos, edcaf: u32) {
        let at = &mut self.edcafs[edcaf as usize];
        at.cw = at.cw.saturating_mul(2).saturating_add(1).min(at.params.cw_max);
        self.draw(now, edcaf);
    }

    /// A transmission succeeded or was given up. A backoff follows, whether or not there is more to send.
    pub(super) fn succeeded(&mut self, now: Nanos, edcaf: u32) {
        let at = &mut self.edcafs[edcaf as usize];
        at.cw = at.params.cw_min;
        self.draw(now, edcaf);
    }

    /// The air is free from `since` on.
    pub(super) fn release(&mut self, since: Nanos) {
        self.free_since = Some(since);
        self.wanted_since = if self.contending.is_empty() { None } else { Some(Nanos::ZERO) };
        self.foresee();
    }
}

#[cfg(test)]
#[path = "edca_tests.rs"]
mod tests;
