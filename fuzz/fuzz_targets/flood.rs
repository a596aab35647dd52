#![no_main]
use goodqueue_probe::Sample;
use goodqueue_probe::net::{FloodLimits, Floods};

/// Bit/s of all flows in a direction, flows at a time, and ns from the start of the load.
const LIMITS: FloodLimits = FloodLimits { flows: 3, bps: 8_000_000, until: 5_000_000_000 };
/// Largest UDP payload, bytes.
const MOST: usize = 1472;
/// The server makes up for so much time in which it did not run, ns.
const LATE: i64 = 100_000_000;
const SILENCE: i64 = 1_000_000_000;

// Datagrams at a server of UDP load. A byte in front of each selects the time before it, and whether it
// begins as the protocol's announcements do.
libfuzzer_sys::fuzz_target!(|datagrams: Vec<(u8, Vec<u8>)>| {
    let mut floods: Floods<()> = Floods::new(LIMITS, 8);
    let (mut t, mut heard, mut taken, mut counted) = (0_i64, i64::MIN, 0_u64, 0_u64);
    for (how, mut datagram) in datagrams {
        t += i64::from(how >> 2) * 5_000_000;
        if how & 3 != 0 && datagram.len() >= 6 {
            datagram[..4].copy_from_slice(b"GQu1");
            datagram[4] = 1 + datagram[4] % 2;
            datagram[5] %= 2;
        }
        if how & 2 != 0 && datagram.len() >= 48 {
            // A flow that a server may accept: size, rate and times fit.
            let payload = 64 + u32::from(datagram[12]);
            datagram[12..16].copy_from_slice(&payload.to_le_bytes());
            datagram[19..24].fill(0);
            for at in [24, 32, 40] {
                datagram[at + 4..at + 8].fill(0);
            }
        }
        let len = datagram.len();
        if floods.handle(t, (len, &datagram), || ((), 0)) {
            taken += len as u64 + 8;
            if datagram[4] == 1 {
                heard = t;
            }
        }
        let (mut sent, mut last) = (0_usize, 0_usize);
        let mut send = |(): &(), datagram: &[u8], _: u8| {
            assert!(datagram.len() <= MOST);
            sent += datagram.len();
            last += 1;
        };
        let mut sink = |sample: Sample| {
            if let Sample::Received { bytes, .. } = sample {
                counted += bytes;
            }
        };
        floods.pass_time(t, &mut send, &mut sink);
        assert!(counted <= taken, "no more is counted than came");
        assert!(last == 0 || t - heard < SILENCE, "nothing goes to a client that is silent");
        let due = LIMITS.bps as i64 / 8 * LATE / 1_000_000_000;
        assert!(sent <= due as usize + LIMITS.flows * MOST, "{sent} bytes at once");
    }
});
