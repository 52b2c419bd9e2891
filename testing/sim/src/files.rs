//! A look at the files from outside, by the format alone.

use crate::machine::{Machine, space_path};
use vaquita_base::PageNo;
use vaquita_format::checksum::{self, PageState};
use vaquita_format::{fil, trx_sys};

/// Every page of every tablespace file passes its checks, and stands where it says it does. For a folder that was
/// closed cleanly.
///
/// # Errors
/// The first page that fails, in words.
pub(crate) fn check_all(machine: &Machine) -> Result<(), String> {
    let options = machine.options();
    let size = options.page_size;
    for path in machine.disk.files() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_system = name.starts_with("ibdata");
        if !is_system && !name.ends_with(".ibd") {
            continue;
        }
        // A file whose creation was lost may be torn: nobody has it.
        if !is_system && !machine.created.keys().any(|&id| path == space_path(id)) {
            continue;
        }
        let bytes = machine.disk.contents(&path).unwrap_or_default();
        let copies = if is_system {
            doublewrite_pages(&bytes, size.physical(), size.extent_pages())
        } else {
            [0..0, 0..0]
        };
        for (no, page) in bytes.chunks_exact(size.physical()).enumerate() {
            if copies.iter().any(|run| run.contains(&no)) {
                continue;
            }
            let state = checksum::verify(page, size, options.live.checksum_algorithm)
                .map_err(|e| format!("{name}, page {no}, after a clean shutdown: {e}"))?;
            if state == PageState::Valid && fil::page_no(page) != PageNo(no as u32) {
                return Err(format!("{name}, page {no}: it says it is {}", fil::page_no(page)));
            }
        }
    }
    Ok(())
}

/// The doublewrite area holds pages of other places.
fn doublewrite_pages(system: &[u8], page_len: usize, run: u32) -> [std::ops::Range<usize>; 2] {
    let at = trx_sys::PAGE.get() as usize * page_len;
    let page = system.get(at..at + page_len).unwrap_or_default();
    match trx_sys::Doublewrite::read(page) {
        Ok(Some(area)) => area.blocks.map(|first| first.get() as usize..(first.get() + run) as usize),
        _ => [0..0, 0..0],
    }
}
