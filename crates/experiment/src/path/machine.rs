//! The state of this machine while it measures: how long its threads run and wait, the bytes on its
//! interfaces, and the bit rate of its Wi-Fi.

use std::collections::BTreeMap;

use goodqueue_path::own_queue::{INTERVAL, Looks, Source};

use super::own_queues;
use super::wifi::Wifi;

/// The counters of this machine at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Snapshot {
    /// Nanoseconds from the start of the load.
    pub(super) t: i64,
    /// For each thread of this process: nanoseconds that it has run, and waited for a processor.
    pub(super) threads: BTreeMap<u32, [u64; 2]>,
    /// For each interface: bytes received and sent.
    pub(super) interfaces: BTreeMap<String, [u64; 2]>,
}

impl Snapshot {
    /// Takes a snapshot now. It leaves out what this kernel does not report.
    fn now(t: i64) -> Snapshot {
        let mut look = Snapshot { t, ..Snapshot::default() };
        if !cfg!(target_os = "linux") {
            return look;
        }
        for task in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
            let name = task.file_name();
            let text = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            if let (Some(id), Some(times)) = (name.to_str().and_then(|id| id.parse().ok()), schedstat(&text))
            {
                look.threads.insert(id, times);
            }
        }
        // The counters of this network namespace, even if /sys is from another one.
        look.interfaces = interfaces(&std::fs::read_to_string("/proc/self/net/dev").unwrap_or_default());
        look
    }
}

/// The observations of this machine under load.
pub(super) struct Machine {
    /// Near the start and near the end of the load.
    pub(super) looks: Option<[Snapshot; 2]>,
    pub(super) wifi: Wifi,
    /// The queues of its interfaces.
    pub(super) queues: Looks,
    pub(super) source: Option<Source>,
}

impl Machine {
    /// Without observations.
    pub(super) fn new() -> Machine {
        Machine { looks: None, wifi: Wifi::open(), queues: Looks::default(), source: own_queues() }
    }

    /// Looks at it now, at time `t` of the load, ns, unless it was looked at in the last 200 ms.
    pub(super) fn look(&mut self, t: i64) {
        if t < 0 || self.looks.as_ref().is_some_and(|[_, last]| t < last.t.saturating_add(INTERVAL)) {
            return;
        }
        self.wifi.look(t);
        if let Some(source) = &mut self.source {
            self.queues.take(t, source());
        }
        let now = Snapshot::now(t);
        match &mut self.looks {
            Some([_, last]) => *last = now,
            none => *none = Some([now.clone(), now]),
        }
    }
}

/// The first two of the three figures of `/proc/*/schedstat` (Linux
/// `Documentation/scheduler/sched-stats.rst`).
fn schedstat(text: &str) -> Option<[u64; 2]> {
    let mut figures = text.split_whitespace().map(|figure| figure.parse().ok());
    Some([figures.next()??, figures.next()??])
}

/// Prefixes of the names of interfaces that carry other interfaces' frames a second time: those on which the
/// shapers of `sqm` and `shape` queue arriving packets.
const SECOND_TIME: [&str; 3] = ["ifb", "gqup", "gqdn"];

/// Bytes received and sent by interface, from `/proc/net/dev`.
fn interfaces(text: &str) -> BTreeMap<String, [u64; 2]> {
    let line = |line: &str| {
        let (name, figures) = line.split_once(':')?;
        if SECOND_TIME.iter().any(|prefix| name.trim_start().starts_with(prefix)) {
            return None;
        }
        let figures: Vec<u64> = figures.split_whitespace().filter_map(|figure| figure.parse().ok()).collect();
        Some((name.trim().to_owned(), [*figures.first()?, *figures.get(8)?]))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_files_are_read() {
        assert_eq!(schedstat("67950068 5543104 240\n"), Some([67_950_068, 5_543_104]));
        assert_eq!(schedstat(""), None);
        let text = "Inter-| Receive | Transmit\n face |bytes packets\n    lo: 8 3 0 0 0 0 0 0 9 3 0 0 0 0 0 0\n\
                    eth0:825 2 0 0 0 0 0 0 11 1 0 0 0 0 0 0\nifb4eth0:825 2 0 0 0 0 0 0 11 1 0 0 0 0 0 0\n";
        let want = [("eth0".to_owned(), [825, 11]), ("lo".to_owned(), [8, 9])];
        assert_eq!(interfaces(text), want.into());
        let look = Snapshot::now(3);
        assert!(look.t == 3 && look.interfaces.contains_key("lo"), "{look:?}");
    }
}
