//! Server options for one run of a peer.

/// Options of a peer, as `--name=value` on its command line. Later settings replace earlier ones of the same name.
#[derive(Debug, Clone, Default)]
pub struct Options {
    settings: Vec<(String, String)>,
}

impl Options {
    /// The defaults of this crate: small memory, Barracuda, one file per table, UTC, no binary log.
    pub fn new() -> Options {
        Options::default()
    }

    /// Sets a server option, named as the server names it (`innodb_page_size`, `innodb_checksum_algorithm`,
    /// `innodb_log_file_size`, `innodb_fast_shutdown`..).
    #[must_use]
    pub fn set(mut self, name: &str, value: impl ToString) -> Options {
        let name = name.replace('-', "_");
        self.settings.retain(|(known, _)| *known != name);
        self.settings.push((name, value.to_string()));
        self
    }

    /// These options over `defaults`, as command line arguments.
    pub(crate) fn arguments_over(&self, defaults: &[(&str, &str)]) -> Vec<String> {
        let mut merged = Options::new();
        for (name, value) in defaults {
            merged = merged.set(name, value);
        }
        for (name, value) in &self.settings {
            merged = merged.set(name, value);
        }
        merged.settings.iter().map(|(name, value)| format!("--{name}={value}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_settings_replace_defaults() {
        let options = Options::new().set("innodb-page-size", "4k").set("innodb_page_size", "8k");
        let arguments = options.arguments_over(&[("innodb_page_size", "16k"), ("port", "1")]);
        assert_eq!(arguments, ["--port=1", "--innodb_page_size=8k"]);
    }
}
