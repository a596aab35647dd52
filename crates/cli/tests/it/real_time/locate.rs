//! `goodqueue test --locate` over four routers in namespaces, with a slow line behind each of them in turn.

use std::process::Output;

use serde_json::Value;

use super::chain::{Chain, Far, has_tbf};
use super::{Scratch, goodqueue, live, stderr, stdout};

/// Client, four routers and server.
const HOSTS: usize = 6;

/// Runs a test with `--locate` over a chain whose router `router` has the queue, and gives what it has found.
fn located(router: usize, way: &str) -> Value {
    let (found, _) = with_words(router, way, |chain, far, words| chain.test(HOSTS - 2, far, words));
    found
}

/// The same by a test that `run` runs, which may prepare the chain; and the record that it has printed.
fn with_words(router: usize, way: &str, run: impl FnOnce(&Chain, &Far, &str) -> Output) -> (Value, Vec<u8>) {
    let chain = Chain::new(HOSTS);
    chain.narrow(router, if way == "up" { "right" } else { "left" });
    let far = chain.server(HOSTS - 1);
    let output = run(&chain, &far, &format!("tcp_4{way} --locate --json --length 10s --idle 3s"));
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 1)), "exit {code:?}: {}", stderr(&output));
    let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
    (record["runs"][0]["located"].clone(), output.stdout)
}

/// What people read of a record.
fn told(record: &[u8], name: &str) -> String {
    let scratch = Scratch::new(name);
    let file = scratch.path("record.json");
    std::fs::write(&file, record).expect("a file");
    let output = goodqueue().arg("report").arg(&file).output().expect("it runs");
    stdout(&output)
}

/// Router 2 sends no ICMP, or too little of it, and the queue is at the router `router`.
fn beside_a_silent_router(router: usize, way: &str, script: &str) -> (Value, String) {
    let (found, record) = with_words(router, way, |chain, far, words| {
        chain.sh(2, script);
        chain.test(HOSTS - 2, far, words)
    });
    let text = told(&record, &format!("located-{router}-{way}-{}", script.len()));
    (found, text)
}

/// Nothing that the router sends by itself leaves it; what it forwards does.
const NONE: &str = "ip rule add iif lo blackhole";
/// One message each 30 s, and two at the start (Linux `net/ipv4/inetpeer.c`, `icmp(7)`).
const RARE: &str = "echo 30000 > /proc/sys/net/ipv4/icmp_ratelimit";

#[test]
fn live_a_router_that_does_not_answer_is_said_to_be_unknown() {
    let test = "live_a_router_that_does_not_answer_is_said_to_be_unknown";
    let Some(_turn) = live(test) else { return };
    if !has_tbf(test) {
        return;
    }
    let cases: [(usize, &str, &str, [usize; 2]); 4] = [
        // The queue is elsewhere, so its place is known.
        (3, "up", NONE, [3, 4]),
        (3, "up", RARE, [3, 4]),
        // It is at the router that says nothing: between its neighbours.
        (2, "up", NONE, [1, 3]),
        (2, "down", RARE, [1, 3]),
    ];
    std::thread::scope(|scope| {
        let runs =
            cases.map(|case| (case, scope.spawn(move || beside_a_silent_router(case.0, case.1, case.2))));
        for ((router, way, script, [after, before]), run) in runs {
            let (found, text) = run.join().expect("it ends");
            let case = format!("{way}, {router}, {script}: {found}\n{text}");
            assert_eq!((&found["after"], &found["before"]), (&after.into(), &before.into()), "{case}");
            let hop = &found["hops"][1];
            assert!(hop["hop"] == 2 && hop["rise_ns"].is_null(), "{case}");
            assert_eq!(hop["address"].is_null(), script == NONE, "{case}");
            let words =
                if script == NONE { "hop 2, no address: does not answer" } else { "answers too rarely" };
            assert!(text.contains(words), "{case}");
            assert_eq!(text.contains("packets wait somewhere between"), router == 2, "{case}");
        }
    });
}

#[test]
fn live_routers_are_asked_without_any_rights() {
    let test = "live_routers_are_asked_without_any_rights";
    let Some(_turn) = live(test) else { return };
    if !has_tbf(test) {
        return;
    }
    // Where everybody can run it.
    let scratch = Scratch::new("locate-nobody");
    let copy = scratch.path("goodqueue");
    std::fs::copy(env!("CARGO_BIN_EXE_goodqueue"), &copy).expect("a copy");
    let (found, _) = with_words(2, "up", |chain, far, words| {
        let mut command = chain.inside(0, "setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"]);
        command.args(["--bounding-set=-all", "--inh-caps=-all"]).arg(&copy);
        // Everybody may select Reno.
        Chain::typed(command, HOSTS - 2, far, &format!("{words} --cc reno")).output().expect("setpriv runs")
    });
    assert_eq!((&found["after"], &found["before"]), (&2.into(), &3.into()), "{found}");
    let answers = found["hops"].as_array().expect("hops").iter().filter(|hop| hop["rise_ns"].is_i64());
    assert_eq!(answers.count(), 4, "{found}");
}

#[test]
fn live_the_router_with_the_queue_is_named() {
    let Some(_turn) = live("live_the_router_with_the_queue_is_named") else { return };
    if !has_tbf("live_the_router_with_the_queue_is_named") {
        return;
    }
    // All at once: each carries 10 Mbit/s only.
    let cases: Vec<(usize, &str)> = (1..=4).flat_map(|router| [(router, "up"), (router, "down")]).collect();
    std::thread::scope(|scope| {
        let runs: Vec<_> =
            cases.iter().map(|&(router, way)| scope.spawn(move || located(router, way))).collect();
        for (&(router, way), run) in cases.iter().zip(runs) {
            let found = run.join().expect("it ends");
            // Up: the rise begins behind the router. Down: its own answers wait in its queue.
            let (after, before) = if way == "up" { (router, router + 1) } else { (router - 1, router) };
            let before = if before > 4 { Value::Null } else { before.into() };
            assert_eq!(
                (&found["after"], &found["before"]),
                (&after.into(), &before),
                "{way}, {router}: {found}"
            );
            assert_eq!(found["hops"].as_array().map(Vec::len), Some(4), "{found}");
        }
    });
}
