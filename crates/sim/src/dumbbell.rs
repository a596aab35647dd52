//! The network of most experiments: two routers with one bottleneck between them, and pairs of hosts around
//! it.

use goodqueue::{Rate, Span};

use crate::scenario::{Discipline, Link, NodeId, PortSpec, Scenario};
use crate::tcp::Config;

/// A dumbbell: a client and a server for each round-trip time, and one bottleneck in each direction between
/// all of them.
///
/// ```text
///  client 0 ──┐                                        ┌── server 0
///             ├── router ── UP ──►  ◄── DOWN ── router ─┤
///  client 1 ──┘                                        └── server 1
/// ```
///
/// The other links have no rate. In each direction the propagation delay is behind the bottleneck; it is half
/// of the pair's round-trip time.
#[derive(Clone, Debug)]
pub struct Dumbbell {
    /// The bottleneck towards the servers.
    pub up: PortSpec,
    /// The bottleneck towards the clients.
    pub down: PortSpec,
    /// Base round-trip time of each pair of hosts: propagation, no serialization. There is one pair per
    /// entry.
    pub rtts: Vec<Span>,
}

impl Dumbbell {
    /// The number in [`Scenario::links`] of the bottleneck from the clients to the servers.
    pub const UP: usize = 0;
    /// The same from the servers to the clients.
    pub const DOWN: usize = 1;

    /// One pair of hosts, with the same `queue` and `rate` in both directions.
    #[must_use]
    pub fn new(queue: Discipline, rate: Rate, rtt: Span) -> Dumbbell {
        let port = PortSpec::new(queue, rate);
        Dumbbell { up: port.clone(), down: port, rtts: vec![rtt] }
    }

    /// The node that is the client of pair `pair`; pairs count from 0.
    #[must_use]
    pub const fn client(pair: usize) -> NodeId {
        2 + 2 * pair
    }

    /// The node that is the server of pair `pair`; pairs count from 0.
    #[must_use]
    pub const fn server(pair: usize) -> NodeId {
        3 + 2 * pair
    }

    /// The network, with nothing to do yet: add flows, sources and probes. The hosts' devices take no
    /// super-packets ([`Config::tso`] is off), so that the bottleneck sees packets.
    #[must_use]
    pub fn scenario(self) -> Scenario {
        const NEAR: NodeId = 0;
        const FAR: NodeId = 1;
        let mut nodes = vec!["client router".to_owned(), "server router".to_owned()];
        let mut links = vec![
            Link::new(NEAR, FAR, Some(self.up), Span::ZERO),
            Link::new(FAR, NEAR, Some(self.down), Span::ZERO),
        ];
        for (pair, rtt) in self.rtts.into_iter().enumerate() {
            nodes.extend([format!("client {pair}"), format!("server {pair}")]);
            let (client, server, half) = (Dumbbell::client(pair), Dumbbell::server(pair), Span(rtt.0 / 2));
            links.extend([
                Link::new(client, NEAR, None, Span::ZERO),
                Link::new(FAR, server, None, half),
                Link::new(server, FAR, None, Span::ZERO),
                Link::new(NEAR, client, None, rtt - half),
            ]);
        }
        Scenario { nodes, links, tcp: Config { tso: false, ..Config::default() }, ..Scenario::default() }
    }
}
