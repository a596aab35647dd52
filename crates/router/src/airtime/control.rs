//! Sets the weights of stations by a policy: a state machine without a clock or a socket.

use goodqueue::wifi::StationId;
use goodqueue::wifi::policy::{GroupId, Groups, PolicyTimer, Stations};
use goodqueue::{Nanos, Span};

use super::{Mac, Weight};

/// The membership of a station: its group, and its weight beside the other members.
pub type Membership = (Option<GroupId>, u32);

/// The membership of the station with this address that joined the interface of this name; `None` if the
/// policy does not know it.
pub type MembershipOf = Box<dyn Fn(Mac, &str) -> Option<Membership>>;

/// A policy for the stations of a radio.
pub struct Rules {
    /// The groups, whose shares hold no matter which of their stations are active; `None`: weights as given.
    pub groups: Option<Groups>,
    /// How often the weights of groups are computed.
    pub interval: Span,
    /// Where a station belongs.
    pub membership: MembershipOf,
}

/// A station at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StationState<'a> {
    /// Its address.
    pub mac: Mac,
    /// Number of the interface that it joined.
    pub index: u32,
    /// Name of that interface.
    pub interface: &'a str,
    /// Whether packets wait for it.
    pub has_packets: bool,
    /// Its weight, if the driver reports it.
    pub weight: Option<u16>,
}

/// Decides the weights of the stations of one radio, with the policies that the simulator has.
pub struct Controller {
    rules: Rules,
    timer: Option<PolicyTimer<Groups>>,
    places: Places,
}

impl Controller {
    /// A controller that computes first at `start`.
    #[must_use]
    pub fn new(rules: Rules, start: Nanos) -> Controller {
        let places = Places::default();
        let timer = rules.groups.clone();
        let timer = timer.map(|groups| PolicyTimer::new(groups, rules.interval, start, &places));
        Controller { rules, timer, places }
    }

    /// The changes of weights at `now`, for these stations. A station without a membership is outside all
    /// groups, with weight 1; its weight does not change under a static policy.
    pub fn update(&mut self, now: Nanos, stations: &[StationState<'_>]) -> Vec<Weight> {
        for slot in &mut self.places.slots {
            let is_here = |known: &Slot| stations.iter().any(|station| known.is(station));
            if slot.as_ref().is_some_and(|known| !is_here(known)) {
                *slot = None;
            }
        }
        for station in stations {
            match self.places.slots.iter_mut().flatten().find(|known| known.is(station)) {
                Some(known) => (known.has_packets, known.weight) = (station.has_packets, station.weight),
                None => self.join(station),
            }
        }
        if let Some(timer) = &mut self.timer {
            timer.poll(now, &mut self.places);
        }
        std::mem::take(&mut self.places.changes)
    }

    fn join(&mut self, station: &StationState<'_>) {
        let free = self.places.slots.iter().position(Option::is_none);
        let at = free.unwrap_or_else(|| {
            self.places.slots.push(None);
            self.places.slots.len() - 1
        });
        let Ok(id) = u32::try_from(at).map(StationId) else { return };
        self.places.slots[at] = Some(Slot {
            mac: station.mac,
            index: station.index,
            interface: station.interface.to_owned(),
            has_packets: station.has_packets,
            weight: station.weight,
        });
        let membership = (self.rules.membership)(station.mac, station.interface);
        match &mut self.timer {
            Some(timer) => {
                let (group, weight) = membership.unwrap_or((None, 1));
                // The policy's reader has checked groups and weights; a stack can have any station number
                // below 2^20.
                let _ = timer.policy.put(id, group, weight);
            }
            None => {
                if let Some((_, weight)) = membership {
                    self.places.set_weight(id, weight);
                }
            }
        }
    }
}

/// The stations by number. The number of one that left goes to the next that joins.
#[derive(Default)]
struct Places {
    slots: Vec<Option<Slot>>,
    changes: Vec<Weight>,
}

struct Slot {
    mac: Mac,
    index: u32,
    interface: String,
    has_packets: bool,
    weight: Option<u16>,
}

impl Slot {
    fn is(&self, station: &StationState<'_>) -> bool {
        (self.mac, self.index) == (station.mac, station.index)
    }
}

impl Stations for Places {
    fn slots(&self) -> u32 {
        u32::try_from(self.slots.len()).unwrap_or(u32::MAX)
    }

    fn has_packets(&self, station: StationId) -> Option<bool> {
        Some(self.slots.get(station.0 as usize)?.as_ref()?.has_packets)
    }

    fn set_weight(&mut self, station: StationId, weight: u32) {
        let Some(Some(slot)) = self.slots.get_mut(station.0 as usize) else { return };
        let Ok(weight) = u16::try_from(weight) else { return };
        if slot.weight == Some(weight) {
            return;
        }
        slot.weight = Some(weight);
        self.changes.push(Weight {
            interface: slot.interface.clone(),
            index: slot.index,
            mac: slot.mac,
            weight,
        });
    }
}

#[cfg(test)]
mod tests {
    use goodqueue::wifi::policy::Mode;

    use super::*;

    const INTERVAL: Span = Span::from_millis(200);

    fn mac(number: u8) -> Mac {
        Mac([2, 0, 0, 0, number, 0])
    }

    /// Station 1 in one group, all others of wlan0 in a second one of equal weight.
    fn guests(mode: Mode) -> Controller {
        let mut groups = Groups::new();
        let main = groups.add(None, 1, Mode::Weighted).expect("a group");
        let guest = groups.add(None, 1, mode).expect("a group");
        let membership = move |of: Mac, interface: &str| match interface {
            _ if of == mac(1) => Some((Some(main), 1)),
            "wlan0" => Some((Some(guest), 1)),
            _ => None,
        };
        let rules = Rules { groups: Some(groups), interval: INTERVAL, membership: Box::new(membership) };
        Controller::new(rules, Nanos(0))
    }

    fn state(number: u8, has_packets: bool) -> StationState<'static> {
        StationState { mac: mac(number), index: 3, interface: "wlan0", has_packets, weight: None }
    }

    fn weights(changes: &[Weight]) -> Vec<(u8, u16)> {
        changes.iter().map(|change| (change.mac.0[4], change.weight)).collect()
    }

    #[test]
    fn groups_share_whatever_their_numbers() {
        let mut controller = guests(Mode::Weighted);
        let all: Vec<StationState<'_>> = (1..=4).map(|number| state(number, true)).collect();
        let changes = controller.update(Nanos(0), &all);
        assert_eq!(weights(&changes), [(1, 1024), (2, 341), (3, 341), (4, 341)]);
        assert_eq!((changes[0].index, &*changes[0].interface), (3, "wlan0"));
        // Two guests leave; a third of the interval later nothing is decided yet.
        assert_eq!(controller.update(Nanos(50_000_000), &all[..2]), []);
        let changes = controller.update(Nanos(200_000_000), &all[..2]);
        assert_eq!(
            weights(&changes),
            [(1, 1024), (2, 1024)],
            "the driver does not tell that it has the first"
        );
        let known = |station: &StationState<'static>| StationState { weight: Some(1024), ..*station };
        let both: Vec<StationState<'_>> = all[..2].iter().map(known).collect();
        assert_eq!(controller.update(Nanos(400_000_000), &both), [], "nothing new to say");
        // The controller overwrites a weight that something else has set.
        let meddled = StationState { weight: Some(256), ..both[0] };
        assert_eq!(weights(&controller.update(Nanos(600_000_000), &[meddled, both[1]])), [(1, 1024)]);
    }

    #[test]
    fn the_number_of_a_station_that_left_goes_to_the_next() {
        let mut controller = guests(Mode::Weighted);
        let _ = controller.update(Nanos(0), &[state(1, true), state(2, true)]);
        // Station 1 leaves and two guests join. The first gets its number, but is still a guest.
        let three = [state(2, true), state(3, true), state(4, true)];
        let changes = controller.update(Nanos(200_000_000), &three);
        assert_eq!(weights(&changes), [(3, 1024), (2, 1024), (4, 1024)], "only guests: equal weights");
        assert_eq!(controller.places.slots.len(), 3);
        // A station that roamed counts as a different one here.
        let roamed = StationState { index: 4, interface: "wlan1", ..state(2, true) };
        let changes = controller.update(Nanos(400_000_000), &[roamed]);
        assert_eq!((changes[0].index, changes[0].weight), (4, 1024));
    }

    #[test]
    fn a_station_is_active_for_half_a_second() {
        let mut controller = guests(Mode::Weighted);
        let busy = [state(1, true), state(2, true), state(3, true)];
        assert_eq!(weights(&controller.update(Nanos(0), &busy)), [(1, 1024), (2, 512), (3, 512)]);
        let weighed = |weight| StationState { weight: Some(weight), ..state(2, true) };
        let quiet = [state(1, false), weighed(512), state(3, false)];
        // At 200 and 400 ms the others still count, and the driver does not report their weights.
        for (time, expected) in [(200, vec![(1, 1024), (3, 512)]), (400, vec![(1, 1024), (3, 512)])] {
            assert_eq!(weights(&controller.update(Nanos(time * 1_000_000), &quiet)), expected, "{time} ms");
        }
        let quiet = [state(1, false), weighed(512), state(3, false)];
        assert_eq!(weights(&controller.update(Nanos(600_000_000), &quiet)), [(2, 1024)], "alone");
    }

    #[test]
    fn a_limit_binds_only_where_stations_would_have_more() {
        let mut few = guests(Mode::Limit);
        let two = [state(1, true), state(2, true)];
        assert_eq!(weights(&few.update(Nanos(0), &two)), [(1, 1024), (2, 1024)]);
        let all: Vec<StationState<'_>> = (1..=3).map(|number| state(number, true)).collect();
        let changes = few.update(Nanos(200_000_000), &all);
        assert_eq!(weights(&changes), [(1, 1024), (2, 512), (3, 512)]);
    }

    #[test]
    fn a_static_policy_sets_what_is_given_once() {
        let membership = |of: Mac, _: &str| (of == mac(1)).then_some((None, 512));
        let rules = Rules { groups: None, interval: INTERVAL, membership: Box::new(membership) };
        let mut controller = Controller::new(rules, Nanos(0));
        let both = [state(1, false), state(2, true)];
        assert_eq!(weights(&controller.update(Nanos(0), &both)), [(1, 512)]);
        assert_eq!(controller.update(Nanos(1_000_000_000), &both), []);
        // It comes back, with the kernel's default.
        assert_eq!(controller.update(Nanos(2_000_000_000), &both[1..]), []);
        assert_eq!(weights(&controller.update(Nanos(3_000_000_000), &both)), [(1, 512)]);
    }
}
