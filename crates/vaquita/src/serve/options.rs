//! From arguments and option files to the values of system variables.
//!
//! Names are those of system variables, with `-` for `_` as one likes. `--skip-x` and `--disable-x` say `x=OFF`,
//! `--enable-x` says `x=ON`; an option after `loose-` may be unknown. Later ones replace earlier ones; arguments replace
//! option files.

use super::option_file;
use super::suggest::nearest;
use std::ffi::OsString;
use std::path::PathBuf;
use vaquita_sql::vars::{self, Access, Kind, Scope, VarId};

/// What a server is to be started with.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Settings {
    /// The data folder.
    pub(super) dir: PathBuf,
    /// System variables by name.
    pub(super) variables: Vec<(String, String)>,
    /// For the log.
    pub(super) warnings: Vec<String>,
}

/// Options that MySQL's servers know and that mean nothing here.
const WITHOUT_MEANING: [&str; 5] = ["user", "datadir", "basedir", "console", "tmpdir"];

impl Settings {
    /// Reads arguments, and the option file they name.
    ///
    /// # Errors
    /// For people: what cannot be understood, and what may have been meant.
    pub(super) fn from_arguments(args: &[OsString]) -> Result<Settings, String> {
        let args: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
        let mut dir = None;
        let mut config = None;
        let mut given = Vec::new();
        let mut rest = args.iter().map(String::as_str).peekable();
        while let Some(arg) = rest.next() {
            let Some(option) = arg.strip_prefix("--") else {
                if dir.replace(PathBuf::from(arg)).is_some() {
                    return Err(format!("'{arg}': there is a data folder already"));
                }
                continue;
            };
            let (name, mut value) = match option.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (option, None),
            };
            let name = normal(name);
            if value.is_none() && wants_value(&name) {
                value = rest.next_if(|next| !next.starts_with("--")).map(str::to_owned);
            }
            match name.as_str() {
                "config" | "defaults_file" => {
                    config = Some(value.ok_or_else(|| format!("--{option} wants a file"))?);
                }
                "no_defaults" => {}
                _ => given.push((name, value, format!("--{option}"))),
            }
        }
        let mut settings =
            Settings { dir: dir.ok_or("name the data folder: vaquita serve DIR")?, ..Settings::default() };
        for line in config
            .iter()
            .map(|file| option_file::read(file.as_ref()))
            .collect::<Result<Vec<_>, _>>()?
            .concat()
        {
            settings.set(&normal(&line.name), line.value, &line.place)?;
        }
        for (name, value, place) in given {
            settings.set(&name, value, &place)?;
        }
        Ok(settings)
    }

    /// The value given for a variable.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.variables.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn set(&mut self, name: &str, value: Option<String>, place: &str) -> Result<(), String> {
        let (name, loose) = match name.strip_prefix("loose_") {
            Some(name) => (name, true),
            None => (name, false),
        };
        let name = if name == "bind" { "bind_address" } else { name };
        if WITHOUT_MEANING.contains(&name) {
            return Ok(());
        }
        let Some((variable, switch)) = find(name) else {
            if loose {
                self.warnings.push(format!("{place}: unknown option '{name}' ignored"));
                return Ok(());
            }
            let known = vars::all().iter().map(|def| def.name);
            let hint = nearest(name, known).map(|near| format!("; is '{near}' meant?")).unwrap_or_default();
            return Err(format!("{place}: unknown variable '{name}'{hint}"));
        };
        let def = variable.def();
        if def.access == Access::Fact || def.scope == Scope::Session {
            return Err(format!("{place}: '{}' cannot be given at start", def.name));
        }
        let value = match (switch, value) {
            (Some(on), None) => if on { "ON" } else { "OFF" }.to_owned(),
            (Some(_), Some(_)) => return Err(format!("{place}: takes no value")),
            (None, Some(value)) => value,
            (None, None) if def.kind == Kind::Bool => "ON".to_owned(),
            (None, None) => return Err(format!("{place}: '{}' wants a value", def.name)),
        };
        self.variables.retain(|(known, _)| known != def.name);
        self.variables.push((def.name.to_owned(), value));
        Ok(())
    }
}

fn normal(name: &str) -> String {
    name.replace('-', "_").to_ascii_lowercase()
}

/// The variable, and what a prefix before its name says.
fn find(name: &str) -> Option<(VarId, Option<bool>)> {
    let variable = |name: &str| VarId::find(name.as_bytes());
    if let Some(id) = variable(name) {
        return Some((id, None));
    }
    let prefixes = [("skip_", false), ("disable_", false), ("enable_", true)];
    prefixes.iter().find_map(|(prefix, on)| {
        let id = variable(name.strip_prefix(prefix)?)?;
        (id.def().kind == Kind::Bool).then_some((id, Some(*on)))
    })
}

/// Whether a value may follow as the next argument.
fn wants_value(name: &str) -> bool {
    let name = name.strip_prefix("loose_").unwrap_or(name);
    matches!(name, "config" | "defaults_file" | "bind")
        || WITHOUT_MEANING.contains(&name)
        || find(name).is_some_and(|(id, switch)| switch.is_none() && id.def().kind != Kind::Bool)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Settings, String> {
        Settings::from_arguments(&args.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn names_values_prefixes() {
        let settings = parse(&[
            "data",
            "--port",
            "3307",
            "--bind=0.0.0.0",
            "--innodb-buffer-pool-size=64M",
            "--skip-innodb-doublewrite",
            "--INNODB_FILE_PER_TABLE",
            "--loose-no-such-thing=1",
            "--port=3308",
            "--user",
            "mysql",
        ])
        .unwrap();
        assert_eq!(settings.dir, PathBuf::from("data"));
        let expected = [
            ("bind_address", "0.0.0.0"),
            ("innodb_buffer_pool_size", "64M"),
            ("innodb_doublewrite", "OFF"),
            ("innodb_file_per_table", "ON"),
            ("port", "3308"),
        ];
        assert_eq!(settings.variables, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
        assert_eq!(settings.value("port"), Some("3308"));
        assert_eq!(settings.warnings.len(), 1);
    }

    #[test]
    fn what_is_refused() {
        let why = |args: &[&str]| parse(args).unwrap_err();
        let unknown = why(&["d", "--inodb-buffer-pool-size=1G"]);
        assert!(unknown.contains("unknown variable 'inodb_buffer_pool_size'"), "{unknown}");
        assert!(unknown.contains("is 'innodb_buffer_pool_size' meant?"), "{unknown}");
        assert!(why(&["d", "e"]).contains("already"));
        assert!(why(&[]).contains("name the data folder"));
        assert!(why(&["d", "--version=1"]).contains("cannot be given"));
        assert!(why(&["d", "--max-connections"]).contains("wants a value"));
        assert!(why(&["d", "--skip-innodb-doublewrite=1"]).contains("takes no value"));
        assert!(why(&["d", "--config=/no/such/file"]).contains("/no/such/file"));
    }

    #[test]
    fn arguments_replace_option_files() {
        let path = std::env::temp_dir().join(format!("vaquita-options-{}.cnf", std::process::id()));
        std::fs::write(&path, "[mysqld]\nport=1\nmax-connections=7\n").unwrap();
        let config = format!("--defaults-file={}", path.display());
        let settings = parse(&["d", "--port=2", &config]).unwrap();
        assert_eq!((settings.value("port"), settings.value("max_connections")), (Some("2"), Some("7")));
        std::fs::write(&path, "[mysqld]\nprot=1\n").unwrap();
        let why = parse(&["d", &config]).unwrap_err();
        assert!(why.contains(".cnf:2") && why.contains("is 'port' meant?"), "{why}");
        std::fs::remove_file(&path).unwrap();
    }
}
