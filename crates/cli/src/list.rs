//! `goodqueue queues`, `tests`, `lines`, `completions`, `man`: lists and help.

use std::fmt::Write;
use std::path::Path;

use clap_complete::Shell;
use goodqueue::spec::{CATALOGUE, Parameter, Parameters, QueueInfo};
use goodqueue::wifi::WifiParams;
use goodqueue::{Rate, Span};
use goodqueue_probe::rpm::{PROBES, Tls};
use goodqueue_probe::{Count, Direction, EXTRAS, FlowGroup, Names, TESTS, TestInfo, UdpGroup, UdpPattern};
use serde_json::{Value, json};

use crate::args::{ListArgs, QueuesArgs};
use crate::output::{print, print_json};
use goodqueue_experiment::Error;
use goodqueue_experiment::did_you_mean;
use goodqueue_experiment::text::lines::{LINES, Line};

/// `goodqueue schema`.
///
/// # Errors
/// [`Error::Machine`] if it cannot be printed.
pub fn schema() -> Result<(), Error> {
    print_json(&goodqueue_experiment::text::schema())
}

/// The rows that were asked for: all, or the one of that name.
fn chosen<'a, T>(
    what: &str,
    rows: &'a [T],
    asked: Option<&str>,
    is: impl Fn(&T, &str) -> bool,
    name: impl Fn(&T) -> &'static str,
) -> Result<Vec<&'a T>, Error> {
    let Some(asked) = asked else { return Ok(rows.iter().collect()) };
    let found: Vec<&T> = rows.iter().filter(|row| is(row, asked)).collect();
    if found.is_empty() {
        let names: Vec<&str> = rows.iter().map(name).collect();
        let nearest = did_you_mean(asked, &names);
        return Err(Error::Usage(format!(
            "no {what} is called {asked}; `goodqueue {what}s` lists them{nearest}"
        )));
    }
    Ok(found)
}

/// The parts of a queue's entry.
struct QueueRow {
    name: &'static str,
    doc: &'static str,
    source: &'static str,
    parameters: &'static [Parameter],
}

impl From<&QueueInfo> for QueueRow {
    fn from(queue: &QueueInfo) -> QueueRow {
        QueueRow { name: queue.name, doc: queue.doc, source: queue.source, parameters: queue.parameters }
    }
}

/// The transmit stack of a radio. It is listed only by its name, since a link cannot have it as its queue.
const WIFI: QueueRow = QueueRow {
    name: WifiParams::NAME,
    doc: WifiParams::DOC,
    source: WifiParams::SOURCE,
    parameters: WifiParams::LIST,
};

/// Lists the queues.
///
/// # Errors
/// [`Error::Usage`] for an unknown name, or several names.
pub fn queues(args: &QueuesArgs) -> Result<(), Error> {
    if args.memory {
        return crate::memory::memory(args);
    }
    let asked = match &args.names[..] {
        [] => None,
        [name] => Some(name.as_str()),
        _ => return Err(Error::Usage("one queue at a time, or all; with --memory any number".to_owned())),
    };
    let mut rows: Vec<QueueRow> = CATALOGUE.iter().map(QueueRow::from).collect();
    if asked.is_some() {
        rows.push(WIFI);
    }
    let is = |queue: &QueueRow, name: &str| queue.name == name;
    let queues = chosen("queue", &rows, asked, is, |queue| queue.name)?;
    if args.json {
        return print_json(&queues.iter().map(|queue| queue_json(queue)).collect::<Vec<_>>());
    }
    let mut text = String::new();
    for queue in queues {
        queue_words(&mut text, queue);
    }
    text.push_str("Units are tc's. A queue is written NAME, NAME:VALUE or NAME,PARAMETER=VALUE,...\n");
    text.push_str(
        "Linux's mq, a queue for each hardware queue of a device: `lanes` of a link (docs/experiments.md)\n",
    );
    text.push_str("The parameters of an 802.11 radio: goodqueue queues wifi\n");
    print(&text)
}

fn queue_words(text: &mut String, queue: &QueueRow) {
    let _ = writeln!(text, "{}\n    {} [{}]", queue.name, queue.doc, queue.source);
    let width = queue.parameters.iter().map(|parameter| parameter.name.len()).max().unwrap_or(0);
    for parameter in queue.parameters {
        let Parameter { name, doc, source, .. } = parameter;
        let default = match parameter.default_text() {
            required if required == "required" => required,
            default => format!("default {default}"),
        };
        let range = parameter.range_text();
        let _ = writeln!(text, "    {name:<width$}  {doc}");
        let _ = writeln!(text, "    {:<width$}  {default}; {range} [{source}]", "");
    }
    text.push('\n');
}

fn queue_json(queue: &QueueRow) -> Value {
    let parameters: Vec<Value> = queue
        .parameters
        .iter()
        .map(|parameter| {
            json!({
                "name": parameter.name, "aliases": parameter.aliases, "unit": parameter.unit.name(),
                "default": parameter.default_text(), "range": parameter.range_text(),
                "about": parameter.doc, "source": parameter.source,
            })
        })
        .collect();
    json!({ "name": queue.name, "about": queue.doc, "source": queue.source, "parameters": parameters })
}

/// Lists the ready-made lines.
///
/// # Errors
/// [`Error::Usage`] for a name that there is not.
pub fn lines(args: &ListArgs) -> Result<(), Error> {
    let is = |line: &Line, name: &str| line.name == name;
    let lines = chosen("line", &LINES, args.name.as_deref(), is, |line| line.name)?;
    if args.json {
        return print_json(&lines.iter().map(|line| line_json(line)).collect::<Vec<_>>());
    }
    let mut text = String::new();
    for line in lines {
        let Line { name, about, down, up, rtt, jitter, buffer_down, buffer_up, framing, source } = line;
        let jitter =
            if *jitter == Span::ZERO { String::new() } else { format!(", jitter {jitter} each way") };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name}\n    {about}: {down} down, {up} up, round trip {rtt}{jitter}");
        let _ = writeln!(
            text,
            "    buffers: {buffer_down} down, {buffer_up} up; framing on a real router: cake,link={framing}"
        );
        let _ = writeln!(text, "    {source}\n");
    }
    text.push_str("As in: goodqueue run rrul --line dsl-50-10 --shape 90%\n");
    print(&text)
}

fn line_json(line: &Line) -> Value {
    json!({
        "name": line.name, "about": line.about, "down_bps": line.down.0, "up_bps": line.up.0,
        "rtt_ns": line.rtt.0, "jitter_ns": line.jitter.0, "buffer_down": line.buffer_down,
        "buffer_up": line.buffer_up, "framing": line.framing, "source": line.source,
    })
}

/// Lists the tests.
///
/// # Errors
/// [`Error::Usage`] for a name that there is not.
pub fn tests(args: &ListArgs) -> Result<(), Error> {
    let is = |test: &TestInfo, name: &str| test.name == name || test.aliases.contains(&name);
    let tests = chosen("test", TESTS, args.name.as_deref(), is, |test| test.name)?;
    if args.json {
        return print_json(&tests.iter().map(|test| test_json(test)).collect::<Vec<_>>());
    }
    let mut text = String::new();
    for test in tests {
        test_words(&mut text, test);
    }
    if args.name.is_none() {
        text.push_str("with any test, by --with\n");
        for extra in EXTRAS {
            let _ = writeln!(text, "    {:<18}  {}", extra.words, extra.about);
        }
    }
    text.push_str(
        "\nN is set by --flows (--flows 1,8: 1 up and 8 down), D by --delay, the length by --length, probes \
         by\n\
         --probe-interval.\n\
         Every test runs on each arm: in virtual time, with --live in real time, and over a real path \
         (goodqueue test).\n\
         Over a real path, rpm needs a server of HTTPS, and rpm_tls12 does not run.\n",
    );
    print(&text)
}

fn test_words(text: &mut String, test: &TestInfo) {
    let names = std::iter::once(&test.name).chain(test.aliases).copied().collect::<Vec<_>>().join(", ");
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{names}\n    {}", test.about);
    for group in test.flows {
        let _ = writeln!(text, "    {}", group_words(group, test.default_flows));
    }
    for group in test.udp {
        let _ = writeln!(text, "    {}", udp_words(group));
    }
    if test.any_hosts {
        let given = "as many as --host names, as --rtt has times, or as a file has";
        let _ = writeln!(text, "    hosts: {given} (default {})", test.hosts);
    }
    if let (Some(tls), Some(most)) = (test.rpm, test.default_flows) {
        let _ = writeln!(
            text,
            "    1 TCP flow, and one more each second up to N (default {most}), with {}: all down, then all \
             up",
            tls.name()
        );
    }
    let _ = writeln!(text, "    probes: {}\n", probes(test).join(", "));
}

/// The names of its probes.
fn probes(test: &TestInfo) -> Vec<&'static str> {
    let parts = if test.rpm.is_some() { &PROBES[..] } else { &[] };
    test.probes.iter().flat_map(|group| group.names.words()).chain(parts).copied().collect()
}

fn udp_words(group: &UdpGroup) -> String {
    let rate = Rate(group.bps);
    let rate = if group.is_asked { format!("{rate} (--udp-bandwidth)") } else { rate.to_string() };
    let when = match group.pattern {
        UdpPattern::Steady => "UDP up at".to_owned(),
        UdpPattern::Hosts => "UDP up to each host at".to_owned(),
        UdpPattern::Stagger => "UDP up to each host, one after the other, at".to_owned(),
        UdpPattern::Bursts(seconds) => format!("UDP up in bursts of {seconds} s, D apart, at"),
    };
    format!("{when} {rate}, {} bytes a datagram", group.payload)
}

fn group_words(group: &FlowGroup, default: Option<u32>) -> String {
    let way = match (group.count, group.direction) {
        (Count::Hosts, Direction::Up) => "up to each host",
        (Count::Hosts, Direction::Down) => "down from each host",
        (Count::Fixed(_) | Count::N, Direction::Up) => "up",
        (Count::Fixed(_) | Count::N, Direction::Down) => "down",
    };
    let count = match (group.count, default) {
        (Count::Fixed(n), _) => n.to_string(),
        (Count::N, Some(n)) => format!("N (default {n})"),
        (Count::N, None) => "N".into(),
        (Count::Hosts, _) => "1".into(),
    };
    let cc = match group.cc {
        goodqueue_probe::Cc::Asked => "",
        goodqueue_probe::Cc::Fixed(name) => name,
    };
    let mut marks: Vec<String> = group.dscp.iter().map(ToString::to_string).collect();
    marks.dedup();
    if let Names::Marked(_) = group.names {
        marks.push("or by --marks".into());
    }
    let start = match group.start {
        0 => String::new(),
        1 => ", starts after D".into(),
        n => format!(", starts after {n} D"),
    };
    let cc = if cc.is_empty() { String::new() } else { format!(" {cc}") };
    let plural = if count == "1" { "" } else { "s" };
    format!("{count}{cc} TCP flow{plural} {way}, marked {}{start}", marks.join(" "))
}

fn test_json(test: &TestInfo) -> Value {
    let flows: Vec<Value> = test
        .flows
        .iter()
        .map(|group| {
            json!({
                "direction": if group.direction == Direction::Up { "up" } else { "down" },
                "count": match group.count {
                    Count::Fixed(n) => json!(n),
                    Count::N => json!("N"),
                    Count::Hosts => json!("hosts"),
                },
                "cc": match group.cc {
                    goodqueue_probe::Cc::Asked => json!(null),
                    goodqueue_probe::Cc::Fixed(n) => json!(n),
                },
                "names": group.names.words(),
                "dscp": group.dscp.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "start_in_delays": group.start,
            })
        })
        .collect();
    let udp: Vec<Value> = test
        .udp
        .iter()
        .map(|group| json!({ "name": group.name, "bps": group.bps, "payload_bytes": group.payload }))
        .collect();
    json!({
        "name": test.name, "aliases": test.aliases, "about": test.about, "default_flows": test.default_flows,
        "hosts": test.hosts, "any_hosts": test.any_hosts, "flows": flows, "udp": udp, "probes": probes(test),
        "tls": test.rpm.map(Tls::name),
    })
}

/// Prints the completions of `shell`.
///
/// # Errors
/// [`Error::Machine`] if standard output cannot be written.
pub fn completions(shell: Shell, command: &mut clap::Command) -> Result<(), Error> {
    let mut bytes = Vec::new();
    clap_complete::generate(shell, command, "goodqueue", &mut bytes);
    print(&String::from_utf8_lossy(&bytes))
}

/// Prints the man page: one page for the command and its subcommands.
///
/// # Errors
/// [`Error::Machine`] if standard output cannot be written.
pub fn man(command: clap::Command) -> Result<(), Error> {
    let mut bytes = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut bytes).map_err(Error::machine)?;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help")
    {
        text.push_str(&man_section(inner).map_err(Error::machine)?);
    }
    print(&text)
}

/// Writes a man page for the command, and one for each of its subcommands, into `folder`, which is made if it
/// is not there.
///
/// # Errors
/// [`Error::Usage`] if the folder cannot be made, [`Error::Machine`] if a page cannot be written.
pub fn man_pages(command: clap::Command, folder: &Path) -> Result<(), Error> {
    let failed = |error| format!("--output {}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(|error| Error::Usage(failed(error)))?;
    clap_mangen::generate_to(command, folder).map_err(|error| Error::Machine(failed(error)))
}

/// One subcommand with its arguments, as a section of the page.
fn man_section(command: &clap::Command) -> std::io::Result<String> {
    let name = command.get_name().to_owned();
    let page = clap_mangen::Man::new(command.clone().bin_name(format!("goodqueue {name}")));
    let mut bytes = Vec::new();
    page.render_synopsis_section(&mut bytes)?;
    page.render_description_section(&mut bytes)?;
    page.render_options_section(&mut bytes)?;
    page.render_extra_section(&mut bytes)?;
    let inner = String::from_utf8_lossy(&bytes).replace("\n.SH ", "\n.SS ").replacen(".SH ", ".SS ", 1);
    Ok(format!(".SH \"GOODQUEUE {}\"\n{inner}", name.to_uppercase()))
}
