//! `cake_mq`: the tables of docs/cake-mq.md that take seconds are as they are there. The others are made by
//! the same code: `cargo run --release -p goodqueue-proof --example cake_mq -- docs`.

use goodqueue::{Rate, Span};
use goodqueue_proof::cake_mq::{LOADS, Load, RATES, fair, rates, results, table};

fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cake-mq.md");
    std::fs::read_to_string(path).expect("the page")
}

#[test]
fn the_page_shows_what_is_measured() {
    let page = page();
    for rate in &RATES[..2] {
        let table = table(*rate, &results(*rate));
        assert!(page.contains(&table), "{rate}: run the example again\n{table}");
    }
    let table = fair();
    assert!(page.contains(&table), "run the example again\n{table}");
}

/// What the page says in words.
#[test]
fn an_instance_with_little_to_send_takes_its_part_at_high_rates() {
    let time = Span::from_millis(500);
    let lost = |rate: Rate, load| {
        let [mq, one] = rates(rate, 4, load, time);
        1.0 - mq.mean / one.mean
    };
    let fast = Rate(1_000_000_000);
    assert!(lost(fast, Load::Even).abs() < 0.001);
    assert!(lost(fast, Load::Skewed) > 0.4);
    assert!(lost(Rate(100_000_000), Load::Skewed) < 0.02);
}

#[test]
fn one_instance_sends_what_cake_sends() {
    for load in LOADS {
        let [mq, one] = rates(Rate(100_000_000), 1, load, Span::from_secs(1));
        assert_eq!(mq, one, "{load}");
    }
}
