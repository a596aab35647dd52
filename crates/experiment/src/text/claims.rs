//! Published figures of an experiment, to compare with ours.

pub(super) mod class;
pub(super) mod kind;

use goodqueue::Span;

use super::keys::{CLAIM, REMARK, REPRODUCTION};
use super::load::Far;
use super::read::{self, At, Read, Section, Wrong};
use crate::figure::{Figure, Unit};
use crate::hint::did_you_mean;
use class::Class;
use kind::Kind;

/// Published figures of an experiment.
#[derive(Clone, Debug)]
pub struct Reproduction {
    /// A short title of what is reproduced.
    pub title: String,
    /// The publication.
    pub source: String,
    /// What the experiment shows, and what was chosen because the source does not say.
    pub text: String,
    /// Numbers of the variants that the picture shows.
    pub show: Vec<usize>,
    /// The kind of that picture.
    pub picture: Picture,
    /// A sentence about what it shows.
    pub headline: Option<String>,
    /// The figures that the picture shows as dots.
    pub dots: Vec<Column>,
    /// A word: the variant `NAME, WORD` shares NAME's row of dots.
    pub pair: Option<String>,
    /// The distributions of delays of a further picture.
    pub delays: Option<Delays>,
    /// The claims, in the order of the file.
    pub claims: Vec<Claim>,
}

/// A picture of a reproduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picture {
    /// Goodput over round trips in time.
    Overview,
    /// Round trips of each variant by their frequency.
    Histogram,
    /// The stations' use of the air.
    Airtime,
    /// The same over time.
    Shares,
    /// The bit rates that the player of the first video selected over time.
    Video,
    /// Figures of each variant, next to the published ones.
    Dots,
}

/// A figure that the picture shows, and its stations.
#[derive(Clone, Debug)]
pub struct Column {
    /// The figure.
    pub figure: Figure,
    /// The name of the stations.
    pub station: Option<String>,
    /// Their numbers; if empty, all.
    pub stations: Vec<usize>,
    /// Numbers of other stations, each of which the picture shows by itself.
    pub each: Vec<usize>,
}

/// Distributions of the round trips of two kinds of stations.
#[derive(Clone, Debug)]
pub struct Delays {
    /// Names and numbers of the stations that have a line.
    pub line: (String, Vec<usize>),
    /// Names and numbers of the stations that have dots.
    pub dots: (String, Vec<usize>),
    /// Numbers of the variants.
    pub variants: Vec<usize>,
}

/// A published figure or relation.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Its number in the source.
    pub id: String,
    /// The claim as text.
    pub what: String,
    /// The basis of the value.
    pub kind: Kind,
    /// For a measured one, its place in the source; otherwise the formula, the parameter or the reason.
    pub basis: String,
    /// The published figure's name, if several claims are about it: they count once.
    pub same: Option<String>,
    /// How close ours must be.
    pub class: Class,
    /// The compared figure.
    pub figure: Figure,
    /// The selected stations, by number; if empty, all.
    pub stations: Vec<usize>,
    /// The selected part of the load, ns from its start; `None`: all of it.
    pub window: Option<(i64, i64)>,
    /// The comparison.
    pub held: Held,
    /// The verdict that the file states.
    pub stated: Stated,
    /// How the claim changed after a first result, with both results.
    pub history: Option<String>,
}

/// The verdict that a file states for a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stated {
    /// No verdict is stated, so it must hold.
    Holds,
    /// It is missed, with the cause as far as it is known.
    Missed(String),
    /// The interval of the seeds crosses the bound, with what is known about it.
    Undecided(String),
}

/// The comparison of a claim. Variants by number; values in the unit of the figure, ratios
/// without a unit.
#[derive(Clone, Debug, PartialEq)]
pub enum Held {
    /// A figure compared with a value.
    Value {
        /// The figure of this variant.
        variant: usize,
        /// What it is divided by.
        over: Option<Over>,
        /// The published or expected value.
        value: f64,
    },
    /// A figure compared with bounds, at least one of which is given.
    Bounds {
        /// The figure of this variant.
        variant: usize,
        /// What it is divided by.
        over: Option<Over>,
        /// The lower bound.
        least: Option<f64>,
        /// The upper bound.
        most: Option<f64>,
    },
    /// The figures of these variants, each above the previous one; at least two.
    Order(Vec<usize>),
}

/// The figure by which that of a variant is divided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Over {
    /// That of this variant.
    Variant(usize),
    /// That of a variant of another scenario, with the same seed.
    Elsewhere(Elsewhere),
}

/// A variant of another scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// The name of the scenario.
    pub scenario: String,
    /// The label of its variant.
    pub variant: String,
    /// The line of the file that names it, from 1.
    pub line: usize,
}

/// What claims refer to.
pub(super) struct Around<'a> {
    /// The file.
    pub(super) text: &'a str,
    /// Its variants.
    pub(super) labels: &'a [&'a str],
    /// Its stations or servers.
    pub(super) far: &'a Far,
    /// The length of its load.
    pub(super) load: Span,
}

/// The claims in the file.
pub(super) fn read(root: &Section<'_>, around: &Around<'_>) -> Read<Option<Reproduction>> {
    let &Around { labels, far, .. } = around;
    let claims = root.sections("claim", &CLAIM)?;
    let Some(section) = root.section("reproduction", &REPRODUCTION)? else {
        return match claims.first() {
            Some(claim) => Err(Wrong::new(claim.at, "[[claim]] without [reproduction], which says whose")),
            None => Ok(None),
        };
    };
    if claims.is_empty() {
        return Err(Wrong::new(section.at, "[reproduction] without a [[claim]]: nothing would be judged"));
    }
    let remarks = root.sections("remark", &REMARK)?.iter().map(remark).collect::<Read<Vec<_>>>()?;
    let show: Vec<usize> = match section.plain("show", read::list(read::text))? {
        None => (0..labels.len()).collect(),
        Some(names) => names.iter().map(|name| variant(name, labels)).collect::<Read<_>>()?,
    };
    let picture = picture(&section)?;
    let (headline, dots) = (section.plain("headline", read::text)?, columns(&section, far)?);
    if (picture == Picture::Dots) == dots.is_empty() {
        return Err(Wrong::new(section.at, "picture = \"dots\" and `dots` go together"));
    }
    if picture != Picture::Overview && headline.is_none() {
        let what = "`headline` is missing: a sentence that says what the picture shows (of \"overview\" the figures say it)";
        return Err(Wrong::new(section.at, what));
    }
    let pair = pair(&section, &show, labels, picture)?;
    Ok(Some(Reproduction {
        title: needed(&section, "title")?.value,
        source: needed(&section, "source")?.value,
        text: needed(&section, "text")?.value,
        show,
        picture,
        headline,
        dots,
        pair,
        delays: delays(&section, labels, far)?,
        claims: claims.iter().map(|one| claim(one, around, &remarks)).collect::<Read<_>>()?,
    }))
}

/// The requested picture.
fn picture(section: &Section<'_>) -> Read<Picture> {
    let Some(word) = section.read("picture", read::text)? else { return Ok(Picture::Overview) };
    match word.value.as_str() {
        "overview" => Ok(Picture::Overview),
        "histogram" => Ok(Picture::Histogram),
        "airtime" => Ok(Picture::Airtime),
        "shares" => Ok(Picture::Shares),
        "video" => Ok(Picture::Video),
        "dots" => Ok(Picture::Dots),
        other => {
            let what = format!(
                "picture = \"{}\": overview, histogram, airtime, shares, video or dots",
                other.escape_debug()
            );
            Err(Wrong::new(word.at, what))
        }
    }
}

/// The word by which two variants share a row of dots; at least one pair is shown.
fn pair(section: &Section<'_>, show: &[usize], labels: &[&str], picture: Picture) -> Read<Option<String>> {
    let Some(At { value, at }) = section.read("pair", read::text)? else { return Ok(None) };
    let word = value.escape_debug();
    if picture != Picture::Dots {
        return Err(Wrong::new(at, format!("pair = \"{word}\" is for picture = \"dots\"")));
    }
    let is_shown = |name: &str| show.iter().any(|&one| labels[one] == name);
    if !show.iter().any(|&one| is_shown(&format!("{}, {value}", labels[one]))) {
        let what = format!("pair = \"{word}\": no two variants are shown as NAME and \"NAME, {word}\"");
        return Err(Wrong::new(at, what));
    }
    Ok(Some(value))
}

/// The stations whose delays a further picture shows, and the variants.
fn delays(section: &Section<'_>, labels: &[&str], far: &Far) -> Read<Option<Delays>> {
    let names = section.read("delays", read::list(read::text))?;
    let of = section.read("delays_of", read::list(read::text))?;
    let (names, of) = match (names, of) {
        (None, None) => return Ok(None),
        (Some(names), Some(of)) => (names, of),
        (Some(At { at, .. }), None) | (None, Some(At { at, .. })) => {
            return Err(Wrong::new(at, "`delays` and `delays_of` go together: stations, and variants"));
        }
    };
    let [line, dots] = names.value.as_slice() else {
        return Err(Wrong::new(names.at, "delays = [\"LINE\", \"DOTS\"]: two names of stations"));
    };
    let stations = |name: &At<String>| -> Read<(String, Vec<usize>)> {
        let Far::Stations(stations) = far else {
            return Err(Wrong::new(name.at, "there are no stations without [wifi]"));
        };
        Ok((name.value.clone(), stations.find(name)?))
    };
    let variants = of.value.iter().map(|name| variant(name, labels)).collect::<Read<_>>()?;
    Ok(Some(Delays { line: stations(line)?, dots: stations(dots)?, variants }))
}

/// The figures that the picture shows as dots: `FIGURE`, `FIGURE STATION` or `FIGURE STATION, each STATION`.
fn columns(section: &Section<'_>, far: &Far) -> Read<Vec<Column>> {
    let names = section.plain("dots", read::list(read::text))?.unwrap_or_default();
    let column = |name: &At<String>| {
        let (figure, of) = name.value.split_once(' ').unwrap_or((&name.value, ""));
        let (station, each) = of.split_once(", each ").unwrap_or((of, ""));
        let figure = figure.parse::<Figure>().map_err(|why| Wrong::new(name.at, why))?;
        let numbers = |station: &str| match station {
            "" => Ok(Vec::new()),
            station => of_stations(&At { value: station.to_owned(), at: name.at }, figure, far),
        };
        let (stations, each) = (numbers(station)?, numbers(each)?);
        Ok(Column { figure, station: (!station.is_empty()).then(|| station.to_owned()), stations, each })
    };
    names.iter().map(column).collect()
}

fn needed(section: &Section<'_>, name: &str) -> Read<At<String>> {
    let found = section.read(name, read::text)?;
    section.required(name, found)
}

/// The name and the text of a remark.
fn remark(section: &Section<'_>) -> Read<(String, String)> {
    let name = needed(section, "name")?;
    read::check_name(&name, "a remark")?;
    Ok((name.value, needed(section, "text")?.value))
}

/// A text, or that of the remark with this name.
fn said(section: &Section<'_>, key: &str, remarks: &[(String, String)]) -> Read<Option<String>> {
    let Some(said) = section.read(key, read::text)? else { return Ok(None) };
    match remarks.iter().find(|(name, _)| *name == said.value) {
        Some((_, text)) => Ok(Some(text.clone())),
        None if remarks.is_empty() || said.value.contains(' ') => Ok(Some(said.value)),
        None => {
            let what = format!("no [[remark]] is called `{}`", said.value.escape_debug());
            Err(Wrong::new(said.at, what))
        }
    }
}

fn claim(section: &Section<'_>, around: &Around<'_>, remarks: &[(String, String)]) -> Read<Claim> {
    let class = section.plain("class", read::words::<Class>)?;
    let figure = section.plain("figure", read::words::<Figure>)?;
    let kind = section.plain("kind", read::words::<Kind>)?;
    let class = section.required("class", class)?;
    let figure = section.required("figure", figure)?;
    let kind = section.required("kind", kind)?;
    Ok(Claim {
        id: needed(section, "id")?.value,
        what: needed(section, "what")?.value,
        kind,
        basis: needed(section, "basis")?.value,
        same: section.plain("same", read::text)?,
        class,
        figure,
        stations: stations(section, figure, around.far)?,
        window: window(section, figure, around.load)?,
        held: held(section, kind, class, figure, around)?,
        stated: stated(section, remarks)?,
        history: said(section, "history", remarks)?,
    })
}

/// The verdict that the file states.
fn stated(section: &Section<'_>, remarks: &[(String, String)]) -> Read<Stated> {
    match (said(section, "missed", remarks)?, said(section, "undecided", remarks)?) {
        (Some(_), Some(_)) => Err(Wrong::new(section.at, "missed, or undecided: not both")),
        (Some(cause), None) => Ok(Stated::Missed(cause)),
        (None, Some(cause)) => Ok(Stated::Undecided(cause)),
        (None, None) => Ok(Stated::Holds),
    }
}

/// The stations that a claim names.
fn stations(section: &Section<'_>, figure: Figure, far: &Far) -> Read<Vec<usize>> {
    match section.read("station", read::text)? {
        Some(name) => of_stations(&name, figure, far),
        None => Ok(Vec::new()),
    }
}

fn of_stations(name: &At<String>, figure: Figure, far: &Far) -> Read<Vec<usize>> {
    match far {
        Far::Stations(test_stations) if figure.is_of_stations => test_stations.find(name),
        Far::Stations(_) => Err(Wrong::new(name.at, format!("{} is not of stations", figure.name))),
        _ => Err(Wrong::new(name.at, "there are no stations without [wifi]")),
    }
}

/// The part of the load that a claim names.
fn window(section: &Section<'_>, figure: Figure, load: Span) -> Read<Option<(i64, i64)>> {
    let (from, to) = (section.read("from", read::span)?, section.read("to", read::span)?);
    let Some(at) = from.as_ref().or(to.as_ref()).map(|end| end.at) else {
        if figure.needs_window() {
            return Err(Wrong::new(section.at, format!("{} needs `from`: what is waited for", figure.name)));
        }
        return Ok(None);
    };
    if !figure.takes_window() {
        return Err(Wrong::new(at, format!("{} is of the whole load: it takes no window", figure.name)));
    }
    let (from, to) = (from.map_or(Span::ZERO, |end| end.value), to.map_or(load, |end| end.value));
    if from >= to || to > load {
        return Err(Wrong::new(at, format!("from {from} to {to}: the load is from 0s to {load}")));
    }
    let signed = |span: Span| i64::try_from(span.0).unwrap_or(i64::MAX);
    Ok(Some((signed(from), signed(to))))
}

/// The figure that the claim's is divided by.
fn over(section: &Section<'_>, around: &Around<'_>) -> Read<Option<Over>> {
    let (over, scenario) = (section.read("over", read::text)?, section.read("over_in", read::text)?);
    let Some(scenario) = scenario else {
        let of = |name: At<String>| variant(&name, around.labels).map(Over::Variant);
        return over.map(of).transpose();
    };
    let word = scenario.value.escape_debug();
    let Some(over) = over else {
        let what = format!(
            "over_in = \"{word}\" without `over`: name that scenario's variant, as in over = \"NAME\""
        );
        return Err(Wrong::new(scenario.at, what));
    };
    for key in ["station", "from", "to"] {
        if let Some((_, value)) = section.get(key) {
            let what =
                format!("`{key}` does not go with `over_in`, whose scenario has its own: leave one out");
            return Err(Wrong::new(value.span().start, what));
        }
    }
    let (line, _) = read::place(around.text, scenario.at);
    Ok(Some(Over::Elsewhere(Elsewhere { scenario: scenario.value, variant: over.value, line })))
}

fn held(section: &Section<'_>, kind: Kind, class: Class, figure: Figure, around: &Around<'_>) -> Read<Held> {
    let labels = around.labels;
    let one = section.read("variant", read::text)?.map(|name| variant(&name, labels)).transpose()?;
    let over = over(section, around)?;
    let unit = if over.is_some() { Unit::Number } else { figure.unit };
    let value = |key: &str| -> Read<Option<f64>> {
        let Some(text) = section.read(key, read::text)? else { return Ok(None) };
        let wrong = |why| Wrong::new(text.at, format!("{key} = \"{}\": {why}", text.value.escape_debug()));
        unit.parse(&text.value).map(Some).map_err(wrong)
    };
    let (published, expected) = (value("published")?, value("expected")?);
    let (least, most) = (value("at_least")?, value("at_most")?);
    let order = section.plain("order", read::list(read::text))?;
    let refuse = |what: &str| Err(Wrong::new(section.at, what));
    match (kind == Kind::Measured, published, expected) {
        (true, _, Some(_)) => {
            return refuse("a measured claim has a `published` value, not an `expected` one");
        }
        (false, Some(_), _) => {
            return refuse("only a measured claim has a `published` value: this kind has an `expected` one");
        }
        _ => {}
    }
    let value = published.or(expected);
    if value.is_some() && over.is_none() && class == Class::Tight && figure.has_base {
        let what =
            format!("class TIGHT judges added delay, and {} has the base in it: use a rise", figure.name);
        return refuse(&what);
    }
    match (one, order, value) {
        (None, Some(names), None) if over.is_none() && least.is_none() && most.is_none() => {
            if names.len() < 2 {
                return refuse("order: it takes two variants at least");
            }
            Ok(Held::Order(names.iter().map(|name| variant(name, labels)).collect::<Read<_>>()?))
        }
        (_, Some(_), _) => refuse("order goes alone: it names its variants, and nothing was published"),
        (None, None, _) => refuse("it needs `variant`, or `order`"),
        (Some(_), None, Some(_)) if least.is_some() || most.is_some() => {
            refuse("a value, or at_least and at_most: not both")
        }
        (Some(_), None, Some(_)) if class == Class::Order => {
            refuse("class ORDER judges no value: use order, at_least or at_most")
        }
        (Some(variant), None, Some(value)) => Ok(Held::Value { variant, over, value }),
        (Some(_), None, None) if least.is_none() && most.is_none() => {
            refuse("it needs `published`, `expected`, `at_least` or `at_most`")
        }
        (Some(variant), None, None) => Ok(Held::Bounds { variant, over, least, most }),
    }
}

fn variant(name: &At<String>, labels: &[&str]) -> Read<usize> {
    labels.iter().position(|label| *label == name.value).ok_or_else(|| {
        let nearest = did_you_mean(&name.value, labels);
        let word = name.value.escape_debug();
        Wrong::new(
            name.at,
            format!("no variant is called `{word}`; there are {}{nearest}", labels.join("; ")),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::keys::Kind as Key;
    use super::*;

    #[test]
    fn the_catalogue_names_every_class_and_kind() {
        let words = |name| match CLAIM.key(name).map(|key| key.kind) {
            Some(Key::OneOf(kinds)) => kinds
                .iter()
                .map(|kind| if let Key::Word(word) = kind { *word } else { panic!("{kind:?}") })
                .collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        };
        assert_eq!(words("class"), Class::ALL.map(Class::name));
        assert_eq!(words("kind"), Kind::ALL.map(Kind::name));
    }
}
