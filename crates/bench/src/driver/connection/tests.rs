use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::yield_now;

use crate::driver::{Agent, Ask, Endpoint, Endpoints, Failure, Origin};

/// What a server does, request by request.
enum Step {
    /// Sends this, piece by piece.
    Send(&'static [&'static str]),
    /// Sends this and closes the connection.
    SendAndClose(&'static str),
    /// Closes the connection without a word.
    Close,
}

/// A server that does what it was told, and then says which requests it has seen, with the number of their connection.
async fn serve(listener: TcpListener, steps: Vec<Step>) -> Vec<(usize, String)> {
    let (mut seen, mut connections) = (Vec::new(), 0);
    let mut open: Option<TcpStream> = None;
    for step in steps {
        if open.is_none() {
            open = Some(listener.accept().await.unwrap().0);
            connections += 1;
        }
        let stream = open.as_mut().unwrap();
        seen.push((connections, read_request(stream).await));
        match step {
            Step::Send(pieces) => {
                for piece in pieces {
                    stream.write_all(piece.as_bytes()).await.unwrap();
                    let_the_other_read().await;
                }
            }
            Step::SendAndClose(all) => {
                stream.write_all(all.as_bytes()).await.unwrap();
                open = None;
            }
            Step::Close => open = None,
        }
    }
    seen
}

async fn read_request(stream: &mut TcpStream) -> String {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        assert_ne!(stream.read_buf(&mut request).await.unwrap(), 0, "the user is gone");
    }
    String::from_utf8(request).unwrap()
}

async fn let_the_other_read() {
    for _ in 0..20 {
        yield_now().await;
    }
}

/// What a user of such a server sees, answer by answer: status and body.
async fn met(steps: Vec<Step>) -> (Vec<Result<(u16, String), Failure>>, Vec<(usize, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let requests = steps.len();
    let server = tokio::spawn(serve(listener, steps));
    let public = Endpoint::at(address);
    let endpoints = Arc::new(Endpoints { public, admin: None, gateway: None });
    let mut agent = Agent::new(0, endpoints, None);
    let mut answers = Vec::new();
    for _ in 0..requests {
        let answer = agent.send(&Ask::get(Origin::Public, "/")).await;
        answers
            .push(answer.map(|answer| (answer.status(), String::from_utf8(answer.body().to_vec()).unwrap())));
    }
    (answers, server.await.unwrap())
}

/// The only answer of a server that sends these pieces.
async fn answered(pieces: &'static [&'static str]) -> (u16, String) {
    met(vec![Step::Send(pieces)]).await.0.remove(0).unwrap()
}

#[tokio::test]
async fn a_body_is_as_long_as_the_head_says() {
    let answer = answered(&["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"]).await;
    assert_eq!(answer, (200, "ok".to_owned()));
}

#[tokio::test]
async fn head_and_body_may_come_in_pieces() {
    let answer = answered(&["HT", "TP/1.1 200 OK\r\nconte", "nt-length: 5\r\n\r", "\nhe", "llo"]).await;
    assert_eq!(answer, (200, "hello".to_owned()));
}

#[tokio::test]
async fn chunks_are_put_together() {
    let whole = answered(&[
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n7;x=y\r\n, world\r\n0\r\n\r\n",
    ]);
    assert_eq!(whole.await, (200, "hello, world".to_owned()));
    let split = answered(&[
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "5",
        "\r\nhel",
        "lo\r",
        "\n0\r\nTrailer: passed over\r\n",
        "\r\n",
    ]);
    assert_eq!(split.await, (200, "hello".to_owned()));
}

#[tokio::test]
async fn an_interim_response_is_passed_over() {
    let answer = answered(&[
        "HTTP/1.1 103 Early Hints\r\nlink: </style.css>\r\n\r\n",
        "HTTP/1.1 201 Created\r\ncontent-length: 1\r\n\r\n1",
    ]);
    assert_eq!(answer.await, (201, "1".to_owned()));
}

#[tokio::test]
async fn no_content_has_no_body() {
    let steps = vec![
        Step::Send(&["HTTP/1.1 204 No Content\r\n\r\n"]),
        Step::Send(&["HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"]),
    ];
    let (answers, seen) = met(steps).await;
    let answers: Vec<_> = answers.into_iter().map(Result::unwrap).collect();
    assert_eq!(answers, [(204, String::new()), (200, String::new())]);
    assert_eq!(seen.last().unwrap().0, 1);
}

#[tokio::test]
async fn who_is_to_come_again_later_is_turned_away() {
    let answers: [(&'static [&'static str], &str); 3] = [
        (
            &["HTTP/1.1 503 Busy\r\nRetry-After: 2\r\ncontent-length: 0\r\n\r\n"],
            "page: turned away: the server lets nobody else in for now (status 503, Retry-After)",
        ),
        (&["HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n"], "page: status 503"),
        (&["HTTP/1.1 429 Slow\r\nretry-after: 2\r\ncontent-length: 0\r\n\r\n"], "page: status 429"),
    ];
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let public = Endpoint::at(listener.local_addr().unwrap());
    let steps = answers.iter().map(|(pieces, _)| Step::Send(pieces)).collect();
    let server = tokio::spawn(serve(listener, steps));
    let mut agent = Agent::new(0, Arc::new(Endpoints { public, admin: None, gateway: None }), None);
    for (_, expected) in answers {
        let answer = agent.send(&Ask::get(Origin::Public, "/")).await.unwrap();
        assert_eq!(answer.expect(200, "page").unwrap_err().to_string(), expected);
    }
    server.await.unwrap();
}

#[tokio::test]
async fn a_connection_is_kept() {
    let ok: &[&str] = &["HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"];
    let (answers, seen) = met(vec![Step::Send(ok), Step::Send(ok), Step::Send(ok)]).await;
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!(seen.iter().map(|(connection, _)| *connection).collect::<Vec<_>>(), [1, 1, 1]);
    assert!(seen.iter().all(|(_, request)| request.starts_with("GET / HTTP/1.1\r\nhost: 127.0.0.1:")));
}

#[tokio::test]
async fn a_server_that_says_close_gets_another_connection() {
    let steps = vec![
        Step::SendAndClose("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 1\r\n\r\n1"),
        Step::SendAndClose("HTTP/1.1 200 OK\r\n\r\nup to the end"),
        Step::SendAndClose("HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\n3"),
        Step::Send(&["HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n4"]),
    ];
    let (answers, seen) = met(steps).await;
    let bodies: Vec<_> = answers.into_iter().map(|answer| answer.unwrap().1).collect();
    assert_eq!(bodies, ["1", "up to the end", "3", "4"]);
    assert_eq!(seen.iter().map(|(connection, _)| *connection).collect::<Vec<_>>(), [1, 2, 3, 4]);
}

#[tokio::test]
async fn a_connection_that_breaks_is_an_error_and_the_next_request_opens_another() {
    let steps = vec![Step::Close, Step::Send(&["HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"])];
    let (answers, seen) = met(steps).await;
    assert!(matches!(answers.first(), Some(Err(Failure::Connection(_)))), "{answers:?}");
    assert!(matches!(answers.get(1), Some(Ok((200, _)))), "{answers:?}");
    assert_eq!(seen.last().unwrap().0, 2);
}

#[tokio::test]
async fn an_answer_that_ends_too_early_is_an_error() {
    let steps = vec![Step::SendAndClose("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nshort")];
    let (answers, _) = met(steps).await;
    assert_eq!(answers[0].as_ref().unwrap_err().to_string(), "connection: unexpected end of file");
}

#[tokio::test]
async fn what_is_not_http_is_an_error() {
    for nonsense in ["SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n"] {
        let (answers, _) = met(vec![Step::SendAndClose(nonsense)]).await;
        assert!(matches!(answers.first(), Some(Err(Failure::Malformed))), "{answers:?}");
    }
}

#[tokio::test]
async fn cookies_are_kept_for_those_who_are_browsers() {
    const SETS: &[&str] = &[
        "HTTP/1.1 200 OK\r\nset-cookie: a=1; Path=/; HttpOnly\r\nSet-Cookie: b=2\r\ncontent-length: 0\r\n\r\n",
    ];
    const REMOVES: &[&str] =
        &["HTTP/1.1 200 OK\r\nset-cookie: a=; Max-Age=0\r\nset-cookie: b=3\r\ncontent-length: 0\r\n\r\n"];
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let steps =
        vec![Step::Send(SETS), Step::Send(REMOVES), Step::Send(SETS), Step::Send(SETS), Step::Send(SETS)];
    let server = tokio::spawn(serve(listener, steps));
    let public = Endpoint::at(address);
    let mut agent = Agent::new(0, Arc::new(Endpoints { public, admin: None, gateway: None }), None);
    let browse = Ask::get(Origin::Public, "/").as_browser();
    agent.send(&browse).await.unwrap();
    agent.send(&browse).await.unwrap();
    agent.send(&browse).await.unwrap();
    agent.send(&Ask::get(Origin::Public, "/")).await.unwrap();
    agent.forget_cookies();
    agent.send(&browse).await.unwrap();
    let seen = server.await.unwrap();
    let cookies = |number: usize| {
        let lines: Vec<_> = seen[number].1.lines().filter(|line| line.starts_with("cookie:")).collect();
        lines.concat()
    };
    assert_eq!(cookies(0), "");
    assert_eq!(cookies(1), "cookie: a=1; b=2");
    assert_eq!(cookies(2), "cookie: b=3");
    assert_eq!(cookies(3), "", "a request that is no browser's has none");
    assert_eq!(cookies(4), "", "a browser that was nowhere has none");
}

#[tokio::test]
async fn a_form_says_how_long_it_is() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server =
        tokio::spawn(serve(listener, vec![Step::Send(&["HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"])]));
    let public = Endpoint { host: "login.example".to_owned(), ..Endpoint::at(address) };
    let mut agent = Agent::new(0, Arc::new(Endpoints { public, admin: None, gateway: None }), None);
    let ask = Ask::form(Origin::Public, "/oauth2/token", "grant_type=client_credentials");
    agent.send(&ask.with(&[("authorization", "Basic eDp5")])).await.unwrap();
    let (_, request) = server.await.unwrap().remove(0);
    assert_eq!(
        request,
        "POST /oauth2/token HTTP/1.1\r\nhost: login.example\r\nauthorization: Basic eDp5\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: 29\r\n\r\ngrant_type=client_credentials"
    );
}

#[tokio::test]
async fn what_is_asked_is_below_the_path_of_the_url_and_where_a_browser_is_led_is_not() {
    const OK: &[&str] = &["HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"];
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let public = Endpoint { path: "/hydra".to_owned(), ..Endpoint::at(listener.local_addr().unwrap()) };
    let server = tokio::spawn(serve(listener, vec![Step::Send(OK), Step::Send(OK)]));
    let mut agent = Agent::new(0, Arc::new(Endpoints { public, admin: None, gateway: None }), None);
    assert_eq!(agent.base(Origin::Public), "/hydra");
    agent.send(&Ask::form(Origin::Public, "/oauth2/token", "")).await.unwrap();
    agent.send(&Ask::get(Origin::Public, "/hydra/oauth2/auth?a=b").as_browser()).await.unwrap();
    let lines: Vec<_> = server.await.unwrap().into_iter().map(|(_, request)| first_line(&request)).collect();
    assert_eq!(lines, ["POST /hydra/oauth2/token HTTP/1.1", "GET /hydra/oauth2/auth?a=b HTTP/1.1"]);
}

fn first_line(request: &str) -> String {
    request.lines().next().unwrap().to_owned()
}

#[tokio::test]
async fn a_listener_that_the_target_lacks_cannot_be_asked() {
    let public = Endpoint::at("127.0.0.1:9".parse().unwrap());
    let mut agent = Agent::new(0, Arc::new(Endpoints { public, admin: None, gateway: None }), None);
    let failure = agent.send(&Ask::get(Origin::Admin, "/health/ready")).await.unwrap_err();
    assert!(matches!(failure, Failure::Setup(_)), "{failure}");
}

#[tokio::test]
async fn a_large_body_is_read_to_its_end() {
    let body: &'static str = String::leak("0123456789".repeat(20_000));
    let whole: &'static str =
        String::leak(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()));
    let (answers, _) =
        met(vec![Step::Send(Vec::leak(vec![whole])), Step::Send(Vec::leak(vec![whole]))]).await;
    for answer in answers {
        assert!(answer.unwrap().1 == body);
    }
}
