//! The plans that files resolve to.

use goodqueue::Span;
use goodqueue_report::Record;
use goodqueue_sim::Simulation;
use serde_json::json;

use super::{plan, right};
use crate::{Experiment, Request};

#[test]
fn a_plan_in_full() {
    let text = r#"
about = "a plan"
seeds = [4, 9]
queues = ["fq_codel"]
output = "out"
[test]
length = "10s"
idle = "1s"
[[flow]]
count = 2
from = "server"
stagger = "500ms"
bytes = "1m"
[[udp]]
rate = "1mbit"
bytes = 1000
poisson = true
[tcp]
ecn = true
[[link]]
name = "wan"
between = ["client", "server"]
rate = "100mbit"
delay = "5ms"
[link.up]
loss = "1%"
[link.down]
rate = "10mbit"
queue = "$queue"
ring = 64
bql = true
shaper = { rate = "9mbit" }
pause = { high = "64k", low = 1000 }
[[variant]]
name = "as it is"
[[variant]]
name = "far"
queue = "codel"
[variant.link.wan]
delay = "20ms"
shaper = "none"
"#;
    let far = |mut links: serde_json::Value| {
        links[1]["queue"] = json!("codel");
        links[1].as_object_mut().expect("a link").remove("shaper");
        [0, 1].iter().for_each(|&at: &usize| links[at]["delay"] = json!("20ms"));
        links
    };
    let links = json!([
        {"link": "client to server", "line": "100mbit", "queue": "pfifo:1000", "delay": "5ms", "loss": "0.01"},
        {
            "link": "server to client", "line": "10mbit", "queue": "fq_codel",
            "shaper": "htb 9mbit, burst 1514 bytes", "ring": "64 packets, BQL",
            "pause": "at 65536 bytes, on again at 1000", "delay": "5ms",
        },
    ]);
    let shown = json!({"up": "client to server", "down": "server to client"});
    let expected = json!({
        "about": "a plan",
        "test": {
            "name": "custom", "idle": "1s", "load": "10s", "start_jitter": "10ms", "step": "200ms",
            "flows": [
                "TCP download::1: server to client, cubic, CS0, 0s to 10s, 1048576 bytes",
                "TCP download::2: server to client, cubic, CS0, 500ms to 10s, 1048576 bytes",
            ],
            "probes": ["Ping (ms) UDP BE: to server, CS0, every 10ms, 60 bytes"],
            "sources": ["client to server: 1000 bytes every 8ms on average (exponential), 0s to 10s"],
        },
        "seeds": [4, 9],
        "runs": 4,
        "variants": [
            {"name": "as it is, fq_codel", "about": "a bucket per flow served in turn, new flows first, each under codel",
             "kernel": "6.1", "ecn": true, "tso": false, "ipv6": false, "rtt": ["10ms"], "shown": shown, "links": links},
            {"name": "far", "kernel": "6.1", "ecn": true, "tso": false, "ipv6": false, "rtt": ["40ms"], "shown": shown, "links": far(links.clone())},
        ],
        "output": "out",
        "warnings": [
            "the queue of server to client is in the host that sends, where TCP keeps it short whatever it is (TCP small \
             queues): put a router between, with [[link]] between = [\"server\", \"router\"] and this link from \"router\" on",
        ],
    });
    assert_eq!(plan(text), expected);
}

#[test]
fn an_empty_file_is_the_default_link_idle_under_a_probe() {
    let experiment = right("");
    let labels: Vec<&str> = experiment.variants.iter().map(|variant| variant.label.as_str()).collect();
    assert_eq!(labels, ["pfifo:1000", "codel", "fq_codel"]);
    assert_eq!(experiment.seeds, [1]);
    assert_eq!(experiment.variants[0].rtt, [Span::from_millis(20)]);
    assert_eq!((experiment.test.flows.len(), experiment.test.probes.len()), (0, 1));
}

/// A plan has no hash, so its texts are compared: they name every field.
#[test]
fn a_file_and_the_flags_are_the_same_experiment() {
    let flags = [
        ("ping", "test = \"ping\"", ""),
        (
            "rrul",
            "test = { name = \"rrul\", length = \"9s\", idle = \"1s\" }\nseed = 7",
            "--length 9s --idle 1s --seed 7",
        ),
        (
            "rtt_fair",
            "test = \"rtt_fair\"\n[link]\nup = \"5mbit\"\nrtt = \"30ms\"\nloss = \"1%\"\nring = 9\nbql = true",
            "--up 5mbit --rtt 30ms --loss 1% --ring 9 --bql",
        ),
        ("rrul46", "test = \"rrul46\"\nlink.rtt = \"30ms\"", "--rtt 30ms"),
        (
            "rrul_var",
            "test = { name = \"rrul_var\", marks = [\"CS0\", \"EF\"], cc = \"bbr,reno\", flows = 3 }",
            "--marks CS0,EF --cc bbr,reno --flows 3",
        ),
        (
            "rrul_be_nflows",
            "test = { name = \"rrul_be_nflows\", length = \"9s\", flows = [1, 3] }",
            "--length 9s --flows 1,3",
        ),
        (
            "rtt_fair_var",
            "test = \"rtt_fair_var\"\nlink.rtt = [\"10ms\", \"50ms\", \"30ms\"]",
            "--rtt 10ms,50ms,30ms",
        ),
        ("tcp_nup", "test = \"tcp_nup\"\nipv6 = true\ntcp.ecn = true", "--ipv6 --ecn"),
    ];
    for (test, text, typed) in flags {
        let typed = Experiment::of(&Request::of_words(&format!("{test} {typed}"))).expect("an experiment");
        let read = right(text);
        assert_eq!(typed.test, read.test, "{test}");
        assert_eq!((&typed.seeds, typed.variants.len()), (&read.seeds, read.variants.len()), "{test}");
        for (typed, read) in typed.variants.iter().zip(&read.variants) {
            assert_eq!(format!("{typed:?}"), format!("{read:?}"), "{test}");
        }
    }
}

#[test]
fn a_test_for_any_number_of_hosts_goes_to_every_server_of_the_file() {
    let hosts = |test: &str, rest: &str| {
        let experiment = right(&format!("test = \"{test}\"\n{rest}"));
        assert_eq!(experiment.test.probes.len(), experiment.test.hosts());
        (experiment.test.hosts(), experiment.test.flows.len())
    };
    assert_eq!(hosts("rtt_fair_var", ""), (4, 8));
    assert_eq!(hosts("rtt_fair_var_up", "link.rtt = \"10ms\"\n"), (4, 4));
    assert_eq!(hosts("rtt_fair_var_up", "link.rtt = [\"10ms\", \"50ms\"]\n"), (2, 2));
    let mut network = "[[link]]\nbetween = [\"client\", \"sw\"]\nrate = \"10mbit\"\n".to_owned();
    for (server, count) in [("server", 1), ("server2", 2), ("server3", 3)] {
        network += &format!("[[link]]\nbetween = [\"sw\", \"{server}\"]\nrate = \"1gbit\"\n");
        assert_eq!(hosts("rtt_fair_var", &network), (count, 2 * count));
    }
}

#[test]
fn the_queue_shown_is_the_one_under_comparison_else_the_slowest() {
    let text = |queue: &str| {
        let link = |ends: &str, rate: &str, more: &str| {
            format!("[[link]]\nbetween = [{ends}]\nrate = \"{rate}\"\ndelay = \"1ms\"\n{more}\n")
        };
        link("\"client\", \"a\"", "100mbit", queue)
            + &link("\"a\", \"b\"", "10mbit", "")
            + &link("\"b\", \"server\"", "10mbit", "")
    };
    let shown = |queue: &str| {
        let variant = right(&text(queue)).variants.swap_remove(0);
        (variant.up, variant.down)
    };
    // Directed links: 0 and 1 between client and a, 2 and 3 between a and b, 4 and 5 between b and server.
    assert_eq!(shown(""), (2, 5), "the first of the slowest on the way");
    assert_eq!(shown("queue = \"$queue\""), (0, 1));
    assert_eq!(shown("up = { queue = \"$queue\" }"), (0, 5));
}

#[test]
fn a_variant_changes_what_it_names_and_no_more() {
    let experiment = right(
        "queues = [\"codel\"]\nlink = { up = \"1mbit\", down = \"8mbit\", ring = 8, bql = true }\n\
         [[variant]]\nname = \"a\"\nlink = { rate = \"2mbit\", bql = false }\n\
         [[variant]]\nname = \"b\"\nlink = { down = \"3mbit\" }\n",
    );
    let rates = |index: usize| {
        let variant = &experiment.variants[index];
        [variant.up, variant.down].map(|link| {
            let port = variant.scenario.links[link].port.as_ref().expect("a line");
            (port.rate.0 / 1_000_000, port.ring.map(|ring| (ring.entries, ring.bql)))
        })
    };
    assert_eq!(rates(0), [(2, Some((8, false))), (2, Some((8, false)))]);
    assert_eq!(rates(1), [(1, Some((8, true))), (3, Some((8, true)))]);
}

/// The line about a variant is from the file, or else about the queue, if its name contains the queue.
#[test]
fn every_arm_has_a_line() {
    let text = "queues = [\"codel\", \"pfifo:9\"]\n[link]\nrate = \"10mbit\"\n[[variant]]\nname = \"near\"\n\
                [[variant]]\nname = \"far\"\nabout = \"over 80 ms\"\nqueue = \"codel\"\nlink.rtt = \"80ms\"\n\
                [[variant]]\nname = \"plain\"\nqueue = \"codel\"\n";
    let line = |queue: &str| queue.parse::<goodqueue::QueueSpec>().expect("a queue").info().doc.to_owned();
    let want: Vec<(String, String)> = vec![
        ("far".into(), "over 80 ms".into()),
        ("near, codel".into(), line("codel")),
        ("near, pfifo:9".into(), line("pfifo")),
    ];
    assert_eq!(right(text).head(Record::default()).about.into_iter().collect::<Vec<_>>(), want);
    let words = plan(text);
    assert_eq!(words["variants"][2]["about"], "over 80 ms");
    assert!(words["variants"][3].get("about").is_none());
    let flags = Request { queue: Some("codel".into()), ..Request::default() };
    let about = Experiment::of(&flags).expect("a plan").head(Record::default()).about;
    assert_eq!(about.into_iter().collect::<Vec<_>>(), [("codel".to_owned(), line("codel"))]);
}

#[test]
fn a_variant_may_be_what_puts_the_queue_there() {
    let experiment = right(
        "test = \"ping\"\nqueues = [\"codel\"]\n[[link]]\nname = \"l\"\nbetween = [\"client\", \"server\"]\n\
         rate = \"1mbit\"\n[[variant]]\nname = \"plain\"\n[[variant]]\nname = \"managed\"\n\
         link = { l = { up = { queue = \"$queue\" } } }\n",
    );
    let labels: Vec<&str> = experiment.variants.iter().map(|variant| variant.label.as_str()).collect();
    assert_eq!(labels, ["plain", "managed, codel"]);
}

#[test]
fn scenario_a_is_built_as_it_is_drawn() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/ns3-a.toml");
    let experiment = crate::experiment::Experiment::read(&file).expect("scenario A");
    let variant = &experiment.variants[0];
    assert_eq!(variant.rtt, [Span::from_micros(50_020)]);
    let scenario = variant.with_seed(1);
    let starts: Vec<Span> = variant.scenario.flows.iter().map(|flow| flow.start - scenario.origin).collect();
    let sixteenths: Vec<Span> = (0..16).map(|i| Span(i * 1_000_000_000 / 16)).collect();
    assert_eq!(starts, sixteenths);
    let port = scenario.links[variant.down].port.as_ref().expect("the bottleneck");
    assert_eq!(
        (port.rate.0, port.queue.to_string().as_str()),
        (100_000_000, "fq_codel,limit=10240,flows=1024")
    );
    let mut simulation = Simulation::new(&scenario).expect("it builds");
    // Flow i begins at 1 s + i/16 s; its first data comes two round trips later, that of flow 8 after 1.6 s.
    simulation.run_until(goodqueue::Nanos(1_600_000_000));
    let begun: Vec<bool> = (0..16).map(|flow| simulation.flow(flow).received > 0).collect();
    assert_eq!(begun, [[true; 8], [false; 8]].concat());
}

/// The total goodput of flows is compared with a link's rate only if all of them cross it.
#[test]
fn a_link_that_some_flow_does_not_cross_is_bypassed() {
    let text = r#"
[[link]]
between = ["client", "sw"]
rate = "1gbit"
[[link]]
between = ["sw", "server"]
rate = "100mbit"
[[link]]
between = ["sw", "server2"]
rate = "200mbit"
[[flow]]
to = "server"
[[flow]]
from = "server"
[[flow]]
to = "server2"
"#;
    let link = right(text).head(Record::default()).link;
    assert_eq!((link.up.rate_bps, link.down.rate_bps), (Some(100_000_000), Some(100_000_000)));
    assert!(link.up.bypassed && !link.down.bypassed);
}

/// Otherwise a report would say that there is no load.
#[test]
fn senders_of_udp_are_in_the_record() {
    let text = "test = \"ping\"\n[[link]]\nbetween = [\"client\", \"server\"]\nrate = \"1mbit\"\n";
    let sources = |text: &str| right(text).head(Record::default()).test.sources;
    assert_eq!(sources(text), 0);
    assert_eq!(sources(&format!("{text}[[udp]]\nrate = \"100kbit\"\n[[udp]]\nrate = \"10kbit\"\n")), 2);
}
