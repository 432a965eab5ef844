//! Names that change their mind: the address that is checked is the address that is connected to.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::{Receiver, channel};

use futures_util::FutureExt;
use parking_lot::Mutex;
use reqwest::dns::{Name, Resolve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::resolver::NoPublicAddress;
use super::*;

/// Gives each answer once, in order.
#[derive(Debug)]
struct Scripted(Mutex<VecDeque<Vec<SocketAddr>>>);

impl Scripted {
    fn new(answers: &[&[&str]]) -> Arc<Self> {
        let address = |text: &&str| SocketAddr::new(text.parse::<IpAddr>().unwrap(), 0);
        let answers = answers.iter().map(|answer| answer.iter().map(address).collect());
        Arc::new(Self(Mutex::new(answers.collect())))
    }

    fn unasked(&self) -> usize {
        self.0.lock().len()
    }
}

impl Lookup for Scripted {
    fn lookup(&self, _: &str) -> io::Result<Vec<SocketAddr>> {
        Ok(self.0.lock().pop_front().unwrap())
    }
}

fn fetcher(policy: FetchPolicy, names: &Arc<Scripted>) -> Fetcher {
    Fetcher::with_lookup(policy, &(names.clone() as Arc<dyn Lookup>)).unwrap()
}

/// A resolver that looks up one name at a time.
fn resolver(reach: Reach, lookup: Arc<dyn Lookup>) -> Resolver {
    Resolver { reach, lookup, places: Arc::new(Semaphore::new(1)) }
}

/// Answers one request with `body`, at 127.0.0.1.
async fn answering(body: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let bound = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        stream.write_all(answer.as_bytes()).await.unwrap();
    });
    bound
}

#[tokio::test]
async fn a_name_is_resolved_once_and_what_it_was_resolved_to_is_connected_to() {
    let first = answering("first").await;
    let names = Scripted::new(&[&["127.0.0.1"], &["10.0.0.1"]]);
    let policy = FetchPolicy { exempt_hosts: vec!["rebind.test".into()], ..FetchPolicy::default() };
    let url = Url::parse(&format!("http://rebind.test:{}/", first.port())).unwrap();
    let fetched = fetcher(policy, &names).get(&url, "*/*").await.unwrap();
    assert_eq!((fetched.body, names.unasked()), (Bytes::from_static(b"first"), 1));
}

#[tokio::test]
async fn a_name_of_private_addresses_is_refused_and_not_asked_about_again() {
    let names = Scripted::new(&[&["10.0.0.1", "::1", "::ffff:127.0.0.1"], &["127.0.0.1"]]);
    let url = Url::parse("http://rebind.test/").unwrap();
    let refused = fetcher(FetchPolicy::default(), &names).get(&url, "*/*").await;
    assert!(matches!(refused, Err(FetchError::PrivateAddress)), "{refused:?}");
    assert_eq!(names.unasked(), 1);
}

#[tokio::test]
async fn a_name_of_this_machine_is_refused_whatever_its_addresses_are_said_to_be() {
    for host in ["localhost", "localhost.", "app.localhost", "app.localhost."] {
        let url = Url::parse(&format!("https://{host}/")).unwrap();
        let names = Scripted::new(&[&["1.1.1.1"]]);
        let refused = fetcher(FetchPolicy::default(), &names).get(&url, "*/*").await;
        assert!(matches!(refused, Err(FetchError::PrivateAddress)), "{host}: {refused:?}");
    }
}

#[tokio::test]
async fn of_the_addresses_of_a_name_only_public_ones_are_connected_to() {
    let name = || "mixed.test".parse::<Name>().unwrap();
    let names = Scripted::new(&[&["127.0.0.1", "1.1.1.1", "169.254.169.254", "2606:4700::1111", "::1"]]);
    let resolver = resolver(Reach::PublicOnly, names);
    let addresses: Vec<String> =
        resolver.resolve(name()).await.unwrap().map(|address| address.ip().to_string()).collect();
    assert_eq!(addresses, ["1.1.1.1", "2606:4700::1111"]);
    let resolver = self::resolver(Reach::PublicOnly, Scripted::new(&[&["127.0.0.1"]]));
    let refused = resolver.resolve(name()).await.err().unwrap();
    assert!(refused.is::<NoPublicAddress>());
}

/// Says what it is asked for, and answers when it is told to.
#[derive(Debug)]
struct Slow {
    asked: UnboundedSender<String>,
    answers: Mutex<Receiver<()>>,
}

impl Lookup for Slow {
    fn lookup(&self, name: &str) -> io::Result<Vec<SocketAddr>> {
        self.asked.send(name.to_owned()).unwrap();
        self.answers.lock().recv().unwrap();
        Ok(vec![SocketAddr::from(([1, 1, 1, 1], 0))])
    }
}

#[tokio::test]
async fn a_lookup_that_nobody_waits_for_keeps_its_place_until_it_ends() {
    let (asked, mut names) = unbounded_channel();
    let (answer, answers) = channel();
    let resolver = resolver(Reach::PublicOnly, Arc::new(Slow { asked, answers: Mutex::new(answers) }));
    let resolve = |name: &str| resolver.resolve(name.parse().unwrap());
    assert!(resolve("first.test").now_or_never().is_none());
    assert_eq!(names.recv().await.as_deref(), Some("first.test"));
    let mut second = resolve("second.test");
    assert!((&mut second).now_or_never().is_none());
    assert!(names.is_empty() && resolver.places.available_permits() == 0);
    answer.send(()).unwrap();
    answer.send(()).unwrap();
    assert_eq!(second.await.unwrap().count(), 1);
    assert_eq!(names.recv().await.as_deref(), Some("second.test"));
    assert_eq!(resolver.places.available_permits(), 1);
}
