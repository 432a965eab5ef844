//! The pages of the account, and how one leads to another. Where a page leads on to is one of these, whatever is asked for.

use form_urlencoded::Serializer;
use sluice_protocol::Parameters;

use crate::ui::{EMAIL_CHANGE, UiState};

/// A page of the account, below `/ui/account`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Overview,
    Username,
    Email,
    EmailCode,
    Verification,
    Password,
    Deletion,
    Factors,
    Totp,
    Passkey,
    RecoveryCodes,
    Sessions,
    Applications,
}

const ROOT: &str = "/ui/account";
/// Where people sign in.
pub(in crate::ui) const LOGIN: &str = "/ui/account/login";
/// Where they show who they are once more.
pub(super) const CONFIRM: &str = "/ui/account/confirm";
/// Where they sign out.
pub(super) const LOGOUT: &str = "/ui/account/logout";

impl Place {
    const ALL: [Self; 13] = [
        Self::Overview,
        Self::Username,
        Self::Email,
        Self::EmailCode,
        Self::Verification,
        Self::Password,
        Self::Deletion,
        Self::Factors,
        Self::Totp,
        Self::Passkey,
        Self::RecoveryCodes,
        Self::Sessions,
        Self::Applications,
    ];

    /// The page of the menu from which one comes to it.
    pub(super) const fn section(self) -> Self {
        match self {
            Self::Overview
            | Self::Username
            | Self::Email
            | Self::EmailCode
            | Self::Verification
            | Self::Password
            | Self::Deletion => Self::Overview,
            Self::Factors | Self::Totp | Self::Passkey | Self::RecoveryCodes => Self::Factors,
            Self::Sessions => Self::Sessions,
            Self::Applications => Self::Applications,
        }
    }

    /// Its path.
    pub(super) const fn path(self) -> &'static str {
        match self {
            Self::Overview => ROOT,
            Self::Username => "/ui/account/username",
            Self::Email => "/ui/account/email",
            Self::EmailCode => EMAIL_CHANGE,
            Self::Verification => "/ui/account/verification",
            Self::Password => "/ui/account/password",
            Self::Deletion => "/ui/account/delete",
            Self::Factors => "/ui/account/factors",
            Self::Totp => "/ui/account/factors/totp",
            Self::Passkey => "/ui/account/factors/passkey",
            Self::RecoveryCodes => "/ui/account/factors/recovery-codes",
            Self::Sessions => "/ui/account/sessions",
            Self::Applications => "/ui/account/applications",
        }
    }

    /// What names it in a parameter.
    pub(super) fn slug(self) -> &'static str {
        self.path().strip_prefix(ROOT).unwrap_or_default().trim_start_matches('/')
    }

    /// The page of this name; the overview if there is none.
    pub(super) fn named(slug: Option<&str>) -> Self {
        let named = Self::ALL.into_iter().find(|place| Some(place.slug()) == slug);
        named.unwrap_or(Self::Overview)
    }

    /// Its address on this server.
    pub(super) fn url(self, ui: &UiState) -> String {
        ui.path(self.path())
    }
}

/// Where the browser goes on to once somebody has signed in: a page and, if the link of a mail leads to it, what that brought.
#[derive(Clone, Copy)]
pub(super) struct Then<'a> {
    place: Place,
    token: Option<&'a str>,
}

impl<'a> Then<'a> {
    /// This page, with the `token` if it takes one.
    pub(super) fn new(place: Place, token: Option<&'a str>) -> Self {
        Self { place, token: token.filter(|_| place == Place::EmailCode) }
    }

    /// What the fields of a form, or the query of a page, say.
    pub(super) fn named(fields: &'a Parameters<'_>) -> Self {
        Self::new(Place::named(fields.get("then")), fields.get("token"))
    }

    /// Its address on this server.
    pub(super) fn url(self, ui: &UiState) -> String {
        let path = self.place.url(ui);
        let Some(token) = self.token else { return path };
        let query = Serializer::new(String::new()).append_pair("token", token).finish();
        format!("{path}?{query}")
    }

    /// The fields that say so in a form.
    pub(super) fn fields(self) -> impl Iterator<Item = (&'static str, &'a str)> {
        let place: &'a str = self.place.slug();
        std::iter::once(("then", place)).chain(self.token.map(|token| ("token", token)))
    }
}

impl From<Place> for Then<'_> {
    fn from(place: Place) -> Self {
        Self { place, token: None }
    }
}

/// The address of a page from which the browser goes on to `then`.
pub(super) fn leading_to<'a>(ui: &UiState, page: &str, then: impl Into<Then<'a>>) -> String {
    let (path, then) = (ui.path(page), then.into());
    if then.place == Place::Overview {
        return path;
    }
    let query = Serializer::new(String::new()).extend_pairs(then.fields()).finish();
    format!("{path}?{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_found_by_its_name_and_nothing_else_is_a_place() {
        for place in Place::ALL {
            assert_eq!(Place::named(Some(place.slug())), place);
        }
        for other in [None, Some("//evil.example"), Some("https://evil.example"), Some("../login")] {
            assert_eq!(Place::named(other), Place::Overview, "{other:?}");
        }
    }
}
