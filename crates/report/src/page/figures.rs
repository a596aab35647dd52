//! The charts of the page, with the controls and the values for the pointer.

use std::fmt::Write as _;

use serde::Serialize;

use super::{airtime, applications, queues};
use crate::charts::{self, Chart, Delay, Hover, escape};
use crate::record::{Direction, Record, Run};
use crate::summary::{Summary, direction_name, loaded_directions, shown_words};
use crate::words;

const SCALES: [(&str, &str); 2] = [("linear", "linear"), ("log", "logarithmic")];

/// Sections of the page and the data of their charts.
pub(crate) struct Figures {
    pub(crate) html: String,
    pub(crate) data: String,
}

/// Values of a chart in the format of the page's script.
#[derive(Serialize)]
struct Data<'a> {
    area: [Number; 4],
    domain: [Number; 2],
    places: [Number; 2],
    log: bool,
    unit: &'a str,
    series: Vec<SeriesData<'a>>,
}

#[derive(Serialize)]
struct SeriesData<'a> {
    q: usize,
    name: &'a str,
    unit: &'a str,
    v: Vec<Option<Number>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    u: Option<Vec<Option<Number>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    c: Option<usize>,
}

/// A number with four significant digits, in its shortest form.
#[derive(Clone, Copy)]
struct Number(f64);

impl Serialize for Number {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let v = self.0;
        if !v.is_finite() {
            return serializer.serialize_none();
        }
        let digits = 3 - v.abs().max(1e-4).log10().floor() as i32;
        let factor = 10_f64.powi(digits.clamp(0, 7));
        let rounded = (v * factor).round() / factor;
        if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
            serializer.serialize_i64(rounded as i64)
        } else {
            serializer.serialize_f64(rounded)
        }
    }
}

fn data(hover: &Hover) -> Data<'_> {
    let numbers = |v: &[Option<f64>]| v.iter().map(|x| x.filter(|x| x.is_finite()).map(Number)).collect();
    Data {
        area: hover.area.map(Number),
        domain: [Number(hover.domain.0), Number(hover.domain.1)],
        places: [Number(hover.places.0), Number(hover.places.1)],
        log: hover.log,
        unit: hover.unit,
        series: hover
            .series
            .iter()
            .map(|s| SeriesData {
                q: s.queue,
                name: &s.name,
                unit: s.unit,
                v: numbers(&s.values),
                u: s.upper.as_deref().map(numbers),
                c: s.colour,
            })
            .collect(),
    }
}

/// Collects sections and data.
struct Builder {
    html: String,
    data: String,
}

impl Builder {
    /// Adds a figure; `class` determines when it is shown, `caption` is markup.
    fn figure(&mut self, chart: &Chart, class: &str, queue: Option<usize>, caption: &str) {
        let mark = queue.map(|q| format!(" data-q=\"{q}\"")).unwrap_or_default();
        let _ = write!(self.html, "<figure class=\"{class}\"{mark}>");
        if !caption.is_empty() {
            let colour = queue.map(|q| format!(" class=\"q q{}\"", q % 8)).unwrap_or_default();
            let _ = write!(self.html, "<figcaption{colour}>{caption}</figcaption>");
        }
        let title = escape(&chart.title);
        let _ = write!(
            self.html,
            "<div class=\"plot\" tabindex=\"0\" role=\"group\" data-chart=\"{id}\" \
             aria-label=\"{title}. Arrow keys move the crosshair; plus, minus and 0 zoom.\">",
            id = chart.id
        );
        self.html.push_str(&chart.scene.inline_svg());
        self.html.push_str("</div></figure>\n");
        if let Some(hover) = &chart.hover {
            let json = serde_json::to_string(&data(hover)).unwrap_or_else(|_| "null".into());
            let gap = if self.data.is_empty() { "" } else { ",\n" };
            // `<` would be markup within a script element.
            let _ = write!(self.data, "{gap}\"{}\":{}", chart.id, json.replace('<', "\\u003c"));
        }
    }

    /// A list from which the reader picks one flow, and the values of all flows.
    fn picks(&mut self, direction: &str, picks: &charts::Picks, charts: &[Chart]) {
        let _ = write!(
            self.html,
            "<div class=\"controls\" data-picks=\"picks-{direction}\" hidden><label>Show one flow \
             <select><option value=\"\">none</option>"
        );
        for (i, name) in picks.names.iter().enumerate() {
            let _ = write!(self.html, "<option value=\"{i}\">{}</option>", escape(name));
        }
        self.html.push_str("</select></label></div>\n");
        let numbers = |v: &Vec<Option<f64>>| -> Vec<Option<Number>> {
            v.iter().map(|x| x.filter(|x| x.is_finite()).map(Number)).collect()
        };
        let lines: Vec<Vec<_>> =
            picks.lines.iter().map(|flows| flows.iter().map(numbers).collect()).collect();
        let ids: Vec<&str> = charts.iter().map(|chart| chart.id.as_str()).collect();
        let json = serde_json::json!({ "top": picks.top, "names": picks.names, "charts": ids });
        let lines = serde_json::to_string(&lines).unwrap_or_else(|_| "[]".into());
        let gap = if self.data.is_empty() { "" } else { ",\n" };
        let json = json.to_string().replace('<', "\\u003c");
        let json = json.strip_suffix('}').unwrap_or("{\"top\":1");
        let _ = write!(self.data, "{gap}\"picks-{direction}\":{json},\"lines\":{lines}}}");
    }

    fn open(&mut self, id: &str, heading: &str, lead: &str) {
        let _ = writeln!(
            self.html,
            "<section aria-labelledby=\"h-{id}\">\n<h2 id=\"h-{id}\">{heading}</h2>\n<p class=\"lead\">{lead}</p>"
        );
    }

    fn close(&mut self) {
        self.html.push_str("</section>\n");
    }
}

/// Buttons of which one is selected.
fn choice(set: &str, legend: &str, chosen: &str, options: &[(&str, &str)]) -> String {
    let mut out = format!("<fieldset class=\"choice\"><legend>{legend}</legend>");
    for (to, words) in options {
        let _ = write!(
            out,
            "<button type=\"button\" data-set=\"{set}\" data-to=\"{to}\" aria-pressed=\"{}\">{words}</button>",
            *to == chosen
        );
    }
    out.push_str("</fieldset>");
    out
}

fn bar(record: &Record, delays: &[Delay]) -> String {
    let sides = words::capital(record.side());
    let mut out = format!("<div class=\"bar controls\"><fieldset class=\"keys\"><legend>{sides}s</legend>");
    for (q, run) in record.runs.iter().enumerate() {
        let _ = write!(
            out,
            "<button type=\"button\" class=\"q{}\" data-key=\"{q}\" aria-pressed=\"true\">{}</button>",
            q % 8,
            escape(&run.queue)
        );
    }
    out.push_str("</fieldset>");
    if delays.len() > 1 {
        let options: Vec<(&str, &str)> = delays.iter().map(|d| (d.key(), d.short())).collect();
        out.push_str(&choice("delay", "Delay", delays[0].key(), &options));
    }
    out.push_str(TIME);
    out.push_str("</div>\n");
    out
}

/// The controls for the part of the time that all charts show.
const TIME: &str = "<fieldset class=\"time\"><legend>Time</legend>\
    <button type=\"button\" data-time=\"in\" title=\"or drag across a chart, or press + in it\">zoom in</button>\
    <button type=\"button\" data-time=\"out\" disabled>zoom out</button>\
    <button type=\"button\" data-time=\"all\" disabled title=\"or double-click a chart, or press 0 in it\">all</button>\
    </fieldset>";

/// All sections with charts.
pub(crate) fn all(record: &Record, summaries: &[Summary]) -> Figures {
    let mut b = Builder { html: String::new(), data: String::new() };
    let delays: Vec<Delay> = Delay::ALL.into_iter().filter(|&d| charts::has_delay(record, d)).collect();
    let directions = loaded_directions(record);
    b.html.push_str(&bar(record, &delays));
    air(&mut b, record, summaries);
    side_by_side(&mut b, record, &directions);
    if !delays.is_empty() {
        over_time(&mut b, record, &delays);
        distributions(&mut b, record, &delays);
    }
    tcp_rtt(&mut b, record, summaries);
    transfers(&mut b, record, summaries);
    pages(&mut b, record, summaries);
    videos(&mut b, record, summaries);
    responsiveness(&mut b, record);
    talks(&mut b, record, summaries);
    calls(&mut b, record, summaries);
    for &direction in &directions {
        goodput(&mut b, record, direction);
    }
    for &direction in directions.iter().filter(|&&d| sampled(record, d)) {
        backlog(&mut b, record, direction);
    }
    Figures { html: b.html, data: format!("{{{}}}", b.data) }
}

/// A note on how delays are shown if hosts are at different distances.
fn rise_note(record: &Record) -> &'static str {
    if charts::shows_rise(record) {
        " The hosts are at different distances, so delays are shown as their rise over each probe's own idle median."
    } else {
        ""
    }
}

fn air(b: &mut Builder, record: &Record, summaries: &[Summary]) {
    if !record.has_radio() {
        return;
    }
    let lead = "Only one device can send at a time. Each box is a frame or an aggregate on the air; its width is its \
                duration. All queues have the same time axis. Colours in this section are those of the stations. If \
                there are many, charts name those with the most airtime.";
    b.open("air", "Who holds the air", lead);
    for chart in charts::airtime(record) {
        b.figure(&chart, "still", None, "");
    }
    b.html.push_str(&airtime::views(record, summaries));
    b.html.push_str(&airtime::stations(record, summaries));
    let over_time = charts::airtime_over_time(record);
    let trips = charts::station_round_trips(record);
    for (heading, list) in [("Airtime over time", over_time), ("Round trips of each station", trips)] {
        if list.is_empty() {
            continue;
        }
        let _ = writeln!(b.html, "<h3>{heading}</h3>\n<div class=\"cards two\">");
        for (queue, chart) in &list {
            b.figure(chart, "", Some(*queue), &escape(&record.runs[*queue].queue));
        }
        b.html.push_str("</div>\n");
    }
    b.close();
}

fn side_by_side(b: &mut Builder, record: &Record, directions: &[Direction]) {
    let what =
        if charts::shows_rise(record) { "rise of the round-trip time over idle" } else { "round-trip time" };
    let mut lead = if directions.is_empty() {
        format!("{} of the probes. All {}s have the same axes.", words::capital(what), record.side())
    } else if record.test.probes.is_empty() {
        "Goodput of the flows, one on top of the other.".into()
    } else {
        format!(
            "Goodput of the flows, one on top of the other, above the {what} of the probes at the same moment. \
             All {}s have the same axes.",
            record.side()
        )
    };
    if !record.test.probes.is_empty() {
        lead.push_str(rise_note(record));
    }
    if let Some(why) = charts::above_rate(record) {
        let _ = write!(lead, " {why}");
    }
    b.open("side", "Side by side", &lead);
    b.html.push_str("<div class=\"cards side\">\n");
    for (q, chart) in charts::side_by_side(record).iter().enumerate() {
        b.figure(chart, "", Some(q), "");
    }
    b.html.push_str("</div>\n");
    b.close();
}

fn over_time(b: &mut Builder, record: &Record, delays: &[Delay]) {
    let lead = format!(
        "Line: median of the probes sent in each moment. Band: 5th to 95th percentile. A lost probe leaves no \
         mark; if all were lost, the line has a gap.{}",
        rise_note(record)
    );
    b.open("latency", "Delay over time", &lead);
    let chosen = if charts::very_wide_range(record, delays[0]) { "log" } else { "linear" };
    let buttons = choice("axis", "Delay axis", chosen, &SCALES);
    let _ = writeln!(b.html, "<div class=\"controls\">{buttons}</div>\n<div class=\"stack\">");
    for &delay in delays {
        for log in [false, true] {
            let class = format!("delay {} {}", delay.key(), if log { "axis-log" } else { "axis-linear" });
            b.figure(&charts::delay_over_time(record, delay, log), &class, None, "");
        }
    }
    b.html.push_str("</div>\n");
    b.close();
}

fn tcp_rtt(b: &mut Builder, record: &Record, summaries: &[Summary]) {
    let Some(chart) = charts::tcp_rtt(record) else { return };
    let lead = "The smoothed round-trip time (srtt) of the flows' senders. It includes the flows' own queue; a probe's packets may wait \
                in another. CoDel's target acts on it. Line: median of the flows; band: 5th to 95th percentile. Sojourn: from a \
                packet's arrival at a queue until the line begins it, over the air until the first exchange that carries it.";
    b.open("tcp-rtt", "TCP's own round trip", lead);
    b.figure(&chart, "", None, "");
    b.html.push_str(&queues::waits(summaries));
    b.close();
}

/// A sentence that lists the line style of each record.
fn dashes(names: &[&str]) -> String {
    let kinds = ["solid", "dashed", "dotted", "dash and dot"];
    let of = |(i, name): (usize, &&str)| format!("{} {}", escape(name), kinds[i % kinds.len()]);
    format!(" Lines: {}.", names.iter().enumerate().map(of).collect::<Vec<_>>().join(", "))
}

fn distributions(b: &mut Builder, record: &Record, delays: &[Delay]) {
    let (heading, lead) = if record.test.flows.is_empty() {
        ("Distribution of the delay", "All probes, the first fifth or 2 s left out.")
    } else {
        (
            "Distribution of the delay under load",
            "All probes sent in the loaded interval, the ramp at its start left out.",
        )
    };
    let dashes = charts::sources(record).map(|(names, _)| dashes(&names)).unwrap_or_default();
    b.open("distribution", heading, &format!("{lead}{}{dashes}", rise_note(record)));
    let chosen = if charts::wide_range(record, delays[0]) { "log" } else { "linear" };
    let buttons = choice("scale", "Delay axis", chosen, &SCALES);
    let _ = writeln!(b.html, "<div class=\"controls\">{buttons}</div>\n<div class=\"cards two\">");
    for &delay in delays {
        for log in [false, true] {
            let class = format!("delay {} {}", delay.key(), if log { "log" } else { "linear" });
            b.figure(&charts::cumulative(record, delay, log), &class, None, "Cumulative distribution");
            b.figure(&charts::histogram(record, delay, log), &class, None, "Histogram");
        }
    }
    b.html.push_str("</div>\n");
    b.close();
}

fn transfers(b: &mut Builder, record: &Record, summaries: &[Summary]) {
    if record.test.traffic.is_empty() {
        return;
    }
    let lead = "Flow completion time (FCT): from the opening of a flow until its receiver has the last byte. Slowdown: FCT / \
                ideal time, which is the handshake, the way of the last byte, and all bytes with their headers at the rate of \
                the slowest line. Flows count that began in the loaded interval. After + are those that had not ended: they \
                are in no mean, and slower than all others in percentiles and curves.";
    b.open("flows", "Flow completion times", lead);
    b.html.push_str(&applications::transfers(record, summaries));
    b.html.push_str("<div class=\"cards two\">\n");
    for chart in charts::transfers(record) {
        b.figure(&chart, "", None, &escape(&chart.title));
    }
    b.html.push_str("</div>\n");
    b.close();
}

fn pages(b: &mut Builder, record: &Record, summaries: &[Summary]) {
    if record.test.web.is_empty() {
        return;
    }
    let lead = "Each line is the load of a page: its length and its height are the load time. A diamond: it was complete. An \
                arrow: it was incomplete when the load ended and would have taken longer.";
    b.open("pages", "Page load times", lead);
    b.html.push_str(&applications::pages(record, summaries));
    b.html.push_str("<div class=\"stack\">\n");
    for chart in charts::pages(record) {
        b.figure(&chart, "", None, &escape(&chart.title));
    }
    b.html.push_str("</div>\n");
    b.close();
}

fn videos(b: &mut Builder, record: &Record, summaries: &[Summary]) {
    if record.test.dash.is_empty() {
        return;
    }
    let lead = "The bit rate that the player selected for each segment, from its request on. A block at the bottom: \
                playback stalled.";
    b.open("videos", "Videos", lead);
    b.html.push_str(&applications::videos(record, summaries));
    b.html.push_str("<div class=\"stack\">\n");
    for chart in charts::videos(record) {
        b.figure(&chart, "", None, &escape(&chart.title));
    }
    b.html.push_str("</div>\n");
    b.close();
}

fn responsiveness(b: &mut Builder, record: &Record) {
    if record.runs.iter().all(|run| run.rpm.is_none()) {
        return;
    }
    b.open("rpm", "Responsiveness", super::rpm::LEAD);
    b.html.push_str(&super::rpm::tables(record));
    b.close();
}

fn talks(b: &mut Builder, record: &Record, summaries: &[Summary]) {
    if record.test.talks.is_empty() {
        return;
    }
    b.open("talks", "Video calls and games", super::talks::LEAD);
    b.html.push_str(&super::talks::section(record, summaries));
    b.html.push_str("<div class=\"stack\">\n");
    for chart in charts::talks(record) {
        b.figure(&chart, "", None, &escape(&chart.title));
    }
    b.html.push_str("</div>\n");
    b.close();
}

fn calls(b: &mut Builder, record: &Record, summaries: &[Summary]) {
    if record.test.voip.is_empty() {
        return;
    }
    let lead = "Mean opinion score of telephone calls during the load, for each second. 4.41 is the best possible with \
                G.711; from 4.34 users are very satisfied, from 4.03 satisfied, below 3.60 many are not (ITU-T G.107, \
                table B.1). Up is what the server hears, down what the client hears.";
    b.open("calls", "Calls", lead);
    b.html.push_str(&applications::calls(record, summaries));
    b.html.push_str("<div class=\"stack\">\n");
    for chart in charts::calls(record) {
        b.figure(&chart, "", None, &escape(&chart.title));
    }
    b.html.push_str("</div>\n");
    b.close();
}

fn goodput(b: &mut Builder, record: &Record, direction: Direction) {
    let name = direction_name(direction);
    let lead = format!(
        "Payload that each receiving application got, up to the planned stop of each flow. Lines of equal shares lie on \
         one another. A step above the link's rate is no error: {}.",
        words::RELEASED
    );
    let picks = charts::picks(record, direction);
    let lead = match &picks {
        Some(picks) => format!(
            "{lead} Of {} flows: the median, a band with the middle half of them, and a wide band with all; dashed, \
             the flows with the highest and the lowest mean.",
            picks.names.len()
        ),
        None => lead,
    };
    b.open(&format!("goodput-{name}"), &format!("Goodput per flow, {name}"), &lead);
    let charts = charts::goodput(record, direction);
    if let Some(picks) = &picks {
        b.picks(name, picks, &charts);
    }
    b.html.push_str("<div class=\"cards two\">\n");
    for (q, chart) in charts.iter().enumerate() {
        b.figure(chart, "", Some(q), &escape(&record.runs[q].queue));
    }
    b.html.push_str("</div>\n");
    b.close();
}

/// Whether there is a backlog to show. A Wi-Fi run may have only that of its stations.
fn sampled(record: &Record, direction: Direction) -> bool {
    let series = |run: &Run| run.shown(direction).t_ns.is_empty();
    !record.has_radio() || !record.runs.iter().all(series)
}

fn backlog(b: &mut Builder, record: &Record, direction: Direction) {
    let name = direction_name(direction);
    let mut lead = "Bytes waiting in the queue, without the device ring below it. Line: median of each moment; band: 5th \
                    to 95th percentile."
        .to_owned();
    for run in &record.runs {
        if let Some(words) = shown_words(run, direction) {
            let _ = write!(lead, " {}: {}.", escape(&run.queue), escape(&words));
        }
    }
    b.open(&format!("backlog-{name}"), &format!("Backlog over time, {name}"), &lead);
    b.figure(&charts::backlog(record, direction), "", None, "");
    b.close();
}
