//! A PgBouncer before a cluster. It ends with the process, however that ends.

use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdin, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::options::temporary;
use crate::{ATTEMPTS, ClusterError, PrivateCluster, USER, as_server_user};

/// Starts the pooler with the configuration that its first argument is, in a folder of its own, and waits until nobody holds the other end of its
/// standard input any more, as that of the server. It refuses to run as root, too. What it says, a line for each connection among it, goes to a file: nobody
/// reads it while it runs. The end of it is told at the end, and has room in the pipe where nobody reads it then, either.
const WATCHDOG: &str = r#"
trap '' INT TERM HUP PIPE
PATH=$PATH:/usr/sbin
command -v pgbouncer >/dev/null || { echo 'PgBouncer is not installed' >&2; exit 1; }
dir=$(mktemp -d "$2/sluice-pgbouncer.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
printf '"%s" ""\n' "$3" >"$dir/users"
{ printf '%s\n' "$1"; echo "auth_file = $dir/users"; } >"$dir/pgbouncer.ini"
pgbouncer "$dir/pgbouncer.ini" </dev/null >"$dir/log" 2>&1 &
pooler=$!
cat >/dev/null
kill -KILL "$pooler" 2>/dev/null
tail -c 4096 "$dir/log" >&2
"#;
/// How long it may take until it takes connections.
const PATIENCE: Duration = Duration::from_secs(10);
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// A running pooler. It stops when this is dropped or the process ends.
#[derive(Debug)]
pub struct PrivatePooler {
    port: u16,
    server: u16,
    watchdog: Child,
    /// Whose end is what the watchdog waits for.
    alive: Option<ChildStdin>,
}

impl PrivatePooler {
    /// Starts one before this cluster, with this `pool_mode` and so many connections to each database. It passes `options` of
    /// connections over. Blocks for a moment.
    ///
    /// # Errors
    /// [`ClusterError`] with what the program said.
    pub fn start(cluster: &PrivateCluster, mode: &str, connections: usize) -> Result<Self, ClusterError> {
        let mut last = ClusterError::Failed("PgBouncer was not started".to_owned());
        for _ in 0..ATTEMPTS {
            // The port is free now and may be taken the next moment: then another is tried.
            let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
            match Self::start_on(
                port,
                cluster.port(),
                &configuration((port, cluster.port()), mode, connections),
            ) {
                Ok(pooler) => return Ok(pooler),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn start_on(port: u16, server: u16, configuration: &str) -> Result<Self, ClusterError> {
        let mut command = as_server_user("sh");
        command.args(["-c", WATCHDOG, "sh", configuration]).arg(temporary()).arg(USER);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut watchdog = command.spawn()?;
        let alive = watchdog.stdin.take();
        let mut pooler = Self { port, server, watchdog, alive };
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if began.elapsed() > PATIENCE || pooler.watchdog.try_wait()?.is_some() {
                return Err(ClusterError::Failed(pooler.said()?));
            }
            sleep(BETWEEN_LOOKS);
        }
        Ok(pooler)
    }

    /// Ends it, and returns what it said.
    fn said(&mut self) -> Result<String, ClusterError> {
        drop(self.alive.take());
        let mut said = String::new();
        self.watchdog.stderr.take().map(|mut stderr| stderr.read_to_string(&mut said)).transpose()?;
        Ok(said)
    }

    /// The DSN of its own console.
    pub fn console(&self) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/pgbouncer?sslmode=disable", self.port)
    }

    /// This DSN of the cluster, by way of the pooler.
    pub fn dsn(&self, dsn: &str) -> String {
        dsn.replacen(&format!(":{}/", self.server), &format!(":{}/", self.port), 1)
    }
}

impl Drop for PrivatePooler {
    fn drop(&mut self) {
        drop(self.alive.take());
        // Gone or not, nobody waits for it.
        drop(self.watchdog.wait());
    }
}

fn configuration((port, server): (u16, u16), mode: &str, connections: usize) -> String {
    format!(
        "[databases]\n\
         * = host=127.0.0.1 port={server}\n\
         [pgbouncer]\n\
         listen_addr = 127.0.0.1\n\
         listen_port = {port}\n\
         unix_socket_dir =\n\
         auth_type = trust\n\
         admin_users = {USER}\n\
         ignore_startup_parameters = options\n\
         pool_mode = {mode}\n\
         default_pool_size = {connections}"
    )
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Logs in, and returns when it is let in.
    fn come_and_go(port: u16) {
        let parameters = format!("user\0{USER}\0database\0pgbouncer\0\0");
        let length = u32::try_from(8 + parameters.len()).unwrap();
        // Version 3.0 of the protocol.
        let hello = [&length.to_be_bytes()[..], &[0, 3, 0, 0][..], parameters.as_bytes()].concat();
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        client.write_all(&hello).unwrap();
        let mut answer = [0];
        client.read_exact(&mut answer).unwrap();
        assert_eq!(answer, *b"R");
    }

    /// Two lines each are more than a pipe has room for.
    #[test]
    fn a_pooler_goes_on_however_much_it_says() {
        let cluster = PrivateCluster::start().unwrap();
        let pooler = PrivatePooler::start(&cluster, "session", 1).unwrap();
        for _ in 0..1_000 {
            come_and_go(pooler.port);
        }
    }
}
