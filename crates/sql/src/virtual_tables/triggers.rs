//! Triggers.

use super::making::{Making, text};
use crate::program::triggers;
use crate::routine::property;
use std::collections::BTreeSet;
use vaquita_engine::ObjectKind;
use vaquita_session::privilege::{Priv, Wanted};
use vaquita_session::vars::{self, VarValue, id};
use vaquita_types::{SqlResult, Value};

/// TRIGGERS: those of tables on which the session has the privilege TRIGGER.
pub(super) fn triggers(m: &mut Making<'_, '_>) -> SqlResult<()> {
    let objects = m.db.engine.core().objects();
    if objects.all(ObjectKind::Trigger).next().is_none() {
        return Ok(());
    }
    for (database, file_name) in m.databases(1)? {
        let of_database = objects.list(ObjectKind::Trigger, &file_name);
        let tables: BTreeSet<String> = of_database.filter_map(|object| object.table_name()).collect();
        for table in tables {
            for listed in triggers::of_table(objects.triggers_of(&table))? {
                let want = Wanted::table(&database, &listed.table, Priv::TRIGGER);
                if !m.state().privileges.allow(&want) {
                    continue;
                }
                let body = &listed.body;
                m.push(vec![
                    text("def"),
                    text(&database),
                    text(&*listed.object.name),
                    text(body.get(property::EVENT)),
                    text("def"),
                    text(&database),
                    text(&listed.table),
                    Value::UInt(listed.place as u64),
                    Value::Null,
                    text(&body.text),
                    text("ROW"),
                    text(body.get(property::TIMING)),
                    Value::Null,
                    Value::Null,
                    text("OLD"),
                    text("NEW"),
                    // MySQL 5.6 does not know when.
                    Value::Null,
                    text(VarValue::UInt(body.sql_mode).show(id::SQL_MODE.def().kind)),
                    text(format!("{}@{}", body.definer.0, body.definer.1)),
                    text(vars::charset_name(body.client_collation)),
                    text(vars::collation_name(body.connection_collation)),
                    text(vars::collation_name(body.database_collation)),
                ]);
            }
        }
    }
    Ok(())
}
