//! The access log: one JSON object a line (`line`), to standard error or a file ([`AccessLogFile`]). Lines go the way of the log
//! (`line_writer`): a slow disk never stops a request, and what cannot be kept is dropped and counted.
//!
//! Neither queries nor headers are written: both carry secrets.

mod file;
mod line;

pub(crate) use file::AccessLogFile;

use std::cell::RefCell;
use std::io::{self, Write};
use std::path::PathBuf;

use sluice_gateway::RequestRecord;
use tracing_subscriber::fmt::MakeWriter;

use super::super::line_writer::{self, DroppedLines, Form, LineWriter, LineWriterGuard};

/// Where the lines go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AccessLogTarget {
    /// Standard error, between the lines of the log.
    StandardError,
    /// A file, appended to.
    File(PathBuf),
}

/// Writes lines.
pub(crate) struct AccessLog {
    writer: LineWriter,
}

/// Keeps the access log alive. Dropping it writes what still waits.
#[must_use = "the access log ends when this is dropped"]
pub(crate) struct AccessLogGuard {
    #[expect(dead_code, reason = "held for its drop")]
    lines: LineWriterGuard,
    file: Option<AccessLogFile>,
}

impl AccessLogGuard {
    /// The file that the lines go to, if they go to one.
    pub(crate) fn file(&self) -> Option<AccessLogFile> {
        self.file.clone()
    }
}

thread_local! {
    static LINE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl AccessLog {
    /// Starts the log.
    ///
    /// # Errors
    /// The operating system's, if the file cannot be opened or no thread started.
    pub(crate) fn start(target: &AccessLogTarget) -> io::Result<(Self, AccessLogGuard)> {
        let file = match target {
            AccessLogTarget::StandardError => None,
            AccessLogTarget::File(path) => Some(AccessLogFile::open(path)?),
        };
        let (writer, lines) = match file.clone() {
            None => line_writer::start(Form::Access, line_writer::standard_error())?,
            Some(file) => line_writer::start(Form::Access, move |lines: &[u8]| file.put(lines))?,
        };
        Ok((Self { writer }, AccessLogGuard { lines, file }))
    }

    /// Counts the lines that it drops.
    pub(crate) fn dropped_lines(&self) -> DroppedLines {
        self.writer.dropped_lines()
    }

    /// Writes the line of a request.
    pub(super) fn write(&self, record: &RequestRecord<'_>) {
        LINE.with_borrow_mut(|line| {
            line.clear();
            line::write(line, record);
            // There is no better place to report that the log cannot be written.
            let _ = self.writer.make_writer().write_all(line);
        });
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::time::Duration;

    use http::{Method, StatusCode};

    use super::*;

    fn record() -> RequestRecord<'static> {
        RequestRecord {
            route: "orders",
            method: &Method::GET,
            protocol: None,
            path: "/orders/1\"",
            host: "api.example.com",
            client: IpAddr::from([192, 0, 2, 7]),
            status: Some(StatusCode::OK),
            request_bytes: None,
            response_bytes: None,
            verdict: "caller",
            request_id: None,
            subject: Some("alice"),
            client_id: None,
            upstream: Some("127.0.0.1:8080"),
            duration: Duration::from_micros(150),
            upstream_duration: Some(Duration::from_micros(90)),
            retries: 0,
            is_beyond_budget: false,
            fault: None,
        }
    }

    #[test]
    fn a_request_is_one_json_object_a_line() {
        let directory = tempfile::tempdir().unwrap();
        let target = AccessLogTarget::File(directory.path().join("access.log"));
        let AccessLogTarget::File(path) = &target else { unreachable!() };
        let (log, guard) = AccessLog::start(&target).unwrap();
        log.write(&record());
        log.write(&RequestRecord { status: None, retries: 2, fault: Some("reset"), ..record() });
        drop(guard);
        let text = std::fs::read_to_string(path).unwrap();
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0]["path"], "/orders/1\"");
        assert_eq!((&lines[0]["status"], &lines[0]["client"]), (&200.into(), &"192.0.2.7".into()));
        assert_eq!((&lines[0]["duration_us"], &lines[0]["upstream_us"]), (&150.into(), &90.into()));
        assert!(lines[0].get("client_id").is_none() && lines[0].get("retries").is_none());
        assert!(lines[0]["time"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok());
        assert!(lines[1].get("status").is_none());
        assert_eq!((&lines[1]["retries"], &lines[1]["fault"]), (&2.into(), &"reset".into()));
    }

    #[test]
    fn a_later_start_appends() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("access.log");
        for _ in 0..2 {
            let (log, guard) = AccessLog::start(&AccessLogTarget::File(path.clone())).unwrap();
            log.write(&record());
            drop(guard);
        }
        assert_eq!(std::fs::read_to_string(path).unwrap().lines().count(), 2);
    }
}
