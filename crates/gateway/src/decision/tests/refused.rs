//! What an operator is told of questions that are none.

use sluice_net::MAX_HEADER_LINES;
use sluice_testkit::Captured;
use tower::Service;

use super::{LOCAL, ORDER, STRANGER, question, service};

/// What is said of each.
const COMPLAINT: &str = "a question was not understood";

#[tokio::test]
async fn what_a_proxy_asks_in_vain_is_counted_and_logged_once() {
    let (log, _guard) = Captured::begin();
    let (service, judge) = service(false);
    let mistakes = [
        (STRANGER, "/oauth/auth_request", &ORDER[..], 403),
        (LOCAL, "/oauth/auth_request", &ORDER[..1], 400),
        (LOCAL, "/oauth/auth", &ORDER[..], 404),
        (LOCAL, "/envoy.service.auth.v3.Authorization/Check", &ORDER[..], 415),
    ];
    for _ in 0..2 {
        for (peer, path, headers, status) in mistakes {
            service.clone().call(question(peer, path, headers)).await.unwrap();
            let recorded = judge.recorded.lock().pop().unwrap();
            assert_eq!(recorded, ("- ".to_owned(), status, "unreadable"), "{path}");
        }
    }
    let reasons = [
        "add the network of this one to trusted_proxies",
        "the header x-original-uri is missing",
        "there is no such decision",
        "this is a gRPC service",
    ];
    let said = log.lines(COMPLAINT);
    assert_eq!(said.len(), reasons.len(), "{said:?}");
    for ((line, reason), (peer, ..)) in said.iter().zip(reasons).zip(mistakes) {
        assert!(line.contains(reason) && line.contains(&format!("peer={peer}")), "{line}");
    }
}

#[tokio::test]
async fn what_a_client_may_have_caused_is_counted_and_not_logged() {
    let (log, _guard) = Captured::begin();
    let (service, judge) = service(false);
    let no_host = [&ORDER[..2], &[("x-original-host", "user@a")]].concat();
    let no_path = [("x-original-method", "OPTIONS"), ("x-original-uri", "*"), ("host", "a")];
    let many = vec![("cookie", "a=1"); MAX_HEADER_LINES + 1];
    for (headers, status) in [(&no_host[..], 400), (&ORDER[..2], 400), (&no_path[..], 400), (&many[..], 431)]
    {
        service.clone().call(question(LOCAL, "/oauth/auth_request", headers)).await.unwrap();
        let recorded = judge.recorded.lock().pop().unwrap();
        assert_eq!(recorded, ("- ".to_owned(), status, "unreadable"));
    }
    assert_eq!(log.lines(COMPLAINT), Vec::<String>::new());
}
