//! What the servers are given to do: tables of every row format with every kind of secondary index, and a history of
//! changes to them.

use vaquita_peers::{Options, Server};

/// Tables of the same columns and indexes in each format; `tp` is in the system tablespace.
pub(crate) const FORMATS: [(&str, &str); 5] = [
    ("tc", "row_format=compact"),
    ("tr", "row_format=redundant"),
    ("td", "row_format=dynamic"),
    ("tz", "row_format=compressed key_block_size=8"),
    ("tp", "row_format=compact"),
];

/// The server's options for small folders with a lot of everything.
pub(crate) fn options() -> Options {
    Options::new().set("innodb_log_file_size", "4M").set("innodb_stats_auto_recalc", 0)
}

/// A database `w` with the tables, and numbers to fill them from.
pub(crate) fn create(server: &Server) {
    let mut sql = String::from(
        "create database w character set utf8; use w;
         create table seq (n int not null primary key) engine=memory; insert into seq values (0);\n",
    );
    for bit in 0..11 {
        sql += &format!("insert into seq select n + {} from seq;\n", 1 << bit);
    }
    for (name, format) in FORMATS {
        sql += &format!("set global innodb_file_per_table = {};\n", u8::from(name != "tp"));
        sql += &format!(
            "create table {name} (
               id int not null primary key, grp int, code varchar(20) character set latin1 not null,
               name varchar(60), label char(8), body text, data blob, price decimal(10,2), ratio float,
               unique key u (code), key g (grp, ratio), key pfx (name(7)), key txt (body(60)), key bin (data(30), grp),
               key mixed (label(3), price, grp)) engine=innodb {format};\n"
        );
    }
    sql += "set global innodb_file_per_table = 1;
        create table pkprefix (a varchar(50) not null, b int, c text, primary key (a(12)), key kb (b), key kab (a, b))
          engine=innodb;
        create table nopk (a int, b varchar(30), key ka (a), key kb (b)) engine=innodb;
        create table parent (id int not null primary key) engine=innodb;
        create table child (id int not null primary key, p int, constraint fk foreign key (p) references parent (id))
          engine=innodb;\n";
    server.sql(&sql).unwrap();
}

/// Rows 0..2048 of every table.
pub(crate) fn fill(server: &Server) {
    let mut sql = String::from("use w;\n");
    for (name, _) in FORMATS {
        sql += &format!(
            "insert into {name} select n, if(n % 7 = 0, null, n % 50), concat('Code', n), \
             if(n % 5 = 0, null, concat(if(n % 3, 'ä€n', 'Nam'), n % 40, repeat('x', n % 30))), \
             if(n % 11 = 0, null, concat('é', char(65 + n % 20), n % 9)), \
             if(n % 13 = 0, null, repeat(concat('text', n % 17), if(n % 90 = 1, 3000, n % 12))), \
             if(n % 4 = 0, null, repeat(char(n % 250), if(n % 120 = 3, 20000, n % 60))), n / 7, n / 3 from seq;\n"
        );
    }
    sql += "insert into pkprefix select concat('row', n, repeat('z', n % 20)), n % 30, repeat('c', n % 100) from seq;
        insert into nopk select if(n % 3 = 0, null, n % 100), concat('v', n % 200) from seq;
        insert into parent select n from seq where n < 100;
        insert into child select n, if(n % 9 = 0, null, n % 100) from seq;\n";
    server.sql(&sql).unwrap();
}

/// Changes of every kind: in place, of keys, of letters' case alone, deletes, keys that come back, rollbacks.
pub(crate) fn change(server: &Server) {
    let mut sql = String::from("use w;\n");
    for (name, _) in FORMATS {
        sql += &format!(
            "update {name} set grp = grp + 1 where id % 3 = 0;
             update {name} set code = upper(code) where id % 5 = 0;
             update {name} set body = concat('new', body), ratio = null where id % 17 = 0;
             update {name} set data = repeat('q', 9000) where id % 300 = 7;
             update {name} set id = id + 100000 where id % 29 = 0;
             delete from {name} where id % 10 = 4;
             insert into {name} select n, n, concat('code', n), 'again', null, null, null, null, 1 from seq
               where n % 20 = 4 and n % 29 > 0;
             start transaction;
             update {name} set name = concat(name, '!'), label = 'zz', data = 'short' where id % 4 = 1;
             delete from {name} where id % 7 = 2;
             insert into {name} (id, code) select n + 500000, concat('r', n) from seq where n < 300;
             rollback;
             start transaction;
             update {name} set price = price + 1 where id % 2 = 0;
             savepoint s;
             update {name} set code = concat('x', code) where id % 2 = 1;
             rollback to savepoint s;
             commit;\n"
        );
    }
    sql += "update pkprefix set a = upper(a) where b % 3 = 0; update pkprefix set b = b + 1 where b % 4 = 0;
        delete from pkprefix where b % 7 = 3; update nopk set a = a + 1, b = concat(b, 'w') where a % 5 = 1;
        delete from nopk where a % 11 = 0; delete from child where id % 8 = 0; update child set p = 5 where id % 6 = 1;\n";
    server.sql(&sql).unwrap();
}
