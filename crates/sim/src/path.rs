//! Routes: the path of every pair of hosts that speak, found once.

use std::collections::{BTreeMap, BinaryHeap};

use crate::error::BuildError;
use crate::scenario::{NodeId, Scenario};

/// Index of a path in [`Paths`].
pub(crate) type PathId = u32;

/// Paths as lists of links. A route is the one with the fewest links; of several such the one whose
/// links were named first. So a loop in a topology is harmless: no path goes through a node twice.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    links: Vec<u32>,
    /// Where each path begins in `links`, and its length.
    spans: Vec<(u32, u16)>,
    known: BTreeMap<(NodeId, NodeId), PathId>,
    /// Links that leave each node.
    leaving: Vec<Vec<u32>>,
    ends: Vec<NodeId>,
    /// Predecessor links of the last search, and from where it was made: hosts often share one end.
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
    ) -> Result<PathId, BuildError> {
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
        let length = u16::try_from(links.len()).map_err(|_| no_route())?;
        let id = self.spans.len() as PathId;
        self.spans.push((self.links.len() as u32, length));
        self.links.extend(links);
        self.known.insert((from, to), id);
        Ok(id)
    }

    /// Breadth first: the link over which each node is reached.
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

    /// Link number `hop` of a path; `None` at its end.
    #[inline]
    pub(crate) fn hop(&self, path: PathId, hop: u16) -> Option<u32> {
        let (start, length) = self.spans[path as usize];
        (hop < length).then(|| self.links[start as usize + usize::from(hop)])
    }

    /// The links of a path.
    pub(crate) fn links(&self, path: PathId) -> &[u32] {
        let (start, length) = self.spans[path as usize];
        &self.links[start as usize..start as usize + usize::from(length)]
    }
}
