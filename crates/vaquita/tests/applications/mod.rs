//! Programs that people run on MySQL do their work on Vaquita, unchanged, and say what they say on a real server.
//!
//! Short forms by default; with `VAQUITA_APPLICATIONS=long`, as `cargo xtask applications` sets it, the long ones.
#![forbid(unsafe_code)]

use std::path::Path;
use vaquita_applications::{
    Application, Extent, Failure, compare, django, dumps, go, java, mediawiki, node, percona, powerdns,
    roundcube, sqlalchemy, together, wordpress, zabbix,
};
use vaquita_peers::Flavour;

fn extent() -> Extent {
    match std::env::var("VAQUITA_APPLICATIONS").as_deref() {
        Ok("long") => Extent::Long,
        _ => Extent::Short,
    }
}

fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_vaquita"))
}

fn same_on_both(application: &Application) {
    if let Err(Failure(why)) = compare(application, binary(), extent()) {
        panic!("{why}");
    }
}

#[test]
fn wordpress() {
    same_on_both(&wordpress::WORDPRESS);
}

#[test]
fn django() {
    same_on_both(&django::DJANGO_SUITE);
}

#[test]
fn sqlalchemy() {
    same_on_both(&sqlalchemy::SQLALCHEMY_SUITE);
}

#[test]
fn flyway() {
    same_on_both(&java::FLYWAY);
}

#[test]
fn liquibase() {
    same_on_both(&java::LIQUIBASE);
}

#[test]
fn gorm() {
    same_on_both(&go::GORM);
}

#[test]
fn go_driver() {
    same_on_both(&go::GO_DRIVER);
}

#[test]
fn node() {
    same_on_both(&node::NODE);
}

#[test]
fn mediawiki() {
    same_on_both(&mediawiki::MEDIAWIKI);
}

#[test]
fn roundcube() {
    same_on_both(&roundcube::ROUNDCUBE);
}

#[test]
fn zabbix() {
    same_on_both(&zabbix::ZABBIX);
}

#[test]
fn powerdns() {
    same_on_both(&powerdns::POWERDNS);
}

#[test]
fn percona() {
    same_on_both(&percona::PERCONA);
}

#[test]
fn mysqldump() {
    same_on_both(&dumps::MYSQLDUMP);
}

#[test]
fn museum() {
    same_on_both(&dumps::MUSEUM);
}

/// mysqldump's dumps from here to MySQL 5.6.24, mydumper's from there to here and back.
#[test]
fn dumps_travel() {
    if let Err(Failure(why)) = together("dumps", Flavour::Mysql56, binary(), extent(), dumps::travel) {
        panic!("{why}");
    }
}
