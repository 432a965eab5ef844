//! An output that is waited for while it has no room, also where its descriptor is set not to wait: standard error is so when a program that
//! has it, too, has set it so.

use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, poll};

/// Waits for its output as one that waits by itself would: without end.
pub(super) struct WaitingOutput<W>(pub(super) W);

impl<W: Write + AsFd> Write for WaitingOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.write(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    poll(&mut [PollFd::new(&self.0, PollFlags::OUT)], None)?;
                }
                done => return done,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
