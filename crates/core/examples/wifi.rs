//! Airtime fairness in a Wi-Fi driver: a slow and a fast station, neither of which runs out of packets.

use goodqueue::wifi::{Ac, Capacity, InterfaceId, StationId, Tid, TxStack, TxqId, WifiParams};
use goodqueue::{Header, Ignore, Nanos, Span};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut stack = TxStack::<Header>::new(WifiParams::default(), Capacity::default())?;
    // Airtime of one packet, us: 1 Mbit/s and 100 Mbit/s, roughly.
    let stations = [(StationId(0), 12_000_u32), (StationId(1), 120)];
    for (station, _) in stations {
        stack.add_station(station, InterfaceId(0))?;
    }
    let best_effort = Tid::new(0).ok_or("a TID is 0 to 15")?;
    let packet =
        |station: StationId| Header { len: 1500, truesize: 2304, flow_hash: station.0, ..Header::default() };
    let mut now = Nanos::ZERO;
    for (station, _) in stations {
        stack.enqueue(now, TxqId::new(station, best_effort), packet(station), &mut Ignore);
    }
    let mut used = [0_u64; 2];
    while now < Nanos::ZERO + Span::from_secs(2) {
        // A driver's round: one packet is taken from each queue whose turn it is, and its airtime is
        // reported.
        stack.schedule_start(Ac::Be);
        while let Some(txq) = stack.next_txq(Ac::Be) {
            let which = usize::from(txq == TxqId::new(StationId(1), best_effort));
            let (station, airtime) = stations[which];
            if let Some(sent) = stack.tx_dequeue(now, txq, &mut Ignore) {
                now += Span::from_micros(airtime.into());
                used[which] += u64::from(airtime);
                stack.register_airtime(now, station, best_effort, airtime, 0);
                stack.tx_completed(station, Ac::Be, sent.estimate);
                stack.enqueue(now, txq, packet(station), &mut Ignore);
            }
            stack.return_txq(now, txq, false);
        }
    }
    let total = used[0] + used[1];
    println!(
        "slow station: {} % of the air, fast station: {} %",
        100 * used[0] / total,
        100 * used[1] / total
    );
    assert!((48..=52).contains(&(100 * used[0] / total)), "both have the same share of time: {used:?}");
    Ok(())
}

#[test]
fn it_runs() -> Result<(), Box<dyn std::error::Error>> {
    main()
}
