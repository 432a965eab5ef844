//! Somebody who lives at a server that is a process, where everything that must not be told is noted down.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_crypto::totp::TotpSecret;
use sluice_primitives::{Clock, SystemClock};
use sluice_testkit::{Backend, Database, ReceivedMail, SmtpServer, app_code};

use crate::answer::{Answer, http};
use crate::identity::people::{ALICE, ANOTHER, Api, BOB, PASSWORD, Tokens};
use crate::identity::postbox::{self, code, token};
use crate::process::until;
use crate::program::{Ended, Server};

/// Where she moves to.
pub(super) const NEW: &str = "alice@example.org";
/// What she wants to be called.
pub(super) const NAME: &str = "Alice Liddell";
/// What others take for her password.
pub(super) const GUESS: &str = "a wrong horse battery staple";
/// A code of a mail that nobody was sent.
pub(super) const NO_CODE: &str = "ABCD-EFGH";
/// Where others guess.
const ELSEWHERE: &str = "2001:db8:0:7::1";
/// How long an authenticator app shows a code, in seconds.
const STEP: i64 = 30;

const SETTINGS: &[&str] = &[
    "secrets.system=a-system-secret-for-this-test",
    "urls.self.issuer=http://sluice.test/",
    "serve.public.host=127.0.0.1",
    "serve.public.port=0",
    "serve.admin.port=0",
    "serve.trusted_proxies=127.0.0.0/8",
    // Of others: this machine is not counted.
    "identity.limits.logins_per_network=1",
    "identity.password_hash.memory=64",
    "identity.password_hash.lanes=1",
    "log.format=json",
    "log.level=trace",
];

/// A server, somebody at it, and what is known of her.
pub(super) struct Life {
    server: Server,
    smtp: SmtpServer,
    _database: Database,
    /// What she asks.
    pub(super) api: Api,
    /// What administrators ask.
    pub(super) admin: Api,
    names: Vec<(String, &'static str)>,
    secrets: Vec<String>,
    recovery_codes: Vec<String>,
}

impl Life {
    /// At a server on a fresh database.
    pub(super) async fn begin(backend: Backend) -> Self {
        let (database, smtp) = (Database::fresh(backend).await, SmtpServer::start().await);
        let smtp_url = smtp.url();
        let mut settings: Vec<String> = SETTINGS.iter().map(|setting| (*setting).to_owned()).collect();
        settings.push(format!("dsn={}", database.dsn));
        settings.extend(postbox::sends_to(&smtp_url).map(|(key, value)| format!("{key}={value}")));
        let set = settings.iter().flat_map(|setting| ["--set", setting.as_str()]);
        let arguments: Vec<&str> = ["serve", "all", "--dev"].into_iter().chain(set).collect();
        let server = Server::start(&arguments, &[]);
        let (ready, asking) = (server.admin.join("/health/ready").unwrap(), http());
        until("ready", async || Answer::to(asking.get(ready.clone())).await.status == 200).await;
        let (api, admin) = (Api::at(&server.public), Api::at(&server.admin));
        let secrets = [ALICE, NEW, BOB, NAME, PASSWORD, ANOTHER, GUESS, NO_CODE].map(str::to_owned).to_vec();
        Self {
            server,
            smtp,
            _database: database,
            api,
            admin,
            names: Vec::new(),
            secrets,
            recovery_codes: Vec::new(),
        }
    }

    /// What the server said, from first to last; what ids are called; what must not have been said.
    pub(super) fn end(self) -> (String, Vec<(String, &'static str)>, Vec<String>) {
        let Ended { success, stdout, stderr, .. } = self.server.stop();
        assert!(success, "{stderr}");
        (stdout + &stderr, self.names, self.secrets)
    }

    /// What an id is called from now on.
    pub(super) fn name(&mut self, id: &str, name: &'static str) {
        self.names.push((id.to_owned(), name));
    }

    /// The id of this name.
    pub(super) fn id(&self, name: &str) -> String {
        self.names.iter().find(|(_, known)| *known == name).expect("a name").0.clone()
    }

    /// A log may not hold this.
    fn hide(&mut self, secret: &str) {
        self.secrets.push(secret.to_owned());
    }

    /// The tokens of a session that begins, and has a name from now on.
    pub(super) async fn signed_in(&mut self, answer: &Answer, session: &'static str) -> Tokens {
        let tokens = self.noted(answer);
        let listed = self.api.get("/auth/sessions", &tokens).await.ok();
        let listed = listed["sessions"].as_array().unwrap();
        let present = listed.iter().find(|listed| listed["current"] == true).unwrap();
        self.name(text(present, "id"), session);
        tokens
    }

    /// The tokens of an answer.
    pub(super) fn noted(&mut self, answer: &Answer) -> Tokens {
        let tokens = Tokens::of(answer);
        self.hide(&tokens.access);
        self.hide(&tokens.refresh);
        tokens
    }

    /// A login that asks for a second factor; its ticket.
    pub(super) async fn asked_for_more(&mut self, email: &str, password: &str) -> String {
        let asked = self.api.log_in(email, password).await;
        asked.is_problem(401, "second_factor_required");
        let ticket = text(&asked.json(), "login_ticket").to_owned();
        self.hide(&ticket);
        ticket
    }

    /// A login with a recovery code.
    pub(super) async fn signed_in_with_code(
        &mut self,
        (email, password): (&str, &str),
        session: &'static str,
    ) -> Tokens {
        let ticket = self.asked_for_more(email, password).await;
        let shown = json!({"login_ticket": ticket, "recovery_code": self.recovery_codes.pop().unwrap()});
        let answer = self.api.post("/auth/login/factor", shown).await;
        self.signed_in(&answer, session).await
    }

    /// She adds an authenticator app. It has a name from now on; its secret, and the code that was shown.
    pub(super) async fn enrol(&mut self, tokens: &Tokens, app: &'static str) -> (TotpSecret, String) {
        let begun = self.api.post_as(tokens, "/auth/factors/totp", json!({"password": PASSWORD})).await.ok();
        let secret = TotpSecret::from_base32(text(&begun, "secret")).unwrap();
        let shown = self.shown(&secret, 0);
        let confirm = json!({"ticket": begun["ticket"], "code": shown, "name": "Phone"});
        let added = self.api.post_as(tokens, "/auth/factors/totp/confirm", confirm).await;
        assert_eq!(added.status, 201, "{}", added.body);
        self.name(text(&added.json(), "id"), app);
        self.hide(text(&begun, "secret"));
        self.hide(text(&begun, "ticket"));
        self.take_recovery_codes(&added.json());
        (secret, shown)
    }

    /// What the app shows now, or so many steps later.
    pub(super) fn shown(&mut self, secret: &TotpSecret, steps: i64) -> String {
        let shown = app_code(secret.expose(), SystemClock.now().as_secs() + steps * STEP);
        self.hide(&shown);
        shown
    }

    /// She writes her recovery codes down: those of before are none any more.
    pub(super) fn take_recovery_codes(&mut self, answer: &Value) {
        let codes = answer["recovery_codes"].as_array().unwrap().iter();
        self.recovery_codes = codes.map(|code| code.as_str().unwrap().to_owned()).collect();
        for code in self.recovery_codes.clone() {
            self.hide(&code);
            self.hide(&code.replace('-', ""));
        }
    }

    /// The mail with this subject, of which there is one.
    pub(super) async fn letter(&mut self, subject: &str) -> ReceivedMail {
        let find = |mails: Vec<ReceivedMail>| mails.into_iter().find(|mail| mail.subject == subject);
        until(subject, async || find(self.smtp.received()).is_some()).await;
        let mail = find(self.smtp.received()).unwrap();
        self.hide(&code(&mail));
        self.hide(&code(&mail).replace('-', ""));
        self.hide(&token(&mail));
        mail
    }

    /// Somebody elsewhere tries a password of hers.
    pub(super) async fn guessed_elsewhere(&self) -> Answer {
        let request = self.api.request(Method::POST, "/auth/login").header("x-forwarded-for", ELSEWHERE);
        Answer::to(request.json(&json!({"email": ALICE, "password": GUESS}))).await
    }

    /// An administrator asks about somebody; a body of `null` is none.
    pub(super) async fn administer(&self, method: Method, who: &str, path: &str, body: Value) {
        let path = format!("/admin/identities/{}{path}", self.id(who));
        let answer = self.admin.ask(method, &path, None, body).await;
        assert!(answer.status < 300, "{path}: {}", answer.body);
    }
}

/// A text of a body.
pub(super) fn text<'a>(body: &'a Value, name: &str) -> &'a str {
    body[name].as_str().unwrap_or_else(|| panic!("no {name} in {body}"))
}
