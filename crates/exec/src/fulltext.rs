//! Full-text searches of a statement. Each runs once in an execution: what it has found is kept, by document.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use vaquita_catalog::{TableInfo, error, ranking};
use vaquita_engine::MdlMode;
use vaquita_engine::core::Core;
use vaquita_engine::fulltext::{
    self, Analyzer, BestFirst, FullTextReader, Match, Mode, NamedRanking, Ranking, SearchError, Settled,
};
use vaquita_engine::table::FullTextIndex;
use vaquita_engine::text::collation::Collation;
use vaquita_expr::{EvalCx, FoundDocuments, FullText, InOrder};
use vaquita_session::vars::{VarValue, id};
use vaquita_types::{SqlError, SqlResult};

/// An index, and how it is searched.
struct Searchable {
    info: Arc<TableInfo>,
    index: Arc<FullTextIndex>,
    mode: Mode,
}

/// Two that are shown alike search alike.
impl fmt::Debug for Searchable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (table, index) = (self.info.table.id, self.index.id);
        f.debug_struct("Searchable")
            .field("table", &table)
            .field("index", &index)
            .field("mode", &self.mode)
            .finish()
    }
}

/// Makes something that can be searched of an index.
pub(crate) fn searchable(info: Arc<TableInfo>, index: Arc<FullTextIndex>, mode: Mode) -> Arc<dyn FullText> {
    Arc::new(Searchable { info, index, mode })
}

/// What was found.
#[derive(Debug, Default)]
struct Answer {
    query: Vec<u8>,
    /// By number.
    matches: Vec<Match>,
    /// Sorted as far as somebody asked.
    order: Mutex<Option<BestFirst>>,
    above: usize,
    all_seen: bool,
}

impl InOrder for Answer {
    fn at(&self, place: usize) -> Option<u64> {
        let mut order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        order.get_or_insert_with(|| BestFirst::new(&self.matches)).at(place).map(|doc| doc.0)
    }
}

impl Searchable {
    fn answer(&self, cx: &mut EvalCx<'_>, query: &[u8]) -> SqlResult<Arc<Answer>> {
        let place = std::ptr::from_ref(self).addr();
        let kept = |cx: &mut EvalCx<'_>, place| {
            let kept: Option<Arc<Answer>> = cx.state.subqueries.get(place);
            kept.filter(|kept| kept.query == query)
        };
        if let Some(kept) = kept(cx, place) {
            return Ok(kept);
        }
        let found = match kept(cx, self.place_of_all()) {
            Some(found) => found,
            None => Arc::new(self.search(cx, query)?),
        };
        if cx.state.subqueries.are_kept() {
            cx.state.subqueries.put(place, found.clone());
            cx.state.subqueries.put(self.place_of_all(), found.clone());
        }
        Ok(found)
    }

    /// Where the last answer is kept of all that search the index in this way: a statement that says the same search twice runs it once. It is
    /// a place within the index's object, where nothing else is kept.
    fn place_of_all(&self) -> usize {
        Arc::as_ptr(&self.index).addr() + self.mode as usize
    }

    /// The ranks that the session asks for, or else the index; InnoDB's.
    fn ranking(&self, cx: &EvalCx<'_>) -> SqlResult<Ranking> {
        let of_session = match cx.state.vars.get(id::VAQUITA_FT_RANKING) {
            // The variable holds nothing else than `index` that is none.
            VarValue::Text(text) => text.parse::<NamedRanking>().ok(),
            _ => None,
        };
        let definition = &self.info.definition;
        let named = match of_session {
            Some(named) => Some(named),
            None => match definition.key(&self.index.name) {
                Some(at) => definition.keys[at].ranking()?,
                None => None,
            },
        };
        let Some(named) = named else { return Ok(Ranking::Innodb) };
        let columns = self.index.columns.iter();
        let columns: Vec<&str> = columns.map(|at| self.info.columns[*at].name.as_str()).collect();
        ranking::ranking_of(&named, &columns)
    }

    /// Asks the index; `go_on` says whether the statement does.
    fn ask(
        &self,
        core: &Core,
        ranking: &Ranking,
        query: &[u8],
        go_on: &mut dyn FnMut() -> bool,
    ) -> SqlResult<(Vec<Match>, Option<Settled>)> {
        let reader = error::of_engine(FullTextReader::open(core, &self.info.table, &self.index))?;
        let reader = reader.asking(go_on);
        let found = reader.search(self.mode, ranking, query).map_err(|e| match e {
            SearchError::Syntax(e) => SqlError::new(1064, e.to_string()),
            SearchError::Index(e) => error::engine(&e),
        })?;
        Ok((found, reader.settled()))
    }

    fn search(&self, cx: &mut EvalCx<'_>, query: &[u8]) -> SqlResult<Answer> {
        let ranking = self.ranking(cx)?;
        let Some(session) = &mut cx.engine else {
            return Err(SqlError::new(1105, "a full-text search without a session"));
        };
        let held = session.statement().hold_table(&self.info.table, MdlMode::SharedRead);
        error::of_engine(held)?;
        session.statement().begin_reading();
        let (mut ended, state) = (None, &mut *cx.state);
        let asked = self.ask(session.core(), &ranking, query, &mut || match state.poll() {
            Ok(()) => true,
            Err(e) => {
                ended = Some(e);
                false
            }
        });
        if let Some(ended) = ended {
            return Err(ended);
        }
        let (mut found, settled) = asked?;
        // A rank of nothing is no match.
        found.retain(|found| found.rank != 0.0);
        Ok(Answer {
            all_seen: session.statement().sees_found(settled),
            query: query.to_vec(),
            above: found.iter().filter(|found| found.rank > 0.0).count(),
            matches: found,
            order: Mutex::default(),
        })
    }
}

impl FullText for Searchable {
    fn index(&self) -> &str {
        &self.index.name
    }

    fn rank(&self, cx: &mut EvalCx<'_>, query: &[u8], document: u64) -> SqlResult<f64> {
        let answer = self.answer(cx, query)?;
        let place = answer.matches.binary_search_by_key(&document, |found| found.doc.0);
        Ok(place.map_or(0.0, |place| f64::from(answer.matches[place].rank)))
    }

    fn documents(&self, cx: &mut EvalCx<'_>, query: &[u8]) -> SqlResult<FoundDocuments> {
        let answer = self.answer(cx, query)?;
        let (count, above, all_seen) = (answer.matches.len(), answer.above, answer.all_seen);
        Ok(FoundDocuments { documents: answer, count, above, all_seen })
    }

    fn analyzer(&self, cx: &mut EvalCx<'_>, collation: Collation) -> SqlResult<Arc<Analyzer>> {
        let place = std::ptr::from_ref(self).addr();
        let kept: Option<Arc<Analyzer>> = cx.state.subqueries.get(place);
        if let Some(kept) = kept.filter(|kept| kept.collation().id() == collation.id()) {
            return Ok(kept);
        }
        let Some(session) = &mut cx.engine else {
            return Err(SqlError::new(1105, "words of a full-text index without a session"));
        };
        let held = session.statement().hold_table(&self.info.table, MdlMode::SharedRead);
        error::of_engine(held)?;
        let made = fulltext::words_of(session.core(), &self.info.table, &self.index, collation);
        let made = Arc::new(error::of_engine(made)?);
        if cx.state.subqueries.are_kept() {
            cx.state.subqueries.put(place, made.clone());
        }
        Ok(made)
    }
}
