//! The plan of an experiment as text, as `--dry-run` prints it.

use goodqueue::{RingSpec, Span};
use goodqueue_probe::{Dscp, Test};
use goodqueue_sim::{Discipline, Flow, Link, Loss, Pattern, Scenario, Shaper, ShaperKind, Source};
use serde::Serialize;

use super::load::server_name;
use super::trees;
use crate::experiment::{Experiment, Note, Variant};
use crate::traffic::Traffic;

/// A resolved experiment as text, in tc's units.
#[derive(Clone, Debug, Default, Serialize)]
pub struct View {
    about: String,
    test: TestWords,
    seeds: Vec<u64>,
    runs: usize,
    variants: Vec<VariantWords>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    warnings: Vec<String>,
    /// How many published claims `goodqueue reproduce` judges.
    #[serde(skip_serializing_if = "Option::is_none")]
    claims: Option<usize>,
}

#[derive(Clone, Debug, Default, Serialize)]
struct TestWords {
    name: String,
    idle: String,
    load: String,
    start_jitter: String,
    step: String,
    flows: Vec<String>,
    probes: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pages: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    videos: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    talks: Vec<String>,
    sources: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    traffic: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
struct VariantWords {
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    about: String,
    /// The version of Linux whose TCP the hosts have.
    kernel: String,
    ecn: bool,
    tso: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    gro: Option<String>,
    ipv6: bool,
    rtt: Vec<String>,
    /// The link whose queues the reports show.
    shown: Shown,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    switches: Vec<String>,
    links: Vec<LinkWords>,
}

#[derive(Clone, Debug, Serialize)]
struct Shown {
    up: String,
    down: String,
}

/// A directed link; properties that it does not have are left out.
#[derive(Clone, Debug, Serialize)]
struct LinkWords {
    link: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<String>,
    /// For a tree of classes: its classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    classes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lanes: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shaper: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ring: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pause: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jitter: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loss: Option<String>,
}

impl View {
    /// The plan of `experiment`.
    #[must_use]
    pub fn of(experiment: &Experiment) -> View {
        let Experiment { about, test, seeds, variants, output, warnings, reproduction } = experiment;
        let first = variants.first().map(|variant| &variant.scenario);
        let sources = first.map(|scenario| scenario.sources.iter().map(|s| source(scenario, s)).collect());
        View {
            about: about.clone(),
            test: test_words(test, variants.first(), sources.unwrap_or_default()),
            seeds: seeds.clone(),
            runs: seeds.len() * variants.len(),
            variants: variants.iter().map(variant_words).collect(),
            output: output.as_ref().map(|path| path.display().to_string()),
            warnings: warnings.clone(),
            claims: reproduction.as_ref().map(|reproduction| reproduction.claims.len()),
        }
    }
}

fn test_words(test: &Test, first: Option<&Variant>, sources: Vec<String>) -> TestWords {
    let flows = test.flows.iter().enumerate().map(|(index, flow)| {
        let ends = first.map_or_else(String::new, |variant| ends(variant, &variant.scenario.flows[index]));
        let own = first.and_then(|variant| variant.scenario.flows.get(index));
        let bytes = own.and_then(|flow| flow.bytes).map_or(String::new(), |bytes| format!(", {bytes} bytes"));
        let rate = flow.max_rate.map_or(String::new(), |rate| format!(", at {rate}"));
        let (name, cc, dscp) = (&flow.name, &flow.cc, flow.dscp);
        format!("{name}: {ends}, {cc}, {dscp}, {} to {}{bytes}{rate}", flow.start, flow.stop)
    });
    let pages = test.web.iter().map(|page| {
        let server = server_name(page.host);
        format!(
            "{}: {} bytes in {} requests from {server}, {}",
            page.name, page.bytes, page.requests, page.cc
        )
    });
    let videos = test.dash.iter().map(|video| {
        let server = server_name(video.host);
        format!("{}: from {server}, {}", video.name, video.cc)
    });
    let talks = test
        .talks
        .iter()
        .map(|talk| format!("{}: with {}, {}", talk.name, server_name(talk.host), talk.dscp));
    let probes = test.streams().map(|probe| {
        let server = server_name(probe.host);
        let (name, dscp) = (&probe.name, probe.dscp);
        format!("{name}: to {server}, {dscp}, every {}, {} bytes", probe.interval, probe.payload)
    });
    TestWords {
        name: test.name.clone(),
        idle: test.idle.to_string(),
        load: test.load.to_string(),
        start_jitter: first.map_or(Span::ZERO, |variant| variant.start_jitter).to_string(),
        step: test.step.to_string(),
        flows: flows.collect(),
        probes: probes.collect(),
        pages: pages.collect(),
        videos: videos.collect(),
        talks: talks.collect(),
        sources,
        traffic: first.map_or_else(Vec::new, |variant| {
            variant.traffic.iter().map(|one| traffic(variant, one)).collect()
        }),
    }
}

/// The names of a flow's two nodes.
fn ends(variant: &Variant, flow: &Flow) -> String {
    let [from, to] = [flow.from, flow.to].map(|node| &variant.scenario.nodes[node]);
    format!("{from} to {to}")
}

fn traffic(variant: &Variant, one: &Traffic) -> String {
    let ends = ends(variant, &one.flow);
    let (name, cc, dscp) = (&one.name, one.flow.cc, Dscp::new(one.flow.dscp).unwrap_or_default());
    format!("{name}: {ends}, {}; sizes {}; {cc}, {dscp}", one.arrivals, one.size)
}

fn source(scenario: &Scenario, source: &Source) -> String {
    let (from, to) = (&scenario.nodes[source.from], &scenario.nodes[source.to]);
    let pattern = match source.pattern {
        Pattern::Constant { interval } => format!("every {interval}"),
        Pattern::Poisson { mean } => format!("every {mean} on average (exponential)"),
        Pattern::OnOff { interval, on, off } => {
            format!("every {interval}, on for {on} and off for {off} on average (exponential)")
        }
    };
    let since = |at: Span| at - scenario.origin;
    let stop = source.stop.map_or_else(|| "the end".into(), |stop| since(stop).to_string());
    format!("{from} to {to}: {} bytes {pattern}, {} to {stop}", source.len, since(source.start))
}

fn variant_words(variant: &Variant) -> VariantWords {
    let name = |link: usize| variant.notes.get(link).map_or_else(String::new, |note| note.name.clone());
    VariantWords {
        name: variant.label.clone(),
        about: variant.about.clone(),
        kernel: variant.scenario.tcp.kernel.to_string(),
        ecn: variant.scenario.tcp.ecn,
        tso: variant.scenario.tcp.tso,
        gro: variant.scenario.tcp.gro.as_ref().map(Span::to_string),
        ipv6: variant.scenario.ipv6,
        rtt: variant.rtt.iter().map(Span::to_string).collect(),
        shown: Shown { up: name(variant.up), down: name(variant.down) },
        switches: variant.switches.clone(),
        links: variant.scenario.links.iter().zip(&variant.notes).map(link_words).collect(),
    }
}

fn link_words((link, note): (&Link, &Note)) -> LinkWords {
    let port = link.port.as_ref();
    let time = |span: Span| (span > Span::ZERO).then(|| span.to_string());
    LinkWords {
        link: note.name.clone(),
        line: Some(note.line.clone()).filter(|line| !line.is_empty()),
        queue: port
            .map(|port| port.queue.to_string())
            .or_else(|| Some(note.queue.clone()).filter(|queue| !queue.is_empty())),
        classes: port.map_or_else(Vec::new, |port| classes(&port.queue)),
        lanes: port.map(|port| port.lanes).filter(|&lanes| lanes > 1),
        shaper: port.and_then(|port| port.shaper).map(shaper),
        ring: port.and_then(|port| port.ring).map(ring),
        pause: port
            .and_then(|port| port.pause)
            .map(|pause| format!("at {} bytes, on again at {}", pause.high, pause.low)),
        delay: time(link.delay),
        jitter: time(link.jitter),
        loss: loss(link.loss),
    }
}

fn classes(queue: &Discipline) -> Vec<String> {
    match queue {
        Discipline::Queue(_) | Discipline::Own(_) => Vec::new(),
        Discipline::Classes(tree) => {
            trees::words(tree).into_iter().map(|(name, words)| format!("{name}: {words}")).collect()
        }
    }
}

pub(super) fn shaper(shaper: Shaper) -> String {
    let kind = match shaper.kind {
        ShaperKind::Htb => "htb",
        ShaperKind::Tbf => "tbf",
    };
    format!("{kind} {}, burst {} bytes", shaper.rate, shaper.burst)
}

fn ring(ring: RingSpec) -> String {
    let mut words = format!("{} packets", ring.entries);
    if ring.bql {
        words.push_str(", BQL");
    }
    if ring.coalesce > Span::ZERO {
        words.push_str(&format!(", completions within {}", ring.coalesce));
    }
    words
}

fn loss(loss: Loss) -> Option<String> {
    match loss {
        Loss::None => None,
        Loss::Random(share) => Some(share.to_string()),
        Loss::GilbertElliott { to_bad, to_good, good, bad } => Some(format!(
            "Gilbert-Elliott: to_bad {to_bad}, to_good {to_good}, good {good}, bad {bad}; {:.6} on average",
            loss.mean()
        )),
    }
}
