//! The same burst through a FIFO and through FQ-CoDel, in front of a line of 10 Mbit/s: how long a lone
//! packet waits.

use goodqueue::port::Line;
use goodqueue::{Header, Ignore, Nanos, Port, QueueSpec, Rate, Serializer};

/// The rate of the line, bit/s.
const RATE: Rate = Rate(10_000_000);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for text in ["pfifo:1000", "fq_codel"] {
        let spec: QueueSpec = text.parse()?;
        let queue = spec.build::<Header>(RATE, 1514, Nanos::ZERO)?;
        let mut port = Port::new(queue, None, Line::from(Serializer::new(RATE)));

        // 100 packets of a bulk flow, then one of another flow, all at once. A flow hash uses all 32 bits.
        let packet = |cookie, flow_hash| Header { cookie, len: 1514, truesize: 2304, flow_hash, dsfield: 0 };
        for cookie in 0..100 {
            port.arrive(Nanos::ZERO, packet(cookie, 0x1234_5678), &mut Ignore);
        }
        port.arrive(Nanos::ZERO, packet(100, 0x9abc_def0), &mut Ignore);

        // An owner sleeps until `next_wake`; here time simply jumps there.
        while let Some(now) = port.next_wake() {
            while let Some(departure) = port.poll(now, &mut Ignore) {
                if departure.packet.cookie == 100 {
                    let waited = departure.at.since(Nanos::ZERO).as_millis_f64();
                    println!("{text}: the lone packet left after {waited:.1} ms");
                    assert_eq!(
                        waited < 5.0,
                        text == "fq_codel",
                        "a separate flow does not wait for the others"
                    );
                }
            }
        }
    }
    Ok(())
}

#[test]
fn it_runs() -> Result<(), Box<dyn std::error::Error>> {
    main()
}
