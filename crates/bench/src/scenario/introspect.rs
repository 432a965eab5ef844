//! Introspection (RFC 7662) of tokens that were made before: at Hydra's admin listener, or as a client that authenticates.

use async_trait::async_trait;
use memchr::memmem;

use super::support::application::encoded;
use super::support::places::is_published;
use super::support::prepared;
use super::support::tokens::Issuer;
use super::{Dialect, IntrospectOptions, Scenario};
use crate::driver::{Agent, Answer, Ask, Failure, Origin};
use crate::target::Target;

const STEP: &str = "introspection";

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
        let tokens = issuer.stock(target, self.options.tokens.unwrap_or(users).max(1)).await?;
        let forms = match self.dialect {
            Dialect::Hydra => tokens.iter().map(|token| format!("token={}", encoded(token))).collect(),
            Dialect::Standard(_) => {
                tokens.iter().map(|token| issuer.application.form(&[("token", token)])).collect()
            }
        };
        self.made = Some(Made { issuer, forms });
        Ok(())
    }

    async fn operate(&self, agent: &mut Agent, turn: u64) -> Result<(), Failure> {
        let Made { issuer, forms } = prepared(self.made.as_ref())?;
        let form = by_turn(forms, turn)?;
        let (path, at) =
            (&issuer.application.places.introspection, issuer.application.places.introspected_at);
        let answer = match at {
            Origin::Admin => agent.send(&Ask::form(at, path, form)).await?,
            Origin::Public | Origin::Gateway => issuer.application.post_to(agent, at, path, form).await?,
        };
        active(answer)
    }
}

/// The one whose turn it is.
pub(super) fn by_turn<T>(all: &[T], turn: u64) -> Result<&T, Failure> {
    let index = usize::try_from(turn).unwrap_or_default().checked_rem(all.len());
    index
        .and_then(|index| all.get(index))
        .ok_or_else(|| Failure::Setup("nothing was made before the run".to_owned()))
}

fn active(answer: Answer<'_>) -> Result<(), Failure> {
    let answer = answer.expect(200, STEP)?;
    if says_active(answer.body()) {
        Ok(())
    } else {
        Err(Failure::Incomplete { step: STEP, missing: "an active token" })
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
