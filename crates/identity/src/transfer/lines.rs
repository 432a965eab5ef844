//! Lines of a file, some at a time and none of them longer than may be.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use super::line::MAX_LINE;

/// How many lines are read at a time, and how many bytes, roughly.
const LINES: usize = 256;
const BYTES: usize = 1024 * 1024;
/// What some programs put before the first line of a file in UTF-8. A reader may pass over it (RFC 8259 §8.1).
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
/// How much of the file is read ahead, in bytes.
const BUFFER: usize = 256 * 1024;

/// One line.
pub(super) struct RawLine {
    /// Counted from 1.
    pub(super) number: u64,
    /// Where it ends in the file, in bytes.
    pub(super) end: u64,
    /// Without its line feed; none if it is too long.
    pub(super) text: Option<Vec<u8>>,
}

/// The lines of a file.
pub(super) struct Lines {
    reader: BufReader<File>,
    read: u64,
    offset: u64,
}

impl Lines {
    /// The lines of a file that stands at its beginning.
    pub(super) fn new(file: File) -> Self {
        Self { reader: BufReader::with_capacity(BUFFER, file), read: 0, offset: 0 }
    }

    /// Passes over so many lines.
    pub(super) fn skip(&mut self, lines: u64) -> io::Result<()> {
        for _ in 0..lines {
            if self.skip_rest()? == 0 {
                break;
            }
            self.read += 1;
        }
        Ok(())
    }

    /// Where the next line begins in the file, in bytes.
    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }

    /// Some further lines; empty at the end.
    pub(super) fn some(&mut self) -> io::Result<Vec<RawLine>> {
        let (mut lines, start) = (Vec::with_capacity(LINES), self.offset);
        while lines.len() < LINES && self.offset - start < BYTES as u64 {
            let Some(line) = self.one()? else { break };
            lines.push(line);
        }
        Ok(lines)
    }

    fn one(&mut self) -> io::Result<Option<RawLine>> {
        let mut text = Vec::new();
        // One byte more than may be, the line feed, and what is passed over.
        let most = u64::try_from(MAX_LINE + 2 + BYTE_ORDER_MARK.len()).unwrap_or(u64::MAX);
        let read = (&mut self.reader).take(most).read_until(b'\n', &mut text)?;
        if read == 0 {
            return Ok(None);
        }
        self.offset += u64::try_from(read).unwrap_or(u64::MAX);
        self.read += 1;
        let is_whole = text.pop_if(|last| *last == b'\n').is_some();
        text.pop_if(|last| *last == b'\r');
        if self.read == 1 && text.starts_with(BYTE_ORDER_MARK) {
            text.drain(..BYTE_ORDER_MARK.len());
        }
        let is_too_long = text.len() > MAX_LINE;
        if is_too_long && !is_whole {
            self.skip_rest()?;
        }
        let text = (!is_too_long).then_some(text);
        Ok(Some(RawLine { number: self.read, end: self.offset, text }))
    }

    /// Reads on behind the next line feed, and keeps nothing; how many bytes that were.
    fn skip_rest(&mut self) -> io::Result<u64> {
        let skipped = u64::try_from(self.reader.skip_until(b'\n')?).unwrap_or(u64::MAX);
        self.offset += skipped;
        Ok(skipped)
    }
}
