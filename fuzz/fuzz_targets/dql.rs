#![no_main]
use goodqueue::dql::Params;
use goodqueue::{Dql, Nanos};

libfuzzer_sys::fuzz_target!(|input: (u32, Vec<(u8, u32)>)| {
    let mut now = Nanos(0);
    let mut dql = Dql::new(input.0, now);
    for (call, value) in input.1 {
        match call & 7 {
            0..=2 => dql.queued(value),
            3..=5 => dql.completed(now, value),
            6 => now.0 += u64::from(value) << (call >> 3),
            _ if call & 8 != 0 => dql.reset(now),
            _ => {
                dql.configure(Params { max_limit: value, min_limit: value / 3, slack_hold_time: value >> 8 })
            }
        }
        let state = dql.state();
        assert_eq!(dql.avail(), state.adj_limit.wrapping_sub(state.num_queued).cast_signed());
    }
});
