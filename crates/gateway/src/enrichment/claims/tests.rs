use serde_json::json;

use super::*;
use crate::authn::given;

#[test]
fn a_claim_is_found_by_name_or_by_path_with_ext_or_without() {
    let bob = given::bob(given::bobs_claims());
    let claims = Claims::of(&bob);
    for (name, expected) in [
        ("email", Some(json!("bob@partner.example"))),
        ("age", Some(json!(42))),
        ("address.city", Some(json!("Brno"))),
        ("plan.name", Some(json!("gold"))),
        ("ext.plan.name", Some(json!("gold"))),
        ("a.b", Some(json!("dotted"))),
        ("ext.a.b", Some(json!("dotted"))),
        ("nothing", None),
        ("unknown", None),
        ("email.x", None),
        ("address.street", None),
        ("", None),
        (".", None),
    ] {
        assert_eq!(claims.find(name), expected, "{name}");
    }
}

#[test]
fn the_consent_page_does_not_speak_for_the_server() {
    let alice =
        given::alice(Some(json!({"email": "alice@example.com", "sub": "root", "client_id": "other"})));
    let claims = Claims::of(&alice);
    assert_eq!(claims.find("email"), Some(json!("alice@example.com")));
    assert_eq!(claims.find("ext.email"), Some(json!("alice@example.com")));
    assert_eq!(claims.find("sub"), Some(json!("alice")));
    assert_eq!(claims.find("client_id"), Some(json!("shop-app")));
    assert_eq!(claims.find("auth_time"), Some(json!(800)));
    assert_eq!((claims.find("acr"), claims.find("amr")), (None, None));
}

#[test]
fn what_the_server_does_not_say_the_consent_page_does_not_say_either() {
    let reserved = ["iss", "nbf", "sid", "scp", "acr", "amr", "act", "may_act", "cnf", "auth_time"];
    let said = reserved.iter().map(|name| ((*name).to_owned(), json!({"jkt": "forged"}))).collect();
    let Caller::Own(mut alice) = given::alice(Some(Value::Object(said))) else { unreachable!("one of ours") };
    alice.rare.without_login = true;
    let alice = Caller::Own(alice);
    let claims = Claims::of(&alice);
    for name in reserved {
        assert_eq!(claims.find(name), None, "{name}");
        assert_eq!(claims.find(&format!("{name}.jkt")), None, "{name}.jkt");
        assert_eq!(claims.find(&format!("ext.{name}.jkt")), Some(json!("forged")), "asked for by its place");
    }
}

#[test]
fn what_is_inside_of_a_claim_of_the_servers_is_found_by_its_path() {
    let Caller::Own(mut alice) = given::alice(Some(json!({"act": {"sub": "root"}}))) else {
        unreachable!("one of ours")
    };
    alice.rare.actor = Some(json!({"sub": "agent"}).to_string());
    let alice = Caller::Own(alice);
    let claims = Claims::of(&alice);
    assert_eq!(claims.find("act.sub"), Some(json!("agent")));
    assert_eq!(claims.find("act.client_id"), None);
}

#[test]
fn a_person_has_the_claims_of_the_identity_api() {
    let person = given::person();
    let claims = Claims::of(&person);
    assert_eq!(claims.find("acr"), Some(json!("aal2")));
    assert_eq!(claims.find("amr"), Some(json!(["pwd", "otp"])));
    assert_eq!(claims.find("email"), None);
}
