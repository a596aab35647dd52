//! Networks of a known shape, link by link: the dumbbell, the parking lot and the fat tree.

use goodqueue::{Rate, Span};
use goodqueue_sim::{Discipline, NodeId, PortSpec, Topology};

use super::keys::{ACCESS, Key, Kind, TOPOLOGY};
use super::links::{Change, Link, OneWay, check_changes};
use super::load::{client_name, server_name};
use super::read::{self, At, Read, Section, Wrong};

/// A shape with its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Dumbbell { pairs: usize },
    ParkingLot { hops: usize },
    FatTree { k: usize },
}

/// The links of `[topology]`; `None` if the file has none.
pub(super) fn read(root: &Section<'_>) -> Read<Option<Vec<Link>>> {
    let Some(section) = root.section("topology", &TOPOLOGY)? else { return Ok(None) };
    let shape = shape(&section)?;
    let inner = OneWay::read(&section)?;
    let access = section.section("access", &ACCESS)?.map(|access| OneWay::both(&access)).transpose()?;
    let (from_host, to_host) = access.unwrap_or_default();
    // In a fat tree all links are alike, and a host has its own queue in front of its link.
    let (from_host, to_host) = match shape {
        Shape::FatTree { .. } => {
            (from_host.over(&OneWay { queue: None, ..inner.clone() }), to_host.over(&inner))
        }
        Shape::Dumbbell { .. } | Shape::ParkingLot { .. } => (from_host, to_host),
    };
    let (net, pairs) = shape.net(&section)?;
    let mut names: Vec<String> = net.nodes.iter().map(|name| name.replace(' ', "-")).collect();
    for (pair, &(client, server)) in pairs.iter().enumerate() {
        (names[client], names[server]) = (client_name(pair), server_name(pair));
    }
    // Each edge is two links, there and back.
    let edges = net.links.iter().step_by(2);
    let mut links: Vec<Link> = edges
        .map(|edge| {
            let ends = [names[edge.from].clone(), names[edge.to].clone()];
            let (up, down) = if net.hosts.contains(&edge.from) {
                (from_host.clone(), to_host.clone())
            } else {
                (inner.clone(), inner.clone())
            };
            Link { at: section.at, name: format!("{}-{}", ends[0], ends[1]), ends, up, down }
        })
        .collect();
    if let Some((key, value)) = section.get("link") {
        let changes = Change::read_all(key, value)?;
        check_changes(&changes, &links)?;
        changes.iter().for_each(|change| change.apply(&mut links));
    }
    Ok(Some(links))
}

fn shape(section: &Section<'_>) -> Read<Shape> {
    let kind = section.read("kind", kind)?;
    let kind = section.required("kind", kind)?;
    let sizes = [("pairs", 1), ("hops", 2), ("k", 4)];
    let mut given = sizes.map(|(_, default)| default);
    for ((name, _), size) in sizes.iter().zip(&mut given) {
        let Some(At { at, value }) = section.read(name, read::count)? else { continue };
        if *name != kind.value {
            let own = &kind.value;
            return Err(Wrong::new(
                at,
                format!("{name} is of another kind; the size of this one is `{own}`"),
            ));
        }
        *size = usize::try_from(value).unwrap_or(usize::MAX);
        if *name == "k" && value % 2 != 0 {
            return Err(Wrong::new(at, format!("k = {value}: a switch has an even number of ports")));
        }
    }
    let [pairs, hops, k] = given;
    Ok(match kind.value {
        "pairs" => Shape::Dumbbell { pairs },
        "hops" => Shape::ParkingLot { hops },
        _ => Shape::FatTree { k },
    })
}

/// The key for the size of a kind.
fn kind(key: &Key, kind: Kind, value: &toml::Spanned<toml::de::DeValue<'_>>) -> Read<&'static str> {
    match read::text(key, kind, value)?.as_str() {
        "dumbbell" => Ok("pairs"),
        "parking-lot" => Ok("hops"),
        "fat-tree" => Ok("k"),
        _ => Err(read::refuse(key, value, "use dumbbell, parking-lot or fat-tree")),
    }
}

impl Shape {
    /// The network, and client and server of each pair.
    fn net(self, section: &Section<'_>) -> Read<(Topology, Vec<(NodeId, NodeId)>)> {
        // Only the nodes and edges count here.
        let plain = "pfifo:1".parse::<Discipline>();
        let plain = plain.map_err(|error| Wrong::new(section.at, error.to_string()))?;
        let port = PortSpec::new(plain, Rate(1));
        let net = match self {
            Shape::Dumbbell { pairs } => Topology::dumbbell(pairs, &port, Span::ZERO),
            Shape::ParkingLot { hops } => Topology::parking_lot(hops, &port, Span::ZERO),
            Shape::FatTree { k } => Topology::fat_tree(k, &port, Span::ZERO),
        };
        let pairs = match self {
            Shape::Dumbbell { .. } | Shape::ParkingLot { .. } => {
                net.hosts.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
            }
            // The hosts are in the order of pods: each client is in a different pod from its server.
            Shape::FatTree { .. } => {
                let (clients, servers) = net.hosts.split_at(net.hosts.len() / 2);
                clients.iter().copied().zip(servers.iter().copied()).collect()
            }
        };
        Ok((net, pairs))
    }
}
