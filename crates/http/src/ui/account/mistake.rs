//! What is wrong with a form, and at which field it is said.

use std::borrow::Cow;

use axum::http::StatusCode;
use axum::response::Response;
use sluice_identity::account::{Denied, Outcome};
use sluice_identity::{IdentityError, InvalidField};
use sluice_primitives::Lifetime;

use super::member::Refused;
use super::place::Place;
use crate::ui::UiState;
use crate::ui::login::{BUSY_SENTENCE, turned_away};
use crate::ui::page::retry_after;
use crate::ui::sentences::{USED_CODE, email_sentence, password_sentence, username_sentence, wait_sentence};

const WRONG_PASSWORD: &str = "This is not your password.";
const NO_PASSWORD: &str = "Enter your password.";
const WRONG_CODE: &str = "This code is not right, or it has expired.";
const TAKEN: &str = "This address belongs to another account. Please choose another one.";
const UNCHANGED: &str = "This is your address already.";
const NO_MAIL: &str = "This server sends no mail, so this cannot be done here.";
const TOO_MANY: &str = "There were too many attempts.";

/// What is wrong with a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mistake {
    /// The field that it is said at; empty if it belongs to none.
    field: &'static str,
    sentence: Cow<'static, str>,
    status: StatusCode,
    /// How long the person should wait.
    wait: Option<Lifetime>,
}

impl Mistake {
    /// Something wrong with this field.
    pub(super) const fn at(field: &'static str, sentence: &'static str) -> Self {
        let (sentence, status) = (Cow::Borrowed(sentence), StatusCode::UNPROCESSABLE_ENTITY);
        Self { field, sentence, status, wait: None }
    }

    /// What led here is good no more.
    pub(super) const fn gone(sentence: &'static str) -> Self {
        let (sentence, status) = (Cow::Borrowed(sentence), StatusCode::GONE);
        Self { field: "", sentence, status, wait: None }
    }

    /// Too many tries.
    pub(super) fn too_many(ui: &UiState, wait: Lifetime) -> Self {
        let sentence = Cow::Owned(wait_sentence(ui, TOO_MANY, wait));
        let status = StatusCode::TOO_MANY_REQUESTS;
        Self { field: "", sentence, status, wait: Some(wait) }
    }

    /// The server has too much to do. Other failures are no mistakes.
    pub(super) fn busy(error: IdentityError) -> Result<Self, IdentityError> {
        if !error.is_temporary() {
            return Err(error);
        }
        let wait = turned_away(&error, "account page");
        let (sentence, status) = (Cow::Borrowed(BUSY_SENTENCE), StatusCode::SERVICE_UNAVAILABLE);
        Ok(Self { field: "", sentence, status, wait: Some(wait) })
    }

    /// What is said at this field.
    pub(super) fn of<'a>(mistake: Option<&'a Self>, field: &str) -> Option<&'a str> {
        mistake.filter(|mistake| mistake.field == field).map(|mistake| &*mistake.sentence)
    }

    /// The same, said at `to` if it was to be said at `from`.
    pub(super) fn moved(self, from: &str, to: &'static str) -> Self {
        if self.field == from { Self { field: to, ..self } } else { self }
    }

    /// The same, said of the whole form.
    pub(super) fn of_form(self) -> Self {
        Self { field: "", ..self }
    }

    /// The status of the page.
    pub(super) fn status(mistake: Option<&Self>) -> StatusCode {
        mistake.map_or(StatusCode::OK, |mistake| mistake.status)
    }

    /// Says when to come again.
    pub(super) fn dress(mistake: Option<&Self>, response: Response) -> Response {
        match mistake.and_then(|mistake| mistake.wait) {
            Some(wait) => retry_after(response, wait),
            None => response,
        }
    }
}

/// What a person wanted to do if it was done, else what the page `place` says of it.
pub(super) fn went<T>(
    ui: &UiState,
    outcome: Result<Outcome<T>, IdentityError>,
    place: Place,
) -> Result<Result<T, Mistake>, Refused> {
    let denied = match outcome {
        Ok(Outcome::Done(done)) => return Ok(Ok(done)),
        Ok(Outcome::Denied(denied)) => denied,
        Err(error) => return Ok(Err(Mistake::busy(error)?)),
    };
    Ok(Err(match denied {
        Denied::WrongPassword => Mistake::at("password", WRONG_PASSWORD),
        Denied::ConfirmationRequired => Mistake::at("password", NO_PASSWORD),
        Denied::SecondFactorRequired => return Err(Refused::Stale(place)),
        Denied::WrongCode => Mistake::at("code", WRONG_CODE),
        Denied::UsedCode => Mistake::at("code", USED_CODE),
        Denied::Invalid(InvalidField::Email(reason)) => Mistake::at("email", email_sentence(reason)),
        Denied::Invalid(InvalidField::Username(reason)) => Mistake::at("username", username_sentence(reason)),
        Denied::Invalid(InvalidField::Password(reason)) => {
            let sentence = password_sentence(ui, reason, &ui.accounts.rules).into();
            Mistake { sentence, ..Mistake::at("new_password", "") }
        }
        Denied::Taken => Mistake::at("email", TAKEN),
        Denied::Unchanged => Mistake::at("email", UNCHANGED),
        Denied::NoMail => Mistake::at("", NO_MAIL),
        Denied::TooMany(wait) => Mistake::too_many(ui, wait),
        Denied::Gone => return Err(Refused::SignedOut(place, None)),
    }))
}
