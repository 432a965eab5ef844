//! The line of a request where lines are text, made member by member: byte for byte that of the event, and cheaper. There is one for
//! each request.

use std::sync::OnceLock;
use std::time::Duration;

use sluice_primitives::AddressText;
use tracing::{Level, event_enabled};

use super::super::line_writer::LineWriter;
use super::super::text_lines::{push_number, push_thousandths, put};

/// Where the lines of the log go, if they are text.
static LINES: OnceLock<LineWriter> = OnceLock::new();

/// What stands before the line, as before that of the event: both are from here.
pub(super) const TARGET: &str = "sluice::observability::request_log";

/// Lines are text, and go there.
pub(in super::super) fn written_to(writer: LineWriter) {
    // There is one log in a process, so this is the first.
    let _ = LINES.set(writer);
}

/// What is said of a request. Of these texts none has anything in it that quotes would not take: routes and names of listeners are ours, and a
/// method is a token (RFC 9110 §9.1).
#[derive(Clone, Copy)]
pub(super) struct RequestLine<'a> {
    pub(super) listener: &'static str,
    pub(super) method: &'a str,
    pub(super) route: &'a str,
    pub(super) status: Option<u16>,
    pub(super) duration: Duration,
    pub(super) client: Option<AddressText>,
    pub(super) message: &'static str,
}

impl RequestLine<'_> {
    /// Writes the line, unless the filter leaves it out. Whether that is done: not where lines are no text, and go by events.
    pub(super) fn write(&self) -> bool {
        let Some(lines) = LINES.get() else { return false };
        if is_wanted() {
            put(lines, (Level::INFO, TARGET), |line| self.write_fields(line));
        }
        true
    }

    /// Its fields and the message.
    pub(super) fn write_fields(&self, line: &mut String) {
        let Self { listener, method, route, message, .. } = self;
        line.extend(["listener=\"", listener, "\" http.method=\"", method, "\" http.route=\"", route, "\""]);
        if let Some(status) = self.status {
            line.push_str(" http.status=");
            push_number(line, u64::from(status));
        }
        line.push_str(" duration.ms=");
        push_thousandths(line, microseconds(self.duration));
        if let Some(client) = &self.client {
            line.extend([" client.address=", client.as_str()]);
        }
        line.extend([" ", message]);
    }
}

/// Whether the filter lets it through, which may look at the names of its fields.
pub(super) fn is_wanted() -> bool {
    event_enabled!(
        target: TARGET,
        Level::INFO,
        listener,
        http.method,
        http.route,
        http.status,
        duration.ms,
        client.address,
        message
    )
}

/// Rounded as those of an event are.
pub(super) fn microseconds(duration: Duration) -> u64 {
    let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    nanos.saturating_add(500) / 1000
}
