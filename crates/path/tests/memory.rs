//! An endless session takes no more memory the longer it lasts.

#![allow(clippy::unwrap_used)]

use goodqueue_path::client::Update;
use goodqueue_path::result::Trips;
use goodqueue_probe::Direction;
use goodqueue_probe::echo::wire::{IpFields, Layout, Packet};
use goodqueue_probe::echo::{Echo, Stamp};

const MS: i64 = 1_000_000;

/// Resident memory of this process, kB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// The fate of probe `seq`, one each millisecond; a few are lost, duplicated and overtaken.
fn probe(trips: &mut Trips, seq: u32) {
    let at = |ns: i64| Stamp { wall: 1_700_000_000_000 * MS + ns, mono: ns };
    let sent = i64::from(seq) * MS;
    trips.take(&Update::Sent { seq, at: at(sent), size: 64 });
    if seq % 100 == 3 {
        return trips.take(&Update::Lost { seq, way: Some(Direction::Up), unanswered: false });
    }
    let wait = i64::from(seq % 1000) * 20_000;
    let packet = Packet {
        reply: true,
        seq,
        received: seq,
        server_receive: at(sent + MS + wait),
        server_send: at(sent + MS + wait),
        request_ip: IpFields { tos: (seq % 4).to_le_bytes()[0], ttl: 60 },
        ..Packet::default()
    };
    let received = at(sent + 2 * MS + wait);
    let echo =
        Echo { packet, sent: Some(at(sent)), received, reordered: seq.is_multiple_of(7), duplicate: false };
    let reply = Update::Reply { echo, size: 64, hardware: None, tos: Some(0), ttl: Some(60) };
    trips.take(&reply);
    if seq.is_multiple_of(50) {
        trips.take(&reply);
    }
}

/// 50 minutes with a probe each millisecond. The bounds are those on the page.
#[test]
fn a_session_without_end_has_bounded_memory() {
    let before = resident();
    let mut trips = Trips::without_end(Layout { ip: true, ..Layout::FULL }, IpFields { tos: 0, ttl: 64 }, MS);
    let (early, late) = (400_000, 3_000_000);
    (0..early).for_each(|seq| probe(&mut trips, seq));
    let figures = trips.figures();
    let settled = resident();
    (early..late).for_each(|seq| probe(&mut trips, seq));
    let (figures, last) = (trips.figures(), figures);
    let end = resident();
    eprintln!(
        "{} kB in all, {} kB more after {late} probes than after {early}",
        end - before,
        end.saturating_sub(settled)
    );
    assert!(end - before < 64 << 10, "{} kB", end - before);
    assert!(
        end.saturating_sub(settled) < 4 << 10,
        "{settled} kB after {early} probes, {end} kB after {late}"
    );
    let counts = figures.counts;
    assert_eq!((counts.sent, counts.lost_up), (u64::from(late), u64::from(late) / 100));
    assert_eq!((counts.received, counts.duplicates), (counts.sent - counts.lost_up, u64::from(late) / 50));
    assert_eq!(last.counts.sent, u64::from(early));
    // Delays go from 0 to 20 ms evenly.
    let rise = figures.up_rise.unwrap();
    assert!((rise.median - 10 * MS).abs() < MS / 4 && (rise.p95 - 19 * MS).abs() < MS / 4, "{rise:?}");
    assert_eq!(trips.marks().up.known(), counts.received);
}
