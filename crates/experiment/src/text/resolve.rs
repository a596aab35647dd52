//! From the text to the scenarios.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use goodqueue::{ClassTree, ETHERNET_MTU, Span};
use goodqueue_probe::Test;
use goodqueue_sim::Discipline;
use goodqueue_sim::tcp::{Config, Kernel, NotAKernel};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::claims;
use super::keys::wifi::{WIFI, WIFI_CHANGE};
use super::keys::{ROOT, SIMPLE, TCP, VARIANT};
use super::links::{Change, Link, QueueWords, check_changes};
use super::load::{Far, Load, Nodes, server, server_name};
use super::named::check_cc;
use super::network::{Context, Network};
use super::overrides::{self, Override};
use super::queue_text::QueueText;
use super::read::{self, At, Read, Section, Wrong};
use super::simple::{ABOUT_ALONE, ALONE, Simple, default_queues};
use super::sweep;
use super::switches::{self, Switch};
use super::wifi::{TestStations, Wifi, check_limits};
use super::{scenario, topology, traffic, trees};
use crate::experiment::about;
use crate::plan::{Plan, bytes_per_second};
use crate::traffic::MOST_FLOWS;
use crate::{Error, Experiment, Variant};

/// TCP header with timestamps, bytes.
const TCP_HEADER: u32 = 20 + 12;

/// Most sides of a comparison.
const MOST_VARIANTS: usize = 1000;
/// Most characters of the line about a variant.
const LONGEST_ABOUT: usize = 90;

/// Most links, flows, probes and sources of all runs together.
const MOST_PARTS: usize = 2_000_000;

/// The form in which the network is written.
enum Form<'a> {
    Simple(Box<Simple>),
    General(Vec<Link>, Vec<Switch>),
    /// The links of a network of a known shape, in which packets take any of the shortest paths.
    Topology(Vec<Link>, Vec<Switch>),
    Wifi(Section<'a>),
}

impl Form<'_> {
    /// The links and switches of a network of links.
    fn network(&self) -> Option<(&[Link], &[Switch])> {
        match self {
            Form::General(links, switches) | Form::Topology(links, switches) => Some((links, switches)),
            Form::Simple(_) | Form::Wifi(_) => None,
        }
    }

    fn is_topology(&self) -> bool {
        matches!(self, Form::Topology(..))
    }
}

/// A variant's changes to the network.
enum Changes<'a> {
    Nothing,
    Simple(Box<Simple>),
    General(Vec<Change>, Vec<switches::Change>),
    Wifi(Section<'a>),
}

/// A variant as written.
struct VariantText<'a> {
    name: Option<At<String>>,
    about: Option<String>,
    queue: Option<At<QueueText>>,
    changes: Changes<'a>,
}

pub(super) fn experiment(text: &str, folder: &Path, changes: &[Override]) -> Read<Experiment> {
    let values = overrides::documents(changes, text.len());
    let mut document = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(text.len(), |span| span.start);
        Wrong::new(at, error.message().replace('\n', ", "))
    })?;
    overrides::apply(document.get_mut(), changes, &values)?;
    let root = Section::new(0, document.get_ref(), &ROOT)?;
    let about = root.plain("about", read::text)?.unwrap_or_default();
    let form = form(&root)?;
    let far = match &form {
        Form::Simple(simple) => Far::Any(simple.hosts()),
        Form::General(links, _) | Form::Topology(links, _) => {
            let servers = hosts_of(links)?;
            let mut names: Vec<String> = Vec::new();
            for end in links.iter().flat_map(|link| &link.ends) {
                if !names.contains(end) {
                    names.push(end.clone());
                }
            }
            Far::Nodes(Nodes::read(&root, names, servers)?)
        }
        Form::Wifi(wifi) => Far::Stations(TestStations::read(wifi)?),
    };
    let load = Load::read(&root, &about, &far)?;
    let traffic = traffic::read_all(&root, folder, &load.test, &far)?;
    let hosts = load.test.hosts().max(1);
    if let (Form::Simple(_), Some(far)) = (&form, traffic.iter().find(|one| one.host >= hosts)) {
        let server = server_name(far.host);
        let what = format!("the test has no host `{server}`: a [[probe]] or a [[flow]] to it adds one");
        return Err(Wrong::new(far.at, what));
    }
    let ipv6 = root.plain("ipv6", read::switch)?.unwrap_or(false);
    if ipv6 && !load.test.versions.is_empty() {
        let what = format!("{} has both IP versions: leave ipv6 out", load.test.name);
        return Err(Wrong::new(root.at, what));
    }
    let tcp = tcp(&root, ipv6)?;
    if let (Form::Wifi(wifi), true) = (&form, tcp.tso) {
        return Err(Wrong::new(wifi.at, "over the air super-packets are cut before: leave tso out of [tcp]"));
    }
    if let (Some((_, [switch, ..])), true) = (form.network(), tcp.tso || tcp.gro.is_some()) {
        let key = if tcp.tso { "tso" } else { "gro" };
        let what = format!("a switch takes no super-packets, which are cut before: leave {key} out of [tcp]");
        return Err(Wrong::new(switch.node.at, what));
    }
    let (seeds, output) = (seeds(&root)?, root.plain("output", read::text)?);
    let mut experiment = Experiment {
        about,
        test: load.test.clone(),
        seeds,
        variants: Vec::new(),
        output: output.map(PathBuf::from),
        warnings: Vec::new(),
        reproduction: None,
    };
    rates_in_bytes(document.get_ref(), &mut experiment.warnings);
    let (queues, trees) = (queues(&root, &form)?, trees::read_all(&root)?);
    let sides = sides(&root, &form, &queues, &load.test)?;
    check_size(&sides, &load, experiment.seeds.len())?;
    for side in &sides {
        let mut network = side.network(&form, folder, &trees, load.test.idle)?;
        if let Far::Nodes(nodes) = &far {
            network.pair(&nodes.all());
        }
        let at = side.place();
        let mut variant = scenario::variant(network, &load, &traffic, tcp, ipv6, at)?;
        variant.label = side.label(&variant);
        variant.about = side.about(&variant);
        check_traffic(&variant, &traffic, &experiment.seeds)?;
        // The variants differ in their links' properties, not in what the links connect. A known shape has
        // links that this load does not need.
        if experiment.variants.is_empty() && side.wifi.is_none() && !form.is_topology() {
            experiment.warnings.extend(scenario::idle_links(&variant));
        }
        let own = scenario::own_queues(&variant);
        let news: Vec<String> = own.into_iter().filter(|why| !experiment.warnings.contains(why)).collect();
        experiment.warnings.extend(news);
        if experiment.variants.iter().any(|other| other.label == variant.label) {
            let what = format!("two are called \"{}\": give each a name of its own", variant.label);
            return Err(Wrong::new(side.at, what));
        }
        experiment.variants.push(variant);
    }
    experiment.warnings.extend(
        trees
            .iter()
            .filter(|tree| !is_used(tree, &experiment.variants))
            .map(|tree| format!("no link has the queue htb:{}", tree.name)),
    );
    if let Form::Wifi(base) = &form {
        let radios = experiment.variants.iter().flat_map(|variant| &variant.scenario.radios);
        check_limits(base, radios.map(|radio| &radio.spec))?;
    }
    let labels: Vec<&str> = experiment.variants.iter().map(|variant| variant.label.as_str()).collect();
    experiment.reproduction = {
        let around = claims::Around { text, labels: &labels, far: &far, load: load.test.load };
        claims::read(&root, &around)?
    };
    if sweep::read(&root)?.is_some() {
        experiment.warnings.push("[sweep] is left out: `goodqueue sweep` runs it".into());
    }
    if experiment.reproduction.is_some() && experiment.test.rpm.is_some() {
        let what = format!("claims are about one run of each variant, and {} has two", experiment.test.name);
        return Err(Wrong::new(root.at, what));
    }
    Ok(experiment)
}

/// Whether a link of a variant has this tree.
fn is_used(tree: &Arc<ClassTree>, variants: &[Variant]) -> bool {
    let ports =
        variants.iter().flat_map(|variant| &variant.scenario.links).filter_map(|link| link.port.as_ref());
    ports.into_iter().any(|port| matches!(&port.queue, Discipline::Classes(used) if Arc::ptr_eq(used, tree)))
}

/// Warns about every rate of the file that is in bytes per second.
fn rates_in_bytes(table: &DeTable<'_>, warnings: &mut Vec<String>) {
    let mut values: Vec<&DeValue<'_>> = table.values().map(Spanned::get_ref).collect();
    while let Some(value) = values.pop() {
        match value {
            DeValue::Table(table) => values.extend(table.values().map(Spanned::get_ref)),
            DeValue::Array(array) => values.extend(array.iter().map(Spanned::get_ref)),
            DeValue::String(text) => {
                let why = text.parse().ok().and_then(|rate| bytes_per_second(text, rate));
                warnings.extend(why.filter(|why| !warnings.contains(why)));
            }
            _ => {}
        }
    }
}

/// One side of the comparison: a variant with a queue.
struct Side {
    at: usize,
    name: Option<String>,
    /// One line about it, as written.
    about: Option<String>,
    /// Whether the name means only this queue.
    is_only: bool,
    queue: Option<QueueText>,
    /// Whether it is the line with its own buffer, with which queues are compared.
    is_alone: bool,
    links: Vec<Link>,
    switches: Vec<Switch>,
    wifi: Option<Wifi>,
}

impl Side {
    fn network(
        &self,
        form: &Form<'_>,
        folder: &Path,
        trees: &[Arc<ClassTree>],
        origin: Span,
    ) -> Read<Network> {
        match &self.wifi {
            Some(wifi) => Ok(wifi.network(origin)),
            None => {
                let context = Context { queue: self.queue.as_ref(), trees, folder, ecmp: form.is_topology() };
                Network::build(&self.links, &self.switches, &context)
            }
        }
    }

    /// Where its network begins in the file.
    fn place(&self) -> usize {
        self.wifi.as_ref().map_or_else(|| self.links.first().map_or(0, |link| link.at), |wifi| wifi.at)
    }

    /// Directed links and nodes.
    fn parts(&self) -> usize {
        2 * self.links.len() + self.wifi.as_ref().map_or(0, |wifi| 3 * wifi.stations.len())
    }

    /// Its name in reports: its name, its queue, or both if the name has several queues.
    fn label(&self, variant: &Variant) -> String {
        match (&self.name, &self.queue) {
            (Some(name), None) if self.is_alone => format!("{name}, {ALONE}"),
            (None, None) if self.is_alone => ALONE.into(),
            (Some(name), Some(queue)) if !self.is_only => format!("{name}, {queue}"),
            (Some(name), _) => name.clone(),
            (None, Some(queue)) => queue.to_string(),
            (None, None) if self.wifi.is_some() => {
                self.wifi.as_ref().map_or_else(String::new, |wifi| wifi.words.clone())
            }
            (None, None) => {
                let port = variant.scenario.links[variant.up].port.as_ref();
                port.map_or_else(|| "no queue".into(), |port| port.queue.to_string())
            }
        }
    }

    /// The line about it: from the file, or else about the queue, if the reports use the queue's name.
    fn about(&self, variant: &Variant) -> String {
        match (&self.about, &self.name, &self.queue) {
            (Some(about), ..) => about.clone(),
            (None, _, None) if self.is_alone => ABOUT_ALONE.into(),
            (None, name, Some(queue)) if name.is_none() || !self.is_only => queue.about(),
            (None, None, None) if self.wifi.is_none() => {
                let port = variant.scenario.links[variant.up].port.as_ref();
                port.map_or_else(String::new, |port| about(&port.queue))
            }
            _ => String::new(),
        }
    }
}

/// Every variant with each of its queues.
fn sides(root: &Section<'_>, form: &Form<'_>, queues: &[QueueText], test: &Test) -> Read<Vec<Side>> {
    let mut sides = Vec::new();
    for text in variant_texts(root, form)? {
        let (base, switches) = (links(form, &text.changes), switches(form, &text.changes));
        let simple = simple(form, &text.changes);
        // With any queue: the answer does not depend on which queue is compared.
        let is_compared = match form {
            Form::Wifi(_) => wifi(form, &text.changes, queues.first())?.is_some_and(|wifi| wifi.is_compared),
            Form::Simple(_) => true,
            Form::General(..) | Form::Topology(..) => is_compared(&base, &switches),
        };
        let has_buffer = simple.as_ref().is_some_and(Simple::has_buffer);
        let is_only = text.queue.is_some();
        let turns = match text.queue {
            Some(queue) if !is_compared => {
                return Err(Wrong::new(queue.at, "no link has queue = \"$queue\", which this would replace"));
            }
            Some(queue) => vec![Some(queue.value)],
            None if is_compared => {
                let alone = has_buffer.then_some(None);
                alone.into_iter().chain(queues.iter().cloned().map(Some)).collect()
            }
            None => vec![None],
        };
        let at = text.name.as_ref().map_or(0, |name| name.at);
        if sides.len() + turns.len() > MOST_VARIANTS {
            let what = format!("more than {MOST_VARIANTS} combinations of variant and queue");
            return Err(Wrong::new(at, what));
        }
        let (name, about) = (text.name.map(|name| name.value), text.about);
        for queue in turns {
            let wifi = wifi(form, &text.changes, queue.as_ref())?;
            let links = match &simple {
                Some(simple) => simple.links(test, simple.place(queue.as_ref()))?,
                None => base.clone(),
            };
            let (name, switches, is_alone) = (name.clone(), switches.clone(), has_buffer && queue.is_none());
            let about = about.clone();
            sides.push(Side { at, name, about, is_only, queue, is_alone, links, switches, wifi });
        }
    }
    Ok(sides)
}

/// Every run holds its links, flows, sources and probes: all runs together must fit into memory.
fn check_size(sides: &[Side], load: &Load, seeds: usize) -> Read<()> {
    let hosts = load.test.flows.len() + load.test.probes.len() + load.sources.len();
    let parts: usize = sides.iter().map(|side| (side.parts() + hosts).saturating_mul(seeds)).sum();
    if parts > MOST_PARTS {
        let what = format!(
            "{} runs with {parts} links, flows, probes and sources together: the maximum is {MOST_PARTS}",
            sides.len() * seeds
        );
        return Err(Wrong::new(0, what));
    }
    Ok(())
}

/// Checks that the flows of a run fit into memory.
fn check_traffic(variant: &Variant, traffic: &[traffic::Written], seeds: &[u64]) -> Read<()> {
    let is_too_much = |&&seed: &&u64| variant.traffic_flows(seed).is_none();
    match (seeds.iter().find(is_too_much), traffic.first()) {
        (Some(seed), Some(first)) => {
            let what = format!(
                "more than {MOST_FLOWS} flows could come in a run, with seed {seed}: let fewer come (load, per_second, \
                 users), or let users think for longer, or make the test shorter"
            );
            Err(Wrong::new(first.at, what))
        }
        _ => Ok(()),
    }
}

/// The experiment that the flags of `goodqueue run` describe.
///
/// # Errors
/// [`Error::Usage`] if something in it cannot be simulated.
pub(crate) fn of_plan(plan: &Plan) -> Result<Experiment, Error> {
    let said = |wrong: Wrong| Error::Usage(wrong.what);
    let test = plan.test.test()?;
    check_cc(&test)
        .map_err(|why| Error::Usage(format!("{why} (of those that this kernel has, with --live)")))?;
    let load = Load::of(test, plan.start_jitter());
    let simple = Simple::of_flags(&plan.link).map_err(said)?;
    let ipv6 = plan.link.ip_version == 6;
    let tcp = Config { ecn: plan.link.ecn, ..plain_tcp(ipv6) };
    let named = plan.queues.iter().map(|queue| queue.parse::<QueueText>().map(Some).map_err(Error::usage));
    let alone = simple.has_buffer().then_some(Ok(None));
    let mut variants = Vec::new();
    for queue in alone.into_iter().chain(named) {
        let queue = queue?;
        let links = simple.links(&load.test, simple.place(queue.as_ref())).map_err(said)?;
        let context = Context { queue: queue.as_ref(), trees: &[], folder: Path::new(""), ecmp: false };
        let network = Network::build(&links, &[], &context).map_err(said)?;
        let mut variant = scenario::variant(network, &load, &[], tcp, ipv6, 0).map_err(said)?;
        variant.label = queue.as_ref().map_or_else(|| ALONE.into(), ToString::to_string);
        variant.about = queue.as_ref().map_or_else(|| ABOUT_ALONE.into(), QueueText::about);
        variants.push(variant);
    }
    let (about, test, seeds) = (load.test.about.clone(), load.test, plan.seeds.clone());
    let warnings = plan.warnings.clone();
    Ok(Experiment { about, test, seeds, variants, output: None, warnings, reproduction: None })
}

fn form<'a>(root: &Section<'a>) -> Read<Form<'a>> {
    let alone = |name: &str| {
        let other = ["wifi", "topology", "link"].into_iter().skip_while(|other| *other != name).skip(1);
        match other.filter_map(|other| root.get(other)).next() {
            Some((key, value)) => {
                let what = format!("[{name}] is a network of its own: leave {} out", key.name);
                Err(Wrong::new(value.span().start, what))
            }
            None => Ok(()),
        }
    };
    if let Some(wifi) = root.section("wifi", &WIFI)? {
        refuse_switches(root)?;
        alone("wifi")?;
        return Ok(Form::Wifi(wifi));
    }
    if let Some(links) = topology::read(root)? {
        alone("topology")?;
        return Ok(Form::Topology(links, Switch::read_all(root)?));
    }
    let form = match root.get("link") {
        None => Form::Simple(Box::default()),
        Some((key, value)) if value.get_ref().is_table() => {
            Form::Simple(Box::new(Simple::read(&read::table(key, value, &SIMPLE)?)?))
        }
        Some(_) => return Ok(Form::General(Link::read_all(root)?, Switch::read_all(root)?)),
    };
    refuse_switches(root)?;
    Ok(form)
}

fn refuse_switches(root: &Section<'_>) -> Read<()> {
    match root.get("switch") {
        Some((_, value)) => {
            Err(Wrong::new(value.span().start, "a switch is a node of a network: give the links as [[link]]"))
        }
        None => Ok(()),
    }
}

/// Whether a queue under comparison has a place in the network.
fn is_compared(links: &[Link], switches: &[Switch]) -> bool {
    let of_links = links.iter().flat_map(|link| [&link.up, &link.down]).map(|way| way.queue.as_ref());
    let mut all = of_links.chain(switches.iter().map(Switch::queue)).flatten();
    all.any(|queue| queue.value == QueueWords::Compared)
}

/// The number of server hosts that the links name: all from the first to the last.
fn hosts_of(links: &[Link]) -> Read<usize> {
    let names = || links.iter().flat_map(|link| link.ends.iter().map(|end| (link.at, end.as_str())));
    let at = links.first().map_or(0, |link| link.at);
    if !names().any(|(_, name)| name == "client") {
        return Err(Wrong::new(at, "no link ends at `client`, the host from which the tests run"));
    }
    let mut hosts = 0;
    while names().any(|(_, name)| name == server_name(hosts)) {
        hosts += 1;
    }
    if hosts == 0 {
        return Err(Wrong::new(at, "no link ends at `server`, the host that the tests run to"));
    }
    match names().find(|&(_, name)| server(name).is_some_and(|host| host >= hosts)) {
        Some((at, name)) => {
            let missing = server_name(hosts);
            Err(Wrong::new(at, format!("`{name}` without `{missing}`: servers are numbered on from server")))
        }
        None => Ok(hosts),
    }
}

/// TCP of hosts on Ethernet with devices that take no super-packets, as in the live arm.
pub(super) fn plain_tcp(ipv6: bool) -> Config {
    let ip_header = if ipv6 { 40 } else { 20 };
    Config { mss: ETHERNET_MTU - ip_header - TCP_HEADER, tso: false, ..Config::default() }
}

fn tcp(root: &Section<'_>, ipv6: bool) -> Read<Config> {
    let mut config = plain_tcp(ipv6);
    if let Some(section) = root.section("tcp", &TCP)? {
        if let Some(text) = section.read("kernel", read::text)? {
            let kernel: Kernel =
                text.value.parse().map_err(|error: NotAKernel| Wrong::new(text.at, error.to_string()))?;
            config = Config { mss: config.mss, tso: config.tso, ..Config::of(kernel) };
        }
        config.ecn = section.plain("ecn", read::switch)?.unwrap_or(config.ecn);
        config.gro = section.plain("gro", read::span)?;
        config.tso = section.plain("tso", read::switch)?.unwrap_or(config.tso);
    }
    Ok(config)
}

fn seeds(root: &Section<'_>) -> Read<Vec<u64>> {
    let first = root.read("seed", read::count)?;
    let repetitions = root.read("repetitions", read::count)?;
    let Some(list) = root.read("seeds", read::list(read::count))? else {
        let first = first.map_or(1, |seed| seed.value);
        let count = repetitions.map_or(1, |count| count.value);
        return Ok((0..count).map(|index| first + index).collect());
    };
    if let Some(at) = first.map(|seed| seed.at).or(repetitions.map(|count| count.at)) {
        return Err(Wrong::new(at, "seeds names them all: leave seed and repetitions out"));
    }
    let most = usize::try_from(super::keys::MOST_REPETITIONS).unwrap_or(usize::MAX);
    if list.value.is_empty() || list.value.len() > most {
        let what = format!("{} seeds: there are 1 to {most}", list.value.len());
        return Err(Wrong::new(list.at, what));
    }
    let seeds: Vec<u64> = list.value.iter().map(|seed| seed.value).collect();
    match (1..seeds.len()).find(|&index| seeds[..index].contains(&seeds[index])) {
        Some(twice) => {
            let what = format!("seed {} is named twice: it would give the same run", seeds[twice]);
            Err(Wrong::new(list.value[twice].at, what))
        }
        None => Ok(seeds),
    }
}

fn queues(root: &Section<'_>, form: &Form<'_>) -> Read<Vec<QueueText>> {
    let Some(list) = root.read("queues", read::list(read::queue_text))? else {
        let queues = match form {
            Form::Simple(simple) => simple.queues(),
            _ => default_queues(false, false),
        };
        return Ok(queues.iter().filter_map(|queue| queue.parse().ok()).collect());
    };
    if list.value.len() > MOST_VARIANTS {
        let what = format!("{} queues: the maximum is {MOST_VARIANTS}", list.value.len());
        return Err(Wrong::new(list.at, what));
    }
    if list.value.is_empty() {
        return Err(Wrong::new(list.at, "no queue is named: there is nothing to compare"));
    }
    for (index, queue) in list.value.iter().enumerate() {
        if list.value[..index].iter().any(|other| other.value == queue.value) {
            return Err(Wrong::new(queue.at, format!("{} is named twice", queue.value)));
        }
    }
    Ok(list.value.into_iter().map(|queue| queue.value).collect())
}

fn variant_texts<'a>(root: &Section<'a>, form: &Form<'a>) -> Read<Vec<VariantText<'a>>> {
    let sections = root.sections("variant", &VARIANT)?;
    if sections.is_empty() {
        return Ok(vec![VariantText { name: None, about: None, queue: None, changes: Changes::Nothing }]);
    }
    sections.iter().map(|section| variant_text(section, form)).collect()
}

/// A line that fits below a picture.
fn one_line(about: At<String>) -> Read<String> {
    let (length, what) = (about.value.chars().count(), "it is one line below the pictures");
    if about.value.trim().is_empty() {
        return Err(Wrong::new(about.at, format!("about is empty: {what}, or leave it out")));
    }
    if about.value.chars().any(char::is_control) {
        return Err(Wrong::new(
            about.at,
            format!("about has a line break or another control character: {what}"),
        ));
    }
    if length > LONGEST_ABOUT {
        let what = format!("about has {length} characters: {what}, of {LONGEST_ABOUT} at most");
        return Err(Wrong::new(about.at, what));
    }
    Ok(about.value)
}

fn variant_text<'a>(section: &Section<'a>, form: &Form<'a>) -> Read<VariantText<'a>> {
    let name = section.read("name", read::text)?;
    let name = section.required("name", name)?;
    if name.value.trim().is_empty() {
        return Err(Wrong::new(name.at, "a variant without a name: it is what the reports call it"));
    }
    let about = section.read("about", read::text)?;
    let about = about.map(one_line).transpose()?;
    let wifi = section.section("wifi", &WIFI_CHANGE)?;
    if let (Some((_, value)), false) = (section.get("switch"), form.network().is_some()) {
        return Err(Wrong::new(value.span().start, "there is no [[switch]] that this would change"));
    }
    let changes = match (section.get("link"), form) {
        (Some((key, value)), Form::Wifi(_)) => {
            let what = format!("{}: the network is [wifi]; [variant.wifi] changes that", key.name);
            return Err(Wrong::new(value.span().start, what));
        }
        (None, Form::Wifi(_)) => wifi.map_or(Changes::Nothing, Changes::Wifi),
        (_, _) if wifi.is_some() => {
            let at = wifi.map_or(section.at, |wifi| wifi.at);
            return Err(Wrong::new(at, "there is no [wifi] that this would change"));
        }
        (None, Form::Simple(_)) => Changes::Nothing,
        (Some((key, value)), Form::Simple(_)) => {
            Changes::Simple(Box::new(Simple::read(&read::table(key, value, &SIMPLE)?)?))
        }
        (link, Form::General(links, switches) | Form::Topology(links, switches)) => {
            let changes = link.map_or_else(|| Ok(Vec::new()), |(key, value)| Change::read_all(key, value))?;
            let of_switches =
                section.get("switch").map(|(key, value)| switches::Change::read_all(key, value, switches));
            check_changes(&changes, links)?;
            Changes::General(changes, of_switches.transpose()?.unwrap_or_default())
        }
    };
    let queue = section.read("queue", read::queue_text)?;
    Ok(VariantText { name: Some(name), about, queue, changes })
}

/// The Wi-Fi network with the changes of a variant, and `queue` for $queue.
fn wifi(form: &Form<'_>, changes: &Changes<'_>, queue: Option<&QueueText>) -> Read<Option<Wifi>> {
    let Form::Wifi(base) = form else { return Ok(None) };
    let queue = queue.map(QueueText::plain).transpose().map_err(|why| Wrong::new(base.at, why))?;
    let over = if let Changes::Wifi(over) = changes { Some(over) } else { None };
    Wifi::read(base, over, queue).map(Some)
}

/// The one bottleneck with the changes of a variant.
fn simple(form: &Form<'_>, changes: &Changes<'_>) -> Option<Simple> {
    match (form, changes) {
        (Form::Simple(base), Changes::Simple(change)) => Some(change.over(base)),
        (Form::Simple(base), _) => Some(Simple::clone(base)),
        _ => None,
    }
}

/// The links of a network with the changes of a variant.
fn links(form: &Form<'_>, changes: &Changes<'_>) -> Vec<Link> {
    let mut links = form.network().map_or_else(Vec::new, |(links, _)| links.to_vec());
    if let Changes::General(changes, _) = changes {
        changes.iter().for_each(|change| change.apply(&mut links));
    }
    links
}

/// The switches with the changes of a variant.
fn switches(form: &Form<'_>, changes: &Changes<'_>) -> Vec<Switch> {
    let mut switches = form.network().map_or_else(Vec::new, |(_, switches)| switches.to_vec());
    if let Changes::General(_, changes) = changes {
        for change in changes {
            let its = |switch: &&mut Switch| switch.node.value == change.node.value;
            switches.iter_mut().filter(its).for_each(|switch| switch.change(change));
        }
    }
    switches
}
