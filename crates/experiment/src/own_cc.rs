//! Congestion controls from shared libraries, in simulations.

use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use goodqueue::{Nanos, Rate, Span};
use goodqueue_own::Library;
use goodqueue_own::cc::{CcAck, CcConnection, CcEvent, CcLibrary, CcWindow};
use goodqueue_sim::tcp::cc::{CaState, CcKind, CongestionControl, CwndEvent, RateSample, Window};

use crate::did_you_mean;

/// A congestion control as it is written: a name, or the path of a library with `:NAME=VALUE`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CcText(pub(crate) CcKind);

impl FromStr for CcText {
    type Err = String;

    fn from_str(text: &str) -> Result<CcText, String> {
        if Library::is_path(text) || text.split(':').next().is_some_and(Library::is_path) {
            return loaded(text).map(CcText);
        }
        let nearest = || did_you_mean(text, &CcKind::ALL.map(CcKind::name));
        text.parse().map(CcText).map_err(|error| format!("{error}{}", nearest()))
    }
}

impl fmt::Display for CcText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The libraries so far: a definition lives as long as the process, so each is made once.
static LOADED: Mutex<Vec<(CcKind, CcLibrary)>> = Mutex::new(Vec::new());

fn loaded(text: &str) -> Result<CcKind, String> {
    let library = CcLibrary::open(text)?;
    let mut all = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    // One that has given up keeps its fault: the next run begins with another.
    let is_it = |known: &CcLibrary| known.words() == library.words() && known.fault().is_none();
    if let Some((kind, _)) = all.iter().find(|(_, known)| is_it(known)) {
        return Ok(*kind);
    }
    let control = Simulated { library: library.clone(), connection: None };
    let kind = CcKind::own(library.words(), control);
    all.push((kind, library));
    Ok(kind)
}

/// Why one of these congestion controls has given up, with its name.
pub(crate) fn fault(mut kinds: impl Iterator<Item = CcKind>) -> Option<String> {
    let mut all = None;
    kinds.find_map(|kind| {
        if !matches!(kind, CcKind::Own(_)) {
            return None;
        }
        let all = all.get_or_insert_with(|| LOADED.lock().unwrap_or_else(PoisonError::into_inner));
        let (_, library) = all.iter().find(|(known, _)| *known == kind)?;
        Some(format!("{}: {}", library.words(), library.fault()?))
    })
}

/// The congestion control of a library. Each connection has its own.
#[derive(Debug)]
struct Simulated {
    library: CcLibrary,
    connection: Option<CcConnection>,
}

impl Clone for Simulated {
    fn clone(&self) -> Simulated {
        Simulated { library: self.library.clone(), connection: None }
    }
}

impl Simulated {
    /// Calls the library with what the connection is like, and takes what it has set.
    fn with(&mut self, w: &mut Window, call: impl FnOnce(&mut CcConnection, &mut CcWindow)) {
        let Some(connection) = &mut self.connection else { return };
        let min_rtt = w.min_rtt().0;
        let mut window = CcWindow {
            cwnd: w.snd_cwnd.into(),
            pacing_bps: if w.pacing { w.sk_pacing_rate.0 } else { 0 },
            prior_cwnd: w.prior_cwnd.into(),
            in_flight: w.packets_in_flight().into(),
            delivered: w.delivered,
            srtt: w.srtt.0,
            min_rtt: if min_rtt == u64::MAX { 0 } else { min_rtt },
            mss: w.mss,
            is_limited: w.may_grow().into(),
        };
        let before = window;
        call(connection, &mut window);
        if window.cwnd != before.cwnd {
            w.snd_cwnd = u32::try_from(window.cwnd).unwrap_or(u32::MAX);
        }
        if window.pacing_bps != before.pacing_bps {
            w.pacing = window.pacing_bps > 0;
            w.sk_pacing_rate = Rate(if w.pacing { window.pacing_bps } else { u64::MAX });
        }
    }

    fn event(&mut self, w: &mut Window, now: Nanos, event: CcEvent) {
        self.with(w, |connection, window| connection.event(now, event, window));
    }
}

impl CongestionControl for Simulated {
    fn init(&mut self, w: &mut Window, now: Nanos) {
        self.connection = Some(self.library.connection());
        self.event(w, now, CcEvent::Start);
    }

    fn sets_window(&self) -> bool {
        true
    }

    fn cong_control(&mut self, w: &mut Window, now: Nanos, rs: &RateSample) {
        let rate = |(delivered, Span(ns)): (u32, Span)| {
            let bits = u128::from(delivered) * u128::from(w.mss) * 8 * 1_000_000_000;
            u64::try_from(bits / u128::from(ns.max(1))).unwrap_or(u64::MAX)
        };
        let ack = CcAck {
            acked: rs.acked_sacked.into(),
            lost: rs.losses.into(),
            marked: rs.delivered_ce.into(),
            rtt: rs.rtt.map_or(0, |rtt| rtt.0),
            prior_delivered: rs.prior_delivered,
            rate_bps: rs.delivered.zip(rs.interval).map_or(0, rate),
            is_app_limited: rs.is_app_limited.into(),
            in_recovery: matches!(w.ca_state, CaState::Recovery | CaState::Loss).into(),
        };
        self.with(w, |connection, window| connection.ack(now, &ack, window));
    }

    fn set_state(&mut self, w: &mut Window, now: Nanos, new: CaState) {
        let event = match new {
            CaState::Recovery => CcEvent::Lost,
            CaState::Cwr => CcEvent::Marked,
            CaState::Loss => CcEvent::Timeout,
            CaState::Open | CaState::Disorder if w.ca_state >= CaState::Cwr => CcEvent::Recovered,
            CaState::Open | CaState::Disorder => return,
        };
        if new != w.ca_state {
            self.event(w, now, event);
        }
    }

    fn cwnd_event(&mut self, w: &mut Window, now: Nanos, event: CwndEvent) {
        if event == CwndEvent::CwndRestart {
            self.event(w, now, CcEvent::Idle);
        }
    }

    fn is_scalable(&self) -> bool {
        self.library.is_scalable()
    }
}
