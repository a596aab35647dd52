//! The queue of errors: `recvmsg` with `MSG_ERRQUEUE`, for copies avoided (`SO_ZEROCOPY`) and times of
//! transmissions (`SO_TIMESTAMPING`).

use goodqueue::Nanos;
use goodqueue_sim::tcp::{Notice, Stamp, Stamping};

use super::link::START;
use super::script::{Call, Expr, has_word, number};
use super::sockets::{Answer, Sockets};
use Answer::{Error, Lacks, Value};

/// A field of a structure.
fn field<'a>(expr: &'a Expr, name: &str) -> Option<&'a Expr> {
    let Expr::Struct(fields) = expr else { return None };
    fields.iter().find(|(field, _)| field == name).map(|(_, value)| value)
}

/// The flags of `SO_TIMESTAMPING`; the error names what the model lacks.
pub(super) fn stamping(value: &Expr) -> Result<Stamping, String> {
    let words = match value {
        Expr::Array(items) if items.len() == 1 => match &items[0] {
            Expr::Or(words) => words.clone(),
            one => vec![one.clone()],
        },
        _ => return Err("this SO_TIMESTAMPING".to_owned()),
    };
    let has = |name: &str| words.iter().any(|word| has_word(word, &format!("SOF_TIMESTAMPING_{name}")));
    let known = ["TX_SCHED", "TX_SOFTWARE", "TX_ACK", "SOFTWARE", "OPT_ID"];
    let is_known = |word: &Expr| {
        *word == Expr::Number(0)
            || known.iter().any(|name| has_word(word, &format!("SOF_TIMESTAMPING_{name}")))
    };
    if let Some(other) = words.iter().find(|word| !is_known(word)) {
        return Err(format!("{other} in SO_TIMESTAMPING"));
    }
    let wanted =
        Stamping { scheduled: has("TX_SCHED"), sent: has("TX_SOFTWARE"), acknowledged: has("TX_ACK") };
    if wanted != Stamping::default() && !(has("SOFTWARE") && has("OPT_ID")) {
        return Err(
            "SO_TIMESTAMPING without SOF_TIMESTAMPING_SOFTWARE and SOF_TIMESTAMPING_OPT_ID".to_owned()
        );
    }
    Ok(wanted)
}

impl Sockets {
    /// The oldest entry of the queue of errors. It never blocks.
    pub(super) fn read_notice(&mut self, fd: i64, call: &Call) -> Answer {
        let Some(message) = call.args.get(1) else { return Lacks("the arguments of recvmsg()".to_owned()) };
        let tolerance = self.tolerance;
        let Some(link) = self.link(fd) else { return Error("EAGAIN") };
        let Some(notice) = link.socket.notices.pop() else { return Error("EAGAIN") };
        let control = field(message, "msg_control");
        let is_truncated = matches!(notice, Notice::Stamp(..));
        let flags = field(message, "msg_flags");
        // The packet that is stamped comes with the stamp, and there is no room for it.
        let has_right_flags = flags.is_none_or(|flags| {
            *flags == Expr::Any
                || has_word(flags, "MSG_ERRQUEUE") && has_word(flags, "MSG_TRUNC") == is_truncated
        });
        let messages = match control {
            Some(Expr::Array(messages)) => messages.as_slice(),
            _ => &[],
        };
        if has_right_flags && (control.is_none() || is_same(messages, &notice, tolerance)) {
            return Value(0);
        }
        Answer::Wrote(message.to_string(), written(&notice))
    }
}

/// An entry as the manual pages describe it, short.
fn written(notice: &Notice) -> String {
    match notice {
        Notice::ZeroCopy(first, last) => {
            format!("ee_origin=SO_EE_ORIGIN_ZEROCOPY, ee_info={first}, ee_data={last}")
        }
        Notice::Stamp(stamp, byte, at) => {
            let nanos = at.since(START).0;
            let time = format!("scm_sec={}, scm_nsec={}", nanos / 1_000_000_000, nanos % 1_000_000_000);
            format!("{time}, ee_origin=SO_EE_ORIGIN_TIMESTAMPING, ee_info={}, ee_data={byte}", name(*stamp))
        }
    }
}

fn name(stamp: Stamp) -> &'static str {
    match stamp {
        Stamp::Scheduled => "SCM_TSTAMP_SCHED",
        Stamp::Sent => "SCM_TSTAMP_SND",
        Stamp::Acknowledged => "SCM_TSTAMP_ACK",
    }
}

/// Whether control messages are those of an entry. `tolerance` is in microseconds.
fn is_same(messages: &[Expr], notice: &Notice, tolerance: i64) -> bool {
    let (extended, time) = match (notice, messages) {
        (Notice::ZeroCopy(..), [extended]) => (extended, None),
        (Notice::Stamp(_, _, at), [time, extended]) => (extended, Some((time, at))),
        _ => return false,
    };
    time.is_none_or(|(time, at)| is_time(time, *at, tolerance)) && is_extended(extended, notice)
}

fn is_time(message: &Expr, at: Nanos, tolerance: i64) -> bool {
    let is_stamp = field(message, "cmsg_type").is_some_and(|kind| has_word(kind, "SCM_TIMESTAMPING"));
    let part = |name: &str| field(message, "cmsg_data").and_then(|data| field(data, name)).and_then(number);
    let (Some(seconds), Some(nanos)) = (part("scm_sec"), part("scm_nsec")) else { return false };
    let wanted = seconds.checked_mul(1_000_000_000).and_then(|seconds| seconds.checked_add(nanos));
    let actual = i64::try_from(at.since(START).0).unwrap_or(i64::MAX);
    is_stamp && wanted.is_some_and(|wanted| wanted.abs_diff(actual) <= tolerance.unsigned_abs() * 1000)
}

/// `struct sock_extended_err`.
fn is_extended(message: &Expr, notice: &Notice) -> bool {
    let is = |name: &str, words: [&str; 2]| {
        field(message, name).is_some_and(|value| words.iter().any(|word| has_word(value, word)))
    };
    if !is("cmsg_level", ["SOL_IP", "SOL_IPV6"]) || !is("cmsg_type", ["IP_RECVERR", "IPV6_RECVERR"]) {
        return false;
    }
    let Some(data) = field(message, "cmsg_data") else { return false };
    let is_value =
        |name: &str, wanted: u32| field(data, name).is_none_or(|value| number(value) == Some(wanted.into()));
    let is_word = |name: &str, wanted: &str| field(data, name).is_none_or(|value| has_word(value, wanted));
    is_value("ee_type", 0)
        && match *notice {
            Notice::ZeroCopy(first, last) => {
                is_value("ee_errno", 0)
                    && is_word("ee_origin", "SO_EE_ORIGIN_ZEROCOPY")
                    && is_word("ee_code", "SO_EE_CODE_ZEROCOPY_COPIED")
                    && is_value("ee_info", first)
                    && is_value("ee_data", last)
            }
            Notice::Stamp(stamp, byte, _) => {
                is_word("ee_errno", "ENOMSG")
                    && is_word("ee_origin", "SO_EE_ORIGIN_TIMESTAMPING")
                    && is_value("ee_code", 0)
                    && is_word("ee_info", name(stamp))
                    && is_value("ee_data", byte)
            }
        }
}
