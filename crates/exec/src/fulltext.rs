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
    /// Nothing else is found; else these are so many of the best.
    are_all: bool,
}

impl InOrder for Answer {
    fn at(&self, place: usize) -> Option<u64> {
        let mut order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        order.get_or_insert_with(|| BestFirst::new(&self.matches)).at(place).map(|doc| doc.0)
    }
}

impl Answer {
    fn rank(&self, document: u64) -> Option<f64> {
        let place = self.matches.binary_search_by_key(&document, |found| found.doc.0);
        place.ok().map(|place| f64::from(self.matches[place].rank))
    }

    fn shown(self: Arc<Answer>) -> FoundDocuments {
        let (count, above) = (self.matches.len(), self.above);
        FoundDocuments { count, above, all_seen: self.all_seen, are_all: self.are_all, documents: self }
    }
}

/// Of more than these all are ranked.
const FIRST_MAX: usize = 1000;

impl Searchable {
    /// All that is found.
    fn answer(&self, cx: &mut EvalCx<'_>, query: &[u8]) -> SqlResult<Arc<Answer>> {
        self.answer_of(cx, query, None)
    }

    /// All that is found, or at least the `first` ones.
    fn answer_of(&self, cx: &mut EvalCx<'_>, query: &[u8], first: Option<usize>) -> SqlResult<Arc<Answer>> {
        let place = std::ptr::from_ref(self).addr();
        let is_enough = |kept: &Answer| kept.are_all || first.is_some_and(|n| n <= kept.matches.len());
        if let Some(kept) = self.kept(cx, place, query).filter(|kept| is_enough(kept)) {
            return Ok(kept);
        }
        let of_all = self.kept(cx, self.place_of_all(), query).filter(|kept| is_enough(kept));
        let found = match of_all {
            Some(found) => found,
            None => Arc::new(self.search(cx, query, first)?),
        };
        if cx.state.subqueries.are_kept() {
            cx.state.subqueries.put(place, found.clone());
            cx.state.subqueries.put(self.place_of_all(), found.clone());
        }
        Ok(found)
    }

    fn kept(&self, cx: &EvalCx<'_>, place: usize, query: &[u8]) -> Option<Arc<Answer>> {
        let kept: Option<Arc<Answer>> = cx.state.subqueries.get(place);
        kept.filter(|kept| kept.query == query)
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

    /// Asks the index: what is found by number, and whether that is all; `go_on` says whether the statement does.
    fn ask(
        &self,
        core: &Core,
        ranking: &Ranking,
        query: &[u8],
        first: Option<usize>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> SqlResult<(Vec<Match>, bool, Option<Settled>)> {
        let reader = error::of_engine(FullTextReader::open(core, &self.info.table, &self.index))?;
        let reader = reader.asking(go_on);
        let failed = |e| match e {
            SearchError::Syntax(e) => SqlError::new(1064, e.to_string()),
            SearchError::Index(e) => error::engine(&e),
        };
        if let Some(n) = first.filter(|n| *n <= FIRST_MAX)
            && let Some(mut best) = reader.search_best(self.mode, ranking, query, n).map_err(failed)?
        {
            let are_all = best.len() < n;
            best.sort_unstable_by_key(|found| found.doc);
            return Ok((best, are_all, reader.settled()));
        }
        let found = reader.search(self.mode, ranking, query).map_err(failed)?;
        Ok((found, true, reader.settled()))
    }

    fn search(&self, cx: &mut EvalCx<'_>, query: &[u8], first: Option<usize>) -> SqlResult<Answer> {
        let ranking = self.ranking(cx)?;
        let Some(session) = &mut cx.engine else {
            return Err(SqlError::new(1105, "a full-text search without a session"));
        };
        let held = session.statement().hold_table(&self.info.table, MdlMode::SharedRead);
        error::of_engine(held)?;
        session.statement().begin_reading();
        let (mut ended, state) = (None, &mut *cx.state);
        let asked = self.ask(session.core(), &ranking, query, first, &mut || match state.poll() {
            Ok(()) => true,
            Err(e) => {
                ended = Some(e);
                false
            }
        });
        if let Some(ended) = ended {
            return Err(ended);
        }
        let (mut found, are_all, settled) = asked?;
        // A rank of nothing is no match.
        found.retain(|found| found.rank != 0.0);
        Ok(Answer {
            all_seen: session.statement().sees_found(settled),
            query: query.to_vec(),
            above: found.iter().filter(|found| found.rank > 0.0).count(),
            matches: found,
            are_all,
            order: Mutex::default(),
        })
    }
}

impl FullText for Searchable {
    fn index(&self) -> &str {
        &self.index.name
    }

    fn rank(&self, cx: &mut EvalCx<'_>, query: &[u8], document: u64) -> SqlResult<f64> {
        // Of the best ones it is known.
        if let Some(kept) = self.kept(cx, self.place_of_all(), query)
            && let Some(rank) = kept.rank(document)
        {
            return Ok(rank);
        }
        Ok(self.answer(cx, query)?.rank(document).unwrap_or(0.0))
    }

    fn documents(&self, cx: &mut EvalCx<'_>, query: &[u8]) -> SqlResult<FoundDocuments> {
        self.answer(cx, query).map(Answer::shown)
    }

    fn best(&self, cx: &mut EvalCx<'_>, query: &[u8], n: usize) -> SqlResult<FoundDocuments> {
        self.answer_of(cx, query, Some(n)).map(Answer::shown)
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
