//! Networks of many hosts: the dumbbell, the parking lot, the fat tree, and any other, edge by edge.

use goodqueue::Span;

use crate::scenario::{Link, NodeId, PortSpec, Scenario};
use crate::tcp::Config;

/// A network that is built edge by edge, and its hosts. [`Dumbbell`](crate::Dumbbell) is one client, one
/// server and their bottleneck.
///
/// ```
/// use goodqueue::{Nanos, Rate, Span};
/// use goodqueue_sim::tcp::cc::CcKind;
/// use goodqueue_sim::{Flow, PortSpec, Simulation, Topology};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Sixteen hosts at 1 Gbit/s, with 1 us between two nodes.
/// let port = PortSpec::new("fq_codel".parse()?, Rate(1_000_000_000));
/// let tree = Topology::fat_tree(4, &port, Span::from_micros(1));
/// let (first, last) = (tree.hosts[0], tree.hosts[15]);
/// let mut scenario = tree.scenario();
/// scenario.flows.push(Flow { bytes: Some(1_000_000), ..Flow::new(first, last, CcKind::Cubic) });
///
/// let mut simulation = Simulation::new(&scenario)?;
/// simulation.run_until(Nanos::ZERO + Span::from_secs(1));
/// // Host, edge, aggregation, core, aggregation, edge, host.
/// assert_eq!(simulation.path(0).len(), 6);
/// assert!(simulation.transfer(0).ended.is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Topology {
    /// Names of all nodes.
    pub nodes: Vec<String>,
    /// Directed links: link 2e goes from the first end of edge `e` to the second, and link 2e + 1 back.
    pub links: Vec<Link>,
    /// The nodes that are hosts.
    pub hosts: Vec<NodeId>,
}

impl Topology {
    /// Adds a node.
    pub fn node(&mut self, name: impl Into<String>) -> NodeId {
        self.nodes.push(name.into());
        self.nodes.len() - 1
    }

    /// Adds a node that is a host.
    pub fn host(&mut self, name: impl Into<String>) -> NodeId {
        let node = self.node(name);
        self.hosts.push(node);
        node
    }

    /// Adds an edge: a link in each direction, with the same queue, line and propagation delay. With `None`
    /// the links have neither queue nor rate.
    pub fn edge(&mut self, one: NodeId, other: NodeId, port: Option<&PortSpec>, delay: Span) {
        for (from, to) in [(one, other), (other, one)] {
            self.links.push(Link::new(from, to, port.cloned(), delay));
        }
    }

    /// The dumbbell: `pairs` pairs of hosts, whose two sides share one bottleneck.
    ///
    /// ```text
    ///  hosts[0] ── left ══ right ── hosts[1]
    ///  hosts[2] ───┘           └─── hosts[3]
    /// ```
    ///
    /// Edge 0 is the bottleneck, with `port` and the propagation delay `delay`. The edges of hosts have no
    /// rate and no delay.
    #[must_use]
    pub fn dumbbell(pairs: usize, port: &PortSpec, delay: Span) -> Topology {
        let mut net = Topology::default();
        let (left, right) = (net.node("left"), net.node("right"));
        net.edge(left, right, Some(port), delay);
        for pair in 0..pairs {
            net.pair(pair, left, right);
        }
        net
    }

    /// Adds client and server number `pair`, without rate and delay.
    fn pair(&mut self, pair: usize, near: NodeId, far: NodeId) {
        for (name, router) in [("client", near), ("server", far)] {
            let host = self.host(format!("{name} {pair}"));
            self.edge(host, router, None, Span::ZERO);
        }
    }

    /// The parking lot: a chain of `hops` bottlenecks. One pair of hosts is at the ends of the chain, and
    /// each bottleneck has its own pair.
    ///
    /// ```text
    ///  hosts[0] ── router 0 ══ router 1 ══ router 2 ── hosts[1]         hosts[2] to hosts[3]: hop 0
    ///              hosts[2]    hosts[3]    hosts[5]                     hosts[4] to hosts[5]: hop 1
    ///                          hosts[4]
    /// ```
    ///
    /// Edges 0 to `hops` - 1 are the bottlenecks, each with `port` and the propagation delay `delay`. The
    /// edges of hosts have no rate and no delay.
    #[must_use]
    pub fn parking_lot(hops: usize, port: &PortSpec, delay: Span) -> Topology {
        let mut net = Topology::default();
        let routers: Vec<NodeId> = (0..=hops).map(|number| net.node(format!("router {number}"))).collect();
        for pair in routers.windows(2) {
            net.edge(pair[0], pair[1], Some(port), delay);
        }
        let ends = [(0, hops)].into_iter().chain((0..hops).map(|hop| (hop, hop + 1)));
        for (pair, (near, far)) in ends.enumerate() {
            net.pair(pair, routers[near], routers[far]);
        }
        net
    }

    /// The fat tree of `k` pods (Al-Fares et al., SIGCOMM 2008, section 3): k³/4 hosts, k²/2 edge switches,
    /// k²/2 aggregation switches and k²/4 core switches, each with k ports. All edges have `port` in both
    /// directions, and the propagation delay `delay`. An odd `k` counts as the even number below it.
    ///
    /// The hosts are in the order of pods, then of edge switches. [`Topology::scenario`] turns
    /// [`Scenario::ecmp`] on, so that flows use all paths.
    #[must_use]
    pub fn fat_tree(k: usize, port: &PortSpec, delay: Span) -> Topology {
        let half = k / 2;
        let mut net = Topology::default();
        let cores: Vec<NodeId> = (0..half * half).map(|number| net.node(format!("core {number}"))).collect();
        for pod in 0..2 * half {
            let aggregations: Vec<NodeId> =
                (0..half).map(|number| net.node(format!("aggregation {pod}.{number}"))).collect();
            for (number, &aggregation) in aggregations.iter().enumerate() {
                for &core in &cores[number * half..(number + 1) * half] {
                    net.edge(aggregation, core, Some(port), delay);
                }
            }
            for number in 0..half {
                let edge = net.node(format!("edge {pod}.{number}"));
                for &aggregation in &aggregations {
                    net.edge(edge, aggregation, Some(port), delay);
                }
                for place in 0..half {
                    let host = net.host(format!("host {pod}.{number}.{place}"));
                    net.edge(host, edge, Some(port), delay);
                }
            }
        }
        net
    }

    /// The network with nothing to do yet: add flows, sources and probes. Each flow takes one of the paths
    /// with the fewest links ([`Scenario::ecmp`]). The hosts' devices take no super-packets ([`Config::tso`]
    /// is off), so that queues see packets.
    #[must_use]
    pub fn scenario(self) -> Scenario {
        let tcp = Config { tso: false, ..Config::default() };
        Scenario { nodes: self.nodes, links: self.links, ecmp: true, tcp, ..Scenario::default() }
    }
}
