//! Controllers that follow a varying link: each link of docs/autorate.md with its first seed.

use goodqueue_proof::autorate::{Outcome, Path, Policy, all, run, shares};

fn path(name: &str) -> Path {
    all(1).into_iter().find(|path| path.name == name).expect("a link of that name")
}

fn outcome(path: &Path, policy: Policy) -> Outcome {
    run(path, policy, 1).expect("a scenario")
}

/// Our share of the oracle's goodput and our factor of its rise were `known`, up and down. A change may lose
/// 3 % of the oracle's goodput and add 15 % to the factor, so that no link gets much worse while others get
/// better. This is one seed: a change of the simulator's TCP moves it by more than that where the medians of
/// docs/autorate.md stay (LTE, DOCSIS and Starlink on 30 November 2026).
fn is_followed(name: &str, known: [[f64; 2]; 2]) -> Outcome {
    let path = path(name);
    let (ours, oracle) = (outcome(&path, Policy::Ours), outcome(&path, Policy::Oracle));
    for (way, [goodput, factor]) in known.into_iter().enumerate() {
        let [now, rise] = shares(&ours.ways[way], &oracle.ways[way]);
        println!("{name}, {way}: goodput {now:.2}, factor {rise:.2}");
        assert!(now >= goodput - 0.03, "{name}, {way}: goodput {now:.2}, it was {goodput}");
        assert!(rise <= factor * 1.15, "{name}, {way}: factor {rise:.2}, it was {factor}");
    }
    ours
}

#[test]
fn a_constant_link_is_found_and_held() {
    let ours = is_followed("constant", [[0.97, 1.17], [0.97, 0.98]]);
    // The longest hold is 16 s, and each climb from it has two reversals: 7.5 in a minute.
    assert!(ours.ways.iter().all(|way| way.reversals < 7.5), "{:?}", ours.ways.map(|way| way.reversals));
    let again = outcome(&path("constant"), Policy::Ours);
    assert_eq!(again.trace_hash, ours.trace_hash);
    assert_eq!(again.decisions, ours.decisions);
}

#[test]
fn lte_is_followed() {
    is_followed("LTE", [[0.88, 1.16], [0.68, 0.93]]);
}

#[test]
fn docsis_is_followed() {
    is_followed("DOCSIS", [[0.92, 2.26], [0.88, 1.31]]);
}

#[test]
fn starlink_is_followed() {
    is_followed("Starlink", [[0.98, 2.36], [0.91, 1.26]]);
}

#[test]
fn an_outage_is_followed() {
    is_followed("outage", [[0.95, 0.18], [0.95, 1.13]]);
}

#[test]
fn bad_reflectors_are_put_out_of_use() {
    is_followed("bad reflectors", [[0.95, 3.27], [0.87, 1.40]]);
}

#[test]
fn clocks_may_drift() {
    is_followed("clock drift", [[0.88, 2.55], [0.86, 1.63]]);
}
