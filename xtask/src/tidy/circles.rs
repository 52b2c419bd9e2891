//! Circles: the modules of a crate use each other in one direction, as crates do.
//!
//! The compiler forbids circles between crates only. Here a node is what stands directly in a crate's `src` folder
//! (a file, with the folder of its name), an arrow is a path of the code (`crate::…`, `super::…`) that leads to
//! another one. The root of the crate is a facade: a name it exports counts for the module it comes from. Unit tests
//! may use what they like.
//!
//! Circles that are still there are in [`KNOWN`]; the list can only shrink.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::{Finding, TextFile};

/// Modules that stand in a circle, by crate.
const KNOWN: &[(&str, &[&str])] = &[
    // A descent keeps a path, a path splits, a split descends again: the recursion of a B-tree.
    ("btree", &["descent", "path", "split", "tree"]),
];

/// The arrows between the modules of a crate: for each what it uses, with a file that does.
type Arrows = BTreeMap<String, BTreeMap<String, String>>;

pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    check_against(files, KNOWN)
}

fn check_against(files: &[TextFile], known_circles: &[(&str, &[&str])]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut crates: BTreeMap<&str, Vec<&TextFile>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let in_crate = file.path.strip_prefix("crates/").and_then(|rest| rest.split_once("/src/"));
        if let Some((name, _)) = in_crate {
            crates.entry(name).or_default().push(file);
        }
    }
    for (name, files) in crates {
        let arrows = match arrows_of(&files) {
            Ok(arrows) => arrows,
            Err(text) => {
                findings.push(Finding::Error(text));
                continue;
            }
        };
        let known = known_circles.iter().find(|(of, _)| *of == name).map_or(&[][..], |(_, modules)| modules);
        let mut in_circles = BTreeSet::new();
        for circle in circles(&arrows) {
            if circle.iter().any(|module| !known.contains(&module.as_str())) {
                findings.push(Finding::Error(format!("{name}: {}", told(&arrows, &circle))));
            }
            in_circles.extend(circle);
        }
        for module in known.iter().filter(|module| !in_circles.contains(**module)) {
            findings
                .push(Finding::Error(format!("{name}: {module} is in no circle any more: shorten the list")));
        }
    }
    findings
}

/// The modules of a circle, and for each arrow inside it one file that makes it.
fn told(arrows: &Arrows, circle: &BTreeSet<String>) -> String {
    let mut text = format!("modules in a circle: {}", circle.iter().cloned().collect::<Vec<_>>().join(", "));
    for from in circle {
        for (to, file) in arrows[from].iter().filter(|(to, _)| circle.contains(*to)) {
            text.push_str(&format!("\n  {from} -> {to}: {file}"));
        }
    }
    text
}

fn arrows_of(files: &[&TextFile]) -> Result<Arrows, String> {
    let mut arrows = Arrows::new();
    let mut exports = BTreeMap::new();
    let mut parsed = Vec::new();
    let mut for_tests = Vec::new();
    for file in files {
        let tokens: TokenStream = file.text.parse().map_err(|e| format!("{}: {e}", file.path))?;
        let module = module_of(&file.path);
        let mut found = Found::default();
        found.read(tokens, 0);
        for name in found.for_tests {
            for_tests.push([module.as_slice(), &[name]].concat());
        }
        parsed.push((module, *file, found.paths));
    }
    parsed.retain(|(module, _, _)| !for_tests.iter().any(|tests| module.starts_with(tests)));
    for (module, _, _) in parsed.iter().filter(|(module, _, _)| !module.is_empty()) {
        arrows.entry(module[0].clone()).or_default();
    }
    for (_, _, paths) in parsed.iter().filter(|(module, _, _)| module.is_empty()) {
        for path in paths.iter().filter(|path| path.used) {
            let names: Vec<&String> =
                path.names.iter().filter(|name| *name != "crate" && *name != "self").collect();
            if let (Some(first), Some(last)) = (names.first(), names.last())
                && arrows.contains_key(*first)
            {
                exports.insert((*last).clone(), (*first).clone());
            }
        }
    }
    for (module, file, paths) in parsed.iter().filter(|(module, _, _)| !module.is_empty()) {
        for path in paths {
            let Some(target) = target_of(module, path) else { continue };
            let target =
                if arrows.contains_key(&target) { Some(target) } else { exports.get(&target).cloned() };
            if let Some(target) = target.filter(|target| *target != module[0]) {
                let from = arrows.get_mut(&module[0]).expect("every module has an entry");
                from.entry(target).or_insert_with(|| file.path.clone());
            }
        }
    }
    Ok(arrows)
}

/// `crates/sql/src/ddl/alter.rs` is `ddl::alter`; the root of a crate is nothing.
fn module_of(path: &str) -> Vec<String> {
    let inside = path.split_once("/src/").map_or(path, |(_, inside)| inside);
    let mut names: Vec<String> = inside.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    let is_folder = names.last().is_some_and(|name| name == "mod");
    if is_folder || names == ["lib"] || names == ["main"] {
        names.pop();
    }
    names
}

/// The first name below the crate's root that a path leads to.
fn target_of(module: &[String], path: &Path) -> Option<String> {
    let ups = path.names.iter().take_while(|name| *name == "super").count();
    match path.names.first()?.as_str() {
        "crate" => path.names.get(1).cloned(),
        // Modules within a file are one level down from it.
        "super" if ups >= module.len() + path.depth => path.names.get(ups).cloned(),
        _ => None,
    }
}

/// A path of the code.
#[derive(Debug, PartialEq, Eq)]
struct Path {
    names: Vec<String>,
    /// It is one of a `use`.
    used: bool,
    /// How many modules of the file it stands in.
    depth: usize,
}

/// What a file holds.
#[derive(Debug, Default)]
struct Found {
    paths: Vec<Path>,
    /// Modules in files of their own that are there for tests.
    for_tests: Vec<String>,
}

impl Found {
    /// Reads a piece of code, `depth` modules deep in its file, without its unit tests.
    fn read(&mut self, tokens: TokenStream, depth: usize) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            if is_for_tests(&tokens[at..]) {
                let end = end_of_item(&tokens, at);
                self.for_tests.extend(module_declared(&tokens[at..end]));
                at = end;
                continue;
            }
            match &tokens[at] {
                TokenTree::Ident(name) if name == "use" => {
                    at = tree(&tokens, at + 1, &[], &mut leaf(&mut self.paths, true, depth))
                }
                TokenTree::Ident(name) if name == "mod" => {
                    if let Some(TokenTree::Group(body)) = tokens.get(at + 2) {
                        self.read(body.stream(), depth + 1);
                    }
                    at += 3;
                }
                TokenTree::Ident(name)
                    if (name == "crate" || name == "super") && !is_separator(&tokens, at) =>
                {
                    at = tree(&tokens, at, &[], &mut leaf(&mut self.paths, false, depth));
                }
                TokenTree::Group(group) => {
                    self.read(group.stream(), depth);
                    at += 1;
                }
                _ => at += 1,
            }
        }
    }
}

fn leaf(paths: &mut Vec<Path>, used: bool, depth: usize) -> impl FnMut(Vec<String>) {
    move |names| paths.push(Path { names, used, depth })
}

/// The name in `mod name;`.
fn module_declared(item: &[TokenTree]) -> Option<String> {
    let [.., TokenTree::Ident(keyword), TokenTree::Ident(name), TokenTree::Punct(_)] = item else {
        return None;
    };
    (keyword == "mod").then(|| name.to_string())
}

/// Reads a path, or a tree of them, from `at` on; returns where it ends.
fn tree(tokens: &[TokenTree], mut at: usize, before: &[String], leaf: &mut impl FnMut(Vec<String>)) -> usize {
    let mut names = before.to_vec();
    loop {
        match tokens.get(at) {
            Some(TokenTree::Ident(name)) => names.push(name.to_string()),
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                let mut next = 0;
                while next < inner.len() {
                    next = tree(&inner, next, &names, leaf);
                    while next < inner.len() && !is_comma(&inner[next]) {
                        next += 1;
                    }
                    next += 1;
                }
                return at + 1;
            }
            _ => break,
        }
        at += 1;
        if !is_separator(tokens, at + 2) {
            break;
        }
        at += 2;
    }
    if names.len() > before.len() {
        leaf(names);
        at
    } else {
        at + 1
    }
}

fn is_comma(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',')
}

/// Whether `::` ends before `at`.
fn is_separator(tokens: &[TokenTree], at: usize) -> bool {
    let colon = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    at >= 2 && colon(at - 1) && colon(at - 2)
}

/// Whether an attribute begins here that keeps the item for tests.
fn is_for_tests(tokens: &[TokenTree]) -> bool {
    let [TokenTree::Punct(hash), TokenTree::Group(attribute), ..] = tokens else { return false };
    let text: String = attribute.stream().to_string().split_whitespace().collect();
    hash.as_char() == '#' && text.starts_with("cfg(") && (text.contains("test") && !text.contains("not(test"))
}

/// Where the item with the attribute at `at` ends.
fn end_of_item(tokens: &[TokenTree], mut at: usize) -> usize {
    at += 2;
    while at < tokens.len() {
        let ends = match &tokens[at] {
            TokenTree::Punct(punct) => punct.as_char() == ';' || punct.as_char() == ',',
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            _ => false,
        };
        at += 1;
        if ends {
            break;
        }
    }
    at
}

/// The groups of modules that reach each other, of two and more.
fn circles(arrows: &Arrows) -> Vec<BTreeSet<String>> {
    let reach: BTreeMap<&String, BTreeSet<&String>> =
        arrows.keys().map(|from| (from, reached(arrows, from))).collect();
    let mut found: Vec<BTreeSet<String>> = Vec::new();
    for (from, to) in &reach {
        if found.iter().any(|circle| circle.contains(*from)) {
            continue;
        }
        let circle: BTreeSet<String> =
            to.iter().filter(|other| reach[**other].contains(*from)).map(|other| (*other).clone()).collect();
        if circle.len() > 1 {
            found.push(circle);
        }
    }
    found
}

fn reached<'a>(arrows: &'a Arrows, from: &'a String) -> BTreeSet<&'a String> {
    let mut seen = BTreeSet::new();
    let mut next = vec![from];
    while let Some(module) = next.pop() {
        next.extend(arrows[module].keys().filter(|to| seen.insert(*to)));
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(files: &[(&str, &str)], known_circles: &[(&str, &[&str])]) -> Vec<String> {
        let files: Vec<TextFile> = files
            .iter()
            .map(|(path, text)| TextFile { path: (*path).to_owned(), text: (*text).to_owned() })
            .collect();
        check_against(&files, known_circles)
            .into_iter()
            .map(|finding| match finding {
                Finding::Error(text) | Finding::Note(text) => text,
            })
            .collect()
    }

    #[test]
    fn one_way_is_no_circle() {
        let files = [
            ("crates/x/src/lib.rs", "mod a; mod b;"),
            ("crates/x/src/a.rs", "use crate::b::{self, C, d::{E, F}};"),
            ("crates/x/src/b/mod.rs", "mod c; pub(crate) use c::C;"),
            (
                "crates/x/src/b/c.rs",
                "use super::d; use std::fmt; fn f() -> super::G { super::super::b::g() }",
            ),
        ];
        assert_eq!(errors(&files, &[]), Vec::<String>::new());
    }

    #[test]
    fn every_kind_of_way_back_is_seen() {
        for back in [
            "use crate::a::X;",
            "use crate::{c, a::X};",
            "use super::super::a::X;",
            "fn f() -> crate::a::X { todo() }",
            "fn f() { say!(\"{}\", crate::a::x()) }",
            "use crate::X;",
            "mod inner { use super::super::super::a; }",
        ] {
            let files = [
                ("crates/x/src/lib.rs", "mod a; mod b; pub use a::inner::X;"),
                ("crates/x/src/a.rs", "use crate::b;"),
                ("crates/x/src/b/c.rs", back),
            ];
            let said = errors(&files, &[]);
            assert_eq!(said.len(), 1, "{back}: {said:?}");
            assert!(said[0].starts_with("x: modules in a circle: a, b\n"), "{said:?}");
            assert!(said[0].contains("b -> a: crates/x/src/b/c.rs"), "{said:?}");
        }
    }

    #[test]
    fn tests_may_use_what_they_like() {
        let files = [
            ("crates/x/src/a.rs", "use crate::b;"),
            (
                "crates/x/src/b.rs",
                "#[cfg(test)] mod tests { use crate::a; } #[cfg(test)] use crate::a; fn f() {}",
            ),
        ];
        assert_eq!(errors(&files, &[]), Vec::<String>::new());
    }

    #[test]
    fn the_list_can_only_shrink() {
        let circle = [("crates/x/src/a.rs", "use crate::b;"), ("crates/x/src/b.rs", "use crate::a;")];
        assert_eq!(errors(&circle, &[("x", &["a", "b"])]), Vec::<String>::new());
        assert_eq!(errors(&circle, &[("x", &["a"])]).len(), 1);
        let said = errors(&circle[..1], &[("x", &["a", "b"])]);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].contains("shorten the list"), "{said:?}");
    }
}
