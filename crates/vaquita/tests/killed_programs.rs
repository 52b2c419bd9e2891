//! A server that is killed while clients call procedures: triggers change further tables, temporary tables come and go, triggers are
//! defined anew. The folder as it was left has no fault, and after the next start what triggers did is there with its transaction or
//! not at all, and temporary tables are gone.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use common::{Scratch, vaquita};
use std::path::Path;
use std::process::Stdio;
use vaquita_clients::Vaquita;

const CLIENTS: usize = 3;

const MADE: &str = "create database d; use d;
create table t (id int primary key auto_increment, s int, n int, v varchar(200), key (s, n), key (v(30)));
create table audit (k int primary key auto_increment, s int, id int, n int, key (s, id));
create table sums (s int primary key, total bigint, cnt int);
create table counts (s int primary key, c int);
insert into sums values (0, 0, 0), (1, 0, 0), (2, 0, 0);
insert into counts values (0, 0), (1, 0), (2, 0);
delimiter //
create trigger t_ai after insert on t for each row begin
  insert into audit (s, id, n) values (new.s, new.id, new.n);
  update sums set total = total + new.n, cnt = cnt + 1 where s = new.s;
end//
create trigger t_au after update on t for each row begin
  insert into audit (s, id, n) values (new.s, new.id, new.n - old.n);
  update sums set total = total + new.n - old.n where s = new.s;
end//
create trigger t_ad after delete on t for each row begin
  insert into audit (s, id, n) values (old.s, old.id, -old.n);
  update sums set total = total - old.n, cnt = cnt - 1 where s = old.s;
end//
create trigger audit_ai after insert on audit for each row update counts set c = c + 1 where s = new.s//
create procedure work(w int, i int) begin
  declare n int default 0;
  create temporary table if not exists held (i int primary key, v varchar(300));
  start transaction;
  while n < 5 do
    insert into t (s, n, v) values (w, i + n, repeat(char(97 + n), 150));
    replace into held values (n, repeat('y', 300));
    set n = n + 1;
  end while;
  update t set n = n + 1 where s = w order by id desc limit 3;
  if i % 4 = 0 then delete from t where s = w order by id limit 4; end if;
  if i % 7 = 0 then rollback; else commit; end if;
  if i % 5 = 0 then drop temporary table held; end if;
end//
create procedure versions(i int) begin end//
delimiter ;
";

/// What one client sends until the server is gone.
fn calls(client: usize) -> String {
    let mut script = "use d;\n".to_owned();
    for i in 1..4_000 {
        script += &format!("call work({client}, {i});\n");
        if client == 0 && i % 3 == 0 {
            script += &format!("create or replace view v as select {i} as a, {i} as b from t;\n");
            script += &format!(
                "drop procedure if exists versions; create procedure versions() select {i} as a, {i} as b;\n"
            );
        }
    }
    script
}

fn check(server: &Vaquita, round: u32) {
    let tell = |sql: &str| server.sql(sql).unwrap_or_else(|e| panic!("round {round}: {sql}: {e}"));
    let differing = tell(
        "select s, total, cnt from d.sums where total <> (select ifnull(sum(n), 0) from d.t where t.s = sums.s)
           or cnt <> (select count(*) from d.t where t.s = sums.s)
           or total <> (select ifnull(sum(n), 0) from d.audit where audit.s = sums.s)",
    );
    assert_eq!(differing.trim(), "", "round {round}: what triggers have summed up");
    let differing =
        tell("select s, c from d.counts where c <> (select count(*) from d.audit where audit.s = counts.s)");
    assert_eq!(differing.trim(), "", "round {round}: what triggers of triggers have counted");
    for table in ["t", "audit", "sums", "counts"] {
        let checked = tell(&format!("check table d.{table}"));
        assert!(checked.contains("OK"), "round {round}: {checked}");
    }
    for (table, index) in [("t", "s"), ("t", "v"), ("audit", "s")] {
        let counts = tell(&format!(
            "select (select count(*) from d.{table} force index ({index})) - (select count(*) from d.{table} use index ()) as n"
        ));
        assert_eq!(counts.lines().last(), Some("0"), "round {round}: {table}.{index}");
    }
    let gone = server.sql("select * from d.held").unwrap_err().to_string();
    assert!(gone.contains("1146"), "round {round}: {gone}");
    // A definition is whole: both of its numbers are the same.
    if let Ok(view) = server.sql("select a - b from d.v limit 1") {
        assert!(view.lines().last().is_none_or(|n| n == "0"), "round {round}: {view}");
    }
    match server.sql("call d.versions()") {
        Ok(answer) => {
            let row: Vec<&str> = answer.lines().last().unwrap_or_default().split('\t').collect();
            assert!(row.len() != 2 || row[0] == row[1], "round {round}: {answer}");
        }
        Err(e) => {
            let text = e.to_string();
            assert!(text.contains("1305") || text.contains("1318"), "round {round}: {text}");
        }
    }
}

#[test]
fn what_triggers_did_goes_with_its_transaction() {
    let scratch = Scratch::new("killed-programs");
    let dir = scratch.0.join("data");
    let mut server = Vaquita::start(Path::new(env!("CARGO_BIN_EXE_vaquita")), &dir, &[]).unwrap();
    let made = scratch.put("made.sql", MADE.as_bytes());
    let mut client = server.client("mariadb").unwrap();
    assert!(client.stdin(std::fs::File::open(made).unwrap()).status().unwrap().success());
    let scripts: Vec<_> =
        (0..CLIENTS).map(|n| scratch.put(&format!("calls{n}.sql"), calls(n).as_bytes())).collect();
    let mut before = 0;
    for round in 0..5 {
        let mut clients: Vec<_> = scripts
            .iter()
            .map(|script| {
                let mut client = server.client("mariadb").unwrap();
                // A deadlock ends a call, not the client.
                client.arg("--force").stdin(std::fs::File::open(script).unwrap());
                client.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
            })
            .collect();
        // Each time a little later.
        let written = |server: &Vaquita| -> u64 {
            let told = server.sql("select count(*) from d.audit").unwrap();
            told.lines().last().unwrap().parse().unwrap()
        };
        while written(&server) < before + 30 + 60 * u64::from(round) {}
        server.kill();
        clients.iter_mut().for_each(|client| {
            client.wait().unwrap();
        });
        let (code, out, err) = vaquita(&[&"check", &dir]);
        assert_eq!((code, &*err), (0, ""), "round {round}:\n{out}");
        server.start_again().unwrap();
        check(&server, round);
        before = written(&server);
    }
    assert!(before > 200, "{before} rows were written");
    server.stop().unwrap();
    let (code, out, _) = vaquita(&[&"check", &dir]);
    assert_eq!(code, 0, "{out}");
}
