#![no_main]
//! Messages of connection tracking, one behind the other, each with its length in front; then a packet.
use goodqueue::Direction;
use goodqueue_wire::frame::ip;
use goodqueue_wire::nat::{MOST_CONNECTIONS, Translations};

/// `IPCTNL_MSG_CT_NEW` and `IPCTNL_MSG_CT_DELETE` of the subsystem.
const KINDS: [u16; 2] = [0x0100, 0x0102];

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (mut table, mut rest) = (Translations::default(), bytes);
    while let [length, kind, more @ ..] = rest {
        let (message, behind) = more.split_at(more.len().min(usize::from(*length)));
        match kind {
            254 => table.begin_list(),
            255 => table.end_list(),
            _ => table.take(KINDS[usize::from(kind % 2)], message),
        }
        rest = behind;
    }
    assert!(table.len() <= MOST_CONNECTIONS);
    for way in Direction::BOTH {
        assert!(table.inside(way, bytes).is_none() || ip(bytes).is_some_and(|(_, is_v6)| !is_v6));
    }
});
