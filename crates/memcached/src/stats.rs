//! What `stats` counts: each counter in slots of a cache line, no shared lock.

use vaquita_base::counter::ShardedCounter;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// The counters, by the names memcached gives them.
        #[derive(Debug, Default)]
        pub struct Stats {
            $($(#[$doc])* pub $name: ShardedCounter,)*
        }

        impl Stats {
            /// Every counter with its name.
            pub fn each(&self, mut show: impl FnMut(&'static str, u64)) {
                $(show(stringify!($name), self.$name.get());)*
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
    /// `mg` commands.
    cmd_meta,
    /// Keys found.
    get_hits,
    /// Keys not found.
    get_misses,
    /// Keys found, but expired.
    get_expired,
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
    /// Commands that stopped at their limit of output.
    conn_yields,
}
