//! Columns, given as SQL: the same text goes into the server's CREATE TABLE and into Vaquita's definition.

use vaquita_format::charset;
use vaquita_format::collation;
use vaquita_format::column::{BINARY_COLLATION, Charset, ColumnDef, LATIN1_SWEDISH_CI};
use vaquita_format::index_def::RowFormat;
use vaquita_format::value::{Value, ValueError, ValueType};

/// A column of a table to be built.
#[derive(Debug, Clone)]
pub struct Column {
    /// As InnoDB describes it.
    pub def: ColumnDef,
    /// Its definition in SQL, the name first.
    pub sql: String,
    /// The numbers in parentheses after the type.
    pub params: Vec<u32>,
    /// Labels of ENUM and SET.
    pub labels: Vec<String>,
}

impl Column {
    /// Reads a column definition: `name TYPE[(..)] [UNSIGNED] [CHARACTER SET x] [COLLATE x] [NULL | NOT NULL]
    /// [AUTO_INCREMENT]`. Text without a character set is latin1.
    ///
    /// # Panics
    /// If it is anything else: definitions are written down in tests.
    pub fn parse(sql: &str) -> Column {
        let (name, rest) = sql.split_once(' ').expect("a column has a type");
        let (ty, options) = split_type(rest);
        let (word, list) = ty.split_once('(').unwrap_or((ty, ")"));
        let list = list.trim_end_matches(')');
        let params: Vec<u32> = list.split(',').filter_map(|n| n.trim().parse().ok()).collect();
        let labels: Vec<String> = list
            .split(',')
            .filter_map(|l| l.trim().strip_prefix('\'')?.strip_suffix('\''))
            .map(str::to_owned)
            .collect();
        let options = Options::parse(options);
        let mut def = definition(name, &word.to_ascii_uppercase(), &params, labels.len() as u32, &options);
        if options.not_null {
            def = def.not_null();
        }
        Column { def, sql: sql.to_owned(), params, labels }
    }

    /// The column's name.
    pub fn name(&self) -> &str {
        &self.def.name
    }

    /// How values are stored in a table of this format.
    ///
    /// # Panics
    /// If the definition has no value type, which is a mistake of this module.
    pub fn value_type(&self, format: RowFormat) -> ValueType {
        let decimal = match self.params[..] {
            [precision, scale] => Some((precision, scale)),
            [precision] => Some((precision, 0)),
            _ => None,
        };
        ValueType::of_column(&self.def, format, decimal).expect("a defined column has a value type")
    }

    /// Digits of a fraction of a second.
    pub fn fraction_digits(&self) -> u32 {
        self.params.first().copied().unwrap_or(0)
    }

    /// The character set, of text.
    pub fn charset(&self) -> Option<charset::Charset> {
        let text = self.def.mbmaxlen != 0 && !self.def.is_binary();
        text.then(|| charset::Charset::of_collation(self.def.collation_id())).flatten()
    }

    /// Bytes of the longest start of a value that an index on a prefix stores.
    pub fn prefix_of(&self, value: &[u8], prefix_len: u32) -> usize {
        match self.charset() {
            Some(cs) => cs.prefix_len(value, (prefix_len / u32::from(self.def.mbmaxlen)) as usize),
            None => value.len().min(prefix_len as usize),
        }
    }

    /// The stored form of a value; `None` for NULL.
    ///
    /// # Errors
    /// As [`ValueType::encode`].
    pub fn encode(&self, value: &Value<'_>, format: RowFormat) -> Result<Option<Vec<u8>>, ValueError> {
        if *value == Value::Null {
            return Ok(None);
        }
        let mut out = Vec::new();
        self.value_type(format).encode(value, &mut out)?;
        Ok(Some(out))
    }
}

/// What follows the type.
#[derive(Debug, Default)]
struct Options {
    unsigned: bool,
    not_null: bool,
    collation: Option<u16>,
}

impl Options {
    fn parse(text: &str) -> Options {
        let mut options = Options::default();
        let mut words = text.split_whitespace();
        while let Some(word) = words.next() {
            match word.to_ascii_uppercase().as_str() {
                "UNSIGNED" => options.unsigned = true,
                "NULL" | "AUTO_INCREMENT" | "SET" => {}
                "NOT" => options.not_null = true,
                "CHARACTER" => {
                    let name = words.nth(1).expect("CHARACTER SET has a name");
                    options.collation = Some(default_collation(name));
                }
                "COLLATE" => options.collation = words.next().and_then(collation::by_name),
                other => panic!("column option {other} is not known here"),
            }
        }
        options
    }

    fn charset(&self) -> Charset {
        let collation = self.collation.unwrap_or(LATIN1_SWEDISH_CI);
        let cs = charset::Charset::of_collation(collation).expect("a collation has a character set");
        Charset { collation, mbminlen: cs.mb_min_len, mbmaxlen: cs.mb_max_len }
    }
}

/// The default collation of a character set.
fn default_collation(charset: &str) -> u16 {
    let charset = charset.to_ascii_lowercase();
    if charset == "binary" {
        return BINARY_COLLATION;
    }
    let of_charset = |&id: &u16| {
        collation::is_primary(id) && charset::Charset::of_collation(id).is_some_and(|c| c.name == charset)
    };
    (1..256).find(of_charset).unwrap_or_else(|| panic!("there is no character set {charset}"))
}

/// The type with its parentheses, and the rest.
fn split_type(text: &str) -> (&str, &str) {
    let end = match (text.find('('), text.find(' ')) {
        (Some(open), space) if space.is_none_or(|s| open < s) => {
            open + text[open..].find(')').expect("parentheses are closed") + 1
        }
        (_, Some(space)) => space,
        _ => text.len(),
    };
    (&text[..end], &text[end..])
}

fn definition(name: &str, word: &str, params: &[u32], labels: u32, options: &Options) -> ColumnDef {
    let unsigned = options.unsigned;
    let signed_or = |c: ColumnDef| if unsigned { c.unsigned() } else { c };
    let first = params.first().copied();
    let fsp = first.unwrap_or(0);
    let length = || first.expect("the type has a length");
    let cs = options.charset();
    match word {
        "TINYINT" => ColumnDef::int(name, 1, unsigned),
        "SMALLINT" => ColumnDef::int(name, 2, unsigned),
        "MEDIUMINT" => ColumnDef::int(name, 3, unsigned),
        "INT" => ColumnDef::int(name, 4, unsigned),
        "BIGINT" => ColumnDef::int(name, 8, unsigned),
        "FLOAT" => signed_or(ColumnDef::float(name)),
        "DOUBLE" => signed_or(ColumnDef::double(name)),
        "DECIMAL" => signed_or(ColumnDef::decimal(name, length(), params.get(1).copied().unwrap_or(0))),
        "BIT" => ColumnDef::bit(name, length()),
        "DATE" => ColumnDef::date(name),
        "YEAR" => ColumnDef::year(name),
        "TIME" => ColumnDef::time(name, fsp),
        "DATETIME" => ColumnDef::datetime(name, fsp),
        "TIMESTAMP" => ColumnDef::timestamp(name, fsp),
        "ENUM" => ColumnDef::enumeration(name, labels),
        "SET" => ColumnDef::set(name, labels),
        "CHAR" => ColumnDef::char(name, length(), cs),
        "VARCHAR" => ColumnDef::varchar(name, length(), cs),
        "BINARY" => ColumnDef::binary(name, length()),
        "VARBINARY" => ColumnDef::varbinary(name, length()),
        "TINYBLOB" => ColumnDef::blob(name, 1),
        "BLOB" => ColumnDef::blob(name, 2),
        "MEDIUMBLOB" => ColumnDef::blob(name, 3),
        "LONGBLOB" => ColumnDef::blob(name, 4),
        "TINYTEXT" => ColumnDef::text_blob(name, 1, cs),
        "TEXT" => ColumnDef::text_blob(name, 2, cs),
        "MEDIUMTEXT" => ColumnDef::text_blob(name, 3, cs),
        "LONGTEXT" => ColumnDef::text_blob(name, 4, cs),
        other => panic!("column type {other} is not known here"),
    }
}
