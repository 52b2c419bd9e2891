//! All integration tests of the crate in one program, so that the engine is linked once.
#![allow(clippy::unwrap_used, reason = "tests")]

mod cursor;
mod ddl_crash;
mod ddl_latch;
mod ddl_tables;
mod ddl_threads;
mod dict_mysql_folder;
mod dict_mysql_server;
mod dict_new_folder;
#[path = "small/documents.rs"]
mod documents;
mod fulltext_beside;
mod fulltext_builds;
mod fulltext_crash;
mod fulltext_ddl_crash;
mod fulltext_lengths;
mod fulltext_mysql_folder;
mod fulltext_searches;
mod held_keys;
mod imports;
mod index_builds;
mod objects;
mod partition_crash;
mod rebuilds;
mod rename_crash;
mod rows;
mod scale;
#[path = "../../storage/tests/slow_disk/mod.rs"]
mod slow_disk;
mod small;
