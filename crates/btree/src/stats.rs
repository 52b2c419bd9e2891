//! Counters of trees. The read path counts its troubles only: a search that meets none touches no counter.

use vaquita_base::ShardedCounter;

/// What the trees that share it have done.
#[derive(Debug, Default)]
pub struct TreeStats {
    /// Searches that began anew because an inner page changed while it was read.
    pub restarts: ShardedCounter,
    /// Searches that latched inner pages, because one was not in memory or kept changing.
    pub latched_descents: ShardedCounter,
    /// Descents for a structure change.
    pub structure_descents: ShardedCounter,
    /// Those among them that had to latch all pages from the root on.
    pub full_path_descents: ShardedCounter,
    /// Pages split.
    pub splits: ShardedCounter,
    /// Pages reorganised.
    pub reorganizes: ShardedCounter,
    /// Pages merged into a neighbour.
    pub merges: ShardedCounter,
    /// Times a tree grew by a level.
    pub root_raises: ShardedCounter,
    /// Times a tree lost a level.
    pub root_lifts: ShardedCounter,
    /// Empty pages without a neighbour to merge with that were taken out.
    pub discards: ShardedCounter,
    /// Pages of off-page values written.
    pub off_page_pages: ShardedCounter,
}
