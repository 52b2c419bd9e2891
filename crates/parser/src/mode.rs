//! What the session tells the parser.

/// The bits of `sql_mode` that change how text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SqlMode(u8);

impl SqlMode {
    /// `"` quotes names instead of strings.
    pub const ANSI_QUOTES: Self = Self(1);
    /// `||` joins strings instead of being OR.
    pub const PIPES_AS_CONCAT: Self = Self(2);
    /// `\` in strings is an ordinary character.
    pub const NO_BACKSLASH_ESCAPES: Self = Self(4);
    /// `NOT` binds as tightly as `!`.
    pub const HIGH_NOT_PRECEDENCE: Self = Self(8);
    /// Space is allowed between a built-in function's name and its parenthesis, and those names are reserved.
    pub const IGNORE_SPACE: Self = Self(16);

    /// Whether all bits of `other` are set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// With the bits of `other` too.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// All bits as a number, for keys of caches.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }
}

/// How to read a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseMode {
    /// The session's mode.
    pub sql_mode: SqlMode,
    /// The version that `/*!NNNNN` is compared with, as 50744 for 5.7.44.
    pub server_version: u32,
    /// Literals that [`crate::digest`] lifts become [`crate::ast::ExprKind::Lifted`], numbered together with parameters.
    pub lift: bool,
    /// `?` is a parameter; otherwise, as in a text that is run at once, a syntax error.
    pub params: bool,
}

impl Default for ParseMode {
    fn default() -> Self {
        Self { sql_mode: SqlMode::default(), server_version: 50_744, lift: false, params: true }
    }
}
