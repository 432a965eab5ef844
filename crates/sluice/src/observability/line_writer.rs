//! Log lines, written by a thread of their own: a slow terminal or a full pipe never stops a request.
//!
//! Like the group commit, it has no timer: a line goes out at once when the thread is idle, and lines that arrive while
//! it writes go out together. It holds [`MAX_WAITING_BYTES`] at most; what is beyond is dropped, counted and reported.

use std::io::{self, Write};
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::{Condvar, Mutex};
use tracing_subscriber::fmt::MakeWriter;

/// So many bytes wait for the thread at most.
const MAX_WAITING_BYTES: usize = 1 << 20;
/// A buffer that grew beyond this is given back when it is empty.
const KEPT_BYTES: usize = 64 << 10;

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
    writer_is_idle: bool,
    closed: bool,
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
        Line(self)
    }
}

/// Takes one event: the subscriber hands it over in one piece.
pub(super) struct Line<'a>(&'a LineWriter);

impl Write for Line<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.0.indent_json
            && let Ok(value) = serde_json::from_slice::<serde_json::Value>(line)
            && let Ok(mut indented) = serde_json::to_vec_pretty(&value)
        {
            indented.push(b'\n');
            self.0.shared.put(&indented);
        } else {
            self.0.shared.put(line);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    fn put(&self, line: &[u8]) {
        let mut state = self.state.lock();
        if state.waiting.len() + line.len() > MAX_WAITING_BYTES {
            state.dropped_lines += 1;
            return;
        }
        state.waiting.extend_from_slice(line);
        if std::mem::take(&mut state.writer_is_idle) {
            self.arrived.notify_one();
        }
    }

    /// Waits for lines and swaps them into `taken`; how many were dropped meanwhile. `None` when it is over.
    fn take(&self, taken: &mut Vec<u8>) -> Option<u64> {
        let mut state = self.state.lock();
        while state.waiting.is_empty() && state.dropped_lines == 0 {
            if state.closed {
                return None;
            }
            state.writer_is_idle = true;
            self.arrived.wait(&mut state);
        }
        std::mem::swap(&mut state.waiting, taken);
        Some(std::mem::take(&mut state.dropped_lines))
    }
}

fn write_all(shared: &Shared, mut output: impl Write) {
    let mut taken = Vec::new();
    while let Some(dropped_lines) = shared.take(&mut taken) {
        // There is no better place to report that the log cannot be written.
        let _ = output.write_all(&taken);
        if dropped_lines > 0 {
            let _ = writeln!(output, "{dropped_lines} log lines were dropped: they came faster than written");
        }
        let _ = output.flush();
        taken.clear();
        taken.shrink_to(KEPT_BYTES);
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
        shared.put(&vec![b'x'; MAX_WAITING_BYTES]);
        shared.put(b"one more");
        let mut taken = Vec::new();
        assert_eq!(shared.take(&mut taken), Some(1));
        assert_eq!(taken.len(), MAX_WAITING_BYTES);
    }
}
