//! The store on tables, at the engine: no protocol, no SQL.

mod bed;
mod operations;
