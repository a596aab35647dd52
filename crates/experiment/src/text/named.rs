//! Tests, calls, pages and videos by name, and suggestions for a wrong name: for flags and files alike.

use goodqueue_probe::{Extra, Params, ParseExtraError, Test, TestError, Transport};
use toml::Spanned;
use toml::de::DeValue;

use super::keys::{Key, Kind};
use super::read::{self, Read, Wrong};
use crate::hint::did_you_mean;
use crate::own_cc::CcText;

/// A call, a page or a video.
///
/// # Errors
/// An error in its text.
pub(crate) fn extra(text: &str) -> Result<Extra, String> {
    text.parse::<Extra>().map_err(|error| {
        let nearest = match &error {
            ParseExtraError::Unknown { word, candidates } => did_you_mean(word, candidates),
            ParseExtraError::Dscp { .. } => String::new(),
        };
        format!("{error}; `goodqueue tests` lists them{nearest}")
    })
}

/// The same in a file.
pub(super) fn read_extra(key: &Key, kind: Kind, value: &Spanned<DeValue<'_>>) -> Read<Extra> {
    extra(&read::text(key, kind, value)?).map_err(|why| Wrong::new(value.span().start, why))
}

/// The test of this name, whose congestion controls the simulator has.
///
/// # Errors
/// An error in the name or a parameter.
pub(super) fn simulated(name: &str, params: &Params) -> Result<Test, String> {
    let test = goodqueue_probe::resolve(name, params).map_err(|error| words(&error))?;
    check_cc(&test)?;
    Ok(test)
}

/// Why there is no such test, with the nearest existing one.
pub(crate) fn words(error: &TestError) -> String {
    match error {
        // There are too many to name all of them.
        TestError::Unknown { name, candidates } => {
            format!("{error}; `goodqueue tests` lists them{}", did_you_mean(name, candidates))
        }
        _ => format!("{error}; `goodqueue tests` lists the tests"),
    }
}

/// Checks that the simulator has the congestion controls of the test's flows; otherwise says why not, with
/// the nearest.
pub(super) fn check_cc(test: &Test) -> Result<(), String> {
    // QUIC's congestion controls were checked with the test.
    let flows = test.flows.iter().filter(|flow| flow.transport == Transport::Tcp).map(|flow| &flow.cc);
    let mut names = flows.chain(test.rpm.iter().map(|rpm| &rpm.cc));
    names.find_map(|cc| cc.parse::<CcText>().err()).map_or(Ok(()), Err)
}
