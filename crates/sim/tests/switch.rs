//! What the literature says of switches: where the buffers are decides what passes.

use goodqueue::{Header, Ignore, Nanos, Rate, Rng};
use goodqueue_sim::switch::{Bound, Buffers, Switch, SwitchSpec};

const SLOTS: u64 = 20_000;

fn switch(ports: usize, buffers: Buffers, queue: &str) -> Switch<Header> {
    let queue = queue.parse().expect("a queue");
    let spec = SwitchSpec {
        inputs: ports,
        outputs: ports,
        buffers,
        queue,
        rate: Rate(1_000_000_000),
        len: 1250,
        seed: 1,
    };
    Switch::new(spec).expect("a switch")
}

/// Uniform traffic of so much of the lines' rate for a number of slots: the share of it that passed, and the mean slots
/// that a packet waited before its own.
fn uniform(switch: &mut Switch<Header>, ports: usize, load: f64) -> (f64, f64) {
    let mut draws = Rng::new(7);
    let (mut passed, mut waited) = (0_u64, 0_u64);
    for slot in 0..SLOTS {
        let now = Nanos(slot * switch.slot().0);
        for input in 0..ports {
            let draw = draws.next_u64() as f64 / u64::MAX as f64;
            let output = usize::try_from(draws.below(ports as u64)).expect("a port");
            if draw < load {
                let packet = Header { cookie: slot, len: 1250, ..Header::default() };
                let _ = switch.arrive(now, (input, output), packet, &mut Ignore);
            }
        }
        for Bound { packet, .. } in switch.send(now, &mut Ignore) {
            passed += 1;
            waited += slot - packet.cookie;
        }
    }
    (passed as f64 / (SLOTS * ports as u64) as f64, waited as f64 / passed as f64)
}

/// Karol, Hluchyj and Morgan, "Input versus output queueing on a space-division packet switch", 1987, table I: the
/// saturation throughput with input queues; for many ports 2 - sqrt 2. With 20 000 slots its standard error is below
/// 0.3 %.
#[test]
fn input_queues_pass_as_little_as_the_table_says() {
    for (ports, expected) in
        [(1, 1.0), (2, 0.75), (3, 0.6825), (4, 0.6553), (5, 0.6399), (6, 0.6302), (7, 0.6234), (8, 0.6184)]
    {
        let (passed, _) = uniform(&mut switch(ports, Buffers::Input, "pfifo:100"), ports, 1.0);
        assert!((passed - expected).abs() < 0.01, "{ports} ports: {passed}, {expected}");
    }
    let many = 64;
    let (passed, _) = uniform(&mut switch(many, Buffers::Input, "pfifo:100"), many, 1.0);
    assert!((passed - (2.0 - 2.0_f64.sqrt())).abs() < 0.01, "{passed}");
}

/// `McKeown`, "The iSLIP scheduling algorithm for input-queued switches", 1999: 100 % of uniform traffic with one round.
#[test]
fn virtual_output_queues_pass_all() {
    let (passed, _) = uniform(&mut switch(8, Buffers::Voq { rounds: 1 }, "pfifo:1000"), 8, 1.0);
    assert!(passed > 0.98, "{passed}");
    let (passed, _) = uniform(&mut switch(8, Buffers::Voq { rounds: 1 }, "pfifo:1000"), 8, 0.9);
    assert!((passed - 0.9).abs() < 0.01, "{passed}");
}

/// Karol, Hluchyj and Morgan, equation 5: with queues at the outputs the mean wait is (N - 1) / N * p / (2 (1 - p)).
#[test]
fn output_queues_wait_as_the_formula_says() {
    for load in [0.5, 0.8] {
        let (passed, waited) =
            uniform(&mut switch(8, Buffers::Output { memory: None }, "pfifo:1000"), 8, load);
        let expected = 7.0 / 8.0 * load / (2.0 * (1.0 - load));
        assert!((passed - load).abs() < 0.01);
        assert!((waited - expected).abs() < 0.1 * expected, "{load}: {waited}, {expected}");
    }
}

/// Three inputs send all they can to output 0; but of the third each tenth packet is for output 1, which nobody else
/// wants. Packets for that one that passed, of 2000, their longest wait in slots, and the most that waited in the switch.
fn beside_a_busy_output(buffers: Buffers, queue: &str) -> (u64, u64, u32) {
    let mut switch = switch(4, buffers, queue);
    let (mut passed, mut longest, mut most) = (0, 0, 0);
    for slot in 0..SLOTS {
        let now = Nanos(slot * switch.slot().0);
        for input in 0..3 {
            let output = usize::from(input == 2 && slot % 10 == 0);
            let flow_hash = if output == 1 { 0 } else { 1 << 31 };
            let packet = Header { cookie: slot, len: 1250, truesize: 1250, flow_hash, dsfield: 0 };
            let _ = switch.arrive(now, (input, output), packet, &mut Ignore);
        }
        most = most.max(switch.backlog().packets);
        for Bound { packet, output } in switch.send(now, &mut Ignore) {
            if output == 1 {
                passed += 1;
                longest = longest.max(slot - packet.cookie);
            }
        }
    }
    (passed, longest, most)
}

/// T91: "use small buffers, build switches with VOQ, FQ and AQM". The big shared buffer fills with what one output cannot
/// send, and what is for a free output finds no room; input queues let it wait behind; queues for each output do not.
#[test]
fn who_wants_a_free_output_suffers_from_a_busy_one_but_for_queues_of_its_own() {
    let (passed, longest, _) = beside_a_busy_output(Buffers::Voq { rounds: 2 }, "fq_codel");
    assert_eq!((passed, longest), (2000, 0));
    let (passed, longest, _) = beside_a_busy_output(Buffers::Output { memory: None }, "fq_codel");
    assert_eq!((passed, longest), (2000, 0));
    let (passed, _, most) = beside_a_busy_output(Buffers::Output { memory: Some(1000) }, "pfifo:1000");
    assert!(passed < 1500 && most == 1000, "{passed}");
    let (passed, longest, _) = beside_a_busy_output(Buffers::Input, "pfifo:300");
    assert!(passed < 1000 && longest > 500, "{passed} {longest}");
}
