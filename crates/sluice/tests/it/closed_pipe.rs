//! Commands whose standard output is a pipe that nobody reads to its end, as in `sluice … | head -1`.

use crate::program::run_unread;

#[test]
fn nobody_has_to_read_what_a_command_prints() {
    let directory = tempfile::tempdir().unwrap();
    let temporary = directory.path().to_str().unwrap();
    let path = std::env::var("PATH").expect("a PATH");
    let setting = format!("dsn=sqlite:{temporary}/sluice.db");
    let (setting, dsn) = (setting.as_str(), &setting["dsn=".len()..]);
    let demo = ["demo", "--headless", "--public-port", "0", "--admin-port", "0", "--app-port", "0"];
    let bench =
        ["bench", "introspect", "-n", "20", "-c", "2", "--warm-up", "0s", "--dsn", "sqlite:", "--no-floor"];
    let commands = [
        &["version"][..],
        &["completion", "bash"],
        &["config", "reference"],
        &["migrate", "sql", "up", dsn, "--yes"],
        &["migrate", "sql", "status", dsn],
        &["janitor", dsn],
        &["secrets", "status", "--dev", "--data-dir", temporary, "--set", setting],
        &demo,
        &bench,
    ];
    for command in commands {
        let ended = run_unread(command, &[("PATH", &path), ("TMPDIR", temporary)]);
        assert!(ended.success && !ended.stderr.contains("panicked"), "{command:?}: {}", ended.stderr);
    }
}
