//! `.TRG` and `.TRN` files of triggers in folders that a MySQL server made, which goes by them. What they say of a trigger is made of
//! what is kept of it (`vaquita_catalog::trigger`), byte for byte as MySQL 5.6 would write it; what that does not know is refused by name.

use super::server_files::{are_kept, refused};
use super::view_files::later_word;
use crate::routine::{event_name, property};
use crate::statement::StmtCx;
use bumpalo::Bump;
use vaquita_catalog::frm::write::LATER_COLLATIONS;
use vaquita_catalog::{ObjectBody, error, sql_name, trigger};
use vaquita_engine::lower::charset::Charset;
use vaquita_engine::lower::frm::Unwritable;
use vaquita_engine::lower::trg::ServerTrigger;
use vaquita_engine::lower::{collation, filename};
use vaquita_engine::{Object, ObjectKind};
use vaquita_parser::ast::{Span, Stmt};
use vaquita_session::vars;
use vaquita_types::sql_mode::SqlMode;
use vaquita_types::{SqlError, SqlResult};

/// Words of statements that came after MySQL 5.6, besides those of queries.
const LATER: [&str; 6] = ["json", "lateral", "nowait", "recursive", "skip", "stacked"];

/// Whether the triggers of a table can change: the server has none of it that are not known here.
///
/// # Errors
/// 1235 names the table.
pub(crate) fn check_table(cx: &StmtCx<'_>, engine_name: &str) -> SqlResult<()> {
    if !error::of_engine(cx.db.engine().core().has_server_triggers(engine_name))? {
        return Ok(());
    }
    let (database, table) = sql_name(engine_name);
    Err(SqlError::unsupported(&format!(
        "changing triggers of `{database}`.`{table}`, whose triggers a MySQL server keeps"
    )))
}

/// Lets the server know of a new trigger, if one made the folder. `is_placed`: it says before or behind which other it stands.
///
/// # Errors
/// 1235 names what the server cannot be told.
pub(crate) fn tell(
    cx: &StmtCx<'_>,
    object: &mut Object,
    body: &mut ObjectBody,
    (is_placed, if_not_exists): (bool, bool),
) -> SqlResult<()> {
    if !are_kept(cx) {
        return Ok(());
    }
    if is_placed {
        return Err(refused(&Unwritable("a second trigger of the same moment".into())));
    }
    if filename::encode(&object.name).is_err() {
        return Err(refused(&Unwritable(format!("a trigger of the name '{}'", object.name))));
    }
    if let Some(what) = unknown(body) {
        return Err(refused(&Unwritable(what)));
    }
    if if_not_exists {
        let (timing, event) = (body.get(property::TIMING), body.get(property::EVENT));
        let head = format!("TRIGGER {} {timing} {event} ", trigger::quoted(&object.name, body.sql_mode));
        body.set(property::HEAD, head);
    }
    trigger::tell(body);
    object.body = body.encode();
    // What the server reads is to be the trigger that was made here.
    let told = trigger::server_trigger(object, body);
    let table = object.table_name().unwrap_or_default();
    match read(&table, &told) {
        Ok(read) if read.name == object.name && ObjectBody::of(&read)?.text == body.text => Ok(()),
        _ => Err(refused(&Unwritable("the text of this trigger".into()))),
    }
}

/// What a server of 5.6 does not know of a trigger, if there is something.
fn unknown(body: &ObjectBody) -> Option<String> {
    let later = [body.client_collation, body.connection_collation, body.database_collation]
        .into_iter()
        .find(|collation| *collation >= LATER_COLLATIONS);
    if let Some(collation) = later {
        return Some(format!("a trigger of collation {}", vars::collation_name(collation)));
    }
    let text = body.text.to_lowercase();
    let mode =
        vars::parse_mode(vars::for_parser(SqlMode(body.sql_mode)), Charset::UTF8MB4.default_collation());
    let words = vaquita_parser::words(&text, mode);
    let word = words.iter().copied().find(|word| LATER.contains(word)).or_else(|| later_word(&words));
    word.map(|word| format!("{} in a trigger", word.to_uppercase()))
}

/// What the server has of a trigger, as it is kept here. The table's name is the engine's.
///
/// # Errors
/// It cannot be read, or would not be written again as it is.
pub(crate) fn read(table: &str, told: &ServerTrigger) -> SqlResult<Object> {
    let connection = collation_of(&told.connection_collation)?;
    let database = collation_of(&told.database_collation)?;
    let charset = Charset::by_name(&told.client_charset)
        .ok_or_else(|| bad(format!("character set {} is not known", told.client_charset)))?;
    let definer = told.definer.rsplit_once('@').ok_or_else(|| bad("one has no definer"))?;
    let mut body = ObjectBody {
        definer: (definer.0.to_owned(), definer.1.to_owned()),
        sql_mode: told.sql_mode,
        client_collation: charset.default_collation(),
        connection_collation: connection,
        database_collation: database,
        ..ObjectBody::default()
    };
    // The definer is in UTF-8 whatever the rest is in.
    let sent = told.statement.strip_prefix(trigger::create_head(&body).as_bytes());
    let text = sent.map_or_else(|| told.statement.clone(), |sent| [b"CREATE ", sent].concat());
    let arena = Bump::new();
    let mode = vars::parse_mode(vars::for_parser(SqlMode(body.sql_mode)), body.client_collation);
    let parsed = vaquita_parser::parse(&text, &arena, mode).map_err(|e| bad(e.to_string()))?;
    let Stmt::CreateProgram(program) = parsed.stmt else {
        return Err(bad("the statement of one makes none"));
    };
    let head = program.trigger.as_ref().ok_or_else(|| bad("the statement of one makes none"))?;
    let decoded = |span: Span| {
        let bytes = span.of(&text);
        charset.decode(bytes).unwrap_or_else(|| String::from_utf8_lossy(bytes)).into_owned()
    };
    body.set_text(program.body.of(&text), decoded(program.body));
    body.set(property::TIMING, if head.before { "BEFORE" } else { "AFTER" });
    body.set(property::EVENT, event_name(head.event));
    body.set(property::ORDER, property::ONLY_PLACE);
    if sent.is_none() {
        body.set(trigger::BEFORE, String::from_utf8_lossy(&text[..head.head.start as usize]));
    }
    body.set(property::HEAD, decoded(head.head));
    body.set(property::ON, decoded(head.on));
    body.set(property::EACH, decoded(head.each));
    let named = head.table.name.to_string();
    if named == sql_name(table).1 {
        body.set(property::TABLE, named);
    }
    trigger::tell(&mut body);
    let name = program.name.name.to_string();
    let (database, table) = table.split_once('/').unwrap_or_default();
    let object = Object::new(ObjectKind::Trigger, database, name, body.encode());
    let object = Object { table: table.to_owned(), ..object };
    match trigger::server_trigger(&object, &body) == *told {
        true => Ok(object),
        false => Err(bad(format!("trigger {} cannot be kept as it is", object.name))),
    }
}

fn collation_of(name: &str) -> SqlResult<u16> {
    collation::by_name(name).ok_or_else(|| bad(format!("collation {name} is not known")))
}

fn bad(why: impl Into<String>) -> SqlError {
    SqlError::new(1105, why.into())
}
