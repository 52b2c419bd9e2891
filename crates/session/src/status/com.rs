//! Kinds of statements, as `Com_…` counts them.

use vaquita_parser::ast::{self, FlushWhat, MaintainAction, ProgramKind, Show, Stmt, Txn, Xa};

macro_rules! kinds {
    ($($kind:ident $name:literal;)*) => {
        /// Kind of a statement.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        #[allow(missing_docs)]
        pub enum Com {
            $($kind,)*
            /// What `Com_` has no name for.
            #[default]
            Other,
        }

        /// Names after `Com_`, by number.
        pub const COM_NAMES: &[&str] = &[$($name),*];
    };
}

kinds! {
    AlterDb "alter_db"; AlterFunction "alter_function"; AlterProcedure "alter_procedure"; AlterTable "alter_table"; AlterUser "alter_user";
    AlterUserDefaultRole "alter_user_default_role"; Analyze "analyze"; Begin "begin"; Call "call_procedure"; ChangeDb "change_db";
    Check "check"; Checksum "checksum"; Commit "commit"; CreateDb "create_db"; CreateFunction "create_function";
    CreateIndex "create_index"; CreateProcedure "create_procedure"; CreateRole "create_role"; CreateTable "create_table";
    CreateTrigger "create_trigger"; CreateUser "create_user"; CreateView "create_view"; DeallocSql "dealloc_sql"; Delete "delete";
    DeleteMulti "delete_multi"; Do "do"; DropDb "drop_db"; DropFunction "drop_function"; DropIndex "drop_index";
    DropProcedure "drop_procedure"; DropRole "drop_role"; DropTable "drop_table"; DropTrigger "drop_trigger"; DropUser "drop_user";
    DropView "drop_view"; Execute "stmt_execute"; ExecuteSql "execute_sql"; ExplainOther "explain_other"; Flush "flush";
    GetDiagnostics "get_diagnostics"; Grant "grant"; GrantRoles "grant_roles"; Insert "insert"; InsertSelect "insert_select";
    Kill "kill"; Load "load"; LockTables "lock_tables"; Optimize "optimize"; Prepare "stmt_prepare"; PrepareSql "prepare_sql";
    Release "release_savepoint"; RenameTable "rename_table"; RenameUser "rename_user"; Repair "repair"; Replace "replace";
    ReplaceSelect "replace_select"; Reset "reset"; Resignal "resignal"; Revoke "revoke"; RevokeAll "revoke_all"; RevokeRoles "revoke_roles"; Rollback "rollback";
    RollbackToSavepoint "rollback_to_savepoint"; Savepoint "savepoint"; Select "select"; SetOption "set_option"; SetRole "set_role";
    ShowCharsets "show_charsets"; ShowCollations "show_collations"; ShowCreateDb "show_create_db"; ShowCreateTable "show_create_table";
    ShowDatabases "show_databases"; ShowEngineStatus "show_engine_status"; ShowErrors "show_errors"; ShowFields "show_fields";
    ShowGrants "show_grants"; ShowKeys "show_keys"; ShowOther "show_other"; ShowPlugins "show_plugins"; ShowPrivileges "show_privileges";
    ShowProcesslist "show_processlist"; ShowStatus "show_status"; ShowStorageEngines "show_storage_engines";
    ShowTableStatus "show_table_status"; ShowTables "show_tables"; ShowTriggers "show_triggers"; ShowVariables "show_variables";
    ShowWarnings "show_warnings"; Signal "signal"; Truncate "truncate"; UnlockTables "unlock_tables"; Update "update"; UpdateMulti "update_multi";
    XaCommit "xa_commit"; XaEnd "xa_end"; XaPrepare "xa_prepare"; XaRecover "xa_recover"; XaRollback "xa_rollback"; XaStart "xa_start";
}

impl Com {
    /// Whether the statement shows diagnostics, and therefore leaves them.
    pub fn shows_warnings(self) -> bool {
        matches!(self, Com::ShowWarnings | Com::ShowErrors | Com::GetDiagnostics)
    }

    /// Whether the statement uses tables whatever else it does: the conditions of earlier ones go.
    pub fn clears_warnings(self) -> bool {
        !self.shows_warnings()
            && !matches!(
                self,
                Com::Select
                    | Com::AlterFunction
                    | Com::AlterProcedure
                    | Com::Call
                    | Com::CreateFunction
                    | Com::CreateProcedure
                    | Com::DropFunction
                    | Com::DropProcedure
                    | Com::DropTrigger
                    | Com::SetOption
                    | Com::SetRole
                    | Com::Do
                    | Com::Resignal
                    | Com::Begin
                    | Com::Commit
                    | Com::Rollback
                    | Com::RollbackToSavepoint
                    | Com::Savepoint
                    | Com::Release
                    | Com::ChangeDb
                    | Com::Prepare
                    | Com::PrepareSql
                    | Com::Execute
                    | Com::ExecuteSql
                    | Com::DeallocSql
                    | Com::Kill
                    | Com::Other
            )
    }

    /// Whether the slow query log leaves the statement out unless `log_slow_admin_statements` is on.
    pub fn is_administrative(self) -> bool {
        matches!(
            self,
            Com::AlterTable
                | Com::Analyze
                | Com::Check
                | Com::CreateIndex
                | Com::DropIndex
                | Com::Optimize
                | Com::Repair
        )
    }

    /// Kind of a statement.
    pub fn of(stmt: &Stmt<'_>) -> Com {
        match stmt {
            Stmt::Query(_) => Com::Select,
            Stmt::Insert(insert) => {
                match (insert.replace, matches!(insert.source, ast::InsertSource::Query(_))) {
                    (false, false) => Com::Insert,
                    (false, true) => Com::InsertSelect,
                    (true, false) => Com::Replace,
                    (true, true) => Com::ReplaceSelect,
                }
            }
            Stmt::Update(update) => {
                if update.is_multi_table() {
                    Com::UpdateMulti
                } else {
                    Com::Update
                }
            }
            Stmt::Delete(delete) => {
                if delete.targets.is_empty() {
                    Com::Delete
                } else {
                    Com::DeleteMulti
                }
            }
            Stmt::LoadData(_) => Com::Load,
            Stmt::Do(_) => Com::Do,
            Stmt::CreateTable(_) => Com::CreateTable,
            Stmt::AlterTable(_) => Com::AlterTable,
            Stmt::DropTable(_) => Com::DropTable,
            Stmt::Truncate(_) => Com::Truncate,
            Stmt::RenameTables(_) => Com::RenameTable,
            Stmt::CreateIndex(_) => Com::CreateIndex,
            Stmt::DropIndex(_) => Com::DropIndex,
            Stmt::CreateDatabase(_) => Com::CreateDb,
            Stmt::AlterDatabase(_) => Com::AlterDb,
            Stmt::DropDatabase(_) => Com::DropDb,
            Stmt::CreateView(_) => Com::CreateView,
            Stmt::DropView(_) => Com::DropView,
            Stmt::Txn(txn) => Com::of_txn(txn),
            Stmt::Set(_) => Com::SetOption,
            Stmt::Use(_) => Com::ChangeDb,
            Stmt::Show(show) => Com::of_show(show),
            Stmt::Explain(_) => Com::ExplainOther,
            Stmt::Prepare(_) => Com::PrepareSql,
            Stmt::Execute(_) => Com::ExecuteSql,
            Stmt::Deallocate(_) => Com::DeallocSql,
            Stmt::Maintain(maintain) if maintain.partitions.is_some() => Com::AlterTable,
            Stmt::Maintain(maintain) => match maintain.action {
                MaintainAction::Analyze => Com::Analyze,
                MaintainAction::Check => Com::Check,
                MaintainAction::Optimize => Com::Optimize,
                MaintainAction::Repair => Com::Repair,
                MaintainAction::Checksum => Com::Checksum,
            },
            Stmt::Kill(_) => Com::Kill,
            Stmt::Flush(flush) => match flush.what {
                FlushWhat::Tables { .. } | FlushWhat::Options(_) => Com::Flush,
            },
            Stmt::Reset(_) => Com::Reset,
            Stmt::CreateUser(create) => {
                if create.alter {
                    Com::AlterUser
                } else {
                    Com::CreateUser
                }
            }
            Stmt::DropUser(_) => Com::DropUser,
            Stmt::RenameUsers(_) => Com::RenameUser,
            Stmt::Grant(grant) => match (grant.revoke, grant.what) {
                (false, _) => Com::Grant,
                (true, ast::GrantWhat::Everything) => Com::RevokeAll,
                (true, _) => Com::Revoke,
            },
            Stmt::Role(role) => match role {
                ast::RoleStmt::Create { .. } => Com::CreateRole,
                ast::RoleStmt::Drop { .. } => Com::DropRole,
                ast::RoleStmt::Grant { .. } => Com::GrantRoles,
                ast::RoleStmt::Revoke { .. } => Com::RevokeRoles,
                ast::RoleStmt::Set(_) => Com::SetRole,
                ast::RoleStmt::SetDefault { .. } => Com::AlterUserDefaultRole,
            },
            Stmt::Call(_) => Com::Call,
            Stmt::Signal(signal) => match signal.again {
                true => Com::Resignal,
                false => Com::Signal,
            },
            Stmt::GetDiagnostics(_) => Com::GetDiagnostics,
            Stmt::CreateProgram(program) => match program.kind {
                ProgramKind::Procedure => Com::CreateProcedure,
                ProgramKind::Function => Com::CreateFunction,
                ProgramKind::Trigger => Com::CreateTrigger,
                ProgramKind::Event => Com::Other,
            },
            Stmt::DropProgram(program) => match program.kind {
                ProgramKind::Procedure => Com::DropProcedure,
                ProgramKind::Function => Com::DropFunction,
                ProgramKind::Trigger => Com::DropTrigger,
                ProgramKind::Event => Com::Other,
            },
            Stmt::AlterProgram(program) => match program.function {
                true => Com::AlterFunction,
                false => Com::AlterProcedure,
            },
            Stmt::CreateTablespace(_)
            | Stmt::ImportTables(_)
            | Stmt::DropTablespace(_)
            | Stmt::AlterEvent(_)
            | Stmt::Handler(_)
            | Stmt::Help(_)
            | Stmt::Shutdown
            | Stmt::Empty
            | Stmt::Unsupported { .. } => Com::Other,
        }
    }

    fn of_txn(txn: &Txn<'_>) -> Com {
        match txn {
            Txn::Start { .. } => Com::Begin,
            Txn::Commit(_) => Com::Commit,
            Txn::Rollback(_) => Com::Rollback,
            Txn::RollbackTo(_) => Com::RollbackToSavepoint,
            Txn::Savepoint(_) => Com::Savepoint,
            Txn::Release(_) => Com::Release,
            Txn::Set { .. } => Com::SetOption,
            Txn::LockTables(_) => Com::LockTables,
            Txn::UnlockTables => Com::UnlockTables,
            Txn::Xa(xa) => match xa {
                Xa::Start { .. } => Com::XaStart,
                Xa::End { .. } => Com::XaEnd,
                Xa::Prepare(_) => Com::XaPrepare,
                Xa::Commit { .. } => Com::XaCommit,
                Xa::Rollback(_) => Com::XaRollback,
                Xa::Recover { .. } => Com::XaRecover,
            },
        }
    }

    fn of_show(show: &Show<'_>) -> Com {
        match show {
            Show::Databases(_) => Com::ShowDatabases,
            Show::Tables { .. } => Com::ShowTables,
            Show::TableStatus { .. } => Com::ShowTableStatus,
            Show::Columns { .. } => Com::ShowFields,
            Show::Index { .. } => Com::ShowKeys,
            Show::Triggers { .. } => Com::ShowTriggers,
            Show::CreateTable(_) => Com::ShowCreateTable,
            Show::CreateDatabase { .. } => Com::ShowCreateDb,
            Show::Variables { .. } => Com::ShowVariables,
            Show::Status { .. } => Com::ShowStatus,
            Show::Warnings(_) | Show::CountWarnings => Com::ShowWarnings,
            Show::Errors(_) | Show::CountErrors => Com::ShowErrors,
            Show::Processlist { .. } => Com::ShowProcesslist,
            Show::Engines => Com::ShowStorageEngines,
            Show::Engine { .. } => Com::ShowEngineStatus,
            Show::CharacterSet(_) => Com::ShowCharsets,
            Show::Collation(_) => Com::ShowCollations,
            Show::Grants { .. } => Com::ShowGrants,
            Show::Privileges => Com::ShowPrivileges,
            Show::Plugins => Com::ShowPlugins,
            _ => Com::ShowOther,
        }
    }
}
