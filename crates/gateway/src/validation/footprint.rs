//! How much memory it takes to remember what a token says, roughly. Whoever writes its claims chooses: `[0,0,…]` takes some sixteen
//! times as much as its text, `[{"a":0},{"a":0},…]` more than fifty times.

use serde_json::{Map, Value};
use sluice_token::claims::Extra;
use sluice_token::{AccessTokenClaims, Origin};

use crate::authn::{Caller, ForeignClaims, PersonClaims};

/// What is remembered of a token may take so much to count for one, in bytes.
const ORDINARY: usize = 4 * 1024;
/// An entry without what is said in it: its key, its place and its box.
const ENTRY: usize = 512;
/// What an allocation takes beyond what was asked for.
const ALLOCATION: usize = 16;
/// So many members of an object share an allocation.
const NODE: usize = 11;
/// So many do at least, where there are more.
const HALF_NODE: usize = 5;

/// For how many ordinary tokens one counts that says this: for one at least.
pub(super) fn weight(caller: &Caller) -> u64 {
    let said = match caller {
        Caller::Own(claims) => own(claims),
        Caller::Person(claims) => person(claims),
        Caller::Foreign(claims) => foreign(claims),
    };
    u64::try_from((ENTRY + said).div_ceil(ORDINARY)).unwrap_or(u64::MAX)
}

fn own(claims: &AccessTokenClaims) -> usize {
    let rare = &claims.rare;
    let inline = |extra: &Extra| match extra {
        Extra::Inline(json) => text(json),
        Extra::None | Extra::InGrant => 0,
    };
    let rarely = [&rare.shown_subject, &rare.actor, &rare.authorization_details, &rare.acr];
    let origins = rare.origins.iter().map(|origin| size_of::<Origin>() + text(origin.client.as_str()));
    size_of::<AccessTokenClaims>()
        + text(claims.client.as_str())
        + claims.subject.as_ref().map_or(0, |subject| text(subject.as_str()))
        + text(claims.scope.as_str())
        + texts(&claims.audience)
        + inline(&claims.extra)
        + inline(&claims.userinfo)
        + rarely.into_iter().flatten().map(|said| text(said)).sum::<usize>()
        + texts(&rare.amr)
        + origins.sum::<usize>()
}

fn person(claims: &PersonClaims) -> usize {
    size_of::<PersonClaims>()
        + text(claims.subject.as_str())
        + text(&claims.issuer)
        + text(&claims.audience)
        + texts(&claims.amr)
        + text(&claims.acr)
}

fn foreign(claims: &ForeignClaims) -> usize {
    size_of::<ForeignClaims>()
        + text(&claims.issuer)
        + [&claims.subject, &claims.client].into_iter().flatten().map(|said| text(said)).sum::<usize>()
        + text(&claims.scope)
        + texts(&claims.audience)
        + object(&claims.claims)
}

fn text(text: &str) -> usize {
    ALLOCATION + text.len()
}

fn texts(list: &[String]) -> usize {
    list.iter().map(|one| size_of::<String>() + text(one)).sum()
}

/// What a value takes beside its own place.
fn allocated(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(said) => text(said),
        Value::Array(list) => {
            let inner: usize = list.iter().map(allocated).sum();
            ALLOCATION + list.capacity() * size_of::<Value>() + inner
        }
        Value::Object(members) => object(members),
    }
}

fn object(members: &Map<String, Value>) -> usize {
    let nodes = match members.len() {
        0 => 0,
        1..=NODE => 1,
        more => more / HALF_NODE,
    };
    let node = ALLOCATION + NODE * (size_of::<String>() + size_of::<Value>());
    let said: usize = members.iter().map(|(name, value)| text(name) + allocated(value)).sum();
    nodes * node + said
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::authn::given;

    /// How much memory the weight of a token of bob's stands for that says this.
    fn bytes(claims: Value) -> usize {
        usize::try_from(weight(&given::bob(claims))).unwrap() * ORDINARY
    }

    #[test]
    fn an_ordinary_token_counts_for_one() {
        for caller in [given::alice(None), given::robot(), given::person(), given::bob(json!({"sub": "bob"}))]
        {
            assert_eq!(weight(&caller), 1, "{caller:?}");
        }
        assert!(weight(&given::bob(given::bobs_claims())) <= 2);
    }

    #[test]
    fn what_takes_more_memory_than_its_text_counts_for_it() {
        assert!(bytes(json!({"x": vec![0; 6_000]})) >= 6_000 * size_of::<Value>());
        let objects = vec![json!({"a": 0}); 1_000];
        assert!(bytes(json!({"x": objects})) >= 1_000 * NODE * (size_of::<String>() + size_of::<Value>()));
        let names: Map<_, _> = (0..1_000).map(|name| (name.to_string(), Value::Null)).collect();
        assert!(bytes(Value::Object(names)) >= 1_000 * (size_of::<String>() + size_of::<Value>()));
    }

    #[test]
    fn long_texts_of_this_installation_count_too() {
        let Caller::Own(mut claims) = given::alice(None) else { panic!("alice's is one of the server's") };
        claims.rare.authorization_details = Some("x".repeat(2 * ORDINARY));
        assert_eq!(weight(&Caller::Own(claims)), 3);
    }
}
