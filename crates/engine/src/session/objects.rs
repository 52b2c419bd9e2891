//! Objects of SQL that are not tables, as a session makes them and looks them up.

use super::Session;
use crate::ddl::{self, Put};
use crate::dict::objects::{Object, ObjectKind, Objects};
use crate::error::Result;
use std::sync::Arc;

impl Session {
    /// The views, routines, triggers and events of the folder at this moment.
    pub fn objects(&self) -> Arc<Objects> {
        self.core.objects()
    }

    /// Makes an object, or puts it in the place of the one of its name, while nobody uses either it or, if it is a trigger, its
    /// table. A transaction of its own, as all changes of definitions.
    ///
    /// # Errors
    /// [`crate::Error::ObjectExists`], [`crate::Error::NoSuchObject`]; [`crate::Error::TableExists`] for a view that has the name
    /// of a table; [`crate::Error::NoSuchTable`] for a trigger of a table that is not there.
    pub fn put_object(&mut self, object: &Object, put: Put) -> Result<()> {
        self.check_changeable()?;
        let (own, table) = (object.lock_name(), object.table_name());
        let mut names = vec![own.as_str()];
        names.extend(table.as_deref());
        self.change_definition(&names, |core, trx| ddl::put_object(core, trx, object, put))
    }

    /// Puts an object in the place of another one of its kind, by database and name, which goes.
    ///
    /// # Errors
    /// [`crate::Error::NoSuchObject`]; [`crate::Error::ObjectExists`] the new name is taken.
    pub fn move_object(&mut self, from: (&str, &str), object: &Object) -> Result<()> {
        self.check_changeable()?;
        let old = object.kind.lock_name(from.0, from.1);
        let names = [old.as_str(), &object.lock_name()];
        self.change_definition(&names, |core, trx| ddl::move_object(core, trx, from, object))
    }

    /// Gives an object another body and leaves it its number; whether it is still the one of that number.
    ///
    /// # Errors
    /// It is in use for too long; errors of writing.
    pub fn update_object(&mut self, object: &Object) -> Result<bool> {
        self.check_changeable()?;
        let mut found = false;
        self.change_definition(&[&object.lock_name()], |core, trx| {
            found = ddl::update_object(core, trx, object)?;
            Ok(())
        })?;
        Ok(found)
    }

    /// Drops an object if it is still the one of that number; whether it was.
    ///
    /// # Errors
    /// It is in use for too long; errors of writing.
    pub fn drop_this_object(&mut self, object: &Object) -> Result<bool> {
        self.check_changeable()?;
        let mut found = false;
        self.change_definition(&[&object.lock_name()], |core, trx| {
            found = ddl::drop_this_object(core, trx, object)?;
            Ok(())
        })?;
        Ok(found)
    }

    /// Lets triggers be what a MySQL server has made of them, whose files say so already: all at once.
    ///
    /// # Errors
    /// They or their tables are in use for too long; one that is to go is not there; errors of writing.
    pub fn follow_server(&mut self, gone: &[Arc<Object>], made: &[Object]) -> Result<()> {
        self.check_changeable()?;
        let all = || gone.iter().map(|object| &**object).chain(made);
        let mut names: Vec<String> =
            all().map(Object::lock_name).chain(all().filter_map(Object::table_name)).collect();
        names.sort();
        names.dedup();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        self.change_definition(&names, |core, trx| ddl::follow_server(core, trx, gone, made))
    }

    /// Drops an object; whether there was one.
    ///
    /// # Errors
    /// It is in use for too long; errors of writing.
    pub fn drop_object(&mut self, kind: ObjectKind, database: &str, name: &str) -> Result<bool> {
        let own = kind.lock_name(database, name);
        let table = match kind {
            ObjectKind::Trigger => {
                self.core.objects().get(kind, database, name).and_then(|object| object.table_name())
            }
            _ => None,
        };
        let mut names = vec![own.as_str()];
        names.extend(table.as_deref());
        let mut found = false;
        self.change_definition(&names, |core, trx| {
            found = ddl::drop_object(core, trx, kind, database, name)?;
            Ok(())
        })?;
        Ok(found)
    }
}
