//! Multi-session scripts: the text, the scheduler, the transcript.
//!
//! ```text
//! # What is shown, and why it is so.
//! setup:
//!   create table t (id int primary key, v int)
//!   insert into t values (1, 10), (2, 20)
//!
//! A: begin
//! B: begin
//! A: update t set v = 11 where id = 1
//! B: update t set v = 12 where id = 1
//! A: commit
//! B: commit
//! check: select * from t
//! ```
//!
//! Every name before a colon is a session of its own, at the level the script is played at. A step of a session that
//! waits is kept until that session goes on. Beside statements there are `await A` (until A waits no longer: for lock
//! wait timeouts) and `purge` (until nothing is left to purge). Headers: `symmetric: B C` says that B and C do the same
//! and only chance decides who comes first; `purge: free` lets purge run, which is otherwise held back by an old
//! read view, so that delete-marked records stay where they are. In statements, `@rows(from, to, step, row)` writes the
//! row once for each number, which replaces `$`, and `@pad(n)` writes n letters.

mod parse;
mod random;
mod run;
mod server;
mod transcript;

pub use parse::{Script, Step, all, scripts_folder};
pub use random::random;
pub use run::{play, play_with_locks};
pub use server::{Connection, Plan, Reply, Server};
pub use transcript::{Entry, Outcome, Transcript};
