//! What `stats` counts: each counter in slots of a cache line, no shared lock.

use std::sync::atomic::{AtomicU64, Ordering};
use vaquita_base::counter::ShardedCounter;

/// A counter that can be begun anew.
#[derive(Debug, Default)]
pub struct Counter {
    sum: ShardedCounter,
    /// The sum when it was begun anew.
    base: AtomicU64,
}

impl Counter {
    /// Adds `n`.
    #[inline]
    pub fn add(&self, n: u64) {
        self.sum.add(n);
    }

    /// The sum since it was begun.
    pub fn get(&self) -> u64 {
        self.sum.get().saturating_sub(self.base.load(Ordering::Relaxed))
    }

    fn reset(&self) {
        self.base.store(self.sum.get(), Ordering::Relaxed);
    }
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// The counters, by the names memcached gives them.
        #[derive(Debug, Default)]
        pub struct Stats {
            $($(#[$doc])* pub $name: Counter,)*
        }

        impl Stats {
            /// Every counter with its name.
            pub fn each(&self, mut show: impl FnMut(&'static str, u64)) {
                $(show(stringify!($name), self.$name.get());)*
            }

            /// Begins every counter anew, as `stats reset` does.
            pub fn reset(&self) {
                $(self.$name.reset();)*
            }
        }
    };
}

counters! {
    /// Keys asked for.
    cmd_get,
    /// Items to be kept, whatever became of them.
    cmd_set,
    /// `flush_all` commands.
    cmd_flush,
    /// Items to be given a new end.
    cmd_touch,
    /// Stretches of keys asked for.
    cmd_range,
    /// Keys found.
    get_hits,
    /// Keys not found.
    get_misses,
    /// Deletes that found nothing.
    delete_misses,
    /// Deletes.
    delete_hits,
    /// `incr` of nothing.
    incr_misses,
    /// `incr`.
    incr_hits,
    /// `decr` of nothing.
    decr_misses,
    /// `decr`.
    decr_hits,
    /// `cas` of nothing.
    cas_misses,
    /// `cas` with the right number.
    cas_hits,
    /// `cas` with another number.
    cas_badval,
    /// New ends for items that were there.
    touch_hits,
    /// New ends for nothing.
    touch_misses,
    /// Logins tried.
    auth_cmds,
    /// Logins refused.
    auth_errors,
    /// Values that were too large.
    store_too_large,
    /// Items there was no memory for.
    store_no_memory,
    /// Connections that stopped at their limit of output.
    conn_yields,
}
