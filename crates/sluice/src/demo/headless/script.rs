//! The steps of the play, and what each answer must be.

use serde_json::{Value, json};
use sluice_primitives::rng::random_bytes;

use super::browser::{Browser, Landing, Page};
use super::check::{Failure, member, must};
use super::form::{self, Form};
use super::report::Report;
use crate::demo::admin::{Admin, ID_TOKEN_ALGORITHM, SCOPE};
use crate::demo::relying_party::id_token::Expected;
use crate::demo::relying_party::{RelyingParty, SignIn, Tokens};
use crate::demo::{DemoParts, http_client};

/// Who plays.
pub(super) struct Script {
    party: RelyingParty,
    admin: Admin,
    world: DemoParts,
    person: Person,
}

/// Somebody who has no account yet.
struct Person {
    email: String,
    password: String,
}

/// What a step has to say, and its result.
type Said<T> = Result<(String, T), Failure>;

/// A browser that stands before the consent page of a sign-in.
struct AtConsent {
    browser: Browser,
    page: Page,
    sign_in: SignIn,
}

/// What came of a code.
struct Redeemed {
    tokens: Tokens,
    subject: String,
}

impl Script {
    pub(super) fn new(party: RelyingParty, admin: Admin, world: DemoParts) -> Self {
        let random = || format!("{:032x}", u128::from_be_bytes(random_bytes(&*world.rng)));
        let person = Person { email: format!("demo-{}@example.com", random()), password: random() };
        Self { party, admin, world, person }
    }

    /// Plays every step.
    ///
    /// # Errors
    /// [`Failure`] at the first answer that is not as it must be.
    pub(super) async fn play(&self, report: &mut Report) -> Result<(), Failure> {
        report.step("register", self.register()).await?;
        let at_consent = report.step("login", self.log_in()).await?;
        let (code, sign_in) = report.step("consent", self.consent(at_consent)).await?;
        let redeemed = report.step("tokens", self.redeem(&code, &sign_in)).await?;
        report.step("userinfo", self.userinfo(&redeemed)).await?;
        report.step("introspect", self.introspect_active(&redeemed)).await?;
        let refreshed = report.step("refresh", self.refresh(&redeemed)).await?;
        report.step("revoke", self.revoke(&refreshed)).await?;
        report.step("introspect", self.introspect_inactive(&refreshed)).await
    }

    /// A new account, by the built-in pages. It leads on to consent, for who registered is in.
    async fn register(&self) -> Said<()> {
        let (mut browser, login) = self.begin(&self.party.sign_in(&*self.world.rng)).await?;
        let link = form::link_to("/ui/registration", &login.html, &login.url);
        let link = link.ok_or_else(|| unexpected("a link to the registration page", &login))?;
        let page = page_of(browser.open(link).await?, "/ui/registration")?;
        let submitted = self.filled(&page)?;
        page_of(browser.submit(&submitted).await?, "/ui/consent")?;
        Ok((format!("{} is registered and in", self.person.email), ()))
    }

    /// The same person in another browser, which knows nothing yet.
    async fn log_in(&self) -> Said<AtConsent> {
        let sign_in = self.party.sign_in(&*self.world.rng);
        let (mut browser, login) = self.begin(&sign_in).await?;
        let submitted = self.filled(&login)?;
        let page = page_of(browser.submit(&submitted).await?, "/ui/consent")?;
        Ok(("the password is right".to_owned(), AtConsent { browser, page, sign_in }))
    }

    /// Allows everything, and comes back with a code.
    async fn consent(&self, at: AtConsent) -> Said<(String, SignIn)> {
        let AtConsent { mut browser, page, sign_in } = at;
        let form = form_of(&page)?.with("decision", "accept");
        let landing = browser.submit(&form).await?;
        let Landing::Application(url) = landing else {
            return Err(unexpected_landing("a redirect to the application", &landing));
        };
        let query =
            |name| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
        let absent = || "nothing".to_owned();
        let error = query("error").unwrap_or_default();
        must(error.is_empty(), "no error", &error)?;
        must(
            query("state").as_ref() == Some(&sign_in.state),
            "our state",
            query("state").unwrap_or_else(absent),
        )?;
        if let Some(iss) = query("iss") {
            must(iss == self.party.issuer(), format_args!("iss to be {}", self.party.issuer()), &iss)?;
        }
        let code =
            query("code").ok_or_else(|| Failure::Unexpected { expected: "a code".into(), got: absent() })?;
        Ok((format!("back with a code of {} characters", code.len()), (code, sign_in)))
    }

    /// The code works, and it works once.
    async fn redeem(&self, code: &str, sign_in: &SignIn) -> Said<Redeemed> {
        let tokens = self.party.redeem(code, sign_in).await?;
        must(tokens.token_type.eq_ignore_ascii_case("bearer"), "a bearer token", &tokens.token_type)?;
        must(tokens.refresh_token.is_some(), "a refresh token, for offline_access was granted", "none")?;
        must(tokens.expires_in > 0, "an access token that lives", tokens.expires_in)?;
        must(same_scope(&tokens.scope), format_args!("the scope {SCOPE}"), &tokens.scope)?;
        let subject = self.checked_subject(&tokens, Some(&sign_in.nonce)).await?;
        let says = format!("access, refresh and {ID_TOKEN_ALGORITHM} ID token of {subject}");
        Ok((says, Redeemed { tokens, subject }))
    }

    async fn userinfo(&self, redeemed: &Redeemed) -> Said<()> {
        let userinfo: Value = self.party.userinfo(&redeemed.tokens.access_token).await?;
        member(&userinfo, "sub", &json!(redeemed.subject))?;
        member(&userinfo, "email", &json!(self.person.email))?;
        Ok((format!("{} is {}", redeemed.subject, self.person.email), ()))
    }

    async fn introspect_active(&self, redeemed: &Redeemed) -> Said<()> {
        let answer = self.admin.introspect(&redeemed.tokens.access_token).await?;
        member(&answer, "active", &json!(true))?;
        member(&answer, "sub", &json!(redeemed.subject))?;
        member(&answer, "client_id", &json!(self.party.client_id()))?;
        Ok(("active: true".to_owned(), ()))
    }

    async fn refresh(&self, redeemed: &Redeemed) -> Said<Tokens> {
        let old = &redeemed.tokens;
        let refreshed = self.party.refresh(old.refresh_token.as_deref().unwrap_or_default()).await?;
        must(refreshed.access_token != old.access_token, "a new access token", "the old one")?;
        must(refreshed.refresh_token.is_some(), "a refresh token", "none")?;
        must(refreshed.refresh_token != old.refresh_token, "a new refresh token", "the old one")?;
        must(same_scope(&refreshed.scope), format_args!("the scope {SCOPE}"), &refreshed.scope)?;
        if refreshed.id_token.is_some() {
            let subject = self.checked_subject(&refreshed, None).await?;
            must(subject == redeemed.subject, &redeemed.subject, subject)?;
        }
        Ok(("a new pair".to_owned(), refreshed))
    }

    async fn revoke(&self, tokens: &Tokens) -> Said<()> {
        self.party.revoke(tokens.refresh_token.as_deref().unwrap_or_default()).await?;
        Ok(("the refresh token, and with it the grant".to_owned(), ()))
    }

    /// The whole of the answer is that it is not active (RFC 7662 §2.2).
    async fn introspect_inactive(&self, tokens: &Tokens) -> Said<()> {
        let refresh_token = tokens.refresh_token.as_deref().unwrap_or_default();
        for token in [tokens.access_token.as_str(), refresh_token] {
            let answer = self.admin.introspect(token).await?;
            let inactive = json!({ "active": false });
            must(answer == inactive, &inactive, &answer)?;
        }
        Ok(("active: false".to_owned(), ()))
    }

    /// A fresh browser at the login page.
    async fn begin(&self, sign_in: &SignIn) -> Result<(Browser, Page), Failure> {
        let mut browser = Browser::new(http_client()?, &self.party.callbacks().redirect_uri);
        let page = page_of(browser.open(sign_in.url.clone()).await?, "/ui/login")?;
        Ok((browser, page))
    }

    fn filled(&self, page: &Page) -> Result<Form, Failure> {
        Ok(form_of(page)?.with("email", &self.person.email).with("password", &self.person.password))
    }

    async fn checked_subject(&self, tokens: &Tokens, nonce: Option<&str>) -> Result<String, Failure> {
        let id_token = tokens.id_token.as_deref();
        must(id_token.is_some(), "an ID token, for openid was granted", "none")?;
        let expected = Expected {
            issuer: self.party.issuer(),
            client_id: self.party.client_id(),
            nonce,
            access_token: &tokens.access_token,
        };
        let now = self.world.clock.now();
        let checked = self.party.check_id_token(id_token.unwrap_or_default(), expected, now).await?;
        must(checked.algorithm == ID_TOKEN_ALGORITHM, ID_TOKEN_ALGORITHM, &checked.algorithm)?;
        Ok(checked.subject)
    }
}

fn same_scope(granted: &str) -> bool {
    let sorted = |scope: &str| {
        let mut values: Vec<String> = scope.split_whitespace().map(str::to_owned).collect();
        values.sort();
        values
    };
    sorted(granted) == sorted(SCOPE)
}

/// The page whose path ends in `path`.
fn page_of(landing: Landing, path: &str) -> Result<Page, Failure> {
    match landing {
        Landing::Page(page) if page.status.is_success() && page.url.path().ends_with(path) => Ok(page),
        other => Err(unexpected_landing(&format!("the page {path}"), &other)),
    }
}

fn form_of(page: &Page) -> Result<Form, Failure> {
    Form::first_of(&page.html, &page.url).ok_or_else(|| unexpected("a page with a form", page))
}

fn unexpected(expected: &str, page: &Page) -> Failure {
    let title = form::title(&page.html).unwrap_or_else(|| page.html.chars().take(200).collect());
    let got = format!("{} with {}: {title}", page.url.path(), page.status);
    Failure::Unexpected { expected: expected.to_owned(), got }
}

fn unexpected_landing(expected: &str, landing: &Landing) -> Failure {
    match landing {
        Landing::Page(page) => unexpected(expected, page),
        Landing::Application(url) => {
            let got = format!("the application, with {}", crate::observability::redact_url(url.as_str()));
            Failure::Unexpected { expected: expected.to_owned(), got }
        }
    }
}
