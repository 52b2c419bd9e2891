//! Capability flags: what a server offers, what a client takes of it.

/// A set of capability flags: 32 of MySQL's, and above them those of MariaDB, which go over the line in a field of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities(pub u64);

impl Capabilities {
    /// Newer authentication, which all have; MariaDB takes it for "MySQL": who leaves it out has the other flags, too.
    pub const LONG_PASSWORD: Self = Self(1);
    /// Affected rows are those found.
    pub const FOUND_ROWS: Self = Self(1 << 1);
    /// Two bytes of column flags.
    pub const LONG_FLAG: Self = Self(1 << 2);
    /// A database is named at login.
    pub const CONNECT_WITH_DB: Self = Self(1 << 3);
    /// `db.table.column` is refused by the client's parser.
    pub const NO_SCHEMA: Self = Self(1 << 4);
    /// Compressed packets after login.
    pub const COMPRESS: Self = Self(1 << 5);
    /// ODBC; means nothing.
    pub const ODBC: Self = Self(1 << 6);
    /// The client can send files.
    pub const LOCAL_FILES: Self = Self(1 << 7);
    /// Spaces before `(` are ignored (sql_mode IGNORE_SPACE).
    pub const IGNORE_SPACE: Self = Self(1 << 8);
    /// The protocol of 4.1 and later: the only one spoken here.
    pub const PROTOCOL_41: Self = Self(1 << 9);
    /// `interactive_timeout` applies.
    pub const INTERACTIVE: Self = Self(1 << 10);
    /// TLS.
    pub const SSL: Self = Self(1 << 11);
    /// Means nothing.
    pub const IGNORE_SIGPIPE: Self = Self(1 << 12);
    /// Status flags in replies.
    pub const TRANSACTIONS: Self = Self(1 << 13);
    /// The number of this flag was used for the protocol of 4.1 before it was final.
    pub const RESERVED: Self = Self(1 << 14);
    /// Proofs of 20 bytes.
    pub const SECURE_CONNECTION: Self = Self(1 << 15);
    /// Several statements in one text.
    pub const MULTI_STATEMENTS: Self = Self(1 << 16);
    /// Several results for one text.
    pub const MULTI_RESULTS: Self = Self(1 << 17);
    /// Several results of a prepared statement.
    pub const PS_MULTI_RESULTS: Self = Self(1 << 18);
    /// Authentication methods have names.
    pub const PLUGIN_AUTH: Self = Self(1 << 19);
    /// Connection attributes.
    pub const CONNECT_ATTRS: Self = Self(1 << 20);
    /// The proof may be longer than 255 bytes.
    pub const PLUGIN_AUTH_LENENC: Self = Self(1 << 21);
    /// The client knows what to do with an expired password.
    pub const CAN_HANDLE_EXPIRED_PASSWORDS: Self = Self(1 << 22);
    /// Changes of the session in OK packets.
    pub const SESSION_TRACK: Self = Self(1 << 23);
    /// Results end with OK packets, not with EOF packets.
    pub const DEPRECATE_EOF: Self = Self(1 << 24);

    /// Reports of progress, as MariaDB's clients ask servers for them that do not call themselves MariaDB: not offered, but understood.
    pub const PROGRESS_EARLY: Self = Self(1 << 29);
    /// Reports of progress between a statement and its answer. MariaDB's.
    pub const PROGRESS: Self = Self(1 << 32);

    /// What is offered whatever the server's settings; TLS and compression come on top.
    pub const ALWAYS: Self = Self(
        Self::FOUND_ROWS.0
            | Self::LONG_FLAG.0
            | Self::CONNECT_WITH_DB.0
            | Self::NO_SCHEMA.0
            | Self::ODBC.0
            | Self::LOCAL_FILES.0
            | Self::IGNORE_SPACE.0
            | Self::PROTOCOL_41.0
            | Self::INTERACTIVE.0
            | Self::IGNORE_SIGPIPE.0
            | Self::TRANSACTIONS.0
            | Self::RESERVED.0
            | Self::SECURE_CONNECTION.0
            | Self::MULTI_STATEMENTS.0
            | Self::MULTI_RESULTS.0
            | Self::PS_MULTI_RESULTS.0
            | Self::PLUGIN_AUTH.0
            | Self::CONNECT_ATTRS.0
            | Self::PLUGIN_AUTH_LENENC.0
            | Self::CAN_HANDLE_EXPIRED_PASSWORDS.0
            | Self::SESSION_TRACK.0
            | Self::DEPRECATE_EOF.0
            | Self::PROGRESS.0,
    );

    /// Whether all of `other` is in it.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What is in both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}
