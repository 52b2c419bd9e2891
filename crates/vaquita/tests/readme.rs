//! The programs of the README run: they are the examples `shop` and `account`, word for word.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::Scratch;

#[path = "../../../examples/account.rs"]
mod account;
#[path = "../../../examples/shop.rs"]
mod shop;

/// Blocks of Rust in the README.
fn programs() -> Vec<String> {
    let readme = include_str!("../../../README.md");
    let blocks = readme.split("```rust,no_run\n").skip(1);
    blocks.map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

/// A program without the comment on its top, and without what lets this test call it.
fn body(source: &str) -> String {
    source.split_once("\n\n").unwrap().1.replace("pub(crate) fn main", "fn main")
}

/// One test: the programs name their folders below the current one, which the whole process has.
#[test]
fn the_programs_of_the_readme_run_and_end() {
    let shown = programs();
    assert_eq!(shown[0], body(include_str!("../../../examples/shop.rs")));
    assert_eq!(shown[1], body(include_str!("../../../examples/account.rs")));
    let scratch = Scratch::new("readme");
    std::env::set_current_dir(&scratch.0).unwrap();
    shop::main().unwrap();
    account::main().unwrap();
    assert!(scratch.0.join("shop/ibdata1").exists() && scratch.0.join("bank/ibdata1").exists());

    // A connection that is still there is named, and nothing hangs.
    let db = vaquita::Database::open("shop").unwrap();
    let mut conn = db.connect().unwrap();
    let id = conn.query("select connection_id()", ()).unwrap().iter().next().unwrap().get::<u64>(0).unwrap();
    let why = db.close().unwrap_err();
    assert!(why.message.contains(&format!("connection {id} is still open")), "{why:?}");
}
