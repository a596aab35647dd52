//! A user-defined queue beside those of the catalogue: a FIFO that drops one packet each interval while
//! packets wait too long.
//!
//! `cargo run --release -p goodqueue-sim --example own_queue`

use std::collections::VecDeque;
use std::error::Error;

use goodqueue::{Nanos, Rate, Reason, Span};
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{Discipline, Dumbbell, Flow, OwnQueue, Report, Simulation, Token};

/// At most 1000 packets. While the oldest has waited for more than `target`, one is dropped every `interval`.
#[derive(Clone, Debug)]
struct Patience {
    target: Span,
    interval: Span,
    packets: VecDeque<(Nanos, Token)>,
    next_drop: Nanos,
}

impl OwnQueue for Patience {
    fn enqueue(&mut self, now: Nanos, packet: Token, report: &mut Report<'_>) {
        if self.packets.len() == 1000 {
            return report.drop(packet, Reason::Limit);
        }
        self.packets.push_back((now, packet));
    }

    fn dequeue(&mut self, now: Nanos, report: &mut Report<'_>) -> Option<Token> {
        let (arrived, packet) = self.packets.pop_front()?;
        let waited = now.since(arrived);
        if waited <= self.target {
            self.next_drop = now + self.interval;
        } else if now >= self.next_drop && !self.packets.is_empty() {
            self.next_drop = now + self.interval;
            report.drop(packet, Reason::Codel);
            return self.packets.pop_front().map(|(_, packet)| packet);
        }
        Some(packet)
    }
}

/// The line of one queue: four CUBIC flows over 20 Mbit/s and 20 ms.
fn line(queue: Discipline) -> Result<String, Box<dyn Error>> {
    let (name, end) = (queue.to_string(), Span::from_secs(20));
    let mut scenario = Dumbbell::new(queue, Rate(20_000_000), Span::from_millis(20)).scenario();
    scenario.flows = vec![Flow::new(Dumbbell::client(0), Dumbbell::server(0), CcKind::Cubic); 4];

    let mut simulation = Simulation::new(&scenario)?;
    simulation.measure_sojourn(Dumbbell::UP, Nanos::ZERO, Nanos::ZERO + end);
    simulation.run_until(Nanos::ZERO + end);

    let link = simulation.link(Dumbbell::UP);
    let mbit = link.line().bytes as f64 * 8e-6 / end.as_secs_f64();
    let delay = link.sojourn().and_then(|times| times.quantile(0.5)).unwrap_or_default().as_millis_f64();
    let drops = link.queue().drops;
    Ok(format!("{name:<12} {mbit:6.2} Mbit/s {delay:8.2} ms in the queue, {drops} dropped"))
}

/// The lines that the example prints.
pub(crate) fn report() -> Result<Vec<String>, Box<dyn Error>> {
    let (target, interval) = (Span::from_millis(5), Span::from_millis(20));
    let patience = Patience { target, interval, packets: VecDeque::new(), next_drop: Nanos::ZERO };
    let queues = ["pfifo:1000".parse()?, "codel".parse()?, Discipline::own("patience", patience)];
    queues.into_iter().map(line).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    report()?.iter().for_each(|line| println!("{line}"));
    Ok(())
}
