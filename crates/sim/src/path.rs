//! Routes: the path of every pair of hosts that communicate, found once.

use std::collections::{BTreeMap, BinaryHeap};

use crate::error::BuildError;
use crate::scenario::{NodeId, Scenario};

/// A place on a path: how far a frame has come. The place before the first link identifies the path.
pub(crate) type Place = u32;

/// What comes after the last link of a path.
pub(crate) const END: u32 = u32::MAX;

/// The links, in order, that packets from one node to another take.
///
/// # Errors
/// [`BuildError::NoRoute`] if there is no path, [`BuildError::Invalid`] if a link ends at no node.
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
    let path = paths.between(scenario, from, to)?;
    Ok(paths.links(path).map(|link| link as usize).collect())
}

/// Paths as lists of links. A route is the one with the fewest links; of several such routes, the one whose
/// links were named first. No path goes through a node twice, so loops in a topology are harmless.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    /// All paths, each followed by [`END`].
    links: Vec<u32>,
    known: BTreeMap<(NodeId, NodeId), Place>,
    /// Links that leave each node.
    leaving: Vec<Vec<u32>>,
    ends: Vec<NodeId>,
    /// The predecessor links of the last search, and the node that it began at. They are kept because many
    /// pairs of hosts share one end.
    searched: Option<(NodeId, Vec<Option<u32>>)>,
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

    /// The path from one node to another.
    #[allow(clippy::cast_possible_truncation)]
    pub(crate) fn between(
        &mut self,
        scenario: &Scenario,
        from: NodeId,
        to: NodeId,
    ) -> Result<Place, BuildError> {
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
        let place = self.links.len() as Place;
        self.links.extend(links);
        self.links.push(END);
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

    /// The link after `place`; [`END`] behind the last.
    pub(crate) fn link(&self, place: Place) -> u32 {
        self.links[place as usize]
    }

    /// For each place, the two nodes at the ends of its path.
    pub(crate) fn ends_of_places(&self) -> Vec<[NodeId; 2]> {
        let mut ends = vec![[0; 2]; self.links.len()];
        for (&(from, to), &path) in &self.known {
            let length = self.links(path).count();
            ends[path as usize..=path as usize + length].fill([from, to]);
        }
        ends
    }

    /// The links of a path.
    pub(crate) fn links(&self, path: Place) -> impl Iterator<Item = u32> {
        self.links[path as usize..].iter().copied().take_while(|&link| link != END)
    }
}
