//! One lasting connection to a peer, through the stock client.
//!
//! The client reads statements from a pipe. After each, we send a `SELECT` of a unique marker and read up to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::PeerError;

/// A connection with its own transaction and locks. Dropping it disconnects.
#[derive(Debug)]
pub struct Session {
    client: Child,
    statements: ChildStdin,
    answers: BufReader<ChildStdout>,
    count: u64,
}

impl Session {
    pub(crate) fn open(mut command: Command) -> Result<Session, PeerError> {
        command.args(["--batch", "--unbuffered"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut client = command.spawn().map_err(PeerError::io("run the client"))?;
        let statements = client.stdin.take().expect("piped");
        let answers = BufReader::new(client.stdout.take().expect("piped"));
        Ok(Session { client, statements, answers, count: 0 })
    }

    /// Runs one statement and returns its answer, as [`Server::sql`](crate::Server::sql) does.
    ///
    /// # Errors
    /// [`PeerError::Sql`] with the server's error; the session is over then.
    pub fn run(&mut self, statement: &str) -> Result<String, PeerError> {
        self.send(statement)?;
        self.receive()
    }

    /// Sends a statement without waiting: it may be about to wait for a lock. [`Session::receive`] takes the answer.
    ///
    /// # Errors
    /// [`PeerError::Sql`] if the session is over.
    pub fn send(&mut self, statement: &str) -> Result<(), PeerError> {
        self.count += 1;
        let statement = statement.trim().trim_end_matches(';');
        let lines = format!("{statement};\nselect '{}';\n", marker(self.count));
        match self.statements.write_all(lines.as_bytes()).and_then(|()| self.statements.flush()) {
            Ok(()) => Ok(()),
            Err(_) => Err(self.last_words()),
        }
    }

    /// Waits for the answer of the statement sent last.
    ///
    /// # Errors
    /// As [`Session::run`].
    pub fn receive(&mut self) -> Result<String, PeerError> {
        let marker = marker(self.count);
        let mut answer = String::new();
        let mut seen = 0;
        // The marker comes twice: as the column's name and as its value.
        while seen < 2 {
            let mut line = String::new();
            let read =
                self.answers.read_line(&mut line).map_err(PeerError::io("read the client's answer"))?;
            if read == 0 {
                return Err(self.last_words());
            }
            if line.trim_end() == marker {
                seen += 1;
            } else {
                answer += &line;
            }
        }
        Ok(answer)
    }

    /// The client has stopped: at an error, or because the server is gone.
    fn last_words(&mut self) -> PeerError {
        let mut text = String::new();
        if let Some(mut stderr) = self.client.stderr.take() {
            let _ = stderr.read_to_string(&mut text);
        }
        PeerError::Sql(if text.is_empty() { "the session is over".into() } else { text.trim().to_owned() })
    }
}

fn marker(count: u64) -> String {
    format!("-- end of answer {count} --")
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.client.kill();
        let _ = self.client.wait();
    }
}
