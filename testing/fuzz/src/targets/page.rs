//! Pages as they come from a file: checksums, header fields, flags.

use vaquita_format::checksum::{self, ChecksumAlgorithm, PageState};
use vaquita_format::flags::{SpaceFlags, TableFlags};
use vaquita_format::{PageSize, fil};

use crate::seeds;

/// Verifying takes any bytes; a stamped page passes.
pub(super) fn checksum(data: &[u8]) {
    let Some((&choice, rest)) = data.split_first() else { return };
    let size = page_size(choice);
    let algorithm = [ChecksumAlgorithm::Innodb, ChecksumAlgorithm::Crc32, ChecksumAlgorithm::None]
        [usize::from(choice >> 4) % 3];
    let _ = checksum::verify(rest, size, algorithm);
    let _ = checksum::identify(rest, size);

    let mut page = padded(rest, size.physical());
    let _ = checksum::verify(&page, size, algorithm);
    let _ = (fil::page_type(&page), fil::lsn(&page));
    checksum::stamp(&mut page, size, algorithm);
    let state = checksum::verify(&page, size, algorithm).expect("a stamped page passes");
    assert!(state == PageState::Valid || page.iter().all(|&byte| byte == 0));

    if let Some(raw) = rest.first_chunk::<4>() {
        flags(u32::from_le_bytes(*raw));
    }
}

fn flags(raw: u32) {
    if let Ok(flags) = SpaceFlags::decode(raw) {
        let table = TableFlags::of_space(flags);
        let again = table.space_flags(flags.page_size().logical()).expect("made from these flags");
        assert_eq!(again, flags, "space flags survive the way through table flags");
    }
    if let Ok(flags) = TableFlags::decode(raw) {
        let _ = flags.space_flags(16384);
    }
}

pub(super) fn checksum_seeds() -> Vec<Vec<u8>> {
    let plain = seeds::pages(16384, 2, seeds::is_plain).into_iter().map(|page| with_choice(0, &page));
    let zip = seeds::pages(8192, 2, |stem| stem == "zip8").into_iter().map(|page| with_choice(5, &page));
    plain.chain(zip).collect()
}

/// The page sizes MySQL 5.6 writes, chosen by a byte.
fn page_size(choice: u8) -> PageSize {
    let size = match choice & 0x0F {
        1 => PageSize::new(8192),
        2 => PageSize::new(4096),
        3 => PageSize::compressed(16384, 1024),
        4 => PageSize::compressed(16384, 4096),
        5 => PageSize::compressed(16384, 8192),
        6 => PageSize::compressed(16384, 16384),
        7 => PageSize::compressed(4096, 1024),
        _ => PageSize::new(16384),
    };
    size.expect("a size of the format")
}

/// `data` as one page: zeros after its end, or cut.
fn padded(data: &[u8], len: usize) -> Vec<u8> {
    let mut page = data[..data.len().min(len)].to_vec();
    page.resize(len, 0);
    page
}

fn with_choice(choice: u8, page: &[u8]) -> Vec<u8> {
    [&[choice], page].concat()
}
