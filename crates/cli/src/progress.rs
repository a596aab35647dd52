//! What is shown while a run is under way: a bar on a terminal, plain lines elsewhere, nothing if asked.

use std::io::IsTerminal;

use goodqueue::Span;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How long after its end a run shows that it waits for probes that are still under way.
const DRAINING_MS: u64 = 1000;

/// What people want to see while they wait.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Latest {
    /// Where the run is, in nanoseconds from the start of the load.
    pub(crate) t_ns: i64,
    /// Goodput of the last full step, up and down, in bit/s.
    pub(crate) goodput_bps: [f64; 2],
    /// Last round-trip time.
    pub(crate) rtt_ns: i64,
}

/// Progress of a comparison, on standard error.
pub(crate) struct Progress {
    quiet: bool,
    terminal: bool,
    bar: ProgressBar,
    queue: String,
    lead_ns: i64,
    total_ms: u64,
    is_draining: bool,
    turn: usize,
    turns: usize,
}

impl Progress {
    /// Progress of `turns` queues that is shown unless `quiet`; `lead` is the idle time before the load.
    #[must_use]
    pub(crate) fn new(quiet: bool, turns: usize, lead: Span) -> Progress {
        Progress {
            quiet,
            terminal: std::io::stderr().is_terminal(),
            bar: ProgressBar::hidden(),
            queue: String::new(),
            lead_ns: i64::try_from(lead.0).unwrap_or(i64::MAX),
            total_ms: 0,
            is_draining: false,
            turn: 0,
            turns,
        }
    }

    /// A queue's turn begins and will take `length`.
    pub(crate) fn start(&mut self, queue: &str, length: Span) {
        queue.clone_into(&mut self.queue);
        self.turn += 1;
        (self.total_ms, self.is_draining) = (length.0 / 1_000_000, false);
        let of = format!("{queue} ({}/{})", self.turn, self.turns);
        if self.quiet {
            return;
        }
        if !self.terminal {
            eprintln!("goodqueue: {of}: running for {:.0} s", length.as_secs_f64());
            return;
        }
        let style = ProgressStyle::with_template("{prefix:<18} {bar:24.cyan/blue} {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        self.bar = ProgressBar::with_draw_target(Some(self.total_ms), ProgressDrawTarget::stderr_with_hz(5));
        self.bar.set_style(style);
        self.bar.set_prefix(of);
    }

    /// The newest figures.
    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn update(&mut self, latest: &Latest) {
        let done_ms = u64::try_from((latest.t_ns + self.lead_ns) / 1_000_000).unwrap_or(0);
        self.bar.set_position(done_ms.min(self.total_ms));
        let left = self.total_ms.saturating_sub(done_ms).div_ceil(1000);
        let [up, down] = latest.goodput_bps.map(|bps| bps / 1e6);
        let rtt = latest.rtt_ns as f64 / 1e6;
        if done_ms > self.total_ms + DRAINING_MS {
            self.bar.set_message(format!("waiting for the queue to drain  RTT {rtt:7.1} ms"));
            if !self.is_draining && !self.quiet && !self.terminal {
                eprintln!("goodqueue: {}: waiting for the queue to drain", self.queue);
            }
            self.is_draining = true;
            return;
        }
        self.bar
            .set_message(format!("{left:>3} s left  up {up:6.2}  down {down:6.2} Mbit/s  RTT {rtt:7.1} ms"));
    }

    /// The turn is over, `early` where it had begun and was cut short.
    pub(crate) fn finish(&mut self, early: bool) {
        self.bar.finish_and_clear();
        self.bar = ProgressBar::hidden();
        if !self.quiet && !self.terminal && early {
            eprintln!("goodqueue: {}: ended early", self.queue);
        }
    }
}
