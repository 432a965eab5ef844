//! Names that change their mind: the address that is checked is the address that is connected to.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use futures_util::FutureExt;
use parking_lot::Mutex;
use reqwest::dns::{Name, Resolve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::resolver::{NoPublicAddress, TooManyLookups};
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
    resolver_of(1, reach, lookup)
}

/// A resolver that looks up so many names at a time.
fn resolver_of(most: usize, reach: Reach, lookup: Arc<dyn Lookup>) -> Resolver {
    Resolver { reach, lookups: Lookups::new(lookup, most) }
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

/// Somebody at 127.0.0.3 who takes no connection, for as long as both are kept: the place in the queue is taken, and the system drops what
/// comes after it.
async fn taking_nothing(port: u16) -> (TcpListener, TcpStream) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from(([127, 0, 0, 3], port))).unwrap();
    let listener = socket.listen(0).unwrap();
    let first = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    (listener, first)
}

#[tokio::test]
async fn an_address_where_nobody_takes_the_connection_leaves_time_for_the_next() {
    let second = answering("second").await;
    let _silent = taking_nothing(second.port()).await;
    let names = Scripted::new(&[&["127.0.0.3", "127.0.0.1"]]);
    let policy = FetchPolicy {
        exempt_hosts: vec!["two.test".into()],
        connect_timeout: Some(Duration::from_secs(1)),
        ..FetchPolicy::default()
    };
    let url = Url::parse(&format!("http://two.test:{}/", second.port())).unwrap();
    let fetched = fetcher(policy, &names).get(&url, "*/*").await.unwrap();
    assert_eq!(fetched.body, Bytes::from_static(b"second"));
}

#[tokio::test]
async fn where_nobody_takes_the_connection_the_call_is_over_before_its_time() {
    let silent = taking_nothing(0).await;
    let names = Scripted::new(&[&["127.0.0.3"]]);
    let policy = FetchPolicy {
        exempt_hosts: vec!["one.test".into()],
        timeout: Duration::from_mins(1),
        connect_timeout: Some(Duration::from_millis(100)),
        ..FetchPolicy::default()
    };
    assert_eq!(FetchPolicy { connect_timeout: None, ..policy.clone() }.connecting(), Duration::from_secs(45));
    assert_eq!(FetchPolicy::default().connecting(), Duration::from_millis(7_500));
    let url = Url::parse(&format!("http://one.test:{}/", silent.0.local_addr().unwrap().port())).unwrap();
    let began = Instant::now();
    let refused = fetcher(policy, &names).get(&url, "*/*").await;
    assert!(matches!(refused, Err(FetchError::TimedOut)), "{refused:?}");
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_name_of_private_addresses_is_refused_and_not_asked_about_again() {
    let names = Scripted::new(&[&["10.0.0.1", "::1", "::ffff:127.0.0.1"], &["127.0.0.1"]]);
    let url = Url::parse("http://rebind.test/").unwrap();
    let refused = fetcher(FetchPolicy::default(), &names).get(&url, "*/*").await;
    assert!(matches!(refused, Err(FetchError::PrivateAddress)), "{refused:?}");
    assert_eq!(names.unasked(), 1);
}

#[test]
fn what_is_refused_by_its_text_alone_is_known_before_it_is_asked() {
    let refuses = |policy: &FetchPolicy, url: &str| policy.refuses_by_its_text(&Url::parse(url).unwrap());
    let usual = FetchPolicy::default();
    for inner in
        ["http://10.0.0.1/jwks", "https://[::1]:8443/", "https://[fd00::1]/", "http://app.localhost/"]
    {
        assert!(refuses(&usual, inner), "{inner}");
    }
    for other in ["https://1.1.1.1/", "https://rebind.test/", "https://[2606:4700::1111]/", "mailto:a@b"] {
        assert!(!refuses(&usual, other), "{other}");
    }
    let exempt_urls = vec!["http://10.0.0.1/jwks".parse().unwrap()];
    let exempting = FetchPolicy { exempt_urls, ..FetchPolicy::default() };
    assert!(!refuses(&exempting, "http://10.0.0.1/jwks") && refuses(&exempting, "http://10.0.0.1/other"));
    let anywhere = FetchPolicy { allow_private: true, ..FetchPolicy::default() };
    assert!(!refuses(&anywhere, "http://10.0.0.1/jwks"));
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
    let refused = resolve("second.test").await.err().unwrap();
    assert!(refused.is::<TooManyLookups>() && names.is_empty(), "nobody waits for a place");
    answer.send(()).unwrap();
    answer.send(()).unwrap();
    let second = loop {
        match resolve("second.test").await {
            Ok(addresses) => break addresses,
            Err(refused) => assert!(refused.is::<TooManyLookups>()),
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(second.count(), 1);
    assert_eq!(names.recv().await.as_deref(), Some("second.test"));
}

#[tokio::test]
async fn those_who_want_a_name_at_once_share_its_lookup() {
    let (asked, mut names) = unbounded_channel();
    let (answer, answers) = channel();
    let resolver = resolver(Reach::PublicOnly, Arc::new(Slow { asked, answers: Mutex::new(answers) }));
    let mut waiting: Vec<_> = (0..20).map(|_| resolver.resolve("app.test".parse().unwrap())).collect();
    assert!(waiting.iter_mut().all(|one| one.now_or_never().is_none()));
    // Who goes away takes the answer of the others not along.
    drop(waiting.remove(0));
    answer.send(()).unwrap();
    for one in waiting {
        assert_eq!(one.await.unwrap().count(), 1);
    }
    assert_eq!(names.recv().await.as_deref(), Some("app.test"));
    assert!(names.is_empty(), "it was asked for once");
}

#[tokio::test]
async fn names_of_a_domain_whose_servers_do_not_answer_leave_half_of_the_lookups_to_others() {
    let (asked, mut names) = unbounded_channel();
    let (answer, answers) = channel();
    let slow = Arc::new(Slow { asked, answers: Mutex::new(answers) });
    let resolver = resolver_of(16, Reach::PublicOnly, slow);
    let domains = ["silent.test", "other.test", "third.test."];
    let hosts = domains.iter().flat_map(|domain| (0..20).map(move |host| format!("a.{host}.{domain}")));
    let mut waiting: Vec<_> = hosts.map(|host| resolver.resolve(host.parse().unwrap())).collect();
    assert!(waiting.iter_mut().all(|one| one.now_or_never().is_none()));
    let mut begun = [0; 3];
    for _ in 0..8 + 4 + 2 {
        let name = names.recv().await.unwrap();
        let domain = domains.iter().position(|domain| name.ends_with(domain)).unwrap();
        begun[domain] += 1;
    }
    assert_eq!(begun, [8, 4, 2]);
    let busy = resolver.resolve("silent.test".parse().unwrap()).await.err().unwrap();
    assert!(busy.is::<TooManyLookups>() && names.is_empty(), "the others wait");
    let app = resolver.resolve("app.example".parse().unwrap());
    for _ in 0..15 {
        answer.send(()).unwrap();
    }
    assert_eq!(app.await.unwrap().count(), 1);
}

#[tokio::test]
async fn a_host_whose_name_is_not_looked_up_now_may_be_asked_later() {
    let (asked, mut names) = unbounded_channel();
    let (answer, answers) = channel();
    let lookup: Arc<dyn Lookup> = Arc::new(Slow { asked, answers: Mutex::new(answers) });
    let fetcher = Fetcher::with_lookup(FetchPolicy::default(), &lookup).unwrap();
    let url = |host: &str| Url::parse(&format!("http://{host}/")).unwrap();
    let fetch = |host: usize| {
        let (fetcher, url) = (fetcher.clone(), url(&format!("{host}.silent.test")));
        tokio::spawn(async move { fetcher.get(&url, "*/*").await })
    };
    let fetches: Vec<_> = (0..LOOKUPS_AT_ONCE / 2).map(fetch).collect();
    for _ in &fetches {
        names.recv().await.unwrap();
    }
    let refused = fetcher.get(&url("one-more.silent.test"), "*/*").await;
    assert!(matches!(refused, Err(FetchError::Busy)), "{refused:?}");
    for one in fetches {
        one.abort();
        answer.send(()).unwrap();
    }
}
