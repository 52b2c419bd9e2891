//! The store on tables, at the engine: no protocol, no SQL.

mod batches;
mod bed;
mod crash;
mod definitions;
mod expiring;
mod mappings;
mod mixed;
mod model;
mod operations;
mod threads;
