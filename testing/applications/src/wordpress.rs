//! WordPress: its own installer, posts, comments, search.

use crate::{Application, Failure, Stage, debian};
use vaquita_peers::Flavour;

/// WordPress of Debian's package, on PHP's `mysqli`.
pub const WORDPRESS: Application =
    Application { name: "wordpress", peer: Flavour::Mysql56, settings: &[], play };

fn play(stage: &Stage) -> Result<String, Failure> {
    let debian = debian::install()?;
    stage.create_database("wordpress", "utf8mb4")?;
    let mut php = debian.php();
    php.arg(debian::script("php/wordpress.php")).arg(debian.path("usr/share/wordpress"));
    php.args([stage.host.port.to_string().as_str(), Stage::USER, Stage::PASSWORD, stage.extent.word()]);
    stage.run(&mut php)
}
