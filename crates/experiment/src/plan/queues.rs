//! The queues to compare.

use goodqueue::Rate;
use goodqueue_own::Library;

use super::LinkOrder;
use crate::Error;
use crate::fit::unfit;
use crate::hint::did_you_mean;
use crate::text::queue_text::QueueText;
use crate::text::simple::default_queues;

/// The queues of `--queue`, or this link's default queues, in their canonical form.
pub(super) fn queues(text: Option<&str>, link: &LinkOrder) -> Result<Vec<String>, Error> {
    let default = default_queues(link.is_shaped(), link.has_buffer()).join(",");
    let text = text.unwrap_or(&default);
    let specs = read(text)?;
    let mut words: Vec<String> = Vec::new();
    for queue in specs {
        for bps in [link.up_bps, link.down_bps] {
            let why = |why| Error::Usage(format!("--queue {queue}: {why}"));
            if let Some(reason) = unfit(&queue.at(Some(Rate(bps))).map_err(why)?, Rate(bps)) {
                return Err(Error::Usage(format!("--queue {reason}")));
            }
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
        Error::Usage(format!("--queue {text}: {error}; {}{nearest}", error.cure()))
    })
}

/// The first of these queues that wants firewall marks.
pub(super) fn with_marks(queues: &[String]) -> Option<&String> {
    let wants = |queue: QueueText| queue.plain().is_ok_and(|queue| queue.needs().marks);
    // A library would be loaded once more.
    let is_library = |words: &str| words.split(',').next().is_some_and(Library::is_path);
    queues.iter().find(|words| !is_library(words) && words.parse().is_ok_and(wants))
}

/// The queues of a list in their canonical form.
///
/// # Errors
/// [`Error::Usage`] for the first that is wrong.
pub(crate) fn words(text: &str) -> Result<Vec<String>, Error> {
    Ok(read(text)?.iter().map(ToString::to_string).collect())
}
