//! CREATE TABLE.

use super::{Text, check_database_exists, columns, directories, keys, limits, names_of, options, partitions};
use crate::statement::{StmtCx, planning};
use std::sync::Arc;
use vaquita_catalog::declared::labels_of;
use vaquita_catalog::error;
use vaquita_catalog::{ColumnDefinition, Definition, KeyKind, engine_name, file_name};
use vaquita_engine::ImportFile;
use vaquita_engine::table::DefaultValue;
use vaquita_exec::Outcome;
use vaquita_parser::ast::{self, SelectDuplicates, Stmt, TableElement};
use vaquita_session::sink::{Collected, ColumnMeta};
use vaquita_types::{Kind, Level, SqlError, SqlResult};

/// CREATE TABLE in all its forms.
pub(super) fn create_table(
    cx: &mut StmtCx<'_>,
    written: &ast::CreateTable<'_>,
    text: &Text<'_>,
) -> SqlResult<Outcome> {
    create_table_of(cx, written, text, None)
}

/// The same of a file from elsewhere, if there is one.
pub(super) fn create_table_of(
    cx: &mut StmtCx<'_>,
    written: &ast::CreateTable<'_>,
    text: &Text<'_>,
    file: Option<&ImportFile>,
) -> SqlResult<Outcome> {
    directories::check_written(cx, written.options)?;
    let (database, name) = names_of(cx, &written.name)?;
    check_database_exists(cx, &database)?;
    let engine_name = engine_name(&database, &name)?;
    if let Some(like) = &written.like {
        refuse_like_itself(cx, like, &database, &name)?;
    }
    let is_there = match written.temporary {
        true => cx.state.names.mean_own(&database, &name),
        false => {
            super::views::find(cx, &database, &name).is_some() || super::base_table_exists(cx, &engine_name)?
        }
    };
    if is_there {
        if !written.if_not_exists {
            return Err(SqlError::table_exists(&name));
        }
        cx.state.warnings.push(Level::Note, 1050, SqlError::table_exists(&name).message);
        return Ok(Outcome::default());
    }
    let mut definition = match &written.like {
        Some(like) => like_definition(cx, like, &database, &name)?,
        None => definition_of(cx, written, &database, &name)?,
    };
    let mut selected = None;
    if let Some(query) = written.select {
        selected = Some((query, add_selected(cx, &mut definition, query, text)?));
        keys_as_written(cx, &mut definition, written)?;
    }
    if definition.columns.is_empty() {
        return Err(SqlError::new(1113, "A table must have at least 1 column"));
    }
    definition.check_doc_id()?;
    definition.check_words()?;
    if written.temporary {
        refuse_words(&definition)?;
    }
    definition.check_actions()?;
    definition.check_expressions()?;
    definition.check_visible()?;
    check_primary_key(cx, &definition)?;
    definition.options.set_created(cx.state.now_us / 1_000_000);
    definition.check_row_bytes()?;
    let partitioned = written.partitioning.is_some();
    directories::settle(cx, &mut definition, written.options, written.temporary, partitioned)?;
    match file {
        None => limits::settle_row_format(cx, &mut definition, false)?,
        Some(file) => limits::take_row_format(&mut definition, file.row_format()),
    }
    definition.check_key_columns()?;
    if let Some(partitioning) = written.partitioning {
        partitions::settle(cx, &mut definition, partitioning, text.sql)?;
    }
    if written.temporary && !definition.partitioning.is_empty() {
        return Err(SqlError::new(1562, "Cannot create temporary table with partitions"));
    }
    if file.is_some() && !definition.partitioning.is_empty() {
        return Err(SqlError::unsupported("IMPORT TABLE of a partitioned table"));
    }
    if !written.temporary {
        super::server_files::check(cx, &definition)?;
    }
    let mut spec = definition.to_spec(None)?;
    if let Some(file) = file {
        spec.file_per_table = true;
        spec.lenient_row_size = true;
        spec.numbers_documents = super::import::numbers_documents(file, &definition);
        super::checks::refuse_taken(cx, &definition, None, &engine_name)?;
        return super::import::create(cx, &spec, file, &definition);
    }
    spec.file_per_table = cx.db.globals().is_on("innodb_file_per_table");
    limits::settle_row_size(cx, &mut spec)?;
    if written.temporary {
        let Some((query, names)) = selected else {
            cx.engine.create_temporary_table(&spec).map_err(|e| creation_error(&e, &definition))?;
            return Ok(Outcome::default());
        };
        // The query reads what has the name so far. The table gets it when it is filled.
        let filled = unused_name(cx, &database)?;
        let filled_name = vaquita_catalog::engine_name(&database, &filled)?;
        spec.name.clone_from(&filled_name);
        cx.engine.create_temporary_table(&spec).map_err(|e| creation_error(&e, &definition))?;
        let schema = Some(ast::Ident::new(database.as_bytes()));
        let into = ast::ObjectName { schema, name: ast::Ident::new(filled.as_bytes()) };
        return fill(cx, written, (into, query), &names, text)
            .and_then(|outcome| {
                error::of_engine(cx.engine.rename_temporary_table(&filled_name, &engine_name))?;
                Ok(outcome)
            })
            .inspect_err(|_| drop(cx.engine.drop_temporary_table(&filled_name)));
    }
    super::checks::refuse_taken(cx, &definition, None, &engine_name)?;
    cx.engine.create_table(&spec).map_err(|e| creation_error(&e, &definition))?;
    match selected {
        None => Ok(Outcome::default()),
        Some((query, names)) => fill(cx, written, (written.name, query), &names, text).inspect_err(|_| {
            // Without its rows there is no table. If that fails too, the statement's error matters more.
            let _ = cx.engine.drop_table(&engine_name);
        }),
    }
}

/// Temporary tables have no FULLTEXT keys.
///
/// # Errors
/// 1796.
pub(super) fn refuse_words(definition: &Definition) -> SqlResult<()> {
    match definition.keys.iter().any(|key| key.kind == KeyKind::FullText) {
        true => Err(SqlError::new(1796, "Cannot create FULLTEXT index on temporary InnoDB table")),
        false => Ok(()),
    }
}

/// Under `sql_require_primary_key` a table has one.
///
/// # Errors
/// 3750.
pub(super) fn check_primary_key(cx: &StmtCx<'_>, definition: &Definition) -> SqlResult<()> {
    let required = cx.state.vars.get(vaquita_session::vars::id::SQL_REQUIRE_PRIMARY_KEY).uint() != 0;
    if !required || definition.keys.iter().any(|key| key.is_primary()) {
        return Ok(());
    }
    Err(SqlError::new(
        3750,
        "Unable to create or change a table without a primary key, when the system variable 'sql_require_primary_key' is \
         set. Add a primary key to the table or unset this variable to avoid this message. Note that tables without a \
         primary key can cause performance problems in row-based replication, so please consult your DBA before changing \
         this setting.",
    ))
}

/// Engine errors of definitions in MySQL's words.
pub(super) fn creation_error(e: &vaquita_engine::Error, definition: &Definition) -> SqlError {
    match e {
        vaquita_engine::Error::ForeignKey(text)
            if text.ends_with("a constraint of that name exists")
                || text.ends_with("the name is used twice") =>
        {
            SqlError::new(1022, format!("Can't write; duplicate key in table '{}'", definition.name))
        }
        vaquita_engine::Error::ForeignKey(_) => SqlError::new(1215, "Cannot add foreign key constraint"),
        vaquita_engine::Error::TableExists(_) => SqlError::table_exists(&definition.name),
        vaquita_engine::Error::BadDefinition(text)
            if text.contains("is allowed") || text.contains("are allowed") =>
        {
            let most = text.strip_suffix(" are allowed").and_then(|text| text.rsplit(' ').next());
            match most.filter(|_| text.starts_with("index ") && text.contains(" bytes; ")) {
                Some(most) => {
                    SqlError::new(1071, format!("Specified key was too long; max key length is {most} bytes"))
                }
                None => SqlError::new(1071, format!("Specified key was too long: {text}")),
            }
        }
        other => directories::creation_error(other, definition).unwrap_or_else(|| error::engine(other)),
    }
}

/// A definition without columns.
fn empty(cx: &StmtCx<'_>, database: &str, name: &str) -> SqlResult<Definition> {
    let collation = database_collation(cx, database)?;
    Ok(Definition::new(database, name, collation, limits::default_row_format(cx)))
}

/// A database's default collation.
pub(super) fn database_collation(cx: &StmtCx<'_>, database: &str) -> SqlResult<u16> {
    let said = vaquita_catalog::database_options(cx.db.engine.core(), &file_name(database)?)?;
    Ok(said.flatten().unwrap_or(cx.state.vars.collation_server))
}

/// A table cannot be made like itself, not even a temporary one like the table that it would hide.
///
/// # Errors
/// 1066.
fn refuse_like_itself(
    cx: &StmtCx<'_>,
    like: &ast::ObjectName<'_>,
    database: &str,
    name: &str,
) -> SqlResult<()> {
    let (like_database, like_name) = names_of(cx, like)?;
    match (like_database.as_str(), like_name.as_str()) == (database, name) {
        true => Err(SqlError::new(1066, format!("Not unique table/alias: '{name}'"))),
        false => Ok(()),
    }
}

fn like_definition(
    cx: &mut StmtCx<'_>,
    like: &ast::ObjectName<'_>,
    database: &str,
    name: &str,
) -> SqlResult<Definition> {
    let (like_database, like_name) = names_of(cx, like)?;
    let info = super::tablespaces::look_at_definition(cx, &like_database, &like_name)?;
    let mut definition = info.definition.to_edit();
    definition.database = database.to_owned();
    definition.name = name.to_owned();
    // As MySQL: foreign keys are not copied.
    definition.foreign_keys.clear();
    // Nor where the file is; those of partitions are, as they are said in the clause.
    definition.directory = None;
    directories::settle_clause(cx, &mut definition)?;
    definition.number_checks();
    Ok(definition)
}

fn definition_of(
    cx: &mut StmtCx<'_>,
    written: &ast::CreateTable<'_>,
    database: &str,
    name: &str,
) -> SqlResult<Definition> {
    let mut definition = empty(cx, database, name)?;
    let default_collation = definition.collation;
    options::apply(cx, &mut definition, written.options, default_collation)?;
    // Before anything is looked at that takes longer with each of them.
    let columns = written.elements.iter().filter(|e| matches!(e, TableElement::Column(_))).count();
    vaquita_catalog::limits::check_column_count(columns)?;
    let keys = written.elements.iter().filter(|e| matches!(e, TableElement::Index(_))).count();
    vaquita_catalog::keys::check_key_count(keys)?;
    for element in written.elements {
        if let TableElement::Column(column) = element {
            let before = definition.columns.len();
            add_column(cx, &mut definition, column, before)?;
        }
    }
    for element in written.elements {
        if let TableElement::Column(column) = element {
            super::expressions::of_column(cx, &mut definition, column)?;
        }
    }
    if written.select.is_none() {
        keys_as_written(cx, &mut definition, written)?;
    }
    Ok(definition)
}

/// Appends a column as written; it will stand behind the first `before` columns.
///
/// # Errors
/// 1060, those of the column.
pub(super) fn add_column(
    cx: &mut StmtCx<'_>,
    definition: &mut Definition,
    written: &ast::ColumnDef<'_>,
    before: usize,
) -> SqlResult<()> {
    let first_timestamp = !definition.columns[..before].iter().any(|c| c.ty.kind == Kind::Timestamp);
    let column = columns::define(cx, written, definition.collation, first_timestamp)?;
    if definition.column(&column.name).is_some() {
        return Err(SqlError::duplicate_column(&column.name));
    }
    vaquita_catalog::limits::check_column_count(definition.columns.len() + 1)?;
    definition.columns.push(Arc::new(column));
    Ok(())
}

/// Keys of columns' attributes first, then the others; foreign keys.
fn keys_as_written(
    cx: &mut StmtCx<'_>,
    definition: &mut Definition,
    written: &ast::CreateTable<'_>,
) -> SqlResult<()> {
    for element in written.elements {
        if let TableElement::Column(column) = element {
            column_keys(cx, definition, column)?;
        }
    }
    for element in written.elements {
        match element {
            TableElement::Index(index) => {
                refuse_null_parts(written, index)?;
                keys::add(cx, definition, index, 0)?;
            }
            TableElement::ForeignKey(key) => {
                let key = keys::foreign_key(cx, definition, key)?;
                definition.foreign_keys.push(key);
            }
            TableElement::Column(_) | TableElement::Check(_) => {}
        }
    }
    super::checks::as_written(cx, definition, written)?;
    // Unnamed keys are numbered after the named ones are known; the order of keys is that of the statement.
    definition.check_auto_increment()
}

/// Keys that a column's attributes ask for.
///
/// # Errors
/// As [`keys::add`].
pub(super) fn column_keys(
    cx: &mut StmtCx<'_>,
    definition: &mut Definition,
    written: &ast::ColumnDef<'_>,
) -> SqlResult<()> {
    let name = written.name.to_string();
    if written.primary {
        keys::add_on_column(cx, definition, KeyKind::Primary, &name)?;
    }
    if written.unique || matches!(written.data_type.kind, ast::TypeKind::Serial) {
        keys::add_on_column(cx, definition, KeyKind::Unique, &name)?;
    }
    Ok(())
}

/// 1171: a column of the primary key that is declared NULL.
fn refuse_null_parts(written: &ast::CreateTable<'_>, index: &ast::IndexDef<'_>) -> SqlResult<()> {
    if index.kind != ast::IndexKind::Primary {
        return Ok(());
    }
    for part in index.parts {
        let ast::KeyTarget::Column(name) = part.target else { continue };
        let is_null = |e: &TableElement<'_>| matches!(e, TableElement::Column(c) if c.name.name.eq_ignore_ascii_case(name.name) && c.nullable == Some(true));
        if written.elements.iter().any(is_null) {
            return Err(SqlError::new(
                1171,
                "All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use UNIQUE instead",
            ));
        }
    }
    Ok(())
}

/// Adds the columns of the query that the statement does not define itself; the names of all of them.
fn add_selected(
    cx: &mut StmtCx<'_>,
    definition: &mut Definition,
    query: &ast::Query<'_>,
    text: &Text<'_>,
) -> SqlResult<Vec<Box<[u8]>>> {
    let look = cx.engine.begin_look();
    let stmt = Stmt::Query(query);
    // The columns are what they are, whatever a client would get of them.
    let results = cx.state.vars.character_set_results.take();
    let planned = vaquita_exec::plan(&mut planning(cx, text.params, text.types, text.sql), &stmt);
    cx.state.vars.character_set_results = results;
    error::of_engine(cx.engine.end_look(look))?;
    let planned = planned?;
    cx.state.check_privileges(planned.wants())?;
    let columns = planned.columns().map_or(&[][..], |c| c);
    vaquita_catalog::limits::check_column_count(columns.len())?;
    for column in columns {
        let name = String::from_utf8_lossy(&column.name).into_owned();
        if definition.column(&name).is_some() {
            continue;
        }
        vaquita_catalog::limits::check_column_name(&name)?;
        let mut ty = column.ty.clone();
        if ty.kind == Kind::Null {
            ty = vaquita_types::SqlType { kind: Kind::Char, length: 0, ..ty };
        }
        if ty.kind == Kind::VarChar && (ty.length > 16_383 || is_long_expression(column)) {
            (ty.kind, ty.length) = match u64::from(ty.length) * mb_max_len(ty.collation) {
                0..=65_535 => (Kind::Text, 65_535),
                65_536..=16_777_215 => (Kind::MediumText, 16_777_215),
                _ => (Kind::LongText, u32::MAX),
            };
        }
        if ty.kind == Kind::BigInt && column.org_name.is_empty() && ty.length <= 9 {
            // As 5.6, which does so up to 11 digits where it knows that they fit.
            ty.kind = Kind::Int;
        }
        let labels = labels_of(&ty);
        let mut made = ColumnDefinition::new(name, ty, labels);
        made.default = selected_default(&made);
        if let Some(origin) = selected_column(cx, column)? {
            made.comment.clone_from(&origin.comment);
            // One that is an expression may look at columns that are not there.
            let constant = !origin.has_default_expression() || origin.uses.is_empty();
            let has_default =
                constant && (made.ty.nullable <= origin.ty.nullable || origin.default != DefaultValue::None);
            if !origin.auto_increment && has_default {
                made.default = origin.default.clone();
                made.on_update_now = origin.on_update_now;
            }
        }
        definition.columns.push(Arc::new(made));
    }
    Ok(columns.iter().map(|c| c.name.clone()).collect())
}

/// The column of a table that a column of a query is, if it is one as it stands there.
fn selected_column(cx: &mut StmtCx<'_>, column: &ColumnMeta) -> SqlResult<Option<Arc<ColumnDefinition>>> {
    let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
    let database = text(&column.schema);
    if column.org_name.is_empty() || database.is_empty() || vaquita_catalog::is_virtual_database(&database) {
        return Ok(None);
    }
    let look = cx.engine.begin_look();
    // The table that the query reads, which a temporary one may hide.
    let found = vaquita_catalog::open_table(
        &cx.db.catalog,
        &mut cx.engine.statement(),
        &database,
        &text(&column.org_table),
        vaquita_engine::MdlMode::SharedRead,
    );
    error::of_engine(cx.engine.end_look(look))?;
    let info = match found {
        Ok(info) => info,
        // It comes from a derived table, or from a view.
        Err(e) if matches!(e.code, 1146 | 1347) => return Ok(None),
        Err(e) => return Err(e),
    };
    let found = info.definition.columns.iter().find(|c| c.name.as_bytes() == &*column.org_name);
    Ok(found.filter(|c| c.ty.kind == column.ty.kind).cloned())
}

/// Whether it is text that the query calculates, and may be so long that MySQL makes a TEXT of it.
fn is_long_expression(column: &ColumnMeta) -> bool {
    column.org_name.is_empty() && column.ty.length > 512
}

/// The most bytes that a character of a collation has.
fn mb_max_len(collation: u16) -> u64 {
    vaquita_engine::lower::charset::Charset::of_collation(collation).map_or(1, |c| c.mb_max_len.into())
}

/// MySQL gives columns of a query that cannot be NULL the default 0 or ''.
pub(super) fn selected_default(column: &ColumnDefinition) -> DefaultValue {
    if column.ty.nullable {
        return DefaultValue::Null;
    }
    if column.ty.kind.is_blob() {
        return DefaultValue::None;
    }
    let mut out = Vec::new();
    column.codec().push_implicit_default(&mut out);
    DefaultValue::Stored(out)
}

/// A name in a database that no table has, temporary or not.
fn unused_name(cx: &mut StmtCx<'_>, database: &str) -> SqlResult<String> {
    let mut number = 0_u64;
    loop {
        let name = format!("#sql-made-{number}");
        let engine_name = engine_name(database, &name)?;
        if cx.engine.temporary_table(&engine_name).is_none() && !super::base_table_exists(cx, &engine_name)? {
            return Ok(name);
        }
        number += 1;
    }
}

/// Inserts the rows of the query: an INSERT ... SELECT in a transaction of its own.
fn fill(
    cx: &mut StmtCx<'_>,
    written: &ast::CreateTable<'_>,
    (into, query): (ast::ObjectName<'_>, &ast::Query<'_>),
    names: &[Box<[u8]>],
    text: &Text<'_>,
) -> SqlResult<Outcome> {
    let columns: Vec<ast::ColumnRef<'_>> = names
        .iter()
        .map(|name| ast::ColumnRef { schema: None, table: None, name: ast::Ident { name } })
        .collect();
    let insert = ast::Insert {
        hints: &[],
        replace: written.select_duplicates == SelectDuplicates::Replace,
        priority: ast::Priority::default(),
        ignore: written.select_duplicates == SelectDuplicates::Ignore,
        table: into,
        partitions: &[],
        columns: Some(&columns),
        source: ast::InsertSource::Query(query),
        row_alias: None,
        on_duplicate: &[],
    };
    let run = |cx: &mut StmtCx<'_>| {
        vaquita_exec::dml::plan(&mut planning(cx, text.params, text.types, text.sql), &Stmt::Insert(&insert))
            // INSERT has no result: the sink stays empty.
            .and_then(|plan| plan.run(&mut cx.run(), text.params, &mut Collected::default()))
    };
    if cx.engine.is_nested() {
        let mark = cx.engine.statement().mark();
        let done = run(cx);
        if matches!(&done, Err(e) if !matches!(e.code, 1213 | 1206)) {
            error::of_engine(cx.engine.statement().take_back(mark))?;
        }
        return done;
    }
    let from = cx.engine.start_statement();
    let done = run(cx);
    match done {
        Ok(outcome) => {
            // The rows of a temporary table belong to the transaction that goes on.
            let ended = if written.temporary { cx.engine.end_statement() } else { cx.engine.commit() };
            error::of_engine(error::of_engine(ended)?.wait())?;
            Ok(outcome)
        }
        Err(e) => {
            let whole = !written.temporary || matches!(e.code, 1213 | 1206);
            error::of_engine(cx.engine.take_back(from, whole))?;
            Err(e)
        }
    }
}
