//! Regular expressions that can be ended while they look at a text.
//!
//! The library's own search looks at the whole text at once, and the time it takes is that of the text's length times the
//! expression's size: seconds, where both are long. There the automaton is driven byte by byte.

use super::EvalCx;
use regex::bytes::{Regex, RegexBuilder};
use regex_automata::Input;
use regex_automata::hybrid::dfa::DFA;
use regex_automata::nfa::thompson;
use regex_automata::util::syntax;
use std::sync::OnceLock;
use vaquita_types::SqlResult;

/// Bytes that a compiled expression may take.
const SIZE_MAX: usize = 8 << 20;

/// Bytes of states that are kept while a text is looked at.
const CACHE: usize = 4 << 20;

/// A text up to this length is looked at at once, whatever the expression.
const SHORT: usize = 1 << 10;

/// So are longer ones if length times size is no more than this.
const QUICK: usize = 4 << 20;

/// Bytes of the text between two reports of work.
const STRIDE: usize = 64;

/// A compiled regular expression.
pub(super) struct Automaton {
    regex: Regex,
    source: String,
    unicode: bool,
    ignore_case: bool,
    /// To be driven byte by byte; made when the first long text comes.
    steps: OnceLock<Option<Box<DFA>>>,
}

/// What it is made of: expressions are told apart by it.
impl std::fmt::Debug for Automaton {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Automaton").field(&self.source).field(&self.unicode).field(&self.ignore_case).finish()
    }
}

impl Automaton {
    /// Compiles an expression; `None` if it is none, or too large.
    pub(super) fn new(source: String, unicode: bool, ignore_case: bool) -> Option<Automaton> {
        // The server matches bytes: `.` is any of them but the end of a text.
        let regex = RegexBuilder::new(&source)
            .unicode(unicode)
            .case_insensitive(ignore_case)
            .dot_matches_new_line(true)
            .octal(false)
            .size_limit(SIZE_MAX)
            .build()
            .ok()?;
        Some(Automaton { regex, source, unicode, ignore_case, steps: OnceLock::new() })
    }

    /// Compiles an expression in the library's own syntax, in which `.` is any character but the end of a line unless flags
    /// say otherwise.
    ///
    /// # Errors
    /// What is wrong with it, in the library's words.
    pub(super) fn with_syntax(source: String, unicode: bool, ignore_case: bool) -> Result<Automaton, String> {
        let regex = RegexBuilder::new(&source)
            .unicode(unicode)
            .case_insensitive(ignore_case)
            .octal(false)
            .size_limit(SIZE_MAX)
            .build()
            .map_err(|e| e.to_string())?;
        Ok(Automaton { regex, source, unicode, ignore_case, steps: OnceLock::new() })
    }

    /// The first match from a byte on.
    pub(super) fn find_at(&self, text: &[u8], from: usize) -> Option<(usize, usize)> {
        self.regex.find_at(text, from).map(|found| (found.start(), found.end()))
    }

    /// The same with what its groups have found; the first one is the match.
    pub(super) fn captures_at(&self, text: &[u8], from: usize) -> Option<Vec<Option<(usize, usize)>>> {
        let found = self.regex.captures_at(text, from)?;
        Some(found.iter().map(|group| group.map(|group| (group.start(), group.end()))).collect())
    }

    /// Whether the text matches.
    ///
    /// # Errors
    /// The statement is to end.
    pub(super) fn is_match(&self, text: &[u8], cx: &mut EvalCx<'_>) -> SqlResult<bool> {
        if text.len() > SHORT
            && let Some(steps) = self.steps.get_or_init(|| self.stepwise())
        {
            let size = steps.get_nfa().states().len();
            if text.len().saturating_mul(size) > QUICK
                && let Some(found) = by_steps(steps, size, text, cx)?
            {
                return Ok(found);
            }
        }
        Ok(self.regex.is_match(text))
    }

    fn stepwise(&self) -> Option<Box<DFA>> {
        let syntax = syntax::Config::new()
            .unicode(self.unicode)
            .utf8(false)
            .case_insensitive(self.ignore_case)
            .dot_matches_new_line(true)
            .octal(false);
        let nfa = thompson::Config::new()
            .utf8(false)
            .nfa_size_limit(Some(SIZE_MAX))
            .which_captures(thompson::WhichCaptures::None);
        let steps =
            DFA::config().unicode_word_boundary(true).cache_capacity(CACHE).skip_cache_capacity_check(true);
        DFA::builder().syntax(syntax).thompson(nfa).configure(steps).build(&self.source).ok().map(Box::new)
    }
}

/// `None`: at this text the automaton gives up.
fn by_steps(steps: &DFA, size: usize, text: &[u8], cx: &mut EvalCx<'_>) -> SqlResult<Option<bool>> {
    let mut cache = steps.create_cache();
    let input = Input::new(text).earliest(true);
    let Ok(mut state) = steps.start_state_forward(&mut cache, &input) else { return Ok(None) };
    for (i, &byte) in text.iter().enumerate() {
        let Ok(next) = steps.next_state(&mut cache, state, byte) else { return Ok(None) };
        state = next;
        if state.is_tagged() {
            if state.is_match() {
                return Ok(Some(true));
            }
            if state.is_dead() {
                return Ok(Some(false));
            }
            if state.is_quit() {
                return Ok(None);
            }
        }
        if i % STRIDE == 0 {
            // A state that is new takes a look at the whole expression.
            cx.state.worked(STRIDE + size)?;
        }
    }
    Ok(steps.next_eoi_state(&mut cache, state).ok().map(|last| last.is_match()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use vaquita_session::SessionState;

    #[test]
    fn both_ways_find_the_same() {
        let mut state = SessionState::detached().unwrap();
        let mut cx = EvalCx::new(None, &mut state, None);
        let long = "abc äöü 123 xyz ".repeat(100);
        let texts = [long.clone(), format!("{long}needle"), format!("needle{long}"), "x".repeat(3000)];
        let sources = [
            "needle$",
            "^needle",
            "x{2000}",
            "^x*$",
            "(a|ab)(c|bcd)",
            r"\b{start}xyz\b{end}",
            "Ö",
            "q",
            "^$",
            "y.z",
            "^[a-z]*$",
        ];
        for source in sources {
            for (unicode, ignore_case) in [(true, true), (true, false), (false, false)] {
                let Some(automaton) = Automaton::new(source.into(), unicode, ignore_case) else { continue };
                let steps = automaton.stepwise().unwrap();
                for text in &texts {
                    let found = by_steps(&steps, 1, text.as_bytes(), &mut cx).unwrap();
                    let wanted = automaton.regex.is_match(text.as_bytes());
                    assert!(found.is_none_or(|found| found == wanted), "{source} {unicode} {text}");
                    assert_eq!(automaton.is_match(text.as_bytes(), &mut cx).unwrap(), wanted);
                    assert!(found.is_some() || source.contains("\\b"), "{source} gives up");
                }
            }
        }
    }
}
