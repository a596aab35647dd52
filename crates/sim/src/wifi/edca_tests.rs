use goodqueue::wifi::Ac;

use super::*;

const US: u64 = 1_000;

/// `devices` stations at 5 GHz.
fn contention(devices: usize) -> Contention {
    let mut contention = Contention::new(Band::Ghz5, Rng::new(1));
    (0..devices).for_each(|_| contention.add_device(&STATION));
    contention
}

fn best_effort(device: u32) -> u32 {
    4 * device + Ac::Be as u32
}

#[test]
fn an_idle_medium_is_taken_after_aifs_without_backoff() {
    let mut idle = contention(1);
    idle.join(Nanos(1_000 * US), best_effort(0));
    assert_eq!(idle.next(), Some(Nanos(1_000 * US)));
    let mut early = contention(1);
    early.join(Nanos(20 * US), best_effort(0));
    // SIFS 16 + 3 slots of 9.
    assert_eq!(early.next(), Some(Nanos(43 * US)));
}

#[test]
fn a_category_that_joins_while_the_air_is_busy_draws_a_backoff() {
    let mut contention = contention(2);
    contention.join(Nanos(1_000 * US), best_effort(0));
    let mut winners = Vec::new();
    contention.take(Nanos(1_000 * US), &mut winners);
    assert_eq!(winners, [best_effort(0)]);
    contention.leave(best_effort(0));
    contention.join(Nanos(1_100 * US), best_effort(1));
    contention.release(Nanos(2_000 * US));
    let next = contention.next().expect("an access");
    let slots = (next.0 - 2_043 * US) / (9 * US);
    assert_eq!(next.0, 2_043 * US + slots * 9 * US);
    assert!(slots <= 15);
}

/// A backoff keeps its passed slots while others transmit.
#[test]
fn a_backoff_is_frozen_while_the_air_is_busy() {
    let mut contention = contention(2);
    let mut winners = Vec::new();
    contention.edcafs[best_effort(0) as usize].ends = 3;
    contention.edcafs[best_effort(1) as usize].ends = 10;
    contention.join(Nanos(0), best_effort(0));
    contention.join(Nanos(0), best_effort(1));
    assert_eq!(contention.next(), Some(Nanos((43 + 27) * US)));
    contention.take(Nanos(70 * US), &mut winners);
    assert_eq!(winners, [best_effort(0)]);
    contention.leave(best_effort(0));
    contention.release(Nanos(500 * US));
    assert_eq!(contention.next(), Some(Nanos((500 + 43 + 7 * 9) * US)));
}

#[test]
fn the_higher_category_wins_within_a_device_and_the_lower_backs_off() {
    let mut contention = contention(1);
    let mut winners = Vec::new();
    // AIFSN 2 and 3: the category with AIFSN 3 gets the air one slot later.
    contention.edcafs[Ac::Vo as usize].ends = 1;
    contention.join(Nanos(0), Ac::Vo as u32);
    contention.join(Nanos(0), best_effort(0));
    assert_eq!(contention.next(), Some(Nanos(43 * US)));
    contention.take(Nanos(43 * US), &mut winners);
    assert_eq!(winners, [Ac::Vo as u32]);
    assert_eq!(contention.edcafs[best_effort(0) as usize].cw, 31);
}

#[test]
fn the_window_doubles_to_its_limit_and_falls_back() {
    let mut contention = contention(1);
    let windows: Vec<u16> = (0..8)
        .map(|_| {
            contention.failed(Nanos(0), best_effort(0));
            contention.edcafs[best_effort(0) as usize].cw
        })
        .collect();
    assert_eq!(windows, [31, 63, 127, 255, 511, 1023, 1023, 1023]);
    contention.succeeded(Nanos(0), best_effort(0));
    assert_eq!(contention.edcafs[best_effort(0) as usize].cw, 15);
}

/// Collision probability of n saturated stations against the fixed point of Bianchi (IEEE JSAC 18(3), 2000):
/// tau = 2 (1 - 2p) / ((1 - 2p)(W + 1) + p W (1 - (2p)^m)), p = 1 - (1 - tau)^(n - 1), with W = 16, m = 6.
#[test]
fn saturated_stations_collide_as_bianchi_says() {
    for devices in [2_u32, 5, 10, 30] {
        let mut contention = contention(devices as usize);
        let (mut now, mut winners) = (Nanos(0), Vec::new());
        (0..devices).for_each(|device| {
            contention.succeeded(now, best_effort(device));
            contention.join(now, best_effort(device));
        });
        let (mut attempts, mut collisions) = (0_u32, 0_u32);
        while attempts < 200_000 {
            now = contention.next().expect("all want the air");
            contention.take(now, &mut winners);
            attempts += u32::try_from(winners.len()).expect("few");
            now += Span::from_micros(500);
            if let [winner] = winners[..] {
                contention.succeeded(now, winner);
            } else {
                collisions += u32::try_from(winners.len()).expect("few");
                winners.iter().for_each(|&winner| contention.failed(now, winner));
            }
            contention.release(now);
        }
        let measured = f64::from(collisions) / f64::from(attempts);
        let model = bianchi(f64::from(devices));
        assert!((measured / model - 1.0).abs() < 0.06, "{devices}: {measured} {model}");
    }
}

fn bianchi(devices: f64) -> f64 {
    let tau = |p: f64| {
        let sum: f64 = (0..6).map(|k| (2.0 * p).powi(k)).sum();
        2.0 / (1.0 + 16.0 + p * 16.0 * sum)
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let p = (low + high) / 2.0;
        if 1.0 - (1.0 - tau(p)).powf(devices - 1.0) > p { low = p } else { high = p }
    }
    (low + high) / 2.0
}
