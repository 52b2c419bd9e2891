//! JSON_SCHEMA_VALID and JSON_SCHEMA_VALIDATION_REPORT: documents held against schemas of draft 4.
//!
//! `$ref` may lead to places of the schema itself (`#`, `#/definitions/x`), to nothing else. `format` asks for nothing. A `pattern` that
//! is no regular expression is passed over, as in MySQL; expressions are those of the `regex` crate.

use super::super::{Function, arg, evals, f};
use super::{Args, document, finished, node};
use crate::EvalCx;
use crate::automaton::Automaton;
use crate::build::{New, int_type};
use std::cmp::Ordering;
use vaquita_types::json::binary::{Container, Node};
use vaquita_types::json::{Json, compare_nodes};
use vaquita_types::{SqlError, SqlResult, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    f("json_schema_valid", 2, 2, |cx, name, args| {
        Ok(New::call(name, int_type(1), args, eval_valid).nullable().build(cx))
    }),
    f("json_schema_validation_report", 2, 2, |cx, name, args| document(cx, name, args, eval_report)),
];

/// Schemas that are followed one within the other; a `$ref` may lead back to where it stands.
const DEPTH_MAX: usize = 400;

evals! {
    eval_valid(e, args, cx, row) {
        let list = Args::of(e, args, row);
        let schema = arg!(list.document(0, cx));
        let doc = arg!(list.document(1, cx));
        let failed = validate(list.name, &schema, &doc, cx)?;
        Ok(Value::bool(failed.is_none()))
    }

    eval_report(e, args, cx, row) {
        let list = Args::of(e, args, row);
        let schema = arg!(list.document(0, cx));
        let doc = arg!(list.document(1, cx));
        let text = |text: &str| Json::Text(text.as_bytes().to_vec());
        let mut members = vec![(b"valid".to_vec(), Json::Bool(true))];
        if let Some(failed) = validate(list.name, &schema, &doc, cx)? {
            let Failure { keyword, schema, document } = &failed;
            let reason = format!(
                "The JSON document location '{document}' failed requirement '{keyword}' at JSON Schema location '{schema}'"
            );
            members = vec![
                (b"valid".to_vec(), Json::Bool(false)),
                (b"reason".to_vec(), text(&reason)),
                (b"schema-location".to_vec(), text(schema)),
                (b"document-location".to_vec(), text(document)),
                (b"schema-failed-keyword".to_vec(), text(keyword)),
            ];
        }
        finished(Json::object(members)?)
    }
}

/// Why a document is not valid.
struct Failure {
    keyword: &'static str,
    /// Where the keyword stands.
    schema: String,
    /// Where the document is not as it asks for.
    document: String,
}

fn validate(name: &str, schema: &[u8], doc: &[u8], cx: &mut EvalCx<'_>) -> SqlResult<Option<Failure>> {
    let root = node(schema);
    if !matches!(root, Node::Object(_)) {
        let message = format!("Invalid JSON type in argument 1 to function {name}; an object is required.");
        return Err(SqlError::new(3853, message));
    }
    let at = Place { schema: "#", document: "#" };
    Validator { root, cx, depth: 0 }.check(&root, &node(doc), at)
}

/// Where a schema and a value are.
#[derive(Clone, Copy)]
struct Place<'p> {
    schema: &'p str,
    document: &'p str,
}

impl Place<'_> {
    fn failed(self, keyword: &'static str) -> Found {
        Ok(Some(Failure { keyword, schema: self.schema.to_owned(), document: self.document.to_owned() }))
    }
}

type Found = SqlResult<Option<Failure>>;

struct Validator<'d, 'v, 'c> {
    root: Node<'d>,
    cx: &'v mut EvalCx<'c>,
    depth: usize,
}

/// The next step of a JSON pointer.
fn step(at: &str, key: &[u8]) -> String {
    let key = String::from_utf8_lossy(key).replace('~', "~0").replace('/', "~1");
    format!("{at}/{key}")
}

fn number(value: &Node<'_>) -> Option<f64> {
    Some(match value {
        Node::Int(v) => *v as f64,
        Node::UInt(v) => *v as f64,
        Node::Double(v) => *v,
        Node::Decimal(v) => v.to_f64(),
        _ => return None,
    })
}

/// A number that counts something.
fn count(value: Option<Node<'_>>) -> Option<usize> {
    number(&value?).filter(|n| *n >= 0.0).map(|n| n as usize)
}

fn is_true(value: Option<Node<'_>>) -> bool {
    matches!(value, Some(Node::Bool(true)))
}

impl<'d> Validator<'d, '_, '_> {
    /// Holds a value against a schema.
    fn check(&mut self, schema: &Node<'d>, value: &Node<'_>, at: Place<'_>) -> Found {
        let Node::Object(members) = schema else { return Ok(None) };
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(SqlError::of(3157, &[]));
        }
        self.cx.state.worked(64)?;
        let found = match members.member(b"$ref") {
            Some(Node::Text(to)) => self.follow(to, value, at),
            _ => self.all(members, value, at),
        };
        self.depth -= 1;
        found
    }

    fn follow(&mut self, to: &[u8], value: &Node<'_>, at: Place<'_>) -> Found {
        let to = String::from_utf8_lossy(to).into_owned();
        let Some(pointer) = to.strip_prefix('#') else {
            return Err(SqlError::unsupported("references to external resources in JSON schemas"));
        };
        let mut target = self.root;
        for key in pointer.split('/').skip(1) {
            let key = key.replace("~1", "/").replace("~0", "~");
            let next = match target {
                Node::Object(members) => members.member(key.as_bytes()),
                Node::Array(items) => key.parse().ok().and_then(|n| items.value(n)),
                _ => None,
            };
            // Where it leads nowhere it asks for nothing.
            let Some(next) = next else { return Ok(None) };
            target = next;
        }
        self.check(&target, value, Place { schema: &to, ..at })
    }

    fn all(&mut self, schema: &Container<'d>, value: &Node<'_>, at: Place<'_>) -> Found {
        if schema.member(b"type").is_some_and(|wanted| !has_type(&wanted, value)) {
            return at.failed("type");
        }
        if let Some(Node::Array(list)) = schema.member(b"enum")
            && !list.elements().any(|one| compare_nodes(&one, value).is_eq())
        {
            return at.failed("enum");
        }
        let found = match value {
            Node::Object(members) => self.object(schema, members, at)?,
            Node::Array(items) => self.array(schema, items, at)?,
            Node::Text(text) => self.text(schema, text, at)?,
            _ => numeric(schema, value).map_or(Ok(None), |keyword| at.failed(keyword))?,
        };
        match found {
            Some(failed) => Ok(Some(failed)),
            None => self.combined(schema, value, at),
        }
    }

    fn combined(&mut self, schema: &Container<'d>, value: &Node<'_>, at: Place<'_>) -> Found {
        for (keyword, enough) in [("allOf", usize::MAX), ("anyOf", 1), ("oneOf", 2)] {
            let Some(Node::Array(list)) = schema.member(keyword.as_bytes()) else { continue };
            let mut valid = 0;
            for one in list.elements() {
                valid += usize::from(self.check(&one, value, at)?.is_none());
                if valid >= enough {
                    break;
                }
            }
            let holds = match keyword {
                "allOf" => valid == list.len(),
                "anyOf" => valid > 0,
                _ => valid == 1,
            };
            if !holds {
                return at.failed(keyword);
            }
        }
        match schema.member(b"not") {
            Some(not @ Node::Object(_)) if self.check(&not, value, at)?.is_none() => at.failed("not"),
            _ => Ok(None),
        }
    }

    fn object(&mut self, schema: &Container<'d>, members: &Container<'_>, at: Place<'_>) -> Found {
        for (key, value) in members.members() {
            if let Some(failed) = self.member(schema, key, &value, at)? {
                return Ok(Some(failed));
            }
        }
        if let Some(Node::Array(required)) = schema.member(b"required") {
            let is_missing = |key: Node<'_>| matches!(key, Node::Text(key) if members.member(key).is_none());
            if required.elements().any(is_missing) {
                return at.failed("required");
            }
        }
        if count(schema.member(b"minProperties")).is_some_and(|least| members.len() < least) {
            return at.failed("minProperties");
        }
        if count(schema.member(b"maxProperties")).is_some_and(|most| members.len() > most) {
            return at.failed("maxProperties");
        }
        let Some(Node::Object(dependencies)) = schema.member(b"dependencies") else { return Ok(None) };
        for (key, wanted) in dependencies.members().filter(|(key, _)| members.member(key).is_some()) {
            let holds = match wanted {
                Node::Array(keys) => keys
                    .elements()
                    .all(|key| !matches!(key, Node::Text(key) if members.member(key).is_none())),
                other => {
                    let inner = step(&step(at.schema, b"dependencies"), key);
                    self.check(&other, &Node::Object(*members), Place { schema: &inner, ..at })?.is_none()
                }
            };
            if !holds {
                return at.failed("dependencies");
            }
        }
        Ok(None)
    }

    fn member(&mut self, schema: &Container<'d>, key: &[u8], value: &Node<'_>, at: Place<'_>) -> Found {
        let document = step(at.document, key);
        let mut is_known = false;
        if let Some(Node::Object(properties)) = schema.member(b"properties")
            && let Some(one) = properties.member(key)
        {
            is_known = true;
            let inner = step(&step(at.schema, b"properties"), key);
            let found = self.check(&one, value, Place { schema: &inner, document: &document })?;
            if found.is_some() {
                return Ok(found);
            }
        }
        if let Some(Node::Object(patterns)) = schema.member(b"patternProperties") {
            for (pattern, one) in patterns.members() {
                if !self.matches(pattern, key)?.unwrap_or(false) {
                    continue;
                }
                is_known = true;
                let inner = step(&step(at.schema, b"patternProperties"), pattern);
                let found = self.check(&one, value, Place { schema: &inner, document: &document })?;
                if found.is_some() {
                    return Ok(found);
                }
            }
        }
        match schema.member(b"additionalProperties").filter(|_| !is_known) {
            Some(Node::Bool(false)) => Place { document: &document, ..at }.failed("additionalProperties"),
            Some(one @ Node::Object(_)) => {
                let inner = step(at.schema, b"additionalProperties");
                self.check(&one, value, Place { schema: &inner, document: &document })
            }
            _ => Ok(None),
        }
    }

    fn array(&mut self, schema: &Container<'d>, items: &Container<'_>, at: Place<'_>) -> Found {
        let each = schema.member(b"items");
        let more = schema.member(b"additionalItems");
        for (i, value) in items.elements().enumerate() {
            let document = step(at.document, i.to_string().as_bytes());
            let (one, inner) = match &each {
                Some(one @ Node::Object(_)) => (*one, step(at.schema, b"items")),
                Some(Node::Array(list)) => match (list.value(i), &more) {
                    (Some(one), _) => (one, step(&step(at.schema, b"items"), i.to_string().as_bytes())),
                    (None, Some(Node::Bool(false))) => {
                        return Place { document: &document, ..at }.failed("additionalItems");
                    }
                    (None, Some(one)) => (*one, step(at.schema, b"additionalItems")),
                    (None, None) => continue,
                },
                _ => break,
            };
            let found = self.check(&one, &value, Place { schema: &inner, document: &document })?;
            if found.is_some() {
                return Ok(found);
            }
        }
        if count(schema.member(b"minItems")).is_some_and(|least| items.len() < least) {
            return at.failed("minItems");
        }
        if count(schema.member(b"maxItems")).is_some_and(|most| items.len() > most) {
            return at.failed("maxItems");
        }
        if is_true(schema.member(b"uniqueItems")) {
            let mut all: Vec<Node<'_>> = items.elements().collect();
            self.cx.state.worked(all.len() * 32)?;
            all.sort_by(compare_nodes);
            if all.windows(2).any(|pair| compare_nodes(&pair[0], &pair[1]).is_eq()) {
                return at.failed("uniqueItems");
            }
        }
        Ok(None)
    }

    fn text(&mut self, schema: &Container<'d>, text: &[u8], at: Place<'_>) -> Found {
        let length = || String::from_utf8_lossy(text).chars().count();
        if count(schema.member(b"minLength")).is_some_and(|least| length() < least) {
            return at.failed("minLength");
        }
        if count(schema.member(b"maxLength")).is_some_and(|most| length() > most) {
            return at.failed("maxLength");
        }
        if let Some(Node::Text(pattern)) = schema.member(b"pattern")
            && self.matches(pattern, text)? == Some(false)
        {
            return at.failed("pattern");
        }
        Ok(None)
    }

    /// Whether a text matches a pattern; `None`: that is none.
    fn matches(&mut self, pattern: &[u8], text: &[u8]) -> SqlResult<Option<bool>> {
        let pattern = String::from_utf8_lossy(pattern).into_owned();
        self.cx.state.worked(pattern.len() * 16)?;
        match Automaton::new(pattern, true, false) {
            Some(automaton) => automaton.is_match(text, self.cx).map(Some),
            None => Ok(None),
        }
    }
}

fn has_type(wanted: &Node<'_>, value: &Node<'_>) -> bool {
    match wanted {
        Node::Array(list) => list.elements().any(|one| has_type(&one, value)),
        Node::Text(name) => match *name {
            b"null" => matches!(value, Node::Null),
            b"boolean" => matches!(value, Node::Bool(_)),
            b"object" => matches!(value, Node::Object(_)),
            b"array" => matches!(value, Node::Array(_)),
            b"number" => number(value).is_some(),
            b"integer" => matches!(value, Node::Int(_) | Node::UInt(_)),
            b"string" => matches!(value, Node::Text(_) | Node::Opaque(..)),
            // What is no type asks for nothing.
            _ => true,
        },
        _ => true,
    }
}

/// The keyword about numbers that a number does not satisfy.
fn numeric(schema: &Container<'_>, value: &Node<'_>) -> Option<&'static str> {
    let this = number(value)?;
    let against = |keyword: &str, exclusive: &str, wrong: Ordering| {
        let bound = schema.member(keyword.as_bytes()).filter(|bound| number(bound).is_some());
        bound.is_some_and(|bound| match compare_nodes(value, &bound) {
            Ordering::Equal => is_true(schema.member(exclusive.as_bytes())),
            order => order == wrong,
        })
    };
    if against("minimum", "exclusiveMinimum", Ordering::Less) {
        return Some("minimum");
    }
    if against("maximum", "exclusiveMaximum", Ordering::Greater) {
        return Some("maximum");
    }
    let of = schema.member(b"multipleOf").and_then(|of| number(&of)).filter(|of| *of > 0.0)?;
    let times = this / of;
    ((times - times.round()).abs() > 1e-9 * times.abs().max(1.0)).then_some("multipleOf")
}
