//! Links as written in the file: which keys are given and which are not, so that a variant can change some of
//! them.

use goodqueue::{ETHERNET_FRAME, Rate, Span};
use goodqueue_sim::{Loss, Pause, Shaper, ShaperKind};
use toml::Spanned;
use toml::de::DeValue;

use super::keys::{BURSTS, DIRECTION, Key, Kind, LINK, LINK_CHANGE, PAUSE, SHAPER};
use super::queue_text::QueueText;
use super::read::{self, At, Read, Section, Wrong, check_name, small};
use super::share::RateWords;
use super::trees;

/// The word in a link's `queue` that means the queue under comparison.
pub(super) const COMPARED: &str = "$queue";

/// Most links of a network.
const MOST_LINKS: usize = 4096;

/// The line of a direction.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum LineWords {
    Unlimited,
    Rate(Rate),
    Schedule { steps: Vec<(Span, Rate)>, period: Option<Span> },
    Trace(String),
}

/// The queue of a direction.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // There is only one per link, so it needs no box.
pub(super) enum QueueWords {
    Compared,
    Spec(QueueText),
    /// A tree of classes, by name.
    Tree(String),
}

/// A shaper whose rate may be a share of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ShaperWords {
    pub(super) kind: ShaperKind,
    pub(super) rate: RateWords,
    pub(super) burst: u32,
}

impl ShaperWords {
    /// The shaper. `line`: the line of which shares are taken; `None`: not yet known.
    pub(super) fn at(self, line: Option<Rate>) -> Shaper {
        Shaper { kind: self.kind, rate: self.rate.at(line), burst: self.burst }
    }
}

/// One direction, as far as it is given.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct OneWay {
    pub(super) line: Option<At<LineWords>>,
    pub(super) queue: Option<At<QueueWords>>,
    pub(super) ring: Option<At<u32>>,
    pub(super) bql: Option<At<bool>>,
    pub(super) coalesce: Option<At<Span>>,
    pub(super) lanes: Option<At<u32>>,
    pub(super) delay: Option<Span>,
    pub(super) jitter: Option<Span>,
    pub(super) loss: Option<Loss>,
    pub(super) shaper: Option<At<Option<ShaperWords>>>,
    pub(super) pause: Option<At<Option<Pause>>>,
}

/// A link.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Link {
    pub(super) at: usize,
    pub(super) name: String,
    pub(super) ends: [String; 2],
    pub(super) up: OneWay,
    pub(super) down: OneWay,
}

/// A variant's changes to a link.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Change {
    pub(super) link: At<String>,
    up: OneWay,
    down: OneWay,
}

impl OneWay {
    pub(super) fn read(section: &Section<'_>) -> Read<OneWay> {
        Ok(OneWay {
            line: line(section)?,
            queue: section.read("queue", queue)?,
            ring: section.read("ring", small)?,
            bql: section.read("bql", read::switch)?,
            coalesce: section.read("coalesce", read::span)?,
            lanes: section.read("lanes", small)?,
            delay: section.plain("delay", read::span)?,
            jitter: section.plain("jitter", read::span)?,
            loss: section.plain("loss", loss)?,
            shaper: section.read("shaper", shaper)?,
            pause: section.read("pause", pause)?,
        })
    }

    /// The values given here, and `base` for the rest.
    pub(super) fn over(&self, base: &OneWay) -> OneWay {
        OneWay {
            line: self.line.clone().or_else(|| base.line.clone()),
            queue: self.queue.clone().or_else(|| base.queue.clone()),
            ring: self.ring.or(base.ring),
            bql: self.bql.or(base.bql),
            coalesce: self.coalesce.or(base.coalesce),
            lanes: self.lanes.or(base.lanes),
            delay: self.delay.or(base.delay),
            jitter: self.jitter.or(base.jitter),
            loss: self.loss.or(base.loss),
            shaper: self.shaper.or(base.shaper),
            pause: self.pause.or(base.pause),
        }
    }

    /// Both directions of a table that has the keys of a direction, and `up` and `down`.
    pub(super) fn both(section: &Section<'_>) -> Read<(OneWay, OneWay)> {
        let both = OneWay::read(section)?;
        let way = |name| match section.section(name, &DIRECTION)? {
            Some(own) => Ok(OneWay::read(&own)?.over(&both)),
            None => Ok(both.clone()),
        };
        Ok((way("up")?, way("down")?))
    }

    /// The first byte of a share of a line, with `compared` as the queue under comparison.
    pub(super) fn share(&self, compared: Option<&QueueText>) -> Option<usize> {
        let shaper = self.shaper.filter(|found| found.value.is_some_and(|shaper| shaper.rate.is_share()));
        let queue = self.queue.as_ref().filter(|found| match &found.value {
            QueueWords::Compared => compared.is_some_and(QueueText::has_share),
            QueueWords::Spec(queue) => queue.has_share(),
            QueueWords::Tree(_) => false,
        });
        shaper.map(|found| found.at).or(queue.map(|found| found.at))
    }

    /// The first byte of a value that requires a line.
    pub(super) fn of_a_line(&self) -> Option<(usize, &'static str)> {
        let queue = self.queue.as_ref().map(|found| (found.at, "queue"));
        queue.into_iter().chain(self.of_a_device()).min()
    }

    fn of_a_device(&self) -> impl Iterator<Item = (usize, &'static str)> {
        let given = [
            self.ring.map(|found| (found.at, "ring")),
            self.bql.map(|found| (found.at, "bql")),
            self.coalesce.map(|found| (found.at, "coalesce")),
            self.lanes.map(|found| (found.at, "lanes")),
            self.pause.map(|found| (found.at, "pause")),
        ];
        given.into_iter().flatten()
    }

    /// The first byte of a value that is between line and queue, or above them.
    pub(super) fn beside_a_queue(&self) -> Option<(usize, &'static str)> {
        let shaper = self.shaper.map(|found| (found.at, "shaper"));
        shaper.into_iter().chain(self.of_a_device()).min()
    }
}

impl Link {
    /// The links of a network.
    pub(super) fn read_all(root: &Section<'_>) -> Read<Vec<Link>> {
        let mut links: Vec<Link> = Vec::new();
        for section in root.sections("link", &LINK)? {
            if links.len() == MOST_LINKS {
                return Err(Wrong::new(section.at, format!("more than {MOST_LINKS} links")));
            }
            let link = Link::read(&section)?;
            if links.iter().any(|other| other.name == link.name) {
                let what = format!("a second link called `{}`; give one of them another name", link.name);
                return Err(Wrong::new(link.at, what));
            }
            if let Some(twin) = links.iter().find(|other| other.joins(&link)) {
                let [a, b] = &link.ends;
                let what = format!("`{}` joins {a} and {b} already, and packets take one way", twin.name);
                return Err(Wrong::new(link.at, what));
            }
            links.push(link);
        }
        Ok(links)
    }

    fn read(section: &Section<'_>) -> Read<Link> {
        let between = section.read("between", read::list(read::text))?;
        let between = section.required("between", between)?;
        let [first, second] = between.value.as_slice() else {
            let what = format!("between names two ends, not {}", between.value.len());
            return Err(Wrong::new(between.at, what));
        };
        for end in [first, second] {
            check_name(end, "an end of a link")?;
        }
        if first.value == second.value {
            let what = format!("a link from {} to itself", first.value);
            return Err(Wrong::new(second.at, what));
        }
        let name = section.read("name", read::text)?;
        if let Some(name) = &name {
            check_name(name, "a link")?;
        }
        let (up, down) = OneWay::both(section)?;
        Ok(Link {
            at: section.at,
            name: name.map_or_else(|| format!("{}-{}", first.value, second.value), |name| name.value),
            ends: [first.value.clone(), second.value.clone()],
            up,
            down,
        })
    }

    fn joins(&self, other: &Link) -> bool {
        let [a, b] = &other.ends;
        self.ends == other.ends || (self.ends[0] == *b && self.ends[1] == *a)
    }
}

impl Change {
    /// The changes of a network's links.
    pub(super) fn read_all(key: &Key, value: &Spanned<DeValue<'_>>) -> Read<Vec<Change>> {
        let named = Section::named(key, value, &LINK_CHANGE)?;
        let changes = named.into_iter().map(|(link, section)| {
            let (up, down) = OneWay::both(&section)?;
            Ok(Change { link, up, down })
        });
        changes.collect()
    }

    /// Changes the link of its name.
    pub(super) fn apply(&self, links: &mut [Link]) {
        for link in links.iter_mut().filter(|link| link.name == self.link.value) {
            link.up = self.up.over(&link.up);
            link.down = self.down.over(&link.down);
        }
    }
}

/// Checks that there is a link with each name.
pub(super) fn check_changes(changes: &[Change], links: &[Link]) -> Read<()> {
    /// Most names that a message lists.
    const MOST_NAMES: usize = 50;
    let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
    let Some(change) = changes.iter().find(|change| !names.contains(&change.link.value.as_str())) else {
        return Ok(());
    };
    let word = &change.link.value;
    let nearest = crate::hint::did_you_mean(word, &names);
    let more = if names.len() > MOST_NAMES { ", ..." } else { "" };
    let listed = names[..names.len().min(MOST_NAMES)].join(", ");
    let what = format!("no link is called `{word}`; there are {listed}{more}{nearest}");
    Err(Wrong::new(change.link.at, what))
}

fn line(section: &Section<'_>) -> Read<Option<At<LineWords>>> {
    let rate = section.read("rate", rate_or_unlimited)?;
    let trace = section.read("trace", read::text)?;
    let trace = trace.map(|found| At { at: found.at, value: LineWords::Trace(found.value) });
    let period = section.read("period", read::span)?;
    let steps = section.read("schedule", steps)?;
    if let (Some(period), None) = (period, &steps) {
        return Err(Wrong::new(period.at, "period needs a schedule, which begins again after it"));
    }
    let period = period.map(|found| found.value);
    let schedule =
        steps.map(|found| At { at: found.at, value: LineWords::Schedule { steps: found.value, period } });
    let mut given: Vec<At<LineWords>> = [rate, trace, schedule].into_iter().flatten().collect();
    given.sort_by_key(|found| found.at);
    match given.get(1) {
        Some(second) => {
            Err(Wrong::new(second.at, "a line has one of rate, schedule and trace; leave the others out"))
        }
        None => Ok(given.pop()),
    }
}

fn rate_or_unlimited(key: &Key, _: Kind, value: &Spanned<DeValue<'_>>) -> Read<LineWords> {
    match value.get_ref().as_str() {
        Some("unlimited") => Ok(LineWords::Unlimited),
        _ => read::rate(key, Kind::Rate, value).map(LineWords::Rate),
    }
}

fn steps<'a>(key: &Key, kind: Kind, value: &'a Spanned<DeValue<'a>>) -> Read<Vec<(Span, Rate)>> {
    let step = |key: &Key, kind: Kind, value: &'a Spanned<DeValue<'a>>| match (kind, value.get_ref()) {
        (Kind::Pair([first, second]), DeValue::Array(pair)) if pair.len() == 2 => {
            let rate = match pair[1].get_ref().as_str().map(str::parse) {
                // A line may stop for a while.
                Some(Ok(Rate(0))) => Rate(0),
                _ => read::rate(key, *second, &pair[1])?,
            };
            Ok((read::span(key, *first, &pair[0])?, rate))
        }
        _ => Err(read::wrong_type(key, kind, value)),
    };
    Ok(read::list(step)(key, kind, value)?.into_iter().map(|found| found.value).collect())
}

pub(super) fn queue(key: &Key, kind: Kind, value: &Spanned<DeValue<'_>>) -> Read<QueueWords> {
    match value.get_ref().as_str() {
        Some(COMPARED) => Ok(QueueWords::Compared),
        Some(text) if text.starts_with(trees::PREFIX) => Ok(QueueWords::Tree(text.into())),
        _ => read::queue_text(key, kind, value).map(QueueWords::Spec),
    }
}

fn loss<'a>(key: &Key, _: Kind, value: &'a Spanned<DeValue<'a>>) -> Read<Loss> {
    if !value.get_ref().is_table() {
        let share = read::share(key, Kind::Share, value)?;
        return Ok(if share > 0.0 { Loss::Random(share) } else { Loss::None });
    }
    let section = read::table(key, value, &BURSTS)?;
    let share = |name| section.plain(name, read::share);
    Ok(Loss::GilbertElliott {
        to_bad: section.required("to_bad", share("to_bad")?)?,
        to_good: section.required("to_good", share("to_good")?)?,
        good: share("good")?.unwrap_or(0.0),
        bad: share("bad")?.unwrap_or(1.0),
    })
}

fn shaper<'a>(key: &Key, _: Kind, value: &'a Spanned<DeValue<'a>>) -> Read<Option<ShaperWords>> {
    if value.get_ref().as_str() == Some("none") {
        return Ok(None);
    }
    let section = read::table(key, value, &SHAPER)?;
    let rate = section.plain("rate", read::rate_or_share)?;
    let burst = section.read("burst", read::bytes)?;
    let kind = section.plain("kind", shaper_kind)?.unwrap_or(ShaperKind::Htb);
    let depth = burst.map_or(ETHERNET_FRAME, |burst| u32::try_from(burst.value).unwrap_or(0));
    // A frame larger than the bucket of a tbf never passes it.
    let least = if kind == ShaperKind::Tbf { ETHERNET_FRAME } else { 1 };
    if let Some(burst) = burst.filter(|_| depth < least) {
        let what = format!("burst of {} bytes: must be {least} to {}", burst.value, u32::MAX);
        return Err(Wrong::new(burst.at, what));
    }
    Ok(Some(ShaperWords { kind, rate: section.required("rate", rate)?, burst: depth }))
}

fn shaper_kind(key: &Key, kind: Kind, value: &Spanned<DeValue<'_>>) -> Read<ShaperKind> {
    match read::text(key, kind, value)?.as_str() {
        "htb" => Ok(ShaperKind::Htb),
        "tbf" => Ok(ShaperKind::Tbf),
        _ => Err(read::refuse(key, value, "use htb or tbf")),
    }
}

fn pause<'a>(key: &Key, _: Kind, value: &'a Spanned<DeValue<'a>>) -> Read<Option<Pause>> {
    if value.get_ref().as_str() == Some("none") {
        return Ok(None);
    }
    let section = read::table(key, value, &PAUSE)?;
    let high = section.plain("high", read::bytes)?;
    let low = section.plain("low", read::bytes)?;
    let pause = Pause { high: section.required("high", high)?, low: section.required("low", low)? };
    if pause.low >= pause.high {
        let what = format!("pause at {} and go on at {} bytes: low must be less", pause.high, pause.low);
        return Err(Wrong::new(value.span().start, what));
    }
    Ok(Some(pause))
}
