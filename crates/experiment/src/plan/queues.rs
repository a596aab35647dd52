//! The queues that are compared.

use goodqueue::{Nanos, QueueSpec, Rate};

use super::{FRAME, LinkOrder};
use crate::Error;
use crate::hint::did_you_mean;
use crate::text::share::QueueText;
use crate::text::simple::default_queues;

/// The queues of `--queue`, or those that this link is compared with by default, in their canonical words.
pub(super) fn queues(text: Option<&str>, link: &LinkOrder) -> Result<Vec<String>, Error> {
    let default = default_queues(link.is_shaped(), link.has_buffer()).join(",");
    let text = text.unwrap_or(&default);
    let specs = read(text)?;
    let mut words: Vec<String> = Vec::new();
    for queue in specs {
        for bps in [link.up_bps, link.down_bps] {
            let why = |why| Error::Usage(format!("--queue {queue}: {why}"));
            check(&queue.at(Some(Rate(bps))).map_err(why)?, Rate(bps))?;
        }
        let canonical = queue.to_string();
        if words.contains(&canonical) {
            return Err(Error::Usage(format!("--queue {text}: {canonical} is named twice")));
        }
        words.push(canonical);
    }
    Ok(words)
}

fn read(text: &str) -> Result<Vec<QueueText>, Error> {
    QueueText::list(text).map_err(|error| {
        let nearest = error.unknown().map_or(String::new(), |(word, known)| did_you_mean(word, known));
        Error::Usage(format!(
            "--queue {text}: {error}{nearest}; `goodqueue queues` lists queues and parameters"
        ))
    })
}

/// The queues of a list in their canonical words.
///
/// # Errors
/// [`Error::Usage`] for the first that is wrong.
pub(crate) fn words(text: &str) -> Result<Vec<String>, Error> {
    Ok(read(text)?.iter().map(ToString::to_string).collect())
}

/// Builds the queue once, so that what cannot be built is said before anything runs. A depth in bytes that
/// no full frame fits into can be built, and passes nothing.
fn check(spec: &QueueSpec, rate: Rate) -> Result<(), Error> {
    for holder in [Some(*spec), spec.leaf()].into_iter().flatten() {
        if let Some(words) = holder.too_small_for(FRAME) {
            return Err(Error::Usage(format!(
                "--queue {spec}: no full packet of {FRAME} bytes fits into {words}"
            )));
        }
    }
    spec.build::<goodqueue::Header>(rate, FRAME, Nanos::ZERO)
        .map(|_| ())
        .map_err(|error| Error::Usage(format!("--queue {spec}: {error}")))
}
