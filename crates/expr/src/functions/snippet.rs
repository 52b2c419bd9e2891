//! Pieces of texts around what a full-text query looks for.

use super::string::too_long;
use super::{Function, arg, evals, f};
use crate::EvalCx;
use crate::build::{New, charset_of, text_type};
use crate::node::{Data, Expr, Node};
use crate::query::FullText;
use crate::scope::CompileCx;
use std::sync::Arc;
use vaquita_engine::fulltext::Analyzer;
use vaquita_engine::fulltext::snippet::{Style, Wanted, snippet};
use vaquita_engine::text::collation::Collation;
use vaquita_engine::text::collation::aggregate::Purpose;
use vaquita_types::{SqlError, SqlResult, Value};

pub(super) const FUNCTIONS: &[Function] = &[f(NAME, 2, 5, fts_snippet)];

/// Its name: of a column the words are those of an index.
pub(crate) const NAME: &str = "fts_snippet";

/// Words of the longest snippet.
const WORDS_MAX: i128 = 1000;

/// `FTS_SNIPPET(text, query [, before, after [, words]])`. MySQL has no such function.
fn fts_snippet(cx: &mut CompileCx<'_>, name: &'static str, mut args: Vec<Expr>) -> SqlResult<Expr> {
    if args.len() == 3 {
        return Err(SqlError::parameter_count(name));
    }
    let mut texts: Vec<&mut Expr> = args.iter_mut().take(4).collect();
    let by = cx.unify(name, &mut texts, Purpose::Compare)?;
    if !charset_of(by.collation).is_ascii_based() {
        return Err(SqlError::unsupported("FTS_SNIPPET() of ucs2, utf16 and utf32"));
    }
    // How many hits there are is not known.
    let chars = u64::from(u32::MAX);
    Ok(New::call(name, text_type(chars, by), args, eval_fts_snippet).collated(by).nullable().build(cx))
}

/// The call with the words of the FULLTEXT index that its text is a column of.
pub(crate) fn by_words_of(mut call: Expr, index: Arc<dyn FullText>) -> Expr {
    if let Node::Call(of) = &mut call.node {
        of.data = Data::Words(index);
        // Stopwords may be read from their table: never while a row is looked at on its page.
        call.info.has_subquery = true;
    }
    call
}

/// What makes words of the text: an index, or InnoDB's own way.
fn analyzer(e: &Expr, cx: &mut EvalCx<'_>, collation: Collation) -> SqlResult<Arc<Analyzer>> {
    if let Node::Call(call) = &e.node
        && let Data::Words(index) = &call.data
    {
        return index.analyzer(cx, collation);
    }
    Ok(Arc::new(Analyzer::innodb(collation)))
}

evals! {
    eval_fts_snippet(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        let query = arg!(args[1].text(cx, row));
        let (before, after) = match args {
            [_, _, before, after, ..] => (Some(arg!(before.text(cx, row))), Some(arg!(after.text(cx, row)))),
            _ => (None, None),
        };
        let words = match args.get(4) {
            Some(words) => Some(arg!(words.integer(cx, row))),
            None => None,
        };
        let Some(collation) = Collation::of(e.ty().collation) else { return Ok(Value::Null) };
        cx.state.worked(text.len())?;
        let usual = Style::default();
        let style = Style {
            open: before.as_deref().unwrap_or(usual.open),
            close: after.as_deref().unwrap_or(usual.close),
            gap: usual.gap,
            words_max: words.map_or(usual.words_max, |words| words.clamp(1, WORDS_MAX) as usize),
        };
        let analyzer = analyzer(e, cx, collation)?;
        let found = snippet(&analyzer, &text, &Wanted::of_query(&analyzer, &query), &style);
        if too_long(cx, "fts_snippet", found.len()) {
            return Ok(Value::Null);
        }
        Ok(Value::owned(found))
    }
}
