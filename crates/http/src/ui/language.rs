//! In which language a page is told: as the application asks for it (`ui_locales`, OpenID Connect Core §3.1.2.1), or else as the browser
//! does, or else in English. Where words of its own are to stand in a sentence, they are put there in that language.

use std::borrow::Cow;
use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;

use super::{Brand, UiState, brand};
use crate::extract::accept_language;

/// The parameter of a request by which an application says it.
const UI_LOCALES: &str = "ui_locales";

impl FromRequestParts<Self> for UiState {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &Self) -> Result<Self, Infallible> {
        Ok(state.told_to(b"", &parts.headers))
    }
}

impl UiState {
    /// The same for whoever sends these headers, and the application that sent the browser here with this query.
    pub(crate) fn told_to(&self, query: &[u8], headers: &HeaderMap) -> Self {
        let languages = &self.config.pages.look.languages;
        let asked = form_urlencoded::parse(query).find(|(name, _)| name == UI_LOCALES);
        let wanted = asked.and_then(|(_, tags)| languages.wanted(tags.split(' ')));
        let language = wanted
            .or_else(|| languages.wanted(accept_language::ranges(headers)))
            .unwrap_or_else(|| languages.english());
        Self { language, ..self.clone() }
    }

    /// The same in a flow whose application asks for these languages, if one of them is there.
    pub(super) fn told_in(&self, ui_locales: Option<&str>) -> Cow<'_, Self> {
        let languages = &self.config.pages.look.languages;
        match ui_locales.and_then(|tags| languages.wanted(tags.split(' '))) {
            Some(language) => Cow::Owned(Self { language, ..self.clone() }),
            None => Cow::Borrowed(self),
        }
    }

    /// The same where a page needs no flow, but one may wait. Which it is need not be right: only what it asks for is looked at.
    pub(super) async fn told_while_waits(&self, challenge: Option<&str>) -> Cow<'_, Self> {
        let Some(challenge) = challenge else { return Cow::Borrowed(self) };
        self.told_in(self.flows.ui_locales(challenge).await.as_deref())
    }

    /// What stands around a page, and what it says things with.
    pub(crate) fn brand(&self) -> Brand {
        brand(&self.config, &self.language)
    }
}

/// What the application of a logout asks for, among what its request said beyond what is checked of it.
pub(super) fn asked_for(parameters: &[(String, String)]) -> Option<&str> {
    parameters.iter().find(|(name, _)| name == UI_LOCALES).map(|(_, tags)| tags.as_str())
}
