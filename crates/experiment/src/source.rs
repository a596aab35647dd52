//! The source of a request.

use crate::Plan;
use crate::text::Override;
use crate::text::link_file::Flags;

/// The source of the request: the process of a live run reads it again.
#[derive(Debug)]
#[cfg_attr(
    not(all(feature = "live", target_os = "linux")),
    expect(dead_code, reason = "read by live runs alone")
)]
pub(crate) enum Source {
    /// Only flags.
    Plan(Box<Plan>),
    /// An experiment file as named, its text, and the changes by flags.
    File { file: String, text: String, changes: Vec<Override> },
    /// A file that describes a network, and the flags given with it.
    Link { file: String, text: String, flags: Box<Flags> },
}
