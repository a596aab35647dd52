//! Routes: the path of every pair of hosts that communicate, found once.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

use crate::error::BuildError;
use crate::scenario::{NodeId, Scenario};

/// A place on a path: how far a frame has come. The place before the first link identifies the path.
pub(crate) type Position = u32;

/// Follows the last link of a path.
pub(crate) const END: u32 = u32::MAX;

/// The links, in order, that packets from one node to another take.
///
/// # Errors
/// [`BuildError::NoRoute`] if there is no path, [`BuildError::Invalid`] if a link ends at no node.
///
/// Among equal paths it is the one whose links come first, even with [`Scenario::ecmp`].
pub fn route(scenario: &Scenario, from: NodeId, to: NodeId) -> Result<Vec<usize>, BuildError> {
    let nodes = scenario.nodes.len();
    for (index, link) in scenario.links.iter().enumerate() {
        if link.from >= nodes || link.to >= nodes {
            return Err(BuildError::Invalid { what: "link", index, why: "it ends at no node".into() });
        }
    }
    if from >= nodes || to >= nodes {
        let name = |node: NodeId| scenario.nodes.get(node).cloned().unwrap_or_default();
        return Err(BuildError::NoRoute { from: name(from), to: name(to) });
    }
    let mut paths = Paths::new(scenario);
    let path = paths.first(scenario, from, to)?;
    Ok(paths.links(path).map(|link| link as usize).collect())
}

/// The links, hop by hop, that packets from one node to another can take. Without [`Scenario::ecmp`] there is
/// one for each hop: those of [`route`].
///
/// # Errors
/// Those of [`route`].
pub fn hops(scenario: &Scenario, from: NodeId, to: NodeId) -> Result<Vec<Vec<usize>>, BuildError> {
    let route = route(scenario, from, to)?;
    if !scenario.ecmp {
        return Ok(route.into_iter().map(|link| vec![link]).collect());
    }
    let paths = Paths::new(scenario);
    let distance = paths.distances_to(scenario, to);
    let mut nodes = BTreeSet::from([from]);
    let mut hops = Vec::with_capacity(route.len());
    for left in (0..route.len() as u32).rev() {
        let is_nearer = |link: &u32| distance[paths.ends[*link as usize]] == left;
        let leaving = nodes.iter().flat_map(|&node| paths.leaving[node].iter().copied());
        let links: Vec<usize> = leaving.filter(is_nearer).map(|link| link as usize).collect();
        nodes = links.iter().map(|&link| paths.ends[link]).collect();
        hops.push(links);
    }
    Ok(hops)
}

/// Which of `count` next links a conversation takes at a node: the hash's part of the range of all hashes,
/// cut into as many equal parts (RFC 2992 section 2). Each node mixes the hash with its number, so that
/// consecutive nodes choose independently; the mixing is the finalizer of MurmurHash3.
#[allow(clippy::cast_possible_truncation)]
fn chosen(hash: u32, node: NodeId, count: usize) -> usize {
    let mut key = hash ^ (node as u32).wrapping_mul(0x9e37_79b9);
    key = (key ^ (key >> 16)).wrapping_mul(0x85eb_ca6b);
    key = (key ^ (key >> 13)).wrapping_mul(0xc2b2_ae35);
    key ^= key >> 16;
    ((u64::from(key) * count as u64) >> 32) as usize
}

/// Paths as lists of links. A route is the one with the fewest links; of several such routes, the one whose
/// links were named first. No path goes through a node twice, so loops in a topology are harmless.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    /// All paths, each followed by [`END`].
    links: Vec<u32>,
    known: BTreeMap<(NodeId, NodeId), Position>,
    /// Links that leave each node.
    leaving: Vec<Vec<u32>>,
    ends: Vec<NodeId>,
    /// The predecessor links of the last search, and the node that it began at. They are kept because many
    /// pairs of hosts share one end.
    searched: Option<(NodeId, Vec<Option<u32>>)>,
    /// With equal-cost multipath: every path by its links, with its ends.
    balanced: BTreeMap<Vec<u32>, (Position, [NodeId; 2])>,
    /// With equal-cost multipath: the number of links from every node to a destination.
    distances: BTreeMap<NodeId, Vec<u32>>,
}

impl Paths {
    #[allow(clippy::cast_possible_truncation)]
    pub(crate) fn new(scenario: &Scenario) -> Paths {
        let mut leaving = vec![Vec::new(); scenario.nodes.len()];
        for (id, link) in scenario.links.iter().enumerate() {
            leaving[link.from].push(id as u32);
        }
        let ends = scenario.links.iter().map(|link| link.to).collect();
        Paths { leaving, ends, ..Paths::default() }
    }

    /// The path from one node to another of a conversation with this flow hash.
    pub(crate) fn between(
        &mut self,
        scenario: &Scenario,
        from: NodeId,
        to: NodeId,
        hash: u32,
    ) -> Result<Position, BuildError> {
        if scenario.ecmp { self.by_hash(scenario, [from, to], hash) } else { self.first(scenario, from, to) }
    }

    /// One of the paths with the fewest links, by the hash.
    fn by_hash(&mut self, scenario: &Scenario, ends: [NodeId; 2], hash: u32) -> Result<Position, BuildError> {
        let [from, to] = ends;
        if !self.distances.contains_key(&to) {
            let found = self.distances_to(scenario, to);
            self.distances.insert(to, found);
        }
        let distance = &self.distances[&to];
        let mut links = Vec::new();
        let mut node = from;
        while node != to {
            let is_nearer = |&&link: &&u32| {
                let end = self.ends[link as usize];
                distance[end] != u32::MAX && distance[end].checked_add(1) == Some(distance[node])
            };
            let next: Vec<u32> = self.leaving[node].iter().filter(is_nearer).copied().collect();
            if next.is_empty() {
                let name = |node: NodeId| scenario.nodes[node].clone();
                return Err(BuildError::NoRoute { from: name(from), to: name(to) });
            }
            let link = next[chosen(hash, node, next.len())];
            links.push(link);
            node = self.ends[link as usize];
        }
        if let Some(&(place, _)) = self.balanced.get(&links) {
            return Ok(place);
        }
        let place = self.add(&links);
        self.balanced.insert(links, (place, ends));
        Ok(place)
    }

    /// The number of links from every node to `to`; `u32::MAX` where there is no path.
    fn distances_to(&self, scenario: &Scenario, to: NodeId) -> Vec<u32> {
        let mut entering = vec![Vec::new(); self.leaving.len()];
        scenario.links.iter().for_each(|link| entering[link.to].push(link.from));
        let mut distance = vec![u32::MAX; self.leaving.len()];
        distance[to] = 0;
        let mut frontier = VecDeque::from([to]);
        while let Some(node) = frontier.pop_front() {
            for &before in &entering[node] {
                if distance[before] == u32::MAX {
                    distance[before] = distance[node] + 1;
                    frontier.push_back(before);
                }
            }
        }
        distance
    }

    /// Adds a path.
    #[allow(clippy::cast_possible_truncation)]
    fn add(&mut self, links: &[u32]) -> Position {
        let place = self.links.len() as Position;
        self.links.extend(links);
        self.links.push(END);
        place
    }

    /// The path from one node to another with the fewest links; among several, the one with the first links.
    fn first(&mut self, scenario: &Scenario, from: NodeId, to: NodeId) -> Result<Position, BuildError> {
        if let Some(&known) = self.known.get(&(from, to)) {
            return Ok(known);
        }
        if !matches!(&self.searched, Some((origin, _)) if *origin == from) {
            self.searched = Some((from, self.search(from)));
        }
        let no_route =
            || BuildError::NoRoute { from: scenario.nodes[from].clone(), to: scenario.nodes[to].clone() };
        let mut links = Vec::new();
        let mut node = to;
        while node != from {
            let via = self.searched.as_ref().and_then(|(_, via)| via[node]).ok_or_else(no_route)?;
            links.push(via);
            node = scenario.links[via as usize].from;
        }
        links.reverse();
        let place = self.add(&links);
        self.known.insert((from, to), place);
        Ok(place)
    }

    /// Breadth-first search: the link over which each node is reached.
    fn search(&self, from: NodeId) -> Vec<Option<u32>> {
        let mut via = vec![None; self.leaving.len()];
        let mut distance = vec![u32::MAX; self.leaving.len()];
        distance[from] = 0;
        let mut frontier = BinaryHeap::from([(std::cmp::Reverse(0), std::cmp::Reverse(from))]);
        while let Some((std::cmp::Reverse(far), std::cmp::Reverse(node))) = frontier.pop() {
            for &link in &self.leaving[node] {
                let next = self.ends[link as usize];
                if distance[next] == u32::MAX {
                    distance[next] = far + 1;
                    via[next] = Some(link);
                    frontier.push((std::cmp::Reverse(far + 1), std::cmp::Reverse(next)));
                }
            }
        }
        via
    }

    /// All paths, as lists of links.
    pub(crate) fn all(&self) -> impl Iterator<Item = &[u32]> {
        self.links.split(|&link| link == END)
    }

    /// The link after `place`; [`END`] after the last.
    pub(crate) fn link(&self, place: Position) -> u32 {
        self.links[place as usize]
    }

    /// For each place, the two nodes at the ends of its path.
    pub(crate) fn ends_of_places(&self) -> Vec<[NodeId; 2]> {
        let mut ends = vec![[0; 2]; self.links.len()];
        let known = self.known.iter().map(|(&(from, to), &path)| (path, [from, to]));
        for (path, [from, to]) in known.chain(self.balanced.values().copied()) {
            let length = self.links(path).count();
            ends[path as usize..=path as usize + length].fill([from, to]);
        }
        ends
    }

    /// The links of a path.
    pub(crate) fn links(&self, path: Position) -> impl Iterator<Item = u32> {
        self.links[path as usize..].iter().copied().take_while(|&link| link != END)
    }
}
