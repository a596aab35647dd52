//! The probes of a test over a real path: each is a session of irtt's protocol in its own thread.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use goodqueue::Span;
use goodqueue_path::client::{OpenFailure, Plan, Session, Summary, Update};
use goodqueue_path::fill::Fill;
use goodqueue_path::key::Key;
use goodqueue_path::params::{Params, Refusal};
use goodqueue_probe::echo::Schedule;
use goodqueue_probe::net::ClockWatch;
use goodqueue_probe::{Probe, Sample, Test};

use super::{PathHost, PathTest};
use crate::Error;

/// Minimum wait for a reply, and wait for each request to open a session.
const WAIT: Span = Span::from_secs(4);
const TIMEOUTS: [Span; 4] = [Span::from_secs(1), Span::from_secs(2), Span::from_secs(4), Span::from_secs(8)];

/// A probe whose session is open.
pub(super) struct Open {
    session: Session,
    /// Its number in samples.
    number: u32,
    /// Time of its first packet, from the start of the load.
    start: i64,
}

/// The outcome of a probe's session.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    pub(super) summary: Summary,
    /// Why it ended early.
    pub(super) error: Option<String>,
    /// Replies whose TTL differed from the first one's.
    pub(super) other_ttl: u64,
    /// The TTL of the first reply, and the last different one.
    pub(super) ttls: Option<(u8, u8)>,
}

/// Opens the sessions of all probes and calls of the test, one after the other, and that of the second
/// observer, which gets the next number. `keys`: one for each host, and the observer's.
///
/// # Errors
/// The first failure, with its host.
pub(super) fn open(asked: &PathTest, keys: &[Option<Key>], stop: &AtomicBool) -> Result<Vec<Open>, Error> {
    let test = &asked.test;
    let idle = i64::try_from(test.idle.0).unwrap_or(i64::MAX);
    let hosts: Vec<(&PathHost, &Option<Key>)> = asked.hosts.iter().chain(&asked.peer).zip(keys).collect();
    let of_peer = test.streams().next().filter(|_| asked.peer.is_some());
    let streams = test.streams().map(|probe| (probe.host, probe));
    let all: Vec<_> = streams.chain(of_peer.map(|probe| (asked.hosts.len(), probe))).collect();
    let count = all.len() as u64;
    let open = |(number, (host, probe)): (u32, (usize, &Probe))| {
        let is_peer = host == asked.hosts.len();
        let (host, key) = hosts[host];
        // Probes are spread over the interval, so that they do not queue behind each other.
        let spread = probe.interval.0 * u64::from(number) / count;
        let plan = plan(host.address, test, probe, key.as_ref());
        let start = i64::try_from(spread).unwrap_or(0) - idle;
        let session = Session::open(plan, stop).map_err(|failure| explain(host, &failure, is_peer))?;
        Ok(Open { session, number, start })
    };
    (0..).zip(all).map(open).collect()
}

/// A session of probes that did not open, with its cure.
fn explain(host: &PathHost, failure: &OpenFailure, is_peer: bool) -> Error {
    let (host, port) = (&host.name, host.address.port());
    let why = match failure {
        OpenFailure::Unreachable if is_peer => {
            "nobody listens at this observer (--peer); start `goodqueue server` there".to_owned()
        }
        OpenFailure::Silent if is_peer => {
            "this observer (--peer) does not answer; start `goodqueue server` there, let UDP through its firewall, \
             and if it has a key, append =KEY"
                .to_owned()
        }
        OpenFailure::Unreachable => {
            "nobody listens there; start `goodqueue server` at the other end".to_owned()
        }
        OpenFailure::Silent => {
            "no answer to probes; is the host right, does a firewall let UDP through, and does the server have a key \
             (--key)?"
                .to_owned()
        }
        OpenFailure::Refused(Some(Refusal::Full | Refusal::PrefixFull)) => {
            "the server has too many sessions now: try again in a minute".to_owned()
        }
        OpenFailure::Restricted(_) => {
            "the server allows less than this test needs: a shorter --length, or other limits at the server"
                .to_owned()
        }
        other => other.to_string(),
    };
    Error::Machine(format!("{host}, UDP port {port}: {why}"))
}

fn plan(server: SocketAddr, test: &Test, probe: &Probe, key: Option<&Key>) -> Plan {
    let ns = |span: Span| i64::try_from(span.0).unwrap_or(i64::MAX);
    Plan {
        server,
        local: None,
        params: Params {
            version: 1,
            duration: ns(test.idle + test.load),
            interval: ns(probe.interval),
            length: i64::from(probe.payload),
            received: 3,
            stamps: 3,
            clocks: 3,
            tos: i64::from(probe.dscp.tos()),
            ..Params::default()
        },
        schedule: Schedule::Isochronous,
        least_size: None,
        silence: None,
        key: key.cloned(),
        loose: false,
        fill: Fill::None,
        ttl: None,
        fragments: None,
        timeouts: TIMEOUTS.to_vec(),
        wait: WAIT,
    }
}

impl Open {
    /// Waits for its time, sends its packets and reports what happened to them. `at`: the start of the
    /// load on this host's monotonic clock.
    pub(super) fn run(self, at: i64, sink: &Sender<Sample>, stop: &AtomicBool) -> Outcome {
        let Open { session, number: probe, start } = self;
        let wait = at.saturating_add(start).saturating_sub(ClockWatch::new().now().mono);
        thread::sleep(Duration::from_nanos(wait.max(0).unsigned_abs()));
        // The probes in flight, for the report if they are lost.
        let mut sent_at: HashMap<u32, i64> = HashMap::new();
        let mut outcome = Outcome::default();
        let mut first_ttl = None;
        let end = session.run(stop, &mut |update| {
            let sample = match update {
                Update::Sent { seq, at: sent, .. } => {
                    sent_at.insert(seq, sent.mono.saturating_sub(at));
                    return;
                }
                Update::Reply { echo, ttl, .. } => {
                    sent_at.remove(&echo.packet.seq);
                    let Some(sent) = echo.sent else { return };
                    let first = *first_ttl.get_or_insert(ttl);
                    if let (Some(first), Some(ttl)) = (first, ttl)
                        && ttl != first
                    {
                        outcome.other_ttl += 1;
                        outcome.ttls = Some((first, ttl));
                    }
                    let server = &echo.packet;
                    Sample::Echo {
                        probe,
                        seq: server.seq,
                        sent: sent.mono.saturating_sub(at),
                        rtt: echo.rtt(),
                        up: server.server_receive.mono.saturating_sub(sent.mono),
                        down: echo.received.mono.saturating_sub(server.server_send.mono),
                        reordered: echo.reordered,
                        duplicate: echo.duplicate,
                    }
                }
                Update::Lost { seq, way, .. } => {
                    let Some(sent) = sent_at.remove(&seq) else { return };
                    Sample::Lost { probe, seq, sent, way }
                }
                Update::OnWire { .. } | Update::Silent { .. } | Update::Renewed { .. } => return,
            };
            // A receiver that is gone needs no more samples.
            let _ = sink.send(sample);
        });
        match end {
            Ok(summary) => outcome.summary = summary,
            Err(error) => outcome.error = Some(error.to_string()),
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_observer_is_told_as_one() {
        let address = std::net::SocketAddr::from(([192, 0, 2, 7], 2112));
        let host = PathHost { name: "192.0.2.7".into(), address, key: None };
        let told = |failure: OpenFailure, is_peer: bool| explain(&host, &failure, is_peer).to_string();
        assert_eq!(
            told(OpenFailure::Unreachable, true),
            "192.0.2.7, UDP port 2112: nobody listens at this observer (--peer); start `goodqueue server` there"
        );
        assert!(
            told(OpenFailure::Silent, true).contains("(--peer) does not answer; start `goodqueue server`")
        );
        assert!(!told(OpenFailure::Unreachable, false).contains("--peer"));
        assert!(!told(OpenFailure::Silent, false).contains("--peer"));
    }
}
