//! One line of the access log, put together by hand: a serializer that looks at each sign and grows the line piece by piece costs as much
//! as the rest of a verdict.

use std::io::Write;
use std::net::IpAddr;
use std::time::Duration;

use http::Version;
use sluice_gateway::RequestRecord;
use sluice_protocol::json_object::write_text;

use super::super::super::text_lines;

/// So much of a text is written, in bytes: over HTTP/2 a path that was sent before is a byte on the wire, and would be kilobytes here.
const LONGEST: usize = 1024;
/// What stands for the rest of a text that is longer.
const CUT: char = '…';

/// A JSON object that grows.
struct Object<'a>(&'a mut Vec<u8>);

/// Writes the line of a request. Members without a value are left out.
pub(super) fn write(line: &mut Vec<u8>, record: &RequestRecord<'_>) {
    line.extend_from_slice(b"{\"time\":\"");
    line.extend_from_slice(text_lines::now().as_str().as_bytes());
    line.push(b'"');
    let mut object = Object(line);
    object.text(b",\"route\":", record.route);
    object.text(b",\"method\":", record.method.as_str());
    object.text(b",\"host\":", record.host);
    object.text(b",\"path\":", record.path);
    if let Some(version) = record.protocol {
        object.0.extend_from_slice(protocol(version));
    }
    object.address(b",\"client\":", record.client);
    if let Some(status) = record.status {
        object.number(b",\"status\":", status.as_u16().into());
    }
    object.text(b",\"verdict\":", record.verdict);
    let texts: [(&[u8], _); 5] = [
        (b",\"request_id\":", record.request_id),
        (b",\"subject\":", record.subject),
        (b",\"client_id\":", record.client_id),
        (b",\"upstream\":", record.upstream),
        (b",\"fault\":", record.fault),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            object.text(name, text);
        }
    }
    object.number(b",\"duration_us\":", micros(record.duration));
    if let Some(duration) = record.upstream_duration {
        object.number(b",\"upstream_us\":", micros(duration));
    }
    let lengths: [(&[u8], _); 2] =
        [(b",\"request_bytes\":", record.request_bytes), (b",\"response_bytes\":", record.response_bytes)];
    for (name, length) in lengths {
        if let Some(length) = length {
            object.number(name, length);
        }
    }
    if record.retries > 0 {
        object.number(b",\"retries\":", record.retries.into());
    }
    line.extend_from_slice(b"}\n");
}

/// The member that says over which version of HTTP a request came, as other servers write it.
fn protocol(version: Version) -> &'static [u8] {
    match version {
        Version::HTTP_10 => b",\"protocol\":\"HTTP/1.0\"",
        Version::HTTP_11 => b",\"protocol\":\"HTTP/1.1\"",
        Version::HTTP_2 => b",\"protocol\":\"HTTP/2.0\"",
        _ => b",\"protocol\":\"HTTP\"",
    }
}

impl Object<'_> {
    fn text(&mut self, name: &[u8], text: &str) {
        if text.len() > LONGEST {
            return self.cut_text(name, text);
        }
        self.0.extend_from_slice(name);
        write_text(self.0, text);
    }

    #[cold]
    fn cut_text(&mut self, name: &[u8], text: &str) {
        let end = text.floor_char_boundary(LONGEST - CUT.len_utf8());
        let mut cut = text.get(..end).unwrap_or_default().to_owned();
        cut.push(CUT);
        self.text(name, &cut);
    }

    fn number(&mut self, name: &[u8], number: u64) {
        self.0.extend_from_slice(name);
        self.0.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    }

    fn address(&mut self, name: &[u8], address: IpAddr) {
        self.0.extend_from_slice(name);
        self.0.push(b'"');
        match address {
            IpAddr::V4(address) => {
                for (place, octet) in address.octets().into_iter().enumerate() {
                    if place > 0 {
                        self.0.push(b'.');
                    }
                    self.0.extend_from_slice(itoa::Buffer::new().format(octet).as_bytes());
                }
            }
            // Memory takes every text.
            IpAddr::V6(address) => drop(write!(self.0, "{address}")),
        }
        self.0.push(b'"');
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use http::{Method, StatusCode};
    use serde_json::json;

    use super::*;

    fn written(record: &RequestRecord<'_>) -> serde_json::Value {
        let mut line = Vec::new();
        write(&mut line, record);
        assert_eq!(line.iter().position(|byte| *byte == b'\n'), Some(line.len() - 1));
        let mut object: serde_json::Value = serde_json::from_slice(&line).unwrap();
        let time = object["time"].take();
        assert!(time.as_str().unwrap().parse::<jiff::Timestamp>().is_ok(), "{time}");
        object
    }

    fn record<'a>(path: &'a str, host: &'a str) -> RequestRecord<'a> {
        RequestRecord {
            route: "orders",
            method: &Method::GET,
            protocol: None,
            path,
            host,
            client: IpAddr::from([192, 0, 2, 7]),
            status: Some(StatusCode::OK),
            request_bytes: None,
            response_bytes: None,
            verdict: "caller",
            request_id: None,
            subject: None,
            client_id: None,
            upstream: None,
            duration: Duration::from_millis(1_500),
            upstream_duration: None,
            retries: 0,
            is_beyond_budget: false,
            fault: None,
        }
    }

    #[test]
    fn members_without_a_value_are_left_out_and_the_others_say_what_they_are() {
        let least = json!({"time": null, "route": "orders", "method": "GET", "host": "a:8443", "path": "/x", "client": "192.0.2.7",
            "status": 200, "verdict": "caller", "duration_us": 1_500_000});
        assert_eq!(written(&record("/x", "a:8443")), least);
        let all = RequestRecord {
            client: "2001:db8::7".parse().unwrap(),
            protocol: Some(Version::HTTP_2),
            status: None,
            request_bytes: Some(5),
            response_bytes: Some(0),
            request_id: Some("r-7"),
            subject: Some("alice"),
            client_id: Some("app"),
            upstream: Some("127.0.0.1:80"),
            upstream_duration: Some(Duration::from_nanos(1_999)),
            retries: 2,
            fault: Some("reset"),
            ..record("/x", "a:8443")
        };
        let most = json!({"time": null, "route": "orders", "method": "GET", "host": "a:8443", "path": "/x", "protocol": "HTTP/2.0",
            "client": "2001:db8::7", "request_bytes": 5, "response_bytes": 0, "verdict": "caller", "request_id": "r-7", "subject": "alice", "client_id": "app", "upstream": "127.0.0.1:80",
            "fault": "reset", "duration_us": 1_500_000, "upstream_us": 1, "retries": 2});
        assert_eq!(written(&all), most);
    }

    #[test]
    fn a_protocol_is_told_as_other_servers_write_it() {
        for (version, text) in
            [(Version::HTTP_10, "HTTP/1.0"), (Version::HTTP_11, "HTTP/1.1"), (Version::HTTP_2, "HTTP/2.0")]
        {
            let line = written(&RequestRecord { protocol: Some(version), ..record("/", "a") });
            assert_eq!(line["protocol"], json!(text));
        }
    }

    #[test]
    fn a_long_text_is_cut_where_a_character_ends_and_says_so() {
        let (path, whole) = (format!("/{}", "ž".repeat(30_000)), "x".repeat(LONGEST));
        let mut line = Vec::new();
        write(&mut line, &record(&path, "a"));
        assert!(line.len() < 2 * LONGEST, "{}", line.len());
        let line = written(&record(&path, &whole));
        let cut = line["path"].as_str().unwrap();
        assert!(cut.len() <= LONGEST && path.starts_with(cut.strip_suffix(CUT).unwrap()), "{cut}");
        assert_eq!(line["host"], json!(whole));
    }

    #[test]
    fn no_text_leaves_its_member() {
        for text in
            ["\"", "a\",\"status\":200,\"x\":\"", "\\", "a\nb", "\u{1}\u{7f}", "žofie ☃", "", "a\\\"b\r\n\t"]
        {
            let line = written(&RequestRecord { subject: Some(text), ..record(text, text) });
            assert_eq!(
                (&line["path"], &line["host"], &line["subject"]),
                (&json!(text), &json!(text), &json!(text))
            );
            assert_eq!(line.as_object().unwrap().len(), 10, "{line}");
        }
    }
}
