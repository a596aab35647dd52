//! The user's own congestion controls in simulations: from shared libraries, and from a program that uses
//! this crate.

use std::cell::RefCell;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use goodqueue::{Nanos, Rate, Span};
use goodqueue_own::Library;
use goodqueue_own::cc::{CcAck, CcCalls, CcEvent, CcLibrary, CcWindow};
use goodqueue_sim::tcp::cc::{CaState, CcKind, CongestionControl, CwndEvent, RateSample, Window};

use crate::{Error, did_you_mean};

/// A congestion control as it is written: a name, or the path of a library with `:NAME=VALUE`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CcText(pub(crate) CcKind);

impl FromStr for CcText {
    type Err = String;

    fn from_str(text: &str) -> Result<CcText, String> {
        if Library::is_path(text) || text.split(':').next().is_some_and(Library::is_path) {
            return loaded(text).map(CcText);
        }
        let named = NAMED.with_borrow(|named| named.iter().copied().find(|kind| kind.name() == text));
        if let Some(kind) = named {
            return Ok(CcText(kind));
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

thread_local! {
    /// Congestion controls that have a name at present; see [`with_ccs`].
    static NAMED: RefCell<Vec<CcKind>> = const { RefCell::new(Vec::new()) };
}

/// Calls `work`, in which texts may name these user-defined congestion controls ([`own_cc`], [`CcKind::own`])
/// as they name `cubic`: flags and experiment files that are read in it, on this thread.
///
/// # Errors
/// [`Error::Usage`] if two have the same name, or one has the name of another's.
pub fn with_ccs<T>(kinds: &[CcKind], work: impl FnOnce() -> T) -> Result<T, Error> {
    for (index, kind) in kinds.iter().enumerate() {
        if kind.name().parse::<CcKind>().is_ok() {
            return Err(Error::Usage(format!("--cc {kind}: this is the name of one of ours")));
        }
        if kinds[..index].iter().any(|other| other.name() == kind.name()) {
            return Err(Error::Usage(format!("--cc {kind}: two have this name")));
        }
    }
    let before = NAMED.replace(kinds.to_vec());
    let done = work();
    NAMED.set(before);
    Ok(done)
}

/// A user-defined congestion control: `make` makes that of a connection. `is_scalable`: it responds to how
/// many packets are marked (accurate feedback of ECN, ECT(1)). As with [`CcKind::own`], the definition lives
/// as long as the process.
pub fn own_cc(
    name: &str,
    is_scalable: bool,
    make: impl Fn() -> Box<dyn CcCalls> + Send + Sync + 'static,
) -> CcKind {
    let text = name.to_owned();
    let make: Make = Arc::new(make);
    CcKind::own(name, Simulated { name: text, is_scalable, make, connection: None, timer: 0 })
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
    let own = library.clone();
    let kind = own_cc(library.words(), library.is_scalable(), move || Box::new(own.connection()));
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

/// Makes the congestion control of a connection.
type Make = Arc<dyn Fn() -> Box<dyn CcCalls> + Send + Sync>;

/// A congestion control behind the calls of the simulator. Each connection has its own.
struct Simulated {
    name: String,
    is_scalable: bool,
    make: Make,
    connection: Option<Box<dyn CcCalls>>,
    /// When its timer expires, ns; 0: it has none.
    timer: u64,
}

impl Clone for Simulated {
    fn clone(&self) -> Simulated {
        let Simulated { name, is_scalable, make, .. } = self;
        let (name, make) = (name.clone(), Arc::clone(make));
        Simulated { name, is_scalable: *is_scalable, make, connection: None, timer: 0 }
    }
}

impl fmt::Debug for Simulated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Simulated {
    /// Calls it with what the connection is like, and takes what it has set.
    fn with(&mut self, w: &mut Window, call: impl FnOnce(&mut dyn CcCalls, &mut CcWindow)) {
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
            timer: self.timer,
        };
        let before = window;
        call(connection.as_mut(), &mut window);
        self.timer = window.timer;
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
        self.connection = Some((self.make)());
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

    fn timer(&self) -> Option<Nanos> {
        (self.timer != 0).then_some(Nanos(self.timer))
    }

    fn on_timer(&mut self, w: &mut Window, now: Nanos) {
        self.timer = 0;
        self.event(w, now, CcEvent::Timer);
    }

    fn is_scalable(&self) -> bool {
        self.is_scalable
    }
}
