//! `sqm`, `autorate`, `watch` and `airtime` without a kernel of their own; `./vm` has what they do to queues.

use std::process::Command;

use super::usage::refused;
use super::{Scratch, goodqueue, run, skipped, stderr, stdout};

#[test]
fn wrong_words_are_refused_before_anything_is_touched() {
    refused("sqm lo --up 5mbit", &["lo is the loopback interface"]);
    refused("sqm nope0 --up 5mbit --dry-run", &["there is no interface nope0; "]);
    refused(
        "sqm lo --up 5mbit --layout cake.qos",
        &["cake.qos", "piece_of_cake, layer_cake, simple, simplest"],
    );
    refused("sqm lo --up 5mbit --link dsl", &["--link dsl", "docsis"]);
    refused("shape lo --up 5mbit --down 5mbit --link atm,ptm", &["--link atm,ptm: ptm is too much"]);
    refused(
        "shape lo --up 5mbit --down 5mbit --link ether-vlan",
        &["name the link, too, as in --link ethernet,ether-vlan"],
    );
    refused(
        "shape lo --up 5mbit --down 5mbit --queue cake,link=docsis --link pppoe-ptm",
        &["--queue cake,link=docsis and --link", "leave `link` out of the queue"],
    );
    refused(
        "shape lo --inside lo --up 5mbit --down 5mbit --queue cake,nat=on",
        &["--inside lo: nobody translates addresses", "leave `nat` out"],
    );
    refused(
        "shape lo --up 5mbit --down 5mbit --queue cake_mq,queues=9",
        &["--queue cake_mq,", "the maximum is 8", "queues=8 or less"],
    );
    refused(
        "shape lo --up 5mbit --down 5mbit --queue cake,fwmark=7",
        &["--queue cake,", "`fwmark` selects no tin", "use goodqueue sqm"],
    );
    refused(
        "shape lo --up 5mbit --down 5mbit --queue ./my_aqm.so,limit=100",
        &["--queue ./my_aqm.so: a queue from a library runs in goodqueue link, bridge and run"],
    );
    refused("shape lo --inside nope0 --up 5mbit --down 5mbit", &["there is no interface nope0"]);
    refused("doctor --explain nope", &["there is no such rule", "fifo, no-queue"]);
    refused("sqm --uci /nowhere/sqm", &["/nowhere/sqm"]);
    refused("autorate nope0 --up 1mbit --down 1mbit", &["there is no interface nope0"]);
    refused("autorate lo --up 5mbit..1mbit --down 1mbit", &["--up 5mbit..1mbit", "the lower one"]);
    refused("autorate lo --up 1..5mbit --down 1mbit", &["a number without a unit; write a rate as tc does"]);
    refused("autorate lo --up 1mbit.. --down 1mbit", &["--up 1mbit..: ", "as in 20mbit"]);
    refused("autorate nope0 --up 1mbit --down 1mbit --shaper shape", &["there is no interface nope0"]);
    refused(
        "autorate lo --up 1mbit..9mbit --down 1mbit..9mbit --shaper shape --queue tbf,rate=5mbit,burst=5k,limit=100k",
        &["--queue tbf,", "it would always shape to 5mbit", "cake, cake_mq and htb"],
    );
    refused("watch nope0", &["there is no interface nope0"]);
    refused("watch lo --interval 1ms", &["--interval", "from 100ms to 1h"]);
    refused("airtime --interval 1ms", &["--interval", "from 100ms to 1h"]);
    refused("airtime --policy /nowhere/wifi.toml", &["/nowhere/wifi.toml"]);
}

#[test]
fn a_wrong_rate_is_named_with_its_cure() {
    for (rate, words) in [
        ("10", "a number without a unit; write a rate as tc does, as in 20mbit or 1gbit"),
        ("10Mbit/s", "an unknown unit; write a rate as tc does"),
        ("0mbit", "nothing ever leaves a link of rate zero; write a rate"),
        ("10Mbps", "`bps` are bytes per second, as in tc; write 80mbit, or 10mbit if you mean bits"),
    ] {
        for command in ["sqm lo --down 1mbit", "shape lo --down 1mbit --dry-run"] {
            let output =
                goodqueue().args(command.split(' ')).args(["--up", rate]).output().expect("it starts");
            let text = stderr(&output);
            assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{text}");
            assert!(text.contains(&format!("'{rate}' for '--up <RATE>': {words}")), "{text}");
        }
    }
}

#[test]
fn a_wrong_configuration_is_named_with_its_line() {
    let scratch = Scratch::new("uci");
    let path = scratch.path("sqm");
    std::fs::write(&path, "config queue\n\toption interface lo\n\toption upload 5mbit\n\toption enabled 1\n")
        .expect("a file");
    let output = goodqueue().arg("sqm").arg("--uci").arg(&path).output().expect("the command starts");
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("sqm, line 3: upload is a number of kbit/s"), "{text}");
}

/// Runs a script in a network namespace of its own, as its root; `None` where that is not allowed.
pub(super) fn in_namespace(script: &str) -> Option<std::process::Output> {
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--net", "--mount", "sh", "-e", "-c", script]);
    command.env("GOODQUEUE", env!("CARGO_BIN_EXE_goodqueue"));
    let output = command.output().ok()?;
    if stderr(&output).contains("unshare failed") {
        skipped("sqm and watch in a namespace", "user namespaces are not allowed here");
        return None;
    }
    Some(output)
}

#[test]
fn a_dry_run_needs_no_right_and_prints_commands_of_tc() {
    let script = "ip link add q0 type veth peer name q1
        $GOODQUEUE sqm q0 --up 5mbit --down 20mbit --link docsis,ether-vlan --dry-run";
    let Some(output) = in_namespace(script) else { return };
    let text = stdout(&output);
    assert!(text.starts_with("tc qdisc add dev q0 root handle 1: cake bandwidth 5mbit besteffort"), "{text}");
    assert!(text.contains("overhead 22 mpu 64"), "{text}");
    assert!(text.contains("matchall action mirred egress redirect dev ifb4q0"), "{text}");
}

#[test]
fn a_rule_of_doctor_is_explained_with_what_was_measured() {
    let output =
        goodqueue().args(["doctor", "--explain", "txqueuelen"]).output().expect("the command starts");
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(text.starts_with("txqueuelen: *Fault.*") && text.contains("Measured here: "), "{text}");
    assert!(text.contains("\nLonger FIFOs\n") && text.contains("pfifo:10000  F"), "its measurement: {text}");
    assert!(!text.contains("]("), "no link that leads nowhere: {text}");
}

/// `doctor --fix` asks on a terminal (`script(1)` of util-linux). Each network namespace has its own
/// setting of ECN, so the change is real.
#[test]
fn doctor_changes_nothing_without_a_yes() {
    let script = "mount -t tmpfs tmpfs /run
        ecn=/proc/sys/net/ipv4/tcp_ecn
        command -v script >/run/found || exit 78
        echo 0 >$ecn || exit 77
        export SHELL=/bin/sh
        fix() {
            echo $1 | script --quiet --command \"$GOODQUEUE doctor --fix\" /dev/null || true
            echo \"<$1: ecn $(cat $ecn)>\"
        }
        undo() {
            code=0; $GOODQUEUE doctor --undo || code=$?
            echo \"<undo: exit code $code, ecn $(cat $ecn)>\"
        }
        fix no; undo; fix perhaps; fix yes; undo";
    let Some(output) = in_namespace(script) else { return };
    match output.status.code() {
        Some(77) => return skipped("doctor --fix on a terminal", "settings cannot be changed here"),
        Some(78) => return skipped("doctor --fix on a terminal", "the program script is not installed"),
        _ => {}
    }
    let text = stdout(&output);
    let told: Vec<&str> = text.split('<').skip(1).filter_map(|rest| rest.split('>').next()).collect();
    assert_eq!(
        told,
        ["no: ecn 0", "undo: exit code 2, ecn 0", "perhaps: ecn 0", "yes: ecn 2", "undo: exit code 0, ecn 0",],
        "{text}{}",
        stderr(&output)
    );
    let of = |mark: &str| text.split(mark).next().expect("a part").matches("fix it? yes, no, quit: ").count();
    assert_eq!((of("<no"), of("<perhaps")), (1, 3), "other words are asked about once more: {text}");
}

/// A file of sqm-scripts: options without effect are reported, and disabled sections are not started.
#[test]
fn options_of_sqm_scripts_without_effect_are_told() {
    let scratch = Scratch::new("uci-told");
    let path = scratch.path("sqm");
    let text = "config queue wan
\toption enabled 1
\toption interface q0
\toption upload 2000
\toption script simplest_tbf.qos
\toption ilimit 300
config queue other
\toption interface q1
\toption upload 9000
";
    std::fs::write(&path, text).expect("a file");
    let script = format!(
        "ip link add q0 type veth peer name q1
        $GOODQUEUE sqm --uci {} --dry-run",
        path.display()
    );
    let Some(output) = in_namespace(&script) else { return };
    let (text, told) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(text.contains("dev q0 parent 1:1 handle 10: fq_codel") && !text.contains("dev q1"), "{text}");
    assert!(text.contains(" target 6056us interval 101056us ") && text.contains(" noecn "), "{text}");
    for words in [
        "sqm, line 5: option script 'simplest_tbf.qos' has no effect: htb with one class takes the place of tbf",
        "sqm, line 6: option ilimit '300' has no effect: it needs option qdisc_really_really_advanced '1'",
        "queue other is not enabled",
    ] {
        assert!(told.contains(words), "{told}");
    }
    assert_eq!(told.lines().count(), 3, "{told}");
}

/// One section whose interface is not there stops no other.
#[test]
fn a_missing_interface_of_sqm_scripts_is_named_with_its_section() {
    let scratch = Scratch::new("uci-missing");
    let path = scratch.path("sqm");
    let section = |name: &str, interface: &str| {
        format!(
            "config queue {name}\n\toption enabled 1\n\toption interface {interface}\n\toption upload 9000\n"
        )
    };
    let text = section("usb", "nope0") + &section("wan", "q0") + &section("lte", "nope1");
    std::fs::write(&path, text).expect("a file");
    let script = format!(
        "ip link add q0 type veth peer name q1
        $GOODQUEUE sqm --uci {} --dry-run",
        path.display()
    );
    let Some(output) = in_namespace(&script) else { return };
    let (text, told) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(text.contains("dev q0 root handle 1: cake bandwidth 9mbit"), "{text}");
    let lines: Vec<&str> = told.lines().collect();
    let [first, second] = &lines[..] else { panic!("{told}") };
    assert!(first.contains("sqm: queue usb: there is no interface nope0; the interfaces are "), "{told}");
    assert!(second.contains("sqm: queue lte: there is no interface nope1"), "{told}");
}

/// A start that is killed while it tries the plan leaves the interface on which it tried.
#[test]
fn the_next_start_deletes_what_a_killed_one_tried_its_plan_on() {
    let script = "mount -t tmpfs tmpfs /run
        ip link add gqtry1 type ifb || exit 77
        ip link set gqtry1 alias 'goodqueue sqm a rehearsal'
        ip link add gqtry2 type ifb
        ip link add q0 type veth peer name q1
        # Exit code 3 where the kernel has no cake.
        $GOODQUEUE sqm q0 --up 5mbit --layout piece_of_cake || [ $? -eq 3 ]
        ip -brief link";
    let Some(output) = in_namespace(script) else { return };
    if output.status.code() == Some(77) {
        return skipped("what a killed start left", "the kernel has no ifb");
    }
    let text = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(text.contains("gqtry2 ") && !text.contains("gqtry1 "), "only what is ours: {text}");
}

#[test]
fn queues_are_watched_as_json() {
    let script = "ip link set lo up
        ip link add q0 type veth peer name q1
        ip link set q0 up
        $GOODQUEUE watch --count 2 --interval 100ms --json";
    let Some(output) = in_namespace(script) else { return };
    let text = stdout(&output);
    assert_eq!(text.lines().count(), 2, "{text}{}", stderr(&output));
    for line in text.lines() {
        let look: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let names: Vec<&str> = look["interfaces"]
            .as_array()
            .expect("interfaces")
            .iter()
            .filter_map(|i| i["interface"].as_str())
            .collect();
        assert!(names.contains(&"q0") && !names.contains(&"lo"), "{line}");
        assert_eq!(look["interfaces"][0]["stations"], serde_json::json!([]), "no Wi-Fi is no error");
    }
}

#[test]
fn a_missing_right_or_reflector_is_named_before_anything_is_touched() {
    let follow = "$GOODQUEUE autorate q0 --up 1mbit..5mbit --down 1mbit..9mbit";
    for (command, code, words) in [
        (format!("setpriv --bounding-set=-net_raw {follow}"), 3, "CAP_NET_RAW"),
        (format!("{follow} --reflector 192.0.2.1"), 2, "1 reflectors: give 2 to 8"),
    ] {
        let script = format!("ip link add q0 type veth peer name q1; {command}");
        let Some(output) = in_namespace(&script) else { return };
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{text}");
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn a_unit_of_systemd_has_what_was_typed() {
    let script = "ip link add q0 type veth peer name q1
        $GOODQUEUE sqm q0 --up 5mbit --systemd --layout simple";
    let Some(output) = in_namespace(script) else { return };
    let text = stdout(&output);
    assert!(text.contains("goodqueue sqm q0 --up 5mbit --layout simple\n"), "{text}");
    assert!(text.contains("BindsTo=sys-subsystem-net-devices-q0.device\n"), "{text}");
    assert!(text.contains("ExecStop=") && text.contains(" sqm stop q0\n"), "{text}");
    let script = script.replace("sqm q0 --up 5mbit", "autorate q0 --up 1mbit..5mbit --down 9mbit");
    let Some(output) = in_namespace(&script) else { return };
    let text = stdout(&output);
    assert!(text.contains("CapabilityBoundingSet=CAP_NET_ADMIN CAP_NET_RAW\n"), "{text}");
    assert!(!text.contains("ExecStop="), "{text}");
    let script = script.replace("--layout", "--shaper shape --layout");
    let Some(output) = in_namespace(&script) else { return };
    let text = stdout(&output);
    assert!(text.contains("--down 9mbit --shaper shape --layout simple\n"), "{text}");
    assert!(text.contains("=CAP_NET_ADMIN CAP_NET_RAW CAP_SYS_NICE CAP_IPC_LOCK\n"), "{text}");
    let script = "ip link add q0 type veth peer name q1
        $GOODQUEUE shape q0 --up 5mbit --down 9mbit --systemd --queue cake,nat=on";
    let Some(output) = in_namespace(script) else { return };
    let text = stdout(&output);
    assert!(text.contains("goodqueue shape q0 --up 5mbit --down 9mbit --queue cake,nat=on\n"), "{text}");
    assert!(
        text.contains("CapabilityBoundingSet=CAP_NET_ADMIN CAP_NET_RAW CAP_SYS_NICE CAP_IPC_LOCK\n"),
        "{text}"
    );
    // The folder of a service is `/`, which it cannot write to, and nobody watches its lines.
    for more in ["-o result", "--watch"] {
        let output = run(&format!("shape q0 --up 5mbit --down 9mbit --systemd {more}"));
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains("--systemd") && text.contains("cannot be used with"), "{text}");
    }
}

/// Where no socket can be made, the queues work all the same, and a line says what is missing.
#[test]
fn a_shaper_that_cannot_be_watched_says_so() {
    let script = "mount -t tmpfs tmpfs /run
        for pair in 1 2; do
            ip link add a$pair type veth peer name b$pair
            ip link set a$pair up; ip link set b$pair up
        done
        TMPDIR=/nowhere $GOODQUEUE bridge a1 a2 --rate 5mbit --length 100ms --quiet";
    let Some(output) = in_namespace(script) else { return };
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    let warning = "goodqueue: warning: `goodqueue watch` cannot show this: listening in /nowhere/";
    assert!(text.contains(warning), "{text}");
}
