//! Introspection (RFC 7662) of tokens that were made before: at Hydra's admin listener, or as a client that authenticates.

use std::num::NonZeroUsize;

use async_trait::async_trait;
use memchr::memmem;

use super::support::places::is_published;
use super::support::tokens::{INTROSPECTION, Issuer};
use super::support::{crowd, prepared};
use super::{Dialect, IntrospectOptions, Scenario};
use crate::driver::{Agent, Answer, Failure};
use crate::target::Target;

/// Nobody issued it.
const UNKNOWN: &str = "no-such-token";

pub(super) struct Introspect {
    dialect: Dialect,
    options: IntrospectOptions,
    made: Option<Made>,
}

struct Made {
    issuer: Issuer,
    /// A request for each token.
    forms: Vec<String>,
}

impl Introspect {
    pub(super) const fn new(dialect: Dialect, options: IntrospectOptions) -> Self {
        Self { dialect, options, made: None }
    }
}

#[async_trait(?Send)]
impl Scenario for Introspect {
    async fn prepare(&mut self, target: &Target, users: usize) -> Result<(), Failure> {
        let issuer = Issuer::prepared(target, &self.dialect, self.options.token).await?;
        is_published(&issuer.application.places.introspection, "introspection")?;
        let count = self.options.tokens.map_or(users.max(1), NonZeroUsize::get);
        let tokens = issuer.stock(target, count).await?;
        if let Some(token) = tokens.first() {
            tells_tokens_apart(&issuer, &mut crowd::alone(target), token).await?;
        }
        let forms = tokens.iter().map(|token| issuer.question(token)).collect();
        self.made = Some(Made { issuer, forms });
        Ok(())
    }

    async fn operate(&self, agent: &mut Agent, turn: u64) -> Result<(), Failure> {
        let Made { issuer, forms } = prepared(self.made.as_ref())?;
        active(&issuer.ask_about(agent, by_turn(forms, turn)?).await?)
    }
}

/// Looks once at what answers say in full. In the run only the first `active` of each is looked at, wherever it stands.
async fn tells_tokens_apart(issuer: &Issuer, agent: &mut Agent, token: &str) -> Result<(), Failure> {
    let wrong = |why: &str| Err(Failure::Setup(format!("introspection is of no use here: {why}")));
    let told = issuer.introspected(agent, token).await?;
    if !told.active {
        return wrong("a token that was just issued is not active");
    }
    if told.client_id.is_some_and(|id| id != issuer.application.id) {
        return wrong("a token is told to be another client's");
    }
    if issuer.introspected(agent, UNKNOWN).await?.active {
        return wrong("a token that nobody issued is active");
    }
    Ok(())
}

/// The one whose turn it is.
pub(super) fn by_turn<T>(all: &[T], turn: u64) -> Result<&T, Failure> {
    let index = usize::try_from(turn).unwrap_or_default().checked_rem(all.len());
    index
        .and_then(|index| all.get(index))
        .ok_or_else(|| Failure::Setup("nothing was made before the run".to_owned()))
}

fn active(answer: &Answer<'_>) -> Result<(), Failure> {
    if says_active(answer.body()) {
        Ok(())
    } else {
        Err(Failure::Incomplete { step: INTROSPECTION, missing: "an active token" })
    }
}

/// Whether an answer says so, however it is spaced.
fn says_active(body: &[u8]) -> bool {
    let Some(at) = memmem::find(body, b"\"active\"") else { return false };
    let rest = body.get(at + b"\"active\"".len()..).unwrap_or_default().trim_ascii_start();
    rest.strip_prefix(b":").is_some_and(|value| value.trim_ascii_start().starts_with(b"true"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn active_tokens_are_told_from_others() {
        assert!(says_active(br#"{"active":true,"sub":"x"}"#));
        assert!(says_active(br#"{"sub":"x", "active" : true}"#));
        for body in [&br#"{"active":false}"#[..], br#"{"sub":"true"}"#, br#"{"active""#, b""] {
            assert!(!says_active(body), "{}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn everyone_has_a_turn() {
        let turns: Vec<_> = (0..5).map(|turn| *by_turn(&["a", "b", "c"], turn).unwrap()).collect();
        assert_eq!(turns, ["a", "b", "c", "a", "b"]);
        assert!(by_turn::<u8>(&[], 0).is_err());
    }
}
