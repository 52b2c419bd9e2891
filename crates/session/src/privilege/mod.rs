//! Privileges: sets of them, what an account has of them, what a statement wants of them.

mod granted;
pub mod pattern;

pub use granted::{DatabaseGrant, Privileges, RoutineGrant, TableGrant};

use std::ops::{BitAnd, BitOr, BitOrAssign, Not, Sub};
use std::sync::Arc;
use vaquita_parser::ast;
use vaquita_types::SqlError;

/// One of these on a table lets somebody refer to it by a foreign key.
pub const OF_PARENTS: Priv =
    Priv(Priv::SELECT.0 | Priv::INSERT.0 | Priv::UPDATE.0 | Priv::DELETE.0 | Priv::REFERENCES.0);

/// A set of privileges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Priv(pub u64);

macro_rules! privileges {
    ($($constant:ident $ast:ident $bit:literal $column:literal $name:literal;)*) => {
        #[allow(missing_docs)]
        impl Priv {
            $(pub const $constant: Priv = Priv(1 << $bit);)*
        }

        /// Column of `mysql.user` and name in GRANT, in the order of the bits.
        pub const NAMES: &[(Priv, &str, &str)] = &[$((Priv::$constant, $column, $name),)*];

        impl From<ast::Privilege> for Priv {
            fn from(privilege: ast::Privilege) -> Priv {
                match privilege {
                    $(ast::Privilege::$ast => Priv::$constant,)*
                    ast::Privilege::Usage | ast::Privilege::Unused(_) => Priv::NONE,
                }
            }
        }
    };
}

// In the order in which SHOW GRANTS lists them.
privileges! {
    SELECT Select 0 "Select_priv" "SELECT";
    INSERT Insert 1 "Insert_priv" "INSERT";
    UPDATE Update 2 "Update_priv" "UPDATE";
    DELETE Delete 3 "Delete_priv" "DELETE";
    CREATE Create 4 "Create_priv" "CREATE";
    DROP Drop 5 "Drop_priv" "DROP";
    RELOAD Reload 6 "Reload_priv" "RELOAD";
    SHUTDOWN Shutdown 7 "Shutdown_priv" "SHUTDOWN";
    PROCESS Process 8 "Process_priv" "PROCESS";
    FILE File 9 "File_priv" "FILE";
    GRANT GrantOption 10 "Grant_priv" "GRANT OPTION";
    REFERENCES References 11 "References_priv" "REFERENCES";
    INDEX Index 12 "Index_priv" "INDEX";
    ALTER Alter 13 "Alter_priv" "ALTER";
    SHOW_DB ShowDatabases 14 "Show_db_priv" "SHOW DATABASES";
    SUPER Super 15 "Super_priv" "SUPER";
    CREATE_TMP CreateTemporaryTables 16 "Create_tmp_table_priv" "CREATE TEMPORARY TABLES";
    LOCK_TABLES LockTables 17 "Lock_tables_priv" "LOCK TABLES";
    EXECUTE Execute 18 "Execute_priv" "EXECUTE";
    REPL_SLAVE ReplicationSlave 19 "Repl_slave_priv" "REPLICATION SLAVE";
    REPL_CLIENT ReplicationClient 20 "Repl_client_priv" "REPLICATION CLIENT";
    CREATE_VIEW CreateView 21 "Create_view_priv" "CREATE VIEW";
    SHOW_VIEW ShowView 22 "Show_view_priv" "SHOW VIEW";
    CREATE_ROUTINE CreateRoutine 23 "Create_routine_priv" "CREATE ROUTINE";
    ALTER_ROUTINE AlterRoutine 24 "Alter_routine_priv" "ALTER ROUTINE";
    CREATE_USER CreateUser 25 "Create_user_priv" "CREATE USER";
    EVENT Event 26 "Event_priv" "EVENT";
    TRIGGER Trigger 27 "Trigger_priv" "TRIGGER";
    CREATE_TABLESPACE CreateTablespace 28 "Create_tablespace_priv" "CREATE TABLESPACE";
    // Of 8.0: CREATE USER is both of these.
    CREATE_ROLE CreateRole 29 "Create_role_priv" "CREATE ROLE";
    DROP_ROLE DropRole 30 "Drop_role_priv" "DROP ROLE";
    // Those that 8.0 calls dynamic, which have no columns: SUPER is all of them.
    CONNECTION_ADMIN ConnectionAdmin 32 "" "CONNECTION_ADMIN";
    FLUSH_STATUS FlushStatus 33 "" "FLUSH_STATUS";
    FLUSH_TABLES FlushTables 34 "" "FLUSH_TABLES";
    FLUSH_USER_RESOURCES FlushUserResources 35 "" "FLUSH_USER_RESOURCES";
    ROLE_ADMIN RoleAdmin 36 "" "ROLE_ADMIN";
    SESSION_VARIABLES_ADMIN SessionVariablesAdmin 37 "" "SESSION_VARIABLES_ADMIN";
    SET_USER_ID SetUserId 38 "" "SET_USER_ID";
    SHOW_ROUTINE ShowRoutine 39 "" "SHOW_ROUTINE";
    SYSTEM_VARIABLES_ADMIN SystemVariablesAdmin 40 "" "SYSTEM_VARIABLES_ADMIN";
}

impl Priv {
    /// None.
    pub const NONE: Priv = Priv(0);
    /// All that MySQL 5.6 has, GRANT OPTION excepted: what ALL stands for. Those of 8.0 add nothing to them.
    pub const ALL: Priv = Priv((1 << 29) - 1 - (1 << 10));
    /// What 8.0 has columns for in `mysql.user` and 5.6 has not.
    pub const OF_ROLES: Priv = Priv(1 << 29 | 1 << 30);
    /// Those without a column: granted everywhere or nowhere, each with a grant option of its own.
    pub const DYNAMIC: Priv = Priv(0x1FF << 32);
    /// All that a database can have, GRANT OPTION excepted.
    pub const DATABASE: Priv =
        Priv(Self::TABLE.0 | 1 << 16 | 1 << 17 | 1 << 18 | 1 << 23 | 1 << 24 | 1 << 26);
    /// All that a table can have, GRANT OPTION excepted.
    pub const TABLE: Priv =
        Priv(0b1111 | 1 << 4 | 1 << 5 | 1 << 11 | 1 << 12 | 1 << 13 | 1 << 21 | 1 << 22 | 1 << 27);
    /// All that a procedure or function can have, GRANT OPTION excepted.
    pub const ROUTINE: Priv = Priv(1 << 18 | 1 << 24);
    /// All that a column can have.
    pub const COLUMN: Priv = Priv(0b111 | 1 << 11);

    /// Whether all of `other` are in it.
    #[inline]
    pub const fn has(self, other: Priv) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether it has any of `other`.
    #[inline]
    pub const fn any(self, other: Priv) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether it is empty.
    #[inline]
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Names in GRANT.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        NAMES.iter().filter(move |(p, ..)| self.has(*p)).map(|(_, _, name)| *name)
    }

    /// The first one.
    pub fn first(self) -> Priv {
        Priv(self.0 & self.0.wrapping_neg())
    }

    /// The first one's name, for messages.
    pub fn first_name(self) -> &'static str {
        self.names().next().unwrap_or("USAGE")
    }
}

impl BitOr for Priv {
    type Output = Priv;
    fn bitor(self, other: Priv) -> Priv {
        Priv(self.0 | other.0)
    }
}

impl BitOrAssign for Priv {
    fn bitor_assign(&mut self, other: Priv) {
        self.0 |= other.0;
    }
}

impl BitAnd for Priv {
    type Output = Priv;
    fn bitand(self, other: Priv) -> Priv {
        Priv(self.0 & other.0)
    }
}

impl Sub for Priv {
    type Output = Priv;
    fn sub(self, other: Priv) -> Priv {
        Priv(self.0 & !other.0)
    }
}

impl Not for Priv {
    type Output = Priv;
    fn not(self) -> Priv {
        Priv(!self.0)
    }
}

/// Privileges that a statement needs on a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Database.
    pub database: Box<str>,
    /// Table; empty: the database itself.
    pub table: Box<str>,
    /// What is needed: on the table, or on each of `columns` that wants it.
    pub privileges: Priv,
    /// Columns that are used, with what is done to them; empty: any column of the table will do.
    pub columns: Box<[(Box<str>, Priv)]>,
    /// The table itself has been asked for something else already: what is missing is missing of a column (1143).
    pub by_column: bool,
    /// One of these on the table, besides; empty: none.
    pub any_of: Priv,
    /// It is a view: which one it was when the statement was planned.
    pub view: Option<Arc<ViewId>>,
    /// A view asks for it, not the statement.
    pub through: Option<Arc<Through>>,
    /// It is a temporary table of the session, which may do with it what it likes. Who says so has found the table: a name that
    /// a temporary table has may stand for another one.
    pub own: bool,
}

/// A view as it was when a statement was planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewId {
    /// The engine's name.
    pub name: Box<str>,
    /// Number of the engine's object.
    pub id: u64,
    /// User and host of whose privileges it runs with, who must be there; `None`: those of whoever uses it.
    pub definer: Option<(String, String)>,
}

/// A view by which a table is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Through {
    /// Database and name of the view that the statement names.
    pub view: (String, String),
    /// User and host of whoever needs the privileges; `None`: the session.
    pub definer: Option<(String, String)>,
}

impl Through {
    /// Error 1356.
    pub fn invalid(&self) -> SqlError {
        let (database, name) = &self.view;
        SqlError::new(
            1356,
            format!(
                "View '{database}.{name}' references invalid table(s) or column(s) or function(s) or definer/invoker of \
                 view lack rights to use them"
            ),
        )
    }
}

impl Wanted {
    /// To read these columns of a table.
    pub fn select<'c>(database: &str, table: &str, columns: impl IntoIterator<Item = &'c str>) -> Wanted {
        Wanted {
            database: database.into(),
            table: table.into(),
            privileges: Priv::SELECT,
            columns: columns.into_iter().map(|c| (c.into(), Priv::SELECT)).collect(),
            by_column: false,
            any_of: Priv::NONE,
            view: None,
            through: None,
            own: false,
        }
    }

    /// Says whether the table is a temporary one of the session.
    #[must_use]
    pub fn of_own(self, own: bool) -> Wanted {
        Wanted { own, ..self }
    }

    /// Whether it is about this table.
    pub fn is_of_table(&self, database: &str, table: &str) -> bool {
        self.table.eq_ignore_ascii_case(table) && self.database.eq_ignore_ascii_case(database)
    }

    /// To do something to these columns of a table.
    pub fn columns<'c>(
        database: &str,
        table: &str,
        privilege: Priv,
        columns: impl IntoIterator<Item = &'c str>,
    ) -> Wanted {
        Wanted {
            columns: columns.into_iter().map(|c| (c.into(), privilege)).collect(),
            ..Wanted::table(database, table, privilege)
        }
    }

    /// One of several privileges on a table.
    pub fn any(database: &str, table: &str, any_of: Priv) -> Wanted {
        Wanted { any_of, ..Wanted::table(database, table, Priv::NONE) }
    }

    /// A privilege that belongs to no database.
    pub fn global(privilege: Priv) -> Wanted {
        Wanted::table("", "", privilege)
    }

    /// Privileges on a table as a whole.
    pub fn table(database: &str, table: &str, privileges: Priv) -> Wanted {
        Wanted {
            database: database.into(),
            table: table.into(),
            privileges,
            columns: Box::default(),
            by_column: false,
            any_of: Priv::NONE,
            view: None,
            through: None,
            own: false,
        }
    }
}
