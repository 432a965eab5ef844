//! The access log: one JSON object a line, to standard error or a file. Lines go the way of the log (`line_writer`): a slow disk
//! never stops a request, and what cannot be kept is dropped and counted.
//!
//! Neither queries nor headers are written: both carry secrets.

use std::cell::RefCell;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use serde::ser::SerializeStruct;
use sluice_gateway::RequestRecord;
use tracing_subscriber::fmt::MakeWriter;

use super::super::line_writer::{self, LineWriter, LineWriterGuard};
use super::super::text_lines;

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
pub(crate) struct AccessLogGuard(#[expect(dead_code, reason = "held for its drop")] LineWriterGuard);

thread_local! {
    static LINE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl AccessLog {
    /// Starts the log.
    ///
    /// # Errors
    /// The operating system's, if the file cannot be opened or no thread started.
    pub(crate) fn start(target: &AccessLogTarget) -> io::Result<(Self, AccessLogGuard)> {
        let output: Box<dyn Write + Send> = match target {
            AccessLogTarget::StandardError => Box::new(io::stderr()),
            AccessLogTarget::File(path) => Box::new(OpenOptions::new().create(true).append(true).open(path)?),
        };
        let (writer, guard) = line_writer::start(output)?;
        Ok((Self { writer }, AccessLogGuard(guard)))
    }

    /// Writes the line of a request.
    pub(super) fn write(&self, record: &RequestRecord<'_>) {
        LINE.with_borrow_mut(|line| {
            line.clear();
            if serde_json::to_writer(&mut *line, &Line(record)).is_ok() {
                line.push(b'\n');
                // There is no better place to report that the log cannot be written.
                let _ = self.writer.make_writer().write_all(line);
            }
        });
    }
}

/// A record as it is written: members without a value are left out.
struct Line<'a>(&'a RequestRecord<'a>);

impl Serialize for Line<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let record = self.0;
        let mut line = serializer.serialize_struct("request", 14)?;
        line.serialize_field("time", &Now)?;
        line.serialize_field("route", record.route)?;
        line.serialize_field("method", record.method.as_str())?;
        line.serialize_field("host", record.host)?;
        line.serialize_field("path", record.path)?;
        line.serialize_field("client", &Address(record.client))?;
        if let Some(status) = record.status {
            line.serialize_field("status", &status.as_u16())?;
        }
        line.serialize_field("verdict", record.verdict)?;
        let texts = [
            ("subject", record.subject),
            ("client_id", record.client_id),
            ("upstream", record.upstream),
            ("fault", record.fault),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                line.serialize_field(name, text)?;
            }
        }
        line.serialize_field("duration_us", &micros(record.duration))?;
        if let Some(duration) = record.upstream_duration {
            line.serialize_field("upstream_us", &micros(duration))?;
        }
        if record.retries > 0 {
            line.serialize_field("retries", &record.retries)?;
        }
        line.end()
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

struct Now;

impl Serialize for Now {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(text_lines::now().as_str())
    }
}

struct Address(IpAddr);

impl Serialize for Address {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use http::{Method, StatusCode};

    use super::*;

    fn record() -> RequestRecord<'static> {
        RequestRecord {
            route: "orders",
            method: &Method::GET,
            path: "/orders/1\"",
            host: "api.example.com",
            client: IpAddr::from([192, 0, 2, 7]),
            status: Some(StatusCode::OK),
            verdict: "caller",
            subject: Some("alice"),
            client_id: None,
            upstream: Some("127.0.0.1:8080"),
            duration: Duration::from_micros(150),
            upstream_duration: Some(Duration::from_micros(90)),
            retries: 0,
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
