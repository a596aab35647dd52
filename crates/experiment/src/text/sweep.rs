//! The table `[sweep]` of a file.

use goodqueue::{Bytes, Rate, Span};
use goodqueue_report::compare::FIGURES;
use toml::de::{DeTable, DeValue};

use super::keys::{AXIS, Key, Kind, ROOT, SWEEP};
use super::overrides::{self, quoted};
use super::read::{self, At, Read, Section, Wrong};
use crate::limit::Limit;
use crate::sweep::{Aim, Axis, Design, Levels, Quantity, Sweep, Text};

/// Keys that cannot vary: those that are run with every point, and those that are not part of a run.
const REFUSED: [&str; 9] =
    ["about", "seed", "seeds", "repetitions", "output", "reproduction", "remark", "claim", "sweep"];

/// A table `[sweep]`, before its experiment is read.
pub(super) struct Order {
    pub(super) base: Option<At<String>>,
    pub(super) sweep: Sweep,
}

/// The table in a file's text. `file` is its name in errors.
pub(super) fn order(text: &str, file: &str) -> Read<Order> {
    let document = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(text.len(), |span| span.start);
        Wrong::new(at, error.message().replace('\n', ", "))
    })?;
    let root = Section::new(0, document.get_ref(), &ROOT)?;
    let order = read(&root)?;
    let cure = "the file has no table [sweep], which says what varies; `goodqueue run` runs one experiment";
    let mut order = order.ok_or_else(|| Wrong::new(0, cure))?;
    if let (Some(_), Some(other)) = (&order.base, root.written().find(|key| key.value.name != "sweep")) {
        let what = format!("`{}` together with a base: the experiment is in that file", other.value.name);
        return Err(Wrong::new(other.at, what));
    }
    for axis in &mut order.sweep.axes {
        let at = axis.place.parse().unwrap_or(0);
        let (line, column) = read::place(text, at);
        axis.place = format!("{file}:{line}:{column}");
    }
    Ok(order)
}

/// The table in `root`. The place of each axis is a byte.
pub(super) fn read(root: &Section<'_>) -> Read<Option<Order>> {
    let Some(section) = root.section("sweep", &SWEEP)? else { return Ok(None) };
    let design = match section.plain("design", read::text)?.as_deref() {
        None | Some("grid") => Design::Grid,
        Some("random") => Design::Random,
        Some("latin") => Design::Latin,
        Some("halving") => Design::Halving,
        Some("bayes") => Design::Bayes,
        Some(other) => {
            let at = section.read("design", read::text)?.map_or(section.at, |word| word.at);
            let what =
                format!("design = \"{}\": grid, random, latin, halving or bayes", other.escape_debug());
            return Err(Wrong::new(at, what));
        }
    };
    let axes = section.sections("axis", &AXIS)?;
    if axes.is_empty() {
        return Err(Wrong::new(section.at, "[sweep] needs an axis: [[sweep.axis]] with key and values"));
    }
    let axes = axes.iter().map(|section| axis(section, design)).collect::<Read<Vec<_>>>()?;
    for (number, axis) in axes.iter().enumerate() {
        if axes[..number].iter().any(|other| other.name == axis.name) {
            let what = format!("two axes are called \"{}\": give one a `name`", axis.name);
            return Err(Wrong::new(axis.place.parse().unwrap_or(section.at), what));
        }
    }
    let points = section.read("points", read::count)?;
    match (&points, design) {
        (Some(points), Design::Grid) => {
            let what = "points: a grid has as many as its axes make; leave it out, or write another design";
            return Err(Wrong::new(points.at, what));
        }
        (None, Design::Random | Design::Latin | Design::Halving | Design::Bayes) => {
            return Err(Wrong::new(section.at, "[sweep] needs `points`, as in points = 100"));
        }
        _ => {}
    }
    let keep = section.read("keep", read::small)?;
    if let (Some(keep), false) = (&keep, design == Design::Halving) {
        return Err(Wrong::new(keep.at, "keep: only design = \"halving\" keeps a part of the points"));
    }
    let sweep = Sweep {
        design,
        axes,
        points: points.map_or(0, |points| points.value),
        seed: section.plain("seed", read::count)?.unwrap_or(1),
        aim: aim(&section)?,
        limits: limits(&section)?,
        keep: keep.map_or(3, |keep| keep.value),
        verify: section.plain("verify", read::small)?.unwrap_or(5),
        base: Text::default(),
    };
    Ok(Some(Order { base: section.read("base", read::text)?, sweep }))
}

fn aim(section: &Section<'_>) -> Read<Aim> {
    let of = |name: &str| -> Read<Option<At<&'static str>>> {
        let Some(word) = section.read(name, read::text)? else { return Ok(None) };
        let names: Vec<&str> = FIGURES.iter().map(|figure| figure.name).collect();
        match FIGURES.iter().find(|figure| figure.name == word.value) {
            Some(figure) => Ok(Some(At { at: word.at, value: figure.name })),
            None => {
                let nearest = crate::did_you_mean(&word.value, &names);
                let word_shown = word.value.escape_debug();
                let what = format!(
                    "{name} = \"{word_shown}\": no such figure; there are {}{nearest}",
                    names.join(", ")
                );
                Err(Wrong::new(word.at, what))
            }
        }
    };
    match (of("minimise")?, of("maximise")?) {
        (Some(_), Some(most)) => Err(Wrong::new(most.at, "minimise and maximise: leave one out")),
        (None, Some(most)) => Ok(Aim { figure: most.value, is_most: true }),
        (least, None) => Ok(Aim { figure: least.map_or("rise_p95", |least| least.value), is_most: false }),
    }
}

fn limits(section: &Section<'_>) -> Read<Vec<Limit>> {
    let words = section.plain("limits", read::list(read::text))?.unwrap_or_default();
    let limit = |word: At<String>| {
        let limit: Limit = word.value.parse().map_err(|why: String| {
            Wrong::new(word.at, format!("\"{}\": {why}", word.value.escape_debug()))
        })?;
        if limit.is_absolute() {
            return Ok(limit);
        }
        let what = format!("\"{limit}\": in a file a bound is a value, as in \"rise_p95 > 30ms\"");
        Err(Wrong::new(word.at, what))
    };
    words.into_iter().map(limit).collect()
}

/// A value as written: its text in TOML, without quotes, and whether it is a string.
struct Written {
    words: String,
    is_text: bool,
    is_list: bool,
}

fn written(key: &Key, kind: Kind, value: &toml::Spanned<DeValue<'_>>) -> Read<Written> {
    let plain = |words: String| Ok(Written { words, is_text: false, is_list: false });
    match value.get_ref() {
        DeValue::String(text) => Ok(Written { words: text.to_string(), is_text: true, is_list: false }),
        DeValue::Integer(number) => plain(number.to_string()),
        DeValue::Float(number) => plain(number.to_string()),
        DeValue::Boolean(switch) => plain(switch.to_string()),
        DeValue::Array(list) => {
            let texts = list.iter().map(|one| one.get_ref().as_str().map(quoted)).collect::<Option<Vec<_>>>();
            match texts {
                Some(texts) => {
                    Ok(Written { words: format!("[{}]", texts.join(", ")), is_text: false, is_list: true })
                }
                None => Err(read::wrong_type(key, kind, value)),
            }
        }
        _ => Err(read::wrong_type(key, kind, value)),
    }
}

fn axis(section: &Section<'_>, design: Design) -> Read<Axis> {
    let found = section.read("key", read::text)?;
    let key = section.required("key", found)?;
    let wrong = |at: usize, what: String| Err(Wrong::new(at, what));
    let kind = match overrides::kind(&key.value) {
        Ok(kind) => kind,
        Err(why) => return wrong(key.at, format!("key = \"{}\": {why}", key.value.escape_debug())),
    };
    let first = key.value.split('.').next().unwrap_or_default();
    if REFUSED.contains(&first) {
        let why = "it does not change what is simulated; every point runs with all seeds of the file";
        return wrong(key.at, format!("key = \"{}\": {why}", key.value.escape_debug()));
    }
    let text = section.read("text", read::text)?;
    if let Some(text) = text.as_ref().filter(|text| text.value.matches("{}").count() != 1) {
        return wrong(
            text.at,
            format!("text = \"{}\": write {{}} once, for the value", text.value.escape_debug()),
        );
    }
    let text = text.map(|text| text.value);
    let name = section.read("name", read::text)?;
    if let Some(name) = &name {
        read::check_name(name, "an axis")?;
    }
    let is_list = matches!(kind, Kind::List(_));
    let is_bytes = text.is_none() && matches!(kind, Kind::Bytes);
    let (from, to) = (section.read("from", written)?, section.read("to", written)?);
    let steps = section.read("steps", read::count)?;
    let scale = section.read("scale", read::text)?;
    let (quantity, levels) = match (section.read("values", read::list(written))?, from, to) {
        (Some(values), None, None) => {
            if let Some(at) = steps.map(|steps| steps.at).or(scale.map(|scale| scale.at)) {
                return wrong(
                    at,
                    "steps and scale are of a range: leave them out, or write from and to".into(),
                );
            }
            listed(values, is_bytes)?
        }
        (None, Some(from), Some(to)) => {
            let range = Range { steps, scale, is_bytes, design };
            range.levels((from, to), section.at)?
        }
        (Some(values), ..) => {
            return wrong(values.at, "values together with from and to: give a list or a range".into());
        }
        (None, ..) => {
            let what = format!("the axis {} needs values, or from and to", key.value.escape_debug());
            return wrong(section.at, what);
        }
    };
    Ok(Axis {
        name: name.map_or_else(|| key.value.clone(), |name| name.value),
        key: key.value,
        place: key.at.to_string(),
        quantity,
        levels,
        text,
        is_list,
    })
}

/// The axis of a list of values.
fn listed(values: At<Vec<At<Written>>>, is_bytes: bool) -> Read<(Quantity, Levels)> {
    let At { at, value: values } = values;
    if values.is_empty() {
        return Err(Wrong::new(at, "values is empty"));
    }
    for (number, one) in values.iter().enumerate() {
        if values[..number].iter().any(|other| other.value.words == one.value.words) {
            let what = format!("the value {} is given twice", one.value.words.escape_debug());
            return Err(Wrong::new(one.at, what));
        }
    }
    let found: Vec<_> = values.iter().map(|one| quantity(&one.value, is_bytes)).collect();
    let kind = found.first().copied().flatten().map(|(kind, _)| kind);
    let is_one = kind.is_some() && found.iter().all(|one| one.map(|(kind, _)| kind) == kind);
    let numbers = found.iter().map(|one| one.filter(|_| is_one).map(|(_, number)| number));
    let literal = |one: &Written| if one.is_text { quoted(&one.words) } else { one.words.clone() };
    let levels = values.iter().zip(numbers).map(|(one, number)| crate::sweep::Level {
        words: one.value.words.clone(),
        literal: literal(&one.value),
        number,
        is_list: one.value.is_list,
    });
    Ok((kind.filter(|_| is_one).unwrap_or(Quantity::Words), Levels::List(levels.collect())))
}

/// The properties of a range in addition to its ends.
struct Range {
    steps: Option<At<u64>>,
    scale: Option<At<String>>,
    is_bytes: bool,
    design: Design,
}

impl Range {
    fn levels(self, (from, to): (At<Written>, At<Written>), at: usize) -> Read<(Quantity, Levels)> {
        let is_log = match self.scale.as_ref().map(|scale| (scale.at, scale.value.as_str())) {
            None | Some((_, "lin")) => false,
            Some((_, "log")) => true,
            Some((at, other)) => {
                return Err(Wrong::new(at, format!("scale = \"{}\": lin or log", other.escape_debug())));
            }
        };
        let end = |one: &At<Written>| {
            quantity(&one.value, self.is_bytes).ok_or_else(|| {
                let what = format!(
                    "\"{}\" is not a time, rate, number of bytes, percentage or number: write values, one by one",
                    one.value.words.escape_debug()
                );
                Wrong::new(one.at, what)
            })
        };
        let ((kind, low), (other, high)) = (end(&from)?, end(&to)?);
        if kind != other {
            return Err(Wrong::new(to.at, format!("from is {}, and to is {}", kind.words(), other.words())));
        }
        if low >= high {
            return Err(Wrong::new(to.at, "to is not above from"));
        }
        if is_log && low <= 0.0 {
            return Err(Wrong::new(
                from.at,
                "from = 0 has no logarithm: begin above it, or write scale = \"lin\"",
            ));
        }
        if self.design == Design::Grid && self.steps.is_none() {
            return Err(Wrong::new(at, "a range of a grid needs `steps`, as in steps = 5"));
        }
        let is_whole =
            [&from, &to].iter().all(|end| !end.value.is_text && end.value.words.parse::<i64>().is_ok());
        let kind = if is_whole && kind == Quantity::Number { Quantity::Count } else { kind };
        let steps = self.steps.map(|steps| steps.value);
        Ok((kind, Levels::Range { from: low, to: high, steps, is_log }))
    }
}

/// The quantity of a value, and its number in that quantity's unit: ns, bit/s, bytes, percent, or none.
fn quantity(value: &Written, is_bytes: bool) -> Option<(Quantity, f64)> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    let text = value.words.as_str();
    if value.is_list {
        return None;
    }
    let bytes = || text.parse::<Bytes>().ok().map(|bytes| (Quantity::Bytes, bytes.0 as f64));
    if is_bytes {
        return bytes();
    }
    if let Some(number) = number(text) {
        return Some((Quantity::Number, number));
    }
    if let Some(percent) = text.strip_suffix('%').and_then(number) {
        return Some((Quantity::Percent, percent));
    }
    let time = text.parse::<Span>().ok().map(|span| (Quantity::Time, span.0 as f64));
    let rate = || text.parse::<Rate>().ok().map(|rate| (Quantity::Rate, rate.0 as f64));
    time.or_else(rate).or_else(bytes)
}
