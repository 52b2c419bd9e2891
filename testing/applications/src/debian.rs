//! PHP, Perl and C programs of Debian's packages, unpacked beside the system: no package script runs, nothing is installed.

use crate::Failure;
use std::path::{Path, PathBuf};
use std::process::Command;
use vaquita_peers::{DebianPackages, install_debian};

/// Raise the number when the lists change: the folder is then made anew.
const FOLDER: &str = "applications-debian-2";
/// With what they need.
const WHOLE: [&str; 20] = [
    "php-cli",
    "php-mysql",
    "php-xml",
    "php-mbstring",
    "php-intl",
    "php-getid3",
    "php-pear",
    "php-auth-sasl",
    "php-mail-mime",
    "php-net-smtp",
    "php-net-sieve",
    "php-masterminds-html5",
    "php-guzzlehttp-guzzle",
    "libmariadb3",
    "mydumper",
    "pdns-backend-mysql",
    "pdns-server",
    "perl",
    "percona-toolkit",
    "zabbix-server-mysql",
];
/// Without: web servers, scripts for browsers, tools that ask questions.
const ALONE: [&str; 5] = ["wordpress", "mediawiki", "mediawiki-classes", "roundcube-core", "roundcube-mysql"];

/// The unpacked packages.
#[derive(Debug, Clone)]
pub struct Debian {
    root: PathBuf,
}

/// Unpacks what is missing.
///
/// # Errors
/// The package server does not answer: with the output of the command that failed.
pub fn install() -> Result<Debian, Failure> {
    let packages = DebianPackages { whole: &WHOLE, alone: &ALONE, without: &[] };
    Ok(Debian { root: install_debian(FOLDER, &packages)? })
}

/// The scripts that play PHP applications.
pub(crate) fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs").join(name)
}

impl Debian {
    /// A path below the unpacked root.
    pub fn path(&self, below: &str) -> PathBuf {
        self.root.join(below)
    }

    /// A command for an unpacked program, given as a path below the root, with the libraries beside it.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.path(program));
        let libraries = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"]
            .map(|folder| self.path(folder).display().to_string())
            .join(":");
        command.env("LD_LIBRARY_PATH", libraries).env("TZ", "UTC").env("LC_ALL", "C.UTF-8");
        command.env_remove("MYSQL_HOST").env_remove("MYSQL_TCP_PORT").env_remove("MYSQL_UNIX_PORT");
        command.env_remove("MYSQL_PWD");
        command.env("MARIADB_PLUGIN_DIR", self.path("usr/lib/x86_64-linux-gnu/libmariadb3/plugin"));
        command
    }

    /// A script of an unpacked package in the unpacked Perl.
    pub fn perl(&self, program: &str) -> Command {
        let mut perl = self.command("usr/bin/perl");
        let libraries = [
            "usr/lib/x86_64-linux-gnu/perl5/5.36",
            "usr/lib/x86_64-linux-gnu/perl/5.36",
            "usr/share/perl/5.36",
            "usr/share/perl5",
            "usr/lib/x86_64-linux-gnu/perl-base",
        ];
        perl.env("PERL5LIB", libraries.map(|folder| self.path(folder).display().to_string()).join(":"));
        perl.arg(self.path(program));
        perl
    }

    /// PHP's command line with the modules that applications ask for, and no settings of the machine's.
    pub fn php(&self) -> Command {
        let mut php = self.command("usr/bin/php8.2");
        php.arg("-n").arg("-d").arg(format!("extension_dir={}", self.path("usr/lib/php/20220829").display()));
        for module in [
            "mysqlnd",
            "mysqli",
            "pdo",
            "pdo_mysql",
            "xml",
            "dom",
            "simplexml",
            "xmlreader",
            "xmlwriter",
            "mbstring",
            "intl",
            "ctype",
            "iconv",
            "tokenizer",
            "fileinfo",
            "posix",
            "calendar",
            "exif",
        ] {
            php.arg("-d").arg(format!("extension={module}"));
        }
        php.args(["-d", "error_reporting=22527", "-d", "display_errors=stderr", "-d", "memory_limit=512M"]);
        // Where packages look for each other.
        let classes = self.path("usr/share/php");
        php.arg("-d").arg(format!("include_path=.:{}", classes.display()));
        php
    }
}
