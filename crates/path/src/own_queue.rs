//! The queues of a host's own interfaces during a load. TCP learns at once of what such a queue drops, and
//! what waits in it has not left the host: from the ends of the path, that looks like another kind of queue.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The least time between two looks, ns.
pub const INTERVAL: i64 = 200_000_000;
/// Most bytes of the name of an interface (Linux `IFNAMSIZ`) and of a queueing discipline.
const NAME: usize = 16;

/// The root queueing discipline of an interface at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Root {
    /// The interface.
    pub interface: String,
    /// The queueing discipline.
    pub kind: String,
    /// Bytes sent since it was made.
    pub bytes: u64,
    /// Packets dropped since it was made.
    pub drops: u32,
    /// Bytes that wait.
    pub backlog: u32,
}

/// Reads all of a host's; it must not wait.
pub type Source = Box<dyn FnMut() -> Vec<Root> + Send>;

/// The queue through which a host sent a load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnQueue {
    /// The interface.
    pub interface: String,
    /// The root queueing discipline, as `tc` calls it.
    pub kind: String,
    /// Packets that it dropped during the load.
    pub drops: u64,
    /// Thousandths of the looks at which packets waited in it.
    pub waiting_permille: u32,
}

impl OwnQueue {
    /// Whether the names can be those of an interface and a queueing discipline; another host may tell
    /// anything.
    #[must_use]
    pub fn is_plausible(&self) -> bool {
        let is_name =
            |text: &str| (1..=NAME).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        is_name(&self.interface) && is_name(&self.kind) && self.waiting_permille <= 1000
    }
}

/// What looks during a load have shown.
#[derive(Clone, Debug, Default)]
pub struct Looks {
    last: i64,
    /// By interface: the first and the last look, how many there were, and at how many packets waited.
    seen: BTreeMap<String, (Root, Root, u32, u32)>,
}

impl Looks {
    /// Whether the next look is due at this time of the load, ns.
    #[must_use]
    pub fn is_due(&self, t: i64) -> bool {
        t >= 0 && (self.seen.is_empty() || t >= self.last.saturating_add(INTERVAL))
    }

    /// Takes a look of that time.
    pub fn take(&mut self, t: i64, roots: Vec<Root>) {
        self.last = t;
        for root in roots {
            let waits = u32::from(root.backlog > 0);
            match self.seen.get_mut(&root.interface) {
                Some((_, last, looks, waiting)) => {
                    (*looks, *waiting) = (*looks + 1, *waiting + waits);
                    *last = root;
                }
                None => {
                    self.seen.insert(root.interface.clone(), (root.clone(), root, 1, waits));
                }
            }
        }
    }

    /// The queue of an interface.
    #[must_use]
    pub fn of(&self, interface: &str) -> Option<OwnQueue> {
        let (first, last, looks, waiting) = self.seen.get(interface)?;
        Some(OwnQueue {
            interface: interface.to_owned(),
            kind: last.kind.clone(),
            // The counters of a queue that was made again start from zero.
            drops: last.drops.checked_sub(first.drops).unwrap_or(last.drops).into(),
            waiting_permille: waiting * 1000 / looks,
        })
    }

    /// The queue that sent the most. A tunnel and the device below it send as much: of those, the one that
    /// dropped the most, or in which packets waited the longest.
    #[must_use]
    pub fn busiest(&self) -> Option<OwnQueue> {
        let sent = |(first, last, ..): &(Root, Root, u32, u32)| last.bytes.saturating_sub(first.bytes);
        let most = self.seen.values().map(sent).max().filter(|most| *most > 0)?;
        let enough = self.seen.iter().filter(|(_, seen)| sent(seen) >= most - most / 20);
        let queues = enough.filter_map(|(interface, _)| self.of(interface));
        queues.max_by_key(|queue| (queue.drops, queue.waiting_permille))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(interface: &str, bytes: u64, drops: u32, backlog: u32) -> Root {
        Root { interface: interface.into(), kind: "pfifo_fast".into(), bytes, drops, backlog }
    }

    #[test]
    fn the_queue_that_sent_the_most_is_the_load_s() {
        let mut looks = Looks::default();
        assert_eq!(looks.busiest(), None);
        assert!(looks.is_due(0) && !looks.is_due(-1));
        looks.take(0, vec![root("eth0", 5000, 7, 0), root("wlan0", 9000, 0, 0)]);
        assert_eq!(looks.busiest(), None, "nothing was sent yet");
        assert!(!looks.is_due(INTERVAL - 1) && looks.is_due(INTERVAL));
        looks.take(INTERVAL, vec![root("eth0", 90_000, 7, 3000), root("wlan0", 9100, 0, 0)]);
        looks.take(2 * INTERVAL, vec![root("eth0", 180_000, 19, 4500), root("wlan0", 9200, 0, 0)]);
        let kind = "pfifo_fast".to_owned();
        let eth0 = OwnQueue { interface: "eth0".into(), kind, drops: 12, waiting_permille: 666 };
        assert_eq!(looks.busiest(), Some(eth0));
        assert_eq!(looks.of("wlan0").map(|queue| queue.waiting_permille), Some(0));
        // A tunnel above it adds headers, and drops nothing.
        for bytes in [0, 171_000] {
            looks.take(2 * INTERVAL, vec![root("wg0", bytes, 0, 0)]);
        }
        assert_eq!(looks.busiest().map(|queue| (queue.interface, queue.drops)), Some(("eth0".into(), 12)));
        // It was made again.
        looks.take(3 * INTERVAL, vec![root("eth0", 100, 2, 0)]);
        assert_eq!(looks.of("eth0").map(|queue| queue.drops), Some(2));
    }

    #[test]
    fn names_from_another_host_are_names() {
        let queue = |interface: &str, kind: &str, waiting_permille| {
            OwnQueue { interface: interface.into(), kind: kind.into(), drops: 1, waiting_permille }
                .is_plausible()
        };
        assert!(queue("eth0", "fq_codel", 1000) && queue("enp0s31f6.4000", "mq", 0));
        assert!(!queue("", "mq", 0) && !queue("eth0\x1b[2J", "mq", 0) && !queue("eth0", "a queue", 0));
        assert!(!queue("eth0", "mq", 1001) && !queue(&"e".repeat(17), "mq", 0));
    }
}
