//! `goodqueue watch`: queues as they are, the kernel's and goodqueue's own.

mod ours;

use std::fmt::Write as _;
use std::io::{self, IsTerminal};
use std::time::{Duration, SystemTime};

use goodqueue_experiment::Error;
use goodqueue_router::airtime::{Row, Wireless};
use goodqueue_router::watch::{Flow, Queue, Snapshot, Watched, interval};
use goodqueue_wire::Interrupt;
use goodqueue_wire::netlink::Route;
use serde_json::{Value, json};

use crate::args::{By, WatchArgs};
use crate::output;
use crate::path_values::positive;
use crate::prometheus::{MOST_SERIES, Metric, escaped, metrics, stations};
use crate::screen::{self, Step};
use crate::sqm::told;
use ours::Ours;

/// Columns of the table.
const HEADER: &str =
    "interface        queue                    Mbit/s   waits ms   backlog kB  drops/s  marks/s  sparse+bulk";
/// Names of the tins of `cake`, by their number (tc `q_cake.c`).
const TINS: [&[&str]; 3] =
    [&["best effort"], &["bulk", "best effort", "voice"], &["bulk", "best effort", "video", "voice"]];

/// Most flows of a queue in the table.
const SHOWN: usize = 10;

/// All queues at one moment.
struct All {
    kernel: Snapshot,
    ours: Ours,
}

impl All {
    fn now(route: &mut Route, wireless: Option<&mut Wireless>, args: &WatchArgs) -> Result<All, Error> {
        let flows = args.by == Some(By::Flow);
        let kernel = Snapshot::now(route, wireless, &args.interfaces, flows).map_err(told)?;
        Ok(All { kernel, ours: Ours::now(&args.interfaces) })
    }

    fn since(&self, before: &All, args: &WatchArgs) -> Vec<Watched> {
        let mut watched = self.kernel.since(&before.kernel);
        watched.extend(self.ours.since(&before.ours, args.by));
        watched
    }
}

/// Looks at the queues until it is interrupted.
///
/// # Errors
/// [`Error::Usage`] for an interface that is not there or a wrong interval.
pub fn command(args: &WatchArgs) -> Result<(), Error> {
    let span = positive("interval", &args.interval)?;
    let span = interval(Duration::from_nanos(span.0)).map_err(told)?;
    let mut route = Route::open().map_err(Error::machine)?;
    // Most machines have no Wi-Fi. They are asked once.
    let mut wireless = Wireless::open().ok();
    let first = All::now(&mut route, wireless.as_mut(), args)?;
    if args.prometheus {
        return output::print(&prometheus(&first.since(&first, args)));
    }
    let mut before = first;
    if !args.json && io::stdout().is_terminal() && io::stdin().is_terminal() {
        let mut left = args.count.unwrap_or(u64::MAX);
        return screen::show(HEADER, span, &mut || {
            let now = All::now(&mut route, wireless.as_mut(), args)?;
            let text = rows(&now.since(&before, args), args.idle);
            before = now;
            left -= 1;
            Ok(if left == 0 { Step::Last } else { Step::Rows(text) })
        });
    }
    let interrupt = Interrupt::new().map_err(Error::machine)?;
    for _ in 0..args.count.unwrap_or(u64::MAX) {
        if interrupt.wait(span).map_err(Error::machine)?.is_some() {
            break;
        }
        let now = All::now(&mut route, wireless.as_mut(), args)?;
        let watched = now.since(&before, args);
        if args.json {
            output::print(&format!("{}\n", json_of(&watched)))?;
        } else {
            output::print(&format!("{HEADER}\n{}\n", rows(&watched, args.idle)))?;
        }
        before = now;
    }
    Ok(())
}

/// The rows of the table: a line for each queue, for each tin of `cake` and for each station.
fn rows(watched: &[Watched], idle: bool) -> String {
    let mut out = String::new();
    for Watched { interface, is_up, queues, bql, stations } in watched {
        let mut name = if *is_up { interface.clone() } else { format!("{interface} (down)") };
        let mut hidden = 0;
        for queue in queues {
            // The root is always shown, since it represents the interface.
            if queue.is_idle() && !idle && queue.place != "root" {
                hidden += 1;
                continue;
            }
            out += &row(&std::mem::take(&mut name), queue);
            out += &tins(queue);
            out += &flows(&queue.waiting);
        }
        if hidden > 0 {
            let s = if hidden == 1 { "" } else { "s" };
            let _ = writeln!(out, "{:<17}  and {hidden} idle queue{s}", std::mem::take(&mut name));
        }
        let (limit, inflight) =
            bql.iter().fold((0, 0), |(limit, inflight), bql| (limit + bql.limit, inflight + bql.inflight));
        if limit > 0 {
            let (limit, inflight) = (limit as f64 / 1e3, inflight as f64 / 1e3);
            let _ = writeln!(out, "{:<17}  device: {inflight:.1} kB in flight of {limit:.1} kB (BQL)", "");
        }
        for station in stations {
            out += &station_row(&std::mem::take(&mut name), station);
        }
    }
    out
}

/// A station: what is sent to it, the packets that wait for it, its airtime, and the bit rate of the last
/// frame to it, as far as the driver reports them.
fn station_row(name: &str, row: &Row) -> String {
    let percent =
        |share: Option<f64>| share.map_or_else(|| "-".into(), |share| format!("{:.1}", 100.0 * share));
    let has_airtime = row.air_down.is_some() || row.air_up.is_some();
    let airtime = has_airtime
        .then(|| format!("air {} % to it, {} % from it", percent(row.air_down), percent(row.air_up)));
    let rate = row.station.tx_rate_bps.map(|rate| format!("bit rate {:.1} Mbit/s", rate as f64 / 1e6));
    let line = format!(
        "{name:<17}  {:<20}{:>9.2}{:>11}{:>13}  {}",
        row.station.label(),
        row.down_bps / 1e6,
        "",
        row.backlog_packets.map_or_else(String::new, packets),
        [airtime, rate].into_iter().flatten().collect::<Vec<_>>().join("; "),
    );
    format!("{}\n", line.trim_end())
}

fn packets(count: u64) -> String {
    if count == 1 { "1 packet".into() } else { format!("{count} packets") }
}

fn row(name: &str, queue: &Queue) -> String {
    let wait = queue.wait_ms.map_or_else(|| "-".into(), |wait| format!("{wait:.1}"));
    let flows = queue.flows.map_or_else(String::new, |(sparse, bulk)| format!("{sparse}+{bulk}"));
    let what = format!("{} {}", queue.kind, queue.place);
    format!(
        "{name:<17}{what:<20}{:>11.2}{wait:>11}{:>13.1}{:>9.1}{:>9.1}{flows:>13}\n",
        queue.rate_bps / 1e6,
        f64::from(queue.counts.backlog) / 1e3,
        queue.drop_rate,
        queue.mark_rate,
    )
}

/// The tins of `cake`, if there are several.
fn tins(queue: &Queue) -> String {
    let mut out = String::new();
    if queue.tins.len() < 2 {
        return out;
    }
    let is_cake = |_: &&&[&str]| queue.kind == "cake";
    let names = TINS.iter().find(|names| names.len() == queue.tins.len()).filter(is_cake);
    for (number, tin) in queue.tins.iter().enumerate() {
        let name = names.map_or_else(|| format!("tin {number}"), |names| names[number].to_owned());
        let _ = writeln!(
            out,
            "{:<17}  {name:<18}{:>11}{:>11.1}{:>13.1}{:>9}{:>9}{:>13}",
            "",
            "",
            f64::from(tin.average_us) / 1e3,
            f64::from(tin.backlog) / 1e3,
            "",
            "",
            format!("{}+{}", tin.sparse, tin.bulk),
        );
    }
    out
}

/// The flows with the most packets that wait, and then the highest rates.
fn flows(all: &[Flow]) -> String {
    let mut out = String::new();
    let mut all: Vec<&Flow> = all.iter().collect();
    all.sort_by(|a, b| {
        let rate = |flow: &Flow| flow.rate_bps.unwrap_or(0.0);
        b.waiting_packets.cmp(&a.waiting_packets).then(rate(b).total_cmp(&rate(a)))
    });
    let number =
        |value: Option<f64>, digits: usize| value.map_or_else(String::new, |v| format!("{v:.digits$}"));
    for flow in all.iter().take(SHOWN) {
        #[allow(clippy::cast_precision_loss)]
        let backlog = match flow.waiting_bytes {
            Some(bytes) => format!("{:.1}", bytes as f64 / 1e3),
            None => packets(flow.waiting_packets),
        };
        let _ = writeln!(
            out,
            "{:<17}  {:<20}{:>9}{:>11}{backlog:>13}  {} dropped",
            "",
            flow.name,
            number(flow.rate_bps.map(|rate| rate / 1e6), 2),
            number(flow.wait_ms, 1),
            flow.drops
        );
    }
    if all.len() > SHOWN {
        let _ = writeln!(out, "{:<17}  and {} more", "", all.len() - SHOWN);
    }
    out
}

fn json_of(watched: &[Watched]) -> Value {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let interfaces = watched.iter().map(|watched| {
        let queues = watched.queues.iter().map(queue_json).collect::<Vec<_>>();
        let bql = watched.bql.iter().map(|bql| json!({"limit": bql.limit, "inflight": bql.inflight}));
        json!({
            "interface": watched.interface, "up": watched.is_up, "queues": queues,
            "bql": bql.collect::<Vec<_>>(), "stations": watched.stations,
        })
    });
    json!({"t": time.as_secs_f64(), "interfaces": interfaces.collect::<Vec<_>>()})
}

fn queue_json(queue: &Queue) -> Value {
    let tin = |tin: &goodqueue_router::tc::Tin| {
        json!({
            "threshold_bps": tin.threshold_bps, "sent_bytes": tin.bytes, "sent_packets": tin.packets,
            "drops": tin.drops, "acks_dropped": tin.acks_dropped, "marks": tin.marks,
            "waiting_bytes": tin.backlog, "peak_us": tin.peak_us, "average_us": tin.average_us,
            "base_us": tin.base_us, "sparse": tin.sparse, "bulk": tin.bulk, "unresponsive": tin.unresponsive,
        })
    };
    let flow = |flow: &Flow| {
        json!({
            "name": flow.name, "waiting_bytes": flow.waiting_bytes, "waiting_packets": flow.waiting_packets,
            "drops": flow.drops, "marks": flow.marks, "rate_bps": flow.rate_bps, "wait_ms": flow.wait_ms,
        })
    };
    json!({
        "flows": queue.waiting.iter().map(flow).collect::<Vec<_>>(),
        "kind": queue.kind, "handle": queue.handle, "place": queue.place,
        "sent_bytes": queue.counts.bytes, "sent_packets": queue.counts.packets, "drops": queue.counts.drops,
        "marks": queue.marks, "overlimits": queue.counts.overlimits, "requeues": queue.counts.requeues,
        "waiting_bytes": queue.counts.backlog, "waiting_packets": queue.counts.qlen,
        "rate_bps": queue.rate_bps, "drops_per_s": queue.drop_rate, "marks_per_s": queue.mark_rate,
        "wait_ms": queue.wait_ms, "sparse": queue.flows.map(|flows| flows.0),
        "bulk": queue.flows.map(|flows| flows.1), "tins": queue.tins.iter().map(tin).collect::<Vec<_>>(),
    })
}

/// Every counter and gauge, in Prometheus' text format (version 0.0.4).
fn prometheus(watched: &[Watched]) -> String {
    let of_queues: [Metric<Queue>; 8] = [
        ("sent_bytes_total", "counter", "Bytes that the queue sent.", |q| Some(q.counts.bytes as f64)),
        ("sent_packets_total", "counter", "Packets that the queue sent.", |q| Some(q.counts.packets.into())),
        ("drops_total", "counter", "Packets that the queue dropped.", |q| Some(q.counts.drops.into())),
        ("marks_total", "counter", "Packets that the queue marked with CE.", |q| q.marks.map(|n| n as f64)),
        ("waiting_bytes", "gauge", "Bytes in the queue.", |q| Some(q.counts.backlog.into())),
        ("waiting_packets", "gauge", "Packets in the queue.", |q| Some(q.counts.qlen.into())),
        ("sparse_flows", "gauge", "Flows with few packets that wait.", |q| q.flows.map(|(n, _)| n.into())),
        ("bulk_flows", "gauge", "Flows with a backlog.", |q| q.flows.map(|(_, n)| n.into())),
    ];
    let (mut queues, mut tins) = (Vec::new(), Vec::new());
    for watched in watched {
        let interface = escaped(&watched.interface);
        for queue in &watched.queues {
            let (kind, place) = (&queue.kind, &queue.place);
            queues.push((format!("interface=\"{interface}\",kind=\"{kind}\",place=\"{place}\""), queue));
            for (number, tin) in queue.tins.iter().enumerate() {
                tins.push((format!("interface=\"{interface}\",place=\"{place}\",tin=\"{number}\""), tin));
            }
        }
    }
    let mut out = metrics("queue", &of_queues, &queues);
    let of_tins: [Metric<goodqueue_router::tc::Tin>; 6] = [
        ("average_seconds", "gauge", "Mean of the recent sojourn times in a tin of cake.", |tin| {
            Some(f64::from(tin.average_us) / 1e6)
        }),
        ("peak_seconds", "gauge", "Peak of the recent sojourn times in a tin of cake.", |tin| {
            Some(f64::from(tin.peak_us) / 1e6)
        }),
        ("sent_bytes_total", "counter", "Bytes that a tin of cake took, as Linux counts them.", |tin| {
            Some(tin.bytes as f64)
        }),
        ("waiting_bytes", "gauge", "Bytes in a tin of cake.", |tin| Some(tin.backlog.into())),
        ("drops_total", "counter", "Packets that a tin of cake dropped.", |tin| Some(tin.drops.into())),
        ("marks_total", "counter", "Packets that a tin of cake marked with CE.", |tin| {
            Some(tin.marks.into())
        }),
    ];
    out += &metrics("tin", &of_tins, &tins);
    out += &flow_metrics(watched);
    for (name, help) in [("limit", "Bytes that may be in flight."), ("inflight", "Bytes in flight.")] {
        let _ = write!(
            out,
            "# HELP goodqueue_bql_{name}_bytes {help}\n# TYPE goodqueue_bql_{name}_bytes gauge\n"
        );
        for watched in watched {
            for (number, bql) in watched.bql.iter().enumerate() {
                let value = if name == "limit" { bql.limit } else { bql.inflight };
                let interface = escaped(&watched.interface);
                let _ = writeln!(
                    out,
                    "goodqueue_bql_{name}_bytes{{interface=\"{interface}\",queue=\"{number}\"}} {value}"
                );
            }
        }
    }
    out += &stations(watched.iter().flat_map(|watched| &watched.stations));
    out
}

/// Those of the flows of `--by`, at most [`MOST_SERIES`] of each queue: those with the most packets that
/// wait, and then those that sent the most.
fn flow_metrics(watched: &[Watched]) -> String {
    let mut rows: Vec<(String, &Flow)> = Vec::new();
    for watched in watched {
        for queue in &watched.queues {
            let mut flows: Vec<&Flow> = queue.waiting.iter().collect();
            flows.sort_by_key(|flow| std::cmp::Reverse((flow.waiting_packets, flow.sent_bytes)));
            for flow in flows.into_iter().take(MOST_SERIES) {
                let (interface, kind, place) = (escaped(&watched.interface), &queue.kind, &queue.place);
                let name = escaped(&flow.name);
                let labels =
                    format!("interface=\"{interface}\",kind=\"{kind}\",place=\"{place}\",flow=\"{name}\"");
                rows.push((labels, flow));
            }
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let of_flows: [Metric<Flow>; 5] = [
        ("sent_bytes_total", "counter", "Bytes of a flow that the queue sent.", |f| {
            f.sent_bytes.map(|n| n as f64)
        }),
        ("waiting_bytes", "gauge", "Bytes of a flow in the queue.", |f| f.waiting_bytes.map(|n| n as f64)),
        ("waiting_packets", "gauge", "Packets of a flow in the queue.", |f| Some(f.waiting_packets as f64)),
        ("drops_total", "counter", "Packets of a flow that were dropped.", |f| Some(f.drops as f64)),
        ("marks_total", "counter", "Packets of a flow that were marked with CE.", |f| {
            f.marks.map(|n| n as f64)
        }),
    ];
    metrics("flow", &of_flows, &rows)
}

#[cfg(test)]
mod tests {
    use goodqueue_router::tc::{Counts, Tin};

    use super::*;

    fn watched() -> Watched {
        let tin = |average_us, bulk| Tin { average_us, bulk, backlog: 1500, ..Tin::default() };
        let queue = |kind: &str, place: &str| Queue {
            kind: kind.into(),
            handle: "1:".into(),
            place: place.into(),
            counts: Counts { bytes: 9000, backlog: 4500, ..Counts::default() },
            marks: Some(3),
            flows: Some((1, 2)),
            tins: Vec::new(),
            waiting: Vec::new(),
            rate_bps: 18.25e6,
            drop_rate: 2.0,
            mark_rate: 0.5,
            wait_ms: Some(3.25),
        };
        let cake = Queue { tins: vec![tin(0, 0), tin(3250, 2), tin(40, 0)], ..queue("cake", "root") };
        let flow = |number: u64| Flow {
            name: format!("1:{number:x}"),
            waiting_bytes: Some(1514 * number),
            waiting_packets: number,
            wait_ms: Some(4.25),
            ..Flow::default()
        };
        let cake = Queue { waiting: (1..=12).map(flow).collect(), ..cake };
        let fifo = Queue { wait_ms: None, marks: None, flows: None, ..queue("pfifo", "1:11") };
        let idle = Queue { rate_bps: 0.0, drop_rate: 0.0, counts: Counts::default(), ..queue("fq", "1:12") };
        let bql = vec![goodqueue_router::watch::Bql { limit: 30_000, inflight: 12_500 }];
        let queues = vec![cake, fifo, idle];
        Watched { interface: "eth0".into(), is_up: true, queues, bql, stations: Vec::new() }
    }

    /// The interfaces of an access point with a station each: the second driver tells little.
    fn air() -> [Watched; 2] {
        let rows = crate::airtime::tests::view().stations;
        let quiet = Counts::default();
        ["wlan0", "guest0"].map(|name| {
            let Watched { queues, .. } = watched();
            let root = Queue { kind: "noqueue".into(), place: "root".into(), ..queues[2].clone() };
            let root = Queue { counts: quiet, flows: None, mark_rate: 0.0, wait_ms: Some(0.0), ..root };
            let stations = rows.iter().filter(|row| row.interface == name).cloned().collect();
            Watched { interface: name.into(), queues: vec![root], bql: Vec::new(), stations, ..watched() }
        })
    }

    #[test]
    fn queues_are_seen_at_a_glance() {
        let table = format!("{HEADER}\n{}", rows(&[watched()], false));
        assert_eq!(
            table,
            "\
interface        queue                    Mbit/s   waits ms   backlog kB  drops/s  marks/s  sparse+bulk
eth0             cake root                 18.25        3.2          4.5      2.0      0.5          1+2
                   bulk                                 0.0          1.5                            0+0
                   best effort                          3.2          1.5                            0+2
                   voice                                0.0          1.5                            0+0
                   1:c                                  4.2         18.2  0 dropped
                   1:b                                  4.2         16.7  0 dropped
                   1:a                                  4.2         15.1  0 dropped
                   1:9                                  4.2         13.6  0 dropped
                   1:8                                  4.2         12.1  0 dropped
                   1:7                                  4.2         10.6  0 dropped
                   1:6                                  4.2          9.1  0 dropped
                   1:5                                  4.2          7.6  0 dropped
                   1:4                                  4.2          6.1  0 dropped
                   1:3                                  4.2          4.5  0 dropped
                   and 2 more
                 pfifo 1:11                18.25          -          4.5      2.0      0.5             
                   and 1 idle queue
                   device: 12.5 kB in flight of 30.0 kB (BQL)
"
        );
    }

    #[test]
    fn stations_are_below_the_queues_of_their_interface() {
        let without = Watched { queues: Vec::new(), ..air()[1].clone() };
        assert_eq!(
            rows(&[air().as_slice(), &[without]].concat(), false),
            "\
wlan0            noqueue root               0.00        0.0          0.0      0.0      0.0             
                   02:00:00:00:01:00       41.50              64 packets  air 48.2 % to it, 3.0 % from it; bit rate 144.4 Mbit/s
guest0           noqueue root               0.00        0.0          0.0      0.0      0.0             
                   02:00:00:00:02:00       41.50
guest0             02:00:00:00:02:00       41.50
"
        );
    }

    #[test]
    fn json_has_stations_as_airtime_has_them() {
        let json = json_of(&[air().as_slice(), &[watched()]].concat());
        let of = |number: usize| &json["interfaces"][number]["stations"];
        assert_eq!(*of(0), json!([crate::airtime::tests::view().stations[0]]));
        assert_eq!(of(0)[0]["mac"], "02:00:00:00:01:00");
        assert_eq!((&of(1)[0]["interface"], &of(1)[0]["air_down"]), (&json!("guest0"), &Value::Null));
        assert_eq!(*of(2), json!([]), "it is no Wi-Fi interface");
    }

    #[test]
    fn prometheus_has_stations_as_airtime_has_them() {
        let own = stations(&crate::airtime::tests::view().stations);
        assert!(own.contains("station=\"02:00:00:00:02:00\""), "{own}");
        let text = prometheus(&air());
        assert!(text.ends_with(&own), "{text}");
        assert!(!prometheus(&[watched()]).contains("goodqueue_station_"), "it is no Wi-Fi interface");
    }

    #[test]
    fn prometheus_reads_every_line() {
        let text = prometheus(&[Watched { interface: "a\"b".into(), ..watched() }]);
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (labels, value) = line.rsplit_once(' ').expect("a value");
            assert!(value.parse::<f64>().is_ok() && labels.ends_with('}'), "{line}");
            assert!(labels.contains("interface=\"a\\\"b\""), "{line}");
        }
        assert!(text.contains(
            "goodqueue_tin_average_seconds{interface=\"a\\\"b\",place=\"root\",tin=\"1\"} 0.00325"
        ));
    }

    /// The words of a query that are metrics.
    fn metrics_of(query: &str) -> Vec<&str> {
        let words = query.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words.filter(|word| word.starts_with("goodqueue_")).collect()
    }

    #[test]
    fn the_dashboard_asks_for_what_prometheus_gets() {
        let page: Value =
            serde_json::from_str(include_str!("../../../docs/queues-dashboard.json")).expect("JSON");
        let of = |list: &Value| list.as_array().expect("a list").clone();
        let lists = of(&page["templating"]["list"]);
        let lists = lists.iter().filter(|list| list["type"] == "query");
        let mut queries: Vec<(Value, Value)> =
            lists.map(|list| (list["query"].clone(), json!("{{interface}}"))).collect();
        let targets = of(&page["panels"]).into_iter().flat_map(|panel| of(&panel["targets"]));
        queries.extend(targets.map(|target| (target["expr"].clone(), target["legendFormat"].clone())));
        assert!(queries.len() > 1, "{page}");
        let mut air = air();
        for row in air.iter_mut().flat_map(|watched| &mut watched.stations) {
            (row.station.tx_airtime_us, row.station.rx_airtime_us) = (Some(5000), Some(400));
        }
        let written = prometheus(&[&[watched()], air.as_slice()].concat());
        for (query, legend) in queries {
            let names = metrics_of(query.as_str().expect("a query"));
            assert!(!names.is_empty(), "{query}");
            let legend = legend.as_str().expect("what names a line");
            let labels: Vec<&str> =
                legend.split("{{").skip(1).filter_map(|rest| rest.split("}}").next()).collect();
            assert!(labels.contains(&"interface"), "{legend}");
            for name in names {
                let metric = format!("{name}{{");
                let line = written.lines().find(|line| line.starts_with(&metric));
                let line = line.unwrap_or_else(|| panic!("{name} is not written"));
                for label in &labels {
                    assert!(line.contains(&format!("{label}=\"")), "{name} has no {label}: {line}");
                }
            }
        }
    }

    #[test]
    fn tins_and_flows_have_bytes_in_prometheus_and_flows_are_bounded() {
        let mut all = watched();
        let flow = |number: u64| Flow {
            name: format!("10.0.0.{number}"),
            waiting_bytes: Some(3000),
            waiting_packets: 2,
            sent_bytes: Some(number),
            ..Flow::default()
        };
        all.queues[1].waiting = (0..250).map(flow).collect();
        all.queues[0].waiting.clear();
        let text = prometheus(&[all]);
        let tin = "goodqueue_tin_waiting_bytes{interface=\"eth0\",place=\"root\",tin=\"2\"} 1500";
        assert!(text.lines().any(|line| line == tin), "{text}");
        let labels =
            |name: &str| format!("{{interface=\"eth0\",kind=\"pfifo\",place=\"1:11\",flow=\"{name}\"}}");
        let most = labels("10.0.0.249");
        for line in [
            format!("goodqueue_flow_sent_bytes_total{most} 249"),
            format!("goodqueue_flow_waiting_bytes{most} 3000"),
        ] {
            assert!(text.lines().any(|known| known == line), "{line}");
        }
        let of = |name: &str| text.lines().filter(|line| line.starts_with(name)).count();
        assert_eq!(of("goodqueue_flow_sent_bytes_total{"), 100);
        assert_eq!(of("goodqueue_flow_marks_total{"), 0, "these are not counted here");
        let least = format!("goodqueue_flow_sent_bytes_total{}", labels("10.0.0.149"));
        assert!(!text.contains(&least), "those that sent the most are there");
    }

    /// Processor time of this thread, ns (`/proc/PID/schedstat`). The kernel counts at each turn.
    fn used() -> u64 {
        std::thread::yield_now();
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        text.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// Processor time of one of so many turns, ns. Other programs do not change it much.
    pub(super) fn per_turn(turns: u32, mut turn: impl FnMut()) -> f64 {
        let before = used();
        (0..turns).for_each(|_| turn());
        (used() - before) as f64 / f64::from(turns)
    }

    #[test]
    fn a_thousand_interfaces_have_all_their_lines_at_fifteen_times_the_cost_of_a_hundred() {
        let table = |interfaces: u32| {
            let many: Vec<Watched> = (0..interfaces).map(|_| watched()).collect();
            per_turn(5000 / interfaces, || {
                assert_eq!(rows(&many, true).lines().count(), 18 * interfaces as usize);
            })
        };
        let ratios: Vec<f64> = (0..3).map(|_| table(1000) / table(100)).collect();
        assert!(ratios.iter().any(|&ratio| ratio <= 15.0), "{ratios:?}");
    }
}
