//! Tokens that any of several issuers may know: one is asked after the other.

use std::net::IpAddr;
use std::sync::Arc;

use sluice_primitives::{Secret, Timestamp};
use smallvec::SmallVec;

use super::introspection::Introspector;
use super::validator::{BoxedValidation, Question, TokenFault, Validated};
use crate::authn::Caller;

/// Those who may be asked, in this order.
type Introspectors = SmallVec<[Arc<Introspector>; 4]>;

/// What is asked, while the answer of one is waited for.
struct Asked {
    token: Secret<String>,
    client: IpAddr,
    now: Timestamp,
}

impl Asked {
    fn of(question: &Question<'_>) -> Self {
        let Question { token, client, now, .. } = *question;
        Self { token: Secret::new(token.to_owned()), client, now }
    }
}

/// Asks one issuer after the other until one calls the token active. If none does, it is nobody's, or what the last one said, unless one
/// could not be asked, or knows the token.
pub(super) fn ask_each(introspectors: Introspectors, question: &Question<'_>) -> Validated {
    let mut fault = TokenFault::NotAuthentic;
    let mut rest = introspectors.into_iter();
    while let Some(introspector) = rest.next() {
        match introspector.introspect(question.token, (question.client, question.now)) {
            Validated::Now(Ok(caller)) => return Validated::Now(Ok(caller)),
            Validated::Now(Err(said)) => fault = graver(fault, said),
            Validated::Later(answer) => {
                return Validated::Later(Box::pin(ask_rest(answer, rest, fault, Asked::of(question))));
            }
        }
    }
    Validated::Now(Err(fault))
}

/// The same once this installation's own authority has said that a token is none of its own. Whatever else it says is the last word:
/// its tokens are shown to nobody.
pub(super) fn ask_after(
    own: BoxedValidation,
    introspectors: Introspectors,
    question: &Question<'_>,
) -> Validated {
    let asked = Asked::of(question);
    Validated::Later(Box::pin(async move {
        match own.await {
            Err(fault @ TokenFault::NotAuthentic) => ask_next(introspectors.into_iter(), fault, &asked).await,
            known => known,
        }
    }))
}

async fn ask_rest(
    answer: BoxedValidation,
    rest: impl Iterator<Item = Arc<Introspector>> + Send,
    fault: TokenFault,
    asked: Asked,
) -> Result<Arc<Caller>, TokenFault> {
    match answer.await {
        Ok(caller) => Ok(caller),
        Err(said) => ask_next(rest, graver(fault, said), &asked).await,
    }
}

async fn ask_next(
    rest: impl Iterator<Item = Arc<Introspector>> + Send,
    mut fault: TokenFault,
    asked: &Asked,
) -> Result<Arc<Caller>, TokenFault> {
    for introspector in rest {
        let outcome = match introspector.introspect(asked.token.expose(), (asked.client, asked.now)) {
            Validated::Now(outcome) => outcome,
            Validated::Later(answer) => answer.await,
        };
        match outcome {
            Ok(caller) => return Ok(caller),
            Err(said) => fault = graver(fault, said),
        }
    }
    Err(fault)
}

/// An issuer that could not be asked might have called the token active. One that did knows more of it than one that does not know it.
fn graver(one: TokenFault, other: TokenFault) -> TokenFault {
    use TokenFault::{Busy, NotAuthentic, Revoked, Unreachable, WrongAudience, WrongIssuer};
    match (one, other) {
        (Unreachable | Busy, _) | (WrongAudience | WrongIssuer, Revoked | NotAuthentic) => one,
        _ => other,
    }
}
