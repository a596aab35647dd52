//! The figures of a session, as a table and as JSON.

use std::fmt::Write;
use std::net::SocketAddr;

use goodqueue_path::client::Summary;
use goodqueue_path::marks::Marks;
use goodqueue_path::result::{Counts, Figures};
use goodqueue_path::series::Series;
use goodqueue_probe::net::LACKS;
use serde_json::{Value, json};

use crate::path_values::with_address;
use crate::probe_marks;

/// What is shown.
pub(crate) struct Shown<'a> {
    pub(crate) host: &'a str,
    pub(crate) server: SocketAddr,
    /// Least and greatest UDP payload, bytes.
    pub(crate) size: (usize, usize),
    pub(crate) interval_ns: i64,
    /// As typed.
    pub(crate) schedule: &'a str,
    pub(crate) tos: u8,
    pub(crate) figures: &'a Figures,
    pub(crate) marks: &'a Marks,
    pub(crate) summary: &'a Summary,
}

fn percent(part: u64, whole: u64) -> f64 {
    #[allow(clippy::cast_precision_loss)]
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

/// Lateness from which the table mentions it, ns.
const LATE: u64 = 1_000_000;

/// In ms.
#[allow(clippy::cast_precision_loss)]
fn ms(ns: i64) -> f64 {
    ns as f64 / 1e6
}

impl Shown<'_> {
    /// The table, 80 columns wide, and the sentences below it.
    pub(crate) fn table(&self) -> String {
        let mut out = String::new();
        let (counts, figures) = (&self.figures.counts, self.figures);
        let size = match self.size {
            (least, most) if least == most => most.to_string(),
            (least, most) => format!("{least} to {most}"),
        };
        let mean = if self.schedule == "isochronous" { "" } else { " on average" };
        let _ = writeln!(
            out,
            "{}: {} probes of {size} bytes, one every {} ms{mean}\n",
            with_address(self.host, self.server),
            counts.sent,
            ms(self.interval_ns)
        );
        if figures.rtt.is_some() {
            let heads = ["min", "median", "mean", "95%", "99%", "max", "stddev"];
            let _ = write!(out, "{:<21}", "ms");
            for head in heads {
                let _ = write!(out, "{head:>8}");
            }
            out.push('\n');
        }
        for (name, series) in [
            ("round trip", figures.rtt),
            ("at the interface", figures.rtt_hardware),
            ("up, above minimum", figures.up_rise),
            ("down, above minimum", figures.down_rise),
            ("IPDV round trip", figures.ipdv_rtt),
            ("IPDV up", figures.ipdv_up),
            ("IPDV down", figures.ipdv_down),
            ("within the server", figures.server_time),
        ] {
            if let Some(series) = series {
                row(&mut out, name, &series);
            }
        }
        let Counts { sent, received, lost_up, lost_down, lost_unknown, unanswered, .. } = *counts;
        let lost = counts.lost();
        let _ = write!(out, "\n{received} of {sent} answered; lost {lost} ({:.2} %)", percent(lost, sent));
        if lost > 0 {
            let _ = write!(out, ": {lost_up} up, {lost_down} down, {lost_unknown} unknown");
        }
        if unanswered > 0 {
            let _ = write!(out, "; {unanswered} unanswered at the end");
        }
        let by_way = |up: u64, down: u64| {
            if up + down > 0 { format!(" ({up} up, {down} down)") } else { String::new() }
        };
        let _ = writeln!(
            out,
            "; {} duplicates{}, {} reordered{}",
            counts.duplicates,
            by_way(counts.duplicates_up, counts.duplicates_down),
            counts.reordered,
            by_way(counts.reordered_up, counts.reordered_down)
        );
        for line in self.remarks() {
            let _ = writeln!(out, "{line}");
        }
        out
    }

    /// The sentences below the table.
    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn remarks(&self) -> Vec<String> {
        let (mut out, summary) = (Vec::new(), self.summary);
        if let Some(ahead) = self.figures.clock_ahead {
            let (ms, which) = (ms(ahead).abs(), if ahead < 0 { "behind" } else { "ahead of" });
            out.push(format!(
                "the server's clock is {ms:.3} ms {which} ours, if the smallest delay is the same in both \
                 directions"
            ));
        }
        if let (Some(drift), Some(error)) = (self.figures.drift_ppm, self.figures.drift_error_ppm) {
            let which = if drift < 0.0 { "slower" } else { "faster" };
            out.push(format!(
                "the server's clock runs {:.2} ppm {which} (within {error:.2}); up and down are corrected \
                 for it{}",
                drift.abs(),
                self.figures
                    .rise_error
                    .map_or_else(String::new, |error| format!(", to within {:.3} ms", ms(error)))
            ));
        }
        if let Some((all, wire)) = self.figures.rtt.zip(self.figures.rtt_hardware) {
            let own = ms(all.median.saturating_sub(wire.median));
            out.push(format!(
                "this machine itself takes {own:.3} ms of the median round trip: the interface's hardware \
                 says when each probe left and when its reply came"
            ));
        }
        for step in &self.figures.clock_steps {
            let (at, by) = (ms(step.t) / 1e3, ms(step.by));
            out.push(format!(
                "after {at:.1} s the server's clock jumped by {by:+.3} ms against ours: a clock was set, or \
                 a host slept; up and down are corrected for it"
            ));
        }
        out.extend(probe_marks::findings(self.marks));
        let misses = summary.prober.timer_misses;
        if misses > 0 {
            out.push(format!(
                "{misses} probes were left out: this machine was too busy to send them in time"
            ));
        }
        let (middle, late) =
            (summary.prober.lateness.quantile_ns(0.5), summary.prober.lateness.quantile_ns(0.99));
        // Half an interval, or more than a busy machine adds.
        if late > LATE.min(self.interval_ns.unsigned_abs() / 2) {
            out.push(format!(
                "probes were sent late: half of them up to {:.3} ms, 99 % up to {:.3} ms. Their delays are \
                 right all the same, since they are counted from when each was sent",
                middle as f64 / 1e6,
                late as f64 / 1e6
            ));
        }
        if summary.renewed > 0 {
            out.push(format!("{} sessions, one after the other", summary.renewed + 1));
        }
        if summary.send_errors > 0 {
            out.push(format!(
                "{} probes were refused by this machine's network: was an interface down? `ip link` shows \
                 them",
                summary.send_errors
            ));
        }
        if summary.unstamped > 0 {
            out.push(format!("{} replies have no kernel receive time", summary.unstamped));
        }
        if summary.stamped_sends < summary.prober.sent {
            let without = summary.prober.sent - summary.stamped_sends;
            out.push(format!("{without} probes have no kernel transmit time"));
        }
        if summary.wrong_key > 0 {
            out.push(format!("{} datagrams arrived with a wrong key", summary.wrong_key));
        }
        if summary.clock_stepped > 0 {
            let by = ms(summary.clock_stepped);
            out.push(format!(
                "this machine's clock was set by {by:.3} ms meanwhile: do not trust one-way delays"
            ));
        }
        if summary.closed_by_server {
            out.push("the server ended the session".into());
        }
        out.extend(LACKS.of_probes());
        out
    }

    /// All figures, for programs.
    pub(crate) fn json(&self) -> Value {
        let summary = self.summary;
        json!({
            "schema": 1,
            "host": self.host,
            "server": self.server.to_string(),
            "size_bytes": self.size.1,
            "least_size_bytes": self.size.0,
            "interval_ns": self.interval_ns,
            "schedule": self.schedule,
            "tos": self.tos,
            "unit": "ns",
            "figures": self.figures,
            "marks": probe_marks::json(self.marks),
            "timer_misses": summary.prober.timer_misses,
            "late_ns": {
                "p50": summary.prober.lateness.quantile_ns(0.5),
                "p99": summary.prober.lateness.quantile_ns(0.99),
                "max": summary.prober.lateness.max_ns,
            },
            "sessions": summary.renewed + 1,
            "send_errors": summary.send_errors,
            "wrong_key": summary.wrong_key,
            "clock_stepped_ns": summary.clock_stepped,
            "closed_by_server": summary.closed_by_server,
            "remarks": self.remarks(),
        })
    }
}

fn row(out: &mut String, name: &str, series: &Series) {
    #[allow(clippy::cast_precision_loss)]
    let at = |ns: i64| ns as f64;
    let values = [
        at(series.min),
        at(series.median),
        series.mean,
        at(series.p95),
        at(series.p99),
        at(series.max),
        series.stddev,
    ];
    let _ = write!(out, "{name:<21}");
    for value in values {
        let ms = value / 1e6;
        // Eight columns, with as many decimals as fit.
        let decimals = if ms.abs() < 1000.0 { 3 } else { 1 };
        let _ = write!(out, "{ms:>8.decimals$}");
    }
    out.push('\n');
}
