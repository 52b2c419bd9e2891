//! Which ranks a search gives, as it is written: `innodb`, `bm25`, `bm25(title 4, body 1)`.
//!
//! Names are those of columns, bare or between backticks; columns that are not named weigh 1. Weights are numbers from 0 to
//! [`WEIGHT_MAX`]. A document whose words are all in columns that weigh 0 has a rank of 0: it is not found.

use std::fmt;
use std::str::FromStr;

use crate::bm25::{Bm25, Weights};

/// The greatest weight.
pub const WEIGHT_MAX: f64 = 1_000_000.0;

/// Ranks by the names of columns.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum NamedRanking {
    /// InnoDB's: [`crate::rank`].
    #[default]
    Innodb,
    /// [`crate::bm25`], with weights of some columns.
    Bm25(Vec<(String, f64)>),
}

/// Ranks by the places of columns in an index.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Ranking {
    /// InnoDB's.
    #[default]
    Innodb,
    /// BM25.
    Bm25(Bm25, Weights),
}

/// What is wrong with a text that says ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RankingError {
    /// This is no ranking.
    Unknown(String),
    /// Of this column this is no weight.
    Weight(String, String),
    /// The column is named twice.
    Twice(String),
    /// The index has no such column.
    NoColumn(String),
    /// No column of the index weighs anything.
    NoWeight,
}

impl fmt::Display for RankingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RankingError::Unknown(text) => {
                write!(f, "'{text}' is no ranking: innodb, bm25, bm25(column weight, ..)")
            }
            RankingError::Weight(column, text) => {
                write!(f, "the weight of column '{column}' is '{text}', no number from 0 to {WEIGHT_MAX}")
            }
            RankingError::Twice(column) => write!(f, "column '{column}' has two weights"),
            RankingError::NoColumn(column) => write!(f, "there is no column '{column}' in the index"),
            RankingError::NoWeight => f.write_str("no column weighs more than 0"),
        }
    }
}

impl std::error::Error for RankingError {}

impl NamedRanking {
    /// For an index of these columns.
    ///
    /// # Errors
    /// A column that is not one of them; all of them weigh nothing.
    pub fn of(&self, columns: &[&str]) -> Result<Ranking, RankingError> {
        let NamedRanking::Bm25(named) = self else { return Ok(Ranking::Innodb) };
        let mut weights = vec![1.0; columns.len()];
        for (name, weight) in named {
            let at = columns.iter().position(|column| is_same(column, name));
            let at = at.ok_or_else(|| RankingError::NoColumn(name.clone()))?;
            weights[at] = *weight;
        }
        match weights.iter().any(|weight| *weight > 0.0) {
            true => Ok(Ranking::Bm25(Bm25::default(), Weights::new(weights))),
            false => Err(RankingError::NoWeight),
        }
    }

    /// Finds what follows `mark` in a text that may say other things, too; `None`: the mark is not there.
    ///
    /// # Errors
    /// What follows is no ranking.
    pub fn in_text(text: &str, mark: &str) -> Result<Option<NamedRanking>, RankingError> {
        let Some(at) = text.find(mark) else { return Ok(None) };
        let (found, _) = Reader { rest: &text[at + mark.len()..] }.ranking()?;
        Ok(Some(found))
    }
}

impl FromStr for NamedRanking {
    type Err = RankingError;

    fn from_str(text: &str) -> Result<NamedRanking, RankingError> {
        let (found, rest) = Reader { rest: text.trim() }.ranking()?;
        match rest.is_empty() {
            true => Ok(found),
            false => Err(RankingError::Unknown(text.to_owned())),
        }
    }
}

/// Names of columns do not differ by case.
fn is_same(a: &str, b: &str) -> bool {
    a == b || a.to_lowercase() == b.to_lowercase()
}

/// What is still to be read.
struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    /// A ranking, and what is behind it.
    fn ranking(mut self) -> Result<(NamedRanking, &'t str), RankingError> {
        let all = self.rest;
        let word = self.while_(|c| c.is_ascii_alphanumeric() || c == '_');
        if word.eq_ignore_ascii_case("innodb") {
            return Ok((NamedRanking::Innodb, self.rest));
        }
        if !word.eq_ignore_ascii_case("bm25") {
            return Err(RankingError::Unknown(all.to_owned()));
        }
        let mut named: Vec<(String, f64)> = Vec::new();
        if self.take('(') {
            loop {
                let (column, weight) = self.weight(all)?;
                if named.iter().any(|(other, _)| is_same(other, &column)) {
                    return Err(RankingError::Twice(column));
                }
                named.push((column, weight));
                match (self.take(','), self.take(')')) {
                    (true, _) => {}
                    (false, true) => break,
                    (false, false) => return Err(RankingError::Unknown(all.to_owned())),
                }
            }
        }
        Ok((NamedRanking::Bm25(named), self.rest))
    }

    /// A column and its weight.
    fn weight(&mut self, all: &str) -> Result<(String, f64), RankingError> {
        let column = self.name().ok_or_else(|| RankingError::Unknown(all.to_owned()))?;
        self.spaces();
        let text = self.while_(|c| c != ',' && c != ')').trim();
        let weight = text.parse().ok().filter(|weight| (0.0..=WEIGHT_MAX).contains(weight));
        match weight {
            Some(weight) => Ok((column, weight)),
            None => Err(RankingError::Weight(column, text.to_owned())),
        }
    }

    fn name(&mut self) -> Option<String> {
        self.spaces();
        let Some(mut quoted) = self.rest.strip_prefix('`') else {
            let name = self.while_(|c| !c.is_whitespace() && !matches!(c, ',' | '(' | ')'));
            return Some(name.to_owned()).filter(|name| !name.is_empty());
        };
        let mut name = String::new();
        loop {
            let (part, behind) = quoted.split_once('`')?;
            name.push_str(part);
            match behind.strip_prefix('`') {
                Some(more) => {
                    name.push('`');
                    quoted = more;
                }
                None => {
                    self.rest = behind;
                    return Some(name).filter(|name| !name.is_empty());
                }
            }
        }
    }

    fn spaces(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Whether a sign comes next; it is taken.
    fn take(&mut self, sign: char) -> bool {
        let rest = self.rest.trim_start().strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn while_(&mut self, is_part: impl Fn(char) -> bool) -> &'t str {
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (part, rest) = self.rest.split_at(end);
        self.rest = rest;
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(pairs: &[(&str, f64)]) -> NamedRanking {
        NamedRanking::Bm25(pairs.iter().map(|(name, weight)| ((*name).to_owned(), *weight)).collect())
    }

    #[test]
    fn what_is_written() {
        let read = |text: &str| text.parse::<NamedRanking>();
        assert_eq!(read("InnoDB"), Ok(NamedRanking::Innodb));
        assert_eq!(read(" bm25 "), Ok(named(&[])));
        assert_eq!(read("BM25 (title 4, body .5)"), Ok(named(&[("title", 4.0), ("body", 0.5)])));
        assert_eq!(read("bm25(`a b``c`7,é 0)"), Ok(named(&[("a b`c", 7.0), ("é", 0.0)])));
        for text in [
            "",
            "bm",
            "bm25(",
            "bm25()",
            "bm25(a 1",
            "bm25(a 1,)",
            "bm25(a 1) b",
            "bm25(`a 1)",
            "innodb(a 1)",
        ] {
            assert!(matches!(read(text), Err(RankingError::Unknown(_))), "{text}: {:?}", read(text));
        }
        for weight in ["", "four", "-1", "1e7", "NaN", "inf", "1 2"] {
            let wrong = RankingError::Weight("a".to_owned(), weight.to_owned());
            assert_eq!(read(&format!("bm25(a {weight})")), Err(wrong));
        }
        assert_eq!(read("bm25(a 1, A 2)"), Err(RankingError::Twice("A".to_owned())));
    }

    #[test]
    fn it_may_stand_in_another_text() {
        let found = |text| NamedRanking::in_text(text, "rank=");
        assert_eq!(found("of pages"), Ok(None));
        assert_eq!(found("of pages; rank=bm25(a 2); see there"), Ok(Some(named(&[("a", 2.0)]))));
        assert_eq!(found("rank=innodb, as ever"), Ok(Some(NamedRanking::Innodb)));
        assert!(found("rank=none").is_err());
    }

    #[test]
    fn weights_are_those_of_the_index() {
        let of = |ranking: NamedRanking| ranking.of(&["Title", "body"]);
        assert_eq!(of(NamedRanking::Innodb), Ok(Ranking::Innodb));
        let weights = |weights: &[f64]| Ranking::Bm25(Bm25::default(), Weights::new(weights.to_vec()));
        assert_eq!(of(named(&[("TITLE", 4.0)])), Ok(weights(&[4.0, 1.0])));
        assert_eq!(of(named(&[])), Ok(weights(&[1.0, 1.0])));
        assert_eq!(of(named(&[("titles", 4.0)])), Err(RankingError::NoColumn("titles".to_owned())));
        assert_eq!(of(named(&[("title", 0.0), ("body", 0.0)])), Err(RankingError::NoWeight));
    }
}
