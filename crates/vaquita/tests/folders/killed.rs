//! Folders of servers that were killed: what is active is said, and nothing that the log mends is called broken.

use vaquita_peers::{Mysql56, Server, Session};

use crate::folders::{check, workload};

fn session(server: &Server) -> Session {
    let mut session = server.session().unwrap();
    session.run("use w").unwrap();
    session
}

#[test]
fn with_active_prepared_and_unpurged_transactions() {
    let mut server = Mysql56::start(workload::options()).unwrap();
    workload::create(&server);
    workload::fill(&server);
    let mut reader = session(&server);
    reader.run("start transaction with consistent snapshot").unwrap();
    reader.run("select count(*) from tc").unwrap();
    workload::change(&server);

    let mut active = session(&server);
    active.run("start transaction").unwrap();
    for statement in [
        "insert into tc (id, code, body) select n + 700000, concat('a', n), repeat('b', n * 10) from seq where n < 900",
        "update td set code = concat('act', id), data = repeat('d', 9000) where id % 50 = 9",
        "delete from tr where id % 9 = 8",
        "update nopk set b = concat(b, 'z') where a % 2 = 0",
        "delete from child where id % 31 = 3",
    ] {
        active.run(statement).unwrap();
    }
    let mut prepared = session(&server);
    prepared.run("xa start 'global', 'branch', 7").unwrap();
    prepared.run("update tc set price = 5, name = 'prepared' where id % 40 = 11 and id < 100000").unwrap();
    prepared.run("insert into pkprefix select concat('xa', n), n, 'c' from seq where n < 40").unwrap();
    prepared.run("xa end 'global', 'branch', 7").unwrap();
    prepared.run("xa prepare 'global', 'branch', 7").unwrap();
    // The log is with the system, so the kill loses nothing of it.
    server.sql("insert into w.parent values (5000)").unwrap();
    server.kill();

    let (code, out) = check(server.datadir());
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("not shut down cleanly"), "{out}");
    tear_a_page(&server);
    assert!(out.contains("1 transactions active, 1 prepared"), "{out}");
    assert!(out.contains("is prepared") && out.contains("xid 'global','branch',7"), "{out}");

    // Recovery takes back what was active; the prepared transaction stays.
    server.start_again().unwrap();
    server.shutdown().unwrap();
    let (code, out) = check(server.datadir());
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("0 transactions active, 1 prepared"), "{out}");
}

/// A power cut leaves a page half written; its copy in the doublewrite area makes it whole, and without it the page is
/// named.
fn tear_a_page(server: &Server) {
    use std::os::unix::fs::FileExt;
    const P: usize = 16384;
    let system = std::fs::read(server.datadir().join("ibdata1")).unwrap();
    let page = |no: usize| &system[no * P..][..P];
    let area = vaquita_format::trx_sys::Doublewrite::read(page(5)).unwrap().unwrap();
    // The root of SYS_TABLES, which nothing makes anew, and the place of a copy.
    let (at, copy) = (8, area.blocks[1].get() as usize + 3);
    let file = std::fs::File::options().write(true).open(server.datadir().join("ibdata1")).unwrap();
    file.write_all_at(page(at), (copy * P) as u64).unwrap();
    file.write_all_at(&[0xEE; P / 2], (at * P + P / 2) as u64).unwrap();
    let (code, out) = check(server.datadir());
    assert_eq!(code, 0, "{out}");
    file.write_all_at(&[0xDD; 64], (copy * P + 1000) as u64).unwrap();
    let (code, out) = check(server.datadir());
    assert_eq!(code, 1, "{out}");
    assert!(out.contains(&format!("    page {at}: ")), "{out}");
    file.write_all_at(page(at), (at * P) as u64).unwrap();
    file.write_all_at(page(copy), (copy * P) as u64).unwrap();
}

/// Statements are under way in all tables when the server dies.
#[test]
fn in_the_middle_of_statements() {
    let mut server = Mysql56::start(workload::options()).unwrap();
    workload::create(&server);
    workload::fill(&server);
    for round in 0..5 {
        let mut sessions: Vec<Session> = Vec::new();
        for (name, _) in workload::FORMATS.iter().filter(|(name, _)| *name != "tz") {
            let mut worker = session(&server);
            worker
                .send(&format!(
                    "update {name} set code = concat('m{round}', id), grp = grp + 1, body = concat(body, 'm'), \
                     data = if(id % 10 = {round}, repeat('L', 12000), data) where id % 3 < 2"
                ))
                .unwrap();
            sessions.push(worker);
        }
        let mut worker = session(&server);
        worker.send("insert into nopk select n, concat('k', n) from seq").unwrap();
        // Some time passes, of a different length each round.
        for _ in 0..round * 3 {
            server.sql("select count(*) from w.seq a, w.seq b where a.n + b.n < 5").unwrap();
        }
        server.kill();
        let (code, out) = check(server.datadir());
        assert_eq!(code, 0, "round {round}: {out}");
        server.start_again().unwrap();
    }
    server.shutdown().unwrap();
    let (code, out) = check(server.datadir());
    assert_eq!(code, 0, "{out}");
}

/// A pool that is too small for the table: changes of its indexes wait in the change buffer.
#[test]
fn with_changes_in_the_change_buffer() {
    let options =
        workload::options().set("innodb_buffer_pool_size", "5M").set("innodb_change_buffering", "all");
    let mut server = Mysql56::start(options).unwrap();
    workload::create(&server);
    let mut sql = String::from(
        "use w; create table big (id int not null primary key, a int, b varchar(200), key ka (a, b), key kb (b(50)))
           engine=innodb;\n",
    );
    for part in 0..14 {
        sql += &format!(
            "insert into big select n + {}, (n * 7919 + {part}) % 100003, concat(md5(n + {part} * 5000), repeat('x', 120))
               from seq;\n",
            part * 2048
        );
    }
    sql += "delete from big where id % 7 = 3; update big set a = a + 1 where id % 11 = 5;\n";
    server.sql(&sql).unwrap();
    server.kill();
    let (code, out) = check(server.datadir());
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("change buffer: "), "{out}");

    // A server that has time merges them all before it ends, so it is asked more than once.
    let waits_at_shutdown = (0..8).any(|attempt| {
        server.start_again().unwrap();
        server
            .sql(&format!(
                "use w; update big set a = a + 3 where id % 13 = {attempt}; delete from big where id % 170 = {attempt};
                  insert into big select id + {attempt} * 100000 + 100000, a, b from big where id < 30000 and id % 5 = 0;"
            ))
            .unwrap();
        server.shutdown().unwrap();
        let (code, out) = check(server.datadir());
        assert_eq!(code, 0, "attempt {attempt}: {out}");
        out.contains("change buffer: ")
    });
    assert!(waits_at_shutdown, "no clean shutdown has left a change waiting");

    // Killed while changes are brought to their pages, and new ones come.
    for round in 0..3 {
        server.start_again().unwrap();
        let mut scan = session(&server);
        scan.send("select count(distinct a, b) from big force index (ka)").unwrap();
        let mut writer = session(&server);
        writer.send(&format!("update big set a = a + 7 where id % 19 = {round}")).unwrap();
        for n in 0..3 + round * 4 {
            server.sql(&format!("insert into w.parent values ({} + {n})", 9000 + round * 100)).unwrap();
        }
        server.kill();
        let (code, out) = check(server.datadir());
        assert_eq!(code, 0, "round {round}: {out}");
    }
    server.start_again().unwrap();
    server.shutdown().unwrap();
    let (code, out) = check(server.datadir());
    assert_eq!(code, 0, "{out}");

    // Without the change buffer the indexes cannot be compared, and nothing is called wrong.
    let (code, out) = check(&server.datadir().join("w/big.ibd"));
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("a change buffer that is not here"), "{out}");
}

#[test]
fn with_undo_tablespaces() {
    use std::os::unix::fs::FileExt;
    use vaquita_format::{PageSize, checksum, fil, undo};
    let mut server = Mysql56::start(workload::options().set("innodb_undo_tablespaces", 2)).unwrap();
    workload::create(&server);
    workload::fill(&server);
    workload::change(&server);
    let mut active = session(&server);
    active.run("start transaction").unwrap();
    active.run("update tc set price = 11, code = concat('u', id) where id % 3 = 0").unwrap();
    active.run("insert into nopk select n, 'new' from seq").unwrap();
    server.sql("insert into w.parent values (5000)").unwrap();
    server.kill();
    let (code, out) = check(server.datadir());
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("undo001") && out.contains("undo002"), "{out}");
    assert!(out.contains("1 transactions active, 0 prepared"), "{out}");

    server.start_again().unwrap();
    server.shutdown().unwrap();
    let (code, out) = check(server.datadir());
    assert_eq!(code, 0, "{out}");
    assert!(!out.contains("note:"), "{out}");

    // An undo page of the second one is broken.
    let path = server.datadir().join("undo002");
    let bytes = std::fs::read(&path).unwrap();
    const P: usize = 16384;
    let src = vaquita::workshop::SpaceFile::open(std::slice::from_ref(&path)).unwrap();
    let used = |no: usize| {
        vaquita::workshop::walk::is_allocated(&src, vaquita_base::PageNo(no as u32)) == Some(true)
    };
    let is_undo = |page: &[u8]| fil::page_type(page) == Some(fil::PageType::UndoLog);
    let no = bytes.chunks(P).enumerate().position(|(no, page)| is_undo(page) && used(no)).unwrap();
    let mut page = bytes[no * P..][..P].to_vec();
    page[undo::PAGE_TYPE + 1] = 9;
    checksum::stamp(&mut page, PageSize::DEFAULT, checksum::ChecksumAlgorithm::Innodb);
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.write_all_at(&page, (no * P) as u64).unwrap();
    let (code, out) = check(server.datadir());
    assert_eq!(code, 1, "{out}");
    let lines: Vec<&str> = out.lines().collect();
    let at = lines.iter().position(|l| l.starts_with("undo002") && l.contains("FAULTY"));
    let at = at.unwrap_or_else(|| panic!("{out}"));
    assert!(lines[at + 1].contains(&format!("page {no}: undo page type")), "{out}");
    assert_eq!(lines.iter().filter(|l| l.contains("FAULTY")).count(), 1, "{out}");
}

/// Definitions are being changed when the server dies: tables and indexes that are half built are no faults.
#[test]
fn in_the_middle_of_definitions() {
    let mut server = Mysql56::start(workload::options()).unwrap();
    workload::create(&server);
    workload::fill(&server);
    server.sql("use w; insert into nopk select a.a, a.b from nopk a, seq s where s.n < 14").unwrap();
    let changes = [
        "alter table nopk add column x int default 7, algorithm=inplace",
        "alter table nopk add key kx (b, a), algorithm=inplace",
        "alter table nopk add column y int default 7, algorithm=copy",
        "alter table nopk row_format=dynamic",
        "create table nopk2 (key (a), key (b)) engine=innodb select * from nopk",
        "truncate table tc",
        "drop table td",
        "rename table tr to tr2",
    ];
    for (round, change) in changes.iter().enumerate() {
        let mut worker = session(&server);
        worker.send(change).unwrap();
        for _ in 0..2 + round % 3 {
            server.sql("select count(*) from w.seq a, w.seq b where a.n + b.n < 5").unwrap();
        }
        // A commit brings the log to the system, up to where the change has come.
        server.sql(&format!("insert into w.parent values (5000 + {round})")).unwrap();
        server.kill();
        let (code, out) = check(server.datadir());
        assert_eq!(code, 0, "{change}: {out}");
        server.start_again().unwrap();
    }
    server.shutdown().unwrap();
    // MySQL 5.6 changes files and dictionary one after the other and does not mend what is between them: DROP TABLE and its
    // like can leave a table without its file, or a file without its table. There is nothing else to find.
    let (_, out) = check(server.datadir());
    let lines = out.lines().skip_while(|line| !line.starts_with("dictionary ")).skip(1);
    for line in lines.take_while(|line| line.starts_with(' ')) {
        let known = ["note: ", "file of a table: w/t", "orphan file: w/"];
        assert!(known.iter().any(|known| line.trim_start().starts_with(known)), "{out}");
    }
    assert!(out.lines().all(|line| !line.contains("FAULTY") || line.starts_with("dictionary ")), "{out}");
}
