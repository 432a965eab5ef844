//! The program with a command line and an environment of the test's own, and everything that it says.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use url::Url;

/// Longer than a start may take.
const AT_MOST: Duration = Duration::from_secs(90);

/// What a run came to.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) success: bool,
    /// Nothing, if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

fn command(arguments: &[&str], environment: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluice"));
    command.args(arguments);
    set_apart(&mut command, environment);
    command
}

fn set_apart(command: &mut Command, environment: &[(&str, &str)]) {
    command.env_clear().envs(environment.iter().copied());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
}

/// Runs it until it ends by itself.
pub(crate) fn run(arguments: &[&str], environment: &[(&str, &str)]) -> Ended {
    ended(command(arguments, environment).output().unwrap())
}

/// Starts it, for somebody who does not wait for its end.
pub(crate) fn start(arguments: &[&str], environment: &[(&str, &str)]) -> Child {
    command(arguments, environment).spawn().unwrap()
}

/// The same as [`start`], as from a terminal: what starts tests may have it ignore that its terminal is closed.
pub(crate) fn start_in_terminal(arguments: &[&str], environment: &[(&str, &str)]) -> Child {
    let mut command = Command::new("/usr/bin/env");
    command.args(["--default-signal=HUP", env!("CARGO_BIN_EXE_sluice")]).args(arguments);
    set_apart(&mut command, environment);
    command.spawn().unwrap()
}

/// The same as [`run`], printing into a pipe that nobody reads.
pub(crate) fn run_unread(arguments: &[&str], environment: &[(&str, &str)]) -> Ended {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    ended(command(arguments, environment).stdout(writer).output().unwrap())
}

fn ended(output: Output) -> Ended {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (success, code) = (output.status.success(), output.status.code());
    Ended { success, code, stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// A server that runs until it is told to stop. It is killed when this is dropped.
pub(crate) struct Server {
    pub(crate) public: Url,
    pub(crate) admin: Url,
    child: Child,
    said: JoinHandle<String>,
}

impl Server {
    /// Starts it with JSON logs, and waits until both listeners are there.
    pub(crate) fn start(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut child = command(arguments, environment).spawn().unwrap();
        let (tell, lines) = channel();
        let log = BufReader::new(child.stderr.take().unwrap());
        let said = std::thread::spawn(move || {
            let mut all = String::new();
            for line in log.lines().map_while(Result::ok) {
                all.push_str(&line);
                all.push('\n');
                let _ = tell.send(line);
            }
            all
        });
        let (public, admin) = (listening(&lines, "public"), listening(&lines, "admin"));
        Self { public, admin, child, said }
    }

    /// Tells it to stop; what it said from first to last.
    pub(crate) fn stop(mut self) -> Ended {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        let status = self.child.wait().unwrap();
        let mut stdout = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        let said = std::mem::replace(&mut self.said, std::thread::spawn(String::new));
        Ended { success: status.success(), code: status.code(), stdout, stderr: said.join().unwrap() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // After `stop` there is nothing left to kill.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Where a listener is, as the log says.
fn listening(lines: &Receiver<String>, listener: &str) -> Url {
    loop {
        let line = lines.recv_timeout(AT_MOST).expect("the server says where it listens");
        let event: Value = serde_json::from_str(&line).unwrap_or_default();
        if event["message"] == "listening" && event["listener"] == listener {
            return format!("http://{}/", event["address"].as_str().unwrap()).parse().unwrap();
        }
    }
}
