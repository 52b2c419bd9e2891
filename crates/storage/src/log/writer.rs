//! Writer: moves complete records from the log buffer into the files.
//!
//! There is no writer thread that the log depends on: whoever needs the log written takes the `writer` mutex and
//! does a step, and mostly finds that the step's predecessor did its work too. A step takes out everything
//! complete (up to a megabyte), finishes the blocks in a buffer of its own and writes them with one call, or two
//! where the files wrap. As bytes leave the ring before they are written, other threads fill it during the write.
//!
//! The last block is mostly incomplete. The writer keeps its content and rewrites the block, longer, at the next
//! step; a block is the unit a disk writes whole, so a crash leaves the shorter or the longer one.

use vaquita_base::Lsn;
use vaquita_base::codec::{get_u16, put_u16};
use vaquita_format::redo_file::{
    BLOCK_SIZE, BLOCK_TRAILER_SIZE, Block, BlockHeader, FILE_HEADER_SIZE, block_number, block_start,
    seal_block,
};

use vaquita_io::aligned::AlignedBuf;

use super::buffer::{FIRST_GROUP, Reservation, Taker};
use super::error::{LogError, Result};
use super::sync::{Backoff, Ordering};
use super::{Progress, RedoLog};

/// Bytes a step writes, at most.
const STAGE_BYTES: usize = 1 << 20;
/// Bytes behind the last block's start that a step takes: the header, so that a step that is cut short ends in
/// an empty block and not in the middle of one.
const LAST_BLOCK_BYTES: usize = 12;

/// What a write is good for when it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Good {
    /// It survives the end of the process.
    Written,
    /// It is durable, if the files bypass the page cache; else as `Written`: one sync later serves several writes.
    Durable,
}

/// What only the writing thread touches.
#[derive(Debug)]
pub(super) struct Writer {
    taker: Taker,
    /// The block that holds the taker's place: "first group" and records before that place.
    tail: Block,
    /// Aligned for direct writes.
    stage: AlignedBuf,
}

impl Writer {
    pub(super) fn new(taker: Taker, tail: &Block) -> Self {
        let mut tail = *tail;
        let used = (taker.at().get() % BLOCK_SIZE as u64) as u16;
        // The end of the log is a place where a mini-transaction starts, even if the block's first one was cut
        // off there for being incomplete.
        let first = get_u16(&tail, FIRST_GROUP as usize);
        if !(LAST_BLOCK_BYTES as u16..=used).contains(&first) {
            put_u16(&mut tail, FIRST_GROUP as usize, used);
        }
        Self { taker, tail, stage: AlignedBuf::zeroed(STAGE_BYTES) }
    }

    /// Finishes the staged blocks from `from`'s to `upto`'s; keeps the last for the next step. Gives their bytes.
    fn seal(&mut self, from: Lsn, upto: Lsn, checkpoint_no: u32) -> &[u8] {
        let start = block_start(from);
        let len = (block_start(upto).get() - start.get()) as usize + BLOCK_SIZE;
        let (blocks, _) = self.stage[..len].as_chunks_mut::<BLOCK_SIZE>();
        let last = blocks.len() - 1;
        let end = (upto.get() % BLOCK_SIZE as u64) as usize;
        for (i, block) in blocks.iter_mut().enumerate() {
            let used = if i == last { end } else { BLOCK_SIZE };
            if i == last {
                self.tail[..end].copy_from_slice(&block[..end]);
                block[end..BLOCK_SIZE - BLOCK_TRAILER_SIZE].fill(0);
            }
            let first_group = get_u16(block, FIRST_GROUP as usize);
            let header = BlockHeader {
                number: block_number(Lsn(start.get() + (i * BLOCK_SIZE) as u64)),
                flush: i == 0,
                data_len: used as u16,
                // A mini-transaction that is copied in pieces announces its end in this block before it is there.
                first_group: if usize::from(first_group) <= used { first_group } else { 0 },
                checkpoint_no,
            };
            header.write(block);
            seal_block(block);
        }
        &self.stage[..len]
    }
}

impl RedoLog {
    /// Writes what is complete, without making it durable.
    ///
    /// # Errors
    /// A failed write is final: see the module's I4.
    pub fn writer_step(&self) -> Result<Progress> {
        self.step_writer(Good::Written)
    }

    /// Writes what is complete, up to `lsn` at least, to be synced next.
    pub(super) fn write_for_sync(&self, lsn: Lsn) -> Result<()> {
        // Everything complete goes along, beyond `lsn` too: those who wait for it are then served by the same sync.
        self.step_writer(Good::Durable)?;
        self.write_to(lsn, Good::Durable)
    }

    fn step_writer(&self, good: Good) -> Result<Progress> {
        // Before writing: whoever fills the buffer further kicks again.
        self.kicked.store(false, Ordering::Relaxed);
        let mut writer = self.writer.lock();
        Ok(if self.write_complete(&mut writer, good)? { Progress::Worked } else { Progress::Idle })
    }

    /// Writes, if need be, so that everything before `lsn` is in the files: what survives the end of the process,
    /// not that of the machine.
    ///
    /// # Errors
    /// [`LogError::Future`]; a failed write, which is final.
    pub fn write_up_to(&self, lsn: Lsn) -> Result<()> {
        self.check_not_future(lsn)?;
        self.write_to(lsn, Good::Written)
    }

    fn write_to(&self, lsn: Lsn, good: Good) -> Result<()> {
        let backoff = Backoff::new();
        loop {
            self.check_alive()?;
            if self.written_lsn() >= lsn {
                return Ok(());
            }
            {
                // Not held over the loop: the threads we wait for may need it to make room for themselves.
                let mut writer = self.writer.lock();
                if self.written_lsn() < lsn && self.write_complete(&mut writer, good)? {
                    backoff.reset();
                    continue;
                }
            }
            // A thread that reserved before `lsn` is still copying.
            backoff.snooze();
        }
    }

    pub(super) fn check_not_future(&self, lsn: Lsn) -> Result<()> {
        let end = self.current_lsn();
        if lsn > end { Err(LogError::Future { lsn, end }) } else { Ok(()) }
    }

    /// The buffer is full for an appending thread: writes, or waits for whoever does.
    #[cold]
    pub(super) fn make_buffer_room(&self, place: &Reservation) -> Result<()> {
        self.stats.buffer_waits.add(1);
        let backoff = Backoff::new();
        loop {
            {
                let mut writer = self.writer.lock();
                self.check_alive()?;
                if self.buffer.has_room_for(place) || self.write_complete(&mut writer, Good::Written)? {
                    return Ok(());
                }
            }
            // Threads with earlier places are still copying; they have room, as theirs are earlier.
            backoff.snooze();
        }
    }

    /// One step of the writer; false if nothing was complete.
    fn write_complete(&self, writer: &mut Writer, good: Good) -> Result<bool> {
        self.check_alive()?;
        let from = writer.taker.at();
        let used = (from.get() % BLOCK_SIZE as u64) as usize;
        let out_end = writer.stage.len() - BLOCK_SIZE + LAST_BLOCK_BYTES;
        let upto = self.buffer.take(&mut writer.taker, &mut writer.stage[used..out_end]);
        if upto == from {
            return Ok(false);
        }
        writer.stage[..used].copy_from_slice(&writer.tail[..used]);
        let blocks = writer.seal(from, upto, self.checkpoint.next_number() as u32);
        match self.write_blocks(block_start(from), blocks, good) {
            Ok(()) => {
                let written = self.written_lsn();
                assert!(written == from, "written up to {written}, and {from} to {upto} were written next");
                // Release: whoever sees this LSN sees which files must be synced for it.
                self.written.store(upto.get(), Ordering::Release);
                Ok(true)
            }
            Err(error) => Err(self.fail(error)),
        }
    }

    /// Writes the block that holds the end of an opened log, cut off there, and syncs it. What the block held
    /// behind the end is gone then, and a checkpoint may lie at the end (I1 of the module).
    pub(super) fn write_tail(&self) -> Result<()> {
        {
            let mut writer = self.writer.lock();
            let writer = &mut *writer;
            let end = writer.taker.at();
            writer.stage[..BLOCK_SIZE].copy_from_slice(&writer.tail);
            let block = writer.seal(end, end, self.checkpoint.next_number() as u32);
            self.write_blocks(block_start(end), block, Good::Durable)?;
        }
        self.files.sync_written()?;
        Ok(())
    }

    fn write_blocks(&self, start: Lsn, blocks: &[u8], good: Good) -> Result<()> {
        let (end, checkpoint) = (start.get() + blocks.len() as u64, self.checkpoint_lsn());
        let capacity = self.geometry().capacity();
        if end - block_start(checkpoint).get() > capacity {
            return Err(LogError::Full { end: Lsn(end), checkpoint, capacity });
        }
        self.write_headers(start, end)?;
        let durably = good == Good::Durable && self.files.writes_through();
        let writes = self.files.write_blocks(start, self.anchor, blocks, durably)?;
        self.stats.writes.add(writes);
        self.stats.written_bytes.add(blocks.len() as u64);
        Ok(())
    }

    /// Writes the header of every file whose first block lies in `start..end`: it is being reused. A first block
    /// that is rewritten for being incomplete rewrites the same header.
    fn write_headers(&self, start: Lsn, end: u64) -> Result<()> {
        let geometry = self.geometry();
        let mut at = start;
        while at.get() < end {
            let place = geometry.position(at, self.anchor);
            if place.offset == FILE_HEADER_SIZE {
                self.files.write_header(place.file, at, self.config.folder)?;
            }
            at = Lsn(at.get() + geometry.contiguous(at, self.anchor));
        }
        Ok(())
    }
}
