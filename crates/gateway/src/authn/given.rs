//! Callers and routes for tests.

use std::sync::Arc;

use serde_json::{Value, json};
use sluice_primitives::{GrantId, SessionId, Timestamp};
use sluice_token::claims::{Extra, RareClaims};
use sluice_token::{AccessTokenClaims, Confirmation, Origin, TokenId};

use super::{Caller, ForeignClaims, PersonClaims};
use crate::route::{Enrichment, Route, RoutePolicy};

pub(crate) const EXPIRY: Timestamp = Timestamp::from_secs(2_000);

/// A token of the authorization server for alice, with scope `orders.read profile`.
pub(crate) fn alice(extra: Option<Value>) -> Caller {
    Caller::Own(Box::new(AccessTokenClaims {
        id: TokenId::from_bytes([1; 16]),
        grant: GrantId::from_bytes([2; 16]),
        client: "shop-app".parse().unwrap(),
        subject: Some("alice".parse().unwrap()),
        session: None,
        scope: "orders.read profile".parse().unwrap(),
        audience: vec!["orders".to_owned()],
        issued_at: Timestamp::from_secs(900),
        expires_at: EXPIRY,
        authenticated_at: Timestamp::from_secs(800),
        consented_at: Timestamp::from_secs(850),
        extra: extra.map_or(Extra::None, |value| Extra::Inline(value.to_string())),
        userinfo: Extra::None,
        rare: RareClaims::default(),
    }))
}

/// A token of the authorization server for a client that acts for itself.
pub(crate) fn robot() -> Caller {
    let Caller::Own(mut claims) = alice(None) else { unreachable!("alice's is one of the server's") };
    claims.subject = None;
    Caller::Own(claims)
}

/// What another client exchanged such a token for (RFC 8693).
pub(crate) fn agent() -> Caller {
    let Caller::Own(mut claims) = robot() else { unreachable!("the robot's is one of the server's") };
    let origin =
        Origin { client: claims.client.clone(), token: claims.id, consented_at: claims.consented_at };
    claims.subject = Some("shop-app".parse().unwrap());
    claims.client = "agent".parse().unwrap();
    claims.rare = RareClaims { origins: vec![origin], without_login: true, ..RareClaims::default() };
    Caller::Own(claims)
}

/// A token for alice that is bound to a key.
pub(crate) fn bound(confirmation: Confirmation) -> Caller {
    let Caller::Own(mut claims) = alice(None) else { unreachable!("alice's is one of the server's") };
    claims.rare.confirmation = Some(confirmation);
    Caller::Own(claims)
}

/// A person with a token of the identity API.
pub(crate) fn person() -> Caller {
    Caller::Person(Box::new(PersonClaims {
        subject: "0190c5a0-alice".parse().unwrap(),
        session: SessionId::from_bytes([3; 16]),
        issuer: "https://id.example".to_owned(),
        audience: "orders".to_owned(),
        expires_at: EXPIRY,
        authenticated_at: Timestamp::from_secs(800),
        amr: vec!["pwd".to_owned(), "otp".to_owned()],
        acr: "aal2".to_owned(),
    }))
}

/// A token of another issuer that says this of bob.
pub(crate) fn bob(claims: Value) -> Caller {
    let Value::Object(claims) = claims else { unreachable!("claims are an object") };
    Caller::Foreign(Box::new(ForeignClaims {
        issuer: "https://login.partner.example".to_owned(),
        subject: Some("bob".to_owned()),
        client: Some("partner-app".to_owned()),
        scope: "orders.read".to_owned(),
        audience: vec!["orders".to_owned()],
        expires_at: EXPIRY,
        taken_until: EXPIRY,
        confirmation: None,
        claims,
    }))
}

/// A token of bob's issuer for somebody who is called there as alice is here.
pub(crate) fn namesake() -> Caller {
    let Caller::Foreign(mut claims) = bob(bobs_claims()) else { unreachable!("bob's is another issuer's") };
    claims.subject = Some("alice".to_owned());
    Caller::Foreign(claims)
}

/// Tokens of bob's issuer of which one name each is longer than a header may be: the subject, the client, the issuer.
pub(crate) fn endless() -> [Caller; 3] {
    let name = "ž".repeat(1000);
    let Caller::Foreign(bobs) = bob(bobs_claims()) else { unreachable!("bob's is another issuer's") };
    let subject = ForeignClaims { subject: Some(name.clone()), ..(*bobs).clone() };
    let client = ForeignClaims { client: Some(name.clone()), ..(*bobs).clone() };
    let issuer = ForeignClaims { issuer: name, ..*bobs };
    [subject, client, issuer].map(|claims| Caller::Foreign(Box::new(claims)))
}

/// What bob's issuer says of him.
pub(crate) fn bobs_claims() -> Value {
    json!({
        "email": "bob@partner.example", "age": 42, "staff": true, "groups": ["a", "ž"], "nothing": null,
        "address": {"city": "Brno"}, "ext": {"plan": {"name": "gold"}, "a.b": "dotted"}, "evil": "x\r\nOAuth-User-Id: root"
    })
}

/// A route with this policy and this enrichment.
pub(crate) fn route(policy: RoutePolicy, enrichment: Enrichment) -> Arc<Route> {
    Arc::new(rule(policy, enrichment))
}

/// The same, for a table.
pub(crate) fn rule(policy: RoutePolicy, enrichment: Enrichment) -> Route {
    Route {
        name: "orders".into(),
        upstreams: Vec::new(),
        rewrite_prefix: None,
        prefix_segments: 0,
        rewrite_location: false,
        max_body: None,
        total_timeout: None,
        preserve_host: true,
        policy,
        enrichment,
        limits: Vec::new(),
    }
}

/// What is said on an ordinary route.
pub(crate) fn ordinary() -> Enrichment {
    Enrichment { identity_headers: true, forward_token: true, ..Enrichment::default() }
}
