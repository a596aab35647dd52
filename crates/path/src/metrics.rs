//! A server's counters in Prometheus' text format 0.0.4.

use std::fmt::{Display, Write};

use crate::http::Page;
use crate::load::server::LoadStats;
use crate::rpm::server::Stats as RpmStats;
use crate::server::ServerStats;

/// The path of the page.
pub const PAGE: Page = Page { path: "/metrics", media_type: "text/plain; version=0.0.4; charset=utf-8" };

/// The page.
#[must_use]
pub fn text(
    version: &str,
    probes: &ServerStats,
    sessions: usize,
    load: &LoadStats,
    rpm: Option<&RpmStats>,
) -> String {
    let mut page = Text(String::new());
    page.one("gauge", "info", "Version of the server.", &format!("{{version=\"{version}\"}}"), 1_u64);
    page.one("gauge", "sessions", "Sessions of probes that are open.", "", sessions);
    page.count("sessions_opened", "Sessions of probes that were opened.", probes.sessions);
    page.split(
        "sessions_refused",
        "Requests to open a session that were refused or not answered.",
        "reason",
        &[
            ("version", probes.refused_version),
            ("full", probes.refused_full),
            ("network_full", probes.refused_network),
            ("rate", probes.too_often),
            ("longer_answer", probes.no_credit),
        ],
    );
    page.count("datagrams_received", "UDP datagrams received.", probes.datagrams);
    page.count("datagrams_sent", "UDP datagrams sent.", probes.answered + probes.opens);
    page.split(
        "datagrams_dropped",
        "UDP datagrams that were not answered, but for requests to open.",
        "reason",
        &[
            ("malformed", probes.malformed),
            ("wrong_key", probes.wrong_key),
            ("wrong_token", probes.wrong_token),
            ("too_fast", probes.too_fast),
            ("unknown_load", load.strange_datagrams),
        ],
    );
    page.count("udp_received_bytes", "UDP payload received.", probes.received_bytes);
    page.count("udp_sent_bytes", "UDP payload sent.", probes.sent_bytes);
    page.count("connections", "TCP connections accepted.", load.accepted);
    page.one("gauge", "connections_pending", "TCP connections of unknown purpose.", "", load.pending);
    page.one("gauge", "control_connections", "Control connections that are open.", "", load.controls);
    page.split(
        "connections_refused",
        "TCP connections that were closed without a load.",
        "reason",
        &[
            ("silent", load.silent),
            ("displaced", load.displaced),
            ("unknown", load.strange),
            ("busy", load.refused_busy),
            ("no_proof", load.unproved),
            ("wrong_key", load.wrong_key),
        ],
    );
    page.one("gauge", "loads", "Loads that are being sent or received.", "", load.loads);
    page.count("loads_started", "Loads that were begun.", load.started);
    page.count("loads_refused", "Loads that were refused.", load.refused_load);
    page.count("load_flows", "TCP flows of loads that have ended.", load.flows);
    page.count("load_flows_refused", "TCP flows of loads that were refused.", load.refused_flows);
    page.count("load_received_bytes", "Payload of uploads received.", load.received_bytes);
    page.count("load_sent_bytes", "Payload of downloads sent, by flows that have ended.", load.sent_bytes);
    if let Some(rpm) = rpm {
        page.count("rpm_connections", "Connections of RPM tests accepted.", rpm.accepted);
        page.one(
            "gauge",
            "rpm_connections_open",
            "Connections of RPM tests that are open.",
            "",
            rpm.connections,
        );
        page.split(
            "rpm_connections_refused",
            "Connections of RPM tests that were closed before they ended.",
            "reason",
            &[
                ("rate", rpm.too_often),
                ("full", rpm.full),
                ("displaced", rpm.displaced),
                ("failed", rpm.failed),
            ],
        );
        page.count("rpm_requests", "Requests of RPM tests.", rpm.requests);
        page.one("gauge", "rpm_transfers", "Downloads and uploads of RPM tests.", "", rpm.transfers);
        page.count(
            "rpm_transfers_started",
            "Downloads and uploads of RPM tests that were begun.",
            rpm.started,
        );
        page.count(
            "rpm_transfers_refused",
            "Downloads and uploads of RPM tests that were refused.",
            rpm.refused,
        );
        page.count("rpm_received_bytes", "Payload of uploads of RPM tests received.", rpm.received_bytes);
        page.count("rpm_sent_bytes", "Payload of downloads of RPM tests sent.", rpm.sent_bytes);
    }
    page.0
}

struct Text(String);

impl Text {
    fn head(&mut self, kind: &str, name: &str, help: &str) {
        // Writing to a text cannot fail.
        let _ =
            write!(self.0, "# HELP goodqueue_server_{name} {help}\n# TYPE goodqueue_server_{name} {kind}\n");
    }

    fn value(&mut self, name: &str, labels: &str, value: impl Display) {
        let _ = writeln!(self.0, "goodqueue_server_{name}{labels} {value}");
    }

    fn one(&mut self, kind: &str, name: &str, help: &str, labels: &str, value: impl Display) {
        self.head(kind, name, help);
        self.value(name, labels, value);
    }

    fn count(&mut self, name: &str, help: &str, value: u64) {
        self.one("counter", &format!("{name}_total"), help, "", value);
    }

    fn split(&mut self, name: &str, help: &str, label: &str, values: &[(&str, u64)]) {
        let name = format!("{name}_total");
        self.head("counter", &name, help);
        for (of, value) in values {
            self.value(&name, &format!("{{{label}=\"{of}\"}}"), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// Follows the format line by line: HELP, TYPE, then samples of that name; no name twice, no sample
    /// twice.
    #[test]
    fn the_page_is_in_prometheus_text_format() {
        let probes = ServerStats { sessions: 3, too_often: 4, ..ServerStats::default() };
        let page = text("1.2.3", &probes, 2, &LoadStats { loads: 1, ..LoadStats::default() }, None);
        let rpm = RpmStats { full: 5, ..RpmStats::default() };
        let with_rpm = text("1.2.3", &probes, 2, &LoadStats::default(), Some(&rpm));
        assert!(with_rpm.contains("goodqueue_server_rpm_connections_refused_total{reason=\"full\"} 5\n"));
        let (mut names, mut values) = (BTreeSet::new(), BTreeMap::new());
        let mut lines = page.lines().peekable();
        while let Some(line) = lines.next() {
            let (name, help) = line.strip_prefix("# HELP ").unwrap().split_once(' ').unwrap();
            assert!(help.ends_with('.') && !help.contains('\\'), "{help}");
            let is_legal = |c: char| c.is_ascii_lowercase() || c == '_';
            assert!(name.starts_with("goodqueue_server_") && name.chars().all(is_legal), "{name}");
            assert!(names.insert(name), "{name} is there twice");
            let kind = lines.next().unwrap().strip_prefix(&format!("# TYPE {name} ")).unwrap();
            assert_eq!(kind, if name.ends_with("_total") { "counter" } else { "gauge" }, "{name}");
            while let Some(sample) = lines.next_if(|line| !line.starts_with('#')) {
                let (key, value) = sample.rsplit_once(' ').unwrap();
                assert_eq!(key.split('{').next(), Some(name));
                assert!(values.insert(key, value.parse::<u64>().unwrap()).is_none(), "{key} is there twice");
            }
        }
        assert_eq!(values["goodqueue_server_info{version=\"1.2.3\"}"], 1);
        assert_eq!(values["goodqueue_server_sessions"], 2);
        assert_eq!(values["goodqueue_server_sessions_opened_total"], 3);
        assert_eq!(values["goodqueue_server_sessions_refused_total{reason=\"rate\"}"], 4);
        assert_eq!(values["goodqueue_server_loads"], 1);
        assert!(page.ends_with('\n'));
    }
}
