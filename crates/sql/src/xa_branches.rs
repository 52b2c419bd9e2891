//! The names of distributed transactions: no two sessions have a branch of one name at a time.

use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;
use vaquita_engine::Xid;

/// The branches that sessions have, by the parts of their ids: as in MySQL 5.6, two ids are one if only their formats differ.
#[derive(Debug, Default)]
pub(crate) struct Branches(Mutex<HashSet<(Vec<u8>, Vec<u8>)>>);

impl Branches {
    /// A new branch, if no session has one like it and none is prepared.
    pub(crate) fn enter(self: &Arc<Self>, xid: Xid, prepared: impl FnOnce() -> Vec<Xid>) -> Option<Branch> {
        let mut names = self.0.lock();
        // In this order: a branch that leaves its session is prepared by then, or over.
        if !names.insert(parts(&xid)) {
            return None;
        }
        if prepared().iter().any(|other| is_same(other, &xid)) {
            names.remove(&parts(&xid));
            return None;
        }
        Some(Branch { xid, all: self.clone() })
    }

    /// Whether a session has a branch of that name.
    pub(crate) fn contains(&self, xid: &Xid) -> bool {
        self.0.lock().contains(&parts(xid))
    }
}

fn parts(xid: &Xid) -> (Vec<u8>, Vec<u8>) {
    (xid.gtrid().to_vec(), xid.bqual().to_vec())
}

/// Whether the parts of two ids are the same.
pub(crate) fn is_same(one: &Xid, other: &Xid) -> bool {
    (one.gtrid(), one.bqual()) == (other.gtrid(), other.bqual())
}

/// A session's branch: nobody else has one of that name until it is dropped.
#[derive(Debug)]
pub(crate) struct Branch {
    xid: Xid,
    all: Arc<Branches>,
}

impl Branch {
    /// Its id, as it was begun.
    pub(crate) fn xid(&self) -> Xid {
        self.xid
    }

    /// Whether an id means it.
    pub(crate) fn is(&self, xid: &Xid) -> bool {
        is_same(&self.xid, xid)
    }
}

impl Drop for Branch {
    fn drop(&mut self) {
        self.all.0.lock().remove(&parts(&self.xid));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_branchs() {
        let all = Arc::new(Branches::default());
        let xid = |format, gtrid: &[u8], bqual: &[u8]| Xid::new(format, gtrid, bqual).unwrap();
        let one = all.enter(xid(1, b"a", b"b"), Vec::new).unwrap();
        assert!(one.is(&xid(7, b"a", b"b")) && !one.is(&xid(1, b"ab", b"")));
        assert!(all.enter(xid(2, b"a", b"b"), Vec::new).is_none(), "the format tells nothing apart");
        let two = all.enter(xid(1, b"ab", b""), Vec::new).unwrap();
        drop(one);
        assert!(!all.contains(&xid(1, b"a", b"b")) && all.contains(&two.xid()));
        let prepared = || vec![xid(1, b"a", b"b")];
        assert!(all.enter(xid(1, b"a", b"b"), prepared).is_none());
        assert!(!all.contains(&xid(1, b"a", b"b")), "refused, and not kept");
    }
}
