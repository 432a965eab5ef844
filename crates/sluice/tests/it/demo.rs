//! `sluice demo --headless`: the play, against the server that it starts.

use crate::program::run;

const STEPS: &[&str] =
    &["register", "login", "consent", "tokens", "userinfo", "introspect", "refresh", "revoke", "introspect"];

#[test]
fn every_answer_of_the_server_to_the_play_is_as_it_must_be() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["demo", "--headless", "--public-port", "0", "--admin-port", "0", "--app-port", "0"];
    let ended = run(&arguments, &[("TMPDIR", directory.path().to_str().unwrap())]);
    assert!(ended.success, "{}\n{}", ended.stdout, ended.stderr);
    let mut lines = ended.stdout.lines().map(str::trim).skip_while(|line| !line.starts_with("step "));
    lines.next();
    for step in STEPS {
        let line = lines.next().unwrap();
        assert!(line.starts_with(step) && !line.contains("FAILED"), "{step}: {}", ended.stdout);
    }
    let last = lines.last().unwrap();
    assert!(last.starts_with("9 steps in ") && last.ends_with(", every answer as it must be."), "{last}");
}
