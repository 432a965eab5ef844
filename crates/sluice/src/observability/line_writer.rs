//! Log lines, written by a thread of their own: a slow terminal or a full pipe never stops a request.
//!
//! A line goes out at once when the thread is idle. Those that come within [`LINGER`] of the last write go out together
//! afterwards, or when there is [`ENOUGH`], or with an error: a write and the waking of a thread cost more than many
//! lines. It holds [`MAX_WAITING_BYTES`] at most, and [`KEPT_FREE_BYTES`] more for errors and the audit trail: whoever makes many
//! requests does not write these out of the log. What is beyond is dropped, and so is what the output does not take, as on a full
//! disk. Both are counted ([`DroppedLines`]), and told by a line ([`Form`]) once lines are written again. Nor does an output that takes
//! nothing keep a process from ending ([`PATIENCE`]), nor one that takes little ([`MOST_PATIENCES`]).

mod waiting_output;

use std::io::{self, ErrorKind, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

use super::logs::AUDIT;
use super::text_lines;
use waiting_output::WaitingOutput;

/// So many bytes wait for the thread at most, errors and the audit trail aside.
const MAX_WAITING_BYTES: usize = 1 << 20;
/// So many more may wait if what comes is an error or of the audit trail.
const KEPT_FREE_BYTES: usize = 1 << 20;
/// So many do not wait for the time to pass.
const ENOUGH: usize = 128 << 10;
/// A buffer that grew beyond this is given back when it is empty.
const KEPT_BYTES: usize = 2 * ENOUGH;
/// How long a line waits at most while others come too.
const LINGER: Duration = Duration::from_millis(10);
/// So many go out at once, unless a line is longer: whether the output takes anything is seen between them.
const PIECE: usize = 64 << 10;
/// How long the end waits for the output to take a piece of what is left.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often it does: whoever ends processes has a patience too.
const MOST_PATIENCES: u32 = 5;

/// What is said of lines that are missing.
const DROPPED: &str = "log lines were dropped";
/// Where such a line is from, as other lines say it.
const TARGET: &str = module_path!();

/// What the lines of a log look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    /// An object a line.
    Json,
    /// The same, which are indented here.
    IndentedJson,
    /// An object a line, as in the access log.
    Access,
}

/// Where lines are put. Clones share one thread.
#[derive(Clone)]
pub(super) struct LineWriter {
    shared: Arc<Shared>,
    form: Form,
}

/// What a line is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Worth {
    Usual,
    /// Of the audit trail.
    Audit,
    /// Does not wait for others either.
    Error,
}

/// How many lines of a log were dropped.
pub(crate) struct DroppedLines(Arc<Shared>);

/// The output failed after it had taken so many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CutAfter(usize);

/// Ends the thread. When it is dropped, what waits is written as long as the output takes a piece of it within [`PATIENCE`], and no longer than
/// [`MOST_PATIENCES`].
pub(crate) struct LineWriterGuard(Arc<Shared>);

/// Held by the thread: tells that it has ended, however it did.
struct Ending(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    arrived: Condvar,
    ended: Condvar,
    /// All lines that were dropped since the start.
    dropped: AtomicU64,
    /// All pieces that the output took.
    pieces: AtomicU64,
}

#[derive(Default)]
struct State {
    waiting: Vec<u8>,
    /// Those that the thread does not know of yet.
    dropped_lines: u64,
    /// An error waits.
    urgent: bool,
    thread: Thread,
    closed: bool,
    /// The thread has nothing left to write.
    has_ended: bool,
}

/// What the thread is at.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Thread {
    /// Writing, or about to: it looks again by itself.
    #[default]
    Awake,
    /// Waiting for more lines, as it has just written.
    Lingers,
    /// Waiting for any line.
    Sleeps,
}

/// Starts the thread, which hands its lines to `put`, some at a time.
///
/// # Errors
/// The operating system's, if it starts no thread.
pub(super) fn start(
    form: Form,
    put: impl FnMut(&[u8]) -> Result<(), CutAfter> + Send + 'static,
) -> io::Result<(LineWriter, LineWriterGuard)> {
    let shared = Arc::new(Shared::default());
    std::thread::Builder::new().name("log".to_owned()).spawn({
        let ending = Ending(shared.clone());
        move || ending.after(|shared| write_all(shared, Output { put, form, untold: 0, is_cut: false }))
    })?;
    let writer = LineWriter { shared: shared.clone(), form };
    Ok((writer, LineWriterGuard(shared)))
}

/// Puts lines on standard error, each piece without lines of others in between.
pub(super) fn standard_error() -> impl FnMut(&[u8]) -> Result<(), CutAfter> + Send + 'static {
    |lines: &[u8]| write_to(&mut WaitingOutput(io::stderr().lock()), lines)
}

/// Writes lines, and knows how far it came.
pub(super) fn write_to(output: &mut impl Write, lines: &[u8]) -> Result<(), CutAfter> {
    let mut rest = lines;
    while !rest.is_empty() {
        match output.write(rest) {
            Ok(bytes) if bytes > 0 => rest = rest.get(bytes..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            _ => return Err(CutAfter(lines.len() - rest.len())),
        }
    }
    Ok(())
}

impl LineWriter {
    /// Counts what it drops.
    pub(super) fn dropped_lines(&self) -> DroppedLines {
        DroppedLines(Arc::clone(&self.shared))
    }
}

impl DroppedLines {
    /// Since the start.
    pub(crate) fn total(&self) -> u64 {
        self.0.dropped.load(Ordering::Relaxed)
    }
}

impl Worth {
    fn of(metadata: &Metadata<'_>) -> Self {
        if *metadata.level() == Level::ERROR {
            Self::Error
        } else if metadata.target() == AUDIT {
            Self::Audit
        } else {
            Self::Usual
        }
    }

    /// How many bytes may wait, this line included.
    const fn room(self) -> usize {
        match self {
            Self::Usual => MAX_WAITING_BYTES,
            Self::Audit | Self::Error => MAX_WAITING_BYTES + KEPT_FREE_BYTES,
        }
    }
}

impl Form {
    /// How many events end in these lines.
    fn count(self, lines: &[u8]) -> u64 {
        let is_end = |line: &&[u8]| self != Self::IndentedJson || *line == b"}\n";
        let events = lines.split_inclusive(|byte| *byte == b'\n').filter(is_end).count();
        u64::try_from(events).unwrap_or(u64::MAX)
    }

    /// The line that says how many are missing.
    fn note(self, count: u64) -> String {
        let now = text_lines::now();
        let time = now.as_str();
        let mut line = match self {
            Self::Text => format!("{time}  WARN {TARGET}: {DROPPED} count={count}"),
            Self::Json | Self::IndentedJson => format!(
                r#"{{"timestamp":"{time}","level":"WARN","message":"{DROPPED}","count":{count},"target":"{TARGET}"}}"#
            ),
            Self::Access => {
                format!(r#"{{"time":"{time}","level":"WARN","message":"{DROPPED}","count":{count}}}"#)
            }
        };
        line.push('\n');
        line
    }
}

impl Drop for LineWriterGuard {
    fn drop(&mut self) {
        self.0.close(PATIENCE, MOST_PATIENCES);
    }
}

impl Ending {
    /// Works, and tells that the thread has ended.
    fn after(self, work: impl FnOnce(&Shared)) {
        work(&self.0);
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.state.lock().has_ended = true;
        self.0.ended.notify_one();
    }
}

impl<'a> MakeWriter<'a> for LineWriter {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line { writer: self, worth: Worth::Usual }
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> Line<'a> {
        Line { writer: self, worth: Worth::of(metadata) }
    }
}

/// Takes one event: the subscriber hands it over in one piece.
pub(super) struct Line<'a> {
    writer: &'a LineWriter,
    worth: Worth,
}

impl Write for Line<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let LineWriter { shared, form } = self.writer;
        if *form == Form::IndentedJson
            && let Ok(value) = serde_json::from_slice::<serde_json::Value>(line)
            && let Ok(mut indented) = serde_json::to_vec_pretty(&value)
        {
            indented.push(b'\n');
            shared.put(&indented, self.worth);
        } else {
            shared.put(line, self.worth);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    fn put(&self, line: &[u8], worth: Worth) {
        let mut state = self.state.lock();
        if state.waiting.len() + line.len() > worth.room() {
            state.dropped_lines += 1;
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        state.waiting.extend_from_slice(line);
        state.urgent |= worth == Worth::Error;
        let wakes = match state.thread {
            Thread::Awake => false,
            Thread::Lingers => state.is_due(),
            Thread::Sleeps => true,
        };
        if wakes {
            state.thread = Thread::Awake;
            drop(state);
            self.arrived.notify_one();
        }
    }

    /// Waits for lines and swaps them into `taken`; how many were dropped meanwhile. `None` when it is over. Until
    /// `lingering` it waits for more of them.
    fn take(&self, taken: &mut Vec<u8>, lingering: Instant) -> Option<u64> {
        let mut state = self.state.lock();
        while !state.is_due() {
            state.thread = Thread::Lingers;
            if self.arrived.wait_until(&mut state, lingering).timed_out() {
                break;
            }
        }
        while state.is_empty() {
            if state.closed {
                return None;
            }
            state.thread = Thread::Sleeps;
            self.arrived.wait(&mut state);
        }
        state.thread = Thread::Awake;
        state.urgent = false;
        std::mem::swap(&mut state.waiting, taken);
        Some(std::mem::take(&mut state.dropped_lines))
    }

    /// Has the thread end when nothing is left to write, and waits for that: as long as the output takes anything within this patience, and
    /// so often at most.
    fn close(&self, patience: Duration, most: u32) {
        let mut state = self.state.lock();
        state.closed = true;
        self.arrived.notify_one();
        for _ in 0..most {
            let taken = self.pieces.load(Ordering::Relaxed);
            self.ended.wait_while_for(&mut state, |state| !state.has_ended, patience);
            if state.has_ended || self.pieces.load(Ordering::Relaxed) == taken {
                break;
            }
        }
    }
}

impl State {
    /// Whether what waits goes out without waiting for more.
    fn is_due(&self) -> bool {
        self.closed || self.urgent || self.waiting.len() >= ENOUGH
    }

    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.dropped_lines == 0
    }
}

/// The output, as the thread knows it.
struct Output<P> {
    put: P,
    form: Form,
    /// How many lines are missing of which it does not say so.
    untold: u64,
    /// It ends in the middle of a line.
    is_cut: bool,
}

impl<P: FnMut(&[u8]) -> Result<(), CutAfter>> Output<P> {
    /// Writes lines; how many of them it did not take.
    fn write(&mut self, shared: &Shared, lines: &[u8]) -> Result<(), u64> {
        // What was cut off is no line of the log, and takes no other along.
        if self.is_cut && (self.put)(b"\n").is_err() {
            return Err(self.form.count(lines));
        }
        self.is_cut = false;
        let Err(CutAfter(bytes)) = self.put_pieces(shared, lines) else { return Ok(()) };
        let (written, missing) = lines.split_at(bytes.min(lines.len()));
        self.is_cut = written.last().is_some_and(|last| *last != b'\n');
        Err(self.form.count(missing))
    }

    /// Puts lines one piece after the other, and notes each that is taken.
    fn put_pieces(&mut self, shared: &Shared, lines: &[u8]) -> Result<(), CutAfter> {
        let mut rest = lines;
        while !rest.is_empty() {
            let before = lines.len() - rest.len();
            let (piece, after) = rest.split_at(piece_length(rest));
            (self.put)(piece).map_err(|CutAfter(bytes)| CutAfter(before + bytes))?;
            shared.pieces.fetch_add(1, Ordering::Relaxed);
            rest = after;
        }
        Ok(())
    }

    /// Writes what came since the last time, and then what is to be said of what did not.
    fn round(&mut self, shared: &Shared, lines: &[u8], dropped: u64) {
        self.untold += dropped;
        match self.write(shared, lines) {
            Ok(()) => self.tell(shared),
            Err(missing) => {
                shared.dropped.fetch_add(missing, Ordering::Relaxed);
                self.untold += missing;
            }
        }
    }

    /// Says that lines are missing, if any are. What cannot be said now is said later.
    fn tell(&mut self, shared: &Shared) {
        if self.untold > 0 && self.write(shared, self.form.note(self.untold).as_bytes()).is_ok() {
            self.untold = 0;
        }
    }
}

fn write_all<P: FnMut(&[u8]) -> Result<(), CutAfter>>(shared: &Shared, mut output: Output<P>) {
    let mut taken = Vec::new();
    let mut lingering = Instant::now();
    while let Some(dropped_lines) = shared.take(&mut taken, lingering) {
        output.round(shared, &taken, dropped_lines);
        taken.clear();
        taken.shrink_to(KEPT_BYTES);
        lingering = Instant::now() + LINGER;
    }
    output.tell(shared);
}

/// How long the first piece of these is: whole lines, where there is an end of one.
fn piece_length(lines: &[u8]) -> usize {
    let is_end = |byte: &u8| *byte == b'\n';
    let (first, rest) = lines.split_at(lines.len().min(PIECE));
    if rest.is_empty() {
        return lines.len();
    }
    let end = first.iter().rposition(is_end);
    let end = end.or_else(|| rest.iter().position(is_end).map(|end| first.len() + end));
    end.map_or(lines.len(), |end| end + 1)
}

#[cfg(test)]
mod tests;
