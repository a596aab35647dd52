//! The policy for a real access point, from the same text that the simulator reads.

use std::path::Path;

use goodqueue::Span;
use goodqueue::wifi::policy::{GroupId, Groups};
use goodqueue_sim::wifi::PolicySpec;
use toml::de::DeTable;

use super::keys::{ROOT, WIFI};
use super::read::{self, Read, Section, Wrong};
use super::wifi::real_policy;
use super::{ExperimentError, MOST_BYTES};

/// Groups, weights and limits for the stations of a real access point: `policy`, `update`, `[[wifi.group]]`
/// and `[[wifi.station]]` of a file for `--link`, or of an experiment file. A station is identified by its
/// `mac`, a group by the `interface` of its stations.
///
/// ```
/// use goodqueue_experiment::AirtimePolicy;
///
/// # fn main() -> Result<(), goodqueue_experiment::ExperimentError> {
/// let text = "[wifi]\n[[wifi.group]]\nname = 'guests'\ninterface = 'guest0'\n\
///             [[wifi.station]]\nname = 'tv'\nmac = '02:00:00:00:01:00'\nweight = 2\n";
/// let policy = AirtimePolicy::parse(text, "policy.toml")?;
/// assert!(policy.groups().is_some());
/// let (group, weight) = policy.place([2, 0, 0, 0, 1, 0], "wlan0").expect("the television");
/// assert!(group.is_none() && weight == 2);
/// let (group, weight) = policy.place([2, 0, 0, 0, 9, 0], "guest0").expect("a guest");
/// assert!(group.is_some() && weight == 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct AirtimePolicy {
    interval: Span,
    groups: Option<Groups>,
    stations: Vec<([u8; 6], Option<GroupId>, Option<u32>)>,
    interfaces: Vec<(String, GroupId)>,
}

impl AirtimePolicy {
    /// Reads a file.
    ///
    /// # Errors
    /// The error with its place; without a line if the file cannot be read at all.
    pub fn read(path: &Path) -> Result<AirtimePolicy, ExperimentError> {
        let file = path.display().to_string();
        let text = crate::input::text(path, MOST_BYTES).map_err(|what| ExperimentError {
            file: file.clone(),
            line: 0,
            column: 0,
            what,
        })?;
        AirtimePolicy::parse(&text, &file)
    }

    /// Reads `text`; `file` is its name for errors.
    ///
    /// # Errors
    /// The error with its place.
    pub fn parse(text: &str, file: &str) -> Result<AirtimePolicy, ExperimentError> {
        policy(text).map_err(|wrong| {
            let (line, column) = read::place(text, wrong.at);
            ExperimentError { file: file.to_owned(), line, column, what: wrong.what }
        })
    }

    /// The groups, without stations; `None` if the policy is static: weights as given.
    #[must_use]
    pub fn groups(&self) -> Option<Groups> {
        self.groups.clone()
    }

    /// How often weights are computed.
    #[must_use]
    pub fn interval(&self) -> Span {
        self.interval
    }

    /// The group and the weight of the station with this address at this interface. `None` if the file does
    /// not mention it: it is then outside the groups, with weight 1; with a static policy its weight is
    /// unchanged.
    #[must_use]
    pub fn place(&self, mac: [u8; 6], interface: &str) -> Option<(Option<GroupId>, u32)> {
        let own = self.stations.iter().find(|(other, ..)| *other == mac);
        let around = self.interfaces.iter().find(|(name, _)| name == interface).map(|(_, group)| *group);
        if self.groups.is_none() {
            return own.and_then(|(_, _, weight)| Some((None, (*weight)?)));
        }
        match own {
            Some((_, group, weight)) => Some((group.or(around), weight.unwrap_or(1))),
            None => around.map(|group| (Some(group), 1)),
        }
    }
}

fn policy(text: &str) -> Read<AirtimePolicy> {
    let document = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(text.len(), |span| span.start);
        Wrong::new(at, error.message().replace('\n', ", "))
    })?;
    let root = Section::new(0, document.get_ref(), &ROOT)?;
    let Some(wifi) = root.section("wifi", &WIFI)? else {
        return Err(Wrong::new(0, "a policy for stations is in [wifi], and there is none"));
    };
    let real = real_policy(&wifi)?;
    let (groups, ids) = PolicySpec::groups(&real.groups).map_err(|why| Wrong::new(wifi.at, why))?;
    let stations =
        real.stations.into_iter().map(|(mac, group, weight)| (mac, group.map(|at| ids[at]), weight));
    Ok(AirtimePolicy {
        interval: real.interval,
        groups: (!real.is_static).then_some(groups),
        stations: stations.collect(),
        interfaces: real.interfaces.into_iter().map(|(name, group)| (name, ids[group])).collect(),
    })
}
