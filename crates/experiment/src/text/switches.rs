//! Nodes that are switches, as written in the file.

use goodqueue::ETHERNET_FRAME;
use goodqueue_sim::switch::Buffers;
use toml::Spanned;
use toml::de::DeValue;

use super::keys::{Key, Kind, SWITCH, SWITCH_CHANGE};
use super::links::{LineWords, OneWay, QueueWords, queue};
use super::read::{self, At, Read, Section, Wrong, check_name};

/// The keys given for a switch.
#[derive(Clone, Debug, Default, PartialEq)]
struct Words {
    buffers: Option<Buffers>,
    queue: Option<At<QueueWords>>,
    memory: Option<Option<u64>>,
}

/// A switch.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Switch {
    pub(super) node: At<String>,
    words: Words,
}

/// A variant's changes to a switch.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Change {
    pub(super) node: At<String>,
    words: Words,
}

impl Words {
    fn read(section: &Section<'_>) -> Read<Words> {
        Ok(Words {
            buffers: section.plain("buffers", buffers)?,
            queue: section.read("queue", queue)?,
            memory: section.plain("memory", memory)?,
        })
    }
}

impl Switch {
    /// The switches of a network.
    pub(super) fn read_all(root: &Section<'_>) -> Read<Vec<Switch>> {
        let mut switches: Vec<Switch> = Vec::new();
        for section in root.sections("switch", &SWITCH)? {
            let node = section.read("node", read::text)?;
            let node = section.required("node", node)?;
            check_name(&node, "a node")?;
            if switches.iter().any(|other| other.node.value == node.value) {
                return Err(Wrong::new(node.at, format!("`{}` is a switch already", node.value)));
            }
            switches.push(Switch { node, words: Words::read(&section)? });
        }
        Ok(switches)
    }

    /// Applies a variant's changes.
    pub(super) fn change(&mut self, change: &Change) {
        let Words { buffers, queue, memory } = &change.words;
        self.words.buffers = buffers.or(self.words.buffers);
        self.words.queue = queue.clone().or(self.words.queue.take());
        self.words.memory = memory.or(self.words.memory);
    }

    /// Where packets wait.
    pub(super) fn buffers(&self) -> Buffers {
        self.words.buffers.unwrap_or(Buffers::Voq)
    }

    /// Most bytes that may wait in it.
    pub(super) fn memory(&self) -> Option<u64> {
        self.words.memory.flatten()
    }

    /// Its queue.
    pub(super) fn queue(&self) -> Option<&At<QueueWords>> {
        self.words.queue.as_ref()
    }

    /// As text, for a plan.
    pub(super) fn plan(&self) -> String {
        let waits = match self.buffers() {
            Buffers::Voq => "voq, a queue for each output at each input",
            Buffers::Input => "input, a queue at each input",
            Buffers::Output => "output, a queue at each output",
            Buffers::Shared => "shared, one queue for all",
        };
        let memory = self.memory().map_or(String::new(), |bytes| format!(", {bytes} bytes in all"));
        format!("{}: {waits}{memory}", self.node.value)
    }

    /// The direction `way` of a link as an output of this switch.
    pub(super) fn output(&self, way: &OneWay, to: &str) -> Read<OneWay> {
        let node = &self.node.value;
        let refuse = |at, what: String| Err(Wrong::new(at, format!("`{node}` is a switch: {what}")));
        match &way.line {
            Some(At { value: LineWords::Rate(_), .. }) => {}
            Some(other) => return refuse(other.at, format!("its line to {to} has one rate")),
            None => return refuse(self.node.at, format!("its link to {to} needs a rate")),
        }
        if let Some((at, name)) = way.beside_a_queue() {
            return refuse(at, format!("its outputs have a queue and a line, and no `{name}`"));
        }
        match &way.queue {
            Some(own) if !self.buffers().are_by_output() => refuse(
                own.at,
                "its packets wait in no queue of an output: give [[switch]] the `queue`".into(),
            ),
            own => Ok(OneWay { queue: own.as_ref().or(self.queue()).cloned(), ..way.clone() }),
        }
    }
}

impl Change {
    /// The changes of a network's switches.
    pub(super) fn read_all(
        key: &Key,
        value: &Spanned<DeValue<'_>>,
        switches: &[Switch],
    ) -> Read<Vec<Change>> {
        let known: Vec<&str> = switches.iter().map(|switch| switch.node.value.as_str()).collect();
        let changes = Section::named(key, value, &SWITCH_CHANGE)?.into_iter().map(|(node, section)| {
            if !known.contains(&node.value.as_str()) {
                let nearest = crate::hint::did_you_mean(&node.value, &known);
                let what = match known.as_slice() {
                    [] => format!("there is no [[switch]] at `{}`", node.value),
                    known => {
                        format!("no switch is at `{}`; there are {}{nearest}", node.value, known.join(", "))
                    }
                };
                return Err(Wrong::new(node.at, what));
            }
            Ok(Change { node, words: Words::read(&section)? })
        });
        changes.collect()
    }
}

fn buffers(key: &Key, kind: Kind, value: &Spanned<DeValue<'_>>) -> Read<Buffers> {
    match read::text(key, kind, value)?.as_str() {
        "voq" => Ok(Buffers::Voq),
        "input" => Ok(Buffers::Input),
        "output" => Ok(Buffers::Output),
        "shared" => Ok(Buffers::Shared),
        _ => Err(read::refuse(key, value, "use voq, input, output or shared")),
    }
}

fn memory(key: &Key, kind: Kind, value: &Spanned<DeValue<'_>>) -> Read<Option<u64>> {
    if value.get_ref().as_str() == Some("none") {
        return Ok(None);
    }
    match read::bytes(key, kind, value)? {
        few if few < u64::from(ETHERNET_FRAME) => {
            Err(read::refuse(key, value, format!("no full packet of {ETHERNET_FRAME} bytes fits into it")))
        }
        bytes => Ok(Some(bytes)),
    }
}
