//! Rules that the stack must keep, computed by hand.

use goodqueue::arena::Slot;
use goodqueue::wifi::{
    Ac, AqlLimits, Capacity, Delivered, Flow, InterfaceId, Node, Parts, RateInfo, Station, StationId, Tid,
    Tin, TxStack, TxqId, Width, WifiError, WifiParams,
};
use goodqueue::{Header, Ignore, Lent, Nanos, Reason, Span, Verdict};

const NOW: Nanos = Nanos(5_000_000_000);

fn stack(params: WifiParams, stations: u32) -> TxStack<Header> {
    let capacity = Capacity { stations, ..Capacity::default() };
    let mut stack = TxStack::new(params, capacity).expect("a stack");
    for station in 0..stations {
        stack.add_station(StationId(station), InterfaceId(0)).expect("a place");
    }
    stack
}

fn be(station: u32) -> TxqId {
    TxqId::new(StationId(station), Tid::BE)
}

fn packet(cookie: u64, flow_hash: u32) -> Header {
    Header { cookie, len: 1534, truesize: 2304, flow_hash, dsfield: 0 }
}

fn fill(stack: &mut TxStack<Header>, station: u32, packets: u64) {
    for cookie in 0..packets {
        let verdict = stack.enqueue(NOW, be(station), packet(cookie, station << 20), &mut Ignore);
        assert_eq!(verdict, Verdict::Enqueued);
    }
}

/// Airtime that each station has used after `turns` turns, if each of its turns takes `cost` us.
fn shares(stack: &mut TxStack<Header>, cost: &[u32], turns: u32) -> Vec<u32> {
    let mut used = vec![0; cost.len()];
    for _ in 0..turns {
        stack.schedule_start(Ac::Be);
        let txq = stack.next_txq(Ac::Be).expect("a queue that may send");
        let station = txq.station().expect("a station");
        let cost = cost[station.0 as usize];
        stack.register_airtime(NOW, station, Tid::BE, cost, 0);
        used[station.0 as usize] += cost;
        stack.return_txq(NOW, txq, true);
    }
    used
}

fn assert_proportional(used: &[u32], weights: &[u32], slack: u32) {
    let per_weight: Vec<u32> = used.iter().zip(weights).map(|(used, weight)| used / weight).collect();
    let (least, most) = (per_weight.iter().min(), per_weight.iter().max());
    let spread = most.expect("a station") - least.expect("a station");
    assert!(spread <= slack, "{used:?}");
}

#[test]
fn airtime_is_shared_by_weight_whatever_a_turn_costs() {
    let mut stack = stack(WifiParams::default(), 4);
    (0..4).for_each(|station| fill(&mut stack, station, 1));
    let used = shares(&mut stack, &[300, 4000, 1200, 77], 40_000);
    assert_proportional(&used, &[1, 1, 1, 1], 4000 + 256);
    let weights = [256, 512, 1024, 128];
    (0..).zip(weights).for_each(|(station, weight)| {
        stack.set_weight(StationId(station), weight).expect("a station");
    });
    let used = shares(&mut stack, &[300, 4000, 1200, 77], 40_000);
    // A turn of 4000 us is 32 rounds of the lightest station.
    assert_proportional(&used, &weights.map(|weight| weight / 128), 4000 + 1024);
}

#[test]
fn a_debt_of_half_an_hour_is_paid_in_a_step() {
    let mut stack = stack(WifiParams::default(), 2);
    (0..2).for_each(|station| fill(&mut stack, station, 1));
    for station in [0, 1] {
        stack.set_weight(StationId(station), 1).expect("a station");
        stack.register_airtime(NOW, StationId(station), Tid::BE, u32::MAX, u32::MAX);
    }
    stack.register_airtime(NOW, StationId(0), Tid::BE, 5, 0);
    assert_eq!(stack.airtime_stats(StationId(0), Ac::Be).expect("a station").deficit, i32::MIN);
    assert_eq!(stack.schedule_start(Ac::Be), 1);
    assert!(stack.next_txq(Ac::Be).is_some());
}

#[test]
fn a_round_is_held_while_the_first_in_line_has_credit_and_no_longer() {
    let mut stack = stack(WifiParams::default(), 2);
    assert!(!stack.hold_round(NOW, Ac::Be, true), "no queue in line");
    (0..2).for_each(|station| fill(&mut stack, station, 1));
    assert!(stack.hold_round(NOW, Ac::Be, true) && stack.hold_round(NOW, Ac::Be, false));
    let order: Vec<TxqId> = stack.scheduled(Ac::Be).collect();
    assert_eq!((order, stack.round(Ac::Be)), (vec![be(1), be(0)], 2), "the newly active one is first");
    stack.agg_stop_txq(be(1)).expect("a station");
    assert!(!stack.hold_round(NOW, Ac::Be, false), "without a packet that may be sent it goes off the list");
    stack.register_airtime(NOW, StationId(1), Tid::BE, 300, 0);
    assert!(!stack.hold_round(NOW, Ac::Be, true), "in debt: the next one comes up");
    assert_eq!(stack.round(Ac::Be), 2);
    let unfair = WifiParams { airtime_fairness: false, ..WifiParams::default() };
    stack.configure(unfair).expect("parameters");
    assert!(!stack.hold_round(NOW, Ac::Be, true), "the queue would go behind the others");
}

#[test]
fn a_sparse_station_goes_first_if_requested_and_also_in_linux() {
    for sparse_stations in [false, true] {
        let params = WifiParams { sparse_stations, aql: false, ..WifiParams::default() };
        let mut stack = stack(params, 3);
        (0..2).for_each(|station| fill(&mut stack, station, 100));
        let used = shares(&mut stack, &[1000, 1000, 1000], 20);
        assert_eq!(used[2], 0);
        fill(&mut stack, 2, 1);
        stack.schedule_start(Ac::Be);
        assert_eq!(stack.next_txq(Ac::Be), Some(be(2)), "sparse_stations {sparse_stations}");
        assert!(stack.tx_dequeue(NOW, be(2), &mut Ignore).is_some());
        stack.return_txq(NOW, be(2), false);
        let is_listed = stack.scheduled(Ac::Be).any(|txq| txq == be(2));
        assert_eq!(is_listed, sparse_stations, "once behind the others, or off the list");
    }
}

/// ath9k's own scheduler: a station that becomes active goes behind those that wait. With priority for new
/// stations it goes before them if it has airtime left, but not if it is in debt.
#[test]
fn in_ath9k_s_order_a_station_that_was_inactive_goes_to_the_tail() {
    let own = WifiParams { ath9k_scheduler: true, aql: false, ..WifiParams::default() };
    for (params, owes, place) in [
        (WifiParams { aql: false, ..WifiParams::default() }, 0, 0),
        (own, 0, 2),
        (WifiParams { sparse_stations: true, ..own }, 0, 0),
        (WifiParams { sparse_stations: true, ..own }, 300, 2),
    ] {
        let mut stack = stack(params, 3);
        (0..2).for_each(|station| fill(&mut stack, station, 100));
        shares(&mut stack, &[1000, 1000, 1000], 20);
        stack.register_airtime(NOW, StationId(2), Tid::BE, owes, 0);
        fill(&mut stack, 2, 1);
        let stands = stack.scheduled(Ac::Be).position(|txq| txq == be(2));
        assert_eq!(stands, Some(place), "{params:?}, {owes} us owed");
        assert_eq!(stack.head_txq(Ac::Be), stack.scheduled(Ac::Be).next());
    }
}

/// mac80211 forgets airtime of a station that was last active more than 100 ms ago; ath9k's own scheduler did
/// not.
#[test]
fn late_airtime_counts_in_ath9k_s_own_order() {
    for (ath9k_scheduler, deficit) in [(false, 256), (true, -744)] {
        let mut stack = stack(WifiParams { ath9k_scheduler, ..WifiParams::default() }, 1);
        fill(&mut stack, 0, 1);
        let late = NOW + Span::from_millis(200);
        stack.register_airtime(late, StationId(0), Tid::BE, 1000, 0);
        assert_eq!(stack.airtime_stats(StationId(0), Ac::Be).expect("a station").deficit, deficit);
    }
}

#[test]
fn a_new_station_has_one_weight_before_the_others() {
    let params = WifiParams { sparse_stations: true, aql: false, ..WifiParams::default() };
    let mut stack = stack(params, 2);
    fill(&mut stack, 0, 100);
    shares(&mut stack, &[100, 100], 10);
    fill(&mut stack, 1, 100);
    // Deficit 256: three turns of 100 us, then the other's turn.
    assert_eq!(shares(&mut stack, &[100, 100], 3), [0, 300]);
    assert_eq!(shares(&mut stack, &[100, 100], 1), [100, 0]);
}

#[test]
fn pending_airtime_is_limited() {
    let mut stack = stack(WifiParams::default(), 1);
    let rate = RateInfo::Ht { mcs: 0, width: Width::Mhz20, short_gi: false };
    stack.set_rate(StationId(0), rate).expect("a rate");
    fill(&mut stack, 0, 20);
    let mut under_way = Vec::new();
    while let Some(delivered) = stack.tx_dequeue(NOW, be(0), &mut Ignore) {
        under_way.push(delivered.estimate);
    }
    // 1572 bytes at 6.5 Mbit/s: 1934 us of data and 20 of overhead, kept as 1952. Below 12000 us until the
    // seventh.
    assert_eq!(under_way.iter().map(|estimate| estimate.micros()).collect::<Vec<_>>(), [1952; 7]);
    assert_eq!(stack.held(be(0)), Some(goodqueue::wifi::Held::Aql));
    stack.tx_completed(StationId(0), Ac::Be, under_way[0]);
    assert_eq!(stack.held(be(0)), None);
    assert_eq!(stack.radio_stats().aql_total, 6 * 1952);
    stack.set_aql_limit(StationId(0), Ac::Be, AqlLimits { low: 0, high: 0 }).expect("a station");
    assert!(stack.tx_dequeue(NOW, be(0), &mut Ignore).is_none());
}

#[test]
fn errors_name_their_cause() {
    let mut stack = stack(WifiParams::default(), 2);
    let (here, nowhere) = (StationId(0), StationId(7));
    assert_eq!(stack.set_weight(here, 0), Err(WifiError::Weight(0)));
    assert_eq!(stack.set_weight(here, 65_536), Err(WifiError::Weight(65_536)));
    assert_eq!(stack.set_weight(nowhere, 256), Err(WifiError::UnknownStation(nowhere)));
    assert_eq!(stack.add_station(here, InterfaceId(0)), Err(WifiError::StationExists(here)));
    let full = WifiError::TooManyStations { station: nowhere, capacity: 2 };
    assert_eq!(stack.add_station(nowhere, InterfaceId(0)), Err(full));
    let interface = InterfaceId(1);
    assert_eq!(stack.add_station(here, interface), Err(WifiError::UnknownInterface(interface)));
    let vht10 = RateInfo::Vht { mcs: 10, nss: 1, width: Width::Mhz80, short_gi: false };
    assert!(matches!(stack.set_rate(here, vht10), Err(WifiError::Rate(_))));
    let limits = AqlLimits { low: 0, high: u32::MAX };
    assert!(stack.set_aql_limit(here, Ac::Vo, limits).is_err());
    let wrong = WifiError::OutOfRange { key: "quantum", value: 0 };
    assert_eq!(stack.configure(WifiParams { quantum: 0, ..WifiParams::default() }), Err(wrong));
    let capacity = Capacity { stations: u32::MAX, ..Capacity::default() };
    assert_eq!(TxStack::<Header>::new(WifiParams::default(), capacity).err(), Some(WifiError::Capacity));
    for txq in [TxqId::new(nowhere, Tid::BE), TxqId::multicast(interface)] {
        let verdict = stack.enqueue(NOW, txq, packet(1, 1), &mut Ignore);
        assert_eq!(verdict, Verdict::Dropped(Reason::Flush));
        assert!(stack.agg_stop_txq(txq).is_err() && stack.may_transmit(txq));
        assert!(stack.tx_dequeue(NOW, txq, &mut Ignore).is_none());
        assert_eq!(stack.txq_stats(txq), None);
        stack.return_txq(NOW, txq, true);
    }
    stack.register_airtime(NOW, nowhere, Tid::BE, 1, 1);
    assert_eq!(stack.radio_stats().stations, 2);
}

#[test]
fn ten_thousand_stations() {
    let mut stack = stack(WifiParams { aql: false, ..WifiParams::default() }, 10_000);
    for station in 0..10_000_u32 {
        let hash = station.wrapping_mul(2_654_435_761);
        stack.enqueue(NOW, be(station), packet(station.into(), hash), &mut Ignore);
    }
    // 16 MiB in packets of 2304 bytes each.
    assert_eq!(stack.radio_stats().backlog, 7281);
    let mut delivered = 0;
    stack.schedule_start(Ac::Be);
    while let Some(txq) = stack.next_txq(Ac::Be) {
        delivered += u32::from(stack.tx_dequeue(NOW, txq, &mut Ignore).is_some());
        stack.return_txq(NOW, txq, false);
    }
    assert_eq!((delivered, stack.radio_stats().backlog), (7281, 0));
}

#[test]
fn the_memory_of_a_small_access_point_is_known() {
    // 32 MB in all. Without VHT, Linux lets frames take 4 MiB of them.
    let capacity = Capacity { stations: 32, ..Capacity::default() };
    let own = capacity.storage_bytes::<Header>();
    let frames = u64::from(WifiParams::without_vht().memory_limit);
    assert!(own < 700 << 10, "{own}");
    assert!(own + frames < 5 << 20);
    // 10 000 stations: 16 queues each.
    let many = Capacity { stations: 10_000, ..capacity }.storage_bytes::<Header>();
    assert!(many < 40 << 20, "{many}");
}

#[test]
fn storage_of_the_caller_is_used_whatever_it_held_and_refused_where_short() {
    let capacity = Capacity { stations: 2, interfaces: 1, flows: 8, packets: 4 };
    let lengths = capacity.lengths();
    let parts = |slots: u32| Parts::<Header, Lent> {
        flows: vec![Flow::default(); lengths.flows as usize].leak(),
        tins: vec![Tin::default(); lengths.tins as usize].leak(),
        nodes: vec![Node::default(); lengths.nodes as usize].leak(),
        stations: vec![Station::default(); lengths.stations as usize].leak(),
        slots: vec![Slot::default(); slots as usize].leak(),
        bits: vec![u64::MAX; lengths.bits as usize].leak(),
    };
    let short = TxStack::over(WifiParams::default(), capacity, parts(lengths.slots - 1));
    assert_eq!(short.err(), Some(WifiError::Capacity));
    let mut lent = TxStack::over(WifiParams::default(), capacity, parts(lengths.slots)).expect("a stack");
    let mut own = TxStack::<Header>::new(WifiParams::default(), capacity).expect("a stack");
    lent.add_station(StationId(1), InterfaceId(0)).expect("a place");
    own.add_station(StationId(1), InterfaceId(0)).expect("a place");
    let txq = TxqId::new(StationId(1), Tid::BE);
    for cookie in 0..6 {
        let packet = packet(cookie, 0);
        let verdict = own.enqueue(NOW, txq, packet, &mut Ignore);
        assert_eq!(lent.enqueue(NOW, txq, packet, &mut Ignore), verdict);
    }
    let next = |packet: Option<Delivered<Header>>| packet.map(|delivered| delivered.packet.cookie);
    for left in (0..5).rev() {
        let cookie = next(own.tx_dequeue(NOW, txq, &mut Ignore));
        assert_eq!(next(lent.tx_dequeue(NOW, txq, &mut Ignore)), cookie);
        assert_eq!(cookie.is_some(), left > 0);
    }
}

/// Two stations, one with voice at a deficit of -300 us and one with best effort at +256 us: voice goes
/// first. With `joint_airtime` it also pays from its station's best effort, down to a debt of 100 ms.
#[test]
fn voice_in_debt_goes_before_best_effort_in_credit() {
    for joint_airtime in [false, true] {
        let mut stack = stack(WifiParams { joint_airtime, ..WifiParams::default() }, 2);
        let vo = Tid::new(6).expect("a TID");
        stack.enqueue(NOW, TxqId::new(StationId(0), vo), packet(1, 0), &mut Ignore);
        fill(&mut stack, 1, 1);
        fill(&mut stack, 0, 1);
        // Each begins at 256.
        stack.register_airtime(NOW, StationId(0), vo, 556, 0);
        let deficit = |stack: &TxStack<Header>, station, ac| {
            stack.airtime_stats(StationId(station), ac).expect("there").deficit
        };
        assert_eq!(deficit(&stack, 0, Ac::Vo), -300);
        assert_eq!(deficit(&stack, 0, Ac::Be), if joint_airtime { -300 } else { 256 });
        assert_eq!(deficit(&stack, 1, Ac::Be), 256);
        stack.schedule_start(Ac::Vo);
        assert_eq!(stack.next_txq(Ac::Vo), Some(TxqId::new(StationId(0), vo)));
        // Best effort of the station with voice is at the head of the list; with `joint_airtime` it waits.
        stack.schedule_start(Ac::Be);
        assert_eq!(stack.next_txq(Ac::Be), Some(be(u32::from(joint_airtime))));
        stack.register_airtime(NOW, StationId(0), vo, 1_000_000, 0);
        assert_eq!(deficit(&stack, 0, Ac::Be), if joint_airtime { -100_000 } else { 256 });
    }
}
