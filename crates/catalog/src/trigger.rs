//! What SQL keeps of a trigger besides what all objects have, and what a MySQL server keeps of it.

use crate::names::sql_name;
use crate::object::ObjectBody;
use crate::written::name_in;
use vaquita_engine::Object;
use vaquita_engine::lower::charset::Charset;
use vaquita_engine::lower::collation;
use vaquita_engine::lower::trg::ServerTrigger;
use vaquita_types::sql_mode::SqlMode;

/// BEFORE or AFTER.
pub const TIMING: &str = "timing";
/// INSERT, UPDATE or DELETE.
pub const EVENT: &str = "event";
/// Its place among those of the same moment: digits behind a decimal point.
pub const ORDER: &str = "order";
/// What it was made with: the text from TRIGGER to what stands before ON, that of ON, that of FOR EACH ROW.
pub const HEAD: &str = "head";
/// See [`HEAD`].
pub const ON: &str = "on";
/// See [`HEAD`].
pub const EACH: &str = "each";
/// The table it was made for, as SQL calls it; nothing if [`ON`] names it in another character set.
pub const TABLE: &str = "table";
/// What stands before [`HEAD`], if that is not what [`create_head`] makes: a server writes names without quotes where it is told to.
pub const BEFORE: &str = "before";
/// A MySQL server knows of it.
const TOLD: &str = "told";

/// Whether a MySQL server is told of a trigger by the files of the folder.
pub fn is_told(body: &ObjectBody) -> bool {
    !body.get(TOLD).is_empty()
}

/// Says that it is.
pub fn tell(body: &mut ObjectBody) {
    body.set(TOLD, "1");
}

/// What stands before the words that a trigger was made with.
pub fn create_head(body: &ObjectBody) -> String {
    if !body.get(BEFORE).is_empty() {
        return body.get(BEFORE).to_owned();
    }
    let [user, host] = [&body.definer.0, &body.definer.1].map(|name| quoted(name, body.sql_mode));
    format!("CREATE DEFINER={user}@{host} ")
}

/// `ON table` of a trigger whose table has got another name.
pub fn server_on(table: &str, sql_mode: u64) -> String {
    format!("ON {} ", quoted(table, sql_mode))
}

/// A name in the quotes of names.
pub fn quoted(name: &str, sql_mode: u64) -> String {
    name_in(if SqlMode(sql_mode).has(SqlMode::ANSI_QUOTES) { '"' } else { '`' }, name)
}

/// A trigger as MySQL 5.6 has it in the `.TRG` of its table.
pub fn server_trigger(object: &Object, body: &ObjectBody) -> ServerTrigger {
    let table = object.table_name().map(|name| sql_name(&name).1).unwrap_or_default();
    let mut statement = create_head(body).into_bytes();
    statement.extend_from_slice(&body.as_sent(body.get(HEAD)));
    match body.get(TABLE) == table {
        true => statement.extend_from_slice(&body.as_sent(body.get(ON))),
        false => statement.extend_from_slice(server_on(&table, body.sql_mode).as_bytes()),
    }
    statement.extend_from_slice(&body.as_sent(body.get(EACH)));
    statement.extend_from_slice(&body.source());
    let collation_name = |number| collation::name(number).unwrap_or("binary").to_owned();
    ServerTrigger {
        statement,
        sql_mode: body.sql_mode,
        definer: format!("{}@{}", body.definer.0, body.definer.1),
        client_charset: Charset::of_any_collation(body.client_collation)
            .map_or("binary", |c| c.name)
            .to_owned(),
        connection_collation: collation_name(body.connection_collation),
        database_collation: collation_name(body.database_collation),
    }
}
