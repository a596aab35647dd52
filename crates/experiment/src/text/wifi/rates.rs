//! Rates of stations, as written in the file.

use goodqueue::Span;
use goodqueue_sim::wifi::{Errors, Format, Guard, PhyRate, RateSpec};
use toml::Spanned;
use toml::de::DeValue;

use super::super::read::{self, At, Read, Wrong};
use super::chain::{Chain, word};
use crate::text::keys::{Key, Kind};

/// The rate to a station, also as text.
pub(super) fn down(chain: &Chain<'_>) -> Read<(RateSpec, String)> {
    let Some(section) = chain.first_with(&["schedule", "rate", "mcs"]) else {
        let what = "no rate: give the station, or [wifi] for all, `mcs`, `rate` or `schedule`";
        return Err(Wrong::new(chain.at(), what));
    };
    if section.knows("schedule")
        && let Some(steps) = section.read("schedule", schedule)?
    {
        return in_time(&steps.value);
    }
    if let Some(text) = section.read("rate", read::text)? {
        if let Some((_, mcs)) = section.get("mcs") {
            return Err(Wrong::new(mcs.span().start, "`rate` says it already: leave mcs out"));
        }
        return one(chain, &text);
    }
    match section.read("mcs", read::count)? {
        Some(mcs) => of_mcs(chain, mcs).map(|rate| (RateSpec::Fixed(rate), rate.to_string())),
        None => Err(Wrong::new(section.at, "no rate")),
    }
}

/// A written rate, or `auto`.
pub(super) fn one(chain: &Chain<'_>, text: &At<String>) -> Read<(RateSpec, String)> {
    if text.value == "auto" {
        let rates = ladder(chain)?;
        let words = match (rates.first(), rates.last()) {
            (Some(first), Some(last)) => format!("{first} to {last} by trial"),
            _ => return Err(Wrong::new(text.at, "no rate fits what is said of standard, width and streams")),
        };
        return Ok((RateSpec::Minstrel(rates), words));
    }
    let rate = parse(text)?;
    Ok((RateSpec::Fixed(rate), rate.to_string()))
}

fn parse(text: &At<String>) -> Read<PhyRate> {
    text.value.parse().map_err(|error| {
        Wrong::new(
            text.at,
            format!("{error}; a rate is mcs15, ht40-mcs7-lgi, vht80-2ss-mcs9-sgi, ofdm54, dsss1"),
        )
    })
}

/// Rates with the times from which they hold.
fn in_time(steps: &[(At<Span>, At<String>)]) -> Read<(RateSpec, String)> {
    let mut rates: Vec<(Span, PhyRate)> = Vec::new();
    let mut words = Vec::new();
    for (from, text) in steps {
        let is_late = rates.last().is_none_or(|last| last.0 < from.value);
        let is_first = rates.is_empty();
        if is_first != (from.value == Span::ZERO) || !is_late {
            return Err(Wrong::new(from.at, "schedule: the first from 0s, each later than the one before"));
        }
        let rate = parse(text)?;
        words.push(format!("{rate} from {}", from.value));
        rates.push((from.value, rate));
    }
    Ok((RateSpec::Schedule(rates), words.join(", ")))
}

type Steps = Vec<(At<Span>, At<String>)>;

fn schedule<'a>(key: &Key, kind: Kind, value: &'a Spanned<DeValue<'a>>) -> Read<Steps> {
    let wrong = || read::wrong_type(key, kind, value);
    let (DeValue::Array(list), Kind::List(Kind::Pair([time, rate]))) = (value.get_ref(), kind) else {
        return Err(wrong());
    };
    if list.is_empty() {
        return Err(wrong());
    }
    let step = |step: &'a Spanned<DeValue<'a>>| match step.get_ref() {
        DeValue::Array(pair) if pair.len() == 2 => Ok((
            At { at: pair[0].span().start, value: read::span(key, *time, &pair[0])? },
            At { at: pair[1].span().start, value: read::text(key, *rate, &pair[1])? },
        )),
        _ => Err(wrong()),
    };
    list.iter().map(step).collect()
}

/// The properties that complete an `mcs` to a rate.
struct Shape {
    standard: String,
    width: u8,
    guard: Guard,
    guard_words: String,
    nss: Option<u8>,
}

fn shape(chain: &Chain<'_>) -> Read<Shape> {
    let small = |number: u64| u8::try_from(number).unwrap_or(u8::MAX);
    let standard = match chain.plain("standard", word)?.as_deref() {
        None | Some("n") => "ht".into(),
        Some("ac") => "vht".into(),
        Some("ax") => "he".into(),
        Some(name) => name.to_owned(),
    };
    let shortest = if standard == "he" { "0.8us" } else { "0.4us" };
    let guard_words = chain.plain("gi", word)?.unwrap_or_else(|| shortest.into());
    let guard = match guard_words.as_str() {
        "0.4us" => Guard::Short,
        "0.8us" => Guard::Normal,
        "1.6us" => Guard::Double,
        _ => Guard::Quadruple,
    };
    let width = chain.plain("width", read::count)?.map_or(20, small);
    Ok(Shape { standard, width, guard, guard_words, nss: chain.plain("nss", read::count)?.map(small) })
}

impl Shape {
    /// The rate of an MCS; `None` if there is none.
    fn rate(&self, mcs: u8) -> Option<PhyRate> {
        match self.standard.as_str() {
            "ht" => PhyRate::ht(mcs, self.width, self.guard)
                .filter(|rate| self.nss.is_none_or(|nss| nss == rate.nss())),
            "vht" => PhyRate::vht(mcs, self.nss.unwrap_or(1), self.width, self.guard),
            "he" => PhyRate::he(mcs, self.nss.unwrap_or(1), self.width, self.guard),
            _ => None,
        }
    }
}

fn of_mcs(chain: &Chain<'_>, mcs: At<u64>) -> Read<PhyRate> {
    let shape = shape(chain)?;
    let rate = u8::try_from(mcs.value).ok().and_then(|mcs| shape.rate(mcs));
    rate.ok_or_else(|| {
        let Shape { standard, width, guard_words, nss, .. } = &shape;
        let what = match standard.as_str() {
            "ofdm" | "dsss" => format!("mcs = {}: {standard} has rates, as in rate = \"ofdm54\"", mcs.value),
            _ => format!(
                "mcs = {}: 802.11 has no such rate of {standard} with {width} MHz, {} and a guard interval of {guard_words}",
                mcs.value,
                nss.map_or_else(|| "any number of streams".into(), |nss| format!("{nss} stream(s)")),
            ),
        };
        Wrong::new(mcs.at, what)
    })
}

/// All rates of the standard with up to the number of streams, slowest first.
fn ladder(chain: &Chain<'_>) -> Read<Vec<PhyRate>> {
    let mut shape = shape(chain)?;
    let streams = shape.nss.unwrap_or(1);
    let mut rates: Vec<PhyRate> = match shape.standard.as_str() {
        "ofdm" => [6, 9, 12, 18, 24, 36, 48, 54].into_iter().filter_map(PhyRate::ofdm).collect(),
        "dsss" => [1_000, 2_000, 5_500, 11_000].into_iter().filter_map(PhyRate::dsss).collect(),
        standard => {
            let is_ht = standard == "ht";
            let numbers = (1..=streams).flat_map(|nss| (0..12_u8).map(move |mcs| (nss, mcs)));
            let numbers = numbers.filter(|&(_, mcs)| !is_ht || mcs < 8);
            let mut rates = Vec::new();
            for (nss, mcs) in numbers {
                shape.nss = Some(nss);
                rates.extend(shape.rate(if is_ht { mcs + 8 * (nss - 1) } else { mcs }));
            }
            rates
        }
    };
    rates.sort_by_key(PhyRate::bps);
    Ok(rates)
}

/// Errors of the channel to and from a station.
pub(super) fn errors(chain: &Chain<'_>, network: &Chain<'_>) -> Read<Errors> {
    let is_coded = network.plain("snr_errors", word)?.is_some_and(|word| word == "code");
    let Some(section) = chain.first_with(&["snr", "errors"]) else { return Ok(Errors::None) };
    match (section.read("snr", read::number)?, section.read("errors", read::share)?) {
        (Some(snr), None) if is_coded => Ok(Errors::Coded(snr.value)),
        (Some(snr), None) => Ok(Errors::Snr(snr.value)),
        (None, Some(share)) if share.value > 0.0 => Ok(Errors::Share(share.value)),
        (Some(_), Some(share)) => Err(Wrong::new(share.at, "errors, or snr that they follow from: not both")),
        _ => Ok(Errors::None),
    }
}

/// The standard whose limits on aggregates apply.
pub(super) fn format(rate: &RateSpec) -> Format {
    match rate {
        RateSpec::Fixed(rate) => rate.format(),
        RateSpec::Schedule(steps) => steps.first().map_or(Format::Ofdm, |(_, rate)| rate.format()),
        RateSpec::Minstrel(rates) => rates.last().map_or(Format::Ofdm, PhyRate::format),
    }
}
