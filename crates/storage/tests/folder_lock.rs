//! A folder that is open refuses other openers, and says who has it.

use std::sync::Arc;
use vaquita_base::SystemClock;
use vaquita_io::{ErrorKind, RealDisk};
use vaquita_storage::{Error, Options, Storage};

fn open(options: &Options) -> vaquita_storage::Result<Storage> {
    Storage::open(Arc::new(RealDisk::default()), Arc::new(SystemClock::new()), options.clone())
}

#[test]
fn a_folder_in_use_is_refused_with_the_holders_pid() {
    let dir = std::env::temp_dir().join(format!("vaquita-folder-lock-{}", std::process::id()));
    let mut options = Options::new(&dir);
    options.buffer_pool_size = 8 << 20;
    options.log_file_size = 1 << 20;
    let first = open(&options).unwrap();
    let mut reader = options.clone();
    reader.read_only = true;
    for options in [&options, &reader] {
        let Err(Error::Io(refused)) = open(options) else { panic!("opened twice") };
        assert_eq!(refused.kind, ErrorKind::InUse);
        assert!(refused.to_string().contains(&format!("process {} ", std::process::id())), "{refused}");
    }
    first.close().unwrap();
    drop(first);
    // Readers share the folder with each other.
    let readers = [open(&reader).unwrap(), open(&reader).unwrap()];
    assert!(open(&options).is_err());
    drop(readers);
    open(&options).unwrap().close().unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
}
