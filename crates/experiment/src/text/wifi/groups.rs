//! Groups of stations, and the policy that sets their weights, for simulated and real access points.

use goodqueue::Span;
use goodqueue::wifi::policy::{DEFAULT_INTERVAL, Mode};
use goodqueue_sim::wifi::{DeviceId, DeviceSpec, GroupSpec, PolicySpec, RadioSpec, Upper};

use super::super::read::{self, At, Read, Section, Wrong};
use super::chain::{Chain, StationSection, word};
use crate::hint::did_you_mean;
use crate::text::keys::wifi::{GROUP, STATION};

/// A group as written.
struct Written {
    at: usize,
    name: String,
    inside: Option<At<String>>,
    interface: Option<At<String>>,
    spec: GroupSpec,
}

/// The part of `[wifi]` about the stations of a real access point, by their addresses and interfaces.
pub(in super::super) struct RealPolicy {
    pub(in super::super) is_static: bool,
    pub(in super::super) interval: Span,
    pub(in super::super) groups: Vec<GroupSpec>,
    /// The address of a station, its group and its weight as written.
    pub(in super::super) stations: Vec<([u8; 6], Option<usize>, Option<u32>)>,
    /// The name of an interface, and the group of its stations.
    pub(in super::super) interfaces: Vec<(String, usize)>,
}

/// Reads the policy of `[wifi]` for a real access point.
pub(in super::super) fn real_policy(wifi: &Section<'_>) -> Read<RealPolicy> {
    let chain = Chain(vec![*wifi]);
    let policy = chain.read("policy", word)?;
    let groups = in_order(written(&chain, policy.as_ref())?)?;
    let mut stations: Vec<([u8; 6], Option<usize>, Option<u32>)> = Vec::new();
    for table in wifi.sections("station", &STATION)? {
        let Some(mac) = mac_of(&table)? else { continue };
        if stations.iter().any(|(other, ..)| *other == mac.value) {
            return Err(Wrong::new(mac.at, "an earlier station has this address"));
        }
        let group = match table.read("group", read::text)? {
            Some(name) => Some(place(&groups, &name)?),
            None => None,
        };
        let weight = table.plain("weight", read::count)?.and_then(|weight| u32::try_from(weight).ok());
        stations.push((mac.value, group, weight));
    }
    let mut interfaces: Vec<(String, usize)> = Vec::new();
    for (at, group) in groups.iter().enumerate() {
        let Some(interface) = &group.interface else { continue };
        if interfaces.iter().any(|(other, _)| *other == interface.value) {
            return Err(Wrong::new(interface.at, "an earlier group has this interface"));
        }
        interfaces.push((interface.value.clone(), at));
    }
    if stations.is_empty() && interfaces.is_empty() {
        let what = "no policy for a real access point: no [[wifi.station]] has `mac`, and no [[wifi.group]] has \
                    `interface`";
        return Err(Wrong::new(wifi.at, what));
    }
    Ok(RealPolicy {
        is_static: policy.map_or(groups.is_empty(), |policy| policy.value == "static"),
        interval: chain.plain("update", read::span)?.unwrap_or(DEFAULT_INTERVAL),
        groups: groups.into_iter().map(|group| group.spec).collect(),
        stations,
        interfaces,
    })
}

/// The address of a station, six numbers of two hexadecimal digits.
fn mac_of(table: &Section<'_>) -> Read<Option<At<[u8; 6]>>> {
    let Some(text) = table.read("mac", read::text)? else { return Ok(None) };
    let byte = |word: &str| {
        let is_hex = word.len() == 2 && word.bytes().all(|digit| digit.is_ascii_hexdigit());
        is_hex.then(|| u8::from_str_radix(word, 16).ok()).flatten()
    };
    let bytes = text.value.split(':').map(byte).collect::<Option<Vec<u8>>>();
    let mac = bytes.and_then(|bytes| <[u8; 6]>::try_from(bytes).ok()).ok_or_else(|| {
        let shown = text.value.escape_debug();
        Wrong::new(text.at, format!("mac = \"{shown}\": no address; write mac = \"02:00:00:00:01:00\""))
    })?;
    Ok(Some(At { at: text.at, value: mac }))
}

/// Gives the access point, the first of `devices`, its policy.
pub(super) fn join(
    chain: &Chain<'_>,
    station_sections: &[StationSection<'_>],
    devices: &mut [DeviceSpec],
) -> Read<()> {
    let policy = chain.read("policy", word)?;
    let groups = in_order(written(chain, policy.as_ref())?)?;
    let interval = chain.plain("update", read::span)?.unwrap_or(DEFAULT_INTERVAL);
    let mut members = Vec::new();
    for (device, section) in (1..).zip(station_sections) {
        // [wifi] also has a `group`: the tables of the groups.
        let own: Vec<Section<'_>> =
            section.chain.0.iter().filter(|table| table.is(&STATION)).copied().collect();
        for table in &own {
            mac_of(table)?;
        }
        let group = match Chain(own).read("group", read::text)? {
            Some(name) => Some(place(&groups, &name)?),
            None => None,
        };
        let weight =
            section.chain.plain("weight", read::count)?.and_then(|weight| u32::try_from(weight).ok());
        members.push((device as DeviceId, group, weight.unwrap_or(1)));
    }
    let is_static = policy.as_ref().map_or(groups.is_empty(), |policy| policy.value == "static");
    // A variant with queues that do not distinguish stations ignores the groups of [wifi].
    let weighs = |device: &&mut DeviceSpec| matches!(device.driver.upper, Upper::Mac80211(_));
    if !is_static && let Some(access_point) = devices.first_mut().filter(weighs) {
        let groups = groups.into_iter().map(|group| group.spec).collect();
        access_point.policy = Some(PolicySpec { groups, members, interval });
    }
    Ok(())
}

/// The message for a limit that no policy uses.
const UNHEARD: &str = "`limit` has no effect without policy = \"limit\"";

/// Refuses a limit of a group of `[wifi]` that none of these radios (those of the variants) uses.
pub(in super::super) fn check_limits<'a>(
    base: &Section<'_>,
    radios: impl IntoIterator<Item = &'a RadioSpec>,
) -> Read<()> {
    let groups = |radio: &'a RadioSpec| {
        let policies = radio.devices.iter().filter_map(|device| device.policy.as_ref());
        policies.flat_map(|policy| &policy.groups)
    };
    if radios.into_iter().flat_map(groups).any(|group| group.mode == Mode::Limit) {
        return Ok(());
    }
    for table in base.sections("group", &GROUP)? {
        if let Some(limit) = table.read("limit", read::switch)?.filter(|limit| limit.value) {
            return Err(Wrong::new(limit.at, UNHEARD));
        }
    }
    Ok(())
}

/// The groups; `policy`: the one in force. Groups of `[wifi]` may have limits that only another variant's
/// policy uses.
fn written(chain: &Chain<'_>, policy: Option<&At<String>>) -> Read<Vec<Written>> {
    let Some(section) = chain.first_with(&["group"]) else { return Ok(Vec::new()) };
    let is_limited = policy.is_some_and(|policy| policy.value == "limit");
    let is_variants = chain.0.len() > 1 && section.at == chain.at();
    let mut groups: Vec<Written> = Vec::new();
    for table in section.sections("group", &GROUP)? {
        let name = table.read("name", read::text)?;
        let name = table.required("name", name)?;
        if groups.iter().any(|other| other.name == name.value) {
            return Err(Wrong::new(
                name.at,
                format!("two groups are called `{}`", name.value.escape_debug()),
            ));
        }
        let weight = table.plain("weight", read::count)?.and_then(|weight| u32::try_from(weight).ok());
        let limit = table.read("limit", read::switch)?.filter(|limit| limit.value);
        if let Some(limit) = limit.as_ref().filter(|_| is_variants && !is_limited) {
            return Err(Wrong::new(limit.at, UNHEARD));
        }
        let mode = if limit.is_some() && is_limited { Mode::Limit } else { Mode::Weighted };
        let spec = GroupSpec { parent: None, weight: weight.unwrap_or(1), mode };
        let inside = table.read("inside", read::text)?;
        let interface = table.read("interface", read::text)?;
        groups.push(Written { at: table.at, name: name.value, inside, interface, spec });
    }
    Ok(groups)
}

/// Each group after the one that contains it.
fn in_order(mut left: Vec<Written>) -> Read<Vec<Written>> {
    for group in &left {
        if let Some(inside) = &group.inside {
            place(&left, inside)?;
        }
    }
    let mut groups: Vec<Written> = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let parent = |group: &Written, groups: &[Written]| match &group.inside {
            None => Some(None),
            Some(inside) => groups.iter().position(|other| other.name == inside.value).map(Some),
        };
        let next = left.iter().enumerate().find_map(|(at, group)| Some((at, parent(group, &groups)?)));
        let Some((at, parent)) = next else {
            let what = format!("group `{}` is inside of itself", left[0].name.escape_debug());
            return Err(Wrong::new(left[0].inside.as_ref().map_or(left[0].at, |inside| inside.at), what));
        };
        let mut group = left.remove(at);
        group.spec.parent = parent;
        groups.push(group);
    }
    Ok(groups)
}

fn place(groups: &[Written], name: &At<String>) -> Read<usize> {
    groups.iter().position(|group| group.name == name.value).ok_or_else(|| {
        let known: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
        let nearest = did_you_mean(&name.value, &known);
        Wrong::new(name.at, format!("no group is called `{}`{nearest}", name.value.escape_debug()))
    })
}
