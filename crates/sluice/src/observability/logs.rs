//! Logs: events on standard error, as text or JSON.
//!
//! The filter is made of `log.level`, for Sluice's own crates; of other libraries only warnings and worse are shown. An
//! operator may say it in more detail with a filter of tracing's own syntax. Lines of the audit trail are written whatever the
//! level of others (ADR 14), unless such a filter names them; and what PostgreSQL is told is not, unless it does.

use std::io::{self, IsTerminal};
use std::sync::OnceLock;

use indicatif::ProgressBar;
use tracing::Subscriber;
use tracing_subscriber::filter::{EnvFilter, LevelFilter, ParseError, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{Layer, Registry};

use super::line_writer::{self, CutAfter, DroppedLines, Form, LineWriter, LineWriterGuard};
use super::text_lines::TextLayer;
use super::traces::Traces;
use super::{current_request, request_log};
use crate::config::{LogFormat, LogLevel, LogSettings};

/// The target of the audit trail. It begins as those of Sluice's own crates do.
pub(super) const AUDIT: &str = "sluice_audit";
/// Tells, from `debug` on, each statement with its parameters: addresses, names, what is sealed.
const POSTGRES: &str = "tokio_postgres";

/// The libraries that send traces: they have a line for each batch that is not taken, without its cause. See `traces/losses.rs`.
const OPENTELEMETRY: &str = "opentelemetry";

/// Of the log of this process.
static DROPPED: OnceLock<DroppedLines> = OnceLock::new();

/// Keeps the log alive: hold it in `main`. Dropping it writes what still waits.
#[must_use = "the log ends when this is dropped"]
pub(crate) struct LogGuard(#[expect(dead_code, reason = "held for its drop")] LineWriterGuard);

/// Why there is no log.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LogInitError {
    #[error("the log filter is not valid")]
    Filter(#[from] ParseError),
    #[error("the thread that writes the log could not be started")]
    Thread(#[from] io::Error),
    #[error("there is a log already")]
    Twice(#[from] TryInitError),
}

/// Starts logging for the whole process. `filter` replaces the filter that follows from the settings (tracing's syntax,
/// as in `RUST_LOG`); `traces` are fed by the same events.
///
/// # Errors
/// [`LogInitError`] if the filter is no good, or when called twice.
pub(crate) fn init(
    settings: LogSettings,
    filter: Option<&str>,
    traces: Option<&Traces>,
) -> Result<LogGuard, LogInitError> {
    init_on(line_writer::standard_error(), settings, filter, traces)
}

/// The same for a command that shows a person how far it is: the bar steps aside for each piece of the log.
///
/// # Errors
/// [`LogInitError`] if the filter is no good, or when called twice.
pub(crate) fn init_beside(
    bar: ProgressBar,
    settings: LogSettings,
    filter: &str,
) -> Result<LogGuard, LogInitError> {
    let mut put = line_writer::standard_error();
    init_on(move |lines: &[u8]| bar.suspend(|| put(lines)), settings, Some(filter), None)
}

fn init_on(
    put: impl FnMut(&[u8]) -> Result<(), CutAfter> + Send + 'static,
    settings: LogSettings,
    filter: Option<&str>,
    traces: Option<&Traces>,
) -> Result<LogGuard, LogInitError> {
    let filter = filter.map(own_filter).transpose()?;
    let look = Look { format: settings.format, colours: io::stderr().is_terminal() };
    let (writer, guard) = line_writer::start(look.form(), put)?;
    let (dropped, lines) = (writer.dropped_lines(), writer.clone());
    if look.is_plain_text() {
        current_request::written_in_lines();
    }
    let registry = Registry::default().with(traces.map(Traces::layer));
    match filter {
        Some(filter) => registry.with(filter).with(events(look, writer)).try_init()?,
        // The same, but that it needs not look at every span that is entered.
        None => registry.with(default_filter(settings.level)).with(events(look, writer)).try_init()?,
    }
    if look.is_plain_text() {
        request_log::written_to(lines);
    }
    // There is one log in a process, so this is the first.
    let _ = DROPPED.set(dropped);
    Ok(LogGuard(guard))
}

/// How many lines of the log were dropped.
pub(super) fn dropped_total() -> u64 {
    DROPPED.get().map_or(0, DroppedLines::total)
}

/// Sluice's own events at `level`, and the audit trail; those of libraries from warnings on, but for HTTP/2, where any client can have one
/// written with each connection by resetting its requests, and for traces, of which is told otherwise.
fn default_filter(level: LogLevel) -> Targets {
    let others = if level == LogLevel::Error { LogLevel::Error } else { LogLevel::Warn };
    Targets::new()
        .with_default(filter_of(others))
        .with_target("sluice", filter_of(level))
        .with_target("h2", LevelFilter::ERROR)
        .with_target(OPENTELEMETRY, LevelFilter::OFF)
        // Both are beginnings of the target; the longer one counts.
        .with_target(AUDIT, LevelFilter::INFO)
}

/// The filter of an operator, who may also name the audit trail and the libraries for PostgreSQL and for traces.
fn own_filter(directives: &str) -> Result<EnvFilter, ParseError> {
    // A directive takes the place of an earlier one of the same target.
    let (info, warn, off) = (LevelFilter::INFO, LevelFilter::WARN, LevelFilter::OFF);
    let unless_named = format!("{AUDIT}={info},{POSTGRES}={warn},{OPENTELEMETRY}={off}");
    EnvFilter::builder().parse(format!("{unless_named},{directives}"))
}

const fn filter_of(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    }
}

#[derive(Clone, Copy)]
struct Look {
    format: LogFormat,
    colours: bool,
}

impl Look {
    fn is_plain_text(self) -> bool {
        self.format == LogFormat::Text && !self.colours
    }

    const fn form(self) -> Form {
        match self.format {
            LogFormat::Text => Form::Text,
            LogFormat::Json => Form::Json,
            LogFormat::JsonPretty => Form::IndentedJson,
        }
    }
}

fn events<S>(look: Look, writer: LineWriter) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let layer = tracing_subscriber::fmt::layer();
    match look.format {
        LogFormat::Text if look.colours => layer.with_writer(writer).boxed(),
        LogFormat::Text => TextLayer(writer).boxed(),
        LogFormat::Json | LogFormat::JsonPretty => {
            layer.json().flatten_event(true).with_span_list(false).with_writer(writer).boxed()
        }
    }
}

#[cfg(test)]
mod tests {
    use tracing::{debug, error_span, info, warn};

    use super::super::captured::Captured;
    use super::*;

    fn logged(format: LogFormat, level: LogLevel, events_of: impl FnOnce()) -> String {
        logged_by(default_filter(level), format, events_of)
    }

    fn logged_by(
        filter: impl Layer<Registry> + Send + Sync + 'static,
        format: LogFormat,
        events_of: impl FnOnce(),
    ) -> String {
        let (look, written) = (Look { format, colours: false }, Captured::default());
        let mut output = written.clone();
        let put = move |lines: &[u8]| line_writer::write_to(&mut output, lines);
        let (writer, guard) = line_writer::start(look.form(), put).unwrap();
        let subscriber = Registry::default().with(filter).with(events(look, writer));
        tracing::subscriber::with_default(subscriber, events_of);
        drop(guard);
        written.text()
    }

    fn within_a_request() {
        let _entered = error_span!("request", request.id = "abc").entered();
        info!(target: "sluice_oauth", { grant.id = 7 }, "code redeemed");
        debug!(target: "sluice_oauth", "a detail");
        info!(target: "hyper", "not ours");
        warn!(target: "hyper", "a worry");
    }

    #[test]
    fn text_lines_carry_the_request_id() {
        let text = logged(LogFormat::Text, LogLevel::Info, within_a_request);
        assert!(
            text.contains(r#"request{request.id="abc"}: sluice_oauth: code redeemed grant.id=7"#),
            "{text}"
        );
    }

    #[test]
    fn the_level_is_for_our_own_crates_and_others_are_heard_from_warnings_on() {
        let text = logged(LogFormat::Text, LogLevel::Debug, within_a_request);
        assert!(text.contains("a detail") && text.contains("a worry"), "{text}");
        assert!(!text.contains("not ours"), "{text}");
        assert!(!logged(LogFormat::Text, LogLevel::Info, within_a_request).contains("a detail"));
        assert_eq!(logged(LogFormat::Text, LogLevel::Error, within_a_request), "");
    }

    #[test]
    fn a_client_that_resets_its_requests_writes_no_lines() {
        let reset = || warn!(target: "h2::proto::streams::recv", "recv_reset; limit reached");
        assert_eq!(logged(LogFormat::Text, LogLevel::Trace, reset), "");
        let filter = own_filter("warn").unwrap();
        assert!(logged_by(filter, LogFormat::Text, reset).contains("recv_reset"), "who asks for it has it");
    }

    #[test]
    fn what_postgresql_is_told_is_logged_only_if_a_filter_names_its_library() {
        let statement = || {
            debug!(target: "tokio_postgres::query", "executing statement s1 with parameters: alice");
            debug!(target: "hyper", "another library");
        };
        let logged =
            |directives: &str| logged_by(own_filter(directives).unwrap(), LogFormat::Text, statement);
        for directives in ["debug", "trace", "trace,sluice=debug"] {
            let text = logged(directives);
            assert!(text.contains("another library") && !text.contains("alice"), "{directives}: {text}");
        }
        for directives in ["info,tokio_postgres=debug", "tokio_postgres::query=debug"] {
            assert!(logged(directives).contains("alice"), "{directives}: who asks for it has it");
        }
    }

    #[test]
    fn what_libraries_say_of_traces_is_logged_only_if_a_filter_names_them() {
        let batch = || {
            tracing::error!(target: "opentelemetry_sdk", "a batch was not taken");
            warn!(target: "opentelemetry-otlp", "a batch was not taken");
            warn!(target: "sluice::observability", "another line");
        };
        let by_default = logged(LogFormat::Text, LogLevel::Trace, batch);
        assert!(by_default.contains("another line") && !by_default.contains("batch"), "{by_default}");
        let logged = |directives: &str| logged_by(own_filter(directives).unwrap(), LogFormat::Text, batch);
        assert!(!logged("trace").contains("batch"));
        assert!(logged("info,opentelemetry=warn").matches("batch").count() == 2, "who asks for it has it");
    }

    fn beside_the_audit_trail() {
        info!(target: AUDIT, "signed in");
        warn!(target: AUDIT, "code replayed");
        info!(target: "sluice_oauth", "another line");
    }

    #[test]
    fn no_level_of_other_lines_switches_the_audit_trail_off() {
        let levels = [LogLevel::Error, LogLevel::Warn, LogLevel::Info, LogLevel::Debug, LogLevel::Trace];
        for level in levels {
            let text = logged(LogFormat::Text, level, beside_the_audit_trail);
            assert!(text.contains("sluice_audit: signed in") && text.contains("code replayed"), "{text}");
            let has_others = !matches!(level, LogLevel::Error | LogLevel::Warn);
            assert_eq!(text.contains("another line"), has_others, "{level:?}: {text}");
        }
    }

    #[test]
    fn an_operators_filter_switches_the_audit_trail_off_only_if_it_names_it() {
        let logged = |directives: &str| {
            logged_by(own_filter(directives).unwrap(), LogFormat::Text, beside_the_audit_trail)
        };
        for directives in ["off", "error", "warn,sluice=warn", "sluice_identity=debug,off"] {
            let text = logged(directives);
            assert!(text.contains("signed in") && text.contains("code replayed"), "{directives}: {text}");
            assert!(!text.contains("another line"), "{directives}: {text}");
        }
        let others = logged("sluice_audit=off,info");
        assert!(others.contains("another line") && !others.contains(AUDIT), "{others}");
        let warnings = logged("off,sluice_audit=warn");
        assert!(warnings.contains("code replayed") && !warnings.contains("signed in"), "{warnings}");
    }

    #[test]
    fn json_is_one_object_a_line_with_message_fields_and_request_id() {
        let text = logged(LogFormat::Json, LogLevel::Info, within_a_request);
        let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(first["level"], "INFO");
        assert_eq!(first["message"], "code redeemed");
        assert_eq!(first["grant.id"], 7);
        assert_eq!(first["span"]["request.id"], "abc");
    }

    #[test]
    fn pretty_json_is_the_same_object_over_many_lines() {
        let text = logged(LogFormat::JsonPretty, LogLevel::Info, || info!(target: "sluice", "ready"));
        assert!(text.lines().count() > 3);
        let event: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(event["message"], "ready");
    }
}
