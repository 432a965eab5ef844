//! Why a page is not shown, or its form not taken.

use axum::response::Response;
use sluice_identity::{IdentityError, MAX_EMAIL_BYTES};
use sluice_oauth::Config;
use sluice_oauth::device::UserCodeProblem;
use sluice_oauth::flow::{FlowError, FlowProblem};
use sluice_oauth::logout::LogoutProblem;
use sluice_protocol::ErrorCode;
use sluice_protocol::parameters::InvalidParameters;
use thiserror::Error;
use url::Url;

use super::UiState;
use super::error::{error_page, expired_page, stray_page};
use super::views::WayOut;
use crate::extract::InvalidForm;
use crate::respond::oauth_error::{log, retry_later};
use crate::respond::page::{ErrorView, SIGN_IN};

/// Where this server takes authorization requests.
const AUTHORIZATION: &str = "/oauth2/auth";
/// What a link says that leads to where the same begins anew.
const TRY_AGAIN: &str = "Try again";

/// Why a page is not shown, or its form not taken.
#[derive(Debug, Error)]
pub(super) enum Problem {
    /// The parameters could not be read.
    #[error(transparent)]
    Parameters(#[from] InvalidParameters),
    /// The form could not be read.
    #[error(transparent)]
    Form(#[from] InvalidForm),
    /// The parameter that names the flow is missing.
    #[error("the parameter `{0}` is missing")]
    NoChallenge(&'static str),
    /// Another site posted the form.
    #[error("the form was posted by another site")]
    CrossSite,
    /// The browser has no cookie of ours, or the flow belongs to another browser.
    #[error("the browser presents no cookie that the flow is bound to")]
    NoCookie {
        /// Where the browser goes on, if that is known.
        restart: Option<Restart>,
    },
    /// The form is not one that this server gave this browser.
    #[error("the form carries no token of this browser")]
    ForeignForm {
        /// Where the browser goes on, if that is known.
        restart: Option<Restart>,
    },
    /// The flow is not there, or does not take the answer.
    #[error(transparent)]
    Flow(#[from] FlowProblem),
    /// The logout is not there.
    #[error(transparent)]
    Logout(#[from] LogoutProblem),
    /// The code of a device cannot be typed here.
    #[error(transparent)]
    Device(#[from] UserCodeProblem),
    /// Passwords or identities are out of reach.
    #[error(transparent)]
    Identity(#[from] IdentityError),
}

/// Where a browser goes on that may not go on here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Restart {
    /// Where the same begins anew.
    Again(String),
    /// Where the application is: it waits for no other answer of a flow that was completed.
    Home(String),
}

impl Restart {
    /// As a link.
    fn link(&self) -> WayOut<'_> {
        match self {
            Self::Again(url) => WayOut { url, label: TRY_AGAIN },
            Self::Home(url) => WayOut::home(url),
        }
    }
}

impl Problem {
    /// The same with a way out: where it begins anew.
    pub(super) fn restarting_at(self, url: Option<String>) -> Self {
        self.going_on_at(url.map(Restart::Again))
    }

    /// The same with a way out: where the browser with the flow of the challenge goes on.
    pub(super) fn going_on_at(self, restart: Option<Restart>) -> Self {
        match self {
            Self::NoCookie { .. } => Self::NoCookie { restart },
            Self::ForeignForm { .. } => Self::ForeignForm { restart },
            other => other,
        }
    }

    /// The same, where a flow has expired before somebody signed in with this address: what begins anew at this server knows it, unless the
    /// application has said another.
    pub(super) fn keeping(self, email: Option<&str>, config: &Config) -> Self {
        let email = email.map(str::trim).filter(|email| (1..=MAX_EMAIL_BYTES).contains(&email.len()));
        match (self, email) {
            (Self::Flow(FlowProblem::Gone { redirect_to: Some(url), home }), Some(email)) => {
                let redirect_to = Some(with_hint(url, email, &config.issuer.endpoint(AUTHORIZATION)));
                Self::Flow(FlowProblem::Gone { redirect_to, home })
            }
            (other, _) => other,
        }
    }

    /// The page that says so. Logged here and nowhere else.
    pub(super) fn answer(&self, ui: &UiState) -> Response {
        log("built-in pages", self.code(), self);
        if self.is_expired() {
            let again = self.way_out().map(WayOut::start_again);
            return expired_page(ui, self.home().map(WayOut::home).or(again));
        }
        let view = ErrorView {
            title: SIGN_IN,
            code: self.code(),
            sentence: self.sentence(),
            way_out: self.link(),
            over: false,
        };
        let mut response = match self {
            Self::NoChallenge(_)
            | Self::Flow(FlowProblem::Unknown(_))
            | Self::Logout(LogoutProblem::Unknown)
            | Self::Device(UserCodeProblem::Unknown(_)) => stray_page(ui, &view),
            _ => error_page(ui, &view),
        };
        if let Self::Flow(FlowProblem::Quota(quota)) = self {
            retry_later(Some(quota.wait()), &mut response);
        }
        response
    }

    fn code(&self) -> ErrorCode {
        let fault =
            |temporary| if temporary { ErrorCode::TemporarilyUnavailable } else { ErrorCode::ServerError };
        match self {
            Self::Parameters(_)
            | Self::Form(_)
            | Self::NoChallenge(_)
            | Self::NoCookie { .. }
            | Self::ForeignForm { .. }
            | Self::Logout(LogoutProblem::Unknown | LogoutProblem::Gone { .. }) => ErrorCode::InvalidRequest,
            Self::CrossSite => ErrorCode::AccessDenied,
            Self::Flow(FlowProblem::Unknown(_) | FlowProblem::Gone { .. } | FlowProblem::Invalid(_)) => {
                ErrorCode::InvalidRequest
            }
            Self::Flow(FlowProblem::ClientGone) => ErrorCode::InvalidClient,
            Self::Flow(FlowProblem::Quota(_)) => ErrorCode::TemporarilyUnavailable,
            Self::Flow(FlowProblem::Store(error)) | Self::Logout(LogoutProblem::Store(error)) => {
                fault(error.is_temporary())
            }
            Self::Device(UserCodeProblem::Store(error)) => fault(error.is_temporary()),
            Self::Device(_) => ErrorCode::InvalidRequest,
            Self::Identity(error) => fault(error.is_temporary()),
        }
    }

    fn sentence(&self) -> &'static str {
        match self {
            Self::Parameters(_) | Self::Form(_) => {
                "The request is malformed: a field is repeated, too long or unreadable."
            }
            Self::NoChallenge(_) => "This page is part of a sign-in and cannot be opened by itself.",
            Self::CrossSite => "The form was sent by another site.",
            Self::NoCookie { .. } => {
                "This sign-in needs cookies. It began in another browser, or cookies are blocked here."
            }
            Self::ForeignForm { .. } => {
                "The form does not belong to this browser any more. Please start again."
            }
            Self::Flow(FlowProblem::Unknown(_))
            | Self::Logout(LogoutProblem::Unknown)
            | Self::Device(UserCodeProblem::Unknown(_)) => {
                "This link is damaged or was made by another server."
            }
            Self::Flow(FlowProblem::ClientGone) => {
                "The application that sent you here is not registered any more."
            }
            Self::Flow(FlowProblem::Gone { .. })
            | Self::Logout(LogoutProblem::Gone { .. })
            | Self::Device(UserCodeProblem::Gone { .. }) => "This page has expired. Please start again.",
            Self::Flow(FlowProblem::Invalid(_)) => {
                "The application was changed meanwhile, or asks for too much. Please start again there."
            }
            // Said in the form itself.
            Self::Device(UserCodeProblem::WrongCode | UserCodeProblem::TooMany { .. }) => {
                "This code is not right. Please start again."
            }
            Self::Flow(FlowProblem::Quota(quota)) => quota.sentence(),
            Self::Flow(FlowProblem::Store(_))
            | Self::Logout(LogoutProblem::Store(_))
            | Self::Device(UserCodeProblem::Store(_))
            | Self::Identity(_) => "The service is busy at the moment. Please try again.",
        }
    }

    /// The link that leads out of a page that has not expired.
    fn link(&self) -> Option<WayOut<'_>> {
        match self {
            Self::NoCookie { restart } | Self::ForeignForm { restart } => restart.as_ref().map(Restart::link),
            _ => self.way_out().map(|url| WayOut { url, label: TRY_AGAIN }),
        }
    }

    /// Where the browser can start again after what has expired, as far as that is known.
    fn way_out(&self) -> Option<&str> {
        match self {
            Self::Flow(FlowProblem::Gone { redirect_to, .. }) => redirect_to.as_deref(),
            Self::Logout(LogoutProblem::Gone { redirect_to })
            | Self::Device(UserCodeProblem::Gone { redirect_to }) => Some(redirect_to),
            _ => None,
        }
    }

    /// Where the application is, if that is the better way out.
    fn home(&self) -> Option<&str> {
        match self {
            Self::Flow(FlowProblem::Gone { home, .. }) => home.as_deref(),
            _ => None,
        }
    }

    /// Whether the flow is too old or spent.
    const fn is_expired(&self) -> bool {
        matches!(
            self,
            Self::Flow(FlowProblem::Gone { .. } | FlowProblem::Unknown(FlowError::Gone))
                | Self::Logout(LogoutProblem::Gone { .. })
                | Self::Device(UserCodeProblem::Gone { .. })
        )
    }
}

/// The request for somebody with this address, if it is one to this endpoint: no application is told what was typed here. One that is
/// pushed or signed says itself for whom it is.
fn with_hint(request: String, email: &str, endpoint: &str) -> String {
    if request.split('?').next() != Some(endpoint) {
        return request;
    }
    let Ok(mut url) = Url::parse(&request) else { return request };
    let has = |name: &str| url.query_pairs().any(|(other, _)| other == name);
    if has("response_type") && !["login_hint", "request", "request_uri"].into_iter().any(has) {
        url.query_pairs_mut().append_pair("login_hint", email);
    }
    url.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::tests::world::config;
    use crate::ui::visit::restart;
    use sluice_oauth::flow::{AwaitingLogin, FlowAnswer};

    #[test]
    fn a_flow_that_expired_begins_anew_with_the_address_that_was_typed() {
        let config = config("https://id.example/", |_| {});
        let long = format!("{}@example.com", "a".repeat(MAX_EMAIL_BYTES));
        let begun_anew = |url: &str, email| {
            let gone = FlowProblem::Gone { redirect_to: Some(url.to_owned()), home: None };
            Problem::Flow(gone).keeping(email, &config).way_out().unwrap().to_owned()
        };
        let request = "https://id.example/oauth2/auth?response_type=code&client_id=shop";
        let hinted = format!("{request}&login_hint=alice%2Bshop%40example.com");
        assert_eq!(begun_anew(request, Some(" alice+shop@example.com")), hinted);
        for (url, email) in [
            (request, None),
            (request, Some(" ")),
            (hinted.as_str(), Some("bob@example.com")),
            ("https://id.example/oauth2/auth?response_type=code&request=abc", Some("bob@example.com")),
            ("https://app.example/", Some("bob@example.com")),
            ("https://app.example/?response_type=code", Some("bob@example.com")),
            ("https://id.example.app.example/oauth2/auth?response_type=code", Some("bob@example.com")),
            (request, Some(long.as_str())),
        ] {
            assert_eq!(begun_anew(url, email), url);
        }
    }

    /// A new answer to that flow is none that the application waits for.
    #[test]
    fn a_foreign_form_of_a_completed_flow_leads_back_to_the_application_and_says_so() {
        let (again, home) = ("https://id.example/oauth2/auth", "https://app.example/");
        for (is_spent, expected) in [(true, (home, "Back to the application")), (false, (again, TRY_AGAIN))] {
            let found: Result<FlowAnswer<AwaitingLogin>, _> = Err(FlowProblem::Gone {
                redirect_to: Some(again.to_owned()),
                home: is_spent.then(|| home.to_owned()),
            });
            let problem = Problem::ForeignForm { restart: None }.going_on_at(restart(found));
            let link = problem.link().unwrap();
            assert_eq!((link.url, link.label), expected);
        }
    }
}
