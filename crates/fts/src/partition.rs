//! Which of an index's six tables a word is in: by the weight of its first character, so that A to E are in the second.
//!
//! | table | weights from |
//! |---|---|
//! | `INDEX_1` | 0 |
//! | `INDEX_2` | 65 |
//! | `INDEX_3` | 70 |
//! | `INDEX_4` | 75 |
//! | `INDEX_5` | 80 |
//! | `INDEX_6` | 85 |
//!
//! The weight is the number of the first two bytes of WEIGHT_STRING(), its high byte if it is above 255. The division is made
//! for the collations whose weights are capital letters of ASCII; in others most words are in one table.

use vaquita_format::collation::Collation;

/// How many tables an index has.
pub const TABLES: usize = 6;

/// The weights at which tables 2 to 6 begin.
const STARTS: [u16; TABLES - 1] = [65, 70, 75, 80, 85];

/// The table of a word, 0 to 5: `INDEX_1` is 0.
pub fn table_of(collation: Collation, word: &[u8]) -> usize {
    let mut weights = Vec::new();
    // The first character's weights depend on few characters behind it: contractions.
    let start = collation.charset().substring(word, 0, 4);
    collation.weight_string(start, &mut weights);
    let value = match weights[..] {
        [high, low, ..] => u16::from(high) << 8 | u16::from(low),
        [only] => u16::from(only),
        [] => 0,
    };
    let value = if value > 255 { value >> 8 } else { value };
    STARTS.iter().take_while(|&&start| value >= start).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_a_latin_collation() {
        for id in [8, 33, 45] {
            let collation = Collation::of(id).expect("known");
            let tables =
                ["123", "apple", "egg", "fig", "Jam", "kiwi", "oat", "pear", "tea", "ugli", "zest", "_x"];
            let found = tables.map(|word| table_of(collation, word.as_bytes()));
            assert_eq!(found, [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 5], "{id}");
        }
        let utf8 = Collation::of(33).expect("known");
        assert_eq!(table_of(utf8, "éclair".as_bytes()), 1);
        assert_eq!(table_of(utf8, "日本".as_bytes()), 5);
        assert_eq!(table_of(utf8, b""), 0);
    }
}
