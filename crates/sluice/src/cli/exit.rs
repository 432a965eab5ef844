//! What a command ends with.

use std::process::ExitCode;

/// What a command ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0.
    Success,
    /// 1: the command was understood, and failed.
    Failure,
    /// 2: the command was not understood; also what `clap` ends with.
    Usage,
    /// 130: as a shell says of what Ctrl-C ended.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Success => Self::SUCCESS,
            Exit::Failure => Self::FAILURE,
            Exit::Usage => Self::from(2),
            Exit::Interrupted => Self::from(130),
        }
    }
}
