//! Freeing chains of off-page values; see [`crate::off_page`].

use crate::descent::RecordRef;
use crate::error::Result;
use crate::tree::{LatchMode, Tree};
use vaquita_base::{PageId, PageNo};
use vaquita_format::fil;
use vaquita_format::index_page::SearchMode;
use vaquita_format::record::{EXTERN_REF_LEN, ExternRef};
use vaquita_format::tuple::Tuple;
use vaquita_storage::fsp;
use vaquita_storage::{Mtr, PageRef, Storage};

/// Pages freed in one mini-transaction.
const FREE_BATCH: usize = 8;

impl Tree {
    /// Frees a chain that no record refers to.
    ///
    /// # Errors
    /// Errors of reading pages, damage; what is not freed then is leaked.
    pub fn free_chain(&self, storage: &Storage, chain: &ExternRef) -> Result<()> {
        let mut at = chain.page_no.some();
        while let Some(first) = at {
            let mut mtr = storage.begin()?;
            mtr.keep_before_images();
            let (pages, next) = self.first_pages(&mut mtr, first)?;
            for page in pages {
                fsp::free_page(&mut mtr, self.leaf_segment, page)?;
            }
            mtr.commit();
            at = next;
        }
        Ok(())
    }

    /// Frees the chain that the reference at byte `at` of page `holder` leads to, and empties the reference: for a
    /// reference in an undo record. The number of pages freed; none if it was freed before or has another owner.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    ///
    /// # Latching
    /// Takes mini-transactions of its own, in each the holder before pages of the chain.
    ///
    /// # Crash
    /// The reference always leads to what is left of the chain: calling this again goes on.
    pub fn free_referred(&self, storage: &Storage, holder: PageId, at: usize) -> Result<usize> {
        let mut freed = 0;
        loop {
            let mut mtr = storage.begin()?;
            mtr.keep_before_images();
            let page = mtr.get_exclusive(holder)?;
            let Some(bytes) = mtr.page(page).get(at..at + EXTERN_REF_LEN) else {
                return Err(self.bad_chain(holder, format!("no reference at byte {at}")));
            };
            let Some(chain) = self.checked(holder, ExternRef::of_field(bytes))? else { return Ok(freed) };
            if !chain.owner || chain.page_no.is_null() {
                return Ok(freed);
            }
            if chain.space != self.space {
                return Err(self.bad_chain(holder, format!("it lies in space {}", chain.space)));
            }
            let (pages, next) = self.first_pages(&mut mtr, chain.page_no)?;
            mtr.write_u32(page, at + 4, next.unwrap_or(PageNo::NULL).get());
            mtr.write_u32(page, at + 16, 0);
            for &page in &pages {
                fsp::free_page(&mut mtr, self.leaf_segment, page)?;
            }
            mtr.commit();
            freed += pages.len();
        }
    }

    /// The first pages of a chain, as many as are freed at once, and the one behind them.
    fn first_pages(&self, mtr: &mut Mtr<'_>, first: PageNo) -> Result<(Vec<PageNo>, Option<PageNo>)> {
        let mut pages = Vec::with_capacity(FREE_BATCH);
        let mut at = Some(first);
        while let Some(page_no) = at.filter(|_| pages.len() < FREE_BATCH) {
            let id = self.page_id(page_no);
            if pages.contains(&page_no) || mtr.find(id).is_some() {
                return Err(self.bad_chain(id, "it leads back to itself".to_owned()));
            }
            let page = mtr.get_shared(id)?;
            let (_, next) = self.part(id, mtr.page(page), fil::BODY)?;
            mtr.release(page);
            pages.push(page_no);
            at = next;
        }
        Ok((pages, at))
    }

    /// Frees the chains that the record with this key owns, among the fields that `select` wants, and empties the
    /// references. To be called before the record is removed, or when its insertion or update is rolled back. The number
    /// of pages freed.
    ///
    /// Inherited chains are the business of the caller: a rollback leaves them alone, purge does not.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn free_owned(
        &self,
        storage: &Storage,
        key: &Tuple<'_>,
        select: impl Fn(usize, &ExternRef) -> bool,
    ) -> Result<usize> {
        let n = self.index.n_uniq_in_tree();
        let key = key.compare_first(n);
        let mut freed = 0;
        loop {
            let mut mtr = storage.begin()?;
            mtr.keep_before_images();
            let position = self.search(&mut mtr, &key, SearchMode::LessOrEqual, LatchMode::Exclusive)?;
            if usize::from(position.found().low_matched) < n {
                return Ok(freed);
            }
            let Some((at, chain)) = self.owned(&mtr, position.page(), position.found().low, &select)? else {
                return Ok(freed);
            };
            let (pages, next) = self.first_pages(&mut mtr, chain.page_no)?;
            let rest = next.unwrap_or(PageNo::NULL);
            mtr.write_u32(position.page(), at + 4, rest.get());
            mtr.write_u32(position.page(), at + 16, 0);
            for &page in &pages {
                fsp::free_page(&mut mtr, self.leaf_segment, page)?;
            }
            mtr.commit();
            freed += pages.len();
        }
    }

    /// The first reference of a record to be freed: where it lies in the page, and itself.
    fn owned(
        &self,
        mtr: &Mtr<'_>,
        page: PageRef,
        rec: u16,
        select: impl Fn(usize, &ExternRef) -> bool,
    ) -> Result<Option<(usize, ExternRef)>> {
        let record = RecordRef { page: mtr.page(page), page_id: mtr.id(page), rec };
        for (i, at, chain) in self.external_refs(&record)? {
            if chain.owner && !chain.page_no.is_null() && select(i, &chain) {
                if chain.space != self.space {
                    return Err(self.bad_chain(record.page_id, format!("it lies in space {}", chain.space)));
                }
                return Ok(Some((at, chain)));
            }
        }
        Ok(None)
    }
}
