//! Requests that two readers might read differently: refused, or made unambiguous. What counts is what the upstream gets.

use sluice_gateway::proxy::upstream::UpstreamProtocol;

use super::given::*;
use super::wire::{BOTH, Recorder};

/// Heads (and beginnings of bodies) that must reach no upstream.
const REFUSED: &[(&str, &str)] = &[
    (
        "two lengths that differ",
        "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!",
    ),
    ("two lengths in one line", "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5, 6\r\n\r\nhello!"),
    ("the same length twice in one line", "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5, 5\r\n\r\nhello"),
    ("a negative length", "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n"),
    ("a length with a sign", "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: +5\r\n\r\nhello"),
    ("a hexadecimal length", "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 0x5\r\n\r\nhello"),
    ("a length with a space in it", "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1 0\r\n\r\nhello"),
    ("an empty length", "POST / HTTP/1.1\r\nhost: a\r\ncontent-length:\r\n\r\nhello"),
    (
        "a length beyond 64 bits",
        "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 99999999999999999999\r\n\r\nx",
    ),
    (
        "chunked that is not last",
        "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
    ),
    (
        "another coding before chunked",
        "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    ),
    (
        "chunked twice",
        "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    ("an unknown coding", "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: xchunked\r\n\r\n0\r\n\r\n"),
    (
        "identity after chunked",
        "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\ntransfer-encoding: identity\r\n\r\n0\r\n\r\n",
    ),
    (
        "a coding with a vertical tab",
        "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    ),
    ("a coding in HTTP/1.0", "POST / HTTP/1.0\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"),
    ("white space before the colon", "POST / HTTP/1.1\r\nhost: a\r\ncontent-length : 5\r\n\r\nhello"),
    ("white space before the name", "GET / HTTP/1.1\r\nhost: a\r\n x: y\r\n\r\n"),
    ("a folded line", "GET / HTTP/1.1\r\nhost: a\r\nx: y\r\n  z\r\n\r\n"),
    ("a folded coding", "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding:\r\n chunked\r\n\r\n0\r\n\r\n"),
    ("a name with a NUL", "GET / HTTP/1.1\r\nhost: a\r\nx\0: y\r\n\r\n"),
    ("a name with a bracket", "GET / HTTP/1.1\r\nhost: a\r\nx(y): z\r\n\r\n"),
    ("an empty name", "GET / HTTP/1.1\r\nhost: a\r\n: z\r\n\r\n"),
    ("a value with a NUL", "GET / HTTP/1.1\r\nhost: a\r\nx: a\0b\r\n\r\n"),
    ("a value with a bare CR", "GET / HTTP/1.1\r\nhost: a\r\nx: a\rtransfer-encoding: chunked\r\n\r\n"),
    ("a line without a colon", "GET / HTTP/1.1\r\nhost: a\r\nnonsense\r\n\r\n"),
    ("no host", "GET / HTTP/1.1\r\naccept: */*\r\n\r\n"),
    ("two hosts", "GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n"),
    ("the same host twice", "GET / HTTP/1.1\r\nhost: a\r\nhost: a\r\n\r\n"),
    ("a host with a path", "GET / HTTP/1.1\r\nhost: a/b\r\n\r\n"),
    ("a host with a user", "GET / HTTP/1.1\r\nhost: a@b\r\n\r\n"),
    ("a host with two ports", "GET / HTTP/1.1\r\nhost: a:80:81\r\n\r\n"),
    ("a host with a port that is none", "GET / HTTP/1.1\r\nhost: a:65536\r\n\r\n"),
    ("a host with stray brackets", "GET / HTTP/1.1\r\nhost: a]b[\r\n\r\n"),
    ("an address with something after it", "GET / HTTP/1.1\r\nhost: [::1]a\r\n\r\n"),
    ("a host that is a port alone", "GET / HTTP/1.1\r\nhost: :80\r\n\r\n"),
    ("an absolute target with a user", "GET http://a@b/ HTTP/1.1\r\nhost: b\r\n\r\n"),
    ("a target of another scheme", "GET file:///etc/passwd HTTP/1.1\r\nhost: a\r\n\r\n"),
    ("a target without a slash", "GET index.html HTTP/1.1\r\nhost: a\r\n\r\n"),
    ("a target with a space", "GET /a b HTTP/1.1\r\nhost: a\r\n\r\n"),
    ("a target with a tab", "GET /a\tb HTTP/1.1\r\nhost: a\r\n\r\n"),
    ("no version", "GET /\r\nhost: a\r\n\r\n"),
    ("another version", "GET / HTTP/1.2\r\nhost: a\r\n\r\n"),
    ("a method with a colon", "GET: / HTTP/1.1\r\nhost: a\r\n\r\n"),
    ("two spaces before the target", "GET  / HTTP/1.1\r\nhost: a\r\n\r\n"),
    ("something after the version", "GET / HTTP/1.1 x\r\nhost: a\r\n\r\n"),
    ("a version in small letters", "GET / http/1.1\r\nhost: a\r\n\r\n"),
    ("a target with a NUL", "GET /\0 HTTP/1.1\r\nhost: a\r\n\r\n"),
    ("a target with a bare CR", "GET /\rx HTTP/1.1\r\nhost: a\r\n\r\n"),
    ("a method with a bare CR", "GET\r / HTTP/1.1\r\nhost: a\r\n\r\n"),
    ("a line that ends with two CRs", "GET / HTTP/1.1\r\nhost: a\r\r\n\r\n"),
    ("a head that ends with a bare CR", "GET / HTTP/1.1\r\nhost: a\r\n\rx\r\n\r\n"),
    (
        "a length that a CR hides",
        "POST / HTTP/1.1\r\nhost: a\r\nx: y\rcontent-length: 40\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    ("a length in a folded line", "POST / HTTP/1.1\r\nhost: a\r\nx: y\r\n content-length: 5\r\n\r\nhello"),
    ("a length that is folded", "POST / HTTP/1.1\r\nhost: a\r\ncontent-length:\r\n\t5\r\n\r\nhello"),
    ("a length with a tab in it", "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\t0\r\n\r\nhello"),
    ("a length with a vertical tab", "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: \x0b5\r\n\r\nhello"),
    ("a length in quotes", "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: \"5\"\r\n\r\nhello"),
    ("a length with a fraction", "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5.0\r\n\r\nhello"),
    ("a length and nothing", "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5,\r\n\r\nhello"),
    (
        "an empty length beside a good one",
        "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ncontent-length:\r\n\r\nhello",
    ),
    (
        "a coding and a space before its colon",
        "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding : chunked\r\n\r\n0\r\n\r\n",
    ),
    (
        "a coding and a tab before its colon",
        "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding\t: chunked\r\n\r\n0\r\n\r\n",
    ),
    ("a coding in quotes", "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: \"chunked\"\r\n\r\n0\r\n\r\n"),
    (
        "a coding with a parameter",
        "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked;q=1\r\n\r\n0\r\n\r\n",
    ),
    ("a coding with a NUL", "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\0\r\n\r\n0\r\n\r\n"),
    ("no coding", "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding:\r\n\r\n0\r\n\r\n"),
    ("identity alone", "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: identity\r\n\r\nhello"),
    (
        "identity beside a length",
        "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: identity\r\ncontent-length: 5\r\n\r\nhello",
    ),
    (
        "chunked, and then something unknown in a line of its own",
        "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\ntransfer-encoding: cow\r\n\r\n0\r\n\r\n",
    ),
    (
        "something unknown, and then chunked in a line of its own",
        "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: cow\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    (
        "a coding for a tunnel",
        "CONNECT a:80 HTTP/1.1\r\nhost: a:80\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    ("a request that is to come back as it arrives", "TRACE / HTTP/1.1\r\nhost: a\r\n\r\n"),
    ("a tunnel", "CONNECT a:80 HTTP/1.1\r\nhost: a:80\r\n\r\n"),
];

#[tokio::test]
async fn ambiguous_heads_are_refused_and_reach_no_upstream() {
    for protocol in BOTH {
        let recorder = Recorder::start(protocol).await;
        let world = recorder.setup().start().await;
        for (name, request) in REFUSED {
            let answer = world.ask(request).await;
            assert!(matches!(answer.status(), 400 | 501), "{name}: {answer:?}");
            assert!(recorder.wires().is_empty(), "{name} over {protocol:?}: {:?}", recorder.wires());
        }
        // Not a byte, and not a connection for one.
        let came = recorder.settled().await;
        assert!(came.wires.is_empty(), "over {protocol:?}: {came:?}");
    }
}

/// Bodies in chunks that are none: the head may have gone on by then, but never an end of the body.
const BROKEN: &[(&str, &str)] = &[
    ("a size that is no number", "zz\r\nhello\r\n0\r\n\r\n"),
    ("a size with a sign", "+5\r\nhello\r\n0\r\n\r\n"),
    ("a size with a prefix", "0x5\r\nhello\r\n0\r\n\r\n"),
    ("a size beyond 64 bits", "ffffffffffffffffff\r\nhello\r\n0\r\n\r\n"),
    ("an empty size", "\r\nhello\r\n0\r\n\r\n"),
    ("a chunk longer than its size", "3\r\nhello\r\n0\r\n\r\n"),
    ("a size ended by LF", "5\nhello\r\n0\r\n\r\n"),
    ("a chunk ended by LF", "5\r\nhello\n0\r\n\r\n"),
    ("an extension with a LF", "5;a=\nb\r\nhello\r\n0\r\n\r\n"),
    ("an extension in quotes with a line break", "5;a=\"\r\nhello\"\r\n0\r\n\r\n"),
    ("an extension with a bare CR", "5;a=\rb\r\nhello\r\n0\r\n\r\n"),
    ("a size with an underscore", "0_5\r\nhello\r\n0\r\n\r\n"),
    ("a size with a NUL", "5\0\r\nhello\r\n0\r\n\r\n"),
    ("two sizes", "5 5\r\nhello\r\n0\r\n\r\n"),
    ("a negative size", "-5\r\nhello\r\n0\r\n\r\n"),
    ("a chunk without its end", "5\r\nhello0\r\n\r\n"),
    ("a chunk ended by something else", "5\r\nhelloXX0\r\n\r\n"),
];

#[tokio::test]
async fn bad_chunks_never_become_a_complete_request() {
    for protocol in BOTH {
        for (name, body) in BROKEN {
            let recorder = Recorder::start(protocol).await;
            let world = recorder.setup().start().await;
            let request = format!("POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n{body}");
            assert_eq!(world.ask(&request).await.status(), 400, "{name}");
            let came = recorder.settled().await;
            assert!(came.ended == 0 && came.whole.is_empty(), "{name} over {protocol:?}: {came:?}");
        }
    }
}

const SMUGGLED: &str = "GET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n";

#[tokio::test]
async fn a_length_beside_chunks_is_dropped_and_nothing_after_the_request_is_read() {
    for protocol in BOTH {
        for lengths in [
            "content-length: 5\r\ntransfer-encoding: chunked",
            "transfer-encoding: chunked\r\ncontent-length: 5",
            "content-length: 5\r\ntransfer-encoding: chunked\r\ncontent-length: 6",
            "Content-Length: 5\r\nTransfer-Encoding: Chunked",
        ] {
            let recorder = Recorder::start(protocol).await;
            let world = recorder.setup().start().await;
            let mut client = Peer::new(world.connect().await);
            client
                .say(format!(
                    "POST / HTTP/1.1\r\nhost: a\r\n{lengths}\r\n\r\n3\r\nabc\r\n0\r\n\r\n{SMUGGLED}"
                ))
                .await;
            assert_eq!(client.answer().await.unwrap().status(), 200);
            assert!(client.is_closed().await, "{lengths}: the connection must end (RFC 9112 §6.1)");
            let came = recorder.settled().await;
            let [only] = &came.whole[..] else { panic!("{lengths} over {protocol:?}: {came:?}") };
            assert_eq!(
                (only.all("content-length"), only.body.as_slice(), came.ended),
                (vec![], &b"abc"[..], 1)
            );
            assert_eq!(only.all("transfer-encoding"), chunked(protocol));
        }
    }
}

/// How a body without a length is announced.
fn chunked(protocol: UpstreamProtocol) -> Vec<&'static str> {
    if protocol == UpstreamProtocol::Http1 { vec!["chunked"] } else { vec![] }
}

/// What follows the first line and the host of requests that can be read in one way only, and the length that is told of them; without one
/// they go on in chunks. What each of them says is `hello`.
const UNUSUAL: &[(&str, Option<&str>)] = &[
    ("content-length: 5\r\ncontent-length: 5\r\n\r\nhello", Some("5")),
    ("content-length: 005\r\n\r\nhello", Some("5")),
    ("content-length:    5   \r\n\r\nhello", Some("5")),
    ("content-length: 5\r\nconnection: content-length\r\n\r\nhello", Some("5")),
    ("transfer-encoding: CHUNKED\r\n\r\n5;ext=1\r\nhello\r\n0\r\n\r\n", None),
    ("transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nx: y\r\noauth-user-id: root\r\n\r\n", None),
    ("transfer-encoding: chunked\r\nconnection: transfer-encoding\r\n\r\n5\r\nhello\r\n0\r\n\r\n", None),
    // RFC 9112 §7.1 has no white space at the end of a size; hyper reads over it, as over that before an extension.
    ("transfer-encoding: chunked\r\n\r\n5 \r\nhello\r\n0\r\n\r\n", None),
    ("transfer-encoding: chunked\r\n\r\n5\t\r\nhello\r\n0\r\n\r\n", None),
    ("transfer-encoding: chunked\r\n\r\n5 \t \r\nhello\r\n0 \r\n\r\n", None),
    ("transfer-encoding: chunked\r\n\r\n5 ;ext=1\r\nhello\r\n0\t\r\n\r\n", None),
    ("transfer-encoding: chunked\r\n\r\n005\r\nhello\r\n000\r\n\r\n", None),
];

#[tokio::test]
async fn what_is_unusual_but_clear_goes_on_in_one_form() {
    for protocol in BOTH {
        for (sent, length) in UNUSUAL {
            let recorder = Recorder::start(protocol).await;
            let world = recorder.setup().start().await;
            let answer = world.ask(&format!("POST / HTTP/1.1\r\nhost: a\r\n{sent}")).await;
            assert_eq!(answer.status(), 200, "{sent:?} over {protocol:?}");
            let came = recorder.settled().await;
            let [only] = &came.whole[..] else { panic!("{sent:?} over {protocol:?}: {came:?}") };
            assert_eq!((only.body.as_slice(), came.ended), (&b"hello"[..], 1), "{sent:?} over {protocol:?}");
            assert_eq!(only.all("content-length"), Vec::from_iter(*length), "{sent:?} over {protocol:?}");
            let codings = if length.is_some() { vec![] } else { chunked(protocol) };
            assert_eq!(only.all("transfer-encoding"), codings, "{sent:?} over {protocol:?}");
            if protocol == UpstreamProtocol::Http1 {
                let body = if length.is_some() { "hello" } else { "5\r\nhello\r\n0\r\n\r\n" };
                let is_clean = came.wires[0].ends_with(format!("\r\n\r\n{body}").as_bytes());
                assert!(is_clean, "{sent:?}: {}", came.wires[0].escape_ascii());
            }
        }
    }
}

#[tokio::test]
async fn a_get_with_chunks_is_not_cut_from_its_body() {
    for protocol in BOTH {
        let recorder = Recorder::start(protocol).await;
        let world = recorder.setup().start().await;
        let size = format!("{:x}", SMUGGLED.len());
        let request = format!(
            "GET / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n{size}\r\n{SMUGGLED}\r\n0\r\n\r\n"
        );
        assert_eq!(world.ask(&request).await.status(), 200);
        let came = recorder.settled().await;
        let [only] = &came.whole[..] else { panic!("over {protocol:?}: {came:?}") };
        assert_eq!((only.target.as_str(), only.body.as_slice()), ("/", SMUGGLED.as_bytes()));
        assert_eq!((only.all("transfer-encoding"), came.ended), (chunked(protocol), 1));
    }
}

#[tokio::test]
async fn what_an_upstream_says_unasked_is_never_taken_for_an_answer() {
    let address = Backend::bind().await.serve(|mut peer, _| async move {
        while peer.request().await.is_some() {
            peer.say(format!("{OK}HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\npoison")).await;
        }
    });
    let world = Setup::to(&[address]).start().await;
    let mut client = Peer::new(world.connect().await);
    for _ in 0..5 {
        client.say(GET).await;
        assert_eq!(client.answer().await.unwrap().text(), "ok");
    }
}

#[tokio::test]
async fn lines_that_end_with_lf_alone_go_on_with_crlf() {
    let (address, mut requests) = Backend::bind().await.recording();
    let world = Setup::to(&[address]).start().await;
    let mut client = Peer::new(world.connect().await);
    client.say("POST /x HTTP/1.1\nhost: a\nx: y\ncontent-length: 5\n\nhello").await;
    assert_eq!(client.answer().await.unwrap().status(), 200);
    let seen = requests.recv().await.unwrap();
    assert_eq!(seen.head.matches('\n').count(), seen.head.matches("\r\n").count());
    assert_eq!((seen.line(), seen.all("x"), seen.text()), ("POST /x HTTP/1.1", vec!["y"], "hello"));
}

#[tokio::test]
async fn what_follows_a_body_is_a_request_of_its_own_and_judged_as_one() {
    let (address, mut requests) = Backend::bind().await.recording();
    let mut world = Setup::to(&[address]).start().await;
    let mut client = Peer::new(world.connect().await);
    let next = "GET /next HTTP/1.1\r\nhost: a\r\n\r\n";
    for framing in [
        "content-length: 0\r\n\r\n",
        "content-length: 3\r\n\r\nabc",
        "transfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ] {
        client.say(format!("POST /first HTTP/1.1\r\nhost: a\r\n{framing}{next}")).await;
        for path in ["/first", "/next"] {
            assert_eq!(client.answer().await.unwrap().status(), 200);
            assert_eq!(world.told().await.path, path);
            assert!(in_time(requests.recv()).await.unwrap().line().contains(path));
        }
    }
}

#[tokio::test]
async fn an_answer_never_has_two_lengths() {
    for (answered, lengths, codings, text) in [
        (
            "content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            vec![],
            vec!["chunked"],
            "2\r\nok\r\n0\r\n\r\n",
        ),
        (
            "transfer-encoding: chunked\r\ncontent-length: 50\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            vec![],
            vec!["chunked"],
            "2\r\nok\r\n0\r\n\r\n",
        ),
        ("content-length: 2\r\ncontent-length: 2\r\n\r\nok", vec!["2"], vec![], "ok"),
        ("content-length: 2, 2\r\n\r\nok", vec!["2"], vec![], "ok"),
        ("content-length: 02\r\n\r\nok", vec!["2"], vec![], "ok"),
    ] {
        let address = Backend::bind().await.serve(move |mut peer, _| async move {
            peer.request().await;
            peer.say(format!("HTTP/1.1 200 OK\r\n{answered}")).await;
        });
        let answer = Setup::to(&[address]).start().await.ask(GET).await;
        assert_eq!(
            (answer.all("content-length"), answer.all("transfer-encoding")),
            (lengths, codings),
            "{answered}"
        );
        assert_eq!(answer.text(), text, "{answered}");
    }
}

/// To `HEAD` nothing depends on them, and none is told.
#[tokio::test]
async fn an_answer_whose_lengths_differ_is_refused_where_it_has_a_body() {
    for (lengths, refused, told_of_head) in [
        ("content-length: 2, 3", true, None),
        ("content-length: 2\r\ncontent-length: 3", true, None),
        ("content-length: 2,", true, None),
        ("content-length: 2, 2", false, Some("content-length: 2")),
    ] {
        let address = Backend::bind().await.serve(move |mut peer, _| async move {
            let request = peer.head().await.unwrap();
            let body = if request.starts_with("HEAD") { "" } else { "ok" };
            peer.say(format!("HTTP/1.1 200 OK\r\n{lengths}\r\n\r\n{body}")).await;
        });
        let mut world = Setup::to(&[address]).start().await;
        let expected = if refused { (502, Some("bad_answer")) } else { (200, None) };
        assert_eq!((world.ask(GET).await.status(), world.told().await.fault), expected, "{lengths}");
        let mut client = Peer::new(world.connect().await);
        client.say("HEAD / HTTP/1.1\r\nhost: a\r\n\r\n").await;
        let head = client.head().await.unwrap().to_lowercase();
        assert!(head.starts_with("http/1.1 200 "), "{head}");
        let length = head.lines().find(|line| line.starts_with("content-length"));
        assert_eq!(length, told_of_head, "{lengths}");
    }
}

/// The gateway undoes chunks alone: of another coding nobody would know afterwards.
#[tokio::test]
async fn an_answer_in_another_transfer_coding_is_refused() {
    for (coding, body) in [("gzip", "zipped"), ("gzip, chunked", "6\r\nzipped\r\n0\r\n\r\n")] {
        let address = Backend::bind().await.serve(move |mut peer, _| async move {
            peer.request().await;
            peer.say(format!("HTTP/1.1 200 OK\r\ntransfer-encoding: {coding}\r\n\r\n{body}")).await;
        });
        let mut world = Setup::to(&[address]).start().await;
        assert_eq!(world.ask(GET).await.status(), 502, "{coding}");
        assert_eq!(world.told().await.fault, Some("bad_answer"), "{coding}");
    }
}
