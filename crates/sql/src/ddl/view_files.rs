//! `.frm` files of views in folders that a MySQL server made, which goes by them. A view is kept with its file, byte for byte as MySQL 5.6
//! would write it; what that does not know is refused by name, as of tables. Views of the database `mysql` that are made here are not for
//! the server.

use super::server_files::{are_kept, refused};
use super::views::find;
use crate::statement::StmtCx;
use bumpalo::Bump;
use vaquita_catalog::frm::write::LATER_COLLATIONS;
use vaquita_catalog::{ObjectBody, Security};
use vaquita_engine::lower::charset::Charset;
use vaquita_engine::lower::frm::Unwritable;
use vaquita_engine::lower::frm_view::ViewFile;
use vaquita_parser::{ParseMode, ast};
use vaquita_plan::view;
use vaquita_session::vars;
use vaquita_types::SqlResult;
use vaquita_types::temporal::calendar::from_unix;
use vaquita_types::temporal::print::push_datetime;

/// Words of queries that came after MySQL 5.6, besides those that begin with `json_`.
const LATER: [&str; 27] = [
    "any_value",
    "bin_to_uuid",
    "current_role",
    "except",
    "format_bytes",
    "format_pico_time",
    "fts_score",
    "fts_snippet",
    "grouping",
    "icu_version",
    "intersect",
    "is_uuid",
    "member",
    "over",
    "ps_current_thread_id",
    "ps_thread_id",
    "regexp_instr",
    "regexp_like",
    "regexp_replace",
    "regexp_substr",
    "release_all_locks",
    "roles_graphml",
    "source_pos_wait",
    "statement_digest",
    "statement_digest_text",
    "uuid_to_bin",
    "wait_for_executed_gtid_set",
];

/// Types of CAST that did.
const LATER_TYPES: [&str; 5] = ["json", "double", "float", "real", "year"];

/// Gives a view its file, if a server made the folder.
///
/// # Errors
/// 1235 names what the server cannot be told.
pub(super) fn put(
    cx: &StmtCx<'_>,
    body: &mut ObjectBody,
    written: &ast::CreateView<'_>,
    sql: &[u8],
    database: &str,
) -> SqlResult<()> {
    if !are_kept(cx) || database == "mysql" {
        return Ok(());
    }
    if let Some(what) = unknown(body) {
        return Err(refused(&Unwritable(what)));
    }
    let text = &sql[written.text.start as usize..];
    let end = text.iter().rposition(|b| !b.is_ascii_whitespace() && *b != b';').map_or(0, |at| at + 1);
    let suid = match (body.security, written.invoker, written.alter) {
        (Security::Invoker, ..) => 0,
        (Security::Definer, None, false) => 2,
        (Security::Definer, ..) => 1,
    };
    let made = i64::try_from(body.modified).ok().and_then(|at| from_unix(at, 0)).unwrap_or_default();
    let mut timestamp = Vec::new();
    push_datetime(made, 0, &mut timestamp);
    let client = Charset::of_any_collation(body.client_collation).map_or("binary", |charset| charset.name);
    let in_utf8 = three_bytes(&body.text);
    let file = ViewFile {
        query: &body.as_sent(&body.text),
        updatable: is_updatable(cx, body, 0)?,
        algorithm: match body.get(super::views::ALGORITHM) {
            "TEMPTABLE" => 1,
            "MERGE" => 2,
            _ => 0,
        },
        definer: (&body.definer.0, &body.definer.1),
        suid,
        check: match body.get(super::views::CHECK) {
            "LOCAL" => 1,
            "CASCADED" => 2,
            _ => 0,
        },
        timestamp: &String::from_utf8_lossy(&timestamp),
        source: &text[..end],
        client_charset: client,
        connection_collation: vars::collation_name(body.connection_collation),
        body: &in_utf8,
    };
    let bytes = file.encode();
    body.set_server_file(&bytes);
    Ok(())
}

/// Text as `utf8` has it, with `?` for what takes four bytes.
fn three_bytes(text: &str) -> String {
    text.chars().map(|c| if c.len_utf8() > 3 { '?' } else { c }).collect()
}

/// Whether MySQL 5.6 says of a view that rows may be changed through it: it can be merged, joins are inner ones, and it reads tables and
/// such views. The first of them is not read in a subquery as well.
fn is_updatable(cx: &StmtCx<'_>, body: &ObjectBody, depth: usize) -> SqlResult<bool> {
    // One that reads itself by way of others cannot be used.
    const DEEPEST: usize = 64;
    let arena = Bump::new();
    let query = view::parse_kept(&body.text, &arena)?;
    let inner = unwrapped(query);
    if body.get(super::views::ALGORITHM) == "TEMPTABLE"
        || !view::is_mergeable(inner)
        || view::has_outer_join(inner)
        || depth > DEEPEST
    {
        return Ok(false);
    }
    let found = std::cell::RefCell::default();
    view::tables_of(inner, &found);
    let (mut in_subqueries, mut from) = (found.into_inner(), Tables::new());
    view::first_select(&inner.body)
        .iter()
        .for_each(|select| select.from.iter().for_each(|t| leaves(t, &mut from)));
    for table in &from {
        let (database, name) = table;
        if ["information_schema", "performance_schema"].contains(&database.as_str()) {
            return Ok(false);
        }
        if let Some(object) = find(cx, database, name)
            && !is_updatable(cx, &ObjectBody::of(&object)?, depth + 1)?
        {
            return Ok(false);
        }
        if let Some(at) = in_subqueries.iter().position(|other| other == table) {
            in_subqueries.remove(at);
        }
    }
    let first = bases(cx, &from[..1.min(from.len())])?;
    let in_subqueries = bases(cx, &in_subqueries)?;
    Ok(first.iter().all(|table| !in_subqueries.contains(table)))
}

/// The tables of a FROM clause.
fn leaves(table: &ast::TableRef<'_>, out: &mut Tables) {
    match table {
        ast::TableRef::Table(named) => {
            let database = named.name.schema.map_or_else(String::new, |s| s.to_string());
            out.push((database, named.name.name.to_string()));
        }
        ast::TableRef::List(list) => list.iter().for_each(|table| leaves(table, out)),
        ast::TableRef::Join(join) => {
            leaves(&join.left, out);
            leaves(&join.right, out);
        }
        ast::TableRef::Derived(_) | ast::TableRef::Json(_) => {}
    }
}

/// A query without parentheses around it.
fn unwrapped<'q>(query: &'q ast::Query<'q>) -> &'q ast::Query<'q> {
    match query.body {
        ast::QueryBody::Nested(inner) => unwrapped(inner),
        _ => query,
    }
}

type Tables = Vec<(String, String)>;

/// The base tables behind tables and views.
fn bases(cx: &StmtCx<'_>, names: &[(String, String)]) -> SqlResult<Tables> {
    let mut out = Tables::new();
    for (database, name) in names {
        match find(cx, database, name) {
            Some(object) => out.extend(super::views::base_tables(cx, &object)?),
            None => out.push((database.clone(), name.clone())),
        }
    }
    Ok(out)
}

/// What a server of 5.6 does not know of a view, if there is something.
fn unknown(body: &ObjectBody) -> Option<String> {
    let collation = body.connection_collation;
    if collation >= LATER_COLLATIONS {
        return Some(format!("a view of collation {}", vars::collation_name(collation)));
    }
    let words = vaquita_parser::words(&body.text, ParseMode::default());
    later_word(&words).map(|word| format!("{} in a view", word.to_uppercase()))
}

/// The first of words that stand outside of quotes, in lower case, which came after MySQL 5.6.
pub(super) fn later_word<'w>(words: &[&'w str]) -> Option<&'w str> {
    let later = |word: &&str| LATER.contains(word) || word.starts_with("json_");
    let later_type = |pair: &[&str]| pair[0] == "as" && LATER_TYPES.contains(&pair[1]);
    let word = words.iter().copied().find(later);
    word.or_else(|| words.windows(2).find(|pair| later_type(pair)).map(|pair| pair[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_later_is_named() {
        let of = |text: &str| {
            unknown(&ObjectBody { text: text.into(), connection_collation: 33, ..ObjectBody::default() })
        };
        assert_eq!(of("select 'json_keys' AS `over`"), None);
        assert_eq!(of("select year(`d`.`t`.`a`) AS `a` from `d`.`t`"), None);
        for (text, what) in [
            ("select json_keys('{}') AS `a`", "JSON_KEYS"),
            ("select 1 AS `1` intersect select 1 AS `1`", "INTERSECT"),
            ("select cast(1 as double) AS `a`", "DOUBLE"),
            ("select sum(1) over () AS `a`", "OVER"),
        ] {
            assert_eq!(of(text), Some(format!("{what} in a view")), "{text}");
        }
    }
}
