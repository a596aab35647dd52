//! Merges several records into one, to show their runs side by side.

use std::collections::BTreeSet;

use crate::record::{Record, TestPlan};

/// Longest title that labels runs.
const LONGEST_TITLE: usize = 40;

/// The runs of all `records` in one record, each labelled with the name of its record: `slow: fq_codel`. That
/// name is the record's title if all have short, different titles, otherwise the name given with it.
///
/// # Errors
/// A sentence: which record ran a different test from the first, and how it differs.
pub fn merge(records: Vec<(String, Record)>) -> Result<Record, String> {
    let titles: BTreeSet<&str> = records.iter().map(|(_, record)| record.title.as_str()).collect();
    let are_labels = titles.len() == records.len()
        && titles.iter().all(|title| !title.is_empty() && title.chars().count() <= LONGEST_TITLE);
    let mut merged: Option<(String, Record)> = None;
    let mut labels: Vec<String> = Vec::new();
    for (name, record) in records {
        let mut label = if are_labels { record.title.clone() } else { name.clone() };
        if labels.contains(&label) {
            label = format!("{label} ({})", labels.len() + 1);
        }
        let record = labelled(record, &label);
        labels.push(label);
        let Some((first, all)) = &mut merged else {
            merged = Some((name, record));
            continue;
        };
        if let Some(what) = difference(&all.test, &record.test) {
            return Err(format!("{name} and {first} cannot be shown together: {what}"));
        }
        if all.arm != record.arm {
            all.arm = "live and simulated".into();
        }
        all.planned.extend(record.planned);
        all.about.extend(record.about);
        all.runs.extend(record.runs);
        all.warnings.extend(record.warnings);
    }
    let Some((_, mut all)) = merged else { return Err("there is no record".into()) };
    all.title = labels.join(", ");
    Ok(all)
}

/// The record with its runs labelled, each with the link that it ran over.
fn labelled(mut record: Record, label: &str) -> Record {
    let link = record.link.clone();
    for run in &mut record.runs {
        run.queue = format!("{label}: {}", run.queue);
        run.link.get_or_insert_with(|| link.clone());
    }
    record.planned = record.planned.iter().map(|queue| format!("{label}: {queue}")).collect();
    let about = std::mem::take(&mut record.about).into_iter();
    record.about = about.map(|(queue, line)| (format!("{label}: {queue}"), line)).collect();
    record.warnings = record.warnings.iter().map(|warning| format!("{label}: {warning}")).collect();
    record
}

/// How two tests differ, apart from their descriptions.
fn difference(one: &TestPlan, other: &TestPlan) -> Option<String> {
    let seconds = |ns: u64| format!("{} s", ns as f64 / 1e9);
    let lengths = |what: &str, one: u64, other: u64| {
        (one != other)
            .then(|| format!("{what} is {} in one and {} in the other", seconds(other), seconds(one)))
    };
    if one.name != other.name {
        return Some(format!("the test is {} in one and {} in the other", other.name, one.name));
    }
    lengths("the load", one.load_ns, other.load_ns)
        .or_else(|| lengths("the idle lead-in", one.idle_ns, other.idle_ns))
        .or_else(|| lengths("the step of the series", one.step_ns, other.step_ns))
        .or_else(|| (one.flows != other.flows).then(|| "their flows differ".into()))
        .or_else(|| (one.probes != other.probes).then(|| "their probes differ".into()))
        .or_else(|| {
            let is_equal = TestPlan { about: other.about.clone(), ..one.clone() } == *other;
            (!is_equal).then(|| "their calls, pages or videos differ".into())
        })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::record::{LinkPlan, Run};

    fn record(title: &str, queue: &str, rtt: u64) -> Record {
        Record {
            title: title.into(),
            test: TestPlan { name: "rrul".into(), ..TestPlan::default() },
            link: LinkPlan { rtt_ns: vec![rtt], ..LinkPlan::default() },
            runs: vec![Run { queue: queue.into(), ..Run::default() }],
            warnings: vec!["mind".into()],
            ..Record::default()
        }
    }

    #[test]
    fn runs_keep_their_links_and_get_the_name_of_their_record() {
        let all = [("a".into(), record("", "codel", 1)), ("b".into(), record("", "codel", 2))];
        let merged = merge(all.to_vec()).unwrap();
        let labels: Vec<&str> = merged.runs.iter().map(|run| run.queue.as_str()).collect();
        assert_eq!(labels, ["a: codel", "b: codel"]);
        assert_eq!(merged.runs[1].link_in(&merged).rtt_ns, [2]);
        assert_eq!(merged.warnings, ["a: mind", "b: mind"]);
        let all = [("a".into(), record("near", "codel", 1)), ("b".into(), record("far", "codel", 2))];
        assert_eq!(merge(all.to_vec()).unwrap().runs[0].queue, "near: codel");
        let all = [("a".into(), record("", "codel", 1)), ("a".into(), record("", "codel", 2))];
        assert_eq!(merge(all.to_vec()).unwrap().runs[1].queue, "a (2): codel");
    }

    #[test]
    fn a_different_test_is_refused_with_its_name() {
        let mut other = record("", "codel", 1);
        other.test.load_ns = 1_000_000_000;
        let why = merge(vec![("a".into(), record("", "codel", 1)), ("b".into(), other.clone())]).unwrap_err();
        assert_eq!(why, "b and a cannot be shown together: the load is 1 s in one and 0 s in the other");
        other.test.name = "ping".into();
        let why = merge(vec![("a".into(), record("", "codel", 1)), ("b".into(), other)]).unwrap_err();
        assert!(why.contains("the test is ping in one and rrul in the other"), "{why}");
    }
}
