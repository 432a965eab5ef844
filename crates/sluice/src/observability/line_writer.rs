//! Log lines, written by a thread of their own: a slow terminal or a full pipe never stops a request.
//!
//! A line goes out at once when the thread is idle. Those that come within [`LINGER`] of the last write go out together
//! afterwards, or when there is [`ENOUGH`], or with an error: a write and the waking of a thread cost more than many
//! lines. It holds [`MAX_WAITING_BYTES`] at most; what is beyond is dropped, counted and reported.

use std::io::{self, Write};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

/// So many bytes wait for the thread at most.
const MAX_WAITING_BYTES: usize = 1 << 20;
/// So many do not wait for the time to pass.
const ENOUGH: usize = 128 << 10;
/// A buffer that grew beyond this is given back when it is empty.
const KEPT_BYTES: usize = 2 * ENOUGH;
/// How long a line waits at most while others come too.
const LINGER: Duration = Duration::from_millis(10);

/// Where lines are put. Clones share one thread.
#[derive(Clone)]
pub(super) struct LineWriter {
    shared: Arc<Shared>,
    indent_json: bool,
}

/// Owns the thread. When it is dropped, everything that waits is written.
pub(crate) struct LineWriterGuard {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    arrived: Condvar,
}

#[derive(Default)]
struct State {
    waiting: Vec<u8>,
    dropped_lines: u64,
    /// An error waits.
    urgent: bool,
    thread: Thread,
    closed: bool,
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

/// Starts the thread, which writes to `output`.
///
/// # Errors
/// The operating system's, if it starts no thread.
pub(super) fn start(output: impl Write + Send + 'static) -> io::Result<(LineWriter, LineWriterGuard)> {
    let shared = Arc::new(Shared::default());
    let thread = std::thread::Builder::new().name("log".to_owned()).spawn({
        let shared = shared.clone();
        move || write_all(&shared, output)
    })?;
    let writer = LineWriter { shared: shared.clone(), indent_json: false };
    Ok((writer, LineWriterGuard { shared, thread: Some(thread) }))
}

impl LineWriter {
    /// The same writer, which expects JSON and indents it.
    pub(super) fn indenting_json(self) -> Self {
        Self { indent_json: true, ..self }
    }
}

impl Drop for LineWriterGuard {
    fn drop(&mut self) {
        self.shared.state.lock().closed = true;
        self.shared.arrived.notify_one();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing left to write.
            let _ = thread.join();
        }
    }
}

impl<'a> MakeWriter<'a> for LineWriter {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line { writer: self, urgent: false }
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> Line<'a> {
        Line { writer: self, urgent: *metadata.level() == Level::ERROR }
    }
}

/// Takes one event: the subscriber hands it over in one piece.
pub(super) struct Line<'a> {
    writer: &'a LineWriter,
    urgent: bool,
}

impl Write for Line<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let LineWriter { shared, indent_json } = self.writer;
        if *indent_json
            && let Ok(value) = serde_json::from_slice::<serde_json::Value>(line)
            && let Ok(mut indented) = serde_json::to_vec_pretty(&value)
        {
            indented.push(b'\n');
            shared.put(&indented, self.urgent);
        } else {
            shared.put(line, self.urgent);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    fn put(&self, line: &[u8], urgent: bool) {
        let mut state = self.state.lock();
        if state.waiting.len() + line.len() > MAX_WAITING_BYTES {
            state.dropped_lines += 1;
            return;
        }
        state.waiting.extend_from_slice(line);
        state.urgent |= urgent;
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

fn write_all(shared: &Shared, mut output: impl Write) {
    let mut taken = Vec::new();
    let mut lingering = Instant::now();
    while let Some(dropped_lines) = shared.take(&mut taken, lingering) {
        // There is no better place to report that the log cannot be written.
        let _ = output.write_all(&taken);
        if dropped_lines > 0 {
            let _ = writeln!(output, "{dropped_lines} log lines were dropped: they came faster than written");
        }
        let _ = output.flush();
        taken.clear();
        taken.shrink_to(KEPT_BYTES);
        lingering = Instant::now() + LINGER;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct Output(Arc<Mutex<Vec<u8>>>);

    impl Write for Output {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Output {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().clone()).unwrap()
        }
    }

    #[test]
    fn everything_that_waits_is_written_before_the_guard_is_gone() {
        let output = Output::default();
        let (writer, guard) = start(output.clone()).unwrap();
        for number in 0..1000 {
            writeln!(writer.make_writer(), "line {number}").unwrap();
        }
        drop(guard);
        assert_eq!(output.text().lines().count(), 1000);
    }

    #[test]
    fn json_is_indented_when_asked_for() {
        let output = Output::default();
        let (writer, guard) = start(output.clone()).unwrap();
        writer.indenting_json().make_writer().write_all(br#"{"level":"INFO"}"#).unwrap();
        drop(guard);
        assert_eq!(output.text(), "{\n  \"level\": \"INFO\"\n}\n");
    }

    #[test]
    fn lines_beyond_the_bound_are_dropped_and_reported() {
        let shared = Shared::default();
        shared.put(&vec![b'x'; MAX_WAITING_BYTES], false);
        shared.put(b"one more", false);
        let mut taken = Vec::new();
        assert_eq!(shared.take(&mut taken, Instant::now()), Some(1));
        assert_eq!(taken.len(), MAX_WAITING_BYTES);
    }

    #[test]
    fn a_line_is_written_though_nothing_follows_it() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let (writer, _guard) = start(Pieces(sender)).unwrap();
        for line in ["first", "second", "third"] {
            writer.make_writer().write_all(line.as_bytes()).unwrap();
            let written: Vec<u8> = receiver.recv_timeout(Duration::from_secs(10)).unwrap();
            assert_eq!(written, line.as_bytes());
        }
    }

    #[test]
    fn an_error_and_plenty_do_not_wait_for_more() {
        let shared = Shared::default();
        let is_due = |shared: &Shared| shared.state.lock().is_due();
        shared.put(b"a line", false);
        assert!(!is_due(&shared));
        shared.put(b"an error", true);
        assert!(is_due(&shared));
        let far = Instant::now() + Duration::from_hours(1);
        let mut taken = Vec::new();
        assert_eq!(shared.take(&mut taken, far), Some(0));
        assert_eq!(taken, b"a linean error");
        shared.put(&vec![b'x'; ENOUGH], false);
        taken.clear();
        assert_eq!(shared.take(&mut taken, far), Some(0));
        assert_eq!(taken.len(), ENOUGH);
    }

    struct Pieces(std::sync::mpsc::Sender<Vec<u8>>);

    impl Write for Pieces {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // Who listened may be gone.
            let _ = self.0.send(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}
