//! Errors name their line and column, and a correct value.

use super::{parse, right};
use crate::text::Stated;

/// `text` must be refused with exactly this.
#[track_caller]
fn refused(text: &str, said: &str) {
    let error = parse(text).map(|_| ()).expect_err(text).to_string();
    assert_eq!(error, format!("x.toml:{said}"), "for\n{text}");
}

/// A network of one link with these lines.
fn network(lines: &str) -> String {
    format!("test = \"ping\"\n[[link]]\nbetween = [\"client\", \"server\"]\ndelay = \"1ms\"\n{lines}\n")
}

#[test]
fn text_that_is_not_toml() {
    refused("test = ", "1:8: string values must be quoted, expected literal string");
    refused("seed = 1\nseed = 2\n", "2:1: duplicate key");
    refused("a = [", "1:6: unclosed array, expected `]`");
}

#[test]
fn versions_of_linux_that_are_not_modelled() {
    refused("[tcp]\nkernel = \"7.0\"\n", "2:10: `7.0` is no version of Linux from 3.18 to 6.1, such as 4.14");
}

#[test]
fn unknown_keys_with_the_nearest_known_one() {
    refused(
        "about = \"x\"\nseeeds = [1]\n",
        "2:1: an experiment has no key `seeeds`; it has about, test, queues, variant, seed, repetitions, seeds, \
         output, link, topology, switch, htb, wifi, ipv6, tcp, flow, probe, udp, traffic, reproduction, remark, claim, sweep; did you mean seeds?",
    );
    refused(
        "[link]\necn = true\n",
        "2:1: [link] has no key `ecn`; it has line, rate, up, down, rtt, loss, ring, bql, buffer, shape, \
         shape_up, shape_down; `ecn` is a key of [tcp]",
    );
    refused(
        "[tcp]\nseeds = [1]\n",
        "2:1: [tcp] has no key `seeds`; it has kernel, ecn, tso, gro; write `seeds` above the first table",
    );
    refused(
        &network("[link.up]\npause = { hihg = 1, low = 0 }"),
        "6:11: [link.up.pause] has no key `hihg`; it has high, low; did you mean high?",
    );
}

#[test]
fn wrong_units_and_types() {
    refused("[link]\nrate = 20\n", "2:8: `rate` is a number without a unit here; write rate = \"20mbit\"");
    refused(
        "[link]\nrate = \"20\"\n",
        "2:8: rate = \"20\": a number without a unit; write rate = \"20mbit\"",
    );
    refused("[link]\nrate = \"20ms\"\n", "2:8: rate = \"20ms\": an unknown unit; write rate = \"20mbit\"");
    refused("[link]\nrtt = 0.02\n", "2:7: `rtt` is a number without a unit here; write rtt = \"20ms\"");
    refused(
        "[link]\nrtt = [\"1ms\", 5]\n",
        "2:15: `rtt` is a number without a unit here; write rtt = \"20ms\"",
    );
    refused("[link]\nbql = 1\n", "2:7: `bql` is a whole number here; write bql = true");
    refused("test = true\n", "1:8: `test` is true or false here; write test = \"...\"");
    refused("queues = \"codel\"\n", "1:10: `queues` is a text here; write queues = [\"...\"]");
    refused("flow = 3\n", "1:8: `flow` is a whole number here; write [[flow]]");
    refused("seed = 1979-05-27\n", "1:8: `seed` is a date or time of day here; write seed = 1");
    // Columns are characters: two umlauts are four bytes.
    refused(
        "about = \"üü\" # ü\n[link]\n\"rate\"=\t7\n",
        "3:9: `rate` is a number without a unit here; write rate = \"20mbit\"",
    );
}

#[test]
fn values_out_of_range() {
    let zero = "nothing ever leaves a line of rate zero; write rate = \"20mbit\"";
    refused("[link]\nrate = \"0mbit\"\n", &format!("2:8: rate = \"0mbit\": {zero}"));
    refused(
        "[link]\nrate = \"9000gbit\"\n",
        "2:8: rate = \"9000gbit\": the maximum is 8000gbit; write rate = \"20mbit\"",
    );
    refused(
        "[link]\nrate = \"99999999999999999999gbit\"\n",
        "2:8: rate = \"99999999999999999999gbit\": not a number of at least zero; write rate = \"20mbit\"",
    );
    refused("[link]\nrtt = \"1h\"\n", "2:7: rtt = \"3600s\": must be 0s to 10s");
    refused("[link]\nring = 70000\n", "2:8: ring = 70000: must be 0 to 65536");
    let share = "a share is at least 0 and at most 1 (100%); write loss = \"0.1%\"";
    refused("[link]\nloss = 1.5\n", &format!("2:8: loss = 1.5: {share}"));
    refused("[link]\nloss = nan\n", &format!("2:8: loss = nan: {share}"));
    refused("[link]\nloss = \"-1%\"\n", &format!("2:8: loss = \"-1%\": {share}"));
    refused("repetitions = 0\n", "1:15: repetitions = 0: must be 1 to 1000");
    refused("[[flow]]\ncount = 1_000_000_000\n", "2:9: count = 1000000000: must be 1 to 100000");
    refused(
        "[[flow]]\ncount = 60000\n[[flow]]\ncount = 60000\n",
        "4:9: 120000 flows together: the maximum is 100000",
    );
    refused("[[flow]]\nbytes = 0\n", "2:9: bytes = 0: a flow sends a byte at least");
    refused("[test]\nlength = \"25h\"\n", "2:10: length = \"90000s\": must be 10ms to 86400s");
    refused("[test]\nlength = \"1s\"\nstep = \"2s\"\n", "1:1: step = \"2s\": must be at most the length, 1s");
    refused("[[udp]]\nrate = \"8000gbit\"\n", "2:8: a frame of 1514 bytes every 1ns: the minimum is 100ns");
}

#[test]
fn queues_that_do_not_exist_or_hold_no_packet() {
    let names: Vec<&str> = goodqueue::spec::CATALOGUE.iter().map(|info| info.name).collect();
    refused(
        "queues = [\"codel\", \"fqcodel\"]\n",
        &format!(
            "1:20: \"fqcodel\": no queue `fqcodel`; there are {}; `goodqueue queues` lists them; did you mean fq_codel?",
            names.join(", ")
        ),
    );
    refused(
        "queues = [\"pfifo:0\"]\n",
        "1:11: \"pfifo:0\": pfifo: limit=0: out of range; expected packets, 1 to 4194304; \
         `goodqueue queues` lists them",
    );
    refused("queues = []\n", "1:10: no queue is named: there is nothing to compare");
    refused("queues = [\"codel\", \"codel\"]\n", "1:20: codel is named twice");
    refused(
        &network("rate = \"1mbit\"\nqueue = \"bfifo:1000\""),
        "6:9: bfifo:1000 at 1mbit: no full packet of 1514 bytes fits into limit=1000",
    );
    refused(
        &network("rate = \"1mbit\"\nqueue = \"fifo:1ms\""),
        "6:9: fifo:1ms at 1mbit: it holds 125 bytes, less than a full packet of 1514",
    );
    refused(
        &network("rate = \"1mbit\"\nqueue = \"pfifo:4194304\"\nlanes = 1024\nring = 1"),
        "2:1: the queues and rings up to here have room for 4294968320 packets, but the maximum is 8388608",
    );
}

#[test]
fn keys_that_contradict_each_other() {
    let line = "needs a line: give the link a rate, a schedule, a trace or a shaper";
    refused(&network("queue = \"codel\""), &format!("5:9: `queue` {line}"));
    refused(&network("ring = 1"), &format!("5:8: `ring` {line}"));
    refused(&network("rate = \"1mbit\"\nbql = true"), "6:7: bql keeps a ring short: give `ring` too");
    refused(&network("rate = \"1mbit\"\ncoalesce = \"1us\""), "6:12: coalesce is a ring's: give `ring` too");
    refused(&network("rate = \"1mbit\"\nlanes = 4"), "6:9: 4 hardware queues need a ring each: give `ring`");
    refused(
        &network("rate = \"1mbit\"\nqueue = \"cake_mq,queues=2\"\nlanes = 4\nring = 9"),
        "7:9: cake_mq,queues=2 has an instance in each of the 4 lanes: leave `queues` out, or make them equal",
    );
    refused(
        &network("rate = \"1mbit\"\ntrace = \"example.trace\""),
        "6:9: a line has one of rate, schedule and trace; leave the others out",
    );
    refused(&network("period = \"1s\""), "5:10: period needs a schedule, which begins again after it");
    refused(
        &network("schedule = [[\"1s\", \"1mbit\"]]"),
        "5:12: schedule: the first rate of a schedule is not from 0s",
    );
    refused(&network("schedule = [[\"0s\", \"0bit\"]]"), "5:12: schedule: all rates of the schedule are 0");
    refused(
        &network("rate = \"1mbit\"\npause = { high = 10, low = 10 }"),
        "6:9: pause at 10 and go on at 10 bytes: low must be less",
    );
    refused(
        &network("shaper = { rate = \"1mbit\", kind = \"tbf\", burst = 1000 }"),
        "5:50: burst of 1000 bytes: must be 1514 to 4294967295",
    );
    refused("seed = 1\nseeds = [1, 2]\n", "1:8: seeds names them all: leave seed and repetitions out");
    refused("seeds = [3, 4, 3]\n", "1:16: seed 3 is named twice: it would give the same run");
    refused(
        "[test]\ncc = \"reno\"\n",
        "2:6: `cc` is of a test of the catalogue: give its `name`, or use [[flow]]",
    );
    refused("[[udp]]\nrate = \"1mbit\"\non = \"1s\"\n", "3:6: on and off go together: give both");
    refused(
        "[[flow]]\ncount = 10\nstagger = \"10s\"\n",
        "1:1: the last of these flows would begin at 90s, and they stop at 30s",
    );
    refused("[[flow]]\nstop = \"31s\"\n", "2:8: stop = \"31s\": the load ends at 30s");
}

#[test]
fn networks_without_a_route() {
    let link = |ends: &str| format!("[[link]]\nbetween = [{ends}]\ndelay = \"1ms\"\n");
    refused(&link("\"client\", \"client\""), "2:22: a link from client to itself");
    refused(&link("\"client\""), "2:11: between names two ends, not 1");
    refused("[[link]]\ndelay = \"1ms\"\n", "1:1: [link] needs `between`, as in between = [\"...\"]");
    refused(
        &link("\"client\", \"a b\""),
        "2:22: \"a b\" is not a valid name for an end of a link: a name has 1 to 40 letters, digits, `_`, `-` or `.`",
    );
    refused(&link("\"a\", \"server\""), "1:1: no link ends at `client`, the host from which the tests run");
    refused(&link("\"client\", \"a\""), "1:1: no link ends at `server`, the host that the tests run to");
    let apart = link("\"client\", \"a\"") + &link("\"b\", \"server\"");
    refused(&apart, "1:1: no route from client to server");
    let gap = link("\"client\", \"server\"") + &link("\"client\", \"server3\"");
    refused(&gap, "4:1: `server3` without `server2`: servers are numbered on from server");
    let twice = link("\"client\", \"server\"") + &link("\"server\", \"client\"");
    refused(&twice, "4:1: `client-server` joins server and client already, and packets take one way");
    refused(
        "[[link]]\nbetween = [\"client\", \"server\"]\n",
        "1:1: between client and server no link has a rate or a delay: no time would pass",
    );
    let far = "[[flow]]\nto = \"server9\"\n".to_owned() + &link("\"client\", \"server\"");
    refused(&far, "2:6: there is no node `server9`; there are client, server; did you mean server?");
    let lost = "[[udp]]\nrate = \"1mbit\"\nto = \"moon\"\n".to_owned() + &link("\"client\", \"server\"");
    refused(&lost, "3:6: there is no node `moon`; there are client, server");
}

#[test]
fn too_large_experiments_are_refused_at_once() {
    let links: String =
        (0..5000).map(|i| format!("[[link]]\nbetween = [\"client\", \"n{i}\"]\nname = \"l{i}\"\n")).collect();
    refused(&links, "12289:1: more than 4096 links");
    let queues = vec!["\"codel\""; 100_000].join(",");
    refused(&format!("queues = [{queues}]"), "1:10: 100000 queues: the maximum is 1000");
    let others = "[[probe]]\n".repeat(1001);
    refused(&others, "1001:1: more than 1000 of [[probe]]");
    let sides: String = (0..400).map(|i| format!("[[variant]]\nname = \"{i}\"\n")).collect();
    refused(&sides, "668:8: more than 1000 combinations of variant and queue");
    refused(
        "repetitions = 1000\nqueues = [\"codel\"]\n[[flow]]\ncount = 100000\n",
        "1:1: 1000 runs with 100007000 links, flows, probes and sources together: the maximum is 2000000",
    );
    let deep = "a = ".to_owned() + &"[".repeat(100_000);
    assert!(parse(&deep).is_err());
}

#[test]
fn a_loop_is_harmless_and_an_idle_link_is_named() {
    let link = |ends: &str| format!("[[link]]\nbetween = [{ends}]\ndelay = \"1ms\"\nrate = \"10mbit\"\n");
    let ring = link("\"client\", \"a\"")
        + &link("\"a\", \"b\"")
        + &link("\"b\", \"client\"")
        + &link("\"b\", \"server\"");
    let experiment = right(&format!("test = \"ping\"\n{ring}"));
    assert_eq!(
        experiment.warnings,
        ["no packet takes the link client to a", "no packet takes the link a to b"]
    );
    assert_eq!(experiment.variants[0].rtt, [goodqueue::Span::from_millis(4)]);
}

#[test]
fn variants_without_effect_or_with_contradictions() {
    refused("[[variant]]\nqueue = \"codel\"\n", "1:1: [variant] needs `name`, as in name = \"...\"");
    refused(
        "[[variant]]\nname = \"a\"\nqueue = \"codel\"\n[[variant]]\nname = \"a\"\nqueue = \"pfifo\"\n",
        "5:8: two are called \"a\": give each a name of its own",
    );
    let about = |line: &str| format!("[[variant]]\nname = \"a\"\nabout = \"{line}\"\n");
    refused(&about(" "), "3:9: about is empty: it is one line below the pictures, or leave it out");
    refused(
        &about("a\\nb"),
        "3:9: about has a line break or another control character: it is one line below the pictures",
    );
    refused(
        &about(&"ä".repeat(91)),
        "3:9: about has 91 characters: it is one line below the pictures, of 90 at most",
    );
    let net = network("rate = \"1mbit\"");
    refused(
        &format!("{net}[[variant]]\nname = \"a\"\n[variant.link.client-sever]\ndelay = \"1s\"\n"),
        "8:15: no link is called `client-sever`; there are client-server; did you mean client-server?",
    );
    refused(
        &format!("{net}[[variant]]\nname = \"a\"\nqueue = \"codel\"\n"),
        "8:9: no link has queue = \"$queue\", which this would replace",
    );
}

#[test]
fn wrong_traces() {
    let folder = std::env::temp_dir().join(format!("goodqueue-experiment-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let said = |content: Option<&str>| {
        let file = folder.join("a.trace");
        let _ = std::fs::remove_file(&file);
        if let Some(content) = content {
            std::fs::write(&file, content).expect("a file");
        }
        let text = network("trace = \"a.trace\"");
        super::Experiment::parse(&text, "x.toml", &folder).map(|_| ()).expect_err("no trace").to_string()
    };
    assert_eq!(said(Some("")), "x.toml:5:9: trace = \"a.trace\": the trace is empty");
    assert_eq!(
        said(Some("0\n")),
        "x.toml:5:9: trace = \"a.trace\": the trace takes no time: its last stamp is 0"
    );
    assert!(said(None).starts_with("x.toml:5:9: trace = \"a.trace\": No such file"), "{}", said(None));
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn unknown_tests() {
    refused(
        "test = \"rrull\"\n",
        "1:8: no test is called `rrull`; `goodqueue tests` lists them; did you mean rrul?",
    );
    refused("test = \"weather-map\"\n", "1:8: no test is called `weather-map`; `goodqueue tests` lists them");
    refused(
        "test = { name = \"tcp_nup\", cc = \"rneo\" }\n",
        "1:33: cc = \"rneo\": no congestion control `rneo`; there are reno, cubic, bbr, dctcp, prague, ledbat, westwood, vegas, cdg, lp; \
         did you mean reno?",
    );
    refused("test = \"rrul46\"\nipv6 = true\n", "1:1: rrul46 has both IP versions: leave ipv6 out");
    refused(
        "test = { name = \"rrul_var\", cc = \"bbr,rneo\" }\n",
        "1:34: cc = \"bbr,rneo\": no congestion control `rneo`; there are reno, cubic, bbr, dctcp, prague, ledbat, westwood, vegas, cdg, lp; \
         did you mean reno?",
    );
    refused(
        "test = { name = \"rrul\", marks = [\"EF\"] }\n",
        "1:17: marks: the flows of `rrul` have none of their own; those of rrul_var do; `goodqueue tests` lists the tests",
    );
    refused("test = { name = \"rrul_var\", flows = [1] }\n", "1:37: `flows` is a list here; write flows = 1");
    refused(
        "test = { name = \"rrul_var\", flows = \"8\" }\n",
        "1:37: `flows` is a text here; write flows = 1",
    );
    refused("test = { name = \"rrul_var\", flows = [1, 0] }\n", "1:41: flows = 0: must be 1 to 1000");
    refused(
        "test = { name = \"tcp_nup\", flows = [2, 8] }\n",
        "1:17: `tcp_nup` takes one number of flows, not one for each direction: --flows 2, or in a file `flows = 2`; \
         `goodqueue tests` lists the tests",
    );
    refused(
        "[[link]]\nbetween = [\"client\", \"server\"]\ndelay = \"1ms\"\n[test]\nname = \"rtt_fair\"\n",
        "5:8: `rtt_fair` needs 4 server hosts, there are 1; `goodqueue tests` lists the tests",
    );
}

/// A switch with these lines, from client over `sw` to server.
fn switched(lines: &str) -> String {
    let link = |ends: &str, more: &str| format!("[[link]]\nbetween = [{ends}]\nrate = \"1mbit\"\n{more}");
    let links = link("\"client\", \"sw\"", "") + &link("\"sw\", \"server\"", "");
    format!("{links}[[switch]]\n{lines}\n")
}

#[test]
fn wrong_switches() {
    refused(&switched("buffers = \"voq\""), "7:1: [switch] needs `node`, as in node = \"...\"");
    refused(
        &switched("node = \"sw\"\nbuffers = \"crossbar\""),
        "9:11: buffers = \"crossbar\": use voq, input, output or shared; write buffers = \"voq\"",
    );
    refused(
        &switched("node = \"ws\""),
        "8:8: no link ends at `ws`; there are client, sw, server; did you mean sw?",
    );
    refused(&switched("node = \"client\""), "8:8: `client` is a host: a switch goes between hosts");
    refused(&switched("node = \"sw\"\n[[switch]]\nnode = \"sw\""), "10:8: `sw` is a switch already");
    refused(
        &switched("node = \"sw\"\nmemory = 1000"),
        "9:10: memory = 1000: no full packet of 1514 bytes fits into it; write memory = \"64k\"",
    );
    refused(
        &switched("node = \"sw\"\nqueue = \"tbf,rate=1mbit,burst=2k,limit=9k\""),
        "9:9: tbf,rate=1mbit,burst=2k,limit=9k holds packets back, and a switch sends whenever an output is free",
    );
    refused(
        "[link]\nrate = \"1mbit\"\n[[switch]]\nnode = \"sw\"\n",
        "3:1: a switch is a node of a network: give the links as [[link]]",
    );
    refused(
        &(switched("node = \"sw\"") + "[[udp]]\nfrom = \"sw\"\nrate = \"1mbit\"\n"),
        "10:8: `sw` is a switch: no host is there",
    );
    refused(
        &(switched("node = \"sw\"") + "[tcp]\ntso = true\n"),
        "8:8: a switch takes no super-packets, which are cut before: leave tso out of [tcp]",
    );
    refused(
        &(switched("node = \"sw\"") + "[tcp]\ngro = \"50us\"\n"),
        "8:8: a switch takes no super-packets, which are cut before: leave gro out of [tcp]",
    );
    refused(
        &(switched("node = \"sw\"") + "[[variant]]\nname = \"a\"\nswitch.ws = { buffers = \"input\" }\n"),
        "11:8: no switch is at `ws`; there are sw; did you mean sw?",
    );
}

#[test]
fn outputs_of_a_switch_that_are_not_plain_lines() {
    let out = |more: &str, lines: &str| {
        format!(
            "[[link]]\nbetween = [\"client\", \"sw\"]\nrate = \"1mbit\"\n[[link]]\nbetween = [\"sw\", \"server\"]\n\
             {more}\n[[switch]]\nnode = \"sw\"\n{lines}\n"
        )
    };
    refused(&out("delay = \"1ms\"", ""), "8:8: `sw` is a switch: its link to server needs a rate");
    refused(
        &out("rate = \"1mbit\"\nring = 9", ""),
        "7:8: `sw` is a switch: its outputs have a queue and a line, and no `ring`",
    );
    refused(
        &out("schedule = [[\"0s\", \"1mbit\"]]", ""),
        "6:12: `sw` is a switch: its line to server has one rate",
    );
    refused(
        &out("rate = \"1mbit\"\nqueue = \"codel\"", "buffers = \"input\""),
        "7:9: `sw` is a switch: its packets wait in no queue of an output: give [[switch]] the `queue`",
    );
}

/// Pictures of goodput and round trips over time have figures that say what they show; other pictures have
/// none.
#[test]
fn a_picture_without_figures_in_words_needs_a_headline() {
    let reproduction = |more: &str| {
        network(&format!(
            "[reproduction]\ntitle = \"t\"\nsource = \"s\"\ntext = \"x\"\n{more}\n[[claim]]\nid = \"1\"\nwhat = \"w\"\n\
             kind = \"expectation\"\nbasis = \"b\"\nclass = \"SHAPE\"\nfigure = \"rtt_p50\"\nvariant = \"all\"\nat_most = \"1s\"\n\
             [[variant]]\nname = \"all\""
        ))
    };
    let said = |more: &str| parse(&reproduction(more)).map(|_| ()).expect_err(more).to_string();
    for picture in ["histogram", "airtime", "shares", "video"] {
        let error = said(&format!("picture = \"{picture}\""));
        assert!(
            error.contains("`headline` is missing: a sentence that says what the picture shows"),
            "{error}"
        );
        right(&reproduction(&format!("picture = \"{picture}\"\nheadline = \"It waits\"")));
    }
    right(&reproduction("picture = \"overview\""));
    let error = said("picture = \"dots\"\nheadline = \"It waits\"");
    assert!(error.contains("picture = \"dots\" and `dots` go together"), "{error}");
    let error = said("pair = \"BQL\"");
    assert!(error.contains("pair = \"BQL\" is for picture = \"dots\""), "{error}");
    let error = said("picture = \"dots\"\nheadline = \"It waits\"\ndots = [\"rtt_p50\"]\npair = \"BQL\"");
    assert!(error.contains("no two variants are shown as NAME and \"NAME, BQL\""), "{error}");
    let error = said("delays = [\"fast\", \"slow\"]");
    assert!(error.contains("`delays` and `delays_of` go together: stations, and variants"), "{error}");
    let error = said("delays = [\"fast\"]\ndelays_of = [\"all\"]");
    assert!(error.contains("delays = [\"LINE\", \"DOTS\"]: two names of stations"), "{error}");
    let error = said("delays = [\"fast\", \"slow\"]\ndelays_of = [\"all\"]");
    assert!(error.contains("there are no stations without [wifi]"), "{error}");
    let error = said("delays = [\"fast\", \"slow\"]\ndelays_of = [\"al\"]");
    assert!(error.contains("no variant is called `al`"), "{error}");
}

/// Claims may say by a name what several of them have in common.
#[test]
fn a_claim_takes_the_text_of_a_remark() {
    let claims = |missed: &str| {
        network(&format!(
            "[reproduction]\ntitle = \"t\"\nsource = \"s\"\ntext = \"x\"\n\
             [[remark]]\nname = \"loss\"\ntext = \"Packets are lost.\"\n\
             [[claim]]\nid = \"1\"\nwhat = \"w\"\nkind = \"expectation\"\nbasis = \"b\"\nclass = \"SHAPE\"\n\
             figure = \"rtt_p50\"\nvariant = \"all\"\nat_most = \"1s\"\nmissed = \"{missed}\"\n\
             [[variant]]\nname = \"all\""
        ))
    };
    let stated = |missed: &str| {
        let read = parse(&claims(missed)).expect(missed);
        read.reproduction.expect("claims").claims[0].stated.clone()
    };
    assert_eq!(stated("loss"), Stated::Missed("Packets are lost.".to_owned()));
    assert_eq!(stated("Not known."), Stated::Missed("Not known.".to_owned()));
    let error = parse(&claims("los")).map(|_| ()).expect_err("no such remark").to_string();
    assert!(error.contains("no [[remark]] is called `los`"), "{error}");
}
