//! `goodqueue autorate`: shapers that follow a link whose rate varies.

mod ours;

use std::io::{IsTerminal, stdout};
use std::time::{Duration, Instant, SystemTime};

use goodqueue::autorate::{Cause, Decision, Limits};
use goodqueue::{Direction, Rate, Span};
use goodqueue_experiment::Error;
use goodqueue_router::autorate::{Autorate, Kernel, Now, Pinger, Shaper};
use goodqueue_wire::Interrupt;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use crate::args::{AutorateArgs, Shapers, shaper_rate};
use crate::output;
use crate::path_values::positive;
use crate::shape;
use crate::sqm::{interface_of, planned, shaped, told, unit};
use ours::{Ours, is_one_for_all, queues};

/// A controller begins at this part of the highest rate.
const START: u64 = 3;
/// How often the rates are printed.
const TOLD: Duration = Duration::from_secs(1);
/// The least rate that a shaper can have.
const LEAST: Rate = Rate(64_000);

/// Follows the link until it is interrupted.
///
/// # Errors
/// [`Error::Usage`] before anything is changed, [`Error::Machine`] with what this machine lacks, or if the
/// interface or a shaper disappears.
pub fn command(args: &AutorateArgs) -> Result<(), Error> {
    let limits = [limits("up", &args.up)?, limits("down", &args.down)?];
    let length = args.length.as_deref().map(|length| positive("length", length)).transpose()?;
    let starts = limits.map(|limits| limits.start);
    let [up, down] = starts.map(Some);
    let mut settings = shaped(Some(&args.interface), up, down, &args.shaper)?;
    // At low rates one cake is more exact, and the rates may be low.
    settings.multi_queue = false;
    let rights = match args.shapers {
        Shapers::Sqm => {
            planned(&settings)?;
            "CAP_NET_ADMIN CAP_NET_RAW"
        }
        Shapers::Shape => {
            let [up, _] = queues(&settings, starts)?;
            interface_of(&args.interface)?;
            if is_one_for_all(&up) {
                announce!(
                    "goodqueue: in {} the probes wait behind all other packets, so what waits here counts as \
                     a queue on the link; cake and fq_codel keep them apart",
                    up.name()
                );
            }
            shape::RIGHTS
        }
    };
    if args.systemd {
        let kind = "Type=exec\nRestart=on-failure\nRestartSec=5\nKillSignal=SIGINT\n";
        return output::print(&unit(&args.interface, "autorate", kind, rights, "")?);
    }
    // Before any thread: the signals are blocked in those that follow.
    let interrupt = Interrupt::new().map_err(Error::machine)?;
    // First: if that fails, nothing has been touched.
    let pinger = Pinger::open(&args.interface, &args.reflector).map_err(told)?;
    let session = Session { args, limits, length, interrupt };
    match args.shapers {
        Shapers::Sqm => {
            let falls_back = args.shaper.layout.is_none() && args.shaper.queue.is_none();
            let (kernel, notes) = Kernel::start(&settings, falls_back).map_err(told)?;
            for note in notes {
                announce!("goodqueue: {note}");
            }
            session.follow(kernel, pinger, |kernel| kernel.stop().map_err(told))
        }
        Shapers::Shape => session.follow(Ours::start(settings, limits)?, pinger, Ours::stop),
    }
}

/// What is asked for, whatever the shaper is.
struct Session<'a> {
    args: &'a AutorateArgs,
    limits: [Limits; 2],
    length: Option<Span>,
    interrupt: Interrupt,
}

impl Session<'_> {
    /// Follows the link until a signal, the length or the end of the shaper. `stop` restores what was there
    /// before, and says what that is.
    fn follow<S: Shaper>(
        &self,
        shaper: S,
        pinger: Pinger,
        stop: impl FnOnce(S) -> Result<String, Error>,
    ) -> Result<(), Error> {
        let mut autorate = Autorate::new(shaper, pinger, self.limits);
        let teller = Teller::new(self.args);
        let began = Instant::now();
        let mut next = began + TOLD;
        let end = loop {
            if self.interrupt.wait(Duration::ZERO).map_err(Error::machine)?.is_some() {
                break Ok(());
            }
            if self.length.is_some_and(|length| began.elapsed() >= Duration::from_nanos(length.0)) {
                break Ok(());
            }
            match autorate.step() {
                Ok(decided) => decided.iter().try_for_each(|decision| teller.decision(decision))?,
                Err(error) => break Err(Error::machine(error)),
            }
            if Instant::now() >= next {
                next += TOLD;
                teller.now(&autorate.now())?;
            }
        };
        let back = stop(autorate.end());
        teller.end(back.as_deref().unwrap_or_default())?;
        end.and(back.map(|_| ()))
    }
}

/// The rates between which a shaper is to be.
fn limits(flag: &str, text: &str) -> Result<Limits, Error> {
    let wrong = |why: String| Error::Usage(format!("--{flag} {text}: {why}"));
    let rate = |text: &str| {
        let rate = shaper_rate(text.trim()).map_err(wrong)?;
        if rate < LEAST {
            return Err(wrong(format!("a shaper has at least {LEAST}")));
        }
        Ok(rate)
    };
    let (min, max) = match text.split_once("..") {
        Some((least, most)) => (rate(least)?, rate(most)?),
        None => (rate(text)?, rate(text)?),
    };
    if min > max {
        return Err(wrong("the first rate is the lower one, as in 5mbit..20mbit".into()));
    }
    // Whole kbit/s are easier to read.
    Ok(Limits { min, start: Rate(max.0 / START / 1000 * 1000).max(min), max })
}

/// Tells what happens.
struct Teller {
    json: bool,
    quiet: bool,
    reflectors: Vec<String>,
    /// On a terminal: the line of the present rates.
    bar: Option<ProgressBar>,
}

impl Teller {
    fn new(args: &AutorateArgs) -> Teller {
        let reflectors = args.reflector.iter().map(ToString::to_string).collect();
        let is_shown = !args.json && !args.quiet && stdout().is_terminal();
        let bar = is_shown.then(|| {
            let style = ProgressStyle::with_template("{msg}").expect("a template");
            ProgressBar::no_length().with_style(style)
        });
        Teller { json: args.json, quiet: args.quiet, reflectors, bar }
    }

    fn say(&self, line: &str) -> Result<(), Error> {
        match &self.bar {
            Some(bar) => bar.suspend(|| output::print(&format!("{line}\n"))),
            None => output::print(&format!("{line}\n")),
        }
    }

    fn decision(&self, decision: &Decision) -> Result<(), Error> {
        if self.quiet {
            return Ok(());
        }
        if self.json {
            return self.say(&self.decision_json(decision).to_string());
        }
        let reflector = reflector_of(decision.cause).and_then(|number| self.reflectors.get(number));
        let of = reflector.map_or(String::new(), |address| format!(" [{address}]"));
        let seconds = decision.at.0 as f64 / 1e9;
        self.say(&format!("{seconds:9.3} s  {decision}{of}"))
    }

    fn decision_json(&self, decision: &Decision) -> Value {
        let reflector = reflector_of(decision.cause).and_then(|number| self.reflectors.get(number));
        json!({
            "event": "decision", "time": unix_time(), "at_s": decision.at.0 as f64 / 1e9,
            "direction": decision.direction.name(), "from_bps": decision.from.0, "to_bps": decision.to.0,
            "cause": cause_name(decision.cause), "reflector": reflector, "why": decision.to_string(),
        })
    }

    fn now(&self, now: &Now) -> Result<(), Error> {
        if self.json {
            let direction = |way: usize| {
                json!({
                    "rate_bps": now.rates[way].0, "load_bps": now.load_bps[way].round(),
                    "wait_ms": now.waits[way].as_millis_f64(),
                })
            };
            let line = json!({
                "event": "now", "time": unix_time(), "up": direction(0), "down": direction(1),
                "round_trip_ms": now.round_trip.map(Span::as_millis_f64),
            });
            return self.say(&line.to_string());
        }
        if let Some(bar) = &self.bar {
            let direction = |direction: Direction, way: usize| {
                format!(
                    "{} {:.1} of {:.1} Mbit/s, waits {:.0} ms",
                    direction.name(),
                    now.load_bps[way] / 1e6,
                    now.rates[way].0 as f64 / 1e6,
                    now.waits[way].as_millis_f64()
                )
            };
            let [up, down] = [direction(Direction::Up, 0), direction(Direction::Down, 1)];
            let ping = now
                .round_trip
                .map_or("no answer yet".into(), |time| format!("ping {:.1} ms", time.as_millis_f64()));
            bar.set_message(format!("{up} | {down} | {ping}"));
            bar.tick();
        }
        Ok(())
    }

    fn end(&self, what: &str) -> Result<(), Error> {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if self.json || self.quiet || what.is_empty() { Ok(()) } else { output::print(&format!("{what}\n")) }
    }
}

fn unix_time() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// The reflector that a cause is about.
const fn reflector_of(cause: Cause) -> Option<usize> {
    match cause {
        Cause::Delay { reflector, .. }
        | Cause::Unanswered { reflector, .. }
        | Cause::Unlike { reflector, .. } => Some(reflector),
        _ => None,
    }
}

const fn cause_name(cause: Cause) -> &'static str {
    match cause {
        Cause::Delay { .. } => "delay",
        Cause::Drained { .. } => "drained",
        Cause::Room { .. } => "room",
        Cause::Idle { .. } => "idle",
        Cause::Silence { .. } => "silence",
        Cause::Back { .. } => "back",
        Cause::LongerPath { .. } => "longer_path",
        Cause::Unanswered { .. } => "unanswered",
        Cause::Unlike { .. } => "unlike",
    }
}

#[cfg(test)]
mod tests {
    use goodqueue::Nanos;

    use super::*;

    #[test]
    fn a_range_of_rates_begins_at_a_third_of_the_highest() {
        let read = |text: &str| limits("up", text).map(|Limits { min, start, max }| [min.0, start.0, max.0]);
        assert_eq!(read("1mbit..30mbit").unwrap(), [1_000_000, 10_000_000, 30_000_000]);
        assert_eq!(read("20mbit..30mbit").unwrap(), [20_000_000, 20_000_000, 30_000_000]);
        assert_eq!(read("5mbit").unwrap(), [5_000_000; 3]);
        for (text, words) in [
            ("30mbit..1mbit", "the lower one"),
            ("1kbit..1mbit", "at least 64kbit"),
            ("1mbit..", "--up 1mbit..: "),
        ] {
            let error = read(text).unwrap_err();
            assert_eq!(error.code(), 2);
            assert!(error.to_string().contains(words), "{error}");
        }
    }

    #[test]
    fn a_decision_is_a_line_for_programs_too() {
        let teller = Teller { json: true, quiet: false, reflectors: vec!["192.0.2.1".into()], bar: None };
        let cause = Cause::Unanswered { reflector: 0, lost: 3 };
        let (from, to) = (Rate(5_000_000), Rate(5_000_000));
        let value = teller.decision_json(&Decision {
            at: Nanos(1_500_000_000),
            direction: Direction::Up,
            from,
            to,
            cause,
        });
        assert_eq!(value["cause"], "unanswered");
        assert_eq!(value["reflector"], "192.0.2.1");
        assert_eq!(value["at_s"], 1.5);
        assert_eq!(value["to_bps"], 5_000_000);
    }
}
