//! Trees of `htb` classes, as written in the file.

use std::sync::Arc;

use goodqueue::htb::{ClassParams, LEVELS, MAX_CLASSES, Map};
use goodqueue::spec::MAX_PACKETS;
use goodqueue::tbf::LinkLayer;
use goodqueue::{ClassTree, QueueSpec, Rate, TreeClass};
use goodqueue_probe::Dscp;
use toml::Spanned;
use toml::de::DeValue;

use super::keys::{CLASS, HTB, Key, Kind};
use super::read::{self, At, Read, Section, Wrong, check_name, small};
use crate::fit::{room_of_tree, unfit};
use crate::hint::did_you_mean;

/// Prefix of a tree's name in a link's `queue`.
pub(super) const PREFIX: &str = "htb:";

const PLAIN: &str = "pfifo:1000";

/// A class as written: its parent is a name.
struct ClassText {
    at: usize,
    name: At<String>,
    parent: Option<At<String>>,
    params: ClassParams,
    dscp: Vec<At<Dscp>>,
    queue: Option<At<QueueSpec>>,
}

/// The trees of a file.
pub(super) fn read_all(root: &Section<'_>) -> Read<Vec<Arc<ClassTree>>> {
    let mut trees: Vec<Arc<ClassTree>> = Vec::new();
    for section in root.sections("htb", &HTB)? {
        let name = section.read("name", read::text)?;
        let name = section.required("name", name)?;
        check_name(&name, "a tree")?;
        if trees.iter().any(|other| other.name == name.value) {
            return Err(Wrong::new(name.at, format!("a second tree called `{}`", name.value)));
        }
        let tree = tree(&section, name.value)?;
        let places = room_of_tree(&tree);
        if places > MAX_PACKETS {
            let what = format!("its queues have room for {places} packets, but the maximum is {MAX_PACKETS}");
            return Err(Wrong::new(name.at, what));
        }
        trees.push(Arc::new(tree));
    }
    Ok(trees)
}

/// The tree that this text of a link means, if it means one.
pub(super) fn find(text: &str, at: usize, trees: &[Arc<ClassTree>]) -> Read<Arc<ClassTree>> {
    let name = text.strip_prefix(PREFIX).unwrap_or(text);
    if let Some(tree) = trees.iter().find(|tree| tree.name == name) {
        return Ok(Arc::clone(tree));
    }
    let known: Vec<&str> = trees.iter().map(|tree| tree.name.as_str()).collect();
    let what = match known.as_slice() {
        [] => format!("there is no [[htb]] called `{}`", name.escape_debug()),
        known => {
            let nearest = did_you_mean(name, known);
            format!("no [[htb]] is called `{}`; there are {}{nearest}", name.escape_debug(), known.join(", "))
        }
    };
    Err(Wrong::new(at, what))
}

fn tree(section: &Section<'_>, name: String) -> Read<ClassTree> {
    let number =
        |name| Ok(section.plain(name, small)?.and_then(|value| u16::try_from(value).ok()).unwrap_or(0));
    let base = ClassParams {
        mpu: number("mpu")?,
        overhead: number("overhead")?,
        linklayer: section.plain("linklayer", linklayer)?.unwrap_or_default(),
        ..ClassParams::new(Rate(0))
    };
    let sections = section.sections("class", &CLASS)?;
    if !(1..=MAX_CLASSES).contains(&sections.len()) {
        let what =
            format!("{} classes: a tree has 1 to {MAX_CLASSES}, each an [[htb.class]]", sections.len());
        return Err(Wrong::new(section.at, what));
    }
    let mut texts = Vec::new();
    for section in &sections {
        let text = class_text(section, base)?;
        if texts.iter().any(|other: &ClassText| other.name.value == text.name.value) {
            return Err(Wrong::new(text.name.at, format!("a second class called `{}`", text.name.value)));
        }
        texts.push(text);
    }
    let order = order(&texts)?;
    let place = |name: &str| order.iter().position(|&at| texts[at].name.value == name);
    let is_inner =
        |at: usize| texts.iter().any(|other| parent_of(other) == Some(texts[at].name.value.as_str()));
    let default = section.read("default", read::text)?;
    let default = section.required("default", default)?;
    let Some(rest) = place(&default.value) else { return Err(no_class(&default, &texts)) };
    if is_inner(order[rest]) {
        let what = format!("`{}` has children: packets go to leaves", default.value);
        return Err(Wrong::new(default.at, what));
    }
    let mut map: Map = [u8::try_from(rest).unwrap_or(0); 64];
    let mut named = [false; 64];
    let mut classes = Vec::new();
    for (index, &at) in order.iter().enumerate() {
        let text = &texts[at];
        for dscp in &text.dscp {
            let number = usize::from(dscp.value.value()) & 63;
            if std::mem::replace(&mut named[number], true) {
                return Err(Wrong::new(dscp.at, format!("{}: another class has these packets", dscp.value)));
            }
            map[number] = u8::try_from(index).unwrap_or(0);
        }
        let of_leaves = text.dscp.first().map(|dscp| dscp.at).or(text.queue.as_ref().map(|queue| queue.at));
        if let (true, Some(at)) = (is_inner(at), of_leaves) {
            let what = format!("`{}` has children: a queue and DSCPs are a leaf's", text.name.value);
            return Err(Wrong::new(at, what));
        }
        let params = ClassParams { parent: parent_of(text).and_then(place), ..text.params };
        let queue = (!is_inner(at)).then(|| leaf(text)).transpose()?;
        classes.push(TreeClass { name: text.name.value.clone(), params, queue });
    }
    Ok(ClassTree { name, classes, map })
}

fn parent_of(text: &ClassText) -> Option<&str> {
    text.parent.as_ref().map(|parent| parent.value.as_str())
}

/// The queue of a leaf, checked to fit its rate.
fn leaf(text: &ClassText) -> Read<QueueSpec> {
    let at = text.queue.as_ref().map_or(text.at, |queue| queue.at);
    let queue = match &text.queue {
        Some(queue) => queue.value,
        None => PLAIN.parse().map_err(|error| Wrong::new(at, format!("{PLAIN}: {error}")))?,
    };
    let rate = text.params.rate;
    match unfit(&queue.into(), rate) {
        Some(why) => Err(Wrong::new(at, why)),
        None => Ok(queue),
    }
}

fn class_text(section: &Section<'_>, base: ClassParams) -> Read<ClassText> {
    let name = section.read("name", read::text)?;
    let name = section.required("name", name)?;
    check_name(&name, "a class")?;
    let rate = section.read("rate", read::rate)?;
    let At { at, value: rate } = section.required("rate", rate)?;
    if rate < Rate(8) {
        return Err(Wrong::new(at, format!("rate = \"{rate}\": htb counts whole bytes, 8bit at least")));
    }
    let ceil = section.read("ceil", read::rate)?;
    if let Some(low) = ceil.filter(|ceil| ceil.value < rate) {
        let what = format!("ceil = \"{}\": must be at least the rate, {rate}", low.value);
        return Err(Wrong::new(low.at, what));
    }
    let small = |name| section.plain(name, small);
    Ok(ClassText {
        at: section.at,
        name,
        parent: section.read("parent", read::text)?,
        params: ClassParams {
            rate,
            ceil: ceil.map_or(rate, |ceil| ceil.value),
            burst: small("burst")?.unwrap_or(base.burst),
            cburst: small("cburst")?.unwrap_or(base.cburst),
            prio: small("prio")?.and_then(|prio| u8::try_from(prio).ok()).unwrap_or(0),
            quantum: small("quantum")?,
            ..base
        },
        dscp: section.plain("dscp", read::list(read::words::<Dscp>))?.unwrap_or_default(),
        queue: section.read("queue", read::queue)?,
    })
}

/// The order of the classes, each after its parent.
fn order(texts: &[ClassText]) -> Read<Vec<usize>> {
    let mut order: Vec<usize> = Vec::new();
    for (at, text) in texts.iter().enumerate() {
        // From the class up to an ancestor that already has its place.
        let mut way = Vec::new();
        let mut next = Some(at);
        while let Some(at) = next.filter(|at| !order.contains(at)) {
            way.push(at);
            let Some(parent) = &texts[at].parent else { break };
            let above = texts.iter().position(|other| other.name.value == parent.value);
            let Some(above) = above else { return Err(no_class(parent, texts)) };
            if way.contains(&above) {
                let what = format!("`{}` would be an ancestor of itself", parent.value);
                return Err(Wrong::new(parent.at, what));
            }
            next = Some(above);
        }
        order.extend(way.into_iter().rev());
        let depth = depth(texts, at);
        if depth > LEVELS {
            let what = format!("`{}` is at level {depth}: a tree has {LEVELS}", text.name.value);
            return Err(Wrong::new(text.name.at, what));
        }
    }
    Ok(order)
}

/// Classes from the root to this one.
fn depth(texts: &[ClassText], at: usize) -> usize {
    let above =
        |&at: &usize| texts.iter().position(|other| Some(other.name.value.as_str()) == parent_of(&texts[at]));
    std::iter::successors(Some(at), above).count()
}

fn no_class(name: &At<String>, texts: &[ClassText]) -> Wrong {
    let known: Vec<&str> = texts.iter().map(|text| text.name.value.as_str()).collect();
    let nearest = did_you_mean(&name.value, &known);
    let word = name.value.escape_debug();
    Wrong::new(name.at, format!("no class is called `{word}`; there are {}{nearest}", known.join(", ")))
}

fn linklayer(key: &Key, kind: Kind, value: &Spanned<DeValue<'_>>) -> Read<LinkLayer> {
    match read::text(key, kind, value)?.as_str() {
        "ethernet" => Ok(LinkLayer::Ethernet),
        "atm" => Ok(LinkLayer::Atm),
        _ => Err(read::refuse(key, value, "use ethernet or atm")),
    }
}

/// Its classes as text, by name.
pub(crate) fn words(tree: &ClassTree) -> Vec<(String, String)> {
    let word = |class: &TreeClass| {
        let ClassParams { parent, rate, ceil, burst, cburst, prio, .. } = class.params;
        let parent =
            parent.and_then(|at| tree.classes.get(at)).map(|parent| format!("parent {}, ", parent.name));
        let mut words =
            format!("{}rate {rate}, ceil {ceil}, burst {burst}, cburst {cburst}", parent.unwrap_or_default());
        if let Some(queue) = &class.queue {
            words.push_str(&format!(", prio {prio}, quantum {}, {queue}", class.params.quantum()));
        }
        (class.name.clone(), words)
    };
    tree.classes.iter().map(word).collect()
}
