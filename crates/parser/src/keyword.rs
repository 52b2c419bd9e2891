//! Words of the grammar.
//!
//! Every word that some statement of MySQL gives a meaning, with whether 5.6 reserves it (asked of a 5.6.24 server,
//! word by word). Words that later versions reserve stay usable as names: the grammar knows them from their place.

/// A word of the grammar, or none.
///
/// `Other` is a name that the grammar does not know.
macro_rules! keywords {
    ($($name:ident $text:literal $reserved:literal,)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u16)]
        pub(crate) enum Kw {
            Other,
            $($name,)*
        }

        const WORDS: [(Kw, &str, bool); COUNT] = [$((Kw::$name, $text, $reserved),)*];

        /// By number: [`Kw::Other`] first.
        static RESERVED: [bool; COUNT + 1] = [false, $($reserved,)*];
    };
}

const COUNT: usize = 664;

/// Slots of the table; a power of two, sparse enough that most words are found or excluded at their first slot.
const SLOTS: usize = 4096;

/// Longest word of the grammar.
const LEN_MAX: usize = 29;

/// Takes the case from letters. Of the bytes that names consist of, no two others become equal by it.
const FOLD: u8 = 0xDF;

/// A word as it is looked up.
#[derive(Clone, Copy)]
struct Entry {
    key: u64,
    len: u8,
    kw: Kw,
    word: &'static [u8],
}

/// Numbers of entries, from 1, by [`slot`].
static TABLE: [u16; SLOTS] = table();

static ENTRIES: [Entry; COUNT] = entries();

impl Kw {
    /// The word `text` is, without regard to case. The text consists of letters, digits, `_`, `$` and bytes from
    /// 0x80.
    #[inline]
    pub(crate) fn of(text: &[u8]) -> Self {
        if text.len() < 2 || text.len() > LEN_MAX {
            return Self::Other;
        }
        let key = key(text);
        let mut slot = slot(key, text.len());
        loop {
            let number = TABLE[slot] as usize;
            if number == 0 {
                return Self::Other;
            }
            let entry = &ENTRIES[number - 1];
            // The key holds all of a word of up to eight bytes.
            if entry.key == key
                && entry.len as usize == text.len()
                && (text.len() <= 8 || same_word(entry.word, text))
            {
                return entry.kw;
            }
            slot = (slot + 1) % SLOTS;
        }
    }

    /// Whether it is a function, and no name, when a parenthesis follows at once.
    pub(crate) fn is_function(self) -> bool {
        use Kw::*;
        matches!(
            self,
            Adddate
                | BitAnd
                | BitOr
                | BitXor
                | Cast
                | Count
                | Curdate
                | Curtime
                | DateAdd
                | DateSub
                | Extract
                | GroupConcat
                | Max
                | Mid
                | Min
                | Now
                | Position
                | SessionUser
                | Std
                | Stddev
                | StddevPop
                | StddevSamp
                | Subdate
                | Substr
                | Substring
                | Sum
                | Sysdate
                | SystemUser
                | Trim
                | Variance
                | VarPop
                | VarSamp
        )
    }

    /// Whether it came after MySQL 5.6, to which it means nothing.
    pub(crate) fn is_later(self) -> bool {
        use Kw::*;
        matches!(
            self,
            Account
                | Admin
                | Always
                | Authors
                | Compression
                | Contributors
                | Empty
                | Encryption
                | Enforced
                | Except
                | Exclude
                | Exclusive
                | FileBlockSize
                | Following
                | Follows
                | Generated
                | Grouping
                | Groups
                | Inplace
                | Instant
                | Intersect
                | Invisible
                | Json
                | JsonArrayagg
                | JsonObjectagg
                | JsonTable
                | JsonValue
                | Lateral
                | Locked
                | Member
                | Nested
                | Never
                | Nowait
                | Nulls
                | Of
                | Oj
                | OneShot
                | OptimizerCosts
                | Ordinality
                | Others
                | Over
                | Path
                | Persistent
                | Precedes
                | Preceding
                | Recursive
                | Respect
                | Returning
                | Role
                | Shared
                | Skip
                | Srid
                | Stacked
                | Stored
                | Ties
                | Traditional
                | Unbounded
                | Validation
                | Virtual
                | Visible
                | Window
                | Without
                | Xid
        )
    }

    /// Whether 5.6 refuses it as a name without quotes.
    #[inline]
    pub(crate) fn is_reserved(self) -> bool {
        RESERVED[self as usize]
    }
}

/// Whether a name is understood only in quotes: it is a reserved word, or has other characters than names have.
pub fn needs_quotes(name: &[u8]) -> bool {
    let plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$') || *b >= 0x80;
    name.is_empty()
        || !name.iter().all(plain)
        || name.iter().all(u8::is_ascii_digit)
        || Kw::of(name).is_reserved()
}

fn same_word(word: &[u8], text: &[u8]) -> bool {
    word.iter().zip(text).all(|(a, b)| a & FOLD == b & FOLD)
}

/// The first and the last four bytes of a word of two or more, without case.
#[inline]
const fn key(text: &[u8]) -> u64 {
    let len = text.len();
    let fold = u64::from_le_bytes([FOLD; 8]);
    let bytes = if len >= 4 {
        [text[0], text[1], text[2], text[3], text[len - 4], text[len - 3], text[len - 2], text[len - 1]]
    } else {
        [text[0], text[1], text[len - 1], 0, 0, 0, 0, 0]
    };
    u64::from_le_bytes(bytes) & fold
}

#[inline]
const fn slot(key: u64, len: usize) -> usize {
    ((key ^ (len as u64) << 7).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 52) as usize
}

const fn entries() -> [Entry; COUNT] {
    let mut entries = [Entry { key: 0, len: 0, kw: Kw::Other, word: b"" }; COUNT];
    let mut word = 0;
    while word < COUNT {
        let text = WORDS[word].1.as_bytes();
        entries[word] = Entry { key: key(text), len: text.len() as u8, kw: WORDS[word].0, word: text };
        word += 1;
    }
    entries
}

const fn table() -> [u16; SLOTS] {
    let mut table = [0; SLOTS];
    let mut word = 0;
    while word < COUNT {
        let text = WORDS[word].1.as_bytes();
        let mut slot = slot(key(text), text.len());
        while table[slot] != 0 {
            slot = (slot + 1) % SLOTS;
        }
        table[slot] = word as u16 + 1;
        word += 1;
    }
    table
}

keywords! {
    Accessible "ACCESSIBLE" true,
    Account "ACCOUNT" false,
    Action "ACTION" false,
    Add "ADD" true,
    Adddate "ADDDATE" false,
    Admin "ADMIN" false,
    After "AFTER" false,
    Against "AGAINST" false,
    Aggregate "AGGREGATE" false,
    Algorithm "ALGORITHM" false,
    All "ALL" true,
    Alter "ALTER" true,
    Always "ALWAYS" false,
    Analyse "ANALYSE" false,
    Analyze "ANALYZE" true,
    And "AND" true,
    Any "ANY" false,
    As "AS" true,
    Asc "ASC" true,
    Ascii "ASCII" false,
    Asensitive "ASENSITIVE" true,
    At "AT" false,
    Authors "AUTHORS" false,
    AutoextendSize "AUTOEXTEND_SIZE" false,
    AutoIncrement "AUTO_INCREMENT" false,
    Avg "AVG" false,
    AvgRowLength "AVG_ROW_LENGTH" false,
    Backup "BACKUP" false,
    Before "BEFORE" true,
    Begin "BEGIN" false,
    Between "BETWEEN" true,
    Bigint "BIGINT" true,
    Binary "BINARY" true,
    Binlog "BINLOG" false,
    Bit "BIT" false,
    BitAnd "BIT_AND" false,
    BitOr "BIT_OR" false,
    BitXor "BIT_XOR" false,
    Blob "BLOB" true,
    Block "BLOCK" false,
    Bool "BOOL" false,
    Boolean "BOOLEAN" false,
    Both "BOTH" true,
    Btree "BTREE" false,
    By "BY" true,
    Byte "BYTE" false,
    Cache "CACHE" false,
    Call "CALL" true,
    Cascade "CASCADE" true,
    Cascaded "CASCADED" false,
    Case "CASE" true,
    Cast "CAST" false,
    CatalogName "CATALOG_NAME" false,
    Chain "CHAIN" false,
    Change "CHANGE" true,
    Changed "CHANGED" false,
    Char "CHAR" true,
    Character "CHARACTER" true,
    Charset "CHARSET" false,
    Check "CHECK" true,
    Checksum "CHECKSUM" false,
    Cipher "CIPHER" false,
    ClassOrigin "CLASS_ORIGIN" false,
    Client "CLIENT" false,
    Close "CLOSE" false,
    Coalesce "COALESCE" false,
    Code "CODE" false,
    Collate "COLLATE" true,
    Collation "COLLATION" false,
    Column "COLUMN" true,
    Columns "COLUMNS" false,
    ColumnFormat "COLUMN_FORMAT" false,
    ColumnName "COLUMN_NAME" false,
    Comment "COMMENT" false,
    Commit "COMMIT" false,
    Committed "COMMITTED" false,
    Compact "COMPACT" false,
    Completion "COMPLETION" false,
    Compressed "COMPRESSED" false,
    Compression "COMPRESSION" false,
    Concurrent "CONCURRENT" false,
    Condition "CONDITION" true,
    Connection "CONNECTION" false,
    Consistent "CONSISTENT" false,
    Constraint "CONSTRAINT" true,
    ConstraintCatalog "CONSTRAINT_CATALOG" false,
    ConstraintName "CONSTRAINT_NAME" false,
    ConstraintSchema "CONSTRAINT_SCHEMA" false,
    Contains "CONTAINS" false,
    Context "CONTEXT" false,
    Continue "CONTINUE" true,
    Contributors "CONTRIBUTORS" false,
    Convert "CONVERT" true,
    Count "COUNT" false,
    Cpu "CPU" false,
    Create "CREATE" true,
    Cross "CROSS" true,
    Cube "CUBE" false,
    Curdate "CURDATE" false,
    Current "CURRENT" false,
    CurrentDate "CURRENT_DATE" true,
    CurrentTime "CURRENT_TIME" true,
    CurrentTimestamp "CURRENT_TIMESTAMP" true,
    CurrentUser "CURRENT_USER" true,
    Cursor "CURSOR" true,
    CursorName "CURSOR_NAME" false,
    Curtime "CURTIME" false,
    Data "DATA" false,
    Database "DATABASE" true,
    Databases "DATABASES" true,
    Datafile "DATAFILE" false,
    Date "DATE" false,
    Datetime "DATETIME" false,
    DateAdd "DATE_ADD" false,
    DateSub "DATE_SUB" false,
    Day "DAY" false,
    DayHour "DAY_HOUR" true,
    DayMicrosecond "DAY_MICROSECOND" true,
    DayMinute "DAY_MINUTE" true,
    DaySecond "DAY_SECOND" true,
    Deallocate "DEALLOCATE" false,
    Dec "DEC" true,
    Decimal "DECIMAL" true,
    Declare "DECLARE" true,
    Default "DEFAULT" true,
    DefaultAuth "DEFAULT_AUTH" false,
    Definer "DEFINER" false,
    Delayed "DELAYED" true,
    DelayKeyWrite "DELAY_KEY_WRITE" false,
    Delete "DELETE" true,
    Desc "DESC" true,
    Describe "DESCRIBE" true,
    DesKeyFile "DES_KEY_FILE" false,
    Deterministic "DETERMINISTIC" true,
    Diagnostics "DIAGNOSTICS" false,
    Directory "DIRECTORY" false,
    Disable "DISABLE" false,
    Discard "DISCARD" false,
    Disk "DISK" false,
    Distinct "DISTINCT" true,
    Distinctrow "DISTINCTROW" true,
    Div "DIV" true,
    Do "DO" false,
    Double "DOUBLE" true,
    Drop "DROP" true,
    Dual "DUAL" true,
    Dumpfile "DUMPFILE" false,
    Duplicate "DUPLICATE" false,
    Dynamic "DYNAMIC" false,
    Each "EACH" true,
    Else "ELSE" true,
    Elseif "ELSEIF" true,
    Empty "EMPTY" false,
    Enable "ENABLE" false,
    Enclosed "ENCLOSED" true,
    Encryption "ENCRYPTION" false,
    End "END" false,
    Ends "ENDS" false,
    Enforced "ENFORCED" false,
    Engine "ENGINE" false,
    Engines "ENGINES" false,
    Enum "ENUM" false,
    Error "ERROR" false,
    Errors "ERRORS" false,
    Escape "ESCAPE" false,
    Escaped "ESCAPED" true,
    Event "EVENT" false,
    Events "EVENTS" false,
    Every "EVERY" false,
    Except "EXCEPT" false,
    Exchange "EXCHANGE" false,
    Exclude "EXCLUDE" false,
    Exclusive "EXCLUSIVE" false,
    Execute "EXECUTE" false,
    Exists "EXISTS" true,
    Exit "EXIT" true,
    Expansion "EXPANSION" false,
    Expire "EXPIRE" false,
    Explain "EXPLAIN" true,
    Export "EXPORT" false,
    Extended "EXTENDED" false,
    ExtentSize "EXTENT_SIZE" false,
    Extract "EXTRACT" false,
    False "FALSE" true,
    Fast "FAST" false,
    Faults "FAULTS" false,
    Fetch "FETCH" true,
    Fields "FIELDS" false,
    File "FILE" false,
    FileBlockSize "FILE_BLOCK_SIZE" false,
    First "FIRST" false,
    Fixed "FIXED" false,
    Float "FLOAT" true,
    Float4 "FLOAT4" true,
    Float8 "FLOAT8" true,
    Flush "FLUSH" false,
    Following "FOLLOWING" false,
    Follows "FOLLOWS" false,
    For "FOR" true,
    Force "FORCE" true,
    Foreign "FOREIGN" true,
    Format "FORMAT" false,
    Found "FOUND" false,
    From "FROM" true,
    Full "FULL" false,
    Fulltext "FULLTEXT" true,
    Function "FUNCTION" false,
    General "GENERAL" false,
    Generated "GENERATED" false,
    Geometry "GEOMETRY" false,
    Geometrycollection "GEOMETRYCOLLECTION" false,
    Get "GET" true,
    GetFormat "GET_FORMAT" false,
    Global "GLOBAL" false,
    Grant "GRANT" true,
    Grants "GRANTS" false,
    Group "GROUP" true,
    Grouping "GROUPING" false,
    Groups "GROUPS" false,
    GroupConcat "GROUP_CONCAT" false,
    Handler "HANDLER" false,
    Hash "HASH" false,
    Having "HAVING" true,
    Help "HELP" false,
    HighPriority "HIGH_PRIORITY" true,
    Host "HOST" false,
    Hosts "HOSTS" false,
    Hour "HOUR" false,
    HourMicrosecond "HOUR_MICROSECOND" true,
    HourMinute "HOUR_MINUTE" true,
    HourSecond "HOUR_SECOND" true,
    Identified "IDENTIFIED" false,
    If "IF" true,
    Ignore "IGNORE" true,
    IgnoreServerIds "IGNORE_SERVER_IDS" false,
    Import "IMPORT" false,
    In "IN" true,
    Index "INDEX" true,
    Indexes "INDEXES" false,
    Infile "INFILE" true,
    InitialSize "INITIAL_SIZE" false,
    Inner "INNER" true,
    Inout "INOUT" true,
    Inplace "INPLACE" false,
    Insensitive "INSENSITIVE" true,
    Insert "INSERT" true,
    InsertMethod "INSERT_METHOD" false,
    Install "INSTALL" false,
    Instant "INSTANT" false,
    Int "INT" true,
    Int1 "INT1" true,
    Int2 "INT2" true,
    Int3 "INT3" true,
    Int4 "INT4" true,
    Int8 "INT8" true,
    Integer "INTEGER" true,
    Intersect "INTERSECT" false,
    Interval "INTERVAL" true,
    Into "INTO" true,
    Invisible "INVISIBLE" false,
    Invoker "INVOKER" false,
    Io "IO" false,
    IoAfterGtids "IO_AFTER_GTIDS" true,
    IoBeforeGtids "IO_BEFORE_GTIDS" true,
    IoThread "IO_THREAD" false,
    Ipc "IPC" false,
    Is "IS" true,
    Isolation "ISOLATION" false,
    Issuer "ISSUER" false,
    Iterate "ITERATE" true,
    Join "JOIN" true,
    Json "JSON" false,
    JsonArrayagg "JSON_ARRAYAGG" false,
    JsonObjectagg "JSON_OBJECTAGG" false,
    JsonTable "JSON_TABLE" false,
    JsonValue "JSON_VALUE" false,
    Key "KEY" true,
    Keys "KEYS" true,
    KeyBlockSize "KEY_BLOCK_SIZE" false,
    Kill "KILL" true,
    Language "LANGUAGE" false,
    Last "LAST" false,
    Lateral "LATERAL" false,
    Leading "LEADING" true,
    Leave "LEAVE" true,
    Leaves "LEAVES" false,
    Left "LEFT" true,
    Less "LESS" false,
    Level "LEVEL" false,
    Like "LIKE" true,
    Limit "LIMIT" true,
    Linear "LINEAR" true,
    Lines "LINES" true,
    Linestring "LINESTRING" false,
    List "LIST" false,
    Load "LOAD" true,
    Local "LOCAL" false,
    Localtime "LOCALTIME" true,
    Localtimestamp "LOCALTIMESTAMP" true,
    Lock "LOCK" true,
    Locked "LOCKED" false,
    Locks "LOCKS" false,
    Logfile "LOGFILE" false,
    Logs "LOGS" false,
    Long "LONG" true,
    Longblob "LONGBLOB" true,
    Longtext "LONGTEXT" true,
    Loop "LOOP" true,
    LowPriority "LOW_PRIORITY" true,
    Master "MASTER" false,
    MasterBind "MASTER_BIND" true,
    MasterSslVerifyServerCert "MASTER_SSL_VERIFY_SERVER_CERT" true,
    Match "MATCH" true,
    Max "MAX" false,
    Maxvalue "MAXVALUE" true,
    MaxConnectionsPerHour "MAX_CONNECTIONS_PER_HOUR" false,
    MaxQueriesPerHour "MAX_QUERIES_PER_HOUR" false,
    MaxRows "MAX_ROWS" false,
    MaxSize "MAX_SIZE" false,
    MaxUpdatesPerHour "MAX_UPDATES_PER_HOUR" false,
    MaxUserConnections "MAX_USER_CONNECTIONS" false,
    Medium "MEDIUM" false,
    Mediumblob "MEDIUMBLOB" true,
    Mediumint "MEDIUMINT" true,
    Mediumtext "MEDIUMTEXT" true,
    Member "MEMBER" false,
    Memory "MEMORY" false,
    Merge "MERGE" false,
    MessageText "MESSAGE_TEXT" false,
    Microsecond "MICROSECOND" false,
    Mid "MID" false,
    Middleint "MIDDLEINT" true,
    Migrate "MIGRATE" false,
    Min "MIN" false,
    Minute "MINUTE" false,
    MinuteMicrosecond "MINUTE_MICROSECOND" true,
    MinuteSecond "MINUTE_SECOND" true,
    MinRows "MIN_ROWS" false,
    Mod "MOD" true,
    Mode "MODE" false,
    Modifies "MODIFIES" true,
    Modify "MODIFY" false,
    Month "MONTH" false,
    Multilinestring "MULTILINESTRING" false,
    Multipoint "MULTIPOINT" false,
    Multipolygon "MULTIPOLYGON" false,
    Mutex "MUTEX" false,
    MysqlErrno "MYSQL_ERRNO" false,
    Name "NAME" false,
    Names "NAMES" false,
    National "NATIONAL" false,
    Natural "NATURAL" true,
    Nchar "NCHAR" false,
    Ndb "NDB" false,
    Ndbcluster "NDBCLUSTER" false,
    Nested "NESTED" false,
    Never "NEVER" false,
    New "NEW" false,
    Next "NEXT" false,
    No "NO" false,
    Nodegroup "NODEGROUP" false,
    None "NONE" false,
    Not "NOT" true,
    Now "NOW" false,
    Nowait "NOWAIT" false,
    NoWait "NO_WAIT" false,
    NoWriteToBinlog "NO_WRITE_TO_BINLOG" true,
    Null "NULL" true,
    Nulls "NULLS" false,
    Number "NUMBER" false,
    Numeric "NUMERIC" true,
    Nvarchar "NVARCHAR" false,
    Of "OF" false,
    Offset "OFFSET" false,
    Oj "OJ" false,
    OldPassword "OLD_PASSWORD" false,
    On "ON" true,
    One "ONE" false,
    OneShot "ONE_SHOT" false,
    Only "ONLY" false,
    Open "OPEN" false,
    Optimize "OPTIMIZE" true,
    OptimizerCosts "OPTIMIZER_COSTS" false,
    Option "OPTION" true,
    Optionally "OPTIONALLY" true,
    Options "OPTIONS" false,
    Or "OR" true,
    Order "ORDER" true,
    Others "OTHERS" false,
    Out "OUT" true,
    Ordinality "ORDINALITY" false,
    Outer "OUTER" true,
    Outfile "OUTFILE" true,
    Over "OVER" false,
    Owner "OWNER" false,
    PackKeys "PACK_KEYS" false,
    Page "PAGE" false,
    Parser "PARSER" false,
    Partial "PARTIAL" false,
    Partition "PARTITION" true,
    Partitioning "PARTITIONING" false,
    Partitions "PARTITIONS" false,
    Password "PASSWORD" false,
    Path "PATH" false,
    Persistent "PERSISTENT" false,
    Phase "PHASE" false,
    Plugin "PLUGIN" false,
    Plugins "PLUGINS" false,
    PluginDir "PLUGIN_DIR" false,
    Point "POINT" false,
    Polygon "POLYGON" false,
    Port "PORT" false,
    Position "POSITION" false,
    Precedes "PRECEDES" false,
    Preceding "PRECEDING" false,
    Precision "PRECISION" true,
    Prepare "PREPARE" false,
    Preserve "PRESERVE" false,
    Prev "PREV" false,
    Primary "PRIMARY" true,
    Privileges "PRIVILEGES" false,
    Procedure "PROCEDURE" true,
    Process "PROCESS" false,
    Processlist "PROCESSLIST" false,
    Profile "PROFILE" false,
    Profiles "PROFILES" false,
    Proxy "PROXY" false,
    Purge "PURGE" true,
    Quarter "QUARTER" false,
    Query "QUERY" false,
    Quick "QUICK" false,
    Range "RANGE" true,
    Read "READ" true,
    Reads "READS" true,
    ReadOnly "READ_ONLY" false,
    ReadWrite "READ_WRITE" true,
    Real "REAL" true,
    Rebuild "REBUILD" false,
    Recover "RECOVER" false,
    Recursive "RECURSIVE" false,
    Redofile "REDOFILE" false,
    RedoBufferSize "REDO_BUFFER_SIZE" false,
    Redundant "REDUNDANT" false,
    References "REFERENCES" true,
    Regexp "REGEXP" true,
    Relay "RELAY" false,
    Relaylog "RELAYLOG" false,
    RelayLogFile "RELAY_LOG_FILE" false,
    RelayLogPos "RELAY_LOG_POS" false,
    RelayThread "RELAY_THREAD" false,
    Release "RELEASE" true,
    Reload "RELOAD" false,
    Remove "REMOVE" false,
    Rename "RENAME" true,
    Reorganize "REORGANIZE" false,
    Repair "REPAIR" false,
    Repeat "REPEAT" true,
    Repeatable "REPEATABLE" false,
    Replace "REPLACE" true,
    Replication "REPLICATION" false,
    Require "REQUIRE" true,
    Reset "RESET" false,
    Resignal "RESIGNAL" true,
    Respect "RESPECT" false,
    Restore "RESTORE" false,
    Restrict "RESTRICT" true,
    Resume "RESUME" false,
    Return "RETURN" true,
    ReturnedSqlstate "RETURNED_SQLSTATE" false,
    Returning "RETURNING" false,
    Returns "RETURNS" false,
    Reverse "REVERSE" false,
    Revoke "REVOKE" true,
    Right "RIGHT" true,
    Rlike "RLIKE" true,
    Role "ROLE" false,
    Rollback "ROLLBACK" false,
    Rollup "ROLLUP" false,
    Routine "ROUTINE" false,
    Row "ROW" false,
    Rows "ROWS" false,
    RowCount "ROW_COUNT" false,
    RowFormat "ROW_FORMAT" false,
    Rtree "RTREE" false,
    Savepoint "SAVEPOINT" false,
    Schedule "SCHEDULE" false,
    Schema "SCHEMA" true,
    Schemas "SCHEMAS" true,
    SchemaName "SCHEMA_NAME" false,
    Second "SECOND" false,
    SecondMicrosecond "SECOND_MICROSECOND" true,
    Security "SECURITY" false,
    Select "SELECT" true,
    Sensitive "SENSITIVE" true,
    Separator "SEPARATOR" true,
    Serial "SERIAL" false,
    Serializable "SERIALIZABLE" false,
    Server "SERVER" false,
    Session "SESSION" false,
    SessionUser "SESSION_USER" false,
    Set "SET" true,
    Share "SHARE" false,
    Shared "SHARED" false,
    Show "SHOW" true,
    Shutdown "SHUTDOWN" false,
    Signal "SIGNAL" true,
    Signed "SIGNED" false,
    Simple "SIMPLE" false,
    Skip "SKIP" false,
    Slave "SLAVE" false,
    Slow "SLOW" false,
    Smallint "SMALLINT" true,
    Snapshot "SNAPSHOT" false,
    Socket "SOCKET" false,
    Some "SOME" false,
    Soname "SONAME" false,
    Sounds "SOUNDS" false,
    Source "SOURCE" false,
    Spatial "SPATIAL" true,
    Specific "SPECIFIC" true,
    Sql "SQL" true,
    Sqlexception "SQLEXCEPTION" true,
    Sqlstate "SQLSTATE" true,
    Sqlwarning "SQLWARNING" true,
    SqlAfterGtids "SQL_AFTER_GTIDS" false,
    SqlBeforeGtids "SQL_BEFORE_GTIDS" false,
    SqlBigResult "SQL_BIG_RESULT" true,
    SqlBufferResult "SQL_BUFFER_RESULT" false,
    SqlCache "SQL_CACHE" false,
    SqlCalcFoundRows "SQL_CALC_FOUND_ROWS" true,
    SqlNoCache "SQL_NO_CACHE" false,
    SqlSmallResult "SQL_SMALL_RESULT" true,
    SqlThread "SQL_THREAD" false,
    SqlTsiDay "SQL_TSI_DAY" false,
    SqlTsiHour "SQL_TSI_HOUR" false,
    SqlTsiMinute "SQL_TSI_MINUTE" false,
    SqlTsiMonth "SQL_TSI_MONTH" false,
    SqlTsiQuarter "SQL_TSI_QUARTER" false,
    SqlTsiSecond "SQL_TSI_SECOND" false,
    SqlTsiWeek "SQL_TSI_WEEK" false,
    SqlTsiYear "SQL_TSI_YEAR" false,
    Srid "SRID" false,
    Ssl "SSL" true,
    Stacked "STACKED" false,
    Start "START" false,
    Starting "STARTING" true,
    Starts "STARTS" false,
    StatsAutoRecalc "STATS_AUTO_RECALC" false,
    StatsPersistent "STATS_PERSISTENT" false,
    StatsSamplePages "STATS_SAMPLE_PAGES" false,
    Status "STATUS" false,
    Std "STD" false,
    Stddev "STDDEV" false,
    StddevPop "STDDEV_POP" false,
    StddevSamp "STDDEV_SAMP" false,
    Stop "STOP" false,
    Storage "STORAGE" false,
    Stored "STORED" false,
    StraightJoin "STRAIGHT_JOIN" true,
    String "STRING" false,
    SubclassOrigin "SUBCLASS_ORIGIN" false,
    Subdate "SUBDATE" false,
    Subject "SUBJECT" false,
    Subpartition "SUBPARTITION" false,
    Subpartitions "SUBPARTITIONS" false,
    Substr "SUBSTR" false,
    Substring "SUBSTRING" false,
    Sum "SUM" false,
    Super "SUPER" false,
    Suspend "SUSPEND" false,
    Swaps "SWAPS" false,
    Switches "SWITCHES" false,
    Sysdate "SYSDATE" false,
    SystemUser "SYSTEM_USER" false,
    Table "TABLE" true,
    Tables "TABLES" false,
    Tablespace "TABLESPACE" false,
    TableChecksum "TABLE_CHECKSUM" false,
    TableName "TABLE_NAME" false,
    Temporary "TEMPORARY" false,
    Temptable "TEMPTABLE" false,
    Terminated "TERMINATED" true,
    Text "TEXT" false,
    Than "THAN" false,
    Then "THEN" true,
    Ties "TIES" false,
    Time "TIME" false,
    Timestamp "TIMESTAMP" false,
    Timestampadd "TIMESTAMPADD" false,
    Timestampdiff "TIMESTAMPDIFF" false,
    Tinyblob "TINYBLOB" true,
    Tinyint "TINYINT" true,
    Tinytext "TINYTEXT" true,
    To "TO" true,
    Traditional "TRADITIONAL" false,
    Trailing "TRAILING" true,
    Transaction "TRANSACTION" false,
    Trigger "TRIGGER" true,
    Triggers "TRIGGERS" false,
    Trim "TRIM" false,
    True "TRUE" true,
    Truncate "TRUNCATE" false,
    Type "TYPE" false,
    Types "TYPES" false,
    Unbounded "UNBOUNDED" false,
    Uncommitted "UNCOMMITTED" false,
    Undefined "UNDEFINED" false,
    Undo "UNDO" true,
    Undofile "UNDOFILE" false,
    UndoBufferSize "UNDO_BUFFER_SIZE" false,
    Unicode "UNICODE" false,
    Uninstall "UNINSTALL" false,
    Union "UNION" true,
    Unique "UNIQUE" true,
    Unknown "UNKNOWN" false,
    Unlock "UNLOCK" true,
    Unsigned "UNSIGNED" true,
    Until "UNTIL" false,
    Update "UPDATE" true,
    Upgrade "UPGRADE" false,
    Usage "USAGE" true,
    Use "USE" true,
    User "USER" false,
    UserResources "USER_RESOURCES" false,
    UseFrm "USE_FRM" false,
    Using "USING" true,
    UtcDate "UTC_DATE" true,
    UtcTime "UTC_TIME" true,
    UtcTimestamp "UTC_TIMESTAMP" true,
    Validation "VALIDATION" false,
    Value "VALUE" false,
    Values "VALUES" true,
    Varbinary "VARBINARY" true,
    Varchar "VARCHAR" true,
    Varcharacter "VARCHARACTER" true,
    Variables "VARIABLES" false,
    Variance "VARIANCE" false,
    Varying "VARYING" true,
    VarPop "VAR_POP" false,
    VarSamp "VAR_SAMP" false,
    View "VIEW" false,
    Virtual "VIRTUAL" false,
    Visible "VISIBLE" false,
    Wait "WAIT" false,
    Warnings "WARNINGS" false,
    Week "WEEK" false,
    WeightString "WEIGHT_STRING" false,
    When "WHEN" true,
    Where "WHERE" true,
    While "WHILE" true,
    Window "WINDOW" false,
    With "WITH" true,
    Without "WITHOUT" false,
    Work "WORK" false,
    Wrapper "WRAPPER" false,
    Write "WRITE" true,
    X509 "X509" false,
    Xa "XA" false,
    Xid "XID" false,
    Xml "XML" false,
    Xor "XOR" true,
    Year "YEAR" false,
    YearMonth "YEAR_MONTH" true,
    Zerofill "ZEROFILL" true,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_found_in_any_case() {
        for (kw, word, reserved) in WORDS {
            assert_eq!(Kw::of(word.as_bytes()), kw);
            assert_eq!(Kw::of(word.to_ascii_lowercase().as_bytes()), kw);
            assert_eq!(kw.is_reserved(), reserved);
        }
    }

    #[test]
    fn other_words_are_names() {
        for word in [
            "",
            "a",
            "selec",
            "selects",
            "sbtest1",
            "k",
            "SELEC1",
            "\x13ELECT",
            "a_very_long_name_of_a_column",
        ] {
            assert_eq!(Kw::of(word.as_bytes()), Kw::Other);
        }
    }

    /// Long runs would make every name slow.
    #[test]
    fn the_table_is_sparse() {
        let longest = TABLE.split(|&entry| entry == 0).map(<[u16]>::len).max();
        assert!(longest <= Some(8), "{longest:?}");
    }
}
