//! `perform device-code`.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;

use super::stub::{Stub, reply};
use crate::cli::Exit;

const PERFORM: &str = "sluice perform device-code --client-id tv";

/// A server whose user decides when a device asks for the third time.
async fn server(decided: (u16, serde_json::Value)) -> Stub {
    let polls = AtomicU32::new(0);
    Stub::start(move |asked| {
        if asked.line.contains("/oauth2/device/auth") {
            let complete = "https://id.example/oauth2/device/verify?user_code=WDJB-MJHT";
            return reply(
                200,
                &json!({
                    "device_code": "ory_dc_1", "user_code": "WDJB-MJHT", "interval": 0, "expires_in": 600,
                    "verification_uri": "https://id.example/oauth2/device/verify",
                    "verification_uri_complete": complete,
                }),
            );
        }
        if polls.fetch_add(1, Ordering::Relaxed) < 2 {
            return reply(400, &json!({ "error": "authorization_pending" }));
        }
        reply(decided.0, &decided.1)
    })
    .await
}

#[tokio::test]
async fn the_code_is_shown_and_the_tokens_are_waited_for() {
    let stub = server((200, json!({ "access_token": "at", "expires_in": 3600 }))).await;
    let outcome = stub.run(&format!("{PERFORM} --format json")).await;
    assert_eq!(outcome.exit, Exit::Success, "{}", outcome.err);
    assert!(outcome.err.contains("user_code=WDJB-MJHT"), "{}", outcome.err);
    assert!(outcome.out.contains("\"at\""), "{}", outcome.out);
    let asked = stub.asked();
    assert_eq!(asked.len(), 4, "{asked:?}");
    assert!(asked[0].body.contains("scope=offline+openid") && asked[0].body.contains("client_id=tv"));
    assert!(asked[1].body.contains("device_code=ory_dc_1"), "{}", asked[1].body);
}

#[tokio::test]
async fn a_user_who_refuses_ends_it() {
    let stub = server((400, json!({ "error": "access_denied" }))).await;
    let outcome = stub.run(PERFORM).await;
    assert_eq!(outcome.exit, Exit::Failure);
    assert!(outcome.err.contains("access_denied"), "{}", outcome.err);
}
