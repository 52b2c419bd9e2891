//! Names of the simulated disk: the tree as seen, the tree as durable, and the changes between.
//!
//! A change becomes durable when its directory is synced; a rename between directories stands in the one it moves
//! to. Names in a directory that is itself lost are lost with it.

use super::inode::Mood;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use vaquita_base::Rng;

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Node {
    Dir,
    File(u64),
}

/// A change of one name (or of two, by renaming).
#[derive(Debug, Clone)]
pub(super) enum NameChange {
    Make(PathBuf, Node),
    Remove(PathBuf, Node),
    Rename { to: PathBuf, node: Node },
}

impl NameChange {
    fn dir(&self) -> &Path {
        let (NameChange::Make(path, _) | NameChange::Remove(path, _) | NameChange::Rename { to: path, .. }) =
            self;
        parent(path)
    }

    fn node(&self) -> Node {
        let (NameChange::Make(_, node) | NameChange::Remove(_, node) | NameChange::Rename { node, .. }) =
            self;
        *node
    }

    /// Any subset of changes, applied in order, leaves a sensible tree: a name goes only if it still stands for
    /// the file that the change was about, and a file has one name.
    fn apply(&self, tree: &mut Tree) {
        match self {
            NameChange::Make(path, node) => {
                tree.insert(path.clone(), *node);
            }
            NameChange::Remove(path, node) => {
                if tree.get(path) == Some(node) {
                    tree.remove(path);
                }
            }
            NameChange::Rename { to, node, .. } => {
                // Wherever it stood: an earlier rename of the same file may be lost.
                tree.retain(|_, n| n != node);
                tree.insert(to.clone(), *node);
            }
        }
    }
}

type Tree = BTreeMap<PathBuf, Node>;

/// The directory a path stands in; that of a bare name is the empty path.
pub(super) fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or_else(|| Path::new(""))
}

fn is_root(path: &Path) -> bool {
    path.parent().is_none()
}

/// The names of a disk.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    seen: Tree,
    durable: Tree,
    pending: Vec<NameChange>,
}

impl Names {
    pub(super) fn get(&self, path: &Path) -> Option<Node> {
        if is_root(path) { Some(Node::Dir) } else { self.seen.get(path).copied() }
    }

    /// The parents of `path` that are missing, outermost first, `path` included.
    pub(super) fn missing_dirs(&self, path: &Path) -> Vec<PathBuf> {
        let mut missing: Vec<PathBuf> =
            path.ancestors().take_while(|p| self.get(p).is_none()).map(Path::to_owned).collect();
        missing.reverse();
        missing
    }

    pub(super) fn children(&self, dir: &Path) -> Vec<PathBuf> {
        // Parents sort before their children, and a subtree is one stretch.
        let from = (std::ops::Bound::Excluded(dir), std::ops::Bound::Unbounded);
        let subtree = self.seen.range::<Path, _>(from).take_while(|(path, _)| path.starts_with(dir));
        subtree.map(|(path, _)| path).filter(|path| parent(path) == dir).cloned().collect()
    }

    pub(super) fn files(&self) -> impl Iterator<Item = (&Path, u64)> {
        self.seen.iter().filter_map(|(path, node)| match node {
            Node::File(inode) => Some((path.as_path(), *inode)),
            Node::Dir => None,
        })
    }

    /// Changes what is seen; durable later.
    pub(super) fn change(&mut self, change: NameChange) {
        change.apply(&mut self.seen);
        self.pending.push(change);
    }

    /// Changes both trees at once.
    pub(super) fn change_durably(&mut self, change: &NameChange) {
        change.apply(&mut self.seen);
        change.apply(&mut self.durable);
    }

    pub(super) fn sync_dir(&mut self, dir: &Path) {
        let (due, rest) = std::mem::take(&mut self.pending).into_iter().partition(|c| c.dir() == dir);
        self.pending = rest;
        let due: Vec<NameChange> = due;
        for change in due {
            change.apply(&mut self.durable);
        }
    }

    /// Whether a file can still be reached, now or after a power cut.
    pub(super) fn refers_to(&self, inode: u64) -> bool {
        let node = Node::File(inode);
        self.seen.values().chain(self.durable.values()).any(|n| *n == node)
            || self.pending.iter().any(|c| c.node() == node)
    }

    /// The names the medium holds after the power went off.
    pub(super) fn after_cut(&self, mood: Mood, rng: &mut Rng) -> Names {
        let mut tree = self.durable.clone();
        let survive = mood.survivors(self.pending.len(), rng);
        for (change, _) in self.pending.iter().zip(survive).filter(|(_, kept)| *kept) {
            change.apply(&mut tree);
        }
        let mut names = Names::default();
        for (path, node) in tree {
            if names.get(parent(&path)) == Some(Node::Dir) {
                names.change_durably(&NameChange::Make(path, node));
            }
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_those_directly_below() {
        let mut names = Names::default();
        for (path, node) in
            [("/d", Node::Dir), ("/d/x", Node::Dir), ("/d/x/y", Node::File(1)), ("/d.z", Node::Dir)]
        {
            names.change(NameChange::Make(path.into(), node));
        }
        assert_eq!(names.children(Path::new("/d")), [PathBuf::from("/d/x")]);
        assert_eq!(names.children(Path::new("/")), [PathBuf::from("/d"), PathBuf::from("/d.z")]);
        assert_eq!(names.missing_dirs(Path::new("/d/q/r")), [PathBuf::from("/d/q"), PathBuf::from("/d/q/r")]);
        assert!(names.missing_dirs(Path::new("/")).is_empty());
    }

    #[test]
    fn a_lost_directory_takes_its_names_with_it() {
        let mut names = Names::default();
        names.change(NameChange::Make("/d".into(), Node::Dir));
        names.change(NameChange::Make("/d/f".into(), Node::File(1)));
        names.sync_dir(Path::new("/d"));
        let after = names.after_cut(Mood::Nothing, &mut Rng::new(1));
        assert_eq!(after.get(Path::new("/d/f")), None);
        let after = names.after_cut(Mood::Everything, &mut Rng::new(1));
        assert_eq!(after.get(Path::new("/d/f")), Some(Node::File(1)));
    }
}
