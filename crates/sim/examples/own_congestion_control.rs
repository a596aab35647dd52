//! A user-defined congestion control: TCP Vegas (Brakmo and Peterson, 1995), next to CUBIC.
//!
//! `cargo run --release -p goodqueue-sim --example own_congestion_control`

use std::error::Error;

use goodqueue::{Nanos, Rate, Span};
use goodqueue_sim::tcp::cc::{CcKind, CongestionControl, Window, slow_start};
use goodqueue_sim::{Dumbbell, Flow, Simulation};

/// Keeps between `alpha` and `beta` of its segments in the queue. Everything else is Reno's.
#[derive(Clone, Debug)]
struct Vegas {
    alpha: u64,
    beta: u64,
    /// The round trip is over when this byte is acknowledged.
    round_end: u64,
}

impl CongestionControl for Vegas {
    fn cong_avoid(&mut self, w: &mut Window, _: Nanos, acked: u32) {
        if w.snd_una >= self.round_end {
            self.round_end = w.snd_nxt;
            let queueing = w.srtt.0.saturating_sub(w.min_rtt().0);
            let queued = u64::from(w.snd_cwnd) * queueing / w.srtt.0.max(1);
            if queued > self.beta {
                w.snd_cwnd -= 1;
                w.snd_ssthresh = w.snd_cwnd;
            } else if queued < self.alpha && !w.in_slow_start() {
                w.snd_cwnd += 1;
            }
        }
        if w.in_slow_start() {
            slow_start(w, acked);
        }
    }
}

/// Flows of these congestion controls share a line of 20 Mbit/s with a FIFO. Returns what each gets, and what
/// waits.
fn lines(title: &str, controls: &[CcKind]) -> Result<Vec<String>, Box<dyn Error>> {
    let end = Span::from_secs(20);
    let mut scenario =
        Dumbbell::new("pfifo:1000".parse()?, Rate(20_000_000), Span::from_millis(20)).scenario();
    let flow = |&cc| Flow::new(Dumbbell::client(0), Dumbbell::server(0), cc);
    scenario.flows = controls.iter().map(flow).collect();

    let mut simulation = Simulation::new(&scenario)?;
    simulation.measure_sojourn(Dumbbell::UP, Nanos::ZERO, Nanos::ZERO + end);
    simulation.run_until(Nanos::ZERO + end);

    let delay = simulation.link(Dumbbell::UP).sojourn().and_then(|times| times.quantile(0.5));
    let mbit = |flow: usize| simulation.flow(flow).received as f64 * 8e-6 / end.as_secs_f64();
    let flows = scenario.flows.iter().enumerate();
    let flows = flows.map(|(number, flow)| format!("  {:<8} {:6.2} Mbit/s", flow.cc, mbit(number)));
    let head = format!("{title}: median {:.2} ms in the queue", delay.unwrap_or_default().as_millis_f64());
    Ok([head].into_iter().chain(flows).collect())
}

/// The lines that the example prints.
pub(crate) fn report() -> Result<Vec<String>, Box<dyn Error>> {
    let vegas = CcKind::own("vegas", Vegas { alpha: 2, beta: 4, round_end: 0 });
    let mut all = lines("CUBIC alone", &[CcKind::Cubic])?;
    all.extend(lines("Vegas alone", &[vegas])?);
    all.extend(lines("Both", &[CcKind::Cubic, vegas])?);
    Ok(all)
}

fn main() -> Result<(), Box<dyn Error>> {
    report()?.iter().for_each(|line| println!("{line}"));
    Ok(())
}
