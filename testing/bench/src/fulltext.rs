//! `vaquita-bench fulltext`: full-text search on Vaquita, MySQL 5.6.24 and MariaDB 10.11 in the same run with equal settings: the
//! index made of rows that are there, the queries of the articles in their forms, single inserts, and the bytes on disk. For the
//! record also FTS5 of SQLite, whose ranks and words are others, and tantivy, a library (`testing/tantivy`): the best ten by BM25, the same
//! words. Neither has a protocol between; ours has.
//!
//! The queries run over a connection of this process. Servers take turns; the least of all rounds is printed, with its ratio to
//! MariaDB. All servers must count the same documents.

mod corpus;

use crate::Failure;
use crate::oltp::rivals::{self, Rival};
use crate::settings::{names, setting};
use corpus::Corpus;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use vaquita_clients::wire::{Answer, Wire};

/// What is searched for: a word that many documents have, two, five and four, as in the articles.
const TERMS: [&str; 4] = [
    "memory",
    "memory device",
    "allocate restaurant orange county california",
    "president united states of america",
];

/// What is measured.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Megabytes of text.
    pub megabytes: u64,
    /// Bytes of a document, about.
    pub piece: usize,
    /// Documents that are inserted one by one.
    pub inserts: u64,
    /// Turns of each server.
    pub rounds: usize,
    /// Steps whose name contains one of these; all if empty.
    pub only: Vec<String>,
    /// Names of the servers.
    pub servers: Vec<String>,
    /// An older binary of ours to compare with.
    pub before: Option<PathBuf>,
}

impl Plan {
    /// Reads `NAME=VALUE` words: `megabytes=200 piece=3000 inserts=2000 rounds=5 only=build servers=vaquita,mariadb,sqlite,tantivy
    /// before=BINARY`. Tantivy is built and run only if it is named.
    ///
    /// # Errors
    /// A word that is none of these.
    pub fn parse(words: &[&str]) -> Result<Plan, Failure> {
        let mut plan = Plan {
            megabytes: 200,
            piece: 3000,
            inserts: 2000,
            rounds: 5,
            only: Vec::new(),
            servers: Vec::new(),
            before: None,
        };
        for word in words {
            let (name, value) = setting(word)?;
            match name {
                "megabytes" => plan.megabytes = value.parse::<u64>()?.max(1),
                "piece" => plan.piece = value.parse::<usize>()?.max(100),
                "inserts" => plan.inserts = value.parse()?,
                "rounds" => plan.rounds = value.parse::<usize>()?.max(1),
                "only" => plan.only = names(value),
                "servers" => plan.servers = names(value),
                "before" => plan.before = Some(value.into()),
                _ => return Err(format!("{word} is nothing that can be set").into()),
            }
        }
        Ok(plan)
    }

    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| name.contains(part.as_str()))
    }
}

/// A query, and the number of the rows that it finds as another one, where it does not give it itself.
struct Query {
    name: String,
    statement: String,
    /// As FTS5 has it, if it has.
    fts5: Option<String>,
}

/// The forms of the articles, and what else the language has.
fn queries() -> Vec<Query> {
    let mut all = Vec::new();
    let mut add = |name: String, select: &str, search: &str, end: &str, fts5: Option<&str>| {
        let matching = format!("match (si_title, si_text) against ({search})");
        let select = select.replace("rel", &format!("{matching} as rel"));
        all.push(Query {
            name,
            statement: format!("select {select} from sbtest.si where {matching} {end}"),
            fts5: fts5.map(str::to_owned),
        });
    };
    for (n, term) in TERMS.iter().enumerate() {
        let words = term.split(' ').filter(|word| word.len() > 2).count();
        let any = term.replace(' ', " or ").to_uppercase();
        let fts5 =
            |select: &str| format!("select {select} from ft where ft match '{any}' order by rank limit 10");
        let search = format!("'{term}'");
        let named = |what: &str| format!("{what}, {words} words").replace("1 words", "1 word");
        let best = "order by rel desc limit 10";
        add(
            named("count"),
            "count(*)",
            &search,
            "",
            Some(&format!("select count(*) from ft where ft match '{any}'")),
        );
        add(named("best 10, id"), "FTS_DOC_ID, rel", &search, best, Some(&fts5("rowid, rank")));
        add(
            named("best 10, title and text"),
            "FTS_DOC_ID, si_title, si_text, rel",
            &search,
            best,
            Some(&fts5("*")),
        );
        if n == 0 {
            add(named("best 10, title"), "si_title, rel", &search, best, Some(&fts5("si_title, rank")));
        }
        if n < 2 {
            let every = format!("select rowid, rank from ft where ft match '{any}'");
            add(named("all, id and rank"), "FTS_DOC_ID, rel", &search, "", Some(&every));
        }
    }
    for (name, search) in [
        ("boolean, two of them", "'+memory +device' in boolean mode"),
        ("boolean, not", "'+memory -device >page' in boolean mode"),
        ("boolean, prefix", "'alloc*' in boolean mode"),
        ("phrase", "'\"memory allocation\"' in boolean mode"),
    ] {
        add(name.to_owned(), "count(*)", search, "", None);
    }
    all
}

/// A server with its connection.
struct Runner {
    rival: Rival,
    wire: Wire,
}

/// What was measured of one step on one server: seconds, processor time in seconds.
type Figures = [f64; 2];

/// Runs it and prints the table.
///
/// # Errors
/// A server fails, or finds other documents, or its folder is not sound in the end.
pub fn fulltext(plan: &Plan) -> Result<(), Failure> {
    let corpus = corpus::corpus(plan.megabytes, plan.piece)?;
    println!("{} documents, {} bytes of text", corpus.documents, corpus.bytes);
    let mut runners: Vec<Runner> = rivals::start(&plan.servers, plan.before.as_deref())?
        .into_iter()
        .map(|rival| {
            let wire = Wire::connect(rival.port(), "root")?;
            // Some of this takes other servers minutes.
            wire.stream.set_read_timeout(Some(Duration::from_secs(1800)))?;
            wire.stream.set_write_timeout(Some(Duration::from_secs(1800)))?;
            Ok(Runner { rival, wire })
        })
        .collect::<Result<_, Failure>>()?;
    let report = Report::new(plan, &runners);
    let (loaded, single) = corpus::parts(&corpus, plan.inserts)?;
    let mut figures = Vec::new();
    for runner in &mut runners {
        figures.push(runner.load(&loaded)?);
    }
    drop(loaded);
    report.row("load", &figures);
    figures.clear();
    for runner in &mut runners {
        figures.push(runner.timed("create fulltext index si_idx on sbtest.si (si_title, si_text)")?.0);
    }
    report.row("build", &figures);
    report.sizes("bytes on disk, MB", &runners)?;
    for query in queries().iter().filter(|query| plan.wants(&query.name)) {
        report.row(&query.name, &run(plan, &mut runners, query)?);
    }
    for (name, terms) in best_by_bm25() {
        if plan.wants(&name) {
            bm25(plan, &mut runners, &name, terms)?;
        }
    }
    if plan.wants("insert") {
        let first = corpus.documents - single.len() as u64 + 1;
        figures.clear();
        for runner in &mut runners {
            figures.push(runner.insert(first, &single)?);
        }
        report.row(&format!("{} single inserts", single.len()), &figures);
        let after: Vec<Query> =
            queries().into_iter().filter(|query| query.name.starts_with("count")).collect();
        for query in after.iter().filter(|query| plan.wants(&query.name)) {
            report.row(&format!("{}, then", query.name), &run(plan, &mut runners, query)?);
        }
    }
    if plan.servers.is_empty() || plan.servers.iter().any(|name| name == "sqlite") {
        sqlite(plan, &corpus)?;
    }
    if plan.servers.iter().any(|name| name == "tantivy") {
        tantivy(plan, &corpus)?;
    }
    runners.into_iter().try_for_each(|runner| {
        drop(runner.wire);
        runner.rival.finish()
    })
}

/// The least of all rounds of a query on each server.
fn run(plan: &Plan, runners: &mut [Runner], query: &Query) -> Result<Vec<Figures>, Failure> {
    let mut least = vec![[f64::MAX; 2]; runners.len()];
    let mut answers = vec![String::new(); runners.len()];
    for _ in 0..plan.rounds {
        for ((runner, least), answer) in runners.iter_mut().zip(&mut least).zip(&mut answers) {
            let [seconds, cpu];
            ([seconds, cpu], *answer) = runner.several(&query.statement)?;
            *least = [least[0].min(seconds), least[1].min(cpu)];
        }
    }
    if let Some(other) = answers.iter().position(|answer| *answer != answers[0]) {
        let (a, b) = (runners[0].rival.name(), runners[other].rival.name());
        return Err(format!("{}\n{a}: {}\n{b}: {}", query.statement, answers[0], answers[other]).into());
    }
    Ok(least)
}

impl Runner {
    fn ask(&mut self, statement: &str) -> Result<Answer, Failure> {
        match self.wire.query(statement)? {
            Answer::Error(code, text) => {
                Err(format!("{}: {statement}: {code} {text}", self.rival.name()).into())
            }
            answer => Ok(answer),
        }
    }

    fn timed(&mut self, statement: &str) -> Result<(Figures, Answer), Failure> {
        let (start, before) = (Instant::now(), self.rival.cpu_us()?);
        let answer = self.ask(statement)?;
        let seconds = start.elapsed().as_secs_f64();
        Ok(([seconds, (self.rival.cpu_us()? - before) as f64 / 1e6], answer))
    }

    /// The same for a query, as often as there is enough to be measured: processor time has ticks of 10 ms. What is compared of the
    /// answer: a count, or how many rows there are.
    fn several(&mut self, statement: &str) -> Result<(Figures, String), Failure> {
        let ([once, _], answer) = self.timed(statement)?;
        let shown = match &answer {
            Answer::Rows(rows) if rows.len() != 1 => format!("{} rows", rows.len()),
            answer => answer.value().unwrap_or_default(),
        };
        let times = (0.3 / once).clamp(1.0, 200.0) as u32;
        let (start, before) = (Instant::now(), self.rival.cpu_us()?);
        for _ in 0..times {
            self.ask(statement)?;
        }
        let each = f64::from(times);
        let seconds = start.elapsed().as_secs_f64() / each;
        Ok(([seconds, (self.rival.cpu_us()? - before) as f64 / 1e6 / each], shown))
    }

    /// The table, filled with the documents.
    fn load(&mut self, documents: &[u8]) -> Result<Figures, Failure> {
        self.ask(
            "create table sbtest.si (FTS_DOC_ID bigint unsigned not null auto_increment primary key, si_title varchar(200), \
             si_text mediumtext, unique key FTS_DOC_ID_INDEX (FTS_DOC_ID)) engine=innodb default charset=utf8mb4",
        )?;
        let (start, before) = (Instant::now(), self.rival.cpu_us()?);
        let load = "load data local infile 'documents' into table sbtest.si character set utf8mb4 (si_title, si_text)";
        let Answer::File(_) = self.ask(load)? else { return Err("no file was asked for".into()) };
        for piece in documents.chunks(1 << 20) {
            self.wire.send(piece)?;
        }
        self.wire.send(&[])?;
        if let Answer::Error(code, text) = self.wire.answer()? {
            return Err(format!("{}: {load}: {code} {text}", self.rival.name()).into());
        }
        self.ask("analyze table sbtest.si")?;
        Ok([start.elapsed().as_secs_f64(), (self.rival.cpu_us()? - before) as f64 / 1e6])
    }

    /// Documents one by one, numbered from `first` on: numbers that are counted up by themselves have a gap after the loading, and too
    /// large a one is refused.
    fn insert(&mut self, first: u64, documents: &[[String; 2]]) -> Result<Figures, Failure> {
        let (start, before) = (Instant::now(), self.rival.cpu_us()?);
        for (number, [title, text]) in (first..).zip(documents) {
            self.ask(&format!("insert into sbtest.si values ({number}, {title}, {text})"))?;
        }
        Ok([start.elapsed().as_secs_f64(), (self.rival.cpu_us()? - before) as f64 / 1e6])
    }

    /// Megabytes of the files of words.
    fn size(&self) -> Result<f64, Failure> {
        let mut bytes = 0;
        for entry in fs::read_dir(self.rival.datadir().join("sbtest"))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with("FTS_") && name.ends_with(".ibd") {
                bytes += entry.metadata()?.len();
            }
        }
        Ok(bytes as f64 / 1e6)
    }
}

/// The table that is printed.
struct Report {
    names: Vec<&'static str>,
    base: usize,
}

impl Report {
    fn new(plan: &Plan, runners: &[Runner]) -> Report {
        let names: Vec<&'static str> = runners.iter().map(|runner| runner.rival.name()).collect();
        let base = names.iter().position(|name| *name == "mariadb").unwrap_or(names.len() - 1);
        println!(
            "{:<32} {:<8} {:>9} {:>9} {:>7} {:>7}",
            format!("least of {}", plan.rounds),
            "server",
            "ms",
            "CPU ms",
            "x time",
            "x CPU"
        );
        Report { names, base }
    }

    fn row(&self, name: &str, figures: &[Figures]) {
        let [base_time, base_cpu] = figures[self.base];
        for (i, (server, [seconds, cpu])) in self.names.iter().zip(figures).enumerate() {
            let shown = if i == 0 { name } else { "" };
            let (x, y) = (seconds / base_time, cpu / base_cpu);
            let (ms, cpu_ms) = (seconds * 1e3, cpu * 1e3);
            println!("{shown:<32} {server:<8} {ms:>9.2} {cpu_ms:>9.2} {x:>7.3} {y:>7.3}");
        }
    }

    fn sizes(&self, name: &str, runners: &[Runner]) -> Result<(), Failure> {
        let sizes = runners.iter().map(Runner::size).collect::<Result<Vec<f64>, _>>()?;
        for (i, (server, size)) in self.names.iter().zip(&sizes).enumerate() {
            let shown = if i == 0 { name } else { "" };
            println!("{shown:<32} {server:<8} {size:>9.1} {:>9} {:>7.3}", "", size / sizes[self.base]);
        }
        Ok(())
    }
}

/// The best ten by BM25, which tantivy has, too.
fn best_by_bm25() -> impl Iterator<Item = (String, &'static str)> {
    TERMS.iter().map(|term| {
        let words = term.split(' ').filter(|word| word.len() > 2).count();
        (format!("best 10 by BM25, {words} words").replace("1 words", "1 word"), *term)
    })
}

/// Those on the servers that have it: ours.
fn bm25(plan: &Plan, runners: &mut [Runner], name: &str, term: &str) -> Result<(), Failure> {
    let search = format!("match (si_title, si_text) against ('{term}')");
    let statement = format!(
        "select FTS_DOC_ID, {search} as rel from sbtest.si where {search} order by rel desc limit 10"
    );
    for runner in runners.iter_mut().filter(|runner| matches!(runner.rival, Rival::Vaquita(..))) {
        runner.ask("set vaquita_ft_ranking = 'bm25'")?;
        let mut least: Figures = [f64::MAX; 2];
        for _ in 0..plan.rounds {
            let ([seconds, cpu], _) = runner.several(&statement)?;
            least = [least[0].min(seconds), least[1].min(cpu)];
        }
        runner.ask("set vaquita_ft_ranking = 'index'")?;
        println!("{name:<32} {:<8} {:>9.3} {:>9.3}", runner.rival.name(), least[0] * 1e3, least[1] * 1e3);
    }
    Ok(())
}

/// The same documents in tantivy, which is a program of its own outside of the workspace.
fn tantivy(plan: &Plan, corpus: &Corpus) -> Result<(), Failure> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let built = root.join("target/tantivy");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--locked", "--release", "--target-dir"]).arg(&built);
    build.current_dir(root.join("testing/tantivy"));
    if !build.status()?.success() {
        return Err("tantivy is not built".into());
    }
    let scratch = crate::workload::Scratch::new()?;
    let index = scratch.path().join("index");
    fs::create_dir(&index)?;
    let mut command = Command::new(built.join("release/vaquita-tantivy"));
    command.arg(&corpus.path).arg(&index).arg(plan.rounds.to_string());
    let asked =
        best_by_bm25().filter(|(name, _)| plan.wants(name)).map(|(name, term)| (name, term.to_owned()));
    beside("tantivy", &mut command, asked)
}

/// The same documents in SQLite.
fn sqlite(plan: &Plan, corpus: &Corpus) -> Result<(), Failure> {
    let scratch = crate::workload::Scratch::new()?;
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/sqlite_fts5.py");
    let mut command = Command::new("python3");
    command.arg(program).arg(&corpus.path).arg(scratch.path().join("db")).arg(plan.rounds.to_string());
    let queries = queries();
    let wanted = queries.iter().filter(|query| plan.wants(&query.name));
    let asked = wanted.filter_map(|query| Some((query.name.clone(), query.fts5.clone()?)));
    beside("sqlite", &mut command, asked)
}

/// Runs a program that answers each of what it is asked in lines of a name, seconds, processor time and an answer, several of each; prints the
/// least.
fn beside(
    server: &str,
    command: &mut Command,
    asked: impl Iterator<Item = (String, String)>,
) -> Result<(), Failure> {
    let mut program = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = program.stdin.take().ok_or("no input")?;
    for (name, query) in asked {
        writeln!(input, "{name}\t{query}")?;
    }
    drop(input);
    let output = program.wait_with_output()?;
    if !output.status.success() {
        return Err(format!("{server} ended with {}", output.status).into());
    }
    let (mut last, mut least) = (String::new(), [f64::MAX; 2]);
    let show = |name: &str, [seconds, cpu]: Figures| {
        if !name.is_empty() {
            println!("{name:<32} {server:<8} {:>9.3} {:>9.3}", seconds * 1e3, cpu * 1e3);
        }
    };
    for line in String::from_utf8(output.stdout)?.lines() {
        let [name, seconds, cpu, answer] = line.split('\t').collect::<Vec<_>>()[..] else {
            return Err(format!("{server}: {line}").into());
        };
        if name == "segments" {
            println!("{:<32} {server:<8} {answer:>9}", "segments");
            continue;
        }
        if name == "build" {
            println!("{:<32} {server:<8} {:>9.1}", "bytes on disk, MB", answer.parse::<f64>()? / 1e6);
        }
        if name != last {
            show(&last, std::mem::replace(&mut least, [f64::MAX; 2]));
            last = name.to_owned();
        }
        least = [least[0].min(seconds.parse()?), least[1].min(cpu.parse()?)];
    }
    show(&last, least);
    Ok(())
}
