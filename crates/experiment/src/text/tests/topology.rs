//! Networks of a known shape: their nodes and links, their keys, and the goodput of flows.

use goodqueue_report::{Direction, Record};
use goodqueue_sim::{Simulation, hops};

use super::{parse, plan, right};

/// A test of 10 s on a network with these lines.
fn text(topology: &str, load: &str) -> String {
    format!(
        "queues = [\"fq_codel\"]\ntest = {{ length = \"10s\", idle = \"1s\" }}\n[topology]\n{topology}\n{load}\n"
    )
}

const FLOW: &str = "[[flow]]\nto = \"servers\"";
const LINES: &str = "rate = \"10mbit\"\ndelay = \"2ms\"\nqueue = \"$queue\"";

#[test]
fn each_shape_has_its_links() {
    let links = |topology: &str| -> Vec<String> {
        let variant = &plan(&text(&format!("{topology}\n{LINES}"), FLOW))["variants"][0];
        let all = variant["links"].as_array().expect("links");
        all.iter().filter_map(|link| link["link"].as_str().map(str::to_owned)).collect()
    };
    assert_eq!(
        links("kind = \"dumbbell\"\npairs = 2"),
        [
            "left to right",
            "right to left",
            "client to left",
            "left to client",
            "server to right",
            "right to server",
            "client2 to left",
            "left to client2",
            "server2 to right",
            "right to server2",
        ]
    );
    let lot = links("kind = \"parking-lot\"");
    assert_eq!(lot.len(), 2 * (2 + 6));
    for link in [
        "router-0 to router-1",
        "router-1 to router-2",
        "client to router-0",
        "server to router-2",
        "client2 to router-0",
        "server2 to router-1",
        "client3 to router-1",
        "server3 to router-2",
    ] {
        assert!(lot.iter().any(|name| name == link), "{link} in {lot:?}");
    }
    // k³/4 hosts, half of them clients, and as many links above edge switches and above aggregation switches.
    for k in [2, 4, 8] {
        let tree = links(&format!("kind = \"fat-tree\"\nk = {k}"));
        assert_eq!(tree.len(), 2 * 3 * k * k * k / 4);
        let of = |name: &str| tree.iter().filter(|link| link.starts_with(name)).count();
        assert_eq!((of("client"), of("server")), (k * k * k / 8, k * k * k / 8));
    }
}

#[test]
fn a_flow_in_a_fat_tree_takes_one_of_all_shortest_paths() {
    let load = "[[flow]]\nto = \"servers\"\ncount = 16\nbytes = 20000";
    let experiment = right(&text(&format!("kind = \"fat-tree\"\nk = 4\n{LINES}"), load));
    let variant = &experiment.variants[0];
    let scenario = variant.with_seed(1);
    assert_eq!(scenario.flows.len(), 8 * 16);
    // Each client is in a different pod from its server: six links, and four paths over two aggregation
    // switches.
    let flow = &scenario.flows[0];
    let counts: Vec<usize> =
        hops(&scenario, flow.from, flow.to).expect("a way").iter().map(Vec::len).collect();
    assert_eq!(counts, [1, 2, 4, 4, 2, 1]);
    let simulation = Simulation::new(&scenario).expect("a scenario");
    let mut taken: Vec<Vec<usize>> = Vec::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        let hops = hops(&scenario, flow.from, flow.to).expect("a way");
        let path = simulation.path(index);
        assert!(path.len() == hops.len() && path.iter().zip(&hops).all(|(link, of)| of.contains(link)));
        if flow.to == scenario.flows[0].to && !taken.contains(&path) {
            taken.push(path);
        }
    }
    // The probability that 16 flows take fewer than three of the paths is 6 · 2^-16.
    assert!(taken.len() >= 3, "{taken:?}");
    // The report shows a queue that all of them pass: that of the line to the server, or to the client.
    let names = [variant.up, variant.down].map(|link| {
        let link = &scenario.links[link];
        [&scenario.nodes[link.from], &scenario.nodes[link.to]].map(String::as_str)
    });
    assert_eq!(names, [["edge-2.0", "server"], ["edge-0.0", "client"]]);
}

/// The goodput of each flow, Mbit/s.
fn goodput(record: &Record) -> Vec<f64> {
    let summary = record.summary(&record.runs[0]);
    summary.flows.iter().map(|flow| flow.goodput_bps.expect("it was active") as f64 / 1e6).collect()
}

/// Max-min fairness: in a parking lot of fair queues, the flow over all hops gets half of each, as does the
/// flow of each hop. A line of 10 Mbit/s carries 10 · 1448/1514 = 9.56 Mbit/s of payload.
#[test]
fn the_long_flow_of_a_parking_lot_gets_its_half() {
    let record =
        right(&text(&format!("kind = \"parking-lot\"\nhops = 3\n{LINES}"), FLOW)).run().expect("a run");
    let all = goodput(&record);
    assert_eq!(all.len(), 4);
    assert!(all.iter().all(|mbit| (4.4..5.1).contains(mbit)), "{all:?}");
    assert!(all[1..].iter().all(|hop| (8.9..9.57).contains(&(all[0] + hop))), "{all:?}");
    // The long flow crosses three delays each way.
    assert_eq!(record.link.rtt_ns, [12_000_000, 4_000_000, 4_000_000, 4_000_000]);
}

#[test]
fn flows_run_between_any_two_hosts() {
    let load = "[[flow]]\nfrom = \"client\"\nto = \"client2\"\n[[flow]]\nfrom = \"server5\"\nto = \"client2\"\n\
                [[flow]]\nto = \"server3\"\n[[flow]]\nfrom = \"client4\"\n\
                [[traffic]]\nfrom = \"server\"\nto = \"server2\"\nper_second = 20\nsize = \"20k\"";
    let shape = text(&format!("kind = \"fat-tree\"\nk = 4\n{LINES}"), load);
    let experiment = right(&shape);
    let scenario = &experiment.variants[0].scenario;
    let ends = |flow: &goodqueue_sim::Flow| [flow.from, flow.to].map(|node| scenario.nodes[node].clone());
    let flows: Vec<[String; 2]> = scenario.flows.iter().map(ends).collect();
    let expected =
        [["client", "client2"], ["server5", "client2"], ["client3", "server3"], ["client4", "server4"]];
    assert_eq!(flows, expected.map(|ends| ends.map(String::from)));
    let words = plan(&shape);
    let flow = words["test"]["flows"][0].as_str().expect("words").to_owned();
    assert!(flow.starts_with("TCP upload::1: client to client2, "), "{flow}");
    let traffic = words["test"]["traffic"][0].as_str().expect("words").to_owned();
    assert!(traffic.starts_with("traffic 1: server to server2, "), "{traffic}");
    // Two hosts of an edge switch: two links, with no other flow on them, so the flow gets the whole line,
    // less what the drops of one `fq_codel` cost: 5 % at most.
    let record = experiment.run().expect("a run");
    let all = goodput(&record);
    assert!((9.09..9.57).contains(&all[2]) && all.iter().all(|&mbit| mbit > 4.0), "{all:?}");
    assert_eq!(record.test.flows[1].direction, Direction::Down);
    assert!(record.runs[0].traffic[0].took_ns.len() > 100);
    for (load, said) in [
        ("[[flow]]\nfrom = \"client\"\nto = \"sever2\"", "there is no node `sever2`; there are "),
        ("[[flow]]\nfrom = \"client2\"\nto = \"client2\"", "from client2 to itself"),
    ] {
        let error = parse(&text(&format!("kind = \"dumbbell\"\npairs = 2\n{LINES}"), load));
        let error = error.map(|_| ()).expect_err(load).to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn the_pairs_of_a_dumbbell_share_its_bottleneck() {
    let access = "pairs = 3\n[topology.access]\nrate = \"1gbit\"\nup = { delay = \"1ms\" }";
    let record = right(&text(&format!("kind = \"dumbbell\"\n{LINES}\n{access}"), FLOW)).run().expect("a run");
    let all = goodput(&record);
    let sum: f64 = all.iter().sum();
    assert!((9.3..9.57).contains(&sum) && all.iter().all(|mbit| (2.9..3.5).contains(mbit)), "{all:?}");
    // 2 ms each way, plus 1 ms from each host on.
    assert_eq!(record.link.rtt_ns, [6_000_000; 3]);
    assert_eq!(record.runs[0].path.iter().filter(|queue| queue.direction == Direction::Up).count(), 7);
    assert!(record.test.flows.iter().all(|flow| flow.direction == Direction::Up));
}

#[test]
fn a_link_of_a_shape_has_a_queue_and_a_rate_of_its_own() {
    let changed = "[topology.link.router-1-router-2]\nrate = \"4mbit\"\nqueue = \"pfifo:50\"\n\
                   [[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n\
                   [variant.link.router-1-router-2]\nrate = \"5mbit\"";
    let experiment = right(&text(&format!("kind = \"parking-lot\"\n{LINES}\n{changed}"), FLOW));
    let rates = |variant: usize| -> Vec<(u64, String)> {
        let ports = experiment.variants[variant].scenario.links.iter().filter_map(|link| link.port.as_ref());
        ports.map(|port| (port.rate.0 / 1_000_000, port.queue.to_string())).collect()
    };
    let [own, other] = [(4, "pfifo:50"), (10, "fq_codel")].map(|(rate, queue)| (rate, queue.to_owned()));
    assert_eq!(rates(0), [other.clone(), other.clone(), own.clone(), own.clone()]);
    let own = (5, own.1);
    assert_eq!(rates(1), [other.clone(), other, own.clone(), own]);
}

#[test]
fn a_wrong_shape_is_refused_with_its_place_and_a_cure() {
    for (topology, said) in [
        ("k = 4", "3:1: [topology] needs `kind`"),
        ("kind = \"ring\"", "4:8: kind = \"ring\": use dumbbell, parking-lot or fat-tree"),
        ("kind = \"fat-tree\"\nk = 5\nrate = \"1gbit\"", "5:5: k = 5: a switch has an even number of ports"),
        ("kind = \"fat-tree\"\nk = 18", "5:5: k = 18: "),
        ("kind = \"dumbbell\"\nhops = 2", "5:8: hops is of another kind; the size of this one is `pairs`"),
        (
            "kind = \"dumbbell\"\nrate = \"1mbit\"\n[topology.link.left-rihgt]\nrate = \"2mbit\"",
            "6:16: no link is called `left-rihgt`; there are left-right, client-left, server-right; did you mean",
        ),
        ("kind = \"dumbbell\"\nqueue = \"codel\"", "5:9: `queue` needs a line"),
        ("kind = \"dumbbell\"", "3:1: between client and server no link has a rate or a delay"),
        (
            "kind = \"dumbbell\"\nrate = \"1mbit\"\n[link]\nrate = \"1mbit\"",
            "6:1: [topology] is a network of its own: leave link out",
        ),
    ] {
        let error = parse(&text(topology, FLOW)).map(|_| ()).expect_err(topology).to_string();
        assert!(error.starts_with(&format!("x.toml:{said}")), "{error}\nfor\n{topology}");
    }
}
