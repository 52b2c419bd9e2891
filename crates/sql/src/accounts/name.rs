//! Names of accounts, as statements give them and messages show them.

use vaquita_parser::ast::UserName;
use vaquita_session::SessionState;
use vaquita_types::{SqlError, SqlResult};

/// User and host of an account.
pub(crate) type Name = (String, String);

/// The account of a session.
pub(crate) fn own_name(state: &SessionState) -> Name {
    (state.account_user.clone(), state.account_host.clone())
}

/// Name of an account as a statement gives it.
pub(crate) fn name_of(user: &UserName<'_>, own: &Name) -> Name {
    if user.current {
        return own.clone();
    }
    let utf8 = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    // Host names have no case.
    (utf8(user.user), user.host.map_or_else(|| "%".to_owned(), |h| utf8(h).to_lowercase()))
}

/// Most characters of a user's name and of a host's, as the tables of accounts have room for.
const USER_MAX: usize = 32;
const HOST_MAX: usize = 60;

/// Whether a name that a statement gives fits: one that does not would be another account when it is read again.
///
/// # Errors
/// 1470.
pub(crate) fn check_length(user: &UserName<'_>) -> SqlResult<()> {
    let utf8 = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    check_name(&(utf8(user.user), user.host.map(utf8).unwrap_or_default()))
}

/// Whether the name of an account fits: both its parts.
///
/// # Errors
/// 1470.
pub(crate) fn check_name((user, host): &Name) -> SqlResult<()> {
    let too_long = |text: &str, what: &str, max: usize| match text.chars().count() > max {
        true => {
            let text =
                format!("String '{text}' is too long for {what} name (should be no longer than {max})");
            Err(SqlError::new(1470, text))
        }
        false => Ok(()),
    };
    too_long(user, "user", USER_MAX)?;
    too_long(host, "host", HOST_MAX)
}

/// As messages and statements have it.
pub(crate) fn shown(name: &Name) -> String {
    format!("'{}'@'{}'", name.0, name.1)
}

/// Error 1141.
pub(crate) fn no_grant(name: &Name) -> SqlError {
    let (user, host) = name;
    SqlError::new(1141, format!("There is no such grant defined for user '{user}' on host '{host}'"))
}

/// Error 1044 of who may not look at or change the tables of accounts.
pub(crate) fn denied_mysql(own: &Name) -> SqlError {
    SqlError::new(1044, format!("Access denied for user {} to database 'mysql'", shown(own)))
}
