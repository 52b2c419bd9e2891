//! The known name that is nearest to an unknown one.

/// The nearest of `known`, if it is near: at most a third of the letters have to change.
pub(super) fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let limit = (name.len() / 3).max(1);
    let distances = known.into_iter().map(|candidate| (distance(name, candidate), candidate));
    distances.filter(|(distance, _)| *distance <= limit).min().map(|(_, candidate)| candidate)
}

/// How many letters have to be put in, left out, changed, or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    // Three rows of the table: for a swap the one before the last is looked at, too.
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1; b.len() + 1];
        for j in 0..b.len() {
            let changed = last[j] + usize::from(a[i] != b[j]);
            row[j + 1] = changed.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                row[j + 1] = row[j + 1].min(before[j - 1] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance("port", "port"), 0);
        assert_eq!(distance("port", "prot"), 1);
        assert_eq!(distance("prt", "port"), 1);
        assert_eq!(distance("ports", "port"), 1);
        assert_eq!(distance("", "port"), 4);
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn the_nearest_if_it_is_near() {
        let known = ["innodb_buffer_pool_size", "innodb_buffer_pool_instances", "port"];
        assert_eq!(nearest("inodb_buffer_pol_size", known), Some("innodb_buffer_pool_size"));
        assert_eq!(nearest("prot", known), Some("port"));
        assert_eq!(nearest("wholly_else", known), None);
    }
}
