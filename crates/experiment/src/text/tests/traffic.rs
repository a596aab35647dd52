//! The user's own traffic: its keys, which flows arrive, and how long they take.

use std::fs;
use std::path::PathBuf;

use goodqueue::Span;
use goodqueue_report::{Record, TransferSummary};
use goodqueue_sim::{Flow, Opener};

use super::{parse, plan, right};
use crate::Experiment;
use crate::figure::Figure;

/// Web traffic towards the client with these lines.
fn text(lines: &str) -> String {
    format!(
        "queues = [\"fq_codel\"]\n[test]\nlength = \"20s\"\nidle = \"1s\"\n[link]\nrate = \"10mbit\"\n\
         rtt = \"10ms\"\n[[traffic]]\nfrom = \"server\"\n{lines}\n"
    )
}

/// The flows of the traffic with a seed.
fn flows(text: &str, seed: u64) -> Vec<Flow> {
    right(text).variants[0].with_seed(seed).flows
}

#[test]
fn wrong_traffic_is_refused_with_its_place_and_a_cure() {
    for (lines, said) in [
        ("load = \"60%\"", "8:1: [traffic] needs `size`, as in size = \"...\""),
        (
            "size = \"10k\"",
            "8:1: nothing says how often flows come: give one of load, per_second, file and users",
        ),
        ("load = \"60%\"\nusers = 3\nsize = \"10k\"", "11:9: two say how often flows come: give one of load"),
        ("load = \"60%\"\nsize = \"10q\"", "11:8: size = \"10q\": an unknown unit"),
        ("load = \"60%\"\nsize = \"0\"", "11:8: size = \"0\": a flow sends a byte at least"),
        (
            "load = \"60%\"\nsize = \"zipf\"",
            "11:8: size = \"zipf\": there is no distribution `zipf`; write it as in 10k",
        ),
        ("load = \"0%\"\nsize = \"10k\"", "10:8: load = \"0%\": a share of a line is above 0%"),
        (
            "load = \"60%\"\nsize = \"10k\"\narrivals = \"weibull\"",
            "12:12: arrivals = \"weibull\": write poisson",
        ),
        (
            "load = \"60%\"\nsize = \"10k\"\narrivals = \"lognormal\"",
            "12:12: arrivals = \"lognormal\": write poisson",
        ),
        ("per_second = 0\nsize = \"10k\"", "10:14: per_second = 0: no flow would come"),
        ("users = 3\nthink = \"1k\"\nsize = \"10k\"", "11:9: think: an unknown unit"),
        (
            "users = 3\nsize = \"10k\"\narrivals = \"poisson\"",
            "12:12: arrivals works only with load or per_second",
        ),
        ("load = \"60%\"\nthink = \"1s\"\nsize = \"10k\"", "11:9: think works only with users: give `users`"),
        ("load = \"60%\"\nevery = \"1s\"\nsize = \"10k\"", "11:9: every works only with users: give `users`"),
        (
            "load = \"60%\"\nrequests = 3\nsize = \"10k\"",
            "11:12: requests works only with users: give `users`",
        ),
        (
            "users = 3\nthink = \"1s\"\nevery = \"1s\"\nsize = \"10k\"",
            "12:9: a user asks after a time to think, or every so often: leave one out",
        ),
        (
            "users = 3\nwatch = \"9s\"\nsize = \"1k\"",
            "11:9: a viewer watches a video, whose chunks come every",
        ),
        (
            "users = 3\nevery = \"1s\"\naway = \"9s\"\nsize = \"1k\"",
            "12:8: a viewer is away after it has watched: give `watch`",
        ),
        ("users = 3\nevery = \"1s\"\nwatch = \"9k\"\nsize = \"1k\"", "12:9: watch = \"9k\": an unknown unit"),
        (
            "users = 3\nevery = \"1s\"\nwatch = \"9s\"\nwatch_cdf = \"x\"\nsize = \"1k\"",
            "13:13: watch_cdf has the times: leave `watch` out, or this",
        ),
        (
            "users = 3\nevery = \"1s\"\nwatch_cdf = \"nowhere\"\nsize = \"1k\"",
            "12:13: watch_cdf = \"nowhere\": No such file",
        ),
        ("users = 3\nbitrate = \"1mbit\"", "11:11: bitrate works only with every"),
        (
            "users = 3\nevery = \"1s\"\nbitrate = \"1mbit\"\nsize = \"10k\"",
            "12:11: size and cdf give the size of a chunk, too",
        ),
        ("users = 3\nrequests = 0\nsize = \"10k\"", "11:12: requests = 0: "),
        ("load = \"60%\"\nsize = \"10k\"\ncdf = \"x\"", "12:7: cdf has the sizes: leave `size` out, or this"),
        ("load = \"60%\"\ncdf = \"nowhere.cdf\"", "11:7: cdf = \"nowhere.cdf\": No such file"),
        ("file = \"nowhere.csv\"\nsize = \"10k\"", "10:8: file = \"nowhere.csv\": No such file"),
        (
            "load = \"60%\"\nsize = \"10k\"\nstart = \"20s\"",
            "8:1: this traffic would start at 20s and stop at 20s",
        ),
        (
            "load = \"60%\"\nsize = \"10k\"\nto = \"server2\"",
            "12:6: from server to server2: a flow runs between",
        ),
        (
            "per_second = 100000\nsize = \"10k\"",
            "8:1: more than 100000 flows could come in a run, with seed 1",
        ),
        ("users = 10000\nsize = \"1\"", "8:1: more than 100000 flows could come in a run, with seed 1"),
    ] {
        let error = parse(&text(lines)).map(|_| ()).expect_err(lines).to_string();
        assert!(error.starts_with(&format!("x.toml:{said}")), "{error}\nfor\n{lines}");
    }
    let far = text("load = \"60%\"\nsize = \"10k\"").replace("server\"", "server2\"");
    let error = parse(&far).map(|_| ()).expect_err("no such host").to_string();
    assert_eq!(error, "x.toml:8:1: the test has no host `server2`: a [[probe]] or a [[flow]] to it adds one");
    let named = format!(
        "{}\nname = \"a\"\n[[traffic]]\nname = \"a\"\nload = \"1%\"\nsize = \"1\"\n",
        text("load = \"1%\"\nsize = \"1\"")
    );
    let error = parse(&named).map(|_| ()).expect_err("one name").to_string();
    assert_eq!(error, "x.toml:15:8: two are called \"a\"");
}

#[test]
fn a_plan_says_what_comes() {
    let said = |lines: &str| plan(&text(lines))["test"]["traffic"][0].as_str().map(str::to_owned);
    // 10 Mbit/s × 0.5 / (8 × 14 480 × 1514/1448) = 41.28 flows/s.
    assert_eq!(
        said("load = \"50%\"\nsize = \"14480\"").as_deref(),
        Some(
            "traffic 1: server to client, poisson, 5mbit offered, 41.281374 flows/s; sizes 14480; cubic, CS0"
        )
    );
    assert_eq!(
        said("name = \"rpc\"\nusers = 3\nthink = \"exponential,mean=1s\"\nsize = \"2k\"\ncc = \"bbr\"")
            .as_deref(),
        Some("rpc: server to client, 3 users who think for exponential,mean=1s; sizes 2k; bbr, CS0")
    );
}

/// Numbers of flows in a Poisson process, and in one with equal gaps; and no flow outside its time.
#[test]
fn as_many_flows_come_as_are_asked_for() {
    let lines = "per_second = 200\nsize = \"exponential,mean=1k\"\nstart = \"2s\"\nstop = \"12s\"";
    let counts: Vec<f64> = (1..=20).map(|seed| flows(&text(lines), seed).len() as f64).collect();
    let mean = counts.iter().sum::<f64>() / 20.0;
    let variance = counts.iter().map(|count| (count - mean) * (count - mean)).sum::<f64>() / 19.0;
    // Mean and variance are 2000. Standard errors: √(2000/20) = 10 and 2000 √(2/19) = 649.
    assert!((mean - 2000.0).abs() < 40.0, "{mean}");
    assert!((variance - 2000.0).abs() < 4.0 * 649.0, "{variance}");
    let all = flows(&text(lines), 1);
    let (from, until) = (Span::from_secs(3), Span::from_secs(13));
    assert!(all.iter().all(|flow| (from..until).contains(&flow.start)));
    assert!(all.windows(2).all(|pair| pair[0].start < pair[1].start));
    assert!(
        all.iter().all(|flow| flow.opener == Opener::Receiver && flow.bytes.is_some_and(|bytes| bytes > 0))
    );
    let equal = flows(&text(&format!("{lines}\narrivals = \"constant\"")), 1);
    assert_eq!(equal.len(), 2000);
    assert!(equal.windows(2).all(|pair| pair[1].start - pair[0].start == Span::from_millis(5)));
    // With the same seed the sizes are the same, no matter when they come.
    assert!(equal.iter().zip(&all).all(|(one, other)| one.bytes == other.bytes));
    assert_ne!(flows(&text(lines), 2)[0].bytes, all[0].bytes);
}

#[test]
fn users_ask_one_after_the_other() {
    let all = flows(&text("users = 2\nthink = \"1s\"\nsize = \"10k\""), 1);
    let (first, others): (Vec<_>, Vec<_>) =
        all.iter().enumerate().partition(|(_, flow)| flow.after.is_none());
    assert_eq!(first.len(), 2);
    // Each request takes at least 20 ms plus the time of its bytes: fewer than 20 fit into 19 s.
    assert!((34..40).contains(&all.len()), "{}", all.len());
    for (number, flow) in others {
        let after = flow.after.expect("it waits");
        assert_eq!(
            (after.flow, after.pause, after.until),
            (number - 1, Span::from_secs(1), Span::from_secs(21))
        );
    }
    let record = right(&text("users = 2\nthink = \"1s\"\nsize = \"10k\"")).run().expect("a run");
    let series = &record.runs[0].traffic[0];
    // 10 240 bytes with eight headers at 10 Mbit/s and two round trips: 28.6 ms.
    assert_eq!(series.ideal_ns[0], 20_000_000 + (10_240 + 8 * 66) * 800);
    assert!((36..=38).contains(&series.took_ns.len()), "{}", series.took_ns.len());
    assert!(series.took_ns.iter().zip(&series.ideal_ns).all(|(took, ideal)| took >= ideal));
}

#[test]
fn a_user_keeps_a_connection_for_some_requests() {
    let lines = "users = 2\nthink = \"1s\"\nsize = \"10k\"\nrequests = 3";
    let all = flows(&text(lines), 1);
    let is_kept = |flow: &Flow| flow.after.is_some_and(|after| after.kept);
    let first = all.iter().skip(1).position(|flow| flow.after.is_none()).expect("a second user") + 1;
    for user in [&all[..first], &all[first..]] {
        let kept: Vec<bool> = user.iter().map(is_kept).collect();
        assert!(kept.iter().zip([false, true, true].into_iter().cycle()).all(|(is, should)| *is == should));
        assert!(kept.len() > 15, "{kept:?}");
    }
    let series = right(&text(lines)).run().expect("a run").runs[0].traffic[0].clone();
    // 10 240 bytes with eight headers at 10 Mbit/s: after two round trips, or after one.
    let sent = (10_240 + 8 * 66) * 800;
    let [fresh, kept] = [20_000_000 + sent, 10_000_000 + sent];
    assert_eq!(series.ideal_ns[..2], [fresh; 2]);
    let count = |ideal| series.ideal_ns.iter().filter(|&&of| of == ideal).count();
    assert_eq!(count(fresh) + count(kept), series.ideal_ns.len());
    assert!((22..=26).contains(&count(kept)), "{}", count(kept));
    // On an empty line each flow takes its ideal time, plus the time of its request (566 bytes with headers),
    // plus at most the time of another user's data: the bytes of a flow, and packets of a handshake (74, 74
    // and 66 bytes).
    for (took, ideal) in series.took_ns.iter().zip(&series.ideal_ns) {
        assert!((*ideal..ideal + sent + (566 + 74 + 74 + 66) * 800).contains(took), "{took} {ideal}");
    }
}

#[test]
fn a_video_comes_in_chunks() {
    let lines = "users = 1\nevery = \"2s\"\nbitrate = \"4mbit\"\nrequests = 1000";
    assert_eq!(
        plan(&text(lines))["test"]["traffic"][0],
        "traffic 1: server to client, 1 users who ask every 2s, 1000 requests over a connection; \
         sizes 1000000 (2s of 4mbit); cubic, CS0"
    );
    let record = right(&text(lines)).run().expect("a run");
    let series = &record.runs[0].traffic[0];
    // The first comes within the first two seconds; the flow is on for less than half of the time at 10
    // Mbit/s, then off.
    assert_eq!(series.start_ns.len(), 10);
    assert!((0..2_000_000_000).contains(&series.start_ns[0]), "{}", series.start_ns[0]);
    assert!(series.start_ns.windows(2).all(|pair| pair[1] - pair[0] == 2_000_000_000));
    assert!(series.bytes.iter().all(|&bytes| bytes == 1_000_000));
    assert!(series.took_ns[..9].iter().all(|took| (800_000_000..1_200_000_000).contains(took)));
    // Over a line that is too slow, each chunk is requested when the previous one has arrived.
    let slow = text(lines).replace("10mbit", "3mbit").replace("20s", "60s");
    let record = right(&slow).run().expect("a run");
    let series = &record.runs[0].traffic[0];
    let ended = series.start_ns.iter().zip(&series.took_ns).map(|(start, took)| start + took);
    let pairs: Vec<_> = series.start_ns[1..].iter().zip(ended).collect();
    assert!(pairs.len() > 18 && pairs.iter().all(|(start, ended)| **start == *ended), "{pairs:?}");
}

#[test]
fn a_viewer_watches_and_pauses_to_the_nanosecond() {
    let video = "users = 1\nevery = \"500ms\"\nbitrate = \"1mbit\"\nrequests = 1000";
    let asked = |viewing: &str| -> Vec<i64> {
        let record = right(&text(&format!("{video}\n{viewing}"))).run().expect("a run");
        record.runs[0].traffic[0].start_ns.clone()
    };
    let all = asked("");
    let first = all[0];
    // Chunks 0, 500 and 1000 ms into each period of 1234567891 ns; 4 s later the next one begins.
    let found = asked("watch = \"1234567891ns\"\naway = \"4s\"");
    let chunks = (0..).flat_map(|period| [0, 1, 2].map(|chunk| period * 5_234_567_891 + chunk * 500_000_000));
    let expected: Vec<i64> = chunks.map(|at| first + at).take_while(|&at| at < 20_000_000_000).collect();
    assert_eq!(found, expected);
    assert!(found.len() >= 9, "{found:?}");
    // A chunk that is due when the period ends is not part of it; without `away` the viewer leaves.
    assert_eq!(asked("watch = \"1s\""), [first, first + 500_000_000]);
    assert_eq!(asked("watch = \"0s\""), [first]);
    // Different times in every period, but the same in every run.
    let drawn = "watch = \"exponential,mean=2s\"\naway = \"lognormal,mean=1s,sigma=0.5\"";
    let found = asked(drawn);
    assert_eq!(found, asked(drawn));
    let breaks: Vec<i64> = found.windows(2).map(|pair| pair[1] - pair[0] - 500_000_000).collect();
    assert!(breaks.contains(&0) && breaks.iter().filter(|&&more| more != 0).count() >= 2, "{breaks:?}");
    let words = plan(&text(&format!("{video}\n{drawn}")))["test"]["traffic"][0].to_string();
    let said = "every 500ms, watch for exponential,mean=2s and are away for lognormal,mean=1s,sigma=0.5, 1000 requests";
    assert!(words.contains(said), "{words}");
}

/// A folder for files of a test, removed afterwards.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn files_say_when_and_how_much() {
    let folder = Folder(std::env::temp_dir().join(format!("goodqueue-traffic-{}", std::process::id())));
    fs::create_dir_all(&folder.0).expect("a folder");
    let write = |name: &str, content: &str| fs::write(folder.0.join(name), content).expect("a file");
    write("flows.csv", "time_s,bytes\n1.5,2000\n0.25,1000\n19.5,3\n25,9\n");
    write("times.trace", "7\n7\n9000\n");
    write("sizes.cdf", "1000 0.5\n1000 0.5\n3000 100%\n");
    let read = |lines: &str| Experiment::parse(&text(lines), "x.toml", &folder.0);
    let of = |lines: &str| -> Vec<(u64, Option<u64>)> {
        let flows = read(lines).expect("an experiment").variants[0].with_seed(1).flows;
        flows.iter().map(|flow| (flow.start.0 / 1_000_000, flow.bytes)).collect()
    };
    // The idle lead-in is 1 s; flows after the end of the load are left out.
    assert_eq!(of("file = \"flows.csv\""), [(1250, Some(1000)), (2500, Some(2000)), (20_500, Some(3))]);
    assert_eq!(of("file = \"flows.csv\"\nstart = \"1s\"").len(), 2);
    assert_eq!(of("file = \"times.trace\"\nsize = \"5k\"")[2], (10_000, Some(5120)));
    let why = |lines: &str| read(lines).map(|_| ()).expect_err(lines).to_string();
    assert!(why("file = \"flows.csv\"\nsize = \"5k\"").contains("11:8: the file of arrivals has the sizes"));
    assert!(why("file = \"times.trace\"").contains("[traffic] needs `size`"));
    assert!(
        why("load = \"9%\"\ncdf = \"sizes.cdf\"")
            .contains("cdf = \"sizes.cdf\": line 3: `100%` is not a number")
    );
    write("sizes.cdf", "1000 50\n3000 100\n");
    // Half are 1000 bytes, the others are uniform between that and 3000: the mean is 1500.
    assert!(plan_words(&read("load = \"9%\"\ncdf = \"sizes.cdf\"")).contains("sizes of sizes.cdf"));
    // Every viewer watches for 2 s and is away for 8 s: with chunks of a second, two of ten.
    write("watch.cdf", "2 1\n");
    write("away.cdf", "8, 100\n");
    let viewers =
        "users = 1\nevery = \"1s\"\nbitrate = \"1mbit\"\nwatch_cdf = \"watch.cdf\"\naway_cdf = \"away.cdf\"";
    let starts: Vec<u64> = of(viewers).iter().map(|(at, _)| at - of(viewers)[0].0).collect();
    assert_eq!(starts[..4], [0, 1000, 10_000, 11_000]);
    assert!(
        plan_words(&read(viewers))
            .contains("watch for the times of watch.cdf and are away for the times of away.cdf")
    );
    let all = of("per_second = 200\ncdf = \"sizes.cdf\"");
    let mean = all.iter().filter_map(|flow| flow.1).sum::<u64>() as f64 / all.len() as f64;
    assert!((mean - 1500.0).abs() < 5.0 * 650.0 / (all.len() as f64).sqrt(), "{mean}");
}

fn plan_words(experiment: &Result<Experiment, crate::ExperimentError>) -> String {
    serde_json::to_string(&experiment.as_ref().expect("an experiment").view()).expect("JSON")
}

#[test]
fn figures_and_the_same_flows_for_each_queue() {
    let text =
        text("load = \"50%\"\nsize = \"pareto,mean=20k,shape=1.5\"").replace("[\"fq", "[\"pfifo:100\", \"fq");
    let record = right(&text).run().expect("a run");
    let [one, other] = [0, 1].map(|run| &record.runs[run].traffic[0]);
    assert_eq!((&one.start_ns, &one.bytes), (&other.start_ns, &other.bytes));
    assert_ne!(one.took_ns, other.took_ns);
    let again = right(&text).run().expect("a run");
    assert_eq!(record.runs[1].traffic, again.runs[1].traffic);
    let of = |name: &str| name.parse::<Figure>().expect(name).of(&record, &record.runs[1], &[], None);
    let summary = TransferSummary::together(&record, &record.runs[1]);
    assert_eq!(of("slowdown_mean"), summary.all.slowdown_mean);
    assert_eq!(of("fct_p99"), summary.all.p99_ns.map(|ns| ns as f64));
    assert_eq!(of("slowdown_small_p99"), summary.small.slowdown_p99);
    let (ended, open) = (summary.all.n as f64, summary.all.unfinished as f64);
    assert_eq!(of("unfinished"), Some(open / (ended + open)));
    assert!(ended > 300.0 && of("slowdown_mean") > Some(1.0));
    // It comes back from a file.
    let packed = serde_json::to_vec(&record).expect("JSON");
    let read: Record = serde_json::from_slice(&packed).expect("the same record");
    assert_eq!(read.runs[1].traffic, record.runs[1].traffic);
    assert_eq!(read.test.traffic, record.test.traffic);
}

/// The mean slowdown of processor sharing is 1 / (1 - ρ) for any distribution of sizes (Kleinrock, Queueing
/// Systems, volume 2, section 4.4). TCP flows through a queue that serves flows packet by packet share a line
/// in this way if the round trip is short compared with a flow's time on the line, and if nothing is dropped.
#[test]
fn fair_queues_are_slowed_down_as_processor_sharing_is() {
    for (load, size, rate, length, expected) in [
        ("50%", "150k", "20mbit", "120s", 2.0),
        ("75%", "150k", "20mbit", "240s", 4.0),
        ("50%", "exponential,mean=600k", "80mbit", "120s", 2.0),
    ] {
        let text = format!(
            "queues = [\"fq_codel,target=10s,interval=100s\"]\nrepetitions = 16\n\
             [test]\nlength = \"{length}\"\nidle = \"100ms\"\nprobe_interval = \"1s\"\n\
             [link]\nrate = \"{rate}\"\nrtt = \"100us\"\n\
             [[traffic]]\nload = \"{load}\"\nsize = \"{size}\"\n"
        );
        let record = right(&text).run().expect("a run");
        let slowdowns = record.runs[0].repetitions.iter().map(|one| one.slowdown_mean.expect("flows"));
        let slowdowns: Vec<f64> = slowdowns.collect();
        let estimate = goodqueue_report::Estimate::of(&slowdowns).expect("sixteen");
        // Twice half of the 95 % interval: a probability of 0.001. And the interval is narrow enough to tell.
        assert!((estimate.mean - expected).abs() < 2.0 * estimate.half, "{load} {size}: {estimate:?}");
        assert!(estimate.half < 0.07 * expected, "{load} {size}: {estimate:?}");
    }
}
