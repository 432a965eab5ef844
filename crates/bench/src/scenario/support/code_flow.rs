//! Logins: authorization code with PKCE, in a browser that is new each time, or in one that is signed in.

use std::borrow::Cow;

use super::application::{Application, Wanted};
use super::crowd;
use super::field::{self, Field};
use super::id_token::{self, Expected};
use super::legs::{Accepting, accepted, is_skipped, raw_query_value};
use super::pages::{self, Credentials};
use super::proof::Proof;
use super::tokens::differ;
use crate::driver::{Agent, Answer, Failure, Origin, Receipt};
use crate::scenario::kind::{has_openid, is_offline};
use crate::scenario::{Again, Dialect, IdTokenAlgorithm, LoginOptions, LoginSessions};
use crate::target::Target;

/// How somebody gets from the authorization endpoint back to the application.
enum Way {
    /// Login and consent are accepted through the admin API, as an application for logins does.
    Admin {
        /// The body that accepts a login, for each person.
        logins: Vec<String>,
        /// The body that accepts a consent.
        consent: String,
    },
    /// The pages of the server are filled in.
    Pages(Vec<Credentials>),
}

/// What a login gave.
pub(crate) struct Tokens {
    pub(crate) code: String,
    pub(crate) access_token: String,
    pub(crate) refresh_token: Option<String>,
    pub(crate) id_token: Option<String>,
}

/// Logins of one application.
pub(crate) struct CodeFlow {
    pub(crate) application: Application,
    /// Path and query of the authorization request, up to what differs.
    begin: String,
    /// The token request, up to what differs.
    redeem: String,
    proofs: Vec<Proof>,
    way: Way,
    has_id_token: bool,
    is_offline: bool,
    /// Whether browsers are kept.
    keeps_browsers: bool,
}

impl CodeFlow {
    /// Of so many people, who exist as soon as they are accepted, or who the server knows under one name.
    pub(crate) async fn prepared(
        target: &Target,
        dialect: &Dialect,
        options: &LoginOptions,
        wanted: Wanted<'_>,
        people: usize,
    ) -> Result<Self, Failure> {
        let mut agent = crowd::alone(target);
        match dialect {
            Dialect::Hydra => {
                let application = Application::registered(&mut agent, &wanted).await?;
                Self::of(application, options, Way::by_admin(options, people), people)
            }
            Dialect::Standard(server) => {
                let application = Application::known(&mut agent, server).await?;
                let (Some(name), Some(password)) = (&server.user, &server.password) else {
                    return Err(Failure::Setup(
                        "logins at this server need --user and --password".to_owned(),
                    ));
                };
                let credentials = Credentials { name: name.clone(), password: password.clone() };
                Self::of(application, options, Way::Pages(vec![credentials]), people)
            }
        }
    }

    /// Of these people, through the pages of the server.
    pub(crate) async fn through_pages(
        target: &Target,
        options: &LoginOptions,
        people: Vec<Credentials>,
    ) -> Result<Self, Failure> {
        let application = Application::registered(&mut crowd::alone(target), &wanted(options)).await?;
        let count = people.len();
        Self::of(application, options, Way::Pages(people), count)
    }

    /// The same, after two have logged in: the ID token of the first was verified, and the second got tokens of its own.
    pub(crate) async fn verified(
        self,
        target: &Target,
        algorithm: IdTokenAlgorithm,
    ) -> Result<Self, Failure> {
        let mut agent = crowd::alone(target);
        let tokens = self.log_in(&mut agent, 0, 0).await?;
        if let Some(token) = &tokens.id_token {
            let Application { id, places, .. } = &self.application;
            let (subject, nonce) = (self.subject(0), nonce(0));
            let expected = Expected {
                client_id: id,
                subject: subject.as_deref(),
                issuer: places.issuer.as_deref(),
                nonce: &nonce,
                algorithm,
                jwks: &places.jwks,
            };
            id_token::verify(&mut agent, token, &expected).await?;
        }
        let mut other = crowd::alone(target);
        tokens.are_no_other(&self.log_in(&mut other, 1, 1).await?)?;
        let again = self.start(&agent, 0, 2)?;
        if self.keeps_browsers && !is_skipped(&mut agent, &again).await? {
            return Err(Failure::Setup("a browser that is signed in is asked to log in again".to_owned()));
        }
        Ok(self)
    }

    /// Where a login begins.
    fn start(&self, agent: &Agent, who: usize, turn: u64) -> Result<String, Failure> {
        let (state, nonce, challenge) = (state(turn), nonce(turn), &of(&self.proofs, who)?.challenge);
        let (base, begin) = (agent.base(Origin::Public), &self.begin);
        Ok(format!("{base}{begin}&state={state}&nonce={nonce}&code_challenge={challenge}"))
    }

    /// What the server was told of whom, if somebody told it.
    fn subject(&self, who: usize) -> Option<String> {
        match &self.way {
            Way::Admin { logins, .. } => who.checked_rem(logins.len()).map(person),
            Way::Pages(_) => None,
        }
    }

    fn of(
        application: Application,
        options: &LoginOptions,
        way: Way,
        people: usize,
    ) -> Result<Self, Failure> {
        let scope = options.scope.scope.as_str();
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("response_type", "code")
            .append_pair("client_id", &application.id)
            .append_pair("redirect_uri", &application.redirect_uri)
            .append_pair("scope", scope)
            .append_pair("code_challenge_method", "S256")
            .finish();
        let separator = if application.places.authorization.contains('?') { '&' } else { '?' };
        let begin = format!("{}{separator}{query}", application.places.authorization);
        let redeem = application
            .form(&[("grant_type", "authorization_code"), ("redirect_uri", &application.redirect_uri)]);
        let proofs = (0..people.max(1)).map(|_| Proof::fresh()).collect::<Result<_, _>>()?;
        let (has_id_token, is_offline) = (has_openid(scope), is_offline(scope));
        let keeps_browsers = options.sessions == LoginSessions::Kept;
        Ok(Self { application, begin, redeem, proofs, way, has_id_token, is_offline, keeps_browsers })
    }

    /// Logs somebody in: in a new browser, unless browsers are kept.
    pub(crate) async fn log_in(&self, agent: &mut Agent, who: usize, turn: u64) -> Result<Tokens, Failure> {
        if !self.keeps_browsers {
            agent.forget_cookies();
        }
        let (state, nonce, start) = (state(turn), nonce(turn), self.start(agent, who, turn)?);
        let callback = match &self.way {
            Way::Admin { logins, consent } => {
                accepted(agent, &start, Accepting { login: of(logins, who)?, consent }).await?
            }
            Way::Pages(people) => {
                pages::walk(agent, start, &self.application.redirect_uri, of(people, who)?).await?
            }
        };
        let code = code_of(&callback, &self.application.redirect_uri, &state);
        let code = code.map_err(|failure| agent.explain(&callback, failure))?;
        let tokens = self.tokens_for(agent, code, who, &nonce).await?;
        // Whoever tries the code again needs the verifier of the same person.
        agent.record_for(who, || tokens.receipt());
        Ok(tokens)
    }

    /// A refresh token for another.
    pub(crate) async fn refresh(&self, agent: &mut Agent, token: &str) -> Result<String, Failure> {
        const STEP: &str = "refresh";
        let form = self.application.form(&[("grant_type", "refresh_token"), ("refresh_token", token)]);
        let answer = self.tokens(agent, &form, STEP).await?;
        Ok(field::REFRESH_TOKEN.required(&answer, STEP)?.into_owned())
    }

    /// Whether somebody gets tokens for a code, or for a refresh token.
    pub(crate) async fn again(&self, agent: &mut Agent, what: Again<'_>) -> Result<bool, Failure> {
        let form = match what {
            Again::Code(code) => {
                let verifier = &of(&self.proofs, agent.user)?.verifier;
                format!("{}&code={code}&code_verifier={verifier}", self.redeem)
            }
            Again::RefreshToken(token) | Again::Rotated(token) => {
                self.application.form(&[("grant_type", "refresh_token"), ("refresh_token", token)])
            }
        };
        match self.application.post(agent, &self.application.places.token, &form).await?.status() {
            200 => Ok(true),
            400 => Ok(false),
            status => Err(Failure::Status { step: "token", status }),
        }
    }

    async fn tokens_for(
        &self,
        agent: &mut Agent,
        code: &str,
        who: usize,
        nonce: &str,
    ) -> Result<Tokens, Failure> {
        const STEP: &str = "token";
        let verifier = &of(&self.proofs, who)?.verifier;
        let form = format!("{}&code={code}&code_verifier={verifier}", self.redeem);
        let answer = self.tokens(agent, &form, STEP).await?;
        let lacks = |missing| answer.explain(Failure::Incomplete { step: STEP, missing });
        let given =
            |field: Field| field.of(answer.body()).filter(|token| !token.is_empty()).map(Cow::into_owned);
        let access_token = field::ACCESS_TOKEN.required(&answer, STEP)?.into_owned();
        // Some servers give a refresh token unasked.
        let refresh_token = given(field::REFRESH_TOKEN);
        if self.is_offline && refresh_token.is_none() {
            return Err(lacks("refresh_token"));
        }
        let id_token = given(field::ID_TOKEN);
        if self.has_id_token && !id_token.as_ref().is_some_and(|token| id_token::has_nonce(token, nonce)) {
            return Err(lacks("an ID token with the nonce of the request"));
        }
        Ok(Tokens { code: code.to_owned(), access_token, refresh_token, id_token })
    }

    /// The answer to a request for tokens, if it gives some.
    pub(crate) async fn tokens<'a>(
        &self,
        agent: &'a mut Agent,
        form: &str,
        step: &'static str,
    ) -> Result<Answer<'a>, Failure> {
        let application = &self.application;
        let answer = application.post(agent, &application.places.token, form).await?.expect(200, step)?;
        field::without_error(answer, step)
    }
}

impl Way {
    fn by_admin(options: &LoginOptions, people: usize) -> Self {
        let remember = match options.sessions {
            LoginSessions::None => r#""remember":false"#,
            LoginSessions::New | LoginSessions::Kept => r#""remember":true,"remember_for":3600"#,
        };
        let logins = (0..people.max(1)).map(person);
        let logins = logins.map(|subject| format!(r#"{{"subject":"{subject}",{remember}}}"#));
        let scopes: Vec<_> = options.scope.scope.split_ascii_whitespace().collect();
        let consent = serde_json::json!({
            "grant_scope": scopes, "grant_access_token_audience": [], "remember": false,
        });
        Self::Admin { logins: logins.collect(), consent: consent.to_string() }
    }
}

impl Tokens {
    /// Whether nothing that another login was given is the same: a server that gives one answer to everybody would be a fast one.
    fn are_no_other(&self, other: &Self) -> Result<(), Failure> {
        differ(&self.code, &other.code, "code")?;
        differ(&self.access_token, &other.access_token, "access token")?;
        match (&self.refresh_token, &other.refresh_token) {
            (Some(one), Some(another)) => differ(one, another, "refresh token"),
            _ => Ok(()),
        }
    }

    fn receipt(&self) -> Receipt {
        Receipt::Issued {
            code: self.code.clone(),
            access_token: self.access_token.clone(),
            refresh_token: self.refresh_token.clone(),
        }
    }
}

/// What a client for such logins is registered with.
pub(crate) fn wanted(options: &LoginOptions) -> Wanted<'_> {
    Wanted {
        scope: &options.scope.scope,
        id_token: options.id_token,
        is_public: options.public_client,
        ..Wanted::default()
    }
}

/// The code that the browser brings back to the application.
fn code_of<'a>(callback: &'a str, redirect_uri: &str, state: &str) -> Result<&'a str, Failure> {
    let lacks = |missing| Failure::Incomplete { step: "callback", missing };
    if !callback.starts_with(redirect_uri) {
        return Err(lacks("the redirect URI of the application"));
    }
    if raw_query_value(callback, "state") != Some(state) {
        return Err(lacks("the state of the request"));
    }
    match raw_query_value(callback, "code").filter(|code| !code.is_empty()) {
        Some(code) => Ok(code),
        None if raw_query_value(callback, "error").is_some() => {
            Err(lacks("code (there is an error instead)"))
        }
        None => Err(lacks("code")),
    }
}

/// The subject of one of the people who are accepted.
fn person(number: usize) -> String {
    format!("person-{number}")
}

fn of<T>(people: &[T], who: usize) -> Result<&T, Failure> {
    let found = who.checked_rem(people.len()).and_then(|index| people.get(index));
    found.ok_or_else(|| Failure::Setup("there is nobody to log in".to_owned()))
}

fn state(turn: u64) -> String {
    format!("state-{turn:016x}")
}

fn nonce(turn: u64) -> String {
    format!("nonce-{turn:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_logins_than_people_begin_with_the_first_again() {
        assert_eq!(of(&["a", "b"], 3).unwrap(), &"b");
        assert!(of::<u8>(&[], 3).is_err());
    }

    #[test]
    fn only_a_code_that_comes_back_to_the_application_is_one() {
        let told = |callback: &str| match code_of(callback, "http://app/callback", "s") {
            Ok(code) => code.to_owned(),
            Err(failure) => failure.to_string(),
        };
        assert_eq!(told("http://app/callback?code=a%2Bb&state=s"), "a%2Bb");
        let elsewhere = "callback: the redirect URI of the application is missing";
        assert_eq!(told("http://evil/callback?code=a&state=s"), elsewhere);
        assert_eq!(
            told("http://app/callback?code=a&state=t"),
            "callback: the state of the request is missing"
        );
        assert_eq!(told("http://app/callback?code=&state=s"), "callback: code is missing");
        let refused = "callback: code (there is an error instead) is missing";
        assert_eq!(told("http://app/callback?error=server_error&state=s"), refused);
    }

    #[test]
    fn two_logins_have_nothing_in_common() {
        let tokens = |[code, access, refresh]: [&str; 3]| Tokens {
            code: code.to_owned(),
            access_token: access.to_owned(),
            refresh_token: Some(refresh.to_owned()),
            id_token: None,
        };
        let one = tokens(["c0", "a0", "r0"]);
        assert!(one.are_no_other(&tokens(["c1", "a1", "r1"])).is_ok());
        for same in [["c0", "a1", "r1"], ["c1", "a0", "r1"], ["c1", "a1", "r0"]] {
            assert!(one.are_no_other(&tokens(same)).is_err(), "{same:?}");
        }
    }

    #[test]
    fn a_login_is_remembered_where_that_is_wanted() {
        for sessions in [LoginSessions::New, LoginSessions::Kept] {
            let options = LoginOptions { sessions, ..LoginOptions::default() };
            let Way::Admin { logins, .. } = Way::by_admin(&options, 2) else { panic!() };
            assert_eq!(logins[1], r#"{"subject":"person-1","remember":true,"remember_for":3600}"#);
        }
    }

    #[test]
    fn consent_is_given_to_what_is_asked_for() {
        let Way::Admin { logins, consent } = Way::by_admin(&LoginOptions::default(), 2) else { panic!() };
        assert_eq!(logins[1], r#"{"subject":"person-1","remember":false}"#);
        let consent: serde_json::Value = serde_json::from_str(&consent).unwrap();
        assert_eq!(consent["grant_scope"], serde_json::json!(["openid", "offline_access"]));
    }
}
