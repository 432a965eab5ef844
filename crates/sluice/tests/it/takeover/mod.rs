//! What an Ory Hydra 2.3.0 kept, in the hands of Sluice: `sluice import hydra`.
//!
//! [`tokens`]: its refresh tokens. [`followed`]: what changed there since. [`interrupted`]: where an import left off. [`whole`]: where its database is not whole. [`hydra_1`]: where it began as version 1. `hydra.sql`: its tables, with rows as it wrote them, but for their times.

mod followed;
mod hydra_1;
mod interrupted;
mod tokens;
mod whole;

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use sluice_primitives::ManualClock;
use sluice_testkit::postgres::TemporaryDatabase;
use sluice_testkit::{Authorize, Backend, Database, PrivateCluster, TestClient, TestSluice, accept_login};

use crate::both_stores::on_both_stores;
use crate::legs::consent_request;
use crate::program::{Ended, run};

on_both_stores!(
    clients_keep_their_secrets,
    keys_and_trusted_issuers_come_along,
    a_remembered_consent_is_not_asked_for_again,
    an_import_is_done_again_without_harm,
    nothing_is_imported_with_other_secrets,
    more_rows_than_a_page_has_come_and_go,
    of_several_networks_the_first_alone_is_imported,
    what_goes_on_otherwise_for_a_client_is_told_until_it_is_mended,
);

const HYDRA: &str = include_str!("hydra.sql");
/// The system secret of that Hydra.
const HYDRA_SECRET: &str = "this-is-a-long-system-secret-0123";
const SECRET: &str = "a-system-secret-for-this-test";

/// A database of Sluice, and one of a Hydra beside it.
struct Site {
    database: Arc<Database>,
    clock: Arc<ManualClock>,
    hydra: TemporaryDatabase,
}

impl Site {
    async fn new(backend: Backend) -> Self {
        let TestSluice { node, database, clock, .. } =
            TestSluice::with(backend, &[("secrets.system", SECRET)]).await;
        node.stop().await;
        let cluster = PrivateCluster::shared().await;
        let hydra = TemporaryDatabase::of(cluster).await;
        cluster.execute(hydra.name(), HYDRA).await;
        Self { database, clock, hydra }
    }

    /// Imports with these arguments, and with this as the secrets of Hydra.
    fn import(&self, secrets: &str, arguments: &[&str]) -> Ended {
        self.import_from(self.hydra.dsn(), secrets, arguments)
    }

    /// The same from the Hydra with this DSN.
    fn import_from(&self, hydra: &str, secrets: &str, arguments: &[&str]) -> Ended {
        let [dsn, secret] = [format!("dsn={}", self.database.dsn), format!("secrets.system={SECRET}")];
        let command = ["import", "hydra", "--hydra-dsn", hydra, "--format", "json"];
        let installation = ["--dev", "--set", dsn.as_str(), "--set", secret.as_str()];
        run(&[&command[..], &installation[..], arguments].concat(), &[("HYDRA_SECRETS_SYSTEM", secrets)])
    }

    /// The server, after an import.
    async fn serves(&self) -> TestSluice {
        let (database, clock) = (Arc::clone(&self.database), Arc::clone(&self.clock));
        TestSluice::on(database, clock, &[("secrets.system", SECRET)]).await
    }
}

fn summary(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{}{}", ended.stdout, ended.stderr))
}

/// How much of a part was imported, present, and refused.
fn counts(summary: &Value, part: &str) -> [u64; 3] {
    ["imported", "present", "refused"].map(|name| summary[part][name].as_u64().unwrap())
}

/// The application behind a client of that Hydra.
fn application(sluice: &TestSluice, (id, secret): (&str, Option<&str>), method: &str) -> TestClient {
    let made = json!({
        "client_id": id,
        "client_secret": secret,
        "token_endpoint_auth_method": method,
        "redirect_uris": [format!("https://{id}.example.com/cb")],
    });
    TestClient::of(sluice.public.clone(), &made)
}

async fn clients_keep_their_secrets(backend: Backend) {
    let site = Site::new(backend).await;
    let ended = site.import(HYDRA_SECRET, &["--only", "clients"]);
    assert!(!ended.success, "one is refused");
    assert_eq!(counts(&summary(&ended), "clients"), [4, 0, 1]);
    assert!(ended.stderr.contains("client jwtc: it signs with its secret"), "{}", ended.stderr);
    let lines = ended.stderr.matches("sluice_audit: client imported client.id=").count();
    assert_eq!(lines, 4, "{}", ended.stderr);
    assert!(!ended.stderr.contains(HYDRA_SECRET) && !ended.stderr.contains("pbkdf2"), "{}", ended.stderr);
    let sluice = site.serves().await;
    let machine = [("grant_type", "client_credentials"), ("scope", "photos")];
    // PBKDF2, and bcrypt.
    for (id, secret, method) in [
        ("web", "web-secret-0123456", "client_secret_basic"),
        ("post", "post-secret-ABCDEF", "client_secret_post"),
    ] {
        application(&sluice, (id, Some("another-secret-123")), method)
            .token(&machine)
            .await
            .refused_with("invalid_client");
        let tokens = application(&sluice, (id, Some(secret)), method).token(&machine).await.ok();
        assert!(sluice.is_active(tokens["access_token"].as_str().unwrap()).await, "{id}");
    }
    let rich = sluice.ask_json(Method::GET, "/admin/clients/rich", None, 200).await;
    for (name, value) in [
        ("owner", json!("me")),
        ("contacts", json!(["a@b"])),
        ("metadata", json!({"a": 1})),
        ("skip_consent", json!(true)),
        ("access_token_strategy", json!("jwt")),
        ("userinfo_signed_response_alg", json!("RS256")),
        ("backchannel_logout_uri", json!("https://r.example.com/b")),
        ("backchannel_logout_session_required", json!(true)),
        ("post_logout_redirect_uris", json!(["https://r.example.com/out"])),
        ("authorization_code_grant_access_token_lifespan", json!("2h0m0s")),
        ("refresh_token_grant_refresh_token_lifespan", json!("720h0m0s")),
        ("created_at", json!("2024-11-28T01:09:29Z")),
    ] {
        assert_eq!(rich[name], value, "{name}: {rich}");
    }
    sluice.ask_json(Method::GET, "/admin/clients/jwtc", None, 404).await;
    sluice.node.stop().await;
}

async fn keys_and_trusted_issuers_come_along(backend: Backend) {
    let site = Site::new(backend).await;
    let ended = site
        .import(&format!("a-newer-secret-of-hydra,{HYDRA_SECRET}"), &["--only", "keys", "--only", "issuers"]);
    assert!(ended.success, "{}", ended.stderr);
    let imported = summary(&ended);
    assert_eq!((counts(&imported, "keys"), counts(&imported, "issuers")), ([1, 0, 0], [1, 0, 0]));
    assert!(imported.get("clients").is_none(), "{imported}");
    let sluice = site.serves().await;
    let set = sluice.ask_json(Method::GET, "/admin/keys/hydra.openid.id-token", None, 200).await;
    assert_eq!(set["keys"][0]["kid"], "hydra-es256", "the newest, which signs: {set}");
    assert_eq!(set["keys"][0]["d"], "vftxLwwHE6EO4NwfNVx4EQJuhkvMETbGRnhUe1ecu7E");
    let path = "/admin/trust/grants/jwt-bearer/issuers/8b55a320-dc5d-44a2-ba35-25bf795cd63c";
    let trusted = sluice.ask_json(Method::GET, path, None, 200).await;
    assert_eq!(
        (&trusted["issuer"], &trusted["subject"]),
        (&json!("https://partner.example.com"), &json!("partner-user"))
    );
    assert_eq!(trusted["public_key"]["kid"], "trust-1", "{trusted}");
    sluice.node.stop().await;
}

/// Whether the consent page may be skipped.
async fn skips(sluice: &TestSluice, web: &TestClient, (subject, scope): (&str, &str)) -> bool {
    let with = Authorize { scope, more: &[("audience", "https://api.example.com")], ..Authorize::default() };
    let mut browser = sluice.browser();
    let challenge = browser.begin(web, &with).await;
    let verifier = accept_login(sluice, &challenge, &json!({"subject": subject})).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    consent_request(sluice, &challenge).await["skip"] == true
}

async fn a_remembered_consent_is_not_asked_for_again(backend: Backend) {
    let site = Site::new(backend).await;
    let imported = summary(&site.import(HYDRA_SECRET, &[]));
    assert_eq!(counts(&imported, "consents"), [1, 0, 0], "that of bob has ended");
    let sluice = site.serves().await;
    let web = application(&sluice, ("web", Some("web-secret-0123456")), "client_secret_basic");
    assert!(skips(&sluice, &web, ("alice", "openid photos")).await);
    assert!(!skips(&sluice, &web, ("bob", "openid")).await);
    let list = "/admin/oauth2/auth/sessions/consent?subject=alice";
    let listed = sluice.ask_json(Method::GET, list, None, 200).await;
    assert_eq!(listed[0]["consent_request"]["client"]["client_id"], "web", "{listed}");
    assert_eq!(listed[0]["session"]["access_token"], json!({"plan": "gold"}), "{listed}");
    sluice.ask_json(Method::DELETE, &format!("{list}&client=web"), None, 204).await;
    assert!(!skips(&sluice, &web, ("alice", "openid photos")).await, "forgotten here");
    sluice.node.stop().await;
}

async fn an_import_is_done_again_without_harm(backend: Backend) {
    let site = Site::new(backend).await;
    site.import(HYDRA_SECRET, &[]);
    let sluice = site.serves().await;
    let changed = json!([{"op": "replace", "path": "/client_name", "value": "Changed here"}]);
    sluice.ask_json(Method::PATCH, "/admin/clients/web", Some(&changed), 200).await;
    let again = summary(&site.import(HYDRA_SECRET, &[]));
    for (part, expected) in [
        ("keys", [0, 1, 0]),
        ("clients", [0, 4, 1]),
        ("issuers", [0, 1, 0]),
        ("consents", [0, 1, 0]),
        ("tokens", [0, 2, 0]),
    ] {
        assert_eq!(counts(&again, part), expected, "{part}");
    }
    let web = sluice.ask_json(Method::GET, "/admin/clients/web", None, 200).await;
    assert_eq!(web["client_name"], "Changed here");
    let errors = tempfile::NamedTempFile::new().unwrap();
    let ended = site.import(HYDRA_SECRET, &["--errors", errors.path().to_str().unwrap()]);
    assert!(!ended.stderr.contains("jwtc"), "{}", ended.stderr);
    let told: Value = serde_json::from_str(&std::fs::read_to_string(errors.path()).unwrap()).unwrap();
    assert_eq!((&told["part"], &told["id"]), (&json!("client"), &json!("jwtc")));
    sluice.node.stop().await;
}

async fn nothing_is_imported_with_other_secrets(backend: Backend) {
    let site = Site::new(backend).await;
    for (secrets, told) in
        [("another-secret-of-some-length", "are not those of this Hydra"), ("", "HYDRA_SECRETS_SYSTEM")]
    {
        let ended = site.import(secrets, &[]);
        assert!(!ended.success && ended.stderr.contains(told), "{}", ended.stderr);
    }
    let ended = site.import_from("sqlite:hydra.db", HYDRA_SECRET, &[]);
    let is_told = ended.stderr.contains("the database of Hydra: the DSN must begin with");
    assert!(!ended.success && is_told && !ended.stderr.contains("stored"), "{}", ended.stderr);
    let cluster = PrivateCluster::shared().await;
    cluster.execute(site.hydra.name(), "DROP TABLE hydra_jwk").await;
    let ended = site.import(HYDRA_SECRET, &[]);
    let is_told = ended.stderr.contains("this is not the database of an Ory Hydra 2.x");
    assert!(!ended.success && is_told, "{}", ended.stderr);
    let sluice = site.serves().await;
    sluice.ask_json(Method::GET, "/admin/clients/web", None, 404).await;
    sluice.node.stop().await;
}

/// One more client than a page has, and more decisions and tokens than a page of marks and of signatures.
const MANY: &str = "
    INSERT INTO hydra_client
    SELECT (jsonb_populate_record(c, jsonb_build_object('id', 'copy-' || n))).*
    FROM hydra_client AS c CROSS JOIN generate_series(1, 501) AS n WHERE c.id = 'spa';
    INSERT INTO hydra_oauth2_flow
    SELECT (jsonb_populate_record(f, jsonb_build_object(
        'login_challenge', md5('l' || n), 'consent_challenge_id', md5('c' || n), 'subject', 'user-' || n
    ))).*
    FROM hydra_oauth2_flow AS f CROSS JOIN generate_series(1, 1101) AS n WHERE f.subject = 'alice';
    INSERT INTO hydra_oauth2_refresh
    SELECT (jsonb_populate_record(r, jsonb_build_object(
        'signature', rtrim(translate(encode(sha256(n::text::bytea), 'base64'), '+/', '-_'), '='),
        'request_id', md5('r' || n), 'challenge_id', md5('c' || n), 'subject', 'user-' || n
    ))).*
    FROM hydra_oauth2_refresh AS r CROSS JOIN generate_series(1, 1101) AS n WHERE r.subject = 'alice' AND r.active";

async fn more_rows_than_a_page_has_come_and_go(backend: Backend) {
    let site = Site::new(backend).await;
    site.at_hydra(MANY).await;
    let imported = summary(&site.import(HYDRA_SECRET, &[]));
    for (part, expected) in [("clients", [505, 0, 1]), ("consents", [1102, 0, 0]), ("tokens", [1103, 0, 0])] {
        assert_eq!(counts(&imported, part), expected, "{part}");
    }
    // The last by their names, of which fewer than a tenth.
    site.at_hydra(
        "DELETE FROM hydra_client WHERE id > 'copy-97' AND id LIKE 'copy-%';
         DELETE FROM hydra_oauth2_flow WHERE subject > 'user-97' AND subject LIKE 'user-%';
         UPDATE hydra_oauth2_refresh SET active = FALSE WHERE signature > 'b'",
    )
    .await;
    let again = summary(&site.import(HYDRA_SECRET, &[]));
    let ended = |part: &str| again[part]["ended"].as_u64().unwrap();
    let tokens = counts(&again, "tokens");
    assert_eq!((counts(&again, "clients"), ended("clients")), ([0, 503, 1], 2));
    assert_eq!((counts(&again, "consents"), ended("consents")), ([0, 1070, 0], 32));
    assert_eq!((tokens[0], tokens[1] + ended("tokens")), (0, 1103), "{again}");
    assert!(tokens[1] > 0 && ended("tokens") > 100, "{again}");
}

async fn what_goes_on_otherwise_for_a_client_is_told_until_it_is_mended(backend: Backend) {
    let site = Site::new(backend).await;
    site.at_hydra(
        "UPDATE hydra_client SET request_uris = '[\"https://web.example.com/r\"]', request_object_signing_alg = 'none',
             jwks_uri = 'http://10.1.2.3/jwks', subject_type = 'pairwise', redirect_uris = '[\"https://web.example.com:8443/cb\"]'
         WHERE id = 'web'",
    )
    .await;
    let told = |more: &[&str]| {
        let usual = [
            "--only",
            "clients",
            "--set",
            "oidc.subject_identifiers.supported_types=public,pairwise",
            "--set",
            "oidc.subject_identifiers.pairwise.salt=a-salt-of-that-hydra",
        ];
        let import = site.import(HYDRA_SECRET, &[&usual[..], more].concat());
        assert_eq!(summary(&import)["clients"]["refused"], 1, "{}", import.stderr);
        let told = import.stderr.lines().filter(|line| line.starts_with("warning: client web: "));
        told.map(str::to_owned).collect::<Vec<_>>()
    };
    let guarded = ["--set", "clients.http.disallow_private_ip_ranges=true"];
    let [subject, unsigned, not_fetched, private]: [String; 4] = told(&guarded).try_into().unwrap();
    assert!(subject.contains("force_subject_identifier"), "{subject}");
    assert!(unsigned.contains("oauth2.request_objects.allow_unsigned"), "{unsigned}");
    assert!(not_fetched.contains("oauth2.request_uris.enabled"), "{not_fetched}");
    assert!(private.contains("requests to its jwks_uri are refused"), "{private}");
    assert_eq!(told(&guarded).len(), 4, "at each import");
    let switches =
        ["--set", "oauth2.request_objects.allow_unsigned=true", "--set", "oauth2.request_uris.enabled=true"];
    assert_eq!(told(&switches), [subject], "`--dev` asks anywhere");
}

/// As Hydra serves it, whatever the others have, under whatever names.
async fn of_several_networks_the_first_alone_is_imported(backend: Backend) {
    let site = Site::new(backend).await;
    let another = "
        INSERT INTO networks (id, created_at) VALUES ('22222222-2222-4222-8222-222222222222', '2024-01-01');
        INSERT INTO hydra_client
        SELECT (jsonb_populate_record(c, jsonb_build_object('nid', '22222222-2222-4222-8222-222222222222', 'client_name', 'Another'))).*
        FROM hydra_client AS c;
        INSERT INTO hydra_oauth2_flow
        SELECT (jsonb_populate_record(f, jsonb_build_object('nid', '22222222-2222-4222-8222-222222222222', 'login_challenge', md5('l'), 'consent_challenge_id', md5('c'), 'subject', 'dave'))).*
        FROM hydra_oauth2_flow AS f WHERE f.subject = 'alice';
        INSERT INTO hydra_oauth2_refresh
        SELECT (jsonb_populate_record(r, jsonb_build_object('nid', '22222222-2222-4222-8222-222222222222', 'signature', repeat('A', 43), 'challenge_id', md5('c'), 'subject', 'dave'))).*
        FROM hydra_oauth2_refresh AS r WHERE r.subject = 'alice' AND r.active";
    site.at_hydra(another).await;
    let imported = summary(&site.import(HYDRA_SECRET, &[]));
    for (part, expected) in [("clients", [4, 0, 1]), ("consents", [1, 0, 0]), ("tokens", [2, 0, 0])] {
        assert_eq!(counts(&imported, part), expected, "{part}");
    }
    let of_first = "AND nid <> '22222222-2222-4222-8222-222222222222'";
    site.at_hydra(&format!("DELETE FROM hydra_client WHERE id = 'web' {of_first}")).await;
    assert_eq!(site.again("clients"), ([0, 3, 1], 1), "that of the other is not the same");
}
