//! Databases, tables, columns, keys.

use super::making::{Cells, Making, number_or_null, text, text_or_null, yes_no};
use std::sync::Arc;
use vaquita_catalog::{ColumnInfo, KeyDefinition, KeyInfo, KeyKind, KeyPart, TableInfo, TableOption, flag};
use vaquita_catalog::{INFORMATION_SCHEMA, PERFORMANCE_SCHEMA};
use vaquita_engine::lower::filename;
use vaquita_engine::stats::Statistics;
use vaquita_engine::table::{DefaultValue, ForeignKey, ReferentialAction};
use vaquita_session::privilege::Priv;
use vaquita_session::vars;
use vaquita_types::{Kind, SqlResult, SqlType, Value};

pub(super) fn schemata(m: &mut Making<'_, '_>) -> SqlResult<()> {
    let server = m.state().vars.collation_server;
    let mut all = vec![(INFORMATION_SCHEMA.to_owned(), super::making::NAMES)];
    for (name, file_name) in m.databases(1)? {
        let collation =
            vaquita_catalog::database_options(m.db.engine.core(), &file_name)?.flatten().unwrap_or(server);
        all.push((name, collation));
    }
    if virtual_databases(m, 1).contains(&PERFORMANCE_SCHEMA) {
        let at = 1 + all[1..].partition_point(|(name, _)| name.as_str() < PERFORMANCE_SCHEMA);
        all.insert(at, (PERFORMANCE_SCHEMA.to_owned(), super::making::NAMES));
    }
    for (name, collation) in all {
        m.push(vec![
            text("def"),
            text(name),
            text(vars::charset_name(collation)),
            text(vars::collation_name(collation)),
            Value::Null,
        ]);
    }
    Ok(())
}

/// Statistics of a table; of one that cannot be read there are none, and of one that is gone by now.
fn statistics_of(m: &Making<'_, '_>, info: &TableInfo) -> Result<Option<Arc<Statistics>>, String> {
    m.db.engine.core().statistics(&info.table).map_err(|e| e.to_string())
}

fn row_format(info: &TableInfo) -> &'static str {
    use vaquita_engine::lower::RowFormat;
    match info.table.row_format {
        RowFormat::Redundant => "Redundant",
        RowFormat::Compact => "Compact",
        RowFormat::Dynamic => "Dynamic",
        RowFormat::Compressed => "Compressed",
    }
}

pub(super) fn tables(m: &mut Making<'_, '_>) -> SqlResult<()> {
    virtual_tables(m);
    for info in m.tables(1, 2)? {
        let row = table_row(m, &info);
        m.push(row);
    }
    super::schema_views::tables(m)
}

/// The virtual databases that are wanted, by the column of databases, and may be seen.
fn virtual_databases(m: &Making<'_, '_>, column: usize) -> Vec<&'static str> {
    let wanted = m.wanted.text(column);
    let is_wanted = |name: &&str| wanted.is_none_or(|one| one.eq_ignore_ascii_case(name.as_bytes()));
    let all = [INFORMATION_SCHEMA, PERFORMANCE_SCHEMA].into_iter();
    all.filter(is_wanted).filter(|name| vaquita_catalog::is_for_everybody(name) || m.may_see(name)).collect()
}

fn virtual_tables(m: &mut Making<'_, '_>) {
    for database in virtual_databases(m, 1) {
        for table in super::making::tables_of(database) {
            if !vaquita_catalog::is_for_everybody(database) && !m.may_use(database, table.name()) {
                continue;
            }
            let mut row = vec![
                text("def"),
                text(database),
                text(table.name()),
                text(table.kind()),
                text(if table.is_of_performance() { "PERFORMANCE_SCHEMA" } else { "MEMORY" }),
                Value::UInt(10),
                text(if table.is_of_performance() { "Dynamic" } else { "Fixed" }),
            ];
            row.resize(17, Value::Null);
            row.extend([text("utf8_general_ci"), Value::Null, text(""), text("")]);
            m.push(row);
        }
    }
}

/// A table's row of TABLES. What is known only from its pages is NULL if they cannot be read; the comment says why then.
pub(super) fn table_row(m: &mut Making<'_, '_>, info: &TableInfo) -> Cells {
    let core = m.db.engine.core();
    let page = core.storage.options().page_size.logical() as u64;
    let found = statistics_of(m, info);
    let known = found.as_ref().ok().and_then(Option::as_deref);
    let number = |of: &dyn Fn(&Statistics) -> u64| number_or_null(known.map(of));
    let data = |s: &Statistics| s.clustered_pages() * page;
    let free = core.free_bytes(&info.table).ok().filter(|_| known.is_some());
    let next = match info.auto_increment {
        None => None,
        Some(_) => m.cx.engine.as_mut().and_then(|e| e.statement().next_auto_inc(&info.table).ok().flatten()),
    };
    let created = info.definition.options.created().map_or(Value::Null, |at| m.local(at as i64));
    vec![
        text("def"),
        text(&info.definition.database),
        text(&info.definition.name),
        text("BASE TABLE"),
        text("InnoDB"),
        Value::UInt(10),
        text(row_format(info)),
        number(&|s| s.rows),
        number(&|s| data(s).checked_div(s.rows).unwrap_or(0)),
        number(&data),
        number(&|_| 0),
        number(&|s| s.secondary_pages() * page),
        number_or_null(free),
        number_or_null(next),
        created,
        Value::Null,
        Value::Null,
        text(vars::collation_name(info.definition.collation)),
        Value::Null,
        text(create_options(info)),
        found.as_ref().map_or_else(text, |_| text(&info.definition.comment)),
    ]
}

fn create_options(info: &TableInfo) -> String {
    let of = |option: TableOption| {
        let value = info.definition.options.get(option)?;
        // MySQL writes the name of this one in capitals.
        Some(match option {
            TableOption::KeyBlockSize => format!("KEY_BLOCK_SIZE={value}"),
            _ => format!("{}={value}", option.name()),
        })
    };
    let mut options: Vec<String> = TableOption::ALL.into_iter().filter_map(of).collect();
    // Above all others, as MySQL has it.
    options.extend((!info.definition.partitioning.is_empty()).then(|| "partitioned".to_owned()));
    options.join(" ")
}

/// Name of a type without its lengths.
pub(super) fn data_type(declared: &str) -> &str {
    let end = declared.find(['(', ' ']).unwrap_or(declared.len());
    &declared[..end]
}

/// Default of a column as text; NULL if it has none.
fn default_text(m: &Making<'_, '_>, column: &ColumnInfo) -> Value<'static> {
    match &column.default {
        DefaultValue::None | DefaultValue::Null => Value::Null,
        // The empty default of a BLOB or TEXT is not named.
        DefaultValue::Stored(stored) if stored.is_empty() && column.sql_type().kind.is_blob() => Value::Null,
        DefaultValue::Now => match column.sql_type().decimals {
            0 => text("CURRENT_TIMESTAMP"),
            n => text(format!("CURRENT_TIMESTAMP({n})")),
        },
        DefaultValue::Text(expression) => text(escaped(expression)),
        DefaultValue::Stored(stored) => {
            let value = column.ty.decode(Some(stored), &m.state().vars.time_zone);
            if let Value::Bit { value, .. } = value {
                return text(format!("b'{value:b}'"));
            }
            let bytes = value.to_text(column.sql_type());
            // Names and texts of this database are utf8.
            let collation = column.sql_type().collation;
            match vaquita_engine::lower::charset::Charset::of_collation(collation)
                .and_then(|c| c.decode(&bytes))
            {
                Some(decoded) => text(decoded.as_bytes()),
                None => text(bytes),
            }
        }
    }
}

fn key_text(column: &ColumnInfo) -> &'static str {
    if column.flags & flag::PRI_KEY != 0 {
        "PRI"
    } else if column.flags & flag::UNIQUE_KEY != 0 {
        "UNI"
    } else if column.flags & flag::MULTIPLE_KEY != 0 {
        "MUL"
    } else {
        ""
    }
}

fn extra_text(column: &ColumnInfo) -> String {
    let invisible = if column.invisible { " INVISIBLE" } else { "" };
    if column.auto_increment {
        return format!("auto_increment{invisible}");
    }
    let how = match &column.generated {
        Some(generated) if generated.stored => "STORED GENERATED",
        Some(_) => "VIRTUAL GENERATED",
        None if column.has_default_expression() => "DEFAULT_GENERATED",
        None => "",
    };
    let on_update = match (column.on_update_now, column.sql_type().decimals) {
        (false, _) => String::new(),
        (true, 0) => "on update CURRENT_TIMESTAMP".to_owned(),
        (true, n) => format!("on update CURRENT_TIMESTAMP({n})"),
    };
    format!("{how} {on_update}").trim().to_owned()
        + if how.is_empty() && on_update.is_empty() { invisible.trim() } else { invisible }
}

/// Numbers of a type: characters, bytes, digits, decimals, digits of the second.
pub(super) fn measures(ty: &SqlType) -> [Value<'static>; 5] {
    let mut out = [const { Value::Null }; 5];
    let set = |at: usize, n: u64, out: &mut [Value<'static>; 5]| out[at] = Value::UInt(n);
    let charset = vaquita_engine::lower::charset::Charset::of_collation(ty.collation);
    let width = || charset.map_or(1, |c| u64::from(c.mb_max_len));
    match ty.kind {
        Kind::TinyInt => set(2, 3, &mut out),
        Kind::SmallInt => set(2, 5, &mut out),
        Kind::MediumInt => set(2, 7, &mut out),
        Kind::Int => set(2, 10, &mut out),
        Kind::BigInt => set(2, if ty.unsigned { 20 } else { 19 }, &mut out),
        Kind::Decimal => {
            set(2, ty.length.into(), &mut out);
            set(3, ty.decimals.into(), &mut out);
        }
        Kind::Float | Kind::Double if ty.decimals != vaquita_types::sql_type::NOT_FIXED => {
            set(2, ty.length.into(), &mut out);
            set(3, ty.decimals.into(), &mut out);
        }
        Kind::Float => set(2, 12, &mut out),
        Kind::Double => set(2, 22, &mut out),
        Kind::Bit => set(2, ty.length.into(), &mut out),
        Kind::Char | Kind::VarChar => {
            set(0, ty.length.into(), &mut out);
            set(1, u64::from(ty.length) * width(), &mut out);
        }
        Kind::TinyText | Kind::Text | Kind::MediumText | Kind::LongText => {
            let bytes = match ty.kind {
                Kind::TinyText => 0xFF,
                Kind::Text => 0xFFFF,
                Kind::MediumText => 0xFF_FFFF,
                _ => 0xFFFF_FFFF,
            };
            set(0, bytes / charset.map_or(1, |c| u64::from(c.mb_min_len).max(1)), &mut out);
            set(1, bytes, &mut out);
        }
        Kind::Enum | Kind::Set => {
            // Labels are in the character set of the column.
            let length = |label: &[u8]| match charset.and_then(|c| c.decode(label)) {
                Some(label) => label.chars().count() as u64,
                None => label.len() as u64,
            };
            let lengths = ty.labels.iter().flat_map(|l| l.iter()).map(|l| length(l));
            let chars = match ty.kind {
                Kind::Enum => lengths.max().unwrap_or(0),
                _ => lengths.clone().sum::<u64>() + (lengths.count() as u64).saturating_sub(1),
            };
            set(0, chars, &mut out);
            set(1, chars * width(), &mut out);
        }
        Kind::Time | Kind::DateTime | Kind::Timestamp => set(4, ty.decimals.into(), &mut out),
        Kind::Null | Kind::Year | Kind::Date | Kind::Json | Kind::Geometry => {}
    }
    if ty.kind.is_integer() && ty.kind != Kind::Year {
        out[3] = Value::UInt(0);
    }
    out
}

pub(super) fn columns(m: &mut Making<'_, '_>) -> SqlResult<()> {
    for database in virtual_databases(m, 1) {
        virtual_columns(m, database);
    }
    for info in m.tables(1, 2)? {
        for (at, column) in info.shown_columns() {
            let ty = column.sql_type();
            let is_text = (ty.kind.is_string() || matches!(ty.kind, Kind::Enum | Kind::Set))
                && ty.collation != vaquita_types::sql_type::BINARY;
            let [chars, bytes, digits, scale, seconds] = measures(ty);
            let privileges = privileges_text(m, &info, &column.name);
            // A column that one may do nothing to is not told of.
            if privileges.is_empty() {
                continue;
            }
            m.push(vec![
                text("def"),
                text(&info.definition.database),
                text(&info.definition.name),
                text(&column.name),
                Value::UInt(at as u64 + 1),
                default_text(m, column),
                yes_no(column.is_nullable()),
                text(data_type(&column.declared())),
                chars,
                bytes,
                digits,
                scale,
                seconds,
                text_or_null(is_text.then(|| vars::charset_name(ty.collation))),
                text_or_null(is_text.then(|| vars::collation_name(ty.collation))),
                text(&*column.declared()),
                text(key_text(column)),
                text(extra_text(column)),
                text(privileges),
                text(&column.comment),
                text(column.generated.as_ref().map_or_else(String::new, |g| escaped(&g.clause))),
            ]);
        }
    }
    super::schema_views::columns(m)
}

fn virtual_columns(m: &mut Making<'_, '_>, database: &str) {
    let one = m.wanted.text(2).map(|name| String::from_utf8_lossy(name).into_owned());
    for table in super::making::tables_of(database) {
        let is_other = one.as_ref().is_some_and(|one| !one.eq_ignore_ascii_case(table.name()));
        if is_other || !vaquita_catalog::is_for_everybody(database) && !m.may_use(database, table.name()) {
            continue;
        }
        for (at, (name, declared)) in table.declared().iter().enumerate() {
            let ty = super::making::parse_type(declared);
            let declared = &*super::making::as_sql(declared);
            let [chars, bytes, digits, scale, seconds] = measures(&ty);
            let is_text = ty.kind.is_string() || ty.kind == Kind::Enum;
            let default = match (ty.nullable, is_text) {
                (true, _) => Value::Null,
                (false, true) if ty.kind == Kind::LongText => Value::Null,
                (false, true) => text(""),
                (false, false) => match (ty.kind, ty.decimals) {
                    (Kind::DateTime, _) => text("0000-00-00 00:00:00"),
                    (Kind::Decimal, decimals) if decimals > 0 => {
                        text(format!("0.{}", "0".repeat(decimals.into())))
                    }
                    _ => text("0"),
                },
            };
            m.push(vec![
                text("def"),
                text(database),
                text(table.name()),
                text(name),
                Value::UInt(at as u64 + 1),
                default,
                yes_no(ty.nullable),
                text(data_type(declared)),
                chars,
                bytes,
                digits,
                scale,
                seconds,
                text_or_null(is_text.then_some("utf8")),
                text_or_null(is_text.then_some("utf8_general_ci")),
                text(declared),
                text(""),
                text(""),
                text("select"),
                text(""),
                text(""),
            ]);
        }
    }
}

fn privileges_text(m: &Making<'_, '_>, info: &TableInfo, column: &str) -> String {
    // What a temporary table is to its session.
    let own = Priv::SELECT | Priv::INSERT | Priv::UPDATE | Priv::REFERENCES;
    let has = if info.table.is_temporary() { own } else { Priv::NONE };
    privileges_on(m, (&info.definition.database, &info.definition.name), column, has)
}

/// What the session may do to a column of a table or view, which it `has` some privileges on besides.
pub(super) fn privileges_on(
    m: &Making<'_, '_>,
    (database, table): (&str, &str),
    column: &str,
    mut has: Priv,
) -> String {
    let privileges = &m.state().privileges;
    has |= privileges.global | privileges.in_database(database);
    if let Some(grant) = privileges.on_table(database, table) {
        has |= grant.privileges;
        let of_column = grant.columns.iter().find(|(name, _)| name.eq_ignore_ascii_case(column));
        has |= of_column.map_or(Priv::NONE, |(_, p)| *p);
    }
    (has & Priv::COLUMN).names().map(str::to_lowercase).collect::<Vec<_>>().join(",")
}

pub(super) fn statistics(m: &mut Making<'_, '_>) -> SqlResult<()> {
    for info in m.tables(1, 2)? {
        let known = statistics_of(m, &info).ok().flatten();
        for key in &info.definition.keys {
            let tree = info.keys.iter().find(|k| Arc::ptr_eq(&k.definition, key));
            for (at, part) in key.parts.iter().enumerate() {
                let row = statistics_row(&info, key, (at, part), tree, known.as_deref());
                m.push(row);
            }
        }
    }
    Ok(())
}

/// A part of a key; without a tree if the engine keeps none (FULLTEXT).
fn statistics_row(
    info: &TableInfo,
    key: &KeyDefinition,
    (at, part): (usize, &KeyPart),
    tree: Option<&KeyInfo>,
    known: Option<&Statistics>,
) -> Cells {
    let words = key.kind == KeyKind::FullText;
    let distinct = match tree {
        Some(tree) => known.and_then(|s| s.indexes.get(tree.index)?.distinct.get(at).copied()),
        None => known.map(|s| s.rows),
    };
    let column = info.definition.key_column(&part.column).map(|at| &info.columns[at]);
    let name = column.map_or(&part.column, |column| &column.name);
    vec![
        text("def"),
        text(&info.definition.database),
        text(&info.definition.name),
        Value::UInt(u64::from(!key.is_unique())),
        text(&info.definition.database),
        text(&key.name),
        Value::UInt(at as u64 + 1),
        if column.is_some_and(|column| column.functional) { Value::Null } else { text(name) },
        if words { Value::Null } else { text(if part.descending { "D" } else { "A" }) },
        number_or_null(distinct),
        number_or_null(part.prefix.map(u64::from)),
        Value::Null,
        text(if column.is_some_and(ColumnInfo::is_nullable) { "YES" } else { "" }),
        text(if words { "FULLTEXT" } else { "BTREE" }),
        text(""),
        text(&key.comment),
    ]
}

fn plain(name: &str) -> String {
    filename::decode(name).unwrap_or_else(|| name.to_owned())
}

/// Constraint's name without its database.
fn constraint_name(key: &ForeignKey) -> &str {
    key.id.split_once('/').map_or(&key.id, |(_, name)| name)
}

fn foreign_keys(info: &TableInfo) -> Vec<Arc<ForeignKey>> {
    let mut keys = info.table.foreign_keys.clone();
    keys.sort_by(|a, b| a.id.cmp(&b.id));
    keys
}

fn parent(key: &ForeignKey) -> (String, String) {
    let (database, table) = key.parent.split_once('/').unwrap_or(("", &key.parent));
    (plain(database), plain(table))
}

pub(super) fn key_column_usage(m: &mut Making<'_, '_>) -> SqlResult<()> {
    for info in m.tables(4, 5)? {
        for key in info.keys.iter().filter(|k| k.is_unique()) {
            let columns = key.parts.iter().enumerate();
            for (at, part) in columns.filter(|(_, part)| !info.columns[part.column].functional) {
                m.push(vec![
                    text("def"),
                    text(&info.definition.database),
                    text(&key.name),
                    text("def"),
                    text(&info.definition.database),
                    text(&info.definition.name),
                    text(&info.columns[part.column].name),
                    Value::UInt(at as u64 + 1),
                    Value::Null,
                    Value::Null,
                    Value::Null,
                    Value::Null,
                ]);
            }
        }
        for key in foreign_keys(&info) {
            let (parent_database, parent_table) = parent(&key);
            for (at, (child, referenced)) in key.child_columns.iter().zip(&key.parent_columns).enumerate() {
                m.push(vec![
                    text("def"),
                    text(&info.definition.database),
                    text(constraint_name(&key)),
                    text("def"),
                    text(&info.definition.database),
                    text(&info.definition.name),
                    text(child),
                    Value::UInt(at as u64 + 1),
                    Value::UInt(at as u64 + 1),
                    text(&parent_database),
                    text(&parent_table),
                    text(referenced),
                ]);
            }
        }
    }
    Ok(())
}

pub(super) fn table_constraints(m: &mut Making<'_, '_>) -> SqlResult<()> {
    for info in m.tables(3, 4)? {
        let mut push = |name: &str, kind: &str| {
            m.rows.push(vec![
                text("def"),
                text(&info.definition.database),
                text(name),
                text(&info.definition.database),
                text(&info.definition.name),
                text(kind),
            ]);
        };
        for key in info.keys.iter().filter(|k| k.is_unique()) {
            push(&key.name, if key.is_primary() { "PRIMARY KEY" } else { "UNIQUE" });
        }
        for key in foreign_keys(&info) {
            push(constraint_name(&key), "FOREIGN KEY");
        }
        for check in &info.definition.checks {
            push(&check.name, "CHECK");
        }
    }
    Ok(())
}

pub(super) fn check_constraints(m: &mut Making<'_, '_>) -> SqlResult<()> {
    for info in m.tables(1, usize::MAX)? {
        for check in &info.definition.checks {
            m.rows.push(vec![
                text("def"),
                text(&info.definition.database),
                text(&check.name),
                text(escaped(&check.clause)),
            ]);
        }
    }
    Ok(())
}

/// The text of an expression as later servers show it: within a string, though without its quotes.
fn escaped(expression: &str) -> String {
    let mut quoted = String::new();
    vaquita_parser::push_quoted(expression, &mut quoted);
    quoted[1..quoted.len() - 1].to_owned()
}

fn rule(action: ReferentialAction) -> &'static str {
    match action {
        ReferentialAction::Restrict => "RESTRICT",
        ReferentialAction::NoAction => "NO ACTION",
        ReferentialAction::Cascade => "CASCADE",
        ReferentialAction::SetNull => "SET NULL",
    }
}

pub(super) fn referential_constraints(m: &mut Making<'_, '_>) -> SqlResult<()> {
    for info in m.tables(1, 9)? {
        for key in foreign_keys(&info) {
            let (parent_database, parent_table) = parent(&key);
            let core = m.db.engine.core();
            // The key of the parent that has these columns first.
            let unique = core.table(&key.parent).ok().and_then(|table| {
                let parent = m.db.catalog.info(&table).ok()?;
                let fits = |k: &&KeyInfo| {
                    k.parts.len() >= key.parent_columns.len()
                        && k.parts
                            .iter()
                            .zip(&key.parent_columns)
                            .all(|(part, name)| parent.columns[part.column].name.eq_ignore_ascii_case(name))
                };
                parent.keys.iter().find(fits).map(|k| k.name.clone())
            });
            m.push(vec![
                text("def"),
                text(&info.definition.database),
                text(constraint_name(&key)),
                text("def"),
                text(&parent_database),
                text_or_null(unique),
                text("NONE"),
                text(rule(key.on_update)),
                text(rule(key.on_delete)),
                text(&info.definition.name),
                text(&parent_table),
            ]);
        }
    }
    Ok(())
}
