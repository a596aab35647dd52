//! Messages of ICMP that a reflector answers: echo (RFC 792 page 14, RFC 4443 §4), and over IPv4 timestamp
//! (RFC 792 page 16), which shows the delay of each direction.

/// A day in ms: timestamps count from midnight UT.
pub(super) const DAY_MS: u32 = 86_400_000;
/// The highest bit of a timestamp says that it is not in milliseconds since midnight (RFC 792).
const NON_STANDARD: u32 = 1 << 31;

/// The kind of question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Echo: there and back.
    Echo,
    /// Timestamp, with the time of the day at which it is sent, ms.
    Timestamp(u32),
}

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The number of the sender of the question.
    pub id: u16,
    /// The number of the question.
    pub sequence: u16,
    /// When the question came and when the answer left, ms of the day by the reflector's clock; `None` for an
    /// echo, and for a reflector with invalid timestamps.
    pub times: Option<(u32, u32)>,
}

/// A question to an IPv4 address. The last eight bytes of an echo are `secret`.
#[must_use]
pub fn question(ask: Ask, id: u16, sequence: u16, secret: u64) -> Vec<u8> {
    let (kind, body) = match ask {
        Ask::Echo => (8, secret.to_be_bytes().to_vec()),
        Ask::Timestamp(now) => (13, [now.to_be_bytes(), [0; 4], [0; 4]].concat()),
    };
    let mut bytes = message(kind, id, sequence, &body);
    let sum = checksum(&bytes);
    bytes[2..4].copy_from_slice(&sum.to_be_bytes());
    bytes
}

/// An echo to an IPv6 address. The kernel fills in the checksum (RFC 3542 §3.1).
#[must_use]
pub fn question_v6(id: u16, sequence: u16, secret: u64) -> Vec<u8> {
    message(128, id, sequence, &secret.to_be_bytes())
}

fn message(kind: u8, id: u16, sequence: u16, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind, 0, 0, 0];
    bytes.extend_from_slice(&id.to_be_bytes());
    bytes.extend_from_slice(&sequence.to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// The answer in a packet from a raw IPv4 socket, which begins with the IP header; `None` for anything else.
/// The kernel has checked the IP header, but not the ICMP checksum.
#[must_use]
pub fn answer(packet: &[u8], secret: u64) -> Option<Answer> {
    let header = usize::from(packet.first()? & 0x0f) * 4;
    let bytes = packet.get(header..)?;
    if header < 20 || checksum(bytes) != 0 {
        return None;
    }
    let word = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    match bytes.get(..2)? {
        [0, 0] => echo(bytes, secret),
        [14, 0] => {
            let (came, left) = (word(12)?, word(16)?);
            let is_clock = (came | left) & NON_STANDARD == 0 && came < DAY_MS && left < DAY_MS;
            // Both times are of about the same moment.
            let is_near = (left + DAY_MS - came) % DAY_MS < 1000;
            let (id, sequence) = numbers(bytes)?;
            Some(Answer { id, sequence, times: (is_clock && is_near).then_some((came, left)) })
        }
        _ => None,
    }
}

/// The answer in a packet from a raw IPv6 socket, which the kernel has checked.
#[must_use]
pub fn answer_v6(bytes: &[u8], secret: u64) -> Option<Answer> {
    if bytes.get(..2)? == [129, 0] { echo(bytes, secret) } else { None }
}

fn echo(bytes: &[u8], secret: u64) -> Option<Answer> {
    let (id, sequence) = numbers(bytes)?;
    (bytes.get(8..)? == secret.to_be_bytes()).then_some(Answer { id, sequence, times: None })
}

fn numbers(bytes: &[u8]) -> Option<(u16, u16)> {
    let number = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    Some((number(4)?, number(6)?))
}

/// The Internet checksum (RFC 1071); 0 over a message that has it.
fn checksum(bytes: &[u8]) -> u16 {
    let mut sum: u32 = 0;
    for pair in bytes.chunks(2) {
        sum += u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What comes back: an IP header without options, and the message with another type and other times.
    fn returned(mut message: Vec<u8>, kind: u8, times: Option<(u32, u32)>) -> Vec<u8> {
        message[0] = kind;
        message[2..4].fill(0);
        if let Some((came, left)) = times {
            message[12..16].copy_from_slice(&came.to_be_bytes());
            message[16..20].copy_from_slice(&left.to_be_bytes());
        }
        let sum = checksum(&message);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        let mut packet = vec![0x45; 20];
        packet.extend(message);
        packet
    }

    #[test]
    fn an_echo_on_the_wire() {
        // Type 8, code 0, the sum, id 0x1234, sequence 1, and eight bytes.
        let bytes = question(Ask::Echo, 0x1234, 1, 0x0102_0304_0506_0708);
        assert_eq!(bytes, [8, 0, 0xd5, 0xb6, 0x12, 0x34, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(checksum(&bytes), 0);
    }

    #[test]
    fn an_echo_comes_back_only_with_its_secret() {
        let packet = returned(question(Ask::Echo, 7, 9, 42), 0, None);
        assert_eq!(answer(&packet, 42), Some(Answer { id: 7, sequence: 9, times: None }));
        assert_eq!(answer(&packet, 43), None);
        let mut other = packet.clone();
        other[25] ^= 1;
        assert_eq!(answer(&other, 42), None, "a wrong checksum");
    }

    #[test]
    fn timestamps_tell_both_ways_apart() {
        let asked = question(Ask::Timestamp(1000), 7, 9, 42);
        let times = |times| answer(&returned(asked.clone(), 14, Some(times)), 42).expect("an answer").times;
        assert_eq!(times((5000, 5001)), Some((5000, 5001)));
        assert_eq!(times((DAY_MS - 1, 0)), Some((DAY_MS - 1, 0)), "over midnight");
        assert_eq!(times((NON_STANDARD | 5000, NON_STANDARD | 5000)), None, "some other time");
        assert_eq!(times((5000, 90_000)), None, "not of one moment");
        assert_eq!(times((DAY_MS, DAY_MS)), None, "later than the day is long");
    }

    #[test]
    fn over_ipv6_too() {
        let mut bytes = question_v6(7, 9, 42);
        assert_eq!(answer_v6(&bytes, 42), None, "a question");
        bytes[0] = 129;
        assert_eq!(answer_v6(&bytes, 42), Some(Answer { id: 7, sequence: 9, times: None }));
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_answer_or_none(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = answer(&bytes, 42);
            let _ = answer_v6(&bytes, 42);
        }
    }
}
