//! Seeds: real bytes to start from, cut from the fixtures a MySQL 5.6.24 wrote.

use std::path::{Path, PathBuf};

/// The folder of fixtures: `VAQUITA_FIXTURES`, or `testing/fixtures` of the repository.
pub fn fixtures() -> PathBuf {
    match std::env::var_os("VAQUITA_FIXTURES") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/mysql56"),
    }
}

/// Every fixture file with one of the extensions, in order of name, with its stem.
///
/// # Panics
/// If there is none: a fuzzer without seeds would look busy and find little.
pub fn files(extensions: &[&str]) -> Vec<(String, Vec<u8>)> {
    let folder = fixtures();
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    paths.retain(|path| path.extension().is_some_and(|e| extensions.iter().any(|wanted| e == *wanted)));
    paths.sort();
    assert!(!paths.is_empty(), "no fixtures of kind {extensions:?} in {}", folder.display());
    paths
        .into_iter()
        .map(|path| {
            let stem = path.file_stem().expect("listed by extension").to_string_lossy().into_owned();
            (stem, std::fs::read(&path).expect("fixtures are readable"))
        })
        .collect()
}

/// The whole files with an extension, save the longest.
pub fn whole(extension: &str, len_max: usize) -> Vec<Vec<u8>> {
    files(&[extension]).into_iter().map(|(_, bytes)| bytes).filter(|bytes| bytes.len() <= len_max).collect()
}

/// Up to `each` pages from the front of every `.ibd` file whose name passes `wanted`, cut at `page_size`.
pub fn pages(page_size: usize, each: usize, wanted: fn(&str) -> bool) -> Vec<Vec<u8>> {
    let mut pages = Vec::new();
    for (_, bytes) in files(&["ibd"]).into_iter().filter(|(stem, _)| wanted(stem)) {
        let used = bytes.chunks_exact(page_size).filter(|page| page.iter().any(|&byte| byte != 0));
        pages.extend(used.take(each).map(<[u8]>::to_vec));
    }
    pages
}

/// Fixtures with compressed pages.
pub fn is_zip(stem: &str) -> bool {
    stem.contains("zip")
}

/// Fixtures with plain pages.
pub fn is_plain(stem: &str) -> bool {
    !is_zip(stem)
}

/// Inputs that once broke a target, by name: kept in `finds/TARGET`, and seeds ever after.
pub fn finds(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("finds").join(target);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    paths.sort();
    let named = |path: PathBuf| {
        let name = path.file_name().expect("listed").to_string_lossy().into_owned();
        (name, std::fs::read(&path).expect("finds are readable"))
    };
    paths.into_iter().map(named).collect()
}
