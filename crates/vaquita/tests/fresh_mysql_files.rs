//! Files a running MySQL 5.6.24 has just written: our tools find no fault in them and read the rows it serves.
//!
//! Fixed fixtures show what the format was once; these show that our readers agree with the server itself on page
//! sizes, row formats, checksum algorithms and histories (deletes, updates, off-page values, compressed pages with
//! full modification logs) that no fixture holds. The server is the oracle: `dump` must print what SELECT returns.
#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use vaquita_peers::{Mysql56, Options, Server, scratch_dir};

/// A folder that goes with the value.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn vaquita(arguments: &[&str], file: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_vaquita")).args(arguments).arg(file).output().unwrap()
}

fn expect_check_passes(path: &Path) {
    let output = vaquita(&["check"], path);
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "vaquita check {}:\n{text}", path.display());
}

/// A server with a database `fresh` and, in it, a table `seq` of 8192 numbers.
fn start(options: Options) -> Server {
    let server = Mysql56::start(options.set("innodb_strict_mode", 1)).unwrap();
    let doubling: String =
        (0..13).map(|bit| format!("insert into seq select n + {} from seq;\n", 1 << bit)).collect();
    run(
        &server,
        &format!(
            "create table seq (n int not null primary key) engine=memory;\ninsert into seq values (1);\n{doubling}"
        ),
    );
    server
}

fn run(server: &Server, statements: &str) {
    let context = "create database if not exists fresh character set utf8;\nuse fresh;\nset sql_mode = '';\n";
    server.sql(&format!("{context}{statements}")).unwrap();
}

/// What `dump` prints: the rows in order of the clustered index, binary values in hexadecimal, floats as doubles.
fn rows_of_server(server: &Server, table: &str) -> String {
    let columns = server
        .rows(&format!(
            "select column_name, data_type from information_schema.columns
             where table_schema = 'fresh' and table_name = '{table}' order by ordinal_position"
        ))
        .unwrap();
    let list: Vec<String> = columns
        .iter()
        .map(|column| {
            let (name, kind) = (&column[0], column[1].as_str());
            match kind {
                "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" | "bit" => {
                    format!("hex(`{name}`) as `{name}`")
                }
                "float" => format!("`{name}` + 0e0 as `{name}`"),
                _ => format!("`{name}`"),
            }
        })
        .collect();
    let key: Vec<String> = server
        .rows(&format!(
            "select column_name from information_schema.key_column_usage
             where table_schema = 'fresh' and table_name = '{table}' and constraint_name = 'PRIMARY'
             order by ordinal_position"
        ))
        .unwrap()
        .into_iter()
        .map(|row| format!("`{}`", row[0]))
        .collect();
    let order = if key.is_empty() { String::new() } else { format!(" order by {}", key.join(", ")) };
    let rows = server.sql(&format!("select {} from fresh.`{table}`{order}", list.join(", "))).unwrap();
    if !rows.is_empty() {
        return rows;
    }
    // The client prints no line of names for an empty result.
    let names: Vec<&str> = columns.iter().map(|column| column[0].as_str()).collect();
    format!("{}\n", names.join("\t"))
}

/// Exports the tables; each file passes `check` and `dump` prints the server's rows.
fn agree(server: &Server, tables: &[&str]) {
    let folder = Scratch(scratch_dir("vq-fresh").unwrap());
    server.export("fresh", tables, &folder.0).unwrap();
    for table in tables {
        let file = folder.0.join(format!("{table}.ibd"));
        expect_check_passes(&file);
        let output = vaquita(&["dump"], &file);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "vaquita dump of {table}:\n{errors}");
        let ours = String::from_utf8(output.stdout).unwrap();
        compare(table, &ours, &rows_of_server(server, table));
    }
}

/// Names the first line that differs instead of printing two tables.
fn compare(table: &str, ours: &str, theirs: &str) {
    for (number, (our, their)) in ours.lines().zip(theirs.lines()).enumerate() {
        assert_eq!(our, their, "{table}: line {number}, ours first");
    }
    assert_eq!(ours.lines().count(), theirs.lines().count(), "{table}: number of lines, ours first");
}

/// Every column type, a third of the values NULL, extremes included.
fn types_table(name: &str, format: &str) -> String {
    format!(
        "create table {name} (
           id int not null auto_increment primary key,
           i1 tinyint, u1 tinyint unsigned, i2 smallint, i3 mediumint, u3 mediumint unsigned, i4 int, i8 bigint,
           u8 bigint unsigned, f float, d double, n1 decimal(10,2), n2 decimal(65,30), n4 decimal(4,4),
           b1 bit(1), b12 bit(12), b64 bit(64), dt date, t0 time, t3 time(3), t6 time(6), dt0 datetime,
           dt2 datetime(2), dt6 datetime(6), ts0 timestamp null, ts5 timestamp(5) null, y year,
           e1 enum('red','green','blue'), s1 set('a','b','c','d','e','f','g','h','i'),
           c_l char(10) character set latin1, c_u char(10) character set utf8, c_m char(10) character set utf8mb4,
           c_2 char(5) character set ucs2, c_s char(6) character set sjis,
           v_l varchar(20) character set latin1, v_u varchar(100) character set utf8,
           v_m varchar(60) character set utf8mb4, bi binary(8), vb varbinary(40), tb tinyblob, tx text,
           c_nn char(4) not null, dt_nn datetime not null,
           key (c_u, i4), key (n1), key (dt6), key (v_m(5)), key (e1), key (b12)
         ) engine=innodb {format} default charset=utf8;
         insert into {name} (id, i1, u1, i2, i3, u3, i4, i8, u8, f, d, n1, n2, n4, b1, b12, b64, dt, t0, t3, t6, dt0, dt2,
           dt6, ts0, ts5, y, e1, s1, c_l, c_u, c_m, c_2, c_s, v_l, v_u, v_m, bi, vb, tb, tx, c_nn, dt_nn)
         select n, if(n%3=0,null,n%256-128), if(n%3=1,null,n%256), if(n%5=0,null,32767-n), if(n%4=0,null,n*17-8388608),
           n*19, if(n%7=0,null,cast(crc32(n) as signed)-2147483648), if(n%11=0,null,if(n%2,1,-1)*cast(crc32(n) as signed)*2147483647), crc32(n)*4294967297,
           if(n%3=2,null,n/7), exp(n%600-300), if(n%4=1,null,n*1.01-3000), if(n%9=0,null,n/3*pow(10,n%30)), n/10000%1,
           n%2, if(n%3=0,null,n%4096), crc32(n)*4294967297, if(n%6=0,null,date_add('1000-01-01',interval n*1000 day)),
           sec_to_time(n*1500-3000000), if(n%8=0,null,sec_to_time(1500000-n*1100.125)),
           if(n%8=1,null,sec_to_time(n*1.000001-700)),
           date_add('1000-01-01 01:02:03',interval n*77777777 second), '1999-12-31 23:59:59.99',
           date_add('2001-01-01',interval n*1234567891 microsecond),
           if(n%5=1,null,from_unixtime(n*500000)), if(n%5=2,null,from_unixtime(n*500000+0.12345)), 1901+n%254,
           if(n%4=2,null,1+n%3), if(n%10=3,null,n%512),
           left(md5(n),n%11), if(n%3=1,null,concat(repeat('é',n%6),n%100)), concat('😀',n%1000),
           if(n%7=3,null,concat('ü',n%100)), if(n%7=4,null,concat('ア',n%100)),
           repeat(char(65+n%26),n%21), if(n%6=3,null,concat('€',repeat('x',n%99))), concat(md5(n),'😀'),
           unhex(left(md5(n),16)), if(n%4=3,null,unhex(left(concat(md5(n),md5(n)),n%33*2))), unhex(md5(n+1)),
           if(n%5=3,null,repeat(md5(n),n%8)), left(md5(n),n%5), date_add('2000-01-01',interval n minute)
         from seq where n <= 1500 order by crc32(n);
         delete from {name} where id % 13 = 0;\n"
    )
}

/// A tree of several levels, grown in random order, then thinned, rewritten and grown again.
fn tree_table(name: &str, format: &str) -> String {
    format!(
        "create table {name} (id bigint unsigned not null, k int not null, u char(32) character set latin1 not null,
           s varchar(120) character set utf8, f float, primary key (id), unique key (u), key (k), key (s(10)), key (k, s(3))
         ) engine=innodb {format};
         insert into {name} select n*3, crc32(n)%1000, md5(n), if(n%7=0,null,concat('s-',n,'-é',repeat('q',n%40))), n/3
           from seq where n <= 5000 order by md5(concat(n,'order'));
         update {name} set s = concat(ifnull(s,''),'-updated') where id % 11 = 0;
         update {name} set k = k + 1, s = null where id % 17 = 0;
         delete from {name} where id % 5 = 0 or id between 3000 and 6000;
         insert into {name} select n*3+1, n, md5(n+100000), repeat('z',n%100), -n from seq where n <= 1000;
         update {name} set id = id + 1000000 where id % 29 = 0;\n"
    )
}

/// Off-page values around every limit: none, just inside, just outside, several pages, incompressible, shrunk.
fn blob_table(name: &str, format: &str) -> String {
    format!(
        "create table {name} (id int not null primary key, a longblob, b longtext, c varchar(500)
         ) engine=innodb {format} default charset=latin1;
         insert into {name} select n, if(n%9=0,null,unhex(repeat(md5(n),n*n))), repeat(left(md5(n),7),n*n*5), repeat('c',n%500)
           from seq where n <= 60;
         insert into {name} select 1000+n, repeat('a',n*16), repeat('b',700+n), 'c' from seq where n between 30 and 130;
         set group_concat_max_len = 4000000;
         insert into {name} select 5000, unhex(group_concat(md5(n) order by n separator '')),
           group_concat(md5(n+5) order by n separator ''), 'incompressible' from seq where n <= 3000;
         update {name} set a = 'shrunk' where id % 6 = 0;
         update {name} set b = concat(b, repeat('grown',1000)) where id % 7 = 0;
         delete from {name} where id % 5 = 0 and id < 4000;\n"
    )
}

/// Variable-length composite key, a key that is not called primary, no key at all.
const KEYS: &str = "
    create table keys_composite (a varchar(60) character set utf8 not null, b varbinary(100) not null, c int,
      v varchar(100) character set latin1, primary key (a, b), key (c), key (v)) engine=innodb row_format=dynamic;
    insert into keys_composite select concat('k',md5(n),if(n%2,'é','')), unhex(md5(n+7)), if(n%3,n,null), repeat('v',n%100)
      from seq where n <= 900 order by n desc;
    create table keys_none (a int, b varchar(20), key (a)) engine=innodb row_format=compact;
    insert into keys_none select if(n%3,n%50,null), concat('row ',n) from seq where n <= 700;
    delete from keys_none where a = 7;
    create table keys_unique (x varchar(12) not null, y int, z int not null, unique key (y), unique key (x)) engine=innodb;
    insert into keys_unique select left(md5(n),12), if(n%4,n,null), n from seq where n <= 300 order by n;
    create table keys_empty (id int not null primary key, v varchar(10)) engine=innodb;
    create table keys_emptied (id int not null primary key, v varchar(10)) engine=innodb;
    insert into keys_emptied select n, n from seq;
    delete from keys_emptied;\n";

/// Row formats beside COMPRESSED.
const PLAIN: [(&str, &str); 3] = [
    ("redundant", "row_format=redundant"),
    ("compact", "row_format=compact"),
    ("dynamic", "row_format=dynamic"),
];

/// Trees and blobs in every row format of a page size, and compressed with each key block size in KiB.
fn formats_agree(page_size: &str, key_block_sizes: &[u32]) {
    let server = start(Options::new().set("innodb_page_size", page_size));
    let mut formats: Vec<(String, String)> =
        PLAIN.iter().map(|(name, clause)| ((*name).to_owned(), (*clause).to_owned())).collect();
    formats.extend(
        key_block_sizes
            .iter()
            .map(|size| (format!("zip{size}"), format!("row_format=compressed key_block_size={size}"))),
    );
    let mut tables = Vec::new();
    for (name, clause) in &formats {
        run(&server, &tree_table(&format!("tree_{name}"), clause));
        run(&server, &blob_table(&format!("blob_{name}"), clause));
        tables.extend([format!("tree_{name}"), format!("blob_{name}")]);
    }
    agree(&server, &tables.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn trees_and_blobs_16k() {
    formats_agree("16k", &[1, 2, 4, 8, 16]);
}

#[test]
fn trees_and_blobs_8k() {
    formats_agree("8k", &[1, 2, 4, 8]);
}

#[test]
fn trees_and_blobs_4k() {
    formats_agree("4k", &[1, 2, 4]);
}

#[test]
fn all_types_and_keys_in_all_row_formats() {
    let server = start(Options::new());
    let mut tables = Vec::new();
    for (name, clause) in PLAIN.into_iter().chain([("zip8", "row_format=compressed key_block_size=8")]) {
        run(&server, &types_table(&format!("types_{name}"), clause));
        tables.push(format!("types_{name}"));
    }
    run(&server, KEYS);
    agree(&server, &tables.iter().map(String::as_str).collect::<Vec<_>>());
    agree(&server, &["keys_composite", "keys_none", "keys_unique", "keys_empty", "keys_emptied"]);
}

#[test]
fn every_checksum_algorithm() {
    for algorithm in ["innodb", "crc32", "none"] {
        let server = start(Options::new().set("innodb_checksum_algorithm", algorithm));
        run(&server, &tree_table("plain", "row_format=compact"));
        run(&server, &tree_table("zipped", "row_format=compressed key_block_size=4"));
        agree(&server, &["plain", "zipped"]);
    }
}

#[test]
fn old_versions_held_for_a_reader_are_not_dumped() {
    let server = start(Options::new());
    run(&server, &tree_table("held", "row_format=compact"));
    let mut reader = server.session().unwrap();
    reader.run("start transaction with consistent snapshot").unwrap();
    reader.run("select count(*) from fresh.held").unwrap();
    // Purge may not remove what the reader sees: the file holds delete-marked rows and entries.
    run(&server, "delete from held where id % 4 = 0;\nupdate held set k = k + 5 where id % 3 = 0;\n");
    agree(&server, &["held"]);
}

#[test]
fn cleanly_shut_down_data_folders_pass() {
    for (page_size, log_file_size) in [("16k", "48M"), ("8k", "5M"), ("4k", "4M")] {
        let mut server = start(
            Options::new().set("innodb_page_size", page_size).set("innodb_log_file_size", log_file_size),
        );
        run(&server, &tree_table("tree", "row_format=dynamic"));
        run(&server, &tree_table("tree_zip", "row_format=compressed key_block_size=2"));
        run(&server, &blob_table("blobs", "row_format=compact"));
        // A table inside the system tablespace.
        let inside =
            format!("set global innodb_file_per_table = 0;\n{}", tree_table("inside", "row_format=compact"));
        run(&server, &inside);
        server.shutdown_slow().unwrap();
        expect_check_passes(server.datadir());
        // A fast shutdown leaves undo and change buffer entries behind; the files are consistent all the same.
        server.start_again().unwrap();
        run(&server, "delete from tree where id % 7 = 0;\nupdate inside set k = k - 1;\n");
        server.shutdown().unwrap();
        expect_check_passes(server.datadir());
    }
}
