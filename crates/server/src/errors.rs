//! Errors that the door itself finds, with MySQL's numbers and words.

use crate::packet::PacketError;
use vaquita_sql::SqlError;

fn error(code: u16, sqlstate: &'static str, message: impl Into<std::borrow::Cow<'static, str>>) -> SqlError {
    SqlError { code, sqlstate: sqlstate.into(), message: message.into() }
}

/// 1040.
pub(crate) fn too_many_connections() -> SqlError {
    error(1040, "08004", "Too many connections")
}

/// 1043.
pub(crate) fn bad_handshake() -> SqlError {
    error(1043, "08S01", "Bad handshake")
}

/// 1045.
pub(crate) fn access_denied(user: &str, host: &str, with_password: bool) -> SqlError {
    let using = if with_password { "YES" } else { "NO" };
    error(1045, "28000", format!("Access denied for user '{user}'@'{host}' (using password: {using})"))
}

/// 1045, of a folder that admits nobody.
pub(crate) fn closed(user: &str, host: &str, reason: &str) -> SqlError {
    let way = "only a start with --skip-grant-tables lets anybody in";
    error(1045, "28000", format!("Access denied for user '{user}'@'{host}': {reason}; {way}"))
}

/// 1045, of a first login by SHA-256 over a channel that others may read.
pub(crate) fn needs_secure_channel(user: &str, host: &str) -> SqlError {
    let why = "caching_sha2_password needs TLS or the Unix socket for the first login after a restart";
    error(1045, "28000", format!("Access denied for user '{user}'@'{host}': {why}"))
}

/// 1047.
pub(crate) fn unknown_command() -> SqlError {
    error(1047, "08S01", "Unknown command")
}

/// 1053.
pub(crate) fn shutting_down() -> SqlError {
    error(1053, "08S01", "Server shutdown in progress")
}

/// 1105, of a parameter sent in pieces.
pub(crate) fn parameter_too_long() -> SqlError {
    let text = "Parameter of prepared statement which is set through mysql_send_long_data() is longer than \
                'max_allowed_packet' bytes";
    error(1105, "HY000", text)
}

/// 1129.
pub(crate) fn host_blocked(host: &str) -> SqlError {
    let text = format!(
        "Host '{host}' is blocked because of many connection errors; unblock with 'mysqladmin flush-hosts'"
    );
    error(1129, "HY000", text)
}

/// 1862.
pub(crate) fn password_expired() -> SqlError {
    let text = "Your password has expired. To log in you must change it using a client that supports expired passwords.";
    error(1862, "HY000", text)
}

/// 1148.
pub(crate) fn local_files_not_allowed() -> SqlError {
    error(1148, "42000", "The used command is not allowed with this MySQL version")
}

/// What packets are not.
pub(crate) fn packet(e: PacketError) -> SqlError {
    match e {
        PacketError::TooLarge => error(1153, "08S01", "Got a packet bigger than 'max_allowed_packet' bytes"),
        PacketError::OutOfOrder => error(1156, "08S01", "Got packets out of order"),
        PacketError::BadCompression => error(1157, "08S01", "Couldn't uncompress communication packet"),
    }
}

/// 1158: the client is gone while its file is read.
pub(crate) fn reading() -> SqlError {
    error(1158, "08S01", "Got an error reading communication packets")
}

/// 1159.
pub(crate) fn reading_timeout() -> SqlError {
    error(1159, "08S01", "Got timeout reading communication packets")
}

/// 1160: the client is gone while its rows are written.
pub(crate) fn writing() -> SqlError {
    error(1160, "08S01", "Got an error writing communication packets")
}

/// 1161.
pub(crate) fn writing_timeout() -> SqlError {
    error(1161, "08S01", "Got timeout writing communication packets")
}

/// 1210.
pub(crate) fn wrong_arguments(function: &str) -> SqlError {
    error(1210, "HY000", format!("Incorrect arguments to {function}"))
}

/// 1243.
pub(crate) fn unknown_statement(id: u32, function: &str) -> SqlError {
    error(1243, "HY000", format!("Unknown prepared statement handler ({id}) given to {function}"))
}

/// 1251.
pub(crate) fn old_client() -> SqlError {
    let text = "Client does not support authentication protocol requested by server; consider upgrading MySQL \
                client";
    error(1251, "08004", text)
}

/// 1421.
pub(crate) fn no_cursor(id: u32) -> SqlError {
    error(1421, "HY000", format!("The statement ({id}) has no open cursor."))
}

/// 1835.
pub(crate) fn malformed_packet() -> SqlError {
    error(1835, "HY000", "Malformed communication packet.")
}

/// 3118.
pub(crate) fn account_locked(user: &str, host: &str) -> SqlError {
    error(3118, "HY000", format!("Access denied for user '{user}'@'{host}'. Account is locked."))
}

/// 3159.
pub(crate) fn insecure_transport() -> SqlError {
    let text = "Connections using insecure transport are prohibited while --require_secure_transport=ON.";
    error(3159, "HY000", text)
}
