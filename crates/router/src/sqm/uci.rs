//! The settings of sqm-scripts on OpenWrt, `/etc/config/sqm`: a UCI file with a `config queue` for each
//! interface.

use std::fmt::Display;

use goodqueue::Rate;
use goodqueue::cake::LinkKind;
use goodqueue::spec::Word;

use super::plan::{Layout, LinkWords, Queues, Settings};
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
    /// Options that have no effect here, and why.
    pub ignored: Vec<String>,
}

/// An option or the start of a section, with its line.
struct Line<'a> {
    number: usize,
    words: Vec<&'a str>,
}

/// Reads the text of a file; `name` is for errors.
///
/// # Errors
/// `Refused` with file and line.
pub fn read(text: &str, name: &str) -> Result<Vec<Section>> {
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
    sections.into_iter().map(|(number, name, lines)| section(number, name, &lines, &wrong)).collect()
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
    // The last one of a name counts.
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
    let mut ignored = Vec::new();
    let queues = if matches!(layout, Layout::PieceOfCake | Layout::LayerCake) && advanced {
        let own = is_on("qdisc_really_really_advanced");
        let queue = |options: &str, extra: &str| -> Result<String> {
            let diffserv = if layout == Layout::LayerCake { "cake:diffserv3" } else { "cake:besteffort" };
            let own = text(options).filter(|_| own).map(|(number, value)| {
                cake_words(value).map_err(|why| wrong(number, &format!("{options}: {why}")))
            });
            Ok(format!("{diffserv}{extra}{}", own.transpose()?.unwrap_or_default()))
        };
        let wash = if is_on("squash_dscp") { ",wash=on" } else { "" };
        Queues::Written { up: queue("eqdisc_opts", "")?, down: queue("iqdisc_opts", wash)? }
    } else {
        Queues::Layout(layout)
    };
    for name in ["ilimit", "elimit", "itarget", "etarget", "ingress_ecn", "egress_ecn"] {
        if advanced
            && text(name)
                .is_some_and(|(_, value)| !matches!(value, "" | "auto" | "default" | "ECN" | "NOECN"))
        {
            ignored.push(format!("{name}: Goodqueue keeps the default"));
        }
    }
    let mpu = bytes(mpu, 256)?.filter(|mpu| *mpu > 0);
    Ok(Section {
        name,
        is_enabled: text("enabled").is_none_or(|(_, value)| value == "1"),
        settings: Settings {
            interface: interface.to_owned(),
            up: rate("upload")?,
            down: rate("download")?,
            queues,
            link: LinkWords { kind: link, ..LinkWords::default() },
            overhead: bytes(overhead, 256)?,
            mpu: mpu.map(i16::unsigned_abs),
            multi_queue: false,
        },
        ignored,
    })
}

/// tc's words for `cake` in the form `,parameter=value`.
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
        // The last of two words for one parameter counts, as in tc.
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
        let sections = read(FILE, "sqm").expect("sections");
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
        assert_eq!(simple.settings.queues, Queues::Layout(Layout::Simple));
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
            ("config network", "sqm, line 1: neither `config queue NAME` nor"),
        ] {
            let error = read(text, "sqm").expect_err(text).to_string();
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
