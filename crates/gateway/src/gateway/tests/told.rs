//! What the upstream is told.

use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue};
use mmdb_writer::{Value, Writer};
use proptest::prelude::*;
use sluice_net::TrustedProxies;

use super::given::{Ask, GivenGateway, refusal};
use super::*;
use crate::authn::given;
use crate::enrichment::CountryDatabase;
use crate::route::{Enrichment, HeaderFrom, Phantom, RouteTable, Settings, TokenSources};

fn somebody() -> ClientAddress {
    ClientAddress::named("192.0.2.1".parse().unwrap())
}

fn open() -> RoutePolicy {
    RoutePolicy { auth: AuthMode::None, ..RoutePolicy::default() }
}

fn phantom() -> Enrichment {
    let phantom =
        Phantom { header: AUTHORIZATION, audience: "orders".to_owned(), lifetime: Duration::from_mins(1) };
    Enrichment { phantom: Some(phantom), ..Enrichment::default() }
}

#[tokio::test]
async fn who_calls_is_told_and_what_the_client_said_of_it_is_gone() {
    let gateway = GivenGateway::with(&[("/orders", RoutePolicy::default())]);
    let ask =
        Ask::to("/orders").bearer("alice").header("OAuth-User-Id", "root").header("oauth_user_id", "root");
    let told = gateway.told(&ask.header("OAuth-Country", "XX").header("accept", "*/*")).await;
    assert_eq!(told["oauth-user-id"], "alice");
    assert_eq!(told["oauth-client-id"], "shop-app");
    assert_eq!(told["oauth-user-scope"], "orders.read profile");
    assert_eq!(told["authorization"], "Bearer alice");
    assert_eq!(told.len(), 5, "{told:?}");
}

/// Without the header a person would be a client that acts for itself, and one of another issuer somebody of this installation.
#[tokio::test]
async fn who_does_not_fit_into_a_header_is_refused_where_headers_say_who_calls() {
    let without = Enrichment { identity_headers: false, ..given::ordinary() };
    let routes = vec![
        ("/orders", RoutePolicy::default(), given::ordinary()),
        ("/phantom", RoutePolicy::default(), phantom()),
        ("/without", RoutePolicy::default(), without),
    ];
    let gateway = GivenGateway::telling(routes, Settings::default());
    for name in ["endless-subject", "endless-client", "endless-issuer"] {
        for token in [name.to_owned(), format!("later.{name}")] {
            let refused = gateway.judge(&Ask::to("/orders").bearer(&token)).await;
            assert_eq!(refusal(&refused), Refusal::Untold, "{token}");
            assert_eq!(gateway.gateway.refuse(&refused).status(), 401);
            for path in ["/phantom", "/without"] {
                assert!(!gateway.told(&Ask::to(path).bearer(&token)).await.contains_key("oauth-user-id"));
            }
        }
    }
}

#[tokio::test]
async fn an_answer_about_a_token_alone_leaves_no_caller_out_either() {
    let gateway = GivenGateway::with(&[]);
    let validation = crate::decision::DecisionConfig::default().validation;
    let ask = Ask::to("/oauth/token_validation").bearer("endless-subject");
    let Judging::Now(judged) = gateway.gateway.judge_under(&validation, &ask.asked()) else {
        panic!("somebody was asked")
    };
    assert_eq!(refusal(&judged), Refusal::Untold);
}

#[tokio::test]
async fn clients_say_nothing_on_routes_where_nobody_is_asked() {
    let settings = Settings { strip_headers: vec![HeaderName::from_static("x-user")], ..Settings::default() };
    let gateway = GivenGateway::telling(vec![("/open", open(), given::ordinary())], settings);
    let ask =
        Ask::to("/open").header("oauth-user-id", "root").header("x-user", "root").header("x_user", "root");
    assert_eq!(gateway.told(&ask.bearer("kept")).await.len(), 1);
}

#[tokio::test]
async fn a_post_is_made_no_other_request_unless_the_route_lets_it() {
    let lets = Enrichment { forward_overrides: true, ..given::ordinary() };
    let routes = vec![("/orders", RoutePolicy::default(), given::ordinary()), ("/legacy", open(), lets)];
    let gateway = GivenGateway::telling(routes, Settings::default());
    let ask =
        |path| Ask::to(path).bearer("alice").method(Method::POST).header("X-HTTP-Method-Override", "DELETE");
    assert!(!gateway.told(&ask("/orders")).await.contains_key("x-http-method-override"));
    assert_eq!(gateway.told(&ask("/legacy")).await["x-http-method-override"], "DELETE");
    let admitted = gateway.judge(&ask("/orders")).await;
    let mut trailers = HeaderMap::from_iter(
        ["x-original-url", "script_name", "x-vhm-root"]
            .map(|name| (HeaderName::from_static(name), HeaderValue::from_static("/admin"))),
    );
    gateway.gateway.strip(&admitted, &mut trailers);
    assert!(trailers.is_empty(), "{trailers:?}");
}

#[tokio::test]
async fn a_request_under_way_is_stripped_by_the_routes_that_it_was_judged_under() {
    let settings = Settings { strip_headers: vec![HeaderName::from_static("x-user")], ..Settings::default() };
    let gateway = GivenGateway::telling(vec![("/open", open(), given::ordinary())], settings);
    let admitted = gateway.judge(&Ask::to("/open")).await;
    gateway.gateway.routes().replace(RouteTable::default());
    let (name, root) = (HeaderName::from_static("x-user"), HeaderValue::from_static("root"));
    let mut head = HeaderMap::from_iter([(name, root)]);
    let mut trailers = head.clone();
    gateway.gateway.enrich(&admitted, &mut head, somebody());
    gateway.gateway.strip(&admitted, &mut trailers);
    assert!(head.is_empty() && trailers.is_empty(), "{head:?} {trailers:?}");
}

#[tokio::test]
async fn a_header_that_a_claim_would_set_is_never_the_clients() {
    let from = HeaderFrom { header: HeaderName::from_static("x-email"), claim: "email".to_owned() };
    let enrichment = Enrichment { claims: vec![from], ..given::ordinary() };
    let policy = RoutePolicy { auth: AuthMode::Optional, ..RoutePolicy::default() };
    let gateway = GivenGateway::telling(vec![("/", policy, enrichment)], Settings::default());
    let forged = || Ask::to("/").header("x-email", "root@example.com");
    assert_eq!(gateway.told(&forged().bearer("alice")).await["x-email"], "alice@example.com");
    for nobody in [forged(), forged().bearer("robot"), forged().bearer("person")] {
        assert!(!gateway.told(&nobody).await.contains_key("x-email"));
    }
}

#[tokio::test]
async fn the_token_stays_behind_where_the_upstream_is_not_to_have_it() {
    let sources = TokenSources { cookie: Some("session".to_owned()), ..TokenSources::default() };
    let policy = RoutePolicy { sources, ..RoutePolicy::default() };
    let enrichment = Enrichment { forward_token: false, ..given::ordinary() };
    let gateway = GivenGateway::telling(vec![("/", policy, enrichment)], Settings::default());
    assert!(!gateway.told(&Ask::to("/").bearer("alice")).await.contains_key(AUTHORIZATION));
    let in_cookie = Ask::to("/").header("cookie", "a=b; session=alice").header("authorization", "Basic abc");
    let told = gateway.told(&in_cookie).await;
    assert_eq!(
        (&told["cookie"], &told["authorization"]),
        (&"a=b".parse().unwrap(), &"Basic abc".parse().unwrap())
    );
    assert_eq!(told["oauth-user-id"], "alice");
}

#[tokio::test]
async fn a_header_that_looks_like_that_of_the_token_never_goes_on() {
    for (forward_token, seen) in [(false, 0), (true, 1)] {
        let header = Some(HeaderName::from_static("x-token"));
        let policy = RoutePolicy {
            sources: TokenSources { header, ..TokenSources::default() },
            ..RoutePolicy::default()
        };
        let enrichment = Enrichment { forward_token, ..given::ordinary() };
        let gateway = GivenGateway::telling(vec![("/", policy, enrichment)], Settings::default());
        let told = gateway.told(&Ask::to("/").header("x-token", "alice").header("x_token", "nobodys")).await;
        assert_eq!(
            (told["oauth-user-id"].as_bytes(), told.get_all("x-token").iter().count()),
            (&b"alice"[..], seen)
        );
        assert!(!told.contains_key("x_token"), "{told:?}");
    }
}

#[tokio::test]
async fn a_fixed_header_is_told_to_everybody() {
    let fixed = vec![(HeaderName::from_static("x-gateway"), HeaderValue::from_static("sluice"))];
    let gateway = GivenGateway::telling(
        vec![("/", open(), Enrichment { fixed, ..given::ordinary() })],
        Settings::default(),
    );
    let told = gateway.told(&Ask::to("/").header("x-gateway", "client")).await;
    assert_eq!(told.get_all("x-gateway").iter().collect::<Vec<_>>(), ["sluice"]);
}

/// A gateway that tells the country on one of two routes. That of 192.0.2.0/24 it knows.
fn telling_countries(settings: Settings) -> GivenGateway {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("country.mmdb");
    let mut writer = Writer::new("Test-Country");
    let record = Value::map([("country", Value::map([("iso_code", Value::from("CZ"))]))]);
    writer.insert_value("192.0.2.0/24".parse::<ipnet::IpNet>().unwrap(), record).unwrap();
    std::fs::write(&path, writer.to_bytes().unwrap()).unwrap();
    let telling = Enrichment { country: true, ..given::ordinary() };
    let routes = vec![("/told", open(), telling), ("/not", open(), given::ordinary())];
    let gateway = GivenGateway::telling(routes, settings);
    gateway.country.put(Some(CountryDatabase::read(&path).unwrap()));
    gateway
}

#[tokio::test]
async fn the_country_of_the_client_is_told_where_it_is_known() {
    let gateway = telling_countries(Settings::default());
    let country = async |path, client| {
        let ask = Ask::to(path).from(client).header("oauth-country", "XX");
        gateway.told(&ask).await.get("oauth-country").cloned()
    };
    assert_eq!(country("/told", "192.0.2.1").await.unwrap(), "CZ");
    assert_eq!(country("/told", "10.0.0.1").await, None);
    assert_eq!(country("/not", "192.0.2.1").await, None);
}

#[tokio::test]
async fn the_country_of_a_proxy_is_not_told_as_that_of_a_client_whom_it_does_not_name() {
    let trusted_proxies = TrustedProxies::new(vec!["192.0.2.128/25".parse().unwrap()]);
    let gateway = telling_countries(Settings { trusted_proxies, ..Settings::default() });
    let proxy: IpAddr = "192.0.2.200".parse().unwrap();
    let country = async |lines: &[(&str, &str)]| {
        let ask = lines.iter().fold(Ask::to("/told"), |ask, (name, value)| ask.header(name, value));
        let client = gateway.gateway.client(proxy, ask.asked().headers);
        gateway.told_of(client, &ask).await.get("oauth-country").cloned()
    };
    // The last two are where a proxy might be, too.
    for named in ["192.0.2.1", "192.0.2.201", "192.0.2.201, 192.0.2.202"] {
        assert_eq!(country(&[("x-forwarded-for", named)]).await.unwrap(), "CZ", "{named}");
    }
    for lines in [
        &[("x-forwarded-for", "unknown")][..],
        &[],
        &[("forwarded", "for=_hidden")],
        &[("x-forwarded-for", "192.0.2.1"), ("forwarded", "for=192.0.2.2")],
    ] {
        assert_eq!(country(lines).await, None, "{lines:?}");
    }
}

#[tokio::test]
async fn a_phantom_token_takes_the_place_of_the_clients() {
    let gateway = GivenGateway::telling(vec![("/", RoutePolicy::default(), phantom())], Settings::default());
    for token in ["alice", "later.alice"] {
        let told = gateway.told(&Ask::to("/").bearer(token)).await;
        let bearer = told[AUTHORIZATION].to_str().unwrap().strip_prefix("Bearer ").unwrap();
        assert_eq!(bearer.split('.').count(), 3);
        assert_eq!(told.len(), 1, "no identity headers beside it: {told:?}");
    }
}

#[tokio::test]
async fn without_a_caller_there_is_no_phantom_token_and_nothing_in_its_place() {
    let policy = RoutePolicy { auth: AuthMode::Optional, ..RoutePolicy::default() };
    let gateway = GivenGateway::telling(vec![("/", policy, phantom())], Settings::default());
    assert!(gateway.told(&Ask::to("/").header("authorization", "Basic abc")).await.is_empty());
}

#[tokio::test]
async fn answers_to_other_proxies_begin_with_an_empty_map() {
    let gateway = GivenGateway::with(&[("/orders", RoutePolicy::default())]);
    let ask = Ask::to("/orders").bearer("alice");
    let admitted = gateway.judge(&ask).await;
    let mut answer = HeaderMap::new();
    gateway.gateway.enrich(&admitted, &mut answer, somebody());
    assert_eq!((answer.len(), &answer["oauth-user-id"]), (3, &"alice".parse().unwrap()));
}

/// Names that an upstream may take for the gateway's.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[oO][aA][uU]th[-_.~!|](user[-_.](id|scope)|client[-_]id|country|[a-zA-Z]{0,5})",
        "[xX][-_.][uU]ser",
        "x-[a-zA-Z]{1,8}"
    ]
}

proptest! {
    #[test]
    fn whatever_a_client_sends_only_the_gateway_speaks_for_it(
        sent in prop::collection::vec((name(), "[!-~]{1,12}"), 0..16),
        path in prop::sample::select(vec!["/open", "/optional", "/required"]),
    ) {
        let settings = Settings { strip_headers: vec![HeaderName::from_static("x-user")], ..Settings::default() };
        let optional = RoutePolicy { auth: AuthMode::Optional, ..RoutePolicy::default() };
        let routes = vec![
            ("/open", open(), given::ordinary()),
            ("/optional", optional, given::ordinary()),
            ("/required", RoutePolicy::default(), given::ordinary()),
        ];
        let gateway = GivenGateway::telling(routes, settings);
        let ask = sent.iter().fold(Ask::to(path), |ask, (name, value)| ask.header(name, value));
        let told = futures_util::FutureExt::now_or_never(gateway.told(&ask.bearer("alice"))).unwrap();
        for (name, value) in &told {
            let folded = name.as_str().replace(|sign: char| !sign.is_ascii_alphanumeric(), "-");
            prop_assert_ne!(&folded, "x-user");
            if folded.starts_with("oauth-") {
                let own = [("oauth-user-id", "alice"), ("oauth-client-id", "shop-app"), ("oauth-user-scope", "orders.read profile")];
                prop_assert!(own.contains(&(name.as_str(), value.to_str().unwrap())), "{}: {:?}", name, value);
            }
        }
        let tells = told.contains_key("oauth-user-id");
        prop_assert_eq!(tells, path != "/open");
    }
}
