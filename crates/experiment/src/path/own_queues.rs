//! The queues of this machine's own interfaces: Linux tells every user. Other systems are not asked.

use goodqueue_path::own_queue::Source;

/// Reads the root queues of this network namespace's interfaces; `None` where the kernel does not tell. It
/// opens a socket now, and no more later.
#[cfg(target_os = "linux")]
#[must_use]
pub fn own_queues() -> Option<Source> {
    use goodqueue_path::own_queue::Root;
    use goodqueue_router::roots::{self, Roots};

    let mut roots = Roots::open().ok()?;
    let root = |roots::Root { interface, kind, counts }: roots::Root| Root {
        interface,
        kind,
        bytes: counts.bytes,
        drops: counts.drops,
        backlog: counts.backlog,
    };
    Some(Box::new(move || roots.now().unwrap_or_default().into_iter().map(root).collect()))
}

/// Other systems are not asked.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn own_queues() -> Option<Source> {
    None
}
