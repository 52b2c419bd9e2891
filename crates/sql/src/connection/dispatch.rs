//! From a syntax tree to who executes it.

use super::Connection;
use crate::ddl::{Text, server_files};
use crate::program::events::Timing;
use crate::statement::{StmtCx, planning};
use vaquita_engine::{AccessMode, Standing};
use vaquita_exec::Outcome;
use vaquita_parser::ast::{self, Stmt};
use vaquita_session::names::StatementNames;
use vaquita_session::privilege::{Priv, Wanted};
use vaquita_session::sink::ResultSink;
use vaquita_types::{SqlError, SqlResult, Value, memory};

/// Statements that are not supported and would commit an open transaction.
const COMMITTING: &[&str] =
    &["CACHE INDEX", "LOAD INDEX INTO CACHE", "START SLAVE", "STOP SLAVE", "CHANGE MASTER TO"];

/// Whether a statement rolls a transaction back, commits it, which is refused where that is done, or has nothing to do with it:
/// all others are refused where a transaction cannot go on.
fn may_end_transaction(stmt: &Stmt<'_>) -> bool {
    use ast::{Show, Txn};
    match stmt {
        Stmt::Txn(txn) => !matches!(txn, Txn::Savepoint(_) | Txn::RollbackTo(_) | Txn::Release(_)),
        Stmt::Show(show) => {
            matches!(show, Show::Warnings(_) | Show::Errors(_) | Show::CountWarnings | Show::CountErrors)
        }
        Stmt::CreateTable(create) => !create.temporary,
        Stmt::DropTable(drop) => !drop.temporary,
        Stmt::Query(_)
        | Stmt::Insert(_)
        | Stmt::Update(_)
        | Stmt::Delete(_)
        | Stmt::LoadData(_)
        | Stmt::Do(_)
        | Stmt::Explain(_)
        | Stmt::Call(_)
        | Stmt::Prepare(_) => false,
        Stmt::Maintain(maintain) => maintain.action != ast::MaintainAction::Checksum,
        _ => true,
    }
}

/// Whether a definition makes, changes or drops an event.
fn is_about_event(stmt: &Stmt<'_>) -> bool {
    match stmt {
        Stmt::CreateProgram(program) => program.event.is_some(),
        Stmt::DropProgram(drop) => drop.kind == ast::ProgramKind::Event,
        Stmt::AlterEvent(_) => true,
        _ => false,
    }
}

impl Connection {
    /// Executes a statement that was parsed without lifting; `sql` is the text its spans point into, `params` are the values
    /// of its parameters.
    pub(super) fn dispatch(
        &mut self,
        stmt: &Stmt<'_>,
        sql: &[u8],
        params: &[Value<'_>],
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Outcome> {
        memory::check(0)?;
        if self.engine.is_doomed() && !may_end_transaction(stmt) {
            vaquita_catalog::error::of_engine(self.engine.check_sound())?;
        }
        // A procedure may hold what a function or trigger that calls it must not do.
        if self.program.inside {
            crate::program::check_called(stmt)?;
        }
        self.with_hints(stmt, |connection| connection.dispatch_one(stmt, sql, params, sink))
    }

    fn dispatch_one(
        &mut self,
        stmt: &Stmt<'_>,
        sql: &[u8],
        params: &[Value<'_>],
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Outcome> {
        match stmt {
            Stmt::Query(_) | Stmt::Insert(_) | Stmt::Update(_) | Stmt::Delete(_) => {
                self.plan_and_run(stmt, sql, params, None, sink)
            }
            Stmt::LoadData(load) => self.load_data(load, sink),
            Stmt::Do(exprs) => self.do_exprs(exprs, sql, params),
            Stmt::Explain(explain) => self.explain(explain, sql, params, sink),
            Stmt::Txn(txn) => self.txn(txn, sink),
            Stmt::Set(items) => self.set(items, sql, params),
            Stmt::Use(name) => self.use_database(&super::text_of(*name)).map(|()| Outcome::default()),
            Stmt::Show(show) => self.show(show, params, sink),
            Stmt::Prepare(prepare) => self.sql_prepare(prepare),
            Stmt::Execute(execute) => self.sql_execute(execute, sink),
            Stmt::Deallocate(name) => self.sql_deallocate(&super::text_of(*name)),
            Stmt::Kill(kill) => self.kill(kill, sql, params),
            Stmt::Flush(flush) => self.flush(flush),
            Stmt::Reset(_) => self.reset_statement(),
            Stmt::Empty => Ok(Outcome::default()),
            Stmt::Help(_) => Err(SqlError::unsupported("HELP")),
            Stmt::Shutdown => self.shutdown(),
            Stmt::Role(ast::RoleStmt::Set(choice)) => self.set_role(choice),
            Stmt::CreateUser(_)
            | Stmt::DropUser(_)
            | Stmt::RenameUsers(_)
            | Stmt::Grant(_)
            | Stmt::Role(_) => self.account_statement(stmt),
            Stmt::Maintain(maintain) if maintain.action == ast::MaintainAction::Checksum => {
                self.checksum(maintain, sink)
            }
            // These are no part of what definitions commit.
            Stmt::CreateTable(create) if create.temporary => {
                let before = self.engine.temporary_generation();
                let done = self.define_in_transaction(stmt, sql, params)?;
                self.transaction.temporaries.created |= before != self.engine.temporary_generation();
                Ok(done)
            }
            Stmt::DropTable(drop) if drop.temporary => {
                let before = self.engine.temporary_generation();
                let done = self.define_in_transaction(stmt, sql, params);
                self.transaction.temporaries.dropped |= before != self.engine.temporary_generation();
                done
            }
            Stmt::ImportTables(import) => self.import_tables(import, sql),
            Stmt::CreateTablespace(_) | Stmt::DropTablespace(_) => {
                self.define_in_transaction(stmt, sql, params)
            }
            Stmt::CreateTable(_)
            | Stmt::AlterTable(_)
            | Stmt::DropTable(_)
            | Stmt::Truncate(_)
            | Stmt::RenameTables(_)
            | Stmt::CreateIndex(_)
            | Stmt::DropIndex(_)
            | Stmt::CreateDatabase(_)
            | Stmt::AlterDatabase(_)
            | Stmt::DropDatabase(_)
            | Stmt::CreateView(_)
            | Stmt::DropView(_)
            | Stmt::CreateProgram(_)
            | Stmt::DropProgram(_)
            | Stmt::AlterProgram(_)
            | Stmt::AlterEvent(_)
            | Stmt::Maintain(_) => self.define(stmt, sql, params, sink),
            Stmt::Call(call) => self.call(call, sql, params, sink),
            Stmt::Signal(signal) => self.signal(signal, sql, params, &[]),
            Stmt::GetDiagnostics(get) => self.get_diagnostics(get, sql, params),
            Stmt::Handler(_) => Err(SqlError::unsupported("HANDLER")),
            Stmt::Unsupported { feature } => {
                // Those that would commit what is open do so before they are refused, as they do where they fail.
                if COMMITTING.contains(feature) {
                    self.xa.check_ddl()?;
                    self.implicit_commit()?;
                }
                Err(SqlError::unsupported(feature))
            }
        }
    }

    /// CREATE USER, GRANT and the like.
    fn account_statement(&mut self, stmt: &Stmt<'_>) -> SqlResult<Outcome> {
        self.db.accounts().check_usable()?;
        self.check_locked_definition(stmt)?;
        self.before_account_change()?;
        self.refresh_privileges();
        let done = crate::dcl::execute(&mut self.cx(), stmt)?;
        self.refresh_privileges();
        Ok(done)
    }

    /// SET ROLE: an open transaction goes on.
    fn set_role(&mut self, choice: &ast::RoleChoice<'_>) -> SqlResult<Outcome> {
        self.db.accounts().check_usable()?;
        self.state.roles = crate::dcl::chosen_roles(&self.cx(), choice)?;
        self.take_privileges();
        Ok(Outcome::default())
    }

    /// RESET: nothing of what it empties is kept here.
    fn reset_statement(&mut self) -> SqlResult<Outcome> {
        self.needs(vaquita_session::privilege::Priv::RELOAD)?;
        self.xa.check_ddl()?;
        self.implicit_commit()?;
        Ok(Outcome::default())
    }

    /// Definitions of what is no part of the folder: an open transaction goes on.
    fn define_in_transaction(
        &mut self,
        stmt: &Stmt<'_>,
        sql: &[u8],
        params: &[Value<'_>],
    ) -> SqlResult<Outcome> {
        self.check_unique_names(stmt)?;
        let wanted = self.wanted_of_definition(stmt);
        self.check_wanted(&wanted)?;
        let types = self.types_of_columns(params);
        let nested = self.engine.set_nested(self.is_part());
        let done = crate::ddl::execute(&mut self.cx(), stmt, &Text { sql, params, types: &types });
        self.engine.set_nested(nested);
        self.state.names = StatementNames::default();
        done
    }

    /// CHECKSUM TABLE reads rows as SELECT does, in the transaction.
    fn checksum(&mut self, maintain: &ast::Maintain<'_>, sink: &mut dyn ResultSink) -> SqlResult<Outcome> {
        self.check_unique_names(&Stmt::Maintain(maintain))?;
        let wanted = self.wanted_of_definition(&Stmt::Maintain(maintain));
        self.check_wanted(&wanted)?;
        self.xa.check_statement()?;
        self.in_statement(|connection| {
            connection.state.give_way();
            crate::maintain::maintain(&mut connection.cx(), maintain, Vec::new(), sink)
        })
    }

    /// Definitions: what is open is committed before and after.
    fn define(
        &mut self,
        stmt: &Stmt<'_>,
        sql: &[u8],
        params: &[Value<'_>],
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Outcome> {
        self.define_with(stmt, sql, params, |connection, timing| match stmt {
            Stmt::Maintain(maintain) => {
                let refused = connection.refused_by_locks(maintain);
                crate::maintain::maintain_aside(&mut connection.cx(), maintain, refused, sink)
            }
            Stmt::CreateProgram(_) | Stmt::DropProgram(_) | Stmt::AlterProgram(_) | Stmt::AlterEvent(_) => {
                crate::program::execute(&mut connection.cx(), stmt, sql, timing)
            }
            _ => {
                let types = connection.types_of_columns(params);
                crate::ddl::execute(&mut connection.cx(), stmt, &Text { sql, params, types: &types })
            }
        })
    }

    /// A definition that is made in another way: what is open is committed before and after.
    pub(super) fn define_with(
        &mut self,
        stmt: &Stmt<'_>,
        sql: &[u8],
        params: &[Value<'_>],
        make: impl FnOnce(&mut Connection, Option<&Timing>) -> SqlResult<Outcome>,
    ) -> SqlResult<Outcome> {
        self.check_unique_names(stmt)?;
        let wanted = self.wanted_of_definition(stmt);
        self.check_wanted(&wanted)?;
        if !matches!(stmt, Stmt::Maintain(maintain) if maintain.action == ast::MaintainAction::Check) {
            self.check_read_only()?;
        }
        self.check_folder_for(stmt)?;
        self.check_server_files(stmt, &wanted)?;
        self.check_log_definitions(stmt, &wanted)?;
        self.check_locked_definition(stmt)?;
        // An open transaction is committed first, so what counts is the session's own mode.
        if self.engine.settings.access == AccessMode::ReadOnly && !matches!(stmt, Stmt::Maintain(_)) {
            return Err(SqlError::new(1792, "Cannot execute statement in a READ ONLY transaction."));
        }
        self.xa.check_ddl()?;
        self.implicit_commit()?;
        let timing = self.timing_of(stmt, sql, params)?;
        // CHECK TABLE and its kin read, but for the one that writes tables anew.
        let reads = matches!(stmt, Stmt::Maintain(m) if m.action != ast::MaintainAction::Optimize);
        if !reads {
            vaquita_catalog::error::of_engine(self.engine.begin_change())?;
        }
        // Definitions wait for syncs, build indexes, copy tables.
        self.state.give_way();
        let done = make(self, timing.as_ref());
        self.state.names = StatementNames::default();
        // Whatever was done of it, plans of the old definitions are of no use.
        if is_about_event(stmt) {
            // No plan uses one.
        } else if wanted.is_empty() || wanted.iter().any(|w| w.table.is_empty()) {
            self.db.plans.clear();
        } else {
            self.db
                .plans
                .forget(|of_plan| wanted.iter().any(|w| w.is_of_table(&of_plan.database, &of_plan.table)));
        }
        let done = done?;
        if let Stmt::DropTable(drop) = stmt {
            self.unlock_dropped(drop.names)?;
        }
        if let Stmt::DropDatabase(drop) = stmt {
            self.database_dropped(&super::text_of(drop.name));
        }
        self.implicit_commit()?;
        Ok(done)
    }

    /// Whether a definition cannot be changed because the folder is open for reading only. Others than these find out themselves.
    fn check_folder_for(&self, stmt: &Stmt<'_>) -> SqlResult<()> {
        match (stmt, self.check_folder()) {
            (Stmt::Truncate(table), Err(_)) => {
                Err(SqlError::new(1036, format!("Table '{}' is read only", super::text_of(table.name))))
            }
            (Stmt::AlterTable(_) | Stmt::CreateIndex(_) | Stmt::DropIndex(_), refused) => refused,
            _ => Ok(()),
        }
    }

    /// Tables of the logs stay as they are while statements go there.
    ///
    /// # Errors
    /// 1580.
    fn check_log_definitions(&self, stmt: &Stmt<'_>, wanted: &[Wanted]) -> SqlResult<()> {
        let what = match stmt {
            Stmt::AlterTable(_) | Stmt::CreateIndex(_) | Stmt::DropIndex(_) => "ALTER",
            Stmt::DropTable(_) => "DROP",
            Stmt::RenameTables(_) => "RENAME",
            _ => return Ok(()),
        };
        let logs = &self.db.logs;
        let used = logs.to_tables() && (logs.general_on() || logs.slow_on());
        match used && wanted.iter().any(|w| !w.own && crate::logs::is_table(&w.database, &w.table)) {
            true => {
                Err(SqlError::new(1580, format!("You cannot '{what}' a log table if logging is enabled")))
            }
            false => Ok(()),
        }
    }

    /// A MySQL server goes by its files: what is not InnoDB's is not changed, nor are tables that have triggers of it which are not known here. What changes nothing but the tablespace is none of it.
    ///
    /// # Errors
    /// 1235 names the table.
    fn check_server_files(&self, stmt: &Stmt<'_>, wanted: &[Wanted]) -> SqlResult<()> {
        let core = self.db.engine.core();
        let keeps_definition = match stmt {
            Stmt::Maintain(_) | Stmt::Truncate(_) => true,
            Stmt::AlterTable(alter) => alter.tablespace_action().is_some(),
            _ => false,
        };
        if keeps_definition {
            return Ok(());
        }
        let kept_up = core.is_folder_of_a_server();
        let changes = Priv::CREATE | Priv::CREATE_VIEW | Priv::ALTER | Priv::DROP | Priv::INDEX;
        for want in
            wanted.iter().filter(|w| !w.own && !w.table.is_empty() && (w.privileges | w.any_of).any(changes))
        {
            let Ok(name) = vaquita_catalog::engine_name(&want.database, &want.table) else { continue };
            let whole = vaquita_engine::whole_name(&name).unwrap_or(&name);
            let there = vaquita_catalog::error::of_engine(core.has_table(whole))?;
            // What makes a table that is there already says so.
            let makes = there && matches!(stmt, Stmt::CreateTable(_) | Stmt::CreateView(_));
            let standing = vaquita_catalog::error::of_engine(core.server_file_of(whole))?;
            let is_foreign = match standing {
                Standing::Nothing | Standing::View => false,
                Standing::Table if kept_up || !there => !there,
                Standing::Table => vaquita_catalog::error::of_engine(core.needs_server_file(whole))?,
                Standing::Other => true,
            };
            if is_foreign && !makes {
                return Err(server_files::is_in_one(&want.database, &want.table));
            }
            // They go with a table that is dropped.
            let drops = matches!(stmt, Stmt::DropTable(_));
            if there
                && !makes
                && !drops
                && vaquita_catalog::error::of_engine(core.has_server_triggers(whole))?
            {
                let why = "whose triggers a MySQL server keeps";
                return Err(server_files::not_changed(&want.database, &want.table, why));
            }
        }
        Ok(())
    }

    fn load_data(&mut self, load: &ast::LoadData<'_>, sink: &mut dyn ResultSink) -> SqlResult<Outcome> {
        self.check_load(load)?;
        self.xa.check_statement()?;
        self.in_statement(|connection| {
            connection.check_folder()?;
            vaquita_catalog::error::of_engine(connection.engine.begin_change())?;
            let database =
                load.table.schema.map_or_else(|| connection.state.database.clone(), super::text_of);
            let table = super::text_of(load.table.name);
            let own = vaquita_session::access::has_temporary(&connection.engine, &database, &table);
            let used = [Wanted::table(&database, &table, Priv::INSERT).of_own(own)];
            connection.using(&used, |connection| {
                vaquita_exec::dml::load_data(&mut planning(&mut connection.cx(), &[], &[], &[]), load, sink)
            })
        })
    }

    fn explain(
        &mut self,
        explain: &ast::Explain<'_>,
        sql: &[u8],
        params: &[Value<'_>],
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Outcome> {
        if explain.analyze {
            return Err(SqlError::unsupported("EXPLAIN ANALYZE"));
        }
        let types = self.param_types(params);
        self.in_statement(|connection| {
            // Whoever is told how a statement would run may run it.
            if let ast::ExplainTarget::Statement(stmt) = explain.target
                && super::text::is_planned(stmt)
            {
                let generated = connection.state.generated;
                let plan = connection.plan(stmt, sql, params, &types)?;
                connection.check_wanted(plan.plan.wants())?;
                connection.check_explained(plan.plan.wants())?;
                connection.state.generated = generated;
            }
            let mut stmt = connection.cx();
            let mut cx = planning(&mut stmt, params, &types, sql);
            let (planner, mut compile) = cx.planning();
            let rows = vaquita_plan::explain(&planner, explain, &mut compile, sink)?;
            Ok(Outcome { has_result: true, affected_rows: rows, ..Outcome::default() })
        })
    }

    fn show(
        &mut self,
        show: &ast::Show<'_>,
        params: &[Value<'_>],
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Outcome> {
        self.refresh_privileges();
        if let ast::Show::CreateTable(name) = show {
            self.check_locked_shown(name)?;
        }
        self.tell_status();
        let types = self.param_types(params);
        self.in_look(|connection| {
            let mut cx: StmtCx<'_> = connection.cx();
            crate::show::show(&mut cx, show, (params, &types), sink)
        })
    }

    /// Runs what only looks at definitions and the like: an open transaction is not touched, none is left behind.
    pub(super) fn in_look<R>(&mut self, body: impl FnOnce(&mut Connection) -> SqlResult<R>) -> SqlResult<R> {
        let look = self.engine.begin_look();
        let done = self.unless_killed(body);
        vaquita_catalog::error::of_engine(self.engine.end_look(look))?;
        done
    }
}
