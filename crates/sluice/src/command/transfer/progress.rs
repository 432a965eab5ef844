//! How far a long command is, for a person who looks at it.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const OF_MANY: &str = "{bar:40} {percent:>3} %  {msg}  {elapsed_precise}, {eta} left";
const OF_ANY: &str = "{spinner} {msg}  {elapsed_precise}";
/// How often a second it is drawn.
const DRAWN: u8 = 10;

/// A mark that something goes on, if somebody looks.
pub(in crate::command) fn spinner(is_quiet: bool) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, target(is_quiet));
    match ProgressStyle::with_template(OF_ANY) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Makes a bar of a mark: there are so many, of bytes or what else is counted.
pub(in crate::command) fn count_to(bar: &ProgressBar, total: u64) {
    bar.set_length(total);
    if let Ok(style) = ProgressStyle::with_template(OF_MANY) {
        bar.set_style(style);
    }
}

fn target(is_quiet: bool) -> ProgressDrawTarget {
    if is_quiet || !std::io::stderr().is_terminal() {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr_with_hz(DRAWN)
    }
}
