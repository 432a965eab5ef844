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
fn a_person_has_the_claims_of_the_identity_api() {
    let person = given::person();
    let claims = Claims::of(&person);
    assert_eq!(claims.find("acr"), Some(json!("aal2")));
    assert_eq!(claims.find("amr"), Some(json!(["pwd", "otp"])));
    assert_eq!(claims.find("email"), None);
}
