//! The counters that MySQL calls those of the handler (`Handler_read_%`), as reading a table moves them.

use vaquita_catalog::TableInfo;
use vaquita_engine::Direction;
use vaquita_plan::ranges::KeyRange;
use vaquita_session::status::SessionStatus;

/// How a cursor was placed. The counters tell of calls, the one that found the end included.
#[derive(Debug, Clone, Copy)]
pub(super) enum Placed {
    /// At the beginning of the table, whatever the order.
    Table,
    /// At the beginning of an index.
    First,
    /// At the end of an index.
    Last,
    /// At a key; `only`: no other row has it, so none is looked for.
    Key { only: bool },
    /// Where a full-text search says: no call that is counted.
    Found,
}

impl Placed {
    /// By the bounds of a range.
    pub(super) fn by(range: &KeyRange, reverse: bool, info: &TableInfo, index: usize) -> Placed {
        let index = &info.table.indexes[index];
        let from = if reverse { &range.upper } else { &range.lower };
        // Above NULL is everything, where there is none.
        let no_nulls =
            index.parts.first().is_some_and(|part| !info.table.columns[part.column].def.is_nullable());
        match from.first() {
            None if reverse => Placed::Last,
            None => Placed::First,
            Some(None) if no_nulls && !range.lower_inclusive => Placed::First,
            Some(_) => {
                let whole = index.is_unique() && from.len() == index.def().n_uniq();
                let only = whole && range.is_point() && from.iter().all(Option::is_some);
                Placed::Key { only }
            }
        }
    }

    /// Counts `more` calls after the first `before` ones.
    #[inline]
    pub(super) fn count(self, status: &mut SessionStatus, direction: Direction, before: u64, more: u64) {
        if more == 0 || matches!(self, Placed::Found) {
            return;
        }
        let is_first = u64::from(before == 0);
        status.handler_read_key += is_first;
        match self {
            Placed::Table => status.handler_read_first += is_first,
            Placed::First => status.handler_read_first += is_first,
            Placed::Last => status.handler_read_last += is_first,
            Placed::Key { .. } | Placed::Found => {}
        }
        match (self, direction) {
            (Placed::Key { only: true }, _) => {}
            (Placed::Table, _) => status.handler_read_rnd_next += more,
            (_, Direction::Forward) => status.handler_read_next += more - is_first,
            (_, Direction::Backward) => status.handler_read_prev += more - is_first,
        }
    }
}
