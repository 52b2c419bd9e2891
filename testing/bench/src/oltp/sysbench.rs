//! The load generator.

use super::rivals::Rival;
use crate::Failure;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use vaquita_peers::Paths;

/// What a run gave.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures {
    pub(crate) queries: u64,
    pub(crate) rate: f64,
    pub(crate) p95_ms: f64,
    pub(crate) max_ms: f64,
}

/// sysbench aimed at one server.
pub(crate) struct Sysbench {
    paths: Paths,
    arguments: Vec<String>,
}

impl Sysbench {
    pub(crate) fn new(rival: &Rival, tables: u32, rows: u32) -> Result<Sysbench, Failure> {
        let arguments = vec![
            "--db-driver=mysql".to_owned(),
            "--mysql-host=127.0.0.1".to_owned(),
            format!("--mysql-port={}", rival.port()),
            "--mysql-user=sbtest".to_owned(),
            "--mysql-password=sbtest".to_owned(),
            "--mysql-db=sbtest".to_owned(),
            "--mysql-ssl=off".to_owned(),
            format!("--tables={tables}"),
            format!("--table-size={rows}"),
            "--rand-type=uniform".to_owned(),
        ];
        Ok(Sysbench { paths: Paths::installed()?, arguments })
    }

    fn command(&self, script: &str, word: &str, more: &[String]) -> Command {
        let share = self.paths.debian().join("usr/share/sysbench");
        let mut command = self.paths.command("usr/bin/sysbench");
        command.current_dir(&share).env("LUA_PATH", format!("{}/?.lua", share.display()));
        command.arg(share.join(format!("{script}.lua"))).args(&self.arguments).args(more).arg(word);
        command.stdin(Stdio::null());
        command
    }

    fn output(mut command: Command) -> Result<String, Failure> {
        let Output { status, stdout, stderr } = command.output()?;
        let text = String::from_utf8_lossy(&stdout).into_owned();
        if !status.success() || text.contains("FATAL") {
            return Err(format!("{command:?}: {status}\n{text}\n{}", String::from_utf8_lossy(&stderr)).into());
        }
        Ok(text)
    }

    /// Creates and fills the tables.
    pub(crate) fn prepare(&self) -> Result<Duration, Failure> {
        let start = Instant::now();
        Self::output(self.command("oltp_common", "prepare", &["--threads=2".to_owned()]))?;
        Ok(start.elapsed())
    }

    /// Drops them.
    pub(crate) fn cleanup(&self) -> Result<(), Failure> {
        Self::output(self.command("oltp_common", "cleanup", &[])).map(drop)
    }

    /// Runs a script; an error in any query ends it.
    pub(crate) fn run(
        &self,
        script: &str,
        threads: u32,
        prepared: bool,
        seconds: u32,
    ) -> Result<Figures, Failure> {
        let ps = if prepared { "auto" } else { "disable" };
        let more = [
            format!("--threads={threads}"),
            format!("--time={seconds}"),
            format!("--db-ps-mode={ps}"),
            "--events=0".to_owned(),
        ];
        let text = Self::output(self.command(script, "run", &more))?;
        figures(&text).ok_or_else(|| format!("no figures in what {script} printed:\n{text}").into())
    }

    /// Runs `look` while so many connections are open and idle.
    pub(crate) fn with_idle<R>(
        &self,
        n: u32,
        time: Duration,
        look: impl FnOnce() -> R,
    ) -> Result<R, Failure> {
        let more = [format!("--threads={n}"), format!("--time={}", time.as_secs()), "--rate=1".to_owned()];
        let mut command = self.command("oltp_point_select", "run", &more);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        std::thread::sleep(time / 2);
        let seen = look();
        child.wait()?;
        Ok(seen)
    }
}

/// Reads sysbench's summary: `queries: N (R per sec.)` and `95th percentile: P`.
fn figures(text: &str) -> Option<Figures> {
    let after = |label: &str| text.lines().find_map(|line| line.trim().strip_prefix(label)).map(str::trim);
    let queries = after("queries:")?;
    let (count, rate) = queries.split_once('(')?;
    Some(Figures {
        queries: count.trim().parse().ok()?,
        rate: rate.split_whitespace().next()?.parse().ok()?,
        p95_ms: after("95th percentile:")?.parse().ok()?,
        max_ms: after("max:")?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_read() {
        let text = "SQL statistics:\n    transactions:  50 (10.0 per sec.)\n    queries:                             300    (60.07 per sec.)\nLatency (ms):\n         max:                      27.43\n         95th percentile:                      7.43\n";
        let got = figures(text).expect("figures");
        assert_eq!(got.queries, 300);
        assert!((got.rate - 60.07).abs() < 1e-9 && (got.p95_ms - 7.43).abs() < 1e-9);
        assert!((got.max_ms - 27.43).abs() < 1e-9);
    }
}
