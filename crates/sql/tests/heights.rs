//! The highest trees that the parser lets through are compiled and run on a thread's usual stack.

use std::sync::Arc;
use vaquita_sql::sink::Collected;
use vaquita_sql::{ConnectInfo, Connection, Database, Options};

/// A folder that goes when the value goes.
struct Folder(std::path::PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn connect(db: &Arc<Database>) -> Connection {
    db.connect(ConnectInfo::embedded()).expect("connects")
}

#[test]
fn high_and_deep_expressions_run_or_are_refused() {
    let folder = Folder(std::env::temp_dir().join(format!("vaquita-heights-{}", std::process::id())));
    let _ = std::fs::remove_dir_all(&folder.0);
    let variables = [("innodb_buffer_pool_size", "16M"), ("innodb_log_file_size", "4M")];
    let variables = variables.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    let db = Database::open(Options { dir: folder.0.clone(), variables }).expect("opens");
    let mut connection = connect(&db);
    let answered = [
        (format!("select {}", vec!["1"; 495].join("+")), "495"),
        (format!("select {}1{}", "(1 + ".repeat(90), ")".repeat(90)), "91"),
        (format!("select {}1", "- ".repeat(190)), "1"),
        (format!("select 1 + 1 from dual where {} or 1", vec!["1 = 0"; 5_000].join(" or ")), "2"),
        (format!("select {}7{}", "coalesce(".repeat(90), ")".repeat(90)), "7"),
        (format!("select {}8{}", "(select ".repeat(30), ")".repeat(30)), "8"),
    ];
    for (sql, answer) in &answered {
        let mut sink = Collected::default();
        connection.query(sql.as_bytes(), &mut sink).expect("runs");
        let rows = sink.results.last().map(|result| result.rows.clone()).unwrap_or_default();
        assert_eq!(rows, [[Some((*answer).to_owned())]], "{}", &sql[..40]);
    }
    let refused = [
        format!("select {}", vec!["1"; 100_000].join("+")),
        format!("select {}1{}", "(".repeat(100_000), ")".repeat(100_000)),
    ];
    for sql in &refused {
        let error = connection.query(sql.as_bytes(), &mut Collected::default()).expect_err("too high");
        assert_eq!(error.code, 1064, "{}", error.message);
    }
}
