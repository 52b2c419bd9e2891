//! Settings of a benchmark as words of a command line: `NAME=VALUE`, lists with commas.

use crate::Failure;
use std::str::FromStr;

/// Name and value of a word.
///
/// # Errors
/// It is no such word.
pub(crate) fn setting(word: &str) -> Result<(&str, &str), Failure> {
    Ok(word.split_once('=').ok_or_else(|| format!("{word}: wanted is NAME=VALUE"))?)
}

/// A list of names.
pub(crate) fn names(value: &str) -> Vec<String> {
    value.split(',').map(str::to_owned).collect()
}

/// A list of numbers.
///
/// # Errors
/// One is no number.
pub(crate) fn numbers<N: FromStr>(value: &str) -> Result<Vec<N>, Failure>
where
    Failure: From<N::Err>,
{
    value.split(',').map(|n| Ok(n.parse()?)).collect()
}
