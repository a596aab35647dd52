//! Airtime policies: shares of groups of stations, converted into weights of stations outside of the packet
//! path.
//!
//! The scheduler knows only stations and weights. A policy decides on groups (a guest network, a room, an
//! account) and groups of groups. It runs on a timer ([`DEFAULT_INTERVAL`]), since a group's weights depend
//! on how many of its stations are active. For groups i of weight W_i with N_i active stations the weight of
//! a station is W_i C / N_i, where C is the product of all N_i; so the group's sum is W_i C whatever N_i is
//! (PoliFi: Høiland-Jørgensen, Hurtig, Brunstrom, WCNC 2019). Here the division uses 64-bit fixed point, and
//! the result is scaled to the weights that Linux accepts, because that product does not fit into 16 bits.

use alloc::vec::Vec;
use core::fmt;

use super::TxStack;
use super::id::StationId;
use crate::{Nanos, Packet, Span};

/// How often weights are recomputed (`hostapd`'s `airtime_update_interval`).
pub const DEFAULT_INTERVAL: Span = Span::from_millis(200);

/// A station counts as active for this many half intervals after it was last active (`hostapd`: 2.5
/// intervals).
const ACTIVE_HALVES: u64 = 5;

/// The weight of the heaviest station, us per round. The others are rounded to the nearest value and are at
/// least 1.
const HEAVIEST: u64 = 1024;

/// A station, for a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StationActivity {
    /// The station.
    pub station: StationId,
    /// Whether packets waited for it recently.
    pub is_active: bool,
}

/// Decides weights. Implement this for your own policy.
pub trait Policy {
    /// Calls `set` with the weight, 1 to 65535, of each station whose weight it sets.
    fn weigh(&mut self, now: Nanos, members: &[StationActivity], set: &mut dyn FnMut(StationId, u32));
}

/// The kind of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// It gets its share by weight, if it has an active station.
    #[default]
    Weighted,
    /// Its share by weight is an upper bound: if equal shares of all stations would give it less, it gets
    /// those.
    Limit,
}

/// The number of a group in [`Groups`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupId(u32);

/// All airtime, in fixed point.
const WHOLE: u64 = 1 << 40;

/// The contents of a group or of the radio, which divide its airtime.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    /// Active stations, including those of inner groups.
    active: u64,
    /// Sum of the weights of the active stations of this group.
    direct_weight: u64,
    /// Its share of the airtime.
    share: u64,
    /// The part of it for the stations of this group itself.
    direct_share: u64,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    /// The enclosing group, which precedes it in the list.
    parent: Option<usize>,
    weight: u32,
    mode: Mode,
    /// Whether plain fairness among stations gives it less than its weight would.
    is_within_limit: bool,
    level: Level,
}

/// Maximum number of groups.
const MOST_GROUPS: usize = 1024;

/// Why a group is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GroupError {
    /// There is no such group.
    UnknownGroup(GroupId),
    /// A weight of 0 or above 65535.
    Weight(u32),
    /// There are 1024 groups.
    TooMany,
    /// No stack can have a station of this number.
    NoSuchStation(StationId),
}

impl fmt::Display for GroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GroupError::UnknownGroup(group) => write!(f, "there is no group {}", group.0),
            GroupError::Weight(weight) => write!(f, "a weight is 1 to 65535, not {weight}"),
            GroupError::NoSuchStation(station) => write!(f, "no stack has a station {}", station.0),
            GroupError::TooMany => f.write_str("there are 1024 groups already"),
        }
    }
}

impl core::error::Error for GroupError {}

/// A tree of groups. A station is in one group, with a weight relative to the other members. A station
/// without a group is next to the outermost groups, with weight 1. Groups without an active station leave
/// their share to the others.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    root: Level,
    groups: Vec<Group>,
    /// Group and weight of each station, by number.
    memberships: Vec<Option<Membership>>,
}

#[derive(Clone, Copy, Debug)]
struct Membership {
    group: Option<usize>,
    weight: u32,
}

/// The membership of a station without a group.
const OUTSIDE: Membership = Membership { group: None, weight: 1 };

const fn check_weight(weight: u32) -> Result<(), GroupError> {
    if matches!(weight, 1..=65_535) { Ok(()) } else { Err(GroupError::Weight(weight)) }
}

impl Groups {
    /// No groups: every station has the same weight.
    #[must_use]
    pub fn new() -> Groups {
        Groups::default()
    }

    /// Adds a group inside `parent`, or an outermost one.
    ///
    /// # Errors
    /// For a weight out of range or an unknown parent.
    pub fn add(&mut self, parent: Option<GroupId>, weight: u32, mode: Mode) -> Result<GroupId, GroupError> {
        check_weight(weight)?;
        let parent = parent.map(|group| self.index(group)).transpose()?;
        let id = u32::try_from(self.groups.len()).map_err(|_| GroupError::TooMany)?;
        if self.groups.len() >= MOST_GROUPS {
            return Err(GroupError::TooMany);
        }
        let level = Level::default();
        self.groups.push(Group { parent, weight, mode, is_within_limit: false, level });
        Ok(GroupId(id))
    }

    /// Puts a station into a group, or next to the outermost groups, with a weight relative to the other
    /// members.
    ///
    /// # Errors
    /// For a weight out of range, an unknown group, or a station that no stack can have.
    pub fn put(&mut self, station: StationId, group: Option<GroupId>, weight: u32) -> Result<(), GroupError> {
        check_weight(weight)?;
        let group = group.map(|group| self.index(group)).transpose()?;
        if station.0 >= super::MOST_STATIONS {
            return Err(GroupError::NoSuchStation(station));
        }
        let at = station.0 as usize;
        if at >= self.memberships.len() {
            self.memberships.resize(at + 1, None);
        }
        self.memberships[at] = Some(Membership { group, weight });
        Ok(())
    }

    fn index(&self, group: GroupId) -> Result<usize, GroupError> {
        let index = group.0 as usize;
        if index < self.groups.len() { Ok(index) } else { Err(GroupError::UnknownGroup(group)) }
    }

    fn place(&self, station: StationId) -> Membership {
        self.memberships.get(station.0 as usize).copied().flatten().unwrap_or(OUTSIDE)
    }

    fn level(&mut self, at: Option<usize>) -> &mut Level {
        match at {
            Some(at) => &mut self.groups[at].level,
            None => &mut self.root,
        }
    }

    /// Counts active stations, up to the root.
    fn count(&mut self, members: &[StationActivity]) {
        self.root = Level::default();
        self.groups.iter_mut().for_each(|group| group.level = Level::default());
        for member in members.iter().filter(|member| member.is_active) {
            let place = self.place(member.station);
            self.level(place.group).direct_weight += u64::from(place.weight);
            let mut at = place.group;
            while let Some(group) = at {
                self.groups[group].level.active += 1;
                at = self.groups[group].parent;
            }
            self.root.active += 1;
        }
    }

    /// Divides the share of a level among its groups and stations.
    fn divide(&mut self, at: Option<usize>) {
        let Level { active, direct_weight, share, .. } = *self.level(at);
        let (mut rest, mut weights) = (share, direct_weight);
        for group in self.groups.iter_mut().filter(|group| group.parent == at && group.level.active > 0) {
            group.is_within_limit = false;
            weights += u64::from(group.weight);
        }
        // If one group leaves airtime to the others, another group may come within its limit.
        let mut changes = true;
        while core::mem::take(&mut changes) {
            for group in self.groups.iter_mut().filter(|group| {
                group.parent == at
                    && group.level.active > 0
                    && group.mode == Mode::Limit
                    && !group.is_within_limit
            }) {
                let equal = part(share, group.level.active, active);
                if equal < part(rest, group.weight.into(), weights) {
                    (group.is_within_limit, group.level.share) = (true, equal);
                    (rest, weights) = (rest - equal, weights - u64::from(group.weight));
                    changes = true;
                }
            }
        }
        for group in self.groups.iter_mut().filter(|group| group.parent == at && group.level.active > 0) {
            if !group.is_within_limit {
                group.level.share = part(rest, group.weight.into(), weights);
            }
        }
        self.level(at).direct_share = part(rest, direct_weight, weights);
    }

    /// A station's share of the airtime.
    fn share_of(&mut self, station: StationId) -> u64 {
        let place = self.place(station);
        let level = *self.level(place.group);
        part(level.direct_share, place.weight.into(), level.direct_weight)
    }
}

/// whole * weight / weights; 0 if `weights` is 0.
fn part(whole: u64, weight: u64, weights: u64) -> u64 {
    let part = u128::from(whole) * u128::from(weight) / u128::from(weights.max(1));
    u64::try_from(part).unwrap_or(u64::MAX)
}

impl Policy for Groups {
    fn weigh(&mut self, _now: Nanos, members: &[StationActivity], set: &mut dyn FnMut(StationId, u32)) {
        self.count(members);
        self.root.share = WHOLE;
        self.divide(None);
        for at in 0..self.groups.len() {
            self.divide(Some(at));
        }
        let active = || members.iter().filter(|member| member.is_active).map(|member| member.station);
        let heaviest = active().map(|station| self.share_of(station)).max().unwrap_or(0);
        for station in active() {
            let share = self.share_of(station);
            let weight = part(share, 2 * HEAVIEST, heaviest).div_ceil(2).clamp(1, HEAVIEST);
            set(station, u32::try_from(weight).unwrap_or(1));
        }
    }
}

/// Stations whose weights a policy sets: those of a [`TxStack`], or of a real access point.
pub trait Stations {
    /// Number of slots for stations. Stations have numbers below this one.
    fn slots(&self) -> u32;

    /// Whether packets wait for the station; `None` if no station has this number.
    fn has_packets(&self, station: StationId) -> Option<bool>;

    /// Sets the weight of a station, 1 to 65535. A number without a station is ignored.
    fn set_weight(&mut self, station: StationId, weight: u32);
}

impl<P: Packet> Stations for TxStack<P> {
    fn slots(&self) -> u32 {
        self.capacity().stations
    }

    fn has_packets(&self, station: StationId) -> Option<bool> {
        self.station_stats(station).map(|_| TxStack::has_packets(self, station))
    }

    fn set_weight(&mut self, station: StationId, weight: u32) {
        // A user's policy may name a removed station or an invalid weight; then nothing changes.
        let _ = TxStack::set_weight(self, station, weight);
    }
}

/// Runs a policy on a timer and sets the weights that it decides.
#[derive(Clone, Debug)]
pub struct PolicyTimer<T> {
    /// The policy.
    pub policy: T,
    interval: Span,
    next: Nanos,
    /// When packets were last seen waiting for a station.
    seen: Vec<Option<Nanos>>,
    members: Vec<StationActivity>,
}

impl<T: Policy> PolicyTimer<T> {
    /// A timer for these stations, first due at `start`. An interval of 0 counts as 1 ns.
    pub fn new(policy: T, interval: Span, start: Nanos, stations: &impl Stations) -> PolicyTimer<T> {
        let slots = stations.slots() as usize;
        let (seen, members) = (alloc::vec![None; slots], Vec::with_capacity(slots));
        PolicyTimer { policy, interval: Span(interval.0.max(1)), next: start, seen, members }
    }

    /// When [`PolicyTimer::poll`] is due.
    pub const fn next_update(&self) -> Nanos {
        self.next
    }

    /// Runs the policy if it is due. As in hostapd, a station is active if packets waited for it at a check
    /// in the last 2.5 intervals: airtime alone does not distinguish a station that could use more from one
    /// with an occasional packet. It checks all slots for stations, and allocates only if there are more of
    /// them than ever before.
    pub fn poll(&mut self, now: Nanos, stations: &mut impl Stations) {
        if now < self.next {
            return;
        }
        self.next = now + self.interval;
        self.members.clear();
        let expiry = self.interval.0.saturating_mul(ACTIVE_HALVES) / 2;
        self.seen.resize(self.seen.len().max(stations.slots() as usize), None);
        for (station, seen) in (0..).map(StationId).zip(&mut self.seen) {
            let Some(has_packets) = stations.has_packets(station) else {
                *seen = None;
                continue;
            };
            if has_packets {
                *seen = Some(now);
            }
            let is_active = seen.is_some_and(|at| now.since(at).0 <= expiry);
            self.members.push(StationActivity { station, is_active });
        }
        self.policy.weigh(now, &self.members, &mut |station, weight| stations.set_weight(station, weight));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(groups: &mut Groups, active: &[u32]) -> Vec<u32> {
        let member = |&number| StationActivity { station: StationId(number), is_active: true };
        let members: Vec<StationActivity> = active.iter().map(member).collect();
        let mut weights = Vec::new();
        groups.weigh(Nanos(0), &members, &mut |_, weight| weights.push(weight));
        weights
    }

    #[test]
    fn without_groups_all_are_equal() {
        assert_eq!(weights(&mut Groups::new(), &[0, 1, 2, 3]), [1024; 4]);
        assert_eq!(weights(&mut Groups::new(), &[]), [0; 0]);
    }

    #[test]
    fn a_station_of_twice_the_weight_has_twice_the_airtime() {
        let mut groups = Groups::new();
        groups.put(StationId(0), None, 2).expect("a weight");
        assert_eq!(weights(&mut groups, &[0, 1, 2, 3]), [1024, 512, 512, 512]);
    }

    /// One station against three, groups of equal weight: W C / N is 3 and 1.
    fn guests(mode: Mode, guests: core::ops::Range<u32>) -> Groups {
        let mut groups = Groups::new();
        let main = groups.add(None, 1, Mode::Weighted).expect("a group");
        let guest = groups.add(None, 1, mode).expect("a group");
        for station in 0..4 {
            let group = if guests.contains(&station) { guest } else { main };
            groups.put(StationId(station), Some(group), 1).expect("a group");
        }
        groups
    }

    #[test]
    fn groups_have_their_shares_whatever_their_numbers() {
        let mut groups = guests(Mode::Weighted, 1..4);
        assert_eq!(weights(&mut groups, &[0, 1, 2, 3]), [1024, 341, 341, 341]);
        assert_eq!(weights(&mut groups, &[0, 1]), [1024, 1024]);
        assert_eq!(weights(&mut groups, &[1, 2, 3]), [1024; 3], "an idle group leaves its share");
    }

    #[test]
    fn a_limit_binds_only_where_stations_would_have_more() {
        let mut many = guests(Mode::Limit, 1..4);
        assert_eq!(weights(&mut many, &[0, 1, 2, 3]), [1024, 341, 341, 341]);
        assert_eq!(weights(&mut many, &[1, 2, 3]), [1024; 3]);
        let mut few = guests(Mode::Limit, 3..4);
        assert_eq!(weights(&mut few, &[0, 1, 2, 3]), [1024; 4], "plain fairness among stations");
    }

    #[test]
    fn three_levels_multiply() {
        let mut groups = Groups::new();
        let outer = groups.add(None, 1, Mode::Weighted).expect("a group");
        let other = groups.add(None, 3, Mode::Weighted).expect("a group");
        let inner = groups.add(Some(outer), 1, Mode::Weighted).expect("a group");
        // Station 0: 1/4 * 1/2 * 1/2, as station 1; station 2: 1/4 * 1/2; station 3: 3/4.
        for (station, group) in [(0, inner), (1, inner), (2, outer), (3, other)] {
            groups.put(StationId(station), Some(group), 1).expect("a group");
        }
        assert_eq!(weights(&mut groups, &[0, 1, 2, 3]), [85, 85, 171, 1024]);
    }

    #[test]
    fn errors_name_the_cause() {
        let mut groups = Groups::new();
        assert_eq!(groups.add(None, 0, Mode::Limit), Err(GroupError::Weight(0)));
        let nowhere = GroupId(3);
        assert_eq!(groups.put(StationId(0), Some(nowhere), 1), Err(GroupError::UnknownGroup(nowhere)));
        let far = StationId(u32::MAX);
        assert_eq!(groups.put(far, None, 1), Err(GroupError::NoSuchStation(far)));
        for _ in 0..MOST_GROUPS {
            groups.add(None, 1, Mode::Weighted).expect("a group");
        }
        assert_eq!(groups.add(None, 1, Mode::Weighted), Err(GroupError::TooMany));
    }

    #[test]
    fn the_timer_runs_the_policy_and_expires_stations() {
        use super::super::{Capacity, InterfaceId, Tid, TxqId, WifiParams};
        let capacity = Capacity { stations: 3, ..Capacity::default() };
        let mut stack = TxStack::<crate::Header>::new(WifiParams::default(), capacity).expect("a stack");
        for station in [0, 1, 2] {
            stack.add_station(StationId(station), InterfaceId(0)).expect("a place");
        }
        let mut groups = Groups::new();
        groups.put(StationId(0), None, 4).expect("a weight");
        let start = Nanos(1_000_000_000);
        let mut timer = PolicyTimer::new(groups, DEFAULT_INTERVAL, start, &stack);
        let weight = |stack: &TxStack<crate::Header>, station| {
            stack.station_stats(StationId(station)).expect("a station").weight
        };
        for station in [0, 1] {
            let txq = TxqId::new(StationId(station), Tid::BE);
            let _ = stack.enqueue(start, txq, crate::Header::default(), &mut crate::Ignore);
        }
        // Frames of station 2 are sent immediately.
        stack.register_airtime(start, StationId(2), Tid::BE, 10, 0);
        timer.poll(start, &mut stack);
        assert_eq!([0, 1, 2].map(|station| weight(&stack, station)), [1024, 256, 256]);
        assert_eq!(timer.next_update(), Nanos(1_200_000_000));
        timer.poll(Nanos(1_100_000_000), &mut stack);
        let taken = stack.tx_dequeue(start, TxqId::new(StationId(0), Tid::BE), &mut crate::Ignore);
        assert!(taken.is_some(), "a packet waited");
        // Packets wait for station 1, those of station 0 are forgotten after 500 ms: alone, station 1 has the
        // heaviest weight.
        for (time, other) in [(1_200, 256), (1_400, 256), (1_600, 1024)] {
            timer.poll(Nanos(time * 1_000_000), &mut stack);
            assert_eq!((weight(&stack, 0), weight(&stack, 1)), (1024, other), "{time} ms");
        }
    }
}
