//! The source of a request.

use crate::Plan;
use crate::text::Override;
use crate::text::link_file::Flags;

/// Where it comes from: the process of a live run reads it again.
#[derive(Debug)]
#[cfg_attr(
    not(all(feature = "live", target_os = "linux")),
    expect(dead_code, reason = "read by live runs alone")
)]
pub(crate) enum Source {
    /// Flags alone.
    Plan(Box<Plan>),
    /// An experiment file as it was named, its text, and what flags change of it.
    File { file: String, text: String, changes: Vec<Override> },
    /// A file that describes a network, and the flags given with it.
    Link { file: String, text: String, flags: Box<Flags> },
}
