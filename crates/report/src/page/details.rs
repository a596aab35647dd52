//! Details: the experiment, the machine, and the meaning of the numbers.

use std::fmt::Write as _;

use super::blocks::{list, table};
use super::{glossary, queues as path_queues, wifi};
use crate::charts::{Delay, escape};
use crate::record::{EngineHealth, PagePlan, PathPlan, ProbePlan, Record, Run, TrafficPlan, VideoPlan};
use crate::summary::{Latency, Summary, direction_name, distances_differ};
use crate::table::{at_least, idle, mbit, mean_at_least, ms};
use crate::words;

fn fold(out: &mut String, title: &str, open: bool, body: &str) {
    let open = if open { " open" } else { "" };
    let _ = writeln!(out, "<details{open}><summary>{title}</summary>\n{body}</details>");
}

/// The section of details; `brief` leaves out what is long for many runs.
pub(crate) fn html(record: &Record, summaries: &[Summary], brief: bool) -> String {
    let mut out = String::new();
    fold(&mut out, "How to run it again", true, &repeat(record));
    fold(&mut out, "Test and link", true, &plan(record));
    fold(&mut out, "Queues and their parameters", false, &queues(record));
    if record.has_radio() {
        fold(&mut out, "Wi-Fi: settings, stations, queues per TID", false, &wifi::details(record));
    }
    fold(&mut out, "All delays", false, &delays(record, summaries));
    if !record.test.flows.is_empty() {
        if !brief {
            fold(&mut out, "All flows", false, &flows(record, summaries));
        }
        fold(&mut out, "Drops, marks and backlog", false, &counters(record, summaries));
    }
    let path = path_queues::path(record);
    if !path.is_empty() {
        fold(&mut out, "Queues on the path", false, &path);
    }
    if record.runs.iter().any(|r| r.simulation.is_some()) {
        fold(&mut out, "What was simulated", false, &simulation(record));
    }
    fold(&mut out, "Machine", false, &machine(record));
    if record.runs.iter().any(|r| r.engine.is_some()) {
        fold(&mut out, "How well the engine kept time", false, &engine(record));
    }
    out
}

/// The command, quoted for a shell.
fn command(words: &[String]) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "-_=./:,+@%".contains(c);
    let quote = |w: &String| {
        if !w.is_empty() && w.chars().all(safe) {
            w.clone()
        } else {
            format!("'{}'", w.replace('\'', "'\\''"))
        }
    };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

fn repeat(record: &Record) -> String {
    let mut line = command(&record.command);
    // A file states its seeds, and so do merged records.
    let says_seed = |w: &String| {
        w.starts_with("--seed") || w.starts_with("--repetitions") || w.ends_with(".toml") || w == "report"
    };
    if !record.command.is_empty() && !record.command.iter().any(says_seed) {
        let _ = write!(line, " --seed={}", record.seed);
    }
    let shown = if line.is_empty() { "(the record does not say)".into() } else { line };
    let block = format!(
        "<div class=\"copy\"><pre tabindex=\"0\" aria-label=\"Command\">{}</pre>\
         <button type=\"button\" class=\"control\" hidden>Copy</button></div>\n",
        escape(&shown)
    );
    let facts = list(&[
        ("Seed", record.seed.to_string()),
        ("Version", escape(&record.version)),
        ("Started", escape(&record.started)),
        ("Arm", escape(&record.arm)),
        ("Note", escape(&record.note)),
    ]);
    block + &facts
}

fn seconds(ns: u64) -> String {
    format!("{} s", format!("{:.3}", ns as f64 / 1e9).trim_end_matches('0').trim_end_matches('.'))
}

fn path(p: &PathPlan) -> String {
    let mut out = p.rate_bps.map_or_else(|| "no rate limit".into(), words::rate);
    if p.loss > 0.0 && p.loss.is_finite() {
        let _ = write!(out, ", loss {:.3} %", p.loss * 100.0);
    }
    match (p.ring_packets, p.bql) {
        (Some(n), true) => {
            let _ = write!(out, ", device ring of {n} packets with BQL");
        }
        (Some(n), false) => {
            let _ = write!(out, ", device ring of {n} packets");
        }
        _ => {}
    }
    out
}

fn plan(record: &Record) -> String {
    let t = &record.test;
    let stream = |p: &ProbePlan| {
        let every = ms(i64::try_from(p.interval_ns).ok());
        format!(
            "{}: {} bytes every {every} ms, {}",
            escape(&p.name),
            p.payload_bytes,
            glossary::known(&p.dscp)
        )
    };
    let probes: Vec<String> = t.probes.iter().map(stream).collect();
    let calls: Vec<String> = t.voip.iter().map(stream).collect();
    let page = |p: &PagePlan| {
        let kb = p.bytes as f64 / 1e3;
        format!("{}: {kb:.0} kB in {} requests, {}", escape(&p.name), p.requests, escape(&p.cc))
    };
    let pages: Vec<String> = t.web.iter().map(page).collect();
    let video = |v: &VideoPlan| format!("{}: {}", escape(&v.name), escape(&v.cc));
    let videos: Vec<String> = t.dash.iter().map(video).collect();
    let talks: Vec<String> =
        t.talks.iter().map(|talk| format!("{}: {}", escape(&talk.name), escape(&talk.dscp))).collect();
    let group = |one: &TrafficPlan| {
        let TrafficPlan { name, arrivals, size, cc, .. } = one;
        let way = direction_name(one.direction);
        format!("{}: {way}, {}, sizes {}, {}", escape(name), escape(arrivals), escape(size), escape(cc))
    };
    let traffic: Vec<String> = t.traffic.iter().map(group).collect();
    let base: Vec<String> =
        record.link.rtt_ns.iter().map(|&ns| format!("{} ms", ms(i64::try_from(ns).ok()))).collect();
    let side = |p: &PathPlan| {
        if record.has_radio() && p.rate_bps.is_none() { "Wi-Fi".into() } else { path(p) }
    };
    list(&[
        ("Test", format!("{}: {}", escape(&t.name), escape(&t.about))),
        ("Idle, then load", format!("{}, then {}", seconds(t.idle_ns), seconds(t.load_ns))),
        ("Goodput step", seconds(t.step_ns)),
        ("Probes", probes.join("<br>")),
        ("Calls", calls.join("<br>")),
        ("Pages", pages.join("<br>")),
        ("Videos", videos.join("<br>")),
        ("Video calls, games", talks.join("<br>")),
        ("Traffic", traffic.join("<br>")),
        ("Link up", side(&record.link.up)),
        ("Link down", side(&record.link.down)),
        ("Base RTT", base.join(", ")),
        ("MTU", format!("{} bytes", record.link.mtu_bytes)),
        ("ECN", if record.link.ecn { "negotiated".into() } else { "off".into() }),
    ])
}

fn queues(record: &Record) -> String {
    let mut out = String::new();
    for (q, run) in record.runs.iter().enumerate() {
        let parameters: Vec<(&str, String)> =
            run.parameters.iter().map(|(k, v)| (k.as_str(), escape(v))).collect();
        let link = run.link.as_ref().map(|link| {
            vec![("Link up".to_owned(), path(&link.up)), ("Link down".to_owned(), path(&link.down))]
        });
        let escaped: Vec<(String, String)> = link
            .unwrap_or_default()
            .into_iter()
            .chain(parameters.into_iter().map(|(k, v)| (escape(k), v)))
            .collect();
        let borrowed: Vec<(&str, String)> = escaped.iter().map(|(k, v)| (k.as_str(), v.clone())).collect();
        let _ =
            write!(out, "<h3 class=\"q{}\">{}</h3>{}", q % 8, glossary::queue(&run.queue), list(&borrowed));
    }
    out
}

fn delay_row(queue: &str, kind: &str, l: &Latency, idle: String) -> Vec<String> {
    let mut row = vec![escape(queue), escape(kind), l.n.to_string(), l.lost.to_string(), idle];
    let bounded = |ns| escape(&at_least(ns, l.cut_off_ns));
    row.extend([l.min_ns, l.p50_ns, l.p95_ns, l.p99_ns, l.max_ns].map(bounded));
    row.extend([l.mean_ns, l.added_mean_ns].map(|ns| escape(&mean_at_least(ns, l))));
    row.push(bounded(l.startup_max_ns));
    row
}

fn delays(record: &Record, summaries: &[Summary]) -> String {
    let mut rows = Vec::new();
    let several = distances_differ(record);
    for (run, s) in record.runs.iter().zip(summaries) {
        for (delay, l) in Delay::ALL.into_iter().zip([&s.rtt, &s.up, &s.down]) {
            rows.push(delay_row(&s.queue, delay.short(), l, idle(several, run, l, delay.column(), '–')));
        }
        for p in s.probes.iter().filter(|_| record.test.probes.len() > 1) {
            rows.push(delay_row(&s.queue, &format!("{} round trip", p.name), &p.rtt, ms(p.rtt.idle_ns)));
        }
    }
    let heads = [
        "queue",
        "delay, ms",
        "n",
        "lost",
        "idle p50",
        "min",
        "p50",
        "p95",
        "p99",
        "max",
        "mean",
        "mean rise",
        "max with ramp",
    ];
    let clocks = words::clocks(summaries).map(|words| format!("<p>{}.</p>\n", words::capital(&words)));
    clocks.unwrap_or_default() + &table("All delays", &heads, 2, &rows)
}

fn flows(record: &Record, summaries: &[Summary]) -> String {
    if record.test.program.is_some() {
        return connections(record, summaries);
    }
    let mut rows = Vec::new();
    for (run, s) in record.runs.iter().zip(summaries) {
        for (i, (flow, plan)) in s.flows.iter().zip(&record.test.flows).enumerate() {
            let error = run.flows.get(i).and_then(|f| f.error.as_deref()).unwrap_or("");
            rows.push(vec![
                escape(&run.queue),
                escape(&flow.name),
                direction_name(flow.direction).to_owned(),
                escape(&plan.cc),
                glossary::known(&plan.dscp),
                flow.ecn.map_or("–", |on| if on { "negotiated" } else { "off" }).to_owned(),
                escape(error),
                mbit(flow.goodput_bps),
                flow.retransmits.map_or_else(|| "–".into(), |n| n.to_string()),
                ms(flow.tcp_rtt.p50_ns),
                ms(flow.tcp_rtt.p95_ns),
                mbit(plan.rate_bps),
                mbit(flow.pacing_p50_bps),
                mbit(flow.delivery_p50_bps),
            ]);
        }
    }
    let heads = [
        "queue",
        "flow",
        "direction",
        "congestion control",
        "DSCP",
        "ECN",
        "ended early",
        "goodput, Mbit/s",
        "retransmits",
        "TCP RTT p50, ms",
        "TCP RTT p95, ms",
        "rate limit, Mbit/s",
        "pacing rate p50, Mbit/s",
        "delivery rate p50, Mbit/s",
    ];
    table("All flows", &heads, 7, &rows)
}

/// The flows of a program: what passed, and what the queue did with it.
fn connections(record: &Record, summaries: &[Summary]) -> String {
    let seconds = |ns: i64| format!("{:.2}", ns as f64 / 1e9);
    let waited = |ns: u64| format!("{:.2}", ns as f64 / 1e6);
    let mut rows = Vec::new();
    for (run, s) in record.runs.iter().zip(summaries) {
        for ((flow, plan), series) in s.flows.iter().zip(&record.test.flows).zip(&run.flows) {
            let queue = series.queue.unwrap_or_default();
            let bytes: u64 = series.rx_bytes.iter().sum();
            rows.push(vec![
                escape(&flow.name),
                direction_name(flow.direction).to_owned(),
                seconds(plan.start_ns),
                seconds(plan.stop_ns),
                format!("{:.1}", bytes as f64 / 1e3),
                mbit(flow.goodput_bps),
                queue.arrived_packets.to_string(),
                queue.drops.to_string(),
                queue.marks.to_string(),
                waited(queue.waited_mean_ns),
                waited(queue.waited_max_ns),
            ]);
        }
    }
    let heads = [
        "connection",
        "direction",
        "first packet, s",
        "last packet, s",
        "received, kB",
        "goodput, Mbit/s",
        "packets",
        "dropped or lost",
        "marked",
        "mean wait, ms",
        "longest wait, ms",
    ];
    table("All connections", &heads, 2, &rows)
}

fn counters(record: &Record, summaries: &[Summary]) -> String {
    let kb = |b: Option<u64>| b.map_or_else(|| "–".into(), |b| format!("{:.1}", b as f64 / 1e3));
    let mut rows = Vec::new();
    for (run, s) in record.runs.iter().zip(summaries) {
        for (name, q, series) in [("up", &s.queue_up, &run.up), ("down", &s.queue_down, &run.down)] {
            let reasons: Vec<String> = series
                .drop_reasons
                .iter()
                .filter(|(_, n)| **n > 0)
                .map(|(k, n)| format!("{} {n}", escape(k)))
                .collect();
            let own: Vec<String> =
                series.counters.iter().map(|(k, n)| format!("{} {n}", escape(k))).collect();
            rows.push(vec![
                escape(&run.queue),
                name.to_owned(),
                reasons.join(", "),
                own.join(", "),
                q.drops.to_string(),
                q.drops_loaded.to_string(),
                q.marks.to_string(),
                q.marks_loaded.to_string(),
                kb(q.backlog_mean_bytes),
                kb(q.backlog_max_bytes),
            ]);
        }
    }
    let heads = [
        "queue",
        "direction",
        "drops by reason",
        "counters",
        "drops",
        "of these under load",
        "marks",
        "of these under load",
        "mean backlog, kB",
        "max backlog, kB",
    ];
    table("Drops, marks and backlog", &heads, 4, &rows)
}

fn machine(record: &Record) -> String {
    let mut items = vec![
        ("Kernel".to_owned(), escape(&record.host.kernel)),
        ("Processors".into(), record.host.cpus.to_string()),
    ];
    items.extend(record.host.sysctls.iter().map(|(k, v)| (format!("<code>{}</code>", escape(k)), escape(v))));
    let borrowed: Vec<(&str, String)> = items.iter().map(|(k, v)| (k.as_str(), v.clone())).collect();
    list(&borrowed)
}

fn engine(record: &Record) -> String {
    let mut out = String::from(
        "<p class=\"lead\">Lateness is the time at which a packet was put on the line minus the time at which it was due. \
         The rate error compares the bits that left the line, while it was never idle, with the configured rate.</p>",
    );
    for (q, run) in record.runs.iter().enumerate() {
        let _ = write!(out, "<h3 class=\"q{}\">{}</h3>", q % 8, escape(&run.queue));
        match &run.engine {
            Some(e) => out.push_str(&engine_of(e)),
            None => out.push_str("<p class=\"lead\">Not recorded.</p>"),
        }
    }
    out
}

fn simulation(record: &Record) -> String {
    let mut out = String::from(
        "<p class=\"lead\">The same version, command and seed give the same trace hash, on any machine: \
         it is over the time and place of every event.</p>",
    );
    let row = |run: &Run| {
        let s = run.simulation.as_ref()?;
        Some(vec![
            escape(&run.queue),
            format!("<code>{}</code>", escape(&s.trace_hash)),
            s.seed.to_string(),
            s.events.to_string(),
            seconds(s.simulated_ns),
            s.up_packets.to_string(),
            s.down_packets.to_string(),
        ])
    };
    let rows: Vec<Vec<String>> = record.runs.iter().filter_map(row).collect();
    let heads =
        ["queue", "trace hash", "seed", "events", "virtual time", "packets sent up", "packets sent down"];
    out.push_str(&table("What was simulated", &heads, 2, &rows));
    out
}

fn micro(ns: u64) -> String {
    format!("{:.1} µs", ns as f64 / 1e3)
}

fn rate_error(share: Option<f64>) -> String {
    match share.filter(|x| x.is_finite()) {
        Some(x) => format!("{:+.3} %", x * 100.0).replace('-', "−"),
        None => "not measured: the line was never busy long enough".into(),
    }
}

fn engine_of(e: &EngineHealth) -> String {
    let share = |x: f64| if x.is_finite() { format!("{:.1} %", x * 100.0) } else { "–".into() };
    let mut out = list(&[
        (
            "Lateness p50, p99, max",
            format!(
                "{}, {}, {}",
                micro(e.lateness_p50_ns),
                micro(e.lateness_p99_ns),
                micro(e.lateness_max_ns)
            ),
        ),
        ("Engine, share of one processor", share(e.busy)),
        ("Machine busy", share(e.host_busy)),
        ("Rate error up", rate_error(e.rate_error_up)),
        ("Rate error down", rate_error(e.rate_error_down)),
    ]);
    let total: u64 = e.lateness_count.iter().fold(0, |a, &b| a.saturating_add(b));
    let last = e.lateness_bucket_ns.last().copied().unwrap_or(0);
    let bounds = e.lateness_bucket_ns.iter().map(|&b| format!("≤ {}", micro(b)));
    // The last count is of packets later than every bound.
    let bounds = bounds.chain(std::iter::once(format!("> {}", micro(last))));
    let rows: Vec<Vec<String>> = bounds
        .zip(&e.lateness_count)
        .map(|(bound, &n)| {
            let part = if total > 0 { n as f64 / total as f64 } else { 0.0 };
            let bar = format!("<span class=\"meter\" style=\"width:{:.1}px\"></span>", part * 240.0);
            vec![bound.replace('>', "&gt;"), bar, n.to_string(), format!("{:.2} %", part * 100.0)]
        })
        .collect();
    out.push_str(&table("Lateness", &["late by", "share", "packets", "of all"], 2, &rows));
    out
}
