//! Three loads over a real path: in the time that they take, a busy machine gives one of them a doubt.

use serde_json::Value;

use super::super::Scratch;
use super::super::real_path::{PAYLOAD, Path, number, pages, undisturbed};
use super::live;
use crate::{goodqueue, stdout};

#[test]
fn live_a_bloated_upload_is_found_and_named() {
    let Some(_turn) = live("live_a_bloated_upload_is_found_and_named") else { return };
    let (path, scratch) = (Path::new([10, 50], 20, "pfifo:200"), Scratch::new("real-path"));
    let folder = scratch.path("line");
    let record = undisturbed(&path, &format!("--length 6s --idle 2s -o {}", folder.display()));
    assert_eq!((record["arm"].as_str(), record["runs"].as_array().map(Vec::len)), (Some("path"), Some(3)));
    let [down, up, both] = [0, 1, 2].map(|run| &record["runs"][run]["summary"]);
    // A call and a page beside each load; a video where neither direction is measured alone.
    for run in record["runs"].as_array().expect("runs") {
        assert!(run["summary"]["voip"][0].is_object() && pages(&run["web"][0]) > 1, "{}", run["web"]);
        let segments = run["dash"][0]["bitrate_bps"].as_array().map_or(0, Vec::len);
        assert_eq!(segments > 0, run["queue"] == "both", "{segments} segments beside {}", run["queue"]);
    }
    // What a direction carries alone: at most its line, and nearly that.
    for (summary, way, mbit) in [(down, "down", 50.0), (up, "up", 10.0)] {
        let goodput = number(&summary[format!("goodput_{way}_bps")]) / 1e6 / (mbit * PAYLOAD);
        assert!((0.95..=1.03).contains(&goodput), "{way}: {goodput} of what the line carries");
        let other = if way == "up" { "down" } else { "up" };
        assert_eq!(summary[format!("goodput_{other}_bps")], Value::Null, "nothing was sent {other}");
        // 200 packets of 1514 bytes take 242 ms at 10 Mbit/s and 48 ms at 50. CUBIC keeps the queue between
        // 0.7 of a full window and full.
        let full = 200.0 * 1514.0 * 8.0 / (mbit * 1e3);
        let rise = number(&summary[way]["added_p95_ns"]) / 1e6;
        assert!((0.5 * full..1.1 * full).contains(&rise), "{way}: {rise} ms of {full}");
        // The way back carries acknowledgements alone.
        let back = number(&summary[other]["added_p95_ns"]) / 1e6;
        assert!(back < 0.1 * rise, "{way}: {rise} ms, and {back} ms {other}");
    }
    assert_eq!(down["grade"]["letter"], "B");
    assert_eq!(up["grade"]["letter"], "C");
    assert!(both["goodput_up_bps"].is_u64() && both["goodput_down_bps"].is_u64());
    let page = std::fs::read_to_string(folder.join("report.html")).expect("a page");
    assert!(page.contains("make everything else wait") && page.contains("What to do:"), "the page says it");
    let kept = goodqueue().arg("report").arg(&folder).output().expect("the command starts");
    assert!(stdout(&kept).contains("SQM"), "{}", stdout(&kept));
    assert!(!page.contains(&path.word), "the key is not in what is passed on");
}
