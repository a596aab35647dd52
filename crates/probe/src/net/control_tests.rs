//! Malformed control data that no kernel writes: the parser neither reads past the end nor invents values.

use proptest::prelude::*;

use super::sys;

fn control_messages(control: &[u8]) -> (Option<i64>, Option<u8>) {
    let messages = sys::control_messages(control);
    (messages.wall, messages.tos)
}

/// A control message as 64-bit Linux lays it out: length with the header of 16 bytes, level, type, data.
fn message(len: usize, level: i32, kind: i32, data: &[u8]) -> Vec<u8> {
    let mut bytes = len.to_ne_bytes().to_vec();
    bytes.extend(level.to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(data);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

/// The receive time 3.000000005 s.
fn time(len: usize) -> Vec<u8> {
    let data = [3_i64.to_ne_bytes(), 5_i64.to_ne_bytes()].concat();
    message(len, libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, &data)
}

fn tos(len: usize) -> Vec<u8> {
    message(len, libc::IPPROTO_IP, libc::IP_TOS, &[0xb8])
}

const TIME: Option<i64> = Some(3_000_000_005);

#[test]
#[cfg(target_pointer_width = "64")]
fn complete_messages_are_read_in_any_order() {
    assert_eq!(control_messages(&[time(32), tos(17)].concat()), (TIME, Some(0xb8)));
    assert_eq!(control_messages(&[tos(17), time(32)].concat()), (TIME, Some(0xb8)));
    let class = message(20, libc::IPPROTO_IPV6, libc::IPV6_TCLASS, &7_i32.to_ne_bytes());
    assert_eq!(control_messages(&[class, time(32)].concat()), (TIME, Some(7)));
    assert_eq!(control_messages(&[]), (None, None));
}

#[test]
#[cfg(target_pointer_width = "64")]
fn wrong_lengths_end_the_parsing() {
    // Shorter than the header, longer than the data, and the maximum.
    for len in [0, 1, 15, 33, 4096, usize::MAX] {
        assert_eq!(control_messages(&time(len)), (None, None), "{len}");
        assert_eq!(control_messages(&[tos(17), time(len)].concat()), (None, Some(0xb8)), "{len}");
    }
    // A time or a class that is too short is ignored, and the next message is read.
    for len in 16..32 {
        let short = message(len, libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, &vec![1; len - 16]);
        assert_eq!(control_messages(&[short, tos(17)].concat()), (None, Some(0xb8)), "{len}");
    }
    let short = message(17, libc::IPPROTO_IPV6, libc::IPV6_TCLASS, &[7]);
    assert_eq!(control_messages(&[short, time(32)].concat()), (TIME, None));
    assert_eq!(control_messages(&tos(16)), (None, None));
}

/// The three times of `struct scm_timestamping`, seconds.
fn stamps(times: [i64; 3]) -> Vec<u8> {
    let data = times.map(|second| [second, 0].map(i64::to_ne_bytes).concat()).concat();
    message(16 + data.len(), libc::SOL_SOCKET, libc::SCM_TIMESTAMPING, &data)
}

/// The extended error that comes with the time of a sent datagram.
fn of_datagram(number: u32, point: u32) -> Vec<u8> {
    let (errno, origin) = (42_u32, [4, 0, 0, 0]);
    let data = [&errno.to_ne_bytes()[..], &origin, &point.to_ne_bytes(), &number.to_ne_bytes()].concat();
    message(16 + data.len(), libc::IPPROTO_IP, libc::IP_RECVERR, &data)
}

#[test]
#[cfg(target_pointer_width = "64")]
fn times_of_the_kernel_and_of_the_hardware_are_told_apart() {
    const SECOND: i64 = 1_000_000_000;
    let transmission = |control: &[u8]| {
        let told = sys::control_messages(control).transmission();
        told.map(|told| (told.number, told.wall.map(|ns| ns / SECOND), told.hardware.map(|ns| ns / SECOND)))
    };
    let scheduled = [stamps([7, 0, 0]), of_datagram(3, 1)].concat();
    assert_eq!(transmission(&scheduled), Some((3, Some(7), None)));
    // The kernel has filled in the time of reading, 8 s.
    let by_hardware = [stamps([8, 0, 2]), of_datagram(3, 0)].concat();
    assert_eq!(transmission(&by_hardware), Some((3, None, Some(2))));
    // A time that the software recorded after the queue was not requested.
    assert_eq!(transmission(&[stamps([8, 0, 0]), of_datagram(3, 0)].concat()), None);
    assert_eq!(transmission(&stamps([7, 0, 2])), None, "of no datagram");
    assert_eq!(sys::control_messages(&stamps([7, 0, 2])).hardware, Some(2 * SECOND), "received");
    assert_eq!(sys::control_messages(&time(32)).hardware, None);
}

proptest! {
    /// Any bytes, including messages of any length: parsing ends and stays within them.
    #[test]
    fn any_bytes_are_read_to_their_end(
        bytes in prop::collection::vec(any::<u8>(), 0..128),
        lens in prop::collection::vec(0_usize..64, 0..6),
    ) {
        control_messages(&bytes);
        let all: Vec<u8> = lens.iter().flat_map(|&len| if len % 2 == 0 { time(len) } else { tos(len) }).collect();
        for end in 0..=all.len() {
            control_messages(&all[..end]);
        }
    }
}
