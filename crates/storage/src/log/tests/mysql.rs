//! Log files of a real MySQL 5.6 server, shut down cleanly.

use std::process::Command;

use super::*;

/// A file of the archived data directory.
fn archived(name: &str) -> Vec<u8> {
    let archive = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testing/fixtures/mysql56/datadir/data56-clean.tar.xz");
    let out =
        Command::new("tar").arg("-xJOf").arg(archive).arg(format!("data56-clean/{name}")).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    out.stdout
}

fn mysql_disk(change: impl FnOnce(&mut Vec<u8>)) -> SimDisk {
    let disk = disk(1);
    for name in ["ib_logfile1", "ib_logfile0"] {
        let mut bytes = archived(name);
        assert_eq!(bytes.len(), 4 << 20);
        if name == "ib_logfile0" {
            change(&mut bytes);
            disk.put_file(&Path::new(DIR).join(name), &bytes);
            return disk;
        }
        disk.put_file(&Path::new(DIR).join(name), &bytes);
    }
    unreachable!()
}

#[test]
fn a_clean_log_ends_at_its_checkpoint() {
    let disk = mysql_disk(|_| {});
    let mut reader = open(&disk).unwrap();
    assert_eq!((reader.summary().label.as_str(), reader.summary().hot_backup), ("    ", false));
    assert_eq!((reader.checkpoint_lsn(), reader.summary().checkpoint.offset), (Lsn(1_750_900), 109_428));
    assert!(reader.next_chunk().unwrap().is_none());
    assert_eq!(reader.end_lsn(), Lsn(1_750_900));
    // It can be gone on with, under our own label.
    let log = reader.into_log(clock(), config(BUFFER_BYTES_MIN)).unwrap();
    let seen = Seen::new(1, append(&log, 1, 5_000));
    assert_eq!(seen.start, Lsn(1_750_900));
    log.flush_up_to(seen.end).unwrap();
    disk.power_cut();
    let mut reader = open(&disk.restart()).unwrap();
    assert_eq!(reader.summary().label, "vaquita 0102030405060708090a0b0c");
    assert_eq!(scan(&mut reader).unwrap(), [seen]);
}

#[test]
fn all_blocks_since_the_older_checkpoint_are_read() {
    // Without the last checkpoint the one before counts, and 107 KB of a server's records follow it.
    let disk = mysql_disk(|bytes| bytes[1536] ^= 1);
    let mut reader = open(&disk).unwrap();
    assert_eq!((reader.checkpoint_lsn(), reader.summary().checkpoint.number), (Lsn(0x19_140C), 0));
    let mut bytes = 0;
    while let Some(chunk) = reader.next_chunk().unwrap() {
        bytes += chunk.payload.len() as u64;
    }
    assert_eq!(reader.end_lsn(), Lsn(1_750_900));
    let sn = vaquita_format::redo_file::sn_of;
    assert_eq!(bytes, sn(Lsn(1_750_900)) - sn(Lsn(0x19_140C)));

    // The same as mini-transactions, to the last byte.
    let mut reader = open(&disk).unwrap();
    let (mut groups, mut at) = (0, Lsn(0x19_140C));
    while let Some(group) = reader.next_group().unwrap() {
        assert_eq!(group.start, at);
        assert_eq!(group.end, vaquita_format::redo_file::lsn_after(at, group.payload.len() as u64));
        at = group.end;
        groups += 1;
    }
    assert_eq!((at, reader.end_lsn()), (Lsn(1_750_900), Lsn(1_750_900)));
    assert!(groups > 500, "{groups} mini-transactions");
}

#[test]
fn records_that_break_the_format_are_named_with_their_place() {
    // An unknown record type with a right block checksum.
    let disk = disk(2);
    let log = create(&disk, SMALL);
    log.closed(&log.append(&[0x80 | 99, 1, 1]));
    log.flush_step().unwrap();
    let text = open(&disk).unwrap().next_group().unwrap_err().to_string();
    assert!(
        text.contains("ib_logfile0") && text.contains("byte 2060") && text.contains("LSN 8204"),
        "{text}"
    );
}
