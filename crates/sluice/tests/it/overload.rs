//! More requests at once than the server was made for: it stays, and every answer is a good one or 503.

use std::fs;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;
use std::time::Duration;

use reqwest::StatusCode;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};
use sluice_testkit::Backend;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Barrier, Mutex};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::application::{Application, Failure};
use crate::process::{Site, until};

/// One rush at a time: three at once take so long that the server gives up on connections whose requests are late, as it should.
static ALONE: Mutex<()> = Mutex::const_new(());

/// Requests at once.
const REQUESTS: usize = 2_000;
/// How much memory the server may have taken at most, in KiB.
const MOST_MEMORY: u64 = 512 * 1024;

/// How much of it a thread that hashes may have taken besides, in KiB.
const HASH_MEMORY: u64 = 64 * 1024;
/// Clients whose secrets are guessed.
const GUESSED: usize = 8;
/// How many files a server may open beyond those that it has open.
const FILES: usize = 48;
/// Clients beyond those.
const MORE_THAN_FILES: usize = 8;
/// Longer than it takes until idle clients make room, and shorter than they are kept otherwise.
const ROOM_WITHIN: Duration = Duration::from_secs(40);

/// This process needs a descriptor for each connection; a program of Rust does not ask for more than it is given.
fn allow_many_connections() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// The most memory that a process has had, in KiB.
fn memory_peak(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("VmHWM");
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// A mix of what needs no store, a read and a write.
async fn ask(application: &Application, number: usize) -> Result<(), Failure> {
    match number % 4 {
        0 => application.register_client().await.map(drop),
        1 => application.client_credentials().await,
        2 => application.begin().await,
        _ => application.log_in(&format!("person-{number}")).await.map(drop),
    }
}

async fn many_requests_at_once(backend: Backend) {
    let _alone = ALONE.lock().await;
    allow_many_connections();
    let site = Site::fresh(backend).await;
    let mut process = site.start().await;
    let application = Application::register(&[&process]).await.at(&[&process]);
    let begin = Arc::new(Barrier::new(REQUESTS));
    let mut requests = JoinSet::new();
    for number in 0..REQUESTS {
        let (application, begin) = (application.clone(), Arc::clone(&begin));
        requests.spawn(async move {
            begin.wait().await;
            ask(&application, number).await
        });
    }
    let mut served = 0_usize;
    while let Some(answer) = requests.join_next().await {
        match answer.expect("no panic") {
            Ok(()) => served += 1,
            Err(Failure::Unavailable) => {}
            Err(other) => panic!("{other:?}: {:?}", application.tally()),
        }
    }
    let (tally, peak) = (application.tally(), memory_peak(process.id()));
    println!("{backend:?}: {served} of {REQUESTS} served, {tally:?}, {} MiB at most", peak / 1024);
    assert_eq!((tally.lost, tally.hung, tally.unhelpful), (0, 0, 0), "{tally:?}");
    assert!(served > 0 && peak < MOST_MEMORY, "{served} served, {peak} KiB");
    until("ready", async || process.readiness().await == Some(StatusCode::OK)).await;
    assert!(process.is_running());
    process.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_thousand_requests_at_once_are_served_or_told_to_come_later_on_sqlite() {
    many_requests_at_once(Backend::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_thousand_requests_at_once_are_served_or_told_to_come_later_on_postgres() {
    many_requests_at_once(Backend::Postgres).await;
}

/// Checking a guess is slow, and costs memory. So few are checked at once, and who has the right secret is served.
#[tokio::test(flavor = "multi_thread")]
async fn two_thousand_guesses_of_secrets_at_once_keep_nobody_out() {
    let _alone = ALONE.lock().await;
    allow_many_connections();
    let site = Site::fresh(Backend::Sqlite).await;
    let process = site.start().await;
    let registrar = Application::register(&[&process]).await;
    let mut clients = Vec::new();
    for number in 0..GUESSED {
        let client =
            registrar.with_chosen_secret(&format!("a-chosen-secret-{number}")).await.expect("a client");
        client.client_credentials().await.expect("the right secret");
        clients.push(client);
    }
    let (begin, answered) = (Arc::new(Barrier::new(REQUESTS + 1)), Arc::new(AtomicUsize::new(0)));
    let mut requests = JoinSet::new();
    for number in 0..REQUESTS {
        let guess = clients[number % GUESSED].guessing(format!("a-guess-{number}"));
        let (begin, answered) = (Arc::clone(&begin), Arc::clone(&answered));
        requests.spawn(async move {
            begin.wait().await;
            let answer = guess.client_credentials().await;
            answered.fetch_add(1, Ordering::Relaxed);
            answer
        });
    }
    begin.wait().await;
    let mut beside_guesses = 0;
    for client in clients.iter().cycle().take(GUESSED * 4) {
        client.client_credentials().await.expect("the right secret, while others guess");
        beside_guesses += usize::from(answered.load(Ordering::Relaxed) < REQUESTS);
    }
    println!("{beside_guesses} right secrets while others guessed");
    assert!(beside_guesses > 0, "nobody guessed any more");
    while let Some(answer) = requests.join_next().await {
        let answer = answer.expect("no panic").expect_err("a wrong secret");
        assert!(answer == Failure::Unavailable || answer.is("invalid_client"), "{answer:?}");
    }
    let (tally, peak) = (registrar.tally(), memory_peak(process.id()));
    assert_eq!((tally.lost, tally.hung, tally.unhelpful), (0, 0, 0), "{tally:?}");
    println!("guesses: {tally:?}, {} MiB at most", peak / 1024);
    let threads = u64::try_from(available_parallelism().unwrap().get()).unwrap();
    assert!(peak < MOST_MEMORY + threads * HASH_MEMORY, "{peak} KiB");
    process.kill().await;
}

/// Lets the process open so many more files than it has open.
fn leave_files(process: u32, more: usize) {
    let open = fs::read_dir(format!("/proc/{process}/fd")).unwrap().count();
    let limit = Some(u64::try_from(open + more).unwrap());
    let pid = Pid::from_raw(i32::try_from(process).unwrap());
    prlimit(pid, Resource::Nofile, Rlimit { current: limit, maximum: limit }).unwrap();
}

/// A client that was answered and keeps its connection.
async fn idle_client(server: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(server).await.unwrap();
    stream.write_all(b"GET /health/alive HTTP/1.1\r\nhost: sluice\r\n\r\n").await.unwrap();
    let mut beginning = [0; 12];
    let answered = timeout(ROOM_WITHIN, stream.read_exact(&mut beginning)).await;
    answered.expect("idle clients make room").expect("an answer");
    assert_eq!(&beginning, b"HTTP/1.1 200");
    stream
}

/// Files are of the whole process: those of the public port make room for a health check at the admin port, too.
#[tokio::test(flavor = "multi_thread")]
async fn idle_clients_that_hold_all_files_keep_nobody_out() {
    let _alone = ALONE.lock().await;
    let site = Site::fresh(Backend::Sqlite).await;
    let process = site.start().await;
    let [public, admin] = [&process.public, &process.admin].map(|url| url.socket_addrs(|| None).unwrap()[0]);
    leave_files(process.id(), FILES);
    let mut clients = Vec::new();
    for _ in 0..FILES {
        clients.push(idle_client(public).await);
    }
    for _ in 0..MORE_THAN_FILES {
        clients.push(idle_client(admin).await);
    }
    process.logs(&["no more files may be open", "Too many open files"]).await;
    process.kill().await;
}
