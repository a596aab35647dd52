//! What the model has: settings as its parameters, and the parts of a script that it lacks, by name.

use goodqueue::Span;
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::tcp::{Config, FastOpenHost, Host, Icmp};

use super::cookies::{self, Addresses};
use super::script::{self, Action, Body, Call, Event, Expr, Packet, TcpOption};
use super::settings::Setting;

/// A host as the suites assume it: ticks of 1 ms (`CONFIG_HZ_1000`), and the defaults of Linux otherwise.
pub(super) fn host(ipv6: bool, mtu: u32) -> Host {
    let tick = Span::from_millis(1);
    let tcp = Config { ecn: true, tick, ..Config::default() };
    let ip_header = if ipv6 { 40 } else { 20 };
    // Linux since 6.5.
    let fast_open = FastOpenHost { mode: 1, ..FastOpenHost::default() };
    Host { tcp, mtu, ip_header, fast_open, syn_linear_timeouts: 4, ..Host::default() }
}

/// Takes a setting. The error names what the model has not.
pub(super) fn apply(setting: &Setting, host: &mut Host, addresses: &Addresses) -> Result<(), String> {
    match setting {
        Setting::Sysctl(name, value) => sysctl(name, value, host, addresses),
        Setting::Qdisc(kind, limit) => match kind.as_str() {
            "pfifo" | "pfifo_fast" | "noqueue" | "fq_codel" | "bfifo" => {
                (host.is_device_full, host.has_fq) = (*limit == Some(0), false);
                Ok(())
            }
            "fq" => {
                (host.is_device_full, host.has_fq) = (false, true);
                Ok(())
            }
            _ => Err(format!("`tc qdisc ... {kind}`: packets do not pass a queue here")),
        },
        Setting::Parameter(path, value) => match (path.rsplit('/').next(), value.as_str()) {
            (Some("hystart_detect"), "3") | (Some("hystart"), "1") => Ok(()),
            (name, value) => Err(format!("the module parameter {}={value}", name.unwrap_or(path))),
        },
        Setting::Missing(file) => Err(format!("the settings in {file}, which is not there")),
        Setting::Offload(on) => {
            host.tcp.tso = *on;
            Ok(())
        }
        Setting::Mtu(mtu) if (576..=65_535).contains(mtu) => {
            host.mtu = *mtu;
            Ok(())
        }
        Setting::Flush | Setting::Counters(_) => Ok(()),
        Setting::Counted(name, _) if COUNTERS.contains(&name.as_str()) => Ok(()),
        Setting::Counted(name, _) => Err(format!("the counter {name}")),
        Setting::Mtu(mtu) => Err(format!("an MTU of {mtu} bytes")),
        Setting::Command(command) => Err(format!("the command `{command}`")),
    }
}

/// Counters of `nstat` that the model has.
pub(super) const COUNTERS: [&str; 2] = ["TcpExtOutOfWindowIcmps", "TcpExtBeyondWindow"];

/// Sysctls that only have effect with something that is refused by itself, or none on one connection.
const INERT: [&str; 15] = [
    "tcp_fastopen_cookies",
    "tcp_fack",
    "tcp_fastopen_blackhole_timeout_sec",
    "tcp_no_metrics_save",
    "tcp_max_syn_backlog",
    "tcp_mem",
    "tcp_tw_reuse",
    "tcp_autocorking",
    "tcp_challenge_ack_limit",
    "tcp_child_ehash_entries",
    "tcp_l3mdev_accept",
    "tcp_abort_on_overflow",
    "ip_local_port_range",
    "net.core.somaxconn",
    "net.mptcp.enabled",
];

/// Sysctls that the model has with one value: Linux's.
const FIXED: [(&str, &[&str]); 18] = [
    ("tcp_frto", &["1", "2"]),
    ("tcp_dsack", &["1"]),
    ("tcp_reordering", &["3"]),
    ("tcp_max_reordering", &["300"]),
    ("tcp_recovery", &["1"]),
    ("tcp_moderate_rcvbuf", &["1"]),
    ("tcp_tso_rtt_log", &["9"]),
    ("tcp_adv_win_scale", &["1"]),
    ("tcp_app_win", &["31"]),
    ("tcp_retries1", &["3"]),
    ("tcp_mtu_probing", &["0"]),
    ("tcp_thin_linear_timeouts", &["0"]),
    ("tcp_comp_sack_delay_ns", &["1000000"]),
    ("tcp_comp_sack_slack_ns", &["100000"]),
    ("tcp_comp_sack_nr", &["44"]),
    ("tcp_pingpong_thresh", &["1"]),
    ("tcp_min_rtt_wlen", &["300"]),
    ("tcp_shrink_window", &["0"]),
];

#[allow(clippy::cast_possible_truncation)]
fn sysctl(name: &str, value: &str, host: &mut Host, addresses: &Addresses) -> Result<(), String> {
    let unknown = || format!("sysctl {name}={value}");
    let number = || value.parse::<u32>().map_err(|_| unknown());
    let tcp = &mut host.tcp;
    match name {
        "tcp_rmem" => tcp.tcp_rmem = triple(value).ok_or_else(unknown)?,
        "tcp_wmem" => tcp.tcp_wmem = triple(value).ok_or_else(unknown)?,
        "tcp_timestamps" => tcp.timestamps = number()? != 0,
        "tcp_sack" => host.sack = number()? != 0,
        "tcp_window_scaling" => host.window_scaling = number()? != 0,
        "tcp_ecn" => match number()? {
            mode @ 0..=5 => {
                (tcp.ecn, host.asks_ecn) = (mode > 0, matches!(mode, 1 | 3 | 4));
                (host.accecn.asks, host.accecn.grants) = (mode == 3, mode >= 3);
            }
            _ => return Err(unknown()),
        },
        "tcp_ecn_fallback" => host.accecn.fallback = number()? != 0,
        "tcp_ecn_option" => match number()? {
            option @ 0..=3 => host.accecn.option = option as u8,
            _ => return Err(unknown()),
        },
        "tcp_ecn_option_beacon" => host.accecn.beacon = number()?,
        "tcp_syn_linear_timeouts" => host.syn_linear_timeouts = number()?,
        "tcp_fastopen" => host.fast_open.mode = hexadecimal(value).ok_or_else(unknown)?,
        "tcp_fastopen_key" => {
            let key = cookies::key(value).ok_or_else(unknown)?;
            host.fast_open.cookie = cookies::cookie(key, host.ip_header == 40, addresses);
        }
        "tcp_syn_retries" => host.syn_retries = number()?,
        "tcp_synack_retries" => host.synack_retries = number()?,
        "tcp_syncookies" => host.syncookies = number()? == 2,
        // 1 and 2 were about early retransmit, which is gone; 0 is without probes of the tail.
        "tcp_early_retrans" => tcp.early_retrans = number()? > 2,
        "tcp_retries2" => tcp.retries2 = number()?,
        "tcp_rto_max_ms" => tcp.rto_max = Span::from_millis(u64::from(number()?.clamp(1000, 120_000))),
        "tcp_fin_timeout" => host.fin_timeout = Some(Span::from_secs(number()?.into())),
        "tcp_keepalive_time" => host.keepalive.time = Span::from_secs(number()?.into()),
        "tcp_keepalive_intvl" => host.keepalive.interval = Span::from_secs(number()?.into()),
        "tcp_keepalive_probes" => host.keepalive.probes = number()?,
        "tcp_slow_start_after_idle" => tcp.slow_start_after_idle = number()? != 0,
        "tcp_min_tso_segs" => tcp.min_tso_segs = number()?,
        "tcp_tso_win_divisor" => tcp.tso_win_divisor = number()?.max(1),
        "tcp_pacing_ss_ratio" => tcp.pacing_ss_ratio = number()?,
        "tcp_pacing_ca_ratio" => tcp.pacing_ca_ratio = number()?,
        "tcp_invalid_ratelimit" => host.invalid_ratelimit = Span::from_millis(number()?.into()),
        "tcp_notsent_lowat" if value == "-1" => host.notsent_lowat = u32::MAX,
        "tcp_notsent_lowat" => host.notsent_lowat = number()?,
        "tcp_limit_output_bytes" => tcp.limit_output_bytes = number()?,
        "tcp_congestion_control" => host.cc = congestion_control(value)?,
        "net.core.default_qdisc" if value != "fq" => {}
        _ if INERT.contains(&name) => {}
        _ => {
            let fixed = FIXED.iter().find(|(fixed, _)| *fixed == name);
            if !fixed.is_some_and(|(_, values)| values.contains(&value)) {
                return Err(unknown());
            }
        }
    }
    Ok(())
}

/// A number, decimal or hexadecimal.
fn hexadecimal(value: &str) -> Option<u32> {
    value.strip_prefix("0x").map_or_else(|| value.parse().ok(), |digits| u32::from_str_radix(digits, 16).ok())
}

fn triple(value: &str) -> Option<[u32; 3]> {
    let numbers: Vec<u32> = value.split_whitespace().map(|word| word.parse().ok()).collect::<Option<_>>()?;
    numbers.try_into().ok()
}

/// A congestion control that the model has as Linux has it.
pub(super) fn congestion_control(name: &str) -> Result<CcKind, String> {
    match name {
        "reno" => Ok(CcKind::Reno),
        "cubic" => Ok(CcKind::Cubic),
        _ => Err(format!("the congestion control {name} over this handshake")),
    }
}

/// Options on the command line and in scripts that change nothing here.
const OPTIONS: [&str; 23] = [
    "ip_version",
    "bind_port",
    "connect_port",
    "code_command",
    "code_format",
    "code_sockopt",
    "gateway_ip",
    "netmask_ip",
    "speed",
    "mtu",
    "init_scripts",
    "tolerance_usecs",
    "tolerance_percent",
    "tcp_ts_tick_usecs",
    "tcp_ts_ecr_scaled",
    "strict_segments",
    "non_fatal",
    "dry_run",
    "send_omit_free",
    "debug",
    "verbose",
    "define",
    "is_anyip",
];

/// Whether an option is known.
pub(super) fn is_option(name: &str) -> bool {
    OPTIONS.contains(&name)
}

/// System calls that the model answers.
const CALLS: [&str; 29] = [
    "epoll_create",
    "epoll_create1",
    "epoll_ctl",
    "epoll_wait",
    "open",
    "sendfile",
    "socket",
    "bind",
    "listen",
    "accept",
    "connect",
    "read",
    "readv",
    "recv",
    "recvfrom",
    "recvmsg",
    "write",
    "writev",
    "send",
    "sendto",
    "sendmsg",
    "fcntl",
    "ioctl",
    "close",
    "shutdown",
    "setsockopt",
    "getsockopt",
    "poll",
    "pipe",
];

/// Options of sockets that the model has, or that have no effect on a connection.
const SOCKOPTS: [&str; 46] = [
    "TCP_KEEPIDLE",
    "TCP_KEEPINTVL",
    "TCP_KEEPCNT",
    "TCP_USER_TIMEOUT",
    "TCP_LINGER2",
    "TCP_DEFER_ACCEPT",
    "TCP_RTO_MAX_MS",
    "TCP_FASTOPEN",
    "TCP_FASTOPEN_CONNECT",
    "TCP_FASTOPEN_KEY",
    "TCP_FASTOPEN_NO_COOKIE",
    "SO_ZEROCOPY",
    "SO_TIMESTAMPING",
    "TCP_CORK",
    "TCP_NOTSENT_LOWAT",
    "SO_REUSEADDR",
    "SO_REUSEPORT",
    "SO_SNDBUF",
    "SO_RCVBUF",
    "SO_LINGER",
    "SO_MARK",
    "SO_PRIORITY",
    "SO_MAX_PACING_RATE",
    "SO_ERROR",
    "SO_KEEPALIVE",
    "TCP_NODELAY",
    "TCP_QUICKACK",
    "TCP_MAXSEG",
    "TCP_CONGESTION",
    "TCP_INFO",
    "TCP_INQ",
    "TCP_SYNCNT",
    "IP_FREEBIND",
    "IP_MTU_DISCOVER",
    "IP_TOS",
    "IPV6_TCLASS",
    "IPV6_FREEBIND",
    "SO_BINDTODEVICE",
    "SO_RCVLOWAT",
    "SO_TYPE",
    "SO_PROTOCOL",
    "SO_ACCEPTCONN",
    "IP_MTU",
    "IPV6_MTU",
    "IP_TTL",
    "TCP_THIN_DUPACK",
];

/// Flags of `send` and `recv` that the model has.
const MSG_FLAGS: [&str; 11] = [
    "MSG_FASTOPEN",
    "0",
    "MSG_DONTWAIT",
    "MSG_NOSIGNAL",
    "MSG_TRUNC",
    "MSG_PEEK",
    "MSG_WAITALL",
    "MSG_MORE",
    "MSG_EOR",
    "MSG_ZEROCOPY",
    "MSG_ERRQUEUE",
];

/// What in an event the model does not have; none: it may be run.
pub(super) fn lacks(event: &Event) -> Option<String> {
    match &event.action {
        Action::Packet(packet) => lacks_packet(packet),
        Action::Call(call) => lacks_call(call),
        Action::Shell(_) | Action::Code(_) => None,
    }
}

fn lacks_packet(packet: &Packet) -> Option<String> {
    if let Some(unusual) = &packet.unusual {
        return Some(unusual.clone());
    }
    if let Some(other) = packet.ip.others.first() {
        return Some(format!("[{other}] in the IP header"));
    }
    let segment = match &packet.body {
        Body::Tcp(segment) => segment,
        Body::Icmp(icmp) => {
            let is_known = packet.is_injected && message(icmp).is_some();
            return (!is_known).then(|| format!("icmp {}", icmp.kind));
        }
        Body::Other(text) => {
            return Some(if text.contains("udp") { "packets of UDP" } else { "a tunnel" }.to_owned());
        }
    };
    if segment.urg || segment.urgent.is_some() {
        return Some("urgent data".to_owned());
    }
    if segment.ports.is_some() {
        return Some("ports in packets".to_owned());
    }
    segment.options.iter().flatten().find_map(|option| match option {
        TcpOption::Other(name, _) if name == "FO" || name == "FOEXP" => None,
        TcpOption::Other(name, _) if name == "md5" && packet.is_injected => None,
        TcpOption::Other(name, _) => Some(match name.as_str() {
            "md5" => "TCP MD5 signatures".to_owned(),
            name => format!("the TCP option {name}"),
        }),
        _ => None,
    })
}

/// The codes of unreachable destinations, in the order of their numbers.
const CODES: [&str; 16] = [
    "net_unreachable",
    "host_unreachable",
    "protocol_unreachable",
    "port_unreachable",
    "frag_needed",
    "source_route_failed",
    "net_unknown",
    "host_unknown",
    "source_host_isolated",
    "net_prohibited",
    "host_prohibited",
    "net_unreachable_for_tos",
    "host_unreachable_for_tos",
    "packet_filtered",
    "precedence_violation",
    "precedence_cutoff",
];

/// What a message of ICMP says to TCP; none: it is none that a model of TCP has to take.
pub(super) fn message(icmp: &script::Icmp) -> Option<Icmp> {
    let code = match icmp.code.as_deref() {
        None => 0,
        Some(code) => match CODES.iter().position(|name| *name == code) {
            Some(number) => u8::try_from(number).ok()?,
            None => code.strip_prefix("code_")?.parse().ok()?,
        },
    };
    match icmp.kind.as_str() {
        "unreachable" | "type_3" if code == 4 => Some(Icmp::FragNeeded(icmp.mtu?)),
        "unreachable" | "type_3" => Some(Icmp::Unreachable(code)),
        "packet_too_big" => Some(Icmp::FragNeeded(icmp.mtu?)),
        "time_exceeded" | "type_11" => Some(Icmp::TimeExceeded),
        "parameter_problem" | "type_12" => Some(Icmp::ParameterProblem),
        _ => None,
    }
}

fn lacks_call(call: &Call) -> Option<String> {
    let name = call.name.as_str();
    if !CALLS.contains(&name) {
        return Some(format!("the call {name}()"));
    }
    let words = words(&call.args);
    let wrong = |wanted: &[&str], prefix: &str| {
        let mut of_kind = words.iter().filter(|word| word.starts_with(prefix));
        of_kind.find(|word| !wanted.contains(word)).map(|word| format!("{word} in {name}()"))
    };
    match name {
        "socket" => words
            .iter()
            .find(|word| ["SOCK_DGRAM", "SOCK_RAW", "IPPROTO_MPTCP", "IPPROTO_UDP"].contains(word))
            .map(|word| format!("{word} in socket()")),
        "setsockopt" | "getsockopt" => match call.args.get(2) {
            Some(Expr::Word(option)) if SOCKOPTS.contains(&option.as_str()) => None,
            Some(Expr::Word(option)) => Some(format!("{option} in {name}()")),
            _ => Some(format!("an option by number in {name}()")),
        },
        "send" | "sendto" | "recv" | "recvfrom" | "sendmsg" | "recvmsg" => wrong(&MSG_FLAGS, "MSG_"),
        _ => None,
    }
}

/// All names in arguments.
fn words(args: &[Expr]) -> Vec<&str> {
    let mut found = Vec::new();
    let mut open: Vec<&Expr> = args.iter().collect();
    while let Some(expr) = open.pop() {
        match expr {
            Expr::Word(word) => found.push(word.as_str()),
            Expr::Or(items) | Expr::Array(items) | Expr::Apply(_, items) => open.extend(items),
            Expr::Struct(fields) => open.extend(fields.iter().map(|(_, value)| value)),
            Expr::Any | Expr::Number(_) | Expr::Text(_) => {}
        }
    }
    found
}
