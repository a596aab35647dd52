//! A second observer: client, home router, provider and server in a row, and the slow line in the home or
//! behind it.

use serde_json::Value;

use super::chain::{Chain, has_tbf};
use super::live;

/// The verdict on an upload or download whose queue is at `router`, and the rises of both probes' means.
fn observed(router: usize, device: &str, way: &str) -> String {
    let chain = Chain::new(4);
    chain.narrow(router, device);
    let (near, far) = (chain.server(1), chain.server(3));
    let output = chain.test(2, &far, &format!("tcp_4{way} --peer 10.0.0.2 --length 6s --idle 2s --json"));
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", super::stderr(&output));
    drop(near);
    let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
    assert_eq!(record["runs"][0]["peer"]["host"], "10.0.0.2");
    let scratch = super::Scratch::new(&format!("observer-{router}-{device}"));
    let file = scratch.path("record.json");
    std::fs::write(&file, &output.stdout).expect("a file");
    super::stdout(&super::goodqueue().arg("report").arg(&file).output().expect("the command starts"))
}

#[test]
fn live_delay_in_the_home_and_at_the_provider_are_told_apart() {
    let test = "live_delay_in_the_home_and_at_the_provider_are_told_apart";
    let Some(_turn) = live(test) else { return };
    if !has_tbf(test) {
        return;
    }
    let home = "in your own network (Wi-Fi), not at the provider";
    let provider = "at the modem or the provider, not in your own network";
    for (router, device, way, words) in [
        (0, "right", "up", home),
        (1, "left", "down", home),
        (1, "right", "up", provider),
        (2, "left", "down", provider),
    ] {
        let text = observed(router, device, way);
        assert!(text.contains(words), "{router} {device}: {text}");
        assert!(text.contains("to 10.0.0.2: ") && text.contains("to the server: "), "{text}");
    }
}
