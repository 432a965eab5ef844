//! What the metrics say of the tokens of each route.

use reqwest::StatusCode;
use sluice_testkit::Backend;

use super::{Routes, Seen, site};
use crate::application::{Application, http_client};
use crate::process::Process;

/// The value of a line of the metrics; 0 if it is not there.
async fn number(server: &Process, line: &str) -> f64 {
    let url = server.admin.join("/admin/metrics/prometheus").unwrap();
    let text = http_client().get(url).send().await.unwrap().text().await.unwrap();
    let values = text.lines().find_map(|found| found.strip_prefix(line)?.strip_prefix(' '));
    values.map_or(0.0, |value| value.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signed_token_is_verified_once_and_each_route_says_how_often_it_was_spared() {
    let routes = Routes::fresh().await;
    let mut site = site(Backend::Sqlite, &routes).await;
    site.set(&[("strategies.access_token", "jwt")]);
    let server = site.start().await;
    let (gateway, application) = (Seen::of(&server), Application::register(&[&server]).await);
    let tokens = application.redeem(&application.log_in("alice").await.unwrap()).await.unwrap();
    // Of both routes, and of each: what was spared, and what was not.
    for (path, expected) in [
        ("/orders/7", [(0, 1), (0, 1), (0, 0)]),
        ("/orders/7", [(1, 1), (1, 1), (0, 0)]),
        ("/refusing/7", [(2, 1), (1, 1), (1, 0)]),
    ] {
        assert_eq!(gateway.status(path, &tokens.access).await, StatusCode::OK);
        let labels = [
            "cache_%{cache=\"gateway_verdicts\"}",
            "gateway_cache_%{route=\"orders\"}",
            "gateway_cache_%{route=\"refusing\"}",
        ];
        for (label, (hits, misses)) in labels.into_iter().zip(expected) {
            for (what, expected) in [("hits_total", hits), ("misses_total", misses)] {
                let line = format!("sluice_{}", label.replace('%', what));
                let counted = number(&server, &line).await;
                assert!(
                    (counted - f64::from(expected)).abs() < f64::EPSILON,
                    "{line} is {counted} after {path}"
                );
            }
        }
    }
    server.kill().await;
}
