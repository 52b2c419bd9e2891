//! From arguments and option files to the values of system variables.
//!
//! Names are those of system variables, with `-` for `_` as one likes. `--skip-x` and `--disable-x` say `x=OFF`,
//! `--enable-x` says `x=ON`; an option after `loose-` may be unknown, or ask for what is not here. The beginning of a name is
//! enough if only one begins so. Later ones replace earlier ones; arguments replace option files.

use super::option_file;
use super::other_options::{Fate, fate};
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
    /// As whom the server is to run.
    pub(super) user: Option<String>,
    /// Where each of the variables got its value, in their order, for messages.
    places: Vec<String>,
}

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
        if let Some(file) = config {
            let read = option_file::read(file.as_ref())?;
            settings.warnings.extend(read.warnings);
            for line in read.lines {
                settings.set(&normal(&line.name), line.value, &line.place)?;
            }
        }
        for (name, value, place) in given {
            settings.set(&name, value, &place)?;
        }
        Ok(settings)
    }

    /// Whether each variable can have the value that it got.
    ///
    /// # Errors
    /// Where the value was given, which it is, and why it cannot be.
    pub(super) fn check_values(&self) -> Result<(), String> {
        self.variables.iter().zip(&self.places).try_for_each(|((name, value), place)| {
            let checked = vars::Globals::new(&[(name.clone(), value.clone())]);
            checked.map(drop).map_err(|e| match e.message.contains(value.as_str()) {
                true => format!("{place}: {}", e.message),
                false => format!("{place}: {}, '{value}'", e.message),
            })
        })
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
        if name == "user" {
            self.user =
                Some(value.filter(|user| !user.is_empty()).ok_or(format!("{place}: 'user' wants a value"))?);
            return Ok(());
        }
        let Some((variable, switch)) = self.known(name, value.as_deref(), loose, place)? else {
            return Ok(());
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
            (None, None) if def.name == "log_error" => host_log(),
            (None, None) if def.effect == vars::Effect::Tuning => {
                self.warnings.push(format!("{place}: '{}' has no effect here", def.name));
                return Ok(());
            }
            (None, None) => return Err(format!("{place}: '{}' wants a value", def.name)),
        };
        if loose && let Some(refusal) = vars::refusal(variable, &value) {
            self.warnings.push(format!("{place}: ignored: {}", refusal.message));
            return Ok(());
        }
        if let Some(at) = self.variables.iter().position(|(known, _)| known == def.name) {
            self.variables.remove(at);
            self.places.remove(at);
        }
        self.variables.push((def.name.to_owned(), value));
        self.places.push(place.to_owned());
        Ok(())
    }

    /// The variable that is meant; `None` if nothing is to be set.
    fn known(
        &mut self,
        name: &str,
        value: Option<&str>,
        loose: bool,
        place: &str,
    ) -> Result<Option<(VarId, Option<bool>)>, String> {
        if let Some(found) = find(name).filter(|(id, _)| id.def().access != Access::Fact)
            && !matches!(name, "datadir" | "basedir")
        {
            return Ok(Some(found));
        }
        match fate(name, value) {
            Some(Fate::Is(new)) => return Ok(find(new)),
            Some(Fate::AsItIs) => return Ok(None),
            Some(Fate::WithoutEffect) => {
                self.warnings.push(format!("{place}: '{name}' has no effect here"));
                return Ok(None);
            }
            Some(Fate::Refused(why)) if loose => {
                self.warnings.push(format!("{place}: '{name}' ignored: {why}"));
                return Ok(None);
            }
            Some(Fate::Refused(why)) => return Err(format!("{place}: '{name}' cannot be given: {why}")),
            None => {}
        }
        if let Some((id, switch)) = find(name) {
            return Ok(Some((id, switch)));
        }
        if let Some(id) = by_beginning(name) {
            let whole = id.def().name;
            self.warnings.push(format!("{place}: '{name}' is taken for '{whole}'"));
            return Ok(Some((id, None)));
        }
        if loose {
            self.warnings.push(format!("{place}: unknown option '{name}' ignored"));
            return Ok(None);
        }
        let known = vars::all().iter().map(|def| def.name);
        let hint = nearest(name, known).map(|near| format!("; is '{near}' meant?")).unwrap_or_default();
        Err(format!("{place}: unknown variable '{name}'{hint}"))
    }
}

/// The one variable whose name begins so.
fn by_beginning(name: &str) -> Option<VarId> {
    let mut found = vars::all().iter().filter(|def| def.name.starts_with(name) && def.access != Access::Fact);
    match (found.next(), found.next()) {
        (Some(def), None) => VarId::find(def.name.as_bytes()),
        _ => None,
    }
}

/// Where `--log-error` without a file writes: the host's name, as MySQL has it.
fn host_log() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim().split('.').next().filter(|name| !name.is_empty()).unwrap_or("localhost");
    format!("{host}.err")
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
        || matches!(name, "user" | "datadir" | "basedir")
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
        assert_eq!(settings.user.as_deref(), Some("mysql"));
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
        assert!(why(&["d", "--version-comment=1"]).contains("cannot be given"));
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

    /// Whoever mistypes a value is told where it stands.
    #[test]
    fn values_that_cannot_be_are_told_with_their_place() {
        let path = std::env::temp_dir().join(format!("vaquita-values-{}.cnf", std::process::id()));
        let config = format!("--defaults-file={}", path.display());
        for (line, value) in [
            ("max_connections=lots", "lots"),
            ("innodb-buffer-pool-size = 1Q", "1Q"),
            ("innodb_flush_log_at_trx_commit='often'", "often"),
            ("sql_mode=SOME_MODE", "SOME_MODE"),
            ("innodb_file_per_table=perhaps", "perhaps"),
        ] {
            std::fs::write(&path, format!("[mysqld]\n\n{line}\n")).unwrap();
            let why = parse(&["d", &config]).unwrap().check_values().unwrap_err();
            assert!(why.contains(".cnf:3: ") && why.contains(value), "{why}");
            let argument = format!("--{}", line.replace(" = ", "=").replace('\'', ""));
            let why = parse(&["d", &argument]).unwrap().check_values().unwrap_err();
            assert!(why.starts_with(&argument) && why.contains(value), "{why}");
            // A later value that can be takes its place.
            let name = line.split(['=', ' ']).next().unwrap();
            let good = format!("--{name}={}", if name == "sql_mode" { "ANSI" } else { "1" });
            assert_eq!(parse(&["d", &config, &good]).unwrap().check_values(), Ok(()));
        }
        std::fs::remove_file(&path).unwrap();
    }

    /// Option files of packages, images and samples; what of each a person would want to know.
    const ORDINARY: &[(&str, &[&str])] = &[
        (
            "debian_mysql_5_5.cnf",
            &["'key_buffer' is taken for 'key_buffer_size'", "'query_cache_size' has no effect here"],
        ),
        ("debian_mysql_5_7.cnf", &["'myisam_recover_options' has no effect here"]),
        ("debian_mariadb.cnf", &["'expire_logs_days' has no effect here"]),
        ("centos.cnf", &[]),
        ("docker.cnf", &[]),
        ("large.cnf", &["'thread_concurrency' has no effect here"]),
        (
            "innodb_heavy.cnf",
            &["'innodb_additional_mem_pool_size' has no effect here", "instead of 'MYISAM'"],
        ),
        (
            "web_host.cnf",
            &[
                "'rpl_semi_sync_master_enabled' has no effect here",
                "'innodb_adaptive_hash_index' has no effect here",
            ],
        ),
    ];

    #[test]
    fn ordinary_option_files_are_taken() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/option_files");
        let there = std::fs::read_dir(&folder).unwrap().count();
        assert_eq!(there, ORDINARY.len(), "files of {}", folder.display());
        for (file, expected) in ORDINARY {
            let config = format!("--defaults-file={}", folder.join(file).display());
            let settings = parse(&["d", &config, "--skip-log-bin"]).unwrap();
            let globals = vars::Globals::new(&settings.variables).unwrap_or_else(|e| panic!("{file}: {e}"));
            let said = [settings.warnings.join("\n"), globals.notes().join("\n")].join("\n");
            for text in *expected {
                assert!(said.contains(text), "{file}: {text} in:\n{said}");
            }
            if expected.is_empty() {
                assert_eq!(said.trim(), "", "{file}");
            }
        }
    }

    #[test]
    fn what_is_not_here_is_refused_unless_it_may_be_left_out() {
        let start = |args: &[&str]| {
            let settings = parse(args)?;
            vars::Globals::new(&settings.variables).map_err(|e| e.message.into_owned())?;
            Ok::<_, String>(settings.warnings.join("\n"))
        };
        let why = start(&["d", "--log-bin=mysql-bin"]).unwrap_err();
        assert_eq!(
            why,
            "Variable 'log_bin' can't be set to the value of 'mysql-bin': there is no binary log here"
        );
        assert!(start(&["d", "--log-bin"]).unwrap_err().contains("no binary log"));
        assert!(start(&["d", "--loose-log-bin=mysql-bin"]).unwrap().contains("no binary log"));
        assert_eq!(start(&["d", "--log-bin=mysql-bin", "--skip-log-bin"]), Ok(String::new()));
        assert!(start(&["d", "--replicate-do-db=shop"]).unwrap_err().contains("no replication"));
        assert!(start(&["d", "--skip-innodb"]).unwrap_err().contains("only engine"));
        assert_eq!(start(&["d", "--symbolic-links=0"]), Ok(String::new()));
    }

    /// From the command line and from a file every variable reaches the globals with its value.
    #[test]
    fn every_variable_can_be_written_both_ways() {
        let path = std::env::temp_dir().join(format!("vaquita-every-{}.cnf", std::process::id()));
        for def in vars::all() {
            let may_be = def.access != Access::Fact && def.scope != Scope::Session;
            if matches!(def.name, "datadir" | "basedir") {
                continue;
            }
            std::fs::write(&path, format!("[mysqld]\n{} = 1\n", def.name.replace('_', "-"))).unwrap();
            let ways = [format!("--{}=1", def.name), format!("--config={}", path.display())];
            for way in &ways {
                match parse(&["d", way]) {
                    Ok(settings) if may_be => assert_eq!(settings.value(def.name), Some("1"), "{way}"),
                    Ok(settings) => assert!(settings.warnings[0].contains(def.name), "{way}"),
                    Err(why) => assert!(!may_be && why.contains(def.name), "{why}"),
                }
            }
        }
        std::fs::remove_file(&path).unwrap();
    }
}
