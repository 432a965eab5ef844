//! Lines of text: what `tracing_subscriber` writes without colours, byte for byte, at a fraction of the cost. It takes
//! every character by itself to find escape sequences, and makes each time anew. Two things are another matter: here each event is one
//! line, and a field that is displayed, or is an error, has quotes where it could be taken for more than one.

use std::cell::Cell;
use std::error::Error;
use std::fmt::{Debug, Write as _};
use std::io::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use sluice_commit::chain;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Subscriber};
use tracing_log::NormalizeEvent;
use tracing_subscriber::Layer;
use tracing_subscriber::fmt::format::{DefaultFields, DefaultVisitor};
use tracing_subscriber::fmt::{FormattedFields, MakeWriter};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::{LookupSpan, SpanRef};

use super::current_request;

/// Of a time, up to the second.
const SECOND: usize = "2026-01-02T03:04:05".len();
const MOMENT: usize = "2026-01-02T03:04:05.000006Z".len();
const MESSAGE: &str = "message";
/// What a library that uses the `log` crate says of its line beside the message: the head tells it already.
const OF_LOG: &str = "log.";
/// A line that grew longer is not kept for the next one.
const KEPT: usize = 16 << 10;

thread_local! {
    static LAST_SECOND: Cell<(u64, [u8; SECOND])> = const { Cell::new((u64::MAX, [b'0'; SECOND])) };
    static LINE: Cell<String> = const { Cell::new(String::new()) };
}

/// Writes each event as a line.
pub(super) struct TextLayer<W>(pub(super) W);

/// The fields of a span, as they stand in the lines within it.
struct SpanFields(String);

impl<S, W> Layer<S> for TextLayer<W>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    W: for<'writer> MakeWriter<'writer> + 'static,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut text = String::new();
        attributes.record(&mut Visitor::new(&mut text));
        span.extensions_mut().insert(SpanFields(text));
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut extensions = span.extensions_mut();
        let Some(SpanFields(text)) = extensions.get_mut() else { return };
        let begun = !text.is_empty();
        values.record(&mut Visitor { text, begun });
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        // Taken, not borrowed: what is displayed may log too.
        let mut line = LINE.take();
        // Of a line of the `log` crate: what it was logged with.
        let normalized = event.normalized_metadata();
        let metadata = normalized.as_ref().unwrap_or_else(|| event.metadata());
        write_head(&mut line, *metadata.level());
        write_spans(&mut line, event, &context);
        line.push_str(metadata.target());
        line.push_str(": ");
        event.record(&mut Visitor::new(&mut line));
        escape_line_ends(&mut line);
        line.push('\n');
        // There is no better place to report that the log cannot be written.
        let _ = self.0.make_writer_for(event.metadata()).write_all(line.as_bytes());
        keep(line);
    }
}

/// Writes a line of this level and target that is made without an event, by `write`: no more than its fields, and the message, as they are to
/// stand there.
pub(super) fn put<W>(writer: &W, (level, target): (Level, &str), write: impl FnOnce(&mut String))
where
    W: for<'writer> MakeWriter<'writer>,
{
    let mut line = LINE.take();
    write_head(&mut line, level);
    let before = line.len();
    write_request(&mut line);
    if line.len() > before {
        line.push(' ');
    }
    line.push_str(target);
    line.push_str(": ");
    write(&mut line);
    line.push('\n');
    let _ = writer.make_writer().write_all(line.as_bytes());
    keep(line);
}

/// Keeps the room of a line for the next one.
fn keep(mut line: String) {
    if line.capacity() <= KEPT {
        line.clear();
        LINE.set(line);
    }
}

/// A time of RFC 3339, in UTC with microseconds.
pub(super) struct Moment([u8; MOMENT]);

impl Moment {
    /// The text.
    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// The time of a line.
pub(super) fn now() -> Moment {
    #[expect(clippy::disallowed_methods, reason = "the time of a line is no input of anything")]
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (mut known, mut text) = LAST_SECOND.get();
    if known != now.as_secs() {
        // Most lines are of the same second as the one before.
        known = now.as_secs();
        text = second(known);
        LAST_SECOND.set((known, text));
    }
    let mut moment = *b"0000-00-00T00:00:00.000000Z";
    let mut micros = now.subsec_micros();
    for digit in moment.iter_mut().rev().skip(1).take(6) {
        *digit = b'0' + u8::try_from(micros % 10).unwrap_or_default();
        micros /= 10;
    }
    moment.iter_mut().zip(text).for_each(|(byte, known)| *byte = known);
    Moment(moment)
}

/// The time and the level.
fn write_head(line: &mut String, level: Level) {
    line.push_str(now().as_str());
    line.push_str(match level {
        Level::ERROR => " ERROR ",
        Level::WARN => "  WARN ",
        Level::INFO => "  INFO ",
        Level::DEBUG => " DEBUG ",
        Level::TRACE => " TRACE ",
    });
}

fn second(since_epoch: u64) -> [u8; SECOND] {
    let moment = i64::try_from(since_epoch).ok().and_then(|second| jiff::Timestamp::from_second(second).ok());
    let text = moment.unwrap_or_default().to_string();
    text.as_bytes().first_chunk().copied().unwrap_or([b'0'; SECOND])
}

/// The request that this thread works on.
fn write_request(line: &mut String) {
    current_request::with_id(|id| line.extend(["request{request.id=\"", id, "\"}:"]));
}

/// The request and the spans that an event is in, the outermost first.
fn write_spans<S>(line: &mut String, event: &Event<'_>, context: &Context<'_, S>)
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let before = line.len();
    write_request(line);
    if let Some(innermost) = context.event_span(event) {
        if innermost.parent().is_some() {
            innermost.scope().from_root().for_each(|span| write_span(line, &span));
        } else {
            write_span(line, &innermost);
        }
    }
    if line.len() > before {
        line.push(' ');
    }
}

fn write_span<S: for<'span> LookupSpan<'span>>(line: &mut String, span: &SpanRef<'_, S>) {
    line.push_str(span.metadata().name());
    if let Some(SpanFields(fields)) = span.extensions().get()
        && !fields.is_empty()
    {
        line.push('{');
        line.push_str(fields);
        line.push('}');
    }
    line.push(':');
}

/// Writes fields as `name=value`, the message by itself.
struct Visitor<'a> {
    text: &'a mut String,
    begun: bool,
}

impl<'a> Visitor<'a> {
    fn new(text: &'a mut String) -> Self {
        Self { text, begun: false }
    }

    /// Writes what stands before the value of a field.
    fn name(&mut self, field: &Field) {
        if std::mem::replace(&mut self.begun, true) {
            self.text.push(' ');
        }
        let name = field.name();
        if name != MESSAGE {
            self.text.push_str(name.strip_prefix("r#").unwrap_or(name));
            self.text.push('=');
        }
    }

    /// Leaves a field to the library, whose lines these are.
    fn leave(&mut self, record: impl FnOnce(&mut DefaultVisitor<'_>)) {
        let mut written = FormattedFields::<DefaultFields>::new(String::new());
        record(&mut DefaultVisitor::new(written.as_writer(), true));
        if std::mem::replace(&mut self.begun, true) {
            self.text.push(' ');
        }
        self.text.push_str(&written.fields);
    }
}

impl Visit for Visitor<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name().starts_with(OF_LOG) {
            return;
        }
        if field.name() == MESSAGE && is_visible(value.as_bytes()) {
            self.name(field);
            self.text.push_str(value);
            return;
        }
        if field.name() == MESSAGE || !is_quotable(value) {
            return self.leave(|library| library.record_str(field, value));
        }
        self.name(field);
        self.text.push('"');
        self.text.push_str(value);
        self.text.push('"');
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name().starts_with(OF_LOG) {
            return;
        }
        self.name(field);
        push_number(self.text, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        let Some(thousandths) = thousandths(value) else { return self.record_debug(field, &value) };
        self.name(field);
        push_thousandths(self.text, thousandths);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.record_debug(field, &format_args!("{}", chain(value)));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name().starts_with(OF_LOG) {
            return;
        }
        let (length, begun) = (self.text.len(), self.begun);
        self.name(field);
        let beginning = self.text.len();
        let written = write!(self.text, "{value:?}");
        let is_message = field.name() == MESSAGE;
        let is_plain = || self.text.as_bytes().get(length..).is_some_and(is_visible);
        if written.is_err() || (is_message && !is_plain()) {
            self.text.truncate(length);
            self.begun = begun;
            self.leave(|library| library.record_debug(field, value));
        } else if !is_message {
            quote_from(self.text, beginning);
        }
    }
}

/// A number that has three decimals at most, in thousandths; none if it has more, is negative, or large.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded and compared")]
fn thousandths(value: f64) -> Option<u64> {
    const MOST: f64 = 1e9;
    let rounded = (value * 1e3).round();
    let is_exact = value.is_sign_positive() && value < MOST && (rounded / 1e3).to_bits() == value.to_bits();
    is_exact.then_some(rounded as u64)
}

/// Writes so many thousandths, with as many decimals as they need, and one at least.
pub(super) fn push_thousandths(text: &mut String, thousandths: u64) {
    push_number(text, thousandths / 1000);
    // Four digits, of which the first stands for itself only.
    let mut buffer = itoa::Buffer::new();
    let decimals = buffer.format(1000 + thousandths % 1000).trim_end_matches('0');
    text.push('.');
    text.push_str(decimals.get(1..).filter(|decimals| !decimals.is_empty()).unwrap_or("0"));
}

/// Writes a number in decimal digits.
pub(super) fn push_number(text: &mut String, number: u64) {
    text.push_str(itoa::Buffer::new().format(number));
}

/// Puts what a line ends with, from this byte on, in quotes, unless it shows by itself where it ends: somebody may have chosen it to be taken
/// for other fields.
fn quote_from(line: &mut String, beginning: usize) {
    let Some(value) = line.get(beginning..) else { return };
    if is_word(value.as_bytes()) || is_quoted(value) {
        return;
    }
    let quoted = format!("{value:?}");
    line.truncate(beginning);
    line.push_str(&quoted);
}

/// Whether nothing in it stands between fields, between a name and its value, or around a value.
fn is_word(text: &[u8]) -> bool {
    // To the end in any case, as below.
    text.iter().fold(true, |word, byte| word & matches!(byte, b'!' | b'#'..=b'<' | b'>'..=b'~'))
}

/// Whether it is a text in quotes, or a list of such texts, as what is debugged often is.
fn is_quoted(text: &str) -> bool {
    if text.chars().any(char::is_control) {
        return false;
    }
    let Some(list) = text.strip_prefix('[') else { return behind_quotes(text) == Some("") };
    let mut rest = Some(list);
    while let Some(behind) = rest.and_then(behind_quotes) {
        if behind == "]" {
            return true;
        }
        rest = behind.strip_prefix(", ");
    }
    false
}

/// What comes behind the text in quotes that this begins with, if it does.
fn behind_quotes(text: &str) -> Option<&str> {
    let quoted = text.strip_prefix('"')?;
    let mut is_escaped = false;
    let end = quoted.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    quoted.get(end? + 1..)
}

/// What others say may have lines of its own, as errors of a database do: in the log they would be without time, level and request.
fn escape_line_ends(line: &mut String) {
    if memchr::memchr2(b'\n', b'\r', line.as_bytes()).is_some() {
        *line = line.replace('\n', "\\n").replace('\r', "\\r");
    }
}

/// Whether nothing in it is an escape sequence.
fn is_visible(text: &[u8]) -> bool {
    // To the end in any case: so the compiler takes many bytes at once.
    text.iter().fold(true, |visible, byte| visible & matches!(byte, b' '..=b'~'))
}

/// Whether nothing in it is escaped in quotes.
fn is_quotable(text: &str) -> bool {
    text.bytes()
        .fold(true, |quotable, byte| quotable & matches!(byte, b' '..=b'!' | b'#'..=b'[' | b']'..=b'~'))
}

#[cfg(test)]
mod tests;
