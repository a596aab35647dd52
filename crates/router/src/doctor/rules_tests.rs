//! Each rule: a fault that it finds, and a clean machine on which it finds nothing.

use proptest::prelude::*;

use super::*;
use crate::airtime::{Features, Mac};
use crate::doctor::{ReceiveQueue, Softnet, WifiFacts};

fn queue(kind: &str, handle: u16, parent: Parent) -> Queue {
    Queue { kind: kind.into(), handle, parent, limit: None, shaper: None }
}

fn shaped(kind: &str, rate_bps: u64, has_overhead: bool, longest: u32) -> Vec<Queue> {
    let shaper = Some(Shaper { rate_bps, has_overhead, longest });
    vec![Queue { shaper, ..queue(kind, 1, Parent::Root) }]
}

/// An interface as it should be.
fn interface() -> InterfaceFacts {
    InterfaceFacts {
        name: "eth0".into(),
        is_up: true,
        is_device: true,
        is_to_the_world: true,
        driver: Some("igc".into()),
        frame: 1514,
        tx_queue_len: 1000,
        speed_mbit: Some(1000),
        sent: 5000,
        ring: Some(256),
        interrupt_after: Some(3),
        super_packets: vec!["tx-generic-segmentation".into(), "tx-tcp6-segmentation".into()],
        bql: vec![Bql { folder: "/sys/q".into(), limit: 9000, min: 0, max: BQL_MAX }],
        queues: vec![queue("fq_codel", 0, Parent::Root)],
        ..InterfaceFacts::default()
    }
}

fn host(interfaces: Vec<InterfaceFacts>) -> Facts {
    Facts {
        default_qdisc: Some("fq_codel".into()),
        tcp_ecn: Some(2),
        notsent_lowat: Some(u32::MAX),
        congestion_control: Some("cubic".into()),
        is_router: false,
        web_port: None,
        processors: vec![Softnet { processed: 1000, dropped: 0 }; 4],
        interfaces,
    }
}

/// The rules that find something, with their severity.
fn rules(facts: &Facts) -> Vec<(&'static str, Severity)> {
    findings(facts, None).iter().map(|finding| (finding.rule, finding.severity)).collect()
}

/// The only finding on an interface that differs by `change` from one as it should be.
fn one(change: impl FnOnce(&mut InterfaceFacts)) -> Finding {
    let mut changed = interface();
    change(&mut changed);
    let found = findings(&host(vec![changed]), None);
    assert_eq!(found.len(), 1, "{found:#?}");
    found.into_iter().next().unwrap()
}

fn none(change: impl FnOnce(&mut InterfaceFacts)) {
    let mut changed = interface();
    change(&mut changed);
    assert_eq!(findings(&host(vec![changed]), None), []);
}

fn command(finding: &Finding) -> (&str, &str) {
    finding.fix.as_ref().map_or(("", ""), |fix| (&fix.command, &fix.undo))
}

use Severity::{Advice, Fault, Note};

#[test]
fn a_clean_machine_is_silent() {
    none(|_| {});
    let lo = InterfaceFacts {
        name: "lo".into(),
        is_up: true,
        is_loopback: true,
        queues: vec![queue("noqueue", 0, Parent::Root)],
        ..InterfaceFacts::default()
    };
    let mut all = vec![lo];
    for (kind, root) in
        [("veth", "noqueue"), ("bridge", "noqueue"), ("ifb", "pfifo_fast"), ("dsa", "noqueue")]
    {
        let (kind, queues) = (Some(kind.to_owned()), vec![queue(root, 0, Parent::Root)]);
        all.push(InterfaceFacts {
            name: root.into(),
            kind,
            is_up: true,
            queues,
            ..InterfaceFacts::default()
        });
    }
    assert_eq!(rules(&host(all)), []);
    assert_eq!(rules(&Facts::default()), [], "nothing could be read");
    none(|wifi| (wifi.is_wifi, wifi.queues) = (true, vec![queue("noqueue", 0, Parent::Root)]));
    none(|mq| mq.queues = vec![queue("mq", 0, Parent::Root), queue("fq_codel", 0, Parent::Class(0, 1))]);
    none(|fq| fq.queues = vec![queue("fq", 0x8001, Parent::Root)]);
    none(|down| (down.is_up, down.queues) = (false, vec![queue("pfifo", 1, Parent::Root)]));
}

#[test]
fn a_fifo_at_the_root() {
    let found = one(|eth| eth.queues = vec![queue("pfifo_fast", 0, Parent::Root)]);
    assert_eq!((found.rule, found.severity), ("fifo", Fault));
    assert_eq!(
        found.what,
        "The queue is pfifo_fast, a FIFO, with room for 1514000 bytes, 12.1 ms at 1000 Mbit/s."
    );
    assert_eq!(command(&found), ("tc qdisc replace dev eth0 root fq_codel", "tc qdisc del dev eth0 root"));
    let own = Queue { limit: Some(77), ..queue("pfifo", 5, Parent::Root) };
    let found = one(|eth| eth.queues = vec![own]);
    assert_eq!(command(&found).1, "tc qdisc replace dev eth0 root handle 5: pfifo limit 77");
    let found = one(|lan| {
        lan.is_to_the_world = false;
        lan.queues = vec![queue("pfifo_fast", 0, Parent::Root)];
    });
    assert_eq!(found.severity, Advice, "it is not where most queues are");
}

#[test]
fn a_fifo_in_each_hardware_queue() {
    let below = |handle| {
        let fifo = |minor| queue("pfifo_fast", 0, Parent::Class(handle, minor));
        vec![queue("mq", handle, Parent::Root), fifo(1), fifo(2)]
    };
    let found = one(|eth| eth.queues = below(0));
    assert!(found.what.starts_with("The queue of 2 of its hardware queues is pfifo_fast"), "{}", found.what);
    assert_eq!(command(&found), ("tc qdisc replace dev eth0 root mq", "tc qdisc del dev eth0 root"));
    let found = one(|eth| eth.queues = below(0x8001));
    assert!(found.fix.is_some_and(|fix| fix.steps.is_empty()), "somebody has chosen each of them");

    let mut facts = host(vec![InterfaceFacts { queues: below(0), ..interface() }]);
    facts.default_qdisc = Some("pfifo_fast".into());
    let found = findings(&facts, None);
    assert_eq!(found[0].rule, "fifo");
    assert_eq!(found[0].fix.as_ref().unwrap().steps.len(), 2, "the default comes first");
}

#[test]
fn no_queue_above_a_ring() {
    let found = one(|eth| eth.queues = vec![queue("noqueue", 0, Parent::Root)]);
    assert_eq!((found.rule, found.severity), ("no-queue", Fault));
    none(|port| (port.ring, port.queues) = (None, vec![queue("noqueue", 0, Parent::Root)]));
    let found = one(|eth| eth.queues = vec![queue("noqueue", 0x8001, Parent::Root)]);
    assert_eq!(
        command(&found).1,
        "tc qdisc replace dev eth0 root handle 8001: noqueue",
        "somebody has set it"
    );
    let below = |minor| queue("noqueue", 0, Parent::Class(0, minor));
    let found = one(|eth| eth.queues = vec![queue("mq", 0, Parent::Root), below(1), below(2)]);
    assert_eq!((found.rule, command(&found).0), ("no-queue", "tc qdisc replace dev eth0 root mq"));
}

#[test]
fn a_long_queue_and_a_fifo() {
    let mut long = InterfaceFacts { tx_queue_len: 10_000, ..interface() };
    assert_eq!(rules(&host(vec![long.clone()])), [], "fq_codel does not use it");
    long.queues = vec![queue("pfifo_fast", 0, Parent::Root)];
    assert_eq!(rules(&host(vec![long.clone()])), [("fifo", Fault), ("txqueuelen", Fault)]);
    long.queues = vec![Queue { limit: Some(50), ..queue("pfifo", 1, Parent::Root) }];
    assert_eq!(rules(&host(vec![long])), [("fifo", Fault)], "pfifo has a limit of its own");
}

#[test]
fn wifi_without_the_queues_of_mac80211() {
    let found = one(|wifi| (wifi.is_wifi, wifi.queues) = (true, vec![queue("fq_codel", 0, Parent::Root)]));
    assert_eq!((found.rule, found.severity), ("wifi-queues", Note));
    none(|wifi| (wifi.is_wifi, wifi.queues) = (true, vec![queue("cake", 1, Parent::Root)]));
}

#[test]
fn byte_queue_limits_that_cannot_be_meant() {
    let found = one(|eth| eth.bql[0].min = 1_000_000);
    assert_eq!((found.rule, found.severity), ("bql-limit", Advice));
    assert_eq!(found.what, "limit_min of byte queue limits is 1000000 bytes, 8.0 ms at 1000 Mbit/s.");
    assert_eq!(command(&found), ("echo 0 >/sys/q/limit_min", "echo 1000000 >/sys/q/limit_min"));
    let found = one(|eth| eth.bql[0].max = 1514);
    assert_eq!(command(&found), ("echo 1879048192 >/sys/q/limit_max", "echo 1514 >/sys/q/limit_max"));
    none(|eth| (eth.bql[0].min, eth.bql[0].max) = (3000, 100_000));
    none(|eth| (eth.bql[0].min, eth.speed_mbit) = (1_000_000, None));
}

#[test]
fn a_ring_without_byte_queue_limits() {
    let found = one(|eth| (eth.bql[0].limit, eth.ring) = (0, Some(4096)));
    assert_eq!((found.rule, found.severity), ("ring", Advice));
    assert!(found.what.ends_with("its ring holds 4096 packets, 49.6 ms at 1000 Mbit/s."), "{}", found.what);
    assert_eq!(command(&found), ("ethtool -G eth0 tx 256", "ethtool -G eth0 tx 4096"));
    let found = one(|eth| eth.bql[0].limit = 0);
    assert_eq!((found.rule, found.severity), ("bql-absent", Note));
    none(|eth| eth.ring = Some(4096));
    none(|quiet| (quiet.bql[0].limit, quiet.sent) = (0, 10));
    none(|guest| (guest.bql[0].limit, guest.driver) = (0, Some("vmxnet3".into())));
    let found = one(|eth| (eth.bql[0].limit, eth.bql[0].max) = (0, 0));
    assert_eq!(found.rule, "bql-limit", "somebody has set it to 0, which says nothing of the driver");
}

#[test]
fn a_ring_that_the_host_of_a_virtual_machine_empties() {
    let guest = |eth: &mut InterfaceFacts| {
        (eth.bql[0].limit, eth.driver, eth.speed_mbit) = (0, Some("virtio_net".into()), None);
    };
    let found = one(guest);
    assert_eq!((found.rule, found.severity, command(&found)), ("virtual-ring", Note, ("", "")));
    assert_eq!(
        found.what,
        "The driver virtio_net uses no byte queue limits, and its ring holds 256 packets."
    );
    none(|newer| newer.driver = Some("virtio_net".into()));
    none(|quiet| {
        guest(quiet);
        quiet.sent = 10;
    });
    none(|unknown| {
        guest(unknown);
        unknown.ring = None;
    });
    none(|shaped_guest| {
        guest(shaped_guest);
        shaped_guest.queues = shaped("cake", 50_000_000, true, 0);
    });
}

#[test]
fn late_interrupts() {
    let found = one(|eth| eth.interrupt_after = Some(2500));
    assert_eq!((found.rule, found.severity), ("interrupts", Advice));
    assert!(found.what.contains("2.5 ms"), "{}", found.what);
    none(|eth| eth.interrupt_after = Some(1000));
}

#[test]
fn a_shaper_above_the_line() {
    let found = one(|eth| eth.queues = shaped("cake", 1_100_000_000, true, 0));
    assert_eq!((found.rule, found.severity), ("shaper-above-line", Fault));
    none(|eth| eth.queues = shaped("cake", 1_000_000_000, true, 0));
    none(|tun| {
        (tun.kind, tun.is_device, tun.speed_mbit) = (Some("tun".into()), false, Some(10));
        tun.queues = shaped("cake", 50_000_000, true, 0);
    });
}

#[test]
fn a_shaper_over_a_shaper() {
    let lower = |rate| InterfaceFacts { queues: shaped("cake", rate, true, 0), ..interface() };
    let vlan = InterfaceFacts {
        name: "eth0.7".into(),
        below: vec!["eth0".into()],
        kind: Some("vlan".into()),
        is_device: false,
        ..lower(20_000_000)
    };
    let facts = host(vec![lower(20_000_000), vlan.clone()]);
    assert_eq!(rules(&facts), [("double-shaping", Advice)]);
    assert_eq!(rules(&host(vec![lower(50_000_000), vlan.clone()])), [], "a part of the traffic");
    assert_eq!(rules(&host(vec![interface(), vlan])), []);
    assert_eq!(findings(&facts, Some("eth0")), [], "of another interface");
}

/// An IFB with a shaper.
fn ifb(name: &str, rate: u64) -> InterfaceFacts {
    InterfaceFacts {
        name: name.into(),
        kind: Some("ifb".into()),
        is_up: true,
        queues: shaped("cake", rate, true, 0),
        ..InterfaceFacts::default()
    }
}

#[test]
fn shapers_of_what_arrives() {
    let eth = InterfaceFacts { arrives_in: vec!["ifb4eth0".into()], ..interface() };
    let facts = host(vec![eth.clone(), ifb("ifb4eth0", 2_000_000_000)]);
    assert_eq!(rules(&facts), [("shaper-above-line", Fault)]);
    assert_eq!(
        findings(&facts, None)[0].what,
        "cake on ifb4eth0, which gets arriving packets, shapes to 2gbit, and the line has 1000 Mbit/s."
    );
    let ppp = |name: &str| InterfaceFacts {
        name: "ppp0".into(),
        kind: Some("ppp".into()),
        is_device: false,
        below: vec!["eth0".into()],
        arrives_in: vec![name.into()],
        ..interface()
    };
    let both =
        |rate| host(vec![eth.clone(), ifb("ifb4eth0", 20_000_000), ppp("ifb4ppp0"), ifb("ifb4ppp0", rate)]);
    assert_eq!(rules(&both(20_000_000)), [("double-shaping", Advice)]);
    assert_eq!(
        findings(&both(20_000_000), None)[0].what,
        "What arrives is shaped twice: by cake on ifb4eth0 to 20mbit, and then by cake on ifb4ppp0 to 20mbit."
    );
    assert_eq!(rules(&both(10_000_000)), [], "a part of the traffic");
    assert_eq!(
        rules(&host(vec![eth, ifb("ifb4eth0", 20_000_000), ppp("ifb9")])),
        [],
        "there is no such interface"
    );
}

#[test]
fn one_processor_for_a_shaper() {
    let queue = |mask: &str| ReceiveQueue { rps: "/sys/rps_cpus".into(), mask: mask.into() };
    let shape = |eth: &mut InterfaceFacts, masks: &[&str]| {
        eth.queues = shaped("cake", 50_000_000, true, 0);
        eth.receive = masks.iter().map(|mask| queue(mask)).collect();
    };
    let found = one(|eth| shape(eth, &["00000000"]));
    assert_eq!((found.rule, found.severity), ("one-processor", Note));
    assert_eq!(command(&found), ("echo f >/sys/rps_cpus", "echo 00000000 >/sys/rps_cpus"));
    none(|eth| shape(eth, &["e"]));
    none(|eth| shape(eth, &["0", "0"]));
    none(|eth| eth.receive = vec![queue("0")]);
    let mut alone = interface();
    shape(&mut alone, &["0"]);
    let mut facts = host(vec![alone]);
    facts.processors.truncate(1);
    assert_eq!(rules(&facts), [], "there is no other processor");
    assert_eq!([1, 32, 33, 70].map(mask), ["1", "ffffffff", "1,ffffffff", "3f,ffffffff,ffffffff"]);
}

#[test]
fn bbr_above_a_queue_that_does_not_pace() {
    let with = |change: &dyn Fn(&mut InterfaceFacts)| {
        let mut eth = interface();
        change(&mut eth);
        Facts { congestion_control: Some("bbr".into()), ..host(vec![eth]) }
    };
    let fix = |facts: &Facts| {
        let found = findings(facts, None);
        let fix = found.iter().find(|finding| finding.rule == "pacing").and_then(|found| found.fix.clone());
        fix.map(|fix| (fix.command, fix.undo, fix.steps)).unwrap_or_default()
    };
    let words = |command: &str, undo: &str| (command.to_owned(), undo.to_owned(), Vec::new());
    let facts = with(&|_| {});
    assert_eq!(rules(&facts), [("pacing", Note)]);
    let what =
        "New connections use bbr, and fq_codel does not pace: TCP paces with a timer for each of them.";
    assert_eq!(findings(&facts, None)[0].what, what);
    assert_eq!(fix(&facts), words("tc qdisc replace dev eth0 root fq", "tc qdisc del dev eth0 root"));

    let below = |kind: &str| vec![queue("mq", 0, Parent::Root), queue(kind, 0, Parent::Class(0, 1))];
    let mut facts = with(&|eth| eth.queues = below("fq_codel"));
    let sysctl = |value: &str| format!("sysctl -w net.core.default_qdisc={value}; tc qdisc");
    let (command, undo) =
        (sysctl("fq") + " replace dev eth0 root mq", sysctl("fq_codel") + " del dev eth0 root");
    assert_eq!(fix(&facts), words(&command, &undo));
    facts.default_qdisc = Some("fq".into());
    assert_eq!(fix(&facts).0, "tc qdisc replace dev eth0 root mq", "the default is fq already");
    let fifo = with(&|eth| eth.queues = vec![queue("pfifo_fast", 0, Parent::Root)]);
    assert_eq!(rules(&fifo), [("fifo", Fault), ("pacing", Note)]);

    let quiet = |change: &dyn Fn(&mut InterfaceFacts)| assert_eq!(findings(&with(change), None), []);
    quiet(&|eth| eth.queues = vec![queue("fq", 0, Parent::Root)]);
    quiet(&|eth| eth.queues = below("fq"));
    quiet(&|eth| eth.queues = vec![queue("fq_codel", 0x8001, Parent::Root)]);
    quiet(&|eth| {
        eth.queues = vec![queue("mq", 0x8001, Parent::Root), queue("fq_codel", 0, Parent::Class(0x8001, 1))];
    });
    for kind in ["cake", "htb", "tbf"] {
        quiet(&|eth| eth.queues = shaped(kind, 900_000_000, true, 0));
    }
    quiet(&|wifi| (wifi.is_wifi, wifi.queues) = (true, vec![queue("noqueue", 0, Parent::Root)]));
    quiet(&|veth| (veth.is_device, veth.is_to_the_world) = (false, false));
    let router = Facts { is_router: true, ..with(&|_| {}) };
    assert_eq!(findings(&router, None), []);
}

#[test]
fn wifi_drivers_and_slow_stations() {
    let wifi = |airtime_fairness, aql, rate| {
        move |eth: &mut InterfaceFacts| {
            (eth.is_wifi, eth.queues) = (true, vec![queue("noqueue", 0, Parent::Root)]);
            eth.wifi = Some(WifiFacts {
                radio: "phy0".into(),
                is_access_point: true,
                features: Features { airtime_fairness, aql, txqs: true },
                slowest: Some((Mac([2, 0, 0, 0, 0, 9]), rate)),
            });
        }
    };
    let found = one(wifi(false, true, 54_000_000));
    assert_eq!((found.rule, found.severity), ("wifi-airtime", Note));
    assert_eq!(found.what, "The driver igc of phy0 does not schedule by airtime.");
    assert_eq!(one(wifi(true, false, 54_000_000)).rule, "wifi-airtime");
    assert_eq!(one(wifi(false, false, 54_000_000)).rule, "wifi-airtime");
    let found = one(wifi(true, true, 1_000_000));
    assert_eq!((found.rule, found.severity), ("slow-station", Note));
    assert_eq!(
        found.what,
        "The last frame to station 02:00:00:00:00:09 went at 1mbit; 1500 bytes take 12.0 ms of air at that rate."
    );
    none(wifi(true, true, 12_000_000));
    none(|client| {
        wifi(false, false, 1_000_000)(client);
        client.wifi.as_mut().unwrap().is_access_point = false;
    });
}

#[test]
fn a_shaper_on_ppp_without_overhead() {
    let ppp = |queues: Vec<Queue>| {
        move |ppp: &mut InterfaceFacts| {
            (ppp.name, ppp.kind, ppp.queues) = ("ppp0".into(), Some("ppp".into()), queues);
            (ppp.is_device, ppp.super_packets) = (false, Vec::new());
        }
    };
    let found = one(ppp(shaped("cake", 4_000_000, false, 0)));
    assert_eq!((found.rule, found.severity), ("overhead", Advice));
    assert!(found.fix.is_some());
    assert_eq!(one(ppp(shaped("htb", 4_000_000, false, 65_536))).fix, None);
    none(ppp(shaped("cake", 4_000_000, true, 0)));
    none(|eth| eth.queues = shaped("cake", 4_000_000, false, 0));
}

#[test]
fn super_packets_through_a_slow_shaper() {
    let found = one(|eth| eth.queues = shaped("htb", 20_000_000, true, 65_536));
    assert_eq!((found.rule, found.severity), ("super-packets", Advice));
    assert!(found.what.contains("65536 bytes in one piece: 26.2 ms at 20mbit"), "{}", found.what);
    none(|eth| eth.queues = shaped("htb", 200_000_000, true, 65_536));
    none(|eth| eth.queues = shaped("tbf", 1_000_000, true, 1600));
    assert_eq!(
        command(&found),
        (
            "ethtool -K eth0 tso off gso off",
            "ethtool -K eth0 tx-generic-segmentation on tx-tcp6-segmentation on"
        ),
        "what was off stays off"
    );
    none(|eth| (eth.super_packets, eth.queues) = (Vec::new(), shaped("htb", 20_000_000, true, 65_536)));
}

#[test]
fn settings_of_the_host() {
    let with = |change: fn(&mut Facts)| {
        let mut facts = host(vec![interface()]);
        change(&mut facts);
        rules(&facts)
    };
    assert_eq!(with(|facts| facts.default_qdisc = Some("pfifo_fast".into())), [("default-qdisc", Advice)]);
    assert_eq!(with(|facts| facts.default_qdisc = Some("noqueue".into())), [("default-qdisc", Advice)]);
    assert_eq!(with(|facts| facts.default_qdisc = Some("fq".into())), []);
    assert_eq!(with(|facts| facts.tcp_ecn = Some(0)), [("tcp-ecn", Advice)]);
    assert_eq!(with(|facts| facts.processors[2].dropped = 7), [("backlog-drops", Advice)]);
    assert_eq!(with(|facts| facts.web_port = Some(443)), [("notsent-lowat", Note)]);
    assert_eq!(with(|facts| (facts.web_port, facts.notsent_lowat) = (Some(443), Some(131_072))), []);
}

#[test]
fn the_worst_comes_first_and_docs_have_every_rule() {
    let mut facts =
        host(vec![InterfaceFacts { queues: vec![queue("pfifo", 1, Parent::Root)], ..interface() }]);
    (facts.tcp_ecn, facts.web_port) = (Some(0), Some(80));
    assert_eq!(rules(&facts), [("fifo", Fault), ("tcp-ecn", Advice), ("notsent-lowat", Note)]);
    let docs = include_str!("../../../../docs/doctor.md");
    for line in include_str!("rules.rs").lines() {
        // `rule: "NAME",` or, for a rule on the host, `"NAME",`.
        let line = line.trim().trim_start_matches("rule: ");
        let name = line.strip_prefix('"').and_then(|rest| rest.strip_suffix("\","));
        if let Some(name) = name.filter(|name| name.chars().all(|c| c == '-' || c.is_ascii_lowercase())) {
            assert!(docs.contains(&format!("\n### {name}\n")), "docs/doctor.md has no section {name}");
        }
    }
}

fn any_queue() -> impl Strategy<Value = Queue> {
    let kind = proptest::sample::select(vec![
        "pfifo_fast",
        "pfifo",
        "bfifo",
        "noqueue",
        "mq",
        "cake",
        "tbf",
        "htb",
        "fq_codel",
        "",
    ]);
    let parent = prop_oneof![
        Just(Parent::Root),
        Just(Parent::Ingress),
        (0..2_u16, any::<u16>()).prop_map(|(major, minor)| Parent::Class(major, minor)),
    ];
    let shaper = proptest::option::of((any::<u64>(), any::<bool>(), any::<u32>()));
    (kind, 0..2_u16, parent, any::<Option<u32>>(), shaper).prop_map(
        |(kind, handle, parent, limit, shaper)| {
            let shaper =
                shaper.map(|(rate_bps, has_overhead, longest)| Shaper { rate_bps, has_overhead, longest });
            Queue { limit, shaper, ..queue(kind, handle, parent) }
        },
    )
}

fn any_interface() -> impl Strategy<Value = InterfaceFacts> {
    let name = proptest::sample::select(vec!["eth0", "ppp0", "eth0.7"]);
    let kind = proptest::option::of(proptest::sample::select(vec!["veth", "ifb", "ppp", "tun"]));
    let numbers = (any::<u32>(), any::<u32>(), any::<Option<u64>>(), any::<u64>(), any::<Option<u32>>());
    let bql = (any::<u64>(), any::<u64>(), any::<u64>());
    let queues = proptest::collection::vec(any_queue(), 0..4);
    let flags = any::<[bool; 5]>();
    (name, kind, numbers, bql, queues, flags, any::<Option<u32>>()).prop_map(
        |(name, kind, (frame, length, speed, sent, ring), (limit, min, max), queues, flags, after)| {
            InterfaceFacts {
                name: name.into(),
                kind: kind.map(Into::into),
                is_up: true,
                is_loopback: false,
                is_device: flags[0],
                is_wifi: flags[1],
                is_to_the_world: flags[2],
                driver: flags[3].then(|| ["igc", "virtio_net"][usize::from(flags[2])].into()),
                frame,
                tx_queue_len: length,
                speed_mbit: speed,
                sent,
                ring,
                interrupt_after: after,
                super_packets: flags[4].then(|| "tx-tcp-segmentation".to_owned()).into_iter().collect(),
                below: vec!["eth0".into()],
                arrives_in: vec!["eth0".into()],
                wifi: flags[1].then(WifiFacts::default),
                receive: vec![ReceiveQueue::default()],
                bql: vec![Bql { folder: "/sys/q".into(), limit, min, max }],
                queues,
            }
        },
    )
}

proptest! {
    #[test]
    fn no_facts_make_it_panic(
        interfaces in proptest::collection::vec(any_interface(), 0..4),
        ecn in any::<Option<u32>>(),
        port in any::<Option<u16>>(),
        cc in proptest::sample::select(vec!["cubic", "bbr"]),
    ) {
        let mut facts = host(interfaces);
        facts.congestion_control = Some(cc.into());
        (facts.tcp_ecn, facts.web_port) = (ecn, port);
        for finding in findings(&facts, None) {
            prop_assert!(finding.what.ends_with('.') && finding.why.ends_with('.'), "{finding:?}");
        }
    }
}
