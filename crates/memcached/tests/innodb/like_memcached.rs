//! Commands on tables are answered as memcached 1.6.18 answers them: the lists of the other tests, where rows say all that is
//! asked for.

use crate::innodb::bed::{Bed, spec};
use crate::innodb::support::pair::{Pair, Side, check};
use crate::innodb::support::{Memcached, binary, converse, generated, now, service, text};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use vaquita_format::column::ColumnDef;
use vaquita_memcached::service::Service;
use vaquita_memcached::store::Store;

/// A table that takes what memcached takes.
struct Table {
    bed: Bed,
    service: Arc<Service>,
}

impl Table {
    fn new() -> Table {
        let bed = Bed::new();
        let columns = vec![
            ColumnDef::varbinary("k", 250).not_null(),
            ColumnDef::blob("v", 3),
            ColumnDef::int("f", 4, true),
            ColumnDef::int("c", 8, true),
            ColumnDef::int("e", 4, true),
        ];
        bed.session().create_table(&spec("test/like", columns, &[0])).expect("it works");
        bed.map(["like", "test", "like", "k", "v", "f", "c", "e", "PRIMARY"]);
        Table { bed, service: Arc::new(service(now())) }
    }
}

impl Side for Table {
    fn talk(&self, input: &[u8]) -> (Vec<u8>, bool) {
        let mut store = self.bed.store();
        store.bind(b"like").expect("it is mapped");
        let now = self.bed.now.load(Ordering::Relaxed);
        converse(&self.service, &mut store, now, [input])
    }

    fn set_now(&self, now: u32) {
        self.bed.now.store(now, Ordering::Relaxed);
    }
}

fn compare(before: &[u8], scripts: &[Vec<u8>]) {
    let pair = Pair::with(Table::new());
    check(&pair.differences(scripts.iter().map(|script| (before, script.as_slice()))));
}

#[test]
fn classic_commands() {
    compare(text::BEFORE, &text::classic());
}

#[test]
fn meta_commands() {
    compare(text::BEFORE, &text::meta());
}

#[test]
fn meta_flags() {
    compare(text::BEFORE, &text::every_meta_flag());
}

#[test]
fn commands_at_random() {
    compare(generated::BEFORE, &generated::scripts(1, 0));
    compare(generated::BEFORE, &generated::scripts(2, 3));
}

#[test]
fn binary_frames() {
    let scripts = [binary::gets(), binary::changes(), binary::counts(), binary::broken_frames()].concat();
    let differences = binary::differences(&Memcached::start(&[]), &Table::new(), &scripts);
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}

/// What a value must look like to be counted. Of one that is white space and nothing else memcached reads what lies behind it.
#[test]
fn numbers_in_values() {
    let values = [
        "10",
        " 10",
        "10 ",
        "\t1",
        "\n1",
        "1\t",
        "1 x",
        "1\0",
        "1\0x",
        "\0",
        "+1",
        "+ 1",
        "++1",
        "-1",
        "-0",
        "-0 x",
        "- 0",
        "+-0",
        "-18446744073709551615",
        "-9223372036854775809",
        "-9223372036854775808",
        "\x0b1",
        "1\x0b",
        "1x",
        "x1",
        "",
        "007",
        "0x10",
        "1.5",
        "1e3",
        "18446744073709551615",
        "18446744073709551616",
        "18446744073709551615 ",
        "000000000000000000000000000001",
        "99999999999999999999999",
    ];
    let mut scripts = Vec::new();
    for value in values {
        let set = format!("set n 0 0 {}\r\n{value}\r\n", value.len());
        for count in ["incr n 1", "incr n 0", "decr n 1", "ma n v", "ma n v MD D1", "ma n v N0 J7"] {
            // A count that becomes shorter is padded there, so nothing is read.
            scripts.push(format!("{set}{count}\r\n").into_bytes());
        }
    }
    compare(b"", &scripts);
    let cache = Pair::start();
    check(&cache.differences(scripts.iter().map(|script| (&b""[..], script.as_slice()))));
}
