//! Roundcube: its schema, accounts, address books and caches through its own database layer, and all its upgrade scripts.

use crate::{Application, Failure, Stage, debian};
use vaquita_peers::Flavour;

/// Roundcube of Debian's package, on PHP's `pdo_mysql`.
pub const ROUNDCUBE: Application =
    Application { name: "roundcube", peer: Flavour::Mysql56, settings: &[], play };

fn play(stage: &Stage) -> Result<String, Failure> {
    let debian = debian::install()?;
    stage.create_database("roundcube", "utf8")?;
    stage.sql("set global group_concat_max_len = 10000000")?;
    let mut said = String::new();
    for part in ["init", stage.extent.word(), "upgrade"] {
        let mut php = debian.php();
        php.arg(debian::script("php/roundcube.php"));
        php.args([debian.path("usr/share/roundcube"), debian.path("etc/roundcube"), debian::script("php")]);
        php.args([stage.host.port.to_string().as_str(), Stage::USER, Stage::PASSWORD, part]);
        said += &stage.run(&mut php)?;
    }
    Ok(said)
}
