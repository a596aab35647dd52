//! Wi-Fi networks: what the reader accepts, and what it refuses, with its place.

use goodqueue::Span;
use goodqueue::wifi::policy::Mode;
use goodqueue_sim::wifi::{DqlScope, Errors, Lower, Protection, Role, Upper};

use super::{parse, plan, right};

/// `text` must be refused with exactly this.
#[track_caller]
fn refused(text: &str, said: &str) {
    let error = parse(text).map(|_| ()).expect_err(text).to_string();
    assert_eq!(error, format!("x.toml:{said}"), "for\n{text}");
}

/// A network with one station and these lines.
fn one(wifi: &str, station: &str) -> String {
    format!("test = \"tcp_1down\"\n[wifi]\n{wifi}\n[[wifi.station]]\nname = \"sta\"\n{station}\n")
}

#[test]
fn unknown_rates() {
    refused(
        &one("standard = \"vht\"", "mcs = 9"),
        "6:7: mcs = 9: 802.11 has no such rate of vht with 20 MHz, any number of streams and a guard interval of 0.4us",
    );
    refused(
        &one("nss = 1", "mcs = 15"),
        "6:7: mcs = 15: 802.11 has no such rate of ht with 20 MHz, 1 stream(s) and a guard interval of 0.4us",
    );
    refused(&one("standard = \"ofdm\"", "mcs = 3"), "6:7: mcs = 3: ofdm has rates, as in rate = \"ofdm54\"");
    refused(&one("", "mcs = 32"), "6:7: mcs = 32: must be 0 to 31");
    refused(
        &one("", "rate = \"ht20-mcs40\""),
        "6:8: 802.11 has no rate ht20-mcs40; a rate is mcs15, ht40-mcs7-lgi, vht80-2ss-mcs9-sgi, ofdm54, dsss1",
    );
    refused(&one("", "rate = \"mcs1\"\nmcs = 1"), "7:7: `rate` says it already: leave mcs out");
    refused(&one("", ""), "4:1: no rate: give the station, or [wifi] for all, `mcs`, `rate` or `schedule`");
    refused(
        &one("", "schedule = [[\"1s\", \"mcs1\"]]"),
        "6:14: schedule: the first from 0s, each later than the one before",
    );
}

#[test]
fn unknown_keys_and_keys_without_effect() {
    let error = parse(&one("drivr = \"ath9k\"", "mcs = 1")).map(|_| ()).expect_err("a slip").to_string();
    assert!(error.starts_with("x.toml:3:1: [wifi] has no key `drivr`; it has station, band,"), "{error}");
    assert!(error.ends_with("; did you mean driver?"), "{error}");
    refused(
        &one("driver = \"ath5k\"", "mcs = 1"),
        "3:10: driver = \"ath5k\": there are ath9k, ath9k-4.4, ath9k-4.10, ath9k-4.11, ath9k-6.1, ath10k, ath10k-4.4, \
         ath10k-4.19, ath10k-6.1; did you mean ath9k?",
    );
    refused(&one("fifo = 5", "mcs = 1"), "3:8: `fifo` has no effect with driver = \"ath9k-6.1\"");
    refused(
        &one("driver = \"ath9k-4.4\"\nquantum = 5", "mcs = 1"),
        "4:11: `quantum` has no effect with driver = \"ath9k-4.4\"",
    );
    refused(
        &one("limit = \"dql\"", "mcs = 1"),
        "3:9: limit: byte queue limits are for firmware that aggregates, driver = \"ath10k\"",
    );
    refused(
        &one("driver = \"ath10k\"\nqueue = \"fq_codel\"", "mcs = 1"),
        "4:9: `queue` has no effect without above = \"qdisc\"",
    );
    refused(
        &one("driver = \"ath10k\"\nabove = \"fifo\"\nquantum = 300", "mcs = 1"),
        "5:11: `quantum` has no effect with above = \"fifo\"",
    );
    refused(
        &one("driver = \"ath10k\"\nabove = \"qdisc\"\ntarget = \"5ms\"", "mcs = 1"),
        "5:10: `target` has no effect with above = \"qdisc\"",
    );
    refused(
        &one("driver = \"ath10k\"\nabove = \"fq\"\ntarget = \"5ms\"", "mcs = 1"),
        "5:10: `target` has no effect with above = \"fq\"",
    );
    refused(&one("", "mcs = 1\nweight = 0"), "7:10: weight = 0: must be 1 to 65535");
    refused(&one("snr = 200", "mcs = 1"), "3:7: snr: must be -20 to 100");
    refused(
        &one("snr = 20\nerrors = 0.1", "mcs = 1"),
        "4:10: errors, or snr that they follow from: not both",
    );
    refused("[wifi]\nmcs = 1\n", "1:1: [wifi] needs a station, as in [[wifi.station]]");
    refused("[link]\n[wifi]\n", "1:1: [wifi] is a network of its own: leave link out");
    refused(
        &(one("", "mcs = 1") + "[[variant]]\nname = \"x\"\nlink = { rate = \"1mbit\" }\n"),
        "9:8: link: the network is [wifi]; [variant.wifi] changes that",
    );
    refused(
        &(one("", "mcs = 1") + "[[variant]]\nname = \"x\"\n[variant.wifi.stations.stb]\nmcs = 1\n"),
        "9:24: no station is called `stb`; did you mean sta?",
    );
    refused(
        &(one("", "mcs = 1") + "[[variant]]\nname = \"x\"\n[variant.wifi.stations.sta]\nload = false\n"),
        "10:8: `load`: where the load is does not differ between variants",
    );
    refused(&(one("", "mcs = 1") + "[[wifi.station]]\nname = \"ap\"\n"), "8:8: there is a node `ap` already");
    refused(
        &(one("", "mcs = 1") + "[[udp]]\nto = \"stb\"\nrate = \"1mbit\"\n"),
        "8:6: there is no station `stb`; did you mean sta?",
    );
}

#[test]
fn groups_that_are_not_a_tree() {
    let group = |name: &str, rest: &str| format!("[[wifi.group]]\nname = \"{name}\"\n{rest}\n");
    let with = |groups: &[String]| one(&groups.concat(), "mcs = 1");
    refused(&with(&[group("a", "limit = true")]), "5:9: `limit` has no effect without policy = \"limit\"");
    refused(
        &one(&format!("policy = \"dynamic\"\n{}", group("a", "limit = true")), "mcs = 1"),
        "6:9: `limit` has no effect without policy = \"limit\"",
    );
    refused(&with(&[group("a", "inside = \"a\"")]), "5:10: group `a` is inside of itself");
    refused(
        &with(&[group("a", "inside = \"b\""), group("b", "inside = \"a\"")]),
        "5:10: group `a` is inside of itself",
    );
    refused(
        &with(&[group("a", "inside = \"bb\""), group("b", "")]),
        "5:10: no group is called `bb`; did you mean b?",
    );
    refused(&with(&[group("a", "weight = 0")]), "5:10: weight = 0: must be 1 to 65535");
    refused(&with(&[group("a", ""), group("a", "")]), "7:8: two groups are called `a`");
    refused(&one("", "mcs = 1\ngroup = \"a\""), "7:9: no group is called `a`");
}

/// A station without a group is a peer of the outermost groups.
#[test]
fn a_station_without_a_group() {
    let experiment = right(&one("group = [{ name = \"a\" }]", "mcs = 1"));
    let device = &experiment.variants[0].scenario.radios[0].spec.devices[0];
    assert_eq!(device.policy.as_ref().expect("a policy").members, [(1, None, 1)]);
}

/// Inner groups may come before those around them.
#[test]
fn groups_inside_of_groups() {
    let text = one(
        "policy = \"limit\"\ngroup = [{ name = \"in\", inside = \"out\" }, { name = \"out\", weight = 3, limit = true }]",
        "mcs = 1\ngroup = \"in\"\nweight = 7",
    );
    let experiment = right(&text);
    let device = &experiment.variants[0].scenario.radios[0].spec.devices[0];
    let policy = device.policy.as_ref().expect("a policy");
    let groups: Vec<_> = policy.groups.iter().map(|g| (g.parent, g.weight, g.mode)).collect();
    assert_eq!(groups, [(None, 3, Mode::Limit), (Some(0), 1, Mode::Weighted)]);
    assert_eq!(policy.members, [(1, Some(1), 7)]);
}

const FOUR_ARMS: &str = include_str!("../../../../../scenarios/wifi-anomaly.toml");

#[test]
fn four_variants_have_four_drivers() {
    let experiment = right(FOUR_ARMS);
    let labels: Vec<&str> = experiment.variants.iter().map(|variant| variant.label.as_str()).collect();
    assert_eq!(labels, ["FIFO", "FQ-CoDel", "FQ-MAC", "Airtime"]);
    let drivers: Vec<_> =
        experiment.variants.iter().map(|v| v.scenario.radios[0].spec.devices[0].driver.clone()).collect();
    assert!(drivers[..2].iter().all(|driver| driver.lower == Lower::Fifo { packets: 123 }));
    assert!(drivers[2..].iter().all(|driver| driver.lower == Lower::Txq));
    let is_fair = |upper: &Upper| matches!(upper, Upper::Mac80211(p) if p.airtime_fairness && p.airtime_tx);
    assert!(!is_fair(&drivers[2].upper) && is_fair(&drivers[3].upper));
    let scenario = &experiment.variants[0].scenario;
    assert_eq!(scenario.nodes, ["server", "ap", "fast1", "fast2", "slow"]);
    assert_eq!(
        scenario.flows.iter().map(|flow| (flow.from, flow.to)).collect::<Vec<_>>(),
        [(0, 2), (0, 3), (0, 4)]
    );
}

const EIGHT_BUILDS: &str = include_str!("../../../../../scenarios/wifi-kazior.toml");

/// Two by four builds; and firmware that holds packets back.
#[test]
fn queues_above_firmware_and_its_limits() {
    let experiment = right(EIGHT_BUILDS);
    let drivers: Vec<_> =
        experiment.variants.iter().map(|v| v.scenario.radios[0].spec.devices[0].driver.clone()).collect();
    assert_eq!(drivers.len(), 10);
    for (place, driver) in drivers[..8].iter().enumerate() {
        assert_eq!(driver.lower, Lower::LossyFirmware { packets: 1024 });
        assert_eq!(driver.ideas.dql, (place >= 4).then_some(DqlScope::Hardware));
        let is_fine = match (place % 4, &driver.upper) {
            (0, Upper::Qdisc(queue)) => queue.to_string() == "pfifo:1000",
            (1, Upper::TailDrop { total: 512, station: 64 }) => true,
            (2, Upper::Mac80211(params)) => params.target == Span::from_secs(2000) && !params.aql,
            (3, Upper::Mac80211(params)) => {
                params.target == Span::from_millis(20) && !params.airtime_fairness
            }
            _ => false,
        };
        assert!(is_fine, "{place}: {driver:?}");
    }
    assert!(drivers[8..].iter().all(|driver| driver.lower == Lower::Firmware { packets: 1424 }));
}

/// The hosts of a test are the stations in turn; with the client at the server, its uploads go over the air.
#[test]
fn hosts_of_a_test_are_stations_in_turn() {
    let text = "test = \"rtt_fair_up\"\n[wifi]\nrun_from = \"server\"\nmcs = 7\n[[wifi.station]]\nname = \"sta\"\ncount = 3\n";
    let experiment = right(text);
    let scenario = &experiment.variants[0].scenario;
    assert_eq!(
        scenario.flows.iter().map(|flow| (flow.from, flow.to)).collect::<Vec<_>>(),
        [(0, 2), (0, 3), (0, 4), (0, 2)]
    );
    assert!(scenario.probes.iter().all(|probe| probe.from == 0));
    assert_eq!(experiment.variants[0].rtt.len(), 3);
    // A test for any number of hosts has one for each station.
    let any = right(&text.replace("rtt_fair_up", "rtt_fair_var_up"));
    let flows = &any.variants[0].scenario.flows;
    assert_eq!(flows.iter().map(|flow| flow.to).collect::<Vec<_>>(), [2, 3, 4]);
}

#[test]
fn a_station_has_one_ip_version() {
    let said = "1:1: rrul46 has one server by both IP versions, and a station has one version";
    refused("test = \"rrul46\"\n[wifi]\nmcs = 7\n[[wifi.station]]\nname = \"sta\"\n", said);
}

#[test]
fn a_variant_changes_defaults_of_stations_and_stations_by_name() {
    let text = one("mcs = 7", "")
        + "[[wifi.station]]\nname = \"own\"\nmcs = 3\n[[variant]]\nname = \"a\"\n[[variant]]\n\
        name = \"b\"\nwifi = { mcs = 1, stations.own = { weight = 512 } }\n";
    let experiment = right(&text);
    let of = |variant: usize, device: usize| match &experiment.variants[variant].scenario.radios[0]
        .spec
        .devices[device]
        .role
    {
        Role::Station { down, weight, .. } => (format!("{:?}", down.rate).contains("mcs: 1"), *weight),
        Role::AccessPoint => panic!("a station"),
    };
    assert_eq!([of(0, 1), of(1, 1), of(1, 2)], [(false, 256), (true, 256), (false, 512)]);
}

#[test]
fn the_plan_says_who_is_at_which_rate() {
    let plan = plan(FOUR_ARMS);
    let link = &plan["variants"][1]["links"][2];
    assert_eq!(link["link"], "ap to fast1");
    assert_eq!(link["line"], "on the air, ht20-mcs15-sgi");
    assert!(link["queue"].as_str().expect("words").starts_with("ath9k-4.4: fq_codel"), "{link}");
}

/// The behaviour of the access point of a network with these lines: its queues as text, and airtime fairness,
/// ath9k's own scheduler, sparse stations first, AQL, turns kept.
fn does(wifi: &str) -> (String, [bool; 5]) {
    let experiment = right(&one(wifi, "mcs = 1"));
    let variant = &experiment.variants[0];
    let driver = &variant.scenario.radios[0].spec.devices[0].driver;
    let on = match &driver.upper {
        Upper::Mac80211(params) => {
            [params.airtime_fairness, params.ath9k_scheduler, params.sparse_stations, params.aql]
        }
        _ => [false; 4],
    };
    (variant.label.clone(), [on[0], on[1], on[2], on[3], driver.keeps_turn])
}

#[test]
fn a_version_of_a_driver_does_what_that_kernel_did() {
    for (word, words, on) in [
        ("ath9k-4.4", "ath9k-4.4: pfifo:1000 over FIFOs of 123 frames", [0, 0, 0, 0, 0]),
        ("ath9k-4.10", "ath9k-4.10: stations in turn", [0, 0, 0, 0, 0]),
        ("ath9k-4.11", "ath9k-4.11: airtime fairness, sparse stations first", [1, 1, 1, 0, 1]),
        ("ath9k-6.1", "ath9k-6.1: airtime fairness", [1, 0, 0, 0, 1]),
        ("ath9k", "ath9k-6.1: airtime fairness", [1, 0, 0, 0, 1]),
        ("ath10k-4.4", "ath10k-4.4: pfifo:1000, 1424 packets in firmware", [0, 0, 0, 0, 0]),
        ("ath10k-4.19", "ath10k-4.19: stations in turn, 1424 packets in firmware", [0, 0, 0, 0, 0]),
        ("ath10k-6.1", "ath10k-6.1: airtime fairness, AQL, 1424 packets in firmware", [1, 0, 0, 1, 0]),
        ("ath10k", "ath10k-6.1: airtime fairness, AQL, 1424 packets in firmware", [1, 0, 0, 1, 0]),
    ] {
        let expected = (words.to_string(), on.map(|on| on == 1));
        assert_eq!(does(&format!("driver = \"{word}\"")), expected, "{word}");
    }
    // Only one thing is changed.
    let (_, on) = does("driver = \"ath9k-4.11\"\nairtime = false");
    assert_eq!(on, [false, false, false, false, true]);
    let (_, on) = does("driver = \"ath9k-4.11\"\nsparse = false");
    assert_eq!(on, [true, true, false, false, true]);
    let (words, on) = does("driver = \"ath9k-4.10\"\nturns = \"kept\"");
    assert_eq!((words.as_str(), on[4]), ("ath9k-4.10: stations in turn, turns kept", true));
    let (words, on) = does("driver = \"ath10k-4.4\"\nabove = \"fq_codel\"");
    assert_eq!(on, [false; 5]);
    assert_eq!(words, "ath10k-4.4: stations in turn, 1424 packets in firmware");
}

#[test]
fn firmware_may_limit_a_station_and_report_in_batches() {
    let (words, _) = does("driver = \"ath10k-4.19\"\nfirmware_station = 64\ncompletions = 16");
    let rest = "1424 packets in firmware, 64 of a station, completions in batches of 16";
    assert_eq!(words, format!("ath10k-4.19: stations in turn, {rest}"));
    refused(
        &one("driver = \"ath10k-4.4\"\nfirmware_station = 64", "mcs = 1"),
        "4:20: `firmware_station` has no effect with driver = \"ath10k-4.4\"",
    );
    refused(
        &one("completions = 2", "mcs = 1"),
        "3:15: `completions` has no effect with driver = \"ath9k-6.1\"",
    );
}

#[test]
fn protection_is_of_all_devices_and_the_cause_of_errors_of_all_stations() {
    let text = one("protection = \"cts\"\nsnr = 20\nsnr_errors = \"code\"", "mcs = 1");
    let radio = &right(&text).variants[0].scenario.radios[0].spec;
    assert!(radio.devices.iter().all(|device| device.protection == Protection::CtsToSelf));
    let Role::Station { up, down, .. } = &radio.devices[1].role else { panic!("a station") };
    assert_eq!([up.errors, down.errors], [Errors::Coded(20.0); 2]);
    let plain = right(&one("snr = 20", "mcs = 1"));
    let radio = &plain.variants[0].scenario.radios[0].spec;
    assert!(radio.devices.iter().all(|device| device.protection == Protection::Fallbacks));
    let Role::Station { up, .. } = &radio.devices[1].role else { panic!("a station") };
    assert_eq!(up.errors, Errors::Snr(20.0));
}

#[test]
fn stations_have_the_driver_of_a_version_too() {
    let words = |wifi: &str| {
        let link = &plan(&one(wifi, "mcs = 1"))["variants"][0]["links"][3];
        assert_eq!(link["link"], "sta to ap");
        link["queue"].as_str().expect("words").to_string()
    };
    assert_eq!(words(""), "ath9k-4.4: pfifo:1000 over FIFOs of 123 frames");
    assert_eq!(words("station_driver = \"ath9k-4.11\""), "ath9k-4.11");
    let text = one("station_driver = \"ath9k-4.11\"", "mcs = 1");
    let driver = &right(&text).variants[0].scenario.radios[0].spec.devices[1].driver;
    assert!(driver.keeps_turn && matches!(&driver.upper, Upper::Mac80211(params) if params.ath9k_scheduler));
}

#[test]
fn a_driver_without_its_version_is_refused_with_the_new_word() {
    let what = "a driver is named with its version of Linux, this one \"ath9k-4.4\"";
    refused(&one("driver = \"stock\"", "mcs = 1"), &format!("3:10: driver = \"stock\": {what}"));
    let text = one("station_driver = \"stock\"", "mcs = 1");
    refused(&text, &format!("3:18: station_driver = \"stock\": {what}"));
    refused(
        &one("driver = \"ath10k-4.4\"\nquantum = 300", "mcs = 1"),
        "4:11: `quantum` has no effect with driver = \"ath10k-4.4\"",
    );
}

/// A policy of a real access point must be refused with exactly this.
#[track_caller]
fn no_policy(text: &str, said: &str) {
    let error = crate::AirtimePolicy::parse(text, "p.toml").map(|_| ()).expect_err(text).to_string();
    assert_eq!(error, format!("p.toml:{said}"), "for\n{text}");
}

#[test]
fn policies_of_real_access_points_say_what_is_wrong() {
    no_policy("test = \"ping\"\n", "1:1: a policy for stations is in [wifi], and there is none");
    no_policy(
        "[wifi]\n[[wifi.station]]\nname = \"a\"\n",
        "1:1: no policy for a real access point: no [[wifi.station]] has `mac`, and no [[wifi.group]] has `interface`",
    );
    let station = |mac: &str| format!("[[wifi.station]]\nname = \"a\"\nmac = \"{mac}\"\n");
    for mac in ["02:00:00:00:01", "02:00:00:00:01:0g", "+2:00:00:00:01:00", "020000000100", ""] {
        let said = format!("3:7: mac = \"{mac}\": no address; write mac = \"02:00:00:00:01:00\"");
        no_policy(&station(mac), &said);
    }
    let twice = [station("02:00:00:00:01:00"), station("02:00:00:00:01:00")].concat();
    no_policy(&twice, "6:7: an earlier station has this address");
    let group = |name: &str| format!("[[wifi.group]]\nname = \"{name}\"\ninterface = \"guest0\"\n");
    let twice = [group("a"), group("b")].concat();
    no_policy(&twice, "6:13: an earlier group has this interface");
    no_policy(
        &format!("{}group = \"guest\"\n{}", station("02:00:00:00:01:00"), group("guests")),
        "4:9: no group is called `guest`; did you mean guests?",
    );
    // The simulator also reads the address.
    refused(
        &one("", "mcs = 1\nmac = \"x\""),
        "7:7: mac = \"x\": no address; write mac = \"02:00:00:00:01:00\"",
    );
}

#[test]
fn a_static_policy_has_the_weights_that_are_written() {
    let text = "[wifi]\npolicy = \"static\"\n[[wifi.group]]\nname = \"g\"\ninterface = \"guest0\"\n\
                [[wifi.station]]\nname = \"a\"\nmac = \"02:00:00:00:0A:00\"\nweight = 512\ngroup = \"g\"\n\
                [[wifi.station]]\nname = \"b\"\nmac = \"02:00:00:00:0b:00\"\n";
    let policy = crate::AirtimePolicy::parse(text, "p.toml").expect("right");
    assert!(policy.groups().is_none());
    assert_eq!(policy.place([2, 0, 0, 0, 10, 0], "wlan0"), Some((None, 512)));
    assert_eq!(policy.place([2, 0, 0, 0, 11, 0], "guest0"), None, "no weight is given");
    assert_eq!(policy.interval(), Span::from_millis(200));
}
