//! The radio behaves the same behind the live engine's interface as by itself.

use std::sync::mpsc::channel;

use goodqueue_sim::wifi::{DeviceSpec, DriverSpec, PeerSpec, RadioSpec, RateSpec};

use super::*;
use crate::radio::{Measured, Owner, faults};

/// The output: time, cookie, DS byte; or the reason for a drop.
#[derive(Default)]
struct Out(Vec<(u64, u64, Result<u8, Reason>)>);

impl Exit for Out {
    fn leave(&mut self, now: Nanos, cookie: u64, dsfield: u8) {
        self.0.push((now.0, cookie, Ok(dsfield)));
    }
    fn drop(&mut self, cookie: u64, reason: Reason) {
        self.0.push((0, cookie, Err(reason)));
    }
    fn mark(&mut self, _cookie: u64) {}
}

impl Sink for Out {
    fn delivered(&mut self, now: Nanos, _: DeviceId, frame: Frame) {
        self.leave(now, frame.handle.into(), frame.dsfield);
    }
    fn dropped(&mut self, _: Nanos, _: DeviceId, frame: Frame, reason: Reason) {
        Exit::drop(self, frame.handle.into(), reason);
    }
}

fn spec(driver: DriverSpec) -> RadioSpec {
    let peer = |rate: &str| PeerSpec::new(RateSpec::Fixed(rate.parse().expect("a rate")));
    let fifos = || DriverSpec::ath9k_fifos("pfifo:50".parse().expect("a queue"));
    let station = |rate| DeviceSpec::station(0, peer(rate), fifos());
    let devices = vec![DeviceSpec::access_point(driver), station("mcs7"), station("mcs0")];
    RadioSpec { devices, ..RadioSpec::default() }
}

/// Packets every 250 us to and from two stations, more than the air takes: the interface, with a time that
/// began long ago, gives the same result as direct calls.
fn same(driver: DriverSpec) {
    const ORIGIN: u64 = 77_000_000_123;
    let radio = || Radio::new(&spec(driver.clone()), 9, 0).expect("a radio");
    let (sender, heard) = channel();
    let start = LoadStart::default();
    let mut live = OnAir {
        radio: radio(),
        places: crate::radio::places(&spec(driver.clone())),
        origin: Nanos(ORIGIN),
        to_stations: Direction::Down,
        load_start: start.clone(),
        load: Span::from_millis(1_050),
        ramp: Span::ZERO,
        listener: sender,
        notes: Notes::default(),
    };
    start.set(Nanos(ORIGIN + 500_000_000));
    let mut plain = radio();
    let (mut by_border, mut by_hand) = (Out::default(), Out::default());
    for step in 0..8_000_u64 {
        let (at, host) = (Nanos(step * 250_000), (step % 2) as u8);
        let is_down = step % 7 != 0;
        let (len, dsfield) = (if is_down { 1514 } else { 66 }, if step % 50 == 0 { 0xb9 } else { 1 });
        while let Some(event) = live.next_event().filter(|event| event.0 <= at.0 + ORIGIN) {
            live.advance(event, &mut by_border);
        }
        let header = wire::Frame { cookie: step, len, truesize: 2304, flow_hash: host.into(), dsfield };
        let way = if is_down { Direction::Down } else { Direction::Up };
        live.arrive(Nanos(at.0 + ORIGIN), way, host, header, &mut by_border);

        plain.advance(at, &mut by_hand);
        let station = u16::from(host) + 1;
        let (from, to) = if is_down { (0, station) } else { (station, 0) };
        let handle = step as u32;
        let frame =
            Frame { handle, len, flow_hash: host.into(), to, dsfield, tid: dsfield >> 5, ..Frame::default() };
        plain.offer(at, from, frame, &mut by_hand);
    }
    let end = Nanos(2_100_000_000);
    live.advance(end + Span(ORIGIN), &mut by_border);
    plain.advance(end, &mut by_hand);
    assert!(by_hand.0.len() > 1_000, "{} packets", by_hand.0.len());
    let shifted = |&(at, cookie, what): &(u64, u64, _)| (if at > 0 { at + ORIGIN } else { at }, cookie, what);
    assert!(
        by_border.0.iter().copied().eq(by_hand.0.iter().map(shifted)),
        "not the same packets at the same times"
    );
    assert_eq!(live.backlog(Direction::Down)[0], backlog(&plain, 0)[0]);
    live.finish(end + Span(ORIGIN));
    let drops = by_hand.0.iter().filter(|out| out.2.is_err()).count();
    let (mut events, mut moments) = (0, Vec::new());
    let mut measured = Measured::new(crate::radio::places(&spec(driver.clone())), Span::from_millis(1_050));
    for heard in heard {
        match heard {
            RadioMessage::Events(air) => {
                events += air.len();
                air.iter().for_each(|event| measured.event(event, 500_000_000));
            }
            RadioMessage::Moment(t, moment) => {
                moments.push(t / 1_000_000);
                measured.moment(t.cast_signed(), moment);
            }
            RadioMessage::End(radio, offered, now) => {
                assert_eq!(now, end);
                for (device, Offered { arrived, drops, .. }) in (0..).zip(&offered) {
                    let dropped = drops.iter().sum::<u64>() - drops[Reason::Loss as usize];
                    let there = radio.sent_of(device) + radio.held_of(device) + dropped;
                    assert_eq!((offered.len(), *arrived), (3, there), "device {device}");
                    let waits = radio.sojourn(device).expect("measured from the start of the load");
                    assert!(waits.count() > 50 && waits.quantile(0.5) <= waits.max(), "{waits:?}");
                }
                let recorded = measured.finish("phy0".into(), &spec(driver), &radio, |_| Owner::default());
                assert_eq!(faults(&recorded, &radio, now), Vec::<String>::new());
                assert_eq!(recorded.accounting.elapsed_ns, 1_050_000_000);
                assert_eq!(recorded.shares.t_ns.len(), 10);
                assert!(recorded.window.len() > 50, "{} events", recorded.window.len());
                assert!(recorded.stations.iter().all(|station| station.delivered_bytes > 0));
                // The slow station gets more packets than its share can carry, under any driver.
                assert!(recorded.stations[1].drops > 100, "{} drops", recorded.stations[1].drops);
                break;
            }
        }
    }
    assert_eq!(moments, [0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1_000, 1_050]);
    assert!(drops > 100 && events > 100, "{drops} drops, {events} events");
}

#[test]
fn a_fifo_access_point_is_the_same_through_the_medium_interface() {
    same(DriverSpec::ath9k_fifos("pfifo:50".parse().expect("a queue")));
}

#[test]
fn airtime_fairness_is_the_same_through_the_medium_interface() {
    same(DriverSpec::ath9k());
}
