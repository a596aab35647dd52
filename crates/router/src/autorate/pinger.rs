//! Probes reflectors in turn, and collects their answers.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use goodqueue::autorate::{Delays, MOST_REFLECTORS, Sample};
use goodqueue::{Nanos, Span};
use goodqueue_wire as wire;
use socket2::{Domain, Protocol, Socket, Type};

use super::icmp::{self, Answer, Ask, DAY_MS};
use crate::{Error, Result};

/// A probe without an answer is lost after this time.
const LOST: Span = Span::from_secs(1);
/// A reflector that leaves this many timestamps unanswered gets echoes instead.
const TRIES: u32 = 3;
/// How far the clock of a reflector may be off from one answer to the next, ms.
const STEADY_MS: i64 = 1000;
/// How often a receiving thread checks whether it should end.
const LOOK: Duration = Duration::from_millis(250);
/// Most answers that wait to be taken; more are dropped.
const MOST_ANSWERS: usize = 256;

/// Whether a reflector answers timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timestamps {
    Unknown {
        tries: u32,
    },
    /// With the time by which its clock was ahead of ours, ms.
    Answered {
        ahead_ms: i64,
    },
    Never,
}

#[derive(Debug)]
struct Reflector {
    address: IpAddr,
    timestamps: Timestamps,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    sequence: u16,
    reflector: usize,
    sent: Nanos,
    is_timestamp: bool,
}

/// The outcome of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// An answer, and when it came.
    Answer(Nanos, Sample),
    /// A probe to this reflector was not answered.
    Lost(usize),
}

/// An answer with its sender and the time when it came.
type Arrived = (IpAddr, Instant, Answer);

/// Probes of a controller to its reflectors.
#[derive(Debug)]
pub struct Pinger {
    reflectors: Vec<Reflector>,
    /// The one that is asked next.
    next: usize,
    sockets: [Option<UdpSocket>; 2],
    waiting: VecDeque<Waiting>,
    began: Instant,
    /// Time of the day at `began`, ms.
    day_ms: u64,
    id: u16,
    secret: u64,
    sequence: u16,
    answers: Receiver<Arrived>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Pinger {
    /// Opens sockets that send to 2 to [`MOST_REFLECTORS`] reflectors through `interface`. Open them before
    /// the interface is shaped: if that fails, nothing has been touched.
    ///
    /// # Errors
    /// `Refused` for another number of reflectors, `Missing` without `CAP_NET_RAW`.
    pub fn open(interface: &str, reflectors: &[IpAddr]) -> Result<Pinger> {
        let count = reflectors.len();
        if !(2..=MOST_REFLECTORS).contains(&count) {
            return Err(Error::Refused(format!(
                "{count} reflectors: give 2 to {MOST_REFLECTORS}, so that a bad one can be told from a bad link"
            )));
        }
        let random = RandomState::new();
        let secret = random.hash_one(1);
        // Sixteen bits of another number: the id does not reveal the secret.
        let id = random.hash_one(2) as u16;
        let (send, answers) = mpsc::sync_channel(MOST_ANSWERS);
        let stop = Arc::new(AtomicBool::new(false));
        let mut pinger = Pinger {
            reflectors: Vec::new(),
            next: 0,
            sockets: [None, None],
            waiting: VecDeque::new(),
            began: Instant::now(),
            day_ms: SystemTime::now()
                .duration_since(SystemTime::UNIX_EPOCH)
                .map_or(0, |time| time.as_millis() as u64 % u64::from(DAY_MS)),
            id,
            secret,
            sequence: 0,
            answers,
            stop,
            threads: Vec::new(),
        };
        for &address in reflectors {
            let family = usize::from(address.is_ipv6());
            if pinger.sockets[family].is_none() {
                let socket = open(interface, address.is_ipv6())?;
                pinger.receive(&socket, send.clone())?;
                pinger.sockets[family] = Some(socket);
            }
            let timestamps =
                if address.is_ipv4() { Timestamps::Unknown { tries: 0 } } else { Timestamps::Never };
            pinger.reflectors.push(Reflector { address, timestamps });
        }
        Ok(pinger)
    }

    /// Starts the thread that receives from `socket`.
    fn receive(&mut self, socket: &UdpSocket, send: SyncSender<Arrived>) -> Result<()> {
        let failed = |operation| {
            move |error| {
                Error::System(wire::Error::System { operation, object: "ICMP".into(), source: error })
            }
        };
        let socket = socket.try_clone().map_err(failed("dup"))?;
        let (stop, id, secret) = (Arc::clone(&self.stop), self.id, self.secret);
        let work = move || {
            let mut packet = [0; 256];
            while !stop.load(Ordering::Relaxed) {
                // Ignore timeouts, and errors that an earlier probe met.
                let Ok((length, from)) = socket.recv_from(&mut packet) else { continue };
                let (at, from, packet) = (Instant::now(), from.ip(), &packet[..length]);
                let answer = if from.is_ipv4() {
                    icmp::answer(packet, secret)
                } else {
                    icmp::answer_v6(packet, secret)
                };
                if let Some(answer) = answer.filter(|answer| answer.id == id) {
                    let _ = send.try_send((from, at, answer));
                }
            }
        };
        let thread = thread::Builder::new().name("answers".into()).spawn(work).map_err(failed("clone"))?;
        self.threads.push(thread);
        Ok(())
    }

    /// Number of reflectors.
    pub(super) fn count(&self) -> usize {
        self.reflectors.len()
    }

    /// Time since the beginning.
    pub(super) fn now(&self) -> Nanos {
        self.at(Instant::now())
    }

    fn at(&self, instant: Instant) -> Nanos {
        Nanos(instant.saturating_duration_since(self.began).as_nanos() as u64)
    }

    /// Sends a probe to the next reflector that is in use.
    pub(super) fn ask(&mut self, is_in_use: impl Fn(usize) -> bool) {
        let count = self.reflectors.len();
        let Some(number) =
            (0..count).map(|place| (self.next + place) % count).find(|place| is_in_use(*place))
        else {
            return;
        };
        self.next = number + 1;
        self.sequence = self.sequence.wrapping_add(1);
        let (sequence, sent) = (self.sequence, self.now());
        let reflector = &mut self.reflectors[number];
        if let Timestamps::Unknown { tries } = &mut reflector.timestamps {
            *tries += 1;
            if *tries > TRIES {
                reflector.timestamps = Timestamps::Never;
            }
        }
        let is_timestamp = reflector.timestamps != Timestamps::Never;
        let address = reflector.address;
        let bytes = if address.is_ipv6() {
            icmp::question_v6(self.id, sequence, self.secret)
        } else {
            let of_day = (self.day_ms + sent.0 / 1_000_000) % u64::from(DAY_MS);
            let ask = if is_timestamp { Ask::Timestamp(of_day as u32) } else { Ask::Echo };
            icmp::question(ask, self.id, sequence, self.secret)
        };
        if let Some(socket) = &self.sockets[usize::from(address.is_ipv6())] {
            // A probe that cannot be sent counts as unanswered.
            let _ = socket.send_to(&bytes, SocketAddr::new(address, 0));
        }
        self.waiting.push_back(Waiting { sequence, reflector: number, sent, is_timestamp });
    }

    /// The next event before `until`.
    pub(super) fn wait(&mut self, until: Instant) -> Option<Event> {
        loop {
            let now = self.now();
            if let Some(lost) = self.waiting.pop_front_if(|waiting| now.since(waiting.sent) >= LOST) {
                return Some(Event::Lost(lost.reflector));
            }
            match self.answers.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(arrived) => {
                    if let Some((at, sample)) = self.sample(arrived) {
                        return Some(Event::Answer(at, sample));
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// The sample in an answer, if a probe waits for it.
    fn sample(&mut self, (from, at, answer): Arrived) -> Option<(Nanos, Sample)> {
        let came = self.at(at);
        let place = self.waiting.iter().position(|waiting| waiting.sequence == answer.sequence)?;
        let Waiting { reflector: number, sent, is_timestamp, .. } = self.waiting[place];
        let reflector = &mut self.reflectors[number];
        if reflector.address != from {
            return None;
        }
        self.waiting.remove(place);
        let times = answer.times.filter(|_| is_timestamp);
        let one_way = times.and_then(|times| reflector.one_way(self.day_ms, sent, came, times));
        let delays = one_way.unwrap_or(Delays::RoundTrip(came.since(sent)));
        Some((came, Sample { reflector: number, sent, delays }))
    }
}

impl Reflector {
    /// Delays by two clocks; `None` if the reflector's clock does not run like ours.
    fn one_way(
        &mut self,
        day_ms: u64,
        sent: Nanos,
        came: Nanos,
        (there, back): (u32, u32),
    ) -> Option<Delays> {
        let up = beyond(there, day_ms, sent);
        let down = -beyond(back, day_ms, came);
        let ahead_ms = up / 1_000_000;
        let before = std::mem::replace(&mut self.timestamps, Timestamps::Answered { ahead_ms });
        match before {
            Timestamps::Answered { ahead_ms: before } if (ahead_ms - before).abs() > STEADY_MS => None,
            _ => Some(Delays::OneWay { up, down }),
        }
    }
}

/// By how much a time of the day, ms, is later than `at`, ns, at most half a day. A timestamp is whole
/// milliseconds: on average it is half a millisecond early.
fn beyond(time_ms: u32, day_ms: u64, at: Nanos) -> i64 {
    const DAY: i64 = DAY_MS as i64 * 1_000_000;
    let ours = (day_ms % u64::from(DAY_MS)) as i64 * 1_000_000 + (at.0 % DAY.unsigned_abs()) as i64;
    (i64::from(time_ms) * 1_000_000 + 500_000 - ours + DAY / 2).rem_euclid(DAY) - DAY / 2
}

fn open(interface: &str, is_v6: bool) -> Result<UdpSocket> {
    let opened = || {
        let (domain, protocol) =
            if is_v6 { (Domain::IPV6, Protocol::ICMPV6) } else { (Domain::IPV4, Protocol::ICMPV4) };
        let socket = Socket::new(domain, Type::RAW, Some(protocol))?;
        socket.bind_device(Some(interface.as_bytes()))?;
        socket.set_read_timeout(Some(LOOK))?;
        Ok(socket)
    };
    // Addresses and datagrams of the standard library work with any socket.
    opened().map(UdpSocket::from).map_err(|error: io::Error| match error.kind() {
        io::ErrorKind::PermissionDenied => Error::Missing {
            what: format!("the right to send ICMP, CAP_NET_RAW ({error})"),
            cure: "run it as root, or give the program that capability".into(),
        },
        _ => Error::System(wire::Error::System { operation: "socket", object: "ICMP".into(), source: error }),
    })
}

impl Drop for Pinger {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(time: u64) -> Nanos {
        Nanos(time * 1_000_000)
    }

    #[test]
    fn one_way_delays_add_up_to_the_round_trip() {
        let mut reflector =
            Reflector { address: IpAddr::from([192, 0, 2, 1]), timestamps: Timestamps::Unknown { tries: 0 } };
        // Sent 3 s after the beginning at 1 s of the day, 20 ms there, 30 ms back; its clock is 7 s ahead.
        let delays = reflector.one_way(1000, ms(3000), ms(3050), (11_020, 11_020));
        assert_eq!(delays, Some(Delays::OneWay { up: 7_020_500_000, down: -6_970_500_000 }));
        // The reflector's clock passes midnight.
        let delays = reflector.one_way(u64::from(DAY_MS) - 4000, ms(0), ms(50), (3020, 3020));
        assert_eq!(delays, Some(Delays::OneWay { up: 7_020_500_000, down: -6_970_500_000 }));
    }

    #[test]
    fn a_clock_that_jumps_is_not_believed() {
        let mut reflector =
            Reflector { address: IpAddr::from([192, 0, 2, 1]), timestamps: Timestamps::Unknown { tries: 1 } };
        let mut is_believed = |there: u32| reflector.one_way(0, ms(0), ms(50), (there, there)).is_some();
        assert!(is_believed(20));
        assert!(is_believed(90), "a queue");
        // The bytes of a timestamp in the wrong order.
        assert!(!is_believed(20_u32.swap_bytes() % DAY_MS));
        assert!(!is_believed(21));
    }
}
