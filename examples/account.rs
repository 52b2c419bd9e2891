//! The program of the README that uses the engine without SQL.

use vaquita::engine::{
    self, Column, ColumnDef, Engine, Error, KeyPart, Options, PointRead, ReadLock, ReadOptions, RowKey,
    TableSpec, stored,
};

pub(crate) fn main() -> Result<(), Error> {
    let engine = Engine::open(Options::new("./bank"))?;
    let mut session = engine.session();

    let columns = vec![
        Column::new(ColumnDef::int("id", 4, false).not_null()),
        Column::new(ColumnDef::int("balance", 8, false).not_null()),
    ];
    let mut spec = TableSpec::new("bank/account", columns);
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    session.create_table(&spec)?;

    let account = session.run(|s| s.table("bank/account"))?;
    let id = stored::int(1);
    // One statement, one transaction: durable when `run` returns.
    session.run(|s| s.insert(&account, &[Some(&id), Some(&stored::bigint(1_000))]))?;
    // Or several statements: rolled back together, unless `commit` says otherwise.
    session.begin(engine::AccessMode::ReadWrite, false)?;
    session.run(|s| {
        let mut row = PointRead::new(account.clone(), ReadOptions::default().locking(ReadLock::Exclusive))?;
        let balance = s.get(&mut row, &[Some(&id)], |row| row.column(1).map_or(0, stored::to_signed))?;
        let rest = stored::bigint(balance.unwrap_or(0) - 10);
        s.update(&account, &RowKey::new([&id[..]]), &[(1, Some(&rest))])
    })?;
    session.commit()?.wait()?;
    drop(session);
    engine.close()
}
