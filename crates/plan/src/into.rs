//! Where the rows of SELECT … INTO go.

use crate::file_format::FileFormat;
use vaquita_expr::CompileCx;
use vaquita_parser::ast;
use vaquita_types::{SqlError, SqlResult};

/// Where rows go.
#[derive(Debug)]
pub enum Into {
    /// User variables.
    Vars(Vec<Vec<u8>>),
    /// INTO DUMPFILE.
    DumpFile(Vec<u8>),
    /// INTO OUTFILE.
    OutFile(Vec<u8>, FileFormat),
}

impl Into {
    pub(super) fn new(into: &ast::IntoClause<'_>, columns: usize, _: &CompileCx<'_>) -> SqlResult<Into> {
        Ok(match into {
            ast::IntoClause::Vars(vars) => {
                let mut names = Vec::new();
                for var in *vars {
                    match var {
                        ast::IntoVar::User(name) => names.push(name.name.to_vec()),
                        ast::IntoVar::Local(name) => {
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
