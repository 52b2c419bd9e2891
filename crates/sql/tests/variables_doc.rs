//! `docs/variables.md` is the table of system variables, in words. `VAQUITA_WRITE_DOCS=1` writes it anew.

use std::fmt::Write;
use vaquita_sql::vars::{Access, Effect, Scope, VarDef, all, describe};

const HEAD: &str = "# System variables

Names, ranges and defaults are those of MySQL 5.6.24, found out by asking it, and of 5.7's manual for later ones. Differences in
defaults: `sql_mode` is that of 5.7; character sets are `utf8mb4`; `innodb_file_format` is Barracuda, `innodb_strict_mode` and
`innodb_large_prefix` are on; `innodb_buffer_pool_dump_pct` is 100, as 5.6, which has no such variable, dumps every page.

*Set* says when a variable gets its value: *always* (SET, option files, command line), *start* (option files, command line),
*never* (it tells how things are).
";

const WORKS: &str = "They do what MySQL's manual says.

`secure_file_priv` says where the files of LOAD DATA INFILE, INTO OUTFILE and INTO DUMPFILE may be: NULL nowhere (as in 5.7's packages,
and unlike 5.6), a folder there and below, the empty text anywhere. Whatever it says, they are never files that the data folder
lives on: those beside the folders of databases (tablespace, log, keys), those of `mysql`, and those of tables.

`progress_report_time` is MariaDB's: the seconds between reports of progress to its clients (0: none), as [server.md](server.md) tells.

`innodb_log_file_buffering` is MariaDB's. When it is OFF, the log goes to the disk without the page cache, by writes that are
durable when they return: one request for a commit instead of a write and a sync. That holds for `innodb_flush_method`
O_DIRECT and O_DIRECT_NO_FSYNC, and if `innodb_flush_log_at_trx_commit` is 1 at start: commits that do not wait for the disk
are faster through the page cache.

`innodb_read_io_threads` and `innodb_write_io_threads` count, together, the threads that carry transfers where io_uring does not:
because `innodb_use_native_aio` is OFF, or because the kernel has no rings, and then it says OFF.

`event_scheduler` = ON executes events, in a server and in the library; DISABLED, which only an option can say, lets nobody switch it
on, and so does `skip_grant_tables`. Where nothing can be written (`innodb_read_only`, `innodb_force_recovery`, a folder of another
server) it stays OFF.

`open_files_limit` says how many files the system lets the process open: all that it may have, and more if the option asks for more and
root starts it. `max_connections`, `memcached_max_connections`, `table_open_cache` and `innodb_open_files` are cut to fit, each with a
line in the log.

`innodb_buffer_pool_filename` never names a file that is there and is something else than a list of pages: it stays, and the dump's
status says so. A list that is damaged is said in the log, and nothing of it is loaded.

`max_join_size` counts combinations of rows: those of every table of a query block, by the estimates that EXPLAIN shows; it compares
them where MySQL 5.6 does, at SELECT and every subquery and derived table that runs, and at UPDATE and DELETE of several tables. (5.6.24
compares its own estimate of costs, which are lower: a limit near to what a query needs lets it through there and not here.)

`sql_auto_is_null` finds the row of the last generated value as 5.6.24 does: once after an INSERT, where `column IS NULL` is all of
WHERE.

`tmpdir` names one folder or several with `:` between them, which are used in turn; unless it is set, it is that of the process
(`TMPDIR`, `/tmp`). A folder that is not there stops the start. The limits of memory, and the default of `global_connection_memory_limit`, which
follows from the machine, are told in [server.md](server.md#what-a-statement-may-take).";

const REFUSED: &str = "
## Variables that are refused

They would change answers, durability or access, or they ask for something that is not here. Their default, and what else says how
things are (`sql_log_bin = 0` where there is no binary log), is taken in silence. Anything else is error 1231 with the reason, and at
start a message and exit code 2. An option file that is shared with other servers can say `loose-` before such a line
(`loose-log-bin`): then it is left out, with a warning in the log. `--skip-log-bin` on the command line takes it back, too.

| variable | taken | why |
|---|---|---|
";

fn table(out: &mut String, title: &str, text: &str, defs: impl Iterator<Item = &'static VarDef>) {
    let _ = write!(
        out,
        "\n## {title}\n\n{text}\n\n| variable | scope | set | values | default |\n|---|---|---|---|---|\n"
    );
    for def in defs {
        let scope = match def.scope {
            Scope::Global => "global",
            Scope::Session => "session",
            Scope::Both => "both",
        };
        let set = match def.access {
            Access::Live => "always",
            Access::Fixed => "start",
            Access::Fact => "never",
        };
        let default = match def.default {
            "\0" => "NULL".to_owned(),
            "" => String::new(),
            text => format!("`{text}`").replace('|', "\\|"),
        };
        let _ = writeln!(out, "| `{}` | {scope} | {set} | {} | {default} |", def.name, describe(def.kind));
    }
}

#[test]
fn the_page_says_what_the_table_says() {
    let mut page = HEAD.to_owned();
    let with = |effect: Effect| all().iter().filter(move |def| def.effect == effect);
    table(&mut page, "Variables that work", WORKS, with(Effect::Works));
    table(
        &mut page,
        "Variables that work with their value at start",
        "The engine takes them when it is opened. SET GLOBAL changes the value that is shown, and warns.",
        with(Effect::AtStart),
    );
    table(
        &mut page,
        "Variables that only tune",
        "They tune what is not here, or what tunes itself: neither answers nor durability nor access depend on them. They can be read \
         and set, with MySQL's ranges and errors. A value that is neither the default nor the one the variable has is warned of: by \
         SET (warning 1105), and in the server's log at start.",
        with(Effect::Tuning),
    );
    table(
        &mut page,
        "Variables of what is not here and not missed",
        "As those before, but they go on to say how things are: what they would switch on does not exist.",
        with(Effect::Absent),
    );
    page.push_str(REFUSED);
    for def in all() {
        if let Effect::Refused(why) = def.effect {
            let default = match def.default {
                "\0" => "NULL".to_owned(),
                text => format!("`{text}`").replace('|', "\\|"),
            };
            let _ = writeln!(page, "| `{}` | {default} | {why} |", def.name);
        }
    }
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/variables.md");
    if std::env::var_os("VAQUITA_WRITE_DOCS").is_some() {
        std::fs::write(&path, &page).expect("writes");
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(there == page, "docs/variables.md is not what the table says; VAQUITA_WRITE_DOCS=1 writes it");
}
