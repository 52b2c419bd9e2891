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

/// The character sets in which the second byte of a character may be a backslash, which then escapes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TwoByte {
    /// None of them.
    #[default]
    None,
    /// `sjis` and `cp932`.
    ShiftJis,
    /// `big5`.
    Big5,
    /// `gbk`.
    Gbk,
}

impl TwoByte {
    /// Whether a character of two bytes begins so.
    #[inline]
    pub(crate) fn begins(self, bytes: &[u8]) -> bool {
        let &[lead, trail, ..] = bytes else { return false };
        match self {
            TwoByte::None => false,
            TwoByte::ShiftJis => {
                matches!(lead, 0x81..=0x9F | 0xE0..=0xFC) && matches!(trail, 0x40..=0x7E | 0x80..=0xFC)
            }
            TwoByte::Big5 => matches!(lead, 0xA1..=0xF9) && matches!(trail, 0x40..=0x7E | 0xA1..=0xFE),
            TwoByte::Gbk => matches!(lead, 0x81..=0xFE) && matches!(trail, 0x40..=0x7E | 0x80..=0xFE),
        }
    }

    /// Position of the first of two bytes that is a character of its own.
    pub(crate) fn find(self, text: &[u8], a: u8, b: u8) -> Option<usize> {
        let mut at = 0;
        while let Some(&byte) = text.get(at) {
            if self.begins(&text[at..]) {
                at += 2;
            } else if byte == a || byte == b {
                return Some(at);
            } else {
                at += 1;
            }
        }
        None
    }
}

/// How names become UTF-8 in a text that is in another character set.
#[derive(Clone, Copy)]
pub struct Names {
    /// Number of a collation of that character set.
    pub collation: u16,
    /// Decodes bytes of it; `None` if that cannot be done: the name stays as it is.
    pub decode: fn(u16, &[u8]) -> Option<String>,
}

impl std::fmt::Debug for Names {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Names").field("collation", &self.collation).finish_non_exhaustive()
    }
}

/// Of one character set: there is one way to decode it.
impl PartialEq for Names {
    fn eq(&self, other: &Self) -> bool {
        self.collation == other.collation
    }
}

impl Eq for Names {}

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
    /// The character set of the text, if it is one of those.
    pub two_byte: TwoByte,
    /// How names become UTF-8, unless the text is in UTF-8.
    pub names: Option<Names>,
    /// Bytes that the tree may take.
    pub memory_max: usize,
}

impl Default for ParseMode {
    fn default() -> Self {
        Self {
            sql_mode: SqlMode::default(),
            server_version: 50_744,
            lift: false,
            params: true,
            two_byte: TwoByte::None,
            names: None,
            memory_max: usize::MAX,
        }
    }
}
