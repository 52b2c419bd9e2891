//! Which ranks searches in a FULLTEXT index give: `vaquita_ft_ranking=bm25(title 4)` in the comment of the index, as MySQL 5.7 has
//! `MERGE_THRESHOLD=` there. A server that does not know it keeps a comment. And how its words are divided among its tables:
//! `vaquita_ft_split=hash`, which takes effect when the key is made.

use super::definition::{Definition, KeyDefinition, KeyKind};
use vaquita_engine::fulltext::{NamedRanking, Ranking, RankingError, Split};
use vaquita_engine::lower::collation::Collation;
use vaquita_types::{SqlError, SqlResult};

/// The variable that says so for a session, and what comments say it by.
pub const VARIABLE: &str = "vaquita_ft_ranking";

/// What comments say by it how words are divided.
const SPLIT: &str = "vaquita_ft_split";

impl KeyDefinition {
    /// The division of words that its comment asks for.
    pub fn asked_split(&self) -> Option<String> {
        Split::in_text(&self.comment, &format!("{SPLIT}=")).map(str::to_owned)
    }

    /// The ranks that its comment asks for.
    ///
    /// # Errors
    /// 1525.
    pub fn ranking(&self) -> SqlResult<Option<NamedRanking>> {
        NamedRanking::in_text(&self.comment, &format!("{VARIABLE}=")).map_err(|e| wrong_ranking(&e))
    }
}

impl Definition {
    /// Checks that the divisions of words are some, for the collations of the keys.
    ///
    /// # Errors
    /// 1525.
    pub(crate) fn check_splits(&self) -> SqlResult<()> {
        for key in &self.keys {
            let Some(split) = &key.split else { continue };
            let column = key.parts.first().and_then(|part| self.key_column(&part.column));
            let collation = column.and_then(|at| Collation::of(self.columns[at].ty.collation));
            if collation.is_none_or(|collation| Split::of(split, collation).is_err()) {
                return Err(SqlError::new(1525, format!("Incorrect {SPLIT} value: '{split}'")));
            }
        }
        Ok(())
    }

    /// Checks that the ranks that comments of FULLTEXT keys ask for are some, of columns that the keys have.
    ///
    /// # Errors
    /// 1054, 1525.
    pub(crate) fn check_rankings(&self) -> SqlResult<()> {
        for key in self.keys.iter().filter(|key| key.kind == KeyKind::FullText) {
            if let Some(ranking) = key.ranking()? {
                let columns: Vec<&str> = key.parts.iter().map(|part| part.column.as_str()).collect();
                ranking_of(&ranking, &columns)?;
            }
        }
        Ok(())
    }
}

/// Ranks in an index of these columns.
///
/// # Errors
/// 1054, 1525.
pub fn ranking_of(ranking: &NamedRanking, columns: &[&str]) -> SqlResult<Ranking> {
    ranking.of(columns).map_err(|e| wrong_ranking(&e))
}

fn wrong_ranking(e: &RankingError) -> SqlError {
    let value = match e {
        RankingError::NoColumn(column) => {
            return SqlError::new(1054, format!("Unknown column '{column}' in '{VARIABLE}'"));
        }
        RankingError::Unknown(text) => text.clone(),
        RankingError::Weight(column, weight) => format!("{column} {weight}"),
        RankingError::Twice(column) => format!("{column} twice"),
        RankingError::NoWeight => "all weights 0".to_owned(),
    };
    SqlError::new(1525, format!("Incorrect {VARIABLE} value: '{value}'"))
}
