//! Programs that people run on MySQL do their work on Vaquita, unchanged, and say what they say on a real server.
//!
//! Short forms by default; with `VAQUITA_APPLICATIONS=long`, as `cargo xtask applications` sets it, the long ones.
#![forbid(unsafe_code)]

use std::path::Path;
use vaquita_applications::{
    Application, Extent, Failure, compare, django, go, java, node, sqlalchemy, wordpress,
};

fn same_on_both(application: &Application) {
    let extent = match std::env::var("VAQUITA_APPLICATIONS").as_deref() {
        Ok("long") => Extent::Long,
        _ => Extent::Short,
    };
    if let Err(Failure(why)) = compare(application, Path::new(env!("CARGO_BIN_EXE_vaquita")), extent) {
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
