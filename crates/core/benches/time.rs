//! The cost of a packet in `fq_codel`: time, also as a multiple of that in `pfifo`. The time is a rough guide
//! on a shared machine; the multiple depends less on the machine; the count of instructions (`cost`) is
//! exact.
//!
//! `cargo bench -p goodqueue --bench time` prints a table. In each of [`ROUNDS`] rounds, first `fq_codel` and
//! then `pfifo` runs [`STEPS`] steps of the workload. The figures are the medians of the times, and of the
//! ratios of the two times of a round.

mod workload;

use std::hint::black_box;
use std::time::Instant;

use goodqueue::fifo::Limit;
use goodqueue::{Configurable, Fifo, Header, Nanos, Queue};
use workload::{LINK, Load};

const ROUNDS: usize = 2001;
/// So few that most rounds are over before other work takes the processor.
const STEPS: u32 = 2000;
/// Packets in the queue at each dequeue.
const STANDING: u32 = 1001;

/// Time of a step, ns: the mean of [`STEPS`].
fn time<Q: Queue<Header>>(load: &mut Load<Q>) -> f64 {
    let began = Instant::now();
    for _ in 0..STEPS {
        black_box(load.step());
    }
    began.elapsed().as_secs_f64() * 1e9 / f64::from(STEPS)
}

/// The median of an odd number of figures.
fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

fn main() {
    println!("| flows | STEP | fq_codel, ns | pfifo, ns | ratio |");
    println!("| --- | --- | --- | --- | --- |");
    for step in [1000, 12_112] {
        for flows in [1, 100, 1000, 100_000] {
            let mut ours = Load::new(workload::fq_codel(), STANDING, flows, step);
            let places = vec![Header::default(); STANDING as usize];
            let fifo = <Fifo<Header>>::new(Nanos(0), Limit::Packets(STANDING), LINK, places);
            let mut fifo = Load::new(fifo.expect("a queue"), STANDING, flows, step);
            let rounds: Vec<(f64, f64)> = (0..ROUNDS).map(|_| (time(&mut ours), time(&mut fifo))).collect();
            assert_eq!(fifo.drops(), 0, "the pfifo has room for all packets");
            println!(
                "| {flows} | {step} | {:.1} | {:.1} | {:.2} |",
                median(rounds.iter().map(|round| round.0).collect()),
                median(rounds.iter().map(|round| round.1).collect()),
                median(rounds.iter().map(|round| round.0 / round.1).collect())
            );
        }
    }
}
