//! Views, routines, triggers and events as the engine keeps them: made, replaced, renamed, dropped, with their databases and
//! tables, and whole after the power goes off anywhere.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::small;

use small::open;
use std::collections::BTreeMap;
use std::sync::Arc;
use vaquita_base::Rng;
use vaquita_engine::{
    Column, Concurrency, Engine, Error, KeptKeys, Object, ObjectKind, Objects, Put, Result, Session,
    TableSpec, ddl,
};
use vaquita_format::column::ColumnDef;
use vaquita_io::sim::SimDisk;

fn new_disk(seed: u64) -> SimDisk {
    let disk = SimDisk::new(seed);
    disk.put_dir("/db".as_ref());
    disk
}

fn spec(name: &str) -> TableSpec {
    TableSpec::new(name, vec![Column::new(ColumnDef::int("id", 4, false).not_null())])
}

fn object(kind: ObjectKind, database: &str, name: &str, body: &[u8]) -> Object {
    Object::new(kind, database, name, body.to_vec())
}

fn trigger(database: &str, name: &str, table: &str) -> Object {
    Object { table: table.into(), ..object(ObjectKind::Trigger, database, name, b"begin end") }
}

fn names(objects: &[Arc<Object>]) -> Vec<&str> {
    objects.iter().map(|o| o.name.as_str()).collect()
}

#[test]
fn views_share_the_names_of_tables() {
    let engine = open(&new_disk(1)).unwrap();
    let mut session = engine.session();
    let view = object(ObjectKind::View, "a", "v", b"select 1");
    session.create_table(&spec("a/t")).unwrap();
    session.put_object(&view, Put::New).unwrap();
    assert_eq!(engine.core().objects().view("a/v").unwrap().body, b"select 1");

    let exists = |e: Result<()>| assert!(matches!(e, Err(Error::TableExists(_))), "{e:?}");
    exists(session.create_table(&spec("a/v")));
    exists(session.put_object(&object(ObjectKind::View, "a", "t", b""), Put::Any));
    exists(session.rename_table("a/t", "a/v"));
    exists(session.rename_table("a/v", "a/t"));
    assert!(matches!(session.put_object(&view, Put::New), Err(Error::ObjectExists(_))));
    assert!(matches!(session.drop_table("a/v"), Err(Error::NoSuchTable(_))));
    let none = object(ObjectKind::View, "a", "none", b"");
    assert!(matches!(session.put_object(&none, Put::Existing), Err(Error::NoSuchObject(_))));

    session.rename_table("a/v", "a/w").unwrap();
    let now = engine.core().objects();
    assert!(now.view("a/v").is_none());
    assert_eq!(now.view("a/w").unwrap().body, b"select 1");
    // Two of other kinds may have the name of a table, and of each other.
    session.put_object(&object(ObjectKind::Procedure, "a", "t", b"p"), Put::New).unwrap();
    session.put_object(&object(ObjectKind::Function, "a", "T", b"f"), Put::New).unwrap();
    let twice = object(ObjectKind::Procedure, "a", "T", b"");
    assert!(matches!(session.put_object(&twice, Put::New), Err(Error::ObjectExists(_))));
    assert!(session.drop_object(ObjectKind::Procedure, "a", "T").unwrap());
    assert!(!session.drop_object(ObjectKind::Procedure, "a", "T").unwrap());
    session.create_table(&spec("a/v")).unwrap();
}

#[test]
fn triggers_go_with_their_table() {
    let engine = open(&new_disk(2)).unwrap();
    let mut session = engine.session();
    session.create_table(&spec("a/t")).unwrap();
    session.create_table(&spec("b/t")).unwrap();
    let table = engine.core().table("a/t").unwrap();
    assert!(table.triggers.is_empty());
    for name in ["z", "y"] {
        session.put_object(&trigger("a", name, "t"), Put::New).unwrap();
    }
    let nothing = session.put_object(&trigger("a", "x", "none"), Put::New);
    assert!(matches!(nothing, Err(Error::NoSuchTable(_))));
    let table = engine.core().table("a/t").unwrap();
    assert_eq!(names(&table.triggers), ["z", "y"]);
    assert!(engine.core().table("b/t").unwrap().triggers.is_empty());

    assert!(matches!(session.rename_table("a/t", "b/u"), Err(Error::TriggerInWrongDatabase)));
    assert_eq!(names(&engine.core().table("a/t").unwrap().triggers), ["z", "y"]);
    session.rename_table("a/t", "a/u").unwrap();
    assert_eq!(names(&engine.core().table("a/u").unwrap().triggers), ["z", "y"]);
    session.truncate_table("a/u").unwrap();
    assert_eq!(names(&engine.core().table("a/u").unwrap().triggers), ["z", "y"]);
    session
        .rebuild_table("a/u", &spec("a/#sql-vq1"), KeptKeys::default(), Concurrency::Reads, |_, _, _| {
            Ok::<(), Error>(())
        })
        .unwrap();
    assert_eq!(names(&engine.core().table("a/u").unwrap().triggers), ["z", "y"]);
    assert!(session.drop_object(ObjectKind::Trigger, "a", "z").unwrap());
    assert_eq!(names(&engine.core().table("a/u").unwrap().triggers), ["y"]);
    session.drop_table("a/u").unwrap();
    assert!(engine.core().objects().get(ObjectKind::Trigger, "a", "y").is_none());
}

#[test]
fn a_database_goes_with_all_that_is_in_it() {
    let disk = new_disk(3);
    let engine = open(&disk).unwrap();
    let mut session = engine.session();
    for database in ["a", "b"] {
        ddl::create_database(engine.core(), database, "").unwrap();
        session.create_table(&spec(&format!("{database}/t"))).unwrap();
        for kind in ObjectKind::ALL {
            let table = if kind == ObjectKind::Trigger { "t" } else { "" };
            let object = Object { table: table.into(), ..object(kind, database, "o", &[1; 5_000]) };
            session.put_object(&object, Put::New).unwrap();
        }
    }
    let generation = engine.core().objects_generation();
    assert!(session.drop_database("a").unwrap().1);
    assert_ne!(engine.core().objects_generation(), generation);
    drop(session);
    let check = |objects: &Objects| {
        for kind in ObjectKind::ALL {
            assert_eq!(objects.list(kind, "a").count(), 0, "{kind:?}");
            assert_eq!(objects.get(kind, "b", "o").unwrap().body, [1; 5_000], "{kind:?}");
        }
        assert_eq!(names(objects.triggers_of("b/t")), ["o"]);
        assert_eq!(objects.damaged(), &[] as &[String]);
    };
    check(&engine.core().objects());
    engine.close().unwrap();
    drop(engine);
    let engine = open(&disk).unwrap();
    check(&engine.core().objects());
    assert_eq!(names(&engine.core().table("b/t").unwrap().triggers), ["o"]);
}

#[test]
fn the_state_of_an_object_is_that_of_its_number() {
    let engine = open(&new_disk(4)).unwrap();
    let mut session = engine.session();
    session.put_object(&object(ObjectKind::Event, "a", "e", b"first"), Put::New).unwrap();
    let first = session.objects().get(ObjectKind::Event, "a", "E").cloned().unwrap();
    let with = |of: &Object, body: &[u8]| Object { body: body.to_vec(), ..of.clone() };
    assert!(session.update_object(&with(&first, &[2; 4_000])).unwrap());
    let updated = session.objects().get(ObjectKind::Event, "a", "e").cloned().unwrap();
    assert_eq!((updated.id, updated.body.as_slice()), (first.id, &[2; 4_000][..]));
    assert!(session.update_object(&with(&first, b"third")).unwrap());

    // Altered it is another one.
    session.put_object(&object(ObjectKind::Event, "a", "e", b"second"), Put::Existing).unwrap();
    assert!(!session.update_object(&with(&first, b"late")).unwrap());
    assert!(!session.drop_this_object(&first).unwrap());
    let second = session.objects().get(ObjectKind::Event, "a", "e").cloned().unwrap();
    assert_eq!(second.body, b"second");

    let moved = object(ObjectKind::Event, "b", "f", b"moved");
    session.move_object(("a", "e"), &moved).unwrap();
    assert!(!session.drop_this_object(&second).unwrap());
    let gone = session.move_object(("a", "e"), &moved);
    assert!(matches!(gone, Err(Error::NoSuchObject(_))), "{gone:?}");
    session.put_object(&object(ObjectKind::Event, "a", "e", b"new"), Put::New).unwrap();
    let taken = session.move_object(("a", "e"), &moved);
    assert!(matches!(taken, Err(Error::ObjectExists(_))), "{taken:?}");
    let there = session.objects().get(ObjectKind::Event, "b", "f").cloned().unwrap();
    assert!(session.drop_this_object(&there).unwrap());
    assert!(!session.drop_this_object(&there).unwrap());
}

type Model = BTreeMap<(ObjectKind, String), Vec<u8>>;

fn found(engine: &Engine) -> Model {
    let now = engine.core().objects();
    assert_eq!(now.damaged(), &[] as &[String]);
    let all = ObjectKind::ALL.into_iter().flat_map(|kind| now.all(kind));
    all.map(|o| ((o.kind, o.name.clone()), o.body.clone())).collect()
}

type ChangeOf = Box<dyn FnOnce(&mut Session) -> Result<()>>;

fn draw(rng: &mut Rng, model: &mut Model) -> Option<ChangeOf> {
    let kind = [ObjectKind::View, ObjectKind::Procedure, ObjectKind::Event][rng.index(3)];
    let name = ["p", "q", "r"][rng.index(3)].to_owned();
    let key = (kind, name.clone());
    match rng.below(12) {
        0..=4 => {
            let body = vec![rng.below(256) as u8; rng.index(6_000)];
            let put = if model.insert(key, body.clone()).is_some() { Put::Existing } else { Put::New };
            Some(Box::new(move |s| s.put_object(&object(kind, "a", &name, &body), put)))
        }
        5 => {
            let body = model.remove(&(ObjectKind::View, "p".into()))?;
            if model.insert((ObjectKind::View, "q".into()), body).is_some() {
                return None;
            }
            Some(Box::new(|s| s.rename_table("a/p", "a/q")))
        }
        // The state of an event, under its number.
        6..=8 => {
            let key = (ObjectKind::Event, name);
            let body = vec![rng.below(256) as u8; rng.index(6_000)];
            *model.get_mut(&key)? = body.clone();
            Some(Box::new(move |s| {
                let there = s.objects().get(ObjectKind::Event, "a", &key.1).cloned().expect("an event");
                let object = Object { body, ..Object::clone(&there) };
                s.update_object(&object).map(|there| assert!(there))
            }))
        }
        9 => {
            let body = model.remove(&(ObjectKind::Event, "p".into()))?;
            if model.insert((ObjectKind::Event, "q".into()), body.clone()).is_some() {
                return None;
            }
            let moved = object(ObjectKind::Event, "a", "q", &body);
            Some(Box::new(move |s| s.move_object(("a", "p"), &moved)))
        }
        _ => {
            model.remove(&key)?;
            Some(Box::new(move |s| s.drop_object(kind, "a", &name).map(|there| assert!(there))))
        }
    }
}

#[test]
fn objects_are_whole_after_power_cuts() {
    let mut cuts = 0;
    for seed in 0..30 {
        let mut rng = Rng::new(seed);
        let mut disk = new_disk(seed);
        let mut engine = open(&disk).unwrap();
        let mut model = Model::new();
        for round in 0..4 {
            disk.arm_cut(disk.ops() + 1 + rng.below(150));
            let mut after = model.clone();
            let mut session = engine.session();
            while !disk.is_off() {
                after = model.clone();
                let Some(change) = draw(&mut rng, &mut after) else { continue };
                match change(&mut session) {
                    Ok(()) => model = after.clone(),
                    Err(e) => assert!(disk.is_off(), "seed {seed}, round {round}: {e}"),
                }
                if rng.one_in(4) {
                    let _ = engine.core().purge_step();
                }
                if rng.one_in(10) {
                    let _ = engine.core().storage.flush_everything();
                }
            }
            drop(session);
            drop(engine);
            disk = if rng.one_in(4) { disk.after_kill() } else { disk.restart() };
            engine = open(&disk).unwrap_or_else(|e| panic!("seed {seed}, round {round}: {e}"));
            let have = found(&engine);
            cuts += usize::from(have != model || after != model);
            assert!(
                have == model || have == after,
                "seed {seed}, round {round}: neither the old nor the new"
            );
            model = have;
        }
    }
    assert!(cuts > 20, "the power went off within {cuts} changes");
}
