//! Pages, videos, video calls and games over a real path.

use serde_json::Value;

use super::live;
use super::real_path::{Path, measured, number, pages};

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().map(|all| all.iter().map(number).collect()).unwrap_or_default()
}

#[test]
fn live_pages_videos_calls_and_games_beside_a_load() {
    let Some(_turn) = live("live_pages_videos_calls_and_games_beside_a_load") else { return };
    // The engine's own figures: 10 ms each way, and 200 packets of 1514 bytes at 20 Mbit/s are 121 ms.
    let path = Path::to_hosts([20, 20], &[20], "pfifo:200");
    let words = "tcp_2up --with web,dash,videocall,game:30 --length 8s --idle 3s";
    let record = measured(&path, words);
    let run = &record["runs"][0];
    assert!(pages(&run["web"][0]) >= 3, "{}", run["web"]);
    assert!(run["web"][0]["error"].is_null() && run["dash"][0]["error"].is_null());
    assert!(numbers(&run["dash"][0]["rx_bytes"]).iter().sum::<f64>() > 100e3, "{}", run["dash"]);
    let talks = run["talks"].as_array().expect("talks");
    for (talk, [t, took]) in talks.iter().zip([["captured_ns", "frame_took_ns"], ["sent_ns", "tick_took_ns"]])
    {
        let of = |way: &str, from: f64, to: f64| {
            let all = numbers(&talk[way][t]).into_iter().zip(numbers(&talk[way][took]));
            let mut inside: Vec<f64> =
                all.filter(|(t, _)| (from..to).contains(&(t / 1e9))).map(|(_, took)| took / 1e6).collect();
            inside.sort_by(f64::total_cmp);
            inside[inside.len() / 2]
        };
        // One way without load, whatever the clocks of the two hosts say.
        for way in ["up", "down"] {
            let idle = of(way, -2.5, 0.0);
            assert!((9.0..20.0).contains(&idle), "{way}: {idle} ms: {talk}");
        }
        let (up, down) = (of("up", 3.0, 8.0), of("down", 3.0, 8.0));
        assert!((50.0..150.0).contains(&up), "up: {up} ms in a queue of 121");
        assert!(down < 0.5 * up, "{down} ms down, {up} up");
    }
    assert_eq!(talks.len(), 2);
}

#[test]
fn live_pages_and_videos_are_served_beside_a_load_over_quic() {
    let Some(_turn) = live("live_pages_and_videos_are_served_beside_a_load_over_quic") else { return };
    let path = Path::to_hosts([20, 20], &[20], "fq_codel");
    let record = measured(&path, "tcp_2up --transport quic --with web,dash --length 6s --idle 3s");
    let (run, flows) = (&record["runs"][0], &record["test"]["flows"]);
    assert!(flows.as_array().expect("flows").iter().all(|flow| flow["transport"] == "quic"), "{flows}");
    assert!(number(&run["summary"]["goodput_up_bps"]) > 10e6, "{}", run["summary"]);
    assert!(pages(&run["web"][0]) >= 3, "{}", run["web"]);
    assert!(run["web"][0]["error"].is_null() && run["dash"][0]["error"].is_null());
    assert!(numbers(&run["dash"][0]["rx_bytes"]).iter().sum::<f64>() > 100e3, "{}", run["dash"]);
}
