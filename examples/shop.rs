//! The first program of the README.

use vaquita::{Database, Error};

pub(crate) fn main() -> Result<(), Error> {
    let db = Database::open("./shop")?;
    let mut conn = db.connect()?;
    conn.execute("create database if not exists shop", ())?;
    conn.execute("use shop", ())?;
    conn.execute("create table if not exists item (id int primary key auto_increment, name varchar(80), price decimal(8,2))", ())?;
    let mut trx = conn.transaction()?;
    trx.execute("insert into item (name, price) values (?, ?)", ("lamp", "12.50"))?;
    trx.commit()?;
    let cheap = conn.prepare("select id, name from item where price < ?")?;
    for row in cheap.query(&mut conn, (20,))? {
        println!("{} {}", row.get::<u32>("id")?, row.get::<String>("name")?);
    }
    drop(conn);
    db.close()
}
