//! The user's own traffic as written in the file: flows with sizes and arrivals from distributions or files.

use std::path::Path;
use std::sync::Arc;

use goodqueue::{Direction, ETHERNET_FRAME, Rate, Span};
use goodqueue_probe::{Dscp, Test};
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{Cdf, Distribution, Flow, NodeId, Opener};

use super::keys::TRAFFIC;
use super::load::{Far, ends};
use super::network::Network;
use super::read::{self, At, Read, Section, Wrong, check_name};
use super::share::RateWords;
use crate::arrivals::{self, Arrival};
use crate::own_cc::CcText;
use crate::traffic::{Come, Least, Pace, Traffic, Viewing};

/// Largest file of arrivals or of a distribution, bytes.
const MOST_BYTES: u64 = 64 << 20;
/// Most entries of [[traffic]], counted once for each station.
const MOST_TRAFFIC: usize = 1000;
/// Limit for the mean gap between two flows; a longer gap is longer than any run.
const LONGEST_GAP: f64 = 1e18;

/// A section [[traffic]], once for each station that it means.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) at: usize,
    name: String,
    pub(super) host: usize,
    direction: Direction,
    arrivals: Arrivals,
    /// The sizes, also as text.
    sizes: Option<(Distribution, String)>,
    cc: CcKind,
    dscp: Dscp,
    from: Span,
    until: Span,
}

#[derive(Clone, Debug)]
enum Arrivals {
    Random { gaps: Gaps, often: Often },
    Listed { file: String, all: Arc<[Arrival]> },
    Users { users: u64, pace: Pace, requests: u64, words: String },
}

/// The times between two flows, without their mean.
#[derive(Clone, Copy, Debug)]
enum Gaps {
    Poisson,
    Constant,
    Lognormal { sigma: f64 },
}

#[derive(Clone, Copy, Debug)]
enum Often {
    Load(RateWords),
    PerSecond(f64),
}

impl std::str::FromStr for Gaps {
    type Err = String;

    fn from_str(text: &str) -> Result<Gaps, String> {
        match text.split_once(',').map_or((text.trim(), None), |(name, rest)| (name.trim(), Some(rest))) {
            ("poisson", None) => Ok(Gaps::Poisson),
            ("constant", None) => Ok(Gaps::Constant),
            ("lognormal", Some(rest)) => {
                let sigma = rest.trim().strip_prefix("sigma=").and_then(|text| text.parse::<f64>().ok());
                let sigma = sigma.filter(|sigma| (0.0..=10.0).contains(sigma));
                let cure = "lognormal needs a sigma from 0 to 10, as in lognormal,sigma=2";
                sigma.map(|sigma| Gaps::Lognormal { sigma }).ok_or_else(|| cure.into())
            }
            _ => Err("write poisson, constant or lognormal,sigma=2".into()),
        }
    }
}

/// All sections [[traffic]].
pub(super) fn read_all(root: &Section<'_>, folder: &Path, test: &Test, far: &Far) -> Read<Vec<Written>> {
    let mut all: Vec<Written> = Vec::new();
    for (number, section) in (1..).zip(root.sections("traffic", &TRAFFIC)?) {
        let name = section.read("name", read::text)?;
        name.as_ref().map_or(Ok(()), |name| check_name(name, "traffic"))?;
        if let Some(taken) = name.as_ref().filter(|name| all.iter().any(|one| one.name == name.value)) {
            return Err(Wrong::new(taken.at, format!("two are called \"{}\"", taken.value)));
        }
        let name = name.map_or_else(|| format!("traffic {number}"), |name| name.value);
        let (direction, found) = ends(&section, far)?;
        let one = read_one(&section, folder, test, direction)?;
        for (host, suffix) in found {
            all.push(Written { host, name: format!("{name}{suffix}"), ..one.clone() });
        }
        if all.len() > MOST_TRAFFIC {
            return Err(Wrong::new(section.at, format!("more than {MOST_TRAFFIC} of [[traffic]]")));
        }
    }
    Ok(all)
}

fn read_one(section: &Section<'_>, folder: &Path, test: &Test, direction: Direction) -> Read<Written> {
    let arrivals = read_arrivals(section, folder)?;
    let sizes = read_sizes(section, folder, &arrivals)?;
    let has_sizes =
        matches!(&arrivals, Arrivals::Listed { all, .. } if all.iter().any(|one| one.bytes.is_some()));
    let sizes = match (sizes, has_sizes) {
        (Some(At { at, .. }), true) => {
            return Err(Wrong::new(at, "the file of arrivals has the sizes: leave this out"));
        }
        (None, true) => None,
        (sizes, false) => Some(section.required("size", sizes)?.value),
    };
    let cc = section.plain("cc", read::words::<CcText>)?.map_or(CcKind::Cubic, |cc| cc.0);
    let dscp = section.plain("dscp", read::words::<Dscp>)?.unwrap_or_default();
    let start = section.plain("start", read::span)?.unwrap_or(Span::ZERO);
    let stop = section.plain("stop", read::span)?.unwrap_or(test.load).min(test.load);
    if start >= stop {
        return Err(Wrong::new(
            section.at,
            format!("this traffic would start at {start} and stop at {stop}"),
        ));
    }
    Ok(Written {
        at: section.at,
        name: String::new(),
        host: 0,
        direction,
        arrivals,
        sizes,
        cc,
        dscp,
        from: test.idle + start,
        until: test.idle + stop,
    })
}

fn read_arrivals(section: &Section<'_>, folder: &Path) -> Read<Arrivals> {
    let gaps = section.read("arrivals", read::words::<Gaps>)?;
    let load = section.read("load", read::rate_or_share)?;
    let per_second = section.read("per_second", read::number)?;
    let file = section.read("file", read::text)?;
    let users = section.read("users", read::count)?;
    let think = section.read("think", read::text)?;
    let every = section.read("every", read::span)?;
    let requests = section.read("requests", read::count)?;
    let viewing = read_viewing(section, folder)?;
    let given = [
        load.map(|at| at.at),
        per_second.map(|at| at.at),
        file.as_ref().map(|at| at.at),
        users.map(|at| at.at),
    ];
    let mut given = given.into_iter().flatten();
    let (first, second) = (given.next(), given.next());
    let how = "give one of load, per_second, file and users";
    if let Some(second) = second {
        return Err(Wrong::new(second, format!("two say how often flows come: {how}")));
    }
    let Some(first) = first else {
        return Err(Wrong::new(section.at, format!("nothing says how often flows come: {how}")));
    };
    if let (Some(gaps), true) = (&gaps, file.is_some() || users.is_some()) {
        return Err(Wrong::new(gaps.at, "arrivals works only with load or per_second: leave it out"));
    }
    let of_users = [
        think.as_ref().map(|think| (think.at, "think")),
        every.map(|every| (every.at, "every")),
        requests.map(|requests| (requests.at, "requests")),
    ];
    if let (Some(&(at, key)), None) = (of_users.iter().flatten().next(), users) {
        return Err(Wrong::new(at, format!("{key} works only with users: give `users`, or leave it out")));
    }
    if let (Some(At { at, .. }), None) = (&viewing, every) {
        return Err(Wrong::new(
            *at,
            "a viewer watches a video, whose chunks come every so often: give `every`",
        ));
    }
    if let (Some(_), Some(every)) = (&think, every) {
        return Err(Wrong::new(
            every.at,
            "a user asks after a time to think, or every so often: leave one out",
        ));
    }
    if let Some(file) = file {
        let wrong =
            |why: String| Wrong::new(file.at, format!("file = \"{}\": {why}", file.value.escape_debug()));
        let content = crate::input::bytes(&folder.join(&file.value), MOST_BYTES).map_err(wrong)?;
        let all = arrivals::read(&file.value, &content).map_err(wrong)?;
        return Ok(Arrivals::Listed { file: file.value, all: all.into() });
    }
    if let Some(users) = users {
        let requests = requests.map_or(1, |requests| requests.value);
        let (pace, mut words) = if let Some(every) = every {
            let (viewing, watched) = viewing.map(|viewing| viewing.value).unzip();
            let words = format!("{} users who ask every {}", users.value, every.value);
            (Pace::Every { every: every.value, viewing }, words + &watched.unwrap_or_default())
        } else {
            let (at, think) = think.map_or((first, "0s".into()), |think| (think.at, think.value));
            let of = |why: String| Wrong::new(at, format!("think: {why}"));
            let pace = Pace::Think(Distribution::of_times(&think).map_err(of)?);
            (pace, format!("{} users who think for {think}", users.value))
        };
        if requests > 1 {
            words += &format!(", {requests} requests over a connection");
        }
        return Ok(Arrivals::Users { users: users.value, pace, requests, words });
    }
    let often = match (load, per_second) {
        (Some(load), _) => Often::Load(load.value),
        (None, Some(At { value, .. })) if value > 0.0 => Often::PerSecond(value),
        _ => return Err(Wrong::new(first, "per_second = 0: no flow would come")),
    };
    Ok(Arrivals::Random { gaps: gaps.map_or(Gaps::Poisson, |gaps| gaps.value), often })
}

/// How long viewers watch and are away, also as text.
fn read_viewing(section: &Section<'_>, folder: &Path) -> Read<Option<At<(Viewing, String)>>> {
    let watch = read_times(section, folder, "watch", "watch_cdf")?;
    let away = read_times(section, folder, "away", "away_cdf")?;
    match (watch, away) {
        (None, None) => Ok(None),
        (None, Some(away)) => {
            Err(Wrong::new(away.at, "a viewer is away after it has watched: give `watch` or `watch_cdf`"))
        }
        (Some(At { at, value: (watch, words) }), away) => {
            let (away, left) = match away {
                Some(At { value: (away, words), .. }) => (Some(away), format!("are away for {words}")),
                None => (None, "leave".into()),
            };
            let words = format!(", watch for {words} and {left}");
            Ok(Some(At { at, value: (Viewing { watch, away }, words) }))
        }
    }
}

/// A distribution of times in one of two keys: as words, or in a file.
fn read_times(
    section: &Section<'_>,
    folder: &Path,
    key: &'static str,
    file: &'static str,
) -> Read<Option<At<(Distribution, String)>>> {
    match (section.read(key, read::text)?, section.read(file, read::text)?) {
        (None, None) => Ok(None),
        (Some(_), Some(cdf)) => {
            Err(Wrong::new(cdf.at, format!("{file} has the times: leave `{key}` out, or this")))
        }
        (Some(At { at, value }), None) => {
            let times = Distribution::of_times(&value);
            let times = times
                .map_err(|why| Wrong::new(at, format!("{key} = \"{}\": {why}", value.escape_debug())))?;
            Ok(Some(At { at, value: (times, value) }))
        }
        (None, Some(At { at, value })) => {
            let wrong = |why: String| Wrong::new(at, format!("{file} = \"{}\": {why}", value.escape_debug()));
            let text = crate::input::text(&folder.join(&value), MOST_BYTES).map_err(wrong)?;
            let times = Cdf::parse_times(&text).map(Distribution::Empirical).map_err(wrong)?;
            Ok(Some(At { at, value: (times, format!("the times of {value}")) }))
        }
    }
}

fn read_sizes(
    section: &Section<'_>,
    folder: &Path,
    arrivals: &Arrivals,
) -> Read<Option<At<(Distribution, String)>>> {
    let (size, cdf) = (section.read("size", read::text)?, section.read("cdf", read::text)?);
    if let Some(At { at, value: rate }) = section.read("bitrate", read::rate)? {
        let Arrivals::Users { pace: Pace::Every { every, .. }, .. } = arrivals else {
            return Err(Wrong::new(
                at,
                "bitrate works only with every, where it sets the size of the chunks: leave it out",
            ));
        };
        if size.is_some() || cdf.is_some() {
            return Err(Wrong::new(at, "size and cdf give the size of a chunk, too: leave all but one out"));
        }
        let bytes = rate.bytes_in(*every).0.max(1);
        return Ok(Some(At {
            at,
            value: (Distribution::Fixed(bytes), format!("{bytes} ({every} of {rate})")),
        }));
    }
    match (size, cdf) {
        (None, None) => Ok(None),
        (Some(_), Some(cdf)) => Err(Wrong::new(cdf.at, "cdf has the sizes: leave `size` out, or this")),
        (Some(At { at, value }), None) => {
            let sizes = Distribution::of_sizes(&value);
            let sizes =
                sizes.map_err(|why| Wrong::new(at, format!("size = \"{}\": {why}", value.escape_debug())))?;
            if sizes == Distribution::Fixed(0) {
                return Err(Wrong::new(at, "size = \"0\": a flow sends a byte at least"));
            }
            Ok(Some(At { at, value: (sizes, value) }))
        }
        (None, Some(At { at, value })) => {
            let wrong = |why: String| Wrong::new(at, format!("cdf = \"{}\": {why}", value.escape_debug()));
            let text = crate::input::text(&folder.join(&value), MOST_BYTES).map_err(wrong)?;
            let sizes = Cdf::parse(&text).map(Distribution::Empirical).map_err(wrong)?;
            Ok(Some(At { at, value: (sizes, format!("of {value}")) }))
        }
    }
}

impl Written {
    /// The traffic between `client` and `server` over `network`, with segments of `mss` bytes.
    pub(super) fn placed(
        &self,
        network: &Network,
        (client, server): (NodeId, NodeId),
        mss: u32,
    ) -> Read<Traffic> {
        let (from, to, opener) = match self.direction {
            Direction::Up => (client, server, Opener::Sender),
            Direction::Down => (server, client, Opener::Receiver),
        };
        let links = |from, to| {
            let route = goodqueue_sim::route(&network.scenario, from, to);
            route.map_err(|error| Wrong::new(self.at, error.to_string()))
        };
        let (forth, back) = (links(from, to)?, links(to, from)?);
        let delay = |links: &[usize]| {
            links.iter().fold(Span::ZERO, |sum, &link| sum + network.scenario.links[link].delay)
        };
        let [fresh, kept_delay] = Least::delays(opener, [delay(&forth), delay(&back)]);
        let way = Least {
            delay: fresh,
            kept_delay,
            rate: forth.iter().filter_map(|&link| network.notes[link].rate).min(),
            mss,
            headers: ETHERNET_FRAME - mss,
        };
        let flow = Flow { dscp: self.dscp.value(), opener, ..Flow::new(from, to, self.cc) };
        let (come, arrivals) = self.come(&way)?;
        Ok(Traffic {
            name: self.name.clone(),
            arrivals,
            size: self.sizes.as_ref().map_or_else(|| "as in the file".into(), |(_, words)| words.clone()),
            direction: self.direction,
            host: self.host,
            flow,
            come,
            sizes: self.sizes.as_ref().map(|(sizes, _)| sizes.clone()),
            from: self.from,
            until: self.until,
            way,
        })
    }

    /// When flows come, also as text.
    fn come(&self, way: &Least) -> Read<(Come, String)> {
        let (gaps, often) = match &self.arrivals {
            Arrivals::Random { gaps, often } => (*gaps, *often),
            Arrivals::Listed { file, all } => {
                return Ok((Come::Listed(Arc::clone(all)), format!("as in {file}")));
            }
            Arrivals::Users { users, pace, requests, words } => {
                let come = Come::Users { users: *users, pace: pace.clone(), requests: *requests };
                return Ok((come, words.clone()));
            }
        };
        let mean_size = self.sizes.as_ref().map_or(1.0, |(sizes, _)| sizes.mean());
        let (gap, words) = match often {
            Often::PerSecond(number) => (1e9 / number, format!("{number} flows/s")),
            Often::Load(load) => {
                if load.is_share() && way.rate.is_none() {
                    let what = "load is a share of a line, but there is no line in this direction: write a rate, as in 20mbit";
                    return Err(Wrong::new(self.at, what));
                }
                let rate: Rate = load.at(way.rate);
                (
                    way.gap(mean_size, rate),
                    format!("{rate} offered, {:.6} flows/s", 1e9 / way.gap(mean_size, rate)),
                )
            }
        };
        if !(gap > 0.0 && gap < LONGEST_GAP) {
            return Err(Wrong::new(self.at, format!("a flow every {:e} s: no flow would come", gap / 1e9)));
        }
        let (come, name) = match gaps {
            Gaps::Poisson => (Distribution::Exponential { mean: gap }, "poisson".into()),
            Gaps::Constant => (Distribution::Fixed(gap.round().max(1.0) as u64), "constant".into()),
            Gaps::Lognormal { sigma } => {
                (Distribution::Lognormal { mean: gap, sigma }, format!("lognormal,sigma={sigma}"))
            }
        };
        Ok((Come::Gaps(come), format!("{name}, {words}")))
    }
}
