use std::io;

use tracing::{debug, error, error_span, field, info, trace, warn};
use tracing_log::log::Record;
use tracing_subscriber::Registry;
use tracing_subscriber::layer::SubscriberExt;

use super::super::captured::Captured;
use super::*;

/// Takes events of the library, and escapes the line ends within.
struct InOneLine(Captured);

impl io::Write for InOneLine {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = std::str::from_utf8(event).unwrap().strip_suffix('\n').unwrap();
        let line = format!("{}\n", text.replace('\n', "\\n"));
        io::Write::write_all(&mut self.0, line.as_bytes()).map(|()| event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What the layer and the library write of the same, without times, which are as long as one another.
fn ours_and_theirs(events: impl FnOnce()) -> [Vec<String>; 2] {
    let written = [Captured::default(), Captured::default()];
    let [ours, theirs] = written.clone();
    let library =
        tracing_subscriber::fmt::layer().with_ansi(false).with_writer(move || InOneLine(theirs.clone()));
    tracing::subscriber::with_default(Registry::default().with(TextLayer(ours)).with(library), events);
    written.map(|written| {
        let untimed =
            |line: &str| line.get(SECOND..).unwrap_or(line).replace(|c: char| c.is_ascii_digit(), "0");
        written.text().lines().map(untimed).collect()
    })
}

fn all_sorts(odd: &str) {
    let outer = error_span!("request", request.id = "abc", odd, later = field::Empty).entered();
    outer.record("later", odd);
    info!(target: "sluice_oauth", { grant.id = 7, share = 0.5, negative = -3, yes = true }, "code redeemed");
    for number in [
        0.0,
        -0.0,
        1.0,
        0.1,
        0.01,
        0.001,
        12.34,
        1e3,
        999_999.999,
        0.0001,
        1.0 / 3.0,
        -2.5,
        1e15,
        1e16,
        f64::NAN,
        f64::INFINITY,
    ] {
        info!(number, large = u64::MAX, message = odd);
    }
    let _inner = error_span!("bare").entered();
    warn!(displayed = %"a-word", debugged = ?odd, list = ?[odd, "b"], given = odd, r#type = "raw", "{odd}");
    error!(none = Option::<u8>::None, some = Some(4));
    debug!("\u{1b}[31m {}", 4);
    trace!(message = odd, after = 1);
}

#[test]
fn a_line_is_as_the_library_writes_it() {
    let [ours, theirs] = ours_and_theirs(|| {
        for odd in ["plain", "", "a \"quoted\" \\ word", "Zoë\n\t\u{1b}[0m\u{9b}\u{7f}"] {
            all_sorts(odd);
        }
    });
    assert!(ours.len() >= 20);
    assert_eq!(ours, theirs);
}

#[test]
fn an_event_is_one_line_whatever_it_displays() {
    let said = "no space left\r\nHINT: make room";
    let [ours, _] = ours_and_theirs(|| {
        let _entered = error_span!("request", displayed = %said).entered();
        error!(error = %said, "refused");
        warn!("{said}");
    });
    let [refused, message] = &ours[..] else { panic!("{ours:?}") };
    assert!(refused.contains(r#"error="no space left\r\nHINT: make room""#), "{refused}");
    assert!(refused.contains(r#"displayed="no space left\r\nHINT: make room"}"#), "{refused}");
    assert!(message.ends_with(r": no space left\r\nHINT: make room"), "{message}");
}

#[test]
fn what_is_displayed_is_one_field_whatever_it_says() {
    for (said, shown) in [
        ("web", "web"),
        ("", ""),
        ("https://app.example/#[a]{b}", "https://app.example/#[a]{b}"),
        ("x identity.id=7", r#""x identity.id=7""#),
        ("a=b", r#""a=b""#),
        (r#"a"b"#, r#""a\"b""#),
        (r#""x" identity.id="7""#, r#""\"x\" identity.id=\"7\"""#),
        ("[x identity.id=7]", r#""[x identity.id=7]""#),
        (r#"["x"] identity.id=["7"]"#, r#""[\"x\"] identity.id=[\"7\"]""#),
        ("\"\u{1b}[31m\"", r#""\"\u{1b}[31m\"""#),
    ] {
        let [ours, _] = ours_and_theirs(|| info!(client.id = %said, new_secret = true, "changed"));
        let shown = shown.replace(|c: char| c.is_ascii_digit(), "0");
        let expected = format!(": changed client.id={shown} new_secret=true");
        assert!(ours.concat().ends_with(&expected), "{ours:?}");
    }
    let kids = ["a", "b identity.id=c", r#"d", "e"#];
    let [ours, theirs] = ours_and_theirs(|| info!(key.kids = ?kids, "replaced"));
    assert_eq!(ours, theirs);
}

/// As libraries hand them over; our own lines say of an error what its chain does.
#[test]
fn an_error_is_one_field_whatever_it_says() {
    for (said, shown) in [
        ("refused", "refused"),
        ("no such peer", r#""no such peer""#),
        ("x identity.id=7", r#""x identity.id=0""#),
        ("a\n\u{1b}[31m", r#""a\n\u{0b}[00m""#),
    ] {
        let error = io::Error::other(said);
        let [ours, _] =
            ours_and_theirs(|| warn!(error = &error as &dyn std::error::Error, retried = true, "failed"));
        let expected = format!(": failed error={shown} retried=true");
        assert!(ours.concat().ends_with(&expected), "{ours:?}");
    }
    let caused = sluice_commit::StoreError::unavailable(io::Error::other("no route=1"));
    let [ours, _] = ours_and_theirs(|| warn!(error = &caused as &dyn std::error::Error, "failed"));
    let expected = r#": failed error="the store cannot be reached: no route=0""#;
    assert!(ours.concat().ends_with(expected), "{ours:?}");
}

#[test]
fn a_line_of_a_library_that_uses_the_log_crate_says_where_it_comes_from() {
    let [ours, theirs] = ours_and_theirs(|| {
        let mut record = Record::builder();
        record.target("rustls::conn").module_path(Some("rustls::conn")).file(Some("conn.rs")).line(Some(7));
        let record = record.level(tracing_log::log::Level::Warn);
        tracing_log::format_trace(&record.args(format_args!("no ticket")).build()).unwrap();
    });
    assert_eq!(ours, theirs);
    let line = ours.concat();
    assert!(line.ends_with("  WARN rustls::conn: no ticket"), "{line}");
}

#[test]
fn a_time_is_that_of_rfc_3339() {
    assert_eq!(second(1_700_000_000), *b"2023-11-14T22:13:20");
}
