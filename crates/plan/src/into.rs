//! Where the rows of SELECT … INTO go.

use crate::file_format::FileFormat;
use vaquita_expr::CompileCx;
use vaquita_parser::ast;
use vaquita_types::{SqlError, SqlResult};

/// Where rows go.
#[derive(Debug)]
pub enum Into {
    /// Variables.
    Vars(Vec<Target>),
    /// INTO DUMPFILE.
    DumpFile(Vec<u8>),
    /// INTO OUTFILE.
    OutFile(Vec<u8>, FileFormat),
}

/// A variable that takes a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A user variable.
    User(Vec<u8>),
    /// A local variable of a stored program, by its place.
    Local(u32),
}

impl Into {
    pub(super) fn new(into: &ast::IntoClause<'_>, columns: usize, _: &CompileCx<'_>) -> SqlResult<Into> {
        Ok(match into {
            ast::IntoClause::Vars(vars) => {
                let mut names = Vec::new();
                for var in *vars {
                    match var {
                        ast::IntoVar::User(name) => names.push(Target::User(name.name.to_vec())),
                        ast::IntoVar::Local(place) => names.push(Target::Local(*place)),
                        ast::IntoVar::Unknown(name) => {
                            return Err(SqlError::new(1327, format!("Undeclared variable: {name}")));
                        }
                    }
                }
                if names.len() != columns {
                    return Err(SqlError::new(
                        1222,
                        "The used SELECT statements have a different number of columns",
                    ));
                }
                Into::Vars(names)
            }
            ast::IntoClause::DumpFile(file) => Into::DumpFile(file.to_vec()),
            ast::IntoClause::OutFile { file, format, .. } => {
                let format = FileFormat::of(format)?;
                Into::OutFile(file.to_vec(), format)
            }
        })
    }
}
