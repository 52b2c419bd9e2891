//! Directed graphs over transactions: strong components (Tarjan), shortest paths.

use std::collections::{HashMap, VecDeque};

/// How one transaction follows another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum EdgeKind {
    /// It overwrote the other's version.
    Ww,
    /// It read the other's version.
    Wr,
    /// It overwrote what the other had read.
    Rw,
}

/// One transaction comes before another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) kind: EdgeKind,
    pub(super) key: u64,
    /// The version that was overwritten or read.
    pub(super) old: u64,
    /// The version that overwrote it; of a read, the same.
    pub(super) new: u64,
    /// The read was a locking one (`Wr`, `Rw`).
    pub(super) locking: bool,
    /// When the statement of the read started: names the statement within its transaction (`Wr`, `Rw`).
    pub(super) statement: u64,
}

impl Edge {
    /// Whether the first transaction surely committed before the second: it held a lock that the second needed, or the
    /// second saw its result. A plain read holds nobody up, nor does at every level the lock of a row that is not there.
    pub(super) fn follows_commits(&self) -> bool {
        self.kind != EdgeKind::Rw || (self.locking && self.old != 0)
    }
}

/// Edges by where they leave.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) edges: Vec<Edge>,
    out: Vec<Vec<usize>>,
}

impl Graph {
    pub(super) fn new(nodes: usize) -> Graph {
        Graph { edges: Vec::new(), out: vec![Vec::new(); nodes] }
    }

    pub(super) fn add(&mut self, edge: Edge) {
        if edge.from != edge.to {
            self.out[edge.from].push(self.edges.len());
            self.edges.push(edge);
        }
    }

    pub(super) fn out(&self, node: usize) -> impl Iterator<Item = &Edge> {
        self.out[node].iter().map(|edge| &self.edges[*edge])
    }

    /// The components with more than one node, over the edges that `keep` lets through. Iterative: histories are long.
    pub(super) fn components(&self, keep: impl Fn(&Edge) -> bool) -> Vec<Vec<usize>> {
        let mut tarjan = Tarjan {
            order: vec![None; self.out.len()],
            low: vec![0; self.out.len()],
            on_stack: vec![false; self.out.len()],
            stack: Vec::new(),
            next: 0,
            found: Vec::new(),
        };
        for root in 0..self.out.len() {
            if tarjan.order[root].is_none() {
                tarjan.visit(self, root, &keep);
            }
        }
        tarjan.found
    }

    /// A shortest path of one edge or more over edges that `keep` lets through.
    pub(super) fn path(
        &self,
        from: usize,
        is_goal: impl Fn(usize) -> bool,
        keep: impl Fn(&Edge) -> bool,
    ) -> Option<Vec<Edge>> {
        let mut came_by: HashMap<usize, Edge> = HashMap::new();
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            for edge in self.out(node).filter(|edge| keep(edge)) {
                if is_goal(edge.to) {
                    let mut path = vec![*edge];
                    let mut at = edge.from;
                    while at != from {
                        let edge = came_by[&at];
                        path.push(edge);
                        at = edge.from;
                    }
                    path.reverse();
                    return Some(path);
                }
                if edge.to != from && !came_by.contains_key(&edge.to) {
                    came_by.insert(edge.to, *edge);
                    queue.push_back(edge.to);
                }
            }
        }
        None
    }
}

struct Tarjan {
    order: Vec<Option<usize>>,
    low: Vec<usize>,
    on_stack: Vec<bool>,
    stack: Vec<usize>,
    next: usize,
    found: Vec<Vec<usize>>,
}

impl Tarjan {
    fn enter(&mut self, node: usize) {
        self.order[node] = Some(self.next);
        self.low[node] = self.next;
        self.next += 1;
        self.stack.push(node);
        self.on_stack[node] = true;
    }

    fn visit(&mut self, graph: &Graph, root: usize, keep: &impl Fn(&Edge) -> bool) {
        self.enter(root);
        let mut work = vec![(root, 0)];
        while let Some((node, place)) = work.pop() {
            let Some(edge) = graph.out[node].get(place).map(|edge| &graph.edges[*edge]) else {
                self.leave(node);
                if let Some((parent, _)) = work.last() {
                    self.low[*parent] = self.low[*parent].min(self.low[node]);
                }
                continue;
            };
            work.push((node, place + 1));
            if !keep(edge) {
                continue;
            }
            match self.order[edge.to] {
                None => {
                    self.enter(edge.to);
                    work.push((edge.to, 0));
                }
                Some(order) if self.on_stack[edge.to] => self.low[node] = self.low[node].min(order),
                Some(_) => {}
            }
        }
    }

    /// All edges of the node are done: if nothing above it is reached, it is the root of a component.
    fn leave(&mut self, node: usize) {
        if Some(self.low[node]) != self.order[node] {
            return;
        }
        let start = self.stack.iter().rposition(|n| *n == node).unwrap_or(0);
        let component = self.stack.split_off(start);
        for node in &component {
            self.on_stack[*node] = false;
        }
        if component.len() > 1 {
            self.found.push(component);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vaquita_base::rng::Rng;

    fn edge(from: usize, to: usize) -> Edge {
        Edge { from, to, kind: EdgeKind::Ww, key: 0, old: 0, new: 0, locking: false, statement: 0 }
    }

    fn graph(nodes: usize, edges: &[(usize, usize)]) -> Graph {
        let mut graph = Graph::new(nodes);
        edges.iter().for_each(|(from, to)| graph.add(edge(*from, *to)));
        graph
    }

    #[test]
    fn components_and_paths() {
        let graph = graph(6, &[(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 3), (4, 5)]);
        let mut found = graph.components(|_| true);
        found.iter_mut().for_each(|component| component.sort_unstable());
        found.sort();
        assert_eq!(found, [vec![0, 1, 2], vec![3, 4]]);
        let path = graph.path(0, |node| node == 0, |_| true).unwrap();
        assert_eq!(path.len(), 3);
        assert!(graph.path(5, |node| node == 0, |_| true).is_none());
        assert!(graph.components(|edge| edge.from != 2).len() == 1);
    }

    /// Two nodes share a component exactly when each reaches the other.
    #[test]
    fn components_agree_with_reachability() {
        let mut rng = Rng::new(7);
        for _ in 0..200 {
            let nodes = 2 + rng.index(12);
            let edges: Vec<_> =
                (0..rng.index(3 * nodes)).map(|_| (rng.index(nodes), rng.index(nodes))).collect();
            let graph = graph(nodes, &edges);
            let found = graph.components(|_| true);
            for a in 0..nodes {
                for b in (0..nodes).filter(|b| *b != a) {
                    let together = found.iter().any(|c| c.contains(&a) && c.contains(&b));
                    let reach = |x, y| graph.path(x, |node| node == y, |_| true).is_some();
                    assert_eq!(together, reach(a, b) && reach(b, a), "{edges:?} {a} {b}");
                }
            }
        }
    }
}
