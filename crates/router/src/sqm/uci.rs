//! The settings of sqm-scripts on OpenWrt, `/etc/config/sqm`: a UCI file with a `config queue` for each
//! interface.

use std::fmt::Display;

use goodqueue::cake::LinkKind;
use goodqueue::spec::Word;
use goodqueue::{Direction, ParseUnitError, QueueSpec, Rate};

use super::layout::{Layout, Leaf, TARGET};
use super::link::LinkWords;
use super::plan::{Queues, Settings};
use crate::{Error, Result};

/// A section of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// Its name, or the number of its line.
    pub name: String,
    /// Whether it is enabled.
    pub is_enabled: bool,
    /// What it asks for.
    pub settings: Settings,
    /// Options that have no effect here: the line of each, its name, and why.
    pub ignored: Vec<String>,
}

/// An option or the start of a section, with its line.
struct Line<'a> {
    number: usize,
    words: Vec<&'a str>,
}

/// Reads the text of a file; `name` is for errors. Sections that are not enabled and not possible are left
/// out; the second value says why, with file and line.
///
/// # Errors
/// `Refused` with file and line.
pub fn read(text: &str, name: &str) -> Result<(Vec<Section>, Vec<String>)> {
    let wrong = |number: usize, why: &dyn Display| Error::Refused(format!("{name}, line {number}: {why}"));
    let mut sections: Vec<(usize, String, Vec<Line<'_>>)> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let words = words(line).map_err(|why| wrong(number, &why))?;
        match &words[..] {
            [] => {}
            ["config", "queue", rest @ ..] if rest.len() < 2 => {
                let name =
                    rest.first().map_or_else(|| format!("in line {number}"), |name| (*name).to_owned());
                sections.push((number, name, Vec::new()));
            }
            ["option", _, _] => {
                let Some(section) = sections.last_mut() else {
                    return Err(wrong(number, &"an option before the first `config queue`"));
                };
                section.2.push(Line { number, words });
            }
            _ => {
                return Err(wrong(number, &"neither `config queue NAME` nor `option NAME VALUE`"));
            }
        }
    }
    let (mut read, mut left_out) = (Vec::new(), Vec::new());
    for (number, name, lines) in sections {
        let is_enabled = is_enabled(&lines);
        match section(number, name, &lines, &wrong) {
            Err(why) if !is_enabled => left_out.push(why.to_string()),
            section => read.push(section?),
        }
    }
    Ok((read, left_out))
}

/// Whether sqm-scripts start a section: only if the last `enabled` is 1.
fn is_enabled(lines: &[Line<'_>]) -> bool {
    lines.iter().rev().find(|line| line.words[1] == "enabled").is_some_and(|line| line.words[2] == "1")
}

/// The words of a line, which may be quoted; without its comment.
fn words(line: &str) -> std::result::Result<Vec<&str>, &'static str> {
    let mut all = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() && !rest.starts_with('#') {
        let (word, after) = match rest.chars().next() {
            Some(quote @ ('\'' | '"')) => rest[1..].split_once(quote).ok_or("a quote is not closed")?,
            _ => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
        };
        all.push(word);
        rest = after.trim_start();
    }
    Ok(all)
}

fn section(
    number: usize,
    name: String,
    lines: &[Line<'_>],
    wrong: &dyn Fn(usize, &dyn Display) -> Error,
) -> Result<Section> {
    // If a name occurs several times, the last one counts.
    let find = |name: &str| lines.iter().rev().find(|line| line.words[1] == name);
    let text = |name: &str| find(name).map(|line| (line.number, line.words[2]));
    let is_on = |name: &str| text(name).is_some_and(|(_, value)| value == "1");
    let rate = |name: &str| match text(name) {
        None => Ok(None),
        Some((number, value)) => match value.parse::<u64>() {
            Ok(0) => Ok(None),
            Ok(kbit) if kbit <= 1_000_000_000 => Ok(Some(Rate(kbit * 1000))),
            _ => Err(wrong(
                number,
                &format!("{name} is a number of kbit/s, and 0 means not shaped; not {value}"),
            )),
        },
    };
    let Some((_, interface)) = text("interface") else {
        return Err(wrong(number, &"this section has no `option interface`"));
    };
    let layout = match text("script") {
        None => Layout::PieceOfCake,
        // tbf and htb with one class send the same packets at the same times.
        Some((_, "simplest_tbf" | "simplest_tbf.qos")) => Layout::Simplest,
        Some((number, script)) => script.parse().map_err(|why: String| wrong(number, &why))?,
    };
    let (linklayer, overhead, mpu) = (text("linklayer"), text("overhead"), text("tcMPU"));
    let link = match linklayer {
        None | Some((_, "none")) => None,
        Some((_, "ethernet")) => Some(LinkKind::Raw),
        Some((_, "atm")) => Some(LinkKind::Conservative),
        Some((number, other)) => {
            return Err(wrong(number, &format!("linklayer is none, ethernet or atm, not {other}")));
        }
    };
    let bytes = |value: Option<(usize, &str)>, most: i16| match value.filter(|_| link.is_some()) {
        None => Ok(None),
        Some((number, value)) => match value.parse::<i16>() {
            Ok(bytes) if (-64..=most).contains(&bytes) => Ok(Some(bytes)),
            _ => Err(wrong(number, &format!("{value} is not a number of bytes from -64 to {most}"))),
        },
    };
    let advanced = is_on("qdisc_advanced");
    let choices = Choices {
        layout,
        advanced,
        more: advanced && is_on("qdisc_really_really_advanced"),
        has_link: link.is_some(),
    };
    let (up, down) = (rate("upload")?, rate("download")?);
    let squash = |option: &str| advanced && is_on(option);
    let mpu = bytes(mpu, 256)?.filter(|mpu| *mpu > 0).map(i16::unsigned_abs);
    let mut adds = (link, bytes(overhead, 256)?, mpu);
    let queues = if layout.has_leaves() {
        let leaf = |rate, direction| leaf(rate, direction, choices, &text, wrong);
        // All arriving packets are in one class.
        let arriving = if squash("squash_ingress") { Layout::Simplest } else { layout };
        let (up, down) = (leaf(up, Direction::Up)?, leaf(down, Direction::Down)?);
        Queues::Written { up: layout.with(&up), down: arriving.with(&down) }
    } else if advanced {
        let queue = |layout: Layout, options: &str, extra: &str| -> Result<String> {
            let diffserv = if layout == Layout::LayerCake { "cake:diffserv3" } else { "cake:besteffort" };
            let own = text(options).filter(|_| choices.more).map(|(number, value)| {
                cake_words(value).map_err(|why| wrong(number, &format!("{options}: {why}")))
            });
            Ok(format!("{diffserv}{extra}{}", own.transpose()?.unwrap_or_default()))
        };
        let wash = if squash("squash_dscp") { ",wash=on" } else { "" };
        let arriving = if squash("squash_ingress") { Layout::PieceOfCake } else { layout };
        let (up, down) = (queue(layout, "eqdisc_opts", "")?, queue(arriving, "iqdisc_opts", wash)?);
        if [&up, &down].into_iter().any(|queue| says_link(queue)) {
            // They come last in the command of sqm-scripts, so they take effect.
            let (kind, overhead, mpu) = std::mem::take(&mut adds);
            let with = |queue: String| with_link(queue, kind, overhead, mpu);
            Queues::Written { up: with(up), down: with(down) }
        } else {
            Queues::Written { up, down }
        }
    } else {
        Queues::Layout(layout)
    };
    let ignored = lines.iter().filter_map(|line| {
        let (option, value) = (line.words[1], line.words[2]);
        let why = choices.without_effect(option, value)?;
        Some(format!("line {}: option {option} '{value}' has no effect: {why}", line.number))
    });
    let ignored = ignored.collect();
    let (kind, overhead, mpu) = adds;
    Ok(Section {
        name,
        is_enabled: is_enabled(lines),
        settings: Settings {
            interface: interface.to_owned(),
            up,
            down,
            queues,
            link: LinkWords { kind, ..LinkWords::default() },
            overhead,
            mpu,
            multi_queue: false,
        },
        ignored,
    })
}

/// The choices of a section that decide which of its options have an effect.
#[derive(Clone, Copy)]
struct Choices {
    layout: Layout,
    /// `qdisc_advanced`
    advanced: bool,
    /// `qdisc_really_really_advanced`
    more: bool,
    /// Whether `linklayer` names one.
    has_link: bool,
}

impl Choices {
    /// Why an option with this value has no effect; `None` if it has one, or asks for nothing.
    fn without_effect(self, option: &str, value: &str) -> Option<&'static str> {
        let has_leaves = self.layout.has_leaves();
        let asks = !matches!(value, "" | "0" | "auto" | "default");
        let of_cake = if has_leaves { None } else { Some("cake has no such parameter") };
        // `section` and `leaf` show what reads them, and whether they ask for something.
        let (is_allowed, needs, otherwise) = match option {
            "enabled"
            | "interface"
            | "upload"
            | "download"
            | "linklayer"
            | "linklayer_advanced"
            | "qdisc_advanced"
            | "qdisc_really_really_advanced" => return None,
            "script" if value.starts_with("simplest_tbf") => {
                return Some("htb with one class takes the place of tbf, at the same rate");
            }
            "script" => return None,
            "overhead" | "tcMPU" => (self.has_link, "linklayer is none", None),
            "squash_dscp" => (
                self.advanced,
                "it needs option qdisc_advanced '1'",
                has_leaves.then_some("only cake can clear the DSCP (wash); use script layer_cake.qos"),
            ),
            "squash_ingress" => (self.advanced, "it needs option qdisc_advanced '1'", None),
            "ingress_ecn" | "egress_ecn" if value == "ECN" && !has_leaves => return None,
            "ingress_ecn" | "egress_ecn" => (
                self.advanced,
                "it needs option qdisc_advanced '1'",
                if has_leaves { None } else { Some("cake always marks") },
            ),
            "ilimit" | "elimit" | "itarget" | "etarget" => {
                (self.more, "it needs option qdisc_really_really_advanced '1'", of_cake)
            }
            "iqdisc_opts" | "eqdisc_opts" => (
                self.more,
                "it needs option qdisc_really_really_advanced '1'",
                has_leaves
                    .then_some("only the layouts with cake have options of their own; use --queue htb,..."),
            ),
            "qdisc" if value == if has_leaves { "fq_codel" } else { "cake" } => return None,
            "qdisc" if has_leaves => return asks.then_some("the classes of this layout have fq_codel"),
            "qdisc" => return asks.then_some("this layout has cake"),
            "linklayer_adaptation_mechanism" if value == if has_leaves { "htb_private" } else { "cake" } => {
                return None;
            }
            "linklayer_adaptation_mechanism" => {
                return asks.then_some("the shaper itself counts what the link adds");
            }
            "tcMTU" | "tcTSIZE" => return Some("the kernel computes lengths, and needs no table"),
            "debug_logging" | "verbosity" => {
                return Some("messages go to the standard error, and to no file");
            }
            other if other.starts_with("shaper_") => {
                return Some("bursts take 1 ms, as those of sqm-scripts");
            }
            _ => return Some("Goodqueue does not know this option"),
        };
        if !asks {
            return None;
        }
        if is_allowed { otherwise } else { Some(needs) }
    }
}

/// The leaves of a direction: as its rate requires, unless an option says otherwise.
fn leaf<'a>(
    rate: Option<Rate>,
    direction: Direction,
    choices: Choices,
    text: &dyn Fn(&str) -> Option<(usize, &'a str)>,
    wrong: &dyn Fn(usize, &dyn Display) -> Error,
) -> Result<Leaf> {
    let mut leaf = Leaf::at(rate.unwrap_or(Rate(u64::MAX)), direction);
    let [ecn, target, limit] = match direction {
        Direction::Up => ["egress_ecn", "etarget", "elimit"],
        Direction::Down => ["ingress_ecn", "itarget", "ilimit"],
    };
    match text(ecn).filter(|_| choices.advanced) {
        None | Some((_, "")) => {}
        Some((_, "ECN")) => leaf.ecn = true,
        Some((_, "NOECN")) => leaf.ecn = false,
        Some((number, other)) => return Err(wrong(number, &format!("{ecn} is ECN or NOECN, not {other}"))),
    }
    // `fq_codel` knows the bounds of its parameters.
    let check = |number, parameter: String| {
        let queue = format!("fq_codel,{parameter}").parse::<QueueSpec>();
        queue.map(|_| ()).map_err(|why| wrong(number, &why))
    };
    match text(target).filter(|_| choices.more) {
        None | Some((_, "" | "auto")) => {}
        Some((_, "default")) => leaf.target = TARGET,
        Some((number, value)) => {
            check(number, format!("target={value}"))?;
            leaf.target = value.parse().map_err(|why: ParseUnitError| wrong(number, &why))?;
        }
    }
    if let Some((number, value)) = text(limit).filter(|(_, value)| choices.more && !value.is_empty()) {
        check(number, format!("limit={value}"))?;
        leaf.limit = value.parse().ok();
    }
    Ok(leaf)
}

/// Whether the text of a queue says what the link adds to a packet.
fn says_link(queue: &str) -> bool {
    [",link=", ",atm=", ",ether-vlan=", ",overhead=", ",mpu="].iter().any(|start| queue.contains(start))
}

/// The queue with what a section says about the link, as far as the queue does not say it. A keyword for a
/// kind of link says all of it.
fn with_link(queue: String, kind: Option<LinkKind>, overhead: Option<i16>, mpu: Option<u16>) -> String {
    if queue.contains(",link=") {
        return queue;
    }
    let place = LinkKind::ALL.iter().position(|known| Some(*known) == kind);
    let all = [
        ("link", place.map(|place| LinkKind::WORDS[place].to_owned())),
        ("overhead", overhead.map(|bytes| bytes.to_string())),
        ("mpu", mpu.map(|bytes| bytes.to_string())),
    ];
    let missing = all.into_iter().filter_map(|(name, value)| Some(format!(",{name}={}", value?)));
    let missing: String =
        missing.filter(|words| !queue.contains(&words[..=words.find('=').unwrap_or_default()])).collect();
    queue + &missing
}

/// tc's keywords for `cake` in the form `,parameter=value`.
fn cake_words(text: &str) -> std::result::Result<String, String> {
    let mut out = String::new();
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        let mut of_next = || words.next().ok_or(format!("{word} needs a value"));
        let (name, value) = match word {
            "besteffort" | "diffserv3" | "diffserv4" | "diffserv8" | "precedence" => ("diffserv", word),
            "flowblind" | "srchost" | "dsthost" | "hosts" | "flows" | "dual-srchost" | "dual-dsthost"
            | "triple-isolate" => ("isolation", word),
            "nat" | "wash" | "ingress" | "split-gso" | "autorate-ingress" => (word, "on"),
            "nonat" => ("nat", "off"),
            "nowash" => ("wash", "off"),
            "egress" => ("ingress", "off"),
            "no-split-gso" => ("split-gso", "off"),
            "ack-filter" => (word, "on"),
            "no-ack-filter" => ("ack-filter", "off"),
            "ack-filter-aggressive" => ("ack-filter", "aggressive"),
            "noatm" | "atm" | "ptm" => ("atm", word),
            "datacentre" | "lan" | "metro" | "regional" | "internet" | "oceanic" | "satellite"
            | "interplanetary" => ("rtt", word),
            "rtt" | "overhead" | "mpu" | "memlimit" | "fwmark" => (word, of_next()?),
            "ether-vlan" => (word, "1"),
            other if LinkKind::WORDS.contains(&other) => ("link", other),
            other => return Err(format!("cake has no option {other}")),
        };
        // Of two keywords for one parameter the last one counts, as in tc.
        let start = format!(",{name}=");
        if let Some(at) = out.find(&start) {
            let end = out[at + 1..].find(',').map_or(out.len(), |more| at + 1 + more);
            out.replace_range(at..end, "");
        }
        out += &start;
        out += value;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FILE: &str = "\
# From a router.
config queue 'eth1'
	option enabled '1'
	option interface 'eth1'
	option download '85000'
	option upload '10000'   # kbit/s
	option qdisc 'cake'
	option script 'layer_cake.qos'
	option linklayer 'ethernet'
	option overhead '44'
	option qdisc_advanced '1'
	option squash_dscp '1'
	option qdisc_really_really_advanced '1'
	option iqdisc_opts 'nat dual-dsthost ingress flows'
	option eqdisc_opts \"nat dual-srchost ack-filter\"

config queue
	option enabled '0'
	option interface 'pppoe-wan'
	option upload 900
	option download 0
	option script simple.qos
	option linklayer atm
	option overhead 40
";

    #[test]
    fn a_file_of_sqm_scripts_is_read() {
        let (sections, _) = read(FILE, "sqm").expect("sections");
        let [cake, simple] = &sections[..] else { panic!("two sections") };
        let Settings { interface, up, down, queues, overhead, .. } = &cake.settings;
        assert_eq!(
            (interface.as_str(), *up, *down),
            ("eth1", Some(Rate(10_000_000)), Some(Rate(85_000_000)))
        );
        let (up, down) = (
            "cake:diffserv3,nat=on,isolation=dual-srchost,ack-filter=on",
            "cake:diffserv3,wash=on,nat=on,ingress=on,isolation=flows",
        );
        assert_eq!(*queues, Queues::Written { up: up.into(), down: down.into() });
        assert_eq!((*overhead, cake.is_enabled), (Some(44), true));
        assert_eq!((simple.is_enabled, simple.settings.link.kind), (false, Some(LinkKind::Conservative)));
        assert_eq!((simple.settings.down, &simple.name), (None, &"in line 17".to_owned()));
        // A slow line: the target is the time of 1514 bytes at 900 kbit/s.
        let (up, down) = (
            "htb,sqm=simple,leaf.target=13458us,leaf.interval=108458us,leaf.quantum=300,leaf.ecn=off",
            "htb,sqm=simple",
        );
        assert_eq!(simple.settings.queues, Queues::Written { up: up.into(), down: down.into() });
        assert!(cake.ignored.is_empty() && simple.ignored.is_empty(), "{cake:?} {simple:?}");
    }

    /// A section with these options, after those that each section needs.
    fn with(options: &str) -> Section {
        let text =
            format!("config queue\noption interface a\noption upload 9000\noption download 9000\n{options}");
        let (mut sections, left_out) = read(&text, "sqm").expect(options);
        assert_eq!(left_out, [""; 0], "{options}");
        sections.remove(0)
    }

    #[test]
    fn leaves_of_htb_are_what_the_options_say() {
        let of = |options: &str| match with(options).settings.queues {
            Queues::Written { up, down } => [up, down],
            other @ Queues::Layout(_) => panic!("{other:?}"),
        };
        let script =
            "option script simple.qos\noption qdisc_advanced 1\noption qdisc_really_really_advanced 1\n";
        assert_eq!(
            of(&format!("{script}option egress_ecn ECN\noption ingress_ecn NOECN\noption squash_ingress 1")),
            ["htb,sqm=simple,leaf.quantum=300", "htb,sqm=simplest,leaf.quantum=300,leaf.ecn=off"]
        );
        assert_eq!(
            of(&format!("{script}option etarget 15ms\noption itarget auto\noption elimit 700")),
            [
                "htb,sqm=simple,leaf.target=15ms,leaf.interval=110ms,leaf.limit=700,leaf.quantum=300,leaf.ecn=off",
                "htb,sqm=simple,leaf.quantum=300"
            ]
        );
        // `cake` with one class for arriving packets.
        let cake = "option script layer_cake.qos\noption qdisc_advanced 1\noption squash_ingress 1";
        assert_eq!(of(cake), ["cake:diffserv3", "cake:besteffort"]);
    }

    #[test]
    fn what_the_options_of_cake_say_of_the_link_counts() {
        let section = with(
            "option linklayer atm\noption overhead 40\noption qdisc_advanced 1\n\
             option qdisc_really_really_advanced 1\noption eqdisc_opts 'overhead 22'\noption iqdisc_opts docsis",
        );
        let (up, down) = ("cake:besteffort,overhead=22,link=conservative", "cake:besteffort,link=docsis");
        assert_eq!(section.settings.queues, Queues::Written { up: up.into(), down: down.into() });
        assert_eq!((section.settings.link, section.settings.overhead), (LinkWords::default(), None));
    }

    #[test]
    fn a_section_that_is_not_enabled_is_not_started() {
        assert!(!with("").is_enabled, "as in sqm-scripts");
        assert!(!with("option enabled 0").is_enabled);
        assert!(with("option enabled 1").is_enabled);
    }

    #[test]
    fn a_section_that_is_not_enabled_stops_no_other() {
        let text = |enabled: &str| {
            format!(
                "config queue old\noption interface a\noption script mine.qos\noption enabled {enabled}\n\
                 config queue new\noption interface b\noption enabled 1\noption upload 9000"
            )
        };
        let (sections, left_out) = read(&text("0"), "sqm").expect("one section is good");
        assert_eq!(sections.iter().map(|section| &*section.name).collect::<Vec<_>>(), ["new"]);
        let [why] = &left_out[..] else { panic!("{left_out:?}") };
        assert!(why.starts_with("sqm, line 3: mine.qos is not a layout"), "{why}");
        let error = read(&text("1"), "sqm").expect_err("it is enabled").to_string();
        assert!(error.starts_with("sqm, line 3: mine.qos is not a layout"), "{error}");
    }

    #[test]
    fn options_without_effect_are_named_with_line_and_reason() {
        let advanced = "option qdisc_advanced 1\noption qdisc_really_really_advanced 1\n";
        let simple = format!("option script simple.qos\n{advanced}");
        for (before, option, why) in [
            ("", "script simplest_tbf.qos", "takes the place of tbf, at the same rate"),
            ("", "overhead 44", "linklayer is none"),
            ("", "tcMPU 64", "linklayer is none"),
            ("", "squash_dscp 1", "it needs option qdisc_advanced '1'"),
            ("", "squash_ingress 1", "it needs option qdisc_advanced '1'"),
            (&*simple, "squash_dscp 1", "only cake can clear the DSCP"),
            (advanced, "egress_ecn NOECN", "cake always marks"),
            ("option script simple.qos\n", "ingress_ecn NOECN", "it needs option qdisc_advanced '1'"),
            (advanced, "ilimit 1000", "cake has no such parameter"),
            (advanced, "etarget 10ms", "cake has no such parameter"),
            ("option script simple.qos\n", "elimit 1000", "qdisc_really_really_advanced '1'"),
            (&*simple, "iqdisc_opts nat", "only the layouts with cake"),
            (&*simple, "qdisc cake", "the classes of this layout have fq_codel"),
            ("", "qdisc fq_codel", "this layout has cake"),
            ("", "linklayer_adaptation_mechanism tc_stab", "the shaper itself counts"),
            ("", "tcMTU 2047", "needs no table"),
            ("", "tcTSIZE 128", "needs no table"),
            ("", "debug_logging 1", "standard error"),
            ("", "verbosity 5", "standard error"),
            ("", "shaper_burst_dur 1000", "bursts take 1 ms"),
            ("", "use_magic 1", "does not know this option"),
        ] {
            let section = with(&format!("{before}option {option}"));
            let [told] = &section.ignored[..] else { panic!("{option}: {:?}", section.ignored) };
            let number = 5 + before.lines().count();
            let name = option.split(' ').next().expect("a name");
            assert!(
                told.starts_with(&format!("line {number}: option {name} ")) && told.contains(why),
                "{told}"
            );
        }
        // Those that have an effect, or ask for nothing.
        for options in [
            "option overhead 0\noption qdisc cake\noption linklayer_adaptation_mechanism default",
            "option linklayer ethernet\noption overhead 44\noption tcMPU 64",
            &format!(
                "{advanced}option ingress_ecn ECN\noption squash_dscp 1\noption squash_ingress 1\noption itarget auto"
            ),
            &format!(
                "{simple}option qdisc fq_codel\noption egress_ecn NOECN\noption itarget 7ms\noption ilimit 900"
            ),
        ] {
            assert_eq!(with(options).ignored, [""; 0], "{options}");
        }
    }

    #[test]
    fn errors_name_file_line_and_cure() {
        for (text, words) in [
            ("option upload 3", "sqm, line 1: an option before the first `config queue`"),
            ("config queue\noption upload 3", "sqm, line 1: this section has no `option interface`"),
            (
                "config queue\noption interface a\noption upload '3mbit'",
                "sqm, line 3: upload is a number of kbit/s",
            ),
            ("config queue\noption interface 'a", "sqm, line 2: a quote is not closed"),
            (
                "config queue\noption interface a\noption script x.qos",
                "the layouts are piece_of_cake, layer_cake",
            ),
            (
                "config queue\noption interface a\noption script simple.qos\noption qdisc_advanced 1\noption egress_ecn yes",
                "sqm, line 5: egress_ecn is ECN or NOECN, not yes",
            ),
            (
                "config queue\noption interface a\noption script simple.qos\noption qdisc_advanced 1\n\
                 option qdisc_really_really_advanced 1\noption elimit 0",
                "sqm, line 6: ",
            ),
            ("config network", "sqm, line 1: neither `config queue NAME` nor"),
        ] {
            let error = read(&format!("{text}\noption enabled 1"), "sqm").expect_err(text).to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "(config queue|option|[a-z_]{1,9}|['\"# \n\t]|[0-9]{1,20}){0,60}") {
            let _ = read(&text, "sqm");
        }

        #[test]
        fn no_options_of_cake_make_a_queue_that_cannot_be_read(
            words in prop::collection::vec("(nat|wash|diffserv4|besteffort|flows|hosts|ingress|ack-filter|rtt 20ms|lan|overhead 44|docsis)", 0..12)
        ) {
            let queue = format!("cake{}", cake_words(&words.join(" ")).unwrap());
            prop_assert!(queue.parse::<goodqueue::QueueSpec>().is_ok(), "{}", queue);
        }
    }
}
