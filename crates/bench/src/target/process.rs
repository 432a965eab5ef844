//! A process of the harness: it ends when this is dropped, and when the harness ends, even by SIGKILL.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

const SHELL: &str = "sh";
/// Waits until nobody holds the other end of its standard input any more, and ends the process then. Arguments: file of its
/// log, seconds that it has for its end, the command. If the harness went meanwhile, nobody reads the id: to say it must not end this.
const WATCHDOG: &str = r#"
log=$1 patience=$2
shift 2
"$@" </dev/null >>"$log" 2>&1 &
process=$!
trap '' PIPE
echo "$process" 2>/dev/null || :
cat >/dev/null
kill "$process" 2>/dev/null
(sleep "$patience"; kill -9 "$process") >/dev/null 2>&1 </dev/null &
guard=$!
wait "$process" 2>/dev/null
kill "$guard" 2>/dev/null
exit 0
"#;
const PATIENCE_SECONDS: &str = "15";
/// What a process may know of the environment: nothing that configures it.
const ENVIRONMENT: &[&str] = &["PATH", "HOME", "USER", "LANG", "TZ"];
/// Where it has its temporary files.
const TEMPORARY: &str = "TMPDIR";

/// A process with its watchdog.
#[derive(Debug)]
pub(crate) struct Process {
    pid: u32,
    watchdog: Child,
    /// Whose end is what the watchdog waits for.
    alive: Option<ChildStdin>,
}

impl Process {
    /// Starts a program; what it says is appended to `log`. Its temporary files are beside that, and go with the folder.
    ///
    /// # Errors
    /// Of the shell that starts it, with the name of the program.
    pub(crate) fn start<S: AsRef<OsStr>>(program: &Path, arguments: &[S], log: &Path) -> io::Result<Self> {
        Self::watched(watchdog(program, arguments, log)).map_err(|error| {
            io::Error::new(error.kind(), format!("{SHELL}, which starts {}: {error}", program.display()))
        })
    }

    fn watched(mut command: Command) -> io::Result<Self> {
        let mut watchdog = command.spawn()?;
        let alive = watchdog.stdin.take();
        let mut said = String::new();
        if let Some(stdout) = watchdog.stdout.take() {
            BufReader::new(stdout).read_line(&mut said)?;
        }
        let pid = said.trim().parse().map_err(|_| io::Error::other("no id of a process was said"))?;
        Ok(Self { pid, watchdog, alive })
    }

    pub(crate) const fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether it runs.
    pub(crate) fn is_running(&self) -> bool {
        is_running(self.pid)
    }

    /// SIGKILL.
    pub(crate) fn kill(&self) {
        kill_now(self.pid);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.alive.take());
        // Gone or not, nobody waits for it.
        drop(self.watchdog.wait());
    }
}

/// What starts the process and ends it.
fn watchdog<S: AsRef<OsStr>>(program: &Path, arguments: &[S], log: &Path) -> Command {
    let kept = ENVIRONMENT.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    let mut command = Command::new(SHELL);
    command.args(["-c", WATCHDOG, "sh"]).arg(log).arg(PATIENCE_SECONDS).arg(program).args(arguments);
    let beside = log.parent().filter(|folder| !folder.as_os_str().is_empty());
    command.env_clear().envs(kept).envs(beside.map(|folder| (TEMPORARY, folder)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    // Ctrl-C is for the harness, which still has something to ask the server.
    command.process_group(0);
    command
}

/// Whether a process runs: one that has ended and whose end nobody asked for does not.
pub(crate) fn is_running(pid: u32) -> bool {
    let stat = i32::try_from(pid).ok().and_then(|pid| procfs::process::Process::new(pid).ok()?.stat().ok());
    stat.is_some_and(|stat| !matches!(stat.state, 'Z' | 'X'))
}

/// Whether there is such a process, even one that has ended and whose end nobody asked for.
pub(crate) fn is_there(pid: u32) -> bool {
    i32::try_from(pid).is_ok_and(|pid| procfs::process::Process::new(pid).is_ok())
}

/// SIGKILL, if the process is there.
pub(crate) fn kill_now(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // It may have ended by itself.
        let _ended_before = kill_process(pid, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn what_a_process_leaves_behind_goes_with_the_folder_of_its_log() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let process = Process::start(Path::new("sh"), &["-c", "echo \"$TMPDIR\""], &log).unwrap();
        let began = Instant::now();
        while process.is_running() && began.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let said = std::fs::read_to_string(&log).unwrap();
        assert_eq!(Path::new(said.trim_end()), folder.path());
    }

    #[test]
    fn a_program_that_cannot_be_started_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let failed = Process::start(Path::new("nginx"), &["no\0argument"], &folder.path().join("log"));
        let told = failed.unwrap_err().to_string();
        assert!(told.starts_with("sh, which starts nginx: "), "{told}");
    }

    #[test]
    fn a_process_whose_harness_is_killed_before_it_hears_its_id_ends_too() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let says_its_id = ["-c", "echo $$; exec sleep 60"];
        let mut watchdog = watchdog(Path::new("sh"), &says_its_id, &log).stdout(writer).spawn().unwrap();
        let began = Instant::now();
        let said = || std::fs::read_to_string(&log).unwrap_or_default();
        while !said().ends_with('\n') && began.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(watchdog.stdin.take());
        watchdog.wait().unwrap();
        assert!(!is_running(said().trim().parse().unwrap()));
    }
}
