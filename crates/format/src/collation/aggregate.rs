//! Which collation the operands of an expression are compared, joined or returned by.
//!
//! Every operand brings a collation and a [`Derivation`]: how much the collation is meant. The operands are taken from
//! left to right, each against the result so far:
//!
//! 1. Same character set: the stronger derivation wins. At equal strength the `_bin` collation wins over another; two
//!    others have nothing in common: two COLLATE clauses are an error, else the result is the `_bin` collation with
//!    derivation NONE, which is good enough for joining texts, not for comparing them.
//! 2. `binary` and text: the stronger wins, `binary` at equal strength.
//! 3. Different character sets: a Unicode one wins if it is stronger, or as strong as one that is not Unicode; `utf8mb4`
//!    wins over `utf8` of equal strength.
//! 4. Else an operand of ASCII characters alone yields if it is weaker, or as strong while the other is more than ASCII.
//! 5. Else the weaker yields if it is a constant (SYSCONST or weaker); it must convert without loss.
//!
//! These are the rules of MySQL's manual ("Collation Coercibility in Expressions"), made precise by the answers of
//! MySQL 5.6.24 in the tests.

use std::fmt::Write as _;

use super::{Collation, name};
use crate::charset::{self, Charset};

/// How much a collation is meant: COERCIBILITY() is its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Derivation {
    /// COLLATE clause.
    Explicit = 0,
    /// Operands of different collations were joined.
    None = 1,
    /// Column, variable, stored routine parameter, CAST, CONVERT.
    Implicit = 2,
    /// USER(), VERSION() and the like.
    SysConst = 3,
    /// Literal.
    Coercible = 4,
    /// Number or date made text: in the collation of the connection, ASCII.
    Numeric = 5,
    /// NULL.
    Ignorable = 6,
}

impl Derivation {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Derivation::Explicit => "EXPLICIT",
            Derivation::None => "NONE",
            Derivation::Implicit => "IMPLICIT",
            Derivation::SysConst => "SYSCONST",
            Derivation::Coercible => "COERCIBLE",
            Derivation::Numeric => "NUMERIC",
            Derivation::Ignorable => "IGNORABLE",
        }
    }
}

/// An operand.
#[derive(Debug, Clone, Copy)]
pub struct Operand<'a> {
    /// Number of its collation.
    pub collation: u16,
    /// How much that is meant.
    pub derivation: Derivation,
    /// It consists of ASCII characters alone: a literal that does, a number, a column of character set `ascii`.
    pub ascii: bool,
    /// Its value, if it is known already.
    pub constant: Option<&'a [u8]>,
    /// Its value is another one for each row.
    pub of_row: bool,
}

/// What the result is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Joining or choosing texts: CONCAT(), COALESCE(), IF(), CASE's results.
    Text,
    /// Comparing them: operators, LIKE, IN, STRCMP(), LOCATE(), REPLACE(), GREATEST(), NULLIF(), DISTINCT UNION...
    Compare,
}

/// The collation of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aggregated {
    /// Its number. Operands of another character set are to be converted.
    pub collation: u16,
    /// How much it is meant.
    pub derivation: Derivation,
    /// All operands are ASCII.
    pub ascii: bool,
}

/// The operands have no collation in common: MySQL's error 1267 of two operands, 1270 of three, 1271 of more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IllegalMix {
    /// Collation and derivation of each.
    pub operands: Vec<(u16, Derivation)>,
}

impl IllegalMix {
    /// MySQL's message for an operation (`=`, `concat`, ` IN `).
    pub fn message(&self, operation: &str) -> String {
        let mut out = String::from("Illegal mix of collations");
        if self.operands.len() <= 3 {
            for (i, &(collation, derivation)) in self.operands.iter().enumerate() {
                let before = match i {
                    0 => " ",
                    1 if self.operands.len() == 2 => " and ",
                    _ => ", ",
                };
                let name = name(collation).unwrap_or("?");
                // Writing to a string does not fail.
                let _ = write!(out, "{before}({name},{})", derivation.name());
            }
        }
        let _ = write!(out, " for operation '{operation}'");
        out
    }
}

/// The collation of an expression with these operands; `binary` if there are none.
///
/// # Errors
/// [`IllegalMix`].
pub fn aggregate(operands: &[Operand<'_>], purpose: Purpose) -> Result<Aggregated, IllegalMix> {
    let illegal = || IllegalMix { operands: operands.iter().map(|o| (o.collation, o.derivation)).collect() };
    let Some((first, rest)) = operands.split_first() else {
        return Ok(Aggregated {
            collation: Collation::BINARY.id(),
            derivation: Derivation::Coercible,
            ascii: true,
        });
    };
    let mut result =
        Aggregated { collation: first.collation, derivation: first.derivation, ascii: first.ascii };
    for operand in rest {
        let next =
            Aggregated { collation: operand.collation, derivation: operand.derivation, ascii: operand.ascii };
        let ascii = result.ascii && next.ascii;
        result = Aggregated { ascii, ..both(result, next).ok_or_else(illegal)? };
    }
    if purpose == Purpose::Compare && result.derivation == Derivation::None {
        return Err(illegal());
    }
    if operands.iter().all(|operand| converts(operand, result.collation)) {
        Ok(result)
    } else {
        Err(illegal())
    }
}

/// The collation of two; `None` if they have none in common.
fn both(a: Aggregated, b: Aggregated) -> Option<Aggregated> {
    let (a_set, b_set) = (charset_of(a.collation), charset_of(b.collation));
    if a_set == b_set {
        return same_charset(a, b);
    }
    if a_set == Charset::BINARY {
        return Some(if a.derivation <= b.derivation { a } else { b });
    }
    if b_set == Charset::BINARY {
        return Some(if b.derivation <= a.derivation { b } else { a });
    }
    let wins = |x: Aggregated, x_set: Charset, y: Aggregated, y_set: Charset| {
        let (stronger, equal) = (x.derivation < y.derivation, x.derivation == y.derivation);
        x_set.is_unicode() && (stronger || equal && !y_set.is_unicode())
            || equal && (x_set, y_set) == (Charset::UTF8MB4, Charset::UTF8)
    };
    let yields = |x: Aggregated, y: Aggregated| {
        y.ascii && (x.derivation < y.derivation || x.derivation == y.derivation && !x.ascii)
    };
    let outranks =
        |x: Aggregated, y: Aggregated| x.derivation < y.derivation && y.derivation >= Derivation::SysConst;
    if wins(a, a_set, b, b_set) {
        Some(a)
    } else if wins(b, b_set, a, a_set) {
        Some(b)
    } else if yields(a, b) || outranks(a, b) {
        Some(a)
    } else if yields(b, a) || outranks(b, a) {
        Some(b)
    } else {
        None
    }
}

fn same_charset(a: Aggregated, b: Aggregated) -> Option<Aggregated> {
    if a.collation == b.collation {
        return Some(Aggregated { derivation: a.derivation.min(b.derivation), ..a });
    }
    if a.derivation != b.derivation {
        return Some(if a.derivation < b.derivation { a } else { b });
    }
    let binary = charset_of(a.collation).binary_collation();
    if a.derivation == Derivation::Explicit {
        return None;
    }
    if a.collation == binary {
        return Some(a);
    }
    if b.collation == binary {
        return Some(b);
    }
    Some(Aggregated { collation: binary, derivation: Derivation::None, ..a })
}

fn charset_of(collation: u16) -> Charset {
    Charset::of_collation(collation).unwrap_or(Charset::BINARY)
}

/// Whether it may be converted to the collation's character set: a constant that survives it, not what is calculated from literals for
/// each row.
fn converts(operand: &Operand<'_>, collation: u16) -> bool {
    let (from, to) = (charset_of(operand.collation), charset_of(collation));
    match operand.constant {
        Some(value) if from != to && !operand.ascii => {
            charset::convert(from, to, value, &mut Vec::new()).replaced == 0
        }
        None if from != to && !operand.ascii && operand.of_row => {
            let bytes = [from, to].contains(&Charset::BINARY);
            bytes || to.is_unicode() || operand.derivation != Derivation::Coercible
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::Derivation::{
        Coercible, Explicit, Ignorable, Implicit, None as NoDerivation, Numeric, SysConst,
    };
    use super::*;
    use crate::collation::by_name;

    fn operand(collation: &str, derivation: Derivation) -> Operand<'static> {
        Operand {
            collation: by_name(collation).unwrap(),
            derivation,
            ascii: false,
            constant: None,
            of_row: false,
        }
    }

    fn column(collation: &str) -> Operand<'static> {
        Operand { ascii: collation.starts_with("ascii"), ..operand(collation, Implicit) }
    }

    fn literal(collation: &str, value: &'static [u8]) -> Operand<'static> {
        Operand { constant: Some(value), ascii: value.is_ascii(), ..operand(collation, Coercible) }
    }

    fn number() -> Operand<'static> {
        Operand { derivation: Numeric, ..literal("utf8mb4_general_ci", b"1") }
    }

    /// COLLATION() and COERCIBILITY() of CONCAT() of the operands, on MySQL 5.6.24.
    fn check(operands: &[Operand<'_>], expected: Option<(&str, Derivation)>) {
        let result = aggregate(operands, Purpose::Text).ok();
        let found = result.map(|r| (name(r.collation).unwrap(), r.derivation));
        assert_eq!(found, expected, "{operands:?}");
    }

    #[test]
    fn one_character_set() {
        let [general, unicode, bin] = ["utf8_general_ci", "utf8_unicode_ci", "utf8_bin"].map(column);
        check(&[general, unicode], Some(("utf8_bin", NoDerivation)));
        check(&[general, bin], Some(("utf8_bin", Implicit)));
        check(&[unicode, bin], Some(("utf8_bin", Implicit)));
        check(&[general, unicode, bin], Some(("utf8_bin", NoDerivation)));
        check(&[general, bin, unicode], Some(("utf8_bin", Implicit)));
        check(&[general, unicode, general], Some(("utf8_bin", NoDerivation)));
        check(&[operand("utf8_unicode_ci", Explicit), general], Some(("utf8_unicode_ci", Explicit)));
        check(&[general, operand("utf8_unicode_ci", Explicit)], Some(("utf8_unicode_ci", Explicit)));
        check(&[operand("utf8_bin", Explicit), operand("utf8_general_ci", Explicit)], None);
        check(
            &[column("latin1_german1_ci"), column("latin1_swedish_ci")],
            Some(("latin1_bin", NoDerivation)),
        );
    }

    #[test]
    fn binary_and_text() {
        let binary = operand("binary", Implicit);
        check(&[column("utf8_general_ci"), binary], Some(("binary", Implicit)));
        check(&[literal("utf8mb4_general_ci", "é".as_bytes()), binary], Some(("binary", Implicit)));
        check(&[binary, operand("utf8_bin", Explicit)], Some(("utf8_bin", Explicit)));
        check(&[literal("binary", b"a"), column("utf8_general_ci")], Some(("utf8_general_ci", Implicit)));
        check(&[binary, number()], Some(("binary", Implicit)));
        let null = operand("binary", Ignorable);
        check(&[column("latin1_swedish_ci"), null], Some(("latin1_swedish_ci", Implicit)));
        check(&[null, null], Some(("binary", Ignorable)));
        check(
            &[column("utf8_general_ci"), column("utf8_unicode_ci"), binary],
            Some(("utf8_bin", NoDerivation)),
        );
    }

    #[test]
    fn different_character_sets() {
        let latin1 = column("latin1_swedish_ci");
        let implicit = |collation| Some((collation, Implicit));
        check(&[column("utf8_general_ci"), column("latin1_german1_ci")], implicit("utf8_general_ci"));
        check(&[column("utf8_general_ci"), column("utf8mb4_general_ci")], implicit("utf8mb4_general_ci"));
        check(&[latin1, column("koi8r_general_ci")], None);
        check(&[latin1, column("koi8r_general_ci"), literal("utf8mb4_general_ci", b"x")], None);
        check(&[column("ascii_general_ci"), latin1], implicit("latin1_swedish_ci"));
        check(&[latin1, column("ascii_general_ci")], implicit("latin1_swedish_ci"));
        check(&[operand("latin1_bin", Explicit), column("utf8_general_ci")], None);
        check(&[operand("utf8_bin", Explicit), column("utf8mb4_general_ci")], Some(("utf8_bin", Explicit)));
        for (a, b) in [("utf8", "ucs2"), ("ucs2", "utf16"), ("utf8mb4", "utf16"), ("utf32", "utf16")] {
            check(&[column(&format!("{a}_general_ci")), column(&format!("{b}_general_ci"))], None);
        }
        check(&[latin1, number()], implicit("latin1_swedish_ci"));
        let user = operand("utf8_general_ci", SysConst);
        check(&[latin1, user], implicit("latin1_swedish_ci"));
        check(&[latin1, column("utf8mb4_general_ci")], implicit("utf8mb4_general_ci"));
    }

    #[test]
    fn literals() {
        let latin1 = column("latin1_swedish_ci");
        let utf8mb4 = |value: &'static str| literal("utf8mb4_general_ci", value.as_bytes());
        let implicit = |collation| Some((collation, Implicit));
        check(&[latin1, utf8mb4("é")], implicit("latin1_swedish_ci"));
        check(&[latin1, utf8mb4("中")], None);
        check(&[column("utf8_general_ci"), utf8mb4("x")], implicit("utf8_general_ci"));
        check(&[column("utf8_general_ci"), utf8mb4("😀")], None);
        check(&[column("ascii_general_ci"), utf8mb4("中")], None);
        check(&[column("ascii_general_ci"), utf8mb4("a")], implicit("ascii_general_ci"));
        check(&[operand("utf8_bin", Explicit), utf8mb4("中")], Some(("utf8_bin", Explicit)));
        let (latin1, koi8r) = ("latin1_swedish_ci", "koi8r_general_ci");
        check(&[literal(latin1, b"a"), literal(koi8r, b"b")], None);
        check(&[literal(latin1, b"\xE9"), literal(koi8r, b"b")], Some((latin1, Coercible)));
        check(&[literal(latin1, b"a"), literal(koi8r, b"\xC3")], Some((koi8r, Coercible)));
        check(&[literal(latin1, b"\xE9"), literal(koi8r, b"\xC3")], None);
        check(&[column(latin1), literal(koi8r, b"b")], implicit(latin1));
        check(&[column(latin1), literal(koi8r, b"\xC3")], None);
        check(
            &[literal(latin1, b"\xE9"), literal("utf8_general_ci", b"\xC3\xA9")],
            Some(("utf8_general_ci", Coercible)),
        );
    }

    #[test]
    fn messages_of_a_real_server() {
        let mix = |operands: &[Operand<'_>], operation| {
            aggregate(operands, Purpose::Compare).unwrap_err().message(operation)
        };
        let [general, unicode, bin] = ["utf8_general_ci", "utf8_unicode_ci", "utf8_bin"].map(column);
        assert_eq!(
            mix(&[general, unicode], "="),
            "Illegal mix of collations (utf8_general_ci,IMPLICIT) and (utf8_unicode_ci,IMPLICIT) for operation '='"
        );
        assert_eq!(
            mix(&[general, unicode, bin], "between"),
            "Illegal mix of collations (utf8_general_ci,IMPLICIT), (utf8_unicode_ci,IMPLICIT), (utf8_bin,IMPLICIT) \
             for operation 'between'"
        );
        assert_eq!(
            mix(&[general, unicode, unicode, general], "concat"),
            "Illegal mix of collations for operation 'concat'"
        );
    }
}
