//! The third arm: a test over a real path, against a `goodqueue server` at its other end. The network is
//! nobody's here: its line and its queues are not known, only what they do to packets.

mod clocks;
mod doubts;
mod locate;
mod probes;
mod run;

use std::net::SocketAddr;

use goodqueue::Span;
use goodqueue_path::load::Secret;
use goodqueue_probe::{Direction as Way, Test, Transport};
use goodqueue_report::{Direction, LinkPlan, Record};

use crate::plan::TestOrder;
use crate::record::test_plan;
use crate::{Arm, Error, Request};

pub use run::run;

/// Flows in each direction of the three loads, unless asked for otherwise.
const FLOWS: u32 = 4;
/// The name of the test without a name.
const THREE_LOADS: &str = "download_upload_both";

/// A test over a real path.
#[derive(Clone, Debug)]
pub struct PathTest {
    /// The server's address; UDP and TCP have the same port.
    pub server: SocketAddr,
    /// The server as typed.
    pub host: String,
    /// The key: the word that the server printed. Tests without flows need none, unless the server's probes
    /// do.
    pub key: Option<String>,
    /// Whether to say where on the path the queue is.
    pub locate: bool,
    test: Test,
    loads: Vec<Load>,
}

/// One load of a test: some of its flows.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    label: String,
    directions: Vec<Way>,
}

impl PathTest {
    /// The test that `request` asks for: of its fields those of the test count. An empty name is the test of
    /// three loads, one after the other: downloads, uploads, both at once, each after an idle time, with a
    /// call beside them.
    ///
    /// # Errors
    /// [`Error::Usage`] names the flag, the value and the cure.
    pub fn new(
        request: &Request,
        host: &str,
        server: SocketAddr,
        key: Option<String>,
    ) -> Result<PathTest, Error> {
        let (test, loads) = if request.test.is_empty() { three_loads(request)? } else { named(request)? };
        if test.hosts() > 1 {
            let (name, hosts) = (&test.name, test.hosts());
            return Err(Error::Usage(format!(
                "{name} needs {hosts} server hosts; over a real path there is one"
            )));
        }
        if !test.web.is_empty() || !test.dash.is_empty() || !test.talks.is_empty() {
            return Err(Error::Usage(
                "--with: over a real path there are telephone calls (voip) only; pages, videos, video calls and games \
                 run in the simulator and with `goodqueue run --live`"
                    .into(),
            ));
        }
        match key.as_deref().map(Secret::of) {
            None if !test.flows.is_empty() => Err(Error::Usage(format!(
                "{} sends load, and the server takes load only from those who have its key: add --key and the word \
                 that `goodqueue server` printed",
                test.name
            ))),
            Some(None) if !test.flows.is_empty() => Err(Error::Usage(format!(
                "--key: a key for load has at least {} characters; take the word that `goodqueue server` printed",
                goodqueue_path::load::word::LEAST
            ))),
            _ => Ok(PathTest { server, host: host.to_owned(), key, locate: false, test, loads }),
        }
    }

    /// What carries its flows.
    #[must_use]
    pub fn transport(&self) -> Transport {
        self.test.flows.first().map_or(Transport::Tcp, |flow| flow.transport)
    }

    /// The test, with the flows of all loads.
    #[must_use]
    pub fn test(&self) -> &Test {
        &self.test
    }

    /// How long it takes at least, with the idle times.
    #[must_use]
    pub fn length(&self) -> Span {
        Span((self.test.idle + self.test.load).0.saturating_mul(self.loads.len() as u64))
    }

    /// How many loads there are.
    #[must_use]
    pub fn loads(&self) -> usize {
        self.loads.len()
    }

    /// The record before anything has run: `own`, and what is known.
    #[must_use]
    pub fn head(&self, own: Record) -> Record {
        Record {
            arm: Arm::Path.name().into(),
            server: Some(self.host.clone()),
            planned: self.loads.iter().map(|load| load.label.clone()).collect(),
            test: test_plan(&self.test, &[]),
            link: LinkPlan {
                mtu_bytes: goodqueue::ETHERNET_MTU,
                ip_version: if self.server.is_ipv6() { 6 } else { 4 },
                ..LinkPlan::default()
            },
            ..own
        }
    }
}

fn named(request: &Request) -> Result<(Test, Vec<Load>), Error> {
    let test = TestOrder::resolve(request)?.test()?;
    let is_loaded = |way: &Way| test.flows.iter().any(|flow| flow.direction == *way);
    let directions = Way::BOTH.into_iter().filter(is_loaded).collect();
    let load = Load { label: test.name.clone(), directions };
    Ok((test, vec![load]))
}

fn three_loads(request: &Request) -> Result<(Test, Vec<Load>), Error> {
    let of = |name: &str| {
        let flows = Some(request.flows.unwrap_or(FLOWS));
        TestOrder::resolve(&Request { test: name.into(), flows, ..request.clone() })?.test()
    };
    let (down, up) = (of("tcp_ndown")?, of("tcp_nup")?);
    let n = up.flows.len();
    let is_quic = up.flows.iter().any(|flow| flow.transport == Transport::Quic);
    let kind = if is_quic { "QUIC" } else { "TCP" };
    let mut test = Test {
        name: THREE_LOADS.into(),
        about: format!("downloads, then uploads, then both at once: {n} {kind} flows each"),
        ..up
    };
    test.flows.splice(0..0, down.flows);
    let load =
        |label: &str, directions: &[Way]| Load { label: label.into(), directions: directions.to_vec() };
    let loads =
        vec![load("download", &[Way::Down]), load("upload", &[Way::Up]), load("both", &[Way::Up, Way::Down])];
    Ok((test, loads))
}

/// A direction in the record's words.
fn direction(way: Way) -> Direction {
    match way {
        Way::Up => Direction::Up,
        Way::Down => Direction::Down,
    }
}
