use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Sender, channel};

use serde_json::{Value, json};

use super::super::captured::Captured;
use super::*;

fn to(mut output: impl Write + Send + 'static) -> impl FnMut(&[u8]) -> Result<(), CutAfter> + Send + 'static {
    move |lines: &[u8]| write_to(&mut output, lines)
}

#[test]
fn everything_that_waits_is_written_before_the_guard_is_gone() {
    let output = Captured::default();
    let (writer, guard) = start(Form::Text, to(output.clone())).unwrap();
    for number in 0..1000 {
        writeln!(writer.make_writer(), "line {number}").unwrap();
    }
    let ending = Instant::now();
    drop(guard);
    assert_eq!(output.text().lines().count(), 1000);
    assert!(ending.elapsed() < PATIENCE, "it waits for the thread, not for the time to pass");
}

#[test]
fn an_output_that_takes_nothing_holds_up_no_end() {
    let (let_go, stalled) = channel::<()>();
    let put = move |_: &[u8]| {
        let _ = stalled.recv();
        Ok(())
    };
    let (writer, guard) = start(Form::Text, put).unwrap();
    writer.make_writer().write_all(b"a line\n").unwrap();
    let (tell, told) = channel();
    std::thread::spawn(move || {
        drop(guard);
        let _ = tell.send(());
    });
    assert!(told.recv_timeout(10 * PATIENCE).is_ok(), "it waits for ever");
    drop(let_go);
}

/// Here six pieces, each of which takes less than the patience, and all of them more.
#[test]
fn an_output_that_is_slow_is_waited_for_as_long_as_it_takes_anything() {
    let output = Captured::default();
    let mut slow = output.clone();
    let put = move |lines: &[u8]| {
        std::thread::sleep(Duration::from_millis(600));
        write_to(&mut slow, lines)
    };
    let (writer, guard) = start(Form::Text, put).unwrap();
    let line = [vec![b'x'; PIECE - 1], vec![b'\n']].concat();
    for _ in 0..6 {
        writer.make_writer().write_all(&line).unwrap();
    }
    guard.0.close(Duration::from_secs(3), MOST_PATIENCES);
    assert_eq!(output.text().len(), 6 * PIECE);
}

#[test]
fn an_output_that_takes_little_holds_up_no_end_for_ever() {
    let shared = Arc::new(Shared::default());
    let closing = std::thread::spawn({
        let shared = Arc::clone(&shared);
        move || shared.close(Duration::from_millis(10), 3)
    });
    let began = Instant::now();
    while !closing.is_finished() {
        shared.pieces.fetch_add(1, Ordering::Relaxed);
        assert!(began.elapsed() < Duration::from_secs(10), "it waits for ever");
        std::thread::yield_now();
    }
    closing.join().unwrap();
}

#[test]
fn an_output_that_is_set_not_to_wait_is_waited_for() {
    let (output, mut reader) = UnixStream::pair().unwrap();
    output.set_nonblocking(true).unwrap();
    let reading = std::thread::spawn(move || {
        // It is full by then.
        std::thread::sleep(Duration::from_millis(50));
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        read.len()
    });
    let lines = vec![b'x'; MAX_WAITING_BYTES];
    let written = write_to(&mut WaitingOutput(output), &lines);
    assert_eq!((written, reading.join().unwrap()), (Ok(()), lines.len()));
}

#[test]
fn pieces_are_of_whole_lines() {
    let lines = |lengths: &[usize]| -> Vec<u8> {
        lengths.iter().flat_map(|length| [vec![b'x'; length - 1], vec![b'\n']].concat()).collect()
    };
    for (lengths, first) in [
        (&[5, 6][..], 11),
        (&[5, PIECE - 5, 7][..], PIECE),
        (&[5, PIECE - 6, 7][..], PIECE - 1),
        (&[5, PIECE][..], 5),
        (&[PIECE + 1, 5][..], PIECE + 1),
    ] {
        assert_eq!(piece_length(&lines(lengths)), first, "{lengths:?}");
    }
    assert_eq!(piece_length(&vec![b'x'; PIECE + 1]), PIECE + 1, "there is no end of a line");
}

#[test]
fn json_is_indented_when_asked_for() {
    let output = Captured::default();
    let (writer, guard) = start(Form::IndentedJson, to(output.clone())).unwrap();
    writer.make_writer().write_all(br#"{"level":"INFO"}"#).unwrap();
    drop(guard);
    assert_eq!(output.text(), "{\n  \"level\": \"INFO\"\n}\n");
}

#[test]
fn lines_beyond_the_bound_are_dropped_and_reported() {
    let shared = Shared::default();
    shared.put(&vec![b'x'; MAX_WAITING_BYTES], Worth::Usual);
    shared.put(b"one more", Worth::Usual);
    let mut taken = Vec::new();
    assert_eq!(shared.take(&mut taken, Instant::now()), Some(1));
    assert_eq!(taken.len(), MAX_WAITING_BYTES);
    assert_eq!(DroppedLines(Arc::new(shared)).total(), 1);
}

#[test]
fn lines_that_fill_the_room_leave_some_for_errors_and_the_audit_trail() {
    let shared = Shared::default();
    shared.put(&vec![b'x'; MAX_WAITING_BYTES], Worth::Usual);
    shared.put(b"a person", Worth::Audit);
    shared.put(b"an error", Worth::Error);
    shared.put(b"a request", Worth::Usual);
    shared.put(&vec![b'x'; KEPT_FREE_BYTES], Worth::Audit);
    let mut taken = Vec::new();
    assert_eq!(shared.take(&mut taken, Instant::now()), Some(2));
    assert!(taken.ends_with(b"xa personan error"));
}

/// Says of which worth the lines of events are.
struct Worths(LineWriter, Arc<Mutex<Vec<Worth>>>);

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Worths {
    fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
        self.1.lock().push(self.0.make_writer_for(event.metadata()).worth);
    }
}

#[test]
fn errors_and_the_audit_trail_are_worth_more_than_requests() {
    use tracing_subscriber::layer::SubscriberExt;

    let (writer, _guard) = start(Form::Text, to(Captured::default())).unwrap();
    let worths = Arc::<Mutex<Vec<Worth>>>::default();
    let subscriber = tracing_subscriber::registry().with(Worths(writer, Arc::clone(&worths)));
    tracing::subscriber::with_default(subscriber, || {
        tracing::info!("request answered");
        tracing::info!(target: "sluice_audit", "person registered");
        tracing::error!("request panicked");
    });
    assert_eq!(*worths.lock(), [Worth::Usual, Worth::Audit, Worth::Error]);
}

/// An output with so much room, which fails once when that is used up, and has room for all again.
struct Disk {
    room: Option<usize>,
    written: Captured,
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = match self.room {
            Some(0) => {
                self.room = None;
                return Err(ErrorKind::StorageFull.into());
            }
            Some(room) => bytes.len().min(room),
            None => bytes.len(),
        };
        self.room = self.room.map(|room| room - taken);
        self.written.write(&bytes[..taken])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What these pieces become, one after the other, on a disk with so much room; and how many lines of them were dropped.
fn on_a_disk(form: Form, room: usize, pieces: &[&str]) -> (String, u64) {
    let shared = Shared::default();
    let written = Captured::default();
    let disk = Disk { room: Some(room), written: written.clone() };
    let mut output = Output { put: to(disk), form, untold: 0, is_cut: false };
    for piece in pieces {
        piece.split_inclusive('\n').for_each(|line| shared.put(line.as_bytes(), Worth::Usual));
        let mut taken = Vec::new();
        let dropped = shared.take(&mut taken, Instant::now()).unwrap();
        output.round(&shared, &taken, dropped);
    }
    (written.text(), DroppedLines(Arc::new(shared)).total())
}

#[test]
fn what_a_full_disk_does_not_take_is_counted_and_told_of_in_a_line_of_its_own() {
    let pieces = ["{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n", "{\"a\":4}\n"];
    let one_and_a_half = "{\"a\":1}\n{\"a\"".len();
    for form in [Form::Json, Form::Access] {
        let (text, dropped) = on_a_disk(form, one_and_a_half, &pieces);
        let lines: Vec<&str> = text.lines().collect();
        let [first, cut, after, note] = lines[..] else { panic!("{text}") };
        assert_eq!((first, cut, after), ("{\"a\":1}", "{\"a\"", "{\"a\":4}"));
        let note: Value = serde_json::from_str(note).unwrap();
        assert_eq!((&note["level"], &note["message"]), (&json!("WARN"), &json!("log lines were dropped")));
        assert_eq!((&note["count"], dropped), (&json!(2), 2));
    }
}

#[test]
fn lines_that_came_whole_are_not_followed_by_an_empty_one() {
    let (text, dropped) = on_a_disk(Form::Text, "one\n".len(), &["one\ntwo\n", "three\n"]);
    let [one, three, note] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
    assert_eq!((one, three, dropped), ("one", "three", 1));
    assert!(
        note.ends_with("  WARN sluice::observability::line_writer: log lines were dropped count=1"),
        "{note}"
    );
}

#[test]
fn what_is_cut_in_a_later_piece_is_counted_from_there() {
    let line = "x".repeat(PIECE - 1) + "\n";
    let (text, dropped) = on_a_disk(Form::Text, 2 * PIECE - 1, &[line.repeat(4).as_str(), "after\n"]);
    let lines: Vec<&str> = text.lines().collect();
    let [first, cut, after, _note] = lines[..] else { panic!("{} lines", lines.len()) };
    assert_eq!((first.len(), cut.len(), after, dropped), (PIECE - 1, PIECE - 1, "after", 3));
}

#[test]
fn what_is_missing_at_the_end_is_told_before_it() {
    let shared = Shared::default();
    shared.put(b"{}\n", Worth::Usual);
    shared.state.lock().closed = true;
    let written = Captured::default();
    let disk = Disk { room: Some(0), written: written.clone() };
    write_all(&shared, Output { put: to(disk), form: Form::Json, untold: 0, is_cut: false });
    let note: Value = serde_json::from_str(&written.text()).unwrap();
    assert_eq!(note["count"], 1);
}

#[test]
fn an_indented_event_counts_once() {
    let event = "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n";
    assert_eq!(Form::IndentedJson.count(event.repeat(3).as_bytes()), 3);
    assert_eq!(Form::Json.count(b"{}\n{}\n"), 2);
}

#[test]
fn a_line_is_written_though_nothing_follows_it() {
    let (sender, receiver) = channel();
    let (writer, _guard) = start(Form::Text, to(Pieces(sender))).unwrap();
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
    shared.put(b"a line", Worth::Usual);
    assert!(!is_due(&shared));
    shared.put(b"an error", Worth::Error);
    assert!(is_due(&shared));
    let far = Instant::now() + Duration::from_hours(1);
    let mut taken = Vec::new();
    assert_eq!(shared.take(&mut taken, far), Some(0));
    assert_eq!(taken, b"a linean error");
    shared.put(&vec![b'x'; ENOUGH], Worth::Usual);
    taken.clear();
    assert_eq!(shared.take(&mut taken, far), Some(0));
    assert_eq!(taken.len(), ENOUGH);
}

struct Pieces(Sender<Vec<u8>>);

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
