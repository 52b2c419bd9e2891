//! Where results go: the terminal or a command that shows them, and a file besides.

use std::fs::File;
use std::io::{self, Write};
use std::process::{Child, Command, Stdio};

/// A place for one result.
pub(super) struct Page<'o> {
    out: &'o mut dyn Write,
    pager: Option<Child>,
    tee: Option<&'o mut File>,
}

impl<'o> Page<'o> {
    /// With the command started, if there is one.
    ///
    /// # Errors
    /// The command cannot be started.
    pub(super) fn open(
        out: &'o mut dyn Write,
        pager: Option<&str>,
        tee: Option<&'o mut File>,
    ) -> io::Result<Page<'o>> {
        let pager = match pager {
            Some(command) => {
                out.flush()?;
                Some(Command::new("sh").args(["-c", command]).stdin(Stdio::piped()).spawn()?)
            }
            None => None,
        };
        Ok(Page { out, pager, tee })
    }

    /// The end of the result; waits until the command has shown it.
    ///
    /// # Errors
    /// Those of the command.
    pub(super) fn close(self) -> io::Result<()> {
        match self.pager {
            Some(mut child) => {
                drop(child.stdin.take());
                child.wait().map(drop)
            }
            None => self.out.flush(),
        }
    }
}

impl Write for Page<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(tee) = &mut self.tee {
            tee.write_all(bytes)?;
        }
        let Some(child) = &mut self.pager else { return self.out.write_all(bytes) };
        let Some(stdin) = &mut child.stdin else { return Ok(()) };
        match stdin.write_all(bytes) {
            // Who left the pager has seen enough; the rest of the result is still to be taken from the server.
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => {
                child.stdin = None;
                Ok(())
            }
            done => done,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
