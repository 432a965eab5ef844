//! What the program says to those who run it: never a secret. And what it says when it is not told enough to start.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};
use sluice_testkit::{Authorize, Backend, Browser, Database, Page, TestClient, VERIFIER};
use tl::ParserOptions;
use url::Url;

use crate::answer::{Answer, http};
use crate::both_stores::on_both_stores;
use crate::program::{Ended, Server, run};

on_both_stores!(no_secret_is_logged_not_even_for_debugging);

const SYSTEM_SECRET: &str = "the-system-secret-that-no-log-may-hold";
const ADMIN_CREDENTIAL: &str = "the-admin-credential-that-no-log-may-hold";
const PASSWORD: &str = "correct horse battery staple 4711";
const EMAIL: &str = "alice.in.the.logs@example.com";

/// Fields of the first form of a page as they are, with these filled in. Of boxes those are sent that are ticked.
fn form(page: &Page, filled: &[(&str, &str)]) -> Vec<(String, String)> {
    let first = page.body.split("</form>").next().unwrap();
    let document = tl::parse(first, ParserOptions::default()).unwrap();
    let inputs = document.query_selector("input").unwrap();
    let tags = inputs.filter_map(|handle| handle.get(document.parser())?.as_tag().cloned());
    let text = |tag: &tl::HTMLTag<'_>, name: &str| {
        tag.attributes().get(name).flatten().map(|value| value.as_utf8_str().into_owned()).unwrap_or_default()
    };
    let is_sent =
        |tag: &tl::HTMLTag<'_>| text(tag, "type") != "checkbox" || tag.attributes().get("checked").is_some();
    let own = tags.filter(is_sent).map(|tag| (text(&tag, "name"), text(&tag, "value")));
    let own = own.filter(|(name, _)| !name.is_empty() && filled.iter().all(|(other, _)| other != name));
    own.chain(filled.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))).collect()
}

/// Where a page leads on by itself.
fn onward(page: &Page) -> Option<Url> {
    let (_, link) = page.body.split_once("moves on by itself")?.1.split_once("href=\"http")?;
    format!("http{}", link.split('"').next()?.replace("&amp;", "&")).parse().ok()
}

/// A browser that notes every secret it meets on its way.
pub(crate) struct Witness {
    pub(crate) browser: Browser,
    secrets: BTreeSet<String>,
}

impl Witness {
    /// One that has met none yet.
    pub(crate) const fn of(browser: Browser) -> Self {
        Self { browser, secrets: BTreeSet::new() }
    }

    /// Follows redirects within the server, and notes what is in them.
    pub(crate) async fn land(&mut self, mut page: Page) -> Page {
        loop {
            self.secrets.extend(self.browser.cookies.values().cloned());
            let Some(url) = page.location.clone().or_else(|| onward(&page)) else { return page };
            self.secrets.extend(
                url.query_pairs().map(|(_, value)| value.into_owned()).filter(|value| value.len() > 80),
            );
            if url.host_str() == Some("app.test") {
                return page;
            }
            page = self.browser.visit(url.as_str()).await;
        }
    }

    /// Sends the form of a page with these fields filled in.
    pub(crate) async fn submit(&mut self, page: &Page, filled: &[(&str, &str)]) -> Page {
        self.submit_without("", page, filled).await
    }

    /// The same, after a box was unticked.
    pub(crate) async fn submit_without(
        &mut self,
        unticked: &str,
        page: &Page,
        filled: &[(&str, &str)],
    ) -> Page {
        let mut fields = form(page, filled);
        fields.retain(|(name, _)| name != unticked);
        self.secrets.extend(fields.iter().filter(|(name, _)| name == "csrf").map(|(_, value)| value.clone()));
        let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let document = tl::parse(&page.body, ParserOptions::default()).unwrap();
        let form = document.query_selector("form").unwrap().next();
        let form = form.unwrap_or_else(|| panic!("no form ({}): {}", page.status, page.body));
        let form = form.get(document.parser()).unwrap().as_tag().unwrap();
        let action = form.attributes().get("action").flatten().unwrap().as_utf8_str().replace("&amp;", "&");
        let next = self.browser.submit(&action, &fields).await;
        self.land(next).await
    }
}

/// Everything that may happen at a server once, some of it wrong; every secret of it.
async fn a_life(server: &Server) -> BTreeSet<String> {
    let metadata = json!({
        "redirect_uris": ["https://app.test/callback"],
        "grant_types": ["authorization_code", "refresh_token"],
        "scope": "openid offline_access email",
        "client_secret": "the-client-secret-that-no-log-may-hold",
    });
    let admin = |method: Method, path: &str| {
        http().request(method, server.admin.join(path).unwrap()).bearer_auth(ADMIN_CREDENTIAL)
    };
    let made = Answer::to(admin(Method::POST, "/admin/clients").json(&metadata)).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let client = TestClient::of(server.public.clone(), &made.json());
    let mut witness = Witness::of(Browser::of(server.public.clone()));
    let begun = witness.browser.visit(&client.authorize_url(&Authorize::default())).await;
    let login = witness.land(begun).await;
    witness.submit(&login, &[("email", EMAIL), ("password", "a wrong password 0815")]).await;
    let link = login.body.split("href=\"").find(|link| link.contains("/ui/registration")).unwrap();
    let link = link.split('"').next().unwrap().replace("&amp;", "&");
    let registration = witness.browser.visit(&link).await;
    let consent = witness.submit(&registration, &[("email", EMAIL), ("password", PASSWORD)]).await;
    let back = witness.submit(&consent, &[("decision", "accept")]).await;
    let code = back.expect("code");
    client
        .token(&[("grant_type", "authorization_code"), ("code", &code)])
        .await
        .refused_with("invalid_grant");
    let tokens = client.redeem(&code).await.ok();
    let text = |tokens: &Value, name: &str| tokens[name].as_str().unwrap().to_owned();
    let refreshed = client.refresh(&text(&tokens, "refresh_token")).await.ok();
    assert_eq!(client.userinfo(&text(&refreshed, "access_token")).await.0, 200);
    client.userinfo("ory_at_not-a-token-but-somebody-s-secret").await;
    let form = [("token", text(&refreshed, "access_token"))];
    let introspected = Answer::to(admin(Method::POST, "/admin/oauth2/introspect").form(&form)).await;
    assert_eq!(introspected.json()["active"], true);
    client.redeem(&code).await.refused_with("invalid_grant");
    client.revoke(&text(&refreshed, "refresh_token")).await;
    for tokens in [&tokens, &refreshed] {
        witness.secrets.extend(["access_token", "refresh_token", "id_token"].map(|name| text(tokens, name)));
    }
    let basic = STANDARD.encode(format!("{}:{}", client.id, client.secret.as_deref().unwrap()));
    witness.secrets.extend(
        [SYSTEM_SECRET, ADMIN_CREDENTIAL, PASSWORD, "a wrong password 0815", VERIFIER].map(str::to_owned),
    );
    witness
        .secrets
        .extend(["the-client-secret-that-no-log-may-hold", EMAIL, "not-a-token-but"].map(str::to_owned));
    witness.secrets.extend([code, basic, "correct+horse".to_owned(), "correct%20horse".to_owned()]);
    witness.secrets
}

async fn no_secret_is_logged_not_even_for_debugging(backend: Backend) {
    let database = Database::fresh(backend).await;
    let environment = [
        ("DSN", database.dsn.as_str()),
        ("SECRETS_SYSTEM", SYSTEM_SECRET),
        ("SERVE_ADMIN_BEARER_TOKEN", ADMIN_CREDENTIAL),
        ("SERVE_PUBLIC_HOST", "127.0.0.1"),
        ("SERVE_PUBLIC_PORT", "0"),
        ("SERVE_ADMIN_PORT", "0"),
        ("LOG_LEVEL", "trace"),
        ("LOG_FORMAT", "json"),
        ("SLUICE_LOG", "trace"),
    ];
    let server = Server::start(&["serve", "all", "--dev"], &environment);
    let secrets = a_life(&server).await;
    let Ended { success, stdout, stderr, .. } = server.stop();
    assert!(success, "{stderr}");
    assert!(secrets.len() > 20 && stderr.lines().count() > 20, "{} secrets:\n{stderr}", secrets.len());
    for secret in secrets.iter().filter(|secret| secret.len() > 5) {
        // A part of a secret is one, too.
        let part: String = secret.chars().take(24).collect();
        let leak = stdout.lines().chain(stderr.lines()).find(|line| line.contains(&part));
        assert_eq!(leak, None, "{secret}");
    }
}

#[test]
fn without_a_good_system_secret_the_server_does_not_start() {
    let directory = tempfile::tempdir().unwrap();
    let dsn = format!("sqlite:{}", directory.path().join("sluice.db").display());
    let issuer = ("URLS_SELF_ISSUER", "https://id.example.com/");
    let serve =
        |more: &[(&str, &str)]| run(&["serve", "all"], &[&[("DSN", dsn.as_str()), issuer], more].concat());
    for (secret, reason) in [
        (&[][..], "is required"),
        (&[("SECRETS_SYSTEM", "")], "secrets.system"),
        (&[("SECRETS_SYSTEM", "too-short")], "16 characters"),
        (&[("SECRETS_SYSTEM", "a-secret-that-is-long-enough,too-short")], "16 characters"),
    ] {
        let Ended { success, stdout, stderr, .. } = serve(secret);
        assert!(!success, "{secret:?}");
        assert!(stderr.contains("secrets.system") && stderr.contains(reason), "{secret:?}: {stderr}");
        assert!(!stderr.contains("too-short") && !stdout.contains("too-short"), "{stderr}");
    }
    assert!(!directory.path().join("sluice.db").exists(), "nothing was made");
}

/// What a server with these settings says when it starts.
fn said_at_start(more: &[(&str, &str)]) -> String {
    let common = [
        ("DSN", "memory"),
        ("SECRETS_SYSTEM", SYSTEM_SECRET),
        ("URLS_SELF_ISSUER", "https://id.example.com/"),
        ("SERVE_PUBLIC_HOST", "127.0.0.1"),
        ("SERVE_PUBLIC_PORT", "0"),
        ("SERVE_ADMIN_PORT", "0"),
        ("LOG_FORMAT", "json"),
    ];
    Server::start(&["serve", "all"], &[&common[..], more].concat()).stop().stderr
}

#[test]
fn a_server_that_derives_all_from_one_secret_says_so_at_each_start() {
    let said = said_at_start(&[]);
    let own = [
        ("SECRETS_STORAGE", "a-storage-secret-of-some-length"),
        ("SECRETS_PEPPER", "a-pepper-of-some-length"),
    ];
    let silent = said_at_start(&own);
    for key in ["secrets.storage: is not set", "secrets.pepper: is not set"] {
        assert!(said.contains(key), "{key} in {said}");
        assert!(!silent.contains(key), "{silent}");
    }
}

#[test]
fn a_server_that_tells_addresses_of_anybody_as_theirs_says_so_at_each_start() {
    const WARNING: &str = "anybody may register with the address of somebody else";
    let said = said_at_start(&[]);
    assert!(said.contains(WARNING) && said.contains("identity.email_claim"), "{said}");
    let mail = [
        ("IDENTITY_MAIL_SMTP_URL", "smtps://mail.example.com"),
        ("IDENTITY_MAIL_SMTP_FROM", "a@example.com"),
    ];
    for other in [
        &[("IDENTITY_EMAIL_CLAIM", "verified")][..],
        &[("IDENTITY_REGISTRATION_ENABLED", "false")],
        &[("URLS_CONSENT", "https://login.example.com/consent")],
        &mail,
    ] {
        let silent = said_at_start(other);
        assert!(!silent.contains(WARNING), "{other:?}: {silent}");
    }
}

#[test]
fn an_unknown_key_is_warned_about_by_name_and_a_wrong_value_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("sluice.yaml");
    let yaml = "dsn: memory\nsecrets:\n  system: [a-secret-that-is-long-enough]\n  sytsem: [x]\nserve:\n  pubic:\n    port: 1\n\
                urls:\n  self:\n    issuer: https://id.example.com/\n";
    std::fs::write(&file, yaml).unwrap();
    let file = file.to_str().unwrap();
    let shown = run(&["config", "show", "-c", file], &[]);
    assert!(shown.success, "{}", shown.stderr);
    for key in ["secrets.sytsem", "serve.pubic"] {
        assert!(
            shown.stderr.lines().any(|line| line.starts_with("warning: ") && line.contains(key)),
            "{}",
            shown.stderr
        );
    }
    for (variable, value, key) in [
        ("TTL_ACCESS_TOKEN", "soon", "ttl.access_token"),
        ("SERVE_PUBLIC_PORT", "70000", "serve.public.port"),
        ("URLS_SELF_ISSUER", "http://id.example.com/", "urls.self.issuer"),
        ("LOG_LEVEL", "shout", "log.level"),
        ("DSN", "mysql://root:hunter2@db/sluice", "dsn"),
    ] {
        let refused = run(&["config", "show", "-c", file], &[(variable, value)]);
        assert!(!refused.success && refused.stderr.contains(key), "{variable}: {}", refused.stderr);
        assert!(!refused.stderr.contains("hunter2"), "{}", refused.stderr);
    }
}

#[test]
fn the_configuration_is_shown_without_its_secrets() {
    let environment = [
        (
            "DSN",
            "postgres://sluice:hunter2-in-the-dsn@db.example.com/sluice?sslmode=require&password=hunter3-in-the-query",
        ),
        ("SECRETS_SYSTEM", "hunter4-is-the-system-secret,hunter5-is-the-one-before"),
        ("SECRETS_COOKIE", "hunter6-is-the-cookie-secret"),
        ("SERVE_ADMIN_BEARER_TOKEN", "hunter7-is-the-credential"),
        ("SERVE_PUBLIC_TLS_KEY_BASE64", "hunter8aaaaaaaaaaaaaaaaaa"),
        ("URLS_SELF_ISSUER", "https://id.example.com/"),
        ("URLS_LOGIN", "https://user:hunter9-in-the-url@login.example.com/"),
    ];
    let shown = run(&["config", "show"], &environment);
    assert!(shown.success, "{}", shown.stderr);
    assert!(!shown.stdout.contains("hunter") && !shown.stderr.contains("hunter"), "{}", shown.stdout);
    for told in ["db.example.com", "login.example.com", "issuer: \"https://id.example.com/\"", "[redacted]"] {
        assert!(shown.stdout.contains(told), "{told}: {}", shown.stdout);
    }
}
