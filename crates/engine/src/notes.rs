//! What services have to say to the person who keeps the folder: lines for the error log of whoever serves it.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

/// Lines kept for somebody who listens later, the newest.
const KEPT: usize = 64;

type Listener = Box<dyn Fn(&str) + Send + Sync>;

/// Lines, and who hears them. Clones share both.
#[derive(Default, Clone)]
pub struct Notes(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    listener: Option<Listener>,
    waiting: VecDeque<String>,
}

impl std::fmt::Debug for Notes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Notes").field("waiting", &self.0.lock().waiting).finish_non_exhaustive()
    }
}

impl Notes {
    /// Says a line. It waits for a listener if there is none yet.
    pub fn say(&self, line: String) {
        let mut state = self.0.lock();
        match &state.listener {
            Some(listener) => listener(&line),
            None => {
                if state.waiting.len() == KEPT {
                    state.waiting.pop_front();
                }
                state.waiting.push_back(line);
            }
        }
    }

    /// Has `listener` hear every line, those that wait first. It must not come back to the engine.
    pub fn listen(&self, listener: impl Fn(&str) + Send + Sync + 'static) {
        let mut state = self.0.lock();
        state.waiting.drain(..).for_each(|line| listener(&line));
        state.listener = Some(Box::new(listener));
    }
}
