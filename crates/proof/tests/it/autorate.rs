//! Controllers that follow a varying link: some of the bars of docs/autorate.md, which has all of them.

use goodqueue_proof::autorate::{Outcome, Path, Policy, all, bars, run, shares, spread};

fn path(name: &str) -> Path {
    all(1).into_iter().find(|path| path.name == name).expect("a link of that name")
}

fn outcome(path: &Path, policy: Policy) -> Outcome {
    run(path, policy, 1).expect("a scenario")
}

#[test]
fn a_constant_link_is_found_and_held() {
    let path = path("constant");
    let (ours, oracle) = (outcome(&path, Policy::Ours), outcome(&path, Policy::Oracle));
    for way in 0..2 {
        let shares = shares(&ours.ways[way], &oracle.ways[way]);
        assert_eq!(bars(shares), [true; 2], "{way}: {shares:?}");
        let [least, most] = spread(&ours.ways[way]);
        assert!(least > 0.5 && most < 1.5, "{way}: {least} to {most}");
    }
    let again = outcome(&path, Policy::Ours);
    assert_eq!(again.trace_hash, ours.trace_hash);
    assert_eq!(again.decisions, ours.decisions);
}

#[test]
fn an_outage_meets_the_bars() {
    let path = path("outage");
    let (ours, oracle) = (outcome(&path, Policy::Ours), outcome(&path, Policy::Oracle));
    for way in 0..2 {
        let shares = shares(&ours.ways[way], &oracle.ways[way]);
        assert_eq!(bars(shares), [true; 2], "{way}: {shares:?}");
    }
}
