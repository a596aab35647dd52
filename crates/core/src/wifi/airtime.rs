//! The airtime scheduler: deficit round robin over airtime (Linux 6.1 `tx.c`: `ieee80211_next_txq` and
//! related functions).

use super::TxStack;
use super::id::{Ac, StationId, Tid, TxqId};
use super::schedule::Listing;
use super::station::Account;
use crate::memory::Memory;
use crate::{Nanos, Packet};

impl<P: Packet, M: Memory> TxStack<P, M> {
    /// The clock tick that contains `now` (Linux `jiffies`).
    #[inline]
    fn tick(&self, now: Nanos) -> u64 {
        now.0 / self.tick_ns
    }

    /// Whether a tick is at most 0.1 s ago; ath9k's own scheduler does not check this.
    #[inline]
    pub(super) fn is_recent(&self, last_active: u64, now: Nanos) -> bool {
        self.params.ath9k_scheduler
            || self.tick(now) <= last_active.saturating_add(u64::from(self.params.hz / 10))
    }

    /// Whether the radio's AQL allows another round in `ac`.
    fn allows_round(&self, ac: Ac) -> bool {
        let limits = self.params.aql_limits(ac);
        !self.params.aql || self.pending.allows_round(ac, self.schedule.listed(ac), limits)
    }

    /// Whether AQL allows this station to send.
    #[inline]
    pub(super) fn is_within_aql(&self, account: &Account) -> bool {
        !self.params.aql || !self.params.aql_enable || self.pending.allows(account, self.aql_threshold)
    }

    /// Starts a scheduling round in a category and returns its number; 0: the radio's limit forbids a round
    /// now, and [`TxStack::next_txq`] returns `None` until one is started (Linux 6.1
    /// `ieee80211_txq_schedule_start`).
    pub fn schedule_start(&mut self, ac: Ac) -> u16 {
        let is_allowed = self.allows_round(ac);
        let category = self.schedule.category(ac);
        category.round = match (is_allowed, category.round.wrapping_add(1)) {
            (false, _) => 0,
            (true, 0) => 1,
            (true, next) => next,
        };
        category.round
    }

    /// The next queue that may send in this round. It is removed from the list; [`TxStack::return_txq`] puts
    /// it back (Linux 6.1 `ieee80211_next_txq`).
    ///
    /// Each time the queue of a station in debt is first, the station's deficit grows by its weight, and the
    /// queue goes to the tail. A queue whose station has too much airtime in flight goes to the tail too. A
    /// queue that was already returned in this round ends the round.
    ///
    /// Takes a step for each such queue before the one found. Linux loops once for each missing weight; here
    /// the rounds in which no station gets out of debt are computed in one step.
    pub fn next_txq(&mut self, ac: Ac) -> Option<TxqId> {
        let round = self.schedule.round(ac);
        if round == 0 {
            return None;
        }
        let mut first = None;
        let mut has_eligible = false;
        loop {
            let place = self.schedule.head(ac)?;
            if first == Some(place) {
                if !has_eligible {
                    return None;
                }
                has_eligible = false;
                self.skip_rounds(ac);
            }
            first = first.or(Some(place));
            let id = TxqId::at(place, self.capacity.stations);
            if let Some(station) = id.station() {
                let account = &self.stations[station.0 as usize].accounts[ac.index()];
                let is_allowed = self.is_within_aql(account);
                let in_debt = account.effective() < 0;
                has_eligible |= is_allowed;
                if in_debt {
                    self.refill(station, ac, 1);
                }
                if in_debt || !is_allowed {
                    self.schedule.move_to_tail(ac, place);
                    continue;
                }
            }
            if self.schedule.nodes[place as usize].round == round {
                return None;
            }
            let on = self.schedule.nodes[place as usize].on;
            self.unlist(ac, place);
            let node = &mut self.schedule.nodes[place as usize];
            (node.round, node.taken_from) = (round, on);
            return Some(id);
        }
    }

    /// Performs in one step a round in which the driver takes nothing and only the queue at the head comes
    /// up: [`TxStack::next_txq`] returns it, the driver returns it with `force`, it is at the head again, and
    /// the round ends. Returns true if that round was performed. Returns false, without any effect, if
    /// another queue could come up. The result is the same as step by step.
    pub fn hold_round(&mut self, now: Nanos, ac: Ac, force: bool) -> bool {
        let round = self.schedule.round(ac).wrapping_add(1).max(1);
        let Some(place) = self.schedule.head(ac) else { return false };
        let txq = TxqId::at(place, self.capacity.stations);
        let Some(station) = txq.station() else { return false };
        let account = &self.stations[station.0 as usize].accounts[ac.index()];
        let params = &self.params;
        let node = &self.schedule.nodes[place as usize];
        let comes_back = params.airtime_fairness
            && (params.airtime_tx || params.airtime_rx)
            && node.on == Listing::Active
            && node.round != round
            && account.effective() >= 0
            && self.is_within_aql(account)
            && self.allows_round(ac)
            && (force || (!self.is_stopped(txq) && self.has_backlog(place)));
        if comes_back {
            let tick = self.tick(now);
            self.schedule.category(ac).round = round;
            let node = &mut self.schedule.nodes[place as usize];
            (node.round, node.taken_from) = (round, node.on);
            self.stations[station.0 as usize].account(ac).last_active = tick;
        }
        comes_back
    }

    /// The first queue in `ac`, which [`TxStack::next_txq`] examines first.
    pub fn head_txq(&self, ac: Ac) -> Option<TxqId> {
        self.schedule.head(ac).map(|place| TxqId::at(place, self.capacity.stations))
    }

    #[inline]
    fn refill(&mut self, station: StationId, ac: Ac, turns: i64) {
        let station = &mut self.stations[station.0 as usize];
        let weight = station.weight;
        station.account(ac).refill(weight, turns);
    }

    /// Every listed queue has gone to the tail. Performs in one step the rounds in which no station that AQL
    /// allows gets out of debt. A station with several queues on the list gets its weight for each of them in
    /// every round.
    fn skip_rounds(&mut self, ac: Ac) {
        if !self.schedule.has_no_new(ac) {
            return;
        }
        let rounds = self.schedule.places(ac).filter_map(|place| {
            let id = TxqId::at(place, self.capacity.stations).station()?;
            let station = &self.stations[id.0 as usize];
            let account = &station.accounts[ac.index()];
            let rounds = account.refills_needed(station.weight) / i64::from(account.listed.max(1));
            self.is_within_aql(account).then_some(rounds)
        });
        let Some(rounds) = rounds.min().filter(|&rounds| rounds > 0) else { return };
        let mut at = self.schedule.head(ac);
        while let Some(place) = at {
            at = self.schedule.after(ac, place);
            let Some(id) = TxqId::at(place, self.capacity.stations).station() else { continue };
            let station = &self.stations[id.0 as usize];
            let turns = station.accounts[ac.index()].refills_needed(station.weight).min(rounds);
            self.refill(id, ac, turns);
        }
    }

    /// Returns a queue from [`TxStack::next_txq`] or [`TxStack::may_transmit`] to the scheduler, or announces
    /// a queue. It goes on the list if it has packets, or if `force` says that the driver holds packets for
    /// it (Linux 6.1 `ieee80211_return_txq`). An empty queue whose station is in debt and was active in the
    /// last 100 ms stays on the list, so that a station does not lose its debt by going idle. An unknown
    /// queue is ignored.
    #[inline]
    pub fn return_txq(&mut self, now: Nanos, txq: TxqId, force: bool) {
        if let Some(place) = self.place(txq) {
            self.put_on_list(now, txq, place, force);
        }
    }

    /// Announces a queue to the scheduler (Linux 6.1 `ieee80211_schedule_txq`): [`TxStack::return_txq`] with
    /// `force`.
    pub fn schedule_txq(&mut self, now: Nanos, txq: TxqId) {
        self.return_txq(now, txq, true);
    }

    #[inline]
    pub(super) fn put_on_list(&mut self, now: Nanos, txq: TxqId, place: u32, force: bool) {
        if self.schedule.nodes[place as usize].on == Listing::Off {
            self.put_unlisted(now, txq, place, force);
        }
    }

    fn put_unlisted(&mut self, now: Nanos, txq: TxqId, place: u32, force: bool) {
        let ac = txq.ac();
        let has_packets = force || (!self.is_stopped(txq) && self.has_backlog(place));
        let taken_from = self.schedule.nodes[place as usize].taken_from;
        let is_debtor = txq.station().is_some_and(|station| {
            let account = &self.stations[station.0 as usize].accounts[ac.index()];
            account.effective() < 0 && self.is_recent(account.last_active, now)
        });
        if !has_packets && !is_debtor {
            self.end_turns(ac, txq, place, taken_from);
            return;
        }
        let params = &self.params;
        let counts_airtime = params.airtime_tx || params.airtime_rx;
        let is_fair = txq.station().is_some() && counts_airtime && has_packets && params.airtime_fairness;
        let is_woken = taken_from == Listing::Off;
        let has_credit = || {
            let accounts = txq.station().map(|station| &self.stations[station.0 as usize].accounts);
            accounts.is_some_and(|accounts| accounts[ac.index()].effective() >= 0)
        };
        // A newly active station comes before those that were served, for one weight of airtime.
        let is_new = is_fair
            && params.sparse_stations
            && taken_from != Listing::Active
            && (!params.ath9k_scheduler || !is_woken || has_credit());
        let (on, at_head) = match (is_new, taken_from) {
            (true, Listing::New) => (Listing::New, true),
            (true, _) => (Listing::New, false),
            (false, _) => (Listing::Active, is_fair && !(params.ath9k_scheduler && is_woken)),
        };
        self.list(ac, txq, place, on, at_head);
        if has_packets && let Some(station) = txq.station() {
            let tick = self.tick(now);
            self.stations[station.0 as usize].account(ac).last_active = tick;
        }
    }

    /// A queue came back empty. From the list of new stations it goes to the end of the other list once, so
    /// that a station that sends little but often cannot lock the others out; otherwise it leaves the lists.
    fn end_turns(&mut self, ac: Ac, txq: TxqId, place: u32, taken_from: Listing) {
        self.schedule.nodes[place as usize].taken_from = Listing::Off;
        if taken_from == Listing::New && self.schedule.has_active(ac) {
            self.list(ac, txq, place, Listing::Active, false);
        }
    }

    #[inline]
    fn list(&mut self, ac: Ac, txq: TxqId, place: u32, on: Listing, at_head: bool) {
        self.schedule.insert(ac, place, on, at_head);
        if let Some(station) = txq.station() {
            self.stations[station.0 as usize].account(ac).listed += 1;
        }
    }

    /// Removes a queue from the lists, if it is on one.
    #[inline]
    pub(super) fn unlist(&mut self, ac: Ac, place: u32) {
        let is_listed = self.schedule.remove(ac, place);
        if is_listed && let Some(station) = TxqId::at(place, self.capacity.stations).station() {
            self.stations[station.0 as usize].account(ac).listed -= 1;
        }
    }

    /// Whether a driver may send from this queue now because its firmware requests it. If so, the queue
    /// leaves the list (Linux 6.1 `ieee80211_txq_may_transmit`). The queues before it go to the tail, and the
    /// deficit of those in debt grows by their weight. The requested queue is judged by its deficit alone,
    /// without airtime in flight. The answer is also yes for a queue on no list, for an unknown queue, and
    /// while the radio is over its limit. Takes a step for each queue before it.
    pub fn may_transmit(&mut self, txq: TxqId) -> bool {
        let Some(place) = self.place(txq) else { return true };
        let ac = txq.ac();
        if let Some(station) = txq.station()
            && self.schedule.nodes[place as usize].on != Listing::Off
            && self.allows_round(ac)
        {
            self.rotate_to(ac, place);
            if self.stations[station.0 as usize].accounts[ac.index()].deficit < 0 {
                self.refill(station, ac, 1);
                self.schedule.move_to_tail(ac, place);
                return false;
            }
        }
        let on = self.schedule.nodes[place as usize].on;
        if on != Listing::Off {
            self.schedule.nodes[place as usize].taken_from = on;
        }
        self.unlist(ac, place);
        true
    }

    /// Sends the queues before the listed one at `place` to the tail.
    fn rotate_to(&mut self, ac: Ac, place: u32) {
        while let Some(head) = self.schedule.head(ac).filter(|&head| head != place) {
            if let Some(station) = TxqId::at(head, self.capacity.stations).station()
                && self.stations[station.0 as usize].accounts[ac.index()].effective() < 0
            {
                self.refill(station, ac, 1);
            }
            self.schedule.move_to_tail(ac, head);
        }
    }

    /// Reports airtime that a station has used, us, including failed attempts: `tx` to it, `rx` from it. It
    /// counts in the statistics. It also counts against the deficit if `airtime_tx` or `airtime_rx` is on and
    /// the station was active in the last 100 ms (Linux 6.1 `ieee80211_sta_register_airtime`). An unknown
    /// station is ignored: it may have been removed since.
    pub fn register_airtime(&mut self, now: Nanos, station: StationId, tid: Tid, tx: u32, rx: u32) {
        let Some(at) = self.present(station) else { return };
        let account = &self.stations[at].accounts[tid.ac().index()];
        let is_active = self.is_recent(account.last_active, now);
        let tx_counts = is_active && self.params.airtime_tx;
        let rx_counts = is_active && self.params.airtime_rx;
        let account = self.stations[at].account(tid.ac());
        account.tx_airtime = account.tx_airtime.saturating_add(u64::from(tx));
        account.rx_airtime = account.rx_airtime.saturating_add(u64::from(rx));
        for used in [tx_counts.then_some(tx), rx_counts.then_some(rx)].into_iter().flatten() {
            let account = self.stations[at].account(tid.ac());
            account.deficit = account.deficit.saturating_sub_unsigned(used);
            if self.params.joint_airtime && matches!(tid.ac(), Ac::Vo | Ac::Vi) {
                self.stations[at].account(Ac::Be).charge(used);
            }
        }
    }
}
