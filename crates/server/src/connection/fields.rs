//! COM_FIELD_LIST: the columns of a table, and a sink that wants nothing else.

use std::sync::Arc;
use vaquita_sql::{ColumnMeta, Completion, ResultSink, SqlResult, Value};

/// Keeps the columns of a result and drops its rows.
#[derive(Debug, Default)]
pub(super) struct Fields {
    pub(super) columns: Option<Arc<[ColumnMeta]>>,
}

impl ResultSink for Fields {
    fn columns(&mut self, columns: &Arc<[ColumnMeta]>) -> SqlResult<()> {
        self.columns = Some(columns.clone());
        Ok(())
    }

    fn row(&mut self, _: &[Value<'_>]) -> SqlResult<()> {
        Ok(())
    }

    fn end(&mut self, _: Completion) -> SqlResult<()> {
        Ok(())
    }
}

/// Whether a name fits a pattern with `%` and `_`; ASCII letters of both cases are the same.
pub(super) fn is_like(name: &[u8], pattern: &[u8]) -> bool {
    // The place after the last `%`, and where in the name it was tried: there is nothing else to go back to.
    let (mut n, mut p) = (0, 0);
    let mut last: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'%') => {
                p += 1;
                last = Some((p, n));
            }
            Some(&c) if c == b'_' || c.eq_ignore_ascii_case(&name[n]) => {
                (n, p) = (n + 1, p + 1);
            }
            _ => match &mut last {
                Some((after, tried)) => {
                    *tried += 1;
                    (n, p) = (*tried, *after);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == b'%')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let like = |name: &str, pattern: &str| is_like(name.as_bytes(), pattern.as_bytes());
        assert!(like("customer_id", "%id") && like("customer_id", "c%_i%") && like("ID", "id"));
        assert!(like("", "%") && like("a", "_") && like("aab", "%ab"));
        assert!(!like("customer", "%id") && !like("a", "__") && !like("a", "") && !like("ab", "a"));
    }
}
