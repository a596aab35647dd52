//! Scripts of packetdrill: our own, from the RFCs; and texts that are no scripts.

use std::path::{Path, PathBuf};

use goodqueue_proof::packetdrill::script::{Action, Body, Event, Packet, Script, Segment, TcpOption, When};
use goodqueue_proof::packetdrill::{CommandLine, Outcome, parse, run_file, run_script};
use proptest::prelude::*;

fn scripts(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/packetdrill").join(folder);
    let entries = std::fs::read_dir(&root).unwrap_or_else(|error| panic!("{}: {error}", root.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

fn outcome(path: &Path) -> Outcome {
    run_file(path, &CommandLine::default()).expect("a script")
}

fn run(text: &str) -> Outcome {
    run_script(&parse(text).expect("a script"), Path::new("/nonexistent"), &CommandLine::default())
}

#[test]
fn the_scripts_from_rfcs_and_manuals_pass_and_give_the_same_result_again() {
    let folders = [
        "rfc1122", "rfc1191", "rfc3168", "rfc5482", "rfc5681", "rfc6069", "rfc6298", "rfc6675", "rfc6937",
        "rfc7323", "rfc7413", "rfc8985", "rfc9293", "rfc9438", "rfc9768", "socket",
    ];
    let files: Vec<PathBuf> = folders.iter().flat_map(|folder| scripts(folder)).collect();
    assert!(files.len() >= 80, "{} scripts", files.len());
    for path in files {
        let first = outcome(&path);
        assert_eq!(first, Outcome::Passed, "{}", path.display());
        assert_eq!(outcome(&path), first, "{}", path.display());
    }
}

#[test]
fn a_script_that_is_wrong_fails_at_its_line_with_both_sides() {
    let wanted = [
        ("assertion.pkt", 13, "an assertion does not hold", "tcpi_snd_cwnd is 10"),
        ("counter.pkt", 13, "the TCP options differ", "ceb 500"),
        ("notice.pkt", 14, "recvmsg() writes something else", "ee_info=0, ee_data=0"),
        ("sequence.pkt", 14, "the sequence number differs", "> P. 1:1001(1000) ack 1"),
        ("time.pkt", 15, "no packet is sent", "none by"),
        ("window.pkt", 14, "the window differs", "win 502"),
    ];
    for (path, (name, line, what, actual)) in scripts("wrong").iter().zip(wanted) {
        assert!(path.ends_with(name), "{}", path.display());
        let Outcome::Failed(difference) = outcome(path) else { panic!("{name} does not fail") };
        assert_eq!((difference.line, difference.what.as_str()), (line, what), "{name}");
        assert!(difference.actual.contains(actual), "{name}: {}", difference.actual);
    }
}

#[test]
fn what_the_model_does_not_have_is_left_out_by_name() {
    let wanted =
        [("icmp", "icmp echo_request"), ("md5", "TCP MD5 signatures"), ("setting", "sysctl tcp_recovery=0")];
    for (path, (name, wanted)) in scripts("left-out").iter().zip(wanted) {
        match outcome(path) {
            Outcome::Skipped { reason, .. } => assert_eq!(reason, wanted, "{name}"),
            other => panic!("{name}: {other:?}"),
        }
    }
    let never = Path::new("/tmp/goodqueue-never-runs-this");
    assert!(!never.exists(), "a command of a script was run");
}

#[test]
fn a_text_that_is_no_script_is_refused_with_its_line() {
    for (text, line, reason) in [
        ("0 socket(", 1, "expected an expression, found the end of the script"),
        ("\n0 < X 0:0(0)", 2, "expected TCP flags (of FSRPEWAU, `.` and a digit for ACE), found `X`"),
        ("0 < . 0:5(4)", 1, "0:5 are not 4 bytes"),
        ("0 /* never closed", 1, "the comment has no end"),
        ("0 > . 1:1(0) ack 1 win 65536", 1, "expected a window of at most 65535, found `65536`"),
        ("+2~+1 > . 1:1(0)", 1, "the range of times ends before it begins"),
        ("0...1 > . 1:1(0)", 1, "only a system call can have an end time (`...`)"),
        ("nonsense", 1, "expected a time in seconds, found `nonsense`"),
    ] {
        let error = parse(text).expect_err("no script");
        assert_eq!((error.line, error.reason.as_str()), (line, reason), "{text}");
    }
}

/// Grammar that the suites use beyond the page "Syntax" of the manual: all of it is read.
#[test]
fn the_grammar_of_the_suites_is_read() {
    for text in [
        "--tolerance_usecs=10000\n--mss=1000\n`sysctl -q a=b\n`\n\
         0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3",
        "0...0.200 accept(3, ..., ...) = 4\n+.002 ... 0.004 connect(4, ..., ...) = 0\n\
         +.01...0.011 close(3) = 0",
        "* > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 8>\n+0~+.04 > . 1:1(0) ack 2\n\
         1.5~1.6 > . 1:1(0)",
        "0 < [ect0] EWA. 1:1(0) ack 3 win 264 <ECN e0b 1001 ceb 2000 e1b 1,nop>\n\
         0 > [flowlabel 0x1] . 1:1(0)",
        "0 < (tos 0x2) . 1:1(0)\n0 < [ect0, tos 0x2] . 1:1(0) urg 5\n0 < - 1:1001(1000) win 20000",
        "0 < F. 1:1(0) ack 2 win 2 <TS val 100 ecr 200,eol>\n\
         0 < . 1:1(0) <sack 1:2 3:4,nop,nop, FO abcd1234,nop>",
        "0 < . 1:1(0) ack 1 <md5 000102030405060708090a0b0c0d0e0f,nop,nop>\n\
         0 < . 1:1(0) <FO,nop,nop,FOEXP 12>",
        "0 < S 0:0(0) win 1 <mss 1460, mpcapable v1 flags[flag_h] nokey>\n0 > . 1:1(0) <...>",
        "0 < [1:1001(1000)] icmp unreachable frag_needed mtu 1200\n\
         0 < icmp unreachable host_unreachable [0:0(0)]\n0 < icmp unreachable\n+0 < icmp time_exceeded [1:2(1)]\n\
         0 < icmpv6 packet_too_big mtu 1280",
        "0 < [ect0] .5 1:1001(1000) ack 1\n0 > P5. 1:1(0) ack 1 <ECN e1b 1 ceb 0,nop,nop,sack 1:2>",
        "0 > udp (100)\n0 < ipv4 1.2.3.4 > 5.6.7.8: ipv6 ::1 > ::2: . 1:1(0)\n0 > gre flags 0x2000: . 1:1(0)",
        "0 < P. 1:21(20) ack 1 win 257 {rep tcp src_port 0x0B63}\n0 > 80>1234 S. 0:0(0) ack 1",
        "0 fcntl(3, F_GETFL) = 0x2 (flags O_RDWR)\n0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0",
        "0 write(3, ..., 10) = -1 EPIPE (Broken pipe)\n0 sendto(3, \"abc\"..., 3, 0, ..., ...) = 3",
        "0 poll([{fd=3, events=POLLIN|POLLOUT, revents=POLLOUT}], 1, 0) = 1\n0 epoll_create(1) = 5",
        "0 epoll_ctl(5, EPOLL_CTL_ADD, 4, {events=EPOLLOUT|EPOLLET, fd=4}) = 0\n0 sendfile(4, 5, [0], 9) = 9",
        "0 recvmsg(3, {msg_name(...)=..., msg_iov(1)=[{..., 1000}], msg_flags=0,\n \
         msg_control=[{cmsg_level=SOL_TCP, cmsg_type=TCP_CM_INQ, cmsg_data=9000}]}, 0) = 1000",
        "0 setsockopt(3, SOL_SOCKET, SO_LINGER, {onoff=1, linger=0}, 8) = 0\n0 close(3) = 0 // comment",
        "0 connect(3, {sa_family = AF_INET, sin_port = htons(8080), \
         sin_addr = inet_addr(\"1.2.3.4\")}, ...) = 0",
        "# a comment\n0 %{ assert tcpi_snd_cwnd == 10, 'x } y' }%\n/* a\n comment */ `true`\n",
    ] {
        assert!(parse(text).is_ok(), "{text}\n{:?}", parse(text));
    }
}

#[test]
fn a_setting_beside_the_script_counts_and_a_missing_one_is_named() {
    let folder = std::env::temp_dir().join(format!("goodqueue-packetdrill-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("settings.sh"), "sysctl -q net.ipv4.tcp_timestamps=0\n").expect("a file");
    let text = "`./settings.sh > /dev/null 2>&1`\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
        +0 fcntl(3, F_SETFL, O_NONBLOCK) = 0\n+0 connect(3, ..., ...) = -1 EINPROGRESS (...)\n\
        +0 > S 0:0(0) <mss 1460,nop,nop,sackOK,nop,wscale 7>";
    let script = parse(text).expect("a script");
    assert_eq!(run_script(&script, &folder, &CommandLine::default()), Outcome::Passed);
    std::fs::remove_dir_all(&folder).expect("it is there");
    let Outcome::Skipped { reason, line } = run_script(&script, &folder, &CommandLine::default()) else {
        panic!()
    };
    assert_eq!((line, reason.as_str()), (1, "the settings in ./settings.sh, which is not there"));
}

#[test]
fn options_on_the_command_line_override_those_of_a_script() {
    let script = |mss: u16, options: &str| {
        let events = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 fcntl(3, F_SETFL, NB) = 0\n\
             +0 connect(3, ..., ...) = -1 EINPROGRESS (...)\n";
        let syn = format!("+0 > S 0:0(0) <mss {mss},sackOK,TS val 1 ecr 0,nop,wscale 7>");
        parse(&format!("{options}\n{events}{syn}")).expect("a script")
    };
    let run = |script: &Script, options: &[(&str, &str)]| {
        let options = options.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let defines = vec![("NB".to_owned(), "O_NONBLOCK".to_owned())];
        run_script(script, Path::new("."), &CommandLine { options, defines })
    };
    let six = ("ip_version", "ipv6");
    assert_eq!(run(&script(1440, ""), &[six]), Outcome::Passed);
    let Outcome::Failed(_) = run(&script(1440, ""), &[]) else { panic!() };
    let own = "--ip_version=ipv4\n--mtu=1400";
    assert_eq!(run(&script(1360, own), &[]), Outcome::Passed);
    assert_eq!(run(&script(1440, own), &[six, ("mtu", "1500")]), Outcome::Passed);
    assert_eq!(run(&script(1240, own), &[("mtu", "1280")]), Outcome::Passed);
}

/// The addresses, the key and the cookie are those of packetdrill's suite.
#[test]
fn the_cookie_of_fast_open_depends_on_the_addresses_of_the_script() {
    let script = |options: &str, cookie: &str| {
        parse(&format!(
            "{options}\n`sysctl -q net.ipv4.tcp_fastopen=2 \
             net.ipv4.tcp_fastopen_key=a0bf63f7-ed803d81-cd641d30-cebc4a90`\n\
             0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n\
             +0 setsockopt(3, SOL_TCP, TCP_FASTOPEN, [5], 4) = 0\n+0 listen(3, 1) = 0\n\
             +0 < S 0:0(0) win 10000 <mss 1012,FO,nop,nop>\n\
             +0 > S. 0:0(0) ack 1 <mss 1460,FO {cookie},nop,nop>\n"
        ))
        .expect("a script")
    };
    let run = |options: &str, cookie: &str, version: &str| {
        let options_given = vec![("ip_version".to_owned(), version.to_owned())];
        let given = CommandLine { options: options_given, defines: Vec::new() };
        run_script(&script(options, cookie), Path::new("."), &given)
    };
    let addresses = "--local_ip=192.168.0.2\n--remote_ip=10.248.0.2";
    assert_eq!(run(addresses, "00abaaabe8e954c2", "ipv4"), Outcome::Passed);
    let Outcome::Failed(_) = run("", "00abaaabe8e954c2", "ipv4") else { panic!() };
    let Outcome::Skipped { reason, .. } = run(addresses, "00abaaabe8e954c2", "ipv6") else { panic!() };
    assert_eq!(reason, "the address 192.168.0.2 in this version of IP");
    let Outcome::Skipped { reason, .. } = run("--remote_ip=nowhere", "00", "ipv4") else { panic!() };
    assert_eq!(reason, "the option --remote_ip=nowhere");
}

#[test]
fn a_call_that_blocks_must_return_in_time() {
    let early = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n\
        +0...0.1 accept(3, ..., ...) = 4\n+.2 < S 0:0(0) win 1000 <mss 1000>\n\
        +0 > S. 0:0(0) ack 1 <mss 1460>\n\
        +0 < . 1:1(0) ack 1 win 1000\n";
    let Outcome::Failed(difference) = run(early) else { panic!() };
    assert_eq!(
        (difference.line, difference.what.as_str()),
        (4, "the call returns at the wrong time: 0.100020 s late")
    );
    let never = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n\
        +0 accept(3, ..., ...) = 4\n";
    let Outcome::Failed(difference) = run(never) else { panic!() };
    assert_eq!((difference.line, difference.what.as_str()), (4, "the call does not return"));
}

fn option() -> impl Strategy<Value = TcpOption> {
    prop_oneof![
        Just(TcpOption::Nop),
        Just(TcpOption::Eol),
        Just(TcpOption::SackOk),
        any::<u16>().prop_map(TcpOption::Mss),
        any::<u8>().prop_map(TcpOption::Wscale),
        any::<(u32, u32)>().prop_map(|(val, ecr)| TcpOption::Timestamps(val, ecr)),
        prop::collection::vec(any::<(u32, u32)>(), 1..4).prop_map(TcpOption::Sack),
    ]
}

fn segment() -> impl Strategy<Value = Segment> {
    let numbers =
        (any::<u32>(), any::<u16>(), any::<Option<u32>>(), any::<Option<u16>>(), any::<Option<u16>>());
    let options = prop::option::of(prop::collection::vec(option(), 0..6));
    (any::<[bool; 3]>(), any::<u8>(), numbers, options).prop_map(|([ae, urg, _], flags, numbers, options)| {
        let (start, len, ack, win, urgent) = numbers;
        Segment {
            ports: None,
            flags: flags & 0xdf,
            ae,
            urg,
            start,
            end: start.wrapping_add(u32::from(len)),
            len: u32::from(len),
            ack,
            win,
            urgent,
            options,
        }
    })
}

proptest! {
    /// What is written is read as it was.
    #[test]
    fn a_packet_survives_writing_and_reading(segment in segment(), is_injected: bool, at in 0_i64..1 << 40) {
        let packet = Packet {
            is_injected,
            ip: Default::default(),
            body: Body::Tcp(segment),
            unusual: None,
        };
        let text = format!("{}.{:06} {packet}", at / 1_000_000, at % 1_000_000);
        let script = parse(&text).map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
        let action = Action::Packet(packet);
        let event = Event { line: 1, when: When::At(at), until: None, action };
        prop_assert_eq!(script, Script { options: Vec::new(), events: vec![event] });
    }

    /// No text makes the reader panic.
    #[test]
    fn any_text_is_read_or_refused(text in "[0-9a-zA-Z+.~*<>:()\\[\\]{}=,|`%/\"\n -]{0,120}") {
        let _ = parse(&text);
    }

    /// No script makes the runner panic, whatever segments it injects, and it does the same again.
    #[test]
    fn any_segments_are_taken(
        segments in prop::collection::vec((segment(), 0_i64..2_000_000), 1..12),
        kind in 0..3_usize,
    ) {
        let (asked, granted) = [
            ("sackOK,nop,nop,nop,wscale 7", "nop,nop,sackOK,nop,wscale 7"),
            ("nop,wscale 7", "nop,wscale 7"),
            ("sackOK,TS val 1 ecr 0", "sackOK,TS val 1 ecr 1"),
        ][kind];
        let mut script = parse(&format!(
            "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n\
             +0 < S 0:0(0) win 32792 <mss 1000,{asked}>\n+0 > S. 0:0(0) ack 1 <mss 1460,{granted}>\n\
             +.1 < . 1:1(0) ack 1 win 257\n+0 accept(3, ..., ...) = 4\n+0 write(4, ..., 20000) = 20000",
        ))
        .expect("a script");
        for (mut segment, wait) in segments {
            (segment.ae, segment.urg, segment.urgent) = (false, false, None);
            // Near the numbers of the connection, so that some are acceptable.
            segment.start %= 70_000;
            segment.end = segment.start + segment.len;
            segment.ack = segment.ack.map(|ack| ack % 30_000);
            if segment.flags & 0x02 != 0 {
                (segment.len, segment.end) = (0, segment.start);
            }
            let packet =
                Packet { is_injected: true, ip: Default::default(), body: Body::Tcp(segment), unusual: None };
            let action = Action::Packet(packet);
            script.events.push(Event { line: 9, when: When::After(wait), until: None, action });
        }
        let outcome = run_script(&script, Path::new("."), &CommandLine::default());
        prop_assert_eq!(run_script(&script, Path::new("."), &CommandLine::default()), outcome);
    }
}
