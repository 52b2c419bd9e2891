//! percona-toolkit: online changes of definitions by triggers while others write, checksums by chunks, archiving, duplicate
//! keys, grants, differences between tables.

use crate::debian::{self, Debian};
use crate::{Application, Extent, Failure, Stage};
use std::sync::atomic::{AtomicBool, Ordering};
use vaquita_peers::Flavour;

/// percona-toolkit of Debian's package, on Perl's `DBD::mysql`.
pub const PERCONA: Application = Application { name: "percona", peer: Flavour::Mysql56, settings: &[], play };

const TABLES: &str = "
use pt;
create table t (id int unsigned not null auto_increment primary key, name varchar(50) not null, n int, note text,
  at timestamp not null default current_timestamp, key (n), key n2 (n), key nn (n, name), key named (name), unique nu (id, n));
insert into t (name, n, note, at) values ('Ada', 1, 'x', '2020-01-01'), ('Größe 🐬', 2, null, '2020-01-02'),
  ('O''Hara', 3, 'line\\nbreak', '2020-01-03');
insert into t (name, n, note, at) select concat(a.name, b.n, c.id), a.n * b.n + c.n, c.note, a.at
  from t a, t b, t c, t d, t e order by a.id, b.id, c.id, d.id, e.id;
create table child (id int primary key auto_increment, t int unsigned not null, constraint c_t foreign key (t) references t (id));
insert into child (t) select id from t where id % 3 = 0 order by id;
create table archive like t;
alter table archive add extra int default 5;
create table written (id int primary key auto_increment, a varchar(20), b int, key (b));
insert into written (a, b) select name, n from t order by id;
create table mirror like written;
insert into mirror select * from written;
";

/// One run on a stage.
struct Run<'s> {
    stage: &'s Stage,
    debian: Debian,
}

impl Run<'_> {
    /// Where a table is, as the tools are told.
    fn dsn(&self, table: &str) -> String {
        let at =
            format!("h=127.0.0.1,P={},u={},p={},A=utf8", self.stage.host.port, Stage::USER, Stage::PASSWORD);
        if table.is_empty() { at } else { format!("{at},D=pt,t={table}") }
    }

    fn tool(&self, name: &str, words: &[&str]) -> Result<String, Failure> {
        self.stage.run(self.debian.perl(&format!("usr/bin/{name}")).args(words))
    }

    /// pt-online-schema-change; what it says without times and guesses.
    fn change(&self, table: &str, alter: &str, more: &[&str]) -> Result<String, Failure> {
        let dsn = self.dsn(table);
        let words = [
            "--alter",
            alter,
            "--execute",
            "--recursion-method",
            "none",
            "--max-load",
            "",
            "--critical-load",
            "",
        ];
        let out = self.tool("pt-online-schema-change", &[&words[..], more, &[&dsn]].concat())?;
        let said =
            out.lines().filter(|line| !line.contains("pprox")).map(|line| match line.split_once(' ') {
                Some((moment, rest)) if moment.starts_with("20") && moment.contains('T') => rest,
                _ => line,
            });
        Ok(said.collect::<Vec<_>>().join("\n") + "\n")
    }

    /// Others insert, change and delete rows of a table while it is changed, and of a mirror of it that is left alone.
    fn change_while_written(&self) -> Result<String, Failure> {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut round = 0;
                while !stop.load(Ordering::SeqCst) {
                    round += 1;
                    self.stage.sql(&format!("use pt; {}", writes(round)))?;
                }
                Ok::<(), Failure>(())
            });
            let changed = self.change(
                "written",
                "add column c int not null default 7, modify a varchar(60) character set utf8mb4, add index (a)",
                &["--chunk-size", "5", "--sleep", "0.02", "--no-check-plan"],
            );
            stop.store(true, Ordering::SeqCst);
            writer.join().map_err(|_| Failure("the writer panicked".into()))??;
            changed.map(drop)
        })?;
        let sum = |table| format!("select md5(group_concat(id, ':', a, ':', b order by id)) from {table}");
        let sums =
            format!("use pt; set group_concat_max_len = 100000000; {}; {}", sum("written"), sum("mirror"));
        let sums = self.stage.sql(&sums)?;
        let values: Vec<&str> = sums.lines().skip(1).step_by(2).collect();
        if values.len() != 2 || values[0] != values[1] {
            return Err(Failure(format!("on {}: writes were lost: {sums}", self.stage.host.name)));
        }
        self.stage
            .sql("use pt; show create table written; select distinct c from written; check table written")
            .map(|text| without_number(&text, "AUTO_INCREMENT="))
    }
}

/// Changes of both tables in one transaction.
fn writes(round: u32) -> String {
    let of_table = |table: &str| {
        format!(
            "insert into {table} (id, a, b) values ({}, 'r{round}', {round}); \
             update {table} set b = b + 1000 where id % 11 = {round} % 11; delete from {table} where id = {round}; \
             replace into {table} (id, a, b) values (200, 'x', {round});",
            1000 + round
        )
    };
    format!("start transaction; {} {} commit", of_table("written"), of_table("mirror"))
}

/// A text without the digits behind some words.
fn without_number(text: &str, words: &str) -> String {
    let mut parts = text.split(words);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |kept, part| kept + words + part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

fn play(stage: &Stage) -> Result<String, Failure> {
    let run = Run { stage, debian: debian::install()? };
    stage.create_database("pt", "utf8mb4")?;
    stage.sql(TABLES)?;
    if stage.extent == Extent::Long {
        let more = "insert into t (name, n, note, at) select name, n, note, at from t order by id;";
        stage.sql(&format!("use pt; {}", more.repeat(6)))?;
    }
    let mut said = run.change(
        "t",
        "add column extra int default 5, drop key n2, modify note mediumtext",
        &["--alter-foreign-keys-method", "rebuild_constraints", "--chunk-size", "50"],
    )?;
    said += &run.change("t", "add index xx (extra)", &["--alter-foreign-keys-method", "drop_swap"])?;
    said += &stage.sql("use pt; show create table t; show create table child; checksum table t, child")?;
    said += &run.change_while_written()?;
    said += &checksums(&run)?;
    said += &duplicate_keys(&run)?;
    said += &archive(&run)?;
    said += &grants(&run)?;
    said += &synchronize(&run)?;
    Ok(said)
}

/// pt-duplicate-key-checker, without the bytes that it makes of the server's guess at the number of rows.
fn duplicate_keys(run: &Run<'_>) -> Result<String, Failure> {
    let out =
        run.tool("pt-duplicate-key-checker", &[&run.dsn(""), "--databases", "pt", "--tables", "t,child"])?;
    Ok(out
        .lines()
        .filter(|line| !line.starts_with("# Size Duplicate Indexes"))
        .fold(String::new(), |said, line| said + line + "\n"))
}

/// pt-table-checksum, whose sums are kept in a table.
fn checksums(run: &Run<'_>) -> Result<String, Failure> {
    let dsn = run.dsn("").replace(",A=utf8", "");
    let fixed = [
        "--no-check-binlog-format",
        "--recursion-method",
        "none",
        "--chunk-size",
        "100",
        "--replicate",
        "pt.checksums",
    ];
    run.tool(
        "pt-table-checksum",
        &[&fixed[..], &["--tables", "pt.t,pt.child", "--max-load", "", &dsn]].concat(),
    )?;
    run.stage.sql("select db, tbl, chunk, this_crc, this_cnt, lower_boundary, upper_boundary from pt.checksums order by 1, 2, 3")
}

/// pt-archiver: rows to another table, away, and into a file.
fn archive(run: &Run<'_>) -> Result<String, Failure> {
    let (from, to) = (run.dsn("t"), run.dsn("archive"));
    let common = ["--no-check-charset", "--limit", "20"];
    let tool = |words: &[&str]| run.tool("pt-archiver", &[words, &common].concat());
    let where_ = "id % 2 = 0 and not exists (select 1 from pt.child c where c.t = t.id)";
    tool(&["--source", &from, "--dest", &to, "--where", where_, "--txn-size", "30"])?;
    tool(&["--source", &to, "--purge", "--where", "n > 5", "--bulk-delete", "--commit-each"])?;
    let file = run.stage.scratch.join("archived.txt");
    tool(&["--source", &to, "--where", "1=1", "--no-delete", "--file", &file.display().to_string()])?;
    let counted = run.stage.sql("use pt; select count(*), sum(n) from t; select count(*), sum(n) from archive; checksum table t, archive")?;
    Ok(counted + &std::fs::read_to_string(file)?)
}

/// pt-show-grants: what it prints makes the account again.
fn grants(run: &Run<'_>) -> Result<String, Failure> {
    let make = "create user w@'127.0.0.1' identified by 'pw'; grant select, insert on pt.* to w@'127.0.0.1'; \
                grant update (name, n) on pt.t to w@'127.0.0.1' with grant option; grant process on *.* to w@'127.0.0.1'";
    run.stage.sql(make)?;
    let dsn = run.dsn("");
    let printed = |run: &Run<'_>| -> Result<String, Failure> {
        run.tool("pt-show-grants", &["--only", "w", "--no-header", "--no-timestamp", &dsn])
    };
    let text = printed(run)?;
    run.stage.sql(&format!("drop user w@'127.0.0.1'; {text}"))?;
    let again = printed(run)?;
    if again != text {
        return Err(Failure(format!("on {}: grants came back as {again}, not {text}", run.stage.host.name)));
    }
    let kept: Vec<&str> = text.lines().filter(|line| line.starts_with("GRANT")).collect();
    Ok(kept.join("\n") + "\n")
}

/// pt-table-sync makes a table that differs equal again.
fn synchronize(run: &Run<'_>) -> Result<String, Failure> {
    let copy = "use pt; create table t2 like t; insert into t2 select * from t where id % 5; update t2 set n = n + 1 where id % 7 = 1; \
                insert into t2 (id, name, n) values (100000, 'only here', 1)";
    run.stage.sql(copy)?;
    let from = run.dsn("t");
    // Status 2: there were differences.
    let words = ["--execute", "--chunk-size", "50", &from, "t=t2"];
    let ended = run.stage.finish(run.debian.perl("usr/bin/pt-table-sync").args(words), None)?;
    let sums = run.stage.sql("checksum table pt.t, pt.t2")?;
    let numbers: Vec<&str> = sums.lines().skip(1).filter_map(|line| line.split('\t').nth(1)).collect();
    if numbers.len() != 2 || numbers[0] != numbers[1] {
        return Err(Failure(format!("on {}: {sums}{}{}", run.stage.host.name, ended.out, ended.err)));
    }
    Ok(sums)
}
