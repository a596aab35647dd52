use goodqueue::{Ignore, Line, Nanos, Port, Rate, RingSpec, Serializer, Span};
use super::support::{Greedy, packet, FULL};
fn greedy(rate: u64, ring: RingSpec) -> Port<goodqueue::Header, Greedy> {
    let line = Line::from(Serializer::new(Rate(rate)));
    let mut port = Port::new(Greedy::default(), Some(ring), line);
    port.arrive(Nanos(0), packet(0, FULL), &mut Ignore);
    port
}
#[test]
fn explore() {
    for (rate, us) in [(1_000_000, 50), (10_000_000, 0), (10_000_000, 320), (100_000_000, 50),(100_000_000, 320), (1_000_000_000, 0), (1_000_000_000, 50), (1_000_000_000, 125), (1_000_000_000,320), (1_000_000_000,500), (10_000_000_000, 50), (10_000_000_000, 320), (50_000_000_000, 320)] {
        let mut port = greedy(rate, RingSpec { entries: 8192, bql: true, coalesce: Span::from_micros(us) });
        let tau = 1514 * 8 * 1_000_000_000 / rate;
        let k = us * 1000 / tau + 1;
        let b = k * 1514;
        let mut limits = vec![];
        let mut last = 0; let mut t=Nanos(0); let mut maxd=0;
        let mut idle = Nanos(0); let mut lastidle = 0;
        while t < Nanos(4_000_000_000) {
            t = port.next_wake().unwrap();
            while let Some(d) = port.poll(t, &mut Ignore) { if t.0 > 2_000_000_000 { maxd = maxd.max(d.at.0 - d.packet.cookie); } }
            let l = port.dql().unwrap().state().limit;
            if l != last { limits.push((t.0/1000, l)); last = l; }
            if port.stats().idle_backlogged.0 != lastidle { lastidle = port.stats().idle_backlogged.0; idle = t; }
        }
        println!("{rate} {us}us k={k} B={b} limit/B={:.3} maxdelay/tau={:.2} idle {} last {} limits {:?}", last as f64 / b as f64, maxd as f64/tau as f64, lastidle/1000, idle.0/1000, limits);
    }
}
