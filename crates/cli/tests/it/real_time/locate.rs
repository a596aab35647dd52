//! `goodqueue test --locate` over four routers in namespaces, with a slow line behind each of them in turn.

use serde_json::Value;

use super::chain::{Chain, has_tbf};
use super::live;

/// Client, four routers and server.
const HOSTS: usize = 6;

/// Runs a test with `--locate` over a chain whose router `router` has the queue, and gives what it has found.
fn located(router: usize, way: &str) -> Value {
    let chain = Chain::new(HOSTS);
    chain.narrow(router, if way == "up" { "right" } else { "left" });
    let server = chain.server(HOSTS - 1);
    let words = format!("tcp_4{way} --locate --json --length 10s --idle 3s");
    let output = chain.test(HOSTS - 2, &server, &words);
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 1)), "exit {code:?}: {}", String::from_utf8_lossy(&output.stderr));
    let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
    record["runs"][0]["located"].clone()
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
