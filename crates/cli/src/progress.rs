//! Shows the progress of a run: a bar on a terminal, plain lines elsewhere, nothing with `--quiet`.
//!
//! Simulations share one bar, which appears after a second. Live runs follow one another, each with its own
//! bar.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use goodqueue_experiment::{Arm, Error, Latest, Monitor, Turn};
use goodqueue_report::Record;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::picture::Picture;
use crate::system::Interrupt;

/// A simulation that ends sooner needs no bar.
const SOON: Duration = Duration::from_secs(1);

/// How long after its end a live run shows that it waits for probes that are still in flight.
const DRAINING_MS: u64 = 1000;

/// Saves what has been measured so far.
pub(crate) type Keep<'a> = Box<dyn FnMut(&Record) -> Result<(), Error> + 'a>;

/// The command's side of a run: shows its progress, saves its record, and ends it at a signal.
pub(crate) struct Progress<'a> {
    arm: Arm,
    keep: Keep<'a>,
    interrupt: Interrupt,
    quiet: bool,
    is_terminal: bool,
    bar: Option<ProgressBar>,
    /// Of a real path.
    picture: Picture,
    turns: Vec<Turn>,
    /// How often each run is simulated.
    times: u32,
    since: Instant,
    /// Progress of each run, in milliseconds of virtual or real time.
    done_ms: Vec<u64>,
    /// Whether the only line without a terminal was printed.
    is_said: bool,
}

impl<'a> Progress<'a> {
    /// Shows nothing if `quiet`.
    pub(crate) fn new(arm: Arm, quiet: bool, keep: Keep<'a>) -> Result<Progress<'a>, Error> {
        Ok(Progress {
            arm,
            keep,
            interrupt: Interrupt::new().map_err(Error::machine)?,
            quiet,
            is_terminal: std::io::stderr().is_terminal(),
            bar: None,
            picture: Picture::default(),
            turns: Vec::new(),
            times: 1,
            since: Instant::now(),
            done_ms: Vec::new(),
            is_said: false,
        })
    }

    /// Prints a line if there is no terminal for a bar.
    fn say_plainly(&self, line: &str) {
        if !self.quiet && !self.is_terminal {
            announce!("goodqueue: {line}");
        }
    }

    /// Shows the progress of all simulations.
    fn show_simulations(&mut self) {
        if self.quiet || self.since.elapsed() < SOON {
            return;
        }
        let jobs = self.turns.len();
        let length_ms = self.turns.first().map_or(0, length_ms);
        if !self.is_terminal {
            if !std::mem::replace(&mut self.is_said, true) {
                let seconds = length_ms / 1000;
                self.say_plainly(&format!("simulating {jobs} queues, {seconds} s of virtual time each"));
            }
            return;
        }
        let each = length_ms * u64::from(self.times);
        let total = each.saturating_mul(jobs as u64);
        let bar = self.bar.get_or_insert_with(|| new_bar("simulating {bar:24.cyan/blue} {msg}", total));
        let done: u64 = self.done_ms.iter().sum();
        bar.set_position(done);
        let over = self.done_ms.iter().filter(|&&ms| ms >= each).count();
        let virtual_s = done as f64 / 1000.0;
        let speed = virtual_s / self.since.elapsed().as_secs_f64();
        let left = total.saturating_sub(done) as f64 / 1000.0 / speed.max(1e-3);
        bar.set_message(format!(
            "{over}/{jobs} queues  {virtual_s:.0} of {} s of virtual time ({speed:.0} times real)  {left:.0} \
             s left",
            total / 1000
        ));
    }

    /// Shows the progress of a live run.
    fn show_live(&mut self, turn: usize, latest: &Latest) {
        let (done_ms, total_ms) = (self.done_ms[turn], length_ms(&self.turns[turn]));
        let [up, down] = latest.goodput_bps.map(|bps| bps / 1e6);
        let rtt = latest.rtt_ns as f64 / 1e6;
        let is_draining = done_ms > total_ms + DRAINING_MS;
        if is_draining && !std::mem::replace(&mut self.is_said, true) {
            self.say_plainly(&format!("{}: waiting for the queue to drain", self.turns[turn].label));
        }
        let Some(bar) = &self.bar else { return };
        bar.set_position(done_ms.min(total_ms));
        bar.set_message(if is_draining {
            format!("waiting for the queue to drain  RTT {rtt:7.1} ms")
        } else {
            let left = total_ms.saturating_sub(done_ms).div_ceil(1000);
            if self.arm == Arm::Path {
                self.picture.note(done_ms, latest);
                return bar
                    .set_message(format!("{left:>3} s left  RTT {rtt:7.1} ms{}", self.picture.lines()));
            }
            format!("{left:>3} s left  up {up:6.2}  down {down:6.2} Mbit/s  RTT {rtt:7.1} ms")
        });
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        Interrupt::unblock();
    }
}

/// How long one run takes, ms.
fn length_ms(turn: &Turn) -> u64 {
    (turn.idle + turn.load).0 / 1_000_000
}

fn new_bar(template: &str, total_ms: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::with_draw_target(Some(total_ms), ProgressDrawTarget::stderr_with_hz(5));
    bar.with_style(style)
}

impl Monitor for Progress<'_> {
    fn plan(&mut self, turns: &[Turn], times: u32) {
        (self.turns, self.times) = (turns.to_vec(), times);
        self.done_ms = vec![0; turns.len()];
        (self.since, self.is_said) = (Instant::now(), false);
    }

    fn begin(&mut self, turn: usize) {
        if self.arm == Arm::Simulated {
            return;
        }
        (self.is_said, self.picture) = (false, Picture::default());
        let (number, of) = (turn + 1, self.turns.len());
        let turn = &self.turns[turn];
        let of = format!("{} ({number}/{of})", turn.label);
        self.say_plainly(&format!("{of}: running for {:.0} s", (turn.idle + turn.load).as_secs_f64()));
        if !self.quiet && self.is_terminal {
            let bar = new_bar("{prefix:<18} {bar:24.cyan/blue} {msg}", length_ms(turn));
            self.bar = Some(bar.with_prefix(of));
        }
    }

    fn update(&mut self, turn: usize, time: u32, latest: &Latest) {
        let idle_ns = i64::try_from(self.turns[turn].idle.0).unwrap_or(0);
        let ms = latest.t_ns.saturating_add(idle_ns).max(0).cast_unsigned() / 1_000_000;
        if self.arm != Arm::Simulated {
            self.done_ms[turn] = ms;
            return self.show_live(turn, latest);
        }
        let length_ms = length_ms(&self.turns[turn]);
        self.done_ms[turn] = u64::from(time) * length_ms + ms.min(length_ms);
        self.show_simulations();
    }

    fn end(&mut self, turn: usize, early: bool) {
        if self.arm != Arm::Simulated {
            self.close();
            if early {
                self.say_plainly(&format!("{}: ended early", self.turns[turn].label));
            }
        }
    }

    fn say(&mut self, line: &str) {
        announce!("goodqueue: {line}");
    }

    fn close(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn keep(&mut self, record: &Record) -> Result<(), Error> {
        (self.keep)(record)
    }

    /// The signal that came, if one did. If it cannot be read, the run continues and the next round asks
    /// again.
    fn stop(&mut self) -> Option<i32> {
        if self.arm == Arm::Simulated {
            self.show_simulations();
        }
        self.interrupt.wait(Duration::ZERO).unwrap_or(None)
    }
}
