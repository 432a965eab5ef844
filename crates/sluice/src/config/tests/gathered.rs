//! A configuration that can be read once, as one that is decrypted on its way to the program.

use std::io::{PipeReader, Write};
use std::os::fd::AsRawFd;

use super::*;

/// Sources whose one file is a pipe with this text in it, which is there for as long as its reader is.
fn piped(text: &str) -> (PipeReader, Sources) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(text.as_bytes()).unwrap();
    let mut sources = given("").sources;
    sources.files.push(PathBuf::from(format!("/dev/fd/{}", reader.as_raw_fd())));
    (reader, sources)
}

#[test]
fn what_is_in_force_and_what_is_refused_is_shown_of_a_pipe() {
    let (_reader, sources) = piped(MINIMAL);
    let (shown, _) = in_force(&sources).unwrap();
    assert!(shown.contains("issuer: \"https://id.example.com\"  # /dev/fd/"), "{shown}");
    let link = "gateway: {link: {url: https://id.internal:4446, token: the-token-of-the-link-which-is-long}}";
    let (_reader, sources) = piped(link);
    let (shown, _) = in_force(&sources).unwrap();
    assert!(shown.contains("link:\n"), "{shown}");
    let (_reader, sources) = piped("ttl: {access_token: soon}");
    let (problems, shown) = in_force(&sources).err().unwrap();
    assert!(lines(problems.problems()).contains("ttl.access_token: must be a duration"), "{problems}");
    assert!(shown.contains("access_token: \"soon\"  # /dev/fd/"), "{shown}");
}

#[test]
fn a_janitor_reads_the_database_and_the_lifespans_of_a_pipe() {
    let (_reader, sources) = piped("dsn: memory\nttl: {refresh_token: 48h}");
    let (database, ttl, warnings) = load_janitor(&sources).unwrap_or_else(|error| panic!("{error}"));
    assert!(matches!(database.dsn, Dsn::Memory));
    assert_eq!(ttl.refresh_token, RefreshTokenTtl::Expires(Duration::from_hours(48)));
    assert_eq!(lines(&warnings), "");
    let (_reader, sources) = piped("ttl: {refresh_token: soon}");
    let problems = load_janitor(&sources).err().unwrap();
    let problems: Vec<_> = problems.problems().iter().map(|problem| problem.key.as_str()).collect();
    assert_eq!(problems, ["dsn", "ttl.refresh_token"]);
}

#[test]
fn a_file_that_cannot_be_read_is_refused_though_the_environment_names_the_database() {
    let problems = |mut sources: Sources| {
        sources.environment.push(("DSN".into(), "memory".into()));
        let problems = load_database(&sources).err().unwrap();
        assert_eq!(problems.problems().len(), 1, "{problems}");
        problems.to_string()
    };
    let mut missing = given("").sources;
    missing.files.push(PathBuf::from("/var/lib/sluice/missing.yml"));
    assert!(problems(missing).contains("/var/lib/sluice/missing.yml: cannot be read: No such file"));
    let (_reader, broken) = piped("urls: [");
    assert!(problems(broken).contains("is not valid YAML"));
    let (_reader, mut sound) = piped("log: {format: json}");
    sound.environment.push(("DSN".into(), "memory".into()));
    let (database, log, _) = load_database(&sound).unwrap_or_else(|error| panic!("{error}"));
    assert!(matches!(database.dsn, Dsn::Memory) && log.format == LogFormat::Json);
}
