//! A claim on a user-defined queue is judged as one on a queue of the catalogue is.

use std::collections::VecDeque;
use std::path::Path;

use goodqueue::{Nanos, Reason};
use goodqueue_experiment::Experiment;
use goodqueue_experiment::text::{Claim, Held};
use goodqueue_proof::reproduce::{self, Entry, Verdict};
use goodqueue_sim::{Discipline, OwnQueue, Report, Token};

/// A FIFO of ten packets.
#[derive(Clone, Debug, Default)]
struct Short(VecDeque<Token>);

impl OwnQueue for Short {
    fn enqueue(&mut self, _: Nanos, packet: Token, report: &mut Report<'_>) {
        if self.0.len() == 10 {
            return report.drop(packet, Reason::Limit);
        }
        self.0.push_back(packet);
    }
    fn dequeue(&mut self, _: Nanos, _: &mut Report<'_>) -> Option<Token> {
        self.0.pop_front()
    }
}

const TEXT: &str = r#"
about = "Two uploads"
repetitions = 6
[test]
name = "tcp_nup"
flows = 2
length = "6s"
[[link]]
between = ["client", "router"]
[[link]]
between = ["router", "server"]
delay = "10ms"
up = { rate = "20mbit", queue = "$queue" }
[[variant]]
name = "fq_codel"
queue = "fq_codel"
[[variant]]
name = "pfifo:1000"
queue = "pfifo:1000"
[reproduction]
title = "Short queues"
source = "Arithmetic."
text = "Ten full packets take 6 ms at 20 Mbit/s."
[[claim]]
id = "1"
kind = "expectation"
basis = "the FIFO is a thousand packets long"
what = "the FIFO's queue is long"
class = "ORDER"
figure = "rise_p95"
order = ["fq_codel", "pfifo:1000"]
"#;

#[test]
fn a_claim_on_a_queue_of_ones_own_is_judged() {
    let mut experiment = Experiment::parse(TEXT, "short.toml", Path::new("")).expect("an experiment");
    experiment.variants.push(
        experiment.variants[0].with_queue(Discipline::own("short", Short::default())).expect("a place"),
    );
    let reproduction = experiment.reproduction.as_mut().expect("claims");
    reproduction.show.push(2);
    let order = reproduction.claims[0].clone();
    let bounds = Held::Bounds { variant: 2, over: None, least: Some(1e6), most: Some(7e6) };
    reproduction.claims = vec![
        Claim { id: "2".into(), held: Held::Order(vec![0, 2, 1]), ..order.clone() },
        Claim { id: "3".into(), held: bounds, ..order.clone() },
        Claim { id: "4".into(), held: Held::Order(vec![1, 2]), ..order },
    ];
    let entry = Entry::Experiment("short".into(), experiment.into());
    let reproduced = reproduce::run(&entry, &mut ()).expect("an outcome");
    let verdicts: Vec<&Verdict> = reproduced.outcome.claims.iter().map(|row| &row.verdict).collect();
    assert_eq!(verdicts, [&Verdict::Holds, &Verdict::Holds, &Verdict::Missed], "{:?}", reproduced.outcome);
    let page = reproduce::text(&[reproduced.outcome]);
    assert!(page.contains("short"), "{page}");
}
