//! The locales of MySQL 5.6: names of months and days, and how numbers are written. What they are was asked of a 5.6.24
//! server.

use std::sync::LazyLock;
use vaquita_engine::text::charset::{Charset, convert};
use vaquita_session::SessionState;
use vaquita_session::vars::{VarValue, id};

/// Names of months and days in UTF-8, the latter from Monday on.
#[derive(Debug, Default)]
pub(crate) struct Locale {
    /// Locales that have them.
    of: Vec<&'static str>,
    months: Vec<&'static str>,
    short_months: Vec<&'static str>,
    days: Vec<&'static str>,
    short_days: Vec<&'static str>,
}

/// A line for each: locales with spaces between them, then the four lists, their names with slashes between them.
static LOCALES: LazyLock<Vec<Locale>> = LazyLock::new(|| {
    let line = |line: &'static str| {
        let mut parts = line.split('|');
        let of = parts.next().unwrap_or_default().split(' ').collect();
        let mut list = || parts.next().unwrap_or_default().split('/').collect();
        Locale { of, months: list(), short_months: list(), days: list(), short_days: list() }
    };
    include_str!("locales.txt").lines().map(line).collect()
});

impl Locale {
    /// The one of `lc_time_names`.
    pub(crate) fn of_session(state: &SessionState) -> &'static Locale {
        let name = match state.vars.get(id::LC_TIME_NAMES) {
            VarValue::Text(name) => &**name,
            _ => ENGLISH,
        };
        Locale::named(name)
    }

    fn named(name: &str) -> &'static Locale {
        let find = |name: &str| LOCALES.iter().find(|locale| locale.of.contains(&name));
        // The variable knows no other names.
        find(name).or_else(|| find(ENGLISH)).unwrap_or(&LOCALES[0])
    }

    /// Name of a month from 1; none of month 0.
    pub(crate) fn month(&self, month: u8) -> Option<&'static str> {
        self.months.get(usize::from(month).checked_sub(1)?).copied()
    }

    pub(crate) fn short_month(&self, month: u8) -> Option<&'static str> {
        self.short_months.get(usize::from(month).checked_sub(1)?).copied()
    }

    /// Name of a day, 0 is Monday.
    pub(crate) fn day(&self, day: u8) -> Option<&'static str> {
        self.days.get(usize::from(day)).copied()
    }

    pub(crate) fn short_day(&self, day: u8) -> Option<&'static str> {
        self.short_days.get(usize::from(day)).copied()
    }

    /// Characters of the longest names: of months, days, their short forms.
    pub(crate) fn widths(&self) -> [u64; 4] {
        [&self.months, &self.days, &self.short_months, &self.short_days]
            .map(|names| names.iter().map(|name| name.chars().count() as u64).max().unwrap_or(0))
    }
}

const ENGLISH: &str = "en_US";

/// A name in the character set of a result.
pub(crate) fn push_name(name: &str, charset: Charset, out: &mut Vec<u8>) {
    if name.is_ascii() && charset.is_ascii_based() || charset == Charset::UTF8MB4 || charset == Charset::UTF8
    {
        out.extend_from_slice(name.as_bytes());
    } else {
        let _ = convert(Charset::UTF8MB4, charset, name.as_bytes(), out);
    }
}

/// How a locale writes numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    /// Between groups of digits; `None`: there are none.
    pub(crate) separator: Option<u8>,
    /// Before the fraction.
    pub(crate) point: u8,
    /// Groups but the last have two digits.
    pub(crate) pairs: bool,
}

/// How numbers are written in a locale; `None`: it is none.
pub(crate) fn style(locale: &[u8]) -> Option<Style> {
    let name = std::str::from_utf8(locale).ok()?;
    let known = LOCALES.iter().flat_map(|locale| &locale.of).find(|of| of.eq_ignore_ascii_case(name))?;
    let (separator, point) = match *known {
        "ar_SA" | "es_CR" | "es_DO" | "es_GT" | "es_HN" | "es_MX" | "es_NI" | "es_PA" | "es_PE" | "es_PR"
        | "es_SV" | "sr_RS" => (None, b'.'),
        "be_BY" | "da_DK" | "de_BE" | "de_DE" | "de_LU" | "es_AR" | "fo_FO" | "hu_HU" | "id_ID" | "is_IS"
        | "lt_LT" | "mn_MN" | "nb_NO" | "no_NO" | "ro_RO" | "ru_UA" | "sq_AL" | "tr_TR" | "uk_UA"
        | "vi_VN" => (Some(b'.'), b','),
        // As the server has it.
        "bg_BG" => (Some(0), b','),
        "ca_ES" | "de_AT" | "el_GR" | "es_BO" | "es_CL" | "es_CO" | "es_EC" | "es_ES" | "es_PY" | "es_UY"
        | "es_VE" | "eu_ES" | "fr_BE" | "fr_CA" | "fr_CH" | "fr_FR" | "fr_LU" | "gl_ES" | "hr_HR"
        | "it_IT" | "nl_BE" | "nl_NL" | "pl_PL" | "pt_BR" | "pt_PT" | "sl_SI" => (None, b','),
        "cs_CZ" | "et_EE" | "fi_FI" | "lv_LV" | "mk_MK" | "ru_RU" | "sk_SK" | "sv_FI" | "sv_SE" => {
            (Some(b' '), b',')
        }
        "de_CH" => (Some(b'\''), b'.'),
        "it_CH" | "rm_CH" => (Some(b'\''), b','),
        _ => (Some(b','), b'.'),
    };
    Some(Style { separator, point, pairs: matches!(*known, "en_IN" | "ta_IN" | "te_IN") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_locale_has_all_names() {
        assert_eq!(LOCALES.iter().map(|locale| locale.of.len()).sum::<usize>(), 111);
        for locale in LOCALES.iter() {
            let counts =
                [&locale.months, &locale.short_months, &locale.days, &locale.short_days].map(Vec::len);
            assert_eq!(counts, [12, 12, 7, 7], "{:?}", locale.of);
        }
        assert_eq!(Locale::named("de_AT").month(1), Some("Jänner"));
        assert_eq!(Locale::named("de_DE").short_day(6), Some("So"));
        assert_eq!(style(b"EN_in"), Some(Style { separator: Some(b','), point: b'.', pairs: true }));
        assert_eq!(style(b"xx_XX"), None);
    }
}
