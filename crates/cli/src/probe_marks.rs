//! What became of DSCP, ECN and TTL on each way, in sentences.

use goodqueue_path::marks::{Ecn, Marks, ReceivedMarks};
use goodqueue_probe::Dscp;
use serde_json::{Value, json};

fn percent(part: u64, whole: u64) -> String {
    #[allow(clippy::cast_precision_loss)]
    let share = if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 };
    // Few of many are not none.
    if part > 0 && share < 0.01 { "less than 0.01 %".into() } else { format!("{share:.2} %") }
}

/// The sentences: what was changed, what was marked, and what is not known.
pub(crate) fn findings(marks: &Marks) -> Vec<String> {
    let mut out = Vec::new();
    for (name, what, way) in [("up", "probes", &marks.up), ("down", "replies", &marks.down)] {
        out.extend(dscp(name, what, way));
        out.extend(ecn(name, what, way));
    }
    let is_asked = marks.down.sent_tos != 0 || marks.up.sent_tos != 0;
    if marks.up.known() == 0 {
        if is_asked {
            out.push(
                "it is unknown how probes were marked when they reached the server: a goodqueue server \
                 reports that"
                    .into(),
            );
        }
    } else if is_asked && out.is_empty() {
        let (dscp, ecn) = (Dscp::of_tos(marks.up.sent_tos), Ecn::of(marks.up.sent_tos).name());
        out.push(format!("DSCP {dscp} and ECN {ecn} arrived unchanged both ways"));
    }
    out.extend(hops(marks));
    out
}

fn dscp(name: &str, what: &str, way: &ReceivedMarks) -> Option<String> {
    let (seen, _) = way.most_changed(|tos| tos >> 2)?;
    let (n, known, seen) = (way.dscp_changed, way.known(), Dscp::of_tos(seen << 2));
    let how = if seen == Dscp::CS0 { "bleaches" } else { "remarks" };
    let sent = Dscp::of_tos(way.sent_tos);
    Some(format!(
        "{name}: {n} of {known} {what} came with DSCP {seen} instead of {sent}: something on the way {how} \
         them"
    ))
}

fn ecn(name: &str, what: &str, way: &ReceivedMarks) -> Vec<String> {
    let (known, sent) = (way.known(), Ecn::of(way.sent_tos));
    let mut out = Vec::new();
    if way.ce > 0 {
        let share = percent(way.ce, known);
        out.push(format!(
            "{name}: {} of {known} {what} ({share}) came with CE: a queue on the way marks instead of \
             dropping",
            way.ce
        ));
    }
    let changed = way.most_changed(|tos| tos & 3).filter(|_| way.ecn_changed > 0);
    if let Some((bits, _)) = changed {
        let seen = if bits == Ecn::Ce.bits() && sent != Ecn::NotEct { sent } else { Ecn::of(bits) };
        let how = match (sent, seen) {
            (Ecn::NotEct, _) => "something on the way marks what must not be marked",
            (_, Ecn::NotEct) => {
                "something on the way bleaches ECN, so queues behind it drop instead of marking"
            }
            (Ecn::Ce, _) => "something on the way erases marks",
            _ => "something on the way remarks ECN",
        };
        let n = way.ecn_changed;
        out.push(format!(
            "{name}: {n} of {known} {what} came with ECN {} instead of {}: {how}",
            other(way),
            sent.name()
        ));
    }
    out
}

/// The most frequent ECN field that differs from the one sent. Marks do not count.
fn other(way: &ReceivedMarks) -> &'static str {
    let sent = Ecn::of(way.sent_tos);
    let is_other = |ecn: &Ecn| {
        let is_mark = *ecn == Ecn::Ce && matches!(sent, Ecn::Ect0 | Ecn::Ect1);
        *ecn != sent && !is_mark
    };
    let count = |ecn: &Ecn| -> u64 {
        way.received_tos.iter().filter(|&(&tos, _)| Ecn::of(tos) == *ecn).map(|(_, n)| n).sum()
    };
    let all = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
    all.into_iter().filter(is_other).max_by_key(count).map_or("?", Ecn::name)
}

/// Routers on each way, and ways that changed.
fn hops(marks: &Marks) -> Vec<String> {
    let mut out = Vec::new();
    let passed = |way: &ReceivedMarks| Some(i16::from(way.sent_ttl?) - i16::from(way.ttl_max?));
    if let (Some(up), Some(down)) = (passed(&marks.up), passed(&marks.down))
        && (up, down) != (0, 0)
    {
        out.push(format!("routers passed, by the TTL: {up} up, {down} down"));
    }
    for (name, what, way) in [("up", "probes", &marks.up), ("down", "replies", &marks.down)] {
        if let (Some(least), Some(most)) = (way.ttl_min, way.ttl_max)
            && least != most
        {
            out.push(format!("{name}: the TTL of {what} went from {least} to {most}: the path changed"));
        }
    }
    out
}

/// For programs.
pub(crate) fn json(marks: &Marks) -> Value {
    let way = |way: &ReceivedMarks| {
        let received = |(&tos, n): (&u8, &u64)| {
            let (dscp, ecn) = (Dscp::of_tos(tos).to_string(), Ecn::of(tos).name());
            json!({ "tos": tos, "dscp": dscp, "ecn": ecn, "n": n })
        };
        json!({
            "sent": { "tos": way.sent_tos, "ttl": way.sent_ttl },
            "known": way.known(),
            "received": way.received_tos.iter().map(received).collect::<Vec<_>>(),
            "dscp_changed": way.dscp_changed,
            "ecn_changed": way.ecn_changed,
            "ce": way.ce,
            "ttl_min": way.ttl_min,
            "ttl_max": way.ttl_max,
        })
    };
    json!({ "up": way(&marks.up), "down": way(&marks.down) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many packets of each ToS byte, of those sent with the first one.
    fn way(sent_tos: u8, received: &[(u8, u64)]) -> ReceivedMarks {
        let all = || received.iter();
        let is_ect = matches!(Ecn::of(sent_tos), Ecn::Ect0 | Ecn::Ect1);
        let is_mark = |tos: u8| is_ect && Ecn::of(tos) == Ecn::Ce;
        let sum = |pick: &dyn Fn(u8) -> bool| all().filter(|(tos, _)| pick(*tos)).map(|(_, n)| n).sum();
        ReceivedMarks {
            sent_tos,
            received_tos: all().copied().collect(),
            dscp_changed: sum(&|tos| tos >> 2 != sent_tos >> 2),
            ecn_changed: sum(&|tos| tos & 3 != sent_tos & 3 && !is_mark(tos)),
            ce: sum(&is_mark),
            sent_ttl: Some(64),
            ttl_min: Some(57),
            ttl_max: Some(57),
        }
    }

    fn said(up: ReceivedMarks, down: ReceivedMarks) -> String {
        findings(&Marks { up, down }).join("\n")
    }

    #[test]
    fn bleaching_remarking_and_marks_are_told_apart_by_way() {
        let text = said(way(0xb8, &[(0, 500)]), way(0xb8, &[(0xb8, 498), (0x20, 2)]));
        assert!(text.contains("up: 500 of 500 probes came with DSCP CS0 instead of EF"), "{text}");
        assert!(
            text.contains("bleaches") && text.contains("down: 2 of 500 replies came with DSCP CS1"),
            "{text}"
        );
        let text = said(way(1, &[(1, 90), (3, 10)]), way(1, &[(0, 100)]));
        assert!(text.contains("up: 10 of 100 probes (10.00 %) came with CE"), "{text}");
        assert!(text.contains("down: 100 of 100 replies came with ECN Not-ECT instead of ECT(1)"), "{text}");
        let text = said(way(2, &[(1, 5), (2, 5), (3, 40)]), way(0, &[(3, 1)]));
        assert!(text.contains("up: 5 of 50 probes came with ECN ECT(1) instead of ECT(0)"), "{text}");
        assert!(text.contains("down: 1 of 1 replies came with ECN CE instead of Not-ECT"), "{text}");
    }

    #[test]
    fn what_is_as_it_was_sent_is_said_once() {
        let both = || way(0xba, &[(0xba, 500)]);
        let text = said(both(), both());
        assert_eq!(
            text,
            "DSCP EF and ECN ECT(0) arrived unchanged both ways\nrouters passed, by the TTL: 7 up, 7 down"
        );
        let text = said(way(0, &[]), way(0xb8, &[(0xb8, 9)]));
        assert!(text.contains("a goodqueue server reports that"), "{text}");
        let plain = ReceivedMarks { ttl_max: Some(64), ttl_min: Some(64), ..way(0, &[(0, 9)]) };
        assert_eq!(said(plain.clone(), plain.clone()), "", "nothing to say of an ordinary path");
        let moved = ReceivedMarks { ttl_min: Some(60), ..plain.clone() };
        assert_eq!(said(moved, plain), "up: the TTL of probes went from 60 to 64: the path changed");
    }
}
