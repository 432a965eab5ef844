//! Whether a caller may pass a route: asked of every request, never remembered.

use super::caller::Caller;
use super::verdict::Refusal;
use crate::route::RoutePolicy;

/// Whether `caller` may pass. What a token is for is asked first: one for another service is no token here.
///
/// # Errors
/// [`Refusal`] says what is missing.
pub fn check(policy: &RoutePolicy, caller: &Caller) -> Result<(), Refusal> {
    if !policy.audience.is_empty() && !policy.audience.iter().any(|audience| caller.is_for(audience)) {
        return Err(Refusal::WrongAudience);
    }
    if policy.subject.is_some_and(|kind| kind != caller.kind()) {
        return Err(Refusal::WrongSubjectKind);
    }
    let has_all = policy.scopes.iter().all(|word| caller.has_scope(word));
    let has_any = policy.any_scope.is_empty() || policy.any_scope.iter().any(|word| caller.has_scope(word));
    if has_all && has_any { Ok(()) } else { Err(Refusal::InsufficientScope) }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;
    use sluice_primitives::Timestamp;

    use super::*;
    use crate::authn::{ForeignClaims, SubjectKind, given};

    fn caller(scope: &str, audience: &[&str], subject: Option<&str>) -> Caller {
        Caller::Foreign(Box::new(ForeignClaims {
            issuer: "partner".to_owned(),
            subject: subject.map(str::to_owned),
            client: Some("app".to_owned()),
            scope: scope.to_owned(),
            audience: audience.iter().map(|&one| one.to_owned()).collect(),
            expires_at: Timestamp::from_secs(100),
            taken_until: Timestamp::from_secs(100),
            confirmation: None,
            claims: Map::new(),
        }))
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn without_demands_everybody_passes() {
        assert_eq!(check(&RoutePolicy::default(), &caller("", &[], None)), Ok(()));
    }

    #[test]
    fn all_scopes_and_one_of_the_alternatives_are_needed() {
        let policy = RoutePolicy {
            scopes: words(&["a", "b"]),
            any_scope: words(&["x", "y"]),
            ..RoutePolicy::default()
        };
        for (granted, passes) in [
            ("a b x", true),
            ("y b a c", true),
            ("a b", false),
            ("a x y", false),
            ("ab x", false),
            ("a bb x", false),
            ("", false),
        ] {
            let expected = if passes { Ok(()) } else { Err(Refusal::InsufficientScope) };
            assert_eq!(check(&policy, &caller(granted, &[], None)), expected, "{granted}");
        }
    }

    #[test]
    fn a_token_for_another_service_is_none_whatever_its_scope() {
        let policy = RoutePolicy {
            audience: words(&["orders", "shop"]),
            scopes: words(&["a"]),
            ..RoutePolicy::default()
        };
        assert_eq!(check(&policy, &caller("a", &["x", "shop"], None)), Ok(()));
        for audience in [&["other"][..], &[], &["order"]] {
            assert_eq!(check(&policy, &caller("", audience, None)), Err(Refusal::WrongAudience));
        }
    }

    #[test]
    fn a_route_for_people_refuses_clients_and_the_other_way_round() {
        let people = RoutePolicy { subject: Some(SubjectKind::User), ..RoutePolicy::default() };
        let clients = RoutePolicy { subject: Some(SubjectKind::Client), ..RoutePolicy::default() };
        let (alice, app) = (caller("", &[], Some("alice")), caller("", &[], None));
        assert_eq!(check(&people, &alice), Ok(()));
        assert_eq!(check(&people, &app), Err(Refusal::WrongSubjectKind));
        assert_eq!(check(&clients, &app), Ok(()));
        assert_eq!(check(&clients, &alice), Err(Refusal::WrongSubjectKind));
        assert_eq!(check(&people, &given::agent()), Err(Refusal::WrongSubjectKind), "for a client");
        assert_eq!(check(&clients, &given::agent()), Ok(()));
    }
}
