//! Trees of htb classes: which are invalid, and that classes get what tc-htb(8) promises.

use goodqueue::{Nanos, Span};
use goodqueue_sim::Simulation;

use super::{parse, plan, right};

/// `text` must be refused with exactly this.
#[track_caller]
fn refused(text: &str, said: &str) {
    let error = parse(text).map(|_| ()).expect_err(text).to_string();
    assert_eq!(error, format!("x.toml:{said}"), "for\n{text}");
}

/// A tree with these classes.
fn tree(classes: &[&str]) -> String {
    let class = |lines: &&str| format!("[[htb.class]]\n{lines}\n");
    let classes: String = classes.iter().map(class).collect();
    format!("[[htb]]\nname = \"t\"\ndefault = \"a\"\n{classes}")
}

#[test]
fn an_error_in_a_tree_is_named_with_its_position() {
    let class = |name: &str, more: &str| format!("name = \"{name}\"\nrate = \"1mbit\"\n{more}");
    let refused_tree = |classes: &[&str], said: &str| refused(&tree(classes), said);
    let (a, b) = (class("a", ""), class("b", "parent = \"a\""));
    refused(
        "[[htb]]\nname = \"t\"\ndefault = \"a\"\n",
        "1:1: 0 classes: a tree has 1 to 64, each an [[htb.class]]",
    );
    refused_tree(
        &["name = \"a\"\nrate = \"0bit\""],
        "6:8: rate = \"0bit\": nothing ever leaves a line of rate zero; write rate = \"20mbit\"",
    );
    refused_tree(
        &["name = \"a\"\nrate = \"7bit\""],
        "6:8: rate = \"7bit\": htb counts whole bytes, 8bit at least",
    );
    refused_tree(
        &["name = \"a\"\nrate = \"1mbit\"\nqueue = \"drr,leaf=pfifo:65536\"", &class("b", "")],
        "2:8: its queues have room for 4195304 packets, but the maximum is 4194304",
    );
    refused_tree(&["name = \"a\""], "4:1: [htb.class] needs `rate`, as in rate = \"20mbit\"");
    refused_tree(
        &["name = \"a\"\nrate = \"2mbit\"\nceil = \"1mbit\""],
        "7:8: ceil = \"1mbit\": must be at least the rate, 2mbit",
    );
    refused_tree(
        &[&class("a", "parent = \"rot\""), &class("root", "")],
        "7:10: no class is called `rot`; there are a, root; did you mean root?",
    );
    refused_tree(
        &[&class("a", "parent = \"b\""), &class("b", "parent = \"c\""), &class("c", "parent = \"b\"")],
        "15:10: `b` would be an ancestor of itself",
    );
    refused_tree(&[&class("a", "parent = \"a\"")], "7:10: `a` would be an ancestor of itself");
    refused_tree(&[&a, &a], "9:8: a second class called `a`");
    refused_tree(&[&a, &b], "3:11: `a` has children: packets go to leaves");
    refused_tree(&[&class("b", "")], "3:11: no class is called `a`; there are b; did you mean b?");
    let inner = class("root", "queue = \"codel\"");
    let leaf = class("a", "parent = \"root\"\ndscp = [\"EF\"]");
    refused_tree(&[&inner, &leaf], "7:9: `root` has children: a queue and DSCPs are a leaf's");
    let both = [class("root", ""), leaf, class("b", "parent = \"root\"\ndscp = [\"CS1\", \"EF\"]")];
    refused_tree(&both.each_ref().map(String::as_str), "17:16: EF: another class has these packets");
    let deep: Vec<String> = (0..9)
        .map(|level| match level {
            0 => class("a0", ""),
            8 => class("a", "parent = \"a7\""),
            _ => class(&format!("a{level}"), &format!("parent = \"a{}\"", level - 1)),
        })
        .collect();
    let deep: Vec<&str> = deep.iter().map(String::as_str).collect();
    refused_tree(&deep, "37:8: `a` is at level 9: a tree has 8");
    refused_tree(
        &[&class("a", "queue = \"bfifo:1000\"")],
        "7:9: bfifo:1000 at 1mbit: no full packet of 1514 bytes fits into limit=1000",
    );
    let link = "[[link]]\nbetween = [\"client\", \"server\"]\nrate = \"1mbit\"\nqueue = \"htb:q\"\n";
    refused(link, "4:9: there is no [[htb]] called `q`");
    refused(&(link.to_owned() + &tree(&[&a])), "4:9: no [[htb]] is called `q`; there are t; did you mean t?");
}

/// Parents may come after their children.
#[test]
fn a_plan_names_the_classes() {
    let root = "name = \"root\"\nrate = \"9mbit\"";
    let leaf = "name = \"a\"\nparent = \"root\"\nrate = \"1mbit\"\nceil = \"2mbit\"\nprio = 3\nquantum = 3000\nqueue = \"codel\"";
    let link =
        "[[link]]\nbetween = [\"client\", \"server\"]\nrate = \"10mbit\"\nup = { queue = \"htb:t\" }\n";
    let plan = plan(&(link.to_owned() + &tree(&[leaf, root])));
    let up = &plan["variants"][0]["links"][0];
    assert_eq!(up["queue"], "htb:t");
    assert_eq!(
        up["classes"],
        serde_json::json!([
            "root: rate 9mbit, ceil 9mbit, burst 1600, cburst 1600",
            "a: parent root, rate 1mbit, ceil 2mbit, burst 1600, cburst 1600, prio 3, quantum 3000, codel"
        ])
    );
}

#[test]
fn an_unused_tree_is_named() {
    let experiment = right(&tree(&["name = \"a\"\nrate = \"1mbit\""]));
    assert_eq!(experiment.warnings, ["no link has the queue htb:t"]);
}

/// Two UDP sources of `rates` Mbit/s each, marked CS1 and EF, over a tree: returns the throughput of each,
/// Mbit/s.
fn shares(classes: &str, rates: [u32; 2]) -> [f64; 2] {
    let source = |rate: u32, dscp: &str| format!("[[udp]]\nrate = \"{rate}mbit\"\ndscp = \"{dscp}\"\n");
    let text = format!(
        "test = {{ name = \"ping\", length = \"10s\", idle = \"0s\" }}\n{}{}[[link]]\nbetween = [\"client\", \"server\"]\n\
         rate = \"100mbit\"\nup = {{ queue = \"htb:t\" }}\n[[htb]]\nname = \"t\"\ndefault = \"one\"\n\
         [[htb.class]]\nname = \"root\"\nrate = \"9mbit\"\n{classes}",
        source(rates[0], "CS1"),
        source(rates[1], "EF"),
    );
    let mut simulation = Simulation::new(&right(&text).variants[0].with_seed(1)).expect("a simulation");
    let received = |simulation: &Simulation| [0, 1].map(|source| simulation.arrivals(source).received);
    // Without the first second, in which the buckets are full.
    simulation.run_until(Nanos::ZERO + Span::from_secs(1));
    let before = received(&simulation);
    simulation.run_until(Nanos::ZERO + Span::from_secs(9));
    let after = received(&simulation);
    [0, 1].map(|source| (after[source] - before[source]) as f64 * 1514.0 * 8.0 / 8e6)
}

#[track_caller]
fn near(ours: [f64; 2], expected: [f64; 2]) {
    let is_near = |(ours, expected): (&f64, &f64)| (ours - expected).abs() < 0.02 * 9.0;
    assert!(ours.iter().zip(&expected).all(is_near), "{ours:?}, not {expected:?}");
}

fn leaf(name: &str, rate: &str, more: &str) -> String {
    format!(
        "[[htb.class]]\nname = \"{name}\"\nparent = \"root\"\nrate = \"{rate}\"\nceil = \"9mbit\"\n{more}\n"
    )
}

/// tc-htb(8): "Classes ... which belong to the same parent ... can borrow unused bandwidth"; if both want it,
/// they share by quantum, which by default is proportional to the rates; and prio decides which class may
/// borrow first.
#[test]
fn classes_have_their_rates_and_borrow_what_is_spare_by_prio_and_quantum() {
    let (one, two) = (leaf("one", "6mbit", ""), leaf("two", "3mbit", "dscp = [\"EF\"]"));
    let rates = one.clone() + &two;
    near(shares(&rates, [20, 20]), [6.0, 3.0]);
    // One class gets what the other leaves.
    near(shares(&rates, [1, 20]), [1.0, 8.0]);
    near(shares(&rates, [20, 1]), [8.0, 1.0]);
    // 7 Mbit/s are spare: they go to the lower prio; with equal prios they are shared by quantum.
    let first = leaf("one", "1mbit", "prio = 1") + &leaf("two", "1mbit", "dscp = [\"EF\"]\nprio = 0");
    near(shares(&first, [20, 20]), [1.0, 8.0]);
    let quanta =
        leaf("one", "1mbit", "quantum = 3028") + &leaf("two", "1mbit", "dscp = [\"EF\"]\nquantum = 1514");
    near(shares(&quanta, [20, 20]), [1.0 + 7.0 * 2.0 / 3.0, 1.0 + 7.0 / 3.0]);
    // No class has more than its ceil.
    let low = leaf("one", "1mbit", "").replace("ceil = \"9mbit\"", "ceil = \"2mbit\"") + &two;
    near(shares(&low, [20, 1]), [2.0, 1.0]);
}

/// sqm-scripts' simple.qos, written class by class, is the same as by its name: to the last event.
#[test]
fn the_tree_of_sqm_is_the_one_by_its_name() {
    let classes = "[[htb]]\nname = \"sqm\"\ndefault = \"be\"\n\
        [[htb.class]]\nname = \"root\"\nrate = \"10mbit\"\n\
        [[htb.class]]\nname = \"prio\"\nparent = \"root\"\nrate = \"128kbit\"\nceil = \"3333333bit\"\nprio = 1\n\
        dscp = [\"EF\", \"CS6\", \"dscp:4\", \"dscp:20\", \"dscp:36\", \"dscp:52\"]\n\
        [[htb.class]]\nname = \"be\"\nparent = \"root\"\nrate = \"1666666bit\"\nceil = \"9984kbit\"\nprio = 2\n\
        [[htb.class]]\nname = \"bulk\"\nparent = \"root\"\nrate = \"1666666bit\"\nceil = \"9984kbit\"\nprio = 3\n\
        dscp = [\"CS1\"]\n";
    let more = "burst = 1514\ncburst = 1514\nquantum = 1514\n";
    let classes = classes.replace("rate = \"10mbit\"\n", &format!("rate = \"10mbit\"\n{more}"));
    let classes = ["prio = 1\n", "prio = 2\n", "prio = 3\n"]
        .iter()
        .fold(classes, |text, prio| text.replace(prio, &format!("{prio}{more}queue = \"fq_codel\"\n")));
    let hash = |queue: &str| {
        let text = format!(
            "test = {{ name = \"rrul\", length = \"4s\" }}\n[[link]]\nbetween = [\"client\", \"router\"]\n\
             [[link]]\nbetween = [\"router\", \"server\"]\nrate = \"20mbit\"\ndelay = \"10ms\"\nqueue = \"{queue}\"\n{classes}"
        );
        let mut simulation = Simulation::new(&right(&text).variants[0].with_seed(1)).expect("a simulation");
        simulation.run_until(Nanos::ZERO + Span::from_secs(6));
        assert!(simulation.link(2).line().packets > 1000);
        (simulation.events(), simulation.trace_hash())
    };
    assert_eq!(hash("htb:sqm"), hash("htb,rate=10mbit,sqm=simple"));
}
