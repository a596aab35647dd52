//! The transmit stack of 802.11 under replay: families `wifi-txq`, `wifi-airtime` and `wifi-duration`, whose
//! records `vectors/README.md` describes. A file's first line is `# format FAMILY 1`.

mod calls;
mod duration;
mod fields;
mod records;
mod state;

use std::collections::BTreeMap;
use std::path::Path;

use super::Fault;
use super::report::{Compared, Report};
use fields::Text;

/// The families, as the first line of a file names them.
pub(super) const FAMILIES: [&str; 3] = ["wifi-txq", "wifi-airtime", "wifi-duration"];

/// Whether a text is of one of the families.
pub(super) fn is_one(text: &str) -> bool {
    text.starts_with("# format ")
}

/// Replays a text.
pub(super) fn replay(path: &Path, text: &str) -> Result<Report, Fault> {
    let text = Text::read(text)?;
    let report = Report {
        file: path.display().to_string(),
        queue: text.family.to_string(),
        scenario: text.scenario.to_string(),
        reference: text.reference.to_string(),
        calls: BTreeMap::new(),
        compared: Compared::default(),
        difference: None,
    };
    if text.family == "wifi-duration" {
        duration::replay(&text, report)
    } else {
        records::replay(&text, report)
    }
}
