//! What a page says of the form before it: named in the address, with a mark of the session, so that no link can make it
//! say so.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use form_urlencoded::Serializer;
use sluice_oauth::flow::{BindingKey, BindingKeys};
use sluice_protocol::Parameters;

use super::cookie::AccountCookie;
use super::place::Place;
use crate::ui::UiState;

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notice {
    UsernameChanged,
    EmailChanged,
    EmailVerified,
    AlreadyVerified,
    PasswordChanged,
    SessionEnded,
    OthersEnded,
    AccessRemoved,
    FactorAdded,
    FactorRenamed,
    FactorRemoved,
    /// Nothing was done.
    TookTooLong,
    /// Nor here.
    NotAdded,
}

/// The parameters of an address, or the fields of a form, that carry one.
pub(super) const CARRIERS: [&str; 2] = [NOTICE, MARK];
const NOTICE: &str = "notice";
const MARK: &str = "mark";

impl Notice {
    const ALL: [Self; 13] = [
        Self::UsernameChanged,
        Self::EmailChanged,
        Self::EmailVerified,
        Self::AlreadyVerified,
        Self::PasswordChanged,
        Self::SessionEnded,
        Self::OthersEnded,
        Self::AccessRemoved,
        Self::FactorAdded,
        Self::FactorRenamed,
        Self::FactorRemoved,
        Self::TookTooLong,
        Self::NotAdded,
    ];

    const fn slug(self) -> &'static str {
        match self {
            Self::UsernameChanged => "username-changed",
            Self::EmailChanged => "email-changed",
            Self::EmailVerified => "email-verified",
            Self::AlreadyVerified => "already-verified",
            Self::PasswordChanged => "password-changed",
            Self::SessionEnded => "session-ended",
            Self::OthersEnded => "others-ended",
            Self::AccessRemoved => "access-removed",
            Self::FactorAdded => "factor-added",
            Self::FactorRenamed => "factor-renamed",
            Self::FactorRemoved => "factor-removed",
            Self::TookTooLong => "took-too-long",
            Self::NotAdded => "not-added",
        }
    }

    /// What the page says.
    pub(super) const fn sentence(self) -> &'static str {
        match self {
            Self::UsernameChanged => "Your name is changed.",
            Self::EmailChanged => "Your email address is changed.",
            Self::EmailVerified => "Your email address is verified.",
            Self::AlreadyVerified => "Your email address is verified already.",
            Self::PasswordChanged => "Your password is changed. You are signed out everywhere else.",
            Self::SessionEnded => "It is signed out.",
            Self::OthersEnded => "You are signed out of your account on all other devices.",
            Self::AccessRemoved => "The application has no access to your account any more.",
            Self::FactorAdded => "It is added. You will be asked for it from the next sign-in on.",
            Self::FactorRenamed => "It has another name now.",
            Self::FactorRemoved => "It is removed.",
            Self::TookTooLong => {
                "That took too long, or something about this account was changed. Nothing was added. Please begin anew."
            }
            Self::NotAdded => "It could not be added. Please begin anew.",
        }
    }

    /// Whether it went as it should.
    pub(super) const fn is_good(self) -> bool {
        !matches!(self, Self::TookTooLong | Self::NotAdded)
    }

    /// The address of a page that says so to the session of this cookie.
    pub(super) fn at(self, ui: &UiState, place: Place, cookie: &AccountCookie) -> String {
        self.added_to(&place.url(ui), cookie)
    }

    /// The same of the page at this address, which may have parameters already.
    pub(super) fn added_to(self, url: &str, cookie: &AccountCookie) -> String {
        let mark = BindingKey::of_cookie(&cookie.value).form_token(&self.marked());
        let mut query = Serializer::new(String::new());
        query.append_pair(NOTICE, self.slug()).append_pair(MARK, &URL_SAFE_NO_PAD.encode(mark));
        let joint = if url.contains('?') { '&' } else { '?' };
        format!("{url}{joint}{}", query.finish())
    }

    /// What the address says to the session of this cookie.
    pub(super) fn of(fields: &Parameters<'_>, cookie: &AccountCookie) -> Option<Self> {
        let notice = Self::ALL.into_iter().find(|notice| fields.get(NOTICE) == Some(notice.slug()))?;
        let mark = URL_SAFE_NO_PAD.decode(fields.get(MARK)?).ok()?;
        let keys = BindingKeys(vec![BindingKey::of_cookie(&cookie.value)]);
        keys.hold_form(&notice.marked(), &mark).then_some(notice)
    }

    fn marked(self) -> String {
        format!("notice {}", self.slug())
    }
}
