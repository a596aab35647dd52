//! What is shown while a run is under way: a bar on a terminal, plain lines elsewhere, nothing if asked.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use goodqueue_experiment::{Error, Latest, Monitor, Turn};
use goodqueue_report::Record;
use goodqueue_wire::Interrupt;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A simulation that is over sooner needs no bar.
const SOON: Duration = Duration::from_secs(1);

/// How long after its end a live run shows that it waits for probes that are still under way.
const DRAINING_MS: u64 = 1000;

/// Keeps what has been measured so far.
pub(crate) type Keep<'a> = Box<dyn FnMut(&Record) -> Result<(), Error> + 'a>;

/// The command's side of a run: keeps its record, and ends it at a signal.
struct Control<'a> {
    keep: Keep<'a>,
    interrupt: Interrupt,
}

impl<'a> Control<'a> {
    fn new(keep: Keep<'a>) -> Result<Control<'a>, Error> {
        Ok(Control { keep, interrupt: Interrupt::new().map_err(Error::machine)? })
    }

    /// The signal that came, if one did. One that cannot be read leaves the run as it is; the next round asks
    /// again.
    fn stop(&mut self) -> Option<i32> {
        self.interrupt.wait(Duration::ZERO).unwrap_or(None)
    }
}

impl Drop for Control<'_> {
    fn drop(&mut self) {
        Interrupt::unblock();
    }
}

/// All simulations in one bar, on standard error: nothing for a second, then the bar.
pub(crate) struct Bar<'a> {
    control: Control<'a>,
    quiet: bool,
    times: u32,
    since: Instant,
    bar: Option<ProgressBar>,
    is_said: bool,
    /// How far each job has come, in milliseconds of virtual time, and how far it will go.
    done_ms: Vec<u64>,
    length_ms: u64,
    lead_ns: i64,
}

impl<'a> Bar<'a> {
    /// Nothing is ever shown if `quiet`.
    pub(crate) fn new(quiet: bool, keep: Keep<'a>) -> Result<Bar<'a>, Error> {
        Ok(Bar {
            control: Control::new(keep)?,
            quiet,
            times: 1,
            since: Instant::now(),
            bar: None,
            is_said: false,
            done_ms: Vec::new(),
            length_ms: 0,
            lead_ns: 0,
        })
    }

    /// Shows how far it is.
    fn tick(&mut self) {
        if self.quiet || self.since.elapsed() < SOON {
            return;
        }
        let jobs = self.done_ms.len();
        let length_ms = self.length_ms;
        if !std::io::stderr().is_terminal() {
            if !std::mem::replace(&mut self.is_said, true) {
                eprintln!("goodqueue: simulating {jobs} queues, {} s of virtual time each", length_ms / 1000);
            }
            return;
        }
        let each = length_ms * u64::from(self.times);
        let total = each.saturating_mul(jobs as u64);
        let bar = self.bar.get_or_insert_with(|| new_bar(total));
        let done: u64 = self.done_ms.iter().sum();
        bar.set_position(done);
        let over = self.done_ms.iter().filter(|&&ms| ms >= each).count();
        let virtual_s = done as f64 / 1000.0;
        let speed = virtual_s / self.since.elapsed().as_secs_f64();
        let left = total.saturating_sub(done) as f64 / 1000.0 / speed.max(1e-3);
        bar.set_message(format!(
            "{over}/{jobs} queues  {virtual_s:.0} of {} s of virtual time ({speed:.0} times real)  {left:.0} s left",
            total / 1000
        ));
    }
}

impl Monitor for Bar<'_> {
    fn plan(&mut self, turns: &[Turn], times: u32) {
        let first = turns.first();
        self.times = times;
        self.done_ms = vec![0; turns.len()];
        self.length_ms = first.map_or(0, |turn| (turn.idle + turn.load).0 / 1_000_000);
        self.lead_ns = first.map_or(0, |turn| i64::try_from(turn.idle.0).unwrap_or(0));
        (self.since, self.is_said) = (Instant::now(), false);
    }

    fn update(&mut self, turn: usize, time: u32, latest: &Latest) {
        let ms = latest.t_ns.saturating_add(self.lead_ns).max(0).cast_unsigned() / 1_000_000;
        self.done_ms[turn] = u64::from(time) * self.length_ms + ms.min(self.length_ms);
        self.tick();
    }

    fn say(&mut self, line: &str) {
        eprintln!("goodqueue: {line}");
    }

    fn close(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn keep(&mut self, record: &Record) -> Result<(), Error> {
        (self.control.keep)(record)
    }

    fn stop(&mut self) -> Option<i32> {
        self.tick();
        self.control.stop()
    }
}

fn new_bar(total_ms: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("simulating {bar:24.cyan/blue} {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::with_draw_target(Some(total_ms), ProgressDrawTarget::stderr_with_hz(5));
    bar.set_style(style);
    bar
}

/// One queue after the other, in real time: a bar for each, on standard error.
pub(crate) struct Live<'a> {
    control: Control<'a>,
    quiet: bool,
    terminal: bool,
    bar: ProgressBar,
    turns: Vec<Turn>,
    is_draining: bool,
}

impl<'a> Live<'a> {
    /// Nothing is ever shown if `quiet`.
    pub(crate) fn new(quiet: bool, keep: Keep<'a>) -> Result<Live<'a>, Error> {
        Ok(Live {
            control: Control::new(keep)?,
            quiet,
            terminal: std::io::stderr().is_terminal(),
            bar: ProgressBar::hidden(),
            turns: Vec::new(),
            is_draining: false,
        })
    }
}

/// How long a turn will take, ms.
fn length_ms(turn: &Turn) -> u64 {
    (turn.idle + turn.load).0 / 1_000_000
}

impl Monitor for Live<'_> {
    fn plan(&mut self, turns: &[Turn], _times: u32) {
        self.turns = turns.to_vec();
    }

    fn begin(&mut self, turn: usize) {
        self.is_draining = false;
        let (number, of) = (turn + 1, self.turns.len());
        let turn = &self.turns[turn];
        let of = format!("{} ({number}/{of})", turn.label);
        if self.quiet {
            return;
        }
        if !self.terminal {
            eprintln!("goodqueue: {of}: running for {:.0} s", (turn.idle + turn.load).as_secs_f64());
            return;
        }
        let style = ProgressStyle::with_template("{prefix:<18} {bar:24.cyan/blue} {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        self.bar =
            ProgressBar::with_draw_target(Some(length_ms(turn)), ProgressDrawTarget::stderr_with_hz(5));
        self.bar.set_style(style);
        self.bar.set_prefix(of);
    }

    #[allow(clippy::cast_precision_loss)]
    fn update(&mut self, turn: usize, _time: u32, latest: &Latest) {
        let turn = &self.turns[turn];
        let (lead_ns, total_ms) = (i64::try_from(turn.idle.0).unwrap_or(i64::MAX), length_ms(turn));
        let done_ms = u64::try_from((latest.t_ns + lead_ns) / 1_000_000).unwrap_or(0);
        self.bar.set_position(done_ms.min(total_ms));
        let left = total_ms.saturating_sub(done_ms).div_ceil(1000);
        let [up, down] = latest.goodput_bps.map(|bps| bps / 1e6);
        let rtt = latest.rtt_ns as f64 / 1e6;
        if done_ms > total_ms + DRAINING_MS {
            self.bar.set_message(format!("waiting for the queue to drain  RTT {rtt:7.1} ms"));
            if !self.is_draining && !self.quiet && !self.terminal {
                eprintln!("goodqueue: {}: waiting for the queue to drain", turn.label);
            }
            self.is_draining = true;
            return;
        }
        self.bar
            .set_message(format!("{left:>3} s left  up {up:6.2}  down {down:6.2} Mbit/s  RTT {rtt:7.1} ms"));
    }

    fn end(&mut self, turn: usize, early: bool) {
        self.bar.finish_and_clear();
        self.bar = ProgressBar::hidden();
        if !self.quiet && !self.terminal && early {
            eprintln!("goodqueue: {}: ended early", self.turns[turn].label);
        }
    }

    fn keep(&mut self, record: &Record) -> Result<(), Error> {
        (self.control.keep)(record)
    }

    fn stop(&mut self) -> Option<i32> {
        self.control.stop()
    }
}
